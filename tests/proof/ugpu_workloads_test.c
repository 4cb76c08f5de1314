/* ugpu_workloads: structure of the workloads that came with the UGPU paper, and the published footprints of all. */
#include "workload_structure.h"

// clang-format off
static const struct row rows[] = {
    {"pathfinder:rows=13,cols=500,height=4", NULL, 3, 0, 4 * 500 * (12 + 2), 500},
    {"pathfinder:rows=14,cols=500,height=4", NULL, 4, 0, 4 * 500 * (13 + 2), 500},
    {"cp:nx=128,ny=8,atoms=40", NULL, 1, 0, 4 * 128 * 8, 128 * 8},
    {"cp:nx=128,ny=8,atoms=4001", NULL, 2, 0, 4 * 128 * 8, 128 * 8},
    {"mriq:voxels=300,samples=40", NULL, 2, 0, 4 * (5 * 300 + 3 * 40), 2 * 300},
    {"mriq:voxels=40,samples=1025", NULL, 3, 0, 4 * (5 * 40 + 3 * 1025), 2 * 40},
    {"dxtc:width=16,height=12,launches=1", NULL, 1, 0, 4 * 16 * 12 + 8 * 12 + 4 * 992, 2 * 12},
    {"dxtc:width=16,height=12,launches=3", NULL, 3, 0, 4 * 16 * 12 + 8 * 12 + 4 * 992, 2 * 12},
};

/* Footprint in MB of Table 2, without the AI workloads, which have none. */
static const struct published {
    const char *workload;
    double mb;
} table[] = {
    {"pvc:ugpu", 3810}, {"lbm:ugpu", 389}, {"blackscholes:ugpu", 48}, {"dwt2d:ugpu", 301}, {"euler3d:ugpu", 286},
    {"fwt:ugpu", 269}, {"lavamd:ugpu", 123}, {"streamcluster:ugpu", 302}, {"convsep:ugpu", 151}, {"srad:ugpu", 1048},
    {"dxtc:ugpu", 20}, {"hotspot:ugpu", 130}, {"pathfinder:ugpu", 792}, {"cp:ugpu", 40}, {"mriq:ugpu", 50},
};
// clang-format on
enum { ROWS = sizeof rows / sizeof *rows, TABLE = sizeof table / sizeof *table };

static void footprint_and_launches_follow_from_the_parameters(void **state)
{
    (void)state;
    structure_follows(rows, ROWS);
}

static void results_are_right_with_timing(void **state)
{
    (void)state;
    structure_is_right_on(rows, ROWS, "ugpu-bp", 1);
}

static void footprints_are_as_published(void **state)
{
    (void)state;
    for (const struct published *p = table; p < table + TABLE; p++) {
        json_t *root = structure_run(NULL, p->workload, false, 1);
        const double mb = (double)structure_app_value(root, "device_bytes") / 1e6;
        if (mb < 0.98 * p->mb || mb > 1.02 * p->mb)
            fail_msg("%s: %.1f MB, published %.1f", p->workload, mb, p->mb);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(footprint_and_launches_follow_from_the_parameters),
        cmocka_unit_test(results_are_right_with_timing),
        cmocka_unit_test(footprints_are_as_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
