/* expr_print: expressions as text in CUDA's terms. See expr.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/expr.h"

struct printing {
    char *buf;
    size_t bytes, len;
    expr_name_fn *name;
    void *arg;
    uint32_t depth;
};

__attribute__((format(printf, 2, 3))) static void put(struct printing *p, const char *format, ...)
{
    va_list args;
    if (p->len + 1 >= p->bytes) return;
    va_start(args, format);
    const int n = vsnprintf(p->buf + p->len, p->bytes - p->len, format, args);
    va_end(args);
    if (n > 0) p->len = p->len + (size_t)n < p->bytes ? p->len + (size_t)n : p->bytes - 1;
}

static void print_expr(struct printing *p, const struct expr *e);

static const char *op_text(const struct atom *a)
{
    static const char *const texts[] = {
        [EXPR_ADD] = " + ", [EXPR_MUL] = "*",   [EXPR_MULHI] = " mulhi ", [EXPR_DIV] = "/",
        [EXPR_REM] = "%",   [EXPR_SHR] = ">>",  [EXPR_SHL] = "<<",        [EXPR_AND] = " & ",
        [EXPR_OR] = " | ",  [EXPR_XOR] = " ^ ", [EXPR_NOT] = "~",         [EXPR_MIN] = "min",
        [EXPR_MAX] = "max", [EXPR_ABS] = "abs"};
    static const char *const comparisons[] = {
        [PTX_CMP_EQ] = "==", [PTX_CMP_NE] = "!=", [PTX_CMP_LT] = "<", [PTX_CMP_LE] = "<=",
        [PTX_CMP_GT] = ">",  [PTX_CMP_GE] = ">=", [PTX_CMP_LO] = "<", [PTX_CMP_LS] = "<=",
        [PTX_CMP_HI] = ">",  [PTX_CMP_HS] = ">="};
    if (a->op == EXPR_SETP)
        return a->detail < sizeof comparisons / sizeof *comparisons && comparisons[a->detail]
                   ? comparisons[a->detail]
                   : "?";
    return a->op < sizeof texts / sizeof *texts && texts[a->op] ? texts[a->op] : "?";
}

static void print_op(struct printing *p, const struct atom *a)
{
    if (a->op == EXPR_MIN || a->op == EXPR_MAX || a->op == EXPR_ABS || a->op == EXPR_NOT ||
        a->op == EXPR_FIELD) {
        put(p, "%s(", a->op == EXPR_FIELD ? "bits" : op_text(a));
        for (uint32_t k = 0; k < a->n_args; k++) {
            if (k) put(p, ", ");
            print_expr(p, a->args[k]);
        }
        put(p, ")");
    } else if (a->op == EXPR_SELECT) {
        put(p, "(");
        print_expr(p, a->args[0]);
        put(p, " ? ");
        print_expr(p, a->args[1]);
        put(p, " : ");
        print_expr(p, a->args[2]);
        put(p, ")");
    } else if (a->op == EXPR_WIDEN) {
        put(p, "(%s)(", ptx_type_name(a->type));
        print_expr(p, a->args[0]);
        put(p, ")");
    } else {
        put(p, "(");
        print_expr(p, a->args[0]);
        put(p, "%s", op_text(a));
        print_expr(p, a->args[1]);
        put(p, ")");
    }
}

static void print_atom(struct printing *p, const struct atom *a)
{
    char name[80];
    if (a->kind == ATOM_OP && p->depth < 8) {
        p->depth++;
        print_op(p, a);
        p->depth--;
    } else if (a->kind == ATOM_MERGE && p->depth < 8) {
        p->depth++;
        put(p, "{");
        for (uint32_t k = 0; k < a->element && k < 4; k++) {
            if (k) put(p, " or ");
            if (a->args[k]) print_expr(p, a->args[k]);
        }
        put(p, "%s}", a->element > 4 ? " or ..." : "");
        p->depth--;
    } else if (a->kind == ATOM_OP || a->kind == ATOM_MERGE) {
        put(p, "...");
    } else {
        p->name(p->arg, a, name, sizeof name);
        put(p, "%s", name);
    }
}

/* Parameters and dimensions are taken out as common factors: (16*by + ty)*p3. */
static bool is_outer(const struct atom *a)
{
    return a->kind == ATOM_PARAM ||
           (a->kind == ATOM_SREG && (a->deps & (DEP_BDX | DEP_BDY | DEP_BDZ | DEP_GDX | DEP_GDY | DEP_GDZ)));
}

static bool same_outer(const struct mono *a, const struct mono *b)
{
    uint32_t i = 0, j = 0;
    for (;;) {
        while (i < a->n && !is_outer(a->atoms[i])) i++;
        while (j < b->n && !is_outer(b->atoms[j])) j++;
        if (i == a->n || j == b->n) return i == a->n && j == b->n;
        if (a->atoms[i++] != b->atoms[j++]) return false;
    }
}

static uint32_t outer_count(const struct mono *m)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->n; k++) n += is_outer(m->atoms[k]);
    return n;
}

static uint32_t atom_rank(const struct atom *a)
{
    const uint32_t index = DEP_BX | DEP_BY | DEP_BZ | DEP_TX | DEP_TY | DEP_TZ;
    if (a->kind == ATOM_IV) return 0;
    if (a->kind == ATOM_PARAM) return 1000 + a->id;
    if (a->kind == ATOM_SREG) return (a->deps & index ? 1 : 500) + a->id;
    return 600;
}

/* coefficient and the atoms that are asked for; first: no plus sign before it */
static void print_product(struct printing *p, int64_t coef, const struct mono *m, bool outer_too, bool first)
{
    const bool negative = coef < 0;
    const uint64_t size = negative ? 0 - (uint64_t)coef : (uint64_t)coef;
    uint32_t shown = 0;
    put(p, "%s", first ? (negative ? "-" : "") : negative ? " - " : " + ");
    const uint32_t atoms = outer_too ? m->n : m->n - outer_count(m);
    if (size != 1 || !atoms) {
        put(p, "%llu", (unsigned long long)size);
        shown++;
    }
    const struct atom *atoms_sorted[EXPR_DEGREE_MAX];
    for (uint32_t k = 0; k < m->n; k++) {
        uint32_t at = k;
        for (; at && atom_rank(atoms_sorted[at - 1]) > atom_rank(m->atoms[k]); at--)
            atoms_sorted[at] = atoms_sorted[at - 1];
        atoms_sorted[at] = m->atoms[k];
    }
    for (uint32_t k = 0; k < m->n; k++) {
        if (!outer_too && is_outer(atoms_sorted[k])) continue;
        if (shown++) put(p, "*");
        print_atom(p, atoms_sorted[k]);
    }
}

/* Readers expect blocks before threads before the rest, and iterations last. */
static uint32_t rank_of(const struct mono *m)
{
    const uint32_t block = m->deps & (DEP_BX | DEP_BY | DEP_BZ),
                   thread = m->deps & (DEP_TX | DEP_TY | DEP_TZ);
    if (!m->n) return 1000;
    if (m->loops) return 500 + m->n;
    return block ? block : thread ? 100 + thread : 300;
}

static void sort_terms(const struct expr *e, struct term *terms)
{
    for (uint32_t k = 0; k < e->n; k++) {
        uint32_t at = k;
        for (; at && rank_of(terms[at - 1].mono) > rank_of(e->terms[k].mono); at--) terms[at] = terms[at - 1];
        terms[at] = e->terms[k];
    }
}

static void print_group(struct printing *p, const struct term *terms, uint32_t n, uint32_t k, bool *done)
{
    bool inner = true;
    put(p, "(");
    for (uint32_t j = k; j < n; j++) {
        if (!same_outer(terms[k].mono, terms[j].mono)) continue;
        done[j] = true;
        print_product(p, terms[j].coef, terms[j].mono, false, inner);
        inner = false;
    }
    put(p, ")");
    for (uint32_t j = 0; j < terms[k].mono->n; j++) {
        if (!is_outer(terms[k].mono->atoms[j])) continue;
        put(p, "*");
        print_atom(p, terms[k].mono->atoms[j]);
    }
}

static void print_expr(struct printing *p, const struct expr *e)
{
    bool done[EXPR_TERMS_MAX] = {0}, first = true;
    struct term terms[EXPR_TERMS_MAX];
    if (!e->n) put(p, "0");
    sort_terms(e, terms);
    /* groups with a common factor first, then the rest */
    for (uint32_t k = 0; k < e->n; k++) {
        uint32_t alike = 0;
        if (done[k] || !outer_count(terms[k].mono)) continue;
        for (uint32_t j = k; j < e->n; j++) alike += same_outer(terms[k].mono, terms[j].mono);
        if (alike < 2) continue;
        put(p, "%s", first ? "" : " + ");
        print_group(p, terms, e->n, k, done);
        first = false;
    }
    for (uint32_t k = 0; k < e->n; k++) {
        if (done[k]) continue;
        print_product(p, terms[k].coef, terms[k].mono, true, first);
        first = false;
    }
}

char *expr_print(const struct expr *e, expr_name_fn *name, void *arg, char *buf, size_t buf_bytes)
{
    struct printing p = {.buf = buf, .bytes = buf_bytes, .name = name, .arg = arg};
    buf[0] = '\0';
    print_expr(&p, e);
    return buf;
}
