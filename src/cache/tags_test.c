/* Tag arrays: replacement against naive models, pinned lines, hashed sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arena_fixture.h"
#include "base/rng.h"
#include "cache/tags.h"

enum { WAYS = 4, WIDE_WAYS = TAGS_NARROW_WAYS + 3 };

/* Brings key into set 0; returns what made room for it, UINT64_MAX: nothing had to. */
static uint64_t use(struct tags *t, uint64_t key)
{
    const uint32_t at = tags_find(t, 0, key);
    if (at != TAGS_NONE) {
        tags_touch(t, at);
        return UINT64_MAX;
    }
    const uint32_t place = tags_victim(t, 0);
    assert_int_not_equal(place, TAGS_NONE);
    const uint64_t left = tags_used(t, place) ? tags_key(t, place) : UINT64_MAX;
    tags_fill(t, place, key);
    return left;
}

/* The same by what caches with few ways use. */
static uint64_t use_near(struct tags *t, uint64_t key)
{
    uint64_t before;
    const uint32_t at = tags_find_near(t, 0, key, tags_hash(key));
    if (at != TAGS_NONE) {
        tags_touch(t, at);
        return UINT64_MAX;
    }
    assert_int_not_equal(tags_replace(t, 0, key, tags_hash(key), &before), TAGS_NONE);
    return before - 1;
}

/* … and those that look through a set in one step. */
static uint64_t use_in_step(struct tags *t, uint64_t key)
{
    const uint32_t at = tags_find_in_step(t, 0, key, tags_hint(key));
    if (at != TAGS_NONE) {
        tags_touch(t, at);
        return UINT64_MAX;
    }
    const struct tags_place place = tags_victim_in_step(t, 0);
    assert_int_not_equal(place.line, TAGS_NONE);
    return tags_give_in_step(t, place, key, tags_hint(key)) - 1;
}

static void drop(struct tags *t, uint64_t key)
{
    const uint32_t at = tags_find(t, 0, key);
    if (at != TAGS_NONE) tags_drop(t, at);
}

/* ---- naive models: keys in a list, the next to go first ---- */

struct naive {
    uint64_t keys[WIDE_WAYS];
    uint32_t count, ways;
};

static void naive_drop(struct naive *n, uint64_t key)
{
    for (uint32_t k = 0; k < n->count; k++)
        if (n->keys[k] == key) {
            memmove(n->keys + k, n->keys + k + 1, (n->count - k - 1) * sizeof *n->keys);
            n->count--;
        }
}

static uint64_t naive_use(struct naive *n, uint64_t key, bool move_on_use)
{
    for (uint32_t k = 0; k < n->count; k++) {
        if (n->keys[k] != key) continue;
        if (move_on_use) {
            memmove(n->keys + k, n->keys + k + 1, (n->count - k - 1) * sizeof *n->keys);
            n->keys[n->count - 1] = key;
        }
        return UINT64_MAX;
    }
    uint64_t left = UINT64_MAX;
    if (n->count == n->ways) {
        left = n->keys[0];
        memmove(n->keys, n->keys + 1, --n->count * sizeof *n->keys);
    }
    n->keys[n->count++] = key;
    return left;
}

static void against_naive(enum replacement policy, uint32_t ways)
{
    struct tags t, near, in_step;
    struct naive n = {.ways = ways};
    struct rng rng = rng_seed(7, 1);
    tags_init(&t, &arena, 2, ways, policy, 1);
    tags_init(&near, &arena, 2, ways, policy, 1);
    tags_init(&in_step, &arena, 2, ways, policy, 1);
    for (int k = 0; k < 20000; k++) {
        const uint64_t key = rng_below(&rng, 2 * ways - 1);
        if (rng_below(&rng, 16) == 0) {
            drop(&t, key);
            drop(&near, key);
            drop(&in_step, key);
            naive_drop(&n, key);
            continue;
        }
        const uint64_t left = naive_use(&n, key, policy == replacement_lru);
        assert_int_equal(use(&t, key), left);
        assert_int_equal(use_near(&near, key), left);
        if (ways > TAGS_NEAR_WAYS) continue;
        assert_int_equal(use_in_step(&in_step, key), left);
        assert_int_equal(tags_find(&in_step, 0, key), tags_find(&t, 0, key)); /* … in the same place */
    }
}

/* As many ways as are looked through in one step, as a row's order can count, and more. */
static const uint32_t widths[] = {WAYS, TAGS_NEAR_WAYS, TAGS_NEAR_WAYS + 1, TAGS_NARROW_WAYS, WIDE_WAYS};
enum { WIDTHS = sizeof widths / sizeof *widths };

static void lru_throws_out_the_line_not_used_for_longest(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < WIDTHS; k++) against_naive(replacement_lru, widths[k]);
}

static void fifo_throws_out_the_line_that_came_first(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < WIDTHS; k++) against_naive(replacement_fifo, widths[k]);
}

/* RRIP by the paper: fill at 2, use to 0, victim = leftmost 3, all age until there is one. */
static void srrip_follows_its_paper(void **state)
{
    (void)state;
    struct tags t;
    struct rng rng = rng_seed(9, 1);
    uint64_t keys[WAYS] = {0};
    uint32_t rrpv[WAYS] = {0}, filled = 0;
    tags_init(&t, &arena, 1, WAYS, replacement_srrip, 1);
    for (int k = 0; k < 20000; k++) {
        const uint64_t key = rng_below(&rng, 8);
        uint64_t expected = UINT64_MAX;
        uint32_t way = 0;
        while (way < filled && keys[way] != key) way++;
        if (way < filled) {
            rrpv[way] = 0;
        } else if (filled < WAYS) {
            keys[filled] = key;
            rrpv[filled++] = 2;
        } else {
            for (way = 0; rrpv[way] != 3;)
                if (++way == WAYS) {
                    for (way = 0; way < WAYS; way++) rrpv[way]++;
                    way = 0;
                }
            expected = keys[way];
            keys[way] = key;
            rrpv[way] = 2;
        }
        assert_int_equal(use(&t, key), expected);
    }
}

static void random_throws_out_every_way_about_as_often(void **state)
{
    (void)state;
    struct tags t;
    uint32_t gone[WAYS] = {0};
    tags_init(&t, &arena, 1, WAYS, replacement_random, 1);
    for (uint64_t k = 0; k < WAYS; k++) tags_fill(&t, tags_victim(&t, 0), k);
    for (int k = 0; k < 4000; k++) gone[tags_victim(&t, 0)]++;
    for (int way = 0; way < WAYS; way++) assert_in_range(gone[way], 850, 1150);
}

/* ---- what every policy keeps to ---- */

static void never_a_pinned_line(enum replacement policy, uint32_t ways)
{
    struct tags t;
    struct rng rng = rng_seed(3, (uint64_t)policy);
    tags_init(&t, &arena, 1, ways, policy, 1);
    for (uint64_t k = 0; k < ways; k++) tags_fill(&t, tags_victim(&t, 0), 100 + k);
    for (uint64_t k = 0; k < 1000; k++) {
        const uint64_t most = rng_below(&rng, ways + 1);
        uint32_t pinned = 0;
        for (uint32_t way = 0; way < ways; way++) {
            *tags_pins(&t, way) = k % 8 == 0 || rng_below(&rng, ways) < most;
            pinned += *tags_pins(&t, way);
        }
        const uint32_t victim = tags_victim(&t, 0);
        if (pinned == ways) {
            assert_int_equal(victim, TAGS_NONE);
        } else {
            assert_int_equal(*tags_pins(&t, victim), 0);
            tags_fill(&t, victim, 1000 + k);
        }
    }
    for (uint32_t way = 0; way < ways; way++) *tags_pins(&t, way) = 0;
    tags_drop(&t, 2);
    assert_int_equal(tags_victim(&t, 0), 2); /* an empty place before any other */
}

static void no_policy_throws_out_a_pinned_line_or_a_full_set_with_room(void **state)
{
    (void)state;
    for (int policy = 0; policy < replacement_count; policy++)
        for (uint32_t k = 0; k < WIDTHS; k++) never_a_pinned_line((enum replacement)policy, widths[k]);
}

static void key_zero_is_a_key(void **state)
{
    (void)state;
    struct tags t;
    tags_init(&t, &arena, 1, WAYS, replacement_lru, 1);
    assert_int_equal(tags_find(&t, 0, 0), TAGS_NONE);
    tags_fill(&t, tags_victim(&t, 0), 0);
    assert_int_equal(tags_find(&t, 0, 0), 0);
    assert_int_equal(tags_key(&t, 0), 0);
}

/* ---- sets ---- */

static void lines_that_follow_each_other_fill_the_sets_evenly(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 3, 32, 48, 64, 4096};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const uint32_t sets = sizes[k];
        uint32_t *seen = calloc(sets, sizeof *seen);
        assert_non_null(seen);
        for (uint64_t line = 0; line < 5ull * sets; line++) seen[tags_set_hashed(line, sets)]++;
        for (uint32_t set = 0; set < sets; set++) assert_int_equal(seen[set], 5);
        free(seen);
    }
}

/* A column of a matrix: without hashing all of it would be in one set. */
static void strides_of_whole_turns_spread_over_the_sets(void **state)
{
    (void)state;
    enum { SETS = 64, LINES = 64 * 64 };
    for (uint64_t stride = SETS; stride <= 4096; stride *= 2) {
        uint32_t seen[SETS] = {0}, most = 0;
        for (uint64_t k = 0; k < LINES; k++) {
            const uint32_t n = ++seen[tags_set_hashed(k * stride, SETS)];
            if (n > most) most = n;
        }
        assert_in_range(most, LINES / SETS, 2 * LINES / SETS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lru_throws_out_the_line_not_used_for_longest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fifo_throws_out_the_line_that_came_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(srrip_follows_its_paper, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_throws_out_every_way_about_as_often, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_policy_throws_out_a_pinned_line_or_a_full_set_with_room, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(key_zero_is_a_key, set_up, tear_down),
        cmocka_unit_test(lines_that_follow_each_other_fill_the_sets_evenly),
        cmocka_unit_test(strides_of_whole_turns_spread_over_the_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
