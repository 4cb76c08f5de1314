/* residency: computes how many blocks of a kernel are resident on an SM, and which resource limits the
 * number. kernel.c calls residency_describe() for every launch; api/ uses the system_*() functions for
 * occupancy queries. The limits of an SM come from sm_fitting_blocks() (sm/). */
#include <string.h>

#include "system/system_private.h"

/* Limits of the SM that ptxas compiles for. ASSUMPTION: the limits of sm_70, sm_80, sm_90 and sm_100 apply
 * to every .target and machine. (sm_75 and sm_86 hold fewer threads; their register file is the same.) */
enum {
    FILE_REGISTERS = 65536,
    FILE_PARTS = 4,
    FILE_THREADS = 2048,
    FILE_BLOCKS = 32,
    THREAD_REGISTERS = 255
};

/* Max registers of a thread under __launch_bounds__: minnctapersm blocks must fit the register file, whose
 * four parts each hold whole warps. If minnctapersm exceeds the capacity of an SM, ptxas assumes one
 * block. */
static uint32_t bounded_registers(const struct ptx_func *f)
{
    const uint32_t threads = ptx_func_threads(f);
    if (!threads) return THREAD_REGISTERS;
    const uint32_t warps = (threads + 31) / 32;
    const uint64_t blocks = f->minnctapersm ? f->minnctapersm : 1;
    const bool possible = blocks <= FILE_BLOCKS && blocks * threads <= FILE_THREADS;
    uint32_t all = (possible ? (uint32_t)blocks : 1) * warps;
    if (all > FILE_THREADS / 32) all = FILE_THREADS / 32; /* the last warp of a block may be partial */
    const uint32_t per_part = (all + FILE_PARTS - 1) / FILE_PARTS;
    const uint32_t n = FILE_REGISTERS / (per_part * FILE_PARTS * 32) / 8 * 8;
    return n < THREAD_REGISTERS ? n : THREAD_REGISTERS;
}

/* ASSUMPTION (modelling.md A9): max live registers + 4, rounded up to a multiple of 8, at least 16, at
 * most the limit of the kernel's directives. Spills that ptxas would add to keep the limit cost no time. */
uint32_t system_registers_per_thread(const struct config *c, const struct exec_kernel *kernel)
{
    if (c->sm.registers_per_thread) return c->sm.registers_per_thread;
    const struct ptx_func *f = exec_kernel_ptx(kernel);
    const uint32_t bound = bounded_registers(f);
    uint32_t n = (exec_kernel_registers(kernel) + 4 + 7) / 8 * 8;
    if (f->maxnreg && n > f->maxnreg) n = f->maxnreg;
    if (n > bound) n = bound;
    return n < 16 ? 16 : n;
}

uint32_t system_fitting_blocks(const struct config *c, const struct exec_kernel *kernel, uint32_t threads,
                               uint64_t shared_bytes, const char **why)
{
    struct arena arena;
    const uint32_t warps = (threads + 31) / 32;
    const struct sm_kernel k = {.warps_per_block = warps,
                                .threads_per_block = threads,
                                .registers_per_block = system_registers_per_thread(c, kernel) * warps * 32,
                                .shared_per_block = shared_bytes};
    arena_init(&arena);
    const uint32_t fitting = sm_fitting_blocks(sm_spec_of(&arena, c), &k, why);
    arena_free(&arena);
    return fitting;
}

void residency_describe(struct running *r, struct system_kernel_record *record)
{
    struct system *g = r->system;
    const struct exec_launch *l = r->launch;
    const uint32_t registers = system_registers_per_thread(g->config, l->kernel);
    r->sm.warps_per_block = l->warps_per_block;
    r->sm.threads_per_block = l->threads_per_block;
    r->sm.registers_per_block = registers * l->warps_per_block * 32;
    r->sm.shared_per_block = l->shared_bytes;
    r->sm.scoreboard =
        exec_kernel_scoreboard(l->kernel) < SM_REGS ? exec_kernel_scoreboard(l->kernel) : SM_REGS;
    const char *name = exec_kernel_ptx(l->kernel)->name;
    const uint32_t fitting = sm_fitting_blocks(g->sm_spec, &r->sm, &record->limited_by);
    if (!fitting)
        diag_mistake("kernel '%s': not even one block fits an SM: it needs %u warps, %u registers and %llu "
                     "bytes of shared "
                     "memory; raise %s",
                     name, l->warps_per_block, r->sm.registers_per_block, (unsigned long long)l->shared_bytes,
                     record->limited_by);
    const uint32_t sms = g->apps.app[r->sm.app].sm_count;
    if (l->cooperative && (uint64_t)fitting * sms < l->block_count)
        diag_mistake(
            "kernel '%s' is launched cooperatively with %llu blocks, but only %llu fit the GPU at one time "
            "(%u SMs x %u blocks, limited by %s)",
            name, (unsigned long long)l->block_count, (unsigned long long)fitting * sms, sms, fitting,
            record->limited_by);
    record->name = arena_strdup(&g->arena, l->label ? l->label : name);
    memcpy(record->grid, l->grid, sizeof record->grid);
    memcpy(record->block, l->block, sizeof record->block);
    record->registers_per_thread = registers;
    record->blocks_per_sm = fitting;
    record->shared_bytes = l->shared_bytes;
    record->blocks = l->block_count;
}
