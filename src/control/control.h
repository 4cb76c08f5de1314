/* control: decisions that concern the whole machine while kernels run.
 *
 *   epochs.h     clients that decide at cycles of their own choice; the cycles bound engine_run()
 *   quiesce.h    hold, drain, pass over the LLC, resume: one pass at a time
 *   boundary.h   the end of a kernel as a state machine; a user of quiesce
 *
 * Below: sm, llc and policy. Above: gpu, which starts and ends kernels and runs the engine. The room does not
 * include gpu: the parts of the machine come as a control_wiring. Memory is the arena's. */
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
    uint32_t domain;       /* of the SMs */
    struct sm *const *sms; /* [sm_count] */
    struct slice **slices; /* [slice_count]; filled after control_init(), before the first kernel */
    uint32_t sm_count, slice_count, chiplet_count;
    struct organisation *organisations; /* [chiplet_count] */
    struct mdr *mdr;                    /* NULL: none */
    /* May the SM take blocks of the application? */
    bool (*may_run)(const void *apps, uint32_t sm, uint32_t app);
    const void *apps;
};

struct control {
    struct control_wiring wire;
    struct arena *arena;
    struct epochs epochs;
    /* quiesce.c */
    struct quiesce *active; /* in DRAIN or PASS, with its turn; NULL: slices are free */
    struct quiesce *queue;  /* in QUEUED, by rank */
    struct quiesce *stops;  /* polled ones that hold SMs */
    uint16_t *holds;        /* [SM] quiesces that hold it */
    uint16_t *stopping;     /* [SM] of these, the ones that wait for its last reply without a poll */
    /* boundary.c */
    struct boundary *boundaries[SM_KERNELS]; /* of the kernels that run, in the order of their start */
    uint32_t boundary_count;
    uint64_t launches; /* so far */
};

void control_init(struct control *c, struct arena *a, const struct control_wiring *w);
/* SM cycles. */
uint64_t control_now(const struct control *c);
/* Calls the epoch clients that are due. Kernels that waited for the organisation then begin their boundary,
 * unless a client still stops the SMs. */
void control_run_epochs(struct control *c, uint64_t now);

#endif
