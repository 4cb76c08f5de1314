/* Studies: files and their mistakes, points and keys, means, intervals, verdicts. */
#include "study/study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "machines: [uba-mem, v100]\nworkloads: [vecadd:tiny, sgemm:tiny]\n"

/* ---- making ---- */

struct call {
    struct study *s;
    const char *text, *scale;
    enum study_unknown unknown;
};

static void read_and_plan(void *arg)
{
    struct call *c = arg;
    study_read_text(c->s, "x.yaml", c->text, strlen(c->text), c->scale);
    study_plan(c->s, c->unknown);
}

static struct study *make(const char *text)
{
    struct diag d;
    diag_init(&d);
    struct study *s = study_new();
    struct call c = {.s = s, .text = text};
    if (diag_run(&d, read_and_plan, &c) != DIAG_NONE) fail_msg("%s", d.text);
    diag_clear(&d);
    return s;
}

static void refuses(const char *text, const char *fragment)
{
    struct diag d;
    diag_init(&d);
    struct study *s = study_new();
    struct call c = {.s = s, .text = text};
    assert_int_equal(diag_run(&d, read_and_plan, &c), DIAG_MISTAKE);
    if (!strstr(d.text, fragment)) fail_msg("'%s' is not in: %s", fragment, d.text);
    diag_clear(&d);
    study_free(s);
}

/* Results: seconds by [machine][combo][workload][seed], as the points lie. */
static struct study_data *results(struct study *s, double (*seconds)(const struct study_point *p))
{
    struct study_data *d = study_data_new(s);
    for (uint32_t i = 0; i < s->point_count; i++) {
        const double v = seconds(&s->points[i]);
        if (!isfinite(v)) continue;
        d->results[i].status = STUDY_DONE;
        d->results[i].root = json_pack("{s:{s:f, s:i}, s:{s:f}}", "totals", "seconds", v, "cycles", 100,
                                       "stats", "llc.read_hit_rate", 0.25);
    }
    return d;
}

static void mistakes_point_into_the_file(void **state)
{
    (void)state;
    refuses("", "the experiment file is empty");
    refuses("machines: [uba-mem]\n", "needs 'workloads'");
    refuses("machines: []\nworkloads: [vecadd:tiny]\n",
            "x.yaml:1:11: 'machines' takes a list with at least one entry");
    refuses("machines: [uba-men]\nworkloads: [vecadd:tiny]\n",
            "x.yaml:1:12: unknown machine 'uba-men'; did you mean 'uba-mem'?");
    refuses("machines: [uba-mem]\nworkloads: [vecad:tiny]\n",
            "x.yaml:2:13: there is no workload 'vecad'; did you mean 'vecadd'?");
    refuses("machines: [uba-mem]\nworkloads: [vecadd:huge]\n", "x.yaml:2:13:");
    refuses(HEAD "titel: x\n", "x.yaml:3:1: unknown key of an experiment: 'titel'; did you mean 'title'?");
    refuses(HEAD "axes: [{param: gpu.llc_size, values: []}]\n", "axis 'gpu.llc_size' is empty");
    refuses(HEAD "axes: []\n", "'axes' takes a list with at least one entry");
    refuses(HEAD "axes: [{param: gpu.lcl_size, values: [3 MiB]}]\n",
            "x.yaml:3:16: unknown parameter 'gpu.lcl_size'; did you mean 'gpu.llc_size'?");
    refuses(HEAD "axes: [{param: gpu.llc_size, values: [3 Mib]}]\n", "x.yaml:3:39: gpu.llc_size = '3 Mib'");
    refuses(HEAD "set: {sm.wraps: 3}\n", "did you mean 'sm.warps'?");
    refuses(HEAD "seeds: []\n", "'seeds' takes a list");
    refuses(HEAD "baseline: v10\n", "did you mean 'v100'?");
    refuses(HEAD "metrics: [{name: x, value: totals.cycels}]\n",
            "x.yaml:3:28: unknown value 'totals.cycels'; did you mean 'totals.cycles'?");
    refuses(HEAD "metrics: [{name: x, value: (totals.cycles}]\n", "')' is missing here");
    refuses(HEAD "metrics: [{name: x, value: totals.cycles + }]\n", "a number, a name or '(' is expected");
    refuses(HEAD "figures: [{title: x, plot: lines}]\n", "needs 'x'");
    refuses(HEAD "claims: [{id: A, order: uba-mem}]\n", "an order is written 'a < b << c'");
    refuses(HEAD "claims: [{id: A, order: uba-mem < v10}]\n",
            "unknown machine of this study 'v10'; did you mean 'v100'?");
    refuses(HEAD "claims: [{id: A, of: v100, published: 12}]\n",
            "is relative: published as '23.1 %' of change");
    refuses(HEAD "claims: [{id: A, of: v100}]\n", "a claim is a size ('of', 'published') or an 'order'");
    refuses("machines: [uba-mem]\nmachines: [v100]\n", "x.yaml:2:1: 'machines' is given twice");
    refuses("- a\n", "takes 'key: value' lines");
    refuses("machines: &a [x]\n", "anchors and aliases");
    refuses("machines: [uba-mem]\nworkloads: [\n", "not valid YAML");
}

static void a_machine_that_does_not_exist_is_missing_when_asked_so(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    struct study *s = study_new();
    struct call c = {.s = s,
                     .text = "machines: [uba-mem, warp-drive]\nworkloads: [vecadd:tiny]\n",
                     .unknown = STUDY_UNKNOWN_IS_MISSING};
    assert_int_equal(diag_run(&d, read_and_plan, &c), DIAG_NONE);
    assert_null(s->machines[0].missing);
    assert_non_null(strstr(s->machines[1].missing, "warp-drive"));
    assert_int_equal(strlen(s->points[0].key), STUDY_KEY_CHARS);
    assert_string_equal(s->points[1].key, "");
    study_free(s);
}

/* ---- points ---- */

static void a_key_changes_with_whatever_changes_a_run(void **state)
{
    (void)state;
    struct study *a = make("machines: [uba-mem]\nworkloads: [vecadd:tiny]\naxes: [{param: gpu.llc_size, "
                           "values: [6 MiB, 3 MiB]}]\nseeds: [1, 2]\n");
    struct study *b = make("title: other\nmachines: [{name: mine, machine: uba-mem}]\nworkloads: [{run: "
                           "vecadd:tiny, name: v}]\nset: {sim.seed: 1}\n");
    struct study *c = make("machines: [uba-mem]\nworkloads: [{run: vecadd:tiny, instructions: 5}]\n");
    assert_int_equal(a->point_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 0; k < i; k++) assert_string_not_equal(a->points[i].key, a->points[k].key);
    assert_string_equal(b->points[0].key, a->points[0].key); /* names do not matter */
    assert_string_not_equal(c->points[0].key, b->points[0].key);
    study_free(a);
    study_free(b);
    study_free(c);
}

static void axes_are_crossed_or_varied_one_at_a_time(void **state)
{
    (void)state;
    static const char axes[] = HEAD "axes:\n- {param: gpu.llc_size, base: 6 MiB, values: [3 MiB, 6 MiB, 12 "
                                    "MiB]}\n- {param: net.width, base: 16 B, "
                                    "values: [8 B, 16 B]}\n";
    char each[400];
    (void)snprintf(each, sizeof each, "%svary: each\n", axes);
    struct study *all = make(axes), *one = make(each);
    assert_int_equal(all->combo_count, 6);
    assert_int_equal(one->combo_count, 4);
    assert_string_equal(study_combo_name(all, all->base_combo), "");
    assert_string_equal(study_combo_name(one, one->base_combo), "");
    assert_int_equal(study_combo_with(one, one->base_combo, 1, 0), one->combo_count - 1);
    assert_int_equal(study_combo_with(one, study_combo_with(one, one->base_combo, 1, 0), 0, 0), STUDY_NONE);
    assert_non_null(strstr(study_command(all, 0),
                           "atoll run -m uba-mem -w vecadd:tiny -s gpu.llc_size='3 MiB' -s net.width='8 B'"));
    study_free(all);
    study_free(one);
}

static void a_value_may_mean_something_else_for_a_machine(void **state)
{
    (void)state;
    static const char head[] = "machines: [uba-mem, nuba]\nworkloads: [vecadd:tiny]\naxes:\n- name: network\n"
                               "  values:\n";
    char text[400];
    (void)snprintf(text, sizeof text,
                   "%s  - {name: half, set: {net.width: 8 B}, machines: {nuba: {slice_net.width: 8 B}}}\n",
                   head);
    struct study *s = make(text);
    assert_int_equal(s->point_count, 2);
    assert_non_null(strstr(study_command(s, 0), "-s net.width='8 B'"));
    assert_non_null(strstr(study_command(s, 1), "-m nuba -w vecadd:tiny -s slice_net.width='8 B'"));
    assert_null(strstr(study_command(s, 1), "-s net.width"));
    study_free(s);
    (void)snprintf(text, sizeof text, "%s  - {name: half, machines: {nuna: {slice_net.width: 8 B}}}\n", head);
    refuses(text, "nuna");
}

static void a_scale_limits_workloads_seeds_and_instructions(void **state)
{
    (void)state;
    struct study *s =
        make("machines: [uba-mem]\nworkloads:\n  a: [vecadd:tiny, {run: sgemm:tiny, instructions: {quick: "
             "7}}]\n  b: [bfs:tiny]\n"
             "seeds: [1, 2]\nscales: {quick: {instructions: 2 K, seeds: [1], workloads: [a]}, paper: {}}\n"
             "claims: [{id: X, on: bfs:tiny, order: uba-mem < uba-mem}]\n");
    assert_int_equal(s->workload_count, 2);
    assert_int_equal(s->seed_count, 1);
    assert_int_equal(s->workloads[0].instructions, 2000);
    assert_int_equal(s->workloads[1].instructions, 7);
    struct study_data *d = study_data_new(s);
    assert_int_equal(study_judge(d, &s->claims[0]).verdict, VERDICT_UNKNOWN); /* its workload is left out */
    study_data_free(d);
    study_free(s);
}

static void a_wrong_combination_is_a_point_that_fails(void **state)
{
    (void)state;
    struct study *s = make("machines: [uba-mem]\nworkloads: [vecadd:tiny]\naxes: [{param: gpu.llc_size, "
                           "values: [6 MiB, 6291457 B]}]\n");
    assert_null(s->points[0].wrong);
    assert_non_null(strstr(s->points[1].wrong, "must divide evenly"));
    assert_int_equal(strlen(s->points[1].key), STUDY_KEY_CHARS);
    study_free(s);
}

/* ---- values ---- */

static double two_machines(const struct study_point *p) /* speed-ups 2 and 4 on the second */
{
    return p->machine == 0 ? 8 : p->workload == 0 ? 4 : 2;
}

static void means_are_what_their_names_say(void **state)
{
    (void)state;
    static const double wanted[] = {8.0 / 3, 2.8284271247461903, 3};
    static const char *const names[] = {"harmonic", "geometric", "arithmetic"};
    for (int i = 0; i < 3; i++) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       HEAD "metrics: [{name: s, value: totals.seconds, relative: speedup, mean: %s}]\n",
                       names[i]);
        struct study *s = make(text);
        struct study_data *d = results(s, two_machines);
        const struct study_side none = {STUDY_NONE, 0}, second = {1, 0}, first = {0, 0};
        const struct study_estimate e = study_over(d, 0, second, none, study_all(s), STUDY_PICK_MEAN);
        assert_true(fabs(e.value - wanted[i]) < 1e-12);
        assert_int_equal(e.workloads, 2);
        assert_true(study_over(d, 0, second, none, study_all(s), STUDY_PICK_MAX).value == 4);
        assert_true(study_over(d, 0, second, none, study_all(s), STUDY_PICK_MIN).value == 2);
        assert_true(study_cell(d, 0, first, second, 0).value == 0.5); /* the other way round */
        study_data_free(d);
        study_free(s);
    }
}

static double three_seeds(const struct study_point *p)
{
    return p->machine == 0 ? 12 : p->seed == 0 ? 12 : p->seed == 1 ? 6 : 4;
}

static void an_interval_is_students_over_the_seeds(void **state)
{
    (void)state;
    struct study *s = make("machines: [uba-mem, v100]\nworkloads: [vecadd:tiny]\nseeds: [1, 2, 3]\n");
    struct study_data *d = results(s, three_seeds);
    const struct study_estimate e =
        study_cell(d, 0, (struct study_side){1, 0}, (struct study_side){STUDY_NONE, 0}, 0);
    assert_true(fabs(e.value - 2) < 1e-12); /* 1, 2, 3: standard deviation 1, t(2) = 4.303 */
    assert_true(fabs(e.high - (2 + 4.303 / sqrt(3))) < 1e-9);
    assert_true(fabs(e.low - (2 - 4.303 / sqrt(3))) < 1e-9);
    assert_int_equal(e.seeds, 3);
    study_data_free(d);
    study_free(s);
}

static double holes(const struct study_point *p)
{
    return p->machine == 1 && p->workload == 1 ? NAN : two_machines(p);
}

static void a_hole_is_left_out_of_means_and_stops_a_verdict(void **state)
{
    (void)state;
    struct study *s = make(HEAD "claims: [{id: A, of: v100, published: 100 %}]\n");
    struct study_data *d = results(s, holes);
    const struct study_estimate e = study_over(
        d, 0, (struct study_side){1, 0}, (struct study_side){STUDY_NONE, 0}, study_all(s), STUDY_PICK_MEAN);
    assert_true(e.value == 2);
    assert_int_equal(e.workloads, 1);
    assert_int_equal(e.want, 2);
    assert_int_equal(study_judge(d, &s->claims[0]).verdict, VERDICT_UNKNOWN);
    study_data_free(d);
    study_free(s);
}

static double by_llc(const struct study_point *p) { return p->machine == 0 ? 10 : 10 - 2 * p->combo; }

static void the_baseline_is_the_base_or_the_same_axis_value(void **state)
{
    (void)state;
    static const char axes[] =
        "machines: [uba-mem, v100]\nworkloads: [vecadd:tiny]\naxes: [{param: gpu.llc_size, values: [3 MiB, 6 "
        "MiB, 12 MiB]}]\n"
        "claims: [{id: A, by: gpu.llc_size, of: v100, over: uba-mem, order: 3 MiB < 6 MiB < 12 MiB}]\n";
    struct study *s = make(axes);
    struct study_data *d = results(s, by_llc);
    assert_int_equal(study_baseline(s, (struct study_side){1, 2}).combo, 0);
    const struct study_judgement j = study_judge(d, &s->claims[0]);
    assert_int_equal(j.verdict, VERDICT_ORDER);
    assert_string_equal(j.text, "3 MiB 1.000 < 6 MiB 1.250 < 12 MiB 1.667");
    study_data_free(d);
    study_free(s);
}

static void the_best_of_machines_is_chosen_per_workload(void **state)
{
    (void)state;
    struct study *s = make("machines: [uba-mem, v100, {name: best, best: [uba-mem, v100]}]\nworkloads: "
                           "[vecadd:tiny, sgemm:tiny]\n");
    struct study_data *d = study_data_new(s);
    static const double seconds[2][2] = {{4, 4}, {2, 8}};
    for (uint32_t m = 0; m < 2; m++)
        for (uint32_t w = 0; w < 2; w++) {
            struct study_result *r = &d->results[study_point_at(s, m, 0, w, 0)];
            r->status = STUDY_DONE;
            r->root = json_pack("{s:{s:f}}", "totals", "seconds", seconds[m][w]);
        }
    const struct study_side best = {2, 0}, none = {STUDY_NONE, 0};
    assert_true(study_cell(d, 0, best, none, 0).value == 2);
    assert_true(study_cell(d, 0, best, none, 1).value == 1);
    study_data_free(d);
    study_free(s);
}

/* ---- verdicts ---- */

static double ours; /* speed-up of the second machine */
static double constant(const struct study_point *p) { return p->machine == 0 ? 1 : 1 / ours; }

static enum study_verdict verdict(const char *claim, double speedup)
{
    char text[300];
    (void)snprintf(text, sizeof text, HEAD "claims: [{id: A, %s}]\n", claim);
    struct study *s = make(text);
    ours = speedup;
    struct study_data *d = results(s, constant);
    const enum study_verdict v = study_judge(d, &s->claims[0]).verdict;
    study_data_free(d);
    study_free(s);
    return v;
}

static void a_size_holds_within_a_third_of_the_effect(void **state)
{
    (void)state;
    static const char claim[] = "of: v100, published: 30 %";
    assert_int_equal(verdict(claim, 1.30), VERDICT_SIZE);
    assert_int_equal(verdict(claim, 1.399), VERDICT_SIZE);
    assert_int_equal(verdict(claim, 1.201), VERDICT_SIZE);
    assert_int_equal(verdict(claim, 1.199), VERDICT_ORDER);
    assert_int_equal(verdict(claim, 1.401), VERDICT_ORDER);
    assert_int_equal(verdict(claim, 0.99), VERDICT_DIFFERS);
    assert_int_equal(verdict("of: v100, published: -20 %", 0.85), VERDICT_SIZE);
    assert_int_equal(verdict("of: v100, published: -20 %", 1.02), VERDICT_DIFFERS);
    assert_int_equal(verdict("of: v100, published: 2 x", 2.3), VERDICT_SIZE);
    assert_int_equal(verdict("of: v100, published: 2 x", 2.4), VERDICT_ORDER);
    assert_int_equal(verdict("of: v100, published: 0 %", 1.009), VERDICT_SIZE);
    assert_int_equal(verdict("of: v100, published: 0 %", 1.02), VERDICT_DIFFERS);
}

static void an_order_holds_when_every_relation_does(void **state)
{
    (void)state;
    assert_int_equal(verdict("order: uba-mem < v100", 1.001), VERDICT_ORDER);
    assert_int_equal(verdict("order: uba-mem < v100", 1.0), VERDICT_DIFFERS);
    assert_int_equal(verdict("order: uba-mem << v100", 1.11), VERDICT_ORDER);
    assert_int_equal(verdict("order: uba-mem << v100", 1.09), VERDICT_DIFFERS);
    assert_int_equal(verdict("order: uba-mem <= v100", 0.99), VERDICT_ORDER);
    assert_int_equal(verdict("order: uba-mem <= v100", 0.97), VERDICT_DIFFERS);
    assert_int_equal(verdict("order: uba-mem ~= v100", 1.04), VERDICT_ORDER);
    assert_int_equal(verdict("order: uba-mem ~= v100", 0.94), VERDICT_DIFFERS);
    assert_int_equal(verdict("order: uba-mem < v100 < uba-mem", 1.2), VERDICT_DIFFERS);
}

static void expressions_compute(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    json_t *r = json_pack("{s:{s:i, s:{s:{s:f}}}, s:{s:f}}", "totals", "cycles", 10, "bandwidth", "dram",
                          "utilisation", 0.5, "stats", "llc.read_hit_rate", 0.25);
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"1 + 2 * 3", 7},
                {"(1 + 2) * 3", 9},
                {"-2 + 5", 3},
                {"8 / 4 / 2", 1},
                {"totals.cycles * 2", 20},
                {"100 * (1 - stats.llc.read_hit_rate)", 75},
                {"totals.bandwidth.dram.utilisation", 0.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(expr_value(expr_parse(&a, rows[i].text, (struct diag_place){0}), r) == rows[i].value);
    assert_true(isnan(expr_value(expr_parse(&a, "1 / (totals.cycles - 10)", (struct diag_place){0}), r)));
    assert_true(isnan(expr_value(expr_parse(&a, "totals.ipc", (struct diag_place){0}), r)));
    json_decref(r);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_point_into_the_file),
        cmocka_unit_test(a_machine_that_does_not_exist_is_missing_when_asked_so),
        cmocka_unit_test(a_key_changes_with_whatever_changes_a_run),
        cmocka_unit_test(axes_are_crossed_or_varied_one_at_a_time),
        cmocka_unit_test(a_value_may_mean_something_else_for_a_machine),
        cmocka_unit_test(a_scale_limits_workloads_seeds_and_instructions),
        cmocka_unit_test(a_wrong_combination_is_a_point_that_fails),
        cmocka_unit_test(means_are_what_their_names_say),
        cmocka_unit_test(an_interval_is_students_over_the_seeds),
        cmocka_unit_test(a_hole_is_left_out_of_means_and_stops_a_verdict),
        cmocka_unit_test(the_baseline_is_the_base_or_the_same_axis_value),
        cmocka_unit_test(the_best_of_machines_is_chosen_per_workload),
        cmocka_unit_test(a_size_holds_within_a_third_of_the_effect),
        cmocka_unit_test(an_order_holds_when_every_relation_does),
        cmocka_unit_test(expressions_compute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
