/* in_turn: batch i of runtime.cta_batch consecutive blocks goes to chiplet i mod chiplets. No chiplet takes a block
 * of another (Baseline-RR and Batch+FT of LADM). */
#include "policy/cta_sched/bound.h"

static void begin(void *state, const struct launch_facts *l, const struct nodes *n, uint32_t sms)
{
    struct bound *const b = state;
    const struct nodes used = bound_nodes(n, sms);
    const struct binding binding = binding_turns(l, &used, b->config.runtime.cta_batch);
    bound_begin(b, n, &binding);
}

const struct cta_ops cta_in_turn = {
    .create = bound_create, .level = bound_level, .begin = begin, .next = bound_next};
