/* memory: loads and stores of every space, checked; the paths that are not hot.
 *
 *   h_load ── address of each lane ── access_pointer ─┬─ global, const: allocation table (devmem)
 *                                                     ├─ shared: size of the block's shared memory
 *                                                     ├─ local: size of the thread's stack
 *                                                     ├─ param: the parameter block of the launch
 *                                                     └─ generic: window of the address decides
 * The hot paths (memory_body.h) come here for lanes that they cannot serve. */
#include "exec/machine.h"
#include "exec/sites.h"

uint64_t access_address(const struct exec_warp *w, const struct access *s, uint32_t lane)
{
    uint64_t address = (uint64_t)s->offset;
    if (!s->is_constant) {
        if (s->address64)
            address += ((const uint64_t *)ref_at(w, s->address))[lane];
        else
            address = (uint32_t)(address + ((const uint32_t *)ref_at(w, s->address))[lane]);
    }
    return s->frame_relative ? address + w->local_base : address;
}

static uint8_t *shared_pointer(struct exec_warp *w, const struct insn *i, struct access *s, uint32_t lane,
                               uint64_t address, uint32_t bytes)
{
    if (bytes > w->shared_bytes || address > w->shared_bytes - bytes || address % bytes)
        exec_fault_address(w, i, lane, s, address, PTX_SPACE_SHARED);
    if (w->block->race) race_access(w, i, lane, address, bytes, s->is_store, s->op != 0);
    return w->shared + address;
}

static uint8_t *local_pointer(struct exec_warp *w, const struct insn *i, struct access *s, uint32_t lane,
                              uint64_t address, uint32_t bytes)
{
    if (bytes > w->local_bytes || address > w->local_bytes - bytes || address % bytes)
        exec_fault_address(w, i, lane, s, address, PTX_SPACE_LOCAL);
    return w->local + (address >> 2) * 128 + lane * 4 + (address & 3);
}

static uint8_t *param_pointer(struct exec_warp *w, const struct insn *i, struct access *s, uint32_t lane,
                              uint64_t address, uint32_t bytes)
{
    const uint64_t size = w->block->launch->kernel->func->ptx->param_bytes;
    if (bytes > size || address > size - bytes || address % bytes || s->is_store)
        exec_fault_address(w, i, lane, s, address, PTX_SPACE_PARAM);
    return (uint8_t *)(uintptr_t)w->block->launch->params + address;
}

uint8_t *access_pointer(struct exec_warp *w, const struct insn *i, struct access *s, uint32_t lane,
                        uint64_t address, uint32_t bytes, uint32_t *actual)
{
    struct devmem *m = w->env->memory;
    *actual = s->space;
    switch (s->space) {
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CLUSTER:
        *actual = PTX_SPACE_SHARED;
        return shared_pointer(w, i, s, lane, address, bytes);
    case PTX_SPACE_LOCAL: return local_pointer(w, i, s, lane, address, bytes);
    case PTX_SPACE_PARAM: return param_pointer(w, i, s, lane, address, bytes);
    default: break;
    }
    if (s->space == PTX_SPACE_GENERIC && address - m->base < 3 * DEVMEM_WINDOW_BYTES) {
        const uint64_t offset = (address - m->base) % DEVMEM_WINDOW_BYTES;
        const uint64_t window = (address - m->base) / DEVMEM_WINDOW_BYTES;
        *actual = window == 0 ? PTX_SPACE_LOCAL : window == 1 ? PTX_SPACE_SHARED : PTX_SPACE_PARAM;
        if (window == 0) return local_pointer(w, i, s, lane, offset, bytes);
        if (window == 1) return shared_pointer(w, i, s, lane, offset, bytes);
        return param_pointer(w, i, s, lane, offset, bytes);
    }
    if (s->space == PTX_SPACE_GENERIC) *actual = PTX_SPACE_GLOBAL;
    if (address % bytes) exec_fault_address(w, i, lane, s, address, *actual);
    if (address - s->lo < s->limit) return (uint8_t *)address;
    struct devmem_range range;
    if (!devmem_lookup(m, address, bytes, &range) || (s->is_store && !range.writable))
        exec_fault_address(w, i, lane, s, address, *actual);
    const uint32_t whole = (uint32_t)s->count << s->log2_bytes;
    if (range.hi - range.lo >= whole) {
        s->lo = range.lo;
        s->limit = range.hi - range.lo - whole + 1;
    }
    return (uint8_t *)address;
}

void access_reset(struct exec_env *env)
{
    for (uint32_t f = 0; f < env->func_count; f++)
        for (uint32_t k = 0; k < env->func_list[f]->access_count; k++)
            env->func_list[f]->accesses[k]->lo = env->func_list[f]->accesses[k]->limit = 0;
    env->generation = env->memory->generation;
}

/* ---- bytes of local memory ---- */

void local_read(const struct exec_warp *w, uint32_t lane, uint64_t address, void *to, uint32_t bytes)
{
    for (uint32_t k = 0; k < bytes; k++)
        ((uint8_t *)to)[k] = w->local[((address + k) >> 2) * 128 + lane * 4 + ((address + k) & 3)];
}

void local_write(const struct exec_warp *w, uint32_t lane, uint64_t address, const void *from, uint32_t bytes)
{
    for (uint32_t k = 0; k < bytes; k++)
        w->local[((address + k) >> 2) * 128 + lane * 4 + ((address + k) & 3)] = ((const uint8_t *)from)[k];
}

void lane_read(struct exec_warp *w, const struct insn *i, uint32_t lane, uint64_t generic, void *to,
               uint32_t bytes)
{
    struct access s = {.space = PTX_SPACE_GENERIC, .count = 1};
    for (uint32_t k = 0; k < bytes; k++) {
        uint32_t actual;
        ((uint8_t *)to)[k] = *access_pointer(w, i, &s, lane, generic + k, 1, &actual);
    }
}

void lane_write(struct exec_warp *w, const struct insn *i, uint32_t lane, uint64_t generic, const void *from,
                uint32_t bytes)
{
    struct access s = {.space = PTX_SPACE_GENERIC, .count = 1};
    for (uint32_t k = 0; k < bytes; k++) {
        uint32_t actual;
        *access_pointer(w, i, &s, lane, generic + k, 1, &actual) = ((const uint8_t *)from)[k];
    }
}

/* ---- one lane ---- */

static void element_read(const uint8_t *p, uint32_t space, uint32_t bytes, uint64_t v[2])
{
    v[0] = v[1] = 0;
    if (space != PTX_SPACE_LOCAL || bytes <= 4) {
        memcpy(v, p, bytes);
        return;
    }
    for (uint32_t k = 0; k < bytes / 4; k++) memcpy((uint8_t *)v + 4 * k, p + 128 * k, 4);
}

static void element_write(uint8_t *p, uint32_t space, uint32_t bytes, const uint64_t v[2])
{
    if (space != PTX_SPACE_LOCAL || bytes <= 4) {
        memcpy(p, v, bytes);
        return;
    }
    for (uint32_t k = 0; k < bytes / 4; k++) memcpy(p + 128 * k, (const uint8_t *)v + 4 * k, 4);
}

/* Where element e stands: local memory of elements below a word goes on in the same word. */
static uint8_t *element_at(uint8_t *p, uint32_t space, uint32_t e, uint32_t bytes, uint64_t address)
{
    if (space != PTX_SPACE_LOCAL) return p + (uint64_t)e * bytes;
    const uint64_t to = address + (uint64_t)e * bytes;
    return p + ((to >> 2) - (address >> 2)) * 128 + (to & 3) - (address & 3);
}

static int64_t extend(uint64_t v, uint32_t bytes)
{
    const uint32_t shift = 64 - 8 * bytes;
    return (int64_t)(v << shift) >> shift;
}

void access_load_lane(struct exec_warp *w, const struct insn *i, struct access *s, uint32_t lane,
                      uint64_t address)
{
    const uint32_t bytes = 1u << s->log2_bytes;
    uint32_t space;
    uint8_t *p = access_pointer(w, i, s, lane, address, bytes * s->count, &space);
    for (uint32_t e = 0; e < s->count; e++) {
        uint64_t v[2];
        if (s->reg[e] == UINT32_MAX) continue;
        element_read(element_at(p, space, e, bytes, address), space, bytes, v);
        uint8_t *d = ref_at(w, s->reg[e]);
        if (bytes == 16) {
            memcpy(d + 16 * lane, v, 16);
            continue;
        }
        if (s->sign && bytes < 8) v[0] = (uint64_t)extend(v[0], bytes);
        if (s->reg64[e])
            ((uint64_t *)d)[lane] = v[0];
        else
            ((uint32_t *)d)[lane] = (uint32_t)v[0];
    }
}

void access_store_lane(struct exec_warp *w, const struct insn *i, struct access *s, uint32_t lane,
                       uint64_t address)
{
    const uint32_t bytes = 1u << s->log2_bytes;
    uint32_t space;
    uint8_t *p = access_pointer(w, i, s, lane, address, bytes * s->count, &space);
    for (uint32_t e = 0; e < s->count; e++) {
        uint64_t v[2] = {0, 0};
        const uint8_t *a = ref_at(w, s->reg[e]);
        if (bytes == 16)
            memcpy(v, a + 16 * lane, 16);
        else
            v[0] = s->reg64[e] ? ((const uint64_t *)a)[lane] : ((const uint32_t *)a)[lane];
        element_write(element_at(p, space, e, bytes, address), space, bytes, v);
    }
}

const struct insn *h_load(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    struct access *s = i->x.access;
    uint64_t address[LANES]; /* first: a destination may be the address register */
    FOR_LANES(lane, mask)
    address[lane] = access_address(w, s, lane);
    FOR_LANES(lane, mask)
    access_load_lane(w, i, s, lane, address[lane]);
    w->spin += s->strong;
    return i + 1;
}

const struct insn *h_store(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    struct access *s = i->x.access;
    FOR_LANES(lane, mask)
    access_store_lane(w, i, s, lane, access_address(w, s, lane));
    return i + 1;
}

/* What stands at p into the registers of every lane of the mask. */
static void load_for_all(struct exec_warp *w, const struct access *s, const uint8_t *p, uint32_t mask)
{
    const uint32_t bytes = 1u << s->log2_bytes;
    for (uint32_t e = 0; e < s->count; e++) {
        uint64_t v[2];
        if (s->reg[e] == UINT32_MAX) continue;
        element_read(p + e * bytes, PTX_SPACE_PARAM, bytes, v);
        if (s->sign && bytes < 8) v[0] = (uint64_t)extend(v[0], bytes);
        uint8_t *d = ref_at(w, s->reg[e]);
        if (bytes == 16) {
            FOR_LANES(lane, mask)
            memcpy(d + 16 * lane, v, 16);
        } else if (mask == LANES_ALL && s->reg64[e]) {
            for (uint32_t lane = 0; lane < LANES; lane++) ((uint64_t *)d)[lane] = v[0];
        } else if (mask == LANES_ALL) {
            for (uint32_t lane = 0; lane < LANES; lane++) ((uint32_t *)d)[lane] = (uint32_t)v[0];
        } else if (s->reg64[e]) {
            for (uint32_t lane = 0; lane < LANES; lane++)
                ((uint64_t *)d)[lane] = mask >> lane & 1 ? v[0] : ((uint64_t *)d)[lane];
        } else {
            for (uint32_t lane = 0; lane < LANES; lane++)
                ((uint32_t *)d)[lane] = mask >> lane & 1 ? (uint32_t)v[0] : ((uint32_t *)d)[lane];
        }
    }
}

/* The same for one element of the register's own size and all lanes: most parameters. */
typedef uint64_t pair __attribute__((vector_size(16)));
static inline void for_all64(uint8_t *d, const uint8_t *p)
{
    const pair v = (pair){} + *(const uint64_t *)p;
#pragma GCC unroll 16
    for (uint32_t k = 0; k < LANES / 2; k++) ((pair *)d)[k] = v;
}
static inline void for_all32(uint8_t *d, const uint8_t *p)
{
    const pair v = (pair){} + *(const uint32_t *)p * ((uint64_t)1 << 32 | 1);
#pragma GCC unroll 8
    for (uint32_t k = 0; k < LANES / 4; k++) ((pair *)d)[k] = v;
}

/* ld.param of a kernel at a constant place: the same for every lane. */
const struct insn *h_load_param(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    struct access *s = i->x.access;
    if (!mask) return i + 1;
    const uint8_t *p =
        param_pointer(w, i, s, lowest_lane(mask), (uint64_t)s->offset, (uint32_t)s->count << s->log2_bytes);
    const bool plain = mask == LANES_ALL && s->count == 1 && s->reg[0] != UINT32_MAX;
    if (plain && s->log2_bytes == 3 && s->reg64[0]) {
        for_all64(ref_at(w, s->reg[0]), p);
        return i + 1;
    }
    if (plain && s->log2_bytes == 2 && !s->reg64[0]) {
        for_all32(ref_at(w, s->reg[0]), p);
        return i + 1;
    }
    load_for_all(w, s, p, mask);
    return i + 1;
}

/* A variable in constant, global or shared memory. */
const struct insn *h_load_variable(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    struct access *s = i->x.access;
    uint32_t space;
    w->spin += s->strong;
    if (!mask) return i + 1;
    load_for_all(w, s,
                 access_pointer(w, i, s, lowest_lane(mask), (uint64_t)s->offset,
                                (uint32_t)s->count << s->log2_bytes, &space),
                 mask);
    return i + 1;
}

/* Local memory at one place for every lane (frame variables, spilled registers, arguments of calls): rows of
 * words. */
static uint8_t *local_row(struct exec_warp *w, const struct insn *i, struct access *s, uint32_t mask)
{
    return local_pointer(w, i, s, lowest_lane(mask), (uint64_t)s->offset + w->local_base,
                         (uint32_t)s->count << s->log2_bytes) -
           lowest_lane(mask) * 4;
}

const struct insn *h_local_load(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    struct access *s = i->x.access;
    if (!mask) return i + 1;
    const uint8_t *row = local_row(w, i, s, mask);
    for (uint32_t e = 0; e < s->count; e++) {
        if (s->reg[e] == UINT32_MAX) {
            row += s->log2_bytes == 3 ? 256 : 128;
            continue;
        }
        uint8_t *d = ref_at(w, s->reg[e]);
        const uint32_t *lo = (const uint32_t *)row, *hi = lo + LANES;
        if (s->log2_bytes == 3) {
            for (uint32_t lane = 0; lane < LANES; lane++)
                ((uint64_t *)d)[lane] =
                    mask >> lane & 1 ? lo[lane] | (uint64_t)hi[lane] << 32 : ((uint64_t *)d)[lane];
            row += 256;
        } else {
            for (uint32_t lane = 0; lane < LANES; lane++)
                ((uint32_t *)d)[lane] = mask >> lane & 1 ? lo[lane] : ((uint32_t *)d)[lane];
            row += 128;
        }
    }
    return i + 1;
}

const struct insn *h_local_store(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    struct access *s = i->x.access;
    if (!mask) return i + 1;
    uint8_t *row = local_row(w, i, s, mask);
    for (uint32_t e = 0; e < s->count; e++) {
        const uint8_t *a = ref_at(w, s->reg[e]);
        uint32_t *lo = (uint32_t *)row, *hi = lo + LANES;
        if (s->log2_bytes == 3) {
            for (uint32_t lane = 0; lane < LANES; lane++) {
                const uint64_t v = ((const uint64_t *)a)[lane];
                lo[lane] = mask >> lane & 1 ? (uint32_t)v : lo[lane];
                hi[lane] = mask >> lane & 1 ? (uint32_t)(v >> 32) : hi[lane];
            }
            row += 256;
        } else {
            for (uint32_t lane = 0; lane < LANES; lane++)
                lo[lane] = mask >> lane & 1 ? ((const uint32_t *)a)[lane] : lo[lane];
            row += 128;
        }
    }
    return i + 1;
}

const struct insn *h_prefetch(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    (void)w;
    (void)mask;
    return i + 1; /* a hint: an address that cannot be accessed is not an error */
}

/* cp.async: performed at once; waiting for it is then nothing to do. */
const struct insn *h_copy_async(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    struct copy_site *s = i->x.extra;
    FOR_LANES(lane, mask)
    {
        uint32_t bytes = s->bytes, read = s->bytes, space;
        if (s->bulk) bytes = read = ((const uint32_t *)ref_at(w, s->bulk_size))[lane];
        if (s->has_size) read = ((const uint32_t *)ref_at(w, s->size))[lane];
        if (s->has_ignore && ((*(const uint32_t *)ref_at(w, s->ignore) ^ s->ignore_xor) >> lane & 1))
            read = 0;
        if (read > bytes) exec_fault(w, i, lane, "cp.async reads %u bytes to write %u", read, bytes);
        const uint64_t to = access_address(w, s->to, lane), from = access_address(w, s->from, lane);
        const uint32_t step = s->bulk ? 16 : bytes;
        for (uint32_t k = 0; k < bytes; k += step) {
            uint64_t buffer[2] = {0, 0};
            if (k < read) {
                const uint8_t *p = access_pointer(w, i, s->from, lane, from + k, step, &space);
                memcpy(buffer, p, read - k < step ? read - k : step);
            }
            memcpy(access_pointer(w, i, s->to, lane, to + k, step, &space), buffer, step);
        }
        if (s->bulk_mbarrier) {
            uint64_t *word = (uint64_t *)access_pointer(w, i, s->mbarrier, lane,
                                                        access_address(w, s->mbarrier, lane), 8, &space);
            const uint64_t before = *word;
            *word = mbarrier_complete_tx(before, bytes);
            w->block->epoch += *word >> 63 != before >> 63; /* a phase has ended: racecheck */
        }
    }
    return i + 1;
}
