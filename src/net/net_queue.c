/* net_queue: see net_queue.h. */
#include "net/net_queue.h"

#include <stdio.h>

enum { FIRST_PLACES = 16 };

/* ---- building ---- */

static uint32_t power_of_two(uint32_t at_least)
{
    uint32_t size = 1;
    while (size < at_least) size *= 2;
    return size;
}

void net_queue_build(struct net *n, struct arena *a)
{
    const struct net_spec *s = &n->spec;
    struct net_queue *q = n->queue = ARENA_NEW(a, struct net_queue);
    q->arena = a;
    q->words = (s->sources + 63) / 64;
    q->starts = ARENA_ARRAY(a, uint64_t, (size_t)NET_QUEUE_WHEEL * q->words);
    q->sources = arena_alloc_aligned(a, s->sources * sizeof *q->sources, 64);
    q->sinks = arena_alloc_aligned(a, s->sinks * sizeof *q->sinks, 64);
    /* A source acts one cycle after the acceptance, see the contract in net.h. */
    q->through_cyc = s->inject_latency_cyc - 1 + s->router_latency_cyc;
    q->last_cyc = s->link_latency_cyc + s->sink_delay_cyc;
    for (uint32_t i = 0; i < s->sources; i++) {
        q->sources[i].started_cyc = NET_NEVER;
        q->sources[i].ring = arena_alloc_aligned(a, FIRST_PLACES * sizeof *q->sources[i].ring, 64);
        q->sources[i].mask = FIRST_PLACES - 1;
    }
    for (uint32_t i = 0; i < s->sinks; i++) {
        struct net_queue_sink *k = &q->sinks[i];
        k->capacity = s->sink_packets;
        k->easy = k->capacity > s->credit_delay_cyc + NET_QUEUE_WHEEL / 2
                      ? k->capacity - s->credit_delay_cyc - NET_QUEUE_WHEEL / 2
                      : 0; /* one is left per cycle; receivers are no further ahead */
        k->ring = arena_alloc_aligned(a, FIRST_PLACES * sizeof *k->ring, 64);
        k->mask = FIRST_PLACES - 1;
        k->back_mask = power_of_two(k->capacity) - 1;
        k->back_cyc = ARENA_ARRAY(a, uint64_t, k->back_mask + 1);
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

static __attribute__((noinline, cold)) void grow_sink(struct net *n, uint32_t sink)
{
    struct net_queue_sink *k = &n->queue->sinks[sink];
    const uint32_t mask = 2 * k->mask + 1;
    struct net_queue_slot *const ring = arena_alloc_aligned(n->queue->arena, (mask + 1) * sizeof *ring, 64);
    for (uint32_t x = k->popped; x != k->pushed; x++) ring[x & mask] = k->ring[x & k->mask];
    k->ring = ring;
    k->mask = mask;
    n->view.fronts[sink].packet = &ring[k->popped & mask].packet;
}

/* ---- places behind the switch ----
 *
 * Those for which there is none wait in order. Each gets the next place that is left, as soon as it is known
 * from when on that can be used; packets that come later do not overtake them. */

static void promise(struct net *n, struct net_queue_sink *k, uint32_t source, uint64_t now)
{
    const uint64_t back_cyc = k->back_cyc[(k->pushed + k->promised++) & k->back_mask];
    const uint64_t from = k->blocked_cyc > now ? k->blocked_cyc : now, cyc = back_cyc > now ? back_cyc : now;
    n->queue->sources[source].promised = true;
    net_queue_begins(n->queue, source, cyc);
    if (cyc > from) {
        k->stats.blocked_cyc += cyc - from;
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
static __attribute__((noinline, cold)) void block(struct net *n, struct net_queue_sink *k, uint32_t source,
                                                  uint64_t now)
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
static inline bool has_place(struct net_queue_sink *k, struct net_queue_source *s, uint64_t now)
{
    const uint32_t inside = k->pushed - k->popped;
    if (__builtin_expect(inside < k->easy && !k->scarce, 1)) return true;
    if (!k->scarce) return inside < k->capacity && k->back_cyc[k->pushed & k->back_mask] <= now;
    if (s->promised) {
        s->promised = false;
        k->scarce = --k->promised || k->waiting != NET_NO_PORT;
        return true;
    }
    return k->waiting == NET_NO_PORT && k->pushed + k->promised - k->popped < k->capacity &&
           k->back_cyc[(k->pushed + k->promised) & k->back_mask] <= now;
}

/* ---- beginning ---- */

/* A packet is on its way to the sink. */
static inline void push(struct net *n, uint32_t source, const struct net_queue_packet *p,
                        struct net_queue_sink *k, uint64_t now, uint64_t *fresh)
{
    struct net_queue *const q = n->queue;
    const uint32_t sink = p->dst, flits = p->flits;
    const uint64_t head_cyc = now + q->through_cyc;
    const uint64_t out_cyc = k->free_cyc > head_cyc ? k->free_cyc : head_cyc;
    const uint64_t visible_cyc = out_cyc + q->last_cyc + flits - 1, latency_cyc = visible_cyc - p->accept_cyc;
    if (__builtin_expect(k->pushed - k->popped > k->mask, 0)) grow_sink(n, sink);
    struct net_queue_slot *const slot = &k->ring[k->pushed & k->mask];
    k->free_cyc = out_cyc + flits;
    slot->visible_cyc = visible_cyc;
    slot->packet = (struct net_packet){
        .handle = p->handle, .src = source, .dst = sink, .bytes = p->bytes, .cls = p->cls};
    k->stats.packets++;
    k->stats.bytes += p->bytes;
    k->stats.busy_cyc += flits;
    n->stats.delivered++;
    n->stats.busy_cyc += flits;
    n->stats.stay_cyc += latency_cyc;
    n->stats.latency_cyc += latency_cyc - n->spec.sink_delay_cyc;
    STATS_COUNT(n->stats.latency, latency_cyc - n->spec.sink_delay_cyc);
    if (k->pushed++ != k->popped) return;
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

static inline void begin(struct net *n, uint32_t source, uint64_t now, uint64_t *fresh)
{
    struct net_queue *const q = n->queue;
    struct net_queue_source *const s = &q->sources[source];
    const struct net_queue_packet *const p = &s->ring[s->head];
    struct net_queue_sink *const k = &q->sinks[p->dst];
    if (__builtin_expect(!has_place(k, s, now), 0)) {
        block(n, k, source, now);
        return;
    }
    const uint32_t flits = p->flits;
    push(n, source, p, k, now, fresh);
    s->flits += flits;
    s->started_cyc = now;
    s->free_cyc = now + flits;
    s->head = (s->head + 1) & s->mask;
    if (--s->count) {
        const uint64_t accept_cyc = s->ring[s->head].accept_cyc;
        net_queue_begins(q, source, accept_cyc < s->free_cyc ? s->free_cyc : accept_cyc + 1);
    }
    if (__builtin_expect(s->refused, 0)) {
        s->refused = false;
        net_source_has_room(n, source, now + 1);
    }
}

/* The first cycle from `cyc` on in which a packet may begin, NET_NEVER: none is known. */
static inline uint64_t next_beginning(const struct net_queue *q, uint64_t cyc)
{
    const uint32_t from = (uint32_t)cyc % NET_QUEUE_WHEEL, words = NET_QUEUE_WHEEL / 64;
    uint32_t w = from / 64;
    uint64_t m = q->busy[w] & ~0ull << from % 64;
    for (uint32_t i = 0; i <= words; i++) {
        if (m) return cyc + ((w * 64 + (uint32_t)__builtin_ctzll(m) - from) & (NET_QUEUE_WHEEL - 1));
        w = (w + 1) % words;
        m = q->busy[w];
    }
    return NET_NEVER;
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
        uint64_t *const starts = &q->starts[(size_t)slot * q->words];
        q->busy[slot >> 6] &= ~(1ull << (slot & 63));
        q->done_cyc = cyc + 1;
        for (uint32_t w = 0; w < q->words; w++) {
            uint64_t m = starts[w];
            starts[w] = 0;
            for (; m; m &= m - 1) begin(n, w << 6 | (uint32_t)__builtin_ctzll(m), cyc, fresh);
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
    return n->queue->sinks[sink].stats;
}

void net_queue_count(const struct net *n, uint64_t now, struct net_stats *out)
{
    const struct net_queue *q = n->queue;
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        const struct net_queue_source *s = &q->sources[i];
        out->inside += s->count;
        for (uint32_t x = 0; x < s->count; x++) out->left_bytes += s->ring[(s->head + x) & s->mask].bytes;
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
    q->taken_cyc = q->accepted_cyc = 0;
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        const struct net_queue_source *s = &q->sources[i];
        q->accepted_cyc += now * s->count;
        for (uint32_t x = 0; x < s->count; x++) /* all of it is added when it begins */
            n->stats.stay_cyc -= now - s->ring[(s->head + x) & s->mask].accept_cyc;
    }
    for (uint32_t i = 0; i < n->spec.sinks; i++) {
        const struct net_queue_sink *k = &q->sinks[i];
        q->accepted_cyc += now * (k->pushed - k->popped);
        for (uint32_t x = k->popped; x != k->pushed; x++) /* the rest is added when it is taken */
            n->stats.stay_cyc += k->ring[x & k->mask].visible_cyc - now;
    }
}

void net_queue_describe(const struct net *n, char *text, size_t bytes)
{
    size_t used = 0;
    for (uint32_t i = 0; i < n->spec.sources && used < bytes; i++) {
        const struct net_queue_source *s = &n->queue->sources[i];
        if (!s->count) continue;
        const struct net_queue_sink *k = &n->queue->sinks[s->ring[s->head].dst];
        const int more =
            snprintf(text + used, bytes - used, "source %u: %u packets wait for %s output %u\n", i, s->count,
                     k->scarce ? "a place at" : "the link to", s->ring[s->head].dst);
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
    uint64_t flits = k->stats.busy_cyc;
    for (uint32_t x = k->popped; x != k->pushed; x++) {
        const uint64_t tail_cyc = k->ring[x & k->mask].visible_cyc - q->last_cyc;
        if (tail_cyc <= now) continue;
        const uint64_t all = net_flits_of(n, k->ring[x & k->mask].packet.bytes);
        flits -= tail_cyc - now < all ? tail_cyc - now : all;
    }
    return flits;
}
