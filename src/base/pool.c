/* pool: setting up the stack of free objects; the rest is inline in pool.h. */
#include "base/pool.h"

void pool_init(struct pool *p, struct arena *a, uint32_t count, size_t object_bytes)
{
    DIAG_ASSERT(count > 0 && count < POOL_NONE && object_bytes > 0);
    *p =
        (struct pool){.count = count, .free_count = count, .free_least = count, .object_bytes = object_bytes};
    p->objects = arena_array(a, count, object_bytes);
    p->free_stack = ARENA_ARRAY(a, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) p->free_stack[i] = count - 1 - i; /* index 0 goes out first */
}

uint32_t pool_take_row(struct pool *p, uint32_t count)
{
    const uint32_t first = pool_take(p);
    for (uint32_t k = 1; k < count; k++) {
        const uint32_t next = pool_take(p);
        DIAG_ASSERT(next == first + k);
    }
    return first;
}
