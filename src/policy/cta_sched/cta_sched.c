/* cta_sched: the registry of block schedulers, and the blocks that are reserved for SMs. */
#include "policy/cta_sched/cta_sched.h"

static const struct cta_ops *const policies[block_scheduler_count] = {
#define ITEM(list, item, help) [list##_##item] = &cta_##item,
#include "policy/cta_sched/cta_sched.def"
#undef ITEM
};

void cta_sched_init(struct cta_sched *s, struct arena *a, const struct config *c, uint32_t sms)
{
    *s = (struct cta_sched){
        .ops = policies[c->runtime.cta_sched], .sms = sms, .block_slots = c->sm.block_slots};
    /* Schedulers do not use colours. One per partition keeps partitions apart. */
    s->nodes = nodes_at(c, s->ops->level ? s->ops->level(c) : NODE_PARTITION, c->chiplet.partitions);
    s->state = s->ops->create(a, c, sms);
    s->dealt = ARENA_ARRAY(a, uint64_t, (size_t)sms * s->block_slots);
    s->dealt_from = ARENA_ARRAY(a, uint32_t, sms);
    s->dealt_to = ARENA_ARRAY(a, uint32_t, sms);
}

void cta_sched_begin(struct cta_sched *s, const struct launch_facts *l, uint32_t sms)
{
    s->blocks = l->blocks;
    s->sms = sms;
    s->given = 0;
    for (uint32_t sm = 0; sm < sms; sm++) s->dealt_from[sm] = s->dealt_to[sm] = 0;
    s->ops->begin(s->state, l, &s->nodes, sms);
}

static uint64_t take(struct cta_sched *s, uint32_t sm)
{
    if (s->given == s->blocks) return CTA_NONE;
    const uint64_t block = s->ops->next(s->state, sm);
    s->given += block != CTA_NONE;
    return block;
}

void cta_sched_deal(struct cta_sched *s, uint32_t sm)
{
    if (s->dealt_to[sm] == s->block_slots) return;
    const uint64_t block = take(s, sm);
    if (block != CTA_NONE) s->dealt[sm * s->block_slots + s->dealt_to[sm]++] = block;
}

uint64_t cta_sched_next(struct cta_sched *s, uint32_t sm)
{
    if (s->dealt_from[sm] < s->dealt_to[sm]) return s->dealt[sm * s->block_slots + s->dealt_from[sm]++];
    return take(s, sm);
}
