/* page_table: see page_table.h. */
#include "mmu/page_table.h"

#include "base/diag.h"

uint64_t page_table_take_frame(struct page_table *p, uint32_t class_idx)
{
    const uint32_t classes = page_table_classes(p);
    uint64_t frame;
    for (uint32_t k = 0; k < classes; k++) {
        const uint32_t wanted = (class_idx + k) % classes, chiplet = wanted / p->classes_per_chiplet;
        if (dram_frames_try_take(p->frames[chiplet], wanted % p->classes_per_chiplet, &frame))
            return (uint64_t)chiplet << p->map->bits | frame;
    }
    diag_mistake("device memory is full: %llu pages are placed; raise gpu.memory_size (and dram.rows) or use "
                 "a smaller "
                 "workload",
                 (unsigned long long)p->frame_of.count);
}

bool page_table_try_frame(struct page_table *p, uint32_t app, uint32_t class_idx, uint64_t *frame)
{
    bool allowed = false;
    const uint32_t chiplet = class_idx / p->classes_per_chiplet;
    for (uint32_t k = 0; k < p->apps[app].policy.classes; k++)
        allowed |= p->apps[app].classes[k] == class_idx;
    if (!allowed || !dram_frames_try_take(p->frames[chiplet], class_idx % p->classes_per_chiplet, frame))
        return false;
    *frame |= (uint64_t)chiplet << p->map->bits;
    return true;
}

void page_table_give_frame(struct page_table *p, uint64_t frame)
{
    dram_frames_give(p->frames[frame >> p->map->bits], frame & (((uint64_t)1 << p->map->bits) - 1));
}

static uint64_t *pages_beside(struct page_table *p, uint64_t frame)
{
    const uint64_t chiplet = frame >> p->map->bits;
    const uint32_t class =
        dram_frames_class_of(p->frames[chiplet], frame & (((uint64_t)1 << p->map->bits) - 1));
    return &p->placed[chiplet * p->classes_per_chiplet + class];
}

uint32_t page_table_count(struct page_table *p, uint64_t frame)
{
    const uint64_t pages = ++*pages_beside(p, frame);
    if (pages <= p->fullest) return 0;
    p->fullest = pages;
    return 1;
}

void page_table_uncount(struct page_table *p, uint64_t frame) { --*pages_beside(p, frame); }

uint64_t page_table_place(struct page_table *p, uint32_t sm, uint64_t key)
{
    const uint32_t app = (uint32_t)(key >> 56);
    struct placement *policy = &p->apps[app].policy;
    const struct placement_question q = {.app = app, .page = key & (((uint64_t)1 << 56) - 1), .sm = sm};
    const uint32_t chosen = policy->place(policy, &q);
    p->apps[app].pages++;
    return *map_put(&p->frame_of, key, NULL) = page_table_take_frame(p, p->apps[app].classes[chosen]);
}

void page_table_share(struct page_table *p, uint32_t sm, uint64_t key)
{
    bool fresh;
    (void)map_put(&p->touches, key ^ (uint64_t)sm << 40, &fresh); /* page numbers have fewer bits */
    if (fresh) ++*map_put(&p->sharers, key, NULL);
}

void page_table_keep_to(struct page_table *p, uint32_t app, const uint16_t *classes, uint32_t count)
{
    const uint32_t all = page_table_classes(p);
    DIAG_ASSERT(app < PAGE_TABLE_APPS && (!classes || (count && count <= all)));
    for (uint32_t k = 0; k < (classes ? count : all); k++)
        p->apps[app].classes[k] = classes ? classes[k] : (uint16_t)k;
    placement_keep_to(&p->apps[app].policy, classes ? count : all);
}

/* Both are powers of two, and a map is linear: XOR adds up. */
static void set_pieces(struct page_table *p)
{
    const uint32_t lines = 1u << (p->page_log2 - LINE_LOG2), slices = p->slices_per_channel;
    DIAG_ASSERT(lines <= PAGE_TABLE_PIECE * PAGE_TABLE_PIECE && !(slices & (slices - 1)));
    p->lower_mask = (lines < PAGE_TABLE_PIECE ? lines : PAGE_TABLE_PIECE) - 1;
    p->upper_mask = lines / (p->lower_mask + 1) - 1;
    for (uint64_t k = 0; k <= p->lower_mask; k++) p->lower[k] = page_table_home(p, k << LINE_LOG2).slice;
    for (uint64_t k = 0; k <= p->upper_mask; k++)
        p->upper[k] = page_table_home(p, k << (LINE_LOG2 + PAGE_TABLE_PIECE_LOG2)).slice;
}

struct page_table *page_table_new(struct arena *a, const struct config *c, const struct dram_map *map)
{
    struct page_table *p = ARENA_NEW(a, struct page_table);
    *p = (struct page_table){.map = map,
                             .chiplets = config_chiplets(c),
                             .page_log2 = map->page_bits,
                             .channels_per_chiplet = config_channels_per_chiplet(c),
                             .slices_per_channel = c->partition.slices / c->partition.channels};
    set_pieces(p);
    p->frames = ARENA_ARRAY(a, struct dram_frames *, p->chiplets);
    for (uint32_t k = 0; k < p->chiplets; k++) p->frames[k] = dram_frames_new(a, map);
    p->classes_per_chiplet = dram_frames_classes(p->frames[0]);
    p->sms_per_partition = c->partition.sms;
    p->placed = ARENA_ARRAY(a, uint64_t, page_table_classes(p));
    map_init(&p->frame_of);
    map_init(&p->replicas);
    map_init(&p->touches);
    map_init(&p->sharers);
    p->count_sharing = c->mmu.count_sharing;
    for (uint32_t app = 0; app < PAGE_TABLE_APPS; app++) {
        p->apps[app].classes = ARENA_ARRAY(a, uint16_t, page_table_classes(p));
        p->apps[app].policy = placement_of(c, p->classes_per_chiplet);
        page_table_keep_to(p, app, NULL, 0);
    }
    return p;
}

void page_table_free(struct page_table *p)
{
    for (uint32_t app = 0; app < PAGE_TABLE_APPS; app++) placement_free(&p->apps[app].policy);
    map_free(&p->frame_of);
    map_free(&p->replicas);
    map_free(&p->touches);
    map_free(&p->sharers);
}
