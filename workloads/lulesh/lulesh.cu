/* lulesh: shock hydrodynamics on an unstructured mesh of hexahedra (the structure of LULESH): 24 launches per
 * time step. Element kernels gather the coordinates and velocities of eight nodes through nodes_of[elem*8+k]
 * and write eight corner forces. Node kernels gather these corner forces through corners[]. Kernels of the
 * artificial viscosity gather from six neighbour elements. Kernels of the equation of state stream arrays that
 * are compressed through the list of the region's elements.
 *
 * Vectors are stored component after component: x of all nodes, then y, then z. */
#include "device.h"

#define HOURGLASS 0.03f
#define CUT       1e-7f
#define TWO_THIRD (2.0f / 3.0f)

/* Rows of the work array of the equation of state, as many words as there are elements each. */
enum {
    E_OLD,
    DELV,
    P_OLD,
    Q_OLD,
    QQ_OLD,
    QL_OLD,
    COMPRESSION,
    COMPRESSION_HALF,
    E_NEW,
    P_NEW,
    Q_NEW,
    P_HALF,
    BVC
};
/* Words of the clock: step, smallest bits of both constraints. */
enum { CLOCK_DT, CLOCK_COURANT, CLOCK_HYDRO };

struct hexahedron {
    float at[3][8];
};

static __device__ __forceinline__ float noise(unsigned k)
{
    return (float)((k * 2654435761u) >> 16) / 65536.0f;
}

static __device__ __forceinline__ void gather(hexahedron &h, const float *vectors, const int *nodes_of,
                                              int elem, int nodes)
{
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const int node = nodes_of[elem * 8 + k];
#pragma unroll
        for (int c = 0; c < 3; c++) h.at[c][k] = vectors[c * nodes + node];
    }
}

/* Area vector of face a, b, c, d: half the cross product of the diagonals. */
static __device__ __forceinline__ void area(const hexahedron &h, int a, int b, int c, int d, float *n)
{
    const float ux = h.at[0][c] - h.at[0][a], uy = h.at[1][c] - h.at[1][a], uz = h.at[2][c] - h.at[2][a];
    const float vx = h.at[0][d] - h.at[0][b], vy = h.at[1][d] - h.at[1][b], vz = h.at[2][d] - h.at[2][b];
    n[0] = 0.5f * (uy * vz - uz * vy);
    n[1] = 0.5f * (uz * vx - ux * vz);
    n[2] = 0.5f * (ux * vy - uy * vx);
}

/* Adds the quarter of a face's area vector to its nodes; volume gets a third of centre x area. */
static __device__ __forceinline__ void add_face(const hexahedron &h, int a, int b, int c, int d,
                                                hexahedron &normals, float &volume, float &largest)
{
    float n[3], square = 0.0f;
    area(h, a, b, c, d, n);
#pragma unroll
    for (int i = 0; i < 3; i++) {
        const float quarter = 0.25f * n[i], origin = h.at[i][0];
        normals.at[i][a] += quarter;
        normals.at[i][b] += quarter;
        normals.at[i][c] += quarter;
        normals.at[i][d] += quarter;
        volume += quarter * (h.at[i][a] + h.at[i][b] + h.at[i][c] + h.at[i][d] - 4.0f * origin) / 3.0f;
        square += n[i] * n[i];
    }
    largest = fmaxf(largest, square);
}

/* Area vectors of the eight nodes, the volume, and the square of the largest face area. */
static __device__ __forceinline__ float node_normals(const hexahedron &h, hexahedron &normals, float &largest)
{
    float volume = 0.0f;
    largest = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; k++) normals.at[0][k] = normals.at[1][k] = normals.at[2][k] = 0.0f;
    add_face(h, 0, 3, 2, 1, normals, volume, largest);
    add_face(h, 4, 5, 6, 7, normals, volume, largest);
    add_face(h, 0, 1, 5, 4, normals, volume, largest);
    add_face(h, 1, 2, 6, 5, normals, volume, largest);
    add_face(h, 2, 3, 7, 6, normals, volume, largest);
    add_face(h, 3, 0, 4, 7, normals, volume, largest);
    return volume;
}

/* ---- initialisation ---- */

extern "C" __global__ void lulesh_start_nodes(float *position, float *velocity, float *acceleration,
                                              float *force, int side, int nodes)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nodes) return;
    const int place[3] = {i % side, i / side % side, i / (side * side)};
#pragma unroll
    for (int c = 0; c < 3; c++) {
        position[c * nodes + i] = (float)place[c] + 0.1f * noise((unsigned)(i * 3 + c));
        velocity[c * nodes + i] = acceleration[c * nodes + i] = force[c * nodes + i] = 0.0f;
    }
}

/* Energy of the blast in element 0, a varied background elsewhere. */
extern "C" __global__ void lulesh_start_elements(const float *position, const int *nodes_of, float *energy,
                                                 float *pressure, float *q, float *v, float *volo,
                                                 float *mass, float *sound, float *clock, float dt, int elems,
                                                 int nodes)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elems) return;
    hexahedron h, normals;
    float largest;
    gather(h, position, nodes_of, e, nodes);
    const float volume = node_normals(h, normals, largest);
    const float own = e == 0 ? 5.0f : 0.5f + 0.2f * noise((unsigned)e);
    energy[e] = own;
    pressure[e] = TWO_THIRD * own;
    q[e] = 0.0f;
    v[e] = 1.0f;
    volo[e] = mass[e] = volume;
    sound[e] = sqrtf(TWO_THIRD * own + TWO_THIRD * TWO_THIRD * own);
    if (e == 0) {
        clock[CLOCK_DT] = dt;
        clock[CLOCK_COURANT] = clock[CLOCK_HYDRO] = 1e20f;
    }
}

extern "C" __global__ void lulesh_start_masses(const int *first, const int *corners, const float *mass,
                                               float *node_mass, int nodes)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nodes) return;
    float sum = 0.0f;
    for (int k = first[i]; k < first[i + 1]; k++) sum += 0.125f * mass[corners[k] / 8];
    node_mass[i] = sum;
}

/* ---- nodes: forces, motion ---- */

extern "C" __global__ void lulesh_stress(const float *position, const int *nodes_of, const float *pressure,
                                         const float *q, float *corner_force, int elems, int nodes)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elems) return;
    hexahedron h, normals;
    float largest;
    gather(h, position, nodes_of, e, nodes);
    node_normals(h, normals, largest);
    const float stress = pressure[e] + q[e];
#pragma unroll
    for (int c = 0; c < 3; c++)
#pragma unroll
        for (int k = 0; k < 8; k++) corner_force[(c * elems + e) * 8 + k] = stress * normals.at[c][k];
}

extern "C" __global__ void lulesh_sum_forces(const int *first, const int *corners, const float *corner_force,
                                             float *force, int add, int elems, int nodes)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nodes) return;
    float sum[3] = {0.0f, 0.0f, 0.0f};
    for (int k = first[i]; k < first[i + 1]; k++) {
        const int corner = corners[k];
#pragma unroll
        for (int c = 0; c < 3; c++) sum[c] += corner_force[c * elems * 8 + corner];
    }
#pragma unroll
    for (int c = 0; c < 3; c++) force[c * nodes + i] = add ? force[c * nodes + i] + sum[c] : sum[c];
}

/* Adds to total[] the force of one hourglass mode with signs s0..s7. */
static __device__ __forceinline__ void add_mode(const hexahedron &h, const hexahedron &v,
                                                const hexahedron &normals, const float *sign, float inverse,
                                                hexahedron &total)
{
    float shape[3] = {0.0f, 0.0f, 0.0f}, rate[3] = {0.0f, 0.0f, 0.0f}, gamma[8];
#pragma unroll
    for (int c = 0; c < 3; c++)
#pragma unroll
        for (int k = 0; k < 8; k++) shape[c] += sign[k] * (h.at[c][k] - h.at[c][0]);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        gamma[k] = sign[k] - inverse * (normals.at[0][k] * shape[0] + normals.at[1][k] * shape[1] +
                                        normals.at[2][k] * shape[2]);
#pragma unroll
        for (int c = 0; c < 3; c++) rate[c] += gamma[k] * v.at[c][k];
    }
#pragma unroll
    for (int k = 0; k < 8; k++)
#pragma unroll
        for (int c = 0; c < 3; c++) total.at[c][k] += gamma[k] * rate[c];
}

extern "C" __global__ void lulesh_hourglass(const float *position, const float *velocity, const int *nodes_of,
                                            const float *sound, const float *mass, float *corner_force,
                                            int elems, int nodes)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elems) return;
    hexahedron h, v, normals, total;
    float largest;
    gather(h, position, nodes_of, e, nodes);
    gather(v, velocity, nodes_of, e, nodes);
    const float volume = node_normals(h, normals, largest), inverse = 1.0f / volume;
#pragma unroll
    for (int k = 0; k < 8; k++) total.at[0][k] = total.at[1][k] = total.at[2][k] = 0.0f;
    const float modes[4][8] = {{1, 1, -1, -1, -1, -1, 1, 1},
                               {1, -1, -1, 1, -1, 1, 1, -1},
                               {1, -1, 1, -1, 1, -1, 1, -1},
                               {-1, 1, -1, 1, 1, -1, 1, -1}};
#pragma unroll
    for (int m = 0; m < 4; m++) add_mode(h, v, normals, modes[m], inverse, total);
    const float by = -HOURGLASS * sound[e] * mass[e] / powf(volume, 1.0f / 3.0f);
#pragma unroll
    for (int c = 0; c < 3; c++)
#pragma unroll
        for (int k = 0; k < 8; k++) corner_force[(c * elems + e) * 8 + k] = by * total.at[c][k];
}

extern "C" __global__ void lulesh_accelerate(const float *force, const float *node_mass, float *acceleration,
                                             int nodes)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nodes) return;
#pragma unroll
    for (int c = 0; c < 3; c++) acceleration[c * nodes + i] = force[c * nodes + i] / node_mass[i];
}

/* Nodes on a plane of symmetry do not leave it. plane[c * count + k]: node k of the plane across axis c. */
extern "C" __global__ void lulesh_boundary(const int *plane, float *acceleration, int count, int nodes)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3 * count) acceleration[i / count * nodes + plane[i]] = 0.0f;
}

extern "C" __global__ void lulesh_move(const float *acceleration, float *velocity, float *position,
                                       const float *clock, int nodes)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nodes) return;
    const float dt = clock[CLOCK_DT];
#pragma unroll
    for (int c = 0; c < 3; c++) {
        float v = velocity[c * nodes + i] + acceleration[c * nodes + i] * dt;
        if (fabsf(v) < CUT) v = 0.0f;
        velocity[c * nodes + i] = v;
        position[c * nodes + i] += v * dt;
    }
}

/* ---- elements: kinematics and artificial viscosity ---- */

extern "C" __global__ void lulesh_kinematics(const float *position, const float *velocity,
                                             const int *nodes_of, const float *volo, const float *v,
                                             float *vnew, float *delv, float *length, float *strain,
                                             const float *clock, int elems, int nodes)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elems) return;
    hexahedron h, u, normals;
    float largest;
    gather(h, position, nodes_of, e, nodes);
    gather(u, velocity, nodes_of, e, nodes);
    const float volume = node_normals(h, normals, largest), relative = volume / volo[e];
    vnew[e] = relative;
    delv[e] = relative - v[e];
    length[e] = volume / sqrtf(largest);
    const float half = 0.5f * clock[CLOCK_DT];
#pragma unroll
    for (int c = 0; c < 3; c++)
#pragma unroll
        for (int k = 0; k < 8; k++) h.at[c][k] -= half * u.at[c][k];
    const float inverse = 1.0f / node_normals(h, normals, largest);
#pragma unroll
    for (int c = 0; c < 3; c++) {
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < 8; k++) sum += u.at[c][k] * normals.at[c][k];
        strain[c * elems + e] = sum * inverse;
    }
}

extern "C" __global__ void lulesh_strain(float *strain, float *vdov, int elems)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elems) return;
    const float sum = strain[e] + strain[elems + e] + strain[2 * elems + e];
    vdov[e] = sum;
#pragma unroll
    for (int c = 0; c < 3; c++) strain[c * elems + e] -= sum / 3.0f;
}

/* Mean of four corners less the mean of the four opposite ones. */
static __device__ __forceinline__ float across(const float *a, int p, int q, int r, int s, int t, int u,
                                               int v, int w)
{
    return 0.25f * (a[p] + a[q] + a[r] + a[s] - a[t] - a[u] - a[v] - a[w]);
}

static __device__ __forceinline__ void differences(const hexahedron &h, float d[3][3])
{
#pragma unroll
    for (int c = 0; c < 3; c++) {
        d[0][c] = across(h.at[c], 1, 2, 5, 6, 0, 3, 4, 7);
        d[1][c] = across(h.at[c], 2, 3, 6, 7, 0, 1, 4, 5);
        d[2][c] = across(h.at[c], 4, 5, 6, 7, 0, 1, 2, 3);
    }
}

/* Extent of the element and difference of velocity along its three axes. */
extern "C" __global__ void lulesh_q_gradient(const float *position, const float *velocity,
                                             const int *nodes_of, const float *volo, const float *vnew,
                                             float *delx, float *delv_axis, int elems, int nodes)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elems) return;
    hexahedron h, u;
    gather(h, position, nodes_of, e, nodes);
    gather(u, velocity, nodes_of, e, nodes);
    float d[3][3], dv[3][3];
    differences(h, d);
    differences(u, dv);
    const float volume = volo[e] * vnew[e];
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        const float *a = d[(axis + 1) % 3], *b = d[(axis + 2) % 3];
        const float nx = a[1] * b[2] - a[2] * b[1], ny = a[2] * b[0] - a[0] * b[2],
                    nz = a[0] * b[1] - a[1] * b[0];
        const float inverse = 1.0f / sqrtf(nx * nx + ny * ny + nz * nz);
        delx[axis * elems + e] = volume * inverse;
        delv_axis[axis * elems + e] = (nx * dv[axis][0] + ny * dv[axis][1] + nz * dv[axis][2]) * inverse;
    }
}

/* LULESH switches the viscosity off at the sign of the change of volume. A ramp stands for the switch, here and
 * in viscosity(), so that rounding cannot change the result: a reference in double stays comparable.
 * around[(axis * 2 + side) * elems + e]: neighbour element, or e itself at the border. */
extern "C" __global__ void lulesh_q_region(const int *region, const int *around, const float *delx,
                                           const float *delv_axis, const float *vdov, const float *mass,
                                           const float *volo, const float *vnew, float *ql, float *qq,
                                           int elems)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= elems) return;
    const int e = region[k];
    float linear = 0.0f, square = 0.0f;
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        const float own = delv_axis[axis * elems + e], inverse = 1.0f / (own + 1e-36f);
        const float low = delv_axis[axis * elems + around[(axis * 2) * elems + e]] * inverse;
        const float high = delv_axis[axis * elems + around[(axis * 2 + 1) * elems + e]] * inverse;
        float phi = 0.5f * (low + high);
        phi = fminf(phi, fminf(2.0f * low, 2.0f * high));
        phi = fminf(fmaxf(phi, 0.0f), 1.0f);
        const float jump = fminf(own * delx[axis * elems + e], 0.0f);
        linear += jump * (1.0f - phi);
        square += jump * jump * (1.0f - phi * phi);
    }
    const float density = mass[e] / (volo[e] * vnew[e]);
    const float closing = fminf(fmaxf(-20.0f * vdov[e], 0.0f), 1.0f);
    ql[e] = -0.5f * closing * density * linear;
    qq[e] = TWO_THIRD * closing * density * square;
}

/* ---- elements: equation of state, on the compressed arrays of the region ---- */

extern "C" __global__ void lulesh_eos_load(const int *region, const float *energy, const float *pressure,
                                           const float *q, const float *ql, const float *qq,
                                           const float *delv, const float *vnew, float *work, int elems)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= elems) return;
    const int e = region[k];
    const float change = delv[e], volume = vnew[e];
    work[E_OLD * elems + k] = energy[e];
    work[DELV * elems + k] = change;
    work[P_OLD * elems + k] = pressure[e];
    work[Q_OLD * elems + k] = q[e];
    work[QQ_OLD * elems + k] = qq[e];
    work[QL_OLD * elems + k] = ql[e];
    work[COMPRESSION * elems + k] = 1.0f / volume - 1.0f;
    work[COMPRESSION_HALF * elems + k] = 1.0f / (volume - 0.5f * change) - 1.0f;
}

extern "C" __global__ void lulesh_eos_energy_1(float *work, int elems)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= elems) return;
    work[E_NEW * elems + k] =
        work[E_OLD * elems + k] -
        0.5f * work[DELV * elems + k] * (work[P_OLD * elems + k] + work[Q_OLD * elems + k]);
}

/* Pressure from the energy and the compression in row `from`, into row `to`. */
extern "C" __global__ void lulesh_eos_pressure(float *work, int from, int to, int elems)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= elems) return;
    const float bvc = TWO_THIRD * (work[from * elems + k] + 1.0f), p = bvc * work[E_NEW * elems + k];
    work[BVC * elems + k] = bvc;
    work[to * elems + k] = fabsf(p) < CUT ? 0.0f : p;
}

static __device__ __forceinline__ float viscosity(const float *work, int elems, int k, float compression,
                                                  float p)
{
    const float closing = fminf(fmaxf(-100.0f * work[DELV * elems + k], 0.0f), 1.0f);
    const float volume = 1.0f / (1.0f + compression);
    const float square = TWO_THIRD * work[E_NEW * elems + k] + volume * volume * work[BVC * elems + k] * p;
    return closing * (sqrtf(fmaxf(square, 1e-9f)) * work[QL_OLD * elems + k] + work[QQ_OLD * elems + k]);
}

extern "C" __global__ void lulesh_eos_energy_2(float *work, int elems)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= elems) return;
    const float p = work[P_HALF * elems + k], old = work[P_OLD * elems + k] + work[Q_OLD * elems + k];
    const float q = viscosity(work, elems, k, work[COMPRESSION_HALF * elems + k], p);
    work[Q_NEW * elems + k] = q;
    work[E_NEW * elems + k] += 0.5f * work[DELV * elems + k] * (3.0f * old - 4.0f * (p + q));
}

extern "C" __global__ void lulesh_eos_energy_3(float *work, int elems)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= elems) return;
    const float p = work[P_NEW * elems + k], old = work[P_OLD * elems + k] + work[Q_OLD * elems + k];
    const float q = viscosity(work, elems, k, work[COMPRESSION * elems + k], p);
    const float half = work[P_HALF * elems + k] + work[Q_NEW * elems + k];
    work[E_NEW * elems + k] -= (7.0f * old - 8.0f * half + p + q) * work[DELV * elems + k] / 6.0f;
}

extern "C" __global__ void lulesh_eos_q(float *work, int elems)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= elems) return;
    work[Q_NEW * elems + k] =
        viscosity(work, elems, k, work[COMPRESSION * elems + k], work[P_NEW * elems + k]);
}

extern "C" __global__ void lulesh_eos_store(const int *region, const float *work, float *energy,
                                            float *pressure, float *q, int elems)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= elems) return;
    const int e = region[k];
    energy[e] = work[E_NEW * elems + k];
    pressure[e] = work[P_NEW * elems + k];
    q[e] = work[Q_NEW * elems + k];
}

extern "C" __global__ void lulesh_sound_speed(const int *region, const float *work, const float *vnew,
                                              float *sound, int elems)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= elems) return;
    const int e = region[k];
    const float square = TWO_THIRD * work[E_NEW * elems + k] +
                         vnew[e] * vnew[e] * work[BVC * elems + k] * work[P_NEW * elems + k];
    sound[e] = sqrtf(fmaxf(square, 1e-9f));
}

extern "C" __global__ void lulesh_volumes(const float *vnew, float *v, int elems)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < elems) v[e] = fabsf(vnew[e] - 1.0f) < 1e-10f ? 1.0f : vnew[e];
}

/* ---- time ---- */

/* Smallest step of both constraints. Positive floats are ordered as their bits. */
extern "C" __global__ void lulesh_constraints(const int *region, const float *sound, const float *vdov,
                                              const float *length, float *clock, int elems)
{
    __shared__ int least[2];
    if (threadIdx.x < 2) least[threadIdx.x] = __float_as_int(1e20f);
    __syncthreads();
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < elems) {
        const int e = region[k];
        const float rate = vdov[e], l = length[e];
        float square = sound[e] * sound[e];
        if (rate < 0.0f) square += 64.0f * l * l * rate * rate;
        atomicMin(&least[0], __float_as_int(l / sqrtf(square)));
        atomicMin(&least[1], __float_as_int(0.1f / (fabsf(rate) + 1e-20f)));
    }
    __syncthreads();
    if (threadIdx.x < 2) atomicMin((int *)clock + CLOCK_COURANT + threadIdx.x, least[threadIdx.x]);
}

extern "C" __global__ void lulesh_time(float *clock)
{
    const float old = clock[CLOCK_DT],
                most = fminf(0.5f * clock[CLOCK_COURANT], clock[CLOCK_HYDRO] * (2.0f / 3.0f));
    clock[CLOCK_DT] = fminf(most, 1.1f * old);
    clock[CLOCK_COURANT] = clock[CLOCK_HYDRO] = 1e20f;
}
