/* streamcluster: host script: a stream's points are assigned to a few centres; candidates are tried one after
 * the other, a launch each, all on the same points. The table holds the last candidate's gains (the host
 * clears it between, as the original does). NUBA and UGPU, 302 MB: 200000 points of 320 dimensions. The
 * number of points is no multiple of anything, so a page of a dimension belongs to two SMs where their ranges
 * meet, every third: the paper has about 30 % of the pages shared by 2 to 10 SMs. LADM: 56 MB, 1024 blocks.
 */
#include "workload.h"

enum { SEED_TRUE = 1, SEED_NOISE, SEED_WEIGHT, SEED_CANDIDATE, BLOCK = 512, DIMS_MOST = 1024 };

static const struct wl_param params[] = {
    {"points", 20000, 2, 1 << 24, 0, "points"},
    {"dims", 64, 1, DIMS_MOST, 0, "dimensions"},
    {"centres", 20, 1, 256, 0, "open centres"},
    {"candidates", 2, 1, 10000, 0, "candidates, a launch each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "points=600,dims=6,centres=5", NULL},
    {"nuba", "points=200000,dims=320,centres=50", "NUBA and UGPU, 302 MB"},
    {"ladm", "points=524288,dims=16,centres=6", "LADM, 56 MB, 1024 blocks"},
    {"ladmq", "points=131072,dims=16,centres=6", "LADM quick: fewer points"},
    {"ugpu", "points=200000,dims=320,centres=50", "UGPU, 302 MB"},
    {"ugpuq", "points=50000,dims=128,centres=50,candidates=25", "UGPU quick"},
    {0},
};

struct problem {
    uint64_t points, dims, centres, candidate;
};

/* Points lie around as many true places as there are centres; the first of each is its open centre. */
static float coordinate(const struct problem *p, uint64_t point, uint64_t d)
{
    return wl_f32(SEED_TRUE, point % p->centres * p->dims + d, 0, 1) +
           wl_f32(SEED_NOISE, point * p->dims + d, -0.2f, 0.2f);
}

static double distance(const struct problem *p, uint64_t a, uint64_t b)
{
    double sum = 0;
    for (uint64_t d = 0; d < p->dims; d++) {
        const double diff = (double)coordinate(p, a, d) - (double)coordinate(p, b, d);
        sum += diff * diff;
    }
    return sum;
}

static float weight_of(uint64_t point) { return wl_f32(SEED_WEIGHT, point, 0.5f, 1.5f); }

static void fill_coord(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct problem *p = arg;
    for (uint64_t k = 0; k < bytes / 4; k++)
        ((float *)to)[k] = coordinate(p, (first / 4 + k) % p->points, (first / 4 + k) / p->points);
}

static float cost_of(const struct problem *p, uint64_t point)
{
    return (float)(distance(p, point, point % p->centres) * (double)weight_of(point));
}

static void fill_cost(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes / 4; k++) ((float *)to)[k] = cost_of(arg, first / 4 + k);
}

static void fill_assigned(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct problem *p = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) ((int32_t *)to)[k] = (int32_t)((first / 4 + k) % p->centres);
}

/* A slot of the table for every centre; other points have none. */
static void fill_slots(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct problem *p = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const uint64_t point = first / 4 + k;
        ((int32_t *)to)[k] = point < p->centres ? (int32_t)(p->centres - 1 - point) : -1;
    }
}

/* What the change costs (a gain is negative): of moving in the last word, of staying in the centre's. Near a
 * tie both are right; then the words are near zero. */
static double expected(const void *arg, uint64_t at)
{
    const struct problem *p = arg;
    const uint64_t point = at / (p->centres + 1), word = at % (p->centres + 1);
    const double gain =
        (double)cost_of(p, point) - distance(p, point, p->candidate) * (double)weight_of(point);
    const uint64_t mine = gain > 0 ? p->centres : p->centres - 1 - point % p->centres;
    return word == mine ? -gain : 0;
}

static void check_moves(struct wl *w, const struct problem *p, const uint8_t *moves)
{
    const uint8_t *got = wl_output(w, "moves", moves, p->points);
    const uint64_t step = 1 + p->points * p->dims / WL_CHECK_BUDGET;
    for (uint64_t i = 0; i < p->points; i += step) {
        const double gain = (double)cost_of(p, i) - distance(p, i, p->candidate) * (double)weight_of(i);
        if (got[i] > 1 || (got[i] != (gain > 0) && fabs(gain) > 1e-4))
            wl_fail(w, "moves[%llu] is %d, but the point gains %g", (unsigned long long)i, got[i], gain);
    }
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t points = (uint64_t)wl_param(w, "points"), dims = (uint64_t)wl_param(w, "dims");
    return points * (4 * (dims + 4 + (uint64_t)wl_param(w, "centres") + 1) + 1);
}

static void run(struct wl *w)
{
    const int points = (int)wl_param(w, "points"), dims = (int)wl_param(w, "dims");
    const int centres = (int)wl_param(w, "centres");
    struct problem p = {.points = (uint64_t)points, .dims = (uint64_t)dims, .centres = (uint64_t)centres};
    const uint64_t table_bytes = p.points * (p.centres + 1) * 4;
    float *coord = wl_input(w, "coordinates", p.points * p.dims * 4, fill_coord, &p);
    float *weight = wl_input_f32(w, "weight", p.points, SEED_WEIGHT, 0.5f, 1.5f);
    float *cost = wl_input(w, "cost", p.points * 4, fill_cost, &p);
    int32_t *assigned = wl_input(w, "assigned", p.points * 4, fill_assigned, &p);
    int32_t *slot = wl_input(w, "centre slot", p.points * 4, fill_slots, &p);
    float *table = wl_alloc(w, "table", table_bytes);
    uint8_t *moves = wl_alloc(w, "moves", p.points);
    const void *clear = wl_scratch(w, table_bytes);
    for (uint64_t k = 0; k < (uint64_t)wl_param(w, "candidates"); k++) {
        if (k) wl_write(w, table, clear, table_bytes);
        p.candidate = wl_below(SEED_CANDIDATE, k, p.points);
        WL_LAUNCH(w, "streamcluster", wl_dim(wl_blocks(points, BLOCK)), wl_dim(BLOCK), coord, weight, cost,
                  assigned, slot, table, moves, points, dims, centres, (int)p.candidate);
    }
    wl_check_f32(w, &(struct wl_check){.name = "table",
                                       .output = table,
                                       .count = table_bytes / 4,
                                       .reference = expected,
                                       .arg = &p,
                                       .cost = 8 * p.dims,
                                       .relative = 1e-4,
                                       .absolute = 1e-4});
    check_moves(w, &p, moves);
}

WORKLOAD(streamcluster, .suite = "Rodinia", .sharing = "high-sharing",
         .description = "gain of a candidate centre, a thread per point, a launch per candidate",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
