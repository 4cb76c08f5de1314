/* Every command of long runs obeys every timing rule, and every rule is met with equality somewhere: the
 * independent checker of tests/dram_checker.h replays the logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dram/dram_model.h"
#include "dram_harness.h"

enum { REQUESTS = 16000 };

static void smallest_of(struct checker_report *all, const struct checker_report *one)
{
    for (int i = 0; i < CHECKER_RULES; i++)
        if (one->min_seen[i] < all->min_seen[i]) all->min_seen[i] = one->min_seen[i];
}

static struct checker_report check(const char *preset, const char *overrides, const char *stream,
                                   uint32_t outstanding)
{
    const struct dram_spec spec = harness_spec(preset, overrides);
    struct arena a;
    arena_init(&a);
    const struct dram_stream s = dram_stream_make(&a, stream, REQUESTS, &spec);
    struct harness_log log = {0};
    dram_model_run(&spec, &s, (struct dram_load){0}, outstanding, harness_on_log, &log);
    const struct checker_timing t = harness_timing(&spec);
    const struct checker_report r = checker_check(&t, log.commands, log.count);
    if (r.violations)
        fail_msg("%s %s %s: %lu violations, first: %s", preset, overrides, stream, r.violations,
                 r.first_violation);
    size_t columns = 0;
    for (size_t i = 0; i < log.count; i++)
        columns += log.commands[i].kind == CHECK_RD || log.commands[i].kind == CHECK_WR;
    assert_true(columns > REQUESTS - 20 && columns <= REQUESTS); /* a few are forwarded or merged */
    free(log.commands);
    arena_free(&a);
    return r;
}

/* As timing_check.txt: s4 and s10, both configurations, both queues. */
static void smallest_gaps_equal_the_configured_ones(const char *overrides, bool refresh)
{
    static const char *const presets[] = {"hbm-a", "hbm-a-split", "hbm-b", "hbm-b-split"};
    for (size_t p = 0; p < 4; p++) {
        const uint32_t outstanding = strstr(presets[p], "split") ? 0 : 64;
        struct checker_report all = check(presets[p], overrides, "s4_rand_rw50", outstanding);
        struct checker_report more = check(presets[p], overrides, "s10_rand128_rw21", outstanding);
        smallest_of(&all, &more);
        more = check(presets[p], overrides, "s2b_seq_rw21_bgfast", outstanding);
        smallest_of(&all, &more);
        for (int i = 0; i < CHECKER_RULES; i++) {
            if (i >= RULE_tRFC && !refresh) continue;
            /* implied by a precharge in between: ACT-PRE-REF takes tRAS + tRP already */
            if (i == RULE_ACT_REF) continue;
            if (all.min_seen[i] != (uint64_t)all.need[i])
                fail_msg("%s %s: %s is never below %lu, configured %d", presets[p], overrides,
                         checker_rule_names[i], all.min_seen[i], all.need[i]);
        }
    }
}

DRAM_TEST(no_rule_is_broken_and_each_is_met_exactly) { smallest_gaps_equal_the_configured_ones("", false); }

DRAM_TEST(the_same_with_refresh)
{
    /* often, so that refreshes meet every state */
    smallest_gaps_equal_the_configured_ones("dram.refresh=true dram.trefi_cyc=400", true);
}

DRAM_TEST(the_same_with_two_cycle_activates)
{
    smallest_gaps_equal_the_configured_ones("dram.act_bus_cyc=2", false);
}

DRAM_TEST(no_rule_is_broken_on_a_single_command_bus)
{
    static const char *const streams[] = {"s1_seq_rd", "s2_seq_rw21", "s4_rand_rw50", "s8_4streams_aligned",
                                          "s10_rand128_rw21"};
    for (size_t i = 0; i < 5; i++) {
        check("hbm-a", "dram.bus=single dram.act_bus_cyc=2 dram.refresh=true", streams[i], 64);
        check("hbm-b-split", "dram.bus=single dram.refresh=true", streams[i], 0);
    }
}

/* The checker must be able to fail: a log with one command a cycle early is caught, for every rule. */
DRAM_TEST(the_checker_catches_a_gap_that_is_one_short)
{
    const struct dram_spec spec = harness_spec("hbm-b", NULL);
    struct checker_timing t = harness_timing(&spec);
    t.rfc = 100;
    int need[CHECKER_RULES];
    checker_needs(&t, need);
    static const struct {
        int rule, first, second, bank;
    } pairs[] = {{RULE_tRCD_RD, CHECK_ACT, CHECK_RD, 0}, {RULE_tRCD_WR, CHECK_ACT, CHECK_WR, 0},
                 {RULE_tRAS, CHECK_ACT, CHECK_PRE, 0},   {RULE_tRRDs, CHECK_ACT, CHECK_ACT, 4},
                 {RULE_tRRDl, CHECK_ACT, CHECK_ACT, 1},  {RULE_tRTP, CHECK_RD, CHECK_PRE, 0},
                 {RULE_WR_PRE, CHECK_WR, CHECK_PRE, 0},  {RULE_RD_RDl, CHECK_RD, CHECK_RD, 0},
                 {RULE_WR_WRl, CHECK_WR, CHECK_WR, 0},   {RULE_RD_WR, CHECK_RD, CHECK_WR, 0},
                 {RULE_WR_RDl, CHECK_WR, CHECK_RD, 0},   {RULE_tRP, CHECK_PRE, CHECK_ACT, 0},
                 {RULE_tRFC, CHECK_REF, CHECK_ACT, 0},   {RULE_PRE_REF, CHECK_PRE, CHECK_REF, -1}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        for (int early = 0; early < 2; early++) {
            struct checker_command log[3] = {{.cyc = 0, .kind = CHECK_ACT, .bank = 0, .row = 5}};
            size_t n = pairs[i].first == CHECK_ACT || pairs[i].first == CHECK_REF ? 0 : 1;
            if (n == 0) log[0].cyc = 1000;
            log[n++] = (struct checker_command){
                .cyc = 1000, .kind = pairs[i].first, .bank = pairs[i].first == CHECK_REF ? -1 : 0, .row = 5};
            log[n++] = (struct checker_command){.cyc = 1000 + (uint64_t)(need[pairs[i].rule] - early),
                                                .kind = pairs[i].second,
                                                .bank = pairs[i].bank,
                                                .row = 5};
            const struct checker_report r = checker_check(&t, log, n);
            if ((r.violations != 0) != early)
                fail_msg("%s, %d early: %lu violations (%s)", checker_rule_names[pairs[i].rule], early,
                         r.violations, r.first_violation);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rule_is_broken_and_each_is_met_exactly),
        cmocka_unit_test(the_same_with_refresh),
        cmocka_unit_test(the_same_with_two_cycle_activates),
        cmocka_unit_test(no_rule_is_broken_on_a_single_command_bus),
        cmocka_unit_test(the_checker_catches_a_gap_that_is_one_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
