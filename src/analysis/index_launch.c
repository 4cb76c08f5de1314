/* index_launch: the numbers that a thread of a launch sees, and the locality table with them. */
#include <string.h>

#include "analysis/footprint.h"

static bool param_number(const struct locality_launch *l, const struct atom *a, int64_t *v)
{
    uint64_t bits = 0;
    if (!l->params || !a->size_bytes || a->size_bytes > 8 || (uint64_t)a->id + a->size_bytes > l->param_bytes)
        return false;
    for (uint32_t k = 0; l->param_known && k < a->size_bytes; k++)
        if (!l->param_known[a->id + k]) return false;
    memcpy(&bits, l->params + a->id, a->size_bytes);
    *v = a->size_bytes == 4 ? (int64_t)(int32_t)bits : (int64_t)bits;
    return true;
}

_Static_assert(PTX_SREG_TID_X == 0, "the first special registers are the indices");
static bool sreg_number(const struct index_point *n, uint32_t sreg, int64_t *v)
{
    const struct locality_launch *l = n->launch;
    if (sreg <= PTX_SREG_TID_Z) {
        *v = n->tid[sreg - PTX_SREG_TID_X];
    } else if (sreg >= PTX_SREG_CTAID_X && sreg <= PTX_SREG_CTAID_Z) {
        *v = n->bid[sreg - PTX_SREG_CTAID_X];
    } else if (sreg >= PTX_SREG_NTID_X && sreg <= PTX_SREG_NTID_Z) {
        *v = l->block[sreg - PTX_SREG_NTID_X];
    } else if (sreg >= PTX_SREG_NCTAID_X && sreg <= PTX_SREG_NCTAID_Z) {
        *v = l->grid[sreg - PTX_SREG_NCTAID_X];
    } else if (sreg == PTX_SREG_LANEID) {
        *v = (n->tid[0] + n->tid[1] * l->block[0] + n->tid[2] * l->block[0] * l->block[1]) % 32;
    } else {
        return false;
    }
    return true;
}

/* Iterations of a loop: the current one is the first, unless it counts; of one that has ended, the last. */
static int64_t iteration(struct index_point *n, const struct atom *iv)
{
    enum { ENDED_MOST = 3 };
    uint64_t last;
    if (iv == n->iv) return n->count;
    if (!n->s || symbolic_loop_contains(n->s, iv->id, n->loop)) return 0;
    struct index_point strict = *n;
    strict.loose = false;
    strict.ended++;
    const bool known = n->ended < ENDED_MOST &&
                       symbolic_last(&n->s->loops[iv->id], index_value, &strict, &last) && last < INT32_MAX;
    n->lost_end |= !known || strict.lost_end;
    return known ? (int64_t)last : 0;
}

bool index_value(void *point, const struct atom *a, int64_t *v)
{
    struct index_point *n = point;
    switch ((enum atom_kind)a->kind) {
    case ATOM_SREG: return sreg_number(n, a->id, v);
    case ATOM_PARAM: return param_number(n->launch, a, v);
    case ATOM_IV: *v = iteration(n, a); return true;
    case ATOM_MERGE: {
        const uint32_t way = n->way < a->element ? n->way : 0;
        return a->n_args && a->args[way] && expr_eval(a->args[way], index_value, point, v);
    }
    case ATOM_BASE: *v = 0; return true;
    case ATOM_OTHER:
        if (n->s && symbolic_number(n->s, a, index_value, point, v)) return true;
        *v = 0;
        return n->loose;
    case ATOM_DATA: *v = 0; return n->loose;
    case ATOM_PHI:
    case ATOM_OP: break;
    }
    return false;
}

/* ---- the table ---- */

const struct locality_table *locality_at_launch(struct arena *arena, const struct locality_table *t,
                                                const struct locality_launch *launch)
{
    struct locality_table *now = ARENA_NEW(arena, struct locality_table);
    struct symbolic *s = (struct symbolic *)(uintptr_t)t->symbolic; /* its pool grows */
    *now = *t;
    s->pool.work_left += 5000 + 100 * (uint64_t)t->n_rows;
    now->rows = ARENA_ARRAY(arena, struct locality_row, t->n_rows + 1);
    now->arguments = ARENA_ARRAY(arena, struct locality_argument, t->n_arguments + 1);
    if (t->n_rows) memcpy(now->rows, t->rows, t->n_rows * sizeof *t->rows);
    if (t->n_arguments) memcpy(now->arguments, t->arguments, t->n_arguments * sizeof *t->arguments);
    now->two_dimensional = t->uses_by || launch->grid[1] > 1;
    struct index_point n = {.launch = launch};
    const struct index_numbers numbers = {.grid_x = launch->grid[0],
                                          .row_elements = (uint64_t)launch->grid[0] * launch->block[0],
                                          .value = index_value,
                                          .arg = &n};
    for (uint32_t k = 0; k < now->n_rows; k++)
        now->rows[k].class = index_classify(s, &now->rows[k], now->two_dimensional, &numbers);
    index_put_sizes(arena, s, now, launch);
    for (uint32_t k = 0; k < now->n_arguments; k++) {
        struct locality_argument *a = &now->arguments[k];
        if (launch->find && !launch->find(launch->user, a, &a->base, &a->bytes)) a->base = a->bytes = 0;
    }
    index_choose_speakers(now);
    pattern_put_all(arena, s, now, launch);
    index_choose_winner(now);
    return now;
}
