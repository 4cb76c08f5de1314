/* mriq: host script. The host reads the magnitudes and writes the samples to constant memory, 1024 at a time, a launch
 * each. UGPU: 50 MB and three launches: 2.5 million voxels and 2048 samples.
 *
 * Footprint: 20 x voxels + 12 x samples bytes. 1 + ceil(samples / 1024) launches. A voxel belongs to one thread. */
#include "workload.h"

enum { SEED_PHI = 1, SEED_K = 3, SEED_X = 6, SAMPLES_MAX = 1024, BLOCK = 256 };

static const struct wl_param params[] = {
    {"voxels", 65536, 1, 1 << 28, 0, "voxels"},
    {"samples", 256, 1, 1 << 20, 0, "samples in the space of frequencies"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "voxels=1000,samples=60", NULL},
    {"ugpu", "voxels=2500000,samples=2048", "UGPU, 50 MB, 3 launches"},
    {"ugpuq", "voxels=2500000,samples=2048", "UGPU quick: not cut"},
    {0},
};

struct sample {
    float x, y, z, magnitude;
};

struct problem {
    uint64_t samples;
    bool imaginary; /* the part of Q that is checked */
};

/* Component k of a place or of a voxel. */
static float place(uint64_t k, uint64_t i) { return wl_f32(SEED_K + k, i, -2, 2); }
static float voxel(uint64_t k, uint64_t i) { return wl_f32(SEED_X + k, i, -1, 1); }

static double expected(const void *arg, uint64_t v)
{
    const struct problem *p = arg;
    double sum = 0;
    for (uint64_t i = 0; i < p->samples; i++) {
        double angle = 0;
        for (uint64_t k = 0; k < 3; k++) angle += (double)place(k, i) * (double)voxel(k, v);
        angle *= 2 * M_PI;
        const double re = (double)wl_f32(SEED_PHI, i, -1, 1), im = (double)wl_f32(SEED_PHI + 1, i, -1, 1);
        sum += (re * re + im * im) * (p->imaginary ? sin(angle) : cos(angle));
    }
    return sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 20 * (uint64_t)wl_param(w, "voxels") + 12 * (uint64_t)wl_param(w, "samples");
}

static void check(struct wl *w, const char *name, const float *output, uint64_t count,
                  const struct problem *p)
{
    wl_check_f32(w, &(struct wl_check){.name = name,
                                       .output = output,
                                       .count = count,
                                       .reference = expected,
                                       .arg = p,
                                       .cost = 30 * p->samples,
                                       .absolute = 1e-5 * (double)p->samples});
}

static void run(struct wl *w)
{
    const int voxels = (int)wl_param(w, "voxels"), samples = (int)wl_param(w, "samples");
    const uint64_t count = (uint64_t)voxels, sample_count = (uint64_t)samples;
    float *re = wl_input_f32(w, "phi, real", sample_count, SEED_PHI, -1, 1);
    float *im = wl_input_f32(w, "phi, imaginary", sample_count, SEED_PHI + 1, -1, 1);
    float *magnitude = wl_alloc(w, "magnitude", sample_count * 4), *at[3];
    for (uint64_t k = 0; k < 3; k++) at[k] = wl_input_f32(w, "voxels", count, SEED_X + k, -1, 1);
    float *q_re = wl_alloc(w, "q, real", count * 4), *q_im = wl_alloc(w, "q, imaginary", count * 4);
    struct sample *on_device = wl_variable(w, "samples", SAMPLES_MAX * sizeof *on_device);
    struct sample *mine = wl_scratch(w, SAMPLES_MAX * sizeof *mine);
    float *magnitudes = wl_scratch(w, sample_count * 4);
    WL_LAUNCH(w, "mriq_magnitude", wl_dim(wl_blocks(samples, BLOCK)), wl_dim(BLOCK), re, im, magnitude,
              samples);
    __builtin_memcpy(magnitudes, wl_read(w, magnitude, sample_count * 4), sample_count * 4);
    for (uint64_t first = 0; first < sample_count; first += SAMPLES_MAX) {
        const uint64_t some = sample_count - first < SAMPLES_MAX ? sample_count - first : SAMPLES_MAX;
        for (uint64_t i = 0; i < some; i++)
            mine[i] = (struct sample){place(0, first + i), place(1, first + i), place(2, first + i),
                                      magnitudes[first + i]};
        wl_write(w, on_device, mine, some * sizeof *mine);
        WL_LAUNCH(w, "mriq", wl_dim(wl_blocks(voxels, BLOCK)), wl_dim(BLOCK), at[0], at[1], at[2], q_re, q_im,
                  voxels, (int)some);
    }
    check(w, "q, real", q_re, count, &(struct problem){sample_count, false});
    check(w, "q, imaginary", q_im, count, &(struct problem){sample_count, true});
}

WORKLOAD(mriq, .suite = "Parboil", .sharing = "-",
         .description = "MRI reconstruction: a rotation per voxel and sample, samples in constant memory",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
