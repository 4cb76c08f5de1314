#!/bin/sh
# atoll sweep --launcher slurm against a real Slurm of two nodes on loopback, started here and stopped at the end.
. tests/cli/lib.sh
for program in slurmctld slurmd sbatch squeue scancel; do
    if ! command -v "$program" > /dev/null && [ ! -x "/usr/sbin/$program" ]; then
        skip "sweeps under Slurm: there is no $program here (apt-get install slurmctld slurmd slurm-client)"
        finish
    fi
done
PATH=$PATH:/usr/sbin
B=$dir/slurm
mkdir -p "$B/state" "$B/spool.n1" "$B/spool.n2"
host=$(hostname) me=$(id -un)
base=$((20000 + $$ % 20000))
cat > "$B/slurm.conf" << CONF
ClusterName=t
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$me
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$B/jobcomp.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
ReturnToService=2
KillWait=1
SlurmctldPort=$base
SlurmctldPidFile=$B/slurmctld.pid
SlurmdPidFile=$B/slurmd.%n.pid
SlurmctldLogFile=$B/slurmctld.log
SlurmdLogFile=$B/slurmd.%n.log
StateSaveLocation=$B/state
SlurmdSpoolDir=$B/spool.%n
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + 1)) CPUs=1 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + 2)) CPUs=1 State=UNKNOWN
PartitionName=sim Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=other Nodes=ALL MaxTime=INFINITE State=UP
CONF
export SLURM_CONF="$B/slurm.conf"
stop() {
    for pid in "$B"/*.pid; do
        [ ! -e "$pid" ] || kill "$(cat "$pid")" 2> /dev/null
    done
    sleep 0.3
    rm -rf "$dir"
}
trap stop EXIT
slurmctld -i > "$B/start.log" 2>&1 && slurmd -N n1 >> "$B/start.log" 2>&1 && slurmd -N n2 >> "$B/start.log" 2>&1
for _ in $(seq 100); do
    [ "$(sinfo -h -o %t 2> /dev/null | sort -u)" = idle ] && break
    sleep 0.1
done
if [ "$(sinfo -h -o %t 2> /dev/null | sort -u)" != idle ]; then
    cat "$B/start.log" "$B"/*.log
    skip "sweeps under Slurm: it does not start here"
    finish
fi

cat > "$dir/x.yaml" << 'YAML'
machines: [uba-mem]
workloads: [vecadd:n=1024, vecadd:n=2048, sgemm:tiny]
axes: [{param: sm.warps, values: [8, 16, 32, 64]}]
YAML
rows() {
    python3 -c "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])" "$1" "$2"
}
expect 0 "12 points: 0 were there, 12 ran now" timeout 120 "$ATOLL" sweep "$dir/x.yaml" --db "$dir/x.db" --launcher slurm -j 2 --points-per-task 3
holds "every point is in the database, with the node that ran it" [ "$(rows "$dir/x.db" "select count(*) from run where status='done' and host in ('n1', 'n2')")" = 12 ]
holds "several points ran in one task" [ "$(ls "$dir"/x.db.spool/log.*_* | wc -l)" = 4 ]
expect 0 "12 points: 12 were there, 0 ran now" timeout 60 "$ATOLL" sweep "$dir/x.yaml" --db "$dir/x.db" --launcher slurm
"$ATOLL" sweep "$dir/x.yaml" --db "$dir/local.db" > /dev/null
holds "the same results as of a local sweep" python3 - "$dir/x.db" "$dir/local.db" << 'PY'
import json, sqlite3, sys
def results(path):
    out = {}
    for key, text in sqlite3.connect(path).execute("select key, result from run"):
        out[key] = json.loads(text)
        del out[key]["host"]
    return out
assert results(sys.argv[1]) == results(sys.argv[2])
PY

# options pass through; a wrong one is told in sbatch's words
expect 0 "ran now" timeout 60 "$ATOLL" sweep "$dir/x.yaml" --db "$dir/o.db" --launcher slurm --sbatch=--partition=other --sbatch=--comment=hello
holds "sbatch saw the option" grep -q "Partition=other" "$B/jobcomp.log"
expect 1 "sbatch did not take the job" timeout 60 "$ATOLL" sweep "$dir/x.yaml" --db "$dir/w.db" --launcher slurm --sbatch=--partition=nonsense

# a failing point is recorded; the rest of its task goes on
mkdir "$dir/empty"
printf 'machines: [uba-mem]\nworkloads: [vecadd:n=1024, {run: "%s/empty:tiny", name: gone}, sgemm:tiny]\n' "$dir" > "$dir/f.yaml"
expect 1 "1 failed" timeout 60 "$ATOLL" sweep "$dir/f.yaml" --db "$dir/f.db" --launcher slurm --points-per-task 3
holds "the others of the task are done" [ "$(rows "$dir/f.db" "select count(*) from run where status='done'")" = 2 ]

# a job that is lost (node failed, job cancelled by somebody) is submitted again
printf 'machines: [uba-mem]\nworkloads: [bfs:tiny, vecadd:n=1024]\n' > "$dir/l.yaml"
holds "what a lost job leaves is submitted again" timeout 150 python3 - "$ATOLL" "$dir" << 'PY'
import re, sqlite3, subprocess, sys
atoll, dir = sys.argv[1:]
p = subprocess.Popen([atoll, "sweep", dir + "/l.yaml", "--db", dir + "/l.db", "--launcher", "slurm", "--points-per-task", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
first = p.stderr.readline()
job = re.search(r"slurm job (\d+)", first)[1]

subprocess.run(["scancel", job], check=True)
out, err = p.communicate(timeout=120)
assert p.returncode == 0, (out, err)
assert "submitted again" in err, err
assert sqlite3.connect(dir + "/l.db").execute("select count(*) from run where status='done'").fetchone()[0] == 2
PY

# a sweep that is killed: its jobs go on, the next sweep waits for them
holds "jobs of a killed sweep are waited for, not run twice" timeout 150 python3 - "$ATOLL" "$dir" << 'PY'
import os, re, signal, sqlite3, subprocess, sys
atoll, dir = sys.argv[1:]
command = [atoll, "sweep", dir + "/l.yaml", "--db", dir + "/k.db", "--launcher", "slurm", "--points-per-task", "2"]
p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
job = re.search(r"slurm job (\d+)", p.stderr.readline())[1]
os.kill(p.pid, signal.SIGKILL)
p.wait()
again = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
assert again.returncode == 0, again
assert f"slurm job {job} of an earlier sweep still has 2 points: waiting for it" in again.stderr, again.stderr
assert sqlite3.connect(dir + "/k.db").execute("select count(*) from run where status='done'").fetchone()[0] == 2
PY
finish
