/* control: decisions for the whole machine while kernels run.
 *
 *   epochs.h               clients that decide at cycles of their own choice; the cycles bound engine_run()
 *   quiesce.h              hold SMs, drain requests, pass over LLC slices, resume; one pass at a time
 *   boundary.h             the end of a kernel as a state machine; uses quiesce
 *   replication_client.h   the replication policies as an epoch client; uses quiesce
 *
 * Below: sm, llc and policy. Above: system, which starts and ends kernels and runs the engine. The room does
 * not include system/: struct control_wiring holds the components of the machine.
 *
 * Invariants: epoch clients run and SMs are held only between two runs of the engine. All memory belongs
 * to the arena of control_init(). */
#ifndef ATOLL_CONTROL_CONTROL_H
#define ATOLL_CONTROL_CONTROL_H

#include "base/arena.h"
#include "control/boundary.h"
#include "control/epochs.h"
#include "control/quiesce.h"
#include "engine/engine.h"
#include "llc/organisation.h"
#include "sm/sm.h"

struct mdr;

struct control_wiring {
    struct engine *engine;
    uint32_t domain;       /* clock domain of the SMs */
    struct sm *const *sms; /* [sm_count] */
    struct slice **slices; /* [slice_count]; filled after control_init(), before the first kernel */
    uint32_t sm_count, slice_count, chiplet_count;
    struct organisation *organisations; /* [chiplet_count] */
    struct mdr *mdr;                    /* NULL: none */
    /* The application whose blocks the SM has. */
    uint32_t (*serving)(const void *apps, uint32_t sm);
    const void *apps;
};

struct control {
    struct control_wiring wire;
    struct arena *arena;
    struct epochs epochs;
    /* quiesce.c */
    struct quiesce *active; /* granted quiesce, in DRAIN or PASS; NULL: no pass uses the slices */
    struct quiesce *queue;  /* list of quiesces in QUEUED, by rank */
    struct quiesce *stops;  /* list of polled quiesces that hold SMs */
    uint16_t *holds;        /* [SM] number of quiesces that hold the SM */
    uint16_t *draining;     /* [SM] number of holding quiesces with `accesses` */
    uint16_t *stopping; /* [SM] number of holding quiesces that are not polled; the SM's last reply stops the
                               engine for them */
    /* boundary.c */
    struct boundary
        *boundaries[SM_KERNELS]; /* boundaries of the running kernels, in the order of their start */
    uint32_t boundary_count;
    uint64_t launches; /* kernels started so far: rank of the next boundary */
};

void control_init(struct control *c, struct arena *a, const struct control_wiring *w);
/* Current SM cycle. */
uint64_t control_now(const struct control *c);
/* Calls the epoch clients that are due. Boundaries in WAITS_FOR_ORGANISATION then start, unless a client
 * still holds the SMs. */
void control_run_epochs(struct control *c, uint64_t now);

#endif
