/* execute: an instruction that is executed when it issues, what it does to its warp and to others. */
#include "sm/scoreboard.h"

/* The source has told what comes next: where does the warp wait for it? */
static inline void go_on(struct sm *sm, struct sm_warp *w, uint32_t warp, enum warp_step step,
                         const struct warp_next *next, uint64_t earliest_cyc, uint64_t now)
{
    if (__builtin_expect(step != WARP_STEP_OP, 0)) {
        if (step == WARP_STEP_WAIT)
            sm->wait_barrier |= bit_of(warp);
        else
            sm_warp_done(sm, warp, now);
        return;
    }
    w->reg_base = next->reg_base;
    w->run = (uint8_t)next->run;
    if (next->run) {
        w->run_mask = next->run_mask;
        w->run_lanes = (uint8_t)lanes_in(next->run_mask);
        w->after = next->after;
        sm->sources[warp].cycles = next->cycles;
    }
    set_next(sm, w, bit_of(warp), next->info);
    set_outward(sm, warp, next->info);
    reconsider(sm, w, warp, earliest_cyc, now);
}

void sm_next(struct sm *sm, uint32_t warp, uint64_t earliest_cyc, uint64_t now)
{
    struct sm_warp *const w = sm_warp_at(sm, warp);
    const struct sm_block *b = &sm->blocks[w->block];
    struct warp_next next;
    sm_changed(sm, warp);
    const enum warp_step step = b->source.peek(b->source.self, w->idx, &next);
    go_on(sm, w, warp, step, &next, earliest_cyc, now);
}

void sm_wait_long(struct sm *sm, uint32_t warp, uint32_t ahead, uint64_t now)
{
    if (ahead < SM_FAR / 4) {
        sleep_until(sm, warp, now + ahead, now);
        return;
    }
    sm->warps[warp].ready_cyc = now + 1;
    sm->wait_memory |= bit_of(warp);
}

/* rdc.write back: what was stored before the fence has left the remote data cache of the GPU. */
static bool dirty_is_home(struct sm *sm, uint32_t warp, uint64_t now)
{
    struct organisation *const o = sm->wire.organisation;
    if (!o->dirty) return true;
    if (!sm->flush_cyc[warp]) {
        sm->flush_cyc[warp] = now + 1;
        organisation_flush(o, now);
    }
    return store_order_reached(o->dirty, sm->wire.sm_idx, sm->flush_cyc[warp] - 1, now);
}

static bool fence_reached(struct sm *sm, uint32_t warp, uint64_t now)
{
    return FAULT_FIRES(fence_waits_not) ||
           (store_order_reached(sm->wire.store_order, sm->wire.sm_idx, sm->fence_cyc[warp] - 1, now) &&
            dirty_is_home(sm, warp, now));
}

void sm_hold_fences(struct sm *sm, uint64_t ready, uint64_t now)
{
    for (; ready; ready &= ready - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctzll(ready);
        if (!sm->fence_cyc[warp]) {
            sm->fence_cyc[warp] = now + 1;
            sm->flush_cyc[warp] = 0;
        }
        if (fence_reached(sm, warp, now)) continue;
        sm->any_ready &= ~bit_of(warp);
        sm->wait_fence |= bit_of(warp);
        sm->wait_order |= bit_of(warp);
        sm->warps[warp].ready_cyc = now;
        sm_changed(sm, warp);
    }
}

void sm_recheck_fences(struct sm *sm, uint64_t now)
{
    store_order_forget(sm->wire.store_order, sm->wire.sm_idx);
    if (sm->wire.organisation->dirty) store_order_forget(sm->wire.organisation->dirty, sm->wire.sm_idx);
    for (uint64_t left = sm->wait_order; left; left &= left - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctzll(left);
        if (!fence_reached(sm, warp, now)) continue;
        sm->wait_order &= ~bit_of(warp);
        sm->wait_fence &= ~bit_of(warp);
        sm_wait_over(sm, warp, now);
    }
}

void sm_wait_over(struct sm *sm, uint32_t warp, uint64_t now)
{
    struct sm_warp *const w = sm_warp_at(sm, warp);
    sm_changed(sm, warp);
    reconsider(sm, w, warp, w->ready_cyc > now ? w->ready_cyc : now + 1, now);
}

static void write_back(struct sm *sm, uint32_t warp, uint64_t done)
{
    const struct warp_op *op = &sm->op;
    set_registers(&sm->warps[warp], op->info, op->reg_base, done);
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

void sm_check_release(const struct sm *sm, uint32_t warp, uint64_t now)
{
    const struct sm_warp *const w = &sm->warps[warp];
    check_release(sm->wire.check, sm->wire.sm_idx, warp, w->generation, now);
    if (sm->fence_cyc[warp])
        check_cumulative(sm->wire.check, sm->wire.sm_idx, sm->blocks[w->block].idx, sm->fence_cyc[warp] - 1,
                         now);
}

/* Its stores are acknowledged: the warp has waited for it. */
static void gpu_fence(struct sm *sm, uint32_t warp, uint64_t now)
{
    if (sm->wire.check) sm_check_release(sm, warp, now);
    sm->fence_cyc[warp] = 0;
    if (sm->spec->fence_invalidates) sm_acquire(sm, FAULT_FIRES(fence_invalidates_not), now);
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
    case WARP_CLASS_EXIT: sm_has_left(sm, warp); return now + 1;
    default: write_back(sm, warp, now + latency_cyc); return now + 1;
    }
}

/* One that is executed now. */
void sm_step(struct sm *sm, uint32_t warp, uint32_t latency_cyc, uint64_t now)
{
    struct sm_warp *const w = sm_warp_at(sm, warp);
    struct sm_warp_source *source = &sm->sources[warp];
    struct warp_next next;
    __asm__("" : "+r"(source)); /* as in sm_warp_at() */
    *source->clock = now;
    const enum warp_step step = source->step(source->self, w->idx, &sm->op, &next);
    sm->stats.thread_instructions += lanes_in(sm->op.mask);
    const uint64_t earliest = execute(sm, warp, latency_cyc, now);
    if (__builtin_expect(*source->woken != 0, 0)) wake_others(sm, &sm->blocks[w->block], now);
    go_on(sm, w, warp, step, &next, earliest, now);
}
