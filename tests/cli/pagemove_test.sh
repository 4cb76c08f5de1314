#!/bin/sh
# Pages that follow the channels of their application: no stale read under --check, results that do not depend on the
# order of visits, queues of one line, both timings of MIGRATION; bad input.
. tests/cli/lib.sh

# run OPTIONS...: three changes of the partition, A, B, C, A
run() {
    timeout 100 "$ATOLL" run -m ugpu-bp -w triad:tiny+hotspot:tiny -s partition.policy=plan \
        -s "partition.plan=40/16,40/16;20/8,60/24;60/24,20/8;40/16,40/16" -s partition.epoch_cyc=5000 \
        -s apps.window_cyc=30000 -s runtime.placement=least_filled --check "$@"
}

equal='
import json, sys
a, b = [json.load(open(path))["stats"] for path in sys.argv[1:3]]
assert a["owner.came"] > 20 and not a["owner.foreign_requests"] and a["owner.came"] == a["pages.migrations"]
different = [key for key in a if a[key] != b[key] and not key.startswith("engine.")]
assert not different, different
'
for copier in in_stack channels network; do
    expect 0 "none was stale" run -s pages.copier=$copier --json "$dir/fixed.json"
    expect 0 "none was stale" run -s pages.copier=$copier -s sim.visit_order=shuffled --json "$dir/shuffled.json"
    holds "$copier: the order of visits changes nothing" python3 -c "$equal" "$dir/fixed.json" "$dir/shuffled.json"
    expect 0 "none was stale" run -s pages.copier=$copier -s dram.queue_entries=2
done
expect 0 "none was stale" run -s pages.copier=in_stack -s dram.migration=timed
expect 0 "none was stale" run -s pages.copier=in_stack -s dram.refresh=true -s partition.sm_change=switch


# UGPU-Ori, all accesses to the end, so that the laws are checked: packets of the engine apart from those of SMs
ori() {
    timeout 100 "$ATOLL" run -m ugpu-ori -w triad:tiny+hotspot:tiny -s partition.policy=plan \
        -s "partition.plan=40/16,40/16;20/8,60/24;60/24,20/8;40/16,40/16;20/8,60/24;60/24,20/8" -s partition.epoch_cyc=1000 \
        -s pages.fault_cyc=100 --check "$@"
}
expect 0 "none was stale" ori --json "$dir/fixed.json"
expect 0 "none was stale" ori --timeline "$dir/trace" -s sim.visit_order=shuffled --json "$dir/shuffled.json"
holds "ugpu-ori: the order of visits changes nothing" python3 -c "$equal" "$dir/fixed.json" "$dir/shuffled.json"
engine='
import json, sys
s = json.load(open(sys.argv[1]))["stats"]
lines = 32 * s["owner.came"]
assert s["pages.lines"] == s["llc.page_writes"] == lines and s["owner.faults_kept"] > 20
assert s["pages.engine_requests"] == s["pages.engine_replies"] == s["llc.page_requests"] == 2 * lines
assert s["sm.requests_sent"] + lines * 2 + s["llc.walks"] == s["llc.requests"]
'
holds "packets of the engine are counted apart" python3 -c "$engine" "$dir/fixed.json"
timeline='
import json, sys
events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X"]
p = json.load(open(sys.argv[2]))["totals"]["partition"]
changes = [e for e in events if "channel indices" in e["name"]]
assert len(changes) == len(p["changes"]) > 1 and sum("accesses held" in e["name"] for e in events) == len(changes)
for e, c in zip(changes, p["changes"]):
    over = c["over"] or c["begin"] + e["args"]["cycles"]
    assert e["args"]["channel indices"] == c["indices"] and abs(e["dur"] * 1400 - (over - c["begin"])) < 1, (e, c)
shares = [e for e in events if e["name"] == "20 SMs, 8 channels"]
moved = sum(e["args"]["pages moved"] for e in events if "pages moved" in e.get("args", {}))
assert shares and moved == sum(a["moved"] for row in p["pages"] for a in row)
'
holds "the timeline has reallocations, shares and moved pages" python3 -c "$timeline" "$dir/trace" "$dir/shuffled.json"
expect 0 "none was stale" ori -s dram.queue_entries=2
expect 0 "none was stale" ori -s net.vc_flits=1 -s llc.reply_queue=1 -s llc.memory_queue=1
expect 0 "none was stale" ori -s net.topology=queued -s clock.net="900 MHz"
expect 0 "none was stale" ori -s pages.copier=channels
expect 0 "none was stale" ori -s pages.faulting=masks
expect 1 "set net.topology to crossbar or queued" ori -s net.topology=hxbar
expect 1 "pages.faulting all also moves pages inside one channel index" ori -s pages.copier=in_stack
expect 1 "pages.copier needs map.kind page_move" "$ATOLL" run -m v100 -w triad:tiny -s pages.copier=network
expect 1 "pages.faulting all" "$ATOLL" run -m ugpu-bp -w triad:tiny -s pages.faulting=all

expect 1 "pages.copier needs map.kind page_move" "$ATOLL" run -m v100 -w triad:tiny -s pages.copier=in_stack
expect 1 "needs mmu.mode tlb" "$ATOLL" run -m ugpu-bp -w triad:tiny -s pages.copier=in_stack -s mmu.mode=ideal
expect 1 "needs dram.queue unified" "$ATOLL" run -m ugpu-bp -w triad:tiny -s pages.copier=in_stack -s dram.queue=split
expect 1 "must hold two MIGRATION commands" "$ATOLL" run -m ugpu-bp -w triad:tiny -s pages.copier=in_stack -s dram.migration_cyc=5
finish
