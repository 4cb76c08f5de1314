/* measure: derived measures of a span (a kernel, or the whole run): rates, shares, bandwidths relative to
 * their peaks, and the bottleneck. All measures that reports show are computed here, once, from counters. */
#ifndef ATOLL_MEASURE_MEASURE_H
#define ATOLL_MEASURE_MEASURE_H

#include "system/system.h"

/* Levels of the memory hierarchy. A network between slices is represented by its busier direction. A level
 * that the machine lacks has a peak of 0. */
enum measure_level {
    LEVEL_L1,
    LEVEL_REQUESTS,
    LEVEL_REPLIES,
    LEVEL_LLC,
    LEVEL_DRAM,
    LEVEL_SLICES,
    LEVEL_CHIPLETS,
    LEVEL_GPUS,
    MEASURE_LEVELS
};

/* Classes of scheduler cycles; all but the first are stalls. */
enum measure_stall {
    STALL_ISSUE,
    STALL_UNIT,
    STALL_PIPE,
    STALL_DEPENDENCE,
    STALL_MEMORY,
    STALL_TRANSLATION,
    STALL_BARRIER,
    STALL_FENCE,
    STALL_SLEEP,
    STALL_MOVING,
    STALL_NO_WARP,
    MEASURE_STALLS
};

enum measure_bound {
    BOUND_NOTHING, /* nothing ran */
    BOUND_COMPUTE,
    BOUND_L1,
    BOUND_REQUESTS,
    BOUND_REPLIES,
    BOUND_LLC,
    BOUND_DRAM,
    BOUND_SLICES,
    BOUND_CHIPLETS,
    BOUND_GPUS,
    BOUND_TRANSLATION,
    BOUND_LATENCY,
    BOUND_LAUNCH,
    MEASURE_BOUNDS
};

extern const char *const measure_level_names[MEASURE_LEVELS]; /* human-readable */
extern const char *const measure_level_keys[MEASURE_LEVELS];  /* for JSON */
extern const char *const measure_stall_names[MEASURE_STALLS];
extern const char *const measure_stall_keys[MEASURE_STALLS];
enum { MEASURE_NETWORKS = 2 * NET_LEVELS };
/* Stages of links of a network. */
enum measure_stage { STAGE_SENDERS, STAGE_ROUTERS, STAGE_RING, STAGE_RECEIVERS, STAGE_LINKS, MEASURE_STAGES };
extern const char *const measure_network_keys[MEASURE_NETWORKS];
extern const char *const measure_stage_keys[MEASURE_STAGES];
extern const char *const measure_queue_keys[SYSTEM_QUEUES];
extern const char *const measure_bound_names[MEASURE_BOUNDS];
extern const char *const measure_bound_keys[MEASURE_BOUNDS];

/* Utilisations from which on a resource counts as saturated (report/details.c). Below 1 because allocation
 * leaves gaps in networks (they reach 0.57 to 0.8 of their width, docs/validation-net.md), and DRAM loses
 * time to activates and turnarounds. The utilisations at which a resource counts as saturated are estimates;
 * ASSUMPTION. */
#define MEASURE_FULL_ISSUE 0.60
#define MEASURE_FULL_L1    0.75
#define MEASURE_FULL_NET   0.55
#define MEASURE_FULL_LINKS 0.75 /* links between chiplets and GPUs, which reach 0.98 under uniform traffic */
#define MEASURE_FULL_LLC   0.75
#define MEASURE_FULL_DRAM  0.65

struct level_use {
    double bytes_per_second, peak_bytes_per_second;
    double use;     /* utilisation: share of the peak, 0 to 1 */
    double busiest; /* utilisation of the busiest link, slice or channel; L1: the mean of all L1s */
    /* links between nodes, max over links and classes, shares of time in which packets waited for credit: */
    double short_credit; /* credit was in flight, as the buffer is smaller than a round trip */
    double full;         /* the receiver took no packet */
};

struct span {
    const struct config *config;
    const struct stats *stats;
    const struct system_use *use;
    uint64_t cycles;     /* SM clock */
    uint64_t gap_cycles; /* part of cycles before a launch */
    uint64_t blocks;
};

struct measure {
    uint64_t cycles;
    double seconds, ipc, ipc_per_sm, ipc_peak;
    double lanes;                  /* active lanes per warp instruction */
    double stalls[MEASURE_STALLS]; /* shares of scheduler cycles; the sum is 1 */
    double warps, occupancy;       /* mean resident warps of an SM, and the same as a share of sm.warps */
    struct level_use levels[MEASURE_LEVELS];
    double l1_hits, l1_merged, llc_hits, llc_merged, l1_tlb_hits, l2_tlb_hits, row_hits;
    double read_latency, load_latency;     /* SM cycles: from L1 miss to reply; from issue to last value */
    double request_latency, reply_latency; /* network cycles */
    double dram_latency;                   /* DRAM cycles */
    double reads_in_flight;                /* requests of all SMs, by Little's law */
    double walkers_busy, tlb_port_use;     /* 0 to 1 */
    /* True if the rates and latencies above have samples; without samples they are zero and invalid. */
    bool has_loads, has_reads, has_llc_reads, has_tlb, has_l2_tlb, has_columns;
    bool has_loads_done, has_requests, has_replies, has_dram_reads;
    enum measure_bound bound;
    char why[180]; /* explanation of the bottleneck */
};

void measure_span(const struct span *span, struct measure *m);

/* ---- bound.c ---- */
void measure_find_bound(const struct span *span, struct measure *m);

#endif
