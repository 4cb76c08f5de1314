/* queue: a bounded first-in first-out channel between two components, with credits.
 *
 *   producer ── try_push (refused when no credit) ──► [latency] ──► front / pop ── consumer
 *        ▲                                                            │
 *        └────────────── credit, usable credit_delay later ◄──────────┘
 *
 * A push becomes visible latency_cyc >= 1 cycles later, a freed place credit_delay_cyc >= 1 later, so
 * neither side sees what the other does in the same cycle. The queue wakes the consumer when an item
 * becomes visible and a refused producer when a credit returns: nobody polls. Both sides live in one
 * clock domain. The memory belongs to the arena given at the start. */
#ifndef ATOLL_ENGINE_QUEUE_H
#define ATOLL_ENGINE_QUEUE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"
#include "engine/engine.h"

struct queue_place {
    uint64_t item;
    uint64_t visible_cyc;
    uint64_t free_cyc; /* from when on a push may use it; ENGINE_NEVER while it holds an item */
};

struct queue {
    struct engine *engine;
    struct queue_place *places;
    uint32_t capacity, head, tail, count;
    uint32_t producer, consumer; /* ENGINE_NO_COMPONENT: not woken */
    uint32_t latency_cyc, credit_delay_cyc;
    bool producer_waits;
};

void queue_init(struct queue *q, struct engine *e, struct arena *a, uint32_t capacity, uint32_t latency_cyc,
                uint32_t credit_delay_cyc, uint32_t producer, uint32_t consumer);

static inline bool queue_empty(const struct queue *q) { return q->count == 0; }

/* Would a push at 'now' be accepted? */
static inline bool queue_has_credit(const struct queue *q, uint64_t now)
{
    return q->places[q->tail].free_cyc <= now;
}

/* false = refused: the item stays with the caller, who is woken when a credit returns. */
static inline bool queue_try_push(struct queue *q, uint64_t now, uint64_t item)
{
    struct queue_place *p = &q->places[q->tail];
    if (p->free_cyc > now) {
        if (p->free_cyc == ENGINE_NEVER)
            q->producer_waits = true;
        else if (q->producer != ENGINE_NO_COMPONENT) /* the credit is on its way */
            engine_wake(q->engine, q->producer, p->free_cyc);
        return false;
    }
    *p = (struct queue_place){.item = item, .visible_cyc = now + q->latency_cyc, .free_cyc = ENGINE_NEVER};
    if (++q->tail == q->capacity) q->tail = 0;
    q->count++;
    q->producer_waits = false;
    engine_progress(q->engine);
    if (q->consumer != ENGINE_NO_COMPONENT) engine_wake(q->engine, q->consumer, now + q->latency_cyc);
    return true;
}

/* The oldest item when it is visible, else NULL; after NULL on a non-empty queue the consumer is woken
 * when it becomes visible. */
static inline const uint64_t *queue_front(struct queue *q, uint64_t now)
{
    if (!q->count) return NULL;
    const struct queue_place *p = &q->places[q->head];
    if (p->visible_cyc <= now) return &p->item;
    if (q->consumer != ENGINE_NO_COMPONENT) engine_wake(q->engine, q->consumer, p->visible_cyc);
    return NULL;
}

static inline uint64_t queue_pop(struct queue *q, uint64_t now)
{
    DIAG_ASSERT(q->count && q->places[q->head].visible_cyc <= now);
    struct queue_place *p = &q->places[q->head];
    const uint64_t item = p->item;
    p->free_cyc = now + q->credit_delay_cyc;
    if (++q->head == q->capacity) q->head = 0;
    q->count--;
    engine_progress(q->engine);
    if (q->producer_waits && q->producer != ENGINE_NO_COMPONENT)
        engine_wake(q->engine, q->producer, now + q->credit_delay_cyc);
    q->producer_waits = false;
    return item;
}

#endif
