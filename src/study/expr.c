/* expr: a metric as an expression over the result of a run.
 *
 *   sum = product { ("+" | "-") product }    product = factor { ("*" | "/") factor }
 *   factor = NUMBER | NAME | "(" sum ")" | "-" factor */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measure.h"
#include "stats/stats.h"
#include "study/study.h"

enum { EXPR_NUMBER, EXPR_NAME };

struct expr {
    char op; /* + - * / or EXPR_NUMBER, EXPR_NAME */
    double number;
    const char *section, *name; /* "totals", "bandwidth.dram.utilisation" */
    const struct expr *left, *right;
};

struct parsing {
    struct arena *a;
    const char *start, *at;
    struct diag_place place; /* of the start */
};

static struct diag_place place_of(const struct parsing *p, const char *at, size_t len)
{
    struct diag_place place = p->place;
    place.col += (uint32_t)(at - p->start);
    place.width = (uint32_t)(len ? len : 1);
    return place;
}

static void skip_space(struct parsing *p)
{
    while (*p->at == ' ') p->at++;
}

static const struct expr *make(struct parsing *p, struct expr e)
{
    struct expr *node = ARENA_NEW(p->a, struct expr);
    *node = e;
    return node;
}

/* ---- names ---- */

static const char *const total_names[] = {"cycles",
                                          "seconds",
                                          "ipc",
                                          "ipc_per_sm",
                                          "warps_per_sm",
                                          "occupancy",
                                          "warp_instructions",
                                          "stp",
                                          "antt",
                                          "thread_instructions",
                                          "launches",
                                          "blocks",
                                          "reads_in_flight",
                                          "walker_occupancy"};
static const char *const host_names[] = {"seconds", "cpu_seconds", "warp_instructions_per_second",
                                         "max_rss_bytes"};
static const char *const rate_names[] = {"l1",     "l1_merged", "llc",     "llc_merged",
                                         "l1_tlb", "l2_tlb",    "dram_row"};
static const char *const latency_names[] = {"load_cycles", "l1_miss_cycles", "request_network_cycles",
                                            "reply_network_cycles", "dram_cycles"};
static const char *const level_values[] = {"bytes_per_second", "peak_bytes_per_second", "utilisation",
                                           "utilisation_of_busiest"};
static const char *const stage_values[] = {"utilisation", "utilisation_of_busiest"};
static const char *const queue_values[] = {"mean", "all", "deepest", "peak"};
#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

enum { APPS_PER_RUN = 8 };

struct known {
    const char **names;
    size_t count;
};

static void know(struct known *k, const char *name) { k->names[k->count++] = name; }

/* Every name that a metric can have. */
static struct known all_names(struct arena *a)
{
    struct known k = {.names = ARENA_ARRAY(a, const char *, stat_row_count + ratio_row_count + 400)};
    for (uint32_t app = 0; app < APPS_PER_RUN; app++) know(&k, arena_printf(a, "totals.progress.app%u", app));
    know(&k, "totals.partition.reallocation_share");
    know(&k, "totals.partition.reallocation_share_most");
    know(&k, "totals.partition.dropped");
    for (size_t i = 0; i < COUNT_OF(total_names); i++) know(&k, arena_printf(a, "totals.%s", total_names[i]));
    for (size_t i = 0; i < COUNT_OF(host_names); i++) know(&k, arena_printf(a, "host.%s", host_names[i]));
    for (size_t i = 0; i < COUNT_OF(rate_names); i++)
        know(&k, arena_printf(a, "totals.hit_rates.%s", rate_names[i]));
    for (size_t i = 0; i < COUNT_OF(latency_names); i++)
        know(&k, arena_printf(a, "totals.mean_latencies.%s", latency_names[i]));
    for (size_t l = 0; l < MEASURE_LEVELS; l++)
        for (size_t i = 0; i < COUNT_OF(level_values); i++)
            know(&k, arena_printf(a, "totals.bandwidth.%s.%s", measure_level_keys[l], level_values[i]));
    for (size_t n = 0; n < MEASURE_NETWORKS; n++)
        for (size_t l = 0; l < MEASURE_STAGES; l++)
            for (size_t i = 0; i < COUNT_OF(stage_values); i++)
                know(&k, arena_printf(a, "totals.link_stages.%s.%s.%s", measure_network_keys[n],
                                      measure_stage_keys[l], stage_values[i]));
    for (size_t q = 0; q < SYSTEM_QUEUES; q++)
        for (size_t i = 0; i < COUNT_OF(queue_values); i++)
            know(&k, arena_printf(a, "totals.slice_queues.%s.%s", measure_queue_keys[q], queue_values[i]));
    for (size_t i = 0; i < MEASURE_STALLS; i++)
        know(&k, arena_printf(a, "totals.scheduler_cycles.%s", measure_stall_keys[i]));
    for (size_t i = 0; i < stat_row_count; i++)
        if (stat_rows[i].kind != STAT_HISTOGRAM)
            know(&k, arena_printf(a, "stats.%s.%s", stat_rows[i].group_name, stat_rows[i].name));
    for (size_t i = 0; i < ratio_row_count; i++)
        know(&k, arena_printf(a, "stats.%s.%s", ratio_rows[i].group_name, ratio_rows[i].name));
    return k;
}

static const struct expr *parse_name(struct parsing *p)
{
    const char *start = p->at;
    while (isalnum((unsigned char)*p->at) || *p->at == '_' || *p->at == '.') p->at++;
    const char *name = arena_strndup(p->a, start, (size_t)(p->at - start));
    const struct known known = all_names(p->a);
    for (size_t i = 0; i < known.count; i++) {
        if (strcmp(known.names[i], name) != 0) continue;
        const char *dot = strchr(name, '.');
        return make(p, (struct expr){.op = EXPR_NAME,
                                     .section = arena_strndup(p->a, name, (size_t)(dot - name)),
                                     .name = dot + 1});
    }
    const char *near = diag_nearest(name, known.names, known.count);
    diag_mistake_at(place_of(p, start, strlen(name)), "unknown value '%s'%s%s%s", name,
                    near ? "; did you mean '" : "", near ? near : "",
                    near ? "'?" : ": names are totals.X, stats.GROUP.NAME ('atoll list stats') and host.X");
}

/* ---- grammar ---- */

static const struct expr *parse_sum(struct parsing *p, unsigned depth);

static const struct expr *parse_factor(struct parsing *p, unsigned depth)
{
    skip_space(p);
    if (depth > 32) diag_mistake_at(place_of(p, p->at, 1), "the expression is nested too deep");
    if (*p->at == '-') {
        p->at++;
        return make(p, (struct expr){.op = '-',
                                     .left = make(p, (struct expr){.op = EXPR_NUMBER}),
                                     .right = parse_factor(p, depth + 1)});
    }
    if (*p->at == '(') {
        p->at++;
        const struct expr *inner = parse_sum(p, depth + 1);
        skip_space(p);
        if (*p->at != ')') diag_mistake_at(place_of(p, p->at, 1), "')' is missing here");
        p->at++;
        return inner;
    }
    if (isdigit((unsigned char)*p->at)) {
        char *end;
        const double number = strtod(p->at, &end);
        p->at = end;
        return make(p, (struct expr){.op = EXPR_NUMBER, .number = number});
    }
    if (isalpha((unsigned char)*p->at)) return parse_name(p);
    diag_mistake_at(place_of(p, p->at, 1), "a number, a name or '(' is expected here");
}

static const struct expr *parse_product(struct parsing *p, unsigned depth)
{
    const struct expr *left = parse_factor(p, depth);
    for (skip_space(p); *p->at == '*' || *p->at == '/'; skip_space(p)) {
        const char op = *p->at++;
        left = make(p, (struct expr){.op = op, .left = left, .right = parse_factor(p, depth)});
    }
    return left;
}

static const struct expr *parse_sum(struct parsing *p, unsigned depth)
{
    const struct expr *left = parse_product(p, depth);
    for (skip_space(p); *p->at == '+' || *p->at == '-'; skip_space(p)) {
        const char op = *p->at++;
        left = make(p, (struct expr){.op = op, .left = left, .right = parse_product(p, depth)});
    }
    return left;
}

const struct expr *expr_parse(struct arena *a, const char *text, struct diag_place place)
{
    struct parsing p = {a, text, text, place};
    const struct expr *e = parse_sum(&p, 0);
    skip_space(&p);
    if (*p.at) diag_mistake_at(place_of(&p, p.at, strlen(p.at)), "this does not belong to the expression");
    return e;
}

/* ---- values ---- */

static double look_up(const json_t *result, const struct expr *e)
{
    const json_t *section = json_object_get(result, e->section);
    const json_t *value = json_object_get(section, e->name); /* names of statistics have a dot in them */
    char key[64];
    for (const char *rest = e->name; !value && section && *rest;) {
        const size_t len = strcspn(rest, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)len, rest);
        section = json_object_get(section, key);
        rest += len + (rest[len] == '.');
        if (!*rest) value = section;
    }
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *expr_time(const struct expr *e)
{
    const bool time = e->op == EXPR_NAME && strcmp(e->section, "totals") == 0 &&
                      (strcmp(e->name, "seconds") == 0 || strcmp(e->name, "cycles") == 0);
    return time ? e->name : NULL;
}

double expr_value(const struct expr *e, const json_t *result)
{
    if (e->op == EXPR_NUMBER) return e->number;
    if (e->op == EXPR_NAME) return look_up(result, e);
    const double left = expr_value(e->left, result), right = expr_value(e->right, result);
    switch (e->op) {
    case '+': return left + right;
    case '-': return left - right;
    case '*': return left * right;
    default: return right != 0 ? left / right : NAN;
    }
}
