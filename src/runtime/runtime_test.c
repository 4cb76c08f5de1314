/* The runtime as host scripts and the command use it. */
#include "runtime/oneshot.h"
#include "runtime_testbed.h"

#define ADD_KERNEL(name) \
    ".visible .entry " name "(.param .u64 a, .param .f32 x, .param .u32 n)\n{\n.reg .pred %p;\n.reg .b32 " \
    "%r<9>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<4>;\n" \
    "ld.param.u64 %rd1, [a];\nld.param.f32 %f1, [x];\nld.param.u32 %r1, [n];\nmov.u32 %r2, " \
    "%ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.u32 %r5, %r2, %r3, %r4;\n" \
    "setp.ge.u32 %p, %r5, %r1;\n@%p bra E;\nmul.wide.u32 %rd2, %r5, 4;\nadd.u64 %rd3, %rd1, " \
    "%rd2;\nld.global.f32 %f2, [%rd3];\nadd.f32 %f3, %f2, %f1;\nst.global.f32 [%rd3], %f3;\nE: ret;\n}\n"

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

struct shot {
    const char *args[3];
    const char *entry;
    char text[4096];
    struct rt_context *rt;
};

static const char *const shot_path = "oneshot_test.ptx";

static void shot_body(void *arg)
{
    struct shot *s = arg;
    s->rt = rt_create(NULL);
    const struct oneshot_request request = {.paths = &shot_path,
                                            .path_count = 1,
                                            .entry = s->entry,
                                            .grid = {4, 1, 1},
                                            .block = {32, 1, 1},
                                            .args = s->args,
                                            .arg_count = 3};
    struct oneshot *o = oneshot_start(s->rt, &request);
    struct diag_cleanup freeing;
    diag_defer(&freeing, (void (*)(void *))oneshot_free, o);
    rt_wait(s->rt);
    snprintf(s->text, sizeof s->text, "%s", oneshot_finish(o));
    diag_done(&freeing, true);
}

static enum diag_kind shoot(struct shot *s, struct diag *d)
{
    diag_init(d);
    write_file(shot_path, PTX_HEAD ADD_KERNEL("_Z3addPffj"));
    const enum diag_kind kind = diag_run(d, shot_body, s);
    rt_destroy(s->rt);
    (void)remove(shot_path);
    return kind;
}

static void one_kernel_by_hand_prints_its_buffers(void **state)
{
    (void)state;
    struct diag d;
    struct shot s = {.args = {"buf:f32:100:iota:dump=4:sum", "0.5", "100"}, .entry = "add"};
    if (shoot(&s, &d) != DIAG_NONE) fail_msg("%s", d.text);
    assert_string_equal(s.text, "buf:f32:100:iota:dump=4:sum: 0.5 1.5 2.5 3.5 ...\n"
                                "buf:f32:100:iota:dump=4:sum: sum 5000\n");
    struct shot only = {.args = {"buf:f32:8:value=2:dump", "f32:1", "8"}};
    if (shoot(&only, &d) != DIAG_NONE) fail_msg("%s", d.text);
    assert_string_equal(only.text, "buf:f32:8:value=2:dump: 3 3 3 3 3 3 3 3\n");
}

static void wrong_arguments_point_at_themselves(void **state)
{
    (void)state;
    static const struct {
        const char *args[3], *entry, *part;
    } rows[] = {
        {{"buf:f33:100", "0.5", "1"}, NULL, "no such element type"},
        {{"buf:f32", "0.5", "1"}, NULL, "number of elements"},
        {{"buf:f32:9:jota", "0.5", "1"}, NULL, "a buffer takes zero, iota"},
        {{"buf:f32:9", "half", "1"}, NULL, "a number is expected here (parameter 'x', .f32)"},
        {{"buf:f32:9", "f64:1", "1"}, NULL, "has 4 bytes, not 8"},
        {{"buf:f32:9", "1", "buf:f32:9"}, NULL, "a buffer's address has 8"},
        {{"buf:f32:9", "1", "1x"}, NULL, "a whole number is expected here (parameter 'n', .u32)"},
        {{"buf:f32:9", "1", "12abc"}, NULL, "a whole number is expected here"},
        {{"buf:f32:9", "1", "1.5"}, NULL, "a float is written f32:1.5"},
        {{"buf:f32:9", "1", ""}, NULL, "a whole number is expected here"},
        {{"buf:f32:9", "1", "--1"}, NULL, "a whole number is expected here"},
        {{"buf:f32:9", "1", "99999999999"}, NULL, "takes -2147483648 to 4294967295"},
        {{"buf:f32:9", "1", "-2147483649"}, NULL, "takes -2147483648 to 4294967295"},
        {{"buf:f32:9", "1", "99999999999999999999999"}, NULL, "this does not fit"},
        {{"buf:f32:9", "1", "u32:-1"}, NULL, "u32 takes 0 to 4294967295"},
        {{"buf:f32:9", "1", "s32:2147483648"}, NULL, "s32 takes -2147483648 to 2147483647"},
        {{"buf:f32:9", "1", "u32:1.5"}, NULL, "a whole number is expected here (u32)"},
        {{"buf:u8:9:value=256", "1", "1"}, NULL, "u8 takes 0 to 255"},
        {{"buf:f32:9", "1e39", "1"}, NULL, "does not fit an f32"},
        {{"buf:f32:9", "1", "hex:0011"}, NULL, "8 digits are expected, not 4"},
        {{"buf:f32:9", "1", "hex:0011223g"}, NULL, "not a hexadecimal digit"},
        {{"buf:f32:9", "1", "1"}, "ad", "no kernel 'ad'"},
    };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        struct shot s = {.args = {rows[n].args[0], rows[n].args[1], rows[n].args[2]}, .entry = rows[n].entry};
        struct diag d;
        assert_int_equal(shoot(&s, &d), DIAG_MISTAKE);
        if (!strstr(d.text, rows[n].part)) fail_msg("no '%s' in %s", rows[n].part, d.text);
        diag_clear(&d);
    }
}

/* Whole numbers in every notation reach the kernel; octal is not one of them. */
static void numbers_are_read_as_written(void **state)
{
    (void)state;
    static const char *const eight[] = {"8", "0x8", "08", "8e0", "u32:8", "s32:8", "hex:08000000"};
    for (size_t n = 0; n < sizeof eight / sizeof *eight; n++) {
        struct shot s = {.args = {"buf:f32:10:dump", "1", eight[n]}};
        struct diag d;
        if (shoot(&s, &d) != DIAG_NONE) fail_msg("%s", d.text);
        assert_string_equal(s.text, "buf:f32:10:dump: 1 1 1 1 1 1 1 1 0 0\n");
    }
    struct shot all = {.args = {"buf:f32:10:dump", "0x1p-1", "-1"}}; /* an int of C is .u32 */
    struct diag d;
    assert_int_equal(shoot(&all, &d), DIAG_MISTAKE); /* 128 threads store to 10 words */
    assert_non_null(strstr(d.text, "illegal load"));
    diag_clear(&d);
}

/* ---- several files, structures, cooperative grids ---- */

#define STRUCT_KERNEL \
    ".extern .func (.param .b32 r) mix(.param .b32 a, .param .b32 b);\n" \
    ".visible .entry pick(.param .u64 to, .param .align 4 .b8 s[12])\n{\n.reg .b32 %r<5>;\n.reg .b64 " \
    "%rd<2>;\n" \
    "ld.param.u64 %rd1, [to];\nld.param.u32 %r1, [s];\nld.param.u32 %r2, [s+8];\n" \
    "{\n.param .b32 a;\n.param .b32 b;\n.param .b32 q;\nst.param.b32 [a], %r1;\nst.param.b32 [b], %r2;\n" \
    "call (q), mix, (a, b);\nld.param.b32 %r3, [q];\n}\nst.global.u32 [%rd1], %r3;\nret;\n}\n"
#define MIX \
    ".visible .func (.param .b32 r) mix(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %r<4>;\nld.param.u32 " \
    "%r1, [a];\nld.param.u32 %r2, [b];\nmad.lo.u32 %r3, %r1, 1000, %r2;\nst.param.b32 [r], %r3;\nret;\n}\n" \
    ".visible .entry other()\n{\nret;\n}\n"

struct files {
    const char *entry;
    const char *args[2];
    uint32_t count;
    struct rt_context *rt;
    char text[512];
};

static void files_body(void *arg)
{
    static const char *const paths[] = {"files_test_a.ptx", "files_test_b.ptx"};
    struct files *s = arg;
    s->rt = rt_create(NULL);
    const struct oneshot_request request = {.paths = paths,
                                            .path_count = s->count,
                                            .entry = s->entry,
                                            .grid = {1, 1, 1},
                                            .block = {1, 1, 1},
                                            .args = s->args,
                                            .arg_count = 2};
    struct oneshot *o = oneshot_start(s->rt, &request);
    struct diag_cleanup freeing;
    diag_defer(&freeing, (void (*)(void *))oneshot_free, o);
    rt_wait(s->rt);
    snprintf(s->text, sizeof s->text, "%s", oneshot_finish(o));
    diag_done(&freeing, true);
}

static enum diag_kind run_files(struct files *s, struct diag *d)
{
    diag_init(d);
    write_file("files_test_a.ptx", PTX_HEAD STRUCT_KERNEL);
    write_file("files_test_b.ptx", PTX_HEAD MIX);
    const enum diag_kind kind = diag_run(d, files_body, s);
    rt_destroy(s->rt);
    (void)remove("files_test_a.ptx");
    (void)remove("files_test_b.ptx");
    return kind;
}

static void several_files_are_linked_and_a_structure_is_given_as_bytes(void **state)
{
    (void)state;
    struct diag d;
    struct files s = {
        .entry = "pick", .count = 2, .args = {"buf:u32:1:dump", "hex:07000000ffffffff09000000"}};
    if (run_files(&s, &d) != DIAG_NONE) fail_msg("%s", d.text);
    assert_string_equal(s.text, "buf:u32:1:dump: 7009\n");
    static const struct {
        struct files f;
        const char *part, *part2;
    } rows[] = {
        {{.entry = "pick", .count = 1, .args = {"buf:u32:1", "hex:070000000000000009000000"}},
         "'mix'",
         "no module"},
        {{.entry = "pick", .count = 2, .args = {"buf:u32:1", "7"}}, "structure of 12 bytes", "24 digits"},
        {{.count = 2, .args = {"buf:u32:1", "7"}}, "which of 2 kernels?", "\n  pick\n  other"},
        {{.entry = "pock", .count = 2, .args = {"buf:u32:1", "7"}},
         "no kernel 'pock'",
         "did you mean 'pick'?"},
        {{.entry = "nothing", .count = 2, .args = {"buf:u32:1", "7"}},
         "no kernel 'nothing' among",
         "\n  other"},
    };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        struct files f = rows[n].f;
        assert_int_equal(run_files(&f, &d), DIAG_MISTAKE);
        if (!strstr(d.text, rows[n].part) || !strstr(d.text, rows[n].part2))
            fail_msg("no '%s', '%s' in %s", rows[n].part, rows[n].part2, d.text);
        diag_clear(&d);
    }
}

/* ---- launches ---- */

struct wrong {
    struct rt_dim grid, block;
    uint32_t shared, args;
    struct rt_context *rt;
};

static void wrong_body(void *arg)
{
    static const char ptx[] = PTX_HEAD ".visible .entry k(.param .u64 p)\n.maxntid 256, 1, 1\n{\nret;\n}\n";
    struct wrong *w = arg;
    w->rt = rt_create(NULL);
    struct rt_kernel *k = rt_kernel_find(rt_module_load(w->rt, "test.ptx", ptx, strlen(ptx)), "k");
    const struct rt_arg args[2] = {RT_ARG((uint64_t)0), RT_ARG((uint64_t)0)};
    rt_launch_args(w->rt, k, w->grid, w->block, w->shared, args, w->args);
    rt_wait(w->rt);
}

static void impossible_launches_are_refused_with_their_reason(void **state)
{
    (void)state;
    static const struct {
        struct wrong w;
        const char *part;
    } rows[] = {
        {{.grid = {1, 1, 1}, .block = {512, 1, 1}, .args = 1}, ".maxntid allows 256"},
        {{.grid = {1, 1, 1}, .block = {2048, 1, 1}, .args = 1}, "x must be 1 to 1024"},
        {{.grid = {1, 1, 1}, .block = {1, 1025, 1}, .args = 1}, "y must be 1 to 1024"},
        {{.grid = {1, 1, 1}, .block = {1, 1, 65}, .args = 1}, "z must be 1 to 64"},
        {{.grid = {1, 1, 1}, .block = {32, 33, 1}, .args = 1}, "has 1056 threads; at most 1024"},
        {{.grid = {0, 1, 1}, .block = {32, 1, 1}, .args = 1}, "x must be 1 to 2147483647"},
        {{.grid = {1, 70000, 1}, .block = {32, 1, 1}, .args = 1}, "y must be 1 to 65535"},
        {{.grid = {1, 1, 65536}, .block = {32, 1, 1}, .args = 1}, "z must be 1 to 65535"},
        {{.grid = {1, 1, 1}, .block = {32, 1, 1}, .shared = 1 << 20, .args = 1}, "bytes of shared memory"},
        {{.grid = {1, 1, 1}, .block = {32, 1, 1}, .args = 2}, "takes 1 arguments, not 2"},
    };
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        struct wrong w = rows[n].w;
        struct diag d;
        diag_init(&d);
        assert_int_equal(diag_run(&d, wrong_body, &w), DIAG_MISTAKE);
        if (!strstr(d.text, rows[n].part)) fail_msg("no '%s' in %s", rows[n].part, d.text);
        diag_clear(&d);
        rt_destroy(w.rt);
    }
}

/* ---- modules and contexts ---- */

static void link_body(void *arg)
{
    static const char user[] = PTX_HEAD
        ".extern .global .u32 counter;\n.extern .func (.param .b32 r) twice(.param .b32 n);\n" KERNEL_BEGIN
        "{\n.param .b32 a;\n.param .b32 q;\nst.param.b32 [a], 21;\ncall (q), twice, (a);\nld.param.b32 %r2, "
        "[q];\n}\natom.global.add.u32 %r3, [counter], %r2;\n" KERNEL_END;
    static const char library[] = PTX_HEAD
        ".visible .global .u32 counter = 8;\n.visible .func (.param .b32 r) twice(.param .b32 n)\n{\n.reg "
        ".b32 %r<3>;\nld.param.u32 %r1, [n];\nadd.u32 %r2, %r1, %r1;\nst.param.b32 [r], %r2;\nret;\n}\n";
    struct rt_context **rt = arg;
    *rt = rt_create(NULL);
    struct rt_module *m = rt_module_load(*rt, "user.ptx", user, strlen(user));
    struct rt_module *lib = rt_module_load(*rt, "library.ptx", library, strlen(library));
    const struct rt_arg args[2] = {RT_ARG((uint64_t)0), RT_ARG((uint64_t)0)};
    rt_launch_args(*rt, rt_kernel_find(m, "k"), (struct rt_dim){1, 1, 1}, (struct rt_dim){3, 1, 1}, 0, args,
                   2);
    assert_int_equal(rt_pending(*rt), 1);
    rt_wait(*rt);
    assert_int_equal(rt_pending(*rt), 0);
    uint64_t bytes;
    const uint32_t *counter = rt_variable_find(lib, "counter", &bytes);
    assert_non_null(counter);
    assert_int_equal(bytes, 4);
    assert_int_equal(*counter, 8 + 3 * 42);
    assert_null(rt_variable_find(lib, "nothing", NULL));
}

static void modules_of_a_context_are_linked(void **state)
{
    (void)state;
    struct rt_context *rt = NULL;
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, link_body, &rt) != DIAG_NONE) fail_msg("%s", d.text);
    rt_destroy(rt);
}

static void two_body(void *arg)
{
    struct rt_context **rt = arg;
    rt[0] = rt_create(&(struct rt_options){.slot = 0});
    rt[1] = rt_create(&(struct rt_options){.slot = 1});
    void *a = rt_alloc(rt[0], 1000, "a"), *b = rt_alloc(rt[1], 1000, "b");
    assert_ptr_not_equal(a, b);
    /* A co-run has the addresses of the run alone, each in its slot. */
    const uint64_t sa = rt_simulated(rt[0], a), sb = rt_simulated(rt[1], b);
    assert_int_equal(sb - sa, (uint64_t)1 << 40);
    uint32_t host[64] = {1, 2, 3}, back[64] = {0};
    rt_copy_to_device(rt[0], a, host, sizeof host);
    rt_copy_on_device(rt[0], (char *)a + 512, a, sizeof host);
    rt_copy_to_host(rt[0], back, (char *)a + 512, sizeof back);
    assert_memory_equal(host, back, sizeof host);
    rt_fill(rt[0], a, 7, 16);
    assert_int_equal(*(uint32_t *)a, 0x07070707);
    rt_register(rt[0], host, sizeof host, "host");
    assert_true(rt_simulated(rt[0], host + 1) == rt_simulated(rt[0], host) + 4);
    rt_unregister(rt[0], host);
    rt_free(rt[0], a);
    rt_copy_to_host(rt[0], back, a, 4); /* raises */
}

static void contexts_are_independent_and_copies_are_checked(void **state)
{
    (void)state;
    struct rt_context *rt[2] = {NULL, NULL};
    struct diag d;
    diag_init(&d);
    assert_int_equal(diag_run(&d, two_body, rt), DIAG_MISTAKE);
    assert_non_null(strstr(d.text, "copy to host"));
    assert_non_null(strstr(d.text, "freed 'a' of 1000 bytes"));
    diag_clear(&d);
    rt_destroy(rt[0]);
    rt_destroy(rt[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_kernel_by_hand_prints_its_buffers),
        cmocka_unit_test(wrong_arguments_point_at_themselves),
        cmocka_unit_test(numbers_are_read_as_written),
        cmocka_unit_test(several_files_are_linked_and_a_structure_is_given_as_bytes),
        cmocka_unit_test(impossible_launches_are_refused_with_their_reason),
        cmocka_unit_test(modules_of_a_context_are_linked),
        cmocka_unit_test(contexts_are_independent_and_copies_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
