/* organisation: the way of a request, one question: given this request here, what is the next stop, and may
 * it allocate there? The parts only serve.
 *
 * An organisation is one file here and one row in llc_choices.def. */
#ifndef ATOLL_LLC_ORGANISATION_H
#define ATOLL_LLC_ORGANISATION_H

#include "config/config.h"
#include "gpu/request.h"

enum here { HERE_SM, HERE_SLICE_MISS };

enum stop_kind { STOP_SLICE, STOP_MEMORY };

struct stop {
    enum stop_kind kind;
    uint16_t idx; /* STOP_SLICE: which; STOP_MEMORY: which channel */
    bool allocate;
};

struct organisation {
    struct stop (*next)(const struct organisation *o, const struct request *r, enum here here, uint32_t idx);
    const struct config *config;
};

struct organisation organisation_of(const struct config *c);

/* memory_side.c */
struct stop memory_side_next(const struct organisation *o, const struct request *r, enum here here,
                             uint32_t idx);

#endif
