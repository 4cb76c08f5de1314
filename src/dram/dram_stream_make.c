/* dram_stream_make: the reference patterns by rule (tests compare them with the published checksums).
 *
 * Random numbers are splitmix64 seeded with 12345 + the number of the stream, upper halves of each draw. */
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/rng.h"
#include "dram/dram_stream.h"

enum { GROUPS = 4, BANKS = 4, ROWS = 16384, COLUMNS = 32, SEED = 12345 };

struct maker {
    uint64_t rng;
    uint32_t held; /* the line whose second half comes next */
    bool held_write;
};

static uint32_t draw(struct maker *m) { return (uint32_t)(rng_splitmix(&m->rng) >> 32); }

static struct dram_stream_op op(bool write, uint64_t group, uint64_t bank, uint64_t row, uint64_t column)
{
    return (struct dram_stream_op){.row = (uint32_t)(row % ROWS),
                                   .column = (uint16_t)column,
                                   .bank = (uint8_t)(group * BANKS + bank),
                                   .kind = write ? DRAM_WRITE : DRAM_READ};
}

/* column fastest, then bank group, bank, row */
static struct dram_stream_op column_first(bool write, uint64_t i)
{
    return op(write, i >> 5 & 3, i >> 7 & 3, i >> 9, i & 31);
}

/* bank group fastest, then column, bank, row */
static struct dram_stream_op group_first(bool write, uint64_t i)
{
    return op(write, i & 3, i >> 7 & 3, i >> 9, i >> 2 & 31);
}

static struct dram_stream_op s1_seq_rd(struct maker *m, uint64_t i)
{
    return (void)m, column_first(false, i);
}
static struct dram_stream_op s1b_seq_rd_bgfast(struct maker *m, uint64_t i)
{
    return (void)m, group_first(false, i);
}
static struct dram_stream_op s2_seq_rw21(struct maker *m, uint64_t i)
{
    return (void)m, column_first(i % 3 == 2, i);
}
static struct dram_stream_op s2b_seq_rw21_bgfast(struct maker *m, uint64_t i)
{
    return (void)m, group_first(i % 3 == 2, i);
}
static struct dram_stream_op s3_rand_rd(struct maker *m, uint64_t i)
{
    return (void)i, column_first(false, draw(m) & 0xfffff);
}
static struct dram_stream_op s4_rand_rw50(struct maker *m, uint64_t i)
{
    (void)i;
    const uint32_t v = draw(m);
    return column_first(v >> 31, v & 0xfffff);
}
static struct dram_stream_op s5_rowconflict(struct maker *m, uint64_t i)
{
    return (void)m, op(false, 0, 0, i, 0);
}
static struct dram_stream_op s6_bg_pingpong2(struct maker *m, uint64_t i)
{
    return (void)m, op(false, i & 1, i >> 1 & 3, 0, i >> 3 & 31);
}
static struct dram_stream_op s6b_bg_rr4(struct maker *m, uint64_t i)
{
    return (void)m, op(false, i & 3, i >> 2 & 3, 0, i >> 4 & 31);
}
static struct dram_stream_op s7_same_bg(struct maker *m, uint64_t i)
{
    return (void)m, op(false, 0, i & 3, 0, i >> 2 & 31);
}
static struct dram_stream_op s8_4streams_aligned(struct maker *m, uint64_t i)
{
    struct dram_stream_op o = column_first(false, i >> 2);
    o.row = (uint32_t)((o.row + 512 * (i & 3)) % ROWS);
    return (void)m, o;
}
static struct dram_stream_op s8b_4streams_staggered(struct maker *m, uint64_t i)
{
    struct dram_stream_op o = column_first(false, (i >> 2) + 32 * (i & 3));
    o.row = (uint32_t)((o.row + 512 * (i & 3)) % ROWS);
    return (void)m, o;
}
static struct dram_stream_op s9_rand128_rd(struct maker *m, uint64_t i)
{
    if (i % 2 == 0) m->held = draw(m) & 0xffffe;
    return column_first(false, m->held | (i & 1));
}
static struct dram_stream_op s10_rand128_rw21(struct maker *m, uint64_t i)
{
    if (i % 2 == 0) {
        const uint32_t v = draw(m);
        m->held = v & 0xffffe;
        m->held_write = (v >> 20) % 3 == 2;
    }
    return column_first(m->held_write, m->held | (i & 1));
}
static struct dram_stream_op s11_seq_wr(struct maker *m, uint64_t i)
{
    return (void)m, column_first(true, i);
}

#define STREAM(name, help) #name,
const char *const dram_stream_names[] = {
#include "dram/dram_streams.def"
    NULL};
#undef STREAM
#define STREAM(name, help) help,
const char *const dram_stream_helps[] = {
#include "dram/dram_streams.def"
    NULL};
#undef STREAM

static struct dram_stream_op (*const makers[])(struct maker *, uint64_t) = {
#define STREAM(name, help) name,
#include "dram/dram_streams.def"
#undef STREAM
};

enum { STREAM_COUNT = sizeof makers / sizeof *makers };

/* The number in the name seeds its random numbers: s10_... > 10. */
static uint64_t number_of(const char *name)
{
    uint64_t n = 0;
    for (const char *c = name + 1; *c >= '0' && *c <= '9'; c++) n = n * 10 + (uint64_t)(*c - '0');
    return n;
}

struct dram_stream dram_stream_make(struct arena *a, const char *name, size_t count,
                                    const struct dram_spec *spec)
{
    size_t which = 0;
    while (which < STREAM_COUNT && strcmp(dram_stream_names[which], name)) which++;
    if (which == STREAM_COUNT) {
        const char *near = diag_nearest(name, dram_stream_names, STREAM_COUNT);
        if (near) diag_mistake("no built-in stream '%s'; did you mean '%s'?", name, near);
        char all[400] = "";
        size_t len = 0;
        for (size_t i = 0; i < STREAM_COUNT && len < sizeof all; i++)
            len += (size_t)snprintf(all + len, sizeof all - len, " %s", dram_stream_names[i]);
        diag_mistake("no built-in stream '%s'; there are%s", name, all);
    }
    if (spec->bank_groups < GROUPS || spec->banks_per_group != BANKS || spec->rows < ROWS ||
        spec->columns < COLUMNS)
        diag_mistake("the built-in streams need at least 4 bank groups of 4 banks, 16384 rows, 32 columns");
    struct maker m = {.rng = SEED + number_of(name)};
    struct dram_stream s = {.name = dram_stream_names[which], .count = count};
    s.ops = ARENA_ARRAY(a, struct dram_stream_op, count);
    for (size_t i = 0; i < count; i++) s.ops[i] = makers[which](&m, i);
    return s;
}
