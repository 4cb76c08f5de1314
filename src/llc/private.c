/* private: the slices of a stack are dealt out to the clusters of SMs; a cluster keeps all that it uses in
 * its own.
 *
 * Stores are written through, so memory has the newest data; copies are dropped when an SM of the cluster
 * acquires, and at the end of a kernel. Atomics of all SMs are done at the line's home, whose copy memory
 * keeps up to date (slice_snoop): the small shared LLC for atomics of the paper, ASSUMPTION. Adaptive is
 * this, or memory_side. */
#include "check/fault.h"
#include "llc/organisation.h"

struct stop private_next(const struct organisation *o, const struct request *r, enum here here, uint32_t idx)
{
    if (here != HERE_SM) return (struct stop){STOP_MEMORY, r->home.channel, false};
    const bool atomic = r->kind == REQUEST_ATOMIC || r->kind == REQUEST_REDUCTION;
    if (!o->is_private || (atomic && !FAULT_FIRES(private_atomics_anywhere)))
        return (struct stop){STOP_SLICE, r->home.slice, true};
    const struct clusters *k = &o->clusters;
    const uint32_t slice = clusters_slice(k, r->home.slice, clusters_of_sm(k, idx), k->stack_slices);
    return (struct stop){STOP_SLICE, (uint16_t)slice, true};
}
