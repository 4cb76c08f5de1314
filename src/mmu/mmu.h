/* mmu: of one GPU: where a page lives, and what it costs to know.
 *
 *   SM ── mmu_lookup(page) ─► L1 TLB ─miss─► L2 TLB (ports) ─miss─► walker ─► page-walk cache ─► leaf entry
 * through the LLC ▲                                          │                     └─ not placed: page fault,
 * or placed at once (prefault) └──────────── mmu_arrival(page) ◄──────────┘
 *
 * The page table is the truth: mmu_frame() answers at once and is what requests are sent by; TLBs only tell
 * when an SM may know it. A page is placed at its first touch (mmu_touch(), called when an access is issued,
 * in the order of side effects) or by a fault.
 *
 * Several address spaces: a page is (app, virtual page number). SMs are numbered over the machine; the page
 * table (pages/pages.h) is one for all GPUs. */
#ifndef ATOLL_MMU_MMU_H
#define ATOLL_MMU_MMU_H

#include "base/map.h"
#include "engine/engine.h"
#include "llc/llc.h"
#include "pages/pages.h"
#include "request/request.h"
#include "stats/stats.h"

struct mmu;

/* Translations that an SM used last, for the simulator's own speed. */
enum { MMU_PAGES_LOG2 = 6, MMU_PAGES = 1 << MMU_PAGES_LOG2 };
struct page_cache {
    uint64_t key[MMU_PAGES];      /* + 1 */
    uint64_t to_frame[MMU_PAGES]; /* number of a line in memory, less that of the line in its address space */
    uint32_t slice[MMU_PAGES];    /* home of its first line */
};

struct mmu_wiring {
    struct engine *engine;
    uint32_t domain;
    struct pool *requests;
    struct pages *pages;            /* of the machine */
    uint32_t first_colour, colours; /* of the GPU's own memory, which holds the page tables */
    const uint32_t *sm_components;  /* by number over the machine */
    struct slice *const *slices;
    uint32_t number;                               /* what slices know it by */
    uint32_t first_sm, sm_count;                   /* of the GPU */
    uint64_t ticks_per_cycle, llc_ticks_per_cycle; /* of the MMU's clock and of the slices' */
};

struct mmu *mmu_new(struct arena *a, const struct config *c, const struct mmu_wiring *wiring);
void mmu_free(struct mmu *m); /* the page table is not the arena's */

uint32_t mmu_page_log2(const struct mmu *m);
/* Does every lookup hit, at no cost? */
bool mmu_is_ideal(const struct mmu *m);
const struct pages *mmu_pages(const struct mmu *m);
/* Of the SM: what mmu_touch() and mmu_home() would find, without a call. */
const struct page_cache *mmu_page_cache(const struct mmu *m, uint32_t sm);
static inline uint32_t mmu_page_slot(uint64_t key)
{
    return (uint32_t)(key ^ key >> MMU_PAGES_LOG2) % MMU_PAGES;
}
static inline bool mmu_is_cached(const struct page_cache *cache, uint64_t key)
{
    return cache->key[mmu_page_slot(key)] == key + 1;
}
/* An SM is about to access the page: with prefault it is placed now. */
void mmu_touch(struct mmu *m, uint32_t sm, uint64_t key);
/* The same for a page that the driver itself uses: placed at once, never by a fault. */
void mmu_place_for_driver(struct mmu *m, uint32_t sm, uint64_t key);
/* mmu.count_sharing, once at the end: pages of the machine by SMs that used them. */
void mmu_count_sharing(struct mmu *m);
/* The frame's first byte; the page must be placed. */
uint64_t mmu_frame(struct mmu *m, uint32_t sm, uint64_t key);
/* Where the line of a virtual address lives. */
struct home mmu_home(struct mmu *m, uint32_t sm, uint32_t app, uint64_t line);

enum mmu_answer { MMU_HIT, MMU_MISS, MMU_BUSY };
/* May the SM use the page now? MISS: it will arrive; BUSY: too many pages are waited for. */
enum mmu_answer mmu_lookup(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now);
/* It may not use the page now, whatever its TLB says: MISS or BUSY. */
enum mmu_answer mmu_wait(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now);
/* SMs whose lookups pages_held() parked may use the page: a walk for them. sms: a bit per SM of the GPU. */
void mmu_resume(struct mmu *m, uint64_t key, const uint64_t *sms, uint64_t now);
/* A page that has arrived at the SM by now, UINT64_MAX when there is none; takes it. */
uint64_t mmu_arrival(struct mmu *m, uint32_t sm, uint64_t now);
/* When the next one arrives; ENGINE_NEVER: none on its way. */
uint64_t mmu_arrival_cyc(const struct mmu *m, uint32_t sm);

/* A slice has read a page table entry for walker `owner`; ready_cyc is of the slice's clock. */
void mmu_walk_done(void *mmu, uint32_t owner, uint64_t ready_cyc);

/* Takes the page out of every TLB. */
void mmu_shootdown(struct mmu *m, uint64_t key);
/* Takes it out of the L1 TLBs of some SMs. */
void mmu_forget(struct mmu *m, uint64_t key, uint32_t first_sm, uint32_t sm_count);

struct mmu_stats *mmu_stats(struct mmu *m);
/* Call before statistics are summed. */
void mmu_count_waiting(struct mmu *m);

#endif
