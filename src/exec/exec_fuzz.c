/* Random small kernels: any bytes become a PTX kernel with arithmetic, memory (in and out of bounds),
 * branches forward and backward, calls direct, indirect and recursive, barriers and warp operations. It must
 * run to an end (done, the user's mistake, or the instruction limit) without harm. Two oracles:
 *   - the plain and the vector paths agree to the bit: memory, counts, and message;
 *   - when no thread can see another, a thread alone computes what it computes among all others: divergence,
 *     masks and calls must not show. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "runtime/runtime.h"

enum { INSTRUCTIONS_MOST = 48, TEXT_MOST = 32768, WORDS = 256, LIMIT = 8000 };

struct source {
    const uint8_t *data;
    size_t size, at;
    uint64_t state; /* after the data: a random sequence that depends on them, so that short inputs are whole
                       kernels too */
};

static struct source source_of(const uint8_t *data, size_t size)
{
    struct source s = {.data = data, .size = size, .state = size + 1};
    for (size_t n = 0; n < size; n++) s.state = (s.state ^ data[n]) * 0x9e3779b97f4a7c15u;
    return s;
}

static uint32_t byte(struct source *s)
{
    if (s->at < s->size) return s->data[s->at++];
    s->state = s->state * 0x5851f42d4c957f2du + 0x14057b7ef767814fu;
    return (uint32_t)(s->state >> 56);
}

struct text {
    char at[TEXT_MOST];
    size_t len;
    bool alone; /* no thread can see what another did */
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->at + t->len, sizeof t->at - t->len, format, args);
    va_end(args);
    if (n > 0 && t->len + (size_t)n < sizeof t->at) t->len += (size_t)n;
}

static const char *pick(struct source *s, const char *const *rows, size_t count)
{
    return rows[byte(s) % count];
}
#define PICK(s, ...) \
    pick(s, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Registers: %r0-7 words, %q0-3 double words, %f0-3, %p0-3. */
static void arithmetic(struct text *t, struct source *s)
{
    const uint32_t d = byte(s) % 8, a = byte(s) % 8, b = byte(s) % 8, c = byte(s) % 8;
    switch (byte(s) % 10) {
    case 0:
        add(t, "%s %%r%u, %%r%u, %%r%u;\n",
            PICK(s, "add.u32", "sub.s32", "mul.lo.s32", "mul.hi.u32", "and.b32", "or.b32", "xor.b32",
                 "min.s32", "max.u32", "shl.b32", "shr.u32", "shr.s32", "div.u32", "rem.s32"),
            d, a, b);
        break;
    case 1:
        add(t, "%s %%r%u, %%r%u, %u;\n", PICK(s, "add.u32", "mul.lo.u32", "shl.b32", "shr.s32", "and.b32"), d,
            a, byte(s) << (byte(s) % 24));
        break;
    case 2:
        add(t, "%s %%r%u, %%r%u, %%r%u, %%r%u;\n",
            PICK(s, "mad.lo.s32", "mad.hi.u32", "prmt.b32", "shf.l.wrap.b32", "bfe.u32", "dp4a.s32.s32"), d,
            a, b, c);
        break;
    case 3:
        add(t, "%s %%q%u, %%q%u, %%q%u;\n", PICK(s, "add.u64", "sub.u64", "mul.lo.u64", "xor.b64", "max.s64"),
            d % 4, a % 4, b % 4);
        break;
    case 4:
        add(t, "%s %%f%u, %%f%u, %%f%u, %%f%u;\n", PICK(s, "fma.rn.f32", "fma.rz.ftz.f32", "fma.rp.f32"),
            d % 4, a % 4, b % 4, c % 4);
        break;
    case 5:
        add(t, "%s %%f%u, %%f%u;\n",
            PICK(s, "sqrt.rn.f32", "rcp.approx.f32", "ex2.approx.f32", "lg2.approx.f32", "sin.approx.f32",
                 "neg.f32", "abs.f32"),
            d % 4, a % 4);
        break;
    case 6:
        add(t, "%s %%p%u, %%r%u, %%r%u;\n",
            PICK(s, "setp.lt.s32", "setp.ge.u32", "setp.eq.u32", "setp.ne.u32"), d % 4, a, b);
        break;
    case 7: add(t, "selp.b32 %%r%u, %%r%u, %%r%u, %s%%p%u;\n", d, a, b, byte(s) & 1 ? "!" : "", c % 4); break;
    case 8:
        add(t, "%s;\n",
            PICK(s, "cvt.u64.u32 %q0, %r1", "cvt.s64.s32 %q1, %r2", "cvt.rn.f32.s32 %f0, %r3",
                 "cvt.rzi.s32.f32 %r4, %f1", "cvt.u32.u64 %r5, %q2", "mov.b64 %q3, {%r0, %r1}",
                 "mov.b64 {%r2, %r3}, %q1", "cvt.s8.s32 %r6, %r7", "popc.b32 %r0, %r1",
                 "add.cc.u32 %r1, %r2, %r3", "addc.u32 %r2, %r3, %r4"));
        break;
    default:
        add(t, "%s %%p%u, %%p%u, %%p%u;\n", PICK(s, "and.pred", "or.pred", "xor.pred"), d % 4, a % 4, b % 4);
        break;
    }
}

static void memory(struct text *t, struct source *s)
{
    const uint32_t d = byte(s) % 8, a = byte(s) % 8, guard = byte(s);
    /* Mostly inside the buffer; a wild address now and then. */
    add(t, "and.b32 %%t0, %%r%u, 248;\n", a);
    if (byte(s) % 32 == 0 && !t->alone) add(t, "mov.u32 %%t0, %%r%u;\n", a);
    add(t, "cvt.u64.u32 %%a0, %%t0;\nadd.u64 %%a1, %%in, %%a0;\nadd.u64 %%a2, %%out, %%a0;\n");
    if (guard % 3 == 0) add(t, "@%s%%p%u ", guard & 8 ? "!" : "", guard % 4);
    uint32_t kind = byte(s) % 12;
    if (t->alone && kind >= 5 && kind <= 8) kind -= 5;
    switch (kind) {
    case 0: add(t, "ld.global.u32 %%r%u, [%%a1];\n", d); break;
    case 1: add(t, "ld.global.u64 %%q%u, [%%a1+%u];\n", d % 4, byte(s) & 8); break;
    case 2:
        add(t, "ld.%s %%r%u, [%%a1];\n",
            PICK(s, "global.u8", "global.s16", "u32", "volatile.global.u32", "global.nc.s8"), d);
        break;
    case 3: add(t, "st.global.u32 [%%a2], %%r%u;\n", d); break;
    case 4: add(t, "st.global.v2.u32 [%%a2], {%%r%u, %%r%u};\n", d, a); break;
    case 5: add(t, "st.shared.u32 [%%t0], %%r%u;\n", d); break;
    case 6: add(t, "ld.shared.u32 %%r%u, [%%t0+%u];\n", d, byte(s) & 12); break;
    case 7:
        add(t, "atom.global.%s %%r%u, [%%a2], %%r%u;\n",
            PICK(s, "add.u32", "min.s32", "exch.b32", "xor.b32", "inc.u32"), d, a);
        break;
    case 8: add(t, "red.shared.add.u32 [%%t0], %%r%u;\n", d); break;
    case 9: add(t, "st.local.u32 [%%a0], %%r%u;\n", d); break;
    case 10: add(t, "ld.local.u32 %%r%u, [loc+%u];\n", d, byte(s) & 252); break;
    default: add(t, "ld.global.f32 %%f%u, [%%a1];\n", d % 4); break;
    }
}

/* Textures of a fixed image; surfaces of another one, which all threads see. */
static void images(struct text *t, struct source *s)
{
    const uint32_t d = byte(s) % 5, a = byte(s) % 4, b = byte(s) % 4, guard = byte(s);
    uint32_t kind = byte(s) % 8;
    if (t->alone && kind >= 4) kind -= 4;
    add(t, "and.b32 %%t0, %%r%u, %u;\nand.b32 %%t1, %%r%u, 15;\n", a, byte(s) % 16 ? 60 : 255, b);
    if (guard % 3 == 0) add(t, "@%s%%p%u ", guard & 8 ? "!" : "", guard % 4);
    switch (kind) {
    case 0:
        add(t, "tex.2d.v4.f32.f32 {%%f0, %%f1, %%f2, %%f3}, [%%%s, {%%f%u, %%f%u}];\n",
            PICK(s, "smooth", "plain"), a, b);
        break;
    case 1:
        add(t, "tex.2d.v4.u32.s32 {%%r%u, _, _, %%r%u}, [%%plain, {%%r%u, %%r%u}];\n", d, d + 1, a, b);
        break;
    case 2:
        add(t, "tld4.%s.2d.v4.f32.f32 {%%f%u, _, _, %%f%u}|%%p3, [%%smooth, {%%f%u, %%f%u}];\n",
            PICK(s, "r", "g", "b", "a"), a, b, b, a);
        break;
    case 3:
        add(t, "%s;\n",
            PICK(s, "txq.width.b32 %r0, [%smooth]", "txq.height.b32 %r1, [%plain]",
                 "suq.width.b32 %r2, [%surf]", "istypep.texref %p1, %surf", "txq.filter_mode.b32 %r3, [%q0]",
                 "tex.level.2d.v4.f32.f32 {%f0, %f1, _, _}, [%smooth, {%f2, 0.5}], %f3"));
        break;
    case 4:
    case 5:
        add(t, "suld.b.2d.%s, [%%surf, {%%t0, %%t1}];\n",
            PICK(s, "b32.trap {%r0}", "v2.b32.clamp {%r1, %r2}", "b8.zero {%r3}", "b32.zero {%r4}"));
        break;
    case 6:
        add(t, "sust.b.2d.%s;\n",
            PICK(s, "b32.trap [%surf, {%t0, %t1}], {%r0}", "b32.clamp [%surf, {%r1, %t1}], {%r2}",
                 "v2.b32.zero [%surf, {%t0, %r2}], {%r3, %r4}", "b8.zero [%surf, {%r5, %r6}], {%r7}"));
        break;
    default:
        add(t, "sured.b.%s [%%surf, {%%t0, %%t1}], %%r%u;\n",
            PICK(s, "add.2d.u32.trap", "min.2d.s32.clamp", "or.2d.b32.zero"), d);
        break;
    }
}

static void control(struct text *t, struct source *s, uint32_t count)
{
    const uint32_t target = byte(s) % (count + 1), guard = byte(s);
    uint32_t kind = byte(s) % 10;
    if (t->alone && kind >= 3 && kind <= 5) kind -= 3;
    switch (kind) {
    case 0:
    case 1:
    case 2: add(t, "@%s%%p%u bra L%u;\n", guard & 4 ? "!" : "", guard % 4, target); break;
    case 3: add(t, "bar.sync %u;\n", guard % 20 ? 0 : 1); break;
    case 4:
        add(t, "shfl.sync.%s.b32 %%r%u, %%r%u, %u, 31, 0xffffffff;\n", PICK(s, "idx", "up", "down", "bfly"),
            guard % 8, target % 8, byte(s) % 32);
        break;
    case 5: add(t, "vote.sync.ballot.b32 %%r%u, %%p%u, 0xffffffff;\n", guard % 8, target % 4); break;
    case 6: add(t, "@%%p%u %s;\n", guard % 4, PICK(s, "exit", "bar.warp.sync 0xffffffff", "ret")); break;
    case 7: add(t, "and.b32 %%t0, %%r%u, %u;\nbrx.idx %%t0, table;\n", guard % 8, guard % 16 ? 1 : 3); break;
    case 8:
        add(t, "@%s%%p%u call (%%r%u), count, (%%r%u);\n", guard & 4 ? "!" : "", guard % 4, target % 8,
            guard / 32);
        break;
    default:
        /* each lane its own function */
        add(t,
            "and.b32 %%t0, %%r%u, 1;\nmov.u64 %%a0, count;\nmov.u64 %%a1, turn;\nsetp.eq.u32 %%p%u, %%t0, "
            "0;\nselp.b64 %%a0, %%a0, %%a1, %%p%u;\ncall (%%r%u), %%a0, (%%r%u), shape;\n",
            guard % 8, guard / 64, guard / 64, target % 8, guard / 8 % 8);
        break;
    }
}

/* Room for what ends all threads but one: see check_alone(). */
#define ALONE "                                                  "

static void generate(struct text *t, struct source *s)
{
    const uint32_t count = byte(s) % INSTRUCTIONS_MOST;
    t->alone = byte(s) & 1;
    add(t,
        ".version 7.8\n.target sm_80\n.address_size 64\n.shared .align 8 .b8 sh[256];\n"
        /* count(x) = x % 8 == 0 ? x : count(x - 1) + 1, with a word of local memory; turn(x) = ~x */
        ".func (.reg .b32 y) count(.reg .b32 x)\n{\n.reg .pred %%p;\n.reg .b32 %%r<4>;\n.local .align 4 .b32 "
        "keep;\nst.local.u32 [keep], x;\nmov.b32 y, x;\nand.b32 %%r1, x, 7;\nsetp.eq.u32 %%p, %%r1, 0;\n@%%p "
        "ret;\nsub.u32 %%r2, x, 1;\ncall (%%r3), count, (%%r2);\nld.local.u32 %%r2, [keep];\nxor.b32 y, "
        "%%r3, "
        "%%r2;\nret;\n}\n"
        ".func (.reg .b32 y) turn(.reg .b32 x)\n{\nnot.b32 y, x;\nret;\n}\n"
        ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 "
        "p4)\n{\n.reg .pred %%p<4>;\n.reg .b32 %%r<8>;\n.reg "
        ".b32 %%t<4>;\n.reg .b64 %%q<4>;\n.reg .f32 %%f<4>;\n"
        ".reg .b64 %%a<4>;\n.reg .b64 %%in;\n.reg .b64 %%out;\n.reg .b64 %%smooth;\n.reg .b64 %%plain;\n.reg "
        ".b64 %%surf;\n.local .align 8 .b8 loc[256];\n"
        "shape: .callprototype (.reg .b32 _) _ (.reg .b32 _);\ntable: "
        ".branchtargets L0, L%u;\n"
        "ld.param.u64 %%out, [p0];\nld.param.u64 %%in, [p1];\nld.param.u64 %%smooth, [p2];\nld.param.u64 "
        "%%plain, [p3];\nld.param.u64 %%surf, [p4];\nmov.u32 %%r0, %%tid.x;\n" ALONE "\nmov.u32 %%r1, "
        "%u;\nmul.lo.u32 %%r2, %%r0, %u;\nmov.u32 %%r3, %%laneid;\nshl.b32 %%r4, %%r0, 2;\n"
        "mov.u32 %%r5, -1;\nmov.u32 %%r6, 0;\nmov.u32 %%r7, %%ctaid.x;\nmov.u64 %%q0, 1;\nmov.u64 %%q1, "
        "-1;\nmov.u64 %%q2, 7;\nmov.u64 %%q3, 0;\n"
        "cvt.rn.f32.u32 %%f0, %%r2;\nmov.f32 %%f1, 0f3FC00000;\nmov.f32 %%f2, 0f00000001;\nmov.f32 %%f3, "
        "0fFF800000;\n"
        "mov.u32 %%t3, sh;\nsetp.lt.u32 %%p0, %%r3, 9;\nsetp.eq.u32 %%p1, %%r0, 3;\nsetp.ge.u32 %%p2, %%r0, "
        "32;\nsetp.ne.u32 "
        "%%p3, %%r0, %%r0;\n",
        count, byte(s), 1 + byte(s));
    for (uint32_t n = 0; n < count; n++) {
        add(t, "L%u:\n", n);
        switch (byte(s) % 5) {
        case 0:
        case 1: arithmetic(t, s); break;
        case 2: memory(t, s); break;
        case 3: images(t, s); break;
        default: control(t, s, count); break;
        }
    }
    add(t,
        "L%u:\nmov.u32 %%t1, %%tid.x;\nmul.wide.u32 %%a0, %%t1, 4;\nadd.u64 %%a1, %%out, %%a0;\n"
        "xor.b32 %%r0, %%r0, %%r1;\nadd.u32 %%r0, %%r0, %%r2;\nxor.b32 %%r0, %%r0, %%r3;\nadd.u32 %%r0, "
        "%%r0, %%r4;\nxor.b32 %%r0, %%r0, %%r5;\nadd.u32 %%r0, %%r0, %%r6;\nxor.b32 %%r0, %%r0, %%r7;\n"
        "mov.b32 %%t2, %%f0;\nadd.u32 %%r0, %%r0, %%t2;\nmov.b32 %%t2, %%f1;\nxor.b32 %%r0, %%r0, "
        "%%t2;\ncvt.u32.u64 %%t2, %%q0;\nadd.u32 %%r0, %%r0, %%t2;\n"
        "st.global.u32 [%%a1+512], %%r0;\nret;\n}\n",
        count);
}

struct outcome {
    const char *ptx;
    enum rt_isa isa;
    struct rt_context *rt;
    uint32_t *out;
    enum diag_kind kind;
    struct diag diag;
};

/* smooth: fractions of bytes, filtered; plain: words; the third a surface. */
static void make_images(struct rt_context *rt, const uint32_t *in, uint64_t objects[3])
{
    const struct image_shape square = {.width = 16, .height = 16};
    const struct rt_box all = {0, 0, 0, 16, 16, 1};
    const struct image_format bytes = {IMAGE_UNSIGNED, 8, 4}, words = {IMAGE_UNSIGNED, 32, 1};
    struct image_array *a = rt_array_create(rt, &square, bytes, "bytes"),
                       *b = rt_array_create(rt, &square, words, "words");
    rt_array_write(rt, a, &all, in, 64, 0);
    rt_array_write(rt, b, &all, in, 64, 0);
    objects[0] =
        rt_texture_create(rt, &(struct image_texture){.array = a,
                                                      .filter = IMAGE_LINEAR,
                                                      .normalized_float = true,
                                                      .normalized_coords = true,
                                                      .address = {IMAGE_WRAP, IMAGE_MIRROR, IMAGE_CLAMP}});
    objects[1] = rt_texture_create(
        rt, &(struct image_texture){.array = b, .address = {IMAGE_BORDER, IMAGE_CLAMP, IMAGE_CLAMP}});
    objects[2] = rt_surface_create(rt, rt_array_create(rt, &square, words, "board"));
}

static void body(void *arg)
{
    struct outcome *o = arg;
    o->rt = rt_create(
        &(struct rt_options){.isa = o->isa, .max_instructions = LIMIT, .reserve_bytes = (uint64_t)1 << 30});
    struct rt_kernel *k = rt_kernel_find(rt_module_load(o->rt, "fuzz.ptx", o->ptx, strlen(o->ptx)), "k");
    o->out = rt_alloc(o->rt, 4 * WORDS, "out");
    uint32_t *in = rt_alloc(o->rt, 4 * WORDS, "in");
    for (uint32_t i = 0; i < WORDS; i++) in[i] = i * 0x9e3779b9u;
    uint64_t objects[3];
    make_images(o->rt, in, objects);
    const void *args[] = {&o->out, &in, &objects[0], &objects[1], &objects[2]};
    rt_launch(o->rt, &(struct rt_launch){
                         .kernel = k, .grid = {2, 1, 1}, .block = {48, 1, 1}, .args = args, .arg_count = 5});
    rt_wait(o->rt);
}

static void run(struct outcome *o)
{
    diag_init(&o->diag);
    o->kind = diag_run(&o->diag, body, o);
    if (o->kind == DIAG_BUG) {
        (void)fprintf(stderr, "%s\n%s", o->ptx, o->diag.text);
        abort();
    }
}

static _Noreturn void differ(const char *what, const char *ptx, const struct outcome *a,
                             const struct outcome *b)
{
    (void)fprintf(stderr, "%s\n%s", what, ptx);
    if (a->kind != DIAG_NONE) (void)fputs(a->diag.text, stderr);
    if (b->kind != DIAG_NONE) (void)fputs(b->diag.text, stderr);
    abort();
}

/* One thread of the first block alone stores at the end what it stored among all; words: of all. */
static void check_alone(const struct text *all, uint32_t thread, const uint32_t *words,
                        const struct outcome *ran)
{
    enum {
        RESULT = 128
    }; /* word of `out` where the threads' results start; both blocks store the same place */
    struct text *t = malloc(sizeof *t);
    char guard[sizeof ALONE + 1];
    memcpy(t, all, sizeof *t);
    char *at = strstr(t->at, ALONE);
    if (!at) abort();
    const int n = snprintf(guard, sizeof guard, "setp.ne.u32 %%p0, %%r0, %u; @%%p0 exit;", thread);
    memcpy(at, guard, (size_t)n);
    struct outcome alone = {.ptx = t->at, .isa = RT_ISA_BEST};
    run(&alone);
    if (alone.kind != DIAG_NONE || alone.out[RESULT + thread] != words[RESULT + thread])
        differ("a thread alone differs", t->at, ran, &alone);
    rt_destroy(alone.rt);
    diag_clear(&alone.diag);
    free(t);
}

/* Threads that see nothing of each other: none waits for others, and some are looked at alone. */
static void check_independence(const struct text *t, uint32_t from, const uint32_t *words,
                               const struct outcome *ran)
{
    enum { LOOKED_AT = 3, THREADS = 48 };
    if (ran->kind != DIAG_NONE && strstr(ran->diag.text, "cannot finish"))
        differ("lanes are lost", t->at, ran, ran);
    if (ran->kind != DIAG_NONE) return;
    for (uint32_t n = 0; n < LOOKED_AT; n++) check_alone(t, (from + 17 * n) % THREADS, words, ran);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source s = source_of(data, size);
    struct text *t = calloc(1, sizeof *t);
    generate(t, &s);
    struct outcome plain = {.ptx = t->at, .isa = RT_ISA_PLAIN}, best = {.ptx = t->at, .isa = RT_ISA_BEST};
    run(&plain);
    uint32_t words[WORDS] = {0};
    struct rt_totals totals = {0};
    if (plain.out) memcpy(words, plain.out, sizeof words);
    if (plain.rt) totals = rt_totals(plain.rt);
    rt_destroy(plain.rt); /* first: both get the same addresses */
    run(&best);
    bool same = plain.kind == best.kind && (!best.out || !memcmp(words, best.out, sizeof words));
    if (best.rt && same) {
        const struct rt_totals other = rt_totals(best.rt);
        same = !memcmp(&totals, &other, sizeof totals);
    }
    if (same && plain.kind != DIAG_NONE) same = !strcmp(plain.diag.text, best.diag.text);
    if (!same) differ("plain and vector paths differ", t->at, &plain, &best);
    rt_destroy(best.rt);
    if (t->alone) check_independence(t, (uint32_t)(s.state >> 32), words, &plain);
    diag_clear(&plain.diag);
    diag_clear(&best.diag);
    free(t);
    return 0;
}
