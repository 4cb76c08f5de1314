/* litmus: message passing (MP), store buffering (SB), write to read causality (WRC), independent reads of independent
 * writes (IRIW), coherence of reads (CoRR) and atomics, between blocks of different GPUs, again and again. --check
 * judges them by the versions that loads return. Each variable is in a page of its own: `place` gives the pages to the
 * GPUs in turn. A block's role is its quarter of the grid, so that the roles of a test lie on different GPUs. */
#include "device.h"

enum { PAGE_WORDS = 16384 };

static __device__ unsigned load_plain(const unsigned *p)
{
    unsigned v;
    asm volatile("ld.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
static __device__ unsigned load_strong(const unsigned *p)
{
    unsigned v;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
static __device__ void store_strong(unsigned *p, unsigned v)
{
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
static __device__ void wait_for(const unsigned *p, unsigned v)
{
    while (load_strong(p) < v) {
    }
}

extern "C" __global__ void place(unsigned *pages, unsigned vars)
{
    for (unsigned k = blockIdx.x; k < vars; k += gridDim.x)
        if (threadIdx.x < 32) pages[k * PAGE_WORDS + threadIdx.x] = 0;
}

/* Variable `which` of test t: homes differ from test to test and from variable to variable. */
static __device__ unsigned *var(unsigned *pages, unsigned tests, unsigned t, unsigned which)
{
    return pages + (which * tests + t) * PAGE_WORDS;
}

/* Role 0 stores x, role 1 reads it and stores y behind a fence, role 2 reads y and must see x behind a fence. Role 3
 * reads x without any order, so that its GPU has a copy. */
extern "C" __global__ void wrc(unsigned *pages, unsigned *out, int rounds)
{
    const unsigned tests = gridDim.x / 4, t = blockIdx.x % tests, role = blockIdx.x / tests;
    unsigned *const x = var(pages, tests, t, 0), *const y = var(pages, tests, t, 1), *const z = var(pages, tests, t, 2);
    unsigned sum = 0;
    for (unsigned r = 1; r <= (unsigned)rounds; r++) {
        if (role == 0) {
            wait_for(z, r - 1);
            store_strong(x, r);
        } else if (role == 1) {
            wait_for(x, r);
            __threadfence();
            store_strong(y, r);
        } else if (role == 2) {
            wait_for(y, r);
            __threadfence();
            sum += load_plain(x);
            __threadfence();
            store_strong(z, r);
        } else {
            sum += 0 * load_plain(x);
            sum += 0 * load_plain(x + 1);
            __threadfence_block();
        }
    }
    out[blockIdx.x] = sum;
}

/* Roles 0 and 1 store x and y; roles 2 and 3 read both in opposite orders, behind fences. */
extern "C" __global__ void iriw(unsigned *pages, unsigned *out, int rounds)
{
    const unsigned tests = gridDim.x / 4, t = blockIdx.x % tests, role = blockIdx.x / tests;
    unsigned *const x = var(pages, tests, t, 0), *const y = var(pages, tests, t, 1);
    unsigned *const go = var(pages, tests, t, 2), *const first = role % 2 ? y : x, *const second = role % 2 ? x : y;
    unsigned seen = 0;
    for (unsigned r = 1; r <= (unsigned)rounds; r++) {
        if (role < 2) {
            store_strong(first, r);
            __threadfence();
            atomicAdd(go, 1u);
        } else {
            const unsigned a = load_strong(first);
            __threadfence();
            const unsigned b = load_strong(second);
            __threadfence();
            seen += a < b ? 0 : 0 * b;
            atomicAdd(go, 1u);
        }
        wait_for(go, 4 * r);
    }
    out[blockIdx.x] = seen;
}

/* SB: each of two blocks stores its variable and reads that of the other behind a fence. Odd roles only read copies. */
extern "C" __global__ void sb(unsigned *pages, unsigned *out, int rounds)
{
    const unsigned tests = gridDim.x / 4, t = blockIdx.x % tests, role = blockIdx.x / tests;
    unsigned *const x = var(pages, tests, t, 0), *const y = var(pages, tests, t, 1), *const go = var(pages, tests, t, 3);
    unsigned *const own = role < 2 ? x : y, *const other = role < 2 ? y : x;
    for (unsigned r = 1; r <= (unsigned)rounds; r++) {
        if (role % 2 == 0) {
            own[0] = 1000 * r;
            __threadfence();
        }
        out[64 + blockIdx.x] = load_plain(other) + load_plain(own);
        atomicAdd(go, 1u);
        wait_for(go, 4 * r);
        __threadfence();
    }
    out[blockIdx.x] = 0;
}

/* MP with a line of data that all GPUs hold, and CoRR: a block reads the line twice. */
extern "C" __global__ void mp(unsigned *pages, unsigned *out, int rounds)
{
    const unsigned tests = gridDim.x / 4, t = blockIdx.x % tests, role = blockIdx.x / tests;
    unsigned *const data = var(pages, tests, t, 0) + 32, *const flag = var(pages, tests, t, 1) + 32;
    unsigned *const taken = var(pages, tests, t, 2) + 32;
    unsigned sum = 0;
    for (unsigned r = 1; r <= (unsigned)rounds; r++) {
        if (role == 0) {
            wait_for(taken, 3 * (r - 1));
            __threadfence();
            data[threadIdx.x] = r;
            __threadfence();
            if (threadIdx.x == 0) store_strong(flag, r);
        } else {
            const unsigned early = load_plain(&data[threadIdx.x]); /* a copy, on its way or kept */
            wait_for(flag, r);
            __threadfence();
            sum += load_plain(&data[threadIdx.x]) + 0 * early;
            __threadfence();
            if (threadIdx.x == 0) atomicAdd(taken, 1u);
        }
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

/* Atomics against copies: one block after the other adds to a word of a line that all GPUs hold. */
extern "C" __global__ void turns(unsigned *pages, unsigned *out, int rounds)
{
    const unsigned tests = gridDim.x / 4, t = blockIdx.x % tests, role = blockIdx.x / tests;
    unsigned *const word = var(pages, tests, t, 3) + 64, *const flag = var(pages, tests, t, 0) + 64;
    unsigned sum = 0;
    for (unsigned r = 0; r < (unsigned)rounds; r++) {
        const unsigned early = load_plain(word);
        wait_for(flag, 4 * r + role);
        __threadfence();
        sum += load_plain(word) + 0 * early;
        atomicAdd(word, 1u);
        sum += load_plain(word);
        __threadfence();
        store_strong(flag, 4 * r + role + 1);
    }
    out[blockIdx.x] = sum;
}

/* A block stores to a line of another GPU while its read of the line is on its way, then reads 128 other lines, so that
 * small caches lose the line. The line comes back from memory, or from a copy there, with the store. */
extern "C" __global__ void merged(unsigned *pages, unsigned *out, int rounds)
{
    const unsigned vars = gridDim.x, lane = threadIdx.x;
    unsigned *const page = pages + (blockIdx.x + vars / 2) % vars * PAGE_WORDS;
    unsigned sum = 0;
    for (unsigned r = 0; r < (unsigned)rounds; r++) {
        unsigned *const line = page + (64 + r) * 32;
        const unsigned early = load_plain(&line[(lane + 1) % 32]);
        line[lane] = r + 1;
        unsigned others = early;
        for (unsigned k = 0; k < 4; k++) others += load_plain(page + (256 + 32 * k + lane) * 32);
        sum += load_plain(&line[lane + 0 * others]);
    }
    if (lane == 0) out[blockIdx.x] = sum;
}
