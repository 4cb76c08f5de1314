/* runtime_testbed: fixture of the tests of exec/ and runtime/: runs a PTX text on two buffers without
 * timing, and compares results or messages. */
#ifndef ATOLL_TESTS_RUNTIME_TESTBED_H
#define ATOLL_TESTS_RUNTIME_TESTBED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "runtime/runtime.h"

/* .block = {32} leaves y and z at 0, and bed_body() sets them to 1. clang warns about the missing
 * initialisers. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define PTX_HEAD ".version 7.8\n.target sm_80\n.address_size 64\n"
/* Begin of a kernel k(u64 p0, u64 p1): %rd1, %rd2 = arguments, %r1 = thread in the block. */
#define KERNEL_BEGIN \
    ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n" \
    ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<64>;\n.reg .f32 %f<32>;\n" \
    ".reg .b64 %rd<32>;\n.reg .f64 %fd<16>;\n" \
    "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\n" \
    "mov.u32 %r1, %tid.x;\n"
#define KERNEL_END "ret;\n}\n"
/* Computes %rd3 = p0 + 4 * thread of the grid. */
#define OUT32 \
    "mov.u32 %r60, %ctaid.x;\nmov.u32 %r61, %ntid.x;\n" \
    "mad.lo.s32 %r62, %r60, %r61, %r1;\nmul.wide.u32 %rd30, %r62, 4;\n" \
    "add.s64 %rd3, %rd1, %rd30;\n"

struct bed {
    const char *ptx;
    const char *kernel; /* NULL: "k" */
    struct rt_options options;
    struct rt_dim grid, block; /* 0 means 1 */
    uint32_t shared_bytes;
    bool cooperative;
    uint32_t structure_bytes;     /* size of the second parameter if it is a structure (zeros); 0: a buffer */
    uint64_t out_words, in_words; /* sizes of the buffers p0 and p1; 0 means 1024 */
    void (*fill)(uint32_t *out, uint32_t *in); /* called before the launch; NULL: none */
    void (*check)(struct bed *b); /* called after the launch, before the runtime is destroyed; NULL: none */
    /* results */
    struct rt_context *rt;
    uint32_t *out, *in;
    struct diag diag;
    enum diag_kind kind;
    struct rt_totals totals;
    uint64_t races;
    char text[8192];     /* output of the kernel; with racecheck: the race report */
    uint32_t copy[4096]; /* first words of out */
};

static inline void bed_body(void *arg)
{
    struct bed *b = arg;
    b->rt = rt_create(&b->options);
    struct rt_module *m = rt_module_load(b->rt, "test.ptx", b->ptx, strlen(b->ptx));
    struct rt_kernel *k = rt_kernel_find(m, b->kernel ? b->kernel : "k");
    b->out = rt_alloc(b->rt, 4 * b->out_words, "out");
    b->in = rt_alloc(b->rt, 4 * b->in_words, "in");
    if (b->fill) b->fill(b->out, b->in);
    struct rt_dim *d[2] = {&b->grid, &b->block};
    for (int n = 0; n < 2; n++) {
        if (!d[n]->x) d[n]->x = 1;
        if (!d[n]->y) d[n]->y = 1;
        if (!d[n]->z) d[n]->z = 1;
    }
    static const uint8_t zeros[256];
    const void *args[] = {&b->out, b->structure_bytes ? (const void *)zeros : (const void *)&b->in};
    rt_launch(b->rt, &(struct rt_launch){.kernel = k,
                                         .grid = b->grid,
                                         .block = b->block,
                                         .dynamic_shared_bytes = b->shared_bytes,
                                         .cooperative = b->cooperative,
                                         .args = args,
                                         .arg_count = 2});
    rt_wait(b->rt);
    if (b->check) b->check(b);
}

/* Runs the kernel. `copy`, `text`, `totals`, `races`, `kind` and `diag` then hold the results. */
static inline void bed_run(struct bed *b)
{
    if (!b->out_words) b->out_words = 1024;
    if (!b->in_words) b->in_words = 1024;
    diag_init(&b->diag);
    b->kind = diag_run(&b->diag, bed_body, b);
    if (b->rt) {
        size_t len;
        const char *text = rt_output(b->rt, &len);
        snprintf(b->text, sizeof b->text, "%s", text);
        b->races = rt_races(b->rt);
        if (b->options.racecheck) snprintf(b->text, sizeof b->text, "%s", rt_race_report(b->rt));
        b->totals = rt_totals(b->rt);
        if (b->out) memcpy(b->copy, b->out, 4 * (b->out_words < 4096 ? b->out_words : 4096));
    }
    rt_destroy(b->rt);
    b->rt = NULL;
}

static inline void bed_expect_ok(struct bed *b)
{
    bed_run(b);
    if (b->kind != DIAG_NONE) fail_msg("%s", b->diag.text);
    diag_clear(&b->diag);
}

/* Expects a user error whose message contains every part. */
static inline void bed_expect_mistake(struct bed *b, const char *const *parts)
{
    bed_run(b);
    assert_int_equal(b->kind, DIAG_MISTAKE);
    for (; *parts; parts++)
        if (!strstr(b->diag.text, *parts)) fail_msg("no '%s' in:\n%s", *parts, b->diag.text);
    diag_clear(&b->diag);
}
#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
