/* hpgmg: geometric multigrid on a domain of boxes (the structure of HPGMG): variable coefficients, red-black
 * Gauss-Seidel, V-cycles. Every box has a layer of ghost cells around dim^3 cells. Before every kernel that
 * reads neighbours, one kernel copies faces between boxes by a list of copies, one block per copy, and another
 * one sets the ghosts at the border of the domain by a second list.
 *
 * A level has the same boxes as the next finer one, with dim / 2 cells along an axis. */
#include "device.h"

struct copy {
    int from, to, stride_u, stride_v; /* first words; a face is dim x dim words with these strides */
};

struct cell {
    int at, i, j, k; /* word in the level's arrays; place inside the box */
};

/* Cell of this thread: interior cells of all boxes in order. at < 0: none. */
static __device__ __forceinline__ cell cell_of_thread(int dim, int boxes)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x, inside = dim * dim * dim, box = n / inside,
              side = dim + 2;
    cell c;
    c.i = n % dim;
    c.j = n / dim % dim;
    c.k = n / (dim * dim) % dim;
    c.at = box < boxes ? ((box * side + c.k + 1) * side + c.j + 1) * side + c.i + 1 : -1;
    return c;
}

/* ---- initialisation: one thread per word of a level ---- */

extern "C" __global__ void hpgmg_start(float *u, float *f, float *residual, float *alpha, float *beta_i,
                                       float *beta_j, float *beta_k, float *inverse, int bx, int by, int bz,
                                       int dim, float h)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x, side = dim + 2, box = n / (side * side * side);
    if (box >= bx * by * bz) return;
    const int i = box % bx * dim + n % side - 1, j = box / bx % by * dim + n / side % side - 1;
    const int k = box / (bx * by) * dim + n / (side * side) % side - 1;
    const float x = ((float)i + 0.5f) * h, y = ((float)j + 0.5f) * h, z = ((float)k + 0.5f) * h,
                half = 0.5f * h;
    /* faces below and above the cell along each axis */
    const float b[6] = {1.0f + 0.3f * (x - half) + 0.2f * y * z, 1.0f + 0.3f * (x + half) + 0.2f * y * z,
                        1.0f + 0.3f * (y - half) + 0.2f * z * x, 1.0f + 0.3f * (y + half) + 0.2f * z * x,
                        1.0f + 0.3f * (z - half) + 0.2f * x * y, 1.0f + 0.3f * (z + half) + 0.2f * x * y};
    const int at[3] = {i, j, k}, last[3] = {bx * dim - 1, by * dim - 1, bz * dim - 1};
    bool outside = false;
    float diagonal = 0.0f;
    for (int c = 0; c < 3; c++) {
        diagonal += b[2 * c] * (at[c] == 0 ? 2.0f : 1.0f) + b[2 * c + 1] * (at[c] == last[c] ? 2.0f : 1.0f);
        outside |= at[c] < 0 || at[c] > last[c];
    }
    const unsigned number = (unsigned)((k * (last[1] + 1) + j) * (last[0] + 1) + i);
    u[n] = residual[n] = 0.0f;
    f[n] = outside ? 0.0f : (float)((number * 2654435761u) >> 16) / 65536.0f - 0.25f;
    alpha[n] = 1.0f;
    beta_i[n] = b[0];
    beta_j[n] = b[2];
    beta_k[n] = b[4];
    inverse[n] = 1.0f / (1.0f + diagonal / (h * h));
}

/* ---- ghost cells ---- */

extern "C" __global__ void hpgmg_exchange(float *u, const copy *copies, int dim, int count)
{
    if ((int)blockIdx.x >= count) return;
    const copy c = copies[blockIdx.x];
    for (int t = threadIdx.x; t < dim * dim; t += blockDim.x) {
        const int at = t % dim * c.stride_u + t / dim * c.stride_v;
        u[c.to + at] = u[c.from + at];
    }
}

/* Zero on the border: the ghost is the negative of the cell beside it. */
extern "C" __global__ void hpgmg_boundary(float *u, const copy *copies, int dim, int count)
{
    if ((int)blockIdx.x >= count) return;
    const copy c = copies[blockIdx.x];
    for (int t = threadIdx.x; t < dim * dim; t += blockDim.x) {
        const int at = t % dim * c.stride_u + t / dim * c.stride_v;
        u[c.to + at] = -u[c.from + at];
    }
}

/* ---- stencil ---- */

/* alpha u - div beta grad u */
static __device__ __forceinline__ float apply(const float *u, const float *alpha, const float *beta_i,
                                              const float *beta_j, const float *beta_k, int at, int side,
                                              float scale)
{
    const int row = side, plane = side * side;
    const float own = u[at];
    return alpha[at] * own -
           scale * (beta_i[at + 1] * (u[at + 1] - own) + beta_i[at] * (u[at - 1] - own) +
                    beta_j[at + row] * (u[at + row] - own) + beta_j[at] * (u[at - row] - own) +
                    beta_k[at + plane] * (u[at + plane] - own) + beta_k[at] * (u[at - plane] - own));
}

/* One colour of Gauss-Seidel, in place. dim is even, so colours agree across boxes. */
extern "C" __global__ void hpgmg_smooth(float *u, const float *f, const float *alpha, const float *beta_i,
                                        const float *beta_j, const float *beta_k, const float *inverse,
                                        float scale, int colour, int dim, int boxes)
{
    const cell c = cell_of_thread(dim, boxes);
    if (c.at < 0 || ((c.i + c.j + c.k) & 1) != colour) return;
    u[c.at] += inverse[c.at] * (f[c.at] - apply(u, alpha, beta_i, beta_j, beta_k, c.at, dim + 2, scale));
}

extern "C" __global__ void hpgmg_residual(const float *u, const float *f, const float *alpha,
                                          const float *beta_i, const float *beta_j, const float *beta_k,
                                          float *residual, float scale, int dim, int boxes)
{
    const cell c = cell_of_thread(dim, boxes);
    if (c.at < 0) return;
    residual[c.at] = f[c.at] - apply(u, alpha, beta_i, beta_j, beta_k, c.at, dim + 2, scale);
}

/* ---- between levels; dim: of the level that is written ---- */

extern "C" __global__ void hpgmg_restrict(const float *residual, float *coarse_f, int dim, int boxes)
{
    const cell c = cell_of_thread(dim, boxes);
    if (c.at < 0) return;
    const int side = 2 * dim + 2, box = c.at / ((dim + 2) * (dim + 2) * (dim + 2));
    const float *fine = residual + ((box * side + 2 * c.k + 1) * side + 2 * c.j + 1) * side + 2 * c.i + 1;
    float sum = 0.0f;
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < 2; j++)
            for (int i = 0; i < 2; i++) sum += fine[(k * side + j) * side + i];
    coarse_f[c.at] = 0.125f * sum;
}

extern "C" __global__ void hpgmg_zero(float *u, int words)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < words) u[n] = 0.0f;
}

extern "C" __global__ void hpgmg_interpolate(const float *coarse_u, float *u, int dim, int boxes)
{
    const cell c = cell_of_thread(dim, boxes);
    if (c.at < 0) return;
    const int side = dim / 2 + 2, box = c.at / ((dim + 2) * (dim + 2) * (dim + 2));
    u[c.at] += coarse_u[((box * side + c.k / 2 + 1) * side + c.j / 2 + 1) * side + c.i / 2 + 1];
}

/* Largest absolute value. Positive floats are ordered as their bits. */
extern "C" __global__ void hpgmg_norm(const float *residual, float *norm, int dim, int boxes)
{
    __shared__ int most;
    if (threadIdx.x == 0) most = 0;
    __syncthreads();
    const cell c = cell_of_thread(dim, boxes);
    if (c.at >= 0) atomicMax(&most, __float_as_int(fabsf(residual[c.at])));
    __syncthreads();
    if (threadIdx.x == 0) atomicMax((int *)norm, most);
}
