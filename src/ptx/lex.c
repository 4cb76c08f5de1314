/* lex: the words of a PTX module; see lex.h. */
#include "ptx/lex.h"

#include <stdlib.h>
#include <string.h>

enum { C_OTHER, C_SPACE, C_NEWLINE, C_IDENT, C_DIGIT };

/* clang-format off */
static const uint8_t char_class[256] = {
    [' '] = C_SPACE, ['\t'] = C_SPACE, ['\r'] = C_SPACE, ['\f'] = C_SPACE, ['\v'] = C_SPACE, ['\n'] = C_NEWLINE,
    ['0' ... '9'] = C_DIGIT, ['a' ... 'z'] = C_IDENT, ['A' ... 'Z'] = C_IDENT,
    ['_'] = C_IDENT, ['$'] = C_IDENT, ['%'] = C_IDENT,
};
/* clang-format on */

static inline uint8_t class_of(char c) { return char_class[(unsigned char)c]; }
static inline bool in_word(char c) { return class_of(c) >= C_IDENT && c != '%'; }

void ptx_lex_start(struct ptx_lexer *lx, const struct diag_source *source)
{
    *lx = (struct ptx_lexer){.source = source,
                             .at = source->text,
                             .end = source->text + source->len_bytes,
                             .line_start = source->text,
                             .line = 1};
}

struct diag_place ptx_lex_place(const struct ptx_lexer *lx, const struct ptx_token *t)
{
    const uint32_t dot = t->kind == PTX_TOK_DOT; /* show it */
    return (struct diag_place){.source = lx->source,
                               .line = t->line,
                               .col = (uint32_t)(t->text - t->line_start) + 1 - dot,
                               .width = t->len ? t->len + dot : 1};
}

static void open_token(const struct ptx_lexer *lx, struct ptx_token *t)
{
    t->text = lx->at;
    t->line = lx->line;
    t->line_start = lx->line_start;
}

static void skip_block_comment(struct ptx_lexer *lx)
{
    struct ptx_token opening = {0};
    open_token(lx, &opening);
    opening.len = 2;
    for (lx->at += 2;; lx->at++) {
        if (lx->end - lx->at < 2)
            diag_mistake_at(ptx_lex_place(lx, &opening), "this comment never ends: close it with */");
        if (lx->at[0] == '*' && lx->at[1] == '/') break;
        if (*lx->at == '\n') {
            lx->line++;
            lx->line_start = lx->at + 1;
        }
    }
    lx->at += 2;
}

/* White space and comments. */
static void skip_blank(struct ptx_lexer *lx)
{
    while (lx->at < lx->end) {
        const uint8_t class = class_of(*lx->at);
        if (class == C_SPACE) {
            lx->at++;
        } else if (class == C_NEWLINE) {
            lx->line++;
            lx->line_start = ++lx->at;
        } else if (*lx->at == '/' && lx->end - lx->at > 1 && lx->at[1] == '/') {
            const char *newline = memchr(lx->at, '\n', (size_t)(lx->end - lx->at));
            lx->at = newline ? newline : lx->end;
        } else if (*lx->at == '/' && lx->end - lx->at > 1 && lx->at[1] == '*') {
            skip_block_comment(lx);
        } else {
            return;
        }
    }
}

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && in_word(*at)) at++;
    return at;
}

/* name(.word(::word)*)*; %-names take their component along. */
static const char *skip_dotted(const char *at, const char *end)
{
    at = skip_word(at, end);
    bool dotted = false;
    for (;;) {
        if (end - at > 1 && at[0] == '.' && in_word(at[1])) {
            at = skip_word(at + 1, end);
            dotted = true;
        } else if (dotted && end - at > 2 && at[0] == ':' && at[1] == ':' && in_word(at[2])) {
            at = skip_word(at + 2, end);
        } else {
            return at;
        }
    }
}

/* Digits, letters, a fraction and an exponent; ptx_lex_number() judges it. */
static const char *skip_number(const char *at, const char *end)
{
    const bool prefixed = end - at > 1 && at[0] == '0' && class_of(at[1]) == C_IDENT;
    while (at < end) {
        const uint8_t class = class_of(*at);
        if (class == C_DIGIT || (class == C_IDENT && *at != '%' && *at != '$')) {
            const bool exponent = !prefixed && (*at == 'e' || *at == 'E');
            at++;
            if (exponent && at < end && (*at == '+' || *at == '-')) at++;
        } else if (*at == '.' && !prefixed) {
            at++;
        } else {
            break;
        }
    }
    return at;
}

static void lex_string(struct ptx_lexer *lx, struct ptx_token *t)
{
    const char *at = lx->at + 1;
    while (at < lx->end && *at != '"' && *at != '\n') at += *at == '\\' && lx->end - at > 1 ? 2 : 1;
    if (at >= lx->end || *at != '"') {
        t->len = 1;
        diag_mistake_at(ptx_lex_place(lx, t), "this string never ends: close it with \"");
    }
    t->kind = PTX_TOK_STRING;
    t->text = lx->at + 1;
    t->len = (uint32_t)(at - t->text);
    lx->at = at + 1;
}

static uint8_t two_char_operator(char a, char b)
{
    switch (a) {
    case '<': return b == '<' ? PTX_TOK_LSHIFT : b == '=' ? PTX_TOK_LE : 0;
    case '>': return b == '>' ? PTX_TOK_RSHIFT : b == '=' ? PTX_TOK_GE : 0;
    case '=': return b == '=' ? PTX_TOK_EQ : 0;
    case '!': return b == '=' ? PTX_TOK_NE : 0;
    case '&': return b == '&' ? PTX_TOK_ANDAND : 0;
    case '|': return b == '|' ? PTX_TOK_OROR : 0;
    default: return 0;
    }
}

static void lex_other(struct ptx_lexer *lx, struct ptx_token *t)
{
    const char c = *lx->at;
    t->len = 1;
    if (c == '"') {
        lex_string(lx, t);
        return;
    }
    if (c <= ' ' || c == 127 || (unsigned char)c >= 128)
        diag_mistake_at(ptx_lex_place(lx, t),
                        "byte 0x%02x cannot stand in PTX text: is this file PTX at all?",
                        (unsigned)(unsigned char)c);
    const uint8_t pair = lx->end - lx->at > 1 ? two_char_operator(c, lx->at[1]) : 0;
    t->kind = pair ? pair : (uint8_t)c;
    t->len = pair ? 2 : 1;
    lx->at += t->len;
}

void ptx_lex_next(struct ptx_lexer *lx, struct ptx_token *t)
{
    skip_blank(lx);
    open_token(lx, t);
    if (lx->at >= lx->end) {
        t->kind = PTX_TOK_EOF;
        t->len = 0;
        return;
    }
    const char c = *lx->at;
    switch (class_of(c)) {
    case C_IDENT:
        t->kind = PTX_TOK_IDENT;
        lx->at = skip_dotted(lx->at + 1, lx->end);
        break;
    case C_DIGIT:
        t->kind = PTX_TOK_NUMBER;
        lx->at = skip_number(lx->at, lx->end);
        break;
    default:
        if (c == '.' && lx->end - lx->at > 1 && in_word(lx->at[1])) {
            t->kind = PTX_TOK_DOT;
            t->text++;
            lx->at = skip_word(lx->at + 1, lx->end);
            break;
        }
        lex_other(lx, t);
        return;
    }
    t->len = (uint32_t)(lx->at - t->text);
}

/* ---- numbers ---- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

static _Noreturn void bad_number(const struct ptx_lexer *lx, const struct ptx_token *t, const char *why)
{
    diag_mistake_at(ptx_lex_place(lx, t), "'%.*s' is not a number: %s", (int)(t->len < 80 ? t->len : 80),
                    t->text, why);
}

static struct ptx_number float_bits(const struct ptx_lexer *lx, const struct ptx_token *t,
                                    uint32_t hex_digits)
{
    struct ptx_number n = {.is_float = (uint8_t)(hex_digits * 4)};
    if (t->len != hex_digits + 2)
        bad_number(lx, t,
                   hex_digits == 8 ? "0f takes eight hexadecimal digits"
                                   : "0d takes sixteen hexadecimal digits");
    for (uint32_t i = 2; i < t->len; i++) {
        const int digit = digit_of(t->text[i]);
        if (digit > 15) bad_number(lx, t, "not a hexadecimal digit");
        n.bits = n.bits << 4 | (uint64_t)digit;
    }
    return n;
}

static struct ptx_number decimal_float(const struct ptx_lexer *lx, const struct ptx_token *t)
{
    char text[128];
    if (t->len >= sizeof text) bad_number(lx, t, "too long");
    memcpy(text, t->text, t->len);
    text[t->len] = '\0';
    char *rest;
    const double value = strtod(text, &rest);
    if (*rest) bad_number(lx, t, "a digit was expected");
    struct ptx_number n = {.is_float = 64};
    memcpy(&n.bits, &value, sizeof value);
    return n;
}

struct ptx_number ptx_lex_number(const struct ptx_lexer *lx, const struct ptx_token *t)
{
    const char *s = t->text;
    uint32_t i = 0, len = t->len;
    uint64_t base = 10;
    if (len > 1 && s[0] == '0') {
        const char mark = s[1] | 0x20;
        if (mark == 'f') return float_bits(lx, t, 8);
        if (mark == 'd') return float_bits(lx, t, 16);
        if (mark == 'x' || mark == 'b') {
            base = mark == 'x' ? 16 : 2;
            i = 2;
        } else if (class_of(s[1]) == C_DIGIT) {
            base = 8;
            i = 1;
        }
    }
    if (base == 10 || base == 8)
        for (uint32_t k = 0; k < len; k++)
            if (s[k] == '.' || s[k] == 'e' || s[k] == 'E') return decimal_float(lx, t);
    struct ptx_number n = {0};
    if (len > i && (s[len - 1] | 0x20) == 'u') {
        n.is_unsigned = true;
        len--;
    }
    if (i == len && base != 8) bad_number(lx, t, "digits are missing");
    for (; i < len; i++) {
        const int digit = digit_of(s[i]);
        if (digit >= (int)base) bad_number(lx, t, "a digit was expected");
        if (__builtin_mul_overflow(n.bits, base, &n.bits) ||
            __builtin_add_overflow(n.bits, (uint64_t)digit, &n.bits))
            bad_number(lx, t, "it does not fit into 64 bits");
    }
    if (n.bits > INT64_MAX) n.is_unsigned = true;
    return n;
}
