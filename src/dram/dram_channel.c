/* dram_channel: the life of a column from acceptance to its data, and what each command does to the banks.
 * See dram.h for the contract, dram_pick.h for the choice of commands. */
#include "dram/dram_pick.h"

const char *const dram_command_names[DRAM_COMMAND_KINDS] = {"ACT", "PRE", "PREA", "RD", "WR", "REF"};

static void admit(struct dram_channel *ch, uint64_t now);
static void column_bus(struct dram_channel *ch, uint64_t now);
static void row_bus(struct dram_channel *ch, uint64_t now);
static void offer_space(struct dram_channel *ch);
static uint64_t next_cyc(const struct dram_channel *ch, uint64_t now);

uint64_t dram_channel_step(struct dram_channel *ch, uint64_t now)
{
    if (now == ch->stepped_cyc) return ch->next_cyc; /* done already; nothing accepted since is due */
    if (ch->refresh_due_cyc < now) dram_refresh_run(ch, now - 1);
    /* cycles in which it slept through an empty queue count too */
    if (ch->stepped_cyc + 1 < now && !ch->refresh_pending && dram_mode_stale(ch)) dram_mode_change(ch);
    ch->stepped_cyc = now;
    if (ch->refresh_due_cyc <= now) ch->refresh_pending = true;
    admit(ch, now);
    if (!ch->refresh_pending) {
        if (dram_mode_stale(ch)) dram_mode_change(ch);
        if (now >= ch->starve_cyc && ch->starving == DRAM_NONE) dram_starvation_look(ch, now);
    }
    column_bus(ch, now);
    row_bus(ch, now);
    if (ch->freed && ch->refused) offer_space(ch);
    ch->freed = false;
    return ch->next_cyc = next_cyc(ch, now);
}

/* ---- into the scheduler ---- */

static inline void append(struct dram_entry *entries, struct dram_list *list, uint16_t idx)
{
    const uint16_t tail = list->tail;
    entries[idx].prev = tail;
    entries[idx].next = DRAM_NONE;
    list->tail = idx;
    if (tail == DRAM_NONE)
        list->head = idx;
    else
        entries[tail].next = idx;
}

static inline void admit_one(struct dram_channel *ch, struct dram_entry *entries, uint16_t idx)
{
    const struct dram_entry *e = &entries[idx];
    const uint32_t kind = e->kind, bank = e->bank;
    const uint64_t bit = dram_bit(bank);
    struct dram_bank *b = &ch->banks[bank];
    const bool first = b->list[kind].head == DRAM_NONE;
    append(entries, &b->list[kind], idx);
    ch->seen[kind]++;
    ch->awake = true;
    if (b->hit[kind] == DRAM_NONE && ch->open_mask & bit && e->row == b->open_row) {
        b->hit[kind] = idx;
        b->hit_seq[kind] = e->seq;
        ch->hit_mask[kind] |= bit;
        ch->col_next_cyc = dram_min(ch->col_next_cyc, dram_column_cyc(ch, kind, bank));
    }
    /* A younger column changes what its bank wants only as its first, or as a hit that keeps the row open. */
    if (first || ch->pre_mask & bit) dram_bank_changed(ch, bank);
    if (first && ch->spec->starvation_cyc)
        ch->starve_cyc = dram_min(ch->starve_cyc, e->accept_cyc + ch->spec->starvation_cyc);
}

/* ---- acceptance ---- */

/* A waiting write to this address? The filter has already said that there may be one. */
DRAM_RARE static bool write_waits(const struct dram_channel *ch, uint32_t bank, uint64_t key)
{
    for (uint16_t at = ch->banks[bank].list[DRAM_WRITE].head; at != DRAM_NONE; at = ch->entries[at].next)
        if (ch->entries[at].key == key) return true;
    const uint16_t slot = ch->banks[bank].slot;
    if (slot != DRAM_NONE && ch->entries[slot].kind == DRAM_WRITE && ch->entries[slot].key == key)
        return true;
    for (uint16_t at = ch->staged.head; at != DRAM_NONE; at = ch->entries[at].next)
        if (ch->entries[at].kind == DRAM_WRITE && ch->entries[at].key == key) return true;
    return false;
}

/* Which columns of the request a waiting write already holds (bit i = column i of the request): a read finds
 * its data there, a write is absorbed. */
static uint32_t absorbed_columns(const struct dram_channel *ch, const struct dram_request *rq)
{
    uint32_t absorbed = 0;
    for (uint32_t i = 0; i < rq->column_count; i++) {
        const uint64_t key = dram_pack(rq->bank, rq->row, rq->column + i);
        if (ch->filter[dram_filter_slot(key)] && write_waits(ch, rq->bank, key)) absorbed |= 1u << i;
    }
    return absorbed;
}

static bool has_room(const struct dram_channel *ch, enum dram_kind kind, uint32_t columns)
{
    const uint32_t used = ch->queued[kind] + (ch->split ? 0 : ch->queued[!kind]);
    return used + columns <= ch->room[kind];
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

/* Takes an entry for one column; returns when the scheduler will see it. */
static inline uint64_t stage(struct dram_channel *ch, uint64_t now, const struct dram_request *rq,
                             uint64_t key, uint16_t line)
{
    const uint32_t kind = rq->kind;
    const uint64_t visible_cyc = plan_intake(ch, now);
    struct dram_entry *entries = ch->entries;
    const uint16_t idx = ch->free_head;
    struct dram_entry *e = &entries[idx];
    ch->free_head = e->next;
    e->seq = ch->next_seq++;
    e->accept_cyc = now;
    e->visible_cyc = visible_cyc;
    e->tag = rq->tag;
    e->key = key;
    e->row = rq->row;
    e->column = (uint16_t)key;
    e->line = line;
    e->bank = (uint8_t)rq->bank;
    e->kind = (uint8_t)kind;
    e->class = DRAM_HIT;
    e->behind_read = kind == DRAM_WRITE; /* until looked at */
    if (kind == DRAM_WRITE) ch->filter[dram_filter_slot(key)]++;
    ch->queued[kind]++;
    if (kind == DRAM_READ)
        ch->stats.reads++;
    else
        ch->stats.writes++;
    stats_peak(&ch->stats.waiting_peak, ++ch->stats.waiting);
    /* After the step of this cycle nothing looks before the next one: no need to wait outside. */
    if (ch->stepped_cyc == now && visible_cyc == now + 1 && ch->staged.head == DRAM_NONE) {
        admit_one(ch, entries, idx);
        return visible_cyc;
    }
    e->next = DRAM_NONE; /* the staged ones are linked through next */
    if (ch->staged.head == DRAM_NONE)
        ch->staged.head = idx;
    else
        entries[ch->staged.tail].next = idx;
    ch->staged.tail = idx;
    return visible_cyc;
}

DRAM_RARE static bool refuse(struct dram_channel *ch)
{
    ch->stats.refused++;
    ch->refused = true;
    return false;
}

/* A column whose data a waiting write holds: one cycle, as if through the queue. */
static void count_absorbed(struct dram_channel *ch, uint64_t now, enum dram_kind kind)
{
    if (kind == DRAM_READ) {
        ch->stats.reads++;
        ch->stats.forwarded++;
        ch->stats.read_latency_cyc++;
        ch->stats.read_latency[1]++;
        ch->last_data_cyc = dram_max(ch->last_data_cyc, now + 1);
    } else {
        ch->stats.writes++;
        ch->stats.merged++;
    }
}

/* Requests of several columns, or with columns that a waiting write holds. */
DRAM_RARE static bool accept_line(struct dram_channel *ch, uint64_t now, const struct dram_request *rq)
{
    const uint32_t absorbed = absorbed_columns(ch, rq);
    const uint32_t staged_count = rq->column_count - (uint32_t)__builtin_popcount(absorbed);
    if (!has_room(ch, rq->kind, staged_count)) return refuse(ch);
    uint16_t line = DRAM_NONE;
    if (staged_count > 1) {
        line = ch->free_lines[--ch->free_line_count];
        ch->lines[line].waiting_count = staged_count;
    }
    for (uint32_t i = 0; i < rq->column_count; i++) {
        if (absorbed >> i & 1) {
            count_absorbed(ch, now, rq->kind);
        } else {
            const uint64_t visible_cyc =
                stage(ch, now, rq, dram_pack(rq->bank, rq->row, rq->column + i), line);
            ch->next_cyc = dram_min(ch->next_cyc, visible_cyc);
        }
    }
    if (!staged_count)
        ch->wiring.done(
            ch->wiring.owner,
            &(struct dram_done){.tag = rq->tag, .kind = rq->kind, .accept_cyc = now, .done_cyc = now + 1});
    return true;
}

bool dram_try_accept(struct dram_channel *ch, uint64_t now, const struct dram_request *rq)
{
    DIAG_ASSERT(rq->bank < ch->bank_count && rq->row < ch->row_count);
    DIAG_ASSERT(rq->column_count && rq->column + rq->column_count <= ch->column_count);
    const uint64_t key = dram_pack(rq->bank, rq->row, rq->column);
    if (rq->column_count > 1 || ch->filter[dram_filter_slot(key)]) return accept_line(ch, now, rq);
    if (!has_room(ch, rq->kind, 1)) return refuse(ch);
    ch->next_cyc = dram_min(ch->next_cyc, stage(ch, now, rq, key, DRAM_NONE));
    return true;
}

/* ---- lists ---- */

static inline void remove_from_list(struct dram_entry *entries, struct dram_list *list, uint16_t idx)
{
    const uint16_t prev = entries[idx].prev, next = entries[idx].next;
    if (prev == DRAM_NONE)
        list->head = next;
    else
        entries[prev].next = next;
    if (next == DRAM_NONE)
        list->tail = prev;
    else
        entries[next].prev = prev;
}

static void admit(struct dram_channel *ch, uint64_t now)
{
    struct dram_entry *entries = ch->entries;
    uint16_t idx = ch->staged.head;
    while (idx != DRAM_NONE && entries[idx].visible_cyc <= now) {
        const uint16_t next = entries[idx].next;
        admit_one(ch, entries, idx);
        idx = next;
    }
    ch->staged.head = idx;
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
static inline void next_hit(struct dram_channel *ch, uint32_t kind, uint32_t bank, uint16_t from)
{
    const struct dram_entry *entries = ch->entries;
    struct dram_bank *b = &ch->banks[bank];
    const uint32_t row = b->open_row;
    while (from != DRAM_NONE && entries[from].row != row) from = entries[from].next;
    b->hit[kind] = from;
    if (from == DRAM_NONE)
        ch->hit_mask[kind] &= ~dram_bit(bank);
    else
        b->hit_seq[kind] = entries[from].seq;
}

/* Of its own kind a column is the latest, so nothing later can stand there; the turnaround from reads to
 * writes is the same in all groups. */
static void column_timing(struct dram_channel *ch, uint64_t now, uint32_t kind, struct dram_bank *b)
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

static void count_served(struct dram_channel *ch, uint64_t now, const struct dram_entry *e)
{
    if (e->class == DRAM_HIT)
        ch->stats.row_hits++;
    else if (e->class == DRAM_MISS)
        ch->stats.row_misses++;
    else
        ch->stats.row_conflicts++;
    if (e->kind == DRAM_READ) {
        const uint64_t done_cyc = now + ch->gap.done[DRAM_READ], latency_cyc = done_cyc - e->accept_cyc;
        ch->stats.column_reads++;
        ch->stats.read_latency_cyc += latency_cyc;
        STATS_COUNT(ch->stats.read_latency, latency_cyc);
        ch->last_data_cyc = done_cyc; /* at most one column per cycle: later than all before */
    } else {
        ch->stats.column_writes++;
        ch->last_data_cyc = dram_max(ch->last_data_cyc, now);
    }
    ch->stats.waiting--;
}

DRAM_RARE static void no_longer_starving(struct dram_channel *ch)
{
    ch->starving = DRAM_NONE;
    ch->starve_cyc = ch->spec->starvation_cyc ? 0 : DRAM_NEVER;
    ch->col_next_cyc = 0;
}

/* One column of a line was served; was it the last? */
DRAM_RARE static bool line_ends(struct dram_channel *ch, uint16_t line)
{
    if (--ch->lines[line].waiting_count) return false;
    ch->free_lines[ch->free_line_count++] = line;
    return true;
}

static void retire(struct dram_channel *ch, uint64_t now, struct dram_entry *e, uint16_t idx)
{
    count_served(ch, now, e);
    if (e->kind == DRAM_WRITE) ch->filter[dram_filter_slot(e->key)]--;
    if (idx == ch->starving) no_longer_starving(ch);
    e->next = ch->free_head;
    ch->free_head = idx;
    if (e->line != DRAM_NONE && !line_ends(ch, e->line)) return;
    const struct dram_done done = {.tag = e->tag,
                                   .kind = (enum dram_kind)e->kind,
                                   .accept_cyc = e->accept_cyc,
                                   .done_cyc = now + ch->gap.done[e->kind]};
    ch->wiring.done(ch->wiring.owner, &done);
}

/* Does the oldest of the bank hit the open row, as before? Then the bank still wants nothing of the row bus.
 */
static bool head_is_hit(const struct dram_channel *ch, uint32_t kind, const struct dram_bank *b, uint64_t bit)
{
    const uint16_t head = b->list[kind].head;
    return head != DRAM_NONE && head == b->hit[kind] && b->list[!kind].head == DRAM_NONE &&
           !(ch->pre_mask & bit);
}

static inline void issue_column(struct dram_channel *ch, uint64_t now, uint16_t idx, uint32_t kind,
                                uint32_t bank)
{
    struct dram_entry *e = &ch->entries[idx];
    struct dram_bank *b = &ch->banks[bank];
    column_timing(ch, now, kind, b);
    b->columns_since_act++;
    if (b->slot == idx) {
        b->slot = DRAM_NONE;
        ch->slot_mask &= ~dram_bit(bank);
    } else {
        remove_from_list(ch->entries, &b->list[kind], idx);
        if (b->hit[kind] == idx) next_hit(ch, kind, bank, e->next);
        ch->queued[kind]--;
        ch->seen[kind]--;
        ch->freed = true;
    }
    if (ch->wiring.log) dram_log(ch, now, kind == DRAM_READ ? DRAM_RD : DRAM_WR, bank, e->row, e->column);
    retire(ch, now, e, idx);
    if (!head_is_hit(ch, kind, b, dram_bit(bank))) dram_bank_changed(ch, bank);
}

__attribute__((noinline)) static void issue_activate(struct dram_channel *ch, uint64_t now, uint32_t bank,
                                                     uint16_t idx)
{
    struct dram_entry *e = &ch->entries[idx];
    const uint32_t group = ch->banks[bank].group;
    ch->banks[bank].act_cyc = now + ch->gap.act_act;
    ch->act_group_cyc[group] = now + ch->gap.act_act_l;
    ch->act_four_cyc[ch->recent_act_idx] = now + ch->gap.act_four;
    ch->recent_act_idx = (ch->recent_act_idx + 1) % 4;
    ch->act_chan_cyc = dram_max(now + ch->gap.act_act_s, ch->act_four_cyc[ch->recent_act_idx]);
    ch->banks[bank].col_cyc[DRAM_READ] = now + ch->gap.act_col[DRAM_READ];
    ch->banks[bank].col_cyc[DRAM_WRITE] = now + ch->gap.act_col[DRAM_WRITE];
    raise_to(&ch->banks[bank].pre_cyc, now + ch->gap.act_pre);
    ch->row_bus_cyc = now + ch->gap.act_bus;
    ch->open_mask |= dram_bit(bank);
    ch->banks[bank].open_row = e->row;
    ch->banks[bank].columns_since_act = 0;
    if (e->class == DRAM_HIT) e->class = DRAM_MISS;
    ch->stats.activates++;
    dram_log(ch, now, DRAM_ACT, bank, e->row, e->column);
    if (ch->spec->bank_slots) {
        remove_from_list(ch->entries, &ch->banks[bank].list[e->kind], idx);
        ch->banks[bank].slot = idx;
        ch->slot_mask |= dram_bit(bank);
        ch->queued[e->kind]--;
        ch->seen[e->kind]--;
        ch->freed = true;
    }
    dram_hits_found(ch, bank);
    for (uint32_t kind = 0; kind < 2; kind++)
        ch->col_next_cyc = dram_min(ch->col_next_cyc, dram_column_cyc(ch, kind, bank));
}

__attribute__((noinline)) static void issue_precharge(struct dram_channel *ch, uint64_t now, uint32_t bank,
                                                      uint16_t idx)
{
    struct dram_entry *e = &ch->entries[idx];
    raise_to(&ch->banks[bank].act_cyc, now + ch->gap.pre_act);
    ch->row_bus_cyc = now + 1;
    ch->open_mask &= ~dram_bit(bank);
    ch->hit_mask[DRAM_READ] &= ~dram_bit(bank);
    ch->hit_mask[DRAM_WRITE] &= ~dram_bit(bank);
    ch->banks[bank].hit[DRAM_READ] = ch->banks[bank].hit[DRAM_WRITE] = DRAM_NONE;
    e->class = DRAM_CONFLICT;
    ch->stats.precharges++;
    dram_log(ch, now, DRAM_PRE, bank, ch->banks[bank].open_row, 0);
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
    if (pick_row(ch, now) != DRAM_NONE) ch->row_next_cyc = ch->row_bus_cyc;
}

/* ---- the buses ---- */

/* Serves p and says when the next column may go, given what was seen while p was picked. */
static void serve(struct dram_channel *ch, uint64_t now, const struct dram_pick *p)
{
    const uint32_t kind = p->kind, bank = p->bank;
    /* a write of the same bank may have waited for this read */
    const bool others_ready = p->ready_count > 1 || ch->slot_mask || ch->banks[bank].hit[!kind] != DRAM_NONE;
    ch->col_next_cyc = DRAM_NEVER; /* bank changes below lower it */
    issue_column(ch, now, p->entry, kind, bank);
    uint64_t after = dram_min(ch->col_chan_cyc[DRAM_READ], ch->col_chan_cyc[DRAM_WRITE]);
    if (!others_ready) {
        const uint64_t same_bank =
            ch->banks[bank].hit[kind] == DRAM_NONE ? DRAM_NEVER : dram_column_cyc(ch, kind, bank);
        after = dram_max(after, dram_min(p->next_cyc, same_bank));
    }
    ch->col_next_cyc = dram_min(ch->col_next_cyc, after);
}

static bool column_bus_free(const struct dram_channel *ch, uint64_t now)
{
    return ch->col_next_cyc <= now && (!ch->single_bus || ch->row_bus_cyc <= now);
}

static void column_bus(struct dram_channel *ch, uint64_t now)
{
    if (!column_bus_free(ch, now)) return;
    const struct dram_pick p = pick_column(ch, now);
    if (p.entry != DRAM_NONE) serve(ch, now, &p);
}

static void row_bus(struct dram_channel *ch, uint64_t now)
{
    if (ch->refresh_pending) {
        dram_refresh_run(ch, now);
        return;
    }
    if (dram_mode_stale(ch)) dram_mode_change(ch);
    if (ch->row_next_cyc > now || ch->row_bus_cyc > now) return;
    const uint32_t bank = pick_row(ch, now);
    if (bank != DRAM_NONE) issue_row(ch, now, bank);
}

DRAM_RARE static void offer_space(struct dram_channel *ch)
{
    ch->refused = false;
    if (ch->wiring.space) ch->wiring.space(ch->wiring.owner);
}

/* ---- time ---- */

static uint64_t next_cyc(const struct dram_channel *ch, uint64_t now)
{
    if (!ch->stats.waiting) return DRAM_NEVER;
    uint64_t next = ch->staged.head == DRAM_NONE ? DRAM_NEVER : ch->entries[ch->staged.head].visible_cyc;
    const uint64_t column = ch->single_bus ? dram_max(ch->col_next_cyc, ch->row_bus_cyc) : ch->col_next_cyc;
    next = dram_min(next, column);
    if (ch->refresh_pending) {
        next = dram_min(next, dram_refresh_next(ch));
    } else {
        next = dram_min(next, ch->refresh_due_cyc);
        next = dram_min(next, dram_max(ch->row_next_cyc, ch->row_bus_cyc));
        if (ch->starving == DRAM_NONE) next = dram_min(next, ch->starve_cyc);
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
    ch->row_count = spec->rows;
    ch->column_count = spec->columns;
    ch->single_bus = spec->bus == dram_bus_single;
    ch->entry_count =
        (spec->queue == dram_queue_unified ? spec->queue_entries : spec->read_entries + spec->write_entries) +
        (spec->bank_slots ? banks : 0);
    ch->entries =
        arena_alloc_aligned(a, ch->entry_count * sizeof(struct dram_entry), _Alignof(struct dram_entry));
    ch->lines = ARENA_ARRAY(a, struct dram_line, ch->entry_count);
    ch->free_lines = ARENA_ARRAY(a, uint16_t, ch->entry_count);
    for (uint32_t i = 0; i < ch->entry_count; i++) {
        ch->entries[i].next = i + 1 < ch->entry_count ? (uint16_t)(i + 1) : DRAM_NONE;
        ch->free_lines[i] = (uint16_t)(ch->entry_count - 1 - i);
    }
    ch->free_line_count = ch->entry_count;
    ch->staged.head = ch->staged.tail = DRAM_NONE;
    ch->kinds = spec->queue == dram_queue_unified ? 3u : 1u << DRAM_READ;
    ch->next_cyc = DRAM_NEVER;
    ch->col_next_cyc = ch->row_next_cyc = DRAM_NEVER;
    ch->starve_cyc = DRAM_NEVER;
    ch->starving = DRAM_NONE;
    ch->refresh_due_cyc = spec->refresh ? spec->trefi_cyc : DRAM_NEVER;
    ch->all_banks = banks == 64 ? UINT64_MAX : dram_bit(banks) - 1;
    for (uint32_t bank = 0; bank < banks; bank++) {
        ch->banks[bank].group = bank / spec->banks_per_group;
        ch->banks[bank].slot = DRAM_NONE;
        for (uint32_t kind = 0; kind < 2; kind++) {
            ch->banks[bank].hit[kind] = DRAM_NONE;
            ch->banks[bank].list[kind] = (struct dram_list){.head = DRAM_NONE, .tail = DRAM_NONE};
        }
    }
    return ch;
}
