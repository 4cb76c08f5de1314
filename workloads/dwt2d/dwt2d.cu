/* dwt2d: one level of the reversible 5/3 wavelet transform of an image (Rodinia). A block owns a strip of 64
 * columns and slides down its band of rows: each row is staged in shared memory with two pixels more on
 * either side and lifted horizontally, then every thread lifts its own column, of which it holds the last
 * rows in registers. The four subbands LL, HL, LH, HH follow each other. At the edges the image is mirrored.
 */
#include "device.h"

#define STRIP 64
#define LEFT  2

static __device__ int mirrored(int i, int n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }

/* Row y of the strip, transformed horizontally, this thread's column: even ones hold the mean, odd ones
 * detail. */
static __device__ int row_value(const int *in, int *s, int width, int height, int first, int y)
{
    const int t = threadIdx.x, *row = in + (long long)mirrored(y, height) * width;
    __syncthreads();
    s[t + LEFT] = row[mirrored(first + t, width)];
    if (t < LEFT) s[t] = row[mirrored(first + t - LEFT, width)];
    if (t == 0) s[STRIP + LEFT] = row[mirrored(first + STRIP, width)];
    __syncthreads();
    const int *x = s + LEFT + (t & ~1), after = x[1] - ((x[0] + x[2]) >> 1);
    if (t & 1) return after;
    const int before = x[-1] - ((x[-2] + x[0]) >> 1);
    return x[0] + ((before + after + 2) >> 2);
}

extern "C" __global__ void dwt2d(const int *in, int *out, int width, int height, int band)
{
    __shared__ int s[STRIP + 2 * LEFT];
    const int first = blockIdx.x * STRIP, top = blockIdx.y * band, bottom = min(top + band, height);
    const int column = first + threadIdx.x, half = width / 2;
    const long long quarter = (long long)half * (height / 2);
    int *low = out + (column & 1) * quarter + column / 2, *high = low + 2 * quarter;

    const int above2 = row_value(in, s, width, height, first, top - 2);
    const int above1 = row_value(in, s, width, height, first, top - 1);
    int even = row_value(in, s, width, height, first, top);
    int before = above1 - ((above2 + even) >> 1);
    for (int y = top; y < bottom; y += 2) {
        const int odd = row_value(in, s, width, height, first, y + 1);
        const int next = row_value(in, s, width, height, first, y + 2);
        const int after = odd - ((even + next) >> 1);
        if (column < width) {
            low[(long long)(y / 2) * half] = even + ((before + after + 2) >> 2);
            high[(long long)(y / 2) * half] = after;
        }
        before = after;
        even = next;
    }
}
