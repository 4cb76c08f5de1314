/* Placements: which channel a page gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/placement/placement.h"

static struct placement make(enum page_placement policy, uint32_t partitions, uint32_t classes)
{
    struct config c;
    config_defaults(&c);
    c.gpu.chiplets = 1;
    c.chiplet.partitions = partitions;
    c.runtime.placement = policy;
    return placement_of(&c, classes);
}

static uint32_t ask(struct placement *p, uint64_t page, uint32_t partition)
{
    const struct placement_question q = {.page = page, .sm = partition * 2};
    return p->place(p, &q);
}

static void round_robin_goes_by_the_order_of_touches(void **state)
{
    (void)state;
    struct placement p = make(page_placement_round_robin, 4, 4);
    static const uint64_t pages[] = {9, 9000, 3, 77, 5, 0};
    for (uint32_t k = 0; k < 6; k++) assert_int_equal(ask(&p, pages[k], 3), k % 4);
}

static void interleaved_goes_by_the_page_whoever_touches_it(void **state)
{
    (void)state;
    struct placement p = make(page_placement_interleaved, 4, 4);
    for (uint64_t page = 0; page < 50; page += 7)
        for (uint32_t partition = 0; partition < 4; partition++)
            assert_int_equal(ask(&p, page, partition), page % 4);
}

static void first_touch_goes_to_a_channel_of_the_toucher(void **state)
{
    (void)state;
    struct placement one = make(page_placement_first_touch, 4, 4),
                     two = make(page_placement_first_touch, 4, 8);
    for (uint32_t partition = 0; partition < 4; partition++)
        for (uint64_t page = 0; page < 20; page++) {
            assert_int_equal(ask(&one, page, partition), partition);
            assert_int_equal(ask(&two, page, partition), 2 * partition + page % 2);
        }
}

/* An address map that spreads every page has one class, and nothing to choose. */
static void a_map_without_a_choice_is_served(void **state)
{
    (void)state;
    for (int policy = 0; policy < page_placement_count; policy++) {
        struct placement p = make((enum page_placement)policy, 4, 1);
        for (uint64_t page = 0; page < 9; page++) assert_int_equal(ask(&p, page, (uint32_t)page % 4), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_robin_goes_by_the_order_of_touches),
        cmocka_unit_test(interleaved_goes_by_the_page_whoever_touches_it),
        cmocka_unit_test(first_touch_goes_to_a_channel_of_the_toucher),
        cmocka_unit_test(a_map_without_a_choice_is_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
