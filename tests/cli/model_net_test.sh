#!/bin/sh
# atoll model net: figures that can be worked out by hand, wrong wishes answered in words.
. tests/cli/lib.sh
net() { "$ATOLL" model net -m base "$@"; }

# without load: injection 2, router 3, link 1, and the rest of the packet
expect 0 '"min": 6' net --ports 8 --packet-bytes 16 --rate 0.01 --json -
expect 0 '"min": 14' net --ports 8 --packet-bytes 136 --rate 0.01 --json -
expect 0 '"min": 10' net --ports 64 -s net.topology=hxbar --packet-bytes 16 --rate 0.01 --json -
expect 0 '"min": 5' net --ports 8 -s net.internal_speedup=2 --packet-bytes 16 --rate 0.01 --json -
expect 0 '"min": 25' net --ports 8 -s net.link_latency_cyc=20 --packet-bytes 16 --rate 0.01 --json -
# a hot output carries its whole width, a permutation fills every port
expect 0 "hot output       1.0000 flits per cycle" net --ports 16 --traffic hotspot --packet-bytes 16 --rate 0.5
expect 0 "accepted         1.0000 flits per cycle" net --ports 16 --traffic permutation --packet-bytes 16 --rate 1
expect 0 "256.00 B per cycle = 358.4 GB/s at 1.4 GHz" net --ports 16 --traffic permutation --packet-bytes 16 --rate 1
# uniform traffic saturates; a faster switch saturates later
expect 0 "(saturated)" net --ports 16 --packet-bytes 136 --rate 0.9
expect 0 '"saturated": false' net --ports 16 -s net.internal_speedup=2 --packet-bytes 136 --rate 0.7 --json -
expect 0 "packets of 8 B (1 flits), 136 B (9 flits)" net --ports 16x8 --packet-bytes 8,136 --rate 0.2
expect 0 "network      crossbar 8x16" net --ports 8x16 --rate 0.1
expect 0 "network      crossbar 64x64" "$ATOLL" model net -m base --replies --rate 0.1
# a closed loop: one request in flight per source, 6 + 14 cycles
expect 0 '"round_trip_mean": 20.0' net --ports 16 --traffic permutation --packet-bytes 8 --outstanding 1 --json -
holds "the same seed gives the same bytes, another seed does not" sh -c "
    '$ATOLL' model net -m base --rate 0.3 --json '$dir/a' > /dev/null &&
    '$ATOLL' model net -m base --rate 0.3 --json '$dir/b' > /dev/null && cmp '$dir/a' '$dir/b' &&
    '$ATOLL' model net -m base --rate 0.3 --seed 2 --json '$dir/b' > /dev/null && ! cmp -s '$dir/a' '$dir/b'"

# SMs that reach the slices of their partition only: traffic keeps to its partition, in both directions
for machine in nuba nuba-norep nuba-fullrep mcm-nuba; do
    for way in "" --replies "--outstanding 8" "--traffic hotspot" "--traffic permutation"; do
        # shellcheck disable=SC2086 # a list of words
        expect 0 " groups of 2x2" "$ATOLL" model net -m $machine --cycles 500 $way
    done
done
expect 0 "network      links 128x128, 16 B per cycle and link, 32 groups of 4x4" "$ATOLL" model net -m nuba --ports 128 --cycles 500
expect 0 "accepted         1.0000 flits per cycle" "$ATOLL" model net -m nuba --traffic permutation --packet-bytes 16 --rate 1
expect 1 "divide evenly among the partitions of the chiplet" "$ATOLL" model net -m nuba --ports 63

# each level at its own clock; no plain link leads an endpoint back to itself: 12 of them for 4 GPUs
expect 0 "links 4x4, 64 B per cycle and link, 64 GB/s per link and direction" "$ATOLL" model net -m numa-gpu --level gpu_net --rate 1
expect 0 '"clock_hz": 1000000000' "$ATOLL" model net -m numa-gpu --level gpu_net --rate 1 --json -
expect 0 "ring 4x4, 129 B per cycle and link, 180 GB/s per link and direction" "$ATOLL" model net -m ladm-rr --level chiplet_net --rate 1
expect 0 "switch 4x4, 129 B per cycle and link, 180 GB/s" "$ATOLL" model net -m ladm-rr --level gpu_net --rate 1
expect 0 "GB/s at 1.4 GHz" "$ATOLL" model net -m nuba --level slice_net --rate 0.1
expect 0 "traffic      uniform, nobody to itself, packets" "$ATOLL" model net -m numa-gpu --level gpu_net
expect 0 '"links": 12,' "$ATOLL" model net -m numa-gpu --level gpu_net --json -
expect 0 '"to_itself": true' net --json -
expect 1 "2 to 64 nodes can be connected" net --level gpu_net --ports 1

# a latency that nothing was measured for is no zero
expect 0 "latency      unknown: no packet that was generated" net --traffic hotspot --rate 1
expect 0 "latency      unknown: nothing is sent at rate 0" net --rate 0
net --traffic hotspot --rate 1 --json "$dir/none.json" > /dev/null
net --rate 0.1 --ports 4 --json "$dir/some.json" > /dev/null
holds "no latency in the JSON without packets; machine, level and configuration in it" python3 - "$dir" << 'PY'
import json, sys
none, some = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("none", "some"))
assert none["packets"] == 0 and "latency" not in none and "round_trip_mean" not in none, none
assert some["packets"] > 0 and some["latency"]["min"] == 14, some["latency"]
for r in (none, some):
    assert (r["machine"], r["model"], r["level"], r["replies"]) == ("base", "net", "net", False), r
    assert r["config"]["net"]["topology"] == r["network"]["topology"], r["config"]["net"]
PY

# mistakes
for option in "--stream x" "--load sat" "--command-log x"; do
    # shellcheck disable=SC2086 # an option and its value
    expect 1 "is an option of 'atoll model dram', not of 'atoll model net'" net $option
done
expect 1 "has no slice_net: its LLC slices send nothing to each other" net --level slice_net
expect 1 "did you mean 'uniform'" net --traffic unifrom
expect 1 "not N or NxM" net --ports 8x
expect 1 "not N or NxM" net --ports 0
expect 1 "not a size from 1" net --packet-bytes 0
expect 1 "not a size from 1" net --packet-bytes 8,
expect 1 "is not a number from 0 to 1" net --rate 1.5
expect 1 "has no gpu_net: it has one GPU" net --level gpu_net
expect 1 "is not net, slice_net, chiplet_net or gpu_net" net --level lan
expect 1 "the ports must divide evenly among first_routers" net -s net.topology=hxbar -s net.first_routers=7
expect 1 "the ports must divide evenly among second_routers" net --ports 8x9 -s net.topology=hxbar
expect 1 "must divide the number of virtual channels" net -s net.input_speedup=3
expect 1 "an even number of virtual channels" net --ports 8 -s net.topology=ring -s net.vcs=3
expect 1 "as many sources as sinks" net --ports 8x9 --outstanding 4
# queued crossbars: a number that is plausible, and what they cannot hold as an error with its place
expect 0 "512 packets at a source" "$ATOLL" model net -m v100 --traffic uniform --rate 0.5
expect 1 "-s:1:22: credit_delay_cyc of a queued network is at most 200" "$ATOLL" model net -m v100 --traffic uniform --rate 0.5 -s net.credit_delay_cyc=600
expect 1 "packets of a queued network have at most 200 flits" "$ATOLL" run -m v100 -w triad:tiny -s net.width=1B -s packet.write=literal -s "packet.write_literal=1024 B"
expect 1 "lower l1.mshrs or sm.stores" "$ATOLL" run -m v100 -w triad:tiny -s l1.mshrs=32768 -s sm.stores=65536
finish
