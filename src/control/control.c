/* control: implementation of control.h. */
#include "control/control.h"

void control_init(struct control *c, struct arena *a, const struct control_wiring *w)
{
    *c = (struct control){.wire = *w, .arena = a};
    c->holds = ARENA_ARRAY(a, uint16_t, w->sm_count);
    c->draining = ARENA_ARRAY(a, uint16_t, w->sm_count);
    c->stopping = ARENA_ARRAY(a, uint16_t, w->sm_count);
}

uint64_t control_now(const struct control *c) { return engine_now(c->wire.engine, c->wire.domain); }

void control_run_epochs(struct control *c, uint64_t now)
{
    epochs_run(&c->epochs, now);
    boundary_resume(c);
}
