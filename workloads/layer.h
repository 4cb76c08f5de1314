/* layer: a convolution layer for host scripts: its weights, its launch shape and its reference (dnn.h has the
 * device's side). The input is an array that the device made and that was checked, or generated activations.
 */
#ifndef ATOLL_WORKLOADS_LAYER_H
#define ATOLL_WORKLOADS_LAYER_H

#include "workload.h"

struct layer {
    int in, out, size_in, kernel, stride, pad; /* channels, side of the square input map, window */
    uint64_t seed;                             /* of the weights; seed + 1: biases */
    const float *from;                         /* or NULL: layer_activation() */
    int chunk; /* of input channels: a block makes a whole map (dnn_map.h), weights in its order; 0 = dnn.h */
};

enum { LAYER_SEED_ACTIVATION = 999, LAYER_THREADS = 1024, LAYER_SMS = 64, LAYER_AHEAD = 8 };

/* What a layer gives after its ReLU: half of it is zero. */
static inline float layer_activation(uint64_t i) { return fmaxf(0, wl_f32(LAYER_SEED_ACTIVATION, i, -1, 1)); }

static inline void layer_fill_activation(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t k = 0; k < bytes / 4; k++) ((float *)to)[k] = layer_activation(first / 4 + k);
}

static inline int layer_size_out(const struct layer *l)
{
    return (l->size_in + 2 * l->pad - l->kernel) / l->stride + 1;
}
static inline uint64_t layer_inputs(const struct layer *l)
{
    return (uint64_t)l->in * (uint64_t)l->size_in * (uint64_t)l->size_in;
}
static inline uint64_t layer_outputs(const struct layer *l)
{
    const uint64_t side = (uint64_t)layer_size_out(l);
    return (uint64_t)l->out * side * side;
}
static inline uint64_t layer_taps(const struct layer *l)
{
    return (uint64_t)l->in * (uint64_t)l->kernel * (uint64_t)l->kernel;
}
static inline uint64_t layer_weights(const struct layer *l) { return (uint64_t)l->out * layer_taps(l); }

/* Weights as a trained layer's: the smaller, the more inputs. */
static inline float layer_range(const struct layer *l) { return 2 / sqrtf((float)layer_taps(l)); }
static inline float *layer_new_weights(struct wl *w, const char *name, const struct layer *l)
{
    return wl_input_f32(w, name, layer_weights(l), l->seed, -layer_range(l), layer_range(l));
}
static inline float *layer_new_biases(struct wl *w, const char *name, const struct layer *l)
{
    return wl_input_f32(w, name, (uint64_t)l->out, l->seed + 1, -0.1f, 0.1f);
}
static inline double layer_bias(const struct layer *l, uint64_t channel)
{
    return (double)wl_f32(l->seed + 1, channel, -0.1f, 0.1f);
}

/* By whole maps: all points of a channel, or as many rows as a block has threads for, or as give every SM of
 * the papers a block where channels are few. Otherwise a piece of a row as wide as a warp, or 8 when the map
 * is small, in four or eight channels. */
static inline struct wl_dim layer_block(const struct layer *l)
{
    const int side = layer_size_out(l);
    if (l->chunk) {
        const int parts = l->out < LAYER_SMS ? LAYER_SMS / l->out : 1, rows = (side + parts - 1) / parts;
        return wl_dim(side, rows * side <= LAYER_THREADS ? rows : LAYER_THREADS / side);
    }
    return side > 16 ? wl_dim(32, 1, 4) : wl_dim(8, 1, 8);
}
static inline struct wl_dim layer_grid(const struct layer *l)
{
    const struct wl_dim block = layer_block(l);
    const int side = layer_size_out(l);
    return wl_dim(wl_blocks(l->out, block.z), wl_blocks(side, block.y) * wl_blocks(side, block.x));
}

/* The sum of output i, without its bias. */
static inline double layer_sum(const struct layer *l, uint64_t i)
{
    const int side = layer_size_out(l), x = (int)(i % (uint64_t)side),
              y = (int)(i / (uint64_t)side % (uint64_t)side);
    const uint64_t first = i / ((uint64_t)side * (uint64_t)side) * layer_taps(l);
    const int window = l->kernel * l->kernel, chunk = l->chunk;
    double sum = 0;
    for (int c = 0; c < l->in; c++) {
        for (int k = 0; k < window; k++) {
            const int at_y = y * l->stride - l->pad + k / l->kernel,
                      at_x = x * l->stride - l->pad + k % l->kernel;
            if (at_y < 0 || at_y >= l->size_in || at_x < 0 || at_x >= l->size_in) continue;
            const uint64_t from =
                ((uint64_t)c * (uint64_t)l->size_in + (uint64_t)at_y) * (uint64_t)l->size_in + (uint64_t)at_x;
            const uint64_t tap =
                first + (uint64_t)(chunk ? (c / chunk * window + k) * chunk + c % chunk : c * window + k);
            sum += (double)wl_f32(l->seed, tap, -layer_range(l), layer_range(l)) *
                   (double)(l->from ? l->from[from] : layer_activation(from));
        }
    }
    return sum;
}

/* A wl_reference_fn on a struct layer: with bias and ReLU. */
static inline double layer_relu(const void *arg, uint64_t i)
{
    const struct layer *l = arg;
    const uint64_t side = (uint64_t)layer_size_out(l);
    return fmax(0, layer_sum(l, i) + layer_bias(l, i / (side * side)));
}

static inline void layer_check_relu(struct wl *w, const char *name, const float *output,
                                    const struct layer *l)
{
    wl_check_f32(w, &(struct wl_check){.name = name,
                                       .output = output,
                                       .count = layer_outputs(l),
                                       .reference = layer_relu,
                                       .arg = l,
                                       .cost = layer_taps(l),
                                       .relative = 1e-4,
                                       .absolute = 1e-5});
}

/* A layer by whole maps. */
static inline void layer_launch_map(struct wl *w, const struct layer *l, const float *in,
                                    const float *weights, const float *bias, float *out)
{
    if (!l->chunk || l->chunk % LAYER_AHEAD || l->in % l->chunk)
        wl_fail(w, "%d input channels in chunks of %d: whole chunks of a multiple of %d are needed", l->in,
                l->chunk, LAYER_AHEAD);
    WL_LAUNCH(w, "dnn_map", layer_grid(l), layer_block(l), in, weights, bias, out, l->in, l->out, l->size_in,
              layer_size_out(l), l->kernel, l->stride, l->pad, l->chunk);
}

/* Layers of a network one after the other, each on activations of its own: of their output channels there are
 * only as many as the layer says, so that none can be the input of the next. */
static inline void layer_run_maps(struct wl *w, const struct layer *layers, int count)
{
    for (int k = 0; k < count; k++) {
        const struct layer *l = &layers[k];
        float *in = wl_input(w, "input", layer_inputs(l) * 4, layer_fill_activation, NULL);
        float *weights = layer_new_weights(w, "weights", l), *bias = layer_new_biases(w, "bias", l);
        float *out = wl_alloc(w, "output", layer_outputs(l) * 4);
        layer_launch_map(w, l, in, weights, bias, out);
        layer_check_relu(w, "output", out, l);
    }
}
static inline uint64_t layer_maps_bytes(const struct layer *layers, int count)
{
    uint64_t words = 0;
    for (int k = 0; k < count; k++)
        words += layer_inputs(&layers[k]) + layer_weights(&layers[k]) + (uint64_t)layers[k].out +
                 layer_outputs(&layers[k]);
    return 4 * words;
}

#endif
