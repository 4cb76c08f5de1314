/* MDR: the two bandwidth models against values computed by hand, and the profiler against short streams. */
#include "dram/dram_map.h"
#include "gpu/gpu_testbed.h"

static void close_to(double got, double expected)
{
    if (got < expected - 1e-6 || got > expected + 1e-6) fail_msg("%f, not %f", got, expected);
}

/* Per slice of the paper's machine, GB/s. */
static const struct mdr_rates paper = {.llc = 44.8, .net = 22.4, .memory = 11.25};

BED_TEST(equations_give_what_is_computed_by_hand)
{
    /* H 0.5: local 0.5 * 44.8 + min(22.4, 11.25) = 33.65; remote min(22.4, 33.65) = 22.4 */
    close_to(mdr_without_copies(&paper, 0.5, 0.25), 0.25 * 33.65 + 0.75 * 22.4);
    /* H 0.1: local 4.48 + 11.25 = 15.73, below the network's */
    close_to(mdr_without_copies(&paper, 0.1, 0.25), 15.73);
    close_to(mdr_without_copies(&paper, 1, 0), 22.4);
    close_to(mdr_without_copies(&paper, 1, 1), 44.8);
    /* misses: min(0.5 * 44.8, 11.25) */
    close_to(mdr_with_copies(&paper, 0.5, 0.25), 22.4 + 11.25);
    /* few misses: all of them pass */
    close_to(mdr_with_copies(&paper, 0.9, 0.25), 44.8);
    /* a network slower than memory: below = 0.25 * 11.25 + 0.75 * 5 = 6.5625 */
    const struct mdr_rates slow = {.llc = 44.8, .net = 5, .memory = 11.25};
    close_to(mdr_with_copies(&slow, 0.2, 0.25), 8.96 + 6.5625);
    close_to(mdr_without_copies(&slow, 0.2, 0.25), 0.25 * 20.21 + 0.75 * 5);
}

/* Where nothing is near, the paper's model changes its mind at H' = (22.4 - 11.25) / 44.8 when H is high. */
BED_TEST(the_papers_model_replicates_from_a_hit_rate_of_a_quarter_on)
{
    const double edge = (22.4 - 11.25) / 44.8;
    assert_true(mdr_with_copies(&paper, edge + 0.001, 0) > mdr_without_copies(&paper, 0.9, 0));
    assert_true(mdr_with_copies(&paper, edge - 0.001, 0) < mdr_without_copies(&paper, 0.9, 0));
    /* the bottleneck: memory gives 11.25 / (1 - H'), which passes the network's 22.4 at about a half */
    assert_true(mdr_with_copies_bottleneck(&paper, 0.49, 0) < mdr_without_copies_bottleneck(&paper, 0.9, 0));
    assert_true(mdr_with_copies_bottleneck(&paper, 0.52, 0) > mdr_without_copies_bottleneck(&paper, 0.9, 0));
}

BED_TEST(bottlenecks_are_computed_by_hand)
{
    close_to(mdr_without_copies_bottleneck(&paper, 0.9, 0.5), 44.8);  /* net 44.8, memory 112.5 */
    close_to(mdr_without_copies_bottleneck(&paper, 0.9, 0), 22.4);    /* net */
    close_to(mdr_without_copies_bottleneck(&paper, 0, 0), 11.25);     /* memory */
    close_to(mdr_with_copies_bottleneck(&paper, 0.9, 0), 44.8 / 1.1); /* slices serve a tenth twice */
    close_to(mdr_with_copies_bottleneck(&paper, 1, 0), 44.8);
    close_to(mdr_with_copies_bottleneck(&paper, 0.2, 0.5), 11.25 / 0.8);
}

/* ---- the profiler ---- */

struct bench {
    struct machine machine;
    struct arena arena;
    struct slice_spec slices;
    struct organisation organisation;
    struct mdr *mdr;
};

static void bench_open(struct bench *b, const char *setting)
{
    machine_init(&b->machine);
    machine_load(&b->machine, "nuba");
    machine_set(&b->machine, "nuba.epoch_cyc=1000");
    if (setting) machine_set(&b->machine, setting);
    machine_finish(&b->machine);
    arena_init(&b->arena);
    b->slices = slice_spec_of(&b->machine.config, dram_map_new(&b->arena, &b->machine.config));
    b->organisation = organisation_of(&b->machine.config, 0);
    b->mdr = mdr_new(&b->arena, &b->machine.config, &b->slices, &b->organisation);
    assert_non_null(b->mdr);
}

static void bench_close(struct bench *b)
{
    arena_free(&b->arena);
    machine_free(&b->machine);
}

/* The n-th line in a sampled set. */
static uint64_t sampled_line(const struct bench *b, uint32_t n)
{
    for (uint64_t line = 0;; line++) {
        const uint32_t set = slice_set_of(&b->slices, line);
        if (set % b->mdr->every == 0 && set / b->mdr->every < b->mdr->sets && !n--) return line;
    }
}

static void miss(struct bench *b, uint64_t line, uint32_t slice, uint32_t home, bool read_only, uint64_t cyc)
{
    const struct request r = {.home = {.line = line, .slice = (uint16_t)home},
                              .kind = REQUEST_READ,
                              .flags = read_only ? REQUEST_READ_ONLY : 0};
    const struct llc_tap tap = mdr_input_tap(b->mdr);
    tap.see(tap.self, &r, slice, false, cyc);
}

/* Other partitions read a line of the profiled slice: a hit without copies, and with copies none of its
 * business. */
BED_TEST(others_reads_of_read_only_lines_count_without_copies_only)
{
    struct bench b;
    bench_open(&b, NULL);
    const uint64_t line = sampled_line(&b, 0);
    miss(&b, line, 4, 0, true, 1);
    miss(&b, line, 6, 0, true, 2);
    miss(&b, line, 0, 0, true, 3);
    accesses_flush(&b.mdr->accesses);
    assert_int_equal(b.mdr->without.seen, 3);
    assert_int_equal(b.mdr->without.hits, 2);
    assert_int_equal(b.mdr->with.seen, 1);
    assert_int_equal(b.mdr->with.hits, 0);
    /* what may be written has one place either way */
    miss(&b, line, 4, 0, false, 4);
    /* a read-only line of another partition is looked up here with copies only */
    miss(&b, sampled_line(&b, 1), 0, 8, true, 5);
    miss(&b, sampled_line(&b, 1), 0, 8, true, 6);
    miss(&b, sampled_line(&b, 2), 0, 8, false, 7);
    accesses_flush(&b.mdr->accesses);
    assert_int_equal(b.mdr->without.seen, 4);
    assert_int_equal(b.mdr->with.seen, 4);
    assert_int_equal(b.mdr->with.hits, 2);
    assert_int_equal(b.mdr->misses, 4);
    assert_int_equal(b.mdr->near_misses, 1);
    assert_int_equal(mdr_remote_tap(b.mdr).see == NULL, 1);
    bench_close(&b);
}

/* The literal profiler sees its own slice: inputs of its SMs, and what other slices send to it. */
BED_TEST(the_local_profiler_sees_its_slice_only)
{
    struct bench b;
    bench_open(&b, "nuba.profiler=local");
    const uint64_t line = sampled_line(&b, 0);
    miss(&b, line, 4, 0, true, 1); /* somewhere else */
    accesses_flush(&b.mdr->accesses);
    assert_int_equal(b.mdr->without.seen, 0);
    const struct request r = {.home = {.line = line}, .kind = REQUEST_READ, .flags = REQUEST_READ_ONLY};
    const struct llc_tap tap = mdr_remote_tap(b.mdr);
    tap.see(tap.self, &r, 0, false, 2); /* it arrives at its home */
    accesses_flush(&b.mdr->accesses);
    assert_int_equal(b.mdr->without.seen, 1);
    assert_int_equal(b.mdr->with.seen, 0);
    bench_close(&b);
}

/* The sampled sets are LRU sets of the slice's ways. */
BED_TEST(shadows_hold_as_many_lines_as_a_set_has_ways)
{
    struct bench b;
    bench_open(&b, NULL);
    uint64_t lines[17];
    uint32_t found = 0;
    for (uint64_t line = 0; found < 17; line++)
        if (slice_set_of(&b.slices, line) == 0) lines[found++] = line;
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t k = 0; k < 16; k++) miss(&b, lines[k], 0, 0, true, round * 100 + k + 1);
    accesses_flush(&b.mdr->accesses);
    assert_int_equal(b.mdr->with.hits, 16);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t k = 0; k < 17; k++) miss(&b, lines[k], 0, 0, true, 300 + round * 100 + k);
    accesses_flush(&b.mdr->accesses);
    assert_int_equal(b.mdr->with.hits, 32); /* the first round up to the 17th; then each has just left */
    bench_close(&b);
}

/* All hits, nothing near: copies; in force 116 cycles after the end of the epoch, not before. */
BED_TEST(decisions_are_in_force_after_their_latency)
{
    struct bench b;
    bench_open(&b, NULL);
    const uint64_t far = sampled_line(&b, 0), home = sampled_line(&b, 1);
    for (uint32_t k = 0; k < 100; k++) {
        miss(&b, far, 0, 8, true, 2 * k + 1);
        miss(&b, home, 4, 0, true, 2 * k + 2);
    }
    assert_int_equal(b.mdr->stats.epochs, 0);
    miss(&b, far, 0, 8, true, 999);
    assert_int_equal(b.mdr->stats.epochs, 0);
    miss(&b, far, 0, 8, true, 1000);
    assert_int_equal(b.mdr->stats.epochs, 1);
    assert_int_equal(b.mdr->stats.epochs_on, 1);
    assert_true(b.organisation.replicate_next);
    assert_false(b.organisation.replicate);
    assert_int_equal(b.organisation.change_tick, 1116 * b.slices.ticks_per_cycle);
    /* counts begin anew; an epoch without samples decides nothing */
    miss(&b, far, 0, 9, true, 2500);
    assert_int_equal(b.mdr->stats.epochs, 1);
    bench_close(&b);
}

/* A kernel that nothing was copied for has no copies to drop; one that ends while a decision for them is on
 * its way may have. */
BED_TEST(a_boundary_drops_copies_only_if_there_may_be_some)
{
    struct bench b;
    bench_open(&b, NULL);
    const uint64_t far = sampled_line(&b, 0), home = sampled_line(&b, 1);
    assert_int_equal(organisation_boundary(&b.organisation), llc_boundary_keep);
    for (uint32_t k = 0; k < 100; k++) {
        miss(&b, far, 0, 8, true, 2 * k + 1);
        miss(&b, home, 4, 0, true, 2 * k + 2);
    }
    miss(&b, far, 0, 8, true, 1000);
    assert_int_equal(organisation_boundary(&b.organisation), b.machine.config.llc.boundary);
    organisation_forget_copies(&b.organisation); /* copies go on being made */
    assert_int_equal(organisation_boundary(&b.organisation), b.machine.config.llc.boundary);
    b.organisation.replicate = b.organisation.replicate_next = false;
    assert_int_equal(organisation_boundary(&b.organisation), b.machine.config.llc.boundary);
    organisation_forget_copies(&b.organisation);
    assert_int_equal(organisation_boundary(&b.organisation), llc_boundary_keep);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equations_give_what_is_computed_by_hand),
        cmocka_unit_test(the_papers_model_replicates_from_a_hit_rate_of_a_quarter_on),
        cmocka_unit_test(bottlenecks_are_computed_by_hand),
        cmocka_unit_test(others_reads_of_read_only_lines_count_without_copies_only),
        cmocka_unit_test(the_local_profiler_sees_its_slice_only),
        cmocka_unit_test(shadows_hold_as_many_lines_as_a_set_has_ways),
        cmocka_unit_test(decisions_are_in_force_after_their_latency),
        cmocka_unit_test(a_boundary_drops_copies_only_if_there_may_be_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
