#!/usr/bin/env python3
"""rooms.py: checks which room (folder of src/) includes which.

A room includes only rooms to its left in ORDER, so the graph of rooms has no cycle, and private headers stay in their
room. Tests, fuzz targets and .def files are not counted: a table of parameters or statistics gathers rows of all rooms.

    rooms.py            checks; prints every violation, exit status 1 if there is one
    rooms.py --graph    prints the graph: each room with the rooms that it includes
"""
import collections
import pathlib
import re
import sys

ORDER = (
    "base stats engine config request cache check net dram ptx exec analysis runtime llc policy pages mmu sm control "
    "system measure frontend study report sweep api cli"
).split()
# The loop over a channel's reads runs inside a slice and needs the state of both (see its head).
PRIVATE_EXCEPTIONS = {("llc", "dram/channel_inside.h")}

root = pathlib.Path(__file__).resolve().parent.parent / "src"
include = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([a-z_0-9]+)/([^"]+\.h)"', re.MULTILINE)
relative = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"(\.[^"]*)"', re.MULTILINE)
edges = collections.defaultdict(set)
problems = []
for path in sorted(root.rglob("*.[ch]")):
    if re.search(r"_(test|fuzz)\.c$", path.name):
        continue
    room = path.relative_to(root).parts[0]
    if room not in ORDER:
        problems.append(f"src/{room}: not a room of ORDER in tools/rooms.py")
        continue
    for header in relative.findall(path.read_text()):
        problems.append(f"{path.relative_to(root.parent)} includes {header}: name headers from src/, as room/header.h")
    for other, header in include.findall(path.read_text()):
        if other == room or other not in ORDER:
            continue
        where = f"{path.relative_to(root.parent)} includes {other}/{header}"
        edges[room].add(other)
        if ORDER.index(other) > ORDER.index(room):
            problems.append(f"{where}: room {other} is to the right of room {room}")
        private = re.search(r"_(private|inside)\.h$", header)
        if private and (room, f"{other}/{header}") not in PRIVATE_EXCEPTIONS:
            problems.append(f"{where}: private to room {other}")
if "--graph" in sys.argv[1:]:
    for room in ORDER:
        if (root / room).is_dir():
            print(f"{room:10} {' '.join(o for o in ORDER if o in edges[room])}")
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
