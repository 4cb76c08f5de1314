/* memory_side: a line is cached by its home slice, in front of its memory channel, and by no other. The LLC
 * is coherent by construction: one copy exists below the L1s. */
#include "llc/organisation.h"

static struct path_route route(const struct organisation *o, const struct organisation_state *s, uint32_t sm,
                               enum path_class class)
{
    (void)o;
    (void)s;
    (void)sm;
    (void)class;
    return organisation_route_home();
}

static struct path_rules rules(const struct organisation_state *s)
{
    (void)s;
    return organisation_rules_home();
}

const struct organisation_ops organisation_memory_side = {.route = route, .rules = rules};
