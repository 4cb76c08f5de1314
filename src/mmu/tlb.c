/* tlb: see tlb.h. Invariant: newest_key is 0 or the first page of the list in order of use. */
#include "mmu/tlb.h"

void tlb_init(struct tlb *t, struct arena *a, uint32_t entries)
{
    *t = (struct tlb){0};
    lru_init(&t->pages, a, entries);
}

bool tlb_lookup_slow(struct tlb *t, uint64_t key)
{
    if (!lru_lookup(&t->pages, key)) return false;
    t->newest_key = key + 1;
    return true;
}

void tlb_insert(struct tlb *t, uint64_t key)
{
    (void)lru_touch(&t->pages, key);
    t->newest_key = key + 1;
}

bool tlb_remove(struct tlb *t, uint64_t key)
{
    if (t->newest_key == key + 1) t->newest_key = 0;
    return lru_drop(&t->pages, key);
}

void tlb_clear(struct tlb *t)
{
    lru_clear(&t->pages);
    t->newest_key = 0;
}
