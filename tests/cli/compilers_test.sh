#!/bin/sh
# One source, every level of optimisation of clang (and nvcc where it is): the same words. Then what only nvcc
# compiles: grid.sync() of cooperative groups, separate compilation, device-side launches.
. tests/cli/lib.sh

source=tests/kit/language/language.cu
clang=$(command -v clang || ls /usr/bin/clang-1? 2> /dev/null | tail -1)
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null)

# same NAME: runs $dir/k.ptx on both paths; the first one is what all others are compared with
same() {
    for isa in plain automatic; do
        "$ATOLL" run "$dir/k.ptx" --functional -s sim.isa=$isa --entry language --grid 1 --block 64 \
            --arg buf:s32:101:dump=101 --arg 123456789012345 --arg 2.5 --arg 7.9 --arg -3 --arg -300 --arg 200 2>&1 |
            grep 'buf:' > "$dir/words"
        [ -f "$dir/first" ] || cp "$dir/words" "$dir/first"
        holds "$1 ($isa) gives the words of clang -O0" cmp "$dir/first" "$dir/words"
    done
}
for options in -O0 -O1 -O2 -O3 -Os "-O0 -g" "-O2 -g" "-O2 -fno-inline" "-O2 -fgpu-rdc"; do
    # shellcheck disable=SC2086 # several words
    holds "clang $options compiles" "$clang" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/nonexistent \
        --cuda-gpu-arch=sm_70 -Xclang -target-feature -Xclang +ptx64 -S -Iworkloads $options "$source" -o "$dir/k.ptx"
    same "clang $options"
done
holds "the words are those of the program" grep -q 'dump=101: -1650833722 623217330 ' "$dir/first"

if [ -z "$nvcc" ]; then
    skip "nvcc is not on this machine"
    finish
fi
for options in "" -G -lineinfo "-rdc=true" "--maxrregcount=32" "-Xcicc -O0"; do
    # shellcheck disable=SC2086
    holds "nvcc $options compiles" "$nvcc" -ptx -arch=sm_75 -Iworkloads $options "$source" -o "$dir/k.ptx"
    same "nvcc $options"
done

cat > "$dir/grid.cu" << 'CU'
#include <cooperative_groups.h>
extern __device__ int half_of(int x);
extern "C" __global__ void grid(int *sum, int *out)
{
    auto g = cooperative_groups::this_grid();
    atomicAdd(sum, 2);
    g.sync();
    out[g.thread_rank()] = half_of(*(volatile int *)sum);
}
CU
echo '__device__ int half_of(int x) { return x / 2; }' > "$dir/half.cu"
holds "nvcc compiles separately" "$nvcc" -rdc=true -ptx -arch=sm_75 "$dir/grid.cu" -o "$dir/grid.ptx"
holds "nvcc compiles the other file" "$nvcc" -rdc=true -ptx -arch=sm_75 "$dir/half.cu" -o "$dir/half.ptx"
expect 0 "sum 163840000" "$ATOLL" run "$dir/grid.ptx" "$dir/half.ptx" --functional --cooperative --grid 400 --block 32 \
    --arg buf:s32:1 --arg buf:s32:12800:sum
expect 1 "half_of" "$ATOLL" run "$dir/grid.ptx" --functional --cooperative --grid 2 --block 32 --arg buf:s32:1 --arg buf:s32:64

echo '__global__ void child() {} __global__ void parent() { child<<<1, 1>>>(); }' > "$dir/cdp.cu"
if "$nvcc" -rdc=true -ptx -arch=sm_75 "$dir/cdp.cu" -o "$dir/cdp.ptx" 2> /dev/null; then
    expect 0 "0 of 19 instructions cannot be executed" "$ATOLL" analyze --coverage "$dir/cdp.ptx"
    expect 0 "2 blocks" "$ATOLL" run "$dir/cdp.ptx" --functional --entry parent --grid 1 --block 1 # parent and child
else
    skip "this nvcc compiles no device-side launch"
fi
finish
