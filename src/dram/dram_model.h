/* dram_model: one channel alone, driven by a stream; what `atoll model dram` runs.
 *
 * Requests are offered strictly in order. Load: 'sat' offers as early as they are accepted, an interval K
 * offers request j at cycle floor(K * j) ('low' is K = 50 and the first 8192 requests). A refused request is
 * offered again when there is room. At most 'outstanding' requests are under way (0 = no limit): reads until
 * the end of their data, writes until their command, the place being free in the next cycle. */
#ifndef ATOLL_DRAM_MODEL_H
#define ATOLL_DRAM_MODEL_H

#include <jansson.h>
#include <stdio.h>

#include "dram/dram.h"
#include "dram/dram_stream.h"

struct dram_load {
    double interval_cyc;  /* 0 = saturated */
    uint64_t limit_count; /* offer only so many requests; 0 = all */
};

/* "sat", "low" or "i<real>"; raises a mistake otherwise. */
struct dram_load dram_load_parse(const char *text);

enum { DRAM_LATENCY_BINS = 40 };

struct dram_result {
    uint64_t request_count, reads, writes;
    uint64_t cycles; /* end of the last read data, or the last write command */
    uint64_t bytes;
    double bytes_per_cycle, peak_bytes_per_cycle, percent_of_peak;
    double latency_mean_cyc; /* of reads, acceptance to end of data */
    uint64_t latency_p50_cyc, latency_p95_cyc, latency_p99_cyc, latency_max_cyc;
    uint64_t latency_edges[DRAM_LATENCY_BINS],
        latency_counts[DRAM_LATENCY_BINS]; /* edge = first latency of a bin */
    uint32_t latency_bins;
    uint32_t outstanding_max;
    struct dram_stats stats;
};

struct dram_result dram_model_run(const struct dram_spec *spec, const struct dram_stream *stream,
                                  struct dram_load load, uint32_t outstanding,
                                  void (*log)(void *owner, const struct dram_command *command),
                                  void *log_owner);

/* clock_hz 0 = unknown: no GB/s. */
void dram_model_print(FILE *out, const struct dram_result *r, double clock_hz);
json_t *dram_model_json(const struct dram_result *r, double clock_hz); /* a new reference */

#endif
