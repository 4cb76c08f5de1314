/* decode: a mnemonic such as `ld.global.nc.v4.f32` to an instruction template.
 *
 * Each distinct spelling is taken apart once; after that a mnemonic costs one look-up of its whole text. */
#include <string.h>

#include "ptx/parse.h"

/* ---- the tables, by word ---- */

enum field {
    FIELD_rnd,
    FIELD_cmp,
    FIELD_part,
    FIELD_sub,
    FIELD_space,
    FIELD_cache,
    FIELD_level,
    FIELD_evict,
    FIELD_sem,
    FIELD_scope,
    FIELD_layout_a,
    FIELD_count,
    FIELD_geom,
    FIELD_mip,
    FIELD_image,
    FIELD_flags
};

struct modifier {
    const char *word;
    uint8_t field;
    uint32_t value;
};

static const struct modifier modifiers[] = {
#define MOD(word, field, value) {word, FIELD_##field, value},
#include "ptx/modifiers.def"
};

struct op_spelling {
    const char *words;
    uint16_t op;
};

static const struct op_spelling op_spellings[] = {
#define OP(name, words, destinations, class) {words, PTX_OP_##name},
#define OP_ALIAS(name, words)                {words, PTX_OP_##name},
#include "ptx/opcodes.def"
};

static const uint8_t op_destinations[PTX_OP_COUNT] = {
#define OP(name, words, destinations, class) [PTX_OP_##name] = destinations,
#include "ptx/opcodes.def"
};

static const char *const shape_words[PTX_SHAPE_COUNT] = {
#define SHAPE(name, m, n, k) [PTX_SHAPE_##name] = #name,
#include "ptx/shapes.def"
};

static const char *const type_words[PTX_T_COUNT] = {
#define TYPE(name, word, bits, kind) [PTX_T_##name] = word,
#include "ptx/types.def"
};

enum { SPELLINGS_MAX = 100000 }; /* all of PTX has a few thousand; keeps a hostile module small */
enum {
    COUNT_MODIFIERS = sizeof modifiers / sizeof *modifiers,
    COUNT_OPS = sizeof op_spellings / sizeof *op_spellings
};

/* What a word can mean, packed into a map value. */
union meaning {
    uint64_t bits;
    struct {
        uint16_t op;       /* enum ptx_op, 0: none */
        uint16_t modifier; /* row + 1 of the first; rows of one word need not be neighbours */
        uint8_t type, shape, vec;
    };
};

static union meaning *meaning_of(struct strmap *m, const char *word)
{
    return (union meaning *)strmap_put(m, word, strlen(word), NULL);
}

static void fill_words(struct strmap *m)
{
    for (uint32_t i = 0; i < COUNT_OPS; i++) meaning_of(m, op_spellings[i].words)->op = op_spellings[i].op;
    for (uint32_t i = 0; i < COUNT_MODIFIERS; i++) {
        union meaning *w = meaning_of(m, modifiers[i].word);
        if (!w->modifier) w->modifier = (uint16_t)(i + 1);
    }
    for (uint32_t i = 1; i < PTX_T_COUNT; i++) meaning_of(m, type_words[i])->type = (uint8_t)i;
    for (uint32_t i = 1; i < PTX_SHAPE_COUNT; i++) meaning_of(m, shape_words[i])->shape = (uint8_t)i;
    meaning_of(m, "v2")->vec = 2;
    meaning_of(m, "v4")->vec = 4;
    meaning_of(m, "v8")->vec = 8;
}

static union meaning find_word(const struct strmap *m, const char *text, size_t len)
{
    const uint64_t *found = strmap_find(m, text, len);
    return (union meaning){.bits = found ? *found : 0};
}

enum ptx_type ptx_type_of(const char *text, size_t len)
{
    for (uint32_t i = 1; i < PTX_T_COUNT; i++)
        if (strlen(type_words[i]) == len && memcmp(type_words[i], text, len) == 0) return (enum ptx_type)i;
    return PTX_T_NONE;
}

static const char *nearest_of(const char *text, size_t len, const char *const *words, size_t count)
{
    char word[32];
    if (len >= sizeof word) return NULL;
    memcpy(word, text, len);
    word[len] = '\0';
    return diag_nearest(word, words, count);
}

const char *ptx_nearest_type(const char *text, size_t len)
{
    return nearest_of(text, len, type_words + 1, PTX_T_COUNT - 1);
}

const char *ptx_nearest_op(const char *text, size_t len)
{
    const char *words[COUNT_OPS];
    for (uint32_t i = 0; i < COUNT_OPS; i++) words[i] = op_spellings[i].words;
    return nearest_of(text, len, words, COUNT_OPS);
}

/* ---- one modifier ---- */

static bool compares(uint16_t op)
{
    return op == PTX_OP_SET || op == PTX_OP_SETP || op == PTX_OP_VSET || op == PTX_OP_VSET2 ||
           op == PTX_OP_VSET4;
}

/* Words with two rows: which one does this opcode mean? */
static bool row_suits(const struct modifier *m, uint16_t op)
{
    const char *w = m->word;
    if (strcmp(w, "lo") == 0 || strcmp(w, "hi") == 0) return compares(op) == (m->field == FIELD_cmp);
    if (strcmp(w, "uni") == 0) return (op == PTX_OP_VOTE) == (m->field == FIELD_sub);
    if (strcmp(w, "a") == 0 || strcmp(w, "b") == 0 || strcmp(w, "r") == 0)
        return (ptx_op_class((enum ptx_op)op) == PTX_CLASS_TEX) == (m->field == FIELD_image);
    return true;
}

static bool set_space(struct ptx_instr *i, uint8_t space)
{
    if (i->space == PTX_SPACE_GENERIC)
        i->space = space;
    else if (i->space2 == PTX_SPACE_GENERIC)
        i->space2 = space;
    else
        return false;
    return true;
}

static bool set_layout(struct ptx_instr *i, uint8_t layout)
{
    if (!i->layout_a)
        i->layout_a = layout;
    else if (!i->layout_b)
        i->layout_b = layout;
    else
        return false;
    return true;
}

static bool set_once(uint8_t *field, uint32_t value)
{
    if (*field) return false;
    *field = (uint8_t)value;
    return true;
}

static bool apply_row(struct ptx_instr *i, const struct modifier *m)
{
    switch ((enum field)m->field) {
    case FIELD_rnd: return set_once(&i->rnd, m->value);
    case FIELD_cmp: return set_once(&i->cmp, m->value);
    case FIELD_part: return set_once(&i->part, m->value);
    case FIELD_sub:
        if (m->value == PTX_SUB_POPC && (i->op == PTX_OP_MMA || i->op == PTX_OP_WMMA_MMA))
            return true; /* .xor.popc */
        return set_once(&i->sub, m->value);
    case FIELD_space: return set_space(i, (uint8_t)m->value);
    case FIELD_cache: return set_once(&i->cache, m->value);
    case FIELD_level: return set_once(&i->level, m->value);
    case FIELD_evict: return set_once(&i->evict, m->value);
    case FIELD_sem: return set_once(&i->sem, m->value);
    case FIELD_scope: return set_once(&i->scope, m->value);
    case FIELD_layout_a: return set_layout(i, (uint8_t)m->value);
    case FIELD_count: return set_once(&i->count, m->value);
    case FIELD_geom: return set_once(&i->geom, m->value);
    case FIELD_mip: return set_once(&i->mip, m->value);
    case FIELD_image: return set_once(&i->image, m->value);
    case FIELD_flags: i->flags |= m->value; return true;
    }
    return false;
}

static bool set_type(struct ptx_instr *i, uint8_t type)
{
    uint8_t *const slots[] = {&i->type, &i->type2, &i->type3, &i->type4};
    for (int k = 0; k < 4; k++)
        if (set_once(slots[k], type)) return true;
    return false;
}

static bool apply(const struct strmap *words, struct ptx_instr *i, const char *text, size_t len)
{
    const union meaning w = find_word(words, text, len);
    if (w.type) return set_type(i, w.type);
    if (w.vec) return set_once(&i->vec, w.vec);
    if (w.shape) return set_once(&i->shape, w.shape);
    if (!w.modifier) return false;
    const struct modifier *first = &modifiers[w.modifier - 1];
    for (const struct modifier *m = first; m < modifiers + COUNT_MODIFIERS; m++)
        if ((m == first || strcmp(m->word, first->word) == 0) && row_suits(m, i->op)) return apply_row(i, m);
    return false;
}

/* ---- a whole spelling ---- */

/* Sets the opcode by the longest match of leading words; returns the length used. */
static size_t find_op(const struct strmap *words, struct ptx_instr *i, const char *text, size_t len)
{
    enum { WORDS_MAX = 4 };
    size_t ends[WORDS_MAX], n = 0;
    for (size_t k = 0; k <= len && n < WORDS_MAX; k++)
        if (k == len || text[k] == '.') ends[n++] = k;
    while (n-- > 0) {
        i->op = find_word(words, text, ends[n]).op;
        if (i->op) return ends[n];
    }
    i->flags |= PTX_F_UNKNOWN;
    return ends[0];
}

static bool needs_type(const struct ptx_instr *i)
{
    switch (ptx_op_class((enum ptx_op)i->op)) {
    case PTX_CLASS_ALU:
    case PTX_CLASS_SFU: return true;
    default: break;
    }
    switch (i->op) {
    case PTX_OP_MOV:
    case PTX_OP_CVT:
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED: return true;
    default: return false;
    }
}

static void take_apart(const struct strmap *words, struct ptx_template *t, const char *text, size_t len)
{
    struct ptx_instr *i = &t->instr;
    size_t at = find_op(words, i, text, len);
    while (at < len) {
        const char *word = text + at + 1;
        const char *dot = memchr(word, '.', len - at - 1);
        const size_t word_len = dot ? (size_t)(dot - word) : len - at - 1;
        if (!apply(words, i, word, word_len)) {
            i->flags |= PTX_F_UNKNOWN;
            if (!t->unknown) {
                t->unknown = word;
                t->unknown_len = (uint32_t)word_len;
            }
        }
        at += 1 + word_len;
    }
    if (!i->vec) i->vec = 1;
    if (len > 4 && memcmp(text, "bar.", 4) == 0) i->flags |= PTX_F_ALIGNED;
    i->n_dsts = op_destinations[i->op];
    /* of a texture fetch: the type of its coordinates */
    const bool converts =
        i->op == PTX_OP_CVT || i->op == PTX_OP_SET || i->op == PTX_OP_TEX || i->op == PTX_OP_TLD4;
    t->source_type = converts && i->type2 ? i->type2 : i->type;
    t->needs_type = i->op != PTX_OP_UNKNOWN && needs_type(i);
}

/* `add.f23` is a slip of the user; `add.f8x4` may be PTX that is newer than Atoll. */
static void check_type(struct ptx_parser *p, const struct ptx_token *mnemonic, const struct ptx_template *t)
{
    if (!t->needs_type || t->instr.type) return;
    if (!t->unknown) {
        ptx_note(p, mnemonic, "'%s' needs a type, such as '.s32'", ptx_tok_text(p, mnemonic));
        return;
    }
    const char *near = ptx_nearest_type(t->unknown, t->unknown_len);
    if (!near) return;
    struct ptx_token word = *mnemonic;
    word.text = t->unknown - 1;
    word.len = t->unknown_len + 1;
    ptx_note(p, &word, "'%s' is not a type: did you mean '.%s'?", ptx_tok_text(p, &word), near);
}

const struct ptx_template *ptx_decode(struct ptx_parser *p, const struct ptx_token *mnemonic)
{
    bool fresh;
    uint64_t *slot = strmap_put(&p->spelling_of, mnemonic->text, mnemonic->len, &fresh);
    if (!fresh) return &PTX_AT(p->templates, struct ptx_template, *slot);
    if (p->templates.count >= SPELLINGS_MAX)
        ptx_fail(p, mnemonic, "more than %d different instructions in one module", (int)SPELLINGS_MAX);
    if (!p->words.count) fill_words(&p->words);
    *slot = p->templates.count;
    struct ptx_template *t = ptx_vec_push(&p->templates);
    *(const char **)ptx_vec_push(&p->spellings) = arena_strndup(p->arena, mnemonic->text, mnemonic->len);
    t->instr.spelling = (uint32_t)*slot;
    t->instr.guard = PTX_NO_REG;
    take_apart(&p->words, t, mnemonic->text, mnemonic->len);
    check_type(p, mnemonic, t);
    return t;
}
