/* grow: arrays of malloc() that take one more. */
#ifndef ATOLL_BASE_GROW_H
#define ATOLL_BASE_GROW_H

#include <stdint.h>
#include <stdlib.h>

#include "base/diag.h"

/* Room for one more of `size` bytes; the array may have moved. `what` the memory is for is told to the user
 * when there is none. */
static inline void *grow(void *items, uint32_t count, uint32_t *capacity, size_t size, const char *what)
{
    if (count < *capacity) return items;
    *capacity = *capacity ? 2 * *capacity : 64;
    void *more = realloc(items, *capacity * size);
    if (!more) diag_mistake("out of host memory for %s; use a smaller workload", what);
    return more;
}

#endif
