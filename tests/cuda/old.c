/* A program as the compilers of CUDA 11 and 12 made them: cudaLaunchKernel() from the stub, cudaDeviceProp of
 * its time. Written by hand, so it needs no CUDA: the fat binary is put together here. VERSION: 11 or 12. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct dim3 {
    unsigned x, y, z;
};
extern void **__cudaRegisterFatBinary(void *wrapper);
extern void __cudaRegisterFatBinaryEnd(void **handle);
extern void __cudaUnregisterFatBinary(void **handle);
extern void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
                                   void *tid, void *bid, void *block, void *grid, int *warp);
extern unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared, void *stream);
extern int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared, void *stream);
extern int cudaLaunchKernel(const void *func, struct dim3 grid, struct dim3 block, void **args, size_t shared,
                            void *stream);
extern int cudaMallocManaged(void **at, size_t bytes, unsigned flags);
extern int cudaDeviceSynchronize(void);
extern int cudaThreadSynchronize(void);
extern int cudaRuntimeGetVersion(int *version);
extern int cudaMemPrefetchAsync(const void *at, size_t bytes, int device, void *stream);
extern int cudaDeviceGetAttribute(int *value, int id, int device);
extern int cudaGraphCreate(void **graph, unsigned flags);
extern int cudaGraphAddEmptyNode(void **node, void *graph, void *const *before, size_t count);
extern int cudaGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t count);
extern int cudaGraphGetEdges(void *graph, void **from, void **to, size_t *count);
extern int cudaGraphNodeGetDependencies(void *node, void **before, size_t *count);
extern int cudaGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
extern int cudaGraphDestroy(void *graph);
extern int cudaStreamCreate(void **stream);
extern int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id);
#if VERSION == 12
extern int cudaGraphAddDependencies_v2(void *graph, void *const *from, void *const *to, const void *edges,
                                       size_t count);
extern int cudaGraphExecUpdate(void *exec, void *graph, void *info);
#else
extern int cudaGraphExecUpdate(void *exec, void *graph, void **error_node, int *result);
#endif
#if VERSION == 12
extern int cudaGetDeviceProperties_v2(void *properties, int device);
#define cudaGetDeviceProperties cudaGetDeviceProperties_v2
#else
extern int cudaGetDeviceProperties(void *properties, int device);
#endif

static const char ptx[] =
    ".version 6.0\n.target sm_35\n.address_size 64\n"
    ".visible .entry add(.param .u64 x, .param .u32 v)\n{\n"
    ".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [x];\nld.param.u32 %r1, [v];\nmov.u32 %r2, %tid.x;\n"
    "mul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
    "ld.global.u32 %r3, [%rd1];\nadd.u32 %r3, %r3, %r1;\nst.global.u32 [%rd1], %r3;\nret;\n}\n";
static struct {
    uint32_t magic;
    uint16_t version, header;
    uint64_t bytes;
    uint16_t kind, unknown;
    uint32_t entry_header;
    uint64_t payload;
    uint32_t compressed, options;
    uint16_t minor, major;
    uint32_t arch, name, name_len;
    uint64_t flags, zero, text;
    char code[(sizeof ptx + 7) / 8 * 8];
} fat = {.magic = 0xBA55ED50,
         .version = 1,
         .header = 16,
         .bytes = 64 + sizeof fat.code,
         .kind = 1,
         .unknown = 0x101,
         .entry_header = 64,
         .payload = sizeof fat.code,
         .arch = 35,
         .flags = 0x11};
static struct {
    int magic, version;
    const void *data;
    void *other;
} wrapper = {0x466243B1, 1, &fat, NULL};

static void stub(unsigned *x, unsigned v)
{
    struct dim3 grid, block;
    size_t shared;
    void *stream, *args[] = {&x, &v};
    if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream)) return;
    (void)cudaLaunchKernel((const void *)stub, grid, block, args, shared, stream);
}

/* Calls about graphs took no data of edges, and told less. */
static int graphs(void)
{
    void *graph, *exec, *a, *b, *c, *from[4], *to[4], *stream;
    size_t count = 4;
    int wrong = 0, status = 7;
    unsigned long long id = 0;
    wrong += cudaGraphCreate(&graph, 0) || cudaGraphAddEmptyNode(&a, graph, NULL, 0) ||
             cudaGraphAddEmptyNode(&b, graph, NULL, 0) || cudaGraphAddEmptyNode(&c, graph, NULL, 0);
    wrong += cudaGraphAddDependencies(graph, &a, &b, 1) != 0;
#if VERSION == 12
    wrong += cudaGraphAddDependencies_v2(graph, &b, &c, NULL, 1) != 0;
#else
    wrong += cudaGraphAddDependencies(graph, &b, &c, 1) != 0;
#endif
    wrong += cudaGraphGetEdges(graph, from, to, &count) || count != 2 || from[0] != a || to[1] != c;
    count = 4;
    wrong += cudaGraphNodeGetDependencies(c, from, &count) || count != 1 || from[0] != b;
    wrong += cudaGraphInstantiateWithFlags(&exec, graph, 0) != 0;
    struct {
        void *node, *guard[3];
        int result;
    } told = {.guard = {&told, &told, &told}, .result = 9};
#if VERSION == 12
    struct {
        int result;
        void *nodes[2];
    } info = {.result = 9};
    wrong += cudaGraphExecUpdate(exec, graph, &info) || info.result != 0;
#else
    wrong += cudaGraphExecUpdate(exec, graph, &told.node, &told.result) || told.result != 0;
#endif
    wrong += told.guard[0] != &told || told.guard[2] != &told; /* nothing is written beyond */
    wrong += cudaStreamCreate(&stream) || cudaStreamGetCaptureInfo(stream, &status, &id) || status != 0;
    return wrong + (cudaGraphDestroy(graph) != 0);
}

int main(void)
{
    const struct dim3 one = {1, 1, 1}, threads = {32, 1, 1};
    unsigned *x = NULL;
    int version = 0, clock_khz = 0, wrong = 0;
    union {
        char bytes[4096];
        int words[1024];
    } properties;
    memcpy(fat.code, ptx, sizeof ptx);
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, (const char *)stub, (char *)"add", "add", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    wrong += cudaMallocManaged((void **)&x, 32 * sizeof *x, 1) != 0;
    x[31] = 5;
    wrong += cudaMemPrefetchAsync(x, 32 * sizeof *x, 0, NULL) != 0; /* a device, not a location */
    if (!__cudaPushCallConfiguration(one, threads, 0, NULL)) stub(x, 37);
    wrong += cudaThreadSynchronize() != 0;
    wrong += x[0] != 37 || x[31] != 42;
    memset(&properties, 0x5a, sizeof properties);
    wrong += cudaGetDeviceProperties(&properties, 0) != 0;
    wrong += cudaDeviceGetAttribute(&clock_khz, 13, 0) != 0;
    wrong += properties.words[348 / 4] != clock_khz; /* clockRate, gone in CUDA 13 */
    wrong += memcmp(properties.bytes, "Atoll ", 6) != 0;
    wrong += properties.bytes[VERSION == 12 ? 1032 : 728] != 0x5a; /* not a byte beyond the structure */
    wrong += cudaRuntimeGetVersion(&version) != 0 || version / 1000 != VERSION;
    wrong += cudaDeviceSynchronize() != 0;
    wrong += graphs();
    __cudaUnregisterFatBinary(handle);
    puts(wrong ? "FAILED" : "all held");
    return wrong != 0;
}
