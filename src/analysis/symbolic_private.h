/* Shared by the files of the symbolic walk only. */
#ifndef ATOLL_ANALYSIS_SYMBOLIC_PRIVATE_H
#define ATOLL_ANALYSIS_SYMBOLIC_PRIVATE_H

#include "analysis/symbolic.h"

enum { CALL_DEPTH_MAX = 8, SEARCH_DEPTH_MAX = 100, MERGE_MAX = 16 };

/* What a callee gets, and gives back. */
struct binding {
    uint32_t symbol; /* formal of the callee */
    int64_t offset;
    const struct expr *value;
};

struct bindings {
    struct binding *rows;
    uint32_t count, capacity;
};

struct phi {
    struct atom *atom;
    uint32_t activation, block, var;
    uint32_t loop; /* SYMBOLIC_NO_LOOP: the cycle has no single head */
    const struct expr *start;
    const struct expr *back[MERGE_MAX];
    uint32_t n_back;
    const struct expr *final; /* when its loop has ended, if that runs so many times that it was followed */
    bool needed;              /* by an address, the end of a loop or a result */
    bool lost;                /* too many edges, or a value that is not known */
};

struct walker;

struct activation {
    struct walker *w;
    const struct frame *f;
    uint32_t idx;
    uint32_t caller_loop; /* loop around the call */
    uint64_t caller_loops;
    const struct activation *caller;
    struct map defs;          /* block << 32 | var > expr */
    const struct expr **regs; /* by register, those with one definition */
    const struct bindings *args;
    struct bindings results;
    uint32_t first_site, first_loop, first_phi;
    uint32_t pc, block; /* being walked */
};

/* A store whose address is not a constant of the stack but may lie on it. */
struct local_store {
    struct symbolic_access at; /* func, activation, block, loop and address */
    uint32_t bytes;
    bool by_chance; /* only if its address was given up on the way */
};

struct walker {
    struct arena *arena;
    struct frame_cache *frames;
    struct symbolic *s;
    struct expr_pool *pool;
    struct phi *phis;
    uint32_t n_phis, phi_capacity;
    uint32_t access_capacity, loop_capacity, activation_capacity;
    uint32_t sites;
    uint64_t budget; /* instructions that may still be walked in callees */
    uint64_t search_budget;
    /* what may write slots of the stack otherwise than by constant addresses: see symbolic_local.c */
    struct local_store *stores;
    const struct expr **published; /* addresses of the stack that are known elsewhere */
    uint32_t n_stores, store_capacity, n_published, published_capacity;
    struct map *mixed; /* frame and slot that such a write reaches > 1 */
    bool all_mixed;
    bool forgot; /* beyond a limit some value was given up: it may have been an address of the stack */
};

/* symbolic_values.c: what registers and slots hold. NULL: undefined. */
const struct expr *values_read_reg(struct activation *a, uint32_t reg);
void values_write_reg(struct activation *a, uint32_t reg, const struct expr *value);
const struct expr *values_at_end(struct activation *a, uint32_t block, uint32_t var, uint32_t depth);
void values_write_slot(struct activation *a, uint32_t slot, const struct expr *value);
const struct expr *values_read_slot(struct activation *a, uint32_t slot);
/* A value of which nothing is known but where it is made. */
const struct expr *values_unknown(struct activation *a, uint32_t pc, uint32_t element, uint32_t deps);
/* Why nothing is known of a variable at a block, in the numbers that tell unknown values apart. */
enum {
    UNKNOWN_HOLE,
    UNKNOWN_DEEP,
    UNKNOWN_SEARCH,
    UNKNOWN_STARTS,
    UNKNOWN_PHI,
    UNKNOWN_READ,
    UNKNOWN_LOST,
    UNKNOWN_REASONS = 8,
    UNKNOWN_OF_VARS = 1000
};
/* Nothing is known of the variable at the start of the block; another variable there is another value. */
const struct expr *values_unknown_at(struct activation *a, uint32_t block, uint32_t var, uint32_t why);
/* What is known of it at the end of the block without asking others; NULL: nothing. */
const struct expr *values_held(const struct activation *a, uint32_t block, uint32_t var);
/* symbolic_merge.c: the values with which a block is entered from several others. */
const struct expr *values_merge(struct activation *a, uint32_t block, uint32_t var, const uint32_t *preds,
                                const struct expr *const *values, uint32_t n);
/* A value that depends on these in some way. */
const struct expr *values_other_of(struct activation *a, const struct expr *const *from, uint32_t n);
/* Loops around a block, as bits. */
uint64_t values_loops_around(const struct activation *a, uint32_t block);
/* After the walk of an activation: what comes to the heads of its loops, of those values that its accesses
 * (from first_access on), the ends of its loops or its results (may be NULL) need. */
void values_complete_phis(struct activation *a, uint32_t first_access, const struct bindings *results);

/* symbolic_local.c: notes a store that may reach the stack, and an address of the stack that goes elsewhere.
 */
void local_store(struct activation *a, const struct expr *address, uint32_t space, uint32_t bytes);
void local_publish(struct activation *a, const struct expr *value);
bool local_is_mixed(const struct activation *a, uint32_t slot);
/* After the walk: do writes reach slots that were followed? They are mixed from now on; walk again. */
bool local_reaches_more(struct walker *w);

/* symbolic_loops.c */
void loops_understand(struct walker *w);

/* symbolic_forms.c: within: by loop, itself and the loops inside it, as bits; memo: of loops_known. */
const struct expr *loops_known(void *arg, const struct atom *a); /* for expr_replace: what is understood */
/* What comes back to the head, with all put in that is known; NULL: several, or not of its iterations only.
 */
const struct expr *loops_comes_back(struct walker *w, const struct phi *phi, const uint64_t *within,
                                    struct map *memo);
/* NULL: there is none, or not yet. */
const struct expr *loops_closed_form(struct walker *w, const struct phi *phi, const uint64_t *within,
                                     struct map *memo);

/* symbolic_trips.c: numbers with so many iterations of a loop. */
struct with_iterations {
    expr_value_fn *value;
    void *arg;
    const struct atom *iv;
    int64_t iterations;
};

bool loops_iteration_value(void *arg, const struct atom *a, int64_t *v);
/* The comparison that a predicate is, or the opposite of (*stay_if changes); NULL: something else. */
const struct atom *loops_comparison(const struct expr *condition, bool *stay_if);

/* symbolic_recur.c: which values at heads can be followed on paper: s->recurrences. By value: what it starts
 * as and what comes back, NULL where it is closed or not known. */
void recur_find(struct walker *w, const struct expr *const *starts, const struct expr *const *backs);

/* symbolic_arith.c: what operands hold, and what goes into registers. */
const struct expr *instr_value(struct activation *a, const struct ptx_operand *o, enum ptx_type type);
const struct expr *instr_address(struct activation *a, const struct ptx_operand *o);
void instr_write(struct activation *a, const struct ptx_operand *d, const struct expr *value);
void instr_write_unknown(struct activation *a, uint32_t deps);
void instr_arithmetic(struct activation *a, const struct ptx_instr *i);

/* symbolic_memory.c */
void instr_load(struct activation *a, const struct ptx_instr *i);
void instr_store(struct activation *a, const struct ptx_instr *i);
void instr_other_memory(struct activation *a, const struct ptx_instr *i);
/* Notes an access to global memory, if it is one. */
void instr_record(struct activation *a, const struct ptx_instr *i, uint32_t space, const struct expr *address,
                  uint8_t kind, uint32_t bytes, uint32_t count);

/* symbolic_instr.c: the instruction at a->pc. */
void instr_walk(struct activation *a);

/* symbolic.c: a call as if inlined; false: not followed. */
bool walk_call(struct activation *caller, const struct ptx_func *callee, const struct bindings *args,
               struct bindings *results);
void walk_bind(struct arena *arena, struct bindings *b, uint32_t symbol, int64_t offset,
               const struct expr *value);

static inline bool is_float_reg(const struct ptx_func *f, uint32_t reg)
{
    return ptx_type_kind(f->regs[reg].type) == 'F';
}

#endif
