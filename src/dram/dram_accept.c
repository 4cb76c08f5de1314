/* dram_accept: into the channel: room, columns that a waiting write already holds, the staging of what the
 * scheduler sees from the next cycle on. See dram.h for the contract. */
#include "dram/dram_state.h"

/* ---- into the scheduler ---- */

/* Joins the queue of its bank; what that changes for the bank is noted. */
static inline void join(struct dram_channel *ch, struct dram_entry *entries, uint16_t idx, uint32_t kind,
                        uint32_t bank)
{
    const struct dram_entry *e = &entries[idx];
    struct dram_bank *b = &ch->banks[bank];
    const uint64_t bit = b->bit;
    const bool first = b->list[kind].head == DRAM_NONE;
    dram_append(entries, &b->list[kind], idx);
    ch->seen[kind]++;
    ch->awake = true;
    bool changed = first;
    if (b->hit[kind] == DRAM_NONE && ch->open_mask & bit && dram_row(e) == b->open_row) {
        b->hit[kind] = idx;
        b->hit_seq[kind] = e->seq;
        ch->hit_mask[kind] |= bit;
        ch->col_next_cyc = dram_min(ch->col_next_cyc, dram_column_cyc(ch, kind, bank));
        changed |= (ch->pre_mask & bit) != 0; /* a hit keeps the row open */
    }
    /* Any other column is younger than what its bank already wants. */
    if (!changed) return;
    dram_bank_changed(ch, bank);
    if (first && ch->starvation_cyc) {
        ch->starve_cyc = dram_min(ch->starve_cyc, e->accept_cyc + ch->starvation_cyc);
        ch->alarm_cyc = dram_min(ch->alarm_cyc, ch->starve_cyc);
    }
}

void dram_admit(struct dram_channel *ch, uint64_t now)
{
    struct dram_entry *entries = ch->entries;
    uint16_t idx = ch->staged.head;
    while (idx != DRAM_NONE && entries[idx].visible_cyc <= now) {
        const uint16_t next = entries[idx].next;
        join(ch, entries, idx, entries[idx].kind, dram_bank_of(&entries[idx]));
        idx = next;
    }
    ch->staged.head = idx;
}

/* ---- waiting writes ---- */

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
static uint64_t absorbed_columns(const struct dram_channel *ch, const struct dram_request *rq, uint64_t key)
{
    uint64_t absorbed = 0;
    for (uint32_t i = 0; i < rq->column_count; i++)
        if (ch->filter[dram_filter_slot(key + i)] && write_waits(ch, rq->bank, key + i))
            absorbed |= UINT64_C(1) << i;
    return absorbed;
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

/* ---- acceptance ---- */

static uint64_t plan_intake(struct dram_channel *ch, uint64_t now)
{
    if (!ch->intake_per_cyc) return now + 1;
    if (ch->intake_cyc < now + 1) {
        ch->intake_cyc = now + 1;
        ch->intake_used = 0;
    } else if (ch->intake_used == ch->intake_per_cyc) {
        ch->intake_cyc++;
        ch->intake_used = 0;
    }
    ch->intake_used++;
    return ch->intake_cyc;
}

/* Takes an entry for one column. */
static inline uint16_t take_entry(struct dram_channel *ch, uint64_t now, const struct dram_request *rq,
                                  uint64_t key, uint16_t line)
{
    const uint32_t kind = rq->kind;
    const uint16_t idx = ch->free_head;
    struct dram_entry *e = &ch->entries[idx];
    ch->free_head = e->next;
    e->seq = ch->next_seq++;
    e->accept_cyc = now;
    e->tag = rq->tag;
    e->key = key;
    e->line = line;
    e->kind = (uint8_t)kind;
    e->class = DRAM_HIT;
    e->behind_read = kind == DRAM_WRITE; /* until looked at */
    if (kind == DRAM_WRITE) {
        ch->filter[dram_filter_slot(key)]++;
        ch->waiting_writes++;
    }
    return idx;
}

static inline uint16_t take_line(struct dram_channel *ch, uint32_t columns)
{
    if (columns < 2) return DRAM_NONE;
    const uint16_t line = ch->free_lines[--ch->free_line_count];
    ch->lines[line].waiting_count = columns;
    return line;
}

static inline void count_accepted(struct dram_channel *ch, uint32_t kind, uint32_t columns)
{
    *dram_room(ch, kind) -= columns;
    if (kind == DRAM_READ)
        ch->stats.reads += columns;
    else
        ch->stats.writes += columns;
    stats_peak(&ch->stats.waiting_peak, ch->stats.waiting += columns);
}

/* The scheduler will see it later; the staged ones are linked through next. */
static void stage(struct dram_channel *ch, uint64_t visible_cyc, uint16_t idx)
{
    struct dram_entry *e = &ch->entries[idx];
    e->visible_cyc = visible_cyc;
    e->next = DRAM_NONE;
    if (ch->staged.head == DRAM_NONE)
        ch->staged.head = idx;
    else
        ch->entries[ch->staged.tail].next = idx;
    ch->staged.tail = idx;
    ch->alarm_cyc = dram_min(ch->alarm_cyc, visible_cyc);
    ch->next_cyc = dram_min(ch->next_cyc, visible_cyc);
}

DRAM_RARE static bool refuse(struct dram_channel *ch)
{
    ch->stats.refused++;
    ch->refused = true;
    return false;
}

/* Some of its columns, or all, are held by a waiting write. */
DRAM_RARE static bool accept_rest(struct dram_channel *ch, uint64_t now, const struct dram_request *rq,
                                  uint64_t key, uint64_t absorbed)
{
    const uint32_t columns = rq->column_count - (uint32_t)__builtin_popcountll(absorbed);
    if (columns > *dram_room(ch, rq->kind)) return refuse(ch);
    const uint16_t line = take_line(ch, columns);
    count_accepted(ch, rq->kind, columns);
    for (uint32_t i = 0; i < rq->column_count; i++) {
        if (absorbed >> i & 1)
            count_absorbed(ch, now, rq->kind);
        else
            stage(ch, plan_intake(ch, now), take_entry(ch, now, rq, key + i, line));
    }
    if (!columns)
        ch->wiring.done(
            ch->wiring.owner,
            &(struct dram_done){.tag = rq->tag, .kind = rq->kind, .accept_cyc = now, .done_cyc = now + 1});
    return true;
}

bool dram_try_accept(struct dram_channel *ch, uint64_t now, const struct dram_request *rq)
{
    const uint32_t columns = rq->column_count, bank = rq->bank, kind = rq->kind;
    DIAG_ASSERT(bank < ch->bank_count && rq->row < ch->row_count);
    DIAG_ASSERT(columns && (uint64_t)rq->column + columns <= ch->column_count && columns <= 64);
    const uint64_t key = dram_pack(bank, rq->row, rq->column);
    if (ch->waiting_writes) {
        const uint64_t absorbed = absorbed_columns(ch, rq, key);
        if (absorbed) return accept_rest(ch, now, rq, key, absorbed);
    }
    if (columns > *dram_room(ch, kind)) return refuse(ch);
    const uint16_t line = take_line(ch, columns);
    count_accepted(ch, kind, columns);
    for (uint32_t i = 0; i < columns; i++) {
        const uint16_t idx = take_entry(ch, now, rq, key + i, line);
        const uint64_t visible_cyc = plan_intake(ch, now);
        /* After the step of this cycle nothing looks before the next one: no need to wait outside. */
        if (ch->stepped_cyc == now && ch->staged.head == DRAM_NONE && visible_cyc == now + 1)
            join(ch, ch->entries, idx, kind, bank);
        else
            stage(ch, visible_cyc, idx);
    }
    ch->next_cyc = ch->plain ? dram_max(dram_due_cyc(ch), now + 1) : now + 1;
    return true;
}
