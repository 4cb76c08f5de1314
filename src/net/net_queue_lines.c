/* net_queue_lines: all packets that begin in a stretch of cycles.
 *
 * As long as there is a place for everything, packets begin when their source lets them. So all of a source
 * are put into the lines of their cycles, the last source first: every line is in the order of sources. Then
 * line after line begins.
 *
 * A packet that finds no place waits, and with it all that are behind it in its source: they leave their
 * lines, and are lined up once more from the cycle on in which it has a place. To sinks at which packets wait
 * already few find one: a source is lined up as far as the first packet that goes there, and further when
 * that one has begun. */
#include "net/net_queue_private.h"

#include <string.h>

struct stretch {
    struct net *net;
    uint64_t from, until;
    bool guards; /* there are sinks at which packets wait */
};

/* The lines of a stretch, by the cycle before. */
static inline struct net_queue_packet **lines_before(const struct net_queue *q, uint64_t from)
{
    return (struct net_queue_packet **)((uintptr_t)(q->lines + 1) - from * sizeof *q->lines);
}

/* Where a packet goes in its line: of those that are there already none comes from its source. */
static inline struct net_queue_packet **place_in(struct net_queue_packet **line, uint32_t source)
{
    while ((*line)->packet.src < source) line = &(*line)->next;
    return line;
}

/* How the packets of a source are lined up. */
enum order {
    ORDER_PLAIN,  /* before all that are in lines */
    ORDER_GUARDS, /* the same, as far as the first that goes to a guarded sink and knows of no place there */
    ORDER_AGAIN   /* as far as that, among those that are in lines */
};

static inline void line_up(const struct net_queue *q, struct net_queue_source *s,
                           struct net_queue_packet **lines, uint64_t from, uint64_t until, enum order order)
{
    const uint8_t *const flits_of = q->flits_of;
    const struct net_queue_sink *const sinks = q->sinks;
    struct net_queue_packet **same = lines, *p = s->done.first;
    uint64_t free_cyc = s->done.free_cyc > from ? s->done.free_cyc : from, flits = 0;
    if (order != ORDER_PLAIN && s->place_cyc > free_cyc) free_cyc = s->place_cyc;
    uint64_t busy_cyc = free_cyc - (free_cyc > 0); /* the last in which nothing can begin */
    const struct net_queue_packet *const behind_promised = s->place_cyc ? p + 1 : NULL;
    uint32_t its_flits = 0;
    s->at->accept_cyc = until; /* as if one came too late: nobody has to count them */
    __asm__("" : "+r"(same));  /* else the address is worked out before it is used twice */
    for (;;) {
        const uint64_t before_cyc = p->accept_cyc > busy_cyc ? p->accept_cyc : busy_cyc;
        if (before_cyc >= until - 1) break;
        its_flits = flits_of[p->packet.bytes];
        if (order == ORDER_AGAIN) {
            struct net_queue_packet **const place = place_in(&lines[before_cyc], p->packet.src);
            p->next = *place;
            *place = p;
        } else {
            p->next = lines[before_cyc];
            same[before_cyc] = p;
        }
        busy_cyc = before_cyc + its_flits;
        flits += its_flits;
        p++;
        if (order != ORDER_PLAIN && __builtin_expect(sinks[p[-1].packet.dst].guarded, 0) &&
            p != behind_promised)
            break;
    }
    s->lined = p;
    if (p == s->done.first) return;
    s->done.packets += (uint64_t)(p - s->done.first);
    s->done.first = p;
    s->done.free_cyc = busy_cyc + 1;
    s->done.started_cyc = s->done.free_cyc - its_flits;
    s->done.flits += flits;
    if (s->at == p) {
        s->at = s->done.first = s->places;
        s->stop = s->end;
    }
}

/* The last one first, see above. */
static inline void line_up_each(const struct stretch *stretch, enum order order)
{
    const struct net_queue *const q = stretch->net->queue;
    const uint64_t from = stretch->from, until = stretch->until;
    struct net_queue_packet **const lines = lines_before(q, from);
    for (uint32_t w = q->senders.words; w-- > 0;) {
        for (uint64_t m = q->senders.awake[w]; m;) {
            const uint32_t highest = (uint32_t)__builtin_clzll(m) ^ 63;
            struct net_queue_source *const s = &q->sources[w << 6 | highest];
            m ^= 1ull << highest;
            __asm__("" : "+m"(m)); /* not in a register, of which the loop over packets needs all */
            if (s->at == s->done.first)
                net_queue_rest_source(s);
            else
                line_up(q, s, lines, from, until, order);
        }
    }
}

static void guard(const struct net *n, bool guarded)
{
    struct net_queue_sink *const sinks = n->queue->sinks;
    for (uint32_t i = 0; i < n->spec.sinks; i++) sinks[i].guarded = guarded && sinks[i].scarce;
}

static void line_up_all(const struct stretch *stretch)
{
    if (__builtin_expect(!stretch->guards, 1)) {
        line_up_each(stretch, ORDER_PLAIN);
        return;
    }
    guard(stretch->net, true);
    line_up_each(stretch, ORDER_GUARDS);
}

/* A packet that was to begin in `cyc`, and has left its line, has not begun, nor has any behind it. */
static void step_back(const struct net_queue *q, struct net_queue_source *s, struct net_queue_packet *p,
                      uint64_t cyc)
{
    for (const struct net_queue_packet *back = p; back != s->lined; back++)
        s->done.flits -= q->flits_of[back->packet.bytes];
    s->done.packets -= (uint64_t)(s->lined - p);
    if (s->done.first != s->lined) s->at = s->lined; /* nothing was left */
    s->done.first = p;
    s->done.free_cyc = cyc; /* at the latest: both are over */
    s->done.started_cyc = cyc - 1;
}

/* Those behind it leave their lines, too. */
static void take_out(const struct net_queue *q, const struct net_queue_source *s, struct net_queue_packet *p,
                     struct net_queue_packet **lines, uint64_t cyc)
{
    uint64_t busy_cyc = cyc - 1 + q->flits_of[p->packet.bytes];
    while (++p != s->lined) {
        const uint64_t before_cyc = p->accept_cyc > busy_cyc ? p->accept_cyc : busy_cyc;
        *place_in(&lines[before_cyc], p->packet.src) = p->next;
        busy_cyc = before_cyc + q->flits_of[p->packet.bytes];
    }
}

/* It waits, and may have a place in time all the same. */
static __attribute__((noinline)) void wait_for_place(const struct stretch *stretch,
                                                     struct net_queue_packet *p, uint64_t cyc)
{
    const struct net_queue *const q = stretch->net->queue;
    struct net_queue_source *const s = &q->sources[p->packet.src];
    struct net_queue_packet **const lines = lines_before(q, stretch->from);
    step_back(q, s, p, cyc);
    take_out(q, s, p, lines, cyc);
    line_up(q, s, lines, cyc, stretch->until, ORDER_AGAIN);
}

/* It begins, at a guarded sink: if those behind it are not in lines, they are now. */
static __attribute__((noinline)) void pass_guard(const struct stretch *stretch, struct net_queue_packet *p,
                                                 uint64_t cyc)
{
    const struct net_queue *const q = stretch->net->queue;
    struct net_queue_source *const s = &q->sources[p->packet.src];
    if (p + 1 == s->lined && s->lined == s->done.first)
        line_up(q, s, lines_before(q, stretch->from), cyc, stretch->until, ORDER_AGAIN);
}

/* The sink of a packet is asked for a place. Returns the packet with which its line goes on: this one, or, if
 * it waits, the next. */
static __attribute__((noinline)) struct net_queue_packet *ask(const struct stretch *stretch,
                                                              struct net_queue_packet *p,
                                                              struct net_queue_packet *const *line)
{
    const struct net_queue *const q = stretch->net->queue;
    const uint64_t cyc = stretch->from + (uint64_t)(line - q->lines);
    struct net_queue_sink *const k = &q->sinks[p->packet.dst];
    struct net_queue_packet *const next = p->next;
    if (!net_queue_find_place(stretch->net, k, &q->sources[p->packet.src], cyc)) {
        wait_for_place(stretch, p, cyc);
        return next;
    }
    if (__builtin_expect(k->guarded, 0)) pass_guard(stretch, p, cyc);
    return p;
}

static void begin_lines(const struct stretch *stretch)
{
    struct net_queue *const q = stretch->net->queue;
    struct net_queue_sink *const sinks = q->sinks;
    const uint8_t *const flits_of = q->flits_of;
    const uint64_t back_cyc = q->back_cyc;
    uint64_t visible = 0, head_cyc = stretch->from + q->soonest_cyc;
    struct net_queue_packet **line = q->lines, **const end = line + (stretch->until - stretch->from);
    for (; line != end; line++, head_cyc++) {
        struct net_queue_packet *p = *line;
        if (p == &q->line_end) continue;
        *line = &q->line_end;
        for (;;) {
            struct net_queue_sink *const k = &sinks[p->packet.dst];
            struct net_queue_slot *const slot = k->at;
            if (__builtin_expect(slot == k->ask, 0)) {
                if (p == &q->line_end) break;
                p = ask(stretch, p, line);
                continue;
            }
            const uint64_t flits = flits_of[p->packet.bytes];
            const uint64_t visible_cyc = (k->next_cyc > head_cyc ? k->next_cyc : head_cyc) + flits;
            uint64_t arrival_cyc = visible_cyc + back_cyc;
            __asm__("" : "+r"(arrival_cyc)); /* else accept_cyc is changed first, in a register of its own */
            const uint64_t latency_cyc = arrival_cyc - p->accept_cyc;
            k->next_cyc = visible_cyc;
            __asm__("" : "+m"(k->at)); /* one addition there, instead of one in a register and a store */
            k->at++;
            k->busy_cyc += flits;
            slot->visible_cyc = visible_cyc;
            memcpy(&slot->packet, &p->packet, offsetof(struct net_packet, src));
            visible += visible_cyc;
            q->latency[net_queue_class_of(latency_cyc)]++;
            p = p->next;
        }
    }
    q->visible_cyc += visible;
}

void net_queue_run_stretch(struct net *n, uint64_t until)
{
    const struct stretch stretch = {n, n->queue->done_cyc, until, n->queue->scarce != 0};
    line_up_all(&stretch);
    begin_lines(&stretch);
    if (stretch.guards) guard(n, false);
    n->queue->done_cyc = until;
}
