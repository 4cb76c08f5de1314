/* fault: injected faults, which tests use to prove that checks and laws detect them. faults.def lists them.
 *
 * FAULT_FIRES(name) is `false` in every build except the test build (-DATOLL_FAULTS=ON). There
 * -s sim.fault=NAME selects one fault. */
#ifndef ATOLL_CHECK_FAULT_H
#define ATOLL_CHECK_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef ATOLL_FAULTS
#include "config/choices.h"

#define FAULT_ALWAYS UINT32_MAX
/* Selects the fault of this thread and resets its count of evaluations. */
void fault_choose(enum fault f);
bool fault_fires(enum fault f);
#define FAULT_FIRES(name) fault_fires(fault_##name)
#define FAULT_BUILD       true /* disables the fast paths that skip FAULT_FIRES() */
#else
#define FAULT_FIRES(name) false
#define FAULT_BUILD       false
#endif

#endif
