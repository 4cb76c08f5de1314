/* coda: CODA's block scheduler. Batches of blocks that touch one granule go to the nodes in turn
 * (policy/binding/coda.c). */
#include "policy/cta_sched/bound.h"

static void begin(void *state, const struct launch_facts *l, const struct nodes *n, uint32_t sms)
{
    struct bound *const b = state;
    const struct nodes used = bound_nodes(n, sms);
    const struct binding binding = coda_binding(&b->config, l, &used);
    bound_begin(b, n, &binding);
}

const struct cta_ops cta_coda = {
    .create = bound_create, .level = bound_level, .begin = begin, .next = bound_next};
