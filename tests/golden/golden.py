#!/usr/bin/env python3
"""golden.py record|add|compare [--all] [--whole] OUTPUT...: the record of the golden runs.

OUTPUT are files written by build/tests/golden_runs, which describes their lines. The record has three files beside
this one:
    runs.digests  one line per run: its name, a digest per section, the configuration it uses, or its error
    items.tsv     the names of all items, then per run and section a digest of four characters per item, in the order of
                  the names; '-': the run has no such item; '.': the digest of the first run with this section;
                  '=RUN': the same line as that of an earlier run
    config.tsv    per configuration its name, an earlier configuration, and the parameters in which it differs from that

compare fails if a recorded item is different or absent, if a run is not in the record, or if a parameter that both
have is different. New items and parameters are listed as added and are no failure. --whole: OUTPUT has all runs, so a
recorded run that OUTPUT does not have is a difference.

add records the runs of OUTPUT that the record does not have, such as those of new machines, and keeps all other rows.
"""
import base64
import hashlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS, ITEMS, CONFIG = (os.path.join(HERE, name) for name in ("runs.digests", "items.tsv", "config.tsv"))
ABSENT, AS_FIRST = "-", "."
EXCLUDED = {"laws_checked"}  # counts the laws of the program; older records have the item
SHOWN_LINES, SHOWN_NAMES = 40, 6


class Run:
    def __init__(self, same_as=""):
        self.same_as = same_as
        self.error = None
        self.config = {}
        self.sections = {}  # section: {item: digest of 16 hex digits}


def short(digest):
    """The item digest of items.tsv: 24 bits in four characters."""
    return base64.b64encode(bytes.fromhex(digest[:6]), b"+_").decode()


def section_digest(items):
    text = "".join(f"{name}={items[name]}\n" for name in sorted(items))
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def read_outputs(paths):
    runs, complete = {}, True
    for path in paths:
        run, name, ended = None, "no run", False
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                kind, *fields = line.rstrip("\n").split("\t")
                if kind == "run":
                    name = fields[0]
                    run = runs[name] = Run(fields[1])
                elif kind == "error":
                    run.error = fields
                elif kind == "config":
                    run.config[fields[0]] = fields[1]
                elif kind == "item":
                    run.sections.setdefault(fields[0], {})[fields[1]] = fields[2]
                elif kind == "end":
                    ended = True
        if not ended:
            print(f"golden_runs ended early; the last run that started is {name}")
            runs.pop(name, None)
            complete = False
    return runs, complete


# ---- record ----


def pack(digests, first):
    return "".join(AS_FIRST if d == f != ABSENT else d for d, f in zip(digests, first))


def unpack(text, first):
    digests, at = [], 0
    while at < len(text):
        if text[at] == AS_FIRST:
            digests.append(first[len(digests)])
        else:
            digests.append(text[at] if text[at] == ABSENT else text[at : at + 4])
        at += 4 if len(digests[-1]) == 4 and text[at] != AS_FIRST else 1
    return digests


def write_configs(configs):
    """configs: {name: {key: value}}. Each one refers to the earlier one with the fewest differences."""
    with open(CONFIG, "w") as out:
        for k, (name, config) in enumerate(configs.items()):
            best, rows = "none", config
            for other, earlier in list(configs.items())[:k]:
                diff = {key: value for key, value in config.items() if earlier.get(key) != value}
                if earlier.keys() <= config.keys() and len(diff) < len(rows):
                    best, rows = other, diff
            out.write("\t".join([name, best, *(f"{key}={value}" for key, value in rows.items())]) + "\n")


def write_items(names, vectors):
    """vectors: {(run, section): digests in the order of names[section]}."""
    firsts, earlier = {}, {}
    with open(ITEMS, "w") as out:
        for section in sorted(names):
            out.write("\t".join(["names", section, *names[section]]) + "\n")
        for (name, section), digests in vectors.items():
            first = firsts.get(section, [ABSENT] * len(digests))
            firsts.setdefault(section, digests)
            same = earlier.setdefault((section, tuple(digests)), name)
            out.write("\t".join([name, section, pack(digests, first) if same == name else "=" + same]) + "\n")


def write_record(runs):
    names, vectors, configs = {}, {}, {}
    for run in runs.values():
        for section, items in run.sections.items():
            names.setdefault(section, {}).update(dict.fromkeys(items))
    known = {}  # text of a configuration: name of its first run
    with open(RUNS, "w") as out:
        for name in sorted(runs):
            run = runs[name]
            if run.same_as:
                continue
            if run.error:
                out.write("\t".join([name, "error", *run.error]) + "\n")
                continue
            config = known.setdefault(repr(sorted(run.config.items())), name)
            configs.setdefault(config, run.config)
            row = [name]
            for section in sorted(run.sections):
                items = run.sections[section]
                row.append(f"{section}={section_digest(items)}")
                vectors[name, section] = [short(items[k]) if k in items else ABSENT for k in names[section]]
            out.write("\t".join([*row, "config=" + config]) + "\n")
    write_items(names, vectors)
    write_configs(configs)


class Record:
    def __init__(self):
        self.runs, self.names, self.vectors, self.configs = {}, {}, {}, {}
        for path in (RUNS, ITEMS, CONFIG):
            if not os.path.exists(path):
                sys.exit(f"golden: {path} is missing; tests/golden.sh record writes it")
        for name, *fields in self.rows(RUNS):
            self.runs[name] = fields
        firsts = {}
        for name, section, *rest in self.rows(ITEMS):
            if name == "names":
                self.names[section] = rest
            elif rest[0][0] == "=":
                self.vectors[name, section] = self.vectors[rest[0][1:], section]
            else:
                self.vectors[name, section] = unpack(rest[0], firsts.get(section))
                firsts.setdefault(section, self.vectors[name, section])
        for name, other, *pairs in self.rows(CONFIG):
            self.configs[name] = {**self.configs.get(other, {}), **dict(pair.split("=", 1) for pair in pairs)}

    @staticmethod
    def rows(path):
        with open(path) as lines:
            return [line.rstrip("\n").split("\t") for line in lines]

    def items(self, name, section):
        """Short digests of the items of one run."""
        digests = self.vectors.get((name, section), [])
        return {item: d for item, d in zip(self.names.get(section, []), digests) if d != ABSENT}


# ---- add ----


def insert_sorted(path, rows):
    """Adds rows to a file of rows that begin with a name, in the order of names."""
    with open(path) as lines:
        rows = sorted([*lines.read().splitlines(), *rows], key=lambda row: row.split("\t")[0])
    with open(path, "w") as out:
        out.write("\n".join(rows) + "\n")


def config_row(record, name, config):
    """The row of a new configuration, with its differences from the recorded one that is nearest."""
    best, rows = "none", config
    for other, earlier in record.configs.items():
        diff = {key: value for key, value in config.items() if earlier.get(key) != value}
        if earlier.keys() <= config.keys() and len(diff) < len(rows):
            best, rows = other, diff
    return "\t".join([name, best, *(f"{key}={value}" for key, value in rows.items())])


def add_runs(runs):
    """Records the runs that the record does not have. Their new items are left out: record writes them."""
    record = Record()
    firsts = {}
    for (_, section), digests in record.vectors.items():
        firsts.setdefault(section, digests)
    fresh = {name: run for name, run in sorted(runs.items()) if not run.same_as and name not in record.runs}
    rows, items, configs = [], [], []
    for name, run in fresh.items():
        if run.error:
            rows.append("\t".join([name, "error", *run.error]))
            continue
        config = next((known for known, values in record.configs.items() if values == run.config), name)
        if config == name:
            configs.append(config_row(record, name, run.config))
            record.configs[name] = run.config
        row = [name]
        for section in sorted(set(run.sections) & set(record.names)):
            names = record.names[section]
            known = {item: run.sections[section][item] for item in names if item in run.sections[section]}
            row.append(f"{section}={section_digest(known)}")
            digests = [short(known[item]) if item in known else ABSENT for item in names]
            items.append("\t".join([name, section, pack(digests, firsts[section])]))
        rows.append("\t".join([*row, "config=" + config]))
    insert_sorted(RUNS, rows)
    for path, more in ((ITEMS, items), (CONFIG, configs)):
        with open(path, "a") as out:
            out.writelines(row + "\n" for row in more)
    return len(fresh)


# ---- compare ----


def may_be_absent(section, item, one, other):
    """Runs that must be the same may measure the slice queues in one of them only (src/report/depths.c)."""
    return section == "totals" and item.startswith("slice_queues.") and (item not in one or item not in other)


class Comparison:
    def __init__(self, record):
        self.record = record
        self.lines = []
        self.different = set()  # names of runs
        self.counts = {}  # (section, item): number of runs in which it differs
        self.added, self.removed_keys = set(), set()

    def differ(self, name, section, text):
        self.different.add(name)
        self.lines.append(f"{name}: {section}: {text}")

    def sections(self, name, run, base):
        recorded = dict(field.split("=", 1) for field in self.record.runs[base])
        for section in sorted(set(run.sections) | set(recorded) - {"config"}):
            known = set(self.record.names.get(section, []))
            fresh = run.sections.get(section, {})
            self.added |= {f"{section} {item}" for item in fresh if item not in known}
            fresh = {item: digest for item, digest in fresh.items() if item in known}
            if section_digest(fresh) == recorded.get(section, section_digest({})):
                continue
            old, new = self.record.items(base, section), {item: short(d) for item, d in fresh.items()}
            changed = [item for item in self.record.names.get(section, []) if old.get(item) != new.get(item)]
            if EXCLUDED & set(old):
                changed = [item for item in changed if item not in EXCLUDED]
                if not changed:
                    continue
            if run.same_as:
                changed = [item for item in changed if not may_be_absent(section, item, old, new)]
                if not changed:
                    continue
            for item in changed:
                self.counts[section, item] = self.counts.get((section, item), 0) + 1
            words = [item + ("" if item in new else " (absent)") + ("" if item in old else " (was absent)") for item in changed]
            more = f" and {len(words) - SHOWN_NAMES} more" if len(words) > SHOWN_NAMES else ""
            self.differ(name, section, ", ".join(words[:SHOWN_NAMES]) + more if words else "section digest only")

    def config(self, name, run):
        recorded = dict(field.split("=", 1) for field in self.record.runs[name])
        old = self.record.configs[recorded["config"]]
        self.added |= {f"config {key}" for key in run.config if key not in old}
        self.removed_keys |= {key for key in old if key not in run.config}
        changed = [f"{key} was {old[key]}, is {run.config[key]}" for key in old if run.config.get(key, old[key]) != old[key]]
        if changed:
            self.differ(name, "config", "; ".join(changed[:SHOWN_NAMES]) + (" ..." if len(changed) > SHOWN_NAMES else ""))

    def run(self, name, run):
        base = run.same_as or name
        old = self.record.runs.get(base)
        if old is None:
            self.differ(name, "run", "is not in the record")
        elif run.error and old[0] != "error":
            self.differ(name, "run", "fails now: " + run.error[2])
        elif old[0] == "error":
            if not run.error or run.error[:2] != old[1:3]:
                self.differ(name, "run", f"was error {old[1]}: {old[3]}; is {run.error or 'no error'}")
        else:
            self.sections(name, run, base)
            if not run.same_as:
                self.config(name, run)

    def print(self, whole):
        for line in self.lines if whole else self.lines[:SHOWN_LINES]:
            print(line)
        if not whole and len(self.lines) > SHOWN_LINES:
            print(f"... {len(self.lines) - SHOWN_LINES} lines more (--all prints them)")
        for (section, item), count in sorted(self.counts.items(), key=lambda row: -row[1])[:12]:
            print(f"different in {count} runs: {section} {item}")
        print_list("added since the record", self.added)
        print_list("parameters of the record that no longer exist", self.removed_keys)


def print_list(title, names):
    if names:
        print(f"{title}: {len(names)}: " + ", ".join(sorted(names)[:20]) + (" ..." if len(names) > 20 else ""))


def renames(record, runs):
    """Pairs of an absent and an added item whose digests are the same in all runs."""
    columns = {}
    for name, run in runs.items():
        if run.same_as or run.error or name not in record.runs:
            continue
        for section, items in run.sections.items():
            old, new = record.items(name, section), {item: short(d) for item, d in items.items()}
            for item in set(old) | set(new):
                before, now = columns.setdefault((section, item), ({}, {}))
                before.update({name: old[item]} if item in old else {})
                now.update({name: new[item]} if item in new else {})
    absent = {key: before for key, (before, now) in columns.items() if before and not now}
    added = {key: now for key, (before, now) in columns.items() if now and not before}
    for (section, item), digests in sorted(absent.items()):
        same = [other for (where, other), now in sorted(added.items()) if where == section and now == digests]
        if item in EXCLUDED:
            continue
        print(f"absent: {section} {item}" + (f"; equal in all runs: {', '.join(same[:3])}" if same else ""))


def compare(runs, whole_set, whole_output):
    record = Record()
    comparison = Comparison(record)
    for name in sorted(runs):
        comparison.run(name, runs[name])
    if whole_set:
        for name in sorted(set(record.runs) - set(runs)):
            comparison.differ(name, "run", "is in the record and did not run")
    comparison.print(whole_output)
    renames(record, runs)
    return len(comparison.different)


def same_runs_differ(runs):
    """Checks, before a record is written, that runs with SAME_AS give the items of that run."""
    wrong = 0
    for name, run in sorted(runs.items()):
        if not run.same_as:
            continue
        for section in sorted(set(run.sections) | set(runs[run.same_as].sections)):
            one, other = (which.sections.get(section, {}) for which in (runs[run.same_as], run))
            for item in sorted(set(one) | set(other)):
                if one.get(item) != other.get(item) and not may_be_absent(section, item, one, other):
                    print(f"{name}: {section} {item} differs from {run.same_as}")
                    wrong += 1
    return wrong


def main():
    mode, *rest = sys.argv[1:] or [""]
    options = {word for word in rest if word.startswith("--")}
    runs, complete = read_outputs([word for word in rest if word not in options])
    if mode == "record":
        if not complete or same_runs_differ(runs):
            sys.exit("golden: nothing recorded")
        write_record(runs)
        for name, run in sorted(runs.items()):
            if run.error:
                print(f"{name}: recorded as error {run.error[0]}: {run.error[2]}")
        print(f"golden: {len(runs)} runs recorded")
    elif mode == "add":
        print(f"golden: {add_runs(runs)} runs added")
    elif mode == "compare":
        different = compare(runs, "--whole" in options and complete, "--all" in options)
        if different or not complete:
            sys.exit(f"golden: {different} of {len(runs)} runs differ" + ("" if complete else "; the set is not complete"))
        print(f"golden: {len(runs)} runs equal")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
