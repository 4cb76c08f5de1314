/* dram_stream: requests for one channel, read from a file or made by a rule.
 *
 * A file (plain or gzip) has one request per line, `OP RANK BG BANK ROW COL`, OP = R or W, decoded
 * coordinates;
 * '#' starts a comment. When a request is offered is not in the file: see dram_model.h. */
#ifndef ATOLL_DRAM_STREAM_H
#define ATOLL_DRAM_STREAM_H

#include <stddef.h>

#include "dram/dram.h"

struct dram_stream_op {
    uint32_t row;
    uint16_t column;
    uint8_t bank, kind;
};

struct dram_stream {
    const char *name;
    struct dram_stream_op *ops;
    size_t count;
};

/* Raises a mistake (file:line:col) for what is no stream, or does not fit the spec. Memory: the arena's. */
struct dram_stream dram_stream_read(struct arena *a, const char *path, const struct dram_spec *spec);
/* The same from text in memory. */
struct dram_stream dram_stream_parse(struct arena *a, const char *name, const char *text, size_t len_bytes,
                                     const struct dram_spec *spec);

/* The reference patterns (dram_streams.def), for 4 groups x 4 banks, 16384 rows, 32 columns or more of each.
 */
extern const char *const dram_stream_names[]; /* ends with NULL */
extern const char *const dram_stream_helps[];
/* Raises a mistake when there is no such pattern or the spec is too small for it. */
struct dram_stream dram_stream_make(struct arena *a, const char *name, size_t count,
                                    const struct dram_spec *spec);

#endif
