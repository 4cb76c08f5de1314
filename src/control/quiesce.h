/* quiesce: one protocol for every change that needs a drained memory system: hold SMs, drain their requests,
 * pass over LLC slices, resume. Clients: kernel boundaries (boundary.c) and the replication policies
 * (replication_client.c). Below: sm_hold() of the SMs and slice_flush() of the slices.
 *
 *                       grant                    drained                    all slices
 *   begin ──► QUEUED ─────────► DRAIN ──────────────────────► PASS ───────────────► DONE ──end──► IDLE
 *                │                                              ▲
 *                └── grant, app == QUIESCE_NONE: no SM is held ─┘
 *
 *   polled:  begin ──► DRAIN ──poll: drained──► QUEUED ──poll: grant──► PASS ──poll: all slices──► DONE
 *
 * Invariants:
 *  1. One quiesce at a time is granted and passes over slices. The queue is ordered by rank, then by arrival.
 *     A polled quiesce at the head of the queue does not delay a quiesce of lower rank that arrives before
 *     its poll.
 *  2. SMs are held and resumed between two runs of the engine, so the hold starts in the same cycle for all
 *     SMs.
 *  3. An SM is held while at least one quiesce holds it. An application's SMs are those with its blocks, also during
 *     a handover to another owner.
 *  4. Without a hold (QUIESCE_NONE) the pass may begin inside an activation; slices start in the next cycle.
 * */
#ifndef ATOLL_CONTROL_QUIESCE_H
#define ATOLL_CONTROL_QUIESCE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct control;

enum quiesce_state { QUIESCE_IDLE, QUIESCE_QUEUED, QUIESCE_DRAIN, QUIESCE_PASS, QUIESCE_DONE };

#define QUIESCE_ALL       UINT32_MAX       /* SMs of all applications */
#define QUIESCE_NONE      (UINT32_MAX - 1) /* no SM: the pass runs beside the traffic */
#define QUIESCE_SET       (UINT32_MAX - 2) /* SMs of the applications in `apps` */
#define QUIESCE_RANK_LAST UINT64_MAX

/* One run of the protocol. The client owns the structure and must keep it until quiesce_end(). */
struct quiesce {
    /* Set by the client in IDLE. The callbacks may still change `app`, `pass` and `undisturbed`. */
    uint32_t app;                 /* application whose SMs are held, or QUIESCE_ALL, _NONE or _SET */
    uint64_t apps;                /* QUIESCE_SET: bit per application */
    bool accesses;                /* holds accesses instead of requests: requests that exist are sent, and no
                                     translation is pending after the drain; needs polled */
    const uint64_t *slices;       /* bit per slice of the pass; NULL: all slices */
    enum llc_boundary pass;       /* llc_boundary_keep: no pass */
    bool polled;                  /* advances only in quiesce_poll(), and holds from quiesce_begin() on */
    bool undisturbed;             /* no request reaches the slices during the pass */
    uint64_t rank;                /* order in the queue: lowest first */
    void *self;                   /* argument of the callbacks; any callback may be NULL */
    void (*on_grant)(void *self); /* before the drain; the callback may set app */
    void (*on_pass)(void *self);  /* before the first slice begins */
    void (*on_done)(void *self);  /* after the last slice; inside a slice's wake-up unless polled */
    /* Written by quiesce.c only. */
    enum quiesce_state state;
    struct control *control;
    struct quiesce *next;      /* next in control.queue */
    struct quiesce *next_stop; /* next in control.stops */
    uint32_t slices_left;      /* PASS: slices that have not completed */
    uint64_t *held;            /* bit per SM that this quiesce holds */
    bool holds;                /* false: no bit of held is set */
};

/* Connects an idle quiesce with the machine. Call it once, before the first quiesce_begin(). */
void quiesce_init(struct quiesce *q, struct control *c);
void quiesce_begin(struct quiesce *q);
/* Resumes the SMs and returns to IDLE. Cancels a quiesce that is not yet in PASS. Call it between two runs of
 * the engine if the quiesce holds SMs. */
void quiesce_end(struct quiesce *q);
/* Advances a polled quiesce. Call it between two runs of the engine. */
void quiesce_poll(struct quiesce *q);
/* Advances the drain of the granted quiesce. Call it before each run of the engine: an SM stops the engine
 * when its last reply has arrived. */
void quiesce_step(struct control *c);

/* True while a polled quiesce holds SMs of the application. QUIESCE_ALL: of any application. */
bool quiesce_stops(const struct control *c, uint32_t app);
/* True while a quiesce holds SMs or passes over slices: the machine makes progress without instructions. */
bool quiesce_busy(const struct control *c);

#endif
