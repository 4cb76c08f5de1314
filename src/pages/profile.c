/* profile: see profile.h. The map holds indices of an array that grows. */
#include "pages/profile.h"

#include <stdlib.h>

#include "base/diag.h"
#include "base/grow.h"
#include "base/map.h"

struct page_profile {
    struct map index; /* key of a page to its entry in facts */
    struct page_facts *facts;
    uint32_t count, capacity;
    uint64_t last_key; /* of the last access, + 1 */
    uint32_t last;
};

struct page_profile *page_profile_new(void)
{
    struct page_profile *p = calloc(1, sizeof *p);
    if (!p) diag_mistake("out of host memory for the profile of pages");
    map_init(&p->index);
    return p;
}

void page_profile_free(struct page_profile *p)
{
    if (!p) return;
    map_free(&p->index);
    free(p->facts);
    free(p);
}

static struct page_facts *facts_of(struct page_profile *p, uint64_t key)
{
    if (p->last_key == key + 1) return &p->facts[p->last];
    bool fresh;
    uint64_t *const at = map_put(&p->index, key, &fresh);
    if (fresh) {
        p->facts = grow(p->facts, p->count, &p->capacity, sizeof *p->facts, "the profile of pages");
        p->facts[p->count] = (struct page_facts){0};
        *at = p->count++;
    }
    p->last_key = key + 1;
    p->last = (uint32_t)*at;
    return &p->facts[p->last];
}

void page_profile_add(struct page_profile *p, uint64_t key, uint32_t node, bool writes)
{
    struct page_facts *f = facts_of(p, key);
    DIAG_ASSERT(node < PROFILE_NODES_MAX);
    f->accesses++;
    f->nodes |= (uint64_t)1 << node;
    f->written |= writes;
}

const struct page_facts *page_profile_find(const struct page_profile *p, uint64_t key)
{
    const uint64_t *at = map_find(&p->index, key);
    return at ? &p->facts[*at] : NULL;
}

struct heat {
    uint64_t accesses, key;
    uint32_t idx;
};

static int by_heat(const void *a, const void *b)
{
    const struct heat *l = a, *r = b;
    if (l->accesses != r->accesses) return l->accesses < r->accesses ? -1 : 1;
    return (l->key > r->key) - (l->key < r->key);
}

void page_profile_spill(struct page_profile *p, double share)
{
    const uint32_t spilled = (uint32_t)(share * p->count + 0.5);
    if (!spilled) return;
    struct heat *const heat = calloc(p->count, sizeof *heat);
    if (!heat) diag_mistake("out of host memory for the profile of pages");
    size_t cursor = 0;
    uint32_t count = 0;
    for (const struct map_entry *e; (e = map_next(&p->index, &cursor));)
        heat[count++] = (struct heat){p->facts[e->value].accesses, e->key, (uint32_t)e->value};
    qsort(heat, count, sizeof *heat, by_heat);
    for (uint32_t k = 0; k < spilled; k++) p->facts[heat[k].idx].spilled = true;
    free(heat);
}

uint64_t page_profile_pages(const struct page_profile *p) { return p->count; }
