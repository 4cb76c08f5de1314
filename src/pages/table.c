/* table: colours, free frames and the mapping of pages to frames, see pages.h. */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/grow.h"
#include "check/check.h"
#include "pages/pages_private.h"
#include "pages/profile.h"
#include "policy/page_replication/page_replication.h"

/* ---- frames ---- */

static uint64_t chiplet_address(const struct pages *p, uint64_t frame)
{
    return frame & (((uint64_t)1 << p->map->bits) - 1);
}

static bool try_frame(struct pages *p, uint32_t colour, uint64_t *frame)
{
    const uint32_t chiplet = colour / p->colours_per_chiplet;
    if (!dram_frames_try_take(p->frames[chiplet], colour % p->colours_per_chiplet, frame)) return false;
    *frame |= (uint64_t)chiplet << p->map->bits;
    return true;
}

static uint32_t index_of(const struct colours *owned, uint32_t colour)
{
    uint32_t k = 0;
    while (k < owned->count && owned->colour[k] != colour) k++;
    return k;
}

uint64_t pages_take_frame(struct pages *p, uint32_t app, uint32_t colour)
{
    const struct colours *owned = pages_owned(p, app);
    const uint32_t first = index_of(owned, colour);
    uint64_t frame;
    DIAG_ASSERT(first < owned->count);
    for (uint32_t k = 0; k < owned->count; k++)
        if (try_frame(p, owned->colour[(first + k) % owned->count], &frame)) return frame;
    if (owned->count < pages_colours(p))
        diag_mistake(
            "the memory of application %u is full: it has %llu pages and may use %u of %u colours of "
            "frames; raise its share of apps.channels or gpu.memory_size (and dram.rows), or use a "
            "smaller workload",
            app, (unsigned long long)p->apps[app].pages, owned->count, pages_colours(p));
    uint64_t frames = 0;
    for (uint32_t k = 0; k < p->chiplets; k++)
        frames += dram_frames_per_colour(p->frames[k]) * p->colours_per_chiplet;
    diag_mistake(
        "device memory is full: %llu pages of %llu KiB are placed, %llu fit, and the workload touches "
        "more; raise gpu.memory_size (and dram.rows), keep a share of the pages in system memory "
        "(spill.share, now %g) or use a smaller workload",
        (unsigned long long)p->frame_of.count, (unsigned long long)1 << p->page_log2 >> 10,
        (unsigned long long)frames, p->spill_share);
}

uint64_t pages_frames_of(void *pages, uint32_t chiplet)
{
    const struct pages *p = pages;
    return dram_frames_used(p->frames[chiplet], 0);
}

bool table_try_frame(struct pages *p, uint32_t app, uint32_t colour, uint64_t *frame)
{
    const struct colours *owned = pages_owned(p, app);
    return index_of(owned, colour) < owned->count && try_frame(p, colour, frame);
}

void table_give_frame(struct pages *p, uint64_t frame)
{
    DIAG_ASSERT(!dram_map_in_system(p->map, frame));
    dram_frames_give(p->frames[frame >> p->map->bits], chiplet_address(p, frame));
}

uint32_t pages_colour_of(const struct pages *p, uint64_t frame)
{
    const uint64_t chiplet = dram_map_chiplet(p->map, frame);
    return (uint32_t)chiplet * p->colours_per_chiplet +
           dram_frames_colour_of(p->frames[chiplet], chiplet_address(p, frame));
}

/* ---- the mapping ---- */

static void add_frames(struct pages *p, int64_t frames)
{
    p->frames_used += (uint64_t)frames;
    stats_peak(&p->stats.frames_peak, p->frames_used);
}

static void count_page(struct pages *p, uint64_t key, uint64_t frame)
{
    const uint32_t colour = pages_colour_of(p, frame);
    const uint64_t pages = ++p->placed[colour];
    p->apps[pages_key_app(key)].in_colour[colour]++;
    if (pages > p->fullest) p->fullest = pages;
}

void table_move(struct pages *p, uint64_t key, uint64_t to)
{
    uint64_t *const frame = map_find(&p->frame_of, key);
    DIAG_ASSERT(frame);
    table_give_frame(p, *frame);
    const uint32_t from = pages_colour_of(p, *frame);
    p->placed[from]--;
    p->apps[pages_key_app(key)].in_colour[from]--;
    count_page(p, key, to);
    *frame = to;
}

void table_add_replica(struct pages *p, uint64_t key, uint32_t node, uint64_t frame)
{
    *map_put(&p->replicas, pages_replica_key(key, node), NULL) = frame;
    add_frames(p, 1);
}

void table_drop_replica(struct pages *p, uint64_t key, uint32_t node)
{
    const uint64_t *const frame = map_find(&p->replicas, pages_replica_key(key, node));
    DIAG_ASSERT(frame);
    table_give_frame(p, *frame);
    (void)map_remove(&p->replicas, pages_replica_key(key, node));
    add_frames(p, -1);
}

void table_drop(struct pages *p, uint64_t key)
{
    for (uint32_t node = 0; p->replicas.count && node < p->nodes.count; node++)
        (void)map_remove(&p->replicas, pages_replica_key(key, node));
    const bool present = map_remove(&p->frame_of, key);
    DIAG_ASSERT(present);
}

/* ---- placement ---- */

/* The last range that begins at or before the page; range_count: none. */
static uint32_t range_before(const struct page_app *app, uint64_t page)
{
    uint32_t low = 0, high = app->range_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (app->ranges[middle].first <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : app->range_count;
}

static bool range_holds(const struct page_range *r, uint64_t page) { return page - r->first < r->count; }

static void insert_range(struct page_app *app, uint32_t at, uint64_t first, uint64_t count,
                         const struct page_rule *rule)
{
    app->ranges =
        grow(app->ranges, app->range_count, &app->range_capacity, sizeof *app->ranges, "ranges of pages");
    memmove(&app->ranges[at + 1], &app->ranges[at], (app->range_count - at) * sizeof *app->ranges);
    app->ranges[at] = (struct page_range){first, count, *rule};
    app->range_count++;
}

/* Index of the first range that ends behind the page. */
static uint32_t range_from(const struct page_app *app, uint64_t page)
{
    const uint32_t before = range_before(app, page);
    if (before == app->range_count) return 0;
    return range_holds(&app->ranges[before], page) ? before : before + 1;
}

void pages_assign_range(struct pages *p, uint32_t app_idx, uint64_t first, uint64_t count,
                        const struct page_rule *rule)
{
    struct page_app *app = &p->apps[app_idx];
    struct page_rule whole = *rule;
    whole.first = first;
    whole.count = count;
    if (whole.granule_lines) whole.interleaving = pages_add_interleaving(p, &whole);
    uint64_t from = first;
    for (uint32_t at = range_from(app, first); from < first + count;
         at++) { /* the gaps between earlier ranges */
        const uint64_t next = at < app->range_count && app->ranges[at].first < first + count
                                  ? app->ranges[at].first
                                  : first + count;
        if (next > from) insert_range(app, at++, from, next - from, &whole);
        if (next == first + count) return;
        from = app->ranges[at].first + app->ranges[at].count;
    }
}

bool pages_has_rules(const struct pages *p, uint32_t app_idx, uint64_t first, uint64_t count)
{
    const struct page_app *app = &p->apps[app_idx];
    uint64_t from = first;
    for (uint32_t at = range_from(app, first); from < first + count; at++) {
        if (at == app->range_count || app->ranges[at].first > from) return false;
        from = app->ranges[at].first + app->ranges[at].count;
    }
    return true;
}

static bool is_spilled(const struct pages *p, uint64_t key)
{
    const struct page_facts *f = p->system && p->profile ? page_profile_find(p->profile, key) : NULL;
    return f && f->spilled;
}

/* A frame in system memory, behind the slices of the colour's chiplet. */
static uint64_t take_system_frame(struct pages *p, uint32_t colour)
{
    const uint32_t chiplet = colour / p->colours_per_chiplet;
    uint64_t frame;
    if (!dram_frames_try_take(p->system[chiplet], colour % p->colours_per_chiplet, &frame))
        diag_mistake("system memory is full: it holds %llu pages of GPU %u; lower spill.share",
                     (unsigned long long)dram_frames_per_colour(p->system[chiplet]), chiplet);
    p->spill_stats.pages++;
    return frame | (uint64_t)chiplet << p->map->bits | dram_map_system_bit(p->map);
}

uint64_t pages_take_counted_frame(struct pages *p, uint64_t key, uint32_t colour)
{
    const uint64_t frame =
        is_spilled(p, key) ? take_system_frame(p, colour) : pages_take_frame(p, pages_key_app(key), colour);
    count_page(p, key, frame);
    p->apps[pages_key_app(key)].planned[pages_colour_of(p, frame)]++;
    add_frames(p, 1);
    return frame;
}

static const struct page_rule *rule_of(const struct page_app *app, uint64_t page)
{
    const uint32_t at = range_before(app, page);
    const struct page_range *r = at < app->range_count ? &app->ranges[at] : NULL;
    return r && range_holds(r, page) ? &r->rule : NULL;
}

uint64_t pages_place(struct pages *p, uint32_t sm, uint64_t key)
{
    const uint32_t app_idx = pages_key_app(key);
    struct page_app *app = &p->apps[app_idx];
    const struct placement_question q = {.app = app_idx,
                                         .page = pages_key_page(key),
                                         .sm = sm,
                                         .owned = &app->owned,
                                         .pages = app->planned,
                                         .nodes = &app->policy.nodes};
    const struct page_rule *const r = rule_of(app, q.page);
    uint64_t entry;
    if (r && r->granule_lines) {
        entry = pages_mark_interleaved(p, &q, r);
    } else {
        const uint32_t colour = r ? r->place(r, &q) : app->policy.ops->place(app->policy.state, &q);
        entry = pages_take_counted_frame(p, key, colour);
    }
    bool fresh;
    *map_put(&p->frame_of, key, &fresh) = entry;
    DIAG_ASSERT(fresh);
    app->pages++;
    p->placed_by_rule += r != NULL;
    if (pages_follow(p)) owned_placed(p->life, key);
    return entry;
}

void pages_place_context(struct pages *p, uint64_t key)
{
    const uint32_t app_idx = pages_key_app(key);
    struct page_app *app = &p->apps[app_idx];
    bool fresh;
    uint64_t *const entry = map_put(&p->frame_of, key, &fresh);
    DIAG_ASSERT(fresh);
    *entry = pages_take_frame(p, app_idx, app->owned.colour[app->context_pages % app->owned.count]);
    app->context_pages++;
    if (pages_follow(p)) track_record(p->life, key)->context = true;
}

bool pages_is_owned(const struct pages *p, uint64_t key)
{
    const struct colours *owned = pages_owned(p, pages_key_app(key));
    return index_of(owned, pages_colour_of(p, *pages_frame(p, key))) < owned->count;
}

static void assign(void *pages, uint32_t app, uint64_t first, uint64_t count, const struct page_rule *rule)
{
    pages_assign_range(pages, app, first, count, rule);
}

static bool is_assigned(const void *pages, uint32_t app, uint64_t first, uint64_t count)
{
    return pages_has_rules(pages, app, first, count);
}

void pages_launch(struct pages *p, const struct launch_facts *facts)
{
    struct placement *policy = &p->apps[facts->app].policy;
    if (!policy->ops->at_launch) return;
    pages_drop_freed(p, facts);
    const struct placement_launch l = {
        .facts = facts, .page_log2 = p->page_log2, .assign = assign, .is_assigned = is_assigned, .pages = p};
    policy->ops->at_launch(policy->state, &l);
}

void pages_end(struct pages *p)
{
    for (uint32_t app = 0; app < PAGES_APPS; app++) {
        const struct placement *policy = &p->apps[app].policy;
        if (policy->ops->end && p->apps[app].pages) policy->ops->end(policy->state);
    }
}

struct placement *pages_placement(struct pages *p, uint32_t app) { return &p->apps[app].policy; }

void pages_count_sharer(struct pages *p, uint32_t sm, uint64_t key)
{
    bool fresh;
    (void)map_put(&p->touches, key ^ (uint64_t)sm << 40, &fresh); /* page numbers have fewer bits */
    if (fresh) ++*map_put(&p->sharers, key, NULL);
}

uint32_t pages_colour_of_channel(const struct pages *p, uint32_t channel)
{
    const uint32_t chiplet = channel / p->channels_per_chiplet;
    const struct dram_place at = {.channel = channel % p->channels_per_chiplet};
    return pages_colour_of(p, (uint64_t)chiplet << p->map->bits | dram_map_address(p->map, &at));
}

void pages_restrict(struct pages *p, uint32_t app_idx, const struct colours *owned)
{
    const uint32_t all = pages_colours(p);
    DIAG_ASSERT(app_idx < PAGES_APPS && (!owned || (owned->count && owned->count <= all)));
    struct page_app *app = &p->apps[app_idx];
    app->owned = (struct colours){app->colours, owned ? owned->count : all};
    for (uint32_t k = 0; k < app->owned.count; k++) app->colours[k] = owned ? owned->colour[k] : (uint16_t)k;
    if (pages_follow(p)) owned_set(p->life, app_idx, 0);
}

/* ---- building ---- */

/* The number of slices is a power of two, and an address map is linear under XOR. */
static void set_pieces(struct pages *p)
{
    const uint32_t lines = 1u << (p->page_log2 - LINE_LOG2), slices = p->slices_per_channel;
    DIAG_ASSERT(lines <= PAGES_PIECE * PAGES_PIECE && !(slices & (slices - 1)));
    p->lower_mask = (lines < PAGES_PIECE ? lines : PAGES_PIECE) - 1;
    p->upper_mask = lines / (p->lower_mask + 1) - 1;
    for (uint64_t k = 0; k <= p->lower_mask; k++) p->lower[k] = pages_home(p, k << LINE_LOG2).slice;
    for (uint64_t k = 0; k <= p->upper_mask; k++)
        p->upper[k] = pages_home(p, k << (LINE_LOG2 + PAGES_PIECE_LOG2)).slice;
}

struct pages *pages_new(struct arena *a, const struct config *c, const struct pages_wiring *w)
{
    struct pages *p = ARENA_NEW(a, struct pages);
    *p = (struct pages){.map = w->map,
                        .chiplets = config_chiplets(c),
                        .page_log2 = w->map->page_bits,
                        .channels_per_chiplet = config_channels_per_chiplet(c),
                        .slices_per_channel = c->partition.slices / c->partition.channels};
    set_pieces(p);
    p->frames = ARENA_ARRAY(a, struct dram_frames *, p->chiplets);
    for (uint32_t k = 0; k < p->chiplets; k++) {
        p->frames[k] = dram_frames_new(a, w->map);
        dram_frames_reserve(p->frames[k], c->rdc.size);
    }
    p->colours_per_chiplet = dram_frames_colours(p->frames[0]);
    if (config_spills(c)) {
        p->system = ARENA_ARRAY(a, struct dram_frames *, p->chiplets);
        for (uint32_t k = 0; k < p->chiplets; k++) p->system[k] = dram_frames_new(a, w->map);
        p->spill_share = c->spill.share;
        STATS_REGISTER(w->stats, spill, &p->spill_stats, STATS_EVERYWHERE);
    }
    static const enum node_level levels[page_level_count] = {[page_level_partition] = NODE_PARTITION,
                                                             [page_level_chiplet] = NODE_CHIPLET,
                                                             [page_level_gpu] = NODE_GPU};
    p->nodes = nodes_at(c, levels[c->pages.level], p->colours_per_chiplet);
    p->replication = page_replication_of(c);
    p->check = w->check;
    p->placed = ARENA_ARRAY(a, uint64_t, pages_colours(p));
    map_init(&p->frame_of);
    map_init(&p->replicas);
    map_init(&p->parts);
    map_init(&p->touches);
    map_init(&p->sharers);
    p->count_sharing = c->mmu.count_sharing;
    for (uint32_t app = 0; app < PAGES_APPS; app++) {
        p->apps[app].colours = ARENA_ARRAY(a, uint16_t, pages_colours(p));
        p->apps[app].in_colour = ARENA_ARRAY(a, uint64_t, pages_colours(p));
        p->apps[app].planned = ARENA_ARRAY(a, uint64_t, pages_colours(p));
        p->apps[app].policy = placement_new(a, c, p->colours_per_chiplet);
        pages_restrict(p, app, NULL);
    }
    struct pages_wiring *const wire = ARENA_NEW(a, struct pages_wiring);
    *wire = *w;
    p->wire = wire;
    p->gpus = c->system.gpus;
    if (config_pages_move(c)) p->life = life_new(a, c, p, w);
    if (pages_follow(p)) owned_init(p->life);
    if (p->life || p->replication->at_touch) STATS_REGISTER(w->stats, pages, &p->stats, STATS_EVERYWHERE);
    if (p->check && p->replication->at_touch) check_replicas(p->check, config_pages_are_everywhere(c));
    return p;
}

void pages_free(struct pages *p)
{
    if (p->life) life_free(p->life);
    for (uint32_t app = 0; app < PAGES_APPS; app++) free(p->apps[app].ranges);
    map_free(&p->frame_of);
    map_free(&p->replicas);
    map_free(&p->parts);
    free(p->interleavings);
    map_free(&p->touches);
    map_free(&p->sharers);
}
