/* llc: see llc.h. */
#include "llc/llc.h"

#include <string.h>

#include "llc/llc_private.h"
#include "llc/organisation.h"

/* What happens once per request is compiled twice: for slices of any kind, and for plain ones (see
 * llc_private.h), where questions that have one answer there are not asked. */
#define SLICE_HOT inline __attribute__((always_inline))

/* ---- small parts ---- */

static inline uint32_t set_in(const struct slice_spec *p, uint64_t line)
{
    uint64_t idx = line >> p->runs[0].right & p->runs[0].mask; /* it goes to bit 0 */
    for (uint32_t k = 1; k < p->run_count; k++)
        idx |= (line >> p->runs[k].right & p->runs[k].mask) << p->runs[k].left;
    return p->hashed ? tags_set_hashed(idx, p->sets) : (uint32_t)(idx % p->sets);
}

static inline uint32_t set_of(const struct slice *s, uint64_t line) { return set_in(s->spec, line); }

uint32_t slice_set_of(const struct slice_spec *p, uint64_t line) { return set_in(p, line); }

uint32_t slice_home(const struct slice_spec *p, uint64_t line)
{
    const struct dram_place place = dram_map_place(p->map, line << LINE_LOG2);
    return place.channel * p->slices_per_channel + place.slice;
}

static inline uint32_t byte_count(const uint64_t bytes[2])
{
    return (uint32_t)(__builtin_popcountll(bytes[0]) + __builtin_popcountll(bytes[1]));
}

/* ---- towards memory ---- */

void slice_columns(const struct slice_spec *p, uint8_t sectors, uint8_t *first, uint8_t *count)
{
    *first = p->columns_of[sectors].first;
    *count = p->columns_of[sectors].count;
}

uint32_t slice_memory_op_bytes(const struct slice_spec *p, const struct memory_op *op)
{
    return p->header_bytes + (op->tag_line == TAGS_NONE ? op->column_count * p->column_bytes : 0);
}

static inline uint32_t stack_cycles(const struct slice_spec *p, uint32_t bytes)
{
    return (bytes + p->stack_width - 1) / p->stack_width;
}

static SLICE_HOT void push_op(struct slice *s, struct memory_op op, bool plain)
{
    const struct slice_spec *p = s->spec;
    const uint32_t lane =
        !plain && p->lanes > 1 ? dram_map_place(p->map, op.line << LINE_LOG2).channel % p->lanes : 0;
    struct lane *l = &s->lanes[lane];
    if (!plain && p->stack_width) { /* one after the other into the crossbar */
        if (op.ready_tick < s->out_free_tick) op.ready_tick = s->out_free_tick;
        s->out_free_tick =
            op.ready_tick + stack_cycles(p, slice_memory_op_bytes(p, &op)) * p->ticks_per_cycle;
    }
    uint32_t tail = l->ops.head + l->ops.count;
    if (tail >= s->ops_capacity) tail -= s->ops_capacity;
    DIAG_ASSERT(l->ops.count < s->ops_capacity);
    l->ops.ring[tail] = op;
    s->ops_count++;
    if (l->ops.count++) return; /* the channel waits for the one in front, or is full */
    s->wire.pending[lane] |= (uint64_t)1 << s->wire.pending_bit;
    s->wire.memory_comes(s->wire.channels[lane], op.ready_tick);
}

void slice_push_op(struct slice *s, struct memory_op op) { push_op(s, op, false); }

static SLICE_HOT void read_memory(struct slice *s, uint64_t now, uint64_t line, uint32_t tag_line,
                                  uint8_t sectors, bool plain)
{
    struct memory_op op = {.line = FAULT_FIRES(memory_wrong_line) ? line ^ 1 : line,
                           .tag_line = tag_line,
                           .ready_tick = (now + s->spec->miss_latency_cyc) * s->spec->ticks_per_cycle};
    slice_columns(s->spec, sectors, &op.first_column, &op.column_count);
    s->lines[tag_line].asked |= slice_sectors(s->spec, op.first_column, op.column_count);
    s->stats.memory_reads++;
    s->stats.memory_read_columns += op.column_count;
    push_op(s, op, plain);
}

void slice_write_back(struct slice *s, uint64_t now, uint32_t tag_line)
{
    uint64_t *const dirty = s->lines[tag_line].dirty;
    uint8_t sectors = 0;
    for (uint32_t k = 0; k < LINE_SECTORS; k++)
        if ((uint32_t)(dirty[k / 2] >> (k % 2 * 32))) sectors |= (uint8_t)(1u << k);
    struct memory_op op = {.line = tags_key(&s->tags, tag_line),
                           .tag_line = TAGS_NONE,
                           .ready_tick = (now + 1) * s->spec->ticks_per_cycle};
    slice_columns(s->spec, sectors, &op.first_column, &op.column_count);
    (void)use_port(s, now, port_cycles(s, byte_count(dirty)));
    if (s->copies) check_write_back(s->copies, tag_line, dirty);
    dirty[0] = dirty[1] = 0;
    s->stats.memory_writes++;
    s->stats.memory_write_columns += op.column_count;
    slice_push_op(s, op);
}

const struct lane_ops *slice_lane_ops(const struct slice *s, uint32_t lane) { return &s->lanes[lane].ops; }

/* The lane whose first fill is ready first, at equal times the lower one; NULL: nothing is under way. */
static SLICE_HOT struct lane *first_lane(const struct slice *s, bool plain)
{
    struct lane *first = NULL;
    if (!s->fills_count) return NULL;
    if (plain || s->spec->lanes == 1) return s->lanes;
    for (struct lane *l = s->lanes; l < s->lanes + s->spec->lanes; l++) {
        if (!l->fills_count) continue;
        if (!first || l->fills[l->fills_head].ready_cyc < first->fills[first->fills_head].ready_cyc)
            first = l;
    }
    return first;
}

/* When the next fill comes; ENGINE_NEVER: none is under way. */
static SLICE_HOT uint64_t fill_due(const struct slice *s, bool plain)
{
    const struct lane *l = first_lane(s, plain);
    if (!l) return ENGINE_NEVER;
    const uint64_t ready = l->fills[l->fills_head].ready_cyc;
    return plain || ready > s->in_free_cyc ? ready : s->in_free_cyc;
}

/* True: the first of its lane. For another one the slice need not be woken: it waits for the first. */
static inline bool push_fill(struct slice *s, uint32_t lane, struct fill f)
{
    struct lane *l = &s->lanes[lane];
    uint32_t tail = l->fills_head + l->fills_count;
    if (tail >= s->fills_capacity) tail -= s->fills_capacity;
    DIAG_ASSERT(l->fills_count < s->fills_capacity);
    l->fills[tail] = f;
    s->fills_count++;
    l->fills_count++;
    if (s->far) own_due(s, fill_due(s, false));
    return l->fills_count == 1;
}

void slice_memory_accepted(struct slice *s, uint32_t lane, uint64_t tick)
{
    struct lane *l = &s->lanes[lane];
    const struct memory_op *op = &l->ops.ring[l->ops.head];
    if (op->writers_count) { /* where there are such, channels are never late */
        for (uint32_t k = 0, idx = op->writers_first; s->copies && k < op->writers_count; k++) {
            check_memory_store(s->copies, idx);
            idx = at(s, idx)->next;
        }
        const uint64_t next = engine_now(s->wire.engine, s->wire.domain) + 1;
        (void)push_fill(s, lane,
                        (struct fill){.ready_cyc = next,
                                      .writers_first = op->writers_first,
                                      .writers_count = op->writers_count});
        engine_wake(s->wire.engine, s->component, next);
    }
    if (op->move) s->wire.page_line_done(s->wire.pager, op->move - 1);
    if (++l->ops.head == s->ops_capacity) l->ops.head = 0;
    if (!--l->ops.count) s->wire.pending[lane] &= ~((uint64_t)1 << s->wire.pending_bit);
    __builtin_prefetch(&l->ops.ring[l->ops.head]);
    s->ops_count--;
    if (!s->waits_for_memory && !s->flush_done) return;
    const uint64_t next = engine_cycles(s->wire.engine, s->wire.domain, tick) + 1;
    if (next > engine_now(s->wire.engine, s->wire.domain)) engine_wake(s->wire.engine, s->component, next);
}

void slice_push_fill(struct slice *s, uint32_t tag_line, uint8_t sectors, uint64_t ready_cyc)
{
    (void)push_fill(s, 0, (struct fill){.ready_cyc = ready_cyc, .tag_line = tag_line, .sectors = sectors});
}

/* Into the host's caches, long before the fill is taken: its line, and who waits for the one before it. */
static inline void fetch_for_last(const struct slice *s, const struct lane *l)
{
    uint32_t last = l->fills_head + l->fills_count - 1;
    if (last >= s->fills_capacity) last -= s->fills_capacity;
    __builtin_prefetch(&s->lines[l->fills[last].tag_line], 1);
    if (l->fills_count < 2) return;
    const struct fill *const before = &l->fills[last ? last - 1 : s->fills_capacity - 1];
    if (!before->writers_count) __builtin_prefetch(at(s, s->lines[before->tag_line].waiting.first), 1);
}

void slice_memory_done(struct slice *s, uint32_t lane, uint32_t tag_line, uint8_t sectors,
                       uint64_t accept_tick, uint64_t tick)
{
    const struct engine *const e = s->wire.engine;
    const uint32_t domain = s->wire.domain;
    /* The fill's own time is waited for here: then line and reply are one visit. */
    const uint64_t ready = engine_cycles(e, domain, tick + s->spec->ticks_per_cycle - 1) +
                           s->spec->memory_latency_cyc + s->spec->fill_latency_cyc;
    const bool first =
        push_fill(s, lane, (struct fill){.ready_cyc = ready, .tag_line = tag_line, .sectors = sectors});
    fetch_for_last(s, &s->lanes[lane]);
    STATS_COUNT(s->stats.memory_latency, engine_cycles(e, domain, tick - accept_tick));
    if (first) engine_wake(s->wire.engine, s->component, ready);
}

/* ---- lines ---- */

static void count_use(struct slice *s, const struct request *r)
{
    const uint32_t line = tags_find(&s->tags, set_of(s, r->home.line), r->home.line);
    if (line == TAGS_NONE || r->kind == REQUEST_WALK) return;
    s->line_requests[line]++;
    s->line_partitions[line] |= (uint64_t)1 << r->sm / s->wire.sms_per_partition % 64;
}

static void count_line(struct slice *s, uint32_t line)
{
    if (!s->line_requests[line]) return;
    STATS_COUNT(s->stats.requests_per_line, s->line_requests[line]);
    STATS_COUNT(s->stats.partitions_per_line, (uint64_t)__builtin_popcountll(s->line_partitions[line]));
    s->line_requests[line] = 0;
    s->line_partitions[line] = 0;
}

void slice_count_lines(struct slice *s)
{
    for (uint32_t line = 0; s->line_requests && line < tags_lines(&s->tags); line++) count_line(s, line);
}

/* ---- replies ---- */

/* The request leaves the slice at ready, through one of two queues. */
static SLICE_HOT void answer(struct slice *s, uint32_t idx, bool is_hit, uint64_t ready, bool plain)
{
    struct request *r = at(s, idx);
    if (!plain && s->far && ready < s->far->hold_cyc && request_writes(r)) ready = s->far->hold_cyc;
    if (!plain && (r->kind == REQUEST_WALK || (s->far && r->via))) {
        r->ready_cyc = ready;
        append(s, r->kind == REQUEST_WALK ? &s->walked : is_hit ? &s->far->hits : &s->far->filled, idx);
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

uint32_t slice_service_cycles(const struct slice *s, const struct request *r)
{
    if (r->kind == REQUEST_READ) return s->spec->read_cyc[r->sectors & SECTORS_ALL];
    const uint32_t once = port_cycles(s, r->kind == REQUEST_WALK ? 8 : byte_count(r->bytes));
    if (r->kind != REQUEST_ATOMIC && r->kind != REQUEST_REDUCTION) return once ? once : 1;
    return 2 * once + lanes_in_turn(s, r); /* read, change, write */
}

/* Books the data port; returns from when on the latency of a hit counts. An atomic is not answered before its
 * last lane. */
static inline uint64_t serve_at_port(struct slice *s, uint64_t now, const struct request *r)
{
    const uint64_t start = use_port(s, now, slice_service_cycles(s, r));
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
    leaves(s, r, now);
    s->stats.replies++;
}

/* Answers to walkers, a few in flight at most; those of hits and of fills may have changed places. */
static void answer_walkers(struct slice *s, uint64_t now)
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
        leaves(s, r, now);
        pool_give(s->wire.requests, idx);
        s->stats.walk_replies++;
        if (!FAULT_FIRES(walk_lost)) s->wire.walk_done(s->wire.walkers[gpu], owner, now + 1);
        s->stats.replies++;
    }
}

/* When the next one is due. */
static uint64_t walker_due(const struct slice *s)
{
    uint64_t due = ENGINE_NEVER;
    uint32_t idx = s->walked.first;
    for (uint32_t k = 0; k < s->walked.count; k++, idx = at(s, idx)->next)
        if (at(s, idx)->ready_cyc < due) due = at(s, idx)->ready_cyc;
    return due;
}

/* ---- fills ---- */

/* --check: copies of lines that live here, and of others. */
static inline struct check_place *copies_of(const struct slice *s, uint32_t line)
{
    return far_holds(s, line) ? s->far->copies : s->copies;
}

/* An atomic or write changes the line. */
void slice_write_line(struct slice *s, uint64_t now, uint32_t line, uint32_t idx)
{
    const struct request *r = at(s, idx);
    if (r->kind != REQUEST_WRITE && FAULT_FIRES(llc_atomic_clean)) return;
    if (!s->write_through) {
        if (s->far && s->far->sharers) coherent_write(s, now, line, r);
        s->lines[line].dirty[0] |= FAULT_FIRES(llc_dirty_mask) ? r->bytes[0] & ~(uint64_t)15 : r->bytes[0];
        s->lines[line].dirty[1] |= r->bytes[1];
    }
    if (s->copies) check_copy_store(s->copies, line, idx, now);
}

/* A request finds what it needs in the line. */
static SLICE_HOT void use_line(struct slice *s, uint64_t now, uint32_t line, uint32_t idx, bool plain)
{
    const struct request *r = at(s, idx);
    if (!plain && s->copies && r->kind != REQUEST_WALK)
        check_copy_read(copies_of(s, line), line, idx, r->sectors, now);
    if (request_writes(r)) slice_write_line(s, now, line, idx);
}

/* Requests that waited for the line and have all they need go on; others stay. Their flags. */
static SLICE_HOT uint8_t serve_waiting(struct slice *s, uint64_t now, uint32_t line, struct slice_line *m,
                                       bool plain)
{
    uint8_t flags = 0;
    struct request_list rest = {0}, writers = {0};
    uint64_t written[2] = {0};
    const uint8_t have = readable(s, line);
    while (m->waiting.count) {
        const uint32_t idx = take_first(s, &m->waiting);
        const struct request *r = at(s, idx);
        if (r->sectors & ~have) {
            append(s, &rest, idx);
            continue;
        }
        use_line(s, now, line, idx, plain);
        flags |= r->flags;
        const uint64_t start = serve_at_port(s, now, r);
        if (!plain && s->write_through && request_writes(r)) {
            written[0] |= r->bytes[0];
            written[1] |= r->bytes[1];
            append(s, &writers, idx);
        } else {
            answer(s, idx, false, start, plain);
        }
    }
    m->waiting = rest;
    if (!plain && writers.count) slice_write_on(s, now, tags_key(&s->tags, line), written, writers);
    return flags;
}

/* Memory has accepted them. */
static void answer_writers(struct slice *s, uint64_t now, const struct fill *f)
{
    struct request_list writers = {.first = f->writers_first, .count = f->writers_count};
    while (writers.count) {
        const uint32_t idx = take_first(s, &writers);
        answer(s, idx, false, use_port(s, now, 0), false);
    }
}

/* The line's data is here; or it must be read once more. */
static SLICE_HOT void take_line(struct slice *s, uint64_t now, const struct fill *f, bool plain)
{
    struct slice_line *m = &s->lines[f->tag_line];
    s->stats.fills += plain || !m->far;
    m->asked &= (uint8_t)~f->sectors;
    if (!plain && m->again) {
        m->redo |= f->sectors;
        if (m->asked) return;
        const uint8_t redo = m->redo;
        m->again = false;
        m->redo = 0;
        s->stats.read_again++;
        read_memory(s, now, tags_key(&s->tags, f->tag_line), f->tag_line, redo, plain);
        return;
    }
    s->lines[f->tag_line].valid |= f->sectors;
    if (!plain && s->copies && !m->far)
        check_memory_fill(s->copies, f->tag_line, f->sectors, s->lines[f->tag_line].dirty, now);
    const uint8_t flags = serve_waiting(s, now, f->tag_line, m, plain);
    if (m->waiting.count || m->asked) return;
    *tags_pins(&s->tags, f->tag_line) = 0;
    s->mshr_free_count++;
    if (!plain && m->far) far_filled(s, now, f->tag_line, m->overtaken);
    if (flags & REQUEST_TAKES) slice_drop_line(s, now, f->tag_line);
}

/* Into the host's caches: who waits for the next fill, and the line of the one after it. */
static inline void fetch_next(const struct slice *s, const struct lane *l)
{
    if (l->fills_count < 2) return;
    const uint32_t after = l->fills_head + 1 == s->fills_capacity ? 0 : l->fills_head + 1;
    const struct fill *const first = &l->fills[l->fills_head], *const second = &l->fills[after];
    if (!first->writers_count) __builtin_prefetch(at(s, s->lines[first->tag_line].waiting.first), 1);
    if (!second->writers_count) __builtin_prefetch(&s->lines[second->tag_line], 1);
}

static SLICE_HOT void take_fills(struct slice *s, uint64_t now, bool plain)
{
    for (struct lane *l; (l = first_lane(s, plain));) {
        const struct fill *const first = &l->fills[l->fills_head];
        if (first->ready_cyc > now || (!plain && s->in_free_cyc > now)) return;
        const struct fill f = *first;
        s->fill_came = true;
        if (++l->fills_head == s->fills_capacity) l->fills_head = 0;
        l->fills_count--;
        s->fills_count--;
        fetch_next(s, l);
        if (!plain && s->spec->stack_width)
            s->in_free_cyc =
                now + stack_cycles(s->spec, SECTOR_BYTES * (uint32_t)__builtin_popcount(f.sectors));
        if (!plain && f.writers_count)
            answer_writers(s, now, &f);
        else
            take_line(s, now, &f, plain);
    }
}

/* ---- tag stage ---- */

static SLICE_HOT void drop_line(struct slice *s, uint64_t now, uint32_t line, bool plain)
{
    s->lines[line].valid = 0;
    if (plain) return;
    if (s->line_requests) count_line(s, line);
    if (s->copies) check_copy_drop(copies_of(s, line), line, now);
    if (!s->far) return;
    if (s->far->sharers) coherent_evict(s, line);
    s->far->holds[line] = 0;
}

/* Frees a line of the set for another; TAGS_NONE and s->blocked set when it cannot be done now. */
static SLICE_HOT uint32_t make_room(struct slice *s, uint64_t now, uint32_t set, bool plain)
{
    const uint32_t line = tags_victim(&s->tags, set);
    if (line == TAGS_NONE) {
        s->blocked = &s->stats.wait_way;
        return line;
    }
    if (tags_used(&s->tags, line)) {
        s->stats.evictions++;
        if ((s->lines[line].dirty[0] | s->lines[line].dirty[1]) && !FAULT_FIRES(llc_loses_write_back))
            slice_write_back(s, now, line);
    }
    if (FAULT_FIRES(llc_loses_write_back)) s->lines[line].dirty[0] = s->lines[line].dirty[1] = 0;
    drop_line(s, now, line, plain);
    return line;
}

static SLICE_HOT void pin(struct slice *s, uint32_t line)
{
    struct slice_line *const l = &s->lines[line];
    s->mshr_free_count--;
    l->waiting = (struct request_list){0};
    l->asked = l->redo = 0;
    l->far = l->overtaken = l->again = false;
    *tags_pins(&s->tags, line) = 1;
    stats_peak(&s->stats.mshr_peak, s->spec->mshrs - s->mshr_free_count);
}

/* Waits for the missing sectors of a line that has a place; false when there is no room to wait. */
static SLICE_HOT bool wait_for(struct slice *s, uint64_t now, uint32_t idx, uint32_t line, bool plain)
{
    struct request *r = at(s, idx);
    if (*tags_pins(&s->tags, line)) {
        struct slice_line *m = &s->lines[line];
        const uint8_t missing = r->sectors & (uint8_t) ~(readable(s, line) | m->asked);
        if (m->waiting.count >= s->spec->mshr_merges) {
            s->blocked = &s->stats.wait_mshr;
            return false;
        }
        append(s, &m->waiting, idx);
        if (missing) read_memory(s, now, r->home.line, line, missing, plain);
        return true;
    }
    if (!s->mshr_free_count) {
        s->blocked = &s->stats.wait_mshr;
        return false;
    }
    pin(s, line);
    append(s, &s->lines[line].waiting, idx);
    read_memory(s, now, r->home.line, line,
                s->spec->sectored ? r->sectors & (uint8_t)~readable(s, line) : SECTORS_ALL, plain);
    return true;
}

static SLICE_HOT void hit(struct slice *s, uint64_t now, uint32_t line, uint32_t idx, bool plain)
{
    struct request *r = at(s, idx);
    use_line(s, now, line, idx, plain);
    tags_touch(&s->tags, line);
    r->hit = 1;
    s->stats.read_hits += r->kind == REQUEST_READ;
    const uint64_t start = serve_at_port(s, now, r);
    if (!plain && s->write_through && request_writes(r))
        slice_write_on(s, now, r->home.line, r->bytes, (struct request_list){idx, idx, 1});
    else
        answer(s, idx, true, start + s->spec->latency_cyc, plain);
}

void slice_hit(struct slice *s, uint64_t now, uint32_t line, uint32_t idx) { hit(s, now, line, idx, false); }

static SLICE_HOT bool serve_read(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line,
                                 bool plain)
{
    struct request *r = at(s, idx);
    const bool atomic = r->kind == REQUEST_ATOMIC || r->kind == REQUEST_REDUCTION;
    if (line != TAGS_NONE && (!(r->sectors & ~readable(s, line)) || FAULT_FIRES(llc_early_reply))) {
        hit(s, now, line, idx, plain);
        return true;
    }
    const bool merged = line != TAGS_NONE && *tags_pins(&s->tags, line);
    if (line == TAGS_NONE) {
        if (!s->mshr_free_count) {
            s->blocked = &s->stats.wait_mshr;
            return false;
        }
        line = make_room(s, now, set, plain);
        if (line == TAGS_NONE) return false;
        tags_fill(&s->tags, line, r->home.line);
    }
    if (!wait_for(s, now, idx, line, plain)) return false;
    tags_touch(&s->tags, line);
    if (r->kind == REQUEST_READ) *(merged ? &s->stats.read_merged : &s->stats.read_misses) += 1;
    if (!plain && r->kind == REQUEST_READ && s->apps && !merged) app_of(s, r)->llc_read_misses++;
    s->stats.atomic_misses += atomic;
    return true;
}

static SLICE_HOT bool serve_write(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line,
                                  bool plain)
{
    const struct request *r = at(s, idx);
    if (!plain && s->write_through) return slice_write_through(s, now, idx, set, line);
    s->stats.write_hits += line != TAGS_NONE;
    if (line == TAGS_NONE) {
        line = make_room(s, now, set, plain);
        if (line == TAGS_NONE) return false;
        tags_fill(&s->tags, line, r->home.line);
    }
    tags_touch(&s->tags, line);
    if (!FAULT_FIRES(store_lost)) slice_write_line(s, now, line, idx);
    if (FAULT_FIRES(store_unacknowledged)) return true;
    answer(s, idx, true, use_port(s, now, slice_service_cycles(s, r)) + s->spec->latency_cyc, plain);
    return true;
}

/* May the tag stage serve anything now? */
static SLICE_HOT bool tag_may_run(struct slice *s, uint64_t now, const struct request_list *hits)
{
    const struct slice_spec *p = s->spec;
    s->blocked = NULL;
    if (s->port_free_cyc > now + p->data_queue_cyc) s->blocked = &s->stats.wait_port;
    if (!slice_may_reply(p, hits)) s->blocked = &s->stats.wait_reply;
    if (!slice_memory_has_room(s)) s->blocked = &s->stats.wait_memory;
    return !s->blocked;
}

static SLICE_HOT void count_request(struct slice *s, const struct request *r, bool plain)
{
    s->stats.requests++;
    s->stats.tag_cycles++;
    switch ((enum request_kind)r->kind) {
    case REQUEST_READ: s->stats.reads++; break;
    case REQUEST_WRITE: s->stats.writes++; break;
    case REQUEST_ATOMIC:
    case REQUEST_REDUCTION: s->stats.atomics++; break;
    case REQUEST_WALK: s->stats.walks++; return;
    case REQUEST_KINDS: break;
    }
    if (!r->via && r->kind == REQUEST_READ && r->home.slice == s->wire.slice_idx)
        *(!plain && s->far && !s->far->sharers ? &s->stats.home_reads : &s->stats.crossing_reads) += 1;
    if (r->sm - s->wire.partition * s->wire.sms_per_partition < s->wire.sms_per_partition)
        s->stats.local++;
    else
        s->stats.remote++;
}

/* What stopped the request in front has not changed: no need to look again. */
static inline bool still_blocked(const struct slice *s)
{
    return (s->blocked == &s->stats.wait_mshr || s->blocked == &s->stats.wait_way) && !s->fill_came;
}

static void count_app(struct slice *s, const struct request *r)
{
    struct app_stats *a = app_of(s, r);
    if (r->kind == REQUEST_WALK) return;
    a->llc_requests++;
    a->llc_reads += r->kind == REQUEST_READ;
    a->llc_read_hits += r->kind == REQUEST_READ && r->hit;
}

void slice_count_apps(struct slice *s, struct app_stats *first, size_t stride)
{
    s->plain = false;
    s->apps = (char *)first;
    s->app_stride = stride;
}

/* A request has passed the tag stage. */
static SLICE_HOT void served(struct slice *s, struct request *r, uint64_t now, bool plain)
{
    count_request(s, r, plain);
    if (!plain && s->apps) count_app(s, r);
    enters(s, r, now);
    if (!plain && s->line_requests) count_use(s, r);
}

/* The line's page moves: memory has all of it before it is read there. */
static void give_up(struct slice *s, uint64_t now, uint32_t line)
{
    DIAG_ASSERT(!*tags_pins(&s->tags, line));
    if ((s->lines[line].dirty[0] | s->lines[line].dirty[1]) && !FAULT_FIRES(move_loses_dirty))
        slice_write_back(s, now, line);
    s->lines[line].dirty[0] = s->lines[line].dirty[1] = 0;
    slice_drop_line(s, now, line);
}

static SLICE_HOT bool serve(struct slice *s, uint64_t now, uint32_t idx, bool plain)
{
    struct request *r = at(s, idx);
    const uint32_t set = set_of(s, r->home.line);
    uint32_t line = tags_find(&s->tags, set, r->home.line);
    if (line != TAGS_NONE && tags_used(&s->tags, line ^ 1) && FAULT_FIRES(llc_wrong_hit)) line ^= 1;
    if (!plain && line != TAGS_NONE && r->flags & REQUEST_TAKES) {
        give_up(s, now, line);
        line = TAGS_NONE;
    }
    if (!plain && s->far && r->home.slice != s->wire.slice_idx) {
        if (!far_serve(s, now, idx, set, line)) return false;
    } else if (!(r->kind == REQUEST_WRITE ? serve_write(s, now, idx, set, line, plain)
                                          : serve_read(s, now, idx, set, line, plain))) {
        return false;
    }
    served(s, r, now, plain);
    return true;
}

bool slice_serve_home(struct slice *s, uint64_t now, uint32_t idx, const struct request_list *hits)
{
    return tag_may_run(s, now, hits) && serve(s, now, idx, false);
}

/* The request of an SM that is next. */
static SLICE_HOT uint32_t port_front(const struct slice *s, uint64_t now, bool plain)
{
    if (plain || !s->far || !s->wire.near_only)
        return fabric_front_at(s->front, fabric_net_now(&s->wire.fabric->request, now));
    return s->far->local.count ? s->far->local.first : REQUEST_NONE;
}

/* Serves one of these two, in turn. */
static SLICE_HOT bool serve_next(struct slice *s, uint64_t now, uint32_t walk, uint32_t packet, bool plain)
{
    const bool from_walker = walk != REQUEST_NONE && (s->walk_turn || packet == REQUEST_NONE);
    const uint32_t idx = from_walker ? walk : packet;
    if (still_blocked(s) || !tag_may_run(s, now, &s->hits)) return false;
    s->fill_came = false;
    const uint64_t misses = s->stats.read_misses;
    struct request_list *const list = from_walker                   ? &s->walks
                                      : !plain && s->wire.near_only ? &s->far->local
                                                                    : NULL;
    if (list) (void)take_first(s, list);
    if (!serve(s, now, idx, plain)) {
        if (list) put_back(s, list, idx);
        return false;
    }
    s->walk_turn = !from_walker;
    if (!list) fabric_take(&s->wire.fabric->request, now, s->wire.slice_idx);
    if (from_walker) return true;
    if (!plain && s->wire.tap.see)
        s->wire.tap.see(s->wire.tap.self, at(s, idx), s->wire.slice_idx, s->stats.read_misses != misses, now);
    s->more = port_front(s, now, plain) != REQUEST_NONE;
    return true;
}

/* Serves a request from the network or from a walker, if there is one. */
static SLICE_HOT bool tag_stage(struct slice *s, uint64_t now, bool plain)
{
    const uint32_t packet = port_front(s, now, plain);
    const uint32_t walk =
        !plain && s->walks.count && at(s, s->walks.first)->ready_cyc <= now ? s->walks.first : REQUEST_NONE;
    s->more = packet != REQUEST_NONE;
    if (packet != REQUEST_NONE || walk != REQUEST_NONE) return serve_next(s, now, walk, packet, plain);
    s->blocked = NULL;
    return false;
}

/* The same for a request of another slice. */
static inline bool far_tag_stage(struct slice *s, uint64_t now)
{
    const uint32_t idx = far_request_at(s, now);
    if (idx != REQUEST_NONE) return far_serve_next(s, now, idx);
    s->far->blocked = NULL;
    return false;
}

/* One request per cycle: of SMs and walkers, or of other slices, in turn. */
static SLICE_HOT void tag_stages(struct slice *s, uint64_t now, bool plain)
{
    struct far *f = s->far;
    if (plain || !f) {
        (void)tag_stage(s, now, plain);
    } else if (f->turn && far_tag_stage(s, now)) {
        f->turn = false;
        s->more = port_front(s, now, false) != REQUEST_NONE;
    } else if (tag_stage(s, now, false)) {
        f->turn = true;
    } else if (!f->turn) {
        (void)far_tag_stage(s, now);
    }
}

/* ---- visits ---- */

static inline uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Will the request in front find every MSHR taken in the next cycle? Then the stop can be noted now, and the
 * next visit is that of the next fill. Only for what is plain to see. */
static inline bool stops_next(const struct slice *s, uint64_t now)
{
    if (s->mshr_free_count || s->walks.count || s->flush_done || s->far) return false;
    if (s->reply_refused) return false; /* every visit is an offer that the network counts */
    const struct request *r = at(s, port_front(s, now, true));
    if (r->kind == REQUEST_WRITE || r->flags & REQUEST_TAKES) return false;
    if (s->port_free_cyc > now + 1 + s->spec->data_queue_cyc || !slice_may_reply(s->spec, &s->hits) ||
        !slice_memory_has_room(s))
        return false;
    return tags_find(&s->tags, set_of(s, r->home.line), r->home.line) == TAGS_NONE;
}

/* When the stages before the reply port have something to do that nobody will wake the slice for. */
static SLICE_HOT uint64_t own_next_visit(struct slice *s, uint64_t now, bool plain)
{
    uint64_t next = s->fills_count ? fill_due(s, plain) : ENGINE_NEVER;
    if (!plain && s->walked.count) next = earlier(next, walker_due(s));
    if (s->more || (!plain && s->walks.count && at(s, s->walks.first)->ready_cyc <= now)) {
        if (s->blocked == &s->stats.wait_port) {
            next = earlier(next, s->port_free_cyc - s->spec->data_queue_cyc);
        } else if (!s->blocked && next > now + 1 && stops_next(s, now)) {
            s->blocked = &s->stats.wait_mshr;
            s->blocked_cyc = now + 1;
        } else if (!s->blocked ||
                   (s->blocked == &s->stats.wait_reply && slice_may_reply(s->spec, &s->hits))) {
            next = now + 1;
        }
    } else if (!plain && s->walks.count) {
        next = earlier(next, at(s, s->walks.first)->ready_cyc);
    }
    if (plain) return next;
    if (s->flush_done && s->flush_cyc > now)
        next = earlier(next, s->flush_cyc);
    else if (s->flush_done && s->flush_cursor < tags_lines(&s->tags) &&
             !*tags_pins(&s->tags, s->flush_cursor) && slice_memory_has_room(s))
        next = now + 1;
    return next;
}

/* Operations that a channel accepts late are still counted here. Long before that stops the tag stage, and
 * while a flush waits for them, the channels have to be in time. */
static void hurry(struct slice *s, bool on)
{
    const uint64_t bit = (uint64_t)1 << s->wire.pending_bit;
    s->hurries = on;
    for (uint32_t lane = 0; lane < s->spec->lanes; lane++) {
        s->wire.hurry[lane] = on ? s->wire.hurry[lane] | bit : s->wire.hurry[lane] & ~bit;
        if (on) s->wire.memory_settle(s->wire.channels[lane]);
    }
}

void slice_mind_memory(struct slice *s)
{
    if (!s->wire.memory_settle) return;
    if (s->flush_done || s->ops_count > s->ops_easy || !s->ops_easy)
        hurry(s, true);
    else if (s->hurries)
        hurry(s, false);
}

/* What the slice does by itself, up to the reply port. */
static SLICE_HOT void own_stages(struct slice *s, uint64_t now, bool plain)
{
    if (s->blocked) *s->blocked += now - s->blocked_cyc;
    if (s->ops_count > s->ops_easy || s->hurries) slice_mind_memory(s);
    if (s->fills_count) take_fills(s, now, plain);
    if (!plain && s->flush_done) slice_flush_step(s, now);
    tag_stages(s, now, plain);
    if (!plain && s->walked.count) answer_walkers(s, now);
    s->blocked_cyc = now;
    s->waits_for_memory =
        s->blocked == &s->stats.wait_memory || (!plain && s->far && s->far->blocked == &s->stats.wait_memory);
}

/* Replies to SMs; returns when there are more. */
static inline uint64_t reply_stage(struct slice *s, uint64_t now)
{
    if (!(s->hits.count | s->filled.count)) return ENGINE_NEVER;
    send_reply(s, now);
    return s->reply_refused ? ENGINE_NEVER : earlier(s->hits_cyc, s->filled_cyc);
}

static inline void visit_again(struct slice *s, uint64_t now, uint64_t next)
{
    if (next <= now) next = now + 1;
    if (next != ENGINE_NEVER) engine_wake(s->wire.engine, s->component, next);
    if (s->wire.fabric->clocks_differ)
        fabric_sleep_slice(s->wire.fabric, now, s->wire.slice_idx, s->reply_refused);
}

/* Lines of its own only. */
static __attribute__((noinline)) void wake(void *self, uint64_t now)
{
    struct slice *s = self;
    own_stages(s, now, false);
    const uint64_t next = reply_stage(s, now);
    visit_again(s, now, earlier(next, own_next_visit(s, now, false)));
}

/* The same without what most slices do not have. */
static void wake_plain(void *self, uint64_t now)
{
    struct slice *s = self;
    if (!s->plain || s->walkers || s->flush_done) {
        wake(self, now);
        return;
    }
    own_stages(s, now, true);
    const uint64_t next = reply_stage(s, now);
    visit_again(s, now, earlier(next, own_next_visit(s, now, true)));
}

/* Requests and replies to other slices; returns when there are more. */
static inline uint64_t far_send(struct slice *s, uint64_t now)
{
    struct far *f = s->far;
    const struct fabric *fabric = s->wire.fabric;
    const uint32_t here = s->wire.slice_idx;
    uint64_t next = ENGINE_NEVER;
    if (f->pages.count) far_send_page_line(s, now);
    if (f->past.count | f->out.count) {
        struct request_list *const out = reply_ready(s, &f->past, &f->out, now);
        if (!out || (!fabric_refuses(&fabric->far_request, now, here) && far_send_request(s, now, out)))
            next = ready_first(s, &f->past, &f->out);
    }
    if (f->hits.count | f->filled.count) {
        struct request_list *const way = reply_ready(s, &f->hits, &f->filled, now);
        if (!way || (!fabric_refuses(&fabric->far_reply, now, here) && far_send_reply(s, now, way)))
            next = earlier(next, ready_first(s, &f->hits, &f->filled));
    }
    if (f->pages.count && f->out.count < s->spec->forward_queue) next = now + 1;
    return next;
}

/* A request of another slice that is still there: when the tag stage may take it. */
static uint64_t far_request_due(const struct slice *s, uint64_t now)
{
    const uint64_t *const blocked = s->far->blocked;
    if (blocked == &s->stats.wait_port) return s->port_free_cyc - s->spec->data_queue_cyc;
    const bool may = !blocked || (blocked == &s->stats.wait_reply && slice_may_reply(s->spec, &s->far->hits));
    return may ? now + 1 : ENGINE_NEVER;
}

/* Of others too. What only goes past gives the slice's own stages nothing to do: they are left out until
 * something is for them or due, or waits for what a visit may see (s->watchful). */
static void wake_far(void *self, uint64_t now)
{
    struct slice *s = self;
    struct far *f = s->far;
    const uint64_t net_now = fabric_net_now(&s->wire.fabric->request, now);
    uint64_t next = ENGINE_NEVER;
    if (net_front_shows(f->answers, net_now)) {
        far_receive(s, now);
        if (net_front_shows(f->answers, net_now)) next = now + 1;
    }
    const bool near = net_front_shows(f->near, net_now), asked = net_front_shows(f->asked, net_now);
    if (near && s->wire.near_only) near_accept(s, now);
    const bool own = asked || s->own_cyc <= now || s->watchful || (s->wire.near_only ? f->local.count : near);
    if (own) own_stages(s, now, false);
    next = earlier(next, reply_stage(s, now));
    if (own) {
        s->own_cyc = own_next_visit(s, now, false);
        s->watchful = s->blocked || f->blocked || s->flush_done || s->walks.count;
    }
    next = earlier(earlier(next, s->own_cyc), far_send(s, now));
    if (s->watchful && s->blocked == &s->stats.wait_forward && f->out.count < s->spec->forward_queue)
        next = now + 1;
    if (asked && net_front_shows(f->asked, net_now)) next = earlier(next, far_request_due(s, now));
    if (near && s->wire.near_only) next = earlier(next, near_next_visit(s, now));
    visit_again(s, now, next);
}

void slice_walk(struct slice *s, uint32_t request, uint64_t ready_cyc)
{
    at(s, request)->ready_cyc = ready_cyc;
    append(s, &s->walks, request);
    s->walkers++;
    s->watchful = true;
    if (s->blocked &&
        s->blocked_cyc > engine_now(s->wire.engine, s->wire.domain)) { /* foreseen: look again */
        s->blocked = NULL;
        engine_wake(s->wire.engine, s->component, s->blocked_cyc);
    }
    engine_wake(s->wire.engine, s->component, ready_cyc);
}

/* ---- building and reports ---- */

uint64_t slice_waiting(const struct slice *s)
{
    uint64_t count = (uint64_t)s->hits.count + s->filled.count + s->walked.count + far_waiting(s);
    for (uint32_t line = 0; line < tags_lines(&s->tags); line++)
        if (*tags_pins(&s->tags, line)) count += s->lines[line].waiting.count;
    return count;
}

uint32_t slice_lines_used(const struct slice *s)
{
    uint32_t used = 0;
    for (uint32_t line = 0; line < tags_lines(&s->tags); line++) used += tags_used(&s->tags, line);
    return used;
}

static struct wait waits(void *self)
{
    const struct slice *s = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NOBODY};
    const uint64_t waiting = slice_waiting(s);
    if (s->reply_refused) {
        w.reason = WAIT_QUEUE_FULL;
        w.on = s->wire.fabric->reply.component;
        (void)snprintf(w.detail, sizeof w.detail, "a reply that the network does not take; %u more",
                       s->hits.count + s->filled.count - 1);
    } else if (waiting || s->ops_count) {
        w.reason = WAIT_REPLY;
        w.on = s->wire.channel_component;
        (void)snprintf(w.detail, sizeof w.detail, "%llu requests inside, %u for the memory channel",
                       (unsigned long long)waiting, s->ops_count);
    }
    return w;
}

struct slice *slice_new(struct arena *a, const struct slice_spec *spec, const struct slice_wiring *wiring,
                        const char *name)
{
    struct slice *s = ARENA_NEW(a, struct slice);
    s->spec = spec;
    s->wire = *wiring;
    tags_init(&s->tags, a, spec->sets, spec->ways, spec->replacement, spec->seed + wiring->slice_idx);
    const uint32_t lines = tags_lines(&s->tags);
    s->lines = ARENA_ARRAY(a, struct slice_line, lines);
    s->mshr_free_count = spec->mshrs;
    s->hits_cyc = s->filled_cyc = ENGINE_NEVER;
    s->requests = request_at(wiring->requests, 0);
    const uint32_t room = spec->memory_queue + spec->mshrs;
    s->ops_easy = room > 2 * SLICE_HURRY ? room - SLICE_HURRY : 0;
    s->ops_capacity = spec->memory_queue + spec->mshrs + 4 + spec->page_lines;
    if (spec->may_write_through) /* what fills write on or read again comes on top */
        s->ops_capacity += spec->mshrs * (LINE_SECTORS + 1);
    s->fills_capacity = spec->mshrs * LINE_SECTORS + s->ops_capacity + 1;
    s->lanes = spec->lanes == 1 ? &s->own_lane : ARENA_ARRAY(a, struct lane, spec->lanes);
    for (uint32_t k = 0; k < spec->lanes; k++) {
        s->lanes[k].ops.ring = ARENA_ARRAY(a, struct memory_op, s->ops_capacity);
        s->lanes[k].fills = ARENA_ARRAY(a, struct fill, s->fills_capacity);
    }
    s->flush_cursor = lines;
    if (spec->count_lines) {
        s->line_requests = ARENA_ARRAY(a, uint32_t, lines);
        s->line_partitions = ARENA_ARRAY(a, uint64_t, lines);
    }
    if (wiring->check) s->copies = check_place_new(wiring->check, name, lines, true);
    if (wiring->forwards) far_new(s, a, name);
    if (wiring->forwards && organisation_coherent(wiring->organisation->config)) coherent_new(s, a);
    if (!s->ops_easy && wiring->memory_settle) hurry(s, true);
    s->plain = !s->far && !s->copies && !s->line_requests && !wiring->tap.see && !spec->may_write_through &&
               spec->lanes == 1 && !spec->stack_width && !wiring->pager;
    s->component = engine_add(wiring->engine, (struct component_spec){.name = name,
                                                                      .self = s,
                                                                      .domain = wiring->domain,
                                                                      .wake = s->far ? wake_far : wake_plain,
                                                                      .receive = slice_receive,
                                                                      .waits = waits});
    return s;
}

struct check_place *slice_copies(const struct slice *s) { return s->copies; }
uint32_t slice_component(const struct slice *s) { return s->component; }
void slice_expect(const void *slice, const struct request *r)
{
    const struct slice *s = slice;
    tags_fetch(&s->tags, set_of(s, r->home.line));
}
struct llc_stats *slice_stats(struct slice *s) { return &s->stats; }

void llc_epoch_change(struct llc_epoch *e, uint64_t tick)
{
    if (e->changed_tick != tick) e->before = e->value;
    e->changed_tick = tick;
    e->value++;
}

void slice_forget(struct slice *s, uint64_t line)
{
    const uint32_t at_line = tags_find(&s->tags, set_of(s, line), line);
    if (at_line == TAGS_NONE) return;
    DIAG_ASSERT(!*tags_pins(&s->tags, at_line) && !(s->lines[at_line].dirty[0] | s->lines[at_line].dirty[1]));
    slice_drop_line(s, engine_now(s->wire.engine, s->wire.domain), at_line);
}

/* ---- for far.c ---- */

uint32_t slice_make_room(struct slice *s, uint64_t now, uint32_t set)
{
    return make_room(s, now, set, false);
}
struct slice_line *slice_pin(struct slice *s, uint32_t line)
{
    pin(s, line);
    return &s->lines[line];
}
void slice_drop_line(struct slice *s, uint64_t now, uint32_t line)
{
    drop_line(s, now, line, false);
    tags_drop(&s->tags, line);
}
