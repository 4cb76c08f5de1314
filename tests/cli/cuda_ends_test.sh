#!/bin/sh
# However a CUDA program ends, `atoll exec` gives its report or says the truth: tests/cuda/ends.cu.
. tests/cli/lib.sh
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)

expect 1 "--launches takes numbers" "$ATOLL" exec --launches 0 -- true
expect 1 "--launches takes numbers" "$ATOLL" exec --launches 3-1 -- true
expect 1 "--launches takes numbers" "$ATOLL" exec --launches 1,,2 -- true
expect 0 "the program ended without using CUDA" "$ATOLL" exec --launches 1-3,7 -- true
# shellcheck disable=SC2046 # words
expect 0 "the program ended without using CUDA" "$ATOLL" exec -- test $(seq 3 | tail -1) -eq 3
# shellcheck disable=SC2046
expect 0 "words: 1000" "$ATOLL" exec -- sh -c 'echo "words: $#"' sh $(seq 1000)

# stop SIGNAL CODE FRAGMENT COMMAND...: sends a signal to atoll when the program says that it is spinning
stop() {
    signal=$1 want=$2 fragment=$3
    shift 3
    "$@" > "$dir/spin.out" 2>&1 < /dev/null &
    atoll=$!
    for _ in $(seq 300); do
        grep -q spinning "$dir/spin.out" && break
        sleep 0.1
    done
    program=$(pgrep -P $atoll)
    sleep 0.3
    kill -"$signal" $atoll
    wait $atoll
    got=$?
    for _ in $(seq 50); do
        kill -0 "$program" 2> /dev/null || break
        sleep 0.1
    done
    holds "$signal to atoll: code $got is $want, '$fragment'" sh -c "[ $got = $want ] && cat '$dir/spin.out' && grep -qF '$fragment' '$dir/spin.out'"
    holds "$signal to atoll ends the program" sh -c "! kill -0 $program"
}
stop TERM 143 "ended by signal 15" "$ATOLL" exec -- sh -c 'echo spinning; exec sleep 100'
stop KILL 137 "spinning" "$ATOLL" exec -- sh -c 'echo spinning; exec sleep 100'

if ! "$nvcc" --version > /dev/null 2>&1; then
    skip "CUDA programs (no nvcc)"
    finish
fi
(cd tests/cuda && "$nvcc" -cudart shared -o "$dir/ends" ends.cu) || exit 1

# report CODE HOW: the exit code, the report's JSON with both launches
report() {
    rm -f "$dir/end.json"
    expect "$1" "cycles = " "$ATOLL" exec -m uba-mem --json "$dir/end.json" -- "$dir/ends" "$2"
    holds "$2: JSON of both launches" python3 -c "import json; assert json.load(open('$dir/end.json'))['totals']['launches'] == 2"
}
report 0 return
report 8 _exit
report 8 _Exit
report 9 quick_exit
report 143 term
if ldd "$ATOLL" | grep -q libasan; then
    skip "crashes (the sanitizer takes them)"
else
    report 134 abort
    report 134 throw
    report 139 crash
fi
expect 137 "the program used CUDA but was ended" "$ATOLL" exec --functional -- "$dir/ends" kill
expect 0 "it cannot be used in the new process" "$ATOLL" exec --functional -- "$dir/ends" fork
stop TERM 143 "stopped by signal 15 (SIGTERM)" "$ATOLL" exec --functional -- "$dir/ends" spin
stop HUP 129 "stopped by signal 1 (SIGHUP)" "$ATOLL" exec -m uba-mem -- "$dir/ends" spin
# shellcheck disable=SC2046
expect 0 "cycles = " "$ATOLL" exec -m uba-mem -- "$dir/ends" arguments $(seq 1000 | tail -n +2) 1000

# a report for each process, however their writing falls together
expect 0 "report 3" "$ATOLL" exec --functional --json "$dir/s.json" -- "$dir/ends" several
holds "JSON of each process" python3 -c "
import json
files = [json.load(open('$dir/s' + n + '.json')) for n in ('', '.2', '.3')]
assert sorted(f['totals']['launches'] for f in files) == [1, 2, 3]"
lost=0
for _ in $(seq 60); do
    "$ATOLL" exec --functional -- "$dir/ends" several 2>&1 | grep -q "report 3" || lost=$((lost + 1))
done
holds "no report lost in 60 runs of three processes: $lost lost" [ $lost = 0 ]

# a fault is named
expect 0 "stopped by a fault" "$ATOLL" exec -m uba-mem --json "$dir/f.json" -- "$dir/ends" fault
holds "--max-instructions is not blamed" sh -c "! '$ATOLL' exec -m uba-mem -- '$dir/ends' fault 2>&1 | grep -q max-instructions"
holds "JSON has the error" python3 -c "
import json
r = json.load(open('$dir/f.json'))
assert 'illegal store of 4 bytes' in r['error'] and r['stopped_by'] == 'a fault', r.get('error')"

# choices that choose nothing
expect 0 "--kernels absent chose none of the 2 launches" "$ATOLL" exec -m uba-mem --kernels absent -- "$dir/ends" return
expect 0 "--launches 9 chose none of the 2 launches" "$ATOLL" exec -m uba-mem --launches 9 -- "$dir/ends" return
holds "a choice that times something is silent" sh -c "! '$ATOLL' exec -m uba-mem --kernels fill -- '$dir/ends' return 2>&1 | grep -q warning"

# CUDA_VISIBLE_DEVICES
expect 0 "all held" env CUDA_VISIBLE_DEVICES= "$ATOLL" exec --functional -- "$dir/ends" none
expect 0 "all held" env CUDA_VISIBLE_DEVICES=-1 "$ATOLL" exec --functional -- "$dir/ends" none
expect 0 "all held" env CUDA_VISIBLE_DEVICES=2,0 "$ATOLL" exec --functional --devices 4 -- "$dir/ends" devices 2
expect 0 "all held" env CUDA_VISIBLE_DEVICES=1,9,0 "$ATOLL" exec --functional --devices 4 -- "$dir/ends" devices 1
finish
