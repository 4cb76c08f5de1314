/* coherent: hardware coherence of remote lines (organisation sm_side). remote_lines.c serves these lines.
 * remote->sharers is the directory. It is NULL at slices without one; code tests nothing else.
 *
 *   event at the home slice              action
 *   fetch from another chiplet           set the sharer bit of the chiplet in the home's tags
 *   store or atomic                      invalidate the line in all sharer chiplets except the writer's own,
 *                                        whose slice updated or invalidated its line before forwarding
 *   eviction of the line                 invalidate the line in all sharer chiplets
 *
 * An invalidation takes llc.invalidate_cyc on a dedicated channel (ASSUMPTION: one flit, no contention). The
 * home replies to a store or atomic no earlier than 2 x llc.invalidate_cyc after the write: invalidation
 * plus acknowledgement.
 *
 * If an invalidation meets a pending fill, the fill replies to the requests in its MSHR and is not
 * installed. These loads are older than the acknowledgement. Later reads are forwarded to the home. No load
 * that follows an acknowledged store therefore reads an older line, and acquires need no action. */
#include "llc/llc_private.h"

void coherent_new(struct slice *s, struct arena *a)
{
    s->remote->sharers = ARENA_ARRAY(a, uint64_t, tags_lines(&s->tags));
}

/* Bit of the chiplet whose slice forwarded the request. */
static uint64_t chiplet_bit(const struct slice *s, const struct request *r)
{
    return (uint64_t)1 << (r->via - 1u) / s->wire.organisation->slice_count;
}

void coherent_add_sharer(struct slice *s, const struct request *r)
{
    const uint32_t line = tags_find(&s->tags, slice_set_of(s->spec, r->home.line), r->home.line);
    DIAG_ASSERT(line != TAGS_NONE);
    s->remote->sharers[line] |= chiplet_bit(s, r);
}

static void send_invalidations(struct slice *s, uint32_t line, uint64_t chiplets)
{
    const uint32_t slices = s->wire.organisation->slice_count;
    s->remote->sharers[line] &= ~chiplets;
    if (FAULT_FIRES(sm_side_tells_not)) return;
    for (; chiplets; chiplets &= chiplets - 1) {
        const uint32_t peer = (uint32_t)__builtin_ctzll(chiplets) * slices + s->wire.slice_idx % slices;
        engine_send(s->wire.engine, s->wire.slice_components[peer], s->spec->invalidate_cyc,
                    tags_key(&s->tags, line) + 1);
        s->stats.invalidates++;
    }
}

void coherent_write(struct slice *s, uint64_t now, uint32_t line, const struct request *r)
{
    const uint64_t chiplets = s->remote->sharers[line] & ~(r->via ? chiplet_bit(s, r) : 0);
    if (!chiplets) return;
    send_invalidations(s, line, chiplets);
    s->remote->inv_ack_cyc = now + 2 * (uint64_t)s->spec->invalidate_cyc;
}

void coherent_evict(struct slice *s, uint32_t line)
{
    if (s->remote->sharers[line]) send_invalidations(s, line, s->remote->sharers[line]);
}

void coherent_invalidate(struct slice *s, uint64_t now, uint64_t key)
{
    const uint32_t line = tags_find(&s->tags, slice_set_of(s->spec, key), key);
    if (line == TAGS_NONE) return;
    s->stats.invalidated++;
    if (*tags_pins(&s->tags, line))
        s->lines[line].discard_fill = true;
    else
        slice_drop_line(s, now, line);
}
