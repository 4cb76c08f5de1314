#!/usr/bin/env python3
"""roles.py: enumerators of a role are used in the role's own room only.

    roles.py [ROOT]

A role is a choice of one policy or organisation among the rows of a .def file. Code outside the role's room
calls the role's functions or a predicate of src/config/config.h; it does not compare enumerators. The rules of
machines may name them. Tests are not checked.
Exit status: 0 no use outside, 1 otherwise; each use is printed as file:line.
"""
import fnmatch
import os
import re
import sys

EVERYWHERE = ["src/config/config.h", "src/*rules.def"]  # predicates and rules of machines
ROLES = [  # role, prefix of its enumerators (a regular expression), paths of its room
    ("LLC organisation", "llc_organisation_", ["src/llc/*"]),
    ("coherence", "llc_coherence_", ["src/llc/*"]),
    ("page placement", "page_placement_", ["src/policy/placement/*"]),
    ("page migration", "page_migration_", ["src/policy/migration/*"]),
    ("page replication", "page_copies_", ["src/policy/page_replication/*"]),
    ("page copier", "page_engine_", ["src/pages/*"]),
    ("caching of remote lines", "crb_policy_", ["src/policy/caching/*"]),
    ("caching of remote lines", "crb_by_", ["src/policy/caching/*"]),
    ("acquire and RDC", "(?:llc_acquire|rdc_index)_", ["src/llc/*"]),
    ("binding of blocks", "(?:lasp_(?:hierarchy|match|source)|coda_granule)_", ["src/policy/binding/*", "src/policy/placement/*"]),
    ("CTA scheduling", "block_scheduler_", ["src/policy/cta_sched/*"]),
    ("partition policy", "partition_policy_", ["src/policy/partition/*"]),
    ("replication policy", "replication_policy_", ["src/policy/replication/*"]),
    ("replication of NUBA", "nuba_copies_(?!written)", ["src/policy/replication/*"]),
]
SKIPPED = ["*_test.c", "*_fuzz.c"]
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


def matches(path, patterns):
    return any(fnmatch.fnmatch(path, p) for p in patterns)


def sources(root):
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith((".c", ".h", ".def")) and not matches(path, SKIPPED):
                yield path


def uses(root, roles):
    for path in sorted(sources(root)):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        # comments and strings become blanks of the same lines
        code = COMMENT_OR_STRING.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
        for role, prefix, room in roles:
            if matches(path, room + EVERYWHERE):
                continue
            for found in re.finditer(r"\b" + prefix + r"\w+", code):
                yield f"{path}:{code.count(chr(10), 0, found.start()) + 1}: {found.group()} ({role})"


def main(arguments):
    root = arguments[0] if arguments else os.path.join(os.path.dirname(__file__), "..")
    found = list(uses(root, ROLES))
    for line in found:
        print(line)
    if found:
        print(f"roles: {len(found)} enumerators of a role are used outside its room, the rules and config.h")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
