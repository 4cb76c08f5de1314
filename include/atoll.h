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

typedef enum { ATOLL_TEXT, ATOLL_MARKDOWN, ATOLL_JSON, ATOLL_YAML, ATOLL_CSV, ATOLL_HTML } atoll_format;

ATOLL_API const char *atoll_version(void);
/* A hash of the sources that decide what a run gives: the same build, the same results. */
ATOLL_API const char *atoll_build(void);

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
    bool no_data;              /* outcome.json and outcome.csv are not wanted and stay NULL */
    const char *alone; /* "A+B", timed: JSON results of A alone and of B alone, with a comma; or NULL */
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

/* ---- a device for the client's own program: what the CUDA runtime stands on ----
 *
 *     atoll_device_open(sim, &options, &device);
 *     program = atoll_program_new(device), atoll_program_add(program, "k.ptx", text, len);
 *     atoll_kernel_find(program, "k", &kernel); atoll_alloc(device, bytes, "x", &x);
 *     atoll_launch(device, &launch, &launched);   runs to its end
 *     atoll_device_finish(device, &outcome);      the report, as atoll_run() gives it
 *
 * A device pointer is a pointer of this process: the client reads and writes through it. Programs live as
 * long as the device. */
typedef struct atoll_device atoll_device;
typedef struct atoll_program atoll_program; /* modules that see each other's symbols */
typedef struct atoll_kernel atoll_kernel;

struct atoll_device_options {
    const char *label;                                           /* in the report */
    bool functional, racecheck, check, details, ascii, timeline; /* as in struct atoll_job */
    uint64_t max_instructions;
    uint64_t stack_bytes; /* local memory per thread; 0 = default */
    /* What kernels print, in order. */
    void (*print)(void *arg, const char *text, size_t len);
    void *print_arg;
    /* The name in reports of a kernel that a kernel launched, from malloc(); NULL: as in the PTX. */
    char *(*pretty)(const char *name);
};

/* What the machine description says about one of its GPUs. */
struct atoll_properties {
    const char *machine;
    uint32_t gpus, sms, warps, threads, block_slots, registers, schedulers; /* the latter five of an SM */
    uint32_t compute_capability;                                            /* 80 = 8.0 */
    uint64_t shared_bytes, l1_bytes, llc_bytes, memory_bytes;               /* SM, SM, GPU, GPU */
    double clock_hz, memory_clock_hz, memory_bytes_per_second, host_bytes_per_second, host_latency_seconds;
    uint32_t channels, column_bytes;
};

ATOLL_API atoll_status atoll_device_open(atoll_sim *sim, const struct atoll_device_options *options,
                                         atoll_device **out);
ATOLL_API void atoll_device_close(atoll_device *device);
ATOLL_API void atoll_device_properties(const atoll_device *device, struct atoll_properties *p);
/* After the last launch: conservation laws, texts. Once. */
ATOLL_API atoll_status atoll_device_finish(atoll_device *device, struct atoll_outcome *outcome);
/* Ends the running launch soon and all later ones, as max_instructions would. The reason, which is not
 * copied, appears in the report as "stopped by ...". May be called from a signal handler and by another
 * thread. */
ATOLL_API void atoll_device_interrupt(atoll_device *device, const char *reason);
ATOLL_API void atoll_device_set_heap(atoll_device *device, uint64_t bytes); /* for malloc in kernels */

/* Zeroed. name (may be NULL) appears in messages. */
ATOLL_API atoll_status atoll_alloc(atoll_device *device, uint64_t bytes, const char *name, void **out);
ATOLL_API atoll_status atoll_free(atoll_device *device, void *memory);
/* Memory that the client allocated itself and kernels may use. */
ATOLL_API atoll_status atoll_register(atoll_device *device, void *host, uint64_t bytes, const char *name);
ATOLL_API atoll_status atoll_unregister(atoll_device *device, void *host);
/* Is [at, at + bytes) inside one allocation, variable or registered range? Then its start and size. */
ATOLL_API bool atoll_memory_find(const atoll_device *device, const void *at, uint64_t bytes, void **start,
                                 uint64_t *size);
/* Is it an address that only memory of the device can have, allocated or not? */
ATOLL_API bool atoll_memory_reserved(const atoll_device *device, const void *at);

ATOLL_API atoll_status atoll_program_new(atoll_device *device, atoll_program **out);
/* image: PTX text, or a fat binary, of which the PTX that fits the machine best is taken. */
ATOLL_API atoll_status atoll_program_add(atoll_program *program, const char *name, const void *image,
                                         size_t bytes);
/* The same code once more, with variables of its own except for managed ones: for programs that see several
 * devices where one is simulated. */
ATOLL_API atoll_status atoll_program_twin(atoll_program *of, atoll_program **out);
/* Size of the fat binary that starts here, from its header; 0: this is none. */
ATOLL_API size_t atoll_fatbin_bytes(const void *image);
/* Is there PTX in it, rather than machine code only? */
ATOLL_API bool atoll_fatbin_has_ptx(const void *image, size_t bytes);
/* Exact (mangled) names; *out is NULL when there is none, which is no mistake. */
/* Names of the program's kernels, from 0 on; NULL: there are no more. */
ATOLL_API const char *atoll_kernel_name(const atoll_program *program, uint32_t idx);
ATOLL_API atoll_status atoll_kernel_find(atoll_program *program, const char *name, atoll_kernel **out);
ATOLL_API atoll_status atoll_variable_find(atoll_program *program, const char *name, void **at,
                                           uint64_t *bytes);

struct atoll_kernel_info {
    uint32_t registers, max_threads, param_count, ptx_version, target_sm; /* 90 = PTX 9.0; 75 = sm_75 */
    uint64_t shared_bytes, local_bytes, param_bytes;                      /* static; of a thread; block */
    bool has_cluster; /* compiled for thread block clusters (__cluster_dims__): it cannot be launched */
};
ATOLL_API atoll_status atoll_kernel_info(atoll_kernel *kernel, struct atoll_kernel_info *info);
/* Offset and size of a parameter in the parameter block; false: there is none. */
ATOLL_API bool atoll_kernel_param(const atoll_kernel *kernel, uint32_t idx, uint64_t *offset,
                                  uint64_t *bytes);
/* Blocks of so many threads that an SM of the machine holds at one time. */
ATOLL_API atoll_status atoll_kernel_fitting(atoll_kernel *kernel, uint32_t threads, uint64_t dynamic_shared,
                                            uint32_t *blocks);

struct atoll_launch {
    atoll_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic */
    bool cooperative;
    bool functional;         /* no time, though the device has it */
    const void *const *args; /* one pointer to the value of each parameter; or */
    const void *packed;      /* the parameter block as it lies in memory */
    size_t packed_bytes;
    const char *label; /* name in reports; NULL = the kernel's */
    int priority;      /* of launches that run at a time, the larger gets room first */
    uint64_t number;   /* in reports; 0 = in the order in which they start */
};
enum atoll_fault {
    ATOLL_FAULT_NONE,
    ATOLL_FAULT_SHAPE,       /* grid, block or shared memory are impossible: nothing ran */
    ATOLL_FAULT_COOPERATIVE, /* a cooperative grid that does not fit: nothing ran */
    ATOLL_FAULT_RESOURCES,   /* no SM of the timed machine has room for one block: nothing ran */
    ATOLL_FAULT_ADDRESS,
    ATOLL_FAULT_MISALIGNED,
    ATOLL_FAULT_ASSERT,
    ATOLL_FAULT_TRAP,
    ATOLL_FAULT_INSTRUCTION,
    ATOLL_FAULT_OTHER
};
struct atoll_launched {
    enum atoll_fault fault;
    bool stopped;    /* by max_instructions or an interrupt: the device runs nothing more */
    double seconds;  /* simulated; of a launch without time: at the peak rate of the machine */
    uint64_t cycles; /* 0 without time */
    uint64_t warp_instructions;
};
/* Runs the kernel to its end. After a fault a timed device runs nothing more. */
ATOLL_API atoll_status atoll_launch(atoll_device *device, const struct atoll_launch *launch,
                                    struct atoll_launched *launched);

/* Several launches at a time:
 *     atoll_flight_new(device, &launch, &launched, &flight);   checked, arguments copied; nothing runs yet
 *     atoll_flight_start(flight);                              on the SMs, beside those that were started
 * before atoll_device_advance(device, seconds, &passed, &ended);  simulated time passes until one has ended
 * Without time, launches go on in turns and take their instructions at the peak rate. */
typedef struct atoll_flight atoll_flight;
/* A mistake with ATOLL_FAULT_SHAPE, _COOPERATIVE or _RESOURCES: it can never run. */
ATOLL_API atoll_status atoll_flight_new(atoll_device *device, const struct atoll_launch *launch,
                                        struct atoll_launched *launched, atoll_flight **flight);
/* May one more be started now? (Some machines run one kernel after the other.) */
ATOLL_API bool atoll_flight_can_start(const atoll_flight *flight);
ATOLL_API atoll_status atoll_flight_start(atoll_flight *flight);
/* Until a launch has ended (*ended), or at least `seconds` have passed (*ended = NULL). After a fault or a
 * stop no launch goes on: *ended is the one at fault as far as that is known, *launched says what happened.
 */
ATOLL_API atoll_status atoll_device_advance(atoll_device *device, double seconds, double *passed,
                                            atoll_flight **ended, struct atoll_launched *launched);
ATOLL_API void atoll_flight_free(atoll_flight *flight); /* one that has ended, or never started */

/* ---- arrays, texture objects and surface objects ----
 *
 * The handle of an object is what a kernel takes as argument. An array's memory is plain rows that the client
 * may read and write; it cannot be freed with atoll_free(). */
typedef struct atoll_array atoll_array;

enum atoll_texel_kind { ATOLL_TEXEL_UNSIGNED, ATOLL_TEXEL_SIGNED, ATOLL_TEXEL_FLOAT };
struct atoll_texel {
    uint8_t kind;           /* enum atoll_texel_kind */
    uint8_t bits, channels; /* 8, 16 or 32 (floats: 16, 32); 1, 2 or 4 */
};
struct atoll_shape {
    uint32_t width, height, depth; /* texels; 0 in height or depth: no such dimension */
    uint32_t layers;               /* 0: not layered; six per cube */
    uint32_t levels;               /* of a mipmap; 0 and 1: only one */
    bool cube;
};
struct atoll_array_info {
    struct atoll_shape shape;
    struct atoll_texel texel;
    void *memory; /* level 0 */
    uint64_t row_bytes, plane_bytes,
        bytes; /* from row to row, from plane (depth, layer, face) to plane, all levels */
};
/* Zeroed; shape and texel of `wanted` count. */
ATOLL_API atoll_status atoll_array_create(atoll_device *device, const struct atoll_array_info *wanted,
                                          const char *name, atoll_array **out);
ATOLL_API void atoll_array_describe(const atoll_array *array, struct atoll_array_info *info);
/* One level of a mipmap as an array; it goes with the mipmap. */
ATOLL_API atoll_status atoll_array_level(atoll_device *device, atoll_array *mipmap, uint32_t level,
                                         atoll_array **out);
ATOLL_API atoll_status atoll_array_free(atoll_device *device, atoll_array *array);

enum atoll_address { ATOLL_WRAP, ATOLL_CLAMP, ATOLL_MIRROR, ATOLL_BORDER };
struct atoll_texture {
    const atoll_array *array; /* or: */
    const void *memory;       /* device memory of width texels (height 0), or of rows row_bytes apart */
    struct atoll_texel texel;
    uint32_t width, height;
    uint64_t row_bytes;

    uint8_t address[3];      /* enum atoll_address, per dimension */
    bool linear, mip_linear; /* filters within a level and between levels; else the nearest */
    bool normalized_coords;  /* [0, 1) instead of [0, size) */
    bool normalized_float;   /* integers are read as fractions */
    bool srgb;
    float border[4];
    float level_bias, level_least, level_most; /* of a mipmap */
};
ATOLL_API atoll_status atoll_texture_create(atoll_device *device, const struct atoll_texture *texture,
                                            uint64_t *handle);
ATOLL_API atoll_status atoll_texture_destroy(atoll_device *device, uint64_t handle);
ATOLL_API atoll_status atoll_surface_create(atoll_device *device, const atoll_array *array, uint64_t *handle);
ATOLL_API atoll_status atoll_surface_destroy(atoll_device *device, uint64_t handle);

/* Instructions of PTX files (taken together) that Atoll cannot execute and calls of functions that none of
 * them defines, with line, kernel or function; ATOLL_TEXT or ATOLL_JSON. */
ATOLL_API atoll_status atoll_coverage(atoll_sim *sim, const char *const *ptx, size_t ptx_count,
                                      atoll_format format, char **text);

/* What the compiler's analyses say about the kernels of PTX files (linked together): which data each kernel
 * only reads, and where the data of each thread block lies (docs/analysis.md). */
struct atoll_analysis {
    const char *const *ptx; /* paths */
    size_t ptx_count;
    const char *entry;          /* one kernel; NULL: all */
    uint32_t grid[3], block[3]; /* a launch: what depends on it becomes numbers; grid[0] == 0: none */
    const char *const *params;  /* "NAME=VALUE" of the launch; of a pointer: bytes of its structure */
    size_t param_count;
    bool
        placement; /* of a launch: also the nodes of blocks and pages under LADM's LASP, on the simulator's machine */
};
ATOLL_API atoll_status atoll_analyze(atoll_sim *sim, const struct atoll_analysis *what, atoll_format format,
                                     char **text);

/* ---- studies: many runs, kept in a database (docs/experiments.md) ---- */

struct atoll_sweep_progress {
    uint32_t total, finished, failed, running;
    double elapsed_seconds, left_seconds; /* NAN: unknown */
    double later_seconds;                 /* of other studies that are planned in the database; 0: none */
};

struct atoll_sweep {
    const char *experiment; /* a YAML file, or the name of an experiment that travels inside the program */
    const char *scale;      /* NULL: the experiment's first */
    const char *db;         /* SQLite file; made when it is not there */
    const char *command;    /* what the user typed, for the report */
    bool dry_run;           /* read and plan only: the summary says how many points there are */
    bool plan_only;         /* the plan goes into the database, nothing runs: later_seconds counts it */
    bool missing_machines;  /* points of machines that do not exist are not available; else a mistake */
    /* how */
    const char *program;                 /* path of the atoll command: its 'worker' runs a point */
    uint32_t jobs;                       /* worker processes */
    double stuck_seconds, limit_seconds; /* report a worker without progress; end a run; 0 = never */
    bool retry_failed, verbose;
    const volatile int *stop; /* becomes non-zero: end soon, what is finished is kept; may be NULL */
    void (*progress)(void *arg, const struct atoll_sweep_progress *p);
    void (*note)(void *arg, const char *line); /* something that a user should read now */
    void *arg;
    /* as Slurm job arrays */
    bool slurm;
    const char *spool;         /* directory that all nodes see; NULL: beside the database */
    const char *const *sbatch; /* options that pass through */
    size_t sbatch_count;
    uint32_t per_task; /* points per task; 0 = 16 at most */
};

struct atoll_sweep_summary {
    uint32_t total, before, ran; /* runs that the study asks for; finished before; run now */
    uint32_t failed, missing;    /* points without a result: a failure is recorded; not available */
    atoll_status worst;          /* of the failures */
    bool stopped;
    char missing_names[512]; /* machines that do not exist */
};
ATOLL_API atoll_status atoll_sweep(atoll_sim *sim, const struct atoll_sweep *sweep,
                                   struct atoll_sweep_summary *summary);
/* The points of one task of a Slurm array: called on a node, by the command that atoll_sweep() submits. */
ATOLL_API atoll_status atoll_sweep_task(atoll_sim *sim, const char *spool, const char *task,
                                        const char *program);
/* Everything in a database: ATOLL_HTML, one page that needs nothing else; ATOLL_CSV, one line per point and
 * metric; ATOLL_MARKDOWN, tables of claims and metrics; ATOLL_TEXT, the verdicts. */
ATOLL_API atoll_status atoll_report(atoll_sim *sim, const char *db, atoll_format format, const char *command,
                                    char **text);
/* Names of the experiments that travel inside the program and begin with prefix, one a line. */
ATOLL_API atoll_status atoll_experiments(atoll_sim *sim, const char *prefix, char **names);

/* Machines side by side: a study without a file. Of `how` what says how is used. */
struct atoll_compare {
    const char *const *machines, *const *workloads, *const *sets;
    size_t machine_count, workload_count, set_count;
    struct atoll_sweep how;
    bool html;
};
struct atoll_comparison {
    char *text, *json, *html; /* the caller's; html when asked for */
    char *failures;           /* messages; NULL: none */
    atoll_status worst;       /* of the points */
    bool stopped;
};
ATOLL_API atoll_status atoll_compare(atoll_sim *sim, const struct atoll_compare *what,
                                     struct atoll_comparison *out);
ATOLL_API void atoll_comparison_free(struct atoll_comparison *c);

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
    const char *level; /* "net", "slice_net", "chiplet_net" or "gpu_net"; NULL = "net" */
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
