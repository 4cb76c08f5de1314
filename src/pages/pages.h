/* pages: which frame every page of the machine has. This room is the only writer of that mapping.
 *
 *   table.c         colours and free frames; placement at the first touch; rules set at a launch
 *   track.c         requests in flight per page; asks the policies that migrate and replicate pages
 *   life.c          a move: lock > drain and driver time > copy > new frame > release
 *   copy_network.c  copies the lines of a page from slice to slice
 *
 * Migration of a page to the node that used it most in an interval, and replication in a node that reads it:
 *
 *   lock for all SMs ──► requests in flight end, driver time ──► copy lines ──► new frame in the table ──► release
 *   lock for the node ─► driver time ──────────────────────────► copy lines ──► the node has a replica ──► release
 *
 * A store to a page with replicas: lock for all SMs, driver time, the replicas are removed, release.
 *
 * Above: mmu (TLBs and walks decide when an SM may use a page), sm (requests), system (kernels).
 * Below: dram (free frames), llc (slices read and write the lines of a move), policy.
 *
 * Contract:
 *  1. Mappings change in messages only, before any component is activated in that cycle. Placement at the
 *     first touch is the exception: a page without a frame gets one when an MMU places it.
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

struct check;
struct page_life; /* pages_private.h */
struct slice;

enum { PAGES_APPS = 8 };
enum { PAGES_PIECE_LOG2 = 7, PAGES_PIECE = 1 << PAGES_PIECE_LOG2 };

/* A range of pages whose frames follow a rule that was set at a launch. */
struct page_range {
    uint64_t first, count;
    struct page_rule rule;
};

struct page_app {
    struct placement policy;
    struct colours owned;      /* colours of its pages */
    uint16_t *colours;         /* storage of `owned` */
    uint64_t pages;            /* pages with a frame */
    struct page_range *ranges; /* sorted, disjoint */
    uint32_t range_count, range_capacity;
};

/* Other rooms read the fields through the functions below; only src/pages writes them. */
struct pages {
    const struct dram_map *map;  /* of every chiplet */
    struct dram_frames **frames; /* [chiplet] */
    uint32_t chiplets, colours_per_chiplet, page_log2;
    uint32_t channels_per_chiplet, slices_per_channel;
    /* Slice of a line in a page = slice of the page's first line, XOR lower[low bits of the line's number],
     * XOR upper[high bits]. Valid on a machine of one chiplet. */
    uint32_t lower[PAGES_PIECE], upper[PAGES_PIECE];
    uint32_t lower_mask, upper_mask;
    struct map frame_of; /* key to physical address */
    struct map replicas; /* pages_replica_key() to the physical address of the node's replica */
    struct nodes nodes;  /* that pages migrate between and are replicated in */
    uint64_t *placed;    /* [colour] pages */
    uint64_t fullest;    /* maximum of placed[] so far */
    bool count_sharing;
    struct map touches, sharers; /* mmu.count_sharing: pairs of page and SM; key to number of SMs */
    struct page_app apps[PAGES_APPS];
    struct page_life *life; /* NULL: a page keeps its frame */
};

/* The rooms above, as callbacks. An MMU serves one GPU and one application or all of them; `key` selects it.
 */
struct pages_wiring {
    struct engine *engine;
    uint32_t domain; /* of the SMs */
    struct stats_registry *stats;
    const struct dram_map *map;
    struct pool *requests;
    struct slice *const *slices; /* of the machine; filled before the first kernel */
    struct check *check;         /* NULL: no --check */
    void *system;                /* argument of the callbacks */
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
    const uint64_t chiplet = address >> p->map->bits;
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

/* Gives a page that an SM touches its frame. Precondition: the page has none. */
uint64_t pages_place(struct pages *p, uint32_t sm, uint64_t key);
/* A frame that belongs to no page (page tables), of the colour if it has a free frame, else of another colour
 * of the application. */
uint64_t pages_take_frame(struct pages *p, uint32_t app, uint32_t colour);
/* mmu.count_sharing: an SM uses a page. */
void pages_count_sharer(struct pages *p, uint32_t sm, uint64_t key);

/* ---- applications and launches ---- */

/* Restricts the pages that an application gets from now on to these colours; NULL: all. Pages that have a
 * frame keep it. The colours are copied. */
void pages_restrict(struct pages *p, uint32_t app, const struct colours *owned);
static inline const struct colours *pages_owned(const struct pages *p, uint32_t app)
{
    return &p->apps[app].owned;
}
/* A kernel is about to start: the placement policy may assign rules to ranges of pages. */
void pages_launch(struct pages *p, const struct launch_facts *facts);
/* Pages first to first + count - 1 get their frame by the rule, at their first touch. Pages that have a frame
 * keep it. A range whose first page lies in an assigned range is ignored: the earlier rule holds. */
void pages_assign_range(struct pages *p, uint32_t app, uint64_t first, uint64_t count,
                        const struct page_rule *rule);
/* For tests that bring a placement policy of their own. */
struct placement *pages_placement(struct pages *p, uint32_t app);

static inline uint32_t pages_colours(const struct pages *p) { return p->chiplets * p->colours_per_chiplet; }
/* Channels that the address map spreads a page of one colour over. */
static inline uint32_t pages_channels_per_colour(const struct pages *p)
{
    return p->channels_per_chiplet / p->colours_per_chiplet;
}

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
/* Memory has accepted a line of a move; a callback of slices. */
void pages_line_done(void *pages, uint32_t move);

/* ---- kernels; no effect where pages keep their frame ---- */

void pages_kernel_begins(struct pages *p, uint64_t start_cyc);
/* The last kernel that ran has ended: replicas are dropped. Between two runs of the engine. */
void pages_kernels_end(struct pages *p);

#endif
