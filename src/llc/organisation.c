/* organisation: from the configuration's name to the functions. */
#include "llc/organisation.h"

struct organisation organisation_of(const struct config *c)
{
    struct organisation o = {.config = c};
    switch (c->llc.organisation) {
    case llc_organisation_memory_side:
    case llc_organisation_count: o.next = memory_side_next; break;
    }
    return o;
}
