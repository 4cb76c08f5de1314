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
    s->pin_step = (uint32_t)t->row_bytes - t->ways;
    s->way_mask = t->ways < 32 ? (1u << t->ways) - 1 : UINT32_MAX;
}

/* How far a run of lines is turned is looked up (slice_spec.index_rotation); what cannot be is never known.
 */
static inline void slice_turns_begin(const struct slice_spec *p, struct slice_run *q)
{
    static const uint32_t unknown = 0;
    const bool kept = p->index_rotation && (p->runs[0].mask & p->sets_mask) == p->sets_mask;
    q->index_rotation = kept ? p->index_rotation : &unknown;
    q->line_right = p->runs[0].right;
    q->run_right = p->runs[0].right + p->sets_log2;
    q->run_mask = kept ? p->runs[0].mask >> p->sets_log2 : 0;
    q->sets_mask = p->sets_mask;
}

/* It is not known yet, or not kept. */
static __attribute__((noinline)) uint32_t slice_set_turn(const struct slice *s, uint64_t line)
{
    const struct slice_run *const q = &s->run;
    const uint64_t run = line >> q->run_right & q->run_mask;
    if (q->index_rotation == s->spec->index_rotation)
        s->spec->index_rotation[run] = ((uint32_t)hash_u64(run) & q->sets_mask) | (q->sets_mask + 1);
    return set_of(s, line);
}

/* set_of() */
static SLICE_HOT uint32_t quick_set_of(const struct slice *s, uint64_t line)
{
    const struct slice_run *const q = &s->run;
    const uint32_t turn = q->index_rotation[line >> q->run_right & q->run_mask];
    if (__builtin_expect(!turn, 0)) return slice_set_turn(s, line);
    return ((uint32_t)(line >> q->line_right) + turn) & q->sets_mask;
}

/* The set of the request. */
static SLICE_HOT void slice_set_look(const struct slice *s, struct slice_front *a)
{
    const uint64_t line = a->r->home.line;
    const uint32_t set = quick_set_of(s, line);
    a->row = tags_row(&s->tags, set);
    a->first = set * s->tags.ways;
    a->hint = tags_hint(line);
}

static SLICE_HOT uint32_t slice_set_find(const struct slice *s, const struct slice_front *a)
{
    const uint8_t hint = a->hint;
    /* the second half of a row with one half is something else */
    uint32_t found =
        (tags_equal_bytes(a->row, hint) | tags_equal_bytes(a->row + 16, hint) << 16) & s->way_mask;
    for (; found; found &= found - 1) {
        const uint32_t line = a->first + (uint32_t)__builtin_ctz(found);
        if (s->tags.keys[line] != a->r->home.line + 1) continue;
        if (line == TAGS_NONE) __builtin_unreachable(); /* who asks need not ask again */
        return line;
    }
    return TAGS_NONE;
}

static SLICE_HOT void slice_set_touch(const struct slice *s, const struct slice_front *a, uint32_t line)
{
    tags_make_newest_in(&s->tags, a->row, line - a->first);
}

static SLICE_HOT uint8_t *slice_set_pins(const struct slice *s, const struct slice_front *a)
{
    return a->row + s->tags.hint_ways;
}

static SLICE_HOT uint8_t *slice_set_pin(const struct slice *s, const struct slice_front *a, uint32_t line)
{
    return slice_set_pins(s, a) + (line - a->first);
}

static SLICE_HOT void slice_set_unpin(const struct slice *s, uint32_t line)
{
    s->pins[line + tags_set_of(&s->tags, line) * s->pin_step] = 0;
}

/* The oldest is pinned. */
static __attribute__((noinline)) uint32_t slice_set_other_victim(const struct slice *s, uint8_t *row)
{
    const uint32_t way = tags_oldest_in(&s->tags, row);
    if (way != s->tags.ways) tags_make_newest_in(&s->tags, row, way);
    return way;
}

/* The way that makes room, which is the newest now; false: all are pinned. */
static SLICE_HOT bool slice_set_victim(const struct slice *s, uint8_t *row, const uint8_t *pins, size_t *way)
{
    struct tags_order *const ends = tags_ends_of(&s->tags, row);
    const size_t oldest = ends->newer;
    *way = oldest;
    if (__builtin_expect(pins[oldest], 0)) {
        *way = slice_set_other_victim(s, row);
        return *way != s->tags.ways;
    }
    *ends = (struct tags_order){.newer = ends[1 + oldest].newer, .older = (uint8_t)oldest};
    return true;
}

#endif
