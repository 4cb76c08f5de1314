/* image: grey pictures with structure for host scripts: a slow shade, discs of various size and brightness,
 * and noise. Every pixel is a function of (seed, x, y), so any part can be made at any time. */
#ifndef ATOLL_WORKLOADS_IMAGE_H
#define ATOLL_WORKLOADS_IMAGE_H

#include "workload.h"

struct image {
    uint64_t seed;
    int64_t width, height;
};

enum { IMAGE_CELL = 48 }; /* one disc somewhere in every square of this side */

/* 0 .. 1 */
static inline float image_at(const struct image *m, int64_t x, int64_t y)
{
    const int64_t cx = x / IMAGE_CELL, cy = y / IMAGE_CELL;
    const uint64_t cell = (uint64_t)cy * 65536 + (uint64_t)cx, r = wl_u64(m->seed + 1000, cell);
    const int64_t dx = x % IMAGE_CELL - (16 + (int64_t)(r & 15)),
                  dy = y % IMAGE_CELL - (16 + (int64_t)(r >> 8 & 15));
    const int64_t radius = 6 + (int64_t)(r >> 16 & 7);
    const float shade = 0.2f + 0.2f * (float)(x + y) / (float)(m->width + m->height);
    const float disc = dx * dx + dy * dy <= radius * radius ? 0.2f + 0.3f * (float)(r >> 24 & 255) / 255 : 0;
    return shade + disc + wl_f32(m->seed, (uint64_t)y * (uint64_t)m->width + (uint64_t)x, 0, 0.1f);
}

/* Row-major floats; arg is the image. */
static inline void image_fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct image *m = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const int64_t at = (int64_t)(first / 4 + k);
        ((float *)to)[k] = image_at(m, at % m->width, at / m->width);
    }
}

#endif
