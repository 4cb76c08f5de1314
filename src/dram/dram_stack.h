/* dram_stack: transfers between two channels of one HBM stack (UGPU's PageMove).
 *
 *   channel s: bank ──► column path of its bank group ──► one TSV set ──► column path of a bank group ──► bank: channel d
 *
 * A stack has as many TSV sets as channels; channel k sends its commands and data over set k. Crossbars in the
 * dies connect every bank group to every set. A piece is one or two lines of a row (256 B in UGPU). It moves
 * with one MIGRATION command per line, two command cycles each, over a set that its channel does not use.
 *
 * While a piece moves, four things are busy: both banks, the column paths of both bank groups, and the set.
 * The channel of the set sends no command meanwhile. All other banks and groups serve requests.
 *
 * Rules:
 *  1. A bank serves the older of its oldest request and the piece. The piece then has the bank until it has
 *     moved.
 *  2. A set is idle if its channel has sent no command and moved no data for dram.tsv_idle_cyc cycles.
 *     A set that returns to a channel with requests is idle only after as many cycles without a command.
 *  3. If a copy finds an idle set for each of its pieces (at most one per bank group), its pieces move at the
 *     same time. Otherwise they move one after the other.
 *  4. Pieces of two copies with a common channel do not move at the same time. Copies may wait for their banks
 *     at the same time; of pieces that may begin, those of the older copy go first.
 *  5. A copy that has waited dram.starvation_cyc takes the set of its source channel as soon as the data of
 *     that channel have passed.
 *  6. dram.migration=paper: a piece takes dram.migration_cyc cycles, with all row commands; its banks are
 *     closed afterwards. timed: the rows are opened by commands of their channels; a piece takes the columns
 *     tCCDl apart, tCL and the burst; both rows stay open, and the written bank waits tWR (precharge) and
 *     tWTRl (read).
 *
 * The queue of a channel is unified and has no bank slots: in a drain of writes, writes behind a claimed bank
 * would keep older reads from the bank that the transfer waits for.
 *
 * Contract. All cycles are of the memory clock. The owner steps all channels to cycle t, lets them accept in t,
 * and then calls dram_stack_step(t). Decisions take effect from t+1 on, so the order in which channels are
 * stepped does not matter. A stack without copies costs nothing and changes nothing. */
#ifndef ATOLL_DRAM_STACK_H
#define ATOLL_DRAM_STACK_H

#include "dram/dram.h"

enum { DRAM_STACK_CHANNELS_MAX = 64, DRAM_PIECE_LINES = 2 };

struct dram_stack;

/* One or two lines of a row, and where they go. */
struct dram_piece {
    uint8_t source, destination; /* channels of the stack */
    uint8_t line_count;
    uint32_t line[DRAM_PIECE_LINES];                       /* the owner's numbers */
    uint64_t from[DRAM_PIECE_LINES], to[DRAM_PIECE_LINES]; /* keys of the first columns (dram_key.h) */
    /* of the stack: */
    bool claimed, begun;
    uint64_t ready_cyc; /* first cycle in which only a set was missing; 0: none yet */
    uint64_t end_cyc;   /* once begun: first cycle after the transfer */
};

/* The pieces of a page in a stack. The owner fills the first three fields. */
struct dram_copy {
    struct dram_piece *pieces;
    uint32_t count;
    uint64_t tag;
    /* of the stack: */
    uint32_t begun;
    bool parallel;
    uint64_t since_cyc, end_cyc; /* end_cyc: maximum over the pieces that have begun */
    uint64_t set_wait_cyc;       /* sum over pieces of the time without an idle set */
    struct dram_copy *next;
};

/* Errors of a MIGRATION, for --check: the channel of its source or destination has accepted a write of the
 * line that no command has served yet; a bank is busy. */
enum dram_hazard { DRAM_HAZARD_NONE, DRAM_HAZARD_WRITE_WAITS, DRAM_HAZARD_BANK_BUSY };

struct dram_stack_wiring {
    void *owner;
    /* The stack changed the channel: the channel must be stepped at dram_channel_next(). NULL: none. */
    void (*changed)(void *owner, uint32_t channel);
    /* A line's MIGRATION was decided. NULL: none. */
    void (*moves)(void *owner, const struct dram_copy *copy, uint32_t line, enum dram_hazard hazard);
};

struct dram_stack *dram_stack_new(struct arena *a, struct dram_channel *const *channels, uint32_t count,
                                  const struct dram_stack_wiring *wiring);
/* Begins a copy. Its pieces request their banks with the age of cycle `now`. The copy belongs to the stack
 * until all pieces have begun. Precondition: dram_stack_step(now) follows. */
void dram_stack_begin(struct dram_stack *s, struct dram_copy *copy, uint64_t now);
/* Starts the pieces that may move. Returns the next cycle in which the stack must be stepped; DRAM_NEVER: all
 * pieces of all copies have begun. */
uint64_t dram_stack_step(struct dram_stack *s, uint64_t now);
struct stack_stats *dram_stack_stats(struct dram_stack *s);

#endif
