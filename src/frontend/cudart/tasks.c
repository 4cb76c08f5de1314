/* tasks: what was submitted and has not ended, and how simulated time passes over it.
 *
 *   op_submit ─► task: follows the last one of its stream, of the legacy stream, of an event ... ─► ready
 *        ─► starts when what it needs is free: kernels together on the SMs, a copy engine per direction
 *        ─► ends at a simulated time; those that follow it get ready
 *
 * Host code takes no simulated time (DESIGN, decision 10): time passes while the host waits, and then only up
 * to what it waits for. A poll (cudaStreamQuery, cudaEventQuery) waits for a few microseconds. A program may
 * also wait in its own memory, for what a kernel or a host function writes there: when it has not called for
 * a while although something is pending, a thread lets time pass.
 *
 * Everything here holds process.lock; a thread that waits gives it away between pieces of simulated time, so
 * that other threads can submit what this one's kernels wait for. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "frontend/cudart/process.h"

enum task_state { TASK_WAITS, TASK_RUNS, TASK_DONE };

struct task {
    struct op op;
    struct stream *stream; /* that it is of; NULL: a node of a graph */
    int device;
    enum task_state state;
    unsigned before;     /* tasks that it follows and that have not ended */
    struct task **after; /* that follow it */
    size_t after_count;
    double end;               /* of a copy that runs, of one that is done */
    atoll_flight *flight;     /* of a kernel */
    unsigned holds;           /* who still looks at it */
    unsigned long number;     /* in the order of submission */
    struct task *prev, *next; /* of all */
    struct task *beside;      /* among those that are ready, or run */
};

static struct {
    struct task *first, *last; /* all */
    struct task *ready,
        *running; /* by number; a program may have submitted thousands, of which few are here */
    unsigned long count;
    bool thread;
} tasks;

/* A poll lets this much time pass; the device runs this long before other threads of the program get in.
 * ASSUMPTION: about what a call of cudaStreamQuery takes on the host. */
static const double poll_seconds = 2e-6, slice_seconds = 2e-5;
/* So long after its last call the program is taken to wait in its own memory. */
static const double quiet_seconds = 1;

/* ---- lists ---- */

static void put_in(struct task **list, struct task *t)
{
    while (*list && (*list)->number < t->number) list = &(*list)->beside;
    t->beside = *list;
    *list = t;
}

static void take_from(struct task **list, struct task *t)
{
    while (*list && *list != t) list = &(*list)->beside;
    if (*list) *list = t->beside;
}

static void runs(struct task *t)
{
    take_from(&tasks.ready, t);
    put_in(&tasks.running, t);
    t->state = TASK_RUNS;
}

/* ---- making ---- */

void task_release(struct task *t)
{
    if (!t || --t->holds) return;
    atoll_flight_free(t->flight);
    op_free(&t->op);
    free(t->after);
    free(t);
}

static struct task *task_new(struct stream *s, int device, struct op *op)
{
    struct task *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->op = *op;
    t->stream = s;
    t->device = device;
    t->holds = 1;
    t->number = tasks.count++;
    t->prev = tasks.last;
    *(tasks.last ? &tasks.last->next : &tasks.first) = t;
    tasks.last = t;
    return t;
}

static bool task_follows(struct task *t, struct task *before)
{
    if (!before || before->state == TASK_DONE || before == t) return true;
    if (!(before->after_count & (before->after_count - 1))) {
        const size_t capacity = before->after_count ? 2 * before->after_count : 1;
        struct task **grown = realloc(before->after, capacity * sizeof(struct task *));
        if (!grown) return false;
        before->after = grown;
    }
    before->after[before->after_count++] = t;
    t->before++;
    return true;
}

static bool is_legacy(const struct stream *s) { return s == &process.devices[s->device].legacy; }

/* The order of a stream, and between the legacy default stream and the blocking ones of its device. */
static bool task_follows_stream(struct task *t, struct stream *s)
{
    bool ok = task_follows(t, s->last);
    if (!is_legacy(s)) {
        if (!(s->flags & STREAM_NON_BLOCKING)) ok &= task_follows(t, process.devices[s->device].legacy.last);
        return ok;
    }
    for (const struct stream *other = process.streams; other; other = other->next)
        if (other->device == s->device && !(other->flags & STREAM_NON_BLOCKING))
            ok &= task_follows(t, other->last);
    return ok;
}

void event_forget(struct event *e)
{
    if (e->task) e->task->op.event = NULL;
    e->task = NULL;
}

/* ---- ending ---- */

static void end_event(struct task *t)
{
    struct event *e = t->op.event;
    if (!e) return; /* recorded again since, or destroyed */
    e->task = NULL;
    e->time = t->end;
    e->recorded = true;
}

static void take_off_lists(struct task *t)
{
    take_from(t->state == TASK_RUNS ? &tasks.running : &tasks.ready, t);
    *(t->prev ? &t->prev->next : &tasks.first) = t->next;
    *(t->next ? &t->next->prev : &tasks.last) = t->prev;
}

static void end_task(struct task *t)
{
    struct stream *s = t->stream;
    take_off_lists(t);
    t->state = TASK_DONE;
    t->end = process.now;
    if (t->op.kind == OP_RECORD) end_event(t);
    for (size_t i = 0; i < t->after_count; i++)
        if (--t->after[i]->before == 0 && t->after[i]->state == TASK_WAITS) put_in(&tasks.ready, t->after[i]);
    if (s && s->last == t) {
        s->last = NULL;
        if (s->destroyed) stream_free(s);
    }
    for (int k = 0; k < ENGINES; k++)
        if (process.devices[t->device].busy[k] == t) process.devices[t->device].busy[k] = NULL;
    task_release(t);
}

/* The device has stopped: nothing that was submitted will be done. */
void tasks_cancel(void)
{
    for (struct task *t = tasks.first, *next; t; t = next) {
        next = t->next;
        if (t->state != TASK_RUNS || t->op.kind != OP_HOST)
            end_task(t); /* else it is under way in a thread */
    }
}

/* ---- starting ---- */

static enum engine engine_of(const struct task *t, double *seconds)
{
    *seconds = 0;
    if (t->op.kind == OP_COPY) return copy_engine(&t->op.copy, seconds);
    if (t->op.kind == OP_SET) return set_engine(&t->op, seconds);
    if (t->op.kind == OP_SPEND) {
        *seconds = t->op.spend.seconds;
        return t->op.spend.engine;
    }
    return ENGINE_NONE;
}

static void fault(atoll_status status, const struct atoll_launched *launched)
{
    process.pending = kernel_fault(status, launched->fault);
    tasks_cancel();
}

/* Several devices have one timed GPU among them: a kernel runs to its end when it starts, those of a device
 * one after the other. */
static bool start_alone(struct task *t)
{
    struct device_state *d = &process.devices[t->device];
    struct atoll_launched launched = {0};
    atoll_flight *over = NULL;
    double passed, sum = 0;
    if (d->busy[ENGINE_SMS]) return false;
    atoll_status status = atoll_flight_start(t->flight);
    while (!status && !over && !launched.stopped) {
        status = atoll_device_advance(process.atoll, 1, &passed, &over, &launched);
        sum += passed;
    }
    if (launched.stopped) process_stop();
    if (status) {
        fault(status, &launched);
        return true;
    }
    d->busy[ENGINE_SMS] = t;
    t->end = process.now + sum;
    runs(t);
    atoll_flight_free(t->flight);
    t->flight = NULL;
    return true;
}

static bool start_kernel(struct task *t)
{
    if (process.device_count > 1 && !process.options.functional) return start_alone(t);
    if (!atoll_flight_can_start(t->flight)) return false;
    const atoll_status status = atoll_flight_start(t->flight);
    runs(t);
    if (!status) {
        process.flying++;
        return true;
    }
    fault(status, &(struct atoll_launched){.fault = ATOLL_FAULT_OTHER});
    return true;
}

/* Starts it when what it needs is free. False: it has to wait. */
static bool start(struct task *t)
{
    double seconds;
    if (t->op.kind == OP_KERNEL) return start_kernel(t);
    const enum engine engine = engine_of(t, &seconds);
    struct task **busy = engine == ENGINE_NONE ? NULL : &process.devices[t->device].busy[engine];
    if (busy && *busy) return false;
    runs(t);
    if (busy && seconds > 0) {
        *busy = t;
        t->end = process.now + seconds;
        return true;
    }
    op_effect(t->stream, &t->op, t->device); /* a host function: without the lock */
    end_task(t);
    return true;
}

static void start_all(void)
{
    for (struct task *t = tasks.ready; t;) {
        struct task *const beside = t->beside; /* a task that has started may be over, and the list changed */
        t = start(t) ? tasks.ready : beside;
    }
}

/* ---- time ---- */

static void end_flight(const atoll_flight *f)
{
    struct task *t = tasks.running;
    while (t && t->flight != f) t = t->beside;
    if (!t) return;
    process.flying--;
    end_task(t);
}

/* Kernels run, up to a time. */
static void run_kernels(double until)
{
    struct atoll_launched launched;
    atoll_flight *over = NULL;
    double passed = 0;
    const atoll_status status =
        atoll_device_advance(process.atoll, until - process.now, &passed, &over, &launched);
    process.now += passed;
    if (launched.stopped) process_stop();
    if (status) {
        process.flying = 0;
        fault(status, &launched);
    } else if (over) {
        end_flight(over);
    }
}

/* The copy that ends first, among those that run. */
static struct task *next_end(void)
{
    struct task *first = NULL;
    for (struct task *t = tasks.running; t; t = t->beside)
        if (!t->flight && t->op.kind != OP_HOST && (!first || t->end < first->end)) first = t;
    return first;
}

static void end_copy(struct task *t)
{
    if (t->op.kind != OP_KERNEL) op_effect(t->stream, &t->op, t->device);
    end_task(t);
}

/* Lets time pass, to the next thing that ends and no further than `until`. False: nothing runs. */
static bool pass(double until)
{
    start_all();
    struct task *copy = next_end();
    const double end = copy && copy->end < until ? copy->end : until;
    if (process.flying) {
        run_kernels(end);
        if (!process.pending && copy && process.now >= copy->end) end_copy(copy);
        return true;
    }
    if (!copy) return false;
    if (process.now < end) process.now = end;
    if (end >= copy->end) end_copy(copy);
    return true;
}

/* Other threads of the program get in. */
static void let_others(void)
{
    if (atomic_load(&process.waiting) == 0) return;
    go_outside(true);
    (void)sched_yield();
    const struct timespec moment = {.tv_nsec = 20000};
    (void)nanosleep(&moment, NULL);
    go_outside(false);
}

/* One slice; false: nothing runs, only a host function in another thread perhaps. */
static bool step(double until)
{
    const double slice = process.now + slice_seconds;
    const bool moved = pass(slice < until ? slice : until);
    let_others();
    return moved;
}

static void wait_moment(void)
{
    const struct timespec moment = {.tv_nsec = 100000};
    go_outside(true);
    (void)nanosleep(&moment, NULL);
    go_outside(false);
}

void task_wait(struct task *t)
{
    if (!t) return;
    t->holds++;
    while (t->state != TASK_DONE)
        if (!step(1e300)) wait_moment();
    task_release(t);
}

bool task_poll(struct task *t)
{
    if (!t) return true;
    const double until = process.now + poll_seconds;
    t->holds++;
    start_all();
    while (t->state != TASK_DONE && process.now < until)
        if (!step(until)) process.now = until;
    const bool done = t->state == TASK_DONE;
    task_release(t);
    return done;
}

void tasks_wait_for_all(void)
{
    while (tasks.first)
        if (!step(1e300)) wait_moment();
}

/* ---- a program that waits in its own memory ---- */

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *watch(void *arg)
{
    const struct timespec often = {.tv_nsec = 50000000};
    double quiet_since = seconds_now();
    unsigned long calls = 0;
    for (;;) {
        (void)nanosleep(&often, NULL);
        if (atomic_load(&process.calls) != calls || pthread_mutex_trylock(&process.lock)) {
            calls = atomic_load(&process.calls);
            quiet_since = seconds_now();
            continue;
        }
        (void)pthread_mutex_unlock(&process.lock);
        if (seconds_now() - quiet_since < quiet_seconds) continue;
        go_outside(false);
        if (process.finished) break;
        while (tasks.first && !process.finished && atomic_load(&process.calls) == calls && step(1e300)) {
        }
        show_prints();
        go_outside(true);
    }
    go_outside(true);
    return arg;
}

/* Called when a call leaves something pending. */
void tasks_watch(void)
{
    pthread_t thread;
    sigset_t all, before;
    if (tasks.thread || !tasks.first) return;
    tasks.thread = true;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, watch, NULL) == 0) (void)pthread_detach(thread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- submitting ---- */

/* What needs no time is done at once when nothing is before it. */
static void settle(struct task *t)
{
    const bool brief = t->op.kind == OP_EMPTY || t->op.kind == OP_RECORD || t->op.kind == OP_RELEASE;
    if (t->before) return;
    put_in(&tasks.ready, t);
    if (brief) (void)start(t);
}

void tasks_then_drop(void *at)
{
    struct op op = {.kind = OP_RELEASE, .freed = at};
    struct task *t = tasks.first ? task_new(NULL, current_device(), &op) : NULL;
    if (!t) {
        (void)block_drop(at);
        return;
    }
    for (struct task *other = tasks.first; other != t; other = other->next) (void)task_follows(t, other);
    settle(t);
}

/* The operation as a task of a stream or, without one, after the tasks given. The operation is taken over. */
cudaError_t task_submit(struct stream *s, int device, struct op *op, struct task *const *before, size_t count,
                        struct task **out)
{
    atoll_flight *flight = NULL;
    cudaError_t error = op_check(op);
    if (!error && op->kind == OP_KERNEL) error = kernel_flight(s, op, device, &flight);
    struct task *t = error ? NULL : task_new(s, device, op);
    if (!error && !t) error = cudaErrorMemoryAllocation;
    if (error || !t) {
        atoll_flight_free(flight);
        op_free(op);
        return error;
    }
    t->flight = flight;
    bool ok = !s || task_follows_stream(t, s);
    for (size_t i = 0; i < count; i++) ok &= task_follows(t, before[i]);
    if (op->kind == OP_WAIT) ok &= task_follows(t, op->event->task);
    if (op->kind == OP_WAIT) t->op.kind = OP_EMPTY; /* the event may be recorded again, or destroyed */
    if (op->kind == OP_RECORD) {
        event_forget(op->event);
        op->event->task = t;
    }
    if (s) s->last = t;
    if (out) {
        *out = t;
        t->holds++;
    }
    settle(t);
    return ok ? cudaSuccess : cudaErrorMemoryAllocation;
}
