/* predict: see predict.h. */
#include "policy/binding/predict.h"

#include <string.h>

enum { LINE_LOG2 = 7 };

struct touching {
    const struct data_cut *cut;
    uint64_t page_address;
    uint64_t *lines; /* [node][words] */
    uint32_t words;
};

static void touch(void *arg, int64_t first, int64_t end, uint32_t node)
{
    const struct touching *const t = arg;
    const uint64_t from = (t->cut->base + (uint64_t)first - t->page_address) >> LINE_LOG2,
                   to = (t->cut->base + (uint64_t)end - 1 - t->page_address) >> LINE_LOG2;
    for (uint64_t k = from; k <= to; k++)
        t->lines[(size_t)node * t->words + k / 64] |= (uint64_t)1 << (k % 64);
}

/* Blocks run on the nodes of the launch's binding, whatever binding places the pages. */
static struct data_cut blocks_of(const struct data_cut *cut, const struct launch_array *s,
                                 const struct lasp_plan *plan)
{
    struct data_cut blocks = *cut;
    blocks.binding = plan->binding;
    blocks.open_axes = s->any & binding_axes(&plan->binding);
    if (s->patterns) {
        blocks.method = CUT_INDEX;
        blocks.pattern = s->pattern;
        blocks.patterns = s->patterns;
    }
    return blocks;
}

struct prediction predict_array(struct arena *a, const struct config *c, const struct launch_facts *l,
                                const struct nodes *n, const struct lasp_plan *plan, uint32_t array)
{
    const struct launch_array *const s = &launch_arrays(l)->array[array];
    const uint32_t page_log2 = (uint32_t)__builtin_ctzll(c->map.page_size);
    const struct data_cut cut =
        cut_of_array(a, c, l, n, plan, array, cut_scratch_new(a, page_log2, n->count));
    const struct data_cut blocks = blocks_of(&cut, s, plan);
    struct touching t = {.cut = &blocks, .words = (1u << (page_log2 - LINE_LOG2)) / 64 + 1};
    uint64_t *const pages = ARENA_ARRAY(a, uint64_t, n->count), pairs = 0, off_chiplet = 0, off_gpu = 0;
    struct prediction p = {.method = cut.method,
                           .pages = pages,
                           .known = blocks.method == CUT_INDEX || blocks.method == CUT_LAYOUT};
    if (s->end <= s->first) return p;
    t.lines = ARENA_ARRAY(a, uint64_t, (size_t)n->count * t.words);
    for (uint64_t page = (s->base + s->first) >> page_log2; page <= (s->base + s->end - 1) >> page_log2;
         page++) {
        const uint32_t home = cut_node(&cut, page);
        const int64_t first = (int64_t)((page << page_log2) - blocks.base);
        pages[home]++;
        p.all_pages++;
        if (!p.known) continue;
        t.page_address = page << page_log2;
        memset(t.lines, 0, (size_t)n->count * t.words * sizeof *t.lines);
        p.known = cut_nodes_of(&blocks, first, first + ((int64_t)1 << page_log2), touch, &t);
        for (uint32_t k = 0; k < n->count; k++) {
            uint64_t lines = 0;
            for (uint32_t w = 0; w < t.words; w++)
                lines += (uint64_t)__builtin_popcountll(t.lines[(size_t)k * t.words + w]);
            pairs += lines;
            if (k != home) off_chiplet += lines;
            if (k / n->per_gpu != home / n->per_gpu) off_gpu += lines;
        }
    }
    for (uint32_t k = 0; k < n->count; k++)
        if (pages[k] > p.max_pages) p.max_pages = pages[k];
    p.known &= pairs != 0;
    p.off_chiplet = pairs ? (double)off_chiplet / (double)pairs : 0;
    p.off_gpu = pairs ? (double)off_gpu / (double)pairs : 0;
    return p;
}
