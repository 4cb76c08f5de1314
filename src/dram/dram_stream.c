/* dram_stream: reading streams; see dram_stream.h for the format. */
#include "dram/dram_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/diag.h"

struct reader {
    const struct diag_source *source;
    const struct dram_spec *spec;
    const char *at, *end, *line_start;
    uint32_t line;
};

static struct diag_place place(const struct reader *r, const char *from, const char *to)
{
    return (struct diag_place){.source = r->source,
                               .line = r->line,
                               .col = (uint32_t)(from - r->line_start) + 1,
                               .width = to > from ? (uint32_t)(to - from) : 1};
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) r->at++;
}

static bool at_line_end(const struct reader *r) { return r->at == r->end || *r->at == '\n' || *r->at == '#'; }

static const char *word_end(const struct reader *r)
{
    const char *to = r->at;
    while (to < r->end && !strchr(" \t\r\n", *to)) to++;
    return to;
}

static uint32_t number(struct reader *r, const char *what, uint32_t limit)
{
    skip_blanks(r);
    if (at_line_end(r))
        diag_mistake_at(place(r, r->at, r->at),
                        "the line ends before its %s (expected `OP RANK BG BANK ROW COL`)", what);
    const char *from = r->at, *to = word_end(r);
    uint64_t value = 0;
    for (const char *c = from; c < to; c++) {
        if (*c < '0' || *c > '9') diag_mistake_at(place(r, from, to), "the %s must be a whole number", what);
        if (value < UINT32_MAX) value = value * 10 + (uint64_t)(*c - '0');
    }
    if (value >= limit)
        diag_mistake_at(place(r, from, to), "the channel has %u as its last %s", limit - 1, what);
    r->at = to;
    return (uint32_t)value;
}

static enum dram_kind operation(struct reader *r)
{
    const char *to = word_end(r);
    if (to != r->at + 1 || (*r->at != 'R' && *r->at != 'W'))
        diag_mistake_at(place(r, r->at, to), "a request starts with R or W (`OP RANK BG BANK ROW COL`)");
    return *r->at++ == 'R' ? DRAM_READ : DRAM_WRITE;
}

static struct dram_stream_op request(struct reader *r)
{
    struct dram_stream_op o = {.kind = (uint8_t)operation(r)};
    (void)number(r, "rank", 1);
    const uint32_t group = number(r, "bank group", r->spec->bank_groups);
    const uint32_t bank = number(r, "bank", r->spec->banks_per_group);
    o.bank = (uint8_t)(group * r->spec->banks_per_group + bank);
    o.row = number(r, "row", r->spec->rows);
    o.column = (uint16_t)number(r, "column", r->spec->columns);
    skip_blanks(r);
    if (!at_line_end(r)) diag_mistake_at(place(r, r->at, word_end(r)), "more than six fields");
    return o;
}

static void to_next_line(struct reader *r)
{
    while (r->at < r->end && *r->at != '\n') r->at++;
    if (r->at < r->end) r->at++;
    r->line_start = r->at;
    r->line++;
}

struct dram_stream dram_stream_parse(struct arena *a, const char *name, const char *text, size_t len_bytes,
                                     const struct dram_spec *spec)
{
    struct diag_source *source = ARENA_NEW(a, struct diag_source);
    *source = (struct diag_source){.name = arena_strdup(a, name), .text = text, .len_bytes = len_bytes};
    size_t lines = 1;
    for (size_t i = 0; i < len_bytes; i++) lines += text[i] == '\n';
    struct dram_stream s = {.name = source->name, .ops = ARENA_ARRAY(a, struct dram_stream_op, lines)};
    struct reader r = {
        .source = source, .spec = spec, .at = text, .end = text + len_bytes, .line_start = text, .line = 1};
    while (r.at < r.end) {
        skip_blanks(&r);
        if (!at_line_end(&r)) s.ops[s.count++] = request(&r);
        to_next_line(&r);
    }
    if (!s.count) diag_mistake_at((struct diag_place){.source = source}, "the stream holds no request");
    return s;
}

struct text {
    gzFile file;
    char *bytes;
};

static void release(void *arg)
{
    struct text *t = arg;
    if (t->file) gzclose(t->file);
    free(t->bytes);
}

struct dram_stream dram_stream_read(struct arena *a, const char *path, const struct dram_spec *spec)
{
    struct text t = {.file = gzopen(path, "rb")};
    if (!t.file)
        diag_mistake("cannot open the stream '%s': %s", path, errno ? strerror(errno) : "out of memory");
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, release, &t);
    size_t len = 0, room = 0;
    for (;;) {
        if (len == room) {
            room = room ? 2 * room : 1 << 16;
            char *bytes = realloc(t.bytes, room);
            if (!bytes) diag_mistake("out of host memory while reading '%s'", path);
            t.bytes = bytes;
        }
        const int got =
            gzread(t.file, t.bytes + len, (unsigned)(room - len > 1 << 20 ? 1 << 20 : room - len));
        int status;
        const char *fault = gzerror(t.file, &status);
        if (got < 0 || (got == 0 && status == Z_BUF_ERROR)) {
            const char *what = status == Z_ERRNO       ? strerror(errno)
                               : status == Z_BUF_ERROR ? "the file is cut short"
                                                       : fault;
            diag_mistake("cannot read the stream '%s': %s", path, what);
        }
        if (!got) break;
        len += (size_t)got;
    }
    struct dram_stream s = dram_stream_parse(a, path, t.bytes, len, spec);
    diag_done(&cleanup, true);
    return s;
}
