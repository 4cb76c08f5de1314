/* copies: caches of lines of other GPUs: the remote data cache (RDC), the coherence of the copies, and how the GPUs
 * share pages and lines. Nothing is written for machines without them. */
#include <string.h>

#include "report/report.h"

enum { BAR = 36, LABEL = 15 };

/* Share of cold probes from which on a run measures the filling of the RDC, not its use. */
#define COLD_SHARE_MAX 0.05

static double of(double above, double below) { return below > 0 ? above / below : 0; }

static double percent(uint64_t part, uint64_t whole) { return 100 * of((double)part, (double)whole); }

static void write_line(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, "  %-12s ", name);
    draw_wrapped(out, LABEL, text);
}

/* ---- the first screen ---- */

static void write_kept(const struct rdc_stats *s, FILE *out)
{
    char line[300], stores[DRAW_TEXT], lines[DRAW_TEXT];
    if (!s->kept) return;
    (void)snprintf(line, sizeof line,
                   "%.1f %% of %s stores stayed in the RDC; %s dirty lines sent home, %.0f %% of them by "
                   "flushes, %.0f B each",
                   percent(s->kept, s->updates), draw_count(stores, s->updates), draw_count(lines, s->backs),
                   percent(s->back_lines, s->backs), of((double)s->back_bytes, (double)s->backs));
    write_line(out, "write-back", line);
}

static void write_rdc(const struct rdc_stats *s, FILE *out)
{
    char line[300], probes[DRAW_TEXT], fills[DRAW_TEXT];
    if (!s->probes) return;
    const int len =
        snprintf(line, sizeof line, "%.1f %% of %s probes hit; %s fills", percent(s->hits, s->probes),
                 draw_count(probes, s->probes), draw_count(fills, s->fills));
    if (s->fills_unwritten)
        (void)snprintf(line + len, sizeof line - (size_t)len, ", %s replies not kept: rdc.write_queue full",
                       draw_count(fills, s->fills_unwritten));
    write_line(out, "RDC", line);
    write_kept(s, out);
    if (of((double)s->cold, (double)s->probes) <= COLD_SHARE_MAX) return;
    (void)snprintf(line, sizeof line,
                   "the RDC is cold: %.1f %% of its probes read sets that were never filled; run more of the "
                   "workload or warm it up (runtime.warm_launches, runtime.warm_blocks)",
                   percent(s->cold, s->probes));
    write_line(out, "warning", line);
}

static void write_coherence(const struct coherence_stats *s, FILE *out)
{
    char line[400], writes[DRAW_TEXT];
    if (!s->writes) return;
    int len = snprintf(line, sizeof line, "%.1f %% of %s writes at their homes waited for invalidations",
                       percent(s->broadcasts, s->writes), draw_count(writes, s->writes));
    if (s->broadcasts)
        (void)snprintf(
            line + len, sizeof line - (size_t)len,
            ", %.0f cycles each: %.1f %% of these sent some (%.1f each), the others shared those "
            "in flight; %.1f %% found a copy",
            of((double)s->held_cyc, (double)s->held), percent(s->broadcasts - s->joined, s->broadcasts),
            of((double)s->sent, (double)(s->broadcasts - s->joined)), percent(s->useful, s->received));
    write_line(out, "coherence", line);
}

static void write_spill(const struct report *r, FILE *out)
{
    const struct spill_stats *s = &r->stats.spill;
    struct system_time_bound link;
    char line[300], pages[DRAW_TEXT], reads[DRAW_TEXT], writes[DRAW_TEXT], moves[DRAW_TEXT];
    if (!system_time_bound(r->system, SYSTEM_FLOOR_CPU_LINK, &link)) return;
    const int len =
        snprintf(line, sizeof line,
                 "%s of %.0f pages (%.1f %%); %s reads and %s writes over CPU links, the busiest in "
                 "use %.0f %% of the time",
                 draw_count(pages, s->pages), (double)r->stats.mmu.pages_placed,
                 percent(s->pages, r->stats.mmu.pages_placed), draw_count(reads, s->answered),
                 draw_count(writes, s->accepted), 100 * of(link.seconds, r->total.seconds));
    if (s->moves_in)
        (void)snprintf(line + len, sizeof line - (size_t)len, "; %s pages moved in, %.0f cycles each",
                       draw_count(moves, s->moves_in), of((double)s->move_cyc, (double)s->moves_in));
    write_line(out, "system mem", line);
}

void report_copies_text(const struct report *r, FILE *out)
{
    write_spill(r, out);
    write_rdc(&r->stats.rdc, out);
    write_coherence(&r->stats.coherence, out);
}

/* ---- details ---- */

static void write_row(const struct report *r, FILE *out, const char *name, uint64_t count, uint64_t whole)
{
    char text[DRAW_TEXT];
    if (!count) return;
    (void)fprintf(out, "    %-34s %14s %5.1f %%  ", name, draw_count(text, count), percent(count, whole));
    draw_bar(out, of((double)count, (double)whole), BAR, r->ascii);
    (void)fputc('\n', out);
}

static void detail_rdc(const struct report *r, FILE *out)
{
    const struct rdc_stats *s = &r->stats.rdc;
    const uint64_t replies = s->fills + s->fills_unwritten + s->fills_discarded;
    if (!s->probes) return;
    (void)fputs("\n  remote data cache: probes\n", out);
    write_row(r, out, "hit", s->hits, s->probes);
    write_row(r, out, "miss: another line in the set", s->conflicts, s->probes);
    write_row(r, out, "miss: line of an earlier epoch", s->stale, s->probes);
    write_row(r, out, "miss: set never filled", s->cold, s->probes);
    write_row(r, out, "miss: line was cleared", s->misses - s->conflicts - s->stale - s->cold, s->probes);
    (void)fputs("  remote data cache: replies of homes\n", out);
    write_row(r, out, "written", s->fills, replies);
    write_row(r, out, "not written: queue full", s->fills_unwritten, replies);
    write_row(r, out, "not written: line was invalidated", s->fills_discarded, replies);
    (void)fputs("  remote data cache: stores and invalidations that read a tag\n", out);
    write_row(r, out, "stores that updated a line", s->update_hits, s->updates + s->clears);
    write_row(r, out, "stores without a line", s->updates - s->update_hits, s->updates + s->clears);
    write_row(r, out, "invalidations, atomics: cleared", s->clear_hits, s->updates + s->clears);
    write_row(r, out, "invalidations, atomics: no line", s->clears - s->clear_hits, s->updates + s->clears);
}

static void detail_coherence(const struct report *r, FILE *out)
{
    const struct coherence_stats *s = &r->stats.coherence;
    const uint64_t changes = s->to_private + s->to_read_shared + s->to_write_shared;
    if (!changes) return;
    (void)fputs("\n  sharing states of lines at their homes: changes to\n", out);
    write_row(r, out, "private", s->to_private, changes);
    write_row(r, out, "read-shared", s->to_read_shared, changes);
    write_row(r, out, "read-write-shared", s->to_write_shared, changes);
}

static void detail_sharing(const struct report *r, FILE *out)
{
    const struct sharing_stats *s = &r->stats.sharing;
    const uint64_t misses = s->page_private + s->page_read_only + s->page_read_write;
    if (!misses) return;
    (void)fputs("\n  LLC read misses by sharing between GPUs                        by page    by line\n",
                out);
    static const char *const names[] = {"private", "shared, read only", "shared, written"};
    const uint64_t pages[] = {s->page_private, s->page_read_only, s->page_read_write};
    const uint64_t lines[] = {s->line_private, s->line_read_only, s->line_read_write};
    for (uint32_t k = 0; k < 3; k++)
        (void)fprintf(out, "    %-54s %8.1f %%  %7.1f %%\n", names[k], percent(pages[k], misses),
                      percent(lines[k], misses));
}

void report_copies_details(const struct report *r, FILE *out)
{
    detail_rdc(r, out);
    detail_coherence(r, out);
    detail_sharing(r, out);
}
