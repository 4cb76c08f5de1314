/* pvc: page view count of a web log (Mars): a map thread per record of variable length scans URL, address and
 * cookie twice, first to tell whether the record is whole, then to emit (hash of the URL, place); the pairs
 * are sorted and the views of every page counted. */
#include "device.h"
#include "mapreduce.h"

static __device__ bool ends(unsigned char c) { return c == '\t' || c == '\n'; }

/* Fields, which end with a tab or with the record. */
extern "C" __global__ void pvc_count(const unsigned char *log, const unsigned *starts, unsigned *counts,
                                     int records)
{
    const int record = blockIdx.x * blockDim.x + threadIdx.x;
    if (record >= records) return;
    unsigned fields = 0;
    for (unsigned i = starts[record]; i < starts[record + 1]; i++) fields += ends(log[i]);
    counts[record] = fields == 3;
}

extern "C" __global__ void pvc_emit(const unsigned char *log, const unsigned *starts, const unsigned *counts,
                                    const unsigned *offsets, uint2 *pairs, int records)
{
    const int record = blockIdx.x * blockDim.x + threadIdx.x;
    if (record >= records || !counts[record]) return;
    pairs[offsets[record]] = make_uint2(mr_hash(log + starts[record]), starts[record]);
}
