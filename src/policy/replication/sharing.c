/* sharing: see sharing.h. */
#include "policy/replication/sharing.h"

#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

struct sharing *sharing_new(struct arena *a)
{
    struct sharing *s = ARENA_NEW(a, struct sharing);
    map_init(&s->window.index);
    map_init(&s->kernel.index);
    return s;
}

void sharing_free(struct sharing *s)
{
    if (!s) return;
    map_free(&s->window.index);
    map_free(&s->kernel.index);
    free(s->window.lines);
    free(s->kernel.lines);
}

static struct sharing_line *line_of(struct sharing_table *t, uint64_t line)
{
    bool fresh;
    uint64_t *idx = map_put(&t->index, line, &fresh);
    if (!fresh) return &t->lines[*idx];
    if (t->count == t->capacity) {
        const uint32_t capacity = t->capacity ? 2 * t->capacity : 1024;
        struct sharing_line *grown = realloc(t->lines, capacity * sizeof *grown);
        if (!grown) diag_mistake("out of host memory");
        t->lines = grown;
        t->capacity = capacity;
    }
    *idx = t->count;
    t->lines[t->count] = (struct sharing_line){0};
    return &t->lines[t->count++];
}

static void record(struct sharing_table *t, const struct access *a)
{
    struct sharing_line *l = line_of(t, a->line);
    l->sms[a->sm / 64 % (SHARING_SMS / 64)] |= (uint64_t)1 << a->sm % 64;
    if (a->read && a->read_only)
        l->read_only = true;
    else
        l->written = true;
}

static uint32_t sms_of(const struct sharing_line *l)
{
    uint32_t sms = 0;
    for (uint32_t k = 0; k < SHARING_SMS / 64; k++) sms += (uint32_t)__builtin_popcountll(l->sms[k]);
    return sms;
}

static void empty(struct sharing_table *t)
{
    map_clear(&t->index);
    t->count = 0;
}

static void end_window(struct sharing *s, struct selrep_stats *stats)
{
    for (uint32_t k = 0; k < s->window.count; k++) {
        const struct sharing_line *l = &s->window.lines[k];
        const uint32_t sms = sms_of(l);
        if (!l->read_only) continue;
        stats->window_lines++;
        stats->window_lines_2 += sms >= 2;
        stats->window_lines_3 += sms > 2;
        stats->window_lines_10 += sms > 9;
    }
    empty(&s->window);
}

void sharing_observe(struct sharing *s, const struct access *a, uint64_t cyc, struct selrep_stats *stats)
{
    if (cyc >= s->window_end_cyc) {
        end_window(s, stats);
        s->window_end_cyc = (cyc / SHARING_WINDOW_CYC + 1) * SHARING_WINDOW_CYC;
    }
    record(&s->window, a);
    record(&s->kernel, a);
}

void sharing_end_kernel(struct sharing *s, struct selrep_stats *stats)
{
    end_window(s, stats);
    for (uint32_t k = 0; k < s->kernel.count; k++) {
        const struct sharing_line *l = &s->kernel.lines[k];
        if (sms_of(l) < 2) continue;
        stats->shared_lines++;
        stats->shared_lines_read_only += l->read_only && !l->written;
    }
    empty(&s->kernel);
}
