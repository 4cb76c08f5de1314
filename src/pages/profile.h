/* profile: what a first pass without time (system/walk.h) found out about every page of the measured part. Policies
 * that need knowledge of the future read it: replication `oracle` and the choice of the coldest pages. */
#ifndef ATOLL_PAGES_PROFILE_H
#define ATOLL_PAGES_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

struct page_profile;

/* A page in the measured part. */
struct page_facts {
    uint64_t accesses; /* line accesses of warp instructions */
    uint64_t nodes;    /* bit per node (pages.level) that accesses the page */
    bool written;
    bool spilled; /* lies in system memory (page_profile_spill()) */
};

enum { PROFILE_NODES_MAX = 64 };

struct page_profile *page_profile_new(void);
void page_profile_free(struct page_profile *p); /* NULL is allowed */
/* A node accesses a line of the page. */
void page_profile_add(struct page_profile *p, uint64_t key, uint32_t node, bool writes);
/* NULL: the measured part does not access the page. The pointer is valid until the next page_profile_add(). */
const struct page_facts *page_profile_find(const struct page_profile *p, uint64_t key);
uint64_t page_profile_pages(const struct page_profile *p);
/* Marks this share of the pages as spilled, those with the fewest accesses; of equals those with the lower key. The
 * number is rounded to the nearest. */
void page_profile_spill(struct page_profile *p, double share);

static inline bool page_facts_are_shared(const struct page_facts *f)
{
    return (f->nodes & (f->nodes - 1)) != 0;
}

#endif
