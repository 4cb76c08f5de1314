#!/bin/sh
# Runs the examples and checks their output; installs into a temporary prefix and builds the examples against it.
. tests/cli/lib.sh

examples=$ATOLL_BUILD/examples

# ---- the examples of the build ----
table=$dir/table
holds "compare_machines runs" sh -c "'$examples/compare_machines' uba-mem v100 vecadd:tiny sgemm:tiny > '$table'"
holds "compare_machines prints a head and a row per workload and machine" test "$(wc -l < "$table")" = 5
holds "every row has figures, and the first machine of a workload the speed-up 1.00" \
    awk 'NR > 1 && ($3 < 1 || $4 <= 0 || $5 <= 0 || NF < 6 || (NR % 2 == 0 && $5 != "1.00")) {bad = 1} END {exit bad}' "$table"
# the cycles are those of the command
"$ATOLL" run -m uba-mem -w vecadd:tiny --json "$dir/run.json" > "$dir/out"
cycles=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["totals"]["cycles"])' "$dir/run.json")
holds "compare_machines agrees with 'atoll run' (${cycles:-no} cycles)" \
    test "${cycles:-none}" = "$(awk '$1 == "vecadd:tiny" && $2 == "uba-mem" {print $3}' "$table")"
expect 1 "did you mean 'nuba'?" "$examples/compare_machines" uba-mem nubba vecadd:tiny
expect 1 "usage:" "$examples/compare_machines" uba-mem
holds "launch_kernel runs" sh -c "'$examples/launch_kernel' v100 > '$table'"
holds "launch_kernel prints a row per block size without a wrong element" \
    awk 'NR > 1 && ($3 < 1 || $5 != 0) {bad = 1} END {exit bad || NR != 7}' "$table"
expect 1 "did you mean" "$examples/launch_kernel" nubba

# ---- an installed prefix ----
prefix=$dir/prefix
holds "installs into a prefix" cmake --install "$ATOLL_BUILD" --prefix "$prefix"
expect 0 "$("$ATOLL" --version)" "$prefix/bin/atoll" --version
expect 0 "result checked against the CPU" "$prefix/bin/atoll" run -m uba-mem -w vecadd:tiny
for file in include/atoll.h share/doc/atoll/LICENSE share/doc/atoll/examples/compare_machines.c \
    share/bash-completion/completions/atoll share/atoll/machines/uba-mem.yaml; do
    holds "$file is installed" test -s "$prefix/$file"
done

# the examples, compiled outside the tree against nothing but the prefix
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name atoll.pc)")
export PKG_CONFIG_PATH
sanitize=
! grep -q 'ATOLL_SANITIZE:BOOL=ON' "$ATOLL_BUILD/CMakeCache.txt" || sanitize=-fsanitize=address,undefined
! grep -q 'ATOLL_COVERAGE:BOOL=ON' "$ATOLL_BUILD/CMakeCache.txt" || sanitize=--coverage
for example in compare_machines launch_kernel; do
    # shellcheck disable=SC2046,SC2086 # lists of words
    holds "$example compiles against the prefix" "${CC:-cc}" -std=c11 -Wall -Wextra -Werror $sanitize \
        "$prefix/share/doc/atoll/examples/$example.c" -o "$dir/$example" $(pkg-config --cflags --libs atoll)
done
expect 0 "vecadd:tiny      uba-mem" "$dir/compare_machines" uba-mem v100 vecadd:tiny
expect 0 "1024       64" "$dir/launch_kernel"
holds "pkg-config has the version of the program" test "atoll $(pkg-config --modversion atoll)" = "$("$ATOLL" --version)"
finish
