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
    return ch->banks[e->bank].hit[kind] == ch->starving ? banks : banks & ~dram_bit(e->bank);
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

static inline void pick_from_queue(struct dram_channel *ch, uint64_t now, uint32_t kind, struct dram_pick *p)
{
    uint64_t banks = not_starving_others(ch, kind, ch->hit_mask[kind]);
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

static inline struct dram_pick pick_column(struct dram_channel *ch, uint64_t now)
{
    struct dram_pick p = {.seq = UINT64_MAX, .next_cyc = DRAM_NEVER, .ready_count = 0, .entry = DRAM_NONE};
    if (ch->slot_mask) pick_from_slots(ch, now, &p);
    if (p.entry == DRAM_NONE && !ch->refresh_pending) {
        if (ch->hit_mask[DRAM_READ] && ch->kinds & 1u << DRAM_READ) pick_from_queue(ch, now, DRAM_READ, &p);
        if (ch->hit_mask[DRAM_WRITE] && ch->kinds & 1u << DRAM_WRITE)
            pick_from_queue(ch, now, DRAM_WRITE, &p);
    }
    if (p.entry == DRAM_NONE) ch->col_next_cyc = p.next_cyc;
    return p;
}

/* ---- the row bus ---- */

static inline uint32_t pick_row(struct dram_channel *ch, uint64_t now)
{
    uint64_t next_cyc = DRAM_NEVER, seq = UINT64_MAX;
    uint32_t best = DRAM_NONE;
    uint64_t banks = ch->act_mask;
    if (banks && ch->act_chan_cyc > now) {
        next_cyc = ch->act_chan_cyc;
        banks = 0;
    }
    for (; banks; banks &= banks - 1) {
        const uint32_t bank = dram_first(banks);
        const uint64_t ready_cyc =
            dram_max(ch->banks[bank].act_cyc, ch->act_group_cyc[ch->banks[bank].group]);
        if (ready_cyc > now) {
            next_cyc = dram_min(next_cyc, ready_cyc);
        } else if (ch->banks[bank].row_seq < seq) {
            seq = ch->banks[bank].row_seq;
            best = bank;
        }
    }
    for (banks = ch->pre_mask; banks; banks &= banks - 1) {
        const uint32_t bank = dram_first(banks);
        if (ch->banks[bank].pre_cyc > now) {
            next_cyc = dram_min(next_cyc, ch->banks[bank].pre_cyc);
        } else if (ch->banks[bank].row_seq < seq) {
            seq = ch->banks[bank].row_seq;
            best = bank;
        }
    }
    if (best == DRAM_NONE) ch->row_next_cyc = next_cyc;
    return best;
}

#endif
