/* pump: see pump.h. */
#include "sm/pump.h"

#include "sm/l1_lines.h"

enum { FETCH_MOST = 16, LINES_AHEAD = 3 };

/* Into the host's caches, before the replies of a window are taken: their requests, then what these name, so
 * that the waits for one another's data overlap. */
static __attribute__((noinline)) void fetch_replies(struct sm *sm, struct net_queue_port port)
{
    const struct l1 *const l1 = &sm->l1;
    const struct request *replies[FETCH_MOST];
    const struct l1_mshr *mshrs[FETCH_MOST];
    const struct net_queue_sink *const k = port.sink;
    const struct net_queue_slot *slot = net_queue_slot_of(port.front);
    const uint32_t left = net_queue_inside(k, port.front), count = left < FETCH_MOST ? left : FETCH_MOST;
    const uint32_t limit = sm->spec->mshrs;
    uint32_t fills = 0;
    for (uint32_t n = 0; n < count; n++, slot = net_queue_behind(k, slot)) {
        replies[n] = request_at(sm->wire.requests, (uint32_t)slot->packet.handle);
        __builtin_prefetch(replies[n]);
    }
    for (uint32_t n = 0; n < count; n++) {
        if (replies[n]->owner >= limit) continue;
        mshrs[fills] = l1_mshr_at(l1, replies[n]->owner);
        __builtin_prefetch(mshrs[fills++], 1);
    }
    for (uint32_t n = 0; n < fills; n++) {
        /* cppcheck-suppress uninitvar ; the first `fills` are set */
        const struct l1_mshr *const m = mshrs[n];
        tags_fetch(&l1->tags, m->set);
        __builtin_prefetch(&l1->tags.keys[m->set * l1->tags.ways], 1);
        __builtin_prefetch(l1_bucket_of(l1, m->hash), 1);
        __builtin_prefetch(&sm->loads[m->waiters[0].load], 1);
    }
    sm->fetched = k->taken + count;
}

static inline __attribute__((always_inline)) void take_reply(struct sm *sm, struct net_queue_port replies,
                                                             uint64_t now)
{
    const uint32_t idx = (uint32_t)replies.front->packet->handle;
    if ((int32_t)(sm->fetched - replies.sink->taken) <= 0) fetch_replies(sm, replies);
    (void)net_queue_take(replies, now);
    const struct request *const r = request_at(sm->wire.requests, idx);
    if (__builtin_expect(r->kind != REQUEST_READ || r->owner >= sm->spec->mshrs, 0)) {
        lsu_reply(sm, now, idx);
        return;
    }
    const uint32_t owner = r->owner;
    const uint8_t sectors = r->sectors;
    lsu_count_read(sm, r, now);
    pool_give(sm->wire.requests, idx);
    fill_line(sm, owner, sectors, now, true);
}

/* A line of a load goes into the L1, if it can. Then the host's caches for one of those behind it; and if no
 * MSHR is left, the next one is looked for now, see struct memory_instr. */
static __attribute__((noinline)) void read_front(struct sm *sm, struct memory_instr *m,
                                                 const struct line_access *a, uint64_t now)
{
    const struct l1 *const l1 = &sm->l1;
    if (!read_line(sm, a, &m->absent, now, true)) return;
    if (m->at + LINES_AHEAD < m->count)
        l1_coming(l1, a[LINES_AHEAD].line, a[LINES_AHEAD].set, a[LINES_AHEAD].hash);
    if (lsu_next_line(sm, m) && !l1->free_count) m->absent = is_absent(l1, &a[1]);
}

/* The line in front. */
static inline void access_line(struct sm *sm, uint64_t now)
{
    struct memory_instr *const m = sm->front;
    if (m->reads)
        read_front(sm, m, &m->lines[m->at], now);
    else if (!m->count || m->lines[m->at].kind == REQUEST_READ)
        lsu_step(sm, now);
    else if (lsu_write(sm, &m->lines[m->at], now))
        (void)lsu_next_line(sm, m);
}

/* The line in front is known to be absent, no MSHR is left, and no reply comes in this cycle: as step() would
 * find. */
static inline void block_front(struct sm *sm, uint64_t now)
{
    sm->lsu_blocked = &sm->l1.stats.wait_mshr;
    sm->lsu_blocked_cyc = now;
    sm->ahead_cyc = now;
}

/* As lsu_step(), of which only the first line is left. */
static inline void step(struct sm *sm, uint64_t now)
{
    if (sm->lsu_blocked) {
        *sm->lsu_blocked += now - sm->lsu_blocked_cyc;
        sm->lsu_blocked_cyc = now;
        if (lsu_still_blocked(sm)) return;
        sm->lsu_blocked = NULL;
    }
    sm->lsu_blocked_cyc = now;
    sm->reply_came = false;
    access_line(sm, now);
}

/* Many cycles bring none. */
static __attribute__((noinline)) void take_one(struct sm *sm, uint64_t now)
{
    take_reply(sm, net_queue_port_of(sm->wire.fabric->reply.net, sm->wire.sm_idx), now);
}

void sm_pump_cycle(struct sm *sm, uint64_t now)
{
    if (net_peek_cyc(sm->wire.fabric->reply.net, sm->wire.sm_idx) <= now) take_one(sm, now);
    if (sm->queue_count) step(sm, now);
}

uint64_t sm_pump(struct sm *sm, uint64_t cyc, uint64_t until, bool room_matters)
{
    const struct net_queue_port replies = net_queue_port_of(sm->wire.fabric->reply.net, sm->wire.sm_idx);
    const struct net_front *const front = replies.front;
    while (cyc < until) {
        if (front->visible_cyc <= cyc) take_reply(sm, replies, cyc);
        if (sm->queue_count) step(sm, cyc);
        if (__builtin_expect(sm->changed || (room_matters && lsu_has_room(sm)), 0)) {
            sm->memory_cyc = cyc;
            return cyc;
        }
        sm->ahead_cyc = cyc;
        const uint64_t reply_cyc = front->visible_cyc, next = cyc + 1;
        if (sm->queue_count && !sm->lsu_blocked) {
            if (__builtin_expect(
                    !sm->front->absent || sm->l1.free_count || reply_cyc <= next || next >= until, 1)) {
                cyc = next;
                continue;
            }
            block_front(sm, next);
        }
        cyc = reply_cyc > cyc ? reply_cyc : next;
    }
    return cyc;
}
