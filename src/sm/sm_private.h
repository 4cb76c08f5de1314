/* Shared by the files of sm/ only. */
#ifndef ATOLL_SM_PRIVATE_H
#define ATOLL_SM_PRIVATE_H

#include <stddef.h>

#include "cache/lru.h"
#include "cache/tags.h"
#include "check/check.h"
#include "check/fault.h"
#include "net/net_queue.h"
#include "sm/sm.h"

enum { SM_WARPS = 64, SM_WHEEL = 64, SM_LANES = 32, SM_SCHEDULERS = 16, SM_ORDER = 64 };
enum { SM_LATENCIES = 64 };
enum { SM_REGS_LINE = 16 }; /* registers of the scoreboard in a cache line */

/* Issue ports. CONTROL is free in every cycle. */
enum unit {
    UNIT_INT,
    UNIT_FP32,
    UNIT_FP64,
    UNIT_SFU,
    UNIT_TENSOR,
    UNIT_CONTROL,
    UNIT_SHARED,
    UNIT_MEMORY,
    UNIT_TEXTURE, /* shares the queue before the L1 */
    UNIT_COUNT
};

struct class_spec { /* eight bytes: looked up for every instruction */
    uint32_t latency_cyc;
    uint16_t interval_cyc;
    uint8_t unit;
};

/* Two bytes that stand beside each other in struct warp_op_info: one load. */
static inline uint32_t sm_class_idx(uint8_t space, uint8_t class) { return (uint32_t)space << 8 | class; }

struct sm_spec {
    struct class_spec classes[WARP_SPACE_COUNT << 8]; /* accesses: by where they go; see sm_class_idx() */
    uint32_t warps, threads, block_slots, registers, schedulers, active_warps;
    uint32_t all_schedulers; /* a bit each */
    uint64_t shared_bytes;
    enum warp_scheduler policy;
    uint32_t loads, stores, lsu_queue, lsu_interval_cyc;
    uint32_t request_limit;
    uint32_t shared_latency_cyc, shared_banks, const_latency_cyc, barrier_latency_cyc, branch_latency_cyc,
        start_latency_cyc;
    bool fence_invalidates;
    bool counts_nodes; /* slices of other chiplets exist: structures.h */
    uint32_t sms_per_chiplet, slices_per_chiplet, chiplets_per_gpu;
    double clock_ghz;
    /* L1 */
    uint32_t sets, ways, mshrs, mshr_merges, miss_queue, lines_per_cyc, l1_latency_cyc, fill_latency_cyc;
    uint32_t hashed_log2; /* sets, when they are hashed and a power of two; else 0 */
    bool sectored, hashed, allocate_on_fill, write_updates, count_conflicts;
    bool scatters; /* lsu_scatter_avx2() can be asked */
    enum replacement replacement;
    uint32_t waiting_for_pages;
    uint64_t seed;
};

/* Where a line is looked for: one word. */
struct line_where {
    uint16_t slice; /* its home; of one chiplet */
    uint16_t set;   /* of the L1, */
    uint16_t slot;  /* … its MSHRs, */
    uint8_t hint;   /* … its tags: tags_hint() */
};
_Static_assert(sizeof(struct line_where) == 8, "one word");

/* A line that a memory instruction touches. */
struct line_access {
    uint64_t line; /* virtual address >> 7 */
    union {
        uint64_t bytes[2];     /* of writes; --check: of all accesses */
        struct {               /* of a read, without --check: worked out once, when it issues */
            uint64_t physical; /* of the line; where pages are known at once (not sm.translates) */
            struct line_where where;
        };
    };
    uint16_t load; /* reads and atomics; stores and reductions: generation of the warp */
    uint8_t warp;
    uint8_t place;                          /* of the kernel */
    uint8_t kind, flags, sectors, conflict; /* as in struct request, and in its order */
};
_Static_assert(sizeof(struct line_access) == 32, "half a cache line");

/* A memory instruction between coalescer and L1. One that touches one line is one cache line; no line lies in
 * two. */
struct memory_instr {
    _Alignas(64) uint16_t count; /* lines */
    uint16_t at;                 /* the next one */
    bool translated;             /* the page of the next one is known: it waits for the L1 */
    bool absent;                 /* the next one was looked for in the L1 and among its MSHRs in vain */
    bool reads;                  /* a load through the L1 of 1 to 32 lines */
    struct line_access *more;    /* of a texture fetch: those after the first 32; NULL until there are any */
    _Alignas(32) struct line_access lines[SM_LANES];
};
enum { SM_TEXELS = 16 * SM_LANES }; /* most that a fetch touches: two levels of a three-dimensional mipmap */

static inline struct line_access *line_of(struct memory_instr *m, uint32_t k)
{
    return k < SM_LANES ? &m->lines[k] : &m->more[k - SM_LANES];
}

/* An instruction whose registers come from memory. */
struct load {
    const struct warp_op_info *info;
    uint64_t issue_cyc;
    uint32_t done_cyc; /* so far; after issue_cyc */
    uint32_t reg_base;
    uint32_t after_cyc; /* from the last line to the registers: the filter of textures */
    uint16_t remaining; /* lines */
    uint8_t warp;
    bool copy; /* cp.async: no register waits for it */
};
_Static_assert(sizeof(struct load) == 32, "half a cache line");

/* What issuing needs of a warp: one cache line. */
struct sm_warp {
    _Alignas(64) const struct warp_op_info *next;
    const struct warp_op_info *after; /* of a run, see struct warp_next */
    uint64_t ready_cyc;               /* not before this cycle */
    struct class_spec class;          /* of next; unit: the port it needs */
    uint32_t *regs;                   /* its part of sm.regs */
    uint32_t run_mask;
    uint32_t reg_base;
    uint32_t stores, copies; /* on their way */
    uint16_t generation;     /* tells the stores of this warp from those of one before it in the same slot */
    uint8_t block;           /* slot */
    uint8_t idx;             /* in its block */
    uint8_t scheduler;
    uint8_t run, run_lanes; /* operations left of a run, lanes of each */
};
_Static_assert(sizeof(struct sm_warp) == 64, "one cache line");

/* The rest of it. */
struct sm_warp_source {
    void *self; /* of the block's source */
    enum warp_step (*step)(void *self, uint32_t warp, struct warp_op *out, struct warp_next *next);
    uint64_t *clock, *woken;
    uint32_t parked;       /* accesses of its loads that wait for a page */
    const uint8_t *cycles; /* of the banks, see struct warp_next */
};

/* A kernel that has its place on the SM. */
struct sm_place {
    const struct sm_kernel *kernel; /* NULL: free */
    uint64_t start_cyc;
    uint32_t blocks;
    uint32_t stores; /* lines of stores and reductions without acknowledgement, also of blocks that ended */
    bool wants;      /* may have blocks to give: it is asked */
    bool drained;    /* told so */
};

struct sm_block {
    struct warp_source source;
    uint64_t *clock;
    uint64_t idx, start_cyc;
    uint64_t since_cyc; /* in this SM */
    uint64_t warps;     /* mask of warp slots */
    uint8_t slot_of[32];
    uint8_t place;              /* its kernel's */
    uint32_t warps_left, loads; /* loads: instructions on their way */
    uint32_t leaving;           /* of warps_left: their next instruction ends them */
    bool used;
};

/* A block on its way out of the SM or into it. */
enum move_state { MOVE_NONE, MOVE_STOPPING, MOVE_OUT, MOVE_IN };
struct move {
    enum move_state state;
    uint32_t slot;
    uint32_t lines, sent, on_way; /* of the context */
    uint64_t first_line;          /* virtual */
};
#define MOVE_OWNER 0x7ffffffeu /* of requests that carry a context */

/* A scheduler: one cache line. */
struct scheduler {
    _Alignas(64) uint64_t warps;
    uint64_t *counter;              /* of what it waits for while it issues nothing */
    uint64_t since_cyc;             /* counted up to here */
    uint32_t port_free[UNIT_COUNT]; /* short cycles, see short_cyc() */
    uint8_t last;                   /* warp that it issued last */
    uint16_t bit;                   /* of masks of schedulers */
};
_Static_assert(sizeof(struct scheduler) == 64, "one cache line");

struct mshr_waiter {
    uint16_t load;
    uint8_t sectors;
};

/* The last word of a struct line_access. */
struct mshr_access {
    uint16_t load;
    uint8_t unused[4], sectors, conflict;
};
_Static_assert(sizeof(struct mshr_access) == 8 &&
                   offsetof(struct line_access, load) + sizeof(struct mshr_access) ==
                       sizeof(struct line_access) &&
                   offsetof(struct line_access, sectors) - offsetof(struct line_access, load) ==
                       offsetof(struct mshr_access, sectors),
               "copied in one piece");

/* A missing line. Its first request is its own for good: sm.first_request + number of the MSHR. */
struct l1_mshr {
    uint64_t line;
    struct line_where where; /* plain: as in struct line_access */
    uint32_t sent;           /* short cycle of its own request */
    bool plain : 1; /* one load waits, for its own request; the line gets a place when it comes, and is kept:
                       of what follows, all but `next` and `access` is not set, see l1_unfold() */
    bool used : 1;  /* it was more than plain before */
    bool stale : 1; /* overtaken by a store or an invalidation: serves those who wait, is not kept */
    uint16_t next;  /* + 1: the next one of its slot, while it is not stale */
    union {
        struct mshr_access access; /* plain: who waits, and for what */
        struct {
            uint32_t tag_line; /* TAGS_NONE: gets one when it comes */
            uint8_t asked;     /* sectors on their way */
            uint8_t here;      /* sectors that came */
            uint16_t waiting;
        };
    };
    struct mshr_waiter waiters[]; /* [merges] */
};
_Static_assert(sizeof(struct l1_mshr) == 32, "with eight that wait, one cache line");

/* By line: who misses it, and which one left last. */
struct l1_slot {
    uint32_t left; /* l1_left_entry(), with the cause */
    uint16_t mshr; /* the first that waits for one of these lines, + 1; 0: none does */
};
enum { L1_SLOTS_LOG2 = 12, L1_SLOTS = 1 << L1_SLOTS_LOG2 };

struct l1 {
    struct tags tags;
    uint8_t *valid; /* per line: sectors */
    uint8_t *mshrs; /* see l1_mshr_at() */
    size_t mshr_bytes;
    uint32_t mshr_count;
    uint8_t whole; /* sectors that come with any other: all or, sectored, none */
    bool quick;    /* as most are, see l1_init(): pump.c and stretch.h serve it */
    uint16_t *free;
    uint32_t free_count;
    struct l1_slot *slots;
    struct check_place *copies; /* --check: of lines, then of MSHRs; NULL: none */
    struct lru *shadow;         /* l1.count_conflicts: what it would hold without sets; NULL: not counted */
    struct l1_stats stats;
};

static inline struct l1_mshr *l1_mshr_at(const struct l1 *l1, uint32_t idx)
{
    return (struct l1_mshr *)(void *)(l1->mshrs + idx * l1->mshr_bytes);
}

enum l1_left { LEFT_NOT, LEFT_REPLACED, LEFT_WRITE, LEFT_COHERENCE };

/* Slot and entry together are the line, up to 2^49 B of addresses. */
static inline uint32_t l1_slot_idx(uint64_t line)
{
    return (uint32_t)(line ^ line >> L1_SLOTS_LOG2) % L1_SLOTS;
}
static inline struct l1_slot *l1_slot_of(const struct l1 *l1, uint64_t line)
{
    return &l1->slots[l1_slot_idx(line)];
}
static inline uint32_t l1_left_entry(uint64_t line) { return (uint32_t)(line >> L1_SLOTS_LOG2) << 2; }
static inline uint32_t l1_set_of(const struct sm_spec *spec, uint64_t line)
{
    if (__builtin_expect(spec->hashed_log2, 1)) return tags_set_of_run(line, spec->sets, spec->hashed_log2);
    return spec->hashed ? tags_set_hashed(line, spec->sets) : (uint32_t)(line % spec->sets);
}

/* The line is accessed soon, by a load: fetches what that will touch into the host's caches. */
static inline void l1_coming(const struct l1 *l1, uint32_t slot, uint32_t set)
{
    __builtin_prefetch(&l1->slots[slot], 1);
    __builtin_prefetch(tags_row(&l1->tags, set));
}

/* Bank conflicts depend on the distances between the lanes' addresses only, which repeat: what was worked out
 * last for an instruction is kept. */
enum { CONFLICT_CACHE = 128 };
struct conflict_cache {
    struct {
        const struct warp_op_info *info;
        uint64_t distance[SM_LANES];
        uint32_t mask, bytes, cycles;
    } entries[CONFLICT_CACHE];
    struct {
        const struct warp_op_info *info;
        uint64_t distance[3]; /* of the second group, the third, the fourth from the first */
        uint32_t unit, bytes, cycles;
    } groups[CONFLICT_CACHE]; /* of grouped operations */
};

/* First-in first-out list of accesses that wait for pages. The nodes are in sm.waiting, see lsu.c. */
struct access_list {
    uint32_t first, last; /* nodes; 0: the list is empty */
};
enum { SM_PAGE_LISTS_LOG2 = 6, SM_PAGE_LISTS = 1 << SM_PAGE_LISTS_LOG2 };

struct sm {
    /* What a visit looks at first: a few cache lines. */
    _Alignas(64) const struct sm_spec *spec;
    uint32_t app; /* of its kernels */
    uint32_t place_count;
    uint64_t wheel_used;  /* bit per slot */
    uint32_t queue_limit; /* spec->lsu_queue */
    uint32_t queue_count, misses_count, parked_count, replay_count;
    uint32_t outstanding, stores_out;
    uint32_t component;
    bool wants_blocks, miss_refused;
    bool reply_came; /* a reply or a page has arrived since the memory pipe last tried the line in front */
    uint8_t hold;    /* enum sm_hold */
    bool direct;     /* windows: a request goes into the network in the cycle in which it is made */
    bool translates; /* a translation may be missing, or its page locked while it moves */
    uint32_t page_lines_log2;
    uint32_t first_request; /* of those that belong to MSHRs */
    uint32_t misses_head, loads_free_count;
    uint64_t refreshed_cyc;
    uint64_t ahead_cyc;                /* what happened up to here, nobody outside can notice */
    uint64_t memory_cyc;               /* the first half of this cycle is done */
    uint64_t next_cyc;                 /* what it asked for at the end of its last visit */
    int32_t fetched;                   /* replies that come next, in the host's caches already */
    const struct ahead *windows;       /* lookahead windows of the memory side; NULL: none */
    const struct net_front *reply;     /* what comes back next */
    struct net_queue_port replies;     /* … direct: and from where; */
    struct net_queue_source *out;      /* … where requests go, */
    uint64_t *traffic;                 /* … and their bytes count, by slice */
    uint32_t read_bytes;               /* … of a read's */
    struct request *own_requests;      /* of MSHRs */
    uint64_t flight_cyc;               /* when the number of requests on their way last changed */
    uint64_t flight_sum;               /* when requests were answered, less when all were made: sums */
    uint64_t write_cyc;                /* request_cyc of others than reads */
    uint64_t lsu_blocked_cyc;          /* counted up to here */
    uint64_t *lsu_blocked;             /* counter, NULL: goes on */
    struct memory_instr *front, *back; /* of the queue: the first one, the place for the next */
    struct memory_instr *queue, *queue_end;
    uint32_t *misses; /* requests for the network */
    struct load *loads;
    const struct page_cache *pages; /* of wire.mmu */
    const struct pages *table;
    uint32_t block_count;
    uint32_t ending;  /* of these: all warps have ended, loads are on their way */
    uint32_t changed; /* schedulers whose warps may wait for something else since the last visit */
    uint32_t unknown; /* schedulers whose reason has not been looked for */
    struct move move;
    /* warps as bit masks */
    uint64_t any_ready;                      /* could issue now but for the port */
    uint64_t sleeping, far;                  /* in the wheel; far: and for longer than it reaches */
    uint64_t wait_memory, asleep, wait_page; /* wait_page: have parked accesses */
    uint64_t outward;                        /* next instruction can be noticed outside of the SM */
    uint64_t stopping;                       /* warps of a block on the move */
    uint64_t leaving;                        /* next instruction ends the warp */
    uint64_t of_unit[UNIT_COUNT];            /* every warp, by the port of its next instruction */
    uint64_t wait_barrier, wait_fence, resident;
    uint64_t releases;   /* with a store_order: next instruction is a fence or release of GPU scope */
    uint64_t wait_order; /* of wait_fence: for stores of other warps and SMs */
    uint64_t fence_cyc[SM_WARPS]; /* cycle + 1 in which its fence or release was ready to issue; 0: none */
    uint64_t flush_cyc[SM_WARPS]; /* of a fence: cycle + 1 in which the stores before it were answered */
    uint64_t held;                /* of stopping: those that would be ready */
    uint64_t start_cyc;           /* from when on some kernel can be asked for blocks */
    uint64_t shared_free_cyc;
    uint64_t asked_cyc; /* sm_ask() woke it for this cycle */
    _Alignas(64) struct sm_wiring wire;
    const struct path_route *routes; /* its row of the chiplet's path table, see path_first() */
    struct arena *arena;             /* of the machine */
    struct scheduler schedulers[SM_SCHEDULERS];
    uint64_t active[SM_SCHEDULERS]; /* two_level */
    uint32_t *regs;                 /* short cycle from which a register can be read */
    uint32_t reg_stride;            /* from warp to warp, whole lines */
    uint64_t wheel[SM_WHEEL];
    struct sm_warp warps[SM_WARPS];
    struct sm_warp_source sources[SM_WARPS];
    struct sm_block blocks[SM_WARPS];
    struct sm_place places[SM_KERNELS];
    uint8_t order[SM_KERNELS]; /* places in use, in the order in which they are asked */
    uint64_t by_age[SM_WARPS]; /* warps of the blocks, the oldest first; in a block the lowest slot is the
                                  oldest */
    uint32_t resident_count, threads_used, registers_used;
    uint64_t shared_used;
    uint64_t settled_cyc; /* cycles are counted up to here */
    /* memory */
    uint16_t *loads_free;
    struct line_access *waiting;              /* [node] access that waits for a page; node 0 is unused */
    uint32_t *waiting_next;                   /* [node] next node of its list; 0: the node is the last */
    uint32_t waiting_free;                    /* first free node that has been used before; 0: none */
    uint32_t waiting_used;                    /* nodes used at some time: 1 .. waiting_used */
    struct access_list parked[SM_PAGE_LISTS]; /* accesses whose page is missing, by page */
    struct access_list replay;                /* accesses whose page has arrived */
    uint32_t replay_stale;                    /* first accesses of replay whose translation was dropped */
    uint16_t stores_on_way[SM_ORDER], atomics_on_way[SM_ORDER]; /* path.orders_atomics: in flight, by line */
    _Alignas(64) struct l1 l1;
    struct warp_op op; /* of the step under way */
    /* stats.request_latency and .near_latency; … with a bucket for everything, so that none is asked for */
    uint64_t latency[SM_LATENCIES], near_latency[SM_LATENCIES];
    struct sm_stats stats;
};

/* Short cycles: cycles modulo 2^32, for what is needed most: half as much memory. Nothing that counts is more
 * than SM_FAR / 4 away from now, except "waits for memory", which is SM_FAR ahead; sm_refresh() keeps it so.
 */
#define SM_FAR (1u << 30)
static inline uint32_t short_cyc(uint64_t cyc) { return (uint32_t)cyc; }
/* How far it is ahead of now; negative: it has passed. */
static inline int32_t short_ahead(uint32_t cyc, uint64_t now) { return (int32_t)(cyc - (uint32_t)now); }

static inline struct sm_warp *sm_warp_at(struct sm *sm, uint32_t warp)
{
    size_t offset = (size_t)warp * sizeof *sm->warps;
    __asm__("" : "+r"(offset)); /* else one is worked out from the beginning of the SM, */
    struct sm_warp *w = (struct sm_warp *)(void *)((uint8_t *)sm->warps + offset);
    __asm__("" : "+r"(w)); /* … and the address again for each field */
    return w;
}

static inline uint32_t *sm_regs(const struct sm *sm, uint32_t warp) { return sm->warps[warp].regs; }

static inline uint64_t bit_of(uint32_t warp) { return (uint64_t)1 << warp; }

static inline const struct sm_kernel *sm_kernel_of(const struct sm *sm, const struct sm_block *b)
{
    return sm->places[b->place].kernel;
}

/* The warp waits for something else from now on. */
static inline void sm_changed(struct sm *sm, uint32_t warp)
{
    sm->changed |= 1u << sm->warps[warp].scheduler;
}
static inline void sm_all_changed(struct sm *sm) { sm->changed = UINT32_MAX; }

/* sm.c: what is counted by cycles is, up to now: their number, or that of warps, changes. */
void sm_settle_cycles(struct sm *sm, uint64_t now);
/* issue.c: the cycle, and those after it that are nobody else's business; returns the next one. */
uint64_t sm_issue(struct sm *sm, uint64_t now);
/* execute.c */
void sm_next(struct sm *sm, uint32_t warp, uint64_t earliest_cyc, uint64_t now);
/* The registers of the next instruction come in so many cycles, more than the wheel has, or from memory. */
void sm_wait_long(struct sm *sm, uint32_t warp, uint32_t ahead, uint64_t now);
/* What it waited for (memory, stores) has come. */
void sm_wait_over(struct sm *sm, uint32_t warp, uint64_t now);
/* Takes ready warps with a fence or release from the ready ones until every store that was sent before it is
 * answered. */
void sm_hold_fences(struct sm *sm, uint64_t ready, uint64_t now);
/* Returns those for which that has happened. */
void sm_recheck_fences(struct sm *sm, uint64_t now);
/* --check: the warp passes a fence or release of GPU scope. */
void sm_check_release(const struct sm *sm, uint32_t warp, uint64_t now);
/* The warp executes its next instruction. */
void sm_step(struct sm *sm, uint32_t warp, uint32_t latency_cyc, uint64_t now);
/* blocks.c */
bool sm_try_start(struct sm *sm, uint64_t now);
/* Puts a block into a free slot; its warps do not run yet. */
uint32_t sm_take_slot(struct sm *sm, uint32_t place, uint64_t block, uint64_t start_cyc, uint64_t now);
void sm_start_warps(struct sm *sm, uint32_t slot, uint64_t now);
void sm_release_slot(struct sm *sm, uint32_t slot, uint64_t now);
bool sm_has_room(const struct sm *sm, const struct sm_kernel *kernel);
/* Where the kernel is; SM_KERNELS: not here. */
uint32_t sm_place_of(const struct sm *sm, const struct sm_kernel *kernel);
/* The next instruction of the warp ends it; that one has been executed. */
void sm_leaves(struct sm *sm, uint32_t warp);
void sm_has_left(struct sm *sm, uint32_t warp);
void sm_warp_done(struct sm *sm, uint32_t warp, uint64_t now);
void sm_check_block(struct sm *sm, uint32_t slot, uint64_t now);
/* move.c */
void move_step(struct sm *sm, uint64_t now);
void move_line_done(struct sm *sm);
void move_keep_runs(const struct sm *sm, const struct sm_block *b);
/* lsu.c */
static inline bool lsu_has_room(const struct sm *sm)
{
    return sm->queue_count < sm->queue_limit && sm->loads_free_count;
}
void lsu_issue(struct sm *sm, uint32_t warp, uint64_t now);
void lsu_step(struct sm *sm, uint64_t now);
/* True if the cause that blocks the line in front persists: a retry would fail and change nothing. For
 * stall_page_busy see invariant 3 of lsu.c. */
static inline bool lsu_still_blocked(const struct sm *sm)
{
    if (sm->lsu_blocked == &sm->l1.stats.wait_queue) return sm->misses_count == sm->spec->miss_queue;
    if (sm->lsu_blocked == &sm->l1.stats.wait_mshr) return !sm->reply_came;
    if (sm->lsu_blocked == &sm->stats.stall_page_busy) return !sm->reply_came && !sm->wire.moving_pages;
    return false;
}
/* The line in front waits for something that comes: not for a place in a queue that is there by now. */
static inline bool lsu_waits(const struct sm *sm)
{
    if (sm->lsu_blocked != &sm->l1.stats.wait_queue) return sm->lsu_blocked != NULL;
    return sm->misses_count == sm->spec->miss_queue;
}
/* The network said no, and not yet that it has room. */
static inline bool lsu_still_refused(const struct sm *sm, uint64_t now)
{
    const struct fabric_side *const s = &sm->wire.fabric->request;
    return sm->miss_refused && !s->by_pairs && s->same_clock &&
           now < s->full_cyc[sm->wire.sm_idx - s->first_sender];
}
/* Nothing can move in this cycle? Then all of lsu_step() is to count. */
static inline bool lsu_rests(struct sm *sm, uint64_t now)
{
    if ((sm->parked_count | sm->replay_count) || (sm->queue_count && !lsu_still_blocked(sm)) ||
        (sm->misses_count && !lsu_still_refused(sm, now)))
        return false;
    if (sm->lsu_blocked) *sm->lsu_blocked += now - sm->lsu_blocked_cyc;
    sm->lsu_blocked_cyc = now;
    return true;
}
/* A line of a store or an atomic; false: not now. */
bool lsu_write(struct sm *sm, const struct line_access *a, uint64_t now);
/* The place behind one of the queue. */
static inline struct memory_instr *lsu_behind(const struct sm *sm, struct memory_instr *m)
{
    return m + 1 < sm->queue_end ? m + 1 : sm->queue;
}
/* The line in front is done with; true: there are more of its instruction. */
static inline bool lsu_next_line(struct sm *sm, struct memory_instr *m)
{
    m->translated = m->absent = false;
    if (++m->at < m->count) return true;
    sm->front = lsu_behind(sm, m);
    sm->queue_count--;
    return false;
}
void lsu_reply(struct sm *sm, uint64_t now, uint32_t request);
void load_done(struct sm *sm, uint32_t load, uint64_t now);
static inline void load_line_done(struct sm *sm, uint32_t load, uint64_t done_cyc, uint64_t now)
{
    struct load *l = &sm->loads[load];
    const uint32_t after = (uint32_t)(done_cyc - l->issue_cyc);
    if (after > l->done_cyc) l->done_cyc = after;
    if (--l->remaining == 0) load_done(sm, load, now);
}
/* Gives a line to memory, by any request; false when the queue is full. */
bool lsu_send(struct sm *sm, const struct line_access *a, uint32_t owner, uint8_t sectors, uint64_t now);
/* --check: the request is about to be queued. */
void lsu_check_send(struct sm *sm, const struct line_access *a, uint32_t idx, uint64_t now);
/* coalesce.c: the lines of an instruction into out, copies of the model (with no bytes, no sectors, and a
 * conflict of 1) but for what it finds out; returns how many. */
uint32_t coalesce(const struct warp_op *op, const struct line_access *model, struct line_access *out,
                  bool writes, bool atomic);
/* scatter_avx2.c: the same of a load without --check, whose lanes all take part, each with bytes of one
 * sector; also what lines are looked for by. False: lanes share lines, or a page is not known; out is not
 * worth anything then. */
bool lsu_scatter_avx2(const struct sm *sm, const uint64_t *address, const struct line_access *model,
                      struct line_access *out);
/* The lines of a texture fetch; those beyond 32 into more, which is made when needed. */
uint32_t coalesce_texels(const struct warp_op *op, const struct line_access *model, struct memory_instr *m,
                         struct arena *arena, bool bytes);
uint32_t shared_conflict_cycles(const struct warp_op *op, uint32_t banks, struct conflict_cache *cache);
/* l1.c */
void l1_init(struct l1 *l1, struct arena *a, const struct sm_spec *spec, uint32_t sm_idx);
bool l1_read(struct sm *sm, const struct line_access *a, uint64_t now);
void l1_write(struct sm *sm, const struct line_access *a, uint64_t now);
void l1_fill(struct sm *sm, uint32_t mshr, uint8_t sectors, uint64_t now);
/* Brings stats.mshr_peak up to date. */
void l1_count_peak(struct l1 *l1, uint32_t mshrs);
void l1_invalidate(struct sm *sm);
/* An acquire point of GPU scope; keep: a planted fault. */
void sm_acquire(struct sm *sm, bool keep, uint64_t now);

#endif
