/* nn_ispass: host script: 29 x 29 pixels, 6 maps of 13 x 13, 50 of 5 x 5, 100 neurons, 10. What several
 * blocks read is the weights (0.54 MB) and, of every image, the maps (12.8 KB): SelRep's nn_0 .. nn_4, 0.6
 * to 22.8 MB, are numbers of images.
 * Images go through all layers in batches of one per SM, so that the first full layer, which reads 0.5 MB of
 * weights for every image, comes early and often. SelRep's condition is that such reads come to the LLC, from
 * several SMs at a time: so a block has an image and goes through the weights by groups of 20 neurons (all
 * SMs are at about the same 100 KB), what only one block reads is kept in shared memory, and a block of the
 * full layers has an SM to itself (more than half of its 64 KiB of shared memory: several images of an SM
 * would read weights out of its L1). Layer after layer for all images, with inputs read from the L1, 2 to 9 %
 * of the reads reached the LLC. The six images of nn_0 are too few for 64 SMs. */
#include "workload.h"

enum { ALONE_BYTES = 36 << 10, LAYERS = 4, SIDE = 29, WINDOW = 5, SLICES = 32, SEED_W = 1, SEED_INK = 20 };

static const struct wl_param params[] = {
    {"images", 4, 1, 65535, 0, "images"},
    {"batch", 64, 1, 65535, 0, "images that go through the layers together"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "images=1", NULL},
    {"selrep0", "images=6", "SelRep nn_0, 0.6 MB shared"},
    {"selrep1", "images=176", "SelRep nn_1, 2.8 MB shared"},
    {"selrep2", "images=402", "SelRep nn_2, 5.7 MB shared"},
    {"selrep3", "images=846", "SelRep nn_3, 11.4 MB shared"},
    {"selrep4", "images=1734", "SelRep nn_4, 22.8 MB shared"},
    {0},
};

/* Layer 0 is the image. side 1: every neuron sees all inputs. Weights lie by groups of maps. */
static const struct {
    uint64_t maps, side, group;
} shape[LAYERS + 1] = {{1, SIDE, 0}, {6, 13, 1}, {50, 5, 50}, {100, 1, 20}, {10, 1, 10}};

static uint64_t neurons(uint64_t layer) { return shape[layer].maps * shape[layer].side * shape[layer].side; }
static bool is_full(uint64_t layer) { return shape[layer].side == 1; }
static uint64_t taps(uint64_t layer)
{
    return is_full(layer) ? neurons(layer - 1) : shape[layer - 1].maps * WINDOW * WINDOW;
}
/* Of the full layers to the next multiple of nn_full's 32 slices x 5 (weights beyond meet inputs of 0). */
static uint64_t padded(uint64_t layer)
{
    return is_full(layer) ? (taps(layer) + 159) / 160 * 160 : taps(layer);
}
static uint64_t weights_of(uint64_t layer) { return shape[layer].maps * (padded(layer) + 1); }
static float range_of(uint64_t layer) { return 1.5f / sqrtf((float)taps(layer)); }

/* A pixel of a digit: two strokes, arcs that differ from image to image, on paper with some grain. */
static float pixel(uint64_t at)
{
    const uint64_t image = at / (SIDE * SIDE), r = wl_u64(SEED_INK, image);
    const double x = (double)(at % SIDE), y = (double)(at / SIDE % SIDE);
    double ink = 0;
    for (int stroke = 0; stroke < 2; stroke++) {
        const double cx = 10 + (double)(r >> (8 * stroke) & 7),
                     cy = 8 + 6 * stroke + (double)(r >> (20 + 8 * stroke) & 3);
        const double from_arc = fabs(sqrt((x - cx) * (x - cx) + (y - cy) * (y - cy)) - 5);
        if (from_arc < 1.5) ink = 1;
    }
    return (float)(ink * 1.8 - 0.9) + wl_f32(SEED_INK + 1, at, -0.1f, 0.1f);
}

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t k = 0; k < bytes / 4; k++) ((float *)to)[k] = pixel(first / 4 + k);
}

struct layer {
    uint64_t number;
    const float *in; /* NULL: the images */
};

static double input_at(const struct layer *l, uint64_t at) { return (double)(l->in ? l->in[at] : pixel(at)); }

static double expected(const void *arg, uint64_t at)
{
    const struct layer *l = arg;
    const uint64_t k = l->number, image = at / neurons(k), neuron = at % neurons(k), side = shape[k].side;
    const uint64_t map = neuron / (side * side), x = neuron % side, y = neuron / side % side,
                   from = shape[k - 1].side;
    const uint64_t step = shape[k].group, first = map / step * step * padded(k) + map % step,
                   base = image * neurons(k - 1);
    double sum = (double)wl_f32(SEED_W + k, shape[k].maps * padded(k) + map, -range_of(k), range_of(k));
    for (uint64_t t = 0; t < taps(k); t++) {
        const uint64_t in_window =
            (t / (WINDOW * WINDOW) * from + 2 * y + t / WINDOW % WINDOW) * from + 2 * x + t % WINDOW;
        sum += (double)wl_f32(SEED_W + k, first + t * step, -range_of(k), range_of(k)) *
               input_at(l, base + (is_full(k) ? t : in_window));
    }
    return 1.7159 * tanh(0.66666667 * sum);
}

static uint64_t footprint_bytes(const struct wl *w)
{
    uint64_t words = 0;
    for (uint64_t k = 0; k <= LAYERS; k++)
        words += (uint64_t)wl_param(w, "images") * neurons(k) + (k ? weights_of(k) : 0);
    return 4 * words;
}

static void launch(struct wl *w, uint64_t k, const float *in, const float *weights, float *out,
                   uint64_t images)
{
    const uint64_t group = shape[k].group;
    if (is_full(k))
        WL_LAUNCH_SHARED(w, "nn_full", wl_dim(images), wl_dim(group, SLICES), ALONE_BYTES, in, weights, out,
                         (int)neurons(k - 1), (int)padded(k), (int)(neurons(k) / group));
    else if (group > 1)
        WL_LAUNCH(w, "nn_maps", wl_dim(shape[k].side, images), wl_dim(group), in, weights, out);
    else
        WL_LAUNCH(w, "nn_window", wl_dim(shape[k].maps, images), wl_dim(shape[k].side, shape[k].side), in,
                  weights, out);
}

static void run(struct wl *w)
{
    static const char *const names[LAYERS + 1] = {"images", "layer 1", "layer 2", "layer 3", "layer 4"};
    const uint64_t images = (uint64_t)wl_param(w, "images"), batch = (uint64_t)wl_param(w, "batch");
    float *maps[LAYERS + 1] = {wl_input(w, names[0], images * neurons(0) * 4, fill, NULL)};
    float *weights[LAYERS + 1] = {NULL};
    for (uint64_t k = 1; k <= LAYERS; k++) {
        weights[k] = wl_input_f32(w, "weights", weights_of(k), SEED_W + k, -range_of(k), range_of(k));
        maps[k] = wl_alloc(w, names[k], images * neurons(k) * 4);
    }
    for (uint64_t first = 0; first < images; first += batch)
        for (uint64_t k = 1; k <= LAYERS; k++)
            launch(w, k, maps[k - 1] + first * neurons(k - 1), weights[k], maps[k] + first * neurons(k),
                   images - first < batch ? images - first : batch);
    for (uint64_t k = 1; k <= LAYERS; k++) {
        const struct layer l = {k, k > 1 ? maps[k - 1] : NULL};
        wl_check_f32(w, &(struct wl_check){.name = names[k],
                                           .output = maps[k],
                                           .count = images * neurons(k),
                                           .reference = expected,
                                           .arg = &l,
                                           .cost = taps(k),
                                           .relative = 1e-4,
                                           .absolute = 2e-5});
    }
}

WORKLOAD(nn_ispass, .aliases = "nn", .suite = "ISPASS", .sharing = "-",
         .description = "digit recognition by a network of four layers, images in batches", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
