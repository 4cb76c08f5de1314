/* dram_commands: what each command does to the banks. Included by dram_channel.c and dram_rows.h.
 *
 * Every function is compiled once per path, which is a constant: what cannot be costs nothing there. */
#ifndef ATOLL_DRAM_COMMANDS_H
#define ATOLL_DRAM_COMMANDS_H

#include "dram/dram_lists.h"

/* ---- column commands ---- */

static inline void raise_to(uint64_t *cyc, uint64_t to)
{
    if (*cyc < to) *cyc = to;
}

static inline void lower_to(uint64_t *cyc, uint64_t to)
{
    if (*cyc > to) *cyc = to;
}

/* Of its own kind a column is the latest, so nothing later can stand there; the turnaround from reads to
 * writes is the same in all groups. */
static inline void column_timing(struct dram_channel *ch, uint64_t now, uint32_t kind, struct dram_bank *b,
                                 enum dram_path path)
{
    const struct dram_gaps *gap = &ch->gap;
    const uint32_t group = b->side[kind].group;
    ch->col_own_cyc[kind] = now + gap->col_s[kind][kind];
    if (kind == DRAM_WRITE)
        raise_to(&ch->col_own_cyc[DRAM_READ], now + gap->col_s[DRAM_WRITE][DRAM_READ]);
    else if (path != DRAM_READS) /* there it follows from the other */
        ch->read_cyc = now;
    raise_to(&b->pre_cyc, now + gap->col_pre[kind]);
    if (path >= DRAM_LEAN || !ch->groups_columns) return;
    ch->col_group_cyc[kind][group] = now + gap->col_l[kind][kind];
    if (kind == DRAM_WRITE)
        raise_to(&ch->col_group_cyc[DRAM_READ][group], now + gap->col_l[DRAM_WRITE][DRAM_READ]);
}

#define WORD_OF(stat) (offsetof(struct dram_stats, stat) / sizeof(uint64_t))
_Static_assert(WORD_OF(row_misses) == WORD_OF(row_hits) + DRAM_MISS &&
                   WORD_OF(row_conflicts) == WORD_OF(row_hits) + DRAM_CONFLICT,
               "classes are counted by their number");

static inline void count_served(struct dram_channel *ch, uint64_t now, const struct dram_entry *e,
                                uint32_t kind)
{
    const uint64_t wait_cyc = now - e->accept_cyc;
    ((uint64_t *)&ch->front.stats)[WORD_OF(row_hits) + e->class]++;
    dram_count_leaving(ch, now, wait_cyc);
    ch->front.stats.wait_cyc += wait_cyc;
    if (kind == DRAM_READ) {
        const uint64_t latency_cyc = wait_cyc + ch->gap.done[DRAM_READ];
        ch->front.stats.column_reads++;
        ch->front.stats.read_latency_cyc += latency_cyc;
        STATS_COUNT(ch->front.stats.read_latency, latency_cyc);
    } else {
        ch->front.stats.column_writes++;
        ch->last_data_cyc = dram_max(ch->last_data_cyc, now);
        ch->filter[dram_filter_slot(e->key)]--;
        ch->front.waiting_writes--;
    }
}

DRAM_RARE static void no_longer_starving(struct dram_channel *ch)
{
    ch->starving = NULL;
    ch->starve_cyc = ch->starvation_cyc ? 0 : DRAM_NEVER;
    ch->col_next_cyc = 0;
}

/* A column of the open row has left: does the bank still want the same of the row bus? */
static inline void column_left(struct dram_channel *ch, uint32_t kind, struct dram_bank *b,
                               enum dram_path path)
{
    const struct dram_side *side = &b->side[kind];
    if (b->side[!kind].head || b->row_entry) {
        dram_bank_changed(ch, b);
    } else if (side->head == side->hit) {
        /* none at all, or one that the row serves */
    } else if (!side->hit && (path != DRAM_ANY || (!b->slot && ch->kinds >> kind & 1))) {
        dram_wish_close(ch, b, side->head);
        /* later than now, so not before the bus is free */
        lower_to(&ch->row_next_cyc, b->pre_cyc);
    } else {
        dram_bank_changed(ch, b);
    }
}

/* The entry is free from now on, but keeps what it holds until the next one is accepted. */
static DRAM_HOT inline void issue_column(struct dram_channel *ch, uint64_t now, struct dram_entry *e,
                                         uint32_t kind, struct dram_bank *b, enum dram_path path)
{
    const bool any = path == DRAM_ANY;
    struct dram_side *side = &b->side[kind];
    column_timing(ch, now, kind, b, path);
    b->columns_since_act++;
    if (any && ch->single_bus) {
        ch->row_bus_cyc = now + 1;
        raise_to(&ch->row_next_cyc, now + 1);
    }
    if (any && b->slot == e) {
        b->slot = NULL;
        ch->slot_mask &= ~dram_bit(dram_bank_of(e));
    } else {
        dram_unlink(side, e);
        if (!any || side->hit == e) dram_hit_next(side, b->open_row, e->next);
        ++*dram_room(ch, kind);
        if (any && ch->front.split) ch->seen[kind]--;
        if (any) ch->freed = true;
    }
    if (path < DRAM_LEAN && ch->wiring.log)
        dram_log(ch, now, kind == DRAM_READ ? DRAM_RD : DRAM_WR, dram_bank_of(e), dram_row(e),
                 dram_column(e));
    count_served(ch, now, e, kind);
    if (any && e == ch->starving) no_longer_starving(ch);
    e->next = ch->free_entries;
    ch->free_entries = e;
    column_left(ch, kind, b, path);
}

/* ---- row commands ---- */

/* Activate to activate: tRRD, and no five in tFAW. */
static inline void activate_timing(struct dram_channel *ch, uint64_t now, const struct dram_bank *b,
                                   enum dram_path path)
{
    ch->act_chan_cyc = now + ch->gap.act_act_s;
    if (path >= DRAM_LEAN) return;
    ch->act_group_cyc[b->side[0].group] = now + ch->gap.act_act_l;
    ch->act_four_cyc[ch->recent_act_idx] = now + ch->gap.act_four;
    ch->recent_act_idx = (ch->recent_act_idx + 1) % 4;
    raise_to(&ch->act_chan_cyc, ch->act_four_cyc[ch->recent_act_idx]);
}

/* The column whose activate it is waits in its bank from now on. */
static inline void fill_slot(struct dram_channel *ch, struct dram_bank *b, struct dram_entry *e)
{
    dram_unlink(&b->side[e->kind], e);
    b->slot = e;
    ch->slot_mask |= dram_bit(dram_bank_of(e));
    ++*dram_room(ch, e->kind);
    if (ch->front.split) ch->seen[e->kind]--;
    ch->freed = true;
    ch->col_next_cyc = dram_min(ch->col_next_cyc, b->side[e->kind].col_cyc);
}

/* The row has just been opened, the last of all to be ready but those that a transfer holds up. */
static inline void row_serves(struct dram_channel *ch, uint32_t kind, struct dram_bank *b,
                              struct dram_entry *first)
{
    struct dram_side *side = &b->side[kind];
    dram_hit_begins(ch, kind, side, first);
    lower_to(&ch->col_next_cyc, side->col_cyc);
}

static inline void first_hit(struct dram_channel *ch, uint32_t kind, struct dram_bank *b)
{
    struct dram_entry *e = b->side[kind].head;
    while (e && dram_row(e) != b->open_row) e = e->next;
    if (e) row_serves(ch, kind, b, e);
}

static inline void issue_activate(struct dram_channel *ch, uint64_t now, struct dram_bank *b,
                                  enum dram_path path)
{
    struct dram_entry *e = b->row_entry;
    b->act_cyc = now + ch->gap.act_act;
    activate_timing(ch, now, b, path);
    b->side[DRAM_READ].col_cyc = now + ch->gap.act_col[DRAM_READ];
    b->side[DRAM_WRITE].col_cyc = now + ch->gap.act_col[DRAM_WRITE];
    b->pre_cyc = now + ch->gap.act_pre; /* what held the row before it is over */
    ch->row_bus_cyc = now + ch->gap.act_bus;
    b->open_row = dram_row(e);
    b->columns_since_act = 0;
    if (e->class == DRAM_HIT) e->class = DRAM_MISS;
    ch->front.stats.activates++;
    if (path < DRAM_LEAN && ch->wiring.log)
        dram_log(ch, now, DRAM_ACT, dram_bank_of(e), dram_row(e), dram_column(e));
    /* Its oldest hits now, or holds the row open by its slot: nothing else is wanted of the row bus. */
    dram_wish_remove(b);
    if (path == DRAM_ANY && ch->slots) fill_slot(ch, b, e);
    if (path == DRAM_READS || (path != DRAM_ANY && !b->side[DRAM_WRITE].head)) {
        row_serves(ch, DRAM_READ, b, e); /* the oldest is a read */
    } else {
        first_hit(ch, DRAM_READ, b);
        first_hit(ch, DRAM_WRITE, b);
    }
}

static inline void issue_precharge(struct dram_channel *ch, uint64_t now, struct dram_bank *b,
                                   enum dram_path path)
{
    struct dram_entry *e = b->row_entry;
    raise_to(&b->act_cyc, now + ch->gap.pre_act);
    ch->row_bus_cyc = now + 1;
    if (path < DRAM_LEAN && ch->wiring.log) dram_log(ch, now, DRAM_PRE, dram_bank_of(e), b->open_row, 0);
    dram_row_closes(b, path);
    e->class = DRAM_CONFLICT;
    ch->front.stats.precharges++;
    dram_wish_leave(b);
    dram_opening_insert(ch, b);
}

#endif
