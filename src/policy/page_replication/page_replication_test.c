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

/* The contract, for every row of page_replication.def: only `none` has no function, and the answer depends on
 * the question only. */
static void every_policy_keeps_to_the_contract(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < page_copies_count; row++) {
        const struct page_replication_ops *p = row_of(row);
        assert_int_equal(p->replicates == NULL, row == page_copies_none);
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
        cmocka_unit_test(every_policy_keeps_to_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
