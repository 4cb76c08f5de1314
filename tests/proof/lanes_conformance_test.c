/* Every instruction form of src/exec/lanes against the independent reference of tests/conformance: edge
 * values and random ones, every rounding, every instruction set of this machine, several masks, in place and
 * apart. */
#include "conformance/harness.h"

static void run_family(void (*family)(struct forms *), const char *name)
{
    struct suite s = {0};
    struct tally tally = {0};
    family(&s.forms);
    suite_open(&s);
    for (size_t i = 0; i < s.forms.count; i++) check_form(&s, &s.list[i], 4000, 150, &tally);
    print_message("%s: %zu forms, %llu cases each way, %llu calls\n", name, s.forms.count,
                  (unsigned long long)tally.cases, (unsigned long long)tally.calls);
    suite_close(&s);
}
static void integer_instructions_equal_the_reference(void **state)
{
    (void)state, run_family(forms_integer, "integer");
}
static void comparisons_equal_the_reference(void **state)
{
    (void)state, run_family(forms_compare, "comparison");
}
static void float_arithmetic_is_correctly_rounded(void **state)
{
    (void)state, run_family(forms_float, "float");
}
static void conversions_equal_the_reference(void **state)
{
    (void)state, run_family(forms_convert, "conversion");
}
static void packed_video_instructions_equal_the_reference(void **state)
{
    (void)state, run_family(forms_video, "video"), run_family(forms_video_scalar, "scalar video");
}

/* The tests above compare every set that the machine has; say which it lacks. */
static void avx2_took_part(void **state)
{
    (void)state;
    if (lanes_isa_present(LANES_AVX2)) return;
    print_message("SKIPPED: this machine has no AVX2\n");
    skip();
}
static void avx512_took_part(void **state)
{
    (void)state;
    if (lanes_isa_present(LANES_AVX512)) return;
    print_message("SKIPPED: this machine has no AVX-512\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_instructions_equal_the_reference),
        cmocka_unit_test(comparisons_equal_the_reference),
        cmocka_unit_test(float_arithmetic_is_correctly_rounded),
        cmocka_unit_test(conversions_equal_the_reference),
        cmocka_unit_test(packed_video_instructions_equal_the_reference),
        cmocka_unit_test(avx2_took_part),
        cmocka_unit_test(avx512_took_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
