/* Kernels that try to break the index analysis: the address of every access must be what its expression says,
 * at every level; classes are in hostile.h. */
#include "device.h"

#define KERNEL(name) extern "C" __global__ void name(int *a, int *b, int *c, int n)
#define THREAD       const int i = blockIdx.x * blockDim.x + threadIdx.x

struct mix {
    int x;
    short y;
    signed char z;
    unsigned char w;
};

/* ---- bits: what is cut, shifted, masked, wrapped around ---- */

KERNEL(low_byte)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned k = (i << 24) >> 24;
    b[i] = a[k] + c[i] + n;
}

KERNEL(signed_byte)
{
    THREAD;
    int k = (int)((unsigned)i << 24) >> 24;
    b[i] = a[k + 128] + c[i] + n;
}

KERNEL(as_short)
{
    THREAD;
    int k = (short)(i * 300);
    b[i] = a[(k + 32768) >> 3] + c[i] + n;
}

KERNEL(as_char)
{
    THREAD;
    int k = (signed char)(i * 3);
    b[i] = a[k + 128] + c[i] + n;
}

/* ---- divisions of what is negative ---- */

KERNEL(div_negative)
{
    THREAD;
    b[i] = a[(i - 40) / 16 + 3] + c[i] + n;
}

KERNEL(rem_negative)
{
    THREAD;
    b[i] = a[(i - 40) % 16 + 16] + c[i] + n;
}

KERNEL(shr_negative)
{
    THREAD;
    b[i] = a[((i - 40) >> 4) + 3] + c[i] + n;
}

KERNEL(div_param)
{
    THREAD;
    b[i] = a[(16 * n + i - 200) / 16 + 20] + c[i];
}

KERNEL(div_minus)
{
    THREAD;
    b[i] = a[200 + i / -3] + c[i] + n;
}

KERNEL(mul_div)
{
    THREAD;
    b[i] = a[(int)(16 * (i - 100) + (i & 15)) / 16 + 100] + c[i] + n;
}

/* ---- unsigned, hashed, divided by constants ---- */

KERNEL(under_zero)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned u = threadIdx.x - 10u;
    b[i] = a[u < 64u ? u : 99u] + c[i] + n;
}

KERNEL(as_ushort)
{
    THREAD;
    unsigned short s = (unsigned short)(i * 1000);
    b[i] = a[s >> 3] + c[i] + n;
}

KERNEL(lcg)
{
    THREAD;
    unsigned h = i * 1664525u + 1013904223u;
    b[i] = a[h >> 19] + c[i] + n;
}

KERNEL(hashed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned h = i * 31u;
    h ^= h >> 5;
    h *= 77u;
    h ^= h >> 3;
    b[i] = a[h & 4095] + c[i] + n;
}

KERNEL(thirds)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = a[i / 3] + a[i % 3] + c[i * 5 / 7] + n;
}

KERNEL(sthirds)
{
    THREAD;
    b[i] = a[i / 3] + a[i % 3] + c[i * 5 / 7] + n;
}

/* ---- loops downwards, by other steps, by the whole grid ---- */

KERNEL(down)
{
    THREAD;
    int s = 0;
    int *p = a + 8191 - i;
    for (int k = 0; k < n; k++, p -= 256) s += *p;
    b[i] = s + c[i];
}

KERNEL(down3)
{
    THREAD;
    int s = 0;
    for (int k = n; k > 0; k -= 3) s += a[i + 64 * k];
    b[i] = s + c[i];
}

KERNEL(grid_stride)
{
    int s = 0;
    unsigned k;
    for (k = blockIdx.x * blockDim.x + threadIdx.x; k < 4096; k += gridDim.x * blockDim.x) s += a[k];
    b[blockIdx.x * blockDim.x + threadIdx.x] = s + c[k & 1023] + n;
}

KERNEL(grid_stride64)
{
    long long s = 0;
    for (long long k = blockIdx.x * blockDim.x + threadIdx.x; k < 4096LL;
         k += (long long)gridDim.x * blockDim.x)
        s += a[k];
    b[blockIdx.x * blockDim.x + threadIdx.x] = (int)s + c[0] + n;
}

/* ---- steps that are no constants ---- */

KERNEL(halving)
{
    THREAD;
    int t = 0;
    for (int s = 32; s > 0; s >>= 1) t += a[i + s];
    b[i] = t + c[i] + n;
}

KERNEL(doubling)
{
    THREAD;
    int t = 0;
    for (int s = 1; s < n * 64; s *= 2) t += a[i + s];
    b[i] = t + c[i];
}

KERNEL(countdown)
{
    THREAD;
    int t = 0;
    for (unsigned k = n; k-- > 0;) t += a[i + k * 256];
    b[i] = t + c[i];
}

KERNEL(packed_triangle)
{
    THREAD;
    int t = 0;
    for (int j = 0; j < n; j++)
        for (int k = 0; k <= j; k++) t += a[i + j * (j + 1) / 2 + k];
    b[i] = t + c[i];
}

/* ---- pointers and values that go on from one loop to the next ---- */

KERNEL(carried)
{
    THREAD;
    int t = 0;
    int *p = a + i;
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < 5; k++, p += 256) t += *p;
        p += 16;
    }
    b[i] = t + c[i];
}

KERNEL(carried_n)
{
    THREAD;
    int t = 0;
    int *p = a + i;
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < n; k++, p += 64) t += *p;
        p += 16;
    }
    b[i] = t + c[i];
}

KERNEL(skips)
{
    THREAD;
    int t = 0;
    for (int k = 0; k < n; k++) {
        if (c[k] & 1) continue;
        if (c[k] == 8) break;
        t += a[i + k * 64];
    }
    b[i] = t;
}

KERNEL(switched)
{
    THREAD;
    int t = 0, j = i;
    for (int k = 0; k < n; k++) {
        switch (k & 3) {
        case 0: j += 64; break;
        case 1: j += 128; break;
        case 2: j -= 32; break;
        default: j += 1;
        }
        t += a[j];
    }
    b[i] = t + c[i];
}

KERNEL(rotating)
{
    int x = threadIdx.x, y = blockIdx.x * 64, z = n;
    int t = 0;
    for (int k = 0; k < n; k++) {
        t += a[x + 2 * y + 3 * z];
        int w = x;
        x = y;
        y = z;
        z = w;
    }
    b[blockIdx.x * 64 + threadIdx.x] = t + c[0];
}

KERNEL(behind)
{
    THREAD;
    int t = 0, prev = i, cur = i + 64;
    for (int k = 0; k < n; k++) {
        t += a[prev];
        prev = cur;
        cur += 64;
    }
    b[i] = t + c[i];
}

KERNEL(behind2)
{
    THREAD;
    int t = 0, p2 = i, p1 = i + 5, cur = i + 64;
    for (int k = 0; k < n; k++) {
        t += a[p2];
        p2 = p1;
        p1 = cur;
        cur += 64;
    }
    b[i] = t + c[i];
}

KERNEL(resetting)
{
    THREAD;
    int t = 0, j = 0;
    for (int k = 0; k < n; k++) {
        if (k == 4) j = 0;
        t += a[i + j * 64];
        j++;
    }
    b[i] = t + c[i];
}

/* ---- clamped, mirrored, interleaved, from a table ---- */

KERNEL(clamped)
{
    THREAD;
    int t = 0;
    for (int k = 0; k < n; k++) {
        int x = i + k * 32 - 64;
        x = x < 0 ? 0 : x > 200 ? 200 : x;
        t += a[x];
    }
    b[i] = t + c[i];
}

KERNEL(mirror)
{
    THREAD;
    int d = i - 100;
    d = d < 0 ? -d : d;
    b[i] = a[d] + c[i] + n;
}

KERNEL(morton)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = i & 15, y = i >> 4 & 15;
    unsigned m = (x & 1) | (y & 1) << 1 | (x & 2) << 1 | (y & 2) << 2 | (x & 4) << 2 | (y & 4) << 3 |
                 (x & 8) << 3 | (y & 8) << 4;
    b[i] = a[m] + c[i] + n;
}

KERNEL(table4)
{
    THREAD;
    int t[4] = {i, i + 7, 3 * i, 100};
    b[i] = a[t[n & 3]] + c[i];
}

KERNEL(long_mul)
{
    THREAD;
    long long w = (long long)i * 0x100000001LL;
    b[i] = a[w >> 32] + c[i] + n;
}

KERNEL(by_pointer)
{
    THREAD;
    int t = 0;
    for (int *p = a + i; p < a + 4096; p += 256) t += *p;
    b[i] = t + c[i] + n;
}

KERNEL(bits)
{
    THREAD;
    b[i ^ 1] = a[i ^ 32] + a[(i | 256)] + c[i & ~31] + c[(i >> 3) & 7] + n;
}

KERNEL(bytes)
{
    THREAD;
    int t = 0;
    for (int k = 0; k < n; k++) t += ((unsigned char *)a)[i * 4 + (k & 3)];
    b[i] = t + c[i];
}

/* ---- counters of 8 and 16 bits ---- */

KERNEL(u8_counter)
{
    THREAD;
    int t = 0;
    for (unsigned char k = 250; k != 5; k++) t += a[i + k];
    b[i] = t + c[i] + n;
}

KERNEL(u16_counter)
{
    THREAD;
    int t = 0;
    for (unsigned short k = 65530; k != 5; k++) t += a[i + (k & 255)];
    b[i] = t + c[i] + n;
}

KERNEL(s8_counter)
{
    THREAD;
    int t = 0;
    signed char k = 120;
    for (int j = 0; j < 16; j++, k = (signed char)(k + 1)) t += a[i + 128 + k];
    b[i] = t + c[i] + n;
}

KERNEL(u32_wrap)
{
    THREAD;
    int t = 0;
    for (unsigned k = 0xfffffff0u; k != 16u; k++) t += a[i + (k & 255)];
    b[i] = t + c[i] + n;
}

KERNEL(u8_step)
{
    THREAD;
    int t = 0;
    unsigned char j = (unsigned char)(i * 5);
    for (int k = 0; k < n; k++) {
        t += a[j];
        j += 100;
    }
    b[i] = t + c[i];
}

/* ---- structures on the stack, and what has no sum of products ---- */

KERNEL(punned)
{
    THREAD;
    struct mix m = {i, (short)(i * 500), (signed char)(i * 3), (unsigned char)(i * 7)};
    struct mix q = m;
    b[i] = a[q.x] + a[(q.y + 32768) >> 3] + c[q.z + 128] + c[q.w] + n;
}

KERNEL(through_float)
{
    THREAD;
    b[i] = a[(int)(i * 0.5f)] + c[i] + n;
}

KERNEL(two_out)
{
    THREAD;
    int t = 0;
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) {
            if (c[j + k] == 8) goto out;
            t += a[i + j * 256 + k * 16];
        }
out:
    b[i] = t;
}

KERNEL(square)
{
    THREAD;
    int t = 0;
    for (int k = 0; k < n; k++) t += a[i + k * k];
    b[i] = t + c[i];
}

KERNEL(fib)
{
    THREAD;
    int t = 0, x = 1, y = 1;
    for (int k = 0; k < n; k++) {
        t += a[i + x];
        int z = x + y;
        x = y;
        y = z;
    }
    b[i] = t + c[i];
}

KERNEL(tri_inner)
{
    THREAD;
    int t = 0;
    for (int j = i & 7; j < n; j++)
        for (int k = 0; k < j; k += 2) t += a[i * 16 + k];
    b[i] = t + c[i];
}

KERNEL(later)
{
    THREAD;
    int k;
    for (k = 0; k < n; k++)
        if (c[k] == 7) break;
    b[i + k] = a[i + 2 * k];
}

KERNEL(long_n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    b[i] = a[(i * n) & 1023] + c[(i + n) % 77];
}

KERNEL(nested_sel)
{
    THREAD;
    int x = i & 1 ? (i & 2 ? i + 3 : i * 2) : (i & 4 ? 100 - i % 50 : i);
    b[i] = a[x] + c[i] + n;
}

KERNEL(rot32)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned r = (i << 5) | (i >> 27);
    b[i] = a[r & 2047] + c[i] + n;
}

KERNEL(sum_n)
{
    THREAD;
    int t = 0;
    for (int k = 0; k < n; k++) {
        int s = 0;
        for (int j = 0; j < k; j++) s += j;
        t += a[i + s];
    }
    b[i] = t + c[i];
}

KERNEL(neg_shift)
{
    THREAD;
    b[i] = a[(-i >> 2) + 64] + c[(-i & 15)] + c[(unsigned)(-i) >> 22] + n;
}

KERNEL(mask_neg)
{
    THREAD;
    b[i] = a[((i - 70) & 63)] + c[((i - 70) & ~7) + 80] + n;
}

KERNEL(short_loop)
{
    THREAD;
    int t = 0;
    for (short k = 0; k < n; k++) t += a[i + k * 64];
    b[i] = t + c[i];
}

KERNEL(bool_idx)
{
    THREAD;
    b[i] = a[(i > 100) * 64 + (n == 7)] + c[!(i & 1)];
}

KERNEL(two_steps3)
{
    THREAD;
    int t = 0, j = i;
    for (int k = 0; k < n; k++) {
        t += a[j];
        j += (k % 3 == 0) ? 64 : 32;
    }
    b[i] = t + c[i];
}

KERNEL(unsigned_less)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int t = 0;
    for (unsigned k = i - 3; k < i + 3; k++) t += a[k];
    b[i] = t + c[i] + n;
}

KERNEL(not_idx)
{
    THREAD;
    b[i] = a[~i + 300] + c[~(~i << 1) & 511] + n;
}

/* ---- threads and blocks that a loop moves differently; bounds that are no lines ---- */

KERNEL(fan)
{
    THREAD;
    int t = 0;
    for (int k = 0; k < n; k++) t += a[blockIdx.x * 64 + threadIdx.x * k];
    b[i] = t + c[i];
}

KERNEL(fan_block)
{
    THREAD;
    int t = 0;
    for (int k = 0; k < n; k++) t += a[blockIdx.x * k * 16 + threadIdx.x];
    b[i] = t + c[i];
}

KERNEL(fan_small)
{
    THREAD;
    int t = 0;
    for (int k = 0; k < 8; k++) t += a[blockIdx.x * 64 + threadIdx.x * k];
    b[i] = t + c[i] + n;
}

KERNEL(bound_mod)
{
    THREAD;
    int t = 0;
    for (int k = 0; k < (int)(threadIdx.x % 10); k++) t += a[i + 64 * k];
    b[i] = t + c[i] + n;
}

KERNEL(bound_block)
{
    THREAD;
    int t = 0;
    for (int k = 0; k < 10 - (int)blockIdx.x; k++) t += a[i + 64 * k];
    b[i] = t + c[i] + n;
}

KERNEL(product)
{
    THREAD;
    b[i] = a[threadIdx.x * blockIdx.x] + a[(threadIdx.x * 3) * (blockIdx.x + 1)] + c[i] + n;
}

KERNEL(root)
{
    THREAD;
    int t = 0;
    for (int k = 0; k * k < 8 * n; k++) t += a[i + 64 * k];
    b[i] = t + c[i];
}

KERNEL(shrinking)
{
    THREAD;
    int t = 0;
    for (int k = 64; k * k > n; k -= 5) t += a[i + 64 * k];
    b[i] = t + c[i];
}

KERNEL(either)
{
    THREAD;
    int t = 0;
    int *p = a + i;
    for (int k = 0; k < n; k++) {
        t += *p;
        p = k & 1 ? p + 64 : c + i;
    }
    b[i] = t;
}

KERNEL(grand)
{
    THREAD;
    int t = 0;
    for (int x = 0; x < n; x++)
        for (int y = 0; y < 2; y++)
            for (int k = 0; k < x; k++) t += a[i + 64 * k + y * 8];
    b[i] = t + c[i];
}

KERNEL(neg_param)
{
    THREAD;
    b[i] = a[(n - 20) * -64 + i] + c[i];
}

KERNEL(tri3)
{
    THREAD;
    int t = 0;
    for (int x = 0; x < n; x++)
        for (int y = x; y < n; y++)
            for (int z = y; z < n; z++) t += a[i + 256 * x + 64 * y + 8 * z];
    b[i] = t + c[i];
}
