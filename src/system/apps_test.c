/* Applications (apps.c): blocks run on SMs of their application only, pages lie in the channels of their
 * application, and SMs are handed over while kernels run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/machine.h"
#include "runtime/runtime.h"
#include "system/rules.h"
#include "system/system_private.h"

/* Each thread adds 1 to its own word `count` times, with a load and a store each time. */
static const char code[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry k(.param .u64 a, .param .u32 count)\n{\n"
    ".reg .u64 %x<4>;\n.reg .u32 %r<8>;\n.reg .pred %p;\n"
    "ld.param.u64 %x0, [a];\nld.param.u32 %r0, [count];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
    "mad.lo.u32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %x1, %r4, 4;\nadd.u64 %x2, %x0, %x1;\n"
    "L:\nld.global.u32 %r5, [%x2];\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%x2], %r5;\n"
    "sub.u32 %r0, %r0, 1;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra L;\nret;\n}\n";

enum { SMS = 8, THREADS = 64 };

struct one {
    struct rt_context *rt;
    struct rt_module *module;
    uint32_t *words;
    uint32_t blocks;
    struct exec_launch *launch;
};

struct two {
    struct machine machine;
    struct stats_registry stats;
    struct system *system;
    struct one app[2];
    uint32_t ran[2][SMS]; /* blocks by application and SM */
};

static void block_ended(void *arg, uint32_t sm, uint32_t record, uint64_t block, uint64_t start_cyc,
                        uint64_t end_cyc)
{
    struct two *t = arg;
    (void)block;
    (void)start_cyc;
    (void)end_cyc;
    t->ran[system_kernel_record(t->system, record)->app][sm]++;
}

static void set_up(struct two *t, const char *const *settings)
{
    memset(t, 0, sizeof *t);
    machine_init(&t->machine);
    machine_load(&t->machine, "uba-mem");
    machine_set(&t->machine, "chiplet.partitions=4"); /* 8 SMs, 8 slices, 4 channels */
    machine_set(&t->machine, "gpu.llc_size=768 KiB");
    machine_set(&t->machine, "gpu.memory_size=1 GiB");
    machine_set(&t->machine, "net.topology=crossbar");
    machine_set(&t->machine, "runtime.cta_sched=round_robin");
    for (; *settings; settings++) machine_set(&t->machine, *settings);
    machine_finish(&t->machine, &system_rules);
    stats_init(&t->stats, 1000);
    t->system = system_new(&t->machine.config, &t->stats, true);
    system_listen(t->system, &(struct system_listener){.arg = t, .block = block_ended});
}

static void start(struct two *t, uint32_t app, uint32_t blocks, uint32_t count)
{
    struct one *o = &t->app[app];
    if (!o->rt) {
        o->rt = rt_create(&(struct rt_options){.slot = app});
        o->blocks = blocks;
        o->module = rt_module_load(o->rt, "k.ptx", code, sizeof code - 1);
        o->words = rt_alloc(o->rt, (uint64_t)blocks * THREADS * 4, "words");
    }
    const struct rt_arg args[] = {RT_ARG((uint64_t)(uintptr_t)o->words), RT_ARG(count)};
    rt_launch_args(o->rt, rt_kernel_find(o->module, "k"), (struct rt_dim){blocks, 1, 1},
                   (struct rt_dim){THREADS, 1, 1}, 0, args, 2);
    o->launch = rt_take_next(o->rt);
    rt_ready(o->rt, o->launch);
    system_start_kernel(t->system, app, o->launch, 0);
}

/* Runs all started kernels to their end. */
static void finish(struct two *t)
{
    struct exec_launch *ended;
    while (t->app[0].launch || t->app[1].launch) {
        assert_int_equal(system_advance(t->system, ENGINE_NEVER, &ended), SYSTEM_KERNEL_ENDED);
        const uint32_t app = ended == t->app[1].launch;
        rt_drop(t->app[app].rt, ended);
        t->app[app].launch = NULL;
    }
    system_finish(t->system);
}

static void check_words(const struct two *t, uint32_t app, uint32_t value)
{
    for (uint32_t k = 0; k < t->app[app].blocks * THREADS; k++) assert_int_equal(t->app[app].words[k], value);
}

static void tear_down(struct two *t)
{
    system_free(t->system);
    for (uint32_t app = 0; app < 2; app++)
        if (t->app[app].rt) rt_destroy(t->app[app].rt);
    stats_free(&t->stats);
    machine_free(&t->machine);
}

static uint32_t blocks_on(const struct two *t, uint32_t app, uint32_t first, uint32_t end)
{
    uint32_t sum = 0;
    for (uint32_t sm = first; sm < end; sm++) sum += t->ran[app][sm];
    return sum;
}

static void in_diag(diag_body_fn *body)
{
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, body, NULL) != DIAG_NONE) fail_msg("%s", d.text);
    diag_clear(&d);
}

#define APPS_TEST(name) \
    static void name##_body(void *arg); \
    static void name(void **state) \
    { \
        (void)state; \
        in_diag(name##_body); \
    } \
    static void name##_body(void *arg __attribute__((unused)))

APPS_TEST(each_application_runs_on_its_own_sms_and_in_its_own_channels)
{
    struct two t;
    set_up(&t, (const char *const[]){"apps.sms=6,2", "apps.channels=3,1", NULL});
    system_split(t.system, 2);
    start(&t, 0, 96, 5);
    start(&t, 1, 32, 9);
    finish(&t);
    check_words(&t, 0, 5);
    check_words(&t, 1, 9);
    assert_int_equal(blocks_on(&t, 0, 0, 6), 96);
    assert_int_equal(blocks_on(&t, 1, 6, 8), 32);
    assert_true(channel_stats(t.system->channels[3])->reads > 0);
    const struct system_app a = system_app(t.system, 0), b = system_app(t.system, 1);
    assert_int_equal(a.sms, 6);
    assert_int_equal(b.channels, 1);
    assert_int_equal(a.stats.app.kernels, 1);
    /* slices 6 and 7 belong to channel 3 and served application 1 only */
    uint64_t last = 0;
    for (uint32_t k = 6; k < 8; k++)
        last += slice_stats(t.system->slices[k])->requests - slice_stats(t.system->slices[k])->walks;
    assert_int_equal(last, b.stats.app.llc_requests);
    tear_down(&t);
}

/* Two SMs are handed over while both kernels run. The SMs first finish their resident blocks. */
APPS_TEST(sms_are_handed_over_while_kernels_run)
{
    struct two t;
    struct exec_launch *ended;
    set_up(&t, (const char *const[]){"apps.sms=4,4", "sm.block_slots=2", NULL});
    system_split(t.system, 2);
    start(&t, 0, 64, 20);
    start(&t, 1, 256, 20);
    assert_int_equal(system_advance(t.system, 3000, &ended), SYSTEM_TIME_OVER);
    const uint32_t before = blocks_on(&t, 0, 2, 4);
    assert_int_equal(blocks_on(&t, 1, 2, 4), 0);
    apps_assign_sm(&t.system->apps, 2, 1);
    apps_assign_sm(&t.system->apps, 3, 1);
    finish(&t);
    check_words(&t, 0, 20);
    check_words(&t, 1, 20);
    assert_true(blocks_on(&t, 1, 2, 4) > 10);
    assert_in_range(blocks_on(&t, 0, 2, 4), before, before + 2 * 2); /* what was resident */
    assert_int_equal(system_app(t.system, 1).stats.app.sms_gained, 2);
    assert_int_equal(system_app(t.system, 1).sms, 6);
    struct stats s;
    stats_sum(&t.stats, (struct stats_scope){STATS_ANY, STATS_ANY, STATS_ANY, 1}, &s);
    assert_int_equal(s.app.warp_instructions, system_app(t.system, 1).stats.app.warp_instructions);
    tear_down(&t);
}

/* An SM returns to its old owner before its blocks have ended. */
APPS_TEST(a_cancelled_handover_has_no_effect)
{
    struct two t;
    struct exec_launch *ended;
    set_up(&t, (const char *const[]){"apps.sms=4,4", NULL});
    system_split(t.system, 2);
    start(&t, 0, 64, 20);
    start(&t, 1, 64, 20);
    assert_int_equal(system_advance(t.system, 500, &ended), SYSTEM_TIME_OVER);
    apps_assign_sm(&t.system->apps, 3, 1);
    apps_assign_sm(&t.system->apps, 3, 0);
    finish(&t);
    assert_int_equal(blocks_on(&t, 1, 0, 4), 0);
    assert_int_equal(system_app(t.system, 1).stats.app.sms_gained, 0);
    check_words(&t, 0, 20);
    tear_down(&t);
}

/* Pages that are placed after a change of channels lie in the new channels. */
APPS_TEST(new_channels_apply_to_pages_placed_later)
{
    struct two t;
    static const uint16_t only[] = {0};
    set_up(&t, (const char *const[]){"apps.channels=equal", NULL});
    system_split(t.system, 2);
    apps_restrict_channels(&t.system->apps, 1, only, 1);
    start(&t, 1, 64, 2);
    finish(&t);
    assert_int_equal(system_app(t.system, 1).channels, 1);
    for (uint32_t k = 1; k < 4; k++) assert_int_equal(channel_stats(t.system->channels[k])->reads, 0);
    tear_down(&t);
}

/* The boundary of one kernel flushes the slices while the other application runs. Both results are
 * correct. */
APPS_TEST(boundaries_do_not_stop_other_applications)
{
    struct two t;
    struct exec_launch *ended;
    set_up(&t, (const char *const[]){"llc.boundary=flush", NULL});
    system_split(t.system, 2);
    start(&t, 0, 8, 2);
    start(&t, 1, 256, 40);
    for (uint32_t k = 0; k < 3; k++) {
        assert_int_equal(system_advance(t.system, ENGINE_NEVER, &ended), SYSTEM_KERNEL_ENDED);
        assert_ptr_equal(ended, t.app[0].launch); /* the short kernel ends first each time */
        rt_drop(t.app[0].rt, ended);
        start(&t, 0, 8, 2);
    }
    finish(&t);
    check_words(&t, 0, 8);
    check_words(&t, 1, 40);
    tear_down(&t);
}

/* Every row of cta_sched.def, with grid sizes that are prime and applications without whole partitions: an
 * SM runs blocks of its owner only, and every block runs once. */
APPS_TEST(no_scheduler_gives_a_block_to_an_sm_of_another_application)
{
    enum { OWNED = 5 };
    static const uint32_t blocks[2] = {61, 29};
    for (uint32_t row = 0; row < block_scheduler_count; row++) {
        if (row == block_scheduler_lasp)
            continue; /* a rule refuses it: the machine of this test has one node */
        struct two t;
        char scheduler[64];
        (void)snprintf(scheduler, sizeof scheduler, "runtime.cta_sched=%s",
                       choice_name(CHOICES_block_scheduler, row));
        set_up(&t, (const char *const[]){"apps.sms=5,3", scheduler, NULL});
        system_split(t.system, 2);
        for (uint32_t app = 0; app < 2; app++) start(&t, app, blocks[app], 1);
        finish(&t);
        for (uint32_t app = 0; app < 2; app++) {
            uint32_t ran = 0;
            for (uint32_t sm = 0; sm < SMS; sm++) {
                if ((sm >= OWNED) != app) assert_int_equal(t.ran[app][sm], 0);
                ran += t.ran[app][sm];
            }
            assert_int_equal(ran, blocks[app]);
            check_words(&t, app, 1);
        }
        tear_down(&t);
    }
}

static struct two wrong_one;

static void split_wrongly(void *settings)
{
    set_up(&wrong_one, settings);
    system_split(wrong_one.system, 2);
}

static void invalid_shares_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *setting, *message;
    } wrong[] = {{"apps.sms=6,3", "apps.sms gives 9 to the applications, but the machine has 8"},
                 {"apps.sms=6", "a number for each of 2 applications"},
                 {"apps.sms=8,0", "each gets at least one"},
                 {"apps.sms=many", "a number for each of 2 applications"},
                 {"apps.channels=3,3", "gives 6 to the applications, but the machine has 4"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const char *settings[] = {wrong[k].setting, NULL};
        struct diag d;
        diag_init(&d);
        assert_int_equal(diag_run(&d, split_wrongly, settings), DIAG_MISTAKE);
        if (!strstr(d.text, wrong[k].message)) fail_msg("'%s' is not in: %s", wrong[k].message, d.text);
        tear_down(&wrong_one);
        diag_clear(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_application_runs_on_its_own_sms_and_in_its_own_channels),
        cmocka_unit_test(sms_are_handed_over_while_kernels_run),
        cmocka_unit_test(a_cancelled_handover_has_no_effect),
        cmocka_unit_test(new_channels_apply_to_pages_placed_later),
        cmocka_unit_test(boundaries_do_not_stop_other_applications),
        cmocka_unit_test(no_scheduler_gives_a_block_to_an_sm_of_another_application),
        cmocka_unit_test(invalid_shares_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
