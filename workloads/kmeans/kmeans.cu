/* kmeans: assignment step of k-means clustering. A first launch transposes the features (row per point to row
 * per feature), so that the assignment reads them coalesced; every point reads every centre. */
#include "device.h"

extern "C" __global__ void kmeans_transpose(const float *by_point, float *by_feature, int points,
                                            int features)
{
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points) return;
    for (int f = 0; f < features; f++) by_feature[f * points + p] = by_point[p * features + f];
}

extern "C" __global__ void kmeans_assign(const float *by_feature, const float *centres, int *member,
                                         int points, int features, int clusters)
{
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points) return;
    int nearest = 0;
    float least = INFINITY;
    for (int c = 0; c < clusters; c++) {
        float distance = 0.0f;
        for (int f = 0; f < features; f++) {
            const float d = by_feature[f * points + p] - centres[c * features + f];
            distance += d * d;
        }
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    member[p] = nearest;
}
