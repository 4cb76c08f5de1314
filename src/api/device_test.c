/* The public interface for programs of the client's own: memory, code, launches, faults, reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <atoll.h>

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 bias = 5;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 both = 6;\n"
    ".visible .entry add(.param .u64 x, .param .u32 v)\n{\n"
    ".reg .b32 %r<6>;\n.reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [x];\nld.param.u32 %r1, [v];\nmov.u32 %r2, %tid.x;\n"
    "mul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
    "ld.global.u32 %r3, [%rd1];\nld.global.u32 %r4, [bias];\nadd.u32 %r3, %r3, %r1;\n"
    "add.u32 %r3, %r3, %r4;\nst.global.u32 [%rd1], %r3;\nret;\n}\n"
    ".visible .entry stray()\n{\n.reg .b64 %rd1;\nmov.u64 %rd1, 64;\n"
    "st.global.u64 [%rd1], %rd1;\nret;\n}\n"
    ".visible .entry odd()\n{\n.reg .b64 %rd1;\nmov.u64 %rd1, bias;\nadd.u64 %rd1, %rd1, 1;\n"
    "st.global.u16 [%rd1], 0;\nret;\n}\n"
    ".visible .entry traps()\n{\ntrap;\n}\n";

struct bed {
    atoll_sim *sim;
    atoll_device *device;
    atoll_program *program;
    atoll_kernel *add;
    uint32_t *x;
};

static void open_bed(struct bed *b, const struct atoll_device_options *options)
{
    assert_int_equal(atoll_create(&b->sim), ATOLL_OK);
    assert_int_equal(atoll_machine(b->sim, "uba-mem"), ATOLL_OK);
    assert_int_equal(atoll_device_open(b->sim, options, &b->device), ATOLL_OK);
    assert_int_equal(atoll_program_new(b->device, &b->program), ATOLL_OK);
    assert_int_equal(atoll_program_add(b->program, "k.ptx", ptx, strlen(ptx)), ATOLL_OK);
    assert_int_equal(atoll_kernel_find(b->program, "add", &b->add), ATOLL_OK);
    assert_non_null(b->add);
    assert_int_equal(atoll_alloc(b->device, 128, "x", (void **)&b->x), ATOLL_OK);
}

static void close_bed(struct bed *b)
{
    atoll_device_close(b->device);
    atoll_destroy(b->sim);
}

static struct atoll_launched launch_add(struct bed *b, uint32_t v, bool functional)
{
    struct atoll_launched done;
    const void *args[] = {&b->x, &v};
    const struct atoll_launch launch = {.kernel = b->add,
                                        .grid = {1, 1, 1},
                                        .block = {32, 1, 1},
                                        .functional = functional,
                                        .args = args,
                                        .label = "add(unsigned*, unsigned)"};
    assert_int_equal(atoll_launch(b->device, &launch, &done), ATOLL_OK);
    return done;
}

static void launches_compute_and_take_time(void **state)
{
    struct bed b;
    struct atoll_outcome out;
    (void)state;
    open_bed(&b, &(struct atoll_device_options){.label = "program"});
    b.x[31] = 100;
    const struct atoll_launched timed = launch_add(&b, 1, false), values = launch_add(&b, 2, true);
    assert_int_equal(b.x[0], 1 + 5 + 2 + 5);
    assert_int_equal(b.x[31], 113);
    assert_true(timed.cycles > 100);
    assert_true(timed.seconds > values.seconds); /* the peak rate is a lower bound */
    assert_int_equal(values.cycles, 0);
    assert_int_equal(timed.warp_instructions, values.warp_instructions);
    assert_int_equal(atoll_device_finish(b.device, &out), ATOLL_OK);
    assert_non_null(strstr(out.json, "\"name\": \"add(unsigned*, unsigned)\""));
    assert_non_null(strstr(out.json, "untimed_kernels"));
    assert_int_equal(out.cycles, timed.cycles);
    atoll_outcome_free(&out);
    close_bed(&b);
}

static void programs_do_not_see_each_other(void **state)
{
    struct bed b;
    atoll_program *other;
    atoll_kernel *same, *none;
    void *mine, *theirs;
    uint64_t bytes;
    (void)state;
    open_bed(&b, &(struct atoll_device_options){.functional = true});
    assert_int_equal(atoll_program_new(b.device, &other), ATOLL_OK);
    assert_int_equal(atoll_program_add(other, "k2.ptx", ptx, strlen(ptx)), ATOLL_OK);
    assert_int_equal(atoll_kernel_find(other, "add", &same), ATOLL_OK);
    assert_ptr_not_equal(same, b.add);
    assert_int_equal(atoll_kernel_find(other, "absent", &none), ATOLL_OK);
    assert_null(none);
    assert_int_equal(atoll_variable_find(b.program, "bias", &mine, &bytes), ATOLL_OK);
    assert_int_equal(bytes, 4);
    assert_int_equal(atoll_variable_find(other, "bias", &theirs, &bytes), ATOLL_OK);
    assert_ptr_not_equal(mine, theirs);
    *(uint32_t *)theirs = 1000;
    (void)launch_add(&b, 1, false);
    assert_int_equal(b.x[0], 6);
    assert_int_equal(atoll_program_add(other, "bad.ptx", "nonsense", 8), ATOLL_MISTAKE);
    assert_non_null(strstr(atoll_message(b.sim), "bad.ptx"));
    close_bed(&b);
}

static enum atoll_fault fault_of(struct bed *b, const char *name)
{
    struct atoll_launched done;
    struct atoll_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    assert_int_equal(atoll_kernel_find(b->program, name, &launch.kernel), ATOLL_OK);
    assert_int_equal(atoll_launch(b->device, &launch, &done), ATOLL_MISTAKE);
    return done.fault;
}

static void a_twin_has_variables_of_its_own(void **state)
{
    struct bed b;
    atoll_program *twin;
    void *mine, *theirs, *managed, *shared;
    uint64_t bytes;
    (void)state;
    open_bed(&b, &(struct atoll_device_options){.functional = true});
    assert_int_equal(atoll_variable_find(b.program, "bias", &mine, &bytes), ATOLL_OK);
    *(uint32_t *)mine = 7;
    assert_int_equal(atoll_program_twin(b.program, &twin), ATOLL_OK);
    assert_int_equal(atoll_variable_find(twin, "bias", &theirs, &bytes), ATOLL_OK);
    assert_ptr_not_equal(mine, theirs);
    assert_int_equal(*(uint32_t *)theirs, 5);
    assert_int_equal(atoll_variable_find(b.program, "both", &managed, &bytes), ATOLL_OK);
    assert_int_equal(atoll_variable_find(twin, "both", &shared, &bytes), ATOLL_OK);
    assert_non_null(managed);
    assert_ptr_equal(managed, shared);
    *(uint32_t *)theirs = 1000;
    (void)launch_add(&b, 1, false);
    assert_int_equal(b.x[0], 1 + 7);
    assert_int_equal(atoll_kernel_find(twin, "add", &b.add), ATOLL_OK);
    (void)launch_add(&b, 1, false);
    assert_int_equal(b.x[0], 1 + 7 + 1 + 1000);
    close_bed(&b);
}

static void faults_have_their_kind(void **state)
{
    struct bed b;
    struct atoll_launched done;
    (void)state;
    open_bed(&b, &(struct atoll_device_options){.functional = true});
    assert_int_equal(fault_of(&b, "stray"), ATOLL_FAULT_ADDRESS);
    assert_int_equal(fault_of(&b, "odd"), ATOLL_FAULT_MISALIGNED);
    assert_int_equal(fault_of(&b, "traps"), ATOLL_FAULT_TRAP);
    const struct atoll_launch impossible = {
        .kernel = b.add, .grid = {1, 1, 1}, .block = {2048, 1, 1}, .packed = ""};
    assert_int_equal(atoll_launch(b.device, &impossible, &done), ATOLL_MISTAKE);
    assert_int_equal(done.fault, ATOLL_FAULT_SHAPE);
    const struct atoll_launch wide = {
        .kernel = b.add, .grid = {100000, 1, 1}, .block = {1024, 1, 1}, .packed = "", .cooperative = true};
    assert_int_equal(atoll_launch(b.device, &wide, &done), ATOLL_MISTAKE);
    assert_int_equal(done.fault, ATOLL_FAULT_COOPERATIVE);
    (void)launch_add(&b, 1, false); /* a functional device goes on */
    assert_int_equal(b.x[0], 6);
    close_bed(&b);
}

static void a_timed_device_stops_after_a_fault(void **state)
{
    struct bed b;
    struct atoll_outcome out;
    (void)state;
    open_bed(&b, &(struct atoll_device_options){.label = "program"});
    (void)launch_add(&b, 1, false);
    assert_int_equal(fault_of(&b, "stray"), ATOLL_FAULT_ADDRESS);
    assert_int_equal(fault_of(&b, "traps"), ATOLL_FAULT_SHAPE); /* refused */
    assert_int_equal(atoll_device_finish(b.device, &out), ATOLL_OK);
    assert_true(out.cycles > 0);
    atoll_outcome_free(&out);
    close_bed(&b);
}

static void the_limit_stops_the_device(void **state)
{
    (void)state;
    for (int functional = 0; functional < 2; functional++) {
        struct bed b;
        struct atoll_outcome out;
        open_bed(&b, &(struct atoll_device_options){.functional = functional, .max_instructions = 5});
        assert_true(launch_add(&b, 1, false).stopped);
        assert_int_equal(atoll_device_finish(b.device, &out), ATOLL_OK);
        assert_true(out.stopped);
        atoll_outcome_free(&out);
        close_bed(&b);
    }
}

static void memory_and_kernels_can_be_asked_about(void **state)
{
    struct bed b;
    struct atoll_kernel_info info;
    struct atoll_properties p;
    uint64_t offset, bytes, size;
    uint32_t blocks;
    void *start;
    static uint32_t own[8];
    (void)state;
    open_bed(&b, &(struct atoll_device_options){.functional = true});
    assert_true(atoll_memory_find(b.device, b.x + 4, 16, &start, &size));
    assert_ptr_equal(start, b.x);
    assert_int_equal(size, 128);
    assert_false(atoll_memory_find(b.device, b.x + 31, 5, NULL, NULL));
    assert_false(atoll_memory_find(b.device, own, 4, NULL, NULL));
    assert_int_equal(atoll_register(b.device, own, sizeof own, "own"), ATOLL_OK);
    assert_true(atoll_memory_find(b.device, own + 7, 4, NULL, NULL));
    assert_int_equal(atoll_unregister(b.device, own), ATOLL_OK);
    assert_int_equal(atoll_free(b.device, b.x), ATOLL_OK);
    assert_int_equal(atoll_free(b.device, b.x), ATOLL_MISTAKE);
    assert_int_equal(atoll_kernel_info(b.add, &info), ATOLL_OK);
    assert_int_equal(info.param_count, 2);
    assert_int_equal(info.max_threads, 1024);
    assert_int_equal(info.target_sm, 70);
    assert_true(atoll_kernel_param(b.add, 1, &offset, &bytes));
    assert_int_equal(offset, 8);
    assert_int_equal(bytes, 4);
    assert_false(atoll_kernel_param(b.add, 2, &offset, &bytes));
    atoll_device_properties(b.device, &p);
    assert_int_equal(p.sms, 64);
    assert_true(p.memory_bytes_per_second > 700e9 && p.memory_bytes_per_second < 730e9);
    assert_int_equal(atoll_kernel_fitting(b.add, 1024, 0, &blocks), ATOLL_OK);
    assert_int_equal(blocks, p.threads / 1024);
    assert_int_equal(atoll_kernel_fitting(b.add, 32, p.shared_bytes / 3, &blocks), ATOLL_OK);
    assert_int_equal(blocks, 3);
    close_bed(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_compute_and_take_time),
        cmocka_unit_test(programs_do_not_see_each_other),
        cmocka_unit_test(a_twin_has_variables_of_its_own),
        cmocka_unit_test(faults_have_their_kind),
        cmocka_unit_test(a_timed_device_stops_after_a_fault),
        cmocka_unit_test(the_limit_stops_the_device),
        cmocka_unit_test(memory_and_kernels_can_be_asked_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
