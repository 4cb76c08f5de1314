/* bandwidth (SelRep): at the end of an epoch the degree with the highest predicted bandwidth is chosen; at
 * equal ones the smaller. It comes into force a few tens of cycles later, when the routers know it; nothing
 * is flushed. Epochs go on over kernel boundaries, and so does the degree; ASSUMPTION. */
#include "policy/replication/replication.h"

static uint32_t best_degree(const struct replication *p, const struct replication_decision *d)
{
    uint32_t best = 31 - (uint32_t)__builtin_clz(d->degree);
    bool judged = false;
    for (uint32_t k = 0; k < p->degrees; k++) {
        if (d->hit_rate[k] < 0) continue; /* no request of the epoch says anything about it */
        if (!judged || d->bandwidth[k] > d->bandwidth[best]) best = k;
        judged = true;
    }
    return 1u << best;
}

static void change(struct replication *p, uint64_t now)
{
    struct organisation *o = p->organisation;
    replication_count_degree(p, now);
    p->stats.changes += o->degree != p->next_degree;
    o->degree = p->next_degree;
    o->replicated |= o->degree > 1;
    p->change_cyc = UINT64_MAX;
}

uint64_t replication_bandwidth_due(struct replication *p, uint64_t now)
{
    const uint64_t epoch = p->config->selrep.epoch_cyc;
    if (!p->epoch_cyc) p->epoch_cyc = (now / epoch + 1) * epoch;
    if (now >= p->change_cyc) change(p, now);
    if (now >= p->epoch_cyc) {
        struct replication_decision *d = replication_judge(p, now);
        d->next = p->next_degree = best_degree(p, d);
        p->change_cyc = now + p->config->selrep.decision_cyc;
        p->epoch_cyc = (now / epoch + 1) * epoch;
    }
    return p->change_cyc < p->epoch_cyc ? p->change_cyc : p->epoch_cyc;
}
