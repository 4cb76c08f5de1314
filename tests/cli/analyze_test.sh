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
expect 0 "p0         read-only    -            only read, first by ld.global.f32 at line 22" "$ATOLL" analyze "$dir/k.ptx"
expect 0 "p1         written      -            written by st.global.f32 at line 30" "$ATOLL" analyze "$dir/k.ptx"
# the launch shows that an iteration skips a whole row
expect 0 "column-vertical    1024 B         128 B" "$ATOLL" analyze "$dir/k.ptx" --grid 8,4 --block 32 --param width=256
expect 0 "blocks go align-aware, as p1 asks: the largest structure" "$ATOLL" analyze "$dir/k.ptx" --grid 8,4 --block 32 \
    --param p2=256 --param in=1KiB --param out=1MiB
expect 0 "no-locality" "$ATOLL" analyze "$dir/k.ptx" --grid 8,4 --block 32 --json -
expect 0 '"stride_bytes": 1024' "$ATOLL" analyze "$dir/k.ptx" --entry rows --grid 8,4 --block 32 --param p2=256 --json -
expect 0 '"verdict": "read-only"' "$ATOLL" analyze "$dir/k.ptx" --json -
# bytes of the structure, not of its elements
expect 0 "p0         read-only    65536        only read" "$ATOLL" analyze "$dir/k.ptx" --grid 8,4 --block 32 --param in=64KiB
expect 0 '"bytes": 65536' "$ATOLL" analyze "$dir/k.ptx" --grid 8,4 --block 32 --param in=64KiB --json -
expect 0 '"bytes": null' "$ATOLL" analyze "$dir/k.ptx" --json -

# a structure by value, read through a register as clang does, and a 64-bit pitch; two loops, and one that brx.idx leaves
cat > "$dir/s.ptx" <<'PTX'
.version 7.8
.target sm_80
.address_size 64
.visible .entry s(.param .align 8 .b8 s[24], .param .u64 p, .param .u64 pitch)
{
.reg .pred %p<4>;
.reg .b32 %r<12>;
.reg .b64 %rd<16>;
mov.b64 %rd1, s;
mov.u64 %rd2, %rd1;
ld.param.u64 %rd3, [%rd2+8];
ld.param.u64 %rd4, [%rd2];
ld.param.u32 %r1, [s+16];
ld.param.u64 %rd5, [p];
ld.param.u64 %rd6, [pitch];
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd7, %r2, 4;
add.s64 %rd8, %rd3, %rd7;
add.s64 %rd9, %rd4, %rd7;
mov.u32 %r3, 0;
FIRST:
ld.global.u32 %r4, [%rd8];
st.global.u32 [%rd9], %r4;
add.s64 %rd8, %rd8, 4096;
add.s64 %rd9, %rd9, 4096;
add.s32 %r3, %r3, 1;
setp.lt.s32 %p1, %r3, %r1;
@%p1 bra FIRST;
add.s64 %rd10, %rd5, %rd7;
add.s64 %rd10, %rd10, %rd6;
mov.u32 %r5, 0;
SECOND:
ld.global.u32 %r6, [%rd10];
add.s64 %rd10, %rd10, %rd6;
add.s32 %r5, %r5, 1;
and.b32 %r7, %r6, 1;
ways: .branchtargets SECOND, OUT;
brx.idx %r7, ways;
OUT:
mul.wide.s32 %rd11, %r5, 4;
add.s64 %rd12, %rd4, %rd11;
st.global.u32 [%rd12], %r5;
ret;
}
PTX
launch="--grid 4 --block 64 --param p0.0=1KiB --param p0.8=64MiB --param p0.16=10"
# shellcheck disable=SC2086 # words on purpose
expect 0 "p0.8       read-only    67108864     only read" "$ATOLL" analyze "$dir/s.ptx" $launch
# shellcheck disable=SC2086 # words on purpose
expect 0 "as p0.8 asks: the largest structure" "$ATOLL" analyze "$dir/s.ptx" $launch
expect 0 "p0.8[tx + 1024*m]" "$ATOLL" analyze "$dir/s.ptx"
expect 0 "p1 + ((1 + n)*p2 + 4*tx) bytes" "$ATOLL" analyze "$dir/s.ptx"
"$ATOLL" analyze "$dir/s.ptx" > "$dir/s.txt"
holds "a pitch is no structure" sh -c "! grep -q '^    p2 ' '$dir/s.txt'"
# how often the second loop runs, and so where its end writes, depends on data: never a regular class
holds "an end by brx.idx counts" grep -q "W    unclassified  .*p0.0\[n + 1\]" "$dir/s.txt"
for ptx in "$ATOLL_BUILD"/generated/ptx/*.ptx; do
    expect 0 "kernel " "$ATOLL" analyze "$ptx"
done

expect 1 "there is no kernel 'row'" "$ATOLL" analyze "$dir/k.ptx" --entry row
expect 1 "no kernel has such a parameter" "$ATOLL" analyze "$dir/k.ptx" --grid 4 --block 32 --param height=4
expect 1 "--param takes NAME=VALUE" "$ATOLL" analyze "$dir/k.ptx" --grid 4 --block 32 --param width
expect 1 "give --grid and --block too" "$ATOLL" analyze "$dir/k.ptx" --param width=256
expect 1 "block of 2048 x 1 x 1: x must be 1 to 1024" "$ATOLL" analyze "$dir/k.ptx" --grid 4 --block 2048
expect 1 "has 1056 threads; at most 1024" "$ATOLL" analyze "$dir/k.ptx" --grid 4 --block 32,33
expect 1 "has 32 bits, which do not hold the value" "$ATOLL" analyze "$dir/k.ptx" --grid 4 --block 32 --param width=5000000000
expect 0 "kernel rows" "$ATOLL" analyze "$dir/k.ptx" --grid 4 --block 32 --param width=-1
expect 1 "--param takes NAME=VALUE" "$ATOLL" analyze "$dir/k.ptx" --grid 4 --block 32 --param in=99999999999GiB
expect 1 "a structure of 24 bytes; name a field" "$ATOLL" analyze "$dir/s.ptx" --grid 4 --block 32 --param p0=4
expect 1 "no kernel has such a parameter" "$ATOLL" analyze "$dir/s.ptx" --grid 4 --block 32 --param p0.24=4
expect 1 "needs --block" "$ATOLL" analyze "$dir/k.ptx" --grid 4
expect 1 "takes PTX files" "$ATOLL" analyze
sed 's/%r7, %r2, %r1, %r5/%r7, %r2, %r1, %r77/' "$dir/k.ptx" > "$dir/bad.ptx"
expect 1 "bad.ptx:27" "$ATOLL" analyze "$dir/bad.ptx"
expect 1 "--coverage takes PTX files" "$ATOLL" analyze "$dir/k.ptx" --coverage --grid 4
finish
