#!/bin/sh
# One of four shards of the golden runs (tests/golden.sh) gives the recorded results. The commit chooses the shard, so
# that successive commits check the whole set. A difference is right only in a commit that holds a new record.
. tests/cli/lib.sh
if [ "${ATOLL_SHARDS-}" = all ]; then
    holds "the golden runs give the recorded results" sh tests/golden.sh compare
    tail -1 "$dir/out"
    finish
    exit
fi
commit=$(git rev-parse HEAD 2> /dev/null || echo 0)
shard=$(($(printf '%d' "0x$(printf '%.6s' "$commit")") % 4))
echo "golden runs: shard $shard of 4 (tests/golden.sh compare --shard $shard/4)"
holds "the golden runs of shard $shard give the recorded results" sh tests/golden.sh compare --shard "$shard/4"
tail -1 "$dir/out"
finish
