/* arena, pool, ring, map, rng, diag: what the rest of the house relies on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/host_pages.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/ring.h"
#include "base/rng.h"

/* Runs body and expects it to raise 'kind' with 'fragment' somewhere in the text. */
static void expect_raise(diag_body_fn *body, void *arg, enum diag_kind kind, const char *fragment)
{
    struct diag d;
    diag_init(&d);
    assert_int_equal(diag_run(&d, body, arg), kind);
    if (!strstr(d.text, fragment)) fail_msg("'%s' not in: %s", fragment, d.text);
    diag_clear(&d);
}

static void arena_memory_is_zeroed_aligned_and_reused_after_reset(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    unsigned char *p = arena_alloc_aligned(&a, 100, 64);
    assert_int_equal((uintptr_t)p % 64, 0);
    for (int i = 0; i < 100; i++) assert_int_equal(p[i], 0);
    memset(p, 0xff, 100);
    for (int i = 0; i < 1000; i++) (void)arena_alloc(&a, 1000);
    const size_t held = a.held_bytes;
    arena_reset(&a);
    assert_ptr_equal(arena_alloc_aligned(&a, 100, 64), p);
    assert_int_equal(p[0], 0);
    for (int i = 0; i < 1000; i++) (void)arena_alloc(&a, 1000);
    assert_int_equal(a.held_bytes, held);
    assert_string_equal(arena_printf(&a, "%s-%d", "x", 7), "x-7");
    arena_free(&a);
}

static void ask_for_too_much(void *arg) { (void)arena_array(arg, SIZE_MAX / 8, 16); }

static void large_pieces_are_zeroed_and_aligned_for_huge_pages(void **state)
{
    (void)state;
    static const size_t sizes[] = {4096, 100000, 2u << 20, (2u << 20) + 1, 5u << 20};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        uint8_t *p = host_pages_alloc(sizes[k]);
        assert_non_null(p);
        if (sizes[k] >= PAGES_HUGE_BYTES) assert_int_equal((uintptr_t)p % PAGES_HUGE_BYTES, 0);
        for (size_t i = 0; i < sizes[k]; i += 4096) assert_int_equal(p[i], 0);
        p[0] = p[sizes[k] - 1] = 1;
        host_pages_free(p, sizes[k]);
    }
    assert_null(host_pages_alloc(SIZE_MAX - 4096));
}

static void an_impossible_allocation_is_the_users_mistake(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    expect_raise(ask_for_too_much, &a, DIAG_MISTAKE, "out of host memory");
    arena_free(&a);
}

static void a_pool_hands_out_each_object_once_and_says_when_empty(void **state)
{
    (void)state;
    struct arena a;
    struct pool p;
    arena_init(&a);
    pool_init(&p, &a, 3, 40);
    assert_int_equal(pool_try_take(&p), 0);
    assert_int_equal(pool_try_take(&p), 1);
    assert_int_equal(pool_try_take(&p), 2);
    assert_int_equal(pool_try_take(&p), POOL_NONE);
    pool_give(&p, 1);
    assert_int_equal(pool_try_take(&p), 1);
    assert_int_equal(pool_peak_used(&p), 3);
    arena_free(&a);
}

static void a_row_of_a_pool_is_its_owners_for_good(void **state)
{
    (void)state;
    struct arena a;
    struct pool p;
    arena_init(&a);
    pool_init(&p, &a, 6, 40);
    assert_int_equal(pool_take_row(&p, 2), 0);
    assert_int_equal(pool_take_row(&p, 3), 2);
    assert_int_equal(pool_try_take(&p), 5);
    assert_int_equal(pool_try_take(&p), POOL_NONE);
    arena_free(&a);
}

static void a_ring_keeps_order_and_refuses_when_full(void **state)
{
    (void)state;
    struct arena a;
    struct ring r;
    arena_init(&a);
    ring_init(&r, &a, 3);
    uint64_t next_in = 0, next_out = 0;
    for (int round = 0; round < 10; round++) {
        while (ring_try_push(&r, next_in)) next_in++;
        assert_true(ring_full(&r));
        assert_int_equal(ring_at(&r, 2), next_in - 1);
        assert_int_equal(ring_pop(&r), next_out++);
        assert_int_equal(ring_pop(&r), next_out++);
    }
    arena_free(&a);
}

static void a_map_agrees_with_a_plain_array_under_random_use(void **state)
{
    (void)state;
    enum { KEYS = 500 };
    uint64_t truth[KEYS] = {0};
    struct map m;
    map_init(&m);
    struct rng r = rng_seed(1, 2);
    for (int i = 0; i < 50000; i++) {
        const uint64_t key = rng_below(&r, KEYS);
        if (rng_below(&r, 3)) {
            *map_put(&m, key, NULL) = truth[key] = rng_u64(&r) | 1;
        } else {
            assert_int_equal(map_remove(&m, key), truth[key] != 0);
            truth[key] = 0;
        }
    }
    size_t live = 0, cursor = 0;
    for (uint64_t k = 0; k < KEYS; k++) {
        const uint64_t *v = map_find(&m, k);
        assert_int_equal(v ? *v : 0, truth[k]);
        live += truth[k] != 0;
    }
    assert_int_equal(live, m.count);
    while (map_next(&m, &cursor)) live--;
    assert_int_equal(live, 0);
    map_free(&m);
}

static void a_string_map_tells_keys_apart_by_length_too(void **state)
{
    (void)state;
    struct strmap m;
    strmap_init(&m);
    static const char text[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
    for (size_t len = 1; len < sizeof text; len++) *strmap_put(&m, text, len, NULL) = len;
    for (size_t len = 1; len < sizeof text; len++) assert_int_equal(*strmap_find(&m, text, len), len);
    assert_null(strmap_find(&m, "nope", 4));
    strmap_free(&m);
}

static void random_numbers_are_fixed_by_seed_and_stream(void **state)
{
    (void)state;
    struct rng a = rng_seed(42, 0), b = rng_seed(42, 0), c = rng_seed(42, 1);
    assert_int_equal(rng_u64(&a), rng_u64(&b));
    assert_int_not_equal(rng_u64(&a), rng_u64(&c));
    uint64_t buckets[10] = {0};
    for (int i = 0; i < 100000; i++) buckets[rng_below(&a, 10)]++;
    for (int i = 0; i < 10; i++) assert_in_range(buckets[i], 9600, 10400);
}

static const char machine_text[] = "gpu:\n  llc_size: 6 MiX\n";
static const struct diag_source machine_source = {"m.yaml", machine_text, sizeof machine_text - 1};

static void raise_at(void *arg)
{
    (void)arg;
    diag_mistake_at((struct diag_place){&machine_source, 2, 13, 5}, "no such unit '%s'", "MiX");
}

static void a_mistake_shows_place_line_and_caret(void **state)
{
    (void)state;
    expect_raise(raise_at, NULL, DIAG_MISTAKE,
                 "m.yaml:2:13: no such unit 'MiX'\n      llc_size: 6 MiX\n                ^~~~~\n");
}

static void note_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < 30; i++)
        diag_note_mistake_at((struct diag_place){&machine_source, 1, 1, 3}, "no %d", i);
    diag_raise_if_any();
}

static void many_mistakes_are_collected_up_to_a_limit(void **state)
{
    (void)state;
    expect_raise(note_many, NULL, DIAG_MISTAKE, "no 19");
    expect_raise(note_many, NULL, DIAG_MISTAKE, "... and 10 more");
}

static void set_flag(void *arg) { (*(int *)arg)++; }

static void raise_with_cleanups(void *arg)
{
    struct diag_cleanup kept, done;
    diag_defer(&kept, set_flag, arg);
    diag_defer(&done, set_flag, arg);
    diag_done(&done, false);
    diag_bug("llc 3", 1234, "lost request");
}

static void a_bug_names_component_and_cycle_and_runs_cleanups(void **state)
{
    (void)state;
    int undone = 0;
    expect_raise(raise_with_cleanups, &undone, DIAG_BUG,
                 "internal error in llc 3 at cycle 1234: lost request");
    assert_int_equal(undone, 1);
}

static void raise_nested(void *arg)
{
    struct diag inner;
    diag_init(&inner);
    *(enum diag_kind *)arg = diag_run(&inner, raise_at, NULL);
    diag_clear(&inner);
    diag_check_failed("outer");
}

static void runs_nest_and_each_raise_reaches_the_innermost(void **state)
{
    (void)state;
    enum diag_kind inner = DIAG_NONE;
    expect_raise(raise_nested, &inner, DIAG_CHECK_FAILED, "outer");
    assert_int_equal(inner, DIAG_MISTAKE);
}

static void a_slip_finds_its_neighbour_and_nonsense_none(void **state)
{
    (void)state;
    static const char *const names[] = {"llc", "dram", "net", "chiplet", "partition"};
    assert_string_equal(diag_nearest("lcl", names, 5), "llc");
    assert_string_equal(diag_nearest("darm", names, 5), "dram");
    assert_string_equal(diag_nearest("partitions", names, 5), "partition");
    assert_null(diag_nearest("elephant", names, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_memory_is_zeroed_aligned_and_reused_after_reset),
        cmocka_unit_test(large_pieces_are_zeroed_and_aligned_for_huge_pages),
        cmocka_unit_test(an_impossible_allocation_is_the_users_mistake),
        cmocka_unit_test(a_pool_hands_out_each_object_once_and_says_when_empty),
        cmocka_unit_test(a_row_of_a_pool_is_its_owners_for_good),
        cmocka_unit_test(a_ring_keeps_order_and_refuses_when_full),
        cmocka_unit_test(a_map_agrees_with_a_plain_array_under_random_use),
        cmocka_unit_test(a_string_map_tells_keys_apart_by_length_too),
        cmocka_unit_test(random_numbers_are_fixed_by_seed_and_stream),
        cmocka_unit_test(a_mistake_shows_place_line_and_caret),
        cmocka_unit_test(many_mistakes_are_collected_up_to_a_limit),
        cmocka_unit_test(a_bug_names_component_and_cycle_and_runs_cleanups),
        cmocka_unit_test(runs_nest_and_each_raise_reaches_the_innermost),
        cmocka_unit_test(a_slip_finds_its_neighbour_and_nonsense_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
