"""census.py LIBRARY: how many of the 763 programs of the census (tests/reference/cuda/api_runtime.csv) find every
runtime function that they link. A function counts when the library defines it (strongly: the weak ones answer
cudaErrorNotSupported) and a program of tests/cuda calls it; names that only the compiler writes count when defined.

The census gives programs per function, not which; a program is lost when one function is missing, so
763 - sum(programs of missing functions) is a lower bound."""
import csv
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).parent
defined = set()
for line in subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True).stdout.split("\n"):
    words = line.split()
    if len(words) == 3 and words[1] == "T":
        defined.add(words[2].split("@")[0])
called = set()
for source in root.glob("*.cu"):
    called |= set(re.findall(r"\b(cuda[A-Z]\w+)\s*(?:<[^;=]*>)?\s*\(", source.read_text()))
# what templates and headers of CUDA make of what a program writes
called |= {"cudaLaunchKernelExC"} if "cudaLaunchKernelEx" in called else set()
rows = list(csv.DictReader(open(root.parent / "reference" / "cuda" / "api_runtime.csv", encoding="utf-8")))
programs, lost, missing = 763, 0, []
for row in rows:
    name = row["symbol"]
    base = re.sub(r"_pt[sd][sz]$", "", name)
    if name not in defined or not (name.startswith("__") or base in called):
        missing.append(f"{name} ({row['programs']}{'' if name in defined else ', not there'})")
        lost += int(row["programs"])
share = 100 * (programs - lost) / programs
print(f"{len(rows) - len(missing)} of {len(rows)} functions; at least {programs - lost} of {programs} programs link: {share:.1f} %")
print("missing:", ", ".join(missing))
sys.exit(0 if share >= 97 else 1)
