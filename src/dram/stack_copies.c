/* stack_copies: see stack_copies.h. Decisions are taken in commit(), after the channels of the cycle. */
#include "dram/stack_copies.h"

#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "dram/channel_inside.h"

enum { CHANNEL_WORDS = (DRAM_STACK_CHANNELS_MAX + 63) / 64 };

struct page_in_stacks {
    struct stack_copies *owner;
    uint64_t from, to, tag;
    uint64_t channels[CHANNEL_WORDS]; /* bit per channel index that the page uses */
    struct dram_copy *copies;         /* [stack] */
    bool announced;                   /* all its pieces have begun: another page may get banks */
    struct page_in_stacks *next;
};

struct stack_copies {
    struct stack_copies_wiring wire;
    uint32_t component, per_stack, lines;
    struct dram_stack **stacks;
    struct page_in_stacks *first,
        **last; /* waiting pages in the order of arrival; last: the end of the list */
    struct page_in_stacks *moving, *free;
    uint32_t *waiting;   /* [channel of a stack] pages that wait for banks */
    bool arrived;        /* pages have been queued since the last begin_pages() */
    uint64_t stacks_cyc; /* the stacks must be stepped then */
    struct arena *arena;
};

/* ---- pieces ---- */

static uint32_t stack_of(const struct stack_copies *c, uint32_t channel) { return channel / c->per_stack; }

/* Adds a line to the last piece of its bank and row, or as a new piece. */
static void add_line(const struct stack_copies *c, struct page_in_stacks *p, uint32_t line)
{
    const uint64_t offset = (uint64_t)line << DRAM_MAP_LINE_BITS;
    const uint64_t from = dram_map_lookup(c->wire.map, p->from + offset),
                   to = dram_map_lookup(c->wire.map, p->to + offset);
    const struct dram_place a = dram_map_unpack(from), b = dram_map_unpack(to);
    const uint64_t from_key = from & DRAM_KEY_MASK, to_key = to & DRAM_KEY_MASK;
    struct dram_copy *copy = &p->copies[stack_of(c, a.channel)];
    DIAG_ASSERT(stack_of(c, a.channel) == stack_of(c, b.channel) && a.channel != b.channel);
    const uint64_t in_bank = ~(((uint64_t)1 << DRAM_COLUMN_BITS) - 1);
    struct dram_piece *piece = NULL;
    for (uint32_t k = 0; k < copy->count && !piece; k++) {
        struct dram_piece *q = &copy->pieces[k];
        if (q->line_count < DRAM_PIECE_LINES && !((q->from[0] ^ from_key) & in_bank) &&
            !((q->to[0] ^ to_key) & in_bank))
            piece = q;
    }
    if (!piece) {
        piece = &copy->pieces[copy->count++];
        *piece = (struct dram_piece){.source = (uint8_t)(a.channel % c->per_stack),
                                     .destination = (uint8_t)(b.channel % c->per_stack)};
    }
    const uint32_t n = piece->line_count++;
    piece->line[n] = line;
    piece->from[n] = from_key;
    piece->to[n] = to_key;
    p->channels[piece->source / 64] |= (uint64_t)1 << piece->source % 64;
    p->channels[piece->destination / 64] |= (uint64_t)1 << piece->destination % 64;
}

static struct page_in_stacks *new_page(struct stack_copies *c)
{
    struct page_in_stacks *p = c->free;
    if (p) {
        c->free = p->next;
    } else {
        p = ARENA_NEW(c->arena, struct page_in_stacks);
        p->copies = ARENA_ARRAY(c->arena, struct dram_copy, c->wire.stack_count);
        for (uint32_t k = 0; k < c->wire.stack_count; k++)
            p->copies[k].pieces = ARENA_ARRAY(c->arena, struct dram_piece, c->lines);
    }
    memset(p->channels, 0, sizeof p->channels);
    p->owner = c;
    p->announced = false;
    p->next = NULL;
    for (uint32_t k = 0; k < c->wire.stack_count; k++)
        p->copies[k] = (struct dram_copy){.pieces = p->copies[k].pieces};
    return p;
}

void stack_copies_begin(struct stack_copies *c, uint64_t from, uint64_t to, uint64_t tag)
{
    struct page_in_stacks *p = new_page(c);
    p->from = from;
    p->to = to;
    p->tag = tag;
    for (uint32_t line = 0; line < c->lines; line++) add_line(c, p, line);
    for (uint32_t k = 0; k < c->wire.stack_count; k++) p->copies[k].tag = (uint64_t)(uintptr_t)p;
    *c->last = p;
    c->last = &p->next;
    c->arrived = true;
    engine_wake_at_tick(c->wire.engine, c->component, engine_tick(c->wire.engine) + 1);
}

/* ---- time ---- */

/* All pieces have begun; *end_cyc: end of the last. */
static bool has_begun(const struct stack_copies *c, const struct page_in_stacks *p, uint64_t *end_cyc)
{
    *end_cyc = 0;
    for (uint32_t k = 0; k < c->wire.stack_count; k++) {
        const struct dram_copy *copy = &p->copies[k];
        if (copy->begun < copy->count) return false;
        if (copy->end_cyc > *end_cyc) *end_cyc = copy->end_cyc;
    }
    return true;
}

/* Adds the channels of the page to those of pages that wait for banks. */
static void count_channels(struct stack_copies *c, const struct page_in_stacks *p, uint32_t pages)
{
    for (uint32_t k = 0; k < c->per_stack; k++)
        if (p->channels[k / 64] >> k % 64 & 1) c->waiting[k] += pages;
}

static bool has_room(const struct stack_copies *c, const struct page_in_stacks *p)
{
    for (uint32_t k = 0; k < c->per_stack; k++)
        if (p->channels[k / 64] >> k % 64 & 1 && c->waiting[k] >= c->wire.ahead) return false;
    return true;
}

static void begin_page(struct stack_copies *c, struct page_in_stacks *p, uint64_t now)
{
    for (uint32_t k = 0; k < c->wire.stack_count; k++)
        if (p->copies[k].count) dram_stack_begin(c->stacks[k], &p->copies[k], now);
    p->next = c->moving;
    c->moving = p;
    c->stacks_cyc = now;
}

/* Begins every page whose channels have room. The first in the queue is not overtaken at its channels. */
static void begin_pages(struct stack_copies *c, uint64_t now)
{
    uint64_t end_cyc;
    memset(c->waiting, 0, c->per_stack * sizeof *c->waiting);
    for (const struct page_in_stacks *p = c->moving; p; p = p->next)
        if (!has_begun(c, p, &end_cyc)) count_channels(c, p, 1);
    for (struct page_in_stacks **at = &c->first, *p; (p = *at);) {
        if (!has_room(c, p)) {
            if (at == &c->first) count_channels(c, p, c->wire.ahead);
            at = &p->next;
            continue;
        }
        count_channels(c, p, 1);
        *at = p->next;
        if (c->last == &p->next) c->last = at;
        begin_page(c, p, now);
    }
}

/* Reports pages whose last transfer is over. */
static void end_pages(struct stack_copies *c, uint64_t now)
{
    uint64_t end_cyc;
    for (struct page_in_stacks **at = &c->moving, *p; (p = *at);) {
        if (!has_begun(c, p, &end_cyc) || end_cyc > now) {
            at = &p->next;
            continue;
        }
        uint64_t wait_cyc = 0;
        for (uint32_t k = 0; k < c->wire.stack_count; k++) wait_cyc += p->copies[k].set_wait_cyc;
        *at = p->next;
        p->next = c->free;
        c->free = p;
        engine_progress(c->wire.engine);
        c->wire.done(c->wire.owner, p->tag, wait_cyc);
    }
}

/* The next cycle with something to do: a step of the stacks, room for a page that waits, the end of a page. */
static uint64_t next_cyc(const struct stack_copies *c, uint64_t now)
{
    uint64_t next = c->stacks_cyc, end_cyc;
    for (const struct page_in_stacks *p = c->moving; p; p = p->next) {
        if (!has_begun(c, p, &end_cyc)) continue;
        if (c->first && !p->announced) return now + 1;
        if (end_cyc < next) next = end_cyc;
    }
    return next;
}

/* Pages have arrived, or all pieces of a page have begun. */
static bool may_begin(struct stack_copies *c)
{
    bool may = c->arrived;
    uint64_t end_cyc;
    c->arrived = false;
    for (struct page_in_stacks *p = c->moving; p; p = p->next) {
        if (p->announced || !has_begun(c, p, &end_cyc)) continue;
        p->announced = may = true;
    }
    return may;
}

static void commit(void *self, uint64_t now)
{
    struct stack_copies *c = self;
    if (may_begin(c)) begin_pages(c, now);
    if (c->stacks_cyc <= now) {
        c->stacks_cyc = ENGINE_NEVER;
        for (uint32_t k = 0; k < c->wire.stack_count; k++) {
            const uint64_t cyc = dram_stack_step(c->stacks[k], now);
            if (cyc < c->stacks_cyc) c->stacks_cyc = cyc;
        }
    }
    end_pages(c, now);
    const uint64_t next = next_cyc(c, now);
    if (next != ENGINE_NEVER) engine_wake(c->wire.engine, c->component, next > now ? next : now + 1);
}

static void wake(void *self, uint64_t now)
{
    (void)self;
    (void)now;
}

static struct wait waits(void *self)
{
    const struct stack_copies *c = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
    uint32_t pages = 0;
    for (const struct page_in_stacks *p = c->first; p; p = p->next) pages++;
    for (const struct page_in_stacks *p = c->moving; p; p = p->next) pages++;
    if (!pages) return w;
    w.reason = WAIT_PAGE_FAULT;
    (void)snprintf(w.detail, sizeof w.detail, "%u pages move in their stacks", pages);
    return w;
}

static void stack_moves(void *owner, const struct dram_copy *copy, uint32_t line, enum dram_hazard hazard)
{
    const struct page_in_stacks *p = (const void *)(uintptr_t)copy->tag; // NOLINT(performance-no-int-to-ptr)
    const struct stack_copies *c = p->owner;
    (void)owner;
    c->wire.moves(c->wire.owner, p->tag, line, hazard);
}

struct stack_place {
    struct stack_copies *copies;
    uint32_t first;
};

static void stack_changed(void *owner, uint32_t channel)
{
    const struct stack_place *s = owner;
    channel_on_change(s->copies->wire.channels[s->first + channel]);
}

struct stack_copies *stack_copies_new(struct arena *a, const struct stack_copies_wiring *wiring)
{
    struct stack_copies *c = ARENA_NEW(a, struct stack_copies);
    *c = (struct stack_copies){.wire = *wiring,
                               .arena = a,
                               .per_stack = wiring->channel_count / wiring->stack_count,
                               .lines = 1u << (wiring->map->page_bits - DRAM_MAP_LINE_BITS),
                               .stacks_cyc = ENGINE_NEVER};
    c->last = &c->first;
    c->waiting = ARENA_ARRAY(a, uint32_t, c->per_stack);
    c->stacks = ARENA_ARRAY(a, struct dram_stack *, wiring->stack_count);
    struct dram_channel *channels[DRAM_STACK_CHANNELS_MAX];
    for (uint32_t s = 0; s < wiring->stack_count; s++) {
        struct stack_place *place = ARENA_NEW(a, struct stack_place);
        *place = (struct stack_place){c, s * c->per_stack};
        for (uint32_t k = 0; k < c->per_stack; k++) channels[k] = wiring->channels[place->first + k]->dram;
        c->stacks[s] = dram_stack_new(
            a, channels, c->per_stack,
            &(struct dram_stack_wiring){
                .owner = place, .changed = stack_changed, .moves = wiring->moves ? stack_moves : NULL});
        STATS_REGISTER(wiring->stats, stack, dram_stack_stats(c->stacks[s]), STATS_EVERYWHERE);
    }
    c->component = engine_add(wiring->engine, (struct component_spec){.name = "gpu0.stacks",
                                                                      .self = c,
                                                                      .domain = wiring->domain,
                                                                      .wake = wake,
                                                                      .commit = commit,
                                                                      .waits = waits});
    return c;
}
