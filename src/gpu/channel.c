/* channel: see channel.h.
 *
 * Slices do not push: two of them would then race for the last entry in an order that depends on who is
 * visited first. The channel pulls, the slice after the last one served first. */
#include "gpu/channel.h"

#include "cache/tags.h"
#include "check/check.h"
#include "check/fault.h"

struct channel {
    struct engine *engine;
    uint32_t component;
    uint64_t ticks_per_cycle;
    struct dram_channel *dram;
    const struct dram_map *map;
    uint64_t address_mask; /* within its chiplet */
    struct slice *const *slices;
    uint32_t slice_count, turn;
    bool full;           /* wait for dram_wiring.space */
    struct check *check; /* NULL: none */
};

/* What comes back with a read: slice, line of its tags, columns. */
static uint64_t pack(uint32_t slice, const struct memory_op *op)
{
    return (uint64_t)slice << 48 | (uint64_t)op->first_column << 40 | (uint64_t)op->column_count << 32 |
           op->tag_line;
}

static void done(void *owner, const struct dram_done *d)
{
    const struct channel *ch = owner;
    if (d->kind == DRAM_WRITE || FAULT_FIRES(memory_loses_read)) return;
    slice_memory_done(ch->slices[d->tag >> 48], (uint32_t)d->tag, d->tag >> 40 & 0xff, d->tag >> 32 & 0xff,
                      d->accept_cyc * ch->ticks_per_cycle, d->done_cyc * ch->ticks_per_cycle);
}

static void space(void *owner) { ((struct channel *)owner)->full = false; }

/* --check: memory keeps the order in which it accepts operations on a line. */
static void check_operation(struct channel *ch, uint32_t slice, const struct memory_op *op)
{
    if (op->tag_line != TAGS_NONE)
        check_memory_read(slice_copies(ch->slices[slice]), op->tag_line, op->line,
                          slice_sectors(ch->slices[slice], op->first_column, op->column_count));
    else
        check_memory_write(ch->check, op->line);
}

static bool accept(struct channel *ch, uint64_t now, uint32_t slice)
{
    const struct memory_op *op = slice_memory_op(ch->slices[slice], now * ch->ticks_per_cycle);
    if (!op) return false;
    if (op->tag_line == TAGS_NONE && FAULT_FIRES(memory_loses_write)) {
        slice_memory_accepted(ch->slices[slice]);
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
    if (ch->check) check_operation(ch, slice, op);
    slice_memory_accepted(ch->slices[slice]);
    engine_progress(ch->engine);
    return true;
}

/* One operation per slice and cycle, in turn. */
static void pull(struct channel *ch, uint64_t now)
{
    for (uint32_t k = 0; k < ch->slice_count && !ch->full; k++) {
        const uint32_t slice = (ch->turn + k) % ch->slice_count;
        if (accept(ch, now, slice) && k == 0) ch->turn = (ch->turn + 1) % ch->slice_count;
    }
}

static void wake(void *self, uint64_t now)
{
    struct channel *ch = self;
    uint64_t next = dram_channel_step(ch->dram, now);
    if (!ch->full) pull(ch, now);
    const uint64_t accepted_next = dram_channel_next(ch->dram);
    if (accepted_next < next) next = accepted_next;
    if (next != DRAM_NEVER) engine_wake(ch->engine, ch->component, next > now ? next : now + 1);
    if (ch->full) return;
    for (uint32_t k = 0; k < ch->slice_count; k++) {
        const uint64_t due = slice_memory_due(ch->slices[k]);
        if (due != ENGINE_NEVER) engine_wake_at_tick(ch->engine, ch->component, due);
    }
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

struct channel *channel_new(struct arena *a, struct engine *e, uint32_t domain, const struct config *c,
                            const struct dram_spec *spec, const struct dram_map *map,
                            struct slice *const *slices, uint32_t count, struct check *check,
                            const char *name)
{
    struct channel *ch = ARENA_NEW(a, struct channel);
    *ch = (struct channel){.engine = e,
                           .ticks_per_cycle = config_tick_frequency(c) / c->clock.dram,
                           .map = map,
                           .address_mask = ((uint64_t)1 << map->bits) - 1,
                           .slices = slices,
                           .slice_count = count,
                           .check = check};
    const struct dram_wiring wiring = {.owner = ch, .done = done, .space = space};
    ch->dram = dram_channel_new(a, spec, &wiring);
    ch->component = engine_add(
        e, (struct component_spec){.name = name, .self = ch, .domain = domain, .wake = wake, .waits = waits});
    return ch;
}

uint32_t channel_component(const struct channel *ch) { return ch->component; }
struct dram_stats *channel_stats(struct channel *ch) { return dram_channel_stats(ch->dram); }
