#!/bin/sh
# workloads.sh BUILD: measures every workload of the NUBA and SelRep papers at the papers' sizes, compares with what the papers say
# (tests/reference/workloads.csv) and writes docs/workloads.md. Measurements are kept in BUILD/workloads; delete a file there to
# repeat it, the folder to repeat all. A timed run that takes longer than SECONDS_MOST is left out.
set -eu
cd "$(dirname "$0")/.."
build=$1
millions=${MILLIONS:-1000}           # thread instructions, functionally
warp_instructions=${TIMED:-1000000}  # with timing
seconds_most=${SECONDS_MOST:-300}
store=$build/workloads
mkdir -p "$store"

# once FILE COMMAND...: its output, unless the file is there; nothing half-written
once() {
    file=$1
    shift
    [ -s "$file" ] && return
    if timeout "$seconds_most" "$@" > "$file.part" 2> /dev/null; then mv "$file.part" "$file"; else rm -f "$file.part"; fi
}

measure() {
    while IFS=, read -r workload size paper rest; do
        [ "$workload" = workload ] && continue
        [ "$paper" = NUBA ] && machine=uba-mem || machine=selrep-shared
        echo "$workload:$size" >&2
        once "$store/$workload:$size.pages" "$build/bench/sharing_bench" -n "$millions" "$workload:$size"
        once "$store/$workload:$size.$machine" "$build/atoll" run -m $machine -w "$workload:$size" \
            --max-instructions "$warp_instructions" --json -
    done < tests/reference/workloads.csv
}

# table PAPER: rows of the comparison
table() {
    awk -F, -v paper="$1" -v store="$store" '
    # of the JSON result: the first of that name after "totals"
    function value(file, name,    line, part, inside, found) {
        found = ""
        while (found == "" && (getline line < file) > 0) {
            if (line ~ /^ *"totals"/) inside = 1
            if (!inside || index(line, "\"" name "\":") == 0) continue
            split(line, part, /": |,$/)
            found = part[2]
        }
        close(file)
        return found
    }
    function page(file, name,    line, part, n, i, pair, found) {
        found = ""
        while ((getline line < file) > 0) {
            n = split(line, part, " ")
            for (i = 1; i <= n; i++) {
                split(part[i], pair, "=")
                if (pair[1] == name) found = pair[2]
            }
        }
        close(file)
        return found
    }
    function number(x, digits) { return x == "" ? "-" : sprintf("%." digits "f", x) }
    function mb(x) { return x == "" ? "-" : x < 10 ? sprintf("%.2f", x) : sprintf("%.0f", x) }
    NR > 1 && $3 == paper {
        pages = store "/" $1 ":" $2 ".pages"
        timed = store "/" $1 ":" $2 "." (paper == "NUBA" ? "uba-mem" : "selrep-shared")
        one = page(pages, "one")
        cycles = value(timed, "cycles"); replies = value(timed, "llc.replies")
        misses = value(timed, "llc.read_misses"); threads = value(timed, "thread_instructions"); hit = value(timed, "llc.read_hit_rate")
        per_cycle = cycles ? replies / cycles : ""; per_kilo = threads ? misses / threads * 1000 : ""
        if (paper == "NUBA") right = one == "" ? "-" : (($5 == "low-sharing") == (one > 80)) ? "as published" : "**differs**"
        printf "| %s | `%s:%s` | ", $4, $1, $2
        if (paper == "NUBA")
            printf "%s | %s / %s | %s / %s | %s / %s / %s / %s | %s | %s | %s | %s | %s / %s |\n", $5, $6, mb(page(pages, "footprint_mb")), $7,
                mb(page(pages, "ro_shared_mb")), number(one, 0), number(page(pages, "upto10"), 0), number(page(pages, "upto25"), 0),
                number(page(pages, "upto64"), 0), right, number(page(pages, "warps"), 0), number(hit == "" ? "" : hit * 100, 0), number(per_cycle, 2),
                $8 == "" ? "-" : $8, number(per_kilo, 2)
        else {
            reads = value(timed, "l1.reads"); l1 = value(timed, "l1.hits")
            printf "%s | %s | %s / %s / %s | %s | %s | %s | %s | %s |\n", $5, mb(page(pages, "footprint_mb")), $7,
                mb(page(pages, "ro_shared_mb")), mb(page(pages, "shared_mb")),
                page(pages, "ended") == "yes" ? "whole" : "1 G", number(page(pages, "warps"), 0), number(reads ? (1 - l1 / reads) * 100 : "", 0),
                number(hit == "" ? "" : hit * 100, 0), number(per_cycle, 2)
        }
    }' tests/reference/workloads.csv
}

measure
{
    sed '/^<!-- NUBA -->$/q' tools/workloads.md.in
    table NUBA
    sed -n '/^<!-- NUBA -->$/,/^<!-- SelRep -->$/p' tools/workloads.md.in | tail -n +2
    table SelRep
    sed -n '/^<!-- SelRep -->$/,$p' tools/workloads.md.in | tail -n +2
} | grep -vE '^<!-- (NUBA|SelRep) -->$' > docs/workloads.md
