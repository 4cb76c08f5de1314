/* parse: the module: its directives, its functions, and the entry points ptx_parse() and ptx_parse_file(). */
#include "ptx/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NOTES_MAX = 20 };

/* ---- errors ---- */

const char *ptx_tok_text(struct ptx_parser *p, const struct ptx_token *t)
{
    if (t->kind == PTX_TOK_EOF) return "end of file";
    return arena_strndup(p->arena, t->text, t->len < 100 ? t->len : 100);
}

/* At the end of the file, behind what was read last. */
static struct diag_place place_of(const struct ptx_parser *p, const struct ptx_token *at)
{
    if (at->kind != PTX_TOK_EOF || !p->last.text) return ptx_lex_place(&p->lex, at);
    struct ptx_token end = p->last;
    end.text += end.len;
    end.len = 0;
    end.kind = PTX_TOK_EOF;
    return ptx_lex_place(&p->lex, &end);
}

void ptx_fail(struct ptx_parser *p, const struct ptx_token *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char text[512];
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    diag_mistake_at(place_of(p, at), "%s", text);
}

void ptx_note(struct ptx_parser *p, const struct ptx_token *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char text[512];
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (++p->errors >= NOTES_MAX) diag_mistake_at(ptx_lex_place(&p->lex, at), "%s (and maybe more)", text);
    diag_note_mistake_at(ptx_lex_place(&p->lex, at), "%s", text);
}

/* ---- tokens ---- */

void ptx_next(struct ptx_parser *p)
{
    p->last = p->tok;
    ptx_lex_next(&p->lex, &p->tok);
}

bool ptx_accept(struct ptx_parser *p, uint8_t kind)
{
    if (p->tok.kind != kind) return false;
    ptx_next(p);
    return true;
}

void ptx_expect(struct ptx_parser *p, uint8_t kind, const char *where)
{
    if (!ptx_accept(p, kind))
        ptx_fail(p, &p->tok, "'%c' was expected %s, not '%s'", kind, where, ptx_tok_text(p, &p->tok));
}

bool ptx_tok_is(const struct ptx_token *t, const char *text)
{
    const size_t len = strlen(text);
    return t->len == len && memcmp(t->text, text, len) == 0;
}

void ptx_missing_semicolon(struct ptx_parser *p)
{
    struct ptx_token end = p->last;
    end.text += end.len;
    end.len = 1;
    end.kind = ';';
    if (p->tok.kind == PTX_TOK_EOF) ptx_fail(p, &end, "the file ends here: ';' is missing");
    if (p->tok.line != p->last.line) ptx_fail(p, &end, "';' is missing at the end of this statement");
    ptx_fail(p, &p->tok, "';' was expected, not '%s'", ptx_tok_text(p, &p->tok));
}

/* ---- directives about the source program ---- */

void ptx_parse_pragma(struct ptx_parser *p)
{
    ptx_next(p);
    do {
        if (p->tok.kind != PTX_TOK_STRING) ptx_fail(p, &p->tok, ".pragma takes a string");
        ptx_next(p);
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';', "after .pragma");
}

static uint32_t loc_number(struct ptx_parser *p)
{
    if (p->tok.kind != PTX_TOK_NUMBER) ptx_fail(p, &p->tok, ".loc takes a file, a line and a column");
    const uint64_t n = ptx_lex_number(&p->lex, &p->tok).bits;
    ptx_next(p);
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* .loc 1 12 3   .loc 1 12 3, function_name $L__info_string0+4, inlined_at 1 20 5 */
void ptx_parse_loc(struct ptx_parser *p)
{
    ptx_next(p);
    p->loc = (uint32_t)p->locs.count;
    struct ptx_loc l = {.file = loc_number(p)};
    l.line = loc_number(p);
    if (p->tok.kind == PTX_TOK_NUMBER) l.col = loc_number(p);
    *(struct ptx_loc *)ptx_vec_push(&p->locs) = l;
    while (ptx_accept(p, ',')) {
        if (!ptx_accept(p, PTX_TOK_IDENT)) ptx_fail(p, &p->tok, "function_name or inlined_at was expected");
        const uint32_t line = p->last.line;
        while (p->tok.line == line &&
               (p->tok.kind == PTX_TOK_IDENT || p->tok.kind == PTX_TOK_NUMBER || p->tok.kind == '+'))
            ptx_next(p);
    }
}

/* .file 1 "name"   .file 1 "name", 1234, 567 */
void ptx_parse_file_directive(struct ptx_parser *p)
{
    enum { FILES_MAX = 1 << 20 };
    const struct ptx_token at = p->tok;
    ptx_next(p);
    const uint64_t number =
        p->tok.kind == PTX_TOK_NUMBER ? ptx_lex_number(&p->lex, &p->tok).bits : UINT64_MAX;
    if (number > FILES_MAX) ptx_fail(p, &at, ".file takes a number and a name");
    ptx_next(p);
    if (p->tok.kind != PTX_TOK_STRING) ptx_fail(p, &at, ".file takes a number and a name");
    if (number >= p->files.count) (void)ptx_vec_push_many(&p->files, number + 1 - p->files.count);
    PTX_AT(p->files, const char *, number) = arena_strndup(p->arena, p->tok.text, p->tok.len);
    ptx_next(p);
    while (ptx_accept(p, ',')) ptx_next(p);
}

/* .section .debug_info { .b8 1 ... }: nothing Atoll needs */
void ptx_skip_section(struct ptx_parser *p)
{
    const struct ptx_token at = p->tok;
    ptx_next(p);
    if (p->tok.kind != PTX_TOK_DOT && p->tok.kind != PTX_TOK_IDENT)
        ptx_fail(p, &p->tok, ".section takes a name");
    ptx_next(p);
    while (p->tok.kind == PTX_TOK_DOT || p->tok.kind == ',' || p->tok.kind == PTX_TOK_STRING) ptx_next(p);
    ptx_expect(p, '{', "after the name of the section");
    for (uint32_t open = 1; open;) {
        if (p->tok.kind == PTX_TOK_EOF) ptx_fail(p, &at, "the file ends inside this section");
        if (p->tok.kind == '{') open++;
        if (p->tok.kind == '}') open--;
        ptx_next(p);
    }
}

/* ---- header ---- */

static void parse_version(struct ptx_parser *p)
{
    ptx_next(p);
    unsigned major = 0, minor = 0;
    char text[16] = "";
    if (p->tok.kind == PTX_TOK_NUMBER && p->tok.len < sizeof text) memcpy(text, p->tok.text, p->tok.len);
    if (sscanf(text, "%5u.%5u", &major, &minor) != 2)
        ptx_fail(p, &p->tok, ".version takes a number such as 7.0, not '%s'", ptx_tok_text(p, &p->tok));
    if (p->module->version_major) ptx_note(p, &p->tok, ".version is given twice");
    p->module->version_major = major;
    p->module->version_minor = minor;
    ptx_next(p);
}

static void parse_target(struct ptx_parser *p)
{
    ptx_next(p);
    struct ptx_module *m = p->module;
    do {
        if (p->tok.kind != PTX_TOK_IDENT)
            ptx_fail(p, &p->tok, ".target takes names such as sm_70, not '%s'", ptx_tok_text(p, &p->tok));
        unsigned sm;
        const char *word = ptx_tok_text(p, &p->tok);
        if (sscanf(word, "sm_%4u", &sm) == 1 || sscanf(word, "compute_%4u", &sm) == 1) m->target_sm = sm;
        if (strcmp(word, "debug") == 0) m->target_debug = true;
        m->target = m->target ? arena_printf(p->arena, "%.200s, %s", m->target, word) : word;
        ptx_next(p);
    } while (ptx_accept(p, ','));
}

static void parse_address_size(struct ptx_parser *p)
{
    ptx_next(p);
    const struct ptx_token at = p->tok;
    const uint64_t bits = ptx_parse_u64(p, "an address size", UINT32_MAX);
    if (bits != 32 && bits != 64) ptx_note(p, &at, "the address size is 32 or 64");
    p->module->address_bits = (uint32_t)bits;
}

static void check_header(struct ptx_parser *p)
{
    if (p->module->version_major) return;
    ptx_fail(p, &p->tok, "a PTX module begins with .version, not '%s': is this file PTX at all?",
             ptx_tok_text(p, &p->tok));
}

/* ---- functions ---- */

/* .maxntid 128, 1, 1 */
static void parse_dims(struct ptx_parser *p, uint32_t dims[3])
{
    ptx_next(p);
    dims[0] = dims[1] = dims[2] = 1;
    for (int i = 0; i < 3; i++) {
        dims[i] = (uint32_t)ptx_parse_u64(p, "a dimension", UINT32_MAX);
        if (!ptx_accept(p, ',')) break;
    }
}

static uint32_t parse_count(struct ptx_parser *p)
{
    ptx_next(p);
    return (uint32_t)ptx_parse_u64(p, "a count", UINT32_MAX);
}

/* Between the parameters and the body. */
static void parse_function_directives(struct ptx_parser *p)
{
    static const char *const known[] = {
        "maxntid",  "reqntid", "minnctapersm",      "maxnctapersm",   "maxnreg",
        "noreturn", "pragma",  "reqnctapercluster", "maxclusterrank", "explicitcluster"};
    struct ptx_func *f = p->func;
    while (p->tok.kind == PTX_TOK_DOT) {
        const struct ptx_token *t = &p->tok;
        if (ptx_tok_is(t, "maxntid"))
            parse_dims(p, f->maxntid);
        else if (ptx_tok_is(t, "reqntid"))
            parse_dims(p, f->reqntid);
        else if (ptx_tok_is(t, "reqnctapercluster"))
            parse_dims(p, f->reqnctapercluster);
        else if (ptx_tok_is(t, "minnctapersm"))
            f->minnctapersm = parse_count(p);
        else if (ptx_tok_is(t, "maxnctapersm"))
            f->maxnctapersm = parse_count(p);
        else if (ptx_tok_is(t, "maxnreg"))
            f->maxnreg = parse_count(p);
        else if (ptx_tok_is(t, "maxclusterrank"))
            f->maxclusterrank = parse_count(p);
        else if (ptx_tok_is(t, "abi_preserve") || ptx_tok_is(t, "abi_preserve_control"))
            (void)parse_count(p);
        else if (ptx_tok_is(t, "noreturn"))
            f->noreturn = true, ptx_next(p);
        else if (ptx_tok_is(t, "explicitcluster") || ptx_tok_is(t, "blocksareclusters"))
            ptx_next(p);
        else if (ptx_tok_is(t, "pragma"))
            ptx_parse_pragma(p);
        else if (ptx_tok_is(t, "loc"))
            ptx_parse_loc(p);
        else {
            const char *near = diag_nearest(ptx_tok_text(p, t), known, sizeof known / sizeof *known);
            ptx_fail(p, t, "'.%s' cannot stand before a function body%s%s%s", ptx_tok_text(p, t),
                     near ? ": did you mean '." : "", near ? near : "", near ? "'?" : "");
        }
    }
}

static uint8_t merged_linkage(uint8_t old, uint8_t new)
{
    if (old == PTX_LINK_LOCAL || old == PTX_LINK_EXTERN) return new == PTX_LINK_LOCAL ? old : new;
    return old;
}

/* The function of this name: a prototype declared before, or a new one. */
static struct ptx_func *function_named(struct ptx_parser *p, const struct ptx_token *name,
                                       enum ptx_linkage linkage)
{
    const uint32_t atom = ptx_intern(p, name->text, name->len);
    const uint32_t old = ptx_atom_at(p, atom)->global;
    if (old != PTX_NO_INDEX && PTX_AT(p->symbols, struct ptx_symbol, old).kind == PTX_SYM_FUNC) {
        struct ptx_symbol *s = &PTX_AT(p->symbols, struct ptx_symbol, old);
        s->linkage = merged_linkage(s->linkage, (uint8_t)linkage);
        return s->func;
    }
    if (old != PTX_NO_INDEX)
        ptx_note(p, name, "'%s' is declared twice: the first time on line %u", ptx_atom_at(p, atom)->name,
                 PTX_AT(p->symbols, struct ptx_symbol, old).line);
    struct ptx_func *f = ARENA_NEW(p->arena, struct ptx_func);
    struct ptx_symbol *s = ptx_new_symbol(p, name);
    s->kind = PTX_SYM_FUNC;
    s->func = f;
    s->linkage = (uint8_t)linkage;
    s->align = 1;
    f->symbol = s->index;
    f->name = s->name;
    f->module = p->module;
    f->index = (uint32_t)p->funcs.count;
    *(struct ptx_func **)ptx_vec_push(&p->funcs) = f;
    ptx_atom_at(p, atom)->global = s->index;
    return f;
}

/* Puts the header just read on the function of that name. */
static void adopt_header(struct ptx_parser *p, struct ptx_func *f, struct ptx_func *header,
                         const struct ptx_token *name)
{
    if (f->has_body && p->tok.kind == '{')
        ptx_note(p, name, "function '%s' has a body already, on line %u", f->name, f->line);
    if (f->has_body) return; /* a prototype after the definition adds nothing */
    header->name = f->name;
    header->module = f->module;
    header->symbol = f->symbol;
    header->index = f->index;
    header->line = name->line;
    header->noreturn |= f->noreturn;
    *f = *header;
    for (uint32_t i = 0; i < f->n_rets + f->n_params; i++)
        PTX_AT(p->symbols, struct ptx_symbol, f->first_param + i).func = f;
    PTX_AT(p->symbols, struct ptx_symbol, f->symbol).line = name->line;
}

/* The name is needed for scopes and messages before the header is complete: parse into a scratch first. */
static void parse_function(struct ptx_parser *p, bool entry, enum ptx_linkage linkage)
{
    struct ptx_func header = {.is_entry = entry, .name = "?"};
    ptx_next(p);
    ptx_function_scope(p);
    p->func = &header;
    p->loc = PTX_NO_INDEX;
    header.first_param = (uint32_t)p->symbols.count;
    while (p->tok.kind == PTX_TOK_DOT && ptx_tok_is(&p->tok, "attribute")) ptx_skip_attribute(p);
    if (p->tok.kind == '(') header.n_rets = ptx_parse_params(p);
    const struct ptx_token name = p->tok;
    if (name.kind != PTX_TOK_IDENT || memchr(name.text, '.', name.len))
        ptx_fail(p, &name, "the name of the function was expected, not '%s'", ptx_tok_text(p, &name));
    ptx_next(p);
    header.name = ptx_tok_text(p, &name);
    if (p->tok.kind == '(') header.n_params = ptx_parse_params(p);
    parse_function_directives(p);
    struct ptx_func *f = function_named(p, &name, linkage);
    adopt_header(p, f, &header, &name);
    p->func = f;
    if (p->tok.kind == '{') {
        f->has_body = true;
        ptx_parse_body(p);
    } else if (p->tok.kind == ';') {
        ptx_next(p);
    } else {
        ptx_fail(p, &p->tok, "the body of function '%s' or ';' was expected, not '%s'", f->name,
                 ptx_tok_text(p, &p->tok));
    }
    p->func = NULL;
}

/* .alias a, b; */
static void parse_alias(struct ptx_parser *p)
{
    ptx_next(p);
    uint32_t symbols[2];
    for (int i = 0; i < 2; i++) {
        const struct ptx_token t = p->tok;
        if (!ptx_accept(p, PTX_TOK_IDENT)) ptx_fail(p, &t, ".alias takes two functions");
        symbols[i] = ptx_atom_at(p, ptx_intern(p, t.text, t.len))->global;
        if (symbols[i] == PTX_NO_INDEX ||
            PTX_AT(p->symbols, struct ptx_symbol, symbols[i]).kind != PTX_SYM_FUNC)
            ptx_note(p, &t, "'%s' is not a declared function", ptx_tok_text(p, &t));
        if (!i) ptx_expect(p, ',', "between the names");
    }
    ptx_expect(p, ';', "after .alias");
    *(struct ptx_alias *)ptx_vec_push(&p->aliases) =
        (struct ptx_alias){.alias = symbols[0], .aliasee = symbols[1]};
}

/* ---- module ---- */

static _Noreturn void bad_directive(struct ptx_parser *p)
{
    static const char *const known[] = {"version", "target", "address_size", "entry",  "func",
                                        "visible", "extern", "weak",         "common", "global",
                                        "const",   "shared", "local",        "tex",    "alias",
                                        "pragma",  "file",   "section",      "loc",    "reg"};
    const struct ptx_token *t = &p->tok;
    const char *near = diag_nearest(ptx_tok_text(p, t), known, sizeof known / sizeof *known);
    ptx_fail(p, t, "'.%s' cannot stand at module level%s%s%s", ptx_tok_text(p, t),
             near ? ": did you mean '." : "", near ? near : "", near ? "'?" : "");
}

static enum ptx_linkage parse_linkage(struct ptx_parser *p)
{
    static const struct {
        const char *word;
        enum ptx_linkage linkage;
    } words[] = {{"visible", PTX_LINK_VISIBLE},
                 {"extern", PTX_LINK_EXTERN},
                 {"weak", PTX_LINK_WEAK},
                 {"common", PTX_LINK_COMMON}};
    enum ptx_linkage linkage = PTX_LINK_LOCAL;
    for (size_t i = 0; p->tok.kind == PTX_TOK_DOT && i < sizeof words / sizeof *words; i++) {
        if (!ptx_tok_is(&p->tok, words[i].word)) continue;
        linkage = words[i].linkage;
        ptx_next(p);
        i = (size_t)-1;
    }
    return linkage;
}

static void parse_linked(struct ptx_parser *p)
{
    const enum ptx_linkage linkage = parse_linkage(p);
    if (p->tok.kind != PTX_TOK_DOT)
        ptx_fail(p, &p->tok, "a declaration was expected, not '%s'", ptx_tok_text(p, &p->tok));
    const enum ptx_space space = ptx_space_of(&p->tok);
    if (ptx_tok_is(&p->tok, "entry") || ptx_tok_is(&p->tok, "func")) {
        parse_function(p, ptx_tok_is(&p->tok, "entry"), linkage);
    } else if (space == PTX_SPACE_REG || space == PTX_SPACE_PARAM) {
        ptx_fail(p, &p->tok, "'.%s' is declared inside functions only", ptx_tok_text(p, &p->tok));
    } else if (space != PTX_SPACE_GENERIC) {
        ptx_next(p);
        ptx_parse_variables(p, space, linkage);
    } else {
        bad_directive(p);
    }
}

static void parse_module_directive(struct ptx_parser *p)
{
    const struct ptx_token *t = &p->tok;
    if (ptx_tok_is(t, "version")) {
        parse_version(p);
        return;
    }
    check_header(p);
    if (ptx_tok_is(t, "target"))
        parse_target(p);
    else if (ptx_tok_is(t, "address_size"))
        parse_address_size(p);
    else if (ptx_tok_is(t, "loc"))
        ptx_parse_loc(p);
    else if (ptx_tok_is(t, "file"))
        ptx_parse_file_directive(p);
    else if (ptx_tok_is(t, "section"))
        ptx_skip_section(p);
    else if (ptx_tok_is(t, "pragma"))
        ptx_parse_pragma(p);
    else if (ptx_tok_is(t, "alias"))
        parse_alias(p);
    else
        parse_linked(p);
}

static void *kept(struct ptx_parser *p, const struct ptx_vec *v, uint32_t *count)
{
    *count = (uint32_t)v->count;
    if (!v->count) return NULL;
    return memcpy(arena_array(p->arena, v->count, v->item_bytes), v->items, v->count * v->item_bytes);
}

static void finish_module(struct ptx_parser *p)
{
    struct ptx_module *m = p->module;
    ptx_resolve_initialisers(p);
    if (p->errors) diag_raise_if_any();
    m->symbols = kept(p, &p->symbols, &m->n_symbols);
    m->funcs = kept(p, &p->funcs, &m->n_funcs);
    m->spellings = kept(p, &p->spellings, &m->n_spellings);
    m->locs = kept(p, &p->locs, &m->n_locs);
    m->files = kept(p, &p->files, &m->n_files);
    m->aliases = kept(p, &p->aliases, &m->n_aliases);
    if (!m->address_bits) m->address_bits = m->version_major * 10 + m->version_minor >= 23 ? 64 : 32;
}

static void parse_module(struct ptx_parser *p)
{
    ptx_next(p);
    while (p->tok.kind != PTX_TOK_EOF) {
        if (p->tok.kind == PTX_TOK_DOT) {
            parse_module_directive(p);
        } else if (p->tok.kind == ';') {
            ptx_next(p);
        } else {
            check_header(p);
            ptx_fail(p, &p->tok, "a directive such as .entry or .global was expected, not '%s'",
                     ptx_tok_text(p, &p->tok));
        }
    }
    check_header(p);
    finish_module(p);
}

/* ---- set-up and release ---- */

/* clang-format off */
#define EACH_VEC(X) \
    X(atoms, struct ptx_atom) X(symbols, struct ptx_symbol) X(funcs, struct ptx_func *) \
    X(spellings, const char *) X(templates, struct ptx_template) X(locs, struct ptx_loc) \
    X(files, const char *) X(aliases, struct ptx_alias) X(init_bytes, uint8_t) \
    X(relocs, struct ptx_reloc) X(init_refs, struct ptx_init_ref) X(bindings, struct ptx_binding) \
    X(ranges, struct ptx_reg_range) X(refs, struct ptx_ref) X(instrs, struct ptx_instr) \
    X(operands, struct ptx_operand) X(regs, struct ptx_reg) X(labels, struct ptx_label) \
    X(tables, struct ptx_table) X(items, uint32_t) X(proto, struct ptx_proto_param)
/* clang-format on */

static void release(void *arg)
{
    struct ptx_parser *p = arg;
#define FREE_VEC(name, type) free(p->name.items);
    EACH_VEC(FREE_VEC)
    strmap_free(&p->atom_of);
    strmap_free(&p->spelling_of);
    strmap_free(&p->words);
}

struct ptx_module *ptx_parse(struct arena *arena, const struct diag_source *source)
{
    if (source->len_bytes >= UINT32_MAX) diag_mistake("'%s' is larger than 4 GiB", source->name);
    struct ptx_parser parser = {0}, *p = &parser;
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, release, p);
#define SIZE_VEC(name, type) p->name.item_bytes = sizeof(type);
    EACH_VEC(SIZE_VEC)
    strmap_init(&p->atom_of);
    strmap_init(&p->spelling_of);
    strmap_init(&p->words);
    p->arena = arena;
    p->module = ARENA_NEW(arena, struct ptx_module);
    p->module->source = source;
    ptx_lex_start(&p->lex, source);
    ptx_names_start(p);
    parse_module(p);
    struct ptx_module *m = p->module;
    diag_done(&cleanup, true);
    return m;
}

static void close_file(void *file) { (void)fclose(file); }

struct ptx_module *ptx_parse_file(struct arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) diag_mistake("cannot open '%s': %s", path, strerror(errno));
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, close_file, file);
    struct stat info;
    if (fstat(fileno(file), &info) || S_ISDIR(info.st_mode)) diag_mistake("'%s' is not a file", path);
    if (fseek(file, 0, SEEK_END)) diag_mistake("cannot read '%s': %s", path, strerror(errno));
    const long len = ftell(file);
    if (len < 0) diag_mistake("cannot read '%s': %s", path, strerror(errno));
    rewind(file);
    char *text = arena_alloc(arena, (size_t)len + 1);
    if (fread(text, 1, (size_t)len, file) != (size_t)len)
        diag_mistake("cannot read '%s': %s", path, strerror(errno));
    diag_done(&cleanup, true);
    struct diag_source *source = ARENA_NEW(arena, struct diag_source);
    *source = (struct diag_source){.name = arena_strdup(arena, path), .text = text, .len_bytes = (size_t)len};
    return ptx_parse(arena, source);
}
