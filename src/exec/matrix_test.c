/* Matrix instructions between memory and registers: what a kernel sees, end to end. */
#include "runtime_testbed.h"

static uint16_t half_of(uint32_t n) /* small whole numbers */
{
    if (!n) return 0;
    uint32_t e = 0;
    while (n >> (e + 1)) e++;
    return (uint16_t)((e + 15) << 10 | ((n << (10 - e)) & 0x3ff));
}

static uint32_t a_at(uint32_t r, uint32_t c) { return (r * 3 + c * 5) % 8; }
static uint32_t b_at(uint32_t r, uint32_t c) { return (r + c * 7) % 5; }

/* in: A row-major with a stride of 24, B column-major 16, then C row-major (f32) */
static void fill_matrices(uint32_t *out, uint32_t *in)
{
    uint16_t *half = (uint16_t *)in;
    (void)out;
    for (uint32_t r = 0; r < 16; r++)
        for (uint32_t c = 0; c < 16; c++) {
            half[r * 24 + c] = half_of(a_at(r, c));
            half[512 + c * 16 + r] = half_of(b_at(r, c));
            ((float *)in)[512 + r * 16 + c] = (float)(r + 100 * c);
        }
}

static void a_wmma_product_of_16_by_16_tiles_is_exact_for_whole_numbers(void **state)
{
    (void)state;
    struct bed b = {
        .ptx = PTX_HEAD KERNEL_BEGIN
        ".reg .b32 %a<8>;\n.reg .b32 %b<8>;\nadd.u64 %rd5, %rd2, 1024;\nadd.u64 %rd6, %rd2, 2048;\n"
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, [%rd2], 24;\n"
        "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, [%rd5];\n"
        "mov.u32 %r9, 16;\nwmma.load.c.sync.aligned.row.m16n16k16.global.f32 "
        "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, [%rd6], %r9;\n"
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f8,%f9,%f10,%f11,%f12,%f13,%f14,%f15}, "
        "{%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, "
        "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};\n"
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f8,%f9,%f10,%f11,%f12,%f13,%f14,%f15}, "
        "20;\n" KERNEL_END,
        .block = {32},
        .fill = fill_matrices};
    bed_expect_ok(&b);
    for (uint32_t r = 0; r < 16; r++)
        for (uint32_t c = 0; c < 16; c++) {
            uint32_t sum = r + 100 * c;
            for (uint32_t k = 0; k < 16; k++) sum += a_at(r, k) * b_at(k, c);
            float got;
            memcpy(&got, &b.copy[r * 20 + c], 4);
            assert_int_equal((uint32_t)got, sum);
        }
}

static void fill_halves(uint32_t *out, uint32_t *in)
{
    (void)out;
    for (uint32_t i = 0; i < 256; i++) ((uint16_t *)in)[i] = (uint16_t)i;
}

static void ldmatrix_gives_each_lane_its_pair_of_each_matrix(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD
                    ".shared .align 16 .b8 s[512];\n" KERNEL_BEGIN OUT32
                    "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 16, %r2;\nmul.wide.u32 %rd4, %r1, 16;\nadd.u64 "
                    "%rd5, %rd2, %rd4;\nld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd5];\nst.shared.v4.u32 [%r3], "
                    "{%r4,%r5,%r6,%r7};\nbar.sync 0;\n"
                    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r3];\n"
                    "st.global.u32 [%rd3], %r10;\nst.global.u32 [%rd3+128], %r11;\nst.global.u32 [%rd3+256], "
                    "%r12;\nst.global.u32 [%rd3+384], %r13;\n" KERNEL_END,
                    .block = {32},
                    .fill = fill_halves};
    bed_expect_ok(&b);
    for (uint32_t m = 0; m < 4; m++)
        for (uint32_t t = 0; t < 32; t++) {
            const uint32_t first = m * 64 + t / 4 * 8 + t % 4 * 2;
            assert_int_equal(b.copy[32 * m + t], first | (first + 1) << 16);
        }
}

static void part_of_a_warp_cannot_multiply_matrices(void **state)
{
    (void)state;
    struct bed b = {.ptx = PTX_HEAD
                    ".shared .align 16 .b8 s[512];\n" KERNEL_BEGIN
                    "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 16, %r2;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 "
                    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r3];\n" KERNEL_END,
                    .block = {32}};
    bed_expect_mistake(&b, PARTS("needs all 32 lanes", "0x0000007f"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wmma_product_of_16_by_16_tiles_is_exact_for_whole_numbers),
        cmocka_unit_test(ldmatrix_gives_each_lane_its_pair_of_each_matrix),
        cmocka_unit_test(part_of_a_warp_cannot_multiply_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
