/* ring: setting up; the rest is inline in ring.h. */
#include "base/ring.h"

void ring_init(struct ring *r, struct arena *a, uint32_t capacity)
{
    DIAG_ASSERT(capacity > 0 && capacity <= UINT32_MAX / 2);
    *r = (struct ring){.items = ARENA_ARRAY(a, uint64_t, capacity), .capacity = capacity};
}
