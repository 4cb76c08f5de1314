// Device code that makes nvcc emit what real programs contain: wmma, cooperative groups, atomics with scopes and
// orders, barriers, asynchronous copies, half precision, textures, 128-bit integers, virtual calls, inline PTX.
// Only compiled and parsed, never run.
#include <cstdio>
#include <cassert>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <mma.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda_pipeline.h>
using namespace nvcuda;
namespace cg = cooperative_groups;
__global__ void wm(half *a, half *b, float *c){ wmma::fragment<wmma::matrix_a,16,16,16,half,wmma::row_major> fa; wmma::fragment<wmma::matrix_b,16,16,16,half,wmma::col_major> fb; wmma::fragment<wmma::accumulator,16,16,16,float> fc; wmma::fill_fragment(fc,0.f); wmma::load_matrix_sync(fa,a,16); wmma::load_matrix_sync(fb,b,16); wmma::mma_sync(fc,fa,fb,fc); wmma::store_matrix_sync(c,fc,16,wmma::mem_row_major);}
__global__ void h(half2*p, __nv_bfloat162*q, int n){int i=threadIdx.x; p[i]=__hfma2(p[i],p[i+1],__float2half2_rn(1.5f)); q[i]=__hadd2(q[i],q[i+1]); p[i].x=hexp(p[i].x);}
__global__ void coop(int *p){ auto g=cg::this_grid(); p[threadIdx.x]++; g.sync(); auto w=cg::tiled_partition<32>(cg::this_thread_block()); p[0]=cg::reduce(w,p[threadIdx.x],cg::plus<int>()); p[1]=w.ballot(p[2]); p[4]=w.match_any(p[5]);}
__global__ void at(cuda::atomic<int,cuda::thread_scope_device>*a, int*p, double*d, unsigned long long*l, half2*h2){ a->fetch_add(1,cuda::memory_order_acq_rel); a->store(3,cuda::memory_order_release); p[0]=a->load(cuda::memory_order_acquire); atomicCAS(p,1,2); atomicAdd(d,1.0); atomicMax(l,3ull); atomicInc((unsigned*)p,5); atomicExch(p,3); atomicAdd_system(p,3); atomicAdd(h2,*h2); __threadfence(); __threadfence_block(); __threadfence_system(); }
__global__ void bar(int *p){ __shared__ cuda::barrier<cuda::thread_scope_block> b; if(threadIdx.x==0) init(&b,blockDim.x); __syncthreads(); __shared__ int s[256]; cuda::memcpy_async(&s[threadIdx.x],&p[threadIdx.x],4,b); b.arrive_and_wait(); p[threadIdx.x]=s[255-threadIdx.x]; int c=__syncthreads_count(p[1]); p[2]=__syncthreads_or(p[3])+__syncthreads_and(p[4])+c; }
__global__ void pipe(int4*p){ __shared__ int4 s[128]; __pipeline_memcpy_async(&s[threadIdx.x],&p[threadIdx.x],16); __pipeline_commit(); __pipeline_wait_prior(0); __syncthreads(); p[threadIdx.x]=s[threadIdx.x^1]; }
__global__ void misc(unsigned*p, float*f, double*d, cudaTextureObject_t t, cudaSurfaceObject_t sf){ int i=threadIdx.x; p[i]=__vabsdiffu4(p[i],p[i+1])+__vsadu4(p[i],p[i+2])+__dp4a(p[1],p[2],p[3])+__popc(p[4])+__clz(p[5])+__brev(p[6])+__byte_perm(p[7],p[8],0x1234)+__funnelshift_l(p[9],p[10],3)+__ffs(p[11]); f[i]=sinf(f[i])+__expf(f[i+1])+tanhf(f[i+2])+rsqrtf(f[i+3])+__fdividef(f[4],f[5])+powf(f[6],f[7])+__fadd_rz(f[8],f[9])+fmodf(f[1],f[2])+erff(f[3])+tex2D<float>(t,f[0],f[1]); d[i]=sin(d[i])+exp(d[i+1])*sqrt(d[2])/d[3]; surf2Dwrite(f[0],sf,4,5); assert(p[3]!=7); void*m=malloc(10); free(m); p[12]=clock(); p[13]=clock64(); __nanosleep(100); p[14]=__match_any_sync(~0u,p[15]); p[16]=__reduce_add_sync(~0u,p[17]); p[18]=__activemask(); p[19]=__shfl_xor_sync(~0u,p[19],1); p[20]=__ldg(p+21); p[22]=__ldcs(p+23); __stcg(p+24,3u); p[25]=__umulhi(p[26],p[27]); p[28]=__mul24(p[29],p[30]); p[31]=__usad(p[1],p[2],p[3]); p[32]=__float2int_rd(f[0]); p[33]=__double2uint_rn(d[0]); f[30]=__uint2float_rz(p[0]); p[34]=__any_sync(~0u,p[35]); if(p[36]==12345) __trap(); if(p[37]==5) asm volatile("exit;"); p[40]=__isGlobal(p)+__isShared(p); p[41]=__cvta_generic_to_shared(p); __int128 z=(__int128)p[1]*p[2]*p[3]; z=z/7+p[4]; p[42]=(unsigned)z; }
__device__ __noinline__ float sw(int n,float x){ switch(n){case 0:return x;case 1:return x*2;case 2:return x+5;case 3:return x-9;case 4:return x*x;case 5:return 1/x;case 6:return x*7-1;case 7:return -x; case 8: return x*11; default:return 0;}}
__global__ void s(float*f,int n){ f[threadIdx.x]=sw(n,f[threadIdx.x]); }
struct B{virtual __device__ int g(int x)=0;}; struct D1:B{int v; __device__ int g(int x) override{return x+v;}}; struct D2:B{__device__ int g(int x) override {return x*2;}};
__global__ void virt(int*p,int n){ D1 d1; d1.v=n; D2 d2; B*b=n>3?(B*)&d1:(B*)&d2; p[0]=b->g(p[1]); }
__global__ void inl(int*p){ unsigned r0,r1,r2,r3; unsigned sa=__cvta_generic_to_shared(p); asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];":"=r"(r0),"=r"(r1),"=r"(r2),"=r"(r3):"r"(sa)); float a=0,b=0,c=0,d=0; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};":"+f"(a),"+f"(b),"+f"(c),"+f"(d):"r"(r0),"r"(r1),"r"(r2),"r"(r3),"r"(r0),"r"(r1)); p[0]=a+b+c+d; asm volatile("{ .reg .pred p<2>; .reg .b32 t; setp.eq.u32 p1, %1, 0; @p1 bra DONE; mov.u32 t, %%smid; add.u32 %0, t, 1; DONE: }":"=r"(p[1]):"r"(p[2])); asm volatile("{ .reg .pred p<2>; setp.eq.u32 p1, %1, 0; @p1 bra DONE; add.u32 %0, %1, 1; DONE: }":"=r"(p[3]):"r"(p[4])); asm volatile("red.global.add.f32 [%0], 0f3f800000;"::"l"(p)); asm volatile("prefetch.global.L2 [%0];"::"l"(p)); asm volatile("bar.arrive 1, 64; bar.sync 1, 64;"); asm volatile("st.global.cs.v4.b32 [%0], {%1,%1,%1,%1};"::"l"(p),"r"(p[4])); }
