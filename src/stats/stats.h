/* stats: what was counted, where, and whether it adds up.
 *
 * A component embeds a struct <group>_stats (one per application, where it serves several) and writes
 * `s->hits++`. It registers the block once, with the place in the machine tree that it belongs to;
 * everything else is generic over the rows of stats.def:
 *
 *   blocks ──sum over a scope──► struct stats ──subtract a snapshot──► one kernel, one region
 *
 * A block must outlive the registry. Registration allocates; counting, summing and sampling do not. */
#ifndef ATOLL_STATS_STATS_H
#define ATOLL_STATS_STATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"

/* struct llc_stats { uint64_t accesses; ...; uint64_t latency[24]; }; */
#define GROUP(group, help)                     struct group##_stats {
#define STAT(group, name, unit, help)          uint64_t name;
#define PEAK(group, name, unit, help)          uint64_t name;
#define HIST(group, name, buckets, unit, help) uint64_t name[buckets];
#define SERIES(group, name, stat, unit, help)
#define RATIO(group, name, numerator, denominator, unit, help)
#define LAW(group, name, left, right, help)
#define END_GROUP(group) \
    } \
    ;
#include "stats/stats.def"
#include "stats/undef.h"

/* All groups: sums over a scope. */
struct stats {
#define GROUP(group, help) struct group##_stats group;
#include "stats/rest.h"
};

enum stat_group {
#define GROUP(group, help) STAT_GROUP_##group,
#include "stats/rest.h"
    STAT_GROUP_COUNT
};

enum stat_kind { STAT_COUNTER, STAT_PEAK, STAT_HISTOGRAM };

struct stat_row {
    enum stat_group group;
    enum stat_kind kind;
    const char *group_name, *name, *unit, *help;
    uint32_t first_word, words; /* in struct stats, as an array of uint64_t */
};

struct ratio_row {
    const char *group_name, *name, *unit, *help;
    uint64_t (*numerator)(const struct stats *t);
    uint64_t (*denominator)(const struct stats *t);
};

struct law_row {
    const char *group_name, *name, *help;
    const char *left_text, *right_text;
    uint64_t (*left)(const struct stats *t);
    uint64_t (*right)(const struct stats *t);
};

struct series_row {
    const char *group_name, *name, *unit, *help;
    uint32_t word; /* of the counter it follows, in struct stats */
};

extern const struct stat_row stat_rows[];
extern const struct ratio_row ratio_rows[];
extern const struct law_row law_rows[];
extern const struct series_row series_rows[];
extern const size_t stat_row_count, ratio_row_count, law_row_count, series_row_count;
extern const char *const stat_group_help[STAT_GROUP_COUNT];

enum { STATS_WORDS = sizeof(struct stats) / sizeof(uint64_t) };
_Static_assert(sizeof(struct stats) % sizeof(uint64_t) == 0, "statistics are arrays of words");

/* ---- where a block belongs; STATS_ANY = not below this level, or every one in a filter ---- */
enum { STATS_ANY = -1 };
struct stats_scope {
    int32_t gpu, chiplet, partition, app;
};
#define STATS_EVERYWHERE ((struct stats_scope){STATS_ANY, STATS_ANY, STATS_ANY, STATS_ANY})

struct stats_block {
    uint64_t *words;
    enum stat_group group;
    struct stats_scope scope;
};

enum { SERIES_POINTS_MAX = 4096 };

struct stats_registry {
    struct arena arena;
    struct stats_block *blocks;
    uint32_t block_count, block_capacity;
    struct stats_hook {
        void (*after)(void *arg);
        void *arg;
    } on_reset[8];
    uint32_t on_reset_count;
    struct stats_edge_hook {
        void (*count)(void *arg, uint64_t edge_cyc);
        void *arg;
    } on_edge[4];
    uint32_t on_edge_count;
    /* time series: one column of points per row of series_rows */
    uint64_t series_interval_cyc, series_next_cyc;
    uint32_t series_points;
    uint64_t *series_last;   /* value at the last sample */
    uint64_t *series_now;    /* value at the present one */
    uint64_t *series_values; /* [row][SERIES_POINTS_MAX] */
    struct stats_followed {  /* per row: the counters that it sums up, one in each block of its group */
        const uint64_t **words;
        uint32_t count, capacity;
    } * followed;
};

void stats_init(struct stats_registry *r, uint64_t series_interval_cyc);
void stats_free(struct stats_registry *r);
void stats_register(struct stats_registry *r, enum stat_group group, void *block, struct stats_scope scope);
#define STATS_REGISTER(r, group, block, scope) \
    stats_register((r), STAT_GROUP_##group, (1 ? (block) : (struct group##_stats *)0), (scope))

/* Zeroes every block and the series; then calls what was registered, for counters that must carry over. */
void stats_reset(struct stats_registry *r);
void stats_on_reset(struct stats_registry *r, void (*after)(void *arg), void *arg);
/* Sum of the blocks whose scope matches the filter. */
void stats_sum(const struct stats_registry *r, struct stats_scope filter, struct stats *out);
/* later - earlier, for a region or a kernel; a peak keeps its later value (it is of the whole run). */
void stats_subtract(const struct stats *later, const struct stats *earlier, struct stats *out);
void stats_add(struct stats *into, const struct stats *more);

/* Called before an interval of the series ends: who counts time only now and then counts up to its edge. */
void stats_on_edge(struct stats_registry *r, void (*count)(void *arg, uint64_t edge_cyc), void *arg);

/* Adds a point for every interval that ended at or before now_cyc. Call before anything of cycle now_cyc
 * happens, so that growth falls into the interval in which it happened. */
void stats_sample(struct stats_registry *r, uint64_t now_cyc);

/* The last, unfinished interval, when anything grew in it. Call at the end of a run. */
void stats_series_finish(struct stats_registry *r);

/* Every law on the sums over the whole system; a violation is an internal error. */
void stats_check_laws(const struct stats_registry *r, uint64_t now_cyc);

/* Smallest value of histogram bucket i. */
static inline uint64_t stats_bucket_floor(uint32_t i) { return i ? 1ull << (i - 1) : 0; }
/* Counts a value; those beyond the last bucket fall into it. */
static inline void stats_count_log2(uint64_t *histogram, uint32_t buckets, uint64_t value)
{
    const uint32_t i = 63 - (uint32_t)__builtin_clzll(value << 1 | 1); /* below 2^63 */
    histogram[i < buckets ? i : buckets - 1]++;
}
/* How many were counted. */
#define stats_counted(histogram) stats_counted_in((histogram), sizeof(histogram) / sizeof *(histogram))
static inline uint64_t stats_counted_in(const uint64_t *histogram, size_t buckets)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < buckets; k++) sum += histogram[k];
    return sum;
}
#define STATS_COUNT(histogram, value) \
    stats_count_log2((histogram), sizeof(histogram) / sizeof *(histogram), (value))
static inline void stats_peak(uint64_t *peak, uint64_t value)
{
    if (value > *peak) *peak = value;
}

/* ---- output: {"group.name": value | {edges, counts} | {interval, values}}; a new reference ---- */
json_t *stats_json(const struct stats *s);
json_t *stats_series_json(const struct stats_registry *r);
/* name,value,unit with a header; histograms as name[floor]. */
void stats_csv(const struct stats *s, FILE *out);
/* name[first cycle of the interval],value,unit without a header; series in which nothing grew are left out.
 */
void stats_series_csv(const struct stats_registry *r, FILE *out);
/* Number of points, mean, smallest and largest of each series. */
void stats_series_text(const struct stats_registry *r, FILE *out);
/* Aligned lines for a human; rows that are zero are left out unless 'all'. */
void stats_text(const struct stats *s, bool all, FILE *out);

#endif
