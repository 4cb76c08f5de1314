/* walk: see walk.h. */
#include "system/walk.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "system/system_private.h"

/* Warp instructions of a warp before the next warp runs. ASSUMPTION: short turns approximate SMs that run at the
 * same speed. The order of the SMs is drawn anew for every launch: blocks of several GPUs that share a page race for
 * it, and none of them always wins. */
enum { TURN = 64 };

/* The blocks that are resident on an SM. */
struct walk_sm {
    struct exec_block **blocks; /* [slots] */
    bool *observed;             /* [slots] */
    uint32_t count;
    uint64_t page; /* key of the last page that was placed or found, + 1 */
};

struct walk {
    struct system *system;
    struct exec_launch *launch;
    const struct walk_observer *observer;
    struct cta_sched blocks;
    struct launch_facts facts;
    struct walk_sm *sms; /* [sm_count] */
    uint32_t *order;     /* [sm_count] SMs in the order of their turns */
    uint32_t app, slots;
    uint64_t executed;         /* observed warp instructions */
    uint64_t given, given_max; /* blocks that SMs have got, and may get */
    bool places, observes;     /* observes: the instruction belongs to an observed block */
};

static void drop_blocks(void *arg)
{
    struct walk *w = arg;
    for (uint32_t sm = 0; sm < w->system->sm_count; sm++)
        while (w->sms[sm].count) exec_block_destroy(w->sms[sm].blocks[--w->sms[sm].count]);
}

/* ---- accesses ---- */

static void place(struct walk *w, uint32_t sm, uint64_t line)
{
    struct system *g = w->system;
    const uint64_t key = pages_key(w->app, line >> (g->pages->page_log2 - LINE_LOG2));
    if (w->sms[sm].page == key + 1) return;
    w->sms[sm].page = key + 1;
    const uint32_t gpu = sm / (uint32_t)config_sms_per_gpu(g->config);
    mmu_place_for_driver(g->mmus[apps_mmu(&g->apps, w->app, gpu)], sm, key);
}

static void access_line(struct walk *w, uint32_t sm, uint64_t line, bool writes)
{
    if (w->places) place(w, sm, line);
    if (w->observes && w->observer->access) w->observer->access(w->observer->arg, sm, w->app, line, writes);
}

static bool is_write(const struct warp_op *op)
{
    return op->info->class == WARP_CLASS_STORE || op->info->class == WARP_CLASS_ATOMIC ||
           op->info->class == WARP_CLASS_REDUCTION;
}

static bool is_access(const struct warp_op *op)
{
    if (op->space != WARP_SPACE_GLOBAL && op->space != WARP_SPACE_LOCAL) return false;
    return is_write(op) || op->info->class == WARP_CLASS_LOAD || op->info->class == WARP_CLASS_COPY_ASYNC;
}

static void observe(struct walk *w, uint32_t sm, const struct warp_op *op)
{
    uint64_t last = UINT64_MAX;
    if (op->info->class == WARP_CLASS_TEXTURE) {
        for (uint32_t k = 0; k < op->texel_count; k++) {
            if (op->texels[k] >> LINE_LOG2 != last) access_line(w, sm, op->texels[k] >> LINE_LOG2, false);
            last = op->texels[k] >> LINE_LOG2;
        }
        return;
    }
    if (!is_access(op)) return;
    const bool writes = is_write(op);
    for (uint32_t lanes = op->mask; lanes; lanes &= lanes - 1) {
        const uint64_t line = warp_op_address(op, (uint32_t)__builtin_ctz(lanes)) >> LINE_LOG2;
        if (line != last) access_line(w, sm, line, writes);
        last = line;
    }
}

/* ---- blocks ---- */

static bool fill_slots(struct walk *w, uint32_t sm)
{
    struct walk_sm *s = &w->sms[sm];
    const struct apps *a = &w->system->apps;
    if (s->count == w->slots || w->given == w->given_max || !apps_may_run(a, sm, w->app)) return false;
    const uint32_t idx = a->app_idx[sm] % w->blocks.sms;
    const uint64_t block = cta_sched_next(&w->blocks, idx);
    if (block == CTA_NONE) return false;
    if (w->given_max != UINT64_MAX) w->system->warm_blocks[w->given] = (struct warm_block){block, idx};
    s->observed[s->count] = w->observer && w->given >= w->observer->skip_blocks;
    w->given++;
    s->blocks[s->count++] = exec_block_create(w->launch, block, sm);
    return true;
}

static bool advance(struct walk *w, uint32_t sm, struct exec_block *b)
{
    bool moved = false;
    for (uint32_t warp = 0; warp < w->launch->warps_per_block; warp++) {
        struct warp_op op;
        for (int k = 0; k < TURN && exec_warp_step(b, warp, &op) == WARP_STEP_OP; k++) {
            observe(w, sm, &op);
            w->executed += w->observes;
            moved = true;
        }
    }
    return moved;
}

/* One turn of an SM. False: the SM could do nothing. */
static bool turn(struct walk *w, uint32_t sm)
{
    struct walk_sm *s = &w->sms[sm];
    bool moved = fill_slots(w, sm);
    for (uint32_t k = 0; k < s->count;) {
        w->observes = s->observed[k];
        moved |= advance(w, sm, s->blocks[k]);
        if (exec_block_done(s->blocks[k])) {
            struct exec_block *const ended = s->blocks[k];
            s->blocks[k] = s->blocks[--s->count];
            s->observed[k] = s->observed[s->count];
            exec_block_retire(ended);
            moved = true;
        } else {
            k++;
        }
    }
    return moved;
}

static void check_stuck(const struct walk *w)
{
    for (uint32_t sm = 0; sm < w->system->sm_count; sm++)
        for (uint32_t k = 0; k < w->sms[sm].count; k++) exec_block_check_stuck(w->sms[sm].blocks[k]);
}

/* ---- a launch ---- */

static void draw_order(struct walk *w, struct arena *a)
{
    struct system *g = w->system;
    struct rng rng = rng_seed(g->config->sim.seed, 0x3a1c + w->launch->grid_id);
    w->order = ARENA_ARRAY(a, uint32_t, g->sm_count);
    for (uint32_t k = 0; k < g->sm_count; k++) {
        const uint32_t other = (uint32_t)rng_below(&rng, k + 1);
        w->order[k] = w->order[other];
        w->order[other] = k;
    }
}

static void prepare(struct walk *w, struct arena *a)
{
    struct system *g = w->system;
    struct exec_launch *l = w->launch;
    const char *why;
    exec_launch_begin(l);
    l->bank_cycles = NULL;
    w->slots = system_fitting_blocks(g->config, l->kernel, l->threads_per_block, l->shared_bytes, &why);
    if (!w->slots)
        diag_mistake("kernel '%s': not even one block fits an SM; raise %s", exec_kernel_ptx(l->kernel)->name,
                     why);
    w->sms = ARENA_ARRAY(a, struct walk_sm, g->sm_count);
    for (uint32_t sm = 0; sm < g->sm_count; sm++) {
        w->sms[sm].blocks = ARENA_ARRAY(a, struct exec_block *, w->slots);
        w->sms[sm].observed = ARENA_ARRAY(a, bool, w->slots);
    }
    draw_order(w, a);
    w->facts = launch_facts_of(l, w->app, system_registers_per_thread(g->config, l->kernel));
    w->facts.arrays = l->analysis ? analysis_arrays : NULL;
    w->facts.analysis = l->analysis;
    if (w->places) pages_launch(g->pages, &w->facts);
    cta_sched_init(&w->blocks, a, g->config, g->sm_count);
    cta_sched_begin(&w->blocks, &w->facts, g->apps.app[w->app].sm_count);
}

/* False: the limit is reached. */
static bool run(struct walk *w)
{
    uint64_t *const left = w->observer ? w->observer->left : NULL;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t k = 0; k < w->system->sm_count; k++) moved |= turn(w, w->order[k]);
        if (!left) continue;
        *left -= w->executed < *left ? w->executed : *left;
        w->executed = 0;
        if (!*left) return false;
    }
    check_stuck(w);
    if (w->given_max != UINT64_MAX) return true; /* the launch goes on with time */
    exec_launch_end(w->launch);
    if (w->observer && w->observer->ended) w->observer->ended(w->observer->arg, w->app);
    return true;
}

static void free_arena(void *arg) { arena_free(arg); }

static bool walk(struct system *g, uint32_t app, struct exec_launch *launch, bool places,
                 const struct walk_observer *observer, uint64_t given_max)
{
    struct walk w = {.system = g,
                     .launch = launch,
                     .observer = observer,
                     .given_max = given_max,
                     .app = app,
                     .places = places};
    struct arena arena;
    struct diag_cleanup freeing, dropping;
    arena_init(&arena);
    diag_defer(&freeing, free_arena, &arena);
    prepare(&w, &arena);
    diag_defer(&dropping, drop_blocks, &w);
    const bool ended = run(&w);
    diag_done(&dropping, true);
    diag_done(&freeing, true);
    return ended;
}

bool system_walk(struct system *g, uint32_t app, struct exec_launch *launch, bool places,
                 const struct walk_observer *observer)
{
    return walk(g, app, launch, places, observer, UINT64_MAX);
}

void system_walk_blocks(struct system *g, uint32_t app, struct exec_launch *launch, uint64_t blocks,
                        const struct walk_observer *observer)
{
    exec_launch_begin(launch);
    if (blocks >= launch->block_count)
        diag_mistake(
            "runtime.warm_blocks is %llu, and the first launch with time, of kernel '%s', has %llu blocks: "
            "lower it, or let whole launches run without time (runtime.warm_launches)",
            (unsigned long long)blocks, exec_kernel_ptx(launch->kernel)->name,
            (unsigned long long)launch->block_count);
    g->warm_blocks = ARENA_ARRAY(&g->arena, struct warm_block, blocks);
    g->warm_block_count = blocks;
    (void)walk(g, app, launch, true, observer, blocks);
}

uint64_t walk_skip_blocks(struct system *g, struct cta_sched *s)
{
    const uint64_t count = g->warm_block_count;
    for (uint64_t k = 0; k < count; k++) {
        const uint64_t block = cta_sched_next(s, g->warm_blocks[k].sm);
        DIAG_ASSERT(block == g->warm_blocks[k].block); /* the scheduler answers the same calls alike */
    }
    g->warm_block_count = 0;
    return count;
}
