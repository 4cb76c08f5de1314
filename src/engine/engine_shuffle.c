/* engine_shuffle: visits the components of a cycle in random order, as a proof that none sees what
 * another does in the same cycle. Messages to one component keep their order. What is sent is staged
 * with the position that its sender has in the fixed order and delivered by that position, so the
 * next cycles are exactly those of a fixed run, unless a model breaks the rule: then results differ.
 * commit() comes in a second pass, in the order of registration; what it sends follows what its
 * component's wake() sent, as in a fixed run. */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "engine/engine_private.h"

struct visit {
    uint64_t key; /* random per component and cycle, so that one component's visits stay together */
    uint32_t position, component;
    uint64_t message;
    bool is_wake;
};

struct staged {
    uint32_t position, order;
    uint32_t receiver;
    uint64_t cycle, message;
};

struct shuffle {
    struct rng rng;
    struct visit *visits;
    struct staged *staged;
    uint32_t visit_count, visit_capacity, staged_count, staged_capacity;
    uint32_t first_wake; /* visits before it are messages */
    uint32_t position;   /* of the visit under way */
};

void engine_shuffle_visits(struct engine *e, struct rng rng)
{
    e->shuffle = ARENA_NEW(&e->arena, struct shuffle);
    e->shuffle->rng = rng;
}

/* Grows an arena array; only this test mode allocates while running. */
static void *grown(struct engine *e, void *old, uint32_t count, uint32_t *capacity, size_t bytes)
{
    if (count < *capacity) return old;
    *capacity = *capacity ? *capacity * 2 : 256;
    void *larger = arena_array(&e->arena, *capacity, bytes);
    if (count) memcpy(larger, old, count * bytes);
    return larger;
}

void engine_stage(struct engine *e, uint32_t receiver, uint64_t cycle, uint64_t message)
{
    struct shuffle *s = e->shuffle;
    s->staged = grown(e, s->staged, s->staged_count, &s->staged_capacity, sizeof *s->staged);
    s->staged[s->staged_count] = (struct staged){s->position, s->staged_count, receiver, cycle, message};
    s->staged_count++;
}

static void add_visit(struct engine *e, uint64_t salt, uint32_t component, uint64_t message, bool is_wake)
{
    struct shuffle *s = e->shuffle;
    s->visits = grown(e, s->visits, s->visit_count, &s->visit_capacity, sizeof *s->visits);
    uint64_t key = salt ^ component;
    key = rng_splitmix(&key);
    s->visits[s->visit_count] = (struct visit){key, s->visit_count, component, message, is_wake};
    s->visit_count++;
}

/* Messages before wake-ups, as in a fixed run; else by random key, then by position. */
static int by_key(const void *a, const void *b)
{
    const struct visit *x = a, *y = b;
    if (x->is_wake != y->is_wake) return x->is_wake ? 1 : -1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->position < y->position ? -1 : 1;
}

static int by_registration(const void *a, const void *b)
{
    const struct visit *x = a, *y = b;
    return x->position < y->position ? -1 : 1;
}

static int by_position(const void *a, const void *b)
{
    const struct staged *x = a, *y = b;
    if (x->position != y->position) return x->position < y->position ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void deliver_staged(struct engine *e)
{
    struct shuffle *s = e->shuffle;
    if (s->staged_count) qsort(s->staged, s->staged_count, sizeof *s->staged, by_position);
    for (uint32_t i = 0; i < s->staged_count; i++)
        wheel_insert_message(e->receivers[s->staged[i].receiver].wheel, &e->store, s->staged[i].cycle,
                             s->staged[i].receiver, s->staged[i].message);
    s->staged_count = 0;
}

static void list_visits(struct engine *e, const struct engine_clock *k, struct wheel_slot due)
{
    struct shuffle *s = e->shuffle;
    const uint64_t salt = rng_u64(&s->rng);
    s->visit_count = 0;
    for (uint32_t node = due.first_message, next; node != WHEEL_NONE; node = next) {
        next = e->store.messages[node].next;
        add_visit(e, salt, e->store.messages[node].receiver, e->store.messages[node].message, false);
        wheel_free_message(&e->store, node);
    }
    s->first_wake = s->visit_count;
    const uint32_t slot = (uint32_t)k->now_cyc % ENGINE_SLOTS;
    for (uint32_t word = 0; word < e->word_capacity; word++)
        for (uint64_t bits = wakes_take(k, word, slot); bits; bits &= bits - 1)
            add_visit(e, salt, word * 64 + (uint32_t)__builtin_ctzll(bits), 0, true);
}

struct visits engine_visit_shuffled(struct engine *e, struct engine_clock *k, struct wheel_slot due)
{
    struct shuffle *s = e->shuffle;
    const uint64_t now = k->now_cyc;
    deliver_staged(e); /* what was sent before the first cycle */
    list_visits(e, k, due);
    k->summary[now % ENGINE_SLOTS] = 0;
    if (s->visit_count) qsort(s->visits, s->visit_count, sizeof *s->visits, by_key);
    const uint32_t count = s->visit_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct visit v = s->visits[i];
        s->position = v.position;
        if (v.is_wake)
            e->specs[v.component].wake(e->specs[v.component].self, now);
        else
            e->specs[v.component].receive(e->specs[v.component].self, now, v.message);
    }
    if (count > s->first_wake)
        qsort(s->visits + s->first_wake, count - s->first_wake, sizeof *s->visits, by_registration);
    for (uint32_t i = s->first_wake; i < count; i++) {
        const struct component_spec *c = &e->specs[s->visits[i].component];
        s->position = s->visits[i].position;
        if (c->commit) c->commit(c->self, now);
    }
    deliver_staged(e);
    return (struct visits){.messages = s->first_wake, .wakes = count - s->first_wake};
}
