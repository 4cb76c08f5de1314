/* private: the slices of a stack are divided among the clusters of SMs. A cluster caches every line that it
 * uses in its own slices.
 *
 * Stores are written through, so memory has the newest data. A cluster's slices are invalidated when one of
 * its SMs acquires, and at the end of a kernel. Atomics of all SMs are executed at the line's home slice,
 * whose copy follows memory by snooping (slice_snoop()): the small shared LLC for atomics of the paper,
 * ASSUMPTION. Routes of atomics and stores to one line therefore differ, and SMs order them
 * (path.orders_atomics).
 *
 * adaptive is private or memory_side, as its policy decides (organisation_state.is_private). */
#include "check/fault.h"
#include "llc/organisation.h"

static void start(const struct config *c, struct organisation_state *s)
{
    (void)c;
    s->is_private = true;
}

static struct path_route route(const struct organisation *o, const struct organisation_state *s, uint32_t sm,
                               enum path_class class)
{
    if (!s->is_private || (class == PATH_ATOMIC && !FAULT_FIRES(private_atomics_anywhere)))
        return organisation_route_home();
    return clusters_route(&o->clusters, clusters_of_sm(&o->clusters, sm), o->clusters.stack_slices);
}

static struct path_rules rules(const struct organisation_state *s)
{
    (void)s;
    return organisation_rules_home();
}

static enum llc_boundary boundary(const struct organisation *o)
{
    return o->state[0].is_private ? llc_boundary_flush : o->config->llc.boundary;
}

/* Invalidates the slices of the SM's cluster: one in each stack. */
static void acquired(struct organisation *o, uint32_t sm)
{
    if (!o->state[0].is_private) return;
    const struct clusters *k = &o->clusters;
    const uint32_t slot = clusters_slot(k, clusters_of_sm(k, sm)), end = o->first_slice + o->slice_count;
    for (uint32_t first = o->first_slice; first < end; first += k->stack_slices)
        slice_invalidate(o->slices[first + slot]);
}

const struct organisation_ops organisation_private = {
    .start = start, .route = route, .rules = rules, .boundary = boundary, .acquired = acquired};
const struct organisation_ops organisation_adaptive = {
    .route = route, .rules = rules, .boundary = boundary, .acquired = acquired};
