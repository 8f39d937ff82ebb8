"""The guard's own rules: what it lets pass, what it stops, and what it says."""
import unittest

import guard


class Judging(unittest.TestCase):
    def test_the_baseline_and_what_is_near_it_pass(self):
        for now in (1000, 1030, 970, 900):
            self.assertTrue(guard.judge("decide", 1000, now)[0], now)

    def test_more_than_the_margin_is_stopped_with_the_numbers(self):
        good, words = guard.judge("decide", 1_000_000, 1_031_000)
        self.assertFalse(good)
        self.assertEqual(words.split(": more than 3% above")[0], "decide: 1,031,000 instructions, baseline 1,000,000, ratio 1.031")

    def test_a_gain_must_be_written_down(self):
        good, words = guard.judge("decide", 1000, 899)
        self.assertFalse(good)
        self.assertIn("ratio 0.899: faster: refresh the baseline with ./dev baseline", words)


class Reading(unittest.TestCase):
    def test_the_total_of_a_profile(self):
        self.assertEqual(guard.total_of("events: Ir\nsummary: 12\n\nfn=(1) main\n0 12\n\ntotals: 4711\n"), 4711)

    def test_a_profile_without_instructions_is_a_fault(self):
        for profile in ("events: Ir\n\ntotals: 0\n", ""):
            with self.assertRaises(guard.Fault):
                guard.total_of(profile)


class Checking(unittest.TestCase):
    def test_a_build_without_a_baseline_is_skipped(self):
        self.assertEqual(guard.check(None, "gcc-99", {"gcc-12": {"decide": 1}}, "decide"), guard.SKIPPED)

    def test_a_scenario_without_a_baseline_is_not(self):
        with self.assertRaises(guard.Fault):
            guard.check(None, "gcc-12", {"gcc-12": {}}, "decide")


class Notification(unittest.TestCase):
    def test_old_and_new_stand_side_by_side(self):
        lines = [line.split() for line in guard.table({"decide": 1000, "gone": 5}, {"decide": 1100, "fresh": 7})]
        self.assertEqual(lines[1:], [["decide", "1,000", "1,100", "1.100"], ["fresh", "-", "7", "-"], ["gone", "5", "-", "-"]])


if __name__ == "__main__":
    unittest.main()
