#!/bin/sh
# Pages in system memory (spill.share) under --check: by line and as pages that move, with results that do not depend on
# the order of visits; what crosses the CPU links; a footprint beyond the memory of the GPUs; invalid combinations.
. tests/cli/lib.sh
# lines are evicted and pages are many and small; xsbench: mostly reads; gups: write-backs too
set="-s map.page_size=4KiB -s gpu.llc_size=16KiB -s llc.ways=4 -s runtime.move_cost=100ns"
for machine in gpu1 carve; do
    for policy in line um; do
        for workload in ./tests/kit/ordering:tiny xsbench:tiny,lookups=2000 gups:words=200000,threads=1500,updates=4; do
            # shellcheck disable=SC2086 # several settings
            expect 0 "none was stale" timeout 100 "$ATOLL" run -m $machine-s32 -w $workload --check $set -s spill.share=0.3 -s spill.policy=$policy
        done
        for order in fixed shuffled; do
            # shellcheck disable=SC2086
            timeout 100 "$ATOLL" run -m $machine-s32 -w gups:words=200000,threads=1500,updates=4 $set -s spill.share=0.3 -s spill.policy=$policy \
                -s sim.visit_order=$order --json "$dir/$policy-$order.json" > "$dir/log" 2>&1
        done
    done
    holds "system memory of $machine: laws, links, order of visits" python3 - "$dir" << 'PYTHON'
import json, sys
results = {(p, o): json.load(open(f"{sys.argv[1]}/{p}-{o}.json")) for p in ("line", "um") for o in ("fixed", "shuffled")}
for policy in ("line", "um"):
    fixed, shuffled = (results[policy, order]["stats"] for order in ("fixed", "shuffled"))
    differs = [key for key in fixed if not key.startswith("engine.") and fixed[key] != shuffled[key]]
    assert not differs, differs
line, um = results["line", "fixed"], results["um", "fixed"]
for result in (line, um):
    s, totals = result["stats"], result["totals"]
    assert abs(s["spill.pages"] - 0.3 * s["mmu.pages_placed"]) <= 0.5, (s["spill.pages"], s["mmu.pages_placed"])
    assert totals["time_bounds"]["time_over_largest"] >= 0.99 # the totals end with the last kernel, write-backs may follow
    assert totals["time_bounds"]["cpu_link_bytes"]["seconds"] > 0
s = line["stats"]
assert s["spill.answered"] == s["spill.reads"] > 100 and s["spill.accepted"] == s["spill.writes"] > 100
assert s["spill.moves_in"] == 0
s = um["stats"]
assert s["spill.answered"] == s["spill.accepted"] == 0 and s["spill.late_reads"] == s["spill.reads"] > 0
assert s["spill.moves_in"] == s["spill.moves_out"] > 10
assert s["spill.in_bytes"] == s["spill.moves_in"] * 4096
PYTHON
done
# report
# shellcheck disable=SC2086
expect 0 "over CPU links" "$ATOLL" run -m numa-gpu-s32 -w xsbench:tiny,lookups=2000 $set -s spill.share=0.3
expect 0 "bandwidth: 4 GB/s" "$ATOLL" config -m carve-s32
# a slower link takes longer; no share, no difference
for share in 0.3 0; do
    for rate in 32GB/s 1GB/s; do
        # shellcheck disable=SC2086
        timeout 100 "$ATOLL" run -m numa-gpu-s32 -w xsbench:tiny,lookups=2000 $set -s spill.share=$share -s spill.bandwidth=$rate \
            --json "$dir/$share-${rate%/s}.json" > "$dir/log" 2>&1
    done
done
holds "the bandwidth of the CPU link counts if pages are spilled" python3 - "$dir" << 'PYTHON'
import json, sys
cycles = {name: json.load(open(f"{sys.argv[1]}/{name}.json"))["totals"]["cycles"] for name in ("0.3-32GB", "0.3-1GB", "0-32GB", "0-1GB")}
assert cycles["0.3-1GB"] > 1.1 * cycles["0.3-32GB"] and cycles["0-32GB"] == cycles["0-1GB"], cycles
PYTHON
# footprint beyond the memory of the GPU
small="-m gpu1-s32 -w triad:n=100000 -s gpu.memory_size=1MiB -s map.page_size=4KiB"
# shellcheck disable=SC2086
expect 1 "device memory is full: 256 pages of 4 KiB are placed, 256 fit" "$ATOLL" run $small
# shellcheck disable=SC2086
expect 0 "laws hold" timeout 100 "$ATOLL" run $small -s spill.share=0.2
# invalid combinations
for share in -0.1 1.5; do expect 1 "spill.share" "$ATOLL" run -m carve-s32 -w triad:tiny -s spill.share=$share; done
expect 1 "first pass" "$ATOLL" run -m carve-s32 tests/golden/ptx/alias.ptx --grid 1 --block 32 -s spill.share=0.1
expect 1 "keeps its home" "$ATOLL" run -m numa-gpu-migrate-s32 -w triad:tiny -s spill.share=0.1
expect 1 "keeps its home" "$ATOLL" run -m numa-gpu-ideal-s32 -w triad:tiny -s spill.share=0.1
expect 1 "map.kind" "$ATOLL" run -m carve-s32 -w triad:tiny -s spill.share=0.1 -s map.kind=fixed_channel
expect 1 "spill.policy um" "$ATOLL" run -m carve-s32 -w triad:tiny -s spill.share=1 -s spill.policy=um
finish
