/* classify: Algorithm 1 and Table II of LADM. The class of a row follows from its index equation.
 *
 *   loop variant            loop invariant                   class
 *   m (one element or       any                              ITL (intra-thread locality)
 *   structure per step)
 *   any other, or none      depends on bx and by, or on bx   NL (no locality between blocks)
 *                           in a one-dimensional grid
 *   has gridDim.x           depends on by only               ROW_V: a grid row shares, moves down a column
 *   no gridDim.x            depends on by only               ROW_H: a grid row shares, moves along a row
 *   has gridDim.x           depends on bx only               COL_V: a grid column shares, moves down a column
 *   no gridDim.x            depends on bx only               COL_H: a grid column shares, moves along a row
 *   any other row, and every non-ITL index that depends on data                      NONE (unclassified)
 *
 * The four sharing classes need a two-dimensional grid. A stride that is a multiple of a whole row of the
 * grid counts as gridDim.x (skips_rows()). A row that shares without a loop has class ROW_H or COL_H.
 *
 * A grid is two-dimensional (the paper's "2D blocks") if gridDim.y > 1 or blockIdx.y is in use, because
 * FWT-k2 has one-dimensional blocks; ASSUMPTION */
#include "analysis/index.h"

const struct locality_action *locality_action(enum locality_class c)
{
#define ACTION(s, p, k, name, sn, pn, kn, sharing) \
    { \
        s, p, k, name, sn, pn, kn, sharing \
    }
    static const struct locality_action actions[LOCALITY_CLASSES] = {
        [LOCALITY_UNKNOWN] = ACTION(LOCALITY_KERNEL_WIDE, LOCALITY_KERNEL_WIDE_DATA, LOCALITY_RTWICE,
                                    "unknown", "kernel-wide", "kernel-wide", "RTWICE", "not known"),
        [LOCALITY_NL] = ACTION(LOCALITY_ALIGN_AWARE, LOCALITY_STRIDE_AWARE, LOCALITY_RTWICE, "no-locality",
                               "align-aware", "stride-aware", "RTWICE", "each block has its own"),
        [LOCALITY_ROW_H] =
            ACTION(LOCALITY_ROW_BINDING, LOCALITY_ROW_BASED, LOCALITY_RTWICE, "row-horizontal", "row-binding",
                   "row-based", "RTWICE", "blocks of a grid row share, moving along the row"),
        [LOCALITY_COL_H] = ACTION(LOCALITY_COL_BINDING, LOCALITY_ROW_BASED, LOCALITY_RTWICE,
                                  "column-horizontal", "col-binding", "row-based", "RTWICE",
                                  "blocks of a grid column share, moving along the row"),
        [LOCALITY_ROW_V] =
            ACTION(LOCALITY_ROW_BINDING, LOCALITY_COL_BASED, LOCALITY_RTWICE, "row-vertical", "row-binding",
                   "col-based", "RTWICE", "blocks of a grid row share, moving down the column"),
        [LOCALITY_COL_V] = ACTION(LOCALITY_COL_BINDING, LOCALITY_COL_BASED, LOCALITY_RTWICE,
                                  "column-vertical", "col-binding", "col-based", "RTWICE",
                                  "blocks of a grid column share, moving down the column"),
        [LOCALITY_ITL] =
            ACTION(LOCALITY_KERNEL_WIDE, LOCALITY_KERNEL_WIDE_DATA, LOCALITY_RONCE, "intra-thread",
                   "kernel-wide", "kernel-wide", "RONCE", "each thread walks through neighbours"),
        [LOCALITY_NONE] = ACTION(LOCALITY_KERNEL_WIDE, LOCALITY_KERNEL_WIDE_DATA, LOCALITY_RTWICE,
                                 "unclassified", "kernel-wide", "kernel-wide", "RTWICE", "not known"),
    };
#undef ACTION
    return &actions[(unsigned)c < LOCALITY_CLASSES ? c : LOCALITY_UNKNOWN];
}

bool index_loop_is_motion(const struct symbolic_loop *l)
{
    return !(l->trips && l->trips <= INDEX_UNROLLED_MOST);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t size_of(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

/* What every variable part of the index is a multiple of: the size of a structure of several fields. */
static uint64_t granule(const struct expr *e)
{
    uint64_t g = 0;
    for (uint32_t k = 0; k < e->n; k++)
        if (e->terms[k].mono->n) g = gcd(g, size_of(e->terms[k].coef));
    return g;
}

/* The variant is m and nothing else: one element, or one structure, further in each iteration. */
static bool is_intra_thread(const struct locality_row *row)
{
    enum { STRUCTURE_BYTES_MOST = 32 };
    int64_t step;
    if (!row->stride || !row->linear || !expr_is_const(row->stride, &step)) return false;
    const uint64_t size = size_of(step);
    if (size == row->element_bytes) return true;
    return size > row->element_bytes && size <= STRUCTURE_BYTES_MOST && granule(row->index) == size;
}

/* Does an iteration skip whole rows: gridDim.x in the variant, or a number that is so many rows? */
static bool skips_rows(const struct locality_row *row, const struct index_numbers *n)
{
    const struct expr *stride = row->stride;
    if (!stride) return false;
    if (stride->deps & DEP_GDX) return true;
    if (!n || n->row_elements < 2) return false;
    int64_t fixed;
    if (expr_is_const(stride, &fixed))
        return n->grid_x > 1 && fixed && size_of(fixed) % (n->row_elements * row->element_bytes) == 0;
    for (uint32_t k = 0; k < stride->n; k++)
        for (uint32_t j = 0; j < stride->terms[k].mono->n; j++) {
            const struct atom *a = stride->terms[k].mono->atoms[j];
            int64_t v;
            if (a->kind != ATOM_PARAM || !n->value || !n->value(n->arg, a, &v)) continue;
            if (v > 0 && (uint64_t)v % n->row_elements == 0) return true;
        }
    return false;
}

enum locality_class index_classify(struct symbolic *s, const struct locality_row *row, bool two_dimensional,
                                   const struct index_numbers *numbers)
{
    if (row->argument == LOCALITY_NO_ARGUMENT) return LOCALITY_NONE;
    if (is_intra_thread(row)) return LOCALITY_ITL;
    if ((row->index->deps | row->also_deps) & DEP_DATA) return LOCALITY_NONE;
    uint32_t deps = row->index->deps;
    if (row->motion_loop != SYMBOLIC_NO_LOOP && row->linear) {
        const struct expr *rest, *factor;
        if (expr_split(&s->pool, row->index, s->loops[row->motion_loop].iv, &rest, &factor))
            deps = rest->deps;
    }
    deps |= row->also_deps;
    const bool bx = deps & DEP_BX, by = deps & DEP_BY;
    if (bx && (by || !two_dimensional)) return LOCALITY_NL;
    if (!two_dimensional || bx == by) return LOCALITY_NONE;
    const bool down = skips_rows(row, numbers);
    return by ? down ? LOCALITY_ROW_V : LOCALITY_ROW_H : down ? LOCALITY_COL_V : LOCALITY_COL_H;
}
