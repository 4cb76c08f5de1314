/* dram_reads: a lean channel, mostly of reads, as part of its owner's loop: the column bus and acceptance.
 * The first write to come into a channel of reads is taken by dram_accept.c. The row bus is that of
 * dram_rows.h. Included by llc/channel_reads.c only.
 *
 * The path, a constant in each copy, is DRAM_READS while nothing but reads waits, else DRAM_LEAN: then each
 * choice also looks at the writes, which are served and counted as everywhere.
 *
 * What can be told from the room that is left and from other counters is not counted: dram_reads_end() makes
 * up for it. Between dram_reads_begin() and that nobody else may look at the channel. */
#ifndef ATOLL_DRAM_READS_H
#define ATOLL_DRAM_READS_H

#include "dram/dram_pick.h"
#include "dram/dram_rows.h"
#include "dram/dram_take.h"

struct dram_reads {
    uint64_t room; /* at the beginning, as the others, less what writes have taken since */
    uint64_t served, column_writes, read_latency_cyc;
};

/* Every column that was served is of one class. */
static inline uint64_t columns_served(const struct dram_channel *ch)
{
    const struct dram_stats *const s = &ch->front.stats;
    return s->row_hits + s->row_misses + s->row_conflicts;
}

static inline struct dram_reads dram_reads_begin(struct dram_channel *ch)
{
    ch->col_own_cyc[DRAM_WRITE] = dram_chan_cyc(ch, DRAM_WRITE); /* kept up to date while writes wait */
    ch->least_room = ch->entry_count - (uint32_t)ch->front.stats.waiting_peak;
    return (struct dram_reads){.room = ch->front.room[0],
                               .served = columns_served(ch),
                               .column_writes = ch->front.stats.column_writes,
                               .read_latency_cyc = ch->front.stats.read_latency_cyc};
}

static inline void dram_reads_end(struct dram_channel *ch, const struct dram_reads *from, enum dram_path path)
{
    struct dram_stats *const s = &ch->front.stats;
    const uint64_t served = columns_served(ch) - from->served;
    const uint64_t reads = served - (s->column_writes - from->column_writes);
    const uint64_t waited_cyc =
        s->read_latency_cyc - from->read_latency_cyc - reads * ch->gap.done[DRAM_READ];
    s->column_reads += reads;
    s->reads += served + from->room - ch->front.room[0];
    s->waiting = ch->entry_count - ch->front.room[0];
    s->waiting_peak = ch->entry_count - ch->least_room;
    s->wait_cyc += waited_cyc;
    ch->waited_cyc += waited_cyc;
    if (!reads) return;
    if (path == DRAM_READS) ch->read_cyc = ch->col_own_cyc[DRAM_READ] - ch->gap.col_s[DRAM_READ][DRAM_READ];
    ch->changed_cyc = dram_max(ch->changed_cyc, ch->read_cyc);
}

/* ---- the column bus ---- */

/* The side whose hit goes now; NULL: none. Who is ready may still be among those that are coming: mostly
 * there is but one, which need not change lists. */
static inline struct dram_side *reads_pick(struct dram_channel *ch, uint64_t now)
{
    struct dram_side *const first = ch->coming[DRAM_READ].after, *const ready = &ch->ready[DRAM_READ];
    if (ch->col_own_cyc[DRAM_READ] > now) return NULL;
    if (ready->after == ready && first->after->col_cyc > now) return first->col_cyc <= now ? first : NULL;
    dram_hits_ready(ch, DRAM_READ, now);
    return ready->after;
}

/* The oldest write that may go now and is older than this read, if any; NULL: none. */
static inline struct dram_side *write_before(struct dram_channel *ch, uint64_t now,
                                             const struct dram_side *read)
{
    if (ch->col_own_cyc[DRAM_WRITE] > now) return NULL;
    const struct dram_side *const none = &ch->ready[DRAM_WRITE];
    if (none->after == none && ch->coming[DRAM_WRITE].after->col_cyc > now) return NULL;
    struct dram_side *const write = oldest_ready_write(ch, now, DRAM_LEAN);
    return write->seq < (read ? read->hit->seq : UINT64_MAX) ? write : NULL;
}

/* When the next column may go. */
static inline uint64_t reads_next(const struct dram_channel *ch, enum dram_path path)
{
    const uint64_t read_cyc = kind_cyc(ch, DRAM_READ, path);
    if (path == DRAM_READS || read_cyc <= ch->col_own_cyc[DRAM_WRITE]) return read_cyc;
    return dram_min(read_cyc, kind_cyc(ch, DRAM_WRITE, path));
}

/* The oldest of a bank whose open row serves none. */
static inline struct dram_entry *oldest_to_serve(const struct dram_bank *b, enum dram_path path)
{
    struct dram_entry *const read = b->side[DRAM_READ].head;
    if (path == DRAM_READS) return read;
    struct dram_entry *const write = b->side[DRAM_WRITE].head;
    return write && (!read || write->seq < read->seq) ? write : read;
}

/* The row serves no other read. */
static inline void reads_row_over(struct dram_channel *ch, struct dram_bank *b, enum dram_path path)
{
    dram_hit_ends(&b->side[DRAM_READ]);
    if (__builtin_expect(b->row_entry || (path != DRAM_READS && b->side[DRAM_WRITE].hit), 0)) {
        dram_bank_changed(ch, b);
        return;
    }
    struct dram_entry *const oldest = oldest_to_serve(b, path);
    if (!oldest) return;
    dram_wish_close(ch, b, oldest);
    lower_to(&ch->row_next_cyc, b->pre_cyc);
}

/* It serves this one next. */
static inline void reads_row_goes_on(struct dram_channel *ch, struct dram_bank *b, struct dram_entry *hit,
                                     enum dram_path path)
{
    struct dram_side *const side = &b->side[DRAM_READ];
    side->hit = hit;
    /* those that are ready are in the order of age; none there: it was served from those that are coming */
    if (ch->ready[DRAM_READ].after != &ch->ready[DRAM_READ]) {
        side->seq = hit->seq;
        if (side->after->seq < side->seq) {
            dram_side_remove(side);
            dram_ready_insert(side, side->after);
        }
    }
    if (b->row_entry || (b->columns_since_act >= ch->hits_most && oldest_to_serve(b, path) != hit))
        dram_bank_changed(ch, b);
}

/* What is served in this cycle, NULL: nothing. */
static DRAM_HOT inline const struct dram_entry *reads_column(struct dram_channel *ch, uint64_t now,
                                                             enum dram_path path)
{
    struct dram_side *const side = reads_pick(ch, now);
    if (path != DRAM_READS) {
        struct dram_side *const write = write_before(ch, now, side);
        if (write) return dram_serve_write(ch, now, write);
    }
    if (!side) {
        ch->col_next_cyc = dram_max(reads_next(ch, path), now + 1);
        return NULL;
    }
    struct dram_bank *const b = dram_bank_with(side, DRAM_READ);
    struct dram_entry *const e = side->hit, *next = e->next;
    const uint32_t row = b->open_row;
    dram_unlink(side, e);
    while (next && dram_row(next) != row) next = next->next;
    ((uint64_t *)&ch->front.stats)[WORD_OF(row_hits) + e->class]++;
    ch->front.room[0]++;
    e->next = ch->free_entries;
    ch->free_entries = e;
    column_timing(ch, now, DRAM_READ, b, path);
    if (path != DRAM_READS)
        raise_to(&ch->col_own_cyc[DRAM_WRITE], now + ch->gap.col_s[DRAM_READ][DRAM_WRITE]);
    b->columns_since_act++;
    if (next)
        reads_row_goes_on(ch, b, next, path);
    else
        reads_row_over(ch, b, path);
    ch->col_next_cyc = reads_next(ch, path);
    return e;
}

/* ---- acceptance ---- */

static inline void reads_take_room(struct dram_channel *ch, uint64_t now, uint32_t columns)
{
    const uint32_t room = ch->front.room[0] -= columns;
    if (room < ch->least_room) ch->least_room = room;
    ch->changed_cyc = now;
}

/* A bank, in which nothing else waits, wants another row opened than it has: nobody who wants one is younger.
 */
static inline void reads_wish(struct dram_channel *ch, uint64_t now, struct dram_bank *b,
                              struct dram_entry *by)
{
    uint64_t cyc = b->pre_cyc;
    if (b->open_row != DRAM_NO_ROW) {
        dram_wish_close(ch, b, by);
    } else {
        cyc = dram_activate_cyc(ch, b);
        b->row_entry = by;
        b->row_seq = by->seq;
        dram_wish_enter(b, &ch->opening);
    }
    lower_to(&ch->row_next_cyc, dram_max(dram_max(cyc, ch->row_bus_cyc), now + 1));
}

/* A column joins as the first of its kind in its bank, or as the first that the open row serves. True: what
 * is special may be nearer. */
static inline bool join_first(struct dram_channel *ch, uint64_t now, uint32_t kind, struct dram_bank *b,
                              struct dram_entry *e)
{
    const bool alone = !b->side[DRAM_READ].head && !b->side[DRAM_WRITE].head;
    dram_append(&b->side[kind], e);
    if (!alone || dram_row(e) == b->open_row) {
        dram_joined(ch, e, b, now + 1);
        return true;
    }
    reads_wish(ch, now, b, e);
    if (!ch->starvation_cyc || now + ch->starvation_cyc >= ch->starve_cyc) return false;
    ch->starve_cyc = now + ch->starvation_cyc;
    lower_to(&ch->alarm_cyc, ch->starve_cyc);
    return true;
}

static inline bool joins_first(const struct dram_bank *b, uint32_t kind, uint64_t key)
{
    const struct dram_side *const side = &b->side[kind];
    return !side->head || (dram_key_row(key) == b->open_row && !side->hit);
}

static __attribute__((noinline)) bool reads_take_first(struct dram_channel *ch, uint64_t now, uint64_t key,
                                                       uint64_t tag)
{
    struct dram_entry *const e = take_entry(ch, now, DRAM_READ, key, tag, DRAM_NONE);
    return join_first(ch, now, DRAM_READ, &ch->banks[dram_key_bank(key)], e);
}

/* Several columns, or of a write. */
static inline void take_columns(struct dram_channel *ch, uint64_t now, uint32_t kind, uint64_t key,
                                uint32_t columns, uint64_t tag)
{
    struct dram_bank *const b = &ch->banks[dram_key_bank(key)];
    const uint32_t line = take_line(ch, columns);
    for (const uint64_t end = key + columns; key < end; key++) {
        const bool first = joins_first(b, kind, key);
        struct dram_entry *const e = take_entry(ch, now, kind, key, tag, line);
        if (first)
            (void)join_first(ch, now, kind, b, e);
        else
            dram_append(&b->side[kind], e);
    }
}

static __attribute__((noinline)) void reads_take_more(struct dram_channel *ch, uint64_t now, uint64_t key,
                                                      uint32_t columns, uint64_t tag)
{
    take_columns(ch, now, DRAM_READ, key, columns, tag);
}

/* A write, while others wait; there is room for it, and none of them holds it. */
static __attribute__((noinline)) void reads_take_write(struct dram_channel *ch, uint64_t now, uint64_t key,
                                                       uint32_t columns, uint64_t tag)
{
    reads_take_room(ch, now, columns);
    ch->front.stats.writes += columns;
    take_columns(ch, now, DRAM_WRITE, key, columns, tag);
}

/* May a waiting write hold one of these columns? */
static inline bool reads_may_find(const struct dram_channel *ch, uint64_t key, uint32_t columns)
{
    if (!ch->banks[dram_key_bank(key)].side[DRAM_WRITE].head) return false;
    for (uint32_t i = 0; i < columns; i++)
        if (ch->filter[dram_filter_slot(key + i)]) return true;
    return false;
}

/* There is room for it, and no waiting write holds it. True: more than its bank's queue may have changed. */
static DRAM_HOT inline bool reads_take(struct dram_channel *ch, uint64_t now, uint64_t key, uint32_t columns,
                                       uint64_t tag)
{
    struct dram_bank *const b = &ch->banks[dram_key_bank(key)];
    reads_take_room(ch, now, columns);
    if (columns > 1) {
        reads_take_more(ch, now, key, columns, tag);
        return true;
    }
    if (joins_first(b, DRAM_READ, key)) return reads_take_first(ch, now, key, tag);
    dram_append(&b->side[DRAM_READ], take_entry(ch, now, DRAM_READ, key, tag, DRAM_NONE));
    return false;
}

#endif
