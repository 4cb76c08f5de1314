/* dram_channel: the life of a column from acceptance to its data, and what each command does to the banks.
 * See dram.h for the contract, dram_sched.c for the choice of commands. */
#include "dram/dram_state.h"

const char *const dram_command_names[DRAM_COMMAND_KINDS] = {"ACT", "PRE", "PREA", "RD", "WR", "REF"};

static void admit(struct dram_channel *ch, uint64_t now);
static void column_bus(struct dram_channel *ch, uint64_t now);
static void row_bus(struct dram_channel *ch, uint64_t now);
static void offer_space(struct dram_channel *ch);
static uint64_t next_cyc(const struct dram_channel *ch, uint64_t now);

uint64_t dram_channel_step(struct dram_channel *ch, uint64_t now)
{
    if (ch->refresh_due_cyc < now) dram_refresh_run(ch, now - 1);
    if (ch->refresh_due_cyc <= now) ch->refresh_pending = true;
    admit(ch, now);
    column_bus(ch, now);
    row_bus(ch, now);
    if (ch->freed) offer_space(ch);
    return ch->next_cyc = next_cyc(ch, now);
}

/* ---- acceptance ---- */

/* A waiting write to this address? The filter has already said that there may be one. */
static bool write_waits(const struct dram_channel *ch, uint32_t bank, uint64_t key)
{
    for (uint16_t at = ch->list[DRAM_WRITE][bank].head; at != DRAM_NONE; at = ch->entries[at].next)
        if (ch->entries[at].key == key) return true;
    const uint16_t slot = ch->slot[bank];
    if (slot != DRAM_NONE && ch->entries[slot].kind == DRAM_WRITE && ch->entries[slot].key == key)
        return true;
    for (uint32_t i = 0; i < ch->staged_count; i++) {
        const struct dram_entry *e = &ch->entries[ch->staged[(ch->staged_head + i) % ch->entry_count]];
        if (e->kind == DRAM_WRITE && e->key == key) return true;
    }
    return false;
}

/* Which columns of the request a waiting write already holds (bit i = column i of the request): a read finds
 * its data there, a write is absorbed. */
static uint32_t absorbed_columns(const struct dram_channel *ch, const struct dram_request *rq)
{
    uint32_t absorbed = 0;
    for (uint32_t i = 0; i < rq->column_count; i++) {
        const uint64_t key = dram_pack(rq->bank, rq->row, rq->column + i);
        if (ch->filter[DRAM_WRITE][dram_filter_slot(key)] && write_waits(ch, rq->bank, key))
            absorbed |= 1u << i;
    }
    return absorbed;
}

static bool has_room(const struct dram_channel *ch, enum dram_kind kind, uint32_t columns)
{
    const struct dram_spec *spec = ch->spec;
    if (spec->queue == dram_queue_unified)
        return ch->queued[DRAM_READ] + ch->queued[DRAM_WRITE] + columns <= spec->queue_entries;
    return ch->queued[kind] + columns <= (kind == DRAM_READ ? spec->read_entries : spec->write_entries);
}

static uint64_t plan_intake(struct dram_channel *ch, uint64_t now)
{
    if (!ch->spec->intake_per_cyc) return now + 1;
    if (ch->intake_cyc < now + 1) {
        ch->intake_cyc = now + 1;
        ch->intake_used = 0;
    } else if (ch->intake_used == ch->spec->intake_per_cyc) {
        ch->intake_cyc++;
        ch->intake_used = 0;
    }
    ch->intake_used++;
    return ch->intake_cyc;
}

static void stage(struct dram_channel *ch, uint64_t now, const struct dram_request *rq, uint32_t column,
                  uint16_t line)
{
    DIAG_ASSERT(ch->free_count);
    const uint16_t idx = ch->free_entries[--ch->free_count];
    const uint64_t key = dram_pack(rq->bank, rq->row, column);
    const uint32_t slot = dram_filter_slot(key);
    ch->entries[idx] =
        (struct dram_entry){.seq = ch->next_seq++,
                            .accept_cyc = now,
                            .visible_cyc = plan_intake(ch, now),
                            .tag = rq->tag,
                            .key = key,
                            .row = rq->row,
                            .column = (uint16_t)column,
                            .line = line,
                            .bank = (uint8_t)rq->bank,
                            .kind = (uint8_t)rq->kind,
                            .behind_read = rq->kind == DRAM_WRITE && ch->filter[DRAM_READ][slot] != 0};
    ch->filter[rq->kind][slot]++;
    ch->queued[rq->kind]++;
    stats_peak(&ch->stats.waiting_peak, ++ch->stats.waiting);
    uint32_t at = ch->staged_head + ch->staged_count++;
    if (at >= ch->entry_count) at -= ch->entry_count;
    ch->staged[at] = idx;
}

static void count_accepted(struct dram_channel *ch, const struct dram_request *rq, uint32_t absorbed_count)
{
    if (rq->kind == DRAM_READ) {
        ch->stats.reads += rq->column_count;
        ch->stats.forwarded += absorbed_count;
        ch->stats.read_latency_cyc += absorbed_count;
        ch->stats.read_latency[1] += absorbed_count; /* one cycle each */
    } else {
        ch->stats.writes += rq->column_count;
        ch->stats.merged += absorbed_count;
    }
}

bool dram_try_accept(struct dram_channel *ch, uint64_t now, const struct dram_request *rq)
{
    const struct dram_spec *spec = ch->spec;
    DIAG_ASSERT(rq->bank < spec->bank_groups * spec->banks_per_group && rq->row < spec->rows);
    DIAG_ASSERT(rq->column_count && rq->column + rq->column_count <= spec->columns);
    const uint32_t absorbed = absorbed_columns(ch, rq);
    const uint32_t absorbed_count = (uint32_t)__builtin_popcount(absorbed);
    const uint32_t staged_count = rq->column_count - absorbed_count;
    if (!has_room(ch, rq->kind, staged_count)) {
        ch->stats.refused++;
        ch->refused = true;
        return false;
    }
    count_accepted(ch, rq, absorbed_count);
    if (!staged_count) {
        /* one cycle, as if through the queue */
        if (rq->kind == DRAM_READ) ch->last_data_cyc = dram_max(ch->last_data_cyc, now + 1);
        ch->wiring.done(
            ch->wiring.owner,
            &(struct dram_done){.tag = rq->tag, .kind = rq->kind, .accept_cyc = now, .done_cyc = now + 1});
        return true;
    }
    uint16_t line = DRAM_NONE;
    if (staged_count > 1) {
        line = ch->free_lines[--ch->free_line_count];
        ch->lines[line].waiting_count = staged_count;
    }
    for (uint32_t i = 0; i < rq->column_count; i++)
        if (!(absorbed >> i & 1)) stage(ch, now, rq, rq->column + i, line);
    ch->next_cyc = dram_min(ch->next_cyc, ch->entries[ch->staged[ch->staged_head]].visible_cyc);
    return true;
}

/* ---- into the scheduler ---- */

static void append(struct dram_channel *ch, struct dram_list *list, uint16_t idx)
{
    struct dram_entry *e = &ch->entries[idx];
    e->prev = list->tail;
    e->next = DRAM_NONE;
    if (list->tail == DRAM_NONE)
        list->head = idx;
    else
        ch->entries[list->tail].next = idx;
    list->tail = idx;
}

static void remove_from_list(struct dram_channel *ch, struct dram_list *list, uint16_t idx)
{
    const struct dram_entry *e = &ch->entries[idx];
    if (e->prev == DRAM_NONE)
        list->head = e->next;
    else
        ch->entries[e->prev].next = e->next;
    if (e->next == DRAM_NONE)
        list->tail = e->prev;
    else
        ch->entries[e->next].prev = e->prev;
}

static void admit(struct dram_channel *ch, uint64_t now)
{
    while (ch->staged_count) {
        const uint16_t idx = ch->staged[ch->staged_head];
        const struct dram_entry *e = &ch->entries[idx];
        if (e->visible_cyc > now) return;
        if (++ch->staged_head == ch->entry_count) ch->staged_head = 0;
        ch->staged_count--;
        const uint32_t kind = e->kind, bank = e->bank;
        const uint64_t bit = dram_bit(bank);
        const bool first = ch->list[kind][bank].head == DRAM_NONE;
        append(ch, &ch->list[kind][bank], idx);
        if (ch->open_mask & bit && e->row == ch->open_row[bank] && ch->hit[kind][bank] == DRAM_NONE) {
            ch->hit[kind][bank] = idx;
            ch->hit_mask[kind] |= bit;
            ch->hit_seq[kind][bank] = e->seq;
            ch->col_next_cyc = dram_min(ch->col_next_cyc, dram_column_cyc(ch, kind, bank));
        }
        /* A younger column changes what its bank wants only as its first, or as a hit that keeps the row
         * open. */
        if (first || ch->pre_mask & bit) dram_bank_changed(ch, bank);
        if (first) ch->starve_cyc = dram_min(ch->starve_cyc, e->accept_cyc + ch->spec->starvation_cyc);
    }
}

/* ---- commands ---- */

void dram_log(struct dram_channel *ch, uint64_t cyc, enum dram_command_kind kind, uint32_t bank, uint32_t row,
              uint32_t column)
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

/* After a column of the open row has left its list, the next one that the row serves. */
static void next_hit(struct dram_channel *ch, uint32_t kind, uint32_t bank, uint16_t from)
{
    while (from != DRAM_NONE && ch->entries[from].row != ch->open_row[bank]) from = ch->entries[from].next;
    ch->hit[kind][bank] = from;
    if (from == DRAM_NONE)
        ch->hit_mask[kind] &= ~dram_bit(bank);
    else
        ch->hit_seq[kind][bank] = ch->entries[from].seq;
}

static void column_timing(struct dram_channel *ch, uint64_t now, uint32_t kind, uint32_t bank)
{
    const uint32_t group = ch->group_of[bank];
    raise_to(&ch->col_chan_cyc[DRAM_READ], now + ch->gap.col_s[kind][DRAM_READ]);
    raise_to(&ch->col_chan_cyc[DRAM_WRITE], now + ch->gap.col_s[kind][DRAM_WRITE]);
    raise_to(&ch->col_group_cyc[DRAM_READ][group], now + ch->gap.col_l[kind][DRAM_READ]);
    raise_to(&ch->col_group_cyc[DRAM_WRITE][group], now + ch->gap.col_l[kind][DRAM_WRITE]);
    raise_to(&ch->pre_bank_cyc[bank], now + ch->gap.col_pre[kind]);
    if (ch->spec->bus == dram_bus_single) ch->row_bus_cyc = now + 1;
}

static void retire(struct dram_channel *ch, uint64_t now, uint16_t idx)
{
    const struct dram_entry *e = &ch->entries[idx];
    const uint64_t done_cyc = now + ch->gap.done[e->kind];
    ch->stats.row_hits += e->class == DRAM_HIT;
    ch->stats.row_misses += e->class == DRAM_MISS;
    ch->stats.row_conflicts += e->class == DRAM_CONFLICT;
    if (e->kind == DRAM_READ) {
        ch->stats.column_reads++;
        ch->stats.read_latency_cyc += done_cyc - e->accept_cyc;
        STATS_COUNT(ch->stats.read_latency, done_cyc - e->accept_cyc);
    } else {
        ch->stats.column_writes++;
    }
    ch->last_data_cyc = dram_max(ch->last_data_cyc, e->kind == DRAM_READ ? done_cyc : now);
    ch->filter[e->kind][dram_filter_slot(e->key)]--;
    ch->stats.waiting--;
    if (idx == ch->starving) {
        ch->starving = DRAM_NONE;
        ch->starve_cyc = 0;
        ch->col_next_cyc = 0;
    }
    ch->free_entries[ch->free_count++] = idx;
    if (e->line != DRAM_NONE) {
        if (--ch->lines[e->line].waiting_count) return;
        ch->free_lines[ch->free_line_count++] = e->line;
    }
    ch->wiring.done(ch->wiring.owner, &(struct dram_done){.tag = e->tag,
                                                          .kind = (enum dram_kind)e->kind,
                                                          .accept_cyc = e->accept_cyc,
                                                          .done_cyc = done_cyc});
}

static void issue_column(struct dram_channel *ch, uint64_t now, uint16_t idx)
{
    const struct dram_entry *e = &ch->entries[idx];
    const uint32_t kind = e->kind, bank = e->bank;
    column_timing(ch, now, kind, bank);
    ch->columns_since_act[bank]++;
    if (ch->slot[bank] == idx) {
        ch->slot[bank] = DRAM_NONE;
        ch->slot_mask &= ~dram_bit(bank);
    } else {
        remove_from_list(ch, &ch->list[kind][bank], idx);
        next_hit(ch, kind, bank, e->next);
        ch->queued[kind]--;
        ch->freed = true;
    }
    dram_log(ch, now, kind == DRAM_READ ? DRAM_RD : DRAM_WR, bank, e->row, e->column);
    retire(ch, now, idx);
    dram_bank_changed(ch, bank);
}

static void issue_activate(struct dram_channel *ch, uint64_t now, uint32_t bank, uint16_t idx)
{
    struct dram_entry *e = &ch->entries[idx];
    const uint32_t group = ch->group_of[bank];
    ch->act_bank_cyc[bank] = now + ch->gap.act_act;
    ch->act_group_cyc[group] = now + ch->gap.act_act_l;
    ch->act_four_cyc[ch->recent_act_idx] = now + ch->gap.act_four;
    ch->recent_act_idx = (ch->recent_act_idx + 1) % 4;
    ch->act_chan_cyc = dram_max(now + ch->gap.act_act_s, ch->act_four_cyc[ch->recent_act_idx]);
    ch->col_bank_cyc[DRAM_READ][bank] = now + ch->gap.act_col[DRAM_READ];
    ch->col_bank_cyc[DRAM_WRITE][bank] = now + ch->gap.act_col[DRAM_WRITE];
    raise_to(&ch->pre_bank_cyc[bank], now + ch->gap.act_pre);
    ch->row_bus_cyc = now + ch->gap.act_bus;
    ch->open_mask |= dram_bit(bank);
    ch->open_row[bank] = e->row;
    ch->columns_since_act[bank] = 0;
    if (e->class == DRAM_HIT) e->class = DRAM_MISS;
    ch->stats.activates++;
    dram_log(ch, now, DRAM_ACT, bank, e->row, e->column);
    if (ch->spec->bank_slots) {
        remove_from_list(ch, &ch->list[e->kind][bank], idx);
        ch->slot[bank] = idx;
        ch->slot_mask |= dram_bit(bank);
        ch->queued[e->kind]--;
        ch->freed = true;
    }
    dram_hits_found(ch, bank);
    for (uint32_t kind = 0; kind < 2; kind++)
        ch->col_next_cyc = dram_min(ch->col_next_cyc, dram_column_cyc(ch, kind, bank));
}

static void issue_precharge(struct dram_channel *ch, uint64_t now, uint32_t bank, uint16_t idx)
{
    struct dram_entry *e = &ch->entries[idx];
    raise_to(&ch->act_bank_cyc[bank], now + ch->gap.pre_act);
    ch->row_bus_cyc = now + 1;
    ch->open_mask &= ~dram_bit(bank);
    ch->hit_mask[DRAM_READ] &= ~dram_bit(bank);
    ch->hit_mask[DRAM_WRITE] &= ~dram_bit(bank);
    ch->hit[DRAM_READ][bank] = ch->hit[DRAM_WRITE][bank] = DRAM_NONE;
    e->class = DRAM_CONFLICT;
    ch->stats.precharges++;
    dram_log(ch, now, DRAM_PRE, bank, ch->open_row[bank], 0);
}

static void issue_row(struct dram_channel *ch, uint64_t now, uint32_t bank)
{
    const uint16_t idx = dram_oldest_of(ch, bank);
    if (ch->open_mask & dram_bit(bank))
        issue_precharge(ch, now, bank, idx);
    else
        issue_activate(ch, now, bank, idx);
    dram_bank_changed(ch, bank);
    /* the row bus is taken: look only for when the next one can go */
    if (dram_pick_row(ch, now) != DRAM_NONE) ch->row_next_cyc = ch->row_bus_cyc;
}

/* ---- the buses ---- */

/* When may the next column go, given what was seen while this one was picked? */
static uint64_t column_after(const struct dram_channel *ch, const struct dram_pick *p, uint32_t kind,
                             uint32_t bank)
{
    const uint64_t chan_cyc = dram_min(ch->col_chan_cyc[DRAM_READ], ch->col_chan_cyc[DRAM_WRITE]);
    if (p->ready_count > 1 || ch->slot_mask) return chan_cyc;
    const uint64_t same_bank_cyc =
        ch->hit[kind][bank] == DRAM_NONE ? DRAM_NEVER : dram_column_cyc(ch, kind, bank);
    return dram_max(chan_cyc, dram_min(p->next_cyc, same_bank_cyc));
}

static void serve(struct dram_channel *ch, uint64_t now, const struct dram_pick *p)
{
    const uint32_t kind = ch->entries[p->entry].kind, bank = ch->entries[p->entry].bank;
    const bool from_slot = ch->slot[bank] == p->entry;
    ch->col_next_cyc = DRAM_NEVER;
    issue_column(ch, now, p->entry);
    const uint64_t after = from_slot ? now + 1 : column_after(ch, p, kind, bank);
    ch->col_next_cyc = dram_min(ch->col_next_cyc, after);
}

static bool column_bus_free(const struct dram_channel *ch, uint64_t now)
{
    return ch->col_next_cyc <= now && (ch->spec->bus != dram_bus_single || ch->row_bus_cyc <= now);
}

static void column_bus(struct dram_channel *ch, uint64_t now)
{
    if (!ch->refresh_pending) {
        dram_mode_update(ch);
        dram_starvation_update(ch, now);
    }
    if (!column_bus_free(ch, now)) return;
    const struct dram_pick p = dram_pick_column(ch, now);
    if (p.entry != DRAM_NONE) serve(ch, now, &p);
}

static void row_bus(struct dram_channel *ch, uint64_t now)
{
    if (ch->refresh_pending) {
        dram_refresh_run(ch, now);
        return;
    }
    dram_mode_update(ch);
    if (ch->row_next_cyc > now || ch->row_bus_cyc > now) return;
    const uint32_t bank = dram_pick_row(ch, now);
    if (bank != DRAM_NONE) issue_row(ch, now, bank);
}

static void offer_space(struct dram_channel *ch)
{
    ch->freed = false;
    if (!ch->refused) return;
    ch->refused = false;
    if (ch->wiring.space) ch->wiring.space(ch->wiring.owner);
}

/* ---- time ---- */

static uint64_t next_cyc(const struct dram_channel *ch, uint64_t now)
{
    if (!ch->stats.waiting) return DRAM_NEVER;
    uint64_t next = ch->staged_count ? ch->entries[ch->staged[ch->staged_head]].visible_cyc : DRAM_NEVER;
    const uint64_t column =
        ch->spec->bus == dram_bus_single ? dram_max(ch->col_next_cyc, ch->row_bus_cyc) : ch->col_next_cyc;
    next = dram_min(next, column);
    if (ch->spec->refresh) next = dram_min(next, dram_refresh_next(ch));
    if (!ch->refresh_pending) {
        next = dram_min(next, dram_max(ch->row_next_cyc, ch->row_bus_cyc));
        if (ch->spec->starvation_cyc && ch->starving == DRAM_NONE) next = dram_min(next, ch->starve_cyc);
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
    const uint32_t banks = spec->bank_groups * spec->banks_per_group;
    ch->entry_count =
        (spec->queue == dram_queue_unified ? spec->queue_entries : spec->read_entries + spec->write_entries) +
        (spec->bank_slots ? banks : 0);
    ch->entries = ARENA_ARRAY(a, struct dram_entry, ch->entry_count);
    ch->free_entries = ARENA_ARRAY(a, uint16_t, ch->entry_count);
    ch->lines = ARENA_ARRAY(a, struct dram_line, ch->entry_count);
    ch->free_lines = ARENA_ARRAY(a, uint16_t, ch->entry_count);
    ch->staged = ARENA_ARRAY(a, uint16_t, ch->entry_count);
    for (uint32_t i = 0; i < ch->entry_count; i++)
        ch->free_entries[i] = ch->free_lines[i] = (uint16_t)(ch->entry_count - 1 - i);
    ch->free_count = ch->free_line_count = ch->entry_count;
    ch->kinds = spec->queue == dram_queue_unified ? 3u : 1u << DRAM_READ;
    ch->next_cyc = DRAM_NEVER;
    ch->col_next_cyc = ch->row_next_cyc = DRAM_NEVER;
    ch->starve_cyc = DRAM_NEVER;
    ch->starving = DRAM_NONE;
    ch->refresh_due_cyc = spec->refresh ? spec->trefi_cyc : DRAM_NEVER;
    ch->all_banks = banks == 64 ? UINT64_MAX : dram_bit(banks) - 1;
    for (uint32_t bank = 0; bank < banks; bank++) {
        ch->group_of[bank] = (uint8_t)(bank / spec->banks_per_group);
        ch->slot[bank] = DRAM_NONE;
        for (uint32_t kind = 0; kind < 2; kind++) {
            ch->hit[kind][bank] = DRAM_NONE;
            ch->list[kind][bank] = (struct dram_list){.head = DRAM_NONE, .tail = DRAM_NONE};
        }
    }
    return ch;
}
