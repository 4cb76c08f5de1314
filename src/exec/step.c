/* step: one warp instruction at a time, with the description that the timing model consumes. */
#include "exec/op_info.h"

/* What most accesses are: all lanes, one after the other, in the reserved range; see fill_even() for others.
 */
static inline bool describe_row(const struct exec_warp *w, const struct insn *i,
                                const struct warp_op_info *info, uint32_t mask, struct warp_op *out)
{
    const struct access *const s = i->x.access;
    const struct slope *const at = slope_at(w, s->slope);
    const struct devmem *const m = w->env->memory;
    const uint64_t step = at->step, first = at->base + (uint64_t)s->offset - m->base;
    if ((mask & at->lanes) != LANES_ALL || step != info->bytes || first >= m->size - (LANES - 1) * step)
        return false;
    const uint64_t base = m->sim_base + first;
    out->base[0] = base;
    out->base[1] = base + 8 * step;
    out->base[2] = base + 16 * step;
    out->base[3] = base + 24 * step;
    out->space = WARP_SPACE_GLOBAL;
    out->unit = 15;
    out->grouped = 1;
    return true;
}

static inline void describe(struct exec_warp *w, const struct insn *i, uint32_t mask, struct warp_op *out)
{
    const struct warp_op_info *info = info_of(w, i);
    out->info = info;
    out->active = w->mask;
    out->mask = mask;
    out->reg_base = w->frame / 128;
    out->space = info->space;
    out->barrier = 255;
    out->spilled = 0;
    out->grouped = 0;
    out->sleep_ns = 0;
    out->read_only = 0;
    if (info->detail && mask) {
        if (info->detail != DETAIL_EVEN || !describe_row(w, i, info, mask, out))
            exec_describe_detail(w, i, out);
        const uint8_t *marks = w->block->launch->read_only;
        out->read_only = out->space == WARP_SPACE_GLOBAL &&
                         (marks ? marks[info->read_only_group] : (info->flags & WARP_F_READ_ONLY) != 0);
    }
}

/* Lanes that its guard lets pass; most have none. */
static inline uint32_t guard_of(const struct exec_warp *w, const struct insn *i)
{
    return (__builtin_expect(i->guard == CONST_TRUE, 1) ? LANES_ALL
                                                        : *(const uint32_t *)ref_at(w, i->guard)) ^
           i->guard_xor;
}

/* Executes helpers of ours (meeting places of lanes, ...) up to the next instruction of the file. */
static inline const struct insn *run_helpers(struct exec_warp *w, const struct insn *pc)
{
    while (pc && !pc->counted) pc = pc->fn(w, pc, w->mask & guard_of(w, pc));
    return pc;
}

static inline void note_state(struct exec_block *b, const struct exec_warp *w)
{
    const uint32_t bit = 1u << w->idx;
    b->runnable = w->state == WARP_RUNNING ? b->runnable | bit : b->runnable & ~bit;
    if (w->state == WARP_DONE) b->done |= bit;
}

/* The next instruction of the file; NULL when the warp waits or has ended. */
static const struct insn *next_counted(struct exec_block *b, struct exec_warp *w)
{
    const struct insn *pc = w->state == WARP_BLOCKED ? split_next(w) : w->pc;
    if (pc && pc->counted) return pc;
    w->budget = INT32_MAX;
    w->pc = run_helpers(w, pc);
    note_state(b, w);
    return w->pc;
}

static inline enum warp_step tell(struct exec_warp *w, const struct insn *pc, struct warp_next *next)
{
    if (!pc) return w->state == WARP_DONE ? WARP_STEP_DONE : WARP_STEP_WAIT;
    next->info = info_of(w, pc);
    next->reg_base = w->frame / 128;
    next->run = 0;
    return WARP_STEP_OP;
}

/* Executes the instruction at pc; w->pc is the next one of the file, or NULL. True: it is for certain, and
 * the warp runs. */
static inline __attribute__((always_inline)) bool execute(struct exec_block *b, struct exec_warp *w,
                                                          const struct insn *pc, struct warp_op *out)
{
    const uint32_t mask = w->mask & guard_of(w, pc);
    describe(w, pc, mask, out);
    w->warp_instructions++;
    b->instructions++;
    w->thread_instructions += lanes_in(mask);
    w->budget = INT32_MAX;
    pc = pc->fn(w, pc, mask);
    if (__builtin_expect(pc && pc->counted && w->state == WARP_RUNNING, 1)) {
        w->pc = pc;
        return true;
    }
    w->pc = run_helpers(w, pc);
    note_state(b, w);
    return false;
}

/* ---- ahead ----
 * Between two instructions that anybody else can notice, a warp executes the quiet ones in one go: its
 * registers are in the host's cache then, and the SM issues them without asking. Only while the lanes are
 * together: what divergent lanes do next may depend on other warps. */

static inline bool may_run_ahead(const struct exec_warp *w, const struct insn *pc)
{
    return pc && pc->quiet && pc->counted && !w->divergent && w->state == WARP_RUNNING;
}

/* Where the lanes' addresses of a register lie, as long as no instruction of the run changes it. */
struct ahead_base {
    uint32_t ref, log2_bytes; /* log2_bytes: of what a lane loads; 0: nothing is known */
    uint32_t unit, cycles;    /* cycles: of the banks; depend on distances only */
    uint64_t at[4];           /* of lanes 0, 8, 16, 24 */
    uint64_t low, high, odd;  /* of these: the lowest, the highest, bits that one of them has */
};
enum { AHEAD_BASES = 4 };

static bool base_of(const struct exec_block *b, struct exec_warp *w, const struct insn *pc,
                    const struct memory_handlers *h, uint32_t log2_bytes, struct ahead_base *base)
{
    const struct access *s = pc->x.access;
    struct warp_op op; /* what the banks look at */
    base->log2_bytes = 0;
    const uint32_t unit = h->groups[s->address64](ref_at(w, pc->a), log2_bytes, base->at);
    if (unit == UINT32_MAX) return false;
    op.info = pc->info;
    op.mask = LANES_ALL;
    op.space = WARP_SPACE_SHARED;
    op.grouped = 1;
    op.unit = (uint8_t)unit;
    base->low = UINT64_MAX;
    base->high = base->odd = 0;
    for (uint32_t g = 0; g < 4; g++) {
        const uint64_t at = base->at[g];
        op.base[g] = at + (uint64_t)s->offset;
        base->low = at < base->low ? at : base->low;
        base->high = at > base->high ? at : base->high;
        base->odd |= at;
    }
    base->ref = pc->a;
    base->log2_bytes = log2_bytes;
    base->unit = unit;
    base->cycles = b->launch->bank_cycles(b->launch->bank_ctx, &op);
    return true;
}

/* Executes a load from shared memory; returns the cycles of the banks, 0: it must be stepped. */
static inline uint32_t load_ahead(const struct exec_block *b, struct exec_warp *w, const struct insn *pc,
                                  const struct memory_handlers *h, struct ahead_base bases[AHEAD_BASES])
{
    const struct access *s = pc->x.access;
    struct ahead_base *base = &bases[pc->a / 128 % AHEAD_BASES];
    const uint32_t log2_bytes = s->log2_bytes + s->count / 2u; /* vectors have two elements or four */
    if ((base->ref != pc->a || base->log2_bytes != log2_bytes) && !base_of(b, w, pc, h, log2_bytes, base))
        return 0;
    /* All groups lie in shared memory, without a carry out of the address: few other loads are worth a case,
     * and the last few elements are stepped, too. */
    const uint64_t shift = (uint64_t)s->offset, group = (uint64_t)8 << log2_bytes;
    const uint64_t low = base->low + shift, end = base->high + shift + group;
    if (low > end || end > w->shared_bytes || (base->odd | shift) & (group / 8 - 1)) return 0;
    const uint8_t *const from = w->shared + (int64_t)shift;
    if (s->count > 1)
        h->load_vector_groups(w, s, from, base->at, base->unit);
    else
        h->load_groups[s->log2_bytes == 3](from, base->at, base->unit, ref_at(w, pc->d));
    return base->cycles;
}

/* Instructions of which nothing is asked but to be executed. */
static inline void execute_run(const struct exec_block *b, struct exec_warp *w, const struct exec_func *f,
                               const struct insn *pc, const struct ahead_run *r, uint32_t mask)
{
    if ((b->values_known & r->values) == r->values) {
        const struct insn *const *at = f->each + r->first, *const *const end = at + r->count;
        for (; at != end; at++) (void)(*at)->fn(w, *at, mask);
        return;
    }
    for (const struct insn *const end = pc + r->length; pc != end; pc++) (void)pc->fn(w, pc, mask);
}

static inline const struct ahead_run *run_at(const struct exec_func *f, const struct insn *pc)
{
    return &f->runs[pc - f->code];
}

/* `run` operations were executed, of these `passed` branches, and pc comes after them. */
static inline enum warp_step tell_run(struct exec_block *b, struct exec_warp *w, const struct insn *pc,
                                      const struct warp_op_info *first, uint32_t run, uint32_t passed,
                                      struct warp_next *next)
{
    const uint32_t mask = w->mask;
    w->pc = pc;
    w->ahead_count = run;
    w->warp_instructions += run;
    b->instructions += run;
    w->thread_instructions += (uint64_t)(run - passed) * lanes_in(mask);
    *next = (struct warp_next){.info = first,
                               .reg_base = w->frame / 128,
                               .run = run,
                               .run_mask = mask,
                               .after = pc->info, /* of helpers: none */
                               .cycles = w->ahead_cycles + run};
    return WARP_STEP_OP;
}

static __attribute__((noinline)) enum warp_step run_parts(struct exec_block *b, struct exec_warp *w,
                                                          struct warp_next *next)
{
    const struct insn *pc = w->pc;
    const struct exec_func *const f = b->launch->kernel->func;
    const struct memory_handlers *const h = w->env->options.isa == LANES_PLAIN ? &memory_plain : &memory_avx2;
    const struct warp_op_info *const first = pc->info, *info = first;
    const uint32_t mask = w->mask;
    struct ahead_base bases[AHEAD_BASES];
    uint32_t run = 0;
    for (uint32_t k = 0; k < AHEAD_BASES; k++) bases[k].log2_bytes = 0;
    while (pc->quiet && run < AHEAD_MOST) {
        const uint32_t counted = pc->counted;
        if (counted && pc->info != info) break;
        if (pc->quiet != QUIET_ONE && run_at(f, pc)->length <= AHEAD_MOST - run) {
            const struct ahead_run *const r = run_at(f, pc);
            execute_run(b, w, f, pc, r, mask);
            run += r->length;
            info += r->length;
            pc += r->length;
            continue;
        }
        uint32_t cycles = 0;
        const struct insn *after = pc + 1;
        if (!pc->is_shared)
            after = pc->fn(w, pc, mask);
        else if (mask != LANES_ALL || !(cycles = load_ahead(b, w, pc, h, bases)))
            break;
        if (pc->is_base)
            for (uint32_t k = 0; k < AHEAD_BASES; k++) bases[k].log2_bytes = 0;
        if (cycles) w->ahead_cycles[run] = (uint8_t)cycles; /* of others nobody asks */
        run += counted;
        info += counted;
        pc = after;
    }
    w->pc = pc;
    return run ? tell_run(b, w, pc, first, run, 0, next) : tell(w, pc, next);
}

/* A branch that no lane takes: it changes nothing. */
static inline bool is_passed(const struct exec_warp *w, const struct insn *pc)
{
    return pc->fn == h_branch && pc->counted && !(w->mask & guard_of(w, pc));
}

static inline enum warp_step run_ahead(struct exec_block *b, struct exec_warp *w, struct warp_next *next)
{
    const struct insn *pc = w->pc;
    if (pc->quiet != QUIET_WHOLE) return run_parts(b, w, next);
    const struct exec_func *const f = b->launch->kernel->func;
    const struct warp_op_info *const first = pc->info;
    uint32_t run = 0, passed = 0;
    for (;;) {
        const struct ahead_run *const r = run_at(f, pc);
        execute_run(b, w, f, pc, r, w->mask);
        run += r->length;
        pc += r->length;
        if (!is_passed(w, pc) || pc->info != first + run || run == AHEAD_MOST) break;
        passed++;
        run++;
        pc++;
        if (pc->quiet != QUIET_WHOLE || run_at(f, pc)->length > AHEAD_MOST - run) break;
    }
    return tell_run(b, w, pc, first, run, passed, next);
}

enum warp_step exec_warp_peek(struct exec_block *b, uint32_t warp, struct warp_next *next)
{
    struct exec_warp *w = &b->warps[warp];
    if (w->kept.run) {
        *next = w->kept;
        next->cycles = w->ahead_cycles + w->ahead_count; /* the block may have moved */
        w->kept.run = 0;
        return WARP_STEP_OP;
    }
    w->pc = w->state == WARP_DONE ? NULL : next_counted(b, w);
    return tell(w, w->pc, next);
}

enum warp_step exec_warp_step(struct exec_block *b, uint32_t warp, struct warp_op *out)
{
    struct exec_warp *w = &b->warps[warp];
    const struct insn *pc = w->state == WARP_DONE ? NULL : next_counted(b, w);
    if (!pc) return w->state == WARP_DONE ? WARP_STEP_DONE : WARP_STEP_WAIT;
    (void)execute(b, w, pc, out);
    return WARP_STEP_OP;
}

static enum warp_step source_step(void *self, uint32_t warp, struct warp_op *out, struct warp_next *next)
{
    struct exec_block *b = self;
    struct exec_warp *w = &b->warps[warp];
    __asm__("" : "+r"(w)); /* else its address is worked out again for each field */
    const bool runs = execute(b, w, w->pc, out);
    const bool ahead = runs ? w->pc->quiet && !w->divergent : may_run_ahead(w, w->pc);
    return ahead ? run_ahead(b, w, next) : tell(w, w->pc, next);
}

/* A warp that starts, or that others have let go, runs ahead like one that was stepped. */
static enum warp_step source_peek(void *self, uint32_t warp, struct warp_next *next)
{
    struct exec_block *b = self;
    struct exec_warp *w = &b->warps[warp];
    const enum warp_step step = exec_warp_peek(b, warp, next);
    return step == WARP_STEP_OP && !next->run && may_run_ahead(w, w->pc) ? run_ahead(b, w, next) : step;
}

static void source_keep(void *self, uint32_t warp, const struct warp_next *rest)
{
    struct exec_block *b = self;
    b->warps[warp].kept = *rest;
}

struct warp_source exec_block_source(struct exec_block *b)
{
    return (struct warp_source){
        .step = source_step, .peek = source_peek, .keep = source_keep, .woken = &b->woken, .self = b};
}
