/* nuba: SMs, slices and memory channels form partitions. A line is cached by its home slice, in front of its
 * channel.
 *
 *   SM ===link===> slice of its partition --home here--------------------> tag stage (LMR) --miss--> memory
 *                    | +--read-only line, replication on--> tag stage (LMR) --miss--+
 *                    +--other remote lines: bypass ---------------------------------+--> home slice (RMR)
 *
 * The first slice is the slice of the SM's partition at the position of the home slice. Only lines that no SM
 * writes while the kernel runs are replicated, so replicas are coherent until the end of the kernel
 * (llc.boundary). local_input.c is the input stage of the slice; remote_lines.c serves remote lines.
 *
 * Slices read the rules twice: the input stage reads `lookup` and the tag stage reads `allocate`, each at its
 * own tick. A decision of MDR may come into force in between. The request then looks for a replica and
 * allocates none. */
#include "check/fault.h"
#include "llc/organisation.h"

static void start(const struct config *c, struct organisation_state *s)
{
    s->replicate = config_nuba_replicates_always(c);
}

static struct path_route route(const struct organisation *o, const struct organisation_state *s, uint32_t sm,
                               enum path_class class)
{
    (void)s;
    (void)class;
    const struct config *c = o->config;
    return organisation_route_among(sm / c->partition.sms * c->partition.slices, c->partition.slices);
}

static struct path_rules rules(const struct organisation_state *s)
{
    struct path_rules rules = organisation_rules_home();
    for (uint32_t class = 0; class < PATH_CLASSES; class ++) {
        const bool replicable =
            class == PATH_LOAD_RO || (class == PATH_LOAD && FAULT_FIRES(nuba_copies_written));
        const bool replicate = s->replicate && replicable;
        rules.away[class] =
            (struct path_rule){.next = PATH_TO_HOME, .lookup = replicate, .allocate = replicate};
    }
    return rules;
}

/* Replicas are fetched from the home slice, which keeps its lines: without replicas no pass is needed. */
static enum llc_boundary boundary(const struct organisation *o)
{
    return o->replicated ? o->config->llc.boundary : llc_boundary_keep;
}

const struct organisation_ops organisation_nuba = {
    .start = start, .route = route, .rules = rules, .boundary = boundary, .has_bypass = true};
