"""The package as users install it: a wheel, built and installed by the commands of the README, in an environment with nothing else. And what it is
made of: Python 3.9.  Q8"""
import ast
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PYTHON = pathlib.Path(__file__).resolve().parents[1]
SOURCES = sorted((PYTHON / "waybill").glob("*.py"))
# What came after 3.9 and is easily used by mistake: modules, and names of modules.
NEWER = {"tomllib", "StrEnum", "TaskGroup", "ExceptionGroup", "NotRequired", "Required", "Self", "TypeAlias", "ParamSpec", "assert_never", "override",
         "pairwise", "batched", "UTC", "aclosing", "anext", "aiter", "bit_count", "add_note", "slots", "kw_only"}


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise AssertionError("%s:\n%s%s" % (command, done.stdout, done.stderr))
    return done.stdout


class Package(unittest.TestCase):
    def test_its_wheel_is_built_installed_and_imported(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="waybill-wheel-"))
        self.addCleanup(shutil.rmtree, folder)
        shutil.copytree(PYTHON, folder / "clients/python", ignore=shutil.ignore_patterns("__pycache__"))  # a build leaves things beside its sources
        (commands,) = re.findall(r"```sh\n(.*?)```", (PYTHON / "README.md").read_text(encoding="utf-8"), re.DOTALL)
        build, install = commands.strip().splitlines()
        self.assertTrue(build.startswith("python3 -m pip wheel ") and install.startswith("python3 -m pip install "), commands)
        python, *build = build.split()
        run(sys.executable, *build, "--no-index", "--no-build-isolation", cwd=folder)
        run(sys.executable, "-m", "venv", folder / "venv")
        python, *install = install.split()
        run(folder / "venv/bin/python3", *install, "--no-index", cwd=folder)
        told = run(folder / "venv/bin/python3", "-I", "-c", "import waybill; print(waybill.__version__, waybill.__file__); waybill.Client('http://localhost')",
                   cwd="/")
        version, file = told.split()
        self.assertEqual(version, re.search(r"project\(waybill VERSION (\S+)", (PYTHON.parents[1] / "CMakeLists.txt").read_text())[1])
        self.assertTrue(file.startswith(str(folder / "venv")), file)
        installed = {path.name for path in pathlib.Path(file).parent.iterdir()} - {"__pycache__"}
        self.assertEqual(installed, {path.name for path in SOURCES} | {"py.typed"})
        metadata = run(folder / "venv/bin/python3", "-m", "pip", "show", "waybill")
        self.assertRegex(metadata, r"(?m)^Requires: *$")


class Sources(unittest.TestCase):
    def test_they_are_python_3_9(self):
        for source in SOURCES:
            tree = ast.parse(source.read_text(encoding="utf-8"), str(source), feature_version=(3, 9))
            for node in ast.walk(tree):
                names = {alias.name for alias in node.names} if isinstance(node, (ast.Import, ast.ImportFrom)) else set()
                names |= {node.attr} if isinstance(node, ast.Attribute) else {node.arg} if isinstance(node, ast.keyword) else set()
                self.assertEqual(names & NEWER, set(), "%s:%d" % (source.name, getattr(node, "lineno", 0)))
                self.assertFalse(is_newer_union(node), "%s:%d: X | Y in a type is newer" % (source.name, getattr(node, "lineno", 0)))

    def test_they_import_the_standard_library_only(self):
        allowed = set(getattr(sys, "stdlib_module_names", ())) or self.skipTest("this Python does not tell")
        for source in SOURCES:
            for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    self.assertLessEqual({alias.name.split(".")[0] for alias in node.names}, allowed, source)
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    self.assertIn(node.module.split(".")[0], allowed, source)


def is_newer_union(node):
    annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
    return isinstance(annotation, ast.AST) and any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr) for part in ast.walk(annotation))


if __name__ == "__main__":
    unittest.main()
