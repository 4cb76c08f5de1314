/* The contract of every row of coherence.def, without a machine: which copies a row must name at a write, and which it
 * must not. The packets of a row are tested in system/carve_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "llc/coherence.h"

enum { GPUS = 4, HOME = 1, LINES = 6, EVENTS = 20000 };

static const struct coherence_ops *row_of(uint32_t row)
{
    struct config c;
    config_defaults(&c);
    c.llc.coherence = (enum llc_coherence)row;
    return coherence_row(&c);
}

/* One way in which stale copies end, and one only. */
static void every_row_says_how_stale_copies_end(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < llc_coherence_count; row++) {
        const struct coherence_ops *const ops = row_of(row);
        assert_non_null(ops);
        assert_int_equal((ops->on != NULL) + ops->has_epochs + ops->expects_stale, 1);
    }
}

/* Random accesses. A write names all GPUs that fetched the line since they were last named, but never the home's GPU,
 * which has no copy, and never the writer, whose slice keeps its own copy up to date. Reads name no GPU. */
static void expect_contract(const struct coherence_ops *ops, bool imst, bool remote_write_shares,
                            double demote)
{
    const uint64_t gpus = (((uint64_t)1 << GPUS) - 1) & ~((uint64_t)1 << HOME);
    struct coherence_stats stats = {0};
    struct coherence k = {.ops = ops,
                          .gpus = gpus,
                          .rng = rng_seed(1, 2),
                          .imst = imst,
                          .remote_write_shares = remote_write_shares,
                          .demote = demote,
                          .stats = &stats};
    struct rng rng = rng_seed(7, 0);
    uint64_t copies[LINES] = {0}, named = 0;
    map_init(&k.lines);
    for (uint32_t n = 0; n < EVENTS; n++) {
        const uint32_t line = (uint32_t)rng_below(&rng, LINES);
        const enum coherence_event e = (enum coherence_event)rng_below(&rng, COHERENCE_EVENTS);
        const bool local = e == COHERENCE_LOCAL_READ || e == COHERENCE_LOCAL_WRITE;
        const uint32_t gpu = local ? HOME : (HOME + 1 + (uint32_t)rng_below(&rng, GPUS - 1)) % GPUS;
        const uint64_t self = (uint64_t)1 << gpu, stale = ops->on(&k, e, 100 + line, gpu);
        if (e == COHERENCE_LOCAL_READ || e == COHERENCE_REMOTE_READ) {
            assert_int_equal(stale, 0);
            if (!local) copies[line] |= self;
            continue;
        }
        assert_int_equal(stale & ~gpus, 0);
        assert_int_equal(stale & self, 0);
        assert_int_equal(copies[line] & ~stale & ~self, 0);
        copies[line] &= ~stale;
        named += stale != 0;
    }
    assert_true(named > EVENTS / 100);
    map_free(&k.lines);
}

static void every_row_names_all_stale_copies(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < llc_coherence_count; row++) {
        const struct coherence_ops *const ops = row_of(row);
        if (!ops->on) continue;
        for (uint32_t shares = 0; shares < 2; shares++) {
            expect_contract(ops, true, shares, 0);
            expect_contract(ops, true, shares, 0.5);
            expect_contract(ops, false, shares, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_says_how_stale_copies_end),
        cmocka_unit_test(every_row_names_all_stale_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
