/* ring: a bounded first-in first-out queue of 64-bit items. Full and empty are return values.
 *
 * The memory belongs to the arena given at the start; the capacity is exact, any number from 1. */
#ifndef ATOLL_BASE_RING_H
#define ATOLL_BASE_RING_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"

struct ring {
    uint64_t *items;
    uint32_t head, count, capacity;
};

void ring_init(struct ring *r, struct arena *a, uint32_t capacity);

static inline bool ring_empty(const struct ring *r) { return r->count == 0; }
static inline bool ring_full(const struct ring *r) { return r->count == r->capacity; }

static inline bool ring_try_push(struct ring *r, uint64_t item)
{
    if (ring_full(r)) return false;
    uint32_t at = r->head + r->count;
    if (at >= r->capacity) at -= r->capacity;
    r->items[at] = item;
    r->count++;
    return true;
}

static inline uint64_t ring_front(const struct ring *r)
{
    DIAG_ASSERT(r->count);
    return r->items[r->head];
}

static inline uint64_t ring_pop(struct ring *r)
{
    const uint64_t item = ring_front(r);
    if (++r->head == r->capacity) r->head = 0;
    r->count--;
    return item;
}

/* The i-th item from the front, for reports. */
static inline uint64_t ring_at(const struct ring *r, uint32_t i)
{
    DIAG_ASSERT(i < r->count);
    const uint32_t at = r->head + i;
    return r->items[at >= r->capacity ? at - r->capacity : at];
}

#endif
