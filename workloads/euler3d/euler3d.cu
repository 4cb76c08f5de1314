/* euler3d: compressible Euler equations on an unstructured mesh of tetrahedra, finite volumes, explicit
 * Runge-Kutta (the structure of Rodinia's CFD solver). One thread per cell. All arrays hold one value per
 * cell and component, component after component, so a warp reads consecutive words of its own cells. The flux
 * kernel gathers the five variables of four neighbours through an index array. */
#include "device.h"

#define GAMMA     1.4f
#define VARIABLES 5 /* density, momentum x, y, z, density of energy */
#define FACES     4
#define WING      (-1) /* neighbour number of a solid wall; FAR_FIELD is below it */

struct vec3 {
    float x, y, z;
};

struct state {
    float density, energy, pressure, sound, speed;
    vec3 momentum, velocity;
};

static __device__ __forceinline__ state derive(float density, float mx, float my, float mz, float energy)
{
    state s;
    s.density = density;
    s.momentum = vec3{mx, my, mz};
    s.energy = energy;
    s.velocity = vec3{mx / density, my / density, mz / density};
    const float square =
        s.velocity.x * s.velocity.x + s.velocity.y * s.velocity.y + s.velocity.z * s.velocity.z;
    s.speed = sqrtf(square);
    s.pressure = (GAMMA - 1.0f) * (energy - 0.5f * density * square);
    s.sound = sqrtf(GAMMA * s.pressure / density);
    return s;
}

static __device__ __forceinline__ state load(const float *variables, int cell, int cells)
{
    return derive(variables[cell], variables[cell + cells], variables[cell + 2 * cells],
                  variables[cell + 3 * cells], variables[cell + 4 * cells]);
}

/* Adds the flux of one state through area vector n to sum, with weight by. */
static __device__ __forceinline__ void add_flux(float *sum, const state &s, vec3 n, float by)
{
    const float through = by * (s.velocity.x * n.x + s.velocity.y * n.y + s.velocity.z * n.z);
    sum[0] += through * s.density;
    sum[1] += through * s.momentum.x + by * s.pressure * n.x;
    sum[2] += through * s.momentum.y + by * s.pressure * n.y;
    sum[3] += through * s.momentum.z + by * s.pressure * n.z;
    sum[4] += through * (s.energy + s.pressure);
}

/* Far-field values with a variation of 1 % per cell, so that every cell changes in the first iteration. */
extern "C" __global__ void euler_initialise(float *variables, float *old, float *fluxes, float *step_factors,
                                            const float *far_field, int cells)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells) return;
    for (int v = 0; v < VARIABLES; v++) {
        const unsigned mixed = (unsigned)(i * VARIABLES + v) * 2654435761u;
        variables[i + v * cells] = far_field[v] * (1.0f + 0.01f * ((float)(mixed >> 16) / 65536.0f));
        old[i + v * cells] = 0.0f;
        fluxes[i + v * cells] = 0.0f;
    }
    step_factors[i] = 0.0f;
}

extern "C" __global__ void euler_copy(const float *variables, float *old, int cells)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells) return;
    for (int v = 0; v < VARIABLES; v++) old[i + v * cells] = variables[i + v * cells];
}

extern "C" __global__ void euler_step_factor(const float *variables, const float *areas, float *step_factors,
                                             int cells)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells) return;
    const state s = load(variables, i, cells);
    step_factors[i] = 0.2f / (sqrtf(areas[i]) * (s.speed + s.sound));
}

extern "C" __global__ void euler_flux(const int *neighbours, const float *normals, const float *variables,
                                      const float *far_field, float *fluxes, int cells)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells) return;
    const state own = load(variables, i, cells);
    float sum[VARIABLES] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int face = 0; face < FACES; face++) {
        const int to = neighbours[i + face * cells];
        const vec3 n = vec3{normals[i + (face * 3 + 0) * cells], normals[i + (face * 3 + 1) * cells],
                            normals[i + (face * 3 + 2) * cells]};
        if (to >= 0) {
            const state other = load(variables, to, cells);
            const float length = sqrtf(n.x * n.x + n.y * n.y + n.z * n.z);
            const float smooth = 0.1f * length * (own.speed + other.speed + own.sound + other.sound);
            sum[0] += smooth * (other.density - own.density);
            sum[1] += smooth * (other.momentum.x - own.momentum.x);
            sum[2] += smooth * (other.momentum.y - own.momentum.y);
            sum[3] += smooth * (other.momentum.z - own.momentum.z);
            sum[4] += smooth * (other.energy - own.energy);
            add_flux(sum, own, n, -0.5f);
            add_flux(sum, other, n, -0.5f);
        } else if (to == WING) {
            sum[1] -= own.pressure * n.x;
            sum[2] -= own.pressure * n.y;
            sum[3] -= own.pressure * n.z;
        } else {
            const state outside =
                derive(far_field[0], far_field[1], far_field[2], far_field[3], far_field[4]);
            add_flux(sum, own, n, -0.5f);
            add_flux(sum, outside, n, -0.5f);
        }
    }
    for (int v = 0; v < VARIABLES; v++) fluxes[i + v * cells] = sum[v];
}

extern "C" __global__ void euler_time_step(const float *old, float *variables, const float *step_factors,
                                           const float *fluxes, int divisor, int cells)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells) return;
    const float factor = step_factors[i] / (float)divisor;
    for (int v = 0; v < VARIABLES; v++)
        variables[i + v * cells] = old[i + v * cells] + factor * fluxes[i + v * cells];
}
