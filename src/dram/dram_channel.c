/* dram_channel: the step of a channel and what each command does to the banks.
 * See dram.h for the contract, dram_accept.c for acceptance, dram_pick.h for the choice of commands. */
#include "dram/dram_pick.h"

const char *const dram_command_names[DRAM_COMMAND_KINDS] = {"ACT", "PRE", "PREA", "RD", "WR", "REF"};

static void catch_up(struct dram_channel *ch, uint64_t now);
static inline void column_bus(struct dram_channel *ch, uint64_t now, bool plain);
static inline void row_bus(struct dram_channel *ch, uint64_t now);
static inline void rows_before(struct dram_channel *ch, uint64_t now);
static inline void offer_space(struct dram_channel *ch);
static uint64_t next_cyc(struct dram_channel *ch, uint64_t now);

/* Anything may be due. */
static __attribute__((noinline)) uint64_t step_fully(struct dram_channel *ch, uint64_t now)
{
    if (ch->plain && !ch->refresh_pending) rows_before(ch, now);
    catch_up(ch, now);
    column_bus(ch, now, false);
    if (ch->refresh_pending) {
        dram_refresh_run(ch, now);
    } else {
        if (dram_mode_stale(ch)) dram_mode_change(ch);
        row_bus(ch, now);
    }
    if (ch->freed && ch->refused) offer_space(ch);
    ch->freed = false;
    return ch->next_cyc = next_cyc(ch, now);
}

uint64_t dram_channel_step(struct dram_channel *ch, uint64_t now)
{
    if (now == ch->stepped_cyc) return ch->next_cyc; /* done already; nothing accepted since is due */
    if (now >= ch->alarm_cyc) return step_fully(ch, now);
    rows_before(ch, now);
    ch->stepped_cyc = now;
    column_bus(ch, now, true);
    row_bus(ch, now);
    if (ch->freed && ch->refused) offer_space(ch);
    ch->freed = false;
    return ch->next_cyc = ch->stats.waiting ? dram_max(dram_due_cyc(ch), now + 1) : DRAM_NEVER;
}

/* ---- commands ---- */

__attribute__((noinline)) void dram_log(struct dram_channel *ch, uint64_t cyc, enum dram_command_kind kind,
                                        uint32_t bank, uint32_t row, uint32_t column)
{
    if (ch->wiring.log)
        ch->wiring.log(
            ch->wiring.owner,
            &(struct dram_command){.cyc = cyc, .kind = kind, .bank = bank, .row = row, .column = column});
}

static inline void raise_to(uint64_t *cyc, uint64_t to)
{
    if (*cyc < to) *cyc = to;
}

/* From this entry of a list on, the first that the open row serves. */
static inline void next_hit(struct dram_channel *ch, uint32_t kind, struct dram_bank *b,
                            struct dram_entry *from)
{
    const uint32_t row = b->open_row;
    while (from && dram_row(from) != row) from = from->next;
    b->side[kind].hit = from;
    if (!from) ch->hit_mask[kind] &= ~b->bit;
}

/* Of its own kind a column is the latest, so nothing later can stand there; the turnaround from reads to
 * writes is the same in all groups. */
static inline void column_timing(struct dram_channel *ch, uint64_t now, uint32_t kind, struct dram_bank *b)
{
    const struct dram_gaps *gap = &ch->gap;
    if (kind == DRAM_READ) {
        ch->col_chan_cyc[DRAM_READ] = now + gap->col_s[DRAM_READ][DRAM_READ];
        ch->col_group_cyc[DRAM_READ][b->group] = now + gap->col_l[DRAM_READ][DRAM_READ];
        raise_to(&ch->col_chan_cyc[DRAM_WRITE], now + gap->col_s[DRAM_READ][DRAM_WRITE]);
        raise_to(&b->pre_cyc, now + gap->col_pre[DRAM_READ]);
    } else {
        ch->col_chan_cyc[DRAM_WRITE] = now + gap->col_s[DRAM_WRITE][DRAM_WRITE];
        ch->col_group_cyc[DRAM_WRITE][b->group] = now + gap->col_l[DRAM_WRITE][DRAM_WRITE];
        raise_to(&ch->col_chan_cyc[DRAM_READ], now + gap->col_s[DRAM_WRITE][DRAM_READ]);
        raise_to(&ch->col_group_cyc[DRAM_READ][b->group], now + gap->col_l[DRAM_WRITE][DRAM_READ]);
        raise_to(&b->pre_cyc, now + gap->col_pre[DRAM_WRITE]);
    }
    if (ch->single_bus) ch->row_bus_cyc = now + 1;
}

#define WORD_OF(stat) (offsetof(struct dram_stats, stat) / sizeof(uint64_t))
_Static_assert(WORD_OF(row_misses) == WORD_OF(row_hits) + DRAM_MISS &&
                   WORD_OF(row_conflicts) == WORD_OF(row_hits) + DRAM_CONFLICT,
               "classes are counted by their number");

static inline void count_served(struct dram_channel *ch, uint64_t now, const struct dram_entry *e,
                                uint32_t kind)
{
    ((uint64_t *)&ch->stats)[WORD_OF(row_hits) + e->class]++;
    dram_count_waiting(ch, now);
    ch->stats.waiting--;
    ch->stats.wait_cyc += now - e->accept_cyc;
    if (kind == DRAM_READ) {
        const uint64_t done_cyc = now + ch->gap.done[DRAM_READ], latency_cyc = done_cyc - e->accept_cyc;
        ch->stats.column_reads++;
        ch->stats.read_latency_cyc += latency_cyc;
        STATS_COUNT(ch->stats.read_latency, latency_cyc);
        ch->last_data_cyc = done_cyc; /* at most one column per cycle: later than all before */
    } else {
        ch->stats.column_writes++;
        ch->last_data_cyc = dram_max(ch->last_data_cyc, now);
        ch->filter[dram_filter_slot(e->key)]--;
        ch->waiting_writes--;
    }
}

DRAM_RARE static void no_longer_starving(struct dram_channel *ch)
{
    ch->starving = NULL;
    ch->starve_cyc = ch->starvation_cyc ? 0 : DRAM_NEVER;
    ch->col_next_cyc = 0;
}

/* One column of a line was served; was it the last? */
static inline bool line_ends(struct dram_channel *ch, uint16_t line)
{
    if (--ch->lines[line].waiting_count) return false;
    ch->free_lines[ch->free_line_count++] = line;
    return true;
}

static inline void retire(struct dram_channel *ch, uint64_t now, struct dram_entry *e, uint32_t kind)
{
    count_served(ch, now, e, kind);
    if (e == ch->starving) no_longer_starving(ch);
    e->next = ch->free_entries;
    ch->free_entries = e;
    if (e->line != DRAM_NONE && !line_ends(ch, e->line)) return;
    const struct dram_done done = {.tag = e->tag,
                                   .kind = (enum dram_kind)kind,
                                   .accept_cyc = e->accept_cyc,
                                   .done_cyc = now + ch->gap.done[kind]};
    ch->wiring.done(ch->wiring.owner, &done);
}

/* A column of the open row has left: does the bank still want the same of the row bus? */
static inline void column_left(struct dram_channel *ch, uint32_t kind, struct dram_bank *b)
{
    struct dram_entry *oldest = b->side[kind].head;
    if (b->side[!kind].head || ch->pre_mask & b->bit) {
        dram_bank_changed(ch, b);
    } else if (oldest == b->side[kind].hit) {
        /* none at all, or one that the row serves */
    } else if (!b->side[kind].hit && !(ch->slot_mask & b->bit) && ch->kinds >> kind & 1) {
        dram_wish_close(ch, b, oldest);
    } else {
        dram_bank_changed(ch, b);
    }
}

static DRAM_HOT inline void issue_column(struct dram_channel *ch, uint64_t now, struct dram_entry *e,
                                         uint32_t kind, struct dram_bank *b)
{
    column_timing(ch, now, kind, b);
    b->columns_since_act++;
    if (b->slot == e) {
        b->slot = NULL;
        ch->slot_mask &= ~b->bit;
    } else {
        dram_unlink(&b->side[kind], e);
        if (b->side[kind].hit == e) next_hit(ch, kind, b, e->next);
        ++*dram_room(ch, kind);
        ch->seen[kind]--;
        ch->freed = true;
    }
    if (ch->wiring.log)
        dram_log(ch, now, kind == DRAM_READ ? DRAM_RD : DRAM_WR, dram_bank_of(e), dram_row(e),
                 dram_column(e));
    retire(ch, now, e, kind);
    column_left(ch, kind, b);
}

static inline void issue_activate(struct dram_channel *ch, uint64_t now, struct dram_bank *b)
{
    struct dram_entry *e = b->row_entry;
    b->act_cyc = now + ch->gap.act_act;
    ch->act_group_cyc[b->group] = now + ch->gap.act_act_l;
    ch->act_four_cyc[ch->recent_act_idx] = now + ch->gap.act_four;
    ch->recent_act_idx = (ch->recent_act_idx + 1) % 4;
    ch->act_chan_cyc = dram_max(now + ch->gap.act_act_s, ch->act_four_cyc[ch->recent_act_idx]);
    b->side[DRAM_READ].col_cyc = now + ch->gap.act_col[DRAM_READ];
    b->side[DRAM_WRITE].col_cyc = now + ch->gap.act_col[DRAM_WRITE];
    raise_to(&b->pre_cyc, now + ch->gap.act_pre);
    ch->row_bus_cyc = now + ch->gap.act_bus;
    ch->open_mask |= b->bit;
    b->open_row = dram_row(e);
    b->columns_since_act = 0;
    if (e->class == DRAM_HIT) e->class = DRAM_MISS;
    ch->stats.activates++;
    if (ch->wiring.log) dram_log(ch, now, DRAM_ACT, dram_bank_of(e), dram_row(e), dram_column(e));
    if (ch->slots) {
        dram_unlink(&b->side[e->kind], e);
        b->slot = e;
        ch->slot_mask |= b->bit;
        ++*dram_room(ch, e->kind);
        ch->seen[e->kind]--;
        ch->freed = true;
        ch->col_next_cyc = dram_min(ch->col_next_cyc, b->side[e->kind].col_cyc);
    }
    /* Its oldest hits now, or holds the row open by its slot: nothing else is wanted of the row bus. */
    dram_wish_remove(ch, b);
    ch->act_mask &= ~b->bit;
    for (uint32_t kind = 0; kind < 2; kind++) {
        if (!b->side[kind].head) continue;
        next_hit(ch, kind, b, b->side[kind].head);
        if (!b->side[kind].hit) continue;
        ch->hit_mask[kind] |= b->bit;
        ch->col_next_cyc = dram_min(ch->col_next_cyc, b->side[kind].col_cyc);
    }
}

static inline void issue_precharge(struct dram_channel *ch, uint64_t now, struct dram_bank *b)
{
    struct dram_entry *e = b->row_entry;
    const uint64_t others = ~b->bit;
    raise_to(&b->act_cyc, now + ch->gap.pre_act);
    ch->row_bus_cyc = now + 1;
    ch->open_mask &= others;
    ch->pre_mask &= others;
    ch->hit_mask[DRAM_READ] &= others;
    ch->hit_mask[DRAM_WRITE] &= others;
    b->side[DRAM_READ].hit = b->side[DRAM_WRITE].hit = NULL;
    e->class = DRAM_CONFLICT;
    ch->stats.precharges++;
    if (ch->wiring.log) dram_log(ch, now, DRAM_PRE, dram_bank_of(e), b->open_row, 0);
    dram_wish_remove(ch, b);
    dram_wish_open(ch, b, e);
}

/* ---- the buses ---- */

/* Serves p and says when the next column may go, given what was seen while p was picked. */
static DRAM_HOT inline void serve(struct dram_channel *ch, uint64_t now, const struct dram_pick *p,
                                  uint32_t kind)
{
    struct dram_bank *b = p->bank;
    /* a write of the same bank may have waited for this read */
    const bool others_ready = p->ready_count > 1 || ch->slot_mask || b->side[!kind].hit;
    ch->col_next_cyc = DRAM_NEVER; /* bank changes below lower it */
    issue_column(ch, now, p->entry, kind, b);
    uint64_t after = dram_min(ch->col_chan_cyc[DRAM_READ], ch->col_chan_cyc[DRAM_WRITE]);
    if (!others_ready) {
        const uint64_t same_bank = b->side[kind].hit ? dram_column_cyc(ch, kind, b) : DRAM_NEVER;
        after = dram_max(after, dram_min(p->next_cyc, same_bank));
    }
    ch->col_next_cyc = dram_min(ch->col_next_cyc, after);
}

static DRAM_HOT inline void column_bus(struct dram_channel *ch, uint64_t now, bool plain)
{
    if (ch->col_next_cyc > now) return;
    if (!plain && ch->single_bus && ch->row_bus_cyc > now) return;
    const struct dram_pick p = pick_column(ch, now, plain);
    if (!p.entry)
        ch->col_next_cyc = p.next_cyc;
    else if (p.entry->kind == DRAM_READ)
        serve(ch, now, &p, DRAM_READ);
    else
        serve(ch, now, &p, DRAM_WRITE);
}

static DRAM_HOT inline void row_bus(struct dram_channel *ch, uint64_t now)
{
    if (ch->row_next_cyc > now || ch->row_bus_cyc > now) return;
    struct dram_row_pick p = pick_row(ch, now);
    if (!p.bank) {
        /* later */
    } else if (p.open) {
        issue_precharge(ch, now, p.bank);
        p.act_cyc = dram_min(p.act_cyc, dram_activate_cyc(ch, p.bank));
    } else {
        issue_activate(ch, now, p.bank);
        p.act_cyc = ch->act_mask ? ch->act_chan_cyc : DRAM_NEVER;
    }
    ch->row_next_cyc = dram_min(p.act_cyc, p.pre_cyc);
}

/* Row commands that were due between the last step and this one, each in its cycle: nobody outside notices
 * that they are late, as the queue changes only in cycles that are stepped. */
static DRAM_HOT inline void rows_before(struct dram_channel *ch, uint64_t now)
{
    for (;;) {
        const uint64_t cyc = dram_row_cyc(ch);
        if (cyc >= now) return;
        row_bus(ch, cyc);
    }
}

static inline void offer_space(struct dram_channel *ch)
{
    ch->refused = false;
    if (ch->wiring.space) ch->wiring.space(ch->wiring.owner);
}

/* ---- what seldom happens ---- */

static void catch_up(struct dram_channel *ch, uint64_t now)
{
    if (ch->refresh_due_cyc < now) dram_refresh_run(ch, now - 1);
    /* cycles in which it slept through an empty queue count too */
    if (ch->stepped_cyc + 1 < now && !ch->refresh_pending && dram_mode_stale(ch)) dram_mode_change(ch);
    ch->stepped_cyc = now;
    if (ch->refresh_due_cyc <= now) ch->refresh_pending = true;
    dram_admit(ch, now);
    if (ch->refresh_pending) return;
    if (dram_mode_stale(ch)) dram_mode_change(ch);
    if (now >= ch->starve_cyc && !ch->starving) dram_starvation_look(ch, now);
}

static uint64_t alarm_cyc(const struct dram_channel *ch)
{
    if (!ch->plain || ch->refresh_pending || ch->starving) return 0;
    const uint64_t staged = ch->staged ? ch->staged->visible_cyc : DRAM_NEVER;
    return dram_min(dram_min(staged, ch->refresh_due_cyc), ch->starve_cyc);
}

/* ---- time ---- */

static uint64_t next_cyc(struct dram_channel *ch, uint64_t now)
{
    ch->alarm_cyc = alarm_cyc(ch);
    if (!ch->stats.waiting) return DRAM_NEVER;
    uint64_t next = ch->staged ? ch->staged->visible_cyc : DRAM_NEVER;
    const uint64_t column = ch->single_bus ? dram_max(ch->col_next_cyc, ch->row_bus_cyc) : ch->col_next_cyc;
    next = dram_min(next, column);
    if (ch->refresh_pending) {
        next = dram_min(next, dram_refresh_next(ch));
    } else {
        next = dram_min(next, ch->refresh_due_cyc);
        next = dram_min(next, dram_max(ch->row_next_cyc, ch->row_bus_cyc));
        if (!ch->starving) next = dram_min(next, ch->starve_cyc);
        if (dram_mode_stale(ch)) return now + 1;
    }
    return dram_max(next, now + 1);
}

uint64_t dram_channel_next(const struct dram_channel *ch) { return ch->next_cyc; }
uint32_t dram_channel_waiting(const struct dram_channel *ch) { return (uint32_t)ch->stats.waiting; }
uint64_t dram_channel_last_data(const struct dram_channel *ch) { return ch->last_data_cyc; }
struct dram_stats *dram_channel_stats(struct dram_channel *ch) { return &ch->stats; }

/* ---- birth ---- */

struct dram_channel *dram_channel_new(struct arena *a, const struct dram_spec *spec,
                                      const struct dram_wiring *wiring)
{
    DIAG_ASSERT(!dram_spec_fault(spec) && wiring->done);
    struct dram_channel *ch = ARENA_NEW(a, struct dram_channel);
    ch->spec = spec;
    ch->wiring = *wiring;
    ch->gap = dram_spec_gaps(spec);
    const uint32_t banks = ch->bank_count = spec->bank_groups * spec->banks_per_group;
    ch->split = spec->queue == dram_queue_split;
    ch->room[DRAM_READ] = ch->split ? spec->read_entries : spec->queue_entries;
    ch->room[DRAM_WRITE] = ch->split ? spec->write_entries : spec->queue_entries;
    ch->slots = spec->bank_slots;
    ch->plain = !ch->split && !ch->slots && spec->bus == dram_bus_dual;
    ch->starvation_cyc = spec->starvation_cyc;
    ch->row_hit_cap = spec->row_hit_cap;
    ch->intake_per_cyc = spec->intake_per_cyc;
    ch->row_count = spec->rows;
    ch->column_count = spec->columns;
    ch->single_bus = spec->bus == dram_bus_single;
    ch->entry_count =
        (spec->queue == dram_queue_unified ? spec->queue_entries : spec->read_entries + spec->write_entries) +
        (spec->bank_slots ? banks : 0);
    ch->act_col_min = (uint32_t)dram_min(ch->gap.act_col[DRAM_READ], ch->gap.act_col[DRAM_WRITE]);
    ch->entries =
        arena_alloc_aligned(a, ch->entry_count * sizeof(struct dram_entry), _Alignof(struct dram_entry));
    ch->lines = ARENA_ARRAY(a, struct dram_line, ch->entry_count);
    ch->free_lines = ARENA_ARRAY(a, uint16_t, ch->entry_count);
    for (uint32_t i = 0; i < ch->entry_count; i++) {
        ch->entries[i].next = i + 1 < ch->entry_count ? &ch->entries[i + 1] : NULL;
        ch->free_lines[i] = (uint16_t)(ch->entry_count - 1 - i);
    }
    ch->free_line_count = ch->entry_count;
    ch->free_entries = ch->entries;
    ch->kinds = spec->queue == dram_queue_unified ? 3u : 1u << DRAM_READ;
    ch->next_cyc = DRAM_NEVER;
    ch->col_next_cyc = ch->row_next_cyc = DRAM_NEVER;
    ch->starve_cyc = DRAM_NEVER;
    ch->starving = NULL;
    ch->refresh_due_cyc = spec->refresh ? spec->trefi_cyc : DRAM_NEVER;
    ch->all_banks = banks == 64 ? UINT64_MAX : dram_bit(banks) - 1;
    ch->banks[DRAM_OPENING].before = ch->banks[DRAM_OPENING].after = DRAM_OPENING;
    ch->banks[DRAM_CLOSING].before = ch->banks[DRAM_CLOSING].after = DRAM_CLOSING;
    for (uint32_t bank = 0; bank < banks; bank++) {
        ch->banks[bank].group = (uint8_t)(bank / spec->banks_per_group);
        ch->banks[bank].bit = dram_bit(bank);
    }
    return ch;
}
