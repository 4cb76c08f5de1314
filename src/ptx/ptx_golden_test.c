/* Golden tests: tests/golden/ptx holds one case per file, input and expectation together.
 *
 *   // expect: 6:10: message         a mistake, at that line and column; all of them, in order
 *   // expect: ok                    no mistake; then any of
 *   // expect: pc 3: text            instruction 3 of kernel k, printed
 *   // expect: func f: words         header facts       // expect: var v: words     size, bytes, relocations
 *   // expect: blocks N | unknown N | loc file:line (of instruction 0 of k)
 *   // ptxas: sm_75                  NVIDIA's assembler must accept the file where it is installed (none:
 * skip)
 *
 * Every file is also cut off after each of its bytes and must then neither crash nor leak. */
#include <dirent.h>
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
#include "ptx/flow.h"

#define FOLDER "tests/golden/ptx"

struct one {
    char path[512];
    const char *name;
    char *text;
    size_t len;
    struct arena arena;
    struct diag diag;
    struct diag_source source;
    struct ptx_module *module;
};

static void analyse(struct one *c)
{
    for (uint32_t i = 0; i < c->module->n_funcs; i++) {
        const struct ptx_func *f = c->module->funcs[i];
        if (!f->has_body) continue;
        const struct ptx_cfg *cfg = ptx_cfg_build(&c->arena, f);
        const struct ptx_defuse *du = ptx_defuse_build(&c->arena, f);
        (void)ptx_slots_build(&c->arena, cfg, du);
        (void)ptx_uniform_build(&c->arena, cfg, du, f->is_entry);
    }
}

static void parse_body(void *arg)
{
    struct one *c = arg;
    c->module = ptx_parse(&c->arena, &c->source);
    analyse(c);
}

static enum diag_kind parse(struct one *c, const char *text, size_t len)
{
    c->source = (struct diag_source){.name = c->name, .text = text, .len_bytes = len};
    c->module = NULL;
    arena_init(&c->arena);
    diag_init(&c->diag);
    return diag_run(&c->diag, parse_body, c);
}

static void drop(struct one *c)
{
    diag_clear(&c->diag);
    arena_free(&c->arena);
}

static void read_case(struct one *c)
{
    FILE *f = fopen(c->path, "rb");
    assert_non_null(f);
    c->text = malloc(1 << 20);
    assert_non_null(c->text);
    c->len = fread(c->text, 1, (1 << 20) - 1, f);
    c->text[c->len] = '\0';
    (void)fclose(f);
}

/* The next line "// KEY: rest" from *at on; NULL at the end. Copies rest. */
static bool next_mark(const char **at, const char *key, char *rest, size_t cap)
{
    char mark[32];
    (void)snprintf(mark, sizeof mark, "// %s: ", key);
    const char *found = strstr(*at, mark);
    if (!found) return false;
    found += strlen(mark);
    const char *end = strchr(found, '\n');
    const size_t len = end ? (size_t)(end - found) : strlen(found);
    (void)snprintf(rest, cap, "%.*s", (int)len, found);
    *at = found + len;
    return true;
}

/* ---- what a good module is asked ---- */

static const struct ptx_func *find_func(const struct ptx_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_funcs; i++)
        if (strcmp(m->funcs[i]->name, name) == 0) return m->funcs[i];
    fail_msg("no function '%s'", name);
    return NULL;
}

static void describe_func(const struct ptx_func *f, char *out, size_t cap)
{
    size_t n = 0;
    const char *gap = "";
#define WORDS(condition, ...) \
    if (condition) { \
        n += (size_t)snprintf(out + n, cap - n, "%s", gap); \
        n += (size_t)snprintf(out + n, cap - n, __VA_ARGS__); \
        gap = ", "; \
    }
    WORDS(f->param_bytes, "params %llu", (unsigned long long)f->param_bytes)
    WORDS(f->arg_bytes, "args %llu", (unsigned long long)f->arg_bytes)
    WORDS(f->local_bytes, "local %llu", (unsigned long long)f->local_bytes)
    WORDS(f->maxntid[0], "maxntid %u %u %u", f->maxntid[0], f->maxntid[1], f->maxntid[2])
    WORDS(f->minnctapersm, "minnctapersm %u", f->minnctapersm)
    WORDS(f->maxnreg, "maxnreg %u", f->maxnreg)
}

static void describe_var(const struct ptx_module *m, const char *name, char *out, size_t cap)
{
    for (uint32_t i = 0; i < m->n_symbols; i++) {
        const struct ptx_symbol *s = &m->symbols[i];
        if (strcmp(s->name, name) != 0) continue;
        size_t n = (size_t)snprintf(out, cap, "size %llu", (unsigned long long)s->size_bytes);
        if (s->n_relocs) {
            n += (size_t)snprintf(out + n, cap - n, ", relocs");
            for (uint32_t r = 0; r < s->n_relocs; r++) {
                const struct ptx_reloc *x = &s->relocs[r];
                const char *to = m->symbols[x->symbol].name;
                n += (size_t)snprintf(out + n, cap - n, " %llu+%lld:%s%s%s", (unsigned long long)x->offset,
                                      (long long)x->addend, x->generic ? "generic(" : "", to,
                                      x->generic ? ")" : "");
                if (x->size_bytes == 1) n += (size_t)snprintf(out + n, cap - n, ">>%u", x->shift);
            }
        } else if (s->init) {
            n += (size_t)snprintf(out + n, cap - n, ", bytes ");
            for (uint64_t b = 0; b < s->init_bytes; b++)
                n += (size_t)snprintf(out + n, cap - n, "%s%02x", b && b % 8 == 0 ? " " : "", s->init[b]);
        }
        return;
    }
    (void)snprintf(out, cap, "none");
}

static void check_fact(const struct one *c, const char *fact)
{
    const struct ptx_module *m = c->module;
    const struct ptx_func *k = find_func(m, "k");
    char got[1024] = "", name[128];
    unsigned n = 0;
    int used = 0;
    if (sscanf(fact, "pc %u: %n", &n, &used) == 1 && used) {
        assert_true(n < k->n_instrs);
        char text[900];
        (void)snprintf(got, sizeof got, "pc %u: %s", n, ptx_print_instr(k, &k->instrs[n], text, sizeof text));
    } else if (sscanf(fact, "func %127[^:]: %n", name, &used) == 1 && used) {
        used = snprintf(got, sizeof got, "func %s: ", name);
        describe_func(find_func(m, name), got + used, sizeof got - (size_t)used);
    } else if (sscanf(fact, "var %127[^:]: %n", name, &used) == 1 && used) {
        used = snprintf(got, sizeof got, "var %s: ", name);
        describe_var(m, name, got + used, sizeof got - (size_t)used);
    } else if (strncmp(fact, "blocks ", 7) == 0) {
        struct arena a;
        arena_init(&a);
        (void)snprintf(got, sizeof got, "blocks %u", ptx_cfg_build(&a, k)->n_blocks);
        arena_free(&a);
    } else if (strncmp(fact, "unknown ", 8) == 0) {
        for (uint32_t i = 0; i < k->n_instrs; i++) n += (k->instrs[i].flags & PTX_F_UNKNOWN) != 0;
        (void)snprintf(got, sizeof got, "unknown %u", n);
    } else if (strncmp(fact, "loc ", 4) == 0) {
        uint32_t line = 0;
        const char *file = ptx_loc_file(m, &k->instrs[0], &line);
        (void)snprintf(got, sizeof got, "loc %s:%u", file ? file : "none", line);
    }
    if (strcmp(got, fact) != 0) fail_msg("%s: '%s', not '%s'", c->name, got, fact);
}

/* ---- cases ---- */

/* Messages begin at the start of a line with "name:"; excerpts are indented. */
static void check_mistakes(const struct one *c, const char *expected)
{
    char want[1024];
    const char *at = c->diag.text, *marks = expected;
    const size_t name_len = strlen(c->name);
    bool more = next_mark(&marks, "expect", want, sizeof want);
    while (more) {
        while (*at && (strncmp(at, c->name, name_len) != 0 || at[name_len] != ':')) {
            const char *newline = strchr(at, '\n');
            at = newline ? newline + 1 : at + strlen(at);
        }
        if (!*at) fail_msg("%s: no message '%s' in\n%s", c->name, want, c->diag.text);
        at += name_len + 1;
        const char *end = strchr(at, '\n');
        if (strncmp(at, want, (size_t)(end - at)) != 0 || strlen(want) != (size_t)(end - at))
            fail_msg("%s: expected\n  %s\ngot\n%s", c->name, want, c->diag.text);
        at = end + 1;
        more = next_mark(&marks, "expect", want, sizeof want);
    }
    for (; *at; at++) /* no message beyond those expected */
        if (strncmp(at, c->name, name_len) == 0 && at[name_len] == ':') fail_msg("%s: also\n%s", c->name, at);
}

static void check_case(struct one *c)
{
    char first[1024];
    const char *marks = c->text;
    const enum diag_kind kind = parse(c, c->text, c->len);
    assert_int_not_equal(kind, DIAG_BUG);
    if (!next_mark(&marks, "expect", first, sizeof first)) fail_msg("%s has no expectation", c->name);
    if (strcmp(first, "ok") != 0) {
        if (!kind) fail_msg("%s: expected a mistake", c->name);
        check_mistakes(c, c->text);
        return;
    }
    if (kind) fail_msg("%s", c->diag.text);
    while (next_mark(&marks, "expect", first, sizeof first)) check_fact(c, first);
}

static int is_case(const struct dirent *e)
{
    const size_t len = strlen(e->d_name);
    return len > 4 && strcmp(e->d_name + len - 4, ".ptx") == 0;
}

static uint32_t each_case(void (*visit)(struct one *))
{
    struct dirent **entries;
    const int n = scandir(FOLDER, &entries, is_case, alphasort);
    if (n < 1) fail_msg("no cases in " FOLDER ": run from the top of the tree");
    for (int i = 0; i < n; i++) {
        struct one c = {.name = entries[i]->d_name};
        (void)snprintf(c.path, sizeof c.path, FOLDER "/%s", entries[i]->d_name);
        read_case(&c);
        visit(&c);
        free(c.text);
        free(entries[i]);
    }
    free(entries);
    return (uint32_t)n;
}

static void check_and_drop(struct one *c)
{
    check_case(c);
    drop(c);
}

static void every_case_gives_what_its_file_expects(void **state)
{
    (void)state;
    assert_true(each_case(check_and_drop) >= 70);
}

static void cut_everywhere(struct one *c)
{
    for (size_t len = 0; len < c->len; len += 1 + c->len / 1500) {
        char *copy = malloc(len ? len : 1); /* its own block, so that a read behind the end is seen */
        assert_non_null(copy);
        memcpy(copy, c->text, len);
        assert_int_not_equal(parse(c, copy, len), DIAG_BUG);
        drop(c);
        free(copy);
    }
}

static void a_file_cut_off_anywhere_neither_crashes_nor_leaks(void **state)
{
    (void)state;
    (void)each_case(cut_everywhere);
}

static void assemble(struct one *c)
{
    char arch[32], command[1200];
    const char *marks = c->text;
    if (!next_mark(&marks, "ptxas", arch, sizeof arch) || strcmp(arch, "none") == 0) return;
    (void)snprintf(command, sizeof command, "/usr/local/cuda/bin/ptxas -arch=%s -c %s -o /dev/null 2>&1",
                   arch, c->path);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    char said[2000];
    const size_t n = fread(said, 1, sizeof said - 1, out);
    said[n] = '\0';
    if (pclose(out)) fail_msg("ptxas rejects %s: %s", c->path, said);
}

static void ptxas_accepts_what_the_good_cases_hold(void **state)
{
    (void)state;
    if (access("/usr/local/cuda/bin/ptxas", X_OK)) skip();
    (void)each_case(assemble);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gives_what_its_file_expects),
        cmocka_unit_test(a_file_cut_off_anywhere_neither_crashes_nor_leaks),
        cmocka_unit_test(ptxas_accepts_what_the_good_cases_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
