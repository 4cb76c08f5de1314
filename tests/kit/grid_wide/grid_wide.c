/* grid_wide: host script of the test of cooperative launches and of device code in several files. There are
 * more blocks than a plain launch keeps resident, so it ends only when the launch is cooperative. */
#include "workload.h"

enum { ROUNDS = 2 };

static const struct wl_param params[] = {{"blocks", 400, 1, 2560, 0, "blocks of the grid"}, {0}};
static const struct wl_size sizes[] = {{"tiny", "", NULL}, {0}};

static double sum_of_round(const void *arg, uint64_t i)
{
    const uint64_t n = *(const uint64_t *)arg, round = i / n;
    return (double)(n * (n - 1) / 2 + n * round);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 4 * (ROUNDS + 1 + ROUNDS * (uint64_t)wl_param(w, "blocks"));
}

static void run(struct wl *w)
{
    uint64_t *n = wl_scratch(w, sizeof *n);
    *n = (uint64_t)wl_param(w, "blocks");
    uint32_t *sums = wl_alloc(w, "sums", 4 * ROUNDS), *arrived = wl_alloc(w, "arrived", 4);
    uint32_t *out = wl_alloc(w, "out", 4 * ROUNDS * *n);
    WL_LAUNCH_COOPERATIVE(w, "grid_wide", wl_dim(*n), wl_dim(96), 0, sums, arrived, out, (int)ROUNDS);
    wl_check_u32(
        w, &(struct wl_check){
               .name = "out", .output = out, .count = ROUNDS * *n, .reference = sum_of_round, .arg = n});
}

WORKLOAD(grid_wide, .suite = "test", .sharing = "-", .description = "cooperative launch", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
