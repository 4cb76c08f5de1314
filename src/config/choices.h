/* choices: the enumerations of choices.def, with their names. */
#ifndef ATOLL_CONFIG_CHOICES_H
#define ATOLL_CONFIG_CHOICES_H

#include <stdint.h>

#define LIST(list, help)       enum list {
#define ITEM(list, item, help) list##_##item,
#define END_LIST(list) \
    list##_count \
    } \
    ;
#include "config/choices.def"
#undef LIST
#undef ITEM
#undef END_LIST

struct choice_item {
    const char *name, *help;
};

struct choice_list {
    const char *name, *help;
    const struct choice_item *items;
    uint32_t count;
};

enum choice_list_id {
#define LIST(list, help) CHOICES_##list,
#define ITEM(list, item, help)
#define END_LIST(list)
#include "config/choices.def"
#undef LIST
#undef ITEM
#undef END_LIST
    CHOICE_LIST_COUNT
};

extern const struct choice_list choice_lists[CHOICE_LIST_COUNT];

static inline const char *choice_name(enum choice_list_id list, uint32_t value)
{
    return choice_lists[list].items[value].name;
}

/* The value named by text ('-' and '_' are equal), or UINT32_MAX. */
uint32_t choice_find(enum choice_list_id list, const char *text);

#endif
