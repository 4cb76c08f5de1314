/* send: a line's request, from the SM into the queue before the network. Shared by lsu.c and l1.c, in which a
 * miss is one function. */
#ifndef ATOLL_SM_SEND_H
#define ATOLL_SM_SEND_H

#include <stddef.h>
#include <string.h>

#include "llc/store_order.h"
#include "net/fabric_window.h"
#include "pages/pages.h"
#include "sm/sm_private.h"

/* A request is answered. */
static inline void lsu_count_reply(struct sm *sm, uint64_t now)
{
    sm->flight_sum += now;
    sm->flight_cyc = now;
    sm->outstanding--;
    sm->reply_came = true;
    sm->stats.replies_received++;
}

/* How long a read took, from the slice where its line lives; few are near. */
static __attribute__((noinline)) void count_near(struct sm *sm, uint64_t took)
{
    STATS_COUNT(sm->near_latency, took);
}
static inline void lsu_count_latency(struct sm *sm, uint64_t took, uint32_t slice)
{
    STATS_COUNT(sm->latency, took);
    if (__builtin_expect(slice - sm->wire.near_first < sm->wire.near_count, 0)) count_near(sm, took);
}

_Static_assert(offsetof(struct request, flags) == offsetof(struct request, kind) + 1 &&
                   offsetof(struct request, sectors) == offsetof(struct request, kind) + 2 &&
                   offsetof(struct request, conflict) == offsetof(struct request, kind) + 3 &&
                   offsetof(struct line_access, flags) == offsetof(struct line_access, kind) + 1 &&
                   offsetof(struct line_access, sectors) == offsetof(struct line_access, kind) + 2 &&
                   offsetof(struct line_access, conflict) == offsetof(struct line_access, kind) + 3,
               "copied in one piece");

static inline uint64_t page_key(const struct sm *sm, uint64_t line)
{
    return pages_key(sm->app, line >> sm->page_lines_log2);
}

/* Where the line lives: as mmu_home(), which is asked when the page is none of those used last. */
static inline struct home home_of(struct sm *sm, uint64_t line)
{
#ifndef ATOLL_FAULTS /* one of them is there */
    const uint64_t key = page_key(sm, line);
    const uint32_t slot = mmu_page_slot(key);
    if (__builtin_expect(sm->pages->key[slot] == key + 1, 1))
        return pages_home(sm->table, (line + sm->pages->to_frame[slot]) << LINE_LOG2);
#endif
    return mmu_home(sm->wire.mmu, sm->wire.sm_idx, sm->app, line);
}

/* The counter of why no request can be made now; NULL: it can. */
static inline uint64_t *send_blocked(struct sm *sm)
{
    if (sm->misses_count == sm->spec->miss_queue) return &sm->l1.stats.wait_queue;
    if (sm->outstanding == sm->spec->request_limit) return &sm->l1.stats.wait_mshr;
    return NULL;
}

/* As `idx`; nothing is in its way: see send_blocked(). */
static inline void send_line(struct sm *sm, const struct line_access *a, uint32_t idx, uint32_t owner,
                             uint8_t sectors, uint64_t now)
{
    const struct home home = home_of(sm, a->line);
    struct request *const r = request_at(sm->wire.requests, idx);
    r->line = a->line;
    if (a->kind != REQUEST_READ) { /* nobody looks at those of a read */
        r->bytes[0] = a->bytes[0];
        r->bytes[1] = a->bytes[1];
        r->round = 0;
        if (sm->wire.store_order) r->order = store_order_send(sm->wire.store_order, now);
    }
    r->home = home;
    r->sent_cyc = now;
    r->owner = owner;
    r->sm = (uint16_t)sm->wire.sm_idx;
    /* flags, sectors and conflict, too */
    memcpy((uint8_t *)r + offsetof(struct request, kind),
           (const uint8_t *)a + offsetof(struct line_access, kind), 4);
    r->sectors = sectors;
    r->app = (uint8_t)sm->app;
    r->hit = 0;
    sm->flight_sum -= now;
    sm->flight_cyc = now;
    sm->outstanding++;
    if (sm->direct && !sm->misses_count) { /* there is room, and no other one in its cycle */
        sm->stats.requests_sent++;
        fabric_window_request(sm->wire.fabric, now, idx, r);
        return;
    }
    if (sm->wire.check) lsu_check_send(sm, a, idx, now);
    uint32_t tail = sm->misses_head + sm->misses_count++;
    if (tail >= sm->spec->miss_queue) tail -= sm->spec->miss_queue;
    sm->misses[tail] = idx;
    if (sm->wire.moving_pages && !(a->flags & REQUEST_CONTEXT)) /* frames of contexts never move */
        pages_sent(sm->wire.moving_pages, sm->wire.sm_idx, page_key(sm, a->line), request_writes(r), now);
}

#endif
