/* pagerank: host script. LADM: about 299,000 vertices and 18 MiB in blocks of 128 threads; ten launches of 2337 blocks
 * are the published 23,365. ASSUMPTION: 5.3 edges per vertex on average (16 MB). Its quick size has fewer vertices and
 * one iteration.
 *
 * Footprint: 4 x (vertices + 1 + 2 x edges + 2 x vertices) bytes. One launch before the iterations, two per
 * iteration. Row starts, edges, weights and sums belong to one block each; ranks are gathered. */
#include "graph.h"

enum { SEED = 1, BLOCK = 128 };

static const struct wl_param params[] = {
    {"vertices", 1 << 16, 1, 1 << 26, 0, "vertices"},
    {"least", 3, 1, 64, 0, "least in-degree (the mean is about 2.7 times that)"},
    {"iterations", 2, 1, 1000, 0, "iterations, two launches each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "vertices=2000", NULL},
    {"ladm", "vertices=299067,least=2,iterations=10", "LADM, 16 MB, 2337 blocks per launch"},
    {"ladmq", "vertices=49152,least=2,iterations=1", "LADM quick: fewer vertices"},
    {0},
};

/* The graph by incoming edges, and how many edges leave a vertex. */
struct problem {
    struct graph graph;
    uint32_t *out_degree;
};

static float weight_of(const struct problem *p, uint64_t edge)
{
    return 1 / (float)p->out_degree[graph_target(&p->graph, edge)];
}

static void fill_weights(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / 4; i++) ((float *)to)[i] = weight_of(arg, first / 4 + i);
}

static const float *expected(struct wl *w, const struct problem *p, int64_t iterations, float base)
{
    const struct graph *g = &p->graph;
    float *rank = wl_scratch(w, 4 * (uint64_t)g->vertices), *next = wl_scratch(w, 4 * (uint64_t)g->vertices);
    for (uint32_t v = 0; v < g->vertices; v++) rank[v] = 1 / (float)g->vertices;
    for (int64_t i = 0; i < iterations; i++) {
        for (uint32_t v = 0; v < g->vertices; v++) {
            float sum = 0;
            for (uint64_t e = g->first[v]; e < g->first[v + 1]; e++)
                sum = fmaf(weight_of(p, e), rank[graph_target(g, e)], sum);
            next[v] = fmaf(0.85f, sum, base);
        }
        float *spare = rank;
        rank = next;
        next = spare;
    }
    return rank;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t vertices = (uint64_t)wl_param(w, "vertices");
    const uint64_t edges = graph_edges(SEED, (uint32_t)vertices, (uint32_t)wl_param(w, "least"));
    return 4 * (vertices + 1 + 2 * edges + 2 * vertices);
}

static void run(struct wl *w)
{
    const int vertices = (int)wl_param(w, "vertices");
    const int64_t iterations = wl_param(w, "iterations");
    struct problem *p = wl_scratch(w, sizeof *p);
    p->graph = graph_new(w, SEED, (uint32_t)vertices, (uint32_t)wl_param(w, "least"));
    const uint64_t count = p->graph.vertices, edges = p->graph.edges;
    p->out_degree = wl_scratch(w, 4 * count);
    for (uint64_t e = 0; e < edges; e++) p->out_degree[graph_target(&p->graph, e)]++;
    const float start = 1 / (float)vertices, base = 0.15f / (float)vertices;
    uint32_t *first = wl_input(w, "first", 4 * (count + 1), graph_fill_first, &p->graph);
    uint32_t *sources = wl_input(w, "sources", 4 * edges, graph_fill_targets, &p->graph);
    float *weights = wl_input(w, "weights", 4 * edges, fill_weights, p);
    float *rank = wl_alloc(w, "rank", 4 * count), *sum = wl_alloc(w, "sum", 4 * count);
    const struct wl_dim grid = wl_dim(wl_blocks(vertices, BLOCK)), block = wl_dim(BLOCK);
    WL_LAUNCH(w, "pagerank_init", grid, block, rank, sum, start, vertices);
    wl_measure(w);
    for (int64_t i = 0; i < iterations; i++) {
        WL_LAUNCH(w, "pagerank_spread", grid, block, first, sources, weights, rank, sum, vertices);
        WL_LAUNCH(w, "pagerank_update", grid, block, rank, sum, base, vertices);
    }
    wl_wait(w);
    wl_check_f32(w, &(struct wl_check){.name = "rank",
                                       .output = rank,
                                       .count = count,
                                       .reference = wl_expect_f32,
                                       .references = wl_expect_f32_many,
                                       .arg = expected(w, p, iterations, base),
                                       .relative = 1e-5});
}

WORKLOAD(pagerank, .suite = "Pannotia", .sharing = "-",
         .description = "PageRank of a skewed graph: sparse matrix times ranks", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
