/* coherent: copies of lines of other chiplets that hardware keeps coherent (organisation sm_side).
 *
 *   fetch of a slice of another chiplet ─► the home notes the chiplet in its tags
 *   store, atomic at home; line evicted there ─► news to the chiplets noted, but not to the writer's own,
 * whose slice has changed or dropped its copy in passing ─► copy dropped
 *
 * News takes llc.invalidate_cyc, on wires of its own (ASSUMPTION: one flit each, counted, never in each
 * other's way); a store or atomic is answered after the news has come and word of it gone back. A line that
 * is on its way when the news comes is given to those that wait for it, whose loads are older than the
 * answer, and not kept: who asks later is passed on to the home. So no load that follows an acknowledged
 * store reads an older copy, and nothing has to happen at acquires. */
#include "llc/llc_private.h"
#include "llc/organisation.h"

void coherent_new(struct slice *s, struct arena *a)
{
    s->far->sharers = ARENA_ARRAY(a, uint64_t, tags_lines(&s->tags));
}

void coherent_note(struct slice *s, const struct request *r)
{
    const uint32_t line = tags_find(&s->tags, slice_set_of(s->spec, r->home.line), r->home.line);
    DIAG_ASSERT(line != TAGS_NONE);
    s->far->sharers[line] |= (uint64_t)1 << (r->via - 1u) / s->wire.organisation->slice_count;
}

static void tell(struct slice *s, uint32_t line, uint64_t chiplets)
{
    const uint32_t slices = s->wire.organisation->slice_count;
    s->far->sharers[line] &= ~chiplets;
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
    const uint64_t own = r->via ? (uint64_t)1 << (r->via - 1u) / s->wire.organisation->slice_count : 0;
    const uint64_t chiplets = s->far->sharers[line] & ~own;
    if (!chiplets) return;
    tell(s, line, chiplets);
    s->far->hold_cyc = now + 2 * (uint64_t)s->spec->invalidate_cyc;
}

void coherent_evict(struct slice *s, uint32_t line)
{
    if (s->far->sharers[line]) tell(s, line, s->far->sharers[line]);
}

void coherent_drop(struct slice *s, uint64_t now, uint64_t key)
{
    const uint32_t line = tags_find(&s->tags, slice_set_of(s->spec, key), key);
    if (line == TAGS_NONE) return;
    s->stats.invalidated++;
    if (*tags_pins(&s->tags, line))
        s->lines[line].overtaken = true;
    else
        slice_drop_line(s, now, line);
}
