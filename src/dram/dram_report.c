/* dram_report: what dram_model measured, as a table and as JSON. */
#include "dram/dram_model.h"

enum { BAR_CHARS = 40 };

static void print_latency(FILE *out, const struct dram_result *r)
{
    fprintf(out, "read latency (cycles)  mean %.2f  p50 %lu  p95 %lu  p99 %lu  max %lu\n",
            r->latency_mean_cyc, r->latency_p50_cyc, r->latency_p95_cyc, r->latency_p99_cyc,
            r->latency_max_cyc);
    uint64_t most = 1;
    for (uint32_t i = 0; i < r->latency_bins; i++)
        if (r->latency_counts[i] > most) most = r->latency_counts[i];
    for (uint32_t i = 0; i < r->latency_bins; i++) {
        if (!r->latency_counts[i]) continue;
        const int bar = (int)((r->latency_counts[i] * BAR_CHARS + most - 1) / most);
        fprintf(out, "  from %7lu %10lu  %.*s\n", r->latency_edges[i], r->latency_counts[i], bar,
                "########################################");
    }
}

void dram_model_print(FILE *out, const struct dram_result *r, double clock_hz)
{
    const struct dram_stats *c = &r->stats;
    fprintf(out, "requests      %10lu  (%lu reads, %lu writes; %lu forwarded, %lu merged)\n",
            r->request_count, r->reads, r->writes, c->forwarded, c->merged);
    fprintf(out, "cycles        %10lu\n", r->cycles);
    fprintf(out, "bandwidth     %10.3f  B/cycle  %.2f %% of peak", r->bytes_per_cycle, r->percent_of_peak);
    if (clock_hz > 0)
        fprintf(out, "  %.3f GB/s at %.0f MHz", r->bytes_per_cycle * clock_hz / 1e9, clock_hz / 1e6);
    fprintf(out, "\nrow buffer    %10lu  hits  %lu misses  %lu conflicts\n", c->row_hits, c->row_misses,
            c->row_conflicts);
    fprintf(out, "commands      %10lu  ACT  %lu PRE  %lu PREA  %lu RD  %lu WR  %lu REF\n", c->activates,
            c->precharges, c->precharge_alls, c->column_reads, c->column_writes, c->refreshes);
    if (r->reads) print_latency(out, r);
}

static json_t *integer(uint64_t value) { return json_integer((json_int_t)value); }

static json_t *histogram(const struct dram_result *r)
{
    json_t *edges = json_array(), *counts = json_array();
    for (uint32_t i = 0; i < r->latency_bins; i++) {
        json_array_append_new(edges, integer(r->latency_edges[i]));
        json_array_append_new(counts, integer(r->latency_counts[i]));
    }
    return json_pack("{s:o, s:o}", "edges", edges, "counts", counts);
}

static json_t *latency_json(const struct dram_result *r)
{
    return json_pack("{s:f, s:o, s:o, s:o, s:o, s:o}", "mean", r->latency_mean_cyc, "p50",
                     integer(r->latency_p50_cyc), "p95", integer(r->latency_p95_cyc), "p99",
                     integer(r->latency_p99_cyc), "max", integer(r->latency_max_cyc), "histogram",
                     histogram(r));
}

json_t *dram_model_json(const struct dram_result *r, double clock_hz)
{
    const struct dram_stats *c = &r->stats;
    json_t *commands =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "ACT", integer(c->activates), "PRE",
                  integer(c->precharges), "PREA", integer(c->precharge_alls), "RD", integer(c->column_reads),
                  "WR", integer(c->column_writes), "REF", integer(c->refreshes));
    json_t *root =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f}", "requests", integer(r->request_count), "reads",
                  integer(r->reads), "writes", integer(r->writes), "cycles", integer(r->cycles), "bytes",
                  integer(r->bytes), "bytes_per_cycle", r->bytes_per_cycle, "peak_bytes_per_cycle",
                  r->peak_bytes_per_cycle, "percent_of_peak", r->percent_of_peak);
    if (clock_hz > 0)
        json_object_set_new(root, "gigabytes_per_second", json_real(r->bytes_per_cycle * clock_hz / 1e9));
    if (r->reads) json_object_set_new(root, "read_latency_cycles", latency_json(r));
    json_object_set_new(root, "row_hits", integer(c->row_hits));
    json_object_set_new(root, "row_misses", integer(c->row_misses));
    json_object_set_new(root, "row_conflicts", integer(c->row_conflicts));
    json_object_set_new(root, "forwarded", integer(c->forwarded));
    json_object_set_new(root, "merged", integer(c->merged));
    json_object_set_new(root, "refused", integer(c->refused));
    json_object_set_new(root, "write_drains", integer(c->drains));
    json_object_set_new(root, "starved", integer(c->starved));
    json_object_set_new(root, "commands", commands);
    return root;
}
