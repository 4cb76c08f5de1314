/* slice_set: the sets of a slice in windows, found once per request. What tags.h does for caches of every
 * kind is done here for one whose sets have few ways in lru order, and whose lines have never gone but for
 * others: then ways that are empty are older than all others, and in the order in which tags_victim() takes
 * them. */
#ifndef ATOLL_LLC_SLICE_SET_H
#define ATOLL_LLC_SLICE_SET_H

#include "llc/llc_private.h"

enum { SLICE_SET_WAYS = 32 };

static inline bool slice_sets_are_simple(const struct tags *t)
{
    return t->policy == replacement_lru && t->ways <= SLICE_SET_WAYS && t->sets < UINT16_MAX;
}

static inline void slice_sets_begin(struct slice *s)
{
    struct tags *const t = &s->tags;
    s->pins = tags_pins(t, 0);
    s->oldest = &tags_ends_of(t, tags_row(t, 0))->newer;
    s->pin_step = t->row_bytes - t->ways;
    s->way_mask = t->ways < 32 ? (1u << t->ways) - 1 : UINT32_MAX;
}

/* A set, and what the key of a request looks like in it. */
struct slice_set {
    uint8_t *row;   /* see struct tags */
    uint32_t first; /* line */
    uint8_t hint;
};

static SLICE_HOT struct slice_set slice_set_at(const struct slice *s, uint32_t set, uint64_t key)
{
    return (struct slice_set){
        .row = tags_row(&s->tags, set), .first = set * s->tags.ways, .hint = tags_hint(key)};
}

static SLICE_HOT uint32_t slice_set_find(const struct slice *s, struct slice_set x, uint64_t key)
{
    /* the second half of a row with one half is something else */
    uint32_t found =
        (tags_equal_bytes(x.row, x.hint) | tags_equal_bytes(x.row + 16, x.hint) << 16) & s->way_mask;
    for (; found; found &= found - 1) {
        const uint32_t line = x.first + (uint32_t)__builtin_ctz(found);
        if (s->tags.keys[line] == key + 1) return line;
    }
    return TAGS_NONE;
}

static SLICE_HOT void slice_set_touch(const struct slice *s, struct slice_set x, uint32_t line)
{
    tags_make_newest_in(&s->tags, x.row, line - x.first);
}

/* The one that is longest unused, pinned or not. */
static SLICE_HOT uint32_t slice_set_oldest(const struct slice *s, uint32_t set)
{
    return set * s->tags.ways + s->oldest[(size_t)set * s->tags.row_bytes];
}

static SLICE_HOT void slice_set_pin(const struct slice *s, struct slice_set x, uint32_t line)
{
    x.row[s->tags.hint_ways + (line - x.first)] = 1;
}

static SLICE_HOT bool slice_set_is_pinned(const struct slice *s, struct slice_set x, uint32_t line)
{
    return x.row[s->tags.hint_ways + (line - x.first)];
}

static SLICE_HOT void slice_set_unpin(const struct slice *s, uint32_t line)
{
    s->pins[line + tags_set_of(&s->tags, line) * s->pin_step] = 0;
}

#endif
