/* dnn_conv: host script; AlexNet (AN) of the papers: its second convolution (5x5, 27 x 27 maps) and the
 * pooling after it. NUBA, 1 MB: one of its two groups (48 input channels), 104 of its 128 output channels.
 * SelRep, 1.0 MB shared: the inputs of conv2 .. conv5, group by group (two in conv2, conv4 and conv5), each
 * read by all SMs, which make an output channel each (64 of 64 .. 384 of them, so that all layers lie in a
 * billion instructions). Half of the input of a launch, 65 to 87 KB, is read again for every point of the
 * window, then the other half: at 4 MB the LLC has room for 16 copies of it, at 0.125 MB for one (an_0 ..
 * an_4: LLC of 4, 1, 0.5, 0.25 and 0.125 MB, -s gpu.llc_size). One layer of 1 MB would have no room for
 * copies; all of an input at once leaves SMs so far apart that 22 instead of a third of the lines are read by
 * more than nine within 1000 cycles. */
#include "layer.h"

enum { SEED = 1 };

static const struct wl_param params[] = {
    {"in", 24, 1, 2048, 0, "input channels"},
    {"out", 32, 1, 4096, 0, "output channels"},
    {"size", 27, 5, 512, 0, "side of the input map"},
    {"kernel", 5, 1, 11, 0, "side of the window"},
    {"stride", 1, 1, 8, 0, "outputs are this far apart"},
    {"pad", 2, 0, 8, 0, "zeros around the map"},
    {"maps", 0, 0, 1024, 0, "SelRep's layers instead, with as many output channels; 0 = the one layer"},
    {0},
};
#define AN "maps=64"
static const struct wl_size sizes[] = {
    {"tiny", "in=3,out=6,size=9,kernel=3,pad=1", NULL},
    {"nuba", "in=48,out=104", "NUBA AN, 1 MB"},
    {"selrep", AN, "SelRep AN, 1.0 MB shared"},
    {"selrep0", AN, "SelRep an_0: -s gpu.llc_size=4MiB"},
    {"selrep1", AN, "SelRep an_1: -s gpu.llc_size=1MiB"},
    {"selrep2", AN, "SelRep an_2: -s gpu.llc_size=512KiB"},
    {"selrep3", AN, "SelRep an_3: -s gpu.llc_size=256KiB"},
    {"selrep4", AN, "SelRep an_4: -s gpu.llc_size=128KiB"},
    {"ugpu", "in=48,out=104", "UGPU, as NUBA"},
    {"ugpuq", "in=48,out=104", "UGPU quick: not cut"},
    {0},
};

struct pooling {
    const float *from;
    uint64_t side_in, side;
};

static double pooled(const void *arg, uint64_t i)
{
    const struct pooling *p = arg;
    const uint64_t c = i / (p->side * p->side), y = i / p->side % p->side, x = i % p->side;
    const float *from = p->from + (c * p->side_in + 2 * y) * p->side_in + 2 * x;
    float most = from[0];
    for (uint64_t k = 0; k < 9; k++) most = fmaxf(most, from[k / 3 * p->side_in + k % 3]);
    return (double)most;
}

static struct layer layer_of(const struct wl *w)
{
    return (struct layer){.in = (int)wl_param(w, "in"),
                          .out = (int)wl_param(w, "out"),
                          .size_in = (int)wl_param(w, "size"),
                          .kernel = (int)wl_param(w, "kernel"),
                          .stride = (int)wl_param(w, "stride"),
                          .pad = (int)wl_param(w, "pad"),
                          .seed = SEED};
}

/* The layer whose grid the pooling has: as many channels, half the side. */
static struct layer pool_of(const struct layer *l)
{
    return (struct layer){
        .in = l->out, .out = l->out, .size_in = layer_size_out(l), .kernel = 3, .stride = 2};
}

enum { MAPS = 7 };

/* conv2 .. conv5 by groups: input channels, side, window */
static void maps_of(const struct wl *w, struct layer layers[MAPS])
{
    static const struct {
        int in, size, kernel;
    } shapes[MAPS] = {{48, 27, 5},  {48, 27, 5},  {256, 13, 3}, {192, 13, 3},
                      {192, 13, 3}, {192, 13, 3}, {192, 13, 3}};
    for (int k = 0; k < MAPS; k++)
        layers[k] = (struct layer){.in = shapes[k].in,
                                   .out = (int)wl_param(w, "maps"),
                                   .size_in = shapes[k].size,
                                   .kernel = shapes[k].kernel,
                                   .stride = 1,
                                   .pad = shapes[k].kernel / 2,
                                   .seed = SEED + 2 * (uint64_t)k,
                                   .chunk = shapes[k].in / 2};
}

static uint64_t footprint_bytes(const struct wl *w)
{
    struct layer maps[MAPS];
    maps_of(w, maps);
    if (maps->out) return layer_maps_bytes(maps, MAPS);
    const struct layer l = layer_of(w), pool = pool_of(&l);
    return 4 * (layer_inputs(&l) + layer_weights(&l) + (uint64_t)l.out + layer_outputs(&l) +
                layer_outputs(&pool));
}

static void run(struct wl *w)
{
    struct layer maps[MAPS];
    maps_of(w, maps);
    if (maps->out) {
        layer_run_maps(w, maps, MAPS);
        return;
    }
    const struct layer l = layer_of(w), pool = pool_of(&l);
    const int side = layer_size_out(&l), pool_side = layer_size_out(&pool);
    if (l.kernel > l.size_in || side < 3) wl_fail(w, "the output map is smaller than the pooling window");
    float *in = wl_input(w, "input", layer_inputs(&l) * 4, layer_fill_activation, NULL);
    float *weights = layer_new_weights(w, "weights", &l), *bias = layer_new_biases(w, "bias", &l);
    float *out = wl_alloc(w, "output", layer_outputs(&l) * 4),
          *small = wl_alloc(w, "pooled", layer_outputs(&pool) * 4);
    WL_LAUNCH(w, "dnn_conv", layer_grid(&l), layer_block(&l), in, weights, bias, out, l.in, l.out, l.size_in,
              side, l.kernel, l.stride, l.pad);
    WL_LAUNCH(w, "dnn_pool", layer_grid(&pool), layer_block(&pool), out, small, l.out, side, pool_side);

    layer_check_relu(w, "output", out, &l);
    wl_check_f32(w, &(struct wl_check){.name = "pooled",
                                       .output = small,
                                       .count = layer_outputs(&pool),
                                       .reference = pooled,
                                       .arg = &(struct pooling){out, (uint64_t)side, (uint64_t)pool_side}});
}

WORKLOAD(dnn_conv, .aliases = "alexnet an", .suite = "Tango", .sharing = "high-sharing",
         .description = "a layer of AlexNet: direct convolution, ReLU, pooling", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
