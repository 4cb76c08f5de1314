# part_ptx.sh (read by run.sh): a generated 50 MB module through parse, decode and control-flow graph.
echo "ptx: 50 MB module, 1.29 M instructions (limits: 3 s, 1000 MB)"
out=$("$build/bench/ptx_parse_bench")
record "ptx.parse_decode_cfg_50mb" "$(echo "$out" | sed -n 's/^together *\([0-9.]*\) s.*/\1/p')" "s"
record "ptx.parse_decode_cfg_50mb_resident" "$(echo "$out" | sed -n 's/.*resident \([0-9]*\) MB.*/\1/p')" "MB"
