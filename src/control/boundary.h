/* boundary: the end of a kernel. LLC slices write back and invalidate lines before the next kernel of the
 * application may read, if the organisation demands it.
 *
 *             blocks ended                turn, other kernels of        drained
 *   RUNS ──────────────────────► QUEUED ───── its application ──► DRAINS ──────► FLUSHES ──slices──► OVER
 *     │  │                       ▲ │ │                                              ▲                 ▲ ▲
 *     │  │ a client stops SMs    │ │ └── turn, no other kernel of its application ──┘                 │ │
 *     │  ▼                       │ │                                                                  │ │
 *     │  WAITS_FOR_ORGANISATION ─┘ └── a kernel of its application begins to flush ──► SHARES ────────┘ │
 *     │            │ no pass needed                                       that kernel is OVER           │
 *     └────────────┴────────────────────────────────────────────────────────────────────────────────────┘
 *
 * Kernels of other applications go on during a boundary. The SMs of its own application send nothing while it
 * drains and flushes: a fill of another kernel that is in flight could otherwise install, behind the pass, a
 * line older than what this kernel wrote. ASSUMPTION: hardware holds the SMs of the application, too.
 *
 * Kernels of one application that have ended before the pass begins share it. A kernel that is OVER stops the
 * engine. The machine then removes it with boundary_leave(), which resumes the SMs. */
#ifndef ATOLL_CONTROL_BOUNDARY_H
#define ATOLL_CONTROL_BOUNDARY_H

#include "control/quiesce.h"

enum boundary_state {
    BOUNDARY_RUNS,                   /* blocks run, or stores are not acknowledged */
    BOUNDARY_WAITS_FOR_ORGANISATION, /* a polled quiesce stops the application: the organisation changes first
                                      */
    BOUNDARY_QUEUED,                 /* another quiesce has its turn */
    BOUNDARY_DRAINS,                 /* other kernels of the application have requests in flight */
    BOUNDARY_FLUSHES,                /* slices pass over their lines */
    BOUNDARY_SHARES,                 /* another kernel of the application flushes */
    BOUNDARY_OVER
};

/* One per running kernel; its memory may serve another kernel after boundary_leave(). */
struct boundary {
    struct control *control;
    enum boundary_state state;
    uint32_t app;
    enum llc_boundary pass; /* of the kernel's end; valid from its begin on */
    struct quiesce quiesce;
};

void boundary_init(struct boundary *b, struct control *c);
/* A kernel of the application starts: RUNS. */
void boundary_enter(struct boundary *b, uint32_t app);
/* The last block has ended, and all stores are acknowledged. May be called again; calls in other states than
 * RUNS have no effect. */
void boundary_kernel_ended(struct boundary *b);
/* Between two runs of the engine: kernels that waited for the organisation begin their boundary unless it is
 * still about to change. */
void boundary_resume(struct control *c);
/* The kernel leaves the machine, between two runs of the engine: SMs that its boundary holds resume. A second
 * call has no effect: a kernel that fails a check while it leaves is removed again when the run is aborted. */
void boundary_leave(struct boundary *b);

static inline bool boundary_is_over(const struct boundary *b) { return b->state == BOUNDARY_OVER; }

#endif
