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
finish
