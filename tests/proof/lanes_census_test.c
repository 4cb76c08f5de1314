/* What real programs use: every spelling of the census (tests/reference/ptx_spellings.csv, 716 CUDA programs)
 * that computes has a function here; and NVIDIA's assembler, where it is installed, accepts every form the
 * tests use. */
#include <unistd.h>

#include "conformance/harness.h"
#include "conformance/ref_matrix.h"

static const char census_head[] =
    ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
    ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n.reg .b64 %l<40>;\n.reg .b32 %m<40>;\n";

/* ---- text of instructions that the reference evaluator does not read ---- */
static bool collective_text(const char *spelling, char *out, size_t room)
{
    const char *o = NULL;
    if (strncmp(spelling, "shfl.sync", 9) == 0) o = "%r0, %r1, %r2, %r3, %r4";
    if (strncmp(spelling, "vote.", 5) == 0)
        o = strstr(spelling, "ballot") ? "%r0, %p1, %r4" : "%p0, %p1, %r4";
    if (strncmp(spelling, "match.any", 9) == 0)
        o = strstr(spelling, "b64") ? "%r0, %l1, %r4" : "%r0, %r1, %r4";
    if (strncmp(spelling, "match.all", 9) == 0)
        o = strstr(spelling, "b64") ? "%r0|%p5, %l1, %r4" : "%r0|%p5, %r1, %r4";
    if (strncmp(spelling, "redux.", 6) == 0) o = "%r0, %r1, %r4";
    if (strncmp(spelling, "activemask", 10) == 0) o = "%r0";
    if (strncmp(spelling, "elect.sync", 10) == 0) o = "%r0|%p5, %r4";
    if (o) (void)snprintf(out, room, "%s %s;\n", spelling, o);
    return o != NULL;
}
/* the n-th type from the end */
static void type_word(const char *spelling, int from_end, char out[8])
{
    const char *end = spelling + strlen(spelling), *dot = end;
    for (int i = 0; i <= from_end; i++) {
        end = dot;
        for (dot--; dot > spelling && *dot != '.'; dot--) {
        }
    }
    (void)snprintf(out, 8, "%.*s", (int)(end - dot - 1), dot + 1);
}
static bool wmma_text(const char *spelling, char *out, size_t room)
{
    char t[8], v[4][256];
    if (strncmp(spelling, "wmma.load.", 10) == 0 || strncmp(spelling, "wmma.store.", 11) == 0) {
        const bool load = spelling[5] == 'l';
        const char fragment = spelling[load ? 10 : 11];
        type_word(spelling, 0, t);
        (void)ref_vector(v[0], sizeof v[0], strcmp(t, "f64") == 0 ? 'l' : 'm', 0,
                         ref_wmma_regs(spelling, fragment, t));
        if (load)
            (void)snprintf(out, room, "%s %s, [%%l39], %%r1;\n", spelling, v[0]);
        else
            (void)snprintf(out, room, "%s [%%l39], %s, %%r1;\n", spelling, v[0]);
        return true;
    }
    if (strncmp(spelling, "wmma.mma.", 9) != 0) return false;
    char s[96], types[4][8];
    (void)snprintf(s, sizeof s, "%s", spelling);
    char *rn = strstr(s, ".rn");
    if (rn && rn[3] == 0) *rn = 0;
    int count = 0;
    while (count < 4) {
        type_word(s, count, t);
        if (t[0] == 'm') break;
        memcpy(types[count++], t, sizeof t);
    }
    /* from the end: C B A D, or C D */
    const char *tc = types[0], *td = types[count - 1], *ta = count == 4 ? types[2] : "f16",
               *tb = count == 4 ? types[1] : "f16";
    const char reg = strcmp(td, "f64") == 0 ? 'l' : 'm';
    (void)ref_vector(v[0], sizeof v[0], reg, 0, ref_wmma_regs(s, 'd', td));
    (void)ref_vector(v[1], sizeof v[1], reg, 8, ref_wmma_regs(s, 'a', ta));
    (void)ref_vector(v[2], sizeof v[2], reg, 16, ref_wmma_regs(s, 'b', tb));
    (void)ref_vector(v[3], sizeof v[3], reg, 24, ref_wmma_regs(s, 'c', tc));
    (void)snprintf(out, room, "%s %s, %s, %s, %s;\n", spelling, v[0], v[1], v[2], v[3]);
    return true;
}
static bool any_text(const char *spelling, char *out, size_t room)
{
    struct ref_form f;
    if (collective_text(spelling, out, room) || wmma_text(spelling, out, room)) return true;
    if (!ref_read(&f, spelling)) return false;
    instruction_text(&f, out, room);
    return true;
}

/* opcodes that compute nothing by themselves: memory, control, synchronisation, textures */
static bool is_elsewhere(const char *spelling)
{
    static const char *const other[] = {"ld",  "st",     "atom",  "red",  "cvta",    "prefetch",
                                        "cp",  "membar", "fence", "bar",  "barrier", "mbarrier",
                                        "bra", "call",   "ret",   "exit", "trap",    "nanosleep",
                                        "tex", "sust",   NULL};
    char base[32];
    (void)snprintf(base, sizeof base, "%.*s", (int)strcspn(spelling, "."), spelling);
    for (int i = 0; other[i]; i++)
        if (strcmp(base, other[i]) == 0) return true;
    return false;
}

struct census {
    char spelling[800][80];
    int count;
};
static void census_read(struct census *c)
{
    FILE *f = fopen("tests/reference/ptx_spellings.csv", "r");
    char line[256];
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f)) {
        const char *from = strchr(line, ',') + 1;
        (void)snprintf(c->spelling[c->count++], 80, "%.*s", (int)strcspn(from, ","), from);
    }
    (void)fclose(f);
}
static void parse_text(struct suite *s, const char *text)
{
    arena_init(&s->arena);
    diag_init(&s->diag);
    s->source = (struct diag_source){.name = "census.ptx", .text = text, .len_bytes = strlen(text)};
    if (diag_run(&s->diag, parse_body, s)) fail_msg("%s", s->diag.text);
    s->func = s->module->funcs[0];
}
static void every_computing_spelling_of_the_census_has_a_function(void **state)
{
    (void)state;
    static struct census c;
    static char text[200000];
    census_read(&c);
    size_t n = (size_t)snprintf(text, sizeof text, "%s", census_head);
    static const char *names[800];
    int used = 0, elsewhere = 0;
    for (int i = 0; i < c.count; i++) {
        if (is_elsewhere(c.spelling[i])) {
            elsewhere++;
            continue;
        }
        if (!any_text(c.spelling[i], text + n, sizeof text - n))
            fail_msg("no operands known for %s", c.spelling[i]);
        n += strlen(text + n);
        names[used++] = c.spelling[i];
    }
    (void)snprintf(text + n, sizeof text - n, "ret;\n}\n");
    struct suite s = {0};
    parse_text(&s, text);
    assert_int_equal(s.func->n_instrs, used + 1);
    struct lanes_matrix *m = malloc(sizeof *m);
    int lanes = 0, matrix = 0, missing = 0;
    for (int i = 0; i < used; i++) {
        struct lanes_op op;
        if (lanes_find(s.func, &s.func->instrs[i], LANES_PLAIN, &op) &&
            lanes_find(NULL, &s.func->instrs[i], LANES_PLAIN, &op))
            lanes++;
        else if (lanes_matrix_find(s.func, &s.func->instrs[i], LANES_PLAIN, m))
            matrix++;
        else
            missing++, print_message("no function for %s\n", names[i]);
    }
    print_message("census: %d of %d spellings are lanes functions, %d matrix, %d memory, control and "
                  "textures (elsewhere), %d missing\n",
                  lanes, c.count, matrix, elsewhere, missing);
    assert_int_equal(missing, 0);
    assert_int_equal(c.count, 731);
    free(m);
    diag_clear(&s.diag);
    arena_free(&s.arena);
}

/* ---- the assembler's opinion ---- */
static const char *find_ptxas(void)
{
    static char path[512];
    const char *const fixed[] = {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"};
    for (int i = 0; i < 2; i++)
        if (access(fixed[i], X_OK) == 0) return fixed[i];
    const char *cuda = getenv("CUDA_HOME");
    if (!cuda) return NULL;
    (void)snprintf(path, sizeof path, "%s/bin/ptxas", cuda);
    return access(path, X_OK) == 0 ? path : NULL;
}
static void all_forms_text(FILE *out)
{
    struct forms f = {0};
    static struct census c;
    char line[1400];
    forms_integer(&f), forms_compare(&f), forms_float(&f), forms_convert(&f), forms_video(&f),
        forms_video_scalar(&f), forms_approximate(&f);
    (void)fprintf(out, "%s", census_head);
    for (size_t i = 0; i < f.count; i++)
        if (any_text(f.text[i], line, sizeof line)) (void)fputs(line, out);
    for (int i = 0; i < REF_MMA_COUNT; i++) {
        ref_mma_text(&ref_mma_rows[i], line, sizeof line);
        (void)fputs(line, out);
    }
    census_read(&c);
    for (int i = 0; i < c.count; i++)
        if (!is_elsewhere(c.spelling[i]) && any_text(c.spelling[i], line, sizeof line))
            (void)fputs(line, out);
    EACH(o, "shfl.sync.up.b32", "shfl.sync.down.b32", "shfl.sync.bfly.b32", "shfl.sync.idx.b32",
         "vote.sync.all.pred", "vote.sync.any.pred", "vote.sync.uni.pred", "vote.sync.ballot.b32",
         "match.any.sync.b32", "match.any.sync.b64", "match.all.sync.b32", "match.all.sync.b64",
         "redux.sync.add.u32", "redux.sync.add.s32", "redux.sync.min.u32", "redux.sync.max.s32",
         "redux.sync.and.b32", "redux.sync.or.b32", "redux.sync.xor.b32", "activemask.b32", "elect.sync")
    {
        assert_true(collective_text(*o, line, sizeof line));
        (void)fputs(line, out);
    }
    (void)fputs("ret;\n}\n", out);
    free(f.text);
}
static void the_assembler_accepts_every_form(void **state)
{
    (void)state;
    const char *ptxas = find_ptxas();
    if (!ptxas) {
        print_message("SKIPPED: no ptxas on this machine\n");
        skip();
    }
    char path[] = "/tmp/atoll-forms-XXXXXX", command[1200];
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    assert_non_null(out);
    all_forms_text(out);
    (void)fclose(out);
    (void)snprintf(command, sizeof command, "%s -arch=sm_90 -o /dev/null %s", ptxas, path);
    const int status = system(command);
    if (status == 0) (void)unlink(path);
    if (status != 0) fail_msg("the assembler refuses %s", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_computing_spelling_of_the_census_has_a_function),
        cmocka_unit_test(the_assembler_accepts_every_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
