/* Sums, scopes, differences, series, laws: over the rows that exist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "stats/stats.h"

static struct stats_scope place(int32_t gpu, int32_t partition, int32_t app)
{
    return (struct stats_scope){gpu, 0, partition, app};
}

static void sums_follow_the_scope(void **state)
{
    (void)state;
    struct stats_registry r;
    struct engine_stats blocks[4] = {{0}};
    struct stats sum;
    stats_init(&r, 100);
    for (int i = 0; i < 4; i++) {
        STATS_REGISTER(&r, engine, &blocks[i], place(i / 2, i, i % 2));
        blocks[i].events_sent = 1u << i;
        blocks[i].pending_peak = (uint64_t)(10 * i);
        STATS_COUNT(blocks[i].events_per_cycle, (uint64_t)i);
    }
    stats_sum(&r, STATS_EVERYWHERE, &sum);
    assert_int_equal(sum.engine.events_sent, 15);
    assert_int_equal(sum.engine.pending_peak, 30); /* the largest, not the sum */
    assert_int_equal(sum.engine.events_per_cycle[0], 1);
    assert_int_equal(sum.engine.events_per_cycle[1], 1);
    assert_int_equal(sum.engine.events_per_cycle[2], 2); /* 2 and 3 */
    struct stats_scope gpu1 = STATS_EVERYWHERE, app1 = STATS_EVERYWHERE, partition2 = STATS_EVERYWHERE;
    gpu1.gpu = 1;
    app1.app = 1;
    partition2.partition = 2;
    stats_sum(&r, gpu1, &sum);
    assert_int_equal(sum.engine.events_sent, 12);
    stats_sum(&r, app1, &sum);
    assert_int_equal(sum.engine.events_sent, 10);
    stats_sum(&r, partition2, &sum);
    assert_int_equal(sum.engine.events_sent, 4);
    stats_reset(&r);
    stats_sum(&r, STATS_EVERYWHERE, &sum);
    assert_int_equal(sum.engine.events_sent, 0);
    stats_free(&r);
}

static void a_region_is_a_difference_and_regions_add_up(void **state)
{
    (void)state;
    struct stats a = {0}, b = {0}, d, total = {0};
    a.engine.events_sent = 5, a.engine.pending_peak = 7;
    b.engine.events_sent = 12, b.engine.pending_peak = 9;
    stats_subtract(&b, &a, &d);
    assert_int_equal(d.engine.events_sent, 7);
    assert_int_equal(d.engine.pending_peak, 9);
    stats_add(&total, &a);
    stats_add(&total, &d);
    assert_memory_equal(&total, &b, sizeof b);
}

static void a_full_series_doubles_its_interval_and_keeps_its_sum(void **state)
{
    (void)state;
    struct stats_registry r;
    struct engine_stats block = {0};
    stats_init(&r, 10);
    STATS_REGISTER(&r, engine, &block, STATS_EVERYWHERE);
    const uint64_t samples = SERIES_POINTS_MAX + 100;
    for (uint64_t i = 1; i <= samples; i++) {
        block.events_visited += 3;
        stats_sample(&r, 10 * i);
    }
    assert_int_equal(r.series_interval_cyc, 20);
    assert_int_equal(r.series_points, SERIES_POINTS_MAX / 2 + 50);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r.series_points; i++) sum += r.series_values[i];
    assert_int_equal(sum, 3 * samples);
    assert_int_equal(r.series_values[0], 6);
    json_t *json = stats_series_json(&r);
    json_t *series = json_object_get(json, "engine.events_over_time");
    assert_int_equal(json_integer_value(json_object_get(series, "interval")), 20);
    assert_int_equal(json_array_size(json_object_get(series, "values")), r.series_points);
    json_decref(json);
    stats_free(&r);
}

static void check(void *arg) { stats_check_laws(arg, 77); }

static void a_broken_law_is_a_bug_that_shows_both_sides(void **state)
{
    (void)state;
    struct stats_registry r;
    struct engine_stats block = {.events_sent = 10, .events_visited = 8, .events_pending = 2};
    struct diag d;
    diag_init(&d);
    stats_init(&r, 10);
    STATS_REGISTER(&r, engine, &block, STATS_EVERYWHERE);
    assert_int_equal(diag_run(&d, check, &r), DIAG_NONE);
    block.events_visited = 7;
    assert_int_equal(diag_run(&d, check, &r), DIAG_BUG);
    assert_non_null(strstr(d.text, "law engine.events_are_conserved is broken"));
    assert_non_null(strstr(d.text, "= 10 but "));
    assert_non_null(strstr(d.text, "= 9"));
    assert_non_null(strstr(d.text, "at cycle 77"));
    diag_clear(&d);
    stats_free(&r);
}

static void every_output_has_every_row(void **state)
{
    (void)state;
    struct stats s = {0};
    s.engine.events_sent = UINT64_MAX / 4;
    char *text = NULL, *csv = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    stats_text(&s, true, f);
    (void)fclose(f);
    f = open_memstream(&csv, &len);
    stats_csv(&s, f);
    (void)fclose(f);
    json_t *json = stats_json(&s);
    for (size_t i = 0; i < stat_row_count; i++) {
        char name[128];
        (void)snprintf(name, sizeof name, "%s.%s", stat_rows[i].group_name, stat_rows[i].name);
        assert_non_null(json_object_get(json, name));
        assert_non_null(strstr(text, name));
        assert_non_null(strstr(csv, name));
        assert_true(strlen(stat_rows[i].help) > 10);
    }
    assert_int_equal(json_integer_value(json_object_get(json, "engine.events_sent")), UINT64_MAX / 4);
    json_decref(json);
    free(text);
    free(csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_follow_the_scope),
        cmocka_unit_test(a_region_is_a_difference_and_regions_add_up),
        cmocka_unit_test(a_full_series_doubles_its_interval_and_keeps_its_sum),
        cmocka_unit_test(a_broken_law_is_a_bug_that_shows_both_sides),
        cmocka_unit_test(every_output_has_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
