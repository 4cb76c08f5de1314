/* page_index: a hash table of a bounded number of pages.
 *
 *   chains[hash(key)] ---> entry ---> entry ---> PAGE_INDEX_NONE      pages of one hash value
 *   free              ---> entry ---> entry ---> PAGE_INDEX_NONE      entries of removed pages
 *
 * A page keeps its entry number from page_index_add() to page_index_remove(). The owner stores the data of
 * the page in arrays of its own, indexed by this number. Users: the MMU (walks by page) and its SMs (L1 TLB
 * misses).
 *
 * All memory comes from the arena in page_index_init(). No operation allocates, and each takes constant time
 * on average: there are at least as many chains as entries. The order of a chain is not observable. */
#ifndef ATOLL_MMU_PAGE_INDEX_H
#define ATOLL_MMU_PAGE_INDEX_H

#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/map.h"

enum { PAGE_INDEX_NONE = 0 }; /* entry numbers start at 1 */

struct page_index_entry {
    uint64_t key;
    uint32_t next; /* next entry of the same chain, or of the free list */
};

struct page_index {
    struct page_index_entry *entries; /* [capacity + 1] */
    uint32_t *chains;                 /* first entry of each chain */
    uint32_t chain_shift;             /* 64 - log2 of the number of chains */
    uint32_t capacity;                /* pages */
    uint32_t count;                   /* pages present */
    uint32_t used;                    /* entries that have held a page at some time: 1 .. used */
    uint32_t free;                    /* first entry of the free list */
};

static inline void page_index_init(struct page_index *p, struct arena *a, uint32_t capacity)
{
    uint32_t chains_log2 = 1;
    DIAG_ASSERT(capacity > 0 && capacity <= 1u << 30);
    while (1u << chains_log2 < capacity) chains_log2++;
    *p = (struct page_index){.chain_shift = 64 - chains_log2, .capacity = capacity};
    p->entries = ARENA_ARRAY(a, struct page_index_entry, (size_t)capacity + 1);
    p->chains = ARENA_ARRAY(a, uint32_t, (size_t)1 << chains_log2);
}

/* Multiplicative hash: the upper bits of the product depend on all bits of the key. */
static inline uint32_t *page_index_chain(const struct page_index *p, uint64_t key)
{
    return &p->chains[key * HASH_U64 >> p->chain_shift];
}

/* The entry of the page, or PAGE_INDEX_NONE. */
static inline uint32_t page_index_find(const struct page_index *p, uint64_t key)
{
    uint32_t entry = *page_index_chain(p, key);
    while (entry != PAGE_INDEX_NONE && p->entries[entry].key != key) entry = p->entries[entry].next;
    return entry;
}

/* Adds a page and returns its entry. Precondition: the page is absent and count < capacity. */
static inline uint32_t page_index_add(struct page_index *p, uint64_t key)
{
    DIAG_ASSERT(p->count < p->capacity);
    uint32_t *const chain = page_index_chain(p, key);
    uint32_t entry = p->free;
    if (entry != PAGE_INDEX_NONE)
        p->free = p->entries[entry].next;
    else
        entry = ++p->used;
    p->entries[entry] = (struct page_index_entry){.key = key, .next = *chain};
    *chain = entry;
    p->count++;
    return entry;
}

/* Removes the page of an entry. Precondition: the entry holds a page. */
static inline void page_index_remove(struct page_index *p, uint32_t entry)
{
    DIAG_ASSERT(entry != PAGE_INDEX_NONE);
    uint32_t *link = page_index_chain(p, p->entries[entry].key);
    while (*link != entry) link = &p->entries[*link].next;
    *link = p->entries[entry].next;
    p->entries[entry].next = p->free;
    p->free = entry;
    p->count--;
}

#endif
