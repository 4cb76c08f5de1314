/* The public interface for programs of the client's own: memory, code, launches, faults, reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

/* A kernel that keeps 300 values alive, with directives of its own. */
static atoll_kernel *add_wide(struct bed *b, const char *directives)
{
    enum { LIVE = 300 };
    static char text[LIVE * 80];
    atoll_program *program;
    atoll_kernel *kernel;
    int n =
        snprintf(text, sizeof text,
                 ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry wide(.param .u64 x)\n%s\n"
                 "{\n.reg .b32 %%r<%d>;\n.reg .b64 %%rd1;\nld.param.u64 %%rd1, [x];\n",
                 directives, LIVE);
    for (int k = 0; k < LIVE; k++)
        n += snprintf(text + n, sizeof text - (size_t)n, "ld.global.u32 %%r%d, [%%rd1+%d];\n", k, k % 32 * 4);
    for (int k = 0; k < LIVE; k++)
        n += snprintf(text + n, sizeof text - (size_t)n, "st.global.u32 [%%rd1+%d], %%r%d;\n", k % 32 * 4, k);
    n += snprintf(text + n, sizeof text - (size_t)n, "ret;\n}\n");
    assert_true((size_t)n < sizeof text);
    assert_int_equal(atoll_program_new(b->device, &program), ATOLL_OK);
    assert_int_equal(atoll_program_add(program, "wide.ptx", text, strlen(text)), ATOLL_OK);
    assert_int_equal(atoll_kernel_find(program, "wide", &kernel), ATOLL_OK);
    assert_non_null(kernel);
    return kernel;
}

/* The numbers are those that ptxas 13 reports for such a kernel and sm_80. */
static void launch_bounds_limit_the_registers_of_a_thread(void **state)
{
    static const struct {
        const char *directives;
        uint32_t registers, threads, blocks;
    } rows[] = {
        {"", 255, 256, 1},
        {".maxntid 1024, 1, 1", 64, 1024, 1},
        {".reqntid 32, 32, 1", 64, 1024, 1},
        {".maxntid 384, 1, 1", 168, 384, 1},
        {".maxntid 33, 1, 1", 255, 33, 4},
        {".maxntid 256, 1, 1\n.minnctapersm 8", 32, 256, 8},
        {".maxntid 100, 1, 1\n.minnctapersm 5", 96, 100, 5},
        {".maxntid 160, 1, 1\n.minnctapersm 3", 128, 160, 3},  /* 15 warps lie as 16 do */
        {".maxntid 1024, 1, 1\n.minnctapersm 4", 64, 1024, 1}, /* more threads than an SM holds */
        {".maxntid 32, 1, 1\n.minnctapersm 40", 255, 32, 8},   /* more blocks than an SM holds */
        {".maxntid 65, 1, 1\n.minnctapersm 31", 32, 65, 21},   /* 93 warps: as many as an SM holds */
        {".maxntid 1024, 1, 1\n.maxnreg 40", 40, 1024, 1},
        {".minnctapersm 8", 255, 256, 1}, /* of blocks of unknown size */
    };
    struct bed b;
    (void)state;
    open_bed(&b, &(struct atoll_device_options){.functional = true});
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        struct atoll_kernel_info info;
        uint32_t blocks;
        atoll_kernel *k = add_wide(&b, rows[n].directives);
        assert_int_equal(atoll_kernel_info(k, &info), ATOLL_OK);
        assert_int_equal(info.registers, rows[n].registers);
        assert_int_equal(atoll_kernel_fitting(k, rows[n].threads, 0, &blocks), ATOLL_OK);
        assert_int_equal(blocks, rows[n].blocks);
    }
    close_bed(&b);
}

static void a_block_that_no_sm_has_room_for_is_refused_and_the_device_goes_on(void **state)
{
    struct bed b;
    struct atoll_launched done;
    (void)state;
    open_bed(&b, &(struct atoll_device_options){.label = "program"});
    const void *args[] = {&b.x};
    struct atoll_launch launch = {
        .kernel = add_wide(&b, ""), .grid = {1, 1, 1}, .block = {1024, 1, 1}, .args = args};
    assert_int_equal(atoll_launch(b.device, &launch, &done), ATOLL_MISTAKE);
    assert_int_equal(done.fault, ATOLL_FAULT_RESOURCES);
    assert_non_null(strstr(atoll_message(b.sim), "raise sm.registers"));
    launch.functional = true; /* values need no room */
    assert_int_equal(atoll_launch(b.device, &launch, &done), ATOLL_OK);
    launch.functional = false;
    launch.kernel = add_wide(&b, ".maxntid 1024, 1, 1");
    assert_int_equal(atoll_launch(b.device, &launch, &done), ATOLL_OK);
    assert_true(done.cycles > 0);
    close_bed(&b);
}

static void a_kernel_for_clusters_says_so_and_is_refused(void **state)
{
    struct bed b;
    struct atoll_kernel_info info;
    struct atoll_launched done;
    (void)state;
    open_bed(&b, &(struct atoll_device_options){.functional = true});
    const void *args[] = {&b.x};
    struct atoll_launch launch = {.grid = {4, 1, 1}, .block = {32, 1, 1}, .args = args};
    launch.kernel = add_wide(&b, ".explicitcluster\n.reqnctapercluster 1, 1, 1");
    assert_int_equal(atoll_kernel_info(launch.kernel, &info), ATOLL_OK);
    assert_false(info.has_cluster);
    assert_int_equal(atoll_launch(b.device, &launch, &done), ATOLL_OK);
    launch.kernel = add_wide(&b, ".explicitcluster\n.reqnctapercluster 1, 2, 1");
    assert_int_equal(atoll_kernel_info(launch.kernel, &info), ATOLL_OK);
    assert_true(info.has_cluster);
    assert_int_equal(atoll_launch(b.device, &launch, &done), ATOLL_MISTAKE);
    assert_non_null(strstr(atoll_message(b.sim), "requires clusters of 1 x 2 x 1 blocks"));
    close_bed(&b);
}

/* A policy that needs a first pass over the program cannot serve a program that runs once. */
static void a_machine_that_needs_a_first_pass_is_refused(void **state)
{
    (void)state;
    atoll_sim *sim;
    atoll_device *device = NULL;
    const struct atoll_device_options timed = {.functional = false}, functional = {.functional = true};
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    assert_int_equal(atoll_machine(sim, "numa-gpu-rorep"), ATOLL_OK);
    assert_int_equal(atoll_device_open(sim, &timed, &device), ATOLL_MISTAKE);
    assert_non_null(strstr(atoll_message(sim), "first pass"));
    assert_int_equal(atoll_device_open(sim, &functional, &device), ATOLL_OK);
    atoll_device_close(device);
    atoll_destroy(sim);
}

/* The counters of an interval outlive the array whose pages they count: lasp drops the frames of a freed array at
 * the next launch, and the interval ends during that launch. */
static void pages_of_freed_memory_do_not_migrate(void **state)
{
    static const char *const settings[] = {"pages.level=gpu", "pages.migration=remote_heavy",
                                           "runtime.move_interval_cyc=1000", "runtime.move_accesses=1",
                                           "map.page_size=4 KiB"};
    struct bed b = {0};
    (void)state;
    assert_int_equal(atoll_create(&b.sim), ATOLL_OK);
    assert_int_equal(atoll_machine(b.sim, "ladm-q4"), ATOLL_OK);
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
        assert_int_equal(atoll_set(b.sim, settings[k]), ATOLL_OK);
    assert_int_equal(atoll_device_open(b.sim, &(struct atoll_device_options){.label = "frees"}, &b.device),
                     ATOLL_OK);
    assert_int_equal(atoll_program_new(b.device, &b.program), ATOLL_OK);
    assert_int_equal(atoll_program_add(b.program, "k.ptx", ptx, strlen(ptx)), ATOLL_OK);
    assert_int_equal(atoll_kernel_find(b.program, "add", &b.add), ATOLL_OK);
    for (uint32_t round = 0; round < 6; round++) {
        assert_int_equal(atoll_alloc(b.device, 128, "x", (void **)&b.x), ATOLL_OK);
        b.x[7] = round;
        (void)launch_add(&b, 1, false); /* an error here: a page without a frame */
        assert_int_equal(b.x[7], round + 1 + 5);
        assert_int_equal(atoll_free(b.device, b.x), ATOLL_OK);
    }
    struct atoll_outcome out;
    assert_int_equal(atoll_device_finish(b.device, &out), ATOLL_OK); /* the laws hold */
    atoll_outcome_free(&out);
    close_bed(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_needs_a_first_pass_is_refused),
        cmocka_unit_test(pages_of_freed_memory_do_not_migrate),
        cmocka_unit_test(launches_compute_and_take_time),
        cmocka_unit_test(programs_do_not_see_each_other),
        cmocka_unit_test(a_twin_has_variables_of_its_own),
        cmocka_unit_test(faults_have_their_kind),
        cmocka_unit_test(a_timed_device_stops_after_a_fault),
        cmocka_unit_test(the_limit_stops_the_device),
        cmocka_unit_test(memory_and_kernels_can_be_asked_about),
        cmocka_unit_test(launch_bounds_limit_the_registers_of_a_thread),
        cmocka_unit_test(a_block_that_no_sm_has_room_for_is_refused_and_the_device_goes_on),
        cmocka_unit_test(a_kernel_for_clusters_says_so_and_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
