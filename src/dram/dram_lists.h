/* dram_lists: the lists of a channel (see dram_state.h): columns of a bank, banks that want something of the
 * row bus, sides of banks whose open row serves a column. Lists of banks and sides are rings; the end stands
 * in the channel and holds values that stop a search. */
#ifndef ATOLL_DRAM_LISTS_H
#define ATOLL_DRAM_LISTS_H

#include "dram/dram_state.h"

/* ---- columns of one kind of a bank ---- */

static inline void dram_append(struct dram_side *side, struct dram_entry *e)
{
    e->next = NULL;
    e->from = side->end;
    *side->end = e;
    side->end = &e->next;
}

static inline void dram_unlink(struct dram_side *side, const struct dram_entry *e)
{
    struct dram_entry *next = e->next, **from = e->from;
    *from = next;
    *(next ? &next->from : &side->end) = from;
}

/* ---- banks that want to be opened or closed ---- */

static inline void dram_wish_enter(struct dram_bank *b, struct dram_bank *after)
{
    struct dram_bank *before = after->before;
    b->before = before;
    b->after = after;
    before->after = after->before = b;
}

static inline void dram_wish_leave(const struct dram_bank *b)
{
    struct dram_bank *before = b->before, *after = b->after;
    before->after = after;
    after->before = before;
}

static inline void dram_wish_remove(struct dram_bank *b)
{
    dram_wish_leave(b);
    b->row_entry = NULL;
}

/* A row command may be due from that cycle on. */
static inline void dram_row_may(struct dram_channel *ch, uint64_t cyc)
{
    ch->row_next_cyc = dram_min(ch->row_next_cyc, dram_max(cyc, ch->row_bus_cyc));
}

/* As old as its row_seq says. */
static inline void dram_opening_insert(struct dram_channel *ch, struct dram_bank *b)
{
    struct dram_bank *after = ch->opening.after;
    while (after->row_seq < b->row_seq) after = after->after;
    dram_wish_enter(b, after);
}

static inline void dram_wish_open(struct dram_channel *ch, struct dram_bank *b, struct dram_entry *by)
{
    b->row_entry = by;
    b->row_seq = by->seq;
    dram_opening_insert(ch, b);
}

/* Searched from the end: it is seldom before those that have waited. The end of the list, which holds
 * UINT64_MAX, is below all as a signed number. */
static inline void dram_wish_close(struct dram_channel *ch, struct dram_bank *b, struct dram_entry *by)
{
    const uint64_t pre_cyc = b->pre_cyc;
    struct dram_bank *before = ch->closing.before;
    while ((int64_t)before->pre_cyc > (int64_t)pre_cyc) before = before->before;
    dram_wish_enter(b, before->after);
    b->row_entry = by;
    b->row_seq = by->seq;
}

/* ---- sides that the open row serves ---- */

static inline struct dram_bank *dram_bank_with(struct dram_side *side, uint32_t kind)
{
    return (struct dram_bank *)(side - kind);
}

static inline void dram_side_insert(struct dram_side *side, struct dram_side *after)
{
    struct dram_side *before = after->before;
    side->before = before;
    side->after = after;
    before->after = after->before = side;
}

static inline void dram_side_remove(const struct dram_side *side)
{
    struct dram_side *before = side->before, *after = side->after;
    before->after = after;
    after->before = before;
}

static inline void dram_hit_begins_before(struct dram_side *side, struct dram_side *after,
                                          struct dram_entry *hit)
{
    dram_side_insert(side, after);
    side->hit = hit;
}

/* The open row serves a column of this kind, and served none before. */
static inline void dram_hit_begins(struct dram_channel *ch, uint32_t kind, struct dram_side *side,
                                   struct dram_entry *hit)
{
    const struct dram_side *end = &ch->coming[kind];
    struct dram_side *before = end->before;
    while (before != end && before->col_cyc > side->col_cyc) before = before->before;
    dram_hit_begins_before(side, before->after, hit);
}

static inline void dram_hit_ends(struct dram_side *side)
{
    dram_side_remove(side);
    side->hit = NULL;
}

static inline void dram_row_closes(struct dram_bank *b, enum dram_path path)
{
    b->open_row = DRAM_NO_ROW;
    if (b->side[DRAM_READ].hit) dram_hit_ends(&b->side[DRAM_READ]);
    if (path != DRAM_READS && b->side[DRAM_WRITE].hit) dram_hit_ends(&b->side[DRAM_WRITE]);
}

static inline void dram_ready_insert(struct dram_side *side, struct dram_side *after)
{
    while (after->seq < side->seq) after = after->after;
    dram_side_insert(side, after);
}

/* Those whose row is open by now may be served. */
static inline void dram_hits_ready(struct dram_channel *ch, uint32_t kind, uint64_t now)
{
    for (struct dram_side *side; (side = ch->coming[kind].after)->col_cyc <= now;) {
        dram_side_remove(side);
        side->seq = side->hit->seq;
        dram_ready_insert(side, ch->ready[kind].after);
    }
}

/* The hit of a ready side was served: the next one of its row, from this entry on. */
static inline void dram_hit_next(struct dram_side *side, uint32_t row, struct dram_entry *from)
{
    while (from && dram_row(from) != row) from = from->next;
    if (!from) {
        dram_hit_ends(side);
        return;
    }
    side->hit = from;
    side->seq = from->seq;
    if (side->after->seq > side->seq) return;
    dram_side_remove(side);
    dram_ready_insert(side, side->after);
}

#endif
