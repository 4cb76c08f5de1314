/* ladm_workloads: the 27 bundled workloads of LADM's Table IV, through the public interface: structure of those that
 * came with the paper, published blocks and sizes of all, and what the index analysis finds in their kernels. */
#include "workload_structure.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/embedded.h"
#include "graph.h"

/* ---- structure ---- */

/* Edges of the graphs with seed 1, and entries of a matrix in jagged diagonals with its zeros: asserted below. */
enum { SSSP_EDGES = 14901, BFS_EDGES = 22807, PAGERANK_EDGES = 4926, JDS_ENTRIES = 25056, BINS = 16384 };

// clang-format off
static const struct row rows[] = {
    {"gemm_fc:m=8,k=64,n=96", NULL, 1, 0, 4 * (8 * 64 + 64 * 96 + 8 * 96), 8 * 96},
    {"lstm:inputs=0,units=32,sequences=8", "steps", 0, 2, 4 * (32 * 128 + 128 + 8 * (32 + 128 + 32)), 2 * 8 * 32},
    {"srad:rows=32,cols=48", "iterations", 0, 2, 6 * 4 * 32 * 48, 32 * 48},
    {"scalarprod:vectors=10,elements=300,blocks=4", NULL, 1, 0, 4 * (2 * 10 * 300 + 10), 10},
    {"sgemm:n=128,m=64,k=48,wide=1", "repeat", 0, 1, 4 * (64 * 48 + 48 * 128 + 64 * 128), 64 * 128},
    {"histo_main:items=5000,blocks=2,rows=2", NULL, 1, 0, 4 * 5000 + (2 + 2) * BINS * (2 + 2 + 4), 4 * BINS * 2},
    {"histo_final:bins=4096,blocks=3", NULL, 1, 0, (2 + 2 + 4 + 1) * 4096, 4096 / 4 + 4096 / 2 + 4096 / 2 + 4096},
    {"hotspot3d:nx=64,ny=8,nz=4", "steps", 0, 1, 3 * 4 * 64 * 8 * 4, 64 * 8 * 4},
    {"kmeans_notex:points=500,features=7,clusters=3", "rounds", 0, 1, 4 * (500 * 7 + 500), 500},
    {"spmv_jds:rows=1000", "repeat", 0, 1, 8 * JDS_ENTRIES + 3 * 4 * 1000, 1000},
    {"pagerank:vertices=1000,least=2", "iterations", 1, 2, 4 * (1001 + 2 * PAGERANK_EDGES + 2 * 1000), 1000},
    {"bfs_relax:vertices=3000,least=3,blocks=3", "levels", 0, 1, 4 * (3001 + BFS_EDGES + 3 * 3000 + 1), 3000},
    {"sssp:vertices=2000,least=3,pull=1", "rounds", 1, 2, 4 * (2001 + 2 * SSSP_EDGES + 3 * 2000 + 1), 2000},
    {"randomloc:threads=3000,places=1000,length=5", NULL, 1, 0, 4 * (1000 * 5 + 3000), 3000},
    {"vecadd:n=1000,block=64,four=1", NULL, 1, 0, 3 * 4 * 1000, 1000},
};
// clang-format on
enum { ROWS = sizeof rows / sizeof *rows };

/* Rows have 8 to 40 entries; those of a diagonal are filled up to whole warps. */
static uint64_t jds_entries(uint64_t count)
{
    uint64_t entries = 0;
    for (uint64_t k = 1; k <= 40; k++) {
        uint64_t longer = 0;
        for (uint64_t row = 0; row < count; row++) longer += 8 + wl_below(1, row, 33) >= k;
        entries += (longer + 31) / 32 * 32;
    }
    return entries;
}

static void footprint_and_launches_follow_from_the_parameters(void **state)
{
    (void)state;
    assert_int_equal(graph_edges(1, 2000, 3), SSSP_EDGES);
    assert_int_equal(graph_edges(1, 3000, 3), BFS_EDGES);
    assert_int_equal(graph_edges(1, 1000, 2), PAGERANK_EDGES);
    assert_int_equal(jds_entries(1000), JDS_ENTRIES);
    structure_follows(rows, ROWS);
}

static void results_are_right_with_timing_on_sixteen_chiplets(void **state)
{
    (void)state;
    structure_is_right_on(rows, ROWS, "ladm-rr", 2);
}

/* ---- Table IV ---- */

enum { PARAMS_MAX = 8 };

/* blocks, threads, mb: published. per_launch: blocks of a launch where the table counts those of several; why: the
 * size differs by more than 15 %. file, kernel: PTX and kernel that the class is of; params: its launch.
 * class: of the parameter that the scheduler follows, ours; paper: the table's. */
static const struct published {
    const char *workload;
    uint32_t threads[2];
    uint64_t blocks, per_launch;
    double mb;
    const char *why, *file, *kernel, *argument, *class, *paper, *scheduler, *params[PARAMS_MAX];
} table[] = {
    {"vecadd:ladm",
     {128, 1},
     10240,
     0,
     60,
     NULL,
     "vecadd.vecadd.ptx",
     "vecadd_four",
     "p0",
     "no-locality",
     "NL",
     "align-aware",
     {"p0=20MiB", "p1=20MiB", "p2=20MiB", "p3=5242880"}},
    {"srad:ladm",
     {16, 16},
     16384,
     0,
     96,
     NULL,
     "srad.srad.ptx",
     "srad_coefficients",
     "p0",
     "no-locality",
     "NL",
     "align-aware",
     {"p0=16MiB", "p1=16MiB", "p2=16MiB", "p5=16MiB", "p6=2048", "p7=2048"}},
    {"hotspot:ladm",
     {16, 16},
     7396,
     0,
     16,
     "three arrays of the published shape",
     "hotspot.hotspot.ptx",
     "hotspot",
     "p0",
     "no-locality",
     "NL",
     "align-aware",
     {"p0=4MiB", "p1=4MiB", "p2=4MiB", "p3=1024", "p4=1024", "p5=2"}},
    {"scalarprod:ladm",
     {256, 1},
     2048,
     0,
     120,
     NULL,
     "scalarprod.scalarprod.ptx",
     "scalarprod",
     "p0",
     "no-locality",
     "NL",
     "align-aware",
     {"p0=60MiB", "p1=60MiB", "p2=8KiB", "p3=2048", "p4=7680"}},
    {"blackscholes:ladm",
     {128, 1},
     1920,
     0,
     80,
     NULL,
     "blackscholes.blackscholes.ptx",
     "blackscholes",
     "p0",
     "no-locality",
     "NL",
     "align-aware",
     {"p0=16MB", "p1=16MB", "p2=16MB", "p3=16MB", "p4=16MB", "p7=4000000"}},
    {"histo_final:ladm",
     {512, 1},
     1530,
     0,
     36,
     NULL,
     "histo_final.histo_final.ptx",
     "histo_final",
     "p2",
     "no-locality",
     "NL",
     "align-aware",
     {"p0=8MiB", "p1=8MiB", "p2=16MiB", "p3=4MiB", "p4=65536", "p5=983040", "p6=1048576"}},
    {"reduction6:ladm",
     {256, 1},
     2048,
     0,
     32,
     NULL,
     "reduction.reduction.ptx",
     "reduction",
     "p0",
     "no-locality",
     "NL",
     "align-aware",
     {"p0=32MiB", "p1=8KiB", "p2=8388608"}},
    {"hotspot3d:ladm",
     {64, 4},
     1024,
     0,
     128,
     NULL,
     "hotspot3d.hotspot3d.ptx",
     "hotspot3d",
     "p1",
     "no-locality",
     "NL",
     "align-aware",
     {"p0=42MiB", "p1=42MiB", "p2=42MiB", "p3=512", "p4=512", "p5=42"}},
    {"conv_sdk:ladm",
     {16, 4},
     18432,
     0,
     120,
     NULL,
     "convsep.convsep.ptx",
     "convsep_rows",
     "p0",
     "no-locality",
     "RCL",
     "align-aware",
     {"p0=36MiB", "p1=36MiB", "p2=3072"}},
    {"histo_main:ladm",
     {16, 16},
     1743,
     0,
     36,
     NULL,
     "histo_main.histo_main.ptx",
     "histo_main",
     "p0",
     "column-vertical",
     "RCL",
     "col-binding",
     {"p0=36MiB", "p1=736KiB", "p2=736KiB", "p3=1472KiB", "p4=9437184", "p5=1"}},
    {"fwt:ladm",
     {256, 1},
     4096,
     0,
     64,
     "blocks and size do not fit one element size",
     "fwt.fwt.ptx",
     "fwt_global",
     "p0",
     "no-locality",
     "RCL",
     "align-aware",
     {"p0=16MiB", "p1=1048576"}},
    {"matmul_tiled:ladm",
     {16, 16},
     2048,
     0,
     128,
     NULL,
     "sgemm.sgemm.ptx",
     "sgemm_wide",
     "p0",
     "row-horizontal",
     "RCL",
     "row-binding",
     {"p0=64MiB", "p1=32MiB", "p2=32MiB", "p3=2048", "p4=4096"}},
    {"gemm_fc:ladm_alexnet",
     {32, 4},
     2048,
     0,
     400,
     NULL,
     "gemm_fc.gemm_fc.ptx",
     "gemm_fc",
     "p1",
     "column-vertical",
     "RCL",
     "col-binding",
     {"p0=6272KiB", "p1=392MiB", "p2=1MiB", "p3=25088", "p4=4096"}},
    {"gemm_fc:ladm_vgg",
     {32, 4},
     8192,
     0,
     76,
     NULL,
     "gemm_fc.gemm_fc.ptx",
     "gemm_fc",
     "p1",
     "column-vertical",
     "RCL",
     "col-binding",
     {"p0=4MiB", "p1=64MiB", "p2=4MiB", "p3=4096", "p4=4096"}},
    {"gemm_fc:ladm_resnet",
     {32, 4},
     16384,
     0,
     99,
     NULL,
     "gemm_fc.gemm_fc.ptx",
     "gemm_fc",
     "p1",
     "column-vertical",
     "RCL",
     "col-binding",
     {"p0=9856KiB", "p1=77MiB", "p2=8MiB", "p3=4928", "p4=4096"}},
    {"lstm:ladm_1",
     {32, 4},
     4096,
     0,
     64,
     NULL,
     "lstm.lstm.ptx",
     "lstm_gates",
     "p1",
     "column-vertical",
     "RCL",
     "col-binding",
     {"p0=512KiB", "p1=64MiB", "p2=2MiB", "p3=2048", "p4=8192"}},
    {"lstm:ladm_2",
     {32, 4},
     2048,
     0,
     32,
     NULL,
     "lstm.lstm.ptx",
     "lstm_gates",
     "p1",
     "column-vertical",
     "RCL",
     "col-binding",
     {"p0=512KiB", "p1=32MiB", "p2=1MiB", "p3=2048", "p4=4096"}},
    {"transpose:ladm",
     {16, 16},
     16384,
     0,
     32,
     NULL,
     "transpose.transpose.ptx",
     "transpose",
     "p0",
     "no-locality",
     "RCL",
     "align-aware",
     {"p0=16MiB", "p1=16MiB", "p2=2048", "p3=2048"}},
    {"pagerank:ladm",
     {128, 1},
     23365,
     2337,
     18,
     NULL,
     "pagerank.pagerank.ptx",
     "pagerank_spread",
     "p1",
     "intra-thread",
     "ITL",
     "kernel-wide",
     {"p0=1196272", "p1=6MiB", "p2=6MiB", "p3=1196268", "p4=1196268", "p5=299067"}},
    {"bfs_relax:ladm",
     {256, 1},
     2048,
     0,
     220,
     NULL,
     "bfs_relax.bfs_relax.ptx",
     "bfs_relax",
     "p2",
     "intra-thread",
     "ITL",
     "kernel-wide",
     {"p0=4MiB", "p1=4MiB", "p2=188MiB", "p3=4MiB", "p4=4MiB", "p5=4"}},
    {"sssp:ladm",
     {64, 1},
     4131,
     0,
     57,
     NULL,
     "sssp.sssp.ptx",
     "sssp_pull",
     "p1",
     "intra-thread",
     "ITL",
     "kernel-wide",
     {"p0=1057388", "p1=25MiB", "p2=25MiB", "p3=1057384", "p4=1057384", "p5=264346"}},
    {"randomloc:ladm",
     {256, 1},
     41013,
     0,
     64,
     "the table alone has the published size",
     "randomloc.randomloc.ptx",
     "randomloc",
     "p0",
     "intra-thread",
     "ITL",
     "kernel-wide",
     {"p0=64MiB", "p1=40MiB", "p2=2097152", "p3=8"}},
    {"kmeans_notex:ladm",
     {256, 1},
     1936,
     0,
     60,
     NULL,
     "kmeans_notex.kmeans_notex.ptx",
     "kmeans_notex",
     "p0",
     "intra-thread",
     "ITL",
     "kernel-wide",
     {"p0=63234560", "p1=1976080", "p2=494020", "p3=5", "p4=32"}},
    {"spmv_jds:ladm",
     {32, 1},
     4585,
     0,
     30,
     NULL,
     "spmv_jds.spmv_jds.ptx",
     "spmv_jds",
     "p1",
     "unclassified",
     "ITL",
     "kernel-wide",
     {"p0=586756", "p1=14MiB", "p2=14MiB", "p3=586756", "p4=586756", "p5=146689"}},
    {"btree:ladm",
     {256, 1},
     6000,
     0,
     16,
     NULL,
     "btree.btree.ptx",
     "btree_find",
     "p0",
     "unclassified",
     "unclassified",
     "kernel-wide",
     {"p0=12MiB", "p1=3MiB", "p2=24000", "p3=24000", "p4=3"}},
    {"lbm:ladm",
     {120, 1},
     18000,
     0,
     370,
     NULL,
     "lbm.lbm.ptx",
     "lbm",
     "p0",
     "no-locality",
     "unclassified",
     "align-aware",
     {"p0=194150400", "p1=194150400", "p2=2426880", "p3=61440", "p4=128"}},
    {"streamcluster:ladm",
     {512, 1},
     1024,
     0,
     56,
     NULL,
     "streamcluster.streamcluster.ptx",
     "streamcluster",
     "p0",
     "unclassified",
     "unclassified",
     "kernel-wide",
     {"p0=32MiB", "p1=2MiB", "p2=2MiB", "p3=2MiB", "p4=24", "p5=16MiB", "p7=524288", "p8=16"}},
};
enum { TABLE = sizeof table / sizeof *table };
_Static_assert(TABLE == 27, "Table IV has 27 rows");

static uint64_t at(const json_t *root, const char *name, size_t k)
{
    return (uint64_t)json_integer_value(json_array_get(json_object_get(root, name), k));
}

static void blocks_and_sizes_are_as_published(void **state)
{
    (void)state;
    for (const struct published *p = table; p < table + TABLE; p++) {
        json_t *root = structure_run("ladm-rr", p->workload, false, 1);
        const json_t *k = json_array_get(json_object_get(root, "kernels"), 0);
        assert_non_null(k);
        const uint64_t blocks = at(k, "grid", 0) * at(k, "grid", 1) * at(k, "grid", 2);
        if (blocks != (p->per_launch ? p->per_launch : p->blocks))
            fail_msg("%s: %llu blocks, published %llu", p->workload, (unsigned long long)blocks,
                     (unsigned long long)p->blocks);
        assert_int_equal(at(k, "block", 0), p->threads[0]);
        assert_int_equal(at(k, "block", 1), p->threads[1]);
        const double mb = (double)structure_app_value(root, "device_bytes") / 1e6;
        if ((mb < 0.85 * p->mb || mb > 1.15 * p->mb) != (p->why != NULL))
            fail_msg("%s: %.1f MB, published %.1f", p->workload, mb, p->mb);
        json_decref(root);
    }
}

/* ---- classes ---- */

static void write_ptx(const char *file, char path[64])
{
    const struct embedded_file *f = embedded_workloads;
    while (f->name && strcmp(f->name, file) != 0) f++;
    assert_non_null(f->name);
    (void)snprintf(path, 64, "/tmp/atoll-ladm-XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_true(write(fd, f->text, f->len_bytes) == (ssize_t)f->len_bytes);
    (void)close(fd);
}

/* The analysis of the kernel at its launch; the caller releases it. */
static json_t *analysis_of(const struct published *p, const json_t *kernel)
{
    char path[64], *text = NULL;
    atoll_sim *sim;
    struct atoll_analysis what = {.ptx_count = 1, .entry = p->kernel, .params = p->params, .placement = true};
    write_ptx(p->file, path);
    what.ptx = (const char *const[]){path};
    for (size_t k = 0; k < 3; k++) {
        what.grid[k] = (uint32_t)at(kernel, "grid", k);
        what.block[k] = (uint32_t)at(kernel, "block", k);
    }
    while (what.param_count < PARAMS_MAX && p->params[what.param_count]) what.param_count++;
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    assert_int_equal(atoll_machine(sim, "ladm"), ATOLL_OK);
    if (atoll_analyze(sim, &what, ATOLL_JSON, &text)) fail_msg("%s: %s", p->workload, atoll_message(sim));
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    free(text);
    atoll_destroy(sim);
    (void)unlink(path);
    return root;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* A page of a regular structure is never placed in proportion to its offset: the index says which blocks touch it. */
static void check_methods(const struct published *p, const json_t *placement)
{
    const json_t *list = json_object_get(placement, "structures");
    assert_true(json_array_size(list) > 0);
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *row = json_array_get(list, k);
        const char *const class = text_of(row, "class"), *const method = text_of(row, "method");
        const bool regular = strcmp(class, "intra-thread") != 0 && strcmp(class, "unclassified") != 0;
        if (regular && strcmp(method, "index") != 0 && strcmp(method, "layout") != 0)
            fail_msg("%s: %s (%s) is placed by the method '%s'", p->workload, text_of(row, "argument"), class,
                     method);
    }
}

static void classes_and_schedulers_are_as_stated(void **state)
{
    (void)state;
    uint32_t differ = 0;
    for (const struct published *p = table; p < table + TABLE; p++) {
        json_t *run = structure_run("ladm-rr", p->workload, false, 1);
        json_t *all = analysis_of(p, json_array_get(json_object_get(run, "kernels"), 0));
        const json_t *found = json_array_get(all, 0), *structures = json_object_get(found, "structures");
        const char *class = "";
        for (size_t k = 0; k < json_array_size(structures); k++)
            if (!strcmp(text_of(json_array_get(structures, k), "argument"), p->argument))
                class = text_of(json_array_get(structures, k), "class");
        if (strcmp(class, p->class) != 0)
            fail_msg("%s: %s is %s, expected %s", p->workload, p->argument, class, p->class);
        if (strcmp(text_of(found, "scheduler"), p->scheduler) != 0)
            fail_msg("%s: blocks go %s, expected %s", p->workload, text_of(found, "scheduler"), p->scheduler);
        check_methods(p, json_object_get(found, "placement"));
        const char *ours = !strcmp(class, "no-locality")    ? "NL"
                           : !strcmp(class, "intra-thread") ? "ITL"
                           : !strcmp(class, "unclassified") ? "unclassified"
                                                            : "RCL";
        differ += strcmp(ours, p->paper) != 0;
        json_decref(all);
        json_decref(run);
    }
    assert_int_equal(differ, 5); /* docs/workloads.md names the index of each */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(footprint_and_launches_follow_from_the_parameters),
        cmocka_unit_test(results_are_right_with_timing_on_sixteen_chiplets),
        cmocka_unit_test(blocks_and_sizes_are_as_published),
        cmocka_unit_test(classes_and_schedulers_are_as_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
