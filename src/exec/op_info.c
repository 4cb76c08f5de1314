/* op_info: what the timing model is told of an instruction that is the same whenever it executes. */
#include "exec/op_info.h"

const char *warp_class_name(enum warp_class c)
{
    static const char *const names[] = {
#define WARP_CLASS(name, text, help) text,
#include "exec/warp_classes.def"
    };
    return (unsigned)c < WARP_CLASS_COUNT ? names[c] : "?";
}

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
    case PTX_OP_GRIDDEPCONTROL: return WARP_CLASS_CONTROL;
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

static uint8_t detail_of(const struct insn *i, const struct warp_op_info *info)
{
    if (i->fn == h_bar) return DETAIL_BARRIER;
    if (i->fn == h_nanosleep) return DETAIL_SLEEP;
    if (i->fn == h_texture) return DETAIL_TEXTURE;
    if (i->fn == h_surface) return DETAIL_SURFACE;
    if (!has_access(info->class) || i->fn == h_unsupported) return DETAIL_NONE;
    const struct access *s = access_of(i);
    /* Constant parameters: the same for all lanes, from the constant cache. */
    if (s->slope != REF_NONE && s == i->x.access) return DETAIL_EVEN;
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

/* ---- registers that need no look ----
 *
 * An operation of a run has waited for its registers: those after it find them there, unless one between has
 * written them. */

struct known {
    uint64_t regs[256 / 64]; /* modulo 256, as the scoreboard's */
};

static bool is_known(const struct known *k, uint32_t reg) { return k->regs[reg % 256 / 64] >> reg % 64 & 1; }

/* Registers that may still be on their way come first. */
static void seal_two(struct warp_op_info *info, const struct known *known)
{
    uint8_t fresh[4] = {0}, others[4] = {0};
    uint32_t fresh_count = 0, other_count = 0;
    if (!(info->sealed & WARP_SEAL_ANY)) return;
    for (uint32_t k = 0; k < 4; k++) {
        const uint8_t reg = info->any[k];
        const bool again = (k > 0 && reg == info->any[0]) || (k > 1 && reg == info->any[1]) ||
                           (k > 2 && reg == info->any[2]);
        if (again || is_known(known, reg))
            others[other_count++] = reg;
        else
            fresh[fresh_count++] = reg;
    }
    memcpy(info->any, fresh, fresh_count);
    memcpy(info->any + fresh_count, others, other_count);
    if (fresh_count <= 2) info->sealed |= WARP_SEAL_TWO;
}

static void learn(struct known *k, const struct warp_op_info *info)
{
    for (uint32_t n = 0; n < info->src_count; n++)
        k->regs[info->src[n] % 256 / 64] |= (uint64_t)1 << info->src[n] % 64;
    for (uint32_t n = 0; n < info->dst_count; n++)
        k->regs[info->dst[n] % 256 / 64] &= ~((uint64_t)1 << info->dst[n] % 64);
}

static void find_known(const struct exec_func *f, struct warp_op_info *infos)
{
    struct known known = {{0}};
    uint32_t block = UINT32_MAX;
    for (uint32_t k = 0; k < f->code_count; k++) {
        const struct insn *x = &f->code[k];
        if (!x->quiet) memset(&known, 0, sizeof known);
        if (!x->quiet || !x->counted) continue;
        if (ptx_block_of(f->cfg, x->pc) != block) { /* others come here, too */
            block = ptx_block_of(f->cfg, x->pc);
            memset(&known, 0, sizeof known);
        }
        struct warp_op_info *const info = &infos[x->pc];
        seal_two(info, &known);
        learn(&known, info);
        if (x->pc && info->class == info[-1].class && info->space == info[-1].space)
            info->sealed |= WARP_SEAL_LIKE;
    }
}

/* Loads from shared memory, and what may change their address registers, are looked at one by one. */
static bool is_plain(const struct insn *i)
{
    return is_quiet(i) && i->counted && !i->is_shared && !i->is_base;
}

/* Backwards: the run from an instruction on is itself and that of the next one. */
static void find_runs(struct exec_func *f)
{
    f->runs = ARENA_ARRAY(&f->env->arena, struct ahead_run, f->code_count);
    f->each = ARENA_ARRAY(&f->env->arena, const struct insn *, f->code_count);
    uint32_t first = f->code_count;
    for (uint32_t k = f->code_count; k-- > 0;) {
        struct insn *const x = &f->code[k];
        struct ahead_run *const r = &f->runs[k];
        x->quiet = is_quiet(x) ? QUIET_ONE : QUIET_NOT;
        if (!is_plain(x) || !f->ptx->is_entry) continue;
        if (x[1].info == x->info + 1 && f->runs[k + 1].length < AHEAD_MOST) *r = f->runs[k + 1];
        if (exec_is_once(x)) {
            r->values |= (uint64_t)1 << x->d / VALUE_BYTES;
        } else {
            f->each[--first] = x;
            r->count++;
        }
        r->first = first;
        r->length++;
        x->quiet = x[r->length].quiet ? QUIET_RUN : QUIET_WHOLE;
    }
}

const struct warp_op_info *exec_make_infos(struct exec_warp *w, const struct insn *i)
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
        const uint8_t detail = infos[x->pc].detail;
        if (detail == DETAIL_EVEN ||
            detail == DETAIL_ADDRESS) /* .param between functions is in local memory */
            infos[x->pc].space = (uint8_t)warp_space_of(access_of(x)->space);
        if (x->fn != h_unsupported && is_inside(&f->ptx->instrs[x->pc], &infos[x->pc]))
            infos[x->pc].flags |= WARP_F_INSIDE;
        x->info = &infos[x->pc];
    }
    mark_bases(f, infos);
    find_runs(f);
    find_known(f, infos);
    return i->info;
}
