/* tags: which lines a cache holds: sets x ways of keys, and the order in which they make room.
 *
 * A tag array knows keys only. What a line means (sectors, dirty bytes, waiting requests) is kept by its
 * owner in arrays of its own, indexed like the tags: line = set * ways + way. A line that must not be thrown
 * out (its fill is under way) is pinned.
 *
 * The memory belongs to the arena given at the start. */
#ifndef ATOLL_CACHE_TAGS_H
#define ATOLL_CACHE_TAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/rng.h"
#include "config/choices.h"

#define TAGS_NONE UINT32_MAX

enum { TAGS_SRRIP_FAR = 2 };

/* The ways of a set by when they were used (lru) or filled (fifo), as a ring in which the newest is followed
 * by the oldest: one that is replaced becomes the newest without a change of the ring. An entry before it
 * names the two: .newer is the oldest, .older the newest. Ways that are empty are older than all others, the
 * lowest first (of up to TAGS_NARROW_WAYS): the oldest is the one that makes room. */
struct tags_order {
    uint8_t newer, older;
};
struct tags_wide_order {
    uint16_t newer, older;
};
enum {
    TAGS_NEAR_WAYS = 16, /* looked through in one step */
    TAGS_NARROW_WAYS = 254
};

struct tags {
    uint64_t *keys; /* key + 1; 0 = empty */
    /* [set][row_bytes]: what a lookup and a choice of victim look at, in few of the host's cache lines:
     *   a byte of each key, so that a set is looked through 16 ways at a time   [hint_ways]
     *   whether the line is pinned, or by how many                              [ways]
     *   struct tags_order                                                       [ways + 1] */
    uint8_t *rows;
    struct tags_wide_order *wide; /* [set][ways + 1], of more than TAGS_NARROW_WAYS ways */
    uint8_t *predictions;         /* srrip: 0-3, per line */
    uint32_t sets, ways, hint_ways, order_at;
    size_t row_bytes;
    bool ordered;          /* lru, fifo */
    uint64_t set_per_line; /* as a fraction of 2^32, rounded up: no division */
    enum replacement policy;
    struct rng rng;
};

void tags_init(struct tags *t, struct arena *a, uint32_t sets, uint32_t ways, enum replacement policy,
               uint64_t seed);

static inline uint32_t tags_lines(const struct tags *t) { return t->sets * t->ways; }
static inline bool tags_used(const struct tags *t, uint32_t line) { return t->keys[line] != 0; }
static inline uint64_t tags_key(const struct tags *t, uint32_t line) { return t->keys[line] - 1; }

static inline uint32_t tags_set_of(const struct tags *t, uint32_t line)
{
    return (uint32_t)(line * t->set_per_line >> 32);
}

static inline uint8_t *tags_row(const struct tags *t, uint32_t set) { return t->rows + set * t->row_bytes; }
static inline struct tags_order *tags_ends_of(const struct tags *t, uint8_t *row)
{
    return (struct tags_order *)(void *)(row + t->order_at);
}
/* 0: the line can be thrown out. */
static inline uint8_t *tags_pins_in(const struct tags *t, uint32_t set, uint32_t line)
{
    return tags_row(t, set) + t->hint_ways + (line - set * t->ways);
}
static inline uint8_t *tags_pins(const struct tags *t, uint32_t line)
{
    return tags_pins_in(t, tags_set_of(t, line), line);
}

/* Of a key; its upper bits are the best ones. */
#define TAGS_HASH 0x9e3779b97f4a7c15u
static inline uint32_t tags_hash(uint64_t key) { return (uint32_t)(key * TAGS_HASH >> 32); }
/* Odd: 0 is an empty way. */
static inline uint8_t tags_hint_of(uint32_t hash) { return (uint8_t)(hash >> 24 | 1); }
static inline uint8_t tags_hint(uint64_t key) { return tags_hint_of(tags_hash(key)); }

typedef uint8_t tags_bytes __attribute__((vector_size(16)));

/* Bit i: byte i of the sixteen is equal to hint. */
static inline uint32_t tags_equal_bytes(const uint8_t *at, uint8_t hint)
{
#ifdef __SSE2__
    const tags_bytes wanted = {hint, hint, hint, hint, hint, hint, hint, hint,
                               hint, hint, hint, hint, hint, hint, hint, hint};
    typedef char bytes __attribute__((vector_size(16)));
    return (uint32_t)__builtin_ia32_pmovmskb128((bytes)(*(const tags_bytes *)at == wanted));
#else
    uint32_t found = 0;
    for (uint32_t i = 0; i < 16; i++) found |= (uint32_t)(at[i] == hint) << i;
    return found;
#endif
}

/* The line that holds key, or TAGS_NONE. Changes nothing. */
static inline uint32_t tags_find(const struct tags *t, uint32_t set, uint64_t key)
{
    const uint8_t *const hints = tags_row(t, set), hint = tags_hint(key);
    const uint32_t first = set * t->ways;
    for (uint32_t way = 0; way < t->ways; way += 16)
        for (uint32_t found = tags_equal_bytes(hints + way, hint); found; found &= found - 1) {
            const uint32_t line = first + way + (uint32_t)__builtin_ctz(found);
            if (t->keys[line] == key + 1) return line;
        }
    return TAGS_NONE;
}
uint32_t tags_find_far(const struct tags *t, uint32_t set, uint64_t key);

/* The same for caches that mostly have few ways; the key's hash is known. */
static inline uint32_t tags_find_near(const struct tags *t, uint32_t set, uint64_t key, uint32_t hash)
{
    if (__builtin_expect(t->ways > TAGS_NEAR_WAYS, 0)) return tags_find_far(t, set, key);
    uint32_t found = tags_equal_bytes(tags_row(t, set), tags_hint_of(hash));
    for (; found; found &= found - 1) {
        const uint32_t line = set * t->ways + (uint32_t)__builtin_ctz(found);
        if (t->keys[line] == key + 1) return line;
    }
    return TAGS_NONE;
}

void tags_make_newest_wide(struct tags *t, uint32_t set, uint32_t way);
uint32_t tags_oldest_wide(const struct tags *t, uint32_t set); /* a way, `ways` if all are pinned */

/* The same of a set whose row is known. */
static inline void tags_make_newest_in(const struct tags *t, uint8_t *row, uint32_t way)
{
    struct tags_order *const ends = tags_ends_of(t, row), *const ring = ends + 1, *const at = &ring[way];
    const uint32_t oldest = ends->newer, newest = ends->older, newer = at->newer, older = at->older;
    if (way == oldest) {
        ends->newer = (uint8_t)newer;
        ends->older = (uint8_t)way;
        return;
    }
    if (way == newest) return;
    ring[newer].older = (uint8_t)older;
    ring[older].newer = (uint8_t)newer;
    at->newer = (uint8_t)oldest;
    at->older = (uint8_t)newest;
    ring[newest].newer = ring[oldest].older = ends->older = (uint8_t)way;
}
void tags_move_newest_in(const struct tags *t, uint8_t *row, uint32_t way); /* not in line */
/* The same of a way that is replaced: mostly it is the oldest. */
static inline void tags_renew_in(const struct tags *t, uint8_t *row, uint32_t way)
{
    struct tags_order *const ends = tags_ends_of(t, row);
    if (__builtin_expect(way == ends->newer, 1))
        *ends = (struct tags_order){.newer = ends[1 + way].newer, .older = (uint8_t)way};
    else
        tags_move_newest_in(t, row, way);
}

static inline void tags_make_newest(struct tags *t, uint32_t set, uint32_t way)
{
    if (__builtin_expect(t->wide != NULL, 0))
        tags_make_newest_wide(t, set, way);
    else
        tags_make_newest_in(t, tags_row(t, set), way);
}

/* The line was used. */
static inline void tags_touch(struct tags *t, uint32_t line)
{
    const uint32_t set = tags_set_of(t, line);
    if (t->policy == replacement_lru)
        tags_make_newest(t, set, line - set * t->ways);
    else if (t->policy == replacement_srrip)
        t->predictions[line] = 0;
}

/* Fetches what a lookup in the set and the choice of a victim need into the host's caches. */
static inline void tags_fetch(const struct tags *t, uint32_t set)
{
    __builtin_prefetch(tags_row(t, set), 1);
    if (t->row_bytes > 64) __builtin_prefetch(tags_row(t, set) + 64, 1);
}

/* lru, fifo: the way that was not used, or filled, for longest; `ways` if all are pinned. */
static inline uint32_t tags_oldest_in(const struct tags *t, uint8_t *row)
{
    const uint8_t *const pins = row + t->hint_ways;
    const struct tags_order *const ends = tags_ends_of(t, row), *const ring = ends + 1;
    const uint32_t oldest = ends->newer;
    if (__builtin_expect(!pins[oldest], 1)) return oldest;
    for (uint32_t way = ring[oldest].newer; way != oldest; way = ring[way].newer)
        if (!pins[way]) return way;
    return t->ways;
}
static inline uint32_t tags_oldest(const struct tags *t, uint32_t set)
{
    return __builtin_expect(t->wide != NULL, 0) ? tags_oldest_wide(t, set)
                                                : tags_oldest_in(t, tags_row(t, set));
}
/* As the other policies choose: the same. */
uint32_t tags_choose(struct tags *t, uint32_t set);

/* The line of a set that makes room: an empty one first, never a pinned one; TAGS_NONE when all are pinned.
 */
static inline uint32_t tags_victim(struct tags *t, uint32_t set)
{
    const uint8_t *const hints = tags_row(t, set);
    for (uint32_t way = 0; way < t->ways; way += 16) {
        const uint32_t empty = tags_equal_bytes(hints + way, 0);
        if (!empty) continue;
        const uint32_t found = way + (uint32_t)__builtin_ctz(empty);
        if (found < t->ways) return set * t->ways + found;
    }
    const uint32_t way = t->ordered ? tags_oldest(t, set) : tags_choose(t, set);
    return way == t->ways ? TAGS_NONE : set * t->ways + way;
}

/* Gives a line (from tags_victim) of the set to key. */
static inline void tags_fill_in(struct tags *t, uint32_t set, uint32_t line, uint64_t key)
{
    const uint32_t way = line - set * t->ways;
    t->keys[line] = key + 1;
    tags_row(t, set)[way] = tags_hint(key);
    if (t->ordered)
        tags_make_newest(t, set, way);
    else if (t->predictions)
        t->predictions[line] = TAGS_SRRIP_FAR;
}
static inline void tags_fill(struct tags *t, uint32_t line, uint64_t key)
{
    tags_fill_in(t, tags_set_of(t, line), line, key);
}
void tags_drop(struct tags *t, uint32_t line);

uint32_t tags_replace_far(struct tags *t, uint32_t set, uint64_t key, uint64_t *before);

/* lru, fifo: tags_victim() and tags_fill() in one, for caches that mostly have few ways. *before: what
 * tags_key() of the line was, + 1; 0: it was empty. */
static inline uint32_t tags_replace(struct tags *t, uint32_t set, uint64_t key, uint32_t hash,
                                    uint64_t *before)
{
    const uint32_t ways = t->ways;
    if (__builtin_expect(ways > TAGS_NEAR_WAYS, 0)) return tags_replace_far(t, set, key, before);
    uint8_t *const row = tags_row(t, set);
    /* bytes beyond the last way are 0, too */
    uint32_t way = (uint32_t)__builtin_ctz(tags_equal_bytes(row, 0) | 1u << TAGS_NEAR_WAYS);
    if (way >= ways) {
        way = tags_oldest_in(t, row);
        if (way == ways) return TAGS_NONE;
    }
    const uint32_t line = set * ways + way;
    *before = t->keys[line];
    t->keys[line] = key + 1;
    row[way] = tags_hint_of(hash);
    tags_renew_in(t, row, way);
    return line;
}

/* The same of sets that are one step wide (TAGS_NEAR_WAYS), in an order; hint: tags_hint() of the key. */
static inline uint32_t tags_find_in_step(const struct tags *t, uint32_t set, uint64_t key, uint8_t hint)
{
    uint32_t found = tags_equal_bytes(tags_row(t, set), hint);
    for (; __builtin_expect(found, 0); found &= found - 1) {
        const uint32_t line = set * t->ways + (uint32_t)__builtin_ctz(found);
        if (t->keys[line] == key + 1) return line;
    }
    return TAGS_NONE;
}
struct tags_place {
    uint8_t *row;
    uint32_t line;
    size_t way; /* as wide as an address: nothing is cut off */
};
/* The one that makes room, which is the newest from now on. */
static inline struct tags_place tags_victim_in_step(const struct tags *t, uint32_t set)
{
    uint8_t *const row = tags_row(t, set);
    struct tags_order *const ends = tags_ends_of(t, row);
    size_t way = ends->newer;
    if (__builtin_expect(row[TAGS_NEAR_WAYS + way], 0)) {
        way = tags_oldest_in(t, row);
        if (way == t->ways) return (struct tags_place){.line = TAGS_NONE};
        tags_move_newest_in(t, row, (uint32_t)way);
    } else {
        *ends = (struct tags_order){.newer = ends[1 + way].newer, .older = (uint8_t)way};
    }
    const uint32_t line = set * t->ways + (uint32_t)way;
    if (line == TAGS_NONE) __builtin_unreachable(); /* who asks need not ask again */
    return (struct tags_place){row, line, way};
}
/* Gives it to a key; returns what the place had before, as tags_replace(). */
static inline uint64_t tags_give_in_step(const struct tags *t, struct tags_place to, uint64_t key,
                                         uint8_t hint)
{
    to.row[to.way] = hint;
    const uint64_t before = t->keys[to.line];
    t->keys[to.line] = key + 1;
    return before;
}

/* The set of line number `idx`: runs of `sets` lines that follow each other fall into different sets, each
 * run turned by an amount of its own, so that strides do not fall into few sets. */
static inline uint32_t tags_set_of_run(uint64_t idx, uint32_t sets, uint32_t sets_log2) /* no division */
{
    return ((uint32_t)idx + (uint32_t)(hash_u64(idx >> sets_log2) & 0xffff)) & (sets - 1);
}
static inline uint32_t tags_set_hashed(uint64_t idx, uint32_t sets)
{
    if (!(sets & (sets - 1))) return tags_set_of_run(idx, sets, (uint32_t)__builtin_ctz(sets));
    const uint64_t run = idx / sets, within = idx - run * sets;
    return (uint32_t)((within + (hash_u64(run) & 0xffff)) % sets);
}

#endif
