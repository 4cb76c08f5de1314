/* lasp: LADM's placement. A page goes to the node whose blocks touch most of its lines (binding/data_cut.h), by the
 * first launch that uses its structure. Later launches do not move it. The order of structures in a launch is: the
 * winner, then the arguments; a page with bytes of two structures belongs to the first of them.
 *
 * A page outside of every structure goes to the nodes in turn by its number. */
#include "check/fault.h"
#include "policy/binding/data_cut.h"
#include "policy/placement/placement.h"

struct lasp {
    struct arena *arena;
    struct config config;
    struct nodes nodes;
    struct cut_scratch *scratch;
    uint64_t force_seen; /* entries of lasp.force whose kernel was launched */
};

static uint32_t cut_colour(const struct page_rule *r, const struct placement_question *q)
{
    if (FAULT_FIRES(page_of_other_function))
        return placement_colour_of_node(q, (uint32_t)(q->page % q->nodes->count));
    return placement_colour_of_node(q, cut_node(r->context, q->page));
}

static void assign_array(struct lasp *s, const struct placement_launch *l, const struct lasp_plan *plan,
                         uint32_t k)
{
    const struct launch_array *const array = &launch_arrays(l->facts)->array[k];
    if (!array->bytes || array->end == array->first) return;
    const uint64_t first = (array->base + array->first) >> l->page_log2,
                   last = (array->base + array->end - 1) >> l->page_log2;
    if (l->is_assigned(l->pages, l->facts->app, first, last - first + 1)) return;
    struct data_cut *const cut = ARENA_NEW(s->arena, struct data_cut);
    *cut = cut_of_array(s->arena, &s->config, l->facts, &s->nodes, plan, k, s->scratch);
    const struct page_rule rule = {.place = cut_colour, .context = cut, .allocated = array->allocated};
    l->assign(l->pages, l->facts->app, first, last - first + 1, &rule);
}

static void at_launch(void *state, const struct placement_launch *l)
{
    struct lasp *const s = state;
    const struct launch_arrays *const a = launch_arrays(l->facts);
    if (!a) return;
    lasp_check_force(&s->config, l->facts, &s->force_seen);
    const struct lasp_plan plan = lasp_plan(&s->config, l->facts, &s->nodes);
    if (plan.winner != LAUNCH_NO_ARRAY) assign_array(s, l, &plan, plan.winner);
    for (uint32_t k = 0; k < a->count; k++)
        if (k != plan.winner) assign_array(s, l, &plan, k);
}

static uint32_t place(void *state, const struct placement_question *q)
{
    (void)state;
    return placement_colour_of_node(q, (uint32_t)(q->page % q->nodes->count));
}

static void begin(void *state, struct arena *a, const struct config *c, uint32_t colours)
{
    struct lasp *const s = state;
    const uint32_t chiplets = config_chiplets(c);
    s->arena = a;
    s->config = *c;
    s->nodes = nodes_at(c, NODE_CHIPLET, colours / chiplets);
    s->scratch = cut_scratch_new(a, (uint32_t)__builtin_ctzll(c->map.page_size), s->nodes.count);
}

static void end(void *state)
{
    const struct lasp *const s = state;
    lasp_check_force_used(&s->config, s->force_seen);
}

extern const struct placement_ops placement_lasp;
const struct placement_ops placement_lasp = {.level = NODE_CHIPLET,
                                             .state_bytes = sizeof(struct lasp),
                                             .begin = begin,
                                             .place = place,
                                             .at_launch = at_launch,
                                             .end = end};
