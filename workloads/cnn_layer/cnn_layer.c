/* cnn_layer: host script. A convolution layer of a network in training, a batch of images per iteration.
 *
 * Footprint in bytes, taps = in kernel^2, side = (size + 2 pad - kernel) / stride + 1:
 *   4 images in size^2 + 4 images out side^2 + 4 out taps + 4 out + 8 taps
 *
 * The three layers of the CARVE paper, which gives their footprints but not their shapes (ASSUMPTION):
 *   alexnet    conv2 of the one-tower AlexNet, 128 images: 64 > 192 channels, 27 x 27, 5 x 5 (96.8 MB; 96)
 *   googlenet  second convolution, 64 > 192 channels, 56 x 56, 3 x 3; 384 images have the footprint (1234 MB; 1200)
 *   overfeat   third layer of the accurate model, 128 images: 256 > 512 channels, 15 x 15, 3 x 3 (93.2 MB = 88.9 MiB; 88)
 * The scaled ones have fewer channels (GoogLeNet also smaller maps), the same images and as many tiles of channels.
 *
 * Blocks lie along the pixels first, as in cuDNN: GPUs with a contiguous part of the grid each make some of the
 * channels of all images, so the input is read by all GPUs. order=1 has the channels first: then each GPU reads
 * images of its own, and only weights and taps are shared. */
#include "workload.h"

enum { SEED_INPUT = 1, SEED_WEIGHTS = 2, BLOCK = 256, PIXELS = 64 };

static const struct wl_param params[] = {
    {"images", 8, 1, 4096, 0, "images in the batch"},
    {"in", 16, 1, 2048, 0, "input channels"},
    {"out", 48, 1, 4096, 0, "output channels"},
    {"size", 27, 1, 512, 0, "side of the input map"},
    {"kernel", 5, 1, 11, 0, "side of the window"},
    {"stride", 1, 1, 8, 0, "distance of the outputs in the input map"},
    {"pad", 2, 0, 8, 0, "zeros around the map"},
    {"tile", 16, 8, 128, 8, "output channels of a block: 8, 16, 32, 64 or 128"},
    {"order", 0, 0, 1, 0, "blocks in order of pixels (0) or of channels (1)"},
    {"iterations", 1, 1, 1000, 0, "times the batch goes through the layer"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "images=2,in=3,out=10,size=9,kernel=3,pad=1,tile=8", NULL},
    {"alexnet", "images=128,in=64,out=192,tile=64", "CARVE AlexNet-ConvNet2, 96 MB"},
    {"googlenet", "images=384,in=64,out=192,size=56,kernel=3,pad=1,tile=64",
     "CARVE GoogLeNet-cudnn-Lev2, 1200 MB"},
    {"overfeat", "images=128,in=256,out=512,size=15,kernel=3,pad=1,tile=64",
     "CARVE OverFeat-cudnn-Lev3, 88 MB"},
    {"alexnet_s8", "images=128,in=8,out=24,tile=8", "AlexNet at 1/8, 12 MB"},
    {"googlenet_s32", "images=384,in=8,out=24,size=28,kernel=3,pad=1,tile=8", "GoogLeNet at 1/32, 39 MB"},
    {"overfeat_s8", "images=128,in=32,out=64,size=15,kernel=3,pad=1,tile=8", "OverFeat at 1/8, 11 MB"},
    {0},
};

struct layer {
    int images, in, out, size_in, size, kernel, stride, pad;
    uint64_t taps, inputs, outputs, weights;
};

static struct layer layer_of(const struct wl *w)
{
    struct layer l = {.images = (int)wl_param(w, "images"),
                      .in = (int)wl_param(w, "in"),
                      .out = (int)wl_param(w, "out"),
                      .size_in = (int)wl_param(w, "size"),
                      .kernel = (int)wl_param(w, "kernel"),
                      .stride = (int)wl_param(w, "stride"),
                      .pad = (int)wl_param(w, "pad")};
    const int span = l.size_in + 2 * l.pad - l.kernel;
    l.size = span < 0 ? 0 : span / l.stride + 1;
    l.taps = (uint64_t)l.in * (uint64_t)l.kernel * (uint64_t)l.kernel;
    l.inputs = (uint64_t)l.images * (uint64_t)l.in * (uint64_t)l.size_in * (uint64_t)l.size_in;
    l.outputs = (uint64_t)l.images * (uint64_t)l.out * (uint64_t)l.size * (uint64_t)l.size;
    l.weights = (uint64_t)l.out * l.taps;
    return l;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct layer l = layer_of(w);
    return 4 * (l.inputs + l.outputs + l.weights + (uint64_t)l.out) + 8 * l.taps;
}

/* As in the device code. */
static float number(uint32_t seed, uint32_t i)
{
    uint32_t h = i * 2654435761u + seed * 0x9e3779b9u;
    h = (h ^ (h >> 15)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    h ^= h >> 16;
    return (float)(h >> 8) * 0x1p-23f - 1.0f;
}

static float range_of(const struct layer *l) { return 2 / sqrtf((float)l->taps); }

/* Directly, input channel by input channel. */
static double expected(const void *arg, uint64_t i)
{
    const struct layer *l = arg;
    const uint64_t size = (uint64_t)l->size;
    const int x = (int)(i % size), y = (int)(i / size % size),
              channel = (int)(i / (size * size) % (uint64_t)l->out),
              image = (int)(i / (size * size) / (uint64_t)l->out);
    double sum = (double)number(SEED_WEIGHTS + 1, (uint32_t)channel) * 0.125;
    for (int c = 0; c < l->in; c++) {
        for (int k = 0; k < l->kernel * l->kernel; k++) {
            const int at_y = y * l->stride - l->pad + k / l->kernel,
                      at_x = x * l->stride - l->pad + k % l->kernel;
            if (at_y < 0 || at_y >= l->size_in || at_x < 0 || at_x >= l->size_in) continue;
            const int64_t from = (((int64_t)image * l->in + c) * l->size_in + at_y) * l->size_in + at_x;
            const int64_t weight = ((int64_t)channel * l->in + c) * l->kernel * l->kernel + k;
            sum += (double)fmaxf(number(SEED_INPUT, (uint32_t)from), 0) *
                   (double)(number(SEED_WEIGHTS, (uint32_t)weight) * range_of(l));
        }
    }
    return fmax(sum, 0);
}

static void run(struct wl *w)
{
    const struct layer l = layer_of(w);
    const int tile = (int)wl_param(w, "tile"), iterations = (int)wl_param(w, "iterations"),
              taps_count = (int)l.taps;
    const bool channels_first = wl_param(w, "order");
    const char *kernel = tile == 8     ? "cnn_layer_8"
                         : tile == 16  ? "cnn_layer_16"
                         : tile == 32  ? "cnn_layer_32"
                         : tile == 64  ? "cnn_layer_64"
                         : tile == 128 ? "cnn_layer_128"
                                       : NULL;
    if (!kernel) wl_fail(w, "tile=%d: 8, 16, 32, 64 or 128 channels are possible", tile);
    if (!l.size) wl_fail(w, "the window is larger than the map");
    if (l.inputs > INT32_MAX || l.outputs > INT32_MAX || l.weights > INT32_MAX)
        wl_fail(w, "the layer is too large for indices of 31 bits");
    /* the output first, so that only-read arrays share pages with each other and not with it */
    float *output = wl_alloc(w, "output", 4 * l.outputs), *input = wl_alloc(w, "input", 4 * l.inputs);
    float *weights = wl_alloc(w, "weights", 4 * l.weights), *bias = wl_alloc(w, "bias", 4 * (uint64_t)l.out);
    void *taps = wl_alloc(w, "taps", 8 * l.taps);
    WL_LAUNCH(w, "cnn_init_input", wl_dim(wl_blocks((int64_t)l.inputs, BLOCK)), wl_dim(BLOCK), input,
              (uint32_t)SEED_INPUT, (uint32_t)l.inputs);
    WL_LAUNCH(w, "cnn_init_weights", wl_dim(wl_blocks((int64_t)l.weights, BLOCK)), wl_dim(BLOCK), weights,
              bias, (uint32_t)SEED_WEIGHTS, range_of(&l), (uint32_t)l.weights, (uint32_t)l.out);
    WL_LAUNCH(w, "cnn_init_taps", wl_dim(wl_blocks(taps_count, BLOCK)), wl_dim(BLOCK), taps, taps_count,
              l.kernel, l.size_in);
    wl_measure(w);
    const uint32_t tiles = wl_blocks(l.out, tile),
                   pieces = wl_blocks((int64_t)l.images * l.size * l.size, PIXELS);
    for (int k = 0; k < iterations; k++)
        WL_LAUNCH(w, kernel, channels_first ? wl_dim(tiles, pieces) : wl_dim(pieces, tiles),
                  wl_dim(tile == 8 ? 128 : 256), input, weights, bias, taps, output, l.images, l.in, l.out,
                  l.size_in, l.size, taps_count, l.stride, l.pad, (int)!channels_first);
    wl_check_f32(w, &(struct wl_check){.name = "output",
                                       .output = output,
                                       .count = l.outputs,
                                       .reference = expected,
                                       .arg = &l,
                                       .cost = 4 * l.taps,
                                       .relative = 1e-4,
                                       .absolute = 2e-5});
}

WORKLOAD(cnn_layer, .suite = "cuDNN", .sharing = "-",
         .description = "a convolution layer as implicit matrix product on a batch of images",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
