/* fabric: the networks between SMs and LLC slices as the parts see them: give a request, take a reply.
 *
 *   SM ── try_request ──► request network ──► request_at / take_request ── slice
 *   SM ◄─ reply_at / take_reply ── reply network ◄── try_reply ─────────── slice
 *
 * Wakes the receiver when a packet becomes visible and a refused sender when there is room. Callers pass
 * their own clock's cycle; the networks run at clock.net. */
#ifndef ATOLL_GPU_FABRIC_H
#define ATOLL_GPU_FABRIC_H

#include "config/config.h"
#include "engine/engine.h"
#include "gpu/request.h"
#include "net/net.h"

struct fabric_side {
    struct fabric *fabric;
    struct net *net;
    uint32_t component;                  /* steps the network */
    const uint32_t *senders, *receivers; /* components by port */
    bool same_clock;                     /* senders, network and receivers share a clock */
};

struct fabric {
    struct engine *engine;
    struct pool *requests;
    uint32_t domain; /* of the networks */
    uint64_t ticks_per_cycle;
    uint32_t header_bytes, write_bytes;
    bool write_is_literal;
    bool clocks_differ; /* of SMs, networks and slices */
    struct fabric_side request, reply;
};

/* sms, slices: component numbers by port; both arrays may be filled after the call. */
void fabric_init(struct fabric *f, struct arena *a, struct engine *e, const struct config *c,
                 struct pool *requests, uint32_t net_domain, const uint32_t *sms, const uint32_t *slices);

/* False: no room; the sender is woken when there is. */
bool fabric_try_request(struct fabric *f, uint64_t now, uint32_t request, uint32_t sm, uint32_t slice);
bool fabric_try_reply(struct fabric *f, uint64_t now, uint32_t request, uint32_t slice, uint32_t sm);
/* Is there room for a request? */
bool fabric_may_request(const struct fabric *f, uint64_t now, uint32_t sm);
/* The oldest request that has arrived, REQUEST_NONE when there is none. */
uint32_t fabric_request_at(const struct fabric *f, uint64_t now, uint32_t slice);
void fabric_take_request(struct fabric *f, uint64_t now, uint32_t slice);
uint32_t fabric_reply_at(const struct fabric *f, uint64_t now, uint32_t sm);
void fabric_take_reply(struct fabric *f, uint64_t now, uint32_t sm);

/* For who goes to sleep when clocks differ: the engine keeps the earliest wake-up of a component, so one that
 * the network asked for may have been replaced by one between two of the network's edges. Asks again for what
 * is on its way to the port; refused: it was not allowed to send and tries in its next cycle. */
void fabric_sleep_sm(struct fabric *f, uint64_t now, uint32_t sm, bool refused);
void fabric_sleep_slice(struct fabric *f, uint64_t now, uint32_t slice, bool refused);

/* Bytes on the wire. */
uint32_t fabric_request_bytes(const struct fabric *f, const struct request *r);
uint32_t fabric_reply_bytes(const struct fabric *f, const struct request *r);
/* Cycles of clock.net that an unloaded packet takes. */
uint64_t fabric_request_cyc(const struct fabric *f, uint32_t sm, uint32_t slice, uint32_t bytes);

#endif
