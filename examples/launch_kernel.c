/* launch_kernel: launches a kernel of this program on a simulated GPU and prints its time for several block
 * sizes.
 *
 *   cc launch_kernel.c -o launch_kernel $(pkg-config --cflags --libs atoll)
 *   ./launch_kernel uba-mem
 *
 * The kernel is PTX text, as `nvcc --ptx` or `clang --cuda-device-only -S` emits it. Device pointers are host
 * pointers, so the program fills and checks the arrays directly. */
#include <stdio.h>
#include <string.h>

#include <atoll.h>

enum { ELEMENTS = 1 << 16 };

/* out[i] = 2 * in[i] for i < n */
static const char ptx[] = ".version 6.4\n"
                          ".target sm_70\n"
                          ".address_size 64\n"
                          ".visible .entry twice(.param .u64 in, .param .u64 out, .param .u32 n)\n"
                          "{\n"
                          "    .reg .pred %p;\n"
                          "    .reg .b32 %i, %b, %t, %n;\n"
                          "    .reg .f32 %x;\n"
                          "    .reg .b64 %in, %out, %at;\n"
                          "    mov.u32 %b, %ctaid.x;\n"
                          "    mov.u32 %i, %ntid.x;\n"
                          "    mov.u32 %t, %tid.x;\n"
                          "    mad.lo.u32 %i, %b, %i, %t;\n"
                          "    ld.param.u32 %n, [n];\n"
                          "    setp.ge.u32 %p, %i, %n;\n"
                          "    @%p ret;\n"
                          "    ld.param.u64 %in, [in];\n"
                          "    ld.param.u64 %out, [out];\n"
                          "    mul.wide.u32 %at, %i, 4;\n"
                          "    add.u64 %in, %in, %at;\n"
                          "    add.u64 %out, %out, %at;\n"
                          "    ld.global.f32 %x, [%in];\n"
                          "    add.f32 %x, %x, %x;\n"
                          "    st.global.f32 [%out], %x;\n"
                          "    ret;\n"
                          "}\n";

/* Number of wrong elements. */
static uint32_t wrong_elements(const float *in, const float *out)
{
    uint32_t wrong = 0;
    for (uint32_t k = 0; k < ELEMENTS; k++) wrong += out[k] != 2 * in[k];
    return wrong;
}

static atoll_status launch_all(atoll_device *device)
{
    atoll_program *program;
    atoll_kernel *kernel;
    void *in, *out;
    atoll_status status = atoll_program_new(device, &program);
    if (!status) status = atoll_program_add(program, "twice.ptx", ptx, strlen(ptx));
    if (!status) status = atoll_kernel_find(program, "twice", &kernel);
    if (!status) status = atoll_alloc(device, ELEMENTS * sizeof(float), "in", &in);
    if (!status) status = atoll_alloc(device, ELEMENTS * sizeof(float), "out", &out);
    if (status) return status;
    for (uint32_t k = 0; k < ELEMENTS; k++) ((float *)in)[k] = (float)k;

    printf("%10s %8s %10s %10s %6s\n", "threads", "blocks", "cycles", "us", "wrong");
    for (uint32_t threads = 32; threads <= 1024; threads *= 2) {
        const uint32_t n = ELEMENTS;
        const void *const args[] = {&in, &out, &n};
        const struct atoll_launch launch = {
            .kernel = kernel, .grid = {ELEMENTS / threads, 1, 1}, .block = {threads, 1, 1}, .args = args};
        struct atoll_launched launched;
        memset(out, 0, ELEMENTS * sizeof(float));
        status = atoll_launch(device, &launch, &launched);
        if (status) return status;
        const uint32_t wrong = wrong_elements(in, out);
        printf("%10u %8u %10llu %10.2f %6u\n", threads, launch.grid[0], (unsigned long long)launched.cycles,
               launched.seconds * 1e6, wrong);
        if (wrong) return ATOLL_CHECK_FAILED;
    }
    return ATOLL_OK;
}

int main(int argc, char **argv)
{
    const struct atoll_device_options options = {.label = "launch_kernel"};
    struct atoll_outcome outcome = {0};
    atoll_device *device = NULL;
    atoll_sim *sim;
    if (atoll_create(&sim)) return ATOLL_MISTAKE;
    atoll_status status = atoll_machine(sim, argc > 1 ? argv[1] : "uba-mem");
    if (!status) status = atoll_device_open(sim, &options, &device);
    if (!status) status = launch_all(device);
    /* The conservation laws of the run are checked here; outcome.report is the report of `atoll run`. */
    if (!status) status = atoll_device_finish(device, &outcome);
    if (status) fprintf(stderr, "%s: %s", argv[0], atoll_message(sim));
    atoll_outcome_free(&outcome);
    if (device) atoll_device_close(device);
    atoll_destroy(sim);
    return (int)status;
}
