/* dram_accept: into the channel: room, columns that a waiting write already holds, the staging of what the
 * scheduler sees from the next cycle on. See dram.h for the contract. */
#include "dram/dram_lists.h"

/* ---- into the scheduler ---- */

/* Joins the queue of its bank; false when that changes nothing that is due. */
static inline bool join(struct dram_channel *ch, struct dram_entry *e, uint32_t kind, struct dram_bank *b)
{
    struct dram_side *side = &b->side[kind];
    bool changed = !side->head, hits = false;
    dram_append(side, e);
    if (ch->split) {
        ch->seen[kind]++;
        ch->awake = true;
    }
    if (dram_row(e) == b->open_row && !side->hit) {
        hits = true;
        dram_hit_begins(ch, kind, side, e);
        ch->col_next_cyc = dram_min(ch->col_next_cyc, dram_column_cyc(ch, kind, side));
        changed |= b->row_entry != NULL; /* a hit keeps the row open */
    }
    /* Any other column is younger than what its bank already wants. */
    if (!changed) return hits;
    dram_bank_changed(ch, b);
    if (side->head == e && ch->starvation_cyc) {
        ch->starve_cyc = dram_min(ch->starve_cyc, e->accept_cyc + ch->starvation_cyc);
        ch->alarm_cyc = dram_min(ch->alarm_cyc, ch->starve_cyc);
    }
    return true;
}

void dram_admit(struct dram_channel *ch, uint64_t now)
{
    struct dram_entry *e = ch->staged;
    while (e && e->visible_cyc <= now) {
        struct dram_entry *next = e->next;
        (void)join(ch, e, e->kind, &ch->banks[dram_bank_of(e)]);
        e = next;
    }
    ch->staged = e;
}

/* ---- waiting writes ---- */

/* A waiting write to this address? The filter has already said that there may be one. */
DRAM_RARE static bool write_waits(const struct dram_channel *ch, uint32_t bank, uint64_t key)
{
    const struct dram_bank *b = &ch->banks[bank];
    for (const struct dram_entry *e = b->side[DRAM_WRITE].head; e; e = e->next)
        if (e->key == key) return true;
    if (b->slot && b->slot->kind == DRAM_WRITE && b->slot->key == key) return true;
    for (const struct dram_entry *e = ch->staged; e; e = e->next)
        if (e->kind == DRAM_WRITE && e->key == key) return true;
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
static inline struct dram_entry *take_entry(struct dram_channel *ch, uint64_t now,
                                            const struct dram_request *rq, uint32_t kind, uint64_t key,
                                            uint16_t line)
{
    struct dram_entry *e = ch->free_entries;
    ch->free_entries = e->next;
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
    return e;
}

static inline uint16_t take_line(struct dram_channel *ch, uint32_t columns)
{
    if (columns < 2) return DRAM_NONE;
    const uint16_t line = ch->free_lines[--ch->free_line_count];
    ch->lines[line].waiting_count = columns;
    return line;
}

static inline void count_accepted(struct dram_channel *ch, uint64_t now, uint32_t kind, uint32_t columns)
{
    dram_count_waiting(ch, now);
    *dram_room(ch, kind) -= columns;
    if (kind == DRAM_READ)
        ch->stats.reads += columns;
    else
        ch->stats.writes += columns;
    stats_peak(&ch->stats.waiting_peak, ch->stats.waiting += columns);
}

/* The scheduler will see it later; the staged ones are linked through next. */
static void stage(struct dram_channel *ch, uint64_t visible_cyc, struct dram_entry *e)
{
    e->visible_cyc = visible_cyc;
    e->next = NULL;
    if (ch->staged)
        ch->staged_last->next = e;
    else
        ch->staged = e;
    ch->staged_last = e;
    ch->alarm_cyc = dram_min(ch->alarm_cyc, visible_cyc);
    ch->next_cyc = dram_min(ch->next_cyc, visible_cyc);
}

DRAM_RARE static bool refuse(struct dram_channel *ch)
{
    ch->stats.refused++;
    ch->refused = true;
    return false;
}

bool dram_try_refuse(struct dram_channel *ch, uint32_t column_count)
{
    /* a waiting write may hold columns of it; a split queue may have room for its kind */
    if (ch->waiting_writes || ch->split || column_count <= ch->room[0]) return false;
    return !refuse(ch);
}

/* Some of its columns, or all, are held by a waiting write. */
DRAM_RARE static bool accept_rest(struct dram_channel *ch, uint64_t now, const struct dram_request *rq,
                                  uint64_t key, uint64_t absorbed)
{
    const uint32_t columns = rq->column_count - (uint32_t)__builtin_popcountll(absorbed);
    if (columns > *dram_room(ch, rq->kind)) return refuse(ch);
    const uint16_t line = take_line(ch, columns);
    count_accepted(ch, now, rq->kind, columns);
    for (uint32_t i = 0; i < rq->column_count; i++) {
        if (absorbed >> i & 1)
            count_absorbed(ch, now, rq->kind);
        else
            stage(ch, plan_intake(ch, now), take_entry(ch, now, rq, rq->kind, key + i, line));
    }
    if (!columns)
        ch->wiring.done(
            ch->wiring.owner,
            &(struct dram_done){.tag = rq->tag, .kind = rq->kind, .accept_cyc = now, .done_cyc = now + 1});
    return true;
}

/* kind is a constant in each copy of it. */
static DRAM_HOT inline bool accept(struct dram_channel *ch, uint64_t now, const struct dram_request *rq,
                                   uint32_t kind)
{
    const uint32_t columns = rq->column_count;
    const uint64_t key = dram_pack(rq->bank, rq->row, rq->column);
    if (ch->waiting_writes) {
        const uint64_t absorbed = absorbed_columns(ch, rq, key);
        if (absorbed) return accept_rest(ch, now, rq, key, absorbed);
    }
    if (columns > *dram_room(ch, kind)) return refuse(ch);
    const uint16_t line = take_line(ch, columns);
    count_accepted(ch, now, kind, columns);
    bool sooner = !ch->plain;
    uint32_t i = 0;
    do {
        struct dram_entry *e = take_entry(ch, now, rq, kind, key + i, line);
        const uint64_t visible_cyc = plan_intake(ch, now);
        /* After the step of this cycle nothing looks before the next one: no need to wait outside. */
        if (ch->stepped_cyc == now && !ch->staged && visible_cyc == now + 1)
            sooner |= join(ch, e, kind, &ch->banks[rq->bank]);
        else
            stage(ch, visible_cyc, e);
    } while (++i < columns);
    if (sooner) ch->next_cyc = ch->plain ? dram_max(dram_due_cyc(ch), now + 1) : now + 1;
    return true;
}

bool dram_try_accept(struct dram_channel *ch, uint64_t now, const struct dram_request *rq)
{
    DIAG_ASSERT(rq->bank < ch->bank_count && rq->row < ch->row_count);
    DIAG_ASSERT(rq->column_count - 1 < 64 && (uint64_t)rq->column + rq->column_count <= ch->column_count);
    return rq->kind == DRAM_READ ? accept(ch, now, rq, DRAM_READ) : accept(ch, now, rq, DRAM_WRITE);
}
