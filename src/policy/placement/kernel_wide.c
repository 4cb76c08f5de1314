/* kernel_wide: every allocation is cut into one contiguous part per chiplet, as the scheduler `chunks` cuts
 * grids. Allocations are learnt when a kernel is launched; what is in none goes by its page number. */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "policy/placement/placement.h"

/* The last range that begins at or before the page; range_count: none. */
static uint32_t range_before(const struct placement *p, uint64_t page)
{
    uint32_t low = 0, high = p->range_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (p->ranges[middle].first_page <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : p->range_count;
}

static void learn(struct placement *p, uint64_t first_page, uint64_t pages)
{
    const uint32_t before = range_before(p, first_page);
    const uint32_t at = before == p->range_count ? 0 : before + 1;
    if (before != p->range_count && p->ranges[before].first_page + p->ranges[before].pages > first_page)
        return;
    if (p->range_count == p->range_capacity) {
        p->range_capacity = p->range_capacity ? 2 * p->range_capacity : 16;
        struct placement_range *more = realloc(p->ranges, p->range_capacity * sizeof *more);
        if (!more) diag_mistake("out of host memory");
        p->ranges = more;
    }
    memmove(&p->ranges[at + 1], &p->ranges[at], (p->range_count - at) * sizeof *p->ranges);
    p->ranges[at] = (struct placement_range){first_page, pages};
    p->range_count++;
}

void placement_kernel_wide_launch(struct placement *p, const struct placement_launch *l)
{
    uint64_t base, bytes;
    for (size_t k = 0; launch_allocation(l->facts, k, &base, &bytes); k++) {
        if (!bytes) continue;
        const uint64_t first = base >> l->page_log2, last = (base + bytes - 1) >> l->page_log2;
        learn(p, first, last - first + 1);
    }
}

uint32_t placement_kernel_wide(struct placement *p, const struct placement_question *q)
{
    const uint32_t at = range_before(p, q->page);
    const struct placement_range *r = at < p->range_count ? &p->ranges[at] : NULL;
    if (!r || q->page >= r->first_page + r->pages) return (uint32_t)(q->page % p->classes);
    const uint32_t per_chiplet = p->classes / p->chiplets ? p->classes / p->chiplets : 1;
    const uint64_t part = (q->page - r->first_page) * p->chiplets / r->pages;
    return (uint32_t)(part * per_chiplet + q->page % per_chiplet) % p->classes;
}
