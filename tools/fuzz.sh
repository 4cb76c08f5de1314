#!/bin/sh
# fuzz.sh SECONDS [TARGET...]: runs every fuzz target for that long; seeds are in tests/fuzz/TARGET/.
set -u
cd "$(dirname "$0")/.."
seconds=$1
shift
CC=clang cmake -S . -B build/fuzz -G Ninja -DATOLL_FUZZ=ON -DCMAKE_C_COMPILER=clang >/dev/null && ninja -C build/fuzz --quiet || exit 1
passed=0 failed=0
for fuzzer in build/fuzz/fuzzers/*_fuzz; do
    name=$(basename "$fuzzer")
    case " $* " in *" $name "* | "  ") ;; *) continue ;; esac
    corpus=build/fuzz/corpus/$name
    mkdir -p "$corpus" build/fuzz/findings
    seeds=
    [ -d "tests/fuzz/$name" ] && seeds=tests/fuzz/$name
    dict=
    [ -f "tests/fuzz/$name.dict" ] && dict="-dict=tests/fuzz/$name.dict"
    # shellcheck disable=SC2086 # empty when there is none
    if "$fuzzer" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=65536 -len_control=0 -print_final_stats=1 \
        -artifact_prefix=build/fuzz/findings/ $dict "$corpus" $seeds > "build/fuzz/$name.log" 2>&1; then
        passed=$((passed + 1))
        echo "$name: $(grep -E 'number_of_executed_units' "build/fuzz/$name.log" | awk '{print $2}') runs in $seconds s, nothing found"
    else
        failed=$((failed + 1))
        tail -40 "build/fuzz/$name.log"
        echo "[  FAILED  ] $name found something: see build/fuzz/findings/"
    fi
done
echo "[  PASSED  ] $passed test(s)."
[ $failed = 0 ] || { echo "[  FAILED  ] $failed test(s)"; exit 1; }
