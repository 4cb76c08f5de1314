/* mcb: host script. Time steps of a Monte Carlo transport: source, rounds of advancing, tally.
 *
 * Footprint in bytes: 48 per particle (a record of 40, two lists of 4) and 16 per zone (material, track,
 * collisions, total), and tables: 4 (8 + 1) materials + 4 x 1024 + 8 x 4096 + 4 (rounds + 1).
 * CARVE's MCB has 5 million particles (254 MB); its zones are not given: 1024 x 1024 fill the rest (ASSUMPTION).
 *
 * Launches: 2 of initialisation, then per time step one source, `rounds` of advancing, one tally. The last
 * round has no limit of events. */
#include "workload.h"

enum {
    BLOCK = 256,
    GROUPS = 8,
    PATHS = 1024,
    DIRECTIONS = 4096,
    SEED_PATH = 1,
    SEED_ABSORBED,
    EVENTS_ALL = 1 << 30
};

static const struct wl_param params[] = {
    {"particles", 1 << 15, 1, 1 << 27, 0, "particles"},
    {"side", 64, 1, 4096, 0, "zones per dimension of the square"},
    {"materials", 16, 1, 1024, 0, "materials"},
    {"steps", 2, 1, 1000, 0, "time steps"},
    {"rounds", 3, 1, 64, 0, "launches in which a time step advances particles"},
    {"events", 8, 1, 1 << 20, 0, "events of a particle in a round but the last"},
    {"length", 4, 1, 1000, 0, "path of a particle in a time step, in zones"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "particles=500,side=12,materials=3,length=3", NULL},
    {"carve_s32", "particles=156250,side=181,steps=1", "CARVE at 1/32, 8 MB"},
    {"carve", "particles=5000000,side=1024,steps=10", "CARVE MCB-5M-particles, 254 MB"},
    {0},
};

/* As in the device code. */
struct particle {
    float x, y, along_x, along_y, left, weight;
    uint32_t zone_x, zone_y, group_alive, random;
};

struct direction {
    float x, y;
};

struct problem {
    uint32_t particles, zones, side, materials;
    int steps, rounds, events;
    float length;
    float *free_path, *paths; /* tables as on the device */
    uint32_t *absorbed;
    struct direction *directions;
    uint32_t *material, *track, *collisions; /* computed here */
};

static struct problem problem_of(const struct wl *w)
{
    const uint32_t side = (uint32_t)wl_param(w, "side");
    return (struct problem){.particles = (uint32_t)wl_param(w, "particles"),
                            .zones = side * side,
                            .side = side,
                            .materials = (uint32_t)wl_param(w, "materials"),
                            .steps = (int)wl_param(w, "steps"),
                            .rounds = (int)wl_param(w, "rounds"),
                            .events = (int)wl_param(w, "events"),
                            .length = (float)wl_param(w, "length")};
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct problem p = problem_of(w);
    return 48 * (uint64_t)p.particles + 16 * (uint64_t)p.zones + 4 * (GROUPS + 1) * (uint64_t)p.materials +
           4 * PATHS + 8 * DIRECTIONS + 4 * ((uint64_t)p.rounds + 1);
}

/* ---- the CPU: particle by particle, from its first step to its last ---- */

static uint32_t mix(uint32_t h)
{
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return h ^ (h >> 16);
}

static uint32_t draw(struct particle *p)
{
    p->random = p->random * 1664525u + 1013904223u;
    return mix(p->random);
}

static void be_born(const struct problem *q, struct particle *p)
{
    const uint32_t last = q->side - 1;
    p->x = (float)(draw(p) >> 8) * ((float)q->side * 0x1p-24f);
    p->y = (float)(draw(p) >> 8) * ((float)q->side * 0x1p-24f);
    p->zone_x = (uint32_t)p->x < last ? (uint32_t)p->x : last;
    p->zone_y = (uint32_t)p->y < last ? (uint32_t)p->y : last;
    const struct direction to = q->directions[draw(p) % DIRECTIONS];
    p->along_x = to.x;
    p->along_y = to.y;
    p->weight = 1;
    p->group_alive = 1;
}

/* The edge of the zone ahead of the particle along one axis. */
static float edge_ahead(float along, uint32_t zone) { return along > 0 ? (float)zone + 1 : (float)zone; }

static float path_to_edge(float at, float along, uint32_t zone)
{
    return along == 0 ? 1e30f : (edge_ahead(along, zone) - at) / along;
}

static void cross_edge(const struct problem *q, float *at, float *along, uint32_t *zone)
{
    const uint32_t border = *along > 0 ? q->side - 1 : 0;
    *at = edge_ahead(*along, *zone);
    if (*zone == border)
        *along = -*along;
    else
        *zone += *along > 0 ? 1 : UINT32_MAX;
}

/* One event: the particle moves to the edge of its zone, to a collision or to the end of the time step. */
static void advance(const struct problem *q, struct particle *p)
{
    const uint32_t zone = p->zone_y * q->side + p->zone_x, material = q->material[zone],
                   group = p->group_alive / 2;
    const float edge_x = path_to_edge(p->x, p->along_x, p->zone_x),
                edge_y = path_to_edge(p->y, p->along_y, p->zone_y), edge = fmaxf(fminf(edge_x, edge_y), 0);
    const float collision = q->free_path[material * GROUPS + group] * q->paths[draw(p) % PATHS];
    const float path = fminf(fminf(edge, collision), p->left);
    q->track[zone] += (uint32_t)(path * p->weight * 256);
    p->left -= path;
    p->x = fmaf(p->along_x, path, p->x);
    p->y = fmaf(p->along_y, path, p->y);
    if (path == collision) {
        q->collisions[zone]++;
        p->weight *= 0.9375f;
        if (draw(p) < q->absorbed[material] || p->weight < 0.125f) {
            p->group_alive = 0;
            p->left = 0;
            return;
        }
        const struct direction to = q->directions[draw(p) % DIRECTIONS];
        p->along_x = to.x;
        p->along_y = to.y;
        const uint32_t lower = group + (draw(p) & 1);
        p->group_alive = (lower < GROUPS ? lower : GROUPS - 1) * 2 + 1;
    } else if (path == edge) {
        if (edge_x <= edge_y)
            cross_edge(q, &p->x, &p->along_x, &p->zone_x);
        else
            cross_edge(q, &p->y, &p->along_y, &p->zone_y);
    }
}

static void follow_all(struct wl *w, struct problem *q)
{
    q->material = wl_scratch(w, 4 * (uint64_t)q->zones);
    q->track = wl_scratch(w, 4 * (uint64_t)q->zones);
    q->collisions = wl_scratch(w, 4 * (uint64_t)q->zones);
    for (uint32_t zone = 0; zone < q->zones; zone++)
        q->material[zone] = mix(zone / q->side / 8 * 65536 + zone % q->side / 8 + 1) % q->materials;
    for (uint32_t i = 0; i < q->particles; i++) {
        struct particle p = {.random = mix(i * 2654435761u + 7)};
        for (int step = 0; step < q->steps; step++) {
            if (!p.group_alive) be_born(q, &p);
            p.left = q->length;
            while (p.left > 0) advance(q, &p);
        }
    }
}

/* ---- tables ---- */

static void *table(struct wl *w, const char *name, const void *content, uint64_t bytes)
{
    void *to = wl_alloc(w, name, bytes);
    wl_write(w, to, content, bytes);
    return to;
}

static void make_tables(struct wl *w, struct problem *q)
{
    q->free_path = wl_scratch(w, 4 * GROUPS * (uint64_t)q->materials);
    q->absorbed = wl_scratch(w, 4 * (uint64_t)q->materials);
    q->paths = wl_scratch(w, 4 * PATHS);
    q->directions = wl_scratch(w, 8 * DIRECTIONS);
    for (uint32_t k = 0; k < q->materials * GROUPS; k++) q->free_path[k] = wl_f32(SEED_PATH, k, 0.5f, 3);
    for (uint32_t k = 0; k < q->materials; k++)
        q->absorbed[k] = (uint32_t)wl_below(SEED_ABSORBED, k, (uint64_t)1 << 30);
    for (int k = 0; k < PATHS; k++) q->paths[k] = (float)-log((k + 0.5) / PATHS);
    for (int k = 0; k < DIRECTIONS; k++) {
        const double angle = (k + 0.5) * (2 * 3.14159265358979 / DIRECTIONS);
        q->directions[k] = (struct direction){(float)cos(angle), (float)sin(angle)};
    }
}

static void check(struct wl *w, const char *name, const uint32_t *output, const uint32_t *reference,
                  uint64_t count)
{
    wl_check_u32(
        w, &(struct wl_check){
               .name = name, .output = output, .count = count, .reference = wl_expect_u32, .arg = reference});
}

static void run(struct wl *w)
{
    struct problem q = problem_of(w);
    make_tables(w, &q);
    const uint64_t zones = q.zones, particles = q.particles;
    const int side = (int)q.side, materials = (int)q.materials;
    struct particle *particle = wl_alloc(w, "particles", particles * sizeof *particle);
    uint32_t *list = wl_alloc(w, "list", 4 * particles), *next = wl_alloc(w, "next list", 4 * particles);
    uint32_t *counts = wl_alloc(w, "counts", 4 * ((uint64_t)q.rounds + 1));
    uint32_t *track = wl_alloc(w, "track", 4 * zones), *collisions = wl_alloc(w, "collisions", 4 * zones);
    uint32_t *total = wl_alloc(w, "total", 4 * zones);
    /* only read, together at the end: small tables share pages with each other and not with tallies */
    uint32_t *material = wl_alloc(w, "material", 4 * zones);
    float *free_path = table(w, "free path", q.free_path, 4 * GROUPS * (uint64_t)q.materials);
    uint32_t *absorbed = table(w, "absorbed", q.absorbed, 4 * (uint64_t)q.materials);
    float *paths = table(w, "paths", q.paths, 4 * PATHS);
    void *directions = table(w, "directions", q.directions, 8 * DIRECTIONS);

    const struct wl_dim block = wl_dim(BLOCK), by_zone = wl_dim(wl_blocks((int64_t)zones, BLOCK)),
                        by_particle = wl_dim(wl_blocks((int64_t)particles, BLOCK));
    WL_LAUNCH(w, "mcb_init_zones", by_zone, block, material, track, collisions, total, side, materials);
    WL_LAUNCH(w, "mcb_init_particles", by_particle, block, particle, q.particles);
    wl_measure(w);
    for (int step = 0; step < q.steps; step++) {
        WL_LAUNCH(w, "mcb_source", by_particle, block, particle, directions, list, counts, q.rounds, side,
                  q.length, q.particles);
        for (int round = 0; round < q.rounds; round++) {
            uint32_t *from = round % 2 ? next : list, *to = round % 2 ? list : next;
            WL_LAUNCH(w, "mcb_advance", by_particle, block, particle, from, to, counts, round, material,
                      track, collisions, free_path, absorbed, paths, directions, side,
                      round == q.rounds - 1 ? (int)EVENTS_ALL : q.events);
        }
        WL_LAUNCH(w, "mcb_tally", by_zone, block, track, total, (int)zones);
    }
    wl_wait(w); /* the reference is large: only of a run that comes to its end */
    follow_all(w, &q);
    check(w, "total", total, q.track, zones);
    check(w, "collisions", collisions, q.collisions, zones);
}

WORKLOAD(mcb, .suite = "CORAL", .sharing = "-",
         .description = "Monte Carlo transport of particles, atomics to the tallies of zones",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
