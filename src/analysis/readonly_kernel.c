/* readonly_kernel: a kernel with the functions that it calls: which loads are decided together. See
 * readonly.h. */
#include <string.h>

#include "analysis/readonly_private.h"

void readonly_kernel_free(struct readonly_kernel *k)
{
    map_free(&k->translations);
    map_free(&k->group_of);
}

static uint64_t *translation_of(struct readonly_kernel *k, struct arena *arena, const struct readonly_func *f,
                                bool *fresh)
{
    uint64_t *held = map_put(&k->translations, (uint64_t)(uintptr_t)f->func, fresh);
    if (*fresh) *held = (uint64_t)(uintptr_t)ARENA_ARRAY(arena, uint64_t, READONLY_ORIGINS_MAX + 1);
    return (uint64_t *)(uintptr_t)*held;
}

static uint64_t to_kernel(const uint64_t *translation, uint64_t set)
{
    uint64_t out = set & ~ORIGINS;
    for (uint64_t left = set & ORIGINS; left; left &= left - 1) out |= translation[__builtin_ctzll(left)];
    return out;
}

/* What the origins of a callee are for the kernel: a round over all calls of the functions reached so far. */
static bool pass_down(struct readonly *r, struct readonly_kernel *k, const struct readonly_func *f,
                      const uint64_t *own)
{
    bool changed = false;
    if (f->anything) return false;
    struct pass p = {.r = r, .f = (struct readonly_func *)(uintptr_t)f};
    for (uint32_t pc = 0; pc < f->func->n_instrs; pc++) {
        const struct ptx_instr *i = &f->func->instrs[pc];
        if (i->op != PTX_OP_CALL || i->n_operands < 3) continue;
        const struct ptx_operand *target = ptx_operand_at(f->func, i, 0);
        const struct ptx_func *callee = target->kind == PTX_OPND_SYM ? ptx_callee(f->func, target->id) : NULL;
        if (!callee || !callee->has_body) continue;
        const struct readonly_func *c = readonly_of(r, callee);
        bool fresh;
        uint64_t *theirs = translation_of(k, r->arena, c, &fresh);
        changed |= fresh;
        for (uint32_t o = 0; o < c->n_origins; o++) {
            const uint64_t more = to_kernel(own, readonly_translate(&p, i, c, (uint64_t)1 << o));
            changed |= (theirs[o] | more) != theirs[o];
            theirs[o] |= more;
        }
    }
    return changed;
}

struct readonly_kernel *readonly_kernel(struct readonly *r, const struct ptx_func *kernel)
{
    struct readonly_kernel *k = ARENA_NEW(r->arena, struct readonly_kernel);
    bool fresh, changed = true;
    map_init(&k->translations);
    map_init(&k->group_of);
    k->entry = readonly_of(r, kernel);
    uint64_t *own = translation_of(k, r->arena, k->entry, &fresh);
    for (uint32_t o = 0; o < READONLY_ORIGINS_MAX; o++) own[o] = (uint64_t)1 << o;
    for (uint32_t round = 0; changed; round++) {
        changed = false;
        k->lost = round > 2 * CALLS_DEEP_MAX;
        if (k->lost) break;
        /* the table moves while it grows: collect first */
        size_t cursor = 0, count = 0;
        const struct readonly_func **reached =
            ARENA_ARRAY(r->arena, const struct readonly_func *, k->translations.count + 1);
        for (const struct map_entry *e; (e = map_next(&k->translations, &cursor));)
            reached[count++] = readonly_of(r, (const struct ptx_func *)(uintptr_t)e->key);
        for (size_t j = 0; j < count; j++) {
            bool again;
            changed |= pass_down(r, k, reached[j], translation_of(k, r->arena, reached[j], &again));
        }
    }
    k->groups = ARENA_ARRAY(r->arena, struct readonly_group, 1);
    k->n_groups = k->group_capacity = 1;
    /* every load gets its group now, so that a launch knows how many there are */
    size_t cursor = 0;
    for (const struct map_entry *e; (e = map_next(&k->translations, &cursor));) {
        const struct ptx_func *func = (const struct ptx_func *)(uintptr_t)e->key;
        for (uint32_t pc = 0; pc < func->n_instrs; pc++) (void)readonly_group_of(r, k, func, pc);
    }
    return k;
}

uint32_t readonly_group_of(struct readonly *r, struct readonly_kernel *k, const struct ptx_func *func,
                           uint32_t pc)
{
    const struct ptx_instr *i = &func->instrs[pc];
    const struct readonly_func *f = readonly_of(r, func);
    const bool is_load =
        i->op == PTX_OP_LD || i->op == PTX_OP_LDU || i->op == PTX_OP_CP_ASYNC || i->op == PTX_OP_WMMA_LOAD;
    const uint64_t *held = map_find(&k->translations, (uint64_t)(uintptr_t)func);
    if (!is_load || k->lost || f->anything || !held || i->n_operands < 2 || i->sem >= PTX_SEM_RELAXED)
        return 0;
    if (i->op != PTX_OP_CP_ASYNC && !reaches_global(i->space)) return 0;
    struct pass p = {.r = r, .f = (struct readonly_func *)(uintptr_t)f};
    const uint64_t set =
        to_kernel((const uint64_t *)(uintptr_t)*held, readonly_operand_set(&p, ptx_operand_at(func, i, 1)));
    if (set & (UNKNOWN | LOCAL | SHARED) || !(set & ORIGINS)) return 0;
    const struct readonly_group g = {.set = set & ORIGINS, .nc = (i->flags & PTX_F_NC) != 0};
    bool fresh;
    uint64_t *at = map_put(&k->group_of, g.set << 1 | g.nc, &fresh);
    if (!fresh) return (uint32_t)*at;
    if (k->n_groups == UINT16_MAX) return 0;
    if (k->n_groups == k->group_capacity) {
        k->group_capacity *= 2;
        struct readonly_group *more = ARENA_ARRAY(r->arena, struct readonly_group, k->group_capacity);
        memcpy(more, k->groups, k->n_groups * sizeof *more);
        k->groups = more;
    }
    k->groups[k->n_groups] = g;
    *at = k->n_groups;
    return k->n_groups++;
}
