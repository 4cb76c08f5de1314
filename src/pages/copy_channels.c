/* copy_channels: copies a page over the buses of its channels (UGPU-Soft): a read of every line on the channel of
 * the old frame, then a write on the channel of the new frame. Lines wait between both in a buffer of
 * pages.copy_lines lines. No line crosses a network. All lines of the page are in memory when the copy begins
 * (life.c evicts them from the slices).
 *
 *   copy() ──► reads ──► channel ──► data at the pins ──► writes ──► channel accepts ──► line is done
 *
 * Replies of channels are collected and served in commit(), sorted, so the order in which channels are simulated
 * does not change results. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "check/check.h"
#include "dram/channel.h"
#include "pages/pages_private.h"

/* A line in the buffer. */
struct copied_line {
    struct page_copy *copy;
    uint32_t line; /* of the page */
    uint32_t next; /* free line */
};

/* Reads that have data, and writes that were accepted. */
struct reply {
    uint64_t tick;
    uint32_t slot;
    bool written;
};

struct copy_queue {
    struct copy_channels *owner;
    struct memory_queue ops;
    struct channel *channel;
    uint64_t *pending;
};

struct copy_channels {
    struct page_life *life;
    uint32_t component, columns, ring_mask, free;
    uint64_t ticks_per_cycle;
    struct copy_queue *queues; /* [channel] */
    struct copied_line *buffer;
    struct reply *replies; /* in no order */
    uint32_t reply_count, reply_capacity;
    struct page_copy *first, *last; /* copies with lines to read */
};

enum { NO_SLOT = UINT32_MAX };

static void push(const struct copy_channels *s, uint32_t channel, const struct memory_op *op)
{
    struct copy_queue *q = &s->queues[channel];
    struct memory_queue *ops = &q->ops;
    const size_t at = (size_t)(ops->front - ops->ring) + ops->count;
    ops->ring[at & s->ring_mask] = *op;
    ops->ring[(at + 1) & s->ring_mask].ready_tick = ENGINE_NEVER;
    if (ops->count++) return;
    *q->pending |= (uint64_t)1 << s->life->wire.clients;
    channel_on_first_op(q->channel, op->ready_tick);
}

static struct home home_of(const struct copy_channels *s, uint64_t frame, uint32_t line)
{
    return pages_home(s->life->pages, frame + (uint64_t)line * LINE_BYTES);
}

/* Reads lines while the buffer has room. */
static void read_lines(struct copy_channels *s)
{
    const uint64_t ready_tick = engine_tick(s->life->wire.engine) + 1;
    while (s->first && s->free != NO_SLOT) {
        struct page_copy *c = s->first;
        const uint32_t slot = s->free;
        const struct home home = home_of(s, c->from, c->sent);
        s->free = s->buffer[slot].next;
        s->buffer[slot] = (struct copied_line){.copy = c, .line = c->sent};
        push(s, home.channel,
             &(struct memory_op){.line = home.line,
                                 .tag_line = slot,
                                 .column_count = (uint8_t)s->columns,
                                 .ready_tick = ready_tick});
        s->life->stats->copied_lines++;
        s->life->stats->copied_columns += s->columns;
        if (++c->sent == s->life->lines) s->first = c->next;
    }
}

static void copy(void *self, struct page_copy *c)
{
    struct copy_channels *s = self;
    c->next = NULL;
    *(s->first ? &s->last->next : &s->first) = c;
    s->last = c;
}

static void advance(void *self) { read_lines(self); }

/* ---- replies of channels ---- */

static void add_reply(struct copy_channels *s, uint32_t slot, bool written, uint64_t tick)
{
    s->replies = grow(s->replies, s->reply_count, &s->reply_capacity, sizeof *s->replies, "pages that move");
    s->replies[s->reply_count++] = (struct reply){tick, slot, written};
    engine_wake_at_tick(s->life->wire.engine, s->component, tick);
}

static void accepted(void *queue, uint64_t tick)
{
    struct copy_queue *q = queue;
    struct memory_queue *ops = &q->ops;
    const struct memory_op op = *ops->front;
    if (++ops->front == ops->end) ops->front = ops->ring;
    if (!--ops->count) *q->pending &= ~((uint64_t)1 << q->owner->life->wire.clients);
    if (memory_op_is_write(&op)) add_reply(q->owner, op.move - 1, true, tick);
}

static void done(void *queue, uint64_t tag, uint64_t tick)
{
    add_reply(((struct copy_queue *)queue)->owner, channel_tag_line(tag), false, tick);
}

static int by_tick(const void *a, const void *b)
{
    const struct reply *l = a, *r = b;
    if (l->tick != r->tick) return l->tick < r->tick ? -1 : 1;
    if (l->slot != r->slot) return l->slot < r->slot ? -1 : 1;
    return l->written - r->written;
}

static void write_line(const struct copy_channels *s, uint32_t slot, uint64_t tick)
{
    const struct copied_line *b = &s->buffer[slot];
    const struct home home = home_of(s, b->copy->to, b->line);
    push(s, home.channel,
         &(struct memory_op){.line = home.line,
                             .tag_line = MEMORY_OP_WRITE,
                             .column_count = (uint8_t)s->columns,
                             .ready_tick = tick + 1,
                             .move = slot + 1});
}

static void end_line(struct copy_channels *s, uint32_t slot)
{
    struct copied_line *b = &s->buffer[slot];
    struct page_copy *c = b->copy;
    life_check_line(s->life, c, b->line, NULL);
    b->next = s->free;
    s->free = slot;
    if (++c->done == s->life->lines) life_copied(s->life, c->move);
}

static void commit(void *self, uint64_t now)
{
    struct copy_channels *s = self;
    const uint64_t tick = now * s->ticks_per_cycle;
    uint32_t served = 0;
    if (s->reply_count) qsort(s->replies, s->reply_count, sizeof *s->replies, by_tick);
    for (; served < s->reply_count && s->replies[served].tick <= tick; served++) {
        const struct reply r = s->replies[served];
        if (r.written)
            end_line(s, r.slot);
        else
            write_line(s, r.slot, tick);
    }
    s->reply_count -= served;
    memmove(s->replies, s->replies + served, s->reply_count * sizeof *s->replies);
    if (served) engine_progress(s->life->wire.engine);
    read_lines(s);
    if (s->reply_count) engine_wake_at_tick(s->life->wire.engine, s->component, s->replies[0].tick);
}

static void wake(void *self, uint64_t now)
{
    (void)self;
    (void)now;
}

static void free_replies(void *self) { free(((struct copy_channels *)self)->replies); }

struct page_copier copy_channels_new(struct arena *a, const struct config *c, struct page_life *l)
{
    struct copy_channels *s = ARENA_NEW(a, struct copy_channels);
    *s = (struct copy_channels){.life = l,
                                .columns = LINE_BYTES / (uint32_t)c->dram.column_size,
                                .ticks_per_cycle = config_tick_frequency(c) / c->clock.dram};
    while (s->ring_mask <= 2 * c->pages.copy_lines) s->ring_mask = 2 * s->ring_mask + 1;
    s->buffer = ARENA_ARRAY(a, struct copied_line, c->pages.copy_lines);
    for (uint32_t k = 0; k < c->pages.copy_lines; k++)
        s->buffer[k].next = k + 1 < c->pages.copy_lines ? k + 1 : NO_SLOT;
    const uint32_t channels = (uint32_t)config_channels(c);
    s->queues = ARENA_ARRAY(a, struct copy_queue, channels);
    for (uint32_t k = 0; k < channels; k++) {
        struct copy_queue *q = &s->queues[k];
        struct memory_op *ring = ARENA_ARRAY(a, struct memory_op, s->ring_mask + 1);
        ring[0].ready_tick = ENGINE_NEVER;
        *q = (struct copy_queue){.owner = s,
                                 .ops = {.front = ring, .ring = ring, .end = ring + s->ring_mask + 1},
                                 .channel = l->wire.channels[k],
                                 .pending = &l->wire.pending[k]};
        channel_connect_copier(
            q->channel,
            &(struct channel_copier){.self = q, .queue = &q->ops, .accepted = accepted, .done = done});
    }
    s->component = engine_add(
        l->wire.engine,
        (struct component_spec){
            .name = "gpu0.copies", .self = s, .domain = l->wire.dram_domain, .wake = wake, .commit = commit});
    return (struct page_copier){.self = s, .copy = copy, .advance = advance, .release = free_replies};
}
