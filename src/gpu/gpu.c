/* gpu: building the machine from its parameters. */
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_private.h"
#include "net/net_level.h"

enum { WALK_REQUESTS = 64 };

static void build_clocks(struct gpu *g, const struct config *c)
{
    g->engine = engine_create(config_tick_frequency(c), g->stats);
    g->sm_domain = engine_add_domain(g->engine, "sm", c->clock.sm);
    g->llc_domain =
        c->clock.llc == c->clock.sm ? g->sm_domain : engine_add_domain(g->engine, "llc", c->clock.llc);
    g->net_domain =
        c->clock.net == c->clock.sm ? g->sm_domain : engine_add_domain(g->engine, "net", c->clock.net);
    g->dram_domain = engine_add_domain(g->engine, "dram", c->clock.dram);
    engine_set_watchdog(g->engine, c->sim.watchdog_cyc);
    if (c->sim.visit_order == visit_order_shuffled)
        engine_shuffle_visits(g->engine, rng_seed(c->sim.seed, 0x5f0f));
}

static const char *name_in(struct gpu *g, const char *what, uint32_t idx, uint32_t per_partition)
{
    return arena_printf(&g->arena, "gpu0.partition%u.%s%u", idx / per_partition, what, idx % per_partition);
}

static void build_slice(struct gpu *g, const struct config *c, uint32_t idx)
{
    const uint32_t per_channel = g->slice_spec.slices_per_channel;
    const struct slice_wiring w = {.engine = g->engine,
                                   .fabric = &g->fabric,
                                   .requests = &g->requests,
                                   .channel_component = channel_component(g->channels[idx / per_channel]),
                                   .slice_idx = idx,
                                   .partition = idx / c->partition.slices,
                                   .sms_per_partition = c->partition.sms,
                                   .walker = g->mmu,
                                   .walk_done = mmu_walk_done,
                                   .domain = g->llc_domain,
                                   .check = g->check};
    g->slices[idx] = slice_new(&g->arena, &g->slice_spec, &w, name_in(g, "slice", idx, c->partition.slices));
    g->slice_components[idx] = slice_component(g->slices[idx]);
    const struct stats_scope scope = {0, 0, (int32_t)w.partition, STATS_ANY};
    STATS_REGISTER(g->stats, llc, slice_stats(g->slices[idx]), scope);
}

static void build_memory(struct gpu *g, const struct config *c)
{
    const uint32_t per_channel = c->partition.slices / c->partition.channels;
    g->dram_spec = dram_spec_of(c);
    g->map = dram_map_new(&g->arena, c);
    g->frames = dram_frames_new(&g->arena, g->map);
    g->slice_spec = slice_spec_of(c, g->map);
    for (uint32_t k = 0; k < g->channel_count; k++) {
        g->channels[k] = channel_new(&g->arena, g->engine, g->dram_domain, c, &g->dram_spec, g->map,
                                     g->slices + (size_t)k * per_channel, per_channel, g->check,
                                     name_in(g, "channel", k, c->partition.channels));
        const struct stats_scope scope = {0, 0, (int32_t)(k / c->partition.channels), STATS_ANY};
        STATS_REGISTER(g->stats, dram, channel_stats(g->channels[k]), scope);
    }
}

static void build_mmu(struct gpu *g, const struct config *c)
{
    const struct mmu_wiring w = {.engine = g->engine,
                                 .domain = g->sm_domain,
                                 .requests = &g->requests,
                                 .frames = g->frames,
                                 .map = g->map,
                                 .sm_components = g->sm_components,
                                 .slices = g->slices,
                                 .sm_count = g->sm_count,
                                 .sms_per_partition = c->partition.sms,
                                 .slices_per_channel = g->slice_spec.slices_per_channel,
                                 .ticks_per_cycle = config_tick_frequency(c) / c->clock.sm,
                                 .llc_ticks_per_cycle = g->slice_spec.ticks_per_cycle};
    g->mmu = mmu_new(&g->arena, c, &w);
    STATS_REGISTER(g->stats, mmu, mmu_stats(g->mmu), STATS_EVERYWHERE);
}

static void build_sm(struct gpu *g, const struct config *c, uint32_t idx)
{
    const struct sm_wiring w = {.engine = g->engine,
                                .domain = g->sm_domain,
                                .fabric = &g->fabric,
                                .requests = &g->requests,
                                .mmu = g->mmu,
                                .organisation = &g->organisation,
                                .conflicts = g->conflicts,
                                .check = g->check,
                                .sm_idx = idx,
                                .near_first = idx / c->partition.sms * c->partition.slices,
                                .near_count = c->partition.slices};
    g->sms[idx] = sm_new(&g->arena, g->sm_spec, &w, name_in(g, "sm", idx, c->partition.sms));
    g->sm_components[idx] = sm_component(g->sms[idx]);
    const struct stats_scope scope = {0, 0, (int32_t)(idx / c->partition.sms), STATS_ANY};
    STATS_REGISTER(g->stats, sm, sm_stats(g->sms[idx]), scope);
    STATS_REGISTER(g->stats, l1, sm_l1_stats(g->sms[idx]), scope);
}

struct gpu *gpu_new(const struct config *c, struct stats_registry *stats, bool check)
{
    if (c->system.gpus > 1 || c->gpu.chiplets > 1)
        diag_mistake("machines of several GPUs or chiplets cannot be run with timing yet; --functional can");
    struct gpu *g = calloc(1, sizeof *g);
    if (!g) diag_mistake("out of host memory");
    arena_init(&g->arena);
    g->config = c;
    g->stats = stats;
    g->sm_count = (uint32_t)config_sms_per_gpu(c);
    g->slice_count = (uint32_t)config_slices_per_gpu(c);
    g->channel_count = (uint32_t)config_channels_per_gpu(c);
    g->sms = ARENA_ARRAY(&g->arena, struct sm *, g->sm_count);
    g->slices = ARENA_ARRAY(&g->arena, struct slice *, g->slice_count);
    g->channels = ARENA_ARRAY(&g->arena, struct channel *, g->channel_count);
    g->sm_components = ARENA_ARRAY(&g->arena, uint32_t, g->sm_count);
    g->slice_components = ARENA_ARRAY(&g->arena, uint32_t, g->slice_count);
    g->skew = rng_seed(c->sim.seed, 0x5ce3);
#ifdef ATOLL_FAULTS
    fault_choose(c->sim.fault);
#endif
    build_clocks(g, c);
    g->organisation = organisation_of(c);
    g->sm_spec = sm_spec_of(&g->arena, c);
    g->conflicts = sm_conflict_cache(&g->arena);
    const uint32_t requests = sm_request_limit(g->sm_spec) * g->sm_count + WALK_REQUESTS;
    pool_init(&g->requests, &g->arena, requests, sizeof(struct request));
    if (check) g->check = check_new(g->sm_count, c->sm.loads, requests);
    build_memory(g, c);
    build_mmu(g, c);
    for (uint32_t k = 0; k < g->sm_count; k++) build_sm(g, c, k);
    for (uint32_t k = 0; k < g->slice_count; k++) build_slice(g, c, k);
    fabric_init(&g->fabric, &g->arena, g->engine, c, &g->requests, g->net_domain, g->sm_components,
                g->slice_components);
    mover_new(g, c);
    const struct stats_scope scope = {0, 0, STATS_ANY, STATS_ANY};
    net_level_register(stats, NET_LEVEL_net, g->fabric.request.net, scope);
    net_level_register(stats, NET_LEVEL_net, g->fabric.reply.net, scope);
    g->running = ARENA_ARRAY(&g->arena, struct running *, SM_KERNELS);
    return g;
}

void gpu_listen(struct gpu *g, const struct gpu_listener *listener) { g->listener = *listener; }
void gpu_limit(struct gpu *g, uint64_t warp_instructions) { g->limit_instructions = warp_instructions; }
bool gpu_was_stopped(const struct gpu *g) { return g->stopped; }

uint64_t gpu_now(const struct gpu *g) { return engine_now(g->engine, g->sm_domain); }
double gpu_seconds(const struct gpu *g) { return engine_seconds(g->engine); }
struct engine *gpu_engine(struct gpu *g) { return g->engine; }

uint64_t gpu_warp_instructions(const struct gpu *g)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < g->sm_count; k++) sum += sm_stats(g->sms[k])->warp_instructions;
    return sum;
}

double gpu_kernel_progress(const struct gpu *g)
{
    const struct running *r = g->running_count ? g->running[0] : NULL;
    return r && r->launch->block_count ? (double)r->blocks_ended / (double)r->launch->block_count : 0;
}

const struct check *gpu_check(const struct gpu *g) { return g->check; }
uint32_t gpu_kernel_count(const struct gpu *g) { return g->record_count; }
const struct gpu_kernel_record *gpu_kernel_record(const struct gpu *g, uint32_t i) { return &g->records[i]; }
