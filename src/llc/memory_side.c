/* memory_side: a line is cached by the slice in front of its memory channel and nowhere else. Coherent by
 * construction: there is one copy below the L1s. */
#include "llc/organisation.h"

struct stop memory_side_next(const struct organisation *o, const struct request *r, enum here here,
                             uint32_t idx)
{
    (void)o;
    (void)idx;
    if (here == HERE_SM) return (struct stop){STOP_SLICE, r->home.slice, true};
    return (struct stop){STOP_MEMORY, r->home.channel, false};
}
