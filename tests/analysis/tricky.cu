/* Small kernels that an analysis may get wrong: the truth is in tricky.h. */
#include "device.h"

struct pair {
    const int *from;
    int *to;
    int n;
};

static __device__ __forceinline__ int *choose(int *a, int *b, int which) { return which ? a : b; }

/* two pointers change places in every iteration: both are read and written */
extern "C" __global__ void ping_pong(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; k++) {
        b[i] = a[i] + c[i];
        int *t = a;
        a = b;
        b = t;
    }
}

/* pointers in a structure that is passed by value */
extern "C" __global__ void by_value(struct pair p)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n) p.to[i] = p.from[i] + 1;
}

/* written or not, by what a block finds */
extern "C" __global__ void conditional(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (c[i] > n) a[i] = b[i];
}

extern "C" __global__ void chosen(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int *p = choose(a, b, n & 1);
    p[i] = c[i];
}

/* a pointer as a number, and back */
extern "C" __global__ void as_number(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long where = ((unsigned long long)a + 4ull * i) & ~3ull;
    *(int *)where = b[i] + n;
    c[i] = 0;
}

extern "C" __global__ void backwards(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int k = n - 1; k >= 0; k--) sum += a[i + k * 256];
    b[63 - i % 64] = sum;
    c[i] = 1;
}

/* rows of a pitch in bytes */
extern "C" __global__ void pitched(int *a, int *b, int *c, int pitch)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int *row = (int *)((char *)a + (long long)y * pitch);
    row[x] = b[x] + c[y];
}

extern "C" __global__ void diagonal(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = a[i * n + i] + c[0];
}

extern "C" __global__ void wrapped(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = a[(i + n) % 100] + c[(i * 3) & 63];
}

/* i with its bits the other way round */
extern "C" __global__ void reversed(int *a, int *b, int *c, int n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned r = 0, x = i;
    for (int k = 0; k < 8; k++) {
        r = r << 1 | (x & 1);
        x >>= 1;
    }
    b[i] = a[r] + c[i] + n;
}

extern "C" __global__ void until_found(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = 0;
    while (k < n && a[i + k] != 7) k++;
    b[i + k] = c[i];
}

extern "C" __global__ void bounds_from_data(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < c[i]; k++) sum += a[i * n + k];
    b[i] = sum;
}

/* leaves from the middle, with two exits */
extern "C" __global__ void two_exits(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = 0;
    for (;;) {
        if (k >= n) break;
        if (c[i] == k) break;
        b[i + k * 256] = a[i + k * 256];
        k++;
    }
}

/* the loop is unrolled completely; more than 32 and less */
extern "C" __global__ void unrolled_48(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = n;
#pragma unroll
    for (int k = 0; k < 48; k++) sum += a[i * 48 + k];
    b[i] = sum + c[i];
}

extern "C" __global__ void unrolled_8(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = n;
#pragma unroll
    for (int k = 0; k < 8; k++) sum += a[i + 256 * k];
    b[i] = sum + c[i];
}

/* the stack: an array that an index writes to, in front of what is used */
extern "C" __global__ void stacked(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int keep[4];
    int *at[2] = {a, b};
    for (int k = 0; k < 4; k++) keep[k] = c[i] + k;
    at[n & 1][i] = keep[(n >> 1) & 3];
}

/* atomics through a generic pointer that may be either */
extern "C" __global__ void atomic_either(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int *p = i & 1 ? a : b;
    atomicAdd((unsigned *)&p[i], (unsigned)c[i] + n);
}

extern "C" __global__ void triangle(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int j = 0; j < n; j++)
        for (int k = j; k < n; k++) sum += a[i + j * 64 + k];
    b[i] = sum + c[i];
}

/* unrolled by four with a rest, along a row that every block of a grid row shares */
extern "C" __global__ void shared_row(int *a, int *b, int *c, int n)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    int sum = 0;
#pragma unroll 4
    for (int k = 0; k < n; k++) sum += a[y * n + k];
    b[y * 64 + x] = sum + c[x];
}

/* every other iteration goes another way, but to the same data */
extern "C" __global__ void alternating(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = i;
    for (int k = 0; k < n; k++) {
        b[j] = a[j];
        if (k & 1)
            j += 256;
        else
            j += 256;
    }
    c[i] = j;
}

extern "C" __global__ void conditional_step(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = i;
    for (int k = 0; k < n; k++) {
        b[i + k * 256] = a[j];
        j += k & 1 ? 64 : 0;
    }
    c[i] = j;
}

/* a 64-bit index, and one that is unsigned */
extern "C" __global__ void wide(int *a, int *b, int *c, int n)
{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned u = blockIdx.x * 64u + threadIdx.x;
    b[i] = a[u + (unsigned)n] + c[i];
}

/* the same with strides at which a block walks over what others touch: no locality by its index, but not its own */
extern "C" __global__ void backwards_near(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int k = n - 1; k >= 0; k--) sum += a[i + k * 64];
    b[63 - i % 64] = sum;
    c[i] = 1;
}

extern "C" __global__ void two_exits_near(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = 0;
    for (;;) {
        if (k >= n) break;
        if (c[i] == k) break;
        b[i + k * 64] = a[i + k * 64];
        k++;
    }
}

extern "C" __global__ void unrolled_8_near(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = n;
#pragma unroll
    for (int k = 0; k < 8; k++) sum += a[i + 64 * k];
    b[i] = sum + c[i];
}

extern "C" __global__ void alternating_near(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = i;
    for (int k = 0; k < n; k++) {
        b[j] = a[j];
        if (k & 1)
            j += 64;
        else
            j += 64;
    }
    c[i] = j;
}

extern "C" __global__ void conditional_step_near(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = i;
    for (int k = 0; k < n; k++) {
        b[i + k * 128] = a[j];
        j += k & 1 ? 64 : 0;
    }
    c[i] = j;
}

/* what a pointer to a function gives back may point anywhere */
typedef int *(*picking)(int *, int *);
static __device__ __attribute__((noinline)) int *the_first(int *a, int *b) { return b ? a : a + 1; }
static __device__ __attribute__((noinline)) int *the_second(int *a, int *b) { return a ? b : b + 1; }
__device__ picking pickings[2] = {the_first, the_second};

extern "C" __global__ void by_function(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int *p = pickings[n & 1](a, b);
    p[i] = c[i];
}

/* index and store are instructions that the program wrote itself */
extern "C" __global__ void by_asm(int *a, int *b, int *c, int n)
{
    int i, v;
    asm volatile("mad.lo.s32 %0, %1, %2, %3;"
                 : "=r"(i)
                 : "r"((int)blockIdx.x), "r"((int)blockDim.x), "r"((int)threadIdx.x));
    v = a[i] + c[i] + n;
    asm volatile("st.u32 [%0], %1;" ::"l"(b + i), "r"(v) : "memory");
}

/* the machine's own numbers: nothing that a program may count on */
extern "C" __global__ void by_sm(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    b[i] = a[(sm & 15) * 64 + threadIdx.x] + c[i] + n;
}

extern "C" __global__ void by_clock(int *a, int *b, int *c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
    b[i] = a[(now & 255) + i] + c[i] + n;
}
