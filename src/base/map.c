/* map: open addressing with linear probing; see map.h. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

enum { SMALLEST = 16 };

static void *grown_table(size_t count, size_t entry_bytes)
{
    void *table = calloc(count, entry_bytes);
    if (!table) diag_mistake("out of host memory: a table of %zu entries was asked for", count);
    return table;
}

void map_init(struct map *m) { *m = (struct map){0}; }

void map_free(struct map *m)
{
    free(m->entries);
    map_init(m);
}

void map_clear(struct map *m)
{
    if (m->count) memset(m->entries, 0, m->capacity * sizeof *m->entries);
    m->count = 0;
}

static size_t slot_of(const struct map *m, uint64_t key)
{
    size_t i = hash_u64(key) & (m->capacity - 1);
    while (m->entries[i].used && m->entries[i].key != key) i = (i + 1) & (m->capacity - 1);
    return i;
}

uint64_t *map_find(const struct map *m, uint64_t key)
{
    if (!m->count) return NULL;
    struct map_entry *e = &m->entries[slot_of(m, key)];
    return e->used ? &e->value : NULL;
}

static void map_grow(struct map *m)
{
    const struct map old = *m;
    m->capacity = old.capacity ? old.capacity * 2 : SMALLEST;
    m->entries = grown_table(m->capacity, sizeof *m->entries);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.entries[i].used) m->entries[slot_of(m, old.entries[i].key)] = old.entries[i];
    free(old.entries);
}

uint64_t *map_put(struct map *m, uint64_t key, bool *fresh)
{
    if (m->count * 4 >= m->capacity * 3) map_grow(m);
    struct map_entry *e = &m->entries[slot_of(m, key)];
    if (fresh) *fresh = !e->used;
    if (!e->used) {
        *e = (struct map_entry){.key = key, .used = true};
        m->count++;
    }
    return &e->value;
}

bool map_remove(struct map *m, uint64_t key)
{
    if (!m->count) return false;
    const size_t mask = m->capacity - 1;
    size_t hole = slot_of(m, key);
    if (!m->entries[hole].used) return false;
    for (size_t i = (hole + 1) & mask; m->entries[i].used; i = (i + 1) & mask) {
        const size_t home = hash_u64(m->entries[i].key) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) { /* may move back to the hole */
            m->entries[hole] = m->entries[i];
            hole = i;
        }
    }
    m->entries[hole].used = false;
    m->count--;
    return true;
}

struct map_entry *map_next(const struct map *m, size_t *cursor)
{
    while (*cursor < m->capacity) {
        struct map_entry *e = &m->entries[(*cursor)++];
        if (e->used) return e;
    }
    return NULL;
}

/* ---- strings ---- */

uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
    const unsigned char *p = bytes;
    uint64_t h = seed ^ (len * 0x9e3779b97f4a7c15u);
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word = 0;
        for (int i = 0; i < 8; i++) word |= (uint64_t)p[i] << (8 * i);
        h = hash_u64(h ^ word) * 0x9e3779b97f4a7c15u;
    }
    uint64_t tail = 0;
    for (size_t i = 0; i < len; i++) tail |= (uint64_t)p[i] << (8 * i);
    return hash_u64(h ^ tail);
}

void strmap_init(struct strmap *m) { *m = (struct strmap){0}; }

void strmap_free(struct strmap *m)
{
    free(m->entries);
    strmap_init(m);
}

static size_t strslot_of(const struct strmap *m, const char *key, size_t len, uint64_t hash)
{
    size_t i = hash & (m->capacity - 1);
    while (m->entries[i].key && !(m->entries[i].hash == hash && m->entries[i].len == len &&
                                  memcmp(m->entries[i].key, key, len) == 0))
        i = (i + 1) & (m->capacity - 1);
    return i;
}

uint64_t *strmap_find(const struct strmap *m, const char *key, size_t len)
{
    if (!m->count) return NULL;
    struct strmap_entry *e = &m->entries[strslot_of(m, key, len, hash_bytes(key, len, 0))];
    return e->key ? &e->value : NULL;
}

static void strmap_grow(struct strmap *m)
{
    const struct strmap old = *m;
    m->capacity = old.capacity ? old.capacity * 2 : SMALLEST;
    m->entries = grown_table(m->capacity, sizeof *m->entries);
    for (size_t i = 0; i < old.capacity; i++) {
        const struct strmap_entry *e = &old.entries[i];
        if (e->key) m->entries[strslot_of(m, e->key, e->len, e->hash)] = *e;
    }
    free(old.entries);
}

uint64_t *strmap_put(struct strmap *m, const char *key, size_t len, bool *fresh)
{
    if (m->count * 4 >= m->capacity * 3) strmap_grow(m);
    const uint64_t hash = hash_bytes(key, len, 0);
    struct strmap_entry *e = &m->entries[strslot_of(m, key, len, hash)];
    if (fresh) *fresh = !e->key;
    if (!e->key) {
        *e = (struct strmap_entry){.key = key, .len = len, .hash = hash};
        m->count++;
    }
    return &e->value;
}
