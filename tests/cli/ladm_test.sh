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
finish
