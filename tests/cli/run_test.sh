#!/bin/sh
# atoll run --functional and atoll analyze --coverage, as a user meets them.
. tests/cli/lib.sh

expect 0 "result checked against the CPU: right" "$ATOLL" run -m uba-mem -w vecadd:tiny --functional
expect 0 "vecadd:n=5000" "$ATOLL" run -w vecadd:n=5000 --functional
expect 0 "sgemm:tiny" "$ATOLL" run -w vecadd:tiny+sgemm:tiny --functional
expect 1 "did you mean 'vecadd'?" "$ATOLL" run -w vecad:tiny --functional
expect 1 "vecadd" "$ATOLL" run -w vecadd:n=abc --functional
expect 1 "vecadd" "$ATOLL" run -w vecadd:n=-1 --functional
expect 1 "vecadd" "$ATOLL" run -w vecadd:m=1 --functional
expect 1 "vecadd" "$ATOLL" run -w vecadd:huge --functional
expect 1 "either -w WORKLOAD or PTX files" "$ATOLL" run --functional
expect 0 "result checked against the CPU: right" "$ATOLL" run -w vecadd:tiny
expect 1 "is not a whole number" "$ATOLL" run -w vecadd:tiny --functional --max-instructions many
expect 1 "takes a number from 1, not 0; leave it out for no limit" "$ATOLL" run -w vecadd:tiny --max-instructions 0
expect 0 "stopped by --max-instructions" "$ATOLL" run -w sgemm:small --functional --max-instructions 1000

expect 1 "'tests' is not a file" "$ATOLL" run tests --functional --grid 1 --block 1
expect 1 "needs --grid X" "$ATOLL" run tests --functional --block 1
printf '.version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\nL: bra L;\n}\n' > "$dir/endless.ptx"
expect 0 "stopped by --max-instructions: the kernel did not finish" "$ATOLL" run "$dir/endless.ptx" --functional --grid 500 --block 64 --max-instructions 100000
expect 0 "block (0,0,0):" "$ATOLL" run "$dir/endless.ptx" --functional --grid 500 --block 64 --max-instructions 100000 --json "$dir/endless.json"
expect 0 "endless.ptx:6: bra" "$ATOLL" run "$dir/endless.ptx" --functional --grid 500 --block 64 --max-instructions 10000
holds "the limit counts all resident blocks together" python3 -c "import json,sys; assert 100000 <= json.load(open(sys.argv[1]))['totals']['warp_instructions'] < 110000" "$dir/endless.json"

# JSON: complete, exact, and the same on every instruction set but for the host's part
"$ATOLL" run -m uba-mem -w sgemm:tiny --functional --json "$dir/a.json" > /dev/null
"$ATOLL" run -m uba-mem -w sgemm:tiny --functional -s sim.isa=plain --json "$dir/b.json" > /dev/null
holds "JSON has the parts of the contract, and results do not depend on the instruction set" python3 - "$dir/a.json" "$dir/b.json" << 'PY'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
for key in ("atoll_version", "machine", "workload", "config", "totals", "apps", "check", "host"):
    assert key in a, key
assert a["totals"]["warp_instructions"] > 0 and a["check"]["self_check_passed"] is True
for r in (a, b):
    del r["host"]
    del r["config"]["sim"]["isa"]
assert a == b
PY
expect 0 '"warp_instructions"' "$ATOLL" run -w vecadd:tiny --functional --json -
expect 1 "cannot write" "$ATOLL" run -w vecadd:tiny --functional --json /nonexistent/x.json

# what a kernel printed before it failed is shown, and --json - stays JSON
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -n "$nvcc" ]; then
    printf '#include <cstdio>\nextern "C" __global__ void k(int *o, int at) { printf("before %%d\\n", at); o[at] = 1; }\n' > "$dir/p.cu"
    "$nvcc" -ptx -arch=sm_75 "$dir/p.cu" -o "$dir/p.ptx"
    expect 1 "before 1000000" "$ATOLL" run "$dir/p.ptx" --functional --grid 1 --block 1 --arg buf:s32:16 --arg 1000000
    "$ATOLL" run "$dir/p.ptx" --functional --grid 1 --block 1 --arg buf:s32:16 --arg 3 --json - > "$dir/p.json" 2> /dev/null
    holds "--json - is JSON although the kernel prints" python3 -c "import json,sys; json.load(open(sys.argv[1]))" "$dir/p.json"
else
    skip "printf before a fault: nvcc is not on this machine"
fi

# coverage
cat > "$dir/k.ptx" << 'PTX'
.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    add.s32 %r1, %r1, 1;
    frobnicate.b32 %r2, %r1;
    ret;
}
PTX
expect 0 "frobnicate" "$ATOLL" analyze --coverage "$dir/k.ptx"
expect 1 "cannot" "$ATOLL" analyze --coverage "$dir/none.ptx"
expect 1 "takes PTX files" "$ATOLL" analyze --coverage
printf 'hello' > "$dir/bad.ptx"
expect 1 "bad.ptx:1:" "$ATOLL" analyze --coverage "$dir/bad.ptx"

# one kernel by hand: several files, a structure, a cooperative grid
cat > "$dir/a.ptx" << 'PTX'
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 r) half(.param .b32 n);
.extern .func (.param .b64 r) cudaGetParameterBufferV2(.param .b64 n);
.visible .entry pick(.param .u64 to, .param .align 4 .b8 s[8])
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [s+4];
    {
        .param .b32 n;
        .param .b32 q;
        st.param.b32 [n], %r1;
        call (q), half, (n);
        ld.param.b32 %r2, [q];
    }
    st.global.u32 [%rd1], %r2;
    ret;
}
.visible .entry parent()
{
    .reg .b64 %rd<2>;
    .param .b64 n;
    .param .b64 q;
    call (q), cudaGetParameterBufferV2, (n);
    ret;
}
PTX
cat > "$dir/b.ptx" << 'PTX'
.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b32 r) half(.param .b32 n)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [n];
    shr.u32 %r2, %r1, 1;
    st.param.b32 [r], %r2;
    ret;
}
PTX
by_hand="--functional --grid 1 --block 1"
expect 0 "buf:u32:1:dump: 21" "$ATOLL" run "$dir/a.ptx" "$dir/b.ptx" $by_hand --entry pick --arg buf:u32:1:dump --arg hex:000000002a000000
expect 0 "buf:u32:1:dump: 21" "$ATOLL" run "$dir/b.ptx" "$dir/a.ptx" $by_hand --entry pick --arg buf:u32:1:dump --arg hex:000000002a000000
expect 1 "a.ptx:16:9: call of 'half', which no module defines: give the PTX file" "$ATOLL" run "$dir/a.ptx" $by_hand --entry pick --arg buf:u32:1 --arg hex:000000002a000000
expect 1 "structure of 8 bytes: give them as hex: and 16 digits" "$ATOLL" run "$dir/a.ptx" $by_hand --entry pick --arg buf:u32:1 --arg 5
expect 1 "which of 2 kernels? Choose with --entry" "$ATOLL" run "$dir/a.ptx" "$dir/b.ptx" $by_hand --arg buf:u32:1 --arg 5
expect 1 "of the device runtime only launches (<<<>>>), streams, events and errors are there" "$ATOLL" run "$dir/a.ptx" $by_hand --entry parent
expect 1 "z must be 1 to 64" "$ATOLL" run "$dir/a.ptx" --functional --grid 1 --block 1,1,65 --entry parent
expect 1 "are for a kernel of a PTX file" "$ATOLL" run -w vecadd:tiny --functional --cooperative
expect 0 "call of cudaGetParameterBufferV2" "$ATOLL" analyze --coverage "$dir/a.ptx" "$dir/b.ptx"
expect 0 "a.ptx:16:9: kernel 'pick': call (q), half, (n)   (no file defines 'half'" "$ATOLL" analyze --coverage "$dir/a.ptx"
"$ATOLL" analyze --coverage "$dir/a.ptx" "$dir/b.ptx" --json "$dir/c.json" > /dev/null
holds "coverage as JSON names the undefined function" python3 - "$dir/c.json" << 'PY'
import json, sys
rows = json.load(open(sys.argv[1]))
assert [r["undefined"] for r in rows] == ["cudaGetParameterBufferV2"], rows
assert rows[0]["line"] == 27 and rows[0]["function"] == "parent"
PY
# every block waits for all others: ends only when all are resident
cat > "$dir/grid.ptx" << 'PTX'
.version 7.0
.target sm_70
.address_size 64
.visible .entry grid(.param .u64 count)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [count];
    mov.u32 %r1, %nctaid.x;
    atom.global.add.u32 %r2, [%rd1], 1;
L:  ld.volatile.global.u32 %r3, [%rd1];
    setp.lt.u32 %p, %r3, %r1;
    @%p bra L;
    ret;
}
PTX
expect 0 "buf:u32:1:dump: 300" "$ATOLL" run "$dir/grid.ptx" --functional --cooperative --grid 300 --block 1 --arg buf:u32:1:dump
expect 1 "does not fit the machine" "$ATOLL" run "$dir/grid.ptx" --functional --cooperative --grid 300000 --block 1 --arg buf:u32:1:dump
finish
