/* most_used: a page moves to the node that sent most requests to it in an interval. NUBA names it as an
 * alternative to LAB (section 7.6, after Griffin) and gives the idea only: interval, minimum and costs are
 * ASSUMPTIONs. */
#include "policy/migration/migration.h"

struct most_used {
    uint64_t min_accesses; /* pages with fewer requests in the interval stay */
};

static void begin(void *state, const struct config *c)
{
    ((struct most_used *)state)->min_accesses = c->runtime.move_accesses;
}

/* The home wins ties, else the node with the lowest number. */
static uint32_t target(void *state, const struct migration_question *q)
{
    const struct most_used *s = state;
    uint64_t sum = 0;
    uint32_t most = q->home;
    for (uint32_t k = 0; k < q->nodes; k++) {
        sum += q->accesses[k];
        if (q->accesses[k] > q->accesses[most]) most = k;
    }
    return sum >= s->min_accesses ? most : q->home;
}

extern const struct migration_ops migration_most_used;
const struct migration_ops migration_most_used = {
    .state_bytes = sizeof(struct most_used), .begin = begin, .target = target};
