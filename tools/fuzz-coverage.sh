#!/bin/sh
# fuzz-coverage.sh: share of lines of a module that the corpus of its fuzz target reaches (after `make fuzz`).
# A target names its modules in its first lines: "covers: src/config".
set -eu
cd "$(dirname "$0")/.."
build=build/fuzzcov
cmake -S . -B $build -G Ninja -DATOLL_FUZZ=ON -DCMAKE_C_COMPILER=clang \
    -DCMAKE_C_FLAGS='-fprofile-instr-generate -fcoverage-mapping' >/dev/null
ninja -C $build --quiet
for source in $(git ls-files 'src/*_fuzz.c'); do
    name=$(basename "$source" .c)
    modules=$(sed -n 's/.*covers: *\([a-z0-9_/. ]*\).*/\1/p' "$source" | head -1)
    seeds=$([ -d "tests/fuzz/$name" ] && echo "tests/fuzz/$name" || true)
    mkdir -p "build/fuzz/corpus/$name"
    # shellcheck disable=SC2086 # empty when there are no seeds
    LLVM_PROFILE_FILE="$build/$name.raw" "$build/fuzzers/$name" -runs=0 "build/fuzz/corpus/$name" $seeds >/dev/null 2>&1 || true
    llvm-profdata-14 merge -o "$build/$name.prof" "$build/$name.raw"
    for module in $modules; do
        # shellcheck disable=SC2046 # a list of files
        llvm-cov-14 report "$build/fuzzers/$name" -instr-profile="$build/$name.prof" \
            $(find "$module" -name '*.c' ! -name '*_test.c' ! -name '*_fuzz.c') |
            awk -v n="$name" -v m="$module" '/^TOTAL/ { printf "%s reaches %s of the lines of %s\n", n, $10, m }'
    done
done
