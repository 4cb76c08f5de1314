/* boundary: the end of a kernel as a state machine. If the organisation requires it, LLC slices write back
 * and invalidate lines before the next kernel of the application may read. Above: system/kernel.c, which
 * enters and leaves boundaries. Below: quiesce.h, which holds SMs and passes over slices.
 *
 *             blocks ended                grant, other kernels of       drained
 *   RUNS ──────────────────────► QUEUED ───── its application ──► DRAINS ──────► FLUSHES ──slices──► OVER
 *     │  │                       ▲ │ │                                              ▲                 ▲ ▲
 *     │  │ a client holds SMs    │ │ └── grant, no other kernel of its application ─┘                 │ │
 *     │  ▼                       │ │                                                                  │ │
 *     │  WAITS_FOR_ORGANISATION ─┘ └── a kernel of its application begins to flush ──► SHARES ────────┘ │
 *     │            │ no pass needed                                       that kernel is OVER           │
 *     └────────────┴────────────────────────────────────────────────────────────────────────────────────┘
 *
 * Invariants:
 *  1. Kernels of other applications run during a boundary.
 *  2. The SMs of the boundary's application send no request while the boundary drains and flushes. Otherwise
 *     a fill in flight could install, after the pass, a line older than a store of the ended kernel.
 *     ASSUMPTION: hardware holds these SMs until the pass has ended.
 *  3. Kernels of one application that have ended before the pass begins share the pass.
 *  4. A kernel in OVER stops the engine. The machine then removes the kernel with boundary_leave(), which
 *     resumes the SMs. */
#ifndef ATOLL_CONTROL_BOUNDARY_H
#define ATOLL_CONTROL_BOUNDARY_H

#include "control/quiesce.h"

enum boundary_state {
    BOUNDARY_RUNS,                   /* blocks run, or stores are not acknowledged */
    BOUNDARY_WAITS_FOR_ORGANISATION, /* a polled quiesce holds the SMs: the organisation changes first */
    BOUNDARY_QUEUED,                 /* another quiesce is granted */
    BOUNDARY_DRAINS,                 /* other kernels of the application have requests in flight */
    BOUNDARY_FLUSHES,                /* slices write back and invalidate their lines */
    BOUNDARY_SHARES,                 /* the pass of another kernel of the application serves this kernel */
    BOUNDARY_OVER
};

/* One per running kernel. The memory may be reused for another kernel after boundary_leave(). */
struct boundary {
    struct control *control;
    enum boundary_state state;
    uint32_t app;
    enum llc_boundary pass; /* pass of the kernel's end; valid after RUNS and WAITS_FOR_ORGANISATION */
    struct quiesce quiesce;
};

void boundary_init(struct boundary *b, struct control *c);
/* Registers a kernel of the application that starts. State: RUNS. */
void boundary_enter(struct boundary *b, uint32_t app);
/* Starts the boundary of a kernel whose last block has ended and whose stores are acknowledged. Calls in
 * other states than RUNS have no effect. */
void boundary_kernel_ended(struct boundary *b);
/* Starts the boundaries in WAITS_FOR_ORGANISATION whose application no polled quiesce holds any more. Call
 * it between two runs of the engine. */
void boundary_resume(struct control *c);
/* Removes the kernel and resumes the SMs that its boundary holds. Call it between two runs of the engine.
 * A second call has no effect: the abort of a run removes a kernel again that failed a check while it
 * left. */
void boundary_leave(struct boundary *b);

static inline bool boundary_is_over(const struct boundary *b) { return b->state == BOUNDARY_OVER; }

#endif
