/* tags: see tags.h. */
#include "cache/tags.h"

#include "base/diag.h"

enum { SRRIP_MOST = 3 };

/* Way 0 is the oldest at first. */
static void order_init(struct tags *t, struct arena *a)
{
    const uint32_t ways = t->ways;
    if (ways > TAGS_NARROW_WAYS)
        t->wide = ARENA_ARRAY(a, struct tags_wide_order, (size_t)t->sets * (ways + 1));
    for (uint32_t set = 0; set < t->sets; set++)
        for (uint32_t k = 0; k <= ways; k++) { /* 0: the ends, then the ways */
            const uint32_t newer = k < ways ? k : 0, older = k > 1 ? k - 2 : ways - 1;
            if (t->wide)
                t->wide[(size_t)set * (ways + 1) + k] =
                    (struct tags_wide_order){.newer = (uint16_t)newer, .older = (uint16_t)older};
            else
                tags_ends_of(t, tags_row(t, set))[k] =
                    (struct tags_order){.newer = (uint8_t)newer, .older = (uint8_t)older};
        }
}

void tags_init(struct tags *t, struct arena *a, uint32_t sets, uint32_t ways, enum replacement policy,
               uint64_t seed)
{
    DIAG_ASSERT(sets && ways);
    *t = (struct tags){.sets = sets, .ways = ways, .policy = policy, .rng = rng_seed(seed, 0x7a65)};
    DIAG_ASSERT((uint64_t)sets * ways * ways < (uint64_t)1 << 32); /* then tags_set_of() is exact */
    t->set_per_line = ((uint64_t)1 << 32) / ways + 1;
    t->keys = ARENA_ARRAY(a, uint64_t, (size_t)sets * ways);
    DIAG_ASSERT(ways < UINT16_MAX);
    t->ordered = policy == replacement_lru || policy == replacement_fifo;
    t->hint_ways = (ways + 15) / 16 * 16;
    t->order_at = t->hint_ways + ways;
    const uint32_t order_bytes =
        t->ordered && ways <= TAGS_NARROW_WAYS ? (ways + 1) * (uint32_t)sizeof(struct tags_order) : 0;
    t->row_bytes = (t->order_at + order_bytes + 15) / 16 * 16;
    if (t->row_bytes > 32) t->row_bytes = (t->row_bytes + 63) / 64 * 64;
    t->rows = ARENA_ARRAY(a, uint8_t, (size_t)sets * t->row_bytes);
    if (policy == replacement_srrip) t->predictions = ARENA_ARRAY(a, uint8_t, (size_t)sets * ways);
    if (t->ordered) order_init(t, a);
}

void tags_move_newest_in(const struct tags *t, uint8_t *row, uint32_t way)
{
    tags_make_newest_in(t, row, way);
}

/* As tags_make_newest_in() and tags_oldest_in(). */
void tags_make_newest_wide(struct tags *t, uint32_t set, uint32_t way)
{
    struct tags_wide_order *const ends = t->wide + (size_t)set * (t->ways + 1), *const ring = ends + 1;
    const struct tags_wide_order was = *ends, at = ring[way];
    if (way == was.newer) {
        *ends = (struct tags_wide_order){.newer = at.newer, .older = (uint16_t)way};
        return;
    }
    if (way == was.older) return;
    ring[at.newer].older = at.older;
    ring[at.older].newer = at.newer;
    ring[way] = was;
    ring[was.older].newer = ring[was.newer].older = ends->older = (uint16_t)way;
}

uint32_t tags_oldest_wide(const struct tags *t, uint32_t set)
{
    const struct tags_wide_order *const ends = t->wide + (size_t)set * (t->ways + 1), *const ring = ends + 1;
    const uint8_t *const pins = tags_row(t, set) + t->hint_ways;
    uint32_t way = ends->newer;
    for (uint32_t k = 0; k < t->ways; k++, way = ring[way].newer)
        if (!pins[way]) return way;
    return t->ways;
}

/* Draws no number when all are pinned: how often it is asked then is nobody's business. */
static uint32_t any(struct tags *t, const uint8_t *pins)
{
    uint32_t pinned = 0;
    while (pinned < t->ways && pins[pinned]) pinned++;
    if (pinned == t->ways) return t->ways;
    const uint32_t start = (uint32_t)rng_below(&t->rng, t->ways);
    for (uint32_t k = 0; k < t->ways; k++) {
        const uint32_t way = (start + k) % t->ways;
        if (!pins[way]) return way;
    }
    return t->ways;
}

static uint32_t least_awaited(struct tags *t, uint32_t set, const uint8_t *pins)
{
    uint8_t *const predictions = t->predictions + (size_t)set * t->ways;
    uint32_t best = t->ways;
    for (uint32_t way = 0; way < t->ways; way++)
        if (!pins[way] && (best == t->ways || predictions[way] > predictions[best])) best = way;
    if (best == t->ways) return best;
    const uint32_t age_by = SRRIP_MOST - predictions[best];
    for (uint32_t way = 0; age_by && way < t->ways; way++)
        if (!pins[way]) predictions[way] = (uint8_t)(predictions[way] + age_by);
    return best;
}

uint32_t tags_choose(struct tags *t, uint32_t set)
{
    const uint8_t *const pins = tags_row(t, set) + t->hint_ways;
    switch (t->policy) {
    case replacement_random: return any(t, pins);
    case replacement_srrip: return least_awaited(t, set, pins);
    case replacement_lru:
    case replacement_fifo: /* tags_oldest() */
    case replacement_count: break;
    }
    return t->ways;
}

/* The way is empty from now on: behind those that are and are lower, before all others. */
static void make_empty_in(const struct tags *t, uint8_t *row, uint32_t way)
{
    struct tags_order *const ends = tags_ends_of(t, row), *const ring = ends + 1, *const at = &ring[way];
    uint32_t before = ends->newer;
    row[way] = 0;
    while (before < way && !row[before]) before = ring[before].newer;
    if (before == way) return;
    ring[at->newer].older = at->older;
    ring[at->older].newer = at->newer;
    if (ends->older == way) ends->older = at->older;
    if (ends->newer == before) ends->newer = (uint8_t)way;
    *at = (struct tags_order){.newer = (uint8_t)before, .older = ring[before].older};
    ring[at->older].newer = ring[before].older = (uint8_t)way;
}

void tags_drop(struct tags *t, uint32_t line)
{
    const uint32_t set = tags_set_of(t, line), way = line - set * t->ways;
    uint8_t *const row = tags_row(t, set);
    t->keys[line] = 0;
    if (t->ordered && !t->wide)
        make_empty_in(t, row, way);
    else
        row[way] = 0;
}

uint32_t tags_find_far(const struct tags *t, uint32_t set, uint64_t key) { return tags_find(t, set, key); }

uint32_t tags_replace_far(struct tags *t, uint32_t set, uint64_t key, uint64_t *before)
{
    const uint32_t line = tags_victim(t, set);
    if (line == TAGS_NONE) return line;
    *before = t->keys[line];
    tags_fill_in(t, set, line, key);
    return line;
}
