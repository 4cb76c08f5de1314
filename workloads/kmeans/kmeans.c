/* kmeans: host script: assignment on the device, new centres on the host, for a number of rounds. Points lie
 * around true centres. NUBA: 136 MB = 494020 points x 34 features, twice, and the membership; five clusters.
 */
#include "workload.h"

enum { SEED_TRUE = 1, SEED_NOISE, BLOCK = 256 };

static const struct wl_param params[] = {
    {"points", 30000, 1, 1 << 24, 0, "points"},
    {"features", 34, 1, 100, 0, "features of a point"},
    {"clusters", 5, 1, 64, 0, "clusters"},
    {"rounds", 2, 1, 100, 0, "assignments, each followed by new centres"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "points=700,features=9", NULL},
    {"nuba", "points=494020,rounds=1", "NUBA, 136 MB"},
    {0},
};

struct problem {
    uint64_t points, features, clusters;
};

static float feature(const struct problem *p, uint64_t point, uint64_t f)
{
    return wl_f32(SEED_TRUE, point % p->clusters * p->features + f, 0, 1) +
           wl_f32(SEED_NOISE, point * p->features + f, -0.3f, 0.3f);
}

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct problem *p = arg;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((float *)to)[i] = feature(p, (first / 4 + i) / p->features, (first / 4 + i) % p->features);
}

/* The mean of each cluster's points; an empty cluster keeps its centre. */
static void move_centres(const struct problem *p, const int32_t *member, float *centres, double *sums,
                         uint64_t *sizes_of)
{
    for (uint64_t i = 0; i < p->clusters * p->features; i++) sums[i] = 0;
    for (uint64_t c = 0; c < p->clusters; c++) sizes_of[c] = 0;
    for (uint64_t point = 0; point < p->points; point++) {
        const uint64_t c = (uint64_t)member[point] % p->clusters;
        sizes_of[c]++;
        for (uint64_t f = 0; f < p->features; f++) sums[c * p->features + f] += (double)feature(p, point, f);
    }
    for (uint64_t i = 0; i < p->clusters * p->features; i++)
        if (sizes_of[i / p->features]) centres[i] = (float)(sums[i] / (double)sizes_of[i / p->features]);
}

static double distance(const struct problem *p, const float *centres, uint64_t point, uint64_t c)
{
    double sum = 0;
    for (uint64_t f = 0; f < p->features; f++) {
        const double d = (double)feature(p, point, f) - (double)centres[c * p->features + f];
        sum += d * d;
    }
    return sum;
}

/* A centre that is nearer by less than rounding is right too. */
static void check(struct wl *w, const struct problem *p, const float *centres, const int32_t *member)
{
    const int32_t *got = wl_output(w, "member", member, p->points * 4);
    for (uint64_t point = 0; point < p->points; point++) {
        double least = INFINITY;
        for (uint64_t c = 0; c < p->clusters; c++) least = fmin(least, distance(p, centres, point, c));
        const bool valid = got[point] >= 0 && (uint64_t)got[point] < p->clusters;
        if (!valid || distance(p, centres, point, (uint64_t)got[point]) > least * 1.00001 + 1e-9)
            wl_fail(w, "member[%llu] is %d, which is not the nearest centre", (unsigned long long)point,
                    got[point]);
    }
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t points = (uint64_t)wl_param(w, "points"), features = (uint64_t)wl_param(w, "features");
    return 4 * (2 * points * features + (uint64_t)wl_param(w, "clusters") * features + points);
}

static void run(struct wl *w)
{
    const int points = (int)wl_param(w, "points"), features = (int)wl_param(w, "features");
    const int clusters = (int)wl_param(w, "clusters");
    struct problem p = {(uint64_t)points, (uint64_t)features, (uint64_t)clusters};
    const uint64_t centre_bytes = p.clusters * p.features * 4;
    float *by_point = wl_input(w, "by point", p.points * p.features * 4, fill, &p);
    float *by_feature = wl_alloc(w, "by feature", p.points * p.features * 4);
    float *centres = wl_alloc(w, "centres", centre_bytes), *mine = wl_scratch(w, centre_bytes);
    int32_t *member = wl_alloc(w, "member", p.points * 4);
    double *sums = wl_scratch(w, 2 * centre_bytes);
    uint64_t *sizes_of = wl_scratch(w, p.clusters * 8);

    const struct wl_dim grid = wl_dim(wl_blocks(points, BLOCK)), block = wl_dim(BLOCK);
    WL_LAUNCH(w, "kmeans_transpose", grid, block, by_point, by_feature, points, features);
    for (uint64_t i = 0; i < p.clusters * p.features; i++) /* start from the first points */
        mine[i] = feature(&p, i / p.features % p.points, i % p.features);
    for (int64_t round = wl_param(w, "rounds"); round > 0; round--) {
        wl_write(w, centres, mine, centre_bytes);
        WL_LAUNCH(w, "kmeans_assign", grid, block, by_feature, centres, member, points, features, clusters);
        if (round > 1) move_centres(&p, wl_read(w, member, p.points * 4), mine, sums, sizes_of);
    }
    check(w, &p, mine, member);
}

WORKLOAD(kmeans, .suite = "Rodinia", .sharing = "low-sharing",
         .description = "k-means clustering: transpose, then assignment of points to centres",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
