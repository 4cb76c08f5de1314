/* live: liveness, the most registers alive at one place, and storage slots. */
#include "ptx/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void ptx_live_release(void *live) { arena_free(&((struct ptx_live *)live)->work); }

/* Formal registers are made before all others, so they are the first ones. */
static uint32_t count_formal(const struct ptx_func *f)
{
    for (uint32_t i = f->n_rets + f->n_params; i-- > 0;) {
        const struct ptx_symbol *s = &f->module->symbols[f->first_param + i];
        if (s->space == PTX_SPACE_REG) return (uint32_t)s->offset + s->vec;
    }
    return 0;
}

void ptx_live_start(struct ptx_live *l, const struct ptx_cfg *cfg, const struct ptx_defuse *du)
{
    const uint32_t n = cfg->n_blocks, n_instrs = cfg->func->n_instrs;
    *l = (struct ptx_live){.cfg = cfg, .du = du};
    arena_init(&l->work);
    l->block_of = ARENA_ARRAY(&l->work, uint32_t, n_instrs);
    l->seen = ARENA_ARRAY(&l->work, uint32_t, n);
    l->out_seen = ARENA_ARRAY(&l->work, uint32_t, n);
    l->stack = ARENA_ARRAY(&l->work, uint32_t, n);
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t pc = cfg->blocks[b].first; pc < cfg->blocks[b].end; pc++) l->block_of[pc] = b;
    l->n_formal = count_formal(cfg->func);
    /* Real functions need a few visits per instruction; hostile ones are cut off after a second or so. */
    l->budget = 200 * (uint64_t)n_instrs + 50000000;
}

static bool kills(const struct ptx_live *l, uint32_t pc)
{
    return l->cfg->func->instrs[pc].guard == PTX_NO_REG;
}

/* First definition in the block that is not guarded, or PTX_NO_INDEX. */
static uint32_t first_kill(const struct ptx_live *l, uint32_t reg, uint32_t block)
{
    const struct ptx_defuse *du = l->du;
    const struct ptx_block *x = &l->cfg->blocks[block];
    const uint32_t end = du->def_start[reg + 1];
    for (uint32_t k = ptx_lower_bound(du->defs, du->def_start[reg], end, x->first);
         k < end && du->defs[k] < x->end; k++)
        if (kills(l, du->defs[k])) return du->defs[k];
    return PTX_NO_INDEX;
}

static bool enter(struct ptx_live *l, uint32_t reg, uint32_t block, uint32_t *depth,
                  void (*at)(void *, uint32_t), void *arg)
{
    if (l->seen[block] == reg + 1) return true;
    l->seen[block] = reg + 1;
    at(arg, block);
    l->stack[(*depth)++] = block;
    const uint32_t cost = 1 + l->cfg->blocks[block].n_preds;
    if (l->budget < cost) return false;
    l->budget -= cost;
    return true;
}

bool ptx_live_in_blocks(struct ptx_live *l, uint32_t reg, void (*at)(void *arg, uint32_t block), void *arg)
{
    const struct ptx_defuse *du = l->du;
    const struct ptx_cfg *c = l->cfg;
    uint32_t depth = 0, last = PTX_NO_BLOCK;
    for (uint32_t k = du->use_start[reg]; k < du->use_start[reg + 1]; k++) {
        const uint32_t pc = du->uses[k], block = l->block_of[pc];
        if (block == last) continue; /* the first use of a block decides */
        last = block;
        const uint32_t kill = first_kill(l, reg, block);
        if (kill < pc) continue;
        if (!enter(l, reg, block, &depth, at, arg)) return false;
        while (depth) {
            const struct ptx_block *x = &c->blocks[l->stack[--depth]];
            for (uint32_t j = 0; j < x->n_preds; j++) {
                const uint32_t p = c->preds[x->first_pred + j];
                if (l->out_seen[p] == reg + 1) continue;
                l->out_seen[p] = reg + 1;
                if (first_kill(l, reg, p) == PTX_NO_INDEX && !enter(l, reg, p, &depth, at, arg)) return false;
            }
        }
    }
    return true;
}

/* ---- pressure and hulls ---- */

/* Point 2 pc stands before an instruction, 2 pc + 1 after it; a register is live at points [from, to). Hulls
 * count in instructions. */
struct pressure {
    struct ptx_live live;
    int32_t *change[PTX_REG_CLASS_COUNT]; /* by point: how many more are live than at the point before */
    uint32_t *hull_from, *hull_to;        /* by register: what storage must cover */
    uint32_t *blocks;                     /* that the register is live into or mentioned in */
    uint32_t n_blocks;
    uint32_t *block_mark;
    uint32_t reg;
    bool into_entry; /* a register is live where the function begins */
};

/* Scratch of the pressure lives with that of the liveness. */
static uint32_t *words(struct pressure *p, size_t count)
{
    return ARENA_ARRAY(&p->live.work, uint32_t, count);
}

static void add_segment(struct pressure *p, uint8_t class, uint32_t from, uint32_t to)
{
    if (from >= to) return;
    p->change[class][from]++;
    p->change[class][to]--;
}

static void widen(struct pressure *p, uint32_t from, uint32_t to)
{
    if (from < p->hull_from[p->reg]) p->hull_from[p->reg] = from;
    if (to > p->hull_to[p->reg]) p->hull_to[p->reg] = to;
}

static void note_block(void *arg, uint32_t block)
{
    struct pressure *p = arg;
    if (p->block_mark[block] == p->reg + 1) return;
    p->block_mark[block] = p->reg + 1;
    p->blocks[p->n_blocks++] = block;
}

/* Segments of the register in one block, from its end to its start. */
static void scan_block(struct pressure *p, uint32_t block, uint8_t class)
{
    const struct ptx_defuse *du = p->live.du;
    const struct ptx_block *x = &p->live.cfg->blocks[block];
    const uint32_t reg = p->reg;
    uint32_t d = ptx_lower_bound(du->defs, du->def_start[reg], du->def_start[reg + 1], x->end);
    uint32_t u = ptx_lower_bound(du->uses, du->use_start[reg], du->use_start[reg + 1], x->end);
    uint32_t to = p->live.out_seen[block] == reg + 1 ? 2 * x->end : 0; /* 0: not live */
    if (to) widen(p, x->end, x->end);
    for (;;) {
        const uint32_t def = d > du->def_start[reg] ? du->defs[d - 1] + 1 : 0; /* + 1: 0 is none */
        const uint32_t use = u > du->use_start[reg] ? du->uses[u - 1] + 1 : 0;
        if (def <= x->first && use <= x->first) break;
        if (def >= use) { /* the definition comes after the use of the same instruction */
            const bool ends = kills(&p->live, def - 1);
            d--;
            widen(p, def - 1, def); /* from the instruction itself: no source shares its slot */
            if (!to || ends) add_segment(p, class, 2 * def - 1, to ? to : 2 * def);
            if (ends) to = 0;
        } else {
            u--;
            if (!to) to = 2 * use - 1;
            widen(p, use - 1, use);
        }
    }
    if (!to) return;
    add_segment(p, class, 2 * x->first, to);
    widen(p, x->first, x->first + 1);
}

static void measure(struct pressure *p, uint32_t reg)
{
    const struct ptx_defuse *du = p->live.du;
    const struct ptx_func *f = p->live.cfg->func;
    const uint8_t class = f->regs[reg].reg_class;
    p->reg = reg;
    p->n_blocks = 0;
    p->hull_from[reg] = UINT32_MAX;
    if (du->def_start[reg] == du->def_start[reg + 1] && du->use_start[reg] == du->use_start[reg + 1]) return;
    if (reg < p->live.n_formal || !ptx_live_in_blocks(&p->live, reg, note_block, p)) {
        add_segment(p, class, 0, 2 * f->n_instrs);
        widen(p, 0, f->n_instrs + 1);
        p->into_entry |= reg >= p->live.n_formal;
        return;
    }
    p->into_entry |= p->live.seen[0] == reg + 1;
    for (uint32_t k = du->def_start[reg]; k < du->def_start[reg + 1]; k++)
        note_block(p, p->live.block_of[du->defs[k]]);
    for (uint32_t k = du->use_start[reg]; k < du->use_start[reg + 1]; k++)
        note_block(p, p->live.block_of[du->uses[k]]);
    for (uint32_t k = 0; k < p->n_blocks; k++) scan_block(p, p->blocks[k], class);
}

static void find_peak(const struct pressure *p, struct ptx_slots *s, uint32_t n_points)
{
    int32_t now[PTX_REG_CLASS_COUNT] = {0};
    for (uint32_t k = 0; k < n_points; k++) {
        for (int c = 0; c < PTX_REG_CLASS_COUNT; c++) {
            now[c] += p->change[c][k];
            if ((uint32_t)now[c] > s->max_live[c]) s->max_live[c] = (uint32_t)now[c];
        }
        const uint32_t words = (uint32_t)(now[PTX_REG_32] + 2 * now[PTX_REG_64] + 4 * now[PTX_REG_128]);
        if (words <= s->max_live_32) continue;
        s->max_live_32 = words;
        s->max_live_pc = k / 2;
    }
}

/* ---- slots: one sweep over the points, giving back what ends and taking for what begins ---- */

struct sweep {
    uint32_t *first_starting, *next_starting; /* lists of registers by the point where they begin / end */
    uint32_t *first_ending, *next_ending;
    uint32_t *free_slots[PTX_REG_CLASS_COUNT];
    uint32_t n_free[PTX_REG_CLASS_COUNT];
};

static void fill_lists(struct sweep *w, const struct pressure *p, uint32_t n_regs, uint32_t n_points)
{
    for (uint32_t k = 0; k < n_points; k++) w->first_starting[k] = w->first_ending[k] = PTX_NO_INDEX;
    for (uint32_t r = n_regs; r-- > 0;) { /* backwards, so that lists run in register order */
        if (p->hull_from[r] == UINT32_MAX) continue;
        w->next_starting[r] = w->first_starting[p->hull_from[r]];
        w->first_starting[p->hull_from[r]] = r;
        w->next_ending[r] = w->first_ending[p->hull_to[r]];
        w->first_ending[p->hull_to[r]] = r;
    }
}

static void give_slots(struct ptx_slots *s, struct pressure *p, const struct ptx_func *f)
{
    const uint32_t n_points = f->n_instrs + 2;
    struct sweep w = {0};
    w.first_starting = words(p, n_points);
    w.first_ending = words(p, n_points);
    w.next_starting = words(p, f->n_regs);
    w.next_ending = words(p, f->n_regs);
    for (int c = 0; c < PTX_REG_CLASS_COUNT; c++) w.free_slots[c] = words(p, f->n_regs);
    fill_lists(&w, p, f->n_regs, n_points);
    for (uint32_t k = 0; k < n_points; k++) {
        for (uint32_t r = w.first_ending[k]; r != PTX_NO_INDEX; r = w.next_ending[r]) {
            const uint8_t c = f->regs[r].reg_class;
            if (s->slot[r] != PTX_NO_INDEX) w.free_slots[c][w.n_free[c]++] = s->slot[r];
        }
        for (uint32_t r = w.first_starting[k]; r != PTX_NO_INDEX; r = w.next_starting[r]) {
            const uint8_t c = f->regs[r].reg_class;
            s->slot[r] = w.n_free[c] ? w.free_slots[c][--w.n_free[c]] : s->n_slots[c]++;
        }
    }
}

struct ptx_slots *ptx_slots_build(struct arena *arena, const struct ptx_cfg *cfg, const struct ptx_defuse *du)
{
    const struct ptx_func *f = cfg->func;
    struct ptx_slots *s = ARENA_NEW(arena, struct ptx_slots);
    s->slot = ARENA_ARRAY(arena, uint32_t, f->n_regs ? f->n_regs : 1);
    for (uint32_t r = 0; r < f->n_regs; r++) s->slot[r] = PTX_NO_INDEX;
    struct pressure p = {0};
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, ptx_live_release, &p.live);
    ptx_live_start(&p.live, cfg, du);
    const uint32_t n_points = 2 * f->n_instrs + 2;
    for (int c = 0; c < PTX_REG_CLASS_COUNT; c++) p.change[c] = (int32_t *)words(&p, n_points);
    p.hull_from = words(&p, f->n_regs);
    p.hull_to = words(&p, f->n_regs);
    p.blocks = words(&p, cfg->n_blocks);
    p.block_mark = words(&p, cfg->n_blocks);
    for (uint32_t r = 0; r < f->n_regs; r++) measure(&p, r);
    s->reads_undefined = p.into_entry;
    find_peak(&p, s, n_points);
    give_slots(s, &p, f);
    diag_done(&cleanup, true);
    return s;
}
