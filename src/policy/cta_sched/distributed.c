/* distributed: the grid is cut into one contiguous part per SM, so neighbouring blocks run near each other.
 * An SM whose part is used up takes from the end of the part of the nearest SM of its partition that has
 * blocks left; never from another partition. */
#include "policy/cta_sched/cta_sched.h"

uint64_t cta_distributed(struct cta_sched *s, uint32_t sm)
{
    if (s->from[sm] < s->to[sm]) {
        s->given++;
        return s->from[sm]++;
    }
    const uint32_t first = sm / s->sms_per_partition * s->sms_per_partition;
    const uint32_t end = first + s->sms_per_partition < s->sms ? first + s->sms_per_partition : s->sms;
    for (uint32_t far = 1; far < s->sms_per_partition; far++)
        for (int side = 0; side < 2; side++) {
            const uint32_t other = side ? sm - far : sm + far;
            if ((side && sm < first + far) || other >= end || s->from[other] >= s->to[other]) continue;
            s->given++;
            return --s->to[other];
        }
    return CTA_NONE;
}
