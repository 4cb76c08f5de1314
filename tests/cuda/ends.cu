// ends: the ways in which a program ends, each after a launch: what `atoll exec` says then.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void fill(int *to) { to[threadIdx.x] = threadIdx.x; }
__global__ void spin(volatile int *flag)
{
    while (!*flag)
        ;
}
__global__ void far_away(int *to) { to[1l << 30] = 1; }

static int *memory;

static void launch(int times)
{
    OK(cudaMalloc(&memory, 1024));
    for (int i = 0; i < times; i++) fill<<<1, 32>>>(memory);
    OK(cudaDeviceSynchronize());
}

// Three processes that use CUDA, each for itself.
static int several()
{
    for (int i = 1; i <= 3; i++) {
        if (fork()) continue;
        launch(i);
        std::exit(0);
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}

static int child_of_user()
{
    const pid_t child = fork();
    int status = 0;
    if (!child) _exit(cudaDeviceSynchronize());
    waitpid(child, &status, 0);
    HOLDS(WEXITSTATUS(status) == cudaErrorInitializationError);
    return finish();
}

static int no_device()
{
    int count = 7;
    GIVES(cudaErrorNoDevice, cudaGetDeviceCount(&count));
    HOLDS(count == 0);
    GIVES(cudaErrorNoDevice, cudaMalloc(&memory, 4));
    return finish();
}

static int count_devices(int expected)
{
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    HOLDS(count == expected);
    return finish();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    const auto is = [&](const char *name) { return !std::strcmp(how, name); };
    if (is("several")) return several();
    if (is("none")) return no_device();
    if (is("devices")) return count_devices(std::atoi(argv[2]));
    launch(2);
    if (is("arguments")) return argc == 1002 && !std::strcmp(argv[1001], "1000") ? 0 : 1;
    if (is("_exit")) _exit(8);
    if (is("_Exit")) _Exit(8);
    if (is("quick_exit")) quick_exit(9);
    if (is("abort")) std::abort();
    if (is("throw")) throw 3;
    if (is("crash")) *(volatile int *)8 = 1;
    if (is("kill")) raise(SIGKILL);
    if (is("term")) raise(SIGTERM), pause();
    if (is("fork")) return child_of_user();
    if (is("spin")) {
        OK(cudaMemset(memory, 0, 4));
        std::puts("spinning"), std::fflush(stdout);
        spin<<<1, 1>>>(memory);
    }
    if (is("fault")) {
        far_away<<<1, 1>>>(memory);
        GIVES(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    }
    return finish();
}
