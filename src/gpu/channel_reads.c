/* channel_reads: a channel in a window while nothing but reads waits in it.
 *
 *   memory bus ─► fill of the slice        one loop: step of the channel, completion, acceptance; what else
 * may slices in turn ─► queue of a bank      happen (writes, refresh, who starves) ends it for that cycle
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
    uint64_t until_cyc;
    uint64_t last_cyc; /* nothing special before the one after it */
};

/* What is special may have come nearer: after anything but plain reads. */
CHANNEL_HOT void look(struct run *r)
{
    const struct dram_channel *d = r->d;
    r->last_cyc = d->front.waiting_writes || !d->alarm_cyc ? 0 : dram_min(r->until_cyc, d->alarm_cyc - 1);
}

/* ---- out of the channel ---- */

CHANNEL_HOT void come_back(const struct run *r, uint64_t now, const struct dram_entry *e)
{
    struct dram_channel *const d = r->d;
    if (e->line != DRAM_NONE && !line_ends(d, e->line)) return;
    struct slice *const s = r->ch->slices[e->tag >> 48];
    const uint64_t done_cyc = now + d->gap.done[DRAM_READ];
    count_latency(s, (done_cyc - e->accept_cyc) * r->ch->ticks_per_cycle);
    come_in_window(s, (uint32_t)e->tag, (uint8_t)(e->tag >> 32), done_cyc * r->ch->ticks_per_cycle);
}

CHANNEL_HOT void step(const struct run *r, uint64_t now)
{
    struct dram_channel *const d = r->d;
    rows_before(d, now, DRAM_READS);
    const struct dram_entry *served = d->col_next_cyc <= now ? reads_column(d, now) : NULL;
    if (d->row_next_cyc <= now) row_command(d, now, DRAM_READS);
    if (!served) return;
    STATS_COUNT(d->front.stats.read_latency, now - served->accept_cyc + d->gap.done[DRAM_READ]);
    come_back(r, now, served);
    d->front.refused = false;
}

/* ---- into it ---- */

CHANNEL_HOT bool refuse(struct dram_channel *d)
{
    d->front.stats.refused++;
    d->front.refused = true;
    return false;
}

/* As another module would, whatever it is. */
static __attribute__((noinline)) struct dram_reads offer(struct channel *ch, struct dram_reads reads,
                                                         uint64_t now, uint32_t slice)
{
    dram_reads_end(ch->dram, &reads);
    ch->dram->stepped_cyc = now;
    (void)channel_offer(ch, now, now * ch->ticks_per_cycle, slice);
    return dram_reads_begin(ch->dram);
}

/* The same of all slices in turn. */
static __attribute__((noinline)) struct dram_reads offer_all(struct channel *ch, struct dram_reads reads,
                                                             uint64_t now)
{
    dram_reads_end(ch->dram, &reads);
    ch->dram->stepped_cyc = now;
    ch->pull(ch, now);
    return dram_reads_begin(ch->dram);
}

/* A read, for which there is room. */
CHANNEL_HOT void take_read(struct run *r, uint64_t now, uint64_t tick, uint32_t slice,
                           const struct memory_op *op)
{
    struct slice *const s = r->ch->slices[slice];
    if (reads_take(r->d, &r->reads, now, place(r->ch, op), op->column_count, pack(r->ch, slice, op))) look(r);
    accept_oldest(s, &s->own_lane, 0, tick);
}

CHANNEL_HOT const struct memory_op *oldest_of(const struct run *r, uint32_t slice)
{
    const struct lane_ops *const lane = &r->ch->slices[slice]->own_lane.ops;
    return &lane->ring[lane->head];
}

/* Those but the one whose turn it is, which comes after this one. */
CHANNEL_HOT void pull_others(struct run *r, uint64_t now, uint64_t tick, uint32_t slice)
{
    const uint32_t count = r->ch->wire.slice_count;
    uint32_t left = count - 1;
    do {
        if (++slice == count) slice = 0;
        if (!(*r->pending >> slice & 1)) continue;
        const struct memory_op *const op = oldest_of(r, slice);
        if (op->ready_tick > tick) continue;
        if (op->column_count > r->d->front.room[0]) {
            refuse(r->d);
            return;
        }
        r->reads = offer(r->ch, r->reads, now, slice);
        look(r);
    } while (--left && !r->d->front.refused);
}

/* As pull_each() of channel.c. */
CHANNEL_HOT void pull(struct run *r, uint64_t now)
{
    const uint64_t tick = now * r->ch->ticks_per_cycle;
    uint32_t slice = r->ch->turn;
    if (r->d->front.refused) return;
    if (*r->pending >> slice & 1) {
        const struct memory_op *const op = oldest_of(r, slice);
        if (op->tag_line == TAGS_NONE) {
            r->reads = offer_all(r->ch, r->reads, now);
            look(r);
            return;
        }
        if (op->ready_tick <= tick) {
            if (op->column_count > r->d->front.room[0]) {
                refuse(r->d);
                return;
            }
            take_read(r, now, tick, slice, op);
            if (++slice == r->ch->wire.slice_count) slice = 0;
            r->ch->turn = slice;
        }
    }
    if (*r->pending & ~((uint64_t)1 << slice)) pull_others(r, now, tick, slice);
}

/* ---- time ---- */

/* After a cycle: when slices have something that may be accepted, … */
CHANNEL_HOT uint64_t pull_due(const struct run *r, uint64_t now, uint64_t next)
{
    if (r->d->front.refused) return next;
    for (uint64_t left = *r->pending; left; left &= left - 1)
        next = dram_min(next, cycle_from(r->ch, lane_due(r->ch->lanes[__builtin_ctzll(left)])));
    return dram_max(next, now + 1);
}

/* … or anything is due, but for what is special. */
CHANNEL_HOT uint64_t next_due(const struct run *r, uint64_t now)
{
    const struct dram_channel *const d = r->d;
    const uint64_t row_cyc = d->row_next_cyc;
    return pull_due(r, now,
                    dram_min(d->col_next_cyc, row_cyc == DRAM_NEVER ? DRAM_NEVER : row_cyc + d->act_col_min));
}

uint64_t channel_work_reads(struct channel *ch, uint64_t until)
{
    struct dram_channel *const d = ch->dram;
    struct run r = {.ch = ch, .d = d, .pending = ch->wire.pending, .until_cyc = until};
    const uint64_t first_seq = d->next_seq;
    uint64_t next = ch->due_cyc, now;
    look(&r);
    if (FAULT_BUILD || !d->lean || d->in_turn || next > r.last_cyc) return next;
    r.reads = dram_reads_begin(d);
    do {
        now = next;
        step(&r, now);
        pull(&r, now);
        next = next_due(&r, now);
    } while (next <= r.last_cyc);
    dram_reads_end(d, &r.reads);
    d->stepped_cyc = now;
    d->front.next_cyc = d->front.stats.waiting ? dram_max(dram_due_cyc(d), now + 1) : DRAM_NEVER;
    if (d->next_seq != first_seq) engine_progress(ch->wire.engine);
    return ch->due_cyc = pull_due(&r, now, d->front.next_cyc);
}
