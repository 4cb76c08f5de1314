/* study: what is run and what is asked of it. `atoll sweep`, `reproduce`, `compare` and `report` all work on
 * one.
 *
 *   experiment file ─► study_read ─┐                 ┌► sweep/  runs points, keeps results
 *   compare -m -w ────► study_make ┴► study_plan ────┤
 *                                     (points, keys) └► study_data (results by point) ─► values ─► verdicts
 * ─► pages
 *
 * A point is one run: machine x combination of axis values x workload x seed. Its key is a hash of the
 * effective configuration, the workload, the limit and the build of the simulator: the same key, the same
 * result.
 *
 * A study owns everything it names (an arena); mistakes are raised at their place in the file. */
#ifndef ATOLL_STUDY_STUDY_H
#define ATOLL_STUDY_STUDY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"

enum {
    STUDY_AXES_MAX = 8,
    STUDY_KEY_CHARS = 32,
    STUDY_POINTS_MAX = 200000,
    STUDY_SEEDS_MAX = 64,
    STUDY_BEST_MAX = 32
};
#define STUDY_NONE UINT32_MAX

struct study_setting {
    const char *key, *value;
    struct diag_place key_place, place;
    struct study_setting *next;
};

struct study_machine {
    const char *name;   /* in figures */
    const char *preset; /* or a path */
    struct diag_place place;
    struct study_setting *set;
    const char *missing; /* why it cannot be run: there is no such preset; NULL: it can */
    /* not a machine but the best, or a mean, of these for each workload, or for each kernel of it ("best static"): has
     * no points of its own */
    const uint32_t *best_of;
    uint32_t best_count, best_by; /* metric that decides */
    const char *best_by_name;     /* NULL: the first of the study */
    struct diag_place best_place;
    bool per_kernel;
    const double *weights; /* of best_of: not the best but the weighted mean of each metric; NULL: the best */
};

struct study_workload {
    const char *name; /* in figures */
    const char *spec; /* what is run: "lbm:nuba" */
    struct diag_place place;
    uint32_t group;
    uint64_t instructions;     /* limit, 0 = the scale's */
    struct study_setting *set; /* for this workload on every machine */
};

/* Some workloads of a study. */
struct study_set {
    const uint32_t *items;
    uint32_t count;
};

struct study_group {
    const char *name; /* "" when the file has one list only */
    uint32_t first, count;
};

/* What a value of an axis means for one machine, instead of for all. */
struct study_own {
    uint32_t machine;
    struct study_setting *set;
    struct study_own *next;
};
struct study_value {
    const char *name;
    struct study_setting *set;
    struct study_own *own; /* NULL: nothing else for any machine */
};
struct study_axis {
    const char *name;
    struct diag_place place;
    struct study_value *values;
    uint32_t count, base;
};
/* One value of every axis. */
struct study_combo {
    uint32_t value[STUDY_AXES_MAX];
};

/* v; baseline / v; v / baseline; v - baseline */
enum study_relative { STUDY_ABSOLUTE, STUDY_SPEEDUP, STUDY_RATIO, STUDY_DIFFERENCE };
enum study_mean { STUDY_HARMONIC, STUDY_GEOMETRIC, STUDY_ARITHMETIC };

struct study_metric {
    const char *name, *title, *unit;
    const char *text; /* the expression as written */
    const struct expr *value;
    enum study_relative relative;
    enum study_mean mean;
    bool lower_is_better;
};

enum study_plot { STUDY_BARS, STUDY_LINES, STUDY_STACKED, STUDY_DISTRIBUTION, STUDY_SCATTER, STUDY_SORTED };
enum study_curves { STUDY_BY_SIDE, STUDY_BY_GROUP, STUDY_BY_WORKLOAD };
struct study_figure {
    const char *title, *where, *about;
    enum study_plot plot;
    uint32_t metrics[8], metric_count; /* stacked bars have several; a scatter x and y */
    uint32_t x_axis;                   /* STUDY_NONE: workloads; else mean over workloads per value */
    uint32_t series_axis;              /* STUDY_NONE: machines; else values of this axis on one machine */
    enum study_curves curves;          /* one for each machine or axis value, group, workload */
    uint32_t machine;                  /* of series_axis, of curves by group or workload */
    bool one_machine;                  /* bars of it alone */
    struct diag_place place;
};

/* One side of a claim. */
struct study_side {
    uint32_t machine, combo;
};
enum study_pick { STUDY_PICK_MEAN, STUDY_PICK_MAX, STUDY_PICK_MIN, STUDY_PICK_EACH, STUDY_PICK_COUNT };
enum study_form {
    STUDY_SIZE,    /* published: 23.1 % */
    STUDY_BOUND,   /* published: "> 80 %" */
    STUDY_RANGE,   /* published: 2 to 4: the least and the largest of the workloads */
    STUDY_ORDER,   /* order: a < b */
    STUDY_FOLLOWS, /* follows: METRIC: over the workloads, the two metrics correlate */
};
enum study_relation { STUDY_LESS, STUDY_MUCH_LESS, STUDY_AT_MOST, STUDY_ABOUT };
struct study_term {
    const char *name;
    uint32_t metric;            /* the claim's; of an order of metrics its own */
    struct study_side of, over; /* over.machine STUDY_NONE: the metric's own baseline */
    struct study_set on;
};
struct study_claim {
    const char *id, *where, *says;
    struct diag_place place;
    enum study_form form;
    uint32_t metric, follows; /* the second of STUDY_FOLLOWS only */
    /* STUDY_PICK_EACH: of orders: on every workload; STUDY_PICK_COUNT: on how many, beside `published` */
    enum study_pick pick;
    /* an order has several and relations between them; all others one, and what is published */
    struct study_term *terms;
    enum study_relation *relations; /* term_count - 1 */
    uint32_t term_count;
    double published;      /* ratio of a relative metric (1.231), else the value; of a range its low end */
    double published_high; /* of a range */
    bool at_most;          /* a bound from above */
    const char *published_text;
    bool as_percent;               /* published as a percentage of change */
    const char *why, *why_command; /* known reason of a difference, or NULL */
};

struct study_scale {
    struct study_setting *set; /* after all other settings, so that '/4' divides what they set */
    const char *name;
    uint64_t instructions;
    const uint64_t *seeds; /* NULL: the study's */
    uint32_t seed_count;
    bool *chosen; /* workloads; NULL: all */
};

struct study_point {
    uint32_t machine, combo, workload, seed;
    uint64_t instructions;
    char key[STUDY_KEY_CHARS + 1]; /* "" when the machine is missing or the configuration is wrong */
    const char *config;            /* effective, JSON */
    const char *wrong;             /* why it cannot run: recorded as a failure */
};

struct study {
    struct arena arena;
    struct diag_source source; /* the file; name and text */
    const char *name, *title, *paper, *about;
    const char *scale;               /* the one that is planned, "" = none */
    struct study_setting *scale_set; /* its settings */
    struct study_setting *set;
    struct study_machine *machines;
    struct study_workload *workloads;
    const uint32_t *every; /* 0, 1, 2, ...: sets of neighbours point into it */
    const char **left_out; /* names of workloads that the scale leaves out */
    struct study_group *groups;
    struct study_axis axes[STUDY_AXES_MAX];
    struct study_combo *combos;
    struct study_metric *metrics;
    struct study_figure *figures;
    struct study_claim *claims;
    struct study_scale *scales;
    const uint64_t *seeds;
    struct study_point *points;
    uint32_t machine_count, workload_count, left_out_count, group_count, axis_count, combo_count,
        metric_count, figure_count, claim_count, scale_count, seed_count, point_count;
    uint32_t base_machine;
    bool vary_each, base_same; /* one axis at a time; the baseline has the same axis values */
    uint32_t base_combo;
};

/* ---- making one ---- */

struct study *study_new(void);
void study_free(struct study *s);
/* scale: NULL = the file's first, when it has any. Raises mistakes that point into the file. */
void study_read(struct study *s, const char *path, const char *scale);
/* The same from a text, as a database keeps it. */
void study_read_text(struct study *s, const char *name, const char *text, size_t len, const char *scale);
/* For compare: machines and workloads by name; the first machine is the baseline. */
void study_make(struct study *s, const char *const *machines, size_t machine_count,
                const char *const *workloads, size_t workload_count, const char *const *sets,
                size_t set_count);

enum study_unknown { STUDY_UNKNOWN_IS_MISTAKE, STUDY_UNKNOWN_IS_MISSING, STUDY_UNKNOWN_FAILS };
/* Makes the points. What to do about machines that do not exist: raise at their place; mark the machine
 * (reproduce); record it at the point (compare). */
void study_plan(struct study *s, enum study_unknown unknown);
/* The key of a run, 32 hexadecimal digits. */
void study_key(char key[STUDY_KEY_CHARS + 1], const char *config_json, const char *workload,
               uint64_t instructions);

/* Index in points; STUDY_NONE when the study has no such point. */
uint32_t study_point_at(const struct study *s, uint32_t machine, uint32_t combo, uint32_t workload,
                        uint32_t seed);
/* The combination like `combo` but for one axis; STUDY_NONE when the study has none. */
uint32_t study_combo_with(const struct study *s, uint32_t combo, uint32_t axis, uint32_t value);
/* "0.7 TB/s, 3 MiB": what differs from the base; "" for the base. In arena memory. */
const char *study_combo_name(struct study *s, uint32_t combo);
/* The options of `atoll run` that make this point. In arena memory. */
const char *study_command(struct study *s, uint32_t point);
/* Every setting of a point, in the order in which they are applied. */
void study_each_setting(const struct study *s, const struct study_point *p,
                        void (*visit)(void *arg, const struct study_setting *set), void *arg);

/* ---- expr.c: a metric as an expression over the result of a run ---- */

struct expr;
/* Numbers, + - * / ( ) and names: totals.X, stats.GROUP.NAME, host.X. An unknown name is a mistake. */
const struct expr *expr_parse(struct arena *a, const char *text, struct diag_place place);
/* NAN when a name has no value in this result, or a division by zero. */
double expr_value(const struct expr *e, const json_t *result);
/* "seconds" or "cycles" when the expression is nothing but that total, which kernels have too; else NULL. */
const char *expr_time(const struct expr *e);

/* ---- data.c: results of the points, and what follows from them ---- */

enum study_status {
    STUDY_DONE,
    STUDY_FAILED,  /* a mistake: bad parameter, bad workload */
    STUDY_CHECK,   /* a check found a wrong result */
    STUDY_BUG,     /* ours */
    STUDY_CRASHED, /* a signal, or an end without a result */
    STUDY_STOPPED, /* took longer than allowed */
    STUDY_MISSING, /* the machine does not exist in this version */
    STUDY_PENDING  /* not run yet */
};
extern const char *const study_status_names[STUDY_PENDING + 1];

struct study_result {
    enum study_status status;
    json_t *root; /* of a run that is done */
    const char *message;
    const char *bound_by;
    double cpu_seconds, wall_seconds;
};

struct study_data {
    struct study *study;
    struct study_result *results; /* by point */
};

/* A number with its 95 % confidence interval over seeds; value NAN: unknown. */
struct study_estimate {
    double value, low, high;
    uint32_t seeds;           /* that it is made of */
    uint32_t workloads, want; /* in a mean */
};

struct study_data *study_data_new(struct study *s);
void study_data_free(struct study_data *d);

/* One workload, over the seeds. */
struct study_estimate study_cell(const struct study_data *d, uint32_t metric, struct study_side of,
                                 struct study_side over, uint32_t workload);
/* Mean (or largest, smallest) over workloads, over the seeds. */
struct study_estimate study_over(const struct study_data *d, uint32_t metric, struct study_side of,
                                 struct study_side over, struct study_set on, enum study_pick pick);
struct study_set study_all(const struct study *s);
/* What a metric of a side is relative to by itself. */
struct study_side study_baseline(const struct study *s, struct study_side of);

/* ---- verdict.c ---- */

enum study_verdict {
    VERDICT_SIZE,    /* within a third of the published effect */
    VERDICT_ORDER,   /* the order holds; for a size: the direction, not the size */
    VERDICT_DIFFERS, /* neither */
    VERDICT_UNKNOWN  /* points are missing */
};
extern const char *const study_verdict_names[VERDICT_UNKNOWN + 1];

struct study_judgement {
    enum study_verdict verdict;
    struct study_estimate ours; /* of a size */
    char text[400];             /* our numbers in words */
    uint32_t worst; /* workload that differs most, for the command that shows why; or STUDY_NONE */
};
struct study_judgement study_judge(const struct study_data *d, const struct study_claim *claim);
/* Only the direction of a size is right. */
bool study_only_direction(const struct study_claim *claim, enum study_verdict verdict);
/* The verdict in words. */
const char *study_verdict_words(const struct study_claim *claim, enum study_verdict verdict);
/* The claim's own words: "23.1 %", "a < b". In arena memory. */
const char *study_claimed(struct study *s, const struct study_claim *claim);

#endif
