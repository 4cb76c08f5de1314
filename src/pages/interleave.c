/* interleave: pages whose lines have several homes (CODA's sub-page interleaving).
 *
 *   lines of a structure    | g lines | g lines | g lines | ...     granule i lies in node i mod nodes
 *   memory of node n        granule n, granule n + nodes, ...       compact: a frame holds one page of these lines
 *
 * The homes are a property of the page: pages_place() marks the page in the table, and pages_line() finds a line.
 * Such a page has no frame of its own, so no translation of it is cached in the simulator (mmu.c). */
#include "base/grow.h"
#include "pages/pages.h"

struct line_place {
    uint32_t node;
    uint64_t page, line; /* of the node's part of the structure; line: in the page */
};

/* Lines below the origin (the first page begins before the structure) count down from it. */
static struct line_place place_of(const struct pages *p, const struct page_rule *r, uint64_t line)
{
    const uint64_t page_lines = (uint64_t)1 << (p->page_log2 - LINE_LOG2),
                   round = r->granule_lines * r->nodes;
    const uint64_t shift = (page_lines + round - 1) / round * round, at = line - r->origin_line + shift;
    const uint64_t granule = at / r->granule_lines,
                   in_node = granule / r->nodes * r->granule_lines + at % r->granule_lines;
    return (struct line_place){
        .node = (uint32_t)(granule % r->nodes), .page = in_node / page_lines, .line = in_node % page_lines};
}

static uint64_t part_key(uint64_t rule, const struct line_place *at)
{
    return rule << 48 | (uint64_t)at->node << 36 | at->page;
}

uint64_t pages_mark_interleaved(struct pages *p, const struct placement_question *q,
                                const struct page_rule *r)
{
    const uint64_t page_lines = (uint64_t)1 << (p->page_log2 - LINE_LOG2), first = q->page * page_lines;
    for (uint64_t line = first; line < first + page_lines; line++) {
        const struct line_place at = place_of(p, r, line);
        if (map_find(&p->parts, part_key(r->interleaving, &at))) continue;
        struct placement_question part = *q;
        part.page = at.page;
        const uint64_t taken =
            pages_take_counted_frame(p, pages_key(q->app, q->page), placement_colour_of_node(&part, at.node));
        *map_put(&p->parts, part_key(r->interleaving, &at), NULL) = taken;
    }
    return PAGES_INTERLEAVED | r->interleaving;
}

uint32_t pages_add_interleaving(struct pages *p, const struct page_rule *r)
{
    p->interleavings = grow(p->interleavings, p->interleaving_count, &p->interleaving_capacity,
                            sizeof *p->interleavings, "interleaved structures");
    p->interleavings[p->interleaving_count] = *r;
    p->interleavings[p->interleaving_count].interleaving = p->interleaving_count;
    return p->interleaving_count++;
}

struct home pages_line(const struct pages *p, uint64_t entry, uint64_t line)
{
    const struct page_rule *const r = &p->interleavings[entry & ~PAGES_INTERLEAVED];
    const struct line_place at = place_of(p, r, line);
    const uint64_t *const frame = map_find(&p->parts, part_key(r->interleaving, &at));
    DIAG_ASSERT(frame);
    return pages_home(p, *frame + (at.line << LINE_LOG2));
}
