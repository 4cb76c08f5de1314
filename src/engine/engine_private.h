/* Shared by the files of engine/ only. */
#ifndef ATOLL_ENGINE_PRIVATE_H
#define ATOLL_ENGINE_PRIVATE_H

#include <stddef.h>

#include "engine/engine.h"
#include "engine/wakes.h"
#include "engine/wheel.h"

struct domain {
    const char *name;
    struct engine_clock *clock; /* and its wake-ups */
    struct wheel *wheel;        /* messages */
};

/* What a message needs of its receiver: half a cache line. */
struct receiver {
    void (*receive)(void *self, uint64_t now_cyc, uint64_t message);
    void *self;
    struct wheel *wheel;
    struct engine_clock *clock;
};

struct shuffle; /* engine_shuffle.c */

struct engine {
    struct engine_front front; /* must be first: engine_inline.h */
    struct arena arena;
    uint64_t ticks_per_second;
    struct domain domains[ENGINE_DOMAINS_MAX];
    uint32_t domain_count;
    struct component_spec *specs;
    struct receiver *receivers;
    uint32_t component_capacity;
    /* wakes.c: words of 64 components and rows per bit of a summary, both powers of two */
    uint32_t word_capacity, group_log2;
    struct wheel_store store;
    bool visiting, stopping;
    bool stopped; /* in the middle of an instant */
    uint64_t work_outstanding, watchdog_cyc;
    bool awaited;                        /* idle until the limit is no end */
    bool (*stuck)(void *self, bool due); /* NULL: nobody is asked */
    void *stuck_self;
    uint64_t limit_tick, next_look_tick; /* of engine_run() under way */
    struct stats_registry *stats_registry;
    struct shuffle *shuffle; /* NULL = fixed order */
};
_Static_assert(offsetof(struct engine, front) == 0, "engine_inline.h reads the engine through its front");

/* Shuffled visits: what is sent is staged and delivered in the order that fixed visits would give. */
void engine_stage(struct engine *e, uint32_t receiver, uint64_t cycle, uint64_t message);
struct visits {
    uint64_t messages, wakes;
};
struct visits engine_visit_shuffled(struct engine *e, struct engine_clock *k, struct wheel_slot due);

#endif
