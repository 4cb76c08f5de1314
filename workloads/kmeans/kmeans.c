/* kmeans: host script: assignment on the device, new centres on the host, for a number of rounds. Points lie
 * around true centres. NUBA: 136 MB = 494020 points x 34 features, twice, and the membership; five clusters.
 */
#include "clusters.h"

enum { BLOCK = 256 };

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

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t points = (uint64_t)wl_param(w, "points"), features = (uint64_t)wl_param(w, "features");
    return 4 * (2 * points * features + (uint64_t)wl_param(w, "clusters") * features + points);
}

static void run(struct wl *w)
{
    const int points = (int)wl_param(w, "points"), features = (int)wl_param(w, "features");
    const int clusters = (int)wl_param(w, "clusters");
    struct clusters p = {(uint64_t)points, (uint64_t)features, (uint64_t)clusters};
    const uint64_t centre_bytes = p.clusters * p.features * 4;
    float *by_point = wl_input(w, "by point", p.points * p.features * 4, clusters_fill, &p);
    float *by_feature = wl_alloc(w, "by feature", p.points * p.features * 4);
    float *centres = wl_alloc(w, "centres", centre_bytes), *mine = clusters_start(w, &p);
    int32_t *member = wl_alloc(w, "member", p.points * 4);
    double *sums = wl_scratch(w, 2 * centre_bytes);
    uint64_t *sizes_of = wl_scratch(w, p.clusters * 8);

    const struct wl_dim grid = wl_dim(wl_blocks(points, BLOCK)), block = wl_dim(BLOCK);
    WL_LAUNCH(w, "kmeans_transpose", grid, block, by_point, by_feature, points, features);
    for (int64_t round = wl_param(w, "rounds"); round > 0; round--) {
        wl_write(w, centres, mine, centre_bytes);
        WL_LAUNCH(w, "kmeans_assign", grid, block, by_feature, centres, member, points, features, clusters);
        if (round > 1) clusters_move_centres(&p, wl_read(w, member, p.points * 4), mine, sums, sizes_of);
    }
    clusters_check(w, &p, mine, member);
}

WORKLOAD(kmeans, .suite = "Rodinia", .sharing = "low-sharing",
         .description = "k-means clustering: transpose, then assignment of points to centres",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
