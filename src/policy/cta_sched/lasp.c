/* lasp: LADM's block scheduler. The class of the winning structure of the launch decides on the binding
 * (policy/binding/lasp.c). */
#include "policy/cta_sched/bound.h"

static void begin(void *state, const struct launch_facts *l, const struct nodes *n, uint32_t sms)
{
    struct bound *const b = state;
    const struct nodes used = bound_nodes(n, sms);
    const struct lasp_plan plan = lasp_plan(&b->config, l, &used);
    bound_begin(b, n, &plan.binding);
}

const struct cta_ops cta_lasp = {
    .create = bound_create, .level = bound_level, .begin = begin, .next = bound_next};
