/* organisation: which slices may cache a line, and the path of a request to them.
 *
 *   policy --organisation_set()--> state --ops--> path tables (request/path.h) --> SMs, slices
 *
 * An organisation is a row of organisation.def and a table of functions (struct organisation_ops) in a file
 * beside it. The functions fill the path tables when the machine is built and at every change of state; no
 * request calls them. Each chiplet has an organisation of its own, in an array of the system. */
#ifndef ATOLL_LLC_ORGANISATION_H
#define ATOLL_LLC_ORGANISATION_H

#include "base/arena.h"
#include "config/config.h"
#include "engine/engine.h"
#include "llc/clusters.h"
#include "llc/llc.h"
#include "llc/store_order.h"
#include "request/path.h"

struct organisation;

/* The part of an organisation that policies change. */
struct organisation_state {
    uint32_t degree; /* selective: replicas of a read-only line in a stack, 1: none */
    bool is_private; /* private, adaptive: each cluster uses its own slices; stores are written through */
    bool replicate;  /* nuba: read-only lines of other partitions are replicated */
    bool no_copies;  /* numa: no copies of lines of other chiplets (llc.remote_cache) */
    bool read_once;  /* numa: remote reads with REQUEST_ONCE do not allocate at the home */
};

/* An organisation of the LLC. Routes and rules are functions of the state and of nothing that changes. */
struct organisation_ops {
    /* Sets what differs from {.degree = 1} at the start; NULL: nothing does. */
    void (*start)(const struct config *c, struct organisation_state *s);
    struct path_route (*route)(const struct organisation *o, const struct organisation_state *s, uint32_t sm,
                               enum path_class class);
    struct path_rules (*rules)(const struct organisation_state *s);
    enum llc_boundary (*boundary)(const struct organisation *o); /* NULL: always llc.boundary */
    /* An SM of the chiplet passed an acquire of GPU scope; NULL: an acquire ends at the L1. */
    void (*acquired)(struct organisation *o, uint32_t sm);
    void (*kernel_ended)(struct organisation *o); /* the boundary of a kernel begins; NULL: no effect */
    bool has_bypass;                              /* see struct path */
};

/* One per chiplet. */
struct organisation {
    bool replicated;   /* selective, nuba: replicas may exist outside home slices */
    bool memory_stale; /* selective: slices may hold dirty lines of earlier kernels */
    struct path path;  /* read by the SMs and slices of the chiplet */
    const struct organisation_ops *ops;
    const struct config *config;
    struct organisation_state state[2];        /* before path.change_tick, from path.change_tick on */
    struct path_route (*routes)[PATH_CLASSES]; /* path.first */
    uint32_t sm_count;                         /* SMs of the chiplet */
    uint32_t first_slice, slice_count;         /* slices of the chiplet */
    struct clusters clusters;                  /* private, adaptive, selective */
    struct copy_epoch epoch;                   /* numa: counts acquires of the chiplet's SMs */
    struct slice *const *slices;               /* of the machine; complete before the first acquire */
    const struct engine *engine;               /* NULL (tests): a change at a later tick stays pending */
    /* rdc.write back: regions of the RDC with bytes that their homes do not have; NULL: none ever */
    struct store_order *dirty;
    uint32_t sm_domain;
    /* organisation_flush(): its last cycle, of which the next cycle knows, and the one before */
    uint64_t flush_cyc, flush_before_cyc, flush_asked_cyc;
};

/* engine may be NULL; slices may be NULL if no SM acquires. */
void organisation_init(struct organisation *o, struct arena *a, const struct config *c, uint32_t chiplet,
                       const struct engine *engine, struct slice *const *slices);

/* State in force now. */
static inline const struct organisation_state *organisation_in_force(const struct organisation *o)
{
    return &o->state[o->engine && engine_tick(o->engine) >= o->path.change_tick];
}

/* Changes the state and builds the path tables anew; the only writer of both. from_tick 0: at once, between
 * two runs of the engine. A later tick may be set at any time; it changes rules only, not routes. */
void organisation_set(struct organisation *o, const struct organisation_state *s, uint64_t from_tick);

/* Pass over the slices that a kernel boundary needs in the present state. ASSUMPTION: hardware records
 * whether replicas were made since the last boundary; without replicas no pass is needed, and dirty lines
 * stay until a policy starts to replicate (memory_stale). */
enum llc_boundary organisation_boundary(const struct organisation *o);
/* Called when the pass starts. Replicas made before no longer count. */
void organisation_start_pass(struct organisation *o);
/* rdc.write back: slices send home what SMs stored before this cycle. o->dirty tells when it is there. */
void organisation_flush(struct organisation *o, uint64_t now);
/* Called when a kernel ends without a pass. Dirty lines of the kernel stay in their slices. */
void organisation_skip_pass(struct organisation *o);

/* ---- for organisations ---- */

/* Route to the home slice. */
static inline struct path_route organisation_route_home(void) { return (struct path_route){~0u, 0}; }
/* Route to one of `count` slices from `first` on: the slice at the position of the home slice. count: a power
 * of two. */
struct path_route organisation_route_among(uint32_t first, uint32_t count);
/* Rules of a slice that serves every request as its home does: lookup, allocation, memory. */
struct path_rules organisation_rules_home(void);

#define ITEM(list, item, help) extern const struct organisation_ops organisation_##item;
#include "llc/organisation.def"
#undef ITEM

#endif
