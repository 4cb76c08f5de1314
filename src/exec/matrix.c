/* matrix: wmma, mma.sync, ldmatrix, stmatrix: fragments between memory and registers; the arithmetic is
 * src/exec/lanes. All 32 lanes take part (PTX: else undefined). */
#include "exec/sites.h"

/* A matrix instruction of part of a warp has no meaning. */
static void need_all(const struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    if (mask != LANES_ALL)
        exec_fault(w, i, lowest_lane(mask),
                   "a matrix instruction needs all 32 lanes of the warp; active are 0x%08x", mask);
}

static void pointers(const struct exec_warp *w, const uint32_t *refs, uint32_t count, void **out)
{
    for (uint32_t k = 0; k < count && k < 32; k++) out[k] = ref_at(w, refs[k]);
}

/* One element group of at least a byte: register bits <-> memory. */
static void move_element(struct exec_warp *w, const struct insn *i, const struct matrix_site *site,
                         const struct lanes_fragment *f, uint32_t lane, uint32_t e, uint64_t base,
                         uint64_t stride, void *const *reg, bool store)
{
    struct access *s = site->access;
    const uint32_t bits = f->element_bits < 8 ? 8 : f->element_bits;
    const uint32_t per_reg = f->elements / f->regs;
    const uint64_t row = f->row[lane][e], col = f->col[lane][e];
    const uint64_t index = f->col_major ? col * stride + row : row * stride + col;
    const uint64_t address = base + index * f->element_bits / 8;
    uint32_t space;
    uint8_t *p = access_pointer(w, i, s, lane, address, bits / 8, &space);
    if (bits == 64) {
        uint64_t *r = (uint64_t *)reg[e / per_reg] + lane;
        memcpy(store ? (void *)p : (void *)r, store ? (void *)r : (void *)p, 8);
        return;
    }
    uint8_t *r = (uint8_t *)((uint32_t *)reg[e / per_reg] + lane) + (e % per_reg) * f->element_bits / 8;
    memcpy(store ? p : r, store ? r : p, bits / 8);
}

static void move_fragment(struct exec_warp *w, const struct insn *i, const struct matrix_site *site,
                          bool store)
{
    const struct lanes_fragment *f = &site->m.d;
    void *reg[32] = {0};
    pointers(w, store ? site->a : site->d, store ? site->na : site->nd, reg);
    const uint32_t step = f->element_bits < 8 ? 8u / f->element_bits : 1;
    uint64_t base[LANES];
    for (uint32_t lane = 0; lane < LANES; lane++) base[lane] = access_address(w, site->access, lane);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        const uint64_t packed = f->col_major ? f->rows : f->cols;
        const uint64_t stride = site->has_stride ? ((const uint32_t *)ref_at(w, site->stride))[lane] : packed;
        for (uint32_t e = 0; e < f->elements; e += step)
            move_element(w, i, site, f, lane, e, base[lane], stride, reg, store);
    }
}

static void move_rows(struct exec_warp *w, const struct insn *i, const struct matrix_site *site, bool store)
{
    uint8_t row[LANES][16];
    void *reg[32] = {0};
    pointers(w, store ? site->a : site->d, store ? site->na : site->nd, reg);
    const uint32_t rows = 8u * site->m.count;
    uint32_t space;
    if (store) lanes_stmatrix(&site->m, row, (const uint32_t *const *)(const void *)reg);
    for (uint32_t lane = 0; lane < rows; lane++) {
        uint8_t *p =
            access_pointer(w, i, site->access, lane, access_address(w, site->access, lane), 16, &space);
        memcpy(store ? p : row[lane], store ? row[lane] : p, 16);
    }
    if (!store) lanes_ldmatrix(&site->m, (const uint8_t(*)[16])row, (uint32_t *const *)(void *)reg);
}

const struct insn *h_matrix(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct matrix_site *site = i->x.extra;
    if (!mask) return i + 1;
    need_all(w, i, mask);
    switch (site->m.kind) {
    case LANES_MATRIX_MMA: {
        void *d[32] = {0}, *a[32] = {0}, *b[32] = {0}, *c[32] = {0};
        pointers(w, site->d, site->nd, d);
        pointers(w, site->a, site->na, a);
        pointers(w, site->b, site->nb, b);
        pointers(w, site->c, site->nc, c);
        site->m.mma(d, (const void *const *)a, (const void *const *)b, (const void *const *)c, &site->m);
        break;
    }
    case LANES_MATRIX_LOAD: move_fragment(w, i, site, false); break;
    case LANES_MATRIX_STORE: move_fragment(w, i, site, true); break;
    case LANES_MATRIX_LDMATRIX: move_rows(w, i, site, false); break;
    case LANES_MATRIX_STMATRIX: move_rows(w, i, site, true); break;
    case LANES_MATRIX_NONE: break;
    }
    return i + 1;
}
