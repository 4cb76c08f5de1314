/* MDR: the two bandwidth models against values computed by hand, and the profiler against short streams. */
#include "dram/dram_map.h"
#include "system/rules.h"
#include "system_testbed.h"

static void close_to(double got, double expected)
{
    if (got < expected - 1e-6 || got > expected + 1e-6) fail_msg("%f, not %f", got, expected);
}

/* Per slice of the paper's machine, GB/s. */
static const struct mdr_rates paper = {.llc = 44.8, .net = 22.4, .memory = 11.25};

BED_TEST(equations_give_what_is_computed_by_hand)
{
    /* H 0.5: local 0.5 * 44.8 + min(22.4, 11.25) = 33.65; remote min(22.4, 33.65) = 22.4 */
    close_to(mdr_without_replicas(&paper, 0.5, 0.25), 0.25 * 33.65 + 0.75 * 22.4);
    /* H 0.1: local 4.48 + 11.25 = 15.73, below the network's */
    close_to(mdr_without_replicas(&paper, 0.1, 0.25), 15.73);
    close_to(mdr_without_replicas(&paper, 1, 0), 22.4);
    close_to(mdr_without_replicas(&paper, 1, 1), 44.8);
    /* misses: min(0.5 * 44.8, 11.25) */
    close_to(mdr_with_replicas(&paper, 0.5, 0.25), 22.4 + 11.25);
    /* few misses: all of them pass */
    close_to(mdr_with_replicas(&paper, 0.9, 0.25), 44.8);
    /* a network slower than memory: below = 0.25 * 11.25 + 0.75 * 5 = 6.5625 */
    const struct mdr_rates slow = {.llc = 44.8, .net = 5, .memory = 11.25};
    close_to(mdr_with_replicas(&slow, 0.2, 0.25), 8.96 + 6.5625);
    close_to(mdr_without_replicas(&slow, 0.2, 0.25), 0.25 * 20.21 + 0.75 * 5);
}

/* Where nothing is near, the paper's model changes its mind at H' = (22.4 - 11.25) / 44.8 when H is high. */
BED_TEST(the_papers_model_replicates_from_a_hit_rate_of_a_quarter_on)
{
    const double edge = (22.4 - 11.25) / 44.8;
    assert_true(mdr_with_replicas(&paper, edge + 0.001, 0) > mdr_without_replicas(&paper, 0.9, 0));
    assert_true(mdr_with_replicas(&paper, edge - 0.001, 0) < mdr_without_replicas(&paper, 0.9, 0));
    /* the bottleneck: memory gives 11.25 / (1 - H'), which passes the network's 22.4 at about a half */
    assert_true(mdr_with_replicas_bottleneck(&paper, 0.49, 0) <
                mdr_without_replicas_bottleneck(&paper, 0.9, 0));
    assert_true(mdr_with_replicas_bottleneck(&paper, 0.52, 0) >
                mdr_without_replicas_bottleneck(&paper, 0.9, 0));
}

BED_TEST(bottlenecks_are_computed_by_hand)
{
    close_to(mdr_without_replicas_bottleneck(&paper, 0.9, 0.5), 44.8);  /* net 44.8, memory 112.5 */
    close_to(mdr_without_replicas_bottleneck(&paper, 0.9, 0), 22.4);    /* net */
    close_to(mdr_without_replicas_bottleneck(&paper, 0, 0), 11.25);     /* memory */
    close_to(mdr_with_replicas_bottleneck(&paper, 0.9, 0), 44.8 / 1.1); /* slices serve a tenth twice */
    close_to(mdr_with_replicas_bottleneck(&paper, 1, 0), 44.8);
    close_to(mdr_with_replicas_bottleneck(&paper, 0.2, 0.5), 11.25 / 0.8);
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
    machine_finish(&b->machine, &system_rules);
    arena_init(&b->arena);
    b->slices = slice_spec_of(&b->machine.config, dram_map_new(&b->arena, &b->machine.config));
    organisation_init(&b->organisation, &b->arena, &b->machine.config, 0, NULL, NULL);
    b->mdr = mdr_new(&b->arena, &b->machine.config, &b->slices, &b->organisation);
    assert_non_null(b->mdr);
}

static void set_replication(struct bench *b, bool on)
{
    organisation_set(&b->organisation, &(struct organisation_state){.degree = 1, .replicate = on}, 0);
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
        if (set % b->mdr->set_stride == 0 && set / b->mdr->set_stride < b->mdr->sets && !n--) return line;
    }
}

static void miss(struct bench *b, uint64_t line, uint32_t slice, uint32_t home, bool read_only, uint64_t cyc)
{
    const struct request r = {.home = {.line = line, .slice = (uint16_t)home},
                              .kind = REQUEST_READ,
                              .flags = read_only ? REQUEST_READ_ONLY : 0};
    const struct llc_monitor monitor = mdr_input_monitor(b->mdr);
    monitor.on_request(monitor.self, &r, slice, false, cyc);
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
    assert_int_equal(b.mdr->without.accesses, 3);
    assert_int_equal(b.mdr->without.hits, 2);
    assert_int_equal(b.mdr->with.accesses, 1);
    assert_int_equal(b.mdr->with.hits, 0);
    /* what may be written has one place either way */
    miss(&b, line, 4, 0, false, 4);
    /* a read-only line of another partition is looked up here with copies only */
    miss(&b, sampled_line(&b, 1), 0, 8, true, 5);
    miss(&b, sampled_line(&b, 1), 0, 8, true, 6);
    miss(&b, sampled_line(&b, 2), 0, 8, false, 7);
    accesses_flush(&b.mdr->accesses);
    assert_int_equal(b.mdr->without.accesses, 4);
    assert_int_equal(b.mdr->with.accesses, 4);
    assert_int_equal(b.mdr->with.hits, 2);
    assert_int_equal(b.mdr->misses, 4);
    assert_int_equal(b.mdr->local_misses, 1);
    assert_int_equal(mdr_remote_monitor(b.mdr).on_request == NULL, 1);
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
    assert_int_equal(b.mdr->without.accesses, 0);
    const struct request r = {.home = {.line = line}, .kind = REQUEST_READ, .flags = REQUEST_READ_ONLY};
    const struct llc_monitor monitor = mdr_remote_monitor(b.mdr);
    monitor.on_request(monitor.self, &r, 0, false, 2); /* it arrives at its home */
    accesses_flush(&b.mdr->accesses);
    assert_int_equal(b.mdr->without.accesses, 1);
    assert_int_equal(b.mdr->with.accesses, 0);
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
    assert_true(b.organisation.state[1].replicate);
    assert_false(b.organisation.state[0].replicate);
    assert_int_equal(b.organisation.path.change_tick, 1116 * b.slices.ticks_per_cycle);
    /* counts begin anew; an epoch without samples decides nothing */
    miss(&b, far, 0, 9, true, 2500);
    assert_int_equal(b.mdr->stats.epochs, 1);
    bench_close(&b);
}

/* Reads of an epoch, of lines in sampled sets, and the expected counts. */
struct epoch {
    const char *near;  /* lines of the profiled slice, read by its own SMs: a letter each */
    const char *far;   /* lines of another partition, read by the profiled slice's SMs */
    const char *asked; /* lines of the profiled slice, read by others */
    bool far_written, asked_written;
    /* by hand: hits of seen without copies, with copies; near ones of L1 misses */
    uint32_t without_hits, without, with_hits, with, local_misses, misses;
    bool on;
};

/* All of them in its epoch; the last one in its last cycle. */
static void sample(struct bench *b, const struct epoch *e, uint64_t epoch)
{
    const uint64_t end_cyc = (epoch + 1) * 1000;
    uint64_t cyc = end_cyc - strlen(e->near) - strlen(e->far) - strlen(e->asked);
    for (const char *p = e->near; *p; p++) miss(b, sampled_line(b, (uint32_t)*p), 0, 0, true, cyc++);
    for (const char *p = e->far; *p; p++)
        miss(b, sampled_line(b, (uint32_t)*p), 0, 8, !e->far_written, cyc++);
    for (const char *p = e->asked; *p; p++)
        miss(b, sampled_line(b, (uint32_t)*p), 4, 0, !e->asked_written, cyc++);
    assert_int_equal(cyc, end_cyc);
}

/* Each of the three rates alone turns one of these decisions round. GB/s of a slice, without and with. */
BED_TEST(decisions_are_those_of_the_equations_for_what_was_sampled)
{
    static const struct epoch epochs[] = {
        /* nothing near, 0.9 without, 0.8 with: 22.4 < 44.8 */
        {.near = "",
         .far = "AAAAAAAABB",
         .asked = "CCCCCCCCCC",
         .without_hits = 9,
         .without = 10,
         .with_hits = 8,
         .with = 10,
         .misses = 10,
         .on = true},
        /* 0.2 with: 22.4 > 0.2 * 44.8 + 11.25 = 20.21 (without taken for none: 11.25) */
        {.near = "",
         .far = "DEFGD",
         .asked = "HHHHHHHHHH",
         .without_hits = 9,
         .without = 10,
         .with_hits = 1,
         .with = 5,
         .misses = 5},
        /* all near, 0.9 either way: 44.8 = 44.8 (taken for remote: 22.4) */
        {.near = "IIIIIIIIII",
         .far = "",
         .asked = "",
         .without_hits = 9,
         .without = 10,
         .with_hits = 9,
         .with = 10,
         .local_misses = 10,
         .misses = 10},
    };
    for (size_t k = 0; k < sizeof epochs / sizeof *epochs; k++) {
        struct bench b;
        const struct epoch *e = &epochs[k];
        bench_open(&b, NULL);
        close_to(b.mdr->rates.llc * 1e-9, paper.llc);
        close_to(b.mdr->rates.net * 1e-9, paper.net);
        sample(&b, e, 0);
        miss(&b, sampled_line(&b, 0), 0, 8, true, 1000); /* of the next */
        const struct nuba_stats *t = &b.mdr->stats;
        assert_int_equal(t->epochs, 1);
        assert_int_equal(t->sampled_without_hits, e->without_hits);
        assert_int_equal(t->sampled_without, e->without);
        assert_int_equal(t->sampled_with_hits, e->with_hits);
        assert_int_equal(t->sampled_with, e->with);
        assert_int_equal(t->sampled_near, e->local_misses);
        assert_int_equal(t->sampled_misses, e->misses);
        assert_int_equal(t->epochs_on, e->on);
        assert_int_equal(b.organisation.state[1].replicate, e->on);
        bench_close(&b);
    }
}

/* One rate is not known in each of these: what was decided before stays, whichever it was. */
BED_TEST(an_epoch_that_lacks_a_sample_decides_nothing)
{
    static const struct epoch epochs[] = {
        {.near = "", .far = "", .asked = "AABB", .asked_written = true}, /* no L1 miss of its own */
        {.near = "", .far = "AAAA", .asked = ""}, /* no line that would be here without */
        {.near = "", .far = "AA", .asked = "BB", .far_written = true}, /* none that would be with */
    };
    for (size_t k = 0; k < 2 * (sizeof epochs / sizeof *epochs); k++) {
        struct bench b;
        bench_open(&b, NULL);
        set_replication(&b, k % 2);
        sample(&b, &epochs[k / 2], 0);
        accesses_flush(&b.mdr->accesses);
        assert_int_equal(!b.mdr->misses + !b.mdr->without.accesses + !b.mdr->with.accesses, 1);
        miss(&b, sampled_line(&b, 0), 0, 0, true, 1000);
        assert_int_equal(b.mdr->stats.epochs, 0);
        assert_int_equal(b.organisation.state[0].replicate, k % 2);
        assert_int_equal(b.organisation.state[1].replicate, k % 2);
        assert_int_equal(b.organisation.path.change_tick, ENGINE_NEVER);
        /* and its counts are not the next epoch's */
        accesses_flush(&b.mdr->accesses);
        assert_int_equal(b.mdr->misses, 1);
        assert_int_equal(b.mdr->without.accesses, 1);
        assert_int_equal(b.mdr->with.accesses, 1);
        bench_close(&b);
    }
}

/* A full set: slice 4 brings a line, slice 6 reads the one that has to leave for it. In one cycle they come
 * in the order of slices, whoever was visited first. */
BED_TEST(requests_of_a_cycle_are_seen_in_the_order_of_slices)
{
    for (uint32_t backwards = 0; backwards < 2; backwards++) {
        struct bench b;
        bench_open(&b, NULL);
        uint64_t lines[17];
        uint32_t found = 0;
        for (uint64_t line = 0; found < 17; line++)
            if (slice_set_of(&b.slices, line) == 0) lines[found++] = line;
        for (uint32_t k = 0; k < 16; k++) miss(&b, lines[k], 0, 0, true, k + 1);
        if (backwards) miss(&b, lines[0], 6, 0, true, 50);
        miss(&b, lines[16], 4, 0, true, 50);
        if (!backwards) miss(&b, lines[0], 6, 0, true, 50);
        accesses_flush(&b.mdr->accesses);
        assert_int_equal(b.mdr->without.accesses, 18);
        assert_int_equal(b.mdr->without.hits, 0);
        /* so it was line 1 that left last, and 2 is still there */
        miss(&b, lines[2], 6, 0, true, 60);
        miss(&b, lines[1], 4, 0, true, 61);
        accesses_flush(&b.mdr->accesses);
        assert_int_equal(b.mdr->without.hits, 1);
        bench_close(&b);
    }
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
    organisation_start_pass(&b.organisation); /* copies go on being made */
    assert_int_equal(organisation_boundary(&b.organisation), b.machine.config.llc.boundary);
    set_replication(&b, false);
    assert_int_equal(organisation_boundary(&b.organisation), b.machine.config.llc.boundary);
    organisation_start_pass(&b.organisation);
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
        cmocka_unit_test(decisions_are_those_of_the_equations_for_what_was_sampled),
        cmocka_unit_test(an_epoch_that_lacks_a_sample_decides_nothing),
        cmocka_unit_test(requests_of_a_cycle_are_seen_in_the_order_of_slices),
        cmocka_unit_test(a_boundary_drops_copies_only_if_there_may_be_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
