/* leukocyte: finding and tracking white blood cells in a video frame (Rodinia). GICOV: a thread per pixel
 * gathers the gradient along circles of several radii around it and scores how evenly it points outward.
 * Dilate: the largest score nearby. IMGVF: a block per found cell smooths the cell's window, in shared
 * memory, until it changes no more. */
#include "device.h"

#define CIRCLES_MOST 7
#define SAMPLES_MOST 150
#define WINDOW_H     41
#define WINDOW_W     81
#define TRACK_BLOCK  256

__constant__ float sines[SAMPLES_MOST], cosines[SAMPLES_MOST];
__constant__ int offsets_x[CIRCLES_MOST * SAMPLES_MOST], offsets_y[CIRCLES_MOST * SAMPLES_MOST];

/* Pixels nearer to the edge than 'margin' score nothing. */
extern "C" __global__ void leukocyte_gicov(const float *grad_x, const float *grad_y, float *score, int width,
                                           int height, int margin, int circles, int samples)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < margin || x >= width - margin || y < margin || y >= height - margin) return;
    float best = 0.0f;
    for (int c = 0; c < circles; c++) {
        float sum = 0.0f, squares = 0.0f;
        for (int s = 0; s < samples; s++) {
            const int at =
                (y + offsets_y[c * SAMPLES_MOST + s]) * width + x + offsets_x[c * SAMPLES_MOST + s];
            const float outward = grad_x[at] * cosines[s] + grad_y[at] * sines[s];
            sum += outward;
            squares += outward * outward;
        }
        const float mean = sum / (float)samples, variance = squares / (float)samples - mean * mean;
        best = fmaxf(best, mean * mean / (variance + 1e-4f));
    }
    score[y * width + x] = best;
}

/* Over 12 x 12 pixels. */
extern "C" __global__ void leukocyte_dilate(const float *score, float *dilated, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width) return;
    float most = 0.0f;
    for (int i = -6; i < 6; i++)
        for (int j = -6; j < 6; j++)
            if (y + i >= 0 && y + i < height && x + j >= 0 && x + j < width)
                most = fmaxf(most, score[(y + i) * width + x + j]);
    dilated[y * width + x] = most;
}

/* A step that is not quite sharp: 0 far below zero, 1 far above. */
static __device__ float step_at(float z) { return 0.5f + 0.5f * z / sqrtf(z * z + 0.01f); }

/* Flow from the eight neighbours, and back to the picture: repeated until the mean change is small. */
extern "C" __global__ void leukocyte_track(const float *windows, float *smoothed, float vx, float vy,
                                           float small, int most_rounds)
{
    __shared__ float now[WINDOW_H * WINDOW_W], changes[TRACK_BLOCK];
    const int cells = WINDOW_H * WINDOW_W, t = threadIdx.x, first = blockIdx.x * cells;
    for (int i = t; i < cells; i += TRACK_BLOCK) now[i] = windows[first + i];
    __syncthreads();
    for (int round = 0; round < most_rounds; round++) {
        float next[(WINDOW_H * WINDOW_W + TRACK_BLOCK - 1) / TRACK_BLOCK], change = 0.0f;
#pragma unroll
        for (int k = 0; k < (WINDOW_H * WINDOW_W + TRACK_BLOCK - 1) / TRACK_BLOCK; k++) {
            const int i = t + k * TRACK_BLOCK;
            if (i >= cells) continue;
            const int y = i / WINDOW_W, x = i % WINDOW_W;
            const float me = now[i];
            float flow = 0.0f;
            for (int dy = -1; dy <= 1; dy++) {
                for (int dx = -1; dx <= 1; dx++) {
                    const int ny = min(max(y + dy, 0), WINDOW_H - 1), nx = min(max(x + dx, 0), WINDOW_W - 1);
                    const float d = now[ny * WINDOW_W + nx] - me;
                    flow += step_at((float)dx * vx + (float)dy * vy + d) * d;
                }
            }
            const float picture = windows[first + i];
            next[k] = me + 0.1f * flow - 0.2f * picture * (me - picture);
            change += fabsf(next[k] - me);
        }
        changes[t] = change;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < (WINDOW_H * WINDOW_W + TRACK_BLOCK - 1) / TRACK_BLOCK; k++)
            if (t + k * TRACK_BLOCK < cells) now[t + k * TRACK_BLOCK] = next[k];
        for (int half = TRACK_BLOCK / 2; half > 0; half /= 2) {
            if (t < half) changes[t] += changes[t + half];
            __syncthreads();
        }
        const float mean = changes[0] / (float)cells;
        __syncthreads();
        if (mean < small) break;
    }
    for (int i = t; i < cells; i += TRACK_BLOCK) smoothed[first + i] = now[i];
}
