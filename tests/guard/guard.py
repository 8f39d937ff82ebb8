"""Counts the instructions of waybill_guard's scenarios and holds them against baseline.json, which has one set of counts for each
compiler, processor and optimisation.

  guard.py check FOLDER NAME      counts one scenario; 1: not what the baseline says, 77: this build has no baseline
  guard.py names FOLDER NAME...   1 unless these are the program's scenarios and the baseline's
  guard.py update FOLDER          counts all and writes the baseline of this build

FOLDER is the build's own: the program, the word for this build, and what callgrind wrote.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

BASELINE = pathlib.Path(__file__).with_name("baseline.json")
SKIPPED = 77

# Two runs differ by less than a thousandth; the rest is for updates of the libraries.
SLOWER = 1.03
# A count farther below its baseline than this would let as much be lost again unseen.
FASTER = 0.90

# Counts are for any x86-64: glibc and OpenSSL choose their routines by what this processor can do, if they may.
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512VL,-AVX512F,-AVX2,-AVX,-FMA,-FMA4,-BMI2,-BMI1,-LZCNT,-MOVBE,-ERMS,-FSRM,"
                      "-SSE4_2,-SSE4_1,-SSSE3",
    "OPENSSL_ia32cap": "0x0:0x0",
    "SIMDJSON_FORCE_IMPLEMENTATION": "westmere",  # every x86-64 of the last fifteen years has it
}


class Fault(Exception):
    """The guard itself cannot do its work."""


def judge(name, baseline, now):
    """Whether a count may pass, and what to say of it."""
    ratio = now / baseline
    counts = f"{name}: {now:,} instructions, baseline {baseline:,}, ratio {ratio:.3f}"
    if ratio > SLOWER:
        return False, f"{counts}: more than {SLOWER - 1:.0%} above. If the change is worth it, take it over with ./dev baseline."
    if ratio < FASTER:
        return False, f"{counts}: faster: refresh the baseline with ./dev baseline, so that the gain cannot be lost unseen."
    return True, counts


def table(old, new):
    """Lines that compare two sets of counts."""
    lines = [f"{'scenario':<24}{'old':>14}{'new':>14}  ratio"]
    for name in sorted(old.keys() | new.keys()):
        before, after = (f"{counts[name]:,}" if name in counts else "-" for counts in (old, new))
        ratio = f"{new[name] / old[name]:.3f}" if name in old and name in new else "-"
        lines.append(f"{name:<24}{before:>14}{after:>14}  {ratio}")
    return lines


def total_of(profile):
    """The instructions of a file that callgrind wrote."""
    found = re.search(r"^totals: (\d+)$", profile, re.MULTILINE)
    if not found or int(found[1]) == 0:
        raise Fault("callgrind counted nothing")
    return int(found[1])


def count(folder, name):
    profile = folder / f"{name}.callgrind"
    profile.unlink(missing_ok=True)
    run = subprocess.run(
        ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={profile}",
         folder / "waybill_guard", name],
        env=ENVIRONMENT, capture_output=True, text=True)
    if run.returncode != 0 or not profile.exists():
        raise Fault(f"{name} cannot be counted:\n{run.stderr}")
    return total_of(profile.read_text())


def scenarios(folder):
    return subprocess.run([folder / "waybill_guard", "--list"], check=True, capture_output=True, text=True).stdout.split()


def check(folder, build, baselines, name):
    if build not in baselines:
        print(f"there is no baseline for {build}, only for {', '.join(sorted(baselines))}; ./dev baseline makes one")
        return SKIPPED
    if name not in baselines[build]:
        raise Fault(f"{name} is not in the baseline for {build}; ./dev baseline adds it")
    good, words = judge(name, baselines[build][name], count(folder, name))
    print(words)
    if not good:
        print(f"callgrind_annotate {folder / name}.callgrind shows where they are spent")
    return 0 if good else 1


def names(folder, build, baselines, expected):
    known = {"the program": scenarios(folder), "ctest": expected}
    if build in baselines:
        known["the baseline; refresh it with ./dev baseline"] = baselines[build]
    every = set().union(*known.values())
    missing = [f"{name} is missing in {where}" for where, there in known.items() for name in sorted(every - set(there))]
    print("\n".join(missing))
    return 1 if missing else 0


def update(folder, build, baselines):
    counts = {name: count(folder, name) for name in scenarios(folder)}
    print(build, *table(baselines.get(build, {}), counts), sep="\n")
    baselines[build] = counts
    BASELINE.write_text(json.dumps(baselines, indent=2, sort_keys=True) + "\n")
    return 0


def main(verb, folder, *arguments):
    folder = pathlib.Path(folder).absolute()
    build = (folder / "build").read_text().strip()
    baselines = json.loads(BASELINE.read_text())
    if verb == "check":
        return check(folder, build, baselines, *arguments)
    if verb == "names":
        return names(folder, build, baselines, arguments)
    if verb == "update":
        return update(folder, build, baselines)
    raise Fault(__doc__)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except Fault as fault:
        sys.exit(f"guard: {fault}")
