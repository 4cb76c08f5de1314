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
# runtime.warm_blocks: the first blocks of a single launch take no time, and their copies live on in the same launch
lookups="-w xsbench:tiny,lookups=8000 -s map.page_size=4KiB"
for blocks in 0 24; do
    # shellcheck disable=SC2086 # several settings
    timeout 100 "$ATOLL" run -m carve-swc-s32 $lookups -s runtime.warm_blocks=$blocks --json "$dir/warm-$blocks.json" > "$dir/log" 2>&1
done
holds "warm blocks fill the remote data caches, and the others run with time" python3 - "$dir" << 'PYTHON'
import json, sys
cold, warm = (json.load(open(f"{sys.argv[1]}/warm-{blocks}.json")) for blocks in (0, 24))
assert cold["stats"]["rdc.warm_fills"] == 0 < warm["stats"]["rdc.warm_fills"]
assert cold["stats"]["sm.blocks_started"] - warm["stats"]["sm.blocks_started"] == 24
assert cold["stats"]["rdc.cold_share"] > 2 * warm["stats"]["rdc.cold_share"]
assert cold["stats"]["rdc.hit_rate"] < warm["stats"]["rdc.hit_rate"]
PYTHON
# shellcheck disable=SC2086
expect 1 "has 32 blocks: lower it" "$ATOLL" run -m carve-s32 $lookups -s runtime.warm_blocks=32
for machine in carve numa-gpu-rorep numa-gpu-ideal gpu1; do
    # shellcheck disable=SC2086
    expect 0 "none was stale" timeout 100 "$ATOLL" run -m $machine-s32 $lookups -s runtime.warm_blocks=24 --check
done
for order in round_robin distributed two_level block_cta chunks in_turn coda; do # the scheduler goes on where it was
    # shellcheck disable=SC2086
    expect 0 "checked against the CPU: right" timeout 100 "$ATOLL" run -m gpu1-s32 $lookups -s runtime.warm_blocks=9 -s runtime.cta_sched=$order
done
expect 0 "checked against the CPU: right" timeout 100 "$ATOLL" run -m gpu1-s32 -w comd:tiny -s runtime.warm_launches=12 -s runtime.warm_blocks=1
finish
