/* ladm_oracle: LASP's placement against the addresses that blocks really use.
 *
 * Each regular kernel of LADM's Table IV runs functionally, block by block. Every block is bound to its node, and
 * each line of its addresses counts once per node. From these pairs (line, node) follow, without a look at the index
 * analysis:
 *   - the share of pairs whose page lies on another node (off-chiplet) or another GPU;
 *   - the least such share that any map from pages to nodes can reach: each page at the node with most of its lines.
 * The placement must reach the least for the winner and for every structure without sharing, no node may have more
 * than 1.25 times the mean of a structure's pages, and the shares are those of the prototype (ladm-shares.md). The
 * dimension that only repeats the pattern is cut; row lengths and block shapes are those of the paper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "analysis/compile.h"
#include "base/map.h"
#include "base/rng.h"
#include "config/machine.h"
#include "exec/exec.h"
#include "policy/binding/predict.h"
#include "runtime/runtime.h"
#include "system/rules.h"
#include "system/system_private.h"

enum { ARGS = 9, WANTS = 3, NODES_MAX = 16 };

enum given_kind { END, NUMBER, REAL, BUFFER };
struct given {
    enum given_kind kind;
    uint64_t value;
};
#define N(v) \
    { \
        NUMBER, (uint64_t)(v) \
    }
#define R(v) \
    { \
        REAL, (uint64_t)(v) \
    }
#define B(bytes) \
    { \
        BUFFER, (uint64_t)(bytes) \
    }

/* Per cent off-chiplet and off-GPU of a structure, +-2; -1: not given. */
struct want {
    const char *argument;
    int chiplet, gpu;
    bool shared; /* blocks of several nodes need the same lines: no statement about the least share */
};

struct sample {
    const char *name, *file, *kernel;
    uint32_t grid[3], block[3];
    struct given args[ARGS];
    struct want wants[WANTS];
    const char *settings;
};

#define MI (1024 * 1024)

static const struct sample samples[] = {
    {"VecAdd",
     "no_locality",
     "vecadd",
     {4096, 1, 1},
     {128, 1, 1},
     {B(2 * MI), B(2 * MI), B(2 * MI), N(524288)},
     {{"p0", 0, 0, false}, {"p2", 0, 0, false}},
     ""},
    {"SRAD",
     "no_locality",
     "srad",
     {128, 64, 1},
     {16, 16, 1},
     {B(8 * MI), B(8 * MI), B(8 * MI), B(8 * MI), B(8 * MI), B(8 * MI), N(2048), N(1024), R(1)},
     {{"p0", 3, 0, false}, {"p5", 0, 0, false}},
     ""},
    {"HS",
     "no_locality",
     "hs",
     {86, 86, 1},
     {16, 16, 1},
     {N(1), B(4 * MI), B(4 * MI), B(4 * MI), N(1024), N(1024), N(2), R(1)},
     {{"p1", 7, 2, false}, {"p2", 7, 2, false}},
     ""},
    {"ScalarProd",
     "no_locality",
     "scalarprod",
     {128, 1, 1},
     {256, 1, 1},
     {B(4096), B(256 * 7680 * 4), B(256 * 7680 * 4), N(256), N(7680)},
     {{"p1", 0, 0, false}, {"p2", 0, 0, false}},
     ""},
    {"BLK",
     "no_locality",
     "blackscholes",
     {1920, 1, 1},
     {128, 1, 1},
     {B(983040 * 2), B(983040 * 2), B(983040 * 2), B(983040 * 2), B(983040 * 2), R(1), R(1), N(491520)},
     {{"p0", 0, 0, false}, {"p2", 0, 0, false}},
     ""},
    {"Histo-final",
     "no_locality",
     "histo_final",
     {1530, 1, 1},
     {512, 1, 1},
     {B(1566720 * 4), B(1566720 * 4), B(1566720), N(1566720)},
     {{"p0", 0, 0, false}, {"p2", 2, 1, false}},
     ""},
    {"Reduction-k6",
     "no_locality",
     "reduction6",
     {64, 1, 1},
     {256, 1, 1},
     {B(4 * MI), B(4096), N(MI)},
     {{"p0", 0, 0, false}},
     ""},
    {"Hotspot3D",
     "no_locality",
     "hotspot3d",
     {8, 128, 1},
     {64, 4, 1},
     {B(4 * MI), B(4 * MI), B(4 * MI), N(512), N(512), N(4), R(1)},
     {{"p1", 5, 1, false}, {"p2", 0, 0, false}},
     ""},
    {"CONV",
     "row_column",
     "conv_rows",
     {24, 96, 1},
     {16, 4, 1},
     {B(3072 * 384 * 4), B(3072 * 384 * 4), B(68), N(3072), N(3072)},
     {{"p0", 0, 0, false}, {"p1", 0, 0, false}},
     ""},
    {"FWT-k2",
     "row_column",
     "fwt_k2",
     {64, 4, 1},
     {256, 1, 1},
     {B(MI), B(MI), N(4096)},
     {{"p0", 0, 0, false}, {"p1", 0, 0, false}},
     ""},
    {"FWT-k2 wide",
     "row_column",
     "fwt_k2",
     {64, 4, 1},
     {256, 1, 1},
     {B(MI), B(MI), N(16384)},
     {{"p0", 0, 0, false}},
     ""},
    {"SQ-GEMM",
     "row_column",
     "sq_gemm",
     {16, 64, 1},
     {16, 16, 1},
     {B(1024 * 256 * 4), B(256 * 256 * 4), B(1024 * 256 * 4), N(256)},
     {{"p0", 0, 0, false}, {"p1", 94, 75, true}, {"p2", 0, 0, false}},
     ""},
    {"FC",
     "row_column",
     "gemm_fc",
     {128, 2, 1},
     {32, 4, 1},
     {B(64 * 128 * 4), B(128 * 4096 * 4), B(64 * 4096 * 4), N(128), N(4096)},
     {{"p0", 94, 75, true}, {"p1", 75, 0, false}, {"p2", 75, 0, false}},
     ""},
    {"FC contiguous",
     "row_column",
     "gemm_fc",
     {128, 2, 1},
     {32, 4, 1},
     {B(64 * 128 * 4), B(128 * 4096 * 4), B(64 * 4096 * 4), N(128), N(4096)},
     {{"p0", 94, 75, true}, {"p1", 75, 0, false}, {"p2", 75, 0, false}},
     "lasp.hierarchy=contiguous"},
    {"FC literal",
     "row_column",
     "gemm_fc",
     {128, 2, 1},
     {32, 4, 1},
     {B(64 * 128 * 4), B(128 * 4096 * 4), B(64 * 4096 * 4), N(128), N(4096)},
     {{"p1", 94, 75, true}},
     "lasp.match=literal"},
    {"LSTM-1",
     "row_column",
     "lstm",
     {256, 4, 1},
     {32, 4, 1},
     {B(16 * 128 * 4), B(16 * 128 * 4), B(128 * 8192 * 4), B(128 * 8192 * 4), B(16 * 8192 * 4), N(128),
      N(8192)},
     {{"p2", 75, 0, false}, {"p3", 75, 0, false}, {"p4", 75, 0, false}},
     ""},
    {"LSTM-1 contiguous",
     "row_column",
     "lstm",
     {256, 4, 1},
     {32, 4, 1},
     {B(16 * 128 * 4), B(16 * 128 * 4), B(128 * 8192 * 4), B(128 * 8192 * 4), B(16 * 8192 * 4), N(128),
      N(8192)},
     {{"p2", 50, 0, false}, {"p4", 50, 0, false}},
     "lasp.hierarchy=contiguous"},
    {"TRA",
     "row_column",
     "tra",
     {128, 128, 1},
     {16, 16, 1},
     {B(16 * MI), B(16 * MI), N(2048), N(2048)},
     {{"p0", 0, 0, false}, {"p1", 88, 50, false}},
     ""},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

struct coda_want;

struct oracle {
    const struct sample *sample;
    struct machine machine;
    struct arena arena;
    uint64_t buffer[ARGS];
    uint32_t failed;
    const struct coda_want *coda; /* NULL: LASP */
    bool seen;
};

/* ---- pairs of line and node ---- */

static void run_blocks(struct exec_launch *l, const struct binding *binding, struct map *nodes_of_line)
{
    for (uint64_t b = 0; b < l->block_count; b++) {
        struct exec_block *block = exec_block_create(l, b, 0);
        const uint64_t bit = (uint64_t)1 << binding_node_of(binding, b);
        while (!exec_block_done(block))
            for (uint32_t w = 0; w < l->warps_per_block; w++) {
                struct warp_op op;
                if (exec_warp_step(block, w, &op) != WARP_STEP_OP) continue;
                if (op.space != WARP_SPACE_GLOBAL || !op.mask) continue;
                uint64_t before = UINT64_MAX;
                for (uint32_t lane = 0; lane < 32; lane++) {
                    if (!(op.mask >> lane & 1)) continue;
                    const uint64_t line = warp_op_address(&op, lane) >> 7;
                    if (line != before) *map_put(nodes_of_line, line, NULL) |= bit;
                    before = line;
                }
            }
        exec_block_destroy(block);
    }
}

struct shares {
    uint64_t pairs, off_chiplet, off_gpu, least, pages, most_pages;
};

static struct shares shares_of(const struct oracle *o, const struct launch_array *a,
                               const struct data_cut *cut, const struct nodes *n,
                               const struct map *nodes_of_line)
{
    const uint32_t page_log2 = cut->page_log2;
    const uint64_t first = a->base >> page_log2, last = (a->base + a->bytes - 1) >> page_log2;
    struct shares s = {0};
    uint64_t pages[NODES_MAX] = {0};
    (void)o;
    for (uint64_t page = first; page <= last; page++) {
        uint64_t lines[NODES_MAX] = {0}, all = 0, most = 0;
        for (uint64_t k = 0; k < (uint64_t)1 << (page_log2 - 7); k++) {
            const uint64_t line = (page << (page_log2 - 7)) + k;
            if (line < a->base >> 7 || line > (a->base + a->bytes - 1) >> 7) continue;
            const uint64_t *set = map_find(nodes_of_line, line);
            for (uint32_t node = 0; set && node < n->count; node++) lines[node] += *set >> node & 1;
        }
        const uint32_t home = cut_node(cut, page);
        assert_true(home < n->count);
        for (uint32_t node = 0; node < n->count; node++) {
            all += lines[node];
            if (lines[node] > most) most = lines[node];
            if (node != home) s.off_chiplet += lines[node];
            if (node / n->per_gpu != home / n->per_gpu) s.off_gpu += lines[node];
        }
        s.pairs += all;
        s.least += all - most;
        pages[home]++;
        s.pages++;
    }
    for (uint32_t node = 0; node < n->count; node++)
        if (pages[node] > s.most_pages) s.most_pages = pages[node];
    return s;
}

/* ---- CODA: granule i and batch i to node i mod nodes ---- */

struct coda_want {
    const char *name, *granule, *argument;
    int chiplet, gpu; /* per cent, +-2 */
};
/* The columns of H-CODA of the prototype. */
static const struct coda_want coda_wants[] = {
    {"SRAD", "bytes", "p5", 94, 75},
    {"SRAD", "width", "p5", 0, 0},
    {"HS", "bytes", "p1", 94, 75},
    {"HS", "width", "p1", 94, 75},
    {"ScalarProd", "bytes", "p1", 94, 75},
    {"BLK", "bytes", "p0", 0, 0},
    {"Histo-final", "bytes", "p0", 50, 50}, /* two iterations of many */
    {"Reduction-k6", "bytes", "p0", 0, 0},
    {"Hotspot3D", "bytes", "p1", 94, 75}, /* with its halo; all structures together 90 and 58 */
    {"Hotspot3D", "bytes", "p2", 88, 50},

    {"Hotspot3D", "width", "p1", 68, 53},
    {"CONV", "bytes", "p1", 92, 71},
    {"CONV", "width", "p1", 66, 54},
    {"FC", "bytes", "p1", 94, 75},
    {"FC", "width", "p1", 0, 0},
    {"FC", "width", "p0", 94, 75},
    {"TRA", "width", "p0", 0, 0},
    {"TRA", "width", "p1", 94, 75},
    {"LSTM-1", "bytes", "p2", 0, 0}, /* this kernel reads the weights row by row */
    {"LSTM-1", "width", "p2", 0, 0},
};
enum { CODA_WANTS = sizeof coda_wants / sizeof *coda_wants };

static struct shares coda_shares_of(const struct launch_array *a, uint64_t granule, const struct nodes *n,
                                    const struct map *nodes_of_line)
{
    struct shares s = {0};
    for (uint64_t line = a->base >> 7; line <= (a->base + a->bytes - 1) >> 7; line++) {
        const uint64_t *set = map_find(nodes_of_line, line);
        const uint64_t i = granule ? (line - (a->base >> 7)) / (granule / 128) : line >> 5;
        const uint32_t home = (uint32_t)(i % n->count);
        for (uint32_t node = 0; set && node < n->count; node++) {
            const bool touches = *set >> node & 1;
            s.pairs += touches;
            s.off_chiplet += touches && node != home;
            s.off_gpu += touches && node / n->per_gpu != home / n->per_gpu;
        }
    }
    return s;
}

/* ---- a launch ---- */

static double per_cent(uint64_t part, uint64_t all) { return all ? 100.0 * (double)part / (double)all : 0; }

/* Predictions of atoll analyze equal the accesses of the blocks: to the access, or within 6 per cent of the pairs for stencils, whose
 * halo is clamped at the border of the image: such an index is not linear, and the pattern leaves it out. */
static bool is_predicted(const struct sample *sample, const struct prediction *p, const struct shares *s)
{
    static const char *const stencils[] = {"SRAD", "HS", "Hotspot3D", "CONV"};
    const double pairs = (double)s->pairs, off_chiplet = p->off_chiplet - (double)s->off_chiplet / pairs,
                 off_gpu = p->off_gpu - (double)s->off_gpu / pairs;
    double limit = 1e-9;
    for (uint32_t k = 0; k < 4; k++)
        if (!strcmp(sample->name, stencils[k])) limit = 0.06;
    return p->known && off_chiplet < limit && off_chiplet > -limit && off_gpu < limit && off_gpu > -limit;
}

static void check_structure(struct oracle *o, const struct launch_array *a, const struct data_cut *cut,
                            const struct nodes *n, const struct map *lines,
                            const struct prediction *prediction)
{
    const struct shares s = shares_of(o, a, cut, n, lines);
    const double chiplet = per_cent(s.off_chiplet, s.pairs), gpu = per_cent(s.off_gpu, s.pairs),
                 least = per_cent(s.least, s.pairs), mean = (double)s.pages / n->count;
    const struct want *want = NULL;
    for (uint32_t k = 0; k < WANTS && o->sample->wants[k].argument; k++)
        if (!strcmp(o->sample->wants[k].argument, a->name)) want = &o->sample->wants[k];
    print_message(
        "%-18s %-4s %-13s off-chiplet %5.1f %% (least %5.1f), off-GPU %5.1f %%, pages: max %llu, mean %.1f\n",
        o->sample->name, a->name, cut_method_name(cut->method), chiplet, least, gpu,
        (unsigned long long)s.most_pages, mean);
    if (!want) return;
    const bool right = (want->chiplet < 0 || (chiplet > want->chiplet - 2 && chiplet < want->chiplet + 2)) &&
                       (want->gpu < 0 || (gpu > want->gpu - 2 && gpu < want->gpu + 2));
    const bool least_reached = want->shared || s.off_chiplet <= s.least + s.pairs / 1000;
    const bool balanced = s.pages < 4 * n->count || (double)s.most_pages <= 1.25 * mean + 1;
    const bool predicted = is_predicted(o->sample, prediction, &s);
    if (right && least_reached && balanced && predicted && s.pairs) return;
    print_error("%s %s:%s%s%s%s\n", o->sample->name, a->name, right ? "" : " shares differ;",
                predicted ? "" : " the prediction differs;",
                least_reached ? "" : " another map of pages has fewer lines off the chiplet;",
                balanced ? "" : " pages are not balanced");
    o->failed++;
}

static void execute(void *user, struct exec_launch *l)
{
    struct oracle *const o = user;
    const struct config *const c = &o->machine.config;
    struct map lines;
    exec_launch_begin(l);
    struct launch_facts facts = launch_facts_of(l, 0, 32);
    facts.arrays = analysis_arrays;
    facts.layout = analysis_layout;
    facts.analysis = l->analysis;
    const struct nodes n = nodes_at(c, NODE_CHIPLET, 1);
    const struct lasp_plan plan = lasp_plan(c, &facts, &n);
    struct cut_scratch *const scratch = cut_scratch_new(&o->arena, 12, n.count);
    map_init(&lines);
    run_blocks(l, &plan.binding, &lines);
    const struct launch_arrays *const a = launch_arrays(&facts);
    for (uint32_t k = 0; k < a->count; k++) {
        if (!a->array[k].bytes) continue;
        const struct data_cut cut = cut_of_array(&o->arena, c, &facts, &n, &plan, k, scratch);
        const struct prediction p = predict_array(&o->arena, c, &facts, &n, &plan, k);
        check_structure(o, &a->array[k], &cut, &n, &lines, &p);
    }
    map_free(&lines);
    exec_launch_end(l);
}

static void execute_coda(void *user, struct exec_launch *l)
{
    struct oracle *const o = user;
    const struct config *const c = &o->machine.config;
    struct map lines;
    exec_launch_begin(l);
    struct launch_facts facts = launch_facts_of(l, 0, 32);
    facts.arrays = analysis_arrays;
    facts.analysis = l->analysis;
    const struct nodes n = nodes_at(c, NODE_CHIPLET, 1);
    const struct binding binding = coda_binding(c, &facts, &n);
    map_init(&lines);
    run_blocks(l, &binding, &lines);
    const struct launch_arrays *const a = launch_arrays(&facts);
    for (uint32_t k = 0; k < a->count; k++) {
        if (strcmp(a->array[k].name, o->coda->argument)) continue;
        const uint64_t granule = coda_granule_of(c, &facts, k);
        const struct shares s = coda_shares_of(&a->array[k], granule, &n, &lines);
        const double chiplet = per_cent(s.off_chiplet, s.pairs), gpu = per_cent(s.off_gpu, s.pairs);
        print_message(
            "%-18s %-4s H-CODA %-6s granule %5llu, batch %3llu: off-chiplet %5.1f %%, off-GPU %5.1f %%\n",
            o->sample->name, a->array[k].name, o->coda->granule, (unsigned long long)granule,
            (unsigned long long)binding.batch, chiplet, gpu);
        const bool right = chiplet > o->coda->chiplet - 2 && chiplet < o->coda->chiplet + 2 &&
                           gpu > o->coda->gpu - 2 && gpu < o->coda->gpu + 2;
        if (!right) print_error("%s: shares differ\n", o->sample->name);
        o->failed += !right;
        o->seen = true;
    }
    map_free(&lines);
    exec_launch_end(l);
}

static void fill(float *words, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes / 4; k++) words[k] = 1.0f;
}

static void run_sample(void *arg)
{
    struct oracle *const o = arg;
    const struct sample *const s = o->sample;
    machine_init(&o->machine);
    machine_load(&o->machine, o->coda ? "ladm-hcoda" : "ladm-lasp-rtwice");
    if (o->coda) {
        char setting[64];
        (void)snprintf(setting, sizeof setting, "coda.granule=%s", o->coda->granule);
        machine_set(&o->machine, setting);
    } else if (*s->settings)
        machine_set(&o->machine, s->settings);
    machine_finish(&o->machine, &system_rules);
    struct rt_context *rt =
        rt_create(&(struct rt_options){.execute = o->coda ? execute_coda : execute, .execute_user = o});
    struct rt_kernel *k =
        rt_kernel_find(rt_module_load_file(rt, compile_path(s->file, COMPILE_O2)), s->kernel);
    const struct ptx_func *f = rt_kernel_ptx(k);
    struct rt_arg args[ARGS];
    for (uint32_t n = 0; n < f->n_params; n++) {
        const float number = (float)s->args[n].value;
        args[n] = (struct rt_arg){s->args[n].value, 4};
        if (s->args[n].kind == REAL) memcpy(&args[n].bits, &number, 4);
        if (s->args[n].kind != BUFFER) continue;
        void *buffer = rt_alloc(rt, s->args[n].value, NULL);
        fill(buffer, s->args[n].value);
        args[n] = (struct rt_arg){(uint64_t)(uintptr_t)buffer, 8};
    }
    rt_launch_args(rt, k, (struct rt_dim){s->grid[0], s->grid[1], s->grid[2]},
                   (struct rt_dim){s->block[0], s->block[1], s->block[2]}, 0, args, f->n_params);
    rt_wait(rt);
    rt_destroy(rt);
    machine_free(&o->machine);
}

static void placement_reaches_the_least_share_and_the_prototype(void **state)
{
    (void)state;
    uint32_t failed = 0;
    for (uint32_t k = 0; k < SAMPLES; k++) {
        struct oracle o = {.sample = &samples[k]};
        struct diag d;
        diag_init(&d);
        arena_init(&o.arena);
        if (diag_run(&d, run_sample, &o)) fail_msg("%s: %s", o.sample->name, d.text);
        arena_free(&o.arena);
        diag_clear(&d);
        failed += o.failed;
    }
    assert_int_equal(failed, 0);
}

static void coda_reaches_the_shares_of_the_prototype(void **state)
{
    (void)state;
    uint32_t failed = 0;
    for (uint32_t k = 0; k < CODA_WANTS; k++)
        for (uint32_t n = 0; n < SAMPLES; n++) {
            if (strcmp(samples[n].name, coda_wants[k].name)) continue;
            struct oracle o = {.sample = &samples[n], .coda = &coda_wants[k]};
            struct diag d;
            diag_init(&d);
            arena_init(&o.arena);
            if (diag_run(&d, run_sample, &o)) fail_msg("%s: %s", o.sample->name, d.text);
            arena_free(&o.arena);
            diag_clear(&d);
            assert_true(o.seen);
            failed += o.failed;
        }
    assert_int_equal(failed, 0);
}

/* ---- several launches over one array ---- */

enum { STEPS = 8, SHARED_BYTES = 280000 };

struct program {
    struct machine machine;
    struct stats_registry stats;
    struct arena arena;
    struct system *system;
    struct rt_kernel *add, *walk, *count;
    uint64_t watched; /* simulated address whose pages are compared */
    uint32_t launches;
    struct lasp_plan plan[STEPS];
    uint8_t locality[STEPS];      /* of the array that holds the watched address */
    uint32_t home[STEPS][64];     /* after the launch: node of page k; NODES_MAX: none */
    uint32_t expected[STEPS][64]; /* by the cut of this launch */
};

static void note_launch(void *user, struct exec_launch *l)
{
    struct program *const p = user;
    const struct config *const c = &p->machine.config;
    const uint32_t at = p->launches++;
    assert_true(at < STEPS);
    struct launch_facts facts = {.name = exec_kernel_ptx(l->kernel)->name,
                                 .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                 .blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
                                 .launch = l,
                                 .arrays = analysis_arrays,
                                 .layout = analysis_layout,
                                 .analysis = l->analysis};
    const struct nodes n = nodes_at(c, NODE_CHIPLET, 1);
    p->plan[at] = lasp_plan(c, &facts, &n);
    const uint32_t k = launch_structure_of(launch_arrays(&facts), p->watched + 1024);
    assert_int_not_equal(k, LAUNCH_NO_ARRAY);
    p->locality[at] = lasp_class(c, &facts, k);
    const struct data_cut cut =
        cut_of_array(&p->arena, c, &facts, &n, &p->plan[at], k, cut_scratch_new(&p->arena, 12, n.count));
    for (uint32_t page = 0; page < 64; page++)
        p->expected[at][page] = cut_node(&cut, (p->watched >> 12) + page);
    assert_true(system_run_kernel(p->system, 0, l));
    for (uint32_t page = 0; page < 64; page++) {
        const uint64_t *frame = pages_find(p->system->pages, 0, pages_key(0, (p->watched >> 12) + page));
        p->home[at][page] = frame ? (uint32_t)(*frame >> p->system->pages->map->bits) : NODES_MAX;
    }
}

static struct rt_context *open_program(struct program *p)
{
    arena_init(&p->arena);
    machine_init(&p->machine);
    machine_load(&p->machine, "ladm");
    machine_finish(&p->machine, &system_rules);
    stats_init(&p->stats, p->machine.config.sim.series_interval_cyc);
    p->system = system_new(&p->machine.config, &p->stats, true);
    struct rt_context *const rt = rt_create(
        &(struct rt_options){.execute = note_launch, .execute_user = p, .reserve_bytes = (uint64_t)1 << 30});
    p->add = rt_kernel_find(rt_module_load_file(rt, compile_path("no_locality", COMPILE_O2)), "vecadd");
    p->walk = rt_kernel_find(rt_module_load_file(rt, compile_path("intra_thread", COMPILE_O2)), "randomloc");
    p->count = rt_kernel_find(rt_module_load_file(rt, compile_path("row_column", COMPILE_O2)), "histo_main");
    return rt;
}

static void close_program(struct program *p, struct rt_context *rt)
{
    system_finish(p->system);
    rt_destroy(rt);
    system_free(p->system);
    stats_free(&p->stats);
    machine_free(&p->machine);
    arena_free(&p->arena);
}

static struct rt_arg pointer(const void *at) { return (struct rt_arg){(uint64_t)(uintptr_t)at, 8}; }
static struct rt_arg number(uint32_t n) { return (struct rt_arg){n, 4}; }

static void add_vectors(const struct program *p, struct rt_context *rt, const void *a, const void *b,
                        const void *c, uint32_t n)
{
    const struct rt_arg args[] = {pointer(a), pointer(b), pointer(c), number(n)};
    rt_launch_args(rt, p->add, (struct rt_dim){n / 128, 1, 1}, (struct rt_dim){128, 1, 1}, 0, args, 4);
    rt_wait(rt);
}

static void count_by_columns(const struct program *p, struct rt_context *rt, const void *in, const void *bins)
{
    const struct rt_arg args[] = {pointer(in), pointer(bins), number(65536), number(128)};
    rt_launch_args(rt, p->count, (struct rt_dim){16, 4, 1}, (struct rt_dim){16, 16, 1}, 0, args, 4);
    rt_wait(rt);
}

static void four_launches(void *arg)
{
    struct program *const p = arg;
    struct rt_context *rt = open_program(p);
    char *const x = rt_alloc(rt, SHARED_BYTES, "x");
    void *const b = rt_alloc(rt, 65536 * 4, "b"), *const c = rt_alloc(rt, 65536 * 4, "c"),
                *const d = rt_alloc(rt, 65536, "d");
    p->watched = rt_simulated(rt, x);
    add_vectors(p, rt, x, b, c, 65536);
    const struct rt_arg args[] = {pointer(x), pointer(d), number(65536), number(19)};
    rt_launch_args(rt, p->walk, (struct rt_dim){8, 1, 1}, (struct rt_dim){256, 1, 1}, 0, args, 4);
    rt_wait(rt);
    count_by_columns(p, rt, x, d);
    add_vectors(p, rt, x + 300, b, c, 65536 - 128);
    close_program(p, rt);
}

static void run_program(struct program *p, void (*body)(void *))
{
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, body, p)) fail_msg("%s", d.text);
    diag_clear(&d);
}

/* The first launch places the array. The others bind by their own classes and have their own cache hints. */
static void the_first_launch_places_and_every_launch_binds_by_its_own_class(void **state)
{
    (void)state;
    static struct program p;
    memset(&p, 0, sizeof p);
    run_program(&p, four_launches);
    static const uint8_t classes[] = {LOCALITY_NL, LOCALITY_ITL, LOCALITY_COL_V, LOCALITY_NL};
    static const enum binding_kind kinds[] = {BINDING_RUNS, BINDING_RUNS, BINDING_COLUMNS, BINDING_RUNS};
    static const uint64_t batches[] = {8, 1, 1, 8};
    assert_int_equal(p.launches, 4);
    for (uint32_t k = 0; k < 4; k++) {
        assert_int_equal(p.locality[k], classes[k]);
        assert_int_equal(p.plan[k].binding.kind, kinds[k]);
        assert_int_equal(p.plan[k].binding.batch, batches[k]);
        for (uint32_t page = 0; page < 64; page++) assert_int_equal(p.home[k][page], page / 4);
    }
    assert_true(memcmp(p.expected[0], p.expected[2], sizeof p.expected[0]) !=
                0); /* the third would place otherwise */
}

static void reused_addresses(void *arg)
{
    struct program *const p = arg;
    struct rt_context *rt = open_program(p);
    void *const b = rt_alloc(rt, 65536 * 4, "b"), *const c = rt_alloc(rt, 65536 * 4, "c");
    const uint64_t most = (uint64_t)700 * MI;
    void *const x = rt_alloc(rt, most, "x");
    p->watched = rt_simulated(rt, x);
    add_vectors(p, rt, x, b, c, 65536);
    rt_free(rt, x);
    void *const y = rt_alloc(rt, most, "y");
    assert_ptr_equal(x, y); /* the reserved range is used up */
    count_by_columns(p, rt, y, c);
    close_program(p, rt);
}

static void an_allocation_at_a_freed_address_is_placed_anew(void **state)
{
    (void)state;
    static struct program p;
    memset(&p, 0, sizeof p);
    run_program(&p, reused_addresses);
    assert_int_equal(p.launches, 2);
    for (uint32_t page = 0; page < 64; page++) {
        assert_int_equal(p.home[0][page], page / 4);
        assert_int_equal(p.home[1][page], p.expected[1][page]);
    }
    assert_true(memcmp(p.home[0], p.home[1], sizeof p.home[0]) != 0);
}

/* ---- cost of a launch ---- */

struct timed {
    struct machine machine;
    struct arena arena;
    double ms;
    uint32_t arrays;
};

static double cpu_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Host time of a launch: the table with its numbers, the plan, a cut per structure and the blocks of every node. The
 * analysis of the kernel, once per kernel, is not part of it: the second of two launches is measured. */
static void time_launch(void *user, struct exec_launch *l)
{
    struct timed *const t = user;
    const struct config *const c = &t->machine.config;
    exec_launch_begin(l);
    const double begin = cpu_ms();
    struct launch_facts facts = launch_facts_of(l, 0, 32);
    facts.arrays = analysis_arrays;
    facts.layout = analysis_layout;
    facts.analysis = l->analysis;
    const struct nodes n = nodes_at(c, NODE_CHIPLET, 1);
    struct cut_scratch *const scratch = cut_scratch_new(&t->arena, 12, n.count);
    const struct lasp_plan plan = lasp_plan(c, &facts, &n);
    const struct launch_arrays *const a = launch_arrays(&facts);
    t->arrays = 0;
    for (uint32_t k = 0; k < a->count; k++) {
        const struct data_cut cut = cut_of_array(&t->arena, c, &facts, &n, &plan, k, scratch);
        t->arrays += cut.method == CUT_INDEX;
    }
    uint64_t blocks = 0;
    for (uint32_t node = 0; node < n.count; node++)
        for (uint64_t b = binding_next(&plan.binding, node, 0); b < l->block_count;
             b = binding_next(&plan.binding, node, b + 1))
            blocks++;
    t->ms = cpu_ms() - begin;
    assert_int_equal(blocks, l->block_count);
    exec_launch_end(l);
}

static void time_launches(void *arg)
{
    struct timed *const t = arg;
    const uint64_t bytes = (uint64_t)320 * MI;
    machine_init(&t->machine);
    machine_load(&t->machine, "ladm");
    machine_finish(&t->machine, &system_rules);
    struct rt_context *rt = rt_create(&(struct rt_options){.execute = time_launch, .execute_user = t});
    struct rt_module *m = rt_module_load_file(rt, compile_path("no_locality", COMPILE_O2));
    struct rt_arg args[4];
    for (uint32_t k = 0; k < 3; k++)
        args[k] = (struct rt_arg){(uint64_t)(uintptr_t)rt_alloc(rt, bytes, NULL), 8};
    args[3] = (struct rt_arg){bytes / 4, 4};
    for (uint32_t k = 0; k < 2; k++)
        rt_launch_args(rt, rt_kernel_find(m, "vecadd"), (struct rt_dim){100000, 1, 1},
                       (struct rt_dim){839, 1, 1}, 0, args, 4);
    rt_wait(rt);
    rt_destroy(rt);
    machine_free(&t->machine);
}

static void a_launch_of_100000_blocks_over_1_gb_is_placed_in_5_ms(void **state)
{
    (void)state;
    struct timed t = {.ms = 0};
    struct diag d;
    diag_init(&d);
    arena_init(&t.arena);
    if (diag_run(&d, time_launches, &t)) fail_msg("%s", d.text);
    arena_free(&t.arena);
    diag_clear(&d);
    print_message("binding and placement of a launch: %.2f ms\n", t.ms);
    assert_int_equal(t.arrays, 3);
    assert_true(t.ms < 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placement_reaches_the_least_share_and_the_prototype),
        cmocka_unit_test(coda_reaches_the_shares_of_the_prototype),
        cmocka_unit_test(the_first_launch_places_and_every_launch_binds_by_its_own_class),
        cmocka_unit_test(an_allocation_at_a_freed_address_is_placed_anew),
        cmocka_unit_test(a_launch_of_100000_blocks_over_1_gb_is_placed_in_5_ms)};
    return cmocka_run_group_tests(tests, compile_begin, compile_end);
}
