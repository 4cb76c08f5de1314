/* sssp: host script. One launch initialises the arrays over all vertices, then each round is two launches (relax,
 * commit) and a read of the flag, until no distance changes or `rounds` rounds are done.
 *
 * Footprint: 4 x (vertices + 1 + 2 x edges + 3 x vertices + 1) bytes. CARVE: 42 MB. LADM: 264,346 vertices with 24
 * edges each are 57 MB in 4131 blocks of 64 threads; its relaxation is Pannotia's (`pull`). Its quick size has fewer
 * vertices and one round.
 *
 * Structures: row starts, frontier and distance are private by blocks; edges and weights are read-only and private
 * but for the rows that blocks divide inside a page; `next` is read and written at random by all blocks. */
#include "graph.h"

enum { SEED = 1, SEED_WEIGHT = 7, BLOCK = 64, SOURCE = 0 };
static const uint32_t UNREACHED = 0xffffffffu;

static const struct wl_param params[] = {
    {"vertices", 1 << 16, 1, 1 << 26, 0, "vertices"},
    {"least", 3, 1, 64, 0, "least out-degree (the mean is about 2.7 times that)"},
    {"weight", 100, 1, 1 << 20, 0, "largest weight of an edge; weights begin with 1"},
    {"pull", 0, 0, 1, 0, "1: every vertex looks at all its edges in every round"},
    {"rounds", 0, 0, 1 << 20, 0, "rounds at most; 0: until no distance changes"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "vertices=2000,weight=10", NULL},
    {"carve", "vertices=520000", "CARVE, 42 MB"},
    {"carve_s8", "vertices=65000", "CARVE, 1/8: 5.3 MB"},
    {"carve_s32", "vertices=16250", "CARVE, 1/32: 1.3 MB"},
    {"ladm", "vertices=264346,least=9,pull=1", "LADM, 57 MB, 4131 blocks"},
    {"ladmq", "vertices=16384,least=9,pull=1,rounds=1", "LADM quick: fewer vertices, one round"},
    {0},
};

struct problem {
    struct graph graph;
    uint32_t weight;
    bool pull;
};

static uint32_t weight_of(const struct problem *p, uint64_t edge)
{
    return 1 + (uint32_t)wl_below(SEED_WEIGHT, edge, p->weight);
}

static void fill_weights(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / 4; i++) ((uint32_t *)to)[i] = weight_of(arg, first / 4 + i);
}

/* ---- references ---- */

struct entry {
    uint32_t length, vertex;
};

/* A binary heap, smallest length on top. */
struct heap {
    struct entry *at;
    uint64_t count;
};

static void push(struct heap *h, struct entry e)
{
    uint64_t i = h->count++;
    for (; i && e.length < h->at[(i - 1) / 2].length; i = (i - 1) / 2) h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = e;
}

static struct entry pop(struct heap *h)
{
    const struct entry top = h->at[0], last = h->at[--h->count];
    uint64_t i = 0;
    for (;;) {
        uint64_t child = 2 * i + 1;
        if (child >= h->count) break;
        if (child + 1 < h->count && h->at[child + 1].length < h->at[child].length) child++;
        if (last.length <= h->at[child].length) break;
        h->at[i] = h->at[child];
        i = child;
    }
    h->at[i] = last;
    return top;
}

/* Dijkstra's algorithm along the edges: the reference of a run to convergence. */
static uint32_t *expected_to_the_end(struct wl *w, const struct problem *p)
{
    const struct graph *g = &p->graph;
    uint32_t *distance = wl_scratch(w, 4 * (uint64_t)g->vertices);
    struct heap h = {wl_scratch(w, sizeof *h.at * ((uint64_t)g->edges + 1)), 0};
    for (uint32_t v = 0; v < g->vertices; v++) distance[v] = UNREACHED;
    distance[SOURCE] = 0;
    push(&h, (struct entry){0, SOURCE});
    while (h.count) {
        const struct entry e = pop(&h);
        if (e.length != distance[e.vertex]) continue;
        for (uint32_t k = g->first[e.vertex]; k < g->first[e.vertex + 1]; k++) {
            const uint32_t to = graph_target(g, k), length = e.length + weight_of(p, k);
            if (length >= distance[to]) continue;
            distance[to] = length;
            push(&h, (struct entry){length, to});
        }
    }
    return distance;
}

/* Shortest paths of at most `rounds` edges, over all edges in each round. */
static uint32_t *expected_after(struct wl *w, const struct problem *p, uint64_t rounds)
{
    const struct graph *g = &p->graph;
    const uint64_t bytes = 4 * (uint64_t)g->vertices;
    uint32_t *distance = wl_scratch(w, bytes), *before = wl_scratch(w, bytes);
    for (uint32_t v = 0; v < g->vertices; v++) distance[v] = UNREACHED;
    distance[SOURCE] = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        __builtin_memcpy(before, distance, bytes);
        for (uint32_t v = 0; v < g->vertices; v++)
            for (uint32_t k = g->first[v]; k < g->first[v + 1]; k++) {
                const uint32_t end = graph_target(g, k), from = p->pull ? end : v, to = p->pull ? v : end;
                if (before[from] == UNREACHED) continue;
                const uint32_t length = before[from] + weight_of(p, k);
                if (length < distance[to]) distance[to] = length;
            }
    }
    return distance;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t vertices = (uint64_t)wl_param(w, "vertices");
    const uint64_t edges = graph_edges(SEED, (uint32_t)vertices, (uint32_t)wl_param(w, "least"));
    return 4 * (vertices + 1 + 2 * edges + 3 * vertices + 1);
}

static void run(struct wl *w)
{
    const int vertices = (int)wl_param(w, "vertices"), source = SOURCE;
    const uint64_t rounds_max = (uint64_t)wl_param(w, "rounds");
    struct problem *p = wl_scratch(w, sizeof *p);
    p->graph = graph_new(w, SEED, (uint32_t)vertices, (uint32_t)wl_param(w, "least"));
    p->weight = (uint32_t)wl_param(w, "weight");
    p->pull = wl_param(w, "pull");
    const uint64_t count = p->graph.vertices, edge_count = p->graph.edges;
    uint32_t *first = wl_input(w, "first", 4 * (count + 1), graph_fill_first, &p->graph);
    uint32_t *edges = wl_input(w, "edges", 4 * edge_count, graph_fill_targets, &p->graph);
    uint32_t *weights = wl_input(w, "weights", 4 * edge_count, fill_weights, p);
    uint32_t *distance = wl_alloc(w, "distance", 4 * count), *next = wl_alloc(w, "next", 4 * count);
    uint32_t *frontier = wl_alloc(w, "frontier", 4 * count), *changed = wl_alloc(w, "changed", 4);
    const struct wl_dim grid = wl_dim(wl_blocks(vertices, BLOCK)), block = wl_dim(BLOCK);
    const uint32_t none = 0;
    uint64_t round = 0;
    bool ended = false;
    WL_LAUNCH(w, "sssp_init", grid, block, distance, next, frontier, source, vertices);
    wl_measure(w);
    while (!ended && !(rounds_max && round == rounds_max)) {
        wl_write(w, changed, &none, sizeof none);
        if (p->pull)
            WL_LAUNCH(w, "sssp_pull", grid, block, first, edges, weights, distance, next, vertices);
        else
            WL_LAUNCH(w, "sssp_relax", grid, block, first, edges, weights, distance, next, frontier,
                      vertices);
        WL_LAUNCH(w, "sssp_commit", grid, block, distance, next, frontier, changed, vertices);
        ended = !*(const uint32_t *)wl_read(w, changed, sizeof *changed);
        round++;
    }
    wl_check_u32(w, &(struct wl_check){.name = "distance",
                                       .output = distance,
                                       .count = count,
                                       .reference = wl_expect_u32,
                                       .arg = ended && !p->pull ? expected_to_the_end(w, p)
                                                                : expected_after(w, p, round)});
}

WORKLOAD(sssp, .suite = "Pannotia", .sharing = "-",
         .description = "shortest paths in a skewed graph, rounds of relax and commit", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
