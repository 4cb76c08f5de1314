/* mriq: the matrix Q of the reconstruction of magnetic resonance images (Parboil's MRI-Q). A first launch makes the
 * squared magnitudes of the samples. Then a thread per voxel sums a rotation for every sample; samples are in constant
 * memory, 1024 per launch. */
#include "device.h"

#define SAMPLES_MAX 1024

/* Place in the space of frequencies, and magnitude. */
__constant__ float4 samples[SAMPLES_MAX];

extern "C" __global__ void mriq_magnitude(const float *real, const float *imaginary, float *magnitude, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) magnitude[i] = real[i] * real[i] + imaginary[i] * imaginary[i];
}

extern "C" __global__ void mriq(const float *x, const float *y, const float *z, float *q_real, float *q_imaginary,
                                int voxels, int count)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= voxels) return;
    const float at_x = x[v], at_y = y[v], at_z = z[v];
    float real = q_real[v], imaginary = q_imaginary[v];
    for (int k = 0; k < count; k++) {
        const float angle = 6.2831853f * (samples[k].x * at_x + samples[k].y * at_y + samples[k].z * at_z);
        real += samples[k].w * cosf(angle);
        imaginary += samples[k].w * sinf(angle);
    }
    q_real[v] = real;
    q_imaginary[v] = imaginary;
}
