/* hpgmg_amr: kernels of a geometric multigrid solve on boxes of two sizes, through lists of blocks and of copies.
 *
 * A box has a layer of ghost cells around its cells; its vectors lie one after the other. A thread block works on
 * one entry of a list: a part of a box of at most 8 x 8 x 8 cells (struct block), a thread per cell of a plane, or
 * a piece of a face that is copied into the ghost cells of another box (struct copy). Operator: variable
 * coefficients on the faces of the cells, 7 points. */
#include "device.h"

enum { U, F, R, INVERSE, BETA_X, BETA_Y, BETA_Z }; /* vectors of a box */

struct __align__(16) block
{
    unsigned first; /* first cell in vector U of its box, in floats */
    int side;       /* cells per dimension of the box, ghost cells included */
    int width;      /* cells per dimension of the block */
    int x, y, z;    /* place of the first cell in the domain */
    unsigned above; /* first cell of the part of the coarser box under it */
    int unused;
};

struct __align__(8) copy
{
    unsigned from, to; /* first cells, in floats */
    int from_side, to_side, axis, width;
};

/* The cell of this thread in plane 0 of the block. */
struct here {
    int x, y;
    bool inside;
    unsigned at;
};

static __device__ __forceinline__ here here_in(const block &b)
{
    here h;
    h.x = threadIdx.x % 8;
    h.y = threadIdx.x / 8;
    h.inside = h.x < b.width && h.y < b.width;
    h.at = b.first + h.y * b.side + h.x;
    return h;
}

/* b.side^3: distance between the vectors of a box. */
static __device__ __forceinline__ int volume(int side) { return side * side * side; }

static __device__ __forceinline__ float beta_at(float x, float y, float z)
{
    return 1.0f + 0.25f * (x + y * z);
}

/* Right-hand side, coefficients and inverse of the diagonal, from the place of the cell in the unit cube. */
extern "C" __global__ void hpgmg_amr_init(float *data, const block *blocks, int cells, int level)
{
    const block b = blocks[blockIdx.x];
    const here h = here_in(b);
    if (!h.inside) return;
    const float step = 1.0f / (float)cells, square = (float)cells * (float)cells;
    const int plane = b.side * b.side, v = volume(b.side);
    for (int k = 0; k < b.width; k++) {
        const int gx = b.x + h.x, gy = b.y + h.y, gz = b.z + k;
        const float x = gx * step, y = gy * step, z = gz * step, half = 0.5f * step;
        const float low_x = beta_at(x, y + half, z + half), high_x = beta_at(x + step, y + half, z + half);
        const float low_y = beta_at(x + half, y, z + half), high_y = beta_at(x + half, y + step, z + half);
        const float low_z = beta_at(x + half, y + half, z), high_z = beta_at(x + half, y + half, z + step);
        float *at = data + h.at + k * plane;
        at[U * v] = at[R * v] = 0.0f;
        at[F * v] = level ? 0.0f : 1.0f + x - 2.0f * y * z;
        at[BETA_X * v] = low_x;
        at[BETA_Y * v] = low_y;
        at[BETA_Z * v] = low_z;
        if (h.x == b.width - 1) at[BETA_X * v + 1] = high_x; /* the face behind the last cell */
        if (h.y == b.width - 1) at[BETA_Y * v + b.side] = high_y;
        if (k == b.width - 1) at[BETA_Z * v + plane] = high_z;
        const int last = cells - 1; /* a face on the boundary counts twice: its ghost cell is the negative */
        const float sum = low_x * (gx == 0 ? 2.0f : 1.0f) + high_x * (gx == last ? 2.0f : 1.0f) +
                          low_y * (gy == 0 ? 2.0f : 1.0f) + high_y * (gy == last ? 2.0f : 1.0f) +
                          low_z * (gz == 0 ? 2.0f : 1.0f) + high_z * (gz == last ? 2.0f : 1.0f);
        at[INVERSE * v] = 1.0f / (square * sum);
    }
}

/* Ghost cells of U: a piece of a face from the box beside it (sign 1), or the negative of the cells inside at the
 * boundary of the domain (sign -1). */
extern "C" __global__ void hpgmg_amr_copy(float *data, const copy *copies, float sign)
{
    const copy c = copies[blockIdx.x];
    const int from_u = c.axis == 0 ? c.from_side : 1, to_u = c.axis == 0 ? c.to_side : 1;
    const int from_v = c.axis == 2 ? c.from_side : c.from_side * c.from_side;
    const int to_v = c.axis == 2 ? c.to_side : c.to_side * c.to_side;
    for (int k = threadIdx.x; k < c.width * c.width; k += blockDim.x) {
        const int u = k % c.width, v = k / c.width;
        data[c.to + u * to_u + v * to_v] = sign * data[c.from + u * from_u + v * from_v];
    }
}

/* The operator on U. */
static __device__ __forceinline__ float apply(const float *at, int side, int v, float square)
{
    const int plane = side * side;
    const float u = at[0];
    const float *x = at + BETA_X * v, *y = at + BETA_Y * v, *z = at + BETA_Z * v;
    return square * (x[0] * (u - at[-1]) + x[1] * (u - at[1]) + y[0] * (u - at[-side]) +
                     y[side] * (u - at[side]) + z[0] * (u - at[-plane]) + z[plane] * (u - at[plane]));
}

/* Half a Gauss-Seidel sweep: the cells of one colour. */
extern "C" __global__ void hpgmg_amr_smooth(float *data, const block *blocks, float square, int colour)
{
    const block b = blocks[blockIdx.x];
    const here h = here_in(b);
    if (!h.inside) return;
    const int v = volume(b.side);
    for (int k = (b.x + b.y + b.z + h.x + h.y + colour) & 1; k < b.width; k += 2) {
        float *at = data + h.at + k * b.side * b.side;
        at[0] += at[INVERSE * v] * (at[F * v] - apply(at, b.side, v, square));
    }
}

extern "C" __global__ void hpgmg_amr_residual(float *data, const block *blocks, float square)
{
    const block b = blocks[blockIdx.x];
    const here h = here_in(b);
    if (!h.inside) return;
    const int v = volume(b.side);
    for (int k = 0; k < b.width; k++) {
        float *at = data + h.at + k * b.side * b.side;
        at[R * v] = at[F * v] - apply(at, b.side, v, square);
    }
}

/* Right-hand side of the coarser level: the mean residual of eight cells. */
extern "C" __global__ void hpgmg_amr_restrict(const float *data, float *coarse, const block *blocks)
{
    const block b = blocks[blockIdx.x];
    const here h = here_in(b);
    if (h.x >= b.width / 2 || h.y >= b.width / 2) return;
    const int side = (b.side - 2) / 2 + 2, row = b.side, plane = b.side * b.side;
    for (int k = 0; k < b.width / 2; k++) {
        const float *r = data + b.first + R * volume(b.side) + 2 * (k * plane + h.y * row + h.x);
        const float sum =
            r[0] + r[1] + r[row] + r[row + 1] + r[plane] + r[plane + 1] + r[plane + row] + r[plane + row + 1];
        coarse[b.above + F * volume(side) + (k * side + h.y) * side + h.x] = 0.125f * sum;
    }
}

extern "C" __global__ void hpgmg_amr_zero(float *data, const block *blocks)
{
    const block b = blocks[blockIdx.x];
    const here h = here_in(b);
    if (!h.inside) return;
    for (int k = 0; k < b.width; k++) data[h.at + k * b.side * b.side] = 0.0f;
}

/* Correction from the coarser level: linear, from the coarse cell and the coarse cell beside it per axis. */
extern "C" __global__ void hpgmg_amr_interpolate(float *data, const float *coarse, const block *blocks)
{
    const block b = blocks[blockIdx.x];
    const here h = here_in(b);
    if (!h.inside) return;
    const int side = (b.side - 2) / 2 + 2, plane = side * side;
    for (int k = 0; k < b.width; k++) {
        const float *c = coarse + b.above + (k / 2 * side + h.y / 2) * side + h.x / 2;
        const float beside = c[h.x % 2 ? 1 : -1] + c[h.y % 2 ? side : -side] + c[k % 2 ? plane : -plane];
        data[h.at + k * b.side * b.side] += 0.25f * (c[0] + beside);
    }
}

/* Sum over a block of 64 threads, valid in thread 0. An array: clang moves the load of a single shared variable
 * above the barrier. */
static __device__ __forceinline__ float block_sum(float value)
{
    __shared__ float sums[2];
    for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(0xffffffffu, value, by);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    return sums[0] + sums[1];
}

/* Square of the residual: a part per block, then the sum of the parts. */
extern "C" __global__ void hpgmg_amr_norm(const float *data, const block *blocks, float *parts)
{
    const block b = blocks[blockIdx.x];
    const here h = here_in(b);
    float value = 0.0f;
    for (int k = 0; h.inside && k < b.width; k++) {
        const float r = data[h.at + R * volume(b.side) + k * b.side * b.side];
        value += r * r;
    }
    const float sum = block_sum(value);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void hpgmg_amr_norm_sum(const float *parts, float *norm, int count)
{
    float value = 0.0f;
    for (int k = threadIdx.x; k < count; k += blockDim.x) value += parts[k];
    const float sum = block_sum(value);
    if (threadIdx.x == 0) *norm = sum;
}

/* The solution in one piece, after the last cycle. */
extern "C" __global__ void hpgmg_amr_gather(const float *data, const block *blocks, float *solution,
                                            int cells)
{
    const block b = blocks[blockIdx.x];
    const here h = here_in(b);
    if (!h.inside) return;
    for (int k = 0; k < b.width; k++)
        solution[((long long)(b.z + k) * cells + b.y + h.y) * cells + b.x + h.x] =
            data[h.at + k * b.side * b.side];
}
