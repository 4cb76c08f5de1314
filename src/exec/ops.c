/* ops: handlers of arithmetic, moves and control. */
#include "exec/lower.h"

const struct insn *h_lanes(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    i->lanes(ref_at(w, i->d), ref_at(w, i->a), ref_at(w, i->b), ref_at(w, i->c), mask, i->x.ctx);
    return i + 1;
}

static void *maybe(const struct exec_warp *w, uint32_t ref)
{
    return ref == REF_NONE ? NULL : ref_at(w, ref);
}

/* With a fourth source, several destinations, the carry, or a complemented predicate. */
const struct insn *h_lanes_site(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct lanes_site *site = i->x.extra;
    struct lanes_ctx ctx = site->ctx;
    uint32_t inverted[4];
    const void *source[4] = {ref_at(w, i->a), ref_at(w, i->b), ref_at(w, i->c), ref_at(w, site->e)};
    for (uint32_t k = 0; k < 4; k++)
        if (site->invert >> k & 1) {
            inverted[k] = ~*(const uint32_t *)source[k];
            source[k] = &inverted[k];
        }
    ctx.e = source[3];
    ctx.d2 = maybe(w, site->d2);
    ctx.d3 = maybe(w, site->d3);
    ctx.d4 = maybe(w, site->d4);
    ctx.cc = &w->carry;
    i->lanes(ref_at(w, i->d), source[0], source[1], source[2], mask, &ctx);
    return i + 1;
}

/* The same for every lane, and dear: once, when lane 0 is there to compute it. */
const struct insn *h_lanes_uniform(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct lanes_site *site = i->x.extra;
    uint8_t *d = ref_at(w, i->d);
    if (mask != LANES_ALL) {
        i->lanes(d, ref_at(w, i->a), ref_at(w, i->b), ref_at(w, i->c), mask, &site->ctx);
        return i + 1;
    }
    site->lane(d, ref_at(w, i->a), ref_at(w, i->b), ref_at(w, i->c), 1, &site->ctx);
    if (site->d_bytes == 8)
        for (uint32_t k = 1; k < LANES; k++) ((uint64_t *)d)[k] = *(uint64_t *)d;
    else
        for (uint32_t k = 1; k < LANES; k++) ((uint32_t *)d)[k] = *(uint32_t *)d;
    return i + 1;
}

const struct insn *h_unsupported(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    if (!mask) return i + 1;
    w->env->fault = EXEC_FAULT_INSTRUCTION;
    exec_fault(w, i, lowest_lane(mask),
               "'%s' cannot be executed: %s. Compile the kernel without it (another -arch, or a library "
               "path that does not use it); `atoll analyze --coverage` lists all such instructions of a file",
               exec_spelling(w->env, i), (const char *)i->x.extra);
}

/* ---- helpers ---- */

const struct insn *h_narrow(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    (void)mask;
    for (uint32_t k = 0; k < LANES; k++)
        ((uint32_t *)ref_at(w, i->d))[k] = (uint32_t)((const uint64_t *)ref_at(w, i->a))[k];
    return i + 1;
}

const struct insn *h_widen_zero(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    uint64_t *d = (uint64_t *)ref_at(w, i->d);
    const uint32_t *a = (const uint32_t *)ref_at(w, i->a);
    for (uint32_t k = 0; k < LANES; k++) d[k] = mask >> k & 1 ? a[k] : d[k];
    return i + 1;
}

const struct insn *h_widen_sign(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    uint64_t *d = (uint64_t *)ref_at(w, i->d);
    const uint32_t *a = (const uint32_t *)ref_at(w, i->a);
    for (uint32_t k = 0; k < LANES; k++) d[k] = mask >> k & 1 ? (uint64_t)(int64_t)(int32_t)a[k] : d[k];
    return i + 1;
}

/* d = address in local memory of what stands at i->a in the running frame */
const struct insn *h_local_address(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const uint32_t value = w->local_base + i->a;
    (void)mask;
    if (i->b)
        for (uint32_t k = 0; k < LANES; k++) ((uint64_t *)ref_at(w, i->d))[k] = value;
    else
        for (uint32_t k = 0; k < LANES; k++) ((uint32_t *)ref_at(w, i->d))[k] = value;
    return i + 1;
}

/* cvta: d = a + constant */
const struct insn *h_spacebase(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const uint64_t base = (uint64_t)i->x.extra;
    uint64_t *d = (uint64_t *)ref_at(w, i->d);
    const uint64_t *a = (const uint64_t *)ref_at(w, i->a);
    if (mask == LANES_ALL)
        for (uint32_t k = 0; k < LANES; k++) d[k] = a[k] + base;
    else
        for (uint32_t k = 0; k < LANES; k++) d[k] = mask >> k & 1 ? a[k] + base : d[k];
    return i + 1;
}

const struct insn *h_isspacep(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct devmem *m = w->env->memory;
    const uint64_t *a = (const uint64_t *)ref_at(w, i->a);
    uint32_t *d = (uint32_t *)ref_at(w, i->d), yes = 0;
    FOR_LANES(lane, mask)
    {
        const uint64_t offset = a[lane] - m->base;
        const uint64_t window = offset < 3 * DEVMEM_WINDOW_BYTES ? offset / DEVMEM_WINDOW_BYTES : 3;
        const struct devmem_alloc *found = window == 3 ? devmem_find(m, a[lane]) : NULL;
        const bool constant = found && found->kind == DEVMEM_CONST;
        bool in = false;
        switch (i->b) {
        case PTX_SPACE_LOCAL: in = window == 0; break;
        case PTX_SPACE_SHARED:
        case PTX_SPACE_SHARED_CLUSTER: in = window == 1; break;
        case PTX_SPACE_PARAM: in = window == 2; break;
        case PTX_SPACE_CONST: in = constant; break;
        case PTX_SPACE_GLOBAL: in = window == 3 && !constant; break;
        default: break;
        }
        yes |= (uint32_t)in << lane;
    }
    *d = (*d & ~mask) | yes;
    return i + 1;
}

/* ---- control ---- */

/* After a jump back. Lanes that spin give others of the warp a chance, a warp that spins other warps. */
static inline const struct insn *jumped_back(struct exec_warp *w, const struct insn *to)
{
    enum { SPIN_TURN = 64 };
    if (w->spin > SPIN_TURN) {
        w->spin = 0;
        w->budget = 0;
    }
    if (w->divergent && --w->patience == 0) return split_rotate(w, to);
    return to;
}

const struct insn *h_jump(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct branch_site *site = i->x.extra;
    (void)mask;
    return site->backward ? jumped_back(w, site->target) : site->target;
}

const struct insn *h_branch(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct branch_site *site = i->x.extra;
    const struct insn *to = site->target;
    if (mask == 0) return i + 1;
    if (mask != w->mask) to = split_branch(w, mask, to, i + 1, site->join);
    return site->backward ? jumped_back(w, to) : to;
}

const struct insn *h_branch_table(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct table_site *site = i->x.extra;
    const uint32_t *index = (const uint32_t *)ref_at(w, i->a);
    uint64_t target[LANES];
    FOR_LANES(lane, mask)
    {
        if (index[lane] >= site->count)
            exec_fault(w, i, lane, "brx.idx with index %u, but the table has %u labels", index[lane],
                       site->count);
        target[lane] = (uint64_t)site->targets[index[lane]];
    }
    return split_targets(w, target, mask, i + 1, site->join);
}

const struct insn *h_exit(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    return mask ? split_exit(w, i, mask) : i + 1;
}

const struct insn *h_end(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    (void)mask;
    return split_exit(w, i, w->mask);
}

const struct insn *h_trap(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    if (!mask) return i + 1;
    w->env->fault = EXEC_FAULT_TRAP;
    exec_fault(w, i, lowest_lane(mask),
               "the kernel stopped itself: it executed '%s', as after a failed check of its own "
               "(__trap(), assert, unreachable code); look at what leads to this line",
               exec_spelling(w->env, i));
}
