/* dram_sched: first-ready, first-come first-served: which command goes next.
 *
 * Column bus: the oldest column whose row is open and whose command is ready; columns whose own activate has
 * just been sent (bank slots) go before the rest. Row bus: the oldest ready activate or precharge; per bank
 * only the oldest queued column asks for one.
 *
 * When nothing is ready the pick functions leave the earliest cycle at which something will be in
 * col_next_cyc / row_next_cyc, which is what makes the channel event-driven. */
#include "dram/dram_state.h"

uint16_t dram_oldest_of(const struct dram_channel *ch, uint32_t bank)
{
    const uint16_t read = ch->kinds & 1u << DRAM_READ ? ch->banks[bank].list[DRAM_READ].head : DRAM_NONE;
    const uint16_t write = ch->kinds & 1u << DRAM_WRITE ? ch->banks[bank].list[DRAM_WRITE].head : DRAM_NONE;
    if (read == DRAM_NONE) return write;
    if (write == DRAM_NONE) return read;
    return ch->entries[read].seq < ch->entries[write].seq ? read : write;
}

/* May 'oldest', which misses the open row of its bank, close it? */
static bool may_close(const struct dram_channel *ch, uint32_t bank, uint16_t oldest)
{
    uint64_t hit_accept_cyc = DRAM_NEVER;
    for (uint32_t kind = 0; kind < 2; kind++) {
        const uint16_t hit = ch->banks[bank].hit[kind];
        if (ch->kinds >> kind & 1 && hit != DRAM_NONE)
            hit_accept_cyc = dram_min(hit_accept_cyc, ch->entries[hit].accept_cyc);
    }
    if (hit_accept_cyc == DRAM_NEVER || oldest == ch->starving) return true;
    if (ch->spec->close_rule == dram_close_when_older && hit_accept_cyc > ch->entries[oldest].accept_cyc)
        return true;
    return ch->spec->row_hit_cap && ch->banks[bank].columns_since_act >= ch->spec->row_hit_cap;
}

__attribute__((noinline)) void dram_bank_changed(struct dram_channel *ch, uint32_t bank)
{
    const uint64_t bit = dram_bit(bank);
    ch->act_mask &= ~bit;
    ch->pre_mask &= ~bit;
    const uint16_t oldest = dram_oldest_of(ch, bank);
    if (oldest == DRAM_NONE) return;
    const struct dram_entry *e = &ch->entries[oldest];
    if (!(ch->open_mask & bit)) {
        ch->act_mask |= bit;
        ch->banks[bank].row_seq = e->seq;
        ch->row_next_cyc = dram_min(ch->row_next_cyc, dram_activate_cyc(ch, bank));
    } else if (e->row != ch->banks[bank].open_row && !(ch->slot_mask & bit) && may_close(ch, bank, oldest)) {
        ch->pre_mask |= bit;
        ch->banks[bank].row_seq = e->seq;
        ch->row_next_cyc = dram_min(ch->row_next_cyc, ch->banks[bank].pre_cyc);
    }
}

void dram_hits_found(struct dram_channel *ch, uint32_t bank)
{
    for (uint32_t kind = 0; kind < 2; kind++) {
        uint16_t at = ch->banks[bank].list[kind].head;
        while (at != DRAM_NONE && ch->entries[at].row != ch->banks[bank].open_row) at = ch->entries[at].next;
        ch->banks[bank].hit[kind] = at;
        if (at == DRAM_NONE) continue;
        ch->hit_mask[kind] |= dram_bit(bank);
        ch->banks[bank].hit_seq[kind] = ch->entries[at].seq;
    }
}

/* ---- reads or writes? (split queue) ---- */

DRAM_RARE void dram_mode_change(struct dram_channel *ch)
{
    ch->mode = ch->mode == DRAM_READ ? DRAM_WRITE : DRAM_READ;
    ch->kinds = 1u << ch->mode;
    ch->stats.drains += ch->mode == DRAM_WRITE && ch->seen[DRAM_WRITE];
    ch->col_next_cyc = 0;
    ch->starving = DRAM_NONE;
    ch->starve_cyc = ch->spec->starvation_cyc ? 0 : DRAM_NEVER;
    uint64_t banks = ch->all_banks;
    for (; banks; banks &= banks - 1) dram_bank_changed(ch, dram_first(banks));
}

/* ---- starvation ---- */

DRAM_RARE void dram_starvation_look(struct dram_channel *ch, uint64_t now)
{
    uint16_t oldest = DRAM_NONE;
    for (uint64_t banks = ch->all_banks; banks; banks &= banks - 1) {
        const uint16_t e = dram_oldest_of(ch, dram_first(banks));
        if (e != DRAM_NONE && (oldest == DRAM_NONE || ch->entries[e].seq < ch->entries[oldest].seq))
            oldest = e;
    }
    if (oldest == DRAM_NONE) {
        ch->starve_cyc = DRAM_NEVER;
        return;
    }
    ch->starve_cyc = ch->entries[oldest].accept_cyc + ch->spec->starvation_cyc;
    if (now < ch->starve_cyc) return;
    ch->starving = oldest;
    ch->stats.starved++;
    ch->col_next_cyc = 0;
    dram_bank_changed(ch, ch->entries[oldest].bank);
}

/* What may use the column bus while a request starves: only its kind, so that the bus turns round to it, and
 * in its bank nothing younger. */
static uint64_t not_starving_others(const struct dram_channel *ch, uint32_t kind, uint64_t banks)
{
    if (ch->starving == DRAM_NONE) return banks;
    const struct dram_entry *e = &ch->entries[ch->starving];
    if (e->kind != kind) return 0;
    return ch->banks[e->bank].hit[kind] == ch->starving ? banks : banks & ~dram_bit(e->bank);
}

/* ---- the column bus ---- */

/* A write must not overtake an older read of its address: the read that it has to let go first, or DRAM_NONE.
 * That read hits the same open row, so it can be served in the write's place. */
DRAM_RARE static uint16_t read_before(struct dram_channel *ch, uint16_t write)
{
    struct dram_entry *w = &ch->entries[write];
    if (!w->behind_read) return DRAM_NONE;
    const struct dram_bank *b = &ch->banks[w->bank];
    for (uint16_t at = b->list[DRAM_READ].head; at != DRAM_NONE; at = ch->entries[at].next)
        if (ch->entries[at].seq < w->seq && ch->entries[at].key == w->key) return at;
    if (b->slot != DRAM_NONE && ch->entries[b->slot].seq < w->seq && ch->entries[b->slot].key == w->key)
        return b->slot;
    w->behind_read = false;
    return DRAM_NONE;
}

static inline void consider(struct dram_pick *p, uint64_t now, uint64_t ready_cyc, uint64_t seq,
                            uint16_t entry)
{
    if (ready_cyc > now) {
        p->next_cyc = dram_min(p->next_cyc, ready_cyc);
        return;
    }
    p->ready_count++;
    if (seq < p->seq) {
        p->seq = seq;
        p->entry = entry;
    }
}

static void pick_from_slots(struct dram_channel *ch, uint64_t now, struct dram_pick *p)
{
    for (uint64_t banks = ch->slot_mask; banks; banks &= banks - 1) {
        const uint32_t bank = dram_first(banks);
        const uint16_t at = ch->banks[bank].slot;
        const struct dram_entry *e = &ch->entries[at];
        const uint16_t read = e->kind == DRAM_WRITE ? read_before(ch, at) : DRAM_NONE;
        const uint16_t served = read == DRAM_NONE ? at : read;
        const struct dram_entry *s = &ch->entries[served];
        consider(p, now, dram_column_cyc(ch, s->kind, bank), s->seq, served);
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
            const uint16_t read = read_before(ch, b->hit[kind]);
            if (read != DRAM_NONE) {
                consider(p, now, dram_column_cyc(ch, DRAM_READ, bank), ch->entries[read].seq, read);
                continue;
            }
        }
        consider(p, now, ready_cyc, b->hit_seq[kind], b->hit[kind]);
    }
}

struct dram_pick dram_pick_column(struct dram_channel *ch, uint64_t now)
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

uint32_t dram_pick_row(struct dram_channel *ch, uint64_t now)
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
