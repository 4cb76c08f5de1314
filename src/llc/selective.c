/* selective (SelRep): a read-only line may have a replica in each group of slices of its stack. The clusters
 * of a group share the replica; the degree of replication is the number of groups. All other loads, and all
 * stores and atomics, are served by the home slice. The LLC is therefore coherent while a kernel runs.
 *
 * Ordinary misses create replicas and ordinary replacement evicts them, so a change of degree needs no flush.
 * The end of a kernel needs one, because the next kernel may write lines that were read-only. */
#include "check/fault.h"
#include "llc/organisation.h"

static void start(const struct config *c, struct organisation_state *s)
{
    if (c->selrep.degree) s->degree = c->selrep.degree;
}

static struct path_route route(const struct organisation *o, const struct organisation_state *s, uint32_t sm,
                               enum path_class class)
{
    const bool writes = class == PATH_STORE || class == PATH_ATOMIC;
    const bool replica = class == PATH_LOAD_RO || (writes && FAULT_FIRES(selective_writes_replicas));
    if (s->degree == 1 || !replica) return organisation_route_home();
    return clusters_route(&o->clusters, clusters_of_sm(&o->clusters, sm), s->degree);
}

static struct path_rules rules(const struct organisation_state *s)
{
    (void)s;
    return organisation_rules_home();
}

static enum llc_boundary boundary(const struct organisation *o)
{
    return o->replicated ? o->config->llc.boundary : llc_boundary_keep;
}

const struct organisation_ops organisation_selective = {
    .start = start, .route = route, .rules = rules, .boundary = boundary};
