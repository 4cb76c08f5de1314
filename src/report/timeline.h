/* timeline: a run as a trace that chrome://tracing and ui.perfetto.dev show: kernels, blocks on SMs, how busy the
 * machine was over time, and changes of its partition among applications.
 *
 *   timeline_block() at every end of a block ─► timeline_write() at the end of the run
 *
 * Memory and the trace are bounded: beyond TIMELINE_BLOCKS blocks every second one is left out, again and
 * again; the trace and timeline_note() say how many are shown. A timeline owns its memory. */
#ifndef ATOLL_REPORT_TIMELINE_H
#define ATOLL_REPORT_TIMELINE_H

#include <stdint.h>
#include <stdio.h>

enum { TIMELINE_BLOCKS = 65536 };

struct timeline;
struct report;

struct timeline *timeline_new(void);
void timeline_free(struct timeline *t); /* NULL is allowed */

void timeline_block(struct timeline *t, uint32_t sm, uint64_t block, uint32_t kernel, uint64_t start_cyc,
                    uint64_t end_cyc);
/* For people, when blocks are missing; else NULL. */
const char *timeline_note(struct timeline *t);
/* The report is gathered. Sorts the blocks. */
void timeline_write(struct timeline *t, const struct report *r, FILE *out);

#endif
