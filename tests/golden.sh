#!/bin/sh
# golden.sh: compares this build with recorded results of about 440 small simulations, and with recorded host costs.
#
#   golden.sh record                   writes the record of results (tests/golden: runs.digests, items.tsv, config.tsv)
#   golden.sh add [PATTERN]            adds the runs that the record lacks, such as those of new machines
#   golden.sh compare [--all] [--shard K/N] [PATTERN]
#                                      compares; a PATTERN ('nuba/*') or a shard runs a part of the set
#   golden.sh cost record|compare [MACHINE...]
#                                      host instructions by callgrind (tests/golden/cost.tsv)
#   build/tests/golden_runs --show RUN prints the items of a run, so that the output of two builds can be diffed
#
# A commit that changes results on purpose holds the new record. ATOLL_BUILD names another build folder.
set -u
cd "$(dirname "$0")/.." || exit 2
build=${ATOLL_BUILD:-build}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# results MODE SHARD/SHARDS OPTIONS PATTERN: runs the selection as two processes, then records or compares
results() {
    first=${2%/*} shards=${2#*/}
    "$build/tests/golden_runs" --shard "$first/$((2 * shards))" "$4" > "$dir/one" 2> "$dir/one.err" &
    "$build/tests/golden_runs" --shard "$((first + shards))/$((2 * shards))" "$4" > "$dir/two" 2> "$dir/two.err"
    wait $!
    for half in one two; do
        # a pattern may select runs of one half only
        if grep -q "^golden_runs: no run has such a name" "$dir/$half.err"; then
            printf 'end\t0\n' > "$dir/$half"
        else
            cat "$dir/$half.err" >&2
        fi
    done
    if ! grep -q '^run' "$dir/one" "$dir/two"; then
        echo "golden: no run has a name like '$4' (build/tests/golden_runs --list prints the names)" >&2
        exit 2
    fi
    # shellcheck disable=SC2086 # a list of options
    python3 tests/golden/golden.py "$1" $3 "$dir/one" "$dir/two"
}

# cost MACHINES: one line per machine and workload with its host instructions
cost() {
    for machine in $1; do
        for workload in vecadd:n=32768 sgemm:n=64 gather:n=8192; do
            count=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/atoll" run -m "$machine" -w "$workload" \
                2>&1 < /dev/null | sed -n 's/.*Collected : \([0-9]*\).*/\1/p')
            printf '%s\t%s\t%s\n' "$machine" "$workload" "${count:-0}"
        done
    done
}
machines="v100 a100 uba-mem nuba selrep numa-gpu ladm-rr mcm-uba ugpu-bp"

case "${1-}" in
    record)
        [ $# = 1 ] || { echo "golden: record takes the whole set, no pattern" >&2; exit 2; }
        results record 0/1 "" '*'
        ;;
    add)
        results add 0/1 "" "${2-*}"
        ;;
    compare)
        shift
        shard=0/1 options='' pattern='' whole=--whole
        while [ $# -gt 0 ]; do
            case $1 in
                --all) options=--all ;;
                --shard) shard=${2:?K/N} whole= && shift ;;
                *) pattern=$1 whole= ;;
            esac
            shift
        done
        results compare "$shard" "$options $whole" "${pattern:-*}"
        ;;
    cost)
        mode=${2-}
        shift $(($# < 2 ? $# : 2))
        case $mode in
            record)
                [ $# = 0 ] || { echo "golden: cost record takes all machines" >&2; exit 2; }
                cost "$machines" > "$dir/cost" && cp "$dir/cost" tests/golden/cost.tsv && cat tests/golden/cost.tsv
                ;;
            compare)
                cost "${*:-$machines}" > "$dir/cost"
                awk -F '\t' '
                    NR == FNR { recorded[$1, $2] = $3; next }
                    {
                        old = recorded[$1, $2]; limit = $1 == "v100" ? 1.01 : 1.02; rows++
                        if (!old || !$3) { printf "%-10s %-16s not measured or not recorded\n", $1, $2; failed++; next }
                        over = $3 > old * limit; failed += over
                        printf "%-10s %-16s %12d -> %12d  %.4f%s\n", $1, $2, old, $3, $3 / old, over ? "  above the limit " limit : ""
                        before[$1] += old; after[$1] += $3
                    }
                    END {
                        for (m in before) printf "%-10s together %.4f\n", m, after[m] / before[m]
                        if (failed || !rows) { printf "cost: %d of %d runs are above their limit\n", failed, rows; exit 1 }
                        printf "cost: %d runs within their limits\n", rows
                    }' tests/golden/cost.tsv "$dir/cost"
                ;;
            *) sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
        esac
        ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
