/* fault: faults planted on purpose, to show that a check detects them: see faults.def.
 *
 * FAULT_FIRES(name) is `false` in every build except the test build (-DATOLL_FAULTS=ON), where
 * -s sim.fault=NAME selects one. The fast loops of lookahead windows (llc/slice_quick.h, llc/channel_reads.c,
 * sm/pump.c) have no places for most faults. FAULT_CLOSES_FAST_LOOPS is therefore true in the test build,
 * unless a fault of the fast loops (fast_*) is selected. */
#ifndef ATOLL_CHECK_FAULT_H
#define ATOLL_CHECK_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef ATOLL_FAULTS
#include "config/choices.h"

#define FAULT_ALWAYS UINT32_MAX
/* Selects the fault of this thread and restarts the count of its evaluations. */
void fault_choose(enum fault f);
bool fault_fires(enum fault f);
bool fault_closes_fast_loops(void);
#define FAULT_FIRES(name)       fault_fires(fault_##name)
#define FAULT_CLOSES_FAST_LOOPS fault_closes_fast_loops()
#else
#define FAULT_FIRES(name)       false
#define FAULT_CLOSES_FAST_LOOPS false
#endif

#endif
