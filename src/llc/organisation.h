/* organisation: the way of a request, one question: given this request here, what is the next stop, and may
 * it allocate there? The parts only serve.
 *
 * An organisation is one file here and one row in llc_choices.def. */
#ifndef ATOLL_LLC_ORGANISATION_H
#define ATOLL_LLC_ORGANISATION_H

#include "check/fault.h"
#include "config/config.h"
#include "engine/engine.h"
#include "llc/clusters.h"
#include "request/request.h"

enum here { HERE_SM, HERE_SLICE };

enum stop_kind { STOP_SLICE, STOP_MEMORY };

struct stop {
    enum stop_kind kind;
    uint16_t idx; /* STOP_SLICE: which; STOP_MEMORY: which channel */
    bool allocate;
};

/* One per chiplet. */
struct organisation {
    struct stop (*next)(const struct organisation *o, const struct request *r, enum here here, uint32_t idx);
    const struct config *config;
    uint32_t first_slice, slice_count; /* of the chiplet */
    uint32_t sms_per_partition, slices_per_partition;
    struct clusters clusters; /* private, adaptive, selective */
    /* What policies change, after all visits of a cycle. */
    uint32_t degree; /* selective: copies of a read-only line in a stack */
    bool replicated; /* selective, nuba: there may be copies outside home slices */
    bool memory_old; /* selective: dirty lines of kernels that have ended may still be in their slices */
    bool is_private; /* every cluster has slices of its own; stores are written through */
    /* nuba: are copies of read-only lines of other partitions made and read? Now, and from a tick on */
    bool replicate, replicate_next;
    uint64_t change_tick;
    const struct engine *engine; /* NULL: time does not matter */
};

struct organisation organisation_of(const struct config *c, uint32_t chiplet);

static inline bool organisation_replicates(const struct organisation *o)
{
    return o->engine && engine_tick(o->engine) >= o->change_tick ? o->replicate_next : o->replicate;
}

/* What the end of a kernel does to the slices, as things are. ASSUMPTION: no copies since the last boundary,
 * none to look for; nor is anything written back then, before a policy wants copies (memory_old). */
enum llc_boundary organisation_boundary(const struct organisation *o);
/* The slices begin to do it: copies are from now on those that are made from now on. */
void organisation_forget_copies(struct organisation *o);
/* They do nothing: what the kernel wrote stays where it is. */
void organisation_keep_all(struct organisation *o);

/* memory_side.c */
struct stop memory_side_next(const struct organisation *o, const struct request *r, enum here here,
                             uint32_t idx);
/* numa.c */
struct stop numa_next(const struct organisation *o, const struct request *r, enum here here, uint32_t idx);
/* private.c: also adaptive, which is one or the other */
struct stop private_next(const struct organisation *o, const struct request *r, enum here here, uint32_t idx);
/* selective.c */
struct stop selective_next(const struct organisation *o, const struct request *r, enum here here,
                           uint32_t idx);
/* nuba.c */
struct stop nuba_next(const struct organisation *o, const struct request *r, enum here here, uint32_t idx);
/* May a slice of another partition than the home keep what this request reads? */
static inline bool nuba_may_copy(const struct organisation *o, const struct request *r)
{
    return r->kind == REQUEST_READ && organisation_replicates(o) &&
           (r->flags & REQUEST_READ_ONLY || FAULT_FIRES(nuba_copies_written));
}

#endif
