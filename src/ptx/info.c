/* info: names of the enumerated sets, small questions about instructions, and instructions as text. */
#include <stdio.h>
#include <string.h>

#include "ptx/ir.h"

static const struct {
    const char *name;
    uint8_t class;
} ops[PTX_OP_COUNT] = {
    [PTX_OP_UNKNOWN] = {"unknown", PTX_CLASS_UNKNOWN},
#define OP(name, words, destinations, class) [PTX_OP_##name] = {words, PTX_CLASS_##class},
#include "ptx/opcodes.def"
};

static const struct {
    const char *name;
    uint8_t bits;
    char kind;
} types[PTX_T_COUNT] = {
    [PTX_T_NONE] = {"none", 0, 0},
#define TYPE(name, word, bits, kind) [PTX_T_##name] = {word, bits, #kind[0]},
#include "ptx/types.def"
};

static const struct {
    const char *name;
    uint8_t type;
    char varies;
} sregs[PTX_SREG_COUNT] = {
#define SREG(name, word, type, varies) [PTX_SREG_##name] = {word, PTX_T_##type, #varies[0]},
#include "ptx/sregs.def"
};

static const struct {
    uint16_t m, n, k;
} shapes[PTX_SHAPE_COUNT] = {
#define SHAPE(name, m, n, k) [PTX_SHAPE_##name] = {m, n, k},
#include "ptx/shapes.def"
};

const char *ptx_op_name(enum ptx_op op) { return ops[op].name; }
enum ptx_class ptx_op_class(enum ptx_op op) { return (enum ptx_class)ops[op].class; }
const char *ptx_type_name(enum ptx_type type) { return types[type].name; }
uint32_t ptx_type_bits(enum ptx_type type) { return types[type].bits; }
char ptx_type_kind(enum ptx_type type) { return types[type].kind; }
const char *ptx_sreg_name(enum ptx_sreg sreg) { return sregs[sreg].name; }
enum ptx_type ptx_sreg_type(enum ptx_sreg sreg) { return (enum ptx_type)sregs[sreg].type; }
char ptx_sreg_varies(enum ptx_sreg sreg) { return sregs[sreg].varies; }

uint32_t ptx_func_threads(const struct ptx_func *f)
{
    const uint32_t *most = f->reqntid[0] ? f->reqntid : f->maxntid;
    uint64_t n = most[0];
    for (uint32_t k = 1; k < 3 && n < PTX_THREADS_MOST; k++) n *= most[k] ? most[k] : 1;
    return n < PTX_THREADS_MOST ? (uint32_t)n : PTX_THREADS_MOST;
}

bool ptx_func_has_cluster(const struct ptx_func *f)
{
    return f->reqnctapercluster[0] > 1 || f->reqnctapercluster[1] > 1 || f->reqnctapercluster[2] > 1;
}

const char *ptx_space_name(enum ptx_space space)
{
    switch (space) {
    case PTX_SPACE_GENERIC: return "generic";
    case PTX_SPACE_REG: return "reg";
    case PTX_SPACE_CONST: return "const";
    case PTX_SPACE_GLOBAL: return "global";
    case PTX_SPACE_LOCAL: return "local";
    case PTX_SPACE_PARAM: return "param";
    case PTX_SPACE_SHARED: return "shared";
    case PTX_SPACE_SHARED_CLUSTER: return "shared::cluster";
    case PTX_SPACE_TEX: return "tex";
    }
    return "?";
}

void ptx_shape_mnk(enum ptx_shape shape, uint32_t *m, uint32_t *n, uint32_t *k)
{
    *m = shapes[shape].m;
    *n = shapes[shape].n;
    *k = shapes[shape].k;
}

bool ptx_is_branch(const struct ptx_instr *i) { return i->op == PTX_OP_BRA || i->op == PTX_OP_BRX_IDX; }

bool ptx_is_terminator(const struct ptx_instr *i)
{
    return ptx_is_branch(i) || i->op == PTX_OP_RET || i->op == PTX_OP_EXIT || i->op == PTX_OP_TRAP;
}

/* ---- registers of an instruction ---- */

void ptx_walk_start(struct ptx_reg_walk *w, const struct ptx_func *f, const struct ptx_instr *i)
{
    *w = (struct ptx_reg_walk){.func = f, .instr = i};
}

/* Registers below one operand; w->element counts inside compound ones. Lists hold vectors (textures), but
 * never deeper: the flat index runs over both. */
static uint32_t next_in_compound(struct ptx_reg_walk *w, const struct ptx_operand *o)
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < o->count; k++) {
        const struct ptx_operand *e = &w->func->operands[o->id + k];
        const bool compound = e->kind == PTX_OPND_VEC || e->kind == PTX_OPND_LIST;
        const uint32_t n = compound ? e->count : 1;
        for (uint32_t j = 0; j < n; j++, at++) {
            if (at < w->element) continue;
            const struct ptx_operand *x = compound ? &w->func->operands[e->id + j] : e;
            w->element = at + 1;
            if (x->kind == PTX_OPND_REG || x->kind == PTX_OPND_ADDR_REG) return x->id;
        }
    }
    return PTX_NO_REG;
}

static uint32_t next_in_operand(struct ptx_reg_walk *w, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_LIST) return next_in_compound(w, o);
    if (w->element++) return PTX_NO_REG;
    return o->kind == PTX_OPND_REG || o->kind == PTX_OPND_ADDR_REG ? o->id : PTX_NO_REG;
}

static bool is_read(const struct ptx_instr *i, uint32_t n)
{
    if (i->op == PTX_OP_CALL) return n != 1;
    return n >= i->n_dsts || i->op == PTX_OP_WGMMA_MMA_ASYNC; /* accumulates in place */
}

static bool is_written(const struct ptx_instr *i, uint32_t n)
{
    return i->op == PTX_OP_CALL ? n == 1 : n < i->n_dsts;
}

static uint32_t next_of(struct ptx_reg_walk *w, bool (*wanted)(const struct ptx_instr *, uint32_t))
{
    const struct ptx_instr *i = w->instr;
    for (; w->operand < i->n_operands; w->operand++, w->element = 0) {
        if (!wanted(i, w->operand)) continue;
        const uint32_t reg = next_in_operand(w, ptx_operand_at(w->func, i, w->operand));
        if (reg != PTX_NO_REG) return reg;
    }
    return PTX_NO_REG;
}

uint32_t ptx_next_read(struct ptx_reg_walk *w)
{
    if (!w->guard_done) {
        w->guard_done = true;
        if (w->instr->guard != PTX_NO_REG) return w->instr->guard;
    }
    return next_of(w, is_read);
}

uint32_t ptx_next_written(struct ptx_reg_walk *w) { return next_of(w, is_written); }

/* ---- messages ---- */

struct diag_place ptx_place(const struct ptx_func *f, const struct ptx_instr *i)
{
    return (struct diag_place){.source = f->module->source,
                               .line = i->line,
                               .col = i->col,
                               .width = (uint32_t)strlen(ptx_spelling(f, i))};
}

const char *ptx_loc_file(const struct ptx_module *m, const struct ptx_instr *i, uint32_t *line)
{
    if (i->loc == PTX_NO_INDEX) return NULL;
    const struct ptx_loc *l = &m->locs[i->loc];
    if (line) *line = l->line;
    return l->file < m->n_files ? m->files[l->file] : NULL;
}

struct text {
    char *at, *end;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->at, (size_t)(t->end - t->at), format, args);
    va_end(args);
    if (n > 0) t->at += n < t->end - t->at ? n : t->end - t->at - 1;
}

static void put_offset(struct text *t, int64_t value)
{
    if (value) put(t, "%+lld", (long long)value);
}

static void put_operand(struct text *t, const struct ptx_func *f, const struct ptx_operand *o, int depth);

static void put_elements(struct text *t, const struct ptx_func *f, const struct ptx_operand *o, int depth)
{
    for (uint32_t k = 0; k < o->count && depth < 4; k++) {
        if (k) put(t, ", ");
        put_operand(t, f, &f->operands[o->id + k], depth + 1);
    }
}

static const char *selector_text(const struct ptx_operand *o)
{
    static const char *const names[] = {"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1", ".?"};
    return names[o->sel];
}

static void put_operand(struct text *t, const struct ptx_func *f, const struct ptx_operand *o, int depth)
{
    const char *prefix = o->flags & PTX_OPF_NOT      ? "!"
                         : o->flags & PTX_OPF_NEG    ? "-"
                         : o->flags & PTX_OPF_INVERT ? "~"
                                                     : "";
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPND_NONE: break;
    case PTX_OPND_REG: put(t, "%s%s%s", prefix, f->regs[o->id].name, selector_text(o)); break;
    case PTX_OPND_IMM:
        if (o->flags & PTX_OPF_FLOAT)
            put(t, "0x%llx", (unsigned long long)o->value);
        else
            put(t, "%lld", (long long)o->value);
        break;
    case PTX_OPND_SREG:
        put(t, "%s", ptx_sreg_name((enum ptx_sreg)o->id));
        if (o->id == PTX_SREG_ENVREG || o->id == PTX_SREG_PM) put(t, "%lld", (long long)o->value);
        break;
    case PTX_OPND_SYM:
        put(t, "%s", f->module->symbols[o->id].name);
        put_offset(t, o->value);
        break;
    case PTX_OPND_ADDR_REG:
        put(t, "[%s", f->regs[o->id].name);
        put_offset(t, o->value);
        put(t, "]");
        break;
    case PTX_OPND_ADDR_SYM:
        put(t, "[%s", f->module->symbols[o->id].name);
        put_offset(t, o->value);
        put(t, "]");
        break;
    case PTX_OPND_ADDR_IMM: put(t, "[%lld]", (long long)o->value); break;
    case PTX_OPND_LABEL: put(t, "@%u", o->id); break;
    case PTX_OPND_VEC:
        put(t, "{");
        put_elements(t, f, o, depth);
        put(t, "}");
        break;
    case PTX_OPND_LIST:
        put(t, "(");
        put_elements(t, f, o, depth);
        put(t, ")");
        break;
    case PTX_OPND_TABLE: put(t, "%s", f->tables[o->id].name); break;
    case PTX_OPND_SINK: put(t, "_"); break;
    }
}

static bool shown(const struct ptx_instr *i, const struct ptx_operand *o)
{
    return o->kind != PTX_OPND_NONE && !(i->op == PTX_OP_CALL && o->kind == PTX_OPND_LIST && !o->count);
}

char *ptx_print_instr(const struct ptx_func *f, const struct ptx_instr *i, char *buf, size_t buf_bytes)
{
    struct text t = {.at = buf, .end = buf + buf_bytes};
    if (!buf_bytes) return buf;
    buf[0] = '\0';
    if (i->guard != PTX_NO_REG) put(&t, "@%s%s ", i->guard_not ? "!" : "", f->regs[i->guard].name);
    put(&t, "%s", ptx_spelling(f, i));
    bool first = true;
    for (uint32_t n = 0; n < i->n_operands; n++) {
        /* call (results), target, (arguments): the target is operand 0 */
        const uint32_t k = i->op == PTX_OP_CALL && n < 2 && i->n_operands > 1 ? 1 - n : n;
        const struct ptx_operand *o = ptx_operand_at(f, i, k);
        if (!shown(i, o)) continue;
        put(&t, "%s", first ? " " : n == 1 && i->n_dsts == 2 ? "|" : ", ");
        put_operand(&t, f, o, 0);
        first = false;
    }
    return buf;
}
