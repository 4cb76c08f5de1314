/* Collectives against the pseudo code of the PTX manual, lane by lane, with groups and partial masks. */
#include "conformance/harness.h"

struct collective {
    struct suite suite; /* arena, module; no forms */
    struct lanes_op op;
};
static void collective_open(struct collective *c, const char *instruction)
{
    static char text[1024]; /* the parser's place of messages; tests run one by one */
    memset(c, 0, sizeof *c);
    (void)snprintf(text, sizeof text, "%s%s\nret;\n}\n", module_head, instruction);
    arena_init(&c->suite.arena);
    diag_init(&c->suite.diag);
    c->suite.source = (struct diag_source){.name = "w.ptx", .text = text, .len_bytes = strlen(text)};
    if (diag_run(&c->suite.diag, parse_body, &c->suite)) fail_msg("%s", c->suite.diag.text);
    c->suite.func = c->suite.module->funcs[0];
    if (!lanes_find(c->suite.func, &c->suite.func->instrs[0], LANES_PLAIN, &c->op))
        fail_msg("no function for %s", instruction);
    assert_true(c->op.needs & LANES_COLLECTIVE);
    assert_null(c->op.lane);
}
static void collective_close(struct collective *c)
{
    diag_clear(&c->suite.diag);
    arena_free(&c->suite.arena);
}

/* Member masks: all lanes, or groups that name themselves; every lane of a group is active or the group is
 * not here. */
static uint32_t make_groups(uint32_t member[LANES_COUNT])
{
    const int kind = (int)(dice() % 3);
    uint32_t active = 0;
    if (kind == 0) {
        for (int i = 0; i < LANES_COUNT; i++) member[i] = LANES_ALL;
        return LANES_ALL;
    }
    uint32_t set[4] = {0};
    for (int i = 0; i < LANES_COUNT; i++) set[dice() % 4] |= 1u << i;
    for (int i = 0; i < LANES_COUNT; i++)
        for (int g = 0; g < 4; g++)
            if ((set[g] >> i) & 1) member[i] = set[g];
    for (int g = 0; g < 4; g++)
        if (kind == 1 || dice() % 2) active |= set[g];
    return active ? active : LANES_ALL;
}

struct round {
    union lane_array a, b, c, e, d, d_old;
    uint32_t active, p, p_old;
};
static void call(const struct collective *x, struct round *r, bool over_a)
{
    struct lanes_ctx ctx = x->op.ctx;
    ctx.e = x->op.needs & LANES_NEEDS_E ? &r->e : NULL;
    ctx.d2 = x->op.needs & LANES_NEEDS_D2 ? &r->p : NULL;
    for (int i = 0; i < LANES_COUNT; i++) r->d.w[i] = (uint32_t)dice();
    r->p = (uint32_t)dice();
    if (over_a) r->d = r->a;
    r->d_old = r->d;
    r->p_old = r->p;
    x->op.warp(&r->d, over_a ? &r->d : &r->a, &r->b, &r->c, r->active, &ctx);
}
static void expect(const struct round *r, int lane, uint32_t d)
{
    const uint32_t want = (r->active >> lane) & 1 ? d : r->d_old.w[lane];
    if (r->d.w[lane] != want)
        fail_msg("lane %d of %08x: expected %08x, got %08x", lane, r->active, want, r->d.w[lane]);
}
static void expect_p(const struct round *r, int lane, bool p)
{
    const bool want = (r->active >> lane) & 1 ? p : (r->p_old >> lane) & 1;
    if (((r->p >> lane) & 1) != want)
        fail_msg("predicate of lane %d of %08x: expected %d", lane, r->active, want);
}

static void shfl_mode(const char *mode)
{
    char text[96];
    (void)snprintf(text, sizeof text, "shfl.sync.%s.b32 %%r0|%%p5, %%r1, %%r2, %%r3, %%r4;", mode);
    struct collective x;
    collective_open(&x, text);
    for (int n = 0; n < 4000; n++) {
        struct round r;
        memset(&r, 0, sizeof r);
        const bool uniform = n % 2;
        const uint32_t by = (uint32_t)dice() % 40, width = 1u << (dice() % 6);
        for (int i = 0; i < LANES_COUNT; i++) {
            r.a.w[i] = (uint32_t)dice();
            r.b.w[i] = uniform ? by : (uint32_t)dice();
            /* as the compiler writes it: (32 - width) << 8 | clamp; sometimes anything */
            r.c.w[i] = n % 7 == 0 && !uniform ? (uint32_t)dice()
                                              : (32 - width) << 8 | (strcmp(mode, "up") == 0 ? 0 : 31);
        }
        r.active = make_groups(r.e.w);
        const union lane_array a = r.a;
        call(&x, &r, n % 3 == 0);
        for (int lane = 0; lane < LANES_COUNT; lane++) {
            const int bval = (int)(r.b.w[lane] & 0x1f), cval = (int)(r.c.w[lane] & 0x1f),
                      segmask = (int)((r.c.w[lane] >> 8) & 0x1f);
            const int max_lane = (lane & segmask) | (cval & ~segmask), min_lane = lane & segmask;
            int j = 0;
            bool pval = false;
            if (strcmp(mode, "up") == 0) j = lane - bval, pval = j >= max_lane;
            if (strcmp(mode, "down") == 0) j = lane + bval, pval = j <= max_lane;
            if (strcmp(mode, "bfly") == 0) j = lane ^ bval, pval = j <= max_lane;
            if (strcmp(mode, "idx") == 0) j = min_lane | (bval & ~segmask), pval = j <= max_lane;
            if (!pval) j = lane;
            expect(&r, lane, a.w[j]);
            expect_p(&r, lane, pval);
        }
    }
    collective_close(&x);
}
static void shfl_moves_as_the_manual_says(void **state)
{
    (void)state;
    shfl_mode("up");
    shfl_mode("down");
    shfl_mode("bfly");
    shfl_mode("idx");
}

static void vote_counts_its_own_group(void **state)
{
    (void)state;
    static const char *const modes[] = {"all.pred", "any.pred", "uni.pred", "ballot.b32"};
    for (int m = 0; m < 4; m++) {
        char text[96];
        (void)snprintf(text, sizeof text, "vote.sync.%s %%%c0, %%p1, %%r4;", modes[m], m == 3 ? 'r' : 'p');
        struct collective x;
        collective_open(&x, text);
        for (int n = 0; n < 3000; n++) {
            struct round r;
            memset(&r, 0, sizeof r);
            r.active = make_groups(r.e.w);
            r.a.w[0] = n % 4 == 0 ? LANES_ALL : n % 4 == 1 ? 0 : (uint32_t)(dice() & dice());
            call(&x, &r, false);
            for (int i = 0; i < LANES_COUNT; i++) {
                uint32_t yes = 0, all = 0;
                for (int j = 0; j < LANES_COUNT; j++)
                    if ((r.e.w[i] >> j) & 1 && (r.active >> j) & 1)
                        all |= 1u << j, yes |= ((r.a.w[0] >> j) & 1) << j;
                const bool result = m == 0 ? yes == all : m == 1 ? yes != 0 : yes == 0 || yes == all;
                const bool in = (r.active >> i) & 1;
                if (m == 3)
                    expect(&r, i, yes);
                else
                    assert_int_equal((r.d.w[0] >> i) & 1, in ? result : (r.d_old.w[0] >> i) & 1);
            }
        }
        collective_close(&x);
    }
}

static void match_finds_equal_lanes(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "match.any.sync.b32 %r0, %r1, %r4;", "match.any.sync.b64 %r0, %l1, %r4;",
        "match.all.sync.b32 %r0|%p5, %r1, %r4;", "match.all.sync.b64 %r0|%p5, %l1, %r4;"};
    for (int k = 0; k < 4; k++) {
        struct collective x;
        collective_open(&x, texts[k]);
        const bool wide = k & 1, all = k >= 2;
        for (int n = 0; n < 2000; n++) {
            struct round r;
            memset(&r, 0, sizeof r);
            r.active = make_groups(r.e.w);
            const uint64_t kinds = n % 3 ? 1 : 3;
            for (int i = 0; i < LANES_COUNT; i++) {
                const uint64_t v = (dice() % kinds) * (wide ? UINT64_C(0x100000000) : 1);
                if (wide)
                    r.a.l[i] = v;
                else
                    r.a.w[i] = (uint32_t)v;
            }
            call(&x, &r, false);
            for (int i = 0; i < LANES_COUNT; i++) {
                uint32_t same = 0, members = r.e.w[i] & r.active;
                for (int j = 0; j < LANES_COUNT; j++)
                    if ((members >> j) & 1 && (wide ? r.a.l[j] == r.a.l[i] : r.a.w[j] == r.a.w[i]))
                        same |= 1u << j;
                expect(&r, i, all ? (same == members ? members : 0) : same);
                if (all) expect_p(&r, i, same == members);
            }
        }
        collective_close(&x);
    }
}

static uint32_t reduce(const char *op, bool is_signed, uint32_t a, uint32_t b)
{
    if (strcmp(op, "add") == 0) return a + b;
    if (strcmp(op, "and") == 0) return a & b;
    if (strcmp(op, "or") == 0) return a | b;
    if (strcmp(op, "xor") == 0) return a ^ b;
    const bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;
    return less == (strcmp(op, "min") == 0) ? a : b;
}
static void redux_reduces_its_own_group(void **state)
{
    (void)state;
    static const char *const ops[][2] = {{"add", "u32"}, {"add", "s32"}, {"min", "u32"},
                                         {"min", "s32"}, {"max", "u32"}, {"max", "s32"},
                                         {"and", "b32"}, {"or", "b32"},  {"xor", "b32"}};
    for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
        char text[96];
        (void)snprintf(text, sizeof text, "redux.sync.%s.%s %%r0, %%r1, %%r4;", ops[k][0], ops[k][1]);
        struct collective x;
        collective_open(&x, text);
        for (int n = 0; n < 1000; n++) {
            struct round r;
            memset(&r, 0, sizeof r);
            r.active = make_groups(r.e.w);
            for (int i = 0; i < LANES_COUNT; i++) r.a.w[i] = (uint32_t)random_value('r');
            const union lane_array a = r.a;
            call(&x, &r, n % 2);
            for (int i = 0; i < LANES_COUNT; i++) {
                uint32_t sum = 0;
                bool first = true;
                for (int j = 0; j < LANES_COUNT; j++)
                    if ((r.e.w[i] & r.active) >> j & 1) {
                        sum = first ? a.w[j] : reduce(ops[k][0], ops[k][1][0] == 's', sum, a.w[j]);
                        first = false;
                    }
                expect(&r, i, sum);
            }
        }
        collective_close(&x);
    }
}
static void activemask_and_elect_know_who_is_here(void **state)
{
    (void)state;
    struct collective x;
    collective_open(&x, "activemask.b32 %r0;");
    for (int n = 0; n < 100; n++) {
        struct round r;
        memset(&r, 0, sizeof r);
        r.active = (uint32_t)dice() | 1;
        call(&x, &r, false);
        for (int i = 0; i < LANES_COUNT; i++) expect(&r, i, r.active);
    }
    collective_close(&x);
    collective_open(&x, "elect.sync %r0|%p5, %r4;");
    for (int n = 0; n < 100; n++) {
        struct round r;
        memset(&r, 0, sizeof r);
        r.active = make_groups(r.e.w);
        call(&x, &r, false);
        for (int i = 0; i < LANES_COUNT; i++) {
            int leader = 0;
            while (!((r.e.w[i] & r.active) >> leader & 1) && leader < 31) leader++;
            expect(&r, i, (uint32_t)leader);
            expect_p(&r, i, leader == i);
        }
    }
    collective_close(&x);
}
static void movmatrix_transposes(void **state)
{
    (void)state;
    struct collective x;
    collective_open(&x, "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;");
    uint16_t matrix[8][8];
    struct round r;
    memset(&r, 0, sizeof r);
    r.active = LANES_ALL;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            matrix[i][j] = (uint16_t)dice();
            r.a.w[i * 4 + j / 2] |= (uint32_t)matrix[i][j] << (j % 2 * 16);
        }
    call(&x, &r, true);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            assert_int_equal((r.d.w[i * 4 + j / 2] >> (j % 2 * 16)) & 0xffff, matrix[j][i]);
    collective_close(&x);
}
/* without .sync the active lanes are the members */
static void old_vote_takes_the_active_lanes(void **state)
{
    (void)state;
    struct collective x;
    collective_open(&x, "vote.ballot.b32 %r0, %p1;");
    assert_false(x.op.needs & LANES_NEEDS_E);
    struct round r;
    memset(&r, 0, sizeof r);
    r.active = 0x0ff00ff0;
    r.a.w[0] = 0x12345678;
    call(&x, &r, false);
    for (int i = 0; i < LANES_COUNT; i++) expect(&r, i, 0x12345678 & 0x0ff00ff0);
    collective_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shfl_moves_as_the_manual_says),
        cmocka_unit_test(vote_counts_its_own_group),
        cmocka_unit_test(match_finds_equal_lanes),
        cmocka_unit_test(redux_reduces_its_own_group),
        cmocka_unit_test(activemask_and_elect_know_who_is_here),
        cmocka_unit_test(old_vote_takes_the_active_lanes),
        cmocka_unit_test(movmatrix_transposes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
