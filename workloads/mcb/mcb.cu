/* mcb: Monte Carlo transport of particles through a square of zones.
 *
 * A thread follows a particle from zone to zone: it looks up the zone's material and the material's mean free
 * path, takes the nearest of zone edge, collision and end of the time step, and adds the track length to the
 * zone's tally and a collision to the zone's count, both with atomics. Particles lie in random places, so zones
 * are read and tallied by all blocks. A round follows particles for a number of events; those that are not done
 * are put on a list, from which the next round takes them.
 *
 * All arithmetic is exact in the same way on every processor (products alone or fused, quotients, tables in
 * place of logarithm and sine), and tallies are whole numbers: the result does not depend on the order. */
#include "device.h"

#define GROUPS     8    /* of energy */
#define PATHS      1024 /* table of path lengths */
#define DIRECTIONS 4096

struct __align__(8) particle
{
    float x, y;             /* in zones */
    float along_x, along_y; /* direction, length 1 */
    float left;             /* path to the end of the time step */
    float weight;
    unsigned zone_x, zone_y;
    unsigned group_alive; /* group * 2 + alive */
    unsigned random;      /* state of the generator */
};

/* A product that is not fused with what follows. */
static __device__ __forceinline__ float times(float a, float b) { return fmaf(a, b, 0.0f); }

static __device__ __forceinline__ unsigned mix(unsigned h)
{
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return h ^ (h >> 16);
}

static __device__ __forceinline__ unsigned draw(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return mix(*state);
}

/* ---- initialisation, before the time steps ---- */

/* Materials in patches of 8 x 8 zones. */
extern "C" __global__ void mcb_init_zones(unsigned *material, unsigned *track, unsigned *collisions,
                                          unsigned *total, int side, int materials)
{
    const int zone = blockIdx.x * blockDim.x + threadIdx.x;
    if (zone >= side * side) return;
    const unsigned patch = zone / side / 8 * 65536 + zone % side / 8;
    material[zone] = mix(patch + 1) % materials;
    track[zone] = collisions[zone] = total[zone] = 0;
}

extern "C" __global__ void mcb_init_particles(particle *particles, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    particle p = {0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 0, 0, 0, mix(i * 2654435761u + 7)};
    particles[i] = p;
}

/* ---- a time step ---- */

/* A new particle in the place of each that was absorbed; a time step for all; all are on the list. */
extern "C" __global__ void mcb_source(particle *particles, const float2 *directions, unsigned *list,
                                      unsigned *counts, int rounds, int side, float step, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (unsigned)rounds) counts[i + 1] = 0;
    if (i == 0) counts[0] = count;
    if (i >= count) return;
    particle p = particles[i];
    if (!(p.group_alive & 1)) {
        p.x = times((float)(draw(&p.random) >> 8), times((float)side, 0x1p-24f));
        p.y = times((float)(draw(&p.random) >> 8), times((float)side, 0x1p-24f));
        p.zone_x = min((unsigned)p.x, (unsigned)side - 1);
        p.zone_y = min((unsigned)p.y, (unsigned)side - 1);
        const float2 to = directions[draw(&p.random) % DIRECTIONS];
        p.along_x = to.x;
        p.along_y = to.y;
        p.weight = 1.0f;
        p.group_alive = 1;
    }
    p.left = step;
    particles[i] = p;
    list[i] = i;
}

/* Path to the edge of the zone along one axis. */
static __device__ __forceinline__ float to_edge(float at, float along, unsigned zone)
{
    if (along > 0.0f) return (((float)zone + 1.0f) - at) / along;
    if (along < 0.0f) return ((float)zone - at) / along;
    return 1e30f;
}

/* One zone on along an axis; at the border of the square the particle is reflected. */
static __device__ __forceinline__ void cross(float *at, float *along, unsigned *zone, int side)
{
    if (*along > 0.0f) {
        *at = (float)*zone + 1.0f;
        if (*zone + 1 == (unsigned)side)
            *along = -*along;
        else
            ++*zone;
    } else {
        *at = (float)*zone;
        if (*zone == 0)
            *along = -*along;
        else
            --*zone;
    }
}

/* Follows the particles of the list for at most `events` events each. free_path: [material][group];
 * absorbed: [material], of 2^32 collisions. */
extern "C" __global__ void mcb_advance(particle *particles, const unsigned *list, unsigned *next,
                                       unsigned *counts, int round, const unsigned *material, unsigned *track,
                                       unsigned *collisions, const float *free_path, const unsigned *absorbed,
                                       const float *paths, const float2 *directions, int side, int events)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= counts[round]) return;
    const unsigned me = list[i];
    particle p = particles[me];
    for (int event = 0; event < events && p.left > 0.0f; event++) {
        const unsigned zone = p.zone_y * side + p.zone_x, of = material[zone], group = p.group_alive >> 1;
        const float edge_x = to_edge(p.x, p.along_x, p.zone_x), edge_y = to_edge(p.y, p.along_y, p.zone_y);
        const float edge = fmaxf(fminf(edge_x, edge_y), 0.0f);
        const float collision = times(free_path[of * GROUPS + group], paths[draw(&p.random) % PATHS]);
        const float path = fminf(fminf(edge, collision), p.left);
        atomicAdd(&track[zone], (unsigned)times(times(path, p.weight), 256.0f));
        p.left = path == p.left ? 0.0f : p.left - path;
        p.x = fmaf(p.along_x, path, p.x);
        p.y = fmaf(p.along_y, path, p.y);
        if (path == collision) {
            atomicAdd(&collisions[zone], 1u);
            p.weight = times(p.weight, 0.9375f);
            if (draw(&p.random) < absorbed[of] || p.weight < 0.125f) {
                p.group_alive = 0;
                p.left = 0.0f;
                break;
            }
            const float2 to = directions[draw(&p.random) % DIRECTIONS];
            p.along_x = to.x;
            p.along_y = to.y;
            p.group_alive = min(group + (draw(&p.random) & 1), (unsigned)GROUPS - 1) << 1 | 1;
        } else if (path == edge) {
            if (edge_x <= edge_y)
                cross(&p.x, &p.along_x, &p.zone_x, side);
            else
                cross(&p.y, &p.along_y, &p.zone_y, side);
        }
    }
    particles[me] = p;
    if (p.left > 0.0f) next[atomicAdd(&counts[round + 1], 1u)] = me;
}

/* The tally of the step goes into the total. */
extern "C" __global__ void mcb_tally(unsigned *track, unsigned *total, int zones)
{
    const int zone = blockIdx.x * blockDim.x + threadIdx.x;
    if (zone >= zones) return;
    total[zone] += track[zone];
    track[zone] = 0;
}
