/* lower: from a PTX function to instructions with handlers. Private to lower*.c.
 *
 *   lower.c          the function: blocks, joins, registers, constants, arithmetic
 *   lower_memory.c   loads, stores, atomics, copies, matrices
 *   lower_texture.c  textures and surfaces
 *   lower_control.c  branches, calls, barriers */
#ifndef ATOLL_EXEC_LOWER_H
#define ATOLL_EXEC_LOWER_H

#include "exec/sites.h"

struct lower {
    struct exec_env *env;
    struct exec_kernel *kernel;
    struct exec_func *func;
    const struct ptx_func *ptx;
    const struct ptx_instr *instr;
    uint32_t pc;
    struct insn *code; /* growing */
    uint32_t count, capacity;
    bool *join_here;     /* by pc, n_instrs included */
    uint32_t temps;      /* used by this instruction, */
    uint32_t most_temps; /* … by one */
    struct access **accesses;
    uint32_t access_count, access_capacity;
};

/* Appends an instruction with the guard of the PTX one; counted as one of the file. */
struct insn *lower_emit(struct lower *l, insn_fn *fn);
/* A helper: not guarded, not counted. */
struct insn *lower_emit_helper(struct lower *l, insn_fn *fn);
/* A helper under the guard of the PTX instruction. */
struct insn *lower_emit_guarded_helper(struct lower *l, insn_fn *fn);
void lower_unsupported(struct lower *l, const char *why);

static inline const struct ptx_operand *lower_operand(const struct lower *l, uint32_t n)
{
    return ptx_operand_at(l->ptx, l->instr, n);
}

uint32_t lower_reg(const struct lower *l, uint32_t reg); /* ref */
uint8_t lower_reg_class(const struct lower *l, uint32_t reg);
uint32_t lower_temp(struct lower *l); /* ref of a scratch register of any class */
/* Source operand as an array of `bits` wide elements (1: predicate word). Emits helpers when it is a special
 * register, an address in the frame, or wider than asked. */
uint32_t lower_source(struct lower *l, const struct ptx_operand *o, uint32_t bits);
/* A constant of that width. */
uint32_t lower_constant(struct lower *l, uint64_t value, uint32_t bits);
/* The operand is `!p`? */
static inline bool lower_negated(const struct ptx_operand *o) { return o->flags & PTX_OPF_NOT; }
uint32_t lower_bits(enum ptx_type type); /* of the array that holds it: 1, 32, 64, 128 */
struct access *lower_access(struct lower *l, const struct ptx_operand *o, uint32_t space,
                            uint32_t element_bits, uint32_t count);
void lower_address(struct lower *l, struct access *s, const struct ptx_operand *o);
bool lower_is_formal(const struct ptx_func *f, uint32_t symbol);

bool lower_memory(struct lower *l); /* false: not an instruction of this kind */
bool lower_texture(struct lower *l);
bool image_supports(const struct ptx_instr *i);
bool lower_control(struct lower *l);
bool lower_arithmetic(struct lower *l);
/* After all code stands: fill in pointers to code. */
void lower_patch(struct lower *l, struct insn *i);
/* reconverge.c: moves the joins of a kernel to where lanes that do not leave meet. */
void exec_relax_joins(struct arena *arena, struct ptx_cfg *cfg);
/* values.c: registers that all threads of a block share; an instruction that writes one; is executed once. */
void exec_find_values(struct exec_func *f, const struct ptx_defuse *du);
void exec_execute_once(struct insn *i);
bool exec_is_once(const struct insn *i);
bool exec_is_value(const struct exec_func *f, const struct ptx_operand *o); /* or an immediate */
/* slopes.c: registers whose lanes lie at even distances; an instruction that may write one; the handler of an
 * access that may be through one, else fn. */
void exec_find_slopes(struct exec_func *f, const struct ptx_defuse *du);
bool exec_is_slope(const struct insn *i);
void lower_to_slope(struct lower *l, struct insn *i);
insn_fn *lower_slope_access(const struct lower *l, struct access *s, const struct ptx_operand *address,
                            insn_fn *fn);
static inline struct slope *slope_at(const struct exec_warp *w, uint32_t at)
{
    return (struct slope *)(void *)(w->base[0] + at);
}
/* Brings lanes that it holds for into the register's array. */
void slope_spread(const struct exec_warp *w, uint32_t at, uint32_t ref, uint32_t mask);
/* Which pcs lanes meet again at. */
void lower_mark_joins(struct lower *l);

/* handlers of lower*.c's own helpers and of plain instructions */
insn_fn h_lanes, h_lanes_site, h_lanes_uniform, h_mov32, h_mov64, h_unsupported, h_narrow, h_widen_zero,
    h_widen_sign, h_local_address, h_isspacep, h_jump, h_branch, h_branch_table, h_exit, h_trap, h_nop, h_end,
    h_spacebase;

#endif
