/* touch: replicas that appear when a node touches a page for the first time, without traffic and time.
 *
 *   mmu_touch(), mmu_frame() --> pages_use() --> the node has the page or a replica ---> its frame
 *                                     | no, and the policy replicates the page
 *                                     +--> a frame of the node becomes a replica
 *
 * A replica of one node changes no frame of another node, so the order in which SMs touch a page within a cycle has
 * no effect. The policy ideal never drops a replica. Under oracle a store to such a page collapses it (track.c,
 * life.c): the record's no_replicas then holds for the rest of the run. */
#include "check/check.h"
#include "pages/pages_private.h"
#include "pages/profile.h"

bool pages_are_touch_replicated(const struct pages *p, uint64_t key)
{
    struct page_touch t = {0};
    if (!p->replication->at_touch) return false;
    const struct page_facts *f = p->profile ? page_profile_find(p->profile, key) : NULL;
    if (f) t = (struct page_touch){.known = true, .shared = page_facts_are_shared(f), .written = f->written};
    return p->replication->at_touch(&t);
}

void pages_set_profile(struct pages *p, const struct page_profile *profile) { p->profile = profile; }

/* The record of a page that a store has collapsed forbids further replicas. */
static bool is_collapsed(const struct pages *p, uint64_t key)
{
    const struct page *page = p->life ? track_find(p->life, key) : NULL;
    return page && page->no_replicas;
}

static void add_to_record(struct pages *p, uint64_t key, uint32_t node)
{
    if (!p->life) return;
    struct page *page = track_record(p->life, key);
    page->replicated[node / 64] |= (uint64_t)1 << (node % 64);
    page->replicas++;
}

static const uint64_t *replicate(struct pages *p, uint32_t node, uint64_t key)
{
    uint64_t frame;
    const uint32_t colour = nodes_colour(&p->nodes, node, pages_key_page(key));
    if (!table_try_frame(p, pages_key_app(key), colour, &frame))
        diag_mistake(
            "the memory of node %u is full: %llu frames hold pages and their replicas (pages.replication); "
            "raise gpu.memory_size or use a smaller workload",
            node, (unsigned long long)p->frames_used);
    table_add_replica(p, key, node, frame);
    add_to_record(p, key, node);
    p->stats.touch_replicas++;
    return map_find(&p->replicas, pages_replica_key(key, node));
}

const uint64_t *pages_use(struct pages *p, uint32_t sm, uint64_t key)
{
    if (!p->replication->at_touch) return pages_find(p, sm, key);
    const uint64_t *own = map_find(&p->frame_of, key);
    if (!own) return NULL;
    if (*own & PAGES_INTERLEAVED) return own;
    const uint32_t node = nodes_of_sm(&p->nodes, sm);
    if (nodes_of_colour(&p->nodes, pages_colour_of(p, *own)) == node) return own;
    const uint64_t *replica = map_find(&p->replicas, pages_replica_key(key, node));
    if (replica) return replica;
    if (is_collapsed(p, key) || !pages_are_touch_replicated(p, key)) return own;
    return replicate(p, node, key);
}
