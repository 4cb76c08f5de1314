/* bandwidth: the bandwidth model of SelRep: how evenly requests load the slices, and what the LLC then gives.
 *
 *   LSP = sum of R[i] / max of R[i]                                    slice parallelism (Equation 1)
 *   B   = LSP x (H x B_LLC + min((1 - H) x B_LLC, B_mem))              (Equation 2; per slice: B_LLC, B_mem)
 *   B   = min(LSP x B_LLC, S x B_mem / (1 - H))                        (bottleneck: not of the paper)
 *
 * Equation 2 adds what slices give to what memory gives, as if hits went on while misses wait. But of every
 * reply a share 1 - H comes from memory: all of them together are no faster than memory brings that share.
 *
 * Integers in, doubles out: the same on every machine. */
#ifndef ATOLL_POLICY_BANDWIDTH_H
#define ATOLL_POLICY_BANDWIDTH_H

#include <stdint.h>

static inline double bandwidth_lsp(const uint32_t *requests, uint32_t slices)
{
    uint64_t sum = 0;
    uint32_t most = 0;
    for (uint32_t i = 0; i < slices; i++) {
        sum += requests[i];
        if (requests[i] > most) most = requests[i];
    }
    return most ? (double)sum / most : 0;
}

static inline double bandwidth_of(double lsp, double hit_rate, double llc, double memory)
{
    const double misses = (1 - hit_rate) * llc;
    return lsp * (hit_rate * llc + (misses < memory ? misses : memory));
}

static inline double bandwidth_bottleneck(double lsp, double hit_rate, double llc, double memory,
                                          uint32_t slices)
{
    const double most = lsp * llc, by_memory = (double)slices * memory;
    return most * (1 - hit_rate) <= by_memory ? most : by_memory / (1 - hit_rate);
}

#endif
