/* pool: a fixed number of equal objects, handed out and taken back in O(1), last returned first.
 *
 * Sized once from the configuration; the memory belongs to the arena given at the start. An object
 * is named by its index, which fits a queue better than a pointer. */
#ifndef ATOLL_BASE_POOL_H
#define ATOLL_BASE_POOL_H

#include "base/arena.h"
#include "base/diag.h"

#define POOL_NONE UINT32_MAX

struct pool {
    unsigned char *objects;
    uint32_t *free_stack;
    uint32_t free_count, free_least, count; /* least: ever */
    size_t object_bytes;
};

void pool_init(struct pool *p, struct arena *a, uint32_t count, size_t object_bytes);

static inline uint32_t pool_used(const struct pool *p) { return p->count - p->free_count; }
static inline uint32_t pool_peak_used(const struct pool *p) { return p->count - p->free_least; }

static inline void *pool_at(const struct pool *p, uint32_t idx)
{
    return p->objects + (size_t)idx * p->object_bytes;
}

/* The index of a free object (its old content is still there), of which there must be one. */
static inline uint32_t pool_take(struct pool *p)
{
    DIAG_ASSERT(p->free_count);
    const uint32_t left = --p->free_count;
    if (left < p->free_least) p->free_least = left;
    return p->free_stack[left];
}

/* The same, or POOL_NONE when all are in use. */
static inline uint32_t pool_try_take(struct pool *p) { return p->free_count ? pool_take(p) : POOL_NONE; }

/* Objects that are their owner's for good, the first of `count` in a row. Before any is given back. */
uint32_t pool_take_row(struct pool *p, uint32_t count);

static inline void pool_give(struct pool *p, uint32_t idx)
{
    DIAG_ASSERT(idx < p->count && p->free_count < p->count);
    p->free_stack[p->free_count++] = idx;
}

#endif
