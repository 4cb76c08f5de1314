/* coherence_directory: the home keeps the mask of GPUs that fetched a line, also after the line has left its
 * slice. A write invalidates them and no other GPU. The writer's copy stays: its slice updated the copy before it
 * forwarded the store, or dropped it before an atomic, which costs one useless invalidation at most. */
#include "llc/coherence.h"

static uint64_t on(struct coherence *k, enum coherence_event e, uint64_t line, uint32_t gpu)
{
    const uint64_t self = (uint64_t)1 << gpu;
    if (e == COHERENCE_REMOTE_READ) {
        *map_put(&k->lines, line, NULL) |= self;
        return 0;
    }
    if (e == COHERENCE_LOCAL_READ) return 0;
    uint64_t *const sharers = map_find(&k->lines, line);
    if (!sharers) return 0;
    const uint64_t stale = *sharers & k->gpus & ~self;
    *sharers &= self;
    return stale;
}

const struct coherence_ops coherence_directory = {.on = on};
