/* split: the lanes of a warp that part and meet again.
 *
 *      running split (mask, pc)          others of the same warp
 *           │ divergent branch             ▲   │ take turns: when the running one ends, waits or spins
 *           ├──► taken ──┐                 │   ▼
 *           └──► not ────┴──► join record at the immediate post-dominator: expected, arrived
 *                                 all arrived: one split again, of the record around it
 *
 * Invariants: the masks of the splits in use and the arrived lanes of the records are disjoint; together they
 * are the live lanes. A lane that is in a split or arrived at a record is expected by every record around it.
 *
 * Progress: lanes that have arrived are let go when nobody else can run (the others wait at a barrier or for
 * a member mask), or when the running lanes keep jumping back (a spin lock whose holder has arrived). How
 * long that takes (patience, in backward branches) halves each time, so code that needs it gets fast, and
 * code that does not keeps its lanes together. */
#include "exec/machine.h"

static uint32_t free_split(const struct exec_warp *w)
{
    DIAG_ASSERT(w->used != LANES_ALL);
    return (uint32_t)__builtin_ctz(~w->used);
}

static void note_divergence(struct exec_warp *w)
{
    w->divergent = (w->used & (w->used - 1)) != 0 || w->joins_used != 0;
}

/* Copies the running lanes' place into their split. */
static void park(struct exec_warp *w, const struct insn *pc)
{
    struct split *s = &w->splits[w->running];
    s->pc = pc;
    s->mask = w->mask;
    s->frame = w->frame;
    s->local = w->local_base;
}

static void load_join(struct exec_warp *w, int8_t join)
{
    if (join < 0) {
        w->join_pc = NULL;
    } else {
        w->join_pc = w->joins[join].pc;
        w->join_frame = w->joins[join].frame;
    }
}

static const struct insn *resume(struct exec_warp *w, uint32_t split)
{
    const struct split *s = &w->splits[split];
    w->running = (uint8_t)split;
    w->mask = s->mask;
    w->frame = s->frame;
    w->local_base = s->local;
    w->base[0] = w->frames + s->frame;
    load_join(w, s->join);
    w->state = WARP_RUNNING;
    note_divergence(w);
    return s->pc;
}

static uint32_t add_split(struct exec_warp *w, const struct insn *pc, uint32_t mask, uint32_t frame,
                          uint32_t local, int8_t join)
{
    const uint32_t at = free_split(w);
    w->used |= 1u << at;
    w->splits[at] = (struct split){.pc = pc, .mask = mask, .frame = frame, .local = local, .join = join};
    return at;
}

void split_start(struct exec_warp *w, const struct insn *pc, uint32_t lanes)
{
    w->used = 0;
    w->joins_used = 0;
    w->patience = w->patience_start = PATIENCE_START;
    w->live = w->present = lanes;
    w->pc = resume(w, add_split(w, pc, lanes, 0, 0, -1));
}

static uint32_t ready_splits(const struct exec_warp *w)
{
    uint32_t ready = 0;
    FOR_LANES(s, w->used)
    if (w->splits[s].state == SPLIT_READY) ready |= 1u << s;
    return ready;
}

/* Frees a record whose lanes all arrived or left; what arrived goes on as a split of the record around it. */
static void finish_join(struct exec_warp *w, uint32_t at)
{
    const struct join j = w->joins[at];
    w->joins_used &= ~((uint64_t)1 << at);
    if (j.arrived) add_split(w, j.pc, j.arrived, j.frame, j.local, j.parent);
}

/* Lets the lanes that wait at records go on without the others. Returns whether there were any. */
static bool release_joins(struct exec_warp *w)
{
    bool any = false;
    for (uint64_t left = w->joins_used; left; left &= left - 1) {
        struct join *j = &w->joins[__builtin_ctzll(left)];
        if (!j->arrived) continue;
        add_split(w, j->pc, j->arrived, j->frame, j->local, j->parent);
        j->expected &= ~j->arrived;
        j->arrived = 0;
        any = true;
    }
    return any;
}

/* Chooses among the ready splits, the one after the running one first. */
const struct insn *split_next(struct exec_warp *w)
{
    uint32_t ready = ready_splits(w);
    if (!ready && release_joins(w)) ready = ready_splits(w);
    if (!ready) {
        w->state = w->live ? WARP_BLOCKED : WARP_DONE;
        w->pc = NULL;
        return NULL;
    }
    const uint32_t after = ready & ~(((uint32_t)2 << w->running) - 1);
    return resume(w, (uint32_t)__builtin_ctz(after ? after : ready));
}

/* The running lanes jumped back too often while others of the warp could do something. */
const struct insn *split_rotate(struct exec_warp *w, const struct insn *pc)
{
    park(w, pc);
    if (release_joins(w) && w->patience_start > PATIENCE_LEAST) w->patience_start /= 2;
    w->patience = w->patience_start;
    const uint32_t others = ready_splits(w) & ~(1u << w->running);
    if (!others) {
        w->budget = 0; /* the rest of this warp waits for other warps */
        return resume(w, w->running);
    }
    return split_next(w);
}

static int8_t new_join(struct exec_warp *w, const struct insn *pc, uint32_t expected, int8_t parent)
{
    if (!pc || w->joins_used == UINT64_MAX) return -1;
    const uint32_t at = (uint32_t)__builtin_ctzll(~w->joins_used);
    w->joins_used |= (uint64_t)1 << at;
    w->joins[at] = (struct join){
        .pc = pc, .frame = w->frame, .local = w->local_base, .expected = expected, .parent = parent};
    return (int8_t)at;
}

/* The record of the running lanes at `join`, made when there is none; NULL: they meet nowhere in this
 * function. */
static struct join *join_at(struct exec_warp *w, const struct insn *join)
{
    struct split *s = &w->splits[w->running];
    if (!join) return NULL;
    if (w->join_pc == join && w->join_frame == w->frame) return &w->joins[s->join];
    const int8_t made = new_join(w, join, w->mask, s->join);
    if (made < 0) return NULL;
    s->join = made;
    load_join(w, made);
    return &w->joins[made];
}

/* taken is a proper part of the running lanes: they go to `to`, the others to `next`; both meet at `join`
 * (NULL: nowhere in this function). */
const struct insn *split_branch(struct exec_warp *w, uint32_t taken, const struct insn *to,
                                const struct insn *next, const struct insn *join)
{
    const uint32_t rest = w->mask & ~taken;
    struct join *j = join_at(w, join);
    w->divergent = true;
    if (j && to == join) {
        j->arrived |= taken;
        w->mask = rest;
        return next;
    }
    if (j && next == join) {
        j->arrived |= rest;
        w->mask = taken;
        return to;
    }
    /* The side that falls through runs first; the other waits in a split of its own. */
    add_split(w, to, taken, w->frame, w->local_base, w->splits[w->running].join);
    w->mask = rest;
    return next;
}

/* Every lane of mask has its own target (insn addresses); the other running lanes go to next. */
const struct insn *split_targets(struct exec_warp *w, const uint64_t *target, uint32_t mask,
                                 const struct insn *next, const struct insn *join)
{
    uint32_t left = mask;
    struct join *j = NULL;
    bool parted = false;
    while (left) {
        const uint64_t to = target[lowest_lane(left)];
        uint32_t same = 0;
        FOR_LANES(lane, left)
        if (target[lane] == to) same |= 1u << lane;
        left &= ~same;
        if (same == w->mask) return (const struct insn *)to;
        if (!parted) j = join_at(w, join);
        parted = w->divergent = true;
        if (j && (const struct insn *)to == join)
            j->arrived |= same;
        else
            add_split(w, (const struct insn *)to, same, w->frame, w->local_base, w->splits[w->running].join);
        w->mask &= ~same;
    }
    return next;
}

/* Some of the running lanes go to pc later, and meet the others at join. */
void split_off(struct exec_warp *w, uint32_t lanes, const struct insn *pc, const struct insn *join)
{
    DIAG_ASSERT(lanes && (w->mask & ~lanes));
    join_at(w, join);
    add_split(w, pc, lanes, w->frame, w->local_base, w->splits[w->running].join);
    w->mask &= ~lanes;
    w->divergent = true;
}

const struct insn *h_join(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    (void)mask;
    if (w->join_pc != i || w->join_frame != w->frame) return i + 1;
    struct split *s = &w->splits[w->running];
    struct join *j = &w->joins[s->join];
    j->arrived |= w->mask;
    if (j->arrived != j->expected) {
        w->used &= ~(1u << w->running);
        return split_next(w);
    }
    w->joins_used &= ~((uint64_t)1 << s->join);
    w->mask = j->expected;
    s->join = j->parent;
    load_join(w, s->join);
    note_divergence(w);
    return i; /* the record around it may meet here too */
}

void split_wait(struct exec_warp *w, const struct insn *pc, enum split_state state, uint32_t need,
                uint32_t barrier)
{
    park(w, pc);
    struct split *s = &w->splits[w->running];
    s->state = (uint8_t)state;
    s->need = need;
    s->barrier = (uint8_t)barrier;
}

void split_wake(struct exec_warp *w, uint32_t split, const struct insn *pc)
{
    w->splits[split].state = SPLIT_READY;
    w->splits[split].pc = pc;
}

/* Lanes of the running split end. */
const struct insn *split_exit(struct exec_warp *w, const struct insn *i, uint32_t lanes)
{
    w->live &= ~lanes;
    w->block->live_threads -= lanes_in(lanes);
    const int8_t innermost = w->splits[w->running].join;
    const uint32_t rest = w->mask & ~lanes;
    if (rest)
        w->mask = rest;
    else
        w->used &= ~(1u << w->running);
    for (int8_t at = innermost, parent; at >= 0; at = parent) {
        struct join *j = &w->joins[at];
        parent = j->parent;
        j->expected &= ~lanes;
        if (j->expected == j->arrived && (!rest || at != innermost)) finish_join(w, (uint32_t)at);
    }
    sync_check(w);
    for (uint32_t left = w->block->barriers_used; left; left &= left - 1)
        barrier_check(w->block, lowest_lane(left));
    if (rest) {
        note_divergence(w);
        return i + 1;
    }
    return split_next(w);
}
