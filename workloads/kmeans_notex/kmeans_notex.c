/* kmeans_notex: host script: assignment on the device, new centres on the host, for a number of rounds. LADM: 494020
 * points of 32 features are 60 MiB, in 44 x 44 blocks of 256 threads; five clusters as Rodinia's. Its quick size has
 * fewer points.
 *
 * Footprint: 4 x (points x features + points) bytes; centres are in constant memory. One launch per round. A thread has
 * its own row of features. */
#include "clusters.h"

enum { BLOCK = 256, CENTRES_MAX = 2048 };

static const struct wl_param params[] = {
    {"points", 30000, 1, 1 << 24, 0, "points"},
    {"features", 32, 1, 64, 0, "features of a point"},
    {"clusters", 5, 1, 32, 0, "clusters"},
    {"rounds", 1, 1, 100, 0, "assignments, each followed by new centres"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "points=700,features=9,rounds=2", NULL},
    {"ladm", "points=494020", "LADM, 60 MiB, 1936 blocks"},
    {"ladmq", "points=16384", "LADM quick: fewer points"},
    {0},
};

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t points = (uint64_t)wl_param(w, "points");
    return 4 * (points * (uint64_t)wl_param(w, "features") + points);
}

static void run(struct wl *w)
{
    const int points = (int)wl_param(w, "points"), features = (int)wl_param(w, "features");
    const int clusters = (int)wl_param(w, "clusters");
    struct clusters p = {(uint64_t)points, (uint64_t)features, (uint64_t)clusters};
    const uint64_t centre_bytes = p.clusters * p.features * 4;
    float *by_point = wl_input(w, "features", p.points * p.features * 4, clusters_fill, &p);
    int32_t *member = wl_alloc(w, "member", p.points * 4);
    float *mine = clusters_start(w, &p), *centres = wl_variable(w, "centres", CENTRES_MAX * 4);
    double *sums = wl_scratch(w, 2 * centre_bytes);
    uint64_t *sizes_of = wl_scratch(w, p.clusters * 8);
    uint32_t side = 1;
    while (side * side < wl_blocks(points, BLOCK)) side++;
    for (int64_t round = wl_param(w, "rounds"); round > 0; round--) {
        wl_write(w, centres, mine, centre_bytes);
        WL_LAUNCH(w, "kmeans_notex", wl_dim(side, side), wl_dim(BLOCK), by_point, member, points, clusters,
                  features);
        if (round > 1) clusters_move_centres(&p, wl_read(w, member, p.points * 4), mine, sums, sizes_of);
    }
    clusters_check(w, &p, mine, member);
}

WORKLOAD(kmeans_notex, .suite = "Rodinia", .sharing = "-",
         .description = "k-means assignment from a row of features per point", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
