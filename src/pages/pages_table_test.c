/* The table of pages without a machine: frames by colour, rules of ranges, restrictions, full memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "config/machine.h"
#include "pages/pages_private.h"
#include "system/rules.h"

/* One chiplet of four partitions, a channel each; every channel is a colour of 32 MiB. */
struct fixture {
    struct arena arena;
    struct machine machine;
    struct pages *pages;
};

static void open_table(struct fixture *f, const char *placement)
{
    arena_init(&f->arena);
    machine_init(&f->machine);
    machine_load(&f->machine, "base");
    machine_set(&f->machine, "gpu.chiplets=1");
    machine_set(&f->machine, "chiplet.partitions=4");
    machine_set(&f->machine, "partition.sms=2");
    machine_set(&f->machine, "map.kind=fixed_channel");
    machine_set(&f->machine, "map.page_size=2 MiB");
    machine_set(&f->machine, "gpu.memory_size=128 MiB");
    machine_set(&f->machine, placement);
    machine_finish(&f->machine, &system_rules);
    f->pages = pages_new(&f->arena, &f->machine.config,
                         &(struct pages_wiring){.map = dram_map_new(&f->arena, &f->machine.config)});
}

static void close_table(struct fixture *f)
{
    pages_free(f->pages);
    machine_free(&f->machine);
    arena_free(&f->arena);
}

static uint32_t colour(const struct pages *p, uint32_t app, uint64_t page)
{
    const uint64_t *frame = pages_find(p, 0, pages_key(app, page));
    assert_non_null(frame);
    return pages_colour_of(p, *frame);
}

static void run(void (*body)(void *))
{
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, body, NULL)) fail_msg("%s", d.text);
    diag_clear(&d);
}
#define TABLE_TEST(name) \
    static void body_of_##name(void *unused); \
    static void name(void **state) \
    { \
        (void)state; \
        run(body_of_##name); \
    } \
    static void body_of_##name(void *unused __attribute__((unused)))

TABLE_TEST(a_page_has_a_frame_of_the_colour_that_its_policy_chose)
{
    struct fixture f;
    open_table(&f, "runtime.placement=first_touch");
    assert_null(pages_find(f.pages, 0, pages_key(0, 7)));
    for (uint32_t sm = 0; sm < 8; sm++) {
        const uint64_t frame = pages_place(f.pages, sm, pages_key(0, sm));
        assert_int_equal(frame % (2 << 20), 0);
        assert_int_equal(colour(f.pages, 0, sm), sm / 2);
        assert_int_equal(pages_home(f.pages, frame).channel, sm / 2);
    }
    for (uint32_t k = 0; k < 4; k++) assert_int_equal(f.pages->placed[k], 2);
    assert_int_equal(f.pages->fullest, 2);
    assert_int_equal(f.pages->apps[0].pages, 8);
    close_table(&f);
}

static uint32_t last_first(const struct page_rule *r, const struct placement_question *q)
{
    return (uint32_t)((r->first + r->count - 1 - q->page) % 4);
}

TABLE_TEST(pages_of_a_range_follow_its_rule_and_others_the_policy)
{
    struct fixture f;
    static const struct page_rule rule = {.place = last_first};
    open_table(&f, "runtime.placement=first_touch");
    (void)pages_place(f.pages, 6, pages_key(0, 11)); /* before the rule: keeps its frame */
    pages_assign_range(f.pages, 0, 10, 8, &rule);
    for (uint64_t page = 8; page < 20; page++)
        if (page != 11) (void)pages_place(f.pages, 2, pages_key(0, page));
    assert_int_equal(f.pages->placed_by_rule, 7);
    for (uint64_t page = 8; page < 20; page++) {
        const uint32_t expected = page == 11 ? 3 : page < 10 || page >= 18 ? 1 : (uint32_t)(17 - page) % 4;
        assert_int_equal(colour(f.pages, 0, page), expected);
    }
    close_table(&f);
}

/* A range that overlaps earlier ones fills the gaps between them: two structures share a page, or a later launch
 * touches more of a structure. The later rule still counts the pages of its whole range. */
TABLE_TEST(the_first_rule_of_a_page_holds_and_later_ranges_fill_gaps)
{
    struct fixture f;
    static const struct page_rule rule = {.place = last_first};
    open_table(&f, "runtime.placement=first_touch");
    const struct page_app *app = &f.pages->apps[0];
    pages_assign_range(f.pages, 0, 30, 4, &rule);
    pages_assign_range(f.pages, 0, 10, 4, &rule); /* before it: sorted in */
    pages_assign_range(f.pages, 0, 12, 9, &rule); /* begins inside an assigned range: pages 14 to 20 */
    assert_int_equal(app->range_count, 3);
    assert_int_equal(app->ranges[0].first, 10);
    assert_int_equal(app->ranges[1].first, 14);
    assert_int_equal(app->ranges[1].count, 7);
    assert_int_equal(app->ranges[1].rule.first, 12);
    assert_int_equal(app->ranges[1].rule.count, 9);
    assert_int_equal(app->ranges[2].first, 30);
    pages_assign_range(f.pages, 0, 5, 35, &rule); /* covers all: three gaps */
    assert_int_equal(app->range_count, 6);
    assert_true(pages_has_rules(f.pages, 0, 5, 35));
    assert_false(pages_has_rules(f.pages, 0, 4, 2));
    assert_false(pages_has_rules(f.pages, 0, 39, 2));
    assert_int_equal(app->ranges[3].first, 21);
    assert_int_equal(app->ranges[3].count, 9);
    pages_assign_range(f.pages, 0, 13, 20, &rule); /* nothing is left */
    assert_int_equal(app->range_count, 6);
    pages_assign_range(f.pages, 1, 12, 9, &rule); /* of another application */
    assert_int_equal(f.pages->apps[1].range_count, 1);
    close_table(&f);
}

TABLE_TEST(a_restricted_application_gets_its_own_colours_only)
{
    struct fixture f;
    static const uint16_t own[] = {3, 1};
    open_table(&f, "runtime.placement=round_robin");
    pages_restrict(f.pages, 1, &(struct colours){own, 2});
    for (uint64_t page = 0; page < 6; page++) {
        (void)pages_place(f.pages, 0, pages_key(1, page));
        assert_int_equal(colour(f.pages, 1, page), own[page % 2]);
        (void)pages_place(f.pages, 0, pages_key(0, page));
        assert_int_equal(colour(f.pages, 0, page), page % 4);
    }
    uint64_t frame;
    assert_false(table_try_frame(f.pages, 1, 0, &frame));
    assert_true(table_try_frame(f.pages, 1, 3, &frame));
    assert_int_equal(pages_colour_of(f.pages, frame), 3);
    close_table(&f);
}

TABLE_TEST(a_full_colour_is_followed_by_the_next_one)
{
    struct fixture f;
    open_table(&f, "runtime.placement=first_touch");
    for (uint64_t page = 0; page < 17; page++) (void)pages_place(f.pages, 4, pages_key(0, page)); /* 16 fit */
    assert_int_equal(colour(f.pages, 0, 15), 2);
    assert_int_equal(colour(f.pages, 0, 16), 3);
    close_table(&f);
}

struct filling {
    struct fixture table;
    uint32_t app; /* application 1 is restricted */
};

static void fill(void *arg)
{
    struct filling *f = arg;
    static const uint16_t own[] = {2};
    open_table(&f->table, "runtime.placement=first_touch");
    pages_restrict(f->table.pages, 1, &(struct colours){own, 1});
    for (uint64_t page = 0; page < 65; page++) (void)pages_place(f->table.pages, 0, pages_key(f->app, page));
}

static void full_memory_is_an_error_that_names_a_restricted_application(void **state)
{
    (void)state;
    static const char *const expected[] = {"device memory is full: ", "the memory of application 1 is full"};
    for (uint32_t app = 0; app < 2; app++) {
        struct filling f = {.app = app};
        struct diag d;
        diag_init(&d);
        assert_true(diag_run(&d, fill, &f));
        if (!strstr(d.text, expected[app])) fail_msg("%s", d.text);
        diag_clear(&d);
        close_table(&f.table);
    }
}

TABLE_TEST(a_node_with_a_replica_finds_it_and_others_the_page)
{
    struct fixture f;
    open_table(&f, "runtime.placement=first_touch");
    const uint64_t key = pages_key(0, 5), frame = pages_place(f.pages, 0, key);
    uint64_t replica, again;
    assert_true(table_try_frame(f.pages, 0, 2, &replica));
    table_add_replica(f.pages, key, 2, replica);
    for (uint32_t sm = 0; sm < 8; sm++)
        assert_int_equal(*pages_find(f.pages, sm, key), sm / 2 == 2 ? replica : frame);
    assert_int_equal(*pages_frame(f.pages, key), frame);
    table_drop_replica(f.pages, key, 2);
    assert_int_equal(*pages_find(f.pages, 4, key), frame);
    assert_true(table_try_frame(f.pages, 0, 2, &again)); /* its frame is free again */
    assert_int_equal(again, replica);
    table_move(f.pages, key, again);
    assert_int_equal(*pages_find(f.pages, 0, key), again);
    assert_int_equal(f.pages->placed[0], 0);
    assert_int_equal(f.pages->placed[2], 1);
    close_table(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_has_a_frame_of_the_colour_that_its_policy_chose),
        cmocka_unit_test(pages_of_a_range_follow_its_rule_and_others_the_policy),
        cmocka_unit_test(the_first_rule_of_a_page_holds_and_later_ranges_fill_gaps),
        cmocka_unit_test(a_restricted_application_gets_its_own_colours_only),
        cmocka_unit_test(a_full_colour_is_followed_by_the_next_one),
        cmocka_unit_test(full_memory_is_an_error_that_names_a_restricted_application),
        cmocka_unit_test(a_node_with_a_replica_finds_it_and_others_the_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
