/* two_level (2L-RR): block i belongs to SM group i mod groups. SMs call in the order of their
 * numbers, so any SM of the group takes the next block and the SMs fill round-robin. A group without blocks
 * takes those of the next group. */
#include "policy/cta_sched/cta_sched.h"

struct two_level {
    uint64_t *next; /* [group] then every groups-th block */
    uint64_t blocks;
    uint32_t groups, group_sms;
};

static void *create(struct arena *a, const struct config *c, uint32_t sms)
{
    struct two_level *t = ARENA_NEW(a, struct two_level);
    t->group_sms = c->runtime.cta_group_sms < sms ? c->runtime.cta_group_sms : sms;
    t->next = ARENA_ARRAY(a, uint64_t, sms);
    return t;
}

static void begin(void *state, const struct launch_facts *l, const struct nodes *n, uint32_t sms)
{
    struct two_level *t = state;
    (void)n;
    t->blocks = l->blocks;
    t->groups = (sms + t->group_sms - 1) / t->group_sms;
    for (uint32_t g = 0; g < t->groups; g++) t->next[g] = g;
}

static uint64_t next(void *state, uint32_t sm)
{
    const struct two_level *t = state;
    const uint32_t own = sm / t->group_sms;
    for (uint32_t k = 0; k < t->groups; k++) {
        const uint32_t group = (own + k) % t->groups;
        const uint64_t block = t->next[group];
        if (block >= t->blocks) continue;
        t->next[group] += t->groups;
        return block;
    }
    return CTA_NONE;
}

const struct cta_ops cta_two_level = {.create = create, .begin = begin, .next = next};
