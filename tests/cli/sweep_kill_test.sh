#!/bin/sh
# A sweep survives kill -9 at any moment, Ctrl-C, and a second runner on the same database; a worker without progress is told.
. tests/cli/lib.sh
cat > "$dir/k.yaml" << 'YAML'
machines: [uba-mem, v100]
workloads: [vecadd:n=1024, vecadd:n=2048, {run: sgemm:tiny, name: g}]
axes: [{param: sm.warps, values: [8, 16, 32, 64]}]
YAML

holds "20 kills at random moments lose nothing and run nothing twice" timeout 300 python3 - "$ATOLL" "$dir" << 'PY'
import json, os, random, signal, sqlite3, subprocess, sys, time
atoll, dir = sys.argv[1:]
db = dir + "/k.db"
random.seed(9)
kills, seen, runs = 0, {}, 0

def check():
    """Every row is whole, and no row that was there has changed or gone."""
    if not os.path.exists(db):
        return
    con = sqlite3.connect(db)
    if not con.execute("select count(*) from sqlite_master").fetchone()[0]:
        return
    assert con.execute("pragma integrity_check").fetchone()[0] == "ok"
    rows = con.execute("select key, status, result, finished_at || started_at from run").fetchall()
    for key, status, result, when in rows:
        assert status == "done" and json.loads(result)["totals"]["cycles"] > 0
        assert seen.setdefault(key, when) == when, "a finished point ran again"
    assert len(rows) == len(seen), "a finished point is gone"
    con.close()

while kills < 20:
    p = subprocess.Popen([atoll, "sweep", dir + "/k.yaml", "--db", db, "-j", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        p.wait(timeout=random.uniform(0.02, 0.9))
        assert p.returncode == 0, p.returncode
        # finished before it could be killed: begin anew in another database
        check()
        assert len(seen) == 24, len(seen)
        seen.clear()
        for f in (db, db + "-wal", db + "-shm"):
            if os.path.exists(f):
                os.unlink(f)
        continue
    except subprocess.TimeoutExpired:
        pass
    kids = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
    os.kill(p.pid, signal.SIGKILL)
    p.wait()
    kills += 1
    for kid in kids:  # workers die with their sweep
        for _ in range(500):
            try:
                if open(f"/proc/{kid}/stat").read().rsplit(")", 1)[1].split()[0] in "ZX":
                    break
            except FileNotFoundError:
                break
            time.sleep(0.01)
        else:
            raise AssertionError("a worker outlives its sweep")
    check()
out = subprocess.run([atoll, "sweep", dir + "/k.yaml", "--db", db], stdout=subprocess.PIPE, check=True).stdout.decode()
check()
assert len(seen) == 24 and out.startswith("24 points"), out
PY

holds "two runners share the work: each point once, both end with all of it" timeout 200 python3 - "$ATOLL" "$dir" << 'PY'
import re, sqlite3, subprocess, sys
atoll, dir = sys.argv[1:]
db = dir + "/two.db"
open(dir + "/two.yaml", "w").write(open(dir + "/k.yaml").read() + "seeds: [1, 2, 3, 4]\n")
p = [subprocess.Popen([atoll, "sweep", dir + "/two.yaml", "--db", db, "-j", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
outs = [x.communicate(timeout=180) for x in p]
assert all(x.returncode == 0 for x in p), outs
ran = [int(re.search(r"(\d+) ran now", o[0].decode())[1]) for o in outs]
assert sum(ran) == 96 and min(ran) > 0, ran
con = sqlite3.connect(db)
assert con.execute("select count(*) from run where status='done'").fetchone()[0] == 96
assert con.execute("select count(*) from claim").fetchone()[0] == 0
PY

holds "a runner takes over what another one left when it was killed" timeout 100 python3 - "$ATOLL" "$dir" << 'PY'
import os, signal, sqlite3, subprocess, sys, time
atoll, dir = sys.argv[1:]
open(dir + "/t.yaml", "w").write("machines: [uba-mem]\nworkloads: [vecadd:n=1024, vecadd:n=2048, vecadd:n=4096, vecadd:n=8192]\n")
db = dir + "/take.db"
a = subprocess.Popen([atoll, "sweep", dir + "/t.yaml", "--db", db, "-j", "4"], stdout=subprocess.DEVNULL)
while not os.path.exists(db):
    time.sleep(0.005)
for _ in range(2000):
    try:
        if sqlite3.connect(db).execute("select count(*) from claim").fetchone()[0]:
            break
    except sqlite3.OperationalError:
        pass
    time.sleep(0.002)
os.kill(a.pid, signal.SIGSTOP)  # it holds claims and is silent
b = subprocess.Popen([atoll, "sweep", dir + "/t.yaml", "--db", db, "-j", "1"], stdout=subprocess.PIPE)
time.sleep(1)
os.kill(a.pid, signal.SIGKILL)
a.wait()
out = b.communicate(timeout=60)[0].decode()
assert b.returncode == 0 and sqlite3.connect(db).execute("select count(*) from run").fetchone()[0] == 4, out
PY

holds "workers die with their sweep, even one that is stopped" timeout 100 python3 - "$ATOLL" "$dir" << 'PY'
import os, signal, subprocess, sys, time
atoll, dir = sys.argv[1:]
open(dir + "/d.yaml", "w").write("machines: [uba-mem]\nworkloads: [sgemm:small]\n")
p = subprocess.Popen([atoll, "sweep", dir + "/d.yaml", "--db", dir + "/d.db", "-j", "1"], stdout=subprocess.DEVNULL)
kid = ""
while not kid:
    kid = open(f"/proc/{p.pid}/task/{p.pid}/children").read().strip()
while b"worker" not in open(f"/proc/{kid}/cmdline", "rb").read():
    time.sleep(0.002)
os.kill(int(kid), signal.SIGSTOP)
os.kill(p.pid, signal.SIGKILL)
p.wait()
for _ in range(1000):
    try:
        if open(f"/proc/{kid}/stat").read().rsplit(")", 1)[1].split()[0] in "ZX":
            break
    except FileNotFoundError:
        break
    time.sleep(0.01)
else:
    os.kill(int(kid), signal.SIGKILL)
    raise AssertionError("a worker outlives its sweep")
PY

holds "Ctrl-C ends a sweep in order" timeout 100 python3 - "$ATOLL" "$dir" << 'PY'
import os, signal, sqlite3, subprocess, sys, time
atoll, dir = sys.argv[1:]
open(dir + "/i.yaml", "w").write(open(dir + "/k.yaml").read() + f"seeds: {list(range(1, 51))}\n")
p = subprocess.Popen([atoll, "sweep", dir + "/i.yaml", "--db", dir + "/i.db", "-j", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
done = 0
while not done:  # one of 1200 points is there, many are left, whatever the machine's speed
    time.sleep(0.01)
    try:
        done = sqlite3.connect(f"file:{dir}/i.db?mode=ro", uri=True).execute("select count(*) from run").fetchone()[0]
    except sqlite3.OperationalError:
        assert p.poll() is None, p.communicate()[0]
p.send_signal(signal.SIGINT)
out = p.communicate(timeout=60)[0].decode()
assert p.returncode == 1 and "interrupted: the same command goes on from here" in out, out
con = sqlite3.connect(dir + "/i.db")
assert con.execute("select count(*) from claim").fetchone()[0] == 0
assert con.execute("select count(*) from run where status<>'done'").fetchone()[0] == 0
assert 0 < con.execute("select count(*) from run").fetchone()[0] < 1200
PY

holds "a worker without progress is reported" timeout 100 python3 - "$ATOLL" "$dir" << 'PY'
import os, signal, subprocess, sys, time
atoll, dir = sys.argv[1:]
open(dir + "/s.yaml", "w").write("machines: [uba-mem]\nworkloads: [sgemm:small]\n")
p = subprocess.Popen([atoll, "sweep", dir + "/s.yaml", "--db", dir + "/s.db", "-j", "1", "--stuck-after", "0.5"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
kid = ""
while not kid:
    kid = open(f"/proc/{p.pid}/task/{p.pid}/children").read().strip()
while "sgemm:small" not in open(f"/proc/{kid}/cmdline").read():
    time.sleep(0.005)
os.kill(int(kid), signal.SIGSTOP)
time.sleep(2)
os.kill(int(kid), signal.SIGCONT)
out = p.communicate(timeout=90)[0].decode()
assert f"worker {kid} has made no progress for" in out and "atoll run -m uba-mem -w sgemm:small" in out, out
assert p.returncode == 0, out
PY

holds "progress on a terminal tells how far it is" timeout 100 python3 - "$ATOLL" "$dir" << 'PY'
import os, pty, sys
atoll, dir = sys.argv[1:]
text = b""
def read(fd):
    global text
    data = os.read(fd, 4096)
    text += data
    return data
pty.spawn([atoll, "sweep", dir + "/k.yaml", "--db", dir + "/p.db", "-j", "2"], read)
assert b"of 24 points" in text and b"running" in text and b" left" in text, text
PY
finish
