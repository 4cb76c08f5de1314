/* window: a basic slice in windows (system/windows.h): its cycles are worked off in one visit, a window of
 * them at a time. What happens in a cycle is that of llc.c, or the same in short (slice_quick.h); what only
 * its visits need is not here. */
#include "llc/llc.h"
#include "llc/slice_quick.h"

void slice_in_windows(struct slice *s, bool on)
{
    const uint32_t room = s->spec->memory_queue + s->spec->mshrs;
    s->windowed = on;
    /* every reply leaves at the start of its time at the port, and the reply queue is never full */
    s->direct = on && !s->spec->latency_cyc && s->spec->hits_limit > s->spec->data_queue_cyc + LINE_BYTES &&
                !FAULT_CLOSES_FAST_LOOPS;
    s->quick = s->direct && slice_sets_are_simple(&s->tags);
    if (s->quick) {
        slice_sets_begin(s);
        quick_new(s);
    }
    s->due_cyc = ENGINE_NEVER;
    /* windows simulate the channels: the slice never turns exact accept times on */
    s->ops_inexact_max = on ? UINT32_MAX : room > 2 * SLICE_EXACT_MARGIN ? room - SLICE_EXACT_MARGIN : 0;
}

bool slice_is_basic(const struct slice *s) { return s->basic; }

/* The next cycle with something to do; a request that was seen waits for what is due. */
static inline uint64_t window_due(const struct slice *s)
{
    const uint64_t visible = s->front->visible_cyc;
    uint64_t due = s->due_cyc;
    if (visible > s->visited_cyc) due = min_u64(due, visible);
    return s->fills_count ? min_u64(due, fill_due(s, true)) : due;
}

uint64_t slice_window_due(const struct slice *s) { return window_due(s); }

bool slice_window_busy(const struct slice *s)
{
    return s->inside || s->ops_count || window_due(s) != ENGINE_NEVER;
}

bool slice_needs_channel(const struct slice *s, uint64_t until)
{
    return s->waits_for_memory || (!slice_memory_has_room(s) && window_due(s) < until);
}

/* The request in front; true: it is served. What is blocked for want of an MSHR stays a miss: only the tag
 * stage brings lines in. */
static SLICE_HOT bool serve_front(struct slice *s, uint64_t now, uint32_t idx)
{
    struct request *const r = at(s, idx);
    const uint32_t set = set_of(s, r->home.line);
    uint32_t line = TAGS_NONE;
    if (!s->missed) {
        line = tags_find(&s->tags, set, r->home.line);
        if (line != TAGS_NONE && tags_used(&s->tags, line ^ 1) && FAULT_FIRES(llc_wrong_hit)) line ^= 1;
    }
    if (!(r->kind == REQUEST_WRITE ? serve_write(s, now, idx, set, line, true)
                                   : serve_read(s, now, idx, set, line, true))) {
        s->missed = line == TAGS_NONE && s->blocked == &s->stats.wait_mshr;
        return false;
    }
    s->missed = false;
    count_served(s, r, now, true);
    return true;
}

/* The tag stage; returns when it has something to do again, as far as it is not something that comes. */
static SLICE_HOT uint64_t request_stage(struct slice *s, uint64_t now)
{
    if (s->front->visible_cyc > now) {
        s->blocked = NULL;
        return ENGINE_NEVER;
    }
    if (!still_blocked(s) && tag_may_run(s, now, &s->hits)) {
        s->fill_came = false;
        if (serve_front(s, now, (uint32_t)s->front->packet->handle))
            (void)net_queue_take(net_queue_port_of(s->wire.fabric->request.net, s->wire.slice_idx), now);
    }
    if (s->front->visible_cyc > now) return ENGINE_NEVER;
    if (!s->blocked) return now + 1;
    return s->blocked == &s->stats.wait_port ? s->port_free_cyc - s->spec->data_queue_cyc : ENGINE_NEVER;
}

static __attribute__((noinline)) void window_cycle(struct slice *s, uint64_t now)
{
    if (s->blocked) *s->blocked += now - s->blocked_cyc;
    if (s->fills_count) take_fills(s, now, true);
    uint64_t next = request_stage(s, now);
    s->blocked_cyc = now;
    s->waits_for_memory = s->blocked == &s->stats.wait_memory;
    if (s->hits.count | s->filled.count) {
        next = min_u64(next, reply_stage(s, now));
        if (s->blocked == &s->stats.wait_reply && slice_may_reply(s->spec, &s->hits)) next = now + 1;
        DIAG_ASSERT(!s->reply_refused);
    }
    s->due_cyc = next > now ? next : now + 1;
    s->visited_cyc = now;
}

void slice_window_sync_stats(struct slice *s)
{
    if (s->inside_cyc < s->replied_cyc) s->inside_cyc = s->replied_cyc;
    add_occupancy(s);
}

void slice_window_cycle(struct slice *s, uint64_t now)
{
    window_cycle(s, now);
    add_occupancy(s);
}

/* Replies wait in the slice that leave in this window, each in its turn. */
static inline bool is_slow(const struct slice *s)
{
    return !s->quick || min_u64(s->hits_cyc, s->filled_cyc) < s->until_cyc;
}

static inline void quick_run(struct slice *s)
{
    struct slice_run *const q = &s->run;
    quick_begin(s, q);
    quick_cycles(s, q);
    quick_end(s, q);
    if (__builtin_expect(!q->slow, 1)) return;
    s->fill_came = true; /* if not, no harm */
    window_cycle(s, q->now);
}

bool slice_run_window(struct slice *s, uint64_t until)
{
    s->until_cyc = until;
    uint64_t due;
    while (!s->waits_for_memory && slice_memory_has_room(s) && (due = window_due(s)) < until)
        if (is_slow(s))
            window_cycle(s, due);
        else
            quick_run(s);
    add_occupancy(s);
    return !s->waits_for_memory && (slice_memory_has_room(s) || window_due(s) >= until);
}
