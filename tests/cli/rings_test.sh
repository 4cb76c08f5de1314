#!/bin/sh
# Networks inside chiplets whose links are shared by what goes out and what comes in: neither waits for the other for ever.
. tests/cli/lib.sh

expect 0 "none was stale" timeout 100 "$ATOLL" run -m mcm-uba -w vecadd:n=262144 -s net.topology=ring --check
expect 0 "none was stale" timeout 100 "$ATOLL" run -m uba-sm -w vecadd:n=131072 -s slice_net.topology=ring --check
# One link between the stages, and little room behind it: flits of both ways take turns.
narrow="-s chiplet_net.bandwidth=22.4GB/s -s chiplet_net.latency=8cycles -s chiplet_net.buffer=256B
    -s chiplet_net.source_packets=1 -s net.sink_packets=1 -s net.first_routers=1 -s net.second_routers=1"
for flits in 8 12; do # shorter than a packet, and longer
    expect 0 "right" timeout 100 "$ATOLL" run -m mcm-uba -w vecadd:n=131072 $narrow -s net.vc_flits=$flits
done

# Too few virtual channels for what goes round, out and in: said before the run.
expect 1 "a multiple of 4 virtual channels" "$ATOLL" run -m mcm-uba -w vecadd:tiny -s net.topology=ring -s net.vcs=2
expect 1 "a ring needs an even number of virtual channels" "$ATOLL" run -m nuba -w vecadd:tiny -s slice_net.topology=ring -s slice_net.vcs=1
expect 0 "right" "$ATOLL" run -m nuba -w vecadd:tiny -s slice_net.topology=ring -s slice_net.vcs=2
finish
