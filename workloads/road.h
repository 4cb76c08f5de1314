/* road: a graph like a road network in compressed rows, for host scripts.
 *
 * Vertices are the crossings of a grid, row by row, so neighbours have near numbers, as in the files of the 9th DIMACS
 * challenge. Each street between two neighbours exists with a probability of 0.61, in both directions: 2.44 edges per
 * vertex, as in USA-road (58 million edges, 24 million vertices). The streets of the middle row and of the middle column
 * all exist, so that the source in the middle is part of the connected whole. Streets are a function of (seed, vertex). */
#ifndef ATOLL_WORKLOADS_ROAD_H
#define ATOLL_WORKLOADS_ROAD_H

#include "graph.h"

#define ROAD_STREETS 0.61 /* probability of a street */

struct road {
    struct graph graph; /* graph_target() does not apply */
    uint32_t columns, rows;
};

/* The street from a vertex to the right, or down. */
static inline bool road_street(const struct road *r, uint32_t v, bool down)
{
    const uint32_t x = v % r->columns, y = v / r->columns;
    if (down ? v + r->columns >= r->graph.vertices : x + 1 == r->columns || v + 1 >= r->graph.vertices)
        return false;
    if (down ? x == r->columns / 2 : y == r->rows / 2) return true;
    return (double)(wl_u64(r->graph.seed + down, v) >> 11) * 0x1p-53 < ROAD_STREETS;
}

/* Writes the neighbours in ascending order. Returns their number. */
static inline uint32_t road_neighbours(const struct road *r, uint32_t v, uint32_t to[4])
{
    uint32_t count = 0;
    if (v >= r->columns && road_street(r, v - r->columns, true)) to[count++] = v - r->columns;
    if (v % r->columns && road_street(r, v - 1, false)) to[count++] = v - 1;
    if (road_street(r, v, false)) to[count++] = v + 1;
    if (road_street(r, v, true)) to[count++] = v + r->columns;
    return count;
}

static inline uint32_t road_source(const struct road *r) { return r->rows / 2 * r->columns + r->columns / 2; }

static inline struct road road_shape(uint64_t seed, uint32_t vertices)
{
    struct road r = {.graph = {.seed = seed, .vertices = vertices}, .columns = 1};
    while ((uint64_t)(r.columns + 1) * (r.columns + 1) <= vertices) r.columns++;
    r.rows = (vertices + r.columns - 1) / r.columns;
    return r;
}

static inline uint64_t road_edges(uint64_t seed, uint32_t vertices)
{
    const struct road r = road_shape(seed, vertices);
    uint64_t streets = 0;
    for (uint32_t v = 0; v < vertices; v++) streets += road_street(&r, v, false) + road_street(&r, v, true);
    return 2 * streets;
}

static inline struct road road_new(struct wl *w, uint64_t seed, uint32_t vertices)
{
    struct road r = road_shape(seed, vertices);
    uint32_t to[4];
    r.graph.first = wl_scratch(w, 4 * ((uint64_t)vertices + 1));
    for (uint32_t v = 0; v < vertices; v++)
        r.graph.first[v + 1] = r.graph.first[v] + road_neighbours(&r, v, to);
    r.graph.edges = r.graph.first[vertices];
    return r;
}

/* Fill of the targets; arg is the road. */
static inline void road_fill_targets(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct road *r = arg;
    const uint32_t *row = r->graph.first;
    const uint64_t begin = first / 4, end = begin + bytes / 4;
    uint32_t low = 0, high = r->graph.vertices, near[4];
    while (high - low > 1) { /* the vertex of the first edge */
        const uint32_t middle = low + (high - low) / 2;
        if (row[middle] <= begin)
            low = middle;
        else
            high = middle;
    }
    for (uint32_t v = low; v < r->graph.vertices && row[v] < end; v++) {
        const uint32_t count = road_neighbours(r, v, near);
        for (uint32_t k = 0; k < count; k++)
            if (row[v] + k >= begin && row[v] + k < end) ((uint32_t *)to)[row[v] + k - begin] = near[k];
    }
}

#endif
