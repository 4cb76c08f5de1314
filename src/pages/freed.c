/* freed: pages of freed allocations (pages.h). Addresses return once the application has used up its reserved range. */
#include "check/check.h"
#include "pages/pages_private.h"

/* False: the page moves or has requests in flight, and keeps its frame for now. */
static bool drop_page(struct pages *p, uint64_t key)
{
    const uint64_t lines = (uint64_t)1 << (p->page_log2 - LINE_LOG2);
    if (!pages_frame(p, key)) return true;
    if (p->life && !life_drop(p->life, key)) return false;
    table_drop(p, key);
    for (uint32_t gpu = 0; gpu < p->gpus && p->wire->shootdown; gpu++)
        p->wire->shootdown(p->wire->system, gpu, key);
    for (uint64_t k = 0; k < lines && p->wire->check; k++)
        check_line_freed(p->wire->check, pages_key_app(key), pages_key_page(key) * lines + k);
    return true;
}

void pages_drop_freed(struct pages *p, const struct launch_facts *facts)
{
    struct page_app *const app = &p->apps[facts->app];
    const uint32_t generation = launch_memory_generation(facts);
    uint32_t kept = 0;
    if (generation == app->memory_generation) return;
    app->memory_generation = generation;
    for (uint32_t k = 0; k < app->range_count; k++) {
        const struct page_range *const r = &app->ranges[k];
        if (!r->rule.allocated || launch_allocation_lives(facts, r->rule.allocated)) {
            app->ranges[kept++] = *r;
            continue;
        }
        bool dropped = true;
        for (uint64_t n = 0; n < r->count; n++) dropped &= drop_page(p, pages_key(facts->app, r->first + n));
        if (!dropped)
            app->ranges[kept++] = *r; /* the next launch after an allocation or a free tries again */
    }
    app->range_count = kept;
}
