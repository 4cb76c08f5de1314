/* caching: see caching.h. crb.policy is the policy; crb.by names the class that decides under by_class. */
#include "policy/caching/caching.h"

#include "analysis/analysis.h"
#include "policy/binding/binding.h"

static bool class_reads_once(uint8_t locality)
{
    return locality_action((enum locality_class)locality)->caching == LOCALITY_RONCE;
}

bool caching_reads_once(const struct config *c, const struct launch_facts *facts, uint32_t array)
{
    const struct launch_arrays *const a = launch_arrays(facts);
    if (!config_slices_read_once(c)) return false;
    if (c->crb.policy == crb_policy_ronce) return true;
    const uint32_t decides = c->crb.by == crb_by_kernel && a ? a->winner : array;
    return a && decides != LAUNCH_NO_ARRAY && class_reads_once(lasp_class(c, facts, decides));
}
