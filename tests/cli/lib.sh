# lib.sh: a small harness for tests of the command; sourced by *_test.sh, closed by `finish`.
passed=0 failed=0 skipped=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# expect CODE FRAGMENT COMMAND...: exit code, and a fragment of what it prints (stdout and stderr together)
expect() {
    want=$1 fragment=$2
    shift 2
    "$@" > "$dir/out" 2>&1 < /dev/null
    got=$?
    if [ $got != "$want" ]; then
        echo "exit code $got instead of $want: $*"
        cat "$dir/out"
        failed=$((failed + 1))
    elif ! grep -qF -- "$fragment" "$dir/out"; then
        echo "'$fragment' is not in the output of: $*"
        cat "$dir/out"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}
# holds DESCRIPTION COMMAND...: the command must succeed; it may read a here-document (a script for `python3 -`) and
# "$dir/out", the output of the last expect
holds() {
    what=$1
    shift
    if "$@" > "$dir/held" 2>&1; then
        passed=$((passed + 1))
    else
        echo "does not hold: $what"
        cat "$dir/held"
        failed=$((failed + 1))
    fi
}
skip() {
    echo "SKIPPED: $1"
    skipped=$((skipped + 1))
}
finish() {
    echo "[  PASSED  ] $passed test(s)."
    [ $skipped = 0 ] || echo "[  SKIPPED ] $skipped test(s)"
    [ $failed = 0 ] || { echo "[  FAILED  ] $failed test(s)"; exit 1; }
    exit 0
}
