/* channel_reads: a memory channel in a lookahead window, together with its slices; see channel_reads.c. */
#ifndef ATOLL_LLC_CHANNEL_READS_H
#define ATOLL_LLC_CHANNEL_READS_H

#include "dram/channel.h"
#include "llc/llc.h"

/* Makes channel_work_before() use the joint loop of channel and slices in windows. All clients of the channel
 * must be slices with this spec. */
void channel_reads_connect(struct channel *ch, const struct slice_spec *spec);

#endif
