/* dram_accept: into the channel: room, columns that a waiting write already holds, the staging of what the
 * scheduler sees from the next cycle on. See dram.h for the contract. */
#include "dram/dram_take.h"

/* ---- into the scheduler ---- */

/* Joins the queue of its bank. True: it is the first there, or the first that the open row serves; any other
 * column is younger than the column that decides the bank's next row command. */
static inline bool join(struct dram_channel *ch, struct dram_entry *e, uint32_t kind, struct dram_bank *b)
{
    struct dram_side *side = &b->side[kind];
    const bool first = !side->head;
    dram_append(side, e);
    if (ch->front.split) {
        ch->seen[kind]++;
        ch->awake = true;
    }
    return first || (dram_row(e) == b->open_row && !side->hit);
}

__attribute__((noinline)) void dram_joined(struct dram_channel *ch, struct dram_entry *e, struct dram_bank *b,
                                           uint64_t from_cyc)
{
    const uint32_t kind = e->kind;
    struct dram_side *side = &b->side[kind];
    bool changed = side->head == e;
    if (dram_row(e) == b->open_row && !side->hit) {
        dram_hit_begins(ch, kind, side, e);
        const uint64_t cyc = dram_max(dram_column_cyc(ch, kind, side), from_cyc);
        ch->col_next_cyc = dram_min(ch->col_next_cyc, cyc);
        changed |= b->row_entry != NULL; /* a hit keeps the row open */
    }
    if (!changed) return;
    dram_bank_changed(ch, b);
    ch->row_next_cyc = dram_max(ch->row_next_cyc, from_cyc);
    if (side->head != e || !ch->starvation_cyc) return;
    ch->starve_cyc = dram_min(ch->starve_cyc, e->accept_cyc + ch->starvation_cyc);
    ch->alarm_cyc = dram_min(ch->alarm_cyc, ch->starve_cyc);
}

void dram_admit(struct dram_channel *ch, uint64_t now)
{
    struct dram_entry *e = ch->staged;
    while (e && e->visible_cyc <= now) {
        struct dram_entry *next = e->next;
        struct dram_bank *b = &ch->banks[dram_bank_of(e)];
        if (join(ch, e, e->kind, b)) dram_joined(ch, e, b, now);
        e = next;
    }
    ch->staged = e;
}

/* ---- waiting writes ---- */

/* A waiting write to this address? The filter has already said that there may be one. */
DRAM_RARE static bool write_waits(const struct dram_channel *ch, uint64_t key)
{
    const struct dram_bank *b = &ch->banks[dram_key_bank(key)];
    for (const struct dram_entry *e = b->side[DRAM_WRITE].head; e; e = e->next)
        if (e->key == key) return true;
    if (b->slot && b->slot->kind == DRAM_WRITE && b->slot->key == key) return true;
    for (const struct dram_entry *e = ch->staged; e; e = e->next)
        if (e->kind == DRAM_WRITE && e->key == key) return true;
    return false;
}

bool dram_write_waits(const struct dram_channel *ch, uint64_t key)
{
    return ch->filter[dram_filter_slot(key)] && write_waits(ch, key);
}

/* Which columns of the request a waiting write already holds (bit i = column i of the request): a read finds
 * its data there, a write is absorbed. */
static uint64_t absorbed_columns(const struct dram_channel *ch, uint64_t key, uint32_t column_count)
{
    uint64_t absorbed = 0;
    for (uint32_t i = 0; i < column_count; i++)
        if (ch->filter[dram_filter_slot(key + i)] && write_waits(ch, key + i)) absorbed |= UINT64_C(1) << i;
    return absorbed;
}

/* A column whose data a waiting write holds: one cycle, as if through the queue. */
static void count_absorbed(struct dram_channel *ch, uint64_t now, enum dram_kind kind)
{
    if (kind == DRAM_READ) {
        ch->front.stats.reads++;
        ch->front.stats.forwarded++;
        ch->front.stats.read_latency_cyc++;
        ch->front.stats.read_latency[1]++;
        ch->last_data_cyc = dram_max(ch->last_data_cyc, now + 1);
    } else {
        ch->front.stats.writes++;
        ch->front.stats.merged++;
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
    ch->front.next_cyc = dram_min(ch->front.next_cyc, visible_cyc);
}

DRAM_RARE static bool refuse(struct dram_channel *ch)
{
    ch->front.stats.refused++;
    ch->front.refused = true;
    return false;
}

/* Some of its columns, or all, are held by a waiting write. */
DRAM_RARE static bool accept_rest(struct dram_channel *ch, uint64_t now, enum dram_kind kind, uint64_t key,
                                  uint32_t column_count, uint64_t tag, uint64_t absorbed)
{
    const uint32_t columns = column_count - (uint32_t)__builtin_popcountll(absorbed);
    if (columns > *dram_room(ch, kind)) return refuse(ch);
    const uint32_t line = take_line(ch, columns);
    count_accepted(ch, now, kind, columns);
    for (uint32_t i = 0; i < column_count; i++) {
        if (absorbed >> i & 1)
            count_absorbed(ch, now, kind);
        else
            stage(ch, plan_intake(ch, now), take_entry(ch, now, kind, key + i, tag, line));
    }
    if (!columns) ch->wiring.done(ch->wiring.owner, tag, kind, now, now + 1);
    return true;
}

/* After the step of this cycle nothing looks before the next one: no need to wait outside. */
static inline bool joins_now(const struct dram_channel *ch, uint64_t now)
{
    return ch->stepped_cyc == now && !ch->staged;
}

/* The same after the step of its cycle. */
static __attribute__((noinline)) bool joined_late(struct dram_channel *ch, uint64_t now, struct dram_entry *e,
                                                  struct dram_bank *b)
{
    dram_joined(ch, e, b, now + 1);
    if (ch->plain) ch->front.next_cyc = dram_max(dram_due_cyc(ch), now + 1);
    return true;
}

__attribute__((noinline)) bool dram_take_in_turn(struct dram_channel *ch, uint64_t now, uint32_t kind,
                                                 uint64_t key, uint32_t columns, uint64_t tag)
{
    const uint32_t line = take_line(ch, columns);
    struct dram_bank *b = &ch->banks[dram_key_bank(key)];
    if (!ch->plain) ch->front.next_cyc = now + 1;
    for (uint32_t i = 0; i < columns; i++) {
        struct dram_entry *e = take_entry(ch, now, kind, key + i, tag, line);
        const uint64_t visible_cyc = plan_intake(ch, now);
        if (!joins_now(ch, now) || visible_cyc != now + 1)
            stage(ch, visible_cyc, e);
        else if (join(ch, e, kind, b))
            joined_late(ch, now, e, b);
    }
    return true;
}

/* There may be waiting writes to its address, and the channel need not be plain. */
static DRAM_HOT inline bool accept_any(struct dram_channel *ch, uint64_t now, uint32_t kind, uint64_t key,
                                       uint32_t columns, uint64_t tag)
{
    if (ch->front.waiting_writes) {
        const uint64_t absorbed = absorbed_columns(ch, key, columns);
        if (absorbed) return accept_rest(ch, now, (enum dram_kind)kind, key, columns, tag, absorbed);
    }
    if (columns > *dram_room(ch, kind)) return refuse(ch);
    count_accepted(ch, now, kind, columns);
    if (ch->in_turn || !joins_now(ch, now)) return dram_take_in_turn(ch, now, kind, key, columns, tag);
    return take_now(ch, now, kind, key, columns, tag);
}

static __attribute__((noinline)) bool read_any(struct dram_channel *ch, uint64_t now, uint64_t key,
                                               uint32_t columns, uint64_t tag)
{
    return accept_any(ch, now, DRAM_READ, key, columns, tag);
}

bool dram_try_read(struct dram_channel *ch, uint64_t now, uint64_t key, uint32_t column_count, uint64_t tag)
{
    if (ch->front.waiting_writes || ch->in_turn || !joins_now(ch, now))
        return read_any(ch, now, key, column_count, tag);
    if (column_count > ch->front.room[0]) return refuse(ch);
    count_accepted(ch, now, DRAM_READ, column_count);
    return take_now(ch, now, DRAM_READ, key, column_count, tag);
}

bool dram_try_write(struct dram_channel *ch, uint64_t now, uint64_t key, uint32_t column_count, uint64_t tag)
{
    return accept_any(ch, now, DRAM_WRITE, key, column_count, tag);
}

bool dram_try_accept(struct dram_channel *ch, uint64_t now, const struct dram_request *rq)
{
    DIAG_ASSERT(rq->bank < ch->bank_count && rq->row < ch->row_count);
    DIAG_ASSERT(rq->column_count - 1 < 64 && (uint64_t)rq->column + rq->column_count <= ch->column_count);
    const uint64_t key = dram_key(rq->bank, rq->row, rq->column);
    return rq->kind == DRAM_READ ? dram_try_read(ch, now, key, rq->column_count, rq->tag)
                                 : dram_try_write(ch, now, key, rq->column_count, rq->tag);
}
