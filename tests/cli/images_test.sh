#!/bin/sh
# Textures and surfaces through the command: tex: and surf: arguments, with time and without, under --check.
. tests/cli/lib.sh

# out[y][x] = tex(x + 0.75, y + 0.25) of a linear filter; also written to a surface
cat > "$dir/t.ptx" << 'PTX'
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 t, .param .u64 s)
{
	.reg .b32 %r<8>;
	.reg .f32 %f<8>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [t];
	ld.param.u64 %rd3, [s];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	cvt.rn.f32.u32 %f1, %r1;
	cvt.rn.f32.u32 %f2, %r2;
	add.f32 %f1, %f1, 0f3F400000;
	add.f32 %f2, %f2, 0f3E800000;
	tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd2, {%f1, %f2}];
	mad.lo.u32 %r4, %r2, %r3, %r1;
	mad.wide.u32 %rd4, %r4, 4, %rd1;
	st.global.f32 [%rd4], %f4;
	shl.b32 %r5, %r1, 2;
	mov.b32 %r6, %f4;
	sust.b.2d.b32.trap [%rd3, {%r5, %r2}], {%r6};
	suld.b.2d.b32.trap {%r7}, [%rd3, {%r5, %r2}];
	st.global.b32 [%rd4+131072], %r7;
	ret;
}
PTX
image="--arg buf:f32:64K:save=$dir/filtered --arg tex:f32:64x64:iota:linear --arg surf:f32:64x64:save=$dir/surf"
run() { # shellcheck disable=SC2086 # words
    "$ATOLL" run "$dir/t.ptx" --grid 64 --block 64 $image "$@"
}
holds "the filter gives the same without time, with it, and under --check" sh -c "
    $ATOLL run $dir/t.ptx --grid 64 --block 64 $image --functional && mv $dir/filtered $dir/a && mv $dir/surf $dir/b &&
    $ATOLL run $dir/t.ptx -m uba-mem --grid 64 --block 64 $image && cmp $dir/filtered $dir/a && cmp $dir/surf $dir/b &&
    $ATOLL run $dir/t.ptx -m v100 --check --grid 64 --block 64 $image && cmp $dir/filtered $dir/a && cmp $dir/surf $dir/b"
holds "as the formula of the programming guide says" python3 - "$dir/a" "$dir/b" << 'PY'
import struct, sys
out = struct.unpack("<65536f", open(sys.argv[1], "rb").read())
surface = struct.unpack("<4096f", open(sys.argv[2], "rb").read())
clamp = lambda i: max(0, min(63, i))
t = lambda x, y: 64 * clamp(y) + clamp(x)
for y in range(64):
    for x in range(64):
        # x + 0.75 - 0.5: texel x, weight 1/4; y + 0.25 - 0.5: texel y - 1, weight 3/4
        want = 0.25 * (0.75 * t(x, y - 1) + 0.25 * t(x + 1, y - 1)) + 0.75 * (0.75 * t(x, y) + 0.25 * t(x + 1, y))
        assert out[64 * y + x] == want == surface[64 * y + x] == out[32768 + 64 * y + x], (x, y)
PY
run -m uba-mem --json "$dir/t.json" > /dev/null
holds "the texels of a fetch go through the L1" python3 - "$dir/t.json" << 'PY'
import json, sys
s = json.load(open(sys.argv[1]))["stats"]
# per warp: two rows of 32 + 1 texels: 4 lines (2 where the neighbour is the last texel's own); and two stores of one line,
# a surface store and a surface load of one line
assert s["sm.memory_instructions"] == 5 * 128, s["sm.memory_instructions"]
assert s["l1.reads"] > 128 * (2 + 1) and s["l1.reads"] < 128 * (5 + 1), s["l1.reads"]
assert s["l1.writes"] == 128 * 3, s["l1.writes"]
PY
expect 0 "0 1 2 3" "$ATOLL" run "$dir/t.ptx" --functional --grid 1 --block 1 --arg buf:f32:64K --arg tex:f32:4x1:iota:dump --arg surf:f32:4x1
expect 1 "no such texel" "$ATOLL" run "$dir/t.ptx" --functional --grid 1 --block 1 --arg buf:f32:64K --arg tex:f64:4 --arg surf:f32:4
expect 1 "the size is missing" "$ATOLL" run "$dir/t.ptx" --functional --grid 1 --block 1 --arg buf:f32:64K --arg tex:f32 --arg surf:f32:4
expect 1 "linear filtering needs floating-point results" "$ATOLL" run "$dir/t.ptx" --functional --grid 1 --block 1 --arg buf:f32:64K --arg tex:u8:4:linear --arg surf:f32:4
expect 1 "x = 128 lies outside of the surface" "$ATOLL" run "$dir/t.ptx" --grid 1 --block 64 --arg buf:f32:64K --arg tex:f32:64x64 --arg surf:f32:32x1
expect 1 "is a surface object" "$ATOLL" run "$dir/t.ptx" --functional --grid 1 --block 1 --arg buf:f32:64K --arg surf:f32:4 --arg surf:f32:4
expect 0 "0 of 20 instructions cannot" "$ATOLL" analyze --coverage "$dir/t.ptx"
finish
