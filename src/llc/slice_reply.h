/* slice_reply: answers on their way out of a slice: to the network and to walkers. Included by llc.c
 * and window.c. */
#ifndef ATOLL_LLC_SLICE_REPLY_H
#define ATOLL_LLC_SLICE_REPLY_H

#include "llc/llc_private.h"
#include "net/fabric_window.h"

/* Replies that nothing can stop any more leave the data port one after the other. Where they leave the slice
 * right then, each can be given to the network as soon as it is known when that is; not if one before it
 * waits for more than its turn (atomics), nor beyond the window, where others may look. */
static SLICE_HOT bool answer_directly(struct slice *s, uint32_t idx, struct request *r, bool is_hit,
                                      uint64_t ready, uint64_t now)
{
    if (!s->direct || ready >= s->until_cyc || s->hits.count | s->filled.count) return false;
    if (r->kind == REQUEST_ATOMIC || r->kind == REQUEST_REDUCTION) return false;
    leaves(s, now, is_hit ? (uint32_t)now : r->served, ready); /* a hit has not been counted yet */
    s->replied_cyc = ready;
    s->stats.replies++;
    fabric_window_reply(s->wire.fabric, ready, idx, r, s->wire.slice_idx);
    return true;
}

/* The request leaves the slice at ready, through one of two queues. */
static SLICE_HOT void answer(struct slice *s, uint32_t idx, bool is_hit, uint64_t ready, uint64_t now,
                             bool plain)
{
    struct request *r = at(s, idx);
    if (plain && answer_directly(s, idx, r, is_hit, ready, now)) return;
    if (!plain && s->far && ready < s->far->hold_cyc && request_writes(r)) ready = s->far->hold_cyc;
    const bool walk = r->kind == REQUEST_WALK;
    if (!plain && (walk || (s->far && r->via))) {
        r->ready_cyc = ready;
        append(s, walk ? &s->walked : is_hit ? &s->far->hits : &s->far->filled, idx);
    } else if (is_hit) {
        append_hit(s, idx, ready);
    } else {
        append_filled(s, idx, ready);
    }
}

/* What an atomic takes longer because lanes want the same word. */
static inline uint32_t lanes_in_turn(const struct slice *s, const struct request *r)
{
    return (r->conflict - 1u) * s->spec->atomic_cyc;
}

/* Data port time of a request that finds what it needs. */
static inline uint32_t service_cycles(const struct slice *s, const struct request *r)
{
    if (r->kind == REQUEST_READ) return s->spec->read_cyc[r->sectors & SECTORS_ALL];
    const uint32_t once = port_cycles(s, r->kind == REQUEST_WALK ? 8 : request_byte_count(r->bytes));
    if (r->kind != REQUEST_ATOMIC && r->kind != REQUEST_REDUCTION) return once ? once : 1;
    return 2 * once + lanes_in_turn(s, r); /* read, change, write */
}

/* Books the data port; returns from when on the latency of a hit counts. An atomic is not answered before its
 * last lane. */
static inline uint64_t serve_at_port(struct slice *s, uint64_t now, const struct request *r)
{
    const uint64_t start = use_port(s, now, service_cycles(s, r));
    if (r->kind != REQUEST_ATOMIC && r->kind != REQUEST_REDUCTION) return start;
    return start + lanes_in_turn(s, r);
}

/* Gives the oldest reply that is ready to the network; at most one per cycle. */
static inline void send_reply(struct slice *s, uint64_t now)
{
    const bool is_hit = s->hits_cyc < s->filled_cyc;
    struct request_list *const way = is_hit ? &s->hits : &s->filled;
    s->reply_refused = false;
    if ((is_hit ? s->hits_cyc : s->filled_cyc) > now) return;
    const uint32_t idx = way->first;
    const struct request *r = at(s, idx);
    const uint32_t next = r->next;
    if (!FAULT_FIRES(reply_dropped) &&
        (fabric_refuses(&s->wire.fabric->reply, now, s->wire.slice_idx) ||
         !fabric_try_reply(s->wire.fabric, now, idx, s->wire.slice_idx, r->sm))) {
        s->reply_refused = true;
        return;
    }
    if (FAULT_FIRES(reply_twice)) (void)fabric_try_reply(s->wire.fabric, now, idx, s->wire.slice_idx, r->sm);
    way->first = next;
    *(is_hit ? &s->hits_cyc : &s->filled_cyc) = --way->count ? at(s, next)->ready_cyc : ENGINE_NEVER;
    leaves(s, now, r->served, now);
    s->stats.replies++;
}

/* Replies to SMs; returns when there are more. */
static inline uint64_t reply_stage(struct slice *s, uint64_t now)
{
    if (!(s->hits.count | s->filled.count)) return ENGINE_NEVER;
    send_reply(s, now);
    return s->reply_refused ? ENGINE_NEVER : earlier(s->hits_cyc, s->filled_cyc);
}

/* Answers to walkers, a few in flight at most; those of hits and of fills may have changed places. */
static inline void answer_walkers(struct slice *s, uint64_t now)
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
        leaves(s, now, r->served, now);
        pool_give(s->wire.requests, idx);
        s->stats.walk_replies++;
        if (!FAULT_FIRES(walk_lost)) s->wire.walk_done(s->wire.walkers[gpu], owner, now + 1);
        s->stats.replies++;
    }
}

/* When the next one is due. */
static inline uint64_t walker_due(const struct slice *s)
{
    uint64_t due = ENGINE_NEVER;
    uint32_t idx = s->walked.first;
    for (uint32_t k = 0; k < s->walked.count; k++, idx = at(s, idx)->next)
        if (at(s, idx)->ready_cyc < due) due = at(s, idx)->ready_cyc;
    return due;
}

#endif
