/* net_queue_wheel: which source may begin in which cycle, while someone waits for room in a source, or the
 * network is stepped. Packets begin cycle by cycle, in the order of sources. */
#include "net/net_queue_private.h"

#include <string.h>

/* ---- what is known ---- */

uint64_t net_queue_next_beginning(const struct net_queue *q, uint64_t cyc)
{
    enum { TOGETHER = 8 }; /* cycles that one word tells of, the first in its lowest byte */
    _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "of bytes in a word");
    if (!q->known) return NET_NEVER;
    for (;; cyc += TOGETHER - cyc % TOGETHER) {
        uint64_t some;
        memcpy(&some, &q->busy[cyc % NET_QUEUE_WHEEL / TOGETHER * TOGETHER], sizeof some);
        some >>= 8 * (cyc % TOGETHER);
        if (some) return cyc + (uint32_t)__builtin_ctzll(some) / 8;
    }
}

/* `cyc` is beyond the wheel, or before what it begins with: nothing was done for long. */
static void turn_wheel(struct net_queue *q, uint64_t cyc)
{
    const uint64_t first = net_queue_next_beginning(q, q->done_cyc);
    if (first == NET_NEVER)
        q->done_cyc = cyc - NET_QUEUE_WHEEL / 2; /* before now: no beginning is known for longer */
    else
        q->done_cyc = first < cyc ? first : cyc;
    DIAG_ASSERT(cyc - q->done_cyc < NET_QUEUE_WHEEL);
}

void net_queue_begins(struct net_queue *q, uint32_t source, uint64_t cyc)
{
    if (__builtin_expect(cyc - q->done_cyc >= NET_QUEUE_WHEEL, 0)) turn_wheel(q, cyc);
    const uint32_t slot = (uint32_t)cyc % NET_QUEUE_WHEEL;
    q->starts[(size_t)(source >> 6) * NET_QUEUE_WHEEL + slot] |= 1ull << (source & 63);
    q->busy[slot] = 1;
    q->known++;
}

void net_queue_begin_wheel(struct net *n)
{
    struct net_queue *const q = n->queue;
    q->by_wheel = true;
    NET_QUEUE_EACH(i, q->senders)
    {
        struct net_queue_source *const s = &q->sources[i];
        if (s->at == s->done.first)
            s->stop = s->at;
        else if (net_queue_first_cyc(s) != NET_NEVER)
            net_queue_begins(q, i, net_queue_first_cyc(s));
    }
}

void net_queue_end_wheel(struct net *n)
{
    struct net_queue *const q = n->queue;
    q->by_wheel = false;
    q->known = 0;
    memset(q->busy, 0, sizeof q->busy);
    memset(q->starts, 0, (size_t)NET_QUEUE_WHEEL * q->words * sizeof *q->starts);
    NET_QUEUE_EACH(i, q->senders) q->sources[i].stop = q->sources[i].end;
}

/* ---- beginning, cycle by cycle ---- */

/* A cycle in which packets begin, and 64 sources. */
struct start {
    uint64_t cyc, before_cyc;
    uint64_t soonest_cyc; /* what begins now would be visible, links being free, less its flits */
    uint64_t *starts;
    struct net_queue_source *sources;
};

/* The first packet of a sink, and no other is on its way there. */
static inline void show(struct net *n, uint32_t sink, const struct net_queue_slot *slot)
{
    const uint64_t visible_cyc = slot->visible_cyc;
    struct net_front *const front = &n->view.fronts[sink];
    front->visible_cyc = visible_cyc;
    front->packet = &slot->packet;
    struct net_arrivals *const a = &n->arrived;
    if (visible_cyc < a->next_cyc) a->next_cyc = visible_cyc;
    net_bit_set(a->inside, sink);
    a->inside_words |= 1ull << (sink >> 6);
    if (n->wiring.arrived) n->wiring.arrived(n->wiring.ctx, sink, visible_cyc);
}

/* A packet is on its way to the sink. */
static inline void push(struct net *n, struct net_queue *q, const struct net_queue_packet *p,
                        struct net_queue_sink *k, struct net_queue_slot *slot, uint32_t flits,
                        uint64_t soonest_cyc, bool tell)
{
    const uint64_t visible_cyc = (k->next_cyc > soonest_cyc ? k->next_cyc : soonest_cyc) + flits;
    const uint64_t latency_cyc = visible_cyc + q->back_cyc - p->accept_cyc;
    k->next_cyc = visible_cyc;
    k->at = slot + 1;
    slot->visible_cyc = visible_cyc;
    slot->packet = p->packet;
    k->busy_cyc += flits;
    q->visible_cyc += visible_cyc;
    q->latency[net_queue_class_of(latency_cyc)]++;
    if (tell && n->view.fronts[p->packet.dst].visible_cyc == NET_NEVER) show(n, p->packet.dst, slot);
}

/* net_queue_begins() for a source whose packet begins now. */
static inline void next_begins(struct net_queue *q, const struct net_queue_source *s, const struct start *at,
                               uint64_t bit, uint64_t ahead_cyc)
{
    if (__builtin_expect(ahead_cyc > NET_QUEUE_WHEEL, 0)) {
        q->known--;
        net_queue_begins(q, net_queue_index_of(s), at->cyc + ahead_cyc);
        return;
    }
    const uint32_t slot = (uint32_t)(at->cyc + ahead_cyc) % NET_QUEUE_WHEEL;
    at->starts[slot] |= bit;
    q->busy[slot] = 1;
}

/* The first packet of a source begins, if there is a place for it. */
static inline void begin(struct net *n, struct net_queue *q, const struct start *at, uint64_t bit, bool tell)
{
    struct net_queue_source *const s = &at->sources[(uint32_t)__builtin_ctzll(bit)];
    const struct net_queue_packet *const p = s->done.first;
    struct net_queue_sink *const k = &q->sinks[p->packet.dst];
    struct net_queue_slot *slot = k->at;
    if (__builtin_expect(slot == k->ask, 0) && !(slot = net_queue_find_place(n, k, s, at->cyc))) {
        q->known--;
        return;
    }
    const uint64_t flits = q->flits_of[p->packet.bytes];
    push(n, q, p, k, slot, (uint32_t)flits, at->soonest_cyc, tell);
    s->done.flits += flits;
    s->done.packets++;
    s->done.started_cyc = at->cyc;
    s->done.free_cyc = at->cyc + flits;
    s->done.first++;
    if (s->done.first != s->at) {
        const uint64_t wait_cyc = s->done.first->accept_cyc - at->before_cyc;
        next_begins(q, s, at, bit, (int64_t)wait_cyc < (int64_t)flits ? flits : wait_cyc);
    } else {
        q->known--;
        s->at = s->stop = s->done.first = s->places;
    }
    if (__builtin_expect(s->refused, 0)) {
        s->refused = false;
        q->refused--;
        net_source_has_room(n, net_queue_index_of(s), at->cyc + 1);
    }
}

void net_queue_run_wheel(struct net *n, uint64_t until_cyc, bool tell, bool until_calm)
{
    struct net_queue *const q = n->queue;
    for (uint64_t cyc; (cyc = net_queue_next_beginning(q, q->done_cyc)) < until_cyc;) {
        if (until_calm && !q->refused) return;
        const uint32_t slot = (uint32_t)cyc % NET_QUEUE_WHEEL;
        struct start at = {cyc, cyc - 1, cyc + q->soonest_cyc, q->starts, q->sources};
        q->busy[slot] = 0;
        q->done_cyc = cyc + 1;
        for (uint32_t w = 0; w < q->words; w++, at.starts += NET_QUEUE_WHEEL, at.sources += 64) {
            uint64_t m = at.starts[slot];
            at.starts[slot] = 0;
            for (; m; m &= m - 1) begin(n, q, &at, m & -m, tell);
        }
    }
    if (q->done_cyc < until_cyc) q->done_cyc = until_cyc;
}
