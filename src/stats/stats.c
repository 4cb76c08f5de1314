/* stats: the generic operations over the rows of stats.def. Printing is in stats_print.c. */
#include "stats/stats.h"

#include <string.h>

#include "base/diag.h"

#define WORD_OF(group, name) (uint32_t)(offsetof(struct stats, group.name) / sizeof(uint64_t))

const struct stat_row stat_rows[] = {
#define STAT(group, name, unit, help) \
    {STAT_GROUP_##group, STAT_COUNTER, #group, #name, unit, help, WORD_OF(group, name), 1},
#define PEAK(group, name, unit, help) \
    {STAT_GROUP_##group, STAT_PEAK, #group, #name, unit, help, WORD_OF(group, name), 1},
#define HIST(group, name, buckets, unit, help) \
    {STAT_GROUP_##group, STAT_HISTOGRAM, #group, #name, unit, help, WORD_OF(group, name), buckets},
#include "stats/rest.h"
};
const size_t stat_row_count = sizeof stat_rows / sizeof *stat_rows;

/* The rows of peaks: sums take the maximum of these words. */
static const struct {
    enum stat_group group;
    uint32_t word; /* in struct stats */
} peaks[] = {
#define PEAK(group, name, unit, help) {STAT_GROUP_##group, WORD_OF(group, name)},
#include "stats/rest.h"
};
enum { PEAKS = sizeof peaks / sizeof *peaks };

#define RATIO(group, name, numerator, denominator, unit, help) \
    static uint64_t ratio_above_##group##_##name(const struct stats *t) { return numerator; } \
    static uint64_t ratio_below_##group##_##name(const struct stats *t) { return denominator; }
#define LAW(group, name, left, right, help) \
    static uint64_t law_left_##group##_##name(const struct stats *t) { return left; } \
    static uint64_t law_right_##group##_##name(const struct stats *t) { return right; }
#include "stats/rest.h"

const struct ratio_row ratio_rows[] = {
#define RATIO(group, name, numerator, denominator, unit, help) \
    {#group, #name, unit, help, ratio_above_##group##_##name, ratio_below_##group##_##name},
#include "stats/rest.h"
};
const size_t ratio_row_count = sizeof ratio_rows / sizeof *ratio_rows;

const struct law_row law_rows[] = {
#define LAW(group, name, left, right, help) \
    {#group, #name, help, #left, #right, law_left_##group##_##name, law_right_##group##_##name},
#include "stats/rest.h"
};
const size_t law_row_count = sizeof law_rows / sizeof *law_rows;

const struct series_row series_rows[] = {
#define SERIES(group, name, stat, unit, help) {#group, #name, unit, help, WORD_OF(group, stat)},
#include "stats/rest.h"
};
const size_t series_row_count = sizeof series_rows / sizeof *series_rows;

const char *const stat_group_help[STAT_GROUP_COUNT] = {
#define GROUP(group, help) help,
#include "stats/rest.h"
};

static const struct {
    uint32_t first, count;
} group_words[STAT_GROUP_COUNT] = {
#define GROUP(group, help) \
    {offsetof(struct stats, group) / sizeof(uint64_t), sizeof(struct group##_stats) / sizeof(uint64_t)},
#include "stats/rest.h"
};

void stats_init(struct stats_registry *r, uint64_t series_interval_cyc)
{
    *r = (struct stats_registry){.series_interval_cyc = series_interval_cyc,
                                 .series_next_cyc = series_interval_cyc};
    arena_init(&r->arena);
    r->series_last = ARENA_ARRAY(&r->arena, uint64_t, series_row_count);
    r->series_now = ARENA_ARRAY(&r->arena, uint64_t, series_row_count);
    r->followed = ARENA_ARRAY(&r->arena, struct stats_followed, series_row_count);
    r->series_values = ARENA_ARRAY(&r->arena, uint64_t, series_row_count * SERIES_POINTS_MAX);
}

void stats_free(struct stats_registry *r) { arena_free(&r->arena); }

static void follow(struct stats_registry *r, struct stats_followed *f, const uint64_t *word)
{
    if (f->count == f->capacity) {
        f->capacity = f->capacity ? f->capacity * 2 : 16;
        const uint64_t **grown = ARENA_ARRAY(&r->arena, const uint64_t *, f->capacity);
        if (f->count) memcpy(grown, f->words, f->count * sizeof *grown);
        f->words = grown;
    }
    f->words[f->count++] = word;
}

void stats_register(struct stats_registry *r, enum stat_group group, void *block, struct stats_scope scope)
{
    if (r->block_count == r->block_capacity) {
        r->block_capacity = r->block_capacity ? r->block_capacity * 2 : 64;
        struct stats_block *grown = ARENA_ARRAY(&r->arena, struct stats_block, r->block_capacity);
        if (r->block_count) memcpy(grown, r->blocks, r->block_count * sizeof *grown);
        r->blocks = grown;
    }
    r->blocks[r->block_count++] = (struct stats_block){.words = block, .group = group, .scope = scope};
    const uint32_t first = group_words[group].first, end = first + group_words[group].count;
    for (size_t row = 0; row < series_row_count; row++)
        if (series_rows[row].word >= first && series_rows[row].word < end)
            follow(r, &r->followed[row], (const uint64_t *)block + series_rows[row].word - first);
}

void stats_on_reset(struct stats_registry *r, void (*after)(void *arg), void *arg)
{
    DIAG_ASSERT(r->on_reset_count < sizeof r->on_reset / sizeof *r->on_reset);
    r->on_reset[r->on_reset_count++] = (struct stats_hook){after, arg};
}

void stats_on_edge(struct stats_registry *r, void (*count)(void *arg, uint64_t edge_cyc), void *arg)
{
    DIAG_ASSERT(r->on_edge_count < sizeof r->on_edge / sizeof *r->on_edge);
    r->on_edge[r->on_edge_count++] = (struct stats_edge_hook){count, arg};
}

void stats_reset(struct stats_registry *r)
{
    for (uint32_t i = 0; i < r->block_count; i++)
        memset(r->blocks[i].words, 0, group_words[r->blocks[i].group].count * sizeof(uint64_t));
    memset(r->series_last, 0, series_row_count * sizeof(uint64_t));
    r->series_points = 0;
    for (uint32_t i = 0; i < r->on_reset_count; i++) r->on_reset[i].after(r->on_reset[i].arg);
    struct stats sum; /* what carries over is no growth */
    stats_sum(r, STATS_EVERYWHERE, &sum);
    for (size_t row = 0; row < series_row_count; row++)
        r->series_last[row] = ((const uint64_t *)&sum)[series_rows[row].word];
}

static bool matches(int32_t filter, int32_t place) { return filter == STATS_ANY || filter == place; }

void stats_sum(const struct stats_registry *r, struct stats_scope filter, struct stats *out)
{
    uint64_t *sum = (uint64_t *)out;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < r->block_count; i++) {
        const struct stats_block *b = &r->blocks[i];
        if (!matches(filter.gpu, b->scope.gpu) || !matches(filter.chiplet, b->scope.chiplet) ||
            !matches(filter.partition, b->scope.partition) || !matches(filter.app, b->scope.app))
            continue;
        uint64_t *into = sum + group_words[b->group].first;
        for (uint32_t w = 0; w < group_words[b->group].count; w++) into[w] += b->words[w];
        for (size_t k = 0; k < PEAKS; k++) { /* the loop above added peaks: take the larger instead */
            if (peaks[k].group != b->group) continue;
            const uint32_t w = peaks[k].word - group_words[b->group].first;
            const uint64_t before = into[w] - b->words[w];
            into[w] = before > b->words[w] ? before : b->words[w];
        }
    }
}

void stats_subtract(const struct stats *later, const struct stats *earlier, struct stats *out)
{
    const uint64_t *a = (const uint64_t *)later, *b = (const uint64_t *)earlier;
    uint64_t *d = (uint64_t *)out;
    for (uint32_t w = 0; w < STATS_WORDS; w++) d[w] = a[w] - b[w];
    for (size_t k = 0; k < PEAKS; k++) d[peaks[k].word] = a[peaks[k].word];
}

void stats_add(struct stats *into, const struct stats *more)
{
    const uint64_t *b = (const uint64_t *)more;
    uint64_t *a = (uint64_t *)into;
    for (uint32_t w = 0; w < STATS_WORDS; w++) a[w] += b[w];
    for (size_t k = 0; k < PEAKS; k++) {
        const uint32_t w = peaks[k].word;
        const uint64_t before = a[w] - b[w];
        a[w] = before > b[w] ? before : b[w];
    }
}

/* A full series is halved: pairs are added up and the interval doubles, so memory stays bounded. */
static void halve_series(struct stats_registry *r)
{
    for (size_t row = 0; row < series_row_count; row++) {
        uint64_t *v = r->series_values + row * SERIES_POINTS_MAX;
        for (uint32_t i = 0; i < SERIES_POINTS_MAX / 2; i++) v[i] = v[2 * i] + v[2 * i + 1];
    }
    r->series_points = SERIES_POINTS_MAX / 2;
    r->series_interval_cyc *= 2;
}

/* Sums over everything of the counters that series follow, and of no others: it is done all the time. */
static void sum_followed(struct stats_registry *r)
{
    for (size_t row = 0; row < series_row_count; row++) {
        const struct stats_followed *const f = &r->followed[row];
        uint64_t sum = 0;
        for (uint32_t i = 0; i < f->count; i++) sum += *f->words[i];
        r->series_now[row] = sum;
    }
}

static void record_point(struct stats_registry *r)
{
    for (size_t row = 0; row < series_row_count; row++) {
        const uint64_t value = r->series_now[row];
        r->series_values[row * SERIES_POINTS_MAX + r->series_points] = value - r->series_last[row];
        r->series_last[row] = value;
    }
    r->series_points++;
}

static void end_interval(struct stats_registry *r)
{
    if (r->series_points == SERIES_POINTS_MAX) { /* this interval has become half of a longer one */
        r->series_next_cyc += r->series_interval_cyc;
        halve_series(r);
        return;
    }
    record_point(r);
    r->series_next_cyc += r->series_interval_cyc;
}

void stats_sample(struct stats_registry *r, uint64_t now_cyc)
{
    if (now_cyc < r->series_next_cyc) return;
    if (!r->on_edge_count) sum_followed(r);
    while (now_cyc >= r->series_next_cyc) { /* idle ones are zero, but for time itself */
        for (uint32_t i = 0; i < r->on_edge_count; i++)
            r->on_edge[i].count(r->on_edge[i].arg, r->series_next_cyc);
        if (r->on_edge_count) sum_followed(r);
        end_interval(r);
    }
}

void stats_series_finish(struct stats_registry *r)
{
    bool grew = false;
    sum_followed(r);
    for (size_t row = 0; row < series_row_count; row++) grew |= r->series_now[row] != r->series_last[row];
    if (!grew) return;
    if (r->series_points == SERIES_POINTS_MAX) halve_series(r);
    record_point(r);
}

void stats_check_laws(const struct stats_registry *r, uint64_t now_cyc)
{
    struct stats t;
    stats_sum(r, STATS_EVERYWHERE, &t);
    for (size_t i = 0; i < law_row_count; i++) {
        const struct law_row *law = &law_rows[i];
        const uint64_t left = law->left(&t), right = law->right(&t);
        if (left != right)
            diag_bug("statistics", now_cyc, "law %s.%s is broken (%s): %s = %llu but %s = %llu",
                     law->group_name, law->name, law->help, law->left_text, (unsigned long long)left,
                     law->right_text, (unsigned long long)right);
    }
}
