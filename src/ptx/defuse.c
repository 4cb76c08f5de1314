/* defuse: where each register is written and read, and which writes reach a read. */
#include <string.h>

#include "base/arena.h"
#include "ptx/live.h"

uint32_t ptx_lower_bound(const uint32_t *pcs, uint32_t low, uint32_t high, uint32_t pc)
{
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (pcs[middle] < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* One counting sort: first pass counts (list NULL), second fills. A register named twice by one instruction
 * is entered once per list. */
static void each_mention(const struct ptx_func *f, uint32_t *start, uint32_t *list, uint32_t *last,
                         uint32_t (*next)(struct ptx_reg_walk *))
{
    for (uint32_t r = 0; r < f->n_regs; r++) last[r] = PTX_NO_INDEX;
    for (uint32_t pc = 0; pc < f->n_instrs; pc++) {
        struct ptx_reg_walk w;
        ptx_walk_start(&w, f, &f->instrs[pc]);
        for (uint32_t r; (r = next(&w)) != PTX_NO_REG;) {
            if (last[r] == pc) continue;
            last[r] = pc;
            if (list)
                list[start[r]++] = pc;
            else
                start[r + 1]++;
        }
    }
}

static uint32_t *mentions(struct arena *arena, const struct ptx_func *f, uint32_t *last, uint32_t **starts,
                          uint32_t (*next)(struct ptx_reg_walk *))
{
    uint32_t *start = ARENA_ARRAY(arena, uint32_t, (size_t)f->n_regs + 2);
    each_mention(f, start, NULL, last, next);
    for (uint32_t r = 0; r < f->n_regs; r++) start[r + 1] += start[r];
    const uint32_t total = start[f->n_regs];
    uint32_t *list = ARENA_ARRAY(arena, uint32_t, (size_t)total + 1);
    each_mention(f, start, list, last, next);
    memmove(start + 1, start, (size_t)f->n_regs * sizeof *start);
    start[0] = 0;
    *starts = start;
    return list;
}

static void free_arena(void *arena) { arena_free(arena); }

struct ptx_defuse *ptx_defuse_build(struct arena *arena, const struct ptx_func *func)
{
    struct ptx_defuse *du = ARENA_NEW(arena, struct ptx_defuse);
    struct arena work;
    arena_init(&work);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, free_arena, &work);
    uint32_t *last = ARENA_ARRAY(&work, uint32_t, (size_t)func->n_regs + 1);
    du->defs = mentions(arena, func, last, &du->def_start, ptx_next_written);
    du->uses = mentions(arena, func, last, &du->use_start, ptx_next_read);
    diag_done(&cleanup, true);
    return du;
}

/* ---- reaching definitions ---- */

struct ptx_reaching {
    const struct ptx_cfg *cfg;
    const struct ptx_defuse *du;
    uint32_t *visited; /* by block: number of the query */
    uint32_t *stack;
    uint32_t query;
};

struct answer {
    uint32_t *defs;
    uint32_t cap, count;
};

static void give(struct answer *a, uint32_t pc)
{
    if (a->count < a->cap) a->defs[a->count] = pc;
    a->count++;
}

struct ptx_reaching *ptx_reaching_start(struct arena *arena, const struct ptx_cfg *cfg,
                                        const struct ptx_defuse *du)
{
    struct ptx_reaching *r = ARENA_NEW(arena, struct ptx_reaching);
    r->cfg = cfg;
    r->du = du;
    r->visited = ARENA_ARRAY(arena, uint32_t, cfg->n_blocks);
    r->stack = ARENA_ARRAY(arena, uint32_t, cfg->n_blocks);
    return r;
}

/* Definitions in pcs [from, to), last first, down to one that is not guarded: then true. */
static bool defs_between(const struct ptx_reaching *r, uint32_t reg, uint32_t from, uint32_t to,
                         struct answer *a)
{
    const struct ptx_defuse *du = r->du;
    uint32_t k = ptx_lower_bound(du->defs, du->def_start[reg], du->def_start[reg + 1], to);
    while (k > du->def_start[reg] && du->defs[k - 1] >= from) {
        const uint32_t pc = du->defs[--k];
        give(a, pc);
        if (r->cfg->func->instrs[pc].guard == PTX_NO_REG) return true;
    }
    return false;
}

uint32_t ptx_reaching_defs(struct ptx_reaching *r, uint32_t reg, uint32_t use_pc, uint32_t *defs,
                           uint32_t cap)
{
    const struct ptx_cfg *c = r->cfg;
    struct answer a = {.defs = defs, .cap = cap};
    const uint32_t home = ptx_block_of(c, use_pc);
    if (defs_between(r, reg, c->blocks[home].first, use_pc, &a)) return a.count;
    uint32_t depth = 0;
    bool entry = home == 0;
    r->query++;
    for (uint32_t block = home;;) {
        const struct ptx_block *x = &c->blocks[block];
        for (uint32_t k = 0; k < x->n_preds; k++) {
            const uint32_t p = c->preds[x->first_pred + k];
            if (r->visited[p] == r->query || c->blocks[p].rpo == PTX_NO_INDEX) continue;
            r->visited[p] = r->query;
            /* round a loop: only what stands behind the use is new */
            const uint32_t from = p == home ? use_pc : c->blocks[p].first;
            if (defs_between(r, reg, from, c->blocks[p].end, &a) || p == home) continue;
            entry |= p == 0;
            r->stack[depth++] = p;
        }
        if (!depth) break;
        block = r->stack[--depth];
    }
    if (entry) give(&a, PTX_NO_INDEX);
    return a.count;
}
