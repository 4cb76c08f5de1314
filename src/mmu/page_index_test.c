/* page_index compared with a plain array, under random operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "mmu/page_index.h"

enum { CAPACITY_MAX = 40, KEYS = 3 * CAPACITY_MAX, STEPS = 20000 };

/* Keys of two address spaces. A stride of 512 models pages that share few low address bits. */
static uint64_t key_of(uint32_t n) { return (uint64_t)(n % 2) << 56 | (uint64_t)n * 512; }

/* Every page keeps its entry while it is present, and two pages never share one. */
static void check_all(const struct page_index *p, const uint32_t *entry_of)
{
    uint64_t taken = 0;
    uint32_t count = 0;
    for (uint32_t n = 0; n < KEYS; n++) {
        assert_int_equal(page_index_find(p, key_of(n)), entry_of[n]);
        if (entry_of[n] == PAGE_INDEX_NONE) continue;
        assert_in_range(entry_of[n], 1, p->capacity);
        assert_false(taken >> entry_of[n] & 1);
        taken |= (uint64_t)1 << entry_of[n];
        count++;
    }
    assert_int_equal(p->count, count);
}

static void an_index_of_any_capacity_finds_the_pages_that_it_holds(void **state)
{
    (void)state;
    for (uint32_t capacity = 1; capacity <= CAPACITY_MAX; capacity++) {
        struct arena arena;
        struct page_index p;
        uint32_t entry_of[KEYS] = {PAGE_INDEX_NONE};
        struct rng rng = rng_seed(7, capacity);
        arena_init(&arena);
        page_index_init(&p, &arena, capacity);
        for (uint32_t step = 0; step < STEPS; step++) {
            const uint32_t n = (uint32_t)rng_below(&rng, KEYS);
            assert_int_equal(page_index_find(&p, key_of(n)), entry_of[n]);
            if (entry_of[n] != PAGE_INDEX_NONE) {
                page_index_remove(&p, entry_of[n]);
                entry_of[n] = PAGE_INDEX_NONE;
            } else if (p.count < capacity) {
                entry_of[n] = page_index_add(&p, key_of(n));
            }
            if (step % 64 == 0) check_all(&p, entry_of);
        }
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_of_any_capacity_finds_the_pages_that_it_holds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
