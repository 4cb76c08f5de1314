/* pump: the memory pipe of an SM in windows (system/windows.h), while all its warps wait: replies come in and
 * lines go out cycle by cycle, and nobody looks at the schedulers. */
#ifndef ATOLL_SM_PUMP_H
#define ATOLL_SM_PUMP_H

#include "sm/sm_private.h"

/* From `cyc` on, before `until`: until warps wait for something else, or, room_matters, the pipe has room.
 * Returns the next cycle in which there is something to do; sm->memory_cyc is that cycle if its first half is
 * done. */
uint64_t sm_pump(struct sm *sm, uint64_t cyc, uint64_t until, bool room_matters);
/* The first half of one cycle, whatever the warps do. */
void sm_pump_cycle(struct sm *sm, uint64_t now);

#endif
