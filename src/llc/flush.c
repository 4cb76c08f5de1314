/* flush: a pass over the lines of a slice at the end of a kernel. The pass writes dirty lines back and
 * invalidates the lines that the boundary names. It handles llc.flush_lines lines per cycle. The slice serves
 * requests meanwhile. A remote data cache with dirty lines sends them home at the same time (rdc_back.h). */
#include "llc/rdc.h"

static struct rdc_back *back_of(const struct slice *s)
{
    return s->remote && s->remote->rdc ? s->remote->rdc->back : NULL;
}

/* The LLC is clean: true if the remote data cache is, too. */
static bool rdc_is_clean(const struct slice *s)
{
    const struct rdc_back *const b = back_of(s);
    return !b || rdc_back_flushed(b);
}

static bool flush_drops(const struct slice *s, uint32_t line)
{
    switch (s->flush_how) {
    case llc_boundary_flush: return tags_used(&s->tags, line);
    case llc_boundary_drop_remote:
        return tags_used(&s->tags, line) && remote_holds(s, line) && !FAULT_FIRES(llc_keeps_remote);
    case llc_boundary_replicas:
        return tags_used(&s->tags, line) &&
               slice_home(s->spec, tags_key(&s->tags, line)) != s->wire.slice_idx;
    case llc_boundary_clean:
    case llc_boundary_keep:
    case llc_boundary_count: break;
    }
    return false;
}

static inline bool flush_cleans(const struct slice *s, uint32_t line)
{
    return (s->lines[line].dirty[0] | s->lines[line].dirty[1]) != 0 &&
           s->flush_how != llc_boundary_drop_remote;
}

/* Moves the cursor to the next line that needs an activation. Lines without an action take their cycles and
 * no activation. If no request arrives meanwhile (flush_alone), lines that are only invalidated need none
 * either. */
static void advance_cursor(struct slice *s, uint64_t now)
{
    const uint32_t lines = tags_lines(&s->tags), from = s->flush_cursor;
    uint32_t line = from + 1;
    for (; line < lines && !flush_cleans(s, line) && !*tags_pins(&s->tags, line); line++) {
        if (!flush_drops(s, line)) continue;
        if (!s->flush_alone) break;
        slice_drop_line(s, now, line);
    }
    s->flush_cursor = line;
    s->flush_cyc =
        now + ((line < lines ? line : lines - 1) - from + s->spec->flush_lines - 1) / s->spec->flush_lines;
    s->stats.flushed_lines += line - from;
}

void slice_flush_step(struct slice *s, uint64_t now)
{
    const uint32_t line = s->flush_cursor;
    if (now < s->flush_cyc) return;
    if (line < tags_lines(&s->tags)) {
        const bool cleans = flush_cleans(s, line);
        if (cleans && !slice_memory_has_room(s)) return; /* the channel wakes the slice */
        if (*tags_pins(&s->tags, line)) return;          /* the pending fill wakes the slice */
        if (cleans && !FAULT_FIRES(llc_flush_skips)) {
            s->lines[line].valid |= sectors_written(s->lines[line].dirty); /* stays readable when clean */
            slice_write_back(s, now, line);
            s->stats.flush_writebacks++;
        }
        if (flush_drops(s, line)) slice_drop_line(s, now, line);
        advance_cursor(s, now);
    }
    if (s->flush_cursor == tags_lines(&s->tags) && now >= s->flush_cyc && !s->ops_count && rdc_is_clean(s)) {
        void (*done)(void *) = s->flush_done;
        s->flush_done = NULL;
        done(s->flush_arg);
    }
}

void slice_flush(struct slice *s, enum llc_boundary how, bool alone, void (*done)(void *arg), void *arg)
{
    DIAG_ASSERT(!s->flush_done);
    const uint64_t next = engine_now(s->wire.engine, s->wire.domain) + 1;
    s->flush_how = how;
    s->flush_alone = alone && !back_of(s); /* dirty bytes of other RDCs arrive */
    s->flush_cursor = 0;
    s->flush_cyc = next; /* not in this cycle, in which some slices have run already */
    s->flush_done = done;
    s->flush_arg = arg;
    if (back_of(s)) {
        back_of(s)->flush_cyc = next;
        rdc_back_flush(s);
    }
    s->run_own_stages = true;
    slice_update_exact_accept(s);
    engine_wake(s->wire.engine, s->component, next);
}
