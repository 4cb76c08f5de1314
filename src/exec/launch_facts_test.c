/* launch_facts: the array behind an address of a launch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/launch_facts.h"

enum { POOL = 0x10000, POOL_BYTES = 0x4000, OTHER = 0x80000 };

/* Two arrays share a pool, and the second pointer is given twice. The last argument has no allocation. */
static const struct launch_array four[] = {
    {.base = POOL + 0x2000, .bytes = POOL_BYTES - 0x2000, .allocation = POOL},
    {.base = POOL + 0x100, .bytes = POOL_BYTES - 0x100, .allocation = POOL},
    {.base = POOL + 0x100, .bytes = POOL_BYTES - 0x100, .allocation = POOL},
    {.base = 0},
    {.base = OTHER, .bytes = 64, .allocation = OTHER},
};
static const struct launch_arrays launch = {four, 5, 0};

static void an_address_belongs_to_the_nearest_pointer_below(void **state)
{
    (void)state;
    assert_int_equal(launch_structure_of(&launch, POOL + 0x100), 1);
    assert_int_equal(launch_structure_of(&launch, POOL + 0x1fff), 1);
    assert_int_equal(launch_structure_of(&launch, POOL + 0x2000), 0);
    assert_int_equal(launch_structure_of(&launch, POOL + POOL_BYTES - 1), 0);
    assert_int_equal(launch_structure_of(&launch, OTHER + 63), 4);
}

static void an_address_below_all_pointers_belongs_to_the_lowest(void **state)
{
    (void)state;
    assert_int_equal(launch_structure_of(&launch, POOL), 1);
}

static void an_address_of_no_argument_has_no_array(void **state)
{
    (void)state;
    assert_int_equal(launch_structure_of(&launch, POOL - 1), LAUNCH_NO_ARRAY);
    assert_int_equal(launch_structure_of(&launch, POOL + POOL_BYTES), LAUNCH_NO_ARRAY);
    assert_int_equal(launch_structure_of(&launch, OTHER + 64), LAUNCH_NO_ARRAY);
    assert_int_equal(launch_structure_of(NULL, OTHER), LAUNCH_NO_ARRAY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_belongs_to_the_nearest_pointer_below),
        cmocka_unit_test(an_address_below_all_pointers_belongs_to_the_lowest),
        cmocka_unit_test(an_address_of_no_argument_has_no_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
