#!/bin/sh
# The machines of the NUBA paper: every one runs under --check, whatever order its parts are visited in and whether SMs
# work ahead; what they report adds up.
. tests/cli/lib.sh
for machine in uba-mem uba-sm nuba-norep nuba-fullrep nuba mcm-uba mcm-nuba a100; do
    for workload in ./tests/kit/ordering:tiny gemm_naive:tiny bfs:tiny; do
        expect 0 "none was stale" timeout 100 "$ATOLL" run -m $machine -w $workload --check
    done
done
# pages of 2 MiB, other shapes and sizes
for set in map.page_size=2MiB partition.slices=1 partition.slices=4 "chiplet.partitions=16 -s gpu.llc_size=3MiB" \
    gpu.llc_size=12MiB slice_net.width=8B map.kind=pae nuba.profiler=local nuba.model=bottleneck \
    llc.boundary=drop_remote llc.boundary=replicas; do
    # shellcheck disable=SC2086 # one or two settings
    expect 0 "none was stale" timeout 100 "$ATOLL" run -m nuba -w gemm_naive:tiny --check -s nuba.epoch_cyc=2000 -s $set
done
# pages that move and are copied, under traffic
moves="-s runtime.move_interval_cyc=1000 -s runtime.move_accesses=8 -s runtime.move_cost=100ns"
for roles in "-s pages.migration=most_used" "-s pages.replication=read_only" "-s pages.migration=most_used -s pages.replication=read_only"; do
    for set in map.page_size=4KiB map.page_size=64KiB "runtime.moves=1 -s runtime.move_lines=1" llc.forward_queue=1 runtime.move_cost=5us; do
        # shellcheck disable=SC2086 # several settings
        expect 0 "none was stale" timeout 100 "$ATOLL" run -m nuba-norep -w ./tests/kit/ordering:tiny --check $moves -s $set $roles
    done
    # shellcheck disable=SC2086
    expect 0 "none was stale" timeout 100 "$ATOLL" run -m mcm-nuba -w bfs:tiny --check $moves -s nuba.replication=none -s runtime.placement=first_touch $roles
    # shellcheck disable=SC2086
    expect 1 "need" "$ATOLL" run -m nuba -w gemm_naive:tiny $roles
    # shellcheck disable=SC2086
    expect 1 "need" "$ATOLL" run -m uba-mem -w gemm_naive:tiny $roles
done
expect 1 "llc.boundary" "$ATOLL" run -m nuba-norep -w gemm_naive:tiny -s nuba.replication=full
expect 1 "links" "$ATOLL" run -m nuba -w gemm_naive:tiny -s net.topology=crossbar

json() {
    # shellcheck disable=SC2086 # a machine and settings
    "$ATOLL" run -m $1 -w gemm_naive:n=128 -s nuba.epoch_cyc=3000 -s nuba.profiled_sets=48 -s "$2" --json "$dir/$3.json" > "$dir/log" 2>&1
}
for machine in migration replication uba-sm nuba; do
    case $machine in
        *ion) preset="nuba-norep $moves -s runtime.placement=$machine" ;;
        *) preset=$machine ;;
    esac
    json "$preset" sim.work_ahead=true ahead
    json "$preset" sim.work_ahead=false stepwise
    json "$preset" sim.visit_order=shuffled shuffled
    holds "statistics of $machine depend neither on the order of visits nor on working ahead" python3 - "$dir" << 'PYTHON'
import json, sys
ahead, *others = (json.load(open(f"{sys.argv[1]}/{name}.json"))["stats"] for name in ("ahead", "stepwise", "shuffled"))
for other in others:
    differs = [key for key in ahead if not key.startswith("engine.") and ahead[key] != other[key]]
    assert not differs, differs
PYTHON
done
holds "MDR decided, copies served reads, and reads of SMs add up" python3 - "$dir" << 'PYTHON'
import json, sys
stats = json.load(open(f"{sys.argv[1]}/ahead.json"))["stats"]
assert stats["nuba.epochs"] > 3 and stats["nuba.sampled_misses"] > 0, stats["nuba.epochs"]
assert abs(stats["llc.home_read_share"] + stats["llc.copy_read_share"] + stats["llc.crossing_read_share"] - 1) < 1e-9
assert stats["llc.past"] + stats["llc.requests"] == stats["llc.replies"]
assert stats["slice_net.taken"] == 2 * stats["llc.forwards"]
PYTHON
expect 0 "crossed the network" "$ATOLL" run -m nuba-norep -w gemm_naive:tiny
expect 0 "for copies" "$ATOLL" run -m nuba -w gemm_naive:n=128 -s nuba.epoch_cyc=3000 -s nuba.profiled_sets=48
"$ATOLL" run -m nuba -w gemm_naive:tiny -s mmu.count_sharing=true --json "$dir/pages.json" > "$dir/log" 2>&1
expect 0 "in a partition, balance" "$ATOLL" run -m nuba -w gemm_naive:n=128 --timeline "$dir/trace" --csv "$dir/csv" -s nuba.epoch_cyc=3000 -s nuba.profiled_sets=48
holds "what a user wants to see over time is in JSON, CSV and timeline" python3 - "$dir" << 'PYTHON'
import json, sys
result = json.load(open(f"{sys.argv[1]}/pages.json"))
assert sum(result["partitions"]["pages"]) == result["stats"]["mmu.pages_placed"]
pages, slots = (sum(result["stats"][f"mmu.{name}_over_time"]["values"]) for name in ("pages", "page_slots"))
assert pages == result["stats"]["mmu.pages_placed"] and abs(pages / slots - result["stats"]["mmu.page_balance"]) < 1e-9
csv = open(f"{sys.argv[1]}/csv").read()
for name in "llc.home_read_share", "llc.copy_read_share", "llc.crossing_read_share", "mmu.page_balance", "nuba.mean_predicted_with", "slice_net.taken_bytes", "mmu.pages_over_time[0]":
    assert f"\n{name}," in csv, name
assert "\nnuba.without_over_time[" in csv
tracks = {}
for event in json.load(open(f"{sys.argv[1]}/trace"))["traceEvents"]:
    if event["ph"] == "C": tracks.setdefault(event["name"], []).append(*event["args"].values())
for name in "replies to SMs", "reads served at home", "reads that cross", "network between slices", "MDR: predicted without copies", "MDR: predicted with copies", "MDR: decisions for copies":
    assert max(tracks[name]) > 0 or name == "MDR: decisions for copies", name
assert all(0 <= value <= 1 for value in tracks["page balance"]) and max(tracks["page balance"]) > 0.4
PYTHON
holds "every page was used by some SM, some by several" python3 - "$dir" << 'PYTHON'
import json, sys
stats = json.load(open(f"{sys.argv[1]}/pages.json"))["stats"]
counts = stats["mmu.sms_per_page"]["counts"]
assert counts[0] == 0 and sum(counts) == stats["mmu.pages_placed"] and sum(counts[2:]) > 0, counts
classes = [stats[f"mmu.pages_of_{name}"] for name in ("1_sm", "2_to_10_sms", "11_to_25_sms", "26_sms_or_more")]
assert sum(classes) == sum(counts) and classes[0] == counts[1] and classes[1] >= sum(counts[2:4]), (classes, counts)
assert classes[3] >= sum(counts[6:]) and abs(stats["mmu.share_of_1_sm"] - classes[0] / sum(classes)) < 1e-9, (classes, counts)
PYTHON
finish
