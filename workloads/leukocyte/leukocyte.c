/* leukocyte: host script: a frame with discs on it, scored and dilated; then the windows of cells (fixed
 * places: where cells were in the frame before) are smoothed. NUBA, 2 MB, half of it read-only: a frame of
 * 640 x 168 pixels, 10 cells. */
#include "image.h"

enum {
    SEED = 1,
    CIRCLES_MOST = 7,
    SAMPLES_MOST = 150,
    WINDOW_H = 41,
    WINDOW_W = 81,
    TRACK_BLOCK = 256,
    BLOCK = 128
};
enum { WINDOW = WINDOW_H * WINDOW_W, RADIUS_LEAST = 8, RADIUS_STEP = 2 };
static const float VX = 0.05f, VY = -0.03f, SMALL = 2e-3f;

static const struct wl_param params[] = {
    {"width", 192, 4, 4096, 0, "pixels of a row"},
    {"height", 96, 4, 4096, 0, "rows"},
    {"circles", 7, 1, CIRCLES_MOST, 0, "radii"},
    {"samples", 40, 4, SAMPLES_MOST, 0, "points of a circle"},
    {"cells", 4, 1, 1000, 0, "cells that are tracked, one block each"},
    {"rounds", 10, 1, 500, 0, "smoothing steps at most"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "width=28,height=24,circles=2,samples=12,cells=1,rounds=2", NULL},
    {"nuba", "width=640,height=168,samples=150,cells=10,rounds=100", "NUBA, 2 MB"},
    {0},
};

struct problem {
    struct image frame;
    int circles, samples, margin, rounds;
    float sines[SAMPLES_MOST], cosines[SAMPLES_MOST];
    int32_t dx[CIRCLES_MOST * SAMPLES_MOST], dy[CIRCLES_MOST * SAMPLES_MOST];
    const float *score; /* the device's, checked */
    float *window, *next;
};

static float gradient(const struct problem *p, int64_t at, bool along_x)
{
    const int64_t x = at % p->frame.width, y = at / p->frame.width, w = p->frame.width - 1,
                  h = p->frame.height - 1;
    if (along_x) return image_at(&p->frame, x < w ? x + 1 : x, y) - image_at(&p->frame, x > 0 ? x - 1 : x, y);
    return image_at(&p->frame, x, y < h ? y + 1 : y) - image_at(&p->frame, x, y > 0 ? y - 1 : y);
}

static void fill_x(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes / 4; k++) ((float *)to)[k] = gradient(arg, (int64_t)(first / 4 + k), true);
}

static void fill_y(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes / 4; k++)
        ((float *)to)[k] = gradient(arg, (int64_t)(first / 4 + k), false);
}

/* Window of a cell: a part of the frame, which is continued beyond its edges. */
static float window_at(const struct problem *p, uint64_t at)
{
    const int64_t cell = (int64_t)(at / WINDOW), i = (int64_t)(at % WINDOW);
    return image_at(&p->frame, (cell * 53 + i % WINDOW_W) % p->frame.width,
                    (cell * 29 + i / WINDOW_W) % p->frame.height);
}

static void fill_windows(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes / 4; k++) ((float *)to)[k] = window_at(arg, first / 4 + k);
}

static double expected_score(const void *arg, uint64_t at)
{
    const struct problem *p = arg;
    const int64_t width = p->frame.width, x = (int64_t)at % width, y = (int64_t)at / width;
    if (x < p->margin || x >= width - p->margin || y < p->margin || y >= p->frame.height - p->margin)
        return 0;
    double best = 0;
    for (int c = 0; c < p->circles; c++) {
        double sum = 0, squares = 0;
        for (int s = 0; s < p->samples; s++) {
            const int64_t from = (y + p->dy[c * SAMPLES_MOST + s]) * width + x + p->dx[c * SAMPLES_MOST + s];
            const double outward = (double)gradient(p, from, true) * (double)p->cosines[s] +
                                   (double)gradient(p, from, false) * (double)p->sines[s];
            sum += outward;
            squares += outward * outward;
        }
        const double mean = sum / p->samples, variance = squares / p->samples - mean * mean;
        best = fmax(best, mean * mean / (variance + 1e-4));
    }
    return best;
}

static double expected_dilated(const void *arg, uint64_t at)
{
    const struct problem *p = arg;
    const int64_t width = p->frame.width, x = (int64_t)at % width, y = (int64_t)at / width;
    float most = 0;
    for (int64_t i = y - 6; i < y + 6; i++)
        for (int64_t j = x - 6; j < x + 6; j++)
            if (i >= 0 && i < p->frame.height && j >= 0 && j < width)
                most = fmaxf(most, p->score[i * width + j]);
    return (double)most;
}

static float flow_at(const float *now, int y, int x)
{
    const float me = now[y * WINDOW_W + x];
    float flow = 0;
    for (int k = 0; k < 9; k++) {
        const int dy = k / 3 - 1, dx = k % 3 - 1, ny = y + dy, nx = x + dx;
        const int at_y = ny < 0           ? 0
                         : ny >= WINDOW_H ? WINDOW_H - 1
                                          : ny,
                  at_x = nx < 0           ? 0
                         : nx >= WINDOW_W ? WINDOW_W - 1
                                          : nx;
        const float d = now[at_y * WINDOW_W + at_x] - me, z = (float)dx * VX + (float)dy * VY + d;
        flow += (0.5f + 0.5f * z / sqrtf(z * z + 0.01f)) * d;
    }
    return flow;
}

/* All of a cell's window; the check looks at the words one after the other, so each cell is done once. */
static void smooth(const struct problem *p, uint64_t cell)
{
    for (uint64_t i = 0; i < WINDOW; i++) p->window[i] = window_at(p, cell * WINDOW + i);
    for (int round = 0; round < p->rounds; round++) {
        double change = 0;
        for (int i = 0; i < WINDOW; i++) {
            const float me = p->window[i], picture = window_at(p, cell * WINDOW + (uint64_t)i);
            p->next[i] =
                me + 0.1f * flow_at(p->window, i / WINDOW_W, i % WINDOW_W) - 0.2f * picture * (me - picture);
            change += fabs((double)p->next[i] - (double)me);
        }
        for (int i = 0; i < WINDOW; i++) p->window[i] = p->next[i];
        if (change / WINDOW < (double)SMALL) break;
    }
}

/* When to stop may differ by a round, in which a point moves by some SMALL. */
static void check_smoothed(struct wl *w, const struct problem *p, const float *smoothed, uint64_t cells)
{
    for (uint64_t cell = 0; cell < cells; cell++) {
        smooth(p, cell);
        wl_check_f32(w, &(struct wl_check){.name = "smoothed",
                                           .output = smoothed + cell * WINDOW,
                                           .count = WINDOW,
                                           .reference = wl_expect_f32,
                                           .arg = p->window,
                                           .absolute = 5e-3});
    }
}

static void make_circles(struct problem *p)
{
    for (int s = 0; s < p->samples; s++) {
        const double turn = 6.283185307179586 * s / p->samples;
        p->sines[s] = (float)sin(turn);
        p->cosines[s] = (float)cos(turn);
        for (int c = 0; c < p->circles; c++) {
            const double radius = RADIUS_LEAST + RADIUS_STEP * c;
            p->dx[c * SAMPLES_MOST + s] = (int32_t)lround(radius * cos(turn));
            p->dy[c * SAMPLES_MOST + s] = (int32_t)lround(radius * sin(turn));
        }
    }
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 16 * (uint64_t)wl_param(w, "width") * (uint64_t)wl_param(w, "height") +
           8 * (uint64_t)wl_param(w, "cells") * WINDOW;
}

static void run(struct wl *w)
{
    const int width = (int)wl_param(w, "width"), height = (int)wl_param(w, "height");
    struct problem *p = wl_scratch(w, sizeof *p);
    p->frame = (struct image){SEED, width, height};
    p->circles = (int)wl_param(w, "circles"), p->samples = (int)wl_param(w, "samples");
    p->rounds = (int)wl_param(w, "rounds"), p->margin = RADIUS_LEAST + RADIUS_STEP * (p->circles - 1);
    p->window = wl_scratch(w, WINDOW * 4), p->next = wl_scratch(w, WINDOW * 4);
    make_circles(p);
    const uint64_t pixels = (uint64_t)width * (uint64_t)height, cells = (uint64_t)wl_param(w, "cells");
    float *grad_x = wl_input(w, "gradient x", pixels * 4, fill_x, p),
          *grad_y = wl_input(w, "gradient y", pixels * 4, fill_y, p);
    float *score = wl_alloc(w, "score", pixels * 4), *dilated = wl_alloc(w, "dilated", pixels * 4);
    float *windows = wl_input(w, "windows", cells * WINDOW * 4, fill_windows, p);
    float *smoothed = wl_alloc(w, "smoothed", cells * WINDOW * 4);
    wl_write(w, wl_variable(w, "sines", sizeof p->sines), p->sines, sizeof p->sines);
    wl_write(w, wl_variable(w, "cosines", sizeof p->cosines), p->cosines, sizeof p->cosines);
    wl_write(w, wl_variable(w, "offsets_x", sizeof p->dx), p->dx, sizeof p->dx);
    wl_write(w, wl_variable(w, "offsets_y", sizeof p->dy), p->dy, sizeof p->dy);
    const struct wl_dim grid = wl_dim(wl_blocks(width, BLOCK), height), block = wl_dim(BLOCK);
    WL_LAUNCH(w, "leukocyte_gicov", grid, block, grad_x, grad_y, score, width, height, p->margin, p->circles,
              p->samples);
    WL_LAUNCH(w, "leukocyte_dilate", grid, block, score, dilated, width, height);
    WL_LAUNCH(w, "leukocyte_track", wl_dim(cells), wl_dim(TRACK_BLOCK), windows, smoothed, VX, VY, SMALL,
              p->rounds);

    p->score = score;
    struct wl_check check = {.count = pixels, .arg = p, .relative = 2e-3, .absolute = 1e-4};
    check.name = "score", check.output = score, check.reference = expected_score;
    check.cost = 20 * (uint64_t)(p->circles * p->samples);
    wl_check_f32(w, &check);
    check.name = "dilated", check.output = dilated, check.reference = expected_dilated, check.cost = 144;
    wl_check_f32(w, &check);
    check_smoothed(w, p, smoothed, cells);
}

WORKLOAD(leukocyte, .suite = "Rodinia", .sharing = "high-sharing",
         .description = "finding and tracking cells in a frame: GICOV, dilation, smoothing", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
