/* boundary: implements the transitions of boundary.h. sm_drained() in system/kernel.c starts a boundary;
 * the callbacks of its quiesce (on_grant, on_pass, on_done) advance the state. */
#include "check/fault.h"
#include "control/control.h"
#include "policy/replication/mdr.h"

static void set_over(struct boundary *b)
{
    b->state = BOUNDARY_OVER;
    engine_stop(b->control->wire.engine);
}

/* True if another kernel of the application is on the machine. A kernel in OVER counts until
 * boundary_leave(): it may still hold SMs. */
static bool has_concurrent_kernel(const struct boundary *b)
{
    const struct control *c = b->control;
    for (uint32_t n = 0; n < c->boundary_count; n++)
        if (c->boundaries[n] != b && c->boundaries[n]->app == b->app) return true;
    return false;
}

static void on_grant(void *self)
{
    struct boundary *b = self;
    const bool drains = has_concurrent_kernel(b);
    b->quiesce.app = drains ? b->app : QUIESCE_NONE;
    if (drains) b->state = BOUNDARY_DRAINS;
}

static void on_pass(void *self)
{
    struct boundary *b = self;
    struct control *c = b->control;
    b->state = BOUNDARY_FLUSHES;
    for (uint32_t n = 0; n < c->boundary_count; n++) {
        struct boundary *other = c->boundaries[n];
        if (other->state != BOUNDARY_QUEUED || other->app != b->app) continue;
        other->state = BOUNDARY_SHARES;
        quiesce_end(&other->quiesce);
    }
    for (uint32_t k = 0; k < c->wire.chiplet_count; k++) organisation_start_pass(&c->wire.organisations[k]);
    if (b->pass == llc_boundary_flush) mdr_flush(c->wire.mdr);
    b->quiesce.undisturbed = c->boundary_count == 1;
}

/* One boundary at a time is in FLUSHES, so every kernel in SHARES waited for this pass. */
static void on_done(void *self)
{
    struct boundary *b = self;
    struct control *c = b->control;
    set_over(b);
    for (uint32_t n = 0; n < c->boundary_count; n++)
        if (c->boundaries[n]->state == BOUNDARY_SHARES) set_over(c->boundaries[n]);
}

/* Pass that the organisation requires. One pass serves all chiplets: policies keep all organisations in
 * one state. */
static enum llc_boundary pass_of(const struct control_wiring *w)
{
    const enum llc_boundary pass = organisation_boundary(&w->organisations[0]);
    for (uint32_t k = 1; k < w->chiplet_count; k++)
        DIAG_ASSERT(organisation_boundary(&w->organisations[k]) == pass);
    return pass;
}

static void begin(struct boundary *b)
{
    struct control *c = b->control;
    b->pass = pass_of(&c->wire);
    epochs_kernel_ends(&c->epochs, control_now(c));
    if (b->pass == llc_boundary_keep || FAULT_FIRES(boundary_keeps_replicas)) {
        for (uint32_t k = 0; k < c->wire.chiplet_count; k++)
            organisation_skip_pass(&c->wire.organisations[k]);
        set_over(b);
        return;
    }
    b->state = BOUNDARY_QUEUED;
    b->quiesce.pass = b->pass;
    quiesce_begin(&b->quiesce);
}

void boundary_kernel_ended(struct boundary *b)
{
    if (b->state != BOUNDARY_RUNS) return;
    if (quiesce_stops(b->control, b->app))
        b->state = BOUNDARY_WAITS_FOR_ORGANISATION;
    else
        begin(b);
}

void boundary_resume(struct control *c)
{
    for (uint32_t n = 0; n < c->boundary_count; n++) {
        struct boundary *b = c->boundaries[n];
        if (b->state == BOUNDARY_WAITS_FOR_ORGANISATION && !quiesce_stops(c, b->app)) begin(b);
    }
}

void boundary_init(struct boundary *b, struct control *c)
{
    *b = (struct boundary){
        .control = c, .quiesce = {.self = b, .on_grant = on_grant, .on_pass = on_pass, .on_done = on_done}};
    quiesce_init(&b->quiesce, c);
}

void boundary_enter(struct boundary *b, uint32_t app)
{
    struct control *c = b->control;
    DIAG_ASSERT(c->boundary_count < SM_KERNELS && b->quiesce.state == QUIESCE_IDLE);
    b->state = BOUNDARY_RUNS;
    b->app = app;
    b->quiesce.rank = c->launches++; /* of several queued boundaries, the oldest kernel flushes first */
    c->boundaries[c->boundary_count++] = b;
}

void boundary_leave(struct boundary *b)
{
    struct control *c = b->control;
    uint32_t at = 0;
    quiesce_end(&b->quiesce);
    while (at < c->boundary_count && c->boundaries[at] != b) at++;
    if (at == c->boundary_count) return;
    c->boundary_count--;
    for (; at < c->boundary_count; at++) c->boundaries[at] = c->boundaries[at + 1];
}
