/* partition: the rows of partition.def as function tables, the constants of a machine, and the classification of
 * applications (UGPU section 3.3). */
#include "policy/partition/partition.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

#define ITEM(list, item, help) extern const struct partition_ops partition_##item;
#include "policy/partition/partition.def"
#undef ITEM
#define ITEM(list, item, help) [list##_##item] = &partition_##item,
static const struct partition_ops *const policies[partition_policy_count] = {
#include "policy/partition/partition.def"
};
#undef ITEM

const struct partition_ops partition_fixed = {0};

enum { LINE = 128, LANES = 32 };

const struct partition_ops *partition_ops_of(const struct config *c) { return policies[c->partition.policy]; }

/* "1:0.75": the application and its share of the speed alone. */
static void read_qos(struct partition_spec *s, const char *text)
{
    char *end;
    s->qos_app = PARTITION_NONE;
    if (!*text) return;
    errno = 0;
    const unsigned long app = strtoul(text, &end, 10);
    const bool has_app = end != text && *end == ':' && !errno;
    const char *const target = has_app ? end + 1 : text;
    s->qos_target = has_app ? strtod(target, &end) : 0;
    if (!has_app || end == target || *end || !(s->qos_target > 0 && s->qos_target < 1))
        diag_mistake(
            "partition.qos is '%s'; it must be APPLICATION:TARGET with a target between 0 and 1, such as "
            "0:0.75",
            text);
    if (app >= s->apps)
        diag_mistake("partition.qos names application %lu, but %u run, numbered from 0", app, s->apps);
    s->qos_app = (uint32_t)app;
}

struct partition_spec partition_spec_of(const struct config *c, uint32_t apps, uint32_t indices,
                                        uint64_t pages_per_index)
{
    const uint32_t channels = (uint32_t)config_channels(c);
    const uint64_t flits = (LINE + c->packet.header + c->net.width - 1) / c->net.width;
    const uint64_t slices_per_channel = config_slices(c) / channels;
    struct partition_spec s = {
        .apps = apps,
        .sms = (uint32_t)config_sms(c),
        .indices = indices,
        .channels_per_index = channels / indices,
        .pages_per_index = pages_per_index,
        .thread_ipc = (double)c->sm.schedulers * LANES,
        .sm_hz = (double)c->clock.sm,
        .line_bytes = LINE,
        .port_rate = (double)c->clock.net * LINE / (double)flits,
        .llc_rate = (double)slices_per_channel * (double)c->llc.port * (double)c->clock.llc,
        .memory_rate = (double)c->dram.column_size * (double)c->clock.dram / (double)c->dram.tccd_s_cyc,
        .step_sms = c->partition.step_sms,
        .iterations_max = c->partition.iterations,
        .sm_only = c->partition.sm_only,
        .demand = c->partition.demand,
        .decision_cyc = c->partition.decision_cyc,
        .iteration_cyc = c->partition.iteration_cyc,
        .qos_margin = c->partition.qos_margin,
        .plan = c->partition.plan};
    read_qos(&s, c->partition.qos);
    return s;
}

bool partition_read_profiles(const struct config *c, uint32_t apps, struct partition_profile *of)
{
    const char *text = c->partition.profiles;
    if (!*text) return false;
    for (uint32_t app = 0; app < apps; app++) {
        char *end;
        const double apki = strtod(text, &end);
        const char *const rate = end + 1;
        const double hits = end != text && *end == ':' ? strtod(rate, &end) : -1;
        const bool last = app + 1 == apps;
        if (end == rate || !(apki >= 0 && apki <= 1e6) || !(hits >= 0 && hits <= 1) ||
            *end != (last ? 0 : ','))
            diag_mistake(
                "partition.profiles is '%s'; it must be APKI:HIT_RATE for each of %u applications, such as "
                "4.8:0.2,0.01:0.9",
                c->partition.profiles, apps);
        of[app] = (struct partition_profile){.accesses = (uint64_t)llround(apki * 1e6),
                                             .hits = (uint64_t)llround(apki * 1e6 * hits),
                                             .thread_instructions = 1000 * 1000 * 1000};
        text = end + 1;
    }
    return true;
}

/* ---- classification ---- */

double partition_sm_demand(const struct partition_spec *s, const struct partition_profile *p)
{
    if (!p->thread_instructions) return 0;
    const double per_instruction = (double)p->accesses / (double)p->thread_instructions;
    const double rate = s->thread_ipc * per_instruction * s->line_bytes * s->sm_hz;
    return s->demand == partition_demand_port && rate > s->port_rate ? s->port_rate : rate;
}

double partition_channel_supply(const struct partition_spec *s, const struct partition_profile *p)
{
    const double hits = p->accesses ? (double)p->hits / (double)p->accesses : 0;
    const double misses = (1 - hits) * s->llc_rate;
    return hits * s->llc_rate + (misses < s->memory_rate ? misses : s->memory_rate);
}

struct partition_class partition_classify(const struct partition_spec *s, const struct partition_profile *p,
                                          struct partition_share share)
{
    struct partition_class c = {.demand = partition_sm_demand(s, p) * share.sms,
                                .supply =
                                    partition_channel_supply(s, p) * share.indices * s->channels_per_index};
    c.memory_bound = c.demand > c.supply;
    c.degree = c.memory_bound ? c.demand / c.supply : c.demand > 0 ? c.supply / c.demand : HUGE_VAL;
    return c;
}

bool partition_equal(const struct partition_spec *s, const struct partition *a, const struct partition *b)
{
    for (uint32_t app = 0; app < s->apps; app++)
        if (a->of[app].sms != b->of[app].sms || a->of[app].indices != b->of[app].indices) return false;
    return true;
}
