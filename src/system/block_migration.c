/* block_migration: migrates resident blocks between SMs while their kernel runs (runtime.rotate_blocks_cyc).
 * The SM side is sm/move.c; exec/ saves and restores the functional state of a block.
 *
 *   source SM: sm_stop_block() ──► context written to memory ──► block_left(): state saved in from[source]
 *                                                                     │ next cycle
 *   target SM: block resumes ◄── context read ◄── sm_resume_block() ◄─┘ resume_block(): next SM with a slot
 *
 * Invariants:
 *  1. At most one block per source SM is in transit.
 *  2. Blocks resume in the order of source SMs one cycle after block_left(), so the evaluation order of
 *     components has no effect.
 *  3. A source SM starts a new block only when no block is in transit (refill_sources()). */
#include <stdio.h>
#include <stdlib.h>

#include "system/system_private.h"

/* A migrating block between two SMs. */
struct in_transit {
    void *state; /* result of exec_block_save(); NULL: no block */
    struct running *run;
    uint64_t block, start_cyc;
};

struct block_migration {
    struct system *system;
    uint32_t component;
    struct in_transit *from; /* [source SM] */
    bool *block_left;        /* [SM] a block left the SM; cleared when the SM may start a new block */
    uint32_t count;          /* blocks in transit */
    uint64_t interval_cyc;   /* SM cycles between two migrations */
    uint64_t next_cyc;       /* SM cycle of the next migration */
};

static void block_left(void *self, uint32_t sm, uint64_t block, struct warp_source *source,
                       uint64_t start_cyc)
{
    struct running *r = self;
    struct block_migration *m = r->system->block_migration;
    struct exec_block *b = source->self;
    struct in_transit *t = &m->from[sm];
    DIAG_ASSERT(!t->state);
    t->state = malloc(exec_block_state_bytes(b));
    if (!t->state) diag_mistake("out of host memory for the context of a block that moves");
    exec_block_save(b, t->state);
    t->run = r;
    t->block = block;
    t->start_cyc = start_cyc;
    m->count++;
    m->block_left[sm] = true;
    kernel_remove_resident(r, b);
    exec_block_destroy(b);
    engine_wake(r->system->engine, m->component, engine_now(r->system->engine, r->system->sm_domain) + 1);
}

/* Resumes the block on the next SM with free resources, in SM order from the source on. False: no SM has
 * any. */
static bool resume_block(struct block_migration *m, uint32_t from)
{
    struct system *g = m->system;
    struct in_transit *t = &m->from[from];
    for (uint32_t k = 1; k <= g->sm_count; k++) {
        const uint32_t to = (from + k) % g->sm_count;
        if (!sm_can_resume(g->sms[to], &t->run->sm)) continue;
        struct exec_block *b = exec_block_restore(t->run->launch, t->state, to);
        kernel_add_resident(t->run, b);
        uint64_t *const clock = exec_block_clock(b, t->run->nanoseconds_per_cycle);
        const bool taken =
            sm_resume_block(g->sms[to], &t->run->sm, t->block, exec_block_source(b), clock, t->start_cyc);
        DIAG_ASSERT(taken);
        free(t->state);
        *t = (struct in_transit){0};
        m->count--;
        return true;
    }
    return false;
}

/* Wakes the SMs that lost a block and got none in return. Such an SM may start a block that has not
 * started yet; some block schedulers bind blocks to one SM. Blocks in transit have priority for free
 * slots. */
static void refill_sources(struct block_migration *m)
{
    for (uint32_t sm = 0; sm < m->system->sm_count && !m->count; sm++) {
        if (!m->block_left[sm]) continue;
        m->block_left[sm] = false;
        sm_ask(m->system->sms[sm]);
    }
}

static void ignore_wake(void *self, uint64_t now)
{
    (void)self;
    (void)now;
}

static void commit(void *self, uint64_t now)
{
    struct block_migration *m = self;
    struct system *g = m->system;
    for (uint32_t sm = 0; sm < g->sm_count && m->count; sm++)
        if (m->from[sm].state) (void)resume_block(m, sm);
    refill_sources(m);
    if (now >= m->next_cyc) {
        m->next_cyc = now + m->interval_cyc;
        for (uint32_t sm = 0; sm < g->sm_count; sm++)
            if (!m->from[sm].state) (void)sm_stop_block(g->sms[sm]);
    }
    if (!kernel_any_runs(g)) return;
    engine_wake(g->engine, m->component, m->count ? now + 1 : m->next_cyc);
}

/* Wait report: blocks that are resident on no SM, that is, blocks in transit and blocks not started. */
static struct wait waits(void *self)
{
    const struct block_migration *m = self;
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

void block_migration_on_start(struct running *r, uint64_t start_cyc)
{
    struct system *g = r->system;
    struct block_migration *m = g->block_migration;
    if (!m) return;
    r->sm.block_left = block_left;
    if (g->running_count) return; /* other kernels run: the component is awake */
    m->next_cyc = start_cyc + m->interval_cyc;
    engine_wake(g->engine, m->component, m->next_cyc);
}

void block_migration_new(struct system *g, const struct config *c)
{
    if (!c->runtime.rotate_blocks_cyc) return;
    struct block_migration *m = ARENA_NEW(&g->arena, struct block_migration);
    m->system = g;
    m->interval_cyc = c->runtime.rotate_blocks_cyc;
    m->from = ARENA_ARRAY(&g->arena, struct in_transit, g->sm_count);
    m->block_left = ARENA_ARRAY(&g->arena, bool, g->sm_count);
    m->component = engine_add(g->engine, (struct component_spec){.name = "gpu0.mover",
                                                                 .self = m,
                                                                 .domain = g->sm_domain,
                                                                 .wake = ignore_wake,
                                                                 .commit = commit,
                                                                 .waits = waits});
    g->block_migration = m;
}

void block_migration_free(struct block_migration *m)
{
    for (uint32_t sm = 0; m && sm < m->system->sm_count; sm++) free(m->from[sm].state);
}
