/* classes: see classes.h. */
#include "pages/classes.h"

#include <stdlib.h>

#include "base/grow.h"

/* A page or a line. */
struct shared_unit {
    uint64_t key, misses, nodes; /* nodes: bit per node that accesses it */
    bool written;
};

/* Units of one size. */
struct unit_table {
    struct map index; /* key to the entry in units */
    struct shared_unit *units;
    uint32_t count, capacity;
};

struct page_classes {
    struct pages *pages;
    struct unit_table by_page, by_line;
    uint32_t lines_per_page_log2;
    struct sharing_stats stats;
};

static void add(struct unit_table *t, uint64_t key, uint32_t node, bool writes, bool missed)
{
    bool fresh;
    uint64_t *const at = map_put(&t->index, key, &fresh);
    if (fresh) {
        t->units = grow(t->units, t->count, &t->capacity, sizeof *t->units, "pages.count_classes");
        t->units[t->count] = (struct shared_unit){.key = key};
        *at = t->count++;
    }
    struct shared_unit *u = &t->units[*at];
    u->misses += missed;
    u->nodes |= (uint64_t)1 << node;
    u->written |= writes;
}

static uint32_t home_node(const struct pages *p, const struct request *r)
{
    const uint64_t frame = r->home.line >> (p->page_log2 - LINE_LOG2) << p->page_log2;
    return nodes_of_colour(&p->nodes, pages_colour_of(p, frame));
}

static void on_request(void *self, const struct request *r, uint32_t slice, bool missed, uint64_t now)
{
    struct page_classes *s = self;
    const uint32_t node = nodes_of_sm(&s->pages->nodes, r->sm);
    const bool writes = r->kind != REQUEST_READ;
    (void)slice;
    (void)now;
    s->stats.local_misses += missed && home_node(s->pages, r) == node;
    add(&s->by_line, pages_key(r->app, r->line), node, writes, missed);
    add(&s->by_page, pages_key(r->app, r->line >> s->lines_per_page_log2), node, writes, missed);
}

struct llc_monitor page_classes_monitor(struct page_classes *s)
{
    return s ? (struct llc_monitor){.on_request = on_request, .self = s} : (struct llc_monitor){0};
}

struct page_classes *page_classes_new(struct arena *a, const struct config *c, struct pages *p,
                                      struct stats_registry *stats)
{
    if (!c->pages.count_classes) return NULL;
    struct page_classes *s = ARENA_NEW(a, struct page_classes);
    s->pages = p;
    s->lines_per_page_log2 = p->page_log2 - LINE_LOG2;
    map_init(&s->by_page.index);
    map_init(&s->by_line.index);
    STATS_REGISTER(stats, sharing, &s->stats, STATS_EVERYWHERE);
    return s;
}

static void free_table(struct unit_table *t)
{
    map_free(&t->index);
    free(t->units);
}

void page_classes_free(struct page_classes *s)
{
    if (!s) return;
    free_table(&s->by_page);
    free_table(&s->by_line);
}

static bool is_shared(const struct shared_unit *u) { return (u->nodes & (u->nodes - 1)) != 0; }

/* Nodes that access the page and do not hold its frame. */
static uint32_t remote_nodes(const struct pages *p, const struct shared_unit *u)
{
    const uint64_t *frame = pages_frame(p, u->key);
    const uint64_t home = frame && !(*frame & PAGES_INTERLEAVED)
                              ? (uint64_t)1 << nodes_of_colour(&p->nodes, pages_colour_of(p, *frame))
                              : 0;
    return (uint32_t)__builtin_popcountll(u->nodes & ~home);
}

void page_classes_finish(struct page_classes *s)
{
    if (!s) return;
    struct sharing_stats *t = &s->stats;
    *t = (struct sharing_stats){.local_misses = t->local_misses};
    for (uint32_t k = 0; k < s->by_page.count; k++) {
        const struct shared_unit *u = &s->by_page.units[k];
        *(!is_shared(u) ? &t->page_private
          : u->written  ? &t->page_read_write
                        : &t->page_read_only) += u->misses;
        t->remote_pages += remote_nodes(s->pages, u);
        t->shared_pages += is_shared(u);
    }
    for (uint32_t k = 0; k < s->by_line.count; k++) {
        const struct shared_unit *u = &s->by_line.units[k];
        *(!is_shared(u) ? &t->line_private
          : u->written  ? &t->line_read_write
                        : &t->line_read_only) += u->misses;
    }
    t->pages = s->by_page.count;
    t->lines = s->by_line.count;
}
