/* The directory without sets against a naive one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arena_fixture.h"
#include "base/rng.h"
#include "cache/lru.h"

enum { LINES_MOST = 40 };

/* Lines in the order of their use, the newest first. */
struct naive {
    uint64_t lines[LINES_MOST];
    uint32_t count, most;
};

static bool naive_drop(struct naive *n, uint64_t line)
{
    uint32_t at = 0;
    while (at < n->count && n->lines[at] != line) at++;
    if (at == n->count) return false;
    n->count--;
    memmove(&n->lines[at], &n->lines[at + 1], (n->count - at) * sizeof *n->lines);
    return true;
}

static bool naive_touch(struct naive *n, uint64_t line)
{
    const bool here = naive_drop(n, line);
    if (n->count == n->most) n->count--;
    memmove(&n->lines[1], &n->lines[0], n->count * sizeof *n->lines);
    n->lines[0] = line;
    n->count++;
    return here;
}

static void the_line_not_used_for_longest_makes_room(void **state)
{
    (void)state;
    struct lru l;
    lru_init(&l, &arena, 3);
    for (uint64_t line = 0; line < 3; line++) assert_false(lru_touch(&l, line)); /* 0 is a line, too */
    assert_true(lru_touch(&l, 0));
    assert_false(lru_touch(&l, 3)); /* for 1 */
    assert_true(lru_touch(&l, 2));
    assert_true(lru_touch(&l, 0));
    assert_false(lru_touch(&l, 1)); /* for 3 */
    assert_false(lru_touch(&l, 3));
}

static void a_line_that_goes_leaves_its_place_to_the_next(void **state)
{
    (void)state;
    struct lru l;
    lru_init(&l, &arena, 3);
    for (uint64_t line = 0; line < 3; line++) (void)lru_touch(&l, line);
    assert_true(lru_drop(&l, 2));
    assert_false(lru_drop(&l, 7)); /* never inserted */
    assert_false(lru_touch(&l, 3));
    assert_true(lru_touch(&l, 0)); /* else it had made room */
    assert_true(lru_touch(&l, 1));
    assert_false(lru_touch(&l, 2));
}

static void any_uses_are_as_in_a_list(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 5, 32, LINES_MOST};
    struct rng rng = rng_seed(1, 0);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct naive naive = {.most = sizes[k]};
        struct lru l;
        lru_init(&l, &arena, sizes[k]);
        for (uint32_t step = 0; step < 20000; step++) {
            const uint64_t line = rng_below(&rng, 2 * sizes[k]) << 40, what = rng_below(&rng, 1000);
            if (what == 0) {
                lru_clear(&l);
                naive.count = 0;
            } else if (what < 100) {
                assert_int_equal(lru_drop(&l, line), naive_drop(&naive, line));
            } else if (what < 400) {
                const bool present = naive_drop(&naive, line);
                if (present) (void)naive_touch(&naive, line);
                assert_int_equal(lru_lookup(&l, line), present);
            } else {
                assert_int_equal(lru_touch(&l, line), naive_touch(&naive, line));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_line_not_used_for_longest_makes_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_that_goes_leaves_its_place_to_the_next, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_uses_are_as_in_a_list, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
