/* kernel_wide: every allocation is cut into one contiguous part per chiplet, as the scheduler `chunks` cuts
 * grids. The allocations that exist at a launch get the rule then; a page outside of them goes by its number.
 */
#include "exec/exec.h"
#include "policy/placement/placement.h"

static uint32_t cut(const struct placement *p, const struct placement_question *q, uint64_t n, uint64_t count)
{
    const uint32_t per_chiplet = p->colours / p->chiplets ? p->colours / p->chiplets : 1;
    const uint64_t part = n * p->chiplets / count;
    return (uint32_t)(part * per_chiplet + q->page % per_chiplet) % p->colours;
}

void placement_kernel_wide_launch(struct placement *p, const struct placement_launch *l)
{
    static const struct page_rule rule = {cut};
    const struct devmem *memory = exec_memory(l->launch->env);
    (void)p;
    for (size_t k = 0; k < memory->count; k++) {
        const struct devmem_alloc *a = &memory->allocs[k];
        if (a->freed || a->hi == a->lo) continue;
        const uint64_t first = a->sim >> l->page_log2, last = (a->sim + (a->hi - a->lo) - 1) >> l->page_log2;
        l->assign(l->pages, l->app, first, last - first + 1, &rule);
    }
}

uint32_t placement_kernel_wide(struct placement *p, const struct placement_question *q)
{
    return (uint32_t)(q->page % p->colours);
}
