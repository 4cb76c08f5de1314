/* parse_decl: registers, variables, parameters and their initialisers. */
#include <string.h>

#include "ptx/parse.h"

enum { DIMENSIONS_MAX = 16, VARIABLE_RANGE_MAX = 65536 };
/* No device memory holds more; keeps every sum of sizes far from overflow. */
static const uint64_t variable_bytes_max = UINT64_C(1) << 40;
/* Bytes that one initialiser may cover: far above real tables, small enough for hostile ones. */
static const uint64_t init_bytes_max = UINT64_C(1) << 27;

/* What stands between the state space and the name. */
struct decl {
    enum ptx_space space;
    enum ptx_linkage linkage;
    uint8_t type, vec;
    bool managed;
    uint32_t align;
};

struct shape {
    uint64_t dims[DIMENSIONS_MAX + 1]; /* outermost first; the width of a vector type is the last */
    uint32_t n_dims;
    bool is_array, unsized;
};

enum ptx_space ptx_space_of(const struct ptx_token *t)
{
    static const struct {
        const char *word;
        enum ptx_space space;
    } words[] = {{"reg", PTX_SPACE_REG},     {"param", PTX_SPACE_PARAM}, {"global", PTX_SPACE_GLOBAL},
                 {"const", PTX_SPACE_CONST}, {"local", PTX_SPACE_LOCAL}, {"shared", PTX_SPACE_SHARED},
                 {"tex", PTX_SPACE_TEX}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ptx_tok_is(t, words[i].word)) return words[i].space;
    return PTX_SPACE_GENERIC;
}

/* ---- the words before the name ---- */

static void parse_attribute(struct ptx_parser *p, struct decl *d)
{
    ptx_next(p);
    ptx_expect(p, '(', "after .attribute");
    for (uint32_t open = 1; open;) {
        if (p->tok.kind == PTX_TOK_EOF) ptx_fail(p, &p->tok, "the file ends inside .attribute(...)");
        if (p->tok.kind == '(') open++;
        if (p->tok.kind == ')') open--;
        if (p->tok.kind == PTX_TOK_DOT && ptx_tok_is(&p->tok, "managed")) d->managed = true;
        ptx_next(p);
    }
}

void ptx_skip_attribute(struct ptx_parser *p)
{
    struct decl ignored = {0};
    parse_attribute(p, &ignored);
}

static uint32_t parse_align(struct ptx_parser *p)
{
    const struct ptx_token at = p->tok;
    ptx_next(p);
    const uint64_t align = ptx_parse_u64(p, "an alignment", 1u << 20);
    if (!align || (align & (align - 1))) ptx_fail(p, &at, "an alignment must be a power of two");
    return (uint32_t)align;
}

/* .ptr .global .align 4 of a kernel parameter: what it points to, not used */
static void parse_ptr(struct ptx_parser *p)
{
    ptx_next(p);
    if (p->tok.kind == PTX_TOK_DOT && ptx_space_of(&p->tok) != PTX_SPACE_GENERIC) ptx_next(p);
    if (p->tok.kind == PTX_TOK_DOT && ptx_tok_is(&p->tok, "align")) (void)parse_align(p);
}

static _Noreturn void bad_type(struct ptx_parser *p)
{
    const char *near = ptx_nearest_type(p->tok.text, p->tok.len);
    ptx_fail(p, &p->tok, "'.%s' is not a type%s%s%s", ptx_tok_text(p, &p->tok),
             near ? ": did you mean '." : "", near ? near : "", near ? "'?" : "");
}

static void parse_decl_words(struct ptx_parser *p, struct decl *d)
{
    while (p->tok.kind == PTX_TOK_DOT) {
        const uint8_t type = (uint8_t)ptx_type_of(p->tok.text, p->tok.len);
        if (type) {
            if (d->type) ptx_fail(p, &p->tok, "a declaration has one type");
            d->type = type;
            ptx_next(p);
        } else if (ptx_tok_is(&p->tok, "align")) {
            d->align = parse_align(p);
        } else if (ptx_tok_is(&p->tok, "attribute")) {
            parse_attribute(p, d);
        } else if (ptx_tok_is(&p->tok, "ptr")) {
            parse_ptr(p);
        } else if (ptx_tok_is(&p->tok, "v2") || ptx_tok_is(&p->tok, "v4") || ptx_tok_is(&p->tok, "v8")) {
            d->vec = (uint8_t)(p->tok.text[1] - '0');
            ptx_next(p);
        } else {
            bad_type(p);
        }
    }
    if (!d->type)
        ptx_fail(p, &p->tok, "a type such as .b32 was expected, not '%s'", ptx_tok_text(p, &p->tok));
    if (!d->vec) d->vec = 1;
    if (d->type == PTX_T_PRED && d->space != PTX_SPACE_REG)
        ptx_note(p, &p->tok, "predicates live in registers only");
}

static struct ptx_token expect_name(struct ptx_parser *p, const char *what)
{
    const struct ptx_token name = p->tok;
    if (name.kind != PTX_TOK_IDENT || memchr(name.text, '.', name.len))
        ptx_fail(p, &name, "a name was expected for %s, not '%s'", what, ptx_tok_text(p, &name));
    ptx_next(p);
    return name;
}

/* ---- registers ---- */

static void declare_register(struct ptx_parser *p, const struct ptx_token *name, const struct decl *d)
{
    const uint32_t atom = ptx_intern(p, name->text, name->len);
    const char *text = ptx_atom_at(p, atom)->name;
    const uint32_t reg = (uint32_t)p->regs.count;
    for (uint8_t k = 0; k < d->vec; k++)
        (void)ptx_new_reg(p, d->vec == 1 ? text : arena_printf(p->arena, "%s.%c", text, "xyzwabcd"[k & 7]),
                          d->type);
    struct ptx_binding *b = ptx_bind(p, name, atom, d->vec == 1 ? PTX_BIND_REG : PTX_BIND_VECTOR_REG, reg);
    b->width = d->vec;
}

/* .reg .b32 %r<100>, %x, %y; */
void ptx_parse_registers(struct ptx_parser *p)
{
    struct decl d = {.space = PTX_SPACE_REG};
    ptx_next(p);
    parse_decl_words(p, &d);
    do {
        const struct ptx_token name = expect_name(p, "a register");
        if (ptx_accept(p, '<')) {
            const uint64_t count = p->tok.kind == PTX_TOK_NUMBER ? ptx_lex_number(&p->lex, &p->tok).bits : 0;
            if (!count || count > UINT32_MAX)
                ptx_fail(p, &p->tok, "the number of registers must be from 1 to 4294967295");
            ptx_next(p);
            ptx_expect(p, '>', "after the number of registers");
            if (d.vec != 1) ptx_fail(p, &name, "vector registers are declared one by one");
            ptx_declare_range(p, &name, d.type, (uint32_t)count);
        } else {
            declare_register(p, &name, &d);
        }
    } while (ptx_accept(p, ','));
    if (p->tok.kind != ';') ptx_missing_semicolon(p);
    ptx_next(p);
}

/* ---- shapes and sizes ---- */

static uint32_t type_bytes(uint8_t type) { return (ptx_type_bits((enum ptx_type)type) + 7) / 8; }

static void parse_shape(struct ptx_parser *p, struct shape *s, const struct decl *d)
{
    *s = (struct shape){0};
    while (ptx_accept(p, '[')) {
        if (s->n_dims == DIMENSIONS_MAX) ptx_fail(p, &p->tok, "more than %d dimensions", (int)DIMENSIONS_MAX);
        s->is_array = true;
        if (p->tok.kind == ']') {
            if (s->n_dims) ptx_fail(p, &p->tok, "only the first dimension may be left open");
            s->unsized = true;
        }
        s->dims[s->n_dims] =
            p->tok.kind == ']' ? 0 : ptx_parse_u64(p, "an array dimension", variable_bytes_max);
        s->n_dims++;
        ptx_expect(p, ']', "after the dimension");
    }
    if (d->vec > 1) s->dims[s->n_dims++] = d->vec;
}

static uint64_t elements_below(const struct shape *s, uint32_t level)
{
    uint64_t n = 1;
    for (uint32_t i = level; i < s->n_dims; i++)
        if (__builtin_mul_overflow(n, s->dims[i], &n)) return UINT64_MAX;
    return n;
}

static uint64_t size_of(struct ptx_parser *p, const struct ptx_token *name, const struct shape *s,
                        const struct decl *d)
{
    uint64_t bytes = elements_below(s, 0);
    if (__builtin_mul_overflow(bytes, (uint64_t)type_bytes(d->type), &bytes) || bytes > variable_bytes_max)
        ptx_fail(p, name, "'%s' is larger than 2^40 bytes, more than any device holds",
                 ptx_tok_text(p, name));
    return bytes;
}

/* ---- initialisers ---- */

struct init {
    const struct decl *decl;
    const struct shape *shape;
    uint32_t symbol;
    size_t first_reloc, first_ref;
    uint64_t used_elements;
};

static uint8_t *init_bytes_at(struct ptx_parser *p, const struct ptx_token *at, uint64_t offset,
                              uint64_t bytes)
{
    if (offset + bytes > init_bytes_max)
        ptx_fail(p, at, "this initialiser covers more than %llu MiB",
                 (unsigned long long)(init_bytes_max >> 20));
    if (offset + bytes > p->init_bytes.count)
        (void)ptx_vec_push_many(&p->init_bytes, offset + bytes - p->init_bytes.count);
    return &PTX_AT(p->init_bytes, uint8_t, offset);
}

static uint64_t bits_for(struct ptx_const c, uint8_t type)
{
    if (type == PTX_T_F64 && c.is_float != 64) {
        const double d = ptx_const_value(c);
        memcpy(&c.bits, &d, sizeof d);
    } else if (type == PTX_T_F32 && c.is_float != 32) {
        const float f = (float)ptx_const_value(c);
        uint32_t low;
        memcpy(&low, &f, sizeof low);
        c.bits = low;
    }
    return c.bits;
}

/* Where an address in an initialiser points is known at the end of the module. */
static void parse_address_value(struct ptx_parser *p, struct init *init, uint64_t offset, uint32_t bytes,
                                uint8_t shift)
{
    const bool generic = p->tok.kind == PTX_TOK_IDENT && ptx_tok_is(&p->tok, "generic");
    if (generic) {
        ptx_next(p);
        ptx_expect(p, '(', "after generic");
    }
    const struct ptx_token name = expect_name(p, "an address");
    int64_t addend = 0;
    if (generic) ptx_expect(p, ')', "after the name");
    if (p->tok.kind == '+')
        ptx_next(p), addend = (int64_t)ptx_parse_const(p).bits;
    else if (p->tok.kind == '-')
        addend = (int64_t)ptx_parse_const(p).bits;
    struct ptx_reloc *r = ptx_vec_push(&p->relocs);
    *r = (struct ptx_reloc){.offset = offset,
                            .size_bytes = bytes,
                            .addend = addend,
                            .generic = generic,
                            .shift = shift,
                            .symbol = PTX_NO_INDEX};
    const uint32_t atom = ptx_intern(p, name.text, name.len);
    const struct ptx_binding *b = p->func ? ptx_lookup(p, atom) : NULL;
    if (b && b->kind == PTX_BIND_SYMBOL) {
        r->symbol = b->id;
        return;
    }
    struct ptx_init_ref *ref = ptx_vec_push(&p->init_refs);
    *ref = (struct ptx_init_ref){.token = name,
                                 .atom = atom,
                                 .symbol = init->symbol,
                                 .reloc = (uint32_t)(p->relocs.count - init->first_reloc - 1)};
}

static bool name_means_address(const struct ptx_token *t)
{
    return t->kind == PTX_TOK_IDENT && !ptx_tok_is(t, "WARP_SZ");
}

static void parse_scalar(struct ptx_parser *p, struct init *init, uint64_t element)
{
    const struct ptx_token at = p->tok;
    const uint32_t bytes = type_bytes(init->decl->type);
    const uint64_t offset = element * bytes;
    uint8_t *to = init_bytes_at(p, &at, offset, bytes);
    if (name_means_address(&at)) {
        parse_address_value(p, init, offset, bytes, 0);
        return;
    }
    const struct ptx_const c = ptx_parse_const(p);
    if (p->tok.kind == '(' && !c.is_float) { /* 0xFF00(symbol): one byte of an address */
        if (!c.bits || (c.bits >> (__builtin_ctzll(c.bits) & ~7)) != 0xff || bytes != 1)
            ptx_fail(p, &at, "a mask must be one byte, such as 0xFF00, in an array of .b8");
        ptx_next(p);
        parse_address_value(p, init, offset, bytes, (uint8_t)(__builtin_ctzll(c.bits) & ~7));
        ptx_expect(p, ')', "after the masked address");
        return;
    }
    const uint64_t bits = bits_for(c, init->decl->type);
    memcpy(to, &bits, bytes < 8 ? bytes : 8);
}

/* { .. } of one level; base and room count elements. */
static void parse_braces(struct ptx_parser *p, struct init *init, uint32_t level, uint64_t base,
                         uint64_t room)
{
    const struct shape *s = init->shape;
    uint64_t at = 0;
    const uint64_t below = level + 1 <= s->n_dims ? elements_below(s, level + 1) : 1;
    ptx_expect(p, '{', "before the values");
    if (ptx_accept(p, '}')) return;
    do {
        if (p->tok.kind == '}') break; /* a comma at the end */
        const struct ptx_token value = p->tok;
        if (p->tok.kind == '{') {
            if (level + 1 > s->n_dims || !below) ptx_fail(p, &value, "too many braces for this variable");
            const uint64_t step = below ? below : 1;
            at = (at + step - 1) / step * step;
            if (at >= room) ptx_fail(p, &value, "more values than the variable holds");
            parse_braces(p, init, level + 1, base + at, below);
            at += below;
        } else {
            if (at >= room) ptx_fail(p, &value, "more values than the variable holds");
            parse_scalar(p, init, base + at++);
        }
        if (base + at > init->used_elements) init->used_elements = base + at;
    } while (ptx_accept(p, ','));
    ptx_expect(p, '}', "after the values");
}

static void skip_braces(struct ptx_parser *p)
{
    uint32_t open = 0;
    do {
        if (p->tok.kind == PTX_TOK_EOF) ptx_fail(p, &p->tok, "the file ends inside an initialiser");
        if (p->tok.kind == '{') open++;
        if (p->tok.kind == '}') open--;
        ptx_next(p);
    } while (open);
}

static void keep_init(struct ptx_parser *p, const struct init *init)
{
    struct ptx_symbol *v = &PTX_AT(p->symbols, struct ptx_symbol, init->symbol);
    v->init_bytes = p->init_bytes.count;
    uint8_t *bytes = arena_alloc(p->arena, v->init_bytes ? v->init_bytes : 1);
    if (v->init_bytes) memcpy(bytes, p->init_bytes.items, v->init_bytes);
    v->init = bytes;
    v->n_relocs = (uint32_t)(p->relocs.count - init->first_reloc);
    if (!v->n_relocs) return;
    struct ptx_reloc *relocs = ARENA_ARRAY(p->arena, struct ptx_reloc, v->n_relocs);
    memcpy(relocs, &PTX_AT(p->relocs, struct ptx_reloc, init->first_reloc), v->n_relocs * sizeof *relocs);
    v->relocs = relocs;
    p->relocs.count = init->first_reloc;
}

/* = 5   = {1, 2}   = {{1}, {2, 3}} */
static void parse_init(struct ptx_parser *p, uint32_t symbol, struct shape *s, const struct decl *d,
                       const struct ptx_token *name)
{
    if (ptx_type_kind((enum ptx_type)d->type) == 'X') { /* properties of textures and samplers */
        skip_braces(p);
        return;
    }
    struct init init = {.decl = d, .shape = s, .symbol = symbol, .first_reloc = p->relocs.count};
    p->init_bytes.count = 0;
    if (p->tok.kind == '{') {
        parse_braces(p, &init, 0, 0, s->unsized ? UINT64_MAX : s->n_dims ? elements_below(s, 0) : 1);
    } else if (s->n_dims) {
        ptx_fail(p, &p->tok, "an array takes its values in braces: = {1, 2, 3}");
    } else {
        parse_scalar(p, &init, 0);
    }
    if (s->unsized) {
        const uint64_t below = elements_below(s, 1);
        s->dims[0] = below ? (init.used_elements + below - 1) / below : 0;
        s->unsized = false;
    }
    keep_init(p, &init);
    PTX_AT(p->symbols, struct ptx_symbol, symbol).size_bytes = size_of(p, name, s, d);
}

void ptx_resolve_initialisers(struct ptx_parser *p)
{
    for (size_t i = 0; i < p->init_refs.count; i++) {
        const struct ptx_init_ref *ref = &PTX_AT(p->init_refs, struct ptx_init_ref, i);
        const struct ptx_symbol *v = &PTX_AT(p->symbols, struct ptx_symbol, ref->symbol);
        const uint32_t target = ptx_atom_at(p, ref->atom)->global;
        if (target == PTX_NO_INDEX) {
            const char *near = ptx_suggest(p, &ref->token, false, true, false);
            ptx_note(p, &ref->token, "'%s' is not declared%s%s%s", ptx_tok_text(p, &ref->token),
                     near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
        } else if (ref->reloc < v->n_relocs) {
            ((struct ptx_reloc *)v->relocs)[ref->reloc].symbol = target;
        }
    }
}

/* ---- variables ---- */

struct ptx_symbol *ptx_new_symbol(struct ptx_parser *p, const struct ptx_token *name)
{
    const uint32_t index = (uint32_t)p->symbols.count;
    const uint32_t atom = ptx_intern(p, name->text, name->len);
    struct ptx_symbol *s = ptx_vec_push(&p->symbols);
    *s = (struct ptx_symbol){.name = ptx_atom_at(p, atom)->name,
                             .module = p->module,
                             .index = index,
                             .line = name->line,
                             .vec = 1,
                             .program_index = PTX_NO_INDEX};
    return s;
}

/* A module-scope variable may be declared extern and then defined: both are one symbol. */
static struct ptx_symbol *module_symbol(struct ptx_parser *p, const struct ptx_token *name,
                                        enum ptx_linkage linkage)
{
    const uint32_t atom = ptx_intern(p, name->text, name->len);
    const uint32_t old_index = ptx_atom_at(p, atom)->global;
    if (old_index == PTX_NO_INDEX) {
        struct ptx_symbol *s = ptx_new_symbol(p, name);
        ptx_atom_at(p, atom)->global = s->index;
        return s;
    }
    struct ptx_symbol *old = &PTX_AT(p->symbols, struct ptx_symbol, old_index);
    if (old->kind != PTX_SYM_VAR || (old->linkage != PTX_LINK_EXTERN && linkage != PTX_LINK_EXTERN))
        ptx_note(p, name, "'%s' is declared twice: the first time on line %u", old->name, old->line);
    if (linkage == PTX_LINK_EXTERN && old->kind == PTX_SYM_VAR && old->linkage != PTX_LINK_EXTERN)
        return ptx_new_symbol(p, name); /* defined already: the declaration adds nothing */
    return old;
}

static uint64_t placed(uint64_t *end, const struct ptx_symbol *s)
{
    const uint64_t offset = (*end + s->align - 1) / s->align * s->align;
    *end = offset + s->size_bytes;
    return offset;
}

/* Storage of one activation: see struct ptx_func. */
static void place_in_frame(struct ptx_parser *p, struct ptx_symbol *s)
{
    struct ptx_func *f = p->func;
    if (s->space == PTX_SPACE_PARAM) {
        s->offset = placed(&p->arg_offset, s);
        if (p->arg_offset > f->arg_bytes) f->arg_bytes = p->arg_offset;
        if (s->align > f->arg_align) f->arg_align = s->align;
    } else if (s->space == PTX_SPACE_LOCAL) {
        s->offset = placed(&f->local_bytes, s);
        if (s->align > f->local_align) f->local_align = s->align;
    }
    if (f->local_bytes > variable_bytes_max || p->arg_offset > variable_bytes_max)
        diag_mistake("the variables of function '%s' exceed 2^40 bytes", f->name ? f->name : "?");
}

static void fill_symbol(struct ptx_parser *p, struct ptx_symbol *s, const struct decl *d,
                        const struct shape *shape, const struct ptx_token *name)
{
    s->kind = PTX_SYM_VAR;
    s->space = (uint8_t)d->space;
    s->linkage = (uint8_t)d->linkage;
    s->type = d->type;
    s->vec = d->vec;
    s->managed = d->managed;
    s->is_array = shape->is_array;
    s->unsized = shape->unsized;
    s->line = name->line;
    const uint32_t natural = type_bytes(d->type) * d->vec;
    s->align = d->align ? d->align : natural ? natural : 1;
    s->size_bytes = shape->unsized ? 0 : size_of(p, name, shape, d);
    s->func = p->func;
}

static uint32_t declare_variable(struct ptx_parser *p, const struct decl *d, const struct shape *shape,
                                 const struct ptx_token *name)
{
    struct ptx_symbol *s = p->func ? ptx_new_symbol(p, name) : module_symbol(p, name, d->linkage);
    const uint32_t index = s->index;
    fill_symbol(p, s, d, shape, name);
    if (p->func) ptx_bind(p, name, ptx_intern(p, name->text, name->len), PTX_BIND_SYMBOL, index);
    return index;
}

static void finish_variable(struct ptx_parser *p, const struct decl *d, const struct shape *shape,
                            uint32_t index, const struct ptx_token *name)
{
    struct ptx_symbol *s = &PTX_AT(p->symbols, struct ptx_symbol, index);
    s->unsized = shape->unsized;
    if (s->unsized && d->linkage != PTX_LINK_EXTERN && d->space != PTX_SPACE_PARAM)
        ptx_note(p, name, "'%s' has no size: give one, values, or .extern", s->name);
    if (p->func) place_in_frame(p, s);
}

/* .global .u32 v<4>: v0 .. v3 */
static void declare_variable_range(struct ptx_parser *p, const struct decl *d, const struct ptx_token *name)
{
    const uint64_t count = p->tok.kind == PTX_TOK_NUMBER ? ptx_lex_number(&p->lex, &p->tok).bits : 0;
    if (!count || count > VARIABLE_RANGE_MAX)
        ptx_fail(p, &p->tok, "the number of variables must be from 1 to %d", (int)VARIABLE_RANGE_MAX);
    ptx_next(p);
    ptx_expect(p, '>', "after the number of variables");
    struct shape shape;
    parse_shape(p, &shape, d);
    for (uint64_t i = 0; i < count; i++) {
        struct ptx_token each = *name;
        each.text = arena_printf(p->arena, "%.*s%llu", (int)name->len, name->text, (unsigned long long)i);
        each.len = (uint32_t)strlen(each.text);
        each.line_start = each.text;
        finish_variable(p, d, &shape, declare_variable(p, d, &shape, &each), &each);
    }
}

static void declare_one_variable(struct ptx_parser *p, const struct decl *d, const struct ptx_token *name)
{
    struct shape shape;
    parse_shape(p, &shape, d);
    const uint32_t index = declare_variable(p, d, &shape, name);
    if (ptx_accept(p, '=')) parse_init(p, index, &shape, d, name);
    finish_variable(p, d, &shape, index, name);
}

void ptx_parse_variables(struct ptx_parser *p, enum ptx_space space, enum ptx_linkage linkage)
{
    struct decl d = {.space = space, .linkage = linkage};
    parse_decl_words(p, &d);
    do {
        const struct ptx_token name = expect_name(p, "a variable");
        if (ptx_accept(p, '<'))
            declare_variable_range(p, &d, &name);
        else
            declare_one_variable(p, &d, &name);
    } while (ptx_accept(p, ','));
    if (p->tok.kind != ';') ptx_missing_semicolon(p);
    ptx_next(p);
}

/* ---- parameters of functions and prototypes ---- */

static bool parse_param_words(struct ptx_parser *p, struct decl *d)
{
    const struct ptx_token at = p->tok;
    d->space = at.kind == PTX_TOK_DOT ? ptx_space_of(&at) : PTX_SPACE_GENERIC;
    if (d->space != PTX_SPACE_PARAM && d->space != PTX_SPACE_REG)
        ptx_fail(p, &at, "a parameter (.param or .reg) was expected, not '%s'", ptx_tok_text(p, &at));
    ptx_next(p);
    parse_decl_words(p, d);
    return d->space == PTX_SPACE_REG;
}

static void declare_param(struct ptx_parser *p)
{
    struct decl d = {0};
    const bool in_register = parse_param_words(p, &d);
    const struct ptx_token name = expect_name(p, "a parameter");
    struct shape shape;
    parse_shape(p, &shape, &d);
    struct ptx_symbol *s = ptx_new_symbol(p, &name);
    fill_symbol(p, s, &d, &shape, &name);
    const bool anonymous = name.len == 1 && name.text[0] == '_';
    if (in_register) {
        s->offset = p->regs.count; /* the register that holds it */
        if (!anonymous)
            declare_register(p, &name, &d);
        else
            (void)ptx_new_reg(p, "_", d.type);
        return;
    }
    if (p->func->is_entry) {
        s->offset = placed(&p->func->param_bytes, s);
        if (p->func->param_bytes > variable_bytes_max) ptx_fail(p, &name, "the parameters are too large");
    } else {
        place_in_frame(p, s);
    }
    if (!anonymous) ptx_bind(p, &name, ptx_intern(p, name.text, name.len), PTX_BIND_SYMBOL, s->index);
}

uint32_t ptx_parse_params(struct ptx_parser *p)
{
    const size_t before = p->symbols.count;
    ptx_expect(p, '(', "before the parameters");
    if (!ptx_accept(p, ')')) {
        do declare_param(p);
        while (ptx_accept(p, ','));
        ptx_expect(p, ')', "after the parameters");
    }
    return (uint32_t)(p->symbols.count - before);
}

/* (.param .b32 _, .param .align 8 .b8 _[24]) of .callprototype */
void ptx_parse_prototype_params(struct ptx_parser *p, struct ptx_table *t, bool rets)
{
    ptx_expect(p, '(', "before the parameters");
    if (ptx_accept(p, ')')) return;
    uint32_t count = 0;
    do {
        struct decl d = {0};
        struct shape shape;
        (void)parse_param_words(p, &d);
        const struct ptx_token name = expect_name(p, "a parameter");
        parse_shape(p, &shape, &d);
        *(struct ptx_proto_param *)ptx_vec_push(&p->proto) =
            (struct ptx_proto_param){.space = (uint8_t)d.space,
                                     .type = d.type,
                                     .align = d.align ? d.align : type_bytes(d.type) * d.vec,
                                     .size_bytes = shape.unsized ? 0 : size_of(p, &name, &shape, &d)};
        count++;
    } while (ptx_accept(p, ','));
    ptx_expect(p, ')', "after the parameters");
    *(rets ? &t->n_rets : &t->n_params) = count;
}
