/* Streams: the built-in ones are bit for bit the reference's, and every mistake in a file shows its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dram/dram_stream.h"
#include "dram_harness.h"

/* ---- SHA-256 (FIPS 180-4), for comparing with SHA256SUMS ---- */

struct sha {
    uint32_t h[8];
    unsigned char block[64];
    size_t used;
    uint64_t total;
};

static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha_block(struct sha *s)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 |
               (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, s->h, sizeof v);
    for (int i = 0; i < 64; i++) {
        const uint32_t a = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) +
                           ((v[4] & v[5]) ^ (~v[4] & v[6])) + sha_k[i] + w[i];
        const uint32_t b = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) +
                           ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += a;
        v[0] = a + b;
    }
    for (int i = 0; i < 8; i++) s->h[i] += v[i];
    s->used = 0;
}

static void sha_add(struct sha *s, const char *text, size_t len)
{
    s->total += len;
    for (size_t i = 0; i < len; i++) {
        s->block[s->used++] = (unsigned char)text[i];
        if (s->used == 64) sha_block(s);
    }
}

static void sha_end(struct sha *s, char hex[65])
{
    const uint64_t bits = 8 * s->total;
    sha_add(s, "\x80", 1);
    while (s->used != 56) sha_add(s, "", 1);
    for (int i = 7; i >= 0; i--) s->block[s->used++] = (unsigned char)(bits >> (8 * i));
    sha_block(s);
    for (int i = 0; i < 8; i++) snprintf(hex + 8 * i, 9, "%08x", s->h[i]);
}

#define SHA_START \
    { \
        {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, \
            {0}, 0, 0 \
    }

DRAM_TEST(the_built_in_streams_are_the_reference_streams_bit_for_bit)
{
    FILE *f = fopen("tests/reference/hbm/SHA256SUMS", "r");
    if (!f) fail_msg("no SHA256SUMS: run from the root of the repository");
    const struct dram_spec spec = harness_spec("hbm-a", "");
    char line[200], want[65], name[100];
    int checked = 0;
    while (fgets(line, sizeof line, f)) {
        assert_int_equal(sscanf(line, "%64s %99[^.]", want, name), 2);
        struct arena a;
        arena_init(&a);
        const struct dram_stream s = dram_stream_make(&a, name, 65536, &spec);
        struct sha sha = SHA_START;
        int len =
            snprintf(line, sizeof line, "# %s n=65536 seed=12345  fields: OP RANK BG BANK ROW COL\n", name);
        sha_add(&sha, line, (size_t)len);
        for (size_t i = 0; i < s.count; i++) {
            const struct dram_stream_op *o = &s.ops[i];
            len = snprintf(line, sizeof line, "%c 0 %d %d %u %d\n", o->kind == DRAM_READ ? 'R' : 'W',
                           o->bank / 4, o->bank % 4, o->row, o->column);
            sha_add(&sha, line, (size_t)len);
        }
        char got[65];
        sha_end(&sha, got);
        if (strcmp(got, want)) fail_msg("%s: %s instead of %s", name, got, want);
        arena_free(&a);
        checked++;
    }
    fclose(f);
    assert_int_equal(checked, 15);
}

/* ---- files ---- */

DRAM_TEST(a_stream_file_is_read_as_it_is_written)
{
    static const char text[] =
        "# a comment\r\nR 0 0 0 5 0\r\n\n  W 0 3 3 16383 31   # at its ends\nR 0 1 2 7 9";
    const struct dram_spec spec = harness_spec("hbm-a", "");
    struct arena a;
    arena_init(&a);
    const struct dram_stream s = dram_stream_parse(&a, "x", text, sizeof text - 1, &spec);
    assert_int_equal(s.count, 3);
    assert_true(s.ops[0].kind == DRAM_READ && s.ops[0].bank == 0 && s.ops[0].row == 5 &&
                s.ops[0].column == 0);
    assert_true(s.ops[1].kind == DRAM_WRITE && s.ops[1].bank == 15 && s.ops[1].row == 16383 &&
                s.ops[1].column == 31);
    assert_true(s.ops[2].bank == 6 && s.ops[2].column == 9);
    arena_free(&a);
}

struct attempt {
    struct arena arena;
    struct dram_spec spec;
    const char *text;
};

static void parse(void *arg)
{
    struct attempt *t = arg;
    t->spec = harness_spec("hbm-a", "");
    (void)dram_stream_parse(&t->arena, "s.txt", t->text, strlen(t->text), &t->spec);
}

static void mistakes_show_file_line_column_and_a_caret(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"R 0 0 0 5 0\nQ 0 0 0 5 0\n", "s.txt:2:1: a request starts with R or W"},
        {"READ 0 0 0 5 0\n", "s.txt:1:1: a request starts with R or W"},
        {"R 0 0 9 5 0\n", "s.txt:1:7: the channel has 3 as its last bank"},
        {"R 0 0 0 16384 0\n", "s.txt:1:9: the channel has 16383 as its last row"},
        {"R 0 0 0 5 32\n", "s.txt:1:11: the channel has 31 as its last column"},
        {"R 0 0 0 5x 0\n", "s.txt:1:9: the row must be a whole number"},
        {"R 0 0 0\n", "s.txt:1:8: the line ends before its row"},
        {"R 0 0 0 5 0 0\n", "s.txt:1:13: more than six fields"},
        {"#\n", "the stream holds no request"},
        {"", "the stream holds no request"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attempt t = {.text = cases[i].text};
        arena_init(&t.arena);
        struct diag d;
        diag_init(&d);
        assert_int_equal(diag_run(&d, parse, &t), DIAG_MISTAKE);
        if (!strstr(d.text, cases[i].message)) fail_msg("'%s' not in: %s", cases[i].message, d.text);
        if (cases[i].text[0] && cases[i].text[0] != '#') assert_non_null(strchr(d.text, '^'));
        diag_clear(&d);
        arena_free(&t.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_built_in_streams_are_the_reference_streams_bit_for_bit),
        cmocka_unit_test(a_stream_file_is_read_as_it_is_written),
        cmocka_unit_test(mistakes_show_file_line_column_and_a_caret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
