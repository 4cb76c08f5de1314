/* net_queue_lines: all packets that begin in a stretch of cycles.
 *
 * As long as there is a place for everything, packets begin when their source lets them. So all of a source
 * are put into the lines of their cycles, the last source first: every line is in the order of sources. Then
 * line after line begins. */
#include "net/net_queue_private.h"

#include <string.h>

/* The lines of a stretch, by the cycle before. */
static inline struct net_queue_packet **lines_before(const struct net_queue *q, uint64_t from)
{
    return (struct net_queue_packet **)((uintptr_t)(q->lines + 1) - from * sizeof *q->lines);
}

static inline void line_up(const struct net_queue *q, struct net_queue_source *s,
                           struct net_queue_packet **lines, uint64_t from, uint64_t until)
{
    const uint8_t *const flits_of = q->flits_of;
    struct net_queue_packet **same = lines, *p = s->done.first;
    const uint64_t free_cyc = s->done.free_cyc > from ? s->done.free_cyc : from;
    uint64_t busy_cyc = free_cyc - (free_cyc > 0); /* the last in which nothing can begin */
    uint64_t flits = 0;
    s->at->accept_cyc = until; /* as if one came too late: nobody has to count them */
    __asm__("" : "+r"(same));  /* else the address is worked out before it is used twice */
    for (;; p++) {
        const uint64_t before_cyc = p->accept_cyc > busy_cyc ? p->accept_cyc : busy_cyc;
        if (before_cyc >= until - 1) break;
        const uint32_t its_flits = flits_of[p->packet.bytes];
        p->next = lines[before_cyc];
        same[before_cyc] = p;
        busy_cyc = before_cyc + its_flits;
        flits += its_flits;
    }
    if (p == s->done.first) return;
    s->done.packets += (uint64_t)(p - s->done.first);
    s->done.first = p;
    s->done.free_cyc = busy_cyc + 1;
    s->done.started_cyc = s->done.free_cyc - flits_of[p[-1].packet.bytes];
    s->done.flits += flits;
}

static inline void line_up_source(const struct net_queue *q, uint32_t source, struct net_queue_packet **lines,
                                  uint64_t from, uint64_t until)
{
    struct net_queue_source *const s = &q->sources[source];
    if (s->at == s->done.first) {
        net_queue_rest_source(s);
        return;
    }
    q->before_run[source] = (struct net_queue_before){s->done, s->at};
    line_up(q, s, lines, from, until);
    if (s->at == s->done.first) {
        s->at = s->done.first = s->places;
        s->stop = s->end;
    }
}

/* The last one first, see above. */
static void line_up_all(const struct net *n, uint64_t from, uint64_t until)
{
    const struct net_queue *const q = n->queue;
    struct net_queue_packet **const lines = lines_before(q, from);
    for (uint32_t w = q->senders.words; w-- > 0;) {
        for (uint64_t m = q->senders.awake[w]; m;) {
            const uint32_t highest = (uint32_t)__builtin_clzll(m) ^ 63;
            m ^= 1ull << highest;
            __asm__("" : "+m"(m)); /* not in a register, of which the loop over packets needs all */
            line_up_source(q, w << 6 | highest, lines, from, until);
        }
    }
}

/* Packets of a stretch have begun up to this one. */
struct stopped {
    uint64_t cyc; /* the end of the stretch: all have */
    uint32_t source;
};

static struct stopped begin_lines(struct net *n, uint64_t from, uint64_t until)
{
    struct net_queue *const q = n->queue;
    struct net_queue_sink *const sinks = q->sinks;
    const uint8_t *const flits_of = q->flits_of;
    const uint64_t soonest = q->soonest_cyc, back_cyc = q->back_cyc;
    uint64_t latencies = 0, arrivals = 0;
    struct stopped stopped = {until, 0};
    for (uint64_t cyc = from; cyc < until; cyc++) {
        const struct net_queue_packet *p = q->lines[cyc - from];
        if (p == &q->line_end) continue;
        q->lines[cyc - from] = &q->line_end;
        for (;; p = p->next) {
            struct net_queue_sink *const k = &sinks[p->packet.dst];
            struct net_queue_slot *slot = k->at;
            if (__builtin_expect(slot == k->ask, 0)) {
                if (p == &q->line_end) break;
                slot = net_queue_find_free_place(n, k, cyc);
                if (!slot) {
                    stopped = (struct stopped){cyc, p->packet.src};
                    goto out;
                }
            }
            const uint64_t flits = flits_of[p->packet.bytes], head_cyc = cyc + soonest;
            const uint64_t visible_cyc = (k->next_cyc > head_cyc ? k->next_cyc : head_cyc) + flits;
            uint64_t arrival_cyc = visible_cyc + back_cyc;
            __asm__("" : "+r"(arrival_cyc)); /* else accept_cyc is changed first, in a register of its own */
            const uint64_t latency_cyc = arrival_cyc - p->accept_cyc;
            k->next_cyc = visible_cyc;
            k->at = slot + 1;
            k->busy_cyc += flits;
            slot->visible_cyc = visible_cyc;
            memcpy(&slot->packet, &p->packet, offsetof(struct net_packet, src));
            arrivals += arrival_cyc;
            latencies += latency_cyc;
            q->latency[net_queue_class_of(latency_cyc)]++;
        }
    }
out:
    q->latency_cyc += latencies;
    q->arrivals_cyc += arrivals;
    return stopped;
}

/* What was lined up and has not begun is where it was. */
static void step_back(struct net *n, uint64_t from, uint64_t until, struct stopped stopped)
{
    struct net_queue *const q = n->queue;
    struct net_queue_packet **const lines = lines_before(q, from);
    NET_QUEUE_EACH(i, q->senders)
    {
        struct net_queue_source *const s = &q->sources[i];
        s->done = q->before_run[i].done;
        s->at = q->before_run[i].at;
        line_up(q, s, lines, from, stopped.cyc + (i < stopped.source));
    }
    for (uint64_t cyc = from; cyc < until; cyc++) q->lines[cyc - from] = &q->line_end;
}

bool net_queue_run_stretch(struct net *n, uint64_t until)
{
    struct net_queue *const q = n->queue;
    const uint64_t from = q->done_cyc;
    line_up_all(n, from, until);
    const struct stopped stopped = begin_lines(n, from, until);
    if (stopped.cyc != until) step_back(n, from, until, stopped);
    q->done_cyc = stopped.cyc;
    return stopped.cyc == until;
}
