/* Registers that are kept as base + lane * step: which they are, what is loaded through them and where timing
 * is told that it lies, whatever the lanes do. */
#include "exec/machine.h"
#include "exec_fixture.h"
#include "runtime_testbed.h"

enum { THREADS = 64, WORDS = 4096 };

/* Word n of the input that a thread loads as its nth; its out is the sum. */
struct way {
    const char *name, *body;
    uint32_t slopes; /* besides the two of OUT32 */
    uint32_t block[2];
    uint32_t (*loads)(uint32_t t);
    uint32_t (*at)(uint32_t t, uint32_t nth);
};

static uint32_t one(uint32_t t)
{
    (void)t;
    return 1;
}
static uint32_t up_to_four(uint32_t t) { return 2 + t % 4; }
static uint32_t odd_ones(uint32_t t) { return t % 2; }

#define AT(name, word) \
    static uint32_t name(uint32_t t, uint32_t nth) \
    { \
        (void)nth; \
        return word; \
    }
AT(same_word, t)
AT(second_word, 2 * t)
AT(third_word, 3 * t)
AT(word_behind, 2 * t + 2)
AT(from_the_end, THREADS - 1 - t)
AT(of_the_warp, t / 32)
AT(uneven_word, t & 5)
AT(swapped_word, t >= 8 && t < 16 ? t ^ 4 : t)
AT(every_64th, t + 64 * nth)
AT(by_parity, t % 2 ? 2 * t : t)

#define LOAD "ld.global.u32 %r6, [%rd11];\n"
#define ODD  "and.b32 %r5, %r1, 1;\nsetp.eq.u32 %p1, %r5, 1;\n"
/* Four numbers that are all there later, if r6 is 0 then. */
#define KEEP_FOUR \
    "cvt.u64.u32 %rd20, %r1;\nadd.u64 %rd21, %rd20, 1;\nxor.b64 %rd22, %rd20, 2;\nor.b64 %rd23, %rd20, " \
    "256;\n"
#define READ_FOUR \
    "sub.s64 %rd24, %rd21, %rd20;\nsub.s64 %rd25, %rd24, 1;\nxor.b64 %rd26, %rd22, %rd20;\n" \
    "sub.s64 %rd27, %rd26, 2;\nsub.s64 %rd28, %rd23, %rd20;\nsub.s64 %rd29, %rd28, 256;\n" \
    "or.b64 %rd25, %rd25, %rd27;\nor.b64 %rd25, %rd25, %rd29;\ncvt.u32.u64 %r6, %rd25;\n"
static const struct way ways[] = {
    {"even", "mul.wide.s32 %rd10, %r62, 4;\nadd.s64 %rd11, %rd2, %rd10;\n" LOAD, 2, {64}, one, same_word},
    {"of 64 bits",
     "mul.wide.u32 %rd10, %r62, 8;\nadd.s64 %rd11, %rd2, %rd10;\nld.global.u64 %rd12, [%rd11+8];\n"
     "cvt.u32.u64 %r6, %rd12;\n",
     2,
     {64},
     one,
     word_behind},
    {"apart", "mul.wide.u32 %rd10, %r62, 12;\nadd.s64 %rd11, %rd10, %rd2;\n" LOAD, 2, {64}, one, third_word},
    {"down",
     "sub.s32 %r5, 63, %r62;\nmul.wide.s32 %rd10, %r5, 4;\nadd.s64 %rd11, %rd2, %rd10;\n" LOAD,
     2,
     {64},
     one,
     from_the_end},
    {"value minus slope",
     "mul.wide.s32 %rd10, %r62, 4;\nadd.s64 %rd12, %rd2, 252;\nsub.s64 %rd11, %rd12, %rd10;\n" LOAD,
     2,
     {64},
     one,
     from_the_end},
    {"slope minus value",
     "mul.wide.s32 %rd10, %r62, 4;\nadd.s64 %rd12, %rd10, %rd2;\nadd.s64 %rd13, %rd12, 88;\n"
     "sub.s64 %rd11, %rd13, 88;\n" LOAD,
     4,
     {64},
     one,
     same_word},
    {"at one place",
     "shr.u32 %r5, %r1, 5;\nmul.wide.u32 %rd10, %r5, 4;\nadd.s64 %rd11, %rd2, %rd10;\n" LOAD,
     2,
     {64},
     one,
     of_the_warp},
    {"of two",
     "mul.wide.s32 %rd10, %r62, 4;\nadd.s64 %rd12, %rd10, %rd10;\nadd.s64 %rd11, %rd2, %rd12;\n" LOAD,
     3,
     {64},
     one,
     second_word},
    {"shifted",
     "cvt.u64.u32 %rd10, %r62;\nshl.b64 %rd12, %rd10, 2;\nadd.s64 %rd11, %rd2, %rd12;\n" LOAD,
     3,
     {64},
     one,
     same_word},
    {"multiplied and added",
     "mad.wide.u32 %rd12, %r62, 4, %rd2;\nmad.wide.s32 %rd11, %r62, 4, %rd12;\n" LOAD,
     2,
     {64},
     one,
     second_word},
    {"signed words that wrap",
     "add.u32 %r5, %r62, 0x7ffffff0;\nmul.wide.s32 %rd10, %r5, 4;\nsub.s64 %rd12, %rd10, 0x1ffffffc0;\n"
     "add.s64 %rd11, %rd2, %rd12;\nsetp.lt.u32 %p1, %r62, 16;\n@%p1 bra NEAR;\n"
     "add.s64 %rd11, %rd11, 0x400000000;\nNEAR: " LOAD,
     3,
     {64},
     one,
     same_word},
    {"unsigned words that wrap",
     "add.u32 %r5, %r62, 0xfffffff0;\nmul.wide.u32 %rd10, %r5, 4;\nsub.s64 %rd12, %rd10, 0x3ffffffc0;\n"
     "add.s64 %rd11, %rd2, %rd12;\nsetp.lt.u32 %p1, %r62, 16;\n@%p1 bra NEAR;\n"
     "add.s64 %rd11, %rd11, 0x400000000;\nNEAR: " LOAD,
     3,
     {64},
     one,
     same_word},
    {"uneven",
     "and.b32 %r5, %r62, 5;\nmul.wide.u32 %rd10, %r5, 4;\nadd.s64 %rd11, %rd2, %rd10;\n" LOAD,
     2,
     {64},
     one,
     uneven_word},
    {"uneven between even ends",
     "sub.u32 %r5, %r62, 8;\nsetp.lt.u32 %p1, %r5, 8;\nselp.u32 %r7, 4, 0, %p1;\nxor.b32 %r8, %r62, %r7;\n"
     "mul.wide.u32 %rd10, %r8, 4;\nadd.s64 %rd11, %rd2, %rd10;\n" LOAD,
     2,
     {64},
     one,
     swapped_word},
    {"a row of few threads",
     "mov.u32 %r7, %tid.y;\nmad.lo.u32 %r62, %r7, 8, %r1;\nmul.wide.u32 %rd30, %r62, 4;\n"
     "add.s64 %rd3, %rd1, %rd30;\nmul.wide.s32 %rd10, %r62, 4;\nadd.s64 %rd11, %rd2, %rd10;\n" LOAD,
     2,
     {8, 8},
     one,
     same_word},
    {"less than a warp",
     "mul.wide.s32 %rd10, %r62, 4;\nadd.s64 %rd11, %rd2, %rd10;\n" LOAD,
     2,
     {37},
     one,
     same_word},
    {"moved on in a loop that lanes leave",
     "mul.wide.s32 %rd10, %r62, 4;\nadd.s64 %rd11, %rd2, %rd10;\nmov.u32 %r6, 0;\nmov.u32 %r5, 0;\n"
     "and.b32 %r7, %r1, 3;\nL: ld.global.u32 %r8, [%rd11];\nadd.u32 %r6, %r6, %r8;\n"
     "add.s64 %rd11, %rd11, 256;\nadd.u32 %r5, %r5, 1;\nsetp.le.u32 %p1, %r5, %r7;\n@%p1 bra L;\n"
     "ld.global.u32 %r8, [%rd11];\nadd.u32 %r6, %r6, %r8;\n",
     2,
     {64},
     up_to_four,
     every_64th},
    {"on two ways",
     ODD "@%p1 bra B;\nmul.wide.s32 %rd10, %r62, 4;\nbra J;\nB: mul.wide.s32 %rd10, %r62, 8;\n"
         "J: add.s64 %rd11, %rd2, %rd10;\n" LOAD,
     2,
     {64},
     one,
     by_parity},
    {"under a guard",
     ODD
     "mul.wide.s32 %rd10, %r62, 4;\n@%p1 mul.wide.s32 %rd10, %r62, 8;\nadd.s64 %rd11, %rd2, %rd10;\n" LOAD,
     2,
     {64},
     one,
     by_parity},
    /* Even lanes keep something else where the register of the odd ones has its array. */
    {"of some lanes, before others read",
     ODD "mul.wide.s32 %rd10, %r62, 4;\nadd.s64 %rd11, %rd2, %rd10;\nmov.u32 %r6, 0;\n@!%p1 bra E;\n" LOAD
         "bar.warp.sync -1;\nbra J;\nE: " KEEP_FOUR "bar.warp.sync -1;\n" READ_FOUR "J:\n",
     2,
     {64},
     odd_ones,
     same_word},
    {"of some lanes, after others wrote",
     ODD "mul.wide.s32 %rd10, %r62, 4;\nadd.s64 %rd11, %rd2, %rd10;\nmov.u32 %r6, 0;\n@!%p1 bra E;\n"
         "bar.warp.sync -1;\n" LOAD "bar.warp.sync -1;\nbra J;\nE: " KEEP_FOUR
         "bar.warp.sync -1;\nbar.warp.sync -1;\n" READ_FOUR "J:\n",
     2,
     {64},
     odd_ones,
     same_word},
    /* Read by others, too, or worked out in another way. */
    {"stored",
     "mul.wide.s32 %rd10, %r62, 4;\nadd.s64 %rd11, %rd2, %rd10;\nst.global.u64 [%rd2+8192], %rd11;\n" LOAD,
     0,
     {64},
     one,
     same_word},
    {"stored where it points",
     "mul.wide.s32 %rd10, %r62, 8;\nadd.s64 %rd11, %rd2, %rd10;\nst.global.u64 [%rd11+8192], %rd11;\n" LOAD,
     0,
     {64},
     one,
     second_word},
    {"compared",
     "mul.wide.s32 %rd10, %r62, 4;\nadd.s64 %rd11, %rd2, %rd10;\nsetp.eq.u64 %p1, %rd10, 7;\n" LOAD,
     0,
     {64},
     one,
     same_word},
    {"masked",
     "mul.wide.s32 %rd10, %r62, 4;\nand.b64 %rd12, %rd10, -1;\nadd.s64 %rd11, %rd2, %rd12;\n" LOAD,
     0,
     {64},
     one,
     same_word},
    {"of vectors",
     "mul.wide.s32 %rd10, %r62, 8;\nadd.s64 %rd11, %rd2, %rd10;\nld.global.v2.u32 {%r6, %r7}, [%rd11];\n",
     0,
     {64},
     one,
     second_word},
};
enum { WAYS = sizeof ways / sizeof *ways };

static uint32_t in_word(uint32_t n) { return n * n + 3; }

struct rig {
    const struct way *way;
    enum lanes_isa isa;
    struct exec_fixture x;
    char ptx[4096];
    bool stepped;
};

/* Where timing is told that the lanes of a load of the input lie. */
static void check_addresses(const struct rig *r, const struct warp_op *op, uint32_t warp, uint64_t in,
                            uint32_t *nth)
{
    if (op->info->class != WARP_CLASS_LOAD || op->space != WARP_SPACE_GLOBAL) return;
    FOR_LANES(lane, op->mask)
    {
        const uint32_t t = warp * 32 + lane;
        assert_int_equal(warp_op_address(op, lane), in + 4 * (uint64_t)r->way->at(t, nth[t]));
        nth[t]++;
    }
}

static void step_all(struct rig *r, struct exec_launch *launch, uint64_t in)
{
    uint32_t nth[THREADS] = {0};
    exec_launch_begin(launch);
    struct exec_block *b = exec_block_create(launch, 0, 0);
    while (!exec_block_done(b))
        for (uint32_t w = 0; w < launch->warps_per_block; w++) {
            struct warp_op op;
            if (exec_warp_step(b, w, &op) == WARP_STEP_OP) check_addresses(r, &op, w, in, nth);
        }
    exec_block_destroy(b);
    for (uint32_t t = 0; t < launch->threads_per_block; t++) assert_int_equal(nth[t], r->way->loads(t));
}

static void rig_body(void *arg)
{
    struct rig *r = arg;
    const struct way *const way = r->way;
    const bool rows = way->block[1] != 0;
    snprintf(r->ptx, sizeof r->ptx, "%s%s%s%s", PTX_HEAD KERNEL_BEGIN, rows ? "" : OUT32, way->body,
             "st.global.u32 [%rd3], %r6;\n" KERNEL_END);
    exec_fixture_open(&r->x, r->ptx, r->isa);
    uint32_t *const out = devmem_alloc(&r->x.memory, 4 * THREADS, 256, DEVMEM_DEVICE, "out");
    uint32_t *const in = devmem_alloc(&r->x.memory, 4 * WORDS, 256, DEVMEM_DEVICE, "in");
    for (uint32_t n = 0; n < WORDS; n++) in[n] = in_word(n);
    const uint64_t params[2] = {(uint64_t)out, (uint64_t)in};
    struct exec_launch launch = {.env = r->x.env,
                                 .kernel = exec_kernel_get(r->x.env, ptx_find_entry(r->x.program, "k")),
                                 .grid = {1, 1, 1},
                                 .block = {way->block[0], rows ? way->block[1] : 1, 1},
                                 .params = (const uint8_t *)params};
    assert_int_equal(launch.kernel->func->slope_count, way->slopes + 2);
    if (r->stepped)
        step_all(r, &launch, devmem_simulated(&r->x.memory, (uint64_t)in));
    else
        exec_launch_run(&launch);
    for (uint32_t t = 0; t < launch.threads_per_block; t++) {
        uint32_t want = 0;
        for (uint32_t n = 0; n < way->loads(t); n++) want += in_word(way->at(t, n));
        if (out[t] != want) fail_msg("thread %u: %u instead of %u", t, out[t], want);
    }
    exec_fixture_close(&r->x);
}

static void every_way_in_every_instruction_set(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < WAYS; k++)
        for (int isa = LANES_PLAIN; isa <= (int)lanes_isa_best(); isa++)
            for (int stepped = 0; stepped < 2; stepped++) {
                struct rig r = {.way = &ways[k], .isa = (enum lanes_isa)isa, .stepped = stepped};
                struct diag d;
                diag_init(&d);
                if (diag_run(&d, rig_body, &r) != DIAG_NONE) fail_msg("%s: %s", ways[k].name, d.text);
            }
}

static void what_lies_outside_is_found(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN OUT32 "ld.global.u32 %r5, [%rd3+3936];\n"
                                                       "st.global.u32 [%rd3], %r5;\n" KERNEL_END,
                    .block = {64}};
    bed_expect_mistake(&b,
                       PARTS("illegal load", "thread (40,0,0)")); /* (4096 - 3936) / 4: in the second warp */
}

/* Of what cannot be executed nobody knows what it would write, and it may stand where nobody comes. */
static void what_cannot_be_executed_makes_none(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD KERNEL_BEGIN OUT32
        "mul.wide.u32 %rd10, %r1, 4;\nsetp.ge.u32 %p1, %r1, 64;\n@!%p1 bra L;\n"
        "add.s64.u64 %rd11, %rd2, %rd10;\nld.global.u32 %r5, [%rd11];\nst.global.u32 [%rd3], %r5;\n"
        "L: st.global.u32 [%rd3], %r1;\n" KERNEL_END,
        .block = {64}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 64; t++) assert_int_equal(b.copy[t], t);
    struct bed two = {.ptx = PTX_HEAD KERNEL_BEGIN OUT32
                      "mul.wide.u32 %rd10, %r1, 4;\nadd.s64.s64 %rd11, %rd10;\nadd.s64 %rd12, %rd2, %rd10;\n"
                      "ld.global.u32 %r5, [%rd11];\nld.global.u32 %r6, [%rd12];\n" KERNEL_END,
                      .block = {64}};
    bed_expect_mistake(&two, PARTS("'add.s64.s64' takes 3 operands, not 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_in_every_instruction_set),
        cmocka_unit_test(what_lies_outside_is_found),
        cmocka_unit_test(what_cannot_be_executed_makes_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
