/* channel_reads: a channel in a window while nothing but reads waits in it.
 *
 *   memory bus ─► fill of the slice        one loop: step of the channel, completion, acceptance; what else
 * may slices in turn ─► queue of a bank      happen (writes, refresh, who starves) ends it for that cycle
 *
 * The same as work_next() of channel.c does in steps that do not know each other. */
#include "check/fault.h"
#include "dram/dram_step.h"
#include "dram/dram_take.h"
#include "gpu/channel_private.h"
#include "llc/slice_memory.h"

/* ---- out of the channel ---- */

CHANNEL_HOT void come_back(const struct channel *ch, struct dram_channel *d, uint64_t now,
                           const struct dram_entry *e)
{
    if (e->line != DRAM_NONE && !line_ends(d, e->line)) return;
    struct slice *const s = ch->slices[e->tag >> 48];
    const uint64_t done_cyc = now + d->gap.done[DRAM_READ];
    count_latency(s, (done_cyc - e->accept_cyc) * ch->ticks_per_cycle);
    come_in_window(s, (uint32_t)e->tag, (uint8_t)(e->tag >> 32), done_cyc * ch->ticks_per_cycle);
}

CHANNEL_HOT void step(const struct channel *ch, struct dram_channel *d, uint64_t now)
{
    rows_before(d, now, DRAM_READS);
    d->stepped_cyc = now;
    const struct dram_entry *served = d->col_next_cyc <= now ? plain_column(d, now, DRAM_READS) : NULL;
    if (d->row_next_cyc <= now) row_command(d, now, DRAM_READS);
    if (!served) return;
    come_back(ch, d, now, served);
    d->front.refused = false;
}

/* ---- into it ---- */

/* The oldest operation of a slice, which has one. */
CHANNEL_HOT bool take_read(struct channel *ch, struct dram_channel *d, uint64_t now, uint64_t tick,
                           uint32_t slice)
{
    const struct lane_ops *lane = ch->lanes[slice];
    const struct memory_op *op = &lane->ring[lane->head];
    if (op->tag_line == TAGS_NONE) return channel_offer(ch, now, tick, slice);
    if (op->ready_tick > tick || dram_try_refuse(ch->dram, op->column_count)) return false;
    count_accepted(d, now, DRAM_READ, op->column_count);
    (void)take_now(d, now, DRAM_READ, place(ch, op), op->column_count, pack(ch, slice, op));
    struct slice *const s = ch->slices[slice];
    accept_oldest(s, &s->own_lane, 0, tick);
    return true;
}

/* Another one of those whose turn it is not. */
CHANNEL_HOT void offer_other(struct channel *ch, uint64_t now, uint64_t tick, uint32_t slice)
{
    const struct lane_ops *lane = ch->lanes[slice];
    const struct memory_op *op = &lane->ring[lane->head];
    if (op->ready_tick > tick || dram_try_refuse(ch->dram, op->column_count)) return;
    (void)channel_offer(ch, now, tick, slice);
}

/* As pull_each() of channel.c. */
CHANNEL_HOT void pull(struct channel *ch, struct dram_channel *d, uint64_t now)
{
    const uint64_t tick = now * ch->ticks_per_cycle;
    const uint32_t count = ch->wire.slice_count;
    uint32_t slice = ch->turn;
    if (d->front.refused) return;
    if (*ch->wire.pending >> slice & 1 && take_read(ch, d, now, tick, slice))
        ch->turn = slice = slice + 1 == count ? 0 : slice + 1;
    for (uint32_t k = 1; k < count && !d->front.refused && *ch->wire.pending; k++) {
        if (++slice == count) slice = 0;
        if (*ch->wire.pending >> slice & 1) offer_other(ch, now, tick, slice);
    }
}

/* ---- time ---- */

CHANNEL_HOT uint64_t next_due(const struct channel *ch, const struct dram_channel *d, uint64_t now)
{
    uint64_t next = d->front.stats.waiting ? dram_due_cyc(d) : DRAM_NEVER;
    for (uint64_t left = d->front.refused ? 0 : *ch->wire.pending; left; left &= left - 1)
        next = dram_min(next, cycle_from(ch, lane_due(ch->lanes[__builtin_ctzll(left)])));
    return dram_max(next, now + 1);
}

static inline bool is_quiet(const struct dram_channel *d, uint64_t cyc)
{
    return cyc < d->alarm_cyc && !d->front.waiting_writes;
}

uint64_t channel_work_reads(struct channel *ch, uint64_t until)
{
    struct dram_channel *const d = ch->dram;
    const uint64_t first_seq = d->next_seq;
    uint64_t cyc = ch->due_cyc;
    if (FAULT_BUILD || !d->lean || d->in_turn || cyc > until || !is_quiet(d, cyc)) return cyc;
    do {
        step(ch, d, cyc);
        pull(ch, d, cyc);
        cyc = next_due(ch, d, cyc);
    } while (cyc <= until && is_quiet(d, cyc));
    d->front.next_cyc = d->front.stats.waiting ? dram_due_cyc(d) : DRAM_NEVER;
    if (d->next_seq != first_seq) engine_progress(ch->wire.engine);
    return ch->due_cyc = cyc;
}
