/* study_read: an experiment file becomes a study: machines, workloads, axes, seeds, scales. What is asked of
 * the results is read in asked.c. docs/experiments.md shows the form. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "frontend/script/script.h"
#include "study/study_private.h"

struct study *study_new(void)
{
    struct study *s = calloc(1, sizeof *s);
    if (!s) diag_mistake("out of host memory");
    arena_init(&s->arena);
    s->scale = "";
    return s;
}

void study_free(struct study *s)
{
    if (!s) return;
    arena_free(&s->arena);
    free(s);
}

/* ---- finding by name ---- */

uint32_t study_find_machine(const struct study *s, struct diag_place place, const char *name)
{
    const char *names[256];
    uint32_t i = 0;
    for (; i < s->machine_count; i++) {
        if (strcmp(s->machines[i].name, name) == 0) return i;
        if (i < 256) names[i] = s->machines[i].name;
    }
    nodes_unknown(place, "machine of this study", name, names, i < 256 ? i : 256);
}

uint32_t study_find_metric(const struct study *s, struct diag_place place, const char *name)
{
    const char *names[64];
    uint32_t i = 0;
    for (; i < s->metric_count; i++) {
        if (strcmp(s->metrics[i].name, name) == 0) return i;
        if (i < 64) names[i] = s->metrics[i].name;
    }
    nodes_unknown(place, "metric", name, names, i < 64 ? i : 64);
}

struct study_set study_all(const struct study *s) { return (struct study_set){s->every, s->workload_count}; }

struct study_set study_find_workloads(const struct study *s, struct diag_place place, const char *name)
{
    const char *names[256] = {"all"};
    uint32_t known = 1;
    if (strcmp(name, "all") == 0) return study_all(s);
    for (uint32_t g = 0; g < s->group_count; g++) {
        if (known < 256 && *s->groups[g].name) names[known++] = s->groups[g].name;
        if (strcmp(s->groups[g].name, name) == 0)
            return (struct study_set){s->every + s->groups[g].first, s->groups[g].count};
    }
    for (uint32_t w = 0; w < s->workload_count; w++) {
        if (known < 256) names[known++] = s->workloads[w].name;
        if (strcmp(s->workloads[w].name, name) == 0) return (struct study_set){s->every + w, 1};
    }
    for (uint32_t w = 0; w < s->left_out_count; w++)
        if (strcmp(s->left_out[w], name) == 0) return (struct study_set){s->every, 0};
    nodes_unknown(place, "group or workload of this study", name, names, known);
}

/* A text, or one for each scale: 'machine: {quick: ladm-rr-q4, paper: ladm-rr}'. *place: of the text. */
static const char *text_of_scale(const struct study *s, const struct yaml_node *n, const char *what,
                                 const char *key, struct diag_place *place)
{
    const struct yaml_node *value = yaml_get(n, key);
    if (!value || value->kind != YAML_MAP) {
        const char *const text = nodes_need(n, what, key);
        assert(value); /* nodes_need() has raised an error otherwise */
        *place = value->place;
        return text;
    }
    const struct yaml_node *const of_scale = yaml_get(value, s->scale);
    if (!of_scale)
        diag_mistake_at(value->place, "'%s' has no value for the scale '%s'; add one", key, s->scale);
    *place = of_scale->place;
    return nodes_scalar(of_scale, what);
}

/* ---- machines ---- */

/* {name: best static, best: [a, b]}: for each workload the best of machines that stand before it. */
static void read_best(struct study *s, const struct yaml_node *n, struct study_machine *m)
{
    static const char *const keys[] = {"name", "best", "per", "by", NULL};
    static const char *const per[] = {"workload", "kernel", NULL};
    const struct yaml_node *list = yaml_get(n, "best"), *each = yaml_get(n, "per"), *by = yaml_get(n, "by");
    nodes_check_keys(n, "the best of machines", keys);
    m->name = nodes_need(n, "the best of machines", "name");
    if (list->kind != YAML_LIST || !list->first || list->count > STUDY_BEST_MAX || !s->machine_count)
        diag_mistake_at(list->place,
                        "'best' takes a list of 1 to %d machines of this study that stand before it",
                        STUDY_BEST_MAX);
    uint32_t *best = ARENA_ARRAY(&s->arena, uint32_t, list->count);
    for (const struct yaml_node *one = list->first; one; one = one->next) {
        best[m->best_count] = study_find_machine(s, one->place, nodes_scalar(one, "a machine"));
        if (s->machines[best[m->best_count++]].best_of)
            diag_mistake_at(one->place,
                            "the best of machines is of machines that run, not of other bests or means");
    }
    m->best_of = best;
    m->per_kernel = each && nodes_choice(each, "per", per) == 1;
    m->best_by_name = nodes_text(n, "by");
    m->best_place = by ? by->place : list->place;
    m->preset = m->name;
}

/* {name: bound, mean: {a: 1, b: 4}}: for each workload the weighted mean of machines that stand before it. */
static void read_mean(struct study *s, const struct yaml_node *n, struct study_machine *m)
{
    static const char *const keys[] = {"name", "mean", NULL};
    const struct yaml_node *map = yaml_get(n, "mean");
    nodes_check_keys(n, "a mean of machines", keys);
    m->name = m->preset = nodes_need(n, "a mean of machines", "name");
    if (map->kind != YAML_MAP || !map->first || !s->machine_count)
        diag_mistake_at(map->place,
                        "'mean' takes weights of machines that stand before it, such as {a: 1, b: 4}");
    for (const struct yaml_node *one = map->first; one; one = one->next) m->best_count++;
    uint32_t *of = ARENA_ARRAY(&s->arena, uint32_t, m->best_count), k = 0;
    double *weights = ARENA_ARRAY(&s->arena, double, m->best_count);
    for (const struct yaml_node *one = map->first; one; one = one->next) {
        char *end;
        of[k] = study_find_machine(s, one->key_place, one->key);
        const char *const text = nodes_scalar(one, one->key);
        weights[k] = strtod(text, &end);
        if (end == text || *end || !(weights[k++] > 0))
            diag_mistake_at(one->place, "the weight of a machine is a number above 0, not '%s'", text);
    }
    m->best_of = of;
    m->weights = weights;
    m->best_place = map->place;
}

static void add_machine(struct study *s, const struct yaml_node *n)
{
    static const char *const keys[] = {"name", "machine", "set", NULL};
    struct study_machine m = {.place = n->place};
    if (n->kind == YAML_SCALAR) {
        m.name = m.preset = nodes_scalar(n, "a machine");
    } else if (yaml_get(n, "best")) {
        read_best(s, n, &m);
    } else if (yaml_get(n, "mean")) {
        read_mean(s, n, &m);
    } else {
        nodes_check_keys(n, "a machine", keys);
        m.preset = text_of_scale(s, n, "a machine", "machine", &m.place);
        m.name = nodes_text(n, "name");
        if (!m.name) m.name = m.preset;
        m.set = nodes_settings(&s->arena, yaml_get(n, "set"));
    }
    for (uint32_t i = 0; i < s->machine_count; i++)
        if (strcmp(s->machines[i].name, m.name) == 0)
            diag_mistake_at(n->place, "two machines are named '%s': give them a 'name'", m.name);
    s->machines = nodes_grow(&s->arena, s->machines, s->machine_count, sizeof m);
    s->machines[s->machine_count++] = m;
}

static void read_list(struct study *s, const struct yaml_node *root, const char *key,
                      void (*add)(struct study *s, const struct yaml_node *n))
{
    const struct yaml_node *list = yaml_get(root, key);
    if (!list) diag_mistake_at(root->place, "the experiment needs '%s'", key);
    if (list->kind != YAML_LIST || !list->first)
        diag_mistake_at(list->place, "'%s' takes a list with at least one entry", key);
    for (const struct yaml_node *n = list->first; n; n = n->next) add(s, n);
}

/* ---- workloads ---- */

static void push_workload(struct study *s, struct study_workload w)
{
    for (uint32_t i = 0; i < s->workload_count; i++)
        if (strcmp(s->workloads[i].name, w.name) == 0)
            diag_mistake_at(w.place, "workload '%s' is given twice: give one another 'name'", w.name);
    w.group = s->group_count - 1;
    s->workloads = nodes_grow(&s->arena, s->workloads, s->workload_count, sizeof w);
    s->workloads[s->workload_count++] = w;
    s->groups[w.group].count++;
}

static void try_workload(void *spec) { script_close(script_open(spec)); }

static void check_folder(const struct study_workload *w)
{
    struct stat info;
    char path[4096];
    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(w->spec, ":"), w->spec);
    if (stat(path, &info) != 0) diag_mistake_at(w->place, "there is no workload folder '%s': %m", path);
}

/* The workload exists, and so does its size; what the script says is shown at the place in the file. */
static void check_workload(const struct study_workload *w)
{
    struct diag inner;
    char message[512];
    if (strchr(w->spec, '/')) { /* a folder of the user's is compiled when it runs */
        check_folder(w);
        return;
    }
    diag_init(&inner);
    if (diag_run(&inner, try_workload, (void *)(uintptr_t)w->spec) == DIAG_NONE) {
        diag_clear(&inner);
        return;
    }
    const char *text = strstr(inner.text, ": "); /* after "-w:1:1" */
    (void)snprintf(message, sizeof message, "%s", text ? text + 2 : inner.text);
    message[strcspn(message, "\n")] = '\0';
    diag_clear(&inner);
    diag_mistake_at(w->place, "%s", message);
}

/* "all:tiny": every bundled workload at that size. */
static void push_all(struct study *s, const struct yaml_node *n, const char *size)
{
    for (size_t i = 0; i < script_bundled_count(); i++) {
        const struct script_info info = script_info(script_bundled(i));
        struct study_workload w = {.name = arena_strdup(&s->arena, info.name),
                                   .spec = arena_printf(&s->arena, "%s%s", info.name, size),
                                   .place = n->place};
        push_workload(s, w);
    }
}

/* instructions: 3 M, or {quick: 3 M, paper: 31 M} */
static uint64_t limit_of(const struct yaml_node *n, const char *scale)
{
    if (!n) return 0;
    if (n->kind != YAML_MAP) return nodes_count(n, "instructions");
    const struct yaml_node *of_scale = yaml_get(n, scale);
    return of_scale ? nodes_count(of_scale, "instructions") : 0;
}

static void add_workload(struct study *s, const struct yaml_node *n)
{
    static const char *const keys[] = {"run", "name", "instructions", "set", NULL};
    struct study_workload w = {.place = n->place};
    if (n->kind == YAML_SCALAR) {
        w.name = w.spec = nodes_scalar(n, "a workload");
        if (strncmp(w.spec, "all", 3) == 0 && (w.spec[3] == ':' || !w.spec[3])) {
            push_all(s, n, w.spec + 3);
            return;
        }
    } else {
        nodes_check_keys(n, "a workload", keys);
        w.spec = text_of_scale(s, n, "a workload", "run", &w.place);
        w.name = nodes_text(n, "name");
        if (!w.name) w.name = w.spec;
        w.instructions = limit_of(yaml_get(n, "instructions"), s->scale);
        w.set = nodes_settings(&s->arena, yaml_get(n, "set"));
    }
    check_workload(&w);
    push_workload(s, w);
}

static void add_group(struct study *s, const char *name, const struct yaml_node *list)
{
    if (list->kind != YAML_LIST || !list->first)
        diag_mistake_at(list->place,
                        "'workloads' takes a list with at least one entry, or groups of such lists");
    s->groups = nodes_grow(&s->arena, s->groups, s->group_count, sizeof *s->groups);
    s->groups[s->group_count++] = (struct study_group){.name = name, .first = s->workload_count};
    for (const struct yaml_node *n = list->first; n; n = n->next) add_workload(s, n);
}

static void number_workloads(struct study *s)
{
    uint32_t *every = ARENA_ARRAY(&s->arena, uint32_t, s->workload_count + 1);
    for (uint32_t i = 0; i < s->workload_count; i++) every[i] = i;
    s->every = every;
}

static void read_workloads(struct study *s, const struct yaml_node *root)
{
    const struct yaml_node *n = yaml_get(root, "workloads");
    if (!n) diag_mistake_at(root->place, "the experiment needs 'workloads'");
    if (n->kind != YAML_MAP || !n->first) {
        add_group(s, "", n);
        return;
    }
    for (const struct yaml_node *group = n->first; group; group = group->next)
        add_group(s, group->key, group);
}

/* ---- axes ---- */

static struct study_own *own_settings(struct study *s, const struct yaml_node *map)
{
    struct study_own *first = NULL;
    if (map && map->kind != YAML_MAP)
        diag_mistake_at(map->place, "'machines' takes 'machine: {section.key: value}'");
    for (const struct yaml_node *n = map ? map->first : NULL; n; n = n->next) {
        struct study_own *own = ARENA_NEW(&s->arena, struct study_own);
        *own = (struct study_own){.machine = study_find_machine(s, n->key_place, n->key),
                                  .set = nodes_settings(&s->arena, n),
                                  .next = first};
        first = own;
    }
    return first;
}

static void add_value(struct study *s, struct study_axis *axis, const struct yaml_node *n, const char *key)
{
    static const char *const keys[] = {"name", "set", "machines", NULL};
    struct study_value v = {0};
    if (key) { /* the short form: values of one parameter */
        v.name = nodes_scalar(n, key);
        v.set = ARENA_NEW(&s->arena, struct study_setting);
        *v.set =
            (struct study_setting){.key = key, .value = v.name, .key_place = axis->place, .place = n->place};
    } else {
        nodes_check_keys(n, "a value of an axis", keys);
        v.name = nodes_need(n, "a value of an axis", "name");
        v.set = nodes_settings(&s->arena, yaml_get(n, "set"));
        v.own = own_settings(s, yaml_get(n, "machines"));
    }
    for (uint32_t i = 0; i < axis->count; i++)
        if (strcmp(axis->values[i].name, v.name) == 0)
            diag_mistake_at(n->place, "axis '%s' has the value '%s' twice", axis->name, v.name);
    axis->values = nodes_grow(&s->arena, axis->values, axis->count, sizeof v);
    axis->values[axis->count++] = v;
}

static void find_base(struct study_axis *axis, const struct yaml_node *n)
{
    const char *names[64];
    uint32_t i = 0;
    if (!n) return;
    const char *base = nodes_scalar(n, "base");
    for (; i < axis->count; i++) {
        axis->base = i;
        if (strcmp(axis->values[i].name, base) == 0) return;
        if (i < 64) names[i] = axis->values[i].name;
    }
    nodes_unknown(n->place, "value of the axis", base, names, i < 64 ? i : 64);
}

static void add_axis(struct study *s, const struct yaml_node *n)
{
    static const char *const keys[] = {"name", "param", "base", "values", NULL};
    nodes_check_keys(n, "an axis", keys);
    if (s->axis_count == STUDY_AXES_MAX)
        diag_mistake_at(n->place, "a study has at most %d axes", STUDY_AXES_MAX);
    const struct yaml_node *values = yaml_get(n, "values"), *param = yaml_get(n, "param");
    struct study_axis axis = {.name = nodes_text(n, "name"), .place = param ? param->place : n->place};
    const char *key = param ? nodes_scalar(param, "param") : NULL;
    if (!axis.name) axis.name = key;
    if (!axis.name) diag_mistake_at(n->place, "an axis needs a 'name' or a 'param'");
    for (uint32_t i = 0; i < s->axis_count; i++)
        if (strcmp(s->axes[i].name, axis.name) == 0)
            diag_mistake_at(axis.place, "axis '%s' is given twice: give one another 'name'", axis.name);
    if (!values || values->kind != YAML_LIST || !values->first)
        diag_mistake_at(values ? values->place : n->place,
                        "axis '%s' is empty: 'values' takes a list with at least one entry", axis.name);
    for (const struct yaml_node *v = values->first; v; v = v->next) add_value(s, &axis, v, key);
    find_base(&axis, yaml_get(n, "base"));
    s->axes[s->axis_count++] = axis;
}

static void read_axes(struct study *s, const struct yaml_node *root)
{
    static const char *const vary[] = {"all", "each", NULL};
    const struct yaml_node *n = yaml_get(root, "vary");
    if (yaml_get(root, "axes")) read_list(s, root, "axes", add_axis);
    s->vary_each = n && nodes_choice(n, "vary", vary) == 1;
}

/* ---- seeds, scales, baseline ---- */

static const uint64_t *read_seeds(struct study *s, const struct yaml_node *n, uint32_t *count)
{
    if (n->kind != YAML_LIST || !n->first || n->count > STUDY_SEEDS_MAX)
        diag_mistake_at(n->place, "'seeds' takes a list of 1 to %d whole numbers", STUDY_SEEDS_MAX);
    uint64_t *seeds = ARENA_ARRAY(&s->arena, uint64_t, n->count);
    *count = 0;
    for (const struct yaml_node *v = n->first; v; v = v->next) {
        const uint64_t seed = nodes_count(v, "a seed");
        for (uint32_t i = 0; i < *count; i++)
            if (seeds[i] == seed)
                diag_mistake_at(v->place, "seed %llu is given twice", (unsigned long long)seed);
        seeds[(*count)++] = seed;
    }
    return seeds;
}

static void add_scale(struct study *s, const struct yaml_node *n)
{
    static const char *const keys[] = {"instructions", "seeds", "workloads", "set", NULL};
    struct study_scale scale = {.name = n->key};
    nodes_check_keys(n, "a scale", keys);
    scale.instructions = limit_of(yaml_get(n, "instructions"), s->scale);
    scale.set = nodes_settings(&s->arena, yaml_get(n, "set"));
    const struct yaml_node *seeds = yaml_get(n, "seeds"), *chosen = yaml_get(n, "workloads");
    if (seeds) scale.seeds = read_seeds(s, seeds, &scale.seed_count);
    if (chosen) {
        if (chosen->kind != YAML_LIST || !chosen->first)
            diag_mistake_at(chosen->place, "'workloads' of a scale takes a list of workloads or groups");
        scale.chosen = ARENA_ARRAY(&s->arena, bool, s->workload_count);
        for (const struct yaml_node *w = chosen->first; w; w = w->next) {
            const struct study_set set = study_find_workloads(s, w->place, nodes_scalar(w, "a workload"));
            for (uint32_t i = 0; i < set.count; i++) scale.chosen[set.items[i]] = true;
        }
    }
    s->scales = nodes_grow(&s->arena, s->scales, s->scale_count, sizeof scale);
    s->scales[s->scale_count++] = scale;
}

/* Takes workloads that the scale leaves out away; groups that become empty stay, with none. */
static void apply_scale(struct study *s, const struct study_scale *scale)
{
    s->scale_set = scale->set;
    if (scale->seeds) {
        s->seeds = scale->seeds;
        s->seed_count = scale->seed_count;
    }
    uint32_t kept = 0;
    s->left_out = ARENA_ARRAY(&s->arena, const char *, s->workload_count);
    for (uint32_t g = 0; g < s->group_count; g++) {
        const uint32_t first = s->groups[g].first, end = first + s->groups[g].count;
        s->groups[g] = (struct study_group){.name = s->groups[g].name, .first = kept};
        for (uint32_t w = first; w < end; w++) {
            if (scale->chosen && !scale->chosen[w]) {
                s->left_out[s->left_out_count++] = s->workloads[w].name;
                continue;
            }
            s->workloads[kept] = s->workloads[w];
            if (!s->workloads[kept].instructions) s->workloads[kept].instructions = scale->instructions;
            s->groups[g].count++;
            kept++;
        }
    }
    s->workload_count = kept;
}

/* Which scale: the one asked for, which must be there if any is; or the first. */
static void choose_scale(struct study *s, const struct yaml_node *scales, const char *asked)
{
    if (!scales) return;
    if (scales->kind != YAML_MAP || !scales->first)
        diag_mistake_at(scales->place,
                        "'scales' takes names with what they limit, such as 'quick: {instructions: 2 M}'");
    const char *names[16];
    uint32_t count = 0;
    for (const struct yaml_node *n = scales->first; n && count < 16; n = n->next) names[count++] = n->key;
    s->scale = arena_strdup(&s->arena, asked ? asked : names[0]);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], s->scale) == 0) return;
    nodes_unknown(scales->place, "scale", asked, names, count);
}

static void read_baseline(struct study *s, const struct yaml_node *n)
{
    static const char *const keys[] = {"machine", "axes", NULL};
    static const char *const axes[] = {"base", "same", NULL};
    if (!n) return;
    if (n->kind == YAML_SCALAR) {
        s->base_machine = study_find_machine(s, n->place, nodes_scalar(n, "baseline"));
        return;
    }
    nodes_check_keys(n, "the baseline", keys);
    const struct yaml_node *machine = yaml_get(n, "machine"), *same = yaml_get(n, "axes");
    if (machine) s->base_machine = study_find_machine(s, machine->place, nodes_scalar(machine, "machine"));
    s->base_same = same && nodes_choice(same, "axes of the baseline", axes) == 1;
}

/* ---- combinations ---- */

static void push_combo(struct study *s, struct study_combo c)
{
    for (uint32_t i = 0; i < s->combo_count; i++)
        if (memcmp(&s->combos[i], &c, sizeof c) == 0) return;
    s->combos = nodes_grow(&s->arena, s->combos, s->combo_count, sizeof c);
    s->combos[s->combo_count++] = c;
}

static void make_combos(struct study *s)
{
    struct study_combo c = {0};
    for (uint32_t a = 0; a < s->axis_count; a++) c.value[a] = s->axes[a].base;
    const struct study_combo base = c;
    if (s->vary_each) {
        push_combo(s, base);
        for (uint32_t a = 0; a < s->axis_count; a++, c = base)
            for (c.value[a] = 0; c.value[a] < s->axes[a].count; c.value[a]++) push_combo(s, c);
        return;
    }
    double all = 1;
    for (uint32_t a = 0; a < s->axis_count; a++) all *= s->axes[a].count;
    if (all > 10000)
        diag_mistake("%s: the axes have %.0f combinations; 'vary: each' changes one at a time",
                     s->source.name, all);
    c = (struct study_combo){0};
    for (uint32_t a = 0; a != s->axis_count || !s->combo_count;) {
        push_combo(s, c);
        if (memcmp(&c, &base, sizeof c) == 0) s->base_combo = s->combo_count - 1;
        for (a = 0; a < s->axis_count && ++c.value[a] == s->axes[a].count; a++) c.value[a] = 0;
    }
}

/* ---- the whole file ---- */

static const char *file_stem(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return arena_strndup(a, name, dot ? (size_t)(dot - name) : strlen(name));
}

static const struct yaml_node *read_root(struct study *s)
{
    const struct yaml_node *root = yaml_read_tree(&s->arena, &s->source);
    if (root) return root;
    diag_mistake_at((struct diag_place){&s->source, 0, 0, 1},
                    "the experiment file is empty; docs/experiments.md shows the shortest one");
}

void study_build(struct study *s, const char *scale)
{
    static const char *const keys[] = {"title",     "paper",   "about",   "set",    "machines",
                                       "workloads", "axes",    "vary",    "seeds",  "baseline",
                                       "scales",    "metrics", "figures", "claims", NULL};
    static const uint64_t one_seed[] = {1};
    const struct yaml_node *root = read_root(s);
    nodes_check_keys(root, "an experiment", keys);
    s->name = file_stem(&s->arena, s->source.name);
    s->title = nodes_text(root, "title");
    if (!s->title) s->title = s->name;
    s->paper = nodes_text(root, "paper");
    s->about = nodes_text(root, "about");
    s->set = nodes_settings(&s->arena, yaml_get(root, "set"));
    s->seeds = one_seed;
    s->seed_count = 1;
    const struct yaml_node *scales = yaml_get(root, "scales"), *seeds = yaml_get(root, "seeds");
    choose_scale(s, scales, scale);
    read_list(s, root, "machines", add_machine);
    read_workloads(s, root);
    number_workloads(s);
    read_axes(s, root);
    if (seeds) s->seeds = read_seeds(s, seeds, &s->seed_count);
    for (const struct yaml_node *n = scales ? scales->first : NULL; n; n = n->next) add_scale(s, n);
    for (uint32_t i = 0; i < s->scale_count; i++)
        if (strcmp(s->scales[i].name, s->scale) == 0) apply_scale(s, &s->scales[i]);
    make_combos(s);
    read_baseline(s, yaml_get(root, "baseline"));
    study_read_metrics(s, yaml_get(root, "metrics"));
    study_read_figures(s, yaml_get(root, "figures"));
    study_read_claims(s, yaml_get(root, "claims"));
}

void study_read_text(struct study *s, const char *name, const char *text, size_t len, const char *scale)
{
    s->source = (struct diag_source){arena_strdup(&s->arena, name), arena_strndup(&s->arena, text, len), len};
    study_build(s, scale);
}

void study_read(struct study *s, const char *path, const char *scale)
{
    yaml_slurp(&s->arena, "experiment", arena_strdup(&s->arena, path), (struct diag_place){0}, &s->source);
    study_build(s, scale);
}
