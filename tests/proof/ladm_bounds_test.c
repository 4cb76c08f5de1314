/* Bounds of LADM's machine that follow from its links: what the switch between GPUs carries, and the share of
 * REMOTE-LOCAL requests. */
#include <stdlib.h>

#include "run_stats.h"

static const char *const none[] = {NULL};

static double number(json_t *stats, const char *name)
{
    const json_t *const value = json_object_get(stats, name);
    if (!value) fail_msg("no statistic %s", name);
    return json_number_value(value);
}

/* vecadd:small has three arrays of 2^20 floats. Three quarters of the lines are off the GPU. A line takes 128 bytes
 * and two headers of 8 bytes of the links, which carry 4 x 180 GB/s: 20,519 cycles and more. */
static void a_stream_over_the_switch_takes_its_time(void **state)
{
    (void)state;
    json_t *const stats = run_some("ladm-rr", "vecadd:small", none, NULL, 0);
    const double cycles =
        json_number_value(json_object_get(json_array_get(json_object_get(stats, "kernels"), 0), "cycles"));
    const double bytes = number(stats, "llc.forward_bytes_off_gpu") / 128 * 144;
    print_message("%.0f cycles; links: %.0f\n", cycles, bytes / (4 * 180e9) * 1.4e9);
    assert_true(cycles >= 20519);
    assert_true(cycles >= bytes / (4 * 180e9) * 1.4e9);
    assert_true(number(stats, "sm.off_gpu_share") > 0.74 && number(stats, "sm.off_gpu_share") < 0.76);
    json_decref(stats);
}

/* With lines spread over 16 chiplets, 15 of 16 requests of SMs are remote. Each causes one request at the home at
 * most: 15 / 31 of all. */
static void remote_local_requests_are_fewer_than_half(void **state)
{
    (void)state;
    json_t *const stats = run_some("ladm-rr", "gather:tiny", none, NULL, 0);
    const double share = number(stats, "llc.remote_local_share");
    print_message("REMOTE-LOCAL share %.3f of at most %.3f\n", share, 15.0 / 31);
    assert_true(share > 0.2 && share <= 15.0 / 31);
    json_decref(stats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_over_the_switch_takes_its_time),
        cmocka_unit_test(remote_local_requests_are_fewer_than_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
