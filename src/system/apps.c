/* apps: implementation of apps.h. Handovers run in the commit phase of an engine component, in SM order. */
#include "system/apps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "system/system_private.h"

/* ---- statistics ---- */

void apps_sync_stats(struct apps *a)
{
    struct system *g = a->system;
    for (uint32_t sm = 0; sm < g->sm_count; sm++) {
        const struct sm_stats *s = sm_stats(g->sms[sm]);
        struct app_stats *to = &a->app[a->serving[sm]].stats;
        to->warp_instructions += s->warp_instructions - a->counted[sm][0];
        to->thread_instructions += s->thread_instructions - a->counted[sm][1];
        a->counted[sm][0] = s->warp_instructions;
        a->counted[sm][1] = s->thread_instructions;
    }
    for (uint32_t app = 0; app < a->count; app++) a->app[app].stats.pages = g->pages->apps[app].pages;
}

/* ---- MMUs ---- */

uint32_t apps_mmu(const struct apps *a, uint32_t app, uint32_t gpu)
{
    return a->own_mmus ? app * a->system->config->system.gpus + gpu : gpu;
}

static void use_mmu(struct apps *a, uint32_t sm)
{
    const uint32_t gpu = sm / (uint32_t)config_sms_per_gpu(a->system->config);
    if (a->owner[sm] != APPS_NONE)
        sm_use_mmu(a->system->sms[sm], a->system->mmus[apps_mmu(a, a->owner[sm], gpu)]);
}

static uint32_t proportional_share(uint32_t of_all, uint32_t part, uint32_t whole)
{
    const uint32_t mine = (uint32_t)((uint64_t)of_all * part / whole);
    return mine ? mine : 1;
}

/* Replaces the shared MMUs of each GPU by one MMU per application. The L2 TLB entries, ports and walkers
 * of each MMU are proportional to the application's share of the SMs, or equal. */
static void split_mmus(struct apps *a)
{
    struct system *g = a->system;
    const uint32_t gpus = g->config->system.gpus;
    const bool equal = g->config->apps.mmu == app_mmu_equal;
    const uint32_t shares = g->config->apps.mmu_shares ? g->config->apps.mmu_shares : a->count;
    for (uint32_t k = 0; k < g->mmu_count; k++) mmu_free(g->mmus[k]); /* unused so far */
    for (uint32_t app = 0; app < a->count; app++) {
        struct config c = *g->config;
        const uint32_t mine = equal ? 1 : a->app[app].sm_count, all = equal ? shares : g->sm_count;
        const uint32_t ways = c.mmu.l2_ways < c.mmu.l2_entries ? c.mmu.l2_ways : c.mmu.l2_entries;
        c.mmu.l2_entries = proportional_share(c.mmu.l2_entries / ways, mine, all) * ways;
        c.mmu.l2_ports = proportional_share(c.mmu.l2_ports, mine, all);
        c.mmu.walkers = proportional_share(c.mmu.walkers, mine, all);
        for (uint32_t gpu = 0; gpu < gpus; gpu++)
            g->mmus[app * gpus + gpu] = system_new_mmu(g, &c, gpu, app * gpus + gpu);
    }
    g->mmu_count = gpus * a->count;
    a->own_mmus = true;
    for (uint32_t sm = 0; sm < g->sm_count; sm++) use_mmu(a, sm);
}

/* ---- handover of SMs ---- */

static void number_sms(struct apps *a, uint32_t app)
{
    a->app[app].sm_count = 0;
    for (uint32_t sm = 0; sm < a->system->sm_count; sm++)
        if (a->owner[sm] == app) a->app_idx[sm] = (uint16_t)a->app[app].sm_count++;
}

static void hand_over(struct apps *a, uint32_t sm, uint64_t now)
{
    struct system *g = a->system;
    apps_sync_stats(a);
    for (uint32_t n = 0; n < g->running_count; n++)
        if (sm_serves(g->sms[sm], &g->running[n]->sm)) sm_end(g->sms[sm], &g->running[n]->sm, now);
    a->serving[sm] = a->owner[sm];
    use_mmu(a, sm);
    a->handover_count--;
    a->app[a->owner[sm]].stats.sms_gained++;
    for (uint32_t n = 0; n < g->running_count; n++)
        if (g->running[n]->sm.app == a->owner[sm] && !boundary_is_over(&g->running[n]->boundary))
            sm_begin(g->sms[sm], &g->running[n]->sm, now + 1);
    block_migration_on_room(g->block_migration);
}

static void ignore_wake(void *self, uint64_t now)
{
    (void)self;
    (void)now;
}

/* Completes handovers in SM order, so the evaluation order of components has no effect. */
static void commit(void *self, uint64_t now)
{
    struct apps *a = self;
    for (uint32_t sm = 0; a->handover_count && sm < a->system->sm_count; sm++)
        if (a->owner[sm] != a->serving[sm] && sm_idle(a->system->sms[sm])) hand_over(a, sm, now);
}

void apps_wake_handover(struct apps *a)
{
    if (a->handover_count)
        engine_wake(a->system->engine, a->component, engine_now(a->system->engine, a->system->sm_domain) + 1);
}

void apps_assign_sm(struct apps *a, uint32_t sm, uint32_t app)
{
    DIAG_ASSERT(app < a->count && sm < a->system->sm_count);
    const uint32_t from = a->owner[sm];
    if (from == app) return;
    a->handover_count += a->serving[sm] != app; /* app == serving: the pending handover is cancelled */
    a->handover_count -= a->serving[sm] != from;
    a->owner[sm] = (uint8_t)app;
    number_sms(a, from);
    number_sms(a, app);
    if (a->serving[sm] == app) sm_ask(a->system->sms[sm]);
    apps_wake_handover(a);
}

/* ---- channels ---- */

void apps_restrict_channels(struct apps *a, uint32_t app, const uint16_t *channels, uint32_t count)
{
    pages_restrict(a->system->pages, app, &(struct colours){channels, count});
    a->app[app].channel_count = count * pages_channels_per_colour(a->system->pages);
}

/* ---- the parameters ---- */

/* Parses "60,20" or "equal" into the share of each application in `total`. Each share is a multiple of
 * `unit`. Raises a user error that names the parameter. */
static void read_shares(const char *what, const char *text, uint32_t total, uint32_t unit, uint32_t count,
                        uint32_t shares[APPS_MAX])
{
    const char *const whole = text;
    uint32_t sum = 0;
    for (uint32_t app = 0; app < count; app++) {
        char *end = NULL;
        shares[app] = total / unit / count * unit;
        if (strcmp(text, "equal") != 0) {
            errno = 0;
            const unsigned long value = strtoul(text, &end, 10);
            if (end == text || errno || value > total || (*end != ',' && (*end || app + 1 < count)))
                diag_mistake("%s must be 'equal' or a number for each of %u applications, at most %u "
                             "together; it is '%s'",
                             what, count, total, whole);
            shares[app] = (uint32_t)value;
            text = end + 1;
        }
        sum += shares[app];
        if (!shares[app] || shares[app] % unit)
            diag_mistake("%s gives application %u %u of %u: each gets at least one, in units of %u", what,
                         app, shares[app], total, unit);
    }
    if (sum > total)
        diag_mistake("%s gives %u to the applications, but the machine has %u", what, sum, total);
}

/* Channels of each application; false: all applications share all channels. */
static bool read_channels(struct apps *a, const char *text, uint32_t shares[APPS_MAX])
{
    struct system *g = a->system;
    if (strcmp(text, "shared") == 0) return false;
    if (a->count > 1 && pages_colours(g->pages) == 1)
        diag_mistake(
            "apps.channels is '%s', but under this address map every page lies in all channels; choose "
            "map.kind=fixed_channel or page_move",
            text);
    read_shares("apps.channels", text, g->channel_count, pages_channels_per_colour(g->pages), a->count,
                shares);
    return true;
}

static void split_channels(struct apps *a, bool shared, const uint32_t shares[APPS_MAX])
{
    struct system *g = a->system;
    const uint32_t per_colour = pages_channels_per_colour(g->pages), colours = pages_colours(g->pages);
    uint16_t *all = malloc(colours * sizeof *all);
    if (!all) diag_mistake("out of host memory");
    for (uint32_t k = 0; k < colours; k++) all[k] = (uint16_t)k;
    for (uint32_t app = 0, first = 0; app < a->count; app++) {
        const uint32_t count = shared ? colours : shares[app] / per_colour;
        apps_restrict_channels(a, app, all + (shared ? 0 : first), count);
        first += count;
    }
    free(all);
}

/* The partition policy may begin with other shares than those of the parameters. */
static void adapt_to_policy(struct apps *a, uint32_t sms[APPS_MAX], uint32_t channels[APPS_MAX], bool shared)
{
    const uint32_t per_index = pages_channels_per_colour(a->system->pages);
    struct partition p = {0};
    for (uint32_t app = 0; app < a->count; app++)
        p.of[app] = (struct partition_share){sms[app], shared ? 0 : channels[app] / per_index};
    if (!repartition_first(a->system, a->count, &p)) return;
    for (uint32_t app = 0; app < a->count; app++) {
        sms[app] = p.of[app].sms;
        channels[app] = p.of[app].indices * per_index;
    }
}

void apps_split(struct apps *a, uint32_t count)
{
    struct system *g = a->system;
    uint32_t shares[APPS_MAX], channels[APPS_MAX] = {0};
    if (count > APPS_MAX) diag_mistake("at most %d applications run together, not %u", APPS_MAX, count);
    a->count = count;
    read_shares("apps.sms", g->config->apps.sms, g->sm_count, 1, count, shares);
    const bool shared = !read_channels(a, g->config->apps.channels, channels);
    adapt_to_policy(a, shares, channels, shared);
    memset(a->owner, APPS_NONE, g->sm_count);
    memset(a->serving, APPS_NONE, g->sm_count);
    for (uint32_t app = 0, sm = 0; app < count; app++)
        for (uint32_t k = 0; k < shares[app]; k++, sm++) a->owner[sm] = a->serving[sm] = (uint8_t)app;
    for (uint32_t app = 0; app < count; app++) number_sms(a, app);
    split_channels(a, shared, channels);
    const bool own = g->config->apps.mmu == app_mmu_own && a->app[0].sm_count < g->sm_count;
    const bool equal = g->config->apps.mmu == app_mmu_equal && (count > 1 || g->config->apps.mmu_shares > 1);
    if (own || equal) split_mmus(a);
    const bool counts = count > 1 || g->config->apps.count_llc;
    for (uint32_t k = 0; counts && k < g->slice_count; k++)
        slice_count_apps(g->slices[k], &a->app[0].stats, sizeof a->app[0]);
    for (uint32_t app = 1; app < count; app++) {
        const struct stats_scope scope = {STATS_ANY, STATS_ANY, STATS_ANY, (int32_t)app};
        STATS_REGISTER(g->stats, app, &a->app[app].stats, scope);
    }
    if (g->repartition) repartition_begin(g->repartition);
}

void apps_init(struct apps *a, struct system *g)
{
    *a = (struct apps){.system = g, .count = 1};
    a->owner = ARENA_ARRAY(&g->arena, uint8_t, g->sm_count);
    a->serving = ARENA_ARRAY(&g->arena, uint8_t, g->sm_count);
    a->app_idx = ARENA_ARRAY(&g->arena, uint16_t, g->sm_count);
    a->counted = arena_array(&g->arena, g->sm_count, sizeof *a->counted);
    a->app[0].channel_count = g->channel_count;
    number_sms(a, 0);
    a->component = engine_add(
        g->engine,
        (struct component_spec){
            .name = "apps", .self = a, .domain = g->sm_domain, .wake = ignore_wake, .commit = commit});
    const struct stats_scope scope = {STATS_ANY, STATS_ANY, STATS_ANY, 0};
    STATS_REGISTER(g->stats, app, &a->app[0].stats, scope);
}
