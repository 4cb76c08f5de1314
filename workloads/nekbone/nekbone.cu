/* nekbone: conjugate gradients with a spectral-element operator (the structure of Nekbone): 13 launches per
 * iteration over the same arrays. The operator has one block per element of n^3 points: tensor contractions
 * with a small derivative matrix in shared memory, six geometric factors per point streamed. Points on faces
 * exist once per element; a gather-scatter kernel sums their copies through index lists. */
#include "device.h"

#define SIDE 18   /* most points along an edge of an element; row length of the derivative matrix */
#define DOT  1024 /* points of one block of a dot product */

enum { RHO, BETA, PAP, ALPHA, RTR }; /* scalars; also the sum that nekbone_dot_end() completes */

extern "C" __global__ void nekbone_start(float *x, float *p, float *w, float *z, float *r, const float *mask,
                                         float *scalars, int points)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points) return;
    x[i] = p[i] = w[i] = z[i] = 0.0f;
    r[i] = mask[i] * ((float)(((unsigned)i * 2654435761u) >> 16) / 65536.0f - 0.5f);
    if (i == 0) scalars[RHO] = scalars[BETA] = scalars[PAP] = scalars[ALPHA] = scalars[RTR] = 0.0f;
}

/* Every copy of a shared point becomes the sum of all its copies. */
extern "C" __global__ void nekbone_gather_scatter(const int *first, const int *members, float *values,
                                                  int groups)
{
    const int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups) return;
    const int begin = first[g], end = first[g + 1];
    float sum = 0.0f;
    for (int k = begin; k < end; k++) sum += values[members[k]];
    for (int k = begin; k < end; k++) values[members[k]] = sum;
}

/* The preconditioner: identity. */
extern "C" __global__ void nekbone_copy(const float *r, float *z, int points)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) z[i] = r[i];
}

extern "C" __global__ void nekbone_dot(const float *a, const float *weight, const float *b, float *partial,
                                       int points)
{
    __shared__ float sums[256];
    const int t = threadIdx.x, base = blockIdx.x * DOT;
    float sum = 0.0f;
    for (int i = base + t; i < base + DOT && i < points; i += 256) sum += a[i] * weight[i] * b[i];
    sums[t] = sum;
    __syncthreads();
    for (int width = 128; width > 0; width /= 2) {
        if (t < width) sums[t] += sums[t + width];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = sums[0];
}

extern "C" __global__ void nekbone_dot_end(const float *partial, float *scalars, int which, int count)
{
    __shared__ float sums[256];
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < count; i += 256) sum += partial[i];
    sums[t] = sum;
    __syncthreads();
    for (int width = 128; width > 0; width /= 2) {
        if (t < width) sums[t] += sums[t + width];
        __syncthreads();
    }
    if (t) return;
    const float total = sums[0];
    if (which == RHO) scalars[BETA] = scalars[RHO] == 0.0f ? 0.0f : total / scalars[RHO];
    if (which == PAP) scalars[ALPHA] = scalars[RHO] / total;
    scalars[which] = total;
}

extern "C" __global__ void nekbone_direction(const float *z, float *p, const float *scalars, int points)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) p[i] = z[i] + scalars[BETA] * p[i];
}

/* w = D^T G D p of one element; n x n threads, one column of n points each. factors: six arrays, the upper
 * triangle of the symmetric matrix G of every point. */
extern "C" __global__ void __launch_bounds__(SIDE *SIDE)
    nekbone_operator(const float *p, const float *factors, const float *derivative, float *w, int n,
                     int points)
{
    __shared__ float u[SIDE * SIDE * SIDE], d[SIDE * SIDE], along_r[SIDE * SIDE], along_s[SIDE * SIDE];
    const int t = threadIdx.x, layer = n * n, i = t % n, j = t / n;
    const int base = blockIdx.x * layer * n + t;
    for (int k = t; k < SIDE * SIDE; k += layer) d[k] = derivative[k];
    for (int k = 0; k < n; k++) u[k * layer + t] = p[base + k * layer];
    float column[SIDE];
#pragma unroll
    for (int m = 0; m < SIDE; m++) column[m] = 0.0f;
    __syncthreads();
    for (int k = 0; k < n; k++) {
        float ur = 0.0f, us = 0.0f, ut = 0.0f;
        for (int l = 0; l < n; l++) {
            ur += d[i * SIDE + l] * u[k * layer + j * n + l];
            us += d[j * SIDE + l] * u[k * layer + l * n + i];
            ut += d[k * SIDE + l] * u[l * layer + t];
        }
        const float *g = factors + base + k * layer;
        const float rr = g[0], rs = g[points], rt = g[2 * points], ss = g[3 * points], st = g[4 * points],
                    tt = g[5 * points];
        along_r[t] = rr * ur + rs * us + rt * ut;
        along_s[t] = rs * ur + ss * us + st * ut;
        const float along_t = rt * ur + st * us + tt * ut;
        __syncthreads();
        float part = 0.0f;
        for (int l = 0; l < n; l++) {
            part += d[l * SIDE + i] * along_r[j * n + l];
            part += d[l * SIDE + j] * along_s[l * n + i];
        }
#pragma unroll
        for (int m = 0; m < SIDE; m++) column[m] += d[k * SIDE + m] * along_t + (m == k ? part : 0.0f);
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < SIDE; m++)
        if (m < n) w[base + m * layer] = column[m];
}

extern "C" __global__ void nekbone_shift(float *w, const float *p, const float *mask, int points)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) w[i] = mask[i] * (w[i] + 0.1f * p[i]);
}

/* to += sign x alpha x by */
extern "C" __global__ void nekbone_advance(float *to, const float *by, const float *scalars, float sign,
                                           int points)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) to[i] += sign * scalars[ALPHA] * by[i];
}
