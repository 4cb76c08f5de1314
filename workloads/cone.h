/* cone: reference of an iterated 5-point stencil, for host scripts. Small grids are swept as a whole. Of
 * large ones a sample is checked: what a point is after some steps depends only on the square of that radius
 * around it, which is computed alone. */
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

/* The next value of point k of an array whose rows are `pitch` apart. */
static inline float cone_next(const struct cone *c, const float *now, int64_t k, int pitch, int y, int x)
{
    const float t = now[k];
    return c->next(c, y, x, t, y > 0 ? now[k - pitch] : t, y < c->rows - 1 ? now[k + pitch] : t,
                   x > 0 ? now[k - 1] : t, x < c->cols - 1 ? now[k + 1] : t);
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
                next[k] = cone_next(c, now, k, side, y, x);
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

/* All points after all steps. */
static inline const float *cone_sweep(struct wl *w, const struct cone *c)
{
    const uint64_t count = (uint64_t)c->rows * (uint64_t)c->cols;
    float *now = wl_scratch(w, count * sizeof *now), *next = wl_scratch(w, count * sizeof *next);
    for (uint64_t i = 0; i < count; i++) now[i] = c->initial(i);
    for (int step = 0; step < c->steps; step++) {
        for (int y = 0; y < c->rows; y++)
            for (int x = 0; x < c->cols; x++) {
                const int64_t k = (int64_t)y * c->cols + x;
                next[k] = cone_next(c, now, k, c->cols, y, x);
            }
        float *spare = now;
        now = next;
        next = spare;
    }
    return now;
}

/* Checks a grid. Sweep and cone must agree: a few points of a sweep are computed the other way, too. */
static inline void cone_check(struct wl *w, const struct cone *c, const char *name, const float *output)
{
    const uint64_t count = (uint64_t)c->rows * (uint64_t)c->cols;
    struct wl_check check = {.name = name, .output = output, .count = count, .relative = 1e-5};
    if (count > WL_CHECK_BUDGET / ((uint64_t)c->steps + 1)) {
        check.reference = cone_value, check.arg = c, check.cost = cone_cost(c);
    } else {
        const float *swept = cone_sweep(w, c);
        for (uint64_t k = 0; k < 8; k++) {
            const uint64_t at = k * (count - 1) / 7;
            if (cone_value(c, at) != (double)swept[at]) wl_fail(w, "the references of %s differ", name);
        }
        check.reference = wl_expect_f32, check.references = wl_expect_f32_many, check.arg = swept;
    }
    wl_check_f32(w, &check);
}

#endif
