/* Wake-ups: against a naive model with random operations, at the edges of the wheel, across clock domains;
 * commit() in the order of registration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "engine/engine.h"
#include "engine/queue.h"

/* Runs a test body inside diag_run, so that a raised bug fails the test with its text. */
static void in_run(diag_body_fn *body, void *arg)
{
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, body, arg) != DIAG_NONE) fail_msg("%s", d.text);
    diag_clear(&d);
}

/* ---- random operations, on the engine and on a naive model ---- */

enum { DOMAINS = 4, LOG_MAX = 1 << 19 };
static const uint64_t hz[DOMAINS] = {1400, 350, 440, 1400};
#define TICK_HZ 15400ull /* of 1400, 350 and 440 */

struct visit_log {
    uint32_t component;
    uint64_t cycle, tick;
};

struct world;
struct actor {
    struct world *world;
    uint32_t id;
    struct rng rng;
};

/* The naive model keeps one cycle per component and looks at all of them. */
struct world {
    struct engine *engine; /* NULL: this is the naive model */
    uint32_t count, domain_count;
    uint64_t stop_tick;
    struct actor *actors;
    struct visit_log *log;
    uint64_t log_count;
    struct rng outside;
    /* naive model only */
    uint64_t *pending, *wanted, *asked;
    uint64_t tick, open_tick;
    uint32_t stepped; /* domain, or UINT32_MAX between runs */
    uint64_t sent, visited, merged, cycles;
};

static uint64_t tpc(uint32_t domain) { return TICK_HZ / hz[domain]; }
static uint32_t domain_of(const struct world *w, uint32_t component)
{
    return component * 7 / 3 % w->domain_count;
}

static uint64_t world_tick(const struct world *w) { return w->engine ? engine_tick(w->engine) : w->tick; }

/* The naive model gathers what is asked for in one visit of a domain; settle() applies the earliest. */
static void world_wake(struct world *w, uint32_t component, uint64_t at)
{
    if (w->engine)
        engine_wake(w->engine, component, at);
    else if (at < w->wanted[component])
        w->wanted[component] = at;
}

static void world_wake_at_tick(struct world *w, uint32_t component, uint64_t tick)
{
    const uint64_t p = tpc(domain_of(w, component)), from = tick > w->open_tick ? tick : w->open_tick;
    if (w->engine)
        engine_wake_at_tick(w->engine, component, tick);
    else
        world_wake(w, component, from / p + (from % p != 0));
}

static void settle(struct world *w)
{
    for (uint32_t c = 0; c < w->count; c++) {
        const uint64_t at = w->wanted[c];
        if (at == ENGINE_NEVER) continue;
        w->wanted[c] = ENGINE_NEVER;
        if (w->pending[c] <= at) continue;
        const uint64_t asked =
            w->stepped == domain_of(w, c) ? w->tick / tpc(w->stepped) + 1 : (1ull << 63) + w->tick;
        if (w->pending[c] == ENGINE_NEVER)
            w->sent++;
        else if (w->asked[c] != asked)
            w->merged++;
        w->pending[c] = at;
        w->asked[c] = asked;
    }
}

static uint64_t random_delay(struct rng *r)
{
    static const uint64_t spans[] = {1, 1, 1, 2, 8, 100, 1000, 30000};
    static const uint64_t edges[] = {1, 127, 128, 129, 253, 254, 255, 256, 257, 511, 512, 513};
    if (rng_below(r, 4) == 0) return edges[rng_below(r, 12)];
    return 1 + rng_below(r, spans[rng_below(r, 8)]);
}

/* What a component does when it is visited: depends on nothing but itself and the time. */
static void ask_for_something(struct world *w, struct rng *r, uint32_t self)
{
    const uint64_t tick = world_tick(w);
    const uint32_t asks = 1 + (uint32_t)rng_below(r, 3);
    for (uint32_t i = 0; i < asks; i++) {
        const uint32_t near = self + (uint32_t)rng_below(r, 5);
        const uint32_t who = i == 0            ? self
                             : rng_below(r, 2) ? near % w->count
                                               : (uint32_t)rng_below(r, w->count);
        const uint64_t p = tpc(domain_of(w, who)), delay = random_delay(r);
        const uint64_t kind = rng_below(r, 8);
        if (kind == 0 && i)
            world_wake(w, who, ENGINE_NEVER);
        else if (kind <= 2)
            world_wake_at_tick(w, who, tick + rng_below(r, 3 * p)); /* present, next or next but one edge */
        else if (kind == 3)
            world_wake_at_tick(w, who, tick < 9 ? 0 : tick - 9);
        else
            world_wake(w, who, tick / p + delay);
    }
}

static void actor_wake(void *self, uint64_t now)
{
    struct actor *a = self;
    struct world *w = a->world;
    const uint64_t tick = world_tick(w);
    if (w->engine) {
        w->open_tick = tick + 1;
        for (uint32_t d = 0; d < w->domain_count; d++)
            assert_int_equal(engine_now(w->engine, d), tick / tpc(d));
        assert_int_equal(now, tick / tpc(domain_of(w, a->id)));
    }
    if (tick < w->stop_tick) ask_for_something(w, &a->rng, a->id);
}

static void actor_commit(void *self, uint64_t now)
{
    const struct actor *a = self;
    struct world *w = a->world;
    assert_true(w->log_count < LOG_MAX);
    w->log[w->log_count++] = (struct visit_log){a->id, now, world_tick(w)};
}

static void naive_run(struct world *w, uint64_t limit_cyc)
{
    const uint64_t limit = limit_cyc == ENGINE_NEVER ? ENGINE_NEVER : limit_cyc * tpc(0);
    settle(w);
    for (;;) {
        uint64_t first = ENGINE_NEVER;
        for (uint32_t c = 0; c < w->count; c++) {
            const uint32_t d = domain_of(w, c);
            if (w->pending[c] == ENGINE_NEVER) continue;
            const uint64_t tick = w->pending[c] * tpc(d);
            if (tick < first || (tick == first && d < w->stepped)) {
                first = tick;
                w->stepped = d;
            }
        }
        if (first == ENGINE_NEVER) break;
        if (first > limit) {
            if (w->tick < limit) w->tick = limit;
            break;
        }
        w->tick = first;
        w->open_tick = first + 1;
        const uint64_t cycle = first / tpc(w->stepped);
        uint32_t due = 0;
        uint32_t *const list = malloc(w->count * sizeof *list);
        for (uint32_t c = 0; c < w->count; c++) {
            if (w->pending[c] != cycle || domain_of(w, c) != w->stepped) continue;
            w->pending[c] = ENGINE_NEVER;
            list[due++] = c;
        }
        for (uint32_t i = 0; i < due; i++) {
            actor_wake(&w->actors[list[i]], cycle);
            actor_commit(&w->actors[list[i]], cycle);
        }
        free(list);
        settle(w);
        w->visited += due;
        w->cycles++;
    }
    w->stepped = UINT32_MAX;
    w->open_tick = w->tick + 1;
}

struct trial {
    uint32_t components, more, domains; /* 'more' are added between two runs */
    uint64_t seed, stop_tick;
    bool shuffled;
};

static void add_actors(struct world *w, uint32_t count, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t c = w->count++;
        w->actors[c] = (struct actor){.world = w, .id = c, .rng = rng_seed(seed, c)};
        if (!w->engine) {
            w->pending[c] = w->wanted[c] = ENGINE_NEVER;
            continue;
        }
        assert_int_equal(engine_add(w->engine, (struct component_spec){.name = "actor",
                                                                       .self = &w->actors[c],
                                                                       .domain = domain_of(w, c),
                                                                       .wake = actor_wake,
                                                                       .commit = actor_commit}),
                         c);
    }
}

static void drive(struct world *w, const struct trial *t, struct stats_registry *stats)
{
    w->domain_count = t->domains;
    w->stop_tick = t->stop_tick;
    w->outside = rng_seed(t->seed, 77777);
    w->stepped = UINT32_MAX;
    add_actors(w, t->components, t->seed);
    for (uint32_t c = 0; c < t->components; c++)
        world_wake(w, c, rng_below(&w->outside, 3)); /* 0 is allowed */
    for (int run = 0; run < 6; run++) {
        const uint64_t limit = run == 5 ? ENGINE_NEVER : world_tick(w) / tpc(0) + rng_below(&w->outside, 100);
        if (w->engine) {
            (void)engine_run(w->engine, limit);
            w->open_tick = engine_tick(w->engine) + 1;
            stats_check_laws(stats, 0);
        } else {
            naive_run(w, limit);
        }
        if (run == 2) add_actors(w, t->more, t->seed);
        if (run < 5)
            for (int i = 0; i < 20; i++)
                ask_for_something(w, &w->outside, (uint32_t)rng_below(&w->outside, w->count));
        if (!w->engine) settle(w);
    }
}

static struct world world_create(struct arena *a, const struct trial *t)
{
    const uint32_t all = t->components + t->more;
    return (struct world){.actors = ARENA_ARRAY(a, struct actor, all),
                          .log = ARENA_ARRAY(a, struct visit_log, LOG_MAX),
                          .pending = ARENA_ARRAY(a, uint64_t, all),
                          .wanted = ARENA_ARRAY(a, uint64_t, all),
                          .asked = ARENA_ARRAY(a, uint64_t, all)};
}

static void trial_body(void *arg)
{
    const struct trial *t = arg;
    struct arena a;
    struct stats_registry stats;
    arena_init(&a);
    stats_init(&stats, 1000000000);
    struct world naive = world_create(&a, t), real = world_create(&a, t);
    drive(&naive, t, NULL);
    real.engine = engine_create(TICK_HZ, &stats);
    for (uint32_t d = 0; d < t->domains; d++) (void)engine_add_domain(real.engine, "clock", hz[d]);
    if (t->shuffled) engine_shuffle_visits(real.engine, rng_seed(t->seed, 5));
    drive(&real, t, &stats);
    assert_true(naive.visited > 500 && naive.merged > 3);
    const uint64_t both = real.log_count < naive.log_count ? real.log_count : naive.log_count;
    for (uint64_t i = 0; i < both; i++) {
        assert_int_equal(real.log[i].tick, naive.log[i].tick);
        assert_int_equal(real.log[i].component, naive.log[i].component);
        assert_int_equal(real.log[i].cycle, naive.log[i].cycle);
    }
    assert_int_equal(real.log_count, naive.log_count);
    struct stats sum;
    stats_sum(&stats, STATS_EVERYWHERE, &sum);
    assert_int_equal(sum.engine.events_sent, naive.sent);
    assert_int_equal(sum.engine.events_visited, naive.visited);
    assert_int_equal(sum.engine.events_merged, naive.merged);
    assert_int_equal(sum.engine.events_pending, 0);
    assert_int_equal(sum.engine.cycles_stepped, naive.cycles);
    engine_free(real.engine);
    stats_free(&stats);
    arena_free(&a);
}

static void wake_ups_are_those_of_a_naive_model(void **state)
{
    (void)state;
    static const struct trial trials[] = {
        {.components = 1, .domains = 1, .stop_tick = 2000000},
        {.components = 3, .domains = 2, .stop_tick = 1000000},
        {.components = 64, .domains = 1, .stop_tick = 30000},
        {.components = 65, .domains = 3, .stop_tick = 30000, .more = 70},
        {.components = 300, .domains = 4, .stop_tick = 20000, .more = 1},
        {.components = 1000, .domains = 2, .stop_tick = 9000, .more = 100},
        {.components = 4000, .domains = 2, .stop_tick = 3000, .more = 200}, /* groups of two rows from here */
        {.components = 4090, .domains = 1, .stop_tick = 2000, .more = 5000},
    };
    for (uint32_t i = 0; i < sizeof trials / sizeof *trials; i++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct trial t = trials[i];
            t.seed = seed;
            t.shuffled = seed % 2 == 0;
            in_run(trial_body, &t);
        }
}

/* ---- edges of the wheel ---- */

struct sleeper {
    struct engine *engine;
    uint32_t id;
    uint64_t delay, due, visits, max_delay;
};

static void sleeper_wake(void *self, uint64_t now)
{
    struct sleeper *s = self;
    assert_int_equal(now, s->due);
    s->visits++;
    if (s->delay == s->max_delay) return;
    s->due = now + ++s->delay;
    engine_wake(s->engine, s->id, s->due);
}

static void sleepers_body(void *arg)
{
    (void)arg;
    struct engine *e = engine_create(1000, NULL);
    struct sleeper s[3];
    (void)engine_add_domain(e, "c", 1000);
    for (uint32_t i = 0; i < 3; i++) {
        s[i] = (struct sleeper){.engine = e, .max_delay = 700, .due = 1 + 100 * i};
        s[i].id = engine_add(e, (struct component_spec){.name = "s", .self = &s[i], .wake = sleeper_wake});
        engine_wake(e, s[i].id, s[i].due);
    }
    assert_int_equal(engine_run(e, ENGINE_NEVER), ENGINE_IDLE);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(s[i].visits, 701);
    engine_free(e);
}

static void every_delay_from_1_to_700_cycles_ends_exactly_when_due(void **state)
{
    (void)state;
    in_run(sleepers_body, NULL);
}

struct once {
    uint64_t visits, last_cyc;
};

static void once_wake(void *self, uint64_t now)
{
    struct once *o = self;
    o->visits++;
    o->last_cyc = now;
}

/* A far wake-up that was replaced leaves no trace: neither a visit nor time that has passed. */
static void replaced_body(void *arg)
{
    (void)arg;
    struct stats_registry stats;
    stats_init(&stats, 1000000);
    struct engine *e = engine_create(1000, &stats);
    struct once o = {0};
    (void)engine_add_domain(e, "c", 1000);
    const uint32_t id = engine_add(e, (struct component_spec){.name = "o", .self = &o, .wake = once_wake});
    engine_wake(e, id, 100000);
    (void)engine_run(e, 10);
    engine_wake(e, id, 20);
    assert_int_equal(engine_run(e, 60000), ENGINE_IDLE); /* not the limit: nothing is pending beyond it */
    assert_int_equal(engine_now(e, 0), 20);
    engine_wake(e, id, 50); /* earlier than the one that was replaced */
    assert_int_equal(engine_run(e, ENGINE_NEVER), ENGINE_IDLE);
    assert_int_equal(o.visits, 2);
    assert_int_equal(o.last_cyc, 50);
    struct stats sum;
    stats_sum(&stats, STATS_EVERYWHERE, &sum);
    assert_int_equal(sum.engine.events_sent, 2);
    assert_int_equal(sum.engine.events_merged, 1);
    assert_int_equal(sum.engine.cycles_stepped, 2);
    engine_free(e);
    stats_free(&stats);
}

static void a_replaced_far_wake_up_leaves_no_trace(void **state)
{
    (void)state;
    in_run(replaced_body, NULL);
}

/* ---- across domains ---- */

static void tick_body(void *arg)
{
    (void)arg;
    struct engine *e = engine_create(TICK_HZ, NULL); /* 11 ticks at 1400 Hz, 35 at 440 Hz */
    struct once o = {0};
    (void)engine_add_domain(e, "fast", 1400);
    const uint32_t slow = engine_add_domain(e, "slow", 440);
    const uint32_t id =
        engine_add(e, (struct component_spec){.name = "o", .self = &o, .domain = slow, .wake = once_wake});
    static const struct {
        uint64_t tick, cycle;
    } right[] = {{0, 0}, {1, 1}, {36, 2}, {70, 3}, {140, 4}, {141, 5}, {175000000000, 5000000000}};
    for (uint32_t i = 0; i < sizeof right / sizeof *right; i++) { /* 70 is past by then: the next edge */
        engine_wake_at_tick(e, id, right[i].tick);
        (void)engine_run(e, ENGINE_NEVER);
        assert_int_equal(o.visits, i + 1);
        assert_int_equal(o.last_cyc, right[i].cycle);
        assert_int_equal(engine_tick(e), right[i].cycle * 35);
    }
    engine_wake_at_tick(e, id, ENGINE_NEVER);
    (void)engine_run(e, ENGINE_NEVER);
    assert_int_equal(o.visits, sizeof right / sizeof *right);
    engine_free(e);
}

static void a_wake_up_by_tick_comes_at_the_first_edge_not_before_it(void **state)
{
    (void)state;
    in_run(tick_body, NULL);
}

/* At cycle 1000 of both domains the first one, which comes first, asks for members of the second, which slept
 * until then and has not been visited yet. */
struct alarm {
    struct engine *engine;
    uint32_t pending, idle;
};

static void alarm_wake(void *self, uint64_t now)
{
    const struct alarm *a = self;
    assert_int_equal(now, 1000);
    engine_wake(a->engine, a->idle, now + 1);
    engine_wake(a->engine, a->pending, now + 1); /* its wake-up at 1000 is earlier */
}

static void slept_body(void *arg)
{
    (void)arg;
    struct engine *e = engine_create(1000, NULL);
    struct alarm a = {.engine = e};
    struct once pending = {0}, idle = {0};
    (void)engine_add_domain(e, "first", 1000);
    (void)engine_add_domain(e, "second", 1000);
    const uint32_t id = engine_add(e, (struct component_spec){.name = "a", .self = &a, .wake = alarm_wake});
    a.pending =
        engine_add(e, (struct component_spec){.name = "p", .self = &pending, .domain = 1, .wake = once_wake});
    a.idle =
        engine_add(e, (struct component_spec){.name = "i", .self = &idle, .domain = 1, .wake = once_wake});
    engine_wake(e, id, 1000);
    engine_wake(e, a.pending, 1000);
    (void)engine_run(e, ENGINE_NEVER);
    assert_int_equal(pending.visits, 1);
    assert_int_equal(pending.last_cyc, 1000);
    assert_int_equal(idle.visits, 1);
    assert_int_equal(idle.last_cyc, 1001);
    engine_free(e);
}

static void a_domain_that_slept_keeps_what_is_due_at_the_present_instant(void **state)
{
    (void)state;
    in_run(slept_body, NULL);
}

/* ---- the contract ---- */

struct offence {
    struct engine *engine;
    uint64_t back_cyc;
    bool with_pending;
};

static void offender_wake(void *self, uint64_t now)
{
    const struct offence *o = self;
    if (o->with_pending) engine_wake(o->engine, 0, now + 5);
    engine_wake(o->engine, 0, now - o->back_cyc);
}

static void offence_body(void *arg)
{
    struct offence *o = arg;
    (void)engine_add_domain(o->engine, "c", 1000);
    (void)engine_add(o->engine, (struct component_spec){.name = "o", .self = o, .wake = offender_wake});
    engine_wake(o->engine, 0, 300);
    (void)engine_run(o->engine, ENGINE_NEVER);
}

static void a_wake_up_in_the_present_or_past_is_refused(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        struct offence o = {.engine = engine_create(1000, NULL),
                            .back_cyc = (const uint64_t[]){0, 1, 256}[i % 3],
                            .with_pending = i >= 3};
        struct diag d;
        diag_init(&d);
        assert_int_equal(diag_run(&d, offence_body, &o), DIAG_BUG);
        diag_clear(&d);
        engine_free(o.engine);
    }
}

/* ---- commit ---- */

enum { COMMITTERS = 150 };
struct committers {
    struct engine *engine;
    bool shuffled, out_of_order;
    uint64_t cycle, wakes, commits; /* of the present cycle */
    uint32_t last, inverted, late;  /* wakes against the order, wakes after a commit of the same cycle */
    uint32_t last_wake;
    uint64_t digest, commit_digest, total;
    struct committer {
        struct committers *all;
        uint32_t id;
        uint64_t woken_cyc;
    } one[COMMITTERS];
};

static void committer_begins(struct committers *all, uint64_t now)
{
    if (now == all->cycle) return;
    all->cycle = now;
    all->wakes = all->commits = all->last = all->last_wake = 0;
}

static void committer_wake(void *self, uint64_t now)
{
    struct committer *c = self;
    committer_begins(c->all, now);
    c->woken_cyc = now;
    if (c->all->commits) c->all->late++;
    if (c->id < c->all->last_wake) c->all->inverted++;
    c->all->last_wake = c->id;
    engine_send(c->all->engine, (c->id * 5) % COMMITTERS, 3, c->id);
    if (now < 60) engine_wake(c->all->engine, c->id, now + 1 + (c->id + now) % 3);
}

static void committer_commit(void *self, uint64_t now)
{
    struct committer *c = self;
    assert_int_equal(c->woken_cyc, now); /* only who was woken */
    assert_int_equal(c->all->cycle, now);
    if (c->all->commits++ && c->id <= c->all->last) c->all->out_of_order = true;
    c->all->last = c->id;
    c->all->commit_digest = (c->all->commit_digest ^ c->id ^ now << 20) * 0x9e3779b97f4a7c15u;
    c->all->total++;
    engine_send(c->all->engine, (c->id * 5) % COMMITTERS, 3, c->id + 1000);
    engine_wake(c->all->engine, c->id, now + 500);
}

static void committer_receive(void *self, uint64_t now, uint64_t message)
{
    struct committer *c = self;
    (void)now;
    c->woken_cyc = c->woken_cyc * 31 + message; /* a message alone brings no commit */
    c->all->digest += c->woken_cyc * (c->id + 1);
}

static void commit_body(void *arg)
{
    struct committers *all = arg;
    struct engine *e = all->engine = engine_create(1000, NULL);
    (void)engine_add_domain(e, "c", 1000);
    if (all->shuffled) engine_shuffle_visits(e, rng_seed(4, 4));
    for (uint32_t i = 0; i < COMMITTERS; i++) {
        all->one[i] = (struct committer){.all = all};
        all->one[i].id = engine_add(e, (struct component_spec){.name = "c",
                                                               .self = &all->one[i],
                                                               .wake = committer_wake,
                                                               .receive = committer_receive,
                                                               .commit = i % 3 ? committer_commit : NULL});
        engine_wake(e, i, 1 + i % 2);
    }
    (void)engine_run(e, 3000);
    engine_free(e);
}

static void commits_follow_the_order_of_registration_in_any_order_of_visits(void **state)
{
    (void)state;
    static struct committers fixed, shuffled; /* large */
    shuffled.shuffled = true;
    in_run(commit_body, &fixed);
    in_run(commit_body, &shuffled);
    assert_true(fixed.total > 1000);
    assert_false(fixed.out_of_order);
    assert_false(shuffled.out_of_order);
    assert_int_equal(fixed.inverted, 0);
    assert_true(shuffled.inverted > 1000); /* visits were really shuffled */
    assert_true(fixed.late > 0);           /* back to back */
    assert_int_equal(shuffled.late, 0);    /* two passes */
    assert_int_equal(fixed.total, shuffled.total);
    assert_int_equal(fixed.commit_digest, shuffled.commit_digest);
    assert_int_equal(fixed.digest, shuffled.digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wake_ups_are_those_of_a_naive_model),
        cmocka_unit_test(every_delay_from_1_to_700_cycles_ends_exactly_when_due),
        cmocka_unit_test(a_replaced_far_wake_up_leaves_no_trace),
        cmocka_unit_test(a_wake_up_by_tick_comes_at_the_first_edge_not_before_it),
        cmocka_unit_test(a_domain_that_slept_keeps_what_is_due_at_the_present_instant),
        cmocka_unit_test(a_wake_up_in_the_present_or_past_is_refused),
        cmocka_unit_test(commits_follow_the_order_of_registration_in_any_order_of_visits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
