/* system: builds the machine from its parameters. Order in system_new(): clocks, path tables, memory
 * channels, page table, MMUs, SMs, control, slices, networks, connections, applications. The rest of the file
 * answers queries of measure/ and api/.
 *
 *   SM --fabric.request--> slice --operations--> channel       control/: epochs, boundaries (sms, slices)
 *   SM <--fabric.reply---- slice <-------------- channel       pages/: frames (mmus, slices)
 *                            | slice networks and gateways: other slices, chiplets and GPUs
 *
 * Invariant: components refer to each other through tables of pointers (slices, mmus, *_components). The
 * tables are allocated first and filled later, so a wiring may name a component that does not exist yet. */
#include "system/system.h"

#include <stdlib.h>
#include <string.h>

#include "control/replication_client.h"
#include "llc/channel_reads.h"
#include "llc/coherence.h"
#include "llc/spill.h"
#include "net/net_level.h"
#include "pages/profile.h"
#include "system/system_private.h"

enum { WALK_REQUESTS = 64 };

static void build_clocks(struct system *g, const struct config *c)
{
    g->engine = engine_create(config_tick_frequency(c), g->stats);
    g->sm_domain = engine_add_domain(g->engine, "sm", c->clock.sm);
    g->llc_domain =
        c->clock.llc == c->clock.sm ? g->sm_domain : engine_add_domain(g->engine, "llc", c->clock.llc);
    for (uint32_t level = 0; level < NET_LEVELS; level++) {
        g->net_domains[level] = g->sm_domain;
        if (!net_level_used(c, level) || net_level_clock(c, level) == c->clock.sm) continue;
        uint32_t same = 0; /* lower level with the same clock */
        while (same < level &&
               (!net_level_used(c, same) || net_level_clock(c, same) != net_level_clock(c, level)))
            same++;
        g->net_domains[level] =
            same < level ? g->net_domains[same]
                         : engine_add_domain(g->engine, net_level_names[level], net_level_clock(c, level));
    }
    g->dram_domain = engine_add_domain(g->engine, "dram", c->clock.dram);
    /* Page faults and the driver take longer than any latency of the hardware. */
    engine_set_watchdog(g->engine, c->sim.watchdog_cyc + config_cycles_in(c->mmu.fault, c->clock.sm) +
                                       config_cycles_in(c->runtime.move_cost, c->clock.sm) +
                                       (config_pages_follow(c) ? c->pages.fault_cyc : 0));
    engine_set_stuck(g->engine, kernel_on_no_progress, g);
    if (c->sim.visit_order == visit_order_shuffled)
        engine_shuffle_visits(g->engine, rng_seed(c->sim.seed, 0x5f0f));
}

static const char *component_name(struct system *g, const char *what, uint32_t idx, uint32_t per_partition)
{
    const struct config *c = g->config;
    const uint32_t partition = idx / per_partition, chiplet = partition / c->chiplet.partitions;
    if (c->gpu.chiplets == 1)
        return arena_printf(&g->arena, "gpu%u.partition%u.%s%u", chiplet, partition % c->chiplet.partitions,
                            what, idx % per_partition);
    return arena_printf(&g->arena, "gpu%u.chiplet%u.partition%u.%s%u", chiplet / c->gpu.chiplets,
                        chiplet % c->gpu.chiplets, partition % c->chiplet.partitions, what,
                        idx % per_partition);
}

/* Scope of the statistics of a partition. */
static struct stats_scope partition_scope(const struct config *c, uint32_t partition)
{
    const uint32_t chiplet = partition / c->chiplet.partitions;
    return (struct stats_scope){(int32_t)(chiplet / c->gpu.chiplets), (int32_t)(chiplet % c->gpu.chiplets),
                                (int32_t)(partition % c->chiplet.partitions), STATS_ANY};
}

/* True if only slices observe when channels accept operations. Channels may then defer cycles
 * (dram/channel.c). Exact channels synchronise as well: an operation that is due at once is accepted at their
 * next edge only. */
static bool only_slices_wait(const struct system *g, const struct config *c)
{
    return !config_page_move_lines(c) && !g->slice_spec.stack_width && !g->slice_spec.may_write_through &&
           !net_level_used(c, NET_LEVEL_slice_net);
}

static void build_cpu_link(struct system *g, const struct config *c, uint32_t gpu)
{
    const struct spill_wiring w = {.engine = g->engine,
                                   .domain = g->llc_domain,
                                   .ticks_per_cycle = g->slice_spec.ticks_per_cycle,
                                   .ticks_per_second = config_tick_frequency(c),
                                   .map = g->map,
                                   .slice_count = (uint32_t)config_slices_per_gpu(c),
                                   .frames = pages_frames_of,
                                   .pages = g->pages,
                                   .chiplet = gpu};
    g->cpu_links[gpu] = spill_new(&g->arena, c, &w, arena_printf(&g->arena, "gpu%u.cpu_link", gpu));
    const struct stats_scope scope = {(int32_t)gpu, STATS_ANY, STATS_ANY, STATS_ANY};
    STATS_REGISTER(g->stats, spill, spill_stats(g->cpu_links[gpu]), scope);
}

static void build_slice(struct system *g, const struct config *c, uint32_t idx)
{
    const uint32_t channels = g->slice_spec.channels, per_channel = g->slice_spec.slices_per_channel;
    const uint32_t first_channel = idx / per_channel / channels * channels;
    const uint32_t chiplet = idx / config_slices_per_chiplet(c);
    const struct slice_wiring w = {.engine = g->engine,
                                   .fabric = &g->fabrics[chiplet],
                                   .requests = &g->requests,
                                   .channels = g->channels + first_channel,
                                   .channels_sync = only_slices_wait(g, c),
                                   .channel_component = channel_component(g->channels[first_channel]),
                                   .pending = g->pending + first_channel,
                                   .exact_accept = g->exact_accept + first_channel,
                                   .pending_bit = idx % (per_channel * channels),
                                   .slices = g->slices,
                                   .monitor = g->monitor,
                                   .input_monitor = mdr_input_monitor(g->mdr),
                                   .remote_monitor = mdr_remote_monitor(g->mdr),
                                   .slice_idx = idx,
                                   .partition = idx / c->partition.slices,
                                   .sms_per_partition = c->partition.sms,
                                   .walkers = (void *const *)g->mmus,
                                   .walk_done = mmu_walk_done,
                                   .domain = g->llc_domain,
                                   .check = g->check,
                                   .chiplet = chiplet,
                                   .forwards = net_level_used(c, NET_LEVEL_slice_net),
                                   .organisation = &g->organisations[chiplet],
                                   .slice_components = g->slice_components,
                                   .epoch = &g->organisations[chiplet].epoch,
                                   .spill = g->cpu_links ? g->cpu_links[chiplet] : NULL,
                                   .pages = pages_may_move(g->pages) ? g->pages : NULL,
                                   .page_line_done = pages_line_done};
    g->slices[idx] =
        slice_new(&g->arena, &g->slice_spec, &w, component_name(g, "slice", idx, c->partition.slices));
    g->slice_components[idx] = slice_component(g->slices[idx]);
    STATS_REGISTER(g->stats, llc, slice_stats(g->slices[idx]), partition_scope(c, w.partition));
    struct rdc_stats *const rdc = slice_rdc_stats(g->slices[idx]);
    if (rdc) STATS_REGISTER(g->stats, rdc, rdc, partition_scope(c, w.partition));
    if (config_slices_numa(c) && slice_coherence_stats(g->slices[idx]))
        STATS_REGISTER(g->stats, coherence, slice_coherence_stats(g->slices[idx]),
                       partition_scope(c, w.partition));
    slice_set_write_through(g->slices[idx], w.organisation->state[0].is_private);
}

static void build_memory(struct system *g, const struct config *c)
{
    g->dram_spec = dram_spec_of(c);
    g->map = dram_map_new(&g->arena, c);
    g->slice_spec = slice_spec_of(c, g->map);
    g->slice_spec.index_rotation = slice_index_rotation_new(&g->arena, &g->slice_spec);
    const uint32_t channels = g->slice_spec.channels;
    for (uint32_t k = 0; k < g->channel_count; k++) {
        const struct channel_wiring w = {.engine = g->engine,
                                         .domain = g->dram_domain,
                                         .client_count = g->slice_spec.slices_per_channel * channels,
                                         .queue_idx = k % channels,
                                         .pending = &g->pending[k],
                                         .exact_accept = &g->exact_accept[k],
                                         .only_clients_wait = only_slices_wait(g, c),
                                         .may_defer = c->sim.work_ahead && only_slices_wait(g, c),
                                         .copies = config_pages_copy_over_channels(c),
                                         .client_ticks_per_cycle = g->slice_spec.ticks_per_cycle,
                                         .return_cyc = g->slice_spec.back_cyc,
                                         .accepted =
                                             g->check ? slice_memory_accepted_checked : slice_memory_accepted,
                                         .done = slice_memory_done};
        g->channels[k] = channel_new(&g->arena, c, &g->dram_spec, g->map, &w,
                                     component_name(g, "channel", k, c->partition.channels));
        STATS_REGISTER(g->stats, dram, channel_stats(g->channels[k]),
                       partition_scope(c, k / c->partition.channels));
    }
}

/* Registers the slices that reach a channel as its clients. */
static void connect_channel(struct system *g, uint32_t k)
{
    const uint32_t channels = g->slice_spec.channels, clients = g->slice_spec.slices_per_channel * channels;
    for (uint32_t n = 0; n < clients; n++) {
        struct slice *const s = g->slices[(size_t)(k / channels) * clients + n];
        channel_connect(g->channels[k], n, s, slice_memory_queue(s, k % channels));
    }
    channel_reads_connect(g->channels[k], &g->slice_spec);
}

/* ---- callbacks of pages: the MMU of a page's application on a GPU ---- */

static struct mmu *mmu_of(const struct system *g, uint32_t gpu, uint64_t key)
{
    return g->mmus[apps_mmu(&g->apps, pages_key_app(key), gpu)];
}

static void shootdown(void *system, uint32_t gpu, uint64_t key)
{
    mmu_shootdown(mmu_of(system, gpu, key), key);
}

static void invalidate(void *system, uint32_t gpu, uint64_t key, uint32_t first_sm, uint32_t sm_count)
{
    mmu_invalidate_l1(mmu_of(system, gpu, key), key, first_sm, sm_count);
}

static void resume(void *system, uint32_t gpu, uint64_t key, const uint64_t *sms, uint64_t now)
{
    mmu_resume(mmu_of(system, gpu, key), key, sms, now);
}

static bool any_runs(void *system) { return kernel_any_runs(system); }

static void build_pages(struct system *g, const struct config *c)
{
    const struct pages_wiring w = {.engine = g->engine,
                                   .domain = g->sm_domain,
                                   .stats = g->stats,
                                   .map = g->map,
                                   .requests = &g->requests,
                                   .slices = g->slices,
                                   .channels = g->channels,
                                   .pending = g->pending,
                                   .fabric = g->fabrics,
                                   .port_component = g->sm_components + g->sm_count,
                                   .clients = g->slice_spec.slices_per_channel * g->slice_spec.channels,
                                   .dram_domain = g->dram_domain,
                                   .check = g->check,
                                   .system = g,
                                   .shootdown = shootdown,
                                   .forget = invalidate,
                                   .resume = resume,
                                   .running = any_runs};
    g->pages = pages_new(&g->arena, c, &w);
    g->page_classes = page_classes_new(&g->arena, c, g->pages, g->stats);
}

struct mmu *system_new_mmu(struct system *g, const struct config *c, uint32_t gpu, uint32_t number)
{
    const uint32_t sms = (uint32_t)config_sms_per_gpu(c),
                   colours = g->pages->colours_per_chiplet * c->gpu.chiplets;
    const struct mmu_wiring w = {.engine = g->engine,
                                 .domain = g->sm_domain,
                                 .requests = &g->requests,
                                 .pages = g->pages,
                                 .first_colour = gpu * colours,
                                 .colours = colours,
                                 .sm_components = g->sm_components,
                                 .slices = g->slices,
                                 .number = number,
                                 .first_sm = gpu * sms,
                                 .sm_count = sms,
                                 .ticks_per_cycle = config_tick_frequency(c) / c->clock.sm,
                                 .llc_ticks_per_cycle = g->slice_spec.ticks_per_cycle};
    const struct stats_scope scope = {(int32_t)gpu, STATS_ANY, STATS_ANY, STATS_ANY};
    struct mmu *m = mmu_new(&g->arena, c, &w);
    STATS_REGISTER(g->stats, mmu, mmu_stats(m), scope);
    return m;
}

static void build_sm(struct system *g, const struct config *c, uint32_t idx)
{
    const uint32_t chiplet = idx / config_sms_per_chiplet(c);
    const struct sm_wiring w = {.engine = g->engine,
                                .domain = g->sm_domain,
                                .fabric = &g->fabrics[chiplet],
                                .requests = &g->requests,
                                .mmu = g->mmus[chiplet / c->gpu.chiplets],
                                .moving_pages = pages_may_move(g->pages) ? g->pages : NULL,
                                .organisation = &g->organisations[chiplet],
                                .conflicts = g->conflicts,
                                .check = g->check,
                                .store_order = g->store_order,
                                .sm_idx = idx,
                                .near_first = idx / c->partition.sms * c->partition.slices,
                                .near_count = c->partition.slices,
                                .disturbed = config_blocks_move(c) || !c->sim.work_ahead,
                                .kernels = &g->running_count};
    g->sms[idx] = sm_new(&g->arena, g->sm_spec, &w, component_name(g, "sm", idx, c->partition.sms));
    g->sm_components[idx] = sm_component(g->sms[idx]);
    const struct stats_scope scope = partition_scope(c, idx / c->partition.sms);
    STATS_REGISTER(g->stats, sm, sm_stats(g->sms[idx]), scope);
    STATS_REGISTER(g->stats, l1, sm_l1_stats(g->sms[idx]), scope);
}

/* Max requests in flight: requests of SMs and walkers, fetches of slices for remote lines, lines of migrating
 * pages. */
static uint32_t request_limit(const struct system *g, const struct config *c)
{
    const uint64_t fetches =
        net_level_used(c, NET_LEVEL_slice_net)
            ? (uint64_t)g->slice_count * c->llc.mshrs * (c->llc.sectored ? LINE_SECTORS : 1)
            : 0;
    const uint64_t invalidations =
        config_slices_numa(c) ? (uint64_t)g->slice_count * c->llc.invalidate_queue : 0;
    const uint64_t write_backs =
        c->rdc.write == rdc_write_back ? (uint64_t)g->slice_count * c->rdc.write_backs : 0;
    return (uint32_t)(invalidations + write_backs) +
           (sm_request_limit(g->sm_spec) + sm_requests_kept(g->sm_spec)) * g->sm_count +
           WALK_REQUESTS * c->system.gpus + (uint32_t)fetches + config_page_move_lines(c);
}

/* Synchronises the statistics of queued networks before a point of the time series. */
static void networks_edge(void *arg, uint64_t edge_cyc)
{
    const struct system *const g = arg;
    const struct fabric_side *side;
    (void)edge_cyc;
    for (uint32_t level = 0; level < NET_LEVELS; level++)
        for (uint32_t direction = 0; direction < 2; direction++)
            for (uint32_t k = 0; (side = system_net_at(g, level, direction, k)); k++)
                net_stats_settle_series(side->net);
}

static void build_networks(struct system *g, const struct config *c, struct stats_registry *stats)
{
    traffic_init(&g->traffic, &g->arena, c);
    for (uint32_t k = 0; k < g->chiplet_count; k++) {
        fabric_init(&g->fabrics[k], &g->arena, g->engine, c, k, &g->requests, g->net_domains[NET_LEVEL_net],
                    slice_tag_latency(c), g->sm_components, g->slice_components);
        struct fabric *f = &g->fabrics[k];
        f->traffic = g->traffic;
        f->request.expect = slice_expect;
        f->request.expect_receivers = (void *const *)(g->slices + f->request.first_receiver);
        if (!config_copy_ports(c)) f->reply.expect = sm_expect; /* the port of the engine has no SM */
        f->reply.expect_receivers = (void *const *)(g->sms + f->reply.first_receiver);
    }
    if (g->chiplet_count > 1)
        g->gates = gates_new(&g->arena, g->engine, c, g->fabrics, g->net_domains, stats);
    struct fabric_side *side;
    for (uint32_t level = 0; level < NET_LEVELS; level++) {
        const uint32_t per_gpu = level <= NET_LEVEL_slice_net ? c->gpu.chiplets : 1;
        for (uint32_t direction = 0; direction < 2; direction++)
            for (uint32_t k = 0; (side = system_net_at(g, level, direction, k)); k++) {
                const struct stats_scope scope = {
                    level == NET_LEVEL_gpu_net ? STATS_ANY : (int32_t)(k / per_gpu),
                    level <= NET_LEVEL_slice_net ? (int32_t)(k % per_gpu) : STATS_ANY, STATS_ANY, STATS_ANY};
                net_level_register(stats, level, side->net, scope);
            }
    }
    stats_on_edge(stats, networks_edge, g);
}

static void allocate(struct system *g, const struct config *c)
{
    g->chiplet_count = config_chiplets(c);
    g->sm_count = (uint32_t)config_sms(c);
    g->slice_count = (uint32_t)config_slices(c);
    g->channel_count = (uint32_t)config_channels(c);
    g->sms = ARENA_ARRAY(&g->arena, struct sm *, g->sm_count);
    g->slices = ARENA_ARRAY(&g->arena, struct slice *, g->slice_count);
    g->channels = ARENA_ARRAY(&g->arena, struct channel *, g->channel_count);
    g->sm_components = ARENA_ARRAY(&g->arena, uint32_t, g->sm_count + config_copy_ports(c));
    g->slice_components = ARENA_ARRAY(&g->arena, uint32_t, g->slice_count);
    g->pending = ARENA_ARRAY(&g->arena, uint64_t, g->channel_count);
    g->exact_accept = ARENA_ARRAY(&g->arena, uint64_t, g->channel_count);
    g->fabrics = ARENA_ARRAY(&g->arena, struct fabric, g->chiplet_count);
    g->organisations = ARENA_ARRAY(&g->arena, struct organisation, g->chiplet_count);
    g->mmus = ARENA_ARRAY(&g->arena, struct mmu *, c->system.gpus * APPS_MAX);
}

static uint32_t serving(const void *apps, uint32_t sm)
{
    const struct apps *a = apps;
    return a->serving[sm];
}

/* Call it before build_slice(): slices copy the monitor of the replication policy. */
static void build_control(struct system *g, const struct config *c)
{
    control_init(&g->control, &g->arena,
                 &(struct control_wiring){.engine = g->engine,
                                          .domain = g->sm_domain,
                                          .sms = g->sms,
                                          .slices = g->slices,
                                          .sm_count = g->sm_count,
                                          .slice_count = g->slice_count,
                                          .chiplet_count = g->chiplet_count,
                                          .organisations = g->organisations,
                                          .mdr = g->mdr,
                                          .serving = serving,
                                          .apps = &g->apps});
    g->replication = replication_new(&g->arena, c, &g->slice_spec, g->organisations);
    g->monitor = page_classes_monitor(g->page_classes);
    if (!g->replication) return;
    g->monitor = replication_monitor(g->replication);
    stats_on_edge(g->stats, replication_edge, g->replication);
    STATS_REGISTER(g->stats, selrep, &g->replication->stats, STATS_EVERYWHERE);
    replication_client_add(&g->control, g->replication);
}

struct system *system_new(const struct config *c, struct stats_registry *stats, bool check)
{
    struct system *g = calloc(1, sizeof *g);
    if (!g) diag_mistake("out of host memory");
    arena_init(&g->arena);
    g->config = c;
    g->stats = stats;
    allocate(g, c);
    g->skew = rng_seed(c->sim.seed, 0x5ce3);
#ifdef ATOLL_FAULTS
    fault_choose(c->sim.fault);
#endif
    build_clocks(g, c);
    for (uint32_t k = 0; k < g->chiplet_count; k++)
        organisation_init(&g->organisations[k], &g->arena, c, k, g->engine, g->slices);
    for (uint32_t k = 0; k < g->chiplet_count; k++) g->organisations[k].sm_domain = g->sm_domain;
    g->sm_spec = sm_spec_of(&g->arena, c);
    if (config_fences_cumulate(c))
        g->store_order = store_order_new(&g->arena, g->engine, g->sm_count, g->sm_components);
    for (uint32_t k = 0; c->rdc.write == rdc_write_back && k < g->chiplet_count; k++)
        g->organisations[k].dirty = store_order_new(&g->arena, g->engine, g->sm_count, g->sm_components);
    g->conflicts = sm_conflict_cache(&g->arena);
    const uint32_t requests = request_limit(g, c);
    pool_init(&g->requests, &g->arena, requests, sizeof(struct request));
    if (check) g->check = check_new(g->sm_count, c->sm.loads, requests);
    if (check && coherence_row(c)->expects_stale) check_expect_stale(g->check);
    if (check && config_fences_cumulate(c)) check_expect_cumulative(g->check);
    build_memory(g, c);
    build_pages(g, c);
    g->mmu_count = c->system.gpus;
    for (uint32_t k = 0; k < g->mmu_count; k++) g->mmus[k] = system_new_mmu(g, c, k, k);
    for (uint32_t k = 0; k < g->sm_count; k++) build_sm(g, c, k);
    g->mdr = mdr_new(&g->arena, c, &g->slice_spec, g->organisations);
    if (g->mdr) STATS_REGISTER(g->stats, nuba, &g->mdr->stats, STATS_EVERYWHERE);
    build_control(g, c);
    if (config_spills(c)) {
        g->cpu_links = ARENA_ARRAY(&g->arena, struct spill *, c->system.gpus);
        for (uint32_t k = 0; k < c->system.gpus; k++) build_cpu_link(g, c, k);
    }
    for (uint32_t k = 0; k < g->slice_count; k++) build_slice(g, c, k);
    build_networks(g, c, stats);
    for (uint32_t k = 0; k < g->slice_count; k++) slice_connect(g->slices[k]);
    for (uint32_t k = 0; k < g->channel_count; k++) connect_channel(g, k);
    g->windows = windows_new(&g->arena, c,
                             &(struct windows_parts){.engine = g->engine,
                                                     .domain = g->sm_domain,
                                                     .fabric = g->fabrics,
                                                     .slices = g->slices,
                                                     .channels = g->channels,
                                                     .slice_count = g->slice_count,
                                                     .channel_count = g->channel_count,
                                                     .sm_components = g->sm_components,
                                                     .kernels = &g->running_count,
                                                     .check = g->check != NULL},
                             &g->windows_off);
    apps_init(&g->apps, g);
    block_migration_new(g, c);
    g->repartition = repartition_new(g, c);
    g->running = ARENA_ARRAY(&g->arena, struct running *, SM_KERNELS);
    return g;
}

struct fabric_side *system_net_at(const struct system *g, enum net_level level, enum net_direction direction,
                                  uint32_t idx)
{
    const bool requests = direction == NET_REQUESTS;
    if (level > NET_LEVEL_slice_net) return gates_net(g->gates, level, direction, idx);
    DIAG_ASSERT(g->fabrics);
    if (idx >= g->chiplet_count) return NULL;
    struct fabric *f = &g->fabrics[idx];
    if (level == NET_LEVEL_slice_net && !f->forwards) return NULL;
    if (level == NET_LEVEL_net) return requests ? &f->request : &f->reply;
    return requests ? &f->far_request : &f->far_reply;
}

void system_listen(struct system *g, const struct system_listener *listener) { g->listener = *listener; }
void system_limit(struct system *g, uint64_t warp_instructions) { g->limit_instructions = warp_instructions; }
bool system_was_stopped(const struct system *g) { return g->stopped; }
const char *system_windows_off(const struct system *g) { return g->windows_off; }

uint64_t system_now(const struct system *g) { return engine_now(g->engine, g->sm_domain); }
uint64_t system_end_cyc(const struct system *g) { return g->end_cyc ? g->end_cyc : system_now(g); }
double system_seconds(const struct system *g) { return engine_seconds(g->engine); }
struct engine *system_engine(struct system *g) { return g->engine; }

uint64_t system_warp_instructions(const struct system *g)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < g->sm_count; k++) sum += sm_stats(g->sms[k])->warp_instructions;
    return sum;
}

double system_kernel_progress(const struct system *g)
{
    const struct running *r = g->running_count ? g->running[0] : NULL;
    return r && r->launch->block_count ? (double)r->blocks_ended / (double)r->launch->block_count : 0;
}

uint64_t system_pages_of(const struct system *g, uint32_t partition)
{
    const struct nodes n = nodes_at(g->config, NODE_PARTITION, g->pages->colours_per_chiplet);
    uint64_t pages = 0;
    if (n.count < config_partitions(g->config)) return 0; /* a page spans several partitions */
    for (uint32_t k = 0; k < n.colours_per_node; k++)
        pages += g->pages->placed[(size_t)partition * n.colours_per_node + k];
    return pages;
}

uint64_t system_chiplet_pages(const struct system *g, uint32_t chiplet)
{
    const uint32_t colours = g->pages->colours_per_chiplet;
    uint64_t pages = 0;
    for (uint32_t k = 0; k < colours; k++) pages += g->pages->placed[(size_t)chiplet * colours + k];
    return pages;
}

uint64_t system_pages_of_gpu(const struct system *g, uint32_t gpu)
{
    const uint32_t chiplets = g->config->gpu.chiplets;
    uint64_t pages = 0;
    for (uint32_t k = 0; k < chiplets; k++) pages += system_chiplet_pages(g, gpu * chiplets + k);
    return pages;
}

void system_set_profile(struct system *g, const struct page_profile *profile)
{
    pages_set_profile(g->pages, profile);
}

void system_profile_access(const struct system *g, struct page_profile *profile, uint32_t sm, uint32_t app,
                           uint64_t line, bool writes)
{
    const struct pages *p = g->pages;
    page_profile_add(profile, pages_key(app, line >> (p->page_log2 - LINE_LOG2)), nodes_of_sm(&p->nodes, sm),
                     writes);
}

const struct replication *system_replication(const struct system *g) { return g->replication; }
const struct check *system_check(const struct system *g) { return g->check; }
uint32_t system_kernel_count(const struct system *g) { return g->record_count; }
const struct system_kernel_record *system_kernel_record(const struct system *g, uint32_t i)
{
    return &g->records[i];
}

void system_split(struct system *g, uint32_t apps)
{
    if (g->windows && apps > 1) {
        windows_close(g->windows);
        g->windows = NULL;
        g->windows_off = "several applications run";
    }
    apps_split(&g->apps, apps);
}

const struct repartition *system_repartition(const struct system *g)
{
    return g->apps.count > 1 ? g->repartition : NULL;
}

struct system_app system_app(struct system *g, uint32_t app)
{
    apps_sync_stats(&g->apps);
    struct system_app a = {.sms = g->apps.app[app].sm_count, .channels = g->apps.app[app].channel_count};
    a.stats.app = g->apps.app[app].stats;
    return a;
}
