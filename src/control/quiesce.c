/* quiesce: implements the protocol of quiesce.h. A quiesce that is not polled advances in quiesce_step()
 * and in slice_done(); a polled quiesce advances in quiesce_poll(). */
#include "control/control.h"
#include "llc/llc.h"

enum { BITS = 64 };

static bool in_scope(const struct quiesce *q, uint32_t sm)
{
    const struct control_wiring *w = &q->control->wire;
    if (q->app == QUIESCE_ALL || q->app == QUIESCE_NONE) return q->app == QUIESCE_ALL;
    const uint32_t app = w->serving(w->apps, sm);
    return q->app == QUIESCE_SET ? q->apps >> app & 1 : q->app == app;
}

static bool in_pass(const struct quiesce *q, uint32_t slice)
{
    return !q->slices || (q->slices[slice / BITS] >> slice % BITS & 1);
}

/* ---- hold and resume ---- */

static void set_hold(struct control *c, uint32_t sm)
{
    const bool drains = c->draining[sm] == c->holds[sm]; /* every holding quiesce lets requests go */
    sm_hold(c->wire.sms[sm], !c->holds[sm]     ? SM_SENDS
                             : drains          ? SM_DRAINS
                             : c->stopping[sm] ? SM_HOLDS_STOPS
                                               : SM_HOLDS);
}

/* Holds the SMs of the scope. An SM may be handed over during a drain, so every call evaluates the scope.
 * An SM that leaves the application stays held until quiesce_end(). */
static void hold(struct quiesce *q)
{
    struct control *c = q->control;
    if (q->app == QUIESCE_NONE) return;
    q->holds = true;
    for (uint32_t sm = 0; sm < c->wire.sm_count; sm++) {
        const uint64_t bit = (uint64_t)1 << sm % BITS;
        if (q->held[sm / BITS] & bit || !in_scope(q, sm)) continue;
        q->held[sm / BITS] |= bit;
        c->holds[sm]++;
        c->draining[sm] = (uint16_t)(c->draining[sm] + q->accesses);
        c->stopping[sm] = (uint16_t)(c->stopping[sm] + !q->polled);
        set_hold(c, sm);
    }
}

static void resume(struct quiesce *q)
{
    struct control *c = q->control;
    if (!q->holds) return;
    q->holds = false;
    for (uint32_t sm = 0; sm < c->wire.sm_count; sm++) {
        const uint64_t bit = (uint64_t)1 << sm % BITS;
        if (!(q->held[sm / BITS] & bit)) continue;
        q->held[sm / BITS] &= ~bit;
        c->holds[sm]--;
        c->draining[sm] = (uint16_t)(c->draining[sm] - q->accesses);
        c->stopping[sm] = (uint16_t)(c->stopping[sm] - !q->polled);
        set_hold(c, sm);
    }
}

/* True if no SM of the scope waits for a reply, nor for a translation if accesses are held. */
static bool is_drained(const struct quiesce *q)
{
    const struct control_wiring *w = &q->control->wire;
    for (uint32_t sm = 0; sm < w->sm_count; sm++)
        if (in_scope(q, sm) && (q->accesses ? !sm_is_drained(w->sms[sm]) : sm_requests_waiting(w->sms[sm])))
            return false;
    return true;
}

/* ---- queue ---- */

static void enqueue(struct quiesce *q)
{
    struct quiesce **at = &q->control->queue;
    while (*at && (*at)->rank <= q->rank) at = &(*at)->next;
    q->state = QUIESCE_QUEUED;
    q->next = *at;
    *at = q;
}

static void dequeue(struct quiesce *q)
{
    struct quiesce **at = &q->control->queue;
    while (*at != q) at = &(*at)->next;
    *at = q->next;
    q->next = NULL;
}

/* ---- pass ---- */

static void start_next(struct control *c);

static void end_pass(struct quiesce *q)
{
    struct control *c = q->control;
    c->active = NULL;
    if (!q->polled) {
        q->state = QUIESCE_DONE;
        if (q->on_done) q->on_done(q->self);
    }
    start_next(c);
}

static void slice_done(void *arg)
{
    struct quiesce *q = arg;
    if (!--q->slices_left) end_pass(q);
}

static void begin_pass(struct quiesce *q)
{
    const struct control_wiring *w = &q->control->wire;
    q->state = QUIESCE_PASS;
    if (q->on_pass) q->on_pass(q->self);
    q->slices_left = 0;
    if (q->pass != llc_boundary_keep)
        for (uint32_t k = 0; k < w->slice_count; k++) q->slices_left += in_pass(q, k);
    if (!q->slices_left) {
        end_pass(q);
        return;
    }
    for (uint32_t k = 0; k < w->slice_count; k++)
        if (in_pass(q, k)) slice_flush(w->slices[k], q->pass, q->undisturbed, slice_done, q);
}

/* Grants the head of the queue if no pass uses the slices. quiesce_poll() grants a polled quiesce. */
static void start_next(struct control *c)
{
    struct quiesce *q = c->queue;
    if (c->active || !q || q->polled) return;
    dequeue(q);
    c->active = q;
    if (q->on_grant) q->on_grant(q->self);
    if (q->app == QUIESCE_NONE) {
        begin_pass(q);
        return;
    }
    q->state = QUIESCE_DRAIN;
    engine_stop(c->wire.engine); /* quiesce_step() holds the SMs when the cycle is complete */
}

/* ---- interface ---- */

void quiesce_init(struct quiesce *q, struct control *c)
{
    q->control = c;
    q->held = ARENA_ARRAY(c->arena, uint64_t, (c->wire.sm_count + BITS - 1) / BITS);
}

void quiesce_begin(struct quiesce *q)
{
    struct control *c = q->control;
    DIAG_ASSERT(q->state == QUIESCE_IDLE);
    if (!q->polled) {
        enqueue(q);
        start_next(c);
        return;
    }
    if (q->app == QUIESCE_NONE) {
        enqueue(q);
        quiesce_poll(q);
        return;
    }
    q->state = QUIESCE_DRAIN;
    q->next_stop = c->stops;
    c->stops = q;
    hold(q);
}

void quiesce_poll(struct quiesce *q)
{
    struct control *c = q->control;
    switch (q->state) {
    case QUIESCE_DRAIN:
        if (is_drained(q)) enqueue(q);
        return;
    case QUIESCE_QUEUED:
        if (c->active || c->queue != q) return;
        dequeue(q);
        c->active = q;
        begin_pass(q);
        break;
    case QUIESCE_PASS: break;
    case QUIESCE_IDLE:
    case QUIESCE_DONE: return;
    }
    if (q->slices_left) return;
    q->state = QUIESCE_DONE;
    if (q->on_done) q->on_done(q->self);
}

void quiesce_step(struct control *c)
{
    struct quiesce *q = c->active;
    if (!q || q->state != QUIESCE_DRAIN) return;
    hold(q);
    if (is_drained(q)) begin_pass(q);
}

void quiesce_end(struct quiesce *q)
{
    struct control *c = q->control;
    if (q->state == QUIESCE_QUEUED) dequeue(q);
    if (c->active == q) c->active = NULL;
    for (struct quiesce **at = &c->stops; *at; at = &(*at)->next_stop)
        if (*at == q) {
            *at = q->next_stop;
            break;
        }
    q->state = QUIESCE_IDLE;
    resume(q);
}

bool quiesce_stops(const struct control *c, uint32_t app)
{
    for (const struct quiesce *q = c->stops; q; q = q->next_stop)
        if (app == QUIESCE_ALL || q->app == QUIESCE_ALL || q->app == app ||
            (q->app == QUIESCE_SET && q->apps >> app & 1))
            return true;
    return false;
}

bool quiesce_busy(const struct control *c) { return c->active || c->stops; }
