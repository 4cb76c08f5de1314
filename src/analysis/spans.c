/* spans: see spans.h. */
#include "analysis/spans.h"

#include <stdlib.h>

static int by_first(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

void spans_tidy(struct spans *s)
{
    uint32_t kept = 0;
    qsort(s->at, s->n, sizeof *s->at, by_first);
    for (uint32_t k = 0; k < s->n; k++) {
        if (kept && s->at[k].first <= s->at[kept - 1].end) {
            if (s->at[k].end > s->at[kept - 1].end) s->at[kept - 1].end = s->at[k].end;
        } else {
            s->at[kept++] = s->at[k];
        }
    }
    s->n = kept;
}

uint64_t spans_total(const struct spans *s)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < s->n; k++) bytes += (uint64_t)(s->at[k].end - s->at[k].first);
    return __builtin_mul_overflow(bytes, s->times, &bytes) ? 0 : bytes;
}

void spans_repeat(struct spans *s, int64_t d, uint64_t count)
{
    int64_t far;
    if (!d || count < 2) return;
    if (count > INT32_MAX || __builtin_mul_overflow(d, (int64_t)count - 1, &far) ||
        llabs(far) > INT64_MAX / 4) {
        s->times = UINT64_MAX;
        return;
    }
    spans_tidy(s);
    if (d < 0)
        for (uint32_t k = 0; k < s->n; k++) {
            s->at[k].first += far;
            s->at[k].end += far;
        }
    d = llabs(d);
    if (s->n == 1 && d <= s->at[0].end - s->at[0].first) {
        s->at[0].end += llabs(far);
    } else if (s->n * count <= SPANS_MOST) {
        const uint32_t n = s->n;
        for (uint32_t c = 1; c < count; c++)
            for (uint32_t k = 0; k < n; k++)
                s->at[s->n++] = (struct span){s->at[k].first + c * d, s->at[k].end + c * d};
        spans_tidy(s);
    } else if (__builtin_mul_overflow(s->times, count, &s->times)) {
        s->times = UINT64_MAX;
    }
}

void spans_fold(struct spans *s, int64_t step)
{
    const uint32_t n = s->n;
    for (uint32_t k = 0; k < n; k++) {
        struct span *at = &s->at[k];
        const int64_t bytes = at->end - at->first;
        at->first = bytes >= step ? 0 : ((at->first % step) + step) % step;
        at->end = at->first + (bytes < step ? bytes : step);
        if (at->end <= step || s->n == SPANS_MOST) continue;
        s->at[s->n++] = (struct span){0, at->end - step};
        at->end = step;
    }
    spans_tidy(s);
    if (!s->n) return;
    int64_t widest = s->at[0].first + step - s->at[s->n - 1].end;
    uint32_t after = 0;
    for (uint32_t k = 1; k < s->n; k++)
        if (s->at[k].first - s->at[k - 1].end > widest) {
            widest = s->at[k].first - s->at[k - 1].end;
            after = k;
        }
    for (uint32_t k = after; after && k < s->n; k++) {
        s->at[k].first -= step;
        s->at[k].end -= step;
    }
    spans_tidy(s);
}

void spans_join(struct spans *all, const struct spans *more)
{
    if (more->times > all->times) all->times = more->times;
    for (uint32_t k = 0; k < more->n; k++) {
        if (all->n == SPANS_MOST) spans_tidy(all);
        if (all->n < SPANS_MOST) all->at[all->n++] = more->at[k];
    }
}

uint64_t spans_common(const struct spans *a, const struct spans *b, int64_t by)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0, j = 0; i < a->n && j < b->n;) {
        const int64_t first = a->at[i].first > b->at[j].first + by ? a->at[i].first : b->at[j].first + by;
        const int64_t end = a->at[i].end < b->at[j].end + by ? a->at[i].end : b->at[j].end + by;
        if (first < end) bytes += (uint64_t)(end - first);
        if (a->at[i].end <= b->at[j].end + by)
            i++;
        else
            j++;
    }
    return bytes;
}
