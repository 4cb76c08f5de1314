/* dram_state: the inside of a channel, shared by dram_accept.c and dram_take.h (into the queue),
 * dram_channel.c (the step), dram_pick.h (which column next), dram_rows.h (which bank is opened or closed
 * next), dram_commands.h (what each command does), dram_sched.c (what each bank wants), dram_refresh.c,
 * dram_reads.h (all of it while only reads come) and dram_lists.h (the lists that all of them keep).
 *
 * Every queued column is in one list per (kind, bank), oldest first. Lists of banks name what may be due:
 *   ready[kind]   row open, a column of that kind waits for it and the bank may serve it: oldest first
 *   coming[kind]  the same, but the row is still being opened: in the order of when it will be open
 *   opening       banks whose oldest column wants them opened: oldest first
 *   closing       banks whose oldest column wants their row closed: in the order of when they may be
 * so that the next command is among the first few of a list however many banks are busy, and the earliest
 * cycle of each command is one number per bank, per group and for the channel.
 *
 * A channel is 'plain' when it has one queue, two command buses and no bank slots. Until alarm_cyc nothing
 * special can happen in it (no refresh, nobody starves, nothing is staged), and its step looks at nothing but
 * the two buses. While a bank is claimed by a transfer of a stack (dram_stack.h), or the channel's TSV set is lent
 * to one, alarm_cyc is 0. */
#ifndef ATOLL_DRAM_STATE_H
#define ATOLL_DRAM_STATE_H

#include <stddef.h>

#include "base/diag.h"
#include "dram/dram.h"
#include "dram/dram_key.h"

#define DRAM_NONE   0          /* no line */
#define DRAM_NO_ROW UINT32_MAX /* the bank is closed */

/* Keeps what seldom happens out of the hot path's registers. */
#define DRAM_RARE __attribute__((noinline, cold))
#define DRAM_HOT  __attribute__((always_inline))

/* What a step may meet: anything; what is in a plain channel; the same without longer gaps in bank groups,
 * tFAW and a log; and while no write waits. */
enum dram_path { DRAM_ANY, DRAM_PLAIN, DRAM_LEAN, DRAM_READS };

enum dram_class { DRAM_HIT, DRAM_MISS, DRAM_CONFLICT }; /* by the first command that a column needed */

struct dram_entry {
    uint64_t seq;                    /* age: smaller is older */
    struct dram_entry *next, **from; /* in the list of its bank and kind: the next, and what points to it */
    uint64_t key;                    /* where it is (dram_key.h): equal keys = equal addresses */
    uint64_t accept_cyc;
    uint64_t tag;
    uint64_t visible_cyc; /* the scheduler sees it from then on */
    uint16_t kind;
    uint8_t class;
    bool behind_read; /* a write that an older read of the same address may still precede */
    uint32_t line;    /* index of the line it is part of, DRAM_NONE for a single column */
} __attribute__((aligned(64)));

struct dram_line { /* a request of several columns */
    uint32_t waiting_count;
};

/* What one bank has queued of one kind. */
struct dram_side {
    uint64_t col_cyc; /* earliest column command, as far as the bank decides */
    struct dram_entry *head, **end;
    struct dram_entry *hit; /* the oldest that the open row serves; NULL: it is in no list of sides */
    struct dram_side *before;
    uint64_t seq; /* of the hit, while it is among the ready */
    struct dram_side *after;
    uint32_t group;
} __attribute__((aligned(64)));

struct dram_bank {
    struct dram_side side[2];
    uint64_t act_cyc, pre_cyc;    /* earliest row commands, as far as this bank decides */
    struct dram_entry *row_entry; /* who wants the bank opened or its row closed; NULL: nobody ... */
    struct dram_bank *before;
    uint64_t row_seq; /* ... and its age */
    struct dram_bank *after;
    struct dram_entry *slot; /* the column whose activate opened the row, until served (bank_slots) */
    uint32_t open_row;       /* or DRAM_NO_ROW */
    uint32_t columns_since_act;
    uint64_t unused[8]; /* found by a shift */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct dram_bank) == 256, "each kind and the row in a cache line of its own");

/* Gaps between the first bus cycles of two commands, derived once from the timing. */
struct dram_gaps {
    uint32_t col_s[2][2], col_l[2][2]; /* [first kind][second kind], other group / same group */
    uint32_t act_col[2], act_act, act_act_s, act_act_l, act_four, act_pre;
    uint32_t col_pre[2], pre_act, ref_act, act_bus;
    uint32_t done[2]; /* column command to end of data */
};

enum { DRAM_FILTER_SIZE = 512 };

struct dram_channel {
    struct dram_front front;
    const struct dram_spec *spec;
    struct dram_wiring wiring;
    struct dram_gaps gap;
    bool plain, single_bus, slots; /* from the spec, as what follows */
    bool lean;                     /* see enum dram_path */
    bool groups_columns;           /* the gap between columns of a group is the longer one */
    bool in_turn;                  /* not plain, or the scheduler is shown so many columns per cycle */
    uint32_t row_count, column_count, bank_count, starvation_cyc, row_hit_cap, intake_per_cyc, act_col_min;
    uint32_t hits_most; /* of an activate: fewer close no row that others still hit */
    uint64_t alarm_cyc; /* from then on a step looks at everything; 0 = always */

    /* who waits */
    struct dram_entry *entries;
    struct dram_line *lines;
    uint32_t *free_lines;
    uint32_t free_line_count, entry_count;
    struct dram_entry *free_entries; /* linked through next */
    uint32_t seen[2]; /* queued entries of each kind that the scheduler has been shown (split) */
    /* For stats.waiting_cyc: when the number of those who wait changed last, how long those who left had
     * waited, and how much of the integral has been counted. */
    uint64_t changed_cyc, waited_cyc, counted_integral;
    uint32_t least_room; /* what stats.waiting_peak follows from, in dram_reads.h */
    uint64_t next_seq;
    struct dram_entry *staged, *staged_last; /* accepted, not yet seen by the scheduler; through next */
    uint64_t intake_cyc;                     /* latest cycle that intake was planned for ... */
    uint32_t intake_used;                    /* ... and how many in that cycle */
    uint16_t filter[DRAM_FILTER_SIZE];       /* how many waiting writes hash here */
    bool freed;                              /* an entry, in this step */

    /* what the scheduler considers */
    uint32_t kinds;       /* bit mask of kinds: both when unified, the mode's when split */
    enum dram_kind mode;  /* split */
    bool awake;           /* a request has ever come (split) */
    uint64_t stepped_cyc; /* the last step */
    /* No column/row command can issue before: lower bounds; after a step they are later than that, and a row
     * command is not before its bus is free. */
    uint64_t col_next_cyc, row_next_cyc;
    uint64_t starve_cyc; /* look for a starving request then */
    struct dram_entry *starving;

    /* refresh */
    bool refresh_pending;
    uint64_t refresh_due_cyc;
    uint64_t refresh_cyc; /* pending: its next command, as of the last step */

    /* banks */
    uint64_t slot_mask;
    uint64_t act_chan_cyc, row_bus_cyc;
    uint64_t col_own_cyc[2]; /* earliest column of a kind in the channel; of writes, see dram_chan_cyc() */
    uint64_t read_cyc;       /* the last read command, 0: none */
    uint64_t act_group_cyc[DRAM_GROUPS_MAX], col_group_cyc[2][DRAM_GROUPS_MAX];
    uint64_t act_four_cyc[4]; /* ring: when each of the last four activates leaves the tFAW window */
    uint32_t recent_act_idx;
    uint64_t last_data_cyc;               /* writes and forwarded reads */
    struct dram_side ready[2], coming[2]; /* ends of lists */
    struct dram_bank opening, closing;

    /* transfers of a stack (dram_stack.c) */
    struct dram_entry *claims; /* [bank] a piece as an entry that competes for row commands; NULL: no stack */
    uint64_t wanted;           /* banks with a claim that older requests precede */
    uint64_t claimed;          /* banks that serve their claim, and no request */
    uint64_t lent_until_cyc;   /* the TSV set is lent: no command before; 0: it is not */
    uint64_t transfers_cyc; /* end of the last transfer that uses a bank or the TSV set: no refresh before */
    uint64_t returned_cyc;  /* the TSV set is back, or will be, from its last use by a transfer */

    struct dram_bank banks[DRAM_BANKS_MAX];
};

_Static_assert(offsetof(struct dram_channel, front) == 0, "owners look at the front without a call");

static inline uint64_t dram_max(uint64_t a, uint64_t b) { return a > b ? a : b; }
static inline uint64_t dram_min(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t dram_bit(uint32_t bank) { return UINT64_C(1) << bank; }
static inline uint32_t dram_first(uint64_t mask) { return (uint32_t)__builtin_ctzll(mask); }

static inline void dram_count_coming(struct dram_channel *ch, uint64_t now, uint32_t columns)
{
    ch->changed_cyc = now;
    stats_peak(&ch->front.stats.waiting_peak, ch->front.stats.waiting += columns);
}

static inline void dram_count_leaving(struct dram_channel *ch, uint64_t now, uint64_t wait_cyc)
{
    ch->waited_cyc += wait_cyc;
    ch->changed_cyc = now;
    ch->front.stats.waiting--;
}

/* Earliest cycle of a column command of this kind in the channel. The turnaround to writes is worked out when
 * there are any. */
static inline uint64_t dram_chan_cyc(const struct dram_channel *ch, uint32_t kind)
{
    const uint64_t cyc = ch->col_own_cyc[kind];
    if (kind == DRAM_READ || !ch->read_cyc) return cyc;
    return dram_max(cyc, ch->read_cyc + ch->gap.col_s[DRAM_READ][DRAM_WRITE]);
}

/* Earliest cycle of a column command of this kind to this (open) bank. */
static inline uint64_t dram_column_cyc(const struct dram_channel *ch, uint32_t kind,
                                       const struct dram_side *side)
{
    return dram_max(dram_max(side->col_cyc, ch->col_group_cyc[kind][side->group]), dram_chan_cyc(ch, kind));
}

static inline uint64_t dram_activate_cyc(const struct dram_channel *ch, const struct dram_bank *b)
{
    return dram_max(dram_max(b->act_cyc, ch->act_group_cyc[b->side[0].group]), ch->act_chan_cyc);
}

/* ---- addresses ---- */

static inline uint32_t dram_row(const struct dram_entry *e) { return dram_key_row(e->key); }
static inline uint32_t dram_bank_of(const struct dram_entry *e) { return dram_key_bank(e->key); }
static inline uint32_t dram_column(const struct dram_entry *e) { return dram_key_column(e->key); }

/* Neighbouring columns and rows fall on different counters. */
static inline uint32_t dram_filter_slot(uint64_t key)
{
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 55);
}

/* An entry of this kind's queue is taken or given back. */
static inline uint32_t *dram_room(struct dram_channel *ch, uint32_t kind)
{
    return &ch->front.room[kind & (uint32_t)ch->front.split];
}

/* When a plain channel has to be stepped: for a column or what is special. Row commands wait for the next
 * step (rows_before() in dram_channel.c), but none of them may bring a column before it. */
static inline uint64_t dram_due_cyc(const struct dram_channel *ch)
{
    const uint64_t row_cyc = ch->row_next_cyc;
    return dram_min(dram_min(ch->col_next_cyc, ch->alarm_cyc),
                    row_cyc == DRAM_NEVER ? DRAM_NEVER : row_cyc + ch->act_col_min);
}

static inline bool dram_is_claimed(const struct dram_channel *ch, const struct dram_bank *b)
{
    return ch->claimed && ch->claimed >> (b - ch->banks) & 1;
}

/* dram_sched.c */
struct dram_entry *dram_oldest_of(const struct dram_channel *ch,
                                  const struct dram_bank *b);         /* of ch->kinds */
void dram_bank_changed(struct dram_channel *ch, struct dram_bank *b); /* what does its oldest want? */
void dram_starvation_look(struct dram_channel *ch, uint64_t now);
/* The older read of its address that a write must let go first, or NULL. */
struct dram_entry *dram_read_before(struct dram_channel *ch, struct dram_entry *write);
/* split queue: reads or writes next? */
void dram_mode_change(struct dram_channel *ch);

struct dram_gaps dram_spec_gaps(const struct dram_spec *spec); /* dram_spec.c */

/* dram_accept.c */
void dram_admit(struct dram_channel *ch, uint64_t now); /* staged columns that are due join the queue */
/* The bank of a column that has joined its queue may want something else, from that cycle on: when it is the
 * first there, or the first that the open row serves. */
void dram_joined(struct dram_channel *ch, struct dram_entry *e, struct dram_bank *b, uint64_t from_cyc);
/* Columns, counted already, that may have to enter the scheduler in their turn, or change what it wants. */
bool dram_take_in_turn(struct dram_channel *ch, uint64_t now, uint32_t kind, uint64_t key, uint32_t columns,
                       uint64_t tag);

/* A write of the column waits for its command. */
bool dram_write_waits(const struct dram_channel *ch, uint64_t key);

/* dram_channel.c */
uint64_t dram_idle(struct dram_channel *ch); /* nothing waits: until when */
const struct dram_entry *dram_serve_write(struct dram_channel *ch, uint64_t now,
                                          struct dram_side *ready); /* in a plain channel */
void dram_log(struct dram_channel *ch, uint64_t cyc, enum dram_command_kind kind, uint32_t bank, uint32_t row,
              uint32_t column);

/* dram_refresh.c */
void dram_refresh_run(struct dram_channel *ch, uint64_t upto); /* every refresh command due until then */
uint64_t dram_refresh_next(const struct dram_channel *ch);

static inline bool dram_mode_stale(const struct dram_channel *ch)
{
    if (!ch->front.split || !ch->awake) return false;
    const uint32_t reads = ch->seen[DRAM_READ], writes = ch->seen[DRAM_WRITE];
    if (ch->mode == DRAM_READ) return writes > ch->spec->write_high || !reads;
    return writes < ch->spec->write_low && reads;
}

#endif
