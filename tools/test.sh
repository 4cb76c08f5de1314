#!/bin/sh
# test.sh: builds the sanitizer and fuzz builds, runs every test, adds up what the test programs report.
#   unit tests and tests of the command   build/asan   (ASan + UBSan)
#   proofs against reference data         build        (release)
#   each fuzz target for 10 seconds       build/fuzz
# Proofs with random or many cases run a shard that the commit chooses; ATOLL_SHARDS=all runs every shard (make proof).
# Ends with "N passed, N failed, N skipped". Usage: test.sh [ctest arguments]
set -u
cd "$(dirname "$0")/.."
log=build/test.log
: > "$log"
broken=

# stage NAME COMMAND...: its output goes to the log; a failure is remembered by name
stage() {
    name=$1
    shift
    echo "== $name" >> "$log"
    echo "test: $name"
    "$@" >> "$log" 2>&1 || broken="$broken [$name]"
}
stage "sanitizer build" sh -c 'cmake -S . -B build/asan -G Ninja -DATOLL_SANITIZE=ON && ninja -C build/asan'
stage "unit tests and the command" ctest --test-dir build/asan -V --timeout 600 -j2 "$@"
stage "proofs" ctest --test-dir build -V --timeout 1200 -j2 "$@"
stage "fuzz targets, 10 s each" sh tools/fuzz.sh 10

# Programs close with cmocka's lines; a stage that failed without one counts as one failure.
grep -E '\[  FAILED  \]|\*\*\*(Failed|Timeout|Exception|Not Run)|Sanitizer:|runtime error:|error:|does not hold|^FAILED' "$log" | head -60
grep -hoE 'SKIPPED: .*' "$log" | sort -u
[ -z "$broken" ] || echo "broken:$broken; the whole log is in $log"
awk -v broken="$broken" '
    /\[  PASSED  \] [0-9]+ test/ { sub(/.*\[  PASSED  \] /, ""); passed += $1 }
    /\[  FAILED  \] [0-9]+ test/ { sub(/.*\[  FAILED  \] /, ""); failed += $1 }
    /\[  SKIPPED \] [0-9]+ test/ { sub(/.*\[  SKIPPED \] /, ""); skipped += $1 }
    END {
        if (broken != "" && !failed) failed = 1
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    }' "$log"
[ -z "$broken" ]
