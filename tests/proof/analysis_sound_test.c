/* analysis_sound: no line that a load marked ld.global.ro has read is written in the same launch, over
 * thousands of random kernels with overlapping arguments; and the marks are not simply absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/random_kernel.h"
#include "base/rng.h"

enum { KERNELS = 6000 };

static void no_line_marked_read_only_is_written(void **state)
{
    (void)state;
    struct random_kernel *k = malloc(sizeof *k);
    struct rng r = rng_seed(2024, 7);
    uint64_t loads = 0, read_only = 0, mixed = 0;
    assert_non_null(k);
    for (uint32_t n = 0; n < KERNELS; n++) {
        uint8_t data[16];
        struct diag d;
        for (uint32_t b = 0; b < sizeof data; b++) data[b] = (uint8_t)rng_below(&r, 256);
        if (!random_run(k, data, sizeof data, &d))
            fail_msg("kernel %u: %s\n%s", n, d.text ? d.text : "a read-only line is written", k->text);
        loads += k->oracle.loads;
        read_only += k->oracle.read_only_loads;
        mixed += k->oracle.read_only_loads && k->oracle.stores;
        diag_clear(&d);
    }
    print_message(
        "%u kernels, %llu loads, %llu of them read-only; %llu kernels with both read-only loads and stores\n",
        KERNELS, (unsigned long long)loads, (unsigned long long)read_only, (unsigned long long)mixed);
    assert_true(read_only > loads / 50);
    assert_true(mixed > KERNELS / 50);
    free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_marked_read_only_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
