/* fault: mistakes made on purpose, to show that they are caught: see faults.def.
 *
 * FAULT_FIRES(name) is `false` in every build but the test build (-DATOLL_FAULTS=ON), where -s sim.fault=NAME
 * chooses one. */
#ifndef ATOLL_CHECK_FAULT_H
#define ATOLL_CHECK_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef ATOLL_FAULTS
#include "config/choices.h"

#define FAULT_ALWAYS UINT32_MAX
/* From now on this thread makes this mistake, counted from the beginning. */
void fault_choose(enum fault f);
bool fault_fires(enum fault f);
#define FAULT_FIRES(name) fault_fires(fault_##name)
#define FAULT_BUILD       true /* ways around the places where mistakes are made stay closed */
#else
#define FAULT_FIRES(name) false
#define FAULT_BUILD       false
#endif

#endif
