/* parse_operand: operands of an instruction, resolved to registers, immediates, symbols, labels.
 *
 * Top-level operands are gathered beside the pool and appended together, so that they stand side by side;
 * elements of vectors and lists go to the pool as they come. */
#include <stdio.h>
#include <string.h>

#include "ptx/parse.h"

static struct ptx_operand parse_operand(struct ptx_parser *p, uint8_t literal_type, int depth);

/* ---- names that are not declared ---- */

static void note_undeclared(struct ptx_parser *p, const struct ptx_token *t)
{
    const bool reg = t->len && t->text[0] == '%';
    uint32_t digits = 0;
    while (digits < t->len && t->text[t->len - digits - 1] >= '0' && t->text[t->len - digits - 1] <= '9')
        digits++;
    uint32_t count;
    if (digits && ptx_range_count(p, t->text, t->len - digits, &count)) {
        ptx_note(p, t, "register '%s' is not declared: '.reg %.*s<%u>' declares %.*s0 to %.*s%u",
                 ptx_tok_text(p, t), (int)(t->len - digits), t->text, count, (int)(t->len - digits), t->text,
                 (int)(t->len - digits), t->text, count - 1);
        return;
    }
    const char *near = ptx_suggest(p, t, true, !reg, false);
    ptx_note(p, t, "%s'%s' is not declared%s%s%s", reg ? "register " : "", ptx_tok_text(p, t),
             near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* %envreg7, %pm3, %pm3_64 */
static bool numbered_sreg(const struct ptx_token *t, struct ptx_operand *o)
{
    char name[16], tail = 0;
    unsigned n = 0, limit;
    if (t->len >= sizeof name) return false;
    memcpy(name, t->text, t->len);
    name[t->len] = '\0';
    if (sscanf(name, "%%envreg%2u%c", &n, &tail) == 1) {
        o->id = PTX_SREG_ENVREG;
        limit = 32;
    } else if (strlen(name) > 4 && strcmp(name + 4, "_64") == 0 &&
               sscanf(name, "%%pm%1u_64%c", &n, &tail) == 1) {
        o->id = PTX_SREG_PM64;
        limit = 8;
    } else if (sscanf(name, "%%pm%1u%c", &n, &tail) == 1) {
        o->id = PTX_SREG_PM;
        limit = 8;
    } else {
        return false;
    }
    o->kind = PTX_OPND_SREG;
    o->value = n;
    return n < limit;
}

/* ---- simple operands ---- */

static struct ptx_operand literal(struct ptx_const c, uint8_t type)
{
    struct ptx_operand o = {.kind = PTX_OPND_IMM, .value = (int64_t)c.bits};
    if (c.is_unsigned) o.flags |= PTX_OPF_UNSIGNED;
    if (!c.is_float) return o;
    o.flags |= PTX_OPF_FLOAT;
    if (type == PTX_T_F32 && c.is_float == 64) {
        double wide;
        memcpy(&wide, &c.bits, sizeof wide);
        const float narrow = (float)wide;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        o.value = bits;
    } else if (type == PTX_T_F64 && c.is_float == 32) {
        const uint32_t low = (uint32_t)c.bits;
        float narrow;
        memcpy(&narrow, &low, sizeof narrow);
        const double wide = (double)narrow;
        memcpy(&o.value, &wide, sizeof wide);
    }
    return o;
}

static uint8_t selector_of(const char *text, uint32_t len)
{
    if (len == 2 && text[0] == 'b' && text[1] >= '0' && text[1] <= '3')
        return (uint8_t)(PTX_SEL_B0 + (text[1] - '0'));
    if (len == 2 && text[0] == 'h' && text[1] >= '0' && text[1] <= '1')
        return (uint8_t)(PTX_SEL_H0 + (text[1] - '0'));
    return len > 1 && len < 8 && (text[0] == 'b' || text[0] == 'h') ? PTX_SEL_OTHER : PTX_SEL_NONE;
}

static int component_of(const char *text, uint32_t len)
{
    static const char xyzw[] = "xyzw", rgba[] = "rgba";
    if (len != 1) return -1;
    const char *at = strchr(xyzw, text[0]);
    if (at && *at) return (int)(at - xyzw);
    at = strchr(rgba, text[0]);
    return at && *at ? (int)(at - rgba) : -1;
}

/* All components of a vector register. */
static struct ptx_operand whole_vector(struct ptx_parser *p, const struct ptx_binding *b)
{
    struct ptx_operand o = {.kind = PTX_OPND_VEC, .count = b->width, .id = (uint32_t)p->operands.count};
    const uint32_t first = b->id, width = b->width;
    struct ptx_operand *element = ptx_vec_push_many(&p->operands, width);
    for (uint32_t k = 0; k < width; k++)
        element[k] = (struct ptx_operand){.kind = PTX_OPND_REG, .id = first + k};
    return o;
}

/* `%v.x`, `%r1.b0`, `%tid.x` */
static struct ptx_operand dotted_name(struct ptx_parser *p, const struct ptx_token *t, const char *dot)
{
    const uint64_t *slot = strmap_find(&p->atom_of, t->text, t->len);
    if (slot && ptx_atom_at(p, (uint32_t)*slot)->sreg)
        return (struct ptx_operand){.kind = PTX_OPND_SREG,
                                    .id = (uint32_t)(ptx_atom_at(p, (uint32_t)*slot)->sreg - 1)};
    const uint32_t base_len = (uint32_t)(dot - t->text), tail_len = t->len - base_len - 1;
    uint32_t atom;
    const struct ptx_binding *b = ptx_find_name(p, t->text, base_len, &atom);
    if (b && b->kind == PTX_BIND_VECTOR_REG) {
        const int component = component_of(dot + 1, tail_len);
        if (component >= 0 && component < b->width)
            return (struct ptx_operand){.kind = PTX_OPND_REG, .id = b->id + (uint32_t)component};
    }
    if (b && b->kind == PTX_BIND_REG) {
        const uint8_t sel = selector_of(dot + 1, tail_len);
        if (sel) {
            struct ptx_operand o = {.kind = PTX_OPND_REG, .id = b->id, .sel = sel};
            if (sel == PTX_SEL_OTHER) memcpy(&o.value, dot + 1, tail_len);
            return o;
        }
    }
    if (b)
        ptx_note(p, t, "'%.*s' has no component '%.*s'", (int)base_len, t->text, (int)tail_len, dot + 1);
    else
        note_undeclared(p, t);
    return (struct ptx_operand){.kind = PTX_OPND_SINK};
}

/* sym, sym+4, sym-4 */
static struct ptx_operand symbol_operand(struct ptx_parser *p, uint32_t symbol)
{
    struct ptx_operand o = {.kind = PTX_OPND_SYM, .id = symbol};
    if (p->tok.kind == '+')
        ptx_next(p);
    else if (p->tok.kind != '-')
        return o;
    o.value = (int64_t)ptx_parse_const(p).bits;
    return o;
}

static struct ptx_operand name_operand(struct ptx_parser *p)
{
    const struct ptx_token t = p->tok;
    ptx_next(p);
    if (t.len == 1 && t.text[0] == '_') return (struct ptx_operand){.kind = PTX_OPND_SINK};
    const char *dot = memchr(t.text, '.', t.len);
    if (dot) return dotted_name(p, &t, dot);
    uint32_t atom;
    const struct ptx_binding *b = ptx_find_name(p, t.text, t.len, &atom);
    if (b) {
        switch ((enum ptx_binding_kind)b->kind) {
        case PTX_BIND_REG: return (struct ptx_operand){.kind = PTX_OPND_REG, .id = b->id};
        case PTX_BIND_VECTOR_REG: return whole_vector(p, b);
        case PTX_BIND_SYMBOL: return symbol_operand(p, b->id);
        case PTX_BIND_TABLE: return (struct ptx_operand){.kind = PTX_OPND_TABLE, .id = b->id};
        case PTX_BIND_LABEL: break;
        }
        ptx_note(p, &t, "label '%s' cannot stand here: only branches take labels", ptx_tok_text(p, &t));
        return (struct ptx_operand){.kind = PTX_OPND_SINK};
    }
    const struct ptx_atom *a = ptx_atom_at(p, atom);
    if (a->sreg) return (struct ptx_operand){.kind = PTX_OPND_SREG, .id = (uint32_t)(a->sreg - 1)};
    if (a->global != PTX_NO_INDEX) return symbol_operand(p, a->global);
    struct ptx_operand o = {0};
    if (numbered_sreg(&t, &o)) return o;
    note_undeclared(p, &t);
    return (struct ptx_operand){.kind = PTX_OPND_SINK};
}

uint32_t ptx_parse_register(struct ptx_parser *p, const char *what)
{
    const struct ptx_token at = p->tok;
    if (at.kind != PTX_TOK_IDENT) ptx_fail(p, &at, "%s was expected, not '%s'", what, ptx_tok_text(p, &at));
    const struct ptx_operand o = name_operand(p);
    if (o.kind == PTX_OPND_REG && !o.sel) return o.id;
    if (!p->errors) ptx_note(p, &at, "'%s' is not %s", ptx_tok_text(p, &at), what);
    return PTX_NO_REG;
}

/* ---- compound operands ---- */

static struct ptx_operand store_elements(struct ptx_parser *p, uint8_t kind,
                                         const struct ptx_operand *elements, uint32_t count)
{
    struct ptx_operand o = {.kind = kind, .count = (uint8_t)count, .id = (uint32_t)p->operands.count};
    if (count) memcpy(ptx_vec_push_many(&p->operands, count), elements, count * sizeof *elements);
    return o;
}

/* Elements up to `close`, which is taken. */
static struct ptx_operand element_list(struct ptx_parser *p, uint8_t kind, uint8_t close, uint8_t type,
                                       int depth)
{
    struct ptx_operand elements[PTX_OPERANDS_MAX];
    uint32_t count = 0;
    if (ptx_accept(p, close)) return store_elements(p, kind, elements, count);
    while (count < PTX_OPERANDS_MAX) {
        elements[count++] = parse_operand(p, type, depth + 1);
        if (!ptx_accept(p, ',')) break;
        if (count == PTX_OPERANDS_MAX) ptx_fail(p, &p->tok, "more than %d elements", (int)PTX_OPERANDS_MAX);
    }
    ptx_expect(p, close, "at the end of the list");
    return store_elements(p, kind, elements, count);
}

static struct ptx_operand address_base(struct ptx_parser *p)
{
    const struct ptx_token at = p->tok;
    if (at.kind != PTX_TOK_IDENT || ptx_tok_is(&at, "WARP_SZ"))
        return (struct ptx_operand){.kind = PTX_OPND_ADDR_IMM, .value = (int64_t)ptx_parse_const(p).bits};
    struct ptx_operand o = name_operand(p);
    switch (o.kind) {
    case PTX_OPND_REG: o.kind = PTX_OPND_ADDR_REG; break;
    case PTX_OPND_SYM: o.kind = PTX_OPND_ADDR_SYM; break;
    case PTX_OPND_SINK: o.kind = PTX_OPND_ADDR_IMM; break; /* already noted */
    default: ptx_fail(p, &at, "'%s' cannot be the base of an address", ptx_tok_text(p, &at));
    }
    if (p->tok.kind == '+')
        ptx_next(p);
    else if (p->tok.kind != '-')
        return o;
    if (p->tok.kind == PTX_TOK_IDENT && !ptx_tok_is(&p->tok, "WARP_SZ"))
        ptx_fail(p, &p->tok, "an address is [register + constant]: '%s' is not a constant",
                 ptx_tok_text(p, &p->tok));
    o.value += (int64_t)ptx_parse_const(p).bits;
    return o;
}

/* [base + offset], or [texture, sampler, {coordinates}] */
static struct ptx_operand address(struct ptx_parser *p, uint8_t literal_type, int depth)
{
    enum { ADDRESS_PARTS_MAX = 8 };
    struct ptx_operand elements[ADDRESS_PARTS_MAX];
    uint32_t count = 0;
    elements[count++] = address_base(p);
    while (count < ADDRESS_PARTS_MAX && ptx_accept(p, ','))
        elements[count++] = parse_operand(p, literal_type, depth + 1);
    ptx_expect(p, ']', "at the end of the address");
    return count == 1 ? elements[0] : store_elements(p, PTX_OPND_LIST, elements, count);
}

static struct ptx_operand signed_name(struct ptx_parser *p, uint8_t flag)
{
    const struct ptx_token at = p->tok;
    ptx_next(p);
    struct ptx_operand o = name_operand(p);
    if (o.kind == PTX_OPND_REG)
        o.flags |= flag;
    else if (o.kind != PTX_OPND_SINK)
        ptx_note(p, &at, "'%c' stands before registers only", at.text[0]);
    return o;
}

static bool name_follows(const struct ptx_parser *p)
{
    const char *at = p->lex.at;
    while (at < p->lex.end && (*at == ' ' || *at == '\t')) at++;
    return at < p->lex.end && (*at == '%' || *at == '_' || *at == '$' || (*at >= 'a' && *at <= 'z'));
}

static struct ptx_operand parse_operand(struct ptx_parser *p, uint8_t literal_type, int depth)
{
    if (depth > 4) ptx_fail(p, &p->tok, "operands nest too deep");
    switch (p->tok.kind) {
    case PTX_TOK_IDENT:
        if (p->tok.len == 7 && ptx_tok_is(&p->tok, "WARP_SZ")) break;
        return name_operand(p);
    case '{': ptx_next(p); return element_list(p, PTX_OPND_VEC, '}', literal_type, depth);
    case '[': ptx_next(p); return address(p, literal_type, depth);
    case '!':
        if (name_follows(p)) return signed_name(p, PTX_OPF_NOT);
        break;
    case '-':
        if (name_follows(p)) return signed_name(p, PTX_OPF_NEG);
        break;
    case '~':
        if (name_follows(p)) return signed_name(p, PTX_OPF_INVERT);
        break;
    case PTX_TOK_NUMBER:
    case '(':
    case '+': break;
    default: ptx_fail(p, &p->tok, "an operand was expected, not '%s'", ptx_tok_text(p, &p->tok));
    }
    return literal(ptx_parse_const(p), literal_type);
}

/* ---- control flow ---- */

static struct ptx_operand later(struct ptx_parser *p, uint8_t kind, uint32_t index)
{
    const struct ptx_token t = p->tok;
    if (t.kind != PTX_TOK_IDENT) ptx_fail(p, &t, "a label was expected, not '%s'", ptx_tok_text(p, &t));
    ptx_next(p);
    struct ptx_ref *r = ptx_vec_push(&p->refs);
    *r = (struct ptx_ref){
        .token = t, .atom = ptx_intern(p, t.text, t.len), .index = index, .item = PTX_NO_INDEX, .kind = kind};
    return (struct ptx_operand){.kind = kind == PTX_BIND_LABEL ? PTX_OPND_LABEL : PTX_OPND_TABLE};
}

static struct ptx_operand call_target(struct ptx_parser *p)
{
    const struct ptx_token at = p->tok;
    if (at.kind != PTX_TOK_IDENT) ptx_fail(p, &at, "a function was expected, not '%s'", ptx_tok_text(p, &at));
    const struct ptx_operand o = name_operand(p);
    if (o.kind == PTX_OPND_SYM && PTX_AT(p->symbols, struct ptx_symbol, o.id).kind != PTX_SYM_FUNC)
        ptx_note(p, &at, "'%s' is not a function", ptx_tok_text(p, &at));
    else if (o.kind != PTX_OPND_SYM && o.kind != PTX_OPND_REG && o.kind != PTX_OPND_SINK)
        ptx_note(p, &at, "'%s' cannot be called", ptx_tok_text(p, &at));
    p->func->has_call = true;
    if (o.kind == PTX_OPND_REG) p->func->has_indirect_call = true;
    return o;
}

/* call (rets), target, (arguments), prototype */
static uint32_t call_operands(struct ptx_parser *p, struct ptx_operand *out)
{
    out[1] = out[2] = (struct ptx_operand){.kind = PTX_OPND_LIST};
    out[3] = (struct ptx_operand){.kind = PTX_OPND_NONE};
    if (ptx_accept(p, '(')) {
        out[1] = element_list(p, PTX_OPND_LIST, ')', PTX_T_NONE, 0);
        ptx_expect(p, ',', "before the function");
    }
    out[0] = call_target(p);
    if (!ptx_accept(p, ',')) return 4;
    if (ptx_accept(p, '(')) {
        out[2] = element_list(p, PTX_OPND_LIST, ')', PTX_T_NONE, 0);
        if (!ptx_accept(p, ',')) return 4;
    }
    out[3] = later(p, PTX_BIND_TABLE, 3);
    return 4;
}

static uint32_t plain_operands(struct ptx_parser *p, const struct ptx_template *t, struct ptx_instr *i,
                               struct ptx_operand *out, const char **texts)
{
    uint32_t count = 0;
    if (p->tok.kind == ';') return 0;
    for (;;) {
        if (count == PTX_OPERANDS_MAX) ptx_fail(p, &p->tok, "more than %d operands", (int)PTX_OPERANDS_MAX);
        texts[count] = p->tok.text;
        out[count++] = parse_operand(p, t->source_type, 0);
        if (p->tok.kind == '|' && count == 1) { /* d|p: both are written */
            ptx_next(p);
            if (i->n_dsts == 1) i->n_dsts = 2;
            continue;
        }
        if (!ptx_accept(p, ',')) return count;
    }
}

void ptx_parse_operands(struct ptx_parser *p, const struct ptx_token *mnemonic, const struct ptx_template *t,
                        struct ptx_instr *i)
{
    struct ptx_operand out[PTX_OPERANDS_MAX];
    const char *texts[PTX_OPERANDS_MAX];
    texts[0] = texts[1] = p->tok.text;
    uint32_t count;
    const size_t first_ref = p->refs.count;
    switch (i->op) {
    case PTX_OP_BRA:
        out[0] = later(p, PTX_BIND_LABEL, 0);
        count = 1;
        break;
    case PTX_OP_BRX_IDX:
        out[0] = parse_operand(p, PTX_T_U32, 0);
        ptx_expect(p, ',', "before the list of targets");
        out[1] = later(p, PTX_BIND_TABLE, 1);
        count = 2;
        break;
    case PTX_OP_CALL: count = call_operands(p, out); break;
    default: count = plain_operands(p, t, i, out, texts); break;
    }
    i->n_operands = (uint8_t)count;
    i->first_operand = (uint32_t)p->operands.count;
    if (i->n_dsts > count) i->n_dsts = (uint8_t)count;
    if (i->n_dsts && out[0].kind >= PTX_OPND_ADDR_REG && out[0].kind <= PTX_OPND_ADDR_IMM) i->n_dsts = 0;
    if (i->op == PTX_OP_UNKNOWN && count && (out[0].kind == PTX_OPND_REG || out[0].kind == PTX_OPND_VEC))
        i->n_dsts = 1;
    if (i->op != PTX_OP_CALL && p->tok.kind == ';') ptx_check_operands(p, mnemonic, i, out, texts);
    if (count) memcpy(ptx_vec_push_many(&p->operands, count), out, count * sizeof *out);
    for (size_t r = first_ref; r < p->refs.count; r++)
        PTX_AT(p->refs, struct ptx_ref, r).index += i->first_operand;
}
