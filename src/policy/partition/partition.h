/* partition: how the SMs and the memory channels of a machine are divided among the applications that share it.
 *
 *   system/repartition.c ──profiles of an epoch──► decide() ──partition──► SMs and channels change hands
 *
 * The unit of channels is an index: one channel in every stack (pages/pages.h calls it a colour). A policy is a
 * pure function of numbers: it reads no component of the machine. A policy is one file with a table `partition_x`
 * and one row `x` in partition.def.
 *
 * Contract of first() and decide(): the sums of SMs and indices over the applications stay as they are, and every
 * application keeps at least one step of SMs (or what it had, if less) and one index. */
#ifndef ATOLL_POLICY_PARTITION_H
#define ATOLL_POLICY_PARTITION_H

#include <stdbool.h>

#include "base/arena.h"
#include "config/config.h"

enum { PARTITION_APPS = 8, PARTITION_NONE = PARTITION_APPS };

struct partition_share {
    uint32_t sms, indices;
};

struct partition {
    struct partition_share of[PARTITION_APPS];
};

/* Counters of an application over one epoch: differences, no running totals. */
struct partition_profile {
    uint64_t accesses;            /* reads, writes and atomics of its SMs at the LLC */
    uint64_t hits;                /* read hits, reads merged into a miss, writes to a present line */
    uint64_t thread_instructions; /* of the SMs that served it */
    uint64_t pages;               /* that it has now, whenever they were placed */
};

/* Constants of the machine. Rates are bytes per second. */
struct partition_spec {
    uint32_t apps;
    uint32_t sms, indices; /* of the machine */
    uint32_t channels_per_index;
    uint64_t pages_per_index; /* frames that hold pages; 0: no limit */
    double thread_ipc;        /* peak thread instructions per cycle of an SM */
    double sm_hz;
    double line_bytes;
    double port_rate;   /* lines through the reply port of an SM */
    double llc_rate;    /* data ports of the slices of a channel */
    double memory_rate; /* peak of a channel */
    /* parameters partition.* */
    uint32_t step_sms, iterations_max, sm_only, demand;
    uint64_t decision_cyc, iteration_cyc;
    uint32_t qos_app; /* PARTITION_NONE: no application has a target */
    double qos_target;
    uint32_t qos_margin;
    const char *plan; /* text of partition.plan */
};

/* The classification of an application under a share. */
struct partition_class {
    double demand, supply; /* bytes per second, of all its SMs and channels */
    bool memory_bound;     /* demand > supply */
    double degree;         /* the larger rate over the smaller one; HUGE_VAL: no demand */
};

struct partition_question {
    const struct partition_spec *spec;
    struct partition now; /* in force */
    struct partition_profile of[PARTITION_APPS];
    uint64_t epoch; /* number of the epoch that has ended, from 0 on */
};

struct partition_answer {
    struct partition next;
    uint32_t iterations;
    uint64_t latency_cyc; /* until the decision takes effect */
};

struct partition_ops {
    size_t state_bytes; /* zeroed; owned by the policy */
    /* True: first() needs the profiles of alone runs. */
    bool needs_profiles;
    /* The partition of the first epoch; *p holds that of apps.sms and apps.channels. alone: NULL unless
     * needs_profiles. Raises a user error if a parameter is wrong. NULL: *p stays. */
    void (*first)(void *state, const struct partition_spec *s, const struct partition_profile *alone,
                  struct partition *p);
    /* At the end of an epoch. NULL: the partition never changes. */
    void (*decide)(void *state, const struct partition_question *q, struct partition_answer *a);
};

const struct partition_ops *partition_ops_of(const struct config *c);
/* The constants of a machine for `apps` applications. Raises a user error if partition.qos is wrong. */
struct partition_spec partition_spec_of(const struct config *c, uint32_t apps, uint32_t indices,
                                        uint64_t pages_per_index);
/* Reads partition.profiles. False: it is empty. Raises a user error. */
bool partition_read_profiles(const struct config *c, uint32_t apps, struct partition_profile *of);

struct partition_class partition_classify(const struct partition_spec *s, const struct partition_profile *p,
                                          struct partition_share share);
/* Bytes per second that one SM demands, and that one channel supplies. */
double partition_sm_demand(const struct partition_spec *s, const struct partition_profile *p);
double partition_channel_supply(const struct partition_spec *s, const struct partition_profile *p);

/* The demand-aware loop from *p on. Returns the number of iterations. `passed`: receives the partition after each
 * step, *p itself first; at least iterations_max + 1 entries; NULL: not wanted. */
uint32_t partition_balance(const struct partition_spec *s, const struct partition_profile *of,
                           struct partition *p, struct partition *passed);
bool partition_equal(const struct partition_spec *s, const struct partition *a, const struct partition *b);

#endif
