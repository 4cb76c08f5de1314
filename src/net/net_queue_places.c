/* net_queue_places: places behind the switch.
 *
 * Those for which there is none wait in order. Each gets the next place that is left, as soon as it is known
 * from when on that can be used; packets that come later do not overtake them. */
#include "net/net_queue_private.h"

#include <string.h>

enum { FIRST_SLOTS = 64 };

/* ---- slots ---- */

/* As if all had been left long ago; behind them some that nobody uses. */
static struct net_queue_slot *new_slots(const struct net *n, uint32_t sink, uint32_t count)
{
    struct net_queue_slot *const slots =
        arena_alloc_aligned(n->queue->arena, (count + NET_QUEUE_SPARE) * sizeof *slots, 64);
    for (uint32_t i = 0; i < count; i++) {
        slots[i].packet.dst = sink;
        /* can be used from cycle 0 on */
        slots[i].visible_cyc = 0ull - NET_QUEUE_BACK - n->spec.credit_delay_cyc;
    }
    return slots;
}

void net_queue_build_sink(struct net *n, uint32_t idx)
{
    struct net_queue_sink *const k = &n->queue->sinks[idx];
    k->capacity = n->spec.sink_packets;
    k->mask = FIRST_SLOTS - 1;
    k->ring = k->at = k->ask = new_slots(n, idx, FIRST_SLOTS);
    k->end = k->ring + FIRST_SLOTS;
    k->waiting = NET_NO_PORT;
    n->view.fronts[idx].packet = &k->ring->packet;
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

/* The slots of the old ring, in their order, are the last ones of the new one. */
static void grow_sink(struct net *n, struct net_queue_sink *k)
{
    const uint32_t count = k->mask + 1, first = (uint32_t)(k->at - k->ring),
                   inside = net_queue_inside_of(n, k);
    struct net_queue_slot *const ring = new_slots(n, (uint32_t)(k - n->queue->sinks), 2 * count);
    memcpy(ring + count, k->ring + first, (count - first) * sizeof *ring);
    memcpy(ring + 2 * (size_t)count - first, k->ring, first * sizeof *ring);
    k->ring = ring;
    k->mask = 2 * count - 1;
    k->at = k->ask = k->end = ring + 2 * (size_t)count;
    net_queue_front_of(n, k)->packet = &(k->end - inside)->packet;
}

/* ---- sources that wait ---- */

static void promise(struct net *n, struct net_queue_sink *k, uint32_t source, uint64_t now)
{
    const uint64_t back = back_cyc(n, k, k->promised++);
    const uint64_t from = k->blocked_cyc > now ? k->blocked_cyc : now, cyc = back > now ? back : now;
    struct net_queue *const q = n->queue;
    q->sources[source].place_cyc = cyc;
    if (q->by_wheel)
        net_queue_begins(q, source, cyc);
    else if (cyc < q->done_cyc)
        q->done_cyc = cyc;
    if (cyc > from) {
        k->waited_cyc += cyc - from;
        n->stats.blocked_cyc += cyc - from;
        k->blocked_cyc = cyc;
    }
    if (n->view.next_cyc > cyc) n->view.next_cyc = cyc;
}

/* For every packet that was taken since the last time the source that has waited longest may begin. */
void net_queue_answer(struct net *n, struct net_queue_sink *k)
{
    for (const uint64_t taken = net_queue_taken_of(n, k); k->answered != taken; k->answered++) {
        const uint32_t source = k->waiting;
        if (source == NET_NO_PORT) continue; /* all that wait know of a place */
        struct net_queue_source *const s = &n->queue->sources[source];
        k->waiting = s->next_waiting;
        promise(n, k, source, s->blocked_cyc);
    }
}

void net_queue_answer_all(struct net *n)
{
    struct net_queue *const q = n->queue;
    for (uint32_t i = 0; q->scarce && i < n->spec.sinks; i++)
        if (q->sinks[i].scarce) net_queue_answer(n, &q->sinks[i]);
}

/* The first packet of a source finds no place in `now`. */
static void block(struct net *n, struct net_queue_sink *k, struct net_queue_source *s, uint64_t now)
{
    const uint32_t source = net_queue_index_of(s);
    if (!k->scarce) {
        n->queue->scarce++;
        k->scarce = true;
        k->answered = net_queue_taken_of(n, k);
    }
    if (k->waiting == NET_NO_PORT && net_queue_inside_of(n, k) + k->promised < k->capacity) {
        promise(n, k, source, now);
        return;
    }
    s->next_waiting = NET_NO_PORT;
    s->blocked_cyc = now;
    s->place_cyc = NET_NEVER;
    if (k->waiting == NET_NO_PORT)
        k->waiting = (uint16_t)source;
    else
        n->queue->sources[k->last].next_waiting = (uint16_t)source;
    k->last = (uint16_t)source;
}

/* ---- places that are free ---- */

/* How many packets, the next one included, have a place from now on, here and in the ring? A power of two
 * less may be said. Nobody waits who does not know of a place; `promised` do. */
static inline uint32_t count_places(const struct net *n, const struct net_queue_sink *k, uint32_t promised,
                                    uint64_t now)
{
    const uint32_t all = places_of(k), used = net_queue_inside_of(n, k) + promised, mask = k->mask;
    const uint32_t at = (uint32_t)(k->at - k->ring) + promised - all; /* see back_cyc() */
    const uint64_t back_cyc = NET_QUEUE_BACK + n->spec.credit_delay_cyc;
    const struct net_queue_slot *const ring = k->ring;
    if (used >= all || ring[at & mask].visible_cyc + back_cyc > now) return 0;
    uint32_t places = all - used;
    while (places > 1 && ring[(at + places - 1) & mask].visible_cyc + back_cyc > now) places /= 2;
    return places;
}

/* The next packet begins, and as many have a place: its slot. */
static inline struct net_queue_slot *take_places(struct net *n, struct net_queue_sink *k, uint32_t places)
{
    struct net_queue_slot *at = k->at;
    if (at == k->end) {
        struct net_front *const front = net_queue_front_of(n, k);
        if (net_queue_slot_of(front) == at) front->packet = &k->ring->packet;
        k->at = at = k->ring;
    }
    const uint32_t until_end = (uint32_t)(k->end - at), known = places < until_end ? places : until_end;
    k->ask = at + known;
    k->packets += known;
    if (__builtin_expect(!k->awake, 0)) net_queue_wake_sink(n->queue, k);
    return at;
}

/* The source knows of a place, which it takes now. */
static void keep_promise(struct net *n, struct net_queue_sink *k, struct net_queue_source *s)
{
    s->place_cyc = 0;
    k->scarce = --k->promised || k->waiting != NET_NO_PORT;
    n->queue->scarce -= !k->scarce;
}

/* The ring grows as long as it is the ring that has none. */
static uint32_t grow_to_places(struct net *n, struct net_queue_sink *k, uint64_t now)
{
    uint32_t places = count_places(n, k, k->promised, now);
    while (!places && k->mask < k->capacity) {
        grow_sink(n, k);
        places = count_places(n, k, k->promised, now);
    }
    return places;
}

static struct net_queue_slot *__attribute__((noinline))
find_place_or_wait(struct net *n, struct net_queue_sink *k, struct net_queue_source *s, uint64_t now)
{
    if (s->place_cyc) {
        keep_promise(n, k, s);
        return take_places(n, k, 1);
    }
    const uint32_t places = k->waiting == NET_NO_PORT ? grow_to_places(n, k, now) : 0;
    if (places) return take_places(n, k, k->scarce || k->guarded ? 1 : places);
    block(n, k, s, now);
    return NULL;
}

struct net_queue_slot *net_queue_find_place(struct net *n, struct net_queue_sink *k,
                                            struct net_queue_source *s, uint64_t now)
{
    const uint32_t places = k->scarce || k->guarded ? 0 : count_places(n, k, 0, now);
    return places ? take_places(n, k, places) : find_place_or_wait(n, k, s, now);
}
