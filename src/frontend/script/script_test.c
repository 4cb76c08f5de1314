/* Tests of the workload kit: requests, sizes, coroutines, checks, workloads outside the tree. */
#include "base/diag.h"
#include "frontend/script/script_private.h"
#include "ptx_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- helpers ---- */

struct request {
    const char *text;
    struct script_options options;
    uint64_t warp_instructions, words_checked, bytes_allocated;
    uint32_t outputs;
};

static void close_set(void *arg) { script_close(arg); }

static void run_request(void *arg)
{
    struct request *r = arg;
    struct script_set *set = script_open(r->text);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, close_set, set);
    script_start(set, &r->options);
    script_run(set);
    for (uint32_t i = 0; i < script_count(set); i++) {
        const struct script_app *app = script_app(set, i);
        assert_true(script_ended(app));
        r->warp_instructions += rt_totals(script_context(script_app(set, i))).warp_instructions;
        r->outputs += script_outputs(app);
        r->words_checked += script_words_checked(app);
        r->bytes_allocated += script_bytes_allocated(app);
    }
    diag_done(&cleanup, true);
}

static void open_request(void *arg) { script_close(script_open(arg)); }

/* The message that a request ends with. */
static void assert_mistake(const char *text, const char *part)
{
    struct diag d;
    diag_init(&d);
    const enum diag_kind kind = diag_run(&d, open_request, (void *)(uintptr_t)text);
    if (kind != DIAG_MISTAKE || !strstr(d.text, part))
        fail_msg("'%s': expected a mistake with \"%s\", got kind %d: %s", text, part, (int)kind,
                 d.text ? d.text : "");
    diag_clear(&d);
}

static void assert_opens(const char *text)
{
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, open_request, (void *)(uintptr_t)text) != DIAG_NONE) fail_msg("'%s': %s", text, d.text);
    diag_clear(&d);
}

/* ---- sizes ---- */

static void bad_requests_are_mistakes_that_say_why(void **state)
{
    (void)state;
    assert_mistake("vecadd:n=abc", "'abc' is not a whole number");
    assert_mistake("vecadd:n=abc", "-w:1:10: ");
    assert_mistake("vecadd:n=", "is not a whole number");
    assert_mistake("vecadd:n=1.5", "'1.5' is not a whole number");
    assert_mistake("vecadd:n=4KB", "'4KB' is not a whole number");
    assert_mistake("vecadd:n=-1", "n of vecadd (elements) goes from 1 to 1073741824");
    assert_mistake("vecadd:n=99999999999", "goes from 1 to 1073741824");
    assert_mistake("vecadd:n=99999999999999999999999", "is too large");
    assert_mistake("vecadd:n=9G", "goes from 1 to");
    assert_mistake("vecadd:n=1,n=2", "'n' is given twice");
    assert_mistake("vecadd:m=4",
                   "vecadd has no parameter 'm'; did you mean 'n'? (there are: n, block, four)");
    assert_mistake("conv2d:rows=4", "there are: ni, nj");
    assert_mistake("vecadd:tniy", "vecadd has no size 'tniy'; did you mean 'tiny'?");
    assert_mistake("vecadd:n=4,tiny", "expected parameter=number");
    assert_mistake("vecadd:tiny,", "nothing after the comma");
    assert_mistake("vecadd:", "expected a size after ':'");
    assert_mistake("sgemm:n=100", "must be a multiple of 16");
    assert_mistake("vecad", "there is no workload 'vecad'; did you mean 'vecadd'?");
    assert_mistake("qqqqqqqqqqqq", "atoll list workloads");
    assert_mistake("", "expected the name of a workload");
    assert_mistake("vecadd++bfs", "expected the name of a workload");
    assert_mistake("vecadd+bfz", "-w:1:8: there is no workload 'bfz'; did you mean 'bfs'?");
}

static void good_requests_open(void **state)
{
    (void)state;
    assert_opens("vecadd");
    assert_opens("vecadd:tiny");
    assert_opens("vecadd:small");
    assert_opens("vecadd:n=1048576");
    assert_opens("sgemm:n=256");
    assert_opens("mm:selrep3");
    assert_opens("stencil5:rows=1024,cols=1024");
    assert_opens("gather:n=256K,from=4M");
    assert_opens("mvt:nuba");
    assert_opens("bfs:tiny+sgemm+bfs:tiny,least=2");
}

static void values_follow_size_then_keys(void **state)
{
    (void)state;
    int64_t values[SCRIPT_PARAMS_MAX];
    const struct workload *sgemm = script_find("matmul_tiled");
    const char *text = "nuba,n=1K,repeat=3";
    spec_apply(sgemm, (struct diag_source){"", text, strlen(text)}, 0, strlen(text), values);
    assert_int_equal(values[0], 1024); /* n: the key */
    assert_int_equal(values[1], 0);    /* m: standard */
    assert_int_equal(values[2], 1712); /* k: of the size */
    assert_int_equal(values[3], 3);
}

/* ---- the registry ---- */

static void check_row(void *arg) { spec_check_workload(arg); }

static void every_workload_describes_itself(void **state)
{
    (void)state;
    assert_true(script_bundled_count() >= 23);
    for (size_t i = 0; i < script_bundled_count(); i++) {
        const struct workload *w = script_bundled(i);
        struct diag d;
        diag_init(&d);
        if (diag_run(&d, check_row, (void *)(uintptr_t)w) != DIAG_NONE) fail_msg("%s: %s", w->name, d.text);
        diag_clear(&d);
        assert_true(w->suite && w->sharing && w->description && w->footprint_bytes);
        assert_ptr_equal(script_find(w->name), w);
        const struct script_info info = script_info(w);
        assert_true(info.footprint_bytes > 0 && strlen(info.description) <= 80);
    }
}

/* Footprints that workloads.csv gives in MB, of which ours must be within 10 %. */
static void paper_settings_have_the_papers_footprint(void **state)
{
    (void)state;
    static const struct {
        const char *name, *size;
        double mb;
    } rows[] = {
        {"kmeans", "nuba", 136},
        {"blackscholes", "nuba", 48},
        {"conv2d", "nuba", 1074},
        {"mvt", "nuba", 6443},
        {"atax", "nuba", 1342},
        {"gesummv", "nuba", 1073},
        {"gemm_naive", "nuba", 84},
        {"btree", "nuba", 39},
        {"mm", "nuba", 8},
        {"nw", "nuba", 16},
        {"bicg", "nuba", 2013},
        {"triad", "carve", 3000},
        {"vecadd", "ladm", 60},
        {"blackscholes", "ladm", 80},
        {"reduction6", "ladm", 32},
        {"mm", "ladm", 128},
        {"transpose", "ladm", 32},
        {"btree", "ladm", 16},
        {"hotspot", "ugpu", 130},
        {"lavamd", "nuba", 7},
        {"lavamd", "ugpu", 123},
        {"lbm", "nuba", 389},
        {"lbm", "ladm", 370},
        {"dwt2d", "nuba", 302},
        {"pvc", "nuba", 1081},
        {"wordcount", "nuba", 542},
        {"stringmatch", "nuba", 146},
        {"fwt", "nuba", 269},
        {"backprop", "nuba", 75},
        {"fdtd2d", "nuba", 51},
        {"convsep", "nuba", 151},
        {"streamcluster", "nuba", 302},
        {"leukocyte", "nuba", 2},
        {"conv3d", "nuba", 1074},
        {"alexnet", "nuba", 1},
        {"squeezenet", "nuba", 1},
        {"resnet", "nuba", 4},
        {"gru", "nuba", 2},
        {"sgemm_parboil", "nuba", 9},
        {"backprop", "selrep", 18.8},
        {"lud", "selrep", 33.4},
        {"conv3d", "selrep", 102.2},
        {"btree", "selrep", 13.7},
        {"streamcluster", "ladm", 56},
        {"gups", "carve", 15000},
        {"xsbench", "carve", 4400},
        {"sssp", "carve", 42},
        {"sssp", "ladm", 57},
        {"raytrace", "carve", 150},
        {"bitcoin", "carve", 5600},
        {"amg", "carve", 3200},
        {"cnn_layer", "alexnet", 96},
        {"cnn_layer", "googlenet", 1200},
        {"cnn_layer", "overfeat", 88},
        {"mcb", "carve", 254},
        {"miniamr", "carve", 4400},
        {"hpgmg_amr", "carve", 7700},
        {"euler3d", "carve", 26},
        {"lulesh", "mesh1", 24},
        {"lulesh", "s190", 3700},
        {"nekbone", "carve", 1000},
        {"comd", "carve", 910},
        {"hpgmg", "carve", 2000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double mb = (double)script_footprint_bytes(script_find(rows[i].name), rows[i].size) / 1e6;
        if (mb < 0.9 * rows[i].mb || mb > 1.1 * rows[i].mb)
            fail_msg("%s:%s has %.1f MB, the paper %.1f", rows[i].name, rows[i].size, mb, rows[i].mb);
    }
}

/* SelRep's shared set of MM is A and B. */
static void selrep_matrices_have_the_shared_sets_of_the_paper(void **state)
{
    (void)state;
    static const double mb[] = {0.04, 0.1, 0.6, 1.9, 3.8};
    const struct workload *sgemm = script_find("mm");
    for (int i = 0; i < 5; i++) {
        char size[] = "selrep0";
        size[6] = (char)('0' + i);
        int64_t v[SCRIPT_PARAMS_MAX];
        spec_apply(sgemm, (struct diag_source){"", size, 7}, 0, 7, v);
        const int64_t m = v[1] ? v[1] : v[0], k = v[2] ? v[2] : v[0];
        const double shared = (double)(4 * k * (m + v[0])) / 1e6;
        assert_true(shared > 0.9 * mb[i] && shared < 1.1 * mb[i]);
    }
}

/* ---- device code ---- */

/* PolyBench accumulates in global memory inside the loop: the private traffic that NUBA makes local. */
static void polybench_loops_load_and_store_their_sums(void **state)
{
    (void)state;
    for (size_t i = 0; i < PTX_POLYBENCH_COUNT; i++) {
        char file[64];
        (void)snprintf(file, sizeof file, "%s.%s.ptx", ptx_polybench[i][0], ptx_polybench[i][0]);
        const struct embedded_file *f = embedded_workloads;
        while (f->name && strcmp(f->name, file) != 0) f++;
        assert_non_null(f->name);
        if (!ptx_loop_loads_what_it_stores(f->text, ptx_polybench[i][1]))
            fail_msg("%s keeps its sum in a register", ptx_polybench[i][1]);
    }
    /* The test itself: a register accumulator is noticed. */
    assert_false(
        ptx_loop_loads_what_it_stores(".entry k(\nL1:\n\tld.global.f32 %f1, [%rd1];\n\tst.global.f32 [%rd2], "
                                      "%f2;\n\t@%p1 bra L1;\n}\n",
                                      "k"));
    assert_true(
        ptx_loop_loads_what_it_stores(".entry k(\nL1:\n\tld.global.f32 %f1, [%rd2];\n\tst.global.f32 [%rd2], "
                                      "%f2;\n\t@%p1 bra L1;\n}\n",
                                      "k"));
}

/* ---- coroutines ---- */

struct counting {
    struct fiber fiber;
    struct diag diag;
    int steps, reached;
    bool raises;
};

static void count_up(void *arg)
{
    struct counting *c = arg;
    volatile char deep[4096]; /* its own stack */
    for (int i = 0; i < c->steps; i++) {
        deep[i] = (char)i;
        c->reached += deep[i] == (char)i;
        fiber_yield(&c->fiber);
    }
    if (c->raises) diag_mistake("raised in a fiber at step %d", c->reached);
}

static void count_in_fiber(void *arg)
{
    struct counting *c = arg;
    (void)diag_run(&c->diag, count_up, c);
}

static void interleave(void *arg)
{
    struct counting *c = arg; /* three of them */
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < 3; i++)
            if (!c[i].fiber.ended) any |= fiber_resume(&c[i].fiber);
    }
    diag_mistake("raised outside, after all");
}

static void fibers_interleave_and_raise_on_their_own_stacks(void **state)
{
    (void)state;
    struct counting c[3] = {{.steps = 5, .raises = true}, {.steps = 17}, {.steps = 1, .raises = true}};
    struct diag outer;
    diag_init(&outer);
    for (int i = 0; i < 3; i++) {
        diag_init(&c[i].diag);
        fiber_init(&c[i].fiber, count_in_fiber, &c[i]);
    }
    assert_int_equal(diag_run(&outer, interleave, c), DIAG_MISTAKE);
    assert_string_equal(outer.text, "raised outside, after all\n");
    assert_int_equal(c[1].reached, 17);
    assert_int_equal(c[1].diag.kind, DIAG_NONE);
    assert_string_equal(c[0].diag.text, "raised in a fiber at step 5\n");
    assert_string_equal(c[2].diag.text, "raised in a fiber at step 1\n");
    for (int i = 0; i < 3; i++) {
        fiber_free(&c[i].fiber);
        diag_clear(&c[i].diag);
    }
    diag_clear(&outer);
}

/* ---- every workload ---- */

static enum diag_kind run_text(const char *text, struct request *r, struct diag *d)
{
    r->text = text;
    diag_init(d);
    return diag_run(d, run_request, r);
}

static void every_tiny_workload_passes_and_allocates_its_footprint(void **state)
{
    (void)state;
    for (size_t i = 0; i < script_bundled_count(); i++) {
        const struct workload *w = script_bundled(i);
        char text[96];
        (void)snprintf(text, sizeof text, "%s:tiny", w->name);
        struct request r = {0};
        struct diag d;
        if (run_text(text, &r, &d) != DIAG_NONE) fail_msg("%s: %s", text, d.text);
        diag_clear(&d);
        assert_true(r.outputs > 0 && r.warp_instructions > 0);
        const uint64_t footprint = script_footprint_bytes(w, "tiny");
        if (r.bytes_allocated != footprint)
            fail_msg("%s allocates %llu bytes and says %llu", text, (unsigned long long)r.bytes_allocated,
                     (unsigned long long)footprint);
    }
}

/* Any output word of any workload, inverted, is found. */
static void a_wrong_output_word_fails_the_check_of_every_workload(void **state)
{
    (void)state;
    static const double places[] = {0, 1, 0.5, 0.123, 0.789};
    for (size_t i = 0; i < script_bundled_count(); i++) {
        char text[96];
        (void)snprintf(text, sizeof text, "%s:tiny", script_bundled(i)->name);
        struct request whole = {0};
        struct diag d;
        assert_int_equal(run_text(text, &whole, &d), DIAG_NONE);
        for (uint32_t output = 1; output <= whole.outputs; output++) {
            for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
                struct request r = {.options = {.flip_output = output, .flip_at = places[p]}};
                const enum diag_kind kind = run_text(text, &r, &d);
                if (kind != DIAG_CHECK_FAILED)
                    fail_msg("%s: output %u wrong at %.3f gives kind %d", text, output, places[p], (int)kind);
                diag_clear(&d);
            }
        }
    }
}

static void copies_that_interleave_do_what_one_does_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"bfs", "nw", "kmeans", "stencil5"}; /* several launches each */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char alone[64], both[128];
        (void)snprintf(alone, sizeof alone, "%s:tiny", names[i]);
        (void)snprintf(both, sizeof both, "%s:tiny+%s:tiny", names[i], names[i]);
        struct request one = {0}, two = {0};
        struct diag d;
        if (run_text(alone, &one, &d) != DIAG_NONE) fail_msg("%s: %s", alone, d.text);
        if (run_text(both, &two, &d) != DIAG_NONE) fail_msg("%s: %s", both, d.text);
        assert_int_equal(two.warp_instructions, 2 * one.warp_instructions);
        assert_int_equal(two.words_checked, 2 * one.words_checked);
        assert_int_equal(two.outputs, 2 * one.outputs);
    }
}

/* A set may be closed while its scripts rest in the middle. */
static void abandon(void *arg)
{
    (void)arg;
    struct script_set *set = script_open("bfs:tiny+nw:tiny+vecadd:tiny");
    script_start(set, NULL);
    assert_int_equal(script_resume(script_app(set, 0)), SCRIPT_WAITS);
    assert_int_equal(script_resume(script_app(set, 1)), SCRIPT_WAITS);
    assert_true(rt_run_next(script_context(script_app(set, 1))));
    script_close(set);
}

static void a_run_can_be_abandoned(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, abandon, NULL) != DIAG_NONE) fail_msg("%s", d.text);
}

/* 6.4 GB of input, of which nothing is touched before the first launch runs. */
static void start_large(void *arg)
{
    (void)arg;
    struct rusage before, after;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    struct script_set *set = script_open("mvt:nuba");
    script_start(set, NULL);
    assert_int_equal(script_resume(script_app(set, 0)), SCRIPT_WAITS);
    assert_true(script_bytes_allocated(script_app(set, 0)) > (uint64_t)6 << 30);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    script_close(set);
    assert_true(after.ru_maxrss - before.ru_maxrss < 32 * 1024); /* KiB */
}

static void a_large_input_costs_nothing_until_it_is_touched(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, start_large, NULL) != DIAG_NONE) fail_msg("%s", d.text);
}

/* Math, warp functions, atomics, vector types, constant and dynamic shared memory, against C. */
static void every_function_of_the_device_header_does_what_cuda_says(void **state)
{
    (void)state;
    struct request r = {0};
    struct diag d;
    if (run_text("tests/kit/device_functions:tiny", &r, &d) != DIAG_NONE) fail_msg("%s", d.text);
    diag_clear(&d);
    assert_int_equal(r.outputs, 8);
}

/* Blocks that wait for each other, by a barrier in a second file of device code. */
static void a_script_launches_cooperatively_and_has_several_files(void **state)
{
    (void)state;
    struct request r = {0};
    struct diag d;
    if (run_text("tests/kit/grid_wide:tiny", &r, &d) != DIAG_NONE) fail_msg("%s", d.text);
    assert_int_equal(r.outputs, 1);
    assert_int_equal(run_text("tests/kit/grid_wide:blocks=2560", &r, &d), DIAG_MISTAKE);
    assert_non_null(strstr(d.text, "does not fit the machine"));
    diag_clear(&d);
}

/* ---- workloads outside the tree ---- */

struct outside_folder {
    char path[64], cache[64];
};

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static const char device_text[] = "#include \"device.h\"\n"
                                  "#include \"factor.h\"\n"
                                  "extern \"C\" __global__ void times(const float *in, float *out, int n)\n"
                                  "{\n"
                                  "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                  "    if (i < n) out[i] = FACTOR * in[i];\n"
                                  "}\n";
static const char script_text[] =
    "#include \"workload.h\"\n"
    "#include \"factor.h\"\n"
    "static const struct wl_param params[] = {{\"n\", 1000, 1, 100000, 0, \"elements\"}, {0}};\n"
    "static const struct wl_size sizes[] = {{\"tiny\", \"n=100\", NULL}, {0}};\n"
    "static double expected(const void *arg, uint64_t i) { (void)arg; return FACTOR * wl_f32(1, i, 0, 1); }\n"
    "static uint64_t footprint(const struct wl *w) { return 8 * (uint64_t)wl_param(w, \"n\"); }\n"
    "static void run(struct wl *w)\n"
    "{\n"
    "    const int n = (int)wl_param(w, \"n\");\n"
    "    float *in = wl_input_f32(w, \"in\", n, 1, 0, 1), *out = wl_alloc(w, \"out\", n * sizeof *out);\n"
    "    WL_LAUNCH(w, \"times\", wl_dim(wl_blocks(n, 64)), wl_dim(64), in, out, n);\n"
    "    wl_check_f32(w, &(struct wl_check){.name = \"out\", .output = out, .count = n, .reference = "
    "expected});\n"
    "}\n"
    "WORKLOAD(mine, .description = \"times two\", .params = params, .sizes = sizes,\n"
    "         .footprint_bytes = footprint, .run = run);\n";

static int make_outside(void **state)
{
    struct outside_folder *f = calloc(1, sizeof *f);
    (void)snprintf(f->path, sizeof f->path, "/tmp/atoll-test-XXXXXX");
    (void)snprintf(f->cache, sizeof f->cache, "/tmp/atoll-cache-XXXXXX");
    if (!mkdtemp(f->path) || !mkdtemp(f->cache)) return -1;
    write_file(f->path, "mine.cu", device_text);
    write_file(f->path, "mine.c", script_text);
    write_file(f->path, "factor.h", "#define FACTOR 2.0f\n");
    *state = f;
    return setenv("ATOLL_CACHE", f->cache, 1);
}

static int remove_outside(void **state)
{
    struct outside_folder *f = *state;
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf %s %s", f->path, f->cache);
    (void)unsetenv("ATOLL_CACHE");
    (void)unsetenv("ATOLL_CLANG");
    (void)unsetenv("CC");
    const int result = system(command);
    free(f);
    return result;
}

static void assert_runs(const char *path, const char *size, enum diag_kind expected, const char *part)
{
    char text[128];
    (void)snprintf(text, sizeof text, "%s%s", path, size);
    struct request r = {0};
    struct diag d;
    const enum diag_kind kind = run_text(text, &r, &d);
    if (kind != expected || (part && !strstr(d.text, part)))
        fail_msg("%s: kind %d, expected %d with \"%s\": %s", text, (int)kind, (int)expected, part ? part : "",
                 d.text ? d.text : "");
    diag_clear(&d);
}

static void a_folder_of_the_user_is_compiled_cached_and_run(void **state)
{
    const struct outside_folder *f = *state;
    assert_runs(f->path, ":tiny", DIAG_NONE, NULL);
    /* The second time no compiler is needed ... */
    (void)setenv("PATH_SAVED", getenv("PATH"), 1);
    (void)setenv("PATH", "/nonexistent", 1);
    assert_runs(f->path, ":n=77", DIAG_NONE, NULL);
    /* ... but after a change of any file it is. */
    write_file(f->path, "factor.h", "#define FACTOR 3.0f\n");
    assert_runs(f->path, ":tiny", DIAG_MISTAKE, "cannot compile");
    (void)setenv("PATH", getenv("PATH_SAVED"), 1);
    assert_runs(f->path, ":tiny", DIAG_NONE, NULL);
    assert_runs(f->path, ":n=0", DIAG_MISTAKE, "n of mine (elements) goes from 1 to 100000");
    char both[160];
    (void)snprintf(both, sizeof both, ":tiny+vecadd:tiny+%s:n=5", f->path);
    assert_runs(f->path, both, DIAG_NONE, NULL);
}

static void a_missing_compiler_is_named(void **state)
{
    const struct outside_folder *f = *state;
    (void)setenv("ATOLL_CLANG", "no-such-clang", 1);
    assert_runs(f->path, ":tiny", DIAG_MISTAKE, "no-such-clang");
    (void)unsetenv("ATOLL_CLANG");
    (void)setenv("CC", "no-such-cc", 1);
    assert_runs(f->path, ":tiny", DIAG_MISTAKE, "no-such-cc");
}

static void a_compiler_may_have_words(void **state)
{
    const struct outside_folder *f = *state;
    (void)setenv("CC", "env LANG=C cc", 1);
    (void)setenv("ATOLL_CLANG", "env clang  -w", 1);
    assert_runs(f->path, ":tiny", DIAG_NONE, NULL);
}

static void compiler_messages_are_shown(void **state)
{
    const struct outside_folder *f = *state;
    write_file(f->path, "mine.cu", "__global__ void broken( { }\n");
    assert_runs(f->path, ":tiny", DIAG_MISTAKE, "mine.cu:1:");
    write_file(f->path, "mine.cu", device_text);
    write_file(f->path, "mine.c", "int nothing = undeclared;\n");
    assert_runs(f->path, ":tiny", DIAG_MISTAKE, "undeclared");
    write_file(f->path, "mine.c", "int nothing;\n");
    assert_runs(f->path, ":tiny", DIAG_MISTAKE, "does not define its workload");
}

static void a_folder_without_its_files_is_a_mistake(void **state)
{
    const struct outside_folder *f = *state;
    char text[160];
    (void)snprintf(text, sizeof text, "%s/absent", f->path);
    assert_mistake(text, "cannot open the workload folder");
    write_file(f->path, "second.c", "");
    assert_mistake(f->path, "two host scripts");
    assert_mistake("/", "has no host script");
}

/* A check that fails outside the tree is a failed check, not a crash. */
static void a_wrong_result_outside_the_tree_fails_its_check(void **state)
{
    const struct outside_folder *f = *state;
    char text[4000];
    (void)snprintf(text, sizeof text, "#define FACTOR 2.5f\n#undef FACTOR\n#include \"factor.h\"\n%s",
                   device_text);
    char *factor = strstr(text, "FACTOR * in[i]");
    assert_non_null(factor);
    memcpy(factor, "1.5f  ", 6);
    write_file(f->path, "mine.cu", text);
    assert_runs(f->path, ":tiny", DIAG_CHECK_FAILED, "out[0] is");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_requests_are_mistakes_that_say_why),
        cmocka_unit_test(good_requests_open),
        cmocka_unit_test(values_follow_size_then_keys),
        cmocka_unit_test(every_workload_describes_itself),
        cmocka_unit_test(paper_settings_have_the_papers_footprint),
        cmocka_unit_test(selrep_matrices_have_the_shared_sets_of_the_paper),
        cmocka_unit_test(polybench_loops_load_and_store_their_sums),
        cmocka_unit_test(fibers_interleave_and_raise_on_their_own_stacks),
        cmocka_unit_test(every_tiny_workload_passes_and_allocates_its_footprint),
        cmocka_unit_test(a_wrong_output_word_fails_the_check_of_every_workload),
        cmocka_unit_test(copies_that_interleave_do_what_one_does_alone),
        cmocka_unit_test(a_run_can_be_abandoned),
        cmocka_unit_test(a_large_input_costs_nothing_until_it_is_touched),
        cmocka_unit_test_setup_teardown(every_function_of_the_device_header_does_what_cuda_says, make_outside,
                                        remove_outside),
        cmocka_unit_test_setup_teardown(a_script_launches_cooperatively_and_has_several_files, make_outside,
                                        remove_outside),
        cmocka_unit_test_setup_teardown(a_folder_of_the_user_is_compiled_cached_and_run, make_outside,
                                        remove_outside),
        cmocka_unit_test_setup_teardown(a_missing_compiler_is_named, make_outside, remove_outside),
        cmocka_unit_test_setup_teardown(a_compiler_may_have_words, make_outside, remove_outside),
        cmocka_unit_test_setup_teardown(compiler_messages_are_shown, make_outside, remove_outside),
        cmocka_unit_test_setup_teardown(a_folder_without_its_files_is_a_mistake, make_outside,
                                        remove_outside),
        cmocka_unit_test_setup_teardown(a_wrong_result_outside_the_tree_fails_its_check, make_outside,
                                        remove_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
