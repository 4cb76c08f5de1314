/* move: a resident block leaves an SM, or comes to one, with its context: registers and shared memory travel
 * as lines through the network, at most one per cycle.
 *
 *   told to stop ─► no issue ─► loads and stores end ─► context written ─► block_left()
 *   resume ─► slot taken ─► context read ─► warps go on
 *
 * ASSUMPTION: the driver keeps contexts in memory of the application's own address space, which has frames
 * whether or not pages are faulted in; a context is all registers and all shared memory of the block. */
#include "sm/sm_private.h"

/* A block runs at least this long between moves, or it would do nothing but travel. */
enum { MOVE_LEAST_CYC = 1000 };

static uint32_t context_lines(const struct sm_kernel *k)
{
    return (uint32_t)(((uint64_t)k->registers_per_block * 4 + k->shared_per_block + LINE_BYTES - 1) /
                      LINE_BYTES);
}

bool sm_stop_block(struct sm *sm)
{
    const uint64_t now = engine_now(sm->wire.engine, sm->wire.domain);
    uint32_t oldest = UINT32_MAX;
    if (sm->move.state != MOVE_NONE) return false;
    for (uint32_t slot = 0; slot < SM_WARPS; slot++) {
        const struct sm_block *b = &sm->blocks[slot];
        if (!b->used || !b->warps_left || now < b->since_cyc + MOVE_LEAST_CYC) continue;
        if (!sm_kernel_of(sm, b)->block_left) continue;
        if (oldest == UINT32_MAX || b->idx < sm->blocks[oldest].idx) oldest = slot;
    }
    if (oldest == UINT32_MAX) return false;
    sm_all_changed(sm);
    sm->move = (struct move){.state = MOVE_STOPPING,
                             .slot = oldest,
                             .lines = context_lines(sm_kernel_of(sm, &sm->blocks[oldest]))};
    sm->stopping = sm->blocks[oldest].warps;
    sm->held |= sm->any_ready & sm->stopping;
    sm->any_ready &= ~sm->stopping;
    engine_wake(sm->wire.engine, sm->component, now + 1);
    return true;
}

bool sm_can_resume(const struct sm *sm, const struct sm_kernel *kernel)
{
    return sm_place_of(sm, kernel) < SM_KERNELS && sm->move.state == MOVE_NONE && sm_has_room(sm, kernel);
}

bool sm_resume_block(struct sm *sm, const struct sm_kernel *kernel, uint64_t block, struct warp_source source,
                     uint64_t *clock, uint64_t start_cyc)
{
    const uint64_t now = engine_now(sm->wire.engine, sm->wire.domain);
    if (!sm_can_resume(sm, kernel)) return false;
    const uint32_t slot = sm_take_slot(sm, sm_place_of(sm, kernel), block, start_cyc, now);
    sm->blocks[slot].source = source;
    sm->blocks[slot].clock = clock;
    sm->move = (struct move){.state = MOVE_IN, .slot = slot, .lines = context_lines(kernel)};
    engine_wake(sm->wire.engine, sm->component, now + 1);
    return true;
}

/* Has everything that the block sent come back? */
static bool is_quiet(const struct sm *sm, const struct sm_block *b)
{
    if (b->loads) return false;
    for (uint64_t left = b->warps; left; left &= left - 1)
        if (sm->warps[__builtin_ctzll(left)].stores) return false;
    return true;
}

static void send_line(struct sm *sm, uint64_t now)
{
    struct move *m = &sm->move;
    const struct sm_kernel *k = sm_kernel_of(sm, &sm->blocks[m->slot]);
    const struct line_access a = {.line = k->context_line + sm->blocks[m->slot].idx * m->lines + m->sent,
                                  .bytes = {UINT64_MAX, UINT64_MAX},
                                  .kind = m->state == MOVE_OUT ? REQUEST_WRITE : REQUEST_READ,
                                  .sectors = SECTORS_ALL,
                                  .conflict = 1,
                                  .flags = REQUEST_UNCACHED,
                                  .place = sm->blocks[m->slot].place};
    mmu_place_for_driver(sm->wire.mmu, sm->wire.sm_idx,
                         pages_key(k->app, a.line >> (mmu_page_log2(sm->wire.mmu) - LINE_LOG2)));
    uint64_t *const blocked = sm->lsu_blocked;
    if (lsu_send(sm, &a, MOVE_OWNER, SECTORS_ALL, now)) {
        m->sent++;
        m->on_way++;
        sm->stats.context_lines++;
    }
    sm->lsu_blocked = blocked; /* of the memory pipe, not ours */
}

void move_line_done(struct sm *sm) { sm->move.on_way--; }

/* What was executed ahead and not issued goes with the block. */
void move_keep_runs(const struct sm *sm, const struct sm_block *b)
{
    for (uint64_t left = b->warps; left; left &= left - 1) {
        const struct sm_warp *w = &sm->warps[__builtin_ctzll(left)];
        if (!w->run) continue;
        const struct warp_next rest = {.info = w->next,
                                       .reg_base = w->reg_base,
                                       .run = w->run,
                                       .run_mask = w->run_mask,
                                       .after = w->after};
        b->source.keep(b->source.self, w->idx, &rest);
    }
}

static void leave(struct sm *sm, uint64_t now)
{
    struct sm_block *b = &sm->blocks[sm->move.slot];
    const struct sm_kernel *k = sm_kernel_of(sm, b);
    struct warp_source source = b->source;
    const uint64_t gone = b->warps;
    move_keep_runs(sm, b);
    sm_release_slot(sm, sm->move.slot, now);
    for (uint32_t slot = 0; slot < SM_WHEEL; slot++) sm->wheel[slot] &= ~gone;
    sm->sleeping &= ~gone;
    sm->far &= ~gone;
    sm->asleep &= ~gone;
    sm->wait_memory &= ~gone;
    sm->wait_barrier &= ~gone;
    sm->wait_fence &= ~gone;
    sm->held = sm->stopping = 0;
    sm_all_changed(sm);
    sm->move.state = MOVE_NONE;
    sm->stats.blocks_left++;
    k->block_left(k->self, sm->wire.sm_idx, b->idx, &source, b->start_cyc);
}

void move_step(struct sm *sm, uint64_t now)
{
    struct move *m = &sm->move;
    if (m->state == MOVE_STOPPING && is_quiet(sm, &sm->blocks[m->slot])) m->state = MOVE_OUT;
    if (m->state == MOVE_STOPPING) return;
    if (m->sent < m->lines) send_line(sm, now);
    if (m->sent < m->lines || m->on_way) return;
    if (m->state == MOVE_OUT) {
        leave(sm, now);
        return;
    }
    m->state = MOVE_NONE;
    sm->stats.blocks_came++;
    sm_all_changed(sm);
    /* The L1 may hold lines from before the block wrote them elsewhere. */
    sm_acquire(sm, FAULT_FIRES(move_invalidates_not), now);
    sm_start_warps(sm, m->slot, now);
}
