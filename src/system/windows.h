/* windows: simulates the memory side of a GPU (both networks, slices, channels) one lookahead window at a
 * time. Neighbours: net/ahead.h (calls of SMs), llc/window.c (a slice's window), kernel.c (windows_finish()).
 *
 * In a queued network the arrival cycle of a packet is fixed when transmission starts (net_queue.h). A
 * request arrives llc.tag_latency_cyc before its tag lookup. A line read from memory reaches its slice
 * llc.memory_latency_cyc after the read. Slices in [now, until) therefore depend on no event of SMs or
 * channels in the same window:
 *
 *   requests sent before now ──► request network ──┐                  ┌──► reply network ──► SMs
 *                                                  ├──► slices ───────┤    (arrivals up to `until` are fixed)
 *   channel work due before now ──► read data ─────┘    [now, until)  └──► memory operations ──► channels
 *                                                                          (simulated in the next window)
 *
 * One activation simulates a window. Every component does what it would do cycle by cycle, while its state
 * is in the host cache. `-s sim.work_ahead=false` simulates cycle by cycle; every statistic is
 * bit-identical. A window ends no later than the cycle in which statistics are sampled
 * (engine_unwatched_until()).
 *
 * ahead.def lists the conditions for windows. Windows are also off if several applications run. */
#ifndef ATOLL_SYSTEM_WINDOWS_H
#define ATOLL_SYSTEM_WINDOWS_H

#include "dram/channel.h"
#include "llc/llc.h"
#include "net/fabric.h"

struct windows;

struct windows_parts {
    struct engine *engine;
    uint32_t domain; /* of SMs, networks and slices */
    struct fabric *fabric;
    struct slice *const *slices;
    struct channel *const *channels;
    uint32_t slice_count, channel_count;
    const uint32_t *sm_components;
    const uint32_t *kernels; /* number of kernels that run */
    bool check;              /* --check is on */
};

/* NULL: the machine does not meet a condition of ahead.def; `off` is the text of the first such row. Else
 * `off` is NULL. The caller builds windows before the first kernel. */
struct windows *windows_new(struct arena *a, const struct config *c, const struct windows_parts *parts,
                            const char **off);
/* The engine activates the parts one by one from now on. Before the first kernel. */
void windows_close(struct windows *w);
/* Simulates all work that is due by now, after the engine has stopped. */
void windows_finish(struct windows *w);

#endif
