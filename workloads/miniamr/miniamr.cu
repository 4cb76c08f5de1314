/* miniamr: kernels of a stencil on blocks of two levels of refinement.
 *
 * A block has n x n x n cells of every variable and a layer of ghost cells around them: data [slot][variable]
 * [z][y][x], n + 2 each. Every kernel works through a list that the host made: of blocks, of faces to copy, of
 * blocks to split or to merge. A thread block has a thread per cell of a plane. It works on one variable of one
 * entry (number: entry * variables + variable), so that contiguous parts of a grid are contiguous in the list; for
 * faces on all variables of one entry. */
#include "device.h"

/* What to copy into the ghost cells of a face. */
enum { SAME_LEVEL, FROM_COARSE, FROM_FINE, BOUNDARY };

struct __align__(16) face
{
    int to, from; /* slots */
    int high;     /* the ghost cells at the high end of the axis */
    int what;     /* kind * 4 + quarter of the coarse face */
};

struct __align__(16) octant { int parent, child, which, unused; /* slots; which: x + 2 y + 4 z */ };

/* The cells of a variable of the block in a slot. */
static __device__ __forceinline__ float *block_of(float *data, int slot, int var, int vars, int n)
{
    const int cells = (n + 2) * (n + 2) * (n + 2);
    return data + ((long long)slot * vars + var) * cells;
}

/* Number of a cell in a block, ghost cells included. */
static __device__ __forceinline__ int cell(int x, int y, int z, int n)
{
    return (z * (n + 2) + y) * (n + 2) + x;
}

/* First content: a number of [0, 1) per cell of the blocks of the list. */
extern "C" __global__ void amr_init(float *data, const int *blocks, int vars, int n)
{
    const int x = threadIdx.x % n, y = threadIdx.x / n;
    if (y >= n) return;
    float *block = block_of(data, blocks[blockIdx.x / vars], blockIdx.x % vars, vars, n);
    for (int z = 0; z < n; z++) {
        unsigned h = ((blockIdx.x * n + z) * n * n + threadIdx.x) * 2654435761u + 12345u;
        h = (h ^ (h >> 15)) * 0x85ebca6bu;
        h = (h ^ (h >> 13)) * 0xc2b2ae35u;
        block[cell(x + 1, y + 1, z + 1, n)] = (float)(int)(h >> 9) * 0x1p-23f;
    }
}

/* Ghost cells across the faces of one axis. */
extern "C" __global__ void amr_faces(float *data, const face *faces, int axis, int vars, int n)
{
    const face f = faces[blockIdx.x];
    const int kind = f.what / 4, half = n / 2, side = n + 2, cells = side * side * side;
    const int stride = axis == 0 ? 1 : axis == 1 ? side : side * side;
    const int u_stride = axis == 0 ? side : 1, v_stride = axis == 2 ? side : side * side;
    const int first_u = f.what % 2 * half, first_v = f.what / 2 % 2 * half,
              width = kind == FROM_FINE ? half : n;
    const int u = threadIdx.x % width, v = threadIdx.x / width;
    if (v >= width) return;
    const bool own = kind == BOUNDARY;
    float *to = block_of(data, f.to, 0, vars, n) + (f.high ? n + 1 : 0) * stride;
    const float *from =
        block_of(data, own ? f.to : f.from, 0, vars, n) + ((f.high != 0) != own ? 1 : n) * stride;
    if (kind == FROM_FINE) {
        to += (first_u + u + 1) * u_stride + (first_v + v + 1) * v_stride;
        from += (2 * u + 1) * u_stride + (2 * v + 1) * v_stride;
        for (int var = 0; var < vars; var++, to += cells, from += cells)
            *to = 0.25f * (from[0] + from[u_stride] + from[v_stride] + from[u_stride + v_stride]);
        return;
    }
    to += (u + 1) * u_stride + (v + 1) * v_stride;
    from += kind == FROM_COARSE ? (first_u + u / 2 + 1) * u_stride + (first_v + v / 2 + 1) * v_stride
                                : (u + 1) * u_stride + (v + 1) * v_stride;
    for (int var = 0; var < vars; var++, to += cells, from += cells) *to = *from;
}

/* Mean of each cell and its six neighbours, in place: the old values are staged in shared memory. */
extern "C" __global__ void amr_stencil(float *data, const int *blocks, int vars, int n)
{
    extern __shared__ float old[];
    float *block = block_of(data, blocks[blockIdx.x / vars], blockIdx.x % vars, vars, n);
    const int side = n + 2, plane = side * side, x = threadIdx.x % n, y = threadIdx.x / n;
    for (int k = threadIdx.x; k < side * plane; k += blockDim.x) old[k] = block[k];
    __syncthreads();
    if (y >= n) return;
    for (int z = 0, at = cell(x + 1, y + 1, 1, n); z < n; z++, at += plane)
        block[at] = (old[at] + old[at - 1] + old[at + 1] + old[at - side] + old[at + side] + old[at - plane] +
                     old[at + plane]) *
                    (1.0f / 7.0f);
}

/* A block of the finer level from an eighth of its parent. */
extern "C" __global__ void amr_split(float *data, const octant *list, int count, int vars, int n)
{
    const int entry = blockIdx.x / vars, var = blockIdx.x % vars, x = threadIdx.x % n, y = threadIdx.x / n;
    if (entry >= count || y >= n) return;
    const octant o = list[entry];
    const float *parent = block_of(data, o.parent, var, vars, n);
    float *child = block_of(data, o.child, var, vars, n);
    const int from_x = (o.which % 2 * n + x) / 2 + 1, from_y = (o.which / 2 % 2 * n + y) / 2 + 1;
    for (int z = 0; z < n; z++)
        child[cell(x + 1, y + 1, z + 1, n)] = parent[cell(from_x, from_y, (o.which / 4 * n + z) / 2 + 1, n)];
}

/* An eighth of a block of the coarser level from its child. */
extern "C" __global__ void amr_merge(float *data, const octant *list, int count, int vars, int n)
{
    const int half = n / 2, x = threadIdx.x % half, y = threadIdx.x / half;
    const int entry = blockIdx.x / vars, var = blockIdx.x % vars;
    if (entry >= count || y >= half) return;
    const octant o = list[entry];
    float *parent = block_of(data, o.parent, var, vars, n);
    const float *child = block_of(data, o.child, var, vars, n);
    const int to_x = o.which % 2 * half + x + 1, to_y = o.which / 2 % 2 * half + y + 1;
    for (int z = 0; z < half; z++) {
        float sum = 0.0f;
        for (int i = 0; i < 8; i++)
            sum += child[cell(2 * x + i % 2 + 1, 2 * y + i / 2 % 2 + 1, 2 * z + i / 4 + 1, n)];
        parent[cell(to_x, to_y, o.which / 4 * half + z + 1, n)] = sum * 0.125f;
    }
}

/* Sum over the block, valid in thread 0. */
static __device__ __forceinline__ float block_sum(float value)
{
    __shared__ float sums[16];
    for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(0xffffffffu, value, by);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 1; k < (int)blockDim.x / 32; k++) value += sums[k];
    return value;
}

/* Check sums: of a variable of a block, then of a variable. */
extern "C" __global__ void amr_sum_blocks(float *data, const int *blocks, float *parts, int vars, int n)
{
    const float *block = block_of(data, blocks[blockIdx.x / vars], blockIdx.x % vars, vars, n);
    const int x = threadIdx.x % n, y = threadIdx.x / n;
    float value = 0.0f;
    if (y < n)
        for (int z = 0; z < n; z++) value += block[cell(x + 1, y + 1, z + 1, n)];
    const float sum = block_sum(value);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

/* A thread block per variable. */
extern "C" __global__ void amr_sum(const float *parts, float *sums, int count)
{
    const int vars = gridDim.x;
    float value = 0.0f;
    for (int k = threadIdx.x; k < count; k += blockDim.x) value += parts[k * vars + blockIdx.x];
    const float sum = block_sum(value);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
