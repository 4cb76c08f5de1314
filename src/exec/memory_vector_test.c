/* Vectors per lane: the hot handlers leave the same memory as the lane-by-lane ones, whatever addresses and
 * mask, run as a whole or ahead as an SM does; what lies outside is still caught. */
#include "exec/machine.h"
#include "exec_fixture.h"
#include "runtime_testbed.h"

enum { THREADS = 64, DATA_WORD = 64, IN_WORDS = 2048, OUT_WORDS = 8192 };

/* %r2: the vector of 16 bytes that the thread accesses, from the table at p1; ? is the guard.
 * Shared memory is filled at the thread's place, then at %r2; read in a row, so that it can run ahead; one
 * load goes over its own address register. Results: a line of 128 bytes per thread, and an area per warp
 * where lanes may meet. */
#define BODY \
    PTX_HEAD ".shared .align 16 .b8 s[4096];\n" KERNEL_BEGIN \
             "mul.wide.u32 %rd4, %r1, 4;\nadd.u64 %rd5, %rd2, %rd4;\nld.global.u32 %r2, [%rd5];\n" \
             "and.b32 %r3, %r1, 5;\nsetp.ne.u32 %p1, %r3, 4;\n" \
             "mul.wide.u32 %rd6, %r2, 16;\nadd.u64 %rd7, %rd2, %rd6;\nmov.u32 %r20, s;\n" \
             "mad.lo.u32 %r21, %r1, 16, %r20;\nmad.lo.u32 %r22, %r2, 16, %r20;\n" \
             "mov.u64 %rd8, s;\nadd.u64 %rd9, %rd8, %rd6;\n" \
             "mov.u32 %r10, 1;\nmov.u32 %r11, 2;\nmov.u32 %r12, 3;\nmov.u32 %r13, 4;\n" \
             "mov.u32 %r14, 5;\nmov.u32 %r15, 6;\nmov.u64 %rd10, 7;\nmov.u64 %rd11, 8;\n" \
             "?ld.global.v4.u32 {%r10,%r11,%r12,%r13}, [%rd7+256];\n" \
             "?ld.global.v2.u32 {%r14,%r15}, [%rd7+264];\n" \
             "?ld.global.v2.u64 {%rd10,%rd11}, [%rd7+272];\n" \
             "st.shared.v4.u32 [%r21], {%r10,%r11,%r12,%r13};\n" \
             "st.shared.v2.u64 [%r21+1024], {%rd10,%rd11};\nst.shared.v2.u32 [%r21+2048], " \
             "{%r14,%r15};\nst.shared.v2.u32 [%r21+2056], {%r15,%r1};\nbar.sync 0;\n" \
             "?st.shared.v4.u32 [%rd9+16], {%r1,%r10,%r13,9};\nbar.sync 0;\n" \
             "mov.u32 %r30, 10;\nmov.u32 %r31, 11;\nmov.u32 %r32, 12;\nmov.u32 %r33, 13;\n" \
             "mov.u64 %rd12, 14;\nmov.u64 %rd13, 15;\n" \
             "ld.shared.v4.u32 {%r40,%r41,%r42,%r43}, [%r22+16];\n" \
             "ld.shared.v2.u64 {%rd14,%rd15}, [%r22+1024];\nld.shared.v2.u32 {%r44,%r45}, " \
             "[%r22+2056];\nld.shared.v4.u32 {%r46,%r47,%r48,%r49}, [%rd9];\n" \
             "?ld.shared.v4.u32 {%r30,%r31,%r32,%r33}, [%rd9+2048];\n" \
             "?ld.shared.v2.u64 {%rd12,%rd13}, [%r22+1024];\n" \
             "mov.u32 %r24, %r22;\nld.shared.v2.u32 {%r25,%r24}, [%r24+2048];\n" \
             "mul.wide.u32 %rd20, %r1, 128;\nadd.u64 %rd21, %rd1, %rd20;\n" \
             "st.global.v4.u32 [%rd21], {%r10,%r11,%r12,%r13};\n" \
             "st.global.v2.u64 [%rd21+16], {%rd10,%rd11};\n" \
             "st.global.v4.u32 [%rd21+32], {%r40,%r41,%r42,%r43};\n" \
             "st.global.v4.u32 [%rd21+48], {%r44,%r45,%r24,%r25};\n" \
             "st.global.v4.u32 [%rd21+64], {%r30,%r31,%r32,%r33};\n" \
             "st.global.v4.u32 [%rd21+80], {%r46,%r47,%r48,%r49};\n" \
             "st.global.v2.u64 [%rd21+96], {%rd12,%rd13};\n" \
             "st.global.v2.u64 [%rd21+112], {%rd14,%rd15};\n" \
             "shr.u32 %r50, %r1, 5;\nmul.wide.u32 %rd22, %r50, 8192;\nadd.u64 %rd23, %rd22, %rd6;\n" \
             "add.u64 %rd24, %rd23, %rd1;\n" \
             "?st.global.v4.u32 [%rd24+8192], {%r1,%r14,%r15,%r13};\n" \
             "?st.global.v2.u32 [%rd24+12288], {%r1,%r14};\n" \
             "?st.global.v2.u64 [%rd24+14336], {%rd10,%rd20};\n" KERNEL_END

struct rig {
    const char *ptx;
    uint32_t at[THREADS];
    int isa;
    bool slow, as_sm;
    uint32_t hot;   /* vector handlers that the code has */
    uint64_t ahead; /* instructions told in runs */
    uint32_t out[OUT_WORDS];
};

static bool is_vector(const struct insn *i, bool store)
{
    for (int k = 0; k < 3; k++) {
        insn_fn *const plain = (store ? memory_plain.store_vector : memory_plain.load_vector)[k];
        insn_fn *const avx2 = (store ? memory_avx2.store_vector : memory_avx2.load_vector)[k];
        if (i->fn == plain || i->fn == avx2) return true;
    }
    return false;
}

/* Counts the hot handlers; a slow rig gets the others. */
static void choose_handlers(struct rig *r, struct exec_env *env)
{
    for (uint32_t f = 0; f < env->func_count; f++)
        for (uint32_t k = 0; k < env->func_list[f]->code_count; k++) {
            struct insn *i = &env->func_list[f]->code[k];
            const bool load = is_vector(i, false), store = is_vector(i, true);
            r->hot += load || store;
            if (r->slow && load) i->fn = h_load;
            if (r->slow && store) i->fn = h_store;
        }
}

static void run_as_sm(struct rig *r, struct exec_launch *launch)
{
    struct exec_block *b = exec_block_create(launch, 0, 0);
    struct warp_source source = exec_block_source(b);
    struct warp_next next[2];
    enum warp_step state[2];
    for (uint32_t w = 0; w < 2; w++) state[w] = source.peek(source.self, w, &next[w]);
    while (state[0] != WARP_STEP_DONE || state[1] != WARP_STEP_DONE)
        for (uint32_t w = 0; w < 2; w++) {
            struct warp_op op;
            if (state[w] == WARP_STEP_WAIT) state[w] = source.peek(source.self, w, &next[w]);
            if (state[w] != WARP_STEP_OP) continue;
            if (!next[w].run) {
                state[w] = source.step(source.self, w, &op, &next[w]);
                continue;
            }
            r->ahead += next[w].run;
            next[w].info = next[w].after;
            next[w].run = 0;
            if (!next[w].info) state[w] = source.peek(source.self, w, &next[w]);
        }
    exec_block_destroy(b);
}

static uint32_t one_cycle(void *ctx, const struct warp_op *op)
{
    (void)ctx;
    (void)op;
    return 1;
}

static void rig_body(void *arg)
{
    struct rig *r = arg;
    struct exec_fixture x;
    exec_fixture_open(&x, r->ptx, r->isa ? lanes_isa_best() : LANES_PLAIN);
    uint32_t *out = devmem_alloc(&x.memory, sizeof r->out, 256, DEVMEM_DEVICE, "out");
    uint32_t *in = devmem_alloc(&x.memory, 4 * IN_WORDS, 256, DEVMEM_DEVICE, "in");
    for (uint32_t i = 0; i < IN_WORDS; i++) in[i] = i < THREADS ? r->at[i] : 0x01020304u * i + 77;
    const uint64_t params[2] = {(uint64_t)out, (uint64_t)in};
    struct exec_launch launch = {.env = x.env,
                                 .kernel = exec_kernel_get(x.env, ptx_find_entry(x.program, "k")),
                                 .grid = {1, 1, 1},
                                 .block = {THREADS, 1, 1},
                                 .bank_cycles = one_cycle,
                                 .params = (const uint8_t *)params};
    choose_handlers(r, x.env);
    if (r->as_sm) {
        exec_launch_begin(&launch);
        run_as_sm(r, &launch);
    } else {
        exec_launch_run(&launch);
    }
    memcpy(r->out, out, sizeof r->out);
    exec_fixture_close(&x);
}

static void rig_run(struct rig *r)
{
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, rig_body, r) != DIAG_NONE) fail_msg("%s", d.text);
}

/* Following, the same, backwards, the same by eight lanes, half by half, any. */
static uint32_t vector_of(uint32_t pattern, uint32_t t)
{
    switch (pattern) {
    case 0: return t;
    case 1: return 5;
    case 2: return 63 - t;
    case 3: return t / 8;
    case 4: return t % 16 + t / 32;
    default: return (t * 2654435761u >> 16) % 61;
    }
}

static void put_guard(char *to, const char *guard)
{
    for (const char *from = BODY; *from; from++)
        if (*from == '?')
            to = stpcpy(to, guard);
        else
            *to++ = *from;
    *to = 0;
}

static void hot_vectors_do_what_the_lanes_do_one_by_one(void **state)
{
    (void)state;
    static const char *const guards[] = {"", "@%p1 ", "@!%p1 "};
    static char ptx[8192];
    struct rig *hot = calloc(1, sizeof *hot), *slow = calloc(1, sizeof *slow);
    for (uint32_t n = 0; n < 2 * 2 * 3 * 6; n++) {
        put_guard(ptx, guards[n / 4 % 3]);
        *hot = (struct rig){.ptx = ptx, .isa = n % 2, .as_sm = n / 2 % 2};
        for (uint32_t t = 0; t < THREADS; t++) hot->at[t] = vector_of(n / 12, t);
        *slow = *hot;
        slow->slow = true;
        rig_run(hot);
        rig_run(slow);
        assert_int_equal(hot->hot, 26);
        assert_memory_equal(hot->out, slow->out, sizeof hot->out);
        assert_int_not_equal(hot->out[8 + 32], 0);
        /* loads from shared memory whose lanes lie in groups join the runs: all but backwards and any */
        const bool groups = n / 12 != 2 && n / 12 != 5;
        if (hot->as_sm) assert_int_equal(hot->ahead > slow->ahead, groups);
    }
    free(hot);
    free(slow);
}

/* The second time, when the handlers know the range, they meet an access that they must leave to the checks:
 * lane 0 alone lies behind the buffer, or all are odd. */
static void a_vector_that_ends_outside_or_is_odd_is_caught(void **state)
{
    (void)state;
    static const struct {
        const char *text, *further, *part;
    } rows[] = {
        {"ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd9];\n", "3600", "'in' of"},
        {"ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd9];\n", "8", "align"},
        {"ld.shared.v2.u64 {%rd6,%rd7}, [%rd10];\n", "528", "shared"},
        {"st.shared.v2.u32 [%rd10], {%r4,%r5};\n", "4", "align"},
        {"st.global.v2.u64 [%rd9], {%rd6,%rd7};\n", "3600", "'in' of"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char ptx[2048];
        snprintf(ptx, sizeof ptx, "%s%ssetp.eq.u64 %%p1, %%rd8, 0;\nmov.u64 %%rd8, %s;\n@%%p1 bra L;\n%s",
                 PTX_HEAD ".shared .align 16 .b8 s[1024];\n" KERNEL_BEGIN
                          "sub.u32 %r2, 31, %r1;\nmul.wide.u32 %rd4, %r2, 16;\nadd.u64 %rd5, %rd2, %rd4;\n"
                          "mov.u64 %rd11, s;\nadd.u64 %rd4, %rd4, %rd11;\n"
                          "mov.u64 %rd8, 0;\nL: add.u64 %rd9, %rd5, %rd8;\nadd.u64 %rd10, %rd4, %rd8;\n",
                 rows[k].text, rows[k].further, KERNEL_END);
        struct bed b = {.ptx = ptx, .block = {32}};
        bed_expect_mistake(&b, (const char *[]){rows[k].part, NULL});
    }
}

/* Variables at fixed places, of every width, with and without a guard. */
static void variables_are_loaded_once_for_all_lanes(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD
                    ".const .align 8 .b32 c[4] = {3, 0x80000001, 5, 6};\n.global .align 8 .b8 g[8] = "
                    "{1, 2, 0x83, 4, 5, 6, 7, 8};\n.shared .align 4 .b32 v[1];\n" KERNEL_BEGIN OUT32
                    "st.shared.u32 [v], 17;\nsetp.lt.u32 %p1, %r1, 7;\nmov.u32 %r2, 1;\nmov.u64 %rd6, 2;\n"
                    "@%p1 ld.const.u32 %r2, [c];\n@!%p1 ld.const.s32 %rd6, [c+4];\nld.global.s8 %r3, "
                    "[g+2];\nld.const.v2.u32 {%r4, _}, [c+8];\nld.shared.u32 %r5, [v];\ncvt.u32.u64 %r6, "
                    "%rd6;\nshr.u64 %rd6, %rd6, 32;\ncvt.u32.u64 %r7, %rd6;\n"
                    "st.global.u32 [%rd3], %r2;\nst.global.u32 [%rd3+128], %r6;\nst.global.u32 [%rd3+256], "
                    "%r7;\nst.global.u32 [%rd3+384], %r3;\nst.global.u32 [%rd3+512], %r4;\nst.global.u32 "
                    "[%rd3+640], %r5;\n" KERNEL_END,
                    .block = {32}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(b.copy[t], t < 7 ? 3 : 1);
        assert_int_equal(b.copy[32 + t], t < 7 ? 2 : 0x80000001);
        assert_int_equal(b.copy[64 + t], t < 7 ? 0 : 0xffffffff);
        assert_int_equal(b.copy[96 + t], 0xffffff83);
        assert_int_equal(b.copy[128 + t], 5);
        assert_int_equal(b.copy[160 + t], 17);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hot_vectors_do_what_the_lanes_do_one_by_one),
        cmocka_unit_test(a_vector_that_ends_outside_or_is_odd_is_caught),
        cmocka_unit_test(variables_are_loaded_once_for_all_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
