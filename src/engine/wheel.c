/* wheel: inserting, spilling coarse slots into fine ones, finding what is due next. */
#include "engine/wheel.h"

#include <string.h>

#include "base/diag.h"
#include "engine/engine.h"

enum { FIRST_MESSAGES = 1024 };

/* ---- node store ---- */

static void add_messages(struct wheel_store *s, uint32_t count)
{
    struct wheel_message *grown =
        ARENA_ARRAY(s->arena, struct wheel_message, s->message_capacity + (size_t)count);
    if (s->message_capacity) memcpy(grown, s->messages, s->message_capacity * sizeof *grown);
    s->messages = grown;
    for (uint32_t i = count; i-- > 0;) wheel_free_message(s, s->message_capacity + i);
    s->message_capacity += count;
}

void wheel_store_init(struct wheel_store *s, struct arena *a)
{
    *s = (struct wheel_store){.arena = a, .first_free = WHEEL_NONE};
    add_messages(s, FIRST_MESSAGES);
}

/* The pool doubles when all nodes are in flight: a few times per run, never in the steady state. */
void wheel_store_grow(struct wheel_store *s)
{
    DIAG_ASSERT(s->message_capacity < UINT32_MAX / 4);
    add_messages(s, s->message_capacity);
}

/* ---- slots ---- */

void wheel_init(struct wheel *w)
{
    memset(w, 0, sizeof *w);
    for (uint32_t i = 0; i < WHEEL_SLOTS; i++) w->near.slots[i] = w->mid.slots[i] = WHEEL_EMPTY;
    w->far = WHEEL_EMPTY;
    w->far_earliest_cyc = w->coarse_next_cyc = w->next_cyc = ENGINE_NEVER;
}

static void unmark(struct wheel_level *level, uint32_t i)
{
    level->used[i / 64] &= ~(1ull << (i % 64));
    if (!level->used[i / 64]) level->used_words &= ~(1ull << (i / 64));
}

/* Distance (0 .. 4095) from position 'from' to the next used slot, going round; WHEEL_SLOTS = none. */
static uint32_t distance_to_used(const struct wheel_level *level, uint64_t from)
{
    if (!level->used_words) return WHEEL_SLOTS;
    const uint32_t start = (uint32_t)from & WHEEL_MASK, word = start / 64, bit = start % 64;
    const uint64_t here = level->used[word] >> bit;
    if (here) return (uint32_t)__builtin_ctzll(here);
    const uint64_t after = word < 63 ? level->used_words >> (word + 1) << (word + 1) : 0;
    const uint32_t found =
        (uint32_t)__builtin_ctzll(after ? after : level->used_words); /* wraps to the first */
    const uint32_t slot = found * 64 + (uint32_t)__builtin_ctzll(level->used[found]);
    return (slot - start) & WHEEL_MASK;
}

/* The cycle at which the far list must be looked through: its earliest entry fits mid by then. */
static uint64_t far_due(const struct wheel *w)
{
    if (w->far_earliest_cyc == ENGINE_NEVER) return ENGINE_NEVER;
    return ((w->far_earliest_cyc >> WHEEL_LOG2) - (WHEEL_SLOTS - 1)) << WHEEL_LOG2;
}

static struct wheel_slot *coarse_slot_for(struct wheel *w, uint64_t cycle, uint64_t *visit_cyc)
{
    const uint64_t window = cycle >> WHEEL_LOG2;
    struct wheel_slot *slot = &w->far;
    if (window - (w->now_cyc >> WHEEL_LOG2) < WHEEL_SLOTS) {
        slot = wheel_mark(&w->mid, window);
        *visit_cyc = window << WHEEL_LOG2;
    } else {
        if (cycle < w->far_earliest_cyc) w->far_earliest_cyc = cycle;
        *visit_cyc = far_due(w);
    }
    if (*visit_cyc < w->coarse_next_cyc) w->coarse_next_cyc = *visit_cyc;
    return slot;
}

/* The list that serves a cycle; *visit_cyc is when the wheel must look at it. */
static inline struct wheel_slot *slot_for(struct wheel *w, uint64_t cycle, uint64_t *visit_cyc)
{
    if (cycle - w->now_cyc >= WHEEL_SLOTS) return coarse_slot_for(w, cycle, visit_cyc);
    *visit_cyc = cycle;
    return wheel_mark(&w->near, cycle);
}

void wheel_insert_far(struct wheel *w, struct wheel_store *s, uint32_t node)
{
    uint64_t visit_cyc;
    wheel_append(s, slot_for(w, s->messages[node].cycle, &visit_cyc), node);
    if (visit_cyc < w->next_cyc) w->next_cyc = visit_cyc;
}

/* ---- moving the clock ---- */

/* Puts the content of a coarse slot where it now belongs, in the order in which it was inserted. */
static void spill(struct wheel *w, struct wheel_store *s, struct wheel_slot from)
{
    uint64_t visit_cyc; /* wheel_find_next() follows */
    for (uint32_t node = from.first_message, next; node != WHEEL_NONE; node = next) {
        next = s->messages[node].next;
        wheel_append(s, slot_for(w, s->messages[node].cycle, &visit_cyc), node);
    }
}

/* Spills what has come near from the coarser levels. */
static void refine(struct wheel *w, struct wheel_store *s)
{
    if (w->now_cyc >= far_due(w)) {
        const struct wheel_slot far = w->far;
        w->far = WHEEL_EMPTY;
        w->far_earliest_cyc = ENGINE_NEVER;
        spill(w, s, far);
    }
    const uint64_t window = w->now_cyc >> WHEEL_LOG2;
    const uint32_t i = (uint32_t)window & WHEEL_MASK;
    const struct wheel_slot coarse = w->mid.slots[i];
    w->mid.slots[i] = WHEEL_EMPTY;
    unmark(&w->mid, i);
    spill(w, s, coarse);
    const uint32_t distance = distance_to_used(&w->mid, window + 1);
    const uint64_t mid_due = distance < WHEEL_SLOTS ? (window + 1 + distance) << WHEEL_LOG2 : ENGINE_NEVER;
    w->coarse_next_cyc = far_due(w) < mid_due ? far_due(w) : mid_due;
}

struct wheel_slot wheel_advance(struct wheel *w, struct wheel_store *s)
{
    w->now_cyc = w->next_cyc;
    if (w->now_cyc == w->coarse_next_cyc) refine(w, s);
    const uint32_t i = (uint32_t)w->now_cyc & WHEEL_MASK;
    const struct wheel_slot due = w->near.slots[i];
    w->near.slots[i] = WHEEL_EMPTY;
    unmark(&w->near, i);
    return due;
}

void wheel_find_next(struct wheel *w)
{
    const uint32_t near = distance_to_used(&w->near, w->now_cyc + 1);
    w->next_cyc = near < WHEEL_SLOTS ? w->now_cyc + 1 + near : ENGINE_NEVER;
    if (w->coarse_next_cyc < w->next_cyc) w->next_cyc = w->coarse_next_cyc;
}

static uint64_t slot_count(const struct wheel_slot *slot, const struct wheel_store *s)
{
    uint64_t count = 0;
    for (uint32_t node = slot->first_message; node != WHEEL_NONE; node = s->messages[node].next) count++;
    return count;
}

uint64_t wheel_count(const struct wheel *w, const struct wheel_store *s)
{
    uint64_t count = slot_count(&w->far, s);
    for (uint32_t i = 0; i < WHEEL_SLOTS; i++)
        count += slot_count(&w->near.slots[i], s) + slot_count(&w->mid.slots[i], s);
    return count;
}
