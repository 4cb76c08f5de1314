/* slice_memory: see slice_memory.h; what memory channels and the other files of a slice call. */
#include "llc/slice_memory.h"

void slice_columns(const struct slice_spec *p, uint8_t sectors, uint8_t *first, uint8_t *count)
{
    columns(p, sectors, first, count);
}

uint32_t slice_memory_op_bytes(const struct slice_spec *p, const struct memory_op *op)
{
    return op_bytes(p, op);
}

void slice_push_op(struct slice *s, struct memory_op op) { push_op(s, op, false); }

void slice_write_back(struct slice *s, uint64_t now, uint32_t tag_line)
{
    uint64_t *const dirty = s->lines[tag_line].dirty;
    struct memory_op op = {.line = tags_key(&s->tags, tag_line),
                           .tag_line = TAGS_NONE,
                           .ready_tick = (now + 1) * s->spec->ticks_per_cycle};
    columns(s->spec, sectors_with(dirty), &op.first_column, &op.column_count);
    (void)use_port(s, now, port_cycles(s, request_byte_count(dirty)));
    if (s->copies) check_write_back(s->copies, tag_line, dirty);
    dirty[0] = dirty[1] = 0;
    s->stats.memory_writes++;
    s->stats.memory_write_columns += op.column_count;
    push_op(s, op, false);
}

const struct lane_ops *slice_lane_ops(const struct slice *s, uint32_t lane) { return &s->lanes[lane].ops; }

/* What more than memory waits for the operation: writers, a page that moves. */
static void tell_accepted(struct slice *s, uint32_t lane, const struct memory_op *op)
{
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
    if (op->move) s->wire.page_line_done(s->wire.pages, op->move - 1);
}

__attribute__((noinline)) void slice_tell_room(struct slice *s, uint64_t tick)
{
    const uint64_t next = engine_cycles(s->wire.engine, s->wire.domain, tick) + 1;
    if (s->windowed) {
        if (next > s->visited_cyc && next < s->due_cyc) s->due_cyc = next;
        return;
    }
    if (next > engine_now(s->wire.engine, s->wire.domain)) engine_wake(s->wire.engine, s->component, next);
}

static SLICE_HOT void accept_oldest(struct slice *s, struct lane *l, uint32_t lane, uint64_t tick)
{
    drop_oldest(s, l, lane);
    __builtin_prefetch(l->ops.front);
    if (minds_room(s)) slice_tell_room(s, tick);
}

static __attribute__((noinline)) void accept_and_tell(struct slice *s, uint32_t lane, uint64_t tick)
{
    struct lane *const l = &s->lanes[lane];
    tell_accepted(s, lane, l->ops.front);
    accept_oldest(s, l, lane, tick);
}

void slice_memory_accepted(struct slice *s, uint32_t lane, uint64_t tick)
{
    struct lane *const l = &s->lanes[lane];
    const struct memory_op *const op = l->ops.front;
    s->memory_wait_ticks += tick - op->ready_tick;
    if (__builtin_expect(op->writers_count | op->move, 0))
        accept_and_tell(s, lane, tick);
    else
        accept_oldest(s, l, lane, tick);
}

void slice_push_fill(struct slice *s, uint32_t tag_line, uint8_t sectors, uint64_t ready_cyc)
{
    (void)push_fill(s, 0, (struct fill){.ready_cyc = ready_cyc, .tag_line = tag_line, .sectors = sectors});
}

/* Into the host's caches, long before the fill is taken: its line, and who waits for the one before it. */
static inline void fetch_for_last(const struct slice *s, const struct lane *l)
{
    const uint32_t last = l->fills_head + l->fills_count - 1;
    __builtin_prefetch(&s->lines[l->fills[last & s->fills_mask].tag_line], 1);
    if (l->fills_count < 2) return;
    const struct fill *const before = &l->fills[(last - 1) & s->fills_mask];
    if (!before->writers_count) __builtin_prefetch(at(s, s->lines[before->tag_line].waiting.first), 1);
}

/* Counts whole cycles by their power of two, without a division: it is that of ticks less that of a cycle, or
 * one more. */
static inline void count_latency(struct slice *s, uint64_t ticks)
{
    enum { MOST = sizeof s->stats.memory_latency / sizeof *s->stats.memory_latency - 1 };
    const struct slice_spec *const p = s->spec;
    uint32_t bucket = 0;
    if (__builtin_expect(ticks >= p->ticks_per_cycle, 1)) {
        bucket = (uint32_t)(__builtin_clzll(ticks) ^ 63) - p->ticks_log2;
        bucket += ticks >= p->ticks_per_cycle << bucket;
    }
    s->stats.memory_latency[bucket < MOST ? bucket : MOST]++;
}

/* The fill's own time is waited for here: then line and reply are one visit. */
static inline uint64_t fill_cyc(const struct slice *s, uint64_t tick)
{
    return engine_cycles(s->wire.engine, s->wire.domain, tick + s->spec->ticks_per_cycle - 1) +
           s->spec->back_cyc;
}

static __attribute__((noinline)) void come_back(struct slice *s, uint32_t lane, uint32_t tag_line,
                                                uint8_t sectors, uint64_t tick)
{
    const uint64_t ready = fill_cyc(s, tick);
    const bool first =
        push_fill(s, lane, (struct fill){.ready_cyc = ready, .tag_line = tag_line, .sectors = sectors});
    fetch_for_last(s, &s->lanes[lane]);
    if (first) engine_wake(s->wire.engine, s->component, ready);
}

void slice_memory_done(struct slice *s, uint32_t lane, uint32_t tag_line, uint8_t sectors,
                       uint64_t accept_tick, uint64_t tick)
{
    count_latency(s, tick - accept_tick);
    if (!s->windowed) { /* else it is not woken */
        come_back(s, lane, tag_line, sectors, tick);
        return;
    }
    come_in_window(s, tag_line, sectors, fill_cyc(s, tick));
}
