/* kmeans_notex: assignment step of k-means clustering without the texture and its transposed features: a thread walks
 * through the row of its point, once per cluster. Centres are in constant memory. The grid is square. */
#include "device.h"

#define CENTRES_MAX 2048

__constant__ float centres[CENTRES_MAX];

extern "C" __global__ void kmeans_notex(const float *features, int *member, int points, int clusters, int dims)
{
    const int point = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (point >= points) return;
    int nearest = 0;
    float least = INFINITY;
    for (int c = 0; c < clusters; c++) {
        float distance = 0.0f;
        for (int f = 0; f < dims; f++) {
            const float d = features[point * dims + f] - centres[c * dims + f];
            distance += d * d;
        }
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    member[point] = nearest;
}
