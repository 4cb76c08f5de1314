/* Kernels with the access patterns of LADM's Table IV, "row/column locality": see no_locality.cu. */
#include "device.h"

/* Separable convolution, along rows: a block of 16x4 threads makes eight tiles next to each other. */
extern "C" __global__ void conv_rows(float *out, const float *in, const float *filter, int width, int pitch)
{
    __shared__ float tile[4][10 * 16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = (blockIdx.x * 8 - 1) * 16 + tx, y = blockIdx.y * 4 + ty;
    in += y * pitch + x;
    out += y * pitch + x;
    for (int k = 1; k < 9; k++) tile[ty][tx + k * 16] = in[k * 16];
    tile[ty][tx] = x >= 0 ? in[0] : 0.0f;
    tile[ty][tx + 9 * 16] = width - x > 9 * 16 ? in[9 * 16] : 0.0f;
    __syncthreads();
    for (int k = 1; k < 9; k++) {
        float sum = 0.0f;
        for (int j = -8; j <= 8; j++) sum += filter[8 - j] * tile[ty][tx + k * 16 + j];
        out[k * 16] = sum;
    }
}

/* Each row of blocks counts one range of bins; all of them read the whole input. */
extern "C" __global__ void histo_main(const unsigned *in, unsigned *bins, int n, int range)
{
    __shared__ unsigned local[256];
    const unsigned tid = threadIdx.y * blockDim.x + threadIdx.x;
    const unsigned first = blockIdx.y * range;
    local[tid] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + tid; i < n; i += 256 * gridDim.x) {
        const unsigned bin = in[i] - first;
        if (bin < (unsigned)range) atomicAdd(&local[bin & 255], 1u);
    }
    __syncthreads();
    if (tid < (unsigned)range) atomicAdd(&bins[first + tid], local[tid]);
}

/* Fast Walsh transform, second kernel: radix-4 butterflies at a stride, a batch per grid row. */
extern "C" __global__ void fwt_k2(float *out, const float *in, int stride)
{
    const int pos = blockIdx.x * blockDim.x + threadIdx.x, n = blockDim.x * gridDim.x * 4;
    const float *src = in + blockIdx.y * n;
    float *dst = out + blockIdx.y * n;
    const int lo = pos & (stride - 1), i0 = ((pos - lo) << 2) + lo;
    const float d0 = src[i0], d1 = src[i0 + stride], d2 = src[i0 + 2 * stride], d3 = src[i0 + 3 * stride];
    const float s0 = d0 + d2, s1 = d1 + d3, t0 = d0 - d2, t1 = d1 - d3;
    dst[i0] = s0 + s1;
    dst[i0 + stride] = s0 - s1;
    dst[i0 + 2 * stride] = t0 + t1;
    dst[i0 + 3 * stride] = t0 - t1;
}

/* C = A x B, all square: the example of LADM's Figure 6. */
extern "C" __global__ void sq_gemm(const float *a, const float *b, float *c, int width)
{
    __shared__ float as[16][16], bs[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int m = 0; m < width / 16; m++) {
        as[ty][tx] = a[row * width + m * 16 + tx];
        bs[ty][tx] = b[(m * 16 + ty) * width + col];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * width + col] = sum;
}

/* A fully connected layer: few rows of activations times a large matrix of weights; 32x4 threads make a tile of
 * 32x32 (AlexNet, VGGnet and ResNet-50 differ in sizes). */
extern "C" __global__ void gemm_fc(const float *activations, const float *weights, float *out, int inner, int columns)
{
    __shared__ float as[32][33], ws[32][32];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * 32, col = blockIdx.x * 32 + tx;
    float sum[8];
    for (int i = 0; i < 8; i++) sum[i] = 0.0f;
    for (int k0 = 0; k0 < inner; k0 += 32) {
        for (int i = 0; i < 8; i++) {
            as[ty + 4 * i][tx] = activations[(row + ty + 4 * i) * inner + k0 + tx];
            ws[ty + 4 * i][tx] = weights[(k0 + ty + 4 * i) * columns + col];
        }
        __syncthreads();
        for (int k = 0; k < 32; k++)
            for (int i = 0; i < 8; i++) sum[i] += as[ty + 4 * i][k] * ws[k][tx];
        __syncthreads();
    }
    for (int i = 0; i < 8; i++) out[(row + ty + 4 * i) * columns + col] = sum[i];
}

/* The gates of an LSTM layer: input and hidden state, each times its matrix of weights. */
extern "C" __global__ void lstm(const float *input, const float *hidden, const float *wx, const float *wh, float *gates,
                                int inner, int columns)
{
    __shared__ float xs[4][33], hs[4][33];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * 4 + ty, col = blockIdx.x * 32 + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < inner; k0 += 32) {
        xs[ty][tx] = input[row * inner + k0 + tx];
        hs[ty][tx] = hidden[row * inner + k0 + tx];
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += xs[ty][k] * wx[(k0 + k) * columns + col] + hs[ty][k] * wh[(k0 + k) * columns + col];
        __syncthreads();
    }
    gates[row * columns + col] = 1.0f / (1.0f + expf(-sum));
}

extern "C" __global__ void tra(const float *in, float *out, int width, int height)
{
    __shared__ float tile[16][17];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    const int tx = blockIdx.y * 16 + threadIdx.x, ty = blockIdx.x * 16 + threadIdx.y;
    out[ty * height + tx] = tile[threadIdx.x][threadIdx.y];
}
