#!/bin/sh
# The machines of the LADM paper: caching by class, the report on nodes, scaled presets, combinations that are refused.
. tests/cli/lib.sh
json() {
    name=$1
    shift
    timeout 300 "$ATOLL" run "$@" --json "$dir/$name.json" > "$dir/$name.txt" 2>&1
}
json twice -m ladm-lasp-rtwice-q4 -w vecadd:tiny
json class -m ladm-q4 -w vecadd:tiny
json walks -m ladm-q4 -w randomloc:tiny
json walks_once -m ladm-lasp-ronce-q4 -w randomloc:tiny
holds "ladm equals ladm-lasp-rtwice where no structure has intra-thread locality, and reads such structures once" \
    python3 - "$dir" << 'PYTHON'
import json, sys
runs = {name: json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("twice", "class", "walks", "walks_once")}
stats = {name: {k: v for k, v in run["stats"].items() if not k.startswith("engine.")} for name, run in runs.items()}
assert stats["twice"] == stats["class"]
assert stats["class"]["llc.once_misses"] == 0 < stats["walks"]["llc.once_misses"] <= stats["walks_once"]["llc.once_misses"]
caching = {row["class"]: row["caching"] for row in runs["walks"]["nodes"]["structures"]}
assert caching["intra-thread"] == "RONCE" and set(caching.values()) == {"RONCE", "RTWICE"}, caching
for name, run in runs.items():
    nodes, s = run["nodes"], stats[name]
    assert sum(nodes["blocks"]) == s["sm.blocks_started"] and len(nodes["blocks"]) == 16
    assert sum(row["lines"] for row in nodes["structures"]) == s["sm.line_accesses"]
    assert sum(row["lines_off_gpu"] for row in nodes["structures"]) == s["sm.lines_off_gpu"]
    assert nodes["bounds"]["remote_local_share"] <= nodes["bounds"]["remote_local_share_max"] + 1e-9
PYTHON
expect 0 "4 GPUs, 16 chiplets, 64 SMs" "$ATOLL" run -m ladm-rr-q4 -w vecadd:tiny
expect 0 "lines before the L1: " "$ATOLL" run -m ladm-rr-q4 -w vecadd:tiny
expect 0 "lines before the L1 by structure" "$ATOLL" run -m ladm-rr-q4 -w vecadd:tiny --details
expect 1 "crb.policy ronce and by_class need llc.organisation numa" "$ATOLL" run -m v100 -w vecadd:tiny -s crb.policy=ronce
expect 1 "llc.remote_cache false needs llc.organisation numa" "$ATOLL" run -m v100 -w vecadd:tiny -s llc.remote_cache=false
expect 1 "is no multiple of 3" "$ATOLL" run -m ladm-rr -w vecadd:tiny -s chiplet.partitions=/3
vecadd="-w vecadd:tiny"
expect 1 "lasp binds blocks to several chiplets or GPUs, and this machine has one" "$ATOLL" run -m ladm-monolithic $vecadd -s runtime.cta_sched=lasp
expect 1 "lasp places pages in several chiplets or GPUs, and this machine has one" "$ATOLL" run -m ladm-monolithic $vecadd -s runtime.placement=lasp
expect 1 "coda.granule_size is no whole number of lines" "$ATOLL" run -m ladm-hcoda-q4 $vecadd -s coda.granule_size=100B
expect 1 "lasp.force names classes and lasp.class=given uses them" "$ATOLL" run -m ladm-q4 $vecadd -s lasp.force=vecadd/p0:no-locality
expect 1 "lasp.force takes kernel/argument:class" "$ATOLL" run -m ladm-q4 $vecadd -s lasp.class=given -s lasp.force=vecadd/p0:diagonal
for machine in ladm-q4 ladm-hcoda-q4; do
    expect 1 "the program has launched no kernel 'x'" "$ATOLL" run -m $machine $vecadd -s lasp.class=given -s lasp.force=x/p0:no-locality
    expect 1 "kernel 'vecadd' has no argument 'p9'" "$ATOLL" run -m $machine $vecadd -s lasp.class=given -s lasp.force=vecadd/p9:no-locality
    expect 0 "note: launches with fewer blocks than the 16 chiplets: 1 of 1" "$ATOLL" run -m $machine -w vecadd:n=256
done
expect 0 "note: no index of 'through' has a class" "$ATOLL" run -m ladm-q4 -w ./tests/kit/indirect:tiny
holds "a kernel without a class is named once" test "$(grep -c "note: no index" "$dir/out")" = 2
json given -m ladm-q4 -w randomloc:tiny -s lasp.class=given -s lasp.force=randomloc/p0:no-locality
holds "a given class replaces that of the analysis, and its hint" python3 - "$dir" << 'PYTHON'
import json, sys
rows = {r["name"]: r for r in json.load(open(f"{sys.argv[1]}/given.json"))["nodes"]["structures"]}
assert rows["p0"]["class"] == "no-locality" and rows["p0"]["caching"] == "RTWICE", rows
PYTHON

# Table I and Fig. 3: shares of lines off the chiplet before the L1. A structure's name, or all.
two="-m ladm-flat -s system.gpus=2"
json fig3_wide $two -s runtime.cta_sched=chunks -s runtime.cta_level=chiplet -s runtime.placement=kernel_wide -w blackscholes:n=4096,blocks=16,repeat=1
json fig3_lasp $two -s runtime.cta_sched=lasp -s runtime.placement=lasp -w blackscholes:n=4096,blocks=16,repeat=1
for machine in batchft-opt kernelwide hcoda lasp-rtwice; do
    json aligned-$machine -m ladm-$machine-q4 -w vecadd:n=196608,block=192
    json strided-$machine -m ladm-$machine-q4 -w blackscholes:n=65536,blocks=128
    json pairs-$machine -m ladm-$machine-q4 -w scalarprod:vectors=64,elements=1536,blocks=32
    json product-$machine -m ladm-$machine-q4 -w gemm_fc:m=16,k=64,n=4096
    json threads-$machine -m ladm-$machine-q4 -w kmeans_notex:points=8192
done
holds "patterns that a design captures stay at home, others leave" python3 - "$dir" << 'PYTHON'
import json, sys
def share(name, structure=None):
    run = json.load(open(f"{sys.argv[1]}/{name}.json"))
    rows = [r for r in run["nodes"]["structures"] if structure in (None, r["name"])]
    return sum(r["lines_off_chiplet"] for r in rows) / sum(r["lines"] for r in rows)
assert share("fig3_wide") == 0.5 and share("fig3_lasp") == 0
captured = {  # of Table I: pages, strides that fit a granule, strides, columns, threads
    "batchft-opt": (False, True, True, False, True),
    "kernelwide": (True, False, False, False, None),
    "hcoda": (True, True, False, False, False),
    "lasp-rtwice": (True, True, True, None, True),
}
for machine, wants in captured.items():
    for name, want in zip(("aligned", "strided", "pairs", "product", "threads"), wants):
        found = share(f"{name}-{machine}", {"product": "p1", "threads": "p0", "pairs": "p0"}.get(name))
        assert want is None or (found < 0.05 if want else found > 0.1), (machine, name, found)
product = json.load(open(f"{sys.argv[1]}/product-lasp-rtwice.json"))["nodes"]["structures"]
weights = next(r for r in product if r["name"] == "p1")
assert weights["lines_off_gpu"] == 0  # columns stay in the GPU
PYTHON
finish
