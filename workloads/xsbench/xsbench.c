/* xsbench: host script. One long launch of independent lookups; `launches` repeats it with other lookups.
 *
 * Footprint: nuclides x grid x (8 + 48 + 4 x nuclides) bytes of union energies, nuclide grids and indices, plus
 * 12 materials x row x 12 bytes with row = nuclides of the largest material, 96 bytes of shares and counts, and
 * 4 x lookups bytes of results. CARVE: 4400 MB with a grid of 17 K points per nuclide; 248 nuclides give that
 * footprint (ASSUMPTION: the paper names the grid and the footprint only). Scale the grid, not the nuclides: a
 * row of indices then keeps its length.
 *
 * The tables are computed when they are touched. Point i of a nuclide lies at a random place in [i, i+1) / grid, so
 * that each grid is sorted, and the union grid is sorted by ranges of `nuclides` points.
 *
 * Structures: union energies, indices and points are read-only and shared by all blocks in every page; the upper
 * levels of the search are hot, other lines are random. Results are private. */
#include "workload.h"

enum {
    BLOCK = 256,
    MATERIALS = 12,
    CHANNELS = 5,
    SEED_PLACE = 1,
    SEED_MEMBER,
    SEED_DENSITY,
    SEED_SECTION = 100
};
enum { SEED_LOOKUP = 1000, NUCLIDES_MAX = 512 };

static const struct wl_param params[] = {
    {"nuclides", 68, 4, NUCLIDES_MAX, 0, "nuclides"},
    {"grid", 1000, 2, 1 << 20, 0, "energies of a nuclide's grid"},
    {"lookups", 16384, 1, 1 << 28, 0, "lookups of a launch"},
    {"launches", 1, 1, 1000, 0, "launches"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "nuclides=16,grid=50,lookups=300", NULL},
    {"carve", "nuclides=248,grid=17000,lookups=15000000", "CARVE, 4400 MB"},
    {"carve_s32", "nuclides=248,grid=531,lookups=65536", "CARVE, 1/32: 138 MB"},
    {0},
};

/* As in the device code. */
struct point {
    double energy, section[CHANNELS];
};

/* A reactor core has few materials: fuel of nine tenths of the nuclides, and eleven others. Share of the lookups
 * in 1/1000; nuclides of the others. */
static const struct {
    int per_mille, nuclides;
} materials[MATERIALS] = {{140, 0}, {52, 5},  {275, 4}, {134, 4}, {154, 27}, {64, 21},
                          {66, 21}, {55, 21}, {8, 21},  {15, 21}, {25, 9},   {12, 9}};

struct tables {
    uint64_t nuclides, grid, row_max;
};

static uint64_t count_of(const struct tables *t, uint64_t material)
{
    const uint64_t fuel = (t->nuclides * 9 + 9) / 10, other = (uint64_t)materials[material].nuclides;
    return material == 0 ? fuel : other < t->nuclides ? other : t->nuclides;
}

static double unit(uint64_t seed, uint64_t i) { return (double)(wl_u64(seed, i) >> 11) * 0x1p-53; }

static double energy_at(const struct tables *t, uint64_t nuclide, uint64_t i)
{
    return ((double)i + unit(SEED_PLACE, nuclide * t->grid + i)) / (double)t->grid;
}

static double section_at(const struct tables *t, uint64_t nuclide, uint64_t i, uint64_t channel)
{
    return unit(SEED_SECTION + channel, nuclide * t->grid + i);
}

/* Last point of the nuclide at or below the energy, such that there is a point above it. */
static uint64_t index_of(const struct tables *t, uint64_t nuclide, double energy)
{
    const double scaled = energy * (double)t->grid;
    int64_t i = (int64_t)scaled + 1;
    if (i > (int64_t)t->grid - 1) i = (int64_t)t->grid - 1;
    while (i >= 0 && energy_at(t, nuclide, (uint64_t)i) > energy) i--;
    if (i > (int64_t)t->grid - 2) i = (int64_t)t->grid - 2;
    return i < 0 ? 0 : (uint64_t)i;
}

/* Which nuclide a material has at position k: consecutive ones from a random start. */
static uint64_t member_of(const struct tables *t, uint64_t material, uint64_t k)
{
    return (wl_below(SEED_MEMBER, material, t->nuclides) + k) % t->nuclides;
}

/* ---- fills ---- */

/* The energies of one range of the union grid, sorted. */
static void sort_range(const struct tables *t, uint64_t range, double *sorted)
{
    for (uint64_t n = 0; n < t->nuclides; n++) {
        const double e = energy_at(t, n, range);
        uint64_t at = n;
        for (; at > 0 && sorted[at - 1] > e; at--) sorted[at] = sorted[at - 1];
        sorted[at] = e;
    }
}

static void fill_energies(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct tables *t = arg;
    double sorted[NUCLIDES_MAX];
    for (uint64_t i = 0; i < bytes / 8; i++) {
        const uint64_t at = first / 8 + i;
        if (i == 0 || at % t->nuclides == 0) sort_range(t, at / t->nuclides, sorted);
        ((double *)to)[i] = sorted[at % t->nuclides];
    }
}

static void fill_indices(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct tables *t = arg;
    double sorted[NUCLIDES_MAX];
    uint64_t range = UINT64_MAX;
    for (uint64_t i = 0; i < bytes / 4; i++) {
        const uint64_t row = (first / 4 + i) / t->nuclides, nuclide = (first / 4 + i) % t->nuclides;
        if (row / t->nuclides != range) sort_range(t, range = row / t->nuclides, sorted);
        ((int32_t *)to)[i] = (int32_t)index_of(t, nuclide, sorted[row % t->nuclides]);
    }
}

static void fill_points(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct tables *t = arg;
    for (uint64_t i = 0; i < bytes / 8; i++) {
        const uint64_t word = (first / 8 + i) % 6, point = (first / 8 + i) / 6;
        const uint64_t nuclide = point / t->grid, at = point % t->grid;
        ((double *)to)[i] = word ? section_at(t, nuclide, at, word - 1) : energy_at(t, nuclide, at);
    }
}

static void fill_members(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct tables *t = arg;
    for (uint64_t i = 0; i < bytes / 4; i++) {
        const uint64_t at = first / 4 + i;
        ((int32_t *)to)[i] = (int32_t)member_of(t, at / t->row_max, at % t->row_max);
    }
}

static void fill_density(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t i = 0; i < bytes / 8; i++) ((double *)to)[i] = unit(SEED_DENSITY, first / 8 + i);
}

/* ---- reference: searches the grid of each nuclide; the union grid and its indices are not used ---- */

struct lookups {
    const struct tables *tables;
    uint32_t share[MATERIALS];
    uint64_t seed;
};

static double expected(const void *arg, uint64_t lookup)
{
    const struct lookups *l = arg;
    const struct tables *t = l->tables;
    const double energy = unit(l->seed, 2 * lookup);
    const uint32_t draw = (uint32_t)(wl_u64(l->seed, 2 * lookup + 1) >> 32);
    uint64_t material = 0;
    while (material < MATERIALS - 1 && draw >= l->share[material]) material++;
    double sum = 0;
    for (uint64_t k = 0; k < count_of(t, material); k++) {
        const uint64_t nuclide = member_of(t, material, k), i = index_of(t, nuclide, energy);
        const double low = energy_at(t, nuclide, i), high = energy_at(t, nuclide, i + 1);
        const double density = unit(SEED_DENSITY, material * t->row_max + k);
        for (uint64_t c = 0; c < CHANNELS; c++) {
            const double a = section_at(t, nuclide, i, c), b = section_at(t, nuclide, i + 1, c);
            sum += (double)(c + 1) * density * (a + (b - a) * (energy - low) / (high - low));
        }
    }
    return sum;
}

static struct tables tables_of(const struct wl *w)
{
    struct tables t = {(uint64_t)wl_param(w, "nuclides"), (uint64_t)wl_param(w, "grid"), 0};
    for (uint64_t m = 0; m < MATERIALS; m++)
        if (count_of(&t, m) > t.row_max) t.row_max = count_of(&t, m);
    return t;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct tables t = tables_of(w);
    return t.nuclides * t.grid * (8 + sizeof(struct point) + 4 * t.nuclides) +
           MATERIALS * (12 * t.row_max + 8) + 4 * (uint64_t)wl_param(w, "lookups");
}

static void run(struct wl *w)
{
    struct tables *t = wl_scratch(w, sizeof *t);
    struct lookups *l = wl_scratch(w, sizeof *l);
    *t = tables_of(w);
    l->tables = t;
    const int lookups = (int)wl_param(w, "lookups"), launches = (int)wl_param(w, "launches");
    const int nuclides = (int)t->nuclides, grid = (int)t->grid, row_max = (int)t->row_max;
    const uint64_t points = t->nuclides * t->grid;
    int32_t counts[MATERIALS];
    uint64_t per_mille = 0;
    for (uint64_t m = 0; m < MATERIALS; m++) {
        per_mille += (uint64_t)materials[m].per_mille;
        l->share[m] = (uint32_t)((per_mille << 32) / 1000 - (per_mille == 1000));
        counts[m] = (int32_t)count_of(t, m);
    }
    double *energies = wl_input(w, "energies", 8 * points, fill_energies, t);
    int32_t *indices = wl_input(w, "indices", 4 * points * t->nuclides, fill_indices, t);
    struct point *grids = wl_input(w, "points", sizeof *grids * points, fill_points, t);
    uint32_t *share = wl_alloc(w, "share", sizeof l->share);
    int32_t *count = wl_alloc(w, "counts", sizeof counts);
    int32_t *members = wl_input(w, "members", MATERIALS * 4 * t->row_max, fill_members, t);
    double *density = wl_input(w, "density", MATERIALS * 8 * t->row_max, fill_density, t);
    float *results = wl_alloc(w, "results", 4 * (uint64_t)lookups);
    wl_write(w, share, l->share, sizeof l->share);
    wl_write(w, count, counts, sizeof counts);
    wl_measure(w);
    for (int k = 0; k < launches; k++) {
        l->seed = SEED_LOOKUP + (uint64_t)k;
        WL_LAUNCH(w, "xsbench_lookup", wl_dim(wl_blocks(lookups, BLOCK)), wl_dim(BLOCK), energies, indices,
                  grids, share, count, members, density, results, lookups, nuclides, grid, row_max, l->seed);
        wl_check_f32(w, &(struct wl_check){.name = "results",
                                           .output = results,
                                           .count = (uint64_t)lookups,
                                           .reference = expected,
                                           .arg = l,
                                           .cost = 100 * t->row_max,
                                           .relative = 1e-5,
                                           .absolute = 1e-5});
    }
}

WORKLOAD(xsbench, .suite = "CORAL", .sharing = "-",
         .description = "neutron cross-section lookups on a unionised energy grid", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
