/* epoch: asks the policy of replication at the times that it asks for, while kernels run, and does for it
 * what concerns the whole machine. It is asked between two runs of the engine (kernel.c), when the cycle is
 * over for everybody. */
#include <string.h>

#include "base/map.h"
#include "gpu/gpu_private.h"

struct epoch {
    struct gpu *gpu;
    uint64_t due_cyc;  /* when the policy wants to be asked */
    uint32_t flushing; /* slices; UINT32_MAX: no pass over them has begun */
};

static bool quiet(void *self)
{
    const struct gpu *g = ((struct epoch *)self)->gpu;
    for (uint32_t k = 0; k < g->sm_count; k++)
        if (sm_requests_waiting(g->sms[k])) return false;
    return true;
}

static void slice_flushed(void *self) { ((struct epoch *)self)->flushing--; }

static bool pass(struct epoch *e, enum llc_boundary how)
{
    struct gpu *g = e->gpu;
    if (e->flushing == UINT32_MAX && g->flushing) return false; /* a kernel's boundary comes first */
    if (e->flushing == UINT32_MAX) {
        e->flushing = g->slice_count;
        g->organisations->memory_old = false;
        for (uint32_t k = 0; k < g->slice_count; k++) slice_flush(g->slices[k], how, false, slice_flushed, e);
    }
    if (e->flushing) return false;
    e->flushing = UINT32_MAX;
    return true;
}

static bool flush(void *self) { return pass(self, llc_boundary_flush); }

/* A kernel may end meanwhile: then what it wrote is to be looked for again. */
static bool clean(void *self)
{
    struct epoch *e = self;
    return pass(e, llc_boundary_clean) && !e->gpu->organisations->memory_old;
}

static void write_through(void *self, bool on)
{
    const struct gpu *g = ((struct epoch *)self)->gpu;
    for (uint32_t k = 0; k < g->slice_count; k++) slice_set_write_through(g->slices[k], on);
}

uint64_t epoch_due(const struct gpu *g)
{
    return g->replication && g->running_count ? g->epoch->due_cyc : ENGINE_NEVER;
}

void epoch_ask(struct gpu *g, uint64_t now)
{
    g->epoch->due_cyc = g->replication->due(g->replication, now);
    if (!g->organisations->paused) boundary_go_on(g);
}

/* Launches of one kernel with the same geometry are the same to a policy. */
static uint64_t kernel_key(const struct exec_launch *l)
{
    const char *const name = exec_kernel_ptx(l->kernel)->name;
    const uint64_t kernel = hash_bytes(name, strlen(name), 0);
    return hash_bytes(l->grid, sizeof l->grid, hash_bytes(l->block, sizeof l->block, kernel));
}

void epoch_begin(struct gpu *g, uint64_t start_cyc)
{
    if (!g->replication || g->running_count > 1) return;
    g->epoch->due_cyc =
        replication_begin(g->replication, start_cyc, kernel_key(g->running[g->running_count - 1]->launch));
}

void epoch_end(struct gpu *g)
{
    if (!g->replication) return;
    if (!g->running_count)
        replication_settle(g->replication, gpu_now(g));
    else if (g->replication->kernel_begins) /* the epoch ended with the kernel: another goes on */
        g->epoch->due_cyc = replication_begin(g->replication, gpu_now(g), kernel_key(g->running[0]->launch));
}

/* Before the slices, which are tapped. */
void epoch_new(struct gpu *g, const struct config *c)
{
    struct epoch *e = g->epoch = ARENA_NEW(&g->arena, struct epoch);
    e->gpu = g;
    e->flushing = UINT32_MAX;
    const struct replication_machine m = {
        .self = e, .quiet = quiet, .flush = flush, .clean = clean, .write_through = write_through};
    g->replication = replication_new(&g->arena, c, &g->slice_spec, g->organisations, &m);
    if (!g->replication) return;
    g->tap = replication_tap(g->replication);
    stats_on_edge(g->stats, replication_edge, g->replication);
    STATS_REGISTER(g->stats, selrep, &g->replication->stats, STATS_EVERYWHERE);
}

const struct replication *gpu_replication(const struct gpu *g) { return g->replication; }
