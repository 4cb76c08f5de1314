/* channel_reads: a channel in a window while nothing but reads waits in it.
 *
 *   memory bus ─► fill of the slice
 *   slices in turn ─► queue of a bank
 *
 * One loop: step of the channel, completion, acceptance. What else may happen (writes, refresh, who starves)
 * ends it for that cycle.
 *
 * The same as work_next() of channel.c does in steps that do not know each other. */
#include "check/fault.h"
#include "dram/dram_reads.h"
#include "gpu/channel_private.h"
#include "llc/slice_memory.h"

struct run {
    struct channel *ch;
    struct dram_channel *d;
    struct dram_reads reads;
    const uint64_t *pending;
    uint32_t turn, slice_count;
    bool minds; /* one of the slices waits for room */
    uint64_t until_cyc;
    uint64_t last_cyc; /* nothing special before the one after it */
};

/* What is special may have come nearer: after anything but plain reads. */
CHANNEL_HOT void look(struct run *r)
{
    const struct dram_channel *d = r->d;
    r->last_cyc = d->front.waiting_writes || !d->alarm_cyc ? 0 : dram_min(r->until_cyc, d->alarm_cyc - 1);
}

/* The channel is as everybody else knows it, and is theirs for a while. */
CHANNEL_HOT void hand_over(const struct run *r, uint64_t now, bool full)
{
    dram_reads_end(r->d, &r->reads);
    r->d->stepped_cyc = now;
    r->d->front.refused = full;
    r->ch->turn = r->turn;
}

CHANNEL_HOT void take_over(struct run *r)
{
    r->reads = dram_reads_begin(r->d);
    r->turn = r->ch->turn;
    r->minds = false;
    for (uint32_t k = 0; k < r->slice_count; k++) r->minds |= minds_room(r->ch->slices[k]);
    look(r);
}

/* ---- out of the channel ---- */

/* When the fill of a read that is sent at a tick is there: as fill_cyc() of the slice. */
CHANNEL_HOT uint64_t back_cyc(const struct run *r, uint64_t tick)
{
    const struct channel_clock *const k = &r->ch->clock;
    const unsigned __int128 product =
        (unsigned __int128)(2 * tick + k->done_half_ticks) * k->cycles_per_half_tick;
    return (uint64_t)(product >> 64) + k->back_cyc;
}

CHANNEL_HOT void come_back(const struct run *r, uint64_t now, uint64_t tick, const struct dram_entry *e)
{
    struct dram_channel *const d = r->d;
    const uint64_t latency_cyc = now + d->gap.done[DRAM_READ] - e->accept_cyc;
    const struct channel_latency *const row =
        &r->ch->clock.latency[(uint32_t)__builtin_clzll(latency_cyc) ^ 63];
    d->front.stats.read_latency[row->own_bucket]++;
    d->front.stats.read_latency_cyc += latency_cyc;
    if (e->line != DRAM_NONE && !line_ends(d, e->line)) return;
    struct slice *const s = r->ch->slices[packed_slice(e->tag)];
    s->stats.memory_latency[row->bucket + (latency_cyc >= row->limit_cyc)]++;
    come_in_window(s, (uint32_t)e->tag, packed_sectors(r->ch, e->tag), back_cyc(r, tick));
}

CHANNEL_HOT const struct dram_entry *step(const struct run *r, uint64_t now)
{
    struct dram_channel *const d = r->d;
    rows_before(d, now, DRAM_READS);
    const struct dram_entry *served = d->col_next_cyc <= now ? reads_column(d, now) : NULL;
    if (d->row_next_cyc <= now) row_command(d, now, DRAM_READS);
    return served;
}

/* ---- into it ---- */

CHANNEL_HOT bool refuse(const struct run *r)
{
    r->d->front.stats.refused++;
    return true;
}

/* All slices in turn, whatever they have; the one whose turn it was has had it: all others. */
static __attribute__((noinline)) void pull_any(struct channel *ch, uint64_t now, bool others)
{
    uint32_t slice = ch->turn;
    if (!others) {
        ch->pull(ch, now);
        return;
    }
    for (uint32_t k = 1; k < ch->wire.slice_count && !dram_channel_full(ch->dram); k++) {
        if (++slice == ch->wire.slice_count) slice = 0;
        if (*ch->wire.pending >> slice & 1) (void)channel_offer(ch, now, now * ch->ticks_per_cycle, slice);
    }
}

CHANNEL_HOT const struct memory_op *oldest_of(const struct slice *s)
{
    return &s->own_lane.ops.ring[s->own_lane.ops.head];
}

CHANNEL_HOT bool is_due(const struct slice *s, uint64_t tick)
{
    return s->own_lane.ops.count && oldest_of(s)->ready_tick <= tick;
}

/* A read, for which there is room, of the slice whose turn it is. */
CHANNEL_HOT void take_read(struct run *r, uint64_t now, uint64_t tick, struct slice *s,
                           const struct memory_op *op)
{
    if (reads_take(r->d, now, place(r->ch, op), op->column_count, pack(r->turn, op))) look(r);
    drop_oldest(s, &s->own_lane, 0);
    if (__builtin_expect(r->minds, 0) && minds_room(s)) slice_tell_room(s, tick);
    if (++r->turn == r->slice_count) r->turn = 0;
}

/* Does one of those whose turn it is not have an operation that is due? taken: the turn has just passed from
 * this slice; of two it is then the other one. */
CHANNEL_HOT bool others_wait(const struct run *r, uint64_t tick, const struct slice *taken)
{
    if (taken && r->slice_count == 2) return is_due(taken, tick);
    uint64_t others = *r->pending & ~((uint64_t)1 << r->turn);
    for (; others; others &= others - 1)
        if (oldest_of(r->ch->slices[__builtin_ctzll(others)])->ready_tick <= tick) return true;
    return false;
}

/* As pull_each() of channel.c: one of the slice whose turn it is, then one of each of the others. True:
 * one was refused. */
CHANNEL_HOT bool pull(struct run *r, uint64_t now, uint64_t tick)
{
    const struct slice *taken = NULL;
    struct slice *const s = r->ch->slices[r->turn];
    bool any = false;
    if (is_due(s, tick)) {
        const struct memory_op *const op = oldest_of(s);
        any = op->tag_line == TAGS_NONE;
        if (op->column_count > r->d->front.room[0]) return refuse(r);
        if (!any) {
            take_read(r, now, tick, s, op);
            taken = s;
        }
    }
    if (!any) {
        if (!others_wait(r, tick, taken)) return false;
        if (!r->d->front.room[0]) return refuse(r);
    }
    hand_over(r, now, false);
    pull_any(r->ch, now, !any);
    take_over(r);
    return r->d->front.refused;
}

/* ---- time ---- */

/* After a cycle: when slices have something that may be accepted, … */
CHANNEL_HOT uint64_t pull_due(const struct run *r, uint64_t now, bool full, uint64_t next)
{
    if (full) return next;
    for (uint64_t left = *r->pending; left; left &= left - 1)
        next = dram_min(next, cycle_from(r->ch, lane_due(r->ch->lanes[__builtin_ctzll(left)])));
    return dram_max(next, now + 1);
}

/* … or anything is due, but for what is special. */
CHANNEL_HOT uint64_t next_due(const struct run *r, uint64_t now, bool full)
{
    const uint64_t row_cyc = r->d->row_next_cyc, col_cyc = r->d->col_next_cyc,
                   open_cyc = row_cyc + r->d->act_col_min;
    return pull_due(r, now, full, row_cyc < col_cyc && open_cyc < col_cyc ? open_cyc : col_cyc);
}

uint64_t channel_work_reads(struct channel *ch, uint64_t until)
{
    struct dram_channel *const d = ch->dram;
    struct run r = {.ch = ch,
                    .d = d,
                    .pending = ch->wire.pending,
                    .slice_count = ch->wire.slice_count,
                    .until_cyc = dram_min(until, ch->clock.exact_cyc)};
    const uint64_t first_seq = d->next_seq;
    uint64_t next = ch->due_cyc, now;
    bool full = d->front.refused;
    look(&r);
    if (FAULT_BUILD || !d->lean || d->in_turn || next > r.last_cyc) return next;
    take_over(&r);
    do {
        now = next;
        const uint64_t tick = now * ch->ticks_per_cycle;
        const struct dram_entry *const served = step(&r, now);
        if (served) {
            come_back(&r, now, tick, served);
            full = false;
        }
        if (!full) full = pull(&r, now, tick);
        next = next_due(&r, now, full);
    } while (next <= r.last_cyc);
    hand_over(&r, now, full);
    d->front.next_cyc = d->front.stats.waiting ? dram_max(dram_due_cyc(d), now + 1) : DRAM_NEVER;
    if (d->next_seq != first_seq) engine_progress(ch->wire.engine);
    return ch->due_cyc = pull_due(&r, now, full, d->front.next_cyc);
}

/* ---- building ---- */

void channel_clock_set(struct channel *ch)
{
    struct channel_clock *const k = &ch->clock;
    const uint64_t ticks_per_cycle = ch->ticks_per_cycle;
    const uint64_t slice_ticks_per_cycle = ch->wire.slice_spec->ticks_per_cycle;
    const uint32_t most = sizeof(((struct llc_stats *)0)->memory_latency) / sizeof(uint64_t) - 1;
    const uint32_t own_most = sizeof(((struct dram_stats *)0)->read_latency) / sizeof(uint64_t) - 1;
    /* Half ticks, as the clocks may be the same. The product is too large by less than a part of 2^63. */
    const uint64_t half = UINT64_C(1) << 63, exact_cyc = half / slice_ticks_per_cycle / ticks_per_cycle;
    const uint64_t spare_cyc = UINT64_C(1) << 20; /* to the end of data */
    k->cycles_per_half_tick = half / slice_ticks_per_cycle + 1;
    k->exact_cyc = exact_cyc > spare_cyc ? exact_cyc - spare_cyc : 0;
    k->back_cyc = ch->wire.slice_spec->back_cyc;
    k->done_half_ticks = 2 * (ch->dram->gap.done[DRAM_READ] * ticks_per_cycle + slice_ticks_per_cycle - 1);
    for (uint32_t log2 = 0; log2 < 64; log2++) {
        struct channel_latency *const row = &k->latency[log2];
        const unsigned __int128 least = ((unsigned __int128)1 << log2) * ticks_per_cycle;
        while (row->bucket < most && (unsigned __int128)slice_ticks_per_cycle << row->bucket <= least)
            row->bucket++;
        const unsigned __int128 limit = (unsigned __int128)slice_ticks_per_cycle << row->bucket;
        row->limit_cyc =
            row->bucket < most ? (uint64_t)((limit + ticks_per_cycle - 1) / ticks_per_cycle) : UINT64_MAX;
        row->own_bucket = log2 + 1 < own_most ? log2 + 1 : own_most;
    }
}
