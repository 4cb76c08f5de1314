/* ordering: kernels in which every kind of order between stores and loads matters: fences, acquire and release, the
 * block's own stores, bytes of a word, atomics, kernel boundaries. */
#include "device.h"

static __device__ unsigned load_acquire(const unsigned *p)
{
    unsigned v;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
static __device__ void store_release(unsigned *p, unsigned v)
{
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
static __device__ unsigned load_plain(const unsigned *p)
{
    unsigned v;
    asm volatile("ld.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

/* Each block of a warp hands a line to the block before it, again and again. The reader has the line of the
 * round before in its L1: only its fence makes it look again. flags: [sent of each block][taken of each block] */
extern "C" __global__ void messages_by_fence(unsigned *data, unsigned *flags, unsigned *out, int rounds)
{
    const unsigned b = blockIdx.x, n = (b + 1) % gridDim.x, before = (b + gridDim.x - 1) % gridDim.x;
    unsigned sum = 0;
    for (unsigned r = 1; r <= (unsigned)rounds; r++) {
        data[b * 32 + threadIdx.x] = r * 1000 + b * 32 + threadIdx.x;
        __threadfence();
        if (threadIdx.x == 0) *(volatile unsigned *)&flags[b] = r;
        while (*(volatile unsigned *)&flags[n] < r) {
        }
        __threadfence();
        sum += load_plain(&data[n * 32 + threadIdx.x]);
        __threadfence();
        if (threadIdx.x == 0) *(volatile unsigned *)&flags[gridDim.x + n] = r;
        while (*(volatile unsigned *)&flags[gridDim.x + b] < r) {
        }
    }
    out[b * 32 + threadIdx.x] = sum + 0 * before;
}

/* The same with acquire and release instead of fences. */
extern "C" __global__ void messages_by_acquire(unsigned *data, unsigned *flags, unsigned *out, int rounds)
{
    const unsigned b = blockIdx.x, n = (b + 1) % gridDim.x;
    unsigned sum = 0;
    for (unsigned r = 1; r <= (unsigned)rounds; r++) {
        data[b * 32 + threadIdx.x] = r * 1000 + b * 32 + threadIdx.x;
        __syncwarp();
        if (threadIdx.x == 0) store_release(&flags[b], r);
        while (load_acquire(&flags[n]) < r) {
        }
        sum += load_plain(&data[n * 32 + threadIdx.x]);
        __syncwarp();
        if (threadIdx.x == 0) store_release(&flags[gridDim.x + n], r);
        while (load_acquire(&flags[gridDim.x + b]) < r) {
        }
    }
    out[b * 32 + threadIdx.x] = sum;
}

/* A few dozen cycles, fewer than a load takes. */
static __device__ unsigned wait_a_little(unsigned v)
{
    for (int k = 0; k < 8; k++) asm volatile("mul.lo.u32 %0, %0, 3;" : "+r"(v));
    return v;
}

/* A line is stored to by one warp while the other's load of it is on its way; after the barrier both must see it. */
extern "C" __global__ void overtaken(unsigned *lines, unsigned *out, int rounds)
{
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = 0;
    for (int r = 0; r < rounds; r++) {
        unsigned *line = lines + ((unsigned)r * gridDim.x + blockIdx.x) * 32;
        unsigned early = 0;
        if (warp == 0)
            early = load_plain(&line[lane]);
        else
            line[lane] = (unsigned)r + lane + 0 * wait_a_little(lane);
        __syncthreads();
        sum += load_plain(&line[lane]) + 0 * early;
        __syncthreads();
        if (warp == 0) line[lane] = sum;
        if (warp == 0) sum += load_plain(&line[lane]);
        __syncthreads();
        sum += load_plain(&line[31 - lane]) * 0;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* A warp writes a line in four parts of which the last wins, and bytes of words. */
extern "C" __global__ void parts(unsigned *words, unsigned char *bytes, int rounds)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; r++) {
        *(volatile unsigned *)&words[i] = (unsigned)r;
        *(volatile unsigned *)&words[i] = (unsigned)r + i;
        if (threadIdx.x % 4 == (unsigned)r % 4) bytes[i] = (unsigned char)(i + (unsigned)r);
    }
}

/* Atomics with and without a result on few words. */
extern "C" __global__ void counters(unsigned *count, unsigned *last, int rounds)
{
    unsigned most = 0;
    for (int r = 0; r < rounds; r++) {
        atomicAdd(&count[threadIdx.x % 8], 1u);
        const unsigned old = atomicAdd(&count[8 + threadIdx.x % 8], 2u);
        __threadfence(); /* waits for the atomics, whose result nobody has used yet */
        if (old > most) most = old;
    }
    atomicMax(last, most);
}

/* A thread stores to, adds to and loads a word of a line that other blocks use too, by turns. */
extern "C" __global__ void mixed(unsigned *words, unsigned *out, int rounds)
{
    unsigned *const own = &words[threadIdx.x * gridDim.x + blockIdx.x];
    unsigned sum = 0;
    for (int r = 0; r < rounds; r++) {
        *(volatile unsigned *)own = (unsigned)r;
        atomicAdd(own, 5u);
        sum += load_plain(own);
        atomicAdd(own, 1u);
        __threadfence();
        sum += load_plain(own);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* out[i] = in[i + shift] + 1, so that over many launches each SM reads lines that others wrote. */
extern "C" __global__ void shifted(const unsigned *in, unsigned *out, unsigned shift, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[(i + shift) % n] + 1;
}
