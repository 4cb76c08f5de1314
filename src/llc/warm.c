/* warm: copies of remote lines without time: what launches before the measured part of a run leave in the remote data
 * caches, and what the host drops. system/warm.c calls it. */
#include "llc/coherence.h"
#include "llc/rdc.h"

/* The slice of a GPU that caches the lines of a home slice. */
static struct slice *peer(const struct slice *home, uint32_t gpu)
{
    const uint32_t slices = home->wire.organisation->slice_count;
    return home->wire.slices[gpu * slices + home->wire.slice_idx % slices];
}

/* The sharing state at the home, as the access would leave it. Returns the GPUs whose copies are stale. */
static uint64_t share(struct slice *home, uint32_t gpu, uint64_t line, bool writes)
{
    struct coherence *const k = home->remote->coherence;
    if (!k) return 0;
    const bool remote = gpu != home->wire.chiplet;
    const struct coherence_stats before = *k->stats;
    const uint64_t stale = k->ops->on(k,
                                      writes   ? remote ? COHERENCE_REMOTE_WRITE : COHERENCE_LOCAL_WRITE
                                      : remote ? COHERENCE_REMOTE_READ
                                               : COHERENCE_LOCAL_READ,
                                      line, gpu);
    *k->stats = before;
    return stale;
}

void slice_warm_access(struct slice *home, uint32_t gpu, uint64_t line, bool writes)
{
    if (!home->remote || !home->remote->rdc) return;
    for (uint64_t stale = share(home, gpu, line, writes); stale; stale &= stale - 1)
        rdc_warm_clear(peer(home, (uint32_t)__builtin_ctzll(stale)), line);
    if (!writes && gpu != home->wire.chiplet) rdc_warm(peer(home, gpu), line);
}

void slice_warm_end(struct slice *s)
{
    if (s->remote && s->remote->rdc && s->remote->rdc->has_epochs) rdc_warm_end(s);
}

void slice_drop_copy(struct slice *s, uint64_t line)
{
    if (!s->remote) return;
    const uint32_t at_line = tags_find(&s->tags, slice_set_of(s->spec, line), line);
    if (at_line != TAGS_NONE && s->remote->holds[at_line]) {
        s->remote->coherence_stats.host_drops++;
        if (*tags_pins(&s->tags, at_line))
            s->lines[at_line].discard_fill = true;
        else
            slice_drop_line(s, engine_now(s->wire.engine, s->wire.domain), at_line);
    }
    if (s->remote->rdc) (void)rdc_drop(s, line);
}
