/* The fully associative TLB compared with a list, under random operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "mmu/tlb.h"

enum { ENTRIES_MAX = 128 };

/* Reference model: pages in order of use, the newest last. */
struct list {
    uint64_t keys[ENTRIES_MAX];
    uint32_t count, capacity;
};

static bool list_take(struct list *l, uint64_t key)
{
    for (uint32_t k = 0; k < l->count; k++)
        if (l->keys[k] == key) {
            memmove(l->keys + k, l->keys + k + 1, (--l->count - k) * sizeof *l->keys);
            return true;
        }
    return false;
}

static void list_insert(struct list *l, uint64_t key)
{
    (void)list_take(l, key);
    if (l->count == l->capacity) memmove(l->keys, l->keys + 1, --l->count * sizeof *l->keys);
    l->keys[l->count++] = key;
}

static void a_tlb_of_any_size_is_a_list_in_order_of_use(void **state)
{
    (void)state;
    for (uint32_t entries = 1; entries <= ENTRIES_MAX; entries += entries < 16 ? 1 : 28) {
        struct arena arena;
        struct tlb t;
        struct list l = {.capacity = entries};
        struct rng rng = rng_seed(5, entries);
        arena_init(&arena);
        tlb_init(&t, &arena, entries);
        for (int k = 0; k < 20000; k++) {
            const uint64_t key = rng_below(&rng, 2 * entries);
            switch (rng_below(&rng, 16)) {
            case 0: assert_int_equal(tlb_remove(&t, key), list_take(&l, key)); break;
            case 1:
                if (rng_below(&rng, 50)) break;
                tlb_clear(&t);
                l.count = 0;
                break;
            case 2:
            case 3:
            case 4:
            case 5:
            case 6:
                tlb_insert(&t, key);
                list_insert(&l, key);
                break;
            default: {
                const bool here = list_take(&l, key);
                if (here) l.keys[l.count++] = key;
                assert_int_equal(tlb_lookup(&t, key), here);
            }
            }
        }
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_tlb_of_any_size_is_a_list_in_order_of_use)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
