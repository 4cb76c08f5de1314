/* lulesh: host script. A cube of side^3 hexahedra with perturbed nodes and the energy of a blast in one corner.
 * Numbers are floats where LULESH has doubles; for the footprint of the paper the side is therefore larger.
 *
 * Private by page: arrays of one value per element (energy, pressure, volumes, work arrays of the equation of
 * state, corner forces, index lists). Read-write shared by page and by line: coordinates and velocities, which
 * elements on both sides of a border gather; corner forces, which the nodes of the border gather; differences
 * of velocity, which the neighbour elements gather. A border is one layer of side^2 elements. Read-only shared:
 * index lists on pages of a border.
 * CARVE: Lulesh-Unstruct-Mesh1 has 24 MB, Lulesh-s190 3.7 GB. */
#include "workload.h"

enum { BLOCK = 128, FACES = 6, EOS_ROWS = 13 };
/* Rows of the work array, as in the device code. */
enum { COMPRESSION = 6, COMPRESSION_HALF = 7, P_NEW = 9, P_HALF = 11 };
static const float FIRST_DT = 0.05f;

static const struct wl_param params[] = {
    {"side", 16, 2, 400, 0, "elements along each axis"},
    {"steps", 2, 1, 100000, 0, "time steps, 24 launches each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "side=3", NULL},
    {"mesh1", "side=40,steps=10", "CARVE Lulesh-Unstruct-Mesh1, 24 MB"},
    {"s190", "side=213,steps=2", "CARVE Lulesh-s190, 3.7 GB"},
    {"mesh1_s8", "side=20,steps=10", "CARVE Lulesh-Unstruct-Mesh1, footprint 1/8"},
    {"s190_s32", "side=67,steps=2", "CARVE Lulesh-s190, footprint 1/32"},
    {0},
};

/* Corners of an element as steps from its node of the lowest number. */
static const int steps_of[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                   {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

struct mesh {
    int64_t side, elems, nodes;
    int32_t *first; /* row starts of the corner lists, nodes + 1; from wl_scratch() */
    int32_t *corners;
};

static int64_t cube(int64_t n) { return n * n * n; }

static int32_t node_of(int64_t side, int64_t elem, int64_t corner)
{
    const int64_t x = elem % side + steps_of[corner][0], y = elem / side % side + steps_of[corner][1];
    const int64_t z = elem / (side * side) + steps_of[corner][2];
    return (int32_t)((z * (side + 1) + y) * (side + 1) + x);
}

static struct mesh *mesh_new(struct wl *w, int64_t side)
{
    struct mesh *m = wl_scratch(w, sizeof *m);
    *m = (struct mesh){side, cube(side), cube(side + 1), NULL, NULL};
    m->first = wl_scratch(w, ((uint64_t)m->nodes + 1) * 4);
    m->corners = wl_scratch(w, (uint64_t)m->elems * 32);
    int32_t *next = wl_scratch(w, (uint64_t)m->nodes * 4);
    for (int64_t c = 0; c < m->elems * 8; c++) m->first[node_of(side, c / 8, c % 8) + 1]++;
    for (int64_t i = 0; i < m->nodes; i++) m->first[i + 1] += m->first[i], next[i] = m->first[i];
    for (int64_t c = 0; c < m->elems * 8; c++) m->corners[next[node_of(side, c / 8, c % 8)]++] = (int32_t)c;
    return m;
}

/* ---- first content of the index lists ---- */

static void fill_nodes(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct mesh *m = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const int64_t at = (int64_t)(first / 4 + k);
        ((int32_t *)to)[k] = node_of(m->side, at / 8, at % 8);
    }
}

static void fill_first(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    __builtin_memcpy(to, (const char *)((const struct mesh *)arg)->first + first, bytes);
}

static void fill_corners(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    __builtin_memcpy(to, (const char *)((const struct mesh *)arg)->corners + first, bytes);
}

static int64_t around(int64_t side, int64_t elem, int axis, bool high)
{
    const int64_t stride = axis == 0 ? 1 : axis == 1 ? side : side * side, place = elem / stride % side;
    if (high) return place == side - 1 ? elem : elem + stride;
    return place == 0 ? elem : elem - stride;
}

static void fill_around(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct mesh *m = arg;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const int64_t at = (int64_t)(first / 4 + k), row = at / m->elems;
        ((int32_t *)to)[k] = (int32_t)around(m->side, at % m->elems, (int)row / 2, row % 2);
    }
}

static void fill_region(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t k = 0; k < bytes / 4; k++) ((int32_t *)to)[k] = (int32_t)(first / 4 + k);
}

static void fill_planes(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct mesh *m = arg;
    const int64_t wide = m->side + 1;
    for (uint64_t k = 0; k < bytes / 4; k++) {
        const int64_t at = (int64_t)(first / 4 + k), axis = at / (wide * wide), place = at % (wide * wide);
        const int64_t u = place % wide, v = place / wide;
        ((int32_t *)to)[k] = (int32_t)(axis == 0   ? (v * wide + u) * wide
                                       : axis == 1 ? v * wide * wide + u
                                                   : place);
    }
}

/* ---- reference: one time step after the other in double; corner forces are scattered, not gathered ---- */

struct element {
    double energy, pressure, q, v, volo, vnew, delv, sound, vdov, length, ql, qq, delx[3], jump[3];
};

struct reference {
    const struct mesh *mesh;
    double (*position)[3], (*velocity)[3], (*force)[3], *mass, dt;
    struct element *elements;
};

typedef double corners_t[8][3];

static double noise(uint64_t k) { return (double)((uint32_t)k * 2654435761u >> 16) / 65536.0; }

static void load_corners(const struct mesh *m, int64_t e, double (*from)[3], corners_t to)
{
    for (int64_t k = 0; k < 8; k++) __builtin_memcpy(to[k], from[node_of(m->side, e, k)], sizeof to[k]);
}

/* Area vectors of the nodes; returns the volume. *largest: area of the largest face. */
static double normals_of(corners_t x, corners_t normals, double *largest)
{
    static const int faces[FACES][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                        {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
    double volume = 0;
    *largest = 0;
    __builtin_memset(normals, 0, sizeof(corners_t));
    for (int f = 0; f < FACES; f++) {
        const int *n = faces[f];
        double square = 0;
        for (int c = 0; c < 3; c++) {
            const int d = (c + 1) % 3, g = (c + 2) % 3;
            const double a = ((x[n[2]][d] - x[n[0]][d]) * (x[n[3]][g] - x[n[1]][g]) -
                              (x[n[2]][g] - x[n[0]][g]) * (x[n[3]][d] - x[n[1]][d])) /
                             2;
            for (int k = 0; k < 4; k++) {
                normals[n[k]][c] += a / 4;
                volume += a * (x[n[k]][c] - x[0][c]) / 12;
            }
            square += a * a;
        }
        *largest = fmax(*largest, sqrt(square));
    }
    return volume;
}

static void add_forces(const struct reference *r, int64_t e)
{
    static const double modes[4][8] = {{1, 1, -1, -1, -1, -1, 1, 1},
                                       {1, -1, -1, 1, -1, 1, 1, -1},
                                       {1, -1, 1, -1, 1, -1, 1, -1},
                                       {-1, 1, -1, 1, 1, -1, 1, -1}};
    const struct element *el = &r->elements[e];
    corners_t x, u, n;
    double largest;
    load_corners(r->mesh, e, r->position, x);
    load_corners(r->mesh, e, r->velocity, u);
    const double volume = normals_of(x, n, &largest), by = 0.03 * el->sound * el->volo / cbrt(volume);
    for (int64_t k = 0; k < 8; k++)
        for (int c = 0; c < 3; c++)
            r->force[node_of(r->mesh->side, e, k)][c] += (el->pressure + el->q) * n[k][c];
    for (int m = 0; m < 4; m++) {
        double gamma[8], rate[3] = {0};
        for (int k = 0; k < 8; k++) {
            gamma[k] = modes[m][k];
            for (int j = 0; j < 8; j++)
                for (int c = 0; c < 3; c++) gamma[k] -= n[k][c] * modes[m][j] * x[j][c] / volume;
            for (int c = 0; c < 3; c++) rate[c] += gamma[k] * u[k][c];
        }
        for (int64_t k = 0; k < 8; k++)
            for (int c = 0; c < 3; c++) r->force[node_of(r->mesh->side, e, k)][c] -= by * gamma[k] * rate[c];
    }
}

static void move_nodes(const struct reference *r)
{
    const int64_t wide = r->mesh->side + 1;
    for (int64_t i = 0; i < r->mesh->nodes; i++) {
        const int64_t place[3] = {i % wide, i / wide % wide, i / (wide * wide)};
        for (int c = 0; c < 3; c++) {
            r->velocity[i][c] += place[c] ? r->force[i][c] / r->mass[i] * r->dt : 0;
            if (fabs(r->velocity[i][c]) < 1e-7) r->velocity[i][c] = 0;
            r->position[i][c] += r->velocity[i][c] * r->dt;
        }
    }
}

/* Volumes, strain and, along each axis, extent and difference of velocity. */
static void measure(const struct reference *r, int64_t e)
{
    struct element *el = &r->elements[e];
    corners_t x, u, n;
    double largest, d[3][3] = {{0}}, dv[3][3] = {{0}};
    load_corners(r->mesh, e, r->position, x);
    load_corners(r->mesh, e, r->velocity, u);
    const double volume = normals_of(x, n, &largest);
    el->vnew = volume / el->volo;
    el->delv = el->vnew - el->v;
    el->length = volume / largest;
    for (int k = 0; k < 8; k++)
        for (int axis = 0; axis < 3; axis++)
            for (int c = 0; c < 3; c++) {
                const double sign = steps_of[k][axis] ? 0.25 : -0.25;
                d[axis][c] += sign * x[k][c];
                dv[axis][c] += sign * u[k][c];
            }
    for (int axis = 0; axis < 3; axis++) {
        const double *a = d[(axis + 1) % 3], *b = d[(axis + 2) % 3];
        const double across[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                                  a[0] * b[1] - a[1] * b[0]};
        const double size = sqrt(across[0] * across[0] + across[1] * across[1] + across[2] * across[2]);
        el->delx[axis] = volume / size;
        el->jump[axis] = (across[0] * dv[axis][0] + across[1] * dv[axis][1] + across[2] * dv[axis][2]) / size;
    }
    for (int k = 0; k < 8; k++)
        for (int c = 0; c < 3; c++) x[k][c] -= r->dt / 2 * u[k][c];
    const double half = normals_of(x, n, &largest);
    el->vdov = 0;
    for (int k = 0; k < 8; k++)
        for (int c = 0; c < 3; c++) el->vdov += u[k][c] * n[k][c] / half;
}

static void limit_q(const struct reference *r, int64_t e)
{
    struct element *el = &r->elements[e];
    const double closing = fmin(fmax(-20 * el->vdov, 0), 1);
    el->ql = el->qq = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double own = el->jump[axis] + 1e-36;
        const double low = r->elements[around(r->mesh->side, e, axis, false)].jump[axis] / own;
        const double high = r->elements[around(r->mesh->side, e, axis, true)].jump[axis] / own;
        const double phi = fmin(fmax(fmin((low + high) / 2, 2 * fmin(low, high)), 0), 1);
        const double jump = fmin(el->jump[axis] * el->delx[axis], 0);
        el->ql -= 0.5 * closing / el->vnew * jump * (1 - phi);
        el->qq += 2.0 / 3 * closing / el->vnew * jump * jump * (1 - phi * phi);
    }
}

static double viscosity(const struct element *el, double energy, double volume, double bvc, double p)
{
    const double closing = fmin(fmax(-100 * el->delv, 0), 1);
    return closing * (sqrt(fmax(2.0 / 3 * energy + volume * volume * bvc * p, 1e-9)) * el->ql + el->qq);
}

static void state_of(struct element *el)
{
    const double old = el->pressure + el->q, middle = el->vnew - el->delv / 2;
    double energy = el->energy - el->delv / 2 * old, bvc = 2.0 / 3 / middle;
    const double half = bvc * energy, q_half = viscosity(el, energy, middle, bvc, half);
    energy += el->delv / 2 * (3 * old - 4 * (half + q_half));
    bvc = 2.0 / 3 / el->vnew;
    const double q = viscosity(el, energy, el->vnew, bvc, bvc * energy);
    energy -= (7 * old - 8 * (half + q_half) + bvc * energy + q) * el->delv / 6;
    el->energy = energy;
    el->pressure = bvc * energy;
    el->q = viscosity(el, energy, el->vnew, bvc, el->pressure);
    el->sound = sqrt(fmax(2.0 / 3 * energy + el->vnew * el->vnew * bvc * el->pressure, 1e-9));
    el->v = el->vnew;
}

static void step(struct reference *r)
{
    double courant = 1e20, hydro = 1e20;
    __builtin_memset(r->force, 0, (uint64_t)r->mesh->nodes * sizeof *r->force);
    for (int64_t e = 0; e < r->mesh->elems; e++) add_forces(r, e);
    move_nodes(r);
    for (int64_t e = 0; e < r->mesh->elems; e++) measure(r, e);
    for (int64_t e = 0; e < r->mesh->elems; e++) limit_q(r, e);
    for (int64_t e = 0; e < r->mesh->elems; e++) {
        struct element *el = &r->elements[e];
        state_of(el);
        const double rate = el->vdov < 0 ? 8 * el->length * el->vdov : 0;
        courant = fmin(courant, el->length / sqrt(el->sound * el->sound + rate * rate));
        hydro = fmin(hydro, 0.1 / (fabs(el->vdov) + 1e-20));
    }
    r->dt = fmin(fmin(courant / 2, hydro * 2 / 3), 1.1 * r->dt);
}

static struct reference *reference_new(struct wl *w, const struct mesh *m, int64_t steps)
{
    const uint64_t vectors = (uint64_t)m->nodes * 3 * sizeof(double);
    const int64_t wide = m->side + 1;
    struct reference *r = wl_scratch(w, sizeof *r);
    *r = (struct reference){.mesh = m,
                            .position = wl_scratch(w, vectors),
                            .velocity = wl_scratch(w, vectors),
                            .force = wl_scratch(w, vectors),
                            .mass = wl_scratch(w, vectors / 3),
                            .dt = (double)FIRST_DT,
                            .elements = wl_scratch(w, (uint64_t)m->elems * sizeof(struct element))};
    for (int64_t i = 0; i < m->nodes; i++) {
        const int64_t place[3] = {i % wide, i / wide % wide, i / (wide * wide)};
        for (int c = 0; c < 3; c++)
            r->position[i][c] = (double)(float)((double)place[c] + 0.1 * noise((uint64_t)(i * 3 + c)));
    }
    for (int64_t e = 0; e < m->elems; e++) {
        struct element *el = &r->elements[e];
        corners_t x, n;
        double largest;
        load_corners(m, e, r->position, x);
        el->volo = normals_of(x, n, &largest);
        el->v = 1;
        el->energy = e ? 0.5 + 0.2 * noise((uint64_t)e) : 5;
        el->pressure = 2.0 / 3 * el->energy;
        el->sound = sqrt(2.0 / 3 * (el->energy + el->pressure));
        for (int64_t k = 0; k < 8; k++) r->mass[node_of(m->side, e, k)] += el->volo / 8;
    }
    for (int64_t t = 0; t < steps; t++) step(r);
    return r;
}

static double expected_position(const void *arg, uint64_t at)
{
    const struct reference *r = arg;
    return r->position[at % (uint64_t)r->mesh->nodes][at / (uint64_t)r->mesh->nodes];
}

static double expected_velocity(const void *arg, uint64_t at)
{
    const struct reference *r = arg;
    return r->velocity[at % (uint64_t)r->mesh->nodes][at / (uint64_t)r->mesh->nodes];
}

static double expected_energy(const void *arg, uint64_t e)
{
    return ((const struct reference *)arg)->elements[e].energy;
}
static double expected_pressure(const void *arg, uint64_t e)
{
    return ((const struct reference *)arg)->elements[e].pressure;
}
static double expected_q(const void *arg, uint64_t e)
{
    return ((const struct reference *)arg)->elements[e].q;
}
static double expected_volume(const void *arg, uint64_t e)
{
    return ((const struct reference *)arg)->elements[e].v;
}
static double expected_vdov(const void *arg, uint64_t e)
{
    return ((const struct reference *)arg)->elements[e].vdov;
}
static double expected_clock(const void *arg, uint64_t k)
{
    return k ? 1e20 : ((const struct reference *)arg)->dt;
}

/* ---- device ---- */

struct arrays {
    int32_t *nodes_of, *first, *corners, *around, *region, *planes;
    float *position, *velocity, *acceleration, *force, *node_mass, *corner_force;
    float *energy, *pressure, *q, *ql, *qq, *v, *volo, *vnew, *delv, *vdov, *length, *sound, *mass;
    float *strain, *delx, *delv_axis, *work, *clock;
};

/* Per element 15 words of scalars and lists beside 8 corners twice, 24 corner forces, 9 of vectors, 13 of work;
 * per node 13 words and a row start; three planes of nodes; the clock. */
static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t side = (uint64_t)wl_param(w, "side"), elems = side * side * side;
    const uint64_t plane = (side + 1) * (side + 1), nodes = plane * (side + 1);
    return 4 *
           (elems * (8 + 8 + FACES + 1 + 24 + 13 + 9 + EOS_ROWS) + nodes * 13 + nodes + 1 + 3 * plane + 3);
}

static struct arrays allocate(struct wl *w, struct mesh *m)
{
    const uint64_t per_elem = (uint64_t)m->elems * 4, per_node = (uint64_t)m->nodes * 4;
    const uint64_t plane = (uint64_t)((m->side + 1) * (m->side + 1)) * 4;
    struct arrays a;
    a.nodes_of = wl_input(w, "nodes_of", per_elem * 8, fill_nodes, m);
    a.first = wl_input(w, "first", per_node + 4, fill_first, m);
    a.corners = wl_input(w, "corners", per_elem * 8, fill_corners, m);
    a.around = wl_input(w, "around", per_elem * FACES, fill_around, m);
    a.region = wl_input(w, "region", per_elem, fill_region, m);
    a.planes = wl_input(w, "planes", plane * 3, fill_planes, m);
    a.position = wl_alloc(w, "position", per_node * 3);
    a.velocity = wl_alloc(w, "velocity", per_node * 3);
    a.acceleration = wl_alloc(w, "acceleration", per_node * 3);
    a.force = wl_alloc(w, "force", per_node * 3);
    a.node_mass = wl_alloc(w, "node_mass", per_node);
    a.corner_force = wl_alloc(w, "corner_force", per_elem * 24);
    a.strain = wl_alloc(w, "strain", per_elem * 3);
    a.delx = wl_alloc(w, "delx", per_elem * 3);
    a.delv_axis = wl_alloc(w, "delv_axis", per_elem * 3);
    a.work = wl_alloc(w, "work", per_elem * EOS_ROWS);
    a.clock = wl_alloc(w, "clock", 12);
    float **const scalars[] = {&a.energy, &a.pressure, &a.q,    &a.ql,     &a.qq,    &a.v,   &a.volo,
                               &a.vnew,   &a.delv,     &a.vdov, &a.length, &a.sound, &a.mass};
    static const char *const names[] = {"energy", "pressure", "q",    "ql",     "qq",    "v",   "volo",
                                        "vnew",   "delv",     "vdov", "length", "sound", "mass"};
    for (int k = 0; k < 13; k++) *scalars[k] = wl_alloc(w, names[k], per_elem);
    return a;
}

struct grids {
    struct wl_dim elems, nodes, planes, block;
};

static void launch_nodes(struct wl *w, const struct arrays *a, const struct mesh *m, const struct grids *g)
{
    const int elems = (int)m->elems, nodes = (int)m->nodes, plane = (int)((m->side + 1) * (m->side + 1));
    WL_LAUNCH(w, "lulesh_stress", g->elems, g->block, a->position, a->nodes_of, a->pressure, a->q,
              a->corner_force, elems, nodes);
    WL_LAUNCH(w, "lulesh_sum_forces", g->nodes, g->block, a->first, a->corners, a->corner_force, a->force, 0,
              elems, nodes);
    WL_LAUNCH(w, "lulesh_hourglass", g->elems, g->block, a->position, a->velocity, a->nodes_of, a->sound,
              a->mass, a->corner_force, elems, nodes);
    WL_LAUNCH(w, "lulesh_sum_forces", g->nodes, g->block, a->first, a->corners, a->corner_force, a->force, 1,
              elems, nodes);
    WL_LAUNCH(w, "lulesh_accelerate", g->nodes, g->block, a->force, a->node_mass, a->acceleration, nodes);
    WL_LAUNCH(w, "lulesh_boundary", g->planes, g->block, a->planes, a->acceleration, plane, nodes);
    WL_LAUNCH(w, "lulesh_move", g->nodes, g->block, a->acceleration, a->velocity, a->position, a->clock,
              nodes);
}

static void launch_elements(struct wl *w, const struct arrays *a, const struct mesh *m, const struct grids *g)
{
    const int elems = (int)m->elems, nodes = (int)m->nodes;
    WL_LAUNCH(w, "lulesh_kinematics", g->elems, g->block, a->position, a->velocity, a->nodes_of, a->volo,
              a->v, a->vnew, a->delv, a->length, a->strain, a->clock, elems, nodes);
    WL_LAUNCH(w, "lulesh_strain", g->elems, g->block, a->strain, a->vdov, elems);
    WL_LAUNCH(w, "lulesh_q_gradient", g->elems, g->block, a->position, a->velocity, a->nodes_of, a->volo,
              a->vnew, a->delx, a->delv_axis, elems, nodes);
    WL_LAUNCH(w, "lulesh_q_region", g->elems, g->block, a->region, a->around, a->delx, a->delv_axis, a->vdov,
              a->mass, a->volo, a->vnew, a->ql, a->qq, elems);
    WL_LAUNCH(w, "lulesh_eos_load", g->elems, g->block, a->region, a->energy, a->pressure, a->q, a->ql, a->qq,
              a->delv, a->vnew, a->work, elems);
    WL_LAUNCH(w, "lulesh_eos_energy_1", g->elems, g->block, a->work, elems);
    WL_LAUNCH(w, "lulesh_eos_pressure", g->elems, g->block, a->work, COMPRESSION_HALF, P_HALF, elems);
    WL_LAUNCH(w, "lulesh_eos_energy_2", g->elems, g->block, a->work, elems);
    WL_LAUNCH(w, "lulesh_eos_pressure", g->elems, g->block, a->work, COMPRESSION, P_NEW, elems);
    WL_LAUNCH(w, "lulesh_eos_energy_3", g->elems, g->block, a->work, elems);
    WL_LAUNCH(w, "lulesh_eos_pressure", g->elems, g->block, a->work, COMPRESSION, P_NEW, elems);
    WL_LAUNCH(w, "lulesh_eos_q", g->elems, g->block, a->work, elems);
    WL_LAUNCH(w, "lulesh_eos_store", g->elems, g->block, a->region, a->work, a->energy, a->pressure, a->q,
              elems);
    WL_LAUNCH(w, "lulesh_sound_speed", g->elems, g->block, a->region, a->work, a->vnew, a->sound, elems);
    WL_LAUNCH(w, "lulesh_volumes", g->elems, g->block, a->vnew, a->v, elems);
    WL_LAUNCH(w, "lulesh_constraints", g->elems, g->block, a->region, a->sound, a->vdov, a->length, a->clock,
              elems);
    WL_LAUNCH(w, "lulesh_time", wl_dim(1), wl_dim(1), a->clock);
}

/* Coordinates grow with the side while an element stays 1 wide, so the rounding of volumes grows, too. */
static void check(struct wl *w, const struct arrays *a, const struct reference *r)
{
    const uint64_t elems = (uint64_t)r->mesh->elems, nodes = (uint64_t)r->mesh->nodes * 3;
    const double absolute = 1e-5 + 2e-6 * (double)r->mesh->side;
    const struct wl_check rows[] = {
        {.name = "position", .output = a->position, .count = nodes, .reference = expected_position},
        {.name = "velocity", .output = a->velocity, .count = nodes, .reference = expected_velocity},
        {.name = "energy", .output = a->energy, .count = elems, .reference = expected_energy},
        {.name = "pressure", .output = a->pressure, .count = elems, .reference = expected_pressure},
        {.name = "q", .output = a->q, .count = elems, .reference = expected_q},
        {.name = "volume", .output = a->v, .count = elems, .reference = expected_volume},
        {.name = "vdov", .output = a->vdov, .count = elems, .reference = expected_vdov},
        {.name = "clock", .output = a->clock, .count = 3, .reference = expected_clock},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct wl_check row = rows[k];
        row.arg = r;
        row.absolute = absolute;
        row.relative = 1e-5;
        wl_check_f32(w, &row);
    }
}

static void run(struct wl *w)
{
    struct mesh *m = mesh_new(w, wl_param(w, "side"));
    const int64_t steps = wl_param(w, "steps"), plane = (m->side + 1) * (m->side + 1);
    const int elems = (int)m->elems, nodes = (int)m->nodes;
    const struct arrays a = allocate(w, m);
    const struct grids g = {wl_dim(wl_blocks(elems, BLOCK)), wl_dim(wl_blocks(nodes, BLOCK)),
                            wl_dim(wl_blocks(3 * plane, BLOCK)), wl_dim(BLOCK)};
    WL_LAUNCH(w, "lulesh_start_nodes", g.nodes, g.block, a.position, a.velocity, a.acceleration, a.force,
              (int)m->side + 1, nodes);
    WL_LAUNCH(w, "lulesh_start_elements", g.elems, g.block, a.position, a.nodes_of, a.energy, a.pressure, a.q,
              a.v, a.volo, a.mass, a.sound, a.clock, FIRST_DT, elems, nodes);
    WL_LAUNCH(w, "lulesh_start_masses", g.nodes, g.block, a.first, a.corners, a.mass, a.node_mass, nodes);
    wl_measure(w);
    for (int64_t t = 0; t < steps; t++) {
        launch_nodes(w, &a, m, &g);
        launch_elements(w, &a, m, &g);
    }
    wl_wait(w);
    check(w, &a, reference_new(w, m, steps));
}

WORKLOAD(lulesh, .suite = "CORAL", .sharing = "-",
         .description = "shock hydrodynamics on hexahedra, 24 launches a time step", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
