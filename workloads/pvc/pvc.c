/* pvc: host script. Records are "URL address cookie"; pages are viewed by Zipf's law; one record in 16 has
 * lost its cookie and does not count. NUBA: 1081 MB, most of it the log; UGPU: 3810 MB. */
#include "grouping.h"

enum { SEED = 1, SEED_PATH, SEED_CLIENT, BLOCK = 256, ADDRESS = 15, COOKIE = 24, PATHS = 50000 };

static const struct wl_param params[] = {
    {"records", 16384, 1, 1 << 26, 0, "records of the log"},
    {"pages", 50000, 30, 400000, 0, "different pages"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "records=300,pages=300", NULL},
    {"nuba", "records=11300000", "NUBA, 1081 MB"},
    {"ugpu", "records=39100000", "UGPU, 3810 MB"},
    {"ugpuq", "records=400000,pages=50000", "UGPU quick"},
    {0},
};

static bool is_whole(uint64_t record) { return record % 16 != 11; }
static uint64_t path_of(uint64_t page) { return wl_below(SEED_PATH, page, PATHS); }
static uint64_t page_of(const struct text *t, uint64_t record)
{
    return zipf_rank(&t->zipf, text_draw(t, record, 0));
}

static uint32_t write_url(uint64_t page, char *to)
{
    char *at = to;
    for (const char *c = "http://www."; *c;) *at++ = *c++;
    at += text_spell(page, at);
    for (const char *c = ".com/"; *c;) *at++ = *c++;
    at += text_spell(path_of(page), at);
    return (uint32_t)(at - to);
}

static uint32_t record_length(const struct text *t, uint64_t record)
{
    const uint64_t page = page_of(t, record);
    const uint32_t url = 16 + text_letters(page) + text_letters(path_of(page));
    return url + 1 + ADDRESS + 1 + (is_whole(record) ? COOKIE + 1 : 0);
}

static void write_record(const struct text *t, uint64_t record, char *to)
{
    const uint64_t client = wl_u64(SEED_CLIENT, record);
    to += write_url(page_of(t, record), to);
    *to++ = '\t';
    for (uint32_t k = 0; k < ADDRESS; k++) /* 123.123.123.123 */
        *to++ = (char)(k % 4 == 3 ? '.' : '0' + (client >> (4 * k)) % (k % 4 ? 10 : 2));
    *to++ = is_whole(record) ? '\t' : '\n';
    if (!is_whole(record)) return;
    for (uint32_t k = 0; k < COOKIE; k++) *to++ = "0123456789abcdef"[(client >> (2 * k)) & 15];
    *to = '\n';
}

static struct text log_of(const struct wl *w)
{
    return (struct text){.seed = SEED,
                         .lines = (uint64_t)wl_param(w, "records"),
                         .words = 1,
                         .zipf = zipf_of((uint64_t)wl_param(w, "pages")),
                         .length = record_length,
                         .write = write_record};
}

static double whole(const void *arg, uint64_t record)
{
    (void)arg;
    return is_whole(record);
}

static double whole_before(const void *arg, uint64_t record)
{
    (void)arg;
    return (double)(record - (record + 4) / 16);
}

static struct grouping_check emitted(struct wl *w, const struct text *t)
{
    struct grouping_check c = {.strings = t->zipf.vocabulary, .room = grouping_room(t->lines)};
    uint32_t *hash = wl_scratch(w, c.strings * 4), *expected = wl_scratch(w, c.strings * 4);
    uint32_t *string = wl_scratch(w, t->lines * 4), *place = wl_scratch(w, t->lines * 4);
    for (uint64_t page = 0; page < c.strings; page++) {
        char url[TEXT_LINE_MOST];
        hash[page] = grouping_hash(url, write_url(page, url));
    }
    for (uint64_t record = 0; record < t->lines; record++) {
        if (!is_whole(record)) continue;
        string[c.pairs] = (uint32_t)page_of(t, record);
        place[c.pairs] = t->starts[record];
        expected[string[c.pairs++]]++;
    }
    c.hash = hash, c.expected = expected, c.string = string, c.place = place;
    return c;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct text t = log_of(w);
    return text_bytes(&t) + 4 * (t.lines + 1) + grouping_bytes(t.lines, t.lines, t.zipf.vocabulary);
}

static void run(struct wl *w)
{
    struct text t = log_of(w);
    text_place_lines(w, &t);
    const int records = (int)t.lines;
    char *log = wl_input(w, "log", t.starts[t.lines], text_fill, &t);
    uint32_t *starts = wl_input(w, "record starts", (t.lines + 1) * 4, text_fill_starts, &t);
    const struct grouping g = grouping_new(w, t.lines, t.lines, t.zipf.vocabulary);
    const struct wl_dim grid = wl_dim(wl_blocks(records, BLOCK)), block = wl_dim(BLOCK);
    WL_LAUNCH(w, "pvc_count", grid, block, log, starts, g.counts, records);
    grouping_scan(w, g.counts, g.offsets, g.sums, records);
    WL_LAUNCH(w, "pvc_emit", grid, block, log, starts, g.counts, g.offsets, g.pairs, records);
    grouping_sort(w, &g, log);
    grouping_reduce(w, &g, log);

    wl_check_u32(
        w, &(struct wl_check){.name = "counts", .output = g.counts, .count = t.lines, .reference = whole});
    wl_check_u32(w, &(struct wl_check){
                        .name = "offsets", .output = g.offsets, .count = t.lines, .reference = whole_before});
    const struct grouping_check c = emitted(w, &t);
    grouping_check(w, &c, &g);
}

WORKLOAD(pvc, .suite = "Mars", .sharing = "low-sharing",
         .description = "MapReduce page view count of a web log", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
