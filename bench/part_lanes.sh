# part_lanes.sh (sourced by run.sh): lane functions, one warp instruction each, widest instruction set of the machine;
#   host instructions from the difference of two runs (under callgrind, which has no AVX-512: AVX2).
echo "lane functions: ns and host instructions per warp instruction"
while read -r name form; do
    ns=$("$build/bench/lanes_bench" "$form" 2000000 | sed -n 's/.*ns=//p')
    record "lanes.$name.ns" "$ns" "ns"
    few=$(instructions "$build/bench/lanes_bench" "$form" 10000 avx2)
    many=$(instructions "$build/bench/lanes_bench" "$form" 20000 avx2)
    record "lanes.$name.host_instructions" "$(((many - few) / 10000))" "instructions"
done << 'FORMS'
add_s32 add.s32 %r0, %r1, %r2
mad_lo_s32 mad.lo.s32 %r0, %r1, %r2, %r3
mul_wide_s32 mul.wide.s32 %l0, %r1, %r2
setp_lt_s32 setp.lt.s32 %p0, %r1, %r2
fma_rn_f32 fma.rn.f32 %r0, %r1, %r2, %r3
fma_rn_f64 fma.rn.f64 %l0, %l1, %l2, %l3
fma_rm_f32 fma.rm.f32 %r0, %r1, %r2, %r3
ex2_approx ex2.approx.ftz.f32 %r0, %r1
lg2_approx lg2.approx.ftz.f32 %r0, %r1
div_rn_f32 div.rn.f32 %r0, %r1, %r2
sqrt_rn_f32 sqrt.rn.f32 %r0, %r1
cvt_rzi_s32_f32 cvt.rzi.s32.f32 %r0, %r1
div_u32 div.u32 %r0, %r1, %r2
shfl_down shfl.sync.down.b32 %r0, %r1, %r2, %r3, %r4
FORMS
