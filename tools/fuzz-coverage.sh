#!/bin/sh
# fuzz-coverage.sh: share of lines of a module that the corpus of its fuzz target reaches (after `make fuzz`).
# A target names its module in its first lines: "covers: src/config".
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/fuzzcov
for source in $(git ls-files 'src/*_fuzz.c'); do
    name=$(basename "$source" .c)
    modules=$(sed -n 's/.*covers: *\([a-z0-9_/. ]*\).*/\1/p' "$source" | head -1)
    objects=$(find src -name '*.c' ! -name '*_test.c' ! -name '*_fuzz.c' ! -path 'src/cli/*' ! -name '*_avx512.c' ! -name '*_avx2.c')
    flags="-g -O1 -std=gnu17 -D_GNU_SOURCE -DATOLL_VERSION=\"cov\" -Iinclude -Isrc -fprofile-instr-generate -fcoverage-mapping -fwrapv -ffp-contract=off -fno-strict-aliasing"
    # shellcheck disable=SC2086 # lists of words
    clang $flags -fsanitize=fuzzer $source $objects build/fuzz/generated/*.c $(find src -name '*_avx2.c' | sed 's/^//') -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt \
        -o "build/fuzzcov/$name" -lyaml -ljansson -lsqlite3 -lzstd -llz4 -llzma -lz -lm -lpthread -w || { echo "$name: does not build"; continue; }
    seeds=$([ -d "tests/fuzz/$name" ] && echo "tests/fuzz/$name" || true)
    LLVM_PROFILE_FILE="build/fuzzcov/$name.raw" "build/fuzzcov/$name" -runs=0 "build/fuzz/corpus/$name" $seeds >/dev/null 2>&1 || true
    llvm-profdata-14 merge -o "build/fuzzcov/$name.prof" "build/fuzzcov/$name.raw"
    for module in $modules; do
        # shellcheck disable=SC2046
        llvm-cov-14 report "build/fuzzcov/$name" -instr-profile="build/fuzzcov/$name.prof" \
            $(find "$module" -name '*.c' ! -name '*_test.c' ! -name '*_fuzz.c') 2>/dev/null |
            awk -v n="$name" -v m="$module" '/^TOTAL/ { printf "%s: %s of the lines of %s\n", n, $10, m }'
    done
done
