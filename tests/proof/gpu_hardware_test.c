/* `v100` against measurements of a V100: bandwidth of L1, L2 and DRAM as fractions of their peaks, within
 * five points of 95, 95 and 85 % (hardware column of Accel-Sim's Figure 7, ISCA 2020). The preset was
 * calibrated to them. */
#include "system_testbed.h"

enum { WARPS = 32 };
static const uint64_t A = 0x10000000;

struct reading {
    uint32_t loads;   /* of a line each, by every warp */
    uint32_t regions; /* the lines of all warps follow each other; load i: in region i mod this many; 0: none
                         twice */
    bool past_l1, by_sm; /* by_sm: every block reads the same lines */
};

/* Cycles of the whole kernel: 80 SMs x 2 blocks x 32 warps. */
static uint64_t kernel_cyc(const struct reading *r, uint64_t *bytes, struct config *c)
{
    struct bed b;
    static struct bed_op ops[BED_OPS_MAX];
    bed_open_machine(&b, "v100", NULL);
    const uint32_t blocks = 2 * b.system->sm_count;
    for (uint32_t i = 0; i < r->loads; i++) {
        const uint64_t region = r->regions ? i % r->regions : i,
                       lines = (r->by_sm ? 1 : blocks) * (uint64_t)WARPS;
        ops[i] = (struct bed_op)BED_LOAD(A + region * lines * LINE_BYTES, (uint8_t)(1 + i % 32),
                                         .by_warp = LINE_BYTES, .by_block = r->by_sm ? 0 : LINE_BYTES * WARPS,
                                         .flags = r->past_l1 ? WARP_F_CACHE_L2 : 0);
    }
    ops[r->loads] = (struct bed_op)BED_END;
    bed_run(&b, ops, WARPS, blocks);
    *bytes = (uint64_t)r->loads * blocks * WARPS * LINE_BYTES;
    *c = b.machine.config;
    const uint64_t cycles = b.end_cyc - b.start_cyc;
    bed_close(&b);
    return cycles;
}

/* Bytes per cycle once the caches are warm: what twice as many loads take longer. */
static double warm_rate(struct reading r, struct config *c)
{
    uint64_t few, many;
    const uint64_t first = kernel_cyc(&r, &few, c);
    r.loads *= 2;
    const uint64_t second = kernel_cyc(&r, &many, c);
    return (double)(many - few) / (double)(second - first);
}

static void expect(const char *what, double got, double peak, double hardware)
{
    const double percent = 100 * got / peak;
    print_message("    %s: %.0f of %.0f B/cycle: %.1f %% (hardware %.0f %%)\n", what, got, peak, percent,
                  hardware);
    assert_true(percent >= hardware - 5.05 && percent <= hardware + 5.05);
}

BED_TEST(the_l1_reaches_what_hardware_reaches)
{
    struct config c;
    const double got = warm_rate((struct reading){.loads = 96, .regions = 2, .by_sm = true}, &c);
    expect("L1", got, 128.0 * 80, 95);
}

BED_TEST(the_l2_reaches_what_hardware_reaches)
{
    struct config c;
    const double got = warm_rate((struct reading){.loads = 96, .regions = 6, .past_l1 = true}, &c);
    expect("L2", got, 64 * 32.0, 95);
}

BED_TEST(dram_reaches_what_hardware_reaches)
{
    struct config c;
    uint64_t bytes;
    const uint64_t cycles = kernel_cyc(&(struct reading){.loads = 60}, &bytes, &c);
    const double peak = 870.4e9 / (double)c.clock.sm; /* 32 channels x 64 B per two cycles of 850 MHz */
    expect("DRAM", (double)bytes / (double)cycles, peak, 85);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_l1_reaches_what_hardware_reaches),
        cmocka_unit_test(the_l2_reaches_what_hardware_reaches),
        cmocka_unit_test(dram_reaches_what_hardware_reaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
