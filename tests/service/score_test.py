"""What systemd thinks of the unit: its score, and that it has nothing to complain about.  O2"""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from service_world import UNIT, UNITS, WITHOUT_PROCESSES, needs

ALONE, WITH_PROCESSES = 1.1, 1.5  # the most that the unit may be exposed, without and with plugins in processes


class Score(unittest.TestCase):
    def setUp(self):
        needs(shutil.which("systemd-analyze"), "there is no systemd-analyze")
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def analyze(self, *words):
        return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True)

    def exposure(self, *drop_ins):
        unit = shutil.copy(UNIT, self.folder)
        for drop_in in drop_ins:
            folder = self.folder / "waybill.service.d"
            folder.mkdir(exist_ok=True)
            shutil.copy(drop_in, folder)
        told = self.analyze("security", "--offline=true", "--no-pager", unit)
        self.assertEqual(told.stderr, "")
        return float(re.search(r"exposure level for waybill.service: ([\d.]+)", told.stdout).group(1)), told.stdout

    def test_with_plugins_in_processes_it_is_exposed_little(self):
        exposure, table = self.exposure()
        self.assertLessEqual(exposure, WITH_PROCESSES, table)

    def test_without_such_plugins_it_is_exposed_less(self):
        exposure, table = self.exposure(WITHOUT_PROCESSES)
        self.assertLessEqual(exposure, ALONE, table)

    def test_systemd_finds_no_mistake_in_the_units(self):
        for name in ("waybill.service", "waybill.socket"):
            text = (UNITS / name).read_text().replace("/usr/bin/waybill", "/bin/true")  # it is not installed here
            (self.folder / name).write_text(text)
        for drop_in in UNITS.glob("*.conf"):
            folder = self.folder / "waybill.service.d"
            folder.mkdir(exist_ok=True)
            shutil.copy(drop_in, folder)
        told = self.analyze("verify", "--man=no", self.folder / "waybill.socket", self.folder / "waybill.service")
        ours = [line for line in told.stderr.splitlines() if "waybill" in line]
        self.assertEqual((ours, told.returncode), ([], 0), told.stderr)


if __name__ == "__main__":
    unittest.main()
