/* selective (SelRep): a read-only line may have a copy in each group of slices of its stack, which the
 * clusters of the group share; the degree of replication says how many groups there are. Everything that may
 * be written, and every store and atomic, goes to the line's home: coherent by construction while a kernel
 * runs.
 *
 * Copies are made by ordinary misses and leave by ordinary replacement: another degree needs no flush. Only
 * the end of a kernel does, because the next one may write what was read-only. */
#include "check/fault.h"
#include "llc/organisation.h"

struct stop selective_next(const struct organisation *o, const struct request *r, enum here here,
                           uint32_t idx)
{
    if (here != HERE_SM) return (struct stop){STOP_MEMORY, r->home.channel, false};
    const bool replicate =
        r->kind == REQUEST_READ ? r->flags & REQUEST_READ_ONLY : FAULT_FIRES(selective_writes_replicas);
    if (o->degree == 1 || !replicate) return (struct stop){STOP_SLICE, r->home.slice, true};
    const struct clusters *k = &o->clusters;
    const uint32_t slice = clusters_slice(k, r->home.slice, clusters_of_sm(k, idx), o->degree);
    return (struct stop){STOP_SLICE, (uint16_t)slice, true};
}
