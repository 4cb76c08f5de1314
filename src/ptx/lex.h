/* lex: PTX text to tokens, one at a time, over length-delimited text (no copy, no NUL needed).
 *
 * An IDENT carries its dotted tail: `ld.global.f32`, `%tid.x`, `%r1.h0` and `ld.shared::cta.u32` are one
 * token each, because the parser looks whole mnemonics up at once. A directive or a type is a DOT token; its
 * text excludes the dot. Punctuation is its own character. */
#ifndef ATOLL_PTX_LEX_H
#define ATOLL_PTX_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

enum ptx_token_kind {
    PTX_TOK_EOF = 0,
    /* 33..126: the character itself */
    PTX_TOK_IDENT = 128,
    PTX_TOK_DOT,
    PTX_TOK_NUMBER,
    PTX_TOK_STRING, /* text without the quotes */
    PTX_TOK_LSHIFT, /* << >> <= >= == != && || of constant expressions */
    PTX_TOK_RSHIFT,
    PTX_TOK_LE,
    PTX_TOK_GE,
    PTX_TOK_EQ,
    PTX_TOK_NE,
    PTX_TOK_ANDAND,
    PTX_TOK_OROR
};

struct ptx_token {
    const char *text;
    uint32_t len;
    uint32_t line;
    const char *line_start;
    uint8_t kind;
};

struct ptx_lexer {
    const struct diag_source *source;
    const char *at, *end;
    const char *line_start;
    uint32_t line;
};

/* Value of a NUMBER token. */
struct ptx_number {
    uint64_t bits;    /* integer, or bit pattern of the floating-point value */
    uint8_t is_float; /* 0, 32 (0f........) or 64 (0d................, 1.5) */
    bool is_unsigned; /* U suffix, or beyond INT64_MAX */
};

void ptx_lex_start(struct ptx_lexer *lx, const struct diag_source *source);
void ptx_lex_next(struct ptx_lexer *lx, struct ptx_token *token);
struct ptx_number ptx_lex_number(const struct ptx_lexer *lx, const struct ptx_token *token);
struct diag_place ptx_lex_place(const struct ptx_lexer *lx, const struct ptx_token *token);

#endif
