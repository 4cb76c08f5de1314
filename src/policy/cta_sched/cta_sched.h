/* cta_sched: which block of a grid an SM gets when it has room.
 *
 * Asked in the order of SM numbers, at most once per SM and cycle. A policy is one file (a begin and a next
 * function) and one row in cta_choices.def. */
#ifndef ATOLL_POLICY_CTA_SCHED_H
#define ATOLL_POLICY_CTA_SCHED_H

#include <stdbool.h>

#include "base/arena.h"
#include "config/config.h"

#define CTA_NONE UINT64_MAX

/* One running grid. */
struct cta_sched {
    uint64_t (*next)(struct cta_sched *s, uint32_t sm); /* CTA_NONE: nothing for this SM (now) */
    uint64_t blocks, given;
    uint32_t sms, sms_per_partition;
    uint32_t group_sms;  /* two_level: SMs of a group */
    uint32_t run;        /* block_cta: blocks in a run */
    uint32_t part_sms;   /* distributed, chunks: SMs that share a part */
    uint64_t cursor;     /* round robin: next block */
    uint64_t *from, *to; /* per SM or group: own part, next and end */
    uint32_t *left_in_run;
    /* Given out, but not taken yet: up to block_slots of each SM. */
    uint64_t *dealt;
    uint32_t *dealt_from, *dealt_to, block_slots;
};

/* Memory of the state is the arena's; begin again for every grid. */
void cta_sched_init(struct cta_sched *s, struct arena *a, const struct config *c, uint32_t sms);
/* sms: at most as many as at init; next() is asked with numbers below it. */
void cta_sched_begin(struct cta_sched *s, uint64_t blocks, uint32_t sms);
/* Keeps a block for an SM that will ask later: SMs that begin at different times get what they would have got
 * beginning together. */
void cta_sched_deal(struct cta_sched *s, uint32_t sm);
static inline uint64_t cta_sched_next(struct cta_sched *s, uint32_t sm)
{
    if (s->dealt_from[sm] < s->dealt_to[sm]) return s->dealt[sm * s->block_slots + s->dealt_from[sm]++];
    return s->given < s->blocks ? s->next(s, sm) : CTA_NONE;
}

uint64_t cta_round_robin(struct cta_sched *s, uint32_t sm);
uint64_t cta_distributed(struct cta_sched *s, uint32_t sm);
uint64_t cta_two_level(struct cta_sched *s, uint32_t sm);
uint64_t cta_chunks(struct cta_sched *s, uint32_t sm);
uint64_t cta_block_cta(struct cta_sched *s, uint32_t sm);

#endif
