/* engine: registration, asking for visits, and the loop that steps the clock domains. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "engine/engine_private.h"

/* What the wheels really hold, for the law: not what was sent less what was visited. */
static uint64_t count_pending(const struct engine *e)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < e->domain_count; i++) count += wheel_count(e->domains[i].wheel, &e->store);
    return count;
}

/* After a reset, what is still pending counts as sent: the law goes on to hold. */
static void carry_pending(void *arg)
{
    struct engine *e = arg;
    e->stats.events_sent = e->stats.events_pending = count_pending(e);
}

struct engine *engine_create(uint64_t ticks_per_second, struct stats_registry *stats)
{
    struct arena arena;
    arena_init(&arena);
    struct engine *e = ARENA_NEW(&arena, struct engine);
    e->arena = arena; /* the engine lives in its own arena; every later block hangs off this copy */
    e->ticks_per_second = ticks_per_second;
    e->watchdog_cyc = ENGINE_NEVER;
    wheel_store_init(&e->store, &e->arena);
    e->stats_registry = stats;
    if (stats) {
        STATS_REGISTER(stats, engine, &e->stats, STATS_EVERYWHERE);
        stats_on_reset(stats, carry_pending, e);
    }
    return e;
}

void engine_free(struct engine *e)
{
    struct arena arena = e->arena;
    arena_free(&arena);
}

uint32_t engine_add_domain(struct engine *e, const char *name, uint64_t frequency_hz)
{
    DIAG_ASSERT(e->domain_count < DOMAINS_MAX && frequency_hz && e->ticks_per_second % frequency_hz == 0);
    struct domain *d = &e->domains[e->domain_count];
    d->name = name;
    d->ticks_per_cycle = e->ticks_per_second / frequency_hz;
    d->wheel = ARENA_NEW(&e->arena, struct wheel);
    wheel_init(d->wheel, d->ticks_per_cycle);
    return e->domain_count++;
}

uint32_t engine_add(struct engine *e, struct component_spec spec)
{
    DIAG_ASSERT(spec.domain < e->domain_count && spec.name && spec.wake);
    if (e->component_count == e->component_capacity) {
        e->component_capacity = e->component_capacity ? e->component_capacity * 2 : 64;
        struct component_spec *grown = ARENA_ARRAY(&e->arena, struct component_spec, e->component_capacity);
        struct component_hot *hot = ARENA_ARRAY(&e->arena, struct component_hot, e->component_capacity);
        uint64_t *wanted = ARENA_ARRAY(&e->arena, uint64_t, e->component_capacity);
        uint32_t *touched = ARENA_ARRAY(&e->arena, uint32_t, e->component_capacity);
        e->due = ARENA_ARRAY(&e->arena, uint32_t, e->component_capacity);
        if (e->component_count) {
            memcpy(grown, e->components, e->component_count * sizeof *grown);
            memcpy(hot, e->hot, e->component_count * sizeof *hot);
            memcpy(wanted, e->wanted_cyc, e->component_count * sizeof *wanted);
            memcpy(touched, e->touched, e->touched_count * sizeof *touched);
        }
        e->components = grown;
        e->hot = hot;
        e->wanted_cyc = wanted;
        e->touched = touched;
    }
    e->components[e->component_count] = spec;
    e->hot[e->component_count] =
        (struct component_hot){spec.self, spec.receive, spec.wake, e->domains[spec.domain].wheel};
    e->wanted_cyc[e->component_count] = ENGINE_NEVER;
    wheel_store_add_component(&e->store, e->component_count);
    return e->component_count++;
}

/* ---- time ---- */

uint64_t engine_tick(const struct engine *e) { return e->tick; }
double engine_seconds(const struct engine *e) { return (double)e->tick / (double)e->ticks_per_second; }
const char *engine_name(const struct engine *e, uint32_t component) { return e->components[component].name; }
uint32_t engine_domain_of(const struct engine *e, uint32_t component)
{
    return e->components[component].domain;
}

static inline uint64_t cycle_now(const struct engine *e, const struct wheel *w)
{
    return w->now_tick == e->tick ? w->now_cyc
                                  : e->tick / w->ticks_per_cycle; /* same domain: the common case */
}

uint64_t engine_now(const struct engine *e, uint32_t domain)
{
    return cycle_now(e, e->domains[domain].wheel);
}

/* ---- asking for visits ---- */

/* Wake-ups asked for during a visit are gathered, the earliest per component, and inserted when the
 * cycle is over: so it does not matter who asked first. */
void engine_wake(struct engine *e, uint32_t component, uint64_t at_cyc)
{
    DIAG_ASSERT(component < e->component_count);
    DIAG_ASSERT(at_cyc > cycle_now(e, e->hot[component].wheel) || !e->started);
    if (e->wanted_cyc[component] == ENGINE_NEVER) e->touched[e->touched_count++] = component;
    if (at_cyc < e->wanted_cyc[component]) e->wanted_cyc[component] = at_cyc;
}

void engine_flush_wakes(struct engine *e)
{
    for (uint32_t i = 0; i < e->touched_count; i++) {
        const uint32_t component = e->touched[i];
        const uint64_t at = e->wanted_cyc[component];
        e->wanted_cyc[component] = ENGINE_NEVER;
        struct wheel *wheel = e->hot[component].wheel;
        if (e->store.wakes[component].cycle <= at) {
            e->stats.events_merged++;
            continue;
        }
        if (e->store.wakes[component].cycle != ENGINE_NEVER) {
            e->stats.events_merged++; /* the later one is replaced: still one pending */
        } else {
            e->stats.events_sent++;
        }
        wheel_insert_wake(wheel, &e->store, at, component);
    }
    e->touched_count = 0;
}

void engine_send(struct engine *e, uint32_t receiver, uint64_t delay_cyc, uint64_t message)
{
    DIAG_ASSERT(receiver < e->component_count && delay_cyc > 0);
    struct wheel *wheel = e->hot[receiver].wheel;
    const uint64_t cycle = cycle_now(e, wheel) + delay_cyc;
    e->stats.events_sent++;
    if (e->shuffle)
        engine_stage(e, receiver, cycle, message);
    else
        wheel_insert_message(wheel, &e->store, cycle, receiver, message);
}

/* ---- running ---- */

void engine_work_begins(struct engine *e) { e->work_outstanding++; }

void engine_work_ends(struct engine *e)
{
    DIAG_ASSERT(e->work_outstanding > 0);
    e->work_outstanding--;
    engine_progress(e);
}

void engine_progress(struct engine *e) { e->progress_tick = e->tick; }
void engine_set_watchdog(struct engine *e, uint64_t limit_cyc) { e->watchdog_cyc = limit_cyc; }

/* The domain whose next visit comes first; the earlier registered one when several tick together. */
static struct domain *earliest(struct engine *e, uint64_t *tick)
{
    struct domain *best = NULL;
    *tick = ENGINE_NEVER;
    for (uint32_t i = 0; i < e->domain_count; i++) {
        struct domain *d = &e->domains[i];
        if (d->wheel->next_cyc == ENGINE_NEVER) continue;
        const uint64_t at = d->wheel->next_cyc * d->ticks_per_cycle;
        if (at < *tick) {
            *tick = at;
            best = d;
        }
    }
    return best;
}

static int by_id(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Slots hold wake-ups in any order; they are visited in the order of registration. */
uint32_t engine_take_wakes(struct engine *e, struct wheel_slot due)
{
    enum { FEW = 24 };
    uint32_t count = 0;
    for (uint32_t id = due.first_wake, next; id != WHEEL_NONE; id = next) {
        next = e->store.wakes[id].next;
        e->store.wakes[id].cycle = ENGINE_NEVER;
        uint32_t at = count++;
        if (count <= FEW) /* insertion sort while there are few */
            for (; at && e->due[at - 1] > id; at--) e->due[at] = e->due[at - 1];
        e->due[at] = id;
    }
    if (count > FEW) qsort(e->due, count, sizeof *e->due, by_id);
    return count;
}

static uint64_t visit_in_order(struct engine *e, struct wheel_slot due, uint64_t now)
{
    uint64_t visited = 0;
    const uint32_t wakes = due.first_wake == WHEEL_NONE ? 0 : engine_take_wakes(e, due);
    for (uint32_t node = due.first_message, next; node != WHEEL_NONE; node = next, visited++) {
        const struct wheel_message *m = &e->store.messages[node];
        const struct component_hot *c = &e->hot[m->receiver];
        const uint64_t message = m->message;
        next = m->next;
        __builtin_prefetch(&e->store.messages[next & (e->store.message_capacity - 1)]);
        wheel_free_message(&e->store, node);
        c->receive(c->self, now, message);
    }
    for (uint32_t i = 0; i < wakes; i++) {
        const struct component_hot *c = &e->hot[e->due[i]];
        c->wake(c->self, now);
    }
    return visited + wakes;
}

static void check_watchdog(struct engine *e)
{
    if (!e->work_outstanding || e->watchdog_cyc == ENGINE_NEVER) return;
    const uint64_t idle_cyc = (e->tick - e->progress_tick) / e->domains[0].ticks_per_cycle;
    if (idle_cyc > e->watchdog_cyc)
        diag_bug("engine", engine_now(e, 0),
                 "nothing moved for %llu cycles although work is outstanding:\n%s",
                 (unsigned long long)idle_cyc, engine_wait_report(e));
}

static void step(struct engine *e, struct domain *d, uint64_t tick)
{
    struct wheel_slot due;
    wheel_advance(d->wheel, &e->store, &due);
    if (due.first_message == WHEEL_NONE && due.first_wake == WHEEL_NONE) { /* a coarse slot was spilled */
        wheel_find_next(d->wheel);
        return;
    }
    e->tick = tick;
    const uint64_t now = d->wheel->now_cyc;
    const uint64_t visited = e->shuffle ? engine_visit_shuffled(e, due, now) : visit_in_order(e, due, now);
    if (e->touched_count) engine_flush_wakes(e);
    wheel_find_next(d->wheel);
    stats_peak(&e->stats.pending_peak, e->stats.events_sent - e->stats.events_visited);
    e->stats.events_visited += visited;
    e->stats.cycles_stepped++;
    STATS_COUNT(e->stats.events_per_cycle, visited);
}

/* Before the first step at or after 'tick': series and watchdog. Returns when to look again. */
static uint64_t look_around(struct engine *e, uint64_t tick)
{
    const uint64_t tpc = e->domains[0].ticks_per_cycle;
    uint64_t next = ENGINE_NEVER;
    check_watchdog(e);
    if (e->watchdog_cyc < (ENGINE_NEVER - tick) / tpc) next = tick + (e->watchdog_cyc / 2 + 1) * tpc;
    if (e->stats_registry) {
        stats_sample(e->stats_registry, tick / tpc);
        const uint64_t sample = e->stats_registry->series_next_cyc * tpc;
        if (sample < next) next = sample;
    }
    return next;
}

enum engine_end engine_run(struct engine *e, uint64_t limit_cyc)
{
    enum engine_end end = ENGINE_IDLE;
    const uint64_t tpc = e->domains[0].ticks_per_cycle;
    const uint64_t limit_tick = limit_cyc > ENGINE_NEVER / tpc ? ENGINE_NEVER : limit_cyc * tpc;
    engine_flush_wakes(e);
    engine_progress(e);
    e->started = true;
    uint64_t next_look_tick = e->tick;
    for (;;) {
        uint64_t tick;
        struct domain *d = earliest(e, &tick);
        if (!d) break;
        if (tick > limit_tick) {
            end = ENGINE_LIMIT;
            if (e->tick < limit_tick) e->tick = limit_tick;
            break;
        }
        if (tick >= next_look_tick) next_look_tick = look_around(e, tick);
        step(e, d, tick);
    }
    e->stats.events_pending = count_pending(e);
    if (end == ENGINE_IDLE && e->stats_registry) stats_series_finish(e->stats_registry);
    if (end == ENGINE_IDLE && e->work_outstanding)
        diag_bug("engine", engine_now(e, 0), "nothing is due although work is outstanding:\n%s",
                 engine_wait_report(e));
    return end;
}
