/* choices: the tables behind choices.h, from choices.def. */
#include "config/choices.h"

#define LIST(list, help)       static const struct choice_item items_##list[] = {
#define ITEM(list, item, help) {#item, help},
#define END_LIST(list) \
    } \
    ;
#include "config/choices.def"
#undef LIST
#undef ITEM
#undef END_LIST

const struct choice_list choice_lists[CHOICE_LIST_COUNT] = {
#define LIST(list, help) {#list, help, items_##list, sizeof items_##list / sizeof *items_##list},
#define ITEM(list, item, help)
#define END_LIST(list)
#include "config/choices.def"
#undef LIST
#undef ITEM
#undef END_LIST
};

static char folded(char c) { return c == '-' ? '_' : c; }

uint32_t choice_find(enum choice_list_id list, const char *text)
{
    for (uint32_t i = 0; i < choice_lists[list].count; i++) {
        const char *a = choice_lists[list].items[i].name, *b = text;
        while (*a && *a == folded(*b)) a++, b++;
        if (!*a && !*b) return i;
    }
    return UINT32_MAX;
}
