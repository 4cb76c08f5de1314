/* pages: which frame every page of the machine has. This room is the only writer of that mapping.
 *
 *   table.c         colours and free frames; placement at the first touch; rules set at a launch
 *   track.c         requests in flight per page; calls the policies that migrate and replicate pages
 *   life.c          a move: lock > drain and driver time > copy > new frame > release
 *   freed.c         pages of freed allocations lose their rule and their frame
 *   interleave.c    pages whose lines lie in several nodes
 *   copy_network.c  copies the lines of a page from slice to slice
 *   owned.c         owned channels of an application that change: which pages must move, and where to
 *   copy_stack.c    copies a page inside its memory stacks
 *   copy_channels.c copies a page over the buses of its channels
 *   copy_engine.c   copies a page over the networks of SMs and slices, through a port of its own
 *   touch.c         replicas that appear at the first touch of a node, without traffic and time
 *   profile.c       how the measured part uses each page, from a first pass without time
 *
 * Migration of a page to the node that used it most in an interval, and replication in a node that reads it:
 *
 *   lock for all SMs ──► requests in flight end, driver time ──► copy lines ──► new frame in the table ──► release
 *   lock for the node ─► driver time ──────────────────────────► copy lines ──► the node has a replica ──► release
 *
 * A page that must follow the channels of its application (pages.copier; the masks of owned.c are compared at an
 * L2 TLB hit and at the end of every walk):
 *
 *   lock for all SMs ──► one fault per pages.fault_interval_cyc; requests in flight end, driver time
 *       ──► all lines leave the slices of the old frame ──► copy ──► new frame in the table ──► release
 *
 * A store to a page with replicas: lock for all SMs, driver time, the replicas are removed, release.
 *
 * Above: mmu (TLBs and walks decide when an SM may use a page), sm (requests), system (kernels).
 * Below: dram (free frames), llc (slices read and write the lines of a move), policy.
 *
 * Contract:
 *  1. Mappings change in messages only, before any component is activated in that cycle. Placement at the
 *     first touch is the exception: a page without a frame gets one when an MMU places it, and a node without a
 *     replica gets one there (touch.c).
 *  2. While a page is locked, no SM of the lock's scope (all SMs, or those of the node that gets a replica)
 *     obtains its translation: its entry is removed from their TLBs, and pages_held() parks their lookups in
 *     the MMU until the callback resume().
 *  3. No line of a migrating page is read before the requests in flight to the page are zero.
 *  4. Before a frame is free again, no slice and no TLB holds anything of it. A migration reads lines with
 *     REQUEST_MIGRATE, so the home slice keeps none; the lines of a replica are invalidated.
 *  5. --check receives every line that changes its frame.
 *  6. An application that is restricted to some colours gets frames of these colours only. If they are full,
 *     the run ends with an error that names the application.
 *
 * A physical address is chiplet << map bits | address in the chiplet's memory (dram_map.h). Colours are
 * numbered over the machine: chiplet * colours per chiplet + colour there. SMs are numbered over the machine.
 */
#ifndef ATOLL_PAGES_PAGES_H
#define ATOLL_PAGES_PAGES_H

#include "base/map.h"
#include "config/nodes.h"
#include "dram/dram_frames.h"
#include "engine/engine.h"
#include "policy/placement/placement.h"
#include "request/request.h"
#include "stats/stats.h"

struct channel;
struct check;
struct fabric;
struct owner_stats;
struct page_life; /* pages_private.h */
struct pages_wiring;
struct page_profile;
struct page_replication_ops;
struct slice;

enum { PAGES_APPS = 8 };
enum { PAGES_PIECE_LOG2 = 7, PAGES_PIECE = 1 << PAGES_PIECE_LOG2 };

/* A range of pages whose frames follow a rule that was set at a launch; a part of the rule's range if earlier rules
 * hold for the rest. */
struct page_range {
    uint64_t first, count;
    struct page_rule rule;
};

struct page_app {
    struct placement policy;
    struct colours owned;      /* colours of its pages */
    uint16_t *colours;         /* storage of `owned` */
    uint64_t pages;            /* pages with a frame, without those of contexts */
    uint64_t *in_colour;       /* [colour] of these pages */
    uint64_t context_pages;    /* frames that hold contexts of blocks */
    uint64_t *planned;         /* [colour] as in_colour, but a page that moves counts at its new place */
    struct page_range *ranges; /* sorted, disjoint */
    uint32_t range_count, range_capacity;
    uint32_t memory_generation; /* of the last launch (launch_facts.h) */
};

/* Other rooms read the fields through the functions below; only src/pages writes them. */
struct pages {
    const struct dram_map *map;  /* of every chiplet */
    struct dram_frames **frames; /* [chiplet] */
    struct dram_frames **system; /* [chiplet] in system memory; NULL: no page is spilled */
    uint32_t chiplets, colours_per_chiplet, page_log2;
    uint32_t channels_per_chiplet, slices_per_channel;
    /* Slice of a line in a page = slice of the page's first line, XOR lower[low bits of the line's number],
     * XOR upper[high bits]. Valid on a machine of one chiplet. */
    uint32_t lower[PAGES_PIECE], upper[PAGES_PIECE];
    uint32_t lower_mask, upper_mask;
    struct map frame_of;             /* key to physical address */
    struct map replicas;             /* pages_replica_key() to the physical address of the node's replica */
    struct nodes nodes;              /* that pages migrate between and are replicated in */
    struct map parts;                /* interleaved structures: node and page of its part to the frame */
    struct page_rule *interleavings; /* [interleaving_count] */
    uint32_t interleaving_count, interleaving_capacity;
    uint64_t *placed;        /* [colour] pages */
    uint64_t fullest;        /* maximum of placed[] so far */
    uint64_t placed_by_rule; /* pages that got their frame by the rule of a range (pages_assign_range()) */
    bool count_sharing;
    struct map touches, sharers; /* mmu.count_sharing: pairs of page and SM; key to number of SMs */
    struct page_app apps[PAGES_APPS];
    struct page_life *life; /* NULL: a page keeps its frame */
    const struct pages_wiring *wire;
    uint32_t gpus;
    const struct page_replication_ops *replication;
    const struct page_profile *profile; /* NULL: there was no first pass */
    struct check *check;                /* NULL: no --check */
    uint64_t frames_used;               /* that hold pages and replicas; counted in stats.frames_peak */
    struct pages_stats stats;
    struct spill_stats spill_stats;
    double spill_share;
};

/* The rooms above, as callbacks. An MMU serves one GPU and one application or all of them; `key` selects it.
 */
struct pages_wiring {
    struct engine *engine;
    uint32_t domain; /* of the SMs */
    struct stats_registry *stats;
    const struct dram_map *map;
    struct pool *requests;
    struct slice *const *slices;     /* of the machine; filled before the first kernel */
    struct channel *const *channels; /* of the machine */
    uint64_t *pending;               /* [channel] channel_wiring.pending */
    uint32_t clients;                /* slices that reach a channel */
    struct fabric *fabric;           /* of the chiplet, for pages.copier=network; built later */
    uint32_t *port_component;        /* the copier writes the component at its port of the fabric */
    uint32_t dram_domain;
    struct check *check; /* NULL: no --check */
    void *system;        /* argument of the callbacks */
    /* Removes the page from all TLBs of the GPU. */
    void (*shootdown)(void *system, uint32_t gpu, uint64_t key);
    /* Removes the page from the L1 TLBs of some SMs of the GPU. */
    void (*forget)(void *system, uint32_t gpu, uint64_t key, uint32_t first_sm, uint32_t sm_count);
    /* The SMs, a bit per SM of the GPU, may use the page; their lookups were parked by pages_held(). */
    void (*resume)(void *system, uint32_t gpu, uint64_t key, const uint64_t *sms, uint64_t now);
    /* True if a kernel runs. */
    bool (*running)(void *system);
};

/* After the channels, before MMUs and slices. */
struct pages *pages_new(struct arena *a, const struct config *c, const struct pages_wiring *w);
void pages_free(struct pages *p); /* the maps are not the arena's */

/* ---- the table ---- */

static inline uint64_t pages_key(uint32_t app, uint64_t page) { return (uint64_t)app << 56 | page; }
static inline uint32_t pages_key_app(uint64_t key) { return (uint32_t)(key >> 56); }
static inline uint64_t pages_key_page(uint64_t key) { return key & (((uint64_t)1 << 56) - 1); }

/* Key of a node's replica. Page numbers have fewer than 40 bits. */
static inline uint64_t pages_replica_key(uint64_t key, uint32_t node) { return key ^ (uint64_t)node << 40; }

/* An entry of the table with this bit has no frame: the lines of the page lie in several nodes (pages_line()). */
#define PAGES_INTERLEAVED ((uint64_t)1 << 63)

/* The frame that the page has for an SM: the replica of the SM's node, else the frame of the page. NULL: the
 * page has no frame. The pointer is valid until the next change of the table. */
static inline const uint64_t *pages_find(const struct pages *p, uint32_t sm, uint64_t key)
{
    if (p->replicas.count) {
        const uint64_t *replica = map_find(&p->replicas, pages_replica_key(key, nodes_of_sm(&p->nodes, sm)));
        if (replica) return replica;
    }
    return map_find(&p->frame_of, key);
}
/* The page's own frame, whatever replicas there are; NULL: the page has no frame. */
static inline const uint64_t *pages_frame(const struct pages *p, uint64_t key)
{
    return map_find(&p->frame_of, key);
}
/* Home of a physical address. */
static inline struct home pages_home(const struct pages *p, uint64_t address)
{
    const uint64_t chiplet = dram_map_chiplet(p->map, address);
    const struct dram_place at = dram_map_place(p->map, address & (((uint64_t)1 << p->map->bits) - 1));
    const uint32_t channel = (uint32_t)chiplet * p->channels_per_chiplet + at.channel;
    return (struct home){.line = address >> LINE_LOG2,
                         .channel = (uint16_t)channel,
                         .slice = (uint16_t)(channel * p->slices_per_channel + at.slice)};
}
/* Home slice of a line (physical or virtual line number) of a page whose first line's slice is `first`, on a
 * machine of one chiplet. */
static inline uint32_t pages_slice_in(const struct pages *p, uint32_t first, uint64_t line)
{
    const uint32_t lower = (uint32_t)line & p->lower_mask,
                   upper = (uint32_t)line >> PAGES_PIECE_LOG2 & p->upper_mask;
    return first ^ p->lower[lower] ^ p->upper[upper];
}

/* The frame that an SM is about to use: as pages_find(), after the SM's node has got its replica of a page that is
 * replicated at a touch. NULL: the page has no frame. */
const uint64_t *pages_use(struct pages *p, uint32_t sm, uint64_t key);
/* How the measured part uses the pages; the caller keeps the profile. Call it before the first kernel. */
void pages_set_profile(struct pages *p, const struct page_profile *profile);
/* True if replicas of the page appear at touches. */
bool pages_are_touch_replicated(const struct pages *p, uint64_t key);
/* Gives a page that an SM touches its frame. Precondition: the page has none. */
uint64_t pages_place(struct pages *p, uint32_t sm, uint64_t key);
/* A frame that belongs to no page (page tables), of the colour if it has a free frame, else of another colour
 * of the application. */
uint64_t pages_take_frame(struct pages *p, uint32_t app, uint32_t colour);
/* Gives a page of a block's context a frame that never moves, of an owned colour in rotation. The page is not counted
 * as placed. Precondition: the page has none. */
void pages_place_context(struct pages *p, uint64_t key);
/* True if the page's frame has an owned colour. Precondition: the page has a frame. */
bool pages_is_owned(const struct pages *p, uint64_t key);
/* mmu.count_sharing: an SM uses a page. */
void pages_count_sharer(struct pages *p, uint32_t sm, uint64_t key);

/* The home of a line of an interleaved page. entry: of the page in the table. line: virtual number. */
struct home pages_line(const struct pages *p, uint64_t entry, uint64_t line);
/* freed.c: before a launch places anything. Pages whose rule came from an allocation that has been freed lose rule and
 * frame, because a later allocation may have their addresses. The frame is not used again: slices may hold its lines. */
void pages_drop_freed(struct pages *p, const struct launch_facts *facts);
/* For table.c: registers the rule of an interleaved range; gives the parts of a page frames and returns its entry;
 * takes a frame for a page, which counts as a page of its colour. */
uint32_t pages_add_interleaving(struct pages *p, const struct page_rule *r);
uint64_t pages_mark_interleaved(struct pages *p, const struct placement_question *q,
                                const struct page_rule *r);
uint64_t pages_take_counted_frame(struct pages *p, uint64_t key, uint32_t colour);

/* ---- applications and launches ---- */

/* Restricts the pages that an application gets from now on to these colours; NULL: all. Pages that have a
 * frame keep it. The colours are copied. */
void pages_restrict(struct pages *p, uint32_t app, const struct colours *owned);
/* The owned set of an application changes (owned.c): the instant at which the masks of the L2 TLB are written.
 * `gained`: colours of `owned` that the application did not own before; a count of 0: none. Both are copied.
 * Preconditions: the L1 caches of its SMs and the slices of its old colours hold none of its lines, and no
 * request, walk or page of the application is in flight. Between two runs of the engine. */
void pages_change_owned(struct pages *p, uint32_t app, const struct colours *owned,
                        const struct colours *gained);
/* False while a page of the application is locked because of a change of its owned set. */
bool pages_change_over(const struct pages *p, uint32_t app);
/* Counters of the pages of an application that follow its channels; NULL: pages.copier is none. */
struct owner_stats *pages_owner_stats(struct pages *p, uint32_t app);
static inline const struct colours *pages_owned(const struct pages *p, uint32_t app)
{
    return &p->apps[app].owned;
}
/* A kernel is about to start: the placement policy may assign rules to ranges of pages. */
void pages_launch(struct pages *p, const struct launch_facts *facts);
/* Pages first to first + count - 1 get their frame by the rule, at their first touch. Pages that have a frame
 * keep it, and pages that have a rule keep that rule. */
void pages_assign_range(struct pages *p, uint32_t app, uint64_t first, uint64_t count,
                        const struct page_rule *rule);
/* The colour of a frame. */
uint32_t pages_colour_of(const struct pages *p, uint64_t frame);
/* The memory of a chiplet: number of the first frame that never held a page. */
uint64_t pages_frames_of(void *pages, uint32_t chiplet);
/* True if all pages first to first + count - 1 have a rule. */
bool pages_has_rules(const struct pages *p, uint32_t app, uint64_t first, uint64_t count);
/* The run is over: placement policies check their parameters. */
void pages_end(struct pages *p);
/* For tests that bring a placement policy of their own. */
struct placement *pages_placement(struct pages *p, uint32_t app);

static inline uint32_t pages_colours(const struct pages *p) { return p->chiplets * p->colours_per_chiplet; }
/* Channels that the address map spreads a page of one colour over. */
static inline uint32_t pages_channels_per_colour(const struct pages *p)
{
    return p->channels_per_chiplet / p->colours_per_chiplet;
}

/* Pages that an application has in a colour, without contexts of blocks. */
static inline uint64_t pages_in(const struct pages *p, uint32_t app, uint32_t colour)
{
    return p->apps[app].in_colour[colour];
}
/* Frames of a colour. */
static inline uint64_t pages_per_colour(const struct pages *p)
{
    return dram_frames_per_colour(p->frames[0]);
}
/* Colour of the frames that lie in a channel. */
uint32_t pages_colour_of_channel(const struct pages *p, uint32_t channel);

/* ---- pages that change their frame: the calls below need pages_may_move() ---- */

static inline bool pages_may_move(const struct pages *p) { return p->life != NULL; }

/* An SM is about to access the page. True: the page is locked, or this access locks it; the SM must wait in
 * its MMU (mmu_wait()). read_only: the analysis proved that the kernel does not write the line. */
bool pages_stops(struct pages *p, uint32_t sm, uint64_t key, bool writes, bool read_only, uint64_t now);
/* An SM has sent a request to the page. */
void pages_sent(struct pages *p, uint32_t sm, uint64_t key, bool writes, uint64_t now);
/* The SM has received the reply. */
void pages_answered(struct pages *p, uint64_t key);
/* An L2 TLB looks the page up for an SM. True: the page is locked for the SM; resume() follows. */
bool pages_held(struct pages *p, uint32_t sm, uint64_t key);
/* True if pages follow the channels of their application (pages.copier). */
bool pages_follow(const struct pages *p);
/* An L2 TLB hit or the end of a walk has found the translation of a page with a frame for an SM. True: the page
 * is locked, or this access locks it because it must move to another channel (owned.c); resume() follows. */
bool pages_faults(struct pages *p, uint32_t sm, uint64_t key);
/* Memory has accepted a line of a move; a callback of slices. */
void pages_line_done(void *pages, uint32_t move);

/* ---- kernels; no effect where pages keep their frame ---- */

void pages_kernel_begins(struct pages *p, uint64_t start_cyc);
/* The last kernel that ran has ended: replicas are dropped. Between two runs of the engine. */
void pages_kernels_end(struct pages *p);

#endif
