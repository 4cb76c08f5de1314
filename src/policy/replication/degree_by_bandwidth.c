/* bandwidth (SelRep): at the end of an epoch, the policy chooses the degree with the highest predicted
 * bandwidth (replication_choose()). The degree comes into force a few tens of cycles later, when all routers
 * have received it. No flush is needed.
 *
 * With selrep.per_kernel every kernel has its own epochs and degree, otherwise epochs and degree continue
 * over kernels: the runtime keeps the counters of a kernel from one launch to the next (not the lines of the
 * directory, which a boundary empties), and the first launch of a kernel starts with the degree in force.
 * ASSUMPTION
 *
 * Replicas are read from memory, which must hold the stores of earlier kernels. Kernels that end without
 * replicas make no pass over the slices. A clean pass over the slices therefore precedes the first replicas,
 * if earlier kernels ended without a pass; ASSUMPTION. */
#include <string.h>

#include "check/fault.h"
#include "policy/replication/replication.h"

/* True while slices hold dirty lines of earlier kernels. A clean pass writes them back. If a kernel ends
 * during the pass, a second pass follows from the next check on. */
static bool needs_clean_pass(struct replication *p)
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
    if ((p->next_degree > 1 || p->cleaning) && needs_clean_pass(p)) {
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

/* Fixed degree: evaluates the model at the end of each epoch, for reports, and changes nothing. */
uint64_t replication_fixed_due(struct replication *p, uint64_t now)
{
    const uint64_t epoch = p->config->selrep.epoch_cyc;
    if (p->epoch_cyc && now >= p->epoch_cyc) (void)replication_evaluate(p, now);
    p->epoch_cyc = (now / epoch + 1) * epoch;
    return p->epoch_cyc;
}

/* Returns the entry of the present kernel, and creates it if needed. If the table is full, further kernels
 * share the last entry. */
static struct replication_kernel *find_kernel(struct replication *p)
{
    uint32_t k = 0;
    while (k < REPLICATION_KERNELS - 1 && p->kernels[k].degree && p->kernels[k].key != p->key) k++;
    struct replication_kernel *const n = &p->kernels[k];
    if (n->degree && n->key == p->key) return n;
    const uint64_t epoch = p->config->selrep.epoch_cyc, first = p->config->selrep.first_epoch_cyc;
    *n = (struct replication_kernel){.key = p->key,
                                     .degree = p->organisation->state[0].degree,
                                     .length_cyc = first < epoch ? first : epoch};
    return n;
}

/* At a low degree the directory underestimates the hits of higher degrees: SMs that wait for the same slice
 * read in lockstep, which only shows with the replicas in place. If memory bandwidth allows it, the policy
 * therefore tries twice the predicted degree for one epoch of a launch. The measured hits then decide. After
 * a trial without gain, the next trial follows selrep.try_epochs decisions later. The policy tries a higher
 * degree than the predicted one, which the paper does not; ASSUMPTION. */
static void decide(struct replication *p, uint64_t now)
{
    struct replication_kernel *const n = find_kernel(p);
    struct replication_decision *const d = replication_evaluate(p, now);
    if (p->config->selrep.per_kernel) d->epoch_cyc = n->length_cyc;
    n->length_cyc = p->config->selrep.epoch_cyc;
    if (!replication_has_evidence(p, d)) { /* keeps the degree */
        n->degree = p->next_degree = d->degree;
        n->elapsed_cyc = 0;
        return;
    }
    const struct replication_choice c = replication_choose(p, d);
    const uint32_t best = 1u << c.best, try_epochs = p->config->selrep.try_epochs;
    if (n->trial_wait) n->trial_wait--;
    if (best < d->degree) n->trial_wait = try_epochs;
    d->is_trial = try_epochs && !n->trial_wait && c.may_try_more && !n->elapsed_cyc;
    n->degree = d->next = p->next_degree = d->is_trial ? 2 * best : best;
    n->elapsed_cyc = 0;
}

static void kernel_begins(struct replication *p, uint64_t now)
{
    const struct replication_kernel *const n = find_kernel(p);
    p->next_degree = n->degree;
    p->change_cyc = now;
    p->epoch_cyc = now + (n->elapsed_cyc < n->length_cyc ? n->length_cyc - n->elapsed_cyc : 1);
    memcpy(p->rdd.acc, n->acc, sizeof n->acc);
    memcpy(p->rdd.hit, n->hit, sizeof n->hit);
    memcpy(p->rdd.cold, n->cold, sizeof n->cold);
    memcpy(p->requests, n->requests, sizeof n->requests);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++) p->windows[w].sum = n->short_times[w];
    p->reads = n->reads;
    p->found = n->found;
}

static void kernel_ends(struct replication *p, uint64_t now)
{
    struct replication_kernel *const n = find_kernel(p);
    n->elapsed_cyc = now < p->epoch_cyc ? now + n->length_cyc - p->epoch_cyc : n->length_cyc;
    memcpy(n->acc, p->rdd.acc, sizeof n->acc);
    memcpy(n->hit, p->rdd.hit, sizeof n->hit);
    memcpy(n->cold, p->rdd.cold, sizeof n->cold);
    memcpy(n->requests, p->requests, sizeof n->requests);
    for (uint32_t w = 0; w < REPLICATION_WINDOWS; w++) n->short_times[w] = p->windows[w].sum;
    n->reads = p->reads;
    n->found = p->found;
    p->epoch_cyc = UINT64_MAX; /* no decision during the pass of the boundary */
    replication_reset_counters(p);
}

static uint64_t due(struct replication *p, uint64_t now)
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

const struct replication_ops replication_bandwidth = {
    .due = due, .kernel_begins = kernel_begins, .kernel_ends = kernel_ends, .counts_found = true};
