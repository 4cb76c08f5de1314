/* nodes: what the readers of experiment files share. */
#include <stdlib.h>
#include <string.h>

#include "study/study_private.h"

void *nodes_grow(struct arena *a, void *items, uint32_t count, size_t bytes)
{
    if (count && (count & (count - 1)) != 0) return items; /* room up to the next power of two */
    void *more = arena_array(a, count ? (size_t)count * 2 : 1, bytes);
    if (count) memcpy(more, items, count * bytes);
    return more;
}

_Noreturn void nodes_unknown(struct diag_place place, const char *what, const char *name,
                             const char *const *names, size_t count)
{
    const char *near = diag_nearest(name, names, count);
    if (near) diag_mistake_at(place, "unknown %s '%s'; did you mean '%s'?", what, name, near);
    char list[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used + 40 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.36s", i ? ", " : "", names[i]);
    diag_mistake_at(place, "unknown %s '%s'; there is: %s%s", what, name, list,
                    used + 40 >= sizeof list ? ", ..." : "");
}

void nodes_check_keys(const struct yaml_node *map, const char *what, const char *const *known)
{
    size_t count = 0;
    while (known[count]) count++;
    if (map->kind != YAML_MAP) diag_mistake_at(map->place, "%s takes 'key: value' lines", what);
    for (const struct yaml_node *n = map->first; n; n = n->next) {
        size_t i = 0;
        while (i < count && strcmp(known[i], n->key) != 0) i++;
        if (i < count) continue;
        char kind[80];
        (void)snprintf(kind, sizeof kind, "key of %s:", what);
        nodes_unknown(n->key_place, kind, n->key, known, count);
    }
}

const char *nodes_scalar(const struct yaml_node *node, const char *what)
{
    if (node->kind != YAML_SCALAR)
        diag_mistake_at(node->place, "%s takes one value, not a %s", what,
                        node->kind == YAML_LIST ? "list" : "mapping");
    if (!*node->text) diag_mistake_at(node->place, "%s has no value", what);
    return node->text;
}

const char *nodes_text(const struct yaml_node *map, const char *key)
{
    const struct yaml_node *n = yaml_get(map, key);
    return n ? nodes_scalar(n, key) : NULL;
}

const char *nodes_need(const struct yaml_node *map, const char *what, const char *key)
{
    const char *text = nodes_text(map, key);
    if (!text) diag_mistake_at(map->place, "%s needs '%s'", what, key);
    return text;
}

uint64_t nodes_count(const struct yaml_node *node, const char *what)
{
    const char *text = nodes_scalar(node, what);
    char *end;
    const double value = strtod(text, &end);
    while (*end == ' ') end++;
    const double unit = strcmp(end, "K") == 0   ? 1e3
                        : strcmp(end, "M") == 0 ? 1e6
                        : strcmp(end, "G") == 0 ? 1e9
                        : *end                  ? 0
                                                : 1;
    const double whole = value * unit;
    if (end == text || !(unit > 0) || !(whole >= 0 && whole < 1e18) || whole != (double)(uint64_t)whole)
        diag_mistake_at(node->place, "%s takes a whole number, such as 200000, 200 K or 3 M", what);
    return (uint64_t)whole;
}

uint32_t nodes_choice(const struct yaml_node *node, const char *what, const char *const *words)
{
    const char *text = nodes_scalar(node, what);
    uint32_t count = 0;
    for (; words[count]; count++)
        if (strcmp(words[count], text) == 0) return count;
    nodes_unknown(node->place, what, text, words, count);
}

struct study_setting *nodes_settings(struct arena *a, const struct yaml_node *map)
{
    struct study_setting *first = NULL, **tail = &first;
    if (!map) return NULL;
    if (map->kind != YAML_MAP)
        diag_mistake_at(map->place, "'set' takes 'section.key: value', such as {gpu.llc_size: 3 MiB}");
    for (const struct yaml_node *n = map->first; n; n = n->next) {
        struct study_setting *set = ARENA_NEW(a, struct study_setting);
        *set = (struct study_setting){
            .key = n->key, .value = nodes_scalar(n, n->key), .key_place = n->key_place, .place = n->place};
        *tail = set;
        tail = &set->next;
    }
    return first;
}
