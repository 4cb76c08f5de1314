/* net_queue: see net_queue.h. */
#include "net/net_queue.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_PLACES = 16 };

/* ---- building ---- */

static uint32_t power_of_two(uint32_t at_least)
{
    uint32_t size = 1;
    while (size < at_least) size *= 2;
    return size;
}

static const uint8_t *flits_table(const struct net *n, struct arena *a)
{
    uint8_t *const flits = ARENA_ARRAY(a, uint8_t, n->spec.max_packet_bytes + 1);
    _Static_assert(NET_QUEUE_AHEAD <= UINT8_MAX, "no packet has more flits");
    for (uint32_t bytes = 0; bytes <= n->spec.max_packet_bytes; bytes++)
        flits[bytes] = (uint8_t)net_flits_of(n, bytes);
    return flits;
}

void net_queue_build(struct net *n, struct arena *a)
{
    const struct net_spec *s = &n->spec;
    struct net_queue *q = n->queue = ARENA_NEW(a, struct net_queue);
    q->arena = a;
    q->words = (s->sources + 63) / 64;
    q->starts = ARENA_ARRAY(a, uint64_t, (size_t)NET_QUEUE_WHEEL * q->words);
    q->flits_of = flits_table(n, a);
    q->sources = arena_alloc_aligned(a, s->sources * sizeof *q->sources, 64);
    q->sinks = arena_alloc_aligned(a, s->sinks * sizeof *q->sinks, 64);
    /* A source acts one cycle after the acceptance, see the contract in net.h; a packet of one flit is there
     * with its head. */
    q->soonest_cyc = (uint64_t)s->inject_latency_cyc - 1 + s->router_latency_cyc + s->link_latency_cyc - 1;
    for (uint32_t i = 0; i < s->sources; i++) {
        q->sources[i].started_cyc = NET_NEVER;
        q->sources[i].ring = arena_alloc_aligned(a, FIRST_PLACES * sizeof *q->sources[i].ring, 64);
        q->sources[i].mask = FIRST_PLACES - 1;
    }
    for (uint32_t i = 0; i < s->sinks; i++) {
        struct net_queue_sink *k = &q->sinks[i];
        k->capacity = s->sink_packets;
        k->ring = arena_alloc_aligned(a, FIRST_PLACES * sizeof *k->ring, 64);
        k->mask = FIRST_PLACES - 1;
        k->left_mask = power_of_two(k->capacity) - 1;
        k->left_cyc = ARENA_ARRAY(a, uint64_t, k->left_mask + 1);
        for (uint32_t x = 0; x <= k->left_mask; x++) /* can be used from cycle 0 on */
            k->left_cyc[x] = 0ull - NET_QUEUE_BACK - s->credit_delay_cyc;
        k->waiting = NET_NO_PORT;
    }
}

void net_queue_grow_source(struct net_queue *q, struct net_queue_source *s)
{
    const uint32_t size = 2 * (s->mask + 1);
    struct net_queue_packet *const ring = arena_alloc_aligned(q->arena, size * sizeof *ring, 64);
    for (uint32_t i = 0; i < s->count; i++) ring[i] = s->ring[(s->head + i) & s->mask];
    s->ring = ring;
    s->head = 0;
    s->mask = size - 1;
}

static void grow_sink(struct net *n, struct net_queue_sink *k)
{
    const uint32_t mask = 2 * k->mask + 1;
    struct net_queue_slot *const ring = arena_alloc_aligned(n->queue->arena, (mask + 1) * sizeof *ring, 64);
    for (uint32_t x = k->popped; x != k->pushed; x++) ring[x & mask] = k->ring[x & k->mask];
    k->ring = ring;
    k->mask = mask;
    n->view.fronts[k - n->queue->sinks].packet = &ring[k->popped & mask].packet;
}

/* ---- places behind the switch ----
 *
 * Those for which there is none wait in order. Each gets the next place that is left, as soon as it is known
 * from when on that can be used; packets that come later do not overtake them. */

/* The cycle from which on the nth packet that is pushed next has a place; as many were taken. */
static inline uint64_t back_cyc(const struct net *n, const struct net_queue_sink *k, uint32_t nth)
{
    return k->left_cyc[(k->pushed + nth - k->capacity) & k->left_mask] + NET_QUEUE_BACK +
           n->spec.credit_delay_cyc;
}

static void promise(struct net *n, struct net_queue_sink *k, uint32_t source, uint64_t now)
{
    const uint64_t back = back_cyc(n, k, k->promised++);
    const uint64_t from = k->blocked_cyc > now ? k->blocked_cyc : now, cyc = back > now ? back : now;
    n->queue->sources[source].promised = true;
    net_queue_begins(n->queue, source, cyc);
    if (cyc > from) {
        k->waited_cyc += cyc - from;
        n->stats.blocked_cyc += cyc - from;
        k->blocked_cyc = cyc;
    }
    if (n->view.next_cyc > cyc) n->view.next_cyc = cyc;
}

void net_queue_promise(struct net *n, struct net_queue_sink *k)
{
    const uint32_t source = k->waiting;
    if (source == NET_NO_PORT) return; /* all that wait know of a place */
    struct net_queue_source *const s = &n->queue->sources[source];
    k->waiting = s->next_waiting;
    promise(n, k, source, s->blocked_cyc);
}

/* The first packet of a source finds no place in `now`. */
static void block(struct net *n, struct net_queue_sink *k, uint32_t source, uint64_t now)
{
    struct net_queue_source *const s = &n->queue->sources[source];
    k->scarce = true;
    if (k->waiting == NET_NO_PORT && k->pushed + k->promised - k->popped < k->capacity) {
        promise(n, k, source, now);
        return;
    }
    s->next_waiting = NET_NO_PORT;
    s->blocked_cyc = now;
    if (k->waiting == NET_NO_PORT)
        k->waiting = (uint16_t)source;
    else
        n->queue->sources[k->last].next_waiting = (uint16_t)source;
    k->last = (uint16_t)source;
}

/* May the packet begin now? */
static bool has_place(const struct net *n, struct net_queue_sink *k, struct net_queue_source *s, uint64_t now)
{
    const uint32_t inside = k->pushed - k->popped;
    if (!k->scarce) return inside < k->capacity && back_cyc(n, k, 0) <= now;
    if (s->promised) {
        s->promised = false;
        k->scarce = --k->promised || k->waiting != NET_NO_PORT;
        return true;
    }
    return k->waiting == NET_NO_PORT && inside + k->promised < k->capacity &&
           back_cyc(n, k, k->promised) <= now;
}

/* How many packets, the next one included, have a place from now on, here and in the ring? A power of two
 * less may be said. */
static uint32_t count_places(const struct net *n, const struct net_queue_sink *k, uint64_t now)
{
    const uint32_t inside = k->pushed - k->popped;
    uint32_t places = (k->capacity < k->mask + 1 ? k->capacity : k->mask + 1) - inside;
    while (places > 1 && back_cyc(n, k, places - 1) > now) places /= 2;
    return places;
}

/* For the packet before which a sink is asked: it may begin now, or its source waits. */
static __attribute__((noinline)) bool find_place(struct net *n, struct net_queue_sink *k,
                                                 struct net_queue_source *s, uint64_t now)
{
    const bool found = has_place(n, k, s, now);
    if (!found) {
        block(n, k, (uint32_t)(s - n->queue->sources), now);
        return false;
    }
    if (k->pushed - k->popped > k->mask) grow_sink(n, k);
    k->asked = k->pushed + (k->scarce ? 1 : count_places(n, k, now));
    k->packets += k->pushed - k->counted;
    k->counted = k->pushed;
    return true;
}

/* ---- beginning ---- */

/* A cycle in which packets begin, and 64 sources. */
struct start {
    uint64_t cyc, before_cyc;
    uint64_t soonest_cyc; /* a head that begins now would be at its sink, links being free */
    uint64_t *starts;
    struct net_queue_source *sources;
};

/* The first packet of a sink, and no other is on its way there. */
static inline void show(struct net *n, uint32_t sink, const struct net_queue_slot *slot, uint64_t *fresh)
{
    const uint64_t visible_cyc = slot->visible_cyc;
    struct net_front *const front = &n->view.fronts[sink];
    front->visible_cyc = visible_cyc;
    front->packet = &slot->packet;
    if (fresh) {
        net_bit_set(fresh, sink);
        return;
    }
    struct net_arrivals *const a = &n->arrived;
    if (visible_cyc < a->next_cyc) a->next_cyc = visible_cyc;
    net_bit_set(a->inside, sink);
    a->inside_words |= 1ull << (sink >> 6);
    if (n->wiring.arrived) n->wiring.arrived(n->wiring.ctx, sink, visible_cyc);
}

/* A packet is on its way to the sink. */
static inline void push(struct net *n, struct net_queue *q, const struct net_queue_packet *p,
                        struct net_queue_sink *k, uint32_t flits, uint64_t soonest_cyc, uint64_t *fresh)
{
    const uint32_t pushed = k->pushed, bytes = p->packet.bytes;
    const uint64_t arrival_cyc = (k->next_cyc > soonest_cyc ? k->next_cyc : soonest_cyc) + flits;
    const uint64_t latency_cyc = arrival_cyc - p->accept_cyc;
    struct net_queue_slot *const slot = &k->ring[pushed & k->mask];
    k->next_cyc = arrival_cyc;
    k->pushed = pushed + 1;
    slot->visible_cyc = arrival_cyc + n->spec.sink_delay_cyc;
    slot->packet = p->packet;
    k->bytes += bytes;
    k->busy_cyc += flits;
    n->stats.delivered++;
    n->stats.latency_cyc += latency_cyc;
    q->arrival_cyc += arrival_cyc;
    q->latency[(uint32_t)__builtin_clzll(latency_cyc) ^ 63]++;
    if (pushed == k->popped) show(n, p->packet.dst, slot, fresh);
}

/* net_queue_begins() for a source whose packet begins now. */
static inline void next_begins(struct net_queue *q, const struct net_queue_source *s, const struct start *at,
                               uint64_t bit, uint64_t ahead_cyc)
{
    if (__builtin_expect(ahead_cyc > NET_QUEUE_WHEEL, 0)) {
        q->known--;
        net_queue_begins(q, (uint32_t)(s - q->sources), at->cyc + ahead_cyc);
        return;
    }
    const uint32_t slot = (uint32_t)(at->cyc + ahead_cyc) % NET_QUEUE_WHEEL;
    at->starts[slot] |= bit;
    q->busy[slot] = 1;
}

/* The first packet of a source begins, if there is a place for it. */
static inline void begin(struct net *n, struct net_queue *q, const struct start *at, uint64_t bit,
                         uint64_t *fresh)
{
    struct net_queue_source *const s = &at->sources[(uint32_t)__builtin_ctzll(bit)];
    const struct net_queue_packet *const p = &s->ring[s->head];
    struct net_queue_sink *const k = &q->sinks[p->packet.dst];
    if (__builtin_expect(k->pushed == k->asked, 0) && !find_place(n, k, s, at->cyc)) {
        q->known--;
        return;
    }
    const uint64_t flits = q->flits_of[p->packet.bytes];
    const uint32_t head = (s->head + 1) & s->mask;
    push(n, q, p, k, (uint32_t)flits, at->soonest_cyc, fresh);
    s->flits += flits;
    s->started_cyc = at->cyc;
    s->free_cyc = at->cyc + flits;
    s->head = head;
    if (--s->count) {
        const uint64_t wait_cyc = s->ring[head].accept_cyc - at->before_cyc;
        next_begins(q, s, at, bit, (int64_t)wait_cyc < (int64_t)flits ? flits : wait_cyc);
    } else {
        q->known--;
    }
    if (__builtin_expect(s->refused, 0)) {
        s->refused = false;
        net_source_has_room(n, (uint32_t)(s - q->sources), at->cyc + 1);
    }
}

/* The first cycle from `cyc` on in which a packet may begin, NET_NEVER: none is known. */
static inline uint64_t next_beginning(const struct net_queue *q, uint64_t cyc)
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

void net_queue_turn(struct net_queue *q, uint64_t cyc)
{
    const uint64_t first = next_beginning(q, q->done_cyc);
    if (first == NET_NEVER)
        q->done_cyc = cyc - NET_QUEUE_WHEEL / 2; /* before now: no beginning is known for longer */
    else
        q->done_cyc = first < cyc ? first : cyc;
    DIAG_ASSERT(cyc - q->done_cyc < NET_QUEUE_WHEEL);
}

void net_queue_run(struct net *n, uint64_t until_cyc, uint64_t *fresh)
{
    struct net_queue *const q = n->queue;
    for (uint64_t cyc; (cyc = next_beginning(q, q->done_cyc)) < until_cyc;) {
        const uint32_t slot = (uint32_t)cyc % NET_QUEUE_WHEEL;
        struct start at = {cyc, cyc - 1, cyc + q->soonest_cyc, q->starts, q->sources};
        q->busy[slot] = 0;
        q->done_cyc = cyc + 1;
        for (uint32_t w = 0; w < q->words; w++, at.starts += NET_QUEUE_WHEEL, at.sources += 64) {
            uint64_t m = at.starts[slot];
            at.starts[slot] = 0;
            for (; m; m &= m - 1) begin(n, q, &at, m & -m, fresh);
        }
    }
    if (q->done_cyc < until_cyc) q->done_cyc = until_cyc;
}

uint64_t net_queue_step(struct net *n, uint64_t now)
{
    net_queue_run(n, now + 1, NULL);
    return next_beginning(n->queue, now + 1);
}

/* ---- ends ---- */

bool net_queue_try_inject(struct net *n, const struct net_packet *p, uint64_t now)
{
    struct net_queue_source *const s = &n->queue->sources[p->src];
    if (net_queue_waiting(s, now) >= n->spec.source_packets) {
        (void)net_queue_refuse(n, p->src, now);
        return false;
    }
    const uint64_t cyc = net_queue_join(n, p, now);
    if (cyc < n->view.next_cyc) n->view.next_cyc = cyc;
    return true;
}

bool net_queue_refuse(struct net *n, uint32_t source, uint64_t now)
{
    struct net_queue_source *const s = &n->queue->sources[source];
    n->stats.refused++;
    if (s->count < n->spec.source_packets) { /* it was left in this very cycle */
        net_source_has_room(n, source, now + 1);
        return false;
    }
    s->refused = true;
    return true;
}

void net_queue_pop(struct net *n, uint32_t sink, uint64_t now)
{
    struct net_arrivals *const a = &n->arrived;
    const struct net_front *const front = &n->view.fronts[sink];
    if (n->stepped_cyc < now) n->stepped_cyc = now; /* nothing need be due any more */
    net_queue_take(n, sink, now);
    if (front->visible_cyc == NET_NEVER) {
        net_bit_clear(a->inside, sink);
        if (!a->inside[sink >> 6]) a->inside_words &= ~(1ull << (sink >> 6));
    } else if (front->visible_cyc < a->next_cyc) {
        a->next_cyc = front->visible_cyc;
    }
    if (front->visible_cyc <= now) return;
    net_bit_clear(a->visible, sink);
    if (!a->visible[sink >> 6]) a->visible_words &= ~(1ull << (sink >> 6));
}

bool net_queue_has_room(const struct net *n, uint32_t source, uint64_t now)
{
    return net_queue_waiting(&n->queue->sources[source], now) < n->spec.source_packets;
}

bool net_queue_idle(const struct net *n, uint32_t source, uint64_t now)
{
    const struct net_queue_source *const s = &n->queue->sources[source];
    return !s->count && s->free_cyc <= now + 1;
}

/* ---- reports ---- */

struct net_output_stats net_queue_output(const struct net *n, uint32_t sink)
{
    const struct net_queue_sink *k = &n->queue->sinks[sink];
    const uint64_t packets = k->packets + (k->pushed - k->counted);
    return (struct net_output_stats){packets, k->bytes, k->busy_cyc, k->waited_cyc};
}

/* What packets do not count one by one: times that they spent inside are differences of sums of times. */
void net_queue_settle(struct net *n)
{
    const struct net_queue *q = n->queue;
    struct net_stats *const s = &n->stats;
    const uint32_t last = sizeof s->latency / sizeof *s->latency - 1;
    s->stay_cyc = s->latency_cyc + q->taken_cyc - q->arrival_cyc;
    s->busy_cyc = 0ull - q->busy_before_cyc;
    for (uint32_t i = 0; i < n->spec.sinks; i++) {
        const struct net_queue_sink *k = &q->sinks[i];
        s->busy_cyc += k->busy_cyc;
        for (uint32_t x = k->popped; x != k->pushed; x++) s->stay_cyc += k->ring[x & k->mask].visible_cyc;
    }
    memset(s->latency, 0, sizeof s->latency);
    for (uint32_t i = 0; i < 64; i++) s->latency[i + 1 < last ? i + 1 : last] += q->latency[i];
}

void net_queue_count(struct net *n, uint64_t now, struct net_stats *out)
{
    const struct net_queue *q = n->queue;
    net_queue_settle(n);
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        const struct net_queue_source *s = &q->sources[i];
        out->inside += s->count;
        for (uint32_t x = 0; x < s->count; x++)
            out->left_bytes += s->ring[(s->head + x) & s->mask].packet.bytes;
    }
    for (uint32_t i = 0; i < n->spec.sinks; i++) {
        const struct net_queue_sink *k = &q->sinks[i];
        out->untaken += k->pushed - k->popped;
        for (uint32_t x = k->popped; x != k->pushed; x++)
            out->left_bytes += k->ring[x & k->mask].packet.bytes;
    }
    out->inside_cyc = q->taken_cyc - q->accepted_cyc + now * (out->inside + out->untaken);
}

/* Statistics begin anew: what is inside counts as accepted now. */
void net_queue_restart(struct net *n, uint64_t now)
{
    struct net_queue *q = n->queue;
    q->taken_cyc = q->accepted_cyc = q->arrival_cyc = q->busy_before_cyc = 0;
    memset(q->latency, 0, sizeof q->latency);
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        const struct net_queue_source *s = &q->sources[i];
        q->accepted_cyc += now * s->count;
        for (uint32_t x = 0; x < s->count; x++) /* all of it is added when it begins */
            q->arrival_cyc += now - s->ring[(s->head + x) & s->mask].accept_cyc;
    }
    for (uint32_t i = 0; i < n->spec.sinks; i++) {
        const struct net_queue_sink *k = &q->sinks[i];
        q->accepted_cyc += now * (k->pushed - k->popped);
        q->arrival_cyc += now * (k->pushed - k->popped);
        q->busy_before_cyc += k->busy_cyc;
    }
}

void net_queue_describe(const struct net *n, char *text, size_t bytes)
{
    size_t used = 0;
    for (uint32_t i = 0; i < n->spec.sources && used < bytes; i++) {
        const struct net_queue_source *s = &n->queue->sources[i];
        if (!s->count) continue;
        const struct net_queue_sink *k = &n->queue->sinks[s->ring[s->head].packet.dst];
        const int more =
            snprintf(text + used, bytes - used, "source %u: %u packets wait for %s output %u\n", i, s->count,
                     k->scarce ? "a place at" : "the link to", s->ring[s->head].packet.dst);
        used += more > 0 ? (size_t)more : 0;
    }
}

/* Those that have gone over the link by the end of `now`: what waits behind the switch has not. */
uint64_t net_queue_link_flits(const struct net *n, uint32_t link, uint64_t now)
{
    const struct net_queue *q = n->queue;
    if (link >= n->spec.sinks) {
        const struct net_queue_source *s = &q->sources[link - n->spec.sinks];
        return s->free_cyc > now + 1 ? s->flits - (s->free_cyc - now - 1) : s->flits;
    }
    const struct net_queue_sink *k = &q->sinks[link];
    uint64_t flits = k->busy_cyc;
    for (uint32_t x = k->popped; x != k->pushed; x++) {
        const uint64_t tail_cyc =
            k->ring[x & k->mask].visible_cyc - n->spec.sink_delay_cyc - n->spec.link_latency_cyc;
        if (tail_cyc <= now) continue;
        const uint64_t all = net_flits_of(n, k->ring[x & k->mask].packet.bytes);
        flits -= tail_cyc - now < all ? tail_cyc - now : all;
    }
    return flits;
}
