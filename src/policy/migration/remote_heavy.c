/* remote_heavy: a page moves to the node that sent most requests to it in an interval, if these are at least
 * runtime.move_accesses and at least pages.migration_ratio times those of the page's home. ASSUMPTION: CARVE gives one
 * figure for page migration and no policy; counters with a threshold and a ratio are common hardware. */
#include "policy/migration/migration.h"

struct remote_heavy {
    uint64_t min_accesses;
    double ratio;
};

static void begin(void *state, const struct config *c)
{
    struct remote_heavy *s = state;
    s->min_accesses = c->runtime.move_accesses;
    s->ratio = c->pages.migration_ratio;
}

/* Ties go to the node with the lowest number. */
static uint32_t target(void *state, const struct migration_question *q)
{
    const struct remote_heavy *s = state;
    uint32_t most = q->home ? 0 : 1;
    for (uint32_t k = 0; k < q->nodes; k++)
        if (k != q->home && q->accesses[k] > q->accesses[most]) most = k;
    if (most >= q->nodes || q->accesses[most] < s->min_accesses) return q->home;
    return (double)q->accesses[most] >= s->ratio * (double)q->accesses[q->home] && q->accesses[most]
               ? most
               : q->home;
}

extern const struct migration_ops migration_remote_heavy;
const struct migration_ops migration_remote_heavy = {
    .state_bytes = sizeof(struct remote_heavy), .begin = begin, .target = target};
