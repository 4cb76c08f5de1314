/* blocks: which blocks are resident, and what limits them. */
#include <string.h>

#include "sm/sm_private.h"

uint32_t sm_fitting_blocks(const struct sm_spec *spec, const struct sm_kernel *k, const char **why)
{
    const struct {
        const char *what;
        uint64_t have, need;
    } limits[] = {
        {"sm.block_slots", spec->block_slots, 1},
        {"sm.warps", spec->warps, k->warps_per_block},
        {"sm.threads", spec->threads, (uint64_t)k->warps_per_block * SM_LANES},
        {"sm.registers", spec->registers, k->registers_per_block},
        {"sm.shared_size", spec->shared_bytes, k->shared_per_block},
    };
    uint64_t fitting = UINT32_MAX;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (!limits[i].need || limits[i].have / limits[i].need >= fitting) continue;
        fitting = limits[i].have / limits[i].need;
        *why = limits[i].what;
    }
    return (uint32_t)fitting;
}

bool sm_has_room(const struct sm *sm, const struct sm_kernel *k)
{
    const struct sm_spec *s = sm->spec;
    return sm->block_count < s->block_slots && sm->resident_count + k->warps_per_block <= s->warps &&
           sm->threads_used + k->warps_per_block * SM_LANES <= s->threads &&
           sm->registers_used + k->registers_per_block <= s->registers &&
           sm->shared_used + k->shared_per_block <= s->shared_bytes;
}

static void start_warp(struct sm *sm, uint32_t slot, uint32_t idx, uint32_t warp, uint64_t now)
{
    struct sm_warp *w = &sm->warps[warp];
    struct sm_block *b = &sm->blocks[slot];
    uint32_t *const regs = sm_regs(sm, warp);
    for (uint32_t k = 0; k < sm->reg_stride; k += SM_REGS_LINE)
        for (uint32_t n = 0; n < SM_REGS_LINE; n++) regs[k + n] = short_cyc(now);
    sm->sources[warp] = (struct sm_warp_source){
        .self = b->source.self, .step = b->source.step, .clock = b->clock, .woken = b->source.woken};
    w->block = (uint8_t)slot;
    w->idx = (uint8_t)idx;
    w->generation++;
    w->stores = w->copies = 0;
    sm->fence_cyc[warp] = 0;
    sm->releases &= ~bit_of(warp);
    w->run = 0;
    sm->leaving &= ~bit_of(warp);
    sm_next(sm, warp, now + sm->spec->start_latency_cyc, now);
}

uint32_t sm_take_slot(struct sm *sm, uint32_t place, uint64_t block, uint64_t start_cyc, uint64_t now)
{
    const struct sm_kernel *k = sm->places[place].kernel;
    uint32_t slot = 0;
    sm_settle_cycles(sm, now);
    sm_all_changed(sm);
    while (sm->blocks[slot].used) slot++;
    struct sm_block *b = &sm->blocks[slot];
    *b = (struct sm_block){.idx = block,
                           .start_cyc = start_cyc,
                           .warps_left = k->warps_per_block,
                           .place = (uint8_t)place,
                           .used = true};
    sm->block_count++;
    sm->places[place].blocks++;
    sm->places[place].drained = false;
    sm->threads_used += k->warps_per_block * SM_LANES;
    sm->registers_used += k->registers_per_block;
    sm->shared_used += k->shared_per_block;
    sm->resident_count += k->warps_per_block;
    for (uint32_t n = 0; n < k->warps_per_block; n++) {
        const uint32_t warp = (uint32_t)__builtin_ctzll(~sm->resident);
        b->warps |= bit_of(warp);
        b->slot_of[n] = (uint8_t)warp;
        sm->resident |= bit_of(warp);
    }
    sm->by_age[sm->block_count - 1] = b->warps;
    return slot;
}

void sm_start_warps(struct sm *sm, uint32_t slot, uint64_t now)
{
    const uint32_t count = sm->blocks[slot].warps_left;
    sm->blocks[slot].since_cyc = now;
    for (uint32_t n = 0; n < count; n++) start_warp(sm, slot, n, sm->blocks[slot].slot_of[n], now);
}

void sm_release_slot(struct sm *sm, uint32_t slot, uint64_t now)
{
    struct sm_block *b = &sm->blocks[slot];
    const struct sm_kernel *k = sm_kernel_of(sm, b);
    sm_settle_cycles(sm, now);
    sm_all_changed(sm);
    uint32_t age = 0;
    while (sm->by_age[age] != b->warps) age++;
    memmove(sm->by_age + age, sm->by_age + age + 1, (sm->block_count - age - 1) * sizeof *sm->by_age);
    sm->resident &= ~b->warps;
    sm->resident_count -= k->warps_per_block;
    b->used = false;
    sm->ending -= !b->warps_left;
    sm->block_count--;
    sm->places[b->place].blocks--;
    sm->threads_used -= k->warps_per_block * SM_LANES;
    sm->registers_used -= k->registers_per_block;
    sm->shared_used -= k->shared_per_block;
}

/* The next block of the first kernel that has one for which there is room; *place: whose. */
static uint64_t ask_for_block(struct sm *sm, uint64_t now, uint32_t *place)
{
    sm->wants_blocks = false; /* until a block ends or has left, or a kernel begins */
    sm->start_cyc = ENGINE_NEVER;
    for (uint32_t n = 0; n < sm->place_count; n++) {
        struct sm_place *p = &sm->places[sm->order[n]];
        const struct sm_kernel *k = p->kernel;
        if (!p->wants) continue;
        if (now >= p->start_cyc) {
            const uint64_t idx = sm_has_room(sm, k) ? k->next(k->self, sm->wire.sm_idx) : UINT64_MAX;
            *place = sm->order[n];
            if (idx != UINT64_MAX) {
                sm->wants_blocks = true;
                sm->start_cyc = now;
                return idx;
            }
            p->wants = false;
            continue;
        }
        sm->wants_blocks = true;
        if (p->start_cyc < sm->start_cyc) sm->start_cyc = p->start_cyc;
    }
    return UINT64_MAX;
}

/* Takes one more block when there is one and room for it. */
bool sm_try_start(struct sm *sm, uint64_t now)
{
    uint32_t place = 0;
    if (now < sm->start_cyc) return false;
    const uint64_t idx = ask_for_block(sm, now, &place);
    if (idx == UINT64_MAX) return false;
    const struct sm_kernel *k = sm->places[place].kernel;
    const uint32_t slot = sm_take_slot(sm, place, idx, now, now);
    struct sm_block *b = &sm->blocks[slot];
    b->source = k->open(k->self, idx, sm->wire.sm_idx, &b->clock);
    sm->stats.blocks_started++;
    sm_start_warps(sm, slot, now);
    return true;
}

/* Where all warps that are left are about to end, each of them may be the last one. */
static void look_at_leaving(struct sm *sm, const struct sm_block *b)
{
    if (b->leaving == b->warps_left) sm->outward |= sm->leaving & b->warps;
}

void sm_leaves(struct sm *sm, uint32_t warp)
{
    struct sm_block *const b = &sm->blocks[sm->warps[warp].block];
    b->leaving += !(sm->leaving & bit_of(warp));
    sm->leaving |= bit_of(warp);
    sm->outward &= ~bit_of(warp);
    look_at_leaving(sm, b);
}

void sm_has_left(struct sm *sm, uint32_t warp)
{
    sm->blocks[sm->warps[warp].block].leaving--;
    sm->leaving &= ~bit_of(warp);
}

void sm_warp_done(struct sm *sm, uint32_t warp, uint64_t now)
{
    const uint32_t slot = sm->warps[warp].block;
    sm->wait_barrier &= ~bit_of(warp);
    if (!--sm->blocks[slot].warps_left) sm->ending++;
    look_at_leaving(sm, &sm->blocks[slot]);
    sm_check_block(sm, slot, now);
}

/* Ends the block when its warps have ended and nothing of it is on its way back. */
void sm_check_block(struct sm *sm, uint32_t slot, uint64_t now)
{
    struct sm_block *b = &sm->blocks[slot];
    const struct sm_kernel *k = sm_kernel_of(sm, b);
    if (b->warps_left || b->loads || (sm->move.state != MOVE_NONE && sm->move.slot == slot)) return;
    k->close(k->self, &b->source);
    sm_release_slot(sm, slot, now);
    sm->stats.blocks_ended++;
    k->block_ended(k->self, sm->wire.sm_idx, b->idx, b->start_cyc, now);
}
