/* path: the path of a request as data. llc/organisation.c builds the tables. SMs (sm/lsu.c) and slices read
 * the tables without a call.
 *
 *   SM --first--> slice --away--> home slice --home--> memory
 *
 * Invariants:
 *  1. The order of hops is fixed: SM, first slice, home slice, memory. A link is transport and no hop. A remote
 *     data cache (llc/rdc.h) is a part of the first slice, which probes it before a read goes to the home.
 *  2. A reply takes the path of its request backwards.
 *  3. If the first slice is the home, or if an `away` rule names memory, the path is one hop shorter.
 *  4. Routes change only between two runs of the engine. Rules may also change at a tick that is known in
 *     advance (change_tick). */
#ifndef ATOLL_REQUEST_PATH_H
#define ATOLL_REQUEST_PATH_H

#include "request/request.h"

enum path_class {
    PATH_LOAD,    /* load without REQUEST_READ_ONLY, page walk */
    PATH_LOAD_RO, /* load with REQUEST_READ_ONLY */
    PATH_STORE,
    PATH_ATOMIC, /* atomic, reduction */
    PATH_CLASSES
};

enum path_next { PATH_TO_HOME, PATH_TO_MEMORY };

/* Route: first slice = (home slice & keep) + add. The form needs slice counts that are powers of two
 * (rules.def). A machine with other counts needs a table by home slice here; path_first() is the only
 * reader. */
struct path_route {
    uint32_t keep, add;
};

struct path_rule {
    uint8_t next;  /* enum path_next: destination of a miss */
    bool lookup;   /* false: the request bypasses the tag stage; the input stage reads the field */
    bool allocate; /* a miss allocates a way; the tag stage reads the field. At the home, false only concerns
                      reads with REQUEST_ONCE */
};

struct path_rules {
    struct path_rule away[PATH_CLASSES];    /* at a slice that is not the home */
    struct path_rule home[2][PATH_CLASSES]; /* at the home; [1]: a slice forwarded the request */
};

/* Path tables of one chiplet. */
struct path {
    const struct path_route (*first)[PATH_CLASSES]; /* [SM of the chiplet] */
    uint32_t first_sm;                              /* number of the chiplet's first SM in the machine */
    bool orders_atomics;        /* routes of atomics and stores differ: SMs order accesses to one line */
    bool has_bypass;            /* some requests bypass the tag stage: slices have an input stage */
    struct path_rules rules[2]; /* [0]: before change_tick, [1]: from change_tick on */
    uint64_t change_tick;       /* UINT64_MAX: no change is pending */
};

static inline enum path_class path_class_of(const struct request *r)
{
    enum {
        STORE_AND_ATOMIC = PATH_STORE << 2 * REQUEST_WRITE | PATH_ATOMIC << 2 * REQUEST_ATOMIC |
                           PATH_ATOMIC << 2 * REQUEST_REDUCTION
    };
    const uint32_t class = (uint32_t)STORE_AND_ATOMIC >> 2 * r->kind & 3;
    return (enum path_class)(class | (r->kind == REQUEST_READ && r->flags & REQUEST_READ_ONLY));
}

/* Routes of an SM, by class. The pointer stays valid; the routes behind it may change. */
static inline const struct path_route *path_routes_of(const struct path *p, uint32_t sm)
{
    return p->first[sm - p->first_sm];
}

/* Number of the first slice in the machine. */
static inline uint32_t path_first(const struct path_route *routes, const struct request *r)
{
    const struct path_route *const route = &routes[path_class_of(r)];
    return (r->home.slice & route->keep) + route->add;
}

/* Rules in force at a tick. */
static inline const struct path_rules *path_rules_at(const struct path *p, uint64_t tick)
{
    return &p->rules[tick >= p->change_tick];
}

/* Rule for a request at a slice. */
static inline const struct path_rule *path_rule_of(const struct path_rules *rules, const struct request *r,
                                                   uint32_t slice)
{
    return (r->home.slice != slice ? rules->away : rules->home[r->via != 0]) + path_class_of(r);
}

#endif
