/* numa: the slices of a chiplet (a GPU of one chiplet) cache what its SMs use, wherever it lives.
 *
 *   SM ─► slice of the own chiplet ─miss─► memory, when the line lives here
 *                                  └─────► its home slice elsewhere ─► memory; both keep the line (RTWICE)
 *
 * Stores and atomics to lines of others pass on to their home; so what is kept of them is never dirty and is
 * dropped at kernel ends (llc.boundary) and, for loads that must see others' stores, at acquires of GPU
 * scope. A line of another chiplet is kept by the slice in the place of its home slice. */
#include "llc/organisation.h"

struct stop numa_next(const struct organisation *o, const struct request *r, enum here here, uint32_t idx)
{
    if (here == HERE_SM)
        return (struct stop){STOP_SLICE, (uint16_t)(o->first_slice + r->home.slice % o->slice_count), true};
    if (r->home.slice == idx) return (struct stop){STOP_MEMORY, r->home.channel, true};
    return (struct stop){STOP_SLICE, r->home.slice, r->kind == REQUEST_READ};
}
