/* One instruction at a time: the same results as a run, the operations that timing needs, blocks that move.
 */
#include "exec/machine.h"
#include "exec_fixture.h"
#include "runtime_testbed.h"

/* Tree reduction in shared memory with barriers, divergence, an atomic, a load and a store. */
#define REDUCE \
    PTX_HEAD ".shared .align 4 .b32 s[64];\n" KERNEL_BEGIN OUT32 \
             "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 4, %r2;\nmul.wide.u32 %rd4, %r62, 4;\nadd.u64 %rd5, " \
             "%rd2, %rd4;\n" \
             "ld.global.u32 %r4, [%rd5];\nst.shared.u32 [%r3], %r4;\nmov.u32 %r5, 32;\n" \
             "L: bar.sync 0;\nsetp.ge.u32 %p1, %r1, %r5;\n@%p1 bra S;\nmad.lo.u32 %r6, %r5, 4, " \
             "%r3;\nld.shared.u32 %r7, [%r6];\nld.shared.u32 %r8, [%r3];\nadd.u32 %r8, %r8, " \
             "%r7;\nst.shared.u32 [%r3], %r8;\n" \
             "S: shr.u32 %r5, %r5, 1;\nsetp.ne.u32 %p2, %r5, 0;\n@%p2 bra L;\nsetp.eq.u32 %p3, %r1, " \
             "0;\n@%p3 ld.shared.u32 %r9, [s];\n@%p3 atom.global.add.u32 %r10, [%rd1], %r9;\n" KERNEL_END

struct rig {
    struct exec_fixture x;
    struct exec_launch launch;
    uint32_t *out, *in;
    uint64_t params[2];
    int mode; /* 0 step, 1 step and move the block at every 10th step, 2 run, 3 as an SM does, 4 the same and
                 move the block at every 10th operation */
    uint64_t runs, passed;
    uint64_t operations, loads, barriers, lanes;
    uint64_t first_address, in_simulated;
};

static void step_block(struct rig *r, uint64_t idx)
{
    struct exec_block *b = exec_block_create(&r->launch, idx, (uint32_t)idx);
    struct warp_op op;
    uint64_t steps = 0;
    while (!exec_block_done(b)) {
        bool any = false;
        for (uint32_t w = 0; w < r->launch.warps_per_block; w++) {
            const enum warp_step got = exec_warp_step(b, w, &op);
            if (got != WARP_STEP_OP) continue;
            any = true;
            r->operations++;
            r->lanes += (uint32_t)__builtin_popcount(op.mask);
            if (op.info->class == WARP_CLASS_BARRIER) {
                r->barriers++;
                assert_int_equal(op.barrier, 0);
            }
            if (op.info->class == WARP_CLASS_LOAD && op.space == WARP_SPACE_GLOBAL) {
                r->loads++;
                assert_int_equal(op.info->bytes, 4);
                assert_int_equal(op.mask, 0xffffffff);
                for (int lane = 1; lane < 32; lane++)
                    assert_int_equal(warp_op_address(&op, (uint32_t)lane),
                                     warp_op_address(&op, 0) + 4 * (uint64_t)lane);
                if (idx == 0 && w == 0) r->first_address = warp_op_address(&op, 0);
                assert_int_equal(op.info->dst_count, 1);
                assert_int_equal(op.info->src_count, 1);
            }
            if (r->mode == 1 && ++steps % 10 == 0) {
                void *state = malloc(exec_block_state_bytes(b));
                exec_block_save(b, state);
                exec_block_destroy(b);
                b = exec_block_restore(&r->launch, state, 3);
                free(state);
            }
        }
        if (!any) exec_block_check_stuck(b);
    }
    exec_block_destroy(b);
}

/* As an SM: what comes next is told with each step; of a run that was executed ahead, one after the other. */
static void source_block(struct rig *r, uint64_t idx)
{
    struct exec_block *b = exec_block_create(&r->launch, idx, (uint32_t)idx);
    struct warp_source source = exec_block_source(b);
    struct warp_next next[2];
    enum warp_step state[2];
    uint64_t operations = 0;
    for (uint32_t w = 0; w < 2; w++) state[w] = source.peek(source.self, w, &next[w]);
    while (state[0] != WARP_STEP_DONE || state[1] != WARP_STEP_DONE) {
        for (uint32_t w = 0; w < 2; w++) {
            struct warp_op op;
            if (state[w] == WARP_STEP_WAIT) state[w] = source.peek(source.self, w, &next[w]);
            if (state[w] != WARP_STEP_OP) continue;
            r->operations++;
            if (next[w].run) {
                r->runs += next[w].run > 1;
                if (next[w].info->class == WARP_CLASS_CONTROL)
                    r->passed++; /* no lane takes it */
                else
                    r->lanes += (uint32_t)__builtin_popcount(next[w].run_mask);
                next[w].info = --next[w].run ? next[w].info + 1 : next[w].after;
                if (!next[w].info) state[w] = source.peek(source.self, w, &next[w]);
            } else {
                const struct warp_op_info *expected = next[w].info;
                state[w] = source.step(source.self, w, &op, &next[w]);
                assert_ptr_equal(op.info, expected);
                r->lanes += (uint32_t)__builtin_popcount(op.mask);
            }
        }
        if (r->mode == 3 || ++operations % 10) continue;
        void *kept = malloc(exec_block_state_bytes(b));
        for (uint32_t w = 0; w < 2; w++)
            if (state[w] == WARP_STEP_OP && next[w].run) source.keep(source.self, w, &next[w]);
        exec_block_save(b, kept);
        exec_block_destroy(b);
        b = exec_block_restore(&r->launch, kept, 3);
        source = exec_block_source(b);
        for (uint32_t w = 0; w < 2; w++) state[w] = source.peek(source.self, w, &next[w]);
        free(kept);
    }
    exec_block_destroy(b);
}

static void rig_body(void *arg)
{
    struct rig *r = arg;
    exec_fixture_open(&r->x, REDUCE, lanes_isa_best());
    r->out = devmem_alloc(&r->x.memory, 4096, 256, DEVMEM_DEVICE, "out");
    r->in = devmem_alloc(&r->x.memory, 4096, 256, DEVMEM_DEVICE, "in");
    for (uint32_t i = 0; i < 1024; i++) r->in[i] = i * i;
    r->params[0] = (uint64_t)r->out;
    r->params[1] = (uint64_t)r->in;
    r->in_simulated = devmem_simulated(&r->x.memory, (uint64_t)r->in);
    r->launch = (struct exec_launch){.env = r->x.env,
                                     .kernel = exec_kernel_get(r->x.env, ptx_find_entry(r->x.program, "k")),
                                     .grid = {4, 1, 1},
                                     .block = {64, 1, 1},
                                     .params = (const uint8_t *)r->params};
    if (r->mode == 2) {
        exec_launch_run(&r->launch);
        r->operations = exec_totals(r->x.env).warp_instructions;
        r->lanes = exec_totals(r->x.env).thread_instructions;
    } else {
        exec_launch_begin(&r->launch);
        for (uint64_t b = 0; b < 4; b++) (r->mode >= 3 ? source_block : step_block)(r, b);
    }
}

static void rig_run(struct rig *r)
{
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, rig_body, r) != DIAG_NONE) fail_msg("%s", d.text);
    uint32_t want = 0;
    for (uint32_t i = 0; i < 256; i++) want += i * i;
    assert_int_equal(r->out[0], want);
    exec_fixture_close(&r->x);
}

static void stepping_executes_what_running_executes(void **state)
{
    (void)state;
    struct rig stepped = {.mode = 0}, run = {.mode = 2};
    rig_run(&stepped);
    rig_run(&run);
    assert_int_equal(stepped.operations, run.operations);
    assert_int_equal(stepped.lanes, run.lanes);
    assert_int_equal(stepped.loads, 8);
    assert_int_equal(stepped.barriers, 8 * 6);
}

static void addresses_of_operations_are_simulated_ones(void **state)
{
    (void)state;
    struct rig r = {.mode = 0};
    rig_run(&r);
    assert_int_equal(r.first_address, r.in_simulated);
    assert_true(r.in_simulated >= DEVMEM_SIM_BASE &&
                r.in_simulated < DEVMEM_SIM_BASE + DEVMEM_SIM_SLOT_BYTES);
}

static void a_block_goes_on_after_it_was_saved_and_restored_elsewhere(void **state)
{
    (void)state;
    struct rig moved = {.mode = 1}, still = {.mode = 0};
    rig_run(&moved);
    rig_run(&still);
    assert_int_equal(moved.operations, still.operations);
}

/* Blocks of a kernel that barriers divide into runs: also the pieces that move with a block. */
static void what_is_executed_ahead_is_told_once_in_order(void **state)
{
    (void)state;
    struct rig run = {.mode = 2}, ahead = {.mode = 3}, moved = {.mode = 4};
    rig_run(&run);
    rig_run(&ahead);
    rig_run(&moved);
    assert_true(ahead.runs > 0 && moved.runs > 0);
    assert_true(ahead.passed > 0 && moved.passed > 0);
    assert_int_equal(ahead.operations, run.operations);
    assert_int_equal(moved.operations, run.operations);
    assert_int_equal(ahead.lanes, run.lanes);
    assert_int_equal(moved.lanes, run.lanes);
}

/* The chunk of a block that ended serves the next of its size; sizes do not mix. */
static void memory_of_blocks_is_used_again(void **state)
{
    (void)state;
    struct exec_env env = {0};
    uint8_t *a = chunk_take(&env, 8192), *b = chunk_take(&env, 8192), *c = chunk_take(&env, 3 << 20);
    assert_true(a && b && c && a != b);
    memset(c, 1, 3 << 20);
    chunk_give(&env, a, 8192);
    assert_ptr_equal(chunk_take(&env, 8192), a);
    for (int k = 0; k < 400; k++) assert_non_null(chunk_take(&env, 8192)); /* more than a slab holds */
    chunk_give(&env, c, 3 << 20);
    assert_ptr_equal(chunk_take(&env, 3 << 20), c);
    chunks_free(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stepping_executes_what_running_executes),
        cmocka_unit_test(addresses_of_operations_are_simulated_ones),
        cmocka_unit_test(a_block_goes_on_after_it_was_saved_and_restored_elsewhere),
        cmocka_unit_test(what_is_executed_ahead_is_told_once_in_order),
        cmocka_unit_test(memory_of_blocks_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
