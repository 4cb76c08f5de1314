/* net_queue_ports: which ports must be looked at.
 *
 * A port is awake from the first packet on that it gets, and no longer when a run of the network finds
 * nothing in it. One that gets packets in every run therefore stays awake without being told of them, and one
 * that gets none costs nothing. A source that is asleep stops the next packet (net_queue_source.stop), a sink
 * asks before it (net_queue_sink.ask). */
#include "net/net_queue_private.h"

static struct net_queue_ports ports_of(struct arena *a, uint32_t count)
{
    const uint32_t words = (count + 63) / 64;
    return (struct net_queue_ports){ARENA_ARRAY(a, uint64_t, words), words};
}

void net_queue_build_ports(struct net *n)
{
    struct net_queue *const q = n->queue;
    q->senders = ports_of(q->arena, n->spec.sources);
    q->receivers = ports_of(q->arena, n->spec.sinks);
}

void net_queue_wake_source(struct net_queue_source *s)
{
    net_bit_set(s->queue->senders.awake, net_queue_index_of(s));
}

void net_queue_rest_source(struct net_queue_source *s)
{
    net_bit_clear(s->queue->senders.awake, net_queue_index_of(s));
    s->stop = s->at;
}

void net_queue_wake_sink(struct net_queue *q, struct net_queue_sink *k)
{
    k->awake = true;
    net_bit_set(q->receivers.awake, (uint32_t)(k - q->sinks));
    q->asleep.bytes -= k->taken_bytes;
    q->asleep.cyc -= k->taken_cyc;
}

void net_queue_rest_sink(struct net_queue *q, struct net_queue_sink *k)
{
    k->awake = false;
    net_bit_clear(q->receivers.awake, (uint32_t)(k - q->sinks));
    q->asleep.bytes += k->taken_bytes;
    q->asleep.cyc += k->taken_cyc;
    k->packets = net_queue_delivered_of(k);
    k->ask = k->at;
}

bool net_queue_some_wait(const struct net *n)
{
    const struct net_queue *const q = n->queue;
    NET_QUEUE_EACH(i, q->senders)
    {
        if (net_queue_count_of(&q->sources[i])) return true;
    }
    return false;
}

bool net_queue_some_inside(const struct net *n)
{
    NET_QUEUE_EACH(i, n->queue->receivers)
    {
        if (n->view.fronts[i].visible_cyc != NET_NEVER) return true;
    }
    return net_queue_some_wait(n);
}
