#!/bin/sh
# best_static.sh ATOLL WORKLOAD [OPTION...]: best static replication, launch by launch: runs the workload on machine selrep with
# every fixed degree and with the one that SelRep chooses, and adds up the best degree of every launch. Options are those of
# `atoll run`, such as -s gpu.llc_size=1MiB; runs must end (a launch that is cut off cannot be compared).
#   RESULTS   folder of results, kept and used again; default: a temporary one
set -eu
atoll=$1 workload=$2
shift 2
if [ "${RESULTS:-}" ]; then
    results=$RESULTS
    mkdir -p "$results"
else
    results=$(mktemp -d)
    trap 'rm -rf "$results"' EXIT
fi
for degree in 1 2 4 8 16 0; do # 0: SelRep decides
    [ -s "$results/$degree.json" ] && continue
    "$atoll" run -m selrep -w "$workload" "$@" -s selrep.degree=$degree --json "$results/part" > "$results/log" 2>&1 || {
        cat "$results/log" >&2
        exit 1
    }
    mv "$results/part" "$results/$degree.json"
done
python3 - "$results" << 'PYTHON'
import json, sys
degrees = (1, 2, 4, 8, 16)
runs = {degree: json.load(open(f"{sys.argv[1]}/{degree}.json")) for degree in (*degrees, 0)}
if any(run.get("stopped_by") for run in runs.values()):
    sys.exit("a run was cut off: launches cannot be compared")
launches = len(runs[1]["kernels"])
print("launch kernel                         " + "".join(f"{f'degree {d}':>12}" for d in degrees) + f"{'SelRep':>12}{'best':>6}")
best_sum, chosen = 0, {}
for k in range(launches):
    cycles = {d: runs[d]["kernels"][k]["cycles"] for d in degrees}
    best = min(degrees, key=lambda d: (cycles[d], d))
    best_sum += cycles[best]
    chosen[best] = chosen.get(best, 0) + 1
    if k < 20:
        print(f"{k:6} {runs[1]['kernels'][k]['name'][:30]:30} " + "".join(f"{cycles[d]:12,}" for d in degrees) +
              f"{runs[0]['kernels'][k]['cycles']:12,}{best:6}")
total = {d: sum(kernel["cycles"] for kernel in runs[d]["kernels"]) for d in runs}
print(f"best static: {best_sum:,} cycles; {total[1] / best_sum:.3f} times as fast as shared, SelRep {total[1] / total[0]:.3f} times "
      f"({best_sum / total[0]:.3f} of best static); launches at degree " + ", ".join(f"{d}: {n}" for d, n in sorted(chosen.items())))
PYTHON
