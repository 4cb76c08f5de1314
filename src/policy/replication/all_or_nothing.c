/* all_or_nothing (Adaptive LLC): one mode, shared or private, for all data.
 *
 *   START ──► PROFILE (shared) ── private better ──► CHANGE ──► RUN (private)
 *               ▲      │                                              │
 *               │      └ shared better ──► RUN (shared) ──┐           │ end of the period
 *               │                       end of the period │           ▼
 *               └─────────────────────────────────────────┴─────── CHANGE
 *
 * The period (selrep.period_cyc) starts at the decision. CHANGE stops the SMs, drains their requests and
 * flushes the slices (struct replication_pass).
 *
 * The predictor of the original design sits in a slice. It sees the accesses of all clusters only in shared
 * mode, so profiling runs in shared mode. The policy chooses private mode if SelRep's model gives more
 * bandwidth, or nearly as much (selrep.equal). If shared mode has too few samples, the model counts all its
 * accesses as hits. Kernel boundaries do not start another profile, because many kernels are shorter than
 * one profile; ASSUMPTION */
#include "check/fault.h"
#include "policy/replication/replication.h"

enum phase { START, PROFILE, RUN, CHANGE };

/* Requests the pass of a mode change. SMs send no request from the next cycle on. */
static uint64_t start_change(struct replication *p, uint64_t now)
{
    replication_count_degree(p, now);
    p->pass = (struct replication_pass){.state = REPLICATION_PASS_NEEDED,
                                        .how = FAULT_FIRES(adaptive_flushes_not) ? llc_boundary_keep
                                                                                 : llc_boundary_flush,
                                        .stops_sms = true};
    p->phase = CHANGE;
    return p->change_cyc = now + REPLICATION_POLL_CYC;
}

/* Ends a change: the new mode is in force and the SMs continue. */
static void end_change(struct replication *p, uint64_t now, bool is_private)
{
    struct organisation *o = p->organisation;
    replication_count_degree(p, now);
    struct organisation_state s = *organisation_in_force(o);
    p->stats.changes += s.is_private != is_private;
    s.is_private = is_private;
    organisation_set(o, &s, 0);
    p->pass.state = REPLICATION_PASS_NONE;
    p->change_cyc = UINT64_MAX;
    p->phase = is_private ? RUN : PROFILE;
}

bool replication_private_is_better(const struct replication *p, const struct replication_decision *d)
{
    const uint32_t all = p->degrees - 1;
    if (!replication_has_samples(p, d, all)) return false;
    const double shared =
        replication_has_samples(p, d, 0) ? d->bandwidth[0] : replication_bandwidth_max(p, d, 0);
    return d->bandwidth[all] > shared * (1 - p->config->selrep.equal);
}

static uint64_t decide(struct replication *p, uint64_t now)
{
    struct replication_decision *d = replication_evaluate(p, now);
    p->epoch_cyc = now + p->config->selrep.period_cyc;
    p->phase = RUN;
    if (!replication_private_is_better(p, d)) return p->epoch_cyc;
    d->next = 1u << (p->degrees - 1);
    return start_change(p, now);
}

static uint64_t start_profile(struct replication *p, uint64_t now)
{
    replication_reset_counters(p); /* discards accesses of private mode, or before the start */
    p->phase = PROFILE;
    p->epoch_cyc = now + p->config->selrep.profile_cyc;
    return p->epoch_cyc;
}

static uint64_t due(struct replication *p, uint64_t now)
{
    const bool private_now = p->organisation->state[0].is_private;
    switch ((enum phase)p->phase) {
    case START: return start_profile(p, now);
    case PROFILE: return now < p->epoch_cyc ? p->epoch_cyc : decide(p, now);
    case RUN:
        if (now < p->epoch_cyc) return p->epoch_cyc;
        return private_now ? start_change(p, now) : start_profile(p, now);
    case CHANGE:
        if (p->pass.state != REPLICATION_PASS_DONE) return p->change_cyc = now + REPLICATION_POLL_CYC;
        end_change(p, now, !private_now);
        return private_now ? start_profile(p, now) : p->epoch_cyc;
    }
    return UINT64_MAX;
}

const struct replication_ops replication_all_or_nothing = {.due = due};
