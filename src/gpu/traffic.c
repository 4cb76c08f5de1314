/* traffic: see traffic.h. */
#include "gpu/traffic.h"

void traffic_init(struct traffic *t, struct arena *a, const struct config *c)
{
    const uint32_t partitions = (uint32_t)config_partitions(c);
    const uint32_t sms = partitions * c->partition.sms, slices = partitions * c->partition.slices;
    const bool counted = partitions <= TRAFFIC_PARTITIONS_MAX;
    *t = (struct traffic){.partitions = counted ? partitions : 0};
    t->sm_row = ARENA_ARRAY(a, uint16_t, sms);
    t->slice_column = ARENA_ARRAY(a, uint16_t, slices);
    t->bytes = ARENA_ARRAY(a, uint64_t, counted ? (size_t)partitions * partitions : 1);
    for (uint32_t k = 0; counted && k < sms; k++)
        t->sm_row[k] = (uint16_t)(k / c->partition.sms * partitions);
    for (uint32_t k = 0; counted && k < slices; k++) t->slice_column[k] = (uint16_t)(k / c->partition.slices);
}
