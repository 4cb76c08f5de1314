/* slice_tags: the tag stage. It serves one request per cycle, which hits, misses, merges into an MSHR or
 * stalls. Included by llc.c and window.c. */
#ifndef ATOLL_LLC_SLICE_TAGS_H
#define ATOLL_LLC_SLICE_TAGS_H

#include "llc/slice_fill.h"

/* ---- llc.count_lines ---- */

static inline void count_use(struct slice *s, const struct request *r)
{
    const uint32_t line = tags_find(&s->tags, set_of(s, r->home.line), r->home.line);
    if (line == TAGS_NONE || r->kind == REQUEST_WALK) return;
    s->line_requests[line]++;
    s->line_partitions[line] |= (uint64_t)1 << r->sm / s->wire.sms_per_partition % 64;
}

static inline void count_line(struct slice *s, uint32_t line)
{
    if (!s->line_requests[line]) return;
    STATS_COUNT(s->stats.requests_per_line, s->line_requests[line]);
    STATS_COUNT(s->stats.partitions_per_line, (uint64_t)__builtin_popcountll(s->line_partitions[line]));
    s->line_requests[line] = 0;
    s->line_partitions[line] = 0;
}

/* ---- requests ---- */

static SLICE_HOT void drop_line(struct slice *s, uint64_t now, uint32_t line, bool basic)
{
    s->lines[line].valid = 0;
    if (basic) return;
    if (s->line_requests) count_line(s, line);
    if (s->copies) check_copy_drop(copies_of(s, line), line, now);
    if (!s->remote) return;
    if (s->remote->sharers) coherent_evict(s, line);
    s->remote->holds[line] = 0;
}

/* See slice_evict_victim(). */
static SLICE_HOT uint32_t evict_victim(struct slice *s, uint64_t now, uint32_t set, bool basic)
{
    const uint32_t line = tags_victim(&s->tags, set);
    if (line == TAGS_NONE) {
        s->blocked = &s->stats.wait_way;
        return line;
    }
    if (tags_used(&s->tags, line)) {
        s->stats.evictions++;
        if ((s->lines[line].dirty[0] | s->lines[line].dirty[1]) && !FAULT_FIRES(llc_loses_write_back))
            slice_write_back(s, now, line);
    }
    if (FAULT_FIRES(llc_loses_write_back)) s->lines[line].dirty[0] = s->lines[line].dirty[1] = 0;
    drop_line(s, now, line, basic);
    return line;
}

static SLICE_HOT void pin(struct slice *s, uint64_t now, uint32_t set, uint32_t line)
{
    struct slice_line *const l = &s->lines[line];
    s->mshr_free_count--;
    s->mshr_sum -= now;
    l->waiting = (struct request_list){0};
    l->pending_sectors = l->refetch_sectors = 0;
    l->remote = l->discard_fill = l->refetch = l->from_rdc = l->reads_only = l->single_waiter = false;
    *tags_pins_in(&s->tags, set, line) = 1;
    stats_peak(&s->stats.mshr_peak, s->spec->mshrs - s->mshr_free_count);
}

/* Puts the request into the MSHR of a line that is present and reads missing sectors. False: no free MSHR, or
 * no free entry in it. */
static SLICE_HOT bool wait_for(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line,
                               bool basic)
{
    struct request *r = at(s, idx);
    if (*tags_pins_in(&s->tags, set, line)) {
        struct slice_line *m = &s->lines[line];
        const uint8_t missing = r->sectors & (uint8_t) ~(readable(s, line) | m->pending_sectors);
        if (m->waiting.count >= s->spec->mshr_merges) {
            s->blocked = &s->stats.wait_mshr;
            return false;
        }
        m->reads_only = m->single_waiter = false;
        append(s, &m->waiting, idx);
        if (missing) read_memory(s, now, r->home.line, line, missing, basic);
        return true;
    }
    if (!s->mshr_free_count) {
        s->blocked = &s->stats.wait_mshr;
        return false;
    }
    pin(s, now, set, line);
    append(s, &s->lines[line].waiting, idx);
    read_memory(s, now, r->home.line, line,
                s->spec->sectored ? r->sectors & (uint8_t)~readable(s, line) : SECTORS_ALL, basic);
    return true;
}

/* True if an atomic, or a store behind one, waits for the line and writes sectors that the request touches.
 * The request must not overtake it. */
static inline bool is_held(const struct slice *s, uint32_t set, uint32_t line, const struct request *r)
{
    const struct slice_line *const m = &s->lines[line];
    if (!*tags_pins_in(&s->tags, set, line) || m->reads_only) return false;
    uint32_t idx = m->waiting.first;
    for (uint32_t left = m->waiting.count; left; left--) {
        const struct request *const w = at(s, idx);
        if (request_writes(w) && touched(w) & touched(r)) return true;
        idx = w->next;
    }
    return false;
}

static SLICE_HOT void hit(struct slice *s, uint64_t now, uint32_t line, uint32_t idx, bool basic)
{
    struct request *r = at(s, idx);
    use_line(s, now, line, idx, basic);
    tags_touch(&s->tags, line);
    r->hit = 1;
    s->stats.read_hits += r->kind == REQUEST_READ;
    if (!basic) count_app_hit(s, r);
    const uint64_t start = serve_at_port(s, now, r);
    if (!basic && s->write_through && request_writes(r))
        slice_push_writes(s, now, r->home.line, r->bytes, (struct request_list){idx, idx, 1});
    else
        queue_reply(s, idx, true, start + s->spec->latency_cyc, now, basic);
}

/* True if a miss of the request does not allocate here: a read of another slice with REQUEST_ONCE. */
static inline bool reads_once(const struct slice *s, const struct request *r)
{
    return r->flags & REQUEST_ONCE && !rule_of(s, r)->allocate && r->home.slice == s->wire.slice_idx;
}

/* Allocates a way and an MSHR for the line and reads it. False: none is free, s->blocked is set. */
static SLICE_HOT bool miss(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, bool basic)
{
    const struct request *const r = at(s, idx);
    if (!s->mshr_free_count) {
        s->blocked = &s->stats.wait_mshr;
        return false;
    }
    const uint32_t line = evict_victim(s, now, set, basic);
    if (line == TAGS_NONE) return false;
    tags_fill_in(&s->tags, set, line, r->home.line);
    if (!basic && s->once && reads_once(s, r)) s->stats.once_ways++;
    if (!s->tags.ordered) tags_touch(&s->tags, line); /* otherwise the fill made the line the newest */
    pin(s, now, set, line);
    append(s, &s->lines[line].waiting, idx);
    read_memory(s, now, r->home.line, line, s->spec->sectored ? r->sectors : SECTORS_ALL, basic);
    return true;
}

static SLICE_HOT bool serve_read(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line,
                                 bool basic)
{
    const struct request *const r = at(s, idx);
    bool merged = false;
    if (line == TAGS_NONE) {
        if (!miss(s, now, idx, set, basic)) return false;
    } else if ((!(r->sectors & ~readable(s, line)) && !is_held(s, set, line, r)) ||
               FAULT_FIRES(llc_early_reply)) {
        hit(s, now, line, idx, basic);
        return true;
    } else {
        merged = *tags_pins_in(&s->tags, set, line);
        if (!wait_for(s, now, idx, set, line, basic)) return false;
        tags_touch(&s->tags, line);
    }
    if (!basic && merged) count_app_hit(s, r);
    if (r->kind == REQUEST_READ) {
        *(merged ? &s->stats.read_merged : &s->stats.read_misses) += 1;
        if (!basic && s->apps && !merged) app_of(s, r)->llc_read_misses++;
    } else {
        s->stats.atomic_misses += r->kind == REQUEST_ATOMIC || r->kind == REQUEST_REDUCTION;
    }
    return true;
}

static SLICE_HOT bool serve_write(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line,
                                  bool basic)
{
    const struct request *r = at(s, idx);
    if (!basic && s->write_through) return slice_write_through(s, now, idx, set, line);
    if (line != TAGS_NONE && is_held(s, set, line, r)) {
        struct slice_line *const m = &s->lines[line];
        const bool room = m->waiting.count < s->spec->mshr_merges;
        if (room)
            append(s, &m->waiting, idx);
        else
            s->blocked = &s->stats.wait_mshr;
        s->stats.write_hits += room;
        if (!basic && room) count_app_hit(s, r);
        return room;
    }
    s->stats.write_hits += line != TAGS_NONE;
    if (!basic && line != TAGS_NONE) count_app_hit(s, r);
    if (line == TAGS_NONE) {
        line = evict_victim(s, now, set, basic);
        if (line == TAGS_NONE) return false;
        tags_fill(&s->tags, line, r->home.line);
    }
    tags_touch(&s->tags, line);
    if (!FAULT_FIRES(store_lost)) slice_write_line(s, now, line, idx);
    if (FAULT_FIRES(store_unacknowledged)) return true;
    queue_reply(s, idx, true, use_port(s, now, service_cycles(s, r)) + s->spec->latency_cyc, now, basic);
    return true;
}

/* True if the tag stage may serve a request now. False: s->blocked holds the reason. */
static SLICE_HOT bool tag_may_run(struct slice *s, uint64_t now, const struct request_list *hits)
{
    const struct slice_spec *p = s->spec;
    s->blocked = NULL;
    if (s->port_free_cyc > now + p->data_queue_cyc) s->blocked = &s->stats.wait_port;
    if (!slice_may_reply(p, hits)) s->blocked = &s->stats.wait_reply;
    if (!slice_memory_has_room(s)) s->blocked = &s->stats.wait_memory;
    return !s->blocked;
}

/* Counts a read of an SM by the slice that serves it: home or replica. At slices with remote lines,
 * remote_lines.c counts the reads of remote lines. */
static SLICE_HOT void count_read(struct slice *s, const struct request *r, bool basic)
{
    const bool has_remote = !basic && s->remote;
    if (r->home.slice == s->wire.slice_idx)
        *(has_remote && !s->remote->sharers ? &s->stats.home_reads : &s->stats.crossing_reads) += 1;
    else
        s->stats.copy_reads += !has_remote;
}

static SLICE_HOT void count_request(struct slice *s, const struct request *r, bool basic)
{
    s->stats.requests++;
    s->stats.tag_cycles++;
    switch ((enum request_kind)r->kind) {
    case REQUEST_READ: s->stats.reads++; break;
    case REQUEST_WRITE: s->stats.writes++; break;
    case REQUEST_ATOMIC:
    case REQUEST_REDUCTION: s->stats.atomics++; break;
    case REQUEST_WALK: s->stats.walks++; return;
    case REQUEST_INVALIDATE:
    case REQUEST_ACK:
    case REQUEST_KINDS: break;
    }
    if (!r->via && r->kind == REQUEST_READ) count_read(s, r, basic);
    if (r->sm - s->wire.partition * s->wire.sms_per_partition < s->wire.sms_per_partition)
        s->stats.local++;
    else
        s->stats.remote++;
}

/* True if the reason of the front request's stall has not changed. */
static inline bool still_blocked(const struct slice *s)
{
    return (s->blocked == &s->stats.wait_mshr || s->blocked == &s->stats.wait_way) && !s->fill_came;
}

static inline void count_app(struct slice *s, const struct request *r)
{
    struct app_stats *a = app_of(s, r);
    if (r->kind == REQUEST_WALK) return;
    a->llc_requests++;
    a->llc_accesses += counts_as_access(r);
    a->llc_outside += counts_as_access(r) && !(s->owners >> r->app & 1);
    a->llc_reads += r->kind == REQUEST_READ;
    a->llc_read_hits += r->kind == REQUEST_READ && r->hit;
}

/* Counts a request by requester and home (LADM). Pages and page walks are no traffic of SMs. */
static inline void count_traffic(struct slice *s, const struct request *r)
{
    const bool read = r->kind == REQUEST_READ, hit = read && r->hit;
    if (r->kind == REQUEST_WALK || r->flags & REQUEST_PAGE) return;
    if (r->via && r->via != s->wire.slice_idx + 1) { /* not forwarded from here */
        s->stats.remote_local++;
        s->stats.remote_local_reads += read;
        s->stats.remote_local_hits += hit;
        return;
    }
    s->stats.sm_bytes += slice_request_bytes(r);
    if (r->home.slice == s->wire.slice_idx) {
        s->stats.local_local++;
        s->stats.local_local_reads += read;
        s->stats.local_local_hits += hit;
    } else {
        s->stats.local_remote++;
        s->stats.local_remote_reads += read;
        s->stats.local_remote_hits += hit;
    }
}

/* Counts a request that has passed the tag stage. */
static SLICE_HOT void count_served(struct slice *s, struct request *r, uint64_t now, bool basic)
{
    count_request(s, r, basic);
    if (!basic && s->apps) count_app(s, r);
    on_arrival(s, r, now);
    if (!basic && s->counts_traffic) count_traffic(s, r);
    if (!basic && s->line_requests) count_use(s, r);
}

/* Page migration: writes the line back if dirty and invalidates it, so that memory holds all of it. */
static inline void evict_for_migration(struct slice *s, uint64_t now, uint32_t line)
{
    DIAG_ASSERT(!*tags_pins(&s->tags, line));
    if ((s->lines[line].dirty[0] | s->lines[line].dirty[1]) && !FAULT_FIRES(move_loses_dirty))
        slice_write_back(s, now, line);
    s->lines[line].dirty[0] = s->lines[line].dirty[1] = 0;
    slice_drop_line(s, now, line);
}

/* A line of a page that the copy engine reads or writes. Neither stays in the slice: a fill leaves it with its reply,
 * and a write goes to memory, which tells pages/ when it has accepted the line. The engine gets a reply to both. */
static inline bool serve_engine(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line)
{
    struct request *const r = at(s, idx);
    if (line != TAGS_NONE) evict_for_migration(s, now, line);
    if (r->kind == REQUEST_WRITE)
        queue_reply(s, idx, true, slice_write_page_line(s, now, idx) + s->spec->latency_cyc, now, false);
    else if (!miss(s, now, idx, set, false))
        return false;
    s->stats.requests++;
    s->stats.tag_cycles++;
    s->stats.page_requests++;
    if (s->apps) app_of(s, r)->llc_requests++;
    on_arrival(s, r, now);
    return true;
}

static SLICE_HOT bool serve(struct slice *s, uint64_t now, uint32_t idx, bool basic)
{
    struct request *r = at(s, idx);
    const uint32_t set = set_of(s, r->home.line);
    uint32_t line = tags_find(&s->tags, set, r->home.line);
    if (line != TAGS_NONE && tags_used(&s->tags, line ^ 1) && FAULT_FIRES(llc_wrong_hit)) line ^= 1;
    if (!basic && is_engine_request(r)) return serve_engine(s, now, idx, set, line);
    if (!basic && line != TAGS_NONE && r->flags & REQUEST_MIGRATE) {
        evict_for_migration(s, now, line);
        line = TAGS_NONE;
    }
    const struct path_rule *const rule = basic ? NULL : rule_of(s, r);
    if (!basic && s->once && line == TAGS_NONE && rule->next == PATH_TO_MEMORY) {
        if (reads_once(s, r) && !FAULT_FIRES(once_fills_home)) {
            if (!once_serve(s, now, idx)) return false;
            count_served(s, r, now, basic);
            return true;
        }
        if (!once_find_or_move(s, now, r, set, &line)) return false;
    }
    if (!basic && rule->next == PATH_TO_HOME) {
        if (!remote_serve(s, now, idx, set, line, rule->allocate)) return false;
    } else if (!(r->kind == REQUEST_WRITE ? serve_write(s, now, idx, set, line, basic)
                                          : serve_read(s, now, idx, set, line, basic))) {
        return false;
    }
    count_served(s, r, now, basic);
    return true;
}

/* The next request of an SM; REQUEST_NONE: none. */
static SLICE_HOT uint32_t port_front(const struct slice *s, uint64_t now, bool basic)
{
    if (basic || !s->has_input)
        return fabric_front_at(s->front, fabric_net_now(&s->wire.fabric->request, now));
    DIAG_ASSERT(s->remote);
    return s->remote->local.count ? s->remote->local.first : REQUEST_NONE;
}

/* Serves a page-walk read or a request of an SM, round-robin. */
static SLICE_HOT bool serve_next(struct slice *s, uint64_t now, uint32_t walk, uint32_t packet, bool basic)
{
    const bool from_walker = walk != REQUEST_NONE && (s->walk_first || packet == REQUEST_NONE);
    const uint32_t idx = from_walker ? walk : packet;
    if (still_blocked(s) || !tag_may_run(s, now, &s->hits)) return false;
    s->fill_came = false;
    const uint64_t misses = s->stats.read_misses;
    struct request_list *const list = from_walker              ? &s->walks
                                      : !basic && s->has_input ? &s->remote->local
                                                               : NULL;
    if (list) (void)take_first(s, list);
    if (!serve(s, now, idx, basic)) {
        if (list) put_back(s, list, idx);
        return false;
    }
    s->walk_first = !from_walker;
    if (!basic && list && !from_walker) s->remote->local_sum += now;
    if (!list) fabric_take(&s->wire.fabric->request, now, s->wire.slice_idx);
    if (from_walker) return true;
    if (!basic && s->wire.monitor.on_request && !is_engine_request(at(s, idx)))
        s->wire.monitor.on_request(s->wire.monitor.self, at(s, idx), s->wire.slice_idx,
                                   s->stats.read_misses != misses, now);
    s->more = port_front(s, now, basic) != REQUEST_NONE;
    return true;
}

/* Serves a request from the network or from a page walker. False: none, or stalled. */
static SLICE_HOT bool tag_stage(struct slice *s, uint64_t now, bool basic)
{
    const uint32_t packet = port_front(s, now, basic);
    const uint32_t walk =
        !basic && s->walks.count && at(s, s->walks.first)->ready_cyc <= now ? s->walks.first : REQUEST_NONE;
    s->more = packet != REQUEST_NONE;
    if (packet != REQUEST_NONE || walk != REQUEST_NONE) return serve_next(s, now, walk, packet, basic);
    s->blocked = NULL;
    return false;
}

/* Serves a request of another slice. False: none, or stalled. */
static inline bool remote_tag_stage(struct slice *s, uint64_t now)
{
    const uint32_t idx = remote_request_at(s, now);
    if (idx != REQUEST_NONE) return remote_serve_next(s, now, idx);
    s->remote->blocked = NULL;
    return false;
}

/* Serves one request per cycle. Requests of SMs and page walkers, and of other slices, are served
 * round-robin. */
static SLICE_HOT void tag_stages(struct slice *s, uint64_t now, bool basic)
{
    struct remote_lines *f = s->remote;
    if (basic || !f) {
        (void)tag_stage(s, now, basic);
    } else if (f->remote_first && remote_tag_stage(s, now)) {
        f->remote_first = false;
        s->more = port_front(s, now, false) != REQUEST_NONE;
    } else if (tag_stage(s, now, false)) {
        f->remote_first = true;
    } else if (!f->remote_first) {
        (void)remote_tag_stage(s, now);
    }
}

#endif
