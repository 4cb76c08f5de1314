/* Where the CUDA toolkit is on the machine: nvcc compiles every workload's device code unmodified, the
 * workloads pass with that PTX too, and ptxas accepts what clang made. Without the toolkit these tests are
 * skipped. */
#include "frontend/script/script_private.h"
#include "ptx_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/atoll-nvcc-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && setenv("ATOLL_CACHE", folder, 1) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static bool has(const char *program)
{
    char command[64];
    (void)snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", program);
    return system(command) == 0;
}

static void close_set(void *arg) { script_close(arg); }

static void run_with_ptx(void *arg)
{
    struct script_set *set = script_open(arg);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, close_set, set);
    const struct script_options options = {.ptx_folder = folder};
    script_start(set, &options);
    script_run(set);
    assert_true(script_outputs(script_app(set, 0)) > 0);
    diag_done(&cleanup, true);
}

/* source of the tree -> folder/name; then the workload runs with it. */
static void compile_and_run(const char *source, const char *name, const char *request)
{
    char command[512];
    (void)snprintf(command, sizeof command, "nvcc -ptx -arch=compute_75 -Iworkloads %s -o %s/%s", source,
                   folder, name);
    if (system(command) != 0) fail_msg("nvcc does not compile %s", source);
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, run_with_ptx, (void *)(uintptr_t)request) != DIAG_NONE)
        fail_msg("%s with nvcc's PTX: %s", request, d.text);
}

static void every_workload_passes_with_the_ptx_of_nvcc(void **state)
{
    (void)state;
    if (!has("nvcc")) skip();
    for (size_t i = 0; i < script_bundled_count(); i++) {
        const char *name = script_bundled(i)->name;
        char source[128], ptx[128], request[128];
        (void)snprintf(source, sizeof source, "workloads/%s/%s.cu", name, name);
        (void)snprintf(ptx, sizeof ptx, "%s.%s.ptx", name, name);
        (void)snprintf(request, sizeof request, "%s:tiny", name);
        compile_and_run(source, ptx, request);
    }
    compile_and_run("tests/kit/device_functions/device_functions.cu", "device_functions.ptx",
                    "tests/kit/device_functions:tiny");
}

static void nvcc_too_keeps_the_sums_of_polybench_in_memory(void **state)
{
    (void)state;
    if (!has("nvcc")) skip();
    for (size_t i = 0; i < PTX_POLYBENCH_COUNT; i++) {
        char command[512], path[128], text[65536];
        const char *name = ptx_polybench[i][0];
        (void)snprintf(path, sizeof path, "%s/polybench.ptx", folder);
        (void)snprintf(command, sizeof command,
                       "nvcc -ptx -arch=compute_75 -Iworkloads workloads/%s/%s.cu -o %s", name, name, path);
        assert_int_equal(system(command), 0);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        (void)fclose(f);
        if (!ptx_loop_loads_what_it_stores(text, ptx_polybench[i][1]))
            fail_msg("%s keeps its sum in a register", ptx_polybench[i][1]);
    }
}

static void ptxas_accepts_the_embedded_ptx(void **state)
{
    (void)state;
    if (!has("ptxas")) skip();
    for (const struct embedded_file *e = embedded_workloads; e->name; e++) {
        char command[256], path[128];
        (void)snprintf(path, sizeof path, "%s/clang.ptx", folder);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_int_equal(fwrite(e->text, 1, e->len_bytes, f), e->len_bytes);
        (void)fclose(f);
        (void)snprintf(command, sizeof command, "ptxas -arch=sm_75 %s -o /dev/null", path);
        if (system(command) != 0) fail_msg("ptxas refuses %s", e->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_workload_passes_with_the_ptx_of_nvcc),
        cmocka_unit_test(nvcc_too_keeps_the_sums_of_polybench_in_memory),
        cmocka_unit_test(ptxas_accepts_the_embedded_ptx),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
