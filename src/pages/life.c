/* life: the moves of pages, see pages.h.
 *
 *   life_request(), life_migrate() --> queue --start()--> drains; the driver's time passes --> copier
 *        the page is locked from start() on (collapse: from the request on)                      |
 *                                                        end_move() <-- take_new_frame() <-------+
 *
 * Every step is taken in receive(), that is, in a message, before any component is activated in the cycle.
 * Requests of one cycle are sorted, so the order in which SMs made them does not change results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "check/check.h"
#include "check/fault.h"
#include "llc/llc.h"
#include "pages/pages_private.h"

enum {
    MESSAGE_ACT,
    MESSAGE_INTERVAL,
    MESSAGE_DRIVER,
    MESSAGE_PAID
}; /* MESSAGE_PAID + n: the driver's time of move n is over */

void life_act_soon(struct page_life *l)
{
    const uint64_t next = engine_now(l->wire.engine, l->wire.domain) + 1;
    if (l->acts_cyc >= next) return;
    l->acts_cyc = next;
    engine_send(l->wire.engine, l->component, 1, MESSAGE_ACT);
}

static void make_due(struct page_life *l, struct page_move *m)
{
    if (m->due) return;
    m->due = true;
    l->due = grow(l->due, l->due_count, &l->due_capacity, sizeof(struct page_move *), "pages that move");
    l->due[l->due_count++] = m;
    life_act_soon(l);
}

void life_drained(struct page_life *l, struct page *page) { make_due(l, page->move); }

void life_copied(struct page_life *l, uint32_t move)
{
    l->moves[move]->copied = true;
    make_due(l, l->moves[move]);
}

/* ---- TLBs: every GPU has its own ---- */

static void shootdown(const struct page_life *l, uint64_t key)
{
    for (uint32_t gpu = 0; gpu * l->sms_per_gpu < l->sm_count; gpu++)
        l->wire.shootdown(l->wire.system, gpu, key);
}

static void forget_everywhere(const struct page_life *l, uint64_t key)
{
    for (uint32_t gpu = 0; gpu * l->sms_per_gpu < l->sm_count; gpu++)
        l->wire.forget(l->wire.system, gpu, key, gpu * l->sms_per_gpu, l->sms_per_gpu);
}

static void forget_in_node(const struct page_life *l, uint64_t key, uint32_t node)
{
    const struct nodes *n = &l->pages->nodes;
    l->wire.forget(l->wire.system, node / n->per_gpu, key, nodes_first_sm(n, node), n->sms_per_node);
}

/* SMs of one GPU that waited and may use the page now. */
static void release_gpu(struct page_life *l, struct page *page, uint32_t gpu, uint64_t now)
{
    const uint32_t first = gpu * l->sms_per_gpu;
    bool any = false;
    memset(l->released, 0, (l->sms_per_gpu + 63) / 64 * sizeof *l->released);
    for (uint32_t k = 0; k < l->sms_per_gpu; k++) {
        const uint32_t sm = first + k;
        if (!page_bit(page->waiting, sm)) continue;
        if (page_bit(page->copying, nodes_of_sm(&l->pages->nodes, sm))) continue;
        page->waiting[sm / 64] &= ~((uint64_t)1 << (sm % 64));
        l->released[k / 64] |= (uint64_t)1 << (k % 64);
        any = true;
    }
    if (any) l->wire.resume(l->wire.system, gpu, page->key, l->released, now);
}

static void release(struct page_life *l, struct page *page, uint64_t now)
{
    if (page->move) return;
    for (uint32_t gpu = 0; gpu * l->sms_per_gpu < l->sm_count; gpu++) release_gpu(l, page, gpu, now);
}

/* ---- requests ---- */

static void put(struct move_queue *q, struct page_move *m)
{
    m->next = NULL;
    *(q->first ? &q->last->next : &q->first) = m;
    q->last = m;
}

static struct page_move *new_move(struct page_life *l, struct page *page, uint32_t node, enum move_kind kind)
{
    struct page_move *m = l->free;
    if (m) {
        l->free = m->next;
    } else {
        l->moves =
            grow(l->moves, l->move_count, &l->move_capacity, sizeof(struct page_move *), "pages that move");
        m = ARENA_NEW(l->arena, struct page_move);
        m->idx = l->move_count;
        l->moves[l->move_count++] = m;
    }
    *m = (struct page_move){.page = page, .idx = m->idx, .node = node, .kind = (uint8_t)kind};
    return m;
}

static void free_move(struct page_life *l, struct page_move *m)
{
    m->next = l->free;
    l->free = m;
}

void life_migrate(struct page_life *l, struct page *page, uint32_t node)
{
    page->queued = true;
    put(&l->queue, new_move(l, page, node, MOVE_MIGRATE));
}

bool life_drop(struct page_life *l, uint64_t key)
{
    struct page *const page = track_find(l, key);
    if (!page) return true;
    if (page->move || page->pending || page->in_flight) return false;
    l->stats->replicas_dropped += page->replicas;
    if (page->replicated) memset(page->replicated, 0, (l->pages->nodes.count + 63) / 64 * sizeof(uint64_t));
    if (page->accesses) memset(page->accesses, 0, l->pages->nodes.count * sizeof *page->accesses);
    page->replicas = 0;
    page->rests = 0;
    page->written = page->no_replicas = false;
    return true;
}

void life_request(struct page_life *l, struct page *page, uint32_t node, enum move_kind kind)
{
    l->requests =
        grow(l->requests, l->request_count, &l->request_capacity, sizeof *l->requests, "pages that move");
    l->requests[l->request_count++] = (struct page_request){page, node, kind};
    life_act_soon(l);
}

static void set_copying(struct page *page, uint32_t node, bool on)
{
    const uint64_t bit = (uint64_t)1 << (node % 64);
    if (on)
        page->copying[node / 64] |= bit;
    else
        page->copying[node / 64] &= ~bit;
    page->pending += on ? 1 : UINT32_MAX;
}

/* A page must follow the channels of its application, unless pages that were placed or moved since the lookup
 * have changed that. */
static void answer_fault(struct page_life *l, struct page *page, uint64_t now)
{
    if (!owned_must_move(l, page)) {
        release(l, page, now);
        return;
    }
    page->move = new_move(l, page, 0, MOVE_FOLLOW);
    page->move->lock_cyc = now;
    owned_plan(l, page->move);
    put(&l->queue, page->move);
}

static void answer(struct page_life *l, const struct page_request *r, uint64_t now)
{
    struct page *page = r->page;
    if (page->move) return; /* locked: the SMs wait in their MMU and retry after the move */
    if (r->kind == MOVE_FOLLOW) {
        answer_fault(l, page, now);
        return;
    }
    if (r->kind == MOVE_COLLAPSE) {
        page->move = new_move(l, page, 0, MOVE_COLLAPSE);
        put(&l->queue, page->move);
        return;
    }
    if (page->queued || page_bit(page->copying, r->node)) return;
    if (!l->replication->replicates(&(struct page_replication_question){
            .key = page->key, .node = r->node, .read_only = true, .written = page->written})) {
        l->stats->refused++;
        return;
    }
    set_copying(page, r->node, true);
    put(&l->queue, new_move(l, page, r->node, MOVE_REPLICATE));
}

static int by_page(const void *a, const void *b)
{
    const struct page_request *l = a, *r = b;
    if (l->kind != r->kind) return l->kind > r->kind ? -1 : 1; /* stores first */
    if (l->page->key != r->page->key) return l->page->key < r->page->key ? -1 : 1;
    return l->node < r->node ? -1 : l->node > r->node;
}

static void answer_requests(struct page_life *l, uint64_t now)
{
    if (!l->request_count) return;
    qsort(l->requests, l->request_count, sizeof *l->requests, by_page);
    for (uint32_t k = 0; k < l->request_count; k++) answer(l, &l->requests[k], now);
    l->request_count = 0;
}

/* ---- moves ---- */

static void end_move(struct page_life *l, struct page_move *m, uint64_t now)
{
    struct page *page = m->page;
    l->stats->held_cyc += now - m->begin_cyc;
    if (page->move == m) page->move = NULL;
    if (m->kind == MOVE_FOLLOW) owned_released(l, m, now);
    release(l, page, now);
    if (page->move && page->move->paid) make_due(l, page->move); /* it waited for this replica */
    free_move(l, m);
    l->active--;
}

/* False: the node has no free frame that the application may use, or the page was freed while the move was queued. */
static bool take_frame(struct page_life *l, struct page_move *m)
{
    struct page_copy *c = &m->copy;
    const uint64_t key = m->page->key, *from = pages_frame(l->pages, key);
    if (!from) return false;
    *c = (struct page_copy){
        .move = m->idx, .key = key, .from = *from, .node = m->node, .takes = m->kind == MOVE_MIGRATE};
    return table_try_frame(l->pages, pages_key_app(key), nodes_colour(&l->pages->nodes, m->node, key),
                           &c->to);
}

/* The driver begins: the page gets a frame, and the SMs that must wait lose its translation. */
static void start(struct page_life *l, struct page_move *m, uint64_t now)
{
    struct page *page = m->page;
    m->begin_cyc = now;
    l->active++;
    stats_peak(&l->stats->peak, l->active);
    if (m->kind == MOVE_FOLLOW) {
        owned_start(l, m);
    } else if (m->kind != MOVE_COLLAPSE && !take_frame(l, m)) {
        l->stats->refused++;
        page->no_replicas = true;
        if (m->kind == MOVE_REPLICATE) set_copying(page, m->node, false);
        end_move(l, m, now);
        return;
    }
    if (m->kind == MOVE_REPLICATE) {
        forget_in_node(l, page->key, m->node);
    } else {
        page->move = m;
        shootdown(l, page->key);
    }
    const uint64_t cost_cyc = m->kind == MOVE_FOLLOW ? l->fault_cyc : l->cost_cyc;
    engine_send(l->wire.engine, l->component, cost_cyc ? cost_cyc : 1, MESSAGE_PAID + m->idx);
    l->unpaid++;
    make_due(l, m);
}

static void drop_replica(struct page_life *l, struct page *page, uint32_t node)
{
    if (!page_bit(page->replicated, node)) return;
    const uint64_t frame = *pages_find(l->pages, nodes_first_sm(&l->pages->nodes, node), page->key);
    for (uint32_t n = 0; n < l->lines; n++) {
        const struct home home = pages_home(l->pages, frame + (uint64_t)n * LINE_BYTES);
        slice_invalidate_line(l->wire.slices[home.slice], home.line);
        if (l->wire.check) check_frame_free(l->wire.check, home.line);
    }
    table_drop_replica(l->pages, page->key, node);
    page->replicated[node / 64] &= ~((uint64_t)1 << (node % 64));
    page->replicas--;
    l->stats->replicas_dropped++;
}

static void drop_replicas(struct page_life *l, struct page *page)
{
    for (uint32_t k = 0; page->replicas && k < l->pages->nodes.count; k++) drop_replica(l, page, k);
}

static void collapse(struct page_life *l, struct page *page)
{
    drop_replicas(l, page);
    page->no_replicas = true;
    forget_everywhere(l, page->key);
    l->stats->collapses++;
    l->stats->touch_collapses += l->touch_replicates;
}

static void add_replica(struct page_life *l, const struct page_move *m)
{
    struct page *page = m->page;
    if (!page->replicas) {
        l->replicated = grow(l->replicated, l->replicated_count, &l->replicated_capacity,
                             sizeof(struct page *), "pages that move");
        l->replicated[l->replicated_count++] = page;
    }
    table_add_replica(l->pages, page->key, m->node, m->copy.to);
    page->replicated[m->node / 64] |= (uint64_t)1 << (m->node % 64);
    page->replicas++;
    set_copying(page, m->node, false);
    forget_in_node(l, page->key, m->node);
    l->stats->replicas++;
}

/* Slices of other chiplets hold no line of the frame any more. No request to the page is in flight, so no line is
 * pinned. ASSUMPTION: the driver's time covers these invalidations. */
static void drop_remote_lines(struct page_life *l, uint64_t frame)
{
    const struct pages *p = l->pages;
    const uint32_t slices = p->channels_per_chiplet * p->slices_per_channel; /* of a chiplet */
    for (uint32_t n = 0; n < l->lines; n++) {
        const struct home home = pages_home(p, frame + (uint64_t)n * LINE_BYTES);
        for (uint32_t k = home.slice % slices; k < p->chiplets * slices; k += slices)
            if (k != home.slice) slice_invalidate_line(l->wire.slices[k], home.line);
    }
}

static void take_new_frame(struct page_life *l, const struct page_move *m)
{
    const uint64_t key = m->page->key;
    const uint64_t first = pages_key_page(key) << (l->pages->page_log2 - LINE_LOG2);
    for (uint32_t n = 0; l->wire.check && n < l->lines; n++)
        check_page_moved(l->wire.check, pages_key_app(key), first + n, (m->copy.to >> LINE_LOG2) + n);
    if (l->replicates) drop_replica(l, m->page, m->node); /* the node has the page itself now */
    if (l->slices_keep_remote_lines && !FAULT_FIRES(move_keeps_remote_lines))
        drop_remote_lines(l, m->copy.from);
    table_move(l->pages, key, m->copy.to);
    if (m->kind == MOVE_FOLLOW) owned_moved(l, m);
    forget_everywhere(l, key);
    l->stats->migrations++;
}

/* The lines of the old frame leave its slices. False: some wait, for a pending operation, a fill or memory. */
static bool evict(struct page_life *l, struct page_move *m)
{
    for (; m->evicted < l->lines; m->evicted++) {
        const struct home home = pages_home(l->pages, m->copy.from + (uint64_t)m->evicted * LINE_BYTES);
        const enum page_line line = slice_evict_page_line(l->wire.slices[home.slice], home.line, m->idx);
        if (line == PAGE_LINE_BUSY) {
            make_due(l, m); /* again in the next cycle */
            return false;
        }
        m->write_backs += line == PAGE_LINE_WRITES;
    }
    return !m->write_backs;
}

void pages_line_done(void *pages, uint32_t move)
{
    struct page_life *l = ((struct pages *)pages)->life;
    struct page_move *m = l->moves[move];
    if (m->begun)
        l->copier.line_done(l->copier.self, &m->copy);
    else if (!--m->write_backs)
        make_due(l, m);
}

void life_check_line(struct page_life *l, const struct page_copy *c, uint32_t line, const char *hazard)
{
    if (!l->wire.check) return;
    const uint64_t first = pages_key_page(c->key) << (l->pages->page_log2 - LINE_LOG2);
    check_line_moves(l->wire.check, pages_key_app(c->key), first + line, (c->from >> LINE_LOG2) + line,
                     (c->to >> LINE_LOG2) + line, hazard, engine_now(l->wire.engine, l->wire.domain));
}

/* Takes the next step of a move whose conditions hold. */
static void go_on(struct page_life *l, struct page_move *m, uint64_t now)
{
    struct page *page = m->page;
    m->due = false;
    if (!m->drained) {
        m->drained = m->kind == MOVE_REPLICATE || (!page->in_flight && !page->pending) ||
                     ((m->kind == MOVE_MIGRATE || m->kind == MOVE_FOLLOW) && FAULT_FIRES(move_waits_not));
        if (!m->drained) return;
        l->stats->drain_cyc += now - m->begin_cyc;
    }
    if (!m->paid) return;
    if (m->kind == MOVE_COLLAPSE) {
        collapse(l, page);
        end_move(l, m, now);
    } else if (!m->begun) {
        if (m->kind == MOVE_FOLLOW && !evict(l, m)) return;
        m->begun = true;
        l->copier.copy(l->copier.self, &m->copy);
        if (m->kind == MOVE_FOLLOW && FAULT_FIRES(page_released_early)) {
            take_new_frame(l, m);
            page->move = NULL;
            release(l, page, now);
        }
    } else if (m->copied) {
        if (m->kind == MOVE_REPLICATE)
            add_replica(l, m);
        else if (m->kind != MOVE_FOLLOW || !FAULT_FIRES(page_released_early))
            take_new_frame(l, m);
        end_move(l, m, now);
    }
}

static int by_number(const void *a, const void *b)
{
    const struct page_move *l = *(struct page_move *const *)a, *r = *(struct page_move *const *)b;
    return l->idx < r->idx ? -1 : l->idx > r->idx;
}

static void end_interval(struct page_life *l)
{
    track_end_interval(l);
    l->ticking = l->wire.running(l->wire.system);
    if (l->ticking) engine_send(l->wire.engine, l->component, l->interval_cyc, MESSAGE_INTERVAL);
}

/* pages.copier: the driver takes a fault per interval. False: it must wait. */
static bool driver_takes_fault(struct page_life *l, uint64_t now)
{
    if (l->unpaid >= l->fault_limit) return false; /* the end of a fault's time is a message */
    if (now >= l->driver_cyc) {
        l->driver_cyc = now + l->fault_interval_cyc;
        return true;
    }
    if (!l->driver_pending) engine_send(l->wire.engine, l->component, l->driver_cyc - now, MESSAGE_DRIVER);
    l->driver_pending = true;
    return false;
}

/* Starts the queued moves for which the driver has a free slot. */
static void start_moves(struct page_life *l, uint64_t now)
{
    for (struct page_move *m; (m = l->queue.first) && (l->follows || l->active < l->move_limit);) {
        if (l->follows && !driver_takes_fault(l, now)) return;
        l->queue.first = m->next;
        /* A replica that leaves the queue does not clear `queued`. A replica requested behind a queued
         * migration would wait for the driver slot of the migration, which waits for that replica. */
        if (m->kind == MOVE_MIGRATE) m->page->queued = false;
        if (m->kind == MOVE_MIGRATE && m->page->move)
            free_move(l, m); /* a collapse has overtaken the migration, which is given up */
        else
            start(l, m, now);
    }
}

static void receive(void *self, uint64_t now, uint64_t message)
{
    struct page_life *l = self;
    if (message == MESSAGE_INTERVAL) end_interval(l);
    if (message == MESSAGE_DRIVER) l->driver_pending = false;
    if (message >= MESSAGE_PAID) {
        struct page_move *m = l->moves[message - MESSAGE_PAID];
        m->paid = true;
        l->unpaid--;
        make_due(l, m);
    }
    answer_requests(l, now);
    if (l->due_count) qsort(l->due, l->due_count, sizeof(struct page_move *), by_number);
    const uint32_t due = l->due_count;
    for (uint32_t k = 0; k < due; k++) go_on(l, l->due[k], now); /* may add moves for the next cycle */
    l->due_count -= due;
    if (l->due_count) memmove(l->due, l->due + due, l->due_count * sizeof(struct page_move *));
    start_moves(l, now);
    l->copier.advance(l->copier.self);
    /* The end of an interval alone is no progress for the watchdog: all moves and SMs may wait for ever. */
    if (due || l->due_count || l->unpaid) engine_progress(l->wire.engine);
}

/* ---- kernels ---- */

void pages_kernel_begins(struct pages *p, uint64_t start_cyc)
{
    struct page_life *l = p->life;
    if (!l || !l->migrates || l->ticking) return;
    l->ticking = true;
    engine_send(l->wire.engine, l->component,
                start_cyc - engine_now(l->wire.engine, l->wire.domain) + l->interval_cyc, MESSAGE_INTERVAL);
}

void pages_kernels_end(struct pages *p)
{
    struct page_life *l = p->life;
    if (!l || !l->replicates || l->touch_replicates) return;
    /* an SM that needs a replica waits for it, so no kernel ends before; a migration may outlast its kernel
     */
    DIAG_ASSERT(l->migrates || !l->active);
    size_t cursor = 0;
    for (const struct map_entry *e; (e = map_next(&l->records, &cursor));) {
        struct page *page = (struct page *)(uintptr_t)e->value; // NOLINT(performance-no-int-to-ptr)
        page->written = page->no_replicas = false;
    }
    for (uint32_t n = 0; n < l->replicated_count; n++) {
        drop_replicas(l, l->replicated[n]);
        shootdown(l, l->replicated[n]->key);
    }
    l->replicated_count = 0;
}

/* ---- building ---- */

static void nothing(void *self, uint64_t now)
{
    (void)self;
    (void)now;
}

static struct wait waits(void *self)
{
    const struct page_life *l = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
    if (!l->active) return w;
    w.reason = WAIT_PAGE_FAULT;
    (void)snprintf(w.detail, sizeof w.detail, "%u pages move", l->active);
    return w;
}

struct page_life *life_new(struct arena *a, const struct config *c, struct pages *p,
                           const struct pages_wiring *w)
{
    struct page_life *l = ARENA_NEW(a, struct page_life);
    *l = (struct page_life){.pages = p,
                            .wire = *w,
                            .arena = a,
                            .lines = (uint32_t)(c->map.page_size / LINE_BYTES),
                            .sm_count = (uint32_t)config_sms(c),
                            .sms_per_gpu = (uint32_t)config_sms_per_gpu(c),
                            .words = ((uint32_t)config_sms(c) + 63) / 64,
                            .stats = &p->stats,
                            .migration = migration_new(a, c),
                            .replication = page_replication_of(c),
                            .interval_cyc = c->runtime.move_interval_cyc,
                            .cost_cyc = config_cycles_in(c->runtime.move_cost, c->clock.sm),
                            .slices_keep_remote_lines = !config_slices_by_partition(c),
                            .cool_down = c->pages.cool_down,
                            .move_limit = c->runtime.moves};
    l->follows = config_pages_follow(c);
    l->all_fault = c->pages.faulting == page_faulting_all;
    l->spreads = c->pages.gained == page_gained_spread;
    l->fault_cyc = c->pages.fault_cyc;
    l->fault_interval_cyc = (uint32_t)c->pages.fault_interval_cyc;
    l->fault_limit = c->pages.faults ? c->pages.faults : UINT32_MAX;
    l->migrates = l->migration.ops->target != NULL;
    l->touch_replicates = l->replication->at_touch != NULL;
    l->replicates = l->replication->replicates || l->touch_replicates;
    map_init(&l->records);
    l->released = ARENA_ARRAY(a, uint64_t, (l->sms_per_gpu + 63) / 64);
    l->component = engine_add(w->engine, (struct component_spec){.name = "gpu0.pager",
                                                                 .self = l,
                                                                 .domain = w->domain,
                                                                 .wake = nothing,
                                                                 .receive = receive,
                                                                 .waits = waits});
    l->copier = c->pages.copier == page_engine_in_stack   ? copy_stack_new(a, c, l)
                : c->pages.copier == page_engine_channels ? copy_channels_new(a, c, l)
                : c->pages.copier == page_engine_network  ? copy_engine_new(a, c, l)
                                                          : copy_network_new(a, c, l);
    return l;
}

void life_free(struct page_life *l)
{
    if (l->copier.release) l->copier.release(l->copier.self);
    map_free(&l->records);
    free(l->listed);
    free(l->requests);
    free(l->moves);
    free(l->due);
    free(l->replicated);
}
