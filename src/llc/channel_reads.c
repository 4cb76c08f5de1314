/* channel_reads: a channel in a window: reads, and writes among writes.
 *
 *   memory bus ─► fill of the slice
 *   slices in turn ─► queue of a bank
 *
 * One loop: step of the channel, completion, acceptance. What else may happen (the first write, refresh,
 * who starves) ends it for that cycle. There are copies of it: while writes wait from before, and while none
 * does, and for two slices, which take turns.
 *
 * Every cycle has the effect of work_next() of dram/channel.c. */
#include "llc/channel_reads.h"

#include "check/fault.h"
#include "dram/channel_inside.h"
#include "dram/dram_reads.h"
#include "llc/slice_memory.h"

struct run {
    struct channel *ch;
    struct dram_channel *d;
    struct dram_reads reads;
    const uint64_t *pending;
    uint32_t turn, slice_count;
    bool minds; /* one of the slices waits for room */
    uint64_t until_cyc;
    uint64_t last_cyc; /* nothing special before the one after it */
    uint64_t now;
    bool full; /* one was refused, and no entry has become free since */
    /* While writes wait: where operations are that were refused, as they come again. Of the slice whose turn
     * it is, and of the other one, if there are two. */
    struct place_known {
        const struct memory_op *op; /* NULL: of none */
        uint64_t key;
    } next, after;
};

/* Which copy of the loop is right now. */
CHANNEL_HOT enum dram_path path_of(const struct dram_channel *d)
{
    return d->front.waiting_writes ? DRAM_LEAN : DRAM_READS;
}

/* What is special may have come nearer: after anything but plain reads. */
CHANNEL_HOT void look(struct run *r, enum dram_path path)
{
    const struct dram_channel *d = r->d;
    r->last_cyc = path != path_of(d) || !d->alarm_cyc ? 0 : dram_min(r->until_cyc, d->alarm_cyc - 1);
}

/* The channel is as everybody else knows it, and is theirs for a while. */
CHANNEL_HOT void hand_over(const struct run *r, uint64_t now, bool full, enum dram_path path)
{
    dram_reads_end(r->d, &r->reads, path);
    r->d->stepped_cyc = now;
    r->d->front.refused = full;
    r->ch->rr_client = r->turn;
}

CHANNEL_HOT void take_over(struct run *r, enum dram_path path)
{
    r->reads = dram_reads_begin(r->d);
    r->turn = r->ch->rr_client;
    r->minds = false;
    for (uint32_t k = 0; k < r->slice_count; k++) r->minds |= needs_accept_wakeup(r->ch->clients[k]);
    r->next.op = r->after.op = NULL;
    look(r, path);
}

/* ---- out of the channel ---- */

/* When the fill of a read that is sent at a tick is there: as fill_cyc() of the slice. */
CHANNEL_HOT uint64_t back_cyc(const struct run *r, uint64_t tick)
{
    const struct channel_clock *const k = &r->ch->clock;
    const unsigned __int128 product =
        (unsigned __int128)(2 * tick + k->done_half_ticks) * k->cycles_per_half_tick;
    return (uint64_t)(product >> 64) + k->back_cyc;
}

CHANNEL_HOT void come_back(const struct run *r, uint64_t now, uint64_t tick, const struct dram_entry *e)
{
    struct dram_channel *const d = r->d;
    const uint64_t latency_cyc = now + d->gap.done[DRAM_READ] - e->accept_cyc;
    const struct channel_latency *const row =
        &r->ch->clock.latency[(uint32_t)__builtin_clzll(latency_cyc) ^ 63];
    d->front.stats.read_latency[row->own_bucket]++;
    d->front.stats.read_latency_cyc += latency_cyc;
    if (e->line != DRAM_NONE && !line_ends(d, e->line)) return;
    struct slice *const s = r->ch->clients[tag_client(e->tag)];
    s->stats.memory_latency[row->bucket + (latency_cyc >= row->limit_cyc)]++;
    append_window_fill(s, channel_tag_line(e->tag), r->ch->clock.sectors_of[channel_tag_columns(e->tag)],
                       back_cyc(r, tick) + FAULT_FIRES(fast_fill_late));
}

CHANNEL_HOT const struct dram_entry *step(const struct run *r, uint64_t now, enum dram_path path)
{
    struct dram_channel *const d = r->d;
    rows_before(d, now, path);
    const struct dram_entry *served = d->col_next_cyc <= now ? reads_column(d, now, path) : NULL;
    if (d->row_next_cyc <= now) row_command(d, now, path);
    return served;
}

/* A write was served, of which nobody is told. */
CHANNEL_HOT void write_ends(struct run *r, const struct dram_entry *e)
{
    if (e->line != DRAM_NONE) (void)line_ends(r->d, e->line);
    look(r, DRAM_LEAN);
}

/* ---- into it ---- */

/* What becomes of an operation. */
enum offer { NOT_DUE, TAKEN, REFUSED, TO_BE_SEEN };

CHANNEL_HOT enum offer refuse(const struct run *r)
{
    r->d->front.stats.refused++;
    return REFUSED;
}

/* All slices in turn, whatever they have; the one whose turn it was has had it: all others. */
static __attribute__((noinline)) void pull_any(struct channel *ch, uint64_t now, bool others)
{
    uint32_t slice = ch->rr_client;
    if (!others) {
        ch->pull(ch, now);
        return;
    }
    for (uint32_t k = 1; k < ch->wire.client_count && !dram_channel_full(ch->dram); k++) {
        if (++slice == ch->wire.client_count) slice = 0;
        if (*ch->wire.pending >> slice & 1) (void)channel_offer(ch, now, now * ch->ticks_per_cycle, slice);
    }
}

CHANNEL_HOT const struct memory_op *oldest_of(const struct slice *s) { return s->own_queue.ops.front; }

CHANNEL_HOT bool is_due(const struct slice *s, uint64_t tick) { return oldest_of(s)->ready_tick <= tick; }

/* Does no waiting write hold any of an operation? Then *known has its place. Asked once for one that is
 * refused and comes again, as no write has come meanwhile. */
CHANNEL_HOT bool is_apart(const struct run *r, struct place_known *known, const struct memory_op *op)
{
    if (known->op == op) return true;
    const uint64_t key = op_key(r->ch, op);
    if (reads_may_find(r->d, key, op->column_count)) return false;
    known->op = op;
    known->key = key;
    return true;
}

/* Memory has taken the operation of the slice whose turn it was. */
CHANNEL_HOT void next_turn(struct run *r, uint64_t tick, struct slice *s, bool two)
{
    drop_oldest(s, &s->own_queue, 0);
    r->next = r->after;
    r->after.op = NULL;
    if (__builtin_expect(r->minds, 0) && needs_accept_wakeup(s)) slice_wake_on_accept(s, tick);
    if (two)
        r->turn ^= 1;
    else if (++r->turn == r->slice_count)
        r->turn = 0;
}

/* A read, for which there is room, of the slice whose turn it is. */
CHANNEL_HOT enum offer take_read(struct run *r, uint64_t now, uint64_t tick, struct slice *s, uint64_t key,
                                 enum dram_path path, bool two)
{
    const struct memory_op *const op = oldest_of(s);
    if (reads_take(r->d, now, key, op->column_count, op_tag(r->turn, op))) look(r, path);
    next_turn(r, tick, s, two);
    return TAKEN;
}

/* The same of a write, while others wait. */
CHANNEL_HOT enum offer take_write(struct run *r, uint64_t now, uint64_t tick, struct slice *s, uint64_t key,
                                  bool two)
{
    const struct memory_op *const op = oldest_of(s);
    if (op->writers_count || op->move) return TO_BE_SEEN;
    reads_take_write(r->d, now, key, op->column_count, op_tag(r->turn, op));
    r->reads.room -= op->column_count;
    look(r, DRAM_LEAN);
    next_turn(r, tick, s, two);
    r->next.op = NULL; /* it may hold what comes */
    return TAKEN;
}

/* The oldest operation of the slice whose turn it is. */
CHANNEL_HOT enum offer offer_first(struct run *r, uint64_t now, uint64_t tick, struct slice *s,
                                   enum dram_path path, bool two)
{
    if (!is_due(s, tick)) return NOT_DUE;
    const struct memory_op *const op = oldest_of(s);
    const bool fits = op->column_count <= r->d->front.room[0];
    if (path == DRAM_READS) {
        if (!fits) return refuse(r);
        if (memory_op_is_write(op)) return TO_BE_SEEN;
        return take_read(r, now, tick, s, op_key(r->ch, op), path, two);
    }
    if (!is_apart(r, &r->next, op)) return TO_BE_SEEN;
    if (!fits) return refuse(r);
    return memory_op_is_write(op) ? take_write(r, now, tick, s, r->next.key, two)
                                  : take_read(r, now, tick, s, r->next.key, path, two);
}

/* Those whose turn it is not. taken: the turn has just passed from this slice; of two it is then the other
 * one. */
CHANNEL_HOT enum offer offer_others(struct run *r, uint64_t tick, const struct slice *taken,
                                    enum dram_path path, bool two)
{
    const bool full = !r->d->front.room[0];
    if (taken && two) {
        if (!is_due(taken, tick)) return NOT_DUE;
        if (!full) return TO_BE_SEEN;
        if (path != DRAM_READS && !is_apart(r, &r->after, oldest_of(taken))) return TO_BE_SEEN;
        return refuse(r);
    }
    uint64_t others = *r->pending & ~((uint64_t)1 << r->turn);
    for (; others; others &= others - 1) {
        if (oldest_of(r->ch->clients[__builtin_ctzll(others)])->ready_tick > tick) continue;
        if (path != DRAM_READS || !full) return TO_BE_SEEN;
        return refuse(r);
    }
    return NOT_DUE;
}

/* As pull_each() of dram/channel.c: one of the slice whose turn it is, then one of each of the others. True:
 * one was refused. */
CHANNEL_HOT bool pull(struct run *r, uint64_t now, uint64_t tick, enum dram_path path, bool two)
{
    struct slice *const s = r->ch->clients[r->turn];
    const enum offer first = offer_first(r, now, tick, s, path, two);
    if (first == REFUSED) return true;
    if (first != TO_BE_SEEN) {
        const enum offer other = offer_others(r, tick, first == TAKEN ? s : NULL, path, two);
        if (other != TO_BE_SEEN) return other == REFUSED;
    }
    hand_over(r, now, false, path);
    pull_any(r->ch, now, first != TO_BE_SEEN);
    take_over(r, path);
    return r->d->front.refused;
}

/* ---- time ---- */

/* After a cycle: when slices have something that may be accepted, … */
CHANNEL_HOT uint64_t pull_due(const struct run *r, uint64_t now, bool full, uint64_t next)
{
    if (full) return next;
    for (uint64_t left = *r->pending; left; left &= left - 1)
        next = dram_min(next, cycle_from(r->ch, memory_queue_due(r->ch->queues[__builtin_ctzll(left)])));
    return dram_max(next, now + 1);
}

/* … or anything is due, but for what is special. */
CHANNEL_HOT uint64_t next_due(const struct run *r, uint64_t now, bool full)
{
    const uint64_t row_cyc = r->d->row_next_cyc;
    uint64_t next = r->d->col_next_cyc;
    if (__builtin_expect(row_cyc < next, 1)) next = dram_min(next, row_cyc + r->d->act_col_min);
    return pull_due(r, now, full, next);
}

/* Cycles from next on, until one with something special; returns the next one. */
CHANNEL_HOT uint64_t work_cycles(struct run *from, uint64_t next, enum dram_path path, bool two)
{
    struct run r = *from; /* its own, in registers */
    bool full = r.full;
    uint64_t now;
    take_over(&r, path);
    do {
        now = next;
        const uint64_t tick = now * r.ch->ticks_per_cycle;
        const struct dram_entry *const served = step(&r, now, path);
        if (served) {
            if (path == DRAM_READS || served->kind == DRAM_READ)
                come_back(&r, now, tick, served);
            else
                write_ends(&r, served);
            full = false;
        }
        if (!full) full = pull(&r, now, tick, path, two);
        next = next_due(&r, now, full);
    } while (next <= r.last_cyc);
    hand_over(&r, now, full, path);
    from->full = full;
    from->now = now;
    return next;
}

static __attribute__((noinline)) uint64_t reads_of_two(struct run *r, uint64_t next)
{
    return work_cycles(r, next, DRAM_READS, true);
}
static __attribute__((noinline)) uint64_t reads_of_any(struct run *r, uint64_t next)
{
    return work_cycles(r, next, DRAM_READS, false);
}
static __attribute__((noinline)) uint64_t among_writes_of_two(struct run *r, uint64_t next)
{
    return work_cycles(r, next, DRAM_LEAN, true);
}
static __attribute__((noinline)) uint64_t among_writes_of_any(struct run *r, uint64_t next)
{
    return work_cycles(r, next, DRAM_LEAN, false);
}

static inline uint64_t work_on(struct run *r, uint64_t next)
{
    const bool two = r->slice_count == 2;
    if (r->d->front.waiting_writes) return two ? among_writes_of_two(r, next) : among_writes_of_any(r, next);
    return two ? reads_of_two(r, next) : reads_of_any(r, next);
}

static uint64_t work_reads(struct channel *ch, uint64_t until)
{
    struct dram_channel *const d = ch->dram;
    struct run r = {.ch = ch,
                    .d = d,
                    .pending = ch->wire.pending,
                    .slice_count = ch->wire.client_count,
                    .until_cyc = dram_min(until, ch->clock.exact_cyc),
                    .full = d->front.refused};
    const uint64_t first_seq = d->next_seq;
    uint64_t next = ch->due_cyc;
    look(&r, path_of(d));
    if (FAULT_CLOSES_FAST_LOOPS || !d->lean || d->in_turn || next > r.last_cyc) return next;
    do {
        next = work_on(&r, next);
        look(&r, path_of(d));
    } while (next <= r.last_cyc);
    d->front.next_cyc = d->front.stats.waiting ? dram_max(dram_due_cyc(d), r.now + 1) : dram_idle(d);
    if (d->next_seq != first_seq) engine_progress(ch->wire.engine);
    return ch->due_cyc = pull_due(&r, r.now, r.full, d->front.next_cyc);
}

/* ---- building ---- */

void channel_reads_connect(struct channel *ch, const struct slice_spec *spec)
{
    ch->work_reads = work_reads;
    struct channel_clock *const k = &ch->clock;
    const uint64_t ticks_per_cycle = ch->ticks_per_cycle;
    const uint64_t slice_ticks_per_cycle = spec->ticks_per_cycle;
    const uint32_t most = sizeof(((struct llc_stats *)0)->memory_latency) / sizeof(uint64_t) - 1;
    const uint32_t own_most = sizeof(((struct dram_stats *)0)->read_latency) / sizeof(uint64_t) - 1;
    /* Half ticks, as the clocks may be the same. The product is too large by less than a part of 2^63. */
    const uint64_t half = UINT64_C(1) << 63, exact_cyc = half / slice_ticks_per_cycle / ticks_per_cycle;
    const uint64_t spare_cyc = UINT64_C(1) << 20; /* to the end of data */
    k->cycles_per_half_tick = half / slice_ticks_per_cycle + 1;
    k->exact_cyc = exact_cyc > spare_cyc ? exact_cyc - spare_cyc : 0;
    k->back_cyc = spec->back_cyc;
    memcpy(k->sectors_of, spec->sectors_of, sizeof k->sectors_of);
    k->done_half_ticks = 2 * (ch->dram->gap.done[DRAM_READ] * ticks_per_cycle + slice_ticks_per_cycle - 1);
    for (uint32_t log2 = 0; log2 < 64; log2++) {
        struct channel_latency *const row = &k->latency[log2];
        const unsigned __int128 least = ((unsigned __int128)1 << log2) * ticks_per_cycle;
        while (row->bucket < most && (unsigned __int128)slice_ticks_per_cycle << row->bucket <= least)
            row->bucket++;
        const unsigned __int128 limit = (unsigned __int128)slice_ticks_per_cycle << row->bucket;
        row->limit_cyc =
            row->bucket < most ? (uint64_t)((limit + ticks_per_cycle - 1) / ticks_per_cycle) : UINT64_MAX;
        row->own_bucket = log2 + 1 < own_most ? log2 + 1 : own_most;
    }
}
