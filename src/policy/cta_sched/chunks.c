/* chunks: the grid is cut into one contiguous part per GPU, chiplet or partition; inside, the next block of
 * the part to whoever has room. Parts are fixed: who has finished his does not help (CARVE, kernel-wide of
 * LADM). */
#include "policy/cta_sched/cta_sched.h"

uint64_t cta_chunks(struct cta_sched *s, uint32_t sm)
{
    const uint32_t part = sm / s->part_sms;
    if (s->from[part] == s->to[part]) return CTA_NONE;
    s->given++;
    return s->from[part]++;
}
