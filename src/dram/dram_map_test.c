/* Address maps are one-to-one and lie as they should; frames are handed out row first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "config/machine.h"
#include "dram/dram_frames.h"
#include "system/rules.h"

struct fixture {
    struct machine machine;
    struct arena arena;
    struct dram_map *map;
};

/* The base machine with overrides separated by spaces. */
static void build(struct fixture *f, const char *overrides)
{
    machine_init(&f->machine);
    machine_load(&f->machine, "base");
    char text[500], *save = NULL;
    snprintf(text, sizeof text, "%s", overrides);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        machine_set(&f->machine, word);
    machine_finish(&f->machine, &system_rules);
    arena_init(&f->arena);
    f->map = dram_map_new(&f->arena, &f->machine.config);
}

static void drop(struct fixture *f)
{
    arena_free(&f->arena);
    machine_free(&f->machine);
}

static void guard(diag_body_fn *body)
{
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, body, NULL) != DIAG_NONE) fail_msg("%s", d.text);
    diag_clear(&d);
}
#define MAP_TEST(name) \
    static void name##_body(void *unused); \
    static void name(void **state) \
    { \
        (void)state; \
        guard(name##_body); \
    } \
    static void name##_body(void *unused __attribute__((unused)))

static const char *const kinds[] = {"fixed_channel", "interleaved", "pae", "page_move"};

static void check_in_range(const struct fixture *f, const struct dram_place *p)
{
    const struct config *c = &f->machine.config;
    assert_true(p->channel < config_channels_per_gpu(c));
    assert_true(p->slice < c->partition.slices / c->partition.channels);
    assert_true(p->bank < c->dram.bank_groups * c->dram.banks_per_group);
    assert_true(p->row < c->dram.rows && p->column < c->dram.columns);
}

MAP_TEST(every_address_has_a_place_of_its_own_exhaustively)
{
    /* 4 channels x 16 banks x 8 rows x 32 columns */
    for (size_t k = 0; k < 4; k++) {
        char overrides[300];
        snprintf(overrides, sizeof overrides,
                 "map.kind=%s chiplet.partitions=4 gpu.memory_size=1MiB dram.rows=8 map.stacks=2", kinds[k]);
        struct fixture f;
        build(&f, overrides);
        unsigned char *seen = calloc(1 << 14, 1);
        for (uint64_t address = 0; address < 1 << 20; address += 64) {
            const struct dram_place p = dram_map_place(f.map, address);
            check_in_range(&f, &p);
            const uint32_t packed = ((p.channel * 16 + p.bank) * 8 + p.row) * 32 + p.column;
            assert_false(seen[packed]);
            seen[packed] = 1;
            assert_int_equal(dram_map_address(f.map, &p), address);
            assert_int_equal(dram_map_channel(f.map, address), p.channel);
        }
        free(seen);
        drop(&f);
    }
}

MAP_TEST(every_machine_shape_has_one_to_one_maps)
{
    static const char *const shapes[] = {"chiplet.partitions=16 partition.slices=1",
                                         "chiplet.partitions=32 partition.slices=2",
                                         "chiplet.partitions=32 partition.slices=4",
                                         "chiplet.partitions=64 partition.slices=2",
                                         "chiplet.partitions=64 map.page_size=2MiB map.interleave=4KiB",
                                         "map.page_size=2MiB",
                                         "dram.columns=64 dram.rows=8192 gpu.memory_size=16GiB",
                                         "gpu.memory_size=6GiB map.hash_banks=false",
                                         "chiplet.partitions=16 partition.channels=2 map.stacks=8",
                                         "dram.column_size=32B dram.columns=64",
                                         "dram.bank_groups=8 map.page_size=64KiB"};
    struct rng rng = rng_seed(7, 1);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t k = 0; k < 4; k++) {
            char overrides[300];
            snprintf(overrides, sizeof overrides, "map.kind=%s %s", kinds[k], shapes[s]);
            struct fixture f;
            build(&f, overrides);
            const uint64_t step = f.machine.config.dram.column_size, size = f.map->size_bytes;
            for (int i = 0; i < 5000; i++) {
                uint64_t address = rng_below(&rng, size / step) * step;
                if (i == 0) address = size - step;
                const struct dram_place p = dram_map_place(f.map, address);
                check_in_range(&f, &p);
                assert_int_equal(dram_map_address(f.map, &p), address);
            }
            drop(&f);
        }
}

/* ---- fixed channel ---- */

MAP_TEST(the_fixed_channel_layout_is_that_of_the_notes)
{
    struct fixture f;
    build(&f, "map.kind=fixed_channel map.hash_banks=false");
    static const struct {
        uint32_t bit;
        struct dram_place place;
    } bits[] = {{6, {.column = 1}},    {7, {.bank = 4, .slice = 1}},
                {8, {.column = 2}},    {9, {.column = 4}},
                {10, {.bank = 8}},     {11, {.bank = 1}},
                {12, {.channel = 1}},  {16, {.channel = 16}},
                {17, {.column = 8}},   {18, {.column = 16}},
                {19, {.bank = 2}},     {20, {.row = 1}},
                {32, {.row = 1 << 12}}};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        const struct dram_place p = dram_map_place(f.map, UINT64_C(1) << bits[i].bit);
        assert_memory_equal(&p, &bits[i].place, sizeof p);
    }
    drop(&f);
}

/* A page of 4 KiB: one channel, both slices, 8 banks of 4 lines each, whatever the frame. */
MAP_TEST(a_page_of_a_fixed_channel_map_uses_one_channel_and_eight_banks)
{
    struct fixture f;
    build(&f, "map.kind=fixed_channel");
    struct rng rng = rng_seed(3, 1);
    for (int i = 0; i < 1000; i++) {
        const uint64_t page = rng_below(&rng, f.map->size_bytes >> 12) << 12;
        uint32_t lines_in_bank[16] = {0}, lines_in_slice[2] = {0};
        for (uint64_t line = 0; line < 32; line++) {
            const struct dram_place p = dram_map_place(f.map, page + 128 * line);
            assert_int_equal(p.channel, page >> 12 & 31);
            lines_in_bank[p.bank]++;
            lines_in_slice[p.slice]++;
            const struct dram_place half = dram_map_place(f.map, page + 128 * line + 64);
            assert_true(half.row == p.row && half.bank == p.bank && half.column == p.column + 1);
        }
        uint32_t banks = 0;
        for (int b = 0; b < 16; b++) {
            assert_true(lines_in_bank[b] == 0 || lines_in_bank[b] == 4);
            banks += lines_in_bank[b] != 0;
        }
        assert_int_equal(banks, 8);
        assert_int_equal(lines_in_slice[0], 16);
    }
    drop(&f);
}

MAP_TEST(two_megabyte_pages_keep_one_channel_each)
{
    struct fixture f;
    build(&f, "map.kind=fixed_channel map.page_size=2MiB");
    for (uint64_t page = 0; page < 64; page++)
        for (uint64_t line = 0; line < 16384; line += 37)
            assert_int_equal(dram_map_channel(f.map, (page << 21) + 128 * line), page & 31);
    drop(&f);
}

/* Rows of one bank that differ in one row bit lie in different banks after the hash. */
MAP_TEST(hashing_spreads_neighbouring_rows_over_banks)
{
    struct fixture f;
    build(&f, "map.kind=fixed_channel");
    uint32_t seen = 0;
    for (uint64_t row = 0; row < 16; row++) seen |= 1u << dram_map_place(f.map, row << 20).bank;
    assert_int_equal(seen, 0xffff);
    drop(&f);
}

/* ---- pae ---- */

MAP_TEST(pae_balances_strides_over_channels_and_depends_on_its_seed)
{
    struct fixture f, g;
    build(&f, "map.kind=pae");
    build(&g, "map.kind=pae sim.seed=2");
    bool differ = false;
    /* a stride of 2 MiB leaves one channel busy in an interleaved map; over all rows pae must use them all */
    uint32_t used[32] = {0};
    for (uint64_t i = 0; i < 4096; i++) {
        used[dram_map_channel(f.map, i << 21)]++;
        differ |= dram_map_channel(f.map, i << 21) != dram_map_channel(g.map, i << 21);
    }
    uint32_t channels = 0;
    for (int i = 0; i < 32; i++) channels += used[i] != 0;
    assert_true(channels >= 16);
    assert_true(differ);
    drop(&f);
    build(&f, "map.kind=pae sim.seed=2");
    for (uint64_t i = 0; i < 4096; i++)
        assert_int_equal(dram_map_channel(f.map, i * 12345 * 64 % f.map->size_bytes),
                         dram_map_channel(g.map, i * 12345 * 64 % f.map->size_bytes));
    drop(&f);
    drop(&g);
}

/* The bits of v at the places of an address that are listed. */
static uint64_t deposit(const uint32_t *bits, uint32_t count, uint64_t v)
{
    uint64_t address = 0;
    for (uint32_t i = 0; i < count; i++) address |= (v >> i & 1) << bits[i];
    return address;
}

/* 256 lines at any stride of a power of two, over the bits that choose: four in each of the 64 slices. */
MAP_TEST(pae_spreads_every_stride_of_a_power_of_two_evenly)
{
    for (int seed = 1; seed <= 5; seed++) {
        struct fixture f;
        char settings[64];
        uint32_t bits[DRAM_MAP_BITS_MAX], count = 0;
        (void)snprintf(settings, sizeof settings, "map.kind=pae sim.seed=%d", seed);
        build(&f, settings);
        for (uint32_t bit = f.map->offset_bits; bit < f.map->bits; bit++)
            if (f.map->layout[bit].field != DRAM_FIELD_COLUMN) bits[count++] = bit;
        assert_true(count >= 16 && f.map->slice_bits == 1);
        for (uint32_t first = 0; first + 8 <= count; first++) {
            uint32_t used[64] = {0};
            for (uint64_t i = 0; i < 256; i++) {
                const struct dram_place p = dram_map_place(f.map, deposit(bits + first, 8, i));
                used[p.channel * 2 + p.slice]++;
            }
            for (int i = 0; i < 64; i++) assert_int_equal(used[i], 4);
        }
        drop(&f);
    }
}

MAP_TEST(an_interleaved_map_puts_neighbours_into_neighbouring_channels)
{
    struct fixture f;
    build(&f, "map.kind=interleaved map.interleave=256B");
    for (uint64_t i = 0; i < 64; i++) assert_int_equal(dram_map_channel(f.map, 256 * i + 255), i & 31);
    drop(&f);
}

/* ---- page_move ---- */

/* UGPU Fig 8: block 6:0, stack 8:7, group 10:9, column 11, channel 14:12, bank 16:15, column 20:17, row
 * 33:21. */
MAP_TEST(the_page_move_layout_is_that_of_the_figure)
{
    struct fixture f;
    build(&f, "map.kind=page_move dram.columns=64 dram.rows=8192 gpu.memory_size=16GiB");
    static const struct {
        uint32_t bit;
        struct dram_place place;
    } bits[] = {{6, {.column = 1}},   {7, {.channel = 8}},   {8, {.channel = 16}},
                {9, {.bank = 4}},     {10, {.bank = 8}},     {11, {.column = 2, .slice = 1}},
                {12, {.channel = 1}}, {14, {.channel = 4}},  {15, {.bank = 1, .slice = 1}},
                {16, {.bank = 2}},    {17, {.column = 4}},   {20, {.column = 32}},
                {21, {.row = 1}},     {33, {.row = 1 << 12}}};
    assert_int_equal(f.map->bits, 34);
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        const struct dram_place p = dram_map_place(f.map, UINT64_C(1) << bits[i].bit);
        assert_memory_equal(&p, &bits[i].place, sizeof p);
    }
    drop(&f);
}

MAP_TEST(a_page_of_a_page_move_map_has_one_channel_index_in_all_stacks)
{
    struct fixture f;
    build(&f, "map.kind=page_move");
    struct rng rng = rng_seed(4, 1);
    for (int i = 0; i < 1000; i++) {
        const uint64_t page = rng_below(&rng, f.map->size_bytes >> 12) << 12;
        uint32_t stacks[4] = {0}, groups[4] = {0}, slices[2] = {0};
        for (uint64_t line = 0; line < 32; line++) {
            const struct dram_place p = dram_map_place(f.map, page + 128 * line);
            assert_int_equal(p.channel & 7, page >> 12 & 7);
            stacks[p.channel >> 3]++;
            groups[p.bank >> 2]++;
            slices[p.slice]++;
        }
        for (int j = 0; j < 4; j++) assert_true(stacks[j] == 8 && groups[j] == 8);
        assert_int_equal(slices[0], 16);
    }
    drop(&f);
}

/* ---- frames ---- */

MAP_TEST(frames_of_a_colour_fill_a_row_before_the_next_bank_and_row)
{
    for (size_t k = 0; k < 4; k += 3) { /* fixed_channel and page_move */
        char overrides[100];
        snprintf(overrides, sizeof overrides, "map.kind=%s map.hash_banks=false", kinds[k]);
        struct fixture f;
        build(&f, overrides);
        struct dram_frames *frames = dram_frames_new(&f.arena, f.map);
        assert_int_equal(dram_frames_colours(frames), k ? 8 : 32);
        uint64_t address, before = 0;
        const uint32_t colour = 5;
        uint32_t same_row = 0, row = 0;
        for (int i = 0; i < 64; i++) {
            assert_true(dram_frames_try_take(frames, colour, &address));
            assert_int_equal(address & 0xfff, 0);
            assert_int_equal(dram_frames_colour_of(frames, address), colour);
            const struct dram_place p = dram_map_place(f.map, address), q = dram_map_place(f.map, before);
            assert_int_equal(k ? p.channel & 7 : p.channel, colour);
            if (i) same_row += p.row == q.row && p.bank == q.bank;
            assert_true(p.row >= row); /* never back to an earlier row */
            row = p.row;
            before = address;
        }
        /* fixed: 4 frames per row of 8 banks; page_move with 2 KiB rows: 8 frames per row */
        assert_int_equal(same_row, k ? 64 - 8 : 64 - 16);
        drop(&f);
    }
}

MAP_TEST(every_frame_is_handed_out_once_and_a_full_colour_is_refused)
{
    for (size_t k = 0; k < 4; k++) {
        char overrides[200];
        snprintf(overrides, sizeof overrides,
                 "map.kind=%s chiplet.partitions=4 gpu.memory_size=3MiB dram.rows=32 map.stacks=2", kinds[k]);
        struct fixture f;
        build(&f, overrides);
        struct dram_frames *frames = dram_frames_new(&f.arena, f.map);
        unsigned char seen[768] = {0};
        uint64_t address, count = 0;
        for (uint32_t c = 0; c < dram_frames_colours(frames); c++)
            while (dram_frames_try_take(frames, c, &address)) {
                assert_true(address < f.map->size_bytes);
                assert_false(seen[address >> 12]);
                seen[address >> 12] = 1;
                count++;
            }
        assert_int_equal(count, 768);
        /* what is given back comes again */
        const uint32_t colour = dram_frames_colour_of(frames, 5 << 12);
        dram_frames_give(frames, 5 << 12);
        assert_int_equal(dram_frames_used(frames, colour), dram_frames_per_colour(frames) - 1);
        assert_true(dram_frames_try_take(frames, colour, &address));
        assert_int_equal(address, 5 << 12);
        assert_false(dram_frames_try_take(frames, colour, &address));
        drop(&f);
    }
}

/* ---- the index into a slice's sets ---- */

/* No two lines of a slice have the same bits where the map chooses neither channel nor slice. */
static void check_index(const char *overrides)
{
    struct fixture f;
    build(&f, overrides);
    const struct dram_map *const m = f.map;
    uint64_t index_mask = 0;
    for (uint32_t bit = 7; bit < m->bits; bit++)
        if (!dram_map_chooses_slice(m, bit)) index_mask |= UINT64_C(1) << bit;
    const uint64_t lines = m->size_bytes >> 7;
    assert_int_equal(lines >> __builtin_popcountll(index_mask),
                     UINT64_C(1) << (m->width[DRAM_FIELD_CHANNEL] + m->slice_bits));
    bool *const seen = ARENA_ARRAY(&f.arena, bool, lines);
    for (uint64_t address = 0; address < m->size_bytes; address += 128) {
        const struct dram_place p = dram_map_place(m, address);
        uint64_t at = (uint64_t)p.channel << m->slice_bits | p.slice;
        for (uint64_t left = index_mask; left; left &= left - 1)
            at = at << 1 | (address >> __builtin_ctzll(left) & 1);
        if (seen[at]) fail_msg("%s: address %lx has the index of another line", overrides, address);
        seen[at] = true;
    }
    drop(&f);
}

MAP_TEST(every_map_leaves_a_slice_all_of_its_index)
{
    char overrides[150];
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint32_t seed = 1; seed <= (k == 2 ? 24 : 1); seed++) /* pae: drawn */
            for (uint32_t slices = 1; slices <= 4; slices *= 2) {
                snprintf(overrides, sizeof overrides,
                         "map.kind=%s gpu.memory_size=64MiB sim.seed=%u partition.slices=%u", kinds[k], seed,
                         slices);
                check_index(overrides);
            }
}

/* ---- mistakes ---- */

static void three_channels(void *arg) { build(arg, "chiplet.partitions=3 gpu.memory_size=768MiB"); }
static void too_few_slices(void *arg) { build(arg, "partition.channels=4"); }
static void too_little_room(void *arg) { build(arg, "gpu.memory_size=64GiB"); }
static void no_bank_for_a_slice(void *arg)
{
    build(arg, "map.kind=page_move dram.banks_per_group=1 dram.rows=262144");
}

static void a_machine_without_a_map_is_the_users_mistake(void **state)
{
    (void)state;
    static const struct {
        diag_body_fn *body;
        const char *fragment;
    } cases[] = {{three_channels, "power of two"},
                 {too_few_slices, "at least one LLC slice"},
                 {no_bank_for_a_slice, "at most dram.banks_per_group"},
                 {too_little_room, "raise dram.rows"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        struct diag d;
        diag_init(&d);
        assert_int_equal(diag_run(&d, cases[i].body, &f), DIAG_MISTAKE);
        if (!strstr(d.text, cases[i].fragment)) fail_msg("'%s' not in: %s", cases[i].fragment, d.text);
        diag_clear(&d);
        machine_free(&f.machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_address_has_a_place_of_its_own_exhaustively),
        cmocka_unit_test(every_machine_shape_has_one_to_one_maps),
        cmocka_unit_test(the_fixed_channel_layout_is_that_of_the_notes),
        cmocka_unit_test(a_page_of_a_fixed_channel_map_uses_one_channel_and_eight_banks),
        cmocka_unit_test(two_megabyte_pages_keep_one_channel_each),
        cmocka_unit_test(hashing_spreads_neighbouring_rows_over_banks),
        cmocka_unit_test(pae_balances_strides_over_channels_and_depends_on_its_seed),
        cmocka_unit_test(pae_spreads_every_stride_of_a_power_of_two_evenly),
        cmocka_unit_test(an_interleaved_map_puts_neighbours_into_neighbouring_channels),
        cmocka_unit_test(the_page_move_layout_is_that_of_the_figure),
        cmocka_unit_test(a_page_of_a_page_move_map_has_one_channel_index_in_all_stacks),
        cmocka_unit_test(frames_of_a_colour_fill_a_row_before_the_next_bank_and_row),
        cmocka_unit_test(every_frame_is_handed_out_once_and_a_full_colour_is_refused),
        cmocka_unit_test(every_map_leaves_a_slice_all_of_its_index),
        cmocka_unit_test(a_machine_without_a_map_is_the_users_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
