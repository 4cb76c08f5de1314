/* squeezenet: host script; SqueezeNet (SN) of the papers: module fire7 of SqueezeNet 1.1: 384 channels of 13
 * x 13, squeezed to 48, expanded to 192 + 192. NUBA: 1 MB. SelRep, 0.7 MB shared: module fire5 of
 * SqueezeNet 1.0 (27 x 27, squeezed to 32, expanded to 128 + 128), 208 of its 256 input channels, by whole
 * maps (dnn_map.h): the input of the squeeze, 0.61 MB, is read once, what it makes, 93 KB, once by the 1x1
 * and nine times by the 3x3, by all SMs in two waves of blocks; sn_0 .. sn_4 are the same on an LLC of 8, 6,
 * 4, 2 and 1 MB (-s gpu.llc_size). Maps of 13 x 13 (fire6 on in version 1.1) would be squeezed to 32 to 43
 * KB, which live in the L1. */
#include "layer.h"

enum { SEED_SQUEEZE = 1, SEED_SMALL = 3, SEED_LARGE = 5 };

static const struct wl_param params[] = {
    {"in", 128, 1, 1024, 0, "input channels"},
    {"squeeze", 16, 1, 256, 0, "channels after the squeeze"},
    {"expand", 64, 1, 1024, 0, "channels of each expand"},
    {"size", 13, 3, 256, 0, "side of the maps"},
    {"images", 1, 1, 1024, 0, "times that the module runs: images one after the other in the same buffers"},
    {"maps", 0, 0, 1, 0, "1 = a block makes a whole map, as SelRep's settings need; 0 = a piece of a row"},
    {0},
};
#define FIRE5 "in=208,squeeze=32,expand=128,size=27,maps=1"
#define FIRE7 "in=384,squeeze=48,expand=192"
static const struct wl_size sizes[] = {
    {"tiny", "in=10,squeeze=4,expand=9,size=7", NULL},
    {"nuba", FIRE7, "NUBA SN, 1 MB"},
    {"selrep", FIRE5, "SelRep SN, 0.7 MB shared"},
    {"selrep0", FIRE5, "SelRep sn_0: -s gpu.llc_size=8MiB"},
    {"selrep1", FIRE5, "SelRep sn_1: -s gpu.llc_size=6MiB"},
    {"selrep2", FIRE5, "SelRep sn_2: -s gpu.llc_size=4MiB"},
    {"selrep3", FIRE5, "SelRep sn_3: -s gpu.llc_size=2MiB"},
    {"selrep4", FIRE5, "SelRep sn_4: -s gpu.llc_size=1MiB"},
    {"ugpu", FIRE7, "UGPU, as NUBA"},
    {"ugpuq", FIRE7, "UGPU quick: not cut"},
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
    if (wl_param(w, "maps")) {
        f.squeeze.chunk = f.squeeze.in;
        f.small.chunk = f.large.chunk = squeeze;
    }
    return f;
}

static uint64_t footprint_bytes(const struct wl *w)
{
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
    if (l->chunk) {
        layer_launch_map(w, l, in, weights, bias, out);
        return;
    }
    WL_LAUNCH(w, "squeezenet", layer_grid(l), layer_block(l), in, weights, bias, out, l->in, l->out,
              l->size_in, l->kernel);
}

static void run(struct wl *w)
{
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
    for (int64_t image = 0; image < (int64_t)wl_param(w, "images"); image++) {
        launch(w, &f.squeeze, in, w0, b0, squeezed);
        launch(w, &f.small, squeezed, w1, b1, out);
        launch(w, &f.large, squeezed, w3, b3, out + half);
    }

    layer_check_relu(w, "squeezed", squeezed, &f.squeeze);
    f.small.from = f.large.from = squeezed;
    layer_check_relu(w, "1x1 half", out, &f.small);
    layer_check_relu(w, "3x3 half", out + half, &f.large);
}

WORKLOAD(squeezenet, .aliases = "sn", .suite = "Tango", .sharing = "high-sharing",
         .description = "a fire module of SqueezeNet: direct convolutions 1x1, 1x1 and 3x3", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
