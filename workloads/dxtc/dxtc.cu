/* dxtc: compression of a picture to DXT1 (CUDA SDK). A block of 64 threads compresses 4x4 pixels to two colours of 16
 * bits and an index of 2 bits per pixel. The pixels are sorted along the main axis of their colours. Each thread then
 * tries every 64th way of cutting the sorted pixels into four groups (the two colours and two between them) or three
 * (one between): it fits the two colours, rounds them, and keeps the cut with the least error.
 *
 * Products that are added are fused by hand, so that the host computes the same numbers to the bit. */
#include "device.h"

#define PIXELS  16
#define THREADS 64
#define CUTS    992 /* the first CUTS_3 of them have no second colour between */
#define CUTS_3  160

struct colour {
    float r, g, b;
};

/* The best cut of a thread: two bits of `cut` are the group of a sorted pixel. */
struct fit {
    float error;
    unsigned start, end, cut, groups;
};

/* How groups mix the two colours: weights of the first one, a byte per group, in 1 / scale. */
struct mix {
    unsigned weights;
    int scale;
};

/* The first eigenvector of the covariances, by eight steps of the power method. */
static __device__ colour main_axis(const colour *pixels, colour mean)
{
    float rr = 0.0f, rg = 0.0f, rb = 0.0f, gg = 0.0f, gb = 0.0f, bb = 0.0f;
    for (int i = 0; i < PIXELS; i++) {
        const float r = pixels[i].r - mean.r, g = pixels[i].g - mean.g, b = pixels[i].b - mean.b;
        rr = fmaf(r, r, rr), rg = fmaf(r, g, rg), rb = fmaf(r, b, rb);
        gg = fmaf(g, g, gg), gb = fmaf(g, b, gb), bb = fmaf(b, b, bb);
    }
    colour v = {1.0f, 1.0f, 1.0f};
    for (int step = 0; step < 8; step++) {
        const float x = fmaf(v.b, rb, fmaf(v.g, rg, v.r * rr)), y = fmaf(v.b, gb, fmaf(v.g, gg, v.r * rg));
        const float z = fmaf(v.b, bb, fmaf(v.g, gb, v.r * rb)), most = fmaxf(fmaxf(x, y), z);
        const float by = most > 0.0f ? 1.0f / most : 0.0f;
        v.r = x * by, v.g = y * by, v.b = z * by;
    }
    return v;
}

static __device__ float level_of(float value, float levels)
{
    return floorf(fmaf(fminf(fmaxf(value, 0.0f), 1.0f), levels, 0.5f));
}

/* Fits one channel: the two values with the least squares for the weights, rounded to levels. Returns the squared error
 * without the part that is the same for all cuts. ax: weighted sum of the pixels; aa, ab, bb: sums of products of
 * weights; factor: 1 / (aa bb - ab ab). */
static __device__ float fit_channel(float ax, float sum, float aa, float ab, float bb, float factor, float levels,
                                    unsigned *start, unsigned *end)
{
    const float bx = sum - ax, over = 1.0f / levels;
    const float level_a = level_of(fmaf(ax, bb, -(bx * ab)) * factor, levels);
    const float level_b = level_of(fmaf(bx, aa, -(ax * ab)) * factor, levels);
    const float a = level_a * over, b = level_b * over;
    const float mixed = fmaf(ab * a, b, fmaf(-a, ax, -(b * bx)));
    *start = (unsigned)level_a;
    *end = (unsigned)level_b;
    return fmaf(2.0f, mixed, fmaf(a * a, aa, b * b * bb));
}

static __device__ void try_cut(const colour *pixels, colour sum, unsigned cut, mix m, unsigned groups, fit *best)
{
    int a_sum = 0, aa = 0;
    colour ax = {0.0f, 0.0f, 0.0f};
    for (int i = 0; i < PIXELS; i++) {
        const int weight = m.weights >> (8 * (cut >> (2 * i) & 3)) & 255;
        const float by = (float)weight;
        a_sum += weight;
        aa += weight * weight;
        ax.r = fmaf(by, pixels[i].r, ax.r);
        ax.g = fmaf(by, pixels[i].g, ax.g);
        ax.b = fmaf(by, pixels[i].b, ax.b);
    }
    const int square = m.scale * m.scale, ab = m.scale * a_sum - aa, bb = PIXELS * square - 2 * m.scale * a_sum + aa;
    const int det = aa * bb - ab * ab;
    if (det == 0) return;
    const float over = 1.0f / (float)m.scale, over_square = 1.0f / (float)square;
    const float fa = (float)aa * over_square, fab = (float)ab * over_square, fb = (float)bb * over_square;
    const float factor = (float)(square * square) / (float)det;
    unsigned start[3], end[3];
    const float red = fit_channel(ax.r * over, sum.r, fa, fab, fb, factor, 31.0f, &start[0], &end[0]);
    const float green = fit_channel(ax.g * over, sum.g, fa, fab, fb, factor, 63.0f, &start[1], &end[1]);
    const float blue = fit_channel(ax.b * over, sum.b, fa, fab, fb, factor, 31.0f, &start[2], &end[2]);
    const float error = red + green + blue;
    if (!(error < best->error)) return;
    best->error = error;
    best->start = start[0] << 11 | start[1] << 5 | start[2];
    best->end = end[0] << 11 | end[1] << 5 | end[2];
    best->cut = cut;
    best->groups = groups;
}

/* Four groups: the first colour is the greater one; three: it is not. */
static __device__ void order_colours(fit *f)
{
    const bool swap = f->groups == 4 ? f->start < f->end : f->start > f->end;
    if (swap) {
        const unsigned start = f->start;
        f->start = f->end;
        f->end = start;
        f->cut ^= f->groups == 4 ? 0x55555555u : ~(f->cut >> 1) & 0x55555555u;
    }
    if (f->groups == 4 && f->start == f->end) f->cut = 0;
}

/* image: 16 words of red, green and blue bytes per block, one block of pixels after the other. */
extern "C" __global__ void dxtc(const unsigned *cuts, const unsigned *image, uint2 *result, int first)
{
    __shared__ colour given[PIXELS], pixels[PIXELS];
    __shared__ float distance[PIXELS], errors[THREADS];
    __shared__ int place[PIXELS], winner[THREADS];
    __shared__ unsigned cuts_3[CUTS_3];
    const int t = threadIdx.x, block = first + blockIdx.x;
    if (t < PIXELS) {
        const unsigned pixel = image[block * PIXELS + t];
        given[t].r = (float)(pixel & 255) * (1.0f / 255.0f);
        given[t].g = (float)(pixel >> 8 & 255) * (1.0f / 255.0f);
        given[t].b = (float)(pixel >> 16 & 255) * (1.0f / 255.0f);
    }
    __syncthreads();
    colour sum = {0.0f, 0.0f, 0.0f};
    for (int i = 0; i < PIXELS; i++) sum.r += given[i].r, sum.g += given[i].g, sum.b += given[i].b;
    if (t < PIXELS) {
        const colour mean = {sum.r * (1.0f / PIXELS), sum.g * (1.0f / PIXELS), sum.b * (1.0f / PIXELS)};
        const colour axis = main_axis(given, mean);
        distance[t] = fmaf(given[t].b, axis.b, fmaf(given[t].g, axis.g, given[t].r * axis.r));
    }
    __syncthreads();
    if (t < PIXELS) {
        int rank = 0;
        for (int i = 0; i < PIXELS; i++)
            rank += distance[i] < distance[t] || (distance[i] == distance[t] && i < t);
        place[t] = rank;
        pixels[rank] = given[t];
    }
    __syncthreads();

    const mix four = {0x01020003, 3}, three = {0x00010002, 2};
    fit best = {INFINITY, 0, 0, 0, 4};
    for (int k = t; k < CUTS; k += THREADS) {
        const unsigned cut = cuts[k];
        if (k < CUTS_3) cuts_3[k] = cut;
        try_cut(pixels, sum, cut, four, 4, &best);
    }
    for (int k = t; k < CUTS_3; k += THREADS) try_cut(pixels, sum, cuts_3[k], three, 3, &best);
    errors[t] = best.error;
    winner[t] = t;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t >= half) continue;
        const float error = errors[t + half];
        if (error < errors[t] || (error == errors[t] && winner[t + half] < winner[t])) {
            errors[t] = error;
            winner[t] = winner[t + half];
        }
    }
    __syncthreads();
    if (t != winner[0]) return;
    order_colours(&best);
    unsigned indices = 0;
    for (int i = 0; i < PIXELS; i++) indices |= (best.cut >> (2 * place[i]) & 3) << (2 * i);
    result[block] = make_uint2(best.start | best.end << 16, indices);
}
