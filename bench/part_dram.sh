# part_dram.sh (sourced by run.sh): one HBM channel at saturation, 4 M requests of 64 B (goals: 20 M sequential, 4 M random).
#   channel: driven by a plain source; model: all of `atoll model dram`
echo "HBM channel alone: million requests per CPU second, best of three"
for i in 1 2 3; do "$build/bench/dram_bench"; done > "$build/dram_bench.txt"
for stream in s1_seq_rd s3_rand_rd; do
    for way in channel model; do
        rate=$(awk -v s=$stream -v w=$way '$1 == s && $2 == "hbm-a" && $3 == w { print $8 }' "$build/dram_bench.txt" | sort -rn | head -1)
        record "dram.$stream.$way" "$rate" "M requests/s"
    done
done

# dram_instructions N STREAM: host instructions of the whole model, the stream given
dram_instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=dram_model_run \
        "$build/bench/dram_bench" "$1" "$2" hbm-a 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}
for stream in s1_seq_rd s3_rand_rd; do
    few=$(dram_instructions 100000 $stream)
    many=$(dram_instructions 300000 $stream)
    record "dram.$stream.model.host_instructions" "$(((many - few) / 200000))" "instructions per request"
done
