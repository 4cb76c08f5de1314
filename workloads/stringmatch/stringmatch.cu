/* stringmatch: where a keyword stands in a text (Mars): a map thread per line compares the keyword at every
 * place of its line, first to count, then to emit the places. */
#include "device.h"
#include "prefix.h"

static __device__ bool stands_at(const unsigned char *text, const unsigned char *keyword, int letters)
{
    for (int k = 0; k < letters; k++)
        if (text[k] != keyword[k]) return false;
    return true;
}

extern "C" __global__ void stringmatch_count(const unsigned char *text, const unsigned *starts,
                                             const unsigned char *keyword, int letters, unsigned *counts,
                                             int lines)
{
    const int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    unsigned found = 0;
    for (unsigned i = starts[line]; i + letters <= starts[line + 1]; i++)
        if (stands_at(text + i, keyword, letters)) found++;
    counts[line] = found;
}

extern "C" __global__ void stringmatch_emit(const unsigned char *text, const unsigned *starts,
                                            const unsigned char *keyword, int letters, const unsigned *counts,
                                            const unsigned *offsets, unsigned *places, int lines)
{
    const int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines || !counts[line]) return;
    unsigned to = offsets[line];
    for (unsigned i = starts[line]; i + letters <= starts[line + 1]; i++)
        if (stands_at(text + i, keyword, letters)) places[to++] = i;
}
