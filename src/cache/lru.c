/* lru: see lru.h.
 *
 *   chains[hash] ──► place ──► place            lines of one hash
 *   places[0] ──older──► newest ──► … ──► oldest ──► places[0]
 *
 * Empty places are the oldest ones, so there is one way to find room. */
#include "cache/lru.h"

#include <string.h>

#include "base/diag.h"
#include "base/map.h"

enum { ENDS = 0, NONE = 0 }; /* the place between newest and oldest is nobody's: it ends chains, too */

void lru_init(struct lru *l, struct arena *a, uint32_t lines)
{
    DIAG_ASSERT(lines > 0 && lines <= 1u << 30);
    uint32_t chains = 1;
    while (chains < lines) chains *= 2;
    *l = (struct lru){.lines = lines, .chain_mask = chains - 1};
    l->places = ARENA_ARRAY(a, struct lru_place, (size_t)lines + 1);
    l->chains = ARENA_ARRAY(a, uint32_t, chains);
    for (uint32_t k = 0; k <= lines; k++) {
        l->places[k].older = k == lines ? ENDS : k + 1;
        l->places[k].newer = k == ENDS ? lines : k - 1;
    }
}

/* ---- the ring ---- */

static void take_out(struct lru *l, uint32_t place)
{
    const struct lru_place *const p = &l->places[place];
    l->places[p->newer].older = p->older;
    l->places[p->older].newer = p->newer;
}

/* Just after this one, which is newer. */
static void put_after(struct lru *l, uint32_t newer, uint32_t place)
{
    const uint32_t older = l->places[newer].older;
    l->places[place].newer = newer;
    l->places[place].older = older;
    l->places[newer].older = l->places[older].newer = place;
}

static void make_newest(struct lru *l, uint32_t place)
{
    take_out(l, place);
    put_after(l, ENDS, place);
}

static void make_oldest(struct lru *l, uint32_t place)
{
    take_out(l, place);
    put_after(l, l->places[ENDS].newer, place);
}

/* ---- the hash table ---- */

static uint32_t *chain_of(const struct lru *l, uint64_t line)
{
    return &l->chains[hash_u64(line) & l->chain_mask];
}

/* What leads to the line in its chain, or to NONE at its end. */
static uint32_t *find(const struct lru *l, uint64_t line)
{
    uint32_t *at = chain_of(l, line);
    while (*at != NONE && l->places[*at].line != line + 1) at = &l->places[*at].next;
    return at;
}

static void give(struct lru *l, uint32_t place, uint64_t line)
{
    uint32_t *const chain = chain_of(l, line);
    l->places[place].line = line + 1;
    l->places[place].next = *chain;
    *chain = place;
}

/* The place that `at` leads to has no line any more. */
static void forget(struct lru *l, uint32_t *at)
{
    struct lru_place *const p = &l->places[*at];
    *at = p->next;
    p->line = 0;
}

/* ---- lines ---- */

bool lru_lookup(struct lru *l, uint64_t line)
{
    const uint32_t here = *find(l, line);
    if (here == NONE) return false;
    make_newest(l, here);
    return true;
}

bool lru_touch(struct lru *l, uint64_t line)
{
    if (lru_lookup(l, line)) return true;
    const uint32_t oldest = l->places[ENDS].newer;
    if (l->places[oldest].line) forget(l, find(l, l->places[oldest].line - 1));
    give(l, oldest, line);
    make_newest(l, oldest);
    return false;
}

bool lru_drop(struct lru *l, uint64_t line)
{
    uint32_t *const at = find(l, line);
    const uint32_t place = *at;
    if (place == NONE) return false;
    forget(l, at);
    make_oldest(l, place);
    return true;
}

void lru_clear(struct lru *l)
{
    memset(l->chains, 0, ((size_t)l->chain_mask + 1) * sizeof *l->chains);
    for (uint32_t k = 1; k <= l->lines; k++) l->places[k].line = 0;
}
