/* coda: CODA's placement. Granule i of a structure lies in node i mod nodes. A granule that is not a number of whole
 * pages gives the lines of a page several homes (pages/interleave.c). Structures without a granule, and pages outside of
 * structures, go to the nodes in turn by page number. */
#include "analysis/locality.h"
#include "policy/binding/binding.h"
#include "policy/placement/placement.h"

struct coda {
    struct config config;
    uint32_t nodes;
    uint64_t force_seen; /* entries of lasp.force whose kernel was launched */
};

static uint32_t in_turn(const struct page_rule *r, const struct placement_question *q)
{
    (void)r;
    return placement_colour_of_node(q, (uint32_t)(q->page % q->nodes->count));
}

/* Granules of whole pages, from the first page of the structure on. */
static uint32_t by_pages(const struct page_rule *r, const struct placement_question *q)
{
    const uint64_t pages = (uint64_t)(uintptr_t)r->context;
    return placement_colour_of_node(q, (uint32_t)((q->page - r->first) / pages % q->nodes->count));
}

static struct page_rule rule_of(const struct coda *s, const struct launch_array *a, uint64_t granule,
                                uint32_t page_log2)
{
    const uint64_t page = (uint64_t)1 << page_log2;
    struct page_rule rule = {.place = in_turn, .allocated = a->allocated};
    if (granule && granule % page == 0) {
        rule.place = by_pages;
        rule.context = (const void *)(uintptr_t)(granule >> page_log2);
    } else if (granule) {
        rule.granule_lines = granule / 128;
        rule.origin_line = a->base / 128;
        rule.nodes = s->nodes;
    }
    return rule;
}

static void at_launch(void *state, const struct placement_launch *l)
{
    struct coda *const s = state;
    const struct launch_arrays *const a = launch_arrays(l->facts);
    lasp_check_force(&s->config, l->facts, &s->force_seen);
    for (uint32_t k = 0; a && k < a->count; k++) {
        const struct launch_array *const array = &a->array[k];
        if (!array->bytes || array->end == array->first) continue;
        const uint64_t first = (array->base + array->first) >> l->page_log2,
                       last = (array->base + array->end - 1) >> l->page_log2;
        if (l->is_assigned(l->pages, l->facts->app, first, last - first + 1)) continue;
        const struct page_rule rule =
            rule_of(s, array, coda_granule_of(&s->config, l->facts, k), l->page_log2);
        l->assign(l->pages, l->facts->app, first, last - first + 1, &rule);
    }
}

static uint32_t place(void *state, const struct placement_question *q)
{
    (void)state;
    return in_turn(NULL, q);
}

static void end(void *state)
{
    const struct coda *const s = state;
    lasp_check_force_used(&s->config, s->force_seen);
}

static void begin(void *state, struct arena *a, const struct config *c, uint32_t colours)
{
    (void)a;
    (void)colours;
    *(struct coda *)state = (struct coda){.config = *c, .nodes = config_chiplets(c)};
}

extern const struct placement_ops placement_coda;
const struct placement_ops placement_coda = {.level = NODE_CHIPLET,
                                             .state_bytes = sizeof(struct coda),
                                             .begin = begin,
                                             .place = place,
                                             .at_launch = at_launch,
                                             .end = end};
