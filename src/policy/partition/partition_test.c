/* Partition policies: shares of SMs and channels. Numbers are those of the UGPU paper's machine: 80 SMs at 1.4 GHz,
 * 32 channels of 28.16 GB/s in 8 indices, 89.6 GB/s of LLC per channel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "config/machine.h"
#include "policy/partition/partition.h"
#include "system/rules.h"

static struct partition_spec spec_with(uint32_t apps, const char *setting)
{
    struct machine m;
    machine_init(&m);
    machine_load(&m, "ugpu-bp");
    machine_set(&m, "partition.policy=demand"); /* partition.qos is a target of this policy */
    if (setting) machine_set(&m, setting);
    machine_finish(&m, &system_rules);
    const struct partition_spec s = partition_spec_of(&m.config, apps, 8, 0);
    machine_free(&m);
    return s;
}

/* Per kilo thread instructions. */
static struct partition_profile profile(double accesses, double hits)
{
    return (struct partition_profile){.accesses = (uint64_t)llround(accesses * 1e6),
                                      .hits = (uint64_t)llround(hits * 1e6),
                                      .thread_instructions = 1000000000};
}

static struct partition equal_shares(const struct partition_spec *s)
{
    struct partition p = {0};
    for (uint32_t app = 0; app < s->apps; app++)
        p.of[app] = (struct partition_share){s->sms / s->apps, s->indices / s->apps};
    return p;
}

static struct partition_answer decide_from(const struct partition_spec *s, const struct partition_profile *of,
                                           const struct partition *now)
{
    struct partition_question q = {.spec = s, .now = *now};
    struct partition_answer a = {0};
    memcpy(q.of, of, s->apps * sizeof *of);
    extern const struct partition_ops partition_demand;
    partition_demand.decide(NULL, &q, &a);
    return a;
}

static void check_shares(const struct partition_spec *s, struct partition p, const char *expected)
{
    char got[256] = "";
    for (uint32_t app = 0; app < s->apps; app++)
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%u/%u", app ? " " : "", p.of[app].sms,
                       p.of[app].indices * s->channels_per_index);
    assert_string_equal(got, expected);
}

static void decides(const struct partition_spec *s, const struct partition_profile *of, const char *expected,
                    uint32_t iterations)
{
    const struct partition now = equal_shares(s);
    const struct partition_answer a = decide_from(s, of, &now);
    check_shares(s, a.next, expected);
    assert_int_equal(a.iterations, iterations);
}

/* ---- the machine's numbers ---- */

static void the_machine_has_the_rates_of_the_paper_body(void *arg)
{
    (void)arg;
    const struct partition_spec s = spec_with(2, NULL);
    assert_int_equal(s.channels_per_index, 4);
    assert_true(s.thread_ipc == 64 && s.line_bytes == 128 && s.sm_hz == 1.4e9);
    assert_true(s.llc_rate == 89.6e9 && s.memory_rate == 28.16e9);
    assert_true(fabs(s.port_rate - 35.84e9) < 1);
}

/* U044 to U046: latency of a decision for four applications. */
static void a_decision_takes_148_cycles_and_162_per_iteration_body(void *arg)
{
    (void)arg;
    const struct partition_spec s = spec_with(4, NULL);
    const struct partition_profile alike[] = {profile(0.1, 0), profile(0.1, 0), profile(0.1, 0),
                                              profile(0.1, 0)};
    const struct partition now = equal_shares(&s);
    assert_int_equal(decide_from(&s, alike, &now).latency_cyc, 148 + 162);
    const struct partition_profile mixed[] = {profile(0.01, 0), profile(0.08, 0), profile(4.79, 0),
                                              profile(2.23, 0)};
    assert_int_equal(decide_from(&s, mixed, &now).latency_cyc, 148 + 3 * 162);
    struct partition_spec longest = s; /* steps of one SM: 20 iterations are not enough */
    longest.step_sms = 1;
    longest.sm_only = partition_sm_only_always;
    assert_int_equal(decide_from(&longest, mixed, &now).latency_cyc, 3388);
}

/* Demand = supply without hits: 64 x APKI/1000 x 128 B x 1.4 GHz x 40 = 16 x 28.16 GB/s. */
static void demand_equals_supply_at_0_98_accesses_on_40_sms_and_16_channels_body(void *arg)
{
    (void)arg;
    const struct partition_spec s = spec_with(2, NULL);
    const struct partition_share half = {40, 4};
    const struct partition_profile below = profile(0.982, 0), above = profile(0.983, 0);
    assert_false(partition_classify(&s, &below, half).memory_bound);
    assert_true(partition_classify(&s, &above, half).memory_bound);
    /* hits are served by the LLC, misses by the slower of LLC and memory */
    const struct partition_profile hits = profile(1, 0.5), most = profile(1, 0.9);
    assert_true(fabs(partition_channel_supply(&s, &hits) - (44.8e9 + 28.16e9)) < 1e3);
    assert_true(fabs(partition_channel_supply(&s, &most) - 89.6e9) < 1e3);
}

static void no_accesses_are_no_demand_body(void *arg)
{
    (void)arg;
    const struct partition_spec s = spec_with(2, NULL);
    const struct partition_profile none = {0}, idle = profile(0, 0);
    const struct partition_share half = {40, 4};
    assert_true(partition_classify(&s, &none, half).degree == HUGE_VAL);
    assert_false(partition_classify(&s, &idle, half).memory_bound);
    /* two of them beside a memory-bound one: the lower number gives first */
    const struct partition_spec three = spec_with(4, NULL);
    const struct partition_profile of[] = {idle, profile(4, 0), idle, profile(0.9, 0)};
    struct partition now = equal_shares(&three);
    now.of[1].sms = 8; /* can give one step */
    now.of[0].sms = 32;
    const struct partition_answer a = decide_from(&three, of, &now);
    check_shares(&three, a.next, "36/4 4/12 20/8 20/8");
}

/* ---- Fig. 5 by hand ---- */

static void two_programs_by_hand_body(void *arg)
{
    (void)arg;
    const struct partition_spec s = spec_with(2, NULL);
    const struct partition_profile three_steps[] = {profile(4.79, 0), profile(0.08, 0)};
    decides(&s, three_steps, "28/28 52/4", 4); /* the last iteration finds no index to give */
    const struct partition_profile two_steps[] = {profile(1.54, 0), profile(0.08, 0)};
    decides(&s, two_steps, "32/24 48/8", 3); /* the memory-bound one has turned compute-bound: kept */
    const struct partition_profile undone[] = {profile(4.79, 0), profile(0.5, 0)};
    decides(&s, undone, "36/20 44/12", 2); /* 48 SMs would need more than 8 channels */
    const struct partition_profile alike[] = {profile(4.79, 0), profile(2, 0)};
    decides(&s, alike, "40/16 40/16", 1);
}

static void four_programs_by_hand_body(void *arg)
{
    (void)arg;
    const struct partition_spec s = spec_with(4, NULL);
    const struct partition_profile of[] = {profile(0.01, 0), profile(0.08, 0), profile(4.79, 0),
                                           profile(2.23, 0)};
    decides(&s, of, "24/4 24/4 12/16 20/8", 3);
}

static void eight_programs_move_sms_only_body(void *arg)
{
    (void)arg;
    const struct partition_profile of[] = {profile(0.0004, 0), profile(0.08, 0), profile(0.06, 0),
                                           profile(0.02, 0),   profile(4.79, 0), profile(6.09, 0),
                                           profile(1.54, 0),   profile(2.72, 0)};
    const struct partition_spec s = spec_with(8, NULL);
    decides(&s, of, "26/4 10/4 10/4 10/4 6/4 6/4 6/4 6/4", 5);
    const struct partition_spec none = spec_with(8, "partition.sm_only=none");
    decides(&none, of, "10/4 10/4 10/4 10/4 10/4 10/4 10/4 10/4", 1);
}

static void sm_only_steps_go_on_after_the_last_index_body(void *arg)
{
    (void)arg;
    const struct partition_spec s = spec_with(2, "partition.sm_only=always");
    const struct partition_profile of[] = {profile(4.79, 0), profile(0.01, 0)};
    decides(&s, of, "12/28 68/4", 8); /* at 12 SMs the first one demands less than 28 channels supply */
}

static void the_loop_goes_on_from_the_partition_in_force_body(void *arg)
{
    (void)arg;
    const struct partition_spec s = spec_with(2, NULL);
    struct partition now = equal_shares(&s);
    now.of[0] = (struct partition_share){28, 7};
    now.of[1] = (struct partition_share){52, 1};
    const struct partition_profile swapped[] = {profile(0.01, 0), profile(4.79, 0)};
    check_shares(&s, decide_from(&s, swapped, &now).next, "52/4 28/28");
}

static void pages_that_do_not_fit_keep_their_index_body(void *arg)
{
    (void)arg;
    struct partition_spec s = spec_with(2, NULL);
    s.pages_per_index = 100;
    struct partition_profile of[] = {profile(4.79, 0), profile(0.01, 0)};
    of[1].pages = 200;
    decides(&s, of, "32/24 48/8", 3);
    of[1].pages = 201;
    decides(&s, of, "36/20 44/12", 2);
}

static void demand_may_be_bounded_by_the_reply_port_body(void *arg)
{
    (void)arg;
    const struct partition_spec port = spec_with(2, "partition.demand=port");
    const struct partition_profile p = profile(31, 0.92 * 31);
    assert_true(fabs(partition_sm_demand(&port, &p) - 35.84e9) < 1);
}

/* The paper's 50 mixes with the misses per kilo instruction of its Table 2 as accesses without hits. The result depends
 * on the memory-bound program only. */
static void the_mixes_of_the_paper_body(void *arg)
{
    (void)arg;
    static const struct {
        const char *name;
        double mpki;
        const char *expected;
    } memory[] = {{"pvc", 4.79, "28/28 52/4"},          {"lbm", 6.09, "28/28 52/4"},
                  {"blackscholes", 1.54, "32/24 48/8"}, {"dwt2d", 2.72, "28/28 52/4"},
                  {"euler3d", 4.39, "28/28 52/4"},      {"fwt", 2.23, "28/28 52/4"},
                  {"lavamd", 10.45, "28/28 52/4"},      {"streamcluster", 3.42, "28/28 52/4"},
                  {"convsep", 1.14, "36/20 44/12"},     {"srad", 1.09, "36/20 44/12"}};
    static const double compute[] = {0.0004, 0.08, 0.06, 0.02, 0.01};
    const struct partition_spec s = spec_with(2, NULL);
    for (size_t m = 0; m < sizeof memory / sizeof *memory; m++)
        for (size_t c = 0; c < sizeof compute / sizeof *compute; c++) {
            const struct partition_profile of[] = {profile(memory[m].mpki, 0), profile(compute[c], 0)};
            struct partition p = equal_shares(&s);
            (void)partition_balance(&s, of, &p, NULL);
            print_message("%s + %.4f: ", memory[m].name, compute[c]);
            check_shares(&s, p, memory[m].expected);
            print_message("%s\n", memory[m].expected);
        }
}

/* ---- quality of service, other policies ---- */

static void an_application_with_a_target_keeps_its_sms_body(void *arg)
{
    (void)arg;
    extern const struct partition_ops partition_demand;
    const struct partition_spec s = spec_with(2, "partition.qos=1:0.75");
    struct partition p = equal_shares(&s);
    partition_demand.first(NULL, &s, NULL, &p);
    check_shares(&s, p, "20/8 60/24");
    /* 60 + 4 SMs from the first decision on; indices go as long as demand stays below supply */
    const struct partition_profile light[] = {profile(4.79, 0), profile(0.01, 0)},
                                   heavy[] = {profile(4.79, 0), profile(0.6, 0)};
    check_shares(&s, decide_from(&s, light, &p).next, "8/16 72/16");
    check_shares(&s, decide_from(&s, heavy, &p).next, "12/12 68/20");
    /* as the memory-bound one it never falls below 64 */
    const struct partition_profile bound[] = {profile(0.01, 0), profile(4.79, 0)};
    check_shares(&s, decide_from(&s, bound, &p).next, "16/8 64/24");
}

static void an_offline_partition_follows_the_profiles_body(void *arg)
{
    (void)arg;
    extern const struct partition_ops partition_offline;
    struct machine m;
    machine_init(&m);
    machine_load(&m, "ugpu-bp");
    machine_set(&m, "partition.profiles=4.79:0.1,0.08:0.5");
    machine_finish(&m, &system_rules);
    struct partition_profile of[2];
    assert_true(partition_read_profiles(&m.config, 2, of));
    const struct partition_spec s = partition_spec_of(&m.config, 2, 8, 0);
    struct partition p = equal_shares(&s);
    partition_offline.first(NULL, &s, of, &p);
    check_shares(&s, p, "28/28 52/4");
    machine_free(&m);
}

static void cd_search_climbs_and_steps_back_once_body(void *arg)
{
    (void)arg;
    extern const struct partition_ops partition_cd_search;
    const struct partition_spec s = spec_with(2, NULL);
    void *search = calloc(1, partition_cd_search.state_bytes);
    struct partition_question q = {.spec = &s, .now = equal_shares(&s)};
    static const double speed[][2] = {{1, 1}, {1, 1.1}, {0.99, 1.2}, {0.8, 1.25}, {1, 1}};
    static const char *const expected[] = {"36/16 44/16", "32/16 48/16", "28/16 52/16", "32/16 48/16",
                                           "32/16 48/16"};
    for (uint32_t k = 0; k < 5; k++) {
        struct partition_answer a = {0};
        q.of[0] = (struct partition_profile){.accesses = 4000000,
                                             .thread_instructions = (uint64_t)(1e9 * speed[k][0])};
        q.of[1] = (struct partition_profile){.accesses = 10000,
                                             .thread_instructions = (uint64_t)(1e9 * speed[k][1])};
        q.epoch = k;
        partition_cd_search.decide(search, &q, &a);
        check_shares(&s, a.next, expected[k]);
        q.now = a.next;
    }
    free(search);
}

static void a_plan_is_followed_and_its_last_partition_stays_body(void *arg)
{
    (void)arg;
    extern const struct partition_ops partition_plan;
    struct partition_spec s = spec_with(2, NULL);
    s.plan = "40/16,40/16;60/8,20/24;40/16,40/16";
    static const char *const expected[] = {"60/8 20/24", "40/16 40/16", "40/16 40/16"};
    struct partition_question q = {.spec = &s};
    partition_plan.first(NULL, &s, NULL, &q.now);
    check_shares(&s, q.now, "40/16 40/16");
    for (q.epoch = 0; q.epoch < 3; q.epoch++) {
        struct partition_answer a = {0};
        partition_plan.decide(NULL, &q, &a);
        check_shares(&s, a.next, expected[q.epoch]);
    }
}

/* ---- every row ---- */

/* The contract of partition.h on random profiles: sums stay, bounds hold, equal questions have equal answers. */
static void every_policy_keeps_to_the_contract_body(void *arg)
{
    (void)arg;
    uint64_t random = 12345;
    for (uint32_t row = 0; row < partition_policy_count; row++)
        for (uint32_t apps = 2; apps <= 8; apps++) {
            struct config c;
            config_defaults(&c);
            c.partition.policy = (enum partition_policy)row;
            const struct partition_ops *ops = partition_ops_of(&c);
            if (row == partition_policy_fixed) assert_true(!ops->decide && !ops->first);
            if (!ops->decide || row == partition_policy_plan) continue;
            const struct partition_spec s = spec_with(apps, NULL);
            void *one = calloc(1, ops->state_bytes + 1), *two = calloc(1, ops->state_bytes + 1);
            struct partition_question q = {.spec = &s, .now = equal_shares(&s)};
            const struct partition_share share = q.now.of[0];
            for (q.epoch = 0; q.epoch < 50; q.epoch++) {
                for (uint32_t app = 0; app < apps; app++) {
                    random = random * 6364136223846793005u + 1442695040888963407u;
                    const uint64_t accesses = (random >> 33) % 8000000;
                    q.of[app] = (struct partition_profile){.accesses = accesses,
                                                           .hits = accesses * (random >> 60) / 16,
                                                           .thread_instructions = 1000000000};
                }
                struct partition_answer a = {0}, again = {0};
                ops->decide(one, &q, &a);
                ops->decide(two, &q, &again);
                assert_true(partition_equal(&s, &a.next, &again.next));
                uint32_t sms = 0, indices = 0;
                for (uint32_t app = 0; app < apps; app++) {
                    assert_true(a.next.of[app].sms >= s.step_sms && a.next.of[app].indices >= 1);
                    sms += a.next.of[app].sms;
                    indices += a.next.of[app].indices;
                }
                assert_int_equal(sms, share.sms * apps);
                assert_int_equal(indices, share.indices * apps);
                q.now = a.next;
            }
            free(one);
            free(two);
        }
}

/* Runs a test whose machine may raise errors. */
static void guarded(diag_body_fn *body)
{
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, body, NULL) != DIAG_NONE) fail_msg("%s", d.text);
    diag_clear(&d);
}

static void the_machine_has_the_rates_of_the_paper(void **state)
{
    (void)state;
    guarded(the_machine_has_the_rates_of_the_paper_body);
}

static void a_decision_takes_148_cycles_and_162_per_iteration(void **state)
{
    (void)state;
    guarded(a_decision_takes_148_cycles_and_162_per_iteration_body);
}

static void demand_equals_supply_at_0_98_accesses_on_40_sms_and_16_channels(void **state)
{
    (void)state;
    guarded(demand_equals_supply_at_0_98_accesses_on_40_sms_and_16_channels_body);
}

static void no_accesses_are_no_demand(void **state)
{
    (void)state;
    guarded(no_accesses_are_no_demand_body);
}

static void two_programs_by_hand(void **state)
{
    (void)state;
    guarded(two_programs_by_hand_body);
}

static void four_programs_by_hand(void **state)
{
    (void)state;
    guarded(four_programs_by_hand_body);
}

static void eight_programs_move_sms_only(void **state)
{
    (void)state;
    guarded(eight_programs_move_sms_only_body);
}

static void sm_only_steps_go_on_after_the_last_index(void **state)
{
    (void)state;
    guarded(sm_only_steps_go_on_after_the_last_index_body);
}

static void the_loop_goes_on_from_the_partition_in_force(void **state)
{
    (void)state;
    guarded(the_loop_goes_on_from_the_partition_in_force_body);
}

static void pages_that_do_not_fit_keep_their_index(void **state)
{
    (void)state;
    guarded(pages_that_do_not_fit_keep_their_index_body);
}

static void demand_may_be_bounded_by_the_reply_port(void **state)
{
    (void)state;
    guarded(demand_may_be_bounded_by_the_reply_port_body);
}

static void the_mixes_of_the_paper(void **state)
{
    (void)state;
    guarded(the_mixes_of_the_paper_body);
}

static void an_application_with_a_target_keeps_its_sms(void **state)
{
    (void)state;
    guarded(an_application_with_a_target_keeps_its_sms_body);
}

static void an_offline_partition_follows_the_profiles(void **state)
{
    (void)state;
    guarded(an_offline_partition_follows_the_profiles_body);
}

static void cd_search_climbs_and_steps_back_once(void **state)
{
    (void)state;
    guarded(cd_search_climbs_and_steps_back_once_body);
}

static void a_plan_is_followed_and_its_last_partition_stays(void **state)
{
    (void)state;
    guarded(a_plan_is_followed_and_its_last_partition_stays_body);
}

static void every_policy_keeps_to_the_contract(void **state)
{
    (void)state;
    guarded(every_policy_keeps_to_the_contract_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_has_the_rates_of_the_paper),
        cmocka_unit_test(a_decision_takes_148_cycles_and_162_per_iteration),
        cmocka_unit_test(demand_equals_supply_at_0_98_accesses_on_40_sms_and_16_channels),
        cmocka_unit_test(no_accesses_are_no_demand),
        cmocka_unit_test(two_programs_by_hand),
        cmocka_unit_test(four_programs_by_hand),
        cmocka_unit_test(eight_programs_move_sms_only),
        cmocka_unit_test(sm_only_steps_go_on_after_the_last_index),
        cmocka_unit_test(the_loop_goes_on_from_the_partition_in_force),
        cmocka_unit_test(pages_that_do_not_fit_keep_their_index),
        cmocka_unit_test(demand_may_be_bounded_by_the_reply_port),
        cmocka_unit_test(the_mixes_of_the_paper),
        cmocka_unit_test(an_application_with_a_target_keeps_its_sms),
        cmocka_unit_test(an_offline_partition_follows_the_profiles),
        cmocka_unit_test(cd_search_climbs_and_steps_back_once),
        cmocka_unit_test(a_plan_is_followed_and_its_last_partition_stays),
        cmocka_unit_test(every_policy_keeps_to_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
