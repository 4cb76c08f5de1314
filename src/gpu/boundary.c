/* boundary: the end of a kernel: what its LLC slices write back and drop before the next one of its
 * application may read, one kernel at a time. */
#include "gpu/gpu_private.h"

static void kernel_over(struct running *r)
{
    r->over = true;
    engine_stop(r->gpu->engine);
}

static void slice_flushed(void *arg);

/* Kernels of the application that have ended by now need no other. */
static void begin_flush(struct running *r)
{
    struct gpu *g = r->gpu;
    for (uint32_t n = 0; n < g->running_count; n++) {
        struct running *other = g->running[n];
        other->shares_flush = other->wants_flush && other->sm.app == r->sm.app;
        other->wants_flush &= !other->shares_flush;
    }
    r->slices_flushing = g->slice_count;
    for (uint32_t k = 0; k < g->chiplet_count; k++) organisation_forget_copies(&g->organisations[k]);
    if (r->boundary == llc_boundary_flush) mdr_flush(g->mdr);
    for (uint32_t k = 0; k < g->slice_count; k++)
        slice_flush(g->slices[k], r->boundary, g->running_count == 1, slice_flushed, r);
}

/* SMs of the application send nothing, or go on. */
void boundary_hold(const struct running *r, bool on)
{
    for (uint32_t k = 0; k < r->gpu->sm_count; k++)
        if (!on || apps_may_run(&r->gpu->apps, k, r->sm.app)) sm_hold(r->gpu->sms[k], on);
}

static bool is_beside_others(const struct running *r)
{
    const struct gpu *g = r->gpu;
    for (uint32_t n = 0; n < g->running_count; n++)
        if (g->running[n] != r && g->running[n]->sm.app == r->sm.app) return true;
    return false;
}

/* One kernel's boundary at a time; kernels of other applications go on meanwhile. Those of its own must be
 * quiet: what one of them had on its way could come back after the slices were looked through, and be older
 * than what the kernel wrote. ASSUMPTION: their SMs send nothing until the boundary is over. */
static void flush(struct running *r)
{
    struct gpu *g = r->gpu;
    r->wants_flush = g->flushing != NULL;
    if (r->wants_flush) return;
    g->flushing = r;
    if (!is_beside_others(r)) {
        begin_flush(r);
        return;
    }
    r->drains = g->drains = true;
    engine_stop(g->engine); /* boundary_drain() when the cycle is over for everybody */
}

static bool is_quiet(const struct running *r)
{
    for (uint32_t k = 0; k < r->gpu->sm_count; k++)
        if (apps_may_run(&r->gpu->apps, k, r->sm.app) && sm_requests_waiting(r->gpu->sms[k])) return false;
    return true;
}

/* Between two runs of the engine, while a boundary waits for other kernels of its application: an SM that has
 * got its last reply stops the engine. */
void boundary_drain(struct gpu *g)
{
    struct running *r = g->flushing;
    boundary_hold(r, true);
    if (!is_quiet(r)) return;
    g->drains = false;
    begin_flush(r);
}

static void slice_flushed(void *arg)
{
    struct running *r = arg;
    struct gpu *g = r->gpu;
    if (--r->slices_flushing) return;
    kernel_over(r);
    for (uint32_t n = 0; n < g->running_count; n++) {
        if (g->running[n]->shares_flush) kernel_over(g->running[n]);
        g->running[n]->shares_flush = false;
    }
    g->flushing = NULL;
    for (uint32_t n = 0; n < g->running_count && !g->flushing; n++)
        if (g->running[n]->wants_flush) flush(g->running[n]);
}

/* One pass serves all chiplets: policies keep their organisations in one state. */
static enum llc_boundary boundary_of(const struct gpu *g)
{
    const enum llc_boundary boundary = organisation_boundary(&g->organisations[0]);
    for (uint32_t k = 1; k < g->chiplet_count; k++)
        DIAG_ASSERT(organisation_boundary(&g->organisations[k]) == boundary);
    return boundary;
}

static void begin(struct running *r)
{
    struct gpu *g = r->gpu;
    r->boundary = boundary_of(g);
    if (r->gpu->replication) replication_boundary(r->gpu->replication, gpu_now(r->gpu));
    if (r->boundary == llc_boundary_keep || FAULT_FIRES(boundary_keeps_replicas)) {
        for (uint32_t k = 0; k < g->chiplet_count; k++) organisation_keep_all(&g->organisations[k]);
        kernel_over(r);
    } else {
        flush(r);
    }
}

void boundary_sm_drained(void *self, uint32_t sm, uint64_t now)
{
    struct running *r = self;
    struct gpu *g = r->gpu;
    (void)sm;
    (void)now;
    r->sms_drained++;
    apps_look_again(&g->apps);
    if (r->blocks_ended < r->launch->block_count) return;
    for (uint32_t k = 0; k < g->sm_count; k++)
        if (!sm_idle_of(g->sms[k], &r->sm)) return;
    if (r->slices_flushing || r->wants_flush || r->shares_flush || r->drains || r->over) return;
    r->boundary_waits = g->organisations->paused;
    if (!r->boundary_waits) begin(r);
}

void boundary_go_on(struct gpu *g)
{
    for (uint32_t n = 0; n < g->running_count; n++) {
        if (!g->running[n]->boundary_waits) continue;
        g->running[n]->boundary_waits = false;
        begin(g->running[n]);
    }
}
