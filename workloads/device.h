/* device: CUDA's usual names for device code, so that one *.cu compiles with Debian's clang alone (no CUDA
 * toolkit, no headers) and, unmodified, with nvcc, which brings these names itself.
 *
 * Only what several workloads need is here. Mathematics: sqrtf, fabsf, floorf, fmaf, fminf, fmaxf are exact
 * as in CUDA; expf, logf, powf, sinf, cosf, tanhf, rsqrtf are built on the hardware's approximations and
 * agree with nvcc's to about 1e-6 relative (sinf, cosf: 1e-6 absolute), which the checks of the workloads
 * allow for. */
#ifndef ATOLL_DEVICE_H
#define ATOLL_DEVICE_H

#ifndef __NVCC__

#define __global__             __attribute__((global))
#define __device__             __attribute__((device))
#define __host__               __attribute__((host))
#define __shared__             __attribute__((shared))
#define __constant__           __attribute__((constant))
#define __forceinline__        inline __attribute__((always_inline))
#define __noinline__           __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(bytes)       __attribute__((aligned(bytes)))
#define DEVICE_FN              static __device__ __forceinline__
#define INFINITY               __builtin_inff()

/* ---- threadIdx, blockIdx, blockDim, gridDim: reading a member reads the special register ---- */

#define DEVICE_INDEX(type, sreg) \
    struct type { \
        DEVICE_FN unsigned get_x(void) { return (unsigned)__nvvm_read_ptx_sreg_##sreg##_x(); } \
        DEVICE_FN unsigned get_y(void) { return (unsigned)__nvvm_read_ptx_sreg_##sreg##_y(); } \
        DEVICE_FN unsigned get_z(void) { return (unsigned)__nvvm_read_ptx_sreg_##sreg##_z(); } \
        __declspec(property(get = get_x)) unsigned x; \
        __declspec(property(get = get_y)) unsigned y; \
        __declspec(property(get = get_z)) unsigned z; \
    }
DEVICE_INDEX(device_tid, tid);
DEVICE_INDEX(device_ctaid, ctaid);
DEVICE_INDEX(device_ntid, ntid);
DEVICE_INDEX(device_nctaid, nctaid);
#undef DEVICE_INDEX
extern const __device__ __attribute__((weak)) struct device_tid threadIdx;
extern const __device__ __attribute__((weak)) struct device_ctaid blockIdx;
extern const __device__ __attribute__((weak)) struct device_ntid blockDim;
extern const __device__ __attribute__((weak)) struct device_nctaid gridDim;
enum { warpSize = 32 };

/* ---- vector types: one aligned access each ---- */

struct __align__(8) float2 { float x, y; };
struct __align__(16) float4 { float x, y, z, w; };
struct __align__(8) int2 { int x, y; };
struct __align__(16) int4 { int x, y, z, w; };
struct __align__(8) uint2 { unsigned x, y; };
struct __align__(16) uint4 { unsigned x, y, z, w; };
DEVICE_FN float2 make_float2(float x, float y) { return float2{x, y}; }
DEVICE_FN float4 make_float4(float x, float y, float z, float w) { return float4{x, y, z, w}; }
DEVICE_FN int2 make_int2(int x, int y) { return int2{x, y}; }
DEVICE_FN int4 make_int4(int x, int y, int z, int w) { return int4{x, y, z, w}; }
DEVICE_FN uint2 make_uint2(unsigned x, unsigned y) { return uint2{x, y}; }
DEVICE_FN uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return uint4{x, y, z, w}; }

/* ---- barriers and fences ---- */

DEVICE_FN void __syncwarp(unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
DEVICE_FN int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
DEVICE_FN int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
DEVICE_FN int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
DEVICE_FN void __threadfence(void) { __nvvm_membar_gl(); }
DEVICE_FN void __threadfence_block(void) { __nvvm_membar_cta(); }
DEVICE_FN void __threadfence_system(void) { __nvvm_membar_sys(); }

/* ---- warp: shuffles and votes ---- */

/* The last operand holds the segment mask (upper byte) and the clamp (lower byte), as PTX defines it. */
#define DEVICE_SHFL(name, op, clamp) \
    DEVICE_FN int name(unsigned mask, int value, unsigned by, int width = 32) \
    { \
        return __nvvm_shfl_sync_##op##_i32(mask, value, (int)by, ((32 - width) << 8) | (clamp)); \
    } \
    DEVICE_FN unsigned name(unsigned mask, unsigned value, unsigned by, int width = 32) \
    { \
        return (unsigned)name(mask, (int)value, by, width); \
    } \
    DEVICE_FN float name(unsigned mask, float value, unsigned by, int width = 32) \
    { \
        return __nvvm_shfl_sync_##op##_f32(mask, value, (int)by, ((32 - width) << 8) | (clamp)); \
    }
DEVICE_SHFL(__shfl_sync, idx, 31)
DEVICE_SHFL(__shfl_up_sync, up, 0)
DEVICE_SHFL(__shfl_down_sync, down, 31)
DEVICE_SHFL(__shfl_xor_sync, bfly, 31)
#undef DEVICE_SHFL
DEVICE_FN unsigned __ballot_sync(unsigned mask, int p) { return __nvvm_vote_ballot_sync(mask, p != 0); }
DEVICE_FN int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p != 0); }
DEVICE_FN int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p != 0); }

/* ---- loads through the read-only path ---- */

DEVICE_FN float __ldg(const float *p) { return __nvvm_ldg_f(p); }
DEVICE_FN int __ldg(const int *p) { return __nvvm_ldg_i(p); }
DEVICE_FN unsigned __ldg(const unsigned *p) { return __nvvm_ldg_ui(p); }

/* ---- atomics (relaxed, device scope) ---- */

DEVICE_FN int atomicAdd(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }
DEVICE_FN unsigned atomicAdd(unsigned *p, unsigned v)
{
    return (unsigned)__nvvm_atom_add_gen_i((int *)p, (int)v);
}
DEVICE_FN unsigned long long atomicAdd(unsigned long long *p, unsigned long long v)
{
    return (unsigned long long)__nvvm_atom_add_gen_ll((long long *)p, (long long)v);
}
DEVICE_FN float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
DEVICE_FN int atomicSub(int *p, int v) { return atomicAdd(p, -v); }
DEVICE_FN int atomicMin(int *p, int v) { return __nvvm_atom_min_gen_i(p, v); }
DEVICE_FN unsigned atomicMin(unsigned *p, unsigned v) { return __nvvm_atom_min_gen_ui(p, v); }
DEVICE_FN int atomicMax(int *p, int v) { return __nvvm_atom_max_gen_i(p, v); }
DEVICE_FN unsigned atomicMax(unsigned *p, unsigned v) { return __nvvm_atom_max_gen_ui(p, v); }
DEVICE_FN int atomicExch(int *p, int v) { return __nvvm_atom_xchg_gen_i(p, v); }
DEVICE_FN unsigned atomicExch(unsigned *p, unsigned v)
{
    return (unsigned)__nvvm_atom_xchg_gen_i((int *)p, (int)v);
}
DEVICE_FN int atomicCAS(int *p, int old, int v) { return __nvvm_atom_cas_gen_i(p, old, v); }
DEVICE_FN unsigned atomicCAS(unsigned *p, unsigned old, unsigned v)
{
    return (unsigned)__nvvm_atom_cas_gen_i((int *)p, (int)old, (int)v);
}
DEVICE_FN int atomicOr(int *p, int v) { return __nvvm_atom_or_gen_i(p, v); }
DEVICE_FN unsigned atomicOr(unsigned *p, unsigned v)
{
    return (unsigned)__nvvm_atom_or_gen_i((int *)p, (int)v);
}
DEVICE_FN int atomicAnd(int *p, int v) { return __nvvm_atom_and_gen_i(p, v); }
DEVICE_FN unsigned atomicAnd(unsigned *p, unsigned v)
{
    return (unsigned)__nvvm_atom_and_gen_i((int *)p, (int)v);
}
DEVICE_FN int atomicXor(int *p, int v) { return __nvvm_atom_xor_gen_i(p, v); }

/* ---- integers ---- */

DEVICE_FN int min(int a, int b) { return a < b ? a : b; }
DEVICE_FN int max(int a, int b) { return a > b ? a : b; }
DEVICE_FN unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
DEVICE_FN unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
DEVICE_FN int abs(int a) { return a < 0 ? -a : a; }
DEVICE_FN int __popc(unsigned v) { return __builtin_popcount(v); }
DEVICE_FN int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
DEVICE_FN int __ffs(int v) { return __builtin_ffs(v); }
DEVICE_FN unsigned __brev(unsigned v) { return __builtin_bitreverse32(v); }

/* ---- reinterpretation ---- */

DEVICE_FN int __float_as_int(float v) { return __builtin_bit_cast(int, v); }
DEVICE_FN unsigned __float_as_uint(float v) { return __builtin_bit_cast(unsigned, v); }
DEVICE_FN float __int_as_float(int v) { return __builtin_bit_cast(float, v); }
DEVICE_FN float __uint_as_float(unsigned v) { return __builtin_bit_cast(float, v); }

/* ---- floating point ---- */

DEVICE_FN float fabsf(float x) { return __builtin_fabsf(x); }
DEVICE_FN float fminf(float a, float b) { return __builtin_fminf(a, b); }
DEVICE_FN float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
DEVICE_FN float min(float a, float b) { return __builtin_fminf(a, b); }
DEVICE_FN float max(float a, float b) { return __builtin_fmaxf(a, b); }
DEVICE_FN float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DEVICE_FN float floorf(float x) { return __builtin_floorf(x); }
DEVICE_FN float ceilf(float x) { return __builtin_ceilf(x); }
DEVICE_FN float truncf(float x) { return __builtin_truncf(x); }
DEVICE_FN float rintf(float x) { return __builtin_rintf(x); }
DEVICE_FN float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
DEVICE_FN double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
DEVICE_FN float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
DEVICE_FN float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
DEVICE_FN float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.44269504f); }
DEVICE_FN float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.693147181f; }
DEVICE_FN float __sinf(float x) { return __nvvm_sin_approx_f(x); }
DEVICE_FN float __cosf(float x) { return __nvvm_cos_approx_f(x); }
DEVICE_FN float exp2f(float x) { return __nvvm_ex2_approx_f(x); }
DEVICE_FN float log2f(float x) { return __nvvm_lg2_approx_f(x); }
DEVICE_FN float logf(float x) { return __logf(x); }
DEVICE_FN float powf(float x, float y) { return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x)); }

/* x log2(e) = whole + rest, the rest by two fused steps, so that the error does not grow with |x|. */
DEVICE_FN float expf(float x)
{
    const float whole = rintf(fminf(fmaxf(x * 1.44269504f, -150.0f), 127.0f));
    const float rest = fmaf(x, 1.92596303e-8f, fmaf(x, 1.44269502f, -whole));
    return __nvvm_ex2_approx_f(rest) * __nvvm_ex2_approx_f(whole);
}

/* x brought to [-pi, pi] with pi in three parts: good to about |x| = 1e4. */
DEVICE_FN float device_turn(float x)
{
    const float turns = rintf(x * 0.159154943f);
    float r = fmaf(turns, -6.28125f, x);
    r = fmaf(turns, -1.93530717e-3f, r);
    return fmaf(turns, -1.02531317e-11f, r);
}
DEVICE_FN float sinf(float x) { return __nvvm_sin_approx_f(device_turn(x)); }
DEVICE_FN float cosf(float x) { return __nvvm_cos_approx_f(device_turn(x)); }
DEVICE_FN float tanhf(float x)
{
    const float e = expf(-2.0f * fabsf(x)), t = (1.0f - e) / (1.0f + e);
    return x < 0.0f ? -t : t;
}

#undef DEVICE_FN
#endif /* not nvcc */

/* Memory is as the program says at this point: what was stored is stored, what is read next is loaded.
 * PolyBench's kernels accumulate in global memory, and the compilers of the papers' time left it at that;
 * today's forward the stored value to the next iteration and drop the load. This keeps load and store in the
 * loop (modelling notes C: the private traffic that NUBA makes local). It emits no instruction. */
#define DEVICE_KEEP_IN_MEMORY() asm volatile("" ::: "memory")

#endif
