/* lower_memory: ld, st, atom, red, cp.async, mbarrier, matrix loads and stores. */
#include "exec/lower.h"

static bool is64(const struct lower *l, const struct ptx_operand *o)
{
    return o->kind == PTX_OPND_REG && lower_reg_class(l, o->id) == PTX_REG_64;
}

/* Registers of the value moved; elements of a vector. */
static bool set_registers(struct lower *l, struct access *s, const struct ptx_operand *o)
{
    const uint32_t bits = 8u << s->log2_bytes;
    const bool vector = o->kind == PTX_OPND_VEC;
    if (vector && o->count != s->count) return false;
    for (uint32_t e = 0; e < s->count; e++) {
        const struct ptx_operand *part = vector ? &l->ptx->operands[o->id + e] : o;
        if (part->kind == PTX_OPND_SINK) continue;
        if (part->kind == PTX_OPND_REG) {
            s->reg[e] = lower_reg(l, part->id);
            s->reg64[e] = is64(l, part);
            const uint8_t class = lower_reg_class(l, part->id);
            if (class == PTX_REG_PRED || (bits == 128) != (class == PTX_REG_128)) return false;
            if (bits == 64 && class != PTX_REG_64) return false;
        } else {
            s->reg[e] = lower_source(l, part, bits <= 32 ? 32 : bits);
            s->reg64[e] = bits == 64;
            if (s->reg[e] == REF_NONE) return false;
        }
    }
    return true;
}

/* The hot handler for this access, or NULL. */
static insn_fn *hot(const struct lower *l, const struct access *s, bool store)
{
    const struct memory_handlers *m = l->env->options.isa == LANES_PLAIN ? &memory_plain : &memory_avx2;
    if (l->env->options.racecheck && s->space != PTX_SPACE_GLOBAL && s->space != PTX_SPACE_CONST) return NULL;
    const bool shared = s->space == PTX_SPACE_SHARED;
    const bool global =
        s->space == PTX_SPACE_GLOBAL || s->space == PTX_SPACE_GENERIC || s->space == PTX_SPACE_CONST;
    if (s->is_constant || (!shared && !global)) return NULL;
    if (s->log2_bytes != 2 && s->log2_bytes != 3) return NULL;
    for (uint32_t e = 0; e < s->count; e++)
        if (s->reg[e] == REF_NONE || s->reg64[e] != (s->log2_bytes == 3)) return NULL;
    if (s->count > 1) {
        const bool served = s->count == 2 || (s->count == 4 && s->log2_bytes == 2);
        const uint32_t which = s->log2_bytes == 3 ? 2 : s->count == 4;
        return served ? (store ? m->store_vector : m->load_vector)[which] : NULL;
    }
    return (store ? m->store : m->load)[shared][s->address64][s->log2_bytes == 3];
}

/* A load at one place for every lane, in a space whose bytes lie beside each other. */
static bool of_variable(const struct lower *l, const struct access *s)
{
    if (!s->is_constant) return false;
    if (s->space == PTX_SPACE_SHARED) return !l->env->options.racecheck; /* which asks lane by lane */
    return s->space == PTX_SPACE_GLOBAL || s->space == PTX_SPACE_CONST;
}

static bool word_rows(const struct access *s)
{
    if (!s->is_constant || !s->frame_relative || s->log2_bytes < 2 || s->log2_bytes > 3) return false;
    for (uint32_t e = 0; e < s->count; e++)
        if (s->reg[e] != REF_NONE && s->reg64[e] != (s->log2_bytes == 3)) return false;
    return true;
}

static uint32_t vector_count(const struct lower *l) { return l->instr->vec ? l->instr->vec : 1; }

static bool lower_load(struct lower *l)
{
    struct access *s =
        lower_access(l, lower_operand(l, 1), l->instr->space, ptx_type_bits(l->instr->type), vector_count(l));
    s->sign = ptx_type_kind(l->instr->type) == 'S';
    if (!set_registers(l, s, lower_operand(l, 0))) return false;
    insn_fn *fn = lower_slope_access(l, s, lower_operand(l, 1), hot(l, s, false));
    if (!fn && s->space == PTX_SPACE_PARAM && s->is_constant) fn = h_load_param;
    if (!fn && s->space == PTX_SPACE_LOCAL && word_rows(s)) fn = h_local_load;
    if (!fn && of_variable(l, s)) fn = h_load_variable;
    struct insn *i = lower_emit(l, fn ? fn : h_load);
    i->d = s->reg[0] == REF_NONE ? CONST_TRUE : s->reg[0];
    if (!s->is_constant) i->a = s->address;
    i->x.access = s;
    return true;
}

static bool lower_store(struct lower *l)
{
    struct access *s =
        lower_access(l, lower_operand(l, 0), l->instr->space, ptx_type_bits(l->instr->type), vector_count(l));
    s->is_store = true;
    if (!set_registers(l, s, lower_operand(l, 1))) return false;
    for (uint32_t e = 0; e < s->count; e++)
        if (s->reg[e] == REF_NONE) return false;
    insn_fn *fn = lower_slope_access(l, s, lower_operand(l, 0), hot(l, s, true));
    if (!fn && s->space == PTX_SPACE_LOCAL && word_rows(s)) fn = h_local_store;
    struct insn *i = lower_emit(l, fn ? fn : h_store);
    i->b = s->reg[0];
    if (!s->is_constant) i->a = s->address;
    i->x.access = s;
    return true;
}

static bool lower_atom(struct lower *l)
{
    const bool red = l->instr->op == PTX_OP_RED;
    const uint32_t first = red ? 0 : 1, bits = ptx_type_bits(l->instr->type), count = vector_count(l);
    if (count != 1) return false;
    struct access *s = lower_access(l, lower_operand(l, first), l->instr->space, bits, 1);
    s->is_store = true;
    s->op = l->instr->sub;
    s->type = l->instr->type;
    s->strong = true;
    if (!atom_supports(s->op, s->type)) return false;
    if (!red && !set_registers(l, s, lower_operand(l, 0))) return false;
    const uint32_t source_bits = bits <= 32 ? 32 : bits;
    s->b = lower_source(l, lower_operand(l, first + 1), source_bits);
    s->c = REF_NONE;
    if (s->op == PTX_SUB_CAS) s->c = lower_source(l, lower_operand(l, first + 2), source_bits);
    if (s->b == REF_NONE || (s->op == PTX_SUB_CAS && s->c == REF_NONE)) return false;
    lower_emit(l, h_atom)->x.access = s;
    return true;
}

/* ---- copies ---- */

static bool lower_copy_async(struct lower *l)
{
    struct copy_site *site = ARENA_NEW(&l->env->arena, struct copy_site);
    uint32_t n = l->instr->n_operands;
    if (l->instr->flags & PTX_F_CACHE_HINT) n--;
    if (n < 3 || lower_operand(l, 2)->kind != PTX_OPND_IMM) return false;
    site->bytes = (uint32_t)lower_operand(l, 2)->value;
    if (site->bytes != 4 && site->bytes != 8 && site->bytes != 16) return false;
    site->to = lower_access(l, lower_operand(l, 0), PTX_SPACE_SHARED, 8 * site->bytes, 1);
    site->to->is_store = true;
    site->from = lower_access(l, lower_operand(l, 1), PTX_SPACE_GLOBAL, 8 * site->bytes, 1);
    if (n > 3) {
        const struct ptx_operand *o = lower_operand(l, 3);
        if (o->kind == PTX_OPND_REG && lower_reg_class(l, o->id) == PTX_REG_PRED) {
            site->has_ignore = true;
            site->ignore = lower_source(l, o, 1);
            site->ignore_xor = lower_negated(o) ? LANES_ALL : 0;
        } else {
            site->has_size = true;
            site->size = lower_source(l, o, 32);
        }
    }
    lower_emit(l, h_copy_async)->x.extra = site;
    return true;
}

/* cp.async.bulk: shared <- global with an mbarrier, global <- shared, shared <- shared */
static bool lower_copy_bulk(struct lower *l)
{
    struct copy_site *site = ARENA_NEW(&l->env->arena, struct copy_site);
    const bool to_shared = l->instr->space == PTX_SPACE_SHARED || l->instr->space == PTX_SPACE_SHARED_CLUSTER;
    if (l->instr->n_operands < 3) return false;
    site->bulk = true;
    site->to = lower_access(l, lower_operand(l, 0), to_shared ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL, 128, 1);
    site->to->is_store = true;
    const bool from_shared =
        l->instr->space2 == PTX_SPACE_SHARED || l->instr->space2 == PTX_SPACE_SHARED_CLUSTER;
    site->from =
        lower_access(l, lower_operand(l, 1), from_shared ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL, 128, 1);
    site->bulk_size = lower_source(l, lower_operand(l, 2), 32);
    if (to_shared) {
        if (l->instr->n_operands < 4) return false;
        site->bulk_mbarrier = true;
        site->mbarrier = lower_access(l, lower_operand(l, 3), PTX_SPACE_SHARED, 64, 1);
        site->mbarrier->is_store = true;
        site->mbarrier->op = PTX_SUB_ADD;
    }
    lower_emit(l, h_copy_async)->x.extra = site;
    return true;
}

/* ---- mbarriers ---- */

static const struct {
    uint16_t op;
    uint8_t kind, address; /* operand of the address */
} mbarrier_rows[] = {
    {PTX_OP_MBARRIER_INIT, MB_INIT, 0},
    {PTX_OP_MBARRIER_INVAL, MB_INVAL, 0},
    {PTX_OP_MBARRIER_EXPECT_TX, MB_EXPECT_TX, 0},
    {PTX_OP_MBARRIER_COMPLETE_TX, MB_COMPLETE_TX, 0},
    {PTX_OP_MBARRIER_ARRIVE, MB_ARRIVE, 1},
    {PTX_OP_MBARRIER_ARRIVE_DROP, MB_ARRIVE_DROP, 1},
    {PTX_OP_MBARRIER_TEST_WAIT, MB_TEST_WAIT, 1},
    {PTX_OP_MBARRIER_TRY_WAIT, MB_TRY_WAIT, 1},
    {PTX_OP_MBARRIER_PENDING_COUNT, MB_PENDING, 1},
    {PTX_OP_CP_ASYNC_MBARRIER_ARRIVE, MB_COPY_ARRIVE, 0},
};

static bool lower_mbarrier(struct lower *l)
{
    uint32_t row = 0;
    while (row < sizeof mbarrier_rows / sizeof *mbarrier_rows && mbarrier_rows[row].op != l->instr->op) row++;
    if (row == sizeof mbarrier_rows / sizeof *mbarrier_rows) return false;
    struct mbarrier_site *site = ARENA_NEW(&l->env->arena, struct mbarrier_site);
    uint32_t at = mbarrier_rows[row].address;
    site->kind = mbarrier_rows[row].kind;
    site->dst = REF_NONE;
    if (at && l->instr->n_dsts == 0) at = 0; /* arrive without a result */
    if (at && lower_operand(l, 0)->kind == PTX_OPND_REG) {
        site->dst = lower_reg(l, lower_operand(l, 0)->id);
        site->dst64 = is64(l, lower_operand(l, 0));
    }
    if (site->kind == MB_PENDING) {
        site->state = lower_source(l, lower_operand(l, at), 64);
    } else {
        site->access =
            lower_access(l, lower_operand(l, at),
                         l->instr->space == PTX_SPACE_GENERIC ? PTX_SPACE_GENERIC : PTX_SPACE_SHARED, 64, 1);
        site->access->is_store = true;
        site->access->op = PTX_SUB_ADD; /* for racecheck: an atomic */
    }
    site->parity = l->instr->flags & PTX_F_PARITY;
    site->noinc = l->instr->flags & PTX_F_NOINC;
    site->expect_tx = l->instr->flags & PTX_F_EXPECT_TX;
    if (at + 1 < l->instr->n_operands) {
        const bool waits = site->kind == MB_TEST_WAIT || site->kind == MB_TRY_WAIT;
        const uint32_t value = lower_source(l, lower_operand(l, at + 1), waits && !site->parity ? 64 : 32);
        if (waits) {
            site->has_state = true;
            site->state = value;
        } else {
            site->has_count = true;
            site->count = value;
        }
    }
    lower_emit(l, h_mbarrier)->x.extra = site;
    return true;
}

/* ---- matrices ---- */

static uint8_t fragment(struct lower *l, const struct ptx_operand *o, uint32_t *refs)
{
    const bool vector = o->kind == PTX_OPND_VEC;
    const uint32_t count = vector ? o->count : 1;
    for (uint32_t e = 0; e < count && e < 32; e++) {
        const struct ptx_operand *part = vector ? &l->ptx->operands[o->id + e] : o;
        refs[e] = part->kind == PTX_OPND_REG ? lower_reg(l, part->id) : lower_source(l, part, 32);
    }
    return (uint8_t)count;
}

/* One access: an element of at least a byte, or a row of ldmatrix. */
static uint32_t matrix_bits(const struct lanes_matrix *m)
{
    if (m->kind == LANES_MATRIX_LDMATRIX || m->kind == LANES_MATRIX_STMATRIX) return 128;
    return m->d.element_bits < 8 ? 8 : m->d.element_bits;
}

static bool lower_matrix(struct lower *l)
{
    struct matrix_site *site = ARENA_NEW(&l->env->arena, struct matrix_site);
    if (!lanes_matrix_find(l->ptx, l->instr, l->env->options.isa, &site->m)) return false;
    const uint32_t n = l->instr->n_operands;
    switch (site->m.kind) {
    case LANES_MATRIX_NONE: return false;
    case LANES_MATRIX_MMA:
        if (n < 4) return false;
        site->nd = fragment(l, lower_operand(l, 0), site->d);
        site->na = fragment(l, lower_operand(l, 1), site->a);
        site->nb = fragment(l, lower_operand(l, 2), site->b);
        site->nc = fragment(l, lower_operand(l, 3), site->c);
        break;
    case LANES_MATRIX_LOAD:
    case LANES_MATRIX_LDMATRIX:
        site->nd = fragment(l, lower_operand(l, 0), site->d);
        site->access = lower_access(l, lower_operand(l, 1), l->instr->space, matrix_bits(&site->m), 1);
        site->has_stride = site->m.kind == LANES_MATRIX_LOAD && n > 2;
        if (site->has_stride) site->stride = lower_source(l, lower_operand(l, 2), 32);
        break;
    case LANES_MATRIX_STORE:
    case LANES_MATRIX_STMATRIX:
        site->access = lower_access(l, lower_operand(l, 0), l->instr->space, matrix_bits(&site->m), 1);
        site->access->is_store = true;
        site->na = fragment(l, lower_operand(l, 1), site->a);
        site->has_stride = site->m.kind == LANES_MATRIX_STORE && n > 2;
        if (site->has_stride) site->stride = lower_source(l, lower_operand(l, 2), 32);
        break;
    }
    lower_emit(l, h_matrix)->x.extra = site;
    return true;
}

bool lower_memory(struct lower *l)
{
    const uint32_t before = l->count;
    bool done = false;
    switch ((enum ptx_op)l->instr->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU: done = lower_load(l); break;
    case PTX_OP_ST: done = lower_store(l); break;
    case PTX_OP_ATOM:
    case PTX_OP_RED: done = lower_atom(l); break;
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_DISCARD:
    case PTX_OP_CP_ASYNC_BULK_PREFETCH:
    case PTX_OP_CP_ASYNC_COMMIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_ALL:
    case PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
    case PTX_OP_CP_ASYNC_BULK_WAIT_GROUP: lower_emit(l, h_prefetch); return true;
    case PTX_OP_CP_ASYNC: done = lower_copy_async(l); break;
    case PTX_OP_CP_ASYNC_BULK: done = lower_copy_bulk(l); break;
    default:
        if (ptx_op_class(l->instr->op) == PTX_CLASS_TENSOR)
            done = lower_matrix(l);
        else
            done = lower_mbarrier(l);
    }
    if (!done) l->count = before; /* helpers of what turned out unsupported */
    return done;
}
