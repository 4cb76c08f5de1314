#!/bin/sh
# demo.sh ATOLL: what Atoll does today, shown: a workload on a machine, the two parts that decide the speed of every machine,
# each alone, then machines side by side, with a report to look at.
set -eu
atoll=$1
show() {
    echo
    echo "\$ atoll $*"
    "$atoll" "$@"
}
"$atoll" --version
show run -m uba-mem -w sgemm:small
show model dram -m uba-mem --stream builtin:s3_rand_rd --load sat
show model net -m uba-mem --traffic uniform --packet-bytes 136 --rate 0.5
show compare -m uba-mem,v100 -w vecadd,sgemm,stencil5 --html "$(dirname "$atoll")/demo.html"
echo
echo "next: open $(dirname "$atoll")/demo.html in a browser; 'build/atoll help', 'build/atoll list workloads', README.md"
