/* tags: see tags.h. */
#include "cache/tags.h"

#include "base/diag.h"
#include "base/map.h"

enum { SRRIP_FAR = 2, SRRIP_MOST = 3 };

void tags_init(struct tags *t, struct arena *a, uint32_t sets, uint32_t ways, enum replacement policy,
               uint64_t seed)
{
    DIAG_ASSERT(sets && ways);
    *t = (struct tags){.sets = sets, .ways = ways, .policy = policy, .rng = rng_seed(seed, 0x7a65)};
    t->keys = ARENA_ARRAY(a, uint64_t, (size_t)sets * ways);
    t->hint_ways = (ways + 15) / 16 * 16;
    t->hints = ARENA_ARRAY(a, uint8_t, (size_t)sets * t->hint_ways);
    t->stamps = ARENA_ARRAY(a, uint32_t, (size_t)sets * ways);
    t->pinned = ARENA_ARRAY(a, uint8_t, (size_t)sets * ways);
}

static uint32_t oldest(const struct tags *t, uint32_t first)
{
    uint32_t best = TAGS_NONE, best_age = 0;
    for (uint32_t line = first; line < first + t->ways; line++) {
        const uint32_t age = t->clock - t->stamps[line]; /* stamps may wrap round */
        if (t->pinned[line] || (best != TAGS_NONE && age <= best_age)) continue;
        best = line;
        best_age = age;
    }
    return best;
}

static uint32_t any(struct tags *t, uint32_t first)
{
    const uint32_t start = (uint32_t)rng_below(&t->rng, t->ways);
    for (uint32_t k = 0; k < t->ways; k++) {
        const uint32_t line = first + (start + k) % t->ways;
        if (!t->pinned[line]) return line;
    }
    return TAGS_NONE;
}

static uint32_t least_awaited(struct tags *t, uint32_t first)
{
    uint32_t best = TAGS_NONE;
    for (uint32_t line = first; line < first + t->ways; line++)
        if (!t->pinned[line] && (best == TAGS_NONE || t->stamps[line] > t->stamps[best])) best = line;
    if (best == TAGS_NONE) return best;
    const uint32_t age_by = SRRIP_MOST - t->stamps[best];
    for (uint32_t line = first; age_by && line < first + t->ways; line++)
        if (!t->pinned[line]) t->stamps[line] += age_by;
    return best;
}

uint32_t tags_victim(struct tags *t, uint32_t set)
{
    const uint32_t first = set * t->ways;
    const uint8_t *const hints = t->hints + (size_t)set * t->hint_ways;
    for (uint32_t way = 0; way < t->ways; way += 16) {
        const uint32_t empty = tags_equal_bytes(hints + way, 0);
        if (!empty) continue;
        const uint32_t found = way + (uint32_t)__builtin_ctz(empty);
        if (found < t->ways) return first + found;
    }
    switch (t->policy) {
    case replacement_lru:
    case replacement_fifo: return oldest(t, first);
    case replacement_random: return any(t, first);
    case replacement_srrip: return least_awaited(t, first);
    case replacement_count: break;
    }
    return TAGS_NONE;
}

static uint8_t *hint_of(struct tags *t, uint32_t line)
{
    return &t->hints[(size_t)(line / t->ways) * t->hint_ways + line % t->ways];
}

void tags_drop(struct tags *t, uint32_t line)
{
    t->keys[line] = 0;
    *hint_of(t, line) = 0;
}

void tags_fill(struct tags *t, uint32_t line, uint64_t key)
{
    t->keys[line] = key + 1;
    *hint_of(t, line) = tags_hint(key);
    t->stamps[line] = t->policy == replacement_srrip ? SRRIP_FAR : ++t->clock;
}

uint32_t tags_set_hashed(uint64_t idx, uint32_t sets)
{
    const uint64_t run = idx / sets, within = idx - run * sets;
    return (uint32_t)((within + (hash_u64(run) & 0xffff)) % sets);
}
