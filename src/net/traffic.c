/* traffic: see traffic.h. */
#include "net/traffic.h"

#include <string.h>

void traffic_init(struct traffic *t, struct arena *a, const struct config *c)
{
    const uint32_t partitions = (uint32_t)config_partitions(c);
    const uint32_t sms = partitions * c->partition.sms, slices = partitions * c->partition.slices;
    const bool counted = partitions <= TRAFFIC_PARTITIONS_MAX;
    *t = (struct traffic){.partitions = counted ? partitions : 0, .slices = slices};
    t->sm_row = ARENA_ARRAY(a, uint64_t *, sms + 1);
    t->slice_row = ARENA_ARRAY(a, uint64_t *, slices);
    t->bytes = ARENA_ARRAY(a, uint64_t, (size_t)(counted ? partitions : 1) * slices);
    t->between = ARENA_ARRAY(a, uint64_t, counted ? (size_t)partitions * partitions : 1);
    for (uint32_t k = 0; k < sms; k++)
        t->sm_row[k] = t->bytes + (counted ? (size_t)(k / c->partition.sms) * slices : 0);
    if (config_copy_ports(c)) t->sm_row[sms] = ARENA_ARRAY(a, uint64_t, slices);
    for (uint32_t k = 0; k < slices; k++)
        t->slice_row[k] = t->bytes + (counted ? (size_t)(k / c->partition.slices) * slices : 0);
}

const uint64_t *traffic_between(const struct traffic *t)
{
    const uint32_t partitions = t->partitions, per_partition = partitions ? t->slices / partitions : 0;
    memset(t->between, 0, (size_t)partitions * partitions * sizeof *t->between);
    for (uint32_t from = 0; from < partitions; from++)
        for (uint32_t slice = 0; slice < t->slices; slice++)
            t->between[from * partitions + slice / per_partition] += t->bytes[from * t->slices + slice];
    return t->between;
}
