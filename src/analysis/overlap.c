/* overlap: do blocks without locality really have data of their own?
 *
 * Algorithm 1 calls an index that depends on the block "no locality", whatever the numbers are: a[bx*64 + tx
 * + 64*m] is of that class although every block walks over what its neighbours touch. The launch has the
 * numbers: the spans of one block, all iterations, are laid over those of every other block. */
#include <stdlib.h>
#include <string.h>

#include "analysis/footprint.h"

/* Spans looked at for one argument. */
enum { LOOKS_MOST = 200000, PAIRS_OF_MOST = 16 };

/* All rows of the argument together. False: one of them is not known, or does not belong to each block. */
static bool touched(struct sizing *z, const struct locality_table *t, uint32_t argument, const int64_t bid[3],
                    struct spans *out, int64_t distance[3], bool *linear)
{
    bool any = false;
    *out = (struct spans){.times = 1};
    for (uint32_t k = 0; k < t->n_rows; k++) {
        const struct locality_row *row = &t->rows[k];
        int64_t far[3];
        bool straight;
        if (row->argument != argument) continue;
        if (row->class != LOCALITY_NL || !footprint_of_block(z, row, bid, z->own, far, &straight))
            return false;
        spans_join(out, z->own);
        *linear = straight && (!any || (*linear && !memcmp(far, distance, sizeof far)));
        memcpy(distance, far, sizeof far);
        any = true;
    }
    spans_tidy(out);
    return any && out->times == 1 && out->n < SPANS_MOST;
}

/* Every block lies at the same distance from the one before it, in x and in y. */
static uint64_t common_most(const struct spans *s, const uint32_t grid[3], const int64_t distance[3])
{
    const int64_t extent = s->at[s->n - 1].end - s->at[0].first;
    const int64_t step = llabs(distance[0]), reach = step ? extent / step + 1 : (int64_t)grid[0];
    uint64_t most = 0, looks = 0;
    if (grid[2] > 1 || llabs(distance[1]) > INT32_MAX || step > INT32_MAX) return LOCALITY_OVERLAP_UNKNOWN;
    for (int64_t y = 0; y < (int64_t)grid[1]; y++) {
        /* blocks that lie near: x * distance[0] is about -y * distance[1] */
        const int64_t middle = step ? -y * distance[1] / distance[0] : 0;
        const int64_t last = (int64_t)grid[0] - 1;
        int64_t x = middle - reach < -last ? -last : middle - reach;
        const int64_t end = middle + reach > last ? last : middle + reach;
        if (!y && x < 1) x = 1;
        for (; x <= end; x++) {
            looks += s->n;
            if (looks > LOOKS_MOST) return LOCALITY_OVERLAP_UNKNOWN;
            const uint64_t both = spans_common(s, s, x * distance[0] + y * distance[1]);
            if (both > most) most = both;
        }
    }
    return most;
}

/* What block number k touches. */
static bool touched_by(struct sizing *z, const struct locality_table *t, uint32_t argument, uint64_t k,
                       int64_t distance[3], bool *linear)
{
    const uint32_t *grid = z->l->grid;
    const int64_t bid[3] = {(int64_t)(k % grid[0]), (int64_t)(k / grid[0] % grid[1]),
                            (int64_t)(k / grid[0] / grid[1])};
    return touched(z, t, argument, bid, z->all, distance, linear);
}

/* Blocks that lie anyhow: each is laid over every one before it; beyond a few, over all before it together,
 * which may be more than it shares with one of them, but never less. */
static uint64_t common_of_all(struct sizing *z, const struct locality_table *t, uint32_t argument,
                              uint64_t blocks)
{
    struct spans *kept[PAIRS_OF_MOST] = {NULL}, *before = ARENA_NEW(z->arena, struct spans);
    uint64_t most = 0, looks = 0;
    int64_t distance[3];
    bool linear;
    before->times = 1;
    for (uint64_t k = 0; k < blocks; k++) {
        if (!touched_by(z, t, argument, k, distance, &linear)) return LOCALITY_OVERLAP_UNKNOWN;
        for (uint64_t j = 0; j < (blocks <= PAIRS_OF_MOST ? k : 1); j++) {
            const struct spans *other = blocks <= PAIRS_OF_MOST ? kept[j] : before;
            const uint64_t both = spans_common(other, z->all, 0);
            looks += other->n + z->all->n;
            if (both > most) most = both;
        }
        if (looks > LOOKS_MOST) return LOCALITY_OVERLAP_UNKNOWN;
        if (blocks <= PAIRS_OF_MOST) {
            kept[k] = ARENA_NEW(z->arena, struct spans);
            *kept[k] = *z->all;
            continue;
        }
        spans_join(before, z->all);
        spans_tidy(before);
        if (before->n >= SPANS_MOST) return LOCALITY_OVERLAP_UNKNOWN;
    }
    return most;
}

static uint64_t overlap_of(struct sizing *z, const struct locality_table *t, uint32_t argument)
{
    const uint32_t *grid = z->l->grid;
    int64_t distance[3];
    bool linear = true;
    if (!touched_by(z, t, argument, 0, distance, &linear)) return LOCALITY_OVERLAP_UNKNOWN;
    return linear ? common_most(z->all, grid, distance)
                  : common_of_all(z, t, argument, (uint64_t)grid[0] * grid[1] * grid[2]);
}

void overlap_find(struct sizing *z, struct locality_table *t)
{
    for (uint32_t k = 0; k < t->n_arguments; k++) t->arguments[k].overlap_bytes = overlap_of(z, t, k);
}
