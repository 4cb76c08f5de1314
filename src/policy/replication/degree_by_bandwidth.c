/* bandwidth (SelRep): at the end of an epoch the degree with the highest predicted bandwidth is chosen
 * (replication_choose()). It comes into force a few tens of cycles later, when the routers know it; nothing
 * is flushed. Epochs go on over kernel boundaries, and so does the degree; ASSUMPTION.
 *
 * Copies are read from memory. It must have what the kernels before wrote: where none of their ends looked
 * through the slices, for want of copies, this is made up for before the first are made; ASSUMPTION. */
#include "check/fault.h"
#include "policy/replication/replication.h"

enum { POLL_CYC = 16 };

static bool memory_is_old(struct replication *p)
{
    const struct organisation *o = p->organisation;
    if (!(o->memory_old || p->cleaning) || FAULT_FIRES(selective_cleans_not)) return false;
    p->cleaning = !p->machine.clean(p->machine.self);
    return p->cleaning;
}

static void change(struct replication *p, uint64_t now)
{
    struct organisation *o = p->organisation;
    if ((p->next_degree > 1 || p->cleaning) && memory_is_old(p)) {
        p->change_cyc = now + POLL_CYC;
        return;
    }
    replication_count_degree(p, now);
    p->stats.changes += o->degree != p->next_degree;
    o->degree = p->next_degree;
    o->replicated |= o->degree > 1;
    p->change_cyc = UINT64_MAX;
}

/* Nothing is chosen: what the model says of each degree is there to be compared with what comes. */
uint64_t replication_fixed_due(struct replication *p, uint64_t now)
{
    const uint64_t epoch = p->config->selrep.epoch_cyc;
    if (p->epoch_cyc && now >= p->epoch_cyc) (void)replication_judge(p, now);
    p->epoch_cyc = (now / epoch + 1) * epoch;
    return p->epoch_cyc;
}

uint64_t replication_bandwidth_due(struct replication *p, uint64_t now)
{
    const uint64_t epoch = p->config->selrep.epoch_cyc;
    if (!p->epoch_cyc) p->epoch_cyc = (now / epoch + 1) * epoch;
    if (now >= p->change_cyc) change(p, now);
    if (now >= p->epoch_cyc) {
        struct replication_decision *d = replication_judge(p, now);
        d->next = p->next_degree = 1u << replication_choose(p, d);
        p->change_cyc = now + p->config->selrep.decision_cyc;
        p->epoch_cyc = (now / epoch + 1) * epoch;
    }
    return p->change_cyc < p->epoch_cyc ? p->change_cyc : p->epoch_cyc;
}
