#!/bin/sh
# The machines of the SelRep paper: what they report about replication, and the directory against all sets of a stack on the
# requests of real runs (the other proofs: src/policy/replication/replication_test.c, tests/cli/faults_test.sh).
. tests/cli/lib.sh
json() {
    name=$1
    shift
    timeout 300 "$ATOLL" run "$@" --json "$dir/$name.json" > "$dir/$name.txt" 2>&1
}
# recorded streams: dense matrices, a tree, a layer of AlexNet
json gemm -m selrep -w gemm_naive:n=128 -s selrep.shadow=true -s selrep.epoch_cyc=1000 -s gpu.llc_size=512KiB
json tree -m selrep -w btree:tiny -s selrep.shadow=true -s selrep.epoch_cyc=500 -s gpu.llc_size=512KiB
json layer -m selrep -w dnn_conv:selrep --max-instructions 1000000 -s selrep.shadow=true -s selrep.epoch_cyc=4000 -s selrep.count_sharing=true
holds "the directory counts exactly what its sets would have seen at each degree" python3 - "$dir" << 'PYTHON'
import json, sys
for name in ("gemm", "tree", "layer"):
    stats = json.load(open(f"{sys.argv[1]}/{name}.json"))["stats"]
    assert stats["selrep.epochs"] > 1, stats["selrep.epochs"]
    for degree in (1, 2, 4, 8, 16):
        for kind in ("sampled", "sampled_hits"):
            one, other = stats[f"selrep.{kind}_{degree}"], stats[f"selrep.shadow_{kind}_{degree}"]
            assert one == other, (name, degree, kind, one, other)
    assert sum(stats[f"selrep.sampled_{degree}"] for degree in (1, 2, 4, 8, 16)) > 0
PYTHON
json short -m selrep -w dnn_conv:selrep --max-instructions 500000 -s selrep.lsp=cycles_256 -s selrep.epoch_cyc=4000
holds "slices are used less evenly over 256 cycles than over an epoch, and decisions can be made on it" python3 - "$dir" << 'PYTHON'
import json, sys
long, short = (json.load(open(f"{sys.argv[1]}/{name}.json"))["replication"]["decisions"][0] for name in ("layer", "short"))
for epoch, window in zip(long["slice_parallelism"], short["slice_parallelism"]):
    assert 1 < window < epoch <= 16, (epoch, window)
assert long["hit_rate"] == short["hit_rate"]
PYTHON
json own -m selrep-private -w sgemm:n=128
json copies -m selrep -w sgemm:n=128 -s selrep.degree=16
json either -m selrep-adaptive -w sgemm:n=128 -s selrep.profile_cyc=500 -s selrep.period_cyc=5000 -s selrep.samples=1 -s selrep.equal=1
json shared -m selrep-shared -w sgemm:n=128
holds "every read of an SM is told: of a copy unless its cluster's slice, one of 16, is the line's home" python3 - "$dir" << 'PYTHON'
import json, sys
share = {}
for name in ("own", "copies", "either", "shared"):
    stats = json.load(open(f"{sys.argv[1]}/{name}.json"))["stats"]
    home, copy, crossing = (stats[f"llc.{kind}_reads"] for kind in ("home", "copy", "crossing"))
    assert home + copy + crossing == stats["l1.misses"] + stats["l1.bypassed"] == stats["llc.reads"], name
    share[name] = copy / (copy + crossing)
assert abs(share["own"] - 15 / 16) < 0.01 and 0.5 < share["copies"] < 15 / 16 + 0.01, share
assert share["own"] > share["either"] > 0 == share["shared"], share
PYTHON
for name in resnet squeezenet matmul_tiled; do
    [ $name = matmul_tiled ] && size=selrep3 || size=selrep
    json $name -m selrep -w $name:$size --max-instructions 1500000 -s selrep.shadow=true -s selrep.epoch_cyc=4000 -s gpu.llc_size=1MiB
done
holds "two sets tell the hit rate of all within 3 points, at each degree, over runs of four workloads" python3 - "$dir" << 'PYTHON'
import json, sys
for name in ("layer", "resnet", "squeezenet", "matmul_tiled"):
    stats = json.load(open(f"{sys.argv[1]}/{name}.json"))["stats"]
    for degree in (1, 2, 4, 8, 16):
        told, found = stats[f"selrep.predicted_hit_rate_{degree}"], stats[f"selrep.shadow_hit_rate_{degree}"]
        assert abs(told - found) < 0.03, (name, degree, told, found)
    assert stats["selrep.shadow_hit_rate_1"] > stats["selrep.shadow_hit_rate_16"] > 0.1
PYTHON
for q in 1 2 4 8 16; do
    "$ATOLL" model net -m selrep-shared -s net.topology=crossbar --ports ${q}x$q --replies --packet-bytes 136 --rate 1 --json "$dir/router-$q.json" > "$dir/log" 2>&1
done
"$ATOLL" config -m selrep --json > "$dir/config.json" 2> "$dir/log"
holds "a router carries of its width what selrep.carried says, with any number of inputs" python3 - "$dir" << 'PYTHON'
import json, sys
carried = float(json.load(open(f"{sys.argv[1]}/config.json"))["selrep"]["carried"])
assert carried < 1
for q in (1, 2, 4, 8, 16):
    found = json.load(open(f"{sys.argv[1]}/router-{q}.json"))["accepted_flits_per_source"]
    assert abs(carried + (1 - carried) / q - found) < 0.01, (q, found)
PYTHON
# the first part of what docs/workloads.md measures over more of it
for name in dnn_conv:selrep resnet:selrep squeezenet:selrep mm:selrep4; do
    [ $name = resnet:selrep ] && instructions=2000000 || instructions=1000000 # ResNet begins with a 1x1, cold
    json base-${name%:*} -m selrep-shared -w $name --max-instructions $instructions -s selrep.count_sharing=true
done
holds "SMs that make maps of one layer, or products of the same matrices, read what they share in step, through the LLC, as fast as half of the network carries" python3 - "$dir" << 'PYTHON'
import json, sys
for name in ("dnn_conv", "resnet", "squeezenet", "mm"):
    result = json.load(open(f"{sys.argv[1]}/base-{name}.json"))
    stats = result["stats"]
    shares = stats["selrep.window_share_3"], stats["selrep.window_share_10"]
    assert shares[0] > 0.8 and shares[1] > 0.25, (name, shares)
    assert stats["selrep.read_only_share"] > 0.97, (name, stats["selrep.read_only_share"])
    replies = stats["llc.replies"] / result["totals"]["cycles"]
    assert replies > 12.8 * 0.715 / 2, (name, replies)  # 64 ports of 32 B are 12.8 lines, of which the network carries 0.715
    reach = 1 - (stats["l1.hits"] + stats["l1.merged"]) / stats["l1.reads"]
    assert 0.35 < reach < 0.8, (name, reach)
PYTHON
cat > "$dir/choose.py" << 'PYTHON'
# what a decision of the result must name: the paper's equation or the bottleneck, and the rules of docs/selrep.md
PORT, MEMORY, SLICES = 32 * 1.4e9, 32 * 64 * 293e6 / 64, 16


def router(q, carried):  # the share of its width that it carries
    return carried + (1 - carried) / q


def equation(d, k, hit, carried=0.72):
    port = PORT * router(SLICES >> k, carried)
    return d["slice_parallelism"][k] * (hit * port + min((1 - hit) * port, MEMORY))


def bottleneck(d, k, hit, carried=0.72):  # four SMs have a router, too
    most = d["slice_parallelism"][k] * PORT * router(SLICES >> k, carried) * router(4, carried)
    return min(most, SLICES * MEMORY / (1 - hit)) if hit < 1 else most


def sure_of(rate, n, z):  # lower end of Wilson's interval
    return max(0, (rate * n + z * z / 2 - z * (rate * (1 - rate) * n + z * z / 4) ** 0.5) / (n + z * z))


def counted_hits(d, samples, sigmas, found):
    least, hits = 1, []
    for k in range(5):
        if found and d["reads"] and 1 << k == d["degree"]:
            least = d["found"] / d["reads"]
            hits.append(least)
            continue
        n = d["sampled"][k] + (d["cold"][k] if d["sampled"][k] < samples else 0)
        rate = d["hit_rate"][k] * d["sampled"][k] / n if d["hit_rate"][k] >= 0 else 0
        if n < samples:
            hit = min(1 - sure_of(1 - rate, n, sigmas) if n else 1, least)
        else:
            least = min(least, rate)
            hit = sure_of(least, n, sigmas) if k else least
        hits.append(max(hit, d["found"] / d["reads"]) if found and d["reads"] and 1 << k < d["degree"] else hit)
    return hits


def chosen(d, model=bottleneck, equal=0.05, samples=16, sigmas=1, carried=0.72, idle=0.0625, found=True):
    if not d["requests"] or not (found or sum(d["sampled"]) + sum(d["cold"])):
        return d["degree"]
    served = d["requests"] * 128 / (d["epoch_cycles"] / 1.4e9)
    if served < idle * model(d, d["degree"].bit_length() - 1, 1, carried):
        return 1
    hits = counted_hits(d, samples, sigmas, found)
    promised = [model(d, k, hit, carried) for k, hit in enumerate(hits)]
    for k in range(5):  # and the result has them
        assert abs(d["counted_hit_rate"][k] - hits[k]) < 1e-9 and abs(d["promised_bytes_per_second"][k] - promised[k]) < 1, d
    return 1 << next(k for k in range(5) if promised[k] >= max(promised) * (1 - equal))


def all_or_nothing(d, equal=0.1, samples=32):
    shared = d["bytes_per_second"][0] if d["sampled"][0] >= samples else equation(d, 0, 1)
    return 16 if d["sampled"][4] >= samples and d["bytes_per_second"][4] > shared * (1 - equal) else 1
PYTHON
json decides -m selrep -w dnn_conv:selrep --max-instructions 1000000 -s selrep.epoch_cyc=4000 -s gpu.llc_size=512KiB -s selrep.try_epochs=0
holds "every decision is in the result, and follows from its predictions" env PYTHONPATH="$dir" python3 - "$dir" << 'PYTHON'
import json, sys
from choose import bottleneck, chosen
result = json.load(open(f"{sys.argv[1]}/decides.json"))
decisions = result["replication"]["decisions"]
assert len(decisions) == result["stats"]["selrep.epochs"] > 4
for d in decisions:
    assert d["next"] == chosen(d), d
    for k in range(5):
        if d["hit_rate"][k] >= 0:
            assert abs(d["bytes_per_second"][k] / bottleneck(d, k, d["hit_rate"][k]) - 1) < 1e-9
assert max(d["next"] for d in decisions) > 1, decisions
PYTHON
holds "what all SMs read fits sixteen times: hits at every degree, and copies" python3 - "$dir" << 'PYTHON'
import json, sys
decisions = json.load(open(f"{sys.argv[1]}/layer.json"))["replication"]["decisions"]
assert min(h for h in decisions[-1]["hit_rate"] if h >= 0) > 0.9, decisions[-1]  # 70 KB of 4 MB
assert max(d["next"] for d in decisions) > 1, decisions
PYTHON
json literal -m selrep -w dnn_conv:selrep --max-instructions 500000 -s selrep.epoch_cyc=4000 -s selrep.model=equation -s selrep.per_kernel=false -s selrep.try_epochs=0 -s selrep.equal=0 -s selrep.samples=1 -s selrep.sigmas=0 -s selrep.carried=1 -s selrep.idle=0 -s selrep.found=false
holds "as the paper has it: the highest of Equation 2" env PYTHONPATH="$dir" python3 - "$dir" << 'PYTHON'
import json, sys
from choose import chosen, equation
decisions = json.load(open(f"{sys.argv[1]}/literal.json"))["replication"]["decisions"]
assert len(decisions) > 2
for n, d in enumerate(decisions):
    assert d["next"] == chosen(d, equation, equal=0, samples=1, sigmas=0, carried=1, idle=0, found=False), d
    assert d["cycle"] // 4000 == n + 1, d  # epochs go on over kernels
PYTHON
json blind -m selrep -w dnn_conv:selrep --max-instructions 500000 -s selrep.epoch_cyc=300 -s selrep.rdd_sets=1 -s selrep.model=equation -s selrep.per_kernel=false -s selrep.try_epochs=0 -s selrep.equal=0 -s selrep.samples=1 -s selrep.sigmas=0 -s selrep.carried=1 -s selrep.idle=0 -s selrep.found=false
holds "as the paper has it: an epoch without samples changes nothing" env PYTHONPATH="$dir" python3 - "$dir" << 'PYTHON'
import json, sys
from choose import chosen, equation
decisions = json.load(open(f"{sys.argv[1]}/blind.json"))["replication"]["decisions"]
blind = [d for d in decisions if not sum(d["sampled"]) + sum(d["cold"])]
assert 2 < len(blind) < len(decisions) and max(d["degree"] for d in blind) > 1, (len(blind), len(decisions))
for d in decisions:
    assert d["next"] == chosen(d, equation, equal=0, samples=1, sigmas=0, carried=1, idle=0, found=False), d
assert all(d["next"] == d["degree"] for d in blind)
PYTHON
json tries -m selrep -w resnet:selrep --max-instructions 1500000 -s selrep.epoch_cyc=1000 -s selrep.try_epochs=2 -s gpu.llc_size=256KiB
holds "twice the copies that the model wants are tried" env PYTHONPATH="$dir" python3 - "$dir" << 'PYTHON'
import json, sys
from choose import chosen
decisions = json.load(open(f"{sys.argv[1]}/tries.json"))["replication"]["decisions"]
tried = [d for d in decisions if d["next"] != chosen(d)]
assert tried and all(d["next"] == 2 * chosen(d) for d in tried), len(tried)
assert tried == [d for d in decisions if d["tried"]]
assert len(tried) < len(decisions) / 2, (len(tried), len(decisions))
PYTHON
cp "$dir/layer.txt" "$dir/shown"
expect 0 "read-only lines read within 1000 cycles" cat "$dir/shown"
expect 0 "predicted  measured" cat "$dir/shown"
expect 0 "replies per cycle, the busiest slice has" cat "$dir/shown"
expect 0 "replication: degree 4.0 on average" "$ATOLL" run -m selrep -w gemm_naive:tiny -s selrep.degree=4
timeout 100 "$ATOLL" run -m selrep -w gemm_naive:tiny -s selrep.degree=4 --timeline "$dir/t.json" > "$dir/log" 2>&1
holds "the timeline has the degree" python3 - "$dir" << 'PYTHON'
import json, sys
events = [e for e in json.load(open(f"{sys.argv[1]}/t.json"))["traceEvents"] if e.get("name") == "replication"]
copies = [e["args"]["copies"] for e in events]
assert len(copies) > 4 and all(3.99 < c <= 4 for c in copies[:-2]), copies  # the last two: where the run ends
PYTHON

# adaptive: decides on what came while it profiled, and goes private only if that was seen
json a -m selrep-adaptive -w resnet:selrep --max-instructions 2000000 -s selrep.profile_cyc=3000 -s selrep.period_cyc=9000 -s gpu.llc_size=512KiB
holds "adaptive decides on its profiles" env PYTHONPATH="$dir" python3 - "$dir" << 'PYTHON'
import json, sys
from choose import all_or_nothing
result = json.load(open(f"{sys.argv[1]}/a.json"))
stats, decisions = result["stats"], result["replication"]["decisions"]
assert len(decisions) > 3
assert stats["selrep.epoch_requests"] < stats["selrep.requests"] / 2, (stats["selrep.epoch_requests"], stats["selrep.requests"])
for d in decisions:
    assert d["next"] == all_or_nothing(d), d
assert {d["next"] for d in decisions} == {1, 16}, decisions  # the first layers fit sixteen times, later ones do not
for k in (1, 2, 4, 8, 16):
    assert stats[f"selrep.judged_{k}"] == sum(d["hit_rate"][k.bit_length() - 1] >= 0 for d in decisions)
PYTHON

# back and forth between shared and private, beside fences and atomics of another application
json forth -m selrep-adaptive -w gather:tiny+./tests/kit/ordering:tiny --check -s selrep.profile_cyc=500 -s selrep.period_cyc=2500 -s selrep.samples=1 -s selrep.equal=1
holds "adaptive changes its organisation beside fences and atomics, and no read is stale" python3 - "$dir" << 'PYTHON'
import json, sys
result = json.load(open(f"{sys.argv[1]}/forth.json"))
stats = result["stats"]
assert result["check"]["caches_passed"]
assert stats["selrep.changes"] > 10 and stats["selrep.private_cycles"] > stats["selrep.cycles"] / 3, (stats["selrep.changes"], stats["selrep.private_cycles"])
assert stats["llc.atomics"] > 1000, stats["llc.atomics"]
PYTHON

# one of two kernels side by side ends: decisions go on
json b -m selrep -w vecadd:tiny+matmul_tiled:selrep1 --max-instructions 1500000
holds "decisions go on when one of two kernels has ended" python3 - "$dir" << 'PYTHON'
import json, sys
result = json.load(open(f"{sys.argv[1]}/b.json"))
ends = [k["end_cycle"] if "end_cycle" in k else k["end"] for k in result["kernels"] if k["name"] == "vecadd"]
cycles = [d["cycle"] for d in result["replication"]["decisions"]]
assert cycles and cycles[-1] > min(ends), (cycles, ends)
assert result["stats"]["selrep.cycles"] >= result["totals"]["cycles"] - 1
PYTHON

# the crossbar of a stack: a stream through all slices leaves rows open longer when channels take what came first
stream() {
    timeout 100 "$ATOLL" run -m selrep -w blackscholes:selrep --max-instructions 600000 -s selrep.degree="$1" -s llc.stack_order="$2" --json "$dir/$1-$2.json" > "$dir/log" 2>&1
}
stream 1 oldest
stream 16 oldest
stream 16 in_turn
holds "operations of a stack in their order of arrival" python3 - "$dir" << 'PYTHON'
import json, sys
shared, oldest, in_turn = (json.load(open(f"{sys.argv[1]}/{name}.json"))["stats"]["dram.columns_per_activate"] for name in ("1-oldest", "16-oldest", "16-in_turn"))
assert oldest > 1.05 * in_turn and oldest > 0.9 * shared, (shared, oldest, in_turn)
PYTHON
finish
