/* gups: random access to a table of 64-bit words (HPCC RandomAccess). A shift register generates the stream of
 * updates. A thread takes `updates` consecutive values of the stream. A value selects a word of the table, and
 * the thread XORs the value into that word. Every update touches another line. */
#include "device.h"

typedef unsigned long long u64;

/* The upper 64 bits of the product map a value to a word of a table of any size. */
static __device__ u64 word_of(u64 value, u64 words)
{
    u64 at;
    asm("mul.hi.u64 %0, %1, %2;" : "=l"(at) : "l"(value), "l"(words));
    return at;
}

/* The shift register: multiplication by x modulo x^64 + x^2 + x + 1 over GF(2). The bits are added one by one,
 * because clang 14 compiles `(long long)value < 0 ? 7 : 0` to a bit field of the wrong width. */
static __device__ u64 next_value(u64 value)
{
    const u64 carry = value >> 63;
    return (value << 1) ^ carry ^ (carry << 1) ^ (carry << 2);
}

/* Word i = i, by contiguous ranges of the whole grid. */
extern "C" __global__ void gups_init(u64 *table, u64 words)
{
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words) table[i] = i;
}

/* starts[t]: value of the stream before the first update of thread t. The kernel leaves the last value there,
 * from which the next launch continues. Plain: load, XOR, store. Two threads that update one word at the same
 * time may lose an update, as the benchmark allows. */
extern "C" __global__ void gups_update(u64 *table, u64 *starts, u64 words, int threads, int updates)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads) return;
    u64 value = starts[t];
    for (int k = 0; k < updates; k++) {
        value = next_value(value);
        table[word_of(value, words)] ^= value;
    }
    starts[t] = value;
}

/* The same update as one atomic operation: no update is lost. */
extern "C" __global__ void gups_update_atomic(u64 *table, u64 *starts, u64 words, int threads, int updates)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads) return;
    u64 value = starts[t];
    for (int k = 0; k < updates; k++) {
        value = next_value(value);
        asm volatile("red.global.xor.b64 [%0], %1;" ::"l"(table + word_of(value, words)), "l"(value)
                     : "memory");
    }
    starts[t] = value;
}
