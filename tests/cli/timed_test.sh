#!/bin/sh
# Timed runs as a user meets them: the report on one screen, JSON, CSV, trace, limits, comparisons.
. tests/cli/lib.sh
export LC_ALL=C.UTF-8

# parameters between functions are local memory: they wait for room in the memory pipe like all of it
cat > "$dir/call.ptx" << 'PTX'
.version 7.0
.target sm_70
.address_size 64
.func (.param .b32 out) twice(.param .b32 in)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [in];
    add.s32 %r2, %r1, %r1;
    st.param.b32 [out], %r2;
    ret;
}
.visible .entry k(.param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.x;
    {
        .param .b32 in;
        .param .b32 out;
        st.param.b32 [in], %r1;
        call (out), twice, (in);
        ld.param.b32 %r2, [out];
    }
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.b32 [%rd3], %r2;
    ret;
}
PTX
for queue in 1 2 8; do
    holds "calls with parameters, sm.lsu_queue=$queue" "$ATOLL" run -m v100 -s sm.lsu_queue=$queue --check "$dir/call.ptx" \
        --entry k --grid 2 --block 512 --arg buf:u32:512
done

# late in a long run, when cycles pass 2^31 and 2^32, everything takes as long as at its start
same_clocks="-s clock.sm=1GHz -s clock.net=1GHz -s clock.llc=1GHz -s clock.dram=1GHz"
for gap in 0 2147482000 4294965000; do
    "$ATOLL" run -m gpu1 $same_clocks -w reduction:tiny -s runtime.launch_gap_cyc=$gap --json "$dir/late.json" > /dev/null
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(d["totals"]["cycles"] - int(sys.argv[2]) * len(d["kernels"]))' \
        "$dir/late.json" $gap >> "$dir/late"
done
holds "a kernel takes as long after 4 G cycles as at the start" sh -c "test \"\$(sort -u '$dir/late' | wc -l)\" = 1 -a \"\$(wc -l < '$dir/late')\" = 3"

# nothing moves between SMs and memory for longer than sim.watchdog_cyc, and nothing is stuck
cat > "$dir/long.ptx" << 'PTX'
.version 7.0
.target sm_70
.address_size 64
.visible .entry sleeps()
{
    .reg .b32 %r<2>;
    mov.u32 %r1, 1000000;
    nanosleep.u32 %r1;
    nanosleep.u32 %r1;
    ret;
}
.visible .entry computes()
{
    .reg .b32 %r<2>;
    .reg .pred %p;
    mov.u32 %r1, 300000;
more:
    sub.s32 %r1, %r1, 1;
    setp.ne.s32 %p, %r1, 0;
    @%p bra more;
    ret;
}
PTX
fast_clocks="-s clock.sm=2.4GHz -s clock.net=2.4GHz -s clock.llc=2.4GHz -s clock.dram=2.4GHz"
for machine in uba-mem v100; do
    for kernel in sleeps computes; do
        # shellcheck disable=SC2086 # words; 1 ms is 2.4 million cycles of every clock
        expect 0 "laws hold" "$ATOLL" run -m $machine $fast_clocks "$dir/long.ptx" --entry $kernel --grid 1 --block 32
    done
done
expect 0 "laws hold" timeout 60 "$ATOLL" run -m v100 -w vecadd:tiny -s runtime.launch_gap_cyc=1000000000000
expect 0 "laws hold" timeout 20 "$ATOLL" run -m v100 -w bfs:tiny -s runtime.launch_gap_cyc=4294965000
"$ATOLL" run -m v100 -w reduction:tiny -s runtime.launch_gap_cyc=700 --json "$dir/gaps.json" > /dev/null
holds "the cycles of kernels contain the gaps before them, which are named" python3 - "$dir/gaps.json" << 'END'
import json, sys
result = json.load(open(sys.argv[1]))
for k in result["kernels"]:
    assert k["gap_cycles"] == k["start"] - k["launch"] - 1 == 700, k
    assert k["cycles"] - k["gap_cycles"] == k["end"] - k["start"] + 1, k
assert result["totals"]["gap_cycles"] == 700 * len(result["kernels"]), result["totals"]
END
expect 0 "laws hold" "$ATOLL" run -m uba-mem -w vecadd:tiny -s mmu.prefault=false -s mmu.fault=1s
expect 0 "laws hold" "$ATOLL" run -m uba-mem -w vecadd:tiny -s clock.net=1MHz -s net.topology=links -s net.link_latency_cyc=1500

# queues that no host has memory for
expect 1 "queues of the sources would take more than 128 MiB of host memory" "$ATOLL" run -m ladm-rr -w vecadd:tiny -s slice_net.source_packets=65536
expect 1 "queues of the sinks would take more than 128 MiB of host memory" "$ATOLL" run -m ladm-rr -w vecadd:tiny -s slice_net.sink_packets=65536

# the report
"$ATOLL" run -m uba-mem -w sgemm:tiny > "$dir/report" 2> "$dir/err"
for words in "sgemm:tiny on uba-mem: 64 SMs at 1.4 GHz" " cycles = " " warp instructions, " " of the peak of 128" \
    "bound by " "occupancy " "fit, limited by sm." "where the scheduler cycles went" "waited for memory" "reply network" \
    "LLC data ports" "DRAM" "hit rates " "latency " "result checked against the CPU: right" "conservation laws hold" "host "; do
    holds "the report says '$words'" grep -qF -- "$words" "$dir/report"
done
holds "nothing is said on stderr when it is no terminal (but by the sanitizer)" sh -c "! grep -v 'ASan does' '$dir/err'"
cat > "$dir/screen.py" << 'PY'
import re, sys
lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
assert max(map(len, lines)) <= 100, max(lines, key=len)
assert len(lines) <= 45, len(lines)
at = next(i for i, l in enumerate(lines) if "where the scheduler cycles went" in l)
shares = []
for line in lines[at + 1:]:
    if not line.strip():
        break
    shares.append(float(re.search(r"([0-9.]+) %", line).group(1)))
assert len(shares) >= 3 and abs(sum(shares) - 100) < 0.01, shares
PY
for machine in uba-mem v100 selrep-shared gpu1; do
    for workload in vecadd:tiny scan:tiny sgemm:tiny bfs:tiny; do
        "$ATOLL" run -m $machine -w $workload > "$dir/report"
        holds "report of $workload on $machine: 100 columns, one screen, shares add up to 100" python3 "$dir/screen.py" "$dir/report"
    done
done
"$ATOLL" run -m uba-mem -w scan:tiny > "$dir/report"
holds "several kernels have a table" grep -qE "kernels +launches +cycles" "$dir/report"
LC_ALL=C "$ATOLL" run -m uba-mem -w vecadd:tiny > "$dir/plain"
holds "without a UTF-8 locale bars are ASCII" sh -c "! LC_ALL=C grep -q '[^ -~]' '$dir/plain' && grep -q '#' '$dir/plain'"
"$ATOLL" run -m uba-mem -w vecadd:n=65536 --details -s llc.count_lines=true --json "$dir/lines.json" > "$dir/details"
holds "the details say what bounded the run over time" grep -qE "^    bound by +[I1NLD.-]+$" "$dir/details"
holds "a machine of one chip has no links over time" test -z "$(grep -E "^    (GPU|chiplet) links  " "$dir/details")"
"$ATOLL" run -m ladm-rr -w vecadd:n=262144 --details > "$dir/linked"
holds "links between GPUs that carry all they can bound the run over time" grep -qE "^    bound by +[I1NLDG.-]*GGGGG" "$dir/linked"
cat > "$dir/lines.py" << 'PY'
import json, sys
s = json.load(open(sys.argv[1]))["stats"]
lines = s["llc.requests_per_line"]["counts"]
asked = s["llc.partitions_per_line"]["counts"]
once = s["llc.requests_per_line"]["edges"].index(1)
assert lines[once] == sum(lines) == sum(asked) == 3 * 65536 * 4 // 128, (lines, asked)
assert s["llc.inside_cyc"] == s["llc.stay_cyc"] > 0 and s["net.inside_cyc"] == s["net.stay_cyc"] > 0
PY
holds "every line of a vector addition is asked for once" python3 "$dir/lines.py" "$dir/lines.json"
"$ATOLL" run -m uba-mem -w sgemm:tiny --details > "$dir/details"
for words in "L1 misses by cause" "lines in flight" "tag stages" "activates" "walkers" "least" "over time" "by time"; do
    holds "the details say '$words'" grep -qF -- "$words" "$dir/details"
done
# L1 misses for capacity and for conflict, on request, and nothing else by it; what stopped accesses
small="-m uba-mem -w stencil5:tiny --details -s l1.size=2KiB -s l1.ways=2"
"$ATOLL" run $small --json "$dir/apart0.json" > "$dir/together"
"$ATOLL" run $small -s l1.count_conflicts=true --json "$dir/apart1.json" > "$dir/apart"
holds "the details say how to tell capacity from conflict" grep -qF "l1.count_conflicts=true" "$dir/together"
holds "lines that made room are one cause without it" sh -c "grep -q '^    replaced: ' '$dir/together' && ! grep -qE '^    (capacity|conflict): ' '$dir/together'"
holds "… and two with it" sh -c "grep -q '^    capacity: .*%' '$dir/apart' && grep -q '^    conflict: .*%' '$dir/apart' && ! grep -q 'replaced' '$dir/apart'"
holds "the details say for want of what accesses stopped" grep -qE "^    for want of a way: all pending +[0-9,]+ " "$dir/together"
cat > "$dir/apart.py" << 'PY'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert a["config"]["l1"].pop("count_conflicts") is False and b["config"]["l1"].pop("count_conflicts") is True
apart = [s["stats"].pop("l1.misses_capacity") + s["stats"].pop("l1.misses_conflict") for s in (a, b)]
assert apart == [0, b["stats"]["l1.misses_replaced"]] and apart[1], apart
for r in (a, b):
    del r["host"]
    r["stats"] = {k: v for k, v in r["stats"].items() if not k.startswith("engine.")}
assert a == b
PY
holds "misses for capacity + for conflict = lines that made room; all else is the same" python3 "$dir/apart.py" "$dir/apart0.json" "$dir/apart1.json"
holds "details keep to 100 columns" python3 -c "
import sys
assert max(len(l.rstrip('\n')) for l in open(sys.argv[1], encoding='utf-8')) <= 100" "$dir/details"

# JSON: the contract, exact, and the same twice but for the host's part
"$ATOLL" run -m uba-mem -w scan:tiny --json "$dir/a.json" --csv "$dir/a.csv" --timeline "$dir/a.trace" > /dev/null
"$ATOLL" run -m uba-mem -w scan:tiny --json "$dir/b.json" --csv "$dir/b.csv" --timeline "$dir/b.trace" > /dev/null
holds "JSON has the parts of the contract and is deterministic" python3 - "$dir/a.json" "$dir/b.json" << 'PY'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
for key in ("atoll_version", "machine", "workload", "config", "totals", "kernels", "apps", "stats", "check", "host"):
    assert key in a, key
t = a["totals"]
for key in ("cycles", "seconds", "warp_instructions", "thread_instructions", "ipc", "bound_by", "bandwidth", "scheduler_cycles"):
    assert key in t, key
for key in ("seconds", "cpu_seconds", "warp_instructions_per_second", "max_rss_bytes"):
    assert key in a["host"], key
assert abs(t["ipc"] - t["warp_instructions"] / t["cycles"]) < 1e-9
assert len(a["kernels"]) == t["launches"] == 3
assert sum(k["warp_instructions"] for k in a["kernels"]) == t["warp_instructions"]
for before, after in zip(a["kernels"], a["kernels"][1:]):
    assert before["end"] <= after["launch"] <= after["start"] < after["end"]
for k in a["kernels"]:
    assert k["blocks_per_sm"] >= 1 and k["limited_by"].startswith("sm.") and k["bound_by"]
    assert abs(sum(k["scheduler_cycles"].values()) - 1) < 1e-9
    assert all(0 <= l["utilisation"] <= 1 for l in k["bandwidth"].values()), k["bandwidth"]
s = a["stats"]
assert sum(s["sm.request_latency"]["counts"]) == s["sm.reads_done"]
assert sum(s["net.bytes_over_time"]["values"]) == s["net.taken_bytes"]
assert sum(s["dram.reads_over_time"]["values"]) == s["dram.column_reads"]
# bandwidths against counters that are counted elsewhere: links into receivers, columns
flits = sum(t["bandwidth"][n + "_network"]["utilisation"] * 64 * t["cycles"] for n in ("request", "reply"))
assert abs(flits - s["net.busy_cyc"]) < 1e-6 * flits
columns = s["dram.column_reads"] + s["dram.column_writes"]
assert abs(t["bandwidth"]["dram"]["bytes_per_second"] * t["seconds"] - 64 * columns) < 1e-3
near, every = s["sm.near_latency"]["counts"], s["sm.request_latency"]["counts"]
assert all(n <= e for n, e in zip(near, every)) and 0 < sum(near) < sum(every)
assert a["check"]["self_check_passed"] is True and a["check"]["laws_checked"] > 10
del a["host"], b["host"]
assert a == b
PY
"$ATOLL" run -m uba-mem -w scan:tiny -s sim.visit_order=shuffled -s sim.isa=plain --json "$dir/c.json" --timeline "$dir/c.trace" > /dev/null
holds "neither the order of visits nor the instruction set changes anything but the engine's own events" python3 - "$dir/a.json" "$dir/c.json" << 'PY'
import json, sys
a, c = (json.load(open(f)) for f in sys.argv[1:])
for r in (a, c):
    del r["host"], r["config"]["sim"]
    r["stats"] = {k: v for k, v in r["stats"].items() if not k.startswith("engine.")}
assert a == c
PY
holds "nor the trace" cmp "$dir/a.trace" "$dir/c.trace"
holds "CSV is deterministic" cmp "$dir/a.csv" "$dir/b.csv"
holds "CSV has totals and statistics, three columns each" python3 - "$dir/a.csv" "$dir/a.json" << 'PY'
import csv, json, sys
rows = list(csv.reader(open(sys.argv[1])))
assert rows[0] == ["name", "value", "unit"] and all(len(r) == 3 for r in rows)
values = {r[0]: r[1] for r in rows}
assert len(values) == len(rows)
result = json.load(open(sys.argv[2]))
assert int(values["totals.cycles"]) == result["totals"]["cycles"]
assert int(values["llc.requests"]) == result["stats"]["llc.requests"]
PY

"$ATOLL" run -m uba-mem -w scan:tiny -s chiplet.partitions=1 -s partition.sms=64 -s partition.slices=64 -s partition.channels=32 --json "$dir/flat.json" > /dev/null
holds "in a machine of one partition every read is near" python3 -c "
import json, sys
s = json.load(open(sys.argv[1]))['stats']
assert s['sm.near_latency'] == s['sm.request_latency'] and s['llc.remote'] == 0 and s['sm.reads_done'] > 0" "$dir/flat.json"

# several applications, and runs that are cut: what is counted adds up, in the report and in the result
"$ATOLL" run -m ugpu-bp -w vecadd:tiny+sgemm:tiny --json "$dir/both.json" --timeline "$dir/both.trace" > /dev/null 2>&1
"$ATOLL" run -m ugpu-bp -w vecadd:tiny+sgemm:tiny -s apps.window_cyc=3000 --json "$dir/cut.json" > /dev/null 2>&1
"$ATOLL" run -m uba-mem -w sgemm:small -s apps.window_cyc=2000 --json "$dir/cut1.json" > /dev/null 2>&1
"$ATOLL" run -m v100 -w vecadd:tiny+sgemm:tiny -s apps.relaunch=false --json "$dir/gap.json" > "$dir/gap" 2>&1
holds "scheduler cycles of kernels and of runs that are cut add up, and so do instructions" python3 - "$dir" << 'PY'
import json, sys
both, cut, cut1 = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("both", "cut", "cut1"))
assert len(both["kernels"]) > 2
for row in both["kernels"] + [both["totals"], cut["totals"], cut1["totals"]]:
    assert abs(sum(row["scheduler_cycles"].values()) - 1) < 1e-6, row
for run in (both, cut, cut1):
    t = run["totals"]
    assert abs(t["warp_instructions"] - t["ipc"] * t["cycles"]) < 1 and t["warp_instructions"] == run["stats"]["sm.warp_instructions"], t
    assert t["mean_latencies"]["dram_cycles"] > 50, t["mean_latencies"]  # in cycles of the SMs: DRAM's are a quarter of that
assert cut["stopped_by"] == "the end of apps.window_cyc"
PY
"$ATOLL" run -m uba-mem -w vecadd:tiny -s mmu.mode=ideal --json "$dir/ideal.json" > /dev/null 2>&1
"$ATOLL" run -m uba-mem -w vecadd:tiny -s mmu.mode=tlb --json "$dir/tlb.json" > /dev/null 2>&1
holds "a rate that nothing was counted for is left out, in totals and kernels" python3 - "$dir" << 'PY'
import json, sys
ideal, tlb = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("ideal", "tlb"))
for row in [ideal["totals"]] + ideal["kernels"]:
    assert "l1_tlb" not in row["hit_rates"] and "l2_tlb" not in row["hit_rates"] and "llc" in row["hit_rates"], row["hit_rates"]
    assert row["mean_latencies"]["dram_cycles"] > 0, row["mean_latencies"]
assert 0 < tlb["totals"]["hit_rates"]["l1_tlb"] < 1, tlb["totals"]["hit_rates"]
PY
expect 0 "5,000 of them gaps before launches" cat "$dir/gap"
holds "kernels that overlap have tracks of their own" python3 - "$dir/both.trace" << 'PY'
import collections, json, sys
tracks = collections.defaultdict(list)
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    if e["ph"] == "X" and not e["name"].startswith("block "):
        tracks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
assert len(tracks) == 2, tracks.keys()
for track in tracks.values():
    track.sort()
    assert all(a[1] <= b[0] + 1e-3 for a, b in zip(track, track[1:])), track
PY

# the trace
holds "the trace is deterministic" cmp "$dir/a.trace" "$dir/b.trace"
holds "the trace has every kernel and block, on tracks with names, without overlap" python3 - "$dir/a.trace" "$dir/a.json" << 'PY'
import collections, json, sys
trace, result = (json.load(open(f)) for f in sys.argv[1:])
events = trace["traceEvents"]
named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
slices = [e for e in events if e["ph"] == "X"]
assert all((e["pid"], e["tid"]) in named for e in slices)
assert sum(e["name"].startswith("block ") for e in slices) == result["totals"]["blocks"]
assert [e["name"] for e in slices if not e["name"].startswith("block ")] == [k["name"] for k in result["kernels"]]
tracks = collections.defaultdict(list)
for e in slices:
    tracks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
for track in tracks.values():
    track.sort()
    assert all(a[1] <= b[0] + 1e-3 for a, b in zip(track, track[1:]))
counters = {e["name"] for e in events if e["ph"] == "C"}
assert {"IPC", "L1", "networks", "LLC data ports", "DRAM", "reads in flight"} <= counters, counters
peak = {"IPC": 128, "DRAM": 717, "L1": 11469}
for e in events:
    if e["ph"] == "C" and e["name"] in peak:
        assert 0 <= list(e["args"].values())[0] <= 1.01 * peak[e["name"]], e
PY
expect 1 "cannot write '/nonexistent/t.json'" "$ATOLL" run -m uba-mem -w vecadd:tiny --timeline /nonexistent/t.json
expect 1 "cannot write a file without a name" "$ATOLL" run -m uba-mem -w vecadd:tiny --json ''
expect 1 "name '$dir/x' twice" "$ATOLL" run -m uba-mem -w vecadd:tiny --json "$dir/x" --csv "$dir/x"
expect 1 "it is a folder" "$ATOLL" run -m uba-mem -w vecadd:tiny --timeline "$dir"
expect 1 "cannot write '/dev/full'" "$ATOLL" run -m uba-mem -w vecadd:tiny --timeline /dev/full
expect 1 "which --functional leaves out" "$ATOLL" run -w vecadd:tiny --functional --timeline "$dir/x"
holds "nothing half-written is left" sh -c "! ls '$dir' | grep -q '\.part\$'"

# limits and exit codes
expect 0 "stopped by --max-instructions: results and conservation laws are not checked" "$ATOLL" run -m uba-mem -w sgemm:small --max-instructions 50000
"$ATOLL" run -m uba-mem -w sgemm:small --max-instructions 50000 --json "$dir/stopped.json" > /dev/null
holds "a stopped run says so as data and does not claim a right result" python3 -c "
import json, sys
r = json.load(open(sys.argv[1]))
assert r['totals']['stopped'] is True and r['check']['self_check_passed'] is False and r['check']['laws_checked'] == 0
assert 50000 <= r['totals']['warp_instructions'] < 50128" "$dir/stopped.json"
cat > "$dir/k.ptx" << 'PTX'
.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
PTX
expect 0 "buf:u32:64:sum: sum 2016" "$ATOLL" run -m uba-mem "$dir/k.ptx" --grid 2 --block 64 --arg buf:u32:64:sum
expect 0 "24 warp instructions" "$ATOLL" run -m uba-mem "$dir/k.ptx" --grid 2 --block 64 --arg buf:u32:64
expect 0 "stopped by --max-instructions" "$ATOLL" run -m uba-mem "$dir/k.ptx" --grid 2 --block 64 --arg buf:u32:64 --max-instructions 5
expect 0 "stopped by --max-instructions" "$ATOLL" run "$dir/k.ptx" --functional --grid 2 --block 64 --arg buf:u32:64 --max-instructions 5
expect 1 "for each of 2 applications" "$ATOLL" run -m ugpu-bp -s apps.sms=7 -w vecadd:tiny+sgemm:tiny

# applications together
"$ATOLL" run -m ugpu-bp -w vecadd:tiny --json "$dir/a.json" > /dev/null
"$ATOLL" run -m ugpu-bp -w sgemm:tiny --json "$dir/b.json" > /dev/null
expect 0 "system throughput (STP)" "$ATOLL" run -m ugpu-bp -w vecadd:tiny+sgemm:tiny -s apps.relaunch=false --alone "$dir/a.json,$dir/b.json" --json "$dir/ab.json"
holds "progress is the time alone over the time together, for the same instructions; STP is their sum" python3 - "$dir/a.json" "$dir/b.json" "$dir/ab.json" << 'PY'
import json, sys
a, b, both = (json.load(open(f)) for f in sys.argv[1:])
rows, t = both["apps"], both["totals"]
for alone, row in zip((a, b), rows):
    assert row["issued_warp_instructions"] == alone["totals"]["warp_instructions"] and row["runs"] == 1
    assert abs(row["normalized_progress"] * row["cycles"] - alone["totals"]["cycles"]) <= alone["stats"]["sm.instructions_over_time"]["interval"]
assert abs(t["stp"] - sum(r["normalized_progress"] for r in rows)) < 1e-9
assert abs(t["antt"] - sum(1 / r["normalized_progress"] for r in rows) / 2) < 1e-9
PY
expect 0 "vecadd:tiny issued 9" "$ATOLL" run -m ugpu-bp -w vecadd:tiny+sgemm:tiny --alone "$dir/a.json,$dir/b.json"
for w in vecadd sgemm; do
    "$ATOLL" run -m ugpu-bp -w $w:tiny -s apps.sms=40 -s apps.channels=16 -s apps.mmu=equal -s apps.mmu_shares=2 -s apps.window_cyc=20000 --json "$dir/$w.json" > /dev/null
done
"$ATOLL" run -m ugpu-bp -w vecadd:tiny+sgemm:tiny -s apps.mmu=equal -s apps.window_cyc=16000 --alone "$dir/vecadd.json,$dir/sgemm.json" --json "$dir/ab.json" > /dev/null
holds "an application that owns its share makes the progress that it makes there without the other, begun again as often" python3 - "$dir/ab.json" << 'PY'
import json, sys
for row in json.load(open(sys.argv[1]))["apps"]:
    assert row["runs"] > 1 and row["alone_repeats"] < 1, row
    assert abs(row["normalized_progress"] - 1) < 0.01, row
PY
"$ATOLL" run -m ugpu-bp -w vecadd:tiny+sgemm:tiny -s apps.alone=true --json "$dir/ab.json" > /dev/null
holds "two applications that share a machine do not make more progress than two machines, warm caches or not" python3 - "$dir/ab.json" << 'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["apps"][0]["runs"] > 5 and all(a["alone_repeats"] < 1 for a in r["apps"]), r["apps"]
assert 1 < r["totals"]["stp"] <= 2.02, r["totals"]["stp"]
PY
expect 1 "b.json' is a result of sgemm:tiny, but application 1 is vecadd:tiny" "$ATOLL" run -m ugpu-bp -w vecadd:tiny+sgemm:tiny --alone "$dir/b.json,$dir/a.json"
expect 1 "one result for each of the 2 applications" "$ATOLL" run -m ugpu-bp -w vecadd:tiny+sgemm:tiny --alone "$dir/a.json"
expect 0 "stopped by the end of apps.window_cyc" "$ATOLL" run -m ugpu-bp -w vecadd:tiny+sgemm:tiny -s apps.window_cyc=500
expect 1 "did you mean" "$ATOLL" run -m uba-men -w vecadd:tiny

# compare
expect 0 "geometric mean" "$ATOLL" compare -m uba-mem,v100 -w vecadd:tiny,sgemm:tiny --json "$dir/cmp.json"
"$ATOLL" run -m v100 -w vecadd:tiny --json "$dir/one.json" > /dev/null
holds "compare gives the same cycles as run, and its means are those of its speed-ups" python3 - "$dir/cmp.json" "$dir/one.json" << 'PY'
import json, math, sys
c, one = (json.load(open(f)) for f in sys.argv[1:])
points = {(p["workload"], p["machine"]): p for p in c["points"]}
p = points["vecadd:tiny", "v100"]
assert p["cycles"] == one["totals"]["cycles"] and p["ipc"] == one["totals"]["ipc"]
assert abs(p["speedup"] - points["vecadd:tiny", "uba-mem"]["seconds"] / p["seconds"]) < 1e-12
s = [points[w, "v100"]["speedup"] for w in c["workloads"]]
assert abs(c["means"][1]["geometric"] - math.exp(sum(map(math.log, s)) / len(s))) < 1e-9
assert abs(c["means"][1]["harmonic"] - len(s) / sum(1 / x for x in s)) < 1e-9
assert c["means"][0]["geometric"] == 1
PY
expect 0 "which are not the same: uba-mem 0 v100 5,000 cycles" "$ATOLL" compare -m uba-mem,v100 -w vecadd:tiny
holds "of gaps that are the same nothing is said" sh -c '! "$0" compare -m uba-mem,v100 -w vecadd:tiny -s runtime.launch_gap_cyc=9 | grep "not the same"' "$ATOLL"
expect 1 "did you mean 'v100'?" "$ATOLL" compare -m uba-mem,v10 -w vecadd:tiny
expect 1 "there is no workload 'nonsense'" "$ATOLL" compare -m uba-mem,v100 -w nonsense,vecadd:tiny
cp "$dir/out" "$dir/holes"
holds "a point that fails does not stop the others" grep -qE "vecadd:tiny +[0-9,]+ +[0-9,]+" "$dir/holes"
expect 0 "vecadd:n=3000" "$ATOLL" compare -m uba-mem -w vecadd:n=3000,sgemm:tiny -s sm.warps=32
expect 0 "gemm_naive:n=32,chain=1" "$ATOLL" compare -m uba-mem -w vecadd:tiny,gemm_naive:n=32,chain=1
expect 1 "takes machines and workloads" "$ATOLL" compare -m uba-mem
# A kernel that waits for itself is the program's mistake, with time as without.
cat > "$dir/stuck.ptx" << 'PTX'
.version 7.0
.target sm_70
.address_size 64
.visible .entry stuck()
{
    bar.sync 0, 64;
    ret;
}
PTX
expect 1 "barrier 0: 32 of 64 threads arrived" "$ATOLL" run -m uba-mem "$dir/stuck.ptx" --grid 1 --block 32
# results do not depend on when an SM is looked at: a queue of one miss, random ways
# same_cycles NAME RUN...: as fast without work ahead and in another order of visits
same_cycles() {
    what=$1
    shift
    : > "$dir/cycles"
    for how in sim.work_ahead=true sim.work_ahead=false sim.visit_order=shuffled; do
        "$ATOLL" run "$@" -s $how --json "$dir/visits.json" > /dev/null
        python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["totals"]["cycles"])' "$dir/visits.json" >> "$dir/cycles"
    done
    holds "$what" sh -c "test \"\$(sort -u '$dir/cycles' | wc -l)\" = 1 -a \"\$(wc -l < '$dir/cycles')\" = 3"
}
same_cycles "a miss queue of one place" -m v100 -w vecadd:n=8192 -s l1.miss_queue=1 -s l1.lines_per_cyc=2
same_cycles "ways drawn at random" -m v100 -w bicg:tiny -s l1.replacement=random -s l1.allocate=on_miss -s l1.ways=2 -s l1.size=1KiB \
    --max-instructions 2000

# SMs that ask the L2 TLB in the cycle in which it serves others
cat > "$dir/scattered.ptx" << 'PTX'
.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<8>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 256, %r1;
    and.b32 %r4, %r3, 63;
    mad.wide.u32 %rd2, %r4, 36, %rd1;
    red.global.add.u32 [%rd2], 1;
    mad.lo.u32 %r5, %r3, 2246822507, 1054772433;
    shr.u32 %r6, %r5, 15;
    xor.b32 %r5, %r5, %r6;
    mul.lo.u32 %r5, %r5, 0x2c1b3c6d;
    shr.u32 %r6, %r5, 12;
    xor.b32 %r5, %r5, %r6;
    and.b32 %r5, %r5, 1048572;
    cvt.u64.u32 %rd2, %r5;
    add.u64 %rd2, %rd1, %rd2;
    ld.global.u32 %r7, [%rd2];
    ret;
}
PTX
same_cycles "questions to the L2 TLB" -m uba-mem "$dir/scattered.ptx" --entry k --grid 80 --block 256 --arg buf:u32:4194368

# atomics of several warps on the same words, some of which wait for more sectors than others, and stores behind them
cat > "$dir/atomics.ptx" << 'PTX'
.version 7.0
.target sm_70
.address_size 64
.visible .entry counts(.param .u64 bins)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [bins];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r3, %r1, %r2, %r3;
    mul.lo.u32 %r4, %r3, 2654435761;
    shr.u32 %r5, %r4, 15;
    xor.b32 %r4, %r4, %r5;
    mul.lo.u32 %r4, %r4, 0x2c1b3c6d;
    shr.u32 %r4, %r4, 22;
    mad.wide.u32 %rd2, %r4, 4, %rd1;
    atom.global.add.u32 %r5, [%rd2], 1;
    ret;
}
.visible .entry stores(.param .u64 words)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [words];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r3, %r1, %r2, %r3;
    mul.lo.u32 %r4, %r3, 2654435761;
    shr.u32 %r5, %r4, 15;
    xor.b32 %r4, %r4, %r5;
    and.b32 %r4, %r4, 1048575;
    mad.wide.u32 %rd2, %r4, 4, %rd1;
    red.global.add.u32 [%rd2], 1;
    st.global.u8 [%rd2+1], %r3;
    ld.volatile.global.u32 %r6, [%rd2];
    ret;
}
PTX
for machine in v100 a100 uba-mem; do
    expect 0 "laws hold" "$ATOLL" run -m $machine "$dir/atomics.ptx" --entry counts --grid 40 --block 256 --arg buf:u32:1024 --check
    expect 0 "laws hold" "$ATOLL" run -m $machine "$dir/atomics.ptx" --entry stores --grid 80 --block 1024 --arg buf:u32:1048576 --check
done

# a run that is cut: applications count what was issued, not what was executed ahead of it
"$ATOLL" run -m numa-gpu -w bicg:tiny -s apps.window_cyc=3000 --json "$dir/cut.json" > /dev/null
holds "the instructions of applications are those of the run" python3 - "$dir/cut.json" << 'END'
import json, sys
result = json.load(open(sys.argv[1]))
assert sum(a["warp_instructions"] for a in result["apps"]) == result["totals"]["warp_instructions"], result["totals"]
END

expect 1 "net.in_order=false is for networks alone" "$ATOLL" run -m uba-mem -w bfs:tiny -s net.in_order=false
expect 0 "laws hold" "$ATOLL" run -m uba-mem -w bfs:tiny -s net.in_order=false -s net.vcs=1 -s net.input_speedup=1 --check
expect 1 "out of range: 0 to 1000000000000 cycles" "$ATOLL" run -m uba-mem -w vecadd:tiny -s runtime.launch_gap_cyc=18446744073709551615
expect 1 "has an empty name in it" "$ATOLL" compare -m uba-mem, -w vecadd:tiny
finish
