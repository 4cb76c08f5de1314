/* grouping: the host's side of mapreduce.h and prefix.h: prefix sums of counts, the sort of the emitted
 * pairs, the groups, and their checks. The groups' order is that in which blocks take slots, so they are
 * checked as a set. */
#ifndef ATOLL_WORKLOADS_GROUPING_H
#define ATOLL_WORKLOADS_GROUPING_H

#include "text.h"

enum { GROUPING_BLOCK = 256, GROUPING_TILE = 512 };

struct grouping_pair {
    uint32_t key, at; /* hash and place of a string; a group: place and count */
};

/* A power of two, at least a tile. */
static inline uint64_t grouping_room(uint64_t pairs)
{
    uint64_t room = GROUPING_TILE;
    while (room < pairs) room *= 2;
    return room;
}

static inline void grouping_fill_unused(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    (void)first;
    __builtin_memset(to, 0xff, bytes);
}

/* Device memory of a job: counts of each line, where its pairs begin, the pairs, the groups. */
struct grouping {
    uint32_t *counts, *offsets, *sums, *group_count;
    struct grouping_pair *pairs, *groups;
    uint64_t room; /* of pairs */
};

static inline struct grouping grouping_new(struct wl *w, uint64_t lines, uint64_t pairs, uint64_t strings)
{
    struct grouping g = {.room = grouping_room(pairs)};
    g.counts = wl_alloc(w, "counts", lines * 4);
    g.offsets = wl_alloc(w, "offsets", lines * 4);
    g.sums = wl_alloc(w, "block sums", wl_blocks((int64_t)lines, GROUPING_BLOCK) * 4ull);
    g.pairs = wl_input(w, "pairs", g.room * sizeof *g.pairs, grouping_fill_unused, NULL);
    g.groups = wl_alloc(w, "groups", strings * sizeof *g.groups);
    g.group_count = wl_alloc(w, "group count", 4);
    return g;
}

/* The bytes of all that. */
static inline uint64_t grouping_bytes(uint64_t lines, uint64_t pairs, uint64_t strings)
{
    return 4 * (2 * lines + wl_blocks((int64_t)lines, GROUPING_BLOCK) + 1) +
           sizeof(struct grouping_pair) * (grouping_room(pairs) + strings);
}

/* sums: wl_blocks(n, GROUPING_BLOCK) words. */
static inline void grouping_scan(struct wl *w, const uint32_t *counts, uint32_t *offsets, uint32_t *sums,
                                 int n)
{
    const uint32_t blocks = wl_blocks(n, GROUPING_BLOCK);
    WL_LAUNCH(w, "prefix_blocks", wl_dim(blocks), wl_dim(GROUPING_BLOCK), counts, offsets, sums, n);
    WL_LAUNCH(w, "prefix_sums", wl_dim(1), wl_dim(GROUPING_BLOCK), sums, (int)blocks);
    WL_LAUNCH(w, "prefix_add", wl_dim(blocks), wl_dim(GROUPING_BLOCK), offsets, sums, n);
}

static inline void grouping_sort(struct wl *w, const struct grouping *g, const char *text)
{
    struct grouping_pair *const pairs = g->pairs;
    const int room = (int)g->room;
    const struct wl_dim tiles = wl_dim(room / GROUPING_TILE), block = wl_dim(GROUPING_BLOCK);
    WL_LAUNCH(w, "mr_sort_tiles", tiles, block, text, pairs, 2, GROUPING_TILE);
    for (int size = 2 * GROUPING_TILE; size <= room; size *= 2) {
        for (int stride = size / 2; stride >= GROUPING_TILE; stride /= 2)
            WL_LAUNCH(w, "mr_sort_step", wl_dim(room / 2 / GROUPING_BLOCK), block, text, pairs, size, stride);
        WL_LAUNCH(w, "mr_sort_tiles", tiles, block, text, pairs, size, size);
    }
}

static inline void grouping_reduce(struct wl *w, const struct grouping *g, const char *text)
{
    const int room = (int)g->room;
    WL_LAUNCH(w, "mr_reduce", wl_dim(wl_blocks(room, GROUPING_BLOCK)), wl_dim(GROUPING_BLOCK), text, g->pairs,
              g->groups, g->group_count, room);
}

static inline uint32_t grouping_hash(const char *string, uint32_t letters)
{
    uint32_t hash = 2166136261u;
    for (uint32_t k = 0; k < letters; k++) hash = (hash ^ (uint8_t)string[k]) * 16777619u;
    return hash;
}

/* What was emitted: which string (a number) starts at a place of the text. Strings have a count of
 * 'expected'. */
struct grouping_check {
    uint64_t pairs, strings, room;
    const uint32_t *hash;     /* of every string */
    const uint32_t *expected; /* how often every string was emitted */
    const uint32_t *string;   /* of the pairs in emission order */
    const uint32_t *place;    /* of the pairs in emission order, increasing */
};

/* The number of the string at a place, or UINT32_MAX. */
static inline uint32_t grouping_string_at(const struct grouping_check *c, uint32_t place)
{
    uint64_t low = 0, high = c->pairs;
    while (low < high) {
        const uint64_t mid = (low + high) / 2;
        if (c->place[mid] < place)
            low = mid + 1;
        else
            high = mid;
    }
    return low < c->pairs && c->place[low] == place ? c->string[low] : UINT32_MAX;
}

/* Sorted: places that exist, with their hash; hashes do not fall; equal strings lie together by place. So no
 * place comes twice, and as there are as many as were emitted, all are there. Then the groups: a group of
 * every string, once. */
static inline void grouping_check(struct wl *w, const struct grouping_check *c, const struct grouping *job)
{
    const struct grouping_pair *p = wl_output(w, "pairs", job->pairs, c->room * sizeof *p);
    uint32_t *seen = wl_scratch(w, c->strings * 4), *counted = wl_scratch(w, c->strings * 4), distinct = 0,
             last = 0;
    for (uint64_t i = 0; i < c->room; i++) {
        const uint32_t string = i < c->pairs ? grouping_string_at(c, p[i].at) : UINT32_MAX;
        const bool used = i < c->pairs, known = string != UINT32_MAX && c->hash[string] == p[i].key;
        if (used ? !known || (i && p[i - 1].key > p[i].key) : p[i].key != UINT32_MAX || p[i].at != UINT32_MAX)
            wl_fail(w, "pairs[%llu] is (%u, %u)", (unsigned long long)i, p[i].key, p[i].at);
        if (!used) continue;
        const bool first = i == 0 || string != last;
        if (first ? seen[string] != 0 : p[i - 1].at >= p[i].at)
            wl_fail(w, "pairs[%llu]: equal strings do not lie together", (unsigned long long)i);
        seen[string]++;
        last = string;
        distinct += first;
    }
    const uint32_t *count = wl_output(w, "group count", job->group_count, 4);
    if (*count != distinct) wl_fail(w, "%u groups, expected %u", *count, distinct);
    const struct grouping_pair *g = wl_output(w, "groups", job->groups, c->strings * sizeof *g);
    for (uint64_t i = 0; i < c->strings; i++) { /* groups are (place, count); slots beyond are empty */
        const uint32_t string = i < distinct ? grouping_string_at(c, g[i].key) : UINT32_MAX;
        const bool right = i < distinct
                               ? string != UINT32_MAX && !counted[string] && g[i].at == c->expected[string]
                               : g[i].key == 0 && g[i].at == 0;
        if (!right) wl_fail(w, "groups[%llu] is (%u, %u)", (unsigned long long)i, g[i].key, g[i].at);
        if (string != UINT32_MAX) counted[string] = 1;
    }
}

#endif
