/* pointer_chase: every thread follows a chain of links, each load waiting for the one before: latency, bare.
 */
#include "device.h"

extern "C" __global__ void pointer_chase(const unsigned *next, unsigned *reached, int steps, int entries,
                                         int threads)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads) return;
    unsigned at = (unsigned)((unsigned long long)entries * t / threads);
    for (int i = 0; i < steps; i++) at = next[at];
    reached[t] = at;
}
