/* organisation: see organisation.h. */
#include "llc/organisation.h"

static const struct organisation_ops *const rows[] = {
#define ITEM(list, item, help) [list##_##item] = &organisation_##item,
#include "llc/organisation.def"
#undef ITEM
};
_Static_assert(sizeof rows / sizeof *rows == llc_organisation_count, "a row for each organisation");

struct path_route organisation_route_among(uint32_t first, uint32_t count)
{
    DIAG_ASSERT(count && !(count & (count - 1)));
    return (struct path_route){count - 1, first};
}

struct path_rules organisation_rules_home(void)
{
    const struct path_rule serve = {.next = PATH_TO_MEMORY, .lookup = true, .allocate = true};
    struct path_rules rules;
    for (uint32_t class = 0; class < PATH_CLASSES; class ++)
        rules.away[class] = rules.home[0][class] = rules.home[1][class] = serve;
    return rules;
}

/* Without read_once.c the tag stage cannot serve a miss at the home without a way. Only an input stage
 * bypasses. */
static void check_rules(const struct organisation *o, const struct path_rules *rules)
{
    for (uint32_t class = 0; class < PATH_CLASSES; class ++) {
        DIAG_ASSERT(rules->away[class].lookup || o->path.has_bypass);
        for (uint32_t n = 0; n < 2; n++) {
            const struct path_rule *const rule = &rules->home[n][class];
            const bool may_skip = n && class <= PATH_LOAD_RO && o->state[0].read_once; /* read_once.c */
            DIAG_ASSERT(rule->next == PATH_TO_MEMORY && rule->lookup && (rule->allocate || may_skip));
        }
    }
}

static bool makes_replicas(const struct organisation_state *s) { return s->degree > 1 || s->replicate; }

static void build_routes(struct organisation *o)
{
    for (uint32_t k = 0; k < o->sm_count; k++)
        for (uint32_t class = 0; class < PATH_CLASSES; class ++)
            o->routes[k][class] = o->ops->route(o, &o->state[0], o->path.first_sm + k, class);
    o->path.orders_atomics = o->state[0].is_private;
}

static void build_rules(struct organisation *o)
{
    for (uint32_t n = 0; n < 2; n++) {
        o->path.rules[n] = o->ops->rules(&o->state[n]);
        check_rules(o, &o->path.rules[n]);
    }
}

void organisation_set(struct organisation *o, const struct organisation_state *s, uint64_t from_tick)
{
    const struct organisation_state now = *organisation_in_force(o), next = *s;
    DIAG_ASSERT(!from_tick || (next.degree == now.degree && next.is_private == now.is_private));
    o->state[0] = from_tick ? now : next;
    o->state[1] = next;
    o->replicated |= makes_replicas(&o->state[0]) || makes_replicas(&o->state[1]);
    o->path.change_tick = from_tick ? from_tick : ENGINE_NEVER;
    if (!from_tick) build_routes(o);
    build_rules(o);
}

enum llc_boundary organisation_boundary(const struct organisation *o)
{
    return o->ops->boundary ? o->ops->boundary(o) : o->config->llc.boundary;
}

void organisation_start_pass(struct organisation *o)
{
    o->replicated = makes_replicas(&o->state[0]) || makes_replicas(&o->state[1]);
    o->memory_stale = false;
    if (o->ops->kernel_ended) o->ops->kernel_ended(o);
}

void organisation_skip_pass(struct organisation *o)
{
    o->memory_stale = true;
    if (o->ops->kernel_ended) o->ops->kernel_ended(o);
}

void organisation_init(struct organisation *o, struct arena *a, const struct config *c, uint32_t chiplet,
                       const struct engine *engine, struct slice *const *slices)
{
    const uint32_t sms = config_sms_per_chiplet(c), slice_count = config_slices_per_chiplet(c);
    *o = (struct organisation){.ops = rows[c->llc.organisation],
                               .config = c,
                               .sm_count = sms,
                               .first_slice = chiplet * slice_count,
                               .slice_count = slice_count,
                               .slices = slices,
                               .engine = engine,
                               .path = {.first_sm = chiplet * sms, .change_tick = ENGINE_NEVER}};
    if (c->llc.stacks)
        o->clusters =
            (struct clusters){.sms_per_cluster = (uint32_t)config_sms_per_gpu(c) / c->selrep.clusters,
                              .count = c->selrep.clusters,
                              .stack_slices = (uint32_t)config_slices_per_gpu(c) / c->llc.stacks};
    o->routes =
        (struct path_route(*)[PATH_CLASSES])ARENA_ARRAY(a, struct path_route, (size_t)sms * PATH_CLASSES);
    o->path.first = (const struct path_route(*)[PATH_CLASSES])o->routes;
    o->path.has_bypass = o->ops->has_bypass;
    struct organisation_state start = {.degree = 1};
    if (o->ops->start) o->ops->start(c, &start);
    organisation_set(o, &start, 0);
}
