/* language: C++ as kernels are written: templates, virtual and recursive functions, pointers into local
 * memory, a switch, a goto, a scan in shared memory, wide arithmetic. What a compiler makes of it must give
 * the same words at every level of optimisation (tests/cli/compilers_test.sh). */
#include "device.h"
template <typename T, int N> struct Vec {
    T v[N];
    __device__ T dot(const Vec &o) const
    {
        T s = 0;
        for (int i = 0; i < N; i++) s += v[i] * o.v[i];
        return s;
    }
};
struct Node {
    int key;
    Node *left, *right;
};
struct Base {
    __device__ virtual int f(int x) { return x; }
};
struct D1 : Base {
    int k;
    __device__ int f(int x) override { return x * k; }
};
struct D2 : Base {
    int k;
    __device__ int f(int x) override { return x - k; }
};
__device__ __noinline__ int ack(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1));
}
__device__ __noinline__ int even(int n);
__device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }
__device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__device__ int gvar = 5;
__device__ int *gptr = &gvar;
__constant__ int ctab[8] = {1, 1, 2, 3, 5, 8, 13, 21};
extern "C" __global__ void language(int *o, long long big, float f, double d, char c, short s,
                                    unsigned char uc)
{
    int t = threadIdx.x, r = 0;
    Vec<float, 5> a, b;
    for (int i = 0; i < 5; i++) {
        a.v[i] = (float)(t + i);
        b.v[i] = (float)i;
    }
    r += (int)a.dot(b);
    D1 x;
    D2 y;
    x.k = 3;
    y.k = 4;
    Base *p = t & 1 ? (Base *)&x : (Base *)&y;
    r += p->f(t);
    r += ack(2, t % 4) + even(t) * 100;
    Node n[4];
    for (int i = 0; i < 4; i++) {
        n[i].key = (i * 7 + t) % 5;
        n[i].left = i ? &n[i - 1] : nullptr;
        n[i].right = nullptr;
    }
    for (Node *q = &n[3]; q; q = q->left) r = r * 3 + q->key;
    r += *gptr + ctab[t % 8] + (int)(big >> 40) + (int)f + (int)d + c + s + uc;
    __shared__ int sh[128];
    sh[t] = r;
    __syncthreads();
    for (int st = 1; st < 64; st *= 2) {
        int v = t >= st ? sh[t - st] : 0;
        __syncthreads();
        sh[t] += v;
        __syncthreads();
    }
    long long q = (long long)sh[t] * big;
    unsigned long long uq = (unsigned long long)q / 7u;
    int w = (int)(q % 1000003);
    o[t] = sh[t] ^ w ^ (int)uq;
    unsigned bal = __ballot_sync(0xffffffffu, t % 3 == 0);
    switch (t % 6) {
    case 0: o[t] += 1; break;
    case 1: o[t] *= 3; break;
    case 2: o[t] -= (int)bal; break;
    case 3:
        do {
            o[threadIdx.x] ^= t;
            t -= 7;
        } while (t > 0);
        t = threadIdx.x;
        break;
    case 4: goto end;
    default:
        for (int i = 0; i < t; i++) {
            if (i == 13) break;
            if (i & 1) continue;
            o[t] += i;
        }
    }
end:
    atomicAdd(&o[100], o[t]);
}
