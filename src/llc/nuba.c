/* nuba: SMs, slices and memory channels form partitions; a line is cached by the slice in front of its
 * channel.
 *
 *   SM ═link═► slice of its partition ─home here──────────────► tag stage (LMR) ─miss─► memory
 *                │  └─read-only, replication on─► tag stage (LMR) ─miss─┐
 *                └─home elsewhere: past the slice ──────────────────────┴─► network ─► home slice (RMR) ─►
 * memory
 *
 * Of the slices of a partition a request takes the one in the place of its home slice. Copies of lines of
 * other partitions (replicas) are made only of lines that nobody writes while the kernel runs, so they are
 * coherent until its end (llc.boundary). near.c is the slice's input, far.c what concerns lines of others. */
#include "llc/organisation.h"

struct stop nuba_next(const struct organisation *o, const struct request *r, enum here here, uint32_t idx)
{
    if (here == HERE_SM) {
        const uint32_t first = idx / o->sms_per_partition * o->slices_per_partition;
        return (struct stop){STOP_SLICE, (uint16_t)(first + r->home.slice % o->slices_per_partition), true};
    }
    if (r->home.slice == idx) return (struct stop){STOP_MEMORY, r->home.channel, true};
    return (struct stop){STOP_SLICE, r->home.slice, nuba_may_copy(o, r)};
}
