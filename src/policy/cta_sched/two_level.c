/* two_level (2L-RR): block i belongs to SM group i mod groups; inside a group, to whoever has room, which
 * fills the SMs round robin as they ask in turn. When the blocks of a group are used up it helps the next
 * group. */
#include "policy/cta_sched/cta_sched.h"

uint64_t cta_two_level(struct cta_sched *s, uint32_t sm)
{
    const uint32_t groups = (s->sms + s->group_sms - 1) / s->group_sms, own = sm / s->group_sms;
    for (uint32_t k = 0; k < groups; k++) {
        const uint32_t group = (own + k) % groups;
        if (s->from[group] >= s->blocks) continue;
        const uint64_t block = s->from[group];
        s->from[group] += groups;
        s->given++;
        return block;
    }
    return CTA_NONE;
}
