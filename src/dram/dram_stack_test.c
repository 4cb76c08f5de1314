/* Transfers between channels of a stack: their time, what they occupy, what goes on meanwhile, and random
 * streams beside random copies, replayed by the checker of tests/dram_checker.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "dram/dram_key.h"
#include "dram/dram_stack.h"
#include "dram_harness.h"

enum { CHANNELS = 8, TAGS = 16384, PIECES = 4, COPIES_MAX = 64 };
enum { R = DRAM_READ, W = DRAM_WRITE };

struct bed {
    struct dram_spec spec;
    struct arena arena;
    struct dram_channel *channels[CHANNELS];
    struct dram_stack *stack;
    struct harness_log logs[CHANNELS];
    uint64_t done_cyc[TAGS];
    uint32_t done_count[TAGS];
    uint64_t now;
    uint32_t overtaken; /* lines that moved while a write of them waited */
    bool every_cycle;   /* channels are stepped when nothing is due, too */
};

static void bed_done(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc, uint64_t done_cyc)
{
    struct bed *b = owner;
    (void)kind, (void)accept_cyc;
    b->done_cyc[tag] = done_cyc;
    b->done_count[tag]++;
}

static void bed_moves(void *owner, const struct dram_copy *c, uint32_t line, enum dram_hazard hazard)
{
    (void)c, (void)line;
    ((struct bed *)owner)->overtaken += hazard != DRAM_HAZARD_NONE;
}

/* The log of a channel has its own owner. */
struct ear {
    struct bed *bed;
    uint32_t channel;
};

static void ear_done(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc, uint64_t done_cyc)
{
    bed_done(((struct ear *)owner)->bed, tag, kind, accept_cyc, done_cyc);
}

static void ear_log(void *owner, const struct dram_command *c)
{
    const struct ear *e = owner;
    harness_on_log(&e->bed->logs[e->channel], c);
}

static void bed_open(struct bed *b, struct dram_spec spec, bool with_stack)
{
    memset(b, 0, sizeof *b);
    b->spec = spec;
    arena_init(&b->arena);
    for (uint32_t k = 0; k < CHANNELS; k++) {
        struct ear *e = ARENA_NEW(&b->arena, struct ear);
        *e = (struct ear){b, k};
        b->channels[k] = dram_channel_new(
            &b->arena, &b->spec, &(struct dram_wiring){.owner = e, .done = ear_done, .log = ear_log});
    }
    if (with_stack)
        b->stack = dram_stack_new(&b->arena, b->channels, CHANNELS,
                                  &(struct dram_stack_wiring){.owner = b, .moves = bed_moves});
}

static void bed_close(struct bed *b)
{
    arena_free(&b->arena);
    for (uint32_t k = 0; k < CHANNELS; k++) free(b->logs[k].commands);
}

static bool offer(struct bed *b, uint32_t channel, int kind, uint32_t bank, uint32_t row, uint32_t column,
                  uint64_t tag)
{
    return dram_try_accept(b->channels[channel], b->now,
                           &(struct dram_request){.kind = (enum dram_kind)kind,
                                                  .bank = bank,
                                                  .row = row,
                                                  .column = column,
                                                  .column_count = 1,
                                                  .tag = tag});
}

static void step_channels(struct bed *b)
{
    for (uint32_t k = 0; k < CHANNELS; k++)
        if (b->every_cycle || dram_channel_next(b->channels[k]) <= b->now)
            (void)dram_channel_step(b->channels[k], b->now);
}

/* The rest of a cycle, after the offers. */
static void end_cycle(struct bed *b)
{
    if (b->stack) (void)dram_stack_step(b->stack, b->now);
    b->now++;
}

static void run_to(struct bed *b, uint64_t end)
{
    while (b->now < end) {
        step_channels(b);
        end_cycle(b);
    }
}

/* A copy of `count` pieces, piece k in bank group k: bank `bank` of the group, columns 8 to 11 of the row. */
static struct dram_copy *new_copy(struct bed *b, uint32_t from, uint32_t to, uint32_t count, uint32_t bank,
                                  uint32_t row, uint32_t to_row)
{
    struct dram_copy *c = ARENA_NEW(&b->arena, struct dram_copy);
    c->pieces = ARENA_ARRAY(&b->arena, struct dram_piece, count);
    c->count = count;
    for (uint32_t k = 0; k < count; k++) {
        struct dram_piece *p = &c->pieces[k];
        const uint32_t at = (k % b->spec.bank_groups) * b->spec.banks_per_group + bank;
        *p = (struct dram_piece){.source = (uint8_t)from, .destination = (uint8_t)to, .line_count = 2};
        for (uint32_t n = 0; n < 2; n++) {
            p->line[n] = k * 2 + n;
            p->from[n] = dram_key(at, row, 8 + 2 * n);
            p->to[n] = dram_key(at, to_row, 8 + 2 * n);
        }
    }
    return c;
}

/* Begins the copy in this cycle and runs until all its pieces have begun; cycles to its end, counted from the
 * cycle after the decision. */
static uint64_t copy_time(struct bed *b, struct dram_copy *c)
{
    const uint64_t from = b->now;
    step_channels(b);
    dram_stack_begin(b->stack, c, b->now);
    end_cycle(b);
    while (c->begun < c->count && b->now < from + 100000) {
        step_channels(b);
        end_cycle(b);
    }
    assert_int_equal(c->begun, c->count);
    return c->end_cyc - from - 1;
}

static void check_logs(struct bed *b, uint64_t seed, struct checker_report *sum)
{
    const struct checker_timing t = harness_timing(&b->spec);
    for (uint32_t k = 0; k < CHANNELS; k++) {
        checker_sort(b->logs[k].commands, b->logs[k].count);
        const struct checker_report r = checker_check(&t, b->logs[k].commands, b->logs[k].count);
        if (r.violations) fail_msg("seed %lu channel %u: %s", seed, k, r.first_violation);
        for (int n = 0; sum && n < CHECKER_MIGRATION_RULES; n++) {
            sum->migration_need[n] = r.migration_need[n];
            if (r.migration_seen[n] < sum->migration_seen[n]) sum->migration_seen[n] = r.migration_seen[n];
        }
    }
}

/* ---- time ---- */

#define UGPU "ugpu-bp"

DRAM_TEST(four_pieces_take_the_time_of_one_when_four_sets_are_idle)
{
    struct bed b;
    bed_open(&b, harness_spec(UGPU, ""), true);
    run_to(&b, 100);
    assert_int_equal(copy_time(&b, new_copy(&b, 0, 5, PIECES, 1, 7, 9)), 13);
    check_logs(&b, 0, NULL);
    const struct stack_stats *s = dram_stack_stats(b.stack);
    assert_int_equal(s->transfers, 4);
    assert_int_equal(s->migrations, 8);
    assert_int_equal(s->busy_cyc, 52);
    assert_int_equal(s->set_wait_cyc, 0);
    bed_close(&b);
}

/* A read every 12 cycles keeps a set from being idle. */
static void keep_busy(struct bed *b, uint32_t channel, uint32_t bank)
{
    if ((b->now + channel) % 12 == 0)
        (void)offer(b, channel, R, bank, 3, (uint32_t)(b->now / 12 % 32), b->now % TAGS);
}

DRAM_TEST(with_one_idle_set_pieces_move_one_after_the_other)
{
    struct bed b;
    bed_open(&b, harness_spec(UGPU, "dram.starvation_cyc=0"), true);
    struct dram_copy *c = new_copy(&b, 0, 1, PIECES, 1, 7, 9);
    for (; b.now < 400;) {
        step_channels(&b);
        for (uint32_t k = 0; k < CHANNELS; k++)
            if (k != 6) keep_busy(&b, k, 0);
        if (b.now == 100) dram_stack_begin(b.stack, c, b.now);
        end_cycle(&b);
    }
    assert_int_equal(c->begun, PIECES);
    /* a read of the group in front of each piece delays it by tCCDl at most */
    assert_in_range(c->end_cyc - 101, 4 * 13, 4 * (13 + 2));
    for (uint32_t k = 1; k < PIECES; k++) assert_true(c->pieces[k].end_cyc >= c->pieces[k - 1].end_cyc + 13);
    check_logs(&b, 0, NULL);
    bed_close(&b);
}

/* Copies that follow each other leave no gap: N copies take 13 N cycles. */
DRAM_TEST(copies_follow_each_other_without_a_gap)
{
    struct bed b;
    bed_open(&b, harness_spec(UGPU, ""), true);
    run_to(&b, 50);
    struct dram_copy *last = NULL;
    for (uint32_t k = 0; k < 20; k++) {
        struct dram_copy *c = new_copy(&b, 2, 3, PIECES, k % 4, k, k);
        while (last && last->end_cyc > b.now + 1) run_to(&b, b.now + 1);
        step_channels(&b);
        dram_stack_begin(b.stack, c, b.now);
        end_cycle(&b);
        assert_int_equal(c->begun, PIECES);
        last = c;
    }
    assert_int_equal(last->end_cyc, 51 + 20 * 13);
    check_logs(&b, 0, NULL);
    bed_close(&b);
}

/* First cycle of a transfer. */
static uint64_t begin_of(const struct dram_spec *t, const struct dram_piece *p)
{
    const uint64_t columns = p->line_count * (128 / t->column_size);
    return p->end_cyc - (t->migration == dram_migration_paper
                             ? t->migration_cyc
                             : (columns - 1) * t->tccd_l_cyc + t->tcl_cyc + t->burst_cyc);
}

static bool have_common_channel(const struct dram_piece *a, const struct dram_piece *b)
{
    return a->source == b->source || a->source == b->destination || a->destination == b->source ||
           a->destination == b->destination;
}

/* Transfers of two copies with a common channel do not overlap. */
static void expect_apart(const struct dram_spec *t, const struct dram_copy *a, const struct dram_copy *b)
{
    for (uint32_t k = 0; k < a->count; k++)
        for (uint32_t n = 0; n < b->count; n++) {
            const struct dram_piece *p = &a->pieces[k], *q = &b->pieces[n];
            if (have_common_channel(p, q) && begin_of(t, p) < q->end_cyc && begin_of(t, q) < p->end_cyc)
                fail_msg("transfers overlap: %lu to %lu and %lu to %lu", begin_of(t, p), p->end_cyc,
                         begin_of(t, q), q->end_cyc);
        }
}

/* Copies between the same channels that begin in one cycle move one after the other; a bank that is busy delays
 * its own copy only. */
DRAM_TEST(copies_wait_for_their_banks_at_the_same_time)
{
    struct bed b;
    bed_open(&b, harness_spec(UGPU, ""), true);
    run_to(&b, 50);
    struct dram_copy *c[4];
    step_channels(&b);
    for (uint32_t k = 0; k < 3; k++) assert_true(offer(&b, 2, R, 0, k + 1, 0, k)); /* three rows of bank 0 */
    for (uint32_t k = 0; k < 4; k++) {
        c[k] = new_copy(&b, 2, 3, PIECES, k, 7, 7);
        dram_stack_begin(b.stack, c[k], b.now);
    }
    end_cycle(&b);
    run_to(&b, 500);
    for (uint32_t k = 0; k < 4; k++) {
        assert_int_equal(c[k]->begun, PIECES);
        for (uint32_t n = 0; n < k; n++) expect_apart(&b.spec, c[n], c[k]);
    }
    /* the first copy waits for bank 0 with one of its pieces, the others pass it */
    for (uint32_t k = 1; k < 4; k++) assert_in_range(c[k]->end_cyc, 51 + 2 * 13, 51 + 4 * 13 + 8 + 30);
    assert_true(c[0]->end_cyc > c[3]->end_cyc);
    check_logs(&b, 0, NULL);
    bed_close(&b);
}

/* 21 cycles with open rows: three gaps of tCCDl, tCL, one burst; tRCD more for closed rows, tRP more for a
 * conflict. */
DRAM_TEST(a_timed_transfer_takes_21_35_or_49_cycles)
{
    static const struct {
        uint32_t row, cycles; /* opened before; 0: none */
    } cases[] = {{7, 21}, {0, 35}, {5, 49}};
    for (size_t k = 0; k < 3; k++) {
        struct bed b;
        bed_open(&b, harness_spec(UGPU, "dram.migration=timed"), true);
        for (uint32_t ch = 0; cases[k].row && ch < 2; ch++)
            assert_true(offer(&b, ch, R, 1, cases[k].row, 0, ch));
        run_to(&b, 200);
        assert_int_equal(copy_time(&b, new_copy(&b, 0, 1, 1, 1, 7, 7)), cases[k].cycles);
        run_to(&b, b.now + 100);
        check_logs(&b, k, NULL);
        bed_close(&b);
    }
}

/* ---- what goes on ---- */

/* Reads of other groups are as fast beside a transfer as without it; a read of the same bank waits. */
DRAM_TEST(other_groups_go_on)
{
    struct bed b;
    bed_open(&b, harness_spec(UGPU, ""), true);
    for (uint32_t g = 0; g < 4; g++) assert_true(offer(&b, 0, R, g * 4 + 1, 3, 0, g));
    run_to(&b, 200);
    step_channels(&b);
    dram_stack_begin(b.stack, new_copy(&b, 0, 1, 1, 1, 7, 7), b.now);
    end_cycle(&b);
    step_channels(&b);
    const uint64_t from = b.now;
    for (uint32_t g = 0; g < 4; g++) assert_true(offer(&b, 0, R, g * 4 + 1, 3, 1, 10 + g));
    end_cycle(&b);
    run_to(&b, from + 200);
    for (uint32_t g = 1; g < 4; g++) assert_in_range(b.done_cyc[10 + g], from, from + 1 + 15 + 3);
    /* the bank of the transfer opens its row again when the transfer has ended, 13 cycles from `from` on */
    assert_int_equal(b.done_cyc[10], from + 13 + 14 + 15);
    check_logs(&b, 0, NULL);
    bed_close(&b);
}

DRAM_TEST(a_bank_serves_the_older_of_its_request_and_the_transfer)
{
    struct bed b;
    bed_open(&b, harness_spec(UGPU, ""), true);
    run_to(&b, 50);
    step_channels(&b);
    assert_true(offer(&b, 0, W, 1, 7, 8, 1)); /* of the very line */
    struct dram_copy *c = new_copy(&b, 0, 1, 1, 1, 7, 7);
    dram_stack_begin(b.stack, c, b.now);
    assert_true(offer(&b, 0, R, 1, 7, 8, 2)); /* from the waiting write */
    assert_true(offer(&b, 0, R, 1, 7, 9, 3));
    assert_true(offer(&b, 0, R, 1, 7, 20, 4));
    end_cycle(&b);
    run_to(&b, 400);
    assert_int_equal(c->begun, 1);
    assert_int_equal(b.overtaken, 0);
    const uint64_t begin = c->end_cyc - 13;
    assert_true(b.done_cyc[1] <= begin);
    check_logs(&b, 0, NULL);
    bed_close(&b);
}

/* A transfer for which no set becomes idle in 100 K cycles takes the set of its source channel after
 * dram.starvation_cyc cycles, whatever the streams do. */
DRAM_TEST(a_starving_transfer_takes_the_set_of_its_source)
{
    struct bed b;
    bed_open(&b, harness_spec(UGPU, "dram.starvation_cyc=4096"), true);
    struct dram_copy *copies[4] = {new_copy(&b, 0, 1, PIECES, 1, 7, 9), new_copy(&b, 2, 3, PIECES, 1, 7, 9),
                                   new_copy(&b, 4, 5, PIECES, 1, 7, 9), new_copy(&b, 6, 7, PIECES, 1, 7, 9)};
    for (; b.now < 100000;) {
        step_channels(&b);
        for (uint32_t k = 0; k < CHANNELS; k++) keep_busy(&b, k, (uint32_t)(b.now / 12 % 4) * 4);
        if (b.now == 90000)
            for (uint32_t k = 0; k < 4; k++) dram_stack_begin(b.stack, copies[k], b.now);
        end_cycle(&b);
    }
    for (uint32_t k = 0; k < 4; k++) {
        assert_int_equal(copies[k]->begun, PIECES);
        assert_in_range(copies[k]->end_cyc, 90000 + 4096 + 4 * 13, 90000 + 4096 + 400);
    }
    assert_int_equal(dram_stack_stats(b.stack)->forced, 16);
    check_logs(&b, 0, NULL);
    bed_close(&b);
}

/* ---- random streams beside random copies ---- */

static uint32_t between(struct rng *g, uint32_t low, uint32_t high)
{
    return low + (uint32_t)rng_below(g, high - low + 1);
}

static struct dram_spec random_spec(struct rng *g)
{
    struct dram_spec s = harness_spec(UGPU, "");
    s.banks_per_group = 1u << between(g, 0, 2);
    if (rng_below(g, 2)) { /* other gaps than those of the preset */
        s.tras_cyc = between(g, 1, 40);
        s.trp_cyc = between(g, 2, 16);
        s.trc_cyc = s.tras_cyc + between(g, 0, 16);
        s.trcd_rd_cyc = between(g, 1, 16);
        s.trcd_wr_cyc = between(g, 1, 16);
        s.tcl_cyc = between(g, 2, 14);
        s.twl_cyc = between(g, 1, s.tcl_cyc);
        s.tccd_l_cyc = s.tccd_s_cyc + between(g, 0, 3);
        s.twtr_l_cyc = s.twtr_s_cyc + between(g, 0, 8);
        s.twr_cyc = between(g, 0, 20);
        s.trtp_cyc = between(g, 1, 8);
        s.act_bus_cyc = between(g, 1, 2);
    }
    s.bus = rng_below(g, 4) ? dram_bus_dual : dram_bus_single;
    s.refresh = rng_below(g, 3) == 0;
    s.refresh_closes_each = rng_below(g, 2);
    s.trefi_cyc = 700;
    s.trfc_cyc = between(g, 2, 60);
    s.queue_entries = rng_below(g, 3) ? between(g, 1, 64) : 1; /* often a queue of one entry */
    s.intake_per_cyc = between(g, 0, 2);
    s.starvation_cyc = rng_below(g, 2) ? between(g, 20, 300) : 4096;
    s.migration = rng_below(g, 2) ? dram_migration_paper : dram_migration_timed;
    s.migration_cyc = between(g, 10, 30);
    s.tsv_idle_cyc = between(g, 0, 12);
    return s;
}

struct planned {
    uint64_t cyc;
    uint32_t channel, kind, bank, row, column;
};
enum { REQUESTS = 1500, COPIES = 24 };

/* Runs requests and copies; false: some were not served. */
static void run_random(struct bed *b, const struct planned *plan, uint64_t seed, bool every_cycle)
{
    struct rng g = rng_seed(seed, 9);
    struct dram_copy *active[COPIES] = {0};
    uint32_t next[CHANNELS] = {0}, begun = 0, served = 0;
    b->every_cycle = every_cycle;
    for (uint32_t k = 0; k < CHANNELS; k++)
        while (next[k] < REQUESTS && plan[next[k]].channel != k) next[k]++;
    while (b->now < 300000) {
        step_channels(b);
        for (uint32_t k = 0; k < CHANNELS; k++) {
            while (next[k] < REQUESTS && plan[next[k]].cyc <= b->now) {
                const struct planned *p = &plan[next[k]];
                if (!offer(b, k, (int)p->kind, p->bank, p->row, p->column, next[k])) break;
                served++;
                do next[k]++;
                while (next[k] < REQUESTS && plan[next[k]].channel != k);
            }
        }
        bool open = false;
        for (uint32_t n = 0; n < begun; n++)
            open |= active[n]->begun < active[n]->count || active[n]->end_cyc > b->now + 1;
        const uint32_t from = between(&g, 0, 7), to = between(&g, 0, 7);
        if (begun < COPIES && from != to && b->now % 16 == 0) {
            active[begun] =
                new_copy(b, from, to, between(&g, 1, 6), between(&g, 0, b->spec.banks_per_group - 1),
                         between(&g, 0, 3), between(&g, 0, 3));
            dram_stack_begin(b->stack, active[begun++], b->now);
            open = true;
        }
        end_cycle(b);
        if (served < REQUESTS || begun < COPIES || open) continue;
        bool idle = true;
        for (uint32_t k = 0; k < CHANNELS; k++) idle &= !dram_channel_waiting(b->channels[k]);
        if (!idle) continue;
        for (uint32_t n = 0; n < begun; n++)
            for (uint32_t k = 0; k < n; k++) expect_apart(&b->spec, active[k], active[n]);
        return;
    }
    fail_msg("seed %lu: %u of %d requests, %u of %d copies", seed, served, REQUESTS, begun, COPIES);
}

static void random_plan(struct rng *g, const struct dram_spec *s, struct planned *plan)
{
    uint64_t cyc = 0;
    const uint32_t pause = between(g, 1, 24), columns = between(g, 12, 31), channels = between(g, 2, 8);
    for (uint32_t k = 0; k < REQUESTS; k++) {
        if (rng_below(g, 4) == 0) cyc += rng_below(g, pause);
        plan[k] = (struct planned){.cyc = cyc,
                                   .channel = between(g, 0, channels - 1),
                                   .kind = rng_below(g, 3) == 0 ? W : R,
                                   .bank = between(g, 0, s->bank_groups * s->banks_per_group - 1),
                                   .row = between(g, 0, 3),
                                   .column = between(g, 0, columns)};
        if (plan[k].kind == W && plan[k].column >= 8) plan[k].column %= 8; /* pages that move are held */
    }
}

DRAM_TEST(random_copies_break_no_rule_and_lose_nothing)
{
    static struct bed b, every;
    static struct planned plan[REQUESTS];
    uint64_t equal[2][CHECKER_MIGRATION_RULES] = {{0}};
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct rng g = rng_seed(seed, 1);
        const struct dram_spec spec = random_spec(&g);
        assert_null(dram_spec_fault(&spec));
        random_plan(&g, &spec, plan);
        bed_open(&b, spec, true);
        bed_open(&every, spec, true);
        run_random(&b, plan, seed, false);
        run_random(&every, plan, seed, true);
        assert_int_equal(b.overtaken, 0);
        for (uint32_t k = 0; k < REQUESTS; k++)
            if (b.done_count[k] != 1)
                fail_msg("seed %lu: request %u was done %u times", seed, k, b.done_count[k]);
        if (memcmp(b.done_cyc, every.done_cyc, sizeof b.done_cyc))
            fail_msg("seed %lu: steps change what is served", seed);
        struct checker_report r;
        for (int n = 0; n < CHECKER_MIGRATION_RULES; n++) r.migration_seen[n] = INT64_MAX;
        check_logs(&b, seed, &r);
        for (int n = 0; n < CHECKER_MIGRATION_RULES; n++)
            equal[spec.migration == dram_migration_timed][n] += r.migration_seen[n] == r.migration_need[n];
        bed_close(&b);
        bed_close(&every);
    }
    /* A bank is closed for an older request, which opens it again: PRE-MIG is never tight. */
    static const int paper[] = {MIG_LINES,    MIG_BANK,    MIG_GROUP,   MIG_SET,
                                ACT_MIG_OPEN, RD_MIG_BANK, WR_MIG_BANK, RD_MIG_GROUP,
                                WR_MIG_GROUP, RD_MIG_SET,  WR_MIG_SET,  ROW_MIG_SET};
    static const int timed[] = {MIG_LINES,  MIG_BANK,    MIG_PRE_WR,  MIG_RD_WR,    MIG_GROUP,
                                MIG_SET,    ACT_MIG_SRC, ACT_MIG_DST, RD_MIG_GROUP, WR_MIG_GROUP,
                                RD_MIG_SET, WR_MIG_SET,  ROW_MIG_SET};
    for (size_t n = 0; n < sizeof paper / sizeof *paper; n++)
        if (!equal[0][paper[n]])
            fail_msg("paper: %s was never met with equality", checker_migration_names[paper[n]]);
    for (size_t n = 0; n < sizeof timed / sizeof *timed; n++)
        if (!equal[1][timed[n]])
            fail_msg("timed: %s was never met with equality", checker_migration_names[timed[n]]);
}

/* A stack without copies changes nothing. */
DRAM_TEST(streams_without_copies_are_unchanged)
{
    static struct bed with, without;
    static struct planned plan[REQUESTS];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rng g = rng_seed(seed, 3);
        const struct dram_spec spec = random_spec(&g);
        random_plan(&g, &spec, plan);
        struct bed *beds[2] = {&with, &without};
        for (int k = 0; k < 2; k++) {
            bed_open(beds[k], spec, k == 0);
            uint32_t next = 0;
            while (next < REQUESTS || beds[k]->now % 4096) {
                step_channels(beds[k]);
                while (next < REQUESTS && plan[next].cyc <= beds[k]->now &&
                       offer(beds[k], plan[next].channel, (int)plan[next].kind, plan[next].bank,
                             plan[next].row, plan[next].column, next))
                    next++;
                end_cycle(beds[k]);
            }
        }
        assert_memory_equal(with.done_cyc, without.done_cyc, sizeof with.done_cyc);
        for (uint32_t k = 0; k < CHANNELS; k++)
            assert_memory_equal(dram_channel_stats(with.channels[k]), dram_channel_stats(without.channels[k]),
                                sizeof(struct dram_stats));
        bed_close(&with);
        bed_close(&without);
    }
}

/* The checker finds a transfer that begins a cycle too early, and a command of a channel whose set is lent. */
DRAM_TEST(the_checker_finds_wrong_transfers)
{
    const struct dram_spec spec = harness_spec(UGPU, "");
    const struct checker_timing t = harness_timing(&spec);
    struct checker_command c[] = {
        {.cyc = 10, .kind = CHECK_ACT, .bank = 1, .row = 3},
        {.cyc = 43, .kind = CHECK_MIG, .bank = 1, .row = 3, .role = CHECK_SOURCE, .end = 56},
        {.cyc = 56, .kind = CHECK_ACT, .bank = 1, .row = 3}};
    c[2].cyc = 57;
    assert_int_equal(checker_check(&t, c, 3).violations, 0);
    c[1].cyc = 42; /* tRAS */
    assert_int_equal(checker_check(&t, c, 3).violations, 1);
    c[1].cyc = 43;
    c[2].cyc = 55; /* the bank is busy, and the activate breaks tRC */
    assert_int_equal(checker_check(&t, c, 3).violations, 2);
    c[1].role = CHECK_SET;
    c[1].bank = 5;
    c[1].cyc = 30;
    c[1].end = 43;
    c[2] = (struct checker_command){.cyc = 42, .kind = CHECK_RD, .bank = 1, .row = 3};
    assert_int_equal(checker_check(&t, c, 3).violations, 1);
    c[2].cyc = 43;
    assert_int_equal(checker_check(&t, c, 3).violations, 0);
    c[1].cyc = 18; /* the set is idle from 11 + 8 on */
    assert_int_equal(checker_check(&t, c, 3).violations, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_pieces_take_the_time_of_one_when_four_sets_are_idle),
        cmocka_unit_test(with_one_idle_set_pieces_move_one_after_the_other),
        cmocka_unit_test(copies_follow_each_other_without_a_gap),
        cmocka_unit_test(copies_wait_for_their_banks_at_the_same_time),
        cmocka_unit_test(a_timed_transfer_takes_21_35_or_49_cycles),
        cmocka_unit_test(other_groups_go_on),
        cmocka_unit_test(a_bank_serves_the_older_of_its_request_and_the_transfer),
        cmocka_unit_test(a_starving_transfer_takes_the_set_of_its_source),
        cmocka_unit_test(random_copies_break_no_rule_and_lose_nothing),
        cmocka_unit_test(streams_without_copies_are_unchanged),
        cmocka_unit_test(the_checker_finds_wrong_transfers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
