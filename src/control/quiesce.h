/* quiesce: one protocol for every change that needs a quiet memory system: hold SMs, drain their requests,
 * pass over LLC slices, resume.
 *
 *                       turn                     drained                    all slices
 *   begin ──► QUEUED ─────────► DRAIN ──────────────────────► PASS ───────────────► DONE ──end──► IDLE
 *                │                                              ▲
 *                └── turn, app == QUIESCE_NONE: no SM is held ──┘
 *
 *   polled:  begin ──► DRAIN ──poll: drained──► QUEUED ──poll: turn──► PASS ──poll: all slices──► DONE
 *
 * Users: kernel boundaries (boundary.c) and the replication policies (replication_client.c).
 *
 * Invariants:
 *  1. One quiesce at a time passes over slices. The others wait in the queue, ordered by rank, then by
 *     arrival. A polled quiesce at the head of the queue does not delay others that arrive before its poll
 *     and have a lower rank.
 *  2. SMs are held and resumed between two runs of the engine, so that all SMs see it in the same cycle.
 *  3. An SM is held while at least one quiesce holds it.
 *  4. Without a hold (QUIESCE_NONE) the pass may begin inside an activation; slices start in the next cycle.
 */
#ifndef ATOLL_CONTROL_QUIESCE_H
#define ATOLL_CONTROL_QUIESCE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct control;

enum quiesce_state { QUIESCE_IDLE, QUIESCE_QUEUED, QUIESCE_DRAIN, QUIESCE_PASS, QUIESCE_DONE };

#define QUIESCE_ALL       UINT32_MAX       /* SMs of all applications */
#define QUIESCE_NONE      (UINT32_MAX - 1) /* no SM: the pass runs beside the traffic */
#define QUIESCE_RANK_LAST UINT64_MAX

/* A request for the protocol. The requester owns it and must keep it until quiesce_end(). */
struct quiesce {
    /* Set by the requester while the state is IDLE; `app`, `pass` and `undisturbed` may still change in the
     * callbacks. */
    uint32_t app;                    /* application whose SMs are held, QUIESCE_ALL or QUIESCE_NONE */
    const uint64_t *slices;          /* bit per slice of the pass; NULL: all slices */
    enum llc_boundary pass;          /* llc_boundary_keep: no pass */
    bool polled;                     /* advances only in quiesce_poll(), and holds from quiesce_begin() on */
    bool undisturbed;                /* no request reaches the slices during the pass */
    uint64_t rank;                   /* place in the queue */
    void *self;                      /* argument of the callbacks; any of them may be NULL */
    void (*turn)(void *self);        /* its turn has come: last chance to set app */
    void (*pass_begins)(void *self); /* before the first slice begins */
    void (*done)(void *self);        /* after the last slice; inside an activation unless polled */
    /* Written by quiesce.c only. */
    enum quiesce_state state;
    struct control *control;
    struct quiesce *next, *next_stop; /* in the queue; among the polled ones that hold SMs */
    uint32_t slices_left;             /* PASS: slices that have not completed */
    uint64_t *held;                   /* bit per SM that this quiesce holds */
    bool holds;                       /* some bit of held may be set */
};

/* Connects an idle quiesce with the machine. Call once, before the first quiesce_begin(). */
void quiesce_init(struct quiesce *q, struct control *c);
void quiesce_begin(struct quiesce *q);
/* Resumes the SMs and returns to IDLE. Cancels a quiesce that is not yet in PASS. Call it between two runs of
 * the engine if the quiesce holds SMs. */
void quiesce_end(struct quiesce *q);
/* Advances a polled quiesce; between two runs of the engine. */
void quiesce_poll(struct quiesce *q);
/* Advances the drain of the quiesce whose turn it is. Call it between two runs of the engine, before each
 * run: an SM stops the engine when its last reply has arrived. */
void quiesce_step(struct control *c);

/* True while a polled quiesce holds SMs of the application. QUIESCE_ALL: of any application. */
bool quiesce_stops(const struct control *c, uint32_t app);
/* True while a quiesce holds SMs or passes over slices: the machine makes progress without instructions. */
bool quiesce_busy(const struct control *c);

#endif
