/* structures: makes the table of a kernel's data structures that SMs read (sm/structures.h), at its launch.
 *
 *   analysis ──arrays with class──► structures_begin() ──► SMs: hints, counts ──► kernel record ──► report
 *
 * policy/caching decides which structures are read once (REQUEST_ONCE). The table belongs to the running launch,
 * so two kernels that share a structure may differ. */
#include "sm/structures.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "policy/binding/binding.h"
#include "policy/caching/caching.h"
#include "system/system_private.h"

/* First line behind the array: the next array of its allocation, or the end of the allocation. */
static uint64_t end_line_of(const struct launch_arrays *a, uint32_t k)
{
    uint64_t end = a->array[k].base + a->array[k].bytes;
    for (uint32_t n = 0; n < a->count; n++) {
        const struct launch_array *const other = &a->array[n];
        if (other->bytes && other->base > a->array[k].base && other->base < end) end = other->base;
    }
    return (end + LINE_BYTES - 1) >> LINE_LOG2;
}

static int by_first_line(const void *x, const void *y)
{
    const struct structure *const a = x, *const b = y;
    return (a->first_line > b->first_line) - (a->first_line < b->first_line);
}

/* The table may be freed with the launch, so the name is copied. */
static const char *name_of(struct arena *arena, const struct launch_facts *facts, uint32_t array)
{
    const struct locality_table *const t = analysis_locality(facts->analysis);
    return arena_strdup(arena, t->arguments[array].name);
}

/* A line that two arrays share belongs to the lower one. */
static void separate(struct structures *s)
{
    for (uint32_t k = 1; k < s->count; k++)
        if (s->range[k].first_line < s->range[k - 1].end_line)
            s->range[k].first_line = s->range[k - 1].end_line;
}

struct structures *structures_begin(struct arena *arena, const struct config *c,
                                    const struct launch_facts *facts)
{
    if (!config_counts_nodes(c)) return NULL;
    const struct launch_arrays *const a = launch_arrays(facts);
    struct structures *const s = ARENA_NEW(arena, struct structures);
    s->rest.array = LAUNCH_NO_ARRAY;
    s->rest.once = caching_reads_once(c, facts, LAUNCH_NO_ARRAY);
    if (!a) return s;
    s->range = ARENA_ARRAY(arena, struct structure, a->count + 1);
    for (uint32_t k = 0; k < a->count; k++) {
        const struct launch_array *const array = &a->array[k];
        if (!array->bytes || launch_structure_of(a, array->base) != k) continue;
        const uint64_t start =
            launch_structure_of(a, array->allocation) == k ? array->allocation : array->base;
        s->range[s->count++] = (struct structure){.first_line = start >> LINE_LOG2,
                                                  .end_line = end_line_of(a, k),
                                                  .array = k,
                                                  .name = name_of(arena, facts, k),
                                                  .locality = lasp_class(c, facts, k),
                                                  .once = caching_reads_once(c, facts, k)};
    }
    qsort(s->range, s->count, sizeof *s->range, by_first_line);
    separate(s);
    return s;
}
