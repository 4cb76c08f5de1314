#!/bin/sh
# Table IV of the CARVE paper (C024 to C029): what software coherence costs at a kernel boundary in the worst case follows
# from the preset's capacities and bandwidths. C024 counts 16 banks of the LLC and a line per cycle and bank, as the paper
# does; our slices are 32, and llc.flush_lines a cycle each.
. tests/cli/lib.sh
"$ATOLL" config -m carve > "$dir/config" 2>&1
timeout 100 "$ATOLL" run -m carve-swc-s32 -w triad:n=100000,repeat=2 --json "$dir/swc.json" > "$dir/log" 2>&1
holds "Table IV" python3 - "$dir" << 'PYTHON'
import csv, json, re, sys
text = open(f"{sys.argv[1]}/config").read()
units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "GB/s": 1e9, "GHz": 1e9, "MHz": 1e6, "B": 1}
def value(section, name):
    body = re.search(rf"^{section}:.*?\n(.*?)(?=^\w|\Z)", text, re.S | re.M).group(1)
    number, unit = re.search(rf"^  {name}: ([0-9.]+) ?([A-Za-z/]*)", body, re.M).groups()
    return float(number) * units.get(unit, 1)
claims = {row["id"]: float(row["value"]) for row in csv.DictReader(open("tests/reference/claims.csv")) if "C024" <= row["id"] <= "C029"}
llc, rdc, clock = value("gpu", "llc_size"), value("rdc", "size"), value("clock", "llc")
memory = value("chiplet", "partitions") * value("partition", "channels") * value("dram", "column_size") * value("clock", "dram") / value("dram", "burst_cyc")
link = value("gpu_net", "bandwidth")
ours = {
    "C024": llc / 128 / 16 / clock * 1e6, # us; a bank takes a line per cycle
    "C025": rdc / memory * 1e3, # ms
    "C026": llc / memory * 1e6,
    "C027": llc / link * 1e6,
    "C028": rdc / link * 1e3,
}
for claim, number in ours.items():
    assert abs(number / claims[claim] - 1) < 0.06, (claim, number, claims[claim])
# C029: with epochs and stores that pass on, a boundary writes and resets nothing in the remote data cache
stats = json.load(open(f"{sys.argv[1]}/swc.json"))["stats"]
assert claims["C029"] == 0 and stats["rdc.resets"] == stats["rdc.reset_lines"] == 0
PYTHON
finish
