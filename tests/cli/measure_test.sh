#!/bin/sh
# wl_measure(): the launches before it take no time and appear in no statistic, and pages lie where the same launches
# with time would have placed them.
. tests/cli/lib.sh
run() { # workload, name of the result
    timeout 100 "$ATOLL" run -m numa-gpu -w "$1" -s map.page_size=4KiB --json "$dir/$2.json" > "$dir/log" 2>&1
}
run ./tests/kit/measured marked
run ./tests/kit/measured:mark=0 whole
holds "initialisation runs without time and places pages as if run" python3 - "$dir" << 'PYTHON'
import json, sys
marked, whole = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("marked", "whole"))
assert [k["name"] for k in marked["kernels"]] == ["read_backwards"]
assert [k["name"] for k in whole["kernels"]] == ["write_forwards", "read_backwards"]
assert marked["totals"]["launches"] == 1 and marked["totals"]["blocks"] == 256
assert marked["totals"]["warp_instructions"] == marked["stats"]["sm.warp_instructions"]
# the first kernel sends nothing over the links: what the second one sends says where the pages are
for name in ("gpu_net.taken_bytes", "llc.crossing_reads", "mmu.pages_placed"):
    assert marked["stats"][name] == whole["stats"][name] > 0, name
assert marked["totals"]["cycles"] < whole["totals"]["cycles"]
PYTHON
expect 1 "wl_measure() comes too late" timeout 100 "$ATOLL" run -m numa-gpu -w ./tests/kit/measured:mark=2
expect 0 "none was stale" timeout 100 "$ATOLL" run -m numa-gpu -w ./tests/kit/measured --check
expect 0 "none was stale" timeout 100 "$ATOLL" run -m v100 -w ./tests/kit/measured --check # without an ideal MMU
expect 0 "checked" timeout 100 "$ATOLL" run -w ./tests/kit/measured --functional
# beside another application
expect 0 "measured" timeout 100 "$ATOLL" run -m v100 -w ./tests/kit/measured+vecadd:tiny
# every workload of CARVE marks its measured part: no kernel that initialises is timed
for workload in amg cnn_layer euler3d gups:tiny,init=1 hpgmg hpgmg_amr lulesh mcb miniamr nekbone sssp; do
    case $workload in *:*) size=$workload ;; *) size=$workload:tiny ;; esac
    run "$size" carve
    holds "$size times no launch of its initialisation" python3 - "$dir/carve.json" << 'PYTHON'
import json, sys
kernels = [k["name"] for k in json.load(open(sys.argv[1]))["kernels"]]
assert kernels and not [k for k in kernels if "init" in k or "start" in k], kernels
PYTHON
done
finish
