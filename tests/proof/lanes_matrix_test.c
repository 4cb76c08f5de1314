/* Matrix instructions: mma.sync with the manual's layouts, wmma as load + mma + store, ldmatrix and stmatrix,
 * against plain matrix products. Small integers make every product and sum exact, so that results must be
 * equal bit by bit. */
#include <math.h>

#include "conformance/harness.h"
#include "conformance/ref_matrix.h"

static const char matrix_head[] = ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
                                  ".reg .b32 %m<40>;\n.reg .b32 %r<8>;\n.reg .b64 %l<40>;\n";

struct parsed {
    struct suite suite;
    char text[8192];
};
static const struct ptx_func *parse(struct parsed *p, const char *instructions)
{
    memset(p, 0, sizeof *p);
    (void)snprintf(p->text, sizeof p->text, "%s%s\nret;\n}\n", matrix_head, instructions);
    arena_init(&p->suite.arena);
    diag_init(&p->suite.diag);
    p->suite.source = (struct diag_source){.name = "m.ptx", .text = p->text, .len_bytes = strlen(p->text)};
    if (diag_run(&p->suite.diag, parse_body, &p->suite)) fail_msg("%s", p->suite.diag.text);
    return p->suite.module->funcs[0];
}
static void parsed_close(struct parsed *p)
{
    diag_clear(&p->suite.diag);
    arena_free(&p->suite.arena);
}

/* ---- small integers in every type ---- */
static uint64_t encode(const char *type, int v)
{
    if (strcmp(type, "f64") == 0) return ref_from_int(&ref_f64, REF_RN, v);
    if (strcmp(type, "f32") == 0 || strcmp(type, "tf32") == 0) return ref_from_int(&ref_f32, REF_RN, v);
    if (strcmp(type, "f16") == 0) return ref_from_int(&ref_f16, REF_RN, v);
    if (strcmp(type, "bf16") == 0) return ref_from_int(&ref_bf16, REF_RN, v);
    return (uint64_t)(int64_t)v & ref_mask(ref_element_bits(type));
}
static int small(const char *type)
{
    if (strcmp(type, "b1") == 0) return (int)(dice() & 1);
    if (type[0] == 'u') return (int)(dice() % 16);
    if (strcmp(type, "s4") == 0) return (int)(dice() % 16) - 8;
    return (int)(dice() % 17) - 8;
}

struct registers {
    union lane_array r[32];
    void *p[32];
};
static void registers_init(struct registers *x)
{
    memset(x, 0, sizeof *x);
    for (int i = 0; i < 32; i++) x->p[i] = &x->r[i];
}
static void set_element(struct registers *x, int bits, int lane, int i, uint64_t v)
{
    if (bits == 64) {
        x->r[i].l[lane] = v;
        return;
    }
    const int each = 32 / bits, at = i % each * bits;
    uint32_t *w = &x->r[i / each].w[lane];
    *w = (*w & ~((uint32_t)ref_mask(bits) << at)) | (uint32_t)v << at;
}
static uint64_t get_element(const struct registers *x, int bits, int lane, int i)
{
    if (bits == 64) return x->r[i].l[lane];
    const int each = 32 / bits;
    return (x->r[i / each].w[lane] >> (i % each * bits)) & ref_mask(bits);
}

/* elements of a fragment per lane */
static int elements(const char *type, int regs)
{
    return ref_element_bits(type) >= 32 ? regs : regs * 32 / ref_element_bits(type);
}

static void mma_row(const struct ref_mma *r)
{
    struct parsed p;
    char text[512];
    ref_mma_text(r, text, sizeof text);
    const struct ptx_func *f = parse(&p, text);
    struct lanes_matrix *m = malloc(sizeof *m);
    if (!lanes_matrix_find(f, &f->instrs[0], lanes_isa_best(), m))
        fail_msg("no function for %s", r->spelling);
    assert_int_equal(m->a.regs, r->regs_a);
    assert_int_equal(m->b.regs, r->regs_b);
    assert_int_equal(m->c.regs, r->regs_c);
    assert_int_equal(m->d.regs, r->regs_d);
    const int quads = ref_is_quads(r) ? 4 : 1;
    static struct registers a, b, c, d;
    for (int n = 0; n < 50; n++) {
        static int ma[4][16][128], mb[4][128][32], mc[4][16][32];
        registers_init(&a), registers_init(&b), registers_init(&c), registers_init(&d);
        for (int lane = 0; lane < 32; lane++) {
            const int q = quads == 4 ? lane % 16 / 4 : 0;
            int row, col;
            for (int i = 0; i < elements(r->ta, r->regs_a); i++) {
                ref_at_a(r, lane, i, &row, &col);
                ma[q][row][col] = small(r->ta);
                set_element(&a, ref_element_bits(r->ta), lane, i, encode(r->ta, ma[q][row][col]));
            }
            for (int i = 0; i < elements(r->tb, r->regs_b); i++) {
                ref_at_b(r, lane, i, &row, &col);
                mb[q][row][col] = small(r->tb);
                set_element(&b, ref_element_bits(r->tb), lane, i, encode(r->tb, mb[q][row][col]));
            }
            for (int i = 0; i < elements(r->tc, r->regs_c); i++) {
                ref_at_c(r, r->tc, lane, i, &row, &col);
                mc[q][row][col] = small("s32");
                set_element(&c, ref_element_bits(r->tc), lane, i, encode(r->tc, mc[q][row][col]));
            }
        }
        m->mma(d.p, (const void *const *)a.p, (const void *const *)b.p, (const void *const *)c.p, m);
        const bool bits = strcmp(r->ta, "b1") == 0, both = strstr(r->spelling, "and.popc") != NULL;
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < elements(r->td, r->regs_d); i++) {
                const int q = quads == 4 ? lane % 16 / 4 : 0;
                int row, col;
                ref_at_c(r, r->td, lane, i, &row, &col);
                int sum = mc[q][row][col];
                for (int l = 0; l < r->k; l++) {
                    const int x = ma[q][row][l], y = mb[q][l][col];
                    sum += !bits ? x * y : both ? (x & y) : (x ^ y);
                }
                const uint64_t got = get_element(&d, ref_element_bits(r->td), lane, i);
                if (got != encode(r->td, sum))
                    fail_msg("%s: lane %d element %d: expected %d (%llx), got %llx", r->spelling, lane, i,
                             sum, (unsigned long long)encode(r->td, sum), (unsigned long long)got);
            }
    }
    free(m);
    parsed_close(&p);
}
static void mma_sync_follows_the_documented_fragments(void **state)
{
    (void)state;
    for (int i = 0; i < REF_MMA_COUNT; i++) mma_row(&ref_mma_rows[i]);
}
static void satfinite_keeps_the_largest_integer(void **state)
{
    (void)state;
    struct parsed p;
    char text[512];
    ref_mma_text(&ref_mma_rows[13], text, sizeof text); /* m8n8k16 satfinite u8 s8 */
    const struct ptx_func *f = parse(&p, text);
    struct lanes_matrix *m = malloc(sizeof *m);
    assert_true(lanes_matrix_find(f, &f->instrs[0], LANES_PLAIN, m));
    static struct registers a, b, c, d;
    registers_init(&a), registers_init(&b), registers_init(&c), registers_init(&d);
    memset(&a.r[0], 0x7f, sizeof a.r[0]);
    memset(&b.r[0], 0x7f, sizeof b.r[0]);
    for (int i = 0; i < 32; i++) c.r[0].w[i] = INT32_MAX - 5, c.r[1].w[i] = 0;
    m->mma(d.p, (const void *const *)a.p, (const void *const *)b.p, (const void *const *)c.p, m);
    for (int i = 0; i < 32; i++)
        assert_int_equal(d.r[0].w[i], INT32_MAX), assert_int_equal(d.r[1].w[i], 16 * 127 * 127);
    free(m);
    parsed_close(&p);
}

/* ---- wmma: memory, load, mma, store, memory ---- */
struct tile {
    uint64_t at[32 * 128]; /* one element each, row or column major with a stride */
};
static void move(const struct lanes_fragment *f, struct registers *x, struct tile *t, int stride, bool store)
{
    for (int lane = 0; lane < 32; lane++)
        for (int e = 0; e < f->elements; e++) {
            const int index = f->col_major ? f->col[lane][e] * stride + f->row[lane][e]
                                           : f->row[lane][e] * stride + f->col[lane][e];
            if (store)
                t->at[index] = get_element(x, f->element_bits, lane, e);
            else
                set_element(x, f->element_bits, lane, e, t->at[index]);
        }
}
struct wmma_case {
    int m, n, k;
    const char *ta, *tb, *tc, *td;
    const char *la, *lb, *lc; /* layouts in memory */
};
static void fragment_text(char *out, size_t room, const char *what, const char *layout,
                          const struct wmma_case *w, char fragment, const char *type)
{
    char spelling[128];
    (void)snprintf(spelling, sizeof spelling, "wmma.%s.%c.sync.aligned.%s.m%dn%dk%d.shared.%s", what,
                   fragment, layout, w->m, w->n, w->k, type);
    const int regs = ref_wmma_regs(spelling, fragment, type);
    const char reg = strcmp(type, "f64") == 0 ? 'l' : 'm';
    char v[256];
    (void)ref_vector(v, sizeof v, reg, 0, regs);
    if (strcmp(what, "load") == 0)
        (void)snprintf(out, room, "%s %s, [%%l39], %%r1;\n", spelling, v);
    else
        (void)snprintf(out, room, "%s [%%l39], %s, %%r1;\n", spelling, v);
}
static void product_text(char *out, size_t room, const struct wmma_case *w)
{
    const bool two = strcmp(w->ta, "f16") == 0;
    char types[40], s[128], d[256], a[256], b[256], c[256];
    if (two)
        (void)snprintf(types, sizeof types, "%s.%s", w->td, w->tc);
    else
        (void)snprintf(types, sizeof types, "%s.%s.%s.%s", w->td, w->ta, w->tb, w->tc);
    const bool b1 = strcmp(w->ta, "b1") == 0;
    (void)snprintf(s, sizeof s, "wmma.mma%s.sync.aligned.%s.%s.m%dn%dk%d.%s", b1 ? ".xor.popc" : "", w->la,
                   w->lb, w->m, w->n, w->k, types);
    const char reg = strcmp(w->ta, "f64") == 0 ? 'l' : 'm';
    (void)ref_vector(d, sizeof d, reg, 0, ref_wmma_regs(s, 'd', w->td));
    (void)ref_vector(a, sizeof a, reg, 8, ref_wmma_regs(s, 'a', w->ta));
    (void)ref_vector(b, sizeof b, reg, 16, ref_wmma_regs(s, 'b', w->tb));
    (void)ref_vector(c, sizeof c, reg, 24, ref_wmma_regs(s, 'c', w->tc));
    (void)snprintf(out, room, "%s %s, %s, %s, %s;\n", s, d, a, b, c);
}
static void wmma_one(const struct wmma_case *w)
{
    char text[5][1400], all[7100];
    fragment_text(text[0], sizeof text[0], "load", w->la, w, 'a', w->ta);
    fragment_text(text[1], sizeof text[1], "load", w->lb, w, 'b', w->tb);
    fragment_text(text[2], sizeof text[2], "load", w->lc, w, 'c', w->tc);
    product_text(text[3], sizeof text[3], w);
    fragment_text(text[4], sizeof text[4], "store", w->lc, w, 'd', w->td);
    (void)snprintf(all, sizeof all, "%s%s%s%s%s", text[0], text[1], text[2], text[3], text[4]);
    struct parsed p;
    const struct ptx_func *f = parse(&p, all);
    struct lanes_matrix *m = calloc(5, sizeof *m);
    for (int i = 0; i < 5; i++)
        if (!lanes_matrix_find(f, &f->instrs[i], lanes_isa_best(), &m[i]))
            fail_msg("no function for %s", text[i]);
    static struct registers a, b, c, d;
    static struct tile ta, tb, tc, td;
    static int ia[32][128], ib[128][32], ic[32][32];
    registers_init(&a), registers_init(&b), registers_init(&c), registers_init(&d);
    const bool ca = strcmp(w->la, "col") == 0, cb = strcmp(w->lb, "col") == 0, cc = strcmp(w->lc, "col") == 0;
    const int sa = (ca ? w->m : w->k) + 0, sb = (cb ? w->k : w->n) + 0, sc = (cc ? w->m : w->n) + 0;
    for (int i = 0; i < w->m; i++)
        for (int l = 0; l < w->k; l++)
            ia[i][l] = small(w->ta), ta.at[ca ? l * sa + i : i * sa + l] = encode(w->ta, ia[i][l]);
    for (int l = 0; l < w->k; l++)
        for (int j = 0; j < w->n; j++)
            ib[l][j] = small(w->tb), tb.at[cb ? j * sb + l : l * sb + j] = encode(w->tb, ib[l][j]);
    for (int i = 0; i < w->m; i++)
        for (int j = 0; j < w->n; j++)
            ic[i][j] = small("s32"), tc.at[cc ? j * sc + i : i * sc + j] = encode(w->tc, ic[i][j]);
    move(&m[0].d, &a, &ta, sa, false);
    move(&m[1].d, &b, &tb, sb, false);
    move(&m[2].d, &c, &tc, sc, false);
    m[3].mma(d.p, (const void *const *)a.p, (const void *const *)b.p, (const void *const *)c.p, &m[3]);
    memset(&td, 0xee, sizeof td);
    move(&m[4].d, &d, &td, sc, true);
    for (int i = 0; i < w->m; i++)
        for (int j = 0; j < w->n; j++) {
            int sum = ic[i][j];
            for (int l = 0; l < w->k; l++)
                sum += strcmp(w->ta, "b1") == 0 ? ia[i][l] ^ ib[l][j] : ia[i][l] * ib[l][j];
            const uint64_t got = td.at[cc ? j * sc + i : i * sc + j];
            if (got != encode(w->td, sum))
                fail_msg("%s: (%d,%d): expected %d, got %llx", text[3], i, j, sum, (unsigned long long)got);
        }
    free(m);
    parsed_close(&p);
}
static void wmma_loads_multiplies_and_stores(void **state)
{
    (void)state;
    static const int shapes[3][3] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}};
    static const char *const layouts[2] = {"row", "col"};
    static const char *const types[][4] = {{"f16", "f16", "f32", "f32"}, {"f16", "f16", "f16", "f16"},
                                           {"f16", "f16", "f16", "f32"}, {"bf16", "bf16", "f32", "f32"},
                                           {"s8", "s8", "s32", "s32"},   {"u8", "u8", "s32", "s32"}};
    int count = 0;
    for (int s = 0; s < 3; s++)
        for (int t = 0; t < 6; t++)
            for (int l = 0; l < 8; l++, count++)
                wmma_one(&(struct wmma_case){shapes[s][0], shapes[s][1], shapes[s][2], types[t][0],
                                             types[t][1], types[t][2], types[t][3], layouts[l & 1],
                                             layouts[(l >> 1) & 1], layouts[l >> 2]});
    for (int l = 0; l < 8; l++) {
        wmma_one(&(struct wmma_case){16, 16, 8, "tf32", "tf32", "f32", "f32", layouts[l & 1],
                                     layouts[(l >> 1) & 1], layouts[l >> 2]});
        wmma_one(&(struct wmma_case){8, 8, 4, "f64", "f64", "f64", "f64", layouts[l & 1],
                                     layouts[(l >> 1) & 1], layouts[l >> 2]});
    }
    wmma_one(&(struct wmma_case){8, 8, 32, "s4", "s4", "s32", "s32", "row", "col", "row"});
    wmma_one(&(struct wmma_case){8, 8, 32, "u4", "u4", "s32", "s32", "row", "col", "col"});
    wmma_one(&(struct wmma_case){8, 8, 128, "b1", "b1", "s32", "s32", "row", "col", "row"});
    print_message("wmma: %d combinations of shape, types and layouts\n", count + 16 + 3);
}

/* products that are not integers: near the exact result, and the same again */
static void float_products_are_close_and_repeatable(void **state)
{
    (void)state;
    struct parsed p;
    char text[512];
    ref_mma_text(&ref_mma_rows[5], text, sizeof text); /* m16n8k16 f16 -> f32 */
    const struct ptx_func *f = parse(&p, text);
    struct lanes_matrix *m = malloc(sizeof *m);
    assert_true(lanes_matrix_find(f, &f->instrs[0], LANES_PLAIN, m));
    static struct registers a, b, c, d, again;
    registers_init(&a), registers_init(&b), registers_init(&c), registers_init(&d), registers_init(&again);
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 32; i++) {
            a.r[r].w[i] = (uint32_t)dice() & 0xbbffbbff; /* below 1 */
            b.r[r].w[i] = (uint32_t)dice() & 0xbbffbbff;
            c.r[r].w[i] = (uint32_t)(0x3f000000 + (dice() & 0x007fffff));
        }
    m->mma(d.p, (const void *const *)a.p, (const void *const *)b.p, (const void *const *)c.p, m);
    m->mma(again.p, (const void *const *)a.p, (const void *const *)b.p, (const void *const *)c.p, m);
    assert_memory_equal(&d.r, &again.r, sizeof d.r);
    double va[16][16], vb[16][8];
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 8; i++) {
            int row, col;
            ref_at_a(&ref_mma_rows[5], lane, i, &row, &col);
            const struct ref_value v = ref_unpack(&ref_f16, get_element(&a, 16, lane, i));
            va[row][col] =
                ldexp(v.kind == REF_FINITE ? (double)v.mantissa : 0, v.exponent) * (v.negative ? -1 : 1);
            if (i >= 4) continue;
            ref_at_b(&ref_mma_rows[5], lane, i, &row, &col);
            const struct ref_value u = ref_unpack(&ref_f16, get_element(&b, 16, lane, i));
            vb[row][col] =
                ldexp(u.kind == REF_FINITE ? (double)u.mantissa : 0, u.exponent) * (u.negative ? -1 : 1);
        }
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            int row, col;
            ref_at_c(&ref_mma_rows[5], "f32", lane, i, &row, &col);
            float got, start;
            memcpy(&got, &d.r[i].w[lane], 4);
            memcpy(&start, &c.r[i].w[lane], 4);
            double sum = start;
            for (int l = 0; l < 16; l++) sum += va[row][l] * vb[l][col];
            assert_true(fabs(got - sum) < 1e-5);
        }
    free(m);
    parsed_close(&p);
}

static void ldmatrix_and_stmatrix_move_rows(void **state)
{
    (void)state;
    for (int count = 1; count <= 4; count *= 2)
        for (int trans = 0; trans < 2; trans++) {
            char text[256], v[64];
            (void)ref_vector(v, sizeof v, 'm', 0, count);
            (void)snprintf(text, sizeof text,
                           "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 %s, "
                           "[%%l1];\nstmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [%%l1], %s;",
                           count, trans ? ".trans" : "", v, count, trans ? ".trans" : "", v);
            struct parsed p;
            const struct ptx_func *f = parse(&p, text);
            struct lanes_matrix *m = calloc(2, sizeof *m);
            assert_true(lanes_matrix_find(f, &f->instrs[0], LANES_PLAIN, &m[0]));
            assert_true(lanes_matrix_find(f, &f->instrs[1], LANES_PLAIN, &m[1]));
            uint8_t rows[32][16], back[32][16];
            for (int i = 0; i < 32; i++)
                for (int j = 0; j < 16; j++) rows[i][j] = (uint8_t)dice();
            static struct registers d;
            registers_init(&d);
            lanes_ldmatrix(&m[0], (const uint8_t(*)[16])rows, (uint32_t *const *)(void *)d.p);
            for (int k = 0; k < count; k++)
                for (int lane = 0; lane < 32; lane++)
                    for (int half = 0; half < 2; half++) {
                        /* thread t: row t/4, elements 2*(t%4) and the next; .trans swaps row and column */
                        const int r = lane / 4, c = 2 * (lane % 4) + half;
                        const uint8_t *e = &rows[8 * k + (trans ? c : r)][2 * (trans ? r : c)];
                        assert_int_equal((d.r[k].w[lane] >> (16 * half)) & 0xffff, e[0] | e[1] << 8);
                    }
            memset(back, 0, sizeof back);
            lanes_stmatrix(&m[1], back, (const uint32_t *const *)(void *)d.p);
            assert_memory_equal(rows, back, (size_t)(8 * count * 16));
            free(m);
            parsed_close(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mma_sync_follows_the_documented_fragments),
        cmocka_unit_test(satfinite_keeps_the_largest_integer),
        cmocka_unit_test(wmma_loads_multiplies_and_stores),
        cmocka_unit_test(float_products_are_close_and_repeatable),
        cmocka_unit_test(ldmatrix_and_stmatrix_move_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
