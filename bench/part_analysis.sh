# part_analysis.sh (read by run.sh): both analyses of every kernel of a generated 50 MB module.
echo "analysis: 50 MB module, 1357 kernels of random code"
out=$("$build/bench/analysis_bench")
record "analysis.both_50mb" "$(echo "$out" | sed -n 's/^together *\([0-9.]*\) s.*/\1/p')" "s"
record "analysis.read_only_50mb" "$(echo "$out" | sed -n 's/^read-only data *\([0-9.]*\) s.*/\1/p')" "s"
