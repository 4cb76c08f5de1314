/* fault: see fault.h. The selection is per thread, not per machine: the places of the faults are deep inside
 * components without access to the configuration. Only the test build contains this code. */
#include "check/fault.h"

#ifdef ATOLL_FAULTS

static _Thread_local struct {
    enum fault fault;
    uint32_t evaluations;
} chosen;

static const struct {
    uint32_t first, times;
} rows[] = {
    {0, 0},
#define FAULT(name, first, times, help) {first, times},
#include "check/faults.def"
#undef FAULT
};

void fault_choose(enum fault f)
{
    chosen.fault = f;
    chosen.evaluations = 0;
}

bool fault_fires(enum fault f)
{
    if (chosen.fault != f || f == fault_none) return false;
    const uint32_t at = chosen.evaluations++;
    return at >= rows[f].first && at - rows[f].first < rows[f].times;
}

bool fault_closes_fast_loops(void) { return chosen.fault < fault_fast_none; }

#else
typedef int fault_is_not_built; /* a file must declare something */
#endif
