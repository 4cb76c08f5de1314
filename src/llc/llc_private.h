/* llc_private: the state of a slice and helpers for its stages. Included only by the files of llc/ that
 * implement a slice, and by channel_reads.c. */
#ifndef ATOLL_LLC_PRIVATE_H
#define ATOLL_LLC_PRIVATE_H

#include "cache/tags.h"
#include "check/check.h"
#include "check/fault.h"
#include "llc/llc.h"
#include "llc/organisation.h"
#include "net/net_queue.h"

/* The code of each request is compiled twice: for slices of any kind, and for basic slices (slice.basic),
 * where the compiler removes the branches of optional features. */
#define SLICE_HOT inline __attribute__((always_inline))

/* State of a line and, while the line is pinned, its MSHR. */
struct slice_line {
    uint64_t dirty[2]; /* mask of dirty bytes */
    uint8_t valid;     /* mask of valid sectors */
    /* MSHR */
    bool remote : 1;       /* the fill comes from another slice, see remote_lines.c */
    bool discard_fill : 1; /* the pending fill is stale for later reads and is not installed */
    bool refetch : 1;      /* the pending fill is stale; the sectors are read again after it */
    /* Hints of slice_quick.h; false: unknown. */
    bool from_rdc : 1;       /* the pending fill comes from the remote data cache (rdc.h) */
    bool reads_only : 1;     /* only reads wait, and the first one holds the address of the pin */
    bool single_waiter : 1;  /* exactly one read waits */
    uint8_t refetch_sectors; /* sectors to read again */
    uint8_t pending_sectors; /* sectors with a pending fill */
    struct request_list waiting;
};
_Static_assert(sizeof(struct slice_line) == 32, "half a cache line");

/* Data of a line, or the acceptance of write-through requests by memory (writers_count > 0). */
struct fill {
    uint64_t ready_cyc;
    union {
        uint32_t tag_line;
        uint32_t writers_first; /* first writer of a list linked by request.next */
    };
    uint8_t sectors;
    uint16_t writers_count; /* writers that complete; 0: data of a line */
};
_Static_assert(sizeof(struct fill) == 16, "a quarter of a cache line");

/* Operations to and fills from one memory channel. */
struct channel_queue {
    struct memory_queue ops;
    struct fill *fills; /* ring */
    uint32_t fills_head, fills_count;
};

/* The front request of a slice in windows, with its set. */
struct slice_front {
    struct request *r;
    uint8_t *row; /* row of the set, see struct tags */
    uint32_t idx;
    uint32_t first; /* first line of the set */
    uint8_t hint;   /* partial tag of the request's line */
};

/* State and counters of a slice in windows, see slice_quick.h. The fields are read or written in most of its
 * cycles. */
struct slice_run {
    struct net_queue_port port;   /* of requests */
    struct net_queue_source *out; /* of replies */
    uint64_t *const *traffic;     /* by SM, in the column of the slice */
    uint64_t data_queue_cyc, miss_latency_cyc, ticks_per_cycle;
    const uint32_t
        *index_rotation; /* slice_spec.index_rotation; the next two lines compute the index in it */
    uint64_t run_mask;
    uint32_t line_right, run_right, sets_mask;
    uint64_t now, until_cyc;
    uint64_t due_cyc;        /* next event of the tag stage: a request is at the front */
    const struct fill *fill; /* oldest fill; the entry after the last fill is never ready */
    const struct fill *fills, *fills_end;
    uint64_t fill_cyc;        /* ready cycle of the oldest fill, at most the end of the window */
    struct slice_front front; /* .r and .idx are valid; the other fields after the lookup of the set */
    struct memory_op *op;     /* next free entry of the ring of operations */
    struct memory_op *ops, *ops_end;
    int32_t ops_room;    /* operations that may be queued before the tag stage stalls */
    int32_t ops_allowed; /* ops_room at the last synchronisation; the difference is not counted yet */
    bool slow;           /* the general code simulates the rest of the cycle */
    /* Sums since the last synchronisation; other counters are derived from them. */
    uint64_t came_cyc;                      /* sum of arrival cycles */
    uint32_t inside, writes, local, misses; /* inside: packets at the port before the window */
    uint64_t left_cyc;                      /* sum of departure cycles */
    uint32_t replies, merged, columns;
    uint32_t mshr_least;  /* min. number of free MSHRs */
    uint64_t stay_cyc;    /* sum of residence times */
    uint64_t write_bytes; /* bytes of write packets */
    /* By mask of sectors that are read: bytes of the reply, data-port time, columns; as in the spec. */
    uint32_t read_bytes[SECTORS_ALL + 1];
    uint8_t read_cyc[SECTORS_ALL + 1];
    struct slice_columns missing_of[SECTORS_ALL + 1];
};

/* The fields that every activation reads come first, in few of the host's cache lines. */
struct slice {
    _Alignas(64) uint64_t *blocked;      /* stall counter of the blocked tag stage; NULL: not blocked */
    uint64_t blocked_cyc;                /* cycle up to which *blocked has been counted */
    const struct net_front *front;       /* front of the request network's port */
    uint64_t hits_cyc, filled_cyc;       /* ready cycle of the first reply of each list; ENGINE_NEVER: none */
    uint32_t fills_count;                /* pending fills of all queues */
    uint32_t ops_count, ops_inexact_max; /* operations of all queues; maximum for inexact accept times */
    uint32_t ops_max;                    /* max. ops_count at which the tag stage may serve a request */
    uint32_t mshr_free_count;
    bool basic;        /* no optional feature, see slice_is_basic() */
    bool exact_accept; /* channels accept at exact times, see slice_update_exact_accept() */
    bool fill_came;    /* a fill arrived since the tag stage last served a request */
    bool more;         /* another request is at the port */
    bool waits_for_memory, reply_refused;
    bool walk_first;               /* round-robin: page-walk reads before requests of SMs */
    bool counts_traffic;           /* numa: requests by requester and home, bytes that leave (LADM) */
    bool run_own_stages;           /* every activation runs own_stages(), see slice_wake_remote() */
    bool windowed;                 /* system/windows.c simulates the slice; the engine does not wake it */
    bool direct;                   /* windowed: replies are injected ahead of time, see inject_reply() */
    uint64_t due_cyc, visited_cyc; /* windowed: cycle of the next event; last simulated cycle */
    uint64_t until_cyc;            /* end of the window */
    bool quick;                    /* windowed: slice_quick.h simulates most cycles */
    bool missed;                   /* windowed: the front request missed and waits for an MSHR */

    struct request_list hits, filled; /* replies to SMs, in flight to the reply port */
    uint64_t port_free_cyc;           /* cycle from which on the data port is free */
    struct channel_queue *queues;     /* [spec->channels] */
    uint32_t component;
    uint32_t walkers;              /* page-walk reads inside the slice */
    void (*flush_done)(void *arg); /* NULL: no flush is active */
    struct request *requests;      /* array of the pool */

    const struct slice_spec *spec;
    struct channel_queue own_queue; /* storage of queues if spec->channels == 1 */
    struct slice_line *lines;       /* indexed as the tags */
    uint32_t fills_mask, ops_mask;  /* sizes - 1 of the rings of a queue */
    uint32_t inside;                /* occupancy: requests served by the tag stage and not completed */
    uint64_t inside_cyc;            /* cycle of the last change of `inside` */
    uint64_t replied_cyc;           /* departure cycle of the last reply that was injected ahead of time */
    uint64_t inside_sum, inside_counted; /* see add_occupancy() */

    struct tags tags;
    uint32_t way_mask; /* one bit per way, see slice_set.h */
    uint32_t pin_step; /* distance from the pins of a set to those of the next set, minus its lines */
    uint8_t *pins;     /* pins of the first set */
    uint32_t first_sm; /* first SM of the partition */
    struct slice_wiring wire;

    struct request_list walks, walked;   /* page-walk reads (dedicated wires): waiting, completed */
    uint64_t out_free_tick, in_free_cyc; /* ports of the stack's crossbar */
    uint64_t own_cyc;                    /* next event of own_stages(), unless a request arrives before */
    uint32_t flush_cursor;               /* next line of the flush; tags_lines(): none */
    uint64_t flush_cyc;                  /* cycle in which the flush reaches flush_cursor */
    void *flush_arg;
    enum llc_boundary flush_how;
    bool flush_alone;           /* no request arrives during the flush */
    bool write_through;         /* see write_through.c */
    struct check_place *copies; /* --check; NULL: none */
    uint32_t *line_requests;    /* llc.count_lines: requests per line; NULL: not counted */
    uint64_t *line_partitions;  /* llc.count_lines: mask of requesting partitions per line */
    char *apps;                 /* app_stats of application k at k * app_stride; NULL: not counted */
    size_t app_stride;
    uint64_t owners;             /* bit per application that owns the channel */
    struct remote_lines *remote; /* NULL: the slice has no network to other slices */
    struct slice_spill *spill;   /* NULL: no page lies in system memory */
    struct read_once *once;      /* no-allocate entries, see read_once.c; NULL: every miss allocates */
    bool has_input; /* path.has_bypass: local_input.c accepts the requests of SMs before the tag stage */
    /* slice_depths(): sum of the cycles in which MSHRs were freed minus the sum of those in which they were
     * allocated. */
    uint64_t mshr_sum;
    uint64_t memory_wait_ticks; /* waiting time of accepted operations */
    _Alignas(64) struct slice_run run;
    _Alignas(64) struct llc_stats stats;
};

static inline struct request *at(const struct slice *s, uint32_t idx) { return s->requests + idx; }

static inline uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

static inline uint32_t set_in(const struct slice_spec *p, uint64_t line)
{
    uint64_t idx =
        line >> p->runs[0].right & p->runs[0].mask; /* the first run starts at bit 0 of the index */
    if (__builtin_expect(p->sets_mask != 0, 1))     /* tags_set_hashed() for a power of two */
        return (uint32_t)(idx + hash_u64(idx >> p->sets_log2)) & p->sets_mask;
    for (uint32_t k = 1; k < p->run_count; k++)
        idx |= (line >> p->runs[k].right & p->runs[k].mask) << p->runs[k].left;
    return p->hashed ? tags_set_hashed(idx, p->sets) : (uint32_t)(idx % p->sets);
}

static inline uint32_t set_of(const struct slice *s, uint64_t line) { return set_in(s->spec, line); }

static inline void append(struct slice *s, struct request_list *l, uint32_t idx)
{
    at(s, idx)->next = REQUEST_NONE;
    if (l->count++)
        at(s, l->last)->next = idx;
    else
        l->first = idx;
    l->last = idx;
}

static inline uint32_t take_first(struct slice *s, struct request_list *l)
{
    const uint32_t idx = l->first;
    l->first = at(s, idx)->next;
    l->count--;
    return idx;
}

static inline void put_back(struct slice *s, struct request_list *l, uint32_t idx)
{
    at(s, idx)->next = l->first;
    l->first = idx;
    if (!l->count++) l->last = idx;
}

static inline uint32_t port_cycles(const struct slice *s, uint32_t bytes)
{
    return (bytes + s->spec->port_bytes - 1) / s->spec->port_bytes;
}

/* Reserves the data port after its earlier reservations. Returns the first reserved cycle. */
static inline uint64_t use_port(struct slice *s, uint64_t now, uint32_t cycles)
{
    const uint64_t start = s->port_free_cyc > now ? s->port_free_cyc : now;
    s->port_free_cyc = start + cycles;
    s->stats.port_cycles += cycles;
    return start;
}

/* Sectors with at least one byte in the mask. */
static inline uint8_t sectors_with(const uint64_t bytes[2])
{
    uint8_t sectors = 0;
    for (uint32_t k = 0; k < LINE_SECTORS; k++)
        if ((uint32_t)(bytes[k / 2] >> (k % 2 * 32))) sectors |= (uint8_t)(1u << k);
    return sectors;
}
/* Sectors whose bytes are all in the mask. */
static inline uint8_t sectors_written(const uint64_t bytes[2])
{
    uint8_t sectors = 0;
    for (uint32_t k = 0; k < LINE_SECTORS; k++) {
        const uint32_t part = (uint32_t)(bytes[k / 2] >> (k % 2 * 32));
        if (part == UINT32_MAX) sectors |= (uint8_t)(1u << k);
    }
    return sectors;
}

/* Sectors of a line that can be read: valid, or completely written. */
static inline uint8_t readable(const struct slice *s, uint32_t line)
{
    const struct slice_line *l = &s->lines[line];
    if (l->valid == SECTORS_ALL || !(l->dirty[0] | l->dirty[1])) return l->valid;
    return l->valid | sectors_written(l->dirty);
}

/* Number of sectors in a mask, from a table of 16 four-bit counts: the library's popcount is a call. */
static inline uint32_t sector_count(uint8_t mask)
{
    return (uint32_t)(0x4332322132212110ull >> 4 * (mask & 15u)) & 7;
}

/* Bytes that a request reads or writes, in whole sectors for reads. */
static inline uint32_t slice_request_bytes(const struct request *r)
{
    if (request_writes(r)) return request_byte_count(r->bytes);
    return SECTOR_BYTES * sector_count(r->sectors);
}

/* ---- occupancy ---- */

/* Occupancy integral: the sum of `inside` over cycles equals the sum of departure cycles minus the sum of
 * arrival cycles (inside_sum), plus inside * inside_cyc. The result is valid up to inside_cyc, the cycle of
 * the last change. Called at the end of an activation. */
static inline void add_occupancy(struct slice *s)
{
    const uint64_t sum = s->inside_sum + s->inside * s->inside_cyc;
    s->stats.inside_cyc += sum - s->inside_counted;
    s->inside_counted = sum;
}

static inline void on_arrival(struct slice *s, struct request *r, uint64_t now)
{
    s->inside++;
    s->inside_sum -= now;
    s->inside_cyc = now;
    r->served = (uint32_t)now;
}

/* came: cycle of the arrival; left: cycle of the departure, now or later. */
static inline void on_departure(struct slice *s, uint64_t now, uint32_t came, uint64_t left)
{
    s->inside--;
    s->inside_sum += left;
    s->inside_cyc = now;
    s->stats.stay_cyc += (uint32_t)left - came;
}

/* True if the reply queue has a free entry. The list also holds replies in the pipeline of the slice. */
static inline bool slice_may_reply(const struct slice_spec *p, const struct request_list *hits)
{
    return hits->count < p->hits_limit;
}

/* True if the memory queues have free entries for a request: one write-back and one read. */
static inline bool slice_memory_has_room(const struct slice *s) { return s->ops_count <= s->ops_max; }

/* Statistics of the application of a request; NULL: only one application runs. */
static inline struct app_stats *app_of(const struct slice *s, const struct request *r)
{
    return s->apps ? (struct app_stats *)(void *)(s->apps + r->app * s->app_stride) : NULL;
}

/* A request that counts as an access of its application: no page walk, no context of a block, no line of a page
 * that moves. */
static inline bool counts_as_access(const struct request *r)
{
    return r->kind != REQUEST_WALK && !(r->flags & (REQUEST_CONTEXT | REQUEST_PAGE | REQUEST_MIGRATE));
}
/* A line of a page that the copy engine reads or writes at its port of the network (pages/copy_engine.c). */
static inline bool is_engine_request(const struct request *r) { return r->flags & REQUEST_PAGE && !r->via; }
/* The slice has, or is about to have, the line that the request touches. */
static inline void count_app_hit(const struct slice *s, const struct request *r)
{
    if (s->apps && counts_as_access(r)) app_of(s, r)->llc_hits++;
}

/* The list whose front is ready first; NULL: no front is ready by now. */
static inline struct request_list *reply_ready(const struct slice *s, struct request_list *hits,
                                               struct request_list *filled, uint64_t now)
{
    struct request_list *list = NULL;
    uint64_t oldest = now + 1;
    if (filled->count && at(s, filled->first)->ready_cyc < oldest) {
        list = filled;
        oldest = at(s, list->first)->ready_cyc;
    }
    if (hits->count && at(s, hits->first)->ready_cyc < oldest) list = hits;
    return list;
}

/* Append a reply to an SM that is ready at the given cycle. */
static inline void append_filled(struct slice *s, uint32_t idx, uint64_t ready)
{
    at(s, idx)->ready_cyc = ready;
    if (!s->filled.count) s->filled_cyc = ready;
    append(s, &s->filled, idx);
}
static inline void append_hit(struct slice *s, uint32_t idx, uint64_t ready)
{
    at(s, idx)->ready_cyc = ready;
    if (!s->hits.count) s->hits_cyc = ready;
    append(s, &s->hits, idx);
}

/* Earlier ready cycle of the fronts of two lists; ENGINE_NEVER: both are empty. */
static inline uint64_t ready_first(const struct slice *s, const struct request_list *a,
                                   const struct request_list *b)
{
    uint64_t first = a->count ? at(s, a->first)->ready_cyc : ENGINE_NEVER;
    if (b->count && at(s, b->first)->ready_cyc < first) first = at(s, b->first)->ready_cyc;
    return first;
}

/* Registers an event of own_stages() at a cycle. */
static inline void own_due(struct slice *s, uint64_t cyc)
{
    if (cyc < s->own_cyc) s->own_cyc = cyc;
}

/* Rule of the organisation for a request at this slice, at the present tick. Basic slices do not read rules:
 * they are the homes of all their requests. */
static inline const struct path_rule *rule_of(const struct slice *s, const struct request *r)
{
    const struct path *const p = &s->wire.organisation->path;
    return path_rule_of(path_rules_at(p, engine_tick(s->wire.engine)), r, s->wire.slice_idx);
}

/* ---- remote lines: remote_lines.c ---- */

struct remote_lines {
    /* Port fronts: requests of SMs; requests and replies of other slices. */
    const struct net_front *sm_front, *request_front, *reply_front;
    struct request_list out;          /* requests for other slices */
    struct request_list hits, filled; /* replies to other slices, as slice.hits and slice.filled */
    uint32_t mshrs_used;              /* MSHRs of pending fetches */
    uint8_t *holds;                   /* per line: 1 if the line is remote */
    uint32_t *epoch_of;               /* per line: copy_epoch at the fetch */
    struct request_list local;        /* nuba: requests of SMs for the tag stage (LMR) */
    uint64_t local_sum;               /* sum of the service cycles minus the arrival cycles of `local` */
    struct request_list bypass;       /* nuba: requests of SMs that bypass the tag stage */
    struct request_list pages;        /* lines of pages that get a local frame, to be fetched */
    uint64_t *blocked;                /* stall counter of requests of other slices; NULL: not blocked */
    bool remote_first;                /* round-robin: requests of other slices before those of SMs */
    struct check_place *copies;       /* --check; NULL: none */
    uint64_t *sharers; /* directory: per line of this home, mask of sharer chiplets; NULL: no directory */
    struct rdc *rdc;   /* NULL: none */
    struct coherence *coherence;    /* NULL: this home sends no invalidations */
    bool strong_to_home;            /* strong loads of GPU or system scope pass on to the home */
    uint32_t gpu_first, gpu_slices; /* the slices of the own GPU */
    struct coherence_stats coherence_stats;
    uint64_t inv_ack_cyc; /* earliest reply to a store or atomic: the cycle of the last acknowledgement */
};

/* True if the line in this way is remote. */
static inline bool remote_holds(const struct slice *s, uint32_t tag_line)
{
    return s->remote && s->remote->holds[tag_line];
}

/* The oldest reply, and the oldest request, that has arrived from another slice; REQUEST_NONE: none. */
static inline uint32_t remote_reply_at(const struct slice *s, uint64_t now)
{
    return fabric_front_at(s->remote->reply_front, fabric_net_now(&s->wire.fabric->far_reply, now));
}
static inline uint32_t remote_request_at(const struct slice *s, uint64_t now)
{
    return fabric_front_at(s->remote->request_front, fabric_net_now(&s->wire.fabric->far_request, now));
}
void remote_new(struct slice *s, struct arena *a, const char *name);
/* Serves a request whose home is another slice. allocate: a read miss allocates the line here (path_rule).
 * False: the request is blocked, s->blocked holds the reason. */
bool remote_serve(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line, bool allocate);
/* Called when all pending sectors of a remote line are filled. */
void remote_on_fill(struct slice *s, uint64_t now, uint32_t line, bool discard_fill);
/* Takes the reply of another slice from the network. Runs before the tag stage. */
void remote_receive(struct slice *s, uint64_t now);
/* Serves a request of another slice whose home is here. False: blocked, remote->blocked holds the reason. */
bool remote_serve_next(struct slice *s, uint64_t now, uint32_t idx);
/* Inject the first request or reply of the list. False: the network refused it. */
bool remote_send_request(struct slice *s, uint64_t now, struct request_list *out);
bool remote_send_reply(struct slice *s, uint64_t now, struct request_list *list);
/* Moves the first line of `pages` to the out queue, if that has a free entry. */
void remote_send_page_line(struct slice *s, uint64_t now);
uint64_t remote_waiting(const struct slice *s);
/* Fetches the lines whose probes have missed, as far as the out queue has room. Returns the next cycle. */
uint64_t remote_send_rdc_misses(struct slice *s, uint64_t now);

/* ---- read_once.c: at a slice with no-allocate entries (once is not NULL) ---- */

/* Requires slice.remote. */
void once_new(struct slice *s, struct arena *a);
/* Number of no-allocate entries, which stand behind the lines of the tags in slice.lines. */
static inline uint32_t once_entries(const struct slice_spec *p) { return p->reads_once ? p->mshrs : 0; }
/* Serves a read miss without a way. Precondition: the line has no way. False: blocked, s->blocked holds the
 * reason. */
bool once_serve(struct slice *s, uint64_t now, uint32_t idx);
/* Moves the line of a request from its no-allocate entry, if there is one, to a way, which *line then names.
 * Precondition: the line has no way. False: blocked, s->blocked holds the reason. */
bool once_find_or_move(struct slice *s, uint64_t now, const struct request *r, uint32_t set, uint32_t *line);
/* Receives the fill of an entry. True: the entry has moved; the fill now names the way and goes on. */
bool once_fill(struct slice *s, uint64_t now, struct fill *f);
/* Requests that wait in entries. */
uint64_t once_waiting(const struct slice *s);

/* ---- coherent.c: at a slice with a directory (remote->sharers is not NULL) ---- */
void coherent_new(struct slice *s, struct arena *a);
/* Sets the sharer bit of the chiplet whose slice fetched the line. */
void coherent_add_sharer(struct slice *s, const struct request *r);
/* The home writes the line, or evicts it: sharers are sent invalidations. */
void coherent_write(struct slice *s, uint64_t now, uint32_t line, const struct request *r);
void coherent_evict(struct slice *s, uint32_t line);
/* At a sharer: an invalidation has arrived. */
void coherent_invalidate(struct slice *s, uint64_t now, uint64_t key);

/* ---- local_input.c: at a slice with an input stage (has_input) ---- */

/* Accepts the request that has arrived from an SM of the partition, if its queue has a free entry. */
void local_input_accept(struct slice *s, uint64_t now);
/* Cycle of the next activation after that, for another request of an SM. */
uint64_t local_input_next_cyc(const struct slice *s, uint64_t now);

/* ---- write_through.c ---- */

/* Handles a message of the engine. 0: an SM of the slice's cluster passed an acquire (private). Otherwise:
 * number + 1 of a line to invalidate (coherent.c). */
void slice_receive(void *self, uint64_t now, uint64_t message);
/* Serves a store. False: blocked, s->blocked holds the reason. */
bool slice_write_through(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line);
/* Writes the bytes of stores and atomics to one line to memory, as one operation. */
void slice_push_writes(struct slice *s, uint64_t now, uint64_t line, const uint64_t bytes[2],
                       struct request_list writers);

/* Invalidates the copy of a line; no effect on a slice that does not write through. */
void slice_snoop(struct slice *s, uint64_t line);

/* ---- page_lines.c ---- */

/* Writes a line of a page, which a request carries, to memory: a line that was fetched to its new slice (bytes[0]: the
 * line there), or a write of the copy engine. Returns the cycle in which the data port takes it. */
uint64_t slice_write_page_line(struct slice *s, uint64_t now, uint32_t idx);

/* ---- flush.c ---- */

/* Simulates a cycle of the active flush. */
void slice_flush_step(struct slice *s, uint64_t now);

/* ---- llc.c and slice_memory.c, for the other files ---- */

void slice_wake(void *self, uint64_t now);
void slice_wake_remote(void *self, uint64_t now); /* for slices with remote lines */
void slice_wake_extended(void *self,
                         uint64_t now); /* also with a remote data cache, invalidations or copied pages */

void slice_push_op(struct slice *s, struct memory_op op);
/* For spill.c. The operation joins the queue of the channel; system memory has accepted it; it answers a read. */
void slice_push_to_channel(struct slice *s, const struct memory_op *op);
void slice_system_accepted(struct slice *s, const struct memory_op *op, uint64_t tick);
void slice_system_done(struct slice *s, uint32_t tag_line, uint8_t sectors, uint64_t sent_tick,
                       uint64_t tick);
/* Turns exact accept times of the slice's channels on or off. A deferred channel leaves operations in
 * ops_count that it would already have accepted. The count must be exact when it nears the memory-queue
 * limit, which stalls the tag stage, and during a flush, which ends at ops_count == 0. */
void slice_update_exact_accept(struct slice *s);
/* The columns that hold these sectors, as a run from the first to the last. */
void slice_columns(const struct slice_spec *p, uint8_t sectors, uint8_t *first, uint8_t *count);
/* Data-port time of a hit. */
uint32_t slice_service_cycles(const struct slice *s, const struct request *r);
/* A store or atomic writes the line: sets dirty bytes and invalidates sharers. */
void slice_write_line(struct slice *s, uint64_t now, uint32_t line, uint32_t idx);

/* Evicts the victim of the set and returns its way. TAGS_NONE: all ways are pinned, s->blocked is set. */
uint32_t slice_evict_victim(struct slice *s, uint64_t now, uint32_t set);
/* Allocates an MSHR and pins the line until the MSHR is freed. */
struct slice_line *slice_pin(struct slice *s, uint64_t now, uint32_t line);
/* Invalidates the line. */
void slice_drop_line(struct slice *s, uint64_t now, uint32_t line);
/* Writes the dirty bytes of the line to memory. */
void slice_write_back(struct slice *s, uint64_t now, uint32_t tag_line);
/* slice_write_back() with memory_op.move. */
void slice_write_back_for(struct slice *s, uint64_t now, uint32_t tag_line, uint32_t move);
/* Serves a request whose sectors are readable in the line. */
void slice_hit(struct slice *s, uint64_t now, uint32_t line, uint32_t idx);
/* Completes the requests that wait for readable sectors of the line. */
void slice_serve_waiting(struct slice *s, uint64_t now, uint32_t line);
/* Appends a fill of sectors of a line at ready_cyc. */
void slice_push_fill(struct slice *s, uint32_t tag_line, uint8_t sectors, uint64_t ready_cyc);
/* Serves a request whose home is this slice in the tag stage. False: blocked, s->blocked holds the reason.
 * hits: the reply list of the request. */
bool slice_serve_home(struct slice *s, uint64_t now, uint32_t idx, const struct request_list *hits);

#endif
