/* dram_refresh: all-bank refresh.
 *
 * Every tREFI the queue stops; when every open row may close, one precharge closes all (or each its own, as
 * it may), tRP later the refresh goes out and no bank opens for tRFC. Columns whose activate was sent (bank
 * slots) still go first.
 *
 * An idle channel is not woken: what was due meanwhile is caught up, with its true cycles, by the next step.
 */
#include "dram/dram_lists.h"

/* The next command on the way to a refresh. */
struct next {
    uint64_t cyc;             /* DRAM_NEVER while a bank slot holds a row open */
    struct dram_bank *closes; /* or all that are open; NULL: all are closed, it is the refresh itself */
};

static bool any_open(const struct dram_channel *ch)
{
    for (uint32_t bank = 0; bank < ch->bank_count; bank++)
        if (ch->banks[bank].open_row != DRAM_NO_ROW) return true;
    return false;
}

/* The first row that may be closed, from a cycle on. */
static struct next close_one_next(struct dram_channel *ch, uint64_t from_cyc)
{
    struct next next = {.cyc = DRAM_NEVER};
    for (struct dram_bank *b = ch->banks, *end = b + ch->bank_count; b < end; b++) {
        if (b->open_row == DRAM_NO_ROW || b->pre_cyc >= next.cyc) continue;
        next = (struct next){.cyc = b->pre_cyc, .closes = b};
        if (b->pre_cyc <= from_cyc) break;
    }
    next.cyc = dram_max(next.cyc, from_cyc);
    return next;
}

/* All rows at once. */
static struct next close_all_next(struct dram_channel *ch, uint64_t from_cyc)
{
    struct next next = {.cyc = from_cyc};
    for (struct dram_bank *b = ch->banks, *end = b + ch->bank_count; b < end; b++) {
        if (b->open_row == DRAM_NO_ROW) continue;
        next.closes = b;
        next.cyc = dram_max(next.cyc, b->pre_cyc);
    }
    return next;
}

/* When the refresh may go out, all rows being closed. */
static uint64_t refresh_cyc(const struct dram_channel *ch)
{
    uint64_t cyc = 0;
    for (uint32_t bank = 0; bank < ch->bank_count; bank++) cyc = dram_max(cyc, ch->banks[bank].act_cyc);
    return cyc + ch->gap.act_bus -
           1; /* it is when an activate may start, act_bus - 1 cycles before it counts */
}

/* In the present state. */
DRAM_RARE static struct next next_command(struct dram_channel *ch)
{
    if (ch->slot_mask) return (struct next){.cyc = DRAM_NEVER};
    /* not in the past: a bank slot may have held it up until this step */
    const uint64_t from_cyc = dram_max(
        dram_max(dram_max(ch->refresh_due_cyc, ch->row_bus_cyc), ch->stepped_cyc), ch->transfers_cyc);
    struct next next =
        ch->spec->refresh_closes_each ? close_one_next(ch, from_cyc) : close_all_next(ch, from_cyc);
    if (!next.closes) next.cyc = dram_max(from_cyc, refresh_cyc(ch));
    return next;
}

static void close_bank(struct dram_channel *ch, uint64_t cyc, struct dram_bank *b)
{
    b->act_cyc = dram_max(b->act_cyc, cyc + ch->gap.pre_act);
    dram_row_closes(b, DRAM_ANY);
    dram_bank_changed(ch, b);
}

static void close_one(struct dram_channel *ch, uint64_t cyc, struct dram_bank *b)
{
    ch->front.stats.precharges++;
    dram_log(ch, cyc, DRAM_PRE, (uint32_t)(b - ch->banks), b->open_row, 0);
    close_bank(ch, cyc, b);
}

static void close_all(struct dram_channel *ch, uint64_t cyc)
{
    ch->front.stats.precharge_alls++;
    dram_log(ch, cyc, DRAM_PRE_ALL, 0, 0, 0);
    for (uint32_t bank = 0; bank < ch->bank_count; bank++)
        if (ch->banks[bank].open_row != DRAM_NO_ROW) close_bank(ch, cyc, &ch->banks[bank]);
}

static void close_rows(struct dram_channel *ch, const struct next *next)
{
    if (ch->spec->refresh_closes_each)
        close_one(ch, next->cyc, next->closes);
    else
        close_all(ch, next->cyc);
    ch->row_bus_cyc = next->cyc + 1;
    ch->row_next_cyc = dram_max(ch->row_next_cyc, next->cyc + 1);
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
    if (upto < ch->refresh_due_cyc + 2 * refi || ch->wiring.log || any_open(ch)) return;
    if (next_command(ch).cyc != ch->refresh_due_cyc) return;
    const uint64_t skipped = (upto - ch->refresh_due_cyc) / refi - 1;
    ch->front.stats.refreshes += skipped;
    ch->refresh_due_cyc += skipped * refi;
}

DRAM_RARE void dram_refresh_run(struct dram_channel *ch, uint64_t upto)
{
    while (ch->refresh_due_cyc <= upto) {
        ch->refresh_pending = true;
        skip_idle(ch, upto);
        const struct next next = next_command(ch);
        ch->refresh_cyc = next.cyc;
        if (next.cyc > upto) return;
        if (next.closes)
            close_rows(ch, &next);
        else
            refresh_all(ch, next.cyc);
    }
}

uint64_t dram_refresh_next(const struct dram_channel *ch)
{
    DIAG_ASSERT(ch->refresh_pending);
    return ch->refresh_cyc;
}
