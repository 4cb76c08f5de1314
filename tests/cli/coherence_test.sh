#!/bin/sh
# Coherence of copies in other GPUs: memory-model tests and a benchmark under --check, for every row of llc.coherence and
# for stores that stay in the remote data cache, on GPUs with few sets, with queues of one entry, epochs of two bits and
# shuffled visits.
. tests/cli/lib.sh

small="-s chiplet.partitions=4 -s gpu.llc_size=4KiB -s llc.ways=8 -s map.page_size=4KiB -s map.interleave=256B -s gpu.memory_size=64MiB -s dram.rows=16384 -s l1.size=4KiB"
cached="$small -s rdc.size=8KiB"
one="-s l1.miss_queue=1 -s l1.mshrs=1 -s sm.lsu_queue=1 -s sm.loads=1 -s sm.stores=1 -s llc.mshrs=2 -s llc.mshr_merges=1 -s llc.data_queue=1 -s llc.reply_queue=1 -s llc.memory_queue=1 -s llc.forward_queue=1 -s slice_net.source_packets=1 -s slice_net.sink_packets=1 -s gpu_net.source_packets=1 -s llc.invalidate_queue=1"
one_rdc="$one -s rdc.write_queue=2"

# right MACHINE OPTIONS...: no load is stale
right() {
    expect 0 "none was stale" timeout 100 "$ATOLL" run --check -m "$@"
}

for machine in carve carve-swc "carve -s llc.coherence=directory"; do
    for workload in ordering litmus; do
        run="$machine -w ./tests/kit/$workload:tiny"
        # shellcheck disable=SC2086 # lists of options
        {
            right $run $cached
            right $run $cached $one_rdc -s sim.visit_order=shuffled -s rdc.index=frame
            right $run $cached -s rdc.epoch_bits=2 -s rdc.index=hash
            right $run $small -s rdc.size=0 $one
        }
    done
    # shellcheck disable=SC2086
    right $machine -w gups:tiny $cached $one_rdc -s system.gpus=2
done
# shellcheck disable=SC2086
right carve -w gups:tiny $cached -s system.gpus=8 -s imst.demote=0.5
# shellcheck disable=SC2086
right carve -w ./tests/kit/litmus:tiny $cached -s imst.enabled=false
# without coherence stale loads are expected and counted
# shellcheck disable=SC2086
expect 0 "stale, as llc.coherence none allows" timeout 100 "$ATOLL" run --check -m carve-nc -w ./tests/kit/ordering:tiny $cached

# stores that stay in the RDC, and leave it one at a time
back="-s rdc.write=back"
for workload in ordering:tiny litmus:tests=4,rounds=16; do
    run="-w ./tests/kit/$workload"
    # shellcheck disable=SC2086 # lists of options
    {
        right carve-swc $run $cached $back
        right carve-swc $run $cached $back $one_rdc -s rdc.write_backs=1 -s sim.visit_order=shuffled -s rdc.index=frame
        right carve-swc $run $cached $back -s rdc.epoch_bits=2 -s rdc.index=hash
        expect 0 "as llc.coherence none allows" timeout 100 "$ATOLL" run --check -m carve-nc $run $cached $back \
            $one_rdc -s rdc.write_backs=1 -s sim.visit_order=shuffled
    }
done
# shellcheck disable=SC2086
right carve-swc -w gups:tiny $cached $back $one_rdc -s system.gpus=2
# shellcheck disable=SC2086
expect 0 "as llc.coherence none allows" timeout 100 "$ATOLL" run --check -m carve-nc -w gups:tiny $cached $back -s system.gpus=2
# shellcheck disable=SC2086
expect 1 "set llc.boundary to drop_remote" "$ATOLL" run -m carve-swc -w gups:tiny $back -s llc.boundary=flush

# the order in which components are visited has no effect
for machine in carve "carve-swc $back"; do
    for order in fixed shuffled; do
        # shellcheck disable=SC2086
        expect 0 "none was stale" timeout 100 "$ATOLL" run --check -m $machine -w ./tests/kit/ordering:tiny $cached -s sim.visit_order=$order --json "$dir/$order.json"
        grep -E '^ *"(sm|l1|llc|rdc|coherence|dram|gpu_net)\.' "$dir/$order.json" > "$dir/$order.stats"
    done
    holds "shuffled visits change no statistic of $machine" cmp "$dir/fixed.stats" "$dir/shuffled.stats"
done

# the report: an RDC whose sets were never filled is marked, and machines without copies have no such lines
expect 0 "the RDC is cold: " "$ATOLL" run -m carve-s32 -w mcb:tiny --details
cp "$dir/out" "$dir/report" # holds() writes to out
holds "details list the probes by result" grep -q "miss: set never filled" "$dir/report"
holds "the screen has the invalidations" grep -q "writes at their homes waited for invalidations, " "$dir/report"
expect 0 "between GPUs" "$ATOLL" run -m numa-gpu-s32 -w mcb:tiny --details
cp "$dir/out" "$dir/report"
holds "a machine without an RDC has no line about it" sh -c "! grep -qE 'RDC|remote data cache|at their homes' '$dir/report'"
finish
