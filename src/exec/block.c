/* block: a resident block: its chunk of memory, its warps' turns, the functional runner of a grid.
 *
 * Turns: a warp runs until it waits, ends or has used up its turn; then the next one that can. Blocks
 * likewise: one at a time until its share is used up (nearly all blocks end before), then another is made
 * resident beside it, so that blocks that wait for each other all get on. */
#include "exec/lower.h"

#include <stdlib.h>

#include "base/host_pages.h"

/* Blocks of a cooperative grid do wait for each other: short turns waste less. */
enum { WARP_TURN = 4096, BLOCK_TURN = 1 << 17, COOPERATIVE_TURN = 1 << 11, BLOCKS_PER_SM = 32 };

/* ---- memory of a block ---- */

static uint64_t up64(uint64_t x) { return (x + 63) & ~(uint64_t)63; }

struct layout {
    uint64_t values, shared, frames, local, end;
};

static struct layout layout_of(const struct exec_launch *l)
{
    struct layout at;
    at.values = up64(sizeof(struct exec_block) + l->warps_per_block * sizeof(struct exec_warp));
    at.shared = at.values + l->kernel->func->value_count * VALUE_BYTES;
    at.frames = up64(at.shared + l->shared_bytes);
    at.local = up64(at.frames + l->warps_per_block * up64(l->kernel->frame_bytes));
    at.end = up64(at.local + l->warps_per_block * l->kernel->local_bytes * LANES);
    return at;
}

uint64_t exec_chunk_bytes(const struct exec_launch *l) { return (layout_of(l).end + 4095) & ~(uint64_t)4095; }

/* A chunk of its own from the system for each block: what is not touched costs nothing. Small chunks are
 * cleared and used again instead. */
static bool is_large(const struct exec_launch *l)
{
    enum { CLEARED_MOST = 4 << 20 };
    return l->kernel->deep || l->chunk_bytes > CLEARED_MOST;
}

static void *chunk_new(const struct exec_launch *l)
{
    void *chunk = is_large(l) ? host_pages_alloc(l->chunk_bytes) : chunk_take(l->env, l->chunk_bytes);
    if (!chunk)
        diag_mistake("out of host memory: a block of kernel '%s' needs %llu bytes",
                     l->kernel->func->ptx->name, (unsigned long long)l->chunk_bytes);
    return chunk;
}

static void chunk_free(void *arg)
{
    struct exec_block *b = arg;
    if (is_large(b->launch))
        host_pages_free(b, b->chunk_bytes);
    else
        chunk_give(b->env, b, b->chunk_bytes);
}

/* Derives the pointers inside the chunk. */
void exec_block_bind(struct exec_block *b)
{
    uint8_t *chunk = (uint8_t *)b;
    const struct exec_kernel *k = b->launch->kernel;
    for (uint32_t n = 0; n < b->warp_count; n++) {
        struct exec_warp *w = &b->warps[n];
        w->block = b;
        w->env = b->env;
        w->shared = chunk + b->shared_offset;
        w->frames = chunk + b->frames_offset + n * up64(k->frame_bytes);
        w->local = chunk + b->local_offset + n * k->local_bytes * LANES;
        w->base[0] = w->frames + w->frame;
        w->base[1] = b->env->constants - 1;
        w->base[2] = chunk + b->values_offset - REF_VALUE;
    }
}

/* The last step of making a block: the only one that can fail when the chunk exists. */
static void start_racecheck(struct exec_block *b)
{
    struct diag_cleanup cleanup;
    b->race = NULL;
    if (!b->env->options.racecheck) return;
    diag_defer(&cleanup, chunk_free, b);
    b->race = race_start(b->env, b->launch->shared_bytes);
    diag_done(&cleanup, false);
}

/* Registers are a few KiB: in pieces for which the library uses plain vector stores, not its slow start for
 * large ones. */
static void clear(uint8_t *at, size_t bytes)
{
    enum { PIECE = 1024 };
    for (; bytes > PIECE; at += PIECE, bytes -= PIECE) memset(at, 0, PIECE);
    memset(at, 0, bytes);
}

struct exec_block *exec_block_create(struct exec_launch *l, uint64_t block_idx, uint32_t sm)
{
    const struct layout at = layout_of(l);
    const struct exec_kernel *k = l->kernel;
    struct exec_block *b = chunk_new(l);
    memset(b, 0, sizeof *b);
    b->launch = l;
    b->env = l->env;
    b->chunk_bytes = l->chunk_bytes;
    b->block_idx = block_idx;
    b->ctaid[0] = (uint32_t)(block_idx % l->grid[0]);
    b->ctaid[1] = (uint32_t)(block_idx / l->grid[0] % l->grid[1]);
    b->ctaid[2] = (uint32_t)(block_idx / l->grid[0] / l->grid[1]);
    b->sm = sm;
    b->warp_count = l->warps_per_block;
    b->live_threads = l->threads_per_block;
    b->turn = l->warps_per_block - 1; /* warp 0 runs first */
    b->values_offset = at.values;
    b->shared_offset = at.shared;
    b->frames_offset = at.frames;
    b->local_offset = at.local;
    for (uint32_t id = 0; id < 16; id++) b->barriers[id].all = true;
    for (uint32_t n = 0; n < b->warp_count; n++) {
        struct exec_warp *w = &b->warps[n];
        memset(w, 0, offsetof(struct exec_warp, ahead_cycles));
        w->idx = n;
        w->shared_bytes = l->shared_bytes;
        w->frames_bytes = k->frame_bytes;
        w->local_bytes = k->local_bytes;
    }
    exec_block_bind(b);
    /* What a program reads before it writes is zero, whatever ran here before. */
    memset((uint8_t *)b + b->shared_offset, 0, l->shared_bytes);
    for (uint32_t n = 0; n < b->warp_count; n++) {
        struct exec_warp *w = &b->warps[n];
        const uint32_t threads = l->threads_per_block - n * LANES;
        if (k->reads_undefined) clear(w->frames, k->func->temp_offset);
        if (k->local_bytes && !is_large(l)) memset(w->local, 0, k->local_bytes * LANES);
        split_start(w, k->func->code, threads >= LANES ? LANES_ALL : (1u << threads) - 1);
        b->runnable |= 1u << n;
    }
    start_racecheck(b);
    return b;
}

void exec_block_destroy(struct exec_block *b)
{
    if (b->race) race_end(b->race);
    b->race = NULL;
    chunk_free(b);
}

uint32_t *exec_block_place(struct exec_block *b) { return &b->place; }

bool exec_block_done(const struct exec_block *b) { return b->live_threads == 0; }

uint64_t *exec_block_clock(struct exec_block *b, double nanoseconds_per_cycle)
{
    b->timed = true;
    b->nanoseconds_per_cycle = nanoseconds_per_cycle;
    return &b->cycle;
}

void exec_block_check_stuck(struct exec_block *b)
{
    if (!b->runnable && !exec_block_done(b)) exec_stuck(b);
}

/* ---- moving a block ---- */

uint64_t exec_block_state_bytes(const struct exec_block *b) { return b->chunk_bytes; }

void exec_block_save(const struct exec_block *b, void *state) { memcpy(state, b, b->chunk_bytes); }

struct exec_block *exec_block_restore(struct exec_launch *l, const void *state, uint32_t sm)
{
    DIAG_ASSERT(((const struct exec_block *)state)->chunk_bytes == l->chunk_bytes);
    struct exec_block *b = chunk_new(l);
    memcpy(b, state, l->chunk_bytes);
    b->launch = l;
    b->env = l->env;
    b->sm = sm;
    exec_block_bind(b);
    start_racecheck(b);
    return b;
}

/* ---- running ---- */

void exec_warp_run(struct exec_warp *w, uint32_t budget)
{
    const struct insn *pc = w->state == WARP_BLOCKED ? split_next(w) : w->pc;
    uint64_t warp_instructions = 0, thread_instructions = 0;
    w->budget = (int32_t)budget;
    while (pc && w->budget-- > 0) {
        const uint32_t mask = w->mask & (*(const uint32_t *)ref_at(w, pc->guard) ^ pc->guard_xor);
        warp_instructions += pc->counted;
        if (pc->counted) thread_instructions += lanes_in(mask);
        pc = pc->fn(w, pc, mask);
    }
    w->pc = pc;
    w->warp_instructions += warp_instructions;
    w->thread_instructions += thread_instructions;
    struct exec_block *b = w->block;
    b->instructions += warp_instructions;
    if (w->state != WARP_RUNNING) b->runnable &= ~(1u << w->idx);
    if (w->state == WARP_DONE) b->done |= 1u << w->idx;
}

/* Gives the warps turns until the block ends or its share is used up. */
static void block_run(struct exec_block *b, uint64_t share)
{
    const uint64_t end = b->instructions + share;
    while (b->runnable && b->instructions < end) {
        const uint32_t after = b->turn == 31 ? 0 : b->runnable & ~(((uint32_t)2 << b->turn) - 1);
        b->turn = (uint32_t)__builtin_ctz(after ? after : b->runnable);
        exec_warp_run(&b->warps[b->turn], share < WARP_TURN ? (uint32_t)share : WARP_TURN);
        share--; /* a turn that executes nothing counts too */
        if (!share) return;
    }
    exec_block_check_stuck(b);
}

static void count_block(const struct exec_block *b)
{
    struct exec_totals *t = &b->env->totals;
    struct exec_launch *l = b->launch;
    uint64_t threads = 0, warps = b->instructions;
    for (uint32_t n = 0; n < b->warp_count; n++) {
        const struct warp_next *kept = &b->warps[n].kept; /* executed ahead, and then nobody issued it */
        threads += b->warps[n].thread_instructions;
        for (uint32_t k = 0; k < kept->run; k++)
            if (kept->info[k].class != WARP_CLASS_CONTROL) threads -= lanes_in(kept->run_mask);
        warps -= kept->run;
    }
    t->warp_instructions += warps;
    t->thread_instructions += threads;
    t->blocks++;
    l->warp_instructions += warps;
    l->thread_instructions += threads;
}

void exec_block_retire(struct exec_block *b)
{
    count_block(b);
    exec_block_destroy(b);
}

/* ---- a grid, functionally ---- */

struct exec_run {
    struct exec_launch *launch;
    uint32_t count, most;
    uint32_t turn;               /* the block that goes on next */
    uint64_t next, begun;        /* next: block; begun: instructions of the resident blocks */
    struct exec_block *blocks[]; /* resident */
};

static void retire(struct exec_run *r, uint32_t at)
{
    exec_block_retire(r->blocks[at]);
    memmove(r->blocks + at, r->blocks + at + 1, (r->count - at - 1) * sizeof *r->blocks);
    r->count--;
}

void exec_run_free(struct exec_run *r)
{
    if (!r) return;
    for (uint32_t k = 0; k < r->count; k++) {
        count_block(r->blocks[k]); /* a run that ends early has done this much */
        if (r->blocks[k]->race) race_end(r->blocks[k]->race);
        chunk_free(r->blocks[k]);
    }
    free(r);
}

/* Blocks interleaved: as many as a GPU holds, because blocks may wait for others that run beside them there;
 * fewer, but one per SM, when they are large. A bound on memory comes first (recursion: on what is reserved
 * of it). */
static uint32_t residents(const struct exec_launch *l)
{
    const uint64_t wanted_bytes = (uint64_t)32 << 20, most_bytes = (uint64_t)(l->kernel->deep ? 8 : 1) << 30;
    const struct exec_options *o = &l->env->options;
    uint64_t most = o->blocks_at_once ? o->blocks_at_once : BLOCKS_PER_SM * (uint64_t)o->sm_count;
    if (!o->blocks_at_once && most * l->chunk_bytes > wanted_bytes) {
        most = wanted_bytes / l->chunk_bytes;
        if (most < o->sm_count) most = o->sm_count;
    }
    if (most * l->chunk_bytes > most_bytes) most = most_bytes / l->chunk_bytes;
    if (most < 2) most = 2;
    if (l->cooperative) most = l->block_count;
    return (uint32_t)(most < l->block_count ? most : l->block_count);
}

/* How many instructions a block may run now; begun: those of all resident blocks. */
static uint64_t share_of(const struct exec_launch *l, uint64_t begun)
{
    const uint64_t turn = l->cooperative ? COOPERATIVE_TURN : BLOCK_TURN,
                   most = l->env->options.max_instructions, used = l->env->totals.warp_instructions + begun;
    if (!most) return turn;
    const uint64_t left = most > used ? most - used : 1;
    return turn < left ? turn : left;
}

static void check_budget(const struct exec_block *b, uint64_t begun)
{
    const struct exec_env *env = b->env;
    if (env->options.max_instructions &&
        env->totals.warp_instructions + begun >= env->options.max_instructions)
        exec_out_of_budget(b);
}

struct exec_run *exec_run_new(struct exec_launch *l)
{
    exec_launch_begin(l);
    const uint32_t most = residents(l);
    struct exec_run *r = calloc(1, sizeof *r + most * sizeof(struct exec_block *));
    if (!r) diag_mistake("out of host memory");
    r->launch = l;
    r->most = most;
    return r;
}

bool exec_run_some(struct exec_run *r, uint64_t instructions)
{
    struct exec_launch *l = r->launch;
    struct exec_env *env = l->env;
    const uint64_t end = env->totals.warp_instructions + r->begun + instructions;
    exec_memory_changed(env);
    while (r->next < l->block_count || r->count) {
        if (env->totals.warp_instructions + r->begun >= end) return false;
        if (r->count < r->most && r->next < l->block_count && r->turn >= r->count) {
            struct exec_block *fresh =
                exec_block_create(l, r->next, (uint32_t)(r->next % env->options.sm_count));
            r->blocks[r->count++] = fresh; /* counted only when it exists: creating may raise */
            r->next++;
        }
        if (r->turn >= r->count) r->turn = 0;
        struct exec_block *b = r->blocks[r->turn];
        const uint64_t before = b->instructions;
        block_run(b, share_of(l, r->begun));
        r->begun += b->instructions - before;
        check_budget(b, r->begun);
        if (exec_block_done(b)) {
            r->begun -= b->instructions; /* now among the totals */
            retire(r, r->turn);
        } else {
            r->turn++;
        }
    }
    exec_launch_end(l);
    return true;
}

uint64_t exec_begun(const struct exec_env *env, const struct exec_run *r)
{
    return env->totals.warp_instructions + r->begun;
}

static void free_run(void *run) { exec_run_free(run); }

void exec_launch_run(struct exec_launch *l)
{
    struct exec_run *r = exec_run_new(l);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, free_run, r);
    (void)exec_run_some(r, UINT64_MAX / 2);
    diag_done(&cleanup, true);
}

void exec_launch_end(struct exec_launch *l) { l->env->totals.launches++; }
