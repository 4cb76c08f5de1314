/* cd_search: the search of SM counts that UGPU compares with (BP (CD-Search), section 6.4). Channels stay. While the
 * applications are of different classes, a step of SMs per epoch goes from the most memory-bound to the most
 * compute-bound application, as long as the sum of IPC over IPC of the first epoch rises. The first drop takes the
 * last step back and ends the search. */
#include <math.h>

#include "policy/partition/partition.h"

struct search {
    uint64_t first[PARTITION_APPS]; /* thread instructions of the first epoch */
    struct partition before;        /* the last step */
    double best;                    /* throughput before the last step */
    bool stepped, over;
};

/* Epochs have equal lengths, so instructions compare as rates. */
static double throughput(const struct search *t, const struct partition_question *q)
{
    double sum = 0;
    for (uint32_t app = 0; app < q->spec->apps; app++)
        if (t->first[app]) sum += (double)q->of[app].thread_instructions / (double)t->first[app];
    return sum;
}

/* False: all applications are of one class, or no application has SMs to give. */
static bool step(const struct partition_question *q, struct partition *p)
{
    const struct partition_spec *s = q->spec;
    uint32_t compute = PARTITION_NONE, memory = PARTITION_NONE;
    struct partition_class class[PARTITION_APPS];
    for (uint32_t app = 0; app < s->apps; app++) {
        class[app] = partition_classify(s, &q->of[app], q->now.of[app]);
        uint32_t *const best = class[app].memory_bound ? &memory : &compute;
        if (class[app].memory_bound && q->now.of[app].sms < 2 * s->step_sms) continue;
        if (*best == PARTITION_NONE || class[app].degree > class[*best].degree) *best = app;
    }
    if (compute == PARTITION_NONE || memory == PARTITION_NONE) return false;
    p->of[compute].sms += s->step_sms;
    p->of[memory].sms -= s->step_sms;
    return true;
}

static void decide(void *state, const struct partition_question *q, struct partition_answer *a)
{
    struct search *t = state;
    a->next = q->now;
    a->latency_cyc = q->spec->decision_cyc;
    if (t->over) return;
    if (!q->epoch)
        for (uint32_t app = 0; app < q->spec->apps; app++) t->first[app] = q->of[app].thread_instructions;
    const double now = throughput(t, q);
    if (t->stepped && now <= t->best) {
        a->next = t->before;
        t->over = true;
        return;
    }
    t->best = now;
    t->before = q->now;
    t->stepped = step(q, &a->next);
}

extern const struct partition_ops partition_cd_search;
const struct partition_ops partition_cd_search = {.state_bytes = sizeof(struct search), .decide = decide};
