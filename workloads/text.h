/* text: lines of words with the statistics of language, for host scripts: the word of rank r comes up in
 * proportion to 1/r (Zipf), and frequent words are short. Every line is a function of (seed, line); only the
 * starts of lines are stored. */
#ifndef ATOLL_WORKLOADS_TEXT_H
#define ATOLL_WORKLOADS_TEXT_H

#include "workload.h"

enum { TEXT_CLASSES = 4, TEXT_WORD_MOST = 3 * TEXT_CLASSES, TEXT_LINE_MOST = 512 };

/* Words are numbered; those of class c = 1 .. 4 (26, 676, ... numbers) have 3c - 1 letters: c digits of base
 * 26, which make the word unique, and more that only make it longer. */
static inline uint32_t text_class(uint64_t number)
{
    return number < 26 ? 1 : number < 702 ? 2 : number < 18278 ? 3 : 4;
}
static inline uint32_t text_letters(uint64_t number) { return 3 * text_class(number) - 1; }

static inline uint32_t text_spell(uint64_t number, char *to)
{
    static const uint64_t base[TEXT_CLASSES + 1] = {0, 0, 26, 702, 18278};
    const uint32_t c = text_class(number), letters = text_letters(number);
    const uint64_t more = wl_u64(77, number);
    uint64_t digits = number - base[c];
    for (uint32_t k = 0; k < letters; k++) {
        to[k] = (char)('a' + (k < c ? digits % 26 : (more >> (5 * k)) % 26));
        digits /= 26;
    }
    return letters;
}

/* A rank below 'vocabulary' by Zipf's law: exp(u log(vocabulary + 1)) - 1, u uniform. */
struct zipf {
    double log_size;
    uint64_t vocabulary, limits[TEXT_CLASSES]; /* draws below limits[c] give a rank of class c + 1 or less */
};

static inline struct zipf zipf_of(uint64_t vocabulary)
{
    static const double ends[TEXT_CLASSES - 1] = {26, 702, 18278};
    struct zipf z = {.log_size = log((double)vocabulary + 1), .vocabulary = vocabulary};
    for (int c = 0; c < TEXT_CLASSES; c++) {
        const double u = c < TEXT_CLASSES - 1 ? log(ends[c] + 1) / z.log_size : 1;
        z.limits[c] = u < 1 ? (uint64_t)(u * 0x1p64) : UINT64_MAX;
    }
    return z;
}

static inline uint32_t zipf_class(const struct zipf *z, uint64_t draw)
{
    uint32_t c = 0;
    while (c < TEXT_CLASSES - 1 && draw >= z->limits[c]) c++;
    return c + 1;
}

/* In the class that zipf_class() says, whatever rounding does. */
static inline uint64_t zipf_rank(const struct zipf *z, uint64_t draw)
{
    static const uint64_t first[TEXT_CLASSES + 2] = {0, 0, 26, 702, 18278, UINT64_MAX};
    const uint32_t c = zipf_class(z, draw);
    uint64_t rank = (uint64_t)(exp((double)draw * 0x1p-64 * z->log_size) - 1), last = first[c + 1] - 1;
    if (last > z->vocabulary - 1) last = z->vocabulary - 1;
    if (rank < first[c]) rank = first[c];
    return rank < last ? rank : last;
}

/* Lines one after the other. The kind of text gives their length and their bytes. */
struct text {
    uint64_t seed, lines, words; /* words: of a line */
    struct zipf zipf;
    uint32_t (*length)(const struct text *t, uint64_t line);
    void (*write)(const struct text *t, uint64_t line, char *to); /* at most TEXT_LINE_MOST bytes */
    uint32_t *starts;                                             /* lines + 1; from wl_scratch() */
};

/* Plain lines: words with blanks between, then the end of the line. */
static inline uint64_t text_draw(const struct text *t, uint64_t line, uint64_t word)
{
    return wl_u64(t->seed, line * t->words + word);
}
static inline uint32_t text_plain_length(const struct text *t, uint64_t line)
{
    uint32_t bytes = 0;
    for (uint64_t k = 0; k < t->words; k++) bytes += 3 * zipf_class(&t->zipf, text_draw(t, line, k));
    return bytes;
}
static inline void text_plain_write(const struct text *t, uint64_t line, char *to)
{
    for (uint64_t k = 0; k < t->words; k++) {
        to += text_spell(zipf_rank(&t->zipf, text_draw(t, line, k)), to);
        *to++ = k + 1 < t->words ? ' ' : '\n';
    }
}

static inline uint64_t text_bytes(const struct text *t)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < t->lines; i++) bytes += t->length(t, i);
    return bytes;
}

static inline void text_place_lines(struct wl *w, struct text *t)
{
    t->starts = wl_scratch(w, (t->lines + 1) * 4);
    for (uint64_t i = 0; i < t->lines; i++) t->starts[i + 1] = t->starts[i] + t->length(t, i);
}

/* Fills of the bytes and of the starts; arg is the text. */
static inline void text_fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct text *t = arg;
    uint64_t line = 0, beyond = t->lines;
    while (line + 1 < beyond) { /* the last line that starts at or before 'first' */
        const uint64_t mid = (line + beyond) / 2;
        if (t->starts[mid] <= first)
            line = mid;
        else
            beyond = mid;
    }
    char buffer[TEXT_LINE_MOST];
    for (; line < t->lines && t->starts[line] < first + bytes; line++) {
        t->write(t, line, buffer);
        for (uint64_t k = t->starts[line]; k < t->starts[line + 1]; k++)
            if (k >= first && k < first + bytes) ((char *)to)[k - first] = buffer[k - t->starts[line]];
    }
}
static inline void text_fill_starts(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    __builtin_memcpy(to, (const char *)((const struct text *)arg)->starts + first, bytes);
}

#endif
