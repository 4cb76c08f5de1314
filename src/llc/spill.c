/* spill: see spill.h. Time on the link is counted in units of 1 / rate ticks, so that bytes take exactly their time. */
#include "llc/spill.h"

#include <stdlib.h>

#include "base/grow.h"
#include "llc/slice_memory.h" /* and llc_private.h */

enum page_state { IN, OUT, COMING, GOING };

struct spill_page {
    uint64_t used_cyc; /* last operation */
    uint32_t waiting;  /* operations in rings */
    uint8_t state;
};

/* A read that the link has accepted. */
struct spill_read {
    struct slice *slice;
    uint64_t sent_tick, tick; /* tick: the data is at the slice */
    uint32_t tag_line;
    uint8_t sectors;
};

/* An operation waits for a page in system memory. */
struct spill_fault {
    uint64_t cyc; /* from which on the link sees it */
    uint32_t page;
};

struct spill_move {
    uint32_t page, victim; /* victim: NO_PAGE: none */
    uint64_t begin_cyc, due_cyc;
    bool on_link;
};

enum { NO_PAGE = UINT32_MAX, RETRY_CYC = 64 };

struct spill {
    struct spill_wiring wire;
    struct spill_stats stats;
    struct arena *arena;
    uint32_t component, header_bytes, column_bytes;
    uint64_t latency_ticks;
    /* A byte takes byte_units, a tick has tick_units. */
    uint64_t byte_units, tick_units;
    unsigned __int128 out_free, in_free; /* units at which a direction is free */
    uint64_t asked_cyc;                  /* earliest message under way; ENGINE_NEVER: none */
    struct slice_spill *slices;
    uint32_t joined, turn;
    uint32_t waiting; /* operations in all rings */
    struct spill_read *reads;
    uint32_t reads_head, reads_count, reads_mask;
    /* um */
    struct spill_page *pages; /* frames of the GPU's memory, then of system memory; NULL: policy line */
    uint32_t frames;          /* of each */
    uint32_t touched_end;     /* index behind the last page of system memory that an operation has touched */
    uint64_t page_bytes;
    uint32_t move_cost_cyc;
    struct spill_fault *faults;
    uint32_t fault_count, fault_capacity;
    struct spill_move *moves;
    uint32_t move_count, move_capacity;
};

struct spill_stats *spill_stats(struct spill *p) { return &p->stats; }

/* ---- the link ---- */

/* Sends bytes from a tick on. Returns the tick at which the last byte has left. */
static uint64_t send(const struct spill *p, unsigned __int128 *free, uint64_t tick, uint64_t bytes)
{
    const unsigned __int128 from = (unsigned __int128)tick * p->tick_units;
    if (*free < from) *free = from;
    *free += (unsigned __int128)bytes * p->byte_units;
    return (uint64_t)((*free + p->tick_units - 1) / p->tick_units);
}

static uint64_t cycle_of(const struct spill *p, uint64_t tick)
{
    return (tick + p->wire.ticks_per_cycle - 1) / p->wire.ticks_per_cycle;
}

/* Asks for a message at a cycle, at the earliest in the next one. */
static void ask(struct spill *p, uint64_t cyc)
{
    const uint64_t now = engine_now(p->wire.engine, p->wire.domain);
    if (cyc <= now) cyc = now + 1;
    if (cyc >= p->asked_cyc) return;
    p->asked_cyc = cyc;
    engine_send(p->wire.engine, p->component, cyc - now, 0);
}

/* ---- pages (um) ---- */

static uint32_t page_of(const struct spill *p, uint64_t line)
{
    const uint64_t address = line << LINE_LOG2;
    const uint64_t frame = (address & (((uint64_t)1 << p->wire.map->bits) - 1)) >> p->wire.map->page_bits;
    return (uint32_t)frame + (dram_map_in_system(p->wire.map, address) ? p->frames : 0);
}

static void add_fault(struct spill *p, uint32_t page, uint64_t cyc)
{
    p->faults = grow(p->faults, p->fault_count, &p->fault_capacity, sizeof *p->faults, "pages that move");
    p->faults[p->fault_count++] = (struct spill_fault){.cyc = cyc, .page = page};
}

/* The least recently used page in the memory of the GPU, if possible one to which no operation waits: behind the front
 * of a ring operations may wait to a page that is here. *any: a page is here, or on its way. */
static uint32_t oldest(const struct spill *p, bool *any)
{
    const uint64_t used = p->wire.frames(p->wire.pages, p->wire.chiplet);
    uint32_t victim = NO_PAGE;
    *any = false;
    for (uint32_t k = 0; k < p->touched_end; k++) {
        if (k >= used && k < p->frames) k = p->frames; /* the frames between hold no page */
        if (k >= p->touched_end) break;
        const struct spill_page *const page = &p->pages[k], *const best =
                                                                &p->pages[victim == NO_PAGE ? 0 : victim];
        *any |= page->state != OUT;
        if (page->state != IN) continue;
        if (victim == NO_PAGE || (!page->waiting && best->waiting) ||
            (!page->waiting == !best->waiting && page->used_cyc < best->used_cyc))
            victim = k;
    }
    return victim;
}

static int by_page(const void *a, const void *b)
{
    const struct spill_fault *l = a, *r = b;
    if (l->page != r->page) return l->page < r->page ? -1 : 1;
    return (l->cyc > r->cyc) - (l->cyc < r->cyc);
}

static void start_moves(struct spill *p, uint64_t now)
{
    uint32_t kept = 0;
    if (!p->fault_count) return;
    qsort(p->faults, p->fault_count, sizeof *p->faults, by_page); /* slices add in the order of visits */
    for (uint32_t k = 0; k < p->fault_count; k++) {
        const struct spill_fault fault = p->faults[k];
        const uint32_t page = fault.page;
        bool any;
        if (kept && p->faults[kept - 1].page == page) continue; /* an earlier fault of the page waits */
        if (fault.cyc > now) p->faults[kept++] = fault;
        if (fault.cyc > now || p->pages[page].state != OUT || !p->pages[page].waiting) continue;
        const uint32_t victim = oldest(p, &any);
        if (victim == NO_PAGE && any) {
            p->faults[kept++] = (struct spill_fault){now + RETRY_CYC, page};
            continue;
        }
        p->pages[page].state = COMING;
        if (victim != NO_PAGE) p->pages[victim].state = GOING;
        p->moves = grow(p->moves, p->move_count, &p->move_capacity, sizeof *p->moves, "pages that move");
        p->moves[p->move_count++] = (struct spill_move){
            .page = page, .victim = victim, .begin_cyc = now, .due_cyc = now + p->move_cost_cyc};
    }
    p->fault_count = kept;
}

/* Operations to the page that their channel has not accepted yet. */
static bool in_channel_queues(const struct spill *p, uint32_t page)
{
    for (uint32_t n = 0; n < p->joined; n++) {
        const struct slice *const s = p->slices[n].slice;
        const struct memory_queue *const q = &s->own_queue.ops;
        if (s->wire.channels_sync) channel_sync(s->wire.channels[0]);
        const size_t front = (size_t)(q->front - q->ring);
        for (uint32_t k = 0; k < q->count; k++) {
            const struct memory_op *const op = &q->ring[(front + k) & s->ops_mask];
            if (op->move != MEMORY_OP_OWN && page_of(p, op->line) == page) return true;
        }
    }
    return false;
}

static void end_move(struct spill *p, const struct spill_move *m, uint64_t now)
{
    struct spill_page *const page = &p->pages[m->page];
    page->state = IN;
    page->used_cyc = now;
    p->stats.moves_in++;
    p->stats.in_bytes += p->page_bytes;
    p->stats.move_cyc += now - m->begin_cyc;
    if (m->victim == NO_PAGE) return;
    p->pages[m->victim].state = OUT;
    p->stats.moves_out++;
    p->stats.out_bytes += p->page_bytes;
    if (p->pages[m->victim].waiting) add_fault(p, m->victim, now);
}

static void advance_moves(struct spill *p, uint64_t now)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < p->move_count; k++) {
        struct spill_move m = p->moves[k];
        if (m.due_cyc <= now && m.on_link) {
            end_move(p, &m, now);
            continue;
        }
        if (m.due_cyc <= now && (m.victim == NO_PAGE || !in_channel_queues(p, m.victim))) {
            const uint64_t tick = now * p->wire.ticks_per_cycle;
            uint64_t last = send(p, &p->in_free, tick, p->page_bytes);
            if (m.victim != NO_PAGE) {
                const uint64_t out = send(p, &p->out_free, tick, p->page_bytes);
                if (out > last) last = out;
            }
            m.on_link = true;
            m.due_cyc = cycle_of(p, last + p->latency_ticks);
        }
        p->moves[kept++] = m;
    }
    p->move_count = kept;
}

/* ---- operations ---- */

static void join_ring(struct slice_spill *r, const struct memory_op *op, uint32_t mask)
{
    struct memory_queue *const q = &r->ops;
    const size_t front = (size_t)(q->front - q->ring);
    q->ring[(front + q->count) & mask] = *op;
    q->count++;
    q->ring[(front + q->count) & mask].ready_tick = ENGINE_NEVER;
}

bool spill_takes(struct slice *s, const struct memory_op *op)
{
    struct slice_spill *const r = s->spill;
    struct spill *const p = r->link;
    if (op->move == MEMORY_OP_OWN) return false; /* the RDC lies in the memory of the GPU */
    if (p->pages) {
        const uint32_t number = page_of(p, op->line);
        struct spill_page *const page = &p->pages[number];
        if (number >= p->touched_end) p->touched_end = number + 1;
        if (page->state == IN && !page->waiting) {
            page->used_cyc = engine_now(p->wire.engine, p->wire.domain);
            return false;
        }
        if (page->state == OUT) add_fault(p, number, cycle_of(p, op->ready_tick));
        page->waiting++;
    } else if (!dram_map_in_system(p->wire.map, op->line << LINE_LOG2)) {
        return false;
    }
    *(memory_op_is_write(op) ? &p->stats.writes : &p->stats.reads) += 1;
    join_ring(r, op, s->ops_mask);
    s->ops_count++;
    p->waiting++;
    ask(p, cycle_of(p, op->ready_tick));
    return true;
}

static void leave_ring(struct slice_spill *r)
{
    struct memory_queue *const q = &r->ops;
    q->front = q->front + 1 == q->end ? q->ring : q->front + 1;
    q->count--;
    r->slice->ops_count--;
    r->link->waiting--;
}

/* The page has arrived: the operation goes on to the channel. */
static void to_channel(struct spill *p, struct slice_spill *r, struct spill_page *page, uint64_t now)
{
    struct memory_op op = *r->ops.front;
    op.ready_tick = (now + 1) * p->wire.ticks_per_cycle;
    *(memory_op_is_write(&op) ? &p->stats.late_writes : &p->stats.late_reads) += 1;
    page->waiting--;
    page->used_cyc = now;
    leave_ring(r);
    slice_push_to_channel(r->slice, &op);
}

static void to_system(struct spill *p, struct slice_spill *r, uint64_t tick)
{
    struct slice *const s = r->slice;
    const struct memory_op op = *r->ops.front;
    const uint32_t bytes = op.column_count * p->column_bytes;
    const bool write = memory_op_is_write(&op);
    const uint32_t out = p->header_bytes + (write ? bytes : 0);
    const uint64_t left = send(p, &p->out_free, tick, out);
    p->stats.out_bytes += out;
    *(write ? &p->stats.write_columns : &p->stats.read_columns) += op.column_count;
    slice_system_accepted(s, &op, tick);
    leave_ring(r);
    if (write) {
        p->stats.accepted++;
        return;
    }
    DIAG_ASSERT(p->reads_count <= p->reads_mask);
    p->reads[(p->reads_head + p->reads_count++) & p->reads_mask] =
        (struct spill_read){.slice = s,
                            .sent_tick = op.ready_tick,
                            .tick = send(p, &p->in_free, left + p->latency_ticks, p->header_bytes + bytes),
                            .tag_line = op.tag_line,
                            .sectors = slice_sectors(s->spec, op.first_column, op.column_count)};
}

static void deliver(struct spill *p, uint64_t tick)
{
    for (; p->reads_count; p->reads_count--) {
        const struct spill_read *const r = &p->reads[p->reads_head];
        if (r->tick > tick) return;
        p->stats.answered++;
        p->stats.in_bytes += p->header_bytes + SECTOR_BYTES * sector_count(r->sectors);
        p->stats.read_cyc += (r->tick - r->sent_tick) / p->wire.ticks_per_cycle;
        slice_system_done(r->slice, r->tag_line, r->sectors, r->sent_tick, r->tick);
        p->reads_head = (p->reads_head + 1) & p->reads_mask;
    }
}

/* True: an operation left the ring. */
static bool serve(struct spill *p, struct slice_spill *r, uint64_t now, uint64_t tick)
{
    if (memory_queue_due(&r->ops) > tick) return false;
    if (p->pages) {
        struct spill_page *const page = &p->pages[page_of(p, r->ops.front->line)];
        if (page->state != IN) return false;
        to_channel(p, r, page, now);
        return true;
    }
    to_system(p, r, tick);
    return true;
}

/* One operation of each slice in turn, while the link is free before the next cycle. */
static void serve_rings(struct spill *p, uint64_t now, uint64_t tick)
{
    const unsigned __int128 next = (unsigned __int128)(tick + p->wire.ticks_per_cycle) * p->tick_units;
    uint32_t idle = 0;
    while (idle < p->joined && (p->pages || p->out_free < next)) {
        idle = serve(p, &p->slices[p->turn], now, tick) ? 0 : idle + 1;
        if (++p->turn == p->joined) p->turn = 0;
    }
}

static void ask_next(struct spill *p)
{
    if (p->reads_count) ask(p, cycle_of(p, p->reads[p->reads_head].tick));
    for (uint32_t k = 0; k < p->move_count; k++) ask(p, p->moves[k].due_cyc);
    for (uint32_t k = 0; k < p->fault_count; k++) ask(p, p->faults[k].cyc);
    uint64_t due = ENGINE_NEVER;
    for (uint32_t k = 0; k < p->joined; k++) { /* a page that is not here wakes the link when it arrives */
        const struct memory_queue *const q = &p->slices[k].ops;
        if (q->count && (!p->pages || p->pages[page_of(p, q->front->line)].state == IN))
            due = min_u64(due, memory_queue_due(q));
    }
    if (due == ENGINE_NEVER) return;
    if (p->pages) {
        ask(p, cycle_of(p, due));
        return;
    }
    const uint64_t free = (uint64_t)(p->out_free / p->tick_units); /* within its cycle the next one starts */
    ask(p, max_u64(cycle_of(p, due), free / p->wire.ticks_per_cycle));
}

static void receive(void *self, uint64_t now, uint64_t message)
{
    struct spill *const p = self;
    const uint64_t tick = now * p->wire.ticks_per_cycle;
    (void)message;
    if (p->asked_cyc <= now) p->asked_cyc = ENGINE_NEVER;
    engine_progress(p->wire.engine);
    deliver(p, tick);
    if (p->pages) advance_moves(p, now);
    if (p->waiting) serve_rings(p, now, tick);
    if (p->pages)
        start_moves(p, now); /* a page that has arrived has served the fronts of rings before it goes */
    ask_next(p);
}

static void nothing(void *self, uint64_t now)
{
    (void)self;
    (void)now;
}

static struct wait waits(void *self)
{
    const struct spill *const p = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
    if (!p->waiting && !p->reads_count) return w;
    w.reason = WAIT_REPLY;
    (void)snprintf(w.detail, sizeof w.detail, "%u operations for system memory, %u reads there", p->waiting,
                   p->reads_count);
    return w;
}

/* ---- building ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void new_pages(struct spill *p, struct arena *a)
{
    p->frames = (uint32_t)(((uint64_t)1 << p->wire.map->bits) >> p->wire.map->page_bits);
    p->touched_end = p->frames;
    p->pages = ARENA_ARRAY(a, struct spill_page, 2 * (size_t)p->frames);
    for (uint32_t k = p->frames; k < 2 * p->frames; k++) p->pages[k].state = OUT;
}

struct spill *spill_new(struct arena *a, const struct config *c, const struct spill_wiring *w,
                        const char *name)
{
    if (!config_spills(c)) return NULL;
    struct spill *const p = ARENA_NEW(a, struct spill);
    const uint64_t divisor = common_divisor(c->spill.bandwidth, w->ticks_per_second);
    *p = (struct spill){.wire = *w,
                        .arena = a,
                        .header_bytes = c->spill.header_bytes,
                        .column_bytes = (uint32_t)c->dram.column_size,
                        .latency_ticks = config_cycles_in(c->spill.latency, w->ticks_per_second),
                        .byte_units = w->ticks_per_second / divisor,
                        .tick_units = c->spill.bandwidth / divisor,
                        .asked_cyc = ENGINE_NEVER,
                        .page_bytes = c->map.page_size,
                        .move_cost_cyc = (uint32_t)config_cycles_in(c->runtime.move_cost, c->clock.llc)};
    p->slices = ARENA_ARRAY(a, struct slice_spill, w->slice_count);
    uint32_t reads = 1;
    while (reads < w->slice_count * c->llc.mshrs * LINE_SECTORS) reads *= 2;
    p->reads = ARENA_ARRAY(a, struct spill_read, reads);
    p->reads_mask = reads - 1;
    if (c->spill.policy == spill_policy_um) new_pages(p, a);
    p->component = engine_add(w->engine, (struct component_spec){.name = name,
                                                                 .self = p,
                                                                 .domain = w->domain,
                                                                 .wake = nothing,
                                                                 .receive = receive,
                                                                 .waits = waits});
    return p;
}

struct slice_spill *spill_join(struct spill *p, struct arena *a, struct slice *s, uint32_t ops)
{
    if (!p) return NULL;
    struct slice_spill *const r = &p->slices[p->joined++];
    struct memory_op *const ring = ARENA_ARRAY(a, struct memory_op, ops);
    ring->ready_tick = ENGINE_NEVER;
    *r = (struct slice_spill){
        .link = p, .slice = s, .ops = {.front = ring, .ring = ring, .end = ring + ops, .count = 0}};
    return r;
}

void spill_free(struct spill *p)
{
    free(p->faults);
    free(p->moves);
}
