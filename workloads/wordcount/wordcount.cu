/* wordcount: how often every word of a text comes up (Mars): a map thread per line scans its bytes twice,
 * first to count its words, then to emit them (hash, place); the pairs are sorted and groups of equal words
 * counted. */
#include "device.h"
#include "mapreduce.h"

static __device__ bool ends(unsigned char c) { return c == ' ' || c == '\n'; }

extern "C" __global__ void wordcount_count(const unsigned char *text, const unsigned *starts,
                                           unsigned *counts, int lines)
{
    const int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    unsigned words = 0;
    bool inside = false;
    for (unsigned i = starts[line]; i < starts[line + 1]; i++) {
        const bool letter = !ends(text[i]);
        if (letter && !inside) words++;
        inside = letter;
    }
    counts[line] = words;
}

extern "C" __global__ void wordcount_emit(const unsigned char *text, const unsigned *starts,
                                          const unsigned *offsets, uint2 *pairs, int lines)
{
    const int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    unsigned to = offsets[line];
    bool inside = false;
    for (unsigned i = starts[line]; i < starts[line + 1]; i++) {
        const bool letter = !ends(text[i]);
        if (letter && !inside) pairs[to++] = make_uint2(mr_hash(text + i), i);
        inside = letter;
    }
}
