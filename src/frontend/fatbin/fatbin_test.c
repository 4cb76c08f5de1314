/* Fat binaries: choosing, unpacking, and bytes that are not what they claim to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lz4.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/diag.h"
#include "frontend/fatbin/fatbin.h"

enum packing { PLAIN, ZSTD, LZ4 };

struct box {
    uint8_t bytes[8192];
    size_t len;
};

static void put16(struct box *b, size_t at, uint16_t v) { memcpy(b->bytes + at, &v, sizeof v); }
static void put32(struct box *b, size_t at, uint32_t v) { memcpy(b->bytes + at, &v, sizeof v); }
static void put64(struct box *b, size_t at, uint64_t v) { memcpy(b->bytes + at, &v, sizeof v); }

static void begin(struct box *b)
{
    memset(b, 0, sizeof *b);
    put32(b, 0, 0xBA55ED50);
    put16(b, 4, 1);
    put16(b, 6, 16);
    b->len = 16;
}

static void add(struct box *b, uint16_t kind, uint32_t arch, const char *text, enum packing packing)
{
    const size_t at = b->len, header = 64 + 16, bytes = strlen(text) + 1;
    uint8_t *payload = b->bytes + at + header;
    size_t stored = bytes;
    if (packing == ZSTD) stored = ZSTD_compress(payload, 2048, text, bytes, 3);
    if (packing == LZ4) stored = (size_t)LZ4_compress_default(text, (char *)payload, (int)bytes, 2048);
    if (packing == PLAIN) memcpy(payload, text, bytes);
    const size_t padded = (stored + 7) / 8 * 8;
    put16(b, at, kind);
    put16(b, at + 2, 0x0101);
    put32(b, at + 4, (uint32_t)header);
    put64(b, at + 8, padded);
    put32(b, at + 16, packing == PLAIN ? 0 : (uint32_t)stored);
    put32(b, at + 28, arch);
    put32(b, at + 32, 64);
    put32(b, at + 36, 4);
    put64(b, at + 40, packing == ZSTD ? 0x8011 : packing == LZ4 ? 0x2011 : 0x11);
    put64(b, at + 56, packing == PLAIN ? 0 : bytes);
    memcpy(b->bytes + at + 64, "name", 4);
    b->len += header + padded;
    put64(b, 8, b->len - 16);
}

struct choice {
    const struct box *box;
    size_t bytes;
    uint32_t arch;
    char text[256], name[16];
    uint32_t chosen;
    bool found;
};

static void choose_body(void *arg)
{
    struct choice *c = arg;
    struct arena arena;
    struct diag_cleanup cleanup;
    arena_init(&arena);
    diag_defer(&cleanup, (void (*)(void *))arena_free, &arena);
    const struct fatbin_text t = fatbin_choose(&arena, "k", c->box->bytes, c->bytes, c->arch);
    c->found = t.text;
    c->chosen = t.arch;
    if (t.text) {
        assert_int_equal(strlen(t.text), t.len);
        (void)snprintf(c->text, sizeof c->text, "%s", t.text);
    }
    if (t.name) (void)snprintf(c->name, sizeof c->name, "%s", t.name);
    diag_done(&cleanup, true);
}

/* The message, or NULL when it could be read. */
static const char *choose(struct choice *c)
{
    static char message[512];
    struct diag d;
    diag_init(&d);
    const enum diag_kind kind = diag_run(&d, choose_body, c);
    (void)snprintf(message, sizeof message, "%s", d.text ? d.text : "");
    diag_clear(&d);
    assert_true(kind == DIAG_NONE || kind == DIAG_MISTAKE);
    return kind == DIAG_NONE ? NULL : message;
}

static void every_packing_gives_the_text(void **state)
{
    (void)state;
    for (int packing = PLAIN; packing <= LZ4; packing++) {
        struct box b;
        begin(&b);
        add(&b, 1, 75, ".version 7.0 .version 7.0 .version 7.0 and so on", (enum packing)packing);
        struct choice c = {.box = &b, .bytes = b.len, .arch = 80};
        assert_true(fatbin_is(b.bytes, b.len));
        assert_int_equal(fatbin_bytes(b.bytes), b.len);
        assert_true(fatbin_has_ptx(b.bytes, b.len));
        assert_null(choose(&c));
        assert_string_equal(c.text, ".version 7.0 .version 7.0 .version 7.0 and so on");
        assert_string_equal(c.name, "name");
    }
}

static void the_architecture_that_fits_best_is_taken(void **state)
{
    static const struct {
        uint32_t machine, taken;
    } rows[] = {{70, 75}, {75, 75}, {80, 75}, {86, 86}, {89, 86}, {90, 90}, {200, 90}};
    (void)state;
    struct box b;
    begin(&b);
    add(&b, 2, 80, "cubin", PLAIN);
    add(&b, 1, 90, "p90", PLAIN);
    add(&b, 1, 75, "p75", ZSTD);
    add(&b, 1, 86, "p86", PLAIN);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct choice c = {.box = &b, .bytes = b.len, .arch = rows[i].machine};
        assert_null(choose(&c));
        assert_int_equal(c.chosen, rows[i].taken);
    }
}

static void machine_code_alone_is_explained_and_nothing_is_nothing(void **state)
{
    (void)state;
    struct box b;
    begin(&b);
    struct choice none = {.box = &b, .bytes = b.len, .arch = 80};
    assert_null(choose(&none));
    assert_false(none.found);
    add(&b, 2, 86, "cubin", PLAIN);
    struct choice c = {.box = &b, .bytes = b.len, .arch = 80};
    assert_non_null(strstr(choose(&c), "arch=compute_86,code=compute_86"));
    assert_false(fatbin_has_ptx(b.bytes, b.len));
}

/* Every prefix is refused, and none is read beyond its end (the copy is exactly as long). */
static void a_cut_file_is_a_mistake_at_every_length(void **state)
{
    (void)state;
    struct box b;
    begin(&b);
    add(&b, 2, 75, "cubin", PLAIN);
    add(&b, 1, 75, ".version 7.0 .target sm_75", LZ4);
    for (size_t len = 0; len < b.len; len++) {
        struct box *cut = malloc(len ? len : 1);
        memcpy(cut, &b, len);
        struct choice c = {.box = cut, .bytes = len, .arch = 80};
        assert_non_null(strstr(choose(&c), "broken"));
        free(cut);
    }
}

static void wrong_sizes_are_mistakes(void **state)
{
    static const struct {
        size_t offset;
        uint64_t value;
    } rows[] = {{16 + 8, UINT64_MAX},  {16 + 8, 1 << 20}, {16 + 4, 8},
                {16 + 56, UINT64_MAX}, {16 + 56, 3},      {16 + 16, 5}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct box b;
        begin(&b);
        add(&b, 1, 75, ".version 7.0 .version 7.0 .version 7.0", ZSTD);
        if (rows[i].offset == 16 + 4 || rows[i].offset == 16 + 16)
            put32(&b, rows[i].offset, (uint32_t)rows[i].value);
        else
            put64(&b, rows[i].offset, rows[i].value);
        struct choice c = {.box = &b, .bytes = b.len, .arch = 80};
        assert_non_null(choose(&c));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_packing_gives_the_text),
        cmocka_unit_test(the_architecture_that_fits_best_is_taken),
        cmocka_unit_test(machine_code_alone_is_explained_and_nothing_is_nothing),
        cmocka_unit_test(a_cut_file_is_a_mistake_at_every_length),
        cmocka_unit_test(wrong_sizes_are_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
