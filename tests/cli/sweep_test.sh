#!/bin/sh
# atoll sweep, report --csv and --md, reproduce and compare: experiment files, results, failures, bad input.
. tests/cli/lib.sh
db=$dir/x.db
# sql QUERY [DATABASE]: one value from a database
sql() {
    python3 -c "import sqlite3, sys; print(sqlite3.connect(sys.argv[2]).execute(sys.argv[1]).fetchone()[0])" "$1" "${2:-$db}"
}
# is VALUE QUERY [DATABASE]
is() {
    want=$1
    shift
    got=$(sql "$@")
    holds "$1 is $want (it is $got)" [ "$got" = "$want" ]
}

cat > "$dir/x.yaml" << 'YAML'
title: a small study
machines: [uba-mem, {name: wide, machine: uba-mem, set: {net.width: 64 B}}]
workloads: {easy: [vecadd:n=2048], hard: [sgemm:tiny]}
axes: [{param: gpu.llc_size, base: 6 MiB, values: [3 MiB, 6 MiB]}]
set: {runtime.start_skew_cyc: 50}
seeds: [1, 2]
metrics:
  - {name: speedup, value: totals.seconds, relative: speedup}
  - {name: hits, value: 100 * stats.llc.read_hit_rate, unit: "%"}
claims:
  - {id: A1, of: wide, published: 5 %}
  - {id: A2, order: uba-mem <= wide}
YAML
expect 0 "16 points: 0 were there, 16 ran now" "$ATOLL" sweep "$dir/x.yaml" --db "$db" -j 2
expect 0 "16 points: 16 were there, 0 ran now" "$ATOLL" sweep "$dir/x.yaml" --db "$db"
is 16 "select count(*) from run where status='done' and cycles > 0 and length(config) > 1000 and host <> '' and max_rss_bytes > 0"
is 16 "select count(*) from point join run using (key)"
is 0 "select count(*) from claim"
holds "a row holds what 'atoll run' gives" python3 - "$db" "$ATOLL" "$dir" << 'PY'
import json, shlex, sqlite3, subprocess, sys
db, atoll, dir = sys.argv[1:]
row = sqlite3.connect(db).execute("select command, result, config, cycles from run where machine='uba-mem' and workload='sgemm:tiny' limit 1").fetchone()
command = shlex.split(row[0])
assert command[0] == "atoll" and "sim.seed=1" in row[0] and "runtime.start_skew_cyc=50" in row[0], row[0]
subprocess.run([atoll] + command[1:] + ["--json", dir + "/one.json"], check=True, stdout=subprocess.DEVNULL)
one, kept = json.load(open(dir + "/one.json")), json.loads(row[1])
assert one.pop("config") == json.loads(row[2])
one.pop("host"), kept.pop("host")
assert one == kept and one["totals"]["cycles"] == row[3]
t = one["traffic"]["bytes"]
assert sum(map(sum, t)) == one["stats"]["net.accepted_bytes"] > 0, "traffic between partitions adds up to what the networks accepted"
assert len(t) == 32 and all(len(r) == 32 for r in t)
PY
# a study that grows runs only what is new
sed 's/3 MiB, 6 MiB\]/3 MiB, 6 MiB, 12 MiB]/' "$dir/x.yaml" > "$dir/more.yaml" && mv "$dir/more.yaml" "$dir/x.yaml"
expect 0 "24 points: 16 were there, 8 ran now" "$ATOLL" sweep "$dir/x.yaml" --db "$db"
is 1 "select count(*) from study"

# what comes out
expect 0 "A1" "$ATOLL" report "$db"
expect 0 "order holds" "$ATOLL" report "$db"
"$ATOLL" report "$db" --csv "$dir/x.csv" > /dev/null
"$ATOLL" report "$db" --md "$dir/x.md" > /dev/null
holds "Markdown has a table of values" grep -q '^| \*\*' "$dir/x.md"
holds "CSV has a line per point and metric" python3 - "$dir/x.csv" << 'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) == 24 * 2, len(rows)
assert all(float(r["value"]) > 0 for r in rows if r["metric"] == "totals.seconds")
assert {r["axes"] for r in rows} == {"3 MiB", "", "12 MiB"}
PY
sed -n '/^```python/,/^```$/p' docs/experiments.md | sed '1d;$d' | sed "s#noc.db#$db#" > "$dir/example.py"
holds "the Python example of the docs has ten lines" [ "$(wc -l < "$dir/example.py")" = 10 ]
expect 0 "uba-mem" python3 "$dir/example.py"

# several studies in one database: figures of a paper by number, then the others
for name in p-all p-fig12 p-fig3; do
    printf 'title: a\nmachines: [uba-mem]\nworkloads: [vecadd:n=2048]\n' > "$dir/$name.yaml"
    "$ATOLL" sweep "$dir/$name.yaml" --db "$dir/p.db" > /dev/null 2>&1
done
holds "studies of a report are in the order of a paper" [ "$("$ATOLL" report "$dir/p.db" | sed -n 's/^\(p-[a-z0-9]*\):.*/\1/p' | tr '\n' ' ')" = "p-fig3 p-fig12 p-all " ]

# the study of the docs with every form of a claim that they show
sed -n '/^```yaml/,/^```$/p' docs/experiments.md | sed '1d;$d' > "$dir/docs.yaml"
sed -n 's/^| [a-z].* | `\({id: [^`]*}\)`.*/  - \1/p' docs/experiments.md >> "$dir/docs.yaml"
holds "the docs show eight forms beside sizes and orders" [ "$(grep -c 'id: ' "$dir/docs.yaml")" = 10 ]
expect 0 " points" "$ATOLL" sweep "$dir/docs.yaml" --dry-run

# failing points: a bad combination, a failed check, a crash; the others go on
cat > "$dir/f.yaml" << 'YAML'
machines: [uba-mem]
workloads: [vecadd:n=2048, sgemm:tiny]
axes: [{param: gpu.llc_size, values: [6 MiB, 6291457 B, 12 MiB]}]
YAML
expect 1 "must divide evenly" "$ATOLL" sweep "$dir/f.yaml" --db "$dir/f.db"
expect 1 "6 points: 6 were there, 0 ran now, 2 failed" "$ATOLL" sweep "$dir/f.yaml" --db "$dir/f.db"
is 2 "select count(*) from run where status='failed' and message like '%must divide evenly%' and result is null" "$dir/f.db"
expect 1 "4 were there, 2 ran now, 2 failed" "$ATOLL" sweep "$dir/f.yaml" --db "$dir/f.db" --retry-failed
expect 0 "Runs that failed" "$ATOLL" report "$dir/f.db" -o -
faulty=$(dirname "$ATOLL")/atoll_faults
if [ -x "$faulty" ]; then
    printf 'machines: [uba-mem]\nworkloads: [vecadd:n=2048, sgemm:tiny]\naxes: [{param: sim.fault, values: [none, request_dropped]}]\n' > "$dir/b.yaml"
    expect 3 "2 failed" "$faulty" sweep "$dir/b.yaml" --db "$dir/b.db"
    is 2 "select count(*) from run where status='done'" "$dir/b.db"
    is 2 "select count(*) from run where status<>'done' and message<>''" "$dir/b.db"
else
    skip "a point that fails inside the simulator: no atoll_faults in this build"
fi
holds "a crash is recorded with its log, the rest goes on" python3 - "$ATOLL" "$dir" << 'PY'
# the first worker that appears is ended by a signal
import os, signal, sqlite3, subprocess, sys, time
atoll, dir = sys.argv[1:]
open(dir + "/c.yaml", "w").write("machines: [uba-mem]\nworkloads: [{run: 'sgemm:small', name: long}, vecadd:n=2048]\n")
p = subprocess.Popen([atoll, "sweep", dir + "/c.yaml", "--db", dir + "/c.db", "-j", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
deadline, killed = time.time() + 60, False
while time.time() < deadline and not killed:
    kids = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
    for kid in kids:
        if "sgemm:small" in open(f"/proc/{kid}/cmdline").read():
            os.kill(int(kid), signal.SIGSEGV)
            killed = True
    time.sleep(0.01)
out = p.communicate(timeout=120)[0].decode()
assert killed and p.returncode == 3, (p.returncode, out)
rows = dict(sqlite3.connect(dir + "/c.db").execute("select workload, status || ' ' || coalesce(message, '') from run").fetchall())
assert "crashed the worker" in rows["sgemm:small"] and rows["vecadd:n=2048"] == "done ", rows
PY
expect 1 "took too long" "$ATOLL" sweep "$dir/c.yaml" --db "$dir/l.db" --limit 0.01 -j 2

# bad input
printf 'machines: [uba-mem]\nworkloads: [vecadd:tiny]\n' > "$dir/ok.yaml"
printf 'machines: [uba-men]\nworkloads: [vecadd:tiny]\n' > "$dir/bad.yaml"
expect 1 "bad.yaml:1:12: unknown machine 'uba-men'; did you mean 'uba-mem'?" "$ATOLL" sweep "$dir/bad.yaml" --db "$dir/n.db"
holds "nothing was made for it" [ ! -e "$dir/n.db" ]
printf 'machines: [uba-mem]\nworkloads: [%s/nowhere:tiny]\n' "$dir" > "$dir/bad.yaml"
expect 1 "bad.yaml:2:13: there is no workload folder '$dir/nowhere'" "$ATOLL" sweep "$dir/bad.yaml" --db "$dir/n.db"
expect 1 "takes one experiment file" "$ATOLL" sweep
expect 1 "cannot open experiment file" "$ATOLL" sweep "$dir/none.yaml"
expect 1 "unknown scale 'huge'" "$ATOLL" sweep noc --scale huge --db "$dir/n.db"
expect 1 "--launcher is 'local' or 'slurm'" "$ATOLL" sweep "$dir/ok.yaml" --launcher moon
expect 1 "are for --launcher slurm" "$ATOLL" sweep "$dir/ok.yaml" --sbatch=--partition=x
expect 1 "is not a number" "$ATOLL" sweep "$dir/ok.yaml" -j many
expect 1 "cannot write" "$ATOLL" sweep "$dir/ok.yaml" --db "$dir/n.db" --html /nonexistent/x.html
expect 1 "holds no study yet" sh -c "\"$ATOLL\" sweep '$dir/ok.yaml' --db '$dir/e.db' > /dev/null; python3 -c \"import sqlite3; c = sqlite3.connect('$dir/e.db'); c.execute('delete from study'); c.commit()\"; \"$ATOLL\" report '$dir/e.db'"
expect 1 "cannot read the database" "$ATOLL" report "$dir/none.db"
python3 -c "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('pragma user_version=99'); c.commit()" "$dir/e.db"
expect 1 "was made by a newer version of Atoll" "$ATOLL" sweep "$dir/ok.yaml" --db "$dir/e.db"
expect 1 "was made by a newer version of Atoll" "$ATOLL" report "$dir/e.db"
# a disk that is full: files may not grow beyond so many blocks
expect 1 "Nothing is lost: what was finished is kept" sh -c "ulimit -f 400; \"$ATOLL\" sweep '$dir/x.yaml' --db '$dir/full.db' -j 1"
holds "what was finished before the disk was full is whole" python3 - "$dir/full.db" << 'PY'
import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("select status, result from run").fetchall()
for status, result in rows:
    assert status == "done" and json.loads(result)["totals"]["cycles"] > 0
PY
expect 0 "24 points" "$ATOLL" sweep "$dir/x.yaml" --db "$dir/full.db" -j 2
is 24 "select count(*) from run where status='done'" "$dir/full.db"
# a directory that may not be written; root may write everywhere, so somebody else tries
mkdir "$dir/ro" && cp "$db" "$dir/ro/x.db"
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$dir" && chmod 644 "$dir/ro/x.db" "$dir/x.yaml" && chmod 555 "$dir/ro"
    as="setpriv --reuid=65534 --regid=65534 --clear-groups --"
else
    chmod 555 "$dir/ro"
    as=
fi
if $as test -x "$ATOLL"; then
    # shellcheck disable=SC2086 # words
    expect 1 "$dir/ro/new.db'" $as "$ATOLL" sweep "$dir/x.yaml" --db "$dir/ro/new.db"
    # shellcheck disable=SC2086
    expect 1 "may not be written" $as "$ATOLL" sweep "$dir/x.yaml" --db "$dir/ro/x.db"
    # shellcheck disable=SC2086
    expect 0 "A1" $as "$ATOLL" report "$dir/ro/x.db"
else
    skip "a read-only directory: another user cannot reach the program"
fi
chmod 755 "$dir/ro"

# reproduce: what is missing is said, and recorded
expect 1 "unknown paper 'nubs'; did you mean 'nuba'?" "$ATOLL" reproduce nubs
holds "reproduce --dry-run lists points and writes nothing" sh -c '
    cd "$2" && "$1" reproduce ladm --dry-run --db dry.db --html dry.html | grep -Eq "^all +[1-9][0-9]* points" &&
    test ! -e dry.db && test ! -e dry.html' - "$(realpath "$ATOLL")" "$dir"
expect 1 "takes one paper" "$ATOLL" reproduce
expect 1 "--scale is 'quick' or 'paper'" "$ATOLL" reproduce nuba --scale small
holds "an interrupted reproduction has recorded its study and writes its report" timeout 200 python3 - "$ATOLL" "$dir" << 'PY'
import os, signal, sqlite3, subprocess, sys, time
atoll, dir = sys.argv[1:]
db, html = dir + "/nuba.db", dir + "/nuba.html"
p = subprocess.Popen([atoll, "reproduce", "nuba", "--scale", "quick", "--db", db, "--html", html, "-j", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
points = 0
while not points and p.poll() is None:
    time.sleep(0.1)
    try:
        points = sqlite3.connect(db).execute("select count(*) from point").fetchone()[0]
    except sqlite3.OperationalError:
        pass
p.send_signal(signal.SIGINT)
out = p.communicate(timeout=100)[0].decode()
assert p.returncode == 1 and "interrupted" in out and "nuba-fig10: Network bandwidth" in out, out
con = sqlite3.connect(db)
for name, note in con.execute("select machine, note from point where key is null"):
    assert "this version has no machine" in note or "nothing in this version to compare it with" in note, note
assert "N027" in out and "not available" in out and "Network bandwidth" in open(html).read()
PY

# experiments of the tree: whole in shape, their published values are those of the papers
for file in experiments/*.yaml; do
    for scale in quick paper; do
        expect 0 "point" "$ATOLL" sweep "$file" --dry-run --scale $scale
    done
done
holds "published values are those of tests/reference/claims.csv" python3 - << 'PY'
import csv, glob, re
claims = {r["id"]: r for r in csv.DictReader(open("tests/reference/claims.csv"))}
found = 0
for name in glob.glob("experiments/*.yaml"):
    for line in open(name):
        m = re.search(r"\{id: ([A-Z]\d+)[^,]*,.*published: \"?([<>]?) ?(-?[\d.]+) ?%", line)
        if m and m[1] in claims and claims[m[1]]["unit"] == "order":
            assert m[2], (name, line)  # a claim in words is read as a bound
        elif m and m[1] in claims:
            found += 1
            assert float(claims[m[1]]["value"]) == float(m[3]), (name, line)
        m = re.search(r"\{id: ([A-Z]\d+)", line)
        assert not m or m[1] in claims, (name, line)
assert found >= 66, found
PY
finish
