/* Replication of pages: which reads give their node a replica. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/page_replication/page_replication.h"

static const struct page_replication_ops *row_of(uint32_t row)
{
    struct config c;
    config_defaults(&c);
    c.pages.replication = (enum page_copies)row;
    return page_replication_of(&c);
}

static void read_only_pages_are_replicated_until_they_are_written(void **state)
{
    (void)state;
    const struct page_replication_ops *p = row_of(page_copies_read_only);
    assert_true(p->replicates(&(struct page_replication_question){.read_only = true}));
    assert_false(p->replicates(&(struct page_replication_question){.read_only = true, .written = true}));
    assert_false(p->replicates(&(struct page_replication_question){.read_only = false}));
}

static void the_oracle_replicates_shared_pages_that_are_not_written(void **state)
{
    (void)state;
    const struct page_replication_ops *oracle = row_of(page_copies_oracle),
                                      *ideal = row_of(page_copies_ideal);
    for (uint32_t k = 0; k < 8; k++) {
        const struct page_touch t = {.known = k & 1, .shared = k & 2, .written = k & 4};
        assert_int_equal(oracle->at_touch(&t), k == 3);
        assert_true(ideal->at_touch(&t));
    }
}

/* The contract, for every row of page_replication.def: only `none` has no function, and the answer depends on
 * the question only. */
static void every_policy_keeps_to_the_contract(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < page_copies_count; row++) {
        const struct page_replication_ops *p = row_of(row);
        assert_int_equal(!p->replicates && !p->at_touch, row == page_copies_none);
        for (uint32_t k = 0; p->at_touch && k < 16; k++) {
            const struct page_touch t = {.known = k & 1, .shared = k & 2, .written = k & 4};
            const bool first = p->at_touch(&t);
            (void)p->at_touch(&(struct page_touch){0});
            assert_int_equal(p->at_touch(&t), first);
        }
        if (!p->replicates) continue;
        for (uint32_t k = 0; k < 64; k++) {
            const struct page_replication_question q = {
                .key = k, .node = k % 7, .read_only = k & 1, .written = k & 2};
            const bool first = p->replicates(&q);
            (void)p->replicates(&(struct page_replication_question){.read_only = true});
            assert_int_equal(p->replicates(&q), first);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_only_pages_are_replicated_until_they_are_written),
        cmocka_unit_test(the_oracle_replicates_shared_pages_that_are_not_written),
        cmocka_unit_test(every_policy_keeps_to_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
