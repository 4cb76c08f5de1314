/* mmu: address translation of one GPU: L1 TLBs, L2 TLB, page-table walkers and page faults.
 *
 *   SM ── mmu_lookup() ──► L1 TLB ──miss──► L2 TLB (ports) ──miss──► queue ──► walker ──► page-walk cache
 *   ▲                                          │                     page without frame:         │
 *   │                                          │ hit                 page fault first            ▼
 *   └── mmu_arrival() ◄────────────────────────┴────── mmu_walk_done() ◄── leaf entry, read through the LLC
 *
 * The page table holds the current mapping. mmu_frame() returns it without delay, and requests are routed by
 * it. The TLBs model only the time at which an SM gets a translation. A page gets its frame at the first
 * touch (mmu_touch(), called at the issue of an access, in the order of side effects; mmu.prefault) or by a page
 * fault. Under an ideal MMU the access to a page without a frame waits for its fault, and all other lookups hit.
 *
 * A page is identified by (application, virtual page number). SMs are numbered over the whole machine. All
 * GPUs share one page table (pages/pages.h). */
#ifndef ATOLL_MMU_MMU_H
#define ATOLL_MMU_MMU_H

#include "base/map.h"
#include "engine/engine.h"
#include "llc/llc.h"
#include "pages/pages.h"
#include "request/request.h"
#include "stats/stats.h"

struct mmu;

/* Recent translations of an SM: a cache of the simulator, not of the simulated hardware. */
enum { MMU_PAGES_LOG2 = 6, MMU_PAGES = 1 << MMU_PAGES_LOG2 };
struct page_cache {
    uint64_t key[MMU_PAGES];      /* key of the page + 1; 0: empty */
    uint64_t to_frame[MMU_PAGES]; /* physical line number minus virtual line number */
    uint32_t slice[MMU_PAGES];    /* home of the first line of the page */
};

struct mmu_wiring {
    struct engine *engine;
    uint32_t domain;
    struct pool *requests;
    struct pages *pages;            /* shared by all GPUs of the machine */
    uint32_t first_colour, colours; /* of the GPU's own memory, which holds the page tables */
    const uint32_t *sm_components;  /* indexed by the number of the SM over the machine */
    struct slice *const *slices;
    uint32_t number;                               /* number of this MMU in requests to slices */
    uint32_t first_sm, sm_count;                   /* SMs of the GPU */
    uint64_t ticks_per_cycle, llc_ticks_per_cycle; /* clocks of the MMU and of the slices */
};

struct mmu *mmu_new(struct arena *a, const struct config *c, const struct mmu_wiring *wiring);
void mmu_free(struct mmu *m); /* frees the map of page tables, which is not in the arena */

uint32_t mmu_page_log2(const struct mmu *m);
/* True if every lookup hits at no cost (mmu.mode=ideal without page faults). */
bool mmu_is_ideal(const struct mmu *m);
const struct pages *mmu_pages(const struct mmu *m);
/* The recent translations of an SM, for lookups without a call of mmu_touch() or mmu_home(). */
const struct page_cache *mmu_page_cache(const struct mmu *m, uint32_t sm);
static inline uint32_t mmu_page_slot(uint64_t key)
{
    return (uint32_t)(key ^ key >> MMU_PAGES_LOG2) % MMU_PAGES;
}
static inline bool mmu_is_cached(const struct page_cache *cache, uint64_t key)
{
    return cache->key[mmu_page_slot(key)] == key + 1;
}
/* Called before an SM accesses the page. With mmu.prefault, a page without a frame gets one. */
void mmu_touch(struct mmu *m, uint32_t sm, uint64_t key);
/* Places a page that the driver uses, without a page fault. */
void mmu_place_for_driver(struct mmu *m, uint32_t sm, uint64_t key);
/* Gives a page of a block's context a frame of its own (pages_place_context()), without a page fault. */
void mmu_place_context(struct mmu *m, uint64_t key);
/* Translations that the SM has requested and not received. */
uint32_t mmu_waiting(const struct mmu *m, uint32_t sm);
/* True if no page was used or inserted in the L1 TLB of the SM since mmu_flush_l1(). */
bool mmu_l1_is_flushed(const struct mmu *m, uint32_t sm);
/* Invalidates the L1 TLB of an SM. Precondition: mmu_waiting() is zero. */
void mmu_flush_l1(struct mmu *m, uint32_t sm);
/* With mmu.count_sharing: counts pages by the number of SMs that used them. Call once, at the end. */
void mmu_count_sharing(struct mmu *m);
/* Address of the first byte of the frame. Precondition: the page has a frame. */
uint64_t mmu_frame(struct mmu *m, uint32_t sm, uint64_t key);
/* The home of a line, given by its virtual line number. Precondition: the page has a frame. */
struct home mmu_home(struct mmu *m, uint32_t sm, uint32_t app, uint64_t line);

enum mmu_result { MMU_HIT, MMU_MISS, MMU_BUSY };
/* Looks the page up for an SM. HIT: the SM may use the page now. MISS: mmu_arrival() will return the page.
 * BUSY: the SM already waits for mmu.l1_misses pages; nothing has changed, and only an mmu_arrival() of this
 * SM can help. */
enum mmu_result mmu_lookup(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now);
/* Makes the SM wait for the page even if its L1 TLB holds it. Returns MISS or BUSY. */
enum mmu_result mmu_wait(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now);
/* True if accesses of the SM wait for the page: mmu_arrival() will return it. */
bool mmu_awaits(const struct mmu *m, uint32_t sm, uint64_t key);
/* Starts or joins a walk for SMs whose lookups pages_held() parked; an ideal MMU answers in the next cycle. sms: mask
 * of SMs of the GPU. */
void mmu_resume(struct mmu *m, uint64_t key, const uint64_t *sms, uint64_t now);
/* Takes a page that has arrived at the SM by now and fills the L1 TLB. UINT64_MAX: none. */
uint64_t mmu_arrival(struct mmu *m, uint32_t sm, uint64_t now);
/* Cycle in which the next page arrives. ENGINE_NEVER: no reply is in flight. */
uint64_t mmu_arrival_cyc(const struct mmu *m, uint32_t sm);

/* Called by a slice that has read a page table entry for walker `owner`. ready_cyc: cycle of the slice's
 * clock. */
void mmu_walk_done(void *mmu, uint32_t owner, uint64_t ready_cyc);

/* Invalidates the page in all TLBs of the GPU. */
void mmu_shootdown(struct mmu *m, uint64_t key);
/* Invalidates the page in the L1 TLBs of some SMs. */
void mmu_invalidate_l1(struct mmu *m, uint64_t key, uint32_t first_sm, uint32_t sm_count);

struct mmu_stats *mmu_stats(struct mmu *m);
/* Call before statistics are summed. */
void mmu_count_waiting(struct mmu *m);

#endif
