/* lavamd: potential and force on every particle from all particles of its box and of the boxes around it
 * (cutoff = one box; Rodinia). One block per home box: the particles of one neighbour box after the other are
 * staged in shared memory, and every thread goes through them for its own particle. */
#include "device.h"

#define THREADS 128

struct box {
    int count, neighbours[27]; /* itself among them */
};

/* position.w is the particle's softness; force = (potential, x, y, z). */
extern "C" __global__ void lavamd(const box *boxes, const float4 *position, const float *charge,
                                  float4 *force, float alpha, int per_box)
{
    __shared__ float4 home[THREADS], there[THREADS];
    __shared__ float there_charge[THREADS];
    const int t = threadIdx.x, first = blockIdx.x * per_box;
    const box *b = boxes + blockIdx.x;
    if (t < per_box) home[t] = position[first + t];
    float v = 0.0f, x = 0.0f, y = 0.0f, z = 0.0f;
    const int count = b->count;
    for (int k = 0; k < count; k++) {
        const int from = b->neighbours[k] * per_box;
        if (t < per_box) {
            there[t] = position[from + t];
            there_charge[t] = charge[from + t];
        }
        __syncthreads();
        if (t < per_box) {
            const float4 me = home[t];
            for (int j = 0; j < per_box; j++) {
                const float4 other = there[j];
                const float dx = me.x - other.x, dy = me.y - other.y, dz = me.z - other.z;
                const float near = expf(-alpha * (me.w + other.w) * (dx * dx + dy * dy + dz * dz));
                const float pull = 2.0f * there_charge[j] * near;
                v += there_charge[j] * near;
                x += pull * dx;
                y += pull * dy;
                z += pull * dz;
            }
        }
        __syncthreads();
    }
    if (t < per_box) force[first + t] = make_float4(v, x, y, z);
}
