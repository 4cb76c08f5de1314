/* names: interned names, nested scopes, registers declared singly or by range. */
#include <stdlib.h>
#include <string.h>

#include "ptx/parse.h"

void *ptx_vec_push_many(struct ptx_vec *v, size_t count)
{
    if (v->count + count > v->capacity) {
        size_t capacity = v->capacity ? v->capacity * 2 : 64;
        if (capacity < v->count + count) capacity = v->count + count;
        void *grown = realloc(v->items, capacity * v->item_bytes);
        if (!grown)
            diag_mistake("out of host memory: %zu more bytes were asked for", capacity * v->item_bytes);
        v->items = grown;
        v->capacity = capacity;
    }
    void *item = (char *)v->items + v->count * v->item_bytes;
    v->count += count;
    return memset(item, 0, count * v->item_bytes);
}

void *ptx_vec_push(struct ptx_vec *v) { return ptx_vec_push_many(v, 1); }

/* ---- atoms ---- */

uint32_t ptx_intern(struct ptx_parser *p, const char *text, size_t len)
{
    bool fresh;
    uint64_t *slot = strmap_put(&p->atom_of, text, len, &fresh);
    if (!fresh) return (uint32_t)*slot;
    const uint32_t index = (uint32_t)p->atoms.count;
    *slot = index;
    struct ptx_atom *a = ptx_vec_push(&p->atoms);
    *a = (struct ptx_atom){.name = arena_strndup(p->arena, text, len),
                           .len = (uint32_t)len,
                           .binding = PTX_NO_INDEX,
                           .range = PTX_NO_INDEX,
                           .global = PTX_NO_INDEX};
    return index;
}

void ptx_names_start(struct ptx_parser *p)
{
    for (uint32_t i = 0; i < PTX_SREG_COUNT; i++) {
        const char *name = ptx_sreg_name((enum ptx_sreg)i);
        const uint32_t atom = ptx_intern(p, name, strlen(name));
        ptx_atom_at(p, atom)->sreg = (uint16_t)(i + 1);
    }
}

/* The atom with its function-local fields valid for the current function. */
static struct ptx_atom *fresh_atom(struct ptx_parser *p, uint32_t atom)
{
    struct ptx_atom *a = ptx_atom_at(p, atom);
    if (a->epoch != p->epoch) {
        a->epoch = p->epoch;
        a->binding = PTX_NO_INDEX;
        a->range = PTX_NO_INDEX;
    }
    return a;
}

/* ---- scopes ---- */

static bool alive(const struct ptx_parser *p, uint32_t depth, uint32_t scope)
{
    return depth <= p->depth && p->scopes[depth].serial == scope;
}

void ptx_function_scope(struct ptx_parser *p)
{
    p->epoch++;
    p->depth = 0;
    p->n_nested_ranges = 0;
    p->arg_offset = 0;
    struct ptx_vec *reused[] = {&p->bindings, &p->ranges, &p->refs,   &p->instrs, &p->operands,
                                &p->regs,     &p->labels, &p->tables, &p->items};
    for (size_t i = 0; i < sizeof reused / sizeof *reused; i++) reused[i]->count = 0;
    p->scopes[0] = (struct ptx_scope_frame){.serial = ++p->next_scope};
}

void ptx_scope_open(struct ptx_parser *p, const struct ptx_token *at)
{
    if (p->depth >= PTX_NESTING_MAX)
        ptx_fail(p, at, "scopes nest deeper than %d levels", (int)PTX_NESTING_MAX);
    p->scopes[++p->depth] = (struct ptx_scope_frame){
        .serial = ++p->next_scope, .first_ref = (uint32_t)p->refs.count, .arg_offset = p->arg_offset};
}

static void resolve(struct ptx_parser *p, const struct ptx_ref *r, const struct ptx_binding *b)
{
    if (b->kind != r->kind) {
        ptx_note(p, &r->token, "'%s' is not %s", ptx_atom_at(p, r->atom)->name,
                 r->kind == PTX_BIND_LABEL ? "a label" : "a list of targets or a prototype");
        return;
    }
    const uint32_t id = r->kind == PTX_BIND_LABEL ? PTX_AT(p->labels, struct ptx_label, b->id).target : b->id;
    if (r->kind == PTX_BIND_LABEL && (p->max_target == PTX_NO_INDEX || id > p->max_target))
        p->max_target = id;
    if (r->item != PTX_NO_INDEX)
        PTX_AT(p->items, uint32_t, r->item) = id;
    else
        PTX_AT(p->operands, struct ptx_operand, r->index).id = id;
}

/* Labels of the scope that ends answer the references made in it; the others wait for the scope around. */
void ptx_scope_close(struct ptx_parser *p)
{
    const struct ptx_scope_frame *s = &p->scopes[p->depth];
    size_t kept = s->first_ref;
    for (size_t i = s->first_ref; i < p->refs.count; i++) {
        const struct ptx_ref *r = &PTX_AT(p->refs, struct ptx_ref, i);
        const struct ptx_binding *b = ptx_lookup(p, r->atom);
        if (b && b->depth == p->depth) {
            resolve(p, r, b);
        } else if (p->depth == 0) {
            const char *near = ptx_suggest(p, &r->token, false, false, true);
            ptx_note(p, &r->token, "there is no label '%s' in this function%s%s%s",
                     ptx_atom_at(p, r->atom)->name, near ? ": did you mean '" : "", near ? near : "",
                     near ? "'?" : "");
        } else {
            PTX_AT(p->refs, struct ptx_ref, kept++) = *r;
        }
    }
    p->refs.count = kept;
    if (s->has_ranges) p->n_nested_ranges--;
    if (p->depth) {
        p->arg_offset = s->arg_offset;
        p->depth--;
    }
}

/* ---- bindings ---- */

struct ptx_binding *ptx_lookup(struct ptx_parser *p, uint32_t atom)
{
    struct ptx_atom *a = fresh_atom(p, atom);
    while (a->binding != PTX_NO_INDEX) {
        struct ptx_binding *b = &PTX_AT(p->bindings, struct ptx_binding, a->binding);
        if (alive(p, b->depth, b->scope)) return b;
        a->binding = b->next;
    }
    return NULL;
}

static struct ptx_binding *push_binding(struct ptx_parser *p, uint32_t atom, uint32_t depth, uint8_t kind,
                                        uint32_t id)
{
    struct ptx_atom *a = fresh_atom(p, atom);
    const uint32_t index = (uint32_t)p->bindings.count;
    struct ptx_binding *b = ptx_vec_push(&p->bindings);
    *b = (struct ptx_binding){.next = a->binding,
                              .scope = p->scopes[depth].serial,
                              .id = id,
                              .depth = (uint16_t)depth,
                              .kind = kind,
                              .line = p->tok.line};
    a->binding = index;
    return b;
}

struct ptx_binding *ptx_bind(struct ptx_parser *p, const struct ptx_token *at, uint32_t atom, uint8_t kind,
                             uint32_t id)
{
    const struct ptx_binding *old = ptx_lookup(p, atom);
    if (old && old->depth == p->depth)
        ptx_note(p, at, "'%s' is declared twice: the first time on line %u", ptx_atom_at(p, atom)->name,
                 old->line);
    struct ptx_binding *b = push_binding(p, atom, p->depth, kind, id);
    b->line = at->line;
    return b;
}

/* ---- registers ---- */

static uint8_t class_of_type(uint8_t type)
{
    if (type == PTX_T_PRED) return PTX_REG_PRED;
    const uint32_t bits = ptx_type_bits((enum ptx_type)type);
    return bits <= 32 ? PTX_REG_32 : bits <= 64 ? PTX_REG_64 : PTX_REG_128;
}

uint32_t ptx_new_reg(struct ptx_parser *p, const char *name, uint8_t type)
{
    const uint32_t id = (uint32_t)p->regs.count;
    struct ptx_reg *r = ptx_vec_push(&p->regs);
    *r = (struct ptx_reg){.name = name, .type = type, .reg_class = class_of_type(type)};
    return id;
}

void ptx_declare_range(struct ptx_parser *p, const struct ptx_token *at, uint8_t type, uint32_t count)
{
    const uint32_t atom = ptx_intern(p, at->text, at->len);
    struct ptx_atom *a = fresh_atom(p, atom);
    for (uint32_t i = a->range; i != PTX_NO_INDEX;) {
        const struct ptx_reg_range *old = &PTX_AT(p->ranges, struct ptx_reg_range, i);
        if (old->depth == p->depth && alive(p, old->depth, old->scope)) {
            ptx_note(p, at, "registers '%s<..>' are declared twice in this scope", a->name);
            return;
        }
        i = old->next;
        if (!alive(p, old->depth, old->scope)) a->range = i;
    }
    const uint32_t index = (uint32_t)p->ranges.count;
    struct ptx_reg_range *r = ptx_vec_push(&p->ranges);
    *r = (struct ptx_reg_range){.next = a->range,
                                .scope = p->scopes[p->depth].serial,
                                .depth = (uint16_t)p->depth,
                                .type = type,
                                .count = count};
    a->range = index;
    if (p->depth && !p->scopes[p->depth].has_ranges) {
        p->scopes[p->depth].has_ranges = true;
        p->n_nested_ranges++;
    }
}

/* The innermost live range of this prefix that has the number, or NULL. */
static const struct ptx_reg_range *range_with(struct ptx_parser *p, const char *prefix, size_t len,
                                              uint64_t number)
{
    const uint64_t *slot = strmap_find(&p->atom_of, prefix, len);
    if (!slot) return NULL;
    struct ptx_atom *a = fresh_atom(p, (uint32_t)*slot);
    while (a->range != PTX_NO_INDEX) { /* drop ranges whose scope has ended */
        const struct ptx_reg_range *r = &PTX_AT(p->ranges, struct ptx_reg_range, a->range);
        if (alive(p, r->depth, r->scope)) break;
        a->range = r->next;
    }
    for (uint32_t i = a->range; i != PTX_NO_INDEX;) {
        const struct ptx_reg_range *r = &PTX_AT(p->ranges, struct ptx_reg_range, i);
        if (number < r->count && alive(p, r->depth, r->scope)) return r;
        i = r->next;
    }
    return NULL;
}

/* %r12 from %r<100>: tries every split of the trailing digits, as %r1<20> is a prefix too. */
static const struct ptx_reg_range *find_range(struct ptx_parser *p, const char *text, uint32_t len)
{
    uint32_t digits = 0;
    while (digits < len && digits < 10 && text[len - digits - 1] >= '0' && text[len - digits - 1] <= '9')
        digits++;
    for (uint32_t n = digits; n > 0; n--) {
        if (text[len - n] == '0' && n > 1) continue; /* %r007 is not %r7 */
        uint64_t number = 0;
        for (uint32_t i = len - n; i < len; i++) number = number * 10 + (uint64_t)(text[i] - '0');
        const struct ptx_reg_range *r = range_with(p, text, len - n, number);
        if (r) return r;
    }
    return NULL;
}

bool ptx_range_count(struct ptx_parser *p, const char *prefix, uint32_t len, uint32_t *count)
{
    const struct ptx_reg_range *r = range_with(p, prefix, len, 0);
    if (r) *count = r->count;
    return r != NULL;
}

struct ptx_binding *ptx_find_name(struct ptx_parser *p, const char *text, uint32_t len, uint32_t *atom)
{
    *atom = ptx_intern(p, text, len);
    struct ptx_binding *b = ptx_lookup(p, *atom);
    if (b && (!p->n_nested_ranges || b->depth == p->depth)) return b;
    const struct ptx_reg_range *r = find_range(p, text, len);
    if (!r || (b && b->depth >= r->depth)) return b;
    const uint32_t depth = r->depth;
    const uint32_t reg = ptx_new_reg(p, ptx_atom_at(p, *atom)->name, r->type);
    return push_binding(p, *atom, depth, PTX_BIND_REG, reg);
}

/* ---- suggestions ---- */

static bool suits(struct ptx_parser *p, uint32_t atom, bool registers, bool symbols, bool labels)
{
    const struct ptx_atom *a = ptx_atom_at(p, atom);
    if (registers && a->sreg) return true;
    if (symbols && a->global != PTX_NO_INDEX) return true;
    const struct ptx_binding *b = p->func ? ptx_lookup(p, atom) : NULL;
    if (!b) return false;
    if (b->kind == PTX_BIND_REG || b->kind == PTX_BIND_VECTOR_REG) return registers;
    return b->kind == PTX_BIND_SYMBOL ? symbols : labels;
}

/* The declared name that a mistyped one was probably meant to be. Linear, for messages only. */
const char *ptx_suggest(struct ptx_parser *p, const struct ptx_token *t, bool registers, bool symbols,
                        bool labels)
{
    enum { LOOKED_AT_MAX = 20000 };
    char name[64];
    if (t->len >= sizeof name || t->len < 2) return NULL; /* every letter is near every other */
    memcpy(name, t->text, t->len);
    name[t->len] = '\0';
    const size_t count = p->atoms.count < LOOKED_AT_MAX ? p->atoms.count : LOOKED_AT_MAX;
    const char **names = malloc(count * sizeof *names);
    if (!names) return NULL;
    size_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (suits(p, i, registers, symbols, labels) && strcmp(ptx_atom_at(p, i)->name, name) != 0)
            names[n++] = ptx_atom_at(p, i)->name;
    const char *near = diag_nearest(name, names, n);
    free(names);
    return near;
}
