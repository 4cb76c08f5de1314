/* Time, order, queues, watchdog. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "base/map.h"
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

/* ---- clocks ---- */

struct ticker {
    struct engine *engine;
    uint32_t id;
    uint64_t visits, last_cyc, stop_cyc;
    uint64_t tick_of_last;
};

static void ticker_wake(void *self, uint64_t now)
{
    struct ticker *t = self;
    t->visits++;
    t->last_cyc = now;
    t->tick_of_last = engine_tick(t->engine);
    if (now < t->stop_cyc) engine_wake(t->engine, t->id, now + 1);
}

static void clocks_body(void *arg)
{
    (void)arg;
    static const uint64_t hz[] = {1400000000, 350000000, 440000000, 293000000};
    const uint64_t tick_hz = 1400000000ull * 11 * 293;
    struct engine *e = engine_create(tick_hz, NULL);
    struct ticker t[4];
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t domain = engine_add_domain(e, "clock", hz[i]);
        t[i] = (struct ticker){.engine = e, .stop_cyc = hz[i] / 1000000}; /* one microsecond */
        t[i].id = engine_add(e, (struct component_spec){
                                    .name = "ticker", .self = &t[i], .domain = domain, .wake = ticker_wake});
        engine_wake(e, t[i].id, 1);
    }
    assert_int_equal(engine_run(e, ENGINE_NEVER), ENGINE_IDLE);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(t[i].visits, hz[i] / 1000000);
        assert_int_equal(t[i].tick_of_last, tick_hz / 1000000); /* all meet again exactly */
        assert_int_equal(engine_now(e, (uint32_t)i), hz[i] / 1000000);
    }
    engine_free(e);
}

static void clocks_meet_again_exactly_after_a_microsecond(void **state)
{
    (void)state;
    in_run(clocks_body, NULL);
}

/* ---- wheel against a sorted list, over all levels ---- */

enum { MESSAGES = 20000 };
struct sink {
    uint64_t due[MESSAGES];
    uint64_t seen;
};

static void sink_wake(void *self, uint64_t now)
{
    (void)self;
    (void)now;
}

static void sink_receive(void *self, uint64_t now, uint64_t message)
{
    struct sink *s = self;
    assert_int_equal(s->due[message], now);
    s->due[message] = 0;
    s->seen++;
}

static void wheel_body(void *arg)
{
    (void)arg;
    struct sink *s = calloc(1, sizeof *s);
    struct engine *e = engine_create(1000, NULL);
    struct rng r = rng_seed(3, 0);
    const uint32_t id = engine_add(e, (struct component_spec){.name = "sink",
                                                              .self = s,
                                                              .domain = engine_add_domain(e, "c", 1000),
                                                              .wake = sink_wake,
                                                              .receive = sink_receive});
    uint64_t sent = 0;
    for (uint64_t limit = 0; sent < MESSAGES;
         limit += rng_below(&r, 3) ? rng_below(&r, 5000) : rng_below(&r, 1u << 30)) {
        (void)engine_run(e, limit);
        for (int i = 0; i < 50 && sent < MESSAGES; i++, sent++) {
            static const uint64_t spans[] = {2, 64, 4096, 8192, 1u << 20, 1u << 24, 1u << 26, 1ull << 36};
            const uint64_t delay = 1 + rng_below(&r, spans[rng_below(&r, 8)]);
            s->due[sent] = engine_now(e, 0) + delay;
            engine_send(e, id, delay, sent);
        }
    }
    (void)engine_run(e, ENGINE_NEVER);
    assert_int_equal(s->seen, MESSAGES);
    free(s);
    engine_free(e);
}

static void every_message_arrives_exactly_when_due_at_any_distance(void **state)
{
    (void)state;
    in_run(wheel_body, NULL);
}

static void wake_body(void *arg)
{
    (void)arg;
    struct stats_registry stats;
    stats_init(&stats, 1000000);
    struct engine *e = engine_create(1000, &stats);
    struct ticker t = {.engine = e};
    t.id = engine_add(
        e, (struct component_spec){
               .name = "t", .self = &t, .domain = engine_add_domain(e, "c", 1000), .wake = ticker_wake});
    engine_wake(e, t.id, 100000);
    (void)engine_run(e, 10);
    engine_wake(e, t.id, 50);
    engine_wake(e, t.id, 20);
    engine_wake(e, t.id, 30);
    (void)engine_run(e, 19);
    assert_int_equal(t.visits, 0); /* asleep at t-1 */
    (void)engine_run(e, 20);
    assert_int_equal(t.visits, 1); /* awake at t */
    (void)engine_run(e, ENGINE_NEVER);
    assert_int_equal(t.visits, 1); /* the earliest wake-up replaced the others */
    struct stats sum;
    stats_sum(&stats, STATS_EVERYWHERE, &sum);
    assert_int_equal(sum.engine.events_visited, 1);
    assert_int_equal(sum.engine.cycles_stepped, 1); /* idle cycles are not stepped */
    stats_check_laws(&stats, 0);
    engine_free(e);
    stats_free(&stats);
}

static void the_earliest_wake_up_wins_and_idle_cycles_cost_nothing(void **state)
{
    (void)state;
    in_run(wake_body, NULL);
}

/* ---- queues ---- */

static void queue_body(void *arg)
{
    (void)arg;
    struct arena a;
    arena_init(&a);
    struct engine *e = engine_create(1000, NULL);
    (void)engine_add_domain(e, "c", 1000);
    struct queue q;
    queue_init(&q, e, &a, 2, 3, 4, ENGINE_NO_COMPONENT, ENGINE_NO_COMPONENT);
    assert_true(queue_try_push(&q, 10, 'a'));
    assert_true(queue_try_push(&q, 10, 'b'));
    assert_false(queue_try_push(&q, 10, 'c')); /* no credit */
    assert_null(queue_front(&q, 12));          /* not visible at t-1 */
    assert_int_equal(*queue_front(&q, 13), 'a');
    assert_int_equal(queue_pop(&q, 13), 'a');
    assert_false(queue_has_credit(&q, 16)); /* credit not back at t-1 */
    assert_true(queue_has_credit(&q, 17));
    assert_true(queue_try_push(&q, 17, 'c'));
    assert_int_equal(queue_pop(&q, 20), 'b');
    assert_int_equal(queue_pop(&q, 20), 'c');
    engine_free(e);
    arena_free(&a);
}

static void a_push_shows_after_the_latency_and_a_credit_returns_after_its_delay(void **state)
{
    (void)state;
    in_run(queue_body, NULL);
}

/* A ring of stations that pass tokens on through small queues and answer with messages. */
enum { STATIONS = 24 };
struct station {
    struct engine *engine;
    struct queue *in, *out;
    struct rng rng;
    uint32_t id;
    uint32_t friend_id;
    uint64_t held, digest;
    bool holds;
};

static void station_wake(void *self, uint64_t now)
{
    struct station *s = self;
    if (s->holds) {
        if (!queue_try_push(s->out, now, s->held)) return;
        s->holds = false;
    }
    const uint64_t *item = queue_front(s->in, now);
    if (!item) return;
    s->digest = hash_u64(s->digest ^ *item ^ now);
    s->held = queue_pop(s->in, now) - 1;
    if (s->held == 0) {
        engine_work_ends(s->engine);
        if (queue_front(s->in, now)) engine_wake(s->engine, s->id, now + 1);
        return;
    }
    s->holds = true;
    if (rng_below(&s->rng, 4) == 0) engine_send(s->engine, s->friend_id, 1 + rng_below(&s->rng, 40), s->held);
    engine_wake(s->engine, s->id, now + 1 + rng_below(&s->rng, 3));
}

static void station_receive(void *self, uint64_t now, uint64_t message)
{
    struct station *s = self;
    s->digest = hash_u64(s->digest * 3 + message + now);
}

static struct wait station_waits(void *self)
{
    const struct station *s = self;
    struct wait w = {.on = ENGINE_NO_COMPONENT};
    if (s->holds) w = (struct wait){.reason = WAIT_QUEUE_FULL, .on = s->out->consumer};
    (void)snprintf(w.detail, sizeof w.detail, "token with %d hops left", (int)s->held);
    return w;
}

struct ring_run {
    bool shuffled;
    uint32_t tokens;
    uint64_t digest, cycles;
    struct stats sum;
};

static void ring_body(void *arg)
{
    struct ring_run *run = arg;
    static const char *const names[4] = {"station0", "station1", "station2", "station3"};
    struct arena a;
    struct stats_registry stats;
    arena_init(&a);
    stats_init(&stats, 100);
    struct engine *e = engine_create(1000, &stats);
    (void)engine_add_domain(e, "c", 1000);
    engine_set_watchdog(e, 100000);
    if (run->shuffled) engine_shuffle_visits(e, rng_seed(9, 9));
    struct station *s = ARENA_ARRAY(&a, struct station, STATIONS);
    struct queue *q = ARENA_ARRAY(&a, struct queue, STATIONS);
    for (uint32_t i = 0; i < STATIONS; i++) {
        s[i] = (struct station){.engine = e, .rng = rng_seed(7, i), .friend_id = (i * 7 + 3) % 5};
        s[i].in = &q[i];
        s[i].out = &q[(i + 1) % STATIONS];
        s[i].id = engine_add(e, (struct component_spec){.name = names[i % 4],
                                                        .self = &s[i],
                                                        .wake = station_wake,
                                                        .receive = station_receive,
                                                        .waits = station_waits});
    }
    for (uint32_t i = 0; i < STATIONS; i++)
        queue_init(&q[i], e, &a, 1 + i % 3, 1 + i % 2, 1, (i + STATIONS - 1) % STATIONS, i);
    for (uint32_t i = 0; i < run->tokens; i++) {
        engine_work_begins(e);
        s[i * STATIONS / run->tokens].held = 1500 + i;
        s[i * STATIONS / run->tokens].holds = true;
        engine_wake(e, i * STATIONS / run->tokens, 1);
    }
    (void)engine_run(e, ENGINE_NEVER);
    for (uint32_t i = 0; i < STATIONS; i++) run->digest = hash_u64(run->digest ^ s[i].digest);
    run->cycles = engine_now(e, 0);
    stats_check_laws(&stats, run->cycles);
    stats_sum(&stats, STATS_EVERYWHERE, &run->sum);
    engine_free(e);
    stats_free(&stats);
    arena_free(&a);
}

static void visits_in_random_order_give_the_same_statistics_to_the_bit(void **state)
{
    (void)state;
    struct ring_run fixed = {.tokens = 16}, shuffled = {.tokens = 16, .shuffled = true};
    in_run(ring_body, &fixed);
    in_run(ring_body, &shuffled);
    assert_true(fixed.sum.engine.events_visited > 20000);
    assert_int_equal(fixed.digest, shuffled.digest);
    assert_int_equal(fixed.cycles, shuffled.cycles);
    assert_memory_equal(&fixed.sum, &shuffled.sum, sizeof fixed.sum);
}

/* Several senders, one receiver, the same cycle: arrival follows the order of registration. */
enum { SENDERS = 40 };
struct sender {
    struct engine *engine;
    uint32_t id, sink;
};
struct listener {
    uint64_t digest, last_cyc, last_sender;
    bool in_order;
};

static void sender_wake(void *self, uint64_t now)
{
    struct sender *s = self;
    engine_send(s->engine, s->sink, 7, s->id);
    if (now < 50) engine_wake(s->engine, s->id, now + 1 + (s->id + now) % 2);
}

static void listener_receive(void *self, uint64_t now, uint64_t message)
{
    struct listener *l = self;
    if (now == l->last_cyc && message < l->last_sender) l->in_order = false;
    l->last_cyc = now;
    l->last_sender = message;
    l->digest = hash_u64(l->digest ^ message);
}

static void many_to_one_body(void *arg)
{
    struct listener *l = arg;
    struct engine *e = engine_create(1000, NULL);
    struct sender senders[SENDERS];
    (void)engine_add_domain(e, "c", 1000);
    if (l->digest) engine_shuffle_visits(e, rng_seed(l->digest, 0)); /* its first value is the seed */
    *l = (struct listener){.in_order = true};
    for (uint32_t i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){.engine = e, .sink = SENDERS};
        senders[i].id =
            engine_add(e, (struct component_spec){.name = "s", .self = &senders[i], .wake = sender_wake});
    }
    (void)engine_add(
        e, (struct component_spec){.name = "l", .self = l, .wake = sink_wake, .receive = listener_receive});
    for (uint32_t i = SENDERS; i-- > 0;) engine_wake(e, i, 1);
    (void)engine_run(e, ENGINE_NEVER);
    engine_free(e);
}

static void messages_of_one_cycle_arrive_in_the_order_of_registration(void **state)
{
    (void)state;
    struct listener fixed = {0}, one = {.digest = 1}, two = {.digest = 2};
    in_run(many_to_one_body, &fixed);
    in_run(many_to_one_body, &one);
    in_run(many_to_one_body, &two);
    assert_true(fixed.in_order);
    assert_int_equal(fixed.digest, one.digest);
    assert_int_equal(fixed.digest, two.digest);
}

/* ---- series, laws over a reset ---- */

static void series_body(void *arg)
{
    (void)arg;
    static const uint64_t times[] = {500, 5500, 5600, 7999}, right[] = {1, 0, 0, 0, 0, 2, 0, 1};
    struct stats_registry stats;
    struct sink *s = calloc(1, sizeof *s);
    stats_init(&stats, 1000);
    struct engine *e = engine_create(1000, &stats);
    const uint32_t id = engine_add(e, (struct component_spec){.name = "sink",
                                                              .self = s,
                                                              .domain = engine_add_domain(e, "c", 1000),
                                                              .wake = sink_wake,
                                                              .receive = sink_receive});
    for (uint64_t i = 0; i < 4; i++) {
        s->due[i] = times[i];
        engine_send(e, id, times[i], i);
    }
    (void)engine_run(e, ENGINE_NEVER);
    assert_int_equal(stats.series_points, 8);
    assert_memory_equal(stats.series_values, right, sizeof right);
    s->due[5] = 9000;
    engine_send(e, id, 9000 - engine_now(e, 0), 5);
    stats_reset(&stats); /* with one event under way */
    (void)engine_run(e, 8500);
    stats_check_laws(&stats, 8500);
    (void)engine_run(e, ENGINE_NEVER);
    stats_check_laws(&stats, 9000);
    free(s);
    engine_free(e);
    stats_free(&stats);
}

static void growth_falls_into_its_interval_and_laws_survive_a_reset(void **state)
{
    (void)state;
    in_run(series_body, NULL);
}

/* ---- watchdog ---- */

static struct wait on_next(void *self)
{
    const struct ticker *t = self;
    struct wait w = {.reason = WAIT_CREDIT, .on = (t->id + 1) % 3};
    (void)snprintf(w.detail, sizeof w.detail, "output %u", t->id);
    return w;
}

/* Three components of which one retries for ever and moves nothing. */
static void retry_for_ever(struct engine *e)
{
    static const char *const names[3] = {"crossbar", "slice", "channel"};
    static struct ticker t[3]; /* tests only */
    const uint32_t domain = engine_add_domain(e, "c", 1000);
    for (uint32_t i = 0; i < 3; i++) {
        t[i] = (struct ticker){.engine = e, .stop_cyc = 1000000000};
        t[i].id = engine_add(
            e, (struct component_spec){
                   .name = names[i], .self = &t[i], .domain = domain, .wake = ticker_wake, .waits = on_next});
    }
    engine_set_watchdog(e, 5000);
    engine_work_begins(e);
    engine_wake(e, 0, 1);
}

static void stuck_body(void *arg)
{
    retry_for_ever(arg);
    (void)engine_run(arg, ENGINE_NEVER);
}

static void stuck_in_pieces_body(void *arg)
{
    retry_for_ever(arg);
    for (uint64_t cyc = 100; cyc < 100000; cyc += 100) (void)engine_run(arg, cyc);
}

static void a_stuck_machine_is_reported_as_a_chain(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    struct engine *e = engine_create(1000, NULL);
    assert_int_equal(diag_run(&d, stuck_body, e), DIAG_BUG);
    assert_non_null(strstr(d.text, "nothing moved for "));
    assert_non_null(
        strstr(d.text, "crossbar waits for a credit (output 0) on slice\n    -> slice waits for a credit"));
    assert_non_null(strstr(d.text, "-> crossbar: the circle closes here"));
    diag_clear(&d);
    engine_free(e);
}

static void pieces_of_a_run_do_not_hide_that_it_is_stuck(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    struct engine *e = engine_create(1000, NULL);
    assert_int_equal(diag_run(&d, stuck_in_pieces_body, e), DIAG_BUG);
    assert_non_null(strstr(d.text, "nothing moved for "));
    assert_in_range(engine_now(e, 0), 5000, 8000);
    diag_clear(&d);
    engine_free(e);
}

static bool not_yet(void *asked, bool due)
{
    assert_true(due);
    return ++*(uint32_t *)asked == 4;
}

/* Who waits for a cycle that is known is asked again, after as long. */
static void a_machine_that_goes_on_is_not_stuck(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    struct engine *e = engine_create(1000, NULL);
    uint32_t asked = 0;
    engine_set_stuck(e, not_yet, &asked);
    assert_int_equal(diag_run(&d, stuck_body, e), DIAG_BUG);
    assert_int_equal(asked, 4);
    assert_in_range(engine_now(e, 0), 4 * 5000, 4 * 8000);
    diag_clear(&d);
    engine_free(e);
}

/* Its limit is counted in cycles of the slowest clock: a slow network is not stuck. */
static void a_slow_clock_has_its_time(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    struct engine *e = engine_create(1000, NULL);
    (void)engine_add_domain(e, "slow", 10);
    assert_int_equal(diag_run(&d, stuck_body, e), DIAG_BUG);
    assert_in_range(engine_tick(e), 500000, 800000);
    diag_clear(&d);
    engine_free(e);
}

static void idle_body(void *arg)
{
    struct engine *e = arg;
    (void)engine_add_domain(e, "c", 1000);
    engine_work_begins(e);
    (void)engine_run(e, ENGINE_NEVER);
}

static void work_without_events_is_reported_at_once(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    struct engine *e = engine_create(1000, NULL);
    assert_int_equal(diag_run(&d, idle_body, e), DIAG_BUG);
    assert_non_null(strstr(d.text, "nothing is due although work is outstanding"));
    diag_clear(&d);
    engine_free(e);
}

/* Who waits for somebody outside goes on at the limit, with nothing due and work left. */
static void an_awaited_engine_idles_up_to_its_limit(void **state)
{
    (void)state;
    struct engine *e = engine_create(1000, NULL);
    (void)engine_add_domain(e, "c", 1000);
    engine_work_begins(e);
    engine_set_awaited(e, true);
    assert_int_equal(engine_run(e, 100), ENGINE_LIMIT);
    assert_int_equal(engine_now(e, 0), 100);
    engine_set_awaited(e, false);
    engine_work_ends(e);
    assert_int_equal(engine_run(e, 200), ENGINE_IDLE);
    engine_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_meet_again_exactly_after_a_microsecond),
        cmocka_unit_test(every_message_arrives_exactly_when_due_at_any_distance),
        cmocka_unit_test(the_earliest_wake_up_wins_and_idle_cycles_cost_nothing),
        cmocka_unit_test(a_push_shows_after_the_latency_and_a_credit_returns_after_its_delay),
        cmocka_unit_test(visits_in_random_order_give_the_same_statistics_to_the_bit),
        cmocka_unit_test(messages_of_one_cycle_arrive_in_the_order_of_registration),
        cmocka_unit_test(growth_falls_into_its_interval_and_laws_survive_a_reset),
        cmocka_unit_test(a_stuck_machine_is_reported_as_a_chain),
        cmocka_unit_test(pieces_of_a_run_do_not_hide_that_it_is_stuck),
        cmocka_unit_test(a_machine_that_goes_on_is_not_stuck),
        cmocka_unit_test(a_slow_clock_has_its_time),
        cmocka_unit_test(work_without_events_is_reported_at_once),
        cmocka_unit_test(an_awaited_engine_idles_up_to_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
