/* graph: a directed graph of skewed degrees in compressed rows, for host scripts.
 *
 * Out-degrees follow a power law (most vertices have few edges, some have hundreds), targets prefer low
 * ranks by another, and ranks are scattered over the vertex numbers, as in web and social graphs. Edge e is a
 * function of (seed, e), so only the row starts are ever stored by the host. */
#ifndef ATOLL_WORKLOADS_GRAPH_H
#define ATOLL_WORKLOADS_GRAPH_H

#include "workload.h"

enum { GRAPH_DEGREE_MAX = 512 };

struct graph {
    uint64_t seed;
    uint32_t vertices, edges;
    uint32_t *first; /* vertices + 1 row starts; from wl_scratch() */
};

/* Mean about 2.7 x least, at most GRAPH_DEGREE_MAX: least / u^(1/1.5), u uniform. */
static inline uint32_t graph_degree(uint64_t seed, uint32_t least, uint64_t v)
{
    const double u = (double)(wl_u64(seed, v) >> 11) * 0x1p-53 + 0x1p-40;
    const double root = cbrt(u), degree = (double)least / (root * root);
    return degree < GRAPH_DEGREE_MAX ? (uint32_t)degree : GRAPH_DEGREE_MAX;
}

static inline uint64_t graph_edges(uint64_t seed, uint32_t vertices, uint32_t least)
{
    uint64_t edges = 0;
    for (uint64_t v = 0; v < vertices; v++) edges += graph_degree(seed, least, v);
    return edges;
}

static inline struct graph graph_new(struct wl *w, uint64_t seed, uint32_t vertices, uint32_t least)
{
    struct graph g = {
        .seed = seed, .vertices = vertices, .first = wl_scratch(w, 4 * ((uint64_t)vertices + 1))};
    for (uint64_t v = 0; v < vertices; v++) g.first[v + 1] = g.first[v] + graph_degree(seed, least, v);
    g.edges = g.first[vertices];
    return g;
}

/* Where edge e leads: rank u^2 x vertices (the first ranks are the popular ones), scattered by a
 * multiplication that is one-to-one below 2^32 and folded into the range. */
static inline uint32_t graph_target(const struct graph *g, uint64_t e)
{
    const double u = (double)(wl_u64(g->seed + 1, e) >> 11) * 0x1p-53;
    const uint32_t rank = (uint32_t)(u * u * (double)g->vertices), scattered = rank * 2654435761u;
    return (uint32_t)(((uint64_t)scattered * g->vertices) >> 32);
}

/* Fills of the two arrays; arg is the graph. */
static inline void graph_fill_first(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    __builtin_memcpy(to, (const char *)((const struct graph *)arg)->first + first, bytes);
}

static inline void graph_fill_targets(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / 4; i++) ((uint32_t *)to)[i] = graph_target(arg, first / 4 + i);
}

#endif
