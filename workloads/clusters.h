/* clusters: points around true centres, for host scripts that group them: features of a point, means of the groups,
 * and the check that every point is in the nearest group. */
#ifndef ATOLL_WORKLOADS_CLUSTERS_H
#define ATOLL_WORKLOADS_CLUSTERS_H

#include "workload.h"

enum { CLUSTERS_SEED_TRUE = 1, CLUSTERS_SEED_NOISE };

struct clusters {
    uint64_t points, features, clusters;
};

/* Feature f of a point. */
static inline float clusters_feature(const struct clusters *p, uint64_t point, uint64_t f)
{
    return wl_f32(CLUSTERS_SEED_TRUE, point % p->clusters * p->features + f, 0, 1) +
           wl_f32(CLUSTERS_SEED_NOISE, point * p->features + f, -0.3f, 0.3f);
}

/* A wl_fill_fn: row of features per point. */
static inline void clusters_fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct clusters *p = arg;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((float *)to)[i] = clusters_feature(p, (first / 4 + i) / p->features, (first / 4 + i) % p->features);
}

/* The mean of each cluster's points; an empty cluster keeps its centre. */
static inline void clusters_move_centres(const struct clusters *p, const int32_t *member, float *centres,
                                         double *sums, uint64_t *sizes_of)
{
    for (uint64_t i = 0; i < p->clusters * p->features; i++) sums[i] = 0;
    for (uint64_t c = 0; c < p->clusters; c++) sizes_of[c] = 0;
    for (uint64_t point = 0; point < p->points; point++) {
        const uint64_t c = (uint64_t)member[point] % p->clusters;
        sizes_of[c]++;
        for (uint64_t f = 0; f < p->features; f++)
            sums[c * p->features + f] += (double)clusters_feature(p, point, f);
    }
    for (uint64_t i = 0; i < p->clusters * p->features; i++)
        if (sizes_of[i / p->features]) centres[i] = (float)(sums[i] / (double)sizes_of[i / p->features]);
}

/* Squared. */
static inline double clusters_distance(const struct clusters *p, const float *centres, uint64_t point,
                                       uint64_t c)
{
    double sum = 0;
    for (uint64_t f = 0; f < p->features; f++) {
        const double d = (double)clusters_feature(p, point, f) - (double)centres[c * p->features + f];
        sum += d * d;
    }
    return sum;
}

/* A centre that is nearer by less than rounding is right too. */
static inline void clusters_check(struct wl *w, const struct clusters *p, const float *centres,
                                  const int32_t *member)
{
    const int32_t *got = wl_output(w, "member", member, p->points * 4);
    for (uint64_t point = 0; point < p->points; point++) {
        double least = INFINITY;
        for (uint64_t c = 0; c < p->clusters; c++)
            least = fmin(least, clusters_distance(p, centres, point, c));
        const bool valid = got[point] >= 0 && (uint64_t)got[point] < p->clusters;
        if (!valid || clusters_distance(p, centres, point, (uint64_t)got[point]) > least * 1.00001 + 1e-9)
            wl_fail(w, "member[%llu] is %d, which is not the nearest centre", (unsigned long long)point,
                    got[point]);
    }
}

/* Centres to start from: the first points. */
static inline float *clusters_start(struct wl *w, const struct clusters *p)
{
    float *centres = wl_scratch(w, p->clusters * p->features * 4);
    for (uint64_t i = 0; i < p->clusters * p->features; i++)
        centres[i] = clusters_feature(p, i / p->features % p->points, i % p->features);
    return centres;
}

#endif
