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

/* What may use the column bus while a request starves: only its kind, so that the bus turns round to it, and
 * in its bank nothing younger. */
static inline uint64_t not_starving_others(const struct dram_channel *ch, uint32_t kind, uint64_t banks)
{
    if (ch->starving == DRAM_NONE) return banks;
    const struct dram_entry *e = &ch->entries[ch->starving];
    if (e->kind != kind) return 0;
    const uint32_t bank = dram_bank_of(e);
    return ch->banks[bank].hit[kind] == ch->starving ? banks : banks & ~dram_bit(bank);
}

static inline void consider(struct dram_pick *p, uint64_t now, uint64_t ready_cyc, uint64_t seq,
                            uint32_t kind, uint32_t bank, uint16_t entry)
{
    if (ready_cyc > now) {
        p->next_cyc = dram_min(p->next_cyc, ready_cyc);
        return;
    }
    p->ready_count++;
    if (seq < p->seq) {
        p->seq = seq;
        p->entry = entry;
        p->kind = kind;
        p->bank = bank;
    }
}

static inline void pick_from_slots(struct dram_channel *ch, uint64_t now, struct dram_pick *p)
{
    for (uint64_t banks = ch->slot_mask; banks; banks &= banks - 1) {
        const uint32_t bank = dram_first(banks);
        const uint16_t at = ch->banks[bank].slot;
        const struct dram_entry *e = &ch->entries[at];
        const uint16_t read = e->kind == DRAM_WRITE ? dram_read_before(ch, at) : DRAM_NONE;
        const uint16_t served = read == DRAM_NONE ? at : read;
        const struct dram_entry *s = &ch->entries[served];
        consider(p, now, dram_column_cyc(ch, s->kind, bank), s->seq, s->kind, bank, served);
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
        const uint32_t bank = dram_first(banks);
        const struct dram_bank *b = &ch->banks[bank];
        const uint64_t ready_cyc = dram_max(b->col_cyc[kind], ch->col_group_cyc[kind][b->group]);
        if (kind == DRAM_WRITE && ch->entries[b->hit[kind]].behind_read) {
            const uint16_t read = dram_read_before(ch, b->hit[kind]);
            if (read != DRAM_NONE) {
                consider(p, now, dram_column_cyc(ch, DRAM_READ, bank), ch->entries[read].seq, DRAM_READ, bank,
                         read);
                continue;
            }
        }
        consider(p, now, ready_cyc, b->hit_seq[kind], kind, bank, b->hit[kind]);
    }
}

static inline struct dram_pick pick_column(struct dram_channel *ch, uint64_t now, bool plain)
{
    struct dram_pick p = {.seq = UINT64_MAX, .next_cyc = DRAM_NEVER, .ready_count = 0, .entry = DRAM_NONE};
    if (plain) {
        pick_from_queue(ch, now, DRAM_READ, ch->hit_mask[DRAM_READ], &p);
        pick_from_queue(ch, now, DRAM_WRITE, ch->hit_mask[DRAM_WRITE], &p);
    } else {
        if (ch->slot_mask) pick_from_slots(ch, now, &p);
        if (p.entry != DRAM_NONE || ch->refresh_pending) return p;
        for (uint32_t kind = 0; kind < 2; kind++)
            if (ch->kinds >> kind & 1)
                pick_from_queue(ch, now, kind, not_starving_others(ch, kind, ch->hit_mask[kind]), &p);
    }
    return p;
}

/* ---- the row bus ---- */

/* The bank to open or close now; bank is DRAM_NONE when none is ready. */
struct dram_row_pick {
    uint64_t act_cyc, pre_cyc; /* when the next others are ready (lower bounds) */
    uint32_t bank;
    bool open;
};

static inline struct dram_row_pick pick_row(const struct dram_channel *ch, uint64_t now)
{
    struct dram_row_pick p = {.act_cyc = DRAM_NEVER, .pre_cyc = DRAM_NEVER, .bank = DRAM_NONE};
    uint64_t seq = UINT64_MAX;
    uint32_t bank = ch->banks[DRAM_OPENING].after;
    if (bank == DRAM_OPENING) {
    } else if (ch->act_chan_cyc > now) {
        p.act_cyc = ch->act_chan_cyc;
    } else {
        do {
            const struct dram_bank *b = &ch->banks[bank];
            const uint64_t ready_cyc = dram_max(b->act_cyc, ch->act_group_cyc[b->group]);
            p.act_cyc = dram_min(p.act_cyc, ready_cyc);
            if (ready_cyc <= now) {
                seq = b->row_seq;
                p.bank = bank;
                break;
            }
            bank = b->after;
        } while (bank != DRAM_OPENING);
    }
    for (bank = ch->banks[DRAM_CLOSING].after; bank != DRAM_CLOSING; bank = ch->banks[bank].after) {
        const struct dram_bank *b = &ch->banks[bank];
        if (b->pre_cyc > now) { /* and all after it */
            p.pre_cyc = dram_min(p.pre_cyc, b->pre_cyc);
            break;
        }
        if (b->row_seq < seq) {
            if (p.open) p.pre_cyc = 0; /* another one is ready too */
            seq = b->row_seq;
            p.bank = bank;
            p.open = true;
        } else {
            p.pre_cyc = 0;
        }
    }
    return p;
}

#endif
