/* dram_refresh: all-bank refresh.
 *
 * Every tREFI the queue stops; when every open row may close, one precharge closes all (or each its own, as
 * it may), tRP later the refresh goes out and no bank opens for tRFC. Columns whose activate was sent (bank
 * slots) still go first.
 *
 * An idle channel is not woken: what was due meanwhile is caught up, with its true cycles, by the next step.
 */
#include "dram/dram_lists.h"

static bool any_open(const struct dram_channel *ch)
{
    for (uint32_t bank = 0; bank < ch->bank_count; bank++)
        if (ch->banks[bank].open_row != DRAM_NO_ROW) return true;
    return false;
}

/* When the rows may be closed: the first of them, or all. */
static uint64_t close_cyc(const struct dram_channel *ch)
{
    const bool each = ch->spec->refresh_closes_each;
    uint64_t cyc = each ? DRAM_NEVER : 0;
    for (const struct dram_bank *b = ch->banks, *end = b + ch->bank_count; b < end; b++)
        if (b->open_row != DRAM_NO_ROW && (b->pre_cyc < cyc) == each) cyc = b->pre_cyc;
    return cyc;
}

/* When the refresh may go out, all rows being closed. */
static uint64_t refresh_cyc(const struct dram_channel *ch)
{
    uint64_t cyc = 0;
    for (uint32_t bank = 0; bank < ch->bank_count; bank++) cyc = dram_max(cyc, ch->banks[bank].act_cyc);
    return cyc + ch->gap.act_bus -
           1; /* it is when an activate may start, act_bus - 1 cycles before it counts */
}

/* Cycle of the next refresh command in the present state; DRAM_NEVER while a bank slot holds a row open. */
DRAM_RARE static uint64_t command_cyc(const struct dram_channel *ch)
{
    if (ch->slot_mask) return DRAM_NEVER;
    /* not in the past: a bank slot may have held it up until this step */
    const uint64_t cyc = dram_max(dram_max(ch->refresh_due_cyc, ch->row_bus_cyc), ch->stepped_cyc);
    return dram_max(cyc, any_open(ch) ? close_cyc(ch) : refresh_cyc(ch));
}

static void close_bank(struct dram_channel *ch, uint64_t cyc, struct dram_bank *b)
{
    b->act_cyc = dram_max(b->act_cyc, cyc + ch->gap.pre_act);
    dram_row_closes(b, DRAM_ANY);
    dram_bank_changed(ch, b);
}

/* The first row that may be closed. */
static void close_one(struct dram_channel *ch, uint64_t cyc)
{
    uint32_t bank = 0;
    while (ch->banks[bank].open_row == DRAM_NO_ROW || ch->banks[bank].pre_cyc > cyc) bank++;
    ch->front.stats.precharges++;
    dram_log(ch, cyc, DRAM_PRE, bank, ch->banks[bank].open_row, 0);
    close_bank(ch, cyc, &ch->banks[bank]);
}

static void close_all(struct dram_channel *ch, uint64_t cyc)
{
    ch->front.stats.precharge_alls++;
    dram_log(ch, cyc, DRAM_PRE_ALL, 0, 0, 0);
    for (uint32_t bank = 0; bank < ch->bank_count; bank++)
        if (ch->banks[bank].open_row != DRAM_NO_ROW) close_bank(ch, cyc, &ch->banks[bank]);
}

static void close_rows(struct dram_channel *ch, uint64_t cyc)
{
    if (ch->spec->refresh_closes_each)
        close_one(ch, cyc);
    else
        close_all(ch, cyc);
    ch->row_bus_cyc = cyc + 1;
    ch->row_next_cyc = dram_max(ch->row_next_cyc, cyc + 1);
}

static void refresh_all(struct dram_channel *ch, uint64_t cyc)
{
    for (uint32_t bank = 0; bank < ch->bank_count; bank++) ch->banks[bank].act_cyc = cyc + ch->gap.ref_act;
    ch->row_bus_cyc = ch->row_next_cyc = cyc + 1;
    ch->refresh_due_cyc += ch->spec->trefi_cyc;
    ch->refresh_pending = false;
    ch->col_next_cyc = 0;
    ch->front.stats.refreshes++;
    dram_log(ch, cyc, DRAM_REF, 0, 0, 0);
}

/* All banks closed and idle long ago: the refreshes until 'upto' are all alike, so count them in one go. */
static void skip_idle(struct dram_channel *ch, uint64_t upto)
{
    const uint64_t refi = ch->spec->trefi_cyc;
    if (any_open(ch) || ch->wiring.log || upto < ch->refresh_due_cyc + 2 * refi) return;
    if (command_cyc(ch) != ch->refresh_due_cyc) return;
    const uint64_t skipped = (upto - ch->refresh_due_cyc) / refi - 1;
    ch->front.stats.refreshes += skipped;
    ch->refresh_due_cyc += skipped * refi;
}

DRAM_RARE void dram_refresh_run(struct dram_channel *ch, uint64_t upto)
{
    while (ch->refresh_due_cyc <= upto) {
        ch->refresh_pending = true;
        skip_idle(ch, upto);
        const uint64_t cyc = ch->refresh_cyc = command_cyc(ch);
        if (cyc > upto) return;
        if (any_open(ch))
            close_rows(ch, cyc);
        else
            refresh_all(ch, cyc);
    }
}

uint64_t dram_refresh_next(const struct dram_channel *ch)
{
    DIAG_ASSERT(ch->refresh_pending);
    return ch->refresh_cyc;
}
