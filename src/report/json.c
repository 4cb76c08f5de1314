/* json: a timed run as data. Everything here is deterministic. */
#include "report/report.h"

static void set_real(json_t *to, const char *key, double value)
{
    (void)json_object_set_new(to, key, json_real(value));
}
static void set_count(json_t *to, const char *key, uint64_t value)
{
    (void)json_object_set_new(to, key, json_integer((json_int_t)value));
}

static json_t *levels_json(const struct measure *m)
{
    json_t *levels = json_object();
    for (uint32_t k = 0; k < MEASURE_LEVELS; k++) {
        const struct level_use *l = &m->levels[k];
        if (!(l->peak_bytes_per_second > 0)) continue;
        json_t *level = json_object();
        set_real(level, "bytes_per_second", l->bytes_per_second);
        set_real(level, "peak_bytes_per_second", l->peak_bytes_per_second);
        set_real(level, "utilisation", l->use);
        if (k != LEVEL_L1) set_real(level, "utilisation_of_busiest", l->busiest);
        (void)json_object_set_new(levels, measure_level_keys[k], level);
    }
    return levels;
}

/* What nothing was counted for is left out, as a level that the machine lacks: no value is no zero. */
static void set_known(json_t *to, const char *key, double value, bool known)
{
    if (known) set_real(to, key, value);
}

static json_t *hit_rates_json(const struct measure *m)
{
    json_t *rates = json_object();
    set_known(rates, "l1", m->l1_hits, m->has_loads);
    set_known(rates, "l1_merged", m->l1_merged, m->has_loads);
    set_known(rates, "llc", m->llc_hits, m->has_llc_reads);
    set_known(rates, "llc_merged", m->llc_merged, m->has_llc_reads);
    set_known(rates, "l1_tlb", m->l1_tlb_hits, m->has_tlb);
    set_known(rates, "l2_tlb", m->l2_tlb_hits, m->has_l2_tlb);
    set_known(rates, "dram_row", m->row_hits, m->has_columns);
    return rates;
}

static json_t *latencies_json(const struct measure *m, const struct config *c)
{
    const double sm = (double)c->clock.sm; /* all in cycles of the SMs */
    const double net = (double)c->clock.net, dram = (double)c->clock.dram;
    json_t *latencies = json_object();
    set_known(latencies, "load_cycles", m->load_latency, m->has_loads_done);
    set_known(latencies, "l1_miss_cycles", m->read_latency, m->has_reads);
    set_known(latencies, "request_network_cycles", m->request_latency * sm / net, m->has_requests);
    set_known(latencies, "reply_network_cycles", m->reply_latency * sm / net, m->has_replies);
    set_known(latencies, "dram_cycles", m->dram_latency * sm / dram, m->has_dram_reads);
    return latencies;
}

/* What a kernel and the whole run have in common. Cycles are counted from the launch: so many of them are the
 * gap before the start. */
static void add_measure(json_t *to, const struct measure *m, uint64_t gap_cycles, const struct config *c)
{
    json_t *stalls = json_object();
    set_count(to, "cycles", m->cycles);
    set_count(to, "gap_cycles", gap_cycles);
    set_real(to, "seconds", m->seconds);
    set_real(to, "ipc", m->ipc);
    set_real(to, "ipc_per_sm", m->ipc_per_sm);
    set_real(to, "ipc_peak", m->ipc_peak);
    (void)json_object_set_new(to, "bound_by", json_string(measure_bound_keys[m->bound]));
    (void)json_object_set_new(to, "bound_by_why", json_string(m->why));
    set_real(to, "warps_per_sm", m->warps);
    set_real(to, "occupancy", m->occupancy);
    for (uint32_t k = 0; k < MEASURE_STALLS; k++) set_real(stalls, measure_stall_keys[k], m->stalls[k]);
    (void)json_object_set_new(to, "scheduler_cycles", stalls);
    (void)json_object_set_new(to, "bandwidth", levels_json(m));
    (void)json_object_set_new(to, "hit_rates", hit_rates_json(m));
    (void)json_object_set_new(to, "mean_latencies", latencies_json(m, c));
    set_real(to, "reads_in_flight", m->reads_in_flight);
    set_real(to, "walker_occupancy", m->walkers_busy);
}

static json_t *dim(const uint32_t v[3])
{
    return json_pack("[I, I, I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

static json_t *kernel_json(const struct report *r, const struct system_kernel_record *k)
{
    struct measure m;
    const struct span span = {.config = r->config,
                              .stats = &k->stats,
                              .use = &k->use,
                              .cycles = report_kernel_cycles(k),
                              .gap_cycles = k->start_cyc - k->launch_cyc - 1,
                              .blocks = k->blocks};
    measure_span(&span, &m);
    json_t *row = json_object();
    (void)json_object_set_new(row, "name", json_string(k->name));
    set_count(row, "app", k->app);
    (void)json_object_set_new(row, "grid", dim(k->grid));
    (void)json_object_set_new(row, "block", dim(k->block));
    set_count(row, "registers_per_thread", k->registers_per_thread);
    set_count(row, "shared_bytes", k->shared_bytes);
    set_count(row, "blocks_per_sm", k->blocks_per_sm);
    (void)json_object_set_new(row, "limited_by", json_string(k->limited_by));
    set_count(row, "launch", k->launch_cyc);
    set_count(row, "start", k->start_cyc);
    set_count(row, "end", k->end_cyc);
    if (k->shared) (void)json_object_set_new(row, "shared", json_true());
    set_count(row, "warp_instructions", k->stats.sm.warp_instructions);
    set_count(row, "thread_instructions", k->stats.sm.thread_instructions);
    add_measure(row, &m, span.gap_cycles, r->config);
    return row;
}

void report_json(const struct report *r, json_t *root)
{
    json_t *totals = json_object_get(root, "totals"), *kernels = json_array();
    add_measure(totals, &r->total, r->gap_cycles, r->config);
    (void)json_object_set_new(totals, "stopped", json_boolean(system_was_stopped(r->system)));
    (void)json_object_set_new(totals, "link_stages", report_links_json(r));
    json_t *links = report_node_links_json(r);
    if (json_array_size(links))
        (void)json_object_set_new(totals, "links", links);
    else
        json_decref(links);
    json_t *pages = json_array();
    for (uint32_t k = 0; k < r->config->system.gpus; k++)
        (void)json_array_append_new(pages, json_integer((json_int_t)system_pages_of_gpu(r->system, k)));
    (void)json_object_set_new(totals, "pages_of_gpus", pages);
    (void)json_object_set_new(totals, "time_bounds", report_time_bounds_json(r));
    (void)json_object_set_new(totals, "slice_queues", report_depths_json(r));
    for (uint32_t k = 0; k < system_kernel_count(r->system); k++)
        (void)json_array_append_new(kernels, kernel_json(r, system_kernel_record(r->system, k)));
    (void)json_object_set_new(root, "kernels", kernels);
    json_t *stats = stats_json(&r->stats), *series = stats_series_json(r->registry);
    (void)json_object_update(stats, series);
    json_decref(series);
    (void)json_object_set_new(root, "stats", stats);
    report_partitions_json(r, root);
    report_replicas_json(r, root);
    report_nodes_json(r, root);
}

void report_csv(const struct report *r, FILE *out)
{
    stats_csv(&r->stats, out); /* with the header */
    (void)fprintf(out, "totals.cycles,%llu,cycles\n", (unsigned long long)r->total.cycles);
    (void)fprintf(out, "totals.seconds,%.9g,s\n", r->total.seconds);
    (void)fprintf(out, "totals.ipc,%.6g,warp instructions per cycle\n", r->total.ipc);
    (void)fprintf(out, "totals.occupancy,%.6g,\n", r->total.occupancy);
    for (uint32_t k = 0; k < MEASURE_STALLS; k++)
        (void)fprintf(out, "totals.scheduler_cycles.%s,%.6g,\n", measure_stall_keys[k], r->total.stalls[k]);
    for (uint32_t k = 0; k < MEASURE_LEVELS; k++)
        if (r->total.levels[k].peak_bytes_per_second > 0)
            (void)fprintf(out, "totals.bandwidth.%s,%.6g,B/s\n", measure_level_keys[k],
                          r->total.levels[k].bytes_per_second);
    stats_series_csv(r->registry, out);
}
