/* bfs_relax: host script. A launch per level and a read of the length of the next list, until it is empty or `levels`
 * levels are done. LADM: 2048 blocks of 256 threads and 220 MB. ASSUMPTION: the paper names no graph; 1 Mi vertices
 * with 45 edges each have that size. Its quick size has fewer vertices.
 *
 * Footprint: 4 x (vertices + 1 + edges + 3 x vertices + 1) bytes. One launch per level. Edges are read by the thread
 * of their vertex; distances, row starts and lists are read and written at random. */
#include "graph.h"

enum { SEED = 1, BLOCK = 256 };
static const uint32_t UNREACHED = 0xffffffffu;

static const struct wl_param params[] = {
    {"vertices", 1 << 16, 1, 1 << 26, 0, "vertices"},
    {"least", 3, 1, 64, 0, "least out-degree (the mean is about 2.7 times that)"},
    {"blocks", 240, 1, 65535, 0, "blocks of the grid-stride loop"},
    {"sources", 1, 1, 1 << 26, 0, "vertices to start from, at most all"},
    {"levels", 0, 0, 1 << 20, 0, "levels at most; 0: until all that can be reached is"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "vertices=3000,blocks=3", NULL},
    {"ladm", "vertices=1048576,least=18,blocks=2048", "LADM, 220 MB, 2048 blocks"},
    {"ladmq", "vertices=131072,least=18,blocks=64,sources=16384,levels=1",
     "LADM quick: fewer vertices, one level, a vertex for each thread"},
    {0},
};

/* Vertices to start from lie at even distances. */
static uint32_t source(const struct graph *g, uint64_t sources, uint64_t i)
{
    return (uint32_t)(i * g->vertices / sources);
}

static const uint32_t *expected(struct wl *w, const struct graph *g, uint64_t sources, uint64_t levels)
{
    uint32_t *distance = wl_scratch(w, 4 * (uint64_t)g->vertices),
             *list = wl_scratch(w, 4 * (uint64_t)g->vertices);
    uint64_t begin = 0, end = 0;
    for (uint64_t v = 0; v < g->vertices; v++) distance[v] = UNREACHED;
    for (uint64_t i = 0; i < sources; i++) distance[list[end++] = source(g, sources, i)] = 0;
    for (; begin < end && distance[list[begin]] < levels; begin++) {
        const uint32_t v = list[begin];
        for (uint64_t e = g->first[v]; e < g->first[v + 1]; e++) {
            const uint32_t to = graph_target(g, e);
            if (distance[to] != UNREACHED) continue;
            distance[to] = distance[v] + 1;
            list[end++] = to;
        }
    }
    return distance;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t vertices = (uint64_t)wl_param(w, "vertices");
    return 4 * (vertices + 1 + graph_edges(SEED, (uint32_t)vertices, (uint32_t)wl_param(w, "least")) +
                3 * vertices + 1);
}

static void run(struct wl *w)
{
    const uint64_t levels = (uint64_t)wl_param(w, "levels");
    struct graph *g = wl_scratch(w, sizeof *g);
    *g = graph_new(w, SEED, (uint32_t)wl_param(w, "vertices"), (uint32_t)wl_param(w, "least"));
    const uint64_t count = g->vertices, sources = (uint64_t)wl_param(w, "sources");
    if (sources > count) wl_fail(w, "sources: there are only %llu vertices", (unsigned long long)count);
    uint32_t *first = wl_input(w, "first", 4 * (count + 1), graph_fill_first, g);
    uint32_t *edges = wl_input(w, "edges", 4 * (uint64_t)g->edges, graph_fill_targets, g);
    uint32_t *distance = wl_alloc(w, "distance", 4 * count), *list = wl_alloc(w, "list 0", 4 * count);
    uint32_t *next = wl_alloc(w, "list 1", 4 * count), *next_count = wl_alloc(w, "count", 4);
    uint32_t *start = wl_scratch(w, 4 * count), items = (uint32_t)sources;
    const uint32_t none = 0;
    for (uint64_t v = 0; v < count; v++) start[v] = UNREACHED;
    for (uint64_t i = 0; i < sources; i++) start[source(g, sources, i)] = 0;
    wl_write(w, distance, start, 4 * count);
    for (uint64_t i = 0; i < sources; i++) start[i] = source(g, sources, i);
    wl_write(w, list, start, 4 * sources);
    uint64_t level = 0;
    while (items && !(levels && level == levels)) {
        wl_write(w, next_count, &none, sizeof none);
        WL_LAUNCH(w, "bfs_relax", wl_dim(wl_param(w, "blocks")), wl_dim(BLOCK), list, first, edges, distance,
                  next, next_count, (int)items);
        items = *(const uint32_t *)wl_read(w, next_count, sizeof *next_count);
        uint32_t *spare = list;
        list = next;
        next = spare;
        level++;
    }
    wl_check_u32(w, &(struct wl_check){.name = "distance",
                                       .output = distance,
                                       .count = count,
                                       .reference = wl_expect_u32,
                                       .arg = expected(w, g, sources, levels ? levels : UINT64_MAX)});
}

WORKLOAD(bfs_relax, .suite = "Lonestar", .sharing = "-",
         .description = "breadth-first search of a skewed graph by work lists", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
