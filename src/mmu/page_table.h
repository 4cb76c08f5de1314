/* page_table: the page table of the machine: which frame of which chiplet's memory a page has, and where the
 * lines of a frame live. One for all GPUs; TLBs and walkers (mmu.h) only tell when somebody may know it.
 *
 * A physical address is chiplet << bits | address in the chiplet's memory (dram_map.h). A place for a page is
 * a class of frames: chiplet * classes per chiplet + class there (dram_frames.h). An application may be kept
 * to some of the classes; policies then choose among those. */
#ifndef ATOLL_MMU_PAGE_TABLE_H
#define ATOLL_MMU_PAGE_TABLE_H

#include "base/map.h"
#include "dram/dram_frames.h"
#include "policy/placement/placement.h"
#include "request/request.h"

enum { PAGE_TABLE_APPS = 8 };
enum { PAGE_TABLE_PIECE_LOG2 = 7, PAGE_TABLE_PIECE = 1 << PAGE_TABLE_PIECE_LOG2 };

struct page_table {
    const struct dram_map *map; /* of every chiplet */
    struct dram_frames **frames;
    uint32_t chiplets, classes_per_chiplet, page_log2;
    uint32_t channels_per_chiplet, slices_per_channel;
    /* what lines add, by XOR, to the slice of their page's first line: the lower bits of their number there,
     * the upper ones */
    uint32_t lower[PAGE_TABLE_PIECE], upper[PAGE_TABLE_PIECE];
    uint32_t lower_mask, upper_mask;
    struct map frame_of; /* key > physical address */
    struct map replicas; /* page_table_replica_key() > the same, of a partition's copy of the page */
    uint32_t sms_per_partition;
    uint64_t *placed; /* pages by class of frames, */
    uint64_t fullest; /* and most of them that one has had */
    bool count_sharing;
    struct map touches, sharers; /* mmu.count_sharing: pages and SMs that met; key > SMs that used it */
    struct {
        struct placement policy;
        uint16_t *classes; /* those that it may use */
        uint64_t pages;    /* that it has */
    } apps[PAGE_TABLE_APPS];
};

static inline uint64_t mmu_key(uint32_t app, uint64_t page) { return (uint64_t)app << 56 | page; }

/* Of a page and a partition: page numbers have fewer than 40 bits. */
static inline uint64_t page_table_replica_key(uint64_t key, uint32_t partition)
{
    return key ^ (uint64_t)partition << 40;
}
/* The frame that the page has for an SM, NULL: it is not placed. */
static inline const uint64_t *page_table_find(const struct page_table *p, uint32_t sm, uint64_t key)
{
    if (p->replicas.count) {
        const uint64_t *copy = map_find(&p->replicas, page_table_replica_key(key, sm / p->sms_per_partition));
        if (copy) return copy;
    }
    return map_find(&p->frame_of, key);
}

struct page_table *page_table_new(struct arena *a, const struct config *c, const struct dram_map *map);
void page_table_free(struct page_table *p); /* the table is not the arena's */

/* A page has got a frame; by how many pages the fullest class has grown. */
uint32_t page_table_count(struct page_table *p, uint64_t frame);
/* It has left the frame. */
void page_table_uncount(struct page_table *p, uint64_t frame);

/* Keeps the pages that an application gets from now on to these classes; NULL: all. */
void page_table_keep_to(struct page_table *p, uint32_t app, const uint16_t *classes, uint32_t count);
/* Places a page that an SM touches. */
uint64_t page_table_place(struct page_table *p, uint32_t sm, uint64_t key);
/* mmu.count_sharing: an SM uses a page. */
void page_table_share(struct page_table *p, uint32_t sm, uint64_t key);
/* Any frame, of this class or another when that is full. */
uint64_t page_table_take_frame(struct page_table *p, uint32_t class_idx);
/* A frame of exactly this class; false: there is none, or the application may not use it. */
bool page_table_try_frame(struct page_table *p, uint32_t app, uint32_t class_idx, uint64_t *frame);
void page_table_give_frame(struct page_table *p, uint64_t frame);
static inline uint32_t page_table_classes(const struct page_table *p)
{
    return p->chiplets * p->classes_per_chiplet;
}

/* Where a physical address lives. */
static inline struct home page_table_home(const struct page_table *p, uint64_t address)
{
    const uint64_t chiplet = address >> p->map->bits;
    const struct dram_place at = dram_map_place(p->map, address & (((uint64_t)1 << p->map->bits) - 1));
    const uint32_t channel = (uint32_t)chiplet * p->channels_per_chiplet + at.channel;
    return (struct home){.line = address >> LINE_LOG2,
                         .channel = (uint16_t)channel,
                         .slice = (uint16_t)(channel * p->slices_per_channel + at.slice)};
}
/* The slice only, of a line (by any of its numbers) of a page whose first line's is known, where there is one
 * chiplet. */
static inline uint32_t page_table_slice_in(const struct page_table *p, uint32_t first, uint64_t line)
{
    const uint32_t lower = (uint32_t)line & p->lower_mask,
                   upper = (uint32_t)line >> PAGE_TABLE_PIECE_LOG2 & p->upper_mask;
    return first ^ p->lower[lower] ^ p->upper[upper];
}

#endif
