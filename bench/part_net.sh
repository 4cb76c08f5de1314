# part_net.sh (sourced by run.sh): packets per second of networks alone at saturation (goal: 4 M for the 64x64 crossbar).
echo "networks alone, uniform traffic at saturation: million packets per CPU second, best of five"
"$build/bench/net_bench" 20000 > "$build/net_bench.txt"
net_case() { # NUMBER NAME
    rate=$(sed -n "$(($1 + 1))p" "$build/net_bench.txt" | sed -n 's/.* \([0-9.]*\) M packets.*/\1/p')
    record "net.$2.packets_per_second" "$rate" "M packets/s"
}
net_case 0 crossbar64.flits_1
net_case 1 crossbar64.flits_9
net_case 2 crossbar64.flits_9.hold
net_case 4 hxbar64.flits_1
net_case 5 hxbar64.flits_9
net_case 9 crossbar64.flits_1.hold.load_30
net_case 10 crossbar64.flits_9.hold.load_30
net_case 13 crossbar64.flits_1.hold
net_case 14 hxbar64.flits_9.hold
packets() { "$build/bench/net_bench" "$@" | sed -n 's/.* \([0-9]*\) packets .*/\1/p'; }
for number in 0 1 2 9 10 11 12 13 14; do
    host=$(($(instructions "$build/bench/net_bench" 1500 $number) - $(instructions "$build/bench/net_bench" 500 $number)))
    guest=$(($(packets 1500 $number) - $(packets 500 $number)))
    record "net.case_$number.host_instructions_per_packet" "$((host / guest))" "instructions"
done
