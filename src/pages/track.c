/* track: what SMs do to pages that may move. Counts requests in flight and accesses per node, decides which
 * accesses wait, and requests migrations and replicas. life.c carries them out. */
#include <string.h>

#include "base/grow.h"
#include "check/fault.h"
#include "pages/pages_private.h"

struct page *track_find(const struct page_life *l, uint64_t key)
{
    const uint64_t *found = map_find(&l->records, key);
    return found ? (struct page *)(uintptr_t)*found : NULL; // NOLINT(performance-no-int-to-ptr)
}

struct page *track_record(struct page_life *l, uint64_t key)
{
    bool fresh;
    uint64_t *found = map_put(&l->records, key, &fresh);
    if (fresh) {
        const uint32_t nodes = l->pages->nodes.count;
        struct page *page = ARENA_NEW(l->arena, struct page);
        page->key = key;
        page->waiting = ARENA_ARRAY(l->arena, uint64_t, l->words);
        if (l->migrates) page->accesses = ARENA_ARRAY(l->arena, uint32_t, nodes);
        if (l->follows) {
            page->colour = (uint16_t)pages_colour_of(l->pages, *pages_frame(l->pages, key));
            page->changes = l->owners[pages_key_app(key)].changes;
        }
        if (l->replicates) {
            page->copying = ARENA_ARRAY(l->arena, uint64_t, (nodes + 63) / 64);
            page->replicated = ARENA_ARRAY(l->arena, uint64_t, (nodes + 63) / 64);
        }
        *found = (uint64_t)(uintptr_t)page;
    }
    return (struct page *)(uintptr_t)*found; // NOLINT(performance-no-int-to-ptr): the map holds pointers
}

uint32_t track_home_node(const struct page_life *l, const struct page *page)
{
    const uint64_t *frame = pages_frame(l->pages, page->key);
    DIAG_ASSERT(frame);
    return nodes_of_colour(&l->pages->nodes, pages_colour_of(l->pages, *frame));
}

/* ---- accesses of SMs ---- */

/* True if the access locks the page: a store to a page with replicas collapses it, a read of a page of
 * another node replicates it. */
static bool locks(struct page_life *l, struct page *page, uint32_t node, bool writes, bool read_only,
                  uint64_t now)
{
    if (l->touch_replicates) { /* a replica may appear in this cycle: the number of replicas does not decide */
        if (!writes || page->no_replicas || !pages_are_touch_replicated(l->pages, page->key)) return false;
        if (FAULT_FIRES(replica_collapses_not)) return false;
        life_request(l, page, 0, MOVE_COLLAPSE);
        return true;
    }
    if (writes) {
        if (!(page->replicas | page->pending) || FAULT_FIRES(replica_collapses_not)) return false;
        life_request(l, page, 0, MOVE_COLLAPSE);
        return true;
    }
    if (page_bit(page->copying, node)) return true;
    const struct page_replication_question q = {.key = page->key,
                                                .node = node,
                                                .read_only = read_only,
                                                .written = page->written && page->written_cyc < now};
    if (page->no_replicas || page->queued || page_bit(page->replicated, node) ||
        !l->replication->replicates(&q))
        return false;
    if (track_home_node(l, page) == node) return false;
    life_request(l, page, node, MOVE_REPLICATE);
    return true;
}

bool pages_stops(struct pages *p, uint32_t sm, uint64_t key, bool writes, bool read_only, uint64_t now)
{
    struct page_life *l = p->life;
    struct page *page = l->replicates ? track_record(l, key) : track_find(l, key);
    const bool stops =
        page &&
        (page->move || (l->replicates && locks(l, page, nodes_of_sm(&p->nodes, sm), writes, read_only, now)));
    l->stats->waits += stops;
    return stops;
}

void pages_sent(struct pages *p, uint32_t sm, uint64_t key, bool writes, uint64_t now)
{
    struct page_life *l = p->life;
    struct page *page = track_record(l, key);
    page->in_flight++;
    if (writes && !page->written) {
        page->written = true;
        page->written_cyc = now;
    }
    if (l->follows) owned_sent(l, page);
    if (!l->migrates) return;
    page->accesses[nodes_of_sm(&p->nodes, sm)]++;
    if (page->listed) return;
    page->listed = true;
    l->listed =
        grow(l->listed, l->listed_count, &l->listed_capacity, sizeof(struct page *), "pages that move");
    l->listed[l->listed_count++] = page;
}

void pages_answered(struct pages *p, uint64_t key)
{
    struct page *page = track_find(p->life, key);
    DIAG_ASSERT(page && page->in_flight);
    if (!--page->in_flight && page->move) life_drained(p->life, page);
}

bool pages_held(struct pages *p, uint32_t sm, uint64_t key)
{
    struct page *page = track_find(p->life, key);
    if (!page || !(page->move || page_bit(page->copying, nodes_of_sm(&p->nodes, sm)))) return false;
    page->waiting[sm / 64] |= (uint64_t)1 << (sm % 64);
    return true;
}

bool pages_follow(const struct pages *p) { return p->life && p->life->follows; }

bool pages_faults(struct pages *p, uint32_t sm, uint64_t key)
{
    struct page_life *l = p->life;
    struct page *page = track_record(l, key);
    if (!page->move) {
        if (!owned_must_move(l, page)) return false;
        life_request(l, page, 0, MOVE_FOLLOW);
    }
    page->waiting[sm / 64] |= (uint64_t)1 << (sm % 64);
    return true;
}

/* ---- intervals ---- */

static int by_key(const void *a, const void *b)
{
    const struct page *l = *(struct page *const *)a, *r = *(struct page *const *)b;
    return l->key < r->key ? -1 : l->key > r->key;
}

void track_end_interval(struct page_life *l)
{
    const uint32_t nodes = l->pages->nodes.count;
    if (l->listed_count) qsort(l->listed, l->listed_count, sizeof(struct page *), by_key);
    for (uint32_t k = 0; k < l->listed_count; k++) {
        struct page *page = l->listed[k];
        page->listed = false;
        if (!pages_frame(l->pages, page->key)) continue; /* freed since its last access */
        const uint32_t home = track_home_node(l, page);
        const uint32_t to = l->migration.ops->target(
            l->migration.state, &(struct migration_question){page->key, home, page->accesses, nodes});
        memset(page->accesses, 0, nodes * sizeof *page->accesses);
        if (to == home || page->move || page->queued || page->rests > l->interval) continue;
        if (l->touch_replicates && !page->no_replicas && pages_are_touch_replicated(l->pages, page->key))
            continue;
        page->rests = l->interval + 1 + l->cool_down;
        life_migrate(l, page, to);
    }
    l->listed_count = 0;
    l->interval++;
}
