/* check: do the operands suit the instruction? Number, kind and width, so that execution can trust them.
 *
 * A signature has one letter per operand; those after '?' may be missing:
 *   T 2   width of the first / second type           W   twice the width of the first type
 *   L     at least the first type (load, cvt, st)    l   at least the second type
 *   P     predicate     I  32 bits     A  address    X   anything
 *   M     a matrix fragment: 32-bit elements, or 64-bit ones of .f64 */
#include <string.h>

#include "ptx/parse.h"

static const char *barrier_signature(const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_BAR_SYNC: return "I?I";
    case PTX_OP_BAR_ARRIVE: return "II";
    default:
        return i->n_operands == 4       ? (i->sub == PTX_SUB_POPC ? "IIIP" : "PIIP")
               : i->sub == PTX_SUB_POPC ? "IIP"
                                        : "PIP";
    }
}

static const char *memory_signature(const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU: return "LA?X";
    case PTX_OP_ST: return "AL?X";
    case PTX_OP_ATOM: return i->sub == PTX_SUB_CAS ? "TATT?X" : "TAT?X";
    case PTX_OP_RED: return "AT?X";
    case PTX_OP_CP_ASYNC: return "AAX?XX";
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU: return "A?X";
    default: return NULL;
    }
}

static const char *tensor_signature(const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_WMMA_LOAD: return "MA?I";
    case PTX_OP_WMMA_STORE: return "AM?I";
    case PTX_OP_WMMA_MMA:
    case PTX_OP_MMA: return i->flags & PTX_F_UNKNOWN ? NULL : "MMMM";
    case PTX_OP_LDMATRIX: return "MA";
    case PTX_OP_STMATRIX: return "AM";
    default: return NULL;
    }
}

static const char *warp_signature(const struct ptx_instr *i)
{
    const bool pair = i->n_dsts == 2, sync = i->flags & PTX_F_SYNC;
    switch (i->op) {
    case PTX_OP_SHFL: return pair ? (sync ? "IPIIII" : "IPIII") : sync ? "IIIII" : "IIII";
    case PTX_OP_VOTE: return i->sub == PTX_SUB_BALLOT ? (sync ? "IPI" : "IP") : sync ? "PPI" : "PP";
    case PTX_OP_MATCH: return pair ? "IPTI" : "ITI";
    case PTX_OP_REDUX: return "TTI";
    case PTX_OP_ACTIVEMASK: return "I";
    case PTX_OP_ELECT: return pair ? "IPI" : "II";
    default: return NULL;
    }
}

#define ANY "X" /* of mixed types: they are only counted */

static const char *alu_signature(const struct ptx_instr *i)
{
    const bool wide = i->part == PTX_PART_WIDE, pair = i->n_dsts == 2;
    switch (i->op) {
    case PTX_OP_ADD:
    case PTX_OP_SUB: return i->type2 ? ANY ANY ANY : "TTT";
    case PTX_OP_MIN:
    case PTX_OP_MAX: return "TTT?T";
    case PTX_OP_ADDC:
    case PTX_OP_SUBC:
    case PTX_OP_DIV:
    case PTX_OP_REM:
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_COPYSIGN: return "TTT";
    case PTX_OP_MUL: return wide ? "WTT" : "TTT";
    case PTX_OP_MUL24: return "TTT";
    case PTX_OP_MAD:
    case PTX_OP_MADC: return wide ? "WTTW" : "TTTT";
    case PTX_OP_FMA: return i->type2 ? ANY ANY ANY ANY : "TTTT";
    case PTX_OP_MAD24:
    case PTX_OP_SAD: return "TTTT";
    case PTX_OP_ABS:
    case PTX_OP_NEG:
    case PTX_OP_NOT:
    case PTX_OP_CNOT:
    case PTX_OP_RCP:
    case PTX_OP_SQRT:
    case PTX_OP_RSQRT:
    case PTX_OP_SIN:
    case PTX_OP_COS:
    case PTX_OP_LG2:
    case PTX_OP_EX2:
    case PTX_OP_TANH:
    case PTX_OP_BREV: return "TT";
    case PTX_OP_POPC:
    case PTX_OP_CLZ:
    case PTX_OP_BFIND: return "IT";
    case PTX_OP_BFE: return "TTII";
    case PTX_OP_BFI: return "TTTII";
    case PTX_OP_SZEXT: return "TTI";
    case PTX_OP_BMSK: return "III";
    case PTX_OP_FNS:
    case PTX_OP_DP4A:
    case PTX_OP_DP2A:
    case PTX_OP_SHF: return "IIII";
    case PTX_OP_PRMT: return "IIII";
    case PTX_OP_TESTP: return "PT";
    case PTX_OP_SET: return "T22?P";
    case PTX_OP_SETP: return pair ? "PPTT?P" : "PTT?P";
    case PTX_OP_SELP: return "TTTP";
    case PTX_OP_SLCT: return "TTT2";
    case PTX_OP_SHL:
    case PTX_OP_SHR: return "TTI";
    case PTX_OP_LOP3: return pair ? "TPTTTIP" : "TTTTI";
    case PTX_OP_MOV: return "TT";
    case PTX_OP_CVT: return i->type2 ? "Ll?ll" : NULL;
    case PTX_OP_CVTA: return "TT";
    case PTX_OP_ISTYPEP: return "PX";
    case PTX_OP_BRX_IDX: return "IX";
    case PTX_OP_NANOSLEEP: return "I";
    default: return NULL;
    }
}

static const char *signature_of(const struct ptx_instr *i)
{
    if (i->flags & PTX_F_UNKNOWN) return NULL;
    switch (ptx_op_class((enum ptx_op)i->op)) {
    case PTX_CLASS_MEM: return memory_signature(i);
    case PTX_CLASS_WARP: return warp_signature(i);
    case PTX_CLASS_TENSOR: return tensor_signature(i);
    case PTX_CLASS_SYNC:
        if (i->op == PTX_OP_BAR_SYNC || i->op == PTX_OP_BAR_ARRIVE || i->op == PTX_OP_BAR_RED)
            return barrier_signature(i);
        return alu_signature(i);
    default: return alu_signature(i);
    }
}

/* ---- one operand ---- */

struct checked {
    struct ptx_parser *p;
    const struct ptx_instr *i;
    const struct ptx_token *mnemonic;
    const char *at; /* text of the operand */
};

/* Re-finds line and width of an operand; for messages only. */
static struct ptx_token operand_token(const struct checked *c)
{
    struct ptx_token t = *c->mnemonic;
    if (!c->at) return t;
    for (const char *s = t.text; s < c->at; s++) {
        if (*s != '\n') continue;
        t.line++;
        t.line_start = s + 1;
    }
    t.text = c->at;
    t.len = 1;
    while (t.text + t.len < c->p->lex.end && strchr(",;|\n]", t.text[t.len]) == NULL) t.len++;
    return t;
}

static void mismatch(const struct checked *c, const struct ptx_reg *r, uint32_t bits)
{
    const struct ptx_token t = operand_token(c);
    if (r->reg_class == PTX_REG_PRED)
        ptx_note(c->p, &t, "'%s' is a predicate, but '%s' takes %u bits here", r->name,
                 ptx_tok_text(c->p, c->mnemonic), bits);
    else if (bits == 1)
        ptx_note(c->p, &t, "'%s' is .%s, but '%s' takes a predicate here", r->name,
                 ptx_type_name((enum ptx_type)r->type), ptx_tok_text(c->p, c->mnemonic));
    else
        ptx_note(c->p, &t, "'%s' is .%s, but '%s' takes %u bits here", r->name,
                 ptx_type_name((enum ptx_type)r->type), ptx_tok_text(c->p, c->mnemonic), bits);
}

/* bits 1: predicate */
static void check_reg(const struct checked *c, uint32_t reg, uint32_t bits, bool at_least)
{
    const struct ptx_reg *r = &PTX_AT(c->p->regs, struct ptx_reg, reg);
    const uint32_t has = ptx_type_bits((enum ptx_type)r->type);
    const bool pred = r->reg_class == PTX_REG_PRED;
    if (pred != (bits == 1) || (at_least ? has < bits : has != bits)) mismatch(c, r, bits);
}

static void check_elements(const struct checked *c, const struct ptx_operand *o, uint32_t bits, bool at_least)
{
    for (uint32_t k = 0; k < o->count; k++) {
        const struct ptx_operand *e = &PTX_AT(c->p->operands, struct ptx_operand, o->id + k);
        if (e->kind == PTX_OPND_REG) check_reg(c, e->id, bits, at_least);
    }
}

/* mov.b64 d, {a, b}: the parts fill the whole, each as wide as the other. */
static void check_pack(const struct checked *c, const struct ptx_operand *o, uint32_t bits)
{
    if (o->count && bits % o->count == 0 && bits / o->count >= 8) {
        check_elements(c, o, bits / o->count, false);
        return;
    }
    const struct ptx_token t = operand_token(c);
    ptx_note(c->p, &t, "%u elements cannot fill %u bits", o->count, bits);
}

static void check_value(const struct checked *c, const struct ptx_operand *o, uint32_t bits, bool at_least)
{
    const struct ptx_instr *i = c->i;
    const bool grouped = i->op == PTX_OP_LD || i->op == PTX_OP_LDU || i->op == PTX_OP_ST ||
                         i->op == PTX_OP_ATOM || i->op == PTX_OP_RED;
    if (o->kind == PTX_OPND_VEC) {
        if (i->op == PTX_OP_MOV && i->vec == 1) {
            check_pack(c, o, bits);
        } else if (grouped && o->count != i->vec) {
            const struct ptx_token t = operand_token(c);
            ptx_note(c->p, &t, "'%s' takes %u element%s here, not %u", ptx_tok_text(c->p, c->mnemonic),
                     i->vec, i->vec == 1 ? "" : "s", o->count);
        } else {
            check_elements(c, o, bits, at_least);
        }
        return;
    }
    if (grouped && i->vec > 1 && o->kind != PTX_OPND_SINK) {
        const struct ptx_token t = operand_token(c);
        ptx_note(c->p, &t, "'%s' takes {..} with %u elements here", ptx_tok_text(c->p, c->mnemonic), i->vec);
    } else if (o->kind == PTX_OPND_REG && !o->sel) {
        check_reg(c, o->id, bits, at_least);
    } else if (o->kind == PTX_OPND_ADDR_REG || o->kind == PTX_OPND_ADDR_SYM || o->kind == PTX_OPND_ADDR_IMM) {
        const struct ptx_token t = operand_token(c);
        ptx_note(c->p, &t, "'%s' takes a value here, not an address", ptx_tok_text(c->p, c->mnemonic));
    }
}

static void check_address(const struct checked *c, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPND_ADDR_REG) {
        const struct ptx_reg *r = &PTX_AT(c->p->regs, struct ptx_reg, o->id);
        const uint32_t bits = ptx_type_bits((enum ptx_type)r->type);
        if (bits == 32 || bits == 64) return;
        const struct ptx_token t = operand_token(c);
        ptx_note(c->p, &t, "'%s' is .%s: an address takes 32 or 64 bits", r->name,
                 ptx_type_name((enum ptx_type)r->type));
    } else if (o->kind != PTX_OPND_ADDR_SYM && o->kind != PTX_OPND_ADDR_IMM) {
        const struct ptx_token t = operand_token(c);
        ptx_note(c->p, &t, "'%s' takes an address in brackets here", ptx_tok_text(c->p, c->mnemonic));
    }
}

static void check_letter(const struct checked *c, const struct ptx_operand *o, char letter)
{
    const uint32_t bits = ptx_type_bits((enum ptx_type)c->i->type),
                   bits2 = ptx_type_bits((enum ptx_type)c->i->type2);
    switch (letter) {
    case 'T': check_value(c, o, bits, false); break;
    case '2': check_value(c, o, bits2, false); break;
    case 'W': check_value(c, o, 2 * bits, false); break;
    case 'L': check_value(c, o, bits, true); break;
    case 'l': check_value(c, o, bits2, true); break;
    case 'P': check_value(c, o, 1, false); break;
    case 'I': check_value(c, o, 32, false); break;
    case 'A': check_address(c, o); break;
    case 'M': check_value(c, o, c->i->type == PTX_T_F64 ? 64 : 32, false); break;
    default: break;
    }
}

static void check_written(const struct checked *c, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPND_REG || o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_SINK) return;
    const struct ptx_token t = operand_token(c);
    ptx_note(c->p, &t, "'%s' writes here: a register was expected", ptx_tok_text(c->p, c->mnemonic));
}

/* ---- textures and surfaces ---- */

/* [object, {coordinates}]: are there as many as the geometry needs? PTX fills three up to four. */
static void check_coordinates(const struct checked *c, const struct ptx_operand *o)
{
    static const uint8_t least[] = {[PTX_GEOM_1D] = 1,    [PTX_GEOM_2D] = 2,   [PTX_GEOM_3D] = 3,
                                    [PTX_GEOM_A1D] = 2,   [PTX_GEOM_A2D] = 3,  [PTX_GEOM_CUBE] = 3,
                                    [PTX_GEOM_ACUBE] = 4, [PTX_GEOM_2DMS] = 2, [PTX_GEOM_A2DMS] = 3};
    const struct ptx_token t = operand_token(c);
    if (o->kind != PTX_OPND_LIST) {
        ptx_note(c->p, &t, "'%s' takes [object, {coordinates}] here", ptx_tok_text(c->p, c->mnemonic));
        return;
    }
    const struct ptx_operand *last = &PTX_AT(c->p->operands, struct ptx_operand, o->id + o->count - 1u);
    const uint32_t has = last->kind == PTX_OPND_VEC ? last->count : 1;
    if (has < least[c->i->geom])
        ptx_note(c->p, &t, "'%s' takes %u coordinates here, not %u", ptx_tok_text(c->p, c->mnemonic),
                 least[c->i->geom], has);
}

static void check_image(struct checked *c, const struct ptx_operand *operands, const char *const *texts)
{
    const struct ptx_instr *i = c->i;
    const bool asks = i->op == PTX_OP_TXQ || i->op == PTX_OP_SUQ;
    const uint32_t at = i->n_dsts, least = at + 1u + (i->op == PTX_OP_SUST || i->op == PTX_OP_SURED);
    if (i->n_operands < least) {
        ptx_note(c->p, c->mnemonic, "'%s' takes at least %u operands, not %u",
                 ptx_tok_text(c->p, c->mnemonic), least, i->n_operands);
        return;
    }
    c->at = texts[at];
    if (asks)
        check_address(c, &operands[at]);
    else
        check_coordinates(c, &operands[at]);
}

void ptx_check_operands(struct ptx_parser *p, const struct ptx_token *mnemonic, const struct ptx_instr *i,
                        const struct ptx_operand *operands, const char *const *texts)
{
    struct checked c = {.p = p, .i = i, .mnemonic = mnemonic};
    for (uint32_t n = 0; n < i->n_dsts; n++) {
        c.at = texts[n];
        check_written(&c, &operands[n]);
    }
    if (ptx_op_class((enum ptx_op)i->op) == PTX_CLASS_TEX && !(i->flags & PTX_F_UNKNOWN))
        check_image(&c, operands, texts);
    const char *signature = signature_of(i);
    if (!signature || (!i->type && strpbrk(signature, "TLW"))) return;
    const char *optional = strchr(signature, '?');
    const uint32_t most = (uint32_t)strlen(signature) - (optional != NULL);
    const uint32_t least = optional ? (uint32_t)(optional - signature) : most;
    if (i->n_operands < least || i->n_operands > most) {
        const char *wanted = most > least ? arena_printf(p->arena, "%u to %u", least, most)
                                          : arena_printf(p->arena, "%u", least);
        ptx_note(p, mnemonic, "'%s' takes %s operands, not %u", ptx_tok_text(p, mnemonic), wanted,
                 i->n_operands);
        return;
    }
    const char *letter = signature;
    for (uint32_t n = 0; n < i->n_operands; n++, letter++) {
        if (*letter == '?') letter++;
        c.at = texts[n];
        check_letter(&c, &operands[n], *letter);
    }
}
