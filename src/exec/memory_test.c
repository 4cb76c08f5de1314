/* Memory: every space and width, checks of every access, atomics, variables, races. */
#include "runtime_testbed.h"

/* ---- values ---- */

static void fill_iota(uint32_t *out, uint32_t *in)
{
    (void)out;
    for (uint32_t i = 0; i < 1024; i++) in[i] = 0x01020304u * i + 0x80f0u;
}

/* Every pattern of addresses: consecutive, reversed, same, half-warp rows, random; full and partial masks. */
static void loads_give_the_same_for_every_address_pattern_and_mask(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "mov.u32 %r2, %r1;",
        "sub.u32 %r2, 95, %r1;",
        "shr.u32 %r2, %r1, 5;",
        "and.b32 %r2, %r1, 15;",
        "shr.u32 %r2, %r1, 4;\nmul.lo.u32 %r2, %r2, 16;",
        "mul.lo.u32 %r2, %r1, 37;\nand.b32 %r2, %r2, 255;",
    };
    static const char *const guards[] = {"", "@%p1 ", "@!%p1 "};
    char ptx[4096];
    for (int isa = 0; isa < 2; isa++)
        for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
            for (int g = 0; g < 3; g++) {
                snprintf(
                    ptx, sizeof ptx,
                    "%s%s\nand.b32 %%r3, %%r1, 5;\nsetp.ne.u32 %%p1, %%r3, 4;\nmov.u32 %%r4, 7;\nmov.u32 "
                    "%%r5, "
                    "9;\nmov.u64 %%rd9, 11;\n"
                    "mul.wide.u32 %%rd4, %%r2, 4;\nadd.u64 %%rd5, %%rd2, %%rd4;\nmul.wide.u32 %%rd6, %%r2, "
                    "8;\nadd.u64 %%rd7, %%rd2, %%rd6;\n"
                    "%sld.global.u32 %%r4, [%%rd5+4];\n%sld.global.u64 %%rd9, [%%rd7];\n"
                    /* through shared memory, 32-bit and 64-bit addresses */
                    "mov.u32 %%r20, s;\nmad.lo.u32 %%r21, %%r1, 4, %%r20;\nld.global.u32 %%r22, "
                    "[%%rd2];\nmul.wide.u32 %%rd10, %%r1, 4;\nadd.u64 %%rd11, %%rd2, %%rd10;\n"
                    "ld.global.u32 %%r22, [%%rd11];\nst.shared.u32 [%%r21], %%r22;\nld.global.u32 %%r22, "
                    "[%%rd11+384];\nst.shared.u32 [%%r21+384], %%r22;\nld.global.u32 %%r22, "
                    "[%%rd11+768];\nst.shared.u32 [%%r21+768], %%r22;\nbar.sync 0;\n"
                    "mov.u64 %%rd12, s;\nadd.u64 %%rd13, %%rd12, %%rd4;\nmad.lo.u32 %%r23, %%r2, 4, %%r20;\n"
                    "%sld.shared.u32 %%r5, [%%r23];\nmov.u32 %%r6, 3;\n%sld.shared.u32 %%r6, [%%rd13];\n"
                    "cvt.u32.u64 %%r7, %%rd9;\nshr.u64 %%rd9, %%rd9, 32;\ncvt.u32.u64 %%r8, %%rd9;\n"
                    "st.global.u32 [%%rd3], %%r4;\nst.global.u32 [%%rd3+384], %%r5;\nst.global.u32 "
                    "[%%rd3+768], %%r6;\nst.global.u32 [%%rd3+1152], %%r7;\nst.global.u32 [%%rd3+1536], "
                    "%%r8;\n%s",
                    PTX_HEAD ".shared .align 8 .b8 s[4096];\n" KERNEL_BEGIN OUT32, patterns[p], guards[g],
                    guards[g], guards[g], guards[g], KERNEL_END);
                struct bed b = {.ptx = ptx,
                                .block = {96},
                                .fill = fill_iota,
                                .options = {.isa = isa ? RT_ISA_BEST : RT_ISA_PLAIN}};
                bed_expect_ok(&b);
                for (uint32_t t = 0; t < 96; t++) {
                    uint32_t at = 0;
                    switch (p) {
                    case 0: at = t; break;
                    case 1: at = 95 - t; break;
                    case 2: at = t >> 5; break;
                    case 3: at = t & 15; break;
                    case 4: at = (t >> 4) * 16; break;
                    default: at = t * 37 & 255;
                    }
                    const bool on = g == 0 || ((t & 5) != 4) == (g == 1);
#define IN(i) (0x01020304u * (i) + 0x80f0u)
                    assert_int_equal(b.copy[t], on ? IN(at + 1) : 7);
                    assert_int_equal(b.copy[96 + t], on ? IN(at) : 9);
                    assert_int_equal(b.copy[192 + t], on ? IN(at) : 3);
                    assert_int_equal(b.copy[288 + t], on ? IN(2 * at) : 11);
                    assert_int_equal(b.copy[384 + t], on ? IN(2 * at + 1) : 0);
                }
            }
}

static void stores_of_every_width_change_only_their_bytes(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN
                    "mul.wide.u32 %rd4, %r1, 32;\nadd.u64 %rd5, %rd1, %rd4;\nmov.b32 %r2, "
                    "0xa1b2c3d4;\nmov.b64 %rd6, 0x1122334455667788;\ncvt.u16.u32 %h1, %r2;\n"
                    "st.global.u8 [%rd5], %r2;\nst.global.u16 [%rd5+2], %h1;\nst.global.v2.u32 [%rd5+8], "
                    "{%r1, %r2};\nst.global.u64 [%rd5+16], %rd6;\nst.global.u32 [%rd5+24], %rd6;\n"
                    "setp.gt.u32 %p1, %r1, 3;\n@%p1 st.global.u8 [%rd5+29], 255;\n" KERNEL_END,
                    .block = {32}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) {
        const uint32_t *o = b.copy + 8 * t;
        assert_int_equal(o[0], 0xc3d400d4);
        assert_int_equal(o[1], 0);
        assert_int_equal(o[2], t);
        assert_int_equal(o[3], 0xa1b2c3d4);
        assert_int_equal(o[4], 0x55667788);
        assert_int_equal(o[5], 0x11223344);
        assert_int_equal(o[6], 0x55667788);
        assert_int_equal(o[7], t > 3 ? 0xff00 : 0);
    }
}

static void fill_bytes(uint32_t *out, uint32_t *in)
{
    (void)out;
    in[0] = 0x80ff7f01;
    in[1] = 0x8000ffff;
    in[2] = 0xdeadbeef;
    in[3] = 0x12345678;
}

static void loads_extend_by_sign_or_zero_to_the_register(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN
                    "ld.global.s8 %r2, [%rd2+2];\nld.global.u8 %r3, [%rd2+2];\nld.global.s16 %r4, "
                    "[%rd2+6];\nld.global.u16 %r5, [%rd2+6];\nld.global.s32 %rd4, [%rd2+8];\nld.global.u32 "
                    "%rd5, [%rd2+8];\nld.global.v4.u32 {%r10,_,%r12,%r13}, [%rd2];\nld.global.v4.u8 "
                    "{%h1,%h2,%h3,%h4}, [%rd2];\ncvt.u32.u16 %r20, %h4;\n"
                    "ld.global.nc.v2.u64 {%rd8,%rd9}, [%rd2];\n"
                    "st.global.u32 [%rd1], %r2;\nst.global.u32 [%rd1+4], %r3;\nst.global.u32 [%rd1+8], "
                    "%r4;\nst.global.u32 [%rd1+12], %r5;\nst.global.u64 [%rd1+16], %rd4;\nst.global.u64 "
                    "[%rd1+24], %rd5;\nst.global.v4.u32 [%rd1+32], {%r10, %r12, %r13, "
                    "%r20};\nst.global.v2.u64 [%rd1+48], {%rd9, %rd8};\n" KERNEL_END,
                    .fill = fill_bytes};
    bed_expect_ok(&b);
    const uint32_t want[] = {0xffffffff, 0xff,       0xffff8000, 0x8000,     0xdeadbeef, 0xffffffff,
                             0xdeadbeef, 0,          0x80ff7f01, 0xdeadbeef, 0x12345678, 0x80,
                             0xdeadbeef, 0x12345678, 0x80ff7f01, 0x8000ffff};
    for (int i = 0; i < 16; i++) assert_int_equal(b.copy[i], want[i]);
}

static void local_memory_is_private_and_addressable(void **state)
{
    (void)state;
    /* a[i] = tid + i; sum of a[tid & 7 ..]; also through a generic pointer, in 8-byte and 1-byte pieces */
    struct bed b = {
        .ptx = PTX_HEAD KERNEL_BEGIN OUT32
        ".local .align 16 .b8 a[64];\nmov.u32 %r2, 0;\nmov.u64 %rd4, a;\ncvta.local.u64 %rd5, %rd4;\n"
        "L: mul.wide.u32 %rd6, %r2, 4;\nadd.u64 %rd7, %rd4, %rd6;\nadd.u32 %r3, %r1, %r2;\nst.local.u32 "
        "[%rd7], %r3;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 16;\n@%p1 bra L;\n"
        "and.b32 %r4, %r1, 7;\nmul.wide.u32 %rd8, %r4, 8;\nadd.u64 %rd9, %rd5, %rd8;\nld.u64 %rd10, "
        "[%rd9];\nshr.u64 %rd11, %rd10, 32;\ncvt.u32.u64 %r5, %rd11;\nst.global.u32 [%rd3], %r5;\n"
        "ld.local.u8 %r6, [a+4];\nst.global.u32 [%rd3+128], %r6;\nst.local.v2.u64 [a+16], {%rd10, "
        "%rd8};\nld.local.v4.u32 {%r10,%r11,%r12,%r13}, [a+16];\nadd.u32 %r10, %r10, %r12;\nst.global.u32 "
        "[%rd3+256], %r10;\n"
        "isspacep.local %p2, %rd5;\nisspacep.global %p3, %rd1;\nisspacep.shared %p4, %rd5;\nselp.u32 %r14, "
        "1, 0, %p2;\n@%p3 add.u32 %r14, %r14, 2;\n@%p4 add.u32 %r14, %r14, 4;\nst.global.u32 [%rd3+384], "
        "%r14;\n" KERNEL_END,
        .block = {32}};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(b.copy[t], t + 2 * (t & 7) + 1);
        assert_int_equal(b.copy[32 + t], (t + 1) & 0xff);
        assert_int_equal(b.copy[64 + t], t + 2 * (t & 7) + 8 * (t & 7));
        assert_int_equal(b.copy[96 + t], 3);
    }
}

static void generic_addresses_reach_shared_memory_and_parameters(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD
                    ".extern .shared .align 8 .b8 dyn[];\n" KERNEL_BEGIN OUT32
                    "mov.u64 %rd4, dyn;\ncvta.shared.u64 %rd5, %rd4;\nmul.wide.u32 %rd6, %r1, 4;\nadd.u64 "
                    "%rd7, %rd5, %rd6;\nadd.u32 %r2, %r1, 40;\nst.u32 [%rd7], %r2;\nbar.sync "
                    "0;\ncvta.to.shared.u64 %rd8, %rd7;\nld.shared.u32 %r3, [%rd8];\natom.add.u32 %r4, "
                    "[%rd7], 1;\nld.u32 %r5, [%rd7];\nadd.u32 %r3, %r3, %r5;\nst.global.u32 [%rd3], %r3;\n"
                    "mov.u32 %r6, %dynamic_smem_size;\nst.global.u32 [%rd3+128], %r6;\nmov.b64 %rd9, "
                    "p1;\ncvta.param.u64 %rd10, %rd9;\nld.u64 %rd11, [%rd10];\nsetp.eq.u64 %p1, %rd11, "
                    "%rd2;\nselp.u32 %r7, 1, 0, %p1;\nst.global.u32 [%rd3+256], %r7;\n" KERNEL_END,
                    .block = {32},
                    .shared_bytes = 128};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(b.copy[t], 2 * (t + 40) + 1);
        assert_int_equal(b.copy[32 + t], 128);
        assert_int_equal(b.copy[64 + t], 1);
    }
}

static void module_variables_have_their_initial_values_and_addresses(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD
                    ".const .align 4 .b32 c[4] = {1, 2, 3, 4};\n.global .align 4 .f32 f = "
                    "0f3F800000;\n.global .align 8 .u64 p[2] = {generic(f), c+8};\n.global .align 1 .b8 "
                    "text[6] = {104, 101, 108, 108, 111, 0};\n" KERNEL_BEGIN
                    "ld.const.u32 %r2, [c+12];\nst.global.u32 [%rd1], %r2;\nmov.u64 %rd3, p;\nld.global.u64 "
                    "%rd4, [%rd3];\nld.f32 %f1, [%rd4];\nst.global.f32 [%rd1+4], %f1;\nld.global.u64 %rd5, "
                    "[p+8];\nld.const.u32 %r3, [%rd5];\nst.global.u32 [%rd1+8], %r3;\nld.global.u8 %r4, "
                    "[text+4];\nst.global.u32 [%rd1+12], %r4;\nst.global.u32 [f], 7;\nisspacep.const %p1, "
                    "%rd5;\nselp.u32 %r5, 1, 0, %p1;\nst.global.u32 [%rd1+16], %r5;\n" KERNEL_END};
    bed_expect_ok(&b);
    const uint32_t want[] = {4, 0x3f800000, 3, 'o', 1};
    for (int i = 0; i < 5; i++) assert_int_equal(b.copy[i], want[i]);
}

/* ---- atomics ---- */

struct atom_case {
    const char *op;     /* "add.u32" */
    uint64_t old, b, c; /* c: of cas */
    uint64_t want;
};

static void every_atomic_operation_gives_old_value_and_new_memory(void **state)
{
    (void)state;
    static const struct atom_case cases[] = {
        {"add.u32", 5, 7, 0, 12},
        {"add.s32", 5, (uint32_t)-7, 0, (uint32_t)-2},
        {"add.u64", 0xffffffff, 1, 0, 0x100000000},
        {"min.s32", (uint32_t)-3, 2, 0, (uint32_t)-3},
        {"min.u32", (uint32_t)-3, 2, 0, 2},
        {"max.s64", (uint64_t)-3, 2, 0, 2},
        {"max.u64", (uint64_t)-3, 2, 0, (uint64_t)-3},
        {"and.b32", 0xff00, 0x0ff0, 0, 0x0f00},
        {"or.b64", 0xff00, 0x0ff0, 0, 0xfff0},
        {"xor.b32", 0xff00, 0x0ff0, 0, 0xf0f0},
        {"exch.b64", 1, 0x123456789abc, 0, 0x123456789abc},
        {"cas.b32", 5, 5, 9, 9},
        {"cas.b64", 5, 6, 9, 5},
        {"inc.u32", 5, 5, 0, 0},
        {"inc.u32", 4, 5, 0, 5},
        {"dec.u32", 0, 5, 0, 5},
        {"dec.u32", 9, 5, 0, 5},
        {"dec.u32", 3, 5, 0, 2},
        {"add.f32", 0x3f800000, 0x40000000, 0, 0x40400000},
        {"add.f32", 0x00000001, 0x00000001, 0, 0}, /* subnormal: flushed in global memory */
        {"add.f64", 0x3ff0000000000000, 0x4000000000000000, 0, 0x4008000000000000},
        {"add.noftz.f16x2", 0x3c003c00, 0x40003c00, 0, 0x42004000},
        {"add.noftz.bf16x2", 0x3f803f80, 0x40003f80, 0, 0x40404000},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        const struct atom_case *c = &cases[n];
        const bool wide = strstr(c->op, "64") != NULL, cas = !strncmp(c->op, "cas", 3);
        char ptx[4096];
        snprintf(ptx, sizeof ptx,
                 "%smov.b64 %%rd4, %llu;\nmov.b64 %%rd5, %llu;\nmov.b64 %%rd6, %llu;\ncvt.u32.u64 %%r5, "
                 "%%rd5;\ncvt.u32.u64 %%r6, %%rd6;\nst.global.u64 [%%rd1], %%rd4;\nmov.u64 %%rd7, "
                 "0;\nmov.u32 %%r7, 0;\n"
                 "atom.global.%s %s, [%%rd1], %s%s%s;\n%sst.global.u64 [%%rd1+8], %%rd7;\n"
                 "st.global.u64 [%%rd1+16], %%rd4;\n%s.global.%s %s[%%rd1+16], %s%s%s;\n%s",
                 PTX_HEAD KERNEL_BEGIN, (unsigned long long)c->old, (unsigned long long)c->b,
                 (unsigned long long)c->c, c->op, wide ? "%rd7" : "%r7", wide ? "%rd5" : "%r5",
                 cas ? "," : "", cas ? (wide ? "%rd6" : "%r6") : "", wide ? "" : "cvt.u64.u32 %rd7, %r7;\n",
                 cas || !strncmp(c->op, "exch", 4) ? "atom" : "red", c->op,
                 cas || !strncmp(c->op, "exch", 4) ? (wide ? "%rd7, " : "%r7, ") : "", wide ? "%rd5" : "%r5",
                 cas ? "," : "", cas ? (wide ? "%rd6" : "%r6") : "", KERNEL_END);
        struct bed b = {.ptx = ptx};
        bed_expect_ok(&b);
        uint64_t got[3];
        memcpy(got, b.copy, sizeof got);
        if (got[0] != c->want || got[1] != c->old || got[2] != c->want)
            fail_msg("%s: memory %llx, old %llx, red %llx", c->op, (unsigned long long)got[0],
                     (unsigned long long)got[1], (unsigned long long)got[2]);
    }
}

static void atomics_on_shared_memory_keep_subnormals_and_count_all_lanes(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD
                    ".shared .align 4 .b32 s[2];\n" KERNEL_BEGIN
                    "mov.f32 %f1, 0f00000001;\natom.shared.add.f32 %f2, [s], %f1;\nred.shared.add.u32 [s+4], "
                    "3;\nbar.sync 0;\nld.shared.u32 %r2, [s];\nld.shared.u32 %r3, [s+4];\nst.global.u32 "
                    "[%rd1], %r2;\nst.global.u32 [%rd1+4], %r3;\n" KERNEL_END,
                    .block = {100}};
    bed_expect_ok(&b);
    assert_int_equal(b.copy[0], 100);
    assert_int_equal(b.copy[1], 300);
}

/* cp.async.bulk both ways: into shared memory, an mbarrier counts the bytes; out of it, a group is waited
 * for. */
static void bulk_copies_go_through_shared_memory(void **state)
{
    (void)state;
    struct bed b = {
        .ptx =
            ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[256];\n.shared .align 8 "
            ".b64 "
            "bar;\n" KERNEL_BEGIN "mov.u32 %r2, s;\nmov.u32 %r3, bar;\nmbarrier.init.shared.b64 [%r3], 1;\n"
            "mbarrier.arrive.expect_tx.shared.b64 %rd4, [%r3], 256;\n"
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 256, [%r3];\n"
            "L: mbarrier.try_wait.shared.b64 %p1, [%r3], %rd4;\n@!%p1 bra L;\nld.shared.u32 %r4, "
            "[%r2+4];\nadd.u32 %r4, %r4, 1;\nst.shared.u32 [%r2+4], %r4;\nfence.proxy.async.shared::cta;\n"
            "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 256;\ncp.async.bulk.commit_group;\n"
            "cp.async.bulk.wait_group 0;\n" KERNEL_END,
        .fill = fill_iota};
    bed_expect_ok(&b);
    for (uint32_t k = 0; k < 64; k++) assert_int_equal(b.copy[k], 0x01020304u * k + 0x80f0u + (k == 1));
    assert_int_equal(b.copy[64], 0);
}

/* ---- checks ---- */

static void a_load_behind_a_buffer_names_kernel_line_thread_and_buffer(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD
                    ".file 1 \"kernel.cu\"\n" KERNEL_BEGIN OUT32
                    ".loc 1 42 5\nld.global.u32 %r2, [%rd3+4000];\nst.global.u32 [%rd3], %r2;\n" KERNEL_END,
                    .block = {64},
                    .grid = {2}};
    bed_expect_mistake(&b, PARTS("illegal load of 4 bytes", "'out' of 4096 bytes",
                                 "which ends 0 bytes before", "kernel 'k'", "(kernel.cu:42)",
                                 "block (0,0,0), thread (24,0,0)", "test.ptx:", "ld.global.u32"));
    for (int i = 0; i < 64; i++) assert_int_equal(b.copy[i], 0); /* nothing was stored */
}

static void a_store_before_a_buffer_and_to_null_are_caught(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN "st.global.u64 [%rd1+-8], %rd2;\n" KERNEL_END};
    bed_expect_mistake(
        &b, PARTS("illegal store of 8 bytes", "'out' of 4096 bytes", "which starts 8 bytes after"));
    struct bed n = {.ptx = PTX_HEAD KERNEL_BEGIN "mov.u64 %rd4, 0;\nst.u32 [%rd4], %r1;\n" KERNEL_END};
    bed_expect_mistake(&n, PARTS("illegal store of 4 bytes at global address 0x0"));
}

static void a_misaligned_access_is_caught(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN OUT32 "ld.global.v2.u32 {%r2,%r3}, [%rd3];\n" KERNEL_END,
                    .block = {32}};
    bed_expect_mistake(
        &b, PARTS("misaligned load of 8 bytes", "no multiple of 8", "nearest is '", "thread (1,0,0)"));
    struct bed c = {.ptx = PTX_HEAD ".shared .align 4 .b32 s[4];\n" KERNEL_BEGIN
                                    "mov.u32 %r2, s;\nst.shared.u32 [%r2+2], %r1;\n" KERNEL_END};
    bed_expect_mistake(&c, PARTS("misaligned store of 4 bytes at shared address 0x2"));
}

/* In the second warp: the first one has met the range, so that the lanes are loaded together. */
static void one_bad_address_among_scattered_ones_is_caught(void **state)
{
    (void)state;
    static const struct {
        int64_t shift;
        const char *what;
    } bad[] = {{4096, "illegal load of 4 bytes"},
               {-4096, "illegal load of 4 bytes"},
               {INT64_MIN, "illegal load of 4 bytes"},
               {2, "misaligned load of 4 bytes"}};
    char ptx[2048];
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        snprintf(ptx, sizeof ptx,
                 "%smul.lo.u32 %%r2, %%r1, 37;\nand.b32 %%r2, %%r2, 255;\nmul.wide.u32 %%rd4, %%r2, 4;\n"
                 "setp.eq.u32 %%p1, %%r1, 41;\nmov.u64 %%rd5, %lld;\nmov.u64 %%rd6, 0;\n"
                 "selp.b64 %%rd5, %%rd5, %%rd6, %%p1;\nadd.u64 %%rd4, %%rd4, %%rd5;\n"
                 "add.u64 %%rd4, %%rd4, %%rd2;\nld.global.u32 %%r3, [%%rd4];\n"
                 "st.global.u32 [%%rd3], %%r3;\n%s",
                 PTX_HEAD KERNEL_BEGIN OUT32, (long long)bad[k].shift, KERNEL_END);
        struct bed b = {.ptx = ptx, .block = {64}, .fill = fill_iota};
        bed_expect_mistake(&b, PARTS(bad[k].what, "thread (41,0,0)"));
    }
}

static void shared_memory_beyond_the_block_is_caught(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD
                    ".shared .align 4 .b32 s[32];\n" KERNEL_BEGIN
                    "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 4, %r2;\nst.shared.u32 [%r3+4], %r1;\n" KERNEL_END,
                    .block = {32}};
    bed_expect_mistake(&b, PARTS("store of 4 bytes at shared address 0x80", "has 128 bytes of shared memory",
                                 "thread (31,0,0)"));
    struct bed w = {.ptx = PTX_HEAD ".shared .align 4 .b32 s[32];\n" KERNEL_BEGIN
                                    "st.shared.u32 [%rd1], %r1;\n" KERNEL_END};
    bed_expect_mistake(&w, PARTS("wrong space"));
    struct bed v = {.ptx = PTX_HEAD
                    ".shared .align 4 .b32 s[32];\n" KERNEL_BEGIN
                    "mov.u64 %rd4, s;\ncvta.shared.u64 %rd4, %rd4;\nst.global.u32 [%rd4], %r1;\n" KERNEL_END};
    bed_expect_mistake(&v, PARTS("generic address of shared memory: wrong space"));
}

static void the_place_of_a_fault_is_its_instruction(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD KERNEL_BEGIN
                    "mov.u64 %rd4, 0;  @!%p1 ld.global.u32 %r2, [%rd4]; add.u32 %r2, %r2, 1;\n" KERNEL_END};
    bed_expect_mistake(
        &b, PARTS("test.ptx:15:25: illegal load", "\n                            ^~~~~~~~~~~~~\n"));
}

#define CONSTANT ".const .align 8 .b32 table[4] = {11, 22, 33, 44};\n"

/* Constant memory is read through generic addresses too, and never written. */
static void constant_memory_cannot_be_written(void **state)
{
    (void)state;
    static const char *const writes[] = {
        "st.u32 [%rd4], %r1;\n",
        "st.global.u32 [%rd4], %r1;\n",
        "st.u64 [%rd4], %rd1;\n",
        "st.v2.u32 [%rd4], {%r1, %r1};\n",
        "st.u8 [%rd4], %r1;\n",
        "atom.add.u32 %r2, [%rd4], 1;\n",
        "atom.cas.b64 %rd5, [%rd4], %rd1, %rd2;\n",
        "red.global.add.u32 [%rd4], 1;\n",
    };
    char ptx[4096];
    for (size_t n = 0; n < sizeof writes / sizeof *writes; n++)
        for (int isa = 0; isa < 2; isa++) {
            /* The load before it and a store elsewhere by the same instruction leave no way around the check.
             */
            snprintf(ptx, sizeof ptx,
                     "%smov.u64 %%rd4, table;\ncvta.const.u64 %%rd4, %%rd4;\nadd.u64 %%rd4, %%rd4, 8;\n"
                     "ld.u32 %%r2, [%%rd4];\nst.global.u32 [%%rd1], %%r2;\nmov.u64 %%rd6, %%rd4;\n"
                     "add.u64 %%rd4, %%rd1, 16;\nmov.u32 %%r3, 0;\nL: %smov.u64 %%rd4, %%rd6;\nadd.u32 %%r3, "
                     "%%r3, 1;\nsetp.lt.u32 %%p1, %%r3, 2;\n@%%p1 bra L;\nst.global.u32 [%%rd1], 99;\n%s",
                     PTX_HEAD CONSTANT KERNEL_BEGIN, writes[n], KERNEL_END);
            struct bed b = {.ptx = ptx, .block = {32}, .options = {.isa = isa ? RT_ISA_BEST : RT_ISA_PLAIN}};
            bed_expect_mistake(&b, PARTS("byte 8 of the constant variable 'table'",
                                         "cannot write constant memory", "declare it __device__",
                                         "thread (0,0,0)"));
            assert_int_equal(b.copy[0], 33);
        }
}

static void local_memory_has_a_limit_that_is_told_at_launch(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *part;
    } rows[] = {
        {"524289", "needs 524304 bytes of local memory per thread"},
        {"4294967296", "needs 4294967296 bytes of local memory per thread"},
        {"4294967304", "at most 524288 are possible"},
        {"20000000000", "make the arrays smaller"},
    };
    char ptx[4096];
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        snprintf(ptx, sizeof ptx, "%s.local .align 8 .b8 big[%s];\nst.local.u32 [big+400000], %%r1;\n%s",
                 PTX_HEAD KERNEL_BEGIN, rows[n].bytes, KERNEL_END);
        struct bed b = {.ptx = ptx, .block = {32}};
        bed_expect_mistake(&b, PARTS("kernel 'k'", rows[n].part));
    }
    /* As much as allowed: only what is touched costs memory, in every thread of a block. */
    struct bed most = {.ptx = PTX_HEAD KERNEL_BEGIN OUT32
                       ".local .align 8 .b8 big[524288];\nst.local.u32 [big+524284], %r1;\nld.local.u32 %r2, "
                       "[big+524284];\nld.local.u32 %r3, [big+1000];\nadd.u32 %r2, %r2, %r3;\n"
                       "st.global.u32 [%rd3], %r2;\n" KERNEL_END,
                       .block = {1024},
                       .grid = {3},
                       .out_words = 3072};
    bed_expect_ok(&most);
    for (uint32_t t = 0; t < 3072; t++) assert_int_equal(most.copy[t], t % 1024);
}

static void free_and_use(void *arg)
{
    static const char ptx[] =
        PTX_HEAD KERNEL_BEGIN "ld.global.u32 %r2, [%rd2];\nst.global.u32 [%rd1], %r2;\n" KERNEL_END;
    struct rt_context **rt = arg;
    *rt = rt_create(NULL);
    struct rt_kernel *k = rt_kernel_find(rt_module_load(*rt, "test.ptx", ptx, strlen(ptx)), "k");
    uint32_t *out = rt_alloc(*rt, 64, "out"), *in = rt_alloc(*rt, 64, "in");
    const struct rt_arg args[] = {RT_ARG(out), RT_ARG(in)};
    in[0] = 5;
    for (int round = 0; round < 2; round++) {
        rt_launch_args(*rt, k, (struct rt_dim){1, 1, 1}, (struct rt_dim){1, 1, 1}, 0, args, 2);
        rt_wait(*rt);
        assert_int_equal(out[0], 5);
        if (round == 0) rt_free(*rt, in);
    }
}

static void a_freed_buffer_is_no_longer_readable(void **state)
{
    (void)state;
    struct rt_context *rt = NULL;
    struct diag d;
    diag_init(&d);
    assert_int_equal(diag_run(&d, free_and_use, &rt), DIAG_MISTAKE);
    assert_non_null(strstr(d.text, "illegal load"));
    assert_non_null(strstr(d.text, "freed 'in' of 64 bytes"));
    diag_clear(&d);
    rt_destroy(rt);
}

/* ---- asynchronous copies and mbarriers ---- */

static void asynchronous_copies_arrive_in_shared_memory(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD
                    ".shared .align 16 .b8 s[1024];\n" KERNEL_BEGIN OUT32
                    "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 16, %r2;\nmul.wide.u32 %rd4, %r1, 16;\nadd.u64 "
                    "%rd5, %rd2, %rd4;\nsetp.lt.u32 %p1, %r1, 16;\nselp.u32 %r8, 16, 4, %p1;\n"
                    "cp.async.cg.shared.global [%r3], [%rd5], 16, %r8;\ncp.async.ca.shared.global [%r3+512], "
                    "[%rd5], 4;\ncp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\nld.shared.u32 "
                    "%r4, [%r3+8];\nld.shared.u32 %r5, [%r3+512];\nst.global.u32 [%rd3], %r4;\nst.global.u32 "
                    "[%rd3+128], %r5;\n" KERNEL_END,
                    .block = {32},
                    .fill = fill_iota};
    bed_expect_ok(&b);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(b.copy[t], t < 16 ? IN(4 * t + 2) : 0);
        assert_int_equal(b.copy[32 + t], IN(4 * t));
    }
}

static void an_mbarrier_holds_back_consumers_until_all_arrived(void **state)
{
    (void)state;
    /* warp 0 waits with parity 0; warp 1 stores and arrives (32 arrivals) */
    struct bed b = {.ptx = PTX_HEAD
                    ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 s[32];\n" KERNEL_BEGIN OUT32
                    "and.b32 %r9, %r1, 31;\nmov.u32 %r2, s;\nmad.lo.u32 %r3, %r9, 4, %r2;\nsetp.eq.u32 %p1, "
                    "%r1, 0;\n@%p1 mbarrier.init.shared.b64 [bar], 32;\nbar.sync 0;\nsetp.ge.u32 %p2, %r1, "
                    "32;\n@%p2 bra PROD;\n"
                    "W: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n@!%p3 bra W;\nld.shared.u32 %r4, "
                    "[%r3];\nst.global.u32 [%rd3], %r4;\nret;\nPROD: add.u32 %r5, %r9, 7;\nst.shared.u32 "
                    "[%r3], %r5;\nmbarrier.arrive.shared.b64 %rd5, [bar];\n" KERNEL_END,
                    .block = {64},
                    .options = {.max_instructions = 1000000, .racecheck = true}};
    bed_expect_ok(&b);
    assert_int_equal(b.races, 0);
    for (uint32_t t = 0; t < 32; t++) assert_int_equal(b.copy[t], t + 7);
}

/* ---- lazily filled buffers ---- */

static void fill_squares(void *user, void *dst, uint64_t first, uint64_t bytes)
{
    uint64_t *chunks = user;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((uint32_t *)dst)[i] = (uint32_t)((first / 4 + i) * (first / 4 + i));
    ++*chunks;
}

static void gather_lazily(void *arg)
{
    static const char ptx[] = PTX_HEAD KERNEL_BEGIN OUT32
        "mul.wide.u32 %rd5, %r62, 40000004;\nadd.u64 %rd6, %rd2, %rd5;\nld.global.u32 %r2, "
        "[%rd6];\nst.global.u32 [%rd3], %r2;\n" KERNEL_END;
    struct rt_context **rt = arg;
    uint64_t chunks = 0;
    *rt = rt_create(NULL);
    struct rt_kernel *k = rt_kernel_find(rt_module_load(*rt, "test.ptx", ptx, strlen(ptx)), "k");
    uint32_t *out = rt_alloc(*rt, 4096, "out");
    uint32_t *in = rt_alloc_lazy(*rt, (uint64_t)6 << 30, "in", fill_squares, &chunks);
    const struct rt_arg args[] = {RT_ARG(out), RT_ARG(in)};
    rt_launch_args(*rt, k, (struct rt_dim){2, 1, 1}, (struct rt_dim){64, 1, 1}, 0, args, 2);
    rt_wait(*rt);
    for (uint32_t t = 0; t < 128; t++) assert_int_equal(out[t], t * 10000001u * (t * 10000001u));
    assert_int_equal(chunks, 128);
    rt_touch(*rt, in + 1000, 4); /* the chunk of thread 0 */
    assert_int_equal(chunks, 128);
    assert_int_equal(in[1000], 1000000);
    assert_int_equal(rt_simulated(*rt, in) % (2 << 20), 0);
}

static void a_lazy_buffer_costs_only_the_chunks_that_are_met(void **state)
{
    (void)state;
    struct rt_context *rt = NULL;
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, gather_lazily, &rt) != DIAG_NONE) fail_msg("%s", d.text);
    rt_destroy(rt);
}

/* ---- races ---- */

static void a_missing_barrier_is_a_race_and_a_present_one_is_not(void **state)
{
    (void)state;
#define NEIGHBOUR(barrier) \
    PTX_HEAD ".shared .align 4 .b32 s[64];\n" KERNEL_BEGIN OUT32 \
             "mov.u32 %r10, s;\nmad.lo.u32 %r11, %r1, 4, %r10;\nst.shared.u32 [%r11], %r1;\n" barrier \
             "xor.b32 %r5, %r1, 63;\nmad.lo.u32 %r12, %r5, 4, %r10;\nld.shared.u32 %r6, " \
             "[%r12];\nst.global.u32 [%rd3], %r6;\n" KERNEL_END
    struct bed clean = {.ptx = NEIGHBOUR("bar.sync 0;\n"), .block = {64}, .options = {.racecheck = true}};
    bed_expect_ok(&clean);
    assert_int_equal(clean.races, 0);
    struct bed racy = {.ptx = NEIGHBOUR(""), .block = {64}, .options = {.racecheck = true}};
    bed_expect_ok(&racy);
    assert_true(racy.races >= 1);
    assert_non_null(strstr(racy.text, "hazard on shared memory"));
    assert_non_null(strstr(racy.text, "st.shared.u32"));
    assert_non_null(strstr(racy.text, "ld.shared.u32"));
    assert_non_null(strstr(racy.text, " reads at test.ptx:"));
}

static void two_threads_that_write_one_word_are_a_race_and_atomics_are_not(void **state)
{
    (void)state;
    struct bed racy = {.ptx = PTX_HEAD ".shared .align 4 .b32 s;\n" KERNEL_BEGIN
                                       "st.shared.u32 [s], %r1;\n" KERNEL_END,
                       .block = {64},
                       .options = {.racecheck = true}};
    bed_expect_ok(&racy);
    assert_int_equal(racy.races, 1);
    assert_non_null(strstr(racy.text, "write-after-write"));
    struct bed clean = {.ptx = PTX_HEAD ".shared .align 4 .b32 s;\n" KERNEL_BEGIN
                                        "red.shared.add.u32 [s], %r1;\n" KERNEL_END,
                        .block = {64},
                        .options = {.racecheck = true}};
    bed_expect_ok(&clean);
    assert_int_equal(clean.races, 0);
}

static void lanes_of_a_warp_are_ordered_by_a_warp_barrier(void **state)
{
    (void)state;
#define IN_WARP(barrier) \
    PTX_HEAD ".shared .align 4 .b32 s[32];\n" KERNEL_BEGIN OUT32 \
             "mov.u32 %r10, s;\nmad.lo.u32 %r11, %r1, 4, %r10;\nst.shared.u32 [%r11], %r1;\n" barrier \
             "xor.b32 %r5, %r1, 31;\nmad.lo.u32 %r12, %r5, 4, %r10;\nld.shared.u32 %r6, " \
             "[%r12];\nst.global.u32 [%rd3], %r6;\n" KERNEL_END
    struct bed clean = {
        .ptx = IN_WARP("bar.warp.sync 0xffffffff;\n"), .block = {32}, .options = {.racecheck = true}};
    bed_expect_ok(&clean);
    assert_int_equal(clean.races, 0);
    struct bed racy = {.ptx = IN_WARP(""), .block = {32}, .options = {.racecheck = true}};
    bed_expect_ok(&racy);
    assert_true(racy.races >= 1);
}

/* All threads read a word, one of them writes it: whichever it is, the others' reads are not ordered. */
static void a_write_after_others_read_is_a_race_whoever_writes(void **state)
{
    (void)state;
    static const uint32_t writers[] = {0, 1, 31, 32, 63, 64, 95};
    for (uint32_t k = 0; k < sizeof writers / sizeof writers[0]; k++) {
        for (uint32_t ordered = 0; ordered < 2; ordered++) {
            char number[16], ptx[2048];
            (void)snprintf(number, sizeof number, "%u", writers[k]);
            (void)snprintf(ptx, sizeof ptx, "%s%s%s%s%s",
                           PTX_HEAD ".shared .align 4 .b32 s;\n" KERNEL_BEGIN "ld.shared.u32 %r5, [s];\n",
                           ordered ? "bar.sync 0;\n" : "", "setp.eq.u32 %p1, %r1, ", number,
                           ";\n@%p1 st.shared.u32 [s], %r5;\n" KERNEL_END);
            struct bed b = {.ptx = ptx, .block = {96}, .options = {.racecheck = true}};
            bed_expect_ok(&b);
            if (!b.races != (ordered == 1)) fail_msg("writer %u: %u races", writers[k], (uint32_t)b.races);
        }
    }
}

/* In one warp the barrier of the warp orders reads before it, and only those. */
static void a_read_after_the_warp_barrier_is_not_ordered_by_it(void **state)
{
    (void)state;
#define READ_SYNC(again) \
    PTX_HEAD ".shared .align 4 .b32 s;\n" KERNEL_BEGIN \
             "ld.shared.u32 %r5, [s];\nbar.warp.sync 0xffffffff;\n" again "setp.eq.u32 %p1, %r1, 31;\n" \
             "@%p1 st.shared.u32 [s], %r5;\n" KERNEL_END
    struct bed clean = {.ptx = READ_SYNC(""), .block = {32}, .options = {.racecheck = true}};
    bed_expect_ok(&clean);
    assert_int_equal(clean.races, 0);
    struct bed racy = {
        .ptx = READ_SYNC("ld.shared.u32 %r6, [s];\n"), .block = {32}, .options = {.racecheck = true}};
    bed_expect_ok(&racy);
    assert_int_equal(racy.races, 1);
    assert_non_null(strstr(racy.text, "write-after-read"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bulk_copies_go_through_shared_memory),
        cmocka_unit_test(the_place_of_a_fault_is_its_instruction),
        cmocka_unit_test(constant_memory_cannot_be_written),
        cmocka_unit_test(local_memory_has_a_limit_that_is_told_at_launch),
        cmocka_unit_test(loads_give_the_same_for_every_address_pattern_and_mask),
        cmocka_unit_test(stores_of_every_width_change_only_their_bytes),
        cmocka_unit_test(loads_extend_by_sign_or_zero_to_the_register),
        cmocka_unit_test(local_memory_is_private_and_addressable),
        cmocka_unit_test(generic_addresses_reach_shared_memory_and_parameters),
        cmocka_unit_test(module_variables_have_their_initial_values_and_addresses),
        cmocka_unit_test(every_atomic_operation_gives_old_value_and_new_memory),
        cmocka_unit_test(atomics_on_shared_memory_keep_subnormals_and_count_all_lanes),
        cmocka_unit_test(a_load_behind_a_buffer_names_kernel_line_thread_and_buffer),
        cmocka_unit_test(a_store_before_a_buffer_and_to_null_are_caught),
        cmocka_unit_test(a_misaligned_access_is_caught),
        cmocka_unit_test(one_bad_address_among_scattered_ones_is_caught),
        cmocka_unit_test(shared_memory_beyond_the_block_is_caught),
        cmocka_unit_test(a_freed_buffer_is_no_longer_readable),
        cmocka_unit_test(asynchronous_copies_arrive_in_shared_memory),
        cmocka_unit_test(an_mbarrier_holds_back_consumers_until_all_arrived),
        cmocka_unit_test(a_lazy_buffer_costs_only_the_chunks_that_are_met),
        cmocka_unit_test(a_missing_barrier_is_a_race_and_a_present_one_is_not),
        cmocka_unit_test(two_threads_that_write_one_word_are_a_race_and_atomics_are_not),
        cmocka_unit_test(lanes_of_a_warp_are_ordered_by_a_warp_barrier),
        cmocka_unit_test(a_write_after_others_read_is_a_race_whoever_writes),
        cmocka_unit_test(a_read_after_the_warp_barrier_is_not_ordered_by_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
