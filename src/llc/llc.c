/* llc: a slice's visits, see llc.h. A visit goes through the stages from the last to the first:
 *
 *   request network ──► slice_tags.h ────────── hit ──────────► slice_reply.h ──► reply network
 *                            │ miss                                   ▲
 *                            ▼                                        │
 *                      slice_memory.h ──► memory ──► slice_fill.h ────┘
 *
 * The stages are headers because a visit is one piece of code: what happens once per request is compiled
 * twice, for slices of any kind and for plain ones (SLICE_HOT in llc_private.h). */
#include "llc/llc.h"

#include "llc/slice_tags.h"

/* Will the request in front find every MSHR taken in the next cycle? Then the stop can be noted now, and the
 * next visit is that of the next fill. Only for what is plain to see. */
static inline bool stops_next(const struct slice *s, uint64_t now)
{
    if (s->mshr_free_count || s->walks.count || s->flush_done || s->far) return false;
    if (s->reply_refused) return false; /* every visit is an offer that the network counts */
    const struct request *r = at(s, port_front(s, now, true));
    if (r->kind == REQUEST_WRITE || r->flags & REQUEST_MIGRATE) return false;
    if (s->port_free_cyc > now + 1 + s->spec->data_queue_cyc || !slice_may_reply(s->spec, &s->hits) ||
        !slice_memory_has_room(s))
        return false;
    return tags_find(&s->tags, set_of(s, r->home.line), r->home.line) == TAGS_NONE;
}

/* When the stages before the reply port have something to do that nobody will wake the slice for. */
static SLICE_HOT uint64_t own_next_visit(struct slice *s, uint64_t now, bool plain)
{
    uint64_t next = s->fills_count ? fill_due(s, plain) : ENGINE_NEVER;
    if (!plain && s->walked.count) next = earlier(next, walker_due(s));
    if (s->more || (!plain && s->walks.count && at(s, s->walks.first)->ready_cyc <= now)) {
        if (s->blocked == &s->stats.wait_port) {
            next = earlier(next, s->port_free_cyc - s->spec->data_queue_cyc);
        } else if (!s->blocked && next > now + 1 && stops_next(s, now)) {
            s->blocked = &s->stats.wait_mshr;
            s->blocked_cyc = now + 1;
        } else if (!s->blocked ||
                   (s->blocked == &s->stats.wait_reply && slice_may_reply(s->spec, &s->hits))) {
            next = now + 1;
        }
    } else if (!plain && s->walks.count) {
        next = earlier(next, at(s, s->walks.first)->ready_cyc);
    }
    if (plain) return next;
    if (s->flush_done && s->flush_cyc > now)
        next = earlier(next, s->flush_cyc);
    else if (s->flush_done && s->flush_cursor < tags_lines(&s->tags) &&
             !*tags_pins(&s->tags, s->flush_cursor) && slice_memory_has_room(s))
        next = now + 1;
    return next;
}

static void set_exact_accept(struct slice *s, bool on)
{
    const uint64_t bit = (uint64_t)1 << s->wire.pending_bit;
    s->exact_accept = on;
    for (uint32_t k = 0; k < s->spec->channels; k++) {
        s->wire.exact_accept[k] = on ? s->wire.exact_accept[k] | bit : s->wire.exact_accept[k] & ~bit;
        if (on) channel_sync(s->wire.channels[k]);
    }
}

void slice_update_exact_accept(struct slice *s)
{
    if (!s->wire.channels_sync) return;
    if (s->flush_done || s->ops_count > s->ops_inexact_max || !s->ops_inexact_max)
        set_exact_accept(s, true);
    else if (s->exact_accept)
        set_exact_accept(s, false);
}

/* What the slice does by itself, up to the reply port. */
static SLICE_HOT void own_stages(struct slice *s, uint64_t now, bool plain)
{
    if (s->blocked) *s->blocked += now - s->blocked_cyc;
    if (s->ops_count > s->ops_inexact_max || s->exact_accept) slice_update_exact_accept(s);
    if (s->fills_count) take_fills(s, now, plain);
    if (!plain && s->flush_done) slice_flush_step(s, now);
    tag_stages(s, now, plain);
    if (!plain && s->walked.count) answer_walkers(s, now);
    s->blocked_cyc = now;
    s->waits_for_memory =
        s->blocked == &s->stats.wait_memory || (!plain && s->far && s->far->blocked == &s->stats.wait_memory);
}

static inline void visit_again(struct slice *s, uint64_t now, uint64_t next)
{
    count_inside(s);
    if (next <= now) next = now + 1;
    if (next != ENGINE_NEVER) engine_wake(s->wire.engine, s->component, next);
    if (s->wire.fabric->sleepers_ask)
        fabric_sleep_slice(s->wire.fabric, now, s->wire.slice_idx, s->reply_refused);
}

/* Lines of its own only. */
static __attribute__((noinline)) void wake(void *self, uint64_t now)
{
    struct slice *s = self;
    own_stages(s, now, false);
    const uint64_t next = reply_stage(s, now);
    visit_again(s, now, earlier(next, own_next_visit(s, now, false)));
}

/* The same without what most slices do not have. */
void slice_wake(void *self, uint64_t now)
{
    struct slice *s = self;
    if (!s->plain || s->walkers || s->flush_done) {
        wake(self, now);
        return;
    }
    own_stages(s, now, true);
    const uint64_t next = reply_stage(s, now);
    visit_again(s, now, earlier(next, own_next_visit(s, now, true)));
}

/* Requests and replies to other slices; returns when there are more. */
static inline uint64_t far_send(struct slice *s, uint64_t now)
{
    struct far *f = s->far;
    const struct fabric *fabric = s->wire.fabric;
    const uint32_t here = s->wire.slice_idx;
    uint64_t next = ENGINE_NEVER;
    if (f->pages.count) far_send_page_line(s, now);
    if (f->past.count | f->out.count) {
        struct request_list *const out = reply_ready(s, &f->past, &f->out, now);
        if (!out || (!fabric_refuses(&fabric->far_request, now, here) && far_send_request(s, now, out)))
            next = ready_first(s, &f->past, &f->out);
    }
    if (f->hits.count | f->filled.count) {
        struct request_list *const way = reply_ready(s, &f->hits, &f->filled, now);
        if (!way || (!fabric_refuses(&fabric->far_reply, now, here) && far_send_reply(s, now, way)))
            next = earlier(next, ready_first(s, &f->hits, &f->filled));
    }
    if (f->pages.count && f->out.count < s->spec->forward_queue) next = now + 1;
    return next;
}

/* A request of another slice that is still there: when the tag stage may take it. */
static uint64_t far_request_due(const struct slice *s, uint64_t now)
{
    const uint64_t *const blocked = s->far->blocked;
    if (blocked == &s->stats.wait_port) return s->port_free_cyc - s->spec->data_queue_cyc;
    const bool may = !blocked || (blocked == &s->stats.wait_reply && slice_may_reply(s->spec, &s->far->hits));
    return may ? now + 1 : ENGINE_NEVER;
}

/* Of others too. What only goes past gives the slice's own stages nothing to do: they are left out until
 * something is for them or due, or waits for what a visit may see (s->watchful). */
void slice_wake_far(void *self, uint64_t now)
{
    struct slice *s = self;
    struct far *f = s->far;
    const uint64_t net_now = fabric_net_now(&s->wire.fabric->request, now);
    uint64_t next = ENGINE_NEVER;
    if (net_front_shows(f->answers, net_now)) {
        far_receive(s, now);
        if (net_front_shows(f->answers, net_now)) next = now + 1;
    }
    const bool near = net_front_shows(f->near, net_now), asked = net_front_shows(f->asked, net_now);
    if (near && s->has_input) near_accept(s, now);
    const bool own = asked || s->own_cyc <= now || s->watchful || (s->has_input ? f->local.count : near);
    if (own) own_stages(s, now, false);
    next = earlier(next, reply_stage(s, now));
    if (own) {
        s->own_cyc = own_next_visit(s, now, false);
        s->watchful = s->blocked || f->blocked || s->flush_done || s->walks.count;
    }
    next = earlier(earlier(next, s->own_cyc), far_send(s, now));
    if (s->watchful && s->blocked == &s->stats.wait_forward && f->out.count < s->spec->forward_queue)
        next = now + 1;
    if (asked && net_front_shows(f->asked, net_now)) next = earlier(next, far_request_due(s, now));
    if (near && s->has_input) next = earlier(next, near_next_visit(s, now));
    visit_again(s, now, next);
}

/* ---- for others ---- */

void slice_walk(struct slice *s, uint32_t request, uint64_t ready_cyc)
{
    at(s, request)->ready_cyc = ready_cyc;
    append(s, &s->walks, request);
    s->walkers++;
    s->watchful = true;
    if (s->blocked &&
        s->blocked_cyc > engine_now(s->wire.engine, s->wire.domain)) { /* foreseen: look again */
        s->blocked = NULL;
        engine_wake(s->wire.engine, s->component, s->blocked_cyc);
    }
    engine_wake(s->wire.engine, s->component, ready_cyc);
}

void slice_count_apps(struct slice *s, struct app_stats *first, size_t stride)
{
    s->plain = false;
    s->apps = (char *)first;
    s->app_stride = stride;
}

void slice_count_lines(struct slice *s)
{
    for (uint32_t line = 0; s->line_requests && line < tags_lines(&s->tags); line++) count_line(s, line);
}

void slice_expect(const void *slice, const struct request *r)
{
    const struct slice *s = slice;
    tags_fetch(&s->tags, set_of(s, r->home.line));
}

void slice_forget(struct slice *s, uint64_t line)
{
    const uint32_t at_line = tags_find(&s->tags, set_of(s, line), line);
    if (at_line == TAGS_NONE) return;
    DIAG_ASSERT(!*tags_pins(&s->tags, at_line) && !(s->lines[at_line].dirty[0] | s->lines[at_line].dirty[1]));
    slice_drop_line(s, engine_now(s->wire.engine, s->wire.domain), at_line);
}

/* ---- for the other files of a slice ---- */

/* An atomic or write changes the line. */
void slice_write_line(struct slice *s, uint64_t now, uint32_t line, uint32_t idx)
{
    const struct request *r = at(s, idx);
    if (r->kind != REQUEST_WRITE && FAULT_FIRES(llc_atomic_clean)) return;
    if (!s->write_through) {
        if (s->far && s->far->sharers) coherent_write(s, now, line, r);
        s->lines[line].dirty[0] |= FAULT_FIRES(llc_dirty_mask) ? r->bytes[0] & ~(uint64_t)15 : r->bytes[0];
        s->lines[line].dirty[1] |= r->bytes[1];
    }
    if (s->copies) check_copy_store(s->copies, line, idx, now);
}

uint32_t slice_service_cycles(const struct slice *s, const struct request *r) { return service_cycles(s, r); }

bool slice_serve_home(struct slice *s, uint64_t now, uint32_t idx, const struct request_list *hits)
{
    return tag_may_run(s, now, hits) && serve(s, now, idx, false);
}

void slice_hit(struct slice *s, uint64_t now, uint32_t line, uint32_t idx) { hit(s, now, line, idx, false); }
uint32_t slice_make_room(struct slice *s, uint64_t now, uint32_t set)
{
    return make_room(s, now, set, false);
}
struct slice_line *slice_pin(struct slice *s, uint64_t now, uint32_t line)
{
    pin(s, now, tags_set_of(&s->tags, line), line);
    return &s->lines[line];
}
void slice_drop_line(struct slice *s, uint64_t now, uint32_t line)
{
    drop_line(s, now, line, false);
    tags_drop(&s->tags, line);
    s->quick = false; /* see slice_set.h */
}
