/* randomloc: random locality: a thread goes to a random place of a large table and walks a few words from there. */
#include "device.h"

/* The start is a mixed hash of the thread's number, a multiple of `length`. */
extern "C" __global__ void randomloc(const unsigned *table, unsigned *out, int places, int length, int threads)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads) return;
    unsigned hash = (unsigned)t * 2654435761u;
    hash = (hash ^ hash >> 15) * 2246822519u;
    hash ^= hash >> 13;
    const unsigned *at = table + hash % (unsigned)places * (unsigned)length;
    unsigned sum = 0;
    for (int k = 0; k < length; k++) sum += at[k];
    out[t] = sum;
}
