/* chunks: the grid is cut into one contiguous part per GPU, chiplet or partition. Any SM of the node takes
 * the next block of the part. Parts are fixed: an SM takes no block of another part (CARVE, kernel-wide of
 * LADM).
 */
#include "policy/cta_sched/cta_sched.h"
#include "policy/cta_sched/parts.h"

struct chunks {
    struct part *parts; /* [node] */
    uint32_t sms_per_node;
};

static enum node_level level(const struct config *c)
{
    switch (c->runtime.cta_level) {
    case block_level_gpu:
    case block_level_count: break;
    case block_level_chiplet: return NODE_CHIPLET;
    case block_level_partition: return NODE_PARTITION;
    }
    return NODE_GPU;
}

static void *create(struct arena *a, const struct config *c, uint32_t sms)
{
    struct chunks *k = ARENA_NEW(a, struct chunks);
    (void)c;
    k->parts = ARENA_ARRAY(a, struct part, sms);
    return k;
}

static void begin(void *state, const struct launch_facts *l, const struct nodes *n, uint32_t sms)
{
    struct chunks *k = state;
    k->sms_per_node = n->sms_per_node;
    parts_cut(k->parts, (sms + n->sms_per_node - 1) / n->sms_per_node, l->blocks);
}

static uint64_t next(void *state, uint32_t sm)
{
    const struct chunks *k = state;
    struct part *p = &k->parts[sm / k->sms_per_node];
    return p->next < p->end ? p->next++ : CTA_NONE;
}

const struct cta_ops cta_chunks = {.create = create, .level = level, .begin = begin, .next = next};
