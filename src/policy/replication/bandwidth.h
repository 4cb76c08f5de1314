/* bandwidth: the bandwidth model of SelRep: slice parallelism, and the LLC bandwidth that follows from it.
 *
 *   LSP = sum of R[i] / max of R[i]                                    slice parallelism (Equation 1)
 *   B   = LSP x (H x B_LLC + min((1 - H) x B_LLC, B_mem))              (Equation 2; per slice: B_LLC, B_mem)
 *   B   = min(LSP x B_LLC, S x B_mem / (1 - H))                        (bottleneck: not of the paper)
 *
 * Equation 2 adds the bandwidths of slices and memory, as if hits continued while misses wait. However, a
 * share 1 - H of the replies comes from memory, so memory bandwidth / (1 - H) limits all replies together.
 * The bottleneck form models this limit.
 *
 * The inputs are integers, so the results are identical on every host. */
#ifndef ATOLL_POLICY_BANDWIDTH_H
#define ATOLL_POLICY_BANDWIDTH_H

#include <stdint.h>

static inline double bandwidth_lsp(const uint32_t *requests, uint32_t slices)
{
    uint64_t sum = 0;
    uint32_t max = 0;
    for (uint32_t i = 0; i < slices; i++) {
        sum += requests[i];
        if (requests[i] > max) max = requests[i];
    }
    return max ? (double)sum / max : 0;
}

static inline double bandwidth_of(double lsp, double hit_rate, double llc, double memory)
{
    const double misses = (1 - hit_rate) * llc;
    return lsp * (hit_rate * llc + (misses < memory ? misses : memory));
}

static inline double bandwidth_bottleneck(double lsp, double hit_rate, double llc, double memory,
                                          uint32_t slices)
{
    const double by_slices = lsp * llc, by_memory = (double)slices * memory;
    return by_slices * (1 - hit_rate) <= by_memory ? by_slices : by_memory / (1 - hit_rate);
}

#endif
