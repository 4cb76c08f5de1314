/* op_detail: what one execution adds to it: addresses, mostly, as the timing model sees them. */
#include "exec/op_info.h"

/* Local memory has simulated addresses after the launch's shared and parameter windows: one row of words per
 * warp. */
static uint64_t simulated(const struct exec_warp *w, uint32_t space, uint64_t address, uint32_t lane)
{
    switch (space) {
    case PTX_SPACE_SHARED:
    case PTX_SPACE_PARAM: return address;
    case PTX_SPACE_LOCAL: {
        const uint64_t warp = w->block->block_idx * w->block->warp_count + w->idx;
        return w->env->memory->sim_base - DEVMEM_SIM_SLOT_BYTES / 4 +
               (warp * w->local_bytes + (address & ~(uint64_t)3)) * LANES + lane * 4 + (address & 3);
    }
    default: return devmem_simulated(w->env->memory, address);
    }
}

static uint32_t resolve(const struct exec_warp *w, const struct access *s, uint64_t *address)
{
    if (s->space == PTX_SPACE_SHARED_CLUSTER) return PTX_SPACE_SHARED;
    if (s->space != PTX_SPACE_GENERIC) return s->space;
    const uint64_t offset = *address - w->env->memory->base;
    if (offset >= 3 * DEVMEM_WINDOW_BYTES) return PTX_SPACE_GLOBAL;
    *address = offset % DEVMEM_WINDOW_BYTES;
    const uint64_t window = offset / DEVMEM_WINDOW_BYTES;
    return window == 0 ? PTX_SPACE_LOCAL : window == 1 ? PTX_SPACE_SHARED : PTX_SPACE_PARAM;
}

static inline const struct memory_handlers *handlers_of(const struct exec_warp *w)
{
    return w->env->options.isa == LANES_PLAIN ? &memory_plain : &memory_avx2;
}

/* Global accesses through a 64-bit register into the reserved range, without a branch per lane; false when a
 * lane lies elsewhere. Lanes that do not take part get any address. */
static bool fill_global(const struct exec_warp *w, const struct access *s, struct warp_op *out)
{
    const struct devmem *m = w->env->memory;
    const uint64_t *const reg = (const uint64_t *)ref_at(w, s->address);
    const uint64_t delta = (uint64_t)s->offset - m->base;
    const uint32_t size_log2 = 63 - (uint32_t)__builtin_clzll(m->size);
    const uint64_t any = handlers_of(w)->shift_addresses(reg, delta, m->sim_base, out->address);
    out->space = WARP_SPACE_GLOBAL;
    if (!(any >> size_log2)) return true;
    FOR_LANES(lane, out->mask)
    if ((reg[lane] + delta) >> size_log2) return false;
    return true;
}

/* Offsets in shared memory. */
static void fill_shared(const struct exec_warp *w, const struct access *s, struct warp_op *out)
{
    const void *const reg = ref_at(w, s->address);
    const uint64_t offset = (uint64_t)s->offset;
    out->space = WARP_SPACE_SHARED;
    if (s->is_constant)
        for (uint32_t lane = 0; lane < LANES; lane++) out->address[lane] = offset;
    else if (s->address64)
        for (uint32_t lane = 0; lane < LANES; lane++)
            out->address[lane] = ((const uint64_t *)reg)[lane] + offset;
    else
        for (uint32_t lane = 0; lane < LANES; lane++)
            out->address[lane] = (uint32_t)(((const uint32_t *)reg)[lane] + (uint32_t)offset);
}

/* All lanes, and they lie in groups of eight: most accesses. */
static bool fill_groups(const struct exec_warp *w, const struct access *s, struct warp_op *out)
{
    const uint32_t bytes = out->info->bytes;
    if (out->mask != LANES_ALL || bytes & (bytes - 1) || !bytes) return false;
    const bool atomic = out->info->class != WARP_CLASS_LOAD && out->info->class != WARP_CLASS_STORE;
    if (atomic || (s->space != PTX_SPACE_SHARED && (s->space != PTX_SPACE_GLOBAL || !s->address64)))
        return false;
    const uint32_t unit = handlers_of(w)->groups[s->address64](ref_at(w, s->address),
                                                               (uint32_t)__builtin_ctz(bytes), out->base);
    if (unit == UINT32_MAX) return false;
    uint64_t shift = (uint64_t)s->offset;
    if (s->space == PTX_SPACE_GLOBAL) {
        const struct devmem *m = w->env->memory;
        uint64_t outside = 0;
        for (uint32_t g = 0; g < 4; g++) outside |= out->base[g] + shift - m->base;
        if (outside >> (63 - (uint32_t)__builtin_clzll(m->size))) return false;
        shift += m->sim_base - m->base;
    }
    for (uint32_t g = 0; g < 4; g++) out->base[g] += shift;
    if (!s->address64)
        for (uint32_t g = 0; g < 4; g++) out->base[g] = (uint32_t)out->base[g];
    out->space = (uint8_t)warp_space_of(s->space);
    out->unit = (uint8_t)unit;
    out->grouped = 1;
    return true;
}

/* Through a slope, in the reserved range: the same without a look at the lanes. */
static bool fill_even(const struct exec_warp *w, const struct access *s, struct warp_op *out)
{
    const struct slope at = *slope_at(w, s->slope);
    const struct devmem *m = w->env->memory;
    const uint64_t first = at.base + (uint64_t)s->offset - m->base, last = first + (LANES - 1) * at.step;
    const bool unit = at.step == out->info->bytes;
    if ((out->mask & at.lanes) != LANES_ALL || (!unit && at.step) ||
        (first | last) >> (63 - (uint32_t)__builtin_clzll(m->size))) {
        slope_spread(w, s->slope, s->address, out->mask);
        return false;
    }
    for (uint32_t g = 0; g < 4; g++) out->base[g] = m->sim_base + first + 8 * g * at.step;
    out->space = WARP_SPACE_GLOBAL;
    out->unit = unit ? 15 : 0;
    out->grouped = 1;
    return true;
}

static void fill_addresses(const struct exec_warp *w, const struct insn *i, struct warp_op *out)
{
    const struct access *s = access_of(i);
    if (s->slope != REF_NONE && fill_even(w, s, out)) return;
    if (!s->is_constant && fill_groups(w, s, out)) return;
    if (s->space == PTX_SPACE_GLOBAL && s->address64 && !s->is_constant && fill_global(w, s, out)) return;
    if (s->space == PTX_SPACE_SHARED) {
        fill_shared(w, s, out);
        return;
    }
    uint32_t space = UINT32_MAX, others = 0;
    FOR_LANES(lane, out->mask)
    {
        uint64_t address = access_address(w, s, lane);
        const uint32_t actual = resolve(w, s, &address);
        if (space == UINT32_MAX) space = actual;
        if (actual != space)
            others |= 1u << lane;
        else
            out->address[lane] = simulated(w, actual, address, lane);
    }
    out->spilled = others != 0;
    out->mask &= ~others;
    if (space != UINT32_MAX) out->space = (uint8_t)warp_space_of(space);
}

void exec_describe_detail(struct exec_warp *w, const struct insn *i, struct warp_op *out)
{
    switch (out->info->detail) {
    case DETAIL_EVEN:
    case DETAIL_ADDRESS: fill_addresses(w, i, out); break;
    case DETAIL_TEXTURE: texture_describe(w, i, out); break;
    case DETAIL_SURFACE: surface_describe(w, i, out); break;
    case DETAIL_BARRIER:
        out->barrier = (uint8_t)((const uint32_t *)ref_at(w, i->a))[lowest_lane(out->mask)];
        break;
    default: out->sleep_ns = ((const uint32_t *)ref_at(w, i->a))[lowest_lane(out->mask)]; break;
    }
}
