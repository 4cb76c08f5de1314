/* dram_sched: what the scheduler knows of each bank, kept up to date: what its oldest column wants of the row
 * bus, which columns its open row serves; reads or writes next; who starves. The choice itself is
 * dram_pick.h. */
#include "dram/dram_lists.h"

struct dram_entry *dram_oldest_of(const struct dram_channel *ch, const struct dram_bank *b)
{
    struct dram_entry *read = ch->kinds & 1u << DRAM_READ ? b->side[DRAM_READ].head : NULL;
    struct dram_entry *write = ch->kinds & 1u << DRAM_WRITE ? b->side[DRAM_WRITE].head : NULL;
    if (!read) return write;
    if (!write) return read;
    return read->seq < write->seq ? read : write;
}

/* May 'oldest', which misses the open row of its bank, close it? */
static bool may_close(const struct dram_channel *ch, const struct dram_bank *b,
                      const struct dram_entry *oldest)
{
    uint64_t hit_accept_cyc = DRAM_NEVER;
    for (uint32_t kind = 0; kind < 2; kind++) {
        const struct dram_entry *hit = b->side[kind].hit;
        if (ch->kinds >> kind & 1 && hit) hit_accept_cyc = dram_min(hit_accept_cyc, hit->accept_cyc);
    }
    if (hit_accept_cyc == DRAM_NEVER || oldest == ch->starving) return true;
    if (ch->spec->close_rule == dram_close_when_older && hit_accept_cyc > oldest->accept_cyc) return true;
    return ch->row_hit_cap && b->columns_since_act >= ch->row_hit_cap;
}

/* A transfer of dram.migration=timed opens its row by commands; the time of the other kind includes them. */
DRAM_RARE static void claim_changed(struct dram_channel *ch, struct dram_bank *b)
{
    struct dram_entry *by = &ch->claims[b - ch->banks];
    if (ch->spec->migration == dram_migration_paper) return;
    if (b->open_row == DRAM_NO_ROW) {
        dram_wish_open(ch, b, by);
        dram_row_may(ch, dram_activate_cyc(ch, b));
    } else if (dram_row(by) != b->open_row) {
        dram_wish_close(ch, b, by);
        dram_row_may(ch, b->pre_cyc);
    }
}

__attribute__((noinline)) void dram_bank_changed(struct dram_channel *ch, struct dram_bank *b)
{
    if (b->row_entry) dram_wish_remove(b);
    if (dram_is_claimed(ch, b)) {
        claim_changed(ch, b);
        return;
    }
    struct dram_entry *oldest = dram_oldest_of(ch, b);
    if (!oldest) return;
    if (b->open_row == DRAM_NO_ROW) {
        dram_wish_open(ch, b, oldest);
        dram_row_may(ch, dram_activate_cyc(ch, b));
    } else if (dram_row(oldest) != b->open_row && !b->slot && may_close(ch, b, oldest)) {
        dram_wish_close(ch, b, oldest);
        dram_row_may(ch, b->pre_cyc);
    }
}

/* ---- reads or writes? (split queue) ---- */

DRAM_RARE void dram_mode_change(struct dram_channel *ch)
{
    ch->mode = ch->mode == DRAM_READ ? DRAM_WRITE : DRAM_READ;
    ch->kinds = 1u << ch->mode;
    ch->front.stats.drains += ch->mode == DRAM_WRITE && ch->seen[DRAM_WRITE];
    ch->col_next_cyc = 0;
    ch->starving = NULL;
    ch->starve_cyc = ch->starvation_cyc ? 0 : DRAM_NEVER;
    for (uint32_t bank = 0; bank < ch->bank_count; bank++) dram_bank_changed(ch, &ch->banks[bank]);
}

/* ---- starvation ---- */

DRAM_RARE void dram_starvation_look(struct dram_channel *ch, uint64_t now)
{
    struct dram_entry *oldest = NULL;
    for (uint32_t bank = 0; bank < ch->bank_count; bank++) {
        struct dram_entry *e = dram_oldest_of(ch, &ch->banks[bank]);
        if (dram_is_claimed(ch, &ch->banks[bank])) continue;
        if (e && (!oldest || e->seq < oldest->seq)) oldest = e;
    }
    if (!oldest) {
        ch->starve_cyc = DRAM_NEVER;
        return;
    }
    ch->starve_cyc = oldest->accept_cyc + ch->starvation_cyc;
    if (now < ch->starve_cyc) return;
    ch->starving = oldest;
    ch->front.stats.starved++;
    ch->col_next_cyc = 0;
    dram_bank_changed(ch, &ch->banks[dram_bank_of(oldest)]);
}

/* ---- order of one address ---- */

/* A write must not overtake an older read of its address: the read that it has to let go first, or NULL.
 * That read hits the same open row, so it can be served in the write's place. */
DRAM_RARE struct dram_entry *dram_read_before(struct dram_channel *ch, struct dram_entry *w)
{
    if (!w->behind_read) return NULL;
    const struct dram_bank *b = &ch->banks[dram_bank_of(w)];
    for (struct dram_entry *e = b->side[DRAM_READ].head; e && e->seq < w->seq; e = e->next)
        if (e->key == w->key) return e;
    if (b->slot && b->slot->seq < w->seq && b->slot->key == w->key) return b->slot;
    w->behind_read = false;
    return NULL;
}
