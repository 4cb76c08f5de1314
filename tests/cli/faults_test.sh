#!/bin/sh
# Every planted fault of src/check/faults.def is detected: by --check, a law, a contract, the report of wait-for chains
# or a comparison with a simulation cycle by cycle. Without a fault the same program passes the same runs.
. tests/cli/lib.sh
faults=$ATOLL_BUILD/atoll_faults
if [ ! -x "$faults" ]; then
    skip "planted faults: this build has no atoll_faults (-DATOLL_FAULTS=ON)"
    finish
fi
order="-w ./tests/kit/ordering:tiny"
evict="-w triad:n=40000 -s gpu.llc_size=128KiB"
small="-w hotspot:tiny"
machine=uba-mem
tested=

# caught FAULT CODE FRAGMENT OPTIONS...
caught() {
    fault=$1 code=$2 fragment=$3
    shift 3
    tested="$tested $fault"
    expect "$code" "$fragment" timeout 100 "$faults" run -m "$machine" --check -s sim.fault="$fault" "$@"
}
# shellcheck disable=SC2086 # the runs are lists of words
{
    for run in "$order" "$order -s l1.sectored=true -s llc.boundary=flush" "$evict" "$small" \
        "$order -s l1.lines_per_cyc=4 -s sm.fence_acquire=invalidate" "-w gather:tiny -s l1.sectored=true"; do
        expect 0 "none was stale" timeout 100 "$faults" run -m uba-mem --check -s sim.fault=none $run
    done

    caught l1_keeps_at_kernel 2 "stale read" $order
    caught l1_keeps_after_store 2 "stale read" $order
    caught l1_keeps_overtaken 2 "stale read" $order
    caught l1_fills_all_sectors 2 "a word that is not there" -w gather:tiny -s l1.sectored=true
    caught l1_forgets_waiter 3 "nothing is due" $small
    caught read_only_wrong 2 "the analysis of read-only data is wrong here" -w gemm_naive:tiny
    caught fence_waits_not 2 "release before its stores" $order
    caught fence_invalidates_not 2 "stale read" $order
    caught acquire_invalidates_not 2 "stale read" $order
    caught move_invalidates_not 2 "stale read" -w gemm_naive:tiny -s runtime.rotate_blocks_cyc=1500
    caught requests_swap 2 "in the wrong order" $order -s l1.lines_per_cyc=4
    caught store_sent_twice 2 "not issued, or twice" $order
    caught request_dropped 3 "nothing is due" $small
    caught reply_dropped 3 "nothing is due" $small
    caught reply_twice 2 "--check" $small
    caught store_unacknowledged 3 "nothing is due" $small
    caught store_lost 2 "stale read" $small
    caught llc_loses_write_back 2 "dropped without being written back" $evict
    caught llc_flush_skips 2 "dropped without being written back" $small -s llc.boundary=flush
    caught llc_dirty_mask 2 "--check" $small -s llc.boundary=flush
    caught llc_atomic_clean 2 "stale read" $order
    caught llc_early_reply 2 "before the line is there" $small
    caught llc_wrong_hit 2 "--check" -w gesummv:tiny -s gpu.llc_size=128KiB
    caught memory_wrong_line 2 "--check" $small
    caught memory_loses_read 3 "nothing is due" $small
    caught memory_loses_write 2 "must see" $evict
    caught wrong_frame 2 "address translation" $small
    caught walk_lost 3 "nothing is due" $small
    caught block_twice 3 "blocks, but" $small
    caught block_lost 3 "nothing is due" $small
    caught kernel_ends_early 2 "not acknowledged" $small
    machine=ugpu
    change="-w gemm_naive:n=96+triad:tiny -s partition.policy=plan -s partition.plan=40/16,40/16;60/8,20/24;40/16,40/16 -s partition.epoch_cyc=5000 -s apps.window_cyc=12000"
    expect 0 "none was stale" timeout 100 "$faults" run -m ugpu --check -s sim.fault=none $change
    caught llc_keeps_at_change 2 "holds dirty lines" $change
    caught tlb_keeps_at_change 2 "holds translations from before" $change
    caught block_on_foreign_sm 3 "of another application" \
        -w "./tests/kit/phases:n=262144,streams=8,computes=0+triad:tiny" -s partition.policy=plan \
        -s "partition.plan=40/16,40/16;20/8,60/24" -s partition.epoch_cyc=5000 -s apps.window_cyc=12000
    machine=uba-mem
    caught cycle_counted_twice 3 "law sm.cycles_add_up" $small
    # an internal error is reported with its command line, as a shell takes it
    expect 3 "command line: $faults run -m uba-mem -s sim.fault=block_twice -w hotspot:tiny -s 'net.width=32 B'" \
        timeout 100 "$faults" run -m uba-mem -s sim.fault=block_twice $small -s "net.width=32 B"

    # organisations that replicate lines
    for run in "-m selrep-private" "-m selrep -s selrep.degree=16" "-m selrep -s selrep.degree=4 -s llc.boundary=replicas"; do
        expect 0 "none was stale" timeout 100 "$faults" run --check -s sim.fault=none $order $run
    done
    machine=selrep-private
    caught private_keeps_at_acquire 2 "stale read" $order
    caught private_snoops_not 2 "stale read" $order
    caught private_atomics_anywhere 2 "stale read" $order
    caught private_orders_not 2 "stale read" $order
    machine=selrep
    caught selective_writes_replicas 2 "stale read" $order -s selrep.degree=16
    caught boundary_keeps_replicas 2 "stale read" $order -s selrep.degree=16
    late="-w squeezenet:tiny -s selrep.per_kernel=false -s selrep.epoch_cyc=6000 -s selrep.samples=1 -s selrep.sigmas=0 -s selrep.equal=0 -s selrep.idle=0" # first copies in the second kernel
    expect 0 "none was stale" timeout 100 "$faults" run --check -s sim.fault=none -m $machine $late
    caught selective_cleans_not 2 "stale read" $late

    # several GPUs, each of which caches lines of the others
    for run in nuba-norep nuba-fullrep nuba "nuba-fullrep -s llc.boundary=drop_remote" mcm-nuba; do
        expect 0 "none was stale" timeout 100 "$faults" run --check -s sim.fault=none $order -m $run
    done
    expect 0 "none was stale" timeout 100 "$faults" run -m uba-sm --check -s sim.fault=none $order
    machine=uba-sm
    caught sm_side_tells_not 2 "stale read" $order
    # pages in system memory
    machine=numa-gpu-s32
    spill="-w gups:words=200000,threads=1500,updates=4 -s map.page_size=4KiB -s gpu.llc_size=16KiB -s llc.ways=4 -s spill.share=0.5"
    expect 0 "none was stale" timeout 100 "$faults" run -m $machine --check -s sim.fault=none $spill
    caught spill_loses_write 2 "stale read" $spill
    machine=nuba-fullrep
    caught nuba_copies_written 2 "stale read" $order
    caught boundary_keeps_replicas 2 "stale read" $order
    machine=nuba-norep
    moves="-w bfs:tiny -s runtime.move_interval_cyc=1000 -s runtime.move_accesses=8 -s runtime.move_cost=100ns"
    for run in pages.migration=most_used pages.replication=read_only; do
        expect 0 "none was stale" timeout 100 "$faults" run -m $machine --check -s sim.fault=none $moves -s $run
    done
    caught move_loses_dirty 2 "dropped without being written back" $moves -s pages.migration=most_used
    caught move_waits_not 3 "internal error" $moves -s pages.migration=most_used
    caught move_skips_line 2 "--check" $moves -s pages.migration=most_used
    # intervals that end for ever are no progress
    expect 3 "nothing moved for" timeout 100 "$faults" run -m $machine -s sim.fault=reply_dropped $moves -s pages.migration=most_used
    mixed="$order -s map.page_size=64KiB -s runtime.move_cost=100ns -s pages.replication=read_only"
    expect 0 "none was stale" timeout 100 "$faults" run -m $machine --check -s sim.fault=none $mixed
    caught replica_collapses_not 2 "stale read" $mixed

    # pages that follow the channels of their application
    old=$machine machine=ugpu-bp
    follow="-s partition.policy=plan -s partition.epoch_cyc=5000 -s apps.window_cyc=30000 -s runtime.placement=least_filled \
        -s partition.plan=40/16,40/16;20/8,60/24;60/24,20/8;40/16,40/16 -s pages.copier=in_stack"
    pair="-w triad:tiny+hotspot:tiny"
    for run in "$pair" "$pair -s pages.fault_cyc=1" "-w fwt:tiny+hotspot:tiny -s dram.migration_cyc=1000"; do
        expect 0 "none was stale" timeout 100 "$faults" run -m $machine --check -s sim.fault=none $follow $run
    done
    caught page_released_early 2 "stale read" $follow -w fwt:tiny+hotspot:tiny -s dram.migration_cyc=1000
    caught mask_skips_walks 2 "which it does not own" $follow $pair -s mmu.l2_entries=16
    expect 3 "accesses to channels that it does not own" \
        timeout 100 "$faults" run -m $machine -s sim.fault=mask_skips_walks $follow $pair -s mmu.l2_entries=16 # without --check
    caught gained_kept 2 "mask of gained channels is still set" $follow $pair
    caught migration_takes_busy_bank 2 "wrong copy" $follow $pair -s pages.fault_cyc=1
    caught migration_overtakes 2 "wrong copy" $follow $pair -s pages.fault_cyc=1
    machine=ugpu-ori
    ori="-s partition.policy=plan -s partition.epoch_cyc=5000 -s apps.window_cyc=30000 -s pages.fault_cyc=1000 \
        -s partition.plan=40/16,40/16;20/8,60/24;60/24,20/8;40/16,40/16"
    expect 0 "none was stale" timeout 100 "$faults" run -m $machine --check -s sim.fault=none $ori $pair
    caught page_released_early 2 "--check" $ori $pair
    # to the end, so that the first line of a page is read again
    caught move_skips_line 2 "stale read" $pair -s partition.policy=plan -s partition.epoch_cyc=1000 -s pages.fault_cyc=100 \
        -s "partition.plan=40/16,40/16;20/8,60/24;60/24,20/8;40/16,40/16;20/8,60/24;60/24,20/8"
    caught mask_skips_walks 2 "which has not moved since the last change" $ori $pair -s mmu.l2_entries=16
    machine=$old
    expect 0 "none was stale" timeout 100 "$faults" run -m numa-gpu --check -s sim.fault=none $order
    machine=numa-gpu
    caught llc_keeps_remote 2 "stale read" $order
    caught llc_keeps_at_acquire 2 "stale read" $order
    caught llc_store_passes_copy 2 "stale read" $order
    caught llc_atomic_passes_copy 2 "stale read" $order
    # remote data caches and invalidations between GPUs (CARVE): few sets, small caches
    gpus="-s chiplet.partitions=4 -s gpu.llc_size=4KiB -s llc.ways=8 -s map.interleave=256B -s gpu.memory_size=64MiB -s dram.rows=16384"
    few="$order $gpus -s map.page_size=4KiB -s rdc.size=8KiB -s l1.size=4KiB"
    roomy="$gpus -s map.page_size=64KiB -s rdc.size=64KiB -s l1.size=2KiB"
    large="-s chiplet.partitions=4 -s map.interleave=256B -s gpu.memory_size=64MiB -s dram.rows=16384 -s map.page_size=4KiB -s rdc.size=64KiB -s l1.size=2KiB"
    for machine in carve carve-swc; do
        expect 0 "none was stale" timeout 100 "$faults" run -m $machine --check -s sim.fault=none $few
        expect 0 "none was stale" timeout 100 "$faults" run -m $machine --check -s sim.fault=none -w ./tests/kit/litmus:tests=4,rounds=64 $roomy
        caught rdc_raw_fill 2 "stale read" -w ./tests/kit/litmus:tests=4,rounds=64 $roomy
        caught rdc_atomic_passes 2 "stale read" -w ./tests/kit/litmus:tiny $roomy
        caught rdc_clears_not 2 "stale read" $few
        caught fence_not_cumulative 2 "fence not cumulative" $few
    done
    caught rdc_swaps_order 2 "stale read" $few
    caught rdc_ignores_epoch 2 "stale read" $few
    caught rdc_resets_not 2 "stale read" $few -s rdc.epoch_bits=1
    # stores that stay in the remote data cache
    back="$few -s rdc.write=back"
    expect 0 "none was stale" timeout 100 "$faults" run -m carve-swc --check -s sim.fault=none $back
    expect 0 "as llc.coherence none allows" timeout 100 "$faults" run -m carve-nc --check -s sim.fault=none $back
    for machine in carve-nc carve-swc; do
        caught rdc_dirty_forgotten 2 "release before its stores" $back
    done
    caught rdc_dirty_forgotten 2 "stores are not acknowledged" -w gups:tiny $gpus -s map.page_size=4KiB -s rdc.size=8KiB -s rdc.write=back
    caught rdc_dirty_overtaken 2 "stale read" $back
    caught rdc_atomic_passes 2 "stale read" $back
    caught rdc_ignores_epoch 2 "stale read" $back
    machine=carve
    for run in "-w sssp:tiny -s llc.invalidate_cyc=200" "-w bfs:tiny -s llc.invalidate_cyc=2000"; do
        expect 0 "none was stale" timeout 100 "$faults" run -m $machine --check -s sim.fault=none $large $run
    done
    caught rdc_swaps_order 2 "stale read" -w sssp:tiny $large -s llc.invalidate_cyc=200
    caught rdc_store_passes 2 "stale read" $few
    caught vi_invalidation_lost 2 "stale read" $few
    caught vi_keeps_fill 2 "stale read" $few
    caught vi_answers_early 2 "stale read" $few -s llc.invalidate_cyc=500
    caught vi_joins_after_read 2 "stale read" -w bfs:tiny $large -s llc.invalidate_cyc=2000
    # remote reads that allocate nothing at their home (RONCE)
    machine=ladm-rr
    expect 0 "none was stale" timeout 100 "$faults" run -m $machine --check -s sim.fault=none $order -s crb.policy=ronce
    caught once_fills_home 3 "law llc.ronce_fills_no_way" $order -s crb.policy=ronce
    caught once_loses_move 3 "internal error" $order -s crb.policy=ronce
    machine=numa-gpu
    caught forward_dropped 3 "nothing is due" $small
    machine=numa-gpu-s32 # little memory: frames that pages left are used again
    moves="-w gups:words=40000,threads=300,updates=64 -s gpu.memory_size=1MiB -s map.page_size=4KiB -s pages.level=gpu -s pages.migration=remote_heavy -s pages.migration_ratio=1 -s runtime.move_interval_cyc=1000 -s runtime.move_accesses=2 -s runtime.move_cost=100ns"
    expect 0 "none was stale" timeout 100 "$faults" run -m $machine --check -s sim.fault=none $moves
    caught move_keeps_remote_lines 2 "stale read" $moves
    machine=selrep-adaptive
    often="-w gemm_naive:n=128 -s selrep.profile_cyc=1000 -s selrep.period_cyc=4000 -s selrep.samples=1 -s selrep.sigmas=0" # short profiles: any request decides
    expect 0 "none was stale" timeout 100 "$faults" run --check -s sim.fault=none -m $machine $often
    caught adaptive_flushes_not 3 "internal error" $often
}

# The fast loops of lookahead windows repeat the timing of the general code. --check turns them off; the proof is that
# every statistic equals that of sim.work_ahead=false (tests/proof/random_machines_test.c).
# same_cycle_by_cycle FAULT OPTIONS...: true if the statistics are equal
same_cycle_by_cycle() {
    fault=$1
    shift
    for ahead in true false; do
        timeout 100 "$faults" run -m v100 -s sim.fault="$fault" -s sim.work_ahead=$ahead "$@" --json "$dir/$ahead.json" > "$dir/text" 2>&1 || return 2
        grep -E '^ *"(sm|l1|llc|dram|net)\.' "$dir/$ahead.json" > "$dir/$ahead.stats"
    done
    test -s "$dir/true.stats" && grep -qF '"lookahead_windows": "on"' "$dir/true.json" && cmp -s "$dir/true.stats" "$dir/false.stats"
}
# differs FAULT OPTIONS...: the same machine is equal with the fast loops open, and the fault makes a difference
differs() {
    tested="$tested $1"
    planted=$1
    shift
    holds "v100 $* is equal cycle by cycle" same_cycle_by_cycle fast_none "$@"
    same_cycle_by_cycle "$planted" "$@"
    holds "cycle by cycle $planted shows in the statistics" test $? = 1
}
tested="$tested fast_none"
differs fast_llc_lru -w bfs:tiny -s gpu.llc_size=96KiB -s llc.ways=2
differs fast_fill_late -w triad:tiny
differs fast_stall_lost -w gather:tiny -s l1.mshrs=16

# LASP: a statistic of the lines before the L1 shows each fault. STATISTIC is above LIMIT with the fault and not without.
# moves FAULT STATISTIC LIMIT OPTIONS...
statistic() {
    name=$1
    shift
    timeout 100 "$faults" run -m ladm "$@" --csv - 2> /dev/null | sed -n "s/^$name,\([^,]*\),.*/\1/p"
}
moves() {
    planted=$1 name=$2 limit=$3
    shift 3
    tested="$tested $planted"
    right=$(statistic "$name" -s sim.fault=none "$@")
    wrong=$(statistic "$name" -s sim.fault="$planted" "$@")
    holds "$planted: $name is $right without and $wrong with the fault (limit $limit)" \
        awk "BEGIN { exit !(\"$right\" != \"\" && \"$right\" + 0 <= $limit && \"$wrong\" + 0 > $limit) }"
}
moves page_of_other_function sm.off_chiplet_share 0.1 -w ./tests/kit/placed:tiny
moves flat_binding sm.off_gpu_share 0.2 -w gemm_fc:m=16,k=64,n=4096
moves loser_on_one_node mmu.page_slots 400 -w sgemm:n=256
moves pointer_at_allocation sm.off_chiplet_share 0.1 -w ./tests/kit/placed:tiny

# what a user gets to read names all that is needed to find the place
"$faults" run -m uba-mem --check -s sim.fault=l1_keeps_at_kernel -w ./tests/kit/ordering:tiny > "$dir/message" 2>&1
for part in "in kernel 'shifted' (launch" "who      SM " "warp slot " "address  0x" "sm" "saw      version" "must see version" \
    "stored at cycle " "acknowledged at cycle "; do
    holds "the message has '$part'" grep -qF -- "$part" "$dir/message"
done

rows=$(sed -n 's/^FAULT(\([a-z0-9_]*\),.*/\1/p' src/check/faults.def)
for fault in $rows; do
    case " $tested " in
        *" $fault "*) ;;
        *) holds "the fault $fault is tested" false ;;
    esac
done
finish
