/* atoll.h: the public interface of libatoll, a simulator of non-uniform GPUs.
 *
 * A client creates a simulator, gives it a machine, and asks for services; the atoll command, the CUDA
 * runtime, sweep workers and fuzzers are such clients. Several simulators may live in one process; one
 * simulator is used by one thread at a time. The library never exits and never prints: every call
 * returns a status, and atoll_message() tells what was wrong, where, and what to do.
 *
 *     atoll_sim *sim;
 *     if (atoll_create(&sim)) abort();
 *     if (atoll_machine(sim, "uba-mem") || atoll_set(sim, "gpu.llc_size=12 MiB"))
 *         fputs(atoll_message(sim), stderr);
 *     atoll_destroy(sim);
 *
 * Ownership: texts returned through char** are the caller's (free()); const char* results belong to the
 * simulator and hold until the next call on it. */
#ifndef ATOLL_H
#define ATOLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATOLL_API __attribute__((visibility("default")))

typedef struct atoll_sim atoll_sim;

/* The same numbers as the exit codes of the atoll command. */
typedef enum {
    ATOLL_OK = 0,
    ATOLL_MISTAKE = 1,      /* the user's: wrong machine, broken PTX, full disk, a kernel that deadlocks */
    ATOLL_CHECK_FAILED = 2, /* a workload's self-check or --check found a wrong result */
    ATOLL_BUG = 3           /* ours: a broken law or contract, with component and cycle */
} atoll_status;

typedef enum { ATOLL_TEXT, ATOLL_MARKDOWN, ATOLL_JSON, ATOLL_YAML, ATOLL_CSV } atoll_format;

ATOLL_API const char *atoll_version(void);

ATOLL_API atoll_status atoll_create(atoll_sim **out);
ATOLL_API void atoll_destroy(atoll_sim *sim);

/* Everything that the last failing call had to say; "" after success. */
ATOLL_API const char *atoll_message(const atoll_sim *sim);

/* ---- the machine ---- */

/* A preset's name or the path of a YAML file. Replaces the machine and all overrides. */
ATOLL_API atoll_status atoll_machine(atoll_sim *sim, const char *name_or_path);
/* "section.key=value". */
ATOLL_API atoll_status atoll_set(atoll_sim *sim, const char *assignment);
/* Checks the machine as a whole; every service does so before it starts. */
ATOLL_API atoll_status atoll_check_machine(atoll_sim *sim);
/* The effective configuration (ATOLL_YAML or ATOLL_JSON). Loading the YAML gives the same machine. */
ATOLL_API atoll_status atoll_config(atoll_sim *sim, atoll_format format, char **text);

/* ---- what there is ---- */

/* what: "machines", "workloads", "policies", "params" or "stats"; ATOLL_TEXT, ATOLL_MARKDOWN or ATOLL_JSON.
 */
ATOLL_API atoll_status atoll_list(atoll_sim *sim, const char *what, atoll_format format, char **text);

/* ---- running ---- */

struct atoll_job {
    const char *workload;   /* "name[:size]", "A+B", "./folder[:size]"; or NULL and: */
    const char *const *ptx; /* PTX files, linked together, of which one kernel is run by hand */
    size_t ptx_count;
    const char *entry; /* its name; NULL when the files have one kernel only */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;   /* dynamic shared memory */
    const char *const *args; /* one text per parameter: see docs/run.md */
    size_t arg_count;
    bool cooperative;          /* all blocks resident at once: grid barriers work */
    bool functional;           /* values only, no time */
    bool racecheck;            /* report races on shared memory */
    bool check;                /* carry versions through every cache, fail on the first stale read */
    uint64_t max_instructions; /* stop after this many warp instructions; 0 = run to the end */
    bool details;              /* timed: the report goes on after its first screen */
    bool ascii;                /* timed: bars of the report without UTF-8 */
    bool timeline;             /* timed: also make outcome.timeline */
};

/* What came out, as texts of the caller's, and the figures that clients compare. */
struct atoll_outcome {
    char *report; /* for a human */
    char *json;
    char *csv;
    char *timeline; /* Chrome/Perfetto trace, when the job asked for it */
    char *output;   /* what kernels printed */
    uint64_t warp_instructions, thread_instructions;
    bool stopped;         /* by max_instructions */
    uint64_t cycles;      /* SM clock; this and what follows: 0 when functional */
    double seconds;       /* simulated */
    double ipc;           /* warp instructions per cycle, whole system */
    const char *bound_by; /* a constant text; NULL when functional */
};
ATOLL_API atoll_status atoll_run(atoll_sim *sim, const struct atoll_job *job, struct atoll_outcome *outcome);
ATOLL_API void atoll_outcome_free(struct atoll_outcome *outcome);

/* Instructions of PTX files (taken together) that Atoll cannot execute and calls of functions that none of
 * them defines, with line, kernel or function; ATOLL_TEXT or ATOLL_JSON. */
ATOLL_API atoll_status atoll_coverage(atoll_sim *sim, const char *const *ptx, size_t ptx_count,
                                      atoll_format format, char **text);

/* ---- one part alone ---- */

/* A memory channel fed with a stream of requests (lines "OP RANK BG BANK ROW COL", may be gzip). */
struct atoll_model_dram {
    const char *stream;      /* path */
    const char *load;        /* "sat", "low" or "i<real>": request j is offered at cycle floor(real * j) */
    uint64_t outstanding;    /* most requests in flight; 0 = no limit but the queues */
    const char *command_log; /* path for the issued commands, or NULL */
};
/* A network fed with synthetic traffic. */
struct atoll_model_net {
    const char *traffic;      /* "uniform", "hotspot" or "permutation" */
    const char *packet_bytes; /* "136", or several sizes "8,136", each as likely as the others */
    double rate;              /* offered load per source, as a fraction of its port's width */
    uint64_t seed;
    const char *level; /* "net", "chiplet_net" or "gpu_net"; NULL = "net" */
    const char
        *ports;  /* "64" or "80x64" (sources x sinks) instead of what the machine has; NULL = as it has */
    int replies; /* the reply network instead of the request network */
    uint64_t outstanding; /* > 0: closed loop, so many requests in flight per source, rate is ignored */
    uint64_t reply_bytes; /* closed loop: size of a reply; 0 = 136 */
    uint64_t cycles;      /* to measure, after a warm-up; 0 = 10000 */
};
/* report: a table for a human; json: the same as data (may be NULL). */
ATOLL_API atoll_status atoll_run_model_dram(atoll_sim *sim, const struct atoll_model_dram *job, char **report,
                                            char **json);
ATOLL_API atoll_status atoll_run_model_net(atoll_sim *sim, const struct atoll_model_net *job, char **report,
                                           char **json);

/* ---- helps ---- */

/* The candidate nearest to name, if near enough to be a slip of the pen; else NULL. */
ATOLL_API const char *atoll_nearest(const char *name, const char *const *candidates, size_t count);

/* ---- progress ---- */

struct atoll_progress {
    double fraction; /* done, 0 to 1; negative = unknown */
    uint64_t cycles;
    uint64_t warp_instructions;
    uint64_t kernel;        /* the one that runs, from 1; 0 = unknown */
    double kernel_fraction; /* its blocks that have ended, 0 to 1 */
};
/* Called now and then, a few times per second at most, from the thread that runs. */
ATOLL_API void atoll_on_progress(atoll_sim *sim, void (*callback)(void *arg, const struct atoll_progress *p),
                                 void *arg);

#ifdef __cplusplus
}
#endif

#endif
