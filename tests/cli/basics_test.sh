#!/bin/sh
# The command as a newcomer meets it: help, typos, exit codes, configuration.
. tests/cli/lib.sh

expect 0 "atoll " "$ATOLL" --version
expect 0 "exit status: 0 success" "$ATOLL" help
expect 1 "usage: atoll COMMAND" "$ATOLL"
expect 1 "unknown command 'lst'; did you mean 'list'?" "$ATOLL" lst
expect 0 "usage: atoll config" "$ATOLL" config --help
expect 0 "usage: atoll list" "$ATOLL" help list
expect 1 "unknown option '--jsno' of 'atoll list'; did you mean '--json'?" "$ATOLL" list --jsno
expect 1 "needs a value" "$ATOLL" config -m
expect 1 "option --json of 'atoll run' needs a value: FILE" "$ATOLL" run -w vecadd:tiny --json --
expect 1 "option --machine of 'atoll exec' needs a value: MACHINE" "$ATOLL" exec -m -- true
expect 1 "is given twice" "$ATOLL" config -m uba-mem -m uba-mem
expect 1 "takes no value" "$ATOLL" list --json=3 params
expect 1 "there is no list of 'parms'; did you mean 'params'?" "$ATOLL" list parms
expect 1 "'atoll list' takes one of" "$ATOLL" list
for list in machines workloads policies params stats; do
    expect 0 "" "$ATOLL" list $list
    "$ATOLL" list $list --json > "$dir/list.json"
    holds "list $list is JSON" python3 -c "import json,sys; assert json.load(open(sys.argv[1]))" "$dir/list.json"
done
for command in run exec trace compare sweep reproduce report analyze model list config; do
    expect 0 "usage: atoll $command" "$ATOLL" "$command" --help
done
expect 0 "llc_size: 3 MiB" "$ATOLL" config -m uba-mem -s "gpu.llc_size=3 MiB"
expect 0 "slice_size = 48 KiB" "$ATOLL" config -m uba-mem -s "gpu.llc_size=3 MiB"
expect 1 "did you mean 'uba-mem'?" "$ATOLL" config -m uba-men
expect 1 "did you mean 'gpu.llc_size'?" "$ATOLL" config -m uba-mem -s gpu.llc_sice=3
printf 'extends: uba-mem\ngpu:\n  llc_size: 3 MB\n' > "$dir/mine.yaml"
expect 1 "mine.yaml:3:13: gpu.llc_size = '3 MB' is not a size" "$ATOLL" config -m "$dir/mine.yaml"
expect 1 "            ^~~~" "$ATOLL" config -m "$dir/mine.yaml"

# a dump is a machine, and the same one
"$ATOLL" config -m uba-mem -s "clock.dram=293 MHz" > "$dir/dump.yaml"
"$ATOLL" config -m "$dir/dump.yaml" > "$dir/again.yaml"
holds "a dump loads to itself" sh -c "grep -v '^#' $dir/dump.yaml | sed 's/ # default//' > $dir/a; grep -v '^#' $dir/again.yaml | sed 's/ # default//' > $dir/b; cmp $dir/a $dir/b"

# completion
expect 0 "machines" "$ATOLL" complete -- list mach
expect 0 "uba-mem" "$ATOLL" complete -- config -m uba
expect 0 "gpu.llc_size=" "$ATOLL" complete -- config -s gpu.llc

# unreadable and strange machine files
expect 1 "is a directory" "$ATOLL" config -m "$dir/"
expect 1 "No such file" "$ATOLL" config -m "$dir/nothing.yaml"
: > "$dir/empty.yaml"
expect 1 "the machine file is empty" "$ATOLL" config -m "$dir/empty.yaml"
head -c 100000 /dev/urandom > "$dir/binary.yaml"
expect 1 "binary.yaml" "$ATOLL" config -m "$dir/binary.yaml"
cp "$ATOLL" "$dir/atoll" && chmod 755 "$dir" "$dir/atoll"
: > "$dir/locked.yaml"
chmod 000 "$dir/locked.yaml"
if [ "$(id -u)" != 0 ]; then
    expect 1 "Permission denied" "$ATOLL" config -m "$dir/locked.yaml"
elif setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
    expect 1 "Permission denied" setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/atoll" config -m "$dir/locked.yaml"
else
    skip "unreadable file: root reads everything and setpriv does not work here"
fi

# a full disk: nothing half-written, exit 1
expect 1 "cannot write to standard output" sh -c "'$ATOLL' list params > /dev/full"
finish
