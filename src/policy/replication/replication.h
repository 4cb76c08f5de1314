/* replication: chooses the degree of replication of read-only lines, at the end of epochs, from the requests
 * that slices served.
 *
 *   slices ──monitor──► accesses ──► RDD (hit rates), request counters (LSP)
 *                                      │ end of an epoch
 *                                      ▼
 *                                    policy: due() ──► organisation_set()
 *
 * A policy is one file with a table of functions and one row in replication.def. due() is called at the
 * cycles that the policy returns, after all components of the cycle have run. It changes the degree or the
 * private mode of the organisation. The profilers observe stack 0 only: in the paper one MC-router has the
 * RDD. */
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

/* The decision at the end of an epoch, for reports. */
struct replication_decision {
    uint64_t cyc;
    uint32_t degree, next;             /* degree during the epoch; chosen degree */
    uint32_t sampled[RDD_DEGREES_MAX]; /* samples of the hit rate of each degree */
    uint32_t cold[RDD_DEGREES_MAX];    /* cold misses, which are not in `sampled` */
    double hit_rate[RDD_DEGREES_MAX], lsp[RDD_DEGREES_MAX], bandwidth[RDD_DEGREES_MAX]; /* bytes per second */
    /* Hit rates (confidence bounds) and bandwidths on which the choice is based. */
    double choice_hit_rate[RDD_DEGREES_MAX], choice_bandwidth[RDD_DEGREES_MAX];
    bool is_trial;         /* next is twice the degree of the highest predicted bandwidth */
    uint64_t reads, found; /* read-only reads of all stacks in the epoch; hits and merged misses among them */
    uint32_t requests;     /* read-only reads of stack 0 */
    uint64_t epoch_cyc;    /* length of the epoch */
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

/* Sums over the short windows since the last decision: all requests, and requests of the busiest slice. */
struct replication_busiest {
    uint64_t requests, max[RDD_DEGREES_MAX];
};

/* selrep.per_kernel: the last choice for a kernel, and the counters of its unfinished epoch between launches.
 */
struct replication_kernel {
    uint64_t key;
    uint32_t degree;                  /* 0: empty entry */
    uint64_t elapsed_cyc, length_cyc; /* epoch: cycles in earlier launches, total length */
    uint32_t acc[RDD_DEGREES_MAX], hit[RDD_DEGREES_MAX], cold[RDD_DEGREES_MAX];
    uint32_t trial_wait; /* decisions until the next trial of a higher degree */
    uint32_t requests[RDD_DEGREES_MAX][REPLICATION_SLICES];
    struct replication_busiest short_times[REPLICATION_WINDOWS];
    uint64_t reads, found;
};

struct replication;

/* The functions of a policy, by row of replication.def. */
struct replication_ops {
    uint64_t (*due)(struct replication *p, uint64_t now);       /* returns the cycle of the next call */
    void (*kernel_begins)(struct replication *p, uint64_t now); /* with selrep.per_kernel; NULL: none */
    void (*kernel_ends)(struct replication *p, uint64_t now);   /* the same */
    bool counts_found; /* selrep.found counts reads and hits in every slice */
};

struct replication {
    const struct config *config;
    struct organisation *organisation;
    const struct slice_spec *slice_spec;
    struct replication_pass pass;
    uint64_t (*due)(struct replication *p, uint64_t now);       /* returns the cycle of the next call */
    void (*kernel_begins)(struct replication *p, uint64_t now); /* NULL: none, as for kernel_ends */
    void (*kernel_ends)(struct replication *p, uint64_t now);
    struct accesses accesses;
    struct rdd rdd;
    uint32_t degrees;                                       /* number of degrees: 1, 2, 4, ... */
    uint32_t requests[RDD_DEGREES_MAX][REPLICATION_SLICES]; /* requests since the last decision */
    struct replication_window {
        uint64_t length_cyc, end_cyc;
        uint32_t requests[RDD_DEGREES_MAX][REPLICATION_SLICES];
        struct replication_busiest sum;
    } windows[REPLICATION_WINDOWS];     /* requests in short windows of 256 and 1024 cycles */
    double llc_bytes, memory_bytes;     /* B_LLC, B_mem: bytes per second and slice */
    uint64_t reads, found;              /* read-only reads since the last decision; not missed among them */
    uint64_t epoch_cyc, since_cyc;      /* next end of an epoch; cycle up to which the degree is counted */
    bool running;                       /* a kernel runs, so cycles are counted */
    uint64_t key;                       /* key of the kernel that began last */
    struct replication_kernel *kernels; /* [REPLICATION_KERNELS] selrep.per_kernel */
    uint64_t change_cyc;                /* the next change or check of a pass; UINT64_MAX: none */
    uint32_t next_degree;
    bool cleaning;           /* a clean pass writes back dirty lines of earlier kernels */
    uint32_t phase;          /* state of the policy */
    struct sharing *sharing; /* NULL: not counted */
    struct shadow *shadow;   /* NULL: not kept */
    struct selrep_stats stats;
    struct replication_decision *decisions; /* malloc */
    uint32_t decision_count, decision_capacity;
};

/* NULL: the organisation does not replicate and selrep.count_sharing is off. */
struct replication *replication_new(struct arena *a, const struct config *c, const struct slice_spec *slices,
                                    struct organisation *o);
void replication_free(struct replication *p);
struct llc_monitor replication_monitor(struct replication *p);
/* Counts the present degree up to the edge of a series interval (stats_on_edge()). */
void replication_edge(void *p, uint64_t edge_cyc);
/* A kernel begins, or becomes the oldest running kernel. Launches with equal keys are the same kernel for the
 * policy. The caller then calls due(). */
void replication_begin(struct replication *p, uint64_t now, uint64_t key);
/* A kernel ends. Models the boundary in the profilers for all degrees. */
void replication_boundary(struct replication *p, uint64_t now);
/* Completes the statistics at the end of a kernel or of a stopped run. */
void replication_sync_stats(struct replication *p, uint64_t now);

/* ---- for policies ---- */

/* Adds a decision with hit rates, slice parallelism and bandwidths of all degrees, and resets the counters.
 * The caller sets the chosen degree. */
struct replication_decision *replication_evaluate(struct replication *p, uint64_t now);
/* True if degree 1 << k has enough samples (selrep.samples). */
bool replication_has_samples(const struct replication *p, const struct replication_decision *d, uint32_t k);
/* Predicted bandwidth of degree 1 << k if all requests hit. */
double replication_bandwidth_max(const struct replication *p, const struct replication_decision *d,
                                 uint32_t k);
/* True if the epoch has requests and samples, so that a choice is possible. */
bool replication_has_evidence(const struct replication *p, const struct replication_decision *d);
/* The choice of a degree. */
struct replication_choice {
    uint32_t best;     /* log2 of the degree */
    bool may_try_more; /* memory bandwidth allows a trial of twice the degree */
};
/* Chooses a degree. Writes the hit rates and bandwidths of the choice to the decision. */
struct replication_choice replication_choose(const struct replication *p, struct replication_decision *d);
/* True if full replication is predicted to pay (all_or_nothing.c). */
bool replication_private_is_better(const struct replication *p, const struct replication_decision *d);
/* Resets all counters of the profilers: a new profile begins. */
void replication_reset_counters(struct replication *p);
/* Counts the cycles of the present degree up to now. */
void replication_count_degree(struct replication *p, uint64_t now);

/* selrep.per_kernel: a kernel begins, ends. */
/* selrep.degree instead of a policy: the degree is set once, when memory is clean. */
uint64_t replication_fixed_due(struct replication *p, uint64_t now);

#endif
