/* Blocks and the memory they take: failing to make one gives everything back, recursion is bounded, grids
 * that must be resident fit. */
#include <sys/resource.h>

#include "exec/lanes_private.h"
#include "runtime_testbed.h"

/* Running out of memory is what is tested: a table of racecheck for 200 KB of shared memory (11 MB) is too
 * much. Freed memory goes back at once, so that sizes can be compared. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=10:quarantine_size_mb=1:symbolize=0";
}

/* A field of /proc/self/status in bytes. */
static uint64_t process_bytes(const char *field)
{
    char line[256];
    uint64_t kilobytes = 0;
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, field, strlen(field))) kilobytes = strtoull(line + strlen(field) + 1, NULL, 10);
    (void)fclose(f);
    return kilobytes << 10;
}

/* f(n) = n ? f(n - 1) + 1 : 0, without local memory of its own. */
#define COUNT_DOWN \
    ".func (.reg .b32 r) f(.reg .b32 n)\n{\n.reg .pred %p;\n.reg .b32 %m, %q;\nsetp.eq.u32 %p, n, " \
    "0;\nmov.b32 " \
    "r, 0;\n@%p bra E;\nsub.u32 %m, n, 1;\ncall (%q), f, (%m);\nadd.u32 r, %q, 1;\nE: ret;\n}\n"
#define CALL_F(n) "mov.u32 %r2, " n ";\ncall (%r3), f, (%r2);\nst.global.u32 [%rd3], %r3;\n"

/* ---- making a block fails ---- */

struct failing {
    struct rt_context *rt;
    struct rt_kernel *plain, *deep;
    uint32_t *out;
    struct diag diag;
    struct rlimit limit;
};

static void open_failing(void *arg)
{
    static const char ptx[] = PTX_HEAD
        ".shared .align 4 .b32 s[12000];\n" COUNT_DOWN
        ".visible .entry plain(.param .u64 p0, .param .u64 p1)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
        "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %ctaid.x;\nst.shared.u32 [s], %r1;\nld.shared.u32 %r2, "
        "[s];\nred.global.add.u32 [%rd1], %r2;\nret;\n}\n" KERNEL_BEGIN OUT32 CALL_F("3") KERNEL_END;
    struct failing *f = arg;
    f->rt = rt_create(&(struct rt_options){.racecheck = true, .sm_count = 4});
    struct rt_module *m = rt_module_load(f->rt, "test.ptx", ptx, strlen(ptx));
    f->plain = rt_kernel_find(m, "plain");
    f->deep = rt_kernel_find(m, "k");
    f->out = rt_alloc(f->rt, 4096, "out");
}

static void launch_and_wait(struct failing *f, struct rt_kernel *k, uint32_t threads, uint32_t shared)
{
    const struct rt_arg args[2] = {RT_ARG(f->out), RT_ARG((uint64_t)0)};
    rt_launch_args(f->rt, k, (struct rt_dim){8, 1, 1}, (struct rt_dim){threads, 1, 1}, shared, args, 2);
    rt_wait(f->rt);
}

static void run_plain(void *arg) { launch_and_wait(arg, ((struct failing *)arg)->plain, 64, 0); }
static void run_wide(void *arg) { launch_and_wait(arg, ((struct failing *)arg)->plain, 64, 152000); }
static void run_deep(void *arg) { launch_and_wait(arg, ((struct failing *)arg)->deep, 128, 0); }

/* No more address space than there is now, and so much. */
static void limit_memory(struct failing *f, uint64_t more)
{
    const struct rlimit tight = {process_bytes("VmSize") + more, f->limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
}

static void expect_plain_runs(struct failing *f)
{
    f->out[0] = 0;
    if (diag_run(&f->diag, run_plain, f) != DIAG_NONE) fail_msg("%s", f->diag.text);
    assert_int_equal(f->out[0], 64 * 28); /* blocks 0 .. 7 */
}

static void expect_failure(struct failing *f, diag_body_fn *run, uint64_t more, const char *part)
{
    limit_memory(f, more);
    const enum diag_kind kind = diag_run(&f->diag, run, f);
    assert_int_equal(setrlimit(RLIMIT_AS, &f->limit), 0);
    assert_int_equal(kind, DIAG_MISTAKE);
    if (!strstr(f->diag.text, part)) fail_msg("no '%s' in %s", part, f->diag.text);
    diag_clear(&f->diag);
    diag_init(&f->diag);
}

/* The chunk of the block cannot be had, or the chunk can and the table of racecheck cannot: the launch ends
 * with a message, nothing stays behind, and the next launch is as good as the first. */
static void a_block_that_cannot_be_made_leaves_nothing_behind(void **state)
{
    (void)state;
    struct failing f = {0};
    diag_init(&f.diag);
    assert_int_equal(getrlimit(RLIMIT_AS, &f.limit), 0);
    if (diag_run(&f.diag, open_failing, &f) != DIAG_NONE) fail_msg("%s", f.diag.text);
    expect_plain_runs(&f);
    if (diag_run(&f.diag, run_deep, &f) != DIAG_NONE) fail_msg("%s", f.diag.text);
    uint64_t settled = 0;
    for (int n = 0; n < 20; n++) {
        /* 128 threads with deep stacks reserve 192 MiB; the chunk of the plain kernel is there from before.
         */
        expect_failure(&f, run_deep, (uint64_t)64 << 20, "out of host memory: a block of kernel 'k' needs");
        expect_plain_runs(&f);
        expect_failure(&f, run_wide, (uint64_t)4 << 30, "out of host memory for racecheck");
        expect_plain_runs(&f);
        if (n == 2) settled = process_bytes("VmSize");
    }
    assert_true(process_bytes("VmSize") <= settled + ((uint64_t)2 << 20));
    rt_destroy(f.rt);
    diag_clear(&f.diag);
}

/* A fault while several blocks are resident gives all of them back. */
static void blocks_beside_a_faulting_one_are_given_back(void **state)
{
    (void)state;
    uint64_t settled = 0;
    for (int n = 0; n < 12; n++) {
        struct bed b = {
            .ptx = PTX_HEAD COUNT_DOWN KERNEL_BEGIN OUT32
            /* all wait for the last block, which faults */
            "setp.eq.u32 %p1, %r60, 7;\n@%p1 st.global.u32 [%rd1+65536], 1;\n"
            "L: ld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra L;\n" CALL_F("3")
                KERNEL_END,
            .grid = {8},
            .block = {64}};
        bed_expect_mistake(&b, PARTS("illegal store", "block (7,0,0)"));
        if (n == 2) settled = process_bytes("VmSize");
    }
    assert_true(process_bytes("VmSize") <= settled + ((uint64_t)16 << 20));
}

/* ---- stacks ---- */

static void recursion_goes_thousands_of_calls_deep(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD COUNT_DOWN KERNEL_BEGIN OUT32 CALL_F("4000") KERNEL_END, .block = {40}};
    bed_expect_ok(&b);
    for (int t = 0; t < 40; t++) assert_int_equal(b.copy[t], 4000);
}

static void an_overflow_without_local_memory_says_how_deep_and_of_what(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD COUNT_DOWN KERNEL_BEGIN OUT32 CALL_F("100000000") KERNEL_END,
                    .block = {32}};
    bed_expect_mistake(&b,
                       PARTS("stack overflow: the call of 'f'", "calls deep",
                             "bytes of registers of the warp", "does the recursion end?", "in function 'f'"));
}

/* Blocks of recursive kernels that all wait for each other are resident; what they reserve is bounded. */
static void stacks_of_a_large_grid_are_bounded(void **state)
{
    (void)state;
    const uint64_t before = process_bytes("VmPeak");
    struct bed b = {.ptx = PTX_HEAD COUNT_DOWN KERNEL_BEGIN OUT32 CALL_F(
                        "2") "mov.u32 %r5, 3000;\nL: sub.u32 %r5, %r5, 1;\nsetp.ne.u32 %p1, %r5, 0;\n"
                             "@%p1 bra L;\n" KERNEL_END,
                    .grid = {40},
                    .block = {1024},
                    .out_words = 40 * 1024};
    bed_expect_ok(&b);
    for (int t = 0; t < 4096; t++) assert_int_equal(b.copy[t], 2);
    const uint64_t reserved = (uint64_t)66 << 30; /* of device memory, by each context */
    assert_true(process_bytes("VmPeak") - before < reserved + ((uint64_t)10 << 30));
}

/* 40 functions, each calls the next one twice: 2^40 ways lead to the last, which is asked once. */
static void a_wide_call_graph_is_measured_once_per_function(void **state)
{
    (void)state;
    char ptx[16384];
    size_t n = (size_t)snprintf(ptx, sizeof ptx, PTX_HEAD ".func f40()\n{\nret;\n}\n");
    for (int k = 39; k >= 0; k--)
        n += (size_t)snprintf(ptx + n, sizeof ptx - n,
                              ".func f%d()\n{\n.reg .pred %%p;\n.reg .b32 %%r;\nmov.u32 %%r, %%tid.x;\n"
                              "setp.gt.u32 %%p, %%r, 4000;\ncall f%d;\n@%%p call f%d;\nret;\n}\n",
                              k, k + 1, k + 1);
    (void)snprintf(ptx + n, sizeof ptx - n, "%scall f0;\nst.global.u32 [%%rd3], 5;\n%s", KERNEL_BEGIN OUT32,
                   KERNEL_END);
    struct bed b = {.ptx = ptx, .block = {32}};
    bed_expect_ok(&b);
    assert_int_equal(b.copy[31], 5);
}

/* ---- cooperative grids ---- */

/* Every block adds one and waits until all have: only when all are resident does it end. */
#define GRID_BARRIER \
    PTX_HEAD KERNEL_BEGIN OUT32 \
        "mov.u32 %r10, %nctaid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra S;\natom.global.add.u32 %r2, [%rd2], " \
        "1;\n" \
        "L: ld.volatile.global.u32 %r3, [%rd2];\nsetp.lt.u32 %p2, %r3, %r10;\n@%p2 bra L;\n" \
        "S: bar.sync 0;\nst.global.u32 [%rd3], 1;\n" KERNEL_END

static void a_cooperative_grid_is_resident_as_a_whole_or_refused(void **state)
{
    (void)state;
    struct bed b = {.ptx = GRID_BARRIER,
                    .cooperative = true,
                    .grid = {64},
                    .block = {64},
                    .out_words = 4096,
                    .options = {.sm_count = 2, .blocks_at_once = 1}};
    bed_expect_ok(&b);
    for (int t = 0; t < 4096; t++) assert_int_equal(b.copy[t], 1);
    struct bed many = {
        .ptx = GRID_BARRIER, .cooperative = true, .grid = {65}, .block = {64}, .options = {.sm_count = 2}};
    bed_expect_mistake(&many,
                       PARTS("a cooperative grid of 65 blocks of 64 threads", "2 SMs hold 64 of them"));
    struct bed wide = {
        .ptx = GRID_BARRIER, .cooperative = true, .grid = {5}, .block = {1024}, .options = {.sm_count = 2}};
    bed_expect_mistake(&wide, PARTS("2 SMs hold 4 of them"));
}

/* Large blocks too: one per SM is resident, as on a machine, so a barrier made by hand works. */
static void a_grid_of_one_large_block_per_sm_can_wait_for_itself(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD KERNEL_BEGIN OUT32
        ".local .align 8 .b8 big[2048];\nst.local.u32 [big+2040], %r1;\n"
        "mov.u32 %r10, %nctaid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra S;\natom.global.add.u32 %r2, "
        "[%rd2], 1;\nL: ld.volatile.global.u32 %r3, [%rd2];\nsetp.lt.u32 %p2, %r3, %r10;\n@%p2 bra "
        "L;\nS: bar.sync 0;\nld.local.u32 %r4, [big+2040];\nst.global.u32 [%rd3], %r4;\n" KERNEL_END,
        .grid = {40},
        .block = {1024},
        .out_words = 40 * 1024,
        .options = {.sm_count = 40, .max_instructions = 300000000}};
    bed_expect_ok(&b);
    for (int t = 0; t < 4096; t++) assert_int_equal(b.copy[t], t % 1024);
}

/* ---- lane tables ---- */

static void require_stale(void *arg) { lanes_require(arg, "avx2"); }
static void require_all(void *arg)
{
    (void)arg;
    lanes_check_tables();
}

static void a_stale_lane_table_is_a_bug_with_a_message(void **state)
{
    (void)state;
    struct lanes_signature s = lanes_signature_avx2;
    struct diag d;
    diag_init(&d);
    assert_int_equal(diag_run(&d, require_all, NULL), DIAG_NONE);
    s.rows--;
    assert_int_equal(diag_run(&d, require_stale, &s), DIAG_BUG);
    assert_non_null(strstr(d.text, "'avx2' has"));
    assert_non_null(strstr(d.text, "build again"));
    diag_clear(&d);
    s = lanes_signature_avx2;
    s.order++; /* as many rows, in another order */
    diag_init(&d);
    assert_int_equal(diag_run(&d, require_stale, &s), DIAG_BUG);
    diag_clear(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_that_cannot_be_made_leaves_nothing_behind),
        cmocka_unit_test(blocks_beside_a_faulting_one_are_given_back),
        cmocka_unit_test(recursion_goes_thousands_of_calls_deep),
        cmocka_unit_test(an_overflow_without_local_memory_says_how_deep_and_of_what),
        cmocka_unit_test(stacks_of_a_large_grid_are_bounded),
        cmocka_unit_test(a_wide_call_graph_is_measured_once_per_function),
        cmocka_unit_test(a_cooperative_grid_is_resident_as_a_whole_or_refused),
        cmocka_unit_test(a_grid_of_one_large_block_per_sm_can_wait_for_itself),
        cmocka_unit_test(a_stale_lane_table_is_a_bug_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
