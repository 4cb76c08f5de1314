/* atoll compare: workloads on several machines: cycles, IPC, and speed-ups over the first machine.
 *
 *   every (workload, machine) is a run of its own ─► points[workload][machine] ─► tables, JSON
 *
 * A point that fails says why and leaves a hole; the others go on. Speed-ups are of simulated time, so that
 * machines with different clocks compare. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/progress.h"

enum { MACHINES_MAX = 32, WORKLOADS_MAX = 128, COLUMNS = 100, NAME_COLUMNS = 26 };

struct compare_args {
    const char *machine, *workload, *json;
    struct cli_list set, rest;
};

struct names {
    char *items[WORKLOADS_MAX];
    size_t count, limit;
};

struct point {
    atoll_status status;
    char *message; /* of a failure */
    uint64_t cycles, warp_instructions;
    double seconds, ipc;
    const char *bound_by;
};

struct comparison {
    struct names machines, workloads;
    struct point *points; /* [workload][machine] */
};

static struct point *point_at(const struct comparison *c, size_t workload, size_t machine)
{
    return &c->points[workload * c->machines.count + machine];
}

/* ---- names ---- */

/* "vecadd,conv:n=4,k=3": a part "k=3" without a name of its own belongs to the size before it. */
static bool split(const char *option, const char *text, bool sizes, struct names *names)
{
    while (text) {
        const char *comma = strchr(text, ',');
        const size_t len = comma ? (size_t)(comma - text) : strlen(text);
        const bool of_size = sizes && names->count && memchr(text, '=', len) && !memchr(text, ':', len);
        if (!len) return (void)cli_mistake("--%s has an empty name in it", option), false;
        if (!of_size && names->count == names->limit)
            return (void)cli_mistake("--%s takes at most %zu names", option, names->limit), false;
        char *name;
        if (of_size) {
            char *before = names->items[--names->count];
            if (asprintf(&name, "%s,%.*s", before, (int)len, text) < 0) name = NULL;
            free(before);
        } else {
            name = strndup(text, len);
        }
        if (!name) return (void)cli_mistake("out of host memory"), false;
        names->items[names->count++] = name;
        text = comma ? comma + 1 : NULL;
    }
    return true;
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) free(names->items[i]);
}

/* ---- running ---- */

static void run_point(struct point *p, const char *machine, const char *workload, const struct cli_list *set)
{
    atoll_sim *sim = NULL;
    struct atoll_outcome outcome = {0};
    const struct atoll_job job = {.workload = workload};
    struct progress progress;
    p->status = atoll_create(&sim);
    if (!sim) {
        p->message = strdup("out of host memory\n");
        return;
    }
    if (!p->status) p->status = atoll_machine(sim, machine);
    for (size_t i = 0; !p->status && i < set->count; i++) p->status = atoll_set(sim, set->items[i]);
    if (!p->status) {
        progress_begin(&progress, sim);
        p->status = atoll_run(sim, &job, &outcome);
        progress_end(&progress);
    }
    if (p->status) {
        p->message = strdup(atoll_message(sim));
    } else {
        p->cycles = outcome.cycles;
        p->warp_instructions = outcome.warp_instructions;
        p->seconds = outcome.seconds;
        p->ipc = outcome.ipc;
        p->bound_by = outcome.bound_by;
    }
    atoll_outcome_free(&outcome);
    atoll_destroy(sim);
}

/* The largest status is the exit code. */
static int run_all(const struct comparison *c, const struct cli_list *set)
{
    int code = 0;
    for (size_t w = 0; w < c->workloads.count; w++)
        for (size_t m = 0; m < c->machines.count; m++) {
            struct point *p = point_at(c, w, m);
            run_point(p, c->machines.items[m], c->workloads.items[w], set);
            if ((int)p->status > code) code = (int)p->status;
        }
    return code;
}

/* ---- figures ---- */

/* Over the first machine; 0 = unknown. */
static double speedup(const struct comparison *c, size_t workload, size_t machine)
{
    const struct point *base = point_at(c, workload, 0), *p = point_at(c, workload, machine);
    return base->status || p->status || !(p->seconds > 0) ? 0 : base->seconds / p->seconds;
}

struct means {
    double harmonic, geometric;
    size_t count; /* workloads in them */
};

static struct means means_of(const struct comparison *c, size_t machine)
{
    struct means m = {0};
    double inverse = 0, logarithm = 0;
    for (size_t w = 0; w < c->workloads.count; w++) {
        const double s = speedup(c, w, machine);
        if (!(s > 0)) continue;
        inverse += 1 / s;
        logarithm += log(s);
        m.count++;
    }
    if (m.count) {
        m.harmonic = (double)m.count / inverse;
        m.geometric = exp(logarithm / (double)m.count);
    }
    return m;
}

/* ---- text ---- */

static int column_width(const struct comparison *c, size_t machine)
{
    const size_t len = strlen(c->machines.items[machine]) + 2;
    return len < 18 ? 18 : (int)len; /* the longest bound fits */
}

/* Machines [from, returned) fit a line. */
static size_t fitting(const struct comparison *c, size_t from)
{
    int used = NAME_COLUMNS + 2;
    size_t to = from;
    while (to < c->machines.count && (to == from || used + column_width(c, to) <= COLUMNS))
        used += column_width(c, to++);
    return to;
}

static void write_row_name(const char *name)
{
    if (strlen(name) <= NAME_COLUMNS)
        (void)printf("  %-*s", NAME_COLUMNS, name);
    else
        (void)printf("  %.*s..", NAME_COLUMNS - 2, name);
}

enum table { TABLE_CYCLES, TABLE_IPC, TABLE_BOUND, TABLE_SPEEDUP };

/* 1,234,567 */
static void write_grouped(char *text, size_t bytes, uint64_t value)
{
    char digits[32];
    const int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    size_t to = 0;
    for (int i = 0; i < len && to + 2 < bytes; i++) {
        if (i && (len - i) % 3 == 0) text[to++] = ',';
        text[to++] = digits[i];
    }
    text[to] = '\0';
}

static void write_cell(const struct comparison *c, enum table table, size_t w, size_t m)
{
    const struct point *p = point_at(c, w, m);
    const int width = column_width(c, m);
    char text[64] = "-";
    const double s = speedup(c, w, m);
    if (table == TABLE_CYCLES && !p->status) write_grouped(text, sizeof text, p->cycles);
    if (table == TABLE_IPC && !p->status) (void)snprintf(text, sizeof text, "%.2f", p->ipc);
    if (table == TABLE_BOUND && !p->status) (void)snprintf(text, sizeof text, "%s", p->bound_by);
    if (table == TABLE_SPEEDUP && s > 0) (void)snprintf(text, sizeof text, "%.3f", s);
    (void)printf("%*s", width, p->status ? "failed" : text);
}

static void write_means(const struct comparison *c, size_t from, size_t to)
{
    bool partial = false;
    (void)printf("  %-*s", NAME_COLUMNS, "harmonic mean");
    for (size_t m = from; m < to; m++) {
        const struct means v = means_of(c, m);
        partial |= v.count < c->workloads.count;
        v.count ? (void)printf("%*.3f", column_width(c, m), v.harmonic)
                : (void)printf("%*s", column_width(c, m), "-");
    }
    (void)printf("\n  %-*s", NAME_COLUMNS, "geometric mean");
    for (size_t m = from; m < to; m++) {
        const struct means v = means_of(c, m);
        v.count ? (void)printf("%*.3f", column_width(c, m), v.geometric)
                : (void)printf("%*s", column_width(c, m), "-");
    }
    (void)putchar('\n');
    if (partial) (void)puts("  means leave out workloads that failed on either machine");
}

static void write_table(const struct comparison *c, enum table table, const char *title)
{
    for (size_t from = 0; from < c->machines.count;) {
        const size_t to = fitting(c, from);
        (void)printf("%-*s", NAME_COLUMNS + 2, title);
        for (size_t m = from; m < to; m++) (void)printf("%*s", column_width(c, m), c->machines.items[m]);
        (void)putchar('\n');
        for (size_t w = 0; w < c->workloads.count; w++) {
            write_row_name(c->workloads.items[w]);
            for (size_t m = from; m < to; m++) write_cell(c, table, w, m);
            (void)putchar('\n');
        }
        if (table == TABLE_SPEEDUP) write_means(c, from, to);
        (void)putchar('\n');
        from = to;
    }
}

/* The same words for every workload are said once. */
static void write_failures(const struct comparison *c)
{
    for (size_t m = 0; m < c->machines.count; m++) {
        const char *said = NULL;
        for (size_t w = 0; w < c->workloads.count; w++) {
            const struct point *p = point_at(c, w, m);
            if (!p->status || (said && strcmp(said, p->message) == 0)) continue;
            said = p->message;
            (void)fprintf(stderr, "atoll: %s on %s failed: %s", c->workloads.items[w], c->machines.items[m],
                          p->message);
        }
    }
}

static void write_tables(const struct comparison *c)
{
    write_table(c, TABLE_CYCLES, "cycles of the SM clock");
    write_table(c, TABLE_IPC, "warp instructions/cycle");
    write_table(c, TABLE_BOUND, "bound by");
    if (c->machines.count > 1) write_table(c, TABLE_SPEEDUP, "speed-up over the first");
}

/* ---- JSON ---- */

static json_t *point_json(const struct comparison *c, size_t w, size_t m)
{
    const struct point *p = point_at(c, w, m);
    json_t *row = json_pack("{s:s, s:s, s:i}", "machine", c->machines.items[m], "workload",
                            c->workloads.items[w], "status", (int)p->status);
    if (p->status) {
        (void)json_object_set_new(row, "message", json_string(p->message));
        return row;
    }
    (void)json_object_set_new(row, "cycles", json_integer((json_int_t)p->cycles));
    (void)json_object_set_new(row, "seconds", json_real(p->seconds));
    (void)json_object_set_new(row, "warp_instructions", json_integer((json_int_t)p->warp_instructions));
    (void)json_object_set_new(row, "ipc", json_real(p->ipc));
    (void)json_object_set_new(row, "bound_by", json_string(p->bound_by));
    const double s = speedup(c, w, m);
    (void)json_object_set_new(row, "speedup", s > 0 ? json_real(s) : json_null());
    return row;
}

static int write_json(const struct comparison *c, const char *path)
{
    json_t *machines = json_array(), *workloads = json_array(), *points = json_array(), *means = json_array();
    for (size_t w = 0; w < c->workloads.count; w++) {
        (void)json_array_append_new(workloads, json_string(c->workloads.items[w]));
        for (size_t m = 0; m < c->machines.count; m++)
            (void)json_array_append_new(points, point_json(c, w, m));
    }
    for (size_t m = 0; m < c->machines.count; m++) {
        const struct means v = means_of(c, m);
        (void)json_array_append_new(machines, json_string(c->machines.items[m]));
        (void)json_array_append_new(means, json_pack("{s:s, s:I, s:f, s:f}", "machine", c->machines.items[m],
                                                     "workloads", (json_int_t)v.count, "harmonic", v.harmonic,
                                                     "geometric", v.geometric));
    }
    json_t *root = json_pack("{s:s, s:o, s:o, s:o, s:o}", "atoll_version", atoll_version(), "machines",
                             machines, "workloads", workloads, "points", points, "means", means);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    char *lines = NULL;
    int code = !text || asprintf(&lines, "%s\n", text) < 0 ? cli_mistake("out of host memory")
                                                           : cli_write_file(path, lines);
    free(lines);
    free(text);
    json_decref(root);
    return code;
}

/* ---- the command ---- */

static int compare(struct comparison *c, const struct compare_args *args)
{
    if (!split("machine", args->machine, false, &c->machines) ||
        !split("workload", args->workload, true, &c->workloads))
        return ATOLL_MISTAKE;
    int code = cli_can_write(args->json);
    if (code) return code;
    c->points = calloc(c->machines.count * c->workloads.count, sizeof *c->points);
    if (!c->points) return cli_mistake("out of host memory");
    code = run_all(c, &args->set);
    if (!args->json || strcmp(args->json, "-") != 0) write_tables(c);
    (void)fflush(stdout);
    write_failures(c);
    const int written = args->json ? write_json(c, args->json) : 0;
    return code ? code : written;
}

static int run(const void *arg)
{
    const struct compare_args *args = arg;
    struct comparison c = {.machines = {.limit = MACHINES_MAX}, .workloads = {.limit = WORKLOADS_MAX}};
    if (args->rest.count) return cli_mistake("'atoll compare' takes no '%s'", args->rest.items[0]);
    if (!args->machine || !args->workload)
        return cli_mistake("'atoll compare' takes machines and workloads: -m A,B -w W1,W2");
    const int code = compare(&c, args);
    for (size_t i = 0; c.points && i < c.machines.count * c.workloads.count; i++) free(c.points[i].message);
    free(c.points);
    free_names(&c.machines);
    free_names(&c.workloads);
    return code;
}

static const struct cli_option options[] = {
    {"machine", 'm', CLI_TEXT, offsetof(struct compare_args, machine), "A,B,...",
     "machines: presets or YAML files; the first is what others are compared with"},
    {"workload", 'w', CLI_TEXT, offsetof(struct compare_args, workload), "W1,W2,...",
     "workloads, each NAME[:SIZE]"},
    CLI_OPTION_SET(struct compare_args),
    CLI_OPTION_JSON(struct compare_args),
    {0},
};

const struct cli_command cli_compare = {
    .name = "compare",
    .summary = "compare machines over workloads: cycles, IPC, speed-ups",
    .usage = "-m A,B,... -w W1,W2,... [-s section.key=value]... [--json F]",
    .examples = "  atoll compare -m uba-mem,v100 -w vecadd,sgemm\n"
                "  atoll compare -m uba-mem,mine.yaml -w vecadd:n=65536,bfs:tiny --json result.json\n",
    .options = options,
    .args_bytes = sizeof(struct compare_args),
    .rest_offset = offsetof(struct compare_args, rest),
    .run = run,
};
