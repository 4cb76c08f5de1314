/* store_order: the order of stores and fences over all SMs of a machine with copies of remote lines (numa).
 *
 *   SM sends a store, atomic or reduction ── store_order_send() ──► counted by its cycle
 *   SM receives the answer ───────────────── store_order_answer()
 *   a warp reaches a fence or release ────── waits until every store sent in an earlier cycle is answered
 *
 * A fence of GPU or system scope is cumulative: it also orders the stores of others that its block has read. A store
 * can be read, by way of an L1, a slice or an RDC, only after it was sent. A fence that waits for all stores sent
 * before it therefore waits for those that its block may have read. ASSUMPTION: one sequence for the machine, without
 * packets.
 *
 * Sends and fences are ordered by cycles, and an answer shows from the next cycle on, so the order in which SMs are
 * visited within a cycle has no effect. */
#ifndef ATOLL_LLC_STORE_ORDER_H
#define ATOLL_LLC_STORE_ORDER_H

#include "base/arena.h"
#include "engine/engine.h"

struct store_order {
    struct engine *engine;
    const uint32_t *components; /* of SMs */
    uint64_t *waiting;          /* bit per SM: a warp waits for stores of others */
    uint32_t words, waiting_count;
    /* Ring of the cycles in which unanswered stores were sent; [head, tail), oldest first. */
    struct store_cycle {
        uint64_t cyc;
        uint32_t count; /* unanswered stores */
    } * cycles;
    uint32_t capacity; /* power of two */
    uint64_t head, tail;
    uint64_t changed_cyc, before_cyc; /* last change of the oldest cycle, and its value before that cycle */
};

struct store_order *store_order_new(struct arena *a, struct engine *e, uint32_t sms,
                                    const uint32_t *components);
void store_order_free(struct store_order *o); /* NULL is allowed */
/* Returns the number for store_order_answer(). */
uint64_t store_order_send(struct store_order *o, uint64_t now);
void store_order_answer(struct store_order *o, uint64_t number, uint64_t now);
/* True if every store that was sent before fence_cyc was answered before now. False: the SM is woken when the oldest
 * unanswered store changes. */
void store_order_forget(struct store_order *o, uint32_t sm); /* the SM needs no wake-up any more */
bool store_order_reached(struct store_order *o, uint32_t sm, uint64_t fence_cyc, uint64_t now);

#endif
