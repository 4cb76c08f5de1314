/* block_migration: resident blocks leave an SM with their context and resume on another SM of their application. The
 * SM side is sm/move.c; exec/ saves and restores the functional state of a block. Two clients: SMs that change
 * hands (repartition.c), and runtime.rotate_blocks_cyc, a study of the cost.
 *
 *   SM: sm_stop_block() ──► context written to memory ──► block_left(): state saved in the application's queue
 *                                                                     │ next cycle
 *   SM: block resumes ◄── context read ◄── sm_resume_block() ◄────────┘ resume_block(): an SM of the application
 *
 * Order: contexts resume before blocks that have not begun, lowest block first. A context that has waited an epoch goes
 * first, and displaces the block of its application that has run longest.
 *
 * Contexts lie in slots of the application's address space above all that it allocates. A slot has room for all
 * registers and all shared memory of an SM; its pages get frames of their own when they are first written, in channels
 * that the application owns then, and never move. A free slot is used again if the application still owns the channels
 * of its frames.
 *
 * Invariants:
 *  1. A block resumes only where apps_may_run() holds.
 *  2. A context is visible from the cycle after block_left() on, and queues are ordered by kernel and block, so the
 *     evaluation order of components has no effect.
 *  3. While contexts of an application wait, its SMs start no block that has not begun. */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "system/system_private.h"

/* ASSUMPTION: the driver looks every POLL_CYC cycles for an SM that a waiting context can use. */
enum { POLL_CYC = 16 };
#define CONTEXT_BASE      ((uint64_t)1 << 46)
#define CONTEXT_APP_BYTES ((uint64_t)1 << 40)

/* A block between two SMs. */
struct context {
    struct context *next; /* of the application, by kernel and block */
    void *state;          /* result of exec_block_save() */
    struct running *run;
    uint64_t block, start_cyc;
    uint64_t since_cyc; /* first cycle in which it may resume */
    uint32_t from, slot;
};

struct context_app {
    struct context *waiting;
    uint32_t waiting_count;
    bool *slot_used; /* [slot_count] */
    uint32_t slot_count, slot_capacity;
    bool displaces; /* a block is leaving to make room for a context */
};

struct block_migration {
    struct system *system;
    uint32_t component;
    struct context_app app[APPS_MAX];
    uint32_t waiting_count; /* contexts of all applications */
    uint32_t *slot_of;      /* [SM] slot of the block that leaves */
    bool *refused;          /* [SM] block_migration_waits() was true */
    bool *clearing;         /* [SM] all blocks leave */
    uint32_t clearing_count, lines_per_slot;
    uint64_t patience_cyc;           /* of a context; UINT64_MAX: no context displaces a block */
    uint64_t interval_cyc, next_cyc; /* runtime.rotate_blocks_cyc; 0: never */
};

static void wake_at(struct block_migration *m, uint64_t cyc)
{
    engine_wake(m->system->engine, m->component, cyc);
}

static uint64_t now_of(const struct block_migration *m)
{
    return engine_now(m->system->engine, m->system->sm_domain);
}

/* ---- slots ---- */

static uint64_t first_line(const struct block_migration *m, uint32_t app, uint32_t slot)
{
    return ((CONTEXT_BASE + app * CONTEXT_APP_BYTES) >> LINE_LOG2) + (uint64_t)slot * m->lines_per_slot;
}

/* True if all frames of the slot lie in channels that the application owns. */
static bool slot_is_owned(const struct block_migration *m, uint32_t app, uint32_t slot)
{
    const struct pages *p = m->system->pages;
    const uint32_t page_lines_log2 = p->page_log2 - LINE_LOG2;
    const uint64_t first = first_line(m, app, slot) >> page_lines_log2,
                   end = (first_line(m, app, slot) + m->lines_per_slot - 1) >> page_lines_log2;
    for (uint64_t page = first; page <= end; page++) {
        const uint64_t key = pages_key(app, page);
        if (!pages_frame(p, key)) break; /* frames are taken in order */
        if (!pages_is_owned(p, key)) return false;
    }
    return true;
}

static uint32_t take_slot(struct block_migration *m, uint32_t app)
{
    struct context_app *a = &m->app[app];
    uint32_t slot = 0;
    while (slot < a->slot_count && (a->slot_used[slot] || !slot_is_owned(m, app, slot))) slot++;
    if (slot == a->slot_count) {
        a->slot_used =
            grow(a->slot_used, a->slot_count, &a->slot_capacity, sizeof *a->slot_used, "contexts of blocks");
        a->slot_count++;
    }
    a->slot_used[slot] = true;
    return slot;
}

/* ---- leaving ---- */

static bool precedes(const struct context *a, const struct context *b)
{
    if (a->run != b->run) return a->run->record < b->run->record;
    return a->block < b->block;
}

static void add_context(struct block_migration *m, struct context *c)
{
    struct context_app *a = &m->app[c->run->sm.app];
    struct context **at = &a->waiting;
    while (*at && precedes(*at, c)) at = &(*at)->next;
    c->next = *at;
    *at = c;
    a->waiting_count++;
    m->waiting_count++;
    a->displaces = false;
}

static void block_left(void *self, uint32_t sm, uint64_t block, struct warp_source *source,
                       uint64_t start_cyc)
{
    struct running *r = self;
    struct block_migration *m = r->system->block_migration;
    struct exec_block *b = source->self;
    struct context *c = malloc(sizeof *c);
    void *const state = malloc(exec_block_state_bytes(b));
    if (!c || !state) diag_mistake("out of host memory for the context of a block that moves");
    exec_block_save(b, state);
    *c = (struct context){.state = state,
                          .run = r,
                          .block = block,
                          .start_cyc = start_cyc,
                          .since_cyc = now_of(m) + 1,
                          .from = sm,
                          .slot = m->slot_of[sm]};
    add_context(m, c);
    m->refused[sm] = true;
    r->system->apps.app[r->sm.app].stats.blocks_switched++;
    kernel_remove_resident(r, b);
    exec_block_destroy(b);
    wake_at(m, c->since_cyc);
}

static bool stop_block(struct block_migration *m, uint32_t sm, enum sm_stop which)
{
    struct system *g = m->system;
    const uint32_t app = g->apps.serving[sm];
    if (app >= g->apps.count || sm_longest_since(g->sms[sm]) == UINT64_MAX) return false;
    const uint32_t slot = take_slot(m, app);
    m->slot_of[sm] = slot;
    if (sm_stop_block(g->sms[sm], which, first_line(m, app, slot))) return true;
    m->app[app].slot_used[slot] = false;
    return false;
}

void block_migration_clear_sm(struct block_migration *m, uint32_t sm)
{
    if (m->clearing[sm]) return;
    m->clearing[sm] = true;
    m->clearing_count++;
    wake_at(m, now_of(m) + 1);
}

/* The SMs that change hands lose their next block. */
static void clear_sms(struct block_migration *m)
{
    const struct apps *a = &m->system->apps;
    for (uint32_t sm = 0; m->clearing_count && sm < m->system->sm_count; sm++) {
        if (!m->clearing[sm]) continue;
        if (a->owner[sm] != a->serving[sm]) {
            (void)stop_block(m, sm, SM_STOP_LOWEST);
            continue;
        }
        m->clearing[sm] = false;
        m->clearing_count--;
    }
}

/* ---- resuming ---- */

/* The SM that the context can use, in SM order from the one that it left on. UINT32_MAX: none. */
static uint32_t sm_for(const struct block_migration *m, const struct context *c)
{
    struct system *g = m->system;
    for (uint32_t k = 1; k <= g->sm_count; k++) {
        const uint32_t sm = (c->from + k) % g->sm_count;
        if (apps_may_run(&g->apps, sm, c->run->sm.app) && sm_can_resume(g->sms[sm], &c->run->sm)) return sm;
    }
    return UINT32_MAX;
}

static void resume_on(struct block_migration *m, const struct context *c, uint32_t sm)
{
    struct system *g = m->system;
    const uint32_t app = c->run->sm.app;
    struct exec_block *b = exec_block_restore(c->run->launch, c->state, sm);
    kernel_add_resident(c->run, b);
    uint64_t *const clock = exec_block_clock(b, c->run->nanoseconds_per_cycle);
    const bool taken = sm_resume_block(g->sms[sm], &c->run->sm, c->block, exec_block_source(b), clock,
                                       c->start_cyc, first_line(m, app, c->slot));
    DIAG_ASSERT(taken);
    m->app[app].slot_used[c->slot] = false;
    g->apps.app[app].stats.switch_wait_cyc += now_of(m) - c->since_cyc;
}

/* The context that resumes next: one that has waited for too long, else the first one. NULL: none is visible. */
static struct context **next_context(struct block_migration *m, struct context_app *a, uint64_t now)
{
    struct context **next = NULL;
    for (struct context **at = &a->waiting; *at; at = &(*at)->next) {
        const struct context *c = *at;
        if (c->since_cyc > now) continue;
        const bool late = now - c->since_cyc >= m->patience_cyc;
        if (!next || (late && ((*next)->since_cyc > c->since_cyc))) next = at;
    }
    return next;
}

/* Makes room for a context that has waited for too long. */
static void displace(struct block_migration *m, uint32_t app)
{
    struct system *g = m->system;
    uint32_t best = UINT32_MAX;
    uint64_t since_cyc = UINT64_MAX;
    for (uint32_t sm = 0; sm < g->sm_count; sm++) {
        if (!apps_may_run(&g->apps, sm, app)) continue;
        const uint64_t since = sm_longest_since(g->sms[sm]);
        if (since >= since_cyc) continue;
        since_cyc = since;
        best = sm;
    }
    if (best != UINT32_MAX) m->app[app].displaces = stop_block(m, best, SM_STOP_LONGEST);
}

static bool resume_contexts(struct block_migration *m, uint32_t app, uint64_t now)
{
    struct context_app *a = &m->app[app];
    struct context **at;
    bool any = false;
    while ((at = next_context(m, a, now))) {
        struct context *c = *at;
        const uint32_t sm = sm_for(m, c);
        if (sm == UINT32_MAX) {
            if (now - c->since_cyc >= m->patience_cyc && !a->displaces) displace(m, app);
            break;
        }
        resume_on(m, c, sm);
        *at = c->next;
        free(c->state);
        free(c);
        a->waiting_count--;
        m->waiting_count--;
        any = true;
    }
    return any;
}

bool block_migration_waits(struct block_migration *m, uint32_t sm, uint32_t app)
{
    if (!m || !m->app[app].waiting_count) return false;
    m->refused[sm] = true;
    return true;
}

void block_migration_on_room(struct block_migration *m)
{
    if (m && m->waiting_count) wake_at(m, now_of(m) + 1);
}

/* SMs that were refused a block while contexts waited may start one now. */
static void ask_again(struct block_migration *m)
{
    const struct apps *a = &m->system->apps;
    for (uint32_t sm = 0; sm < m->system->sm_count; sm++) {
        if (!m->refused[sm] || (a->serving[sm] < a->count && m->app[a->serving[sm]].waiting_count)) continue;
        m->refused[sm] = false;
        sm_ask(m->system->sms[sm]);
    }
}

/* ---- the component ---- */

static void ignore_wake(void *self, uint64_t now)
{
    (void)self;
    (void)now;
}

static void rotate(struct block_migration *m, uint64_t now)
{
    if (!m->interval_cyc || now < m->next_cyc) return;
    m->next_cyc = now + m->interval_cyc;
    for (uint32_t sm = 0; sm < m->system->sm_count; sm++) (void)stop_block(m, sm, SM_STOP_OLDEST);
}

static void commit(void *self, uint64_t now)
{
    struct block_migration *m = self;
    bool resumed = false;
    for (uint32_t app = 0; m->waiting_count && app < m->system->apps.count; app++)
        resumed |= resume_contexts(m, app, now);
    clear_sms(m);
    ask_again(m);
    rotate(m, now);
    if (!kernel_any_runs(m->system)) return;
    uint64_t next = m->interval_cyc ? m->next_cyc : UINT64_MAX;
    if (resumed && m->waiting_count)
        next = now + 1;
    else if ((m->waiting_count || m->clearing_count) && now + POLL_CYC < next)
        next = now + POLL_CYC;
    if (next != UINT64_MAX) wake_at(m, next);
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
    (void)snprintf(w.detail, sizeof w.detail, "%u blocks that move, %llu that did not begin",
                   m->waiting_count, (unsigned long long)(nowhere - m->waiting_count));
    return w;
}

void block_migration_on_start(struct running *r, uint64_t start_cyc)
{
    struct system *g = r->system;
    struct block_migration *m = g->block_migration;
    if (!m) return;
    r->sm.block_left = block_left;
    if (g->running_count || !m->interval_cyc) return; /* other kernels run: the component is awake */
    m->next_cyc = start_cyc + m->interval_cyc;
    wake_at(m, m->next_cyc);
}

void block_migration_new(struct system *g, const struct config *c)
{
    if (!config_blocks_move(c)) return;
    struct block_migration *m = ARENA_NEW(&g->arena, struct block_migration);
    const uint32_t page_lines = 1u << (g->pages->page_log2 - LINE_LOG2);
    m->system = g;
    m->interval_cyc = c->runtime.rotate_blocks_cyc;
    m->patience_cyc = config_partition_changes(c) ? c->partition.epoch_cyc : UINT64_MAX;
    m->lines_per_slot = (sm_context_lines_max(g->sm_spec) + page_lines - 1) / page_lines * page_lines;
    m->slot_of = ARENA_ARRAY(&g->arena, uint32_t, g->sm_count);
    m->refused = ARENA_ARRAY(&g->arena, bool, g->sm_count);
    m->clearing = ARENA_ARRAY(&g->arena, bool, g->sm_count);
    m->component = engine_add(g->engine, (struct component_spec){.name = "gpu0.block_migration",
                                                                 .self = m,
                                                                 .domain = g->sm_domain,
                                                                 .wake = ignore_wake,
                                                                 .commit = commit,
                                                                 .waits = waits});
    g->block_migration = m;
}

void block_migration_free(struct block_migration *m)
{
    for (uint32_t app = 0; m && app < APPS_MAX; app++) {
        for (struct context *c = m->app[app].waiting, *next; c; c = next) {
            next = c->next;
            free(c->state);
            free(c);
        }
        free(m->app[app].slot_used);
    }
}
