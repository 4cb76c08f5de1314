/* channel: see channel.h.
 *
 * Clients do not push: the last free entry would then go to the client that happens to be simulated first.
 * The channel pulls, round-robin.
 *
 * Deferred cycles. An operation is in its queue long before it is due, and a client uses the data of a read
 * no earlier than wiring.return_cyc after the read. Simulating a channel cycle up to slack_cyc late is
 * therefore unobservable. One activation then simulates many cycles while the channel's state is in the
 * host cache. The observers that need exact times are:
 *   - a client that waits until its operations are accepted: channel_sync(), and wiring.exact_accept from
 *     then on;
 *   - samples of statistics: no cycle is deferred beyond engine_unwatched_until(); see channel_finish();
 *   - write-through, page migration and a stack crossbar in front of the channel: wiring.may_defer is
 *     false there. */
#include <stdio.h>

#include "dram/channel_inside.h"

/* Transfer time of a port of the stack crossbar. */
static uint64_t port_ticks(const struct channel *ch, uint32_t bytes)
{
    return (bytes + ch->port_bytes - 1) / ch->port_bytes * ch->wire.client_ticks_per_cycle;
}

static inline void complete(const struct channel *ch, uint64_t tag, uint64_t accept_cyc, uint64_t tick)
{
    ch->wire.done(ch->clients[tag_client(tag)], ch->wire.queue_idx, tag, accept_cyc * ch->ticks_per_cycle,
                  tick);
}

static void done(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc, uint64_t done_cyc)
{
    const struct channel *ch = owner;
    if (kind == DRAM_WRITE) return;
    complete(ch, tag, accept_cyc, done_cyc * ch->ticks_per_cycle);
}

/* done() with a copier. */
static void done_copier(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc,
                        uint64_t done_cyc)
{
    const struct channel *ch = owner;
    if (kind == DRAM_WRITE) return;
    if (tag_client(tag) == ch->copier_client)
        ch->copier.done(ch->copier.self, tag, done_cyc * ch->ticks_per_cycle);
    else
        complete(ch, tag, accept_cyc, done_cyc * ch->ticks_per_cycle);
}

/* done() with a stack crossbar. */
static void done_stack(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc, uint64_t done_cyc)
{
    struct channel *ch = owner;
    if (kind == DRAM_WRITE) return;
    uint64_t tick = done_cyc * ch->ticks_per_cycle;
    if (tick < ch->out_free_tick) tick = ch->out_free_tick;
    tick += port_ticks(ch, (channel_tag_columns(tag) >> 8) * ch->column_bytes);
    ch->out_free_tick = tick;
    complete(ch, tag, accept_cyc, tick);
}

/* Not inlined: its registers would cost reads more than the call does. */
static __attribute__((noinline)) bool offer_write(struct channel *ch, uint64_t now, uint32_t client,
                                                  const struct memory_op *op)
{
    return dram_try_write(ch->dram, now, op_key(ch, op), op->column_count, op_tag(client, op));
}

/* Offers an operation to the channel model; false: refused. */
static inline bool offer(struct channel *ch, uint64_t now, uint32_t client, const struct memory_op *op)
{
    if (memory_op_is_write(op)) return offer_write(ch, now, client, op);
    return dram_try_read(ch->dram, now, op_key(ch, op), op->column_count, op_tag(client, op));
}

/* Accepts the oldest operation of a client at a cycle and its tick; false: refused. basic, a constant in each
 * copy: see struct channel. */
CHANNEL_HOT bool take(struct channel *ch, uint64_t now, uint64_t tick, uint32_t client,
                      const struct memory_op *op, bool basic)
{
    if (!offer(ch, now, client, op)) return false;
    if (!basic && ch->port_bytes) {
        if (ch->in_free_tick < tick) ch->in_free_tick = tick;
        ch->in_free_tick += port_ticks(ch, memory_op_bytes(op, ch->header_bytes, ch->column_bytes));
    }
    engine_progress(ch->wire.engine);
    if (!basic && client == ch->copier_client) {
        ch->copier.accepted(ch->copier.self, tick);
        return true;
    }
    ch->wire.accepted(ch->clients[client], ch->wire.queue_idx, tick);
    return true;
}

static __attribute__((noinline)) bool take_apart(struct channel *ch, uint64_t now, uint64_t tick,
                                                 uint32_t client, const struct memory_op *op)
{
    return ch->basic ? take(ch, now, tick, client, op, true) : take(ch, now, tick, client, op, false);
}

/* take() if the operation is due; the queue is not empty. often: inlined, as acceptance is likely. */
CHANNEL_HOT bool accept(struct channel *ch, uint64_t now, uint64_t tick, uint32_t client, bool often)
{
    const struct memory_op *op = ch->queues[client]->front;
    if (op->ready_tick > tick) return false;
    if (dram_try_refuse(ch->dram, op->column_count)) return false;
    return often ? take(ch, now, tick, client, op, true) : take_apart(ch, now, tick, client, op);
}

bool channel_offer(struct channel *ch, uint64_t now, uint64_t tick, uint32_t client)
{
    return accept(ch, now, tick, client, false);
}

/* True if no offer was refused since the last free entry and an operation is pending. */
static inline bool may_accept(const struct channel *ch)
{
    return !dram_channel_full(ch->dram) && *ch->wire.pending;
}

/* Accepts one operation of the round-robin client, then one of each other client in order. If the first was
 * accepted, the round-robin pointer has advanced, and its client is one of the others. */
CHANNEL_HOT void pull_each(struct channel *ch, uint64_t now, bool basic)
{
    const uint64_t tick = now * ch->ticks_per_cycle;
    /* A copier without an operation takes no turn: the others share the channel as without a copier. */
    const bool copier_rests = ch->wire.copies && !(*ch->wire.pending >> ch->copier_client & 1);
    const uint32_t count = ch->wire.client_count - copier_rests;
    uint32_t client = ch->rr_client;
    if (dram_channel_full(ch->dram)) return;
    if (client >= count) client = ch->rr_client = 0;
    if (*ch->wire.pending >> client & 1 && accept(ch, now, tick, client, basic))
        ch->rr_client = client = client + 1 == count ? 0 : client + 1;
    for (uint32_t k = 1; k < count && may_accept(ch); k++) {
        if (++client == count) client = 0;
        if (*ch->wire.pending >> client & 1) (void)accept(ch, now, tick, client, false);
    }
}

static void pull(struct channel *ch, uint64_t now) { pull_each(ch, now, false); }

/* pull() through the stack crossbar: as many operations as its port transfers in a memory cycle,
 * round-robin. */
static void pull_stack(struct channel *ch, uint64_t now)
{
    const uint32_t count = ch->wire.client_count, from = ch->rr_client;
    for (uint32_t k = 0; k < count && may_accept(ch); k++) {
        const uint32_t client = (from + k) % count;
        if (ch->in_free_tick >= (now + 1) * ch->ticks_per_cycle) return;
        if (*ch->wire.pending >> client & 1 && accept(ch, now, now * ch->ticks_per_cycle, client, false))
            ch->rr_client = (client + 1) % count;
    }
}

/* The client whose next operation has waited longest; ties in round-robin order. */
static uint32_t oldest(const struct channel *ch)
{
    const uint32_t count = ch->wire.client_count;
    uint32_t best = 0, best_rank = UINT32_MAX;
    uint64_t first = ENGINE_NEVER;
    for (uint64_t left = *ch->wire.pending; left; left &= left - 1) {
        const uint32_t client = (uint32_t)__builtin_ctzll(left);
        const uint32_t rank = (client + count - ch->rr_client) % count;
        const uint64_t since = memory_queue_due(ch->queues[client]);
        if (since > first || (since == first && rank > best_rank)) continue;
        first = since;
        best = client;
        best_rank = rank;
    }
    return best;
}

/* pull_stack(), oldest operation first. */
static void pull_oldest(struct channel *ch, uint64_t now)
{
    while (may_accept(ch) && ch->in_free_tick < (now + 1) * ch->ticks_per_cycle) {
        const uint32_t client = oldest(ch);
        if (!accept(ch, now, now * ch->ticks_per_cycle, client, false)) return;
        ch->rr_client = (client + 1) % ch->wire.client_count;
    }
}

/* ---- time ---- */

/* Next due cycle after cycle now. */
static inline uint64_t next_due(const struct channel *ch, uint64_t now)
{
    uint64_t next = dram_channel_next(ch->dram);
    for (uint64_t left = dram_channel_full(ch->dram) ? 0 : *ch->wire.pending; left; left &= left - 1) {
        const uint64_t due = cycle_from(ch, memory_queue_due(ch->queues[__builtin_ctzll(left)]));
        if (due < next) next = due;
    }
    return next > now ? next : now + 1;
}

CHANNEL_HOT void work_next(struct channel *ch, bool basic)
{
    const uint64_t cyc = ch->due_cyc;
    (void)dram_channel_step(ch->dram, cyc);
    if (basic)
        pull_each(ch, cyc, true);
    else
        ch->pull(ch, cyc);
    ch->due_cyc = next_due(ch, cyc);
}

CHANNEL_HOT void work_until(struct channel *ch, uint64_t now, bool basic)
{
    while (ch->due_cyc <= now) work_next(ch, basic);
}

/* Runs of plain reads and writes in a loop of their own, other cycles one by one. */
static void work_in_window(struct channel *ch, uint64_t now)
{
    while (ch->work_reads(ch, now) <= now) work_next(ch, true);
}

/* Simulates every cycle that is due by now. */
static void work(struct channel *ch, uint64_t now)
{
    if (ch->windowed && ch->basic)
        work_in_window(ch, now);
    else if (ch->basic)
        work_until(ch, now, true);
    else
        work_until(ch, now, false);
}

/* Cycle of the next activation; deferred where that is unobservable. */
static uint64_t visit_cyc(const struct channel *ch)
{
    const uint64_t due = ch->due_cyc;
    if (!ch->slack_cyc || *ch->wire.exact_accept || due == DRAM_NEVER) return due;
    const uint64_t last = engine_unwatched_until(ch->wire.engine, ch->wire.domain) - 1;
    if (due + ch->slack_cyc <= last) return due + ch->slack_cyc;
    return due > last ? due : last;
}

static void wake(void *self, uint64_t now)
{
    struct channel *ch = self;
    work(ch, now);
    if (ch->windowed)
        channel_visit_before(ch, now * ch->ticks_per_cycle / ch->wire.client_ticks_per_cycle + 1);
    else if (ch->due_cyc != DRAM_NEVER)
        engine_wake(ch->wire.engine, ch->component, visit_cyc(ch));
}

void channel_on_first_op(struct channel *ch, uint64_t ready_tick)
{
    if (dram_channel_full(ch->dram)) return; /* an entry must become free first; that cycle is due already */
    const uint64_t due = cycle_from(ch, ready_tick);
    if (due >= ch->due_cyc) return;
    ch->due_cyc = due;
    if (ch->windowed) return;
    engine_wake_at_tick(ch->wire.engine, ch->component, visit_cyc(ch) * ch->ticks_per_cycle);
}

void channel_sync(struct channel *ch)
{
    const uint64_t tick = engine_tick(ch->wire.engine);
    if (tick) work(ch, engine_cycles(ch->wire.engine, ch->wire.domain, tick - 1));
    if (ch->due_cyc != DRAM_NEVER)
        engine_wake_at_tick(ch->wire.engine, ch->component, visit_cyc(ch) * ch->ticks_per_cycle);
}

void channel_on_change(struct channel *ch)
{
    const uint64_t now = engine_now(ch->wire.engine, ch->wire.domain);
    uint64_t due = dram_channel_next(ch->dram);
    if (due <= now) due = now + 1;
    if (due >= ch->due_cyc) return;
    ch->due_cyc = due;
    engine_wake(ch->wire.engine, ch->component, due);
}

void channel_finish(struct channel *ch)
{
    struct engine *const e = ch->wire.engine;
    if (ch->wire.only_clients_wait) work(ch, engine_cycles(e, ch->wire.domain, engine_stepped_tick(e)));
    (void)dram_channel_stats(ch->dram);
}

/* ---- lookahead windows ---- */

void channel_in_windows(struct channel *ch, bool on) { ch->windowed = on; }
uint64_t channel_due(const struct channel *ch) { return ch->due_cyc; }

/* Last memory cycle before a cycle of the clients. */
static inline uint64_t last_before(const struct channel *ch, uint64_t client_cyc)
{
    return engine_cycles(ch->wire.engine, ch->wire.domain, client_cyc * ch->wire.client_ticks_per_cycle - 1);
}

/* last_before(), at most the last cycle before statistics are sampled. */
static inline uint64_t last_unwatched(const struct channel *ch, uint64_t client_cyc)
{
    const uint64_t last = last_before(ch, client_cyc);
    const uint64_t unwatched = engine_unwatched_until(ch->wire.engine, ch->wire.domain) - 1;
    return last < unwatched ? last : unwatched;
}

void channel_work_before(struct channel *ch, uint64_t client_cyc)
{
    if (ch->due_cyc != DRAM_NEVER) work(ch, last_unwatched(ch, client_cyc));
}

void channel_visit_before(struct channel *ch, uint64_t client_cyc)
{
    if (ch->due_cyc != DRAM_NEVER && ch->due_cyc <= last_before(ch, client_cyc))
        engine_wake_at_tick(ch->wire.engine, ch->component, ch->due_cyc * ch->ticks_per_cycle);
}

bool channel_work_next(struct channel *ch, uint64_t client_cyc)
{
    if (ch->due_cyc == DRAM_NEVER || ch->due_cyc > last_unwatched(ch, client_cyc)) return false;
    work(ch, ch->due_cyc);
    return true;
}

/* ---- construction ---- */

static void (*pull_of(const struct config *c))(struct channel *ch, uint64_t now)
{
    if (!c->llc.stacks) return pull;
    return c->llc.stack_order == stack_order_oldest ? pull_oldest : pull_stack;
}

static struct wait waits(void *self)
{
    const struct channel *ch = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
    const uint32_t waiting = dram_channel_waiting(ch->dram);
    if (!waiting) return w;
    w.reason = WAIT_QUEUE_EMPTY;
    (void)snprintf(w.detail, sizeof w.detail, "%u columns wait for the banks", waiting);
    return w;
}

/* A client uses the data of a read no earlier than return_cyc - 1 client cycles after the end of the memory
 * cycle of the read. If the memory clock is much slower than the clients' clock, a client could fill its
 * queue (SLICE_EXACT_MARGIN operations) before the channel's next cycle: no slack. */
static uint32_t slack(const struct channel *ch)
{
    const struct channel_wiring *w = &ch->wire;
    if (!w->may_defer || ch->ticks_per_cycle > 4 * w->client_ticks_per_cycle) return 0;
    return (uint32_t)((w->return_cyc - 1) * w->client_ticks_per_cycle / ch->ticks_per_cycle);
}

struct channel *channel_new(struct arena *a, const struct config *c, const struct dram_spec *spec,
                            const struct dram_map *map, const struct channel_wiring *links, const char *name)
{
    struct channel *ch = ARENA_NEW(a, struct channel);
    DIAG_ASSERT(links->client_count <= CHANNEL_CLIENTS_MAX);
    /* Keys of the map are valid keys of the channel model: checked once, not per operation. */
    DIAG_ASSERT(1u << map->width[DRAM_FIELD_BANK] == spec->bank_groups * spec->banks_per_group);
    DIAG_ASSERT(1u << map->width[DRAM_FIELD_COLUMN] == spec->columns);
    *ch = (struct channel){.wire = *links,
                           .pull = pull_of(c),
                           .basic = !c->llc.stacks && !links->copies,
                           .copier_client = UINT32_MAX,
                           .ticks_per_cycle = config_tick_frequency(c) / c->clock.dram,
                           .map = map,
                           .line_mask = ((uint64_t)1 << (map->bits - DRAM_MAP_LINE_BITS)) - 1,
                           .due_cyc = DRAM_NEVER,
                           .port_bytes = c->llc.stacks ? (uint32_t)c->llc.stack_width : 0,
                           .header_bytes = (uint32_t)c->packet.header,
                           .column_bytes = (uint32_t)c->dram.column_size};
    const struct dram_wiring wiring = {.owner = ch,
                                       .done = c->llc.stacks   ? done_stack
                                               : links->copies ? done_copier
                                                               : done};
    ch->dram = dram_channel_new(a, spec, &wiring);
    ch->slack_cyc = slack(ch);
    ch->component = engine_add(
        links->engine, (struct component_spec){
                           .name = name, .self = ch, .domain = links->domain, .wake = wake, .waits = waits});
    return ch;
}

void channel_connect(struct channel *ch, uint32_t k, void *client, const struct memory_queue *queue)
{
    ch->clients[k] = client;
    ch->queues[k] = queue;
}

void channel_connect_copier(struct channel *ch, const struct channel_copier *copier)
{
    DIAG_ASSERT(ch->wire.copies && ch->wire.client_count < CHANNEL_CLIENTS_MAX);
    ch->copier = *copier;
    ch->copier_client = ch->wire.client_count++;
    ch->queues[ch->copier_client] = copier->queue;
}

uint32_t channel_component(const struct channel *ch) { return ch->component; }
struct dram_stats *channel_stats(struct channel *ch) { return dram_channel_stats(ch->dram); }
