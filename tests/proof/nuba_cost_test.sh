#!/bin/sh
# NUBA's machinery costs at most 15 % more host instructions than uba-mem on the same workload, so per warp instruction
# too: gemm_naive, most of whose reads cross, through two slices and both networks (docs/reproduction/nuba.md, Speed).
. tests/cli/lib.sh
limit=15
if ! command -v valgrind > /dev/null; then
    skip "host instructions of NUBA: valgrind is not installed"
    finish
fi
# count MACHINE: host instructions of a run, into a file
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$ATOLL" run -m "$1" -w gemm_naive:tiny 2>&1 < /dev/null |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p' > "$dir/$1"
}
count uba-mem &
count nuba
wait
uniform=$(cat "$dir/uba-mem")
nuba=$(cat "$dir/nuba")
echo "host instructions: $uniform on uba-mem, $nuba on nuba"
holds "both were counted" test "${uniform:-0}" -gt 100000000 -a "${nuba:-0}" -gt 100000000
holds "nuba costs at most $limit % more than uba-mem" test "${nuba:-0}" -le $((${uniform:-0} * (100 + limit) / 100))
finish
