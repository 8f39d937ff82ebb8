"""The header alone and the snippets of the README, given to each compiler that is there, and run beside a host by tests/live_host.py.  Q8"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

CPP = pathlib.Path(__file__).resolve().parents[1]
README = (CPP / "README.md").read_text(encoding="utf-8")
COMPILERS = [found for found in map(shutil.which, ("g++", "clang++")) if found]
FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
SECOND = """
#include <waybill/client.hpp>
void second() { waybill::client::Client("http://localhost").list(); }
"""
RECEIVED = """
  // What README's receive() says of nothing.
  setenv("NEW_SECRET", "a", 1), setenv("OLD_SECRET", "b", 1);
  if (receive({}, "")) return 1;
"""


def compiled(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(" ".join(map(str, command)) + "\n" + done.stderr)


class Readme(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waybill-cpp-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_the_header_compiles_alone_without_a_warning(self):
        self.assertTrue(COMPILERS)
        (self.folder / "alone.cpp").write_text(SECOND)
        for compiler in COMPILERS:
            for standard in ("c++17", "c++20"):
                compiled(compiler, "-std=" + standard, *FLAGS, "-fsyntax-only", "-I", CPP, self.folder / "alone.cpp")

    def test_every_snippet_runs_also_where_two_sources_include_the_header(self):
        snippets = re.findall(r"```cpp\n(.*?)```", README, re.DOTALL)
        self.assertGreaterEqual(len(snippets), 7)
        outside = [snippet for snippet in snippets if snippet.startswith(("#include", "bool "))]
        inside = [snippet for snippet in snippets if snippet not in outside]
        program = "\n".join(outside) + "\nint main() {\n" + "\n".join(inside) + RECEIVED + "}\n"
        (self.folder / "shop.cpp").write_text(program.replace("http://localhost:8080", os.environ["WAYBILL_URL"]), encoding="utf-8")
        (self.folder / "second.cpp").write_text(SECOND)
        (command,) = re.findall(r"```sh\n(c\+\+ .*)\n```", README)
        words = command.replace("clients/cpp", str(CPP)).split()
        self.assertEqual(words[0], "c++")
        for compiler in COMPILERS:
            compiled(compiler, *[str(self.folder / word) if word.startswith("shop") else word for word in words[1:]], *FLAGS, self.folder / "second.cpp")
            ran = subprocess.run([self.folder / "shop"], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertRegex(ran.stdout, r"^(pending|accepted)\n")
            self.assertRegex(ran.stdout, r"(?m)^[0-9a-f-]{36} has ended$")  # the one that was waited for, in the list
            self.assertRegex(ran.stderr, r"^invalid_request: ")


if __name__ == "__main__":
    unittest.main()
