/* tlb: a fully associative TLB with LRU replacement. The MMU (mmu.c) holds one per SM as the L1 TLB.
 *
 * The TLB is a hash table of pages with a linked list in order of use (cache/lru.h). Lookup, insertion and
 * removal take constant time, whatever the number of entries. Most lookups repeat the page used last:
 * tlb_lookup() compares with this page first. The page is the newest of the list already, so such a hit
 * changes nothing. */
#ifndef ATOLL_MMU_TLB_H
#define ATOLL_MMU_TLB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "cache/lru.h"

struct tlb {
    struct lru pages;
    uint64_t newest_key; /* key + 1 of the page used or inserted last; 0: none, or removed */
};

void tlb_init(struct tlb *t, struct arena *a, uint32_t entries);
bool tlb_lookup_slow(struct tlb *t, uint64_t key);
/* Makes the page present and the newest. A full TLB evicts the least recently used page. */
void tlb_insert(struct tlb *t, uint64_t key);
/* Invalidates the page. False: the page was absent. */
bool tlb_remove(struct tlb *t, uint64_t key);
void tlb_clear(struct tlb *t);

/* True on a hit, which makes the page the newest. A miss changes nothing. */
static inline bool tlb_lookup(struct tlb *t, uint64_t key)
{
    return t->newest_key == key + 1 || tlb_lookup_slow(t, key);
}

#endif
