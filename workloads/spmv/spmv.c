/* spmv: host script: a square matrix with the row lengths and columns of a skewed graph. */
#include "graph.h"

enum { SEED_GRAPH = 1, SEED_VALUES = 3, SEED_X, BLOCK = 128 };

static const struct wl_param params[] = {
    {"rows", 1 << 16, 1, 1 << 26, 0, "rows and columns"},
    {"least", 6, 1, 64, 0, "least entries of a row (the mean is about 2.7 times that)"},
    {0},
};
static const struct wl_size sizes[] = {{"tiny", "rows=2000", NULL}, {0}};

static double expected(const void *arg, uint64_t row)
{
    const struct graph *g = arg;
    float sum = 0;
    for (uint64_t e = g->first[row]; e < g->first[row + 1]; e++)
        sum = fmaf(wl_f32(SEED_VALUES, e, 0, 1), wl_f32(SEED_X, graph_target(g, e), 0, 1), sum);
    return (double)sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t rows = (uint64_t)wl_param(w, "rows");
    const uint64_t entries = graph_edges(SEED_GRAPH, (uint32_t)rows, (uint32_t)wl_param(w, "least"));
    return 4 * (rows + 1 + 2 * entries + 2 * rows);
}

static void run(struct wl *w)
{
    const int rows = (int)wl_param(w, "rows");
    struct graph g = graph_new(w, SEED_GRAPH, (uint32_t)rows, (uint32_t)wl_param(w, "least"));
    const uint64_t count = g.vertices, entries = g.edges;
    uint32_t *first = wl_input(w, "first", 4 * (count + 1), graph_fill_first, &g);
    uint32_t *columns = wl_input(w, "columns", 4 * entries, graph_fill_targets, &g);
    float *values = wl_input_f32(w, "values", entries, SEED_VALUES, 0, 1);
    float *x = wl_input_f32(w, "x", count, SEED_X, 0, 1), *y = wl_alloc(w, "y", 4 * count);
    WL_LAUNCH(w, "spmv", wl_dim(wl_blocks(rows, BLOCK)), wl_dim(BLOCK), first, columns, values, x, y, rows);
    wl_check_f32(w, &(struct wl_check){.name = "y",
                                       .output = y,
                                       .count = count,
                                       .reference = expected,
                                       .arg = &g,
                                       .cost = entries / count + 1,
                                       .relative = 1e-5});
}

WORKLOAD(spmv, .suite = "micro", .sharing = "-",
         .description = "sparse matrix times vector in CSR, a thread per row", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
