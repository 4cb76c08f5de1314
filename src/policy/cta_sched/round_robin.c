/* round_robin: the next block of the grid, whichever SM calls. */
#include "policy/cta_sched/cta_sched.h"

static void *create(struct arena *a, const struct config *c, uint32_t sms)
{
    (void)c;
    (void)sms;
    return ARENA_NEW(a, uint64_t); /* the next block */
}

static void begin(void *state, const struct launch_facts *l, const struct nodes *n, uint32_t sms)
{
    (void)l;
    (void)n;
    (void)sms;
    *(uint64_t *)state = 0;
}

static uint64_t next(void *state, uint32_t sm)
{
    (void)sm;
    return (*(uint64_t *)state)++;
}

const struct cta_ops cta_round_robin = {.create = create, .begin = begin, .next = next};
