/* dram_rows: the row bus: which bank is opened or closed next. Included by dram_channel.c and dram_reads.h.
 */
#ifndef ATOLL_DRAM_ROWS_H
#define ATOLL_DRAM_ROWS_H

#include "dram/dram_commands.h"

/* The oldest bank that may be opened now; the end of the list: none, and *next_cyc says, as a lower bound,
 * when. */
static inline struct dram_bank *oldest_to_open(struct dram_channel *ch, uint64_t now, uint64_t *next_cyc,
                                               enum dram_path path)
{
    struct dram_bank *end = &ch->opening, *b = end->after;
    *next_cyc = DRAM_NEVER;
    if (ch->act_chan_cyc > now) {
        if (b != end) *next_cyc = ch->act_chan_cyc;
        return end;
    }
    if (path >= DRAM_LEAN) {
        for (; b->act_cyc > now; b = b->after) *next_cyc = dram_min(*next_cyc, b->act_cyc);
        return b;
    }
    for (; b != end; b = b->after) {
        const uint64_t cyc = dram_activate_cyc(ch, b);
        if (cyc <= now) break;
        *next_cyc = dram_min(*next_cyc, cyc);
    }
    return b;
}

/* The oldest of those that may be closed now, when the first of the list is one. */
static inline struct dram_bank *oldest_to_close(const struct dram_channel *ch, uint64_t now)
{
    struct dram_bank *oldest = ch->closing.after;
    for (struct dram_bank *b = oldest->after; b->pre_cyc <= now; b = b->after)
        if (b->row_seq < oldest->row_seq) oldest = b;
    return oldest;
}

/* The oldest ready activate or precharge; per bank only the oldest queued column asks for one. */
static DRAM_HOT inline void row_command(struct dram_channel *ch, uint64_t now, enum dram_path path)
{
    const struct dram_bank *end = &ch->opening;
    uint64_t act_cyc, pre_cyc = ch->closing.after->pre_cyc;
    struct dram_bank *opened = oldest_to_open(ch, now, &act_cyc, path);
    struct dram_bank *closed = pre_cyc <= now ? oldest_to_close(ch, now) : NULL;
    if (closed && closed->row_seq < opened->row_seq) {
        issue_precharge(ch, now, closed, path);
        act_cyc = opened != end ? 0 : dram_min(act_cyc, closed->act_cyc);
        pre_cyc = ch->closing.after->pre_cyc;
    } else if (opened != end) {
        issue_activate(ch, now, opened, path);
        act_cyc = end->after != end ? ch->act_chan_cyc : DRAM_NEVER;
    }
    ch->row_next_cyc = dram_max(dram_min(act_cyc, pre_cyc), ch->row_bus_cyc);
}

/* Row commands that were due between the last step and this one, each in its cycle: nobody outside notices
 * that they are late, as the queue changes only in cycles that are stepped. */
static DRAM_HOT inline void rows_before(struct dram_channel *ch, uint64_t now, enum dram_path path)
{
    for (uint64_t cyc; (cyc = ch->row_next_cyc) < now;) row_command(ch, cyc, path);
}

#endif
