/* mover: resident blocks change their SM while the kernel runs.
 *
 *   sm_stop_block ─► context to memory ─► block_left: state kept here ─► an SM with room ─► context back ─►
 * goes on
 *
 * What an SM gives up waits in that SM's place of a table, and the mover hands out in the order of SMs one
 * cycle later, so the order of visits does not matter. An SM that gave a block up is then asked for more. */
#include <stdio.h>
#include <stdlib.h>

#include "system/system_private.h"

/* A block between two SMs. */
struct travelling {
    void *state; /* of exec_block_save(); NULL: nobody */
    struct running *run;
    uint64_t block, start_cyc;
};

struct mover {
    struct system *system;
    uint32_t component;
    struct travelling *from; /* [SM] */
    bool *gave;              /* [SM]: a block left, and the SM was not asked since whether it takes another */
    uint32_t count;
    uint64_t interval_cyc, next_cyc;
};

static void block_left(void *self, uint32_t sm, uint64_t block, struct warp_source *source,
                       uint64_t start_cyc)
{
    struct running *r = self;
    struct mover *m = r->system->mover;
    struct exec_block *b = source->self;
    struct travelling *t = &m->from[sm];
    DIAG_ASSERT(!t->state);
    t->state = malloc(exec_block_state_bytes(b));
    if (!t->state) diag_mistake("out of host memory for the context of a block that moves");
    exec_block_save(b, t->state);
    t->run = r;
    t->block = block;
    t->start_cyc = start_cyc;
    m->count++;
    m->gave[sm] = true;
    kernel_forget(r, b);
    exec_block_destroy(b);
    engine_wake(r->system->engine, m->component, engine_now(r->system->engine, r->system->sm_domain) + 1);
}

/* To the next SM that takes it. */
static bool hand_out(struct mover *m, uint32_t from)
{
    struct system *g = m->system;
    struct travelling *t = &m->from[from];
    for (uint32_t k = 1; k <= g->sm_count; k++) {
        const uint32_t to = (from + k) % g->sm_count;
        if (!sm_can_resume(g->sms[to], &t->run->sm)) continue;
        struct exec_block *b = exec_block_restore(t->run->launch, t->state, to);
        kernel_remember(t->run, b);
        uint64_t *const clock = exec_block_clock(b, t->run->nanoseconds_per_cycle);
        const bool taken =
            sm_resume_block(g->sms[to], &t->run->sm, t->block, exec_block_source(b), clock, t->start_cyc);
        DIAG_ASSERT(taken);
        free(t->state);
        *t = (struct travelling){0};
        m->count--;
        return true;
    }
    return false;
}

/* Room that a block left behind, and no other that moves took, is for blocks that did not begin: schedulers
 * keep some for this SM only. Not before those that travel have a place. */
static void ask_givers(struct mover *m)
{
    for (uint32_t sm = 0; sm < m->system->sm_count && !m->count; sm++) {
        if (!m->gave[sm]) continue;
        m->gave[sm] = false;
        sm_ask(m->system->sms[sm]);
    }
}

static void nothing(void *self, uint64_t now)
{
    (void)self;
    (void)now;
}

static void act(void *self, uint64_t now)
{
    struct mover *m = self;
    struct system *g = m->system;
    for (uint32_t sm = 0; sm < g->sm_count && m->count; sm++)
        if (m->from[sm].state) (void)hand_out(m, sm);
    ask_givers(m);
    if (now >= m->next_cyc) {
        m->next_cyc = now + m->interval_cyc;
        for (uint32_t sm = 0; sm < g->sm_count; sm++)
            if (!m->from[sm].state) (void)sm_stop_block(g->sms[sm]);
    }
    if (!kernel_any_runs(g)) return;
    engine_wake(g->engine, m->component, m->count ? now + 1 : m->next_cyc);
}

/* Blocks that no SM has: on their way, or not begun. */
static struct wait waits(void *self)
{
    const struct mover *m = self;
    const struct system *g = m->system;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
    uint64_t nowhere = 0;
    for (uint32_t n = 0; n < g->running_count; n++) {
        const struct running *r = g->running[n];
        nowhere += r->launch->block_count - r->blocks_ended - r->resident_count;
    }
    if (!nowhere) return w;
    w.reason = WAIT_SM;
    (void)snprintf(w.detail, sizeof w.detail, "%u blocks that move, %llu that did not begin", m->count,
                   (unsigned long long)(nowhere - m->count));
    return w;
}

void mover_begin(struct running *r, uint64_t start_cyc)
{
    struct system *g = r->system;
    struct mover *m = g->mover;
    if (!m) return;
    r->sm.block_left = block_left;
    if (g->running_count) return; /* others run: it is awake */
    m->next_cyc = start_cyc + m->interval_cyc;
    engine_wake(g->engine, m->component, m->next_cyc);
}

void mover_new(struct system *g, const struct config *c)
{
    if (!c->runtime.rotate_blocks_cyc) return;
    struct mover *m = ARENA_NEW(&g->arena, struct mover);
    m->system = g;
    m->interval_cyc = c->runtime.rotate_blocks_cyc;
    m->from = ARENA_ARRAY(&g->arena, struct travelling, g->sm_count);
    m->gave = ARENA_ARRAY(&g->arena, bool, g->sm_count);
    m->component = engine_add(g->engine, (struct component_spec){.name = "gpu0.mover",
                                                                 .self = m,
                                                                 .domain = g->sm_domain,
                                                                 .wake = nothing,
                                                                 .commit = act,
                                                                 .waits = waits});
    g->mover = m;
}

void mover_free(struct mover *m)
{
    for (uint32_t sm = 0; m && sm < m->system->sm_count; sm++) free(m->from[sm].state);
}
