/* The HBM channel: every gap tight (blocked at t-1, ready at t), queues, drain, starvation, refresh, stress.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "dram_harness.h"

/* ---- a channel with its log ---- */

struct rig {
    struct dram_spec spec;
    struct arena arena;
    struct dram_channel *channel;
    struct harness_log log;
    uint64_t done_cyc[4096], done_count[4096]; /* by tag */
    uint32_t space_calls;
};

static void rig_done(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc, uint64_t done_cyc)
{
    struct rig *r = owner;
    (void)kind, (void)accept_cyc;
    r->done_cyc[tag] = done_cyc;
    r->done_count[tag]++;
}
static void rig_space(void *owner) { ((struct rig *)owner)->space_calls++; }
static void rig_log(void *owner, const struct dram_command *c)
{
    harness_on_log(&((struct rig *)owner)->log, c);
}

static void rig_open(struct rig *r, struct dram_spec spec, bool log)
{
    memset(r, 0, sizeof *r);
    r->spec = spec;
    arena_init(&r->arena);
    const struct dram_wiring wiring = {
        .owner = r, .done = rig_done, .space = rig_space, .log = log ? rig_log : NULL};
    r->channel = dram_channel_new(&r->arena, &r->spec, &wiring);
}

static void rig_close(struct rig *r)
{
    arena_free(&r->arena);
    free(r->log.commands);
}

static bool offer(struct rig *r, uint64_t now, enum dram_kind kind, uint32_t bank, uint32_t row,
                  uint32_t column, uint64_t tag)
{
    return dram_try_accept(
        r->channel, now,
        &(struct dram_request){
            .kind = kind, .bank = bank, .row = row, .column = column, .column_count = 1, .tag = tag});
}

/* Steps at every cycle, though nothing is due at most of them. */
static void step_to(struct rig *r, uint64_t *now, uint64_t end)
{
    for (; *now <= end; ++*now) dram_channel_step(r->channel, *now);
}

/* The n-th command of a kind (from 0); fails when there is none. */
static const struct checker_command *nth(const struct rig *r, int kind, int n)
{
    for (size_t i = 0; i < r->log.count; i++)
        if (r->log.commands[i].kind == kind && n-- == 0) return &r->log.commands[i];
    fail_msg("command %d of kind %d was never issued", n, kind);
    return NULL;
}

static int position(const struct rig *r, int kind, int bank, int64_t row)
{
    for (size_t i = 0; i < r->log.count; i++)
        if (r->log.commands[i].kind == kind && r->log.commands[i].bank == bank &&
            r->log.commands[i].row == row)
            return (int)i;
    return -1;
}

/* ---- every gap ---- */

/* All gaps as short as they may be, so that one long gap shows alone. */
#define SHORT \
    "dram.trc_cyc=1 dram.tras_cyc=1 dram.trcd_rd_cyc=1 dram.trcd_wr_cyc=1 dram.trp_cyc=2 dram.tcl_cyc=2 " \
    "dram.twl_cyc=1 dram.trrd_l_cyc=1 dram.trrd_s_cyc=1 dram.tfaw_cyc=0 dram.trtp_cyc=1 dram.tccd_l_cyc=1 " \
    "dram.tccd_s_cyc=1 dram.twtr_l_cyc=0 dram.twtr_s_cyc=0 dram.twr_cyc=0 dram.turnaround_cyc=0 "

#define R DRAM_READ
#define W DRAM_WRITE
enum { OPS_MAX = 5 };

struct gap_case {
    const char *name, *set; /* %d = the value under test */
    struct {
        int kind;
        uint32_t bank, row, column;
    } ops[OPS_MAX];
    int op_count;
    int first_kind, first_n, second_kind, second_n;
    int extra; /* what stands between the value and the gap */
};

static const struct gap_case gap_cases[] = {
    {"tRC", "dram.trc_cyc=%d", {{R, 0, 0, 0}, {R, 0, 1, 0}}, 2, CHECK_ACT, 0, CHECK_ACT, 1, 0},
    {"tRCD read", "dram.trcd_rd_cyc=%d", {{R, 0, 0, 0}}, 1, CHECK_ACT, 0, CHECK_RD, 0, 0},
    {"tRCD write", "dram.trcd_wr_cyc=%d", {{W, 0, 0, 0}}, 1, CHECK_ACT, 0, CHECK_WR, 0, 0},
    {"tRP", "dram.trp_cyc=%d", {{R, 0, 0, 0}, {R, 0, 1, 0}}, 2, CHECK_PRE, 0, CHECK_ACT, 1, 0},
    {"tRAS",
     "dram.tras_cyc=%d dram.trc_cyc=60",
     {{R, 0, 0, 0}, {R, 0, 1, 0}},
     2,
     CHECK_ACT,
     0,
     CHECK_PRE,
     0,
     0},
    {"tRRDl", "dram.trrd_l_cyc=%d", {{R, 0, 0, 0}, {R, 1, 0, 0}}, 2, CHECK_ACT, 0, CHECK_ACT, 1, 0},
    {"tRRDs",
     "dram.trrd_l_cyc=60 dram.trrd_s_cyc=%d",
     {{R, 0, 0, 0}, {R, 4, 0, 0}},
     2,
     CHECK_ACT,
     0,
     CHECK_ACT,
     1,
     0},
    {"tFAW",
     "dram.tfaw_cyc=%d",
     {{R, 0, 0, 0}, {R, 4, 0, 0}, {R, 8, 0, 0}, {R, 12, 0, 0}, {R, 1, 0, 0}},
     5,
     CHECK_ACT,
     0,
     CHECK_ACT,
     4,
     0},
    {"tRTP", "dram.trtp_cyc=%d", {{R, 0, 0, 0}, {R, 0, 1, 0}}, 2, CHECK_RD, 0, CHECK_PRE, 0, 0},
    {"tWR", "dram.twr_cyc=%d", {{W, 0, 0, 0}, {R, 0, 1, 0}}, 2, CHECK_WR, 0, CHECK_PRE, 0, 2},
    {"tCCDl reads", "dram.tccd_l_cyc=%d", {{R, 0, 0, 0}, {R, 1, 0, 0}}, 2, CHECK_RD, 0, CHECK_RD, 1, 0},
    {"tCCDl one bank", "dram.tccd_l_cyc=%d", {{R, 0, 0, 0}, {R, 0, 0, 1}}, 2, CHECK_RD, 0, CHECK_RD, 1, 0},
    {"tCCDl writes", "dram.tccd_l_cyc=%d", {{W, 0, 0, 0}, {W, 1, 0, 0}}, 2, CHECK_WR, 0, CHECK_WR, 1, 0},
    {"tCCDs reads",
     "dram.tccd_l_cyc=60 dram.tccd_s_cyc=%d",
     {{R, 0, 0, 0}, {R, 4, 0, 0}},
     2,
     CHECK_RD,
     0,
     CHECK_RD,
     1,
     0},
    {"tCCDs writes",
     "dram.tccd_l_cyc=60 dram.tccd_s_cyc=%d",
     {{W, 0, 0, 0}, {W, 4, 0, 0}},
     2,
     CHECK_WR,
     0,
     CHECK_WR,
     1,
     0},
    {"burst", "dram.burst_cyc=%d", {{R, 0, 0, 0}, {R, 4, 0, 0}}, 2, CHECK_RD, 0, CHECK_RD, 1, 0},
    {"tWTRl", "dram.twtr_l_cyc=%d", {{W, 0, 0, 0}, {R, 0, 0, 1}}, 2, CHECK_WR, 0, CHECK_RD, 0, 2},
    {"tWTRs",
     "dram.twtr_l_cyc=60 dram.twtr_s_cyc=%d",
     {{W, 0, 0, 0}, {R, 4, 0, 0}},
     2,
     CHECK_WR,
     0,
     CHECK_RD,
     0,
     2},
    {"tWL before reads",
     "dram.twl_cyc=%d dram.turnaround_cyc=60",
     {{W, 0, 0, 0}, {R, 4, 0, 0}},
     2,
     CHECK_WR,
     0,
     CHECK_RD,
     0,
     1},
    {"turnaround", "dram.turnaround_cyc=%d", {{R, 0, 0, 0}, {W, 0, 0, 1}}, 2, CHECK_RD, 0, CHECK_WR, 0, 2},
    {"tCL before writes", "dram.tcl_cyc=%d", {{R, 0, 0, 0}, {W, 4, 0, 1}}, 2, CHECK_RD, 0, CHECK_WR, 0, 0},
};

static uint64_t measure_gap(const struct gap_case *c, int value)
{
    char set[800];
    size_t used = (size_t)snprintf(set, sizeof set, "%s", SHORT);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(set + used, sizeof set - used, c->set, value);
#pragma GCC diagnostic pop
    struct rig *r = calloc(1, sizeof *r);
    rig_open(r, harness_spec("base", set), true);
    for (int i = 0; i < c->op_count; i++)
        assert_true(offer(r, 0, (enum dram_kind)c->ops[i].kind, c->ops[i].bank, c->ops[i].row,
                          c->ops[i].column, (uint64_t)i));
    uint64_t now = 0;
    step_to(r, &now, 400);
    for (int i = 0; i < c->op_count; i++) assert_int_equal(r->done_count[i], 1);
    const uint64_t gap = nth(r, c->second_kind, c->second_n)->cyc - nth(r, c->first_kind, c->first_n)->cyc;
    rig_close(r);
    free(r);
    return gap;
}

/* The second command waits exactly as long as configured, for two neighbouring values: blocked at t-1, ready
 * at t. */
DRAM_TEST(every_gap_is_kept_and_not_a_cycle_more)
{
    for (size_t i = 0; i < sizeof gap_cases / sizeof *gap_cases; i++)
        for (int value = 40; value <= 41; value++) {
            const uint64_t gap = measure_gap(&gap_cases[i], value);
            if (gap != (uint64_t)(value + gap_cases[i].extra))
                fail_msg("%s = %d: the gap is %lu", gap_cases[i].name, value, gap);
        }
}

DRAM_TEST(an_activate_of_two_bus_cycles_delays_what_follows_by_one)
{
    struct rig *r = calloc(1, sizeof *r);
    for (int cycles = 1; cycles <= 2; cycles++) {
        rig_open(r,
                 harness_spec("base", cycles == 1 ? SHORT "dram.tras_cyc=9 dram.trc_cyc=20"
                                                  : SHORT
                                          "dram.tras_cyc=9 dram.trc_cyc=20 dram.act_bus_cyc=2"),
                 true);
        assert_true(offer(r, 0, R, 0, 0, 0, 0));
        assert_true(offer(r, 0, R, 4, 0, 0, 1));
        uint64_t now = 0;
        step_to(r, &now, 30);
        assert_true(offer(r, now, R, 0, 1, 0, 2));
        step_to(r, &now, 80);
        const uint64_t act = nth(r, CHECK_ACT, 0)->cyc;
        assert_int_equal(nth(r, CHECK_ACT, 1)->cyc - act, cycles); /* the row bus is taken */
        assert_int_equal(nth(r, CHECK_RD, 0)->cyc - act, cycles);  /* tRCD 1 */
        assert_int_equal(nth(r, CHECK_ACT, 2)->cyc - nth(r, CHECK_PRE, 0)->cyc, 3 - cycles); /* tRP 2 */
        rig_close(r);
    }
    free(r);
}

DRAM_TEST(unloaded_latencies_are_those_of_the_data_sheet)
{
    static const struct {
        const char *preset;
        uint64_t closed, hit, conflict;
    } cases[] = {
        {"hbm-a", 16, 9, 23}, {"hbm-b", 30, 16, 44}, {"hbm-a-split", 16, 9, 23}, {"hbm-b-split", 30, 16, 44}};
    struct rig *r = calloc(1, sizeof *r);
    for (size_t i = 0; i < 4; i++) {
        rig_open(r, harness_spec(cases[i].preset, ""), true);
        uint64_t now = 0;
        assert_true(offer(r, 0, R, 3, 7, 0, 0));
        step_to(r, &now, 99);
        assert_true(offer(r, 100, R, 3, 7, 1, 1));
        step_to(r, &now, 199);
        assert_true(offer(r, 200, R, 3, 8, 1, 2));
        step_to(r, &now, 300);
        assert_int_equal(r->done_cyc[0], cases[i].closed);
        assert_int_equal(r->done_cyc[1] - 100, cases[i].hit);
        assert_int_equal(r->done_cyc[2] - 200, cases[i].conflict);
        const struct dram_stats *s = dram_channel_stats(r->channel);
        assert_true(s->row_hits == 1 && s->row_misses == 1 && s->row_conflicts == 1);
        rig_close(r);
    }
    free(r);
}

DRAM_TEST(a_single_bus_carries_one_command_a_cycle)
{
    struct rig *r = calloc(1, sizeof *r);
    for (int single = 0; single < 2; single++) {
        rig_open(r, harness_spec("base", single ? SHORT "dram.bus=single" : SHORT), true);
        for (uint32_t i = 0; i < 4; i++) assert_true(offer(r, 0, R, 4 * i, 0, 0, i));
        uint64_t now = 0;
        step_to(r, &now, 50);
        /* ACTs at 1 2 3 4; the read of the first is due at 2 */
        assert_int_equal(nth(r, CHECK_ACT, 0)->cyc, 1);
        assert_int_equal(nth(r, CHECK_RD, 0)->cyc, 2);
        assert_int_equal(nth(r, CHECK_ACT, 1)->cyc, single ? 3 : 2);
        const struct checker_timing t = harness_timing(&r->spec);
        assert_int_equal(checker_check(&t, r->log.commands, r->log.count).violations, 0);
        rig_close(r);
    }
    free(r);
}

/* ---- the order of service ---- */

DRAM_TEST(row_hits_go_before_an_older_conflict_until_the_cap)
{
    struct rig *r = calloc(1, sizeof *r);
    for (uint32_t cap = 0; cap <= 4; cap += 4) {
        rig_open(
            r, harness_spec("base", cap ? "dram.row_hit_cap=4" : "dram.row_hit_cap=0 dram.starvation_cyc=0"),
            true);
        assert_true(offer(r, 0, R, 0, 1, 0, 0)); /* opens row 1 */
        uint64_t now = 0;
        step_to(r, &now, 20);
        assert_true(offer(r, now, R, 0, 2, 0, 1)); /* the old conflict */
        uint64_t tag = 2;
        for (uint32_t i = 1; i < 30; i++) { /* a hit every three cycles keeps the row busy (tRTP is 7) */
            assert_true(offer(r, now, R, 0, 1, i, tag++));
            step_to(r, &now, now + 2);
        }
        step_to(r, &now, now + 100);
        int before = 0;
        for (size_t i = 0; i < r->log.count && r->log.commands[i].kind != CHECK_PRE; i++)
            before += r->log.commands[i].kind == CHECK_RD;
        if (!cap) assert_int_equal(before, 30);
        /* the cap allows the precharge; hits go on until it is ready, and each of them delays it by tRTP */
        if (cap) assert_true(before >= 4);
        for (uint64_t i = 0; i < tag; i++) assert_int_equal(r->done_count[i], 1);
        rig_close(r);
    }
    free(r);
}

DRAM_TEST(an_older_conflict_closes_the_row_under_when_older)
{
    struct rig *r = calloc(1, sizeof *r);
    for (int older = 0; older < 2; older++) {
        rig_open(r,
                 harness_spec("hbm-b",
                              older ? "dram.close_rule=when_older dram.row_hit_cap=0" : "dram.row_hit_cap=0"),
                 true);
        assert_true(offer(r, 0, R, 0, 1, 0, 0));
        uint64_t now = 0;
        step_to(r, &now, 60);
        assert_true(offer(r, now, R, 0, 2, 0, 1));
        step_to(r, &now, now);
        /* a younger hit of a group whose bus is busy: tCCDl keeps it from the very next cycle */
        assert_true(offer(r, now, R, 0, 1, 3, 2));
        step_to(r, &now, now + 200);
        /* tRAS and tRTP have passed, so the precharge is ready at once */
        const int pre = position(r, CHECK_PRE, 0, 1);
        assert_true(pre > 0);
        int hits = 0;
        for (int i = 0; i < pre; i++) hits += r->log.commands[i].kind == CHECK_RD;
        assert_int_equal(hits, 1); /* its own activate's column only: the conflict came first and was ready */
        for (int i = 0; i < 3; i++) assert_int_equal(r->done_count[i], 1);
        rig_close(r);
    }
    free(r);
}

/* One old conflict against hits that never end. */
static uint64_t wait_of_conflict(uint32_t starvation_cyc)
{
    char set[200];
    snprintf(set, sizeof set, "dram.row_hit_cap=0 dram.starvation_cyc=%u", starvation_cyc);
    struct rig *r = calloc(1, sizeof *r);
    rig_open(r, harness_spec("base", set), false);
    assert_true(offer(r, 0, R, 0, 1, 0, 1));
    uint64_t now = 0;
    step_to(r, &now, 30);
    const uint64_t start = now;
    assert_true(offer(r, now, R, 0, 2, 0, 0));
    for (uint32_t i = 0; i < 600; i++) {
        (void)offer(r, now, R, 0, 1, i % 32, 2 + i);
        step_to(r, &now, now + 2);
    }
    const uint64_t waited = r->done_count[0] ? r->done_cyc[0] - start : 0;
    step_to(r, &now, now + 3000);
    assert_int_equal(r->done_count[0], 1);
    rig_close(r);
    free(r);
    return waited;
}

DRAM_TEST(a_starving_request_is_served_within_its_limit)
{
    assert_int_equal(wait_of_conflict(0), 0); /* not while hits come */
    const uint64_t waited = wait_of_conflict(300);
    /* limit, then tRTP, tRP, tRCD, data; the hit before may have been issued in the last cycle */
    assert_true(waited >= 300 && waited <= 300 + 7 + 7 + 7 + 8 + 1);
}

/* One old read against writes that never end: the bus must turn round for it. */
DRAM_TEST(a_starving_read_turns_the_bus_round)
{
    struct rig *r = calloc(1, sizeof *r);
    for (uint32_t limit = 0; limit <= 200; limit += 200) {
        rig_open(r, harness_spec("base", limit ? "dram.starvation_cyc=200" : "dram.starvation_cyc=0"), false);
        uint64_t now = 0, tag = 1;
        for (uint32_t i = 0; i < 8; i++) assert_true(offer(r, now, W, 0, 1, i, tag++));
        step_to(r, &now, 9);
        assert_true(offer(r, now, R, 0, 1, 31, 0));
        const uint64_t start = now;
        for (uint32_t i = 0; i < 500; i++) {
            assert_true(offer(r, now, W, 0, 1, 8 + i % 20, tag++));
            step_to(r, &now, now);
        }
        if (limit) {
            assert_int_equal(r->done_count[0], 1);
            assert_true(r->done_cyc[0] - start >= 200 && r->done_cyc[0] - start <= 200 + 7 + 8 + 1);
        } else {
            assert_int_equal(r->done_count[0], 0);
        }
        step_to(r, &now, now + 300);
        for (uint64_t i = 0; i < tag; i++) assert_int_equal(r->done_count[i], 1);
        rig_close(r);
    }
    free(r);
}

DRAM_TEST(writes_wait_for_the_high_watermark_and_drain_to_the_low_one)
{
    struct rig *r = calloc(1, sizeof *r);
    rig_open(r,
             harness_spec("hbm-a-split",
                          "dram.write_entries=16 dram.write_high=8 dram.write_low=3 dram.bank_slots=false"),
             true);
    uint64_t now = 0, tag = 0;
    /* reads never run out: one more than is served per cycle */
    for (uint32_t i = 0; i < 20; i++) assert_true(offer(r, now, R, 0, 1, i, tag++));
    for (uint32_t i = 0; i < 8; i++) assert_true(offer(r, now, W, 4, 1, i, tag++));
    for (uint32_t i = 0; i < 60; i++) {
        if (offer(r, now, R, 0, 1, 20 + i % 12, tag)) tag++;
        step_to(r, &now, now);
    }
    assert_int_equal(dram_channel_stats(r->channel)->column_writes, 0); /* 8 are not more than 8 */
    assert_true(offer(r, now, W, 4, 1, 8, tag++));
    for (uint32_t i = 0; i < 100; i++) {
        if (offer(r, now, R, 0, 1, 20 + i % 12, tag)) tag++;
        step_to(r, &now, now);
    }
    /* nine waited; the drain stops when fewer than three are left */
    assert_int_equal(dram_channel_stats(r->channel)->column_writes, 7);
    assert_int_equal(dram_channel_stats(r->channel)->drains, 1);
    step_to(r, &now, now + 400); /* reads end, so the rest goes */
    assert_int_equal(dram_channel_stats(r->channel)->column_writes, 9);
    for (uint64_t i = 0; i < tag; i++) assert_int_equal(r->done_count[i], 1);
    rig_close(r);
    free(r);
}

/* With no read left the channel turns to writes, also when it sleeps: a later burst with enough writes starts
 * with them. */
DRAM_TEST(an_idle_split_queue_has_turned_to_writes)
{
    struct rig *r = calloc(1, sizeof *r);
    for (int every = 0; every < 2; every++) {
        rig_open(r, harness_spec("hbm-a-split", ""), true);
        assert_true(offer(r, 0, R, 0, 1, 0, 0));
        uint64_t now = 1;
        if (every) step_to(r, &now, 199);
        while (dram_channel_next(r->channel) != DRAM_NEVER)
            dram_channel_step(r->channel, dram_channel_next(r->channel));
        assert_true(offer(r, 200, R, 0, 1, 1, 1));
        for (uint32_t i = 0; i < 14; i++) assert_true(offer(r, 200, W, 0, 1, 2 + i, 2 + i));
        now = 201;
        step_to(r, &now, 300);
        for (int i = 0; i < 16; i++) assert_int_equal(r->done_count[i], 1);
        assert_true(nth(r, CHECK_WR, 0)->cyc < nth(r, CHECK_RD, 1)->cyc);
        rig_close(r);
    }
    free(r);
}

/* ---- acceptance ---- */

DRAM_TEST(a_queue_of_one_entry_refuses_until_its_request_is_issued)
{
    struct rig *r = calloc(1, sizeof *r);
    struct dram_spec spec = harness_spec("base", "");
    spec.queue_entries = 1; /* a GPU needs two, for a line */
    rig_open(r, spec, true);
    uint64_t now = 0;
    assert_true(offer(r, 0, R, 0, 1, 0, 0));
    assert_false(offer(r, 0, R, 4, 1, 0, 1));
    for (; now < 8; now++) {
        dram_channel_step(r->channel, now);
        assert_false(offer(r, now, R, 4, 1, 0, 1));
        assert_int_equal(r->space_calls, 0);
    }
    dram_channel_step(r->channel, 8); /* ACT at 1, RD at 8 */
    assert_int_equal(r->space_calls, 1);
    assert_true(offer(r, 8, R, 4, 1, 0, 1));
    now = 9;
    step_to(r, &now, 100);
    assert_int_equal(r->done_cyc[1], 8 + 16);
    rig_close(r);
    free(r);
}

DRAM_TEST(what_is_accepted_in_a_cycle_is_seen_in_the_next_whoever_came_first)
{
    struct rig *r = calloc(1, sizeof *r);
    for (int way = 0; way < 4; way++) {
        const bool before = way % 2, when_asked = way / 2;
        rig_open(r, harness_spec("base", ""), true);
        if (!before) dram_channel_step(r->channel, 5);
        assert_true(offer(r, 5, R, 0, 1, 0, 0));
        if (before) dram_channel_step(r->channel, 5);
        /* its activate goes at 6, its read tRCD later: the step may come with either */
        assert_in_range(dram_channel_next(r->channel), 6, 6 + 7);
        uint64_t now = 6;
        if (when_asked)
            while (dram_channel_next(r->channel) != DRAM_NEVER)
                dram_channel_step(r->channel, dram_channel_next(r->channel));
        else
            step_to(r, &now, 60);
        assert_int_equal(nth(r, CHECK_ACT, 0)->cyc, 6);
        assert_int_equal(nth(r, CHECK_RD, 0)->cyc, 6 + 7);
        assert_int_equal(r->done_cyc[0], 5 + 16);
        rig_close(r);
    }
    free(r);
}

DRAM_TEST(a_read_of_a_waiting_write_is_forwarded_and_a_second_write_merged)
{
    struct rig *r = calloc(1, sizeof *r);
    rig_open(r, harness_spec("base", ""), true);
    assert_true(offer(r, 0, W, 0, 1, 0, 0));
    assert_true(offer(r, 0, R, 0, 1, 0, 1)); /* in the very same cycle */
    assert_true(offer(r, 0, W, 0, 1, 0, 2));
    assert_int_equal(r->done_cyc[1], 1);
    assert_int_equal(r->done_count[2], 1);
    uint64_t now = 0;
    step_to(r, &now, 3);
    assert_true(offer(r, now, R, 0, 1, 0, 3)); /* queued by now */
    assert_int_equal(r->done_cyc[3], now + 1);
    assert_true(offer(r, now, R, 0, 1, 1, 4)); /* another column */
    assert_int_equal(r->done_count[4], 0);
    step_to(r, &now, 100);
    const struct dram_stats *s = dram_channel_stats(r->channel);
    assert_true(s->forwarded == 2 && s->merged == 1 && s->column_writes == 1 && s->column_reads == 1);
    rig_close(r);
    free(r);
}

/* The bus is in a run of writes when a read, then a write of the same address come: the write must wait. */
DRAM_TEST(a_write_does_not_overtake_an_older_read_of_its_address)
{
    struct rig *r = calloc(1, sizeof *r);
    rig_open(r, harness_spec("base", ""), true);
    uint64_t now = 0;
    for (uint32_t i = 0; i < 20; i++) assert_true(offer(r, 0, W, 0, 1, i, i));
    step_to(r, &now, 10);
    assert_true(offer(r, now, R, 0, 1, 30, 20));
    assert_true(offer(r, now, W, 0, 1, 30, 21));
    assert_true(offer(r, now, W, 0, 1, 31, 22));
    step_to(r, &now, 200);
    /* writes end with the 20th, then the read, then the write that waited for it */
    size_t read_at = 0, last_write = 0;
    for (size_t i = 0; i < r->log.count; i++) {
        if (r->log.commands[i].kind == CHECK_RD) read_at = i;
        if (r->log.commands[i].kind == CHECK_WR) last_write = i;
    }
    assert_true(read_at < last_write);
    assert_true(r->done_cyc[21] > r->done_cyc[20]);
    rig_close(r);
    free(r);
}

DRAM_TEST(a_line_is_two_columns_accepted_and_done_together)
{
    struct rig *r = calloc(1, sizeof *r);
    rig_open(r, harness_spec("base", "dram.queue_entries=3"), true);
    const struct dram_request line = {
        .kind = R, .bank = 2, .row = 9, .column = 4, .column_count = 2, .tag = 0};
    assert_true(dram_try_accept(r->channel, 0, &line));
    struct dram_request second = line;
    second.tag = 1;
    second.column = 6;
    assert_false(dram_try_accept(r->channel, 0, &second)); /* one entry is left: all or nothing */
    assert_int_equal(dram_channel_waiting(r->channel), 2);
    uint64_t now = 0;
    step_to(r, &now, 60);
    assert_int_equal(r->done_count[0], 1);
    assert_int_equal(nth(r, CHECK_RD, 1)->cyc - nth(r, CHECK_RD, 0)->cyc, 1);
    assert_int_equal(r->done_cyc[0], nth(r, CHECK_RD, 1)->cyc + 8);
    assert_true(dram_try_accept(r->channel, now, &second));
    step_to(r, &now, now + 60);
    assert_int_equal(r->done_count[1], 1);
    /* half of a line in a waiting write: only the other half is read, and ends the line */
    assert_true(offer(r, now, W, 2, 9, 4, 5));
    struct dram_request third = line;
    third.tag = 2;
    const uint64_t reads = dram_channel_stats(r->channel)->column_reads;
    assert_true(dram_try_accept(r->channel, now, &third));
    assert_int_equal(r->done_count[2], 0);
    assert_int_equal(dram_channel_stats(r->channel)->forwarded, 1);
    step_to(r, &now, now + 100);
    assert_int_equal(r->done_count[2], 1);
    assert_int_equal(dram_channel_stats(r->channel)->column_reads - reads, 1);
    rig_close(r);
    free(r);
}

/* ---- refresh ---- */

/* Both intervals for two neighbouring values each: blocked at t-1, ready at t. */
DRAM_TEST(a_refresh_closes_the_rows_and_holds_the_banks_for_trfc)
{
    struct rig *r = calloc(1, sizeof *r);
    for (uint32_t way = 0; way < 8; way++) {
        const uint32_t each = way & 1, trfc = 91 + (way >> 1 & 1), trefi = 1365 + (way >> 2);
        struct dram_spec spec = harness_spec("base", "dram.refresh=true");
        spec.refresh_closes_each = each;
        spec.trfc_cyc = trfc;
        spec.trefi_cyc = trefi;
        rig_open(r, spec, true);
        uint64_t now = 0;
        assert_true(offer(r, 0, R, 0, 1, 0, 0));
        assert_true(offer(r, 0, R, 5, 1, 0, 1));
        step_to(r, &now, trefi - 2);
        assert_true(offer(r, trefi - 1, R, 0, 1, 1, 2)); /* would hit, but the refresh is due */
        step_to(r, &now, 1600);
        const uint64_t ref = nth(r, CHECK_REF, 0)->cyc;
        assert_int_equal(nth(r, each ? CHECK_PRE : CHECK_PREA, 0)->cyc, trefi);
        assert_int_equal(ref, trefi + each + 7); /* tRP after the last precharge */
        assert_int_equal(nth(r, CHECK_ACT, 2)->cyc, ref + trfc);
        assert_int_equal(dram_channel_stats(r->channel)->refreshes, 1);
        rig_close(r);
    }
    free(r);
}

/* A channel that sleeps through many refreshes catches up with the same commands as one that is stepped
 * always; without a log it does so in one go. */
DRAM_TEST(refreshes_of_an_idle_channel_are_caught_up)
{
    struct rig *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b), *c = calloc(1, sizeof *c);
    const struct dram_spec spec = harness_spec("base", "dram.refresh=true");
    rig_open(a, spec, true);
    rig_open(b, spec, true);
    rig_open(c, spec, false);
    struct rig *const rigs[] = {a, b, c};
    const uint64_t late = 50000;
    for (int i = 0; i < 3; i++) {
        assert_true(offer(rigs[i], 3, R, 0, 1, 0, 0));
        uint64_t now = 4;
        step_to(rigs[i], &now, i == 0 ? late - 1 : 40);
        if (i) assert_int_equal(dram_channel_next(rigs[i]->channel), DRAM_NEVER);
        assert_true(offer(rigs[i], late, R, 0, 1, 1, 1));
        now = late + 1;
        step_to(rigs[i], &now, late + 500);
        assert_int_equal(dram_channel_stats(rigs[i]->channel)->refreshes, late / 1365);
        assert_int_equal(rigs[i]->done_cyc[1], a->done_cyc[1]);
    }
    assert_int_equal(a->log.count, b->log.count);
    assert_memory_equal(a->log.commands, b->log.commands, a->log.count * sizeof *a->log.commands);
    for (int i = 0; i < 3; i++) {
        rig_close(rigs[i]);
        free(rigs[i]);
    }
}

/* ---- stress ---- */

static uint32_t between(struct rng *g, uint32_t low, uint32_t high)
{
    return low + (uint32_t)rng_below(g, high - low + 1);
}

static struct dram_spec random_spec(struct rng *g)
{
    struct dram_spec s = harness_spec("base", "");
    s.bank_groups = 1u << between(g, 0, 2);
    s.banks_per_group = 1u << between(g, 0, 2);
    s.tras_cyc = between(g, 1, 20);
    s.trp_cyc = between(g, 2, 10);
    s.trc_cyc = s.tras_cyc + between(g, 0, 10);
    s.trcd_rd_cyc = between(g, 1, 9);
    s.trcd_wr_cyc = between(g, 1, 9);
    s.tcl_cyc = between(g, 1, 9);
    s.twl_cyc = between(g, 1, s.tcl_cyc);
    s.trrd_s_cyc = between(g, 1, 5);
    s.trrd_l_cyc = s.trrd_s_cyc + between(g, 0, 3);
    s.tfaw_cyc = between(g, 0, 30);
    s.trtp_cyc = between(g, 1, 8);
    s.tccd_s_cyc = between(g, 1, 3);
    s.tccd_l_cyc = s.tccd_s_cyc + between(g, 0, 2);
    s.twtr_s_cyc = between(g, 0, 4);
    s.twtr_l_cyc = s.twtr_s_cyc + between(g, 0, 4);
    s.twr_cyc = between(g, 0, 10);
    s.burst_cyc = between(g, 1, 2);
    s.turnaround_cyc = between(g, 0, 3);
    s.act_bus_cyc = between(g, 1, 2);
    s.bus = rng_below(g, 2) ? dram_bus_dual : dram_bus_single;
    s.refresh = rng_below(g, 2);
    s.refresh_closes_each = rng_below(g, 2);
    s.trefi_cyc = between(g, 150, 600);
    s.trfc_cyc = between(g, 2, 60);
    s.queue = rng_below(g, 2) ? dram_queue_unified : dram_queue_split;
    s.queue_entries = between(g, 1, rng_below(g, 2) ? 3 : 64);
    s.read_entries = between(g, 1, rng_below(g, 2) ? 3 : 64);
    s.write_entries = between(g, 1, rng_below(g, 2) ? 3 : 64);
    s.write_high = between(g, 0, s.write_entries - 1);
    s.write_low = between(g, 1, s.write_high + 1);
    s.bank_slots = rng_below(g, 2);
    s.intake_per_cyc = between(g, 0, 2);
    s.close_rule = rng_below(g, 2) ? dram_close_after_hits : dram_close_when_older;
    s.row_hit_cap = between(g, 0, 6);
    s.starvation_cyc = rng_below(g, 2) ? 0 : between(g, 20, 300);
    return s;
}

enum { STRESS_REQUESTS = 600 };

struct planned {
    struct dram_request request;
    uint64_t offer_cyc;
};

/* Runs the plan on a rig; every_cycle = step also when nothing is due. */
static void run_plan(struct rig *r, const struct planned *plan, size_t count, bool every_cycle)
{
    size_t next = 0, refused_at = SIZE_MAX;
    uint32_t space_seen = 0;
    for (uint64_t now = 0; now < 1000000; now++) {
        if (every_cycle || dram_channel_next(r->channel) <= now) dram_channel_step(r->channel, now);
        while (next < count && plan[next].offer_cyc <= now) {
            if (refused_at == next && r->space_calls == space_seen) break; /* wait to be told */
            if (!dram_try_accept(r->channel, now, &plan[next].request)) {
                refused_at = next;
                space_seen = r->space_calls;
                break;
            }
            next++;
        }
        if (next == count && dram_channel_next(r->channel) == DRAM_NEVER) return;
    }
    fail_msg("request %zu of %zu is stuck; %u columns wait, next cycle %lu", next, count,
             dram_channel_waiting(r->channel), dram_channel_next(r->channel));
}

static void check_plan(const struct rig *r, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        if (r->done_count[i] != 1)
            fail_msg("seed %lu: request %zu was done %lu times", seed, i, r->done_count[i]);
    const struct checker_timing t = harness_timing(&r->spec);
    const struct checker_report report = checker_check(&t, r->log.commands, r->log.count);
    if (report.violations) fail_msg("seed %lu: %s", seed, report.first_violation);
    const struct dram_stats *s = dram_channel_stats(r->channel);
    assert_int_equal(s->waiting, 0);
    assert_int_equal(s->reads + s->writes, s->forwarded + s->merged + s->column_reads + s->column_writes);
    assert_int_equal(s->column_reads + s->column_writes, s->row_hits + s->row_misses + s->row_conflicts);
}

static void make_plan(struct rng *g, const struct dram_spec *spec, struct planned *plan)
{
    uint64_t cyc = 0;
    const uint32_t rows = between(g, 1, 4), pause = between(g, 0, 12), columns = between(g, 1, 30);
    const bool lines = rng_below(g, 2) && (spec->queue == dram_queue_unified
                                               ? spec->queue_entries > 1
                                               : spec->read_entries > 1 && spec->write_entries > 1);
    for (size_t i = 0; i < STRESS_REQUESTS; i++) {
        if (rng_below(g, 4) == 0) cyc += rng_below(g, pause * 8 + 1);
        plan[i] =
            (struct planned){.request = {.kind = rng_below(g, 3) == 0 ? W : R,
                                         .bank = between(g, 0, spec->bank_groups * spec->banks_per_group - 1),
                                         .row = between(g, 0, rows - 1),
                                         .column = between(g, 0, columns),
                                         .column_count = lines ? between(g, 1, 2) : 1,
                                         .tag = i},
                             .offer_cyc = cyc};
    }
}

/* Random channels, random requests: nothing lost, nothing twice, no rule broken, and stepping at every cycle
 * gives the same commands as stepping when asked. */
DRAM_TEST(random_channels_lose_nothing_and_break_no_rule)
{
    struct rig *r = calloc(1, sizeof *r), *every = calloc(1, sizeof *every);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng g = rng_seed(seed, 1);
        const struct dram_spec spec = random_spec(&g);
        assert_null(dram_spec_fault(&spec));
        static struct planned plan[STRESS_REQUESTS];
        make_plan(&g, &spec, plan);
        rig_open(r, spec, true);
        rig_open(every, spec, true);
        run_plan(r, plan, STRESS_REQUESTS, false);
        run_plan(every, plan, STRESS_REQUESTS, true);
        check_plan(r, STRESS_REQUESTS, seed);
        /* an idle channel that is stepped refreshes on, so its log may be longer */
        if (r->log.count > every->log.count ||
            memcmp(r->log.commands, every->log.commands, r->log.count * sizeof *r->log.commands))
            fail_msg("seed %lu: stepping at every cycle changes the commands", seed);
        rig_close(r);
        rig_close(every);
    }
    free(r);
    free(every);
}

/* Without a log, longer gaps in groups and tFAW a channel is stepped by a copy of the code that knows of none
 * of them. */
DRAM_TEST(a_channel_that_nobody_logs_serves_the_same)
{
    struct rig *r = calloc(1, sizeof *r), *logged = calloc(1, sizeof *logged);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng g = rng_seed(seed, 2);
        struct dram_spec spec = random_spec(&g);
        spec.queue = dram_queue_unified;
        spec.bus = dram_bus_dual;
        spec.bank_slots = false;
        spec.tfaw_cyc = 0;
        spec.trrd_l_cyc = spec.trrd_s_cyc;
        spec.tccd_l_cyc = spec.tccd_s_cyc;
        spec.twtr_l_cyc = spec.twtr_s_cyc;
        assert_null(dram_spec_fault(&spec));
        static struct planned plan[STRESS_REQUESTS];
        make_plan(&g, &spec, plan);
        rig_open(r, spec, false);
        rig_open(logged, spec, true);
        run_plan(r, plan, STRESS_REQUESTS, seed % 2);
        run_plan(logged, plan, STRESS_REQUESTS, seed % 2);
        check_plan(logged, STRESS_REQUESTS, seed);
        if (memcmp(r->done_cyc, logged->done_cyc, sizeof r->done_cyc) ||
            memcmp(dram_channel_stats(r->channel), dram_channel_stats(logged->channel),
                   sizeof(struct dram_stats)))
            fail_msg("seed %lu: the log changes what is served", seed);
        rig_close(r);
        rig_close(logged);
    }
    free(r);
    free(logged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gap_is_kept_and_not_a_cycle_more),
        cmocka_unit_test(an_activate_of_two_bus_cycles_delays_what_follows_by_one),
        cmocka_unit_test(unloaded_latencies_are_those_of_the_data_sheet),
        cmocka_unit_test(a_single_bus_carries_one_command_a_cycle),
        cmocka_unit_test(row_hits_go_before_an_older_conflict_until_the_cap),
        cmocka_unit_test(an_older_conflict_closes_the_row_under_when_older),
        cmocka_unit_test(a_starving_request_is_served_within_its_limit),
        cmocka_unit_test(a_starving_read_turns_the_bus_round),
        cmocka_unit_test(writes_wait_for_the_high_watermark_and_drain_to_the_low_one),
        cmocka_unit_test(an_idle_split_queue_has_turned_to_writes),
        cmocka_unit_test(a_queue_of_one_entry_refuses_until_its_request_is_issued),
        cmocka_unit_test(what_is_accepted_in_a_cycle_is_seen_in_the_next_whoever_came_first),
        cmocka_unit_test(a_read_of_a_waiting_write_is_forwarded_and_a_second_write_merged),
        cmocka_unit_test(a_write_does_not_overtake_an_older_read_of_its_address),
        cmocka_unit_test(a_line_is_two_columns_accepted_and_done_together),
        cmocka_unit_test(a_refresh_closes_the_rows_and_holds_the_banks_for_trfc),
        cmocka_unit_test(refreshes_of_an_idle_channel_are_caught_up),
        cmocka_unit_test(random_channels_lose_nothing_and_break_no_rule),
        cmocka_unit_test(a_channel_that_nobody_logs_serves_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
