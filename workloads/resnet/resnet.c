/* resnet: host script; ResNet-50 (RN) of the papers: one bottleneck block (1x1, 3x3, 1x1, sum with its
 * input). NUBA, 4 MB: stage conv3 (28 x 28, inner width 128), 384 of its 512 channels. SelRep, 4.2 MB shared:
 * the inputs of 14 convolutions of stage conv3 (28 x 28), 1x1, 3x3, 1x1 and again, 96 of the 128 and 512
 * channels of each, read by all SMs, which make an output channel each (64 of 128 and 512). The 1x1 read
 * their 0.3 MB once, the 3x3 reads a quarter of it, 75 KB, nine times, then the next: what is live fits 16
 * times into the 4 MB of rn_0 and once into the 0.125 MB of rn_4 (LLC of 4, 1, 0.5, 0.25 and 0.125 MB, -s
 * gpu.llc_size). All 512 channels in one launch, or all 128 of the 3x3 at once, leave SMs so far apart that
 * half instead of 80 % of the lines are read by more than two within 1000 cycles; of maps of 14 x 14 an SM
 * takes four blocks, so that 64 blocks lie on 16 SMs when SMs do not begin at once. */
#include "layer.h"

enum { LAYERS = 3, BLOCK = 256, SEED_FACTOR = 50 };

static const struct wl_param params[] = {
    {"channels", 64, 1, 2048, 0, "channels of input and output"},
    {"width", 32, 1, 512, 0, "channels between"},
    {"size", 14, 3, 224, 0, "side of the maps"},
    {"maps", 0, 0, 1024, 0, "only convolutions, with as many output channels; 0 = all of the block"},
    {0},
};
#define CONV3 "channels=96,width=96,size=28,maps=64"
static const struct wl_size sizes[] = {
    {"tiny", "channels=10,width=6,size=7", NULL},
    {"nuba", "channels=384,width=128,size=28", "NUBA RN, 4 MB"},
    {"selrep", CONV3, "SelRep RN, 4.2 MB shared"},
    {"selrep0", CONV3, "SelRep rn_0: -s gpu.llc_size=4MiB"},
    {"selrep1", CONV3, "SelRep rn_1: -s gpu.llc_size=1MiB"},
    {"selrep2", CONV3, "SelRep rn_2: -s gpu.llc_size=512KiB"},
    {"selrep3", CONV3, "SelRep rn_3: -s gpu.llc_size=256KiB"},
    {"selrep4", CONV3, "SelRep rn_4: -s gpu.llc_size=128KiB"},
    {"ugpu", "channels=384,width=128,size=28", "UGPU, as NUBA"},
    {"ugpuq", "channels=384,width=128,size=28", "UGPU quick: not cut"},
    {0},
};

struct block {
    struct layer layers[LAYERS];
};

static struct block block_of(const struct wl *w)
{
    const int channels = (int)wl_param(w, "channels"), width = (int)wl_param(w, "width"),
              size = (int)wl_param(w, "size");
    struct block b = {{{.in = channels, .out = width, .kernel = 1},
                       {.in = width, .out = width, .kernel = 3, .pad = 1},
                       {.in = width, .out = channels, .kernel = 1}}};
    for (int k = 0; k < LAYERS; k++) {
        b.layers[k].size_in = size;
        b.layers[k].stride = 1;
        b.layers[k].seed = 1 + 2 * (uint64_t)k;
    }
    return b;
}

enum { MAPS = 14 };

static void maps_of(const struct wl *w, struct layer layers[MAPS])
{
    const int channels = (int)wl_param(w, "channels"), width = (int)wl_param(w, "width");
    for (int k = 0; k < MAPS; k++)
        layers[k] = (struct layer){.in = k % 3 ? width : channels,
                                   .out = (int)wl_param(w, "maps"),
                                   .size_in = (int)wl_param(w, "size"),
                                   .kernel = k % 3 == 1 ? 3 : 1,
                                   .stride = 1,
                                   .pad = k % 3 == 1,
                                   .seed = 1 + 2 * (uint64_t)k,
                                   .chunk = k % 3 == 0   ? channels
                                            : k % 3 == 1 ? width / 4
                                                         : width};
}

static double normalised(const struct layer *l, uint64_t i)
{
    const uint64_t channel = i / ((uint64_t)l->size_in * (uint64_t)l->size_in);
    return layer_sum(l, i) * (double)wl_f32(SEED_FACTOR + l->seed, channel, 0.5f, 1.5f) +
           layer_bias(l, channel);
}

static double expected(const void *arg, uint64_t i) { return fmax(0, normalised(arg, i)); }

static double expected_sum(const void *arg, uint64_t i)
{
    return fmax(0, normalised(arg, i) + (double)layer_activation(i));
}

static uint64_t footprint_bytes(const struct wl *w)
{
    struct layer maps[MAPS];
    maps_of(w, maps);
    if (maps->out) return layer_maps_bytes(maps, MAPS);
    const struct block b = block_of(w);
    uint64_t words = layer_inputs(&b.layers[0]);
    for (int k = 0; k < LAYERS; k++)
        words += layer_weights(&b.layers[k]) + 2 * (uint64_t)b.layers[k].out + layer_outputs(&b.layers[k]);
    return 4 * words;
}

static void run(struct wl *w)
{
    static const char *const names[LAYERS] = {"1x1", "3x3", "1x1 and input"};
    struct layer layers[MAPS];
    maps_of(w, layers);
    if (layers->out) {
        layer_run_maps(w, layers, MAPS);
        return;
    }
    struct block b = block_of(w);
    const int area = b.layers[0].size_in * b.layers[0].size_in;
    float *in = wl_input(w, "input", layer_inputs(&b.layers[0]) * 4, layer_fill_activation, NULL),
          *maps[LAYERS];
    const float *from = in;
    for (int k = 0; k < LAYERS; k++) {
        const struct layer *l = &b.layers[k];
        float *weights = layer_new_weights(w, "weights", l), *shift = layer_new_biases(w, "shift", l);
        float *factor = wl_input_f32(w, "factor", (uint64_t)l->out, SEED_FACTOR + l->seed, 0.5f, 1.5f);
        const int count = (int)layer_outputs(l);
        float *map = maps[k] = wl_alloc(w, names[k], layer_outputs(l) * 4);
        const struct wl_dim grid = wl_dim(wl_blocks(count, BLOCK)), block = wl_dim(BLOCK);
        WL_LAUNCH(w, "resnet_conv", layer_grid(l), layer_block(l), from, weights, map, l->in, l->out,
                  l->size_in, l->kernel);
        if (k < LAYERS - 1)
            WL_LAUNCH(w, "resnet_normalise", grid, block, map, factor, shift, area, count);
        else
            WL_LAUNCH(w, "resnet_add", grid, block, map, factor, shift, in, area, count);
        from = map;
    }
    for (int k = 0; k < LAYERS; k++) {
        b.layers[k].from = k ? maps[k - 1] : NULL;
        wl_check_f32(w, &(struct wl_check){.name = names[k],
                                           .output = maps[k],
                                           .count = layer_outputs(&b.layers[k]),
                                           .reference = k < LAYERS - 1 ? expected : expected_sum,
                                           .arg = &b.layers[k],
                                           .cost = layer_taps(&b.layers[k]),
                                           .relative = 1e-4,
                                           .absolute = 1e-4});
    }
}

WORKLOAD(resnet, .aliases = "rn", .suite = "Tango", .sharing = "high-sharing",
         .description = "a bottleneck block of ResNet-50: direct convolutions, batch norm, residual",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
