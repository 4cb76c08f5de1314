/* queue: setting up; the rest is inline in queue.h. */
#include "engine/queue.h"

void queue_init(struct queue *q, struct engine *e, struct arena *a, uint32_t capacity, uint32_t latency_cyc,
                uint32_t credit_delay_cyc, uint32_t producer, uint32_t consumer)
{
    DIAG_ASSERT(capacity > 0 && latency_cyc > 0 && credit_delay_cyc > 0);
    *q = (struct queue){.engine = e,
                        .places = ARENA_ARRAY(a, struct queue_place, capacity),
                        .capacity = capacity,
                        .producer = producer,
                        .consumer = consumer,
                        .latency_cyc = latency_cyc,
                        .credit_delay_cyc = credit_delay_cyc};
}
