# part_tree.sh (sourced by run.sh): what machines of several GPUs and chiplets cost the host.
echo "host instructions per request of an SM, vecadd:n=65536 less vecadd:n=16384 (goal: ladm-rr at most 1.5 times uba-mem)"
# per_request MACHINE: both inputs have a request for each of 32 elements and array
per_request() {
    few=$(instructions "$build/atoll" run -m "$1" -w vecadd:n=16384)
    echo $((($(instructions "$build/atoll" run -m "$1" -w vecadd:n=65536) - few) / 4608))
}
plain=$(per_request uba-mem)
tree=$(per_request ladm-rr)
record tree.host_instructions_per_request.uba-mem "$plain" "instructions"
record tree.host_instructions_per_request.ladm-rr "$tree" "instructions"
record tree.ladm-rr_over_uba-mem "$(awk "BEGIN { printf \"%.3f\", $tree / $plain }")" "times"
