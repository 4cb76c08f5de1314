/* pathfinder: host script. UGPU: 792 MB and five launches: a wall of 100 rows in steps of 20, Rodinia's shape.
 *
 * Footprint: 4 x cols x (rows + 1) bytes: the wall and two rows of sums. ceil((rows - 1) / height) launches. The wall is
 * read once; blocks share the halo of 2 x height columns. */
#include "workload.h"

enum { SEED = 1, BLOCK = 256, CHEAPEST = 10 };

static const struct wl_param params[] = {
    {"rows", 41, 2, 4096, 0, "rows of the wall"},
    {"cols", 100000, 1, 1 << 28, 0, "columns of the wall"},
    {"height", 20, 1, 100, 0, "rows of a launch (the pyramid's height)"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "rows=12,cols=700,height=4", NULL},
    {"ugpu", "rows=100,cols=1960396", "UGPU, 792 MB, 5 launches"},
    {"ugpuq", "rows=100,cols=160000", "UGPU quick"},
    {0},
};

/* Rows below the first, row-major. */
static void fill_wall(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const uint64_t cols = *(const uint64_t *)arg;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((int32_t *)to)[i] = (int32_t)wl_below(SEED, cols + first / 4 + i, CHEAPEST);
}
static void fill_first(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((int32_t *)to)[i] = (int32_t)wl_below(SEED, first / 4 + i, CHEAPEST);
}

static const int32_t *expected(struct wl *w, uint64_t rows, uint64_t cols)
{
    int32_t *now = wl_scratch(w, 4 * cols), *next = wl_scratch(w, 4 * cols);
    fill_first(NULL, now, 0, 4 * cols);
    for (uint64_t y = 1; y < rows; y++) {
        for (uint64_t x = 0; x < cols; x++) {
            int32_t least = now[x];
            if (x > 0 && now[x - 1] < least) least = now[x - 1];
            if (x < cols - 1 && now[x + 1] < least) least = now[x + 1];
            next[x] = least + (int32_t)wl_below(SEED, y * cols + x, CHEAPEST);
        }
        int32_t *spare = now;
        now = next;
        next = spare;
    }
    return now;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 4 * (uint64_t)wl_param(w, "cols") * ((uint64_t)wl_param(w, "rows") + 1);
}

static void run(struct wl *w)
{
    const int rows = (int)wl_param(w, "rows"), cols = (int)wl_param(w, "cols"),
              height = (int)wl_param(w, "height");
    uint64_t count = (uint64_t)cols;
    int32_t *wall = wl_input(w, "wall", 4 * count * ((uint64_t)rows - 1), fill_wall, &count);
    int32_t *from = wl_input(w, "sums 0", 4 * count, fill_first, NULL),
            *to = wl_alloc(w, "sums 1", 4 * count);
    for (int row = 1; row < rows; row += height) {
        const int steps = rows - row < height ? rows - row : height;
        WL_LAUNCH(w, "pathfinder", wl_dim(wl_blocks(cols, BLOCK - 2 * steps)), wl_dim(BLOCK),
                  wall + ((uint64_t)row - 1) * count, from, to, cols, steps);
        int32_t *spare = from;
        from = to;
        to = spare;
    }
    wl_wait(w);
    wl_check_u32(w, &(struct wl_check){.name = "sums",
                                       .output = from,
                                       .count = count,
                                       .reference = wl_expect_i32,
                                       .arg = expected(w, (uint64_t)rows, count)});
}

WORKLOAD(pathfinder, .suite = "Rodinia", .sharing = "-",
         .description = "cheapest way down a wall, rows in shared memory", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
