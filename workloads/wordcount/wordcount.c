/* wordcount: host script. Text of Zipf's law over a vocabulary, eight words a line. NUBA, 542 MB: 2^25 words;
 * half of it is the pairs, 40 % the text. */
#include "grouping.h"

enum { SEED = 1, BLOCK = 256, WORDS = 8 };

static const struct wl_param params[] = {
    {"lines", 4096, 1, 1 << 26, 0, "lines of eight words"},
    {"vocabulary", 50000, 30, 400000, 0, "different words"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "lines=70,vocabulary=300", NULL},
    {"nuba", "lines=4194304", "NUBA, 542 MB"},
    {0},
};

static struct text text_of(const struct wl *w)
{
    return (struct text){.seed = SEED,
                         .lines = (uint64_t)wl_param(w, "lines"),
                         .words = WORDS,
                         .zipf = zipf_of((uint64_t)wl_param(w, "vocabulary")),
                         .length = text_plain_length,
                         .write = text_plain_write};
}

static double word_count(const void *arg, uint64_t line)
{
    (void)arg;
    (void)line;
    return WORDS;
}

static double word_offset(const void *arg, uint64_t line)
{
    (void)arg;
    return (double)line * WORDS;
}

static struct grouping_check emitted(struct wl *w, const struct text *t)
{
    struct grouping_check c = {.pairs = t->lines * WORDS, .strings = t->zipf.vocabulary};
    uint32_t *hash = wl_scratch(w, c.strings * 4), *expected = wl_scratch(w, c.strings * 4);
    uint32_t *string = wl_scratch(w, c.pairs * 4), *place = wl_scratch(w, c.pairs * 4), at = 0;
    for (uint64_t k = 0; k < c.strings; k++) {
        char word[TEXT_WORD_MOST];
        hash[k] = grouping_hash(word, text_spell(k, word));
    }
    for (uint64_t k = 0; k < c.pairs; k++) {
        string[k] = (uint32_t)zipf_rank(&t->zipf, text_draw(t, k / WORDS, k % WORDS));
        place[k] = at;
        at += text_letters(string[k]) + 1;
        expected[string[k]]++;
    }
    c.room = grouping_room(c.pairs);
    c.hash = hash, c.expected = expected, c.string = string, c.place = place;
    return c;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct text t = text_of(w);
    return text_bytes(&t) + 4 * (t.lines + 1) + grouping_bytes(t.lines, t.lines * WORDS, t.zipf.vocabulary);
}

static void run(struct wl *w)
{
    struct text t = text_of(w);
    text_place_lines(w, &t);
    const int lines = (int)t.lines;
    char *text = wl_input(w, "text", t.starts[t.lines], text_fill, &t);
    uint32_t *starts = wl_input(w, "line starts", (t.lines + 1) * 4, text_fill_starts, &t);
    const struct grouping g = grouping_new(w, t.lines, t.lines * WORDS, t.zipf.vocabulary);
    const struct wl_dim grid = wl_dim(wl_blocks(lines, BLOCK)), block = wl_dim(BLOCK);
    WL_LAUNCH(w, "wordcount_count", grid, block, text, starts, g.counts, lines);
    grouping_scan(w, g.counts, g.offsets, g.sums, lines);
    WL_LAUNCH(w, "wordcount_emit", grid, block, text, starts, g.offsets, g.pairs, lines);
    grouping_sort(w, &g, text);
    grouping_reduce(w, &g, text);

    wl_check_u32(w, &(struct wl_check){
                        .name = "counts", .output = g.counts, .count = t.lines, .reference = word_count});
    wl_check_u32(w, &(struct wl_check){
                        .name = "offsets", .output = g.offsets, .count = t.lines, .reference = word_offset});
    const struct grouping_check c = emitted(w, &t);
    grouping_check(w, &c, &g);
}

WORKLOAD(wordcount, .aliases = "wc", .suite = "Mars", .sharing = "low-sharing",
         .description = "MapReduce word count: scan lines, sort words, count groups", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
