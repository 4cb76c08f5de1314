/* warm: fills the remote data caches with the accesses of launches before the measured part of a run (walk.h), and drops
 * the copies of lines that the host writes or frees. Both take no time. */
#ifndef ATOLL_SYSTEM_WARM_H
#define ATOLL_SYSTEM_WARM_H

#include "system/walk.h"

/* Observer for system_walk(). Without remote data caches its callbacks are NULL. */
struct walk_observer system_warm(struct system *g);

/* The host has written bytes of an application's memory (virtual address): slices and remote data caches of GPUs
 * other than the home drop their copies. No kernel may run. */
void system_host_wrote(struct system *g, uint32_t app, uint64_t address, uint64_t bytes);

#endif
