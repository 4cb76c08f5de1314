/* dram: one HBM channel with its controller.
 *
 *   dram_try_accept ──► staged ──1 cycle──► per-bank queues ──► PRE ─ ACT ─ RD/WR ──► wiring.done
 *        │ refused: stays with its owner          ▲                    (data cycle known at issue)
 *        └───────────── wiring.space ◄────────────┘ an entry became free
 *
 * Above: an LLC slice (or the stream driver of dram_model.c). Below: nothing, the data is not moved.
 *
 * Contract. All cycles are of the memory clock. The owner calls dram_channel_step(ch, now) at, or before, the
 * cycle that dram_channel_next() names, never backwards; additional calls change nothing. What is accepted at
 * cycle t takes part in scheduling from t+1 on, whether step(t) came before or after, so the order of
 * siblings inside a cycle does not matter. A request is owned by the channel from acceptance until
 * wiring.done has been called with its tag.
 *
 * Three structs: dram_spec (immutable, shared by all channels), dram_channel (state), dram_wiring
 * (neighbours). Memory of a channel belongs to the arena given to dram_channel_new(). */
#ifndef ATOLL_DRAM_DRAM_H
#define ATOLL_DRAM_DRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define DRAM_NEVER UINT64_MAX

enum { DRAM_BANKS_MAX = 64, DRAM_GROUPS_MAX = 16, DRAM_ENTRIES_MAX = 1024 };

enum dram_kind { DRAM_READ, DRAM_WRITE };

enum dram_queue_kind {
    DRAM_QUEUE_UNIFIED, /* one queue; reads and writes compete by age */
    DRAM_QUEUE_SPLIT,   /* a read queue and a write buffer that drains between two watermarks */
};

/* When may a waiting request close a row that other waiting requests still hit? */
enum dram_close_rule {
    DRAM_CLOSE_AFTER_HITS, /* when no hit waits, or row_hit_cap columns were served since the activate */
    DRAM_CLOSE_WHEN_OLDER, /* also as soon as it is older than every waiting hit */
};

enum dram_bus_kind {
    DRAM_BUS_DUAL,   /* HBM: one row and one column command per cycle */
    DRAM_BUS_SINGLE, /* one command per cycle, columns first */
};

/* Gaps in memory-clock cycles, by their JEDEC names. */
struct dram_timing {
    uint32_t rc_cyc, rcd_rd_cyc, rcd_wr_cyc, rp_cyc, cl_cyc, wl_cyc, ras_cyc;
    uint32_t rrd_l_cyc, rrd_s_cyc, faw_cyc, rtp_cyc;
    uint32_t ccd_l_cyc, ccd_s_cyc, wtr_l_cyc, wtr_s_cyc, wr_cyc;
    uint32_t bl_cyc;         /* data bus cycles of one column */
    uint32_t turnaround_cyc; /* idle data bus cycles when reads give way to writes */
    uint32_t refi_cyc, rfc_cyc;
    uint32_t act_bus_cyc; /* row bus cycles of an activate, 1 or 2; gaps count from the last one */
};

struct dram_spec {
    uint32_t group_count, banks_per_group, row_count, column_count, column_bytes;
    struct dram_timing timing;
    bool refresh;
    bool refresh_closes_each; /* banks are precharged one by one before a refresh, not by one command for all
                               */
    enum dram_bus_kind bus;
    enum dram_queue_kind queue;
    uint32_t queue_entries;                     /* unified */
    uint32_t read_entries, write_entries;       /* split */
    uint32_t write_high_count, write_low_count; /* split: drain above high, back to reads below low */
    bool bank_slots; /* a request whose activate was sent waits in a slot of its bank, not in the queue */
    uint32_t intake_per_cyc; /* requests that enter the scheduler per cycle; 0 = no limit */
    enum dram_close_rule close_rule;
    uint32_t row_hit_cap;    /* 0 = none */
    uint32_t starvation_cyc; /* a request that has waited so long is served before all else; 0 = never */
};

/* NULL when the spec is sound, else what is wrong with it (a constant text). */
const char *dram_spec_fault(const struct dram_spec *spec);

struct dram_request {
    enum dram_kind kind;
    uint32_t bank; /* group * banks_per_group + bank in group */
    uint32_t row, column;
    uint32_t column_count; /* adjacent columns of one row: 128 B = 2 columns of 64 B. Each takes an entry. */
    uint64_t tag;          /* the owner's; comes back in dram_done */
};

struct dram_done {
    uint64_t tag;
    enum dram_kind kind;
    uint64_t accept_cyc;
    uint64_t done_cyc; /* end of the last data beat; not before the present cycle */
};

enum dram_command_kind { DRAM_ACT, DRAM_PRE, DRAM_PRE_ALL, DRAM_RD, DRAM_WR, DRAM_REF, DRAM_COMMAND_KINDS };

struct dram_command {
    uint64_t cyc; /* first cycle on the command bus */
    enum dram_command_kind kind;
    uint32_t bank, row, column;
};

extern const char *const dram_command_names[DRAM_COMMAND_KINDS];

/* Any member but done may be NULL. They are called from inside dram_channel_step(); done also from
 * dram_try_accept() when a read finds its data in a waiting write. They must not call step. */
struct dram_wiring {
    void *owner;
    void (*done)(void *owner, const struct dram_done *done);
    void (*space)(void *owner); /* an entry became free after a refusal */
    void (*log)(void *owner, const struct dram_command *command);
};

struct dram_counts {
    uint64_t reads, writes; /* columns accepted */
    uint64_t forwarded;     /* read columns served from a waiting write */
    uint64_t merged;        /* write columns absorbed by a waiting write */
    uint64_t refused;       /* offers refused */
    uint64_t row_hits;      /* by the first command that a column needed: none, ... */
    uint64_t row_misses;    /* ... an activate, ... */
    uint64_t row_conflicts; /* ... a precharge */
    uint64_t commands[DRAM_COMMAND_KINDS];
    uint64_t read_latency_cyc; /* sum over read columns, acceptance to end of data */
    uint64_t starved;          /* columns that reached starvation_cyc */
    uint64_t drains;           /* changes to write mode (split queue) */
    uint64_t last_data_cyc;    /* end of the last read data, or issue of the last write */
};

struct dram_channel;

/* The spec must be sound and outlive the channel. */
struct dram_channel *dram_channel_new(struct arena *a, const struct dram_spec *spec,
                                      const struct dram_wiring *wiring);

/* False = refused, nothing changed. */
bool dram_try_accept(struct dram_channel *ch, uint64_t now, const struct dram_request *request);

/* Does what is due at now; returns dram_channel_next(). */
uint64_t dram_channel_step(struct dram_channel *ch, uint64_t now);

/* The next cycle at which step has something to do; DRAM_NEVER when idle (refreshes due while idle are
 * caught up on the next step). */
uint64_t dram_channel_next(const struct dram_channel *ch);

/* Columns accepted and not yet issued. */
uint32_t dram_channel_waiting(const struct dram_channel *ch);
const struct dram_counts *dram_channel_counts(const struct dram_channel *ch);

#endif
