/* round_robin: the next block to whoever has room. */
#include "policy/cta_sched/cta_sched.h"

uint64_t cta_round_robin(struct cta_sched *s, uint32_t sm)
{
    (void)sm;
    s->given++;
    return s->cursor++;
}
