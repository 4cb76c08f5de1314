/* flights: launches of a program's device, several at a time.
 *
 *   new ─► checked, arguments copied ─► start ─► timed: on the SMs of the GPU ────────────┐
 *                                            └─► without time: a grid executed in pieces ─┴─► advance ─►
 * ended
 *
 * Time passes in atoll_device_advance() only. Launches without time share the peak rate of the machine with
 * each other, and take nothing away from timed ones beside them. */
#include <stdlib.h>
#include <string.h>

#include "api/device.h"
#include "base/arena.h"
#include "exec/exec.h"
#include "system/system.h"

/* Instructions of a turn of a launch without time; cycles of a turn of the timed ones beside it. Small: they
 * may wait for each other. */
enum { TURN_ALONE = 1 << 22, TURN_SHARED = 1 << 15, TURN_CYC = 500 };

struct atoll_flight {
    atoll_device *device;
    struct exec_launch *launch;
    struct exec_run *run; /* without time */
    char *label;
    uint64_t shared_bytes;
    size_t row; /* in the list of launches */
    int priority;
    uint64_t number;
    bool functional, started;
    uint64_t start_cyc;
    atoll_flight *next; /* among those started */
    /* launches that its kernel made: it has ended when they have */
    atoll_flight *parent;
    struct exec_child *made;                                   /* in the order of the calls, */
    struct child_state *state;                                 /* by that order; */
    uint32_t child_count, child_ended, child_open, tail_count; /* open: all before it have ended */
    uint32_t child;                                            /* of a child: its place in that order */
    atoll_flight *next_waiting; /* among those whose grid has ended and whose children have not */
};
struct child_state {
    const struct exec_child *made;
    bool started, ended;
};

struct flight_call {
    atoll_device *device;
    const struct atoll_launch *launch;
    struct atoll_launched *launched;
    atoll_flight *flight; /* new: made; advance: the one whose turn it is, then the one that ended */
    double seconds, passed;
    bool checked;
};

static double peak_rate(const struct config *c)
{
    return (double)config_sms(c) * (double)c->sm.schedulers * (double)c->clock.sm;
}

static bool is_timed(const atoll_flight *f) { return f->device->timed && !f->functional; }

/* ---- new ones ---- */

/* Does the grid fit the machine all at once? */
static void check_cooperative(struct flight_call *call)
{
    const struct atoll_launch *l = call->launch;
    const struct config *c = &call->device->sim->machine.config;
    const struct exec_kernel *k = rt_kernel_exec(l->kernel->rt);
    const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    const uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    const char *why = "";
    const uint64_t fitting =
        system_fitting_blocks(c, k, threads, exec_kernel_shared_bytes(k) + l->shared_bytes, &why);
    if (blocks <= fitting * config_sms(c)) return;
    call->launched->fault = ATOLL_FAULT_COOPERATIVE;
    diag_mistake("kernel '%s': a cooperative grid of %llu blocks of %u threads does not fit the machine: "
                 "%llu SMs hold %llu blocks each (limited by %s)",
                 rt_kernel_ptx(l->kernel->rt)->name, (unsigned long long)blocks, threads,
                 (unsigned long long)config_sms(c), (unsigned long long)fitting, why);
}

/* A block that no SM has room for waits for ever, however empty the machine is. */
static void check_room(struct flight_call *call)
{
    const struct atoll_launch *l = call->launch;
    const struct config *c = &call->device->sim->machine.config;
    const struct exec_kernel *k = rt_kernel_exec(l->kernel->rt);
    const char *name = rt_kernel_ptx(l->kernel->rt)->name, *why = "";
    exec_check_dimensions(name, l->grid, l->block);
    const uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    const uint64_t shared_bytes = exec_kernel_shared_bytes(k) + l->shared_bytes;
    if (system_fitting_blocks(c, k, threads, shared_bytes, &why)) return;
    call->launched->fault = ATOLL_FAULT_RESOURCES;
    diag_mistake(
        "kernel '%s': not even one block fits an SM: it has %u threads of %u registers and %llu bytes "
        "of shared memory; raise %s, or launch smaller blocks",
        name, threads, system_registers_per_thread(c, k), (unsigned long long)shared_bytes, why);
}

static void make_flight(void *arg)
{
    struct flight_call *call = arg;
    atoll_device *d = call->device;
    const struct atoll_launch *l = call->launch;
    const char *name = l->label ? l->label : rt_kernel_ptx(l->kernel->rt)->name;
    const struct rt_launch launch = {.kernel = l->kernel->rt,
                                     .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                     .block = {l->block[0], l->block[1], l->block[2]},
                                     .dynamic_shared_bytes = l->shared_bytes,
                                     .cooperative = l->cooperative,
                                     .args = l->packed ? NULL : l->args,
                                     .arg_count = l->packed ? 0 : rt_kernel_ptx(l->kernel->rt)->n_params,
                                     .packed = l->packed,
                                     .packed_bytes = l->packed_bytes,
                                     .label = l->label};
    if (d->broken) diag_mistake("the device does not run any more after what went wrong before");
    if (l->cooperative) check_cooperative(call);
    if (d->timed && !l->functional) check_room(call);
    rt_launch(d->rt, &launch);
    atoll_flight *f = call->flight = calloc(1, sizeof *f);
    if (!f) diag_mistake("out of host memory");
    *f = (struct atoll_flight){.device = d,
                               .launch = rt_take_next(d->rt),
                               .label = strdup(name),
                               .shared_bytes =
                                   exec_kernel_shared_bytes(rt_kernel_exec(l->kernel->rt)) + l->shared_bytes,
                               .priority = l->priority,
                               .number = l->number,
                               .functional = l->functional};
    if (!f->label) diag_mistake("out of host memory");
}

atoll_status atoll_flight_new(atoll_device *d, const struct atoll_launch *launch,
                              struct atoll_launched *launched, atoll_flight **out)
{
    struct flight_call call = {.device = d, .launch = launch, .launched = launched};
    *launched = (struct atoll_launched){0};
    const atoll_status status = api_run(d->sim, make_flight, &call);
    if (status) {
        if (launched->fault == ATOLL_FAULT_NONE) launched->fault = ATOLL_FAULT_SHAPE;
        atoll_flight_free(call.flight);
        call.flight = NULL;
    }
    *out = call.flight;
    return status;
}

void atoll_flight_free(atoll_flight *f)
{
    if (!f) return;
    exec_run_free(f->run);
    if (f->launch) rt_drop(f->device->rt, f->launch);
    exec_children_free(f->made);
    free(f->state);
    free(f->label);
    free(f);
}

/* ---- starting ---- */

bool atoll_flight_can_start(const atoll_flight *f)
{
    return !is_timed(f) || timed_can_start(f->device->timed);
}

static void start(void *arg)
{
    atoll_flight *f = arg, **at = &f->device->flights;
    atoll_device *d = f->device;
    const struct exec_launch *l = f->launch;
    if (is_timed(f)) {
        rt_ready(d->rt, f->launch);
        timed_start(d->timed, f->launch, f->priority);
        f->start_cyc = timed_now(d->timed);
    } else {
        f->run = exec_run_new(f->launch);
    }
    f->row = launches_add(&d->launches, &(struct launch_row){.name = f->label,
                                                             .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                                             .block = {l->block[0], l->block[1], l->block[2]},
                                                             .shared_bytes = f->shared_bytes,
                                                             .number = f->number,
                                                             .timed = is_timed(f)});
    while (*at) at = &(*at)->next;
    *at = f;
    f->started = true;
}

atoll_status atoll_flight_start(atoll_flight *f)
{
    (void)exec_take_fault(rt_env(f->device->rt));
    const atoll_status status = api_run(f->device->sim, start, f);
    f->device->broken |= status && is_timed(f);
    return status;
}

/* ---- time passes ---- */

static void take_out(atoll_flight *f)
{
    atoll_flight **at = &f->device->flights;
    while (*at != f) at = &(*at)->next;
    *at = f->next;
}

/* ---- launches that kernels make ---- */

static void take_children(atoll_flight *f)
{
    uint32_t n = 0;
    f->made = exec_take_children(f->launch);
    for (const struct exec_child *c = f->made; c; c = c->next) f->child_count++;
    if (!f->child_count) return;
    f->state = calloc(f->child_count, sizeof *f->state);
    if (!f->state) diag_mistake("out of host memory");
    for (const struct exec_child *c = f->made; c; c = c->next) {
        f->tail_count += exec_child_is_tail(c);
        f->state[n++].made = c;
    }
    f->next_waiting = f->device->waiting;
    f->device->waiting = f;
}

static void start_child(atoll_flight *parent, uint32_t n)
{
    atoll_device *d = parent->device;
    const char *name = parent->state[n].made->kernel->name;
    atoll_flight *f = calloc(1, sizeof *f);
    if (!f) diag_mistake("out of host memory");
    *f = (struct atoll_flight){.device = d,
                               .label = d->options.pretty ? d->options.pretty(name) : strdup(name),
                               .priority = parent->priority,
                               .number = parent->number,
                               .functional = parent->functional,
                               .parent = parent,
                               .child = n};
    parent->state[n].started = true;
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, (void (*)(void *))atoll_flight_free, f);
    rt_launch_child(d->rt, parent->launch, parent->state[n].made, f->label);
    f->launch = rt_take_next(d->rt);
    f->shared_bytes = f->launch->shared_bytes;
    start(f);
    diag_done(&cleanup, false);
}

static bool waits(const atoll_flight *f, uint32_t n)
{
    const struct exec_child *c = f->state[n].made;
    if (exec_child_is_tail(c) && f->child_ended < f->child_count - f->tail_count) return true;
    for (uint32_t k = f->child_open; k < n; k++)
        if (!f->state[k].ended && exec_child_follows(c, f->state[k].made)) return true;
    return false;
}

/* Those that wait for no other. ASSUMPTION: a child begins when the grid of its parent has ended; CUDA allows
 * it to begin before. */
static void start_children(atoll_flight *f)
{
    enum { LOOK_AHEAD = 256 }; /* as many as could run at a time, and some */
    while (f->child_open < f->child_count && f->state[f->child_open].ended) f->child_open++;
    uint32_t looked = 0;
    for (uint32_t n = f->child_open; n < f->child_count && looked < LOOK_AHEAD; n++) {
        looked += !f->state[n].ended;
        if (f->state[n].started || waits(f, n)) continue;
        if (is_timed(f) && !timed_can_start(f->device->timed)) return;
        start_child(f, n);
    }
}

static void take_waiting(atoll_flight *f)
{
    atoll_flight **at = &f->device->waiting;
    while (*at && *at != f) at = &(*at)->next_waiting;
    if (*at) *at = f->next_waiting;
}

/* The grid of the flight has ended: has it, and have those above it? */
static void over(struct flight_call *call, atoll_flight *f)
{
    while (f->child_ended == f->child_count && f->parent) {
        atoll_flight *parent = f->parent;
        parent->state[f->child].ended = true;
        parent->child_ended++;
        take_waiting(f);
        f->next = f->device->spent;
        f->device->spent = f;
        f = parent;
    }
    call->flight = f->child_ended == f->child_count ? f : NULL;
    if (call->flight) take_waiting(f);
}

static void ended(struct flight_call *call, atoll_flight *f)
{
    const struct config *c = &f->device->sim->machine.config;
    struct launch_row *row = &f->device->launches.rows[f->row];
    struct atoll_launched *out = call->launched;
    row->ended = true;
    row->warp_instructions = out->warp_instructions = f->launch->warp_instructions;
    row->thread_instructions = f->launch->thread_instructions;
    if (is_timed(f)) {
        out->cycles = timed_now(f->device->timed) - f->start_cyc;
        out->seconds = (double)out->cycles / (double)c->clock.sm;
    } else {
        out->seconds = (double)out->warp_instructions / peak_rate(c);
    }
    row->seconds = out->seconds;
    take_out(f);
    take_children(f);
    over(call, f);
}

/* The timed ones, for so many cycles at most. */
static bool run_timed(struct flight_call *call, uint64_t cycles)
{
    atoll_device *d = call->device;
    const uint64_t before = timed_now(d->timed);
    struct exec_launch *first = timed_advance(d->timed, rt_env(d->rt), before + cycles);
    call->passed += (double)(timed_now(d->timed) - before) / (double)d->sim->machine.config.clock.sm;
    for (atoll_flight *f = d->flights; first && f; f = f->next)
        if (f->launch == first) {
            ended(call, f);
            return call->flight != NULL;
        }
    return false;
}

/* Those without time: a turn each, together about so many instructions; passed: whether their time is that of
 * the device. */
static bool run_untimed(struct flight_call *call, uint64_t instructions, uint64_t turn, bool pass)
{
    atoll_device *d = call->device;
    const struct exec_env *env = rt_env(d->rt);
    uint64_t done = 0;
    while (done < instructions)
        for (atoll_flight *f = d->flights; f; f = f->next) {
            if (!f->run) continue;
            const uint64_t before = exec_begun(env, f->run);
            call->flight = f;
            const bool ends = exec_run_some(f->run, turn < instructions ? turn : instructions);
            const uint64_t ran = exec_begun(env, f->run) - before;
            done += ran;
            if (pass) call->passed += (double)ran / peak_rate(&d->sim->machine.config);
            if (!ends) continue;
            ended(call, f);
            return call->flight != NULL;
        }
    call->flight = NULL;
    return false;
}

static void advance(void *arg)
{
    struct flight_call *call = arg;
    atoll_device *d = call->device;
    const struct config *c = &d->sim->machine.config;
    exec_memory_changed(rt_env(d->rt));
    const double per_cycle = peak_rate(c) / (double)c->clock.sm;
    while (call->passed < call->seconds) {
        uint32_t timed = 0, untimed = 0;
        for (atoll_flight *f = d->waiting; f; f = f->next_waiting) start_children(f);
        for (const atoll_flight *f = d->flights; f; f = f->next) *(is_timed(f) ? &timed : &untimed) += 1;
        DIAG_ASSERT(timed + untimed);
        const double left_cyc = (call->seconds - call->passed) * (double)c->clock.sm;
        uint64_t cycles = left_cyc < (double)(1 << 30) ? (uint64_t)left_cyc + 1 : 1 << 30;
        if (timed && untimed && cycles > TURN_CYC) cycles = TURN_CYC;
        if (timed && run_timed(call, cycles)) return;
        if (untimed && run_untimed(call, 1 + (uint64_t)((double)cycles * per_cycle),
                                   timed + untimed > 1 ? TURN_SHARED : TURN_ALONE, !timed))
            return;
    }
}

static enum atoll_fault fault_of(enum exec_fault_kind kind)
{
    switch (kind) {
    case EXEC_FAULT_ADDRESS: return ATOLL_FAULT_ADDRESS;
    case EXEC_FAULT_MISALIGNED: return ATOLL_FAULT_MISALIGNED;
    case EXEC_FAULT_ASSERT: return ATOLL_FAULT_ASSERT;
    case EXEC_FAULT_TRAP: return ATOLL_FAULT_TRAP;
    case EXEC_FAULT_INSTRUCTION: return ATOLL_FAULT_INSTRUCTION;
    case EXEC_FAULT_NONE:
    case EXEC_FAULT_OTHER: break;
    }
    return ATOLL_FAULT_OTHER;
}

/* What runs stops where it is: its blocks are counted, nothing of it goes on. The client frees its flights.
 */
void flights_stop(atoll_device *d)
{
    if (d->timed) timed_abandon(d->timed);
    while (d->flights) {
        atoll_flight *f = d->flights;
        d->flights = f->next;
        d->broken |= is_timed(f);
        exec_run_free(f->run);
        f->run = NULL;
        if (f->parent) atoll_flight_free(f);
    }
    while (d->waiting) {
        atoll_flight *f = d->waiting;
        d->waiting = f->next_waiting;
        if (f->parent) atoll_flight_free(f);
    }
}

static void free_list(atoll_flight *f)
{
    while (f) {
        atoll_flight *next = f->next;
        atoll_flight_free(f);
        f = next;
    }
}

atoll_status atoll_device_advance(atoll_device *d, double seconds, double *passed, atoll_flight **over,
                                  struct atoll_launched *launched)
{
    struct flight_call call = {.device = d, .launched = launched, .seconds = seconds};
    *launched = (struct atoll_launched){0};
    (void)exec_take_fault(rt_env(d->rt));
    const atoll_status status = api_run(d->sim, advance, &call);
    *passed = call.passed;
    *over = call.flight;
    free_list(d->spent);
    d->spent = NULL;
    if (!status) return status;
    if (rt_limit_reached(d->rt)) {
        d->stopped = d->broken = launched->stopped = true;
        flights_stop(d);
        return ATOLL_OK;
    }
    launched->fault = fault_of(exec_take_fault(rt_env(d->rt)));
    if (!d->error) d->error = strdup(atoll_message(d->sim));
    flights_stop(d);
    return status;
}

void flights_free(atoll_device *d)
{
    free_list(d->flights);
    for (atoll_flight *f = d->waiting; f;) {
        atoll_flight *next = f->next_waiting;
        atoll_flight_free(f);
        f = next;
    }
    d->flights = d->waiting = NULL;
}

atoll_status atoll_launch(atoll_device *d, const struct atoll_launch *launch, struct atoll_launched *launched)
{
    atoll_flight *f, *over = NULL;
    double passed;
    atoll_status status = atoll_flight_new(d, launch, launched, &f);
    if (status) return status;
    status = atoll_flight_start(f);
    while (!status && !over && !launched->stopped)
        status = atoll_device_advance(d, 1, &passed, &over, launched);
    if (status && launched->fault == ATOLL_FAULT_NONE) launched->fault = ATOLL_FAULT_OTHER;
    atoll_flight_free(f);
    return status;
}
