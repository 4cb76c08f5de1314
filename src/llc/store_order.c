/* store_order: see store_order.h. */
#include "llc/store_order.h"

#include <stdlib.h>

#include "base/diag.h"
#include "check/fault.h"

enum { FIRST_CAPACITY = 1024 };

static struct store_cycle *at_number(const struct store_order *o, uint64_t number)
{
    return &o->cycles[number & (o->capacity - 1)];
}

/* Cycle of the oldest unanswered store. */
static uint64_t oldest(const struct store_order *o)
{
    return o->head == o->tail ? ENGINE_NEVER : at_number(o, o->head)->cyc;
}

struct store_order *store_order_new(struct arena *a, struct engine *e, uint32_t sms,
                                    const uint32_t *components)
{
    struct store_order *o = ARENA_NEW(a, struct store_order);
    *o = (struct store_order){
        .engine = e, .components = components, .words = (sms + 63) / 64, .capacity = FIRST_CAPACITY};
    o->waiting = ARENA_ARRAY(a, uint64_t, o->words);
    o->cycles = calloc(o->capacity, sizeof *o->cycles);
    if (!o->cycles) diag_mistake("out of host memory");
    o->changed_cyc = ENGINE_NEVER;
    return o;
}

void store_order_free(struct store_order *o)
{
    if (o) free(o->cycles);
}

static void grow_ring(struct store_order *o)
{
    struct store_cycle *const grown = calloc(2 * (size_t)o->capacity, sizeof *grown);
    if (!grown) diag_mistake("out of host memory");
    for (uint64_t n = o->head; n != o->tail; n++)
        grown[n & (2 * (uint64_t)o->capacity - 1)] = *at_number(o, n);
    free(o->cycles);
    o->cycles = grown;
    o->capacity *= 2;
}

uint64_t store_order_send(struct store_order *o, uint64_t now)
{
    if (o->head == o->tail || at_number(o, o->tail - 1)->cyc != now) {
        if (o->tail - o->head == o->capacity) grow_ring(o);
        *at_number(o, o->tail++) = (struct store_cycle){.cyc = now};
    }
    at_number(o, o->tail - 1)->count++;
    return o->tail - 1;
}

static void wake_waiting(struct store_order *o, uint64_t cyc)
{
    for (uint32_t word = 0; word < o->words; word++)
        for (uint64_t left = o->waiting[word]; left; left &= left - 1)
            engine_wake(o->engine, o->components[word * 64 + (uint32_t)__builtin_ctzll(left)], cyc);
}

void store_order_answer(struct store_order *o, uint64_t number, uint64_t now)
{
    DIAG_ASSERT(number - o->head < o->tail - o->head && at_number(o, number)->count);
    if (--at_number(o, number)->count || number != o->head) return;
    if (o->changed_cyc != now) o->before_cyc = oldest(o);
    o->changed_cyc = now;
    while (o->head != o->tail && !at_number(o, o->head)->count) o->head++;
    if (o->waiting_count) wake_waiting(o, now + 1);
}

static void set_waiting(struct store_order *o, uint32_t sm, bool waits)
{
    const uint64_t bit = (uint64_t)1 << sm % 64, before = o->waiting[sm / 64];
    o->waiting[sm / 64] = waits ? before | bit : before & ~bit;
    o->waiting_count += waits && !(before & bit);
    o->waiting_count -= !waits && before & bit;
}

void store_order_forget(struct store_order *o, uint32_t sm) { set_waiting(o, sm, false); }

bool store_order_reached(struct store_order *o, uint32_t sm, uint64_t fence_cyc, uint64_t now)
{
    const uint64_t visible = o->changed_cyc == now ? o->before_cyc : oldest(o);
    if (visible >= fence_cyc || FAULT_FIRES(fence_not_cumulative)) return true;
    set_waiting(o, sm, true);
    if (oldest(o) >= fence_cyc) engine_wake(o->engine, o->components[sm], now + 1);
    return false;
}
