/* copy_engine: copies a page line by line over the networks between SMs and slices (UGPU-Ori). The engine has the
 * port after those of the SMs on both networks, so its packets compete with those of SMs for links and slices.
 *
 *   copy() ──► read ──request network──► slice of the old frame ──► memory
 *                                              │ line
 *   acknowledgement ◄─┐   write ◄──reply network┘
 *                     │     └──request network──► slice of the new frame ──► memory accepts: line is done
 *                     └──────reply network────────────┘
 *
 * A line takes one request of the pool, which is the read and then the write. At most pages.copy_lines lines are in
 * flight; pages are served in the order in which they began. The engine sends and takes one packet per cycle, writes
 * before reads. It always takes replies, so no slice waits for it for ever. All lines of the old frame are in memory when
 * the copy begins (life.c). */
#include <stdio.h>

#include "check/check.h"
#include "check/fault.h"
#include "net/fabric.h"
#include "pages/pages_private.h"

struct copy_engine {
    struct page_life *life;
    struct fabric *fabric;
    uint32_t component, port;       /* port: as the number of an SM */
    uint32_t in_flight, limit;      /* lines */
    struct page_copy *first, *last; /* copies with lines to read */
    struct request_list out;        /* packets for the network: lines that have arrived, or one read */
};

static struct request *at(const struct copy_engine *e, uint32_t idx)
{
    return request_at(e->life->wire.requests, idx);
}

static struct home home_of(const struct copy_engine *e, uint64_t frame, uint32_t line)
{
    return pages_home(e->life->pages, frame + (uint64_t)line * LINE_BYTES);
}

static void append(struct copy_engine *e, uint32_t idx)
{
    at(e, idx)->next = REQUEST_NONE;
    if (e->out.count++)
        at(e, e->out.last)->next = idx;
    else
        e->out.first = idx;
    e->out.last = idx;
}

/* The reply to a read becomes the write of the line. */
static void line_came(struct copy_engine *e, uint32_t idx)
{
    struct request *r = at(e, idx);
    const uint32_t line = (uint32_t)r->line & (e->life->lines - 1);
    r->kind = REQUEST_WRITE;
    r->home = home_of(e, e->life->moves[r->owner]->copy.to, line);
    r->bytes[0] = r->bytes[1] = UINT64_MAX;
    append(e, idx);
}

static void receive_packet(struct copy_engine *e, uint64_t now)
{
    const uint32_t idx = fabric_at(&e->fabric->reply, now, e->port);
    struct page_life *l = e->life;
    if (idx == REQUEST_NONE) return;
    fabric_take(&e->fabric->reply, now, e->port);
    l->stats->engine_replies++;
    l->stats->engine_bytes += fabric_reply_bytes(e->fabric, at(e, idx));
    engine_progress(l->wire.engine);
    if (at(e, idx)->kind == REQUEST_READ) {
        line_came(e, idx);
        return;
    }
    e->in_flight--;
    pool_give(l->wire.requests, idx);
}

/* ---- sending ---- */

static bool may_read(const struct copy_engine *e) { return e->first && e->in_flight < e->limit; }

/* Puts the read of the next line in front of the network. */
static void read_line(struct copy_engine *e, uint64_t now)
{
    struct page_life *l = e->life;
    struct page_copy *c = e->first;
    if (!c->sent && FAULT_FIRES(move_skips_line)) {
        c->sent++;
        c->done++;
    }
    const uint32_t idx = pool_try_take(l->wire.requests), app = pages_key_app(c->key);
    DIAG_ASSERT(idx != REQUEST_NONE); /* the pool has pages.copy_lines for the engine */
    struct request *r = at(e, idx);
    *r = (struct request){.line = (pages_key_page(c->key) << (l->pages->page_log2 - LINE_LOG2)) + c->sent,
                          .home = home_of(e, c->from, c->sent),
                          .sent_cyc = now,
                          .owner = c->move,
                          .sm = (uint16_t)e->port,
                          .kind = REQUEST_READ,
                          .flags = REQUEST_PAGE | REQUEST_MIGRATE,
                          .sectors = SECTORS_ALL,
                          .app = (uint8_t)app};
    if (l->wire.check) check_page_read(l->wire.check, idx, app, r->line, r->home.line, e->port);
    l->stats->lines++;
    e->in_flight++;
    append(e, idx);
    if (++c->sent == l->lines) e->first = c->next;
}

/* Sends the oldest packet. False: the network refuses it, and will wake the engine. */
static bool send_packet(struct copy_engine *e, uint64_t now)
{
    const uint32_t idx = e->out.first;
    const struct request *r = at(e, idx);
    const uint32_t next = r->next, bytes = fabric_request_bytes(e->fabric, r);
    struct pages_stats *s = e->life->stats;
    if (!fabric_try_request(e->fabric, now, idx, e->port, r->home.slice)) {
        s->engine_refused++;
        return false;
    }
    e->out.first = next;
    e->out.count--;
    s->engine_requests++;
    s->engine_bytes += bytes;
    engine_progress(e->life->wire.engine);
    return true;
}

static void wake(void *self, uint64_t now)
{
    struct copy_engine *e = self;
    receive_packet(e, now);
    if (!e->out.count && may_read(e)) read_line(e, now);
    const bool refused = e->out.count && !send_packet(e, now);
    const bool more = fabric_at(&e->fabric->reply, now, e->port) != REQUEST_NONE;
    if (more || (!refused && (e->out.count || may_read(e))))
        engine_wake(e->life->wire.engine, e->component, now + 1);
    if (e->fabric->rearm_wakeups) fabric_rearm_sm(e->fabric, now, e->port, refused);
}

/* ---- page_copier ---- */

static void copy(void *self, struct page_copy *c)
{
    struct copy_engine *e = self;
    c->next = NULL;
    *(e->first ? &e->last->next : &e->first) = c;
    e->last = c;
}

static void advance(void *self)
{
    const struct copy_engine *e = self;
    struct engine *engine = e->life->wire.engine;
    if (may_read(e)) engine_wake(engine, e->component, engine_now(engine, e->life->wire.domain) + 1);
}

static void line_done(void *self, struct page_copy *c)
{
    const struct copy_engine *e = self;
    if (++c->done == e->life->lines) life_copied(e->life, c->move);
}

static struct wait waits(void *self)
{
    const struct copy_engine *e = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
    if (!e->in_flight) return w;
    w.reason = WAIT_REPLY;
    (void)snprintf(w.detail, sizeof w.detail, "%u lines of pages in flight, %u of them wait for the network",
                   e->in_flight, e->out.count);
    return w;
}

struct page_copier copy_engine_new(struct arena *a, const struct config *c, struct page_life *l)
{
    struct copy_engine *e = ARENA_NEW(a, struct copy_engine);
    *e = (struct copy_engine){
        .life = l, .fabric = l->wire.fabric, .port = (uint32_t)config_sms(c), .limit = c->pages.copy_lines};
    e->component = engine_add(
        l->wire.engine,
        (struct component_spec){
            .name = "gpu0.copies", .self = e, .domain = l->wire.domain, .wake = wake, .waits = waits});
    *l->wire.port_component = e->component;
    return (struct page_copier){.self = e, .copy = copy, .advance = advance, .line_done = line_done};
}
