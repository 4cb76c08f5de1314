/* Shared by the files of pages/ only: the records of pages that may move, and the moves.
 *
 *   track.c: pages_stops() --request--> life.c: answer --> queue --start--> active --go_on--> end
 *            end_interval() ---migrate------------------->
 *
 * A migrate or collapse locks the page for all SMs (page->move), a replica for the SMs of its node
 * (page->copying). */
#ifndef ATOLL_PAGES_PRIVATE_H
#define ATOLL_PAGES_PRIVATE_H

#include "pages/pages.h"
#include "policy/migration/migration.h"
#include "policy/page_replication/page_replication.h"

struct page_move;

/* The record of a page that SMs have accessed. */
struct page {
    uint64_t key;
    uint32_t in_flight;     /* requests of SMs to the page */
    struct page_move *move; /* the migration or collapse that locks the page for all SMs; NULL: none */
    uint64_t *waiting;      /* bit per SM of the machine whose lookup is parked in its MMU */
    /* migration; NULL without it */
    uint32_t *accesses; /* [node] requests in this interval */
    bool listed;        /* in the list of pages with accesses */
    uint64_t rests;     /* first interval at whose end the page may migrate again */
    bool queued;        /* a migration waits for the driver; no replica is requested until it starts */
    /* replication; NULL without it */
    uint64_t *replicated; /* bit per node that has a replica */
    uint64_t *copying;    /* bit per node whose replica is pending */
    uint32_t replicas, pending;
    bool written;         /* in this kernel */
    bool no_replicas;     /* no more replicas in this kernel */
    uint64_t written_cyc; /* first store, if `written` */
    uint16_t colour;      /* of the frame; pages.copier only */
    bool context;         /* of a block: stays, and is no access of the program; pages.copier only */
    uint32_t changes;     /* page_owner.changes when it got its frame; pages.faulting=all only */
};

/* The masks of an application and its pages, see owned.c. */
struct page_owner {
    uint64_t owned, gained; /* bit per colour; gained 0: none, or cleared */
    uint32_t changes;       /* of the masks */
    uint32_t locked;        /* pages locked because they must move */
    struct owner_stats stats;
};

/* A copy of a page to its new frame. */
struct page_copy {
    uint32_t move; /* argument of life_copied() */
    uint64_t key, from, to;
    uint32_t node; /* that gets the page */
    bool takes;    /* a migration: the old home keeps no line */
    /* the copier's own state */
    uint32_t sent, done; /* lines */
    uint64_t set_wait_cyc;
    struct page_copy *next;
};

/* How the bytes of a page reach their new frame; copy_network.c, copy_stack.c, copy_channels.c, copy_engine.c. */
struct page_copier {
    void *self;
    /* Begins a copy. The copier calls life_copied() when memory has accepted the last line. In a message. */
    void (*copy)(void *self, struct page_copy *copy);
    /* The end of every message of this room: the copier continues copies that wait for a slot. A copier that
     * needs a message calls life_act_soon(). */
    void (*advance)(void *self);
    /* Memory has accepted a line; NULL: slices write no lines for this copier. */
    void (*line_done)(void *self, struct page_copy *copy);
    void (*release)(void *self); /* frees memory that is not the arena's; NULL: none */
};

enum move_kind { MOVE_MIGRATE, MOVE_REPLICATE, MOVE_COLLAPSE, MOVE_FOLLOW };

struct page_move {
    struct page *page;
    struct page_move *next; /* in a queue, or in the free list */
    struct page_copy copy;  /* not for a collapse */
    uint64_t begin_cyc;     /* the driver began */
    uint32_t idx;           /* in life->moves */
    uint32_t node;          /* that gets the page or the replica */
    uint8_t kind;           /* enum move_kind */
    bool drained;           /* requests in flight and pending replicas are zero */
    bool paid;              /* the driver's time has passed */
    bool due;               /* in life->due */
    bool begun;             /* the copy has begun */
    bool copied;            /* the copy is complete */
    /* MOVE_FOLLOW: */
    uint32_t colour;      /* of the new frame */
    uint32_t evicted;     /* lines that have left the slices of the old frame */
    uint32_t write_backs; /* of these: not yet accepted by memory */
    uint64_t lock_cyc;    /* the page was locked */
};

struct move_queue {
    struct page_move *first, *last;
};

/* A demand of an SM, answered in the next message together with the others of its cycle. */
struct page_request {
    struct page *page;
    uint32_t node;
    enum move_kind kind;
};

struct page_life {
    struct pages *pages;
    struct pages_wiring wire;
    struct arena *arena;
    struct page_copier copier;
    uint32_t component, lines, sm_count, sms_per_gpu,
        words; /* lines: of a page; words: of a bit set of SMs */
    struct migration migration;
    const struct page_replication_ops *replication;
    bool migrates;         /* the policy moves pages */
    bool replicates;       /* pages have replicas: on request or at touches */
    bool touch_replicates; /* replicas appear at touches and outlive their kernel */
    uint64_t interval_cyc, cost_cyc;
    bool slices_keep_remote_lines; /* slices keep lines of frames in other chiplets */
    uint32_t cool_down;            /* intervals */
    struct map records;            /* key to struct page */
    struct page **listed;          /* pages with accesses in this interval */
    uint32_t listed_count, listed_capacity;
    struct page_request *requests;
    uint32_t request_count, request_capacity;
    struct page_move **moves; /* [idx] */
    uint32_t move_count, move_capacity, move_limit, active;
    uint32_t unpaid;        /* active moves whose driver time has not passed */
    struct page_move **due; /* moves that can proceed, in no order */
    uint32_t due_count, due_capacity;
    struct page **replicated; /* pages that have had replicas in this kernel */
    uint32_t replicated_count, replicated_capacity;
    uint64_t *released; /* scratch: bit per SM of a GPU */
    struct page_move *free;
    struct move_queue queue; /* moves that wait for the driver */
    uint64_t acts_cyc;       /* cycle of the pending MESSAGE_ACT */
    bool ticking;            /* a MESSAGE_INTERVAL is pending */
    /* pages.copier */
    bool follows;
    bool all_fault; /* every page gets another frame after a change (pages.faulting=all) */
    bool spreads;   /* pages.gained=spread */
    struct page_owner owners[PAGES_APPS];
    uint32_t fault_limit, fault_interval_cyc;
    uint64_t fault_cyc;
    uint64_t driver_cyc; /* the driver takes the next fault then */
    bool driver_pending; /* a MESSAGE_DRIVER is pending */
    uint64_t interval;   /* number of the present interval */
    struct pages_stats *stats;
};

/* ---- table.c: the only functions that change the mapping after placement ---- */

/* A free frame of exactly this colour. False: there is none, or the application does not own the colour. */
bool table_try_frame(struct pages *p, uint32_t app, uint32_t colour, uint64_t *frame);
void table_give_frame(struct pages *p, uint64_t frame);
/* The page gets another frame; its old frame is free. */
void table_move(struct pages *p, uint64_t key, uint64_t to);
void table_add_replica(struct pages *p, uint64_t key, uint32_t node, uint64_t frame);
/* The frame of the replica is free. */
void table_drop_replica(struct pages *p, uint64_t key, uint32_t node);
/* The page loses its frame and its replicas. These frames are not used again: slices may hold their lines. */
void table_drop(struct pages *p, uint64_t key);

/* ---- track.c ---- */

/* NULL: no SM has accessed the page. */
struct page *track_find(const struct page_life *l, uint64_t key);
/* The record of the page, made at the first call. */
struct page *track_record(struct page_life *l, uint64_t key);
uint32_t track_home_node(const struct page_life *l, const struct page *page);
/* The interval is over: queues migrations. */
void track_end_interval(struct page_life *l);

static inline bool page_bit(const uint64_t *set, uint32_t bit)
{
    return set && set[bit / 64] >> (bit % 64) & 1;
}

/* ---- life.c ---- */

struct page_life *life_new(struct arena *a, const struct config *c, struct pages *p,
                           const struct pages_wiring *w);
void life_free(struct page_life *l);
/* Sends MESSAGE_ACT for the next cycle unless one is pending. */
void life_act_soon(struct page_life *l);
/* An SM needs a replica or a collapse. */
void life_request(struct page_life *l, struct page *page, uint32_t node, enum move_kind kind);
void life_migrate(struct page_life *l, struct page *page, uint32_t node);
/* The page's allocation was freed: its record becomes that of a page without accesses. False: the page moves or has
 * requests in flight, and nothing changes. */
bool life_drop(struct page_life *l, uint64_t key);
/* The last request in flight to a page that a move locks is over. */
void life_drained(struct page_life *l, struct page *page);
/* The copier has written the last line of the move. */
void life_copied(struct page_life *l, uint32_t move);

/* --check: a line of the copy is read in its old frame and written in its new one. hazard: what makes the copy wrong;
 * NULL: nothing. */
void life_check_line(struct page_life *l, const struct page_copy *c, uint32_t line, const char *hazard);

/* ---- owned.c ---- */

void owned_init(struct page_life *l);
/* The owned colours of the application are those of pages_owned(). */
void owned_set(struct page_life *l, uint32_t app, uint64_t gained);
void owned_placed(struct page_life *l, uint64_t key);
bool owned_is_outside(const struct page_life *l, const struct page *page);
bool owned_must_move(const struct page_life *l, const struct page *page);
/* Chooses the new colour of a page that must move. */
void owned_plan(struct page_life *l, struct page_move *m);
/* The driver begins: the page gets its new frame. */
void owned_start(struct page_life *l, struct page_move *m);
void owned_moved(struct page_life *l, const struct page_move *m);
void owned_released(struct page_life *l, const struct page_move *m, uint64_t now);
/* A request to the page was sent. */
void owned_sent(struct page_life *l, const struct page *page);

/* ---- copiers ---- */

struct page_copier copy_stack_new(struct arena *a, const struct config *c, struct page_life *l);
struct page_copier copy_channels_new(struct arena *a, const struct config *c, struct page_life *l);

struct page_copier copy_engine_new(struct arena *a, const struct config *c, struct page_life *l);
struct page_copier copy_network_new(struct arena *a, const struct config *c, struct page_life *l);

#endif
