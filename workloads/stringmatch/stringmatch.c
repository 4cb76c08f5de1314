/* stringmatch: host script. Text of Zipf's law, eight words a line; the keyword is a word of rank 40,
 * once in about 55 lines. NUBA, 146 MB: three quarters are text. */
#include "grouping.h"

enum { SEED = 1, BLOCK = 256, WORDS = 8, VOCABULARY = 50000, KEYWORD = 40 };

static const struct wl_param params[] = {{"lines", 16384, 1, 1 << 26, 0, "lines of eight words"}, {0}};
static const struct wl_size sizes[] = {
    {"tiny", "lines=500", NULL},
    {"nuba", "lines=2130000", "NUBA, 146 MB"},
    {0},
};

struct match {
    uint32_t *counts, *offsets, *places; /* of every line, of every line, of all lines */
};

/* What the device must find, line by line. */
static struct match matches_of(struct wl *w, const struct text *t, const char *keyword, uint32_t letters)
{
    struct match m = {wl_scratch(w, t->lines * 4), wl_scratch(w, t->lines * 4), wl_scratch(w, t->lines * 4)};
    uint32_t all = 0;
    for (uint64_t line = 0; line < t->lines; line++) {
        char bytes[TEXT_LINE_MOST];
        t->write(t, line, bytes);
        m.offsets[line] = all;
        for (uint32_t i = 0; i + letters <= t->starts[line + 1] - t->starts[line]; i++) {
            uint32_t same = 0;
            while (same < letters && bytes[i + same] == keyword[same]) same++;
            if (same == letters && all < t->lines) m.places[all++] = t->starts[line] + i;
        }
        m.counts[line] = all - m.offsets[line];
    }
    return m;
}

static struct text text_of(const struct wl *w)
{
    return (struct text){.seed = SEED,
                         .lines = (uint64_t)wl_param(w, "lines"),
                         .words = WORDS,
                         .zipf = zipf_of(VOCABULARY),
                         .length = text_plain_length,
                         .write = text_plain_write};
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct text t = text_of(w);
    return text_bytes(&t) + text_letters(KEYWORD) +
           4 * (4 * t.lines + 1 + wl_blocks((int64_t)t.lines, GROUPING_BLOCK));
}

static void run(struct wl *w)
{
    struct text t = text_of(w);
    text_place_lines(w, &t);
    char word[TEXT_WORD_MOST];
    const uint32_t letters = text_spell(KEYWORD, word);
    const int lines = (int)t.lines;
    char *text = wl_input(w, "text", t.starts[t.lines], text_fill, &t),
         *keyword = wl_alloc(w, "keyword", letters);
    uint32_t *starts = wl_input(w, "line starts", (t.lines + 1) * 4, text_fill_starts, &t);
    uint32_t *counts = wl_alloc(w, "counts", t.lines * 4), *offsets = wl_alloc(w, "offsets", t.lines * 4);
    uint32_t *sums = wl_alloc(w, "block sums", wl_blocks(lines, GROUPING_BLOCK) * 4ull);
    uint32_t *places = wl_alloc(w, "places", t.lines * 4); /* matches are rarer than lines */
    wl_write(w, keyword, word, letters);
    const struct wl_dim grid = wl_dim(wl_blocks(lines, BLOCK)), block = wl_dim(BLOCK);
    WL_LAUNCH(w, "stringmatch_count", grid, block, text, starts, keyword, (int)letters, counts, lines);
    grouping_scan(w, counts, offsets, sums, lines);
    WL_LAUNCH(w, "stringmatch_emit", grid, block, text, starts, keyword, (int)letters, counts, offsets,
              places, lines);

    const struct match m = matches_of(w, &t, word, letters);
    struct wl_check check = {.count = t.lines, .reference = wl_expect_u32};
    check.name = "counts", check.output = counts, check.arg = m.counts;
    wl_check_u32(w, &check);
    check.name = "offsets", check.output = offsets, check.arg = m.offsets;
    wl_check_u32(w, &check);
    check.name = "places", check.output = places, check.arg = m.places;
    wl_check_u32(w, &check);
}

WORKLOAD(stringmatch, .suite = "Mars", .sharing = "low-sharing",
         .description = "MapReduce search of a keyword, line by line", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
