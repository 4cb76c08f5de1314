# part_gpu.sh (sourced by run.sh): the timing model of one GPU on the preset v100.
#   speed: warp instructions per second of user + system time of the whole run, best of three
#   host instructions: by callgrind, what a larger input costs more (input generation and check of the result included)
echo "one GPU with timing, v100 (goals: vecadd 3, sgemm 5, stencil5 3, gather 0.8 M warp instructions/s)"
json=$(mktemp)
gpu_host() { sed -n "s/.*\"$1\": *\([0-9.e+-]*\).*/\1/p" "$json" | tail -1; }
gpu_stat() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$json" | head -1; }
for w in vecadd:n=1048576 sgemm:n=256 stencil5:rows=1024,cols=1024,steps=1 gather; do
    best=$(for i in 1 2 3; do
        "$build/atoll" run -m v100 -w $w --json "$json" > /dev/null
        gpu_host warp_instructions_per_second
    done | sort -g | tail -1)
    name=${w%%:*}
    record "gpu.v100.$name" "$(awk "BEGIN { printf \"%.2f\", $best / 1e6 }")" "M warp instructions/s"
done
"$build/atoll" run -m v100 -w vecadd:n=1048576 --json "$json" > /dev/null
record gpu.v100.memory.vecadd "$(awk "BEGIN { printf \"%.0f\", ($(gpu_host max_rss_bytes) - 3 * 1048576 * 4) / 1e6 }")" "MB beyond the buffers"

echo "host instructions of the whole run (goals: 700 per warp instruction on vecadd and sgemm, 1500 per L1 miss on gather)"
# more STAT SMALL LARGE: host instructions per STAT, of the difference
more() {
    "$build/atoll" run -m v100 -w "$2" --json "$json" > /dev/null
    few=$(gpu_stat "$1") few_i=$(instructions "$build/atoll" run -m v100 -w "$2")
    "$build/atoll" run -m v100 -w "$3" --json "$json" > /dev/null
    echo $((($(instructions "$build/atoll" run -m v100 -w "$3") - few_i) / ($(gpu_stat "$1") - few)))
}
record gpu.host_instructions_per_warp_instruction.vecadd "$(more 'sm\.warp_instructions' vecadd:n=131072 vecadd:n=393216)" "instructions"
record gpu.host_instructions_per_warp_instruction.sgemm "$(more 'sm\.warp_instructions' sgemm:n=96 sgemm:n=160)" "instructions"
record gpu.host_instructions_per_l1_miss.gather "$(more 'l1\.misses' gather:n=32768 gather:n=98304)" "instructions"
record gpu.host_instructions_per_l1_miss.gather_large "$(more 'l1\.misses' gather:n=131072 gather:n=262144)" "instructions"

echo "idle SMs: one block of a pointer chase, 1 and 256 SMs (goal: at most 1.3 times dearer)"
# chase SMS STEPS: host instructions, on a machine of one partition
chase() {
    instructions "$build/atoll" run $machine -s chiplet.partitions=1 -s partition.sms=$1 -w pointer_chase:log2_entries=16,threads=32,steps=$2
}
# idle NAME SETTINGS...
idle() {
    name=$1
    shift
    machine=$*
    one=$(($(chase 1 450) - $(chase 1 50)))
    many=$(($(chase 256 450) - $(chase 256 50)))
    record "$name" "$(awk "BEGIN { printf \"%.3f\", $many / $one }")" "times"
}
idle gpu.idle_sms.256_over_1 -m uba-mem -s gpu.llc_size=192KiB -s gpu.memory_size=256MiB -s net.topology=crossbar
idle gpu.idle_sms.256_over_1.v100 -m v100 -s gpu.llc_size=384KiB -s gpu.memory_size=1GiB
rm -f "$json"
