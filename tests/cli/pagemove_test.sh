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
for copier in in_stack channels; do
    expect 0 "none was stale" run -s pages.copier=$copier --json "$dir/fixed.json"
    expect 0 "none was stale" run -s pages.copier=$copier -s sim.visit_order=shuffled --json "$dir/shuffled.json"
    holds "$copier: the order of visits changes nothing" python3 -c "$equal" "$dir/fixed.json" "$dir/shuffled.json"
    expect 0 "none was stale" run -s pages.copier=$copier -s dram.queue_entries=2
done
expect 0 "none was stale" run -s pages.copier=in_stack -s dram.migration=timed
expect 0 "none was stale" run -s pages.copier=in_stack -s dram.refresh=true -s partition.sm_change=switch

expect 1 "pages.copier needs map.kind page_move" "$ATOLL" run -m v100 -w triad:tiny -s pages.copier=in_stack
expect 1 "needs mmu.mode tlb" "$ATOLL" run -m ugpu-bp -w triad:tiny -s pages.copier=in_stack -s mmu.mode=ideal
expect 1 "needs dram.queue unified" "$ATOLL" run -m ugpu-bp -w triad:tiny -s pages.copier=in_stack -s dram.queue=split
expect 1 "must hold two MIGRATION commands" "$ATOLL" run -m ugpu-bp -w triad:tiny -s pages.copier=in_stack -s dram.migration_cyc=5
finish
