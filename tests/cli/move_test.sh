#!/bin/sh
# Resident blocks that change their SM in the middle of a kernel: results stay right, contexts cost traffic, order of visits does not matter.
. tests/cli/lib.sh

# moved FILE: blocks that left an SM
moved() { sed -n 's/.*"sm.blocks_left": \([0-9]*\).*/\1/p' "$1"; }

for w in sgemm:tiny reduction:tiny histogram:tiny scan:tiny; do
    expect 0 "result checked against the CPU: right" "$ATOLL" run -m uba-mem -s runtime.rotate_blocks_cyc=500 -w $w --json "$dir/moved.json"
    n=$(moved "$dir/moved.json")
    holds "blocks of $w moved" test "${n:-0}" -gt 0
done
# The pages of contexts are the driver's: no fault places them.
expect 0 "result checked against the CPU: right" "$ATOLL" run -m uba-mem -s runtime.rotate_blocks_cyc=500 -s mmu.prefault=false -w sgemm:tiny --check --json "$dir/moved.json"
n=$(moved "$dir/moved.json")
holds "blocks of sgemm:tiny moved with page faults" test "${n:-0}" -gt 0
expect 0 "" "$ATOLL" run -m uba-mem -s runtime.rotate_blocks_cyc=500 -w histogram:tiny --json "$dir/a.json"
expect 0 "" "$ATOLL" run -m uba-mem -s runtime.rotate_blocks_cyc=500 -s sim.visit_order=shuffled -w histogram:tiny --json "$dir/b.json"
for f in a b; do grep -E '"(sm|l1|llc|dram|mmu)\.' "$dir/$f.json" > "$dir/$f.stats"; done
holds "the order of visits does not matter to moved blocks" cmp -s "$dir/a.stats" "$dir/b.stats"
# A wake-up of block_migration after the last kernel is no time of the run.
cycles() { sed -n 's/^ *"cycles": \([0-9]*\).*/\1/p' "$1" | head -1; }
expect 0 "" "$ATOLL" run -m uba-mem -w sgemm:tiny --json "$dir/still.json"
expect 0 "" "$ATOLL" run -m uba-mem -s runtime.rotate_blocks_cyc=1000000 -w sgemm:tiny --json "$dir/late.json"
holds "blocks that could move and do not take no longer" test "$(cycles "$dir/late.json")" -eq "$(cycles "$dir/still.json")"
# An SM whose only block left gets those that its scheduler keeps for it alone.
for w in sgemm:tiny histogram:tiny bfs:tiny; do
    expect 0 "result checked against the CPU: right" "$ATOLL" run -m v100 -s sm.block_slots=1 -s runtime.cta_sched=block_cta -s runtime.rotate_blocks_cyc=300 -w $w --json "$dir/moved.json"
    n=$(moved "$dir/moved.json")
    holds "blocks of $w moved between SMs with one slot" test "${n:-0}" -gt 0
done
finish
