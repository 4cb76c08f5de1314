/* text: one screen about a run. */
#include <string.h>

#include "check/check.h"
#include "config/units.h"
#include "report/report.h"

enum { BAR = 40, KERNELS_SHOWN = 8, KERNEL_NAME = 30 };

/* "  name         " before the first line of a paragraph. */
static void label(FILE *out, const char *name) { (void)fprintf(out, "  %-12s ", name); }
enum { LABEL = 15 };

static void write_head(const struct report *r, FILE *out)
{
    char clock[UNITS_TEXT_MAX], llc[UNITS_TEXT_MAX], name[60];
    const struct config *c = r->config;
    char parts[64] = "";
    if (c->system.gpus > 1) (void)snprintf(parts, sizeof parts, "%u GPUs, ", c->system.gpus);
    if (config_chiplets(c) > c->system.gpus)
        (void)snprintf(parts + strlen(parts), sizeof parts - strlen(parts), "%u chiplets, ",
                       config_chiplets(c));
    (void)fprintf(out, "%s on %s: %s%llu SMs at %s, LLC %s in %llu slices, %llu memory channels\n\n",
                  draw_clipped(name, sizeof name - 30, r->workload), r->machine, parts,
                  (unsigned long long)config_sms(c), units_print(c->clock.sm, QUANTITY_FREQ, clock),
                  units_print(c->gpu.llc_size * c->system.gpus, QUANTITY_BYTES, llc),
                  (unsigned long long)config_slices(c), (unsigned long long)config_channels(c));
}

static const char *stopped_by(const struct report *r)
{
    return r->stopped_by ? r->stopped_by : "--max-instructions";
}

static void write_totals(const struct report *r, FILE *out)
{
    char a[DRAW_TEXT], b[DRAW_TEXT];
    const struct measure *m = &r->total;
    label(out, "time");
    (void)fprintf(out, "%s cycles = %s", draw_count(a, m->cycles), draw_seconds(b, m->seconds));
    if (r->gap_cycles) (void)fprintf(out, ", %s of them gaps before launches", draw_count(a, r->gap_cycles));
    if (system_was_stopped(r->system)) (void)fprintf(out, ", stopped by %s", stopped_by(r));
    (void)fputc('\n', out);
    label(out, "work");
    (void)fprintf(out, "%s warp instructions, ", draw_short(a, (double)r->stats.sm.warp_instructions));
    (void)fprintf(out, "%s thread instructions (%.1f lanes each)\n",
                  draw_short(b, (double)r->stats.sm.thread_instructions), m->lanes);
    label(out, "IPC");
    (void)fprintf(out, "%.2f warp instructions per cycle, %.*f per SM: %.1f %% of the peak of %.0f\n", m->ipc,
                  m->ipc_per_sm < 0.1 ? 4 : 2, m->ipc_per_sm, 100 * m->ipc / m->ipc_peak, m->ipc_peak);
    label(out, "bound by");
    char line[240];
    (void)snprintf(line, sizeof line, "%s%s%s", measure_bound_names[m->bound], m->why[0] ? ": " : "", m->why);
    draw_wrapped(out, LABEL, line);
    label(out, "occupancy");
    int len = snprintf(line, sizeof line, "%.*f of %u warps per SM (%.0f %%)", m->warps < 0.95 ? 2 : 1,
                       m->warps, r->config->sm.warps, 100 * m->occupancy);
    if (r->kernel_count == 1) {
        const struct system_kernel_record *k = r->kernels->first;
        (void)snprintf(line + len, sizeof line - (size_t)len, "; %u blocks of %u threads fit, limited by %s",
                       k->blocks_per_sm, k->block[0] * k->block[1] * k->block[2], k->limited_by);
    }
    draw_wrapped(out, LABEL, line);
    (void)fputc('\n', out);
}

static void write_stalls(const struct report *r, FILE *out)
{
    uint32_t tenths[MEASURE_STALLS];
    draw_tenths(r->total.stalls, MEASURE_STALLS, tenths);
    (void)fputs("  where the scheduler cycles went\n", out);
    for (uint32_t k = 0; k < MEASURE_STALLS; k++) {
        if (!tenths[k]) continue;
        (void)fprintf(out, "    %-22s %5u.%u %%  ", measure_stall_names[k], tenths[k] / 10, tenths[k] % 10);
        draw_bar(out, r->total.stalls[k], BAR, r->ascii);
        (void)fputc('\n', out);
    }
    (void)fputc('\n', out);
}

static void write_level(const struct report *r, FILE *out, const char *name, double bytes_per_second,
                        double peak, double use)
{
    (void)fprintf(out, "    %-16s %9.1f %8.0f %6.1f %%  ", name, bytes_per_second * 1e-9, peak * 1e-9,
                  100 * use);
    draw_bar(out, use, BAR, r->ascii);
    (void)fputc('\n', out);
}

static void write_levels(const struct report *r, FILE *out)
{
    (void)fputs("  bandwidth                GB/s     peak     used\n", out);
    for (uint32_t k = 0; k < MEASURE_LEVELS; k++) {
        const struct level_use *l = &r->total.levels[k];
        if (l->peak_bytes_per_second > 0)
            write_level(r, out, measure_level_names[k], l->bytes_per_second, l->peak_bytes_per_second,
                        l->use);
    }
    (void)fputc('\n', out);
}

/* Adds "name 53.0 %" to a list; more: those that find their line on the way. */
static void add_rate(char *line, size_t bytes, const char *name, double rate, double more, const char *how)
{
    size_t len = strlen(line);
    len += (size_t)snprintf(line + len, bytes - len, "%s%s %.1f %%", len ? ", " : "", name, 100 * rate);
    if (more >= 0.0005) (void)snprintf(line + len, bytes - len, " (+%.1f %%%s)", 100 * more, how);
}

static void write_hit_rates(const struct report *r, FILE *out)
{
    const struct measure *m = &r->total;
    char line[300] = "";
    if (m->has_loads) add_rate(line, sizeof line, "L1", m->l1_hits, m->l1_merged, " on the way");
    if (m->has_llc_reads)
        add_rate(line, sizeof line, "LLC", m->llc_hits, m->llc_merged, m->has_loads ? "" : " on the way");
    if (m->has_tlb) add_rate(line, sizeof line, "L1 TLB", m->l1_tlb_hits, 0, "");
    if (m->has_l2_tlb) add_rate(line, sizeof line, "L2 TLB", m->l2_tlb_hits, 0, "");
    label(out, "hit rates");
    draw_wrapped(out, LABEL, line[0] ? line : "no access to global memory");
}

/* How evenly pages lie, and what became of them. */
static void write_pages(const struct report *r, FILE *out)
{
    const struct mmu_stats *m = &r->stats.mmu;
    const struct pages_stats *p = &r->stats.pages;
    char line[300];
    if (!m->page_slots) return;
    uint64_t most = 0, least = UINT64_MAX;
    const uint32_t partitions = (uint32_t)config_partitions(r->config);
    for (uint32_t k = 0; k < partitions; k++) {
        const uint64_t pages = system_pages_of(r->system, k);
        if (pages > most) most = pages;
        if (pages < least) least = pages;
    }
    int length = snprintf(line, sizeof line, "%llu placed, %llu to %llu in a partition, balance %.2f",
                          (unsigned long long)m->pages_placed, (unsigned long long)least,
                          (unsigned long long)most, (double)m->pages_placed / (double)m->page_slots);
    if (p->migrations | p->replicas)
        (void)snprintf(line + length, sizeof line - (size_t)length,
                       "; %llu moved, %llu copies made, %llu collapsed; held for %.0f cycles on average",
                       (unsigned long long)p->migrations, (unsigned long long)p->replicas,
                       (unsigned long long)p->collapses,
                       (double)p->held_cyc / (double)(p->migrations + p->replicas + p->collapses));
    label(out, "pages");
    draw_wrapped(out, LABEL, line);
}

enum { GPU_PAGES_MIN = 8 };

/* Pages by the GPU that holds their frame. With fewer than GPU_PAGES_MIN in a GPU, single pages decide on the
 * balance: the footprint is too small for the page size. */
static void write_gpu_pages(const struct report *r, FILE *out)
{
    const uint32_t gpus = r->config->system.gpus;
    uint64_t most = 0, least = UINT64_MAX;
    char line[300];
    for (uint32_t k = 0; k < gpus; k++) {
        const uint64_t pages = system_pages_of_gpu(r->system, k);
        if (pages > most) most = pages;
        if (pages < least) least = pages;
    }
    if (gpus == 1 || !most) return;
    const int length = snprintf(line, sizeof line, "%llu to %llu pages in a GPU", (unsigned long long)least,
                                (unsigned long long)most);
    if (r->stats.pages.touch_replicas)
        (void)snprintf(line + length, sizeof line - (size_t)length,
                       "; memory with copies %.2f times that without",
                       (double)r->stats.pages.frames_peak / (double)r->stats.mmu.pages_placed);
    label(out, "GPUs");
    draw_wrapped(out, LABEL, line);
    if (least >= GPU_PAGES_MIN) return;
    (void)snprintf(
        line, sizeof line,
        "a GPU has fewer than %d pages, so single pages decide on the balance: use a larger size of the "
        "workload or a smaller map.page_size",
        GPU_PAGES_MIN);
    label(out, "warning");
    draw_wrapped(out, LABEL, line);
}

/* Where reads were served, on machines that tell near from far; what replication was decided on. */
static void write_partitions(const struct report *r, FILE *out)
{
    const struct llc_stats *l = &r->stats.llc;
    const struct nuba_stats *n = &r->stats.nuba;
    const double reads = (double)(l->home_reads + l->copy_reads + l->crossing_reads) / 100;
    char line[300], bytes[DRAW_TEXT];
    if (!config_slices_by_partition(r->config) || !(reads > 0) || !r->total.cycles) return;
    label(out, "partitions");
    (void)snprintf(
        line, sizeof line,
        "reads of SMs: %.1f %% served at home in the own partition, %.1f %% by copies there, %.1f %% "
        "crossed the network (%sB in all); %.2f replies per cycle",
        (double)l->home_reads / reads, (double)l->copy_reads / reads, (double)l->crossing_reads / reads,
        draw_short(bytes, (double)r->stats.slice_net.taken_bytes),
        (double)r->stats.sm.replies_received / (double)r->total.cycles);
    draw_wrapped(out, LABEL, line);
    write_pages(r, out);
    if (!n->epochs) return;
    label(out, "replication");
    (void)snprintf(
        line, sizeof line,
        "MDR: %llu epochs, %llu for copies, %llu changes; predicted %.2f TB/s without copies, %.2f with",
        (unsigned long long)n->epochs, (unsigned long long)n->epochs_on, (unsigned long long)n->changes,
        1e-6 * (double)n->predicted_without / (double)n->epochs,
        1e-6 * (double)n->predicted_with / (double)n->epochs);
    draw_wrapped(out, LABEL, line);
}

static void write_latencies(const struct report *r, FILE *out)
{
    const struct measure *m = &r->total;
    const struct config *c = r->config;
    char line[300];
    if (!m->has_reads) return;
    const double sm = (double)c->clock.sm, net = sm / (double)c->clock.net;
    const int len =
        snprintf(line, sizeof line, "L1 miss to reply %.0f cycles; request network %.0f, reply network %.0f",
                 m->read_latency, net * m->request_latency, net * m->reply_latency);
    if (r->stats.dram.reads)
        (void)snprintf(line + len, sizeof line - (size_t)len, ", DRAM %.0f",
                       sm / (double)c->clock.dram * m->dram_latency);
    label(out, "latency");
    draw_wrapped(out, LABEL, line);
}

static void write_kernel_row(FILE *out, const char *name, uint64_t launches, uint64_t cycles, double share,
                             const struct measure *m)
{
    char a[DRAW_TEXT], b[DRAW_TEXT], clipped[KERNEL_NAME + 1];
    (void)fprintf(out, "    %-*s %8s %13s %5.1f %%", KERNEL_NAME, draw_kernel(clipped, KERNEL_NAME, name),
                  draw_count(a, launches), draw_count(b, cycles), 100 * share);
    if (m)
        (void)fprintf(out, " %7.2f %5.0f %%  %s", m->ipc, 100 * m->occupancy, measure_bound_names[m->bound]);
    (void)fputc('\n', out);
}

static void write_kernels(const struct report *r, FILE *out)
{
    const double all = r->total.cycles ? (double)r->total.cycles : 1;
    uint64_t launches = 0, cycles = 0;
    char a[DRAW_TEXT];
    if (system_kernel_count(r->system) < 2) return;
    (void)fprintf(out, "  %-*s launches        cycles   share     IPC  warps  bound by\n", KERNEL_NAME + 2,
                  "kernels");
    const uint32_t shown = r->kernel_count <= KERNELS_SHOWN ? r->kernel_count : KERNELS_SHOWN - 1;
    for (uint32_t k = 0; k < shown; k++) {
        const struct report_kernel *kernel = &r->kernels[k];
        write_kernel_row(out, kernel->first->name, kernel->launches, kernel->cycles,
                         (double)kernel->cycles / all, &kernel->measure);
    }
    for (uint32_t k = shown; k < r->kernel_count; k++) {
        launches += r->kernels[k].launches;
        cycles += r->kernels[k].cycles;
    }
    if (launches) {
        char name[KERNEL_NAME + 1];
        (void)snprintf(name, sizeof name, "%u others", r->kernel_count - shown);
        write_kernel_row(out, name, launches, cycles, (double)cycles / all, NULL);
    }
    if (r->shared_launches)
        (void)fprintf(
            out,
            "    %s launches ran beside others: cycles and instructions are their own, shares add up to "
            "more than 100 %%,\n    and what bounds them is of the whole GPU in their time\n",
            draw_count(a, r->shared_launches));
    (void)fputc('\n', out);
}

/* --check */
static void write_caches(const struct check *check, FILE *out)
{
    char a[DRAW_TEXT], b[DRAW_TEXT], c[DRAW_TEXT];
    const struct check_counts n = check_counts(check);
    label(out, "caches");
    if (n.stale_words) {
        (void)fprintf(out, "%s words loaded, %s of them stale, as llc.coherence none allows; %s racy\n",
                      draw_count(a, n.words), draw_count(b, n.stale_words), draw_count(c, n.racy_words));
        return;
    }
    (void)fprintf(out, "%s words loaded, %s of them ordered after a store: none was stale; %s racy\n",
                  draw_count(a, n.words), draw_count(b, n.ordered_words), draw_count(c, n.racy_words));
}

static void write_close(const struct report *r, FILE *out)
{
    char a[DRAW_TEXT], error[400];
    if (r->error) {
        label(out, "error");
        (void)snprintf(error, sizeof error, "%.*s", (int)strcspn(r->error, "\n"), r->error);
        draw_wrapped(out, LABEL, error);
    }
    label(out, "check");
    if (system_was_stopped(r->system))
        (void)fprintf(out, "stopped by %s: results and conservation laws are not checked\n", stopped_by(r));
    else {
        if (r->self_checking && r->outputs)
            (void)fprintf(out, "result checked against the CPU: right (%s words); ",
                          draw_count(a, r->words_checked));
        else if (r->self_checking)
            (void)fputs("the workload checks no result; ", out);
        (void)fprintf(out, "all %zu conservation laws hold\n", law_row_count);
    }
    if (system_check(r->system)) write_caches(system_check(r->system), out);
    label(out, "host");
    (void)fprintf(out, "%.2f CPU seconds, %.2f M warp instructions per CPU second, %.0f MB at most\n",
                  r->cpu_seconds,
                  r->cpu_seconds > 0 ? (double)r->stats.sm.warp_instructions * 1e-6 / r->cpu_seconds : 0.0,
                  (double)r->max_rss_bytes * 1e-6);
    if (!r->note) return;
    label(out, "note");
    (void)fprintf(out, "%s\n", r->note);
}

void report_text(const struct report *r, FILE *out)
{
    write_head(r, out);
    write_totals(r, out);
    write_stalls(r, out);
    write_levels(r, out);
    write_kernels(r, out);
    report_replicas_text(r, out);
    report_nodes_text(r, out);
    report_copies_text(r, out);
    write_hit_rates(r, out);
    write_partitions(r, out);
    write_gpu_pages(r, out);
    write_latencies(r, out);
    write_close(r, out);
    if (r->details) report_details(r, out);
}
