/* Migration of pages: where a page should be after an interval. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/migration/migration.h"

static struct migration make(struct arena *a, enum page_migration policy, uint64_t min_accesses)
{
    struct config c;
    config_defaults(&c);
    c.pages.migration = policy;
    c.runtime.move_accesses = min_accesses;
    return migration_new(a, &c);
}

static uint32_t ask(const struct migration *m, const uint32_t *accesses, uint32_t nodes, uint32_t home)
{
    return m->ops->target(m->state, &(struct migration_question){1, home, accesses, nodes});
}

static void a_page_moves_to_the_node_that_used_it_most_when_that_is_enough(void **state)
{
    (void)state;
    static const uint32_t accesses[] = {10, 40, 30, 40};
    struct arena a;
    arena_init(&a);
    const struct migration m = make(&a, page_migration_most_used, 64);
    assert_int_equal(ask(&m, accesses, 4, 0), 1); /* the first of equals */
    assert_int_equal(ask(&m, accesses, 4, 3), 3); /* no node used it more than the home */
    const struct migration just = make(&a, page_migration_most_used, 120),
                           few = make(&a, page_migration_most_used, 121);
    assert_int_equal(ask(&just, accesses, 4, 0), 1);
    assert_int_equal(ask(&few, accesses, 4, 0), 0); /* fewer accesses than the minimum */
    arena_free(&a);
}

/* The contract, for every row of migration.def: the target is a node, a page that only its home uses stays, a
 * page without requests stays, and equal questions get equal answers. */
static void every_policy_keeps_to_the_contract(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    for (uint32_t row = 0; row < page_migration_count; row++) {
        const struct migration m = make(&a, (enum page_migration)row, 1),
                               again = make(&a, (enum page_migration)row, 1);
        assert_int_equal(m.ops->target == NULL, row == page_migration_none);
        if (!m.ops->target) continue;
        for (uint32_t nodes = 1; nodes <= 40; nodes += 13)
            for (uint32_t home = 0; home < nodes; home++) {
                uint32_t accesses[40] = {0};
                assert_int_equal(ask(&m, accesses, nodes, home), home);
                assert_int_equal(ask(&again, accesses, nodes, home), home);
                accesses[home] = 1000;
                assert_int_equal(ask(&m, accesses, nodes, home), home);
                assert_int_equal(ask(&again, accesses, nodes, home), home);
                for (uint32_t k = 0; k < nodes; k++) accesses[k] = k * 31 % 17;
                const uint32_t to = ask(&m, accesses, nodes, home);
                assert_true(to < nodes);
                assert_int_equal(to, ask(&again, accesses, nodes, home));
            }
    }
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_moves_to_the_node_that_used_it_most_when_that_is_enough),
        cmocka_unit_test(every_policy_keeps_to_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
