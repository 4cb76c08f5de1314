/* sm: building an SM, its visits, kernels that begin and end. */
#include "sm/sm.h"

#include <string.h>

#include "exec/lanes.h"
#include "sm/memory_half.h"
#include "sm/stalls.h"

/* ---- parameters ---- */

/* An access needs the port of where it goes; a generic one is taken for one to memory. */
static void set_class(struct sm_spec *s, enum warp_class c, enum unit unit, uint32_t latency,
                      uint32_t interval)
{
    for (uint32_t space = 0; space < WARP_SPACE_COUNT; space++) {
        const bool constant = space == WARP_SPACE_PARAM || space == WARP_SPACE_CONST;
        struct class_spec *out = &s->classes[sm_class_idx((uint8_t)space, (uint8_t)c)];
        *out = (struct class_spec){
            .unit = (uint8_t)unit, .latency_cyc = latency, .interval_cyc = (uint16_t)interval};
        if (unit != UNIT_MEMORY) continue;
        if (space == WARP_SPACE_SHARED) out->unit = UNIT_SHARED;
        if (constant) {
            out->unit = UNIT_CONTROL;
            out->latency_cyc = s->const_latency_cyc;
        }
    }
}

static void set_classes(struct sm_spec *s, const struct config *c)
{
#define UNIT_CLASS(CLASS, name, unit_) \
    set_class(s, WARP_CLASS_##CLASS, unit_, c->unit.name##_latency_cyc, c->unit.name##_interval_cyc)
    UNIT_CLASS(INT, int, UNIT_INT);
    UNIT_CLASS(INT_MINMAX, int_minmax, UNIT_INT);
    UNIT_CLASS(INT_MUL, int_mul, UNIT_INT);
    UNIT_CLASS(INT_DIV, int_div, UNIT_INT);
    UNIT_CLASS(SHUFFLE, shuffle, UNIT_INT);
    UNIT_CLASS(FP32, fp32, UNIT_FP32);
    UNIT_CLASS(FP32_MINMAX, fp32_minmax, UNIT_FP32);
    UNIT_CLASS(FP32_DIV, fp32_div, UNIT_FP32);
    UNIT_CLASS(FP64, fp64, UNIT_FP64);
    UNIT_CLASS(FP64_MINMAX, fp64_minmax, UNIT_FP64);
    UNIT_CLASS(FP64_DIV, fp64_div, UNIT_FP64);
    UNIT_CLASS(SFU, sfu, UNIT_SFU);
    UNIT_CLASS(TENSOR, tensor, UNIT_TENSOR);
    UNIT_CLASS(TEXTURE, texture, UNIT_TEXTURE);
#undef UNIT_CLASS
    static const enum warp_class control[] = {WARP_CLASS_CONTROL, WARP_CLASS_BARRIER, WARP_CLASS_FENCE,
                                              WARP_CLASS_WAIT, WARP_CLASS_EXIT};
    for (size_t k = 0; k < sizeof control / sizeof *control; k++)
        set_class(s, control[k], UNIT_CONTROL, 1, 1);
    static const enum warp_class memory[] = {WARP_CLASS_LOAD,       WARP_CLASS_STORE,
                                             WARP_CLASS_ATOMIC,     WARP_CLASS_REDUCTION,
                                             WARP_CLASS_COPY_ASYNC, WARP_CLASS_PREFETCH};
    for (size_t k = 0; k < sizeof memory / sizeof *memory; k++)
        set_class(s, memory[k], UNIT_MEMORY, 1, c->sm.lsu_interval_cyc);
}

struct sm_spec *sm_spec_of(struct arena *a, const struct config *c)
{
    struct sm_spec *s = ARENA_NEW(a, struct sm_spec);
    *s = (struct sm_spec){
        .warps = c->sm.warps,
        .threads = c->sm.threads,
        .block_slots = c->sm.block_slots,
        .registers = c->sm.registers,
        .schedulers = c->sm.schedulers,
        .all_schedulers = (1u << c->sm.schedulers) - 1,
        .active_warps = c->sm.active_warps,
        .shared_bytes = c->sm.shared_size,
        .policy = c->sm.scheduler,
        .loads = c->sm.loads,
        .stores = c->sm.stores,
        .request_limit = c->l1.mshrs + c->sm.stores,
        .lsu_queue = c->sm.lsu_queue,
        .shared_latency_cyc = c->sm.shared_latency_cyc,
        .shared_banks = c->sm.shared_banks,
        .const_latency_cyc = c->sm.const_latency_cyc,
        .barrier_latency_cyc = c->sm.barrier_latency_cyc,
        .branch_latency_cyc = c->sm.branch_latency_cyc,
        .start_latency_cyc = c->sm.start_latency_cyc,
        .counts_nodes = config_counts_nodes(c),
        .sms_per_chiplet = (uint32_t)config_sms_per_chiplet(c),
        .slices_per_chiplet = (uint32_t)config_slices_per_chiplet(c),
        .chiplets_per_gpu = c->gpu.chiplets,
        .fence_invalidates = c->sm.fence_acquire == fence_acquire_invalidate,
        .clock_ghz = (double)c->clock.sm * 1e-9,
        .sets = (uint32_t)(c->l1.size / LINE_BYTES / c->l1.ways),
        .ways = c->l1.ways,
        .mshrs = c->l1.mshrs,
        .mshr_merges = c->l1.mshr_merges,
        .miss_queue = c->l1.miss_queue,
        .lines_per_cyc = c->l1.lines_per_cyc,
        .l1_latency_cyc = c->l1.latency_cyc,
        .fill_latency_cyc = c->l1.fill_latency_cyc,
        .sectored = c->l1.sectored,
        .hashed = c->l1.index == cache_index_hashed,
        .allocate_on_fill = c->l1.allocate == l1_allocate_on_fill,
        .write_updates = c->l1.write_hit == l1_write_hit_update,
        .count_conflicts = c->l1.count_conflicts,
        .replacement = c->l1.replacement,
        .waiting_for_pages = c->mmu.l1_waiting,
        .seed = c->sim.seed,
    };
    if (s->hashed && !(s->sets & (s->sets - 1))) s->hashed_log2 = (uint32_t)__builtin_ctz(s->sets);
    s->scatters =
        s->hashed_log2 && s->sets <= UINT16_MAX && c->sim.isa != isa_plain && lanes_isa_present(LANES_AVX2);
    set_classes(s, c);
    return s;
}

/* ---- visits ---- */

/* A blocked memory pipe is counted up to the last cycle in which the SM was looked at: with those that were
 * worked off without a look at the pipe, and the one after a warp issued while others were ready. */
static void settle_blocked(struct sm *sm, uint64_t now)
{
    uint64_t looked_cyc = sm->windows ? sm->ahead_cyc : 0;
    if (!sm->lsu_blocked) return;
    for (uint32_t k = 0; sm->any_ready && k < sm->spec->schedulers; k++) {
        const uint64_t since_cyc = sm->schedulers[k].since_cyc;
        if (since_cyc > sm->settled_cyc && since_cyc > looked_cyc) looked_cyc = since_cyc;
    }
    if (looked_cyc >= now) looked_cyc = now - 1;
    if (looked_cyc <= sm->lsu_blocked_cyc) return;
    *sm->lsu_blocked += looked_cyc - sm->lsu_blocked_cyc;
    sm->lsu_blocked_cyc = looked_cyc;
}

/* What is beyond the last bucket falls into it. */
static void settle_latencies(const uint64_t latency[SM_LATENCIES], uint64_t *histogram, uint32_t buckets)
{
    memcpy(histogram, latency, buckets * sizeof *histogram);
    for (uint32_t k = buckets; k < SM_LATENCIES; k++) histogram[buckets - 1] += latency[k];
}

void sm_settle_cycles(struct sm *sm, uint64_t now)
{
    if (now <= sm->settled_cyc) return;
    const uint64_t cycles = now - sm->settled_cyc;
    settle_blocked(sm, now);
    sm->settled_cyc = now;
    if (!sm->place_count) return;
    struct sm_stats *const t = &sm->stats;
    stalls_find(sm, sm->unknown);
    sm->unknown = 0;
    for (uint32_t k = 0; k < sm->spec->schedulers; k++) {
        struct scheduler *s = &sm->schedulers[k];
        if (s->since_cyc >= now) continue;
        *s->counter += now - s->since_cyc;
        s->since_cyc = now;
    }
    t->scheduler_cycles += cycles * sm->spec->schedulers + FAULT_FIRES(cycle_counted_twice);
    t->resident_warp_cycles += cycles * sm->resident_count;
}

void sm_settle(struct sm *sm, uint64_t now)
{
    enum { BUCKETS = sizeof sm->stats.request_latency / sizeof *sm->stats.request_latency };
    settle_latencies(sm->latency, sm->stats.request_latency, BUCKETS);
    settle_latencies(sm->near_latency, sm->stats.near_latency, BUCKETS);
    sm->stats.issue_cycles = sm->stats.warp_instructions; /* a scheduler issues one in a cycle */
    sm->stats.in_flight_cyc = sm->flight_sum + sm->outstanding * sm->flight_cyc;
    sm->stats.request_cyc = sm->stats.read_latency_cyc + sm->write_cyc;
    sm->stats.memory_instructions = stats_counted(sm->stats.lines_per_access);
    l1_count_peak(&sm->l1, sm->spec->mshrs);
    sm_settle_cycles(sm, now);
}

/* Short cycles that have passed are those of now from now on, those of who waits for memory are SM_FAR ahead
 * again. After a long sleep all have passed: nothing can have been on its way for that long. */
static void sm_refresh(struct sm *sm, uint64_t now)
{
    const bool slept = now - sm->refreshed_cyc >= SM_FAR / 4;
    sm->refreshed_cyc = now;
    for (uint32_t k = 0; k < SM_WARPS * sm->reg_stride; k++) {
        const int32_t ahead = short_ahead(sm->regs[k], now);
        if (slept || ahead < 0)
            sm->regs[k] = short_cyc(now);
        else if (ahead >= (int32_t)(SM_FAR / 4))
            sm->regs[k] = short_cyc(now) + SM_FAR;
    }
    for (uint32_t k = 0; k < SM_SCHEDULERS; k++)
        for (uint32_t u = 0; u < UNIT_COUNT; u++)
            if (slept || short_ahead(sm->schedulers[k].port_free[u], now) < 0)
                sm->schedulers[k].port_free[u] = short_cyc(now);
}

static inline bool place_is_idle(const struct sm_place *p)
{
    return !p->blocks && (!p->stores || FAULT_FIRES(kernel_ends_early));
}

static inline void begin_visit(struct sm *sm, uint64_t now)
{
    DIAG_ASSERT(now > sm->ahead_cyc);
    if (__builtin_expect(now - sm->refreshed_cyc >= SM_FAR / 8, 0)) sm_refresh(sm, now);
}

static inline __attribute__((always_inline)) void memory_half(struct sm *sm, uint64_t now)
{
    if (sm->memory_cyc != now) sm_memory_half(sm, now);
    sm->memory_cyc = now;
}

/* Tells kernels that have nothing left here. */
static void tell_drained(struct sm *sm, uint64_t now)
{
    for (uint32_t n = 0; n < sm->place_count; n++) {
        struct sm_place *p = &sm->places[sm->order[n]];
        if (p->drained || p->wants || !place_is_idle(p)) continue;
        p->drained = true;
        p->kernel->drained(p->kernel->self, sm->wire.sm_idx, now);
    }
}

/* Second half: blocks and instructions. */
static inline __attribute__((always_inline)) void issue_half(struct sm *sm, uint64_t now)
{
    if (!sm->place_count) return;
    if (sm->move.state != MOVE_NONE) move_step(sm, now); /* here, because it may place pages */
    if (__builtin_expect(sm->wait_order != 0, 0)) sm_recheck_fences(sm, now);
    const uint64_t next = sm_issue(sm, now);
    if (!sm->block_count || sm->place_count > 1) tell_drained(sm, now);
    sm->next_cyc = next;
    if (next != ENGINE_NEVER) engine_wake(sm->wire.engine, sm->component, next);
    if (!sm->windows && sm->wire.fabric->rearm_wakeups)
        fabric_rearm_sm(sm->wire.fabric, now, sm->wire.sm_idx, sm->miss_refused);
}

/* Shuffled visits: the memory side told of a reply before the SM's own visit in the same cycle, which then
 * worked it off. */
static inline bool is_worked_off(const struct sm *sm, uint64_t now)
{
    return sm->windows && now <= sm->ahead_cyc;
}
static void visit_memory(void *self, uint64_t now)
{
    if (is_worked_off(self, now)) return;
    begin_visit(self, now);
    memory_half(self, now);
}
static void visit_issue(void *self, uint64_t now)
{
    struct sm *sm = self;
    if (!is_worked_off(sm, now)) {
        issue_half(sm, now);
        return;
    }
    const uint64_t reply_cyc = sm->reply->visible_cyc;
    engine_wake(sm->wire.engine, sm->component, sm->next_cyc < reply_cyc ? sm->next_cyc : reply_cyc);
}
static void visit(void *self, uint64_t now)
{
    const struct sm *const sm = self;
    begin_visit(self, now);
    /* else it is part of the window: sm_issue() */
    if (!sm->direct || !sm->place_count || sm->move.state != MOVE_NONE) memory_half(self, now);
    issue_half(self, now);
}

/* ---- kernels ---- */

uint32_t sm_place_of(const struct sm *sm, const struct sm_kernel *kernel)
{
    for (uint32_t n = 0; n < sm->place_count; n++)
        if (sm->places[sm->order[n]].kernel == kernel) return sm->order[n];
    return SM_KERNELS;
}

/* A place for the kernel, asked after those of its priority and above. */
static void take_place(struct sm *sm, const struct sm_kernel *kernel, uint64_t start_cyc)
{
    uint32_t place = 0, at = sm->place_count;
    DIAG_ASSERT(sm->place_count < SM_KERNELS);
    while (sm->places[place].kernel) place++;
    for (; at && sm->places[sm->order[at - 1]].kernel->priority < kernel->priority; at--)
        sm->order[at] = sm->order[at - 1];
    sm->order[at] = (uint8_t)place;
    sm->place_count++;
    sm->places[place] = (struct sm_place){.kernel = kernel, .start_cyc = start_cyc, .wants = true};
    if (!sm->wants_blocks || start_cyc < sm->start_cyc) sm->start_cyc = start_cyc;
    sm->wants_blocks = true;
}

/* Registers of a warp lie close together, in cache lines of their own. */
static void set_stride(struct sm *sm, uint32_t stride)
{
    const bool moves = sm->place_count > 1;
    if (moves && stride <= sm->reg_stride) return;
    for (uint32_t warp = SM_WARPS; warp-- > 0;) { /* from behind: they move up */
        uint32_t *const to = sm->regs + (size_t)warp * stride;
        if (moves) memmove(to, sm_regs(sm, warp), sm->reg_stride * sizeof *sm->regs);
        sm->warps[warp].regs = to;
    }
    sm->reg_stride = stride;
}

static void set_direct(struct sm *sm)
{
    /* not where blocks move: their lines go out beside those of the memory pipe */
    sm->direct = sm->windows && sm->spec->lines_per_cyc == 1 && !sm->hold && !sm->wire.disturbed &&
                 !FAULT_CLOSES_FAST_LOOPS;
    if (!sm->direct) return;
    const struct fabric *const f = sm->wire.fabric;
    sm->replies = net_queue_port_of(f->reply.net, sm->wire.sm_idx);
    sm->out = &f->request.sources[sm->wire.sm_idx];
    sm->traffic = f->traffic.sm_row[sm->wire.sm_idx];
    sm->read_bytes = f->header_bytes;
}

static void set_app(struct sm *sm, uint32_t app)
{
    sm->app = app;
    for (uint32_t k = 0; k < sm->spec->mshrs; k++) sm->own_requests[k].app = (uint8_t)app;
}

void sm_begin(struct sm *sm, const struct sm_kernel *kernel, uint64_t start_cyc)
{
    DIAG_ASSERT(sm->place_count ? sm->app == kernel->app : sm_idle(sm));
    const uint64_t now = engine_now(sm->wire.engine, sm->wire.domain);
    if (sm->app != kernel->app) set_app(sm, kernel->app);
    sm->windows = sm->wire.fabric->reply.ahead;
    sm->reply = fabric_front(&sm->wire.fabric->reply, sm->wire.sm_idx);
    set_direct(sm);
    take_place(sm, kernel, start_cyc);
    set_stride(sm, (kernel->scoreboard + SM_REGS_LINE - 1) / SM_REGS_LINE * SM_REGS_LINE);
    sm_refresh(sm, now);
    if (sm->place_count == 1) {
        sm->settled_cyc = now + 1;
        for (uint32_t k = 0; k < sm->spec->schedulers; k++) {
            sm->schedulers[k].counter = &sm->stats.stall_no_warp;
            sm->schedulers[k].since_cyc = now + 1;
        }
        for (uint32_t k = 0; k < SM_SCHEDULERS; k++)
            for (uint32_t u = 0; u < UNIT_COUNT; u++) sm->schedulers[k].port_free[u] = short_cyc(now);
    }
    if (!FAULT_FIRES(l1_keeps_at_kernel)) l1_invalidate(sm);
    if (sm->wire.check) check_acquire(sm->wire.check, sm->wire.sm_idx, now + 1);
    engine_wake(sm->wire.engine, sm->component, start_cyc);
}

void sm_end(struct sm *sm, const struct sm_kernel *kernel, uint64_t now)
{
    const uint32_t place = sm_place_of(sm, kernel);
    uint32_t at = 0;
    sm_settle(sm, now + 1);
    for (uint32_t slot = 0; sm->places[place].blocks && slot < SM_WARPS; slot++) /* it was broken off */
        if (sm->blocks[slot].used && sm->blocks[slot].place == place) move_keep_runs(sm, &sm->blocks[slot]);
    while (sm->order[at] != place) at++;
    sm->place_count--;
    for (; at < sm->place_count; at++) sm->order[at] = sm->order[at + 1];
    sm->places[place].kernel = NULL;
    if (!sm->place_count) sm->wants_blocks = false;
}

void sm_break_off(struct sm *sm, uint64_t now)
{
    sm_settle(sm, (sm->place_count && sm->ahead_cyc > now ? sm->ahead_cyc : now) + 1);
    for (uint32_t slot = 0; slot < SM_WARPS; slot++) /* what was executed ahead was not issued */
        if (sm->blocks[slot].used) move_keep_runs(sm, &sm->blocks[slot]);
}

void sm_ask(struct sm *sm)
{
    if (!sm->place_count) return;
    for (uint32_t n = 0; n < sm->place_count; n++) sm->places[sm->order[n]].wants = true;
    sm->wants_blocks = true;
    sm->start_cyc = 0;
    sm->asked_cyc = engine_now(sm->wire.engine, sm->wire.domain) + 1;
    engine_wake(sm->wire.engine, sm->component, sm->asked_cyc);
}

static void set_mmu(struct sm *sm, struct mmu *mmu)
{
    sm->wire.mmu = mmu;
    sm->translates = sm->wire.moving_pages || !mmu_is_ideal(mmu);
    sm->page_lines_log2 = mmu_page_log2(mmu) - LINE_LOG2;
    sm->pages = mmu_page_cache(mmu, sm->wire.sm_idx);
    sm->table = mmu_pages(mmu);
}

void sm_use_mmu(struct sm *sm, struct mmu *mmu)
{
    DIAG_ASSERT(sm_idle(sm));
    set_mmu(sm, mmu);
}

bool sm_serves(const struct sm *sm, const struct sm_kernel *kernel)
{
    return sm_place_of(sm, kernel) != SM_KERNELS;
}

bool sm_idle_of(const struct sm *sm, const struct sm_kernel *kernel)
{
    const uint32_t place = sm_place_of(sm, kernel);
    return place == SM_KERNELS || place_is_idle(&sm->places[place]);
}

bool sm_waits_for_time(const struct sm *sm, uint64_t now)
{
    return (sm->sleeping | sm->asleep) || (sm->wants_blocks && now < sm->start_cyc);
}

bool sm_idle(const struct sm *sm)
{
    return !sm->block_count && (!sm->outstanding || FAULT_FIRES(kernel_ends_early)) && !sm->queue_count &&
           !sm->parked_count && !sm->replay_count;
}

uint32_t sm_request_limit(const struct sm_spec *spec) { return spec->request_limit; }
uint32_t sm_requests_kept(const struct sm_spec *spec) { return spec->mshrs; }
uint32_t sm_requests_held(const struct sm *sm) { return sm->misses_count; }
void sm_hold(struct sm *sm, enum sm_hold hold)
{
    const bool goes_on = sm->hold == SM_DRAINS && hold == SM_SENDS && sm->place_count;
    sm->hold = (uint8_t)hold;
    set_direct(sm);
    if (goes_on)
        engine_wake(sm->wire.engine, sm->component, engine_now(sm->wire.engine, sm->wire.domain) + 1);
}
bool sm_is_drained(const struct sm *sm)
{
    return !sm->outstanding && !mmu_waiting(sm->wire.mmu, sm->wire.sm_idx);
}
void sm_drop_translations(struct sm *sm)
{
    DIAG_ASSERT(sm_is_drained(sm) && !sm->parked_count);
    l1_invalidate(sm);
    if (!FAULT_FIRES(tlb_keeps_at_change)) mmu_flush_l1(sm->wire.mmu, sm->wire.sm_idx);
    if (sm->queue_count) sm->front->translated = false;
    sm->replay_stale = sm->replay_count;
    if (sm->wire.check && !mmu_l1_is_flushed(sm->wire.mmu, sm->wire.sm_idx))
        diag_check_failed("--check: the L1 TLB of SM %u holds translations from before a change of channels",
                          sm->wire.sm_idx);
}
uint64_t sm_requests_waiting(const struct sm *sm) { return sm->outstanding - sm->misses_count; }

/* ---- building ---- */

static struct wait waits(void *self)
{
    const struct sm *sm = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
    if (!sm->place_count || (sm_idle(sm) && !sm->wants_blocks)) return w;
    w.reason = WAIT_REPLY;
    w.on = sm->wire.fabric->reply.component;
    if (sm->miss_refused) {
        w.reason = WAIT_QUEUE_FULL;
        w.on = sm->wire.fabric->request.component;
    }
    (void)snprintf(
        w.detail, sizeof w.detail,
        "%u blocks, %d warps wait for memory, %d at barriers, %d for stores; %u requests without reply",
        sm->block_count, __builtin_popcountll(sm->wait_memory), __builtin_popcountll(sm->wait_barrier),
        __builtin_popcountll(sm->wait_fence), sm->outstanding);
    return w;
}

static void build_memory(struct sm *sm, struct arena *a, const char *name)
{
    const struct sm_spec *s = sm->spec;
    sm->loads = ARENA_ARRAY(a, struct load, s->loads);
    sm->loads_free = ARENA_ARRAY(a, uint16_t, s->loads);
    for (uint32_t k = 0; k < s->loads; k++) sm->loads_free[k] = (uint16_t)(s->loads - 1 - k);
    sm->loads_free_count = s->loads;
    sm->queue = sm->front = sm->back = ARENA_ARRAY(a, struct memory_instr, s->lsu_queue);
    sm->queue_end = sm->queue + s->lsu_queue;
    sm->queue_limit = s->lsu_queue;
    sm->waiting = ARENA_ARRAY(a, struct line_access, (size_t)s->waiting_for_pages + 1);
    sm->waiting_next = ARENA_ARRAY(a, uint32_t, (size_t)s->waiting_for_pages + 1);
    sm->misses = ARENA_ARRAY(a, uint32_t, s->miss_queue);
    l1_init(&sm->l1, a, s, sm->wire.sm_idx);
    sm->first_request = pool_take_row(sm->wire.requests, s->mshrs);
    sm->own_requests = request_at(sm->wire.requests, sm->first_request);
    for (uint32_t k = 0; k < s->mshrs; k++) {
        struct request *const r = sm->own_requests + k;
        r->owner = k;
        r->sm = (uint16_t)sm->wire.sm_idx;
    }
    if (sm->wire.check)
        sm->l1.copies = check_place_new(sm->wire.check, arena_printf(a, "%s's L1", name),
                                        tags_lines(&sm->l1.tags) + s->mshrs, false);
}

struct conflict_cache *sm_conflict_cache(struct arena *a) { return ARENA_NEW(a, struct conflict_cache); }
uint32_t sm_bank_cycles(const struct sm_spec *spec, const struct warp_op *op, struct conflict_cache *cache)
{
    return shared_conflict_cycles(op, spec->shared_banks, cache);
}

struct sm *sm_new(struct arena *a, const struct sm_spec *spec, const struct sm_wiring *wiring,
                  const char *name)
{
    struct sm *sm = ARENA_ARRAY(a, struct sm, 1); /* aligned to a cache line */
    sm->spec = spec;
    sm->arena = a;
    sm->wire = *wiring;
    sm->routes = path_routes_of(&wiring->organisation->path, wiring->sm_idx);
    set_mmu(sm, wiring->mmu);
    sm->memory_cyc = ENGINE_NEVER;
    sm->regs = ARENA_ARRAY(a, uint32_t, (size_t)SM_WARPS * SM_REGS);
    for (uint32_t warp = 0; warp < SM_WARPS; warp++) {
        sm->warps[warp].scheduler = (uint8_t)(warp % spec->schedulers);
        sm->warps[warp].regs = sm->regs;
        sm->of_unit[sm->warps[warp].class.unit] |= bit_of(warp);
        sm->schedulers[warp % spec->schedulers].warps |= bit_of(warp);
    }
    for (uint32_t k = 0; k < spec->schedulers; k++) {
        sm->schedulers[k].last = SM_WARPS - 1; /* begin with 0 */
        sm->schedulers[k].bit = (uint16_t)(1u << k);
    }
    build_memory(sm, a, name);
    sm->component = engine_add(wiring->engine, (struct component_spec){.name = name,
                                                                       .self = sm,
                                                                       .domain = wiring->domain,
                                                                       .wake = visit_memory,
                                                                       .commit = visit_issue,
                                                                       .visit = visit,
                                                                       .waits = waits});
    return sm;
}

uint32_t sm_component(const struct sm *sm) { return sm->component; }
struct sm_stats *sm_stats(struct sm *sm) { return &sm->stats; }
struct l1_stats *sm_l1_stats(struct sm *sm) { return &sm->l1.stats; }
