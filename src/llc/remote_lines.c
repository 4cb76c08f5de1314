/* remote_lines: lines whose home is another slice. Active where slices forward to slices: nuba, and numa and
 * sm_side with several chiplets. Elsewhere s->remote is NULL. local_input.c is the input stage of nuba.
 * The tag stage passes requests here whose rule names the home as the next hop (request/path.h).
 *
 *   requesting slice                                                  home slice
 *   SM read ---> tag stage --hit--> reply to the SM
 *                   | miss: allocate way and MSHR, create fetch
 *                   v
 *   SM write,  ---> out queue ---> far_request network ---> remote_serve_next(): tag stage, memory on a miss
 *   atomic, or                                                            |
 *   uncacheable     remote_receive() <--- far_reply network <--- hits, filled queues
 *   read                | fetch: fill the line, reply to the requests in its MSHR
 *                       | forwarded request: reply to the SM
 *
 * Invariants:
 *  1. A remote line is never dirty. Writes update it, atomics invalidate it; both are forwarded to the home, unless a
 *     remote data cache keeps a write (rdc_back.h).
 *  2. While a fetch is pending, dirty[] marks the bytes written since the miss. The fill keeps these bytes.
 *  3. An atomic, an invalidation (coherent.c) or a read after an epoch change marks a pending fill as
 *     `discard_fill`. The fill replies to its MSHR and is not installed. Reads after the mark are forwarded.
 *  4. Slices cannot deadlock. Pending fetches leave one MSHR of the slice and one way of each set free
 *     (may_pin()), so a local miss, which depends on memory only, always proceeds. Requests from other slices
 *     have their own input port and reply queues.
 *
 * The file also copies the lines of pages that get a local frame (REQUEST_PAGE) into that frame. */
#include "llc/coherence.h"
#include "llc/rdc.h"

static inline uint32_t epoch_now(const struct slice *s)
{
    const struct copy_epoch *e = s->wire.epoch;
    return e->changed_tick == engine_tick(s->wire.engine) ? e->before : e->value;
}

/* ---- out ---- */

static bool out_has_room(struct slice *s)
{
    if (s->remote->out.count < s->spec->forward_queue) return true;
    s->blocked = &s->stats.wait_forward;
    return false;
}

static void send_out(struct slice *s, uint64_t now, uint32_t idx, uint32_t delay_cyc)
{
    struct request *r = at(s, idx);
    r->via = (uint16_t)(s->wire.slice_idx + 1);
    r->ready_cyc = now + delay_cyc;
    append(s, &s->remote->out, idx);
}

/* Forwards the request itself to its home. The reply comes back through this slice. */
static bool forward(struct slice *s, uint64_t now, uint32_t idx)
{
    const struct rdc *const rdc = s->remote->rdc;
    if (rdc && rdc->back && !rdc_settled(s, now, at(s, idx)->home.line)) return false;
    if (!out_has_room(s)) return false;
    send_out(s, now, idx, s->spec->pass_latency_cyc);
    s->stats.passed++;
    return true;
}

/* Fetches sectors of a line that has a way here from the home. */
static void fetch(struct slice *s, uint64_t now, uint32_t for_idx, uint32_t line, uint8_t sectors,
                  uint32_t delay_cyc)
{
    const uint32_t idx = pool_try_take(s->wire.requests);
    DIAG_ASSERT(idx != REQUEST_NONE);
    const struct request *r = at(s, for_idx);
    *at(s, idx) = (struct request){.line = r->line,
                                   .home = r->home,
                                   .sent_cyc = now,
                                   .owner = line,
                                   .sm = r->sm,
                                   .kind = REQUEST_READ,
                                   .flags = r->flags | REQUEST_FETCH,
                                   .sectors = sectors,
                                   .app = r->app};
    s->lines[line].pending_sectors |= sectors;
    s->stats.fetches++;
    if (s->wire.check) check_forward(s->wire.check, idx, for_idx);
    send_out(s, now, idx, delay_cyc);
}

uint64_t remote_send_rdc_misses(struct slice *s, uint64_t now)
{
    struct rdc *const r = s->remote->rdc;
    uint32_t line;
    while (s->remote->out.count < s->spec->forward_queue && (line = rdc_miss_at(r, now)) != TAGS_NONE) {
        rdc_take_miss(r);
        fetch(s, now, s->lines[line].waiting.first, line, SECTORS_ALL, 0);
    }
    /* of a full queue: a departure from it is an activation */
    const uint64_t due = rdc_miss_due(r);
    return due > now ? due : now + 1;
}

/* ---- requests of SMs for remote lines ---- */

/* True if one more fetch may be pending in this set. */
static bool may_pin(struct slice *s, uint32_t set)
{
    uint32_t pinned = 0;
    if (s->remote->mshrs_used + 1 >= s->spec->ways) /* otherwise the fetches cannot fill a set */
        for (uint32_t line = set * s->spec->ways; line < (set + 1) * s->spec->ways; line++)
            pinned += *tags_pins(&s->tags, line) && s->lines[line].remote;
    if (pinned + 1 >= s->spec->ways) {
        s->blocked = &s->stats.wait_way;
        return false;
    }
    if (s->remote->mshrs_used + 1 >= s->spec->mshrs || !s->mshr_free_count) {
        s->blocked = &s->stats.wait_mshr;
        return false;
    }
    return true;
}

/* False: the slice is too small to keep a way and an MSHR free for local lines. It caches no remote line. */
static inline bool may_cache(const struct slice_spec *p) { return p->ways > 1 && p->mshrs > 1; }

static bool miss(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line)
{
    const struct request *r = at(s, idx);
    struct rdc *const rdc = s->remote->rdc;
    if (rdc ? !rdc_may_probe(s) : !out_has_room(s)) return false;
    if (!may_pin(s, set)) return false;
    if (rdc && !rdc_may_fetch(s, now, r->home.line)) return false;
    if (line == TAGS_NONE) {
        line = slice_evict_victim(s, now, set);
        if (line == TAGS_NONE) return false;
        tags_fill(&s->tags, line, r->home.line);
        s->remote->holds[line] = 1;
        s->lines[line].dirty[0] = s->lines[line].dirty[1] = 0;
    }
    struct slice_line *m = slice_pin(s, now, line);
    m->remote = true;
    s->remote->mshrs_used++;
    s->remote->epoch_of[line] = epoch_now(s);
    append(s, &m->waiting, idx);
    tags_touch(&s->tags, line);
    s->stats.read_misses++;
    s->stats.crossing_reads++;
    llc_epoch_keep(s->wire.epoch, engine_tick(s->wire.engine));
    if (rdc)
        rdc_probe(s, now, line);
    else
        fetch(s, now, idx, line, s->spec->sectored ? r->sectors & (uint8_t)~readable(s, line) : SECTORS_ALL,
              s->spec->miss_latency_cyc);
    return true;
}

static bool merge(struct slice *s, uint64_t now, uint32_t idx, uint32_t line)
{
    const struct request *r = at(s, idx);
    struct slice_line *m = &s->lines[line];
    const uint8_t missing = r->sectors & (uint8_t) ~(readable(s, line) | m->pending_sectors);
    if (m->waiting.count >= s->spec->mshr_merges) {
        s->blocked = &s->stats.wait_mshr;
        return false;
    }
    if (missing && !out_has_room(s)) return false;
    append(s, &m->waiting, idx);
    if (missing) fetch(s, now, idx, line, missing, s->spec->miss_latency_cyc);
    tags_touch(&s->tags, line);
    s->stats.read_merged++;
    *(s->remote->sharers ? &s->stats.crossing_reads : &s->stats.copy_reads) += 1;
    return true;
}

/* Invalidates the line if it belongs to an earlier epoch: returns TAGS_NONE. Otherwise returns the line. */
static uint32_t invalidate_if_stale(struct slice *s, uint64_t now, uint32_t line)
{
    if (line == TAGS_NONE || s->remote->epoch_of[line] == epoch_now(s) || FAULT_FIRES(llc_keeps_at_acquire))
        return line;
    if (*tags_pins(&s->tags, line)) {
        s->lines[line].discard_fill = true;
        return line;
    }
    s->stats.stale_lines++;
    slice_drop_line(s, now, line);
    return TAGS_NONE;
}

static bool serve_read(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line,
                       bool allocate)
{
    const struct request *r = at(s, idx);
    if (s->remote->strong_to_home && r->flags & REQUEST_STRONG) {
        if (!forward(s, now, idx)) return false;
        s->stats.read_misses++;
        s->stats.crossing_reads++;
        s->remote->coherence_stats.strong_loads++;
        return true;
    }
    line = invalidate_if_stale(s, now, line);
    const bool pinned = line != TAGS_NONE && *tags_pins(&s->tags, line);
    if (pinned && s->lines[line].discard_fill) {
        if (!forward(s, now, idx)) return false;
        s->stats.read_misses++;
        s->stats.crossing_reads++;
        return true;
    }
    if (line != TAGS_NONE && !(r->sectors & ~readable(s, line))) {
        slice_hit(s, now, line, idx);
        s->stats.remote_hits++;
        *(s->remote->sharers ? &s->stats.crossing_reads : &s->stats.copy_reads) += 1;
        return true;
    }
    if (pinned) return merge(s, now, idx, line);
    if (allocate && may_cache(s->spec)) return miss(s, now, idx, set, line);
    if (!forward(s, now, idx)) return false;
    s->stats.read_misses++;
    s->stats.crossing_reads++;
    return true;
}

/* A store updates the remote line. */
static void update(struct slice *s, uint64_t now, uint32_t idx, uint32_t line)
{
    const struct request *r = at(s, idx);
    s->stats.write_hits++;
    if (FAULT_FIRES(llc_store_passes_copy)) return;
    if (*tags_pins(&s->tags, line)) {
        s->lines[line].dirty[0] |= r->bytes[0];
        s->lines[line].dirty[1] |= r->bytes[1];
    }
    if (s->remote->copies) check_copy_store(s->remote->copies, line, idx, now);
}

bool remote_serve(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line, bool allocate)
{
    const struct request *r = at(s, idx);
    struct rdc *const rdc = s->remote->rdc;
    if (r->kind == REQUEST_READ) return serve_read(s, now, idx, set, line, allocate);
    if (rdc && !rdc_may_change(s, r->home.line)) return false;
    if (rdc && r->kind == REQUEST_WRITE && rdc_keeps(s, r->home.line)) {
        rdc_keep(s, now, idx);
        if (line != TAGS_NONE) update(s, now, idx, line);
        return true;
    }
    if (!forward(s, now, idx)) return false;
    if (rdc && r->kind == REQUEST_WRITE)
        rdc_update(s, now, idx);
    else if (rdc && !FAULT_FIRES(rdc_atomic_passes))
        (void)rdc_clear(s, now, r->home.line);
    if (line == TAGS_NONE) return true;
    if (r->kind == REQUEST_WRITE)
        update(s, now, idx, line);
    else if (*tags_pins(&s->tags, line))
        s->lines[line].discard_fill = true;
    else if (!FAULT_FIRES(llc_atomic_passes_copy))
        slice_drop_line(s, now, line);
    return true;
}

void remote_on_fill(struct slice *s, uint64_t now, uint32_t line, bool discard_fill)
{
    s->remote->mshrs_used--;
    if (s->remote->rdc && !s->lines[line].from_rdc) {
        if (discard_fill)
            rdc_discard(s->remote->rdc);
        else
            rdc_fill(s, now, line);
    }
    s->lines[line].dirty[0] = s->lines[line].dirty[1] = 0; /* the home received these bytes as well */
    if (discard_fill) slice_drop_line(s, now, line);
}

/* ---- lines of pages that get a local frame ---- */

void slice_fetch_page_line(struct slice *s, uint32_t request)
{
    append(s, &s->remote->pages, request);
    engine_wake(s->wire.engine, s->component, engine_now(s->wire.engine, s->wire.domain) + 1);
}

void remote_send_page_line(struct slice *s, uint64_t now)
{
    if (s->remote->out.count >= s->spec->forward_queue) return;
    const uint32_t idx = take_first(s, &s->remote->pages);
    at(s, idx)->sent_cyc = now;
    s->stats.fetches++;
    send_out(s, now, idx, s->spec->miss_latency_cyc);
}

/* ---- replies of other slices ---- */

void remote_receive(struct slice *s, uint64_t now)
{
    const uint32_t idx = remote_reply_at(s, now);
    struct request *r = at(s, idx);
    fabric_take(&s->wire.fabric->far_reply, now, s->wire.slice_idx);
    if (r->kind >= REQUEST_INVALIDATE) {
        coherence_receive(s, now, idx);
        return;
    }
    s->stats.answers++;
    r->via = 0;
    if (r->flags & REQUEST_PAGE) {
        s->stats.remote_latency_cyc += now - r->sent_cyc;
        (void)slice_write_page_line(s, now, idx);
        pool_give(s->wire.requests, idx);
        return;
    }
    if (r->flags & REQUEST_FETCH && r->kind == REQUEST_WRITE) { /* bytes that left the RDC */
        if (s->wire.check) check_forward_done(s->wire.check, idx);
        rdc_back_answered(s, r->owner);
        pool_give(s->wire.requests, idx);
        return;
    }
    if (r->flags & REQUEST_FETCH) {
        if (s->remote->copies) {
            if (s->remote->rdc && FAULT_FIRES(rdc_raw_fill))
                check_place_keep_reply(s->remote->copies, r->owner, idx);
            check_remote_fill(s->remote->copies, r->owner, idx, r->sectors, s->lines[r->owner].dirty);
            check_forward_done(s->wire.check, idx);
        }
        s->stats.remote_latency_cyc += now - r->sent_cyc;
        slice_push_fill(s, r->owner, r->sectors, now + s->spec->fill_latency_cyc);
        pool_give(s->wire.requests, idx);
        return;
    }
    on_arrival(s, r, now);
    append_filled(s, idx, now + 1);
}

/* ---- requests of other slices ---- */

bool remote_serve_next(struct slice *s, uint64_t now, uint32_t idx)
{
    struct remote_lines *f = s->remote;
    uint64_t *const blocked = s->blocked; /* reason for the requests of SMs */
    s->blocked = NULL;
    const bool served = slice_serve_home(s, now, idx, &f->hits);
    f->blocked = s->blocked;
    s->blocked = blocked;
    if (!served) return false;
    s->stats.far_requests++;
    if (f->sharers && at(s, idx)->flags & REQUEST_FETCH) coherent_add_sharer(s, at(s, idx));
    if (s->wire.remote_monitor.on_request && !(at(s, idx)->flags & REQUEST_PAGE))
        s->wire.remote_monitor.on_request(s->wire.remote_monitor.self, at(s, idx), s->wire.slice_idx, false,
                                          now);
    fabric_take(&s->wire.fabric->far_request, now, s->wire.slice_idx);
    return true;
}

/* ---- output queues ---- */

/* Counts a request that leaves the chiplet, and for LADM the bytes that it reads or writes. */
static void count_forward(struct slice *s, const struct request *r)
{
    const bool off_gpu = r->home.slice - s->remote->gpu_first >= s->remote->gpu_slices;
    s->stats.forwards++;
    s->stats.forwards_off_gpu += off_gpu;
    if (!s->counts_traffic) return;
    const uint32_t bytes = slice_request_bytes(r);
    s->stats.forward_bytes += bytes;
    if (off_gpu) s->stats.forward_bytes_off_gpu += bytes;
}

bool remote_send_request(struct slice *s, uint64_t now, struct request_list *out)
{
    const uint32_t idx = out->first, next = at(s, idx)->next;
    if (!fabric_try_forward(s->wire.fabric, now, idx, s->wire.slice_idx)) return false;
    out->first = next;
    out->count--;
    count_forward(s, at(s, idx));
    if (!(at(s, idx)->flags & REQUEST_FETCH)) on_departure(s, now, at(s, idx)->served, now);
    return true;
}

bool remote_send_reply(struct slice *s, uint64_t now, struct request_list *list)
{
    const uint32_t idx = list->first, next = at(s, idx)->next;
    if (!fabric_try_far_reply(s->wire.fabric, now, idx, s->wire.slice_idx)) return false;
    list->first = next;
    list->count--;
    on_departure(s, now, at(s, idx)->served, now);
    s->stats.replies++;
    s->stats.far_replies++;
    return true;
}

uint64_t remote_waiting(const struct slice *s)
{
    const struct remote_lines *const f = s->remote;
    if (!f) return 0;
    return (uint64_t)f->hits.count + f->filled.count + (f->coherence ? f->coherence->held : 0);
}

void remote_new(struct slice *s, struct arena *a, const char *name)
{
    const uint32_t lines = tags_lines(&s->tags);
    s->remote = ARENA_NEW(a, struct remote_lines);
    s->remote->epoch_of = ARENA_ARRAY(a, uint32_t, lines);
    s->remote->gpu_slices = s->spec->slices_per_gpu;
    s->remote->gpu_first = s->wire.slice_idx / s->remote->gpu_slices * s->remote->gpu_slices;
    s->remote->holds = ARENA_ARRAY(a, uint8_t, lines + once_entries(s->spec));
    if (s->wire.check)
        s->remote->copies =
            check_place_new(s->wire.check, arena_printf(a, "%s, remote lines", name), lines, false);
    const struct config *const c = s->wire.organisation->config;
    if (!config_slices_numa(c)) return;
    s->counts_traffic = true;
    s->remote->coherence = coherence_new(s, a, c);
    s->remote->rdc = rdc_new(s, a, c, name);
    s->remote->strong_to_home =
        coherence_row(c)->strong_to_home && (s->remote->rdc || !coherence_row(c)->has_epochs);
}

void slice_connect(struct slice *s)
{
    s->front = fabric_front(&s->wire.fabric->request, s->wire.slice_idx);
    if (!s->remote) return;
    s->remote->sm_front = fabric_front(&s->wire.fabric->request, s->wire.slice_idx);
    s->remote->request_front = fabric_front(&s->wire.fabric->far_request, s->wire.slice_idx);
    s->remote->reply_front = fabric_front(&s->wire.fabric->far_reply, s->wire.slice_idx);
}
