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
    static const struct {
        const char *text, *fragment;
    } rows[] = {
        {"", "the experiment file is empty"},
        {"machines: [uba-mem]\n", "needs 'workloads'"},
        {"machines: []\nworkloads: [vecadd:tiny]\n",
         "x.yaml:1:11: 'machines' takes a list with at least one entry"},
        {"machines: [uba-men]\nworkloads: [vecadd:tiny]\n",
         "x.yaml:1:12: unknown machine 'uba-men'; did you mean 'uba-mem'?"},
        {"machines: [uba-mem]\nworkloads: [vecad:tiny]\n",
         "x.yaml:2:13: there is no workload 'vecad'; did you mean 'vecadd'?"},
        {"machines: [uba-mem]\nworkloads: [vecadd:huge]\n", "x.yaml:2:13:"},
        {HEAD "titel: x\n", "x.yaml:3:1: unknown key of an experiment: 'titel'; did you mean 'title'?"},
        {HEAD "axes: [{param: gpu.llc_size, values: []}]\n", "axis 'gpu.llc_size' is empty"},
        {HEAD "axes: []\n", "'axes' takes a list with at least one entry"},
        {HEAD "axes: [{param: gpu.lcl_size, values: [3 MiB]}]\n",
         "x.yaml:3:16: unknown parameter 'gpu.lcl_size'; did you mean 'gpu.llc_size'?"},
        {HEAD "axes: [{param: gpu.llc_size, values: [3 Mib]}]\n", "x.yaml:3:39: gpu.llc_size = '3 Mib'"},
        {HEAD "set: {sm.wraps: 3}\n", "did you mean 'sm.warps'?"},
        {HEAD "seeds: []\n", "'seeds' takes a list"},
        {HEAD "baseline: v10\n", "did you mean 'v100'?"},
        {HEAD "metrics: [{name: x, value: totals.cycels}]\n",
         "x.yaml:3:28: unknown value 'totals.cycels'; did you mean 'totals.cycles'?"},
        {HEAD "metrics: [{name: x, value: (totals.cycles}]\n", "')' is missing here"},
        {HEAD "metrics: [{name: x, value: totals.cycles + }]\n", "a number, a name or '(' is expected"},
        {HEAD "figures: [{title: x, plot: lines}]\n", "needs 'x'"},
        {HEAD "claims: [{id: A, order: uba-mem}]\n", "an order is written 'a < b << c'"},
        {HEAD "claims: [{id: A, order: uba-mem < v10}]\n",
         "unknown machine of this study 'v10'; did you mean 'v100'?"},
        {HEAD "claims: [{id: A, of: v100, published: 12}]\n", "is relative: published as '23.1 %' of change"},
        {HEAD "claims: [{id: A, of: v100}]\n",
         "a claim is a size ('of', 'published'), an 'order', or a metric that 'follows' another"},
        {"machines: [uba-mem]\nmachines: [v100]\n", "x.yaml:2:1: 'machines' is given twice"},
        {"- a\n", "takes 'key: value' lines"},
        {"machines: &a [x]\n", "anchors and aliases"},
        {"machines: [uba-mem]\nworkloads: [\n", "not valid YAML"},
        {HEAD "axes: [{param: gpu.llc_size, values: [3 MiB]}, {param: gpu.llc_size, values: [6 MiB]}]\n",
         "axis 'gpu.llc_size' is given twice"},
        {HEAD "scales: {quick: {workloads: [nope]}}\n",
         "unknown group or workload of this study 'nope'; there is: all, vecadd:tiny, sgemm:tiny"},
        {"machines: [uba-mem]\nworkloads: [./nowhere:tiny]\n",
         "x.yaml:2:13: there is no workload folder './nowhere'"},
        {"machines: [{name: b, best: [x]}]\nworkloads: [vecadd:tiny]\n",
         "machines of this study that stand before it"},
        {"machines: [uba-mem, {name: b, best: [uba-mem]}, {name: c, best: [b]}]\nworkloads: [vecadd:tiny]\n",
         "not of other bests"},
        {"machines: [uba-mem, {name: b, mean: {uba-mem: none}}]\nworkloads: [vecadd:tiny]\n",
         "the weight of a machine is a number above 0, not 'none'"},
        {"machines: [{name: b, mean: {}}]\nworkloads: [vecadd:tiny]\n", "'mean' takes weights of machines"},
        {"machines: [uba-mem, {name: b, best: [uba-mem], per: kernel}]\nworkloads: [vecadd:tiny]\nmetrics: "
         "[{name: x, value: totals.ipc}]\n",
         "the best per kernel is decided by a metric of totals.seconds or totals.cycles: 'x' is "
         "'totals.ipc'"},
        {HEAD "claims: [{id: A, of: v100, published: 4 to 2 x}]\n", "from the smaller to the larger"},
        {HEAD "claims: [{id: A, of: v100, published: 23 %, pick: each}]\n",
         "'pick: each' is for orders of machines and for bounds"},
        {HEAD "claims: [{id: A, of: v100, follows: speedup, pick: max}]\n", "it takes no 'pick'"},
        {HEAD "claims: [{id: A, of: v100, published: 23 %, pick: count}]\n", "'pick: count' is for an order"},
        {HEAD "claims: [{id: A, by: metric, of: v100, order: speedup < speed}]\n", "speed"},
        {HEAD "claims: [{id: A, of: v100, follows: speed}]\n",
         "unknown metric 'speed'; did you mean 'speedup'?"},
        {HEAD "metrics: [{name: c, value: totals.cycles}]\nclaims: [{id: A, order: v100 / uba-mem < v100}]\n",
         "'a / b' is of a relative metric; 'c' is not"},
        {HEAD "figures: [{title: x, plot: scatter}]\n", "needs two 'metrics'"},
        {HEAD
         "axes: [{name: a, values: [{name: 8}]}, {name: b, values: [{name: 8}]}]\nclaims: [{id: A, order: "
         "uba-mem < v100 @ 8}]\n",
         "'8' is a value of the axes 'a' and 'b'"},
        {HEAD "figures: [{title: x, series: group}]\n", "'series: group' needs 'x'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) refuses(rows[i].text, rows[i].fragment);
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

static void a_scale_chooses_machines_and_workloads(void **state)
{
    static const char text[] = "machines: [{name: A, machine: {quick: uba-mem, paper: v100}}]\n"
                               "workloads: [{name: w, run: {quick: vecadd:tiny, paper: vecadd:small}}]\n"
                               "set: {gpu.llc_size: 12 MiB}\n"
                               "scales: {quick: {set: {gpu.llc_size: /4}}, paper: {}}\n";
    (void)state;
    struct study *s = make(text);
    assert_string_equal(s->machines[0].preset, "uba-mem");
    assert_string_equal(s->machines[0].name, "A");
    assert_string_equal(s->workloads[0].spec, "vecadd:tiny");
    assert_non_null(strstr(study_command(s, 0), "-s gpu.llc_size='12 MiB' -s gpu.llc_size=/4"));
    study_free(s);
    refuses("machines: [{name: A, machine: {paper: v100}}]\nworkloads: [vecadd:tiny]\nscales: {quick: {}, "
            "paper: {}}\n",
            "x.yaml:1:31: 'machine' has no value for the scale 'quick'; add one");
    refuses("machines: [{name: A, machine: {quick: v10}}]\nworkloads: [vecadd:tiny]\nscales: {quick: {}}\n",
            "x.yaml:1:39: unknown machine 'v10'; did you mean 'v100'?");
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

/* A run of two kernels and a gap of 1 between them. */
static void put_run(struct study_data *d, uint32_t machine, uint32_t workload, double first, double second,
                    double hits)
{
    struct study_result *r = &d->results[study_point_at(d->study, machine, 0, workload, 0)];
    r->status = STUDY_DONE;
    r->root = json_pack("{s:{s:f}, s:[{s:s, s:f}, {s:s, s:f}], s:{s:f}}", "totals", "seconds",
                        first + second + 1, "kernels", "name", "a", "seconds", first, "name", "b", "seconds",
                        second, "stats", "llc.read_hit_rate", hits);
}

static void the_best_of_machines_is_chosen_per_workload_or_per_kernel(void **state)
{
    (void)state;
    struct study *s = make(
        "machines: [uba-mem, v100, {name: best, best: [uba-mem, v100]}, {name: kernels, best: [uba-mem, "
        "v100], per: kernel}, {name: hits, best: [uba-mem, v100], by: hits}, {name: mean, mean: {uba-mem: 1, "
        "best: 3}}]\n"
        "workloads: [vecadd:tiny, sgemm:tiny]\n"
        "metrics: [{name: time, value: totals.seconds, better: lower}, {name: hits, value: "
        "stats.llc.read_hit_rate}]\n");
    struct study_data *d = study_data_new(s);
    const struct study_side best = {2, 0}, kernels = {3, 0}, hits = {4, 0}, mean = {5, 0},
                            none = {STUDY_NONE, 0};
    put_run(d, 0, 0, 2, 9, 0.9);
    assert_true(isnan(study_cell(d, 0, best, none, 0).value)); /* the best of some is not the best */
    assert_true(isnan(study_cell(d, 0, kernels, none, 0).value));
    put_run(d, 1, 0, 5, 3, 0.1);
    put_run(d, 0, 1, 2, 2, 0.9);
    put_run(d, 1, 1, 7, 7, 0.1);
    assert_true(study_cell(d, 0, best, none, 0).value == 9);
    assert_true(study_cell(d, 0, best, none, 1).value == 5);
    assert_true(study_cell(d, 1, best, none, 0).value == 0.1); /* of the machine that is fastest */
    assert_true(study_cell(d, 0, hits, none, 0).value == 12);
    assert_true(study_cell(d, 0, mean, none, 0).value == (12 + 3 * 9) / 4.0); /* of other bests, too */
    assert_true(fabs(study_cell(d, 1, mean, none, 0).value - (0.9 + 3 * 0.1) / 4) < 1e-12);
    assert_true(study_cell(d, 0, kernels, none, 0).value == 2 + 3 + 1);
    assert_true(study_cell(d, 0, kernels, none, 1).value == 2 + 2 + 1);
    assert_true(isnan(study_cell(d, 1, kernels, none, 0).value)); /* only times of kernels add up */
    /* the second kernel is another: it counts together with the gap, as what is left of the run */
    json_t *other = json_array_get(json_object_get(d->results[0].root, "kernels"), 1);
    (void)json_object_set_new(other, "name", json_string("c"));
    assert_true(study_cell(d, 0, kernels, none, 0).value == 2 + 4);
    /* kernels that overlap cannot be chosen one by one */
    (void)json_object_set_new(json_object_get(d->results[0].root, "totals"), "seconds", json_real(1));
    assert_true(isnan(study_cell(d, 0, kernels, none, 0).value));
    study_data_free(d);
    study_free(s);
}

static double hole_in_a_seed(const struct study_point *p) /* speed-ups 2 and 8; the second seed lacks the 8 */
{
    if (p->machine == 1 && p->workload == 1) return p->seed ? NAN : 1;
    return p->machine == 0 ? 8 : 4;
}

static void a_seed_that_lacks_a_workload_is_not_in_the_mean(void **state)
{
    (void)state;
    struct study *s = make(HEAD "seeds: [1, 2]\n");
    struct study_data *d = results(s, hole_in_a_seed);
    const struct study_estimate e = study_over(
        d, 0, (struct study_side){1, 0}, (struct study_side){STUDY_NONE, 0}, study_all(s), STUDY_PICK_MEAN);
    assert_true(fabs(e.value - 3.2) < 1e-12); /* harmonic mean of 2 and 8, from the whole seed */
    assert_int_equal(e.seeds, 1);
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

/* A claim, the speed-up of the second machine on both workloads, the verdict. */
struct judged {
    const char *claim;
    double speedup;
    enum study_verdict verdict;
};

static void judge_all(const struct judged *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const enum study_verdict v = verdict(rows[i].claim, rows[i].speedup);
        if (v != rows[i].verdict)
            fail_msg("%s at %g: %s", rows[i].claim, rows[i].speedup, study_verdict_names[v]);
    }
}
#define JUDGE_ALL(rows) judge_all(rows, sizeof(rows) / sizeof *(rows))

static void a_size_holds_within_a_third_of_the_effect(void **state)
{
    (void)state;
    static const struct judged rows[] = {
        {"of: v100, published: 30 %", 1.30, VERDICT_SIZE},
        {"of: v100, published: 30 %", 1.399, VERDICT_SIZE},
        {"of: v100, published: 30 %", 1.201, VERDICT_SIZE},
        {"of: v100, published: 30 %", 1.199, VERDICT_ORDER},
        {"of: v100, published: 30 %", 1.401, VERDICT_ORDER},
        {"of: v100, published: 30 %", 0.99, VERDICT_DIFFERS},
        {"of: v100, published: -20 %", 0.85, VERDICT_SIZE},
        {"of: v100, published: -20 %", 1.02, VERDICT_DIFFERS},
        {"of: v100, published: 2 x", 2.3, VERDICT_SIZE},
        {"of: v100, published: 2 x", 2.4, VERDICT_ORDER},
        {"of: v100, published: 0 %", 1.009, VERDICT_SIZE},
        {"of: v100, published: 0 %", 1.02, VERDICT_DIFFERS},
    };
    JUDGE_ALL(rows);
}

static void an_order_holds_when_every_relation_does(void **state)
{
    (void)state;
    static const struct judged rows[] = {
        {"order: uba-mem < v100", 1.001, VERDICT_ORDER},
        {"order: uba-mem < v100", 1.0, VERDICT_DIFFERS},
        {"order: uba-mem << v100", 1.11, VERDICT_ORDER},
        {"order: uba-mem << v100", 1.09, VERDICT_DIFFERS},
        {"order: uba-mem <= v100", 0.99, VERDICT_ORDER},
        {"order: uba-mem <= v100", 0.97, VERDICT_DIFFERS},
        {"order: uba-mem ~= v100", 1.04, VERDICT_ORDER},
        {"order: uba-mem ~= v100", 0.94, VERDICT_DIFFERS},
        {"order: uba-mem < v100 < uba-mem", 1.2, VERDICT_DIFFERS},
    };
    JUDGE_ALL(rows);
}

static void a_bound_holds_on_its_side_and_nearly_within_a_third(void **state)
{
    (void)state;
    static const struct judged rows[] = {
        {"of: v100, published: '> 30 %'", 1.31, VERDICT_ORDER},
        {"of: v100, published: '> 30 %'", 1.90, VERDICT_ORDER},
        {"of: v100, published: '> 30 %'", 1.25, VERDICT_SIZE},
        {"of: v100, published: '> 30 %'", 1.10, VERDICT_DIFFERS}, /* the direction alone is no bound */
        {"of: v100, published: '< 30 %'", 1.10, VERDICT_ORDER},
        {"of: v100, published: '< 30 %'", 1.50, VERDICT_DIFFERS},
        {"of: v100, published: '> 30 %', pick: each", 1.31, VERDICT_ORDER},
    };
    JUDGE_ALL(rows);
}

#define FOUR "machines: [uba-mem, v100]\nworkloads: [vecadd:tiny, sgemm:tiny, bfs:tiny, spmv:tiny]\n"
#define PAIR \
    "metrics: [{name: speedup, value: totals.seconds, relative: speedup}, {name: time, value: " \
    "totals.seconds}]\n"

#define AHEAD "metrics: [{name: ahead, value: totals.seconds, relative: difference, unit: s}]\n"

static double falling(const struct study_point *p) { return p->machine == 0 ? 8 : 1 + p->workload; }
static double equal(const struct study_point *p) { return p->machine == 0 ? 8 : 4; }

/* What is found of a claim, the verdict and our numbers in words. */
static void other_forms_of_claims_are_judged(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double (*seconds)(const struct study_point *p);
        enum study_verdict verdict;
        const char *words;
    } rows[] = {
        /* on each workload: speed-ups are 2 and 4 */
        {HEAD "claims: [{id: A, pick: each, order: uba-mem << v100}]\n", two_machines, VERDICT_ORDER,
         "on 2 of 2"},
        {HEAD "claims: [{id: A, pick: each, order: v100 << uba-mem}]\n", two_machines, VERDICT_DIFFERS,
         "on 0 of 2; not on vecadd:tiny, sgemm:tiny"},
        {HEAD "claims: [{id: A, of: v100, published: '> 160 %', pick: each}]\n", two_machines,
         VERDICT_DIFFERS, "+100.0 %"},
        {HEAD "claims: [{id: A, of: v100, published: '> 120 %', pick: each}]\n", two_machines, VERDICT_SIZE,
         "+100.0 %"},
        {HEAD "claims: [{id: A, pick: each, order: uba-mem << v100}]\n", holes, VERDICT_UNKNOWN,
         "1 of 2 workloads have a value"},
        /* a value that is no change has no direction: the mean time is 3 */
        {HEAD PAIR "claims: [{id: A, metric: time, of: v100, published: 1}]\n", two_machines, VERDICT_DIFFERS,
         "3"},
        {HEAD PAIR "claims: [{id: A, metric: time, of: v100, published: 4}]\n", two_machines, VERDICT_SIZE,
         "3"},
        /* a number of workloads: speed-ups are 2 and 4, times over 1 and 2 */
        {HEAD "claims: [{id: A, pick: count, order: uba-mem << v100, published: 2}]\n", two_machines,
         VERDICT_SIZE, "2 workloads of 2"},
        {HEAD "claims: [{id: A, pick: count, order: v100 < uba-mem, published: 1}]\n", two_machines,
         VERDICT_DIFFERS, "0 workloads of 2"},
        {HEAD "claims: [{id: A, pick: count, order: uba-mem << v100, published: '> 1'}]\n", two_machines,
         VERDICT_ORDER, "2 workloads of 2"},
        {HEAD "claims: [{id: A, pick: count, order: uba-mem << v100, published: 2}]\n", holes,
         VERDICT_UNKNOWN, "1 of 2 workloads have a value"},
        /* two metrics of one machine: speed-ups 4, 2 and times 2, 4; sums over workloads differ */
        {HEAD PAIR
         "claims: [{id: A, by: metric, of: v100, pick: count, order: time < speedup, published: 1}]\n",
         two_machines, VERDICT_SIZE, "1 workloads of 2"},
        {HEAD PAIR "claims: [{id: A, by: metric, of: v100, order: speedup ~= time}]\n", two_machines,
         VERDICT_DIFFERS, "speedup 2.667 not ~= time 3.000"},
        /* a difference to the baseline has a direction */
        {HEAD AHEAD "claims: [{id: A, of: v100, published: -4}]\n", two_machines, VERDICT_SIZE, "-5 s"},
        {HEAD AHEAD "claims: [{id: A, of: v100, published: -20}]\n", two_machines, VERDICT_ORDER, "-5 s"},
        {HEAD AHEAD "claims: [{id: A, of: v100, published: 5}]\n", two_machines, VERDICT_DIFFERS, "-5 s"},
        /* a range is that of the workloads */
        {HEAD "claims: [{id: A, of: v100, published: 2 to 4 x}]\n", two_machines, VERDICT_SIZE, "2 x to 4 x"},
        {HEAD "claims: [{id: A, of: v100, published: 3 to 16 x}]\n", two_machines, VERDICT_ORDER,
         "2 x to 4 x"},
        {HEAD "claims: [{id: A, of: v100, published: 8 to 16 x}]\n", two_machines, VERDICT_DIFFERS,
         "2 x to 4 x"},
        /* gains over machines of their own */
        {HEAD "claims: [{id: A, order: uba-mem / v100 << uba-mem / uba-mem << v100 / uba-mem}]\n",
         two_machines, VERDICT_ORDER,
         "uba-mem / v100 0.333 << uba-mem / uba-mem 1.000 << v100 / uba-mem 2.667"},
        /* a metric follows another: times 1, 2, 3, 4 and speed-ups 8, 4, 2.67, 2 */
        {FOUR PAIR "claims: [{id: A, of: v100, follows: speedup}]\n", falling, VERDICT_ORDER,
         "r = 1.00 over 4 workloads"},
        {FOUR PAIR "claims: [{id: A, of: v100, follows: time}]\n", falling, VERDICT_DIFFERS,
         "r = -0.93 over 4 workloads"},
        {FOUR PAIR "claims: [{id: A, of: v100, follows: time}]\n", equal, VERDICT_UNKNOWN,
         "nothing varies, or there are fewer than three workloads"},
        {HEAD PAIR "claims: [{id: A, of: v100, follows: time}]\n", two_machines, VERDICT_UNKNOWN,
         "nothing varies, or there are fewer than three workloads"}, /* two points always lie on a line */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct study *s = make(rows[i].text);
        struct study_data *d = results(s, rows[i].seconds);
        const struct study_judgement j = study_judge(d, &s->claims[0]);
        if (strcmp(j.text, rows[i].words) != 0 || j.verdict != rows[i].verdict)
            fail_msg("%zu: '%s', %s", i, j.text, study_verdict_names[j.verdict]);
        study_data_free(d);
        study_free(s);
    }
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
    json_t *queues = json_pack("{s:{s:{s:f}}, s:{s:{s:{s:f}}}}", "slice_queues", "input", "mean", 1.5,
                               "link_stages", "replies", "between_routers", "utilisation", 0.75);
    assert_int_equal(json_object_update_new(json_object_get(r, "totals"), queues), 0);
    assert_true(expr_value(expr_parse(&a,
                                      "totals.slice_queues.input.mean * "
                                      "totals.link_stages.replies.between_routers.utilisation",
                                      (struct diag_place){0}),
                           r) == 1.125);
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
        cmocka_unit_test(a_scale_chooses_machines_and_workloads),
        cmocka_unit_test(a_wrong_combination_is_a_point_that_fails),
        cmocka_unit_test(means_are_what_their_names_say),
        cmocka_unit_test(an_interval_is_students_over_the_seeds),
        cmocka_unit_test(a_hole_is_left_out_of_means_and_stops_a_verdict),
        cmocka_unit_test(the_baseline_is_the_base_or_the_same_axis_value),
        cmocka_unit_test(the_best_of_machines_is_chosen_per_workload_or_per_kernel),
        cmocka_unit_test(a_seed_that_lacks_a_workload_is_not_in_the_mean),
        cmocka_unit_test(a_size_holds_within_a_third_of_the_effect),
        cmocka_unit_test(an_order_holds_when_every_relation_does),
        cmocka_unit_test(a_bound_holds_on_its_side_and_nearly_within_a_third),
        cmocka_unit_test(other_forms_of_claims_are_judged),
        cmocka_unit_test(expressions_compute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
