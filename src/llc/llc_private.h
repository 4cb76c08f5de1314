/* Shared by the files of llc/ that make up a slice only. */
#ifndef ATOLL_LLC_PRIVATE_H
#define ATOLL_LLC_PRIVATE_H

#include "cache/tags.h"
#include "check/check.h"
#include "check/fault.h"
#include "llc/llc.h"
#include "llc/organisation.h"
#include "net/net_queue.h"

/* What happens once per request is compiled twice: for slices of any kind, and for plain ones (slice.plain),
 * where questions that have one answer there are not asked. */
#define SLICE_HOT inline __attribute__((always_inline))

/* What a slice knows of a line and, while it is pinned, its MSHR. */
struct slice_line {
    uint64_t dirty[2]; /* bytes */
    uint8_t valid;     /* sectors */
    /* MSHR */
    bool far : 1;       /* from another slice, see far.c */
    bool overtaken : 1; /* what comes is older than what later readers must see */
    bool again : 1;     /* what is on its way was read too early: read it once more */
    /* see slice_quick.h; false: it is not known */
    bool reads : 1; /* nothing but reads waits, and the first knows the pin; */
    bool alone : 1; /* … one */
    uint8_t redo;   /* sectors of it */
    uint8_t asked;  /* sectors on their way */
    struct request_list waiting;
};
_Static_assert(sizeof(struct slice_line) == 32, "half a cache line");

/* A line, or the news that memory has accepted writes. */
struct fill {
    uint64_t ready_cyc;
    union {
        uint32_t tag_line;
        uint32_t writers_first; /* linked by their 'next' */
    };
    uint8_t sectors;
    uint16_t writers_count; /* > 0: so many are answered */
};
_Static_assert(sizeof(struct fill) == 16, "a quarter of a cache line");

/* Operations to and fills from one memory channel. */
struct channel_queue {
    struct memory_queue ops;
    struct fill *fills; /* ring */
    uint32_t fills_head, fills_count;
};

/* The request in front of a slice in windows: what its packet and its line tell. */
struct slice_front {
    struct request *r;
    uint8_t *row; /* of its set, see struct tags */
    uint32_t idx;
    uint32_t first; /* line of the set */
    uint8_t hint;   /* of its own line */
};

/* Of a slice in windows, see slice_quick.h: what it looks up or counts there for most of its cycles. Sums
 * that change together are apart: they are added to one by one. */
struct slice_run {
    struct net_queue_port port;   /* of requests */
    struct net_queue_source *out; /* of replies */
    uint64_t *const *traffic;     /* by SM, in the column of the slice */
    uint64_t data_queue_cyc, miss_latency_cyc, ticks_per_cycle;
    const uint32_t *turns; /* … of the spec, and what a line's place in it follows from */
    uint64_t run_mask;
    uint32_t line_right, run_right, sets_mask;
    uint64_t now, until_cyc;
    uint64_t due_cyc;        /* the tag stage has something to do then: a request is in front */
    const struct fill *fill; /* the first one; behind the last is one that is never ready */
    const struct fill *fills, *fills_end;
    uint64_t fill_cyc;        /* when that is ready, or the window ends */
    struct slice_front front; /* .r and .idx; the rest once it was looked at */
    struct memory_op *op;     /* the next place in the ring of operations */
    struct memory_op *ops, *ops_end;
    int32_t ops_room;    /* so many may be made before a request is not served, */
    int32_t ops_allowed; /* … or could at first: those in between are not counted yet */
    bool slow;           /* the rest of the cycle is not a quick one */
    /* settled now and then; what else there is follows from it */
    uint64_t came_cyc;                      /* sums, of requests that came, */
    uint32_t inside, writes, local, misses; /* inside: of the port, before */
    uint64_t left_cyc;                      /* … left, */
    uint32_t replies, merged, columns;
    uint32_t mshr_least;  /* fewest that were free; mshr_free_count: others */
    uint64_t stay_cyc;    /* … and how long they stayed */
    uint64_t write_bytes; /* of packets of writes */
    /* by sectors that are read: reply, data port, memory; as in the spec */
    uint32_t read_bytes[SECTORS_ALL + 1];
    uint8_t read_cyc[SECTORS_ALL + 1];
    struct slice_columns missing_of[SECTORS_ALL + 1];
};

/* What every visit looks at comes first, in few of the host's cache lines. */
struct slice {
    _Alignas(64) uint64_t *blocked; /* counter of what stops the tag stage, NULL: nothing */
    uint64_t blocked_cyc;
    const struct net_front *front;       /* of the request network */
    uint64_t hits_cyc, filled_cyc;       /* when the first of each is ready; ENGINE_NEVER: none */
    uint32_t fills_count;                /* of all queues */
    uint32_t ops_count, ops_inexact_max; /* of all queues; maximum for inexact accept times */
    uint32_t ops_most;                   /* with more there may be no room for those of a request, */
    uint32_t mshr_free_count;
    bool
        plain; /* no far, write-through, check, count of lines or applications, tap, page moves; one channel */
    bool exact_accept; /* channels accept at exact times, see slice_update_exact_accept() */
    bool fill_came;    /* since the tag stage last looked */
    bool more;         /* another request is at the port */
    bool waits_for_memory, reply_refused, walk_turn;
    bool watchful; /* every visit may matter to the slice's own stages, see slice_wake_far() */
    bool windowed; /* it is not woken: system/windows.c runs it */
    bool direct; /* … and replies go into the network when it is known when they are ready, see answer() */
    uint64_t due_cyc, visited_cyc; /* windowed: what it knows of is due then; its last cycle */
    uint64_t until_cyc;            /* end of the window */
    bool quick;                    /* … and most of its cycles are those of slice_quick.h */
    bool missed; /* windowed: the request in front was looked for, is a miss, and waits for an MSHR */

    struct request_list hits, filled; /* on their way to the reply port */
    uint64_t port_free_cyc;
    struct channel_queue *queues; /* [spec->channels] */
    uint32_t component;
    uint32_t walkers; /* requests of walkers inside */
    void (*flush_done)(void *arg);
    struct request *requests; /* the pool's */

    const struct slice_spec *spec;
    struct channel_queue own_queue; /* storage of queues if spec->channels == 1 */
    struct slice_line *lines;       /* as the tags */
    uint32_t fills_mask, ops_mask;  /* sizes - 1 of the rings of a queue */
    uint32_t inside;                /* requests served by the tag stage and not answered */
    uint64_t inside_cyc;            /* when their number changed last, */
    uint64_t replied_cyc;           /* … but for replies that were given to the network before they leave */
    uint64_t inside_sum, inside_counted; /* see count_inside() */

    struct tags tags;
    uint32_t way_mask; /* a bit for each way, see slice_set.h */
    uint32_t pin_step; /* from the pins of a set to those of the next, less its lines */
    uint8_t *pins;     /* of the first set */
    uint32_t first_sm; /* of its partition */
    struct slice_wiring wire;

    struct request_list walks, walked;   /* of walkers, which have wires of their own: waiting, answered */
    uint64_t out_free_tick, in_free_cyc; /* ports of the stack's crossbar */
    uint64_t own_cyc;      /* not watchful: own stages have nothing to do before, unless something comes */
    uint32_t flush_cursor; /* tags_lines() when there is none */
    uint64_t flush_cyc;    /* when it gets there */
    void *flush_arg;
    enum llc_boundary flush_how;
    bool flush_alone;           /* nobody sends requests meanwhile */
    bool write_through;         /* see write_through.c */
    struct check_place *copies; /* --check; NULL: none */
    uint32_t *line_requests;    /* llc.count_lines: per line; NULL: not counted */
    uint64_t *line_partitions;
    char *apps; /* of application k at k * app_stride; NULL: not counted */
    size_t app_stride;
    struct far *far; /* remote lines; NULL: the slice has no network to other slices */
    bool has_input;  /* path.has_bypass: near.c sorts the requests of SMs before the tag stage */
    /* see slice_depths(): when MSHRs became free less when they were taken, as inside_sum */
    uint64_t mshr_sum;
    uint64_t memory_wait_ticks;
    _Alignas(64) struct slice_run run;
    _Alignas(64) struct llc_stats stats;
};

static inline struct request *at(const struct slice *s, uint32_t idx) { return s->requests + idx; }

static inline uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static inline uint32_t set_in(const struct slice_spec *p, uint64_t line)
{
    uint64_t idx = line >> p->runs[0].right & p->runs[0].mask; /* it goes to bit 0 */
    if (__builtin_expect(p->sets_mask != 0, 1))                /* tags_set_hashed(), without its questions */
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

/* Occupies the data port after what it has to do already; returns when it starts. */
static inline uint64_t use_port(struct slice *s, uint64_t now, uint32_t cycles)
{
    const uint64_t start = s->port_free_cyc > now ? s->port_free_cyc : now;
    s->port_free_cyc = start + cycles;
    s->stats.port_cycles += cycles;
    return start;
}

/* Sectors of which any byte is in the mask; … all bytes are. */
static inline uint8_t sectors_with(const uint64_t bytes[2])
{
    uint8_t sectors = 0;
    for (uint32_t k = 0; k < LINE_SECTORS; k++)
        if ((uint32_t)(bytes[k / 2] >> (k % 2 * 32))) sectors |= (uint8_t)(1u << k);
    return sectors;
}
static inline uint8_t sectors_written(const uint64_t bytes[2])
{
    uint8_t sectors = 0;
    for (uint32_t k = 0; k < LINE_SECTORS; k++) {
        const uint32_t part = (uint32_t)(bytes[k / 2] >> (k % 2 * 32));
        if (part == UINT32_MAX) sectors |= (uint8_t)(1u << k);
    }
    return sectors;
}

/* Sectors of a line that can be read. */
static inline uint8_t readable(const struct slice *s, uint32_t line)
{
    const struct slice_line *l = &s->lines[line];
    if (l->valid == SECTORS_ALL || !(l->dirty[0] | l->dirty[1])) return l->valid;
    return l->valid | sectors_written(l->dirty);
}

/* ---- who is inside ---- */

/* Their number, summed over cycles, is the sum of the cycles in which they left less those in which they
 * came, and for who is still there the present one. Counted at the end of a visit, up to the last change. */
static inline void count_inside(struct slice *s)
{
    const uint64_t sum = s->inside_sum + s->inside * s->inside_cyc;
    s->stats.inside_cyc += sum - s->inside_counted;
    s->inside_counted = sum;
}

static inline void enters(struct slice *s, struct request *r, uint64_t now)
{
    s->inside++;
    s->inside_sum -= now;
    s->inside_cyc = now;
    r->served = (uint32_t)now;
}

/* In this cycle or, when that is known, a later one. */
static inline void leaves(struct slice *s, uint64_t now, uint32_t came, uint64_t left)
{
    s->inside--;
    s->inside_sum += left;
    s->inside_cyc = now;
    s->stats.stay_cyc += (uint32_t)left - came;
}

/* What waits beyond those that are still on their way through the slice is the reply queue. */
static inline bool slice_may_reply(const struct slice_spec *p, const struct request_list *hits)
{
    return hits->count < p->hits_limit;
}

/* Two: a request may write back one line and read another. */
static inline bool slice_memory_has_room(const struct slice *s) { return s->ops_count <= s->ops_most; }

/* Statistics of the application of a request, NULL when there is one only. */
static inline struct app_stats *app_of(const struct slice *s, const struct request *r)
{
    return s->apps ? (struct app_stats *)(void *)(s->apps + r->app * s->app_stride) : NULL;
}

/* The list whose front is ready first, NULL when none is by now. */
static inline struct request_list *reply_ready(const struct slice *s, struct request_list *hits,
                                               struct request_list *filled, uint64_t now)
{
    struct request_list *way = NULL;
    uint64_t oldest = now + 1;
    if (filled->count && at(s, filled->first)->ready_cyc < oldest) {
        way = filled;
        oldest = at(s, way->first)->ready_cyc;
    }
    if (hits->count && at(s, hits->first)->ready_cyc < oldest) way = hits;
    return way;
}

/* A reply to an SM, ready then. */
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

/* When the fronts of two lists are ready. */
static inline uint64_t ready_first(const struct slice *s, const struct request_list *a,
                                   const struct request_list *b)
{
    uint64_t first = a->count ? at(s, a->first)->ready_cyc : ENGINE_NEVER;
    if (b->count && at(s, b->first)->ready_cyc < first) first = at(s, b->first)->ready_cyc;
    return first;
}

/* The slice's own stages have something to do then. */
static inline void own_due(struct slice *s, uint64_t cyc)
{
    if (cyc < s->own_cyc) s->own_cyc = cyc;
}

/* Rule of the organisation for a request at this slice, at the present tick. Plain slices do not read rules:
 * they are homes, and every request that they get is served there. */
static inline const struct path_rule *rule_of(const struct slice *s, const struct request *r)
{
    const struct path *const p = &s->wire.organisation->path;
    return path_rule_of(path_rules_at(p, engine_tick(s->wire.engine)), r, s->wire.slice_idx);
}

/* ---- remote lines: far.c ---- */

struct far {
    const struct net_front *near, *asked,
        *answers;                     /* from SMs and, from other slices, requests and replies */
    struct request_list out;          /* requests for other slices */
    struct request_list hits, filled; /* replies to other slices, as those to SMs */
    uint32_t mshrs_used;              /* by lines that come from other slices */
    uint8_t *holds;                   /* per line: it is a copy */
    uint32_t *epoch_of;               /* per line: copy_epoch when it was asked for */
    struct request_list local;        /* nuba: requests of SMs for the tag stage (LMR), */
    uint64_t local_sum;               /* … when they were served less when they came */
    struct request_list past;         /* and for other slices without a look into this one */
    struct request_list pages;        /* lines of pages that get a frame here, to be asked for */
    uint64_t *blocked;                /* what stops requests of other slices, NULL: nothing */
    bool turn;                        /* other slices' requests go first */
    struct check_place *copies;       /* --check; NULL: none */
    uint64_t *sharers; /* directory: per line of this home, bits of chiplets that may hold it; NULL: none */
    uint64_t hold_cyc; /* earliest reply to a store or atomic: its invalidations are acknowledged then */
};

/* Is the line at this place a copy of one that lives elsewhere? */
static inline bool far_holds(const struct slice *s, uint32_t tag_line)
{
    return s->far && s->far->holds[tag_line];
}

/* What has arrived from other slices. */
static inline uint32_t far_reply_at(const struct slice *s, uint64_t now)
{
    return fabric_front_at(s->far->answers, fabric_net_now(&s->wire.fabric->far_reply, now));
}
static inline uint32_t far_request_at(const struct slice *s, uint64_t now)
{
    return fabric_front_at(s->far->asked, fabric_net_now(&s->wire.fabric->far_request, now));
}
void far_new(struct slice *s, struct arena *a, const char *name);
/* Serves a request whose home is another slice. allocate: a read miss keeps the line here (path_rule). False:
 * the request is blocked, s->blocked holds the reason. */
bool far_serve(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line, bool allocate);
/* A line of another chiplet has all that was asked for. */
void far_filled(struct slice *s, uint64_t now, uint32_t line, bool overtaken);
/* The reply of another slice that has arrived; before the tag stage. */
void far_receive(struct slice *s, uint64_t now);
/* Serves the request of another slice that has arrived, whose home is here, unless something stops it. */
bool far_serve_next(struct slice *s, uint64_t now, uint32_t idx);
/* The first of the list goes; false: there is no room. */
bool far_send_request(struct slice *s, uint64_t now, struct request_list *out);
bool far_send_reply(struct slice *s, uint64_t now, struct request_list *way);
/* A line of a page that gets a frame here is asked for, when there is room. */
void far_send_page_line(struct slice *s, uint64_t now);
uint64_t far_waiting(const struct slice *s);

/* ---- coherent.c: at a slice with a directory (far->sharers is not NULL) ---- */
void coherent_new(struct slice *s, struct arena *a);
/* Sets the sharer bit of the chiplet whose slice fetched the line. */
void coherent_add_sharer(struct slice *s, const struct request *r);
/* The home writes the line, or evicts it: sharers are sent invalidations. */
void coherent_write(struct slice *s, uint64_t now, uint32_t line, const struct request *r);
void coherent_evict(struct slice *s, uint32_t line);
/* At a sharer: an invalidation has arrived. */
void coherent_invalidate(struct slice *s, uint64_t now, uint64_t key);

/* ---- near.c: at a slice with an input stage (has_input) ---- */

/* Accepts the request that has arrived from an SM of the partition, if its queue has a free entry. */
void near_accept(struct slice *s, uint64_t now);
/* Cycle of the next activation after that, for another request of an SM. */
uint64_t near_next_visit(const struct slice *s, uint64_t now);

/* ---- write_through.c ---- */

/* A message: 0: an SM of the slice's cluster has acquired (private); else a line + 1 to be invalidated
 * (coherent.c). */
void slice_receive(void *self, uint64_t now, uint64_t message);
/* A store; false: not now, s->blocked says why. */
bool slice_write_through(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line);
/* Stores and atomics that change a line together leave for memory as one operation. */
void slice_write_on(struct slice *s, uint64_t now, uint64_t line, const uint64_t bytes[2],
                    struct request_list writers);

/* Invalidates the copy of a line; no effect on a slice that does not write through. */
void slice_snoop(struct slice *s, uint64_t line);

/* ---- flush.c ---- */

/* A cycle of the flush under way. */
void slice_flush_step(struct slice *s, uint64_t now);

/* ---- llc.c and slice_memory.c, for the other files ---- */

void slice_wake(void *self, uint64_t now);
void slice_wake_far(void *self, uint64_t now); /* of a slice that has lines of others */

void slice_push_op(struct slice *s, struct memory_op op);
/* Turns exact accept times of the slice's channels on or off. A deferred channel leaves operations in
 * ops_count that it would already have accepted. The count must be exact when it nears the memory-queue
 * limit, which stalls the tag stage, and during a flush, which ends at ops_count == 0. */
void slice_update_exact_accept(struct slice *s);
/* The columns that hold these sectors, as a run from the first to the last. */
void slice_columns(const struct slice_spec *p, uint8_t sectors, uint8_t *first, uint8_t *count);
/* Data port time of a request that finds what it needs. */
uint32_t slice_service_cycles(const struct slice *s, const struct request *r);
void slice_write_line(struct slice *s, uint64_t now, uint32_t line, uint32_t idx);

/* Frees a line of the set for another; TAGS_NONE and s->blocked set when it cannot be done now. */
uint32_t slice_make_room(struct slice *s, uint64_t now, uint32_t set);
/* Keeps the line until its MSHR is free again. */
struct slice_line *slice_pin(struct slice *s, uint64_t now, uint32_t line);
void slice_drop_line(struct slice *s, uint64_t now, uint32_t line);
/* Writes what is dirty of the line to memory. */
void slice_write_back(struct slice *s, uint64_t now, uint32_t tag_line);
/* The request finds its sectors in the line. */
void slice_hit(struct slice *s, uint64_t now, uint32_t line, uint32_t idx);
/* Sectors of a line will be there at ready_cyc. */
void slice_push_fill(struct slice *s, uint32_t tag_line, uint8_t sectors, uint64_t ready_cyc);
/* Serves a request whose home is this slice through the tag stage, when it may run; false: not now,
 * s->blocked says why. hits: the list that it will be answered through. */
bool slice_serve_home(struct slice *s, uint64_t now, uint32_t idx, const struct request_list *hits);

#endif
