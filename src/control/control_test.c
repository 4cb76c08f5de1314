/* Control: transitions of kernel boundaries, queue of passes, holds of SMs, and epoch clients, on a
 * machine of four SMs, slices and channels. */
#include "control/control.h"
#include "llc/llc.h"
#include "system_testbed.h"

enum { PARTS = 4, RUN_CYC = 100000 };
#define FOUR \
    "chiplet.partitions=4;gpu.llc_size=64 KiB;gpu.memory_size=256 MiB;net.topology=crossbar;" \
    "llc.boundary=flush;"

struct end {
    struct bed bed;
    struct control *control;
    struct boundary kernels[3];
};

static void open_end(struct end *e, const char *settings)
{
    bed_open(&e->bed, settings);
    e->control = &e->bed.system->control;
    for (uint32_t n = 0; n < 3; n++) boundary_init(&e->kernels[n], e->control);
}

/* Runs the engine like kernel.c until no event is pending or another quiesce is granted. */
static void run(const struct end *e)
{
    quiesce_step(e->control);
    const struct quiesce *const active = e->control->active;
    while (engine_run(e->bed.system->engine, system_now(e->bed.system) + RUN_CYC) == ENGINE_STOPPED &&
           active && e->control->active == active) {
    }
}

static void expect_states(const struct end *e, enum boundary_state first, enum boundary_state second,
                          enum boundary_state third)
{
    const enum boundary_state expected[] = {first, second, third};
    for (uint32_t n = 0; n < 3; n++) assert_int_equal(e->kernels[n].state, expected[n]);
}

static uint32_t sms_held(const struct end *e)
{
    uint32_t held = 0;
    for (uint32_t k = 0; k < e->bed.system->sm_count; k++) held += e->bed.system->sms[k]->hold != SM_SENDS;
    return held;
}

/* ---- boundaries ---- */

BED_TEST(a_kernel_alone_flushes_at_once)
{
    struct end e;
    open_end(&e, FOUR);
    boundary_enter(&e.kernels[0], 0);
    assert_int_equal(e.kernels[0].state, BOUNDARY_RUNS);
    boundary_kernel_ended(&e.kernels[0]);
    assert_int_equal(e.kernels[0].state, BOUNDARY_FLUSHES);
    assert_true(quiesce_busy(e.control));
    boundary_kernel_ended(&e.kernels[0]); /* a second report has no effect */
    assert_int_equal(e.kernels[0].state, BOUNDARY_FLUSHES);
    run(&e);
    assert_true(boundary_is_over(&e.kernels[0]));
    assert_int_equal(sms_held(&e), 0);
    assert_false(quiesce_busy(e.control));
    boundary_enter(&e.kernels[1], 0);
    for (int k = 0; k < 2; k++) boundary_leave(&e.kernels[0]); /* the second call has no effect */
    assert_int_equal(e.control->boundary_count, 1);
    assert_ptr_equal(e.control->boundaries[0], &e.kernels[1]);
    bed_close(&e.bed);
}

BED_TEST(a_kernel_whose_lines_stay_is_over_at_once)
{
    struct end e;
    open_end(&e, FOUR "llc.boundary=keep");
    boundary_enter(&e.kernels[0], 0);
    boundary_kernel_ended(&e.kernels[0]);
    assert_true(boundary_is_over(&e.kernels[0]));
    assert_true(e.bed.system->organisations->memory_stale);
    bed_close(&e.bed);
}

/* Both kernels end in one cycle. The first boundary drains the application, because the second kernel
 * counts as running. The second boundary is queued and then shares the pass. */
BED_TEST(two_kernels_of_an_application_that_end_together_share_a_pass)
{
    struct end e;
    open_end(&e, FOUR);
    boundary_enter(&e.kernels[0], 0);
    boundary_enter(&e.kernels[1], 0);
    boundary_kernel_ended(&e.kernels[1]);
    boundary_kernel_ended(&e.kernels[0]);
    expect_states(&e, BOUNDARY_QUEUED, BOUNDARY_DRAINS, BOUNDARY_RUNS);
    assert_int_equal(sms_held(&e), 0); /* not inside the cycle */
    quiesce_step(e.control);
    expect_states(&e, BOUNDARY_SHARES, BOUNDARY_FLUSHES, BOUNDARY_RUNS);
    assert_int_equal(sms_held(&e), PARTS);
    assert_null(e.control->queue);
    run(&e);
    expect_states(&e, BOUNDARY_OVER, BOUNDARY_OVER, BOUNDARY_RUNS);
    boundary_leave(&e.kernels[0]);
    assert_int_equal(sms_held(&e), PARTS); /* the kernel that flushed holds them until it leaves */
    boundary_leave(&e.kernels[1]);
    assert_int_equal(sms_held(&e), 0);
    bed_close(&e.bed);
}

/* The second kernel ends during the pass of the first. The pass may have missed its stores, so it needs
 * its own pass. */
BED_TEST(a_kernel_that_ends_during_a_pass_waits_for_its_own_pass)
{
    struct end e;
    open_end(&e, FOUR);
    for (uint32_t n = 0; n < 2; n++) boundary_enter(&e.kernels[n], 0);
    boundary_kernel_ended(&e.kernels[0]);
    quiesce_step(e.control);
    boundary_kernel_ended(&e.kernels[1]);
    expect_states(&e, BOUNDARY_FLUSHES, BOUNDARY_QUEUED, BOUNDARY_RUNS);
    run(&e);
    expect_states(&e, BOUNDARY_OVER, BOUNDARY_DRAINS, BOUNDARY_RUNS);
    boundary_leave(&e.kernels[0]);
    assert_int_equal(sms_held(&e), 0);
    run(&e);
    expect_states(&e, BOUNDARY_OVER, BOUNDARY_OVER, BOUNDARY_RUNS);
    bed_close(&e.bed);
}

/* The queue is ordered by the start of the kernels, not by their ends. Boundaries of different applications
 * hold no SM. */
BED_TEST(boundaries_of_applications_queue_in_the_order_of_their_start)
{
    struct end e;
    open_end(&e, FOUR);
    system_split(e.bed.system, 3);
    for (uint32_t n = 0; n < 3; n++) boundary_enter(&e.kernels[n], n);
    boundary_kernel_ended(&e.kernels[0]);
    boundary_kernel_ended(&e.kernels[2]);
    boundary_kernel_ended(&e.kernels[1]);
    expect_states(&e, BOUNDARY_FLUSHES, BOUNDARY_QUEUED, BOUNDARY_QUEUED);
    run(&e);
    expect_states(&e, BOUNDARY_OVER, BOUNDARY_FLUSHES, BOUNDARY_QUEUED);
    boundary_leave(&e.kernels[0]);
    run(&e);
    expect_states(&e, BOUNDARY_OVER, BOUNDARY_OVER, BOUNDARY_FLUSHES);
    run(&e);
    expect_states(&e, BOUNDARY_OVER, BOUNDARY_OVER, BOUNDARY_OVER);
    assert_int_equal(sms_held(&e), 0);
    bed_close(&e.bed);
}

BED_TEST(a_boundary_waits_while_the_organisation_changes)
{
    struct end e;
    struct quiesce q = {.polled = true, .app = QUIESCE_ALL, .pass = llc_boundary_flush};
    open_end(&e, FOUR);
    quiesce_init(&q, e.control);
    boundary_enter(&e.kernels[0], 0);
    quiesce_begin(&q);
    assert_true(quiesce_stops(e.control, 0));
    boundary_kernel_ended(&e.kernels[0]);
    boundary_resume(e.control);
    assert_int_equal(e.kernels[0].state, BOUNDARY_WAITS_FOR_ORGANISATION);
    quiesce_poll(&q); /* drained */
    quiesce_poll(&q);
    assert_int_equal(q.state, QUIESCE_PASS);
    run(&e);
    quiesce_poll(&q);
    assert_int_equal(q.state, QUIESCE_DONE);
    boundary_resume(e.control);
    assert_int_equal(e.kernels[0].state, BOUNDARY_WAITS_FOR_ORGANISATION);
    quiesce_end(&q);
    boundary_resume(e.control);
    assert_int_equal(e.kernels[0].state, BOUNDARY_FLUSHES);
    run(&e);
    assert_true(boundary_is_over(&e.kernels[0]));
    bed_close(&e.bed);
}

/* ---- quiesce ---- */

/* The pass of a policy waits for the boundaries before it, and is granted by a poll only. */
BED_TEST(a_polled_pass_waits_for_the_pass_of_a_boundary)
{
    struct end e;
    struct quiesce q = {
        .polled = true, .app = QUIESCE_NONE, .pass = llc_boundary_clean, .rank = QUIESCE_RANK_LAST};
    open_end(&e, FOUR);
    system_split(e.bed.system, 2);
    quiesce_init(&q, e.control);
    for (uint32_t n = 0; n < 2; n++) boundary_enter(&e.kernels[n], n);
    boundary_kernel_ended(&e.kernels[0]);
    quiesce_begin(&q);
    boundary_kernel_ended(&e.kernels[1]); /* arrives later with a lower rank */
    quiesce_poll(&q);
    assert_int_equal(q.state, QUIESCE_QUEUED);
    assert_false(quiesce_stops(e.control, QUIESCE_ALL));
    run(&e);
    assert_int_equal(e.kernels[1].state, BOUNDARY_FLUSHES);
    run(&e);
    assert_true(boundary_is_over(&e.kernels[1]));
    assert_int_equal(q.state, QUIESCE_QUEUED);
    quiesce_poll(&q);
    assert_int_equal(q.state, QUIESCE_PASS);
    run(&e);
    assert_int_equal(q.state, QUIESCE_PASS); /* complete, not polled yet */
    quiesce_poll(&q);
    assert_int_equal(q.state, QUIESCE_DONE);
    quiesce_end(&q);
    assert_int_equal(q.state, QUIESCE_IDLE);
    bed_close(&e.bed);
}

BED_TEST(a_pass_covers_the_slices_of_its_mask)
{
    struct end e;
    const uint64_t slices = 5; /* 0 and 2 */
    struct quiesce q = {.app = QUIESCE_NONE, .pass = llc_boundary_flush, .slices = &slices};
    static const struct bed_op stores[] = {BED_STORE(0x1000, BED_NO_REG, .by_block = 4096), BED_END};
    open_end(&e, FOUR);
    quiesce_init(&q, e.control);
    bed_run(&e.bed, stores, 1, 64);
    bed_settle(&e.bed);
    uint32_t used[PARTS];
    for (uint32_t k = 0; k < PARTS; k++)
        assert_true((used[k] = slice_lines_used(e.bed.system->slices[k])) > 0);
    quiesce_begin(&q);
    assert_int_equal(q.slices_left, 2);
    run(&e);
    assert_int_equal(q.state, QUIESCE_DONE);
    for (uint32_t k = 0; k < PARTS; k++) {
        assert_int_equal(slice_lines_used(e.bed.system->slices[k]), k % 2 ? used[k] : 0);
        assert_true((slice_stats(e.bed.system->slices[k])->flush_writebacks > 0) == (k % 2 == 0));
    }
    quiesce_end(&q);
    bed_close(&e.bed);
}

BED_TEST(a_pass_over_nothing_is_done_at_once)
{
    struct end e;
    const uint64_t none = 0;
    struct quiesce keeps = {.app = QUIESCE_NONE, .pass = llc_boundary_keep},
                   empty = {.app = QUIESCE_NONE, .pass = llc_boundary_flush, .slices = &none};
    open_end(&e, FOUR);
    quiesce_init(&keeps, e.control);
    quiesce_init(&empty, e.control);
    quiesce_begin(&keeps);
    quiesce_begin(&empty);
    assert_int_equal(keeps.state, QUIESCE_DONE);
    assert_int_equal(empty.state, QUIESCE_DONE);
    assert_false(quiesce_busy(e.control));
    bed_close(&e.bed);
}

/* Loads are in flight when the quiesce begins. The loads complete first, and no SM sends a new request. */
BED_TEST(a_pass_begins_when_the_last_reply_has_arrived)
{
    struct end e;
    struct quiesce q = {.app = QUIESCE_ALL, .pass = llc_boundary_flush};
    static const struct bed_op loads[] = {BED_LOAD(0x1000, 1, .by_block = 4096), BED_USE(1),
                                          BED_LOAD(0x9000, 2, .by_block = 4096), BED_USE(2), BED_END};
    open_end(&e, FOUR);
    quiesce_init(&q, e.control);
    bed_begin(&e.bed, loads, 1, PARTS);
    (void)engine_run(e.bed.system->engine, system_now(e.bed.system) + 60);
    uint64_t waiting = 0;
    for (uint32_t k = 0; k < PARTS; k++) waiting += sm_requests_waiting(e.bed.system->sms[k]);
    assert_true(waiting > 0);
    quiesce_begin(&q);
    assert_int_equal(q.state, QUIESCE_DRAIN);
    while (q.state == QUIESCE_DRAIN) {
        quiesce_step(e.control);
        waiting = 0;
        for (uint32_t k = 0; k < PARTS; k++) waiting += sm_requests_waiting(e.bed.system->sms[k]);
        assert_true((q.state == QUIESCE_PASS) == !waiting);
        if (q.state == QUIESCE_DRAIN)
            (void)engine_run(e.bed.system->engine, system_now(e.bed.system) + RUN_CYC);
    }
    const uint64_t sent = bed_stats(&e.bed).sm.requests_sent;
    while (q.state == QUIESCE_PASS) (void)engine_run(e.bed.system->engine, system_now(e.bed.system) + 1);
    assert_int_equal(bed_stats(&e.bed).sm.requests_sent, sent);
    quiesce_end(&q);
    bed_finish(&e.bed);
    assert_true(bed_stats(&e.bed).sm.requests_sent > sent);
    bed_close(&e.bed);
}

BED_TEST(an_sm_resumes_after_the_last_hold)
{
    struct end e;
    struct quiesce all = {.polled = true, .app = QUIESCE_ALL, .pass = llc_boundary_flush};
    open_end(&e, FOUR);
    system_split(e.bed.system, 2);
    quiesce_init(&all, e.control);
    for (uint32_t n = 0; n < 2; n++) boundary_enter(&e.kernels[n], 1);
    boundary_kernel_ended(&e.kernels[0]);
    quiesce_step(e.control);
    assert_int_equal(e.kernels[0].state, BOUNDARY_FLUSHES);
    assert_int_equal(sms_held(&e), PARTS / 2); /* SMs of application 1 */
    quiesce_begin(&all);
    assert_int_equal(sms_held(&e), PARTS);
    assert_int_equal(e.bed.system->sms[0]->hold, SM_HOLDS);
    assert_int_equal(e.bed.system->sms[PARTS - 1]->hold, SM_HOLDS_STOPS);
    run(&e);
    boundary_leave(&e.kernels[0]);
    assert_int_equal(sms_held(&e), PARTS);
    assert_int_equal(e.bed.system->sms[PARTS - 1]->hold, SM_HOLDS);
    quiesce_end(&all);
    assert_int_equal(sms_held(&e), 0);
    bed_close(&e.bed);
}

/* ---- epochs ---- */

struct clock {
    uint64_t period_cyc, called_cyc[8];
    uint32_t calls, ends, left;
};

static uint64_t clock_due(void *self, uint64_t now)
{
    struct clock *k = self;
    k->called_cyc[k->calls++] = now;
    return now + k->period_cyc;
}

static uint64_t clock_begins(void *self, uint64_t now, const struct launch_facts *l, uint32_t others)
{
    const struct clock *k = self;
    assert_int_equal(l->key, others);
    return now + k->period_cyc;
}

static void clock_ends(void *self, uint64_t now)
{
    (void)now;
    ((struct clock *)self)->ends++;
}

static uint64_t clock_leaves(void *self, uint64_t now, const struct launch_facts *oldest)
{
    struct clock *k = self;
    k->left++;
    return oldest ? now + 1 : EPOCH_NEVER;
}

BED_TEST(every_epoch_client_is_called_at_its_own_cycles)
{
    struct epochs e = {0};
    struct clock quick = {.period_cyc = 10}, slow = {.period_cyc = 25};
    const struct launch_facts first = {.key = 0}, second = {.key = 1};
    epochs_add(&e, &(struct epoch_client){.self = &quick, .due = clock_due, .kernel_begins = clock_begins});
    epochs_add(&e, &(struct epoch_client){.self = &slow,
                                          .due = clock_due,
                                          .kernel_begins = clock_begins,
                                          .kernel_ends = clock_ends,
                                          .kernel_leaves = clock_leaves});
    assert_true(epochs_due(&e) == EPOCH_NEVER);
    epochs_kernel_begins(&e, 100, &first);
    for (uint64_t expected = 110; expected <= 120; expected += 10) {
        assert_int_equal(epochs_due(&e), expected);
        epochs_run(&e, expected);
    }
    assert_int_equal(epochs_due(&e), 125);
    epochs_run(&e, 125);
    assert_int_equal(quick.calls, 2);
    assert_int_equal(slow.calls, 1);
    assert_int_equal(slow.called_cyc[0], 125);
    epochs_kernel_begins(&e, 126, &second);
    epochs_kernel_ends(&e, 127);
    epochs_kernel_leaves(&e, 128, &second);
    assert_int_equal(slow.ends, 1);
    assert_int_equal(epochs_due(&e), 129);
    epochs_kernel_leaves(&e, 130, NULL);
    assert_int_equal(slow.left, 2);
    assert_true(epochs_due(&e) == EPOCH_NEVER); /* no kernel runs */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_alone_flushes_at_once),
        cmocka_unit_test(a_kernel_whose_lines_stay_is_over_at_once),
        cmocka_unit_test(two_kernels_of_an_application_that_end_together_share_a_pass),
        cmocka_unit_test(a_kernel_that_ends_during_a_pass_waits_for_its_own_pass),
        cmocka_unit_test(boundaries_of_applications_queue_in_the_order_of_their_start),
        cmocka_unit_test(a_boundary_waits_while_the_organisation_changes),
        cmocka_unit_test(a_polled_pass_waits_for_the_pass_of_a_boundary),
        cmocka_unit_test(a_pass_covers_the_slices_of_its_mask),
        cmocka_unit_test(a_pass_over_nothing_is_done_at_once),
        cmocka_unit_test(a_pass_begins_when_the_last_reply_has_arrived),
        cmocka_unit_test(an_sm_resumes_after_the_last_hold),
        cmocka_unit_test(every_epoch_client_is_called_at_its_own_cycles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
