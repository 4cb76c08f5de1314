/* dram_sched: what the scheduler knows of each bank, kept up to date: what its oldest column wants of the row
 * bus, which columns its open row serves; reads or writes next; who starves. The choice itself is
 * dram_pick.h. */
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
    return ch->row_hit_cap && ch->banks[bank].columns_since_act >= ch->row_hit_cap;
}

__attribute__((noinline)) void dram_bank_changed(struct dram_channel *ch, uint32_t bank)
{
    const struct dram_bank *b = &ch->banks[bank];
    if ((ch->act_mask | ch->pre_mask) & b->bit) {
        dram_wish_remove(ch->banks, bank);
        ch->act_mask &= ~b->bit;
        ch->pre_mask &= ~b->bit;
    }
    const uint16_t oldest = dram_oldest_of(ch, bank);
    if (oldest == DRAM_NONE) return;
    const struct dram_entry *e = &ch->entries[oldest];
    if (!(ch->open_mask & b->bit)) {
        dram_wish_open(ch, bank, oldest, e->seq);
        ch->row_next_cyc = dram_min(ch->row_next_cyc, dram_activate_cyc(ch, bank));
    } else if (dram_row(e) != b->open_row && !(ch->slot_mask & b->bit) && may_close(ch, bank, oldest)) {
        dram_wish_close(ch, bank, oldest, e->seq);
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
    ch->starve_cyc = ch->starvation_cyc ? 0 : DRAM_NEVER;
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
    ch->starve_cyc = ch->entries[oldest].accept_cyc + ch->starvation_cyc;
    if (now < ch->starve_cyc) return;
    ch->starving = oldest;
    ch->stats.starved++;
    ch->col_next_cyc = 0;
    dram_bank_changed(ch, dram_bank_of(&ch->entries[oldest]));
}

/* ---- order of one address ---- */

/* A write must not overtake an older read of its address: the read that it has to let go first, or DRAM_NONE.
 * That read hits the same open row, so it can be served in the write's place. */
DRAM_RARE uint16_t dram_read_before(struct dram_channel *ch, uint16_t write)
{
    struct dram_entry *w = &ch->entries[write];
    if (!w->behind_read) return DRAM_NONE;
    const struct dram_bank *b = &ch->banks[dram_bank_of(w)];
    uint16_t at = b->list[DRAM_READ].head;
    for (; at != DRAM_NONE && ch->entries[at].seq < w->seq; at = ch->entries[at].next)
        if (ch->entries[at].key == w->key) return at;
    if (b->slot != DRAM_NONE && ch->entries[b->slot].seq < w->seq && ch->entries[b->slot].key == w->key)
        return b->slot;
    w->behind_read = false;
    return DRAM_NONE;
}
