/* dram_pick: first-ready, first-come first-served: which command goes next. Included by dram_channel.c only,
 * so that the choice, made every busy cycle, is part of its hot path.
 *
 * Column bus: the oldest column whose row is open and whose command is ready; columns whose own activate has
 * just been sent (bank slots) go before the rest. Row bus: the oldest ready activate or precharge; per bank
 * only the oldest queued column asks for one.
 *
 * When nothing is ready the pick functions leave the earliest cycle at which something will be in
 * col_next_cyc / row_next_cyc, which is what makes the channel event-driven. */
#ifndef ATOLL_DRAM_PICK_H
#define ATOLL_DRAM_PICK_H

#include "dram/dram_state.h"

/* The column to serve now; NULL when none is ready. */
struct dram_pick {
    struct dram_entry *entry;
    struct dram_bank *bank;
    uint64_t seq;
    uint64_t next_cyc; /* of those not ready, the earliest */
    uint32_t ready_count;
};

/* What may use the column bus while a request starves: only its kind, so that the bus turns round to it, and
 * in its bank nothing younger. */
static inline uint64_t not_starving_others(const struct dram_channel *ch, uint32_t kind, uint64_t banks)
{
    const struct dram_entry *e = ch->starving;
    if (!e) return banks;
    if (e->kind != kind) return 0;
    const struct dram_bank *b = &ch->banks[dram_bank_of(e)];
    return b->side[kind].hit == e ? banks : banks & ~b->bit;
}

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
        consider(p, now, dram_column_cyc(ch, served->kind, b), served, b);
    }
}

static inline void pick_from_queue(struct dram_channel *ch, uint64_t now, uint32_t kind, uint64_t banks,
                                   struct dram_pick *p)
{
    if (!banks) return;
    if (ch->col_chan_cyc[kind] > now) {
        p->next_cyc = dram_min(p->next_cyc, ch->col_chan_cyc[kind]);
        return;
    }
    for (; banks; banks &= banks - 1) {
        struct dram_bank *b = &ch->banks[dram_first(banks)];
        const struct dram_side *side = &b->side[kind];
        if (kind == DRAM_WRITE && side->hit->behind_read) {
            struct dram_entry *read = dram_read_before(ch, side->hit);
            if (read) {
                consider(p, now, dram_column_cyc(ch, DRAM_READ, b), read, b);
                continue;
            }
        }
        consider(p, now, dram_max(side->col_cyc, ch->col_group_cyc[kind][b->group]), side->hit, b);
    }
}

static inline struct dram_pick pick_column(struct dram_channel *ch, uint64_t now, bool plain)
{
    struct dram_pick p = {.seq = UINT64_MAX, .next_cyc = DRAM_NEVER};
    uint64_t reads = ch->hit_mask[DRAM_READ], writes = ch->hit_mask[DRAM_WRITE];
    if (!plain) {
        if (ch->slot_mask) pick_from_slots(ch, now, &p);
        if (p.entry || ch->refresh_pending) return p;
        reads = ch->kinds & 1u << DRAM_READ ? not_starving_others(ch, DRAM_READ, reads) : 0;
        writes = ch->kinds & 1u << DRAM_WRITE ? not_starving_others(ch, DRAM_WRITE, writes) : 0;
    }
    pick_from_queue(ch, now, DRAM_READ, reads, &p);
    pick_from_queue(ch, now, DRAM_WRITE, writes, &p);
    return p;
}

/* ---- the row bus ---- */

/* The bank to open or close now; NULL when none is ready. */
struct dram_row_pick {
    struct dram_bank *bank;
    uint64_t act_cyc, pre_cyc; /* when the next others are ready (lower bounds) */
    bool open;
};

static inline struct dram_row_pick pick_row(struct dram_channel *ch, uint64_t now)
{
    struct dram_row_pick p = {.act_cyc = DRAM_NEVER, .pre_cyc = DRAM_NEVER};
    uint64_t seq = UINT64_MAX;
    uint32_t bank = ch->banks[DRAM_OPENING].after;
    if (bank == DRAM_OPENING) {
        /* none wants to be opened */
    } else if (ch->act_chan_cyc > now) {
        p.act_cyc = ch->act_chan_cyc;
    } else {
        do {
            struct dram_bank *b = &ch->banks[bank];
            const uint64_t ready_cyc = dram_max(b->act_cyc, ch->act_group_cyc[b->group]);
            p.act_cyc = dram_min(p.act_cyc, ready_cyc);
            if (ready_cyc <= now) {
                seq = b->row_seq;
                p.bank = b;
                break;
            }
            bank = b->after;
        } while (bank != DRAM_OPENING);
    }
    for (bank = ch->banks[DRAM_CLOSING].after; bank != DRAM_CLOSING; bank = ch->banks[bank].after) {
        struct dram_bank *b = &ch->banks[bank];
        if (b->pre_cyc > now) { /* and all after it */
            p.pre_cyc = dram_min(p.pre_cyc, b->pre_cyc);
            break;
        }
        if (b->row_seq > seq || p.open) p.pre_cyc = 0; /* another one is ready too */
        if (b->row_seq > seq) continue;
        seq = b->row_seq;
        p.bank = b;
        p.open = true;
    }
    return p;
}

#endif
