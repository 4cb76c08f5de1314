/* move: a resident block leaves an SM, or comes to one, with its context: registers and shared memory travel
 * as lines through the network, at most one per cycle.
 *
 *   told to stop ─► no issue ─► loads and stores end ─► context written ─► block_left()
 *   resume ─► slot taken ─► context read ─► warps go on
 *
 * ASSUMPTION: the driver keeps contexts in frames of their own (pages_place_context()), addressed without a TLB; a
 * context is all registers and all shared memory of the block. */
#include "sm/sm_private.h"

/* A block runs at least this long between moves, or it would do nothing but travel. */
enum { MOVE_LEAST_CYC = 1000 };

uint32_t sm_context_lines(const struct sm_kernel *k)
{
    return (uint32_t)(((uint64_t)k->registers_per_block * 4 + k->shared_per_block + LINE_BYTES - 1) /
                      LINE_BYTES);
}

uint32_t sm_context_lines_max(const struct sm_spec *spec)
{
    return (uint32_t)(((uint64_t)spec->registers * 4 + spec->shared_bytes + LINE_BYTES - 1) / LINE_BYTES);
}

static bool may_stop(const struct sm *sm, const struct sm_block *b)
{
    return b->used && b->warps_left && sm_kernel_of(sm, b)->block_left;
}

static bool stops_before(const struct sm *sm, enum sm_stop which, uint32_t a, uint32_t b)
{
    const struct sm_block *const x = &sm->blocks[a], *const y = &sm->blocks[b];
    if (which == SM_STOP_LONGEST && x->since_cyc != y->since_cyc) return x->since_cyc < y->since_cyc;
    return x->idx < y->idx;
}

bool sm_stop_block(struct sm *sm, enum sm_stop which, uint64_t first_line)
{
    const uint64_t now = engine_now(sm->wire.engine, sm->wire.domain);
    uint32_t first = UINT32_MAX;
    if (sm->move.state != MOVE_NONE) return false;
    for (uint32_t slot = 0; slot < SM_WARPS; slot++) {
        const struct sm_block *b = &sm->blocks[slot];
        if (!may_stop(sm, b) || (which == SM_STOP_OLDEST && now < b->since_cyc + MOVE_LEAST_CYC)) continue;
        if (first == UINT32_MAX || stops_before(sm, which, slot, first)) first = slot;
    }
    if (first == UINT32_MAX) return false;
    sm_all_changed(sm);
    sm->move = (struct move){.state = MOVE_STOPPING,
                             .slot = first,
                             .first_line = first_line,
                             .lines = sm_context_lines(sm_kernel_of(sm, &sm->blocks[first]))};
    sm->stopping = sm->blocks[first].warps;
    sm->held |= sm->any_ready & sm->stopping;
    sm->any_ready &= ~sm->stopping;
    engine_wake(sm->wire.engine, sm->component, now + 1);
    return true;
}

uint64_t sm_longest_since(const struct sm *sm)
{
    uint64_t since_cyc = UINT64_MAX;
    for (uint32_t slot = 0; sm->move.state == MOVE_NONE && slot < SM_WARPS; slot++)
        if (may_stop(sm, &sm->blocks[slot]) && sm->blocks[slot].since_cyc < since_cyc)
            since_cyc = sm->blocks[slot].since_cyc;
    return since_cyc;
}

bool sm_can_resume(const struct sm *sm, const struct sm_kernel *kernel)
{
    return sm_place_of(sm, kernel) < SM_KERNELS && sm->move.state == MOVE_NONE && sm_has_room(sm, kernel);
}

bool sm_resume_block(struct sm *sm, const struct sm_kernel *kernel, uint64_t block, struct warp_source source,
                     uint64_t *clock, uint64_t start_cyc, uint64_t first_line)
{
    const uint64_t now = engine_now(sm->wire.engine, sm->wire.domain);
    if (!sm_can_resume(sm, kernel)) return false;
    const uint32_t slot = sm_take_slot(sm, sm_place_of(sm, kernel), block, start_cyc, now);
    sm->blocks[slot].source = source;
    sm->blocks[slot].clock = clock;
    sm->move = (struct move){
        .state = MOVE_IN, .slot = slot, .first_line = first_line, .lines = sm_context_lines(kernel)};
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
    const struct line_access a = {.line = m->first_line + m->sent,
                                  .bytes = {UINT64_MAX, UINT64_MAX},
                                  .kind = m->state == MOVE_OUT ? REQUEST_WRITE : REQUEST_READ,
                                  .sectors = SECTORS_ALL,
                                  .conflict = 1,
                                  .flags = REQUEST_UNCACHED | REQUEST_CONTEXT,
                                  .place = sm->blocks[m->slot].place};
    mmu_place_context(sm->wire.mmu, pages_key(k->app, a.line >> (mmu_page_log2(sm->wire.mmu) - LINE_LOG2)));
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
    sm->wait_order &= ~gone;
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
    if (m->sent < m->lines && sm->hold != SM_DRAINS) send_line(sm, now);
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
