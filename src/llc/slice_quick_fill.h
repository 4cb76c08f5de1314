/* slice_quick_fill: replies and fills in quick cycles (slice_quick.h), and what a request that is stopped
 * waits for. Included by slice_quick.h only. */
#ifndef ATOLL_LLC_SLICE_QUICK_FILL_H
#define ATOLL_LLC_SLICE_QUICK_FILL_H

#include "llc/slice_set.h"
#include "llc/slice_tags.h"
#include "net/net_queue.h"

/* Replies leave in the order in which they pass the data port: if one leaves after the window, so do all
 * after it. False: that is the case. */
static SLICE_HOT bool quick_reply(struct slice *s, uint64_t ready, uint32_t idx, const struct request *r,
                                  uint32_t came, uint32_t bytes, struct slice_run *q)
{
    if (__builtin_expect(ready >= q->until_cyc, 0)) return false;
    const size_t sm = r->sm;
    net_queue_join(q->out, idx, (uint32_t)sm, bytes, ready);
    q->traffic[sm][s->wire.slice_idx] += bytes;
    q->replies++;
    q->left_cyc += ready;
    q->stay_cyc += (uint32_t)ready - came;
    return true;
}

/* ---- fills ---- */

static SLICE_HOT void quick_filled(struct slice *s, uint64_t now, uint32_t idx, const struct request *r,
                                   struct slice_run *q)
{
    const size_t sectors = r->sectors & SECTORS_ALL;
    const uint64_t ready = use_port(s, now, q->read_cyc[sectors]);
    if (!quick_reply(s, ready, idx, r, r->served, q->read_bytes[sectors], q)) append_filled(s, idx, ready);
}

/* All that several reads wait for. */
static inline void fill_reads(struct slice *s, const struct slice_line *m, struct slice_run *q)
{
    uint32_t idx = m->waiting.first;
    *at(s, idx)->pin = 0;
    s->mshr_free_count++;
    for (uint32_t left = m->waiting.count; left; left--) {
        const struct request *const r = at(s, idx);
        const uint32_t next = r->next;
        quick_filled(s, q->now, idx, r, q);
        idx = next;
    }
}

/* A part of what reads wait for: those that have all they need go on. */
static inline void fill_part(struct slice *s, uint32_t line, struct slice_line *m, struct slice_run *q)
{
    struct request_list all = m->waiting;
    uint8_t *const pin = at(s, all.first)->pin;
    const uint8_t have = readable(s, line);
    m->waiting.count = 0;
    while (all.count) {
        const uint32_t idx = take_first(s, &all);
        const struct request *const r = at(s, idx);
        if (r->sectors & ~have)
            append(s, &m->waiting, idx);
        else
            quick_filled(s, q->now, idx, r, q);
    }
    m->single_waiter = m->waiting.count == 1;
    m->reads_only = m->waiting.count;
    if (m->reads_only) at(s, m->waiting.first)->pin = pin;
}

/* Not one read alone waits for the line. False: replies wait in the slice, each for its turn. */
static __attribute__((noinline)) bool fill_others(struct slice *s, const struct fill *f, struct slice_run *q)
{
    struct slice_line *const m = &s->lines[f->tag_line];
    m->pending_sectors &= (uint8_t)~f->sectors;
    m->valid |= f->sectors;
    if (m->reads_only) {
        if (m->pending_sectors)
            fill_part(s, f->tag_line, m, q);
        else
            fill_reads(s, m, q);
        return true;
    }
    (void)serve_waiting(s, q->now, f->tag_line, m, true);
    if (!(m->waiting.count | m->pending_sectors)) {
        slice_set_unpin(s, f->tag_line);
        s->mshr_free_count++;
    }
    q->slow = min_u64(s->hits_cyc, s->filled_cyc) < s->until_cyc;
    return !q->slow;
}

/* This one comes next. */
static SLICE_HOT void quick_fill_next(const struct fill *f, struct slice_run *q)
{
    q->fill = f;
    q->fill_cyc = min_u64(f->ready_cyc, q->until_cyc);
}

/* The oldest fill: all that was asked for is all that who waits lacks. What memory forwarded from a write
 * may have been ready before the one in front of it. False: the rest of the cycle is not a quick one. */
static SLICE_HOT bool quick_fill(struct slice *s, struct slice_run *q)
{
    const struct fill *const f = q->fill;
    struct slice_line *const m = &s->lines[f->tag_line];
    const uint8_t sectors = f->sectors;
    const uint64_t now = max_u64(f->ready_cyc, q->now);
    q->now = now;
    quick_fill_next(__builtin_expect(f + 1 == q->fills_end, 0) ? q->fills : f + 1, q);
    if (__builtin_expect(!m->single_waiter || m->pending_sectors != sectors, 0)) return fill_others(s, f, q);
    m->valid |= sectors;
    s->mshr_free_count++;
    const uint32_t idx = m->waiting.first;
    const struct request *const r = at(s, idx);
    *r->pin = 0;
    quick_filled(s, now, idx, r, q);
    return true;
}

/* ---- in time ---- */

/* The next request is due then; fills that come before, or at the same time, come first. False: one is not a
 * quick one, or the window ends first. */
static SLICE_HOT bool quick_arrives(struct slice *s, uint64_t due, struct slice_run *q)
{
    while (__builtin_expect(q->fill_cyc <= due, 0))
        if (q->fill_cyc == q->until_cyc || !quick_fill(s, q)) {
            q->due_cyc = due;
            return false;
        }
    q->now = due;
    return true;
}

/* The fills of the next cycle that has any; false: it comes after the window, or is not a quick one. */
static SLICE_HOT bool quick_fills(struct slice *s, struct slice_run *q)
{
    if (__builtin_expect(q->fill_cyc == q->until_cyc, 0)) return false;
    do
        if (!quick_fill(s, q)) return false;
    while (q->fill_cyc <= q->now);
    return true;
}

/* The request in front waits, from blocked_cyc on, for the next cycle that may change something: that of a
 * fill, or the one in which it is due; false: that comes after the window, or is not a quick one. */
static __attribute__((noinline)) bool quick_waits(struct slice *s, uint64_t *why, struct slice_run *q)
{
    bool changes;
    if (__builtin_expect(q->fill->ready_cyc <= q->due_cyc, 1)) {
        changes = quick_fills(s, q);
    } else {
        changes = q->due_cyc < q->until_cyc;
        if (changes) q->now = q->due_cyc;
    }
    s->blocked = changes ? NULL : why;
    if (changes) *why += q->now - s->blocked_cyc;
    return changes;
}

static __attribute__((noinline)) bool quick_waits_for_port(struct slice *s, struct slice_run *q)
{
    q->due_cyc = s->port_free_cyc - q->data_queue_cyc;
    s->blocked_cyc = q->now;
    return quick_waits(s, &s->stats.wait_port, q);
}

/* The data port has no more to do than may wait for it. */
static SLICE_HOT bool quick_port_takes(const struct slice *s, const struct slice_run *q)
{
    return __builtin_expect(s->port_free_cyc <= q->now + q->data_queue_cyc, 1);
}

#endif
