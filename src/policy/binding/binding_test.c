/* Bindings: every block has one node, runs and rows are as even as they can be, and pages follow the blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/locality.h"
#include "arena_fixture.h"
#include "base/rng.h"
#include "policy/binding/data_cut.h"

static struct nodes nodes_of(uint32_t gpus, uint32_t chiplets)
{
    return (struct nodes){
        .count = gpus * chiplets, .sms_per_node = 1, .colours_per_node = 1, .per_gpu = chiplets};
}

static struct launch_facts grid_of(uint32_t x, uint32_t y, uint32_t z)
{
    return (struct launch_facts){
        .name = "k", .grid = {x, y, z}, .block = {32, 1, 1}, .blocks = (uint64_t)x * y * z};
}

static const struct {
    uint32_t gpus, chiplets;
} machines[] = {{2, 1}, {4, 1}, {1, 4}, {4, 4}, {3, 5}};
enum { MACHINES = sizeof machines / sizeof *machines };

/* ---- the contract of every binding ---- */

static struct binding binding_number(uint32_t kind, const struct launch_facts *l, const struct nodes *n,
                                     struct rng *r)
{
    const uint64_t batch = 1 + rng_below(r, 9);
    switch (kind) {
    case 0: return binding_runs(l, n, batch);
    case 1: return binding_turns(l, n, batch);
    case 2: return binding_lines(l, n, BINDING_ROWS, false);
    case 3: return binding_lines(l, n, BINDING_ROWS, true);
    case 4: return binding_lines(l, n, BINDING_COLUMNS, false);
    default: return binding_lines(l, n, BINDING_COLUMNS, true);
    }
}

/* A node's blocks come in grid order, each once, and all nodes together have every block. */
static void check_contract(const struct binding *b)
{
    uint64_t blocks = 0, sum = 0;
    for (uint32_t node = 0; node < b->nodes; node++)
        for (uint64_t k = binding_next(b, node, 0); k < b->blocks; k = binding_next(b, node, k + 1)) {
            const uint32_t x = (uint32_t)(k % b->grid[0]), y = (uint32_t)(k / b->grid[0] % b->grid[1]),
                           z = (uint32_t)(k / b->grid[0] / b->grid[1]);
            assert_int_equal(binding_node_of(b, k), node);
            assert_int_equal(binding_node(b, x, y, z), node);
            blocks++;
            sum += k;
        }
    assert_int_equal(blocks, b->blocks);
    assert_int_equal(sum, b->blocks * (b->blocks - 1) / 2);
}

static void every_block_has_one_node(void **state)
{
    (void)state;
    struct rng r = rng_seed(3, 1);
    for (uint32_t m = 0; m < MACHINES; m++)
        for (uint32_t k = 0; k < 60; k++) {
            const struct nodes n = nodes_of(machines[m].gpus, machines[m].chiplets);
            const struct launch_facts l =
                grid_of(1 + (uint32_t)rng_below(&r, 40), 1 + (uint32_t)rng_below(&r, 30),
                        1 + (uint32_t)rng_below(&r, 3));
            const struct binding b = binding_number(k % 6, &l, &n, &r);
            check_contract(&b);
        }
}

/* The number of units (batches, rows) of two nodes differs by one at most. */
static void runs_are_even_and_cut_at_batches(void **state)
{
    (void)state;
    const struct nodes n = nodes_of(4, 4);
    const struct launch_facts l = grid_of(480, 1, 1);
    const struct binding b = binding_runs(&l, &n, 8); /* 60 batches */
    uint32_t batches[16] = {0};
    for (uint64_t k = 0; k < 480; k += 8) {
        const uint32_t node = binding_node_of(&b, k);
        for (uint64_t j = k; j < k + 8; j++) assert_int_equal(binding_node_of(&b, j), node);
        if (k) assert_true(node >= binding_node_of(&b, k - 1));
        batches[node]++;
    }
    for (uint32_t k = 0; k < 16; k++) assert_in_range(batches[k], 3, 4);
}

/* LADM, III-D: a GPU gets contiguous rows, its chiplets take them in turn. */
static void rows_of_a_gpu_go_to_its_chiplets_in_turn(void **state)
{
    (void)state;
    const struct nodes n = nodes_of(4, 4);
    const struct launch_facts l = grid_of(8, 32, 1);
    const struct binding turn = binding_lines(&l, &n, BINDING_ROWS, true),
                         flat = binding_lines(&l, &n, BINDING_ROWS, false);
    for (uint32_t y = 0; y < 32; y++) {
        assert_int_equal(binding_node(&turn, 3, y, 0), y / 8 * 4 + y % 8 % 4);
        assert_int_equal(binding_node(&flat, 3, y, 0), y / 2);
    }
    assert_int_equal(binding_axes(&turn), 1u << LAUNCH_Y);
}

static void fewer_columns_than_nodes_are_runs_of_blocks(void **state)
{
    (void)state;
    const struct nodes n = nodes_of(4, 4);
    const struct launch_facts l = grid_of(10, 16, 1);
    const struct binding b = binding_lines(&l, &n, BINDING_COLUMNS, true);
    for (uint64_t k = 0; k < 160; k++) assert_int_equal(binding_node_of(&b, k), k / 10);
    assert_int_equal(binding_axes(&b), 1u << LAUNCH_X | 1u << LAUNCH_Y);
}

/* ---- pages against an enumeration of all bytes ---- */

enum { NODES_MAX = 16, LINES_MAX = 1 << 16 };
static uint16_t touched[LINES_MAX]; /* [line from the first page on] a bit per node */

/* Sums all digits, one value after another. */
static void enumerate(const struct data_cut *cut, const struct launch_pattern *p, uint64_t first_address)
{
    uint64_t value[LAUNCH_DIGITS_MAX] = {0};
    for (bool more = true; more;) {
        int64_t at = 0;
        uint32_t xyz[4] = {0};
        for (uint32_t k = 0; k < p->digits; k++) {
            const struct launch_digit *d = &p->digit[k];
            at += (int64_t)(value[k] * d->step);
            xyz[d->axis] = (uint32_t)(d->descending ? d->count - 1 - value[k] : value[k]);
        }
        const uint32_t node = binding_node(&cut->binding, xyz[0], xyz[1], xyz[2]);
        for (uint32_t k = 0; k < p->pieces; k++)
            for (int64_t byte = at + p->piece[k].first; byte < at + p->piece[k].end; byte += 4)
                if (byte >= 0 && byte < (int64_t)cut->bytes) {
                    const uint64_t line = (cut->base + (uint64_t)byte - first_address) >> 7;
                    assert_true(line < LINES_MAX);
                    touched[line] |= (uint16_t)(1u << node);
                }
        more = false;
        for (uint32_t k = 0; k < p->digits && !more; k++) {
            if (++value[k] < p->digit[k].count)
                more = true;
            else
                value[k] = 0;
        }
    }
}

static void check_pages(const struct data_cut *cut)
{
    const uint64_t first = cut->base >> cut->page_log2, last = (cut->base + cut->bytes - 1) >> cut->page_log2;
    const uint32_t lines = 1u << (cut->page_log2 - 7);
    memset(touched, 0, sizeof touched);
    for (uint32_t k = 0; k < cut->patterns; k++) enumerate(cut, &cut->pattern[k], first << cut->page_log2);
    for (uint64_t page = first; page <= last; page++) {
        uint32_t count[NODES_MAX] = {0}, most = 0;
        for (uint32_t k = 0; k < lines; k++)
            for (uint32_t node = 0; node < cut->binding.nodes; node++)
                count[node] += touched[(page - first) * lines + k] >> node & 1;
        for (uint32_t node = 0; node < cut->binding.nodes; node++)
            if (count[node] > most) most = count[node];
        const uint32_t node = cut_node(cut, page);
        assert_true(node < cut->binding.nodes);
        assert_int_equal(count[node], most);
        assert_int_equal(node, cut_node(cut, page)); /* a pure function */
    }
}

/* Tiles with halos, strides and reversed axes, on odd grids, with a base anywhere in a page. */
static void a_page_is_where_most_of_its_lines_are_touched(void **state)
{
    (void)state;
    static const uint32_t page_log2s[] = {12, 16, 21};
    struct rng r = rng_seed(11, 2);
    for (uint32_t k = 0; k < 240; k++) {
        const uint32_t m = k % MACHINES;
        const struct nodes n = nodes_of(machines[m].gpus, machines[m].chiplets);
        const uint32_t gx = 1 + (uint32_t)rng_below(&r, 9), gy = 1 + (uint32_t)rng_below(&r, 7);
        const struct launch_facts l = grid_of(gx, gy, 1);
        const uint64_t tile = 4 * (1 + rng_below(&r, 64)), halo = 4 * rng_below(&r, 8),
                       row = gx * tile + 4 * rng_below(&r, 50);
        const uint64_t rows = 1 + rng_below(&r, 6), overlap = rng_below(&r, 2);
        const struct launch_bytes piece = {-(int64_t)halo, (int64_t)(tile + halo)};
        struct launch_pattern p = {.piece = &piece, .pieces = 1};
        if (gy > 1) p.digit[p.digits++] = (struct launch_digit){row * rows, gy, LAUNCH_Y, rng_below(&r, 2)};
        if (rows + overlap > 1)
            p.digit[p.digits++] = (struct launch_digit){row, rows + overlap, LAUNCH_FREE, false};
        if (gx > 1) p.digit[p.digits++] = (struct launch_digit){tile, gx, LAUNCH_X, rng_below(&r, 2)};
        const uint32_t page_log2 = page_log2s[rng_below(&r, 3)];
        struct data_cut cut = {.method = CUT_INDEX,
                               .binding = binding_number(k % 6, &l, &n, &r),
                               .base = ((uint64_t)7 << 30) + 4 * rng_below(&r, 2048),
                               .bytes = row * (rows * gy + overlap),
                               .page_log2 = page_log2,
                               .pattern = &p,
                               .patterns = 1,
                               .scratch = cut_scratch_new(&arena, page_log2, n.count)};
        cut.end = cut.bytes;
        check_pages(&cut);
    }
}

/* Weights of a fully connected layer under column binding: four nodes have equal parts of each page. */
static void nodes_that_touch_equally_many_lines_take_pages_in_turn(void **state)
{
    (void)state;
    const struct nodes n = nodes_of(4, 4);
    const struct launch_facts l = grid_of(128, 2, 1);
    const struct launch_bytes piece = {0, 128};
    for (uint32_t deep = 8; deep <= 512; deep *= 8) {
        const struct launch_pattern p = {
            .digit = {{16384, deep, LAUNCH_FREE, false}, {128, 128, LAUNCH_X, false}},
            .digits = 2,
            .piece = &piece,
            .pieces = 1};
        for (uint32_t in_turn = 0; in_turn < 2; in_turn++) {
            struct data_cut cut = {.method = CUT_INDEX,
                                   .binding = binding_lines(&l, &n, BINDING_COLUMNS, in_turn),
                                   .base = (uint64_t)1 << 30,
                                   .bytes = deep * 16384,
                                   .end = deep * 16384,
                                   .page_log2 = 12,
                                   .pattern = &p,
                                   .patterns = 1,
                                   .scratch = cut_scratch_new(&arena, 12, 16)};
            uint32_t pages[16] = {0};
            for (uint64_t k = 0; k < deep * 4; k++) {
                const uint32_t node = cut_node(&cut, (cut.base >> 12) + k);
                assert_int_equal(node / 4, k % 4); /* the GPU of the columns */
                pages[node]++;
            }
            for (uint32_t k = 0; k < 16; k++) assert_int_equal(pages[k], deep / 4);
        }
    }
}

/* Only every fourth page is touched; a page between follows the one below. */
static void untouched_pages_follow_the_touched_page_below(void **state)
{
    (void)state;
    const struct nodes n = nodes_of(1, 4);
    const struct launch_facts l = grid_of(8, 1, 1);
    const struct launch_bytes piece = {0, 256};
    const struct launch_pattern p = {
        .digit = {{16384, 8, LAUNCH_X, false}}, .digits = 1, .piece = &piece, .pieces = 1};
    struct data_cut cut = {.method = CUT_INDEX,
                           .binding = binding_runs(&l, &n, 1),
                           .base = ((uint64_t)1 << 30) + 8192,
                           .bytes = 8 * 16384,
                           .end = 7 * 16384 + 256,
                           .page_log2 = 12,
                           .pattern = &p,
                           .patterns = 1,
                           .scratch = cut_scratch_new(&arena, 12, 4)};
    for (uint64_t k = 0; k < 32; k++) assert_int_equal(cut_node(&cut, (cut.base >> 12) + k), k / 8);
    assert_int_equal(cut_node(&cut, (cut.base >> 12) - 2), 0); /* below all touched bytes */
}

/* ---- the plan of a launch ---- */

static struct launch_array array_of(uint8_t locality, uint64_t bytes, const char *name)
{
    return (struct launch_array){.base = (uint64_t)1 << 30,
                                 .bytes = bytes,
                                 .allocation = (uint64_t)1 << 30,
                                 .locality = locality,
                                 .end = bytes,
                                 .name = name,
                                 .datablock_bytes = 512};
}

static struct launch_arrays given;
static const struct launch_arrays *give(void *analysis)
{
    (void)analysis;
    return &given;
}

static void the_class_of_the_winner_decides_on_the_binding(void **state)
{
    (void)state;
    static const struct {
        uint8_t locality;
        enum binding_kind kind;
        uint64_t batch;
    } rows[] = {{LOCALITY_NL, BINDING_RUNS, 8},       {LOCALITY_ROW_H, BINDING_ROWS, 1},
                {LOCALITY_COL_H, BINDING_COLUMNS, 1}, {LOCALITY_ROW_V, BINDING_ROWS, 1},
                {LOCALITY_COL_V, BINDING_COLUMNS, 1}, {LOCALITY_ITL, BINDING_RUNS, 1},
                {LOCALITY_NONE, BINDING_RUNS, 1},     {LOCALITY_UNKNOWN, BINDING_RUNS, 1}};
    struct config c;
    config_defaults(&c);
    c.map.page_size = 4096;
    const struct nodes n = nodes_of(4, 4);
    struct launch_facts l = grid_of(64, 64, 1);
    l.arrays = give;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const struct launch_array arrays[] = {array_of(LOCALITY_NL, 4096, "p0"),
                                              array_of(rows[k].locality, 8192, "p1")};
        given = (struct launch_arrays){arrays, 2, 1};
        const struct lasp_plan plan = lasp_plan(&c, &l, &n);
        assert_int_equal(plan.winner, 1);
        assert_int_equal(plan.binding.kind, rows[k].kind);
        assert_int_equal(plan.binding.batch, rows[k].batch);
        c.lasp.class = lasp_source_given;
        c.lasp.force = "other/p1:no-locality,k/p1:column-vertical";
        assert_int_equal(lasp_plan(&c, &l, &n).binding.kind, BINDING_COLUMNS);
        assert_int_equal(lasp_class(&c, &l, 0), LOCALITY_NL);
        c.lasp.class = lasp_source_analysis;
    }
    assert_true(lasp_force_is_valid(&c));
    static const char *const wrong[] = {"k", "k/p0", "k:no-locality", "k/p0:diagonal", "k/p0:no-locality,x"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        c.lasp.force = wrong[k];
        assert_false(lasp_force_is_valid(&c));
    }
}

/* A block's bytes decide on a batch only where they decide on the granule. Pages in turn have nothing to do with the
 * few bytes that a loop over edges touches at a time: batches of them would put a small grid on one node. */
static void coda_deals_blocks_one_by_one_where_pages_go_in_turn(void **state)
{
    (void)state;
    static const struct {
        uint8_t locality;
        uint64_t datablock_bytes, granule, batch;
    } rows[] = {{LOCALITY_NL, 512, 512, 1},   {LOCALITY_NL, 32, 128, 4},    {LOCALITY_NL, 16384, 4096, 1},
                {LOCALITY_ROW_H, 64, 128, 2}, {LOCALITY_ITL, 16, 0, 1},     {LOCALITY_ITL, 1024, 0, 1},
                {LOCALITY_NONE, 16, 0, 1},    {LOCALITY_UNKNOWN, 16, 0, 1}, {LOCALITY_NL, 0, 4096, 1}};
    struct config c;
    config_defaults(&c);
    c.map.page_size = 4096;
    const struct nodes n = nodes_of(4, 4);
    struct launch_facts l = grid_of(256, 1, 1);
    l.arrays = give;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct launch_array a = array_of(rows[k].locality, 1 << 20, "p0");
        a.datablock_bytes = rows[k].datablock_bytes;
        given = (struct launch_arrays){&a, 1, 0};
        const struct binding b = coda_binding(&c, &l, &n);
        assert_int_equal(b.kind, BINDING_TURNS);
        assert_int_equal(b.batch, rows[k].batch);
        assert_int_equal(coda_granule_of(&c, &l, 0), rows[k].granule);
    }
}

/* Array A of a matrix product under the column binding of B: all blocks in x share it, so its own rows decide. */
static void a_structure_that_the_binding_cannot_cut_follows_its_own_class(void **state)
{
    (void)state;
    struct config c;
    config_defaults(&c);
    c.map.page_size = 4096;
    const struct nodes n = nodes_of(2, 2);
    struct launch_facts l = grid_of(16, 16, 1);
    const struct launch_bytes piece = {0, 4096};
    const struct launch_pattern rows = {
        .digit = {{4096, 16, LAUNCH_Y, false}}, .digits = 1, .piece = &piece, .pieces = 1};
    const struct launch_pattern columns = {
        .digit = {{65536, 16, LAUNCH_FREE, false}, {4096, 16, LAUNCH_X, false}},
        .digits = 2,
        .piece = &piece,
        .pieces = 1};
    struct launch_array arrays[] = {array_of(LOCALITY_ROW_H, 65536, "p0"),
                                    array_of(LOCALITY_COL_V, 1 << 20, "p1")};
    arrays[0].pattern = &rows;
    arrays[1].pattern = &columns;
    arrays[0].patterns = arrays[1].patterns = 1;
    arrays[0].any = 1u << LAUNCH_X;
    arrays[1].any = 1u << LAUNCH_Y;
    given = (struct launch_arrays){arrays, 2, 1};
    l.arrays = give;
    const struct lasp_plan plan = lasp_plan(&c, &l, &n);
    struct cut_scratch *const scratch = cut_scratch_new(&arena, 12, 4);
    const struct data_cut a = cut_of_array(&arena, &c, &l, &n, &plan, 0, scratch),
                          b = cut_of_array(&arena, &c, &l, &n, &plan, 1, scratch);
    for (uint32_t k = 0; k < 16; k++) {
        assert_int_equal(cut_node(&a, (a.base >> 12) + k), k / 8 * 2 + k % 2); /* row k: in turn in its GPU */
        assert_int_equal(cut_node(&b, (b.base >> 12) + 16 * 5 + k), k / 8 * 2 + k % 2);
    }
    /* given as unclassified, a structure lies in contiguous parts, although its index is known */
    c.lasp.class = lasp_source_given;
    c.lasp.force = "k/p1:unclassified";
    const struct lasp_plan forced = lasp_plan(&c, &l, &n);
    const struct data_cut parts = cut_of_array(&arena, &c, &l, &n, &forced, 1, scratch);
    assert_int_equal(parts.method, CUT_PROPORTIONAL);
    for (uint32_t k = 0; k < 256; k++) assert_int_equal(cut_node(&parts, (parts.base >> 12) + k), k / 64);
}

/* Arrays behind each other, as those of a lattice: the pieces lie farther apart than the steps of the digits. */
static void distant_pieces_are_all_found(void **state)
{
    (void)state;
    const struct nodes n = nodes_of(2, 2);
    const struct launch_facts l = grid_of(6, 9, 1);
    const struct launch_bytes pieces[] = {{0, 480}, {40000, 40480}, {75000, 75520}, {140004, 140484}};
    const struct launch_pattern p = {.digit = {{3072, 9, LAUNCH_Y, true}, {512, 6, LAUNCH_X, false}},
                                     .digits = 2,
                                     .piece = pieces,
                                     .pieces = 4};
    for (uint32_t kind = 0; kind < 6; kind++) {
        struct rng r = rng_seed(5, kind);
        struct data_cut cut = {.method = CUT_INDEX,
                               .binding = binding_number(kind, &l, &n, &r),
                               .base = ((uint64_t)3 << 30) + 1028,
                               .bytes = 170000,
                               .end = 170000,
                               .page_log2 = 12,
                               .pattern = &p,
                               .patterns = 1,
                               .scratch = cut_scratch_new(&arena, 12, n.count)};
        check_pages(&cut);
    }
}

/* Equations 1 and 2 of the paper. */
static void literal_placement_deals_parts_of_the_stride(void **state)
{
    (void)state;
    struct config c;
    config_defaults(&c);
    c.map.page_size = 4096;
    c.lasp.match = lasp_match_literal;
    const struct nodes n = nodes_of(2, 2);
    struct launch_facts l = grid_of(16, 16, 1);
    struct launch_array arrays[] = {array_of(LOCALITY_NL, 1 << 20, "p0"),
                                    array_of(LOCALITY_NL, 1 << 20, "p1"),
                                    array_of(LOCALITY_ITL, 1 << 20, "p2")};
    arrays[0].stride_bytes = 65536; /* 16 KiB to each of four nodes */
    given = (struct launch_arrays){arrays, 3, 0};
    l.arrays = give;
    const struct lasp_plan plan = lasp_plan(&c, &l, &n);
    for (uint32_t k = 0; k < 3; k++) {
        const struct data_cut cut = cut_of_array(&arena, &c, &l, &n, &plan, k, NULL);
        for (uint64_t page = 0; page < 256; page++)
            assert_int_equal(cut_node(&cut, (cut.base >> 12) + page), k ? page / 64 : page / 4 % 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_block_has_one_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_are_even_and_cut_at_batches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_of_a_gpu_go_to_its_chiplets_in_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fewer_columns_than_nodes_are_runs_of_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_page_is_where_most_of_its_lines_are_touched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nodes_that_touch_equally_many_lines_take_pages_in_turn, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(untouched_pages_follow_the_touched_page_below, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_class_of_the_winner_decides_on_the_binding, set_up, tear_down),
        cmocka_unit_test_setup_teardown(coda_deals_blocks_one_by_one_where_pages_go_in_turn, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_structure_that_the_binding_cannot_cut_follows_its_own_class, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(distant_pieces_are_all_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(literal_placement_deals_parts_of_the_stride, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
