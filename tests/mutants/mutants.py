"""Breaks the program on purpose, one patch of this folder at a time, and expects the named tests to notice.

  mutants.py run [--jobs N] [PATTERN]   builds and tests each mutant whose name matches; 1 if any lives or anything is out of order
  mutants.py check                      1 unless every patch is well formed and still applies; builds nothing

A patch begins with three lines and an empty one, before the diff as git writes it:

  Target: unit_claim                    the test program that is built, and run
  Kills: Claiming.AStopGivesBack*       the tests of it that must fail, as a --gtest_filter
  One sentence that says what is broken.

All of it happens to the last commit, in a worktree of its own at build/mutants, which stays so that the next run builds little. The
named tests must pass there before anything is broken.
"""
import argparse
import dataclasses
import fnmatch
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TREE = ROOT / "build/mutants"
RUN_SECONDS = 600  # a mutant may make a test hang: that is noticed too
HEADER = re.compile(r"Target: (?P<target>\w+)\nKills: (?P<kills>\S+)\n(?P<sentence>[^\n]+\.)\n\n(?=diff --git )")


class Fault(Exception):
    """The mutants themselves are not in order, whatever the tests say."""


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    patch: pathlib.Path
    target: str
    kills: str
    sentence: str


def read(patch):
    header = HEADER.match(patch.read_text())
    if not header:
        raise Fault(f"{patch.name}: it must begin with Target:, Kills: and a sentence, then an empty line and the diff")
    return Mutant(patch.stem, patch, header["target"], header["kills"], header["sentence"])


def mutants_of(folder, pattern="*"):
    """Those whose name matches the pattern or has it in it, in the order of their names."""
    found = [path for path in sorted(folder.glob("*.patch"))
             if fnmatch.fnmatch(path.stem, pattern) or pattern in path.stem]
    if not found:
        raise Fault(f"no mutant is called {pattern}")
    return [read(path) for path in found]


def apply(tree, mutant, *options):
    done = subprocess.run(["git", "apply", "-C1", *options, str(mutant.patch)], cwd=tree, capture_output=True, text=True)
    if done.returncode != 0:
        raise Fault(f"{mutant.name}: the patch does not apply; the code has moved on, so write it anew: {done.stderr.strip()}")


@dataclasses.dataclass(frozen=True)
class Run:
    """What a test program said."""
    code: object  # None: it did not end
    output: str

    def tests(self):
        ran = re.search(r"^\[=+\] Running (\d+) tests? from", self.output, re.MULTILINE)
        return int(ran[1]) if ran else 0

    def passed(self):
        return self.code == 0 and self.tests() > 0 and "[  SKIPPED ]" not in self.output

    def verdict(self):
        """How a mutant fared with it."""
        if self.tests() == 0:
            raise Fault(f"no test ran: {self.output[-500:]}")
        if "[  SKIPPED ]" in self.output:
            raise Fault(f"a test was skipped: {self.output[-500:]}")
        if self.code is None:
            return "killed: a test hangs"
        if self.code == 0:
            return "LIVES"
        failed = re.findall(r"^\[  FAILED  \] ([\w/.]+)(?= \(|$)", self.output, re.MULTILINE)
        return f"killed by {failed[0]}" if failed else f"killed: the program ended with {self.code}"


class Workshop:
    """A worktree of the last commit with its build folder. For one thread."""

    def __init__(self, tree, jobs):
        self.tree = tree
        self.jobs = ["--parallel", str(jobs)] if jobs else []

    def prepare(self):
        """The last commit, whatever an earlier run has left behind."""
        git = ["git", "-C", str(ROOT)]
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        if not (self.tree / ".git").exists():
            subprocess.run([*git, "worktree", "prune"], check=True)
            subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(self.tree), commit], check=True)
        self.call(["git", "checkout", "--quiet", "--force", "--detach", commit], "git checkout failed")
        self.call(["cmake", "--preset", "dev"], "cmake failed")

    def build(self, targets, complaint):
        self.call(["cmake", "--build", "--preset", "dev", *self.jobs, "--target", *sorted(set(targets))], complaint)

    def run(self, target, kills):
        program = self.tree / "build/dev/tests" / target
        try:
            done = subprocess.run([program, f"--gtest_filter={kills}"], cwd=program.parent, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace", timeout=RUN_SECONDS)
        except subprocess.TimeoutExpired as late:
            return Run(None, (late.stdout or b"").decode(errors="replace"))
        return Run(done.returncode, done.stdout)

    def call(self, command, complaint):
        done = subprocess.run(command, cwd=self.tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Fault(f"{complaint}: {done.stdout[-3000:]}")

    def restore(self):
        self.call(["git", "checkout", "--quiet", "--force", "HEAD", "--", "."], "git checkout failed")


def try_on(workshop, mutant):
    """What became of the mutant."""
    try:
        apply(workshop.tree, mutant)
        workshop.build([mutant.target], f"{mutant.name} does not build")
        return workshop.run(mutant.target, mutant.kills).verdict()
    finally:
        workshop.restore()


def check_unbroken(workshop, mutants):
    """What is wrong with the tests while nothing is broken: of those that fail then, a failure would prove nothing."""
    workshop.build([mutant.target for mutant in mutants], "the last commit does not build")
    faults = {}
    for target, kills in sorted({(mutant.target, mutant.kills) for mutant in mutants}):
        run = workshop.run(target, kills)
        if not run.passed():
            faults[target, kills] = f"{target} --gtest_filter={kills} does not pass without the mutant: {run.output[-1500:]}"
    return faults


def run_all(mutants, jobs):
    workshop = Workshop(TREE, jobs)
    workshop.prepare()
    print(f"building {len({mutant.target for mutant in mutants})} test programs of the last commit", flush=True)
    faults = check_unbroken(workshop, mutants)
    bad = 0
    for mutant in mutants:
        begun = time.monotonic()
        try:
            if fault := faults.get((mutant.target, mutant.kills)):
                raise Fault(fault)
            verdict = try_on(workshop, mutant)
        except Fault as fault:
            verdict = f"FAULT {fault}"
        bad += not verdict.startswith("killed")
        print(f"{mutant.name:<44}{time.monotonic() - begun:6.0f} s  {verdict}", flush=True)
    print(f"{len(mutants)} mutants, {len(mutants) - bad} killed, {bad} not")
    return 1 if bad else 0


def check(folder, tree):
    faults = []
    for mutant in mutants_of(folder):
        try:
            apply(tree, mutant, "--check")
        except Fault as fault:
            faults.append(str(fault))
    if faults:
        raise Fault("\n".join(faults))


def main(arguments):
    parser = argparse.ArgumentParser(prog="mutants.py")
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run")
    run.add_argument("--jobs", type=int, default=0)
    run.add_argument("pattern", nargs="?", default="*")
    verbs.add_parser("check")
    asked = parser.parse_args(arguments)
    try:
        if asked.verb == "check":
            check(HERE, ROOT)
            return 0
        return run_all(mutants_of(HERE, asked.pattern), asked.jobs)
    except Fault as fault:
        print(f"mutants: {fault}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
