/* replication: how many copies of read-only lines the LLC keeps, decided at the end of epochs from what
 * slices served.
 *
 *   slices ─tap─► accesses ─► RDD (hit rates), request counters (LSP) ─► end of epoch: policy ─► organisation
 *
 * A policy is one file with a `due` function and one row in replication_choices.def: it is asked at the times
 * it asks for, after all visits of the cycle, and changes the organisation (degree, private or not).
 * Profilers see the requests of stack 0 only, as the one MC-router of the paper that has the RDD. */
#ifndef ATOLL_POLICY_REPLICATION_H
#define ATOLL_POLICY_REPLICATION_H

#include "base/arena.h"
#include "config/config.h"
#include "llc/llc.h"
#include "llc/organisation.h"
#include "policy/replication/accesses.h"
#include "policy/replication/rdd.h"
#include "policy/replication/shadow.h"
#include "policy/replication/sharing.h"
#include "stats/stats.h"

enum { REPLICATION_SLICES = 64, REPLICATION_WINDOWS = 2, REPLICATION_KERNELS = 256 };

/* One end of an epoch, for reports. */
struct replication_decision {
    uint64_t cyc;
    uint32_t degree, next;             /* during the epoch, chosen */
    uint32_t sampled[RDD_DEGREES_MAX]; /* requests that the hit rate of each degree was found from, */
    uint32_t cold[RDD_DEGREES_MAX];    /* and misses that were not counted, in ways never used before */
    double hit_rate[RDD_DEGREES_MAX], lsp[RDD_DEGREES_MAX], bandwidth[RDD_DEGREES_MAX]; /* bytes per second */
    double counted[RDD_DEGREES_MAX],
        promised[RDD_DEGREES_MAX]; /* hits and bandwidths that the choice is by */
    bool tries;                    /* twice the copies that these speak for */
    uint64_t reads, found;         /* read-only, of all stacks in the epoch, and of these what slices had */
    uint32_t requests;             /* read-only, of stack 0 */
    uint64_t epoch_cyc;            /* length of the epoch */
    double short_lsp[REPLICATION_WINDOWS][RDD_DEGREES_MAX];
};

/* Cycles between two checks of a pass. */
enum { REPLICATION_POLL_CYC = 16 };

/* A pass over all slices that the policy needs before it changes the organisation. The policy sets NEEDED.
 * The caller of due() carries the pass out (control/replication_client.c) and sets DONE; from the cycle
 * change_cyc on it checks the pass before each call of due(). The policy sets NONE when it has used the
 * result. */
struct replication_pass {
    enum { REPLICATION_PASS_NONE, REPLICATION_PASS_NEEDED, REPLICATION_PASS_DONE } state;
    enum llc_boundary how; /* llc_boundary_keep: drain only */
    bool stops_sms;        /* SMs send nothing, and requests in flight complete before the pass, until NONE */
};

/* Short times that ended since the last decision: all requests, and those of the busiest slices. */
struct replication_busiest {
    uint64_t seen, most[RDD_DEGREES_MAX];
};

/* selrep.per_kernel: what was chosen last for a kernel, and its epoch that is under way between launches. */
struct replication_known {
    uint64_t key;
    uint32_t degree;               /* 0: no such kernel */
    uint64_t past_cyc, length_cyc; /* of the epoch: in launches before, in all */
    uint32_t acc[RDD_DEGREES_MAX], hit[RDD_DEGREES_MAX], cold[RDD_DEGREES_MAX];
    uint32_t rest; /* decisions before more copies than the model wants are tried again */
    uint32_t requests[RDD_DEGREES_MAX][REPLICATION_SLICES];
    struct replication_busiest short_times[REPLICATION_WINDOWS];
    uint64_t reads, found;
};

struct replication {
    const struct config *config;
    struct organisation *organisation;
    const struct slice_spec *slice_spec;
    struct replication_pass pass;
    uint64_t (*due)(struct replication *p, uint64_t now);       /* returns when to be asked next */
    void (*kernel_begins)(struct replication *p, uint64_t now); /* NULL: the policy does not mind */
    void (*kernel_ends)(struct replication *p, uint64_t now);
    struct accesses accesses;
    struct rdd rdd;
    uint32_t degrees;                                       /* 1, 2, ... : number of them */
    uint32_t requests[RDD_DEGREES_MAX][REPLICATION_SLICES]; /* since the last decision */
    struct replication_window {
        uint64_t length_cyc, end_cyc;
        uint32_t requests[RDD_DEGREES_MAX][REPLICATION_SLICES];
        struct replication_busiest sum;
    } windows[REPLICATION_WINDOWS]; /* the same over short times: 256 and 1024 cycles */
    double llc_bytes, memory_bytes; /* B_LLC, B_mem: per slice and second */
    uint64_t reads, found;          /* read-only, since the last decision; what slices had of them */
    /* times */
    uint64_t epoch_cyc, since_cyc;   /* next end of an epoch; degree counted up to here */
    bool running;                    /* kernels: their cycles count */
    uint64_t key;                    /* of the kernel that began last */
    struct replication_known *known; /* [REPLICATION_KERNELS], selrep.per_kernel: what is known of kernels */
    uint64_t change_cyc;             /* the next change or check of a pass; UINT64_MAX: none */
    uint32_t next_degree;
    bool cleaning;           /* slices write back what kernels before left there */
    uint32_t phase;          /* of the policy */
    struct sharing *sharing; /* NULL: not counted */
    struct shadow *shadow;   /* NULL: not kept */
    struct selrep_stats stats;
    struct replication_decision *decisions; /* malloc */
    uint32_t decision_count, decision_capacity;
};

/* NULL: the machine replicates nothing and counts nothing. */
struct replication *replication_new(struct arena *a, const struct config *c, const struct slice_spec *slices,
                                    struct organisation *o);
void replication_free(struct replication *p);
struct llc_monitor replication_monitor(struct replication *p);
/* Of a series (stats_on_edge): the present degree counts up to there. */
void replication_edge(void *p, uint64_t edge_cyc);
/* A kernel begins, or goes on alone when one beside it has ended. Launches with equal keys are the same
 * kernel for the policy. The caller then calls due(). */
void replication_begin(struct replication *p, uint64_t now, uint64_t key);
/* A kernel ends, whatever its boundary does to the slices at the present degree. */
void replication_boundary(struct replication *p, uint64_t now);
/* A kernel has ended, or the run was stopped: counts are complete. */
void replication_settle(struct replication *p, uint64_t now);

/* ---- for policies ---- */

/* Fills in hit rates, slice parallelism and bandwidths of all degrees, resets the counters; the chosen degree
 * is still to be set. */
struct replication_decision *replication_judge(struct replication *p, uint64_t now);
/* Enough requests of degree 1 << k were sampled to speak of it. */
bool replication_judged(const struct replication *p, const struct replication_decision *d, uint32_t k);
/* What degree 1 << k gives if all requests hit. */
double replication_at_most(const struct replication *p, const struct replication_decision *d, uint32_t k);
/* Was anything of the epoch seen that speaks for a degree? */
bool replication_knows(const struct replication *p, const struct replication_decision *d);
/* The degree to take, as a power of two; what it is by is noted in the decision. */
struct replication_choice {
    uint32_t best;
    bool more_may_pay; /* memory has room for twice the misses; twice as many copies promise half as much */
};
struct replication_choice replication_choose(const struct replication *p, struct replication_decision *d);
/* All or nothing: whether full replication is worth a change (all_or_nothing.c). */
bool replication_private_is_better(const struct replication *p, const struct replication_decision *d);
/* Requests so far count for nothing: a profile begins. */
void replication_forget(struct replication *p);
/* The present degree counts up to now. */
void replication_count_degree(struct replication *p, uint64_t now);

/* selrep.per_kernel: a kernel begins, ends. */
void replication_bandwidth_begin(struct replication *p, uint64_t now);
void replication_bandwidth_end(struct replication *p, uint64_t now);
uint64_t replication_bandwidth_due(struct replication *p, uint64_t now);
uint64_t replication_fixed_due(struct replication *p, uint64_t now);
uint64_t replication_all_or_nothing_due(struct replication *p, uint64_t now);

#endif
