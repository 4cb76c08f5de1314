/* lru: the contents of a fully associative cache with LRU replacement: lines only, no data, no time. Users:
 * the shadow tags of an L1 (sm/l1.c) and the L1 TLBs, whose lines are pages (mmu/tlb.h). Every operation but
 * lru_clear() takes constant time, whatever the number of lines: a hash table finds a line, and a ring keeps
 * the order of use. All memory comes from the arena in lru_init(). */
#ifndef ATOLL_CACHE_LRU_H
#define ATOLL_CACHE_LRU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct lru_place {
    uint64_t line;         /* + 1; 0: empty */
    uint32_t newer, older; /* neighbours in the ring */
    uint32_t next;         /* of the same chain; 0: none */
};

struct lru {
    struct lru_place *places; /* [lines + 1]; the first stands between the newest and the oldest */
    uint32_t *chains;         /* first place of each; 0: none */
    uint32_t lines, chain_mask;
};

void lru_init(struct lru *l, struct arena *a, uint32_t lines);
/* Uses a line that is present. False: the line is absent, and nothing has changed. */
bool lru_lookup(struct lru *l, uint64_t line);
/* Uses the line. False: the line was absent and has replaced an empty place or the least recently used line.
 */
bool lru_touch(struct lru *l, uint64_t line);
/* Invalidates the line. False: the line was absent. The next line inserted gets its place. */
bool lru_drop(struct lru *l, uint64_t line);
void lru_clear(struct lru *l);

#endif
