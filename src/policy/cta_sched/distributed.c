/* distributed: the grid is cut into one contiguous part per SM, so that neighbouring blocks run near each
 * other. An SM whose part is empty takes blocks from the end of the part of the nearest SM of its partition
 * that has blocks left, never of another partition. */
#include "policy/cta_sched/cta_sched.h"
#include "policy/cta_sched/parts.h"

struct distributed {
    struct part *parts; /* [SM] */
    uint32_t sms, sms_per_node;
};

static void *create(struct arena *a, const struct config *c, uint32_t sms)
{
    struct distributed *d = ARENA_NEW(a, struct distributed);
    (void)c;
    d->parts = ARENA_ARRAY(a, struct part, sms);
    return d;
}

static void begin(void *state, const struct launch_facts *l, const struct nodes *n, uint32_t sms)
{
    struct distributed *d = state;
    d->sms = sms;
    d->sms_per_node = n->sms_per_node;
    parts_cut(d->parts, sms, l->blocks);
}

/* Of two neighbours at the same distance, the one with the higher number comes first. */
static uint64_t next(void *state, uint32_t sm)
{
    const struct distributed *d = state;
    if (d->parts[sm].next < d->parts[sm].end) return d->parts[sm].next++;
    const uint32_t first = sm / d->sms_per_node * d->sms_per_node;
    const uint32_t end = first + d->sms_per_node < d->sms ? first + d->sms_per_node : d->sms;
    for (uint32_t distance = 1; distance < d->sms_per_node; distance++)
        for (int below = 0; below < 2; below++) {
            const uint32_t other = below ? sm - distance : sm + distance;
            if ((below && sm < first + distance) || other >= end) continue;
            if (d->parts[other].next < d->parts[other].end) return --d->parts[other].end;
        }
    return CTA_NONE;
}

const struct cta_ops cta_distributed = {.create = create, .begin = begin, .next = next};
