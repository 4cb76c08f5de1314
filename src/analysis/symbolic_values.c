/* symbolic_values: what a register or slot holds at a place, found over the predecessors as it is asked for.
 *
 * A block knows the variables that it writes or that somebody asked it for. Else: one predecessor: ask it;
 * several: ask all, and if they differ the value is a merge; the head of a loop that writes the variable: a
 * value of its own, whose meaning is found when the loop has been walked. */
#include <string.h>

#include "analysis/symbolic_private.h"

/* Values at heads of loops: what compilers emit has at most one for seven instructions in all tests. */
enum { PHIS_LEAST = 100, SITES_PER_PHI = 3 };

static uint64_t key_of(uint32_t block, uint32_t var) { return (uint64_t)block << 32 | var; }

const struct expr *values_held(const struct activation *a, uint32_t block, uint32_t var)
{
    const uint64_t *found = map_find(&a->defs, key_of(block, var));
    return found ? (const struct expr *)(uintptr_t)*found : NULL;
}

static void hold(struct activation *a, uint32_t block, uint32_t var, const struct expr *value)
{
    *map_put(&a->defs, key_of(block, var), NULL) = (uint64_t)(uintptr_t)value;
}

uint64_t values_loops_around(const struct activation *a, uint32_t block)
{
    uint64_t bits = a->caller_loops;
    for (uint32_t l = a->f->cfg->blocks[block].loop; l != PTX_NO_INDEX; l = a->f->cfg->loops[l].parent)
        bits |= expr_loop_bit(a->first_loop + l);
    return bits;
}

const struct expr *values_unknown(struct activation *a, uint32_t pc, uint32_t element, uint32_t deps)
{
    const struct atom like = {.kind = ATOM_OTHER,
                              .id = a->first_site + pc,
                              .element = element,
                              .deps = deps,
                              .loops = values_loops_around(a, a->f->block_of[pc])};
    return expr_of(a->w->pool, expr_intern_atom(a->w->pool, &like));
}

const struct expr *values_other_of(struct activation *a, const struct expr *const *from, uint32_t n)
{
    uint32_t deps = DEP_OTHER;
    uint64_t loops = 0;
    for (uint32_t k = 0; k < n; k++) {
        deps |= from[k]->deps & ~(uint32_t)DEP_PHI;
        loops |= from[k]->loops;
        /* a value at a head is not understood yet: where it starts may change with any loop around */
        if (from[k]->deps & DEP_PHI) loops |= values_loops_around(a, a->block);
    }
    const struct atom like = {
        .kind = ATOM_OTHER, .id = a->first_site + a->pc, .element = 100, .deps = deps, .loops = loops};
    return expr_of(a->w->pool, expr_intern_atom(a->w->pool, &like));
}

/* ---- heads of loops ---- */

static bool reg_defined_in_loop(const struct activation *a, uint32_t reg, uint32_t loop)
{
    const struct ptx_defuse *du = a->f->du;
    for (uint32_t k = du->def_start[reg]; k < du->def_start[reg + 1]; k++)
        if (frame_in_loop(a->f->cfg, a->f->block_of[du->defs[k]], loop)) return true;
    return false;
}

static bool defined_in_loop(const struct activation *a, uint32_t var, uint32_t loop)
{
    if (var < a->f->func->n_regs) return reg_defined_in_loop(a, var, loop);
    for (const struct frame_def *d = a->f->slots[var - a->f->func->n_regs].defs; d; d = d->next)
        if (frame_in_loop(a->f->cfg, d->block, loop)) return true;
    return false;
}

/* The natural loop that the block heads, PTX_NO_INDEX: none. */
static uint32_t loop_headed_by(const struct activation *a, uint32_t block)
{
    const uint32_t l = a->f->cfg->blocks[block].loop;
    return l != PTX_NO_INDEX && a->f->cfg->loops[l].header == block ? l : PTX_NO_INDEX;
}

/* Nothing is known of the variable at the start of the block; another variable there is another value. */
const struct expr *values_unknown_at(struct activation *a, uint32_t block, uint32_t var, uint32_t why)
{
    a->w->forgot = true;
    return values_unknown(a, a->f->cfg->blocks[block].first, UNKNOWN_OF_VARS + UNKNOWN_REASONS * var + why,
                          DEP_OTHER | DEP_DATA);
}

static const struct expr *new_phi(struct activation *a, uint32_t block, uint32_t var)
{
    struct walker *w = a->w;
    if (w->n_phis >= PHIS_LEAST + w->sites / SITES_PER_PHI) {
        const struct expr *unknown = values_unknown_at(a, block, var, UNKNOWN_PHI);
        hold(a, block, var, unknown);
        return unknown;
    }
    if (w->n_phis == w->phi_capacity) {
        w->phi_capacity = w->phi_capacity ? 2 * w->phi_capacity : 32;
        struct phi *more = ARENA_ARRAY(w->arena, struct phi, w->phi_capacity);
        if (w->n_phis) memcpy(more, w->phis, w->n_phis * sizeof *more);
        w->phis = more;
    }
    const uint32_t l = loop_headed_by(a, block);
    struct phi *phi = &w->phis[w->n_phis];
    const struct atom like = {.kind = ATOM_PHI,
                              .id = w->n_phis++,
                              .deps = DEP_PHI,
                              .loops = l == PTX_NO_INDEX ? UINT64_MAX : expr_loop_bit(a->first_loop + l)};
    *phi = (struct phi){.atom = expr_intern_atom(w->pool, &like),
                        .activation = a->idx,
                        .block = block,
                        .var = var,
                        .loop = l == PTX_NO_INDEX ? SYMBOLIC_NO_LOOP : a->first_loop + l};
    const struct expr *value = expr_of(w->pool, phi->atom);
    hold(a, block, var, value);
    return value;
}

/* ---- over the predecessors ---- */

/* Predecessors that count: reachable ones; without those that come from later when `forward`. Returns how
 * many there are; fills up to MERGE_MAX. */
static uint32_t predecessors(const struct activation *a, uint32_t block, bool forward, uint32_t *out)
{
    const struct ptx_cfg *cfg = a->f->cfg;
    const struct ptx_block *b = &cfg->blocks[block];
    uint32_t n = 0;
    for (uint32_t k = 0; k < b->n_preds; k++) {
        const uint32_t p = cfg->preds[b->first_pred + k];
        if (cfg->blocks[p].rpo == PTX_NO_INDEX || (forward && cfg->blocks[p].rpo >= b->rpo)) continue;
        if (n < MERGE_MAX) out[n] = p;
        n++;
    }
    return n;
}

static const struct expr *at_entry(struct activation *a, uint32_t start, uint32_t var, uint32_t depth)
{
    struct walker *w = a->w;
    uint32_t preds[MERGE_MAX];
    for (uint32_t b = start;;) {
        bool forward = false;
        if (a->f->retreats[b]) {
            const uint32_t l = loop_headed_by(a, b);
            if (l == PTX_NO_INDEX || defined_in_loop(a, var, l)) {
                const struct expr *phi = new_phi(a, b, var);
                if (b != start) hold(a, start, var, phi);
                return phi;
            }
            forward = true;
        }
        const uint32_t n = predecessors(a, b, forward, preds);
        if (!n) return NULL;
        if (!w->search_budget || depth > SEARCH_DEPTH_MAX || n > MERGE_MAX)
            return values_unknown_at(a, b, var, UNKNOWN_SEARCH);
        w->search_budget--;
        w->s->searched++;
        if (n == 1) {
            const struct expr *found = values_held(a, preds[0], var);
            if (found) {
                hold(a, start, var, found);
                return found;
            }
            b = preds[0];
            continue;
        }
        const struct expr *values[MERGE_MAX] = {0};
        for (uint32_t k = 0; k < n; k++) values[k] = values_at_end(a, preds[k], var, depth + 1);
        const struct expr *value = values_merge(a, b, var, preds, values, n);
        if (value) {
            hold(a, b, var, value);
            hold(a, start, var, value);
        }
        return value;
    }
}

const struct expr *values_at_end(struct activation *a, uint32_t block, uint32_t var, uint32_t depth)
{
    const struct expr *found = values_held(a, block, var);
    return found ? found : at_entry(a, block, var, depth);
}

/* ---- registers and slots ---- */

static bool has_one_def(const struct activation *a, uint32_t reg)
{
    return a->f->du->def_start[reg + 1] - a->f->du->def_start[reg] == 1;
}

static const struct expr *unknown_here(struct activation *a, uint32_t var)
{
    return values_unknown(a, a->pc, UNKNOWN_OF_VARS + UNKNOWN_REASONS * var + UNKNOWN_READ,
                          DEP_OTHER | DEP_DATA);
}

const struct expr *values_read_reg(struct activation *a, uint32_t reg)
{
    const struct expr *value = NULL;
    if (is_float_reg(a->f->func, reg)) return values_unknown(a, a->pc, 210, DEP_OTHER | DEP_DATA);
    if (has_one_def(a, reg)) {
        value = a->regs[reg];
        if (!value) a->w->forgot = true;
        if (!value)
            value = values_unknown(a, a->f->du->defs[a->f->du->def_start[reg]], 211, DEP_OTHER | DEP_DATA);
        return value;
    }
    value = values_at_end(a, a->block, reg, 0);
    return value ? value : unknown_here(a, reg);
}

void values_write_reg(struct activation *a, uint32_t reg, const struct expr *value)
{
    if (has_one_def(a, reg))
        a->regs[reg] = value;
    else
        hold(a, a->block, reg, value);
}

const struct expr *values_read_slot(struct activation *a, uint32_t slot)
{
    const struct expr *value =
        local_is_mixed(a, slot) ? NULL : values_at_end(a, a->block, a->f->func->n_regs + slot, 0);
    return value ? value : unknown_here(a, a->f->func->n_regs + slot);
}

void values_write_slot(struct activation *a, uint32_t slot, const struct expr *value)
{
    if (!local_is_mixed(a, slot)) hold(a, a->block, a->f->func->n_regs + slot, value);
}

/* ---- what comes to the heads ---- */

static void complete(struct activation *a, uint32_t which)
{
    const struct ptx_cfg *cfg = a->f->cfg;
    const uint32_t block = a->w->phis[which].block, var = a->w->phis[which].var;
    uint32_t preds[MERGE_MAX];
    const struct expr *starts[MERGE_MAX] = {0}, *back[MERGE_MAX] = {0};
    uint32_t n_starts = 0, n_back = 0;
    bool lost = false;
    const uint32_t n = predecessors(a, block, false, preds);
    for (uint32_t k = 0; k < n && k < MERGE_MAX; k++) {
        /* may make further values of heads: the array of phis moves */
        const struct expr *value = values_at_end(a, preds[k], var, 0);
        if (cfg->blocks[preds[k]].rpo < cfg->blocks[block].rpo) {
            starts[n_starts++] = value;
        } else {
            lost |= !value;
            back[n_back++] = value;
        }
    }
    struct phi *phi = &a->w->phis[which];
    phi->lost = lost || n > MERGE_MAX || phi->loop == SYMBOLIC_NO_LOOP;
    /* a merge of what enters belongs before the head: it is not a merge at this block */
    phi->start = n_starts == 1 ? starts[0] : NULL;
    if (n_starts > 1) {
        bool same = true;
        for (uint32_t k = 1; k < n_starts; k++) same &= starts[k] == starts[0];
        phi->start = same ? starts[0] : values_unknown_at(a, block, var, UNKNOWN_STARTS);
    }
    phi->n_back = n_back;
    memcpy(phi->back, back, n_back * sizeof *back);
    if (!phi->start) phi->lost = true;
}

/* Values at heads that something needs, as they are found; most values of a program make no address. */
struct needing {
    struct activation *a;
    struct map seen;  /* serial of expressions and atoms */
    uint32_t *needed; /* phis, in the order found */
    uint32_t count, capacity;
};

static void need(struct needing *n, const struct expr *e);

static void need_atom(struct needing *n, const struct atom *atom)
{
    bool fresh;
    if (!(atom->deps & DEP_PHI)) return;
    (void)map_put(&n->seen, atom->serial, &fresh);
    if (!fresh) return;
    for (uint32_t k = 0; k < atom->n_args; k++)
        if (atom->args[k]) need(n, atom->args[k]);
    if (atom->kind != ATOM_PHI) return;
    struct walker *w = n->a->w;
    struct phi *phi = &w->phis[atom->id];
    if (phi->needed || phi->activation != n->a->idx) return; /* another's: found again through its accesses */
    phi->needed = true;
    if (n->count == n->capacity) {
        n->capacity = n->capacity ? 2 * n->capacity : 64;
        uint32_t *more = ARENA_ARRAY(w->arena, uint32_t, n->capacity);
        if (n->count) memcpy(more, n->needed, n->count * sizeof *more);
        n->needed = more;
    }
    n->needed[n->count++] = atom->id;
}

static void need(struct needing *n, const struct expr *e)
{
    bool fresh;
    if (!(e->deps & DEP_PHI)) return;
    (void)map_put(&n->seen, e->serial, &fresh);
    for (uint32_t k = 0; fresh && k < e->n; k++)
        for (uint32_t j = 0; j < e->terms[k].mono->n; j++) need_atom(n, e->terms[k].mono->atoms[j]);
}

static void free_seen(void *seen) { map_free(seen); }

void values_complete_phis(struct activation *a, uint32_t first_access, const struct bindings *results)
{
    struct needing n = {.a = a};
    struct diag_cleanup cleanup;
    const struct symbolic *s = a->w->s;
    map_init(&n.seen);
    diag_defer(&cleanup, free_seen, &n.seen);
    for (uint32_t k = first_access; k < s->n_accesses; k++) need(&n, s->accesses[k].address);
    /* loops of callees too: their bounds may be values of this activation */
    for (uint32_t l = a->first_loop; l < s->n_loops; l++)
        for (const struct symbolic_exit *e = s->loops[l].exits; e; e = e->next) need(&n, e->condition);
    for (uint32_t k = 0; results && k < results->count; k++) need(&n, results->rows[k].value);
    for (uint32_t k = 0; k < a->w->n_phis; k++) { /* of callees: they may come from values of this one */
        const struct phi *phi = &a->w->phis[k];
        if (!phi->needed || phi->activation <= a->idx) continue;
        if (phi->start) need(&n, phi->start);
        for (uint32_t b = 0; b < phi->n_back; b++)
            if (phi->back[b]) need(&n, phi->back[b]);
    }
    for (uint32_t k = 0; k < n.count; k++) {
        complete(a, n.needed[k]);
        const struct phi phi = a->w->phis[n.needed[k]];
        if (phi.start) need(&n, phi.start);
        for (uint32_t b = 0; b < phi.n_back; b++)
            if (phi.back[b]) need(&n, phi.back[b]);
    }
    diag_done(&cleanup, true);
}
