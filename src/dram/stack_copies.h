/* stack_copies: copies of pages inside the memory stacks of a chiplet, as a component of the memory clock.
 *
 *   stack_copies_begin() ──► queue ──► pieces of every stack ──► dram_stack_step() ──► wiring.done()
 *
 * A page has as many pieces in every stack as its lines make there: two lines that follow each other in a row
 * are one piece. Two pages with a common channel do not move at the same time, but `ahead` pages per channel get
 * their banks at the same time, so that a page finds them ready when the page before it has moved. Pages go in
 * the order of stack_copies_begin(); a page whose channels have too many pages is overtaken, unless it is the
 * first in the queue. */
#ifndef ATOLL_DRAM_STACK_COPIES_H
#define ATOLL_DRAM_STACK_COPIES_H

#include "dram/channel.h"
#include "dram/dram_stack.h"

struct stack_copies;

struct stack_copies_wiring {
    struct engine *engine;
    uint32_t domain; /* of memory */
    struct stats_registry *stats;
    const struct dram_map *map;
    struct channel *const *channels; /* of the chiplet; registered with the engine before */
    uint32_t channel_count, stack_count;
    uint32_t ahead; /* pages per channel of a stack whose pieces have not all begun */
    void *owner;
    /* All lines of the copy have moved. tsv_wait_cyc: sum over its pieces, memory cycles. */
    void (*done)(void *owner, uint64_t tag, uint64_t tsv_wait_cyc);
    /* A line moves now; see dram_stack_wiring. NULL: none. */
    void (*moves)(void *owner, uint64_t tag, uint32_t line, enum dram_hazard hazard);
};

struct stack_copies *stack_copies_new(struct arena *a, const struct stack_copies_wiring *wiring);
/* Copies the frame at address `from` to the frame at `to`. In a message or between two runs of the engine. */
void stack_copies_begin(struct stack_copies *c, uint64_t from, uint64_t to, uint64_t tag);

#endif
