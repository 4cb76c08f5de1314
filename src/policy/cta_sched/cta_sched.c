/* cta_sched: from the configuration's name to the function, and the parts of a grid. */
#include "policy/cta_sched/cta_sched.h"

void cta_sched_init(struct cta_sched *s, struct arena *a, const struct config *c, uint32_t sms)
{
    *s = (struct cta_sched){.sms = sms,
                            .sms_per_partition = c->partition.sms,
                            .group_sms = c->runtime.cta_group_sms < sms ? c->runtime.cta_group_sms : sms,
                            .run = c->runtime.cta_run};
    s->from = ARENA_ARRAY(a, uint64_t, sms);
    s->to = ARENA_ARRAY(a, uint64_t, sms);
    s->left_in_run = ARENA_ARRAY(a, uint32_t, sms);
    switch (c->runtime.cta_sched) {
    case block_scheduler_round_robin:
    case block_scheduler_count: s->next = cta_round_robin; break;
    case block_scheduler_distributed: s->next = cta_distributed; break;
    case block_scheduler_two_level: s->next = cta_two_level; break;
    case block_scheduler_block_cta: s->next = cta_block_cta; break;
    }
}

void cta_sched_begin(struct cta_sched *s, uint64_t blocks)
{
    s->blocks = blocks;
    s->given = s->cursor = 0;
    for (uint32_t sm = 0; sm < s->sms; sm++) {
        s->from[sm] = (uint64_t)((unsigned __int128)blocks * sm / s->sms);
        s->to[sm] = (uint64_t)((unsigned __int128)blocks * (sm + 1) / s->sms);
        s->left_in_run[sm] = 0;
    }
    if (s->next != cta_two_level) return;
    const uint32_t groups = (s->sms + s->group_sms - 1) / s->group_sms;
    for (uint32_t g = 0; g < groups; g++) s->from[g] = g; /* then every groups-th */
}
