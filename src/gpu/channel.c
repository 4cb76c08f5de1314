/* channel: see channel.h.
 *
 * Slices do not push: two of them would then race for the last entry in an order that depends on who is
 * visited first. The channel pulls, the slice after the last one served first. */
#include "gpu/channel.h"

#include "cache/tags.h"
#include "check/check.h"
#include "check/fault.h"

struct channel {
    struct channel_wiring wire;
    uint32_t component;
    uint64_t ticks_per_cycle;
    struct dram_channel *dram;
    const struct dram_map *map;
    uint64_t address_mask;                          /* within its chiplet */
    void (*pull)(struct channel *ch, uint64_t now); /* from slices */
    uint32_t turn;
    bool full;                            /* wait for dram_wiring.space */
    uint64_t in_free_tick, out_free_tick; /* ports of the stack's crossbar */
};

/* What comes back with a read: slice, line of its tags, columns. */
static uint64_t pack(uint32_t slice, const struct memory_op *op)
{
    return (uint64_t)slice << 48 | (uint64_t)op->first_column << 40 | (uint64_t)op->column_count << 32 |
           op->tag_line;
}

/* Time of a port of the stack's crossbar. */
static uint64_t port_ticks(const struct channel *ch, uint32_t bytes)
{
    const struct slice_spec *p = ch->wire.slice_spec;
    return (bytes + p->stack_width - 1) / p->stack_width * p->ticks_per_cycle;
}

static void done(void *owner, const struct dram_done *d)
{
    struct channel *ch = owner;
    if (d->kind == DRAM_WRITE || FAULT_FIRES(memory_loses_read)) return;
    const uint32_t columns = d->tag >> 32 & 0xff;
    uint64_t tick = d->done_cyc * ch->ticks_per_cycle;
    if (ch->wire.slice_spec->stack_width) {
        if (tick < ch->out_free_tick) tick = ch->out_free_tick;
        tick += port_ticks(ch, columns * ch->wire.slice_spec->column_bytes);
        ch->out_free_tick = tick;
    }
    slice_memory_done(ch->wire.slices[d->tag >> 48], ch->wire.lane, (uint32_t)d->tag, d->tag >> 40 & 0xff,
                      columns, d->accept_cyc * ch->ticks_per_cycle, tick);
}

static void space(void *owner) { ((struct channel *)owner)->full = false; }

/* --check: memory keeps the order in which it accepts operations on a line. */
static void check_operation(struct channel *ch, uint32_t slice, const struct memory_op *op)
{
    const struct slice *s = ch->wire.slices[slice];
    if (op->tag_line != TAGS_NONE)
        check_memory_read(slice_copies(s), op->tag_line, op->line,
                          slice_sectors(s, op->first_column, op->column_count));
    else if (!op->writers.count) /* those that are written through: slice_memory_accepted() */
        check_memory_write(ch->wire.check, op->line);
}

/* Private organisation: the slice where a line lives hears of what others write, and the slice of a cluster
 * of what its SMs' atomics wrote at home, through the crossbar of the stack. */
static void tell_others(const struct channel *ch, uint32_t slice, const struct memory_op *op)
{
    const struct clusters *k = &ch->wire.organisation->clusters;
    const uint32_t home = slice_home(ch->wire.slice_spec, op->line);
    if (ch->wire.all[home] != ch->wire.slices[slice]) {
        slice_snoop(ch->wire.all[home], op->line);
        return;
    }
    for (uint32_t n = 0, idx = op->writers.first; n < op->writers.count; n++) {
        const struct request *r = request_at(ch->wire.requests, idx);
        const uint32_t own = clusters_slice(k, home, clusters_of_sm(k, r->sm), k->stack_slices);
        if (own != home) slice_snoop(ch->wire.all[own], op->line);
        idx = r->next;
    }
}

static bool accept(struct channel *ch, uint64_t now, uint32_t slice)
{
    struct slice *s = ch->wire.slices[slice];
    const struct memory_op *op = slice_memory_op(s, ch->wire.lane, now * ch->ticks_per_cycle);
    if (!op) return false;
    if (op->tag_line == TAGS_NONE && FAULT_FIRES(memory_loses_write)) {
        slice_memory_accepted(s, ch->wire.lane);
        return true;
    }
    if (dram_try_refuse(ch->dram, op->column_count)) {
        ch->full = true;
        return false;
    }
    const struct dram_place place = dram_map_place(ch->map, op->line << LINE_LOG2 & ch->address_mask);
    const struct dram_request r = {.kind = op->tag_line == TAGS_NONE ? DRAM_WRITE : DRAM_READ,
                                   .bank = place.bank,
                                   .row = place.row,
                                   .column = place.column + op->first_column,
                                   .column_count = op->column_count,
                                   .tag = pack(slice, op)};
    if (!dram_try_accept(ch->dram, now, &r)) {
        ch->full = true;
        return false;
    }
    if (ch->wire.check) check_operation(ch, slice, op);
    if (op->writers.count) tell_others(ch, slice, op);
    if (ch->wire.slice_spec->stack_width) {
        const uint64_t tick = now * ch->ticks_per_cycle;
        if (ch->in_free_tick < tick) ch->in_free_tick = tick;
        ch->in_free_tick += port_ticks(ch, slice_memory_op_bytes(ch->wire.slice_spec, op));
    }
    slice_memory_accepted(s, ch->wire.lane);
    engine_progress(ch->wire.engine);
    return true;
}

/* One operation per slice and cycle, in turn. */
static void pull(struct channel *ch, uint64_t now)
{
    const uint32_t count = ch->wire.slice_count;
    for (uint32_t k = 0; k < count && !ch->full && *ch->wire.pending; k++) {
        const uint32_t slice = (ch->turn + k) % count;
        if (!(*ch->wire.pending >> slice & 1)) continue;
        if (accept(ch, now, slice) && k == 0) ch->turn = (ch->turn + 1) % count;
    }
}

/* The same through the stack's crossbar: as much as its port brings in a cycle of memory, the slice after the
 * last one served first. */
static void pull_stack(struct channel *ch, uint64_t now)
{
    const uint32_t count = ch->wire.slice_count, from = ch->turn;
    for (uint32_t k = 0; k < count && !ch->full && *ch->wire.pending; k++) {
        const uint32_t slice = (from + k) % count;
        if (ch->in_free_tick >= (now + 1) * ch->ticks_per_cycle) return;
        if (*ch->wire.pending >> slice & 1 && accept(ch, now, slice)) ch->turn = (slice + 1) % count;
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
        const uint64_t since = slice_memory_due(ch->wire.slices[slice], ch->wire.lane);
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
    while (!ch->full && *ch->wire.pending && ch->in_free_tick < (now + 1) * ch->ticks_per_cycle) {
        const uint32_t slice = oldest(ch);
        if (!accept(ch, now, slice)) return;
        ch->turn = (slice + 1) % ch->wire.slice_count;
    }
}

static void wake(void *self, uint64_t now)
{
    struct channel *ch = self;
    uint64_t next = dram_channel_step(ch->dram, now);
    if (!ch->full) ch->pull(ch, now);
    const uint64_t accepted_next = dram_channel_next(ch->dram);
    if (accepted_next < next) next = accepted_next;
    if (next != DRAM_NEVER) engine_wake(ch->wire.engine, ch->component, next > now ? next : now + 1);
    if (ch->full) return;
    for (uint64_t left = *ch->wire.pending; left; left &= left - 1) {
        const uint64_t due = slice_memory_due(ch->wire.slices[__builtin_ctzll(left)], ch->wire.lane);
        engine_wake_at_tick(ch->wire.engine, ch->component, due);
    }
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

struct channel *channel_new(struct arena *a, const struct config *c, const struct dram_spec *spec,
                            const struct dram_map *map, const struct channel_wiring *links, const char *name)
{
    struct channel *ch = ARENA_NEW(a, struct channel);
    DIAG_ASSERT(links->slice_count <= 64);
    *ch = (struct channel){.wire = *links,
                           .pull = pull_of(links->slice_spec),
                           .ticks_per_cycle = config_tick_frequency(c) / c->clock.dram,
                           .map = map,
                           .address_mask = ((uint64_t)1 << map->bits) - 1};
    const struct dram_wiring wiring = {.owner = ch, .done = done, .space = space};
    ch->dram = dram_channel_new(a, spec, &wiring);
    ch->component = engine_add(
        links->engine, (struct component_spec){
                           .name = name, .self = ch, .domain = links->domain, .wake = wake, .waits = waits});
    return ch;
}

uint32_t channel_component(const struct channel *ch) { return ch->component; }
struct dram_stats *channel_stats(struct channel *ch) { return dram_channel_stats(ch->dram); }
