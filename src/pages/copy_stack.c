/* copy_stack: copies a page inside its memory stacks (PageMove, dram/stack_copies.h). All lines of the page are
 * in memory when the copy begins (life.c evicts them from the slices). */
#include "check/check.h"
#include "dram/stack_copies.h"
#include "pages/pages_private.h"

struct copy_stack {
    struct page_life *life;
    struct stack_copies *stacks;
};

static void copied(void *owner, uint64_t move, uint64_t set_wait_cyc)
{
    const struct copy_stack *s = owner;
    s->life->moves[move]->copy.set_wait_cyc = set_wait_cyc;
    life_copied(s->life, (uint32_t)move);
}

static void moves(void *owner, uint64_t move, uint32_t line, enum dram_hazard hazard)
{
    const struct copy_stack *s = owner;
    static const char *const texts[] = {
        [DRAM_HAZARD_WRITE_WAITS] = "the line moves while a write of it waits for its command",
        [DRAM_HAZARD_BANK_BUSY] = "the line moves while one of its banks is busy"};
    life_check_line(s->life, &s->life->moves[move]->copy, line, texts[hazard]);
}

static void copy(void *self, struct page_copy *c)
{
    const struct copy_stack *s = self;
    stack_copies_begin(s->stacks, c->from, c->to, c->move);
}

static void advance(void *self) { (void)self; }

struct page_copier copy_stack_new(struct arena *a, const struct config *c, struct page_life *l)
{
    struct copy_stack *s = ARENA_NEW(a, struct copy_stack);
    s->life = l;
    s->stacks =
        stack_copies_new(a, &(struct stack_copies_wiring){.engine = l->wire.engine,
                                                          .domain = l->wire.dram_domain,
                                                          .stats = l->wire.stats,
                                                          .map = l->wire.map,
                                                          .channels = l->wire.channels,
                                                          .channel_count = (uint32_t)config_channels(c),
                                                          .stack_count = c->map.stacks,
                                                          .ahead = c->pages.copies_ahead,
                                                          .owner = s,
                                                          .done = copied,
                                                          .moves = l->wire.check ? moves : NULL});
    return (struct page_copier){.self = s, .copy = copy, .advance = advance};
}
