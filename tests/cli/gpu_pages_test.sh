#!/bin/sh
# Pages between GPUs: ideal, read-only replicas and migration under --check; results that depend neither on the order of
# visits nor on working ahead; what each of them may and may not move over the links; invalid combinations.
. tests/cli/lib.sh
moves="-s map.page_size=4KiB -s runtime.move_interval_cyc=1000 -s runtime.move_accesses=8 -s runtime.move_cost=100ns"
for machine in numa-gpu-ideal numa-gpu-rorep numa-gpu-migrate numa-gpu-rorep-migrate; do
    for workload in ./tests/kit/ordering:tiny sssp:tiny mcb:tiny ./tests/kit/measured; do
        # shellcheck disable=SC2086 # several settings
        expect 0 "none was stale" timeout 100 "$ATOLL" run -m $machine-s32 -w $workload --check $moves
    done
    for order in fixed shuffled; do
        # shellcheck disable=SC2086
        timeout 100 "$ATOLL" run -m $machine-s32 -w mcb:tiny $moves -s sim.visit_order=$order --json "$dir/$order.json" > "$dir/log" 2>&1
    done
    holds "statistics of $machine do not depend on the order of visits" python3 - "$dir" << 'PYTHON'
import json, sys
fixed, shuffled = (json.load(open(f"{sys.argv[1]}/{name}.json"))["stats"] for name in ("fixed", "shuffled"))
differs = [key for key in fixed if not key.startswith("engine.") and fixed[key] != shuffled[key]]
assert not differs, differs
PYTHON
done
# atomics of a warp to one line keep their order while pages lock and unlock
for set in map.page_size=32KiB map.page_size=4KiB; do
    expect 0 "none was stale" timeout 100 "$ATOLL" run -m numa-gpu-migrate-s32 -w gups:words=40000,threads=2000,updates=16,atomic=1 --check \
        -s gpu.memory_size=1MiB -s pages.migration_ratio=1 -s pages.cool_down=0 -s runtime.move_interval_cyc=1000 -s runtime.move_accesses=2 \
        -s runtime.move_cost=100ns -s $set
done
# queues of one entry, one move at a time
for set in "runtime.moves=1 -s runtime.move_lines=1" llc.forward_queue=1 system.gpus=2 system.gpus=8; do
    # shellcheck disable=SC2086
    expect 0 "none was stale" timeout 100 "$ATOLL" run -m numa-gpu-rorep-migrate-s32 -w mcb:tiny --check $moves -s $set
done
for machine in numa-gpu numa-gpu-ideal numa-gpu-rorep; do
    timeout 100 "$ATOLL" run -m $machine-s32 -w xsbench:tiny,lookups=4000 -s map.page_size=4KiB --json "$dir/$machine.json" > "$dir/log" 2>&1
done
holds "ideal sends nothing over links; read-only tables are local with rorep; copies are counted" python3 - "$dir" << 'PYTHON'
import json, sys
numa, ideal, rorep = (json.load(open(f"{sys.argv[1]}/{name}.json"))["stats"] for name in ("numa-gpu", "numa-gpu-ideal", "numa-gpu-rorep"))
assert ideal["gpu_net.taken_bytes"] == 0 and ideal["llc.crossing_reads"] == 0
assert numa["llc.crossing_reads"] > 1000 and rorep["llc.crossing_reads"] == 0, rorep["llc.crossing_reads"]
assert rorep["pages.touch_replicas"] > 0 and rorep["pages.touch_collapses"] == 0
assert 1 < rorep["pages.memory_factor"] <= ideal["pages.memory_factor"] <= 4
PYTHON
for workload in ./tests/kit/measured xsbench:tiny,lookups=4000 gups:tiny; do
    name=$(basename "${workload%%:*}")
    timeout 100 "$ATOLL" run -m numa-gpu-s32 -w $workload -s map.page_size=4KiB -s pages.level=gpu -s pages.count_classes=true --json "$dir/$name.json" > "$dir/log" 2>&1
done
holds "misses are classified by page and by line, and no run is faster than its lower bounds" python3 - "$dir" << 'PYTHON'
import json, sys
results = {name: json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("measured", "xsbench", "gups")}
measured, xsbench, gups = (results[name]["stats"] for name in ("measured", "xsbench", "gups"))
# 64 pages of data, each read by one GPU, which is another one than it lies in, and 64 pages that their GPU writes
assert measured["sharing.pages"] == 128 and measured["sharing.remote_pages"] == 64 and measured["sharing.shared_pages"] == 0
assert measured["sharing.page_private_share"] == 1 and measured["sharing.line_private_share"] == 1
assert measured["sharing.local_misses"] == 0
# tables that are only read; a table that all GPUs write, whose lines several GPUs seldom share
assert xsbench["sharing.page_read_only_share"] > 0.9 and xsbench["sharing.page_read_write"] < xsbench["sharing.page_read_only"]
assert gups["sharing.page_read_write_share"] > 0.9 > gups["sharing.line_read_write_share"]
for name, result in results.items():
    bounds, totals = result["totals"]["time_bounds"], result["totals"]
    assert bounds["time_over_largest"] >= 1, name
    busiest = max(link["utilisation"] for link in totals["links"])
    assert abs(bounds["link_bytes"]["seconds"] - busiest * totals["seconds"]) < 1e-9, name
    assert sum(totals["pages_of_gpus"]) == result["stats"]["mmu.pages_placed"], name
PYTHON
# the first pass ends where the timed run does
expect 0 "stopped" timeout 20 "$ATOLL" run -m numa-gpu-rorep-s32 -w xsbench --max-instructions 20000
# invalid combinations
expect 1 "pages.migration" "$ATOLL" run -m gpu1 -w triad:tiny -s pages.level=gpu -s pages.migration=remote_heavy
expect 1 "pages.replication" "$ATOLL" run -m numa-gpu -w triad:tiny -s pages.replication=oracle
expect 1 "no page migrates" "$ATOLL" run -m numa-gpu-ideal -w triad:tiny -s pages.migration=remote_heavy
expect 1 "first pass" "$ATOLL" run -m numa-gpu-rorep tests/golden/ptx/alias.ptx --grid 1 --block 32
# machines that extend several others
cat > "$dir/both.yaml" << 'YAML'
extends: [numa-gpu, gpu1-s32]
YAML
expect 0 "organisation: numa" "$ATOLL" config -m "$dir/both.yaml"
expect 0 "page_size: 64 KiB" "$ATOLL" config -m "$dir/both.yaml"
echo "extends: [numa-gpu, {a: b}]" > "$dir/wrong.yaml"
expect 1 "lists names of machines" "$ATOLL" config -m "$dir/wrong.yaml"
finish
