// Device code without any CUDA header, for clang: structures by value, recursion, function pointers, a switch,
// initialised globals with addresses, dynamic shared memory, local arrays, vprintf. Only compiled and parsed.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
extern "C" __device__ int vprintf(const char*, void*);
struct S { int a; double b; float c[3]; };
__constant__ float tab[4] = {1,2,3,4};
__device__ int g = 5; __device__ int *pg = &g; __device__ S gs = {1, 2.0, {1,2,3}};
__device__ const char *msg = "x=%d\n";
struct P { char c; int *q; short s[3]; }; __device__ P gp = {1, &g, {1,2,3}};
__device__ __attribute__((noinline)) S mk(S s, int k) { s.a += k; s.c[k & 1] *= 2.f; return s; }
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern __shared__ int dyn[];
__device__ __attribute__((noinline)) int cold(int n){ switch(n){case 0: return 17; case 1: return g; case 2: return g*3; case 3: return g+9; case 4: return g-n; case 5: return n*n; case 7: return 3; } return 0; }
typedef int (*fp)(int);
__device__ fp fns[2] = {fib, cold};
__global__ void k(float *p, int n, S s) {
  __shared__ float sm[64];
  int i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
  sm[i & 63] = p[i]; __nvvm_bar_sync(0);
  float acc = 0; for (int j = 0; j < n; j++) acc += sm[(i + j) & 63] * tab[j & 3];
  S t = mk(s, n); dyn[i & 31] = (int)t.b; volatile int loc[8]; for (int j=0;j<8;j++) loc[j]=n+j;
  int *q=(int*)p; __nvvm_atom_add_gen_i(q, 3); __nvvm_atom_cas_gen_i(q, 1, 2); __nvvm_membar_gl();
  p[i] = acc + fib(n) + loc[n & 7] + __nvvm_shfl_sync_down_i32(-1, n, 1, 31) + fns[n&1](n) + __nvvm_ex2_approx_f(acc) + cold(n);
  int args[1] = {n}; vprintf(msg, args);
}
