/* fault: what a kernel did wrong, said so that its author finds it: kernel, PTX line and text, source line,
 * block, thread, address, nearest allocation. */
#include <stdarg.h>
#include <stdio.h>

#include "exec/sites.h"

const struct exec_func *exec_func_of(const struct exec_env *env, const struct insn *i)
{
    for (uint32_t k = 0; k < env->func_count; k++) {
        const struct exec_func *f = env->func_list[k];
        if (i >= f->code && i < f->code + f->code_count) return f;
    }
    return NULL;
}

struct text {
    char at[4096];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->at + t->len, sizeof t->at - t->len, format, args);
    va_end(args);
    if (n > 0) t->len += (size_t)n;
    if (t->len >= sizeof t->at) t->len = sizeof t->at - 1;
}

static void thread_of(const struct exec_warp *w, uint32_t lane, uint32_t at[3])
{
    const uint32_t *size = w->block->launch->block, thread = w->idx * LANES + lane;
    at[0] = thread % size[0];
    at[1] = thread / size[0] % size[1];
    at[2] = thread / size[0] / size[1];
}

static const struct ptx_instr *instr_of(const struct exec_func *f, const struct insn *i)
{
    if (!f->ptx->n_instrs) return NULL;
    return &f->ptx->instrs[i->pc < f->ptx->n_instrs ? i->pc : f->ptx->n_instrs - 1];
}

const char *exec_spelling(const struct exec_env *env, const struct insn *i)
{
    const struct exec_func *f = exec_func_of(env, i);
    const struct ptx_instr *instr = f ? instr_of(f, i) : NULL;
    return instr ? ptx_spelling(f->ptx, instr) : "?";
}

/* "kernel 'k' (function 'f'), kernel.cu:12, block (0,0,0), thread (3,0,0)" */
static void add_place(struct text *t, const struct exec_warp *w, const struct exec_func *f,
                      const struct insn *i, uint32_t lane)
{
    uint32_t at[3], line = 0;
    thread_of(w, lane, at);
    const char *kernel = w->block->launch->kernel->func->ptx->name;
    add(t, "kernel '%s'", kernel);
    if (f->ptx != w->block->launch->kernel->func->ptx) add(t, " in function '%s'", f->ptx->name);
    const struct ptx_instr *instr = instr_of(f, i);
    const char *file = instr ? ptx_loc_file(f->ptx->module, instr, &line) : NULL;
    if (file) add(t, " (%s:%u)", file, line);
    const uint32_t *c = w->block->ctaid;
    add(t, ", block (%u,%u,%u), thread (%u,%u,%u)", c[0], c[1], c[2], at[0], at[1], at[2]);
}

_Noreturn void exec_fault(const struct exec_warp *w, const struct insn *i, uint32_t lane, const char *format,
                          ...)
{
    struct text t = {.len = 0};
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t.at, sizeof t.at / 2, format, args);
    va_end(args);
    t.len = n < 0 ? 0 : (size_t)n < sizeof t.at / 2 ? (size_t)n : sizeof t.at / 2 - 1;
    const struct exec_func *f = exec_func_of(w->env, i);
    if (w->env->fault == EXEC_FAULT_NONE) w->env->fault = EXEC_FAULT_OTHER;
    add(&t, "\n  in ");
    add_place(&t, w, f, i, lane);
    const struct ptx_instr *instr = instr_of(f, i);
    if (!instr) diag_mistake("%s", t.at);
    diag_mistake_at(ptx_place(f->ptx, instr), "%s", t.at);
}

/* Addresses below are rather an element of no array than a stray pointer. */
enum { NULL_POINTER_BYTES = 65536 };

static void add_nearest(struct text *t, const struct devmem *m, uint64_t address, uint32_t bytes)
{
    const struct devmem_alloc *a = devmem_nearest(m, address);
    if (!a) {
        add(t, "; nothing is allocated");
        return;
    }
    add(t, "; nearest is %s'%s' of %llu bytes at 0x%llx", a->freed ? "freed " : "",
        a->name ? a->name : "buffer", (unsigned long long)(a->hi - a->lo), (unsigned long long)a->lo);
    if (address >= a->hi)
        add(t, ", which ends %llu bytes before", (unsigned long long)(address - a->hi));
    else if (address < a->lo)
        add(t, ", which starts %llu bytes after", (unsigned long long)(a->lo - address));
    else if (!a->freed && address + bytes > a->hi)
        add(t, ", which ends inside the access");
    if (address < NULL_POINTER_BYTES) add(t, " (a null pointer?)");
}

static bool is_constant(const struct devmem *m, uint64_t address)
{
    const struct devmem_alloc *a = devmem_find(m, address);
    return a && a->kind == DEVMEM_CONST;
}

_Noreturn void exec_fault_address(const struct exec_warp *w, const struct insn *i, uint32_t lane,
                                  const struct access *s, uint64_t address, uint32_t space)
{
    struct text t = {.len = 0};
    const uint32_t bytes = (uint32_t)s->count << s->log2_bytes;
    const char *what = s->op ? "atomic access" : s->is_store ? "store" : "load";
    const struct devmem *m = w->env->memory;
    w->env->fault = address % bytes ? EXEC_FAULT_MISALIGNED : EXEC_FAULT_ADDRESS;
    if (address % bytes) {
        add(&t, "misaligned %s of %u bytes at %s address 0x%llx, which is no multiple of %u", what, bytes,
            ptx_space_name(space), (unsigned long long)address, bytes);
        if (space != PTX_SPACE_SHARED && space != PTX_SPACE_LOCAL && space != PTX_SPACE_PARAM)
            add_nearest(&t, m, address, bytes);
    } else if (space == PTX_SPACE_SHARED) {
        add(&t, "%s of %u bytes at shared address 0x%llx: the block has %llu bytes of shared memory", what,
            bytes, (unsigned long long)address, (unsigned long long)w->shared_bytes);
        if (devmem_find(m, address)) add(&t, " (this is an address of global memory: wrong space)");
    } else if (space == PTX_SPACE_LOCAL) {
        add(&t, "%s of %u bytes at local address 0x%llx: the thread has %llu bytes of local memory", what,
            bytes, (unsigned long long)address, (unsigned long long)w->local_bytes);
        if (devmem_find(m, address)) add(&t, " (this is an address of global memory: wrong space)");
    } else if (space == PTX_SPACE_PARAM) {
        add(&t, "%s of %u bytes at parameter address 0x%llx: the kernel has %llu bytes of parameters", what,
            bytes, (unsigned long long)address,
            (unsigned long long)w->block->launch->kernel->func->ptx->param_bytes);
        if (s->is_store) add(&t, ", which cannot be written");
    } else if (s->is_store && is_constant(m, address)) {
        const struct devmem_alloc *a = devmem_find(m, address);
        add(&t,
            "%s of %u bytes at address 0x%llx, byte %llu of the constant variable '%s': kernels cannot write "
            "constant memory (declare it __device__, or let the host write it)",
            what, bytes, (unsigned long long)address, (unsigned long long)(address - a->lo), a->name);
    } else {
        const uint64_t offset = address - m->base;
        add(&t, "illegal %s of %u bytes at %s address 0x%llx", what, bytes, ptx_space_name(space),
            (unsigned long long)address);
        if (offset < 3 * DEVMEM_WINDOW_BYTES - DEVMEM_WINDOW_BYTES / 4)
            add(&t, " (this is a generic address of %s memory: wrong space)",
                offset < DEVMEM_WINDOW_BYTES       ? "local"
                : offset < 2 * DEVMEM_WINDOW_BYTES ? "shared"
                                                   : "parameter");
        else
            add_nearest(&t, m, address, bytes);
    }
    exec_fault(w, i, lane, "%s", t.at);
}

/* ---- blocks that cannot go on ---- */

static void add_lanes(struct text *t, uint32_t mask)
{
    const char *comma = "";
    for (uint32_t lane = 0; lane < LANES; lane++) {
        if (!(mask >> lane & 1)) continue;
        uint32_t to = lane;
        while (to + 1 < LANES && mask >> (to + 1) & 1) to++;
        add(t, to > lane ? "%s%u-%u" : "%s%u", comma, lane, to);
        comma = ",";
        lane = to;
    }
}

static void add_waiting(struct text *t, const struct exec_warp *w)
{
    FOR_LANES(k, w->used)
    {
        const struct split *s = &w->splits[k];
        const struct exec_func *f = exec_func_of(w->env, s->pc);
        const struct ptx_instr *instr = f ? instr_of(f, s->pc) : NULL;
        add(t, "\n  warp %u lanes ", w->idx);
        add_lanes(t, s->mask);
        if (s->state == SPLIT_BARRIER)
            add(t, " wait for barrier %u", s->barrier);
        else if (s->state == SPLIT_READY)
            add(t, " run");
        else {
            add(t, " wait for lanes ");
            add_lanes(t, s->need & w->live & ~s->mask);
        }
        if (!instr) continue;
        uint32_t line = 0;
        const char *file = ptx_loc_file(f->ptx->module, instr, &line);
        add(t, " at %s:%u", f->ptx->module->source->name, instr->line);
        if (file) add(t, " (%s:%u)", file, line);
        add(t, ": %s", ptx_spelling(f->ptx, instr));
    }
}

static void add_block(struct text *t, const struct exec_block *b)
{
    for (uint32_t k = 0; k < b->warp_count && t->len < sizeof t->at - 400; k++)
        if (b->warps[k].state != WARP_DONE) add_waiting(t, &b->warps[k]);
}

_Noreturn void exec_stuck(const struct exec_block *b)
{
    struct text t = {.len = 0};
    add(&t, "kernel '%s' cannot finish: block (%u,%u,%u) waits for threads that never come",
        b->launch->kernel->func->ptx->name, b->ctaid[0], b->ctaid[1], b->ctaid[2]);
    for (uint32_t id = 0; id < 16; id++) {
        const struct barrier *bar = &b->barriers[id];
        if (bar->arrived)
            add(&t, "\n  barrier %u: %u of %u threads arrived", id, bar->arrived,
                bar->expected ? bar->expected : b->live_threads);
    }
    if (b->live_threads < b->launch->threads_per_block)
        add(&t, "\n  %u of %u threads have ended", b->launch->threads_per_block - b->live_threads,
            b->launch->threads_per_block);
    add_block(&t, b);
    diag_mistake("%s", t.at);
}

_Noreturn void exec_out_of_budget(const struct exec_block *b)
{
    struct text t = {.len = 0};
    b->env->limit_reached = true;
    add(&t, "kernel '%s' reached the limit of %llu warp instructions; block (%u,%u,%u):",
        b->launch->kernel->func->ptx->name, (unsigned long long)b->env->options.max_instructions, b->ctaid[0],
        b->ctaid[1], b->ctaid[2]);
    add_block(&t, b);
    diag_mistake("%s", t.at);
}

void exec_interrupt(struct exec_env *env) { env->options.max_instructions = 1; }

void exec_stop(struct exec_env *env)
{
    env->limit_reached = true;
    diag_mistake("stopped after the most warp instructions that were allowed");
}
