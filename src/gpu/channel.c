/* channel: see channel.h.
 *
 * Slices do not push: two of them would then race for the last entry in an order that depends on who is
 * visited first. The channel pulls, the slice after the last one served first.
 *
 * Late visits. An operation is known to the channel long before it is due, and a line that was read comes to
 * its slice llc.memory_latency_cyc later. So nobody can tell whether a cycle of the channel is worked off
 * when it is due or slack_cyc cycles later together with those after it, which costs one visit, with the
 * channel's state in the host's caches, in place of many. Who could tell is served in time:
 *   - a slice that waits until its operations are accepted (channel_settle(), and wiring.hurry while it
 * does);
 *   - who looks at statistics: no visit is put off beyond engine_unwatched_until(), see channel_finish();
 *   - where writes are answered when memory accepts them, pages move, or slices share a crossbar in front of
 *     the channel, there is no slack. */
#include "check/check.h"
#include "check/fault.h"
#include "gpu/channel_private.h"

/* Time of a port of the stack's crossbar. */
static uint64_t port_ticks(const struct channel *ch, uint32_t bytes)
{
    const struct slice_spec *p = ch->wire.slice_spec;
    return (bytes + p->stack_width - 1) / p->stack_width * p->ticks_per_cycle;
}

static inline void give(const struct channel *ch, uint64_t tag, uint64_t accept_cyc, uint64_t tick)
{
    slice_memory_done(ch->slices[packed_slice(tag)], ch->wire.lane, (uint32_t)tag, packed_sectors(ch, tag),
                      accept_cyc * ch->ticks_per_cycle, tick);
}

static void done(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc, uint64_t done_cyc)
{
    const struct channel *ch = owner;
    if (kind == DRAM_WRITE || FAULT_FIRES(memory_loses_read)) return;
    give(ch, tag, accept_cyc, done_cyc * ch->ticks_per_cycle);
}

/* Through the stack's crossbar. */
static void done_stack(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc, uint64_t done_cyc)
{
    struct channel *ch = owner;
    if (kind == DRAM_WRITE || FAULT_FIRES(memory_loses_read)) return;
    uint64_t tick = done_cyc * ch->ticks_per_cycle;
    if (tick < ch->out_free_tick) tick = ch->out_free_tick;
    tick += port_ticks(ch, packed_columns(tag) * ch->wire.slice_spec->column_bytes);
    ch->out_free_tick = tick;
    give(ch, tag, accept_cyc, tick);
}

/* --check: memory keeps the order in which it accepts operations on a line. */
static void check_operation(struct channel *ch, uint32_t slice, const struct memory_op *op)
{
    const struct slice *s = ch->slices[slice];
    if (op->tag_line != TAGS_NONE)
        check_memory_read(slice_copies(s), op->tag_line, op->line,
                          slice_sectors(ch->wire.slice_spec, op->first_column, op->column_count));
    else if (!op->writers_count) /* those that are written through: slice_memory_accepted() */
        check_memory_write(ch->wire.check, op->line);
}

/* Private organisation: the slice where a line lives hears of what others write, and the slice of a cluster
 * of what its SMs' atomics wrote at home, through the crossbar of the stack. */
static void tell_others(const struct channel *ch, uint32_t slice, const struct memory_op *op)
{
    const struct clusters *k = &ch->wire.organisation->clusters;
    const uint32_t home = slice_home(ch->wire.slice_spec, op->line);
    if (ch->wire.all[home] != ch->slices[slice]) {
        slice_snoop(ch->wire.all[home], op->line);
        return;
    }
    for (uint32_t n = 0, idx = op->writers_first; n < op->writers_count; n++) {
        const struct request *r = request_at(ch->wire.requests, idx);
        const uint32_t own = clusters_slice(k, home, clusters_of_sm(k, r->sm), k->stack_slices);
        if (own != home) slice_snoop(ch->wire.all[own], op->line);
        idx = r->next;
    }
}

/* Apart, as its registers would cost reads more than the call does. */
static __attribute__((noinline)) bool offer_write(struct channel *ch, uint64_t now, uint32_t slice,
                                                  const struct memory_op *op)
{
    return dram_try_write(ch->dram, now, place(ch, op), op->column_count, pack(slice, op));
}

/* Offers an operation, for which there may be room, to memory. */
static inline bool offer(struct channel *ch, uint64_t now, uint32_t slice, const struct memory_op *op)
{
    if (op->tag_line == TAGS_NONE) return offer_write(ch, now, slice, op);
    return dram_try_read(ch->dram, now, place(ch, op), op->column_count, pack(slice, op));
}

/* The oldest operation of a slice, for which there may be room, at a cycle and its tick. plain, a constant in
 * each copy: nobody checks, and the slices have their own ways to the channel. */
CHANNEL_HOT bool take(struct channel *ch, uint64_t now, uint64_t tick, uint32_t slice,
                      const struct memory_op *op, bool plain)
{
    if (!offer(ch, now, slice, op)) return false;
    if (!plain && ch->wire.check) check_operation(ch, slice, op);
    if (op->writers_count) tell_others(ch, slice, op);
    if (!plain && ch->wire.slice_spec->stack_width) {
        if (ch->in_free_tick < tick) ch->in_free_tick = tick;
        ch->in_free_tick += port_ticks(ch, slice_memory_op_bytes(ch->wire.slice_spec, op));
    }
    engine_progress(ch->wire.engine);
    slice_memory_accepted(ch->slices[slice], ch->wire.lane, tick);
    return true;
}

static __attribute__((noinline)) bool take_apart(struct channel *ch, uint64_t now, uint64_t tick,
                                                 uint32_t slice, const struct memory_op *op)
{
    return ch->plain ? take(ch, now, tick, slice, op, true) : take(ch, now, tick, slice, op, false);
}

/* The same when it is due; the slice has one. often: part of the loop, as it will be accepted. */
CHANNEL_HOT bool accept(struct channel *ch, uint64_t now, uint64_t tick, uint32_t slice, bool often)
{
    const struct lane_ops *lane = ch->lanes[slice];
    const struct memory_op *op = lane->front;
    if (op->ready_tick > tick) return false;
    if (op->tag_line == TAGS_NONE && FAULT_FIRES(memory_loses_write)) {
        slice_memory_accepted(ch->slices[slice], ch->wire.lane, tick);
        return true;
    }
    if (dram_try_refuse(ch->dram, op->column_count)) return false;
    return often ? take(ch, now, tick, slice, op, true) : take_apart(ch, now, tick, slice, op);
}

bool channel_offer(struct channel *ch, uint64_t now, uint64_t tick, uint32_t slice)
{
    return accept(ch, now, tick, slice, false);
}

/* Is there room, as far as is known, and somebody who wants it? */
static inline bool goes_on(const struct channel *ch)
{
    return !dram_channel_full(ch->dram) && *ch->wire.pending;
}

/* An operation of the slice whose turn it is, then one of each of the others, those after it first. When the
 * first was accepted the turn has passed on, and it is itself one of the others. */
CHANNEL_HOT void pull_each(struct channel *ch, uint64_t now, bool plain)
{
    const uint64_t tick = now * ch->ticks_per_cycle;
    const uint32_t count = ch->wire.slice_count;
    uint32_t slice = ch->turn;
    if (dram_channel_full(ch->dram)) return;
    if (*ch->wire.pending >> slice & 1 && accept(ch, now, tick, slice, plain))
        ch->turn = slice = slice + 1 == count ? 0 : slice + 1;
    for (uint32_t k = 1; k < count && goes_on(ch); k++) {
        if (++slice == count) slice = 0;
        if (*ch->wire.pending >> slice & 1) (void)accept(ch, now, tick, slice, false);
    }
}

static void pull(struct channel *ch, uint64_t now) { pull_each(ch, now, false); }

/* The same through the stack's crossbar: as much as its port brings in a cycle of memory, the slice after the
 * last one served first. */
static void pull_stack(struct channel *ch, uint64_t now)
{
    const uint32_t count = ch->wire.slice_count, from = ch->turn;
    for (uint32_t k = 0; k < count && goes_on(ch); k++) {
        const uint32_t slice = (from + k) % count;
        if (ch->in_free_tick >= (now + 1) * ch->ticks_per_cycle) return;
        if (*ch->wire.pending >> slice & 1 && accept(ch, now, now * ch->ticks_per_cycle, slice, false))
            ch->turn = (slice + 1) % count;
    }
}

/* The slice whose next operation has waited longest, at equal times the next in turn. */
static uint32_t oldest(const struct channel *ch)
{
    const uint32_t count = ch->wire.slice_count;
    uint32_t best = 0, best_turn = UINT32_MAX;
    uint64_t first = ENGINE_NEVER;
    for (uint64_t left = *ch->wire.pending; left; left &= left - 1) {
        const uint32_t slice = (uint32_t)__builtin_ctzll(left), turn = (slice + count - ch->turn) % count;
        const uint64_t since = lane_due(ch->lanes[slice]);
        if (since > first || (since == first && turn > best_turn)) continue;
        first = since;
        best = slice;
        best_turn = turn;
    }
    return best;
}

/* Through the stack's crossbar in the order in which slices asked. */
static void pull_oldest(struct channel *ch, uint64_t now)
{
    while (goes_on(ch) && ch->in_free_tick < (now + 1) * ch->ticks_per_cycle) {
        const uint32_t slice = oldest(ch);
        if (!accept(ch, now, now * ch->ticks_per_cycle, slice, false)) return;
        ch->turn = (slice + 1) % ch->wire.slice_count;
    }
}

/* ---- time ---- */

/* After cycle now: when there is something to do. */
static inline uint64_t next_due(const struct channel *ch, uint64_t now)
{
    uint64_t next = dram_channel_next(ch->dram);
    for (uint64_t left = dram_channel_full(ch->dram) ? 0 : *ch->wire.pending; left; left &= left - 1) {
        const uint64_t due = cycle_from(ch, lane_due(ch->lanes[__builtin_ctzll(left)]));
        if (due < next) next = due;
    }
    return next > now ? next : now + 1;
}

CHANNEL_HOT void work_next(struct channel *ch, bool plain)
{
    const uint64_t cyc = ch->due_cyc;
    (void)dram_channel_step(ch->dram, cyc);
    if (plain)
        pull_each(ch, cyc, true);
    else
        ch->pull(ch, cyc);
    ch->due_cyc = next_due(ch, cyc);
}

CHANNEL_HOT void work_until(struct channel *ch, uint64_t now, bool plain)
{
    while (ch->due_cyc <= now) work_next(ch, plain);
}

/* Reads in a loop of their own, cycles with anything else one by one. */
static void work_in_window(struct channel *ch, uint64_t now)
{
    while (channel_work_reads(ch, now) <= now) work_next(ch, true);
}

/* Every cycle that is due by now. */
static void work(struct channel *ch, uint64_t now)
{
    if (ch->windowed && ch->plain)
        work_in_window(ch, now);
    else if (ch->plain)
        work_until(ch, now, true);
    else
        work_until(ch, now, false);
}

/* When it works off what is due next. */
static uint64_t visit_cyc(const struct channel *ch)
{
    const uint64_t due = ch->due_cyc;
    if (!ch->slack_cyc || *ch->wire.hurry || due == DRAM_NEVER) return due;
    const uint64_t last = engine_unwatched_until(ch->wire.engine, ch->wire.domain) - 1;
    if (due + ch->slack_cyc <= last) return due + ch->slack_cyc;
    return due > last ? due : last;
}

static void wake(void *self, uint64_t now)
{
    struct channel *ch = self;
    work(ch, now);
    if (ch->windowed)
        channel_visit_before(ch, now * ch->ticks_per_cycle / ch->wire.slice_spec->ticks_per_cycle + 1);
    else if (ch->due_cyc != DRAM_NEVER)
        engine_wake(ch->wire.engine, ch->component, visit_cyc(ch));
}

void channel_comes(struct channel *ch, uint64_t ready_tick)
{
    if (dram_channel_full(ch->dram)) return; /* woken for what makes room */
    const uint64_t due = cycle_from(ch, ready_tick);
    if (due >= ch->due_cyc) return;
    ch->due_cyc = due;
    if (ch->windowed) return;
    engine_wake_at_tick(ch->wire.engine, ch->component, visit_cyc(ch) * ch->ticks_per_cycle);
}

void channel_settle(struct channel *ch)
{
    const uint64_t tick = engine_tick(ch->wire.engine);
    if (tick) work(ch, engine_cycles(ch->wire.engine, ch->wire.domain, tick - 1));
    if (ch->due_cyc != DRAM_NEVER)
        engine_wake_at_tick(ch->wire.engine, ch->component, visit_cyc(ch) * ch->ticks_per_cycle);
}

void channel_finish(struct channel *ch)
{
    struct engine *const e = ch->wire.engine;
    if (ch->wire.settles) work(ch, engine_cycles(e, ch->wire.domain, engine_stepped_tick(e)));
    (void)dram_channel_stats(ch->dram);
}

/* ---- in windows ---- */

void channel_in_windows(struct channel *ch, bool on) { ch->windowed = on; }
uint64_t channel_due(const struct channel *ch) { return ch->due_cyc; }

/* The last of its cycles before a cycle of the slices. */
static inline uint64_t last_before(const struct channel *ch, uint64_t slice_cyc)
{
    return engine_cycles(ch->wire.engine, ch->wire.domain,
                         slice_cyc * ch->wire.slice_spec->ticks_per_cycle - 1);
}

/* … that nobody looks at statistics before. */
static inline uint64_t last_unwatched(const struct channel *ch, uint64_t slice_cyc)
{
    const uint64_t last = last_before(ch, slice_cyc);
    const uint64_t unwatched = engine_unwatched_until(ch->wire.engine, ch->wire.domain) - 1;
    return last < unwatched ? last : unwatched;
}

void channel_work_before(struct channel *ch, uint64_t slice_cyc)
{
    if (ch->due_cyc != DRAM_NEVER) work(ch, last_unwatched(ch, slice_cyc));
}

void channel_visit_before(struct channel *ch, uint64_t slice_cyc)
{
    if (ch->due_cyc != DRAM_NEVER && ch->due_cyc <= last_before(ch, slice_cyc))
        engine_wake_at_tick(ch->wire.engine, ch->component, ch->due_cyc * ch->ticks_per_cycle);
}

bool channel_work_next(struct channel *ch, uint64_t slice_cyc)
{
    if (ch->due_cyc == DRAM_NEVER || ch->due_cyc > last_unwatched(ch, slice_cyc)) return false;
    work(ch, ch->due_cyc);
    return true;
}

static void (*pull_of(const struct slice_spec *p))(struct channel *ch, uint64_t now)
{
    if (!p->stack_width) return pull;
    return p->stack_order == stack_order_oldest ? pull_oldest : pull_stack;
}

static struct wait waits(void *self)
{
    const struct channel *ch = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NOBODY};
    const uint32_t waiting = dram_channel_waiting(ch->dram);
    if (!waiting) return w;
    w.reason = WAIT_QUEUE_EMPTY;
    (void)snprintf(w.detail, sizeof w.detail, "%u columns wait for the banks", waiting);
    return w;
}

/* A line read in a cycle is at its slice no sooner than that many cycles after the one that follows. Clocks
 * too far apart: SLICE_HURRY operations may be used up before the channel has noticed. */
static uint32_t slack(const struct config *c, const struct slice_spec *p)
{
    const uint64_t ticks = config_tick_frequency(c) / c->clock.dram;
    if (ticks > 4 * p->ticks_per_cycle) return 0;
    return (uint32_t)((p->memory_latency_cyc + p->fill_latency_cyc - 1) * p->ticks_per_cycle / ticks);
}

struct channel *channel_new(struct arena *a, const struct config *c, const struct dram_spec *spec,
                            const struct dram_map *map, const struct channel_wiring *links, const char *name)
{
    struct channel *ch = ARENA_NEW(a, struct channel);
    DIAG_ASSERT(links->slice_count <= SLICES_MAX);
    /* keys of the map are places of the channel: asked once, not for every operation */
    DIAG_ASSERT(1u << map->width[DRAM_FIELD_BANK] == spec->bank_groups * spec->banks_per_group);
    DIAG_ASSERT(1u << map->width[DRAM_FIELD_COLUMN] == spec->columns);
    *ch = (struct channel){.wire = *links,
                           .pull = pull_of(links->slice_spec),
                           .plain = !links->check && !links->slice_spec->stack_width,
                           .ticks_per_cycle = config_tick_frequency(c) / c->clock.dram,
                           .map = map,
                           .line_mask = ((uint64_t)1 << (map->bits - LINE_LOG2)) - 1};
    const struct dram_wiring wiring = {.owner = ch,
                                       .done = links->slice_spec->stack_width ? done_stack : done};
    ch->dram = dram_channel_new(a, spec, &wiring);
    ch->due_cyc = DRAM_NEVER;
    channel_clock_set(ch);
    ch->slack_cyc = links->may_be_late ? slack(c, links->slice_spec) : 0;
    for (uint32_t first = 0; first < SLICE_COLUMNS; first++)
        for (uint32_t columns = 0; first + columns <= SLICE_COLUMNS; columns++)
            ch->sectors_of[columns << 8 | first] = slice_sectors(links->slice_spec, first, columns);
    ch->component = engine_add(
        links->engine, (struct component_spec){
                           .name = name, .self = ch, .domain = links->domain, .wake = wake, .waits = waits});
    return ch;
}

void channel_connect(struct channel *ch)
{
    for (uint32_t k = 0; k < ch->wire.slice_count; k++) {
        ch->slices[k] = ch->wire.slices[k];
        ch->lanes[k] = slice_lane_ops(ch->slices[k], ch->wire.lane);
    }
}

uint32_t channel_component(const struct channel *ch) { return ch->component; }
struct dram_stats *channel_stats(struct channel *ch) { return dram_channel_stats(ch->dram); }
