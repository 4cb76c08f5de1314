/* warm: see warm.h. */
#include "system/warm.h"

#include "system/system_private.h"

static void warm_access(void *arg, uint32_t sm, uint32_t app, uint64_t line, bool writes)
{
    struct system *const g = arg;
    const uint32_t in_page_log2 = g->pages->page_log2 - LINE_LOG2;
    const uint64_t *const frame = pages_find(g->pages, sm, pages_key(app, line >> in_page_log2));
    if (!frame) return;
    const uint64_t in_page = line & (((uint64_t)1 << in_page_log2) - 1);
    const struct home home = pages_home(g->pages, *frame + (in_page << LINE_LOG2));
    slice_warm_access(g->slices[home.slice], sm / config_sms_per_chiplet(g->config), home.line, writes);
}

static void warm_end(void *arg, uint32_t app)
{
    struct system *const g = arg;
    (void)app;
    for (uint32_t k = 0; k < g->slice_count; k++) slice_warm_end(g->slices[k]);
}

struct walk_observer system_warm(struct system *g)
{
    if (!g->config->rdc.size) return (struct walk_observer){0};
    return (struct walk_observer){.arg = g, .access = warm_access, .ended = warm_end};
}

/* Copies of a line in the GPUs other than its home. */
static void drop_copies(struct system *g, const struct home *home)
{
    const uint32_t slices = config_slices_per_chiplet(g->config), position = home->slice % slices;
    for (uint32_t k = 0; k < g->chiplet_count; k++)
        if (k != home->slice / slices) slice_drop_copy(g->slices[k * slices + position], home->line);
}

void system_host_wrote(struct system *g, uint32_t app, uint64_t address, uint64_t bytes)
{
    if (!config_fences_cumulate(g->config) || !bytes) return;
    const uint32_t page_log2 = g->pages->page_log2;
    for (uint64_t page = address >> page_log2; page <= (address + bytes - 1) >> page_log2; page++) {
        const uint64_t *const frame = pages_frame(g->pages, pages_key(app, page));
        if (!frame) continue;
        const uint64_t first = page << page_log2 < address ? address : page << page_log2;
        const uint64_t end =
            (page + 1) << page_log2 < address + bytes ? (page + 1) << page_log2 : address + bytes;
        for (uint64_t line = first >> LINE_LOG2; line << LINE_LOG2 < end; line++) {
            const struct home home =
                pages_home(g->pages, *frame + ((line << LINE_LOG2) & (((uint64_t)1 << page_log2) - 1)));
            drop_copies(g, &home);
        }
    }
}
