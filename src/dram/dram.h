/* dram: one HBM channel with its controller.
 *
 *   dram_try_accept ──► staged ──1 cycle──► per-bank queues ──► PRE ─ ACT ─ RD/WR ──► wiring.done
 *        │ refused: stays with its owner          ▲                    (data cycle known at issue)
 *        └───────────── wiring.space ◄────────────┘ an entry became free
 *
 * Above: channel.c, which accepts for the LLC slices (or the stream driver of dram_model.c). Below: nothing,
 * the data is not moved.
 *
 * Contract. All cycles are of the memory clock. The owner calls dram_channel_step(ch, now) at, or before, the
 * cycle that dram_channel_next() names, never backwards; additional calls change nothing. What is accepted at
 * cycle t takes part in scheduling from t+1 on, whether step(t) came before or after, so the order of
 * siblings inside a cycle does not matter. Activates and precharges between two steps are made up for by the
 * second one, in their own cycles: log and statistics get them late, but in order. A request is owned by the
 * channel from acceptance until wiring.done has been called with its tag.
 *
 * Three structs: dram_spec (immutable, shared by all channels), dram_channel (state), dram_wiring
 * (neighbours). Memory of a channel belongs to the arena given to dram_channel_new(). */
#ifndef ATOLL_DRAM_DRAM_H
#define ATOLL_DRAM_DRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "config/config.h"
#include "stats/stats.h"

#define DRAM_NEVER UINT64_MAX

enum { DRAM_BANKS_MAX = 64, DRAM_GROUPS_MAX = 16 };
enum { DRAM_LINE_BYTES = 128, DRAM_MIGRATION_CYCLES = 2 }; /* of a MIGRATION: bytes moved, command cycles */

enum dram_kind { DRAM_READ, DRAM_WRITE };

/* The rows of dram_params.def: organisation, timing in memory-clock cycles, controller. */
struct dram_spec {
#define SECTION(section, help)
#define PARAM(section, name, type, default_, min, max, unit, help) param_##type name;
#define CHOICE(section, name, list, default_, help)                enum list name;
#define END_SECTION(section)
#include "dram/dram_params.def"
#undef SECTION
#undef PARAM
#undef CHOICE
#undef END_SECTION
};

struct dram_spec dram_spec_of(const struct config *c);
/* Bytes per cycle when every data bus cycle carries data. */
double dram_spec_peak(const struct dram_spec *spec);
/* NULL when the spec is sound, else what is wrong with it (a constant text). */
const char *dram_spec_fault(const struct dram_spec *spec);

struct dram_request {
    enum dram_kind kind;
    uint32_t bank; /* group * banks_per_group + bank in group */
    uint32_t row, column;
    uint32_t column_count; /* 1 to 64 adjacent columns of one row: 128 B = 2 of 64 B. Each takes an entry. */
    uint64_t tag;          /* the owner's; comes back when it is done */
};

enum dram_command_kind {
    DRAM_ACT,
    DRAM_PRE,
    DRAM_PRE_ALL,
    DRAM_RD,
    DRAM_WR,
    DRAM_REF,
    DRAM_MIGRATE,
    DRAM_COMMAND_KINDS
};

/* The resources of a channel that a MIGRATION uses (dram_stack.h). */
enum dram_role { DRAM_ROLE_SOURCE, DRAM_ROLE_DESTINATION, DRAM_ROLE_SET };

struct dram_command {
    uint64_t cyc; /* first cycle on the command bus */
    enum dram_command_kind kind;
    uint32_t bank, row, column;
    enum dram_role role; /* MIGRATION: */
    uint64_t end_cyc;    /* first cycle after the transfer that the command is part of */
};

extern const char *const dram_command_names[DRAM_COMMAND_KINDS];

/* Any member but done may be NULL. They are called from inside dram_channel_step(); done also from
 * dram_try_accept() when a read finds its data in a waiting write. They must not call step. */
struct dram_wiring {
    void *owner;
    /* done_cyc: end of the last data beat; not before the present cycle */
    void (*done)(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc, uint64_t done_cyc);
    void (*space)(void *owner); /* an entry became free after a refusal */
    /* In order of time, but a MIGRATION is logged when it is decided. */
    void (*log)(void *owner, const struct dram_command *command);
};

struct dram_channel;

/* The first member of struct dram_channel: the fields that its owner reads often. */
struct dram_front {
    uint64_t next_cyc;
    uint32_t room[2];        /* free entries of each kind's queue; [0] of both kinds' when unified */
    uint32_t waiting_writes; /* in the queue or before it */
    bool split;              /* each kind has a queue of its own */
    bool refused;            /* the owner waits for a free entry */
    struct dram_stats stats;
};

/* The spec must be sound and outlive the channel. */
struct dram_channel *dram_channel_new(struct arena *a, const struct dram_spec *spec,
                                      const struct dram_wiring *wiring);

/* False = refused, nothing changed. */
bool dram_try_accept(struct dram_channel *ch, uint64_t now, const struct dram_request *request);

/* Takes the place as a key (dram_key.h). Precondition: the key is of this channel. */
bool dram_try_read(struct dram_channel *ch, uint64_t now, uint64_t key, uint32_t column_count, uint64_t tag);
bool dram_try_write(struct dram_channel *ch, uint64_t now, uint64_t key, uint32_t column_count, uint64_t tag);

/* True: the channel would refuse a request of so many columns, whatever its address and kind, and has counted it as
 * refused. False: dram_try_accept() decides. The owner need not compute the address. */
static inline bool dram_try_refuse(struct dram_channel *ch, uint32_t column_count)
{
    struct dram_front *f = (struct dram_front *)ch;
    /* a waiting write may hold columns of it; a split queue may have room for its kind */
    if (column_count <= f->room[0] || f->waiting_writes || f->split) return false;
    f->stats.refused++;
    f->refused = true;
    return true;
}

/* An offer was refused, and no entry has become free since. */
static inline bool dram_channel_full(const struct dram_channel *ch)
{
    return ((const struct dram_front *)ch)->refused;
}

/* Does what is due at now; returns dram_channel_next(). */
uint64_t dram_channel_step(struct dram_channel *ch, uint64_t now);

/* The next cycle at which step has something to do; DRAM_NEVER when idle (refreshes due while idle are
 * caught up on the next step). */
static inline uint64_t dram_channel_next(const struct dram_channel *ch)
{
    return ((const struct dram_front *)ch)->next_cyc;
}

/* Columns accepted and not yet issued. */
uint32_t dram_channel_waiting(const struct dram_channel *ch);
/* End of the last read data or cycle of the last write command, whichever is later. */
uint64_t dram_channel_last_data(const struct dram_channel *ch);
/* For STATS_REGISTER; the channel counts in it. waiting_cyc is complete when this is called, or when it
 * idles. */
struct dram_stats *dram_channel_stats(struct dram_channel *ch);

#endif
