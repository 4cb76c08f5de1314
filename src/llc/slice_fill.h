/* slice_fill: what comes from memory: into the line, and those who waited for it go on. Included by
 * llc.c and, through slice_quick_fill.h, by window.c. */
#ifndef ATOLL_LLC_SLICE_FILL_H
#define ATOLL_LLC_SLICE_FILL_H

#include "llc/slice_memory.h"
#include "llc/slice_reply.h"

/* --check: copies of lines that live here, and of others. */
static inline struct check_place *copies_of(const struct slice *s, uint32_t line)
{
    return far_holds(s, line) ? s->far->copies : s->copies;
}

/* A request finds what it needs in the line. */
static SLICE_HOT void use_line(struct slice *s, uint64_t now, uint32_t line, uint32_t idx, bool plain)
{
    const struct request *r = at(s, idx);
    if (!plain && s->copies && r->kind != REQUEST_WALK && r->kind != REQUEST_WRITE)
        check_copy_read(copies_of(s, line), line, idx, r->sectors, now);
    if (request_writes(r)) slice_write_line(s, now, line, idx);
}

/* Sectors that a request reads or writes. */
static inline uint8_t touched(const struct request *r)
{
    return request_writes(r) ? sectors_with(r->bytes) : r->sectors;
}

/* Requests that waited for the line and have all they need go on; others stay, and with an atomic those
 * behind it that touch its sectors: what they find there is what it leaves. Their flags. */
static SLICE_HOT uint8_t serve_waiting(struct slice *s, uint64_t now, uint32_t line, struct slice_line *m,
                                       bool plain)
{
    uint8_t flags = 0, held = 0;
    struct request_list all = m->waiting, writers = {0};
    uint64_t written[2] = {0};
    const uint8_t have = readable(s, line);
    m->waiting.count = 0;
    m->reads = m->alone = false; /* the first one may be another */
    while (all.count) {
        const uint32_t idx = take_first(s, &all);
        const struct request *r = at(s, idx);
        const uint8_t needs = r->kind == REQUEST_WRITE ? 0 : r->sectors;
        if ((needs & ~have) | (held && touched(r) & held)) {
            if (request_writes(r)) held |= touched(r);
            append(s, &m->waiting, idx);
            continue;
        }
        use_line(s, now, line, idx, plain);
        flags |= r->flags;
        const uint64_t start = serve_at_port(s, now, r);
        if (!plain && s->write_through && request_writes(r)) {
            written[0] |= r->bytes[0];
            written[1] |= r->bytes[1];
            append(s, &writers, idx);
        } else {
            answer(s, idx, false, start, now, plain);
        }
    }
    if (!plain && writers.count) slice_write_on(s, now, tags_key(&s->tags, line), written, writers);
    return flags;
}

/* Memory has accepted them. */
static inline void answer_writers(struct slice *s, uint64_t now, const struct fill *f)
{
    struct request_list writers = {.first = f->writers_first, .count = f->writers_count};
    while (writers.count) {
        const uint32_t idx = take_first(s, &writers);
        answer(s, idx, false, use_port(s, now, 0), now, false);
    }
}

/* The line's data is here; or it must be read once more. */
static SLICE_HOT void take_line(struct slice *s, uint64_t now, const struct fill *f, bool plain)
{
    struct slice_line *m = &s->lines[f->tag_line];
    s->stats.fills += plain || !m->far;
    m->asked &= (uint8_t)~f->sectors;
    if (!plain && m->again) {
        m->redo |= f->sectors;
        if (m->asked) return;
        const uint8_t redo = m->redo;
        m->again = false;
        m->redo = 0;
        s->stats.read_again++;
        read_memory(s, now, tags_key(&s->tags, f->tag_line), f->tag_line, redo, plain);
        return;
    }
    s->lines[f->tag_line].valid |= f->sectors;
    if (!plain && s->copies && !m->far)
        check_memory_fill(s->copies, f->tag_line, f->sectors, s->lines[f->tag_line].dirty, now);
    const uint8_t flags = serve_waiting(s, now, f->tag_line, m, plain);
    if (m->waiting.count || m->asked) return;
    *tags_pins(&s->tags, f->tag_line) = 0;
    s->mshr_free_count++;
    s->mshr_sum += now;
    if (!plain && m->far) far_filled(s, now, f->tag_line, m->overtaken);
    if (flags & REQUEST_MIGRATE) slice_drop_line(s, now, f->tag_line);
}

/* Into the host's caches: who waits for the next fill, and the line of the one after it. */
static inline void fetch_next(const struct slice *s, const struct channel_queue *l)
{
    if (l->fills_count < 2) return;
    const struct fill *const first = &l->fills[l->fills_head];
    const struct fill *const second = &l->fills[(l->fills_head + 1) & s->fills_mask];
    if (!first->writers_count) __builtin_prefetch(at(s, s->lines[first->tag_line].waiting.first), 1);
    if (!second->writers_count) __builtin_prefetch(&s->lines[second->tag_line], 1);
}

static SLICE_HOT void take_fills(struct slice *s, uint64_t now, bool plain)
{
    for (struct channel_queue *l; (l = first_queue(s, plain));) {
        const struct fill *const first = &l->fills[l->fills_head];
        if (first->ready_cyc > now || (!plain && s->in_free_cyc > now)) return;
        const struct fill f = *first;
        s->fill_came = true;
        l->fills_head = (l->fills_head + 1) & s->fills_mask;
        l->fills_count--;
        s->fills_count--;
        fetch_next(s, l);
        if (!plain && s->spec->stack_width)
            s->in_free_cyc =
                now + stack_cycles(s->spec, SECTOR_BYTES * (uint32_t)__builtin_popcount(f.sectors));
        if (!plain && f.writers_count)
            answer_writers(s, now, &f);
        else
            take_line(s, now, &f, plain);
    }
}

#endif
