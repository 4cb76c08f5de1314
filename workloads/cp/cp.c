/* cp: host script. Atoms go to constant memory 4000 at a time, a launch each, as Parboil does. UGPU: 40 MB, one launch.
 *
 * Footprint: 4 x nx x ny bytes; atoms are in constant memory. ceil(atoms / 4000) launches. Every point is read and
 * written once per launch, by one thread. */
#include "workload.h"

enum { SEED_X = 1, SEED_Y, SEED_Z, SEED_CHARGE, ATOMS_MAX = 4000, POINTS = 8, BLOCK_X = 16, BLOCK_Y = 8 };
static const float SPACING = 0.1f;

static const struct wl_param params[] = {
    {"nx", 512, BLOCK_X *POINTS, 32768, BLOCK_X *POINTS, "points along x"},
    {"ny", 512, BLOCK_Y, 32768, BLOCK_Y, "points along y"},
    {"atoms", 400, 1, 1 << 20, 0, "atoms"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "nx=128,ny=16,atoms=50", NULL},
    {"ugpu", "nx=3200,ny=3128,atoms=4000", "UGPU, 40 MB, one launch"},
    {"ugpuq", "nx=3200,ny=3128,atoms=4000", "UGPU quick: not cut"},
    {0},
};

struct atom {
    float x, y, z, charge; /* z: squared distance to the plane */
};

struct problem {
    uint64_t nx, ny, atoms;
};

static struct atom atom_at(const struct problem *p, uint64_t i)
{
    const float z = wl_f32(SEED_Z, i, 0.5f, 10);
    return (struct atom){wl_f32(SEED_X, i, 0, SPACING * (float)p->nx),
                         wl_f32(SEED_Y, i, 0, SPACING * (float)p->ny), z * z, wl_f32(SEED_CHARGE, i, 0, 2)};
}

static double expected(const void *arg, uint64_t at)
{
    const struct problem *p = arg;
    const double x = (double)(SPACING * (float)(at % p->nx)), y = (double)(SPACING * (float)(at / p->nx));
    double sum = 0;
    for (uint64_t i = 0; i < p->atoms; i++) {
        const struct atom a = atom_at(p, i);
        const double dx = x - (double)a.x, dy = y - (double)a.y;
        sum += (double)a.charge / sqrt(dx * dx + dy * dy + (double)a.z);
    }
    return sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    return 4 * (uint64_t)wl_param(w, "nx") * (uint64_t)wl_param(w, "ny");
}

static void run(struct wl *w)
{
    const struct problem p = {(uint64_t)wl_param(w, "nx"), (uint64_t)wl_param(w, "ny"),
                              (uint64_t)wl_param(w, "atoms")};
    float *energy = wl_alloc(w, "energy", 4 * p.nx * p.ny);
    struct atom *atoms = wl_variable(w, "atoms", ATOMS_MAX * sizeof *atoms);
    struct atom *mine = wl_scratch(w, ATOMS_MAX * sizeof *mine);
    for (uint64_t first = 0; first < p.atoms; first += ATOMS_MAX) {
        const uint64_t count = p.atoms - first < ATOMS_MAX ? p.atoms - first : ATOMS_MAX;
        for (uint64_t i = 0; i < count; i++) mine[i] = atom_at(&p, first + i);
        wl_write(w, atoms, mine, count * sizeof *mine);
        WL_LAUNCH(w, "cp", wl_dim(p.nx / (BLOCK_X * POINTS), p.ny / BLOCK_Y), wl_dim(BLOCK_X, BLOCK_Y),
                  energy, (int)count, SPACING);
    }
    wl_check_f32(w, &(struct wl_check){.name = "energy",
                                       .output = energy,
                                       .count = p.nx * p.ny,
                                       .reference = expected,
                                       .arg = &p,
                                       .cost = 4 * p.atoms,
                                       .relative = 1e-4});
}

WORKLOAD(cp, .suite = "Parboil", .sharing = "-",
         .description = "Coulomb potential on a plane, atoms in constant memory", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
