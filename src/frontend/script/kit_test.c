/* Tests of what host scripts share: numbers, stencil cones, skewed graphs, matrix references, and how checks
 * sample. The references are compared with the plain way to compute the same. */
#include "cone.h"
#include "frontend/script/numbers.h"
#include "frontend/script/script_private.h"
#include "graph.h"
#include "matrix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A wl of our own: scripts know only the table. */
struct fake {
    struct script_app app; /* check.c knows it as an application */
    struct wl_calls calls;
};

static void *fake_scratch(struct wl *w, uint64_t bytes)
{
    return arena_alloc(&((struct fake *)w)->app.scratch, bytes);
}

static const void *fake_output(struct wl *w, const char *name, const void *device, uint64_t bytes)
{
    (void)w, (void)name, (void)bytes;
    return device;
}

static void *fake_input(struct wl *w, const char *name, uint64_t bytes, wl_fill_fn *fill, void *arg)
{
    void *const to = fake_scratch(w, bytes);
    (void)name;
    fill(arg, to, 0, bytes);
    return to;
}

static void fake_init(struct fake *f)
{
    *f = (struct fake){.calls = {.input = fake_input, .scratch = fake_scratch, .output = fake_output}};
    f->app.wl.calls = &f->calls;
    f->app.label = "fake";
    arena_init(&f->app.scratch);
}

/* ---- numbers ---- */

static void numbers_depend_on_seed_and_place_only(void **state)
{
    (void)state;
    assert_int_equal(wl_u64(1, 2), wl_u64(1, 2));
    assert_int_not_equal(wl_u64(1, 2), wl_u64(2, 2));
    assert_int_not_equal(wl_u64(1, 2), wl_u64(1, 3));
    double sum = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        const float x = wl_f32(7, i, -2, 6);
        assert_true(x >= -2 && x < 6);
        assert_true(wl_below(7, i, 10) < 10);
        sum += (double)x;
    }
    assert_true(fabs(sum / 100000 - 2) < 0.05); /* the middle, within 7 standard errors */
}

static void many_numbers_are_those_made_one_by_one(void **state)
{
    (void)state;
    enum { COUNT = 1003 };
    static const struct wl_numbers kinds[] = {{7, -2, 6}, {1, 0, 1},      {UINT64_MAX, -1e30f, 1e-3f},
                                              {0, 3, 3},  {9, 0, 1e-38f}, {8, 1e-42f, 3e-42f}};
    static const uint32_t bounds[] = {1, 1u << 31, 1u << 22, 0xfffffffbu, 7, 8};
    float f[COUNT], g[COUNT];
    uint32_t at[COUNT];
    for (uint32_t n = 0; n < 6; n++)
        for (uint64_t first = 0, count = COUNT; count > 900; first = first * 7 + 123456789, count--) {
            const struct wl_numbers *k = &kinds[n];
            numbers_f32(k, first, count, f);
            numbers_below(k->seed, first, count, bounds[n], at);
            numbers_f32_at(k, at, count, g);
            for (uint64_t i = 0; i < count; i++) {
                assert_true(f[i] == wl_f32(k->seed, first + i, k->low, k->high));
                assert_int_equal(at[i], wl_below(k->seed, first + i, bounds[n]));
                assert_true(g[i] == wl_f32(k->seed, at[i], k->low, k->high));
            }
        }
}

static void assert_numbers(struct wl *w, const struct wl_numbers *n, uint64_t first, uint64_t count)
{
    float want[3000], got[3000];
    assert_true(count <= 3000);
    numbers_f32(n, first, count, want);
    many_f32(w, n, first, count, got);
    assert_memory_equal(got, want, count * sizeof *got);
}

/* Whatever word a kernel changes, and however: the reference is made of what the input was. */
static void numbers_of_an_input_are_made_again_where_it_was_written(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 31, 1024, 1025, 2999};
    static const uint32_t changes[] = {1, 1u << 31, 0x00400000u, UINT32_MAX};
    for (uint32_t k = 0; k < 5; k++) {
        struct fake f;
        fake_init(&f);
        struct wl *const w = &f.app.wl;
        const struct wl_numbers n = {5 + k, -1, 1}, other = {5 + k, -1, 2};
        uint32_t *const words = input_f32(w, "x", counts[k], n.seed, n.low, n.high);
        assert_numbers(w, &n, 0, counts[k]);
        assert_numbers(w, &other, 0, counts[k]);
        assert_numbers(w, &n, 0, 2999); /* more than there are */
        assert_numbers(w, &n, counts[k] / 2, counts[k] - counts[k] / 2);
        for (uint64_t at = 0; at < counts[k]; at += 1 + at / 40) {
            words[at] ^= changes[at % 4];
            assert_numbers(w, &n, 0, counts[k]);
            words[at] ^= changes[at % 4];
        }
        memset(words, 0, counts[k] * sizeof *words);
        assert_numbers(w, &n, 0, counts[k]);
        arena_free(&f.app.scratch);
    }
}

static void numbers_are_the_same_when_every_one_is(void **state)
{
    (void)state;
    enum { COUNT = 77 };
    float a[COUNT], b[COUNT];
    numbers_f32(&(struct wl_numbers){1, -1, 1}, 0, COUNT, a);
    memcpy(b, a, sizeof b);
    for (uint64_t count = 0; count <= COUNT; count++) assert_true(numbers_same(a, b, count));
    for (uint32_t at = 0; at < COUNT; at++) {
        b[at] = at % 2 ? -a[at] : NAN;
        assert_false(numbers_same(a, b, COUNT));
        assert_true(numbers_same(a, b, at));
        b[at] = a[at];
    }
    a[0] = b[0] = NAN;
    assert_false(numbers_same(a, b, COUNT));
    a[0] = 0, b[0] = -0.0f;
    assert_true(numbers_same(a, b, COUNT));
}

/* ---- stencils ---- */

static float initial(uint64_t at) { return wl_f32(3, at, 0, 1); }

static float next(const struct cone *c, int y, int x, float t, float north, float south, float west,
                  float east)
{
    (void)c;
    return 0.5f * t + 0.1f * north + 0.15f * south + 0.2f * west + 0.05f * east + 0.001f * (float)(y * 2 + x);
}

static void a_cone_gives_what_a_whole_sweep_gives(void **state)
{
    (void)state;
    enum { ROWS = 13, COLS = 17, STEPS = 5 };
    struct fake f;
    fake_init(&f);
    struct cone c = cone_new(&f.app.wl, ROWS, COLS, STEPS);
    c.initial = initial, c.next = next;
    float grid[2][ROWS][COLS];
    for (int i = 0; i < ROWS * COLS; i++) grid[0][i / COLS][i % COLS] = initial((uint64_t)i);
    for (int s = 0; s < STEPS; s++) {
        float(*in)[COLS] = grid[s % 2], (*out)[COLS] = grid[1 - s % 2];
        for (int y = 0; y < ROWS; y++)
            for (int x = 0; x < COLS; x++)
                out[y][x] = next(&c, y, x, in[y][x], in[y ? y - 1 : y][x], in[y < ROWS - 1 ? y + 1 : y][x],
                                 in[y][x ? x - 1 : x], in[y][x < COLS - 1 ? x + 1 : x]);
    }
    for (int i = 0; i < ROWS * COLS; i++)
        assert_true(cone_value(&c, (uint64_t)i) == (double)grid[STEPS % 2][i / COLS][i % COLS]);
    arena_free(&f.app.scratch);
}

/* ---- graphs ---- */

static void graphs_have_skewed_degrees_and_targets(void **state)
{
    (void)state;
    enum { VERTICES = 50000, LEAST = 3 };
    struct fake f;
    fake_init(&f);
    const struct graph g = graph_new(&f.app.wl, 9, VERTICES, LEAST);
    assert_int_equal(g.edges, graph_edges(9, VERTICES, LEAST));
    uint32_t *in = calloc(VERTICES, sizeof *in), most_out = 0, most_in = 0, below_mean = 0;
    const double mean = (double)g.edges / VERTICES;
    for (uint32_t v = 0; v < VERTICES; v++) {
        const uint32_t degree = g.first[v + 1] - g.first[v];
        assert_true(degree >= LEAST && degree <= GRAPH_DEGREE_MAX);
        if (degree > most_out) most_out = degree;
        below_mean += degree < mean;
    }
    for (uint32_t e = 0; e < g.edges; e++) in[graph_target(&g, e)]++;
    for (uint32_t v = 0; v < VERTICES; v++)
        if (in[v] > most_in) most_in = in[v];
    assert_true(mean > 2 * LEAST && mean < 3.5 * LEAST);
    assert_true(most_out > 30 * mean && most_in > 30 * mean); /* hubs */
    assert_true(below_mean > VERTICES * 7 / 10);              /* and a crowd below the mean */
    free(in);
    arena_free(&f.app.scratch);
}

/* ---- matrices ---- */

static void matrix_references_are_dot_products(void **state)
{
    (void)state;
    const struct matrix a = {.seed = 4, .rows = 7, .cols = 9};
    const struct matrix_vector x = {.seed = 5};
    for (uint64_t i = 0; i < a.rows; i++) {
        double sum = 1;
        for (uint64_t j = 0; j < a.cols; j++)
            sum += (double)wl_f32(4, i * 9 + j, 0, 1) * (double)wl_f32(5, j, 0, 1);
        assert_true(fabs((double)matrix_row_dot(&a, i, x, 1) - sum) < 1e-5);
    }
    for (uint64_t j = 0; j < a.cols; j++) {
        double sum = 0;
        for (uint64_t i = 0; i < a.rows; i++)
            sum += (double)wl_f32(4, i * 9 + j, 0, 1) * (double)wl_f32(5, i, 0, 1);
        assert_true(fabs((double)matrix_col_dot(&a, j, x, 0) - sum) < 1e-5);
    }
}

/* ---- checks ---- */

struct job {
    struct fake *fake;
    struct wl_check check;
    bool floats;
};

static void run_check(void *arg)
{
    struct job *j = arg;
    (j->floats ? check_f32 : check_u32)(&j->fake->app.wl, &j->check);
}

static enum diag_kind kind_of(struct job *j)
{
    struct diag d;
    diag_init(&d);
    const enum diag_kind kind = diag_run(&d, run_check, j);
    diag_clear(&d);
    return kind;
}

static double seven(const void *arg, uint64_t i)
{
    (void)arg, (void)i;
    return 7;
}

static void a_check_of_cheap_words_reads_all_of_them(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    struct fake f;
    fake_init(&f);
    uint32_t words[COUNT];
    for (int i = 0; i < COUNT; i++) words[i] = 7;
    struct job j = {.fake = &f,
                    .check = {.name = "words", .output = words, .count = COUNT, .reference = seven}};
    assert_int_equal(kind_of(&j), DIAG_NONE);
    assert_int_equal(f.app.words_checked, COUNT);
    for (int i = 0; i < COUNT; i++) {
        words[i] ^= 1;
        assert_int_equal(kind_of(&j), DIAG_CHECK_FAILED);
        words[i] ^= 1;
    }
}

static void sevens(struct wl *w, const void *arg, uint64_t first, uint64_t count, float *to)
{
    (void)w, (void)arg, (void)first;
    for (uint64_t i = 0; i < count; i++) to[i] = 7;
}

static void a_check_by_blocks_finds_every_wrong_word(void **state)
{
    (void)state;
    enum { COUNT = 2 * WL_CHECK_BLOCK + 5 };
    struct fake f;
    fake_init(&f);
    float words[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) words[i] = 7;
    struct job j = {.fake = &f,
                    .floats = true,
                    .check = {.name = "words",
                              .output = words,
                              .count = COUNT,
                              .reference = seven,
                              .references = sevens,
                              .absolute = 0.5}};
    assert_int_equal(kind_of(&j), DIAG_NONE);
    assert_int_equal(f.app.words_checked, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        words[i] = 7.25f; /* allowed, though it is no equal block */
        assert_int_equal(kind_of(&j), DIAG_NONE);
        words[i] = 8;
        assert_int_equal(kind_of(&j), DIAG_CHECK_FAILED);
        words[i] = NAN;
        assert_int_equal(kind_of(&j), DIAG_CHECK_FAILED);
        words[i] = 7;
    }
}

static void a_sample_of_dear_words_holds_both_ends_and_is_bounded(void **state)
{
    (void)state;
    enum { COUNT = 100000, COST = 200000 }; /* the budget pays for 100 of them */
    struct fake f;
    fake_init(&f);
    float *words = malloc(COUNT * sizeof *words);
    for (int i = 0; i < COUNT; i++) words[i] = 7;
    struct job j = {
        .fake = &f,
        .floats = true,
        .check = {.name = "words", .output = words, .count = COUNT, .reference = seven, .cost = COST}};
    assert_int_equal(kind_of(&j), DIAG_NONE);
    assert_int_equal(f.app.words_checked, WL_CHECK_BUDGET / COST);
    for (int k = 0; k < 10; k++) {
        const int at = k % 2 ? COUNT - 1 - k : k;
        words[at] = 8;
        assert_int_equal(kind_of(&j), DIAG_CHECK_FAILED);
        words[at] = 7;
    }
    int caught = 0; /* all words of a third are wrong: the hash finds some wherever the third lies */
    for (int third = 0; third < 3; third++) {
        for (int i = 100; i < COUNT - 100; i++) words[i] = i / (COUNT / 3) == third ? 8 : 7;
        caught += kind_of(&j) == DIAG_CHECK_FAILED;
    }
    assert_int_equal(caught, 3);
    free(words);
}

static void tolerances_are_absolute_plus_relative_and_nan_never_passes(void **state)
{
    (void)state;
    struct fake f;
    fake_init(&f);
    float word = 7.1f;
    struct job j = {
        .fake = &f, .floats = true, .check = {.name = "w", .output = &word, .count = 1, .reference = seven}};
    assert_int_equal(kind_of(&j), DIAG_CHECK_FAILED);
    j.check.absolute = 0.11;
    assert_int_equal(kind_of(&j), DIAG_NONE);
    j.check.absolute = 0, j.check.relative = 0.02;
    assert_int_equal(kind_of(&j), DIAG_NONE);
    j.check.relative = 0.01;
    assert_int_equal(kind_of(&j), DIAG_CHECK_FAILED);
    j.check.relative = INFINITY;
    word = NAN;
    assert_int_equal(kind_of(&j), DIAG_CHECK_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_depend_on_seed_and_place_only),
        cmocka_unit_test(many_numbers_are_those_made_one_by_one),
        cmocka_unit_test(numbers_of_an_input_are_made_again_where_it_was_written),
        cmocka_unit_test(numbers_are_the_same_when_every_one_is),
        cmocka_unit_test(a_cone_gives_what_a_whole_sweep_gives),
        cmocka_unit_test(graphs_have_skewed_degrees_and_targets),
        cmocka_unit_test(matrix_references_are_dot_products),
        cmocka_unit_test(a_check_of_cheap_words_reads_all_of_them),
        cmocka_unit_test(a_check_by_blocks_finds_every_wrong_word),
        cmocka_unit_test(a_sample_of_dear_words_holds_both_ends_and_is_bounded),
        cmocka_unit_test(tolerances_are_absolute_plus_relative_and_nan_never_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
