/* coda: the granules and batches of CODA, a baseline of LADM. Granule i of a structure and batch i of blocks go to node
 * i mod nodes, nodes numbered GPU by GPU: the chiplets of a GPU come before the next GPU (H-CODA). Strides, rows and
 * columns of blocks do not count. */
#include "analysis/locality.h"
#include "policy/binding/binding.h"

enum { LINE_BYTES = 128 };

/* Contiguous bytes of a block: the longest piece of the index, without what the next block touches too (a halo). */
static uint64_t width_of(const struct launch_array *a)
{
    uint64_t width = 0, pitch = UINT64_MAX;
    for (uint32_t k = 0; k < a->patterns; k++) {
        const struct launch_pattern *const p = &a->pattern[k];
        for (uint32_t j = 0; j < p->pieces; j++) {
            const uint64_t bytes = (uint64_t)(p->piece[j].end - p->piece[j].first);
            if (bytes > width) width = bytes;
        }
        for (uint32_t j = 0; j < p->digits; j++)
            if (p->digit[j].axis != LAUNCH_FREE && p->digit[j].step < pitch) pitch = p->digit[j].step;
    }
    if (width > pitch) width = pitch;
    return width ? width : a->datablock_bytes;
}

/* Bytes of a block that decide on the granule; 0: not known. */
static uint64_t bytes_of(const struct config *c, const struct launch_array *a)
{
    if (c->coda.granule_size) return c->coda.granule_size;
    switch (c->coda.granule) {
    case coda_granule_bytes: return a->datablock_bytes;
    case coda_granule_width: return width_of(a);
    case coda_granule_page:
    case coda_granule_count: break;
    }
    return c->map.page_size;
}

uint64_t coda_granule_of(const struct config *c, const struct launch_facts *l, uint32_t array)
{
    const struct launch_array *const a = &launch_arrays(l)->array[array];
    const uint8_t locality = lasp_class(c, l, array);
    if (locality == LOCALITY_ITL || locality == LOCALITY_NONE || locality == LOCALITY_UNKNOWN) return 0;
    uint64_t bytes = bytes_of(c, a);
    if (!bytes || (bytes > c->map.page_size && !c->coda.multipage)) bytes = c->map.page_size;
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

struct binding coda_binding(const struct config *c, const struct launch_facts *l, const struct nodes *n)
{
    const struct launch_arrays *const a = launch_arrays(l);
    if (!a || a->winner == LAUNCH_NO_ARRAY) return binding_turns(l, n, 1);
    const struct launch_array *const w = &a->array[a->winner];
    const uint64_t granule = coda_granule_of(c, l, a->winner);
    const uint64_t bytes =
        c->coda.granule == coda_granule_width && !c->coda.granule_size ? width_of(w) : w->datablock_bytes;
    const uint64_t batch = bytes ? granule / bytes : 1; /* pages in turn match no batch of blocks */
    return binding_turns(l, n, batch ? batch : 1);
}
