/* migration: a page goes where it is first used, and later to the partition that used it most (an alternative
 * to LAB; NUBA, section 7.6, after Griffin). The paper gives the idea only: intervals, threshold and costs
 * are ASSUMPTIONs. src/pages counts and moves. */
#include "policy/placement/placement.h"

uint32_t placement_migrate_to(const uint32_t *accesses, uint32_t partitions, uint32_t home, uint64_t least)
{
    uint64_t sum = 0;
    uint32_t most = home;
    for (uint32_t k = 0; k < partitions; k++) {
        sum += accesses[k];
        if (accesses[k] > accesses[most]) most = k;
    }
    return sum >= least ? most : home;
}
