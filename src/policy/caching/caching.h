/* caching: which loads of a launch are read once (REQUEST_ONCE): a load that misses at its home slice in another
 * chiplet does not allocate there (RONCE of LADM; the mechanism is llc/read_once.c).
 *
 *   system/structures.c, once per launch and data structure --> caching_reads_once() --> hint of each line */
#ifndef ATOLL_POLICY_CACHING_CACHING_H
#define ATOLL_POLICY_CACHING_CACHING_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "exec/launch_facts.h"

/* True if loads of the array are read once while the launch runs. array: number in launch_arrays();
 * LAUNCH_NO_ARRAY: lines of no known array. */
bool caching_reads_once(const struct config *c, const struct launch_facts *facts, uint32_t array);

#endif
