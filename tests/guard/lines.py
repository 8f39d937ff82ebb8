#!/usr/bin/env python3
"""Holds how many lines the compiler reads against tests/guard/lines.json: headers that creep in cost every build, and lines, unlike
seconds, are the same on every machine.

usage: lines.py check|update|show BUILD

BUILD is a folder that ninja has built whole. A line counts once for each translation unit that reads it. `check` says which
target reads more on average than it may, or whether all of them do together; `update` writes what is so now; `show` lists it.
Exit code 77: there is no baseline for this compiler."""
import json
import pathlib
import re
import subprocess
import sys

BASELINE = pathlib.Path(__file__).with_name("lines.json")
MARGIN = 1.05


def dependencies(text):
    """Of `ninja -t deps`: the files that each object was made of."""
    found, object_file = {}, None
    for line in text.splitlines():
        if line.startswith("    "):
            found[object_file].append(line.strip())
        elif line:
            object_file = line.split(":", 1)[0]
            found[object_file] = []
    return found


def target_of(object_file):
    """plugin-api/CMakeFiles/waybill_fake_host.dir/block.cpp.o belongs to waybill_fake_host."""
    found = re.search(r"CMakeFiles/([^/]+)\.dir/", object_file)
    return found[1] if found else None


def count(deps, lines_of):
    """{target: [translation units, lines]}"""
    targets = {}
    for object_file, files in deps.items():
        target = target_of(object_file)
        if target:
            counted = targets.setdefault(target, [0, 0])
            counted[0] += 1
            counted[1] += sum(lines_of(file) for file in files)
    return targets


def complaints(now, allowed, margin=MARGIN):
    """What reads more than it may. A target that is new, or has more translation units, is held against the total alone."""
    found = []
    for target, (units, lines) in sorted(now.items()):
        if target not in allowed:
            continue
        average, before = lines / units, allowed[target][1] / allowed[target][0]
        if average > before * margin:
            found.append(f"{target}: {average:,.0f} lines in each of {units} translation units, {before:,.0f} before")
    total, before = (sum(lines for _, lines in all_of.values()) for all_of in (now, allowed))
    if total > before * margin:
        found.append(f"all targets: {total:,} lines, {before:,} before")
    return found


def as_in_ci(now, allowed, cache):
    """Without the suites that CI builds with sanitizers in another folder, where this build has them itself."""
    if re.search(r"^WAYBILL_CHECKED_BUILD:\w+=.", cache, re.M):
        return now
    return {target: counted for target, counted in now.items()
            if target in allowed or not target.startswith(("unit_", "contract_"))}


def text_of(baselines):
    """As the file has it: a target a line."""
    def lines(one):
        return ",\n".join(f"  {json.dumps(target)}: {json.dumps(counted)}" for target, counted in sorted(one.items()))
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {{\n{lines(one)}\n }}" for key, one in sorted(baselines.items())) + "\n}\n"


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "update", "show"):
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[2]).resolve()
    cache = (build / "CMakeCache.txt").read_text()
    known = {}

    def lines_of(file):
        if file not in known:
            path = build / file
            known[file] = path.read_bytes().count(b"\n") if path.exists() else 0
        return known[file]

    ninja = re.search(r"^CMAKE_MAKE_PROGRAM:\w+=(.*)$", cache, re.M)[1]
    deps = dependencies(subprocess.run([ninja, "-C", build, "-t", "deps"], check=True, capture_output=True, text=True).stdout)
    now = count(deps, lines_of)
    compiler = subprocess.run([re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.M)[1], "-dumpversion"], check=True,
                              capture_output=True, text=True).stdout.split(".")[0].strip()
    is_joined = re.search(r"^WAYBILL_UNITY:\w+=ON$", cache, re.M) is not None
    key = f"gcc-{compiler}" + (" joined" if is_joined else "")
    all_of = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    if sys.argv[1] == "update":
        all_of[key] = now
        BASELINE.write_text(text_of(all_of))
    elif sys.argv[1] == "show":
        for target, (units, lines) in sorted(now.items(), key=lambda one: -one[1][1]):
            print(f"{lines:12,} {units:4} {target}")
    elif key not in all_of:
        print(f"lines.json has no baseline for {key}")
        sys.exit(77)
    else:
        found = complaints(as_in_ci(now, all_of[key], cache), all_of[key])
        for one in found:
            print(one)
        if found:
            sys.exit("Look for the header that came in (ninja -t deps). If it is worth that: tests/guard/lines.py update BUILD")


if __name__ == "__main__":
    main()
