/* parse_body: the statements of a function body, and the finished function. */
#include <string.h>

#include "ptx/parse.h"

static void *kept(struct ptx_parser *p, const struct ptx_vec *v)
{
    if (!v->count) return NULL;
    void *copy = arena_array(p->arena, v->count, v->item_bytes);
    return memcpy(copy, v->items, v->count * v->item_bytes);
}

/* ---- labels and the tables behind them ---- */

static void add_label(struct ptx_parser *p, const struct ptx_token *name)
{
    const uint32_t atom = ptx_intern(p, name->text, name->len);
    const uint32_t index = (uint32_t)p->labels.count;
    struct ptx_label *l = ptx_vec_push(&p->labels);
    *l = (struct ptx_label){
        .name = ptx_atom_at(p, atom)->name, .target = (uint32_t)p->instrs.count, .line = name->line};
    ptx_bind(p, name, atom, PTX_BIND_LABEL, index);
}

static uint32_t function_item(struct ptx_parser *p)
{
    const struct ptx_token t = p->tok;
    ptx_next(p);
    const uint32_t symbol = ptx_atom_at(p, ptx_intern(p, t.text, t.len))->global;
    if (symbol == PTX_NO_INDEX || PTX_AT(p->symbols, struct ptx_symbol, symbol).kind != PTX_SYM_FUNC)
        ptx_note(p, &t, "'%s' is not a declared function", ptx_tok_text(p, &t));
    return symbol;
}

/* .branchtargets L1, L2;  .calltargets f, g; */
static void parse_targets(struct ptx_parser *p, uint32_t table, bool branches)
{
    uint32_t count = 0;
    const uint32_t first = (uint32_t)p->items.count;
    do {
        if (p->tok.kind != PTX_TOK_IDENT)
            ptx_fail(p, &p->tok, "a name was expected, not '%s'", ptx_tok_text(p, &p->tok));
        const uint32_t item = (uint32_t)p->items.count;
        if (branches) {
            struct ptx_ref *r = ptx_vec_push(&p->refs);
            *r = (struct ptx_ref){.token = p->tok, .item = item, .kind = PTX_BIND_LABEL};
            r->atom = ptx_intern(p, p->tok.text, p->tok.len);
            ptx_next(p);
            ptx_vec_push(&p->items);
        } else {
            const uint32_t symbol = function_item(p);
            *(uint32_t *)ptx_vec_push(&p->items) = symbol;
        }
        count++;
    } while (ptx_accept(p, ','));
    struct ptx_table *t = &PTX_AT(p->tables, struct ptx_table, table);
    t->n_items = count;
    t->first_item = first;
}

/* name: .branchtargets ... | .calltargets ... | .callprototype ... */
static void parse_table(struct ptx_parser *p, const struct ptx_token *name)
{
    const struct ptx_token directive = p->tok;
    const uint32_t atom = ptx_intern(p, name->text, name->len);
    const uint32_t index = (uint32_t)p->tables.count;
    struct ptx_table *t = ptx_vec_push(&p->tables);
    t->name = ptx_atom_at(p, atom)->name;
    ptx_bind(p, name, atom, PTX_BIND_TABLE, index);
    ptx_next(p);
    if (ptx_tok_is(&directive, "branchtargets")) {
        t->kind = PTX_TABLE_BRANCH_TARGETS;
        parse_targets(p, index, true);
    } else if (ptx_tok_is(&directive, "calltargets")) {
        t->kind = PTX_TABLE_CALL_TARGETS;
        parse_targets(p, index, false);
    } else {
        t->kind = PTX_TABLE_CALL_PROTOTYPE;
        p->proto.count = 0;
        if (p->tok.kind == '(') ptx_parse_prototype_params(p, t, true);
        if (!ptx_accept(p, PTX_TOK_IDENT)) ptx_fail(p, &p->tok, "'_' was expected in the prototype");
        if (p->tok.kind == '(') ptx_parse_prototype_params(p, t, false);
        while (p->tok.kind == PTX_TOK_DOT || p->tok.kind == PTX_TOK_NUMBER)
            ptx_next(p); /* .noreturn .abi_preserve n */
        t->params = kept(p, &p->proto);
    }
    ptx_expect(p, ';', "after the list");
}

static bool opens_table(const struct ptx_parser *p)
{
    return p->tok.kind == PTX_TOK_DOT &&
           (ptx_tok_is(&p->tok, "branchtargets") || ptx_tok_is(&p->tok, "calltargets") ||
            ptx_tok_is(&p->tok, "callprototype"));
}

/* ---- instructions ---- */

static uint16_t column(const struct ptx_token *t)
{
    const size_t col = (size_t)(t->text - t->line_start) + 1;
    return col < UINT16_MAX ? (uint16_t)col : UINT16_MAX;
}

static void parse_instruction(struct ptx_parser *p, const struct ptx_token *mnemonic, uint32_t guard,
                              bool guard_not)
{
    const struct ptx_template *t = ptx_decode(p, mnemonic);
    struct ptx_instr i = t->instr;
    i.guard = guard;
    i.guard_not = guard_not;
    i.line = mnemonic->line;
    i.col = column(mnemonic);
    i.loc = p->loc;
    ptx_parse_operands(p, mnemonic, t, &i);
    if (p->tok.kind != ';') ptx_missing_semicolon(p);
    ptx_next(p);
    *(struct ptx_instr *)ptx_vec_push(&p->instrs) = i;
}

static void parse_guarded(struct ptx_parser *p)
{
    ptx_next(p); /* @ */
    const bool negated = ptx_accept(p, '!');
    const struct ptx_token at = p->tok;
    const uint32_t guard = ptx_parse_register(p, "a predicate register");
    if (guard != PTX_NO_REG && PTX_AT(p->regs, struct ptx_reg, guard).reg_class != PTX_REG_PRED)
        ptx_note(p, &at, "'%s' is not a predicate: declare it with '.reg .pred'", ptx_tok_text(p, &at));
    const struct ptx_token mnemonic = p->tok;
    if (mnemonic.kind != PTX_TOK_IDENT)
        ptx_fail(p, &mnemonic, "an instruction was expected after the guard, not '%s'",
                 ptx_tok_text(p, &mnemonic));
    ptx_next(p);
    parse_instruction(p, &mnemonic, guard, negated);
}

static void parse_named(struct ptx_parser *p)
{
    const struct ptx_token name = p->tok;
    ptx_next(p);
    if (!ptx_accept(p, ':')) {
        parse_instruction(p, &name, PTX_NO_REG, false);
    } else if (opens_table(p)) {
        parse_table(p, &name);
    } else {
        add_label(p, &name);
    }
}

/* ---- directives inside a body ---- */

static enum ptx_linkage linkage_here(struct ptx_parser *p)
{
    if (ptx_tok_is(&p->tok, "extern")) return PTX_LINK_EXTERN;
    if (ptx_tok_is(&p->tok, "visible")) return PTX_LINK_VISIBLE;
    if (ptx_tok_is(&p->tok, "weak")) return PTX_LINK_WEAK;
    return PTX_LINK_LOCAL;
}

static void parse_directive(struct ptx_parser *p)
{
    static const char *const known[] = {"reg", "param",  "local", "shared",  "global", "const",
                                        "loc", "pragma", "file",  "section", "extern", "tex"};
    const enum ptx_linkage linkage = linkage_here(p);
    if (linkage != PTX_LINK_LOCAL) ptx_next(p);
    const struct ptx_token at = p->tok;
    const enum ptx_space space = at.kind == PTX_TOK_DOT ? ptx_space_of(&at) : PTX_SPACE_GENERIC;
    if (space == PTX_SPACE_REG) {
        ptx_parse_registers(p);
    } else if (space != PTX_SPACE_GENERIC) {
        ptx_next(p);
        ptx_parse_variables(p, space, linkage);
    } else if (ptx_tok_is(&at, "loc")) {
        ptx_parse_loc(p);
    } else if (ptx_tok_is(&at, "pragma")) {
        ptx_parse_pragma(p);
    } else if (ptx_tok_is(&at, "file")) {
        ptx_parse_file_directive(p);
    } else if (ptx_tok_is(&at, "section")) {
        ptx_skip_section(p);
    } else {
        const char *near = diag_nearest(ptx_tok_text(p, &at), known, sizeof known / sizeof *known);
        ptx_fail(p, &at, "'.%s' cannot stand in a function body%s%s%s", ptx_tok_text(p, &at),
                 near ? ": did you mean '." : "", near ? near : "", near ? "'?" : "");
    }
}

/* ---- the finished function ---- */

static bool falls_off_the_end(const struct ptx_parser *p)
{
    if (!p->instrs.count) return true;
    const struct ptx_instr *last = &PTX_AT(p->instrs, struct ptx_instr, p->instrs.count - 1);
    if (last->guard != PTX_NO_REG || !ptx_is_terminator(last)) return true;
    return p->max_target >= p->instrs.count && p->max_target != PTX_NO_INDEX;
}

static void add_implicit_ret(struct ptx_parser *p, const struct ptx_token *brace)
{
    struct ptx_token ret = *brace;
    const uint16_t col = column(brace);
    ret.text = "ret";
    ret.len = 3;
    struct ptx_instr i = ptx_decode(p, &ret)->instr;
    i.flags |= PTX_F_IMPLICIT;
    i.line = brace->line;
    i.col = col;
    i.loc = p->loc;
    *(struct ptx_instr *)ptx_vec_push(&p->instrs) = i;
}

static void finish_function(struct ptx_parser *p, const struct ptx_token *brace)
{
    if (falls_off_the_end(p)) add_implicit_ret(p, brace);
    struct ptx_func *f = p->func;
    f->end_line = brace->line;
    for (size_t i = 0; i < p->tables.count; i++) {
        struct ptx_table *t = &PTX_AT(p->tables, struct ptx_table, i);
        if (!t->n_items) continue;
        t->items = ARENA_ARRAY(p->arena, uint32_t, t->n_items);
        memcpy(t->items, &PTX_AT(p->items, uint32_t, t->first_item), t->n_items * sizeof *t->items);
    }
    f->instrs = kept(p, &p->instrs);
    f->operands = kept(p, &p->operands);
    f->regs = kept(p, &p->regs);
    f->labels = kept(p, &p->labels);
    f->tables = kept(p, &p->tables);
    f->n_instrs = (uint32_t)p->instrs.count;
    f->n_operands = (uint32_t)p->operands.count;
    f->n_regs = (uint32_t)p->regs.count;
    f->n_labels = (uint32_t)p->labels.count;
    f->n_tables = (uint32_t)p->tables.count;
    p->module->n_instrs += f->n_instrs;
}

void ptx_parse_body(struct ptx_parser *p)
{
    const struct ptx_token opening = p->tok;
    ptx_expect(p, '{', "before the body of the function");
    p->loc = PTX_NO_INDEX;
    p->max_target = PTX_NO_INDEX;
    for (;;) {
        switch (p->tok.kind) {
        case PTX_TOK_IDENT: parse_named(p); break;
        case '@': parse_guarded(p); break;
        case PTX_TOK_DOT: parse_directive(p); break;
        case ';': ptx_next(p); break;
        case '{':
            ptx_scope_open(p, &p->tok);
            ptx_next(p);
            break;
        case '}': {
            const struct ptx_token brace = p->tok;
            const bool last = p->depth == 0;
            ptx_scope_close(p);
            ptx_next(p);
            if (!last) break;
            finish_function(p, &brace);
            return;
        }
        case PTX_TOK_EOF:
            ptx_fail(p, &p->tok, "the file ends inside function '%s', whose body opens on line %u",
                     p->func->name, opening.line);
        default: ptx_fail(p, &p->tok, "an instruction was expected, not '%s'", ptx_tok_text(p, &p->tok));
        }
    }
}
