/* Control flow and data flow against plain, slow definitions, on thousands of random functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "ptx/flow.h"

enum { REGS = 6, PREDS = 3, LANES = 8, BLOCKS_MAX = 12, MANY = 1500 };

/* ---- random kernels ---- */

struct kernel {
    struct arena arena;
    struct diag diag;
    struct diag_source source;
    char text[8192];
    size_t len;
    uint64_t rng;
    const struct ptx_func *func;
    const struct ptx_cfg *cfg;
    const struct ptx_defuse *du;
};

static uint32_t pick(struct kernel *k, uint32_t below)
{
    k->rng = k->rng * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(k->rng >> 33) % below;
}

__attribute__((format(printf, 2, 3))) static void put(struct kernel *k, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(k->text + k->len, sizeof k->text - k->len, format, args);
    va_end(args);
    assert_true(n > 0 && k->len + (size_t)n < sizeof k->text);
    k->len += (size_t)n;
}

static void put_plain(struct kernel *k)
{
    const uint32_t d = pick(k, REGS), a = pick(k, REGS), b = pick(k, REGS), p = pick(k, PREDS);
    if (pick(k, 6) == 0) put(k, "@%s%%p%u ", pick(k, 2) ? "!" : "", pick(k, PREDS));
    switch (pick(k, 9)) {
    case 0: put(k, "mov.u32 %%r%u, %%tid.x;\n", d); break;
    case 1: put(k, "mov.u32 %%r%u, %u;\n", d, pick(k, 4)); break;
    case 2: put(k, "ld.param.u32 %%r%u, [n];\n", d); break;
    case 3: put(k, "add.u32 %%r%u, %%r%u, %%r%u;\n", d, a, b); break;
    case 4: put(k, "add.u32 %%r%u, %%r%u, 1;\n", d, a); break;
    case 5: put(k, "mov.u32 %%r%u, %%r%u;\n", d, a); break;
    case 6: put(k, "and.b32 %%r%u, %%r%u, 3;\n", d, a); break;
    case 7: put(k, "setp.lt.u32 %%p%u, %%r%u, %%r%u;\n", p, a, b); break;
    default: put(k, "setp.eq.u32 %%p%u, %%r%u, %u;\n", p, a, pick(k, 3)); break;
    }
}

static void put_end(struct kernel *k, uint32_t blocks)
{
    switch (pick(k, 8)) {
    case 0: put(k, "bra L%u;\n", pick(k, blocks)); break;
    case 1: put(k, "@%%p%u ret;\n", pick(k, PREDS)); break;
    case 2: put(k, "ret;\n"); break;
    case 3: put(k, "@%%p%u bra L%u;\nbra L%u;\n", pick(k, PREDS), pick(k, blocks), pick(k, blocks)); break;
    case 4: break;
    default: put(k, "@%s%%p%u bra L%u;\n", pick(k, 2) ? "!" : "", pick(k, PREDS), pick(k, blocks)); break;
    }
}

static void parse_body(void *arg)
{
    struct kernel *k = arg;
    k->func = ptx_parse(&k->arena, &k->source)->funcs[0];
    k->cfg = ptx_cfg_build(&k->arena, k->func);
    k->du = ptx_defuse_build(&k->arena, k->func);
}

static void make_kernel(struct kernel *k, uint64_t seed)
{
    memset(k, 0, sizeof *k);
    k->rng = seed * 7919 + 17;
    arena_init(&k->arena);
    diag_init(&k->diag);
    put(k,
        ".version 7.0\n.target sm_70\n.entry k(.param .u32 n)\n{\n.reg .pred %%p<%d>; .reg .b32 %%r<%d>;\n",
        PREDS, REGS);
    const uint32_t blocks = 2 + pick(k, BLOCKS_MAX - 2);
    for (uint32_t b = 0; b < blocks; b++) {
        put(k, "L%u:\n", b);
        for (uint32_t n = pick(k, 4); n-- > 0;) put_plain(k);
        put_end(k, blocks);
    }
    put(k, "ret;\n}\n");
    k->source = (struct diag_source){.name = "random.ptx", .text = k->text, .len_bytes = k->len};
    if (diag_run(&k->diag, parse_body, k)) fail_msg("%s\n%s", k->diag.text, k->text);
}

static void drop_kernel(struct kernel *k)
{
    diag_clear(&k->diag);
    arena_free(&k->arena);
}

/* ---- dominators by their definition ---- */

/* Blocks reached from `from` without stepping on `without`; forward or backward. */
static void reach(const struct ptx_cfg *c, uint32_t from, uint32_t without, bool *seen)
{
    if (from == without || seen[from]) return;
    seen[from] = true;
    for (uint32_t k = 0; k < c->blocks[from].n_succs; k++)
        reach(c, c->succs[c->blocks[from].first_succ + k], without, seen);
}

static bool reaches_exit(const struct ptx_cfg *c, uint32_t from, uint32_t without)
{
    bool seen[4 * BLOCKS_MAX] = {false};
    reach(c, from, without, seen);
    for (uint32_t b = 0; b < c->n_blocks; b++)
        if (seen[b] && c->blocks[b].to_exit) return true;
    return false;
}

static void dominators_are_those_of_the_definition(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < MANY; seed++) {
        struct kernel k;
        make_kernel(&k, seed);
        const struct ptx_cfg *c = k.cfg;
        bool all[4 * BLOCKS_MAX] = {false};
        reach(c, 0, PTX_NO_BLOCK, all);
        for (uint32_t a = 0; a < c->n_blocks; a++) {
            bool without[4 * BLOCKS_MAX] = {false};
            reach(c, 0, a, without);
            for (uint32_t b = 0; b < c->n_blocks; b++) {
                const bool dominates = all[a] && all[b] && (a == b || !without[b]);
                if (ptx_dominates(c, a, b) != dominates) fail_msg("%u dom %u in\n%s", a, b, k.text);
            }
            assert_int_equal(all[a], c->blocks[a].rpo != PTX_NO_INDEX);
        }
        drop_kernel(&k);
    }
}

static bool on_ipdom_chain(const struct ptx_cfg *c, uint32_t of, uint32_t candidate)
{
    for (uint32_t b = c->blocks[of].ipdom; b != PTX_NO_BLOCK; b = c->blocks[b].ipdom)
        if (b == candidate) return true;
    return false;
}

static void post_dominators_are_those_of_the_definition(void **state)
{
    (void)state;
    uint32_t checked = 0;
    for (uint64_t seed = 0; seed < MANY; seed++) {
        struct kernel k;
        make_kernel(&k, seed);
        const struct ptx_cfg *c = k.cfg;
        bool endless = false; /* then the made-up edges decide, which no definition covers */
        for (uint32_t b = 0; b < c->n_blocks; b++) endless |= !reaches_exit(c, b, PTX_NO_BLOCK);
        for (uint32_t b = 0; b < c->n_blocks && !endless; b++)
            for (uint32_t a = 0; a < c->n_blocks; a++) {
                if (a == b) continue;
                checked++;
                if (on_ipdom_chain(c, b, a) == reaches_exit(c, b, a))
                    fail_msg("%u pdom %u in\n%s", a, b, k.text);
            }
        drop_kernel(&k);
    }
    assert_true(checked > 1000);
}

/* A block is in the loop of header h when it reaches a latch of h without h. */
static void loops_hold_what_reaches_their_latches(void **state)
{
    (void)state;
    uint32_t found = 0;
    for (uint64_t seed = 0; seed < MANY; seed++) {
        struct kernel k;
        make_kernel(&k, seed);
        const struct ptx_cfg *c = k.cfg;
        for (uint32_t l = 0; l < c->n_loops; l++) {
            const uint32_t h = c->loops[l].header;
            found++;
            for (uint32_t b = 0; b < c->n_blocks; b++) {
                bool seen[4 * BLOCKS_MAX] = {false}, inside = b == h;
                if (b != h) reach(c, b, h, seen);
                for (uint32_t j = 0; j < c->blocks[h].n_preds && c->blocks[b].rpo != PTX_NO_INDEX; j++) {
                    const uint32_t latch = c->preds[c->blocks[h].first_pred + j];
                    inside |= seen[latch] && ptx_dominates(c, h, latch);
                }
                bool claimed = false;
                for (uint32_t at = c->blocks[b].loop; at != PTX_NO_INDEX; at = c->loops[at].parent)
                    claimed |= at == l;
                if (claimed != inside) fail_msg("block %u in loop of %u in\n%s", b, h, k.text);
            }
        }
        drop_kernel(&k);
    }
    assert_true(found > 100);
}

/* ---- liveness by iteration over sets ---- */

struct sets {
    uint64_t in[1024]; /* registers live before each instruction */
    uint32_t n;
};

static uint64_t mentioned(const struct ptx_func *f, uint32_t pc, uint32_t (*next)(struct ptx_reg_walk *))
{
    uint64_t set = 0;
    struct ptx_reg_walk w;
    ptx_walk_start(&w, f, &f->instrs[pc]);
    for (uint32_t r; (r = next(&w)) != PTX_NO_REG;) set |= UINT64_C(1) << r;
    return set;
}

static uint64_t live_out(const struct ptx_cfg *c, const struct sets *s, uint32_t pc)
{
    const uint32_t b = ptx_block_of(c, pc);
    if (pc + 1 < c->blocks[b].end) return s->in[pc + 1];
    uint64_t set = 0;
    for (uint32_t k = 0; k < c->blocks[b].n_succs; k++)
        set |= s->in[c->blocks[c->succs[c->blocks[b].first_succ + k]].first];
    return set;
}

static void solve_liveness(const struct ptx_cfg *c, struct sets *s)
{
    const struct ptx_func *f = c->func;
    memset(s, 0, sizeof *s);
    s->n = f->n_instrs;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t pc = f->n_instrs; pc-- > 0;) {
            const uint64_t kills = f->instrs[pc].guard == PTX_NO_REG ? mentioned(f, pc, ptx_next_written) : 0;
            const uint64_t in = (live_out(c, s, pc) & ~kills) | mentioned(f, pc, ptx_next_read);
            changed |= in != s->in[pc];
            s->in[pc] = in;
        }
    }
}

static uint32_t words(const struct ptx_func *f, uint64_t set)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < f->n_regs; r++)
        if (set >> r & 1)
            n += f->regs[r].reg_class == PTX_REG_32 ? 1 : f->regs[r].reg_class == PTX_REG_64 ? 2 : 0;
    return n;
}

static void registers_alive_together_have_slots_of_their_own(void **state)
{
    (void)state;
    static struct sets s;
    uint32_t shared = 0;
    for (uint64_t seed = 0; seed < MANY; seed++) {
        struct kernel k;
        make_kernel(&k, seed);
        const struct ptx_func *f = k.func;
        const struct ptx_slots *slots = ptx_slots_build(&k.arena, k.cfg, k.du);
        solve_liveness(k.cfg, &s);
        uint32_t peak = 0;
        for (uint32_t pc = 0; pc < f->n_instrs; pc++) {
            /* what is alive across, and what the instruction touches, may not collide */
            const uint64_t defs = mentioned(f, pc, ptx_next_written);
            const uint64_t together = s.in[pc] | defs | live_out(k.cfg, &s, pc);
            for (uint32_t a = 0; a < f->n_regs; a++)
                for (uint32_t b = a + 1; b < f->n_regs; b++) {
                    if (f->regs[a].reg_class != f->regs[b].reg_class || slots->slot[a] != slots->slot[b])
                        continue;
                    shared++;
                    const uint64_t both = (UINT64_C(1) << a) | (UINT64_C(1) << b);
                    if (slots->slot[a] != PTX_NO_INDEX && (together & both) == both &&
                        ((defs & both) || (s.in[pc] & both) == both))
                        fail_msg("%s and %s share slot %u at pc %u in\n%s", f->regs[a].name, f->regs[b].name,
                                 slots->slot[a], pc, k.text);
                }
            const uint64_t after = defs | live_out(k.cfg, &s, pc);
            if (words(f, s.in[pc]) > peak) peak = words(f, s.in[pc]);
            if (words(f, after) > peak) peak = words(f, after);
        }
        if (slots->max_live_32 != peak) fail_msg("peak %u, not %u in\n%s", slots->max_live_32, peak, k.text);
        drop_kernel(&k);
    }
    assert_true(shared > 100);
}

/* ---- reaching definitions by iteration ---- */

static void reaching_definitions_are_those_of_the_definition(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < MANY / 3; seed++) {
        struct kernel k;
        make_kernel(&k, seed);
        const struct ptx_func *f = k.func;
        struct ptx_reaching *r = ptx_reaching_start(&k.arena, k.cfg, k.du);
        assert_true(f->n_instrs < 200);
        for (uint32_t reg = 0; reg < f->n_regs; reg++) {
            /* which definitions of reg (or none: the last bit) hold before each pc */
            static bool in[200][201];
            memset(in, 0, sizeof in);
            in[0][200] = true;
            for (bool changed = true; changed;) {
                changed = false;
                for (uint32_t pc = 0; pc < f->n_instrs; pc++) {
                    bool out[201];
                    memcpy(out, in[pc], sizeof out);
                    if (mentioned(f, pc, ptx_next_written) >> reg & 1) {
                        if (f->instrs[pc].guard == PTX_NO_REG) memset(out, 0, sizeof out);
                        bool any = false;
                        for (int d = 0; d < 201; d++) any |= in[pc][d];
                        out[pc] = any; /* only where the flow comes by */
                    }
                    const uint32_t b = ptx_block_of(k.cfg, pc);
                    const bool last = pc + 1 == k.cfg->blocks[b].end;
                    for (uint32_t e = 0; e < (last ? k.cfg->blocks[b].n_succs : 1); e++) {
                        const uint32_t to =
                            last ? k.cfg->blocks[k.cfg->succs[k.cfg->blocks[b].first_succ + e]].first
                                 : pc + 1;
                        for (int d = 0; d < 201; d++)
                            if (out[d] && !in[to][d]) in[to][d] = changed = true;
                    }
                }
            }
            for (uint32_t pc = 0; pc < f->n_instrs; pc++) {
                if (k.cfg->blocks[ptx_block_of(k.cfg, pc)].rpo == PTX_NO_INDEX) continue;
                uint32_t defs[201];
                const uint32_t n = ptx_reaching_defs(r, reg, pc, defs, 201);
                bool got[201] = {false};
                for (uint32_t j = 0; j < n; j++) {
                    assert_false(got[defs[j] == PTX_NO_INDEX ? 200 : defs[j]]); /* each once */
                    got[defs[j] == PTX_NO_INDEX ? 200 : defs[j]] = true;
                }
                for (int d = 0; d < 201; d++)
                    if (got[d] != in[pc][d])
                        fail_msg("%s at pc %u: def %d in\n%s", f->regs[reg].name, pc, d, k.text);
            }
        }
        drop_kernel(&k);
    }
}

/* ---- uniformity by running the lanes ---- */

struct machine {
    const struct kernel *k;
    const struct ptx_uniform *u;
    uint32_t value[64][LANES];
    uint32_t alive; /* lanes that have not left */
    uint32_t steps;
};

static void expect_same(struct machine *m, uint32_t reg, uint32_t mask, uint32_t pc)
{
    if (!m->u->reg[reg]) return;
    const uint32_t first = (uint32_t)__builtin_ctz(mask);
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (mask >> lane & 1 && m->value[reg][lane] != m->value[reg][first])
            fail_msg("'%s' differs between lanes at pc %u, mask %x, in\n%s", m->k->func->regs[reg].name, pc,
                     mask, m->k->text);
}

static uint32_t operand_value(const struct machine *m, const struct ptx_operand *o, uint32_t lane)
{
    switch (o->kind) {
    case PTX_OPND_REG: return m->value[o->id][lane];
    case PTX_OPND_IMM: return (uint32_t)o->value;
    case PTX_OPND_SREG: return lane;
    default: return 2; /* the parameter */
    }
}

static bool guard_holds(const struct machine *m, const struct ptx_instr *i, uint32_t lane)
{
    return i->guard == PTX_NO_REG || (m->value[i->guard][lane] != 0) != (i->guard_not != 0);
}

static uint32_t result(const struct machine *m, const struct ptx_instr *i, uint32_t lane)
{
    const struct ptx_operand *o = ptx_operand_at(m->k->func, i, 1);
    const uint32_t a = operand_value(m, o, lane), b = i->n_operands > 2 ? operand_value(m, o + 1, lane) : 0;
    switch (i->op) {
    case PTX_OP_ADD: return a + b;
    case PTX_OP_AND: return a & b;
    case PTX_OP_SETP: return i->cmp == PTX_CMP_LT ? a < b : a == b;
    default: return a;
    }
}

static void execute(struct machine *m, uint32_t pc, uint32_t mask)
{
    const struct ptx_func *f = m->k->func;
    const struct ptx_instr *i = &f->instrs[pc];
    struct ptx_reg_walk w;
    ptx_walk_start(&w, f, i);
    for (uint32_t r; (r = ptx_next_read(&w)) != PTX_NO_REG;) expect_same(m, r, mask, pc);
    if (m->u->block_convergent[ptx_block_of(m->k->cfg, pc)] && mask != m->alive)
        fail_msg("pc %u is not convergent: %x of %x in\n%s", pc, mask, m->alive, m->k->text);
    if (ptx_is_terminator(i)) return;
    const uint32_t d = ptx_operand_at(f, i, 0)->id;
    uint32_t written = 0;
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (mask >> lane & 1 && guard_holds(m, i, lane)) written |= 1u << lane;
    uint32_t fresh[LANES];
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (written >> lane & 1) fresh[lane] = result(m, i, lane);
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (written >> lane & 1) m->value[d][lane] = fresh[lane];
    if (written) expect_same(m, d, mask, pc);
    if (m->u->instr[pc] && written)
        for (uint32_t lane = 0; lane < LANES; lane++)
            if (written >> lane & 1) assert_int_equal(m->value[d][lane], m->value[d][__builtin_ctz(written)]);
}

static bool only_leaves(const struct machine *m, uint32_t pc)
{
    const struct ptx_block *b = &m->k->cfg->blocks[ptx_block_of(m->k->cfg, pc)];
    return b->first == pc && b->end == pc + 1 && m->k->func->instrs[pc].op == PTX_OP_RET &&
           m->k->func->instrs[pc].guard == PTX_NO_REG;
}

/* Lanes run together from pc until `stop`; those that part are run one group after the other. */
static void run_group(struct machine *m, uint32_t pc, uint32_t mask, uint32_t stop)
{
    const struct ptx_func *f = m->k->func;
    while (mask && pc != stop && m->steps++ < 400) {
        const struct ptx_instr *i = &f->instrs[pc];
        execute(m, pc, mask);
        uint32_t taken = 0;
        for (uint32_t lane = 0; lane < LANES; lane++)
            if (mask >> lane & 1 && guard_holds(m, i, lane)) taken |= 1u << lane;
        if (i->op == PTX_OP_RET) {
            m->alive &= ~taken;
            mask &= ~taken;
            pc++;
        } else if (i->op != PTX_OP_BRA) {
            pc++;
        } else if (taken == mask) {
            pc = ptx_operand_at(f, i, 0)->id;
        } else if (!taken) {
            pc++;
        } else {
            if (m->u->instr[pc]) fail_msg("branch at pc %u parts lanes in\n%s", pc, m->k->text);
            const uint32_t join = ptx_reconvergence(m->k->cfg, pc);
            /* lanes on their way to a lone ret count as gone */
            if (only_leaves(m, ptx_operand_at(f, i, 0)->id)) m->alive &= ~taken;
            if (only_leaves(m, pc + 1)) m->alive &= ~(mask & ~taken);
            taken &= m->alive;
            mask &= m->alive;
            run_group(m, ptx_operand_at(f, i, 0)->id, taken, join);
            run_group(m, pc + 1, mask & ~taken, join);
            mask &= m->alive;
            pc = join == f->n_instrs ? stop : join;
            if (join == f->n_instrs) return;
        }
    }
}

static void what_is_called_uniform_never_differs_between_lanes(void **state)
{
    (void)state;
    uint32_t uniform = 0, convergent = 0;
    for (uint64_t seed = 0; seed < 4 * MANY; seed++) {
        struct kernel k;
        make_kernel(&k, seed);
        const struct ptx_uniform *u = ptx_uniform_build(&k.arena, k.cfg, k.du, true);
        for (uint32_t r = 0; r < k.func->n_regs; r++) uniform += u->reg[r];
        for (uint32_t b = 1; b < k.cfg->n_blocks; b++) convergent += u->block_convergent[b];
        static struct machine m;
        m = (struct machine){.k = &k, .u = u, .alive = (1u << LANES) - 1};
        run_group(&m, 0, m.alive, UINT32_MAX);
        drop_kernel(&k);
    }
    assert_true(uniform > 4 * MANY); /* the claim is not empty */
    assert_true(convergent > MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dominators_are_those_of_the_definition),
        cmocka_unit_test(post_dominators_are_those_of_the_definition),
        cmocka_unit_test(loops_hold_what_reaches_their_latches),
        cmocka_unit_test(registers_alive_together_have_slots_of_their_own),
        cmocka_unit_test(reaching_definitions_are_those_of_the_definition),
        cmocka_unit_test(what_is_called_uniform_never_differs_between_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
