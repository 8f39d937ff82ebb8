"""What mutants.py takes for a mutant, and when it calls one dead."""
import pathlib
import tempfile
import unittest

import mutants

GOOD = "Target: unit_claim\nKills: Claiming.*\nNothing is claimed.\n\ndiff --git a/x b/x\n"


def output_of(count, *more):
    return "\n".join([f"[==========] Running {count} tests from 1 test suite.", *more]) + "\n"


class Reading(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.folder = pathlib.Path(self.place.name)

    def patch(self, name, text):
        (self.folder / name).write_text(text)

    def test_the_first_lines_say_what_is_broken_and_who_must_notice(self):
        self.patch("a.patch", GOOD)
        (one,) = mutants.mutants_of(self.folder)
        self.assertEqual((one.name, one.target, one.kills, one.sentence), ("a", "unit_claim", "Claiming.*", "Nothing is claimed."))

    def test_a_patch_without_them_is_out_of_order(self):
        for left_out in range(3):
            lines = GOOD.splitlines(keepends=True)
            del lines[left_out]
            self.patch("a.patch", "".join(lines))
            with self.assertRaisesRegex(mutants.Fault, "a.patch: it must begin with"):
                mutants.mutants_of(self.folder)

    def test_a_pattern_or_a_part_of_the_name_chooses_some(self):
        for name in ("claim_a", "claim_b", "settle_a"):
            self.patch(name + ".patch", GOOD)
        for pattern, names in (("claim_*", ["claim_a", "claim_b"]), ("ttle", ["settle_a"])):
            self.assertEqual([one.name for one in mutants.mutants_of(self.folder, pattern)], names)
        with self.assertRaisesRegex(mutants.Fault, "no mutant is called rescue"):
            mutants.mutants_of(self.folder, "rescue")


class Judging(unittest.TestCase):
    def test_a_failed_test_kills(self):
        said = output_of(2, "[  FAILED  ] Claiming.Stops (12 ms)", "[  FAILED  ] Claiming.Stops")
        self.assertEqual(mutants.Run(1, said).verdict(), "killed by Claiming.Stops")

    def test_so_does_a_program_that_crashes_or_hangs(self):
        self.assertEqual(mutants.Run(-6, output_of(1)).verdict(), "killed: the program ended with -6")
        self.assertEqual(mutants.Run(None, output_of(1)).verdict(), "killed: a test hangs")

    def test_tests_that_pass_let_it_live(self):
        self.assertEqual(mutants.Run(0, output_of(1, "[  PASSED  ] 1 test.")).verdict(), "LIVES")

    def test_without_a_test_nothing_is_proved(self):
        for said in ("", output_of(0), output_of(1, "[  SKIPPED ] Claiming.Stops (0 ms)")):
            with self.assertRaises(mutants.Fault):
                mutants.Run(0, said).verdict()
            self.assertFalse(mutants.Run(0, said).passed())


if __name__ == "__main__":
    unittest.main()
