/* stats_print: statistics as JSON, CSV and text. */
#include <string.h>

#include "stats/stats.h"

static double ratio_of(const struct ratio_row *row, const struct stats *s)
{
    const uint64_t below = row->denominator(s);
    return below ? (double)row->numerator(s) / (double)below : 0.0;
}

static json_t *histogram_json(const uint64_t *counts, uint32_t buckets)
{
    json_t *edges = json_array(), *values = json_array();
    for (uint32_t i = 0; i < buckets; i++) {
        (void)json_array_append_new(edges, json_integer((json_int_t)stats_bucket_floor(i)));
        (void)json_array_append_new(values, json_integer((json_int_t)counts[i]));
    }
    return json_pack("{s:o, s:o}", "edges", edges, "counts", values);
}

json_t *stats_json(const struct stats *s)
{
    char key[128];
    json_t *root = json_object();
    for (size_t i = 0; i < stat_row_count; i++) {
        const struct stat_row *row = &stat_rows[i];
        const uint64_t *words = (const uint64_t *)s + row->first_word;
        (void)snprintf(key, sizeof key, "%s.%s", row->group_name, row->name);
        (void)json_object_set_new(root, key,
                                  row->kind == STAT_HISTOGRAM ? histogram_json(words, row->words)
                                                              : json_integer((json_int_t)*words));
    }
    for (size_t i = 0; i < ratio_row_count; i++) {
        (void)snprintf(key, sizeof key, "%s.%s", ratio_rows[i].group_name, ratio_rows[i].name);
        (void)json_object_set_new(root, key, json_real(ratio_of(&ratio_rows[i], s)));
    }
    return root;
}

json_t *stats_series_json(const struct stats_registry *r)
{
    char key[128];
    json_t *root = json_object();
    for (size_t row = 0; row < series_row_count; row++) {
        json_t *values = json_array();
        for (uint32_t i = 0; i < r->series_points; i++)
            (void)json_array_append_new(
                values, json_integer((json_int_t)r->series_values[row * SERIES_POINTS_MAX + i]));
        (void)snprintf(key, sizeof key, "%s.%s", series_rows[row].group_name, series_rows[row].name);
        (void)json_object_set_new(
            root, key,
            json_pack("{s:I, s:o}", "interval", (json_int_t)r->series_interval_cyc, "values", values));
    }
    return root;
}

void stats_series_csv(const struct stats_registry *r, FILE *out)
{
    for (size_t row = 0; row < series_row_count; row++) {
        const uint64_t *v = r->series_values + row * SERIES_POINTS_MAX;
        uint64_t sum = 0;
        for (uint32_t i = 0; i < r->series_points; i++) sum += v[i];
        for (uint32_t i = 0; sum && i < r->series_points; i++)
            (void)fprintf(out, "%s.%s[%llu],%llu,%s\n", series_rows[row].group_name, series_rows[row].name,
                          (unsigned long long)i * r->series_interval_cyc, (unsigned long long)v[i],
                          series_rows[row].unit);
    }
}

void stats_series_text(const struct stats_registry *r, FILE *out)
{
    for (size_t row = 0; row < series_row_count && r->series_points; row++) {
        const uint64_t *v = r->series_values + row * SERIES_POINTS_MAX;
        uint64_t sum = 0, least = UINT64_MAX, most = 0;
        for (uint32_t i = 0; i < r->series_points; i++) {
            sum += v[i];
            if (v[i] < least) least = v[i];
            if (v[i] > most) most = v[i];
        }
        (void)fprintf(out, "  %s.%s: %u points of %llu cycles, mean %.1f, least %llu, most %llu %s\n",
                      series_rows[row].group_name, series_rows[row].name, r->series_points,
                      (unsigned long long)r->series_interval_cyc, (double)sum / r->series_points,
                      (unsigned long long)least, (unsigned long long)most, series_rows[row].unit);
    }
}

void stats_csv(const struct stats *s, FILE *out)
{
    (void)fputs("name,value,unit\n", out);
    for (size_t i = 0; i < stat_row_count; i++) {
        const struct stat_row *row = &stat_rows[i];
        const uint64_t *words = (const uint64_t *)s + row->first_word;
        for (uint32_t w = 0; w < row->words; w++) {
            (void)fprintf(out, "%s.%s", row->group_name, row->name);
            if (row->kind == STAT_HISTOGRAM)
                (void)fprintf(out, "[%llu]", (unsigned long long)stats_bucket_floor(w));
            (void)fprintf(out, ",%llu,%s\n", (unsigned long long)words[w], row->unit);
        }
    }
    for (size_t i = 0; i < ratio_row_count; i++)
        (void)fprintf(out, "%s.%s,%.6g,%s\n", ratio_rows[i].group_name, ratio_rows[i].name,
                      ratio_of(&ratio_rows[i], s), ratio_rows[i].unit);
}

void stats_text(const struct stats *s, bool all, FILE *out)
{
    char name[128];
    for (size_t i = 0; i < stat_row_count; i++) {
        const struct stat_row *row = &stat_rows[i];
        const uint64_t *words = (const uint64_t *)s + row->first_word;
        uint64_t sum = 0;
        for (uint32_t w = 0; w < row->words; w++) sum += words[w];
        if (!sum && !all) continue;
        (void)snprintf(name, sizeof name, "%s.%s", row->group_name, row->name);
        if (row->kind != STAT_HISTOGRAM) {
            (void)fprintf(out, "  %-36s %16llu %-12s %s\n", name, (unsigned long long)*words, row->unit,
                          row->help);
            continue;
        }
        (void)fprintf(out, "  %-36s %16llu %-12s %s\n", name, (unsigned long long)sum, "samples", row->help);
        for (uint32_t w = 0; w < row->words; w++)
            if (words[w])
                (void)fprintf(out, "    from %-12llu %35llu  %5.1f %%\n",
                              (unsigned long long)stats_bucket_floor(w), (unsigned long long)words[w],
                              100.0 * (double)words[w] / (double)sum);
    }
    for (size_t i = 0; i < ratio_row_count; i++) {
        (void)snprintf(name, sizeof name, "%s.%s", ratio_rows[i].group_name, ratio_rows[i].name);
        if (all || ratio_rows[i].denominator(s))
            (void)fprintf(out, "  %-36s %16.4f %-12s %s\n", name, ratio_of(&ratio_rows[i], s),
                          ratio_rows[i].unit, ratio_rows[i].help);
    }
}
