#!/bin/sh
# demo.sh ATOLL: what Atoll does today, shown: a workload on a machine, machines side by side, then the two parts that
# decide the speed of every machine, each alone.
set -eu
atoll=$1
show() {
    echo
    echo "\$ atoll $*"
    "$atoll" "$@"
}
"$atoll" --version
show run -m uba-mem -w sgemm:small
show compare -m uba-mem,v100 -w vecadd,sgemm
show model dram -m uba-mem --stream builtin:s3_rand_rd --load sat
show model net -m uba-mem --traffic uniform --packet-bytes 136 --rate 0.5
echo
echo "next: 'build/atoll help', 'build/atoll list workloads', README.md"
