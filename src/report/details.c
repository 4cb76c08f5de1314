/* details: what a researcher asks for after the first screen: causes, waits, balance, histograms, and how it
 * went over time. */
#include <string.h>

#include "base/diag.h"
#include "report/report.h"
#include "request/request.h"

enum { BAR = 36, TIME_COLUMNS = 60 };

static double of(double above, double below) { return below > 0 ? above / below : 0; }

static void title(FILE *out, const char *text) { (void)fprintf(out, "\n  %s\n", text); }

/* ---- shares of a whole ---- */

struct part {
    const char *name;
    uint64_t count;
};

static void write_parts(const struct report *r, FILE *out, const struct part *parts, size_t count,
                        double whole)
{
    char text[DRAW_TEXT];
    for (size_t k = 0; k < count; k++) {
        if (!parts[k].count) continue;
        const double share = of((double)parts[k].count, whole);
        (void)fprintf(out, "    %-34s %14s %5.1f %%  ", parts[k].name, draw_count(text, parts[k].count),
                      100 * share);
        draw_bar(out, share, BAR, r->ascii);
        (void)fputc('\n', out);
    }
}

/* What other simulators call reservation fails: accesses that have to try again. */
static void write_stops(const struct report *r, FILE *out)
{
    const struct l1_stats *s = &r->stats.l1;
    const struct part stops[] = {{"for want of an MSHR, or of merges", s->wait_mshr},
                                 {"for want of a way: all pending", s->wait_way},
                                 {"for want of room in the miss queue", s->wait_queue},
                                 {"for want of room to wait for pages", r->stats.sm.stall_page_busy}};
    if (!(s->wait_mshr + s->wait_way + s->wait_queue + r->stats.sm.stall_page_busy)) return;
    title(out, "memory pipes stopped (reservation), of all SM cycles");
    write_parts(r, out, stops, sizeof stops / sizeof *stops,
                (double)r->total.cycles * (double)config_sms(r->config));
}

static void write_misses(const struct report *r, FILE *out)
{
    const struct l1_stats *s = &r->stats.l1;
    const bool told_apart = r->config->l1.count_conflicts;
    const struct part parts[] = {
        {"cold: never here in this kernel", s->misses_cold},
        {"replaced: made room before", told_apart ? 0 : s->misses_replaced},
        {"capacity: made room, L1 too small", s->misses_capacity},
        {"conflict: made room, set too small", s->misses_conflict},
        {"a store threw the line out", s->misses_write_evict},
        {"invalidated by kernel or fence", s->misses_coherence},
        {"line here, sector not", s->misses_sector},
    };
    if (!s->misses) return;
    title(out, "L1 misses by cause");
    write_parts(r, out, parts, sizeof parts / sizeof *parts, (double)s->misses);
    if (s->misses_replaced && !told_apart)
        (void)fputs("    (replaced: for capacity or for conflict? -s l1.count_conflicts=true tells)\n", out);
    write_stops(r, out);
}

static void write_slices(const struct report *r, FILE *out)
{
    const struct llc_stats *s = &r->stats.llc;
    const struct part parts[] = {
        {"served a request", s->tag_cycles},
        {"stopped: MSHRs or their merges", s->wait_mshr},
        {"stopped: every way pending", s->wait_way},
        {"stopped: data port behind", s->wait_port},
        {"stopped: replies wait for network", s->wait_reply},
        {"stopped: memory channel behind", s->wait_memory},
    };
    if (!s->requests) return;
    title(out, "LLC tag stages, of all slice cycles");
    write_parts(r, out, parts, sizeof parts / sizeof *parts,
                r->total.seconds * (double)r->config->clock.llc * (double)config_slices(r->config));
    report_depths_text(r, out);
}

/* ---- balance: the least, mean and largest over parts of one kind ---- */

static void write_balance_row(const struct report *r, FILE *out, const char *name, enum stat_group group,
                              size_t word, size_t second_word)
{
    uint64_t least = UINT64_MAX, most = 0, sum = 0, count = 0;
    char a[DRAW_TEXT], b[DRAW_TEXT], c[DRAW_TEXT];
    for (uint32_t k = 0; k < r->registry->block_count; k++) {
        const struct stats_block *block = &r->registry->blocks[k];
        if (block->group != group) continue;
        const uint64_t v = block->words[word] + (second_word == SIZE_MAX ? 0 : block->words[second_word]);
        if (v < least) least = v;
        if (v > most) most = v;
        sum += v;
        count++;
    }
    if (!sum) return;
    const double mean = (double)sum / (double)count;
    (void)fprintf(out, "    %-34s %12s %12s %12s %9.2f\n", name, draw_count(a, least),
                  draw_count(b, (uint64_t)(mean + 0.5)), draw_count(c, most), (double)most / mean);
}

#define WORD(group, name) (offsetof(struct group##_stats, name) / sizeof(uint64_t))

static void write_balance(const struct report *r, FILE *out)
{
    const struct llc_stats *s = &r->stats.llc;
    (void)fprintf(out, "\n  %-36s %12s %12s %12s %9s\n", "balance", "least", "mean", "most", "most/mean");
    write_balance_row(r, out, "warp instructions of an SM", STAT_GROUP_sm, WORD(sm, warp_instructions),
                      SIZE_MAX);
    write_balance_row(r, out, "blocks of an SM", STAT_GROUP_sm, WORD(sm, blocks_started), SIZE_MAX);
    write_balance_row(r, out, "requests of an LLC slice", STAT_GROUP_llc, WORD(llc, requests), SIZE_MAX);
    write_balance_row(r, out, "data port cycles of an LLC slice", STAT_GROUP_llc, WORD(llc, port_cycles),
                      SIZE_MAX);
    write_balance_row(r, out, "columns of a memory channel", STAT_GROUP_dram, WORD(dram, column_reads),
                      WORD(dram, column_writes));
    if (s->local + s->remote)
        (void)fprintf(out,
                      "    requests from SMs of the slice's own partition: %.1f %%, of others: %.1f %%\n",
                      100 * of((double)s->local, (double)(s->local + s->remote)),
                      100 * of((double)s->remote, (double)(s->local + s->remote)));
}

/* ---- single figures ---- */

static void write_network(const struct report *r, FILE *out, const char *name, const struct system_net_use *u,
                          const struct level_use *l, double latency)
{
    char packets[DRAW_TEXT];
    if (!u->packets) return;
    (void)fprintf(
        out, "    %-8s %11s packets of %.0f B, %.1f cycles; e %.3f, busiest link %.3f, blocked %.3f\n", name,
        draw_count(packets, u->packets), of((double)u->bytes, (double)u->packets), latency, l->use,
        l->busiest,
        of((double)u->blocked_cyc, (double)u->links * r->total.seconds * (double)r->config->clock.net));
}

static void write_figures(const struct report *r, FILE *out)
{
    const struct measure *m = &r->total;
    const struct stats *s = &r->stats;
    const double sms = (double)config_sms(r->config);
    if (m->has_reads) {
        title(out, "lines in flight (requests x latency / cycles)");
        (void)fprintf(out, "    reads %.1f of all SMs, %.2f per SM; at most %llu lines missing in one SM\n",
                      m->reads_in_flight, m->reads_in_flight / sms, (unsigned long long)s->l1.mshr_peak);
        (void)fprintf(out,
                      "    loads wait %.0f cycles from issue to last value; %.2f lines per instruction\n",
                      m->load_latency, of((double)s->sm.line_accesses, (double)s->sm.memory_instructions));
    }
    if (r->use.requests.packets) {
        title(out, "networks (e: share of width x clock that the busiest stage carries)");
        write_network(r, out, "requests", &r->use.requests, &m->levels[LEVEL_REQUESTS], m->request_latency);
        write_network(r, out, "replies", &r->use.replies, &m->levels[LEVEL_REPLIES], m->reply_latency);
        report_links_text(r, out);
        report_node_links_text(r, out);
        report_time_bounds_text(r, out);
    }
    const double columns = (double)(s->dram.column_reads + s->dram.column_writes);
    if (columns > 0) {
        title(out, "DRAM");
        (void)fprintf(out,
                      "    %.3f activates per KiB, %.1f columns per activate; busiest channel %.1f %% used\n",
                      of((double)s->dram.activates * 1024, columns * (double)r->config->dram.column_size),
                      of(columns, (double)s->dram.activates), 100 * m->levels[LEVEL_DRAM].busiest);
        (void)fprintf(out,
                      "    rows: %.1f %% hit, %.1f %% bank closed, %.1f %% other row open; at most %llu "
                      "columns waiting\n",
                      100 * m->row_hits,
                      100 * of((double)s->dram.row_misses,
                               (double)(s->dram.row_hits + s->dram.row_misses + s->dram.row_conflicts)),
                      100 * of((double)s->dram.row_conflicts,
                               (double)(s->dram.row_hits + s->dram.row_misses + s->dram.row_conflicts)),
                      (unsigned long long)s->dram.waiting_peak);
    }
    if (!m->has_l2_tlb) return;
    title(out, "translation");
    (void)fprintf(out, "    %.1f %% of walkers busy, %.1f %% of L2 TLB ports; %llu walks of %.0f cycles",
                  100 * m->walkers_busy, 100 * m->tlb_port_use, (unsigned long long)s->mmu.walks,
                  of((double)s->mmu.walk_cycles, (double)s->mmu.walks_done));
    (void)fprintf(out, ", %.0f waiting\n    %llu pages placed, %llu faults\n",
                  of((double)s->mmu.walk_wait_cycles, (double)s->mmu.walks),
                  (unsigned long long)s->mmu.pages_placed, (unsigned long long)s->mmu.faults);
}

/* ---- histograms ---- */

static void write_histogram(const struct report *r, FILE *out, const char *name, const uint64_t *counts,
                            uint32_t buckets)
{
    uint64_t sum = 0;
    char a[DRAW_TEXT], b[DRAW_TEXT], range[2 * DRAW_TEXT + 8];
    for (uint32_t k = 0; k < buckets; k++) sum += counts[k];
    if (!sum) return;
    title(out, name);
    for (uint32_t k = 0; k < buckets; k++) {
        if (!counts[k]) continue;
        (void)snprintf(range, sizeof range, "%s to %s", draw_count(a, stats_bucket_floor(k)),
                       k + 1 < buckets ? draw_count(b, stats_bucket_floor(k + 1) - 1) : "more");
        const struct part part = {range, counts[k]};
        write_parts(r, out, &part, 1, (double)sum);
    }
}

#define HISTOGRAM(r, out, name, counts) \
    write_histogram((r), (out), (name), (counts), sizeof(counts) / sizeof *(counts))

/* ---- over time ---- */

static const uint64_t *series(const struct report *r, const char *group, const char *name)
{
    for (size_t row = 0; row < series_row_count; row++)
        if (!strcmp(series_rows[row].group_name, group) && !strcmp(series_rows[row].name, name))
            return r->registry->series_values + row * SERIES_POINTS_MAX;
    diag_bug("report", 0, "there is no series %s.%s", group, name);
}

/* A resource over time: shares of its peak. Several points share a column. */
struct times {
    const char *name;
    const uint64_t *a, *b; /* growth per interval, added; b may be NULL */
    double per_cycle;      /* what it carries at most in an SM cycle */
    double full;           /* share from which on it counts as used up */
    char letter;           /* in the line that says what bounded the run */
    double values[TIME_COLUMNS];
};

static uint32_t time_columns(const struct report *r)
{
    return r->registry->series_points < TIME_COLUMNS ? r->registry->series_points : TIME_COLUMNS;
}

static void measure_times(const struct report *r, struct times *t)
{
    const struct stats_registry *s = r->registry;
    const uint32_t points = s->series_points, columns = time_columns(r);
    for (uint32_t k = 0; k < columns; k++) {
        const uint32_t from = (uint32_t)((uint64_t)k * points / columns);
        const uint32_t to = (uint32_t)((uint64_t)(k + 1) * points / columns);
        uint64_t growth = 0;
        for (uint32_t i = from; i < to; i++) growth += t->a[i] + (t->b ? t->b[i] : 0);
        const uint64_t begin = from * s->series_interval_cyc, full = to * s->series_interval_cyc;
        const uint64_t end = full < r->total.cycles ? full : r->total.cycles;
        t->values[k] = end > begin ? (double)growth / (double)(end - begin) / t->per_cycle : 0;
    }
}

static void write_over_time(const struct report *r, FILE *out, const struct times *t)
{
    const uint32_t columns = time_columns(r);
    double top = 0;
    for (uint32_t k = 0; k < columns; k++)
        if (t->values[k] > top) top = t->values[k];
    (void)fprintf(out, "    %-16s most %5.1f %%  ", t->name, 100 * top);
    draw_line(out, t->values, columns, top, r->ascii);
    (void)fputc('\n', out);
}

/* The resource that is nearest to what it can carry, if it is used up; else a dash, a point when nothing
 * moved. */
static char bound_at(const struct times *t, size_t count, uint32_t column)
{
    const struct times *most = t;
    bool any = false;
    for (size_t k = 0; k < count; k++) {
        any |= t[k].values[column] > 0;
        if (t[k].values[column] / t[k].full > most->values[column] / most->full) most = &t[k];
    }
    return !any ? '.' : most->values[column] >= most->full ? most->letter : '-';
}

/* Bytes that links between nodes deliver at most in an SM cycle. A packet counts once in the series, but on every link
 * of its path in the level's use. 0: the machine has no such links, or they carried nothing. */
static double node_bytes_per_cycle(const struct report *r, enum measure_level level, uint64_t delivered_bytes)
{
    const struct level_use *const l = &r->total.levels[level];
    if (!(l->bytes_per_second > 0) || !(r->total.seconds > 0)) return 0;
    const double delivered = (double)delivered_bytes / r->total.seconds;
    return l->peak_bytes_per_second / (double)r->config->clock.sm * delivered / l->bytes_per_second;
}

static void write_times(const struct report *r, FILE *out)
{
    const struct config *c = r->config;
    const double sm = (double)c->clock.sm;
    char interval[DRAW_TEXT];
    if (r->registry->series_points < 2) return;
    struct times times[] = {
        {.name = "issue",
         .a = series(r, "sm", "instructions_over_time"),
         .per_cycle = r->total.ipc_peak,
         .full = MEASURE_FULL_ISSUE,
         .letter = 'I'},
        {.name = "L1",
         .a = series(r, "l1", "reads_over_time"),
         .b = series(r, "l1", "writes_over_time"),
         .per_cycle = r->total.levels[LEVEL_L1].peak_bytes_per_second / sm / LINE_BYTES,
         .full = MEASURE_FULL_L1,
         .letter = '1'},
        {.name = "networks",
         .a = series(r, "net", "bytes_over_time"),
         .per_cycle = (r->total.levels[LEVEL_REQUESTS].peak_bytes_per_second +
                       r->total.levels[LEVEL_REPLIES].peak_bytes_per_second) /
                      sm,
         .full = MEASURE_FULL_NET,
         .letter = 'N'},
        {.name = "LLC data ports",
         .a = series(r, "llc", "port_over_time"),
         .per_cycle = (double)config_slices(c) * (double)c->clock.llc / sm,
         .full = MEASURE_FULL_LLC,
         .letter = 'L'},
        {.name = "DRAM",
         .a = series(r, "dram", "reads_over_time"),
         .b = series(r, "dram", "writes_over_time"),
         .per_cycle = r->total.levels[LEVEL_DRAM].peak_bytes_per_second / sm / (double)c->dram.column_size,
         .full = MEASURE_FULL_DRAM,
         .letter = 'D'},
        {.name = "chiplet links",
         .a = series(r, "chiplet_net", "bytes_over_time"),
         .per_cycle = node_bytes_per_cycle(r, LEVEL_CHIPLETS, r->stats.chiplet_net.taken_bytes),
         .full = MEASURE_FULL_LINKS,
         .letter = 'C'},
        {.name = "GPU links",
         .a = series(r, "gpu_net", "bytes_over_time"),
         .per_cycle = node_bytes_per_cycle(r, LEVEL_GPUS, r->stats.gpu_net.taken_bytes),
         .full = MEASURE_FULL_LINKS,
         .letter = 'G'},
    };
    /* links between chiplets and between GPUs come last and have a row only if they carried something */
    enum { TIMES = sizeof times / sizeof *times, LINKS = 2 };
    size_t count = TIMES - LINKS;
    for (size_t k = count; k < TIMES; k++)
        if (times[k].per_cycle > 0) times[count++] = times[k];
    (void)fprintf(out,
                  "\n  over time: %u points of %s cycles, each line to its own scale; most: of the peak\n",
                  r->registry->series_points, draw_count(interval, r->registry->series_interval_cyc));
    for (size_t k = 0; k < count; k++) {
        measure_times(r, &times[k]);
        write_over_time(r, out, &times[k]);
    }
    (void)fputs("    bound by                      ", out);
    for (uint32_t k = 0; k < time_columns(r); k++) (void)fputc(bound_at(times, count, k), out);
    (void)fputs("\n    (I issue, 1 L1, N networks, L LLC data ports, D DRAM, ", out);
    if (count > TIMES - LINKS) (void)fputs("C chiplet links, G GPU links,\n    ", out);
    (void)fputs("- no mean at limit, . nothing moves)\n", out);
}

/* All reads, or those to the own partition and to others apart when there are both. */
static void write_read_times(const struct report *r, FILE *out)
{
    const struct sm_stats *s = &r->stats.sm;
    enum { BUCKETS = sizeof s->request_latency / sizeof *s->request_latency };
    uint64_t far[BUCKETS], near = 0, others = 0;
    for (uint32_t k = 0; k < BUCKETS; k++) {
        far[k] = s->request_latency[k] - s->near_latency[k];
        near += s->near_latency[k];
        others += far[k];
    }
    if (!near || !others) {
        HISTOGRAM(r, out, "reads by time from the L1 and back, cycles", s->request_latency);
        return;
    }
    HISTOGRAM(r, out, "reads within a partition by time from the L1 and back, cycles", s->near_latency);
    HISTOGRAM(r, out, "reads of other partitions by time from the L1 and back, cycles", far);
}

/* How the host simulates the machine; no result depends on it. */
static void write_windows(const struct report *r, FILE *out)
{
    const char *off = system_windows_off(r->system);
    (void)fprintf(out, "\n  lookahead windows: %s%s\n", off ? "off, " : "on", off ? off : "");
}

void report_details(const struct report *r, FILE *out)
{
    write_times(r, out);
    write_misses(r, out);
    write_figures(r, out);
    write_slices(r, out);
    write_balance(r, out);
    report_structures_text(r, out);
    report_copies_details(r, out);
    write_read_times(r, out);
    HISTOGRAM(r, out, "packets by time in the networks, cycles", r->stats.net.latency);
    HISTOGRAM(r, out, "LLC lines by requests (llc.count_lines)", r->stats.llc.requests_per_line);
    HISTOGRAM(r, out, "LLC lines by partitions that asked for them", r->stats.llc.partitions_per_line);
    HISTOGRAM(r, out, "pages by SMs that used them (mmu.count_sharing)", r->stats.mmu.sms_per_page);
    HISTOGRAM(r, out, "LLC fills by time to memory and back, cycles", r->stats.llc.memory_latency);
    HISTOGRAM(r, out, "DRAM read columns by time, DRAM cycles", r->stats.dram.read_latency);
    HISTOGRAM(r, out, "memory instructions by lines touched", r->stats.sm.lines_per_access);
    write_windows(r, out);
}
