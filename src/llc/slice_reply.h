/* slice_reply: the reply stage. Replies leave a slice to the reply network, to other slices and to page
 * walkers. Included by llc.c and window.c. */
#ifndef ATOLL_LLC_SLICE_REPLY_H
#define ATOLL_LLC_SLICE_REPLY_H

#include "llc/coherence.h"
#include "llc/llc_private.h"
#include "net/fabric_window.h"

/* Injects a reply into the network ahead of time, at its departure cycle `ready`. Allowed if no earlier
 * reply waits in the slice, the request is no atomic, and `ready` lies within the window. False: the caller
 * queues the reply. */
static SLICE_HOT bool inject_reply(struct slice *s, uint32_t idx, struct request *r, bool is_hit,
                                   uint64_t ready, uint64_t now)
{
    if (!s->direct || ready >= s->until_cyc || s->hits.count | s->filled.count) return false;
    if (r->kind == REQUEST_ATOMIC || r->kind == REQUEST_REDUCTION) return false;
    on_departure(s, now, is_hit ? (uint32_t)now : r->served,
                 ready); /* the arrival of a hit is counted later */
    s->replied_cyc = ready;
    s->stats.replies++;
    fabric_window_reply(s->wire.fabric, ready, idx, r, s->wire.slice_idx);
    return true;
}

/* Queues the reply, which may leave the slice at `ready`. Hits and fills have separate queues. */
static SLICE_HOT void queue_reply(struct slice *s, uint32_t idx, bool is_hit, uint64_t ready, uint64_t now,
                                  bool basic)
{
    struct request *r = at(s, idx);
    if (basic && inject_reply(s, idx, r, is_hit, ready, now)) return;
    if (!basic && s->remote && ready < s->remote->inv_ack_cyc && request_writes(r))
        ready = s->remote->inv_ack_cyc;
    if (!basic && s->remote && s->remote->coherence && request_writes(r) && r->round &&
        !FAULT_FIRES(vi_answers_early)) {
        coherence_hold(s, now, idx, ready);
        return;
    }
    const bool walk = r->kind == REQUEST_WALK;
    if (!basic && (walk || (s->remote && r->via))) {
        r->ready_cyc = ready;
        append(s, walk ? &s->walked : is_hit ? &s->remote->hits : &s->remote->filled, idx);
    } else if (is_hit) {
        append_hit(s, idx, ready);
    } else {
        append_filled(s, idx, ready);
    }
}

/* Additional data-port time of an atomic whose lanes access the same word. */
static inline uint32_t conflict_cycles(const struct slice *s, const struct request *r)
{
    return (r->conflict - 1u) * s->spec->atomic_cyc;
}

/* Data-port time of a hit. */
static inline uint32_t service_cycles(const struct slice *s, const struct request *r)
{
    if (r->kind == REQUEST_READ) return s->spec->read_cyc[r->sectors & SECTORS_ALL];
    const uint32_t once = port_cycles(s, r->kind == REQUEST_WALK ? 8 : request_byte_count(r->bytes));
    if (r->kind != REQUEST_ATOMIC && r->kind != REQUEST_REDUCTION) return once ? once : 1;
    return 2 * once + conflict_cycles(s, r); /* read, modify, write */
}

/* Reserves the data port. Returns the cycle from which on the hit latency counts. An atomic does not complete
 * before its last lane. */
static inline uint64_t serve_at_port(struct slice *s, uint64_t now, const struct request *r)
{
    const uint64_t start = use_port(s, now, service_cycles(s, r));
    if (r->kind != REQUEST_ATOMIC && r->kind != REQUEST_REDUCTION) return start;
    return start + conflict_cycles(s, r);
}

/* Injects the oldest ready reply into the network; at most one per cycle. */
static inline void send_reply(struct slice *s, uint64_t now)
{
    const bool is_hit = s->hits_cyc < s->filled_cyc;
    struct request_list *const list = is_hit ? &s->hits : &s->filled;
    s->reply_refused = false;
    if ((is_hit ? s->hits_cyc : s->filled_cyc) > now) return;
    const uint32_t idx = list->first;
    const struct request *r = at(s, idx);
    const uint32_t next = r->next;
    if (!FAULT_FIRES(reply_dropped) &&
        (fabric_refuses(&s->wire.fabric->reply, now, s->wire.slice_idx) ||
         !fabric_try_reply(s->wire.fabric, now, idx, s->wire.slice_idx, r->sm))) {
        s->reply_refused = true;
        return;
    }
    if (FAULT_FIRES(reply_twice)) (void)fabric_try_reply(s->wire.fabric, now, idx, s->wire.slice_idx, r->sm);
    list->first = next;
    *(is_hit ? &s->hits_cyc : &s->filled_cyc) = --list->count ? at(s, next)->ready_cyc : ENGINE_NEVER;
    on_departure(s, now, r->served, now);
    s->stats.replies++;
}

/* Sends replies to SMs. Returns the cycle of the next one; ENGINE_NEVER: none, or refused. */
static inline uint64_t reply_stage(struct slice *s, uint64_t now)
{
    if (!(s->hits.count | s->filled.count)) return ENGINE_NEVER;
    send_reply(s, now);
    return s->reply_refused ? ENGINE_NEVER : min_u64(s->hits_cyc, s->filled_cyc);
}

/* Replies to page walkers. Few are in flight, and hits and fills may be out of order in the list. */
static inline void reply_to_walkers(struct slice *s, uint64_t now)
{
    for (uint32_t left = s->walked.count; left; left--) {
        const uint32_t idx = take_first(s, &s->walked);
        const struct request *r = at(s, idx);
        if (r->ready_cyc > now) {
            append(s, &s->walked, idx);
            continue;
        }
        const uint32_t owner = r->owner, gpu = r->sm;
        s->walkers--;
        on_departure(s, now, r->served, now);
        pool_give(s->wire.requests, idx);
        s->stats.walk_replies++;
        if (!FAULT_FIRES(walk_lost)) s->wire.walk_done(s->wire.walkers[gpu], owner, now + 1);
        s->stats.replies++;
    }
}

/* Cycle of the next reply to a page walker. */
static inline uint64_t walker_due(const struct slice *s)
{
    uint64_t due = ENGINE_NEVER;
    uint32_t idx = s->walked.first;
    for (uint32_t k = 0; k < s->walked.count; k++, idx = at(s, idx)->next)
        if (at(s, idx)->ready_cyc < due) due = at(s, idx)->ready_cyc;
    return due;
}

#endif
