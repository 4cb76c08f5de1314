/* system_testbed: fixture of the tests of SM, L1, MMU, LLC, pages and control: a small machine, and warps
 * that execute a list of operations given in the test. The fixture records the cycle of every issue. It uses
 * the SMs below system/kernel.c, so neither epochs nor kernel boundaries run unless the test calls them.
 *
 *   static const struct bed_op ops[] = {BED_LOAD(0x1000, 1), BED_USE(1), BED_END};
 *   bed_open(&b, "l1.latency_cyc=28"); bed_run(&b, ops, 1, 1); assert(bed_cyc(&b, 0, 0, 1) == ...);
 *
 * Default machine: one SM, one slice, one channel, all clocks at 1 GHz, ideal address translation. */
#ifndef ATOLL_TESTS_SYSTEM_TESTBED_H
#define ATOLL_TESTS_SYSTEM_TESTBED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "base/map.h"
#include "config/machine.h"
#include "sm/sm_private.h"
#include "system/rules.h"
#include "system/system_private.h"

enum { BED_EVENTS = 1 << 16, BED_NO_REG = 0xff, BED_OPS_MAX = 256, BED_WARPS_MAX = 64, BED_SMS = 256 };

/* One warp instruction. Lane n of mask accesses base + n * stride + by_warp * warp + by_block * block.
 * stride 0: the size of an element. Blocks with a number below from_block skip the instruction. */
struct bed_op {
    uint8_t class, space, flags, scope;
    uint8_t dst, src; /* BED_NO_REG: none */
    uint16_t bytes;
    uint32_t mask; /* bit per active lane; 0: all lanes */
    uint32_t sleep_ns;
    uint64_t base;
    int64_t stride, by_warp, by_block;
    uint64_t from_block;
    bool uniform;           /* all lanes access the same address */
    uint64_t scatter_lines; /* each execution adds a pseudo-random line offset below this number; 0: none */
    uint32_t touch;         /* TEXTURE: texels per lane, of `bytes` bytes each */
    uint64_t apart;         /* TEXTURE: bytes between two texels of a lane */
};

#define BED_END \
    { \
        .class = WARP_CLASS_EXIT, .dst = BED_NO_REG, .src = BED_NO_REG \
    }
#define BED_ARITH(class_, dst_, src_) \
    { \
        .class = WARP_CLASS_##class_, .dst = (dst_), .src = (src_) \
    }
#define BED_USE(src_) BED_ARITH(INT, BED_NO_REG, src_)
#define BED_MEMORY(class_, base_, dst_, src_, ...) \
    { \
        .class = WARP_CLASS_##class_, .space = WARP_SPACE_GLOBAL, .base = (base_), .dst = (dst_), \
        .src = (src_), __VA_ARGS__ \
    }
#define BED_LOAD(base_, dst_, ...)  BED_MEMORY(LOAD, base_, dst_, BED_NO_REG, __VA_ARGS__)
#define BED_STORE(base_, src_, ...) BED_MEMORY(STORE, base_, BED_NO_REG, src_, __VA_ARGS__)
#define BED_BARRIER \
    { \
        .class = WARP_CLASS_BARRIER, .dst = BED_NO_REG, .src = BED_NO_REG \
    }

struct bed_event {
    uint64_t cyc, block;
    uint32_t warp, pc, sm;
};

struct bed_block {
    struct bed *bed;
    uint64_t idx, clock, woken, waiting;
    uint32_t sm;
    uint32_t pc[BED_WARPS_MAX];
    bool blocked[BED_WARPS_MAX];
    uint64_t texels[SM_TEXELS];
};

struct bed {
    struct machine machine;
    struct stats_registry stats;
    struct system *system;
    struct sm_kernel kernel;
    const struct bed_op *ops;                    /* operations of the warps without an entry in of_warp */
    const struct bed_op *of_warp[BED_WARPS_MAX]; /* operations of one warp; NULL: ops */
    struct warp_op_info infos[BED_WARPS_MAX][BED_OPS_MAX];
    uint32_t warps;
    uint64_t blocks, next_block, ended;
    uint64_t start_cyc, end_cyc;
    uint32_t blocks_of_sm[BED_SMS], drained;
    uint32_t only_sms; /* only SMs below this number get blocks; 0: all SMs */
    uint32_t parts; /* number of contiguous parts of the grid, one per part of the SMs; 0: blocks in order */
    uint64_t next_of[8]; /* [part] next block of the part */
    struct bed_event *events;
    uint32_t event_count;
    bool over;
};

static inline const struct bed_op *bed_ops_of(const struct bed *b, uint32_t warp)
{
    return b->of_warp[warp] ? b->of_warp[warp] : b->ops;
}

/* ---- source of instructions ---- */

static inline void bed_skip_ops(struct bed_block *k, uint32_t warp)
{
    while (bed_ops_of(k->bed, warp)[k->pc[warp]].from_block > k->idx) k->pc[warp]++;
}

static inline enum warp_step bed_peek(void *self, uint32_t warp, struct warp_next *next)
{
    struct bed_block *k = self;
    if (k->blocked[warp]) return WARP_STEP_WAIT;
    const uint32_t pc = k->pc[warp];
    if (pc && bed_ops_of(k->bed, warp)[pc - 1].class == WARP_CLASS_EXIT) return WARP_STEP_DONE;
    bed_skip_ops(k, warp);
    *next = (struct warp_next){.info = &k->bed->infos[warp][k->pc[warp]]};
    return WARP_STEP_OP;
}

static inline void bed_arrive(struct bed_block *k, uint32_t warp)
{
    k->waiting |= (uint64_t)1 << warp;
    if ((uint32_t)__builtin_popcountll(k->waiting) < k->bed->warps) {
        k->blocked[warp] = true;
        return;
    }
    k->woken |= k->waiting & ~((uint64_t)1 << warp);
    k->waiting = 0;
    memset(k->blocked, 0, sizeof k->blocked);
}

static inline enum warp_step bed_step(void *self, uint32_t warp, struct warp_op *out, struct warp_next *next)
{
    struct bed_block *k = self;
    struct bed *b = k->bed;
    bed_skip_ops(k, warp);
    const uint32_t pc = k->pc[warp]++;
    const struct bed_op *op = &bed_ops_of(b, warp)[pc];
    out->info = &b->infos[warp][pc];
    out->active = out->mask = op->mask ? op->mask : UINT32_MAX;
    out->reg_base = 0;
    out->space = op->space;
    out->read_only = (op->flags & WARP_F_READ_ONLY) != 0;
    out->sleep_ns = op->sleep_ns;
    const uint64_t scattered =
        op->scatter_lines ? hash_u64((k->idx << 16 | warp) << 16 | pc) % op->scatter_lines * LINE_BYTES : 0;
    const int64_t stride = op->uniform ? 0 : op->stride ? op->stride : out->info->bytes;
    for (uint32_t lane = 0; lane < 32; lane++)
        out->address[lane] =
            op->base + scattered +
            (uint64_t)((int64_t)lane * stride + (int64_t)warp * op->by_warp + (int64_t)k->idx * op->by_block);
    out->texel_count = 0;
    out->texel_bytes = (uint8_t)out->info->bytes;
    out->texels = k->texels;
    for (uint32_t n = 0; n < 32 * op->touch; n++)
        k->texels[out->texel_count++] = out->address[n / op->touch] + n % op->touch * op->apart;
    if (op->class == WARP_CLASS_BARRIER) bed_arrive(k, warp);
    if (b->event_count < BED_EVENTS)
        b->events[b->event_count++] =
            (struct bed_event){.cyc = k->clock, .block = k->idx, .warp = warp, .pc = pc, .sm = k->sm};
    return bed_peek(self, warp, next);
}

static inline struct warp_source bed_open_block(void *self, uint64_t block, uint32_t sm, uint64_t **clock)
{
    struct bed *b = self;
    struct bed_block *k = calloc(1, sizeof *k);
    assert_non_null(k);
    k->bed = b;
    k->idx = block;
    k->sm = sm;
    *clock = &k->clock;
    return (struct warp_source){.step = bed_step, .peek = bed_peek, .woken = &k->woken, .self = k};
}

static inline void bed_close_block(void *self, struct warp_source *source)
{
    (void)self;
    free(source->self);
}

static inline uint64_t bed_next_block(void *self, uint32_t sm)
{
    struct bed *b = self;
    if (b->next_block == b->blocks || (b->only_sms && sm >= b->only_sms)) return UINT64_MAX;
    b->blocks_of_sm[sm]++;
    if (!b->parts) return b->next_block++;
    const uint32_t part = sm / (b->system->sm_count / b->parts);
    if (b->next_of[part] == b->blocks / b->parts) return UINT64_MAX;
    return part * (b->blocks / b->parts) + b->next_of[part]++;
}

static inline void bed_block_ended(void *self, uint32_t sm, uint64_t block, uint64_t start_cyc, uint64_t now)
{
    struct bed *b = self;
    (void)block;
    (void)start_cyc;
    (void)now;
    b->ended++;
    sm_ask(b->system->sms[sm]);
}

static inline void bed_drained(void *self, uint32_t sm, uint64_t now)
{
    struct bed *b = self;
    (void)sm;
    (void)now;
    for (uint32_t k = 0; k < b->system->sm_count; k++)
        if (!sm_idle_of(b->system->sms[k], &b->kernel)) return;
    if (b->ended < b->blocks) return;
    b->over = true;
    engine_stop(b->system->engine);
}

/* ---- machine ---- */

static const char bed_machine[] = "description: of the tests\n"
                                  "gpu: {llc_size: 128 KiB, memory_size: 64 MiB}\n"
                                  "chiplet: {partitions: 1}\n"
                                  "partition: {sms: 1, slices: 1, channels: 1}\n"
                                  "clock: {sm: 1 GHz, net: 1 GHz, llc: 1 GHz, dram: 1 GHz}\n"
                                  "mmu: {mode: ideal}\n"
                                  "sm: {schedulers: 1, start_latency_cyc: 1}\n";

/* Builds a machine. `preset`: NULL for the default machine. `settings`: "a.b=c;d.e=f"; NULL: none. */
static inline void bed_open_any(struct bed *b, const char *preset, const char *settings, bool check)
{
    memset(b, 0, sizeof *b);
    machine_init(&b->machine);
    if (preset)
        machine_load(&b->machine, preset);
    else
        machine_load_text(&b->machine, "testbed", bed_machine, strlen(bed_machine));
    for (const char *from = settings; from && *from;) {
        const char *const end = strchrnul(from, ';');
        char one[256];
        (void)snprintf(one, sizeof one, "%.*s", (int)(end - from), from);
        machine_set(&b->machine, one);
        from = *end ? end + 1 : end;
    }
    machine_finish(&b->machine, &system_rules);
    stats_init(&b->stats, 1000);
    b->system = system_new(&b->machine.config, &b->stats, check);
    b->events = calloc(BED_EVENTS, sizeof *b->events);
    assert_non_null(b->events);
}

static inline void bed_open_machine(struct bed *b, const char *preset, const char *settings)
{
    bed_open_any(b, preset, settings, false);
}
static inline void bed_open(struct bed *b, const char *settings) { bed_open_machine(b, NULL, settings); }

static inline void bed_close(struct bed *b)
{
    system_free(b->system);
    stats_free(&b->stats);
    machine_free(&b->machine);
    free(b->events);
}

/* ---- runs ---- */

static inline void bed_describe(struct bed *b, uint32_t warp)
{
    const struct bed_op *ops = bed_ops_of(b, warp);
    for (uint32_t pc = 0;; pc++) {
        assert_true(pc < BED_OPS_MAX);
        struct warp_op_info *info = &b->infos[warp][pc];
        *info = (struct warp_op_info){.class = ops[pc].class,
                                      .space = ops[pc].space,
                                      .scope = ops[pc].scope,
                                      .flags = ops[pc].flags,
                                      .bytes = ops[pc].bytes ? ops[pc].bytes : 4,
                                      .pc = pc};
        if (ops[pc].dst != BED_NO_REG) info->dst[info->dst_count++] = ops[pc].dst;
        if (ops[pc].src != BED_NO_REG) info->src[info->src_count++] = ops[pc].src;
        if (ops[pc].class == WARP_CLASS_EXIT) return;
    }
}

/* Starts a grid. Earlier grids may have run on the machine. The first instruction can issue at
 * b->start_cyc + sm.start_latency_cyc. */
static inline void bed_begin(struct bed *b, const struct bed_op *ops, uint32_t warps, uint64_t blocks)
{
    struct system *g = b->system;
    b->ops = ops;
    b->warps = warps;
    b->blocks = blocks;
    b->next_block = b->ended = 0;
    memset(b->next_of, 0, sizeof b->next_of);
    b->event_count = 0;
    b->over = false;
    memset(b->blocks_of_sm, 0, sizeof b->blocks_of_sm);
    for (uint32_t warp = 0; warp < warps; warp++) bed_describe(b, warp);
    b->kernel.warps_per_block = warps;
    b->kernel.threads_per_block = warps * 32;
    b->kernel.scoreboard = SM_REGS;
    b->kernel.self = b;
    b->kernel.open = bed_open_block;
    b->kernel.close = bed_close_block;
    b->kernel.next = bed_next_block;
    b->kernel.block_ended = bed_block_ended;
    b->kernel.drained = bed_drained;
    b->kernel.structures = structures_begin(&g->arena, g->config, &(struct launch_facts){0});
    if (g->check) b->kernel.number = check_kernel_begin(g->check, "bed");
    b->start_cyc = system_now(g) + 1;
    for (uint32_t k = 0; k < g->sm_count; k++) sm_begin(g->sms[k], &b->kernel, b->start_cyc);
    engine_work_begins(g->engine);
}

/* Runs the grid to its end. */
static inline void bed_finish(struct bed *b)
{
    struct system *g = b->system;
    while (!b->over)
        if (engine_run(g->engine, system_now(g) + 100000) == ENGINE_IDLE && !b->over)
            diag_bug("bed", system_now(g), "nothing is due:\n%s", engine_wait_report(g->engine));
    engine_work_ends(g->engine);
    b->end_cyc = system_now(g);
    for (uint32_t k = 0; k < g->sm_count; k++) sm_end(g->sms[k], &b->kernel, system_now(g));
    if (g->check) check_kernel_end(g->check, b->kernel.number, false, system_now(g));
}

static inline void bed_run(struct bed *b, const struct bed_op *ops, uint32_t warps, uint64_t blocks)
{
    bed_begin(b, ops, warps, blocks);
    bed_finish(b);
}

/* Issue cycle of an instruction, relative to the first possible issue cycle. Fails the test if the
 * instruction never issued. */
static inline uint64_t bed_cyc(const struct bed *b, uint64_t block, uint32_t warp, uint32_t pc)
{
    for (uint32_t k = 0; k < b->event_count; k++) {
        const struct bed_event *e = &b->events[k];
        if (e->block == block && e->warp == warp && e->pc == pc)
            return e->cyc - b->start_cyc - b->machine.config.sm.start_latency_cyc;
    }
    fail_msg("block %llu warp %u never issued instruction %u", (unsigned long long)block, warp, pc);
    return 0;
}

static inline struct stats bed_stats(struct bed *b)
{
    struct stats s;
    stats_sum(&b->stats, STATS_EVERYWHERE, &s);
    return s;
}

/* Places the pages of [from, from + bytes) as on a first access of this SM. */
static inline void bed_touch(struct bed *b, uint32_t sm, uint64_t from, uint64_t bytes)
{
    struct mmu *m = b->system->mmus[sm / config_sms_per_gpu(&b->machine.config)];
    const uint32_t log2 = mmu_page_log2(m);
    for (uint64_t page = from >> log2; page << log2 < from + bytes; page++)
        mmu_touch(m, sm, pages_key(0, page));
}

/* Drains the machine: runs until no event is pending. */
static inline void bed_settle(struct bed *b) { (void)engine_run(b->system->engine, ENGINE_NEVER); }

/* Runs a test body. A user error or internal error that the body raises fails the test with its message. */
static inline void bed_test(diag_body_fn *body)
{
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, body, NULL) != DIAG_NONE) fail_msg("%s", d.text);
    diag_clear(&d);
}

/* Defines a test whose body runs inside diag_run(). */
#define BED_TEST(name) \
    static void name##_body(void *arg); \
    static void name(void **state) \
    { \
        (void)state; \
        bed_test(name##_body); \
    } \
    static void name##_body(void *arg __attribute__((unused)))

#endif
