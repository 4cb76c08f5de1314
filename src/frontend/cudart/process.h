/* cudart, inside: the CUDA runtime and driver libraries on libatoll: one state per process.
 *
 *   program ── cudaX / cuX ──► enter (lock, start) ─► op (kernel, copy, fill, ...) ─► submit
 *                                                        │ stream captures: node of a graph (graph.c)
 *                                                        └ else: a task (tasks.c)
 *
 * Tasks of a stream follow each other; those of different streams run at the same simulated time: kernels
 * share the SMs, copies have an engine per direction; events read the times. Simulated time passes while the
 * host waits; host code takes none (DESIGN, decision 10).
 *
 * CUDA's interface is one per process, so this library has one mutable global, `process`; libatoll below has
 * none. Every entry point holds process.lock. */
#ifndef ATOLL_FRONTEND_CUDART_PROCESS_H
#define ATOLL_FRONTEND_CUDART_PROCESS_H

#include <atoll.h>
#include <pthread.h>
#include <stdatomic.h>
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
    const void *host;                 /* the stub, which names it; NULL: of the driver API */
    char *name;                       /* mangled */
    char *label;                      /* for people */
    atoll_kernel *code;               /* of device 0, */
    atoll_kernel *twins[DEVICES_MAX]; /* of the others, when needed */
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
    atoll_program *program;            /* of device 0, */
    atoll_program *twins[DEVICES_MAX]; /* of the others, which have variables of their own: when needed */
    cudaError_t error;                 /* of loading */
    bool tried;
    struct variable *variables;
    struct kernel *kernels;
    struct module *alias; /* of a library: its module, see cuLibraryGetModule() */
    struct module *next;
};

/* ---- streams and events ---- */

struct task;
struct stream {
    struct task *last; /* that was submitted and has not ended, or NULL */
    unsigned flags;
    bool destroyed; /* goes when its last task has ended */
    int priority, device;
    unsigned long long id;
    struct graph *capture; /* being recorded into, or NULL */
    int capture_status, capture_mode;
    bool capture_owner;
    pthread_t capture_thread; /* that began it */
    struct graph_node **tips; /* of the capture: what the next node follows */
    size_t tip_count;
    struct stream *next;
};

struct event {
    struct task *task; /* that records it and has not ended, or NULL */
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
    bool variable;   /* __managed__: nobody frees it */
    bool freed;      /* cudaFreeAsync: goes when its stream is there */
    unsigned nodes;  /* of graphs, also executable ones, that allocate it: it stays until the last one goes */
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
    OP_RELEASE = 100, /* of no graph: cudaFreeAsync, */
    OP_SPEND,         /* time of an engine */
};

enum engine { ENGINE_SMS, ENGINE_TO_DEVICE, ENGINE_TO_HOST, ENGINE_ON_DEVICE, ENGINES, ENGINE_NONE };

struct copy {
    char *to;
    const char *from;
    size_t to_pitch, to_slice, from_pitch, from_slice; /* bytes between rows, between slices */
    size_t width, height, depth;                       /* bytes, rows, slices */
    int kind;                                          /* COPY_* */
    char *staged;                                      /* what `from` was when it was pageable: owned */
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
    struct {
        enum engine engine;
        double seconds;
    } spend;
};

/* Captures, or makes a task of it. Takes over what the operation owns. */
cudaError_t op_submit(struct stream *s, struct op *op);
/* Can it be done at all? What the call that submits it returns. */
cudaError_t op_check(const struct op *op);
/* What it does to memory and to the program, when its time has come. */
void op_effect(struct stream *s, struct op *op, int device);
/* A launch, counted, that can start. */
cudaError_t kernel_flight(const struct stream *s, const struct op *op, int device, atoll_flight **flight);
/* Prints what a kernel did wrong. */
cudaError_t kernel_fault(atoll_status status, enum atoll_fault fault);
/* What it keeps busy, and how long. */
enum engine copy_engine(const struct copy *c, double *seconds);
enum engine set_engine(const struct op *op, double *seconds);
void op_free(struct op *op);
cudaError_t op_copy_of(struct op *copy, const struct op *op);
/* Keeps what it copies from, which the program may change when the call has returned. */
bool copy_stage(struct copy *c);
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
    struct task *busy[ENGINES];
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
    bool started, finished, used, initialised; /* initialised: cuInit(), or a call of the runtime API */
    int pid;
    cudaError_t start_error;
    cudaError_t pending, sticky; /* a kernel's fault: not yet seen by the host, seen */
    atoll_status worst;
    double now;          /* simulated seconds */
    unsigned flying;     /* kernels that run */
    atomic_uint waiting; /* threads that want in */
    atomic_ulong calls;  /* since the start */
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
    HANDLE_LIBRARY,
    HANDLE_ARRAY,
    HANDLE_MIPMAP,
    HANDLE_CONTEXT,
    HANDLE_OTHER
};
bool handle_add(const void *pointer, enum handle_kind kind);
void handle_drop(const void *pointer);
bool handle_is(const void *pointer, enum handle_kind kind);

/* ---- tasks.c ---- */

/* Makes a task of the operation, which is taken over: of a stream, or (s = NULL) of a graph. It follows what
 * the stream's order says and the tasks `before`. *out (out may be NULL) is the caller's to release. */
cudaError_t task_submit(struct stream *s, int device, struct op *op, struct task *const *before, size_t count,
                        struct task **out);
void task_release(struct task *t);
/* Gives a block back when all that was submitted has ended. */
void tasks_then_drop(void *at);
/* The event is recorded again, or goes: what would have recorded it does not any more. */
void event_forget(struct event *e);
/* Lets time pass until it has ended; NULL: nothing to wait for. */
void task_wait(struct task *t);
/* Lets a little time pass: has it ended? */
bool task_poll(struct task *t);
void tasks_wait_for_all(void);
/* Drops everything that was submitted: the device has stopped. */
void tasks_cancel(void);
/* A call ends: something may be pending. */
void tasks_watch(void);

/* ---- stream.c ---- */

/* The stream behind a handle (also 0, 1, 2); NULL: there is none. per_thread: 0 means the thread's own. */
struct stream *stream_of(cudaStream_t handle, bool per_thread);
struct stream *stream_new(unsigned flags, int priority);
void stream_free(struct stream *s);
/* What a blocking call does after its operation. */
void host_waits(struct stream *s);
/* The same for everything that was submitted to the device; shows what kernels printed. */
void host_waits_for_device(void);
/* After waiting: a fault of what was waited for. */
cudaError_t waited(void);

/* ---- capture.c ---- */

/* What is not allowed while streams capture, and spoils these captures: calls that may wait for the device
 * or change what it sees, the legacy default stream. */
cudaError_t capture_forbids_unsafe(void);
cudaError_t capture_forbids_legacy(const struct stream *s);
/* The host would wait for the stream. */
cudaError_t capture_forbids_waiting(struct stream *s);
/* The capture that records into the graph is spoiled; returns the error. */
cudaError_t capture_spoil(const struct graph *g, cudaError_t error);

/* ---- modules.c ---- */

struct kernel *kernel_of_host(const void *host);
/* Demangled, from malloc(). */
char *pretty_name(const char *name);
/* Loads the module when needed and finds the code; prints what is wrong. */
cudaError_t kernel_load(struct kernel *k);
/* The code as a device has it. */
cudaError_t kernel_code(struct kernel *k, int device, atoll_kernel **code);
cudaError_t module_load(struct module *m);
/* Of the current device; *at is NULL when there is none. */
cudaError_t module_variable(struct module *m, const char *name, void **at, size_t *bytes);
struct module *module_new(const char *name);
void module_forget(struct module *m);
struct kernel *module_kernel(struct module *m, const void *host, const char *name);
cudaError_t variable_address(const void *host, void **at, size_t *bytes);
/* By its mangled name, loaded. */
cudaError_t module_find_kernel(struct module *m, const char *name, void **kernel);
/* driver.c: PTX, a fat binary; a file of it. */
cudaError_t module_from_image(void **module, const void *image);
cudaError_t module_from_file(void **module, const char *path);

/* ---- driver_contexts.c ---- */

/* Calls of the driver API before cuInit(), and without a context of the thread, are errors; calls of the
 * runtime API do both. */
cudaError_t driver_lacks(bool context);
#define NEEDS_INIT() \
    do { \
        const cudaError_t lacks_ = driver_lacks(false); \
        if (lacks_) return lacks_; \
    } while (0)
#define NEEDS_CONTEXT() \
    do { \
        const cudaError_t lacks_ = driver_lacks(true); \
        if (lacks_) return lacks_; \
    } while (0)
/* The runtime API is used: the device's primary context becomes the thread's when it has none. */
void driver_make_current(void);
/* Around calls of the runtime API that the driver API makes for something that needs no context. */
void driver_quietly(int change);
/* The call needs no context, and does not make one. */
#define QUIETLY(call) \
    __extension__({ \
        NEEDS_INIT(); \
        driver_quietly(1); \
        const cudaError_t result_ = (call); \
        driver_quietly(-1); \
        result_; \
    })
#define ENTER_QUIETLY() \
    do { \
        NEEDS_INIT(); \
        const cudaError_t entered_ = QUIETLY(enter()); \
        if (entered_) return leave(entered_); \
    } while (0)

/* ---- memory.c ---- */

struct block *block_of(const void *at);
cudaError_t block_new(size_t bytes, int type, unsigned flags, const char *name, struct block **out);
/* A __managed__ variable is managed memory. */
void block_of_variable(void *at, size_t bytes);
cudaError_t block_drop(void *at);
/* What the program allocated and registered while the device was current. */
void blocks_drop_all(int device);
cudaError_t pool_malloc(struct pool *pool, size_t bytes, void **out);
struct pool *device_pool(int device);
/* Hints about managed memory, checked and remembered; device -1: the host. */
cudaError_t managed_advise(const void *at, size_t bytes, int advice, int device);
cudaError_t managed_prefetch(const void *at, size_t bytes, int device, cudaStream_t stream);
/* pools.c: what a block that goes away does to its pool. */
void pool_forget(struct pool *pool, size_t bytes);

/* ---- graph.c ---- */

cudaError_t graph_capture(struct stream *s, struct op *op);
cudaError_t graph_submit(struct stream *s, struct graph *g);
cudaError_t graph_capture_wait(struct stream *s, struct event *e);
void graph_capture_record(struct stream *s, struct event *e);

/* ---- launch.c ---- */

cudaError_t launch_op(struct op *op, struct kernel *k, struct dim3 grid, struct dim3 block, void **args,
                      size_t shared, bool cooperative);
/* The same without arguments. */
cudaError_t launch_shape(struct op *op, struct kernel *k, struct dim3 grid, struct dim3 block, size_t shared,
                         bool cooperative);
/* Of cudaLaunchKernelExC and cuLaunchKernelEx: what they ask for, or that there is no such thing. */
cudaError_t launch_attributes(const struct cudaLaunchAttribute *attributes, unsigned count,
                              bool *cooperative);
/* copy.c: a copy or fill; waits: the call does, where CUDA's do. */
cudaError_t copy_submit(struct stream *s, struct op *op, bool waits);
void copy_3d(struct copy *c, const struct cudaMemcpy3DParms *p);
/* The same, also from and to arrays. */
cudaError_t copy_3d_any(struct copy *c, const struct cudaMemcpy3DParms *p);

#endif
