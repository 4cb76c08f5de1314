/* cta_sched: from the configuration's name to the function, and the parts of a grid. */
#include "policy/cta_sched/cta_sched.h"

static uint32_t level_sms(const struct config *c)
{
    switch (c->runtime.cta_level) {
    case block_level_gpu:
    case block_level_count: return (uint32_t)config_sms_per_gpu(c);
    case block_level_chiplet: return config_sms_per_chiplet(c);
    case block_level_partition: break;
    }
    return c->partition.sms;
}

void cta_sched_init(struct cta_sched *s, struct arena *a, const struct config *c, uint32_t sms)
{
    *s = (struct cta_sched){.sms = sms,
                            .sms_per_partition = c->partition.sms,
                            .group_sms = c->runtime.cta_group_sms < sms ? c->runtime.cta_group_sms : sms,
                            .run = c->runtime.cta_run,
                            .block_slots = c->sm.block_slots,
                            .part_sms = c->runtime.cta_sched == block_scheduler_chunks ? level_sms(c) : 1};
    s->from = ARENA_ARRAY(a, uint64_t, sms);
    s->to = ARENA_ARRAY(a, uint64_t, sms);
    s->left_in_run = ARENA_ARRAY(a, uint32_t, sms);
    s->dealt = ARENA_ARRAY(a, uint64_t, (size_t)sms * s->block_slots);
    s->dealt_from = ARENA_ARRAY(a, uint32_t, sms);
    s->dealt_to = ARENA_ARRAY(a, uint32_t, sms);
    switch (c->runtime.cta_sched) {
    case block_scheduler_round_robin:
    case block_scheduler_count: s->next = cta_round_robin; break;
    case block_scheduler_distributed: s->next = cta_distributed; break;
    case block_scheduler_two_level: s->next = cta_two_level; break;
    case block_scheduler_chunks: s->next = cta_chunks; break;
    case block_scheduler_block_cta: s->next = cta_block_cta; break;
    }
}

void cta_sched_begin(struct cta_sched *s, uint64_t blocks, uint32_t sms)
{
    s->blocks = blocks;
    s->sms = sms;
    s->given = s->cursor = 0;
    const uint32_t parts = (s->sms + s->part_sms - 1) / s->part_sms;
    for (uint32_t part = 0; part < parts; part++) {
        s->from[part] = (uint64_t)((unsigned __int128)blocks * part / parts);
        s->to[part] = (uint64_t)((unsigned __int128)blocks * (part + 1) / parts);
    }
    for (uint32_t sm = 0; sm < s->sms; sm++) s->left_in_run[sm] = s->dealt_from[sm] = s->dealt_to[sm] = 0;
    if (s->next != cta_two_level) return;
    const uint32_t groups = (s->sms + s->group_sms - 1) / s->group_sms;
    for (uint32_t g = 0; g < groups; g++) s->from[g] = g; /* then every groups-th */
}

void cta_sched_deal(struct cta_sched *s, uint32_t sm)
{
    if (s->given == s->blocks || s->dealt_to[sm] == s->block_slots) return;
    const uint64_t block = s->next(s, sm);
    if (block != CTA_NONE) s->dealt[sm * s->block_slots + s->dealt_to[sm]++] = block;
}
