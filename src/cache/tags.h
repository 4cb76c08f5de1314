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
#include "base/rng.h"
#include "config/choices.h"

#define TAGS_NONE UINT32_MAX

struct tags {
    uint64_t *keys;   /* key + 1; 0 = empty */
    uint32_t *stamps; /* of the last use or of the fill; srrip: prediction 0-3 */
    uint8_t *pinned;
    uint32_t sets, ways, clock;
    enum replacement policy;
    struct rng rng;
};

void tags_init(struct tags *t, struct arena *a, uint32_t sets, uint32_t ways, enum replacement policy,
               uint64_t seed);

static inline uint32_t tags_lines(const struct tags *t) { return t->sets * t->ways; }
static inline bool tags_used(const struct tags *t, uint32_t line) { return t->keys[line] != 0; }
static inline uint64_t tags_key(const struct tags *t, uint32_t line) { return t->keys[line] - 1; }

/* The line that holds key, or TAGS_NONE. Changes nothing. */
static inline uint32_t tags_find(const struct tags *t, uint32_t set, uint64_t key)
{
    const uint64_t *const keys = t->keys + (uint64_t)set * t->ways, wanted = key + 1;
    for (uint32_t way = 0; way < t->ways; way++)
        if (keys[way] == wanted) return set * t->ways + way;
    return TAGS_NONE;
}

/* The line was used. */
static inline void tags_touch(struct tags *t, uint32_t line)
{
    if (t->policy == replacement_lru)
        t->stamps[line] = ++t->clock;
    else if (t->policy == replacement_srrip)
        t->stamps[line] = 0;
}

/* The line of a set that makes room: an empty one first, never a pinned one; TAGS_NONE when all are pinned.
 */
uint32_t tags_victim(struct tags *t, uint32_t set);
/* Gives a line (from tags_victim) to key. */
void tags_fill(struct tags *t, uint32_t line, uint64_t key);
static inline void tags_drop(struct tags *t, uint32_t line) { t->keys[line] = 0; }

/* The set of line number `idx`: runs of `sets` lines that follow each other fall into different sets, each
 * run turned by an amount of its own, so that strides do not fall into few sets. */
uint32_t tags_set_hashed(uint64_t idx, uint32_t sets);

#endif
