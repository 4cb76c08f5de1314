/* step: one warp instruction at a time, with the description that the timing model consumes. */
#include "exec/lower.h"

const char *warp_class_name(enum warp_class c)
{
    static const char *const names[] = {
#define WARP_CLASS(name, text, help) text,
#include "exec/warp_classes.def"
    };
    return (unsigned)c < WARP_CLASS_COUNT ? names[c] : "?";
}

/* ---- the static part ---- */

static enum warp_class arithmetic_class(const struct ptx_instr *i)
{
    const char kind = ptx_type_kind(i->type);
    const bool f64 = i->type == PTX_T_F64 || i->type2 == PTX_T_F64, is_float = kind == 'F';
    const bool approximate = i->flags & (PTX_F_APPROX | PTX_F_FULL);
    switch ((enum ptx_op)i->op) {
    case PTX_OP_MIN:
    case PTX_OP_MAX:
        return f64 ? WARP_CLASS_FP64_MINMAX : is_float ? WARP_CLASS_FP32_MINMAX : WARP_CLASS_INT_MINMAX;
    case PTX_OP_DIV:
    case PTX_OP_REM: return !is_float ? WARP_CLASS_INT_DIV : f64 ? WARP_CLASS_FP64_DIV : WARP_CLASS_FP32_DIV;
    case PTX_OP_SQRT:
    case PTX_OP_RCP:
    case PTX_OP_RSQRT: return f64 ? WARP_CLASS_FP64_DIV : approximate ? WARP_CLASS_SFU : WARP_CLASS_FP32_DIV;
    case PTX_OP_SIN:
    case PTX_OP_COS:
    case PTX_OP_LG2:
    case PTX_OP_EX2:
    case PTX_OP_TANH: return WARP_CLASS_SFU;
    case PTX_OP_MUL:
    case PTX_OP_MAD:
    case PTX_OP_MUL24:
    case PTX_OP_MAD24:
    case PTX_OP_MADC:
    case PTX_OP_DP4A:
    case PTX_OP_DP2A:
    case PTX_OP_SAD: return f64 ? WARP_CLASS_FP64 : is_float ? WARP_CLASS_FP32 : WARP_CLASS_INT_MUL;
    case PTX_OP_MOV: return WARP_CLASS_INT;
    default: return f64 ? WARP_CLASS_FP64 : is_float ? WARP_CLASS_FP32 : WARP_CLASS_INT;
    }
}

static enum warp_class class_of(const struct ptx_instr *i)
{
    switch ((enum ptx_op)i->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_WMMA_LOAD:
    case PTX_OP_LDMATRIX: return WARP_CLASS_LOAD;
    case PTX_OP_ST:
    case PTX_OP_WMMA_STORE:
    case PTX_OP_STMATRIX: return WARP_CLASS_STORE;
    case PTX_OP_ATOM: return WARP_CLASS_ATOMIC;
    case PTX_OP_RED: return WARP_CLASS_REDUCTION;
    case PTX_OP_CP_ASYNC:
    case PTX_OP_CP_ASYNC_BULK: return WARP_CLASS_COPY_ASYNC;
    case PTX_OP_CP_ASYNC_WAIT_ALL:
    case PTX_OP_CP_ASYNC_WAIT_GROUP:
    case PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
    case PTX_OP_NANOSLEEP: return WARP_CLASS_WAIT;
    case PTX_OP_BAR_SYNC:
    case PTX_OP_BAR_ARRIVE:
    case PTX_OP_BAR_RED:
    case PTX_OP_BAR_WARP_SYNC: return WARP_CLASS_BARRIER;
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE:
    case PTX_OP_FENCE_PROXY:
    case PTX_OP_FENCE_MBARRIER_INIT: return WARP_CLASS_FENCE;
    case PTX_OP_EXIT: return WARP_CLASS_EXIT;
    case PTX_OP_TEX:
    case PTX_OP_TLD4: return WARP_CLASS_TEXTURE;
    case PTX_OP_SULD: return WARP_CLASS_LOAD;
    case PTX_OP_SUST: return WARP_CLASS_STORE;
    case PTX_OP_SURED: return WARP_CLASS_REDUCTION;
    default: break;
    }
    switch (ptx_op_class(i->op)) {
    case PTX_CLASS_TENSOR: return WARP_CLASS_TENSOR;
    case PTX_CLASS_CTRL: return WARP_CLASS_CONTROL;
    case PTX_CLASS_WARP: return WARP_CLASS_SHUFFLE;
    case PTX_CLASS_SYNC: return WARP_CLASS_ATOMIC; /* mbarriers: atomics on shared memory */
    case PTX_CLASS_MEM: return WARP_CLASS_PREFETCH;
    default: return arithmetic_class(i);
    }
}

static enum warp_space warp_space_of(uint32_t space)
{
    switch (space) {
    case PTX_SPACE_GLOBAL: return WARP_SPACE_GLOBAL;
    case PTX_SPACE_CONST: return WARP_SPACE_CONST;
    case PTX_SPACE_LOCAL: return WARP_SPACE_LOCAL;
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CLUSTER: return WARP_SPACE_SHARED;
    case PTX_SPACE_PARAM: return WARP_SPACE_PARAM;
    default: return WARP_SPACE_NONE;
    }
}

static uint8_t flags_of(const struct ptx_instr *i, bool uniform)
{
    uint32_t f = uniform ? WARP_F_UNIFORM : 0;
    const bool fence = i->op == PTX_OP_MEMBAR || i->op == PTX_OP_FENCE;
    if (i->sem == PTX_SEM_ACQUIRE || i->sem == PTX_SEM_ACQ_REL || i->sem == PTX_SEM_SC || fence)
        f |= WARP_F_ACQUIRE;
    if (i->sem == PTX_SEM_RELEASE || i->sem == PTX_SEM_ACQ_REL || i->sem == PTX_SEM_SC || fence)
        f |= WARP_F_RELEASE;
    if (i->sem >= PTX_SEM_RELAXED || i->op == PTX_OP_ATOM || i->op == PTX_OP_RED) f |= WARP_F_STRONG;
    if (i->flags & PTX_F_NC || i->op == PTX_OP_TEX || i->op == PTX_OP_TLD4) f |= WARP_F_READ_ONLY;
    if (i->cache == PTX_CACHE_CG || i->cache == PTX_CACHE_CV) f |= WARP_F_CACHE_L2;
    if (i->cache == PTX_CACHE_CS || i->cache == PTX_CACHE_LU || i->evict == PTX_EVICT_FIRST)
        f |= WARP_F_STREAM;
    return (uint8_t)f;
}

/* Scoreboard number of a register: predicates first, then 32-bit ones, then wider ones by their first half.
 */
static uint16_t scoreboard(const struct exec_func *f, uint32_t reg)
{
    const struct ptx_slots *s = f->slots;
    const uint8_t class = f->ptx->regs[reg].reg_class;
    uint32_t n = s->slot[reg];
    if (class > PTX_REG_PRED) n += s->n_slots[PTX_REG_PRED];
    if (class > PTX_REG_32) n += s->n_slots[PTX_REG_32];
    if (class > PTX_REG_64) n += s->n_slots[PTX_REG_64];
    return (uint16_t)n;
}

uint32_t exec_kernel_scoreboard(const struct exec_kernel *k)
{
    if (k->has_calls) return UINT32_MAX;
    uint32_t n = 0;
    for (uint32_t c = 0; c < PTX_REG_CLASS_COUNT; c++) n += k->func->slots->n_slots[c];
    return n;
}

static const struct access *access_of(const struct insn *i)
{
    if (i->fn == h_copy_async) return ((const struct copy_site *)i->x.extra)->from;
    if (i->fn == h_matrix) return ((const struct matrix_site *)i->x.extra)->access;
    if (i->fn == h_mbarrier) return ((const struct mbarrier_site *)i->x.extra)->access;
    return i->x.access;
}

static bool has_access(enum warp_class c)
{
    return c == WARP_CLASS_LOAD || c == WARP_CLASS_STORE || c == WARP_CLASS_ATOMIC ||
           c == WARP_CLASS_REDUCTION || c == WARP_CLASS_COPY_ASYNC;
}

static void fill_info(const struct exec_func *f, uint32_t pc, struct warp_op_info *info)
{
    const struct ptx_instr *i = &f->ptx->instrs[pc];
    struct ptx_reg_walk walk;
    uint32_t reg;
    info->class = (uint8_t)class_of(i);
    if (i->op == PTX_OP_RET && f->ptx->is_entry) info->class = WARP_CLASS_EXIT;
    info->space = has_access(info->class) ? (uint8_t)warp_space_of(i->space) : WARP_SPACE_NONE;
    info->scope = i->scope;
    info->flags = flags_of(i, f->uniform->instr[pc]);
    info->bytes = (uint16_t)(ptx_type_bits(i->type) / 8 * (i->vec ? i->vec : 1));
    info->pc = pc;
    info->line = i->line;
    ptx_walk_start(&walk, f->ptx, i);
    while ((reg = ptx_next_read(&walk)) != PTX_NO_REG && info->src_count < WARP_OP_REGS_MAX)
        info->src[info->src_count++] = scoreboard(f, reg);
    ptx_walk_start(&walk, f->ptx, i);
    while ((reg = ptx_next_written(&walk)) != PTX_NO_REG && info->dst_count < WARP_OP_REGS_MAX)
        info->dst[info->dst_count++] = scoreboard(f, reg);
    warp_op_seal(info);
}

enum { DETAIL_NONE, DETAIL_ADDRESS, DETAIL_BARRIER, DETAIL_SLEEP, DETAIL_TEXTURE, DETAIL_SURFACE };

static uint8_t detail_of(const struct insn *i, const struct warp_op_info *info)
{
    if (i->fn == h_bar) return DETAIL_BARRIER;
    if (i->fn == h_nanosleep) return DETAIL_SLEEP;
    if (i->fn == h_texture) return DETAIL_TEXTURE;
    if (i->fn == h_surface) return DETAIL_SURFACE;
    if (!has_access(info->class) || i->fn == h_unsupported) return DETAIL_NONE;
    const struct access *s = access_of(i);
    /* Constant parameters: the same for all lanes, from the constant cache. */
    return s->space == PTX_SPACE_PARAM && s->is_constant ? DETAIL_NONE : DETAIL_ADDRESS;
}

/* Registers in, registers out: the same whenever it executes before the next instruction that is not. */
static bool is_quiet(const struct insn *i)
{
    if (i->fn == h_sreg && i->guard == CONST_TRUE)
        return sreg_is_constant(((const struct sreg_site *)i->x.extra)->sreg);
    if (i->guard != CONST_TRUE || i->guard_xor) return false; /* other lanes than those of its neighbours */
    if (!i->counted && (i->fn == h_join || i->fn == h_narrow || i->fn == h_widen_zero ||
                        i->fn == h_widen_sign || i->fn == h_local_address))
        return true;
    return i->fn == h_lanes || i->fn == h_lanes_site || i->fn == h_lanes_uniform || i->fn == h_spacebase ||
           i->fn == h_load_param || i->is_shared || exec_is_once(i) || exec_is_slope(i);
}

static bool among(insn_fn *fn, insn_fn *const *fns, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (fn == fns[k]) return true;
    return false;
}

/* A weak load from shared memory, by a hot handler. A store that must be seen has been ordered before it by
 * an instruction of the warp that is not quiet, so it may be executed right after that one. */
static bool is_shared_load(const struct insn *i)
{
    const bool element =
        among(i->fn, &memory_plain.load[1][0][0], 4) || among(i->fn, &memory_avx2.load[1][0][0], 4);
    const bool vector = among(i->fn, memory_plain.load_vector, 3) || among(i->fn, memory_avx2.load_vector, 3);
    if (!element && !(vector && i->x.access->space == PTX_SPACE_SHARED)) return false;
    return i->guard == CONST_TRUE && !i->guard_xor && !i->x.access->strong;
}

/* Registers, shared memory and barriers of the block. */
static bool is_inside(const struct ptx_instr *i, const struct warp_op_info *info)
{
    switch ((enum warp_class)info->class) {
    case WARP_CLASS_LOAD:
    case WARP_CLASS_STORE:
    case WARP_CLASS_ATOMIC:
    case WARP_CLASS_REDUCTION:
        if (info->space == WARP_SPACE_PARAM || info->space == WARP_SPACE_CONST)
            return info->class == WARP_CLASS_LOAD;
        return info->space == WARP_SPACE_SHARED && i->space == PTX_SPACE_SHARED;
    case WARP_CLASS_CONTROL: return i->op == PTX_OP_BRA || i->op == PTX_OP_BRX_IDX;
    case WARP_CLASS_BARRIER: return true;
    case WARP_CLASS_COPY_ASYNC:
    case WARP_CLASS_PREFETCH:
    case WARP_CLASS_TEXTURE:
    case WARP_CLASS_FENCE:
    case WARP_CLASS_WAIT:
    case WARP_CLASS_EXIT:
    case WARP_CLASS_COUNT: return false;
    default: return true;
    }
}

/* Which instructions write an address register of a load from shared memory? Helpers of ours may. */
static void mark_bases(struct exec_func *f, const struct warp_op_info *infos)
{
    uint64_t bases[(UINT16_MAX + 1) / 64] = {0};
    bool any = false;
    for (uint32_t k = 0; k < f->code_count; k++) {
        const struct warp_op_info *load = &infos[f->code[k].pc];
        if (!f->code[k].is_shared) continue;
        any = true;
        for (uint32_t n = 0; n < load->src_count; n++)
            bases[load->src[n] / 64] |= (uint64_t)1 << load->src[n] % 64;
    }
    for (uint32_t k = 0; any && k < f->code_count; k++) {
        const struct warp_op_info *info = &infos[f->code[k].pc];
        f->code[k].is_base = !f->code[k].counted;
        for (uint32_t n = 0; n < info->dst_count; n++)
            f->code[k].is_base |= bases[info->dst[n] / 64] >> info->dst[n] % 64 & 1;
    }
}

/* The infos of a function are made when one of its instructions is first met. */
static const struct warp_op_info *make_infos(struct exec_warp *w, const struct insn *i)
{
    struct exec_func *f = (struct exec_func *)(uintptr_t)exec_func_of(w->env, i);
    struct warp_op_info *infos = ARENA_ARRAY(&f->env->arena, struct warp_op_info, f->ptx->n_instrs);
    for (uint32_t pc = 0; pc < f->ptx->n_instrs; pc++) {
        fill_info(f, pc, &infos[pc]);
        const bool load = infos[pc].class == WARP_CLASS_LOAD || infos[pc].class == WARP_CLASS_COPY_ASYNC;
        if (load && f->env->group)
            infos[pc].read_only_group =
                (uint16_t)f->env->group(f->env->group_user, w->block->launch->kernel->func->ptx, f->ptx, pc);
    }
    for (uint32_t k = 0; k < f->code_count; k++) {
        struct insn *x = &f->code[k];
        if (!x->counted) continue;
        x->is_shared = w->block->launch->bank_cycles && is_shared_load(x);
        infos[x->pc].detail = detail_of(x, &infos[x->pc]);
        if (infos[x->pc].detail == DETAIL_ADDRESS) /* parameters between functions lie in local memory */
            infos[x->pc].space = (uint8_t)warp_space_of(access_of(x)->space);
        if (x->fn != h_unsupported && is_inside(&f->ptx->instrs[x->pc], &infos[x->pc]))
            infos[x->pc].flags |= WARP_F_INSIDE;
        x->info = &infos[x->pc];
    }
    mark_bases(f, infos);
    uint32_t run = 0;
    for (uint32_t k = f->code_count; k-- > 0;) {
        struct insn *x = &f->code[k];
        run = is_quiet(x) ? run + x->counted : 0;
        x->quiet = (uint8_t)(run < UINT8_MAX ? run + !x->counted : UINT8_MAX);
        if (!is_quiet(x)) x->quiet = 0;
    }
    return i->info;
}

static inline const struct warp_op_info *info_of(struct exec_warp *w, const struct insn *i)
{
    return i->info ? i->info : make_infos(w, i);
}

/* ---- the part of one execution ---- */

/* Local memory has simulated addresses after the launch's shared and parameter windows: one row of words per
 * warp. */
static uint64_t simulated(const struct exec_warp *w, uint32_t space, uint64_t address, uint32_t lane)
{
    switch (space) {
    case PTX_SPACE_SHARED:
    case PTX_SPACE_PARAM: return address;
    case PTX_SPACE_LOCAL: {
        const uint64_t warp = w->block->block_idx * w->block->warp_count + w->idx;
        return w->env->memory->sim_base - DEVMEM_SIM_SLOT_BYTES / 4 +
               (warp * w->local_bytes + (address & ~(uint64_t)3)) * LANES + lane * 4 + (address & 3);
    }
    default: return devmem_simulated(w->env->memory, address);
    }
}

static uint32_t resolve(const struct exec_warp *w, const struct access *s, uint64_t *address)
{
    if (s->space == PTX_SPACE_SHARED_CLUSTER) return PTX_SPACE_SHARED;
    if (s->space != PTX_SPACE_GENERIC) return s->space;
    const uint64_t offset = *address - w->env->memory->base;
    if (offset >= 3 * DEVMEM_WINDOW_BYTES) return PTX_SPACE_GLOBAL;
    *address = offset % DEVMEM_WINDOW_BYTES;
    const uint64_t window = offset / DEVMEM_WINDOW_BYTES;
    return window == 0 ? PTX_SPACE_LOCAL : window == 1 ? PTX_SPACE_SHARED : PTX_SPACE_PARAM;
}

/* Global accesses through a 64-bit register into the reserved range, without a branch per lane; false when a
 * lane lies elsewhere. Lanes that do not take part get any address. */
static bool fill_global(const struct exec_warp *w, const struct access *s, struct warp_op *out)
{
    const struct devmem *m = w->env->memory;
    const uint64_t *const reg = (const uint64_t *)ref_at(w, s->address);
    const uint64_t delta = (uint64_t)s->offset - m->base, sim = m->sim_base;
    const uint32_t size_log2 = 63 - (uint32_t)__builtin_clzll(m->size);
    uint64_t outside = 0;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        const uint64_t in_range = reg[lane] + delta;
        outside |= in_range >> size_log2;
        out->address[lane] = in_range + sim;
    }
    out->space = WARP_SPACE_GLOBAL;
    if (!outside) return true;
    FOR_LANES(lane, out->mask)
    if ((reg[lane] + delta) >> size_log2) return false;
    return true;
}

/* Offsets in shared memory. */
static void fill_shared(const struct exec_warp *w, const struct access *s, struct warp_op *out)
{
    const void *const reg = ref_at(w, s->address);
    const uint64_t offset = (uint64_t)s->offset;
    out->space = WARP_SPACE_SHARED;
    if (s->is_constant)
        for (uint32_t lane = 0; lane < LANES; lane++) out->address[lane] = offset;
    else if (s->address64)
        for (uint32_t lane = 0; lane < LANES; lane++)
            out->address[lane] = ((const uint64_t *)reg)[lane] + offset;
    else
        for (uint32_t lane = 0; lane < LANES; lane++)
            out->address[lane] = (uint32_t)(((const uint32_t *)reg)[lane] + (uint32_t)offset);
}

/* All lanes, and they lie in groups of eight: most accesses. */
static bool fill_groups(const struct exec_warp *w, const struct access *s, struct warp_op *out)
{
    const struct memory_handlers *h = w->env->options.isa == LANES_PLAIN ? &memory_plain : &memory_avx2;
    const uint32_t bytes = out->info->bytes;
    if (out->mask != LANES_ALL || bytes & (bytes - 1) || !bytes) return false;
    const bool atomic = out->info->class != WARP_CLASS_LOAD && out->info->class != WARP_CLASS_STORE;
    if (atomic || (s->space != PTX_SPACE_SHARED && (s->space != PTX_SPACE_GLOBAL || !s->address64)))
        return false;
    const uint32_t unit =
        h->groups[s->address64](ref_at(w, s->address), (uint32_t)__builtin_ctz(bytes), out->base);
    if (unit == UINT32_MAX) return false;
    uint64_t shift = (uint64_t)s->offset;
    if (s->space == PTX_SPACE_GLOBAL) {
        const struct devmem *m = w->env->memory;
        uint64_t outside = 0;
        for (uint32_t g = 0; g < 4; g++) outside |= out->base[g] + shift - m->base;
        if (outside >> (63 - (uint32_t)__builtin_clzll(m->size))) return false;
        shift += m->sim_base - m->base;
    }
    for (uint32_t g = 0; g < 4; g++) out->base[g] += shift;
    if (!s->address64)
        for (uint32_t g = 0; g < 4; g++) out->base[g] = (uint32_t)out->base[g];
    out->space = (uint8_t)warp_space_of(s->space);
    out->unit = (uint8_t)unit;
    out->grouped = 1;
    return true;
}

/* Through a slope, in the reserved range: the same without a look at the lanes. */
static bool fill_even(const struct exec_warp *w, const struct access *s, struct warp_op *out)
{
    const struct slope at = *(const struct slope *)(const void *)(w->base[0] + s->slope);
    const struct devmem *m = w->env->memory;
    const uint64_t first = at.base + (uint64_t)s->offset - m->base, last = first + (LANES - 1) * at.step;
    const bool unit = at.step == out->info->bytes;
    if ((out->mask & at.lanes) != LANES_ALL || (!unit && at.step) ||
        (first | last) >> (63 - (uint32_t)__builtin_clzll(m->size))) {
        slope_spread(w, s->slope, s->address, out->mask);
        return false;
    }
    for (uint32_t g = 0; g < 4; g++) out->base[g] = m->sim_base + first + 8 * g * at.step;
    out->space = WARP_SPACE_GLOBAL;
    out->unit = unit ? 15 : 0;
    out->grouped = 1;
    return true;
}

static void fill_addresses(const struct exec_warp *w, const struct insn *i, struct warp_op *out)
{
    const struct access *s = access_of(i);
    if (s->slope != REF_NONE && fill_even(w, s, out)) return;
    if (!s->is_constant && fill_groups(w, s, out)) return;
    if (s->space == PTX_SPACE_GLOBAL && s->address64 && !s->is_constant && fill_global(w, s, out)) return;
    if (s->space == PTX_SPACE_SHARED) {
        fill_shared(w, s, out);
        return;
    }
    uint32_t space = UINT32_MAX, others = 0;
    FOR_LANES(lane, out->mask)
    {
        uint64_t address = access_address(w, s, lane);
        const uint32_t actual = resolve(w, s, &address);
        if (space == UINT32_MAX) space = actual;
        if (actual != space)
            others |= 1u << lane;
        else
            out->address[lane] = simulated(w, actual, address, lane);
    }
    out->spilled = others != 0;
    out->mask &= ~others;
    if (space != UINT32_MAX) out->space = (uint8_t)warp_space_of(space);
}

static void describe_detail(struct exec_warp *w, const struct insn *i, struct warp_op *out)
{
    switch (out->info->detail) {
    case DETAIL_ADDRESS: fill_addresses(w, i, out); break;
    case DETAIL_TEXTURE: texture_describe(w, i, out); break;
    case DETAIL_SURFACE: surface_describe(w, i, out); break;
    case DETAIL_BARRIER:
        out->barrier = (uint8_t)((const uint32_t *)ref_at(w, i->a))[lowest_lane(out->mask)];
        break;
    default: out->sleep_ns = ((const uint32_t *)ref_at(w, i->a))[lowest_lane(out->mask)]; break;
    }
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
        describe_detail(w, i, out);
        const uint8_t *marks = w->block->launch->read_only;
        out->read_only = out->space == WARP_SPACE_GLOBAL &&
                         (marks ? marks[info->read_only_group] : (info->flags & WARP_F_READ_ONLY) != 0);
    }
}

/* Executes helpers of ours (meeting places of lanes, ...) up to the next instruction of the file. */
static inline const struct insn *run_helpers(struct exec_warp *w, const struct insn *pc)
{
    while (pc && !pc->counted)
        pc = pc->fn(w, pc, w->mask & (*(const uint32_t *)ref_at(w, pc->guard) ^ pc->guard_xor));
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

/* Executes the instruction at pc; w->pc is the next one of the file, or NULL. */
static inline __attribute__((always_inline)) void execute(struct exec_block *b, struct exec_warp *w,
                                                          const struct insn *pc, struct warp_op *out)
{
    const uint32_t mask = w->mask & (*(const uint32_t *)ref_at(w, pc->guard) ^ pc->guard_xor);
    describe(w, pc, mask, out);
    w->warp_instructions++;
    b->instructions++;
    w->thread_instructions += lanes_in(mask);
    w->budget = INT32_MAX;
    pc = pc->fn(w, pc, mask);
    if (__builtin_expect(pc && pc->counted && w->state == WARP_RUNNING, 1)) {
        w->pc = pc;
        return;
    }
    w->pc = run_helpers(w, pc);
    note_state(b, w);
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

static enum warp_step run_ahead(struct exec_block *b, struct exec_warp *w, struct warp_next *next)
{
    const struct insn *pc = w->pc;
    const struct memory_handlers *const h = w->env->options.isa == LANES_PLAIN ? &memory_plain : &memory_avx2;
    const struct warp_op_info *const first = info_of(w, pc), *info = first;
    const uint32_t mask = w->mask;
    struct ahead_base bases[AHEAD_BASES];
    uint32_t run = 0;
    for (uint32_t k = 0; k < AHEAD_BASES; k++) bases[k].log2_bytes = 0;
    while (pc->quiet && run < AHEAD_MOST) {
        const uint32_t counted = pc->counted;
        if (counted && pc->info != info) break;
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
    if (!run) return tell(w, pc, next);
    w->ahead_count = run;
    w->warp_instructions += run;
    b->instructions += run;
    w->thread_instructions += (uint64_t)run * lanes_in(mask);
    *next = (struct warp_next){.info = first,
                               .reg_base = w->frame / 128,
                               .run = run,
                               .run_mask = mask,
                               .after = pc->counted ? info_of(w, pc) : NULL,
                               .cycles = w->ahead_cycles + run};
    return WARP_STEP_OP;
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
    execute(b, w, pc, out);
    return WARP_STEP_OP;
}

static enum warp_step source_step(void *self, uint32_t warp, struct warp_op *out, struct warp_next *next)
{
    struct exec_block *b = self;
    struct exec_warp *w = &b->warps[warp];
    execute(b, w, w->pc, out);
    return may_run_ahead(w, w->pc) ? run_ahead(b, w, next) : tell(w, w->pc, next);
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
