/* dram_pick: first-ready, first-come first-served: which column goes next. Included by dram_channel.c
 * and dram_reads.h, so that the choice, made every busy cycle, is part of its hot path.
 *
 * The oldest column whose row is open and whose command is ready; columns whose own activate has just been
 * sent (bank slots) go before the rest. */
#ifndef ATOLL_DRAM_PICK_H
#define ATOLL_DRAM_PICK_H

#include "dram/dram_lists.h"

/* ---- in a plain channel ---- */

/* The oldest ready column of a kind as its side; the end of the list (age UINT64_MAX): none. */
static inline struct dram_side *oldest_ready(struct dram_channel *ch, uint64_t now, uint32_t kind,
                                             enum dram_path path)
{
    if (dram_chan_cyc(ch, kind) > now) return &ch->ready[kind];
    dram_hits_ready(ch, kind, now);
    struct dram_side *side = ch->ready[kind].after;
    if (path >= DRAM_LEAN || !ch->groups_columns) return side;
    while (side != &ch->ready[kind] && ch->col_group_cyc[kind][side->group] > now) side = side->after;
    return side;
}

/* The same of writes. One that has to let a read go first is not considered: that read, or one before it,
 * is, as it hits the same row. */
static inline struct dram_side *oldest_ready_write(struct dram_channel *ch, uint64_t now, enum dram_path path)
{
    struct dram_side *side = oldest_ready(ch, now, DRAM_WRITE, path);
    for (; side != &ch->ready[DRAM_WRITE]; side = side->after) {
        if (path < DRAM_LEAN && ch->groups_columns && ch->col_group_cyc[DRAM_WRITE][side->group] > now)
            continue;
        if (!side->hit->behind_read || !dram_read_before(ch, side->hit)) break;
    }
    return side;
}

/* No column of a kind can go before: exact unless it is a write that waits for a read. */
static inline uint64_t kind_cyc(const struct dram_channel *ch, uint32_t kind, enum dram_path path)
{
    const struct dram_side *end = &ch->ready[kind], *side = end->after;
    uint64_t cyc = 0;
    if (side == end) {
        cyc = ch->coming[kind].after->col_cyc;
    } else if (path < DRAM_LEAN && ch->groups_columns) {
        for (cyc = DRAM_NEVER; side != end; side = side->after)
            cyc = dram_min(cyc, ch->col_group_cyc[kind][side->group]);
        cyc = dram_min(cyc, ch->coming[kind].after->col_cyc);
    }
    return dram_max(cyc, dram_chan_cyc(ch, kind));
}

static inline uint64_t column_cyc(const struct dram_channel *ch, enum dram_path path)
{
    const uint64_t read = kind_cyc(ch, DRAM_READ, path);
    return ch->front.waiting_writes ? dram_min(read, kind_cyc(ch, DRAM_WRITE, path)) : read;
}

/* ---- in any channel ---- */

/* The column to serve now; NULL when none is ready. */
struct dram_pick {
    struct dram_entry *entry;
    struct dram_bank *bank;
    uint64_t seq;
    uint64_t next_cyc; /* of those not ready, the earliest */
    uint32_t ready_count;
};

static inline void consider(struct dram_pick *p, uint64_t now, uint64_t ready_cyc, struct dram_entry *e,
                            struct dram_bank *b)
{
    if (ready_cyc > now) {
        p->next_cyc = dram_min(p->next_cyc, ready_cyc);
        return;
    }
    p->ready_count++;
    if (e->seq < p->seq) {
        p->seq = e->seq;
        p->entry = e;
        p->bank = b;
    }
}

static inline void pick_from_slots(struct dram_channel *ch, uint64_t now, struct dram_pick *p)
{
    for (uint64_t banks = ch->slot_mask; banks; banks &= banks - 1) {
        struct dram_bank *b = &ch->banks[dram_first(banks)];
        struct dram_entry *read = b->slot->kind == DRAM_WRITE ? dram_read_before(ch, b->slot) : NULL;
        struct dram_entry *served = read ? read : b->slot;
        consider(p, now, dram_column_cyc(ch, served->kind, &b->side[served->kind]), served, b);
    }
}

/* While a request starves nothing younger in its bank uses the column bus. */
static inline bool is_before_starving(const struct dram_channel *ch, const struct dram_side *side,
                                      uint32_t kind)
{
    const struct dram_entry *e = ch->starving;
    return !e || side->hit == e || side != &ch->banks[dram_bank_of(e)].side[kind];
}

static inline void pick_from_list(struct dram_channel *ch, uint64_t now, uint32_t kind,
                                  const struct dram_side *end, struct dram_pick *p)
{
    for (struct dram_side *side = end->after; side != end; side = side->after) {
        struct dram_bank *b = dram_bank_with(side, kind);
        if (!is_before_starving(ch, side, kind) || dram_is_claimed(ch, b)) continue;
        const bool behind = kind == DRAM_WRITE && side->hit->behind_read;
        struct dram_entry *read = behind ? dram_read_before(ch, side->hit) : NULL;
        if (read)
            consider(p, now, dram_column_cyc(ch, DRAM_READ, &b->side[DRAM_READ]), read, b);
        else
            consider(p, now, dram_column_cyc(ch, kind, side), side->hit, b);
    }
}

/* While a request starves only its kind is served, so that the bus turns round to it. */
static inline void pick_from_queue(struct dram_channel *ch, uint64_t now, uint32_t kind, struct dram_pick *p)
{
    if (!(ch->kinds >> kind & 1) || (ch->starving && ch->starving->kind != kind)) return;
    if (ch->ready[kind].after == &ch->ready[kind] && ch->coming[kind].after == &ch->coming[kind]) return;
    if (dram_chan_cyc(ch, kind) > now) {
        p->next_cyc = dram_min(p->next_cyc, dram_chan_cyc(ch, kind));
        return;
    }
    pick_from_list(ch, now, kind, &ch->ready[kind], p);
    pick_from_list(ch, now, kind, &ch->coming[kind], p);
}

static inline struct dram_pick pick_column(struct dram_channel *ch, uint64_t now)
{
    struct dram_pick p = {.seq = UINT64_MAX, .next_cyc = DRAM_NEVER};
    dram_hits_ready(ch, DRAM_READ, now);
    dram_hits_ready(ch, DRAM_WRITE, now);
    if (ch->slot_mask) pick_from_slots(ch, now, &p);
    if (p.entry || ch->refresh_pending) return p;
    pick_from_queue(ch, now, DRAM_READ, &p);
    pick_from_queue(ch, now, DRAM_WRITE, &p);
    return p;
}

#endif
