/* bfs: host script: launches level after level until the device claims no vertex any more. */
#include "road.h"

enum { SEED = 1, BLOCK = 256 };

struct search {
    struct road road; /* its graph; the rest with road=1 only */
    bool is_road;
    uint32_t source;
};

static const struct wl_param params[] = {
    {"vertices", 1 << 17, 1, 1 << 27, 0, "vertices"},
    {"least", 3, 1, 64, 0, "least out-degree (the mean is about 2.7 times that)"},
    {"road", 0, 0, 1, 0,
     "1: a graph like a road network (2.44 edges per vertex, thousands of levels), from its middle"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "vertices=3000", NULL},
    {"road", "vertices=33200000,road=1", "CARVE bfs-road-usa, 590 MB"},
    {"road_s32", "vertices=1037500,road=1", "CARVE bfs-road-usa, footprint 1/32"},
    {0},
};

static void fill_unseen(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct search *s = arg;
    for (uint64_t i = 0; i < bytes / 4; i++) ((int32_t *)to)[i] = first / 4 + i == s->source ? 0 : -1;
}

/* A queue, vertex by vertex: not the device's algorithm. */
static int32_t *expected_levels(struct wl *w, const struct search *s)
{
    const struct graph *g = &s->road.graph;
    int32_t *level = wl_scratch(w, 4 * (uint64_t)g->vertices);
    uint32_t *queue = wl_scratch(w, 4 * (uint64_t)g->vertices), head = 0, tail = 0;
    for (uint32_t v = 0; v < g->vertices; v++) level[v] = -1;
    level[s->source] = 0;
    queue[tail++] = s->source;
    while (head < tail) {
        const uint32_t v = queue[head++];
        uint32_t near[4];
        if (s->is_road) (void)road_neighbours(&s->road, v, near);
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            const uint32_t to = s->is_road ? near[e - g->first[v]] : graph_target(g, e);
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
    const uint64_t edges = wl_param(w, "road")
                               ? road_edges(SEED, (uint32_t)vertices)
                               : graph_edges(SEED, (uint32_t)vertices, (uint32_t)wl_param(w, "least"));
    return 4 * (2 * vertices + 1 + edges + 1);
}

static void run(struct wl *w)
{
    const int vertices = (int)wl_param(w, "vertices");
    struct search s = {.is_road = wl_param(w, "road") != 0};
    if (s.is_road)
        s.road = road_new(w, SEED, (uint32_t)vertices);
    else
        s.road.graph = graph_new(w, SEED, (uint32_t)vertices, (uint32_t)wl_param(w, "least"));
    s.source = s.is_road ? road_source(&s.road) : 0;
    const struct graph *const g = &s.road.graph;
    const uint64_t count = g->vertices;
    uint32_t *first = wl_input(w, "first", 4 * (count + 1), graph_fill_first, &s.road.graph);
    uint32_t *edges = wl_input(w, "edges", 4 * (uint64_t)g->edges,
                               s.is_road ? road_fill_targets : graph_fill_targets, &s.road);
    int32_t *level = wl_input(w, "level", 4 * count, fill_unseen, &s), *claimed = wl_alloc(w, "claimed", 4);
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
                                       .arg = expected_levels(w, &s)});
}

WORKLOAD(bfs, .suite = "Rodinia", .sharing = "-",
         .description = "breadth-first search of a skewed graph or a road network, a launch per level",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
