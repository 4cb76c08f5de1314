/* copy_network: copies a page through the network between slices. Active where slices forward to slices.
 *
 *   home slice of a line  --far_reply network-->  slice of the new frame  -->  memory
 *
 * The slice of the new frame fetches each line from its home slice and writes the line to memory. At most
 * runtime.move_lines lines of all copies are in flight; copies are served in the order in which they began.
 */
#include "check/check.h"
#include "check/fault.h"
#include "llc/llc.h"
#include "pages/pages_private.h"

struct copy_network {
    struct page_life *life;
    uint32_t in_flight, limit;      /* lines */
    struct page_copy *first, *last; /* copies with lines to send */
};

static void send_line(struct copy_network *n, const struct page_copy *c)
{
    struct page_life *l = n->life;
    const struct pages *p = l->pages;
    const uint64_t offset = (uint64_t)c->sent * LINE_BYTES;
    const struct home home = pages_home(p, c->from + offset), to = pages_home(p, c->to + offset);
    const uint32_t app = pages_key_app(c->key), idx = pool_try_take(l->wire.requests);
    DIAG_ASSERT(idx != REQUEST_NONE);
    struct request *r = request_at(l->wire.requests, idx);
    *r = (struct request){.line = (pages_key_page(c->key) << (p->page_log2 - LINE_LOG2)) + c->sent,
                          .bytes = {to.line},
                          .home = home,
                          .owner = c->move,
                          .sm = (uint16_t)nodes_first_sm(&p->nodes, c->node),
                          .kind = REQUEST_READ,
                          .flags = REQUEST_FETCH | REQUEST_PAGE | (c->takes ? REQUEST_MIGRATE : 0),
                          .sectors = SECTORS_ALL,
                          .app = (uint8_t)app};
    if (l->wire.check) check_page_read(l->wire.check, idx, app, r->line, home.line, r->sm);
    l->stats->lines++;
    n->in_flight++;
    slice_fetch_page_line(l->wire.slices[to.slice], idx);
}

static void advance(void *self)
{
    struct copy_network *n = self;
    for (struct page_copy *c; (c = n->first) && n->in_flight < n->limit;) {
        if (c->sent == 0 && FAULT_FIRES(move_skips_line))
            c->done++;
        else
            send_line(n, c);
        if (++c->sent == n->life->lines) n->first = c->next;
    }
}

static void copy(void *self, struct page_copy *c)
{
    struct copy_network *n = self;
    c->next = NULL;
    *(n->first ? &n->last->next : &n->first) = c;
    n->last = c;
}

static void line_done(void *self, struct page_copy *c)
{
    struct copy_network *n = self;
    struct page_life *l = n->life;
    n->in_flight--;
    if (++c->done == l->lines)
        life_copied(l, c->move);
    else if (n->first)
        life_act_soon(l);
}

struct page_copier copy_network_new(struct arena *a, const struct config *c, struct page_life *l)
{
    struct copy_network *n = ARENA_NEW(a, struct copy_network);
    *n = (struct copy_network){.life = l, .limit = c->runtime.move_lines};
    return (struct page_copier){.self = n, .copy = copy, .advance = advance, .line_done = line_done};
}
