/* Placements: which channel a page gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/placement/placement.h"

/* A policy with an application that owns `owned` of the colours, those with the lowest numbers unless
 * `colour` says otherwise. */
struct bench {
    struct arena arena;
    struct placement policy;
    uint16_t all[64];
    struct colours owned;
    uint64_t pages[64]; /* [colour] */
};

static void open_with(struct bench *b, struct config *c, uint32_t partitions, uint32_t colours)
{
    memset(b->pages, 0, sizeof b->pages);
    arena_init(&b->arena);
    c->gpu.chiplets = 1;
    c->chiplet.partitions = partitions;
    b->policy = placement_new(&b->arena, c, colours);
    for (uint16_t k = 0; k < colours; k++) b->all[k] = k;
    b->owned = (struct colours){b->all, colours};
}

static void open_bench(struct bench *b, enum page_placement policy, uint32_t partitions, uint32_t colours)
{
    struct config c;
    config_defaults(&c);
    c.runtime.placement = policy;
    open_with(b, &c, partitions, colours);
}

static void close_bench(struct bench *b) { arena_free(&b->arena); }

static uint32_t ask(struct bench *b, uint64_t page, uint32_t partition)
{
    const struct placement_question q = {
        .page = page, .sm = partition * 2, .owned = &b->owned, .pages = b->pages, .nodes = &b->policy.nodes};
    const uint32_t colour = b->policy.ops->place(b->policy.state, &q);
    b->pages[colour]++;
    return colour;
}

static void round_robin_goes_by_the_order_of_touches(void **state)
{
    (void)state;
    struct bench p;
    open_bench(&p, page_placement_round_robin, 4, 4);
    static const uint64_t pages[] = {9, 9000, 3, 77, 5, 0};
    for (uint32_t k = 0; k < 6; k++) assert_int_equal(ask(&p, pages[k], 3), k % 4);
    close_bench(&p);
}

static void interleaved_goes_by_the_page_whichever_sm_touches_it(void **state)
{
    (void)state;
    struct bench p;
    open_bench(&p, page_placement_interleaved, 4, 4);
    for (uint64_t page = 0; page < 50; page += 7)
        for (uint32_t partition = 0; partition < 4; partition++)
            assert_int_equal(ask(&p, page, partition), page % 4);
    close_bench(&p);
}

/* The colours that the application has just got catch up with the others; then all get pages in turn. */
static void least_filled_fills_new_colours_first(void **state)
{
    (void)state;
    struct bench p;
    open_bench(&p, page_placement_least_filled, 4, 4);
    p.owned.count = 2;
    for (uint64_t page = 0; page < 8; page++) assert_int_equal(ask(&p, page, 0), page % 2);
    p.owned.count = 4;
    for (uint64_t page = 0; page < 8; page++) assert_int_equal(ask(&p, page, 0), 2 + page % 2);
    for (uint64_t page = 0; page < 8; page++) assert_int_equal(ask(&p, page, 0), page % 4);
    close_bench(&p);
}

static void first_touch_goes_to_a_channel_of_the_toucher(void **state)
{
    (void)state;
    struct bench one, two;
    open_bench(&one, page_placement_first_touch, 4, 4);
    open_bench(&two, page_placement_first_touch, 4, 8);
    for (uint32_t partition = 0; partition < 4; partition++)
        for (uint64_t page = 0; page < 20; page++) {
            assert_int_equal(ask(&one, page, partition), partition);
            assert_int_equal(ask(&two, page, partition), 2 * partition + page % 2);
        }
    close_bench(&one);
    close_bench(&two);
}

/* An address map that spreads every page has one colour, and nothing to choose. */
static void a_map_without_a_choice_is_served(void **state)
{
    (void)state;
    for (int policy = 0; policy < page_placement_count; policy++) {
        struct bench p;
        open_bench(&p, (enum page_placement)policy, 4, 1);
        for (uint64_t page = 0; page < 9; page++) assert_int_equal(ask(&p, page, (uint32_t)page % 4), 0);
        close_bench(&p);
    }
}

/* ---- LAB ---- */

/* Page k is first touched by partition touched[k]; it must go to expected[k]. */
static void sequence(enum page_placement policy, uint32_t partitions, const char *touched,
                     const char *expected)
{
    struct bench p;
    open_bench(&p, policy, partitions, partitions);
    for (uint32_t k = 0; touched[k]; k++) {
        const uint32_t got = ask(&p, k, (uint32_t)(touched[k] - '0'));
        if (got != (uint32_t)(expected[k] - '0'))
            fail_msg("page %u of %s went to M%u, not M%c", k, touched, got, expected[k]);
    }
    close_bench(&p);
}

/* Figure 6 of the NUBA paper: two partitions with an SM, a slice and a channel each; a: no sharing, P0 and P3
 * are SM1's, P1 and P2 SM0's; d: both use all pages, SM1 is first at P0, P2 and P3. */
static void figure_6_of_the_paper(void **state)
{
    (void)state;
    sequence(page_placement_first_touch, 2, "1001", "1001"); /* b */
    sequence(page_placement_round_robin, 2, "1001", "0101"); /* c */
    sequence(page_placement_first_touch, 2, "1011", "1011"); /* e */
    sequence(page_placement_round_robin, 2, "1011", "0101"); /* f */
    /* LAB, by hand: balance before each page 1 (none yet), 0.5, 1, 0.75 */
    sequence(page_placement_lab, 2, "1001", "1001"); /* as first touch where nothing is shared */
    sequence(page_placement_lab, 2, "1011", "1010"); /* as balanced as round robin where all is */
}

/* By hand, four partitions. Counts before a page > balance: 0000 > 1; 1000 > 0.25, fewest 1 2 3: requester 0
 * is not among them, so the first in turn; 1100; 1110; 1111 > 1: first touch; 2111 > 0.625: fewest 1 2 3,
 * requester 3. */
static void lab_breaks_ties_for_the_requester_and_else_in_turn(void **state)
{
    (void)state;
    sequence(page_placement_lab, 4,
             "0000"
             "03"
             "00",
             "0123"
             "03"
             "12");
    sequence(page_placement_lab, 4,
             "0"
             "2"
             "2"
             "3",
             "0"
             "2"
             "1"
             "3");
}

/* By hand: 0; of 1 2 3 the first, turns go on at 2; 2 and 3 get their own, which is nobody's turn; all have
 * one: first touch; of 1 2 3 again, now from 2 on. */
static void lab_goes_on_where_the_last_turn_ended(void **state)
{
    (void)state;
    sequence(page_placement_lab, 4, "002300", "012302");
}

static void lab_keeps_ties_in_turn_when_told_so(void **state)
{
    (void)state;
    struct config c;
    config_defaults(&c);
    c.runtime.placement = page_placement_lab;
    c.runtime.lab_tie = lab_tie_rotate;
    struct bench p;
    open_with(&p, &c, 4, 4);
    static const uint32_t expected[] = {3, 0, 1, 2, 3, 0};
    for (uint32_t k = 0; k < 6; k++) assert_int_equal(ask(&p, k, 3), expected[k]);
    close_bench(&p);
}

/* 32 partitions with m pages each: one page more leaves the balance at 1 - 31 / (32 (m + 1)), which is above
 * 0.9 from m = 9 on: then, and not before, a partition may get two pages in a row while others wait for
 * theirs. */
static void lab_needs_nine_pages_per_partition_before_it_is_as_first_touch(void **state)
{
    (void)state;
    for (uint32_t m = 0; m < 12; m++) {
        struct bench p;
        uint64_t pages[32];
        open_bench(&p, page_placement_lab, 32, 32);
        for (uint32_t k = 0; k < 32 * m; k++) assert_int_equal(ask(&p, 0, k % 32), k % 32);
        assert_int_equal(ask(&p, 0, 5), 5); /* all have m */
        for (uint32_t k = 0; k < 32; k++) pages[k] = m + (k == 5);
        const double balance = placement_balance(pages, &p.owned);
        assert_true(balance > 1 - 31.0 / (32 * (m + 1)) - 1e-9 && balance < 1 - 31.0 / (32 * (m + 1)) + 1e-9);
        assert_int_equal(ask(&p, 0, 5) == 5, m >= 9);
        close_bench(&p);
    }
}

/* The threshold is strict: a balance of 0.75 is not above 0.75, 0.8 is. */
static void lab_is_least_first_at_the_threshold_itself(void **state)
{
    (void)state;
    struct config c;
    struct bench p;
    config_defaults(&c);
    c.runtime.placement = page_placement_lab;
    c.runtime.lab_threshold = 0.75;
    open_with(&p, &c, 2, 2);
    for (uint32_t k = 0; k < 3; k++) assert_int_equal(ask(&p, 0, k % 2), k % 2); /* 2 and 1 pages: 0.75 */
    assert_int_equal(ask(&p, 0, 0), 1);
    for (uint32_t k = 0; k < 8; k++) assert_int_equal(ask(&p, 0, k % 2), k % 2); /* 6 each */
    for (uint32_t k = 0; k < 4; k++) assert_int_equal(ask(&p, 0, 0), 0);         /* 10 and 6: 0.8 */
    assert_int_equal(ask(&p, 0, 0), 0);
    close_bench(&p);
}

/* ---- the contract, for every row of placement.def ---- */

/* The colour is one that the application owns, also after the set changes, and equal questions get equal
 * answers of two instances. */
static void every_placement_keeps_to_the_owned_colours(void **state)
{
    (void)state;
    static const uint16_t few[] = {6, 1, 3};
    for (uint32_t row = 0; row < page_placement_count; row++)
        for (uint32_t colours = 1; colours <= 8; colours *= 8) {
            struct bench p, again;
            open_bench(&p, (enum page_placement)row, 8, colours);
            open_bench(&again, (enum page_placement)row, 8, colours);
            for (uint32_t k = 0; k < 600; k++) {
                if (k == 300 && colours > 1) p.owned = again.owned = (struct colours){few, 3};
                const uint64_t page = (uint64_t)k * 37 % 101;
                const uint32_t chosen = ask(&p, page, k * 5 % 8);
                if (p.owned.count == 3)
                    assert_true(chosen == 6 || chosen == 1 || chosen == 3);
                else
                    assert_true(chosen < colours);
                assert_int_equal(chosen, ask(&again, page, k * 5 % 8));
            }
            close_bench(&p);
            close_bench(&again);
        }
}

/* What a row states about balance when one partition touches consecutive pages: the maximum of pages in a
 * colour, of 64 pages and 8 colours. */
static void every_placement_has_the_balance_that_it_states(void **state)
{
    (void)state;
    static const uint32_t expected_max[page_placement_count] = {
        [page_placement_round_robin] = 8,         /* all colours alike */
        [page_placement_interleaved] = 8,         /* consecutive pages: alike */
        [page_placement_kernel_wide] = 8,         /* outside of allocations: by page number */
        [page_placement_first_touch] = 64,        /* all at the toucher */
        [page_placement_first_touch_chiplet] = 8, /* the chiplet's colours alternate */
        [page_placement_first_touch_gpu] = 8,     /* the GPU's colours alternate */
        [page_placement_least_filled] = 8,        /* all colours alike */
        [page_placement_coda] = 8,                /* outside of structures: by page number */
        [page_placement_lasp] = 8,                /* outside of structures: by page number */
        [page_placement_lab] = 9, /* one more at the toucher as soon as the balance is above 0.9 (58 pages) */
    };
    for (uint32_t row = 0; row < page_placement_count; row++) {
        struct bench p;
        uint32_t pages[8] = {0}, max = 0;
        open_bench(&p, (enum page_placement)row, 8, 8);
        for (uint64_t page = 0; page < 64; page++) pages[ask(&p, page, 2)]++;
        for (uint32_t k = 0; k < 8; k++)
            if (pages[k] > max) max = pages[k];
        assert_int_equal(max, expected_max[row]);
        close_bench(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_robin_goes_by_the_order_of_touches),
        cmocka_unit_test(interleaved_goes_by_the_page_whichever_sm_touches_it),
        cmocka_unit_test(first_touch_goes_to_a_channel_of_the_toucher),
        cmocka_unit_test(every_placement_keeps_to_the_owned_colours),
        cmocka_unit_test(least_filled_fills_new_colours_first),
        cmocka_unit_test(every_placement_has_the_balance_that_it_states),
        cmocka_unit_test(a_map_without_a_choice_is_served),
        cmocka_unit_test(figure_6_of_the_paper),
        cmocka_unit_test(lab_breaks_ties_for_the_requester_and_else_in_turn),
        cmocka_unit_test(lab_goes_on_where_the_last_turn_ended),
        cmocka_unit_test(lab_keeps_ties_in_turn_when_told_so),
        cmocka_unit_test(lab_needs_nine_pages_per_partition_before_it_is_as_first_touch),
        cmocka_unit_test(lab_is_least_first_at_the_threshold_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
