/* organisation: the way of a request, one question: given this request here, what is the next stop, and may
 * it allocate there? The parts only serve.
 *
 * An organisation is one file here and one row in llc_choices.def. */
#ifndef ATOLL_LLC_ORGANISATION_H
#define ATOLL_LLC_ORGANISATION_H

#include "config/config.h"
#include "gpu/request.h"

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
};

struct organisation organisation_of(const struct config *c, uint32_t chiplet);
/* Do slices send requests to other slices? Otherwise those of SMs find the slice by themselves. */
bool organisation_forwards(const struct config *c);

/* memory_side.c */
struct stop memory_side_next(const struct organisation *o, const struct request *r, enum here here,
                             uint32_t idx);
/* numa.c */
struct stop numa_next(const struct organisation *o, const struct request *r, enum here here, uint32_t idx);

#endif
