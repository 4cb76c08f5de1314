# part_exec.sh (sourced by run.sh): start-up and memory of functional execution.
#   start-up: elapsed time of a whole run of vecadd:tiny (7 thousand warp instructions), best of five
#   memory: peak of the process less the device memory of the workload
echo "functional execution: start-up (goal: below 50 ms), memory beyond the buffers (goal: below 64 MB)"
json=$(mktemp)
host() { sed -n "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/p" "$json" | head -1; }
best=$(for i in 1 2 3 4 5; do
    "$build/atoll" run -w vecadd:tiny --functional --json "$json" > /dev/null
    host seconds
done | sort -g | head -1)
record functional.start_up "$(awk "BEGIN { printf \"%.1f\", $best * 1000 }")" "ms"
"$build/atoll" run -w sgemm:n=512 --functional --json "$json" > /dev/null
record functional.memory.sgemm "$(awk "BEGIN { printf \"%.1f\", ($(host max_rss_bytes) - 3 * 512 * 512 * 4) / 1e6 }")" "MB"
rm -f "$json"
