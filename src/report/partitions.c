/* partitions: how busy each partition was, and the bytes between them, as data. */
#include "report/report.h"

/* The same shares as of the whole machine, of one partition: measured as if it were the machine. */
static void measure_partition(const struct report *r, uint32_t partition, struct measure *m)
{
    struct stats stats;
    struct config one = *r->config;
    const struct system_use none = {0};
    const uint32_t chiplet = partition / one.chiplet.partitions;
    const struct stats_scope scope = {(int32_t)(chiplet / one.gpu.chiplets),
                                      (int32_t)(chiplet % one.gpu.chiplets),
                                      (int32_t)(partition % one.chiplet.partitions), STATS_ANY};
    stats_sum(r->registry, scope, &stats);
    one.system.gpus = one.gpu.chiplets = one.chiplet.partitions = 1;
    const struct span span = {
        .config = &one, .stats = &stats, .use = &none, .cycles = r->total.cycles, .blocks = 1};
    measure_span(&span, m);
}

static void add_share(json_t *list, double share)
{
    (void)json_array_append_new(list,
                                json_real((double)(uint64_t)(share * 1e6 + 0.5) / 1e6)); /* six digits */
}

static json_t *traffic_json(uint32_t partitions, const uint64_t *bytes)
{
    json_t *rows = json_array();
    for (uint32_t from = 0; from < partitions; from++) {
        json_t *row = json_array();
        for (uint32_t to = 0; to < partitions; to++)
            (void)json_array_append_new(row, json_integer((json_int_t)bytes[(size_t)from * partitions + to]));
        (void)json_array_append_new(rows, row);
    }
    return rows;
}

void report_partitions_json(const struct report *r, json_t *root)
{
    uint32_t partitions;
    const uint64_t *bytes = system_traffic(r->system, &partitions);
    if (!partitions) return;
    json_t *issue = json_array(), *llc = json_array(), *dram = json_array(), *pages = json_array();
    for (uint32_t k = 0; k < partitions; k++) {
        struct measure m;
        measure_partition(r, k, &m);
        add_share(issue, m.stalls[STALL_ISSUE]);
        add_share(llc, m.levels[LEVEL_LLC].use);
        add_share(dram, m.levels[LEVEL_DRAM].use);
        (void)json_array_append_new(pages, json_integer((json_int_t)system_pages_of(r->system, k)));
    }
    (void)json_object_set_new(
        root, "partitions",
        json_pack("{s:o, s:o, s:o, s:o}", "issue", issue, "llc_port", llc, "dram", dram, "pages", pages));
    (void)json_object_set_new(root, "traffic", json_pack("{s:o}", "bytes", traffic_json(partitions, bytes)));
}
