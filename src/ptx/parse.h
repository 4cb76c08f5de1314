/* parse (private to src/ptx): the state of one parse and what its files offer each other.
 *
 *   parse.c          module directives, functions, ptx_parse()
 *   parse_decl.c     variables, parameters, initialisers
 *   parse_body.c     statements of a function body
 *   parse_operand.c  operands, calls
 *   parse_const.c    constant expressions
 *   names.c          interned names, scopes, registers
 *   decode.c         mnemonic -> instruction template
 *
 * Names are interned to atoms; an atom points at its innermost binding, so that a name costs one hash
 * look-up. Bindings of scopes that have ended are dropped when next met. */
#ifndef ATOLL_PTX_PARSE_H
#define ATOLL_PTX_PARSE_H

#include "base/arena.h"
#include "base/map.h"
#include "ptx/ir.h"
#include "ptx/lex.h"

enum { PTX_NESTING_MAX = 100, PTX_OPERANDS_MAX = 255 };

/* A growing array that belongs to the parse (freed when it ends or unwinds). */
struct ptx_vec {
    void *items;
    size_t count, capacity, item_bytes;
};
void *ptx_vec_push(struct ptx_vec *v); /* zeroed */
void *ptx_vec_push_many(struct ptx_vec *v, size_t count);
#define PTX_AT(vec, type, index) (((type *)(vec).items)[index])

enum ptx_binding_kind { PTX_BIND_REG, PTX_BIND_VECTOR_REG, PTX_BIND_SYMBOL, PTX_BIND_LABEL, PTX_BIND_TABLE };

struct ptx_binding {
    uint32_t next;  /* outer binding of the same atom, PTX_NO_INDEX: none */
    uint32_t scope; /* serial number */
    uint32_t id;
    uint16_t depth;
    uint8_t kind;
    uint8_t width; /* of a vector register */
    uint32_t line;
};

/* .reg .b32 %r<100>: registers come into being when first named */
struct ptx_reg_range {
    uint32_t next; /* outer range of the same prefix */
    uint32_t scope;
    uint16_t depth;
    uint8_t type;
    uint32_t count;
};

struct ptx_atom {
    const char *name;
    uint32_t len;
    uint32_t epoch;   /* of the function that binding and range belong to */
    uint32_t binding; /* innermost, PTX_NO_INDEX: none */
    uint32_t range;   /* innermost range with this prefix */
    uint32_t global;  /* module-scope symbol, PTX_NO_INDEX: none */
    uint16_t sreg;    /* enum ptx_sreg + 1 */
};

struct ptx_scope_frame {
    uint32_t serial;
    uint32_t first_ref; /* label references made since */
    uint64_t arg_offset;
    bool has_ranges;
};

/* A name whose label or table may come later. */
struct ptx_ref {
    struct ptx_token token;
    uint32_t atom;
    uint32_t index; /* operand; or table, then item is set */
    uint32_t item;
    uint8_t kind; /* PTX_BIND_LABEL or PTX_BIND_TABLE */
};

struct ptx_init_ref { /* an address in an initialiser, resolved at the end of the module */
    struct ptx_token token;
    uint32_t atom, symbol;
    uint32_t reloc; /* in relocs */
};

struct ptx_template {
    struct ptx_instr instr;
    uint8_t source_type; /* type of literals in source positions */
    bool needs_type;
    const char *unknown; /* first unknown modifier */
    uint32_t unknown_len;
};

struct ptx_parser {
    struct arena *arena;
    struct ptx_lexer lex;
    struct ptx_token tok;  /* current */
    struct ptx_token last; /* the one before */
    struct ptx_module *module;

    struct strmap atom_of;
    struct strmap spelling_of;
    struct strmap words; /* of opcodes, types and modifiers: see decode.c */
    struct ptx_vec atoms, symbols, funcs, spellings, templates, locs, files, aliases;
    struct ptx_vec init_bytes, relocs, init_refs;

    /* the function being parsed; buffers are reused from function to function */
    struct ptx_func *func;
    uint32_t epoch, next_scope, depth, n_nested_ranges;
    struct ptx_scope_frame scopes[PTX_NESTING_MAX + 1];
    struct ptx_vec bindings, ranges, refs;
    struct ptx_vec instrs, operands, regs, labels, tables, items, proto;
    uint32_t loc;        /* current .loc */
    uint32_t max_target; /* furthest pc that a label reference names; PTX_NO_INDEX: none */
    uint64_t arg_offset;
    uint32_t errors;
};

/* parse.c */
_Noreturn void ptx_fail(struct ptx_parser *p, const struct ptx_token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Records and goes on; unwinds when there are too many. */
void ptx_note(struct ptx_parser *p, const struct ptx_token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ptx_next(struct ptx_parser *p);
bool ptx_accept(struct ptx_parser *p, uint8_t kind);
void ptx_expect(struct ptx_parser *p, uint8_t kind, const char *where);
bool ptx_tok_is(const struct ptx_token *t, const char *text);
const char *ptx_tok_text(struct ptx_parser *p,
                         const struct ptx_token *t); /* for messages; at most 100 bytes */
_Noreturn void ptx_missing_semicolon(struct ptx_parser *p);
void ptx_parse_pragma(struct ptx_parser *p);
void ptx_parse_loc(struct ptx_parser *p);
void ptx_parse_file_directive(struct ptx_parser *p);
void ptx_skip_section(struct ptx_parser *p);

/* names.c */
uint32_t ptx_intern(struct ptx_parser *p, const char *text, size_t len);
static inline struct ptx_atom *ptx_atom_at(struct ptx_parser *p, uint32_t atom)
{
    return &PTX_AT(p->atoms, struct ptx_atom, atom);
}
void ptx_names_start(struct ptx_parser *p);
void ptx_function_scope(struct ptx_parser *p);
void ptx_scope_open(struct ptx_parser *p, const struct ptx_token *at);
void ptx_scope_close(struct ptx_parser *p);
struct ptx_binding *ptx_lookup(struct ptx_parser *p, uint32_t atom);
/* Raises a note when the name is taken in this very scope. */
struct ptx_binding *ptx_bind(struct ptx_parser *p, const struct ptx_token *at, uint32_t atom, uint8_t kind,
                             uint32_t id);
uint32_t ptx_new_reg(struct ptx_parser *p, const char *name, uint8_t type);
void ptx_declare_range(struct ptx_parser *p, const struct ptx_token *at, uint8_t type, uint32_t count);
/* The register a name means: declared singly or by range; NULL when it is none. */
struct ptx_binding *ptx_find_name(struct ptx_parser *p, const char *text, uint32_t len, uint32_t *atom);
bool ptx_range_count(struct ptx_parser *p, const char *prefix, uint32_t len, uint32_t *count);
const char *ptx_suggest(struct ptx_parser *p, const struct ptx_token *t, bool registers, bool symbols,
                        bool labels);

/* decode.c */
const struct ptx_template *ptx_decode(struct ptx_parser *p, const struct ptx_token *mnemonic);
enum ptx_type ptx_type_of(const char *text, size_t len);
const char *ptx_nearest_type(const char *text, size_t len);
const char *ptx_nearest_op(const char *text, size_t len);

/* parse_const.c */
struct ptx_const {
    uint64_t bits;
    uint8_t is_float; /* 0, 32, 64 */
    bool is_unsigned;
};
struct ptx_const ptx_parse_const(struct ptx_parser *p);
double ptx_const_value(struct ptx_const c);
uint64_t ptx_parse_u64(struct ptx_parser *p, const char *what, uint64_t max);

/* parse_decl.c */
enum ptx_space ptx_space_of(const struct ptx_token *t); /* PTX_SPACE_GENERIC: not a space */
void ptx_parse_variables(struct ptx_parser *p, enum ptx_space space, enum ptx_linkage linkage);
void ptx_skip_attribute(struct ptx_parser *p);
void ptx_parse_registers(struct ptx_parser *p);
uint32_t ptx_parse_params(struct ptx_parser *p); /* "(..)": returns how many symbols it made */
struct ptx_symbol *ptx_new_symbol(struct ptx_parser *p, const struct ptx_token *name);
void ptx_resolve_initialisers(struct ptx_parser *p);
void ptx_parse_prototype_params(struct ptx_parser *p, struct ptx_table *t, bool rets);

/* parse_body.c */
void ptx_parse_body(struct ptx_parser *p);

/* parse_operand.c */
void ptx_parse_operands(struct ptx_parser *p, const struct ptx_token *mnemonic, const struct ptx_template *t,
                        struct ptx_instr *i);
uint32_t ptx_parse_register(struct ptx_parser *p, const char *what);

/* check.c; texts[n] is where operand n begins */
void ptx_check_operands(struct ptx_parser *p, const struct ptx_token *mnemonic, const struct ptx_instr *i,
                        const struct ptx_operand *operands, const char *const *texts);

#endif
