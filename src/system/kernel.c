/* kernel: runs kernels on the machine. The file binds blocks to SMs, runs the engine and writes the kernel
 * records. SMs call next_block(), open_block(), close_block() and sm_drained(). Below: policy/cta_sched
 * (block order), control/ (epochs and kernel boundaries), residency.c (blocks per SM). Above: api/.
 *
 *   system_start_kernel() ──► blocks of the kernel start on SMs, beside those of running kernels
 *   system_advance()      ──► run_engine() until a kernel has ended: blocks, stores, boundary (control/)
 *                         ──► remove_kernel(): completes the record
 *
 * Invariants:
 *  1. running[0 .. running_count) are the running kernels in the order of their start. A free block slot goes
 *     to the kernel with the highest priority, among equals to the oldest.
 *  2. Epoch clients decide and SMs are held only between two calls of engine_run(). */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "llc/spill.h"
#include "system/system_private.h"

enum { PROGRESS_CYC = 20000 };

/* ---- blocks: callbacks of the SMs ---- */

static uint64_t next_block(void *self, uint32_t sm)
{
    struct running *r = self;
    const struct apps *a = &r->system->apps;
    if (!apps_may_run(a, sm, r->sm.app) && !FAULT_FIRES(block_on_foreign_sm)) return UINT64_MAX;
    if (block_migration_waits(r->system->block_migration, sm, r->sm.app)) return UINT64_MAX;
    if (FAULT_FIRES(block_twice)) return 0;
    const uint32_t idx =
        a->app_idx[sm] % r->blocks.sms; /* the application may have gained SMs since the start */
    const uint64_t block = cta_sched_next(&r->blocks, idx);
    return block != UINT64_MAX && FAULT_FIRES(block_lost) ? cta_sched_next(&r->blocks, idx) : block;
}

void kernel_add_resident(struct running *r, struct exec_block *b)
{
    DIAG_ASSERT(r->resident_count < r->resident_capacity);
    *exec_block_place(b) = r->resident_count;
    r->resident[r->resident_count++] = b;
}

void kernel_remove_resident(struct running *r, struct exec_block *b)
{
    const uint32_t place = *exec_block_place(b);
    DIAG_ASSERT(place < r->resident_count && r->resident[place] == b);
    struct exec_block *const last = r->resident[--r->resident_count];
    *exec_block_place(last) = place;
    r->resident[place] = last;
}

static struct warp_source open_block(void *self, uint64_t block, uint32_t sm, uint64_t **clock)
{
    struct running *r = self;
    if (!apps_may_run(&r->system->apps, sm, r->sm.app))
        diag_bug("gpu", system_now(r->system),
                 "block %llu of application %u starts on SM %u of another application",
                 (unsigned long long)block, r->sm.app, sm);
    struct exec_block *b = exec_block_create(r->launch, block, sm);
    kernel_add_resident(r, b);
    *clock = exec_block_clock(b, r->nanoseconds_per_cycle);
    return exec_block_source(b);
}

static void close_block(void *self, struct warp_source *source)
{
    kernel_remove_resident(self, source->self);
    exec_block_retire(source->self);
    source->self = NULL;
}

static uint32_t bank_cycles(void *self, const struct warp_op *op)
{
    const struct system *g = self;
    return sm_bank_cycles(g->sm_spec, op, g->conflicts);
}

static void block_ended(void *self, uint32_t sm, uint64_t block, uint64_t start_cyc, uint64_t now)
{
    struct running *r = self;
    const struct system_listener *l = &r->system->listener;
    r->blocks_ended++;
    r->block_cyc += now - start_cyc;
    block_migration_on_room(r->system->block_migration);
    engine_progress(r->system->engine);
    sm_ask(r->system->sms[sm]);
    if (l->block) l->block(l->arg, sm, r->record, block, start_cyc, now);
}

/* Called when an SM has no block and no outstanding store of the kernel. The call for the last such SM
 * starts the kernel's boundary. */
static void sm_drained(void *self, uint32_t sm, uint64_t now)
{
    struct running *r = self;
    struct system *g = r->system;
    (void)sm;
    (void)now;
    apps_wake_handover(&g->apps);
    if (r->blocks_ended < r->launch->block_count) return;
    for (uint32_t k = 0; k < g->sm_count; k++)
        if (!sm_idle_of(g->sms[k], &r->sm)) return;
    boundary_kernel_ended(&r->boundary);
}

/* ---- running ---- */

static struct system_kernel_record *new_record(struct system *g)
{
    if (g->record_count == g->record_capacity) {
        const uint32_t capacity = g->record_capacity ? 2 * g->record_capacity : 8;
        struct system_kernel_record *grown = realloc(g->records, capacity * sizeof *grown);
        if (!grown) diag_mistake("out of host memory");
        g->records = grown;
        g->record_capacity = capacity;
    }
    g->records[g->record_count] = (struct system_kernel_record){0};
    return &g->records[g->record_count]; /* system_start_kernel() increments record_count */
}

static void destroy_resident(struct running *r)
{
    while (r->resident_count) exec_block_retire(r->resident[--r->resident_count]);
}

/* Removes the records of kernels that have not ended. */
static void remove_unended_records(struct system *g)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < g->record_count; k++) {
        bool runs = false;
        for (uint32_t n = 0; n < g->running_count; n++) runs |= g->running[n]->record == k;
        if (!runs) g->records[kept++] = g->records[k];
    }
    g->record_count = kept;
}

/* Cleanup after an error inside a kernel. Requests are still in flight, so the machine runs no further
 * kernel. */
static void abort_run(void *arg)
{
    struct system *g = arg;
    for (uint32_t k = 0; k < g->sm_count; k++) sm_break_off(g->sms[k], system_now(g));
    for (uint32_t n = 0; n < g->running_count; n++) {
        destroy_resident(g->running[n]);
        boundary_leave(&g->running[n]->boundary);
    }
    remove_unended_records(g);
    g->running_count = 0;
    g->stopped = true;
}

/* Raises a user error if a resident block waits in a program deadlock, for example at a barrier. Returns
 * if no block does: the cause is then an internal error. */
static void report_program_deadlock(const struct system *g)
{
    for (uint32_t n = 0; n < g->running_count; n++)
        for (uint32_t k = 0; k < g->running[n]->resident_count; k++)
            exec_block_check_stuck(g->running[n]->resident[k]);
}

/* True if the machine works although no request moved: SMs issued instructions since the last call, a
 * quiesce is active, or an SM waits for a known cycle. */
static bool is_working(struct system *g)
{
    const uint64_t issued = system_warp_instructions(g), before = g->watchdog_instructions;
    g->watchdog_instructions = issued;
    if (issued != before || quiesce_busy(&g->control)) return true;
    for (uint32_t k = 0; k < g->sm_count; k++)
        if (sm_waits_for_time(g->sms[k], system_now(g))) return true;
    return false;
}

bool kernel_on_no_progress(void *gpu, bool due)
{
    if (due && is_working(gpu)) return false;
    report_program_deadlock(gpu);
    return true;
}

/* Upper bound of the SMs with a resident warp from this cycle on: the number of blocks that have not
 * ended. */
static uint64_t sms_used_max(const struct system *g)
{
    uint64_t blocks = 0;
    for (uint32_t n = 0; n < g->running_count; n++)
        blocks += g->running[n]->launch->block_count - g->running[n]->blocks_ended;
    return blocks < g->sm_count ? blocks : g->sm_count;
}

/* Length of the next engine_run() in cycles. A run reaches at least the next event. A scheduler issues at
 * most one instruction per cycle. The instruction limit is therefore exceeded by less than one cycle's
 * instructions. */
static uint64_t cycles_to_run(const struct system *g, uint64_t now)
{
    const uint64_t due_cyc = engine_due_cyc(g->engine);
    if (due_cyc != ENGINE_NEVER && due_cyc > now + PROGRESS_CYC) return due_cyc - now;
    if (!g->limit_instructions) return PROGRESS_CYC;
    const uint64_t per_cycle = sms_used_max(g) * g->config->sm.schedulers;
    const uint64_t issued = system_warp_instructions(g);
    const uint64_t left = issued < g->limit_instructions ? g->limit_instructions - issued : 0;
    const uint64_t cycles = per_cycle ? left / per_cycle : PROGRESS_CYC;
    return cycles < 1 ? 1 : cycles < PROGRESS_CYC ? cycles : PROGRESS_CYC;
}

static struct running *first_ended(const struct system *g)
{
    for (uint32_t n = 0; n < g->running_count; n++)
        if (boundary_is_over(&g->running[n]->boundary)) return g->running[n];
    return NULL;
}

static void finish_networks(struct system *g)
{
    const struct fabric_side *side;
    for (uint32_t level = 0; level < NET_LEVELS; level++)
        for (uint32_t direction = 0; direction < 2; direction++)
            for (uint32_t k = 0; (side = system_net_at(g, level, direction, k)); k++)
                net_stats_finish(side->net, fabric_side_now(side));
}

/* Synchronises the network statistics before they are sampled during a run. */
static void networks_sync(struct system *g)
{
    const struct fabric_side *side;
    for (uint32_t level = 0; level < NET_LEVELS; level++)
        for (uint32_t direction = 0; direction < 2; direction++)
            for (uint32_t k = 0; (side = system_net_at(g, level, direction, k)); k++)
                net_stats_settle(side->net);
}

bool kernel_any_runs(const struct system *g)
{
    for (uint32_t n = 0; n < g->running_count; n++)
        if (!boundary_is_over(&g->running[n]->boundary)) return true;
    return false;
}

/* Simulates deferred channel cycles. Call it before the channel statistics are sampled. */
static void finish_channels(const struct system *g)
{
    if (g->windows) {
        windows_finish(g->windows);
        return;
    }
    for (uint32_t k = 0; k < g->channel_count; k++) channel_finish(g->channels[k]);
}

static enum system_end run_engine(struct system *g, uint64_t limit_cyc)
{
    const struct system_listener *l = &g->listener;
    while (!first_ended(g)) {
        const uint64_t now = system_now(g), step = cycles_to_run(g, now);
        if (now >= limit_cyc) return SYSTEM_TIME_OVER;
        quiesce_step(&g->control);
        const uint64_t epoch_cyc = epochs_due(&g->control.epochs),
                       end_cyc = limit_cyc - now < step ? limit_cyc : now + step;
        const bool epoch_due = epoch_cyc <= end_cyc;
        /* If a polled quiesce holds the SMs, no event may be due until the client's next epoch. */
        engine_set_awaited(g->engine, quiesce_stops(&g->control, QUIESCE_ALL));
        const enum engine_end end = epoch_due && epoch_cyc <= now
                                        ? ENGINE_LIMIT
                                        : engine_run(g->engine, epoch_due ? epoch_cyc : end_cyc);
        finish_channels(g);
        engine_set_awaited(g->engine, false);
        if (first_ended(g)) break;
        if (epoch_due) control_run_epochs(&g->control, epoch_cyc);
        if (end == ENGINE_IDLE) {
            report_program_deadlock(g);
            diag_bug("gpu", system_now(g), "kernel '%s' does not end and nothing is due:\n%s",
                     exec_kernel_ptx(g->running[0]->launch->kernel)->name, engine_wait_report(g->engine));
        }
        if (g->limit_instructions && system_warp_instructions(g) >= g->limit_instructions)
            return SYSTEM_STOPPED;
        if (!l->progress) continue;
        if (!l->progress(l->arg, system_now(g), system_warp_instructions(g))) return SYSTEM_STOPPED;
    }
    return SYSTEM_KERNEL_ENDED;
}

/* Synchronises the SM statistics. All SMs take part: the statistics of a kernel are the difference of the
 * machine's statistics between its start and its end. */
static void sms_sync(struct system *g)
{
    for (uint32_t k = 0; k < g->sm_count; k++) sm_settle(g->sms[k], system_now(g) + 1);
}

static void kernel_sync(struct running *r)
{
    struct system *g = r->system;
    apps_sync_stats(&g->apps);
    sms_sync(g);
    for (uint32_t k = 0; k < g->sm_count; k++) {
        if (sm_serves(g->sms[k], &r->sm)) sm_end(g->sms[k], &r->sm, system_now(g));
        sm_stats(g->sms[k])->requests_waiting = sm_requests_waiting(g->sms[k]);
    }
    for (uint32_t k = 0; k < g->mmu_count; k++) mmu_count_waiting(g->mmus[k]);
    finish_networks(g);
}

static void check_end(const struct running *r)
{
    struct system *g = r->system;
    if (r->blocks_ended != r->launch->block_count)
        diag_bug("gpu", system_now(g), "kernel '%s' has %llu blocks, but %llu ended",
                 exec_kernel_ptx(r->launch->kernel)->name, (unsigned long long)r->launch->block_count,
                 (unsigned long long)r->blocks_ended);
    const bool flushed =
        r->alone && r->boundary.pass != llc_boundary_keep && r->boundary.pass != llc_boundary_drop_remote;
    if (g->check) check_kernel_end(g->check, r->sm.number, flushed, system_now(g));
}

/* Overwrites the statistics that are known per kernel. With concurrent kernels, all other statistics of
 * the record are those of the machine during the kernel. */
static void set_own_stats(struct system_kernel_record *record, const struct exec_launch *l)
{
    record->shared = true;
    record->stats.sm.warp_instructions = l->warp_instructions;
    record->stats.sm.thread_instructions = l->thread_instructions;
    record->stats.sm.blocks_started = record->stats.sm.blocks_ended = record->blocks;
}

/* Removes a kernel from the machine and completes its record. `ended` false: the run was stopped. */
static void remove_kernel(struct running *r, bool ended)
{
    struct system *g = r->system;
    struct system_kernel_record *record = &g->records[r->record];
    uint32_t at = 0;
    boundary_leave(&r->boundary);
    kernel_sync(r);
    if (ended) check_end(r);
    engine_work_ends(g->engine);
    record->end_cyc = system_now(g);
    destroy_resident(r);
    stats_sum(g->stats, STATS_EVERYWHERE, &record->stats);
    stats_subtract(&record->stats, &r->before, &record->stats);
    record->use = system_use_since(g, r->marks);
    if (!r->alone) set_own_stats(record, r->launch);
    while (g->running[at] != r) at++;
    g->running_count--;
    for (; at < g->running_count; at++) g->running[at] = g->running[at + 1];
    g->running[g->running_count] = r;
    g->apps.app[r->sm.app].stats.kernels += ended;
    apps_wake_handover(&g->apps);
    epochs_kernel_leaves(&g->control.epochs, system_now(g), g->running_count ? &g->running[0]->facts : NULL);
    if (ended && !g->running_count) pages_kernels_end(g->pages);
    exec_launch_end(r->launch);
    if (g->listener.kernel) g->listener.kernel(g->listener.arg, record);
}

bool system_can_start(const struct system *g) { return g->running_count < SM_KERNELS; }

/* Returns a free `struct running`, or allocates one. */
static struct running *new_running(struct system *g)
{
    DIAG_ASSERT(system_can_start(g));
    if (g->running_count < g->running_made) return g->running[g->running_count];
    struct running *r = ARENA_NEW(&g->arena, struct running);
    r->system = g;
    r->marks = system_use_marks_new(g);
    boundary_init(&r->boundary, &g->control);
    cta_sched_init(&r->blocks, &g->arena, g->config, g->sm_count);
    g->running[g->running_made++] = r;
    return r;
}

/* Assigns the first wave of blocks to SMs before the kernel starts. The start skew then shifts blocks in
 * time and not to other SMs. ASSUMPTION: with several applications, SMs take blocks in the order of their
 * start, because an SM may be handed over. */
static void deal_blocks(struct running *r, uint32_t blocks_per_sm)
{
    const struct system *g = r->system;
    if (!g->config->runtime.start_skew_cyc || g->apps.count > 1) return;
    for (uint32_t round = 0; round < blocks_per_sm; round++)
        for (uint32_t k = 0; k < g->sm_count; k++)
            if (sm_idle(g->sms[k])) cta_sched_deal(&r->blocks, g->apps.app_idx[k]);
}

static void start_on_sms(struct running *r, const struct system_kernel_record *record)
{
    struct system *g = r->system;
    deal_blocks(r, record->blocks_per_sm);
    for (uint32_t k = 0; k < g->sm_count; k++) {
        const uint64_t skew = g->config->runtime.start_skew_cyc
                                  ? rng_below(&g->skew, g->config->runtime.start_skew_cyc + 1)
                                  : 0;
        if (apps_may_run(&g->apps, k, r->sm.app)) sm_begin(g->sms[k], &r->sm, record->start_cyc + skew);
    }
    engine_work_begins(g->engine);
}

void system_start_kernel(struct system *g, uint32_t app, struct exec_launch *launch, int priority)
{
    exec_launch_begin(launch);
    launch->bank_cycles = g->config->sim.work_ahead ? bank_cycles : NULL;
    launch->bank_ctx = g;
    struct running *r = new_running(g);
    r->launch = launch;
    r->block_cyc = 0;
    r->nanoseconds_per_cycle = 1e9 / (double)g->config->clock.sm;
    r->sm = (struct sm_kernel){.app = app,
                               .priority = priority,
                               .self = r,
                               .open = open_block,
                               .close = close_block,
                               .next = next_block,
                               .block_ended = block_ended,
                               .drained = sm_drained};
    struct system_kernel_record *record = new_record(g);
    residency_describe(r, record);
    r->facts = launch_facts_of(launch, app, record->registers_per_thread);
    r->facts.arrays = launch->analysis ? analysis_arrays : NULL;
    r->facts.layout = launch->analysis ? analysis_layout : NULL;
    r->facts.analysis = launch->analysis;
    const uint32_t needed = g->sm_count * record->blocks_per_sm;
    if (needed > r->resident_capacity) {
        r->resident = ARENA_ARRAY(&g->arena, struct exec_block *, needed);
        r->resident_capacity = needed;
    }
    pages_launch(g->pages, &r->facts);
    r->sm.structures = structures_begin(&g->arena, g->config, &r->facts);
    record->structures = r->sm.structures;
    cta_sched_begin(&r->blocks, &r->facts, g->apps.app[app].sm_count);
    r->blocks_ended = walk_skip_blocks(g, &r->blocks);
    apps_sync_stats(&g->apps);
    sms_sync(g);
    networks_sync(g);
    stats_sum(g->stats, STATS_EVERYWHERE, &r->before);
    system_use_marks_set(g, r->marks);
    record->app = app;
    if (g->check) r->sm.number = check_kernel_begin(g->check, record->name);
    record->launch_cyc = system_now(g);
    record->start_cyc = system_now(g) + 1 + g->config->runtime.launch_gap_cyc;
    block_migration_on_start(r, record->start_cyc);
    r->record = g->record_count++;
    r->alone = !g->running_count;
    g->running_count++;
    boundary_enter(&r->boundary, app);
    bool shares_memory = false;
    for (uint32_t n = 0; n + 1 < g->running_count; n++) shares_memory |= g->running[n]->sm.app == app;
    for (uint32_t n = 0; !r->alone && n < g->running_count; n++) {
        g->running[n]->alone = false;
        if (shares_memory && g->running[n]->sm.app == app)
            g->running[n]->launch->read_only =
                NULL; /* the analysis assumes one kernel; a concurrent kernel may write the data */
    }
    start_on_sms(r, record);
    epochs_kernel_begins(&g->control.epochs, record->start_cyc, &r->facts);
    pages_kernel_begins(g->pages, record->start_cyc);
}

enum system_end system_advance(struct system *g, uint64_t limit_cyc, struct exec_launch **ended)
{
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, abort_run, g);
    const enum system_end end = run_engine(g, limit_cyc);
    if (end == SYSTEM_KERNEL_ENDED) {
        struct running *r = first_ended(g);
        *ended = r->launch;
        remove_kernel(r, true);
    }
    diag_done(&cleanup, false);
    g->stopped = end == SYSTEM_STOPPED;
    while (g->stopped && g->running_count) remove_kernel(g->running[0], false);
    return end;
}

void system_abandon(struct system *g)
{
    if (!g->running_count) return;
    finish_channels(g);
    finish_networks(g);
    abort_run(g);
}

bool system_run_kernel(struct system *g, uint32_t app, struct exec_launch *launch)
{
    struct exec_launch *ended;
    system_start_kernel(g, app, launch, 0);
    return system_advance(g, ENGINE_NEVER, &ended) == SYSTEM_KERNEL_ENDED;
}

void system_finish(struct system *g)
{
    mmu_count_sharing(g->mmus[0]);
    page_classes_finish(g->page_classes);
    if (g->stopped) return;
    pages_end(g->pages);
    g->end_cyc = system_now(g); /* requests that complete after the last kernel do not extend the run */
    (void)engine_run(g->engine, ENGINE_NEVER);
    finish_networks(g);
    apps_sync_stats(&g->apps);
    for (uint32_t k = 0; k < g->slice_count; k++) {
        slice_stats(g->slices[k])->waiting = slice_waiting(g->slices[k]);
        slice_count_lines(g->slices[k]);
    }
    if (g->check) check_finish(g->check, system_now(g));
    stats_check_laws(g->stats, system_now(g));
    system_check_bounds(g);
}

void system_free(struct system *g)
{
    if (!g) return;
    block_migration_free(g->block_migration);
    repartition_free(g->repartition);
    replication_free(g->replication);
    for (uint32_t k = 0; g->mmus && k < g->mmu_count && g->mmus[k]; k++) mmu_free(g->mmus[k]);
    page_classes_free(g->page_classes);
    for (uint32_t k = 0; g->slices && k < g->slice_count && g->slices[k]; k++) slice_free(g->slices[k]);
    for (uint32_t k = 0; g->cpu_links && k < g->config->system.gpus && g->cpu_links[k]; k++)
        spill_free(g->cpu_links[k]);
    store_order_free(g->store_order);
    for (uint32_t k = 0; g->organisations && k < g->chiplet_count; k++)
        store_order_free(g->organisations[k].dirty);
    if (g->pages) pages_free(g->pages);
    if (g->engine) engine_free(g->engine);
    check_free(g->check);
    free(g->records);
    arena_free(&g->arena);
    free(g);
}
