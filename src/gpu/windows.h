/* windows: the memory side of a GPU (both networks, slices, channels) worked off in stretches of time.
 *
 * With queued networks a packet that begins knows when it arrives (net_queue.h), a request is at its slice
 * llc.tag_latency_cyc before the slice looks at it, and a line that was read is at its slice
 * llc.memory_latency_cyc later. So what happens in slices from `now` on for a window of cycles depends on
 * nothing that SMs or channels do from now on:
 *
 *            what SMs sent before now ──► requests ─┐                       ┌─► replies ──► SMs know all that
 *   now ─────                                       ├─► slices: the window ─┤                 comes in the
 * window channels: all that was due before now ─┘                       └─► operations ──► channels, next
 * time
 *
 * All of it is one visit per window: the parts do what they would do if they were visited in every cycle,
 * each while its state is in the host's caches. `-s sim.work_ahead=false` visits them one by one; every
 * statistic stays the same. Windows end where somebody looks at statistics (engine_unwatched_until()).
 *
 * Not where a part is more than plain: --check, several applications or chiplets, organisations other than
 * memory_side, address translation, flushes at kernel boundaries, networks that are not queued. */
#ifndef ATOLL_GPU_WINDOWS_H
#define ATOLL_GPU_WINDOWS_H

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
    const uint32_t *kernels; /* how many run */
};

/* NULL: the machine is not one for windows. Before the first kernel. */
struct windows *windows_new(struct arena *a, const struct config *c, const struct windows_parts *parts);
/* The parts are visited one by one from now on. Before the first kernel. */
void windows_close(struct windows *w);
/* When the engine has stopped: what is due by now is done. */
void windows_finish(struct windows *w);

#endif
