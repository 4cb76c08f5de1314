/* numa: the slices of a chiplet (a GPU of one chiplet) cache the lines that its SMs use, whatever the home.
 *
 *   SM ---> slice of the own chiplet --miss--> memory, if the slice is the home
 *                                    +-------> home slice in another chiplet ---> memory; both slices keep
 *                                              the line (RTWICE), or the first one only (RONCE,
 *                                              read_once.c)
 *
 * A remote line is cached by the slice at the position of the home slice in its own chiplet. Stores and
 * atomics to remote lines are forwarded to the home, so a remote line is never dirty. Remote lines are
 * invalidated at kernel boundaries (llc.boundary) and, through a counter, at acquires of GPU scope
 * (llc.acquire).
 *
 * sm_side has the same paths. Hardware keeps its remote lines coherent (coherent.c), so an acquire ends at
 * the L1. */
#include "llc/coherence.h"
#include "llc/organisation.h"

static void start(const struct config *c, struct organisation_state *s)
{
    s->read_once = config_slices_read_once(c);
    s->no_copies = !c->llc.remote_cache;
}

static struct path_route route(const struct organisation *o, const struct organisation_state *s, uint32_t sm,
                               enum path_class class)
{
    (void)s;
    (void)sm;
    (void)class;
    return organisation_route_among(o->first_slice, o->slice_count);
}

static struct path_rules rules(const struct organisation_state *s)
{
    struct path_rules rules = organisation_rules_home();
    if (s->read_once) rules.home[1][PATH_LOAD].allocate = rules.home[1][PATH_LOAD_RO].allocate = false;
    for (uint32_t class = 0; class < PATH_CLASSES; class ++)
        rules.away[class] =
            (struct path_rule){.next = PATH_TO_HOME,
                               .lookup = true,
                               .allocate = !s->no_copies && (class == PATH_LOAD || class == PATH_LOAD_RO)};
    return rules;
}

static void acquired(struct organisation *o, uint32_t sm)
{
    (void)sm;
    if (o->config->llc.acquire != llc_acquire_drop_remote || !coherence_row(o->config)->has_epochs) return;
    if (o->config->rdc.size)
        llc_epoch_end(&o->epoch, engine_tick(o->engine));
    else
        llc_epoch_change(&o->epoch, engine_tick(o->engine));
}

/* The boundary drops the lines of the LLC; the lines of the RDC end with the epoch, without time. */
static void kernel_ended(struct organisation *o)
{
    if (o->config->rdc.size && coherence_row(o->config)->has_epochs)
        llc_epoch_end(&o->epoch, engine_tick(o->engine));
}

const struct organisation_ops organisation_numa = {
    .start = start, .route = route, .rules = rules, .acquired = acquired, .kernel_ended = kernel_ended};
const struct organisation_ops organisation_sm_side = {.route = route, .rules = rules};
