/* fwt: host script: dyadic convolution of a batch of signals with short kernels: both are transformed,
 * multiplied, and the product is transformed back. NUBA and UGPU, 269 MB: two arrays of 2^25 floats, as 1024
 * signals of 2^15: the elements of a signal stay with the block range of one SM from launch to launch, so
 * that more than 80 % of the pages belong to one SM, as NUBA has it. In one signal of 2^25 every launch
 * brings a page to another SM.
 * LADM publishes 4096 blocks and 64 MB for the kernel of global butterflies. Both do not fit one element size and
 * radix; `ladm` has the blocks: one signal of 2^22. */
#include "workload.h"

enum { SEED_DATA = 1, SEED_KERNEL, TAPS = 128, BLOCK = 256, SHARED_LOG2 = 11 };

static const struct wl_param params[] = {
    {"log2", 13, 10, 26, 0, "log2 of the length of a signal"},
    {"batch", 32, 1, 16384, 0, "signals"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "log2=12,batch=1", NULL},
    {"nuba", "log2=15,batch=1024", "NUBA and UGPU, 269 MB"},
    {"ladm", "log2=22,batch=1", "LADM FWT-k2, 4096 blocks, 34 MB"},
    {"ladmq", "log2=20,batch=1", "LADM quick: fewer elements"},
    {"ugpu", "log2=15,batch=1024", "UGPU, 269 MB"},
    {"ugpuq", "log2=15,batch=128", "UGPU quick"},
    {0},
};

/* Taps of a signal's kernel; the rest of it is zero. */
static void fill_kernel(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const uint64_t length = *(const uint64_t *)arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const uint64_t at = first / 4 + k;
        ((float *)to)[k] = at % length < TAPS ? wl_f32(SEED_KERNEL, at, -1, 1) : 0;
    }
}

static double expected_data(const void *arg, uint64_t at)
{
    const uint64_t length = *(const uint64_t *)arg, base = at / length * length;
    double sum = 0;
    for (uint64_t j = 0; j < TAPS; j++)
        sum += (double)wl_f32(SEED_KERNEL, base + j, -1, 1) * (double)wl_f32(SEED_DATA, at ^ j, -1, 1);
    return sum;
}

static double expected_kernel(const void *arg, uint64_t at)
{
    const uint64_t length = *(const uint64_t *)arg, base = at / length * length;
    double sum = 0;
    for (uint64_t j = 0; j < TAPS; j++) {
        const double tap = (double)wl_f32(SEED_KERNEL, base + j, -1, 1);
        sum += __builtin_popcountll(at & j) % 2 ? -tap : tap;
    }
    return sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 8 * ((uint64_t)wl_param(w, "batch") << wl_param(w, "log2"));
}

/* In place, all signals. */
static void transform(struct wl *w, float *data, int log2, int64_t batch)
{
    for (; log2 > SHARED_LOG2; log2 -= 2, batch *= 4)
        WL_LAUNCH(w, "fwt_global", wl_dim((1 << log2) / 4 / BLOCK, batch), wl_dim(BLOCK), data,
                  (1 << log2) / 4);
    WL_LAUNCH(w, "fwt_shared", wl_dim(batch), wl_dim((1 << log2) / 4), data, log2);
}

static void run(struct wl *w)
{
    const int log2 = (int)wl_param(w, "log2");
    const int64_t batch = wl_param(w, "batch");
    uint64_t length = (uint64_t)1 << log2;
    const uint64_t count = length * (uint64_t)batch;
    if (count > INT32_MAX) wl_fail(w, "at most 2^31 elements in all");
    float *data = wl_input_f32(w, "data", count, SEED_DATA, -1, 1);
    float *kernel = wl_input(w, "kernel", count * 4, fill_kernel, &length);
    transform(w, data, log2, batch);
    transform(w, kernel, log2, batch);
    WL_LAUNCH(w, "fwt_modulate", wl_dim(128), wl_dim(BLOCK), data, kernel, 1.0f / (float)length, (int)count);
    transform(w, data, log2, batch);

    struct wl_check check = {
        .count = count, .arg = &length, .cost = TAPS, .absolute = 2e-4, .relative = 1e-4};
    check.name = "data", check.output = data, check.reference = expected_data;
    wl_check_f32(w, &check);
    check.name = "kernel", check.output = kernel, check.reference = expected_kernel;
    wl_check_f32(w, &check);
}

WORKLOAD(fwt, .suite = "CUDA SDK", .sharing = "low-sharing",
         .description = "dyadic convolution by fast Walsh transforms", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
