#!/bin/sh
# atoll model dram: figures that can be worked out by hand, every mistake in a stream shown with its place.
. tests/cli/lib.sh

# an idle closed bank: 1 (queue) + tRCD 7 + CL 7 + burst 1 = 16; a hit 9, a conflict 23 cycles
printf 'R 0 0 0 5 0\nR 0 0 0 5 1\nR 0 0 0 6 0\n' > "$dir/three.txt"
expect 0 "read latency (cycles)  mean 16.00  p50 16  p95 16  p99 16  max 23" "$ATOLL" model dram -m hbm-a --stream "$dir/three.txt" --load low
expect 0 "1  hits  1 misses  1 conflicts" "$ATOLL" model dram -m hbm-a --stream "$dir/three.txt" --load i100
gzip -c "$dir/three.txt" > "$dir/three.txt.gz"
holds "a .gz stream gives the same" sh -c "
    '$ATOLL' model dram -m hbm-a --stream '$dir/three.txt' --load sat --json '$dir/a.json' > /dev/null &&
    '$ATOLL' model dram -m hbm-a --stream '$dir/three.txt.gz' --load sat --json '$dir/b.json' > /dev/null &&
    sed s/.txt.gz/.txt/ '$dir/b.json' | diff '$dir/a.json' -"
expect 0 '"cycles": 65558' "$ATOLL" model dram -m hbm-a --stream builtin:s1_seq_rd --load sat --outstanding 64 --json -
expect 0 '"cycles": 65551' "$ATOLL" model dram -m hbm-a-split --stream builtin:s1_seq_rd --load sat --json -
expect 0 "GB/s at 440 MHz" "$ATOLL" model dram -m hbm-b --stream builtin:s6b_bg_rr4:1000 --load sat
holds "the command log" sh -c "
    '$ATOLL' model dram -m hbm-a --stream '$dir/three.txt' --command-log '$dir/log' > /dev/null &&
    printf '1 ACT 0 0 5 0\n8 RD 0 0 5 0\n9 RD 0 0 5 1\n18 PRE 0 0 5 0\n25 ACT 0 0 6 0\n32 RD 0 0 6 0\n' | diff - '$dir/log'"
# without reads there is no latency of reads
expect 0 "(0 reads, 1000 writes" "$ATOLL" model dram -m hbm-a --stream builtin:s11_seq_wr:1000
"$ATOLL" model dram -m hbm-a --stream builtin:s11_seq_wr:1000 --json "$dir/writes.json" > "$dir/writes"
holds "no latency of reads without reads" sh -c "! grep -q 'read.latency' '$dir/writes.json' '$dir/writes'"
holds "... and one with them" grep -q read_latency_cycles "$dir/a.json"

# mistakes
bad() { # TEXT FRAGMENT
    printf "$1" > "$dir/bad.txt"
    expect 1 "$2" "$ATOLL" model dram -m hbm-a --stream "$dir/bad.txt"
}
bad 'R 0 0 0 5 0\nX 0 0 0 5 0\n' 'bad.txt:2:1: '
bad 'R 0 0 0 5 0\nR 0 0 4 5 0\n' 'bad.txt:2:7: '
bad 'R 0 4 0 5 0\n' "the channel has 3 as its last bank group"
bad 'R 0 0 0 16384 0\n' 'bad.txt:1:9: '
bad 'R 0 0 0 5 32\n' 'bad.txt:1:11: '
bad 'R 1 0 0 5 0\n' "the channel has 0 as its last rank"
bad 'R 0 0 0 5\n' "the line ends before its column"
bad 'R 0 0 0 5 0 7\n' "more than six fields"
bad 'R 0 0 0 -5 0\n' "the row must be a whole number"
bad 'R 0 0 0 99999999999999999999 0\n' 'bad.txt:1:9: '
bad '# nothing\n\n' "the stream holds no request"
bad '' "the stream holds no request"
expect 1 "cannot open the stream" "$ATOLL" model dram -m hbm-a --stream "$dir/none.txt"
head -c 40 "$dir/three.txt.gz" > "$dir/cut.txt.gz"
expect 1 "the file is cut short" "$ATOLL" model dram -m hbm-a --stream "$dir/cut.txt.gz"
expect 1 "--load is 'sat'" "$ATOLL" model dram -m hbm-a --stream "$dir/three.txt" --load fast
expect 1 "did you mean 's1_seq_rd'" "$ATOLL" model dram -m hbm-a --stream builtin:s1_seq_rdd
expect 1 "number of requests" "$ATOLL" model dram -m hbm-a --stream builtin:s1_seq_rd:0
expect 1 "dram.trc_cyc must be at least dram.tras_cyc" "$ATOLL" model dram -m hbm-a -s dram.trc_cyc=3 --stream "$dir/three.txt"
for option in "--traffic uniform" "--packet-bytes 8" "--rate 0.5" "--seed 1" "--level net" "--ports 4" --replies "--reply-bytes 8" "--cycles 9"; do
    # shellcheck disable=SC2086 # an option and its value
    expect 1 "${option%% *} is an option of 'atoll model net', not of 'atoll model dram'" "$ATOLL" model dram -m hbm-a --stream "$dir/three.txt" $option
done
expect 1 "cannot write the command log" "$ATOLL" model dram -m hbm-a --stream "$dir/three.txt" --command-log "$dir/no/such"
finish
