/* map: hash maps from 64-bit keys or from strings to 64-bit values (often an index or a pointer).
 *
 * Open addressing with linear probing and backward-shift deletion, at most 3/4 full, grows by
 * doubling. Memory is the map's own (malloc): call map_free(). Iteration follows the table, which
 * depends only on the keys and the order of insertion, so it is the same on every machine.
 *
 * String keys are not copied: they must live as long as the map. */
#ifndef ATOLL_BASE_MAP_H
#define ATOLL_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
    uint64_t key, value;
    bool used;
};

struct map {
    struct map_entry *entries;
    size_t count, capacity; /* capacity 0 or a power of two */
};

void map_init(struct map *m);
void map_free(struct map *m);
void map_clear(struct map *m);
/* NULL when absent. The pointer holds until the next insertion or removal. */
uint64_t *map_find(const struct map *m, uint64_t key);
/* Finds or inserts (value 0); *fresh, when given, tells which. */
uint64_t *map_put(struct map *m, uint64_t key, bool *fresh);
bool map_remove(struct map *m, uint64_t key);
/* Next used entry at or after *cursor (start with 0), NULL at the end. */
struct map_entry *map_next(const struct map *m, size_t *cursor);

struct strmap_entry {
    const char *key;
    size_t len;
    uint64_t hash, value;
};

struct strmap {
    struct strmap_entry *entries;
    size_t count, capacity;
};

void strmap_init(struct strmap *m);
void strmap_free(struct strmap *m);
uint64_t *strmap_find(const struct strmap *m, const char *key, size_t len);
uint64_t *strmap_put(struct strmap *m, const char *key, size_t len, bool *fresh);

/* A good 64-bit mixer (also for hashing addresses in models). */
#define HASH_U64 0xd6e8feb86659fd93u
static inline uint64_t hash_u64(uint64_t x)
{
    x ^= x >> 32;
    x *= HASH_U64;
    x ^= x >> 32;
    x *= HASH_U64;
    return x ^ (x >> 32);
}
/* The same value on every machine. */
uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed);

#endif
