/* spec: derives the spec of the slices (struct slice_spec) from the parameters of a machine. */
#include "llc/llc.h"

/* Address bits of the set index. by_partition: a slice also caches lines of other channels (replicas). */
static uint64_t index_bits(const struct dram_map *map, uint32_t chiplets, bool by_partition)
{
    uint64_t mask = ((uint64_t)(chiplets > 1 ? 63 : 0)) << map->bits; /* remote lines */
    for (uint32_t bit = LINE_LOG2; bit < map->bits; bit++) {
        const bool replicated = by_partition && map->layout[bit].field == DRAM_FIELD_CHANNEL;
        if (replicated || !dram_map_chooses_slice(map, bit)) mask |= (uint64_t)1 << bit;
    }
    return mask;
}

/* Splits the index mask into runs of adjacent bits, which set_in() moves together. */
static void find_runs(struct slice_spec *p)
{
    uint32_t filled = 0;
    for (uint64_t mask = p->index_mask >> LINE_LOG2; mask;) {
        const uint32_t low = (uint32_t)__builtin_ctzll(mask);
        const uint64_t run = mask >> low;
        const uint32_t length = (uint32_t)__builtin_ctzll(~run); /* < 64: line numbers are shorter */
        DIAG_ASSERT(p->run_count < SLICE_RUNS);
        p->runs[p->run_count++] =
            (struct slice_bits){.mask = ((uint64_t)1 << length) - 1, .right = low, .left = filled};
        filled += length;
        mask = run >> length << length << low;
    }
}

/* Sectors that lie within each run of columns. A column may be longer than a line. */
static void find_sectors(struct slice_spec *p)
{
    DIAG_ASSERT(p->columns_per_line <= DRAM_MAP_LINE_COLUMNS);
    for (uint32_t first = 0; first < p->columns_per_line; first++)
        for (uint32_t end = first; end <= p->columns_per_line; end++) {
            const uint32_t from = 1u << (first * p->column_bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
            const uint32_t to = 1u << end * p->column_bytes / SECTOR_BYTES;
            p->sectors_of[(end - first) << 8 | first] = (uint8_t)((to - from) & SECTORS_ALL);
        }
}

static void find_columns(struct slice_spec *p)
{
    for (uint32_t sectors = 1; sectors <= SECTORS_ALL; sectors++) {
        const uint32_t lowest = (uint32_t)__builtin_ctz(sectors),
                       highest = 31 - (uint32_t)__builtin_clz(sectors),
                       first = lowest * SECTOR_BYTES / p->column_bytes;
        p->columns_of[sectors].first = (uint8_t)first;
        p->columns_of[sectors].count =
            (uint8_t)(((highest + 1) * SECTOR_BYTES - 1) / p->column_bytes - first + 1);
    }
    find_sectors(p);
    for (uint32_t sectors = 1; sectors <= SECTORS_ALL; sectors++)
        p->columns_of[sectors].sectors =
            slice_sectors(p, p->columns_of[sectors].first, p->columns_of[sectors].count);
    for (uint32_t sectors = 0; sectors <= SECTORS_ALL; sectors++)
        p->missing_of[sectors] = p->columns_of[p->sectored ? sectors : SECTORS_ALL];
}

static void derive_fields(struct slice_spec *p)
{
    find_runs(p);
    if (p->run_count == 1 && p->hashed && !(p->sets & (p->sets - 1)) && p->sets <= 1u << 16) {
        p->sets_mask = p->sets - 1;
        p->sets_log2 = (uint32_t)__builtin_ctz(p->sets);
    }
    find_columns(p);
    p->ticks_log2 = 63 - (uint32_t)__builtin_clzll(p->ticks_per_cycle);
    p->back_cyc = p->memory_latency_cyc + p->fill_latency_cyc;
    p->line_cyc = LINE_BYTES / p->port_bytes ? LINE_BYTES / p->port_bytes : 1;
    p->data_queue_cyc = p->data_queue * p->line_cyc;
    p->hits_limit = p->reply_queue + p->latency_cyc / p->line_cyc + p->data_queue;
    for (uint32_t sectors = 0; sectors <= SECTORS_ALL; sectors++) {
        const uint32_t bytes = SECTOR_BYTES * (uint32_t)__builtin_popcount(sectors);
        p->read_cyc[sectors] = (uint8_t)(bytes ? (bytes + p->port_bytes - 1) / p->port_bytes : 1);
    }
}

uint32_t *slice_index_rotation_new(struct arena *a, const struct slice_spec *p)
{
    enum { ENTRIES_MAX = 1 << 20 };
    const uint64_t runs = (p->runs[0].mask >> p->sets_log2) + 1;
    return p->sets_mask && runs <= ENTRIES_MAX ? ARENA_ARRAY(a, uint32_t, runs) : NULL;
}

uint32_t slice_tag_latency(const struct config *c)
{
    if (c->net.topology != net_shape_queued || c->clock.net != c->clock.llc || !config_slices_at_home(c))
        return 0;
    uint32_t cyc = c->llc.tag_latency_cyc;
    if (cyc > c->llc.latency_cyc) cyc = c->llc.latency_cyc;
    return cyc < c->llc.miss_latency_cyc ? cyc : c->llc.miss_latency_cyc;
}

struct slice_spec slice_spec_of(const struct config *c, const struct dram_map *map)
{
    const uint64_t lines = c->gpu.llc_size / config_slices_per_gpu(c) / LINE_BYTES;
    const uint32_t router_cyc = c->llc.stacks ? c->selrep.router_delay_cyc : 0;
    struct slice_spec p = {
        .sets = (uint32_t)(lines / c->llc.ways),
        .ways = c->llc.ways,
        .latency_cyc = c->llc.latency_cyc + router_cyc - slice_tag_latency(c),
        .miss_latency_cyc = c->llc.miss_latency_cyc + router_cyc - slice_tag_latency(c),
        .fill_latency_cyc = c->llc.fill_latency_cyc,
        .memory_latency_cyc = c->llc.memory_latency_cyc,
        .port_bytes = (uint32_t)c->llc.port,
        .mshrs = c->llc.mshrs,
        .mshr_merges = c->llc.mshr_merges,
        .data_queue = c->llc.data_queue,
        .reply_queue = c->llc.reply_queue,
        .memory_queue = c->llc.memory_queue,
        .atomic_cyc = c->llc.atomic_cyc,
        .column_bytes = (uint32_t)c->dram.column_size,
        .columns_per_line =
            c->dram.column_size >= LINE_BYTES ? 1 : LINE_BYTES / (uint32_t)c->dram.column_size,
        .slices_per_channel = c->partition.slices / c->partition.channels,
        .slices_per_gpu = (uint32_t)config_slices_per_gpu(c),
        .channels = c->llc.stacks ? (uint32_t)config_channels_per_gpu(c) / c->llc.stacks : 1,
        .stack_width = c->llc.stacks ? (uint32_t)c->llc.stack_width : 0,
        .header_bytes = (uint32_t)c->packet.header,
        .may_write_through = c->llc.organisation == llc_organisation_private ||
                             c->llc.organisation == llc_organisation_adaptive,
        .reads_once = config_slices_read_once(c),
        .sectored = c->llc.sectored,
        .hashed = c->llc.index == cache_index_hashed,
        .count_lines = c->llc.count_lines,
        .replacement = c->llc.replacement,
        .seed = c->sim.seed,
        .ticks_per_cycle = config_tick_frequency(c) / c->clock.llc,
        .map = map,
        .index_mask =
            index_bits(map, config_slices_forward(c) ? config_chiplets(c) : 1, config_slices_by_partition(c)),
        .forward_queue = c->llc.forward_queue,
        .local_queue = c->llc.local_queue,
        .bypass_latency_cyc = c->llc.pass_cyc,
        .pass_latency_cyc = !c->llc.remote_cache
                                ? c->llc.pass_cyc
                                : c->llc.miss_latency_cyc + router_cyc - slice_tag_latency(c),
        .invalidate_cyc = c->llc.invalidate_cyc,
        .flush_lines = c->llc.flush_lines,
        .page_lines = config_page_move_lines(c),
    };
    derive_fields(&p);
    return p;
}
