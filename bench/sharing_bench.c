/* sharing_bench: which SMs touch which pages of a workload, as the NUBA paper classifies its workloads (its
 * figure 3).
 *
 *   sharing_bench [-n MILLIONS] [-g PAGE_KIB] [-k LAUNCHES] NAME[:SIZE]...     per workload one line of name=value
 *
 *   -n    largest number of thread instructions
 *   -g    also class the accesses by GPUs, as figure 4 of the CARVE paper does: 4 GPUs of 16 SMs, pages of PAGE_KIB
 *   -k    launches before the measured part of -g, where the workload does not mark it (wl_measure())
 *
 * 64 SMs, pages of 4 KiB, distributed scheduling: SM s has the blocks [N s/64, N (s+1)/64) of a launch of N
 * and runs them in order, as many at once as fit (64 warps, 32 blocks, 64 K registers, 96 KiB of shared
 * memory). All SMs advance in turn. The paper simulates one billion instructions; so does -n 1000, and what
 * is not touched by then does not count.
 *
 *   one, upto10, upto25, upto64    share of the touched pages that 1, 2-10, 11-25, 26-64 SMs touch
 *   shared_mb                      touched by more than one SM
 *   ro_shared_mb                   of these, what at least one launch only reads
 *
 * With -g: share of the accesses (one per line of a warp instruction) to pages, and to lines of 128 B, that one GPU
 * touches (private), that several GPUs only read (read-only), and that several GPUs touch and one writes
 * (read-write), all in the measured part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "exec/exec.h"
#include "frontend/script/script.h"

enum {
    SMS = 64,
    WARPS = 64,
    BLOCKS = 32,
    REGISTERS = 65536,
    SHARED_BYTES = 96 << 10,
    PAGE_LOG2 = 12,
    TURN = 64,
    GPUS = 4,
    LINE_LOG2 = 7
};

/* A page or a line as the GPUs use it. */
struct unit {
    uint32_t accesses;
    uint8_t gpus; /* one bit per GPU */
    bool written;
};

/* Units of one size. */
struct grain {
    struct unit *units;
    uint64_t count, size_log2;
};

struct page {
    uint64_t sms; /* that touched it */
    uint32_t launch;
    bool written, read_only; /* written: in that launch; read_only: some launch only read it */
};

struct sm {
    struct exec_block *blocks[BLOCKS];
    uint32_t count;
    uint64_t next, end; /* blocks to come */
};

struct survey {
    struct page *pages;
    uint64_t room, touched; /* pages */
    uint32_t launch;
    uint64_t limit, thread_instructions, footprint_bytes, warp_cycles, sm_turns;
    const char *request;
    struct sm sms[SMS];
    struct grain by_page, by_line; /* of -g; size_log2 = 0: none */
    uint32_t setup_launches;
};

static void count_access(struct grain *g, uint64_t address, uint32_t sm, bool write)
{
    const uint64_t at = (address - DEVMEM_SIM_BASE) >> g->size_log2;
    if (at >= g->count) {
        uint64_t count = g->count ? g->count : 1024;
        while (count <= at) count *= 2;
        g->units = realloc(g->units, count * sizeof *g->units);
        if (!g->units) diag_mistake("out of memory for the units");
        memset(g->units + g->count, 0, (count - g->count) * sizeof *g->units);
        g->count = count;
    }
    struct unit *u = &g->units[at];
    u->accesses++;
    u->gpus |= (uint8_t)(1u << (sm / (SMS / GPUS)));
    u->written |= write;
}

static void leave_launch(struct page *p)
{
    if (p->launch && !p->written) p->read_only = true;
}

static void touch(struct survey *s, uint64_t address, uint32_t sm, bool write)
{
    const uint64_t at = (address - DEVMEM_SIM_BASE) >> PAGE_LOG2;
    if (at >= s->room) {
        uint64_t room = s->room ? s->room : 1024;
        while (room <= at) room *= 2;
        s->pages = realloc(s->pages, room * sizeof *s->pages);
        if (!s->pages) diag_mistake("out of memory for the pages");
        memset(s->pages + s->room, 0, (room - s->room) * sizeof *s->pages);
        s->room = room;
    }
    struct page *p = &s->pages[at];
    if (p->launch != s->launch) {
        leave_launch(p);
        p->launch = s->launch;
        p->written = false;
    }
    s->touched += !p->sms;
    p->sms |= (uint64_t)1 << sm;
    p->written |= write;
}

static void note(struct survey *s, const struct warp_op *op, uint32_t sm)
{
    s->thread_instructions += (uint64_t)__builtin_popcount(op->mask);
    const enum warp_class c = op->info->class;
    const bool write = c == WARP_CLASS_STORE || c == WARP_CLASS_ATOMIC || c == WARP_CLASS_REDUCTION;
    if ((!write && c != WARP_CLASS_LOAD && c != WARP_CLASS_COPY_ASYNC) || op->space != WARP_SPACE_GLOBAL)
        return;
    uint64_t last = 0;
    for (uint32_t lanes = op->mask; lanes; lanes &= lanes - 1) {
        const uint64_t address = warp_op_address(op, (uint32_t)__builtin_ctz(lanes));
        if (address >> PAGE_LOG2 != last) touch(s, address, sm, write);
        last = address >> PAGE_LOG2;
    }
    if (!s->by_page.size_log2 || s->launch <= s->setup_launches) return;
    last = 0;
    for (uint32_t lanes = op->mask; lanes; lanes &= lanes - 1) {
        const uint64_t address = warp_op_address(op, (uint32_t)__builtin_ctz(lanes));
        if (address >> LINE_LOG2 != last) {
            count_access(&s->by_page, address, sm, write);
            count_access(&s->by_line, address, sm, write);
        }
        last = address >> LINE_LOG2;
    }
}

static uint32_t resident_blocks(const struct exec_launch *l)
{
    const uint64_t registers = (exec_kernel_registers(l->kernel) + 4 + 7) / 8 * 8;
    uint64_t most = WARPS / l->warps_per_block;
    if (most > BLOCKS) most = BLOCKS;
    if (l->shared_bytes && most > SHARED_BYTES / l->shared_bytes) most = SHARED_BYTES / l->shared_bytes;
    const uint64_t of_block = registers * 32 * l->warps_per_block;
    if (most > REGISTERS / of_block) most = REGISTERS / of_block;
    return most ? (uint32_t)most : 1;
}

/* Some instructions of every warp of a block; did any advance? */
static bool advance(struct survey *s, struct exec_block *b, uint32_t warps, uint32_t sm)
{
    bool moved = false;
    for (uint32_t w = 0; w < warps; w++) {
        struct warp_op op;
        for (int k = 0; k < TURN && exec_warp_step(b, w, &op) == WARP_STEP_OP; k++) {
            note(s, &op, sm);
            moved = true;
        }
    }
    return moved;
}

/* One turn of an SM; did anything happen? */
static bool turn(struct survey *s, struct exec_launch *l, uint32_t number, uint32_t most)
{
    struct sm *sm = &s->sms[number];
    bool moved = false;
    while (sm->count < most && sm->next < sm->end) {
        sm->blocks[sm->count++] = exec_block_create(l, sm->next++, number);
        moved = true;
    }
    if (sm->count) s->sm_turns++;
    s->warp_cycles += (uint64_t)sm->count * l->warps_per_block;
    for (uint32_t k = 0; k < sm->count;) {
        moved |= advance(s, sm->blocks[k], l->warps_per_block, number);
        if (exec_block_done(sm->blocks[k])) {
            exec_block_retire(sm->blocks[k]);
            sm->blocks[k] = sm->blocks[--sm->count];
            moved = true;
        } else {
            k++;
        }
    }
    return moved;
}

static void drop_blocks(struct survey *s)
{
    for (uint32_t k = 0; k < SMS; k++)
        while (s->sms[k].count) exec_block_destroy(s->sms[k].blocks[--s->sms[k].count]);
}

static void execute(void *user, struct exec_launch *l)
{
    struct survey *s = user;
    exec_launch_begin(l);
    const uint32_t most = resident_blocks(l);
    s->launch++;
    if (l->untimed) s->setup_launches = s->launch;
    for (uint64_t k = 0; k < SMS; k++)
        s->sms[k] = (struct sm){.next = l->block_count * k / SMS, .end = l->block_count * (k + 1) / SMS};
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t k = 0; k < SMS; k++) moved |= turn(s, l, k, most);
        if (s->limit && s->thread_instructions >= s->limit) {
            drop_blocks(s);
            exec_stop(l->env);
        }
    }
    for (uint32_t k = 0; k < SMS; k++)
        if (s->sms[k].count) exec_block_check_stuck(s->sms[k].blocks[0]);
    exec_launch_end(l);
}

static void close_set(void *arg) { script_close(arg); }

static void run(void *arg)
{
    struct survey *s = arg;
    struct script_set *set = script_open(s->request);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, close_set, set);
    const struct script_options options = {.rt = {.sm_count = SMS, .execute = execute, .execute_user = s}};
    script_start(set, &options);
    struct script_app *app = script_app(set, 0);
    while (!script_ended(app)) {
        s->footprint_bytes = script_bytes_allocated(app);
        if (!rt_run_next(script_context(app))) (void)script_resume(app);
    }
    diag_done(&cleanup, true);
}

static void print_grain(const struct grain *g, const char *name)
{
    uint64_t private = 0, read_only = 0, read_write = 0;
    for (const struct unit *u = g->units; u < g->units + g->count; u++) {
        const bool shared = (u->gpus & (u->gpus - 1)) != 0;
        *(!shared ? &private : u->written ? &read_write : &read_only) += u->accesses;
    }
    const double all = (double)(private + read_only + read_write) / 100;
    (void)printf(" %s_private=%.1f %s_read_only=%.1f %s_read_write=%.1f", name, (double)private / all, name,
                 (double)read_only / all, name, (double)read_write / all);
}

static void print(struct survey *s, bool stopped)
{
    uint64_t one = 0, upto10 = 0, upto25 = 0, ro_shared = 0;
    for (uint64_t k = 0; k < s->room; k++) {
        struct page *p = &s->pages[k];
        const int sms = __builtin_popcountll(p->sms);
        leave_launch(p);
        one += sms == 1;
        upto10 += sms >= 2 && sms <= 10;
        upto25 += sms >= 11 && sms <= 25;
        ro_shared += sms > 1 && p->read_only;
    }
    const double all = s->touched ? (double)s->touched : 1, mb = (double)(1 << PAGE_LOG2) / 1e6;
    (void)printf("workload=%s footprint_mb=%.2f touched_mb=%.2f one=%.1f upto10=%.1f upto25=%.1f upto64=%.1f "
                 "shared_mb=%.3f "
                 "ro_shared_mb=%.3f warps=%.1f launches=%u million_instructions=%.0f ended=%s",
                 s->request, (double)s->footprint_bytes / 1e6, all * mb, 100 * (double)one / all,
                 100 * (double)upto10 / all, 100 * (double)upto25 / all,
                 100 * (double)(s->touched - one - upto10 - upto25) / all, (double)(s->touched - one) * mb,
                 (double)ro_shared * mb, (double)s->warp_cycles / (double)(s->sm_turns ? s->sm_turns : 1),
                 s->launch, (double)s->thread_instructions / 1e6, stopped ? "no" : "yes");
    if (s->by_page.size_log2) {
        print_grain(&s->by_page, "page");
        print_grain(&s->by_line, "line");
    }
    (void)printf("\n");
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    uint64_t limit = 0, page_log2 = 0;
    uint32_t setup_launches = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-n") == 0 && i + 1 < argc) {
            limit = strtoull(argv[++i], NULL, 10) * 1000000;
            continue;
        }
        if (strcmp(argv[i], "-g") == 0 && i + 1 < argc) {
            for (uint64_t kib = strtoull(argv[++i], NULL, 10), log2 = page_log2 = 10; kib > 1; kib /= 2)
                page_log2 = ++log2;
            continue;
        }
        if (strcmp(argv[i], "-k") == 0 && i + 1 < argc) {
            setup_launches = (uint32_t)strtoul(argv[++i], NULL, 10);
            continue;
        }
        struct survey *s = calloc(1, sizeof *s);
        struct diag d;
        if (!s) return 1;
        s->request = argv[i];
        s->limit = limit;
        s->by_page.size_log2 = page_log2;
        s->by_line.size_log2 = LINE_LOG2;
        s->setup_launches = setup_launches;
        diag_init(&d);
        const enum diag_kind kind = diag_run(&d, run, s);
        const bool stopped = limit && s->thread_instructions >= limit;
        if (kind != DIAG_NONE && !stopped) {
            (void)fprintf(stderr, "%s: %s", argv[i], d.text);
            return (int)kind;
        }
        print(s, stopped);
        diag_clear(&d);
        free(s->pages);
        free(s->by_page.units);
        free(s->by_line.units);
        free(s);
    }
    return 0;
}
