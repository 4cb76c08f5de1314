/* spans: sets of bytes as sorted spans, for datablocks. At most SPANS_MOST; what does not fit is counted as
 * copies. */
#ifndef ATOLL_ANALYSIS_SPANS_H
#define ATOLL_ANALYSIS_SPANS_H

#include <stdbool.h>
#include <stdint.h>

enum { SPANS_MOST = 8192 };

struct span {
    int64_t first, end;
};

struct spans {
    struct span at[SPANS_MOST];
    uint32_t n;
    uint64_t times; /* so many copies that do not fit in here */
};

/* Sorts; spans that touch become one. */
void spans_tidy(struct spans *s);
uint64_t spans_total(const struct spans *s); /* bytes; 0: too many */
/* The same again at d, 2d, ... (count - 1)*d. */
void spans_repeat(struct spans *s, int64_t d, uint64_t count);
/* Modulo the step, from behind the widest gap on: a stencil stays together. */
void spans_fold(struct spans *s, int64_t step);
void spans_join(struct spans *all, const struct spans *more);
/* Bytes in both when the second set is moved by `by`; both tidy. */
uint64_t spans_common(const struct spans *a, const struct spans *b, int64_t by);

#endif
