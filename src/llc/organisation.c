/* organisation: from the configuration's name to the functions. */
#include "llc/organisation.h"

struct organisation organisation_of(const struct config *c, uint32_t chiplet)
{
    const uint32_t slices = config_slices_per_chiplet(c);
    struct organisation o = {.config = c,
                             .first_slice = chiplet * slices,
                             .slice_count = slices,
                             .change_tick = ENGINE_NEVER,
                             .sms_per_partition = c->partition.sms,
                             .slices_per_partition = c->partition.slices,
                             .degree = c->selrep.degree ? c->selrep.degree : 1};
    if (c->llc.stacks) {
        o.clusters =
            (struct clusters){.sms_per_cluster = (uint32_t)config_sms_per_gpu(c) / c->selrep.clusters,
                              .count = c->selrep.clusters,
                              .stack_slices = (uint32_t)config_slices_per_gpu(c) / c->llc.stacks};
    }
    switch (c->llc.organisation) {
    case llc_organisation_memory_side:
    case llc_organisation_count: o.next = memory_side_next; break;
    case llc_organisation_sm_side: /* the same way; coherent.c keeps the copies coherent */
    case llc_organisation_numa: o.next = numa_next; break;
    case llc_organisation_nuba: o.next = nuba_next; break;
    case llc_organisation_private:
        o.is_private = true;
        o.next = private_next;
        break;
    case llc_organisation_adaptive: o.next = private_next; break;
    case llc_organisation_selective:
        o.replicated = o.degree > 1;
        o.next = selective_next;
        break;
    }
    return o;
}

enum llc_boundary organisation_boundary(const struct organisation *o)
{
    switch (o->config->llc.organisation) {
    case llc_organisation_private:
    case llc_organisation_adaptive: return o->is_private ? llc_boundary_flush : o->config->llc.boundary;
    case llc_organisation_selective:
    case llc_organisation_nuba: /* copies are read from the home slice, which keeps its lines */
        return o->replicated ? o->config->llc.boundary : llc_boundary_keep;
    case llc_organisation_memory_side:
    case llc_organisation_numa:
    case llc_organisation_sm_side:
    case llc_organisation_count: break;
    }
    return o->config->llc.boundary;
}

void organisation_forget_copies(struct organisation *o)
{
    o->replicated = o->degree > 1 || o->replicate || o->replicate_next;
    o->memory_old = false;
}

void organisation_keep_all(struct organisation *o) { o->memory_old = true; }
