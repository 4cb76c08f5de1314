/* bfs: host script: launches level after level until the device claims no vertex any more. */
#include "graph.h"

enum { SEED = 1, BLOCK = 256, SOURCE = 0 };

static const struct wl_param params[] = {
    {"vertices", 1 << 17, 1, 1 << 27, 0, "vertices"},
    {"least", 3, 1, 64, 0, "least out-degree (the mean is about 2.7 times that)"},
    {0},
};
static const struct wl_size sizes[] = {{"tiny", "vertices=3000", NULL}, {0}};

static void fill_unseen(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t i = 0; i < bytes / 4; i++) ((int32_t *)to)[i] = first / 4 + i == SOURCE ? 0 : -1;
}

/* A queue, vertex by vertex: not the device's algorithm. */
static int32_t *expected_levels(struct wl *w, const struct graph *g)
{
    int32_t *level = wl_scratch(w, 4 * (uint64_t)g->vertices);
    uint32_t *queue = wl_scratch(w, 4 * (uint64_t)g->vertices), head = 0, tail = 0;
    for (uint32_t v = 0; v < g->vertices; v++) level[v] = -1;
    level[SOURCE] = 0;
    queue[tail++] = SOURCE;
    while (head < tail) {
        const uint32_t v = queue[head++];
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            const uint32_t to = graph_target(g, e);
            if (level[to] >= 0) continue;
            level[to] = level[v] + 1;
            queue[tail++] = to;
        }
    }
    return level;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t vertices = (uint64_t)wl_param(w, "vertices");
    return 4 * (2 * vertices + 1 + graph_edges(SEED, (uint32_t)vertices, (uint32_t)wl_param(w, "least")) + 1);
}

static void run(struct wl *w)
{
    const int vertices = (int)wl_param(w, "vertices");
    struct graph g = graph_new(w, SEED, (uint32_t)vertices, (uint32_t)wl_param(w, "least"));
    const uint64_t count = g.vertices;
    uint32_t *first = wl_input(w, "first", 4 * (count + 1), graph_fill_first, &g);
    uint32_t *edges = wl_input(w, "edges", 4 * (uint64_t)g.edges, graph_fill_targets, &g);
    int32_t *level = wl_input(w, "level", 4 * count, fill_unseen, NULL), *claimed = wl_alloc(w, "claimed", 4);
    const int32_t none = 0;
    wl_measure(w);
    for (int depth = 0;; depth++) {
        wl_write(w, claimed, &none, sizeof none);
        WL_LAUNCH(w, "bfs_level", wl_dim(wl_blocks(vertices, BLOCK)), wl_dim(BLOCK), first, edges, level,
                  depth, claimed, vertices);
        if (!*(const int32_t *)wl_read(w, claimed, sizeof *claimed)) break;
    }
    wl_check_u32(w, &(struct wl_check){.name = "level",
                                       .output = level,
                                       .count = count,
                                       .reference = wl_expect_i32,
                                       .arg = expected_levels(w, &g)});
}

WORKLOAD(bfs, .suite = "Rodinia", .sharing = "-",
         .description = "breadth-first search of a skewed graph, a launch per level", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
