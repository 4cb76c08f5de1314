/* cudart, inside: the CUDA runtime and driver libraries on libatoll: one state per process.
 *
 *   program ── cudaX / cuX ──► enter (lock, start) ─► op (kernel, copy, fill, ...) ─► submit
 *                                                        │ stream captures: node of a graph (graph.c)
 *                                                        └ else: run at once (ops.c), time to the ledger
 *
 * An operation is executed when it is submitted, so results are there when the call returns; what is queued
 * is only time. The ledger (ledger.c) knows when each stream, copy engine and SM array is free: operations of
 * a stream follow each other, those of different streams overlap where they use different engines, events
 * read these times. Host code takes no simulated time (DESIGN, decision 10).
 *
 * CUDA's interface is one per process, so this library has one mutable global, `process`; libatoll below has
 * none. Every entry point holds process.lock. */
#ifndef ATOLL_FRONTEND_CUDART_PROCESS_H
#define ATOLL_FRONTEND_CUDART_PROCESS_H

#include <atoll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "frontend/cudart/abi.h"

enum { DEVICES_MAX = 16 };

struct graph;
struct graph_node;

/* ---- code ---- */

struct variable {
    struct module *module;
    const void *host; /* the shadow variable, which names it; of a managed one: where its pointer is */
    const char *name;
    size_t bytes;
    bool managed;
    struct variable *next;
};

struct kernel {
    struct module *module;
    const void *host; /* the stub, which names it; NULL: of the driver API */
    char *name;       /* mangled */
    char *label;      /* for people */
    atoll_kernel *code;
    bool searched;
    int max_dynamic_shared, carveout;
    struct kernel *next;
};

struct module {
    const char *name;
    char path[256];            /* room for a name */
    const void *images[2];     /* not linked further: one container */
    const void *const *linked; /* -rdc: containers, ends with NULL */
    char *copy;                /* driver API: the image, kept */
    size_t copy_bytes;
    atoll_program *program;
    cudaError_t error; /* of loading */
    bool tried;
    struct variable *variables;
    struct kernel *kernels;
    struct module *next;
};

/* ---- streams and events ---- */

struct stream {
    double time; /* when what was submitted last ends, simulated seconds */
    unsigned flags;
    int priority, device;
    unsigned long long id;
    struct graph *capture; /* being recorded into, or NULL */
    int capture_status;
    bool capture_owner;
    struct graph_node **tips; /* of the capture: what the next node follows */
    size_t tip_count;
    struct stream *next;
};

struct event {
    double time;
    unsigned flags;
    bool recorded;
    struct graph *capture; /* recorded in a capture: then a stream that waits for it joins that */
    struct graph_node **tips;
    size_t tip_count;
};

/* ---- memory ---- */

struct pool;
struct block {
    char *at;
    size_t bytes;
    int type; /* MEMORY_* */
    unsigned flags;
    int device;
    struct pool *pool;
    bool registered; /* cudaHostRegister */
    bool read_mostly;
    int preferred, prefetched, accessed_by; /* devices; -1: the host, -2: none */
};

/* ---- operations ---- */

enum op_kind {
    OP_KERNEL = 0, /* the numbers are cudaGraphNodeType's */
    OP_COPY = 1,
    OP_SET = 2,
    OP_HOST = 3,
    OP_GRAPH = 4,
    OP_EMPTY = 5,
    OP_WAIT = 6,
    OP_RECORD = 7,
    OP_ALLOC = 10,
    OP_FREE = 11,
    OP_CONDITIONAL = 13,
};

struct copy {
    char *to;
    const char *from;
    size_t to_pitch, to_slice, from_pitch, from_slice; /* bytes between rows, between slices */
    size_t width, height, depth;                       /* bytes, rows, slices */
    int kind;                                          /* COPY_* */
    struct cudaMemcpy3DParms asked;                    /* by a graph node, to be read back */
};

struct op {
    enum op_kind kind;
    struct {
        struct kernel *kernel;
        struct dim3 grid, block;
        unsigned shared;
        bool cooperative;
        void *params; /* packed, malloc()ed; owned by the operation */
        size_t param_bytes;
    } launch;
    struct copy copy;
    struct {
        struct cudaMemsetParams p;
        size_t depth, slice;
    } set;
    struct cudaHostNodeParams host;
    cudaStreamCallback *callback; /* instead of host.fn */
    struct event *event;
    struct graph *graph;
    struct cudaMemAllocNodeParams alloc;
    void *freed;
    struct cudaConditionalNodeParams conditional;
};

/* Captures, or executes. Takes over what the operation owns. */
cudaError_t op_submit(struct stream *s, struct op *op);
cudaError_t op_run(struct stream *s, const struct op *op);
void op_free(struct op *op);
cudaError_t op_copy_of(struct op *copy, const struct op *op);
/* Of a copy whose kind the program leaves open, from where the pointers point. */
int copy_kind(const struct copy *c);

/* ---- the process ---- */

struct options {
    char *machine, *label, *kernels, *launches;
    char *sets[256];
    size_t set_count;
    bool functional, racecheck, check, details, ascii, timeline, json, csv;
    uint64_t max_instructions;
    int devices;
    int result_fd; /* -1: nobody asked, print */
};

struct device_state {
    double compute_free, to_device_free, to_host_free; /* engines */
    struct stream legacy;
    struct pool *default_pool, *pool;
    unsigned flags;
    bool peers[DEVICES_MAX];
    size_t limits[8];
    size_t used_bytes, graph_bytes, graph_high_bytes;
    int cache_config, shared_config;
};

struct process {
    pthread_mutex_t lock;
    struct options options;
    atoll_sim *sim;
    atoll_device *atoll;
    struct atoll_properties props;
    bool started, finished, used;
    int pid;
    cudaError_t start_error;
    cudaError_t pending, sticky; /* a kernel's fault: not yet seen by the host, seen */
    atoll_status worst;
    double host_time; /* what the host has waited for */
    struct device_state devices[DEVICES_MAX];
    int device_count;
    struct module *modules;
    struct stream *streams;

    unsigned long long next_id;
    uint64_t launch_count, timed_count;
    char *printed; /* by kernels, shown when the host waits */
    size_t printed_len, printed_cap;
};
extern struct process process;

/* Locks, starts the simulator at the first call, and brings up what kernels did wrong. On error nothing else
 * is done: return leave(error). */
cudaError_t enter(void);
/* The same without looking at faults or starting. */
void enter_quietly(void);
/* Remembers an error for cudaGetLastError() and unlocks. */
cudaError_t leave(cudaError_t error);
cudaError_t leave_quietly(cudaError_t error);
#define ENTER() \
    do { \
        const cudaError_t entered_ = enter(); \
        if (entered_) return leave(entered_); \
    } while (0)

int current_device(void);
void set_current_device(int device);
cudaError_t *last_error(void);
/* "atoll: ..." on stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says once per name that a call cannot be served. */
cudaError_t unsupported(const char *name);
/* A status of the simulator as an error; prints its message. */
cudaError_t atoll_error(atoll_status status, cudaError_t mistake);
void process_start(void);
/* Is the calling thread in a call of the library? */
bool is_inside(void);
/* Around code of the program's that a call runs: gives the lock away, takes it again. */
void go_outside(bool out);
void process_finish(void);
void kernel_prints(void *arg, const char *text, size_t len);
void show_prints(void);
/* Ends the program: --max-instructions was reached, or it was asked to end in the middle of a launch. */
_Noreturn void process_stop(void);

/* ---- ending.c ---- */

/* Sees to it that a program that ends by _exit() or a signal gives a report too. */
void ending_prepare(void);
/* By the signal that came, or with the code of _exit(). */
_Noreturn void end_as_asked(void);

/* ---- handles.c: pointers that were given out, by kind ---- */

enum handle_kind {
    HANDLE_NONE,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_KERNEL,
    HANDLE_GRAPH,
    HANDLE_EXEC,
    HANDLE_NODE,
    HANDLE_POOL,
    HANDLE_MODULE,
    HANDLE_ARRAY,
    HANDLE_MIPMAP,
    HANDLE_OTHER
};
bool handle_add(const void *pointer, enum handle_kind kind);
void handle_drop(const void *pointer);
bool handle_is(const void *pointer, enum handle_kind kind);

/* ---- ledger.c ---- */

enum engine { ENGINE_NONE, ENGINE_COMPUTE, ENGINE_TO_DEVICE, ENGINE_TO_HOST };
/* An operation of so many seconds at the end of the stream. */
void ledger_spend(struct stream *s, enum engine engine, double seconds);
/* When what is submitted now would start. */
double ledger_now(struct stream *s);
void ledger_host_waits(double time);
void ledger_host_waits_for_all(int device);

/* ---- stream.c ---- */

/* The stream behind a handle (also 0, 1, 2); NULL: there is none. per_thread: 0 means the thread's own. */
struct stream *stream_of(cudaStream_t handle, bool per_thread);
struct stream *stream_new(unsigned flags, int priority);
void stream_free(struct stream *s);
/* What a blocking call does after its operation. */
void host_waits(struct stream *s);
bool any_capture(void);

/* ---- modules.c ---- */

struct kernel *kernel_of_host(const void *host);
/* Loads the module when needed and finds the code; prints what is wrong. */
cudaError_t kernel_load(struct kernel *k);
cudaError_t module_load(struct module *m);
struct module *module_new(const char *name);
struct kernel *module_kernel(struct module *m, const void *host, const char *name);
cudaError_t variable_address(const void *host, void **at, size_t *bytes);

/* ---- memory.c ---- */

struct block *block_of(const void *at);
cudaError_t block_new(size_t bytes, int type, unsigned flags, const char *name, struct block **out);
cudaError_t block_drop(void *at);
cudaError_t pool_malloc(struct pool *pool, size_t bytes, void **out);
struct pool *device_pool(int device);
/* Hints about managed memory, checked and remembered; device -1: the host. */
cudaError_t managed_advise(const void *at, size_t bytes, int advice, int device);
cudaError_t managed_prefetch(const void *at, size_t bytes, int device, cudaStream_t stream);
/* pools.c: what a block that goes away does to its pool. */
void pool_forget(struct pool *pool, size_t bytes);

/* ---- graph.c ---- */

cudaError_t graph_capture(struct stream *s, struct op *op);
cudaError_t graph_run(struct stream *s, struct graph *g);
void graph_capture_wait(struct stream *s, struct event *e);
void graph_capture_record(struct stream *s, struct event *e);

/* ---- launch.c ---- */

cudaError_t launch_op(struct op *op, struct kernel *k, struct dim3 grid, struct dim3 block, void **args,
                      size_t shared, bool cooperative);
void copy_3d(struct copy *c, const struct cudaMemcpy3DParms *p);
/* The same, also from and to arrays. */
cudaError_t copy_3d_any(struct copy *c, const struct cudaMemcpy3DParms *p);

#endif
