/* fabric_window: fast path of the networks of a fabric whose memory side is simulated in lookahead windows
 * (system/windows.h). Both networks are queued ones of one chiplet, so a send is an append to a queue. */
#ifndef ATOLL_NET_FABRIC_WINDOW_H
#define ATOLL_NET_FABRIC_WINDOW_H

#include "net/ahead.h"
#include "net/fabric.h"
#include "net/net_queue.h"

/* An SM sends a request to the home slice. Precondition: the source queue has a free entry. */
static inline void fabric_window_send_request(struct fabric *f, uint64_t now, uint32_t idx, uint32_t sm,
                                              uint32_t slice, uint32_t bytes)
{
    struct fabric_side *const s = &f->request;
    net_queue_join(&s->sources[sm], idx, slice, bytes, now);
    traffic_count(&f->traffic, sm, slice, bytes);
    if (__builtin_expect(s->ahead->asleep, 0)) s->ahead->wake(s->ahead, now);
}
static inline void fabric_window_request(struct fabric *f, uint64_t now, uint32_t idx,
                                         const struct request *r)
{
    const uint32_t bytes = r->kind == REQUEST_READ ? f->header_bytes : fabric_request_bytes(f, r);
    fabric_window_send_request(f, now, idx, r->sm, r->home.slice, bytes);
}

/* A slice sends a reply at cycle `now`, which may lie ahead of global time. */
static inline void fabric_window_reply(struct fabric *f, uint64_t now, uint32_t idx, const struct request *r,
                                       uint32_t slice)
{
    const uint32_t bytes =
        r->kind == REQUEST_READ ? f->read_bytes[r->sectors & SECTORS_ALL] : fabric_reply_bytes(f, r);
    net_queue_join(&f->reply.sources[slice], idx, r->sm, bytes, now);
    traffic_count(&f->traffic, r->sm, slice, bytes);
}

#endif
