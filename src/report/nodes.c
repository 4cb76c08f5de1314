/* nodes: where the lines, blocks and pages of a run lie on a machine with several memory nodes (organisation
 * numa), and what follows for its speed.
 *
 *   SMs      lines before the L1: at home, off the chiplet, off the GPU; by structure (sm/structures.h)
 *   slices   LOCAL-LOCAL, LOCAL-REMOTE, REMOTE-LOCAL requests and what leaves behind the near slice
 *   bounds   A stream whose share f of lines lies off the GPU gets at most
 *            GPUs x link bandwidth x LINE_BYTES / (LINE_BYTES + two headers) / f bytes per second: request and
 *            reply share the link.
 *            REMOTE-LOCAL requests are at most f / (1 + f) of all, f: share of requests to remote lines. */
#include <string.h>

#include "analysis/locality.h"
#include "report/report.h"
#include "request/request.h"
#include "sm/structures.h"

/* A structure of a kernel, over all launches of the kernel. */
struct row {
    const char *kernel, *name;
    uint8_t locality;
    bool once;
    uint64_t lines, off_chiplet, off_gpu;
};

struct bounds {
    double off_gpu;                 /* share of line accesses */
    double switch_bytes_per_second; /* highest rate of lines that the links between GPUs allow; 0: no bound */
    double memory_bytes_per_second; /* peak of the machine */
    double free_share;              /* share off the GPU at which memory and links are equally fast */
    double remote_local, remote_max; /* REMOTE-LOCAL requests, share of all requests of slices */
};

static double share(uint64_t part, uint64_t whole) { return whole ? (double)part / (double)whole : 0; }

static bool has_nodes(const struct report *r) { return config_counts_nodes(r->config); }

static uint64_t lines_of(const struct report *r)
{
    return r->stats.sm.lines_home + r->stats.sm.lines_off_chiplet;
}

static uint32_t chiplets(const struct report *r) { return (uint32_t)config_chiplets(r->config); }

static uint64_t blocks_of(const struct report *r, uint32_t chiplet)
{
    struct stats stats;
    const uint32_t per_gpu = r->config->gpu.chiplets;
    const struct stats_scope scope = {(int32_t)(chiplet / per_gpu), (int32_t)(chiplet % per_gpu), STATS_ANY,
                                      STATS_ANY};
    stats_sum(r->registry, scope, &stats);
    return stats.sm.blocks_started;
}

/* The largest count of a node over the mean. */
static double imbalance(const uint64_t *counts, uint32_t count)
{
    uint64_t sum = 0, max = 0;
    for (uint32_t k = 0; k < count; k++) {
        sum += counts[k];
        if (counts[k] > max) max = counts[k];
    }
    return sum ? (double)max * count / (double)sum : 1;
}

static struct bounds bounds_of(const struct report *r)
{
    const struct config *const c = r->config;
    const struct llc_stats *const s = &r->stats.llc;
    const uint64_t all = s->local_local + s->local_remote + s->remote_local;
    const double f = share(s->local_remote, s->local_local + s->local_remote);
    struct bounds b = {.off_gpu = share(r->stats.sm.lines_off_gpu, lines_of(r)),
                       .memory_bytes_per_second = r->total.levels[LEVEL_DRAM].peak_bytes_per_second,
                       .remote_local = share(s->remote_local, all),
                       .remote_max = f / (1 + f)};
    const double links = (double)c->system.gpus * (double)c->gpu_net.bandwidth * LINE_BYTES /
                         (double)(LINE_BYTES + 2 * c->packet.header);
    if (c->system.gpus < 2 || c->gpu_net.topology != node_shape_switch || !(links > 0)) return b;
    b.free_share = b.memory_bytes_per_second > 0 ? links / b.memory_bytes_per_second : 0;
    if (b.off_gpu > 0) b.switch_bytes_per_second = links / b.off_gpu;
    return b;
}

/* Adds a structure of a launch to the rows. Returns the number of rows. */
static uint32_t add_row(struct row *rows, uint32_t count, const char *kernel, const struct structure *s)
{
    const char *const name = s->name ? s->name : "(other)";
    if (!s->lines) return count;
    uint32_t k = 0;
    while (k < count && (strcmp(rows[k].kernel, kernel) != 0 || strcmp(rows[k].name, name) != 0)) k++;
    if (k == count)
        rows[count++] =
            (struct row){.kernel = kernel, .name = name, .locality = s->locality, .once = s->once};
    rows[k].lines += s->lines;
    rows[k].off_chiplet += s->lines_off_chiplet;
    rows[k].off_gpu += s->lines_off_gpu;
    return count;
}

/* All structures, by kernel in the order of their first launch. */
static struct row *gather_rows(const struct report *r, struct arena *arena, uint32_t *count)
{
    uint32_t capacity = 1;
    for (uint32_t k = 0; k < system_kernel_count(r->system); k++) {
        const struct structures *const s = system_kernel_record(r->system, k)->structures;
        if (s) capacity += s->count + 1;
    }
    struct row *const rows = ARENA_ARRAY(arena, struct row, capacity);
    *count = 0;
    for (uint32_t k = 0; k < system_kernel_count(r->system); k++) {
        const struct system_kernel_record *const record = system_kernel_record(r->system, k);
        const struct structures *const s = record->structures;
        for (uint32_t n = 0; s && n < s->count; n++)
            *count = add_row(rows, *count, record->name, &s->range[n]);
        if (s) *count = add_row(rows, *count, record->name, &s->rest);
    }
    return rows;
}

/* ---- text ---- */

/* True if an earlier launch has the kernel. */
static bool is_repeated(const struct report *r, uint32_t launch)
{
    for (uint32_t k = 0; k < launch; k++)
        if (!strcmp(system_kernel_record(r->system, k)->name, system_kernel_record(r->system, launch)->name))
            return true;
    return false;
}

static bool is_unclassified(const struct structures *s)
{
    for (uint32_t k = 0; k < s->count; k++)
        if (s->range[k].lines && s->range[k].locality != LOCALITY_NONE &&
            s->range[k].locality != LOCALITY_UNKNOWN)
            return false;
    return true;
}

/* Where blocks follow the index: launches that cannot reach every chiplet, and kernels without a class. */
static void write_notes(const struct report *r, FILE *out)
{
    char kernel[DRAW_TEXT];
    uint32_t small = 0;
    if (!config_blocks_follow_index(r->config)) return;
    const uint32_t launches = system_kernel_count(r->system);
    for (uint32_t k = 0; k < launches; k++) {
        const struct system_kernel_record *const record = system_kernel_record(r->system, k);
        small += record->blocks < chiplets(r);
        const struct structures *const known = record->structures;
        if (known && is_unclassified(known) && !is_repeated(r, k))
            (void)fprintf(
                out, "               note: no index of '%s' has a class: it is treated as unclassified\n",
                draw_kernel(kernel, 41, record->name));
    }
    if (small)
        (void)fprintf(out, "               note: launches with fewer blocks than the %u chiplets: %u of %u\n",
                      chiplets(r), small, launches);
}

void report_nodes_text(const struct report *r, FILE *out)
{
    const struct llc_stats *const s = &r->stats.llc;
    if (!has_nodes(r) || !lines_of(r)) return;
    const struct bounds b = bounds_of(r);
    uint64_t blocks[4096] = {0}, pages[4096] = {0};
    const uint32_t count = chiplets(r) < 4096 ? chiplets(r) : 4096;
    for (uint32_t k = 0; k < count; k++) {
        blocks[k] = blocks_of(r, k);
        pages[k] = system_chiplet_pages(r->system, k);
    }
    (void)fprintf(
        out,
        "  nodes        lines before the L1: %.1f %% off the chiplet, %.1f %% off the GPU; busiest chiplet "
        "%.2f x the\n               mean of blocks, %.2f x of pages\n",
        100 * share(r->stats.sm.lines_off_chiplet, lines_of(r)), 100 * b.off_gpu, imbalance(blocks, count),
        imbalance(pages, count));
    if (s->sm_bytes) /* organisation numa */
        (void)fprintf(
            out,
            "               bytes behind the near slice: %.1f %% leave the chiplet, %.1f %% the GPU; "
            "REMOTE-LOCAL "
            "%.1f %%\n               of requests (at most %.1f %%)\n",
            100 * share(s->forward_bytes, s->sm_bytes), 100 * share(s->forward_bytes_off_gpu, s->sm_bytes),
            100 * b.remote_local, 100 * b.remote_max);
    if (b.switch_bytes_per_second > 0 && b.switch_bytes_per_second < b.memory_bytes_per_second)
        (void)fprintf(
            out,
            "               bound: at this share GPU links carry a stream at %.0f of %.0f GB/s; they stop "
            "binding\n               at %.1f %%\n",
            b.switch_bytes_per_second * 1e-9, b.memory_bytes_per_second * 1e-9, 100 * b.free_share);
    write_notes(r, out);
}

void report_structures_text(const struct report *r, FILE *out)
{
    char lines[DRAW_TEXT], kernel[DRAW_TEXT], name[DRAW_TEXT];
    uint32_t count;
    struct arena arena;
    if (!has_nodes(r) || !lines_of(r)) return;
    arena_init(&arena);
    const struct row *const rows = gather_rows(r, &arena, &count);
    (void)fprintf(out, "\n  lines before the L1 by structure %31s off chiplet off GPU caching\n", "");
    for (uint32_t k = 0; k < count; k++)
        (void)fprintf(out, "    %-20s %-16s %-18s %13s %8.1f %% %5.1f %% %s\n",
                      draw_kernel(kernel, 21, rows[k].kernel), draw_clipped(name, 17, rows[k].name),
                      locality_action((enum locality_class)rows[k].locality)->class_name,
                      draw_count(lines, rows[k].lines), 100 * share(rows[k].off_chiplet, rows[k].lines),
                      100 * share(rows[k].off_gpu, rows[k].lines), rows[k].once ? "RONCE" : "RTWICE");
    arena_free(&arena);
}

/* ---- data ---- */

static json_t *structures_json(const struct report *r)
{
    uint32_t count;
    struct arena arena;
    json_t *const list = json_array();
    arena_init(&arena);
    const struct row *const rows = gather_rows(r, &arena, &count);
    for (uint32_t k = 0; k < count; k++)
        (void)json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "kernel", rows[k].kernel, "name", rows[k].name,
                      "class", locality_action((enum locality_class)rows[k].locality)->class_name, "caching",
                      rows[k].once ? "RONCE" : "RTWICE", "lines", (json_int_t)rows[k].lines,
                      "lines_off_chiplet", (json_int_t)rows[k].off_chiplet, "lines_off_gpu",
                      (json_int_t)rows[k].off_gpu));
    arena_free(&arena);
    return list;
}

void report_nodes_json(const struct report *r, json_t *root)
{
    if (!has_nodes(r)) return;
    const struct bounds b = bounds_of(r);
    json_t *const blocks = json_array(), *const pages = json_array();
    for (uint32_t k = 0; k < chiplets(r); k++) {
        (void)json_array_append_new(blocks, json_integer((json_int_t)blocks_of(r, k)));
        (void)json_array_append_new(pages, json_integer((json_int_t)system_chiplet_pages(r->system, k)));
    }
    json_t *const bounds =
        json_pack("{s:f, s:f, s:f, s:f}", "remote_local_share", b.remote_local, "remote_local_share_max",
                  b.remote_max, "off_gpu_share", b.off_gpu, "off_gpu_share_free", b.free_share);
    if (b.switch_bytes_per_second > 0)
        (void)json_object_set_new(bounds, "switch_bytes_per_second", json_real(b.switch_bytes_per_second));
    (void)json_object_set_new(root, "nodes",
                              json_pack("{s:o, s:o, s:o, s:o}", "blocks", blocks, "pages", pages,
                                        "structures", structures_json(r), "bounds", bounds));
}
