/* stretch: what a line that misses and a reply do in an L1 that is as most are (l1.quick), in windows: parts
 * of the loops of pump.c, which become one piece of code with them. */
#ifndef ATOLL_SM_STRETCH_H
#define ATOLL_SM_STRETCH_H

#include "sm/l1_lines.h"

enum { FETCH_MOST = 16 };

#define PART static inline __attribute__((always_inline))

/* What stays the same for some cycles, and what is added up: the compiler keeps it beside the loop. */
struct stretch {
    struct sm *sm;
    struct l1 *l1;
    struct net_queue_port replies;
    struct memory_instr *m;             /* in front; NULL: nothing is, or nothing for a stretch */
    const struct line_access *at, *end; /* … its next line, which is absent; behind its last one */
    uint64_t due_cyc;                   /* … when it wants to go, or up to when its waiting is counted */
    bool over;                          /* what is in front is nothing for a stretch */
    uint32_t free_count;                /* as in struct l1 */
    uint64_t noted_cyc;                 /* more than a line came or went in this cycle */
    uint64_t event_cyc;                 /* sm.flight_cyc */
    uint32_t sent, answered;            /* requests, then sums over them; */
    uint32_t turned;                    /* … both in the same cycle: these cancel each other out there */
    uint64_t sent_cyc, answered_cyc, latency_cyc;
    uint64_t counted_cyc; /* due_cyc when it was settled last */
};

PART struct stretch begin(struct sm *sm)
{
    return (struct stretch){.sm = sm,
                            .l1 = &sm->l1,
                            .replies = sm->replies,
                            .free_count = sm->l1.free_count,
                            .event_cyc = sm->flight_cyc};
}

/* What was added up counts: somebody may look. */
PART void settle_sent(struct stretch *s)
{
    struct sm *const sm = s->sm;
    struct l1_stats *const l1 = &s->l1->stats;
    const uint32_t sent = s->sent + s->turned;
    l1->reads += sent;
    l1->misses += sent;
    l1->misses_cold += sent;
    sm->stats.requests_sent += sent;
    sm->outstanding += sent;
    sm->flight_sum -= s->sent_cyc;
    sm->flight_cyc = s->event_cyc;
}
PART void settle_answered(struct stretch *s)
{
    struct sm *const sm = s->sm;
    const uint32_t answered = s->answered + s->turned;
    s->l1->stats.fills += answered;
    sm->stats.replies_received += answered;
    sm->stats.reads_done += answered;
    sm->stats.read_latency_cyc += s->latency_cyc;
    sm->outstanding -= answered;
    sm->flight_sum += s->answered_cyc;
    sm->flight_cyc = s->event_cyc;
}
PART void settle(struct stretch *s)
{
    settle_sent(s);
    settle_answered(s);
    s->l1->free_count = s->free_count;
    /* a line that misses is followed by one that wants to go in the next cycle: the rest is waiting */
    s->l1->stats.wait_mshr += s->due_cyc - s->counted_cyc - (s->sent + s->turned);
    s->counted_cyc = s->due_cyc;
    s->sent = s->answered = s->turned = 0;
    s->sent_cyc = s->answered_cyc = s->latency_cyc = 0;
}

PART void count_sent(struct stretch *s, uint64_t now)
{
    s->sent++;
    s->sent_cyc += now;
}
PART void count_answered(struct stretch *s, uint64_t now)
{
    s->answered++;
    s->answered_cyc += now;
}

/* Into the host's caches, before the replies of a window are taken: what their MSHRs name, so that the waits
 * for one another's data overlap. Those up to the end of the ring, the others when it is their turn. */
static __attribute__((noinline)) void fetch_replies(struct sm *sm)
{
    const struct net_queue_sink *const k = sm->replies.sink;
    const struct l1 *const l1 = &sm->l1;
    const struct net_queue_slot *slot = net_queue_slot_of(sm->replies.front);
    const uint32_t inside = net_queue_inside(k, sm->replies.front), together = (uint32_t)(k->end - slot);
    const uint32_t left = inside < together ? inside : together;
    const uint32_t count = left < FETCH_MOST ? left : FETCH_MOST;
    /* here and not in the loop, as the compiler does not trust what fetches */
    const uint32_t limit = l1->mshr_count, first = sm->first_request, ways = l1->tags.ways;
    const size_t bytes = l1->mshr_bytes, row_bytes = l1->tags.row_bytes;
    const uint8_t *const mshrs = l1->mshrs, *const rows = l1->tags.rows;
    const uint64_t *const keys = l1->tags.keys;
    const struct l1_slot *const slots = l1->slots;
    for (const struct net_queue_slot *const end = slot + count; slot < end; slot++) {
        const uint32_t mshr = (uint32_t)slot->packet.handle - first;
        if (__builtin_expect(mshr >= limit, 0)) continue;
        const struct l1_mshr *const m = (const struct l1_mshr *)(const void *)(mshrs + mshr * bytes);
        const size_t set = m->where.set;
        __builtin_prefetch(rows + set * row_bytes, 1);
        __builtin_prefetch(&keys[set * ways], 1);
        __builtin_prefetch(&slots[m->where.slot], 1);
    }
    sm->fetched = (int32_t)count - 1; /* the first is taken now */
}

/* The last line of a load has come; false: the MSHR is no longer plain. */
static __attribute__((noinline)) bool end_load(struct sm *sm, const struct l1_mshr *m, uint64_t now)
{
    const uint32_t load = m->access.load;
    sm->loads[load].remaining = 1;
    load_line_done(sm, load, now + sm->spec->fill_latency_cyc, now);
    return m->plain;
}

/* May somebody look when the load ends? Its block may end with it, or all lines go. */
PART bool is_watched(const struct sm *sm, uint32_t load)
{
    return sm->ending || sm->loads[load].info->flags & WARP_F_ACQUIRE;
}

/* Before such a load ends, its last reply counts; then not again. */
PART void settle_early(struct stretch *s, uint64_t now)
{
    count_answered(s, now);
    settle(s);
    s->answered--;
    s->answered_cyc -= now;
}

/* The line of an MSHR has come. */
PART void fill(struct stretch *s, uint32_t mshr, struct l1_mshr *m, uint64_t now)
{
    struct sm *const sm = s->sm;
    struct l1 *const l1 = s->l1;
    const uint32_t took = short_cyc(now) - m->sent;
    s->latency_cyc += took;
    lsu_count_latency(sm, took, m->where.slice);
    s->event_cyc = now;
    /* lines that come later are there later: only the last one's cycle counts (l1.quick) */
    if (__builtin_expect(--sm->loads[m->access.load].remaining == 0, 0)) {
        if (__builtin_expect(is_watched(sm, m->access.load), 0)) settle_early(s, now);
        s->noted_cyc = now;
        if (!end_load(sm, m, now)) return;
    }
    const struct tags_place place = tags_victim_in_step(&l1->tags, m->where.set);
    if (__builtin_expect(place.line != TAGS_NONE, 1)) {
        const uint64_t before = tags_give_in_step(&l1->tags, place, m->line, m->where.hint);
        l1->valid[place.line] = m->access.sectors;
        if (__builtin_expect(before != 0, 1)) note_evicted(l1, before - 1);
    }
    struct l1_slot *const slot = &l1->slots[m->where.slot];
    if (__builtin_expect(slot->mshr == mshr + 1, 1))
        slot->mshr = m->next;
    else
        forget(l1, slot, mshr, m);
}

/* One that is free and not in l1.free. */
struct spare {
    uint32_t mshr;
    struct l1_mshr *m;
};

PART struct spare spare_of(const struct stretch *s, uint32_t mshr)
{
    return (struct spare){mshr, l1_mshr_at(s->l1, mshr)};
}

/* A reply is there. True: it has made an MSHR free, and is to be counted. */
PART bool take(struct stretch *s, struct spare *out, uint64_t now)
{
    struct sm *const sm = s->sm;
    if (--sm->fetched < 0) fetch_replies(sm);
    const uint32_t mshr = (uint32_t)s->replies.front->packet->handle - sm->first_request;
    (void)net_queue_take(s->replies, now);
    if (__builtin_expect(mshr < s->l1->mshr_count, 1)) {
        *out = spare_of(s, mshr);
        if (__builtin_expect(out->m->plain, 1)) {
            fill(s, mshr, out->m, now);
            return true;
        }
    }
    settle(s);
    s->noted_cyc = s->event_cyc = now;
    lsu_reply(sm, now, sm->first_request + mshr);
    s->free_count = s->l1->free_count;
    return false;
}

/* The line in front misses; who runs the memory side is told by the caller. */
PART void miss(struct stretch *s, struct spare spare, uint64_t now)
{
    struct sm *const sm = s->sm;
    struct l1 *const l1 = s->l1;
    const struct line_access *const a = s->at;
    const uint64_t line = a->line;
    struct l1_slot *const slot = &l1->slots[a->where.slot];
    struct l1_mshr *const m = spare.m;
    m->line = line;
    m->where = a->where;
    m->sent = short_cyc(now);
    m->plain = true;
    m->next = slot->mshr;
    memcpy(&m->access, (const uint8_t *)a + offsetof(struct line_access, load), sizeof m->access);
    slot->mshr = (uint16_t)(spare.mshr + 1);
    const enum l1_left why = cause_of(slot, line);
    if (__builtin_expect(why != LEFT_NOT, 0)) {
        count_cause(&l1->stats, why);
        l1->stats.misses_cold--; /* settle_sent() counts it */
    }
    const uint32_t slice = a->where.slice, bytes = sm->read_bytes;
    struct request *const r = &sm->own_requests[spare.mshr];
    r->home.line = a->physical;
    r->home.slice = (uint16_t)slice; /* which knows its channel */
    memcpy((uint8_t *)r + offsetof(struct request, kind),
           (const uint8_t *)a + offsetof(struct line_access, kind), 4);
    r->hit = 0;
    s->event_cyc = now;
    net_queue_join(sm->out, sm->first_request + spare.mshr, slice, bytes, now);
    sm->traffic[slice] += bytes;
}

#endif
