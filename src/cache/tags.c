/* tags: see tags.h. */
#include "cache/tags.h"

#include "base/diag.h"

enum { SRRIP_MOST = 3 };

static void order_init(struct tags *t, struct arena *a)
{
    const uint32_t ways = t->ways;
    t->order = ARENA_ARRAY(a, struct tags_order, (size_t)t->sets * (ways + 1));
    for (uint32_t set = 0; set < t->sets; set++)
        for (uint32_t k = 0; k <= ways; k++)
            t->order[(size_t)set * (ways + 1) + k] = (struct tags_order){
                .newer = (uint16_t)(k == ways ? 0 : k + 1), .older = (uint16_t)(k ? k - 1 : ways)};
}

void tags_init(struct tags *t, struct arena *a, uint32_t sets, uint32_t ways, enum replacement policy,
               uint64_t seed)
{
    DIAG_ASSERT(sets && ways);
    *t = (struct tags){.sets = sets, .ways = ways, .policy = policy, .rng = rng_seed(seed, 0x7a65)};
    DIAG_ASSERT((uint64_t)sets * ways * ways < (uint64_t)1 << 32); /* then tags_set_of() is exact */
    t->set_per_line = ((uint64_t)1 << 32) / ways + 1;
    t->keys = ARENA_ARRAY(a, uint64_t, (size_t)sets * ways);
    t->hint_ways = (ways + 15) / 16 * 16;
    t->hints = ARENA_ARRAY(a, uint8_t, (size_t)sets * t->hint_ways);
    DIAG_ASSERT(ways < UINT16_MAX);
    if (policy == replacement_srrip) t->predictions = ARENA_ARRAY(a, uint8_t, (size_t)sets * ways);
    if (policy == replacement_lru || policy == replacement_fifo) order_init(t, a);
    t->pinned = ARENA_ARRAY(a, uint8_t, (size_t)sets * ways);
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
        if (!t->pinned[line] && (best == TAGS_NONE || t->predictions[line] > t->predictions[best]))
            best = line;
    if (best == TAGS_NONE) return best;
    const uint32_t age_by = SRRIP_MOST - t->predictions[best];
    for (uint32_t line = first; age_by && line < first + t->ways; line++)
        if (!t->pinned[line]) t->predictions[line] = (uint8_t)(t->predictions[line] + age_by);
    return best;
}

uint32_t tags_choose(struct tags *t, uint32_t set)
{
    const uint32_t first = set * t->ways;
    switch (t->policy) {
    case replacement_random: return any(t, first);
    case replacement_srrip: return least_awaited(t, first);
    case replacement_lru:
    case replacement_fifo: /* tags_oldest() */
    case replacement_count: break;
    }
    return TAGS_NONE;
}

void tags_drop(struct tags *t, uint32_t line)
{
    t->keys[line] = 0;
    const uint32_t set = tags_set_of(t, line);
    t->hints[(size_t)set * t->hint_ways + (line - set * t->ways)] = 0;
}
