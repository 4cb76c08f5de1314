/* parse_const: constant expressions, as in C: 64-bit signed or unsigned integers, or double.
 * Precedence climbing; depth is bounded so that hostile input cannot exhaust the stack. */
#include <math.h>
#include <string.h>

#include "ptx/parse.h"

enum { EXPRESSION_DEPTH_MAX = 200 };

static struct ptx_const ternary(struct ptx_parser *p, int depth);

double ptx_const_value(struct ptx_const c)
{
    if (c.is_float == 64) {
        double d;
        memcpy(&d, &c.bits, sizeof d);
        return d;
    }
    if (c.is_float == 32) {
        float f;
        const uint32_t low = (uint32_t)c.bits;
        memcpy(&f, &low, sizeof f);
        return (double)f;
    }
    return c.is_unsigned ? (double)c.bits : (double)(int64_t)c.bits;
}

static struct ptx_const from_double(double d)
{
    struct ptx_const c = {.is_float = 64};
    memcpy(&c.bits, &d, sizeof d);
    return c;
}

static bool is_true(struct ptx_const c) { return c.is_float ? ptx_const_value(c) != 0 : c.bits != 0; }

static struct ptx_const from_bool(bool b) { return (struct ptx_const){.bits = b}; }

static void need_integer(struct ptx_parser *p, const struct ptx_token *at, struct ptx_const c)
{
    if (c.is_float) ptx_fail(p, at, "this operator takes integers only");
}

/* (.s64) or (.u64) before a value */
static bool cast(struct ptx_parser *p, struct ptx_const *c, int depth);

static struct ptx_const primary(struct ptx_parser *p, int depth)
{
    if (depth > EXPRESSION_DEPTH_MAX) ptx_fail(p, &p->tok, "this expression nests too deep");
    struct ptx_const c = {0};
    const struct ptx_token at = p->tok;
    if (p->tok.kind == PTX_TOK_NUMBER) {
        const struct ptx_number n = ptx_lex_number(&p->lex, &p->tok);
        ptx_next(p);
        return (struct ptx_const){.bits = n.bits, .is_float = n.is_float, .is_unsigned = n.is_unsigned};
    }
    if (p->tok.kind == PTX_TOK_IDENT && ptx_tok_is(&p->tok, "WARP_SZ")) {
        ptx_next(p);
        return (struct ptx_const){.bits = 32};
    }
    switch (p->tok.kind) {
    case '(':
        ptx_next(p);
        if (cast(p, &c, depth)) return c;
        c = ternary(p, depth + 1);
        ptx_expect(p, ')', "after the expression");
        return c;
    case '-':
        ptx_next(p);
        c = primary(p, depth + 1);
        if (c.is_float == 32)
            c.bits ^= 0x80000000u;
        else if (c.is_float)
            c.bits ^= UINT64_C(1) << 63;
        else
            c.bits = 0 - c.bits;
        return c;
    case '+': ptx_next(p); return primary(p, depth + 1);
    case '~':
        ptx_next(p);
        c = primary(p, depth + 1);
        need_integer(p, &at, c);
        c.bits = ~c.bits;
        return c;
    case '!': ptx_next(p); return from_bool(!is_true(primary(p, depth + 1)));
    default: ptx_fail(p, &at, "a constant was expected, not '%s'", ptx_tok_text(p, &at));
    }
}

static bool cast(struct ptx_parser *p, struct ptx_const *c, int depth)
{
    if (p->tok.kind != PTX_TOK_DOT) return false;
    const bool to_signed = ptx_tok_is(&p->tok, "s64");
    if (!to_signed && !ptx_tok_is(&p->tok, "u64"))
        ptx_fail(p, &p->tok, "a constant can be cast to .s64 or .u64 only");
    ptx_next(p);
    ptx_expect(p, ')', "after the type");
    *c = primary(p, depth + 1);
    c->is_unsigned = !to_signed;
    return true;
}

static int precedence(uint8_t kind)
{
    switch (kind) {
    case '*':
    case '/':
    case '%': return 10;
    case '+':
    case '-': return 9;
    case PTX_TOK_LSHIFT:
    case PTX_TOK_RSHIFT: return 8;
    case '<':
    case '>':
    case PTX_TOK_LE:
    case PTX_TOK_GE: return 7;
    case PTX_TOK_EQ:
    case PTX_TOK_NE: return 6;
    case '&': return 5;
    case '^': return 4;
    case '|': return 3;
    case PTX_TOK_ANDAND: return 2;
    case PTX_TOK_OROR: return 1;
    default: return 0;
    }
}

static struct ptx_const apply_float(struct ptx_parser *p, const struct ptx_token *op, double a, double b)
{
    switch (op->kind) {
    case '*': return from_double(a * b);
    case '/': return from_double(a / b);
    case '+': return from_double(a + b);
    case '-': return from_double(a - b);
    case '<': return from_bool(a < b);
    case '>': return from_bool(a > b);
    case PTX_TOK_LE: return from_bool(a <= b);
    case PTX_TOK_GE: return from_bool(a >= b);
    case PTX_TOK_EQ: return from_bool(a == b);
    case PTX_TOK_NE: return from_bool(a != b);
    default: ptx_fail(p, op, "this operator takes integers only");
    }
}

static uint64_t divide(struct ptx_parser *p, const struct ptx_token *op, uint64_t a, uint64_t b,
                       bool is_unsigned)
{
    if (!b) ptx_fail(p, op, "division by zero in a constant expression");
    const bool remainder = op->kind == '%';
    if (is_unsigned) return remainder ? a % b : a / b;
    if (b == UINT64_MAX) return remainder ? 0 : 0 - a; /* INT64_MIN / -1 */
    return remainder ? (uint64_t)((int64_t)a % (int64_t)b) : (uint64_t)((int64_t)a / (int64_t)b);
}

static struct ptx_const apply_integer(struct ptx_parser *p, const struct ptx_token *op, struct ptx_const x,
                                      struct ptx_const y)
{
    const uint64_t a = x.bits, b = y.bits;
    const bool u = x.is_unsigned || y.is_unsigned;
    const int64_t sa = (int64_t)a, sb = (int64_t)b;
    struct ptx_const c = {.is_unsigned = u};
    switch (op->kind) {
    case '*': c.bits = a * b; return c;
    case '/':
    case '%': c.bits = divide(p, op, a, b, u); return c;
    case '+': c.bits = a + b; return c;
    case '-': c.bits = a - b; return c;
    case PTX_TOK_LSHIFT: return (struct ptx_const){.bits = b > 63 ? 0 : a << b, .is_unsigned = x.is_unsigned};
    case PTX_TOK_RSHIFT:
        c.is_unsigned = x.is_unsigned;
        c.bits = x.is_unsigned ? (b > 63 ? 0 : a >> b) : (uint64_t)(sa >> (b > 63 ? 63 : b));
        return c;
    case '<': return from_bool(u ? a < b : sa < sb);
    case '>': return from_bool(u ? a > b : sa > sb);
    case PTX_TOK_LE: return from_bool(u ? a <= b : sa <= sb);
    case PTX_TOK_GE: return from_bool(u ? a >= b : sa >= sb);
    case PTX_TOK_EQ: return from_bool(a == b);
    case PTX_TOK_NE: return from_bool(a != b);
    case '&': c.bits = a & b; return c;
    case '^': c.bits = a ^ b; return c;
    case '|': c.bits = a | b; return c;
    case PTX_TOK_ANDAND: return from_bool(a && b);
    default: return from_bool(a || b);
    }
}

static struct ptx_const binary(struct ptx_parser *p, int at_least, int depth)
{
    struct ptx_const left = primary(p, depth);
    for (;;) {
        const struct ptx_token op = p->tok;
        const int level = precedence(op.kind);
        if (!level || level < at_least) return left;
        ptx_next(p);
        const struct ptx_const right = binary(p, level + 1, depth + 1);
        left = left.is_float || right.is_float
                   ? apply_float(p, &op, ptx_const_value(left), ptx_const_value(right))
                   : apply_integer(p, &op, left, right);
    }
}

static struct ptx_const ternary(struct ptx_parser *p, int depth)
{
    const struct ptx_const condition = binary(p, 1, depth);
    if (!ptx_accept(p, '?')) return condition;
    const struct ptx_const yes = ternary(p, depth + 1);
    ptx_expect(p, ':', "in the conditional expression");
    const struct ptx_const no = ternary(p, depth + 1);
    return is_true(condition) ? yes : no;
}

struct ptx_const ptx_parse_const(struct ptx_parser *p) { return ternary(p, 0); }

uint64_t ptx_parse_u64(struct ptx_parser *p, const char *what, uint64_t max)
{
    const struct ptx_token at = p->tok;
    const struct ptx_const c = ptx_parse_const(p);
    if (c.is_float || (!c.is_unsigned && (int64_t)c.bits < 0))
        ptx_fail(p, &at, "%s must be a whole number that is not negative", what);
    if (c.bits > max)
        ptx_fail(p, &at, "%s of %llu is beyond the limit of %llu", what, (unsigned long long)c.bits,
                 (unsigned long long)max);
    return c.bits;
}
