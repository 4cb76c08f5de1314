/* Launches side by side: kernels that wait for each other, time shared and not shared, order, records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <atoll.h>

/* meet: says that it is here and waits for the other. spin: some arithmetic, then a store. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry meet(.param .u64 x, .param .u32 me, .param .u32 other)\n{\n"
    ".reg .b32 %r<6>;\n.reg .b64 %rd<6>;\n.reg .pred %p1;\n"
    "ld.param.u64 %rd1, [x];\nld.param.u32 %r1, [me];\nld.param.u32 %r2, [other];\n"
    "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd1, %rd2;\n"
    "mul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd3, %rd1, %rd3;\n"
    "st.volatile.global.u32 [%rd2], 1;\n"
    "again:\nld.volatile.global.u32 %r3, [%rd3];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra again;\nret;\n}\n"
    ".visible .entry spin(.param .u64 x, .param .u32 rounds)\n{\n"
    ".reg .b32 %r<6>;\n.reg .b64 %rd<6>;\n.reg .pred %p1;\n"
    "ld.param.u64 %rd1, [x];\nld.param.u32 %r1, [rounds];\nmov.u32 %r2, %tid.x;\n"
    "again:\nmad.lo.u32 %r2, %r2, 3, 1;\nsub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra again;\n"
    "mov.u32 %r3, %ctaid.x;\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
    "st.global.u32 [%rd1], %r2;\nret;\n}\n"
    /* leave: odd blocks end before what they load has come, even ones go on for a while */
    ".visible .entry leave(.param .u64 x, .param .u32 rounds)\n{\n"
    ".reg .b32 %r<6>;\n.reg .b64 %rd<6>;\n.reg .pred %p<3>;\n"
    "ld.param.u64 %rd1, [x];\nld.param.u32 %r1, [rounds];\nmov.u32 %r2, %ctaid.x;\n"
    "mul.wide.u32 %rd2, %r2, 512;\nadd.u64 %rd1, %rd1, %rd2;\n"
    "and.b32 %r3, %r2, 1;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra again;\n"
    "ld.global.u32 %r4, [%rd1];\nret;\n"
    "again:\nmad.lo.u32 %r2, %r2, 3, 1;\nsub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra "
    "again;\nret;\n}\n";

struct bed {
    atoll_sim *sim;
    atoll_device *device;
    atoll_program *program;
    atoll_kernel *meet, *spin;
    uint32_t *x;
};

static void open_bed_on(struct bed *b, const char *machine, const struct atoll_device_options *options,
                        const char *setting)
{
    assert_int_equal(atoll_create(&b->sim), ATOLL_OK);
    assert_int_equal(atoll_machine(b->sim, machine), ATOLL_OK);
    if (setting) assert_int_equal(atoll_set(b->sim, setting), ATOLL_OK);
    assert_int_equal(atoll_device_open(b->sim, options, &b->device), ATOLL_OK);
    assert_int_equal(atoll_program_new(b->device, &b->program), ATOLL_OK);
    assert_int_equal(atoll_program_add(b->program, "k.ptx", ptx, strlen(ptx)), ATOLL_OK);
    assert_int_equal(atoll_kernel_find(b->program, "meet", &b->meet), ATOLL_OK);
    assert_int_equal(atoll_kernel_find(b->program, "spin", &b->spin), ATOLL_OK);
    assert_int_equal(atoll_alloc(b->device, 1 << 16, "x", (void **)&b->x), ATOLL_OK);
}

static void open_bed(struct bed *b, const struct atoll_device_options *options, const char *setting)
{
    open_bed_on(b, "uba-mem", options, setting);
}

static void close_bed(struct bed *b)
{
    atoll_device_close(b->device);
    atoll_destroy(b->sim);
}

static atoll_flight *start(struct bed *b, const struct atoll_launch *launch)
{
    struct atoll_launched done;
    atoll_flight *f;
    assert_int_equal(atoll_flight_new(b->device, launch, &done, &f), ATOLL_OK);
    assert_true(atoll_flight_can_start(f));
    assert_int_equal(atoll_flight_start(f), ATOLL_OK);
    return f;
}

static atoll_flight *start_meet(struct bed *b, uint32_t me, uint32_t other, bool functional)
{
    const void *args[] = {&b->x, &me, &other};
    return start(b, &(struct atoll_launch){.kernel = b->meet,
                                           .grid = {1, 1, 1},
                                           .block = {1, 1, 1},
                                           .functional = functional,
                                           .args = args});
}

static atoll_flight *start_spin(struct bed *b, uint32_t at, uint32_t blocks, uint32_t rounds, int priority)
{
    const uint32_t *to = b->x + at;
    const void *args[] = {&to, &rounds};
    return start(b, &(struct atoll_launch){.kernel = b->spin,
                                           .grid = {blocks, 1, 1},
                                           .block = {256, 1, 1},
                                           .priority = priority,
                                           .args = args});
}

/* The next one that ends, freed; its cycles. */
static const atoll_flight *next_end(struct bed *b, double *at, struct atoll_launched *done)
{
    atoll_flight *ended = NULL;
    while (!ended) {
        double passed;
        assert_int_equal(atoll_device_advance(b->device, 1e-5, &passed, &ended, done), ATOLL_OK);
        *at += passed;
    }
    atoll_flight_free(ended);
    return ended;
}

static void kernels_that_wait_for_each_other_end(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) { /* timed; without time; one of each; under --check */
        struct bed b;
        struct atoll_outcome out;
        struct atoll_launched done;
        double at = 0;
        open_bed(&b, &(struct atoll_device_options){.functional = way == 1, .check = way == 3}, NULL);
        (void)start_meet(&b, 0, 1, false);
        (void)start_meet(&b, 1, 0, way == 2);
        (void)next_end(&b, &at, &done);
        (void)next_end(&b, &at, &done);
        assert_int_equal(b.x[0] + b.x[1], 2);
        assert_int_equal(atoll_device_finish(b.device, &out), ATOLL_OK);
        atoll_outcome_free(&out);
        close_bed(&b);
    }
}

/* One block each: the SMs have room for both. */
static void kernels_side_by_side_take_the_time_of_one(void **state)
{
    (void)state;
    struct bed b;
    struct atoll_launched done;
    struct atoll_outcome out;
    double alone = 0, both = 0;
    open_bed(&b, &(struct atoll_device_options){.check = true}, NULL);
    (void)start_spin(&b, 0, 1, 2000, 0);
    (void)next_end(&b, &alone, &done);
    const uint64_t cycles = done.cycles, instructions = done.warp_instructions;
    assert_true(cycles > 2000);
    (void)start_spin(&b, 0, 1, 2000, 0);
    (void)start_spin(&b, 64, 1, 2000, 0);
    (void)next_end(&b, &both, &done);
    assert_int_equal(done.warp_instructions, instructions);
    (void)next_end(&b, &both, &done);
    assert_int_equal(done.warp_instructions, instructions); /* its own, not what the other did meanwhile */
    assert_true(both < 1.1 * alone);
    assert_int_equal(atoll_device_finish(b.device, &out), ATOLL_OK);
    assert_true(out.cycles < cycles * 22 / 10);
    assert_int_equal(b.x[0], b.x[64]);
    assert_non_null(strstr(out.json, "\"shared\": true"));
    atoll_outcome_free(&out);
    close_bed(&b);
}

/* Three times what the SMs hold, then a small one that finds no room before the end of a wave. */
static void a_priority_decides_who_gets_room_first(void **state)
{
    (void)state;
    for (int priority = 0; priority < 2; priority++) {
        struct bed b;
        struct atoll_launched done;
        double at = 0;
        open_bed(&b, &(struct atoll_device_options){0}, NULL);
        const atoll_flight *large = start_spin(&b, 0, 64 * 6 * 3, 200, 0);
        const atoll_flight *small = start_spin(&b, 4096, 64, 200, priority);
        assert_ptr_equal(next_end(&b, &at, &done), priority ? small : large);
        (void)next_end(&b, &at, &done);
        close_bed(&b);
    }
}

/* Caches that are emptied at the end of a kernel hold its neighbours up for that, no longer: one that waits
 * for the next kernel sees it, and what runs beside others is as quick as the longest. */
static void kernels_overlap_where_the_end_of_one_empties_the_caches(void **state)
{
    (void)state;
    static const char *const machines[] = {"nuba",     "selrep", "selrep-private", "selrep-adaptive",
                                           "numa-gpu", "ladm-rr"};
    for (size_t k = 0; k < sizeof machines / sizeof *machines; k++) {
        struct bed b;
        struct atoll_outcome out;
        struct atoll_launched done;
        double at = 0, alone = 0;
        open_bed_on(&b, machines[k], &(struct atoll_device_options){.check = true}, NULL);
        (void)start_spin(&b, 0, 8, 1000, 0);
        (void)next_end(&b, &alone, &done);
        const atoll_flight *waits = start_meet(&b, 4096, 4097, false);
        for (uint32_t n = 0; n < 6; n++) (void)start_spin(&b, 64 * n, 8, 1000, 0);
        for (uint32_t n = 0; n < 6; n++) assert_ptr_not_equal(next_end(&b, &at, &done), waits);
        assert_true(at < 3 * alone);
        (void)start_meet(&b, 4097, 4096, false);
        (void)next_end(&b, &at, &done);
        (void)next_end(&b, &at, &done);
        assert_int_equal(b.x[4096] + b.x[4097], 2);
        assert_int_equal(atoll_device_finish(b.device, &out), ATOLL_OK);
        atoll_outcome_free(&out);
        close_bed(&b);
    }
}

/* A block that ends when a load comes back whose value nobody wants, while its SM works ahead on another. */
static void blocks_may_end_before_their_loads(void **state)
{
    (void)state;
    struct bed b;
    struct atoll_launched done;
    const uint32_t rounds = 500;
    atoll_kernel *leave;
    open_bed(&b, &(struct atoll_device_options){0}, NULL);
    assert_int_equal(atoll_kernel_find(b.program, "leave", &leave), ATOLL_OK);
    const void *args[] = {&b.x, &rounds};
    const struct atoll_launch launch = {
        .kernel = leave, .grid = {128, 1, 1}, .block = {32, 1, 1}, .args = args};
    assert_int_equal(atoll_launch(b.device, &launch, &done), ATOLL_OK);
    close_bed(&b);
}

/* The same twice, and with the visits of every cycle in another order. */
static void what_runs_side_by_side_is_deterministic(void **state)
{
    (void)state;
    uint64_t cycles[3][2];
    for (int run = 0; run < 3; run++) {
        struct bed b;
        struct atoll_launched done;
        double at = 0;
        open_bed(&b, &(struct atoll_device_options){0}, run == 2 ? "sim.visit_order=shuffled" : NULL);
        (void)start_spin(&b, 0, 700, 50, 0);
        (void)start_spin(&b, 4096, 900, 30, 0);
        for (int k = 0; k < 2; k++) {
            (void)next_end(&b, &at, &done);
            cycles[run][k] = done.cycles;
        }
        close_bed(&b);
        assert_memory_equal(cycles[run], cycles[0], sizeof cycles[0]);
    }
}

/* A device that is finished while launches run stops them there. */
static void an_end_in_the_middle_is_said(void **state)
{
    (void)state;
    for (int functional = 0; functional < 2; functional++) {
        struct bed b;
        struct atoll_launched done;
        struct atoll_outcome out;
        double passed;
        atoll_flight *ended;
        open_bed(&b, &(struct atoll_device_options){.functional = functional}, NULL);
        atoll_flight *one = start_meet(&b, 0, 1, false), *two = start_meet(&b, 2, 3, false);
        assert_int_equal(atoll_device_advance(b.device, 1e-6, &passed, &ended, &done), ATOLL_OK);
        assert_null(ended);
        assert_true(passed >= 1e-6 && passed < 2e-5);
        assert_int_equal(atoll_device_finish(b.device, &out), ATOLL_OK);
        assert_true(out.stopped);
        atoll_outcome_free(&out);
        atoll_flight_free(one);
        atoll_flight_free(two);
        close_bed(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_that_wait_for_each_other_end),
        cmocka_unit_test(kernels_side_by_side_take_the_time_of_one),
        cmocka_unit_test(a_priority_decides_who_gets_room_first),
        cmocka_unit_test(kernels_overlap_where_the_end_of_one_empties_the_caches),
        cmocka_unit_test(blocks_may_end_before_their_loads),
        cmocka_unit_test(what_runs_side_by_side_is_deterministic),
        cmocka_unit_test(an_end_in_the_middle_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
