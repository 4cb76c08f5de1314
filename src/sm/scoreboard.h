/* scoreboard: from when on a warp's next instruction can issue, and where the warp waits until then.
 *
 * Every resident warp is in exactly one place: any_ready, the wheel (waits for a known cycle), wait_memory,
 * wait_barrier, wait_fence, asleep, or it has ended. */
#ifndef ATOLL_SM_SCOREBOARD_H
#define ATOLL_SM_SCOREBOARD_H

#include "llc/store_order.h"
#include "sm/sm_private.h"

_Static_assert(SM_REGS == 256, "registers in warp_op_info.any are modulo 256");

static inline int32_t later(int32_t a, int32_t b) { return a > b ? a : b; }

static inline int32_t register_ahead(const uint32_t *regs, uint32_t reg, uint64_t now)
{
    return short_ahead(regs[reg % SM_REGS], now);
}

/* How far ahead the cycle is from which every register of the next instruction can be used; SM_FAR / 4 and
 * more: one waits for memory; below 0: they have been there for long. */
static inline int32_t registers_ahead(const struct sm_warp *w, const struct warp_op_info *info, uint64_t now)
{
    const uint32_t *const regs = w->regs;
    int32_t most = 0;
    if (__builtin_expect((info->sealed & WARP_SEAL_ANY) && !w->reg_base, 1)) {
        const int32_t a = later(short_ahead(regs[info->any[0]], now), short_ahead(regs[info->any[1]], now));
        const int32_t b = later(short_ahead(regs[info->any[2]], now), short_ahead(regs[info->any[3]], now));
        return later(a, b);
    }
    for (uint32_t k = 0; k < info->src_count; k++)
        most = later(most, register_ahead(regs, w->reg_base + info->src[k], now));
    for (uint32_t k = 0; k < info->dst_count; k++)
        most = later(most, register_ahead(regs, w->reg_base + info->dst[k], now));
    return most;
}

/* The same for an operation of a run, after the one before it. */
static inline int32_t registers_ahead_in_run(const struct sm_warp *w, const struct warp_op_info *info,
                                             uint64_t now)
{
    if (__builtin_expect(!(info->sealed & WARP_SEAL_TWO) || w->reg_base, 0))
        return registers_ahead(w, info, now);
    return later(short_ahead(w->regs[info->any[0]], now), short_ahead(w->regs[info->any[1]], now));
}

/* What the instruction writes can be read from then on. */
static inline void set_registers(const struct sm_warp *w, const struct warp_op_info *info, uint32_t base,
                                 uint64_t done)
{
    if (__builtin_expect(info->dst_count == 1, 1)) {
        w->regs[(base + info->dst[0]) % SM_REGS] = short_cyc(done);
        return;
    }
    for (uint32_t k = 0; k < info->dst_count; k++) w->regs[(base + info->dst[k]) % SM_REGS] = short_cyc(done);
}

/* Does the instruction wait for stores that the warp has on their way? */
static inline bool waits_for_stores(const struct sm_warp *w)
{
    if (FAULT_FIRES(fence_waits_not)) return false;
    return w->stores && w->next->flags & WARP_F_RELEASE && w->next->scope >= WARP_SCOPE_GPU;
}

static inline void sleep_until(struct sm *sm, uint32_t warp, uint64_t cyc, uint64_t now)
{
    uint64_t slot_cyc = cyc;
    if (__builtin_expect(cyc - now >= SM_WHEEL, 0)) {
        slot_cyc = now + SM_WHEEL - 1;
        sm->far |= bit_of(warp);
        sm->warps[warp].ready_cyc = cyc;
    }
    sm->wheel[slot_cyc % SM_WHEEL] |= bit_of(warp);
    sm->wheel_used |= (uint64_t)1 << slot_cyc % SM_WHEEL;
    sm->sleeping |= bit_of(warp);
}

/* The next instruction waits for nothing but its registers. */
static inline void wait_for_registers(struct sm *sm, struct sm_warp *w, uint32_t warp, uint64_t earliest_cyc,
                                      uint64_t now)
{
    const int32_t ahead = registers_ahead(w, w->next, now);
    if (__builtin_expect(ahead >= (int32_t)(SM_FAR / 4), 0)) {
        w->ready_cyc = earliest_cyc; /* holds when memory has answered, too */
        sm->wait_memory |= bit_of(warp);
        return;
    }
    const uint64_t ready = now + (uint64_t)(int64_t)later(ahead, 0);
    sleep_until(sm, warp, ready > earliest_cyc ? ready : earliest_cyc, now);
}

/* The same for the instruction after one of a run. It may issue in the next cycle: then the warp stays among
 * the ready ones, because its scheduler has issued in this one. */
static inline void wait_in_run(struct sm *sm, struct sm_warp *w, uint64_t bit, uint64_t now)
{
    const int32_t ahead = registers_ahead_in_run(w, w->next, now);
    if (ahead <= 1) return;
    sm->any_ready &= ~bit;
    if (__builtin_expect(ahead >= SM_WHEEL, 0)) {
        sm_wait_long(sm, (uint32_t)(w - sm->warps), (uint32_t)ahead, now);
        return;
    }
    const uint32_t slot = (uint32_t)(now + (uint32_t)ahead) % SM_WHEEL;
    sm->wheel[slot] |= bit;
    sm->wheel_used |= (uint64_t)1 << slot;
    sm->sleeping |= bit;
}

static inline void reconsider(struct sm *sm, struct sm_warp *w, uint32_t warp, uint64_t earliest_cyc,
                              uint64_t now)
{
    const bool stores = w->stores && waits_for_stores(w);
    if (stores || (w->copies && w->next->class == WARP_CLASS_WAIT)) {
        w->ready_cyc = earliest_cyc;
        *(stores ? &sm->wait_fence : &sm->wait_memory) |= bit_of(warp);
        return;
    }
    wait_for_registers(sm, w, warp, earliest_cyc, now);
}

static inline void set_next(struct sm *sm, struct sm_warp *w, uint64_t bit, const struct warp_op_info *info)
{
    sm->of_unit[w->class.unit] ^= bit;
    w->next = info;
    w->class = sm->spec->classes[sm_class_idx(info->space, info->class)];
    sm->of_unit[w->class.unit] ^= bit;
}

/* The next one of a run. */
static inline void set_next_in_run(struct sm *sm, struct sm_warp *w, uint64_t bit,
                                   const struct warp_op_info *info)
{
    if (info->sealed & WARP_SEAL_LIKE)
        w->next = info;
    else
        set_next(sm, w, bit, info);
}

/* Those of a run are all inside. A warp that ends is noticed when its block ends with it. */
static inline void set_outward(struct sm *sm, uint32_t warp, const struct warp_op_info *info)
{
    if (__builtin_expect(sm->wire.store_order != NULL, 0)) {
        const bool orders = info->flags & WARP_F_RELEASE && info->scope >= WARP_SCOPE_GPU;
        sm->releases = (sm->releases & ~bit_of(warp)) | (uint64_t)orders << warp;
    }
    if (__builtin_expect(info->class == WARP_CLASS_EXIT, 0)) {
        sm_leaves(sm, warp);
        return;
    }
    sm->outward = (sm->outward & ~bit_of(warp)) | (uint64_t) !(info->flags & WARP_F_INSIDE) << warp;
}

/* Most masks are full. Others by sums of neighbouring bits: without a popcnt instruction __builtin_popcount()
 * is a call. */
static inline uint32_t lanes_in(uint32_t mask)
{
    if (__builtin_expect(mask == UINT32_MAX, 1)) return SM_LANES;
    mask -= mask >> 1 & 0x55555555u;
    mask = (mask & 0x33333333u) + (mask >> 2 & 0x33333333u);
    return ((mask + (mask >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

/* Occupies the banks; returns when the registers are there. */
static inline uint64_t use_banks(struct sm *sm, uint32_t cycles, uint64_t now)
{
    const uint64_t start = sm->shared_free_cyc > now ? sm->shared_free_cyc : now;
    sm->shared_free_cyc = start + cycles;
    sm->stats.shared_instructions++;
    sm->stats.shared_conflict_cycles += cycles - 1;
    return start + sm->spec->shared_latency_cyc + cycles - 1;
}

#endif
