/* nn_ispass: host script: 29 x 29 pixels, 6 maps of 13 x 13, 50 of 5 x 5, 100 neurons, 10. What several
 * blocks read is the weights (0.54 MB) and, of every image, the maps (12.8 KB): SelRep's nn_0 .. nn_4, 0.6
 * to 22.8 MB, are numbers of images. Images come
 * first in the grid, so that the blocks of one image lie on several SMs however blocks are dealt out.
 * The weights of the full layers are stored by inputs, [input][neuron], and a block has all neurons of an
 * image: so every block reads the 0.5 MB of layer 3 from end to end through the LLC, as SelRep's condition is
 * (with a row per neuron a line of weights served 32 steps out of the L1, and 3 to 5 % of the reads reached
 * the LLC). */
#include "workload.h"

enum { LAYERS = 4, SIDE = 29, WINDOW = 5, SEED_W = 1, SEED_INK = 20 };

static const struct wl_param params[] = {{"images", 4, 1, 65535, 0, "images"}, {0}};
static const struct wl_size sizes[] = {
    {"tiny", "images=1", NULL},
    {"selrep0", "images=6", "SelRep nn_0, 0.6 MB shared"},
    {"selrep1", "images=176", "SelRep nn_1, 2.8 MB shared"},
    {"selrep2", "images=402", "SelRep nn_2, 5.7 MB shared"},
    {"selrep3", "images=846", "SelRep nn_3, 11.4 MB shared"},
    {"selrep4", "images=1734", "SelRep nn_4, 22.8 MB shared"},
    {0},
};

/* Layer 0 is the image. side 1: every neuron sees all inputs. */
static const struct {
    uint64_t maps, side;
} shape[LAYERS + 1] = {{1, SIDE}, {6, 13}, {50, 5}, {100, 1}, {10, 1}};

static uint64_t neurons(uint64_t layer) { return shape[layer].maps * shape[layer].side * shape[layer].side; }
static bool is_full(uint64_t layer) { return shape[layer].side == 1; }
static uint64_t taps(uint64_t layer)
{
    return is_full(layer) ? neurons(layer - 1) : shape[layer - 1].maps * WINDOW * WINDOW;
}
static uint64_t weights_of(uint64_t layer) { return shape[layer].maps * (taps(layer) + 1); }
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
    const uint64_t first = is_full(k) ? map : map * (taps(k) + 1), step = is_full(k) ? neurons(k) : 1,
                   base = image * neurons(k - 1);
    double sum = (double)wl_f32(SEED_W + k, first, -range_of(k), range_of(k));
    for (uint64_t t = 0; t < taps(k); t++) {
        const uint64_t in_window =
            (t / (WINDOW * WINDOW) * from + 2 * y + t / WINDOW % WINDOW) * from + 2 * x + t % WINDOW;
        sum += (double)wl_f32(SEED_W + k, first + (1 + t) * step, -range_of(k), range_of(k)) *
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

static void run(struct wl *w)
{
    static const char *const names[LAYERS + 1] = {"images", "layer 1", "layer 2", "layer 3", "layer 4"};
    const uint64_t images = (uint64_t)wl_param(w, "images");
    float *maps[LAYERS + 1] = {wl_input(w, names[0], images * neurons(0) * 4, fill, NULL)};
    for (uint64_t k = 1; k <= LAYERS; k++) {
        float *weights = wl_input_f32(w, "weights", weights_of(k), SEED_W + k, -range_of(k), range_of(k));
        maps[k] = wl_alloc(w, names[k], images * neurons(k) * 4);
        if (is_full(k)) {
            WL_LAUNCH(w, "nn_full", wl_dim(images), wl_dim(neurons(k)), maps[k - 1], weights, maps[k],
                      (int)neurons(k - 1));
        } else {
            WL_LAUNCH(w, "nn_window", wl_dim(images, shape[k].maps), wl_dim(shape[k].side, shape[k].side),
                      maps[k - 1], weights, maps[k], (int)shape[k - 1].maps, (int)shape[k - 1].side);
        }
    }
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
         .description = "digit recognition by a network of four layers, a block per map and image",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
