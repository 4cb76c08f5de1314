/* wheel: which messages are due when, in one clock domain. O(1) to insert, whatever the delay.
 *
 *   near   one slot per cycle for the next 4096 cycles
 *   mid    one slot per 4096 cycles for the next 16 M cycles; spilled into near when its time comes
 *   far    a plain list beyond that; looked through once per 16 M cycles
 *
 * Messages are nodes of a pool shared by all domains. Private to engine/. */
#ifndef ATOLL_ENGINE_WHEEL_H
#define ATOLL_ENGINE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum { WHEEL_LOG2 = 12, WHEEL_SLOTS = 1 << WHEEL_LOG2, WHEEL_MASK = WHEEL_SLOTS - 1 };
#define WHEEL_NONE  UINT32_MAX
#define WHEEL_EMPTY ((struct wheel_slot){WHEEL_NONE, WHEEL_NONE})

struct wheel_message {
    uint64_t cycle, message;
    uint32_t receiver, next;
};

struct wheel_slot {
    uint32_t first_message, last_message;
};

struct wheel_level {
    struct wheel_slot slots[WHEEL_SLOTS];
    uint64_t used[WHEEL_SLOTS / 64]; /* bit per slot that may hold something */
    uint64_t used_words;             /* bit per word of used */
};

/* The nodes of all domains. */
struct wheel_store {
    struct arena *arena;
    struct wheel_message *messages;
    uint32_t message_capacity, first_free;
};

struct wheel {
    uint64_t now_cyc;
    uint64_t next_cyc; /* earliest cycle at which anything may be due; ENGINE_NEVER = empty */
    struct wheel_level near, mid;
    struct wheel_slot far;
    uint64_t far_earliest_cyc;
    uint64_t coarse_next_cyc; /* when mid or far must be looked at next */
};

void wheel_store_init(struct wheel_store *s, struct arena *a);
void wheel_init(struct wheel *w);

void wheel_store_grow(struct wheel_store *s);
/* Links a message that lies beyond the near slots. */
void wheel_insert_far(struct wheel *w, struct wheel_store *s, uint32_t node);

/* Moves the clock to next_cyc and takes what is due then (may be empty: a spill of a coarser slot). */
struct wheel_slot wheel_advance(struct wheel *w, struct wheel_store *s);
/* Messages that it holds, by walking every list. */
uint64_t wheel_count(const struct wheel *w, const struct wheel_store *s);
/* Finds next_cyc again after the due list has been visited. */
void wheel_find_next(struct wheel *w);

static inline struct wheel_slot *wheel_mark(struct wheel_level *level, uint64_t position)
{
    const uint32_t i = (uint32_t)position & WHEEL_MASK;
    level->used[i / 64] |= 1ull << (i % 64);
    level->used_words |= 1ull << (i / 64);
    return &level->slots[i];
}

static inline void wheel_append(struct wheel_store *s, struct wheel_slot *slot, uint32_t node)
{
    /* A choice of address, not of path: whether a slot is empty cannot be predicted. */
    uint32_t *const behind_last = &s->messages[slot->last_message & (s->message_capacity - 1)].next;
    uint32_t *const link = slot->last_message == WHEEL_NONE ? &slot->first_message : behind_last;
    s->messages[node].next = WHEEL_NONE;
    *link = node;
    slot->last_message = node;
}

/* cycle > now. */
static inline void wheel_insert_message(struct wheel *w, struct wheel_store *s, uint64_t cycle,
                                        uint32_t receiver, uint64_t message)
{
    if (__builtin_expect(s->first_free == WHEEL_NONE, 0)) wheel_store_grow(s);
    const uint32_t node = s->first_free;
    struct wheel_message *m = &s->messages[node];
    s->first_free = m->next;
    m->cycle = cycle;
    m->message = message;
    m->receiver = receiver;
    if (__builtin_expect(cycle - w->now_cyc >= WHEEL_SLOTS, 0)) {
        wheel_insert_far(w, s, node);
        return;
    }
    wheel_append(s, wheel_mark(&w->near, cycle), node);
    if (cycle < w->next_cyc) w->next_cyc = cycle;
}

static inline void wheel_free_message(struct wheel_store *s, uint32_t node)
{
    s->messages[node].next = s->first_free;
    s->first_free = node;
}

#endif
