/* cone: reference of an iterated 5-point stencil at one point, for host scripts: what a point is after some
 * steps depends only on the square of that radius around it, which is computed alone. So a sample of a large
 * grid costs no whole sweep. */
#ifndef ATOLL_WORKLOADS_CONE_H
#define ATOLL_WORKLOADS_CONE_H

#include "workload.h"

struct cone {
    int rows, cols, steps;
    float (*initial)(uint64_t at);
    /* The next value; a neighbour beyond the grid is given as the point itself. */
    float (*next)(const struct cone *c, int y, int x, float t, float north, float south, float west,
                  float east);
    const void *arg; /* of next() */
    float *squares;  /* two squares of (2 steps + 1)^2, from wl_scratch() */
};

static inline struct cone cone_new(struct wl *w, int rows, int cols, int steps)
{
    const uint64_t side = 2 * (uint64_t)steps + 1;
    return (struct cone){.rows = rows,
                         .cols = cols,
                         .steps = steps,
                         .squares = wl_scratch(w, 2 * side * side * sizeof(float))};
}

/* A wl_reference_fn on a struct cone. */
static inline double cone_value(const void *arg, uint64_t at)
{
    const struct cone *c = arg;
    const int side = 2 * c->steps + 1, y0 = (int)(at / (uint64_t)c->cols) - c->steps,
              x0 = (int)(at % (uint64_t)c->cols) - c->steps;
    float *now = c->squares, *next = now + side * side;
    for (int i = 0; i < side * side; i++) {
        const int y = y0 + i / side, x = x0 + i % side;
        if (y >= 0 && y < c->rows && x >= 0 && x < c->cols)
            now[i] = c->initial((uint64_t)y * (uint64_t)c->cols + (uint64_t)x);
    }
    for (int ring = 1; ring <= c->steps; ring++) {
        for (int i = ring; i < side - ring; i++) {
            for (int j = ring; j < side - ring; j++) {
                const int y = y0 + i, x = x0 + j, k = i * side + j;
                if (y < 0 || y >= c->rows || x < 0 || x >= c->cols) continue;
                const float t = now[k];
                next[k] = c->next(c, y, x, t, y > 0 ? now[k - side] : t, y < c->rows - 1 ? now[k + side] : t,
                                  x > 0 ? now[k - 1] : t, x < c->cols - 1 ? now[k + 1] : t);
            }
        }
        float *spare = now;
        now = next;
        next = spare;
    }
    return (double)now[c->steps * side + c->steps];
}

/* What one value costs, for struct wl_check. */
static inline uint64_t cone_cost(const struct cone *c)
{
    const uint64_t side = 2 * (uint64_t)c->steps + 1;
    return side * side * ((uint64_t)c->steps + 1);
}

#endif
