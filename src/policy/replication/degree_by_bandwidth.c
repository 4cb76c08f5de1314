/* bandwidth (SelRep): at the end of an epoch the degree with the highest predicted bandwidth is chosen
 * (replication_choose()). It comes into force a few tens of cycles later, when the routers know it; nothing
 * is flushed. With selrep.per_kernel every kernel has epochs and a degree of its own: the runtime keeps the
 * counters from one launch to the next (not the directory's lines, which a boundary empties anyway); its
 * first launch begins with the degree in force. Else epochs and degree go on over kernels. ASSUMPTION
 *
 * Copies are read from memory. It must have what the kernels before wrote: where none of their ends looked
 * through the slices, for want of copies, this is made up for before the first are made; ASSUMPTION. */
#include <string.h>

#include "check/fault.h"
#include "policy/replication/replication.h"

/* True while slices hold dirty lines of earlier kernels. A clean pass writes them back. If a kernel ends
 * during the pass, a second pass follows from the next check on. */
static bool memory_is_old(struct replication *p)
{
    const struct organisation *o = p->organisation;
    if (!(o->memory_stale || p->cleaning) || FAULT_FIRES(selective_cleans_not)) return false;
    switch (p->pass.state) {
    case REPLICATION_PASS_NONE:
        p->pass = (struct replication_pass){.state = REPLICATION_PASS_NEEDED, .how = llc_boundary_clean};
        p->cleaning = true;
        break;
    case REPLICATION_PASS_NEEDED: break;
    case REPLICATION_PASS_DONE:
        p->pass.state = REPLICATION_PASS_NONE;
        p->cleaning = o->memory_stale;
        break;
    }
    return p->cleaning;
}

static void change(struct replication *p, uint64_t now)
{
    struct organisation *o = p->organisation;
    if ((p->next_degree > 1 || p->cleaning) && memory_is_old(p)) {
        p->change_cyc = now + REPLICATION_POLL_CYC;
        return;
    }
    replication_count_degree(p, now);
    struct organisation_state s = *organisation_in_force(o);
    p->stats.changes += s.degree != p->next_degree;
    s.degree = p->next_degree;
    organisation_set(o, &s, 0);
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

/* What is known of the kernel; when there is no place left, new ones share the last. */
static struct replication_known *known(struct replication *p)
{
    uint32_t k = 0;
    while (k < REPLICATION_KERNELS - 1 && p->known[k].degree && p->known[k].key != p->key) k++;
    struct replication_known *const n = &p->known[k];
    if (n->degree && n->key == p->key) return n;
    const uint64_t epoch = p->config->selrep.epoch_cyc, first = p->config->selrep.first_epoch_cyc;
    *n = (struct replication_known){.key = p->key,
                                    .degree = p->organisation->state[0].degree,
                                    .length_cyc = first < epoch ? first : epoch};
    return n;
}

/* While fewer copies are in force the directory counts too few hits for more: SMs that wait for the same
 * slice read in step, and that shows only with the copies. So, where memory can take it, twice as many as the
 * model wants are tried for an epoch of a launch; what that shows decides, and if it was in vain the next try
 * is long after. ASSUMPTION: the paper does without. */
static void decide(struct replication *p, uint64_t now)
{
    struct replication_known *const n = known(p);
    struct replication_decision *const d = replication_judge(p, now);
    if (p->config->selrep.per_kernel) d->epoch_cyc = n->length_cyc;
    n->length_cyc = p->config->selrep.epoch_cyc;
    if (!replication_knows(p, d)) { /* as it is */
        n->degree = p->next_degree = d->degree;
        n->past_cyc = 0;
        return;
    }
    const struct replication_choice c = replication_choose(p, d);
    const uint32_t best = 1u << c.best, rest = p->config->selrep.try_epochs;
    if (n->rest) n->rest--;
    if (best < d->degree) n->rest = rest;
    d->tries = rest && !n->rest && c.more_may_pay && !n->past_cyc;
    n->degree = d->next = p->next_degree = d->tries ? 2 * best : best;
    n->past_cyc = 0;
}

void replication_bandwidth_begin(struct replication *p, uint64_t now)
{
    const struct replication_known *const n = known(p);
    p->next_degree = n->degree;
    p->change_cyc = now;
    p->epoch_cyc = now + (n->past_cyc < n->length_cyc ? n->length_cyc - n->past_cyc : 1);
    memcpy(p->rdd.acc, n->acc, sizeof n->acc);
    memcpy(p->rdd.hit, n->hit, sizeof n->hit);
    memcpy(p->rdd.cold, n->cold, sizeof n->cold);
    memcpy(p->requests, n->requests, sizeof n->requests);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++) p->windows[w].sum = n->short_times[w];
    p->reads = n->reads;
    p->found = n->found;
}

void replication_bandwidth_end(struct replication *p, uint64_t now)
{
    struct replication_known *const n = known(p);
    n->past_cyc = now < p->epoch_cyc ? now + n->length_cyc - p->epoch_cyc : n->length_cyc;
    memcpy(n->acc, p->rdd.acc, sizeof n->acc);
    memcpy(n->hit, p->rdd.hit, sizeof n->hit);
    memcpy(n->cold, p->rdd.cold, sizeof n->cold);
    memcpy(n->requests, p->requests, sizeof n->requests);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++) n->short_times[w] = p->windows[w].sum;
    n->reads = p->reads;
    n->found = p->found;
    p->epoch_cyc = UINT64_MAX; /* nothing is decided while slices are looked through */
    replication_forget(p);
}

uint64_t replication_bandwidth_due(struct replication *p, uint64_t now)
{
    const uint64_t epoch = p->config->selrep.epoch_cyc;
    if (!p->epoch_cyc) p->epoch_cyc = (now / epoch + 1) * epoch;
    if (now >= p->change_cyc) change(p, now);
    if (now >= p->epoch_cyc) {
        decide(p, now);
        p->change_cyc = now + p->config->selrep.decision_cyc;
        p->epoch_cyc = p->config->selrep.per_kernel ? now + epoch : (now / epoch + 1) * epoch;
    }
    return p->change_cyc < p->epoch_cyc ? p->change_cyc : p->epoch_cyc;
}
