/* l1.count_conflicts: misses for capacity and for conflict of known streams, and that counting changes
 * nothing else. */
#include "base/rng.h"
#include "system_testbed.h"

/* Eight lines, lines that are 8 / ways apart share a set. */
#define COUNTED "l1.count_conflicts=true;l1.index=linear;"
#define DIRECT  COUNTED "l1.size=1 KiB;l1.ways=1;"
#define NO_SETS COUNTED "l1.size=1 KiB;l1.ways=8;"
enum { LINES = 8 };

#define GPU_FENCE \
    { \
        .class = WARP_CLASS_FENCE, .flags = WARP_F_ACQUIRE | WARP_F_RELEASE, .scope = WARP_SCOPE_GPU, \
        .dst = BED_NO_REG, .src = BED_NO_REG \
    }

/* A program of one warp, which grows. */
struct stream {
    struct bed_op ops[BED_OPS_MAX];
    uint32_t count, loads;
};

static uint64_t address_of(uint64_t line) { return 0x10000 + line * LINE_BYTES; }

static void add(struct stream *s, struct bed_op op)
{
    assert_true(s->count < BED_OPS_MAX - 1);
    s->ops[s->count++] = op;
}
/* Others follow while it is on its way. */
static void load_early(struct stream *s, uint64_t line)
{
    add(s, (struct bed_op)BED_LOAD(address_of(line), (uint8_t)(1 + s->loads++ % 32)));
}
static void wait_for_last(struct stream *s)
{
    add(s, (struct bed_op)BED_USE((uint8_t)(1 + (s->loads - 1) % 32)));
}
static void load(struct stream *s, uint64_t line)
{
    load_early(s, line);
    wait_for_last(s);
}
static void store(struct stream *s, uint64_t line)
{
    add(s, (struct bed_op)BED_STORE(address_of(line), BED_NO_REG));
}

static struct l1_stats run(struct stream *s, const char *settings)
{
    struct bed b;
    s->ops[s->count] = (struct bed_op)BED_END;
    bed_open(&b, settings);
    bed_run(&b, s->ops, 1, 1);
    const struct l1_stats l1 = bed_stats(&b).l1;
    assert_int_equal(l1.misses_capacity + l1.misses_conflict, l1.misses_replaced);
    bed_close(&b);
    return l1;
}

/* ---- streams with a known answer ---- */

BED_TEST(two_lines_of_one_set_that_alternate_conflict)
{
    struct stream s = {0};
    for (uint32_t round = 0; round < 10; round++) {
        load(&s, 0);
        load(&s, LINES);
    }
    const struct l1_stats l1 = run(&s, DIRECT);
    assert_int_equal(l1.misses_cold, 2);
    assert_int_equal(l1.misses_conflict, 2 * 9);
    assert_int_equal(l1.misses_capacity, 0);
    assert_int_equal(l1.misses_replaced, 2 * 9);
}

/* Of an LRU cache without sets such a loop throws out each line just before it is used again. In one with
 * sets only the two lines that share one miss: a cache without sets would not have had them, either. */
BED_TEST(a_loop_over_one_line_more_than_fit_misses_for_capacity)
{
    struct stream s = {0};
    for (uint32_t k = 0; k < 10 * (LINES + 1); k++) load(&s, k % (LINES + 1));
    const struct l1_stats all = run(&s, NO_SETS), two = run(&s, DIRECT);
    assert_int_equal(all.misses_cold, LINES + 1);
    assert_int_equal(all.misses_capacity, 9 * (LINES + 1));
    assert_int_equal(all.misses_conflict, 0);
    assert_int_equal(two.misses_capacity, 9 * 2);
    assert_int_equal(two.misses_conflict, 0);
    assert_int_equal(two.hits, 9 * (LINES - 1));
}

/* Which lines a set of LRU lines has, the newest first; true: it had the line. */
static bool use(uint64_t *set, uint32_t ways, uint64_t line)
{
    uint32_t at = 0;
    while (at < ways - 1 && set[at] != line + 1) at++;
    const bool had = set[at] == line + 1;
    memmove(&set[1], &set[0], at * sizeof *set);
    set[0] = line + 1;
    return had;
}

BED_TEST(any_loads_miss_for_what_a_naive_model_says)
{
    static const char *const settings[] = {COUNTED "l1.size=1 KiB;l1.ways=2;l1.allocate=on_miss",
                                           COUNTED "l1.size=1 KiB;l1.ways=2;l1.allocate=on_fill"};
    enum { WAYS = 2, SETS = LINES / WAYS, RANGE = 14 };
    struct rng rng = rng_seed(1, 0);
    for (uint32_t trial = 0; trial < 20; trial++) {
        uint64_t sets[SETS][WAYS] = {0}, whole[LINES] = {0}, conflicts = 0, capacities = 0;
        bool seen[RANGE] = {0};
        struct stream s = {0};
        for (uint32_t k = 0; k < 120; k++) {
            const uint64_t line = rng_below(&rng, RANGE);
            const bool hit = use(sets[line % SETS], WAYS, line), in_whole = use(whole, LINES, line);
            conflicts += !hit && seen[line] && in_whole;
            capacities += !hit && seen[line] && !in_whole;
            seen[line] = true;
            load(&s, line);
        }
        assert_true(conflicts && capacities);
        const struct l1_stats l1 = run(&s, settings[trial % 2]);
        assert_int_equal(l1.misses_conflict, conflicts);
        assert_int_equal(l1.misses_capacity, capacities);
    }
}

/* ---- which accesses count as a use ---- */

/* It tries again and again for an MSHR; a use at its first trial would be found by the last. */
BED_TEST(an_access_that_waits_is_one_use)
{
    struct stream s = {0};
    for (uint32_t k = 0; k < 10 * (LINES + 1); k++) load_early(&s, k % (LINES + 1));
    const struct l1_stats l1 = run(&s, NO_SETS "l1.mshrs=1");
    assert_true(l1.wait_mshr > 0);
    assert_int_equal(l1.misses_capacity, 9 * (LINES + 1));
    assert_int_equal(l1.misses_conflict, 0);
}

/* A cache of two lines: 0 and 2 share a set. */
#define TWO COUNTED "l1.size=256 B;l1.ways=1;"

BED_TEST(a_hit_is_a_use)
{
    struct stream s = {0};
    load(&s, 0);
    load(&s, 1);
    load(&s, 0); /* hits: 1 is the older one from now on */
    load(&s, 2);
    load(&s, 0);
    const struct l1_stats l1 = run(&s, TWO);
    assert_int_equal(l1.hits, 1);
    assert_int_equal(l1.misses_conflict, 1);
}

BED_TEST(a_load_that_merges_is_a_use)
{
    struct stream s = {0};
    load_early(&s, 0);
    load_early(&s, 1);
    load_early(&s, 0);
    wait_for_last(&s);
    load(&s, 2);
    load(&s, 0);
    const struct l1_stats l1 = run(&s, TWO);
    assert_int_equal(l1.merged, 1);
    assert_int_equal(l1.misses_conflict, 1);
    assert_int_equal(l1.misses_capacity, 0);
}

/* ---- what takes lines from caches with and without sets ---- */

/* 2 takes the place of 0, which without sets would stay until the store. */
BED_TEST(a_store_takes_a_line_that_made_room_before)
{
    struct stream s = {0};
    load(&s, 0);
    load(&s, 2);
    store(&s, 0);
    load(&s, 0);
    const struct l1_stats evicts = run(&s, TWO "l1.write_hit=evict"),
                          updates = run(&s, TWO "l1.write_hit=update");
    assert_int_equal(evicts.misses_capacity, 1);
    assert_int_equal(evicts.misses_conflict, 0);
    assert_int_equal(updates.misses_capacity, 0);
    assert_int_equal(updates.misses_conflict, 1);
}

/* It makes it stale, whatever l1.write_hit says: the place of 0 is free, and 1 stays beside 3. */
BED_TEST(a_store_takes_a_line_on_its_way)
{
    struct stream s = {0};
    load(&s, 1);
    load_early(&s, 0);
    store(&s, 0);
    wait_for_last(&s);
    load(&s, 3); /* here for 1; without sets both are there */
    load(&s, 1);
    load(&s, 0);
    const struct l1_stats l1 = run(&s, TWO "l1.write_hit=update");
    assert_int_equal(l1.misses_conflict, 1);
    assert_int_equal(l1.misses_capacity, 0);
    assert_int_equal(l1.misses_write_evict, 1);
}

BED_TEST(an_acquire_takes_all_lines)
{
    struct stream s = {0};
    load(&s, 0);
    load(&s, 2);
    add(&s, (struct bed_op)GPU_FENCE);
    load(&s, 0);
    const struct l1_stats l1 = run(&s, TWO);
    assert_int_equal(l1.misses_replaced, 1);
    assert_int_equal(l1.misses_capacity, 1);
    assert_int_equal(l1.misses_conflict, 0);
}

/* ---- and nothing else ---- */

/* Loads of whole warps to scattered lines, stores among them, on a machine whose L1s are quick when they do
 * not count. */
static struct stats scatter(const char *settings, uint64_t *cycles)
{
    static const struct bed_op ops[] = {BED_LOAD(0, 1, .stride = 128, .scatter_lines = 64),
                                        BED_LOAD(0, 2, .scatter_lines = 96),
                                        BED_USE(1),
                                        BED_STORE(0, 2, .scatter_lines = 96),
                                        BED_LOAD(0, 3, .stride = 128, .scatter_lines = 64),
                                        BED_USE(3),
                                        BED_LOAD(0, 1, .scatter_lines = 96),
                                        BED_USE(1),
                                        BED_END};
    struct bed b;
    bed_open_machine(&b, "v100", settings);
    bed_run(&b, ops, 8, 512);
    const struct stats s = bed_stats(&b);
    *cycles = b.end_cyc - b.start_cyc;
    bed_close(&b);
    return s;
}

BED_TEST(counting_changes_neither_time_nor_any_other_statistic)
{
    static const char without[] = "l1.size=4 KiB;l1.ways=4", with[] = "l1.size=4 KiB;l1.ways=4;"
                                                                      "l1.count_conflicts=true";
    uint64_t cycles[2];
    const struct stats a = scatter(without, &cycles[0]);
    struct stats b = scatter(with, &cycles[1]);
    assert_int_equal(cycles[0], cycles[1]);
    assert_int_equal(a.l1.misses_capacity + a.l1.misses_conflict, 0);
    assert_true(b.l1.misses_capacity && b.l1.misses_conflict);
    assert_int_equal(b.l1.misses_capacity + b.l1.misses_conflict, b.l1.misses_replaced);
    b.l1.misses_capacity = b.l1.misses_conflict = 0;
    b.engine = a.engine; /* how often parts were visited: of the host, not of the machine */
    assert_memory_equal(&a, &b, sizeof a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_lines_of_one_set_that_alternate_conflict),
        cmocka_unit_test(a_loop_over_one_line_more_than_fit_misses_for_capacity),
        cmocka_unit_test(any_loads_miss_for_what_a_naive_model_says),
        cmocka_unit_test(an_access_that_waits_is_one_use),
        cmocka_unit_test(a_hit_is_a_use),
        cmocka_unit_test(a_load_that_merges_is_a_use),
        cmocka_unit_test(a_store_takes_a_line_that_made_room_before),
        cmocka_unit_test(a_store_takes_a_line_on_its_way),
        cmocka_unit_test(an_acquire_takes_all_lines),
        cmocka_unit_test(counting_changes_neither_time_nor_any_other_statistic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
