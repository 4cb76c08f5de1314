/* comd: molecular dynamics with the embedded-atom method and link cells (the structure of CoMD): 16 launches
 * per time step. Atoms live in the slots of their cell; cells around the domain are a halo with periodic
 * copies. One warp per cell: lane k and lane k + 16 share an atom and go through the atoms of 27 cells, which a
 * list names. Potentials are interpolated in tables that all warps share.
 *
 * Vectors are stored component after component, slots of all cells each. */
#include "device.h"

#define SLOTS  64
#define AROUND 27
#define WARPS  4 /* of a block */

struct domain {
    int cell, lane; /* cell: of the whole grid, halo included; negative: none */
};

/* Cell of this warp: list[k * stride + at] of the k-th warp. */
static __device__ __forceinline__ domain cell_of_warp(const int *list, int stride, int at, int count)
{
    const int k = (int)(blockIdx.x * WARPS + threadIdx.x / 32);
    domain d;
    d.lane = (int)threadIdx.x % 32;
    d.cell = k < count ? list[k * stride + at] : -1;
    return d;
}

static __device__ __forceinline__ float noise(unsigned k)
{
    return (float)((k * 2654435761u) >> 16) / 65536.0f - 0.5f;
}

/* Component c of the lattice site of an atom: four atoms per cube. Sites lie near borders of cells, so that atoms
 * change their cell in every time step. */
static __device__ __forceinline__ float site(int id, int c, int lattice)
{
    const int cube = id / 4, basis = id % 4;
    const int place = c == 0   ? cube % lattice
                      : c == 1 ? cube / lattice % lattice
                               : cube / (lattice * lattice);
    return (float)place + 0.02f + (basis != 0 && basis != 3 - c ? 0.5f : 0.0f);
}

/* Cell along one axis, without halo. */
static __device__ __forceinline__ int cell_along(float x, float inverse, int cells)
{
    return min(max((int)floorf(x * inverse), 0), cells - 1);
}

/* ---- initialisation and result ---- */

extern "C" __global__ void comd_start(float *position, float *velocity, int *id, int *count, float inverse,
                                      int cells, int lattice, int atoms, int slots)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= atoms) return;
    float x[3];
    int at[3];
    for (int c = 0; c < 3; c++) {
        x[c] = site(i, c, lattice) + 0.1f * noise((unsigned)(i * 6 + c));
        if (x[c] < 0.0f) x[c] += (float)lattice;
        at[c] = cell_along(x[c], inverse, cells) + 1;
    }
    const int cell = (at[2] * (cells + 2) + at[1]) * (cells + 2) + at[0], slot = atomicAdd(&count[cell], 1);
    if (slot >= SLOTS) return;
    for (int c = 0; c < 3; c++) {
        position[c * slots + cell * SLOTS + slot] = x[c];
        velocity[c * slots + cell * SLOTS + slot] = 2.0f * noise((unsigned)(i * 6 + 3 + c));
    }
    id[cell * SLOTS + slot] = i;
}

/* Displacement from the lattice site and velocity of every atom by its number; counts atoms in wrong cells. */
extern "C" __global__ void comd_collect(const float *position, const float *velocity, const int *id,
                                        const int *count, const int *around, float *result,
                                        unsigned *misplaced, float inverse, int cells, int lattice, int inner,
                                        int slots)
{
    const domain d = cell_of_warp(around, AROUND, AROUND / 2, inner);
    if (d.cell < 0) return;
    for (int s = d.lane; s < count[d.cell]; s += 32) {
        const int at = d.cell * SLOTS + s, own = id[at];
        int place[3];
        for (int c = 0; c < 3; c++) {
            const float x = position[c * slots + at], moved = x - site(own, c, lattice);
            place[c] = cell_along(x, inverse, cells) + 1;
            result[own * 6 + c] = moved - (float)lattice * rintf(moved / (float)lattice);
            result[own * 6 + 3 + c] = velocity[c * slots + at];
        }
        if ((place[2] * (cells + 2) + place[1]) * (cells + 2) + place[0] != d.cell) atomicAdd(misplaced, 1u);
    }
}

/* ---- motion ---- */

/* to += dt x by: velocities by forces, positions by velocities. */
extern "C" __global__ void comd_advance(float *to, const float *by, const int *count, const int *around,
                                        float dt, int inner, int slots)
{
    const domain d = cell_of_warp(around, AROUND, AROUND / 2, inner);
    if (d.cell < 0) return;
    for (int s = d.lane; s < count[d.cell]; s += 32)
        for (int c = 0; c < 3; c++) {
            const int at = c * slots + d.cell * SLOTS + s;
            to[at] += dt * by[at];
        }
}

/* Atoms that left their cell are appended to the new one, through the periodic border if need be; the old slot
 * stays empty. before[]: atoms of the cell at the last sort; count[] grows meanwhile. */
extern "C" __global__ void comd_move(float *position, float *velocity, int *id, int *count, const int *before,
                                     const int *around, float inverse, int cells, int lattice, int inner,
                                     int slots)
{
    const domain d = cell_of_warp(around, AROUND, AROUND / 2, inner);
    if (d.cell < 0) return;
    const float length = (float)lattice;
    for (int s = d.lane; s < before[d.cell]; s += 32) {
        const int from = d.cell * SLOTS + s;
        float x[3];
        int at[3];
        for (int c = 0; c < 3; c++) {
            x[c] = position[c * slots + from];
            if (x[c] < 0.0f) x[c] += length;
            if (x[c] >= length) x[c] -= length;
            at[c] = cell_along(x[c], inverse, cells) + 1;
        }
        const int cell = (at[2] * (cells + 2) + at[1]) * (cells + 2) + at[0];
        if (cell == d.cell) continue;
        const int slot = atomicAdd(&count[cell], 1);
        if (slot >= SLOTS) continue;
        for (int c = 0; c < 3; c++) {
            position[c * slots + cell * SLOTS + slot] = x[c];
            velocity[c * slots + cell * SLOTS + slot] = velocity[c * slots + from];
        }
        id[cell * SLOTS + slot] = id[from];
        id[from] = -1;
    }
}

/* Closes the gaps of a cell and sorts its atoms by number; one block of SLOTS threads per cell. */
extern "C" __global__ void comd_sort(float *position, float *velocity, int *id, int *count, int *before,
                                     const int *around, int slots)
{
    __shared__ int ids[SLOTS];
    const int cell = around[blockIdx.x * AROUND + AROUND / 2], t = threadIdx.x, at = cell * SLOTS + t;
    const int used = min(count[cell], SLOTS), own = t < used ? id[at] : -1;
    float values[6];
    for (int c = 0; c < 3; c++) {
        values[c] = own < 0 ? 0.0f : position[c * slots + at];
        values[c + 3] = own < 0 ? 0.0f : velocity[c * slots + at];
    }
    ids[t] = own;
    __syncthreads();
    int rank = 0, left = 0;
    for (int k = 0; k < used; k++) {
        rank += ids[k] >= 0 && ids[k] < own;
        left += ids[k] >= 0;
    }
    if (own >= 0) {
        for (int c = 0; c < 3; c++) {
            position[c * slots + cell * SLOTS + rank] = values[c];
            velocity[c * slots + cell * SLOTS + rank] = values[c + 3];
        }
        id[cell * SLOTS + rank] = own;
    }
    if (t == 0) count[cell] = before[cell] = left;
}

/* ---- halo: pairs[2 k] is copied to pairs[2 k + 1]; the first half of the pairs is the lower side ---- */

extern "C" __global__ void comd_halo_atoms(float *position, int *count, const int *pairs, int axis,
                                           float length, int number, int slots)
{
    const domain from = cell_of_warp(pairs, 2, 0, number), to = cell_of_warp(pairs, 2, 1, number);
    if (to.cell < 0) return;
    const int lower = (int)(blockIdx.x * WARPS + threadIdx.x / 32) < number / 2, atoms = count[from.cell];
    for (int s = to.lane; s < atoms; s += 32)
        for (int c = 0; c < 3; c++) {
            const float shift = c != axis ? 0.0f : lower ? -length : length;
            position[c * slots + to.cell * SLOTS + s] = position[c * slots + from.cell * SLOTS + s] + shift;
        }
    if (to.lane == 0) count[to.cell] = atoms;
}

extern "C" __global__ void comd_halo_slopes(float *slope, const int *count, const int *pairs, int number)
{
    const domain from = cell_of_warp(pairs, 2, 0, number), to = cell_of_warp(pairs, 2, 1, number);
    if (to.cell < 0) return;
    for (int s = to.lane; s < count[from.cell]; s += 32)
        slope[to.cell * SLOTS + s] = slope[from.cell * SLOTS + s];
}

/* ---- forces ---- */

struct sample {
    float value, slope;
};

/* Quadratic interpolation; table[k + 1] is the value at k / inverse. */
static __device__ __forceinline__ sample look_up(const float *table, float x, float inverse, int entries)
{
    const float scaled = x * inverse;
    const int k = min((int)floorf(scaled), entries - 1);
    const float part = scaled - (float)k, before = table[k], at = table[k + 1], next = table[k + 2],
                after = table[k + 3];
    const float low = next - before, high = after - at;
    sample s;
    s.value = at + 0.5f * part * (low + part * (next + before - 2.0f * at));
    s.slope = 0.5f * (low + part * (high - low)) * inverse;
    return s;
}

/* First pass: pair energy and force, density of electrons. */
extern "C" __global__ void comd_density(const float *position, const int *count, const int *around,
                                        const float *pair_table, const float *density_table, float *force,
                                        float *energy, float *density, float cutoff, float inverse,
                                        int entries, int inner, int slots)
{
    const domain d = cell_of_warp(around, AROUND, AROUND / 2, inner);
    if (d.cell < 0) return;
    const int *cells = around + (blockIdx.x * WARPS + threadIdx.x / 32) * AROUND;
    const int atoms = count[d.cell], half = d.lane / 16;
    for (int base = 0; base < atoms; base += 16) {
        const int s = base + d.lane % 16, own = d.cell * SLOTS + min(s, atoms - 1);
        const float x = position[own], y = position[slots + own], z = position[2 * slots + own];
        float fx = 0.0f, fy = 0.0f, fz = 0.0f, e = 0.0f, rho = 0.0f;
        for (int n = 0; n < AROUND; n++) {
            const int first = cells[n] * SLOTS, end = first + count[cells[n]];
            for (int j = first + half; j < end; j += 2) {
                const float dx = x - position[j], dy = y - position[slots + j],
                            dz = z - position[2 * slots + j];
                const float square = dx * dx + dy * dy + dz * dz;
                if (square >= cutoff * cutoff || j == own) continue;
                const float r = sqrtf(square);
                const sample pair = look_up(pair_table, r, inverse, entries);
                e += 0.5f * pair.value;
                rho += look_up(density_table, r, inverse, entries).value;
                const float by = -pair.slope / r;
                fx += by * dx;
                fy += by * dy;
                fz += by * dz;
            }
        }
        fx += __shfl_xor_sync(0xffffffffu, fx, 16);
        fy += __shfl_xor_sync(0xffffffffu, fy, 16);
        fz += __shfl_xor_sync(0xffffffffu, fz, 16);
        e += __shfl_xor_sync(0xffffffffu, e, 16);
        rho += __shfl_xor_sync(0xffffffffu, rho, 16);
        if (s >= atoms || half) continue;
        force[own] = fx;
        force[slots + own] = fy;
        force[2 * slots + own] = fz;
        energy[own] = e;
        density[own] = rho;
    }
}

/* Second pass: energy of an atom in its density of electrons, and the slope. */
extern "C" __global__ void comd_embed(const float *density, const int *count, const int *around,
                                      const float *embed_table, float *energy, float *slope, float inverse,
                                      int entries, int inner)
{
    const domain d = cell_of_warp(around, AROUND, AROUND / 2, inner);
    if (d.cell < 0) return;
    for (int s = d.lane; s < count[d.cell]; s += 32) {
        const int own = d.cell * SLOTS + s;
        const sample f = look_up(embed_table, density[own], inverse, entries);
        energy[own] += f.value;
        slope[own] = f.slope;
    }
}

/* Third pass: force through the densities of both atoms. */
extern "C" __global__ void comd_force(const float *position, const int *count, const int *around,
                                      const float *density_table, const float *slope, float *force,
                                      float cutoff, float inverse, int entries, int inner, int slots)
{
    const domain d = cell_of_warp(around, AROUND, AROUND / 2, inner);
    if (d.cell < 0) return;
    const int *cells = around + (blockIdx.x * WARPS + threadIdx.x / 32) * AROUND;
    const int atoms = count[d.cell], half = d.lane / 16;
    for (int base = 0; base < atoms; base += 16) {
        const int s = base + d.lane % 16, own = d.cell * SLOTS + min(s, atoms - 1);
        const float x = position[own], y = position[slots + own], z = position[2 * slots + own];
        float fx = 0.0f, fy = 0.0f, fz = 0.0f;
        for (int n = 0; n < AROUND; n++) {
            const int first = cells[n] * SLOTS, end = first + count[cells[n]];
            for (int j = first + half; j < end; j += 2) {
                const float dx = x - position[j], dy = y - position[slots + j],
                            dz = z - position[2 * slots + j];
                const float square = dx * dx + dy * dy + dz * dz;
                if (square >= cutoff * cutoff || j == own) continue;
                const float r = sqrtf(square);
                const float by =
                    -(slope[own] + slope[j]) * look_up(density_table, r, inverse, entries).slope / r;
                fx += by * dx;
                fy += by * dy;
                fz += by * dz;
            }
        }
        fx += __shfl_xor_sync(0xffffffffu, fx, 16);
        fy += __shfl_xor_sync(0xffffffffu, fy, 16);
        fz += __shfl_xor_sync(0xffffffffu, fz, 16);
        if (s >= atoms || half) continue;
        force[own] += fx;
        force[slots + own] += fy;
        force[2 * slots + own] += fz;
    }
}

/* ---- energy: potential and kinetic, first by blocks, then in total ---- */

extern "C" __global__ void comd_energy(const float *velocity, const float *energy, const int *count,
                                       const int *around, float2 *partial, int inner, int slots)
{
    __shared__ float2 sums[WARPS * 32];
    const domain d = cell_of_warp(around, AROUND, AROUND / 2, inner);
    const int t = threadIdx.x;
    float2 sum = make_float2(0.0f, 0.0f);
    if (d.cell >= 0)
        for (int s = d.lane; s < count[d.cell]; s += 32) {
            const int own = d.cell * SLOTS + s;
            const float x = velocity[own], y = velocity[slots + own], z = velocity[2 * slots + own];
            sum.x += energy[own];
            sum.y += 0.5f * (x * x + y * y + z * z);
        }
    sums[t] = sum;
    __syncthreads();
    for (int width = WARPS * 16; width > 0; width /= 2) {
        if (t < width) {
            sums[t].x += sums[t + width].x;
            sums[t].y += sums[t + width].y;
        }
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = sums[0];
}

extern "C" __global__ void comd_energy_end(const float2 *partial, float2 *total, int blocks)
{
    __shared__ float2 sums[WARPS * 32];
    const int t = threadIdx.x;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int k = t; k < blocks; k += WARPS * 32) {
        sum.x += partial[k].x;
        sum.y += partial[k].y;
    }
    sums[t] = sum;
    __syncthreads();
    for (int width = WARPS * 16; width > 0; width /= 2) {
        if (t < width) {
            sums[t].x += sums[t + width].x;
            sums[t].y += sums[t + width].y;
        }
        __syncthreads();
    }
    if (t == 0) *total = sums[0];
}
