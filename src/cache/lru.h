/* lru: which lines a fully associative cache with LRU replacement would hold: lines only, no data, no time.
 * Every operation but lru_clear() takes constant time, however many lines there are: a hash table finds a
 * line, a ring keeps the order of use. Memory is the arena's. */
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
/* The line is used. False: it was not there, and has got the place of the one not used for longest. */
bool lru_touch(struct lru *l, uint64_t line);
/* It goes, if it is there; its place is the next one to be given. */
void lru_drop(struct lru *l, uint64_t line);
void lru_clear(struct lru *l);

#endif
