/* offline: the partition that the demand-aware loop finds from profiles of alone runs, from the first cycle on. The
 * paper uses it as the ideal without cost of reallocation. ASSUMPTION: the profile of a program alone on the whole
 * machine. A best split can be measured instead: one run per partition of the loop's path (partition.plan). */
#include "policy/partition/partition.h"

static void first(void *state, const struct partition_spec *s, const struct partition_profile *alone,
                  struct partition *p)
{
    (void)state;
    (void)partition_balance(s, alone, p, NULL);
}

extern const struct partition_ops partition_offline;
const struct partition_ops partition_offline = {.needs_profiles = true, .first = first};
