/* The approximate instructions: error against long double within what the PTX manual documents, the special
 * values of its tables, and the same bits from every instruction set. Prints the largest error found. */
#include <math.h>

#include "conformance/harness.h"

typedef long double exact_fn(long double x);
static long double exact_rcp(long double x) { return 1.0L / x; }
static long double exact_rsqrt(long double x) { return 1.0L / sqrtl(x); }

static float as_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
static uint32_t as_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

struct approx {
    struct suite suite;
    struct lanes_op op[LANES_ISA_COUNT];
    enum lanes_isa best;
};
static void open_one(struct approx *x, const char *spelling)
{
    memset(x, 0, sizeof *x);
    form(&x->suite.forms, "%s", spelling);
    suite_open(&x->suite);
    for (int isa = 0; isa < LANES_ISA_COUNT; isa++)
        assert_true(lanes_find(x->suite.func, x->suite.list[0].instr, (enum lanes_isa)isa, &x->op[isa]));
    x->best = lanes_isa_best();
}
/* 32 inputs; all instruction sets present and the lane form must agree */
static void compute(const struct approx *x, const union lane_array *a, const union lane_array *b,
                    union lane_array *d)
{
    x->op[LANES_PLAIN].warp(d, a, b, NULL, LANES_ALL, &x->op[LANES_PLAIN].ctx);
    const size_t bytes = (size_t)x->op[LANES_PLAIN].d_bytes * LANES_COUNT;
    for (int isa = LANES_AVX2; isa < LANES_ISA_COUNT; isa++) {
        if (!lanes_isa_present((enum lanes_isa)isa)) continue;
        union lane_array other;
        x->op[isa].warp(&other, a, b, NULL, LANES_ALL, &x->op[isa].ctx);
        if (memcmp(d, &other, bytes) != 0)
            fail_msg("%s: %s differs from plain", x->suite.forms.text[0],
                     lanes_isa_name((enum lanes_isa)isa));
    }
    union lane_array one;
    x->op[x->best].lane(&one, a, b, NULL, 1, &x->op[x->best].ctx);
    assert_memory_equal(&one, d, x->op[x->best].d_bytes);
}

enum measure { RELATIVE, ABSOLUTE };

/* Largest error over the floats of [low, high] (as bit patterns of one sign), about count of them. */
static double sweep(const struct approx *x, exact_fn *exact, uint32_t low, uint32_t high, uint32_t count,
                    enum measure measure, float *worst_at)
{
    const uint32_t step = (high - low) / count | 1;
    long double worst = 0;
    for (uint64_t u = low; u <= high;) {
        union lane_array a, d;
        for (int i = 0; i < LANES_COUNT; i++, u += step) a.w[i] = u <= high ? (uint32_t)u : high;
        compute(x, &a, &a, &d);
        for (int i = 0; i < LANES_COUNT; i++) {
            const long double in = as_float(a.w[i]), out = as_float(d.w[i]), e = exact(in);
            const long double error = measure == RELATIVE ? fabsl((out - e) / e) : fabsl(out - e);
            if (!(error <= worst)) worst = error, *worst_at = (float)in;
        }
    }
    return (double)worst;
}
static void within(const char *spelling, exact_fn *exact, uint32_t low, uint32_t high, enum measure measure,
                   double log2_bound)
{
    struct approx x;
    open_one(&x, spelling);
    float at = 0;
    const double worst = sweep(&x, exact, low, high, 1u << 20, measure, &at);
    print_message("%-24s [%g, %g]: %s error 2^%.2f at %g, documented 2^%.2f\n", spelling, as_float(low),
                  as_float(high), measure == RELATIVE ? "relative" : "absolute", log2(worst), at, log2_bound);
    if (!(log2(worst) <= log2_bound)) fail_msg("%s: error 2^%.3f at %a", spelling, log2(worst), at);
    suite_close(&x.suite);
}
#define BITS(x) as_bits(x)

static void reciprocals_and_roots(void **state)
{
    (void)state;
    within("rcp.approx.f32", exact_rcp, BITS(0x1p-126f), BITS(0x1p126f), RELATIVE, -23);
    within("rcp.approx.ftz.f32", exact_rcp, BITS(-0x1p-126f), BITS(-0x1p126f), RELATIVE, -23);
    within("sqrt.approx.f32", sqrtl, BITS(0x1p-149f), BITS(0x1.fffffep127f), RELATIVE, -23);
    within("sqrt.approx.ftz.f32", sqrtl, BITS(0x1p-126f), BITS(0x1.fffffep127f), RELATIVE, -23);
    within("rsqrt.approx.f32", exact_rsqrt, BITS(0x1p-149f), BITS(0x1.fffffep127f), RELATIVE, -22.9);
    within("rsqrt.approx.ftz.f32", exact_rsqrt, BITS(0x1p-126f), BITS(0x1.fffffep127f), RELATIVE, -22.9);
}
static void exponentials_and_logarithms(void **state)
{
    (void)state;
    within("ex2.approx.f32", exp2l, BITS(0x1p-60f), BITS(127.99f), RELATIVE, -22.5);
    within("ex2.approx.ftz.f32", exp2l, BITS(-0x1p-60f), BITS(-126.0f), RELATIVE, -22.5);
    within("ex2.approx.f32", exp2l, BITS(-126.0f), BITS(-149.0f), ABSOLUTE,
           -149); /* subnormal results: one unit */
    within("lg2.approx.f32", log2l, BITS(0.5f), BITS(2.0f), ABSOLUTE, -22);
    within("lg2.approx.ftz.f32", log2l, BITS(2.0f), BITS(0x1.fffffep127f), RELATIVE, -22);
    within("lg2.approx.f32", log2l, BITS(0x1p-149f), BITS(0.5f), RELATIVE, -22);
}
static void trigonometry(void **state)
{
    (void)state;
    const float two_pi = 6.2831853f, far = 314.159f;
    within("sin.approx.f32", sinl, BITS(0x1p-60f), BITS(two_pi), ABSOLUTE, -20.9);
    within("sin.approx.ftz.f32", sinl, BITS(-0x1p-60f), BITS(-two_pi), ABSOLUTE, -20.9);
    within("sin.approx.f32", sinl, BITS(two_pi), BITS(far), ABSOLUTE, -14.7);
    within("cos.approx.f32", cosl, BITS(0x1p-60f), BITS(two_pi), ABSOLUTE, -20.9);
    within("cos.approx.ftz.f32", cosl, BITS(-0x1p-60f), BITS(-two_pi), ABSOLUTE, -20.9);
    within("cos.approx.f32", cosl, BITS(two_pi), BITS(far), ABSOLUTE, -14.7);
    within("tanh.approx.f32", tanhl, BITS(0x1p-60f), BITS(100.0f), RELATIVE, -11);
    within("tanh.approx.f32", tanhl, BITS(-0x1p-60f), BITS(-100.0f), RELATIVE, -11);
}

static void quotients(void **state)
{
    (void)state;
    static const char *const forms[] = {"div.approx.f32", "div.approx.ftz.f32", "div.full.f32",
                                        "div.full.ftz.f32"};
    for (size_t k = 0; k < 4; k++) {
        struct approx x;
        open_one(&x, forms[k]);
        double worst = 0;
        for (int n = 0; n < 100000; n++) {
            union lane_array a, b, d;
            for (int i = 0; i < LANES_COUNT; i++) {
                /* exponents so that neither operand nor quotient leaves the documented range */
                a.w[i] = (uint32_t)(dice() & 0x807fffff) | (uint32_t)(127 - 60 + dice() % 120) << 23;
                b.w[i] = (uint32_t)(dice() & 0x807fffff) | (uint32_t)(127 - 60 + dice() % 120) << 23;
            }
            compute(&x, &a, &b, &d);
            for (int i = 0; i < LANES_COUNT; i++) {
                const long double e = (long double)as_float(a.w[i]) / as_float(b.w[i]);
                int exponent;
                (void)frexpl(e, &exponent);
                const double ulps = (double)(fabsl(as_float(d.w[i]) - e) / ldexpl(1, exponent - 24));
                if (ulps > worst) worst = ulps;
            }
        }
        print_message("%-24s: %.3f ulp, documented 2\n", forms[k], worst);
        assert_true(worst <= 2.0);
        suite_close(&x.suite);
    }
}

/* ---- halves ---- */
static float half_value(uint32_t h, bool bf)
{
    if (bf) return as_float(h << 16);
    const int e = (int)(h >> 10) & 31;
    const float m = (float)(h & 1023);
    const float v = e == 31 ? (m != 0 ? NAN : INFINITY) : e ? ldexpf(1024 + m, e - 25) : ldexpf(m, -24);
    return h & 0x8000 ? -v : v;
}
/* every one of the 65536 inputs with a finite, not tiny result */
static void all_halves(const char *spelling, exact_fn *exact, enum measure measure, double log2_bound)
{
    struct approx x;
    open_one(&x, spelling);
    const bool bf = strstr(spelling, "bf16") != NULL, pair = strstr(spelling, "16x2") != NULL;
    double worst = 0;
    float worst_at = 0;
    for (uint32_t h = 0; h < 65536; h += LANES_COUNT) {
        union lane_array a, d;
        for (uint32_t i = 0; i < LANES_COUNT; i++) a.w[i] = pair ? (h + i) << 16 | (65535 - h - i) : h + i;
        compute(&x, &a, &a, &d);
        for (uint32_t i = 0; i < LANES_COUNT; i++)
            for (uint32_t part = 0; part < (pair ? 2u : 1u); part++) {
                const float in = half_value((a.w[i] >> (16 * part)) & 0xffff, bf),
                            out = half_value((d.w[i] >> (16 * part)) & 0xffff, bf);
                const long double e = exact(in);
                if (!isfinite(in) || fabsl(e) > (bf ? 0x1.fep127L : 65504.0L) ||
                    fabsl(e) < (bf ? 0x1p-126L : 0x1p-14L))
                    continue;
                const double error = (double)(measure == RELATIVE ? fabsl((out - e) / e) : fabsl(out - e));
                if (!(error <= worst)) worst = error, worst_at = in;
            }
    }
    print_message("%-24s: %s error 2^%.2f, documented 2^%.2f\n", spelling,
                  measure == RELATIVE ? "relative" : "absolute", log2(worst), log2_bound);
    if (!(log2(worst) <= log2_bound)) fail_msg("%s: error 2^%.3f at %a", spelling, log2(worst), worst_at);
    suite_close(&x.suite);
}
static void half_functions(void **state)
{
    (void)state;
    all_halves("ex2.approx.f16", exp2l, RELATIVE, -9.9);
    all_halves("ex2.approx.f16x2", exp2l, RELATIVE, -9.9);
    all_halves("ex2.approx.ftz.bf16", exp2l, RELATIVE, -7);
    all_halves("ex2.approx.ftz.bf16x2", exp2l, RELATIVE, -7);
    all_halves("tanh.approx.f16", tanhl, ABSOLUTE, -10.987);
    all_halves("tanh.approx.f16x2", tanhl, ABSOLUTE, -10.987);
    all_halves("tanh.approx.bf16", tanhl, RELATIVE, -8);
    all_halves("tanh.approx.bf16x2", tanhl, RELATIVE, -8);
}

/* the upper word decides and the lower word of the result is zero */
static void gross_double_functions(void **state)
{
    (void)state;
    static const struct {
        const char *spelling;
        exact_fn *exact;
        double bound;
        bool gross;
    } rows[] = {{"rcp.approx.ftz.f64", exact_rcp, -19, true},
                {"rsqrt.approx.ftz.f64", exact_rsqrt, -19, true},
                {"rsqrt.approx.f64", exact_rsqrt, -51, false}};
    for (size_t k = 0; k < 3; k++) {
        struct approx x;
        open_one(&x, rows[k].spelling);
        double worst = 0;
        for (int n = 0; n < 20000; n++) {
            union lane_array a, d;
            for (int i = 0; i < LANES_COUNT; i++)
                a.l[i] = (dice() & UINT64_C(0x000fffffffffffff)) | (uint64_t)(2 + dice() % 2040) << 52;
            compute(&x, &a, &a, &d);
            for (int i = 0; i < LANES_COUNT; i++) {
                double in, out;
                memcpy(&in, &a.l[i], 8);
                memcpy(&out, &d.l[i], 8);
                if (rows[k].gross) assert_int_equal((uint32_t)d.l[i], 0);
                const double error = (double)fabsl(out / rows[k].exact(in) - 1);
                if (!(error <= worst)) worst = error;
            }
        }
        print_message("%-24s: relative error 2^%.2f, bound 2^%.0f\n", rows[k].spelling, log2(worst),
                      rows[k].bound);
        assert_true(log2(worst) <= rows[k].bound);
        suite_close(&x.suite);
    }
}

/* the tables of special values in the manual */
static void special_values(void **state)
{
    (void)state;
    enum { INF = 0x7f800000, NEG_INF = 0xff800000, QNAN = 0x7fffffff, ONE = 0x3f800000 };
    static const struct {
        const char *spelling;
        uint32_t in, out;
    } rows[] = {{"rcp.approx.f32", NEG_INF, 0x80000000},
                {"rcp.approx.ftz.f32", 0x80000001, NEG_INF},
                {"rcp.approx.f32", 0x80000000, NEG_INF},
                {"rcp.approx.f32", 0, INF},
                {"rcp.approx.ftz.f32", 1, INF},
                {"rcp.approx.f32", INF, 0},
                {"rcp.approx.f32", 0x7fc00001, QNAN},
                {"sqrt.approx.f32", NEG_INF, QNAN},
                {"sqrt.approx.f32", 0xbf800000, QNAN},
                {"sqrt.approx.ftz.f32", 0x80000001, 0x80000000},
                {"sqrt.approx.f32", 0x80000000, 0x80000000},
                {"sqrt.approx.f32", INF, INF},
                {"sqrt.approx.ftz.f32", 1, 0},
                {"rsqrt.approx.f32", NEG_INF, QNAN},
                {"rsqrt.approx.ftz.f32", 0x80000001, NEG_INF},
                {"rsqrt.approx.f32", 0x80000000, NEG_INF},
                {"rsqrt.approx.f32", 0, INF},
                {"rsqrt.approx.f32", INF, 0},
                {"sin.approx.f32", NEG_INF, QNAN},
                {"sin.approx.ftz.f32", 0x80000001, 0x80000000},
                {"sin.approx.f32", 0x80000000, 0x80000000},
                {"sin.approx.f32", 0, 0},
                {"sin.approx.f32", INF, QNAN},
                {"sin.approx.f32", 0x7f800001, QNAN},
                {"cos.approx.f32", NEG_INF, QNAN},
                {"cos.approx.f32", 0x80000001, ONE},
                {"cos.approx.f32", 0, ONE},
                {"cos.approx.f32", INF, QNAN},
                {"lg2.approx.f32", NEG_INF, QNAN},
                {"lg2.approx.ftz.f32", 0x80000001, NEG_INF},
                {"lg2.approx.f32", 0x80000000, NEG_INF},
                {"lg2.approx.f32", 0, NEG_INF},
                {"lg2.approx.f32", INF, INF},
                {"lg2.approx.f32", 0xbf800000, QNAN},
                {"lg2.approx.f32", ONE, 0},
                {"ex2.approx.f32", NEG_INF, 0},
                {"ex2.approx.f32", 0x80000001, ONE},
                {"ex2.approx.f32", 0, ONE},
                {"ex2.approx.f32", INF, INF},
                {"ex2.approx.f32", 0xffc00000, QNAN},
                {"ex2.approx.ftz.f32", 0xc2fe0000 /* -127 */, 0},
                {"ex2.approx.f32", 0xc2fe0000, 0x00400000},
                {"tanh.approx.f32", NEG_INF, 0xbf800000},
                {"tanh.approx.f32", INF, ONE},
                {"tanh.approx.f32", 0x80000000, 0x80000000},
                {"tanh.approx.f32", 0x7fc00000, QNAN}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct approx x;
        open_one(&x, rows[k].spelling);
        union lane_array a, d;
        for (int i = 0; i < LANES_COUNT; i++) a.w[i] = rows[k].in;
        compute(&x, &a, &a, &d);
        if (d.w[7] != rows[k].out)
            fail_msg("%s of %08x: expected %08x, got %08x", rows[k].spelling, rows[k].in, rows[k].out,
                     d.w[7]);
        suite_close(&x.suite);
    }
}
/* |b| > 2^126: zero, or NaN for an infinite dividend */
static void approximate_quotient_by_a_huge_divisor(void **state)
{
    (void)state;
    struct approx x;
    open_one(&x, "div.approx.f32");
    union lane_array a, b, d;
    for (int i = 0; i < LANES_COUNT; i++)
        a.w[i] = as_bits(i % 2 ? INFINITY : 3.0f), b.w[i] = as_bits(0x1.8p126f);
    compute(&x, &a, &b, &d);
    for (int i = 0; i < LANES_COUNT; i++) assert_int_equal(d.w[i], i % 2 ? 0x7fffffff : 0);
    suite_close(&x.suite);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reciprocals_and_roots), cmocka_unit_test(exponentials_and_logarithms),
        cmocka_unit_test(trigonometry),          cmocka_unit_test(quotients),
        cmocka_unit_test(half_functions),        cmocka_unit_test(gross_double_functions),
        cmocka_unit_test(special_values),        cmocka_unit_test(approximate_quotient_by_a_huge_divisor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
