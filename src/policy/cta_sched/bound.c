/* bound: see bound.h. */
#include "policy/cta_sched/bound.h"

void *bound_create(struct arena *a, const struct config *c, uint32_t sms)
{
    struct bound *const b = ARENA_NEW(a, struct bound);
    b->config = *c;
    b->cursor = ARENA_ARRAY(a, uint64_t, sms);
    return b;
}

enum node_level bound_level(const struct config *c)
{
    (void)c;
    return NODE_CHIPLET;
}

struct nodes bound_nodes(const struct nodes *n, uint32_t sms)
{
    struct nodes used = *n;
    used.count = (sms + n->sms_per_node - 1) / n->sms_per_node;
    return used;
}

void bound_begin(struct bound *b, const struct nodes *n, const struct binding *binding)
{
    b->binding = *binding;
    b->sms_per_node = n->sms_per_node;
    for (uint32_t k = 0; k < binding->nodes; k++) b->cursor[k] = 0;
}

uint64_t bound_next(void *state, uint32_t sm)
{
    struct bound *const b = state;
    const uint32_t node = sm / b->sms_per_node;
    if (b->cursor[node] == b->binding.blocks) return CTA_NONE;
    const uint64_t block = binding_next(&b->binding, node, b->cursor[node]);
    b->cursor[node] = block < b->binding.blocks ? block + 1 : block;
    return block < b->binding.blocks ? block : CTA_NONE;
}
