/* channel: a memory channel as a component: takes operations from its slices in turn, gives them to the
 * channel model (dram/dram.h), hands back what was read. */
#ifndef ATOLL_GPU_CHANNEL_H
#define ATOLL_GPU_CHANNEL_H

#include "dram/dram.h"
#include "dram/dram_map.h"
#include "engine/engine.h"
#include "llc/llc.h"

struct channel;

/* slices: count pointers, filled before the first operation. */
struct channel *channel_new(struct arena *a, struct engine *e, uint32_t domain, const struct config *c,
                            const struct dram_spec *spec, const struct dram_map *map,
                            struct slice *const *slices, uint32_t count, struct check *check,
                            const char *name);
uint32_t channel_component(const struct channel *ch);
struct dram_stats *channel_stats(struct channel *ch);

#endif
