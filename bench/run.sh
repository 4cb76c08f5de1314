#!/bin/sh
# run.sh BUILD: every benchmark; prints a table and appends it to bench/history.csv.
#   seconds are user + system time of one core; host instructions come from callgrind (exact, AVX2 path).
set -eu
cd "$(dirname "$0")/.."
build=$1
version=$("$build/atoll" --version | awk '{print $2}')
commit=$(git rev-parse --short HEAD 2>/dev/null || echo none)
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1 | tr ',' ' ')
history=bench/history.csv
[ -f "$history" ] || echo 'date,version,commit,cpu,benchmark,value,unit' > "$history"

# record NAME VALUE UNIT
record() {
    printf '  %-52s %14s %s\n' "$1" "$2" "$3"
    echo "$(date -u +%Y-%m-%d),$version,$commit,$cpu,$1,$2,$3" >> "$history"
}
# instructions COMMAND...: host instructions by callgrind
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}

echo "engine: 256 components exchange messages with delays of 1-1000 cycles"
for pending in 100 1000 10000; do
    rate=$("$build/bench/engine_bench" $pending 20000000 | sed -n 's/.*events_per_second=\([0-9.]*\)M/\1/p')
    record "engine.events_per_second.pending_$pending" "$rate" "M events/s"
done
for pending in 100 10000; do
    few=$(instructions "$build/bench/engine_bench" $pending 500000)
    many=$(instructions "$build/bench/engine_bench" $pending 1500000)
    record "engine.host_instructions_per_event.pending_$pending" "$(((many - few) / 1000000))" "instructions"
done

echo "engine: components that are all woken in every cycle (a wake-up and its visit; 10 instructions are the component's own)"
for pending in 100 1000 10000; do
    rate=$("$build/bench/engine_bench" wake $pending 30000000 | sed -n 's/.*events_per_second=\([0-9.]*\)M/\1/p')
    record "engine.wakes_per_second.pending_$pending" "$rate" "M wake-ups/s"
    few=$(instructions "$build/bench/engine_bench" wake $pending 500000)
    many=$(instructions "$build/bench/engine_bench" wake $pending 1500000)
    record "engine.host_instructions_per_wake.pending_$pending" "$(awk "BEGIN { printf \"%.1f\", ($many - $few) / 1e6 }")" "instructions"
done

for script in bench/part_*.sh; do
    [ -f "$script" ] && . "./$script"
done
echo "history: $history"
