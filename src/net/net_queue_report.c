/* net_queue_report: statistics of a queued network.
 *
 * Packets are not counted one by one: what sources and sinks count is summed up here, and times that packets
 * spent inside are differences of sums of times. */
#include "net/net_queue_private.h"

#include <stdio.h>
#include <string.h>

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
    struct load l = {.packets = net_queue_inside_of(n, k)};
    const struct net_queue_slot *slot = net_queue_slot_of(net_queue_front_of(n, k));
    for (uint64_t i = 0; i < l.packets; i++, slot = net_queue_behind(k, slot)) {
        l.bytes += slot->packet.bytes;
        l.cyc += slot->visible_cyc;
    }
    return l;
}

uint64_t net_queue_still_waits(const struct net *n, uint32_t sink, uint64_t now)
{
    const struct net_queue_sink *k = &n->queue->sinks[sink];
    const struct net_queue_slot *slot = net_queue_slot_of(net_queue_front_of(n, k));
    uint64_t sum = 0;
    for (uint32_t i = net_queue_inside_of(n, k); i > 0; i--, slot = net_queue_behind(k, slot))
        if (slot->visible_cyc < now) sum += now - slot->visible_cyc;
    return sum;
}

/* When all that were taken were, less when they became visible: whoever took them. */
uint64_t net_queue_waited(const struct net *n, uint64_t now)
{
    const struct net_queue *q = n->queue;
    uint64_t sum = net_queue_totals(n).taken_cyc - q->visible_cyc - q->visible_before_cyc;
    for (uint32_t i = 0; i < n->spec.sinks; i++)
        sum += waiting_at(n, &q->sinks[i]).cyc + net_queue_still_waits(n, i, now);
    return sum;
}

struct net_output_stats net_queue_output(const struct net *n, uint32_t sink)
{
    const struct net_queue_sink *k = &n->queue->sinks[sink];
    const uint64_t bytes = k->taken_bytes + waiting_at(n, k).bytes;
    return (struct net_output_stats){net_queue_delivered_of(k), bytes, k->busy_cyc, k->waited_cyc};
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
        t.delivered += net_queue_delivered_of(k);
        t.busy_cyc += k->busy_cyc;
        t.taken += net_queue_taken_of(n, k);
        t.taken_bytes += k->taken_bytes;
        t.taken_cyc += k->taken_cyc;
    }
    return t;
}

/* Sum: when the packets that have begun were accepted. */
static uint64_t begun_cyc(const struct net *n)
{
    uint64_t sum_cyc = 0;
    for (uint32_t i = 0; i < n->spec.sources; i++)
        sum_cyc += n->queue->sources[i].accepted_cyc - waiting_in(&n->queue->sources[i]).cyc;
    return sum_cyc;
}

void net_queue_settle_series(struct net *n)
{
    n->stats.taken_bytes = net_queue_taken(n).bytes - n->queue->before.taken_bytes;
}

void net_queue_settle(struct net *n)
{
    net_queue_answer_all(n);
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
    const uint64_t accepted_cyc = begun_cyc(n) - q->begun_cyc;
    s->latency_cyc = q->visible_cyc + q->back_cyc * (t.delivered - q->begun) - accepted_cyc;
    s->stay_cyc = t.taken_cyc - before->taken_cyc - accepted_cyc - q->carried_cyc;
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
    q->begun = before->delivered;
    q->begun_cyc = begun_cyc(n);
    q->visible_before_cyc += q->visible_cyc;
    q->visible_cyc = q->carried_cyc = 0;
    memset(q->latency, 0, sizeof q->latency);
    for (uint32_t i = 0; i < n->spec.sources; i++) {
        const struct load l = waiting_in(&q->sources[i]);
        before->accepted -= l.packets;
        before->accepted_bytes -= l.bytes;
        before->accepted_cyc -= now * l.packets;
        q->carried_cyc += now * l.packets - l.cyc; /* all of it is added when it begins */
    }
    for (uint32_t i = 0; i < n->spec.sinks; i++) {
        const struct load l = waiting_at(n, &q->sinks[i]);
        before->accepted -= l.packets;
        before->accepted_bytes -= l.bytes;
        before->accepted_cyc -= now * l.packets;
        before->delivered -= l.packets;
        q->carried_cyc += now * l.packets;
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
    const struct net_queue_slot *slot = net_queue_slot_of(net_queue_front_of(n, k));
    uint64_t flits = k->busy_cyc;
    for (uint32_t i = net_queue_inside_of(n, k); i > 0; i--, slot = net_queue_behind(k, slot)) {
        const uint64_t tail_cyc = slot->visible_cyc - n->spec.sink_delay_cyc - n->spec.link_latency_cyc;
        if (tail_cyc <= now) continue;
        const uint64_t all = net_flits_of(n, slot->packet.bytes);
        flits -= tail_cyc - now < all ? tail_cyc - now : all;
    }
    return flits;
}
