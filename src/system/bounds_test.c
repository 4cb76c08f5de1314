/* Bounds: each bound holds on a run, and fires if a component did more work than its cycles allow. */
#include "system_testbed.h"

static void check_bounds(void *gpu) { system_check_bounds(gpu); }

static void expect_bound(struct bed *b, const char *name)
{
    struct diag d;
    diag_init(&d);
    assert_int_equal(diag_run(&d, check_bounds, b->system), DIAG_BUG);
    if (!strstr(d.text, name)) fail_msg("'%s' is not in: %s", name, d.text);
    diag_clear(&d);
}

static void run_a_little(struct bed *b)
{
    static const struct bed_op ops[] = {BED_LOAD(0x1000, 1), BED_USE(1), BED_END};
    bed_open(b, "");
    bed_run(b, ops, 2, 4);
    system_check_bounds(b->system); /* raises an internal error if a bound is violated */
}

BED_TEST(no_component_does_more_work_than_its_cycles_allow)
{
    struct bed b;
    run_a_little(&b);
    const uint64_t much = 1 << 30;
    struct system *g = b.system;
    const struct {
        uint64_t *work;
        const char *name;
    } parts[] = {
        {&sm_stats(g->sms[0])->warp_instructions, "the schedulers of SM 0"},
        {&sm_stats(g->sms[0])->resident_warp_cycles, "the warp slots of SM 0"},
        {&sm_l1_stats(g->sms[0])->reads, "the L1 of SM 0"},
        {&sm_l1_stats(g->sms[0])->writes, "the L1 of SM 0"},
        {&sm_stats(g->sms[0])->requests_sent, "the request port of SM 0"},
        {&sm_stats(g->sms[0])->replies_received, "the reply port of SM 0"},
        {&sm_stats(g->sms[0])->in_flight_cyc, "the requests in flight of SM 0"},
        {&sm_stats(g->sms[0])->shared_conflict_cycles, "the shared memory of SM 0"},
        {&slice_stats(g->slices[0])->tag_cycles, "the tag stage of slice 0"},
        {&slice_stats(g->slices[0])->port_cycles, "the data port of slice 0"},
        {&channel_stats(g->channels[0])->column_reads, "the data bus of channel 0"},
        {&channel_stats(g->channels[0])->column_writes, "the data bus of channel 0"},
        {&mmu_stats(g->mmus[0])->l2_lookups, "the L2 TLB of GPU 0"},
        {&mmu_stats(g->mmus[0])->walk_cycles, "the walkers of GPU 0"},
    };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        *parts[k].work += much;
        expect_bound(&b, parts[k].name);
        *parts[k].work -= much;
    }
    system_check_bounds(g);
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_component_does_more_work_than_its_cycles_allow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
