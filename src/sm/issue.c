/* issue: which warp issues, what it executes, and from when on its next instruction can.
 *
 * Every resident warp is in exactly one place: ready[unit of its next instruction], the wheel (waits for a
 * known cycle), wait_memory, wait_barrier, wait_fence, asleep, or it has ended. */
#include "sm/sm_private.h"

/* ---- scoreboard ---- */

static inline int32_t later(int32_t a, int32_t b) { return a > b ? a : b; }

static inline int32_t register_ahead(const uint32_t *regs, uint32_t reg, uint64_t now)
{
    return short_ahead(regs[reg % SM_REGS], now);
}

/* How far ahead the cycle is from which every register of the next instruction can be used; SM_FAR / 4 and
 * more: one waits for memory. */
static inline int32_t registers_ahead(const struct sm *sm, uint32_t warp, uint64_t now)
{
    const struct sm_warp *w = &sm->warps[warp];
    const struct warp_op_info *info = w->next;
    const uint32_t *const regs = sm_regs(sm, warp);
    int32_t most = 0;
    if (__builtin_expect(info->sealed, 1)) {
        most = later(most, register_ahead(regs, w->reg_base + info->any[0], now));
        most = later(most, register_ahead(regs, w->reg_base + info->any[1], now));
        most = later(most, register_ahead(regs, w->reg_base + info->any[2], now));
        return later(most, register_ahead(regs, w->reg_base + info->any[3], now));
    }
    for (uint32_t k = 0; k < info->src_count; k++)
        most = later(most, register_ahead(regs, w->reg_base + info->src[k], now));
    for (uint32_t k = 0; k < info->dst_count; k++)
        most = later(most, register_ahead(regs, w->reg_base + info->dst[k], now));
    return most;
}

/* The port of a memory instruction. */
static uint8_t memory_unit(const struct warp_op_info *info)
{
    switch ((enum warp_space)info->space) {
    case WARP_SPACE_SHARED: return UNIT_SHARED;
    case WARP_SPACE_PARAM:
    case WARP_SPACE_CONST: return UNIT_CONTROL;
    default: return UNIT_MEMORY;
    }
}

/* Does the instruction wait for stores that the warp has on their way? */
static inline bool waits_for_stores(const struct sm_warp *w)
{
    if (FAULT_FIRES(fence_waits_not)) return false;
    return w->stores && w->next->flags & WARP_F_RELEASE && w->next->scope >= WARP_SCOPE_GPU;
}

static inline void sleep_until(struct sm *sm, uint32_t warp, uint64_t cyc, uint64_t now)
{
    const uint64_t slot_cyc = cyc - now < SM_WHEEL ? cyc : now + SM_WHEEL - 1;
    sm->warps[warp].ready_cyc = cyc;
    sm->wheel[slot_cyc % SM_WHEEL] |= bit_of(warp);
    sm->wheel_used |= (uint64_t)1 << slot_cyc % SM_WHEEL;
    sm->sleeping |= bit_of(warp);
}

static inline void reconsider(struct sm *sm, uint32_t warp, uint64_t earliest_cyc, uint64_t now)
{
    struct sm_warp *w = &sm->warps[warp];
    if (w->stores && waits_for_stores(w)) {
        w->ready_cyc = earliest_cyc;
        sm->wait_fence |= bit_of(warp);
        return;
    }
    const int32_t ahead = registers_ahead(sm, warp, now);
    if (ahead >= (int32_t)(SM_FAR / 4) || (w->copies && w->next->class == WARP_CLASS_WAIT)) {
        w->ready_cyc = earliest_cyc; /* holds when memory has answered, too */
        sm->wait_memory |= bit_of(warp);
        return;
    }
    const uint64_t ready = now + (uint32_t)ahead;
    sleep_until(sm, warp, ready > earliest_cyc ? ready : earliest_cyc, now);
}

void sm_wait_over(struct sm *sm, uint32_t warp, uint64_t now)
{
    sm_changed(sm, warp);
    const uint64_t earliest = sm->warps[warp].ready_cyc;
    reconsider(sm, warp, earliest > now ? earliest : now + 1, now);
}

static inline void set_next(struct sm *sm, uint32_t warp, const struct warp_op_info *info)
{
    struct sm_warp *w = &sm->warps[warp];
    w->next = info;
    w->class = sm->spec->classes[info->class];
    if (w->class.unit == UNIT_MEMORY) w->class.unit = memory_unit(info);
}

/* Those of a run are all inside. */
static inline void set_outward(struct sm *sm, uint32_t warp, const struct warp_op_info *info)
{
    sm->outward = (sm->outward & ~bit_of(warp)) | (uint64_t) !(info->flags & WARP_F_INSIDE) << warp;
}

/* The source has told what comes next: where does the warp wait for it? */
static inline void go_on(struct sm *sm, uint32_t warp, enum warp_step step, const struct warp_next *next,
                         uint64_t earliest_cyc, uint64_t now)
{
    struct sm_warp *w = &sm->warps[warp];
    if (__builtin_expect(step != WARP_STEP_OP, 0)) {
        if (step == WARP_STEP_WAIT)
            sm->wait_barrier |= bit_of(warp);
        else
            sm_warp_done(sm, warp, now);
        return;
    }
    w->reg_base = next->reg_base;
    w->run = next->run;
    w->run_mask = next->run_mask;
    w->after = next->after;
    sm->sources[warp].cycles = next->cycles;
    set_next(sm, warp, next->info);
    set_outward(sm, warp, next->info);
    reconsider(sm, warp, earliest_cyc, now);
}

void sm_next(struct sm *sm, uint32_t warp, uint64_t earliest_cyc, uint64_t now)
{
    const struct sm_warp *w = &sm->warps[warp];
    const struct sm_block *b = &sm->blocks[w->block];
    struct warp_next next;
    sm_changed(sm, warp);
    const enum warp_step step = b->source.peek(b->source.self, w->idx, &next);
    go_on(sm, warp, step, &next, earliest_cyc, now);
}

/* Warps whose cycle has come. */
static void wake_warps(struct sm *sm, uint64_t now)
{
    uint64_t due = sm->wheel[now % SM_WHEEL];
    sm->wheel[now % SM_WHEEL] = 0;
    sm->wheel_used &= ~((uint64_t)1 << now % SM_WHEEL);
    for (; due; due &= due - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctzll(due);
        const struct sm_warp *w = &sm->warps[warp];
        sm->sleeping &= ~bit_of(warp);
        if (w->ready_cyc > now) {
            sleep_until(sm, warp, w->ready_cyc, now);
            continue;
        }
        sm->asleep &= ~bit_of(warp);
        sm_changed(sm, warp);
        if (sm->stopping & bit_of(warp)) {
            sm->held |= bit_of(warp);
            continue;
        }
        sm->ready[w->class.unit] |= bit_of(warp);
        sm->any_ready |= bit_of(warp);
    }
}

/* ---- executing ---- */

/* Without a popcnt instruction the library's function is slow; most masks are full. */
static inline uint32_t lanes_in(uint32_t mask)
{
    return __builtin_expect(mask == UINT32_MAX, 1) ? SM_LANES : (uint32_t)__builtin_popcount(mask);
}

/* Occupies the banks; returns when the registers are there. */
static inline uint64_t use_banks(struct sm *sm, uint32_t cycles, uint64_t now)
{
    const uint64_t start = sm->shared_free_cyc > now ? sm->shared_free_cyc : now;
    sm->shared_free_cyc = start + cycles;
    sm->stats.shared_instructions++;
    sm->stats.shared_conflict_cycles += cycles - 1;
    return start + sm->spec->shared_latency_cyc + cycles - 1;
}

static void write_back(struct sm *sm, uint32_t warp, uint64_t done)
{
    const struct warp_op *op = &sm->op;
    uint32_t *const regs = sm_regs(sm, warp);
    for (uint32_t k = 0; k < op->info->dst_count; k++)
        regs[(op->reg_base + op->info->dst[k]) % SM_REGS] = short_cyc(done);
}

static void shared_access(struct sm *sm, uint32_t warp, uint64_t now)
{
    if (!sm->op.mask) return;
    const uint32_t cycles = shared_conflict_cycles(&sm->op, sm->spec->shared_banks, sm->wire.conflicts);
    write_back(sm, warp, use_banks(sm, cycles, now));
}

static void memory_access(struct sm *sm, uint32_t warp, uint64_t now)
{
    const struct warp_op *op = &sm->op;
    switch ((enum warp_space)op->space) {
    case WARP_SPACE_SHARED: shared_access(sm, warp, now); break;
    case WARP_SPACE_GLOBAL:
    case WARP_SPACE_LOCAL:
        if (op->mask && op->info->class != WARP_CLASS_PREFETCH) lsu_issue(sm, warp, now);
        break;
    default: write_back(sm, warp, now + sm->spec->const_latency_cyc); break;
    }
}

/* Warps of the block that a barrier or a collective let go. */
static void wake_others(struct sm *sm, struct sm_block *b, uint64_t now)
{
    uint64_t woken = *b->source.woken;
    *b->source.woken = 0;
    for (; woken; woken &= woken - 1) {
        const uint32_t warp = b->slot_of[__builtin_ctzll(woken)];
        if (!(sm->wait_barrier & bit_of(warp))) continue;
        sm->wait_barrier &= ~bit_of(warp);
        sm_next(sm, warp, now + sm->spec->barrier_latency_cyc, now);
    }
}

/* Its stores are acknowledged: the warp has waited for it. */
static void gpu_fence(struct sm *sm, uint32_t warp, uint64_t now)
{
    if (sm->wire.check) check_release(sm->wire.check, sm->wire.sm_idx, warp, sm->warps[warp].generation, now);
    if (sm->spec->fence_invalidates) sm_acquire(sm, FAULT_FIRES(fence_invalidates_not));
}

/* Executes the warp's next instruction; returns from when on the one after it may issue. */
static inline uint64_t execute(struct sm *sm, uint32_t warp, uint32_t latency_cyc, uint64_t now)
{
    struct warp_op *op = &sm->op;
    switch ((enum warp_class)op->info->class) {
    case WARP_CLASS_LOAD:
    case WARP_CLASS_STORE:
    case WARP_CLASS_ATOMIC:
    case WARP_CLASS_REDUCTION:
    case WARP_CLASS_COPY_ASYNC:
    case WARP_CLASS_PREFETCH: memory_access(sm, warp, now); return now + 1;
    case WARP_CLASS_TEXTURE:
        if (op->mask && op->texel_count)
            lsu_issue(sm, warp, now);
        else /* all outside of the image */
            write_back(sm, warp, now + latency_cyc);
        return now + 1;
    case WARP_CLASS_CONTROL: return now + sm->spec->branch_latency_cyc;
    case WARP_CLASS_BARRIER: return now + sm->spec->barrier_latency_cyc;
    case WARP_CLASS_FENCE:
        if (op->info->scope >= WARP_SCOPE_GPU) gpu_fence(sm, warp, now);
        return now + 1;
    case WARP_CLASS_WAIT:
        if (!op->sleep_ns) return now + 1;
        sm->asleep |= bit_of(warp);
        return now + 1 + (uint64_t)(op->sleep_ns * sm->spec->clock_ghz);
    default: write_back(sm, warp, now + latency_cyc); return now + 1;
    }
}

/* An operation of a run: it has been executed. */
static inline void issue_of_run(struct sm *sm, struct sm_warp *w, uint32_t warp, uint64_t now)
{
    const struct warp_op_info *info = w->next;
    const uint64_t done = info->class != WARP_CLASS_LOAD ? now + w->class.latency_cyc
                          : info->space == WARP_SPACE_SHARED
                              ? use_banks(sm, *(sm->sources[warp].cycles - w->run), now)
                              : now + sm->spec->const_latency_cyc;
    uint32_t *const regs = sm_regs(sm, warp);
    for (uint32_t k = 0; k < info->dst_count; k++)
        regs[(w->reg_base + info->dst[k]) % SM_REGS] = short_cyc(done);
    sm->stats.warp_instructions++;
    sm->stats.thread_instructions += lanes_in(w->run_mask);
    const struct warp_op_info *next = --w->run ? info + 1 : w->after;
    if (__builtin_expect(!next, 0)) {
        sm_next(sm, warp, now + 1, now);
        return;
    }
    set_next(sm, warp, next);
    if (!w->run) set_outward(sm, warp, next);
    reconsider(sm, warp, now + 1, now);
}

/* One that is executed now. */
static __attribute__((noinline)) void issue_step(struct sm *sm, struct sm_warp *w, uint32_t warp,
                                                 uint32_t latency_cyc, uint64_t now)
{
    struct warp_next next;
    const struct sm_warp_source *source = &sm->sources[warp];
    *source->clock = now;
    const enum warp_step step = source->step(source->self, w->idx, &sm->op, &next);
    sm->stats.warp_instructions++;
    sm->stats.thread_instructions += lanes_in(sm->op.mask);
    const uint64_t earliest = execute(sm, warp, latency_cyc, now);
    if (__builtin_expect(*source->woken != 0, 0)) wake_others(sm, &sm->blocks[w->block], now);
    go_on(sm, warp, step, &next, earliest, now);
}

static inline void issue_warp(struct sm *sm, uint32_t scheduler, uint32_t warp, uint64_t now)
{
    struct sm_warp *w = &sm->warps[warp];
    const struct class_spec class = w->class;
    sm->ready[class.unit] &= ~bit_of(warp);
    sm->any_ready &= ~bit_of(warp);
    sm->last[scheduler] = (uint8_t)warp;
    sm->port_free[scheduler][class.unit] = short_cyc(now + class.interval_cyc);
    if (w->run)
        issue_of_run(sm, w, warp, now);
    else
        issue_step(sm, w, warp, class.latency_cyc, now);
}

/* ---- schedulers ---- */

static uint32_t oldest(const struct sm *sm, uint64_t candidates)
{
    const uint64_t *warps = sm->by_age; /* some block has a candidate */
    while (!(*warps & candidates)) warps++;
    return (uint32_t)__builtin_ctzll(*warps & candidates);
}

static inline uint32_t after_last(uint32_t last, uint64_t candidates)
{
    const uint64_t after = candidates & ~(uint64_t)1 << last;
    return (uint32_t)__builtin_ctzll(after ? after : candidates);
}

/* The active set: a warp that waits for memory leaves, a ready one comes in. */
static uint64_t active_of(struct sm *sm, uint32_t scheduler, uint64_t candidates)
{
    uint64_t active = sm->active[scheduler];
    active &= (sm->any_ready | sm->sleeping) & ~sm->asleep; /* neither waits nor has ended */
    for (uint64_t more = candidates & ~active; more; more &= more - 1) {
        if ((uint32_t)__builtin_popcountll(active) >= sm->spec->active_warps) break;
        active |= more & (~more + 1);
    }
    sm->active[scheduler] = active;
    return candidates & active;
}

static inline uint32_t pick(struct sm *sm, uint32_t scheduler, uint64_t candidates,
                            enum warp_scheduler policy)
{
    const uint32_t last = sm->last[scheduler];
    switch (policy) {
    case warp_scheduler_gto: return candidates & bit_of(last) ? last : oldest(sm, candidates);
    case warp_scheduler_lrr: return after_last(last, candidates);
    case warp_scheduler_two_level: {
        const uint64_t active = active_of(sm, scheduler, candidates);
        return active ? after_last(last, active) : UINT32_MAX;
    }
    case warp_scheduler_count: break;
    }
    return UINT32_MAX;
}

/* Warps of the scheduler whose port is free. */
static inline uint64_t candidates_of(const struct sm *sm, uint32_t scheduler, uint64_t now)
{
    const uint32_t *const port_free = sm->port_free[scheduler];
    uint64_t candidates = 0;
    for (uint32_t u = 0; u < UNIT_SHARED; u++)
        if (short_ahead(port_free[u], now) <= 0) candidates |= sm->ready[u];
    if (sm->ready[UNIT_SHARED] && sm->shared_free_cyc <= now && short_ahead(port_free[UNIT_SHARED], now) <= 0)
        candidates |= sm->ready[UNIT_SHARED];
    if (sm->ready[UNIT_MEMORY] && short_ahead(port_free[UNIT_MEMORY], now) <= 0 && lsu_has_room(sm))
        candidates |= sm->ready[UNIT_MEMORY];
    if (sm->ready[UNIT_TEXTURE] && short_ahead(port_free[UNIT_TEXTURE], now) <= 0 && lsu_has_room(sm))
        candidates |= sm->ready[UNIT_TEXTURE];
    return candidates & sm->mask_of[scheduler];
}

/* A warp that would be taken if every port were free is taken if its own is: only else are all ports looked
 * at. */
static inline uint32_t choose(struct sm *sm, uint32_t scheduler, uint64_t now, enum warp_scheduler policy)
{
    if (policy != warp_scheduler_two_level) {
        uint64_t ready = sm->any_ready & sm->mask_of[scheduler];
        if (sm->shared_free_cyc > now) ready &= ~sm->ready[UNIT_SHARED];
        if (!ready) return UINT32_MAX;
        const uint32_t first = pick(sm, scheduler, ready, policy) % SM_WARPS;
        const uint8_t unit = sm->warps[first].class.unit;
        if (unit < UNIT_MEMORY && short_ahead(sm->port_free[scheduler][unit], now) <= 0) return first;
    }
    const uint64_t candidates = candidates_of(sm, scheduler, now);
    return candidates ? pick(sm, scheduler, candidates, policy) : UINT32_MAX;
}

/* One copy of the loop per policy. */
static inline __attribute__((always_inline)) void issue_all(struct sm *sm, uint64_t now,
                                                            enum warp_scheduler policy)
{
    const uint32_t schedulers = sm->spec->schedulers;
    for (uint32_t k = 0; k < schedulers; k++) {
        if (!(sm->any_ready & sm->mask_of[k])) continue;
        const uint32_t warp = choose(sm, k, now, policy);
        if (warp == UINT32_MAX) continue;
        issue_warp(sm, k, warp, now);
        sm->issued |= 1u << k;
    }
}

void sm_issue(struct sm *sm, uint64_t now)
{
    if (sm->wheel_used >> now % SM_WHEEL & 1) wake_warps(sm, now);
    if (sm->wants_blocks) (void)sm_try_start(sm, now);
    if (!sm->any_ready) return;
    if (sm->any_ready == (sm->ready[UNIT_MEMORY] | sm->ready[UNIT_TEXTURE]) && !lsu_has_room(sm)) return;
    switch (sm->spec->policy) {
    case warp_scheduler_gto: issue_all(sm, now, warp_scheduler_gto); break;
    case warp_scheduler_lrr: issue_all(sm, now, warp_scheduler_lrr); break;
    case warp_scheduler_two_level: issue_all(sm, now, warp_scheduler_two_level); break;
    case warp_scheduler_count: break;
    }
}
