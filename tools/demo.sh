#!/bin/sh
# demo.sh ATOLL: runs four examples: a workload on a machine, a DRAM channel alone, a network alone, and a comparison of two
# machines with an HTML report.
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
echo "next: open $(dirname "$atoll")/demo.html in a browser; make install PREFIX=~/.local, then atoll --help; see README.md"
