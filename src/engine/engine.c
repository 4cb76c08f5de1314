/* engine: registration, asking for visits, and the loop that steps the clock domains. */
#include "engine/engine.h"

#include <string.h>

#include "base/diag.h"
#include "engine/engine_private.h"

/* What is really held, for the law: not what was sent less what was visited. */
static uint64_t count_pending(const struct engine *e)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < e->domain_count; i++)
        count += wheel_count(e->domains[i].wheel, &e->store) + wakes_count(e, e->domains[i].clock);
    return count;
}

/* After a reset, what is still pending counts as sent: the law goes on to hold. */
static void carry_pending(void *arg)
{
    struct engine *e = arg;
    for (uint32_t i = 0; i < e->domain_count; i++)
        e->front.clocks[i]->counted = e->front.clocks[i]->asked_count;
    e->front.stats.events_sent = e->front.stats.events_pending = count_pending(e);
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
        STATS_REGISTER(stats, engine, &e->front.stats, STATS_EVERYWHERE);
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
    DIAG_ASSERT(e->domain_count < ENGINE_DOMAINS_MAX && frequency_hz &&
                e->ticks_per_second % frequency_hz == 0);
    struct domain *d = &e->domains[e->domain_count];
    d->name = name;
    d->clock = ARENA_ARRAY(&e->arena, struct engine_clock, 1); /* aligned to a cache line */
    d->wheel = ARENA_NEW(&e->arena, struct wheel);
    wakes_init_clock(e, d->clock, e->ticks_per_second / frequency_hz);
    wheel_init(d->wheel);
    e->front.clocks[e->domain_count] = d->clock;
    return e->domain_count++;
}

static void grow_components(struct engine *e)
{
    const uint32_t count = e->front.component_count, capacity = count ? count * 2 : 64;
    struct component_spec *specs = ARENA_ARRAY(&e->arena, struct component_spec, capacity);
    struct engine_component *components = ARENA_ARRAY(&e->arena, struct engine_component, capacity);
    struct receiver *receivers = ARENA_ARRAY(&e->arena, struct receiver, capacity);
    if (count) {
        memcpy(specs, e->specs, count * sizeof *specs);
        memcpy(components, e->front.components, count * sizeof *components);
        memcpy(receivers, e->receivers, count * sizeof *receivers);
    }
    e->specs = specs;
    e->front.components = components;
    e->receivers = receivers;
    e->component_capacity = capacity;
}

/* Nobody sees in this cycle what another's commit() does, so with fixed visits it may follow at once. */
static void wake_and_commit(void *spec, uint64_t now)
{
    const struct component_spec *s = spec;
    s->wake(s->self, now);
    s->commit(s->self, now);
}

uint32_t engine_add(struct engine *e, struct component_spec spec)
{
    DIAG_ASSERT(spec.domain < e->domain_count && spec.name && spec.wake && !e->visiting);
    if (e->front.component_count == e->component_capacity) grow_components(e);
    const uint32_t id = e->front.component_count;
    const struct domain *d = &e->domains[spec.domain];
    e->specs[id] = spec;
    e->receivers[id] = (struct receiver){spec.receive, spec.self, d->wheel, d->clock};
    struct engine_component *c = &e->front.components[id];
    *c = (struct engine_component){.clock = d->clock, .self = spec.self, .wake = spec.wake};
    if (spec.visit) {
        DIAG_ASSERT(spec.commit);
        c->wake = spec.visit;
    } else if (spec.commit) {
        struct component_spec *both = ARENA_NEW(&e->arena, struct component_spec);
        *both = spec;
        c->self = both;
        c->wake = wake_and_commit;
    }
    wakes_add_component(e, id);
    return e->front.component_count++;
}

double engine_seconds(const struct engine *e) { return (double)e->front.tick / (double)e->ticks_per_second; }
const char *engine_name(const struct engine *e, uint32_t component) { return e->specs[component].name; }
uint32_t engine_domain_of(const struct engine *e, uint32_t component) { return e->specs[component].domain; }

void engine_send(struct engine *e, uint32_t receiver, uint64_t delay_cyc, uint64_t message)
{
    DIAG_ASSERT(receiver < e->front.component_count && delay_cyc > 0);
    const struct receiver *r = &e->receivers[receiver];
    const uint64_t cycle = engine_clock_now(&e->front, r->clock) + delay_cyc;
    e->front.stats.events_sent++;
    if (e->shuffle)
        engine_stage(e, receiver, cycle, message);
    else
        wheel_insert_message(r->wheel, &e->store, cycle, receiver, message);
}

/* ---- running ---- */

void engine_set_awaited(struct engine *e, bool on) { e->awaited = on; }

void engine_work_begins(struct engine *e)
{
    if (!e->work_outstanding++) engine_progress(e);
}

void engine_work_ends(struct engine *e)
{
    DIAG_ASSERT(e->work_outstanding > 0);
    e->work_outstanding--;
    engine_progress(e);
}

void engine_set_watchdog(struct engine *e, uint64_t limit_cyc) { e->watchdog_cyc = limit_cyc; }

void engine_set_stuck(struct engine *e, bool (*stuck)(void *self, bool due), void *self)
{
    e->stuck = stuck;
    e->stuck_self = self;
}

struct next {
    struct domain *domain; /* NULL: nothing is due ever */
    uint64_t cycle, tick;
};

/* The domain whose next visit comes first; the earlier registered one when several tick together. */
static struct next earliest(struct engine *e)
{
    struct next best = {.tick = ENGINE_NEVER};
    for (struct domain *d = e->domains; d < e->domains + e->domain_count; d++) {
        const uint64_t message_cyc = d->wheel->next_cyc, wake_cyc = d->clock->next_cyc;
        const uint64_t cycle = message_cyc < wake_cyc ? message_cyc : wake_cyc;
        if (cycle == ENGINE_NEVER) continue;
        const uint64_t tick = cycle * d->clock->ticks_per_cycle;
        if (tick < best.tick) best = (struct next){d, cycle, tick};
    }
    return best;
}

static uint64_t deliver(struct engine *e, struct wheel_slot due, uint64_t now)
{
    uint64_t visited = 0;
    for (uint32_t node = due.first_message, next; node != WHEEL_NONE; node = next, visited++) {
        const struct wheel_message *m = &e->store.messages[node];
        const struct receiver *r = &e->receivers[m->receiver];
        const uint64_t message = m->message;
        next = m->next;
        __builtin_prefetch(&e->store.messages[next & (e->store.message_capacity - 1)]);
        wheel_free_message(&e->store, node);
        r->receive(r->self, now, message);
    }
    return visited;
}

/* The due ones of 64 components. A function of its own, with a 32-bit offset: so its loop is 11 instructions,
 * as everything stays in registers and nothing is widened. */
static __attribute__((noinline)) uint64_t wake_row(const struct engine_component *components, uint64_t bits,
                                                   uint64_t now)
{
    uint64_t visited = 0;
    for (; bits; bits &= bits - 1, visited++) {
        const uint32_t offset = (uint32_t)__builtin_ctzll(bits) * (uint32_t)sizeof *components;
        const struct engine_component *c = (const void *)((const char *)components + offset);
        c->wake(c->self, now);
    }
    return visited;
}

static uint64_t wake_in_order(const struct engine *e, struct engine_clock *k)
{
    uint64_t visited = 0;
    const uint64_t now = k->now_cyc;
    const uint32_t slot = (uint32_t)now % ENGINE_SLOTS, group_log2 = e->group_log2;
    uint64_t groups = k->summary[slot];
    k->summary[slot] = 0;
    for (; groups; groups &= groups - 1) {
        const uint32_t first = (uint32_t)__builtin_ctzll(groups) << group_log2;
        uint32_t word = first;
        do {
            const uint64_t bits = wakes_take(k, word, slot);
            if (bits) visited += wake_row(e->front.components + (size_t)word * 64, bits, now);
        } while (++word >> group_log2 == first >> group_log2);
    }
    return visited;
}

static void check_watchdog(struct engine *e)
{
    if (!e->work_outstanding || e->watchdog_cyc == ENGINE_NEVER) return;
    uint64_t tpc = e->front.clocks[0]->ticks_per_cycle; /* of the slowest clock */
    for (uint32_t i = 1; i < e->domain_count; i++)
        if (e->front.clocks[i]->ticks_per_cycle > tpc) tpc = e->front.clocks[i]->ticks_per_cycle;
    const uint64_t idle_cyc = (e->front.tick - e->front.progress_tick) / tpc;
    if (idle_cyc <= e->watchdog_cyc) return;
    if (e->stuck && !e->stuck(e->stuck_self, true)) {
        engine_progress(e);
        return;
    }
    diag_bug("engine", engine_now(e, 0), "nothing moved for %llu cycles although work is outstanding:\n%s",
             (unsigned long long)idle_cyc, engine_wait_report(e));
}

static struct visits visit_in_order(struct engine *e, struct engine_clock *k, struct wheel_slot due,
                                    bool wakes)
{
    struct visits v = {0};
    if (due.first_message != WHEEL_NONE) v.messages = deliver(e, due, k->now_cyc);
    if (wakes) v.wakes = wake_in_order(e, k);
    return v;
}

static void count(struct engine *e, struct engine_clock *k, uint64_t visited)
{
    struct engine_stats *const stats = &e->front.stats;
    stats->events_sent += k->asked_count - k->counted;
    k->counted = k->asked_count;
    stats_peak(&stats->pending_peak, stats->events_sent - stats->events_visited);
    stats->events_visited += visited;
    stats->cycles_stepped++;
    STATS_COUNT(stats->events_per_cycle, visited);
}

static void step(struct engine *e, struct domain *d, uint64_t cycle, uint64_t tick)
{
    struct engine_clock *const k = d->clock;
    struct wheel_slot due = WHEEL_EMPTY;
    const bool wakes = cycle == k->next_cyc && wakes_due(e, k);
    const bool messages = cycle == d->wheel->next_cyc;
    if (messages) due = wheel_advance(d->wheel, &e->store);
    if (!wakes && due.first_message == WHEEL_NONE) { /* a coarse slot was spilled, a wake-up replaced */
        wakes_find_next(k);
        wheel_find_next(d->wheel);
        return;
    }
    e->front.tick = tick;
    e->front.open_tick = tick + 1;
    d->wheel->now_cyc = cycle;
    wakes_open(e, k, cycle, tick);
    struct visits visits;
    if (e->shuffle)
        visits = engine_visit_shuffled(e, k, due);
    else
        visits = visit_in_order(e, k, due, wakes);
    wakes_close(k, visits.wakes);
    if (messages) wheel_find_next(d->wheel);
    count(e, k, visits.messages + visits.wakes);
}

/* Before the first step at or after 'tick': series and watchdog. Returns when to look again. */
static uint64_t look_around(struct engine *e, uint64_t tick)
{
    const uint64_t tpc = e->front.clocks[0]->ticks_per_cycle;
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

/* Somebody looks next at next_look_tick, or at the limit. */
static void look_next(struct engine *e, uint64_t tick)
{
    e->next_look_tick = tick;
    for (uint32_t k = 0; k < e->domain_count; k++) {
        struct engine_clock *const clock = e->front.clocks[k];
        const uint64_t tpc = clock->ticks_per_cycle;
        const uint64_t limit = e->limit_tick / tpc + 1, look = (tick - 1) / tpc + 1;
        clock->unwatched_cyc = limit < look ? limit : look;
    }
}

uint64_t engine_due_cyc(struct engine *e)
{
    const struct next next = earliest(e);
    return next.domain ? next.tick / e->front.clocks[0]->ticks_per_cycle : ENGINE_NEVER;
}

void engine_stop(struct engine *e) { e->stopping = true; }
uint64_t engine_stepped_tick(const struct engine *e)
{
    return e->stopped && e->front.tick ? e->front.tick - 1 : e->front.tick;
}

enum engine_end engine_run(struct engine *e, uint64_t limit_cyc)
{
    enum engine_end end = ENGINE_IDLE;
    const uint64_t tpc = e->front.clocks[0]->ticks_per_cycle;
    e->limit_tick = limit_cyc > ENGINE_NEVER / tpc ? ENGINE_NEVER : limit_cyc * tpc;
    e->visiting = true;
    look_next(e, e->front.tick);
    for (;;) {
        const struct next next = earliest(e);
        if (!next.domain && !e->awaited) break;
        if (!next.domain || next.tick > e->limit_tick) {
            end = ENGINE_LIMIT;
            if (e->front.tick < e->limit_tick) e->front.tick = e->limit_tick;
            break;
        }
        if (next.tick >= e->next_look_tick) look_next(e, look_around(e, next.tick));
        step(e, next.domain, next.cycle, next.tick);
        if (e->stopping) {
            end = ENGINE_STOPPED;
            break;
        }
    }
    e->stopping = false;
    e->stopped = end == ENGINE_STOPPED;
    e->visiting = false;
    e->front.open_tick = e->front.tick + 1;
    e->front.stats.events_pending = count_pending(e);
    if (end == ENGINE_IDLE && e->stats_registry) stats_series_finish(e->stats_registry);
    if (end != ENGINE_IDLE || !e->work_outstanding) return end;
    if (e->stuck) (void)e->stuck(e->stuck_self, false);
    diag_bug("engine", engine_now(e, 0), "nothing is due although work is outstanding:\n%s",
             engine_wait_report(e));
}
