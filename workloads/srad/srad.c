/* srad: host script. Before each iteration the host reads the first rows of the image and takes from their mean and
 * variance how rough a part is that counts as even (q0), as Rodinia's does.
 *
 * Footprint: 24 x rows x cols bytes: the image, four differences and the coefficient. Two launches per iteration.
 * LADM: 2048 x 2048 is 96 MiB in 16384 blocks; its quick size cuts the rows. UGPU: 1048 MB.
 * Every array belongs to one block but for the pixels next to a tile. */
#include "workload.h"

enum { SEED = 1, TILE = 16, REGION = 128 };
static const float LAMBDA = 0.5f;

static const struct wl_param params[] = {
    {"rows", 512, TILE, 32768, TILE, "rows of the image"},
    {"cols", 512, TILE, 32768, TILE, "columns of the image"},
    {"iterations", 2, 1, 10000, 0, "iterations, two launches each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "rows=48,cols=80", NULL},
    {"ladm", "rows=2048,cols=2048", "LADM, 96 MiB, 16384 blocks"},
    {"ladmq", "rows=320,cols=2048,iterations=1", "LADM quick: fewer rows"},
    {"ugpu", "rows=6608,cols=6608", "UGPU, 1048 MB"},
    {"ugpuq", "rows=1024,cols=2048,iterations=4", "UGPU quick"},
    {0},
};

/* Pixel i of the image: what a detector sees, exp() of a shade with noise. */
static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t i = 0; i < bytes / 4; i++) ((float *)to)[i] = expf(wl_f32(SEED, first / 4 + i, 0, 1));
}

/* Variance over squared mean. */
static float roughness(const float *pixels, uint64_t count)
{
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < count; i++) {
        sum += (double)pixels[i];
        squares += (double)pixels[i] * (double)pixels[i];
    }
    const double mean = sum / (double)count;
    return (float)((squares / (double)count - mean * mean) / (mean * mean));
}

struct picture {
    int64_t rows, cols;
    float *image, *coefficient, *next;
};

/* Differences to the north, south, west and east. */
static void differences(const struct picture *p, int64_t y, int64_t x, float d[4])
{
    const float *at = p->image + y * p->cols + x;
    d[0] = y > 0 ? at[-p->cols] - *at : 0;
    d[1] = y < p->rows - 1 ? at[p->cols] - *at : 0;
    d[2] = x > 0 ? at[-1] - *at : 0;
    d[3] = x < p->cols - 1 ? at[1] - *at : 0;
}

static float coefficient(const struct picture *p, int64_t y, int64_t x, float q0)
{
    float d[4];
    differences(p, y, x, d);
    const float here = p->image[y * p->cols + x], l = (d[0] + d[1] + d[2] + d[3]) / here;
    const float g2 = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3]) / (here * here);
    const float part = 1 + 0.25f * l, q2 = (0.5f * g2 - l * l / 16) / (part * part);
    return fminf(fmaxf(1 / (1 + (q2 - q0) / (q0 * (1 + q0))), 0), 1);
}

static void iterate(struct picture *p, float q0)
{
    for (int64_t y = 0; y < p->rows; y++)
        for (int64_t x = 0; x < p->cols; x++) p->coefficient[y * p->cols + x] = coefficient(p, y, x, q0);
    for (int64_t y = 0; y < p->rows; y++) {
        for (int64_t x = 0; x < p->cols; x++) {
            const int64_t at = y * p->cols + x;
            const float here = p->coefficient[at], s = p->coefficient[y < p->rows - 1 ? at + p->cols : at];
            float d[4];
            differences(p, y, x, d);
            p->next[at] = p->image[at] + 0.25f * LAMBDA *
                                             (here * d[0] + s * d[1] + here * d[2] +
                                              p->coefficient[x < p->cols - 1 ? at + 1 : at] * d[3]);
        }
    }
    float *spare = p->image;
    p->image = p->next;
    p->next = spare;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 24 * (uint64_t)wl_param(w, "rows") * (uint64_t)wl_param(w, "cols");
}

static void run(struct wl *w)
{
    const int rows = (int)wl_param(w, "rows"), cols = (int)wl_param(w, "cols");
    const int64_t iterations = wl_param(w, "iterations");
    const uint64_t bytes = 4 * (uint64_t)rows * (uint64_t)cols;
    const uint64_t region = (uint64_t)(rows < REGION ? rows : REGION) * (uint64_t)cols;
    float *image = wl_input(w, "image", bytes, fill, NULL),
          *coefficients = wl_alloc(w, "coefficients", bytes);
    float *north = wl_alloc(w, "north", bytes), *south = wl_alloc(w, "south", bytes);
    float *west = wl_alloc(w, "west", bytes), *east = wl_alloc(w, "east", bytes);
    const struct wl_dim grid = wl_dim(cols / TILE, rows / TILE), block = wl_dim(TILE, TILE);
    for (int64_t i = 0; i < iterations; i++) {
        const float q0 = roughness(wl_read(w, image, region * 4), region);
        WL_LAUNCH(w, "srad_coefficients", grid, block, image, north, south, west, east, coefficients, cols,
                  rows, q0);
        WL_LAUNCH(w, "srad_update", grid, block, image, north, south, west, east, coefficients, cols, rows,
                  LAMBDA);
    }
    wl_wait(w);
    struct picture p = {rows, cols, wl_scratch(w, bytes), wl_scratch(w, bytes), wl_scratch(w, bytes)};
    fill(NULL, p.image, 0, bytes);
    for (int64_t i = 0; i < iterations; i++) iterate(&p, roughness(p.image, region));
    wl_check_f32(w, &(struct wl_check){.name = "image",
                                       .output = image,
                                       .count = bytes / 4,
                                       .reference = wl_expect_f32,
                                       .references = wl_expect_f32_many,
                                       .arg = p.image,
                                       .relative = 1e-4});
}

WORKLOAD(srad, .suite = "Rodinia", .sharing = "-",
         .description = "anisotropic diffusion of an image: coefficients, then the update", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
