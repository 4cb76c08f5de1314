/* tlb: see tlb.h. */
#include "mmu/tlb.h"

#include <string.h>

void tlb_init(struct tlb *t, struct arena *a, uint32_t entries)
{
    uint32_t buckets = 4;
    while (buckets < entries * 2) buckets *= 2;
    *t = (struct tlb){.entries = entries, .bucket_mask = buckets - 1};
    t->keys = ARENA_ARRAY(a, uint64_t, entries);
    t->stamps = ARENA_ARRAY(a, uint64_t, entries);
    t->buckets = ARENA_ARRAY(a, uint32_t, buckets);
}

static uint32_t bucket_of(const struct tlb *t, uint64_t key)
{
    return (uint32_t)hash_u64(key) & t->bucket_mask;
}

/* The bucket that holds key, or the empty one where the search ends. */
static uint32_t search(const struct tlb *t, uint64_t key)
{
    uint32_t b = bucket_of(t, key);
    while (t->buckets[b] && t->keys[t->buckets[b] - 1] != key + 1) b = (b + 1) & t->bucket_mask;
    return b;
}

bool tlb_lookup_slow(struct tlb *t, uint64_t key)
{
    const uint32_t b = search(t, key);
    if (!t->buckets[b]) return false;
    t->last_entry = t->buckets[b] - 1;
    t->last_key = key + 1;
    t->stamps[t->last_entry] = ++t->clock;
    return true;
}

/* Backward-shift deletion keeps every search unbroken. */
static void empty_bucket(struct tlb *t, uint32_t hole)
{
    for (uint32_t b = (hole + 1) & t->bucket_mask; t->buckets[b]; b = (b + 1) & t->bucket_mask) {
        const uint32_t wanted = bucket_of(t, t->keys[t->buckets[b] - 1] - 1);
        if (((b - wanted) & t->bucket_mask) < ((b - hole) & t->bucket_mask)) continue;
        t->buckets[hole] = t->buckets[b];
        hole = b;
    }
    t->buckets[hole] = 0;
}

bool tlb_remove(struct tlb *t, uint64_t key)
{
    const uint32_t b = search(t, key);
    if (!t->buckets[b]) return false;
    const uint32_t entry = t->buckets[b] - 1;
    empty_bucket(t, b);
    t->keys[entry] = 0;
    t->stamps[entry] = 0;
    if (t->last_key == key + 1) t->last_key = 0;
    return true;
}

void tlb_insert(struct tlb *t, uint64_t key)
{
    if (tlb_lookup_slow(t, key)) return;
    uint32_t entry = 0;
    for (uint32_t k = 1; k < t->entries; k++)
        if (t->stamps[k] < t->stamps[entry]) entry = k; /* empty ones have 0 */
    if (t->keys[entry]) (void)tlb_remove(t, t->keys[entry] - 1);
    t->keys[entry] = key + 1;
    t->stamps[entry] = ++t->clock;
    t->buckets[search(t, key)] = entry + 1;
}

void tlb_clear(struct tlb *t)
{
    memset(t->keys, 0, t->entries * sizeof *t->keys);
    memset(t->stamps, 0, t->entries * sizeof *t->stamps);
    memset(t->buckets, 0, ((size_t)t->bucket_mask + 1) * sizeof *t->buckets);
    t->last_key = 0;
}
