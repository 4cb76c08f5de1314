/* llc: the activations of a slice, see llc.h. An activation runs the stages from the last to the first:
 *
 *   request network ──► slice_tags.h ────────── hit ──────────► slice_reply.h ──► reply network
 *                            │ miss                                   ▲
 *                            ▼                                        │
 *                      slice_memory.h ──► memory ──► slice_fill.h ────┘
 *
 * The stages are headers because the compiler inlines them twice: for slices of any kind and for basic slices
 * (SLICE_HOT in llc_private.h). */
#include "llc/llc.h"

#include "llc/rdc.h"
#include "llc/slice_tags.h"
#include "llc/spill.h"

/* True if the front request will find no free MSHR in the next cycle. The stall is then recorded now, and
 * the next activation is that of the next fill. False in all cases that need more than a tag lookup. */
static inline bool stalls_next(const struct slice *s, uint64_t now)
{
    if (s->mshr_free_count || s->walks.count || s->flush_done || s->remote) return false;
    if (s->reply_refused) return false; /* the network counts one refused offer per activation */
    const struct request *r = at(s, port_front(s, now, true));
    if (r->kind == REQUEST_WRITE || r->flags & REQUEST_MIGRATE) return false;
    if (s->port_free_cyc > now + 1 + s->spec->data_queue_cyc || !slice_may_reply(s->spec, &s->hits) ||
        !slice_memory_has_room(s))
        return false;
    return tags_find(&s->tags, set_of(s, r->home.line), r->home.line) == TAGS_NONE;
}

/* Cycle of the next event of the stages before the reply port for which no component wakes the slice. */
static SLICE_HOT uint64_t own_next_cyc(struct slice *s, uint64_t now, bool basic)
{
    uint64_t next = s->fills_count ? fill_due(s, basic) : ENGINE_NEVER;
    if (!basic && s->walked.count) next = min_u64(next, walker_due(s));
    if (s->more || (!basic && s->walks.count && at(s, s->walks.first)->ready_cyc <= now)) {
        if (s->blocked == &s->stats.wait_port) {
            next = min_u64(next, s->port_free_cyc - s->spec->data_queue_cyc);
        } else if (!s->blocked && next > now + 1 && stalls_next(s, now)) {
            s->blocked = &s->stats.wait_mshr;
            s->blocked_cyc = now + 1;
        } else if (!s->blocked ||
                   (s->blocked == &s->stats.wait_reply && slice_may_reply(s->spec, &s->hits))) {
            next = now + 1;
        }
    } else if (!basic && s->walks.count) {
        next = min_u64(next, at(s, s->walks.first)->ready_cyc);
    }
    if (basic) return next;
    if (s->flush_done && s->flush_cyc > now)
        next = min_u64(next, s->flush_cyc);
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

/* Runs the stages from the fills to the tag stage. */
static SLICE_HOT void own_stages(struct slice *s, uint64_t now, bool basic)
{
    if (s->blocked) *s->blocked += now - s->blocked_cyc;
    if (s->ops_count > s->ops_inexact_max || s->exact_accept) slice_update_exact_accept(s);
    if (s->fills_count) take_fills(s, now, basic);
    if (!basic && s->flush_done) slice_flush_step(s, now);
    tag_stages(s, now, basic);
    if (!basic && s->walked.count) reply_to_walkers(s, now);
    s->blocked_cyc = now;
    s->waits_for_memory = s->blocked == &s->stats.wait_memory ||
                          (!basic && s->remote && s->remote->blocked == &s->stats.wait_memory);
}

static inline void schedule_next(struct slice *s, uint64_t now, uint64_t next)
{
    add_occupancy(s);
    if (next <= now) next = now + 1;
    if (next != ENGINE_NEVER) engine_wake(s->wire.engine, s->component, next);
    if (s->wire.fabric->rearm_wakeups)
        fabric_rearm_slice(s->wire.fabric, now, s->wire.slice_idx, s->reply_refused);
}

/* Wake-up handler of a slice without remote lines. */
static __attribute__((noinline)) void wake(void *self, uint64_t now)
{
    struct slice *s = self;
    own_stages(s, now, false);
    const uint64_t next = reply_stage(s, now);
    schedule_next(s, now, min_u64(next, own_next_cyc(s, now, false)));
}

/* Wake-up handler of a basic slice; falls back to wake(). */
void slice_wake(void *self, uint64_t now)
{
    struct slice *s = self;
    if (!s->basic || s->walkers || s->flush_done) {
        wake(self, now);
        return;
    }
    own_stages(s, now, true);
    const uint64_t next = reply_stage(s, now);
    schedule_next(s, now, min_u64(next, own_next_cyc(s, now, true)));
}

/* Sends requests to other slices. Returns the cycle of the next one. */
static inline __attribute__((always_inline)) uint64_t remote_send_requests(struct slice *s, uint64_t now)
{
    struct remote_lines *const f = s->remote;
    struct request_list *const out = reply_ready(s, &f->bypass, &f->out, now);
    if (out && (fabric_refuses(&s->wire.fabric->far_request, now, s->wire.slice_idx) ||
                !remote_send_request(s, now, out)))
        return ENGINE_NEVER;
    return ready_first(s, &f->bypass, &f->out);
}

/* Sends requests and replies to other slices. Returns the cycle of the next one. extended: as in wake_remote(). */
static inline __attribute__((always_inline)) uint64_t remote_send(struct slice *s, uint64_t now,
                                                                  bool extended)
{
    struct remote_lines *const f = s->remote;
    const struct fabric *fabric = s->wire.fabric;
    const uint32_t here = s->wire.slice_idx;
    uint64_t next = ENGINE_NEVER;
    if (extended && f->rdc && f->rdc->misses_count) next = remote_send_rdc_misses(s, now);
    if (extended && f->pages.count) remote_send_page_line(s, now);
    if (f->bypass.count | f->out.count) next = min_u64(next, remote_send_requests(s, now));
    if (extended && f->pages.count && f->out.count < s->spec->forward_queue) next = min_u64(next, now + 1);
    if (extended && f->rdc && f->rdc->back) next = min_u64(next, rdc_back_send(s, now));
    if (extended && f->coherence && coherence_busy(f->coherence)) {
        bool sent = false;
        next = min_u64(next, coherence_send(s, now, &sent));
        if (sent) return min_u64(next, now + 1); /* one packet per cycle and direction */
    }
    if (f->hits.count | f->filled.count) {
        struct request_list *const list = reply_ready(s, &f->hits, &f->filled, now);
        if (!list || (!fabric_refuses(&fabric->far_reply, now, here) && remote_send_reply(s, now, list)))
            next = min_u64(next, ready_first(s, &f->hits, &f->filled));
    }
    return next;
}

/* Cycle in which the tag stage may serve a request of another slice that is still at the port. */
static uint64_t remote_request_due(const struct slice *s, uint64_t now)
{
    const uint64_t *const blocked = s->remote->blocked;
    if (blocked == &s->stats.wait_port) return s->port_free_cyc - s->spec->data_queue_cyc;
    const bool may =
        !blocked || (blocked == &s->stats.wait_reply && slice_may_reply(s->spec, &s->remote->hits));
    return may ? now + 1 : ENGINE_NEVER;
}

/* True if the tag stage waits for an event of the remote data cache that has happened. */
static inline bool rdc_unblocks(const struct slice *s)
{
    const struct rdc *const r = s->remote->rdc;
    return (s->blocked == &r->stats.wait_queue && r->free_count) || s->blocked == &r->stats.wait_back ||
           (s->blocked == &r->stats.wait_reset && !r->reset_left &&
            !(r->reset_waits && rdc_back_any(r->back)));
}

/* The ring of the RDC goes below the demand operations of the channel; those for system memory use another way. */
static inline void step_rdc(struct slice *s, uint64_t now)
{
    const uint32_t spilled = spill_ops(s->spill);
    s->ops_count -= spilled;
    rdc_step(s, now);
    s->ops_count += spilled;
}

/* Wake-up handler of a slice with remote lines. Bypassing requests need no tag lookup. The handler therefore
 * runs own_stages() only if a request for the tag stage is present, own_cyc is due, or s->run_own_stages is
 * set (a stage is blocked, a flush is active, or a page-walk read waits). extended: the slice has a remote
 * data cache, sends invalidations or copies pages; a constant, so that other slices have a handler without these
 * tests. */
static inline __attribute__((always_inline)) void wake_remote(struct slice *s, uint64_t now, bool extended)
{
    struct remote_lines *const f = s->remote;
    const uint64_t net_now = fabric_net_now(&s->wire.fabric->request, now);
    uint64_t next = ENGINE_NEVER;
    if (net_front_shows(f->reply_front, net_now)) {
        remote_receive(s, now);
        if (net_front_shows(f->reply_front, net_now)) next = now + 1;
    }
    const bool from_sm = net_front_shows(f->sm_front, net_now);
    const bool from_slice = net_front_shows(f->request_front, net_now);
    if (from_sm && s->has_input) local_input_accept(s, now);
    const bool own =
        from_slice || s->own_cyc <= now || s->run_own_stages || (s->has_input ? f->local.count : from_sm);
    if (own) own_stages(s, now, false);
    next = min_u64(next, reply_stage(s, now));
    if (own) {
        s->own_cyc = own_next_cyc(s, now, false);
        s->run_own_stages = s->blocked || f->blocked || s->flush_done || s->walks.count;
    }
    next = min_u64(min_u64(next, s->own_cyc), remote_send(s, now, extended));
    if (extended && f->rdc) {
        if (rdc_busy(f->rdc)) step_rdc(s, now);
        if (f->rdc->back) next = min_u64(next, rdc_back_scan(s, now));
        if (s->run_own_stages && rdc_unblocks(s)) next = now + 1;
    }
    if (s->run_own_stages && s->blocked == &s->stats.wait_forward && f->out.count < s->spec->forward_queue)
        next = now + 1;
    if (from_slice && net_front_shows(f->request_front, net_now))
        next = min_u64(next, remote_request_due(s, now));
    if (from_sm && s->has_input) next = min_u64(next, local_input_next_cyc(s, now));
    schedule_next(s, now, next);
}

void slice_wake_remote(void *self, uint64_t now) { wake_remote(self, now, false); }
void slice_wake_extended(void *self, uint64_t now) { wake_remote(self, now, true); }

/* ---- calls of other components ---- */

void slice_walk(struct slice *s, uint32_t request, uint64_t ready_cyc)
{
    at(s, request)->ready_cyc = ready_cyc;
    append(s, &s->walks, request);
    s->walkers++;
    s->run_own_stages = true;
    if (s->blocked && s->blocked_cyc > engine_now(s->wire.engine, s->wire.domain)) { /* see stalls_next() */
        s->blocked = NULL;
        engine_wake(s->wire.engine, s->component, s->blocked_cyc);
    }
    engine_wake(s->wire.engine, s->component, ready_cyc);
}

void slice_count_apps(struct slice *s, struct app_stats *first, size_t stride)
{
    s->basic = false;
    s->apps = (char *)first;
    s->owners = UINT64_MAX;
    s->app_stride = stride;
}

void slice_set_owners(struct slice *s, uint64_t apps) { s->owners = apps; }

uint32_t slice_dirty_lines(const struct slice *s)
{
    uint32_t dirty = 0;
    for (uint32_t line = 0; line < tags_lines(&s->tags); line++)
        dirty += tags_used(&s->tags, line) && (s->lines[line].dirty[0] | s->lines[line].dirty[1]);
    return dirty;
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

void slice_invalidate_line(struct slice *s, uint64_t line)
{
    const uint32_t at_line = tags_find(&s->tags, set_of(s, line), line);
    if (at_line == TAGS_NONE) return;
    DIAG_ASSERT(!*tags_pins(&s->tags, at_line) && !(s->lines[at_line].dirty[0] | s->lines[at_line].dirty[1]));
    slice_drop_line(s, engine_now(s->wire.engine, s->wire.domain), at_line);
}

/* ---- for the other files of a slice ---- */

void slice_write_line(struct slice *s, uint64_t now, uint32_t line, uint32_t idx)
{
    const struct request *r = at(s, idx);
    if (r->kind != REQUEST_WRITE && FAULT_FIRES(llc_atomic_clean)) return;
    if (!s->write_through) {
        if (s->remote && s->remote->sharers) coherent_write(s, now, line, r);
        if (s->remote && s->remote->coherence) coherence_on_write(s, now, at(s, idx));
        s->lines[line].dirty[0] |= FAULT_FIRES(llc_dirty_mask) ? r->bytes[0] & ~(uint64_t)15 : r->bytes[0];
        s->lines[line].dirty[1] |= r->bytes[1];
    }
    if (s->copies) check_copy_store(s->copies, line, idx, now);
    if (s->copies && r->flags & REQUEST_FETCH)
        check_kept_performed(s->wire.check, idx, engine_now(s->wire.engine, s->wire.organisation->sm_domain));
}

uint32_t slice_service_cycles(const struct slice *s, const struct request *r) { return service_cycles(s, r); }

bool slice_serve_home(struct slice *s, uint64_t now, uint32_t idx, const struct request_list *hits)
{
    return tag_may_run(s, now, hits) && serve(s, now, idx, false);
}

void slice_serve_waiting(struct slice *s, uint64_t now, uint32_t line)
{
    (void)serve_waiting(s, now, line, &s->lines[line], false);
}
void slice_hit(struct slice *s, uint64_t now, uint32_t line, uint32_t idx) { hit(s, now, line, idx, false); }
uint32_t slice_evict_victim(struct slice *s, uint64_t now, uint32_t set)
{
    return evict_victim(s, now, set, false);
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
