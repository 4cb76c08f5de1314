/* Block schedulers: one contract for all, then the order of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arena_fixture.h"
#include "base/rng.h"
#include "policy/cta_sched/cta_sched.h"

static struct cta_sched make(enum block_scheduler policy, uint32_t sms, uint32_t per_partition,
                             uint32_t group, uint32_t run)
{
    struct config c;
    struct cta_sched s;
    config_defaults(&c);
    c.partition.sms = per_partition;
    c.runtime.cta_sched = policy;
    c.runtime.cta_group_sms = group;
    c.runtime.cta_run = run;
    cta_sched_init(&s, &arena, &c, sms);
    return s;
}

static void begin(struct cta_sched *s, uint64_t blocks, uint32_t sms)
{
    cta_sched_begin(s, &(struct launch_facts){.blocks = blocks, .grid = {(uint32_t)blocks, 1, 1}}, sms);
}

/* SMs call in random order until no block is left; twice with the same scheduler. The second grid has another
 * size and fewer SMs, as those of an application, which need not be whole partitions. */
static void every_policy_gives_every_block_exactly_once(void **state)
{
    (void)state;
    struct rng rng = rng_seed(21, 1);
    for (int policy = 0; policy < block_scheduler_count; policy++)
        for (int k = 0; k < 200; k++) {
            const uint32_t per = 1 + (uint32_t)rng_below(&rng, 4),
                           sms = per * (1 + (uint32_t)rng_below(&rng, 5));
            struct cta_sched s = make((enum block_scheduler)policy, sms, per,
                                      1 + (uint32_t)rng_below(&rng, 5), 1 + (uint32_t)rng_below(&rng, 4));
            for (int round = 0; round < 2; round++) {
                const uint64_t blocks = 1 + rng_below(&rng, 100);
                uint8_t given[100] = {0};
                const uint32_t used = round ? 1 + (uint32_t)rng_below(&rng, sms) : sms;
                begin(&s, blocks, used);
                for (uint64_t deals = rng_below(&rng, 40); deals; deals--)
                    cta_sched_deal(&s, (uint32_t)rng_below(&rng, used));
                for (int call = 0; call < 2000; call++) {
                    const uint64_t block = cta_sched_next(&s, (uint32_t)rng_below(&rng, used));
                    if (block == CTA_NONE) continue;
                    assert_true(block < blocks);
                    assert_int_equal(given[block]++, 0);
                }
                for (uint64_t block = 0; block < blocks; block++) assert_int_equal(given[block], 1);
                for (uint32_t sm = 0; sm < used; sm++) assert_true(cta_sched_next(&s, sm) == CTA_NONE);
            }
        }
}

/* Two rounds over all SMs reserve blocks. The SMs then take them in another order; one calls a third time. */
static void reserved_blocks_are_those_of_simultaneous_calls(void **state)
{
    (void)state;
    enum { SMS = 8, ROUNDS = 2 };
    for (int policy = 0; policy < block_scheduler_count; policy++) {
        struct cta_sched together = make((enum block_scheduler)policy, SMS, 2, 4, 2),
                         dealt = make((enum block_scheduler)policy, SMS, 2, 4, 2);
        uint64_t expected[ROUNDS][SMS];
        begin(&together, 13, SMS);
        begin(&dealt, 13, SMS);
        for (uint32_t round = 0; round < ROUNDS; round++)
            for (uint32_t sm = 0; sm < SMS; sm++) {
                expected[round][sm] = cta_sched_next(&together, sm);
                cta_sched_deal(&dealt, sm);
            }
        for (uint32_t sm = SMS; sm-- > 0;)
            for (uint32_t round = 0; round < ROUNDS; round++)
                assert_int_equal(cta_sched_next(&dealt, sm), expected[round][sm]);
        assert_int_equal(cta_sched_next(&dealt, 0), cta_sched_next(&together, 0));
    }
}

#define GIVES(s, sm, ...) \
    do { \
        static const uint64_t expected[] = {__VA_ARGS__}; \
        for (size_t k_ = 0; k_ < sizeof expected / sizeof *expected; k_++) \
            assert_int_equal(cta_sched_next(&(s), (sm)), expected[k_]); \
    } while (0)

static void round_robin_follows_the_grid_for_any_order_of_sms(void **state)
{
    (void)state;
    struct cta_sched s = make(block_scheduler_round_robin, 4, 2, 2, 2);
    begin(&s, 5, s.sms);
    GIVES(s, 3, 0, 1);
    GIVES(s, 0, 2, 3);
    GIVES(s, 1, 4, CTA_NONE);
}

/* 16 blocks on 4 SMs in 2 partitions: parts 0-3, 4-7 | 8-11, 12-15. */
static void distributed_keeps_parts_and_steals_inside_the_partition_only(void **state)
{
    (void)state;
    struct cta_sched s = make(block_scheduler_distributed, 4, 2, 2, 2);
    begin(&s, 16, s.sms);
    GIVES(s, 2, 8, 9, 10, 11); /* its own part */
    GIVES(s, 2, 15, 14);       /* from the end of the neighbour's part */
    GIVES(s, 3, 12, 13, CTA_NONE);
    GIVES(s, 2, CTA_NONE); /* never from another partition */
    GIVES(s, 0, 0, 1);
    GIVES(s, 1, 4, 5, 6, 7, 3, 2, CTA_NONE);
}

/* The nearest neighbour with blocks is the victim; at equal distance, the higher number. */
static void distributed_steals_from_the_nearest(void **state)
{
    (void)state;
    struct cta_sched s = make(block_scheduler_distributed, 4, 4, 2, 2);
    begin(&s, 8, s.sms);
    GIVES(s, 1, 2, 3, 5, 4, 1, 0, 7, 6, CTA_NONE);
}

static void parts_differ_by_one_block_at_most(void **state)
{
    (void)state;
    struct cta_sched s =
        make(block_scheduler_distributed, 64, 1, 2, 2); /* an SM per partition: no stealing */
    for (uint64_t blocks = 1; blocks < 300; blocks++) {
        begin(&s, blocks, s.sms);
        uint64_t at = 0;
        for (uint32_t sm = 0; sm < 64; sm++) {
            uint64_t count = 0;
            for (uint64_t block; (block = cta_sched_next(&s, sm)) != CTA_NONE; count++)
                assert_int_equal(block, at++);
            assert_in_range(count, blocks / 64, (blocks + 63) / 64);
        }
        assert_int_equal(at, blocks);
    }
}

/* 4 SMs in groups of 2: even blocks to group 0, odd ones to group 1. */
static void two_level_deals_blocks_to_groups_and_helps_when_done(void **state)
{
    (void)state;
    struct cta_sched s = make(block_scheduler_two_level, 4, 1, 2, 2);
    begin(&s, 8, s.sms);
    GIVES(s, 0, 0);
    GIVES(s, 1, 2);
    GIVES(s, 2, 1);
    GIVES(s, 3, 3);
    GIVES(s, 0, 4, 6); /* the group has no more blocks */
    GIVES(s, 1, 5);    /* so the SM takes the next block of the other group */
    GIVES(s, 3, 7, CTA_NONE);
}

/* 10 blocks on 4 SMs: parts of 5 by partition, of 10 by GPU. An SM with an empty part gets no other blocks.
 */
static void chunks_keep_to_the_parts_of_their_level(void **state)
{
    (void)state;
    struct config c;
    struct cta_sched s;
    config_defaults(&c);
    c.chiplet.partitions = 2;
    c.partition.sms = 2;
    c.runtime.cta_sched = block_scheduler_chunks;
    c.runtime.cta_level = block_level_partition;
    cta_sched_init(&s, &arena, &c, 4);
    begin(&s, 10, 4);
    GIVES(s, 3, 5, 6);
    GIVES(s, 2, 7, 8, 9, CTA_NONE);
    GIVES(s, 0, 0);
    GIVES(s, 1, 1, 2, 3, 4, CTA_NONE);
    c.runtime.cta_level = block_level_gpu;
    cta_sched_init(&s, &arena, &c, 4);
    begin(&s, 3, 4);
    GIVES(s, 3, 0, 1);
    GIVES(s, 0, 2, CTA_NONE);
}

static void block_cta_gives_runs(void **state)
{
    (void)state;
    struct cta_sched s = make(block_scheduler_block_cta, 3, 1, 2, 3);
    begin(&s, 8, s.sms);
    GIVES(s, 1, 0);
    GIVES(s, 0, 3, 4);
    GIVES(s, 1, 1, 2, 6, 7, CTA_NONE);
    GIVES(s, 2, CTA_NONE);
    GIVES(s, 0, 5, CTA_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_policy_gives_every_block_exactly_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reserved_blocks_are_those_of_simultaneous_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(round_robin_follows_the_grid_for_any_order_of_sms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(distributed_keeps_parts_and_steals_inside_the_partition_only, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(distributed_steals_from_the_nearest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_differ_by_one_block_at_most, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_level_deals_blocks_to_groups_and_helps_when_done, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(chunks_keep_to_the_parts_of_their_level, set_up, tear_down),
        cmocka_unit_test_setup_teardown(block_cta_gives_runs, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
