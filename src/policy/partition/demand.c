/* demand: the demand-aware policy of UGPU (section 3.3). Once per epoch it gives SMs to compute-bound applications and
 * channel indices to memory-bound ones, until one class is empty.
 *
 *   Cid: the most compute-bound application that has an index to give     4 SMs ◄── Mid
 *   Mid: the most memory-bound application that has SMs to give           1 index ─► Mid
 *
 * The paper is silent on most of the following; the choices are ASSUMPTIONs:
 *  - Every application keeps a step of SMs and one index. Ties go to the lower number.
 *  - A step that makes Cid memory-bound is undone and ends the loop. A step that makes Mid compute-bound is kept.
 *  - An application gives no index that its pages need.
 *  - The loop counts every evaluation as an iteration, also the last one, which takes no step.
 *  - partition.qos: see keep_target(). */
#include <math.h>

#include "base/diag.h"
#include "policy/partition/partition.h"

/* ---- bounds ---- */

/* SMs that the application of partition.qos keeps after the first epoch. */
static uint32_t qos_sms(const struct partition_spec *s)
{
    return (uint32_t)ceil(s->qos_target * s->sms) + s->qos_margin;
}

static uint32_t sms_min(const struct partition_spec *s, uint32_t app)
{
    return app == s->qos_app && qos_sms(s) > s->step_sms ? qos_sms(s) : s->step_sms;
}

static bool may_give_sms(const struct partition_spec *s, const struct partition *p, uint32_t app)
{
    return p->of[app].sms >= sms_min(s, app) + s->step_sms;
}

static bool may_give_index(const struct partition_spec *s, const struct partition_profile *of,
                           const struct partition *p, uint32_t app)
{
    const struct partition_share after = {p->of[app].sms + s->step_sms, p->of[app].indices - 1};
    if (p->of[app].indices < 2) return false;
    if (s->pages_per_index && of[app].pages > after.indices * s->pages_per_index) return false;
    return app != s->qos_app || !partition_classify(s, &of[app], after).memory_bound;
}

/* True if the steps of this decision move SMs only. */
static bool one_index_each(const struct partition_spec *s, const struct partition *p)
{
    for (uint32_t app = 0; app < s->apps; app++)
        if (p->of[app].indices > 1) return false;
    return true;
}

/* ---- the loop ---- */

struct step {
    uint32_t compute, memory; /* PARTITION_NONE: no application can take part */
    bool index;               /* an index goes the other way */
};

/* The most compute-bound application, of those that can give an index or of all. */
static uint32_t most_compute_bound(const struct partition_spec *s, const struct partition_profile *of,
                                   const struct partition *p, const struct partition_class *class, bool gives)
{
    uint32_t best = PARTITION_NONE;
    for (uint32_t app = 0; app < s->apps; app++) {
        if (class[app].memory_bound || (gives && !may_give_index(s, of, p, app))) continue;
        if (best == PARTITION_NONE || class[app].degree > class[best].degree) best = app;
    }
    return best;
}

static struct step choose(const struct partition_spec *s, const struct partition_profile *of,
                          const struct partition *p, bool sms_only)
{
    struct partition_class class[PARTITION_APPS];
    struct step step = {PARTITION_NONE, PARTITION_NONE, !sms_only};
    for (uint32_t app = 0; app < s->apps; app++) {
        class[app] = partition_classify(s, &of[app], p->of[app]);
        if (!class[app].memory_bound || !may_give_sms(s, p, app)) continue;
        if (step.memory == PARTITION_NONE || class[app].degree > class[step.memory].degree) step.memory = app;
    }
    step.compute = most_compute_bound(s, of, p, class, !sms_only);
    if (step.compute == PARTITION_NONE && s->sm_only == partition_sm_only_always) {
        step.compute = most_compute_bound(s, of, p, class, false);
        step.index = false;
    }
    return step;
}

static void take(const struct partition_spec *s, struct partition *p, const struct step *step)
{
    p->of[step->compute].sms += s->step_sms;
    p->of[step->memory].sms -= s->step_sms;
    p->of[step->compute].indices -= step->index;
    p->of[step->memory].indices += step->index;
}

uint32_t partition_balance(const struct partition_spec *s, const struct partition_profile *of,
                           struct partition *p, struct partition *passed)
{
    const bool sms_only = s->sm_only != partition_sm_only_none && one_index_each(s, p);
    uint32_t iterations = 0;
    if (passed) *passed = *p;
    while (iterations < s->iterations_max) {
        const struct step step = choose(s, of, p, sms_only);
        iterations++;
        if (step.compute == PARTITION_NONE || step.memory == PARTITION_NONE) break;
        struct partition after = *p;
        take(s, &after, &step);
        if (partition_classify(s, &of[step.compute], after.of[step.compute]).memory_bound) break;
        *p = after;
        if (passed) passed[iterations] = *p;
    }
    return iterations;
}

/* ---- quality of service ---- */

/* An application with a target starts with this share of SMs and indices, rounded up; the others share the rest. */
static void start_with_target(const struct partition_spec *s, struct partition *p)
{
    const uint32_t others = s->apps - 1, sms = (uint32_t)ceil(s->qos_target * s->sms),
                   indices = (uint32_t)ceil(s->qos_target * s->indices);
    if (!others || s->sms < qos_sms(s) + others * s->step_sms || s->indices < indices + others)
        diag_mistake(
            "partition.qos asks for %u of %u SMs (with partition.qos_margin) and %u of %u channel indices; "
            "each of the other %u applications needs %u SMs and one index: lower the target",
            qos_sms(s), s->sms, indices, s->indices, others, s->step_sms);
    for (uint32_t app = 0; app < s->apps; app++)
        p->of[app] = (struct partition_share){(s->sms - sms) / others, (s->indices - indices) / others};
    p->of[s->qos_app] = (struct partition_share){sms, indices};
}

/* The application with a target gets its margin of SMs, from the application that has most. */
static void keep_target(const struct partition_spec *s, struct partition *p)
{
    if (s->qos_app == PARTITION_NONE) return;
    while (p->of[s->qos_app].sms < qos_sms(s)) {
        const uint32_t missing = qos_sms(s) - p->of[s->qos_app].sms;
        const uint32_t sms = missing < s->step_sms ? missing : s->step_sms;
        uint32_t most = s->qos_app ? 0 : 1;
        for (uint32_t app = 0; app < s->apps; app++)
            if (app != s->qos_app && p->of[app].sms > p->of[most].sms) most = app;
        p->of[most].sms -= sms;
        p->of[s->qos_app].sms += sms;
    }
}

/* ---- the policy ---- */

static void first(void *state, const struct partition_spec *s, const struct partition_profile *alone,
                  struct partition *p)
{
    (void)state;
    (void)alone;
    if (s->qos_app != PARTITION_NONE) start_with_target(s, p);
}

static void decide(void *state, const struct partition_question *q, struct partition_answer *a)
{
    const struct partition_spec *s = q->spec;
    (void)state;
    a->next = q->now;
    keep_target(s, &a->next);
    a->iterations = partition_balance(s, q->of, &a->next, NULL);
    a->latency_cyc = s->decision_cyc + a->iterations * s->iteration_cyc;
}

extern const struct partition_ops partition_demand;
const struct partition_ops partition_demand = {.first = first, .decide = decide};
