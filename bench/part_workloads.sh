# part_workloads.sh (sourced by run.sh): functional execution of bundled workloads.
#   speed: executed PTX instructions of warps per CPU second (best of three); sgemm also in host instructions per warp
#   instruction, from the difference of two runs that differ in the number of launches only.
echo "functional execution: million warp instructions per CPU second (goals: 40 40 20 20 8 8)"
for request in sgemm:n=512,repeat=2 blackscholes:n=2M,repeat=6 conv2d:ni=4096,nj=4096 reduction:n=16M,repeat=6 \
               bfs:vertices=512K gather:n=4M,from=4M,repeat=2; do
    best=$(for i in 1 2 3; do "$build/bench/workloads_bench" "$request"; done |
           sed -n 's/.*millions_per_second=\([0-9.]*\)/\1/p' | sort -rn | head -1)
    record "functional.${request%%:*}" "$best" "M warp instructions/s"
done
warps() { "$build/bench/workloads_bench" "$1" | sed -n 's/.*warp_instructions=\([0-9]*\).*/\1/p'; }
few=sgemm:n=256,repeat=1 many=sgemm:n=256,repeat=3
host=$(($(instructions "$build/bench/workloads_bench" $many) - $(instructions "$build/bench/workloads_bench" $few)))
guest=$(($(warps $many) - $(warps $few)))
record "functional.sgemm.host_instructions_per_warp_instruction" "$(awk "BEGIN { printf \"%.1f\", $host / $guest }")" \
       "instructions (goal: 150 at most)"
