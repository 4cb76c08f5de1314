#!/bin/sh
# atoll run --check, as a user meets it. Every workload and preset: tests/proof/check_workloads_test.c; what it catches:
# faults_test.sh.
. tests/cli/lib.sh

expect 0 "none was stale" "$ATOLL" run -m uba-mem -w hotspot:tiny --check
expect 0 "none was stale" "$ATOLL" run -m v100 -w ./tests/kit/ordering:tiny --check
expect 0 "--check" "$ATOLL" run --help
expect 1 "leave --functional out" "$ATOLL" run -w vecadd:tiny --check --functional
expect 1 "less than one set" "$ATOLL" run -m uba-mem -w vecadd:tiny -s gpu.llc_size=8KiB

"$ATOLL" run -m uba-mem -w ./tests/kit/ordering:tiny --check --json "$dir/a.json" > /dev/null
"$ATOLL" run -m uba-mem -w ./tests/kit/ordering:tiny --json "$dir/b.json" > /dev/null
holds "--check counts what it has seen and changes nothing else" python3 - "$dir/a.json" "$dir/b.json" << 'PY'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
check = a["check"]
assert check["caches_passed"] is True and "caches_passed" not in b["check"]
for name in ("stores", "loads", "words", "ordered_words", "racy_words", "memory_side_reads", "acquires", "releases"):
    assert check[name] > 0, name
assert check["words"] >= check["ordered_words"]
assert check["stores"] == a["stats"]["l1.writes"], (check["stores"], a["stats"]["l1.writes"])
# atomics read too, but not through the L1
assert check["loads"] == a["stats"]["l1.reads"] + a["stats"]["llc.atomics"], (check["loads"], a["stats"]["l1.reads"])
for r in (a, b):
    del r["host"], r["check"]
assert a == b
PY
# SMs have no order within a cycle: what one acknowledges in the cycle of another's fence is ordered before it, or not,
# whoever is visited first.
cat > "$dir/fences.ptx" << 'PTX'
.version 7.0
.target sm_70
.address_size 64
.visible .entry mix(.param .u64 words)
{
 .reg .pred %p<3>;
 .reg .b32 %r<8>;
 .reg .b64 %d<4>;
 ld.param.u64 %d0, [words];
 mov.u32 %r0, %ctaid.x;
 mov.u32 %r1, %tid.x;
 mad.lo.s32 %r0, %r0, 64, %r1;
 mov.u32 %r2, 0;
L:
 mad.lo.s32 %r3, %r2, 40503, %r0;
 mul.lo.s32 %r3, %r3, -1640531535;
 shr.u32 %r4, %r3, 15;
 and.b32 %r5, %r4, 1023;
 mul.wide.u32 %d1, %r5, 4;
 add.s64 %d2, %d0, %d1;
 ld.global.u32 %r6, [%d2];
 st.global.u32 [%d2], %r0;
 and.b32 %r7, %r3, 12288;
 setp.ne.u32 %p0, %r7, 0;
 @%p0 bra N;
 membar.gl;
N:
 add.s32 %r2, %r2, 1;
 setp.lt.u32 %p1, %r2, 16;
 @%p1 bra L;
 ret;
}
PTX
for order in fixed shuffled; do
    "$ATOLL" run -m v100 "$dir/fences.ptx" --entry mix --grid 16 --block 64 --arg buf:u32:1024 --check -s sim.visit_order=$order --json "$dir/$order.json" > "$dir/out" 2>&1
    sed -n '/"check": {/,/}/p' "$dir/$order.json" > "$dir/$order.check"
done
holds "what --check counts does not depend on the order of visits" cmp "$dir/fixed.check" "$dir/shuffled.check"
holds "and it counts words that are ordered" grep -q '"ordered_words": [1-9]' "$dir/fixed.check"
finish
