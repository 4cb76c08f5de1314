/* cfg: blocks and edges, orders, dominators both ways, loops.
 *
 * A virtual exit node (number n_blocks) takes the edges of ret, exit and trap. What cannot reach it (an
 * endless loop) gets an edge of its own from its last block, so that every block has a post-dominator. */
#include "ptx/cfg.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ptx/dom.h"

struct build {
    struct arena *arena;
    const struct ptx_func *func;
    struct ptx_cfg *cfg;
    uint32_t n;                /* blocks; also the number of the exit */
    uint32_t *block_of;        /* by pc */
    uint32_t *out_start, *out; /* graph with the exit */
    uint32_t *in_start, *in;
    uint8_t *endless; /* blocks that got an edge to the exit */
    uint32_t *scratch;
    struct arena work; /* freed at the end */
};

static void release(void *work) { arena_free(work); }

static void *hold(struct build *b, size_t count, size_t size) { return arena_array(&b->work, count, size); }

/* ---- blocks ---- */

/* The pcs that a branch names. */
static uint32_t targets_of(const struct ptx_func *f, const struct ptx_instr *i, const uint32_t **targets)
{
    if (i->op == PTX_OP_BRA) {
        *targets = &ptx_operand_at(f, i, 0)->id;
        return 1;
    }
    const struct ptx_operand *table = ptx_operand_at(f, i, 1);
    if (table->kind != PTX_OPND_TABLE || f->tables[table->id].kind != PTX_TABLE_BRANCH_TARGETS) return 0;
    *targets = f->tables[table->id].items;
    return f->tables[table->id].n_items;
}

static void mark_leaders(struct build *b)
{
    const struct ptx_func *f = b->func;
    uint64_t edges = 0;
    b->block_of[0] = 1;
    for (uint32_t pc = 0; pc < f->n_instrs; pc++) {
        const struct ptx_instr *i = &f->instrs[pc];
        if (!ptx_is_terminator(i)) continue;
        if (pc + 1 < f->n_instrs) b->block_of[pc + 1] = 1;
        if (!ptx_is_branch(i)) continue;
        const uint32_t *targets = NULL;
        const uint32_t n = targets_of(f, i, &targets);
        edges += n;
        /* Many brx.idx over one long table would make a quadratic graph; no compiler does that. */
        if (edges > 16 * (uint64_t)f->n_instrs + (1u << 20))
            diag_mistake_at(ptx_place(f, i), "the branch tables of function '%s' have too many edges",
                            f->name);
        for (uint32_t k = 0; k < n; k++) b->block_of[targets[k]] = 1;
    }
}

static void make_blocks(struct build *b)
{
    const struct ptx_func *f = b->func;
    uint32_t n = 0;
    for (uint32_t pc = 0; pc < f->n_instrs; pc++) n += b->block_of[pc];
    b->cfg->n_blocks = b->n = n;
    b->cfg->blocks = ARENA_ARRAY(b->arena, struct ptx_block, n);
    uint32_t at = PTX_NO_BLOCK;
    for (uint32_t pc = 0; pc < f->n_instrs; pc++) {
        if (b->block_of[pc]) {
            at++;
            b->cfg->blocks[at] = (struct ptx_block){.first = pc,
                                                    .idom = PTX_NO_BLOCK,
                                                    .ipdom = PTX_NO_BLOCK,
                                                    .loop = PTX_NO_INDEX,
                                                    .rpo = PTX_NO_INDEX};
        }
        b->block_of[pc] = at;
        b->cfg->blocks[at].end = pc + 1;
    }
}

/* ---- edges ---- */

/* Successors of a block, exit included; taken branch first. Calls give() for each. */
static void each_successor(struct build *b, uint32_t block, void (*give)(struct build *, uint32_t, uint32_t))
{
    const struct ptx_func *f = b->func;
    struct ptx_block *x = &b->cfg->blocks[block];
    const struct ptx_instr *last = &f->instrs[x->end - 1];
    const bool guarded = last->guard != PTX_NO_REG;
    uint32_t taken = PTX_NO_BLOCK;
    if (ptx_is_branch(last)) {
        const uint32_t *targets = NULL;
        const uint32_t n = targets_of(f, last, &targets);
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t to = b->block_of[targets[k]];
            if (n == 1 || !k || to != taken) give(b, block, to);
            taken = to;
        }
        if (!n) give(b, block, b->n);
    } else if (ptx_is_terminator(last)) {
        x->to_exit = true;
        give(b, block, b->n);
    }
    const bool falls = !ptx_is_terminator(last) || guarded;
    if (falls && block + 1 < b->n && !(ptx_is_branch(last) && taken == block + 1)) give(b, block, block + 1);
    if (b->endless && b->endless[block]) give(b, block, b->n);
}

static void count_edge(struct build *b, uint32_t from, uint32_t to)
{
    b->out_start[from + 1]++;
    b->in_start[to + 1]++;
}

static void put_edge(struct build *b, uint32_t from, uint32_t to)
{
    b->out[b->out_start[from]++] = to;
    b->in[b->in_start[to]++] = from;
}

/* Counting sort: afterwards the starts are shifted by one, put right at the end. */
static void make_edges(struct build *b)
{
    const size_t nodes = (size_t)b->n + 1;
    b->out_start = hold(b, nodes + 1, sizeof(uint32_t));
    b->in_start = hold(b, nodes + 1, sizeof(uint32_t));
    for (uint32_t v = 0; v < b->n; v++) each_successor(b, v, count_edge);
    for (size_t v = 0; v < nodes; v++) {
        b->out_start[v + 1] += b->out_start[v];
        b->in_start[v + 1] += b->in_start[v];
    }
    const size_t edges = b->out_start[nodes];
    b->out = hold(b, edges, sizeof(uint32_t));
    b->in = hold(b, edges, sizeof(uint32_t));
    for (uint32_t v = 0; v < b->n; v++) each_successor(b, v, put_edge);
    memmove(b->out_start + 1, b->out_start, nodes * sizeof(uint32_t));
    memmove(b->in_start + 1, b->in_start, nodes * sizeof(uint32_t));
    b->out_start[0] = b->in_start[0] = 0;
}

/* The edges without the exit, as the result keeps them. */
static void keep_edges(struct build *b)
{
    struct ptx_cfg *c = b->cfg;
    uint32_t kept = 0;
    for (uint32_t e = 0; e < b->out_start[b->n]; e++) kept += b->out[e] != b->n;
    c->succs = ARENA_ARRAY(b->arena, uint32_t, kept ? kept : 1);
    c->preds = ARENA_ARRAY(b->arena, uint32_t, kept ? kept : 1);
    uint32_t out = 0, in = 0;
    for (uint32_t v = 0; v < b->n; v++) {
        struct ptx_block *x = &c->blocks[v];
        x->first_succ = out;
        for (uint32_t e = b->out_start[v]; e < b->out_start[v + 1]; e++)
            if (b->out[e] != b->n) c->succs[out++] = b->out[e];
        x->n_succs = out - x->first_succ;
        x->first_pred = in;
        for (uint32_t e = b->in_start[v]; e < b->in_start[v + 1]; e++) c->preds[in++] = b->in[e];
        x->n_preds = in - x->first_pred;
    }
}

/* ---- orders ---- */

static void make_rpo(struct build *b)
{
    struct ptx_cfg *c = b->cfg;
    uint32_t *stack = b->scratch, *edge = stack + b->n, *order = edge + b->n;
    uint32_t depth = 0, done = 0;
    stack[depth] = 0;
    edge[depth++] = 0;
    c->blocks[0].rpo = 0;
    while (depth) {
        const struct ptx_block *x = &c->blocks[stack[depth - 1]];
        if (edge[depth - 1] == x->n_succs) {
            order[done++] = stack[--depth];
            continue;
        }
        const uint32_t w = c->succs[x->first_succ + edge[depth - 1]++];
        if (c->blocks[w].rpo != PTX_NO_INDEX) continue;
        c->blocks[w].rpo = 0; /* seen */
        stack[depth] = w;
        edge[depth++] = 0;
    }
    c->n_rpo = done;
    c->rpo = ARENA_ARRAY(b->arena, uint32_t, done);
    for (uint32_t i = 0; i < done; i++) {
        c->rpo[i] = order[done - 1 - i];
        c->blocks[c->rpo[i]].rpo = i;
    }
}

static void flood_back(const struct build *b, uint8_t *reaches, uint32_t from, uint32_t *stack)
{
    uint32_t depth = 0;
    reaches[from] = 1;
    stack[depth++] = from;
    while (depth) {
        const uint32_t v = stack[--depth];
        for (uint32_t e = b->in_start[v]; e < b->in_start[v + 1]; e++) {
            if (reaches[b->in[e]]) continue;
            reaches[b->in[e]] = 1;
            stack[depth++] = b->in[e];
        }
    }
}

/* Gives blocks of endless loops an edge to the exit, the last one in reverse post-order first. */
static bool find_endless(struct build *b)
{
    uint8_t *reaches = hold(b, (size_t)b->n + 1, 1);
    bool found = false;
    flood_back(b, reaches, b->n, b->scratch);
    for (uint32_t k = b->cfg->n_rpo + b->n; k-- > 0;) { /* reachable ones last to first, then the others */
        const uint32_t v = k >= b->n ? b->cfg->rpo[k - b->n] : k;
        if (reaches[v]) continue;
        if (!b->endless) b->endless = hold(b, b->n, 1);
        b->endless[v] = 1;
        found = true;
        flood_back(b, reaches, v, b->scratch);
    }
    return found;
}

/* ---- dominators ---- */

static void make_dominators(struct build *b)
{
    struct ptx_cfg *c = b->cfg;
    uint32_t *idom = b->scratch, *work = b->scratch + b->n + 1;
    const struct ptx_graph forward = {b->n + 1, b->out_start, b->out, b->in_start, b->in};
    ptx_dominators(&forward, 0, idom, work);
    for (uint32_t v = 0; v < b->n; v++) c->blocks[v].idom = idom[v];
    const struct ptx_graph backward = {b->n + 1, b->in_start, b->in, b->out_start, b->out};
    ptx_dominators(&backward, b->n, idom, work);
    for (uint32_t v = 0; v < b->n; v++) c->blocks[v].ipdom = idom[v] == b->n ? PTX_NO_BLOCK : idom[v];
}

/* Interval numbers: children are entered in reverse post-order, so parents precede them. */
static void number_tree(struct build *b)
{
    struct ptx_cfg *c = b->cfg;
    uint32_t *size = b->scratch, *next = b->scratch + b->n;
    for (uint32_t v = 0; v < b->n; v++) size[v] = 1;
    for (uint32_t i = c->n_rpo; i-- > 1;) size[c->blocks[c->rpo[i]].idom] += size[c->rpo[i]];
    for (uint32_t i = 0; i < c->n_rpo; i++) {
        const uint32_t v = c->rpo[i];
        struct ptx_block *x = &c->blocks[v];
        x->dom_in = i ? next[x->idom] : 0;
        x->dom_out = x->dom_in + size[v];
        if (i) next[x->idom] += size[v];
        next[v] = x->dom_in + 1;
    }
}

bool ptx_dominates(const struct ptx_cfg *cfg, uint32_t a, uint32_t b)
{
    const struct ptx_block *x = &cfg->blocks[a], *y = &cfg->blocks[b];
    return x->rpo != PTX_NO_INDEX && y->rpo != PTX_NO_INDEX && x->dom_in <= y->dom_in &&
           y->dom_in < x->dom_out;
}

/* ---- loops ---- */

static uint32_t outermost(uint32_t *above, uint32_t loop)
{
    while (above[loop] != loop) { /* path halving */
        above[loop] = above[above[loop]];
        loop = above[loop];
    }
    return loop;
}

static bool is_back_edge(struct ptx_cfg *c, uint32_t from, uint32_t to)
{
    if (c->blocks[from].rpo == PTX_NO_INDEX || c->blocks[to].rpo > c->blocks[from].rpo) return false;
    if (ptx_dominates(c, to, from)) return true;
    c->irreducible = true;
    return false;
}

static bool is_header(struct ptx_cfg *c, uint32_t block)
{
    const struct ptx_block *x = &c->blocks[block];
    bool header = false;
    for (uint32_t k = 0; k < x->n_preds; k++) header |= is_back_edge(c, c->preds[x->first_pred + k], block);
    return header;
}

struct loop_work {
    uint32_t *above; /* union-find over loops: the outermost one found so far */
    uint32_t *stack;
};

/* Takes a block, or the whole loop that it is already in, into `loop`. */
static void take_in(struct ptx_cfg *c, struct loop_work *w, uint32_t block, uint32_t loop, uint32_t *depth)
{
    struct ptx_block *x = &c->blocks[block];
    if (x->rpo == PTX_NO_INDEX || block == c->loops[loop].header) return;
    uint32_t entry = block;
    if (x->loop != PTX_NO_INDEX) {
        const uint32_t inner = outermost(w->above, x->loop);
        if (inner == loop) return;
        w->above[inner] = loop;
        c->loops[inner].parent = loop;
        entry = c->loops[inner].header;
    } else {
        x->loop = loop;
    }
    w->stack[(*depth)++] = entry;
}

static void collect_loop(struct ptx_cfg *c, struct loop_work *w, uint32_t loop)
{
    const uint32_t header = c->loops[loop].header;
    uint32_t depth = 0;
    for (uint32_t k = 0; k < c->blocks[header].n_preds; k++) {
        const uint32_t latch = c->preds[c->blocks[header].first_pred + k];
        if (is_back_edge(c, latch, header)) take_in(c, w, latch, loop, &depth);
    }
    while (depth) {
        const struct ptx_block *x = &c->blocks[w->stack[--depth]];
        for (uint32_t k = 0; k < x->n_preds; k++) take_in(c, w, c->preds[x->first_pred + k], loop, &depth);
    }
    c->blocks[header].loop = loop;
}

/* Inner loops first: headers from the end of the reverse post-order. */
static void find_loops(struct build *b)
{
    struct ptx_cfg *c = b->cfg;
    uint32_t *headers = b->scratch, n = 0;
    for (uint32_t i = 0; i < c->n_rpo; i++)
        if (is_header(c, c->rpo[i])) headers[n++] = c->rpo[i];
    c->n_loops = n;
    c->loops = ARENA_ARRAY(b->arena, struct ptx_loop, n ? n : 1);
    struct loop_work w = {.above = b->scratch + b->n, .stack = b->scratch + 2 * (size_t)b->n};
    for (uint32_t l = 0; l < n; l++) {
        c->loops[l] = (struct ptx_loop){.header = headers[l], .parent = PTX_NO_INDEX};
        w.above[l] = l;
    }
    for (uint32_t l = n; l-- > 0;) collect_loop(c, &w, l);
    for (uint32_t l = 0; l < n; l++)
        c->loops[l].depth = c->loops[l].parent == PTX_NO_INDEX ? 1 : c->loops[c->loops[l].parent].depth + 1;
}

/* ---- the whole ---- */

struct ptx_cfg *ptx_cfg_build(struct arena *arena, const struct ptx_func *func)
{
    DIAG_ASSERT(func->has_body && func->n_instrs);
    struct build b = {.arena = arena, .func = func, .cfg = ARENA_NEW(arena, struct ptx_cfg)};
    struct diag_cleanup cleanup;
    arena_init(&b.work);
    diag_defer(&cleanup, release, &b.work);
    b.cfg->func = func;
    b.block_of = hold(&b, func->n_instrs, sizeof(uint32_t));
    mark_leaders(&b);
    make_blocks(&b);
    make_edges(&b);
    keep_edges(&b);
    b.scratch = hold(&b, PTX_DOM_SCRATCH(b.n + 1) + b.n + 1, sizeof(uint32_t));
    make_rpo(&b);
    if (find_endless(&b)) make_edges(&b); /* again, with the made-up ones */
    make_dominators(&b);
    number_tree(&b);
    find_loops(&b);
    diag_done(&cleanup, true);
    return b.cfg;
}

uint32_t ptx_block_of(const struct ptx_cfg *cfg, uint32_t pc)
{
    uint32_t low = 0, high = cfg->n_blocks;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (cfg->blocks[middle].first <= pc)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t ptx_reconvergence(const struct ptx_cfg *cfg, uint32_t pc)
{
    const uint32_t join = cfg->blocks[ptx_block_of(cfg, pc)].ipdom;
    return join == PTX_NO_BLOCK ? cfg->func->n_instrs : cfg->blocks[join].first;
}
