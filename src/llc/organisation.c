/* organisation: from the configuration's name to the functions. */
#include "llc/organisation.h"

struct organisation organisation_of(const struct config *c, uint32_t chiplet)
{
    const uint32_t slices = config_slices_per_chiplet(c);
    struct organisation o = {.config = c, .first_slice = chiplet * slices, .slice_count = slices};
    switch (c->llc.organisation) {
    case llc_organisation_memory_side:
    case llc_organisation_count: o.next = memory_side_next; break;
    case llc_organisation_numa: o.next = numa_next; break;
    }
    return o;
}

bool organisation_forwards(const struct config *c) { return c->llc.organisation == llc_organisation_numa; }
