/* arena_fixture: for tests that build things in an arena: a new one for each test.
 *
 *     cmocka_unit_test_setup_teardown(some_test, set_up, tear_down) */
#ifndef ATOLL_TESTS_ARENA_FIXTURE_H
#define ATOLL_TESTS_ARENA_FIXTURE_H

#include "base/arena.h"

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

#endif
