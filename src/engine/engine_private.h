/* Shared by the files of engine/ only. */
#ifndef ATOLL_ENGINE_PRIVATE_H
#define ATOLL_ENGINE_PRIVATE_H

#include "engine/engine.h"
#include "engine/wheel.h"

enum { DOMAINS_MAX = 16 };

struct domain {
    const char *name;
    uint64_t ticks_per_cycle;
    struct wheel *wheel;
};

/* What a visit needs of a component, apart from its description: half a cache line. */
struct component_hot {
    void *self;
    void (*receive)(void *self, uint64_t now_cyc, uint64_t message);
    void (*wake)(void *self, uint64_t now_cyc);
    struct wheel *wheel; /* of its domain */
};

struct shuffle; /* engine_shuffle.c */

struct engine {
    struct arena arena;
    uint64_t tick, ticks_per_second;
    struct domain domains[DOMAINS_MAX];
    uint32_t domain_count;
    struct component_spec *components;
    struct component_hot *hot;
    uint32_t component_count, component_capacity;
    struct wheel_store store;
    uint64_t *wanted_cyc; /* per component: earliest wake-up asked for in this cycle */
    uint32_t *touched;    /* components with a wanted_cyc */
    uint32_t touched_count;
    uint32_t *due; /* wake-ups of the cycle under way, by component */
    bool started;
    uint64_t work_outstanding, progress_tick, watchdog_cyc;
    struct engine_stats stats;
    struct stats_registry *stats_registry;
    struct shuffle *shuffle; /* NULL = fixed order */
};

void engine_flush_wakes(struct engine *e);

/* Takes the wake-ups of a slot off, into e->due in the order of the components; returns their number. */
uint32_t engine_take_wakes(struct engine *e, struct wheel_slot due);

/* Shuffled visits: what is sent is staged and committed in the order that fixed visits would give. */
void engine_stage(struct engine *e, uint32_t receiver, uint64_t cycle, uint64_t message);
uint64_t engine_visit_shuffled(struct engine *e, struct wheel_slot due, uint64_t now);

#endif
