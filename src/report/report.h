/* report: the result of a timed run for people and for programs.
 *
 *   counters ─► measure.c (rates, shares) ─► waits.c, bound.c (what held it up) ─► text.c, details.c, json.c
 *   blocks, kernels, series ────────────────────────────────────────────► timeline.c
 *
 * A report borrows what it describes; it owns what it gathers, given back by report_free(). */
#ifndef ATOLL_REPORT_REPORT_H
#define ATOLL_REPORT_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "base/arena.h"
#include "measure/measure.h"

/* Launches of one kernel, added up. */
struct report_kernel {
    const struct system_kernel_record *first;
    uint64_t launches, cycles, gap_cycles, blocks;
    struct stats stats;
    struct system_use use;
    struct measure measure;
};

struct report {
    const struct config *config;
    const char *machine, *workload;
    const struct stats_registry *registry;
    const struct system *system;
    const char *stopped_by; /* what ended a run that was stopped; NULL: --max-instructions */
    const char *error;      /* of a kernel that failed, or NULL */
    /* the check of the result */
    bool self_checking; /* the workload compares its results */
    uint32_t outputs;
    uint64_t words_checked;
    /* the host */
    double cpu_seconds;
    uint64_t max_rss_bytes;
    /* how to write */
    bool details, ascii;
    const char *note; /* a further line for people, or NULL */
    /* gathered */
    struct arena arena;
    struct stats stats; /* of the whole run */
    struct system_use use;
    struct measure total;
    uint64_t gap_cycles;           /* before launches */
    uint64_t shared_launches;      /* that ran beside others */
    struct report_kernel *kernels; /* by name, the longest first */
    uint32_t kernel_count;
};

/* Adds up and measures; the members above 'gathered' are filled. */
void report_gather(struct report *r);
void report_free(struct report *r);
/* SM cycles of one launch, with the gap before it. */
uint64_t report_kernel_cycles(const struct system_kernel_record *k);

/* One screen, at most 100 columns. */
void report_text(const struct report *r, FILE *out);
/* The outputs of `--details`, after the screen. */
void report_details(const struct report *r, FILE *out);
/* Adds to totals, sets kernels and stats. */
void report_json(const struct report *r, json_t *root);
/* partitions.c: sets partitions (how busy each was) and traffic (bytes between them). */
void report_partitions_json(const struct report *r, json_t *root);
/* replicas.c: degrees of replication, predicted against measured; sets replication (every decision). */
void report_replicas_text(const struct report *r, FILE *out);
void report_replicas_json(const struct report *r, json_t *root);
/* nodes.c: where lines, blocks and pages lie on machines with several memory nodes (organisation numa), and the
 * bounds that follow; sets nodes. */
void report_nodes_text(const struct report *r, FILE *out);
void report_structures_text(const struct report *r, FILE *out); /* for --details */
void report_nodes_json(const struct report *r, json_t *root);
/* copies.c: the remote data cache, the coherence of copies, and how GPUs share pages and lines. */
void report_copies_text(const struct report *r, FILE *out);
void report_copies_details(const struct report *r, FILE *out);
/* links.c: the links of the networks, stage by stage; for JSON totals.link_stages. */
void report_links_text(const struct report *r, FILE *out);
json_t *report_links_json(const struct report *r);
/* Physical links between chiplets and GPUs, one row per link and direction. */
void report_node_links_text(const struct report *r, FILE *out);
json_t *report_node_links_json(const struct report *r);
/* ---- time_bounds.c ---- */
void report_time_bounds_text(const struct report *r, FILE *out);
json_t *report_time_bounds_json(const struct report *r);
/* depths.c: what waits at slices and channels; for JSON totals.slice_queues. */
void report_depths_text(const struct report *r, FILE *out);
json_t *report_depths_json(const struct report *r);
/* name,value,unit: totals and every statistic. */
void report_csv(const struct report *r, FILE *out);

/* ---- draw.c: small things that texts are made of ---- */

enum { DRAW_TEXT = 48 };
/* 1,234,567 */
/* links.c: "GPU 0 -> GPU 1" */
void report_node_link_name(const struct report *r, const struct system_node_link *l, char *text, size_t size);
const char *draw_count(char buf[DRAW_TEXT], uint64_t value);
/* 4.04 M */
const char *draw_short(char buf[DRAW_TEXT], double value);
/* 33.1 us */
const char *draw_seconds(char buf[DRAW_TEXT], double seconds);
/* A bar of at most width columns; what is not zero is seen. */
void draw_bar(FILE *out, double fraction, uint32_t width, bool ascii);
/* One column per value, scaled to the largest. */
void draw_line(FILE *out, const double *values, uint32_t count, double top, bool ascii);
/* Shares as tenths of a per cent that add up to 1000 (when the shares add up to 1). */
void draw_tenths(const double *shares, uint32_t count, uint32_t *tenths);
/* Words, from column `indent` on, no line longer than DRAW_COLUMNS; ends the last line. */
enum { DRAW_COLUMNS = 100 };
void draw_wrapped(FILE *out, uint32_t indent, const char *text);
/* At most width columns; longer texts end in "..". */
const char *draw_clipped(char *buf, size_t width, const char *text);
/* The name of a kernel; a long C++ one without parameters and namespaces, then without its middle. */
const char *draw_kernel(char *buf, size_t width, const char *name);

#endif
