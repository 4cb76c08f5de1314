#!/bin/sh
# atoll analyze: both tables, with and without the numbers of a launch, as text and JSON; mistakes as the parser tells them.
. tests/cli/lib.sh
cat > "$dir/k.ptx" <<'PTX'
.version 7.8
.target sm_80
.address_size 64
.visible .entry rows(.param .u64 in, .param .u64 out, .param .u32 width)
{
.reg .pred %p<2>;
.reg .b32 %r<12>;
.reg .f32 %f<2>;
.reg .b64 %rd<8>;
ld.param.u64 %rd1, [in];
ld.param.u64 %rd2, [out];
ld.param.u32 %r1, [width];
mov.u32 %r2, %ctaid.y;
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %tid.x;
mad.lo.s32 %r5, %r3, 32, %r4;
mul.wide.s32 %rd3, %r5, 4;
add.s64 %rd4, %rd1, %rd3;
mul.wide.s32 %rd5, %r1, 4;
mov.u32 %r6, 0;
LOOP:
ld.global.f32 %f1, [%rd4];
add.s64 %rd4, %rd4, %rd5;
add.s32 %r6, %r6, 1;
setp.lt.s32 %p1, %r6, %r1;
@%p1 bra LOOP;
mad.lo.s32 %r7, %r2, %r1, %r5;
mul.wide.s32 %rd6, %r7, 4;
add.s64 %rd7, %rd2, %rd6;
st.global.f32 [%rd7], %f1;
ret;
}
PTX
expect 0 "p0[32*bx + tx + m*p2]" "$ATOLL" analyze "$dir/k.ptx"
expect 0 "column-horizontal" "$ATOLL" analyze "$dir/k.ptx"
expect 0 "p0         read-only    4      only read, first by ld.global.f32 at line 22" "$ATOLL" analyze "$dir/k.ptx"
expect 0 "p1         written      4      written by st.global.f32 at line 30" "$ATOLL" analyze "$dir/k.ptx"
# the launch shows that an iteration skips a whole row
expect 0 "column-vertical    1024 B         128 B" "$ATOLL" analyze "$dir/k.ptx" --grid 8,4 --block 32 --param width=256
expect 0 "blocks go align-aware, as p1 asks: the largest structure" "$ATOLL" analyze "$dir/k.ptx" --grid 8,4 --block 32 \
    --param p2=256 --param in=1KiB --param out=1MiB
expect 0 "no-locality" "$ATOLL" analyze "$dir/k.ptx" --grid 8,4 --block 32 --json -
expect 0 '"stride_bytes": 1024' "$ATOLL" analyze "$dir/k.ptx" --entry rows --grid 8,4 --block 32 --param p2=256 --json -
expect 0 '"verdict": "read-only"' "$ATOLL" analyze "$dir/k.ptx" --json -
for ptx in "$ATOLL_BUILD"/generated/ptx/*.ptx; do
    expect 0 "kernel " "$ATOLL" analyze "$ptx"
done

expect 1 "there is no kernel 'row'" "$ATOLL" analyze "$dir/k.ptx" --entry row
expect 1 "no kernel has such a parameter" "$ATOLL" analyze "$dir/k.ptx" --param height=4
expect 1 "--param takes NAME=VALUE" "$ATOLL" analyze "$dir/k.ptx" --param width
expect 1 "needs --block" "$ATOLL" analyze "$dir/k.ptx" --grid 4
expect 1 "takes PTX files" "$ATOLL" analyze
sed 's/%r7, %r2, %r1, %r5/%r7, %r2, %r1, %r77/' "$dir/k.ptx" > "$dir/bad.ptx"
expect 1 "bad.ptx:27" "$ATOLL" analyze "$dir/bad.ptx"
expect 1 "--coverage takes PTX files" "$ATOLL" analyze "$dir/k.ptx" --coverage --grid 4
finish
