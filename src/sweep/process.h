/* process: about processes of this host. */
#ifndef ATOLL_SWEEP_PROCESS_H
#define ATOLL_SWEEP_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/* When a process was started, in ticks since boot: with its number it names a process for ever. -1: there is
 * none, or it is a zombie. */
int64_t process_born(pid_t pid);
double process_seconds(void); /* monotonic clock */

#endif
