/* squeezenet: host script; SqueezeNet (SN) of the papers: module fire7 of SqueezeNet 1.1: 384 channels of 13
 * x 13, squeezed to 48, expanded to 192 + 192. NUBA: 1 MB. SelRep, 0.7 MB
 * shared: the inputs of fire9's convolutions (13 x 13, 512 channels, squeezed to 64) and of conv10 (512
 * channels, 1000 classes), by whole maps: the blocks of conv10 come in waves, each of which reads its 346 KB
 * again; sn_0 .. sn_4 are the same on an LLC of 8, 6, 4, 2 and 1 MB (-s gpu.llc_size). */
#include "layer.h"

enum { SEED_SQUEEZE = 1, SEED_SMALL = 3, SEED_LARGE = 5 };

static const struct wl_param params[] = {
    {"in", 128, 1, 1024, 0, "input channels"},
    {"squeeze", 16, 1, 256, 0, "channels after the squeeze"},
    {"expand", 64, 1, 1024, 0, "channels of each expand"},
    {"size", 13, 3, 256, 0, "side of the maps"},
    {"classes", 0, 0, 1000, 0, "by whole maps, and a classifier of as many classes; 0 = the module alone"},
    {0},
};
#define FIRE9 "in=512,squeeze=64,expand=256,classes=1000"
#define FIRE7 "in=384,squeeze=48,expand=192"
static const struct wl_size sizes[] = {
    {"tiny", "in=10,squeeze=4,expand=9,size=7", NULL},
    {"nuba", FIRE7, "NUBA SN, 1 MB"},
    {"selrep", FIRE9, "SelRep SN, 0.7 MB shared"},
    {"selrep0", FIRE9, "SelRep sn_0: -s gpu.llc_size=8MiB"},
    {"selrep1", FIRE9, "SelRep sn_1: -s gpu.llc_size=6MiB"},
    {"selrep2", FIRE9, "SelRep sn_2: -s gpu.llc_size=4MiB"},
    {"selrep3", FIRE9, "SelRep sn_3: -s gpu.llc_size=2MiB"},
    {"selrep4", FIRE9, "SelRep sn_4: -s gpu.llc_size=1MiB"},
    {0},
};

struct fire {
    struct layer squeeze, small, large;
};

static struct fire fire_of(const struct wl *w)
{
    const int squeeze = (int)wl_param(w, "squeeze"), expand = (int)wl_param(w, "expand"),
              size = (int)wl_param(w, "size");
    struct fire f = {
        .squeeze = {.in = (int)wl_param(w, "in"), .out = squeeze, .kernel = 1, .seed = SEED_SQUEEZE},
        .small = {.in = squeeze, .out = expand, .kernel = 1, .seed = SEED_SMALL},
        .large = {.in = squeeze, .out = expand, .kernel = 3, .pad = 1, .seed = SEED_LARGE}};
    f.squeeze.size_in = f.small.size_in = f.large.size_in = size;
    f.squeeze.stride = f.small.stride = f.large.stride = 1;
    return f;
}

enum { MAPS = 4 };

static void maps_of(const struct wl *w, struct layer layers[MAPS])
{
    const struct fire f = fire_of(w);
    const struct layer classes = {.in = f.squeeze.in,
                                  .out = (int)wl_param(w, "classes"),
                                  .size_in = f.squeeze.size_in,
                                  .kernel = 1,
                                  .stride = 1};
    const struct layer all[MAPS] = {f.squeeze, f.small, f.large, classes};
    for (int k = 0; k < MAPS; k++) {
        layers[k] = all[k];
        layers[k].seed = 1 + 2 * (uint64_t)k;
        layers[k].whole = true;
    }
}

static uint64_t footprint_bytes(const struct wl *w)
{
    struct layer maps[MAPS];
    maps_of(w, maps);
    if (maps[MAPS - 1].out) return layer_maps_bytes(maps, MAPS);
    const struct fire f = fire_of(w);
    const struct layer *layers[3] = {&f.squeeze, &f.small, &f.large};
    uint64_t words = layer_inputs(&f.squeeze);
    for (int k = 0; k < 3; k++)
        words += layer_weights(layers[k]) + (uint64_t)layers[k]->out + layer_outputs(layers[k]);
    return 4 * words;
}

static void launch(struct wl *w, const struct layer *l, const float *in, const float *weights,
                   const float *bias, float *out)
{
    WL_LAUNCH(w, "squeezenet", layer_grid(l), layer_block(l), in, weights, bias, out, l->in, l->out,
              l->size_in, l->kernel);
}

static void run(struct wl *w)
{
    struct layer maps[MAPS];
    maps_of(w, maps);
    if (maps[MAPS - 1].out) {
        layer_run_maps(w, maps, MAPS);
        return;
    }
    struct fire f = fire_of(w);
    const uint64_t half = layer_outputs(&f.small);
    float *in = wl_input(w, "input", layer_inputs(&f.squeeze) * 4, layer_fill_activation, NULL);
    float *w0 = layer_new_weights(w, "squeeze weights", &f.squeeze),
          *b0 = layer_new_biases(w, "squeeze bias", &f.squeeze);
    float *w1 = layer_new_weights(w, "1x1 weights", &f.small),
          *b1 = layer_new_biases(w, "1x1 bias", &f.small);
    float *w3 = layer_new_weights(w, "3x3 weights", &f.large),
          *b3 = layer_new_biases(w, "3x3 bias", &f.large);
    float *squeezed = wl_alloc(w, "squeezed", layer_outputs(&f.squeeze) * 4),
          *out = wl_alloc(w, "output", 2 * half * 4);
    launch(w, &f.squeeze, in, w0, b0, squeezed);
    launch(w, &f.small, squeezed, w1, b1, out);
    launch(w, &f.large, squeezed, w3, b3, out + half);

    layer_check_relu(w, "squeezed", squeezed, &f.squeeze);
    f.small.from = f.large.from = squeezed;
    layer_check_relu(w, "1x1 half", out, &f.small);
    layer_check_relu(w, "3x3 half", out + half, &f.large);
}

WORKLOAD(squeezenet, .aliases = "sn", .suite = "Tango", .sharing = "high-sharing",
         .description = "a fire module of SqueezeNet: direct convolutions 1x1, 1x1 and 3x3", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
