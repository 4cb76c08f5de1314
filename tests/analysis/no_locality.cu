/* Kernels with the access patterns of LADM's Table IV, "no datablock-locality": written for the tests of the
 * index analysis (tests/proof/analysis_ladm_test.c), not for speed. */
#include "device.h"

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

/* Diffusion coefficient of an image: five-point stencil on 16x16 tiles, borders clamped. */
extern "C" __global__ void srad(const float *image, float *north, float *south, float *west, float *east, float *coefficient,
                                int cols, int rows, float q0)
{
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    const int i = cols * y + x;
    const int up = y > 0 ? i - cols : i, down = y < rows - 1 ? i + cols : i;
    const int left = x > 0 ? i - 1 : i, right = x < cols - 1 ? i + 1 : i;
    const float centre = image[i];
    const float n = image[up] - centre, s = image[down] - centre, w = image[left] - centre, e = image[right] - centre;
    const float g2 = (n * n + s * s + w * w + e * e) / (centre * centre + 1.0f);
    coefficient[i] = 1.0f / (1.0f + (g2 - q0) / (q0 * (1.0f + q0)));
    north[i] = n;
    south[i] = s;
    west[i] = w;
    east[i] = e;
}

/* HotSpot: a tile with its halo goes to shared memory, a few time steps happen there, the inside is written. */
extern "C" __global__ void hs(int steps, const float *power, const float *from, float *to, int cols, int rows, int border,
                              float rate)
{
    __shared__ float temperature[16][16], heat[16][16], next[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int inner = 16 - 2 * border;
    const int x = inner * blockIdx.x - border + tx, y = inner * blockIdx.y - border + ty;
    const int i = cols * y + x;
    const bool inside = x >= 0 && x < cols && y >= 0 && y < rows;
    if (inside) {
        temperature[ty][tx] = from[i];
        heat[ty][tx] = power[i];
    }
    __syncthreads();
    const int n = max(ty - 1, 0), s = min(ty + 1, 15), w = max(tx - 1, 0), e = min(tx + 1, 15);
    for (int k = 0; k < steps; k++) {
        next[ty][tx] = temperature[ty][tx] + rate * (heat[ty][tx] + temperature[n][tx] + temperature[s][tx] +
                                                     temperature[ty][w] + temperature[ty][e] - 4.0f * temperature[ty][tx]);
        __syncthreads();
        temperature[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (inside && tx >= border && tx < 16 - border && ty >= border && ty < 16 - border) to[i] = next[ty][tx];
}

/* Pairs of vectors; a block takes every gridDim.x-th pair. */
extern "C" __global__ void scalarprod(float *out, const float *a, const float *b, int vectors, int elements)
{
    __shared__ float partial[256];
    for (int v = blockIdx.x; v < vectors; v += gridDim.x) {
        const int base = elements * v;
        float sum = 0.0f;
        for (int k = threadIdx.x; k < elements; k += blockDim.x) sum += a[base + k] * b[base + k];
        partial[threadIdx.x] = sum;
        for (int half = 128; half > 0; half >>= 1) {
            __syncthreads();
            if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        }
        __syncthreads();
        if (threadIdx.x == 0) out[v] = partial[0];
    }
}

extern "C" __global__ void blackscholes(float *call, float *put, const float *price, const float *strike, const float *years,
                                        float rate, float volatility, int n)
{
    const int threads = blockDim.x * gridDim.x;
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += threads) {
        const float s = price[i], x = strike[i], t = years[i];
        const float root = sqrtf(t);
        const float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        const float d2 = d1 - volatility * root;
        const float n1 = 0.5f + 0.5f * tanhf(0.8f * d1), n2 = 0.5f + 0.5f * tanhf(0.8f * d2);
        const float later = x * expf(-rate * t);
        call[i] = s * n1 - later * n2;
        put[i] = later * (1.0f - n2) - s * (1.0f - n1);
    }
}

/* Saturates four-fold counts to bytes, grid-stride over words. */
extern "C" __global__ void histo_final(const unsigned *counts, const unsigned *overflow, unsigned char *final, int words)
{
    const int start = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = start; i < words; i += gridDim.x * blockDim.x) {
        const unsigned sum = counts[i] + overflow[i];
        final[i] = (unsigned char)(sum > 255 ? 255 : sum);
    }
}

extern "C" __global__ void reduction6(const float *in, float *out, unsigned n)
{
    __shared__ float partial[256];
    const unsigned tid = threadIdx.x, step = 256 * 2 * gridDim.x;
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * 512 + tid; i < n; i += step) sum += in[i] + in[i + 256];
    partial[tid] = sum;
    for (unsigned half = 128; half > 0; half >>= 1) {
        __syncthreads();
        if (tid < half) partial[tid] += partial[tid + half];
    }
    if (tid == 0) out[blockIdx.x] = partial[0];
}

/* A column of cells per thread, plane after plane. */
extern "C" __global__ void hotspot3d(const float *power, const float *in, float *out, int nx, int ny, int nz, float rate)
{
    const int x = blockDim.x * blockIdx.x + threadIdx.x, y = blockDim.y * blockIdx.y + threadIdx.y;
    const int plane = nx * ny;
    int c = x + y * nx;
    const int w = x == 0 ? 0 : 1, e = x == nx - 1 ? 0 : 1, n = y == 0 ? 0 : nx, s = y == ny - 1 ? 0 : nx;
    for (int z = 0; z < nz; z++) {
        const int below = z == 0 ? 0 : plane, above = z == nz - 1 ? 0 : plane;
        out[c] = in[c] + rate * (in[c - w] + in[c + e] + in[c - n] + in[c + s] + in[c - below] + in[c + above] -
                                 6.0f * in[c] + power[c]);
        c += plane;
    }
}
