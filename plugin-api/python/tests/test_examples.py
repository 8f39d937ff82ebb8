"""What authors begin with works: the example of docs/plugins-python.md, and the template of `waybill plugin new`."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from host_side import KIT, PluginProcess

SOURCES = KIT.parent.parent
PAGE = SOURCES / "docs" / "plugins-python.md"
TEMPLATE = SOURCES / "plugin-api" / "template_python"
MOST_LINES = 20  # of the example's program


def files_of(page):
    """The snippets of a page that have a name, by that name."""
    return dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))


class Examples(unittest.TestCase):
    def folder_of(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, content in files.items():
            pathlib.Path(folder.name, name).write_text(content)
        return folder.name

    def run_tests_of(self, files, least):
        """At least so many tests pass in a folder of these files."""
        done = subprocess.run([sys.executable, "-B", "-W", "error", "-m", "unittest"], cwd=self.folder_of(files), timeout=60,
                              env={"PYTHONPATH": str(KIT)}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(int(re.search(r"Ran (\d+) test", done.stderr)[1]), least)

    def is_taken_up(self, files, action_type):
        process = PluginProcess(self, program=files["sender.py"], plugin_json=files["plugin.json"])
        self.assertEqual(process.greet(), "")
        self.assertEqual(process.create(action_type)[0], 1)

    def test_the_pages_example_is_short_and_passes_its_tests(self):  # I4
        files = files_of(PAGE)
        self.assertLessEqual(files["sender.py"].count("\n"), MOST_LINES)
        self.run_tests_of(files, 2)

    def test_the_pages_example_is_taken_up_by_a_host(self):  # I4
        self.is_taken_up(files_of(PAGE), "fax")

    def test_the_template_passes_its_tests_under_any_name(self):  # I4
        for name in ("my_destination", "fax_2"):
            self.run_tests_of(self.template(name), 10)

    def test_the_template_is_taken_up_by_a_host(self):  # I4
        self.is_taken_up(self.template("fax_2"), "fax_2")

    def test_every_word_of_the_page_is_one_of_the_kit(self):  # I4
        import waybill_plugin
        import waybill_testing
        text = PAGE.read_text()
        for name in re.findall(r"\bwaybill\.(\w+)", text):
            self.assertTrue(name in ("yaml",) or hasattr(waybill_plugin, name), name)
        known = {*dir(waybill_plugin.Host), *dir(waybill_testing.FakeHost), "requests"}
        for name in re.findall(r"\bhost\.(\w+)", text):
            self.assertIn(name, known)

    def template(self, name):
        camel = "".join(word.capitalize() for word in name.split("_"))
        renamed = {}
        for file in TEMPLATE.iterdir():
            if file.is_file():
                text = file.read_text().replace("MY_DESTINATION", name.upper()).replace("MyDestination", camel)
                renamed[file.name] = text.replace("my_destination", name)
        return renamed


if __name__ == "__main__":
    unittest.main()
