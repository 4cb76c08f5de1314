/* fault: see fault.h. The choice is kept per thread, not per machine: the places that fail are deep inside
 * parts that know no configuration, and only the test build has any of this. */
#include "check/fault.h"

#ifdef ATOLL_FAULTS

static _Thread_local struct {
    enum fault fault;
    uint32_t asked;
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
    chosen.asked = 0;
}

bool fault_fires(enum fault f)
{
    if (chosen.fault != f || f == fault_none) return false;
    const uint32_t at = chosen.asked++;
    return at >= rows[f].first && at - rows[f].first < rows[f].times;
}

#else
typedef int fault_is_not_built; /* a file must declare something */
#endif
