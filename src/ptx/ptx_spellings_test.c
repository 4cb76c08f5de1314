/* Every spelling that 716 real CUDA programs use (tests/reference/ptx/spellings.txt) parses, is known
 * completely, and stands in a module that NVIDIA's assembler accepts (where it is installed), so the operands
 * are right too. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "ptx/cfg.h"

enum { SPELLINGS_MAX = 1000, TEXT_MAX = 1 << 20 };

/* ---- a spelling, taken apart by hand (not by the code under test) ---- */

struct spelling {
    char full[160];
    char words[16][32];
    int n_words;
    char types[4][16];
    int n_types;
    int vec;
};

static bool is_type(const char *w)
{
    static const char *const types[] = {"b8",  "b16",  "b32",   "b64",  "u8",   "u16",   "u32",
                                        "u64", "s8",   "s16",   "s32",  "s64",  "f16",   "f32",
                                        "f64", "bf16", "f16x2", "tf32", "pred", "bf16x2"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(w, types[i]) == 0) return true;
    return false;
}

static void split(struct spelling *s, const char *full)
{
    memset(s, 0, sizeof *s);
    s->vec = 1;
    (void)snprintf(s->full, sizeof s->full, "%s", full);
    char copy[160];
    (void)snprintf(copy, sizeof copy, "%s", full);
    char *save = NULL;
    for (char *w = strtok_r(copy, ".", &save); w; w = strtok_r(NULL, ".", &save)) {
        (void)snprintf(s->words[s->n_words++], sizeof *s->words, "%.31s", w);
        if (s->n_words > 1 && is_type(w))
            (void)snprintf(s->types[s->n_types++], sizeof *s->types, "%.15s", w);
        if (strcmp(w, "v2") == 0) s->vec = 2;
        if (strcmp(w, "v4") == 0) s->vec = 4;
    }
}

static bool has(const struct spelling *s, const char *word)
{
    for (int i = 0; i < s->n_words; i++)
        if (strcmp(s->words[i], word) == 0) return true;
    return false;
}

static bool is_op(const struct spelling *s, const char *op) { return strcmp(s->words[0], op) == 0; }

static int bits_of(const char *type)
{
    if (strcmp(type, "pred") == 0) return 1;
    if (strstr(type, "x2") || strcmp(type, "tf32") == 0) return 32;
    while (*type && !isdigit((unsigned char)*type)) type++;
    return atoi(type);
}

/* A register of that many bits; n tells them apart. */
static const char *reg(int bits, int n)
{
    static char names[16][16];
    static int next;
    char *name = names[next++ & 15];
    const char *prefix = bits == 1 ? "%p" : bits <= 16 ? "%rs" : bits == 32 ? "%r" : "%rd";
    (void)snprintf(name, sizeof *names, "%s%d", prefix, n);
    return name;
}

struct text {
    char *bytes;
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->len += (size_t)vsnprintf(t->bytes + t->len, TEXT_MAX - t->len, format, args);
    va_end(args);
    assert_true(t->len < TEXT_MAX);
}

static void put_vector(struct text *t, int bits, int count)
{
    put(t, "{");
    for (int i = 0; i < count; i++) put(t, "%s%s", i ? ", " : "", reg(bits, i + 1));
    put(t, "}");
}

static void put_value(struct text *t, const struct spelling *s, int bits)
{
    if (s->vec > 1)
        put_vector(t, bits, s->vec);
    else
        put(t, "%s", reg(bits, 1));
}

/* ---- operands by family ---- */

static void put_memory(struct text *t, const struct spelling *s)
{
    const int bits = bits_of(s->types[0]);
    if (is_op(s, "ld")) {
        put_value(t, s, bits);
        put(t, ", [%s]", has(s, "param") ? "p" : has(s, "const") ? "constants" : "%rd9");
    } else if (is_op(s, "st")) {
        put(t, "[%s], ", has(s, "param") ? "param0" : "%rd9");
        put_value(t, s, bits);
    } else if (is_op(s, "red")) {
        put(t, "[%%rd9], %s", reg(bits, 1));
    } else {
        put(t, "%s, [%%rd9], %s", reg(bits, 1), reg(bits, 2));
        if (has(s, "cas")) put(t, ", %s", reg(bits, 3));
    }
}

/* Registers of a wmma fragment: which fragment, shape, type. */
static int fragment_regs(const struct spelling *s, char which, const char *type)
{
    if (strcmp(type, "f64") == 0) return which == 'a' || which == 'b' ? 1 : 2;
    if (which == 'c' || which == 'd') return strcmp(type, "f16") == 0 ? 4 : 8;
    if (strcmp(type, "f16") == 0) return 8;
    if (strcmp(type, "bf16") == 0 || strcmp(type, "tf32") == 0) return 4;
    if (has(s, "m32n8k16")) return which == 'a' ? 4 : 1;
    if (has(s, "m8n32k16")) return which == 'a' ? 1 : 4;
    return 2;
}

static void put_wmma(struct text *t, const struct spelling *s)
{
    const int bits = strcmp(s->types[0], "f64") == 0 ? 64 : 32;
    if (has(s, "mma")) {
        const bool short_form = s->n_types == 2; /* .f32.f32: D and C; A and B are f16 */
        put_vector(t, bits, fragment_regs(s, 'd', s->types[0]));
        put(t, ", ");
        put_vector(t, bits, fragment_regs(s, 'a', short_form ? "f16" : s->types[1]));
        put(t, ", ");
        put_vector(t, bits, fragment_regs(s, 'b', short_form ? "f16" : s->types[2]));
        put(t, ", ");
        put_vector(t, bits, fragment_regs(s, 'c', short_form ? s->types[1] : s->types[3]));
        return;
    }
    const char which = s->words[2][0];
    if (has(s, "store")) put(t, "[%%rd9], ");
    put_vector(t, bits, fragment_regs(s, which, s->types[0]));
    if (has(s, "load")) put(t, ", [%%rd9]");
    put(t, ", %%r9");
}

static void put_sync(struct text *t, const struct spelling *s)
{
    if (is_op(s, "bar") && has(s, "warp"))
        put(t, "%%r9");
    else if (is_op(s, "bar") && has(s, "red"))
        put(t, "%%p1, 0, %%p2");
    else if (is_op(s, "bar") || is_op(s, "barrier"))
        put(t, "0");
    else if (is_op(s, "nanosleep"))
        put(t, "100");
    else if (is_op(s, "activemask"))
        put(t, "%%r1");
    else if (is_op(s, "shfl"))
        put(t, "%%r1|%%p1, %%r2, 1, 31, -1");
    else if (is_op(s, "vote"))
        put(t, "%s, %%p2, -1", has(s, "ballot") ? "%r1" : "%p1");
    else if (is_op(s, "match"))
        put(t, "%%r1, %s, -1", reg(bits_of(s->types[0]), 2));
    else if (is_op(s, "mbarrier") && has(s, "init"))
        put(t, "[%%r9], 32");
    else if (is_op(s, "mbarrier") && has(s, "inval"))
        put(t, "[%%r9]");
    else if (is_op(s, "mbarrier") && has(s, "arrive"))
        put(t, "%%rd1, [%%r9]");
    else if (is_op(s, "mbarrier"))
        put(t, "%%p1, [%%r9], %s", has(s, "parity") ? "%r1" : "%rd1");
}

static void put_copy(struct text *t, const struct spelling *s)
{
    if (has(s, "mbarrier"))
        put(t, "[%%r9]");
    else if (has(s, "wait_group"))
        put(t, "1");
    else if (!has(s, "commit_group"))
        put(t, "[%%r9], [%%rd9], 16");
}

static void put_texture(struct text *t, const struct spelling *s)
{
    if (is_op(s, "sust")) {
        put(t, "[%%rd9, {%%r1, %%r2}], {%%r3}");
        return;
    }
    put_vector(t, 32, 4);
    put(t, ", [%%rd9, ");
    put_vector(t, 32, has(s, "1d") ? 1 : has(s, "2d") ? 2 : 4);
    put(t, "]");
}

static void put_plain(struct text *t, const struct spelling *s)
{
    const int a = s->n_types ? bits_of(s->types[0]) : 0, b = s->n_types > 1 ? bits_of(s->types[1]) : a;
    static const char *const one[] = {"mov", "abs", "neg", "not",  "rcp",  "sqrt", "rsqrt", "sin",
                                      "cos", "lg2", "ex2", "cvta", "brev", "tanh", "cvt"};
    static const char *const counts[] = {"popc", "clz", "bfind"};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        if (is_op(s, one[i])) {
            put(t, "%s, %s", reg(a, 1), reg(b, 2));
            return;
        }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (is_op(s, counts[i])) {
            put(t, "%%r1, %s", reg(a, 2));
            return;
        }
    const int d = has(s, "wide") ? 2 * a : a;
    if (is_op(s, "setp"))
        put(t, "%%p1, %s, %s", reg(a, 1), reg(a, 2));
    else if (is_op(s, "set"))
        put(t, "%s, %s, %s", reg(a, 1), reg(b, 2), reg(b, 3));
    else if (is_op(s, "selp"))
        put(t, "%s, %s, %s, %%p1", reg(a, 1), reg(a, 2), reg(a, 3));
    else if (is_op(s, "shl") || is_op(s, "shr"))
        put(t, "%s, %s, %%r3", reg(a, 1), reg(a, 2));
    else if (is_op(s, "bfi"))
        put(t, "%s, %s, %s, %%r3, %%r4", reg(a, 1), reg(a, 2), reg(a, 3));
    else if (is_op(s, "lop3"))
        put(t, "%%r1, %%r2, %%r3, %%r4, 0x96");
    else if (is_op(s, "bmsk"))
        put(t, "%%r1, %%r2, %%r3");
    else if (is_op(s, "prmt") || is_op(s, "shf") || is_op(s, "dp4a") || s->words[0][0] == 'v')
        put(t, "%%r1, %%r2, %%r3, %%r4");
    else if (is_op(s, "fma") || is_op(s, "mad") || is_op(s, "madc"))
        put(t, "%s, %s, %s, %s", reg(d, 1), reg(a, 2), reg(a, 3), reg(d, 4));
    else
        put(t, "%s, %s, %s", reg(d, 1), reg(a, 2), reg(a, 3));
}

static void put_operands(struct text *t, const struct spelling *s)
{
    static const char *const memory[] = {"ld", "st", "atom", "red"};
    static const char *const sync[] = {"bar",  "barrier", "nanosleep", "activemask",
                                       "shfl", "vote",    "match",     "mbarrier"};
    static const char *const none[] = {"ret", "exit", "trap", "membar", "fence"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (is_op(s, none[i])) return;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (is_op(s, memory[i])) {
            put_memory(t, s);
            return;
        }
    for (size_t i = 0; i < sizeof sync / sizeof *sync; i++)
        if (is_op(s, sync[i])) {
            put_sync(t, s);
            return;
        }
    if (is_op(s, "bra"))
        put(t, "END");
    else if (is_op(s, "call"))
        put(t, "nothing");
    else if (is_op(s, "wmma"))
        put_wmma(t, s);
    else if (is_op(s, "cp"))
        put_copy(t, s);
    else if (is_op(s, "prefetch"))
        put(t, "[%%rd9]");
    else if (is_op(s, "tex") || is_op(s, "sust"))
        put_texture(t, s);
    else
        put_plain(t, s);
}

/* ---- the module ---- */

static const char head[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".const .align 16 .b8 constants[64];\n"
                           ".func nothing() { ret; }\n"
                           ".func taker(.param .align 16 .b8 a[32]) { ret; }\n"
                           ".visible .entry k(.param .align 16 .b8 p[64])\n{\n"
                           "\t.reg .pred %p<10>; .reg .b16 %rs<10>; .reg .b32 %r<10>; .reg .b64 %rd<10>;\n"
                           "\tld.param.u64 %rd9, [p]; mov.u32 %r9, %tid.x; setp.eq.u32 %p9, %r9, 77;\n";
enum { HEAD_INSTRS = 3 };

static int n_spellings;
static struct spelling spellings[SPELLINGS_MAX];

static int read_spellings(void **state)
{
    (void)state;
    FILE *f = fopen("tests/reference/ptx/spellings.txt", "r");
    if (!f) return 1;
    char line[160];
    n_spellings = 0;
    while (fgets(line, sizeof line, f) && n_spellings < SPELLINGS_MAX) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0]) split(&spellings[n_spellings++], line);
    }
    (void)fclose(f);
    return 0;
}

static char *make_module(void)
{
    struct text t = {.bytes = malloc(TEXT_MAX)};
    assert_non_null(t.bytes);
    put(&t, "%s", head);
    for (int i = 0; i < n_spellings; i++) {
        const struct spelling *s = &spellings[i];
        const bool argument = is_op(s, "st") && has(s, "param");
        const bool leaves = is_op(s, "ret") || is_op(s, "exit") || is_op(s, "trap") || is_op(s, "bra");
        if (argument) put(&t, "\t{ .param .align 16 .b8 param0[32];");
        put(&t, "\t%s%s ", leaves ? "@%p9 " : "", s->full);
        put_operands(&t, s);
        put(&t, ";%s\n", argument ? " call taker, (param0); }" : "");
    }
    put(&t, "END:\n\tret;\n}\n");
    return t.bytes;
}

struct job {
    struct arena arena;
    struct diag_source source;
    struct ptx_module *module;
};

static void parse_body(void *arg)
{
    struct job *j = arg;
    j->module = ptx_parse(&j->arena, &j->source);
    (void)ptx_cfg_build(&j->arena, j->module->funcs[2]);
}

static void every_spelling_is_known_to_its_last_word(void **state)
{
    (void)state;
    assert_int_equal(n_spellings, 731);
    char *text = make_module();
    struct job j = {.source = {.name = "spellings.ptx", .text = text, .len_bytes = strlen(text)}};
    struct diag d;
    arena_init(&j.arena);
    diag_init(&d);
    if (diag_run(&d, parse_body, &j)) fail_msg("%s", d.text);
    const struct ptx_func *k = j.module->funcs[2];
    uint32_t pc = HEAD_INSTRS;
    for (int i = 0; i < n_spellings; i++, pc++) {
        const struct ptx_instr *x = &k->instrs[pc];
        assert_string_equal(ptx_spelling(k, x), spellings[i].full);
        if (x->op == PTX_OP_UNKNOWN || x->flags & PTX_F_UNKNOWN)
            fail_msg("'%s' is not known", spellings[i].full);
        assert_int_equal(x->vec, spellings[i].vec);
        if (spellings[i].n_types)
            assert_string_equal(ptx_type_name((enum ptx_type)x->type), spellings[i].types[0]);
        if (spellings[i].n_types > 3)
            assert_string_equal(ptx_type_name((enum ptx_type)x->type4), spellings[i].types[3]);
        if (is_op(&spellings[i], "st") && has(&spellings[i], "param")) pc++; /* its call */
    }
    assert_int_equal(k->instrs[pc].op, PTX_OP_RET);
    diag_clear(&d);
    arena_free(&j.arena);
    free(text);
}

static void ptxas_accepts_the_module_of_all_spellings(void **state)
{
    (void)state;
    if (access("/usr/local/cuda/bin/ptxas", X_OK)) skip();
    char path[] = "/tmp/atoll_spellings_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    char *text = make_module();
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
    char command[256], said[4000];
    (void)snprintf(command, sizeof command,
                   "/usr/local/cuda/bin/ptxas -arch=sm_90 -O0 -c %s -o /dev/null 2>&1", path);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    const size_t n = fread(said, 1, sizeof said - 1, out);
    said[n] = '\0';
    const int status = pclose(out);
    (void)unlink(path);
    free(text);
    if (status) fail_msg("%s", said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_is_known_to_its_last_word),
        cmocka_unit_test(ptxas_accepts_the_module_of_all_spellings),
    };
    return cmocka_run_group_tests(tests, read_spellings, NULL);
}
