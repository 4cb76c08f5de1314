#!/bin/sh
# test.sh: builds the sanitizer and fuzz builds, runs every test, adds up what the test programs report.
#   unit tests and tests of the command   build/asan   (ASan + UBSan)
#   proofs against reference data         build        (release)
#   each fuzz target for 10 seconds       build/fuzz
# Usage: test.sh [ctest arguments]
set -u
cd "$(dirname "$0")/.."
cmake -S . -B build/asan -G Ninja -DATOLL_SANITIZE=ON >/dev/null && ninja -C build/asan --quiet || exit 1
log=build/test.log
: > "$log"
status=0
ctest --test-dir build/asan -V --timeout 600 -j2 "$@" >> "$log" 2>&1 || status=1
ctest --test-dir build -V --timeout 1200 "$@" >> "$log" 2>&1 || status=1
sh tools/fuzz.sh 10 >> "$log" 2>&1 || status=1
# Programs close with cmocka's lines; a test that died without them counts as one failure.
awk '
    /\[  PASSED  \] [0-9]+ test/ { sub(/.*\[  PASSED  \] /, ""); passed += $1 }
    /\[  FAILED  \] [0-9]+ test/ { sub(/.*\[  FAILED  \] /, ""); failed += $1 }
    /\[  SKIPPED \] [0-9]+ test/ { sub(/.*\[  SKIPPED \] /, ""); skipped += $1 }
    /^ *[0-9]+\/[0-9]+ Test .*(Timeout|SEGFAULT|Subprocess aborted|Not Run)/ { died += 1; print }
    /\*\*\*Failed|\[  FAILED  \]|AddressSanitizer|runtime error:|LeakSanitizer/ { print }
    END {
        if (status && !failed && !died) died = 1
        printf "%d passed, %d failed, %d skipped\n", passed, failed + died, skipped
    }' status=$status "$log"
[ $status = 0 ] || { echo "the whole log is in $log"; exit 1; }
grep -h '^SKIPPED:' "$log" | sort -u
exit 0
