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
expect 1 "either -w WORKLOAD or one PTX file" "$ATOLL" run --functional
expect 1 "not part of version" "$ATOLL" run -w vecadd:tiny
expect 1 "is not a whole number" "$ATOLL" run -w vecadd:tiny --functional --max-instructions many
expect 0 "stopped by --max-instructions" "$ATOLL" run -w sgemm:small --functional --max-instructions 1000

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
printf 'hello' > "$dir/bad.ptx"
expect 1 "bad.ptx:1:" "$ATOLL" analyze --coverage "$dir/bad.ptx"
finish
