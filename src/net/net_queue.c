/* net_queue: see net_queue.h. */
#include "net/net_queue.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_PLACES = 64, FIRST_SLOTS = 64 };

/* ---- building ---- */

static const uint8_t *flits_table(const struct net *n, struct arena *a)
{
    uint8_t *const flits = ARENA_ARRAY(a, uint8_t, n->spec.max_packet_bytes + 1);
    _Static_assert(NET_QUEUE_AHEAD <= UINT8_MAX, "no packet has more flits");
    for (uint32_t bytes = 0; bytes <= n->spec.max_packet_bytes; bytes++)
        flits[bytes] = (uint8_t)net_flits_of(n, bytes);
    return flits;
}

static uint32_t index_of(const struct net_queue_source *s) { return (uint32_t)(s - s->queue->sources); }

/* The queue has that many places from now on, what waits in the first ones. */
static void give_places(struct net_queue_source *s, uint32_t count)
{
    const uint32_t waiting = net_queue_count_of(s);
    struct net_queue_packet *const places = /* and one, see line_up() */
        ARENA_ARRAY(s->queue->arena, struct net_queue_packet, count + 1);
    if (waiting) memcpy(places, s->done.first, waiting * sizeof *places);
    for (uint32_t i = 0; i < count; i++) places[i].packet.src = index_of(s);
    s->places = s->done.first = places;
    s->at = places + waiting;
    s->end = places + count;
}

/* As if all had been left long ago. */
static struct net_queue_slot *new_slots(const struct net *n, uint32_t sink, uint32_t count)
{
    struct net_queue_slot *const slots = arena_alloc_aligned(n->queue->arena, count * sizeof *slots, 64);
    for (uint32_t i = 0; i < count; i++) {
        slots[i].packet.dst = sink;
        /* can be used from cycle 0 on */
        slots[i].visible_cyc = 0ull - NET_QUEUE_BACK - n->spec.credit_delay_cyc;
    }
    return slots;
}

static void build_sink(struct net *n, uint32_t idx)
{
    struct net_queue_sink *const k = &n->queue->sinks[idx];
    k->capacity = n->spec.sink_packets;
    k->mask = FIRST_SLOTS - 1;
    k->ring = k->at = k->ask = new_slots(n, idx, FIRST_SLOTS);
    k->end = k->ring + FIRST_SLOTS;
    k->waiting = NET_NO_PORT;
    n->view.fronts[idx].packet = &k->ring->packet;
}

void net_queue_build(struct net *n, struct arena *a)
{
    const struct net_spec *s = &n->spec;
    struct net_queue *q = n->queue = ARENA_NEW(a, struct net_queue);
    q->arena = a;
    q->by_wheel = true;
    q->words = (s->sources + 63) / 64;
    q->starts = ARENA_ARRAY(a, uint64_t, (size_t)NET_QUEUE_WHEEL * q->words);
    q->lines = ARENA_ARRAY(a, struct net_queue_packet *, NET_QUEUE_WHEEL);
    q->flits_of = flits_table(n, a);
    q->sources = arena_alloc_aligned(a, s->sources * sizeof *q->sources, 64);
    q->before_run = ARENA_ARRAY(a, struct net_queue_before, s->sources);
    q->sinks = arena_alloc_aligned(a, s->sinks * sizeof *q->sinks, 64);
    /* A source acts one cycle after the acceptance, see the contract in net.h; a packet of one flit is there
     * with its head. */
    q->soonest_cyc = (uint64_t)s->inject_latency_cyc - 1 + s->router_latency_cyc + s->link_latency_cyc - 1;
    for (uint32_t i = 0; i < s->sources; i++) {
        struct net_queue_source *const source = &q->sources[i];
        source->queue = q;
        source->done.started_cyc = NET_NEVER;
        give_places(source, FIRST_PLACES);
        source->stop = source->at;
    }
    for (uint32_t i = 0; i < s->sinks; i++) build_sink(n, i);
}

/* ---- the queue of a source ---- */

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

/* `cyc` is beyond the wheel, or before what it begins with: nothing was done for long. */
static void turn_wheel(struct net_queue *q, uint64_t cyc)
{
    const uint64_t first = next_beginning(q, q->done_cyc);
    if (first == NET_NEVER)
        q->done_cyc = cyc - NET_QUEUE_WHEEL / 2; /* before now: no beginning is known for longer */
    else
        q->done_cyc = first < cyc ? first : cyc;
    DIAG_ASSERT(cyc - q->done_cyc < NET_QUEUE_WHEEL);
}

/* The first packet of the source may begin in `cyc`: the wheel knows. */
static void begins(struct net_queue *q, uint32_t source, uint64_t cyc)
{
    if (__builtin_expect(cyc - q->done_cyc >= NET_QUEUE_WHEEL, 0)) turn_wheel(q, cyc);
    const uint32_t slot = (uint32_t)cyc % NET_QUEUE_WHEEL;
    q->starts[(size_t)(source >> 6) * NET_QUEUE_WHEEL + slot] |= 1ull << (source & 63);
    q->busy[slot] = 1;
    q->known++;
}

/* When may a packet that was accepted then begin, if none is before it? */
static inline uint64_t begin_cyc(const struct net_queue_source *s, uint64_t accept_cyc)
{
    return s->done.free_cyc > accept_cyc ? s->done.free_cyc : accept_cyc + 1;
}

struct net_queue_packet *net_queue_make_room(struct net_queue_source *s, uint64_t now)
{
    const uint32_t waiting = net_queue_count_of(s), count = (uint32_t)(s->end - s->places);
    if (s->queue->by_wheel && !waiting) begins(s->queue, index_of(s), begin_cyc(s, now));
    if (s->at == s->end) {
        if (2 * waiting > count) {
            give_places(s, 2 * count);
        } else {
            memmove(s->places, s->done.first, waiting * sizeof *s->places);
            s->done.first = s->places;
            s->at = s->places + waiting;
        }
    }
    s->stop = s->end;
    return s->at;
}

/* The wheel knows of all first packets from now on. */
static void begin_wheel(struct net *n)
{
    struct net_queue *const q = n->queue;
    q->by_wheel = true;
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        struct net_queue_source *const s = &q->sources[i];
        if (s->at == s->done.first)
            s->stop = s->at;
        else
            begins(q, i, begin_cyc(s, s->done.first->accept_cyc));
    }
}

/* … of none any more; nobody waits for a place. */
static void end_wheel(struct net *n)
{
    struct net_queue *const q = n->queue;
    q->by_wheel = false;
    q->known = 0;
    memset(q->busy, 0, sizeof q->busy);
    memset(q->starts, 0, (size_t)NET_QUEUE_WHEEL * q->words * sizeof *q->starts);
    for (uint32_t i = 0; i < n->spec.sources; i++) q->sources[i].stop = q->sources[i].end;
}

/* ---- places behind the switch ----
 *
 * Those for which there is none wait in order. Each gets the next place that is left, as soon as it is known
 * from when on that can be used; packets that come later do not overtake them. */

static inline struct net_front *front_of(const struct net *n, const struct net_queue_sink *k)
{
    return &n->view.fronts[k - n->queue->sinks];
}

static inline uint32_t inside_of(const struct net *n, const struct net_queue_sink *k)
{
    return net_queue_inside(k, front_of(n, k));
}

/* As far as the ring allows. */
static inline uint32_t places_of(const struct net_queue_sink *k)
{
    return k->capacity < k->mask ? k->capacity : k->mask;
}

/* The cycle from which on the nth packet that is pushed next has a place; as many were taken. In a ring that
 * has less slots than the sink has places, those that are not there any more were left before. */
static inline uint64_t back_cyc(const struct net *n, const struct net_queue_sink *k, uint32_t nth)
{
    const uint32_t slot = (uint32_t)(k->at - k->ring) + nth - places_of(k);
    return k->ring[slot & k->mask].visible_cyc + NET_QUEUE_BACK + n->spec.credit_delay_cyc;
}

/* Packets, pushed and taken since the start. */
static uint64_t delivered_of(const struct net_queue_sink *k)
{
    return k->packets - (uint64_t)(k->ask - k->at);
}
static uint64_t taken_of(const struct net_queue_sink *k)
{
    return k->taken_before + (k->taken - (uint32_t)k->taken_before);
}

/* The slots of the old ring, in their order, are the last ones of the new one. */
static void grow_sink(struct net *n, struct net_queue_sink *k)
{
    const uint32_t count = k->mask + 1, first = (uint32_t)(k->at - k->ring), inside = inside_of(n, k);
    struct net_queue_slot *const ring = new_slots(n, (uint32_t)(k - n->queue->sinks), 2 * count);
    for (uint32_t i = 0; i < count; i++) ring[count + i] = k->ring[(first + i) & k->mask];
    k->ring = ring;
    k->mask = 2 * count - 1;
    k->at = k->ask = k->end = ring + 2 * (size_t)count;
    front_of(n, k)->packet = &(k->end - inside)->packet;
}

static void promise(struct net *n, struct net_queue_sink *k, uint32_t source, uint64_t now)
{
    const uint64_t back = back_cyc(n, k, k->promised++);
    const uint64_t from = k->blocked_cyc > now ? k->blocked_cyc : now, cyc = back > now ? back : now;
    n->queue->sources[source].promised = true;
    begins(n->queue, source, cyc);
    if (cyc > from) {
        k->waited_cyc += cyc - from;
        n->stats.blocked_cyc += cyc - from;
        k->blocked_cyc = cyc;
    }
    if (n->view.next_cyc > cyc) n->view.next_cyc = cyc;
}

/* For every packet that was taken since the last time the source that has waited longest may begin. */
static void answer(struct net *n, struct net_queue_sink *k)
{
    for (; k->answered != k->taken; k->answered++) {
        const uint32_t source = k->waiting;
        if (source == NET_NO_PORT) continue; /* all that wait know of a place */
        struct net_queue_source *const s = &n->queue->sources[source];
        k->waiting = s->next_waiting;
        promise(n, k, source, s->blocked_cyc);
    }
}

/* Before anybody asks for a place, or how long it was waited for. */
static void answer_all(struct net *n)
{
    struct net_queue *const q = n->queue;
    for (uint32_t i = 0; q->scarce && i < n->spec.sinks; i++)
        if (q->sinks[i].scarce) answer(n, &q->sinks[i]);
}

/* The first packet of a source finds no place in `now`. */
static void block(struct net *n, struct net_queue_sink *k, struct net_queue_source *s, uint64_t now)
{
    const uint32_t source = index_of(s);
    if (!k->scarce) {
        n->queue->scarce++;
        k->scarce = true;
        k->answered = k->taken;
    }
    if (k->waiting == NET_NO_PORT && inside_of(n, k) + k->promised < k->capacity) {
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

/* How many packets, the next one included, have a place from now on, here and in the ring? A power of two
 * less may be said. Nobody waits who does not know of a place. */
static uint32_t count_places(const struct net *n, const struct net_queue_sink *k, uint64_t now)
{
    const uint32_t all = places_of(k), used = inside_of(n, k) + k->promised, mask = k->mask;
    const uint32_t at = (uint32_t)(k->at - k->ring) + k->promised - all; /* see back_cyc() */
    const uint64_t back_cyc = NET_QUEUE_BACK + n->spec.credit_delay_cyc;
    if (used >= all || k->ring[at & mask].visible_cyc + back_cyc > now) return 0;
    uint32_t places = all - used;
    while (places > 1 && k->ring[(at + places - 1) & mask].visible_cyc + back_cyc > now) places /= 2;
    return places;
}

/* The ring grows as long as it is the ring that has none. */
static uint32_t find_places(struct net *n, struct net_queue_sink *k, uint64_t now)
{
    uint32_t places = count_places(n, k, now);
    for (; !places && k->mask < k->capacity; places = count_places(n, k, now)) grow_sink(n, k);
    return places;
}

/* The next packet begins, and as many have a place: its slot. */
static struct net_queue_slot *take_places(struct net *n, struct net_queue_sink *k, uint32_t places)
{
    if (k->at == k->end) {
        struct net_front *const front = front_of(n, k);
        if (net_queue_slot_of(front) == k->end) front->packet = &k->ring->packet;
        k->at = k->ring;
    }
    const uint32_t until_end = (uint32_t)(k->end - k->at), known = places < until_end ? places : until_end;
    k->ask = k->at + known;
    k->packets += known;
    k->taken_before = taken_of(k);
    return k->at;
}

/* While nobody waits: the slot of a packet that begins now, NULL: its source would have to wait. */
static __attribute__((noinline)) struct net_queue_slot *find_free_place(struct net *n,
                                                                        struct net_queue_sink *k,
                                                                        uint64_t now)
{
    const uint32_t places = find_places(n, k, now);
    return places ? take_places(n, k, places) : NULL;
}

/* The source knows of a place, which it takes now. */
static void keep_promise(struct net *n, struct net_queue_sink *k, struct net_queue_source *s)
{
    s->promised = false;
    k->scarce = --k->promised || k->waiting != NET_NO_PORT;
    n->queue->scarce -= !k->scarce;
}

/* For the packet before which a sink is asked: it may begin now, or its source waits (NULL). */
static __attribute__((noinline)) struct net_queue_slot *find_place(struct net *n, struct net_queue_sink *k,
                                                                   struct net_queue_source *s, uint64_t now)
{
    if (s->promised) {
        keep_promise(n, k, s);
        return take_places(n, k, 1);
    }
    const uint32_t places = k->waiting == NET_NO_PORT ? find_places(n, k, now) : 0;
    if (places) return take_places(n, k, k->scarce ? 1 : places);
    block(n, k, s, now);
    return NULL;
}

/* ---- beginning, all packets of a stretch of cycles ----
 *
 * As long as there is a place for everything, packets begin when their source lets them. So all of a source
 * are put into the lines of their cycles, the last source first: every line is in the order of sources. Then
 * line after line begins. */

static inline void line_up(const struct net_queue *q, struct net_queue_source *s, uint64_t from,
                           uint64_t until)
{
    const uint8_t *const flits_of = q->flits_of;
    struct net_queue_packet **const lines = q->lines, *p = s->done.first;
    uint64_t free = s->done.free_cyc > from ? s->done.free_cyc - from : 0;
    uint64_t flits = 0;
    s->at->accept_cyc = until; /* as if one came too late: nobody has to count them */
    for (;; p++) {
        /* cycles since `from`, before which nothing is accepted that has not begun */
        uint64_t cyc = p->accept_cyc + 1 - from;
        if ((int64_t)cyc < (int64_t)free) cyc = free;
        if (cyc >= until - from) break;
        const uint32_t its_flits = flits_of[p->packet.bytes];
        p->next = lines[cyc];
        lines[cyc] = p;
        free = cyc + its_flits;
        flits += its_flits;
    }
    if (p == s->done.first) return;
    s->done.packets += (uint64_t)(p - s->done.first);
    s->done.first = p;
    s->done.free_cyc = free + from;
    s->done.started_cyc = s->done.free_cyc - flits_of[p[-1].packet.bytes];
    s->done.flits += flits;
}

static void line_up_all(const struct net *n, uint64_t from, uint64_t until)
{
    const struct net_queue *const q = n->queue;
    for (uint32_t i = n->spec.sources; i-- > 0;) {
        struct net_queue_source *const s = &q->sources[i];
        q->before_run[i].at = NULL;
        if (s->at == s->done.first) continue;
        q->before_run[i] = (struct net_queue_before){s->done, s->at};
        line_up(q, s, from, until);
        if (s->at == s->done.first) {
            s->at = s->done.first = s->places;
            s->stop = s->end;
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
    const uint64_t soonest = q->soonest_cyc, sink_delay_cyc = n->spec.sink_delay_cyc;
    uint64_t latencies = 0, arrivals = 0;
    struct stopped stopped = {until, 0};
    for (uint64_t cyc = from; cyc < until; cyc++) {
        const struct net_queue_packet *p = q->lines[cyc - from];
        if (!p) continue;
        q->lines[cyc - from] = NULL;
        do {
            struct net_queue_sink *const k = &sinks[p->packet.dst];
            struct net_queue_slot *slot = k->at;
            if (__builtin_expect(slot == k->ask, 0)) {
                slot = find_free_place(n, k, cyc);
                if (!slot) {
                    stopped = (struct stopped){cyc, p->packet.src};
                    goto out;
                }
            }
            const uint64_t flits = flits_of[p->packet.bytes], head_cyc = cyc + soonest;
            const uint64_t arrival_cyc = (k->next_cyc > head_cyc ? k->next_cyc : head_cyc) + flits;
            const uint64_t latency_cyc = arrival_cyc - p->accept_cyc;
            k->next_cyc = arrival_cyc;
            k->at = slot + 1;
            k->busy_cyc += flits;
            slot->visible_cyc = arrival_cyc + sink_delay_cyc;
            memcpy(&slot->packet, &p->packet, offsetof(struct net_packet, src));
            arrivals += arrival_cyc;
            latencies += latency_cyc;
            q->latency[(uint32_t)__builtin_clzll(latency_cyc) ^ 63]++;
        } while ((p = p->next));
    }
out:
    q->latency_cyc += latencies;
    q->arrival_cyc += arrivals;
    return stopped;
}

/* What was lined up and has not begun is where it was. */
static void step_back(struct net *n, uint64_t from, uint64_t until, struct stopped stopped)
{
    const struct net_queue *const q = n->queue;
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        struct net_queue_source *const s = &q->sources[i];
        if (!q->before_run[i].at) continue;
        s->done = q->before_run[i].done;
        s->at = q->before_run[i].at;
        line_up(q, s, from, stopped.cyc + (i < stopped.source));
    }
    memset(q->lines, 0, (until - from) * sizeof(struct net_queue_packet *));
}

/* Receivers to which nothing was on its way before. */
static void show_all(const struct net *n, uint64_t *fresh)
{
    const struct net_queue *const q = n->queue;
    for (uint32_t i = 0; i < n->spec.sinks; i++) {
        struct net_front *const front = &n->view.fronts[i];
        if (front->visible_cyc != NET_NEVER || net_queue_slot_of(front) == q->sinks[i].at) continue;
        front->visible_cyc = net_queue_slot_of(front)->visible_cyc;
        net_bit_set(fresh, i);
    }
}

/* False: from done_cyc on not everything finds a place. */
static bool run_stretch(struct net *n, uint64_t until)
{
    struct net_queue *const q = n->queue;
    const uint64_t from = q->done_cyc;
    line_up_all(n, from, until);
    const struct stopped stopped = begin_lines(n, from, until);
    if (stopped.cyc != until) step_back(n, from, until, stopped);
    q->done_cyc = stopped.cyc;
    return stopped.cyc == until;
}

/* ---- beginning, cycle by cycle ---- */

/* A cycle in which packets begin, and 64 sources. */
struct start {
    uint64_t cyc, before_cyc;
    uint64_t soonest_cyc; /* a head that begins now would be at its sink, links being free */
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
    const uint64_t arrival_cyc = (k->next_cyc > soonest_cyc ? k->next_cyc : soonest_cyc) + flits;
    const uint64_t latency_cyc = arrival_cyc - p->accept_cyc;
    k->next_cyc = arrival_cyc;
    k->at = slot + 1;
    slot->visible_cyc = arrival_cyc + n->spec.sink_delay_cyc;
    slot->packet = p->packet;
    k->busy_cyc += flits;
    q->latency_cyc += latency_cyc;
    q->arrival_cyc += arrival_cyc;
    q->latency[(uint32_t)__builtin_clzll(latency_cyc) ^ 63]++;
    if (tell && n->view.fronts[p->packet.dst].visible_cyc == NET_NEVER) show(n, p->packet.dst, slot);
}

/* begins() for a source whose packet begins now. */
static inline void next_begins(struct net_queue *q, const struct net_queue_source *s, const struct start *at,
                               uint64_t bit, uint64_t ahead_cyc)
{
    if (__builtin_expect(ahead_cyc > NET_QUEUE_WHEEL, 0)) {
        q->known--;
        begins(q, index_of(s), at->cyc + ahead_cyc);
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
    if (__builtin_expect(slot == k->ask, 0) && !(slot = find_place(n, k, s, at->cyc))) {
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
        net_source_has_room(n, index_of(s), at->cyc + 1);
    }
}

/* Does nobody wait for a place? Then nothing need be known while packets join. */
static inline bool is_calm(const struct net_queue *q) { return !(q->scarce | q->refused); }

/* tell: receivers, of the first packet on its way to them. until_calm: ends when nobody waits. */
static void run_wheel(struct net *n, uint64_t until_cyc, bool tell, bool until_calm)
{
    struct net_queue *const q = n->queue;
    for (uint64_t cyc; (cyc = next_beginning(q, q->done_cyc)) < until_cyc;) {
        if (until_calm && is_calm(q)) return;
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

/* Stretches that end because a sink is full are few: the rest is by the wheel. */
void net_queue_run(struct net *n, uint64_t until_cyc, uint64_t *fresh)
{
    struct net_queue *const q = n->queue;
    answer_all(n);
    if (fresh && q->by_wheel) {
        run_wheel(n, until_cyc, false, true);
        if (is_calm(q)) end_wheel(n);
    }
    while (!q->by_wheel && q->done_cyc < until_cyc) {
        const uint64_t ahead_cyc = until_cyc - q->done_cyc;
        const bool done =
            run_stretch(n, ahead_cyc < NET_QUEUE_WHEEL ? until_cyc : q->done_cyc + NET_QUEUE_WHEEL);
        if (!done) begin_wheel(n);
    }
    if (q->by_wheel) run_wheel(n, until_cyc, !fresh, false);
    if (fresh) show_all(n, fresh);
}

uint64_t net_queue_step(struct net *n, uint64_t now)
{
    if (!n->queue->by_wheel) begin_wheel(n);
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
    const bool first = !net_queue_count_of(s);
    net_queue_join(s, p->handle, p->dst, p->bytes, now);
    s->at[-1].packet.cls = p->cls;
    if (first && begin_cyc(s, now) < n->view.next_cyc) n->view.next_cyc = begin_cyc(s, now);
    return true;
}

bool net_queue_refuse(struct net *n, uint32_t source, uint64_t now)
{
    struct net_queue_source *const s = &n->queue->sources[source];
    n->stats.refused++;
    if (net_queue_count_of(s) < n->spec.source_packets) { /* it was left in this very cycle */
        net_source_has_room(n, source, now + 1);
        return false;
    }
    if (!n->queue->by_wheel) begin_wheel(n);
    n->queue->refused += !s->refused;
    s->refused = true;
    return true;
}

void net_queue_pop(struct net *n, uint32_t sink, uint64_t now)
{
    struct net_arrivals *const a = &n->arrived;
    const struct net_queue_port port = net_queue_port_of(n, sink);
    if (n->stepped_cyc < now) n->stepped_cyc = now; /* nothing need be due any more */
    const uint64_t visible_cyc = net_queue_take(port, now);
    if (port.sink->scarce) answer(n, port.sink);
    if (visible_cyc == NET_NEVER) {
        net_bit_clear(a->inside, sink);
        if (!a->inside[sink >> 6]) a->inside_words &= ~(1ull << (sink >> 6));
    } else if (visible_cyc < a->next_cyc) {
        a->next_cyc = visible_cyc;
    }
    if (visible_cyc <= now) return;
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
    return !net_queue_count_of(s) && s->done.free_cyc <= now + 1;
}

bool net_queue_some_wait(const struct net *n)
{
    for (uint32_t i = 0; i < n->spec.sources; i++)
        if (net_queue_count_of(&n->queue->sources[i])) return true;
    return false;
}

bool net_queue_some_inside(const struct net *n)
{
    for (uint32_t i = 0; i < n->spec.sinks; i++)
        if (n->view.fronts[i].visible_cyc != NET_NEVER) return true;
    return net_queue_some_wait(n);
}

uint64_t net_queue_taken(const struct net *n)
{
    uint64_t taken = 0;
    for (uint32_t i = 0; i < n->spec.sinks; i++) taken += taken_of(&n->queue->sinks[i]);
    return taken;
}

/* ---- reports ----
 *
 * Packets are not counted one by one in the statistics of the network: what sources and sinks count is summed
 * up here, and times that packets spent inside are differences of sums of times. */

/* What waits in the queue of a source, and in a sink. */
struct load {
    uint64_t packets, bytes;
    uint64_t cyc; /* sum: when it was accepted; … is visible */
};

static struct load waiting_in(const struct net_queue_source *s)
{
    struct load l = {.packets = net_queue_count_of(s)};
    for (const struct net_queue_packet *p = s->done.first; p != s->at; p++) {
        l.bytes += p->packet.bytes;
        l.cyc += p->accept_cyc;
    }
    return l;
}

static struct load waiting_at(const struct net *n, const struct net_queue_sink *k)
{
    struct load l = {.packets = inside_of(n, k)};
    const struct net_queue_slot *slot = net_queue_slot_of(front_of(n, k));
    for (uint64_t i = 0; i < l.packets; i++, slot = net_queue_behind(k, slot)) {
        l.bytes += slot->packet.bytes;
        l.cyc += slot->visible_cyc;
    }
    return l;
}

struct net_output_stats net_queue_output(const struct net *n, uint32_t sink)
{
    const struct net_queue_sink *k = &n->queue->sinks[sink];
    const uint64_t bytes = k->taken_bytes + waiting_at(n, k).bytes;
    return (struct net_output_stats){delivered_of(k), bytes, k->busy_cyc, k->waited_cyc};
}

struct net_queue_totals net_queue_totals(const struct net *n)
{
    struct net_queue_totals t = {0};
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        const struct net_queue_source *s = &n->queue->sources[i];
        t.accepted += s->done.packets + net_queue_count_of(s);
        t.accepted_bytes += s->bytes;
        t.accepted_cyc += s->accepted_cyc;
    }
    for (uint32_t i = 0; i < n->spec.sinks; i++) {
        const struct net_queue_sink *k = &n->queue->sinks[i];
        t.delivered += delivered_of(k);
        t.busy_cyc += k->busy_cyc;
        t.taken += taken_of(k);
        t.taken_bytes += k->taken_bytes;
        t.taken_cyc += k->taken_cyc;
    }
    return t;
}

void net_queue_settle_series(struct net *n)
{
    n->stats.taken_bytes = net_queue_totals(n).taken_bytes - n->queue->before.taken_bytes;
}

void net_queue_settle(struct net *n)
{
    answer_all(n);
    const struct net_queue *q = n->queue;
    const struct net_queue_totals t = net_queue_totals(n), *before = &q->before;
    struct net_stats *const s = &n->stats;
    const uint32_t last = sizeof s->latency / sizeof *s->latency - 1;
    s->accepted = t.accepted - before->accepted;
    s->accepted_bytes = t.accepted_bytes - before->accepted_bytes;
    s->delivered = t.delivered - before->delivered;
    s->taken = t.taken - before->taken;
    s->taken_bytes = t.taken_bytes - before->taken_bytes;
    s->busy_cyc = t.busy_cyc - before->busy_cyc;
    s->latency_cyc = q->latency_cyc;
    s->stay_cyc = q->latency_cyc + (t.taken_cyc - before->taken_cyc) - q->arrival_cyc;
    for (uint32_t i = 0; i < n->spec.sinks; i++) s->stay_cyc += waiting_at(n, &q->sinks[i]).cyc;
    memset(s->latency, 0, sizeof s->latency);
    for (uint32_t i = 0; i < 64; i++) s->latency[i + 1 < last ? i + 1 : last] += q->latency[i];
}

void net_queue_count(struct net *n, uint64_t now, struct net_stats *out)
{
    const struct net_queue *q = n->queue;
    const struct net_queue_totals t = net_queue_totals(n), *before = &q->before;
    net_queue_settle(n);
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        const struct load l = waiting_in(&q->sources[i]);
        out->inside += l.packets;
        out->left_bytes += l.bytes;
    }
    for (uint32_t i = 0; i < n->spec.sinks; i++) {
        const struct load l = waiting_at(n, &q->sinks[i]);
        out->untaken += l.packets;
        out->left_bytes += l.bytes;
    }
    out->inside_cyc = t.taken_cyc - before->taken_cyc - (t.accepted_cyc - before->accepted_cyc) +
                      now * (out->inside + out->untaken);
}

/* Statistics begin anew: what is inside counts as accepted now. */
void net_queue_restart(struct net *n, uint64_t now)
{
    struct net_queue *q = n->queue;
    struct net_queue_totals *const before = &q->before;
    *before = net_queue_totals(n);
    q->latency_cyc = q->arrival_cyc = 0;
    memset(q->latency, 0, sizeof q->latency);
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        const struct load l = waiting_in(&q->sources[i]);
        before->accepted -= l.packets;
        before->accepted_bytes -= l.bytes;
        before->accepted_cyc -= now * l.packets;
        q->arrival_cyc += now * l.packets - l.cyc; /* all of it is added when it begins */
    }
    for (uint32_t i = 0; i < n->spec.sinks; i++) {
        const struct load l = waiting_at(n, &q->sinks[i]);
        before->accepted -= l.packets;
        before->accepted_bytes -= l.bytes;
        before->accepted_cyc -= now * l.packets;
        before->delivered -= l.packets;
        q->arrival_cyc += now * l.packets;
    }
}

void net_queue_describe(const struct net *n, char *text, size_t bytes)
{
    size_t used = 0;
    for (uint32_t i = 0; i < n->spec.sources && used < bytes; i++) {
        const struct net_queue_source *s = &n->queue->sources[i];
        if (!net_queue_count_of(s)) continue;
        const uint32_t sink = s->done.first->packet.dst;
        const int more = snprintf(text + used, bytes - used, "source %u: %u packets wait for %s output %u\n",
                                  i, net_queue_count_of(s),
                                  n->queue->sinks[sink].scarce ? "a place at" : "the link to", sink);
        used += more > 0 ? (size_t)more : 0;
    }
}

/* Those that have gone over the link by the end of `now`: what waits behind the switch has not. */
uint64_t net_queue_link_flits(const struct net *n, uint32_t link, uint64_t now)
{
    const struct net_queue *q = n->queue;
    if (link >= n->spec.sinks) {
        const struct net_queue_progress *s = &q->sources[link - n->spec.sinks].done;
        return s->free_cyc > now + 1 ? s->flits - (s->free_cyc - now - 1) : s->flits;
    }
    const struct net_queue_sink *k = &q->sinks[link];
    const struct net_queue_slot *slot = net_queue_slot_of(front_of(n, k));
    uint64_t flits = k->busy_cyc;
    for (uint32_t i = inside_of(n, k); i > 0; i--, slot = net_queue_behind(k, slot)) {
        const uint64_t tail_cyc = slot->visible_cyc - n->spec.sink_delay_cyc - n->spec.link_latency_cyc;
        if (tail_cyc <= now) continue;
        const uint64_t all = net_flits_of(n, slot->packet.bytes);
        flits -= tail_cyc - now < all ? tail_cyc - now : all;
    }
    return flits;
}
