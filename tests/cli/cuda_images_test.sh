#!/bin/sh
# CUDA programs with arrays, textures and surfaces under `atoll exec`: tests/cuda, built with nvcc, without time and with.
. tests/cli/lib.sh
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if ! "$nvcc" --version > /dev/null 2>&1; then
    skip "CUDA programs with textures (no nvcc)"
    finish
fi

for program in arrays textures driver_images; do
    flags=
    [ $program = driver_images ] && flags=-lcuda
    # shellcheck disable=SC2086 # none or one word
    if ! (cd tests/cuda && "$nvcc" -cudart shared -o "$dir/$program" $program.cu $flags) > "$dir/build.log" 2>&1; then
        echo "cannot build $program"
        cat "$dir/build.log"
        failed=$((failed + 1))
        continue
    fi
    expect 0 "all held" "$ATOLL" exec --functional -- "$dir/$program"
    expect 0 "all held" "$ATOLL" exec -m uba-mem -- "$dir/$program"
done
expect 0 "all held" "$ATOLL" exec -m v100 --check -- "$dir/textures"
expect 0 "all held" "$ATOLL" exec --functional -s sim.isa=plain -- "$dir/textures"
# an object after its end: CUDA's error code, and a diagnostic that names it
expect 0 "was destroyed before this kernel ran" "$ATOLL" exec --functional -- "$dir/textures" object
expect 0 "the array of texture object 1 (32 x 16 x 1 texels) was freed" "$ATOLL" exec --functional -- "$dir/textures" array
expect 0 "all held" "$ATOLL" exec -m uba-mem -- "$dir/textures" array
finish
