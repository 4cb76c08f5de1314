/* sync: barriers of a block, instructions that wait for other lanes of the warp, mbarriers, fences.
 *
 * Arrival is counted in threads, so a barrier works when a warp reaches it in parts (as on hardware since
 * Volta). Threads that have ended are not waited for. With an explicit count, lanes that do not exist or have
 * ended are counted with the lowest lane of their warp that arrives, because counts are multiples of the warp
 * size. */
#include "exec/machine.h"

/* bar / barrier: what stands in insn.x.extra is a struct bar_site (lower.c). */
#include "exec/sites.h"

static void write_result(struct exec_warp *w, const struct split *s, const struct barrier *bar)
{
    const struct insn *i = s->pc;
    const struct bar_site *site = i->x.extra;
    if (site->kind != BAR_RED) return;
    uint8_t *frame = w->frames + s->frame;
    DIAG_ASSERT(!(i->d & REF_BASE));
    if (site->red == PTX_SUB_POPC) {
        uint32_t *d = (uint32_t *)(frame + i->d);
        FOR_LANES(lane, s->mask)
        d[lane] = bar->popc;
    } else {
        uint32_t *d = (uint32_t *)(frame + i->d);
        const bool value = site->red == PTX_SUB_AND ? bar->all : bar->any;
        *d = value ? *d | s->mask : *d & ~s->mask;
    }
}

static void release(struct exec_block *b, uint32_t id)
{
    struct barrier *bar = &b->barriers[id];
    for (uint32_t i = 0; i < b->warp_count; i++) {
        struct exec_warp *w = &b->warps[i];
        FOR_LANES(s, w->used)
        {
            struct split *split = &w->splits[s];
            if (split->state != SPLIT_BARRIER || split->barrier != id) continue;
            write_result(w, split, bar);
            split_wake(w, s, split->pc + 1);
            if (w->state == WARP_BLOCKED) {
                b->runnable |= 1u << i;
                b->woken |= (uint64_t)1 << i;
            }
        }
    }
    *bar = (struct barrier){.all = true};
    b->epoch++;
}

void barrier_check(struct exec_block *b, uint32_t id)
{
    const struct barrier *bar = &b->barriers[id];
    if (!bar->arrived || !bar->waiting) return;
    if (bar->arrived >= (bar->expected ? bar->expected : b->live_threads)) release(b, id);
}

const struct insn *h_bar(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    if (!mask) return i + 1;
    const struct bar_site *site = i->x.extra;
    struct exec_block *b = w->block;
    const uint32_t first = lowest_lane(mask);
    const uint32_t id = ((const uint32_t *)ref_at(w, i->a))[first];
    const uint32_t count = site->has_count ? ((const uint32_t *)ref_at(w, i->b))[first] : 0;
    if (id > 15) exec_fault(w, i, first, "barrier %u does not exist (0 to 15)", id);
    struct barrier *bar = &b->barriers[id];
    if (site->has_count && (count == 0 || count % 32))
        exec_fault(w, i, first, "barrier count %u is not a positive multiple of 32", count);
    if (bar->arrived && bar->expected != count)
        exec_fault(w, i, first, "barrier %u expects %u threads here, but %u where others wait", id, count,
                   bar->expected);
    /* A guard that lets some lanes pass: the others go on. */
    const uint32_t rest = w->mask & ~mask;
    bar->expected = count;
    b->barriers_used |= 1u << id;
    if (!bar->arrived) bar->all = true;
    bar->arrived += lanes_in(mask);
    if (count && (mask & w->live & -w->live)) bar->arrived += 32 - lanes_in(w->live);
    if (site->kind == BAR_RED) {
        uint32_t p = *(const uint32_t *)ref_at(w, i->c) ^ site->invert;
        p &= mask;
        bar->popc += lanes_in(p);
        bar->all = bar->all && p == mask;
        bar->any = bar->any || p;
    }
    if (site->kind == BAR_ARRIVE) {
        barrier_check(b, id);
        return i + 1;
    }
    bar->waiting += lanes_in(mask);
    if (rest)
        exec_fault(w, i, lowest_lane(rest), "a guarded barrier that only some lanes of the warp execute");
    split_wait(w, i, SPLIT_BARRIER, 0, id);
    barrier_check(b, id);
    return split_next(w);
}

/* ---- lanes of a warp that wait for each other ---- */

static void wake(struct exec_warp *w, uint32_t split)
{
    split_wake(w, split, w->splits[split].pc + 1);
    if (w->state == WARP_BLOCKED) {
        w->block->runnable |= 1u << w->idx;
        w->block->woken |= (uint64_t)1 << w->idx;
    }
}

/* Splits that wait with state `state` (at pc when given): their lanes and their numbers. */
static uint32_t waiting_lanes(const struct exec_warp *w, enum split_state state, const struct split *like,
                              uint32_t *splits)
{
    uint32_t lanes = 0;
    *splits = 0;
    FOR_LANES(s, w->used)
    {
        const struct split *split = &w->splits[s];
        if (split->state != state) continue;
        if (like && (split->pc != like->pc || split->frame != like->frame)) continue;
        lanes |= split->mask;
        *splits |= 1u << s;
    }
    return lanes;
}

/* Completes what has become complete: lanes ended or arrived. */
void sync_check(struct exec_warp *w)
{
    FOR_LANES(s, w->used)
    {
        struct split *split = &w->splits[s];
        uint32_t group;
        if (split->state == SPLIT_WARP_BARRIER) {
            const uint32_t lanes = waiting_lanes(w, SPLIT_WARP_BARRIER, NULL, &group);
            if (split->need & w->live & ~lanes) continue;
            const uint32_t need = split->need;
            w->sync_epoch++;
            FOR_LANES(g, group)
            if (w->splits[g].mask & need) wake(w, g);
        } else if (split->state == SPLIT_SYNC) {
            const uint32_t lanes = waiting_lanes(w, SPLIT_SYNC, split, &group);
            if (split->need & w->live & ~lanes) continue;
            const uint32_t frame = w->frame, mask = w->mask;
            uint8_t *base = w->base[0];
            w->frame = split->frame;
            w->base[0] = w->frames + split->frame;
            w->mask = lanes;
            collective_run(w, split->pc, lanes);
            w->frame = frame;
            w->base[0] = base;
            w->mask = mask;
            w->sync_epoch++;
            FOR_LANES(g, group)
            wake(w, g);
        }
    }
}

const struct insn *h_bar_warp(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    if (!mask) return i + 1;
    const uint32_t need = ((const uint32_t *)ref_at(w, i->a))[lowest_lane(mask)];
    if (!(need & w->live & ~mask) && mask == w->mask) {
        w->sync_epoch++;
        return i + 1;
    }
    if (w->mask & ~mask) return i + 1; /* guarded: lanes that skip it cannot be waited for */
    split_wait(w, i, SPLIT_WARP_BARRIER, need, 0);
    sync_check(w);
    return split_next(w);
}

/* shfl.sync, vote.sync, match.sync, redux.sync, elect.sync: i->x.extra is a struct collective_site. */
const struct insn *h_collective(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    if (!mask) return i + 1;
    const struct collective_site *site = i->x.extra;
    if (site->has_members) {
        const uint32_t need = ((const uint32_t *)ref_at(w, site->members))[lowest_lane(mask)];
        if (need & w->live & ~mask && mask == w->mask && w->divergent) {
            split_wait(w, i, SPLIT_SYNC, need, 0);
            sync_check(w);
            return split_next(w);
        }
        w->sync_epoch++;
    }
    return collective_run(w, i, mask);
}

const struct insn *collective_run(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct collective_site *site = i->x.extra;
    struct lanes_ctx ctx = site->ctx;
    uint32_t inverted;
    const void *a = ref_at(w, i->a);
    if (site->invert_a) {
        inverted = ~*(const uint32_t *)a;
        a = &inverted;
    }
    if (site->has_members) ctx.e = ref_at(w, site->members);
    ctx.d2 = site->has_d2 ? ref_at(w, site->d2) : NULL;
    i->lanes(ref_at(w, i->d), a, ref_at(w, i->b), ref_at(w, i->c), mask, &ctx);
    return i + 1;
}

const struct insn *h_fence(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    (void)w;
    (void)mask;
    return i + 1; /* every access is performed at once and in order */
}

const struct insn *h_nanosleep(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    if (mask) w->budget = 0;
    if (mask && w->divergent) return split_rotate(w, i + 1);
    return i + 1;
}
