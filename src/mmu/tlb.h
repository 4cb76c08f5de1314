/* tlb: a fully associative table of pages with LRU replacement; a lookup is one probe of a small hash table.
 */
#ifndef ATOLL_MMU_TLB_H
#define ATOLL_MMU_TLB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"

struct tlb {
    uint64_t *keys;    /* key + 1; 0 = empty */
    uint64_t *stamps;  /* of the last use */
    uint32_t *buckets; /* entry + 1; 0 = empty; linear probing */
    uint32_t entries, bucket_mask;
    uint64_t clock;
    uint64_t last_key; /* hit last: most lookups repeat it */
    uint32_t last_entry;
};

void tlb_init(struct tlb *t, struct arena *a, uint32_t entries);
bool tlb_lookup_slow(struct tlb *t, uint64_t key);
void tlb_insert(struct tlb *t, uint64_t key);
bool tlb_remove(struct tlb *t, uint64_t key);
void tlb_clear(struct tlb *t);

static inline bool tlb_lookup(struct tlb *t, uint64_t key)
{
    if (t->last_key != key + 1) return tlb_lookup_slow(t, key);
    t->stamps[t->last_entry] = ++t->clock;
    return true;
}

#endif
