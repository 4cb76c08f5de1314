/* asked: what a study asks of its results: metrics, figures and the claims of a paper. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/study_private.h"

/* ---- metrics ---- */

static void add_metric(struct study *s, const struct yaml_node *n)
{
    static const char *const keys[] = {"name", "title", "value", "relative", "mean", "unit", "better", NULL};
    static const char *const relative[] = {"none", "speedup", "ratio", "difference", NULL};
    static const char *const means[] = {"harmonic", "geometric", "arithmetic", NULL};
    static const char *const better[] = {"higher", "lower", NULL};
    nodes_check_keys(n, "a metric", keys);
    struct study_metric m = {.name = nodes_need(n, "a metric", "name"),
                             .title = nodes_text(n, "title"),
                             .unit = nodes_text(n, "unit"),
                             .text = nodes_need(n, "a metric", "value")};
    const struct yaml_node *r = yaml_get(n, "relative"), *mean = yaml_get(n, "mean"),
                           *b = yaml_get(n, "better");
    if (r) m.relative = (enum study_relative)nodes_choice(r, "relative", relative);
    const bool is_ratio = m.relative == STUDY_SPEEDUP || m.relative == STUDY_RATIO;
    m.mean = mean       ? (enum study_mean)nodes_choice(mean, "mean", means)
             : is_ratio ? STUDY_HARMONIC
                        : STUDY_ARITHMETIC;
    m.lower_is_better = b && nodes_choice(b, "better", better) == 1;
    if (!m.title) m.title = m.name;
    if (!m.unit) m.unit = is_ratio ? "x" : "";
    m.value = expr_parse(&s->arena, m.text, yaml_get(n, "value")->place);
    for (uint32_t i = 0; i < s->metric_count; i++)
        if (strcmp(s->metrics[i].name, m.name) == 0)
            diag_mistake_at(n->place, "metric '%s' is given twice", m.name);
    s->metrics = nodes_grow(&s->arena, s->metrics, s->metric_count, sizeof m);
    s->metrics[s->metric_count++] = m;
}

/* Without any: the speed-up over the baseline. */
static void add_speedup(struct study *s)
{
    s->metrics = ARENA_NEW(&s->arena, struct study_metric);
    s->metrics[s->metric_count++] =
        (struct study_metric){.name = "speedup",
                              .title = "speed-up",
                              .unit = "x",
                              .text = "totals.seconds",
                              .value = expr_parse(&s->arena, "totals.seconds", (struct diag_place){0}),
                              .relative = STUDY_SPEEDUP};
}

static void each(struct study *s, const struct yaml_node *list, const char *what,
                 void (*add)(struct study *s, const struct yaml_node *n))
{
    if (!list) return;
    if (list->kind != YAML_LIST) diag_mistake_at(list->place, "'%s' takes a list", what);
    for (const struct yaml_node *n = list->first; n; n = n->next) add(s, n);
}

/* Bests of machines are decided by a metric; they were read before. */
static void find_deciding_metrics(struct study *s)
{
    for (uint32_t i = 0; i < s->machine_count; i++) {
        struct study_machine *m = &s->machines[i];
        if (!m->best_of) continue;
        m->best_by = m->best_by_name ? study_find_metric(s, m->best_place, m->best_by_name) : 0;
        if (m->per_kernel && !expr_time(s->metrics[m->best_by].value))
            diag_mistake_at(m->best_place,
                            "the best per kernel is decided by a metric of totals.seconds or totals.cycles: "
                            "'%s' is '%s'",
                            s->metrics[m->best_by].name, s->metrics[m->best_by].text);
    }
}

void study_read_metrics(struct study *s, const struct yaml_node *list)
{
    each(s, list, "metrics", add_metric);
    if (!s->metric_count) add_speedup(s);
    find_deciding_metrics(s);
}

/* ---- figures ---- */

static uint32_t find_axis(const struct study *s, const struct yaml_node *n, const char *other)
{
    const char *names[STUDY_AXES_MAX + 1];
    const char *text = nodes_scalar(n, n->key);
    if (strcmp(text, other) == 0) return STUDY_NONE;
    for (uint32_t a = 0; a < s->axis_count; a++) {
        if (strcmp(s->axes[a].name, text) == 0) return a;
        names[a] = s->axes[a].name;
    }
    names[s->axis_count] = other;
    nodes_unknown(n->place, "axis", text, names, s->axis_count + 1);
}

static void find_metrics(const struct study *s, const struct yaml_node *n, struct study_figure *f)
{
    const struct yaml_node *one = yaml_get(n, "metric"), *several = yaml_get(n, "metrics");
    f->metric_count = 1;
    if (one) f->metrics[0] = study_find_metric(s, one->place, nodes_scalar(one, "metric"));
    if (!several) return;
    if (several->kind != YAML_LIST || !several->first || several->count > 8)
        diag_mistake_at(several->place, "'metrics' takes a list of 1 to 8 metrics, to be stacked");
    f->metric_count = 0;
    for (const struct yaml_node *m = several->first; m; m = m->next)
        f->metrics[f->metric_count++] = study_find_metric(s, m->place, nodes_scalar(m, "a metric"));
}

static void add_figure(struct study *s, const struct yaml_node *n)
{
    static const char *const keys[] = {"title",   "where", "about",  "plot",    "metric",
                                       "metrics", "x",     "series", "machine", NULL};
    static const char *const plots[] = {"bars",    "lines",  "stacked", "distribution",
                                        "scatter", "sorted", NULL};
    nodes_check_keys(n, "a figure", keys);
    struct study_figure f = {.title = nodes_need(n, "a figure", "title"),
                             .where = nodes_text(n, "where"),
                             .about = nodes_text(n, "about"),
                             .x_axis = STUDY_NONE,
                             .series_axis = STUDY_NONE,
                             .machine = s->base_machine,
                             .place = n->place};
    const struct yaml_node *plot = yaml_get(n, "plot"), *x = yaml_get(n, "x"),
                           *series = yaml_get(n, "series"), *machine = yaml_get(n, "machine");
    if (plot) f.plot = (enum study_plot)nodes_choice(plot, "plot", plots);
    find_metrics(s, n, &f);
    if (x) f.x_axis = find_axis(s, x, "workload");
    if (series && strcmp(nodes_scalar(series, "series"), "group") == 0)
        f.curves = STUDY_BY_GROUP;
    else if (series && strcmp(nodes_scalar(series, "series"), "workload") == 0)
        f.curves = STUDY_BY_WORKLOAD;
    else if (series)
        f.series_axis = find_axis(s, series, "machine");
    if (machine) f.machine = study_find_machine(s, machine->place, nodes_scalar(machine, "machine"));
    f.one_machine = machine != NULL;
    if (f.metric_count > 1 && f.plot != STUDY_STACKED && f.plot != STUDY_SCATTER)
        diag_mistake_at(n->place, "several metrics are shown by 'plot: stacked' and 'plot: scatter' only");
    if (f.plot == STUDY_SCATTER && f.metric_count != 2)
        diag_mistake_at(n->place, "'plot: scatter' needs two 'metrics': that along x, that along y");
    if (f.curves && (f.x_axis == STUDY_NONE || f.metric_count > 1))
        diag_mistake_at(n->place, "'series: %s' needs 'x': an axis, and one metric",
                        f.curves == STUDY_BY_GROUP ? "group" : "workload");
    if (f.plot == STUDY_LINES && f.x_axis == STUDY_NONE)
        diag_mistake_at(n->place, "'plot: lines' needs 'x': the axis along which the lines go");
    s->figures = nodes_grow(&s->arena, s->figures, s->figure_count, sizeof f);
    s->figures[s->figure_count++] = f;
}

void study_read_figures(struct study *s, const struct yaml_node *list)
{
    each(s, list, "figures", add_figure);
    if (s->figure_count) return;
    s->figures = ARENA_NEW(&s->arena, struct study_figure);
    s->figures[s->figure_count++] = (struct study_figure){.title = s->metrics[0].title,
                                                          .metric_count = 1,
                                                          .x_axis = STUDY_NONE,
                                                          .series_axis = STUDY_NONE,
                                                          .machine = s->base_machine};
}

/* ---- claims ---- */

/* The combination with another value; a name that two axes have is a mistake. STUDY_NONE as axis: any. */
static uint32_t with_value(const struct study *s, struct diag_place place, uint32_t combo, uint32_t axis,
                           const char *value)
{
    uint32_t found = STUDY_NONE, of = STUDY_NONE;
    for (uint32_t a = 0; a < s->axis_count; a++)
        for (uint32_t v = 0; v < s->axes[a].count; v++) {
            if ((axis != STUDY_NONE && a != axis) || strcmp(s->axes[a].values[v].name, value) != 0) continue;
            if (of != STUDY_NONE)
                diag_mistake_at(place, "'%s' is a value of the axes '%s' and '%s': give one another name",
                                value, s->axes[of].name, s->axes[a].name);
            of = a;
            found = study_combo_with(s, combo, a, v);
        }
    if (found == STUDY_NONE)
        diag_mistake_at(place, "'%s' is no value of an axis, or the study has no point with it", value);
    return found;
}

/* "uba-mem @ 5.6 TB/s, 3 MiB": a machine and values of axes that differ from the base. */
static struct study_side read_side(const struct study *s, struct diag_place place, const char *text,
                                   uint32_t axis)
{
    char buf[256];
    (void)snprintf(buf, sizeof buf, "%s", text);
    char *at = strstr(buf, " @ ");
    if (at) *at = '\0';
    struct study_side side = {study_find_machine(s, place, buf), s->base_combo};
    for (char *value = at ? at + 3 : NULL, *next; value; value = next) {
        next = strstr(value, ", ");
        if (next) {
            *next = '\0';
            next += 2;
        }
        side.combo = with_value(s, place, side.combo, axis, value);
    }
    return side;
}

static const char *const order_signs[] = {" < ", " << ", " <= ", " ~= "};

/* The next sign of an order in the text, or NULL; which one in *sign. */
static const char *next_sign(const char *text, uint32_t *sign)
{
    const char *first = NULL;
    for (uint32_t k = 0; k < sizeof order_signs / sizeof *order_signs; k++) {
        const char *found = strstr(text, order_signs[k]);
        if (!found || (first && found >= first)) continue;
        first = found;
        *sign = k;
    }
    return first;
}

enum { BY_MACHINE, BY_AXIS, BY_GROUP, BY_METRIC };
struct claim_reading {
    struct study *s;
    struct study_claim *c;
    struct diag_place place; /* of the order or of `of` */
    const char *of, *over;
    int by;
    uint32_t axis; /* of BY_AXIS */
    struct study_set on;
};

static struct study_term read_term(const struct claim_reading *r, const char *name)
{
    struct study *s = r->s;
    struct study_term t = {.name = name, .metric = r->c->metric, .over = {STUDY_NONE, 0}, .on = r->on};
    const char *slash = strstr(name, " / "); /* "a / b": a over b, in this term only */
    if (r->by == BY_MACHINE) {
        const char *over = slash ? slash + 3 : r->over;
        t.of = read_side(s, r->place, slash ? arena_strndup(&s->arena, name, (size_t)(slash - name)) : name,
                         STUDY_NONE);
        if (over) t.over = read_side(s, r->place, over, STUDY_NONE);
        if (slash && s->metrics[r->c->metric].relative == STUDY_ABSOLUTE)
            diag_mistake_at(r->place, "'a / b' is of a relative metric; '%s' is not",
                            s->metrics[r->c->metric].name);
        return t;
    }
    if (r->by == BY_GROUP || r->by == BY_METRIC) {
        if (r->by == BY_GROUP)
            t.on = study_find_workloads(s, r->place, name);
        else
            t.metric = study_find_metric(s, r->place, name);
        t.of = read_side(s, r->place, r->of, STUDY_NONE);
        if (r->over) t.over = read_side(s, r->place, r->over, STUDY_NONE);
        return t;
    }
    t.of = read_side(s, r->place, arena_printf(&s->arena, "%s @ %s", r->of, name), r->axis);
    if (r->over) t.over = read_side(s, r->place, arena_printf(&s->arena, "%s @ %s", r->over, name), r->axis);
    return t;
}

static void read_order(struct claim_reading *r, const char *text)
{
    struct study_claim *c = r->c;
    struct arena *a = &r->s->arena;
    uint32_t most = 1, sign = 0;
    for (const char *p = text; (p = next_sign(p, &sign)); p += strlen(order_signs[sign])) most++;
    if (most < 2)
        diag_mistake_at(r->place, "an order is written 'a < b << c', with <, <<, <= or ~= between spaces");
    c->terms = ARENA_ARRAY(a, struct study_term, most);
    c->relations = ARENA_ARRAY(a, enum study_relation, most);
    for (const char *p = text;;) {
        const char *end = next_sign(p, &sign);
        c->terms[c->term_count] = read_term(r, arena_strndup(a, p, end ? (size_t)(end - p) : strlen(p)));
        if (!end) break;
        c->relations[c->term_count] = (enum study_relation)sign;
        c->term_count++;
        p = end + strlen(order_signs[sign]);
    }
    c->term_count++;
}

/* A number and spaces behind it. */
static double read_number(const struct yaml_node *n, const char **text)
{
    char *end;
    const double v = strtod(*text, &end);
    if (end == *text || !isfinite(v))
        diag_mistake_at(n->place, "'published' takes a number, such as 23.1 %% or 1.8 x, a bound, such as "
                                  "'> 80 %%', or a range, such as '2 to 4'");
    while (*end == ' ') end++;
    *text = end;
    return v;
}

/* "23.1 %" of change, "1.8 x", or a plain value of the metric; "> 80 %"; "2 to 4". */
static void read_published(struct study *s, struct study_claim *c, const struct yaml_node *n)
{
    const char *text = c->published_text = nodes_scalar(n, "published");
    if (*text == '>' || *text == '<') {
        c->form = STUDY_BOUND;
        c->at_most = *text++ == '<';
    }
    c->published = read_number(n, &text);
    if (strncmp(text, "to ", 3) == 0 && c->form == STUDY_SIZE) {
        c->form = STUDY_RANGE;
        text += 3;
        c->published_high = read_number(n, &text);
        if (!(c->published < c->published_high))
            diag_mistake_at(n->place, "a range goes from the smaller to the larger number");
    }
    if (c->pick == STUDY_PICK_COUNT) return; /* a number of workloads */
    const enum study_relative how = s->metrics[c->metric].relative;
    const bool relative = how == STUDY_SPEEDUP || how == STUDY_RATIO;
    c->as_percent = relative && *text == '%';
    if (relative && !c->as_percent && *text != 'x')
        diag_mistake_at(n->place, "'%s' is relative: published as '23.1 %%' of change or as '1.231 x'",
                        s->metrics[c->metric].name);
    if (!c->as_percent) return;
    c->published = 1 + c->published / 100;
    c->published_high = 1 + c->published_high / 100;
}

static void read_why(struct study_claim *c, const struct yaml_node *n)
{
    static const char *const keys[] = {"text", "command", NULL};
    if (!n) return;
    nodes_check_keys(n, "'why'", keys);
    c->why = nodes_need(n, "'why'", "text");
    c->why_command = nodes_text(n, "command");
}

/* all, a group, a workload, or a list of these. */
static struct study_set read_on(struct study *s, const struct yaml_node *n)
{
    if (!n) return study_all(s);
    if (n->kind != YAML_LIST) return study_find_workloads(s, n->place, nodes_scalar(n, "on"));
    uint32_t *items = ARENA_ARRAY(&s->arena, uint32_t, s->workload_count + 1), count = 0;
    for (const struct yaml_node *one = n->first; one; one = one->next) {
        const struct study_set set = study_find_workloads(s, one->place, nodes_scalar(one, "on"));
        if (!set.count || count + set.count > s->workload_count) return (struct study_set){items, 0};
        for (uint32_t i = 0; i < set.count; i++) items[count++] = set.items[i];
    }
    return (struct study_set){items, count};
}

static int read_by(const struct study *s, const struct yaml_node *n, uint32_t *axis)
{
    if (!n) return BY_MACHINE;
    const char *text = nodes_scalar(n, "by");
    if (strcmp(text, "group") == 0) return BY_GROUP;
    if (strcmp(text, "metric") == 0) return BY_METRIC;
    *axis = find_axis(s, n, "machine");
    return *axis == STUDY_NONE ? BY_MACHINE : BY_AXIS;
}

/* `each`: an order of machines, or a bound, which then is one of the worst workload. `count`: an order. */
static void check_pick(struct study_claim *c, int by, const struct yaml_node *pick)
{
    if (c->pick == STUDY_PICK_COUNT) {
        if (c->term_count < 2 || by == BY_GROUP || c->form == STUDY_RANGE)
            diag_mistake_at(pick->place, "'pick: count' is for an order of machines, axis values or metrics, "
                                         "with the number of workloads as 'published'");
        return;
    }
    const bool each_workload = c->pick == STUDY_PICK_EACH;
    if (each_workload && !(c->form == STUDY_BOUND || (c->form == STUDY_ORDER && by != BY_GROUP)))
        diag_mistake_at(pick->place,
                        "'pick: each' is for orders of machines and for bounds, such as '> 80 %%'");
    if (c->pick != STUDY_PICK_MEAN && (c->form == STUDY_RANGE || c->form == STUDY_FOLLOWS))
        diag_mistake_at(pick->place, "this claim is about all workloads: it takes no 'pick'");
    if (each_workload && c->form == STUDY_BOUND) c->pick = c->at_most ? STUDY_PICK_MAX : STUDY_PICK_MIN;
}

static void add_claim(struct study *s, const struct yaml_node *n)
{
    static const char *const keys[] = {"id",   "where", "says",      "metric", "of",      "over", "on",
                                       "pick", "by",    "published", "order",  "follows", "why",  NULL};
    static const char *const picks[] = {"mean", "max", "min", "each", "count", NULL};
    nodes_check_keys(n, "a claim", keys);
    struct study_claim c = {.id = nodes_need(n, "a claim", "id"),
                            .where = nodes_text(n, "where"),
                            .says = nodes_text(n, "says"),
                            .place = n->place};
    struct claim_reading r = {.s = s, .c = &c, .of = nodes_text(n, "of"), .over = nodes_text(n, "over")};
    const struct yaml_node *metric = yaml_get(n, "metric"), *on = yaml_get(n, "on"),
                           *pick = yaml_get(n, "pick"), *published = yaml_get(n, "published"),
                           *order = yaml_get(n, "order"), *of = yaml_get(n, "of"),
                           *follows = yaml_get(n, "follows");
    if (metric) c.metric = study_find_metric(s, metric->place, nodes_scalar(metric, "metric"));
    if (pick) c.pick = (enum study_pick)nodes_choice(pick, "pick", picks);
    r.on = read_on(s, on);
    r.by = read_by(s, yaml_get(n, "by"), &r.axis);
    r.place = order ? order->place : of ? of->place : n->place;
    const bool counts = c.pick == STUDY_PICK_COUNT && order && published && !follows;
    if (!counts && !!order + !!published + !!follows != 1)
        diag_mistake_at(n->place, "a claim is a size ('of', 'published'), an 'order', or a metric that "
                                  "'follows' another");
    if (!r.of && (!order || r.by != BY_MACHINE))
        diag_mistake_at(n->place, "this claim needs 'of': the machine that it is about");
    if (order) {
        c.form = counts ? STUDY_SIZE : STUDY_ORDER;
        read_order(&r, nodes_scalar(order, "order"));
    } else {
        r.by = BY_MACHINE;
        c.terms = ARENA_NEW(&s->arena, struct study_term);
        c.terms[0] = read_term(&r, r.of);
        c.term_count = 1;
    }
    if (published) read_published(s, &c, published);
    if (follows) {
        c.form = STUDY_FOLLOWS;
        c.follows = study_find_metric(s, follows->place, nodes_scalar(follows, "follows"));
    }
    check_pick(&c, r.by, pick);
    read_why(&c, yaml_get(n, "why"));
    s->claims = nodes_grow(&s->arena, s->claims, s->claim_count, sizeof c);
    s->claims[s->claim_count++] = c;
}

void study_read_claims(struct study *s, const struct yaml_node *list) { each(s, list, "claims", add_claim); }
