/* engine_report: who waits for whom, as a chain that a human can follow. */
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "engine/engine_private.h"

enum { CHAINS_MAX = 8, CHAIN_LINKS_MAX = 32 };

static const char *reason_text(enum wait_reason reason)
{
    switch (reason) {
    case WAIT_NOTHING: return "waits for nothing";
    case WAIT_QUEUE_FULL: return "waits for room in a queue";
    case WAIT_QUEUE_EMPTY: return "waits for something to arrive";
    case WAIT_CREDIT: return "waits for a credit";
    case WAIT_MSHR: return "waits for a free MSHR";
    case WAIT_PAGE_FAULT: return "waits for a page fault";
    case WAIT_BARRIER: return "waits at a barrier";
    case WAIT_REPLY: return "waits for a reply";
    case WAIT_SM: return "waits for an SM";
    }
    return "";
}

static struct wait wait_of(struct engine *e, uint32_t component)
{
    const struct component_spec *c = &e->specs[component];
    return c->waits ? c->waits(c->self) : (struct wait){.on = ENGINE_NO_COMPONENT};
}

/* One chain from 'start' until somebody waits for nobody, or a circle closes. */
static void print_chain(struct engine *e, uint32_t start, bool *shown, FILE *out)
{
    uint32_t chain[CHAIN_LINKS_MAX];
    uint32_t at = start;
    for (uint32_t n = 0; n < CHAIN_LINKS_MAX; n++) {
        chain[n] = at;
        shown[at] = true;
        const struct wait w = wait_of(e, at);
        (void)fprintf(out, "  %s%s %s", n ? "  -> " : "", engine_name(e, at), reason_text(w.reason));
        if (w.detail[0]) (void)fprintf(out, " (%s)", w.detail);
        if (w.reason == WAIT_NOTHING || w.on == ENGINE_NO_COMPONENT) {
            (void)fputs("\n", out);
            return;
        }
        (void)fprintf(out, " on %s\n", engine_name(e, w.on));
        for (uint32_t i = 0; i <= n; i++) {
            if (chain[i] != w.on) continue;
            (void)fprintf(out, "    -> %s: the circle closes here\n", engine_name(e, w.on));
            return;
        }
        at = w.on;
    }
    (void)fputs("    ...\n", out);
}

const char *engine_wait_report(struct engine *e)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out) return "(out of host memory for the report)\n";
    bool *shown = ARENA_ARRAY(&e->arena, bool, e->front.component_count);
    uint32_t chains = 0, more = 0;
    for (uint32_t c = 0; c < e->front.component_count; c++) {
        if (shown[c] || wait_of(e, c).reason == WAIT_NOTHING) continue;
        if (chains++ < CHAINS_MAX)
            print_chain(e, c, shown, out);
        else
            more++;
    }
    if (more) (void)fprintf(out, "  ... and %u more components that wait\n", more);
    if (!chains) (void)fputs("  no component says that it waits\n", out);
    (void)fclose(out);
    const char *copy = arena_strdup(&e->arena, text);
    free(text);
    return copy;
}
