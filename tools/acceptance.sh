#!/bin/sh
# acceptance.sh BUILD: what SelRep's five workloads must show on selrep-shared before SelRep is judged on them (docs/workloads.md,
# "SelRep"): a table. Results are kept in BUILD/acceptance; delete a file there to repeat it, the folder to repeat all.
# Replies: half of what the network carries, 0.715 of 12.8 lines per cycle (atoll model net -m selrep-shared --replies --packet-bytes 136 --rate 1).
#   INSTRUCTIONS   warp instructions of a run, in thousands
set -eu
cd "$(dirname "$0")/.."
build=$1
thousands=${INSTRUCTIONS:-3000}
store=$build/acceptance
mkdir -p "$store"
for workload in dnn_conv:selrep resnet:selrep squeezenet:selrep nn_ispass:selrep0 nn_ispass:selrep1 nn_ispass:selrep2 nn_ispass:selrep3 \
    nn_ispass:selrep4 matmul_tiled:selrep0 matmul_tiled:selrep1 matmul_tiled:selrep2 matmul_tiled:selrep3 matmul_tiled:selrep4; do
    file=$store/$workload-$thousands.json
    [ -s "$file" ] && continue
    echo "$workload" >&2
    "$build/atoll" run -m selrep-shared -w $workload --max-instructions "${thousands}000" -s selrep.count_sharing=true \
        --json "$file.part" > "$store/log" 2>&1
    mv "$file.part" "$file"
done
python3 - "$store" "$thousands" << 'PYTHON'
import json, sys
store, thousands = sys.argv[1:]
rows = [("AN", "dnn_conv:selrep"), ("RN", "resnet:selrep"), ("SN", "squeezenet:selrep")]
rows += [(f"nn_{k}", f"nn_ispass:selrep{k}") for k in range(5)] + [(f"mm_{k}", f"matmul_tiled:selrep{k}") for k in range(5)]
print("| workload | cycles | L1 reads that reach the LLC | lines read by > 2 SMs | by > 9 SMs | read-only of shared lines | replies per cycle | conditions met |")
print("|---|---|---|---|---|---|---|---|")
for name, workload in rows:
    result = json.load(open(f"{store}/{workload}-{thousands}.json"))
    s, cycles = result["stats"], result["totals"]["cycles"]
    reach = 1 - (s["l1.hits"] + s["l1.merged"]) / s["l1.reads"]
    several, many, replies = s["selrep.window_share_3"], s["selrep.window_share_10"], s["llc.replies"] / cycles
    met = [name for name, holds in (("reach", 0.35 <= reach), ("> 2", several > 0.8), ("> 9", many > 0.25),
                                    ("replies", replies >= 12.8 * 0.715 / 2)) if holds]
    print(f"| {name} | {cycles:,} | {100 * reach:.0f} % | {100 * several:.0f} % | {100 * many:.0f} % | "
          f"{100 * s['selrep.read_only_share']:.0f} % | {replies:.2f} | {', '.join(met) or 'none'} |")
PYTHON
