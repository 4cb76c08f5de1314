/* carve_workloads: structure of the workloads of the CARVE evaluation, through the public interface. Each row states
 * from the algorithm what a workload allocates and how many kernels it launches. */
#include "workload_structure.h"

#include "road.h"

/* Edges of the graph with seed 1, 2000 vertices and least degree 3. */
enum { SSSP_EDGES = 14901 };

enum {
    /* Levels of 8, 4 and 2 points per dimension: matrices of 7 and 27 points, four vectors, P and R between levels
     * (11^3 and 5^3 entries each), and two parts of a norm. */
    AMG_LEVELS = 4 * 513 + 8 * (7 * 512 - 6 * 64) + 4 * 65 + 8 * 1000 + 4 * 9 + 8 * 64 + 16 * (512 + 64 + 8),
    AMG_BYTES =
        AMG_LEVELS + 4 * 513 + 4 * 65 + 16 * 11 * 11 * 11 + 4 * 65 + 4 * 9 + 16 * 5 * 5 * 5 + 4 * 2 + 4,
    /* Six boxes of 4^3 cells and sixteen of 2^3, half as much on the second level; 7 vectors with ghost cells. 22
     * blocks. Of 24 faces between patches 12 touch a split one and have four pieces; 24 in each split patch; at the
     * boundary 18 and 4 x 6. */
    HPGMG_AMR_LISTS = 32 * 22 + 24 * (12 + 4 * 12 + 2 * 24 + 18 + 24),
    HPGMG_AMR_BYTES =
        28 * (6 * 216 + 16 * 64 + 6 * 64 + 16 * 27) + 2 * HPGMG_AMR_LISTS + 4 * 512 + 4 * 22 + 4,
};

// clang-format off
static const struct row rows[] = {
    {"gups:words=50000,threads=200,updates=5", "rounds", 1, 1, 8 * (50000 + 200), 2 * 50000},
    {"gups:words=50000,threads=300,updates=2,atomic=1,init=0", "rounds", 0, 1, 8 * (50000 + 300), 2 * 50000},
    {"xsbench:nuclides=20,grid=40,lookups=100", "launches", 0, 1, 20 * 40 * (8 + 48 + 4 * 20) + 12 * (12 * 20 + 8) + 4 * 100, 100},
    {"sssp:vertices=2000,least=3", "rounds", 1, 2, 4 * (2001 + 2 * SSSP_EDGES + 3 * 2000 + 1), 2000},
    {"raytrace:depth=4,width=16,height=8", "frames", 0, 1, 2 * 16 * 32 + 4 * 16 * 48 + 64 * 16 + 16 * 8 * 16, 16 * 8 * 4},
    {"bitcoin:nonces=600,zeros=6", "rounds", 0, 1, 4 * 600 + 8 * 1024 + 4, 600 + 2 * 1024},
    {"amg:n=8,levels=3,coarse=2", "cycles", 1, 15, AMG_BYTES, 512 + 1},
    {"cnn_layer:images=2,in=3,out=10,size=9,kernel=3,pad=1,tile=8", "iterations", 3, 1, 4 * (2 * 3 * 81 + 2 * 10 * 81 + 10 * 27 + 10) + 8 * 27, 2 * 10 * 81},
    {"cnn_layer:images=1,in=3,out=40,size=7,kernel=3,pad=0,stride=2,tile=32,order=1", "iterations", 3, 1, 4 * (3 * 49 + 40 * 9 + 40 * 27 + 40) + 8 * 27, 40 * 9},
    {"mcb:particles=500,side=12,materials=3,length=3,rounds=3", "steps", 2, 1 + 3 + 1, 48 * 500 + 16 * 144 + 36 * 3 + 4 * 1024 + 8 * 4096 + 4 * 4, 2 * 144},
    {"miniamr:roots=3,slots=108,n=2,vars=2,stages=1", "steps", 1, 2 + 4 + 2, 108 * (4 * 2 * 64 + 4 * 2 + 420) + 4 * 2, 108 * 2 * 64 + 2},
    {"miniamr:roots=2,slots=72,n=4,vars=1,stages=3", "steps", 1, 2 + 3 * 4 + 2, 72 * (4 * 216 + 4 + 420) + 4, 72 * 216 + 1},
    {"hpgmg_amr:patches=2,n=4,levels=2,bottom=1", "cycles", 2 + 1, 20 + 6 + 5, HPGMG_AMR_BYTES, 512 + 1},
    {"euler3d:nx=8,ny=2,nz=3", "iterations", 1, 8, 132 * 6 * 8 * 2 * 3 + 4 * 5, 5 * 6 * 8 * 2 * 3},
    {"lulesh:side=3", "steps", 3, 24, 4 * (82 * 27 + 14 * 64 + 1 + 3 * 16 + 3), 6 * 64 + 5 * 27 + 3},
    {"nekbone:ex=2,ey=2,ez=3,n=4", "iterations", 2, 13, 4 * (13 * 768 + (7 * 7 * 10 - 6 * 6 * 8 + 1) + (768 - 6 * 6 * 8 + 1) + 1 + 5 + 18 * 18), 2 * 768 + 5},
    {"comd:lattice=3", "steps", 12, 16, 4 * (13 * 64 * 64 + 2 * 64 + 27 * 8 + 2 * (64 - 8) + 3 * 1004 + 2 * (2 + 1) + 6 * 108 + 1), 6 * 108 + 3},
    {"hpgmg:bx=2,by=1,bz=3,dim=4,sweeps=1", "cycles", 2, 34, 32 * 6 * (6 * 6 * 6 + 4 * 4 * 4) + 2 * 16 * (14 + 1 + 22) + 4 * 100, 6 * 6 * 6 * 6 + 1},
};
// clang-format on
enum { ROWS = sizeof rows / sizeof *rows };

static void footprint_and_launches_follow_from_the_parameters(void **state)
{
    (void)state;
    assert_int_equal(graph_edges(1, 2000, 3), SSSP_EDGES);
    structure_follows(rows, ROWS);
}

static void results_are_right_with_timing_on_four_gpus(void **state)
{
    (void)state;
    structure_is_right_on(rows, ROWS, "numa-gpu", 2);
}

/* Streets lead both ways, between neighbours of the grid, in ascending order, and are as many as in USA-road. */
static void a_road_network_has_short_streets_in_both_directions(void **state)
{
    (void)state;
    const struct road r = road_shape(1, 40000);
    uint64_t edges = 0;
    assert_int_equal(r.columns, 200);
    for (uint32_t v = 0; v < 40000; v++) {
        uint32_t to[4], back[4];
        const uint32_t count = road_neighbours(&r, v, to);
        edges += count;
        for (uint32_t k = 0; k < count; k++) {
            const uint32_t far = to[k] > v ? to[k] - v : v - to[k];
            assert_true(far == r.columns || (far == 1 && to[k] / r.columns == v / r.columns));
            if (k) assert_true(to[k] > to[k - 1]);
            bool returns = false;
            for (uint32_t n = road_neighbours(&r, to[k], back); n; n--) returns |= back[n - 1] == v;
            assert_true(returns);
        }
    }
    assert_int_equal(edges, road_edges(1, 40000));
    assert_true(edges > 2.4 * 40000 && edges < 2.48 * 40000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(footprint_and_launches_follow_from_the_parameters),
        cmocka_unit_test(results_are_right_with_timing_on_four_gpus),
        cmocka_unit_test(a_road_network_has_short_streets_in_both_directions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
