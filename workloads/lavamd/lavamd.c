/* lavamd: host script. 100 particles in each of nx x ny x nz boxes, 36 B per particle and 112 B per box.
 * NUBA, 7 MB: a channel of 2 x 2 x 466 boxes, not a cube: a box is read by the blocks around it, so that only
 * when the boxes of an SM (30 in a row) touch few others, more than 80 % of the pages belong to one SM, as
 * the paper has it. In a cube every page is read by several. UGPU, 123 MB: the cube. */
#include "workload.h"

enum { SEED_PLACE = 1, SEED_CHARGE, SEED_SOFT, THREADS = 128, AROUND = 27 };
static const float ALPHA = 0.5f;

static const struct wl_param params[] = {
    {"nx", 4, 1, 256, 0, "boxes along x"},
    {"ny", 4, 1, 256, 0, "boxes along y"},
    {"nz", 4, 1, 4096, 0, "boxes along z"},
    {"particles", 100, 1, THREADS, 0, "particles in a box"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "nx=2,ny=2,nz=3,particles=10", NULL},
    {"nuba", "nx=2,ny=2,nz=466", "NUBA, 7 MB"},
    {"ugpu", "nx=32,ny=32,nz=32", "UGPU, 123 MB"},
    {"ugpuq", "nx=20,ny=20,nz=20", "UGPU quick"},
    {0},
};

/* As in the device code. */
struct box {
    int32_t count, neighbours[AROUND];
};

struct space {
    int nx, ny, nz, per_box;
};

static uint64_t boxes_of(const struct space *s)
{
    return (uint64_t)s->nx * (uint64_t)s->ny * (uint64_t)s->nz;
}

static struct space space_of(const struct wl *w)
{
    return (struct space){(int)wl_param(w, "nx"), (int)wl_param(w, "ny"), (int)wl_param(w, "nz"),
                          (int)wl_param(w, "particles")};
}

static struct box box_at(const struct space *s, uint64_t number)
{
    const int x = (int)(number % (uint64_t)s->nx), y = (int)(number / (uint64_t)s->nx % (uint64_t)s->ny);
    const int z = (int)(number / ((uint64_t)s->nx * (uint64_t)s->ny));
    struct box b = {0};
    for (int k = 0; k < AROUND; k++) {
        const int at_x = x + k % 3 - 1, at_y = y + k / 3 % 3 - 1, at_z = z + k / 9 - 1;
        if (at_x < 0 || at_x >= s->nx || at_y < 0 || at_y >= s->ny || at_z < 0 || at_z >= s->nz) continue;
        b.neighbours[b.count++] = (at_z * s->ny + at_y) * s->nx + at_x;
    }
    return b;
}

static void fill_boxes(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const uint64_t size = sizeof(struct box);
    for (uint64_t k = first; k < first + bytes; k += 4) { /* 64 KiB cut through a box */
        const struct box b = box_at(arg, k / size);
        __builtin_memcpy((char *)to + (k - first), (const char *)&b + k % size, 4);
    }
}

/* Words x, y, z, w of a particle. */
static float place(const struct space *s, uint64_t particle, uint64_t word)
{
    const uint64_t box = particle / (uint64_t)s->per_box, nx = (uint64_t)s->nx, ny = (uint64_t)s->ny;
    const uint64_t corner[3] = {box % nx, box / nx % ny, box / (nx * ny)};
    if (word == 3) return wl_f32(SEED_SOFT, particle, 0.5f, 1);
    return (float)corner[word] + wl_f32(SEED_PLACE, particle * 3 + word, 0, 1);
}

static void fill_positions(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes / 4; k++)
        ((float *)to)[k] = place(arg, (first / 4 + k) / 4, (first / 4 + k) % 4);
}

static double expected(const void *arg, uint64_t at)
{
    const struct space *s = arg;
    const uint64_t me = at / 4, word = at % 4, per_box = (uint64_t)s->per_box;
    const struct box b = box_at(s, me / per_box);
    double sum = 0;
    for (int k = 0; k < b.count; k++) {
        for (uint64_t i = 0; i < per_box; i++) {
            const uint64_t other = (uint64_t)b.neighbours[k] * per_box + i;
            double d[3], r2 = 0;
            for (uint64_t c = 0; c < 3; c++) {
                d[c] = (double)place(s, me, c) - (double)place(s, other, c);
                r2 += d[c] * d[c];
            }
            const double soft = (double)place(s, me, 3) + (double)place(s, other, 3);
            const double part = (double)wl_f32(SEED_CHARGE, other, 0.1f, 1) * exp(-(double)ALPHA * soft * r2);
            sum += word ? 2 * part * d[word - 1] : part;
        }
    }
    return sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct space s = space_of(w);
    return boxes_of(&s) * (sizeof(struct box) + 36 * (uint64_t)s.per_box);
}

static void run(struct wl *w)
{
    struct space s = space_of(w);
    const uint64_t boxes = boxes_of(&s), particles = boxes * (uint64_t)s.per_box;
    struct box *box = wl_input(w, "boxes", boxes * sizeof *box, fill_boxes, &s);
    float *position = wl_input(w, "position", particles * 16, fill_positions, &s);
    float *charge = wl_input_f32(w, "charge", particles, SEED_CHARGE, 0.1f, 1);
    float *force = wl_alloc(w, "force", particles * 16);
    WL_LAUNCH(w, "lavamd", wl_dim(boxes), wl_dim(THREADS), box, position, charge, force, ALPHA, s.per_box);
    wl_check_f32(w, &(struct wl_check){.name = "force",
                                       .output = force,
                                       .count = particles * 4,
                                       .reference = expected,
                                       .arg = &s,
                                       .cost = AROUND * 30 * (uint64_t)s.per_box,
                                       .relative = 1e-4,
                                       .absolute = 2e-3});
}

WORKLOAD(lavamd, .suite = "Rodinia", .sharing = "low-sharing",
         .description = "N-body in a grid of boxes, a block per box, cutoff at the neighbours",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
