/* config: every parameter as a field, and the rows that describe them.
 *
 * struct config is plain values: copy it, read it anywhere, never write it after machine_finish()
 * (see machine.h, which fills it from files and options). Quantities are in base units: bytes, bytes
 * per second, hertz, picoseconds. */
#ifndef ATOLL_CONFIG_CONFIG_H
#define ATOLL_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/choices.h"
#include "config/units.h"

typedef uint32_t param_u32;
typedef uint64_t param_u64, param_bytes, param_rate, param_freq, param_time, param_delay;
typedef double param_real;
typedef bool param_bool;
typedef const char *param_text;

struct config {
#define SECTION(section, help)                                     struct {
#define PARAM(section, name, type, default_, min, max, unit, help) param_##type name;
#define CHOICE(section, name, list, default_, help)                enum list name;
#define END_SECTION(section) \
    } \
    section;
#include "config/params.def"
#undef SECTION
#undef PARAM
#undef CHOICE
#undef END_SECTION
};

enum param_type {
    PARAM_u32,
    PARAM_u64,
    PARAM_real,
    PARAM_bool,
    PARAM_text,
    PARAM_bytes,
    PARAM_rate,
    PARAM_freq,
    PARAM_time,
    PARAM_delay, /* a time, or a number of SM cycles */
    PARAM_choice,
};

struct param_row {
    const char *section, *name;
    enum param_type type;
    const char *default_text, *min_text, *max_text, *unit, *help;
    enum choice_list_id list; /* of a choice */
    size_t offset;            /* in struct config */
};

struct param_section {
    const char *name, *help;
    uint32_t first_idx, count; /* rows in param_rows */
};

/* Index of a parameter in param_rows: PARAM_IDX(llc, hit_latency_cyc). */
enum param_idx {
#define SECTION(section, help)
#define PARAM(section, name, type, default_, min, max, unit, help) PARAM_IDX_##section##_##name,
#define CHOICE(section, name, list, default_, help)                PARAM_IDX_##section##_##name,
#define END_SECTION(section)
#include "config/params.def"
#undef SECTION
#undef PARAM
#undef CHOICE
#undef END_SECTION
    PARAM_COUNT
};
#define PARAM_IDX(section, name) PARAM_IDX_##section##_##name

enum {
    PARAM_SECTION_COUNT = 0
#define SECTION(section, help) +1
#define PARAM(section, name, type, default_, min, max, unit, help)
#define CHOICE(section, name, list, default_, help)
#define END_SECTION(section)
#include "config/params.def"
#undef SECTION
#undef PARAM
#undef CHOICE
#undef END_SECTION
};

extern const struct param_row param_rows[PARAM_COUNT];
extern const struct param_section param_sections[PARAM_SECTION_COUNT];

struct derived_row {
    const char *section, *name, *unit, *help;
    enum quantity quantity;
    uint64_t (*value)(const struct config *c);
};
extern const struct derived_row derived_rows[];
extern const size_t derived_row_count;

struct rule_row {
    enum param_idx param; /* where the message is shown */
    bool (*holds)(const struct config *c);
    const char *message;
    uint64_t (*unit)(const struct config *c); /* the parameter (bytes) is a multiple of it; NULL: any value */
};
struct rule_set {
    const struct rule_row *rows;
    size_t count;
};

/* Row index of section.name, or PARAM_COUNT. */
enum param_idx param_find(const char *section, const char *name);

/* Parses and range-checks text into *c. On failure returns false and writes why it is wrong. A text
 * value is kept by pointer: it must live as long as the configuration. */
bool param_parse(struct config *c, enum param_idx idx, const char *text, char *why, size_t why_bytes);
/* The value as a user would write it; a text row returns its pointer. */
const char *param_print(const struct config *c, enum param_idx idx, char buf[UNITS_TEXT_MAX]);
/* Every row at its default. */
void config_defaults(struct config *c);

/* ---- arithmetic on the tree that derived.def and rules.def share ---- */
static inline uint64_t config_partitions_per_gpu(const struct config *c)
{
    return (uint64_t)c->gpu.chiplets * c->chiplet.partitions;
}
static inline uint64_t config_partitions(const struct config *c)
{
    return config_partitions_per_gpu(c) * c->system.gpus;
}
static inline uint64_t config_slices_per_gpu(const struct config *c)
{
    return config_partitions_per_gpu(c) * c->partition.slices;
}
static inline uint64_t config_channels_per_gpu(const struct config *c)
{
    return config_partitions_per_gpu(c) * c->partition.channels;
}
static inline uint64_t config_sms_per_gpu(const struct config *c)
{
    return config_partitions_per_gpu(c) * c->partition.sms;
}
/* A value of type delay is a time in picoseconds, or with this bit a number of SM cycles. */
#define CONFIG_DELAY_CYCLES ((uint64_t)1 << 63)
/* Picoseconds at a frequency, rounded up. */
static inline uint64_t config_cycles_in(uint64_t ps, uint64_t hz)
{
    return (uint64_t)(((unsigned __int128)ps * hz + 999999999999u) / 1000000000000u);
}
/* A delay in cycles of a clock, rounded up. */
static inline uint64_t config_delay_cyc(const struct config *c, uint64_t delay, uint64_t hz)
{
    if (!(delay & CONFIG_DELAY_CYCLES)) return config_cycles_in(delay, hz);
    const unsigned __int128 sm_cycles = delay & ~CONFIG_DELAY_CYCLES;
    return (uint64_t)((sm_cycles * hz + c->clock.sm - 1) / c->clock.sm);
}
/* A chiplet is also what one address map covers: where a page is placed is a chiplet and, under some maps, a
 * channel of it. */
static inline uint32_t config_chiplets(const struct config *c) { return c->system.gpus * c->gpu.chiplets; }
static inline uint32_t config_sms_per_chiplet(const struct config *c)
{
    return c->chiplet.partitions * c->partition.sms;
}
static inline uint32_t config_slices_per_chiplet(const struct config *c)
{
    return c->chiplet.partitions * c->partition.slices;
}
static inline uint32_t config_channels_per_chiplet(const struct config *c)
{
    return c->chiplet.partitions * c->partition.channels;
}
static inline uint64_t config_sms(const struct config *c) { return config_sms_per_gpu(c) * c->system.gpus; }
static inline uint64_t config_slices(const struct config *c)
{
    return config_slices_per_gpu(c) * c->system.gpus;
}
static inline uint64_t config_channels(const struct config *c)
{
    return config_channels_per_gpu(c) * c->system.gpus;
}
static inline uint64_t config_channel_capacity(const struct config *c)
{
    return (uint64_t)c->dram.bank_groups * c->dram.banks_per_group * c->dram.rows * c->dram.columns *
           c->dram.column_size;
}
/* ---- predicates on the LLC organisation, for rooms that decide which networks, policies and counters exist.
 * No other room compares c->llc.organisation (tools/roles.py). ---- */

/* A line is cached by its home slice only. */
static inline bool config_slices_at_home(const struct config *c)
{
    return c->llc.organisation == llc_organisation_memory_side;
}
/* A policy switches the LLC between shared and private slices. */
static inline bool config_slices_adaptive(const struct config *c)
{
    return c->llc.organisation == llc_organisation_adaptive;
}
/* Read-only lines have a degree of replication, which selrep.degree or a policy sets. */
static inline bool config_slices_selective(const struct config *c)
{
    return c->llc.organisation == llc_organisation_selective;
}

/* SMs reach only the slices of their own partition (NUBA). */
static inline bool config_slices_by_partition(const struct config *c)
{
    return c->llc.organisation == llc_organisation_nuba;
}
/* Read-only lines of other partitions are always replicated, without a decision of MDR. */
static inline bool config_nuba_replicates_always(const struct config *c)
{
    return c->nuba.replication == nuba_copies_full;
}
/* Hardware keeps replicas in the slices of other chiplets coherent. */
static inline bool config_slices_coherent(const struct config *c)
{
    return c->llc.organisation == llc_organisation_sm_side;
}
/* The slices of a GPU cache lines of other GPUs, coherent as llc.coherence says. */
static inline bool config_slices_numa(const struct config *c)
{
    return c->llc.organisation == llc_organisation_numa;
}
/* Stores become visible to some SMs before they are answered, because slices keep copies of remote lines: fences of
 * GPU and system scope are cumulative (llc/store_order.h). */
static inline bool config_fences_cumulate(const struct config *c)
{
    return config_slices_numa(c) && config_chiplets(c) > 1;
}
/* Slices forward requests to other slices. If false, SMs address the home slice directly. */
static inline bool config_slices_forward(const struct config *c)
{
    return c->llc.organisation == llc_organisation_numa || config_slices_coherent(c) ||
           config_slices_by_partition(c);
}
/* SMs count their line accesses by the distance of the home: slices cache lines of other chiplets. */
static inline bool config_counts_nodes(const struct config *c)
{
    return c->llc.organisation == llc_organisation_numa && config_chiplets(c) > 1;
}
/* The index of the accesses decides which chiplet runs a block (LASP, CODA). */
static inline bool config_blocks_follow_index(const struct config *c)
{
    return c->runtime.cta_sched == block_scheduler_lasp || c->runtime.cta_sched == block_scheduler_coda;
}
/* Some reads of other chiplets do not allocate at the home (RONCE). */
static inline bool config_slices_read_once(const struct config *c)
{
    return c->llc.organisation == llc_organisation_numa && c->crb.policy != crb_policy_rtwice;
}
static inline bool config_pages_migrate(const struct config *c)
{
    return c->pages.migration != page_migration_none;
}
static inline bool config_pages_replicate(const struct config *c)
{
    return c->pages.replication != page_copies_none;
}
/* Pages follow the owned channels of their application. */
static inline bool config_pages_follow(const struct config *c) { return c->pages.copier != page_engine_none; }
/* Pages travel over the buses of their channels, beside the operations of slices. */
static inline bool config_pages_copy_over_channels(const struct config *c)
{
    return c->pages.copier == page_engine_channels;
}
/* Pages travel over the networks of SMs and slices, through an engine with a port of its own on both. */
static inline bool config_pages_copy_over_networks(const struct config *c)
{
    return c->pages.copier == page_engine_network;
}
/* Ports of engines that copy pages, on each network between SMs and slices; they follow the ports of the SMs. */
static inline uint32_t config_copy_ports(const struct config *c)
{
    return config_pages_copy_over_networks(c) ? 1 : 0;
}
/* Every page is local to every node, and a store reaches all replicas at once. */
static inline bool config_pages_are_everywhere(const struct config *c)
{
    return c->pages.replication == page_copies_ideal;
}
/* A first pass without time has to find out how the measured part uses each page. */
static inline bool config_pages_need_profile(const struct config *c)
{
    return c->pages.replication == page_copies_oracle || c->spill.share > 0;
}
/* Pages lie in system memory. */
static inline bool config_spills(const struct config *c) { return c->spill.share > 0; }
/* The organisation lets pages migrate between, and be replicated in, the nodes of pages.level. */
static inline bool config_pages_fit_level(const struct config *c)
{
    if (c->pages.level == page_level_partition)
        return config_slices_by_partition(c) && c->map.kind == address_map_fixed_channel &&
               c->system.gpus == 1 && c->nuba.replication == nuba_copies_none;
    return c->llc.organisation == llc_organisation_numa &&
           (c->system.gpus > 1 || (c->pages.level == page_level_chiplet && c->gpu.chiplets > 1));
}
/* A policy changes the partition of SMs and channels while applications run. */
static inline bool config_partition_changes(const struct config *c)
{
    return c->partition.policy != partition_policy_fixed && c->partition.policy != partition_policy_offline;
}
/* The first partition follows from profiles of alone runs. */
static inline bool config_partition_needs_profiles(const struct config *c)
{
    return c->partition.policy == partition_policy_offline;
}
/* Resident blocks leave SMs with their context. */
static inline bool config_blocks_move(const struct config *c)
{
    return c->runtime.rotate_blocks_cyc || config_partition_changes(c);
}
/* Pages change their frame, or get replicas, while kernels run, and SMs wait for locked pages. */
static inline bool config_pages_move(const struct config *c)
{
    return config_pages_migrate(c) || (config_pages_replicate(c) && !config_pages_are_everywhere(c)) ||
           config_pages_follow(c);
}
/* Maximum number of line requests of page moves in flight. */
static inline uint32_t config_page_move_lines(const struct config *c)
{
    if (config_pages_copy_over_networks(c)) return c->pages.copy_lines;
    return config_pages_move(c) ? c->runtime.move_lines : 0;
}
/* Least common multiple of all clocks in Hz; 0 when above 10^17. */
uint64_t config_tick_frequency(const struct config *c);

#endif
