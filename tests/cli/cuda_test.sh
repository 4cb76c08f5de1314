#!/bin/sh
# Unmodified CUDA programs under `atoll exec`: tests/cuda/*.cu, built with nvcc, functionally and timed.
. tests/cli/lib.sh
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)

# What needs no CUDA
expect 1 "which program?" "$ATOLL" exec
expect 1 "cannot run './absent': No such file" "$ATOLL" exec -- ./absent
expect 1 "is a folder, not a program" "$ATOLL" exec -- /tmp
expect 1 "unknown machine 'absent'" "$ATOLL" exec -m absent -- true
expect 1 "--launches takes numbers" "$ATOLL" exec --launches x -- true
expect 1 "choose what is timed" "$ATOLL" exec --functional --launches 2 -- true
expect 1 "choose what is timed" "$ATOLL" exec --functional --kernels sum -- true
expect 1 "is not a whole number" "$ATOLL" exec --max-instructions -1 -- true
expect 1 "takes a number from 1, not 0; leave it out for no limit" "$ATOLL" exec --max-instructions 0 -- true
expect 1 "option --json of 'atoll exec' needs a value: FILE" "$ATOLL" exec --json -- true
expect 0 "the program ended without using CUDA" "$ATOLL" exec -- true
expect 5 "the program ended without using CUDA" "$ATOLL" exec -- sh -c 'exit 5'
expect 143 "ended by signal 15" "$ATOLL" exec -- sh -c 'kill -TERM $$'
for version in 11.0 12 13; do
    library=$ATOLL_BUILD/cuda/$version/libcudart.so.$version
    holds "libcudart.so.$version has its name, version and symbols" sh -c "readelf -d '$library' | grep -qF '[libcudart.so.$version]' &&
        nm -D '$library' | grep -qF 'cudaMalloc@@libcudart.so.$version' && nm -D '$library' | grep -qF ' T cuInit'"
done
# binaries of CUDA 11 and 12, made by hand: the old way to launch, the old structures
for version in 11.0 12; do
    major=${version%.0}
    cc -DVERSION="$major" tests/cuda/old.c -o "$dir/old" -L"$ATOLL_BUILD/cuda/$version" -l:libcudart.so.$version -Wl,--allow-shlib-undefined
    expect 0 "all held" "$ATOLL" exec --functional -- "$dir/old"
    expect 0 "all held" "$ATOLL" exec -m uba-mem -- "$dir/old"
done
if ! "$nvcc" --version > /dev/null 2>&1; then
    skip "CUDA programs (no nvcc)"
    finish
fi

# build NAME FILES... [FLAGS]: a program in $dir
build() {
    name=$1
    shift
    (cd tests/cuda && "$nvcc" -cudart shared -o "$dir/$name" "$@") > "$dir/build.log" 2>&1 && return 0
    echo "cannot build $name"
    cat "$dir/build.log"
    failed=$((failed + 1))
    return 1
}

# every API family, values only and with time; two compilers at a time
for program in memory streams launch errors embed driver graphs pools device threads unsupported algorithms concurrent library; do echo $program; done |
    (cd tests/cuda && xargs -P2 -I{} sh -c "'$nvcc' -cudart shared -o '$dir/{}' {}.cu -lcuda > '$dir/{}.log' 2>&1")
for program in memory streams launch errors embed driver graphs pools device threads unsupported algorithms concurrent library; do
    [ -x "$dir/$program" ] || build $program $program.cu -lcuda || continue
    argument=
    [ $program = library ] && argument=$dir/library.ptx
    expect 0 "all held" "$ATOLL" exec --functional -- "$dir/$program" ${argument:+"$argument"}
    expect 0 "all held" "$ATOLL" exec -m uba-mem -- "$dir/$program" ${argument:+"$argument"}
done
expect 0 "all held" "$ATOLL" exec -m uba-mem --check -- "$dir/concurrent" timed
for machine in nuba selrep numa-gpu; do # caches that are emptied at the end of a kernel
    expect 0 "all held" "$ATOLL" exec -m $machine --check -- "$dir/concurrent" timed
done
expect 0 "all held" "$ATOLL" exec --functional -- "$dir/concurrent" host
expect 0 "all held" "$ATOLL" exec --functional --devices 2 -- "$dir/concurrent" # kernels that wait for each other
for run in 1 2; do
    expect 0 "ran beside others" "$ATOLL" exec -m uba-mem --json "$dir/side$run.json" --launches 1-2 -- "$dir/concurrent"
done
holds "kernels side by side: the same statistics twice, rows that say so" python3 -c "
import json
a, b = (json.load(open('$dir/side%d.json' % k)) for k in (1, 2))
assert a['kernels'][0]['shared'] and a['kernels'] == b['kernels'] and a['stats'] == b['stats']"
holds "an unsupported call is said once" sh -c "'$ATOLL' exec --functional -- '$dir/unsupported' 2>&1 | grep -c 'cudaImportExternalMemory is not supported' | grep -qx 1"
expect 0 "all held" "$ATOLL" exec --functional --devices 2 -- "$dir/device" 2
expect 0 "all held" "$ATOLL" exec -m uba-mem --devices 2 -- "$dir/device" 2
expect 1 "illegal store of 4 bytes" "$ATOLL" exec --functional -- "$dir/errors" near
expect 0 "all held" "$ATOLL" exec --functional -s runtime.exact_addresses=false -- "$dir/errors" near
for fault in address misaligned assert trap much; do
    expect 0 "all held" "$ATOLL" exec --functional -- "$dir/errors" $fault
done
expect 0 "kernel 'bounded(int*)': block of 65 x 1 x 1 threads, but it is compiled for 64" "$ATOLL" exec -m uba-mem -- "$dir/errors" much
expect 0 "kernel 'greedy(int const*, int*)': not even one block fits an SM" "$ATOLL" exec -m uba-mem -- "$dir/errors" room
expect 0 "in kernel 'stray(int*)'" "$ATOLL" exec --functional -- "$dir/errors" address
expect 0 "all held" "$ATOLL" exec --functional -- "$dir/errors" reset
expect 0 "illegal store of 4 bytes" "$ATOLL" exec -m uba-mem -- "$dir/errors" address

# the programs of the census
holds "at least 97 % of the census link" python3 tests/cuda/census.py "$ATOLL_BUILD/cuda/13/libcudart.so.13"

# every way of embedding
build separate separate_main.cu separate_other.cu && expect 0 "all held" "$ATOLL" exec --functional -- "$dir/separate"
build rdc -rdc=true rdc_main.cu rdc_other.cu && expect 0 "all held" "$ATOLL" exec --functional -- "$dir/rdc"
build rdc_ptx -rdc=true -gencode arch=compute_80,code=compute_80 rdc_main.cu rdc_other.cu &&
    expect 0 "all held" "$ATOLL" exec --functional -- "$dir/rdc_ptx"
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/lib64
if [ -e "$toolkit/libnvrtc.so" ] && build nvrtc nvrtc.cu -lnvrtc -lcuda; then # compiled while it runs
    expect 0 "all held" env LD_LIBRARY_PATH="$toolkit" "$ATOLL" exec --functional -- "$dir/nvrtc"
    holds "nothing is said about NVIDIA's tables" sh -c "! grep -q cuGetExportTable '$dir/out'"
else
    skip "nvrtc (not installed)"
fi
if build children -rdc=true children.cu -lcudadevrt; then # kernels that launch kernels
    for how in --functional "-m uba-mem" "-m uba-mem --check" "-m uba-mem -s llc.boundary=flush"; do
        # shellcheck disable=SC2086 # options are words
        expect 0 "all held" "$ATOLL" exec $how -- "$dir/children"
    done
    expect 0 "illegal atomic access of 4 bytes" "$ATOLL" exec --functional -- "$dir/children" illegal
    expect 0 "many(int*)" "$ATOLL" exec -m uba-mem --json "$dir/children.json" -- "$dir/children"
    holds "children have rows of their own" python3 -c "
import json
names = [k['name'] for k in json.load(open('$dir/children.json'))['kernels']]
assert names.count('sort_of_tree(int*, int)') == 63 and names.count('add(int*, int)') == 853"
fi
for flags in --compress-mode=none --compress-mode=speed --compress-mode=size "-arch=sm_90" "-G" "-default-stream per-thread" \
    "-gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=compute_90 -gencode arch=compute_90,code=sm_90"; do
    # shellcheck disable=SC2086 # flags are words
    build embed_other embed.cu $flags && expect 0 "all held" "$ATOLL" exec --functional -- "$dir/embed_other"
done
build clusters clusters.cu -arch=sm_90 &&
    expect 0 "kernel 'in_pairs(int*)' is compiled for thread block clusters" "$ATOLL" exec --functional -- "$dir/clusters"
build cubin embed.cu -gencode arch=compute_75,code=sm_75 &&
    expect 1 "rebuild it with PTX: nvcc -gencode arch=compute_75,code=compute_75" "$ATOLL" exec --functional -- "$dir/cubin"
(cd tests/cuda && "$nvcc" -cudart static -o "$dir/static" embed.cu) > /dev/null 2>&1
expect 1 "link it again with 'nvcc -cudart shared ...'" "$ATOLL" exec -- "$dir/static"

# broken device code: said, and nothing crashes (the test itself fails: its kernels are missing)
cat > "$dir/break.py" << 'PY'
import struct, sys
how, source, target = sys.argv[1:]
d = bytearray(open(source, "rb").read())
at = d.rindex(struct.pack("<I", 0xBA55ED50))  # the linker's own container comes first
size = struct.unpack_from("<Q", d, at + 8)[0]
if how == "size":
    struct.pack_into("<Q", d, at + 8, 1 << 40)
elif how == "entry":
    struct.pack_into("<Q", d, at + 16 + 8, 1 << 40)
elif how == "data":
    d[at + 16 + size - 200 : at + 16 + size - 100] = bytes(100)
open(target, "wb").write(d)
PY
for how in size entry data; do
    python3 "$dir/break.py" $how "$dir/embed" "$dir/broken" && chmod +x "$dir/broken"
    expect 1 "the fat binary is broken" "$ATOLL" exec --functional -- "$dir/broken"
done
head -c 2000 "$dir/embed" > "$dir/cut" && chmod +x "$dir/cut"
holds "a cut program file ends with a message, not with a crash of ours" sh -c "'$ATOLL' exec -- '$dir/cut' 2>&1 | grep -q 'atoll:'"

# results
"$ATOLL" exec --functional -- "$dir/embed" > "$dir/stdout" 2> /dev/null
holds "what kernels print comes when the host waits, and the report is not on stdout" \
    sh -c "printf 'host\ndevice 500\nafter\nall held\n' | cmp - '$dir/stdout'"
"$ATOLL" exec -m uba-mem --json "$dir/a.json" --csv "$dir/a.csv" --timeline "$dir/a.trace" -- "$dir/launch" > /dev/null 2>&1
"$ATOLL" exec -m uba-mem --json "$dir/b.json" -- "$dir/launch" > /dev/null 2>&1
cat > "$dir/check_json.py" << 'PY'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:3])
kernels = a["kernels"]
assert any(k["name"].startswith("void fill<double, 32>(") for k in kernels), [k["name"] for k in kernels]
assert len(kernels) == a["totals"]["launches"] and all(k["cycles"] > 0 for k in kernels)
assert sum(k["warp_instructions"] for k in kernels) == a["totals"]["warp_instructions"]
del a["host"], b["host"]
assert a == b, "two runs differ"
PY
holds "JSON: demangled names, a row per launch, deterministic" python3 "$dir/check_json.py" "$dir/a.json" "$dir/b.json"
holds "CSV and trace are written" sh -c "grep -q '^totals.cycles,' '$dir/a.csv' && grep -q traceEvents '$dir/a.trace'"
"$ATOLL" exec -m uba-mem --kernels fill --json "$dir/k.json" -- "$dir/launch" > /dev/null 2>&1
"$ATOLL" exec -m uba-mem --launches 2-3,5 --json "$dir/l.json" -- "$dir/launch" > /dev/null 2>&1
holds "--kernels and --launches time a choice, the rest runs functionally" python3 - "$dir/a.json" "$dir/k.json" "$dir/l.json" << 'PY'
import json, sys
a, k, l = (json.load(open(f)) for f in sys.argv[1:])
assert [r["name"].split("<")[0] for r in k["kernels"]] == ["void fill", "void fill"]
assert len(k["kernels"]) + len(k["untimed_kernels"]) == len(a["kernels"])
assert len(l["kernels"]) == 3 and {r["launch_number"] for r in l["untimed_kernels"]}.isdisjoint({2, 3, 5})
PY
expect 0 "stopped" "$ATOLL" exec -m uba-mem --max-instructions 200 -- "$dir/launch"
finish
