#!/bin/sh
# Partitions that change at run time (UGPU): decisions, changes of SMs and channels, bad input.
. tests/cli/lib.sh
phases=./tests/kit/phases

# run FILE WORKLOADS OPTIONS...: a pair on ugpu with epochs of 5,000 cycles
run() {
    file=$dir/$1.json w=$2
    shift 2
    expect 0 "" timeout 100 "$ATOLL" run -m ugpu -w "$w" -s partition.epoch_cyc=5000 --json "$file" "$@"
}

# Two compute-bound programs: no decision changes anything, and nothing differs from a fixed partition.
alike="$phases:n=65536,streams=0,computes=8,rounds=600+$phases:n=131072,streams=0,computes=5,rounds=400"
run alike "$alike" -s apps.window_cyc=30000
expect 0 "" "$ATOLL" run -m ugpu-bp -w "$alike" -s apps.window_cyc=30000 --json "$dir/bp.json"
holds "programs of one class run as on ugpu-bp, to the bit" python3 - "$dir/alike.json" "$dir/bp.json" << 'PY'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
part = a["totals"].pop("partition")
assert len(part["epochs"]) == 6 and not part["changes"] and not part["dropped"], part
assert all(x["class"] == "compute" for e in part["epochs"] for x in e["apps"])
for r in (a, b):
    r["stats"] = {k: v for k, v in r["stats"].items() if k.split(".")[0] not in ("engine", "pages", "owner")}
for key in ("totals", "apps", "kernels", "stats"):
    assert a[key] == b[key], (key, [k for k in a[key] if a[key][k] != b[key][k]] if isinstance(a[key], dict) else "")
PY

# Memory-bound programs: until the first change, engines that move pages cost nothing.
stream="$phases:n=4194304,streams=2,computes=0+$phases:n=1048576,streams=4,computes=0"
for machine in ugpu ugpu-soft ugpu-bp; do
    expect 0 "" "$ATOLL" run -m $machine -w "$stream" -s apps.window_cyc=20000 -s partition.epoch_cyc=20000 --json "$dir/$machine.json"
done
holds "before the first change, ugpu and ugpu-soft run as ugpu-bp, to the bit" python3 - "$dir/ugpu-bp.json" "$dir/ugpu.json" "$dir/ugpu-soft.json" << 'PY'
import json, sys
base, *others = (json.load(open(f)) for f in sys.argv[1:])
stats = lambda r: {k: v for k, v in r["stats"].items() if k.split(".")[0] not in ("engine", "pages", "owner")}
for other in others:
    assert other["apps"] == base["apps"]
    assert stats(other) == stats(base), [k for k, v in stats(base).items() if stats(other)[k] != v]
PY

# A program of two phases beside arithmetic: its class and the partition follow one epoch later.
run phases "$phases:n=262144,streams=16,computes=4,rounds=800+$phases:n=262144,streams=60,computes=2,rounds=200,reversed=1" \
    -s apps.window_cyc=150000 -s partition.epoch_cyc=15000 --check
expect 0 "" "$ATOLL" run --functional -w $phases:n=262144,streams=1,computes=0 --json "$dir/stream.json"
holds "class and partition follow the phases; accesses per instruction equal the count by hand" python3 - "$dir/phases.json" "$dir/stream.json" << 'PY'
import json, sys
part = json.load(open(sys.argv[1]))["totals"]["partition"]
epochs = part["epochs"]
# a warp of the stream reads a line and writes a line
per_thread = json.load(open(sys.argv[2]))["totals"]["thread_instructions"] / 262144
first = epochs[0]["apps"][0]
assert abs(first["apki"] / (1000 * 2 / 32 / per_thread) - 1) < 0.02, (first["apki"], per_thread)
assert first["class"] == "memory" and epochs[0]["changed"] and first["sms"] == 40
assert abs(first["demand_gbs"] - 64 * first["apki"] / 1000 * 128 * 1.4 * 40) < 1
assert epochs[1]["apps"][0]["sms"] < 40 < epochs[1]["apps"][1]["sms"], epochs[1]
assert epochs[1]["apps"][0]["channels"] > 16 > epochs[1]["apps"][1]["channels"]
turn = [k for k, e in enumerate(epochs) if e["apps"][0]["apki"] < 2 and e["apps"][1]["apki"] > 3 and not e["dropped"]][0]
assert turn > 1 and epochs[turn]["apps"][1]["class"] == "memory" and epochs[turn]["apps"][0]["class"] == "compute"
assert epochs[turn]["apps"][1]["channels"] <= 16 and epochs[turn]["changed"], epochs[turn]
assert any(e["apps"][1]["channels"] > epochs[turn]["apps"][1]["channels"] for e in epochs[turn + 1 : turn + 3]), epochs[turn + 1]
for c in part["changes"]:  # 148 cycles and 162 per iteration after the end of an epoch
    e = [e for e in epochs if e["changed"] and e["end"] < c["begin"]][-1]
    assert c["begin"] == e["end"] + 148 + 162 * e["iterations"], (c, e)
    assert e["end"] % 15000 == 0
PY

# Changes A, B, A while SMs drain or switch, with every order of visits.
plan="partition.plan=40/16,40/16;60/8,20/24;40/16,40/16;8/28,72/4;40/16,40/16;60/8,20/24"
pair=gemm_naive:n=96+triad:tiny
for how in drain switch auto; do
    for order in fixed shuffled; do
        run $how-$order $pair -s partition.policy=plan -s "$plan" -s partition.sm_change=$how -s apps.window_cyc=35000 \
            -s sim.visit_order=$order --check
    done
    holds "the order of visits does not matter to changes ($how)" python3 - "$dir/$how-fixed.json" "$dir/$how-shuffled.json" $how << 'PY'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:3])
for r in (a, b):
    r["stats"] = {k: v for k, v in r["stats"].items() if not k.startswith("engine.")}
for key in ("totals", "apps", "stats"):
    assert a[key] == b[key], key
part = a["totals"]["partition"]
assert len(part["changes"]) >= 3, part["changes"]
switched = sum(x["blocks_switched"] for x in a["apps"])
assert (switched > 0) == (sys.argv[3] != "drain"), switched
for e in part["epochs"]:
    assert sum(x["sms"] for x in e["apps"]) == 80 and sum(x["channels"] for x in e["apps"]) == 32, e
for c in part["changes"]:
    assert c["masks"] > c["begin"] and (not c["over"] or c["over"] >= c["masks"])
PY
done

# Random plans under --check, with one-entry TLBs.
python3 -c '
import random
random.seed(7)
for k in range(4):
    split = lambda: (lambda s, c: f"{s}/{4 * c},{80 - s}/{32 - 4 * c}")(random.randrange(4, 77), random.randrange(1, 8))
    print(";".join(split() for _ in range(12)))' > "$dir/plans"
while read -r plan; do
    run random reduction:tiny+histogram:tiny -s partition.policy=plan -s "partition.plan=$plan" -s apps.window_cyc=40000 \
        -s partition.epoch_cyc=3000 -s mmu.l1_entries=4 --check
done < "$dir/plans"

# A cooperative kernel gives no SMs while it runs.
run grid "./tests/kit/grid_wide:tiny+triad:tiny" -s partition.policy=plan -s "partition.plan=40/16,40/16;20/16,60/16" \
    -s apps.window_cyc=20000

# Alone runs are made once and shared by all policies.
mkdir "$dir/alone"
for policy in fixed demand offline; do
    run $policy triad:tiny+sgemm:tiny -s partition.policy=$policy -s apps.window_cyc=20000 -s apps.alone=true -s "apps.alone_dir=$dir/alone"
done
holds "two alone runs serve three policies" test "$(find "$dir/alone" -name '*.json' | wc -l)" -eq 2
holds "profiles of alone runs are no parameter of the run" python3 - "$dir/offline.json" << 'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["config"]["partition"]["profiles"] == "" and r["totals"]["profiles"].count(":") == 2, r["totals"]
PY
holds "ANTT x STP is at least the number of programs" python3 - "$dir/fixed.json" "$dir/demand.json" "$dir/offline.json" << 'PY'
import json, sys
for f in sys.argv[1:]:
    t = json.load(open(f))["totals"]
    assert t["stp"] * t["antt"] >= 2 - 1e-9, t
PY

# A stored result of another machine gives no speed alone.
for size in 4 6; do
    expect 0 "" "$ATOLL" run -m ugpu-bp -w vecadd:tiny -s gpu.llc_size="$size MiB" --json "$dir/llc$size.json"
done
expect 0 "system throughput" "$ATOLL" run -m ugpu -w vecadd:tiny+vecadd:tiny -s apps.relaunch=false \
    -s partition.epoch_cyc=1000 --alone "$dir/llc6.json,$dir/llc6.json"
expect 1 "its gpu.llc_size differs" "$ATOLL" run -m ugpu -w vecadd:tiny+vecadd:tiny --alone "$dir/llc6.json,$dir/llc4.json"

# Bad input.
refused() {
    fragment=$1
    shift
    expect 1 "$fragment" "$ATOLL" run -m ugpu -w vecadd:tiny+sgemm:tiny "$@"
}
refused "an epoch of 0 cycles" -s partition.epoch_cyc=0
refused "the first epoch ends after the run" -s apps.window_cyc=1000
refused "set map.kind to page_move" -s map.kind=pae
refused "apps.channels is shared" -s apps.channels=shared
refused "in units of 4" -s apps.channels=18,14
refused "gives 96 to the applications" -s apps.sms=48,48
refused "names application 2, but 2 run" -s partition.qos=2:0.75
refused "must be APPLICATION:TARGET" -s partition.qos=0.75
refused "lower the target" -s partition.qos=0:0.99
refused "partition.qos is a target of the demand policy" -s partition.policy=fixed -s partition.qos=0:0.5
refused "it cannot be read" -s partition.policy=plan -s partition.plan=40-16
refused "exceeds the machine" -s partition.policy=plan -s "partition.plan=60/16,40/16"
refused "needs the profile of each application alone" -s partition.policy=offline
refused "must be APKI:HIT_RATE" -s partition.policy=offline -s partition.profiles=4.8
expect 1 "at most 8 applications" "$ATOLL" run -m ugpu -w vecadd:tiny+vecadd:tiny+vecadd:tiny+vecadd:tiny+vecadd:tiny+vecadd:tiny+vecadd:tiny+vecadd:tiny+vecadd:tiny
finish
