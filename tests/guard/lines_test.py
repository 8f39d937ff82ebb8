#!/usr/bin/env python3
"""The rules of lines.py."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import lines  # noqa: E402

NINJA = """host/CMakeFiles/waybill_base.dir/Unity/unity_0_cxx.cxx.o: #deps 2, deps mtime 1 (VALID)
    a.cpp
    /usr/include/a.h

host/CMakeFiles/waybill_base.dir/b.cpp.o: #deps 1, deps mtime 1 (VALID)
    /usr/include/a.h

statements/all.h: #deps 1, deps mtime 1 (VALID)
    a.sql
"""


class Lines(unittest.TestCase):
    def test_counts_a_line_for_each_unit_that_reads_it(self):
        sizes = {"a.cpp": 10, "/usr/include/a.h": 100, "a.sql": 1}
        self.assertEqual(lines.count(lines.dependencies(NINJA), sizes.get), {"waybill_base": [2, 210]})

    def test_a_target_that_reads_more_on_average_is_told(self):
        found = lines.complaints({"a": [2, 220], "b": [1, 1000]}, {"a": [2, 200], "b": [1, 1000]})
        self.assertEqual(len(found), 1)
        self.assertIn("a: 110 lines in each of 2 translation units, 100 before", found[0])

    def test_so_is_all_together(self):
        found = lines.complaints({"a": [3, 300]}, {"a": [2, 200]})
        self.assertEqual(found, ["all targets: 300 lines, 200 before"])

    def test_suites_that_ci_builds_elsewhere_count_for_nothing_here(self):
        now, allowed = {"a": [1, 100], "unit_a": [1, 900], "unit_b": [1, 10]}, {"a": [1, 100], "unit_b": [1, 10]}
        here, in_ci = "WAYBILL_CHECKED_BUILD:PATH=\n", "WAYBILL_CHECKED_BUILD:PATH=build/checked\n"
        self.assertEqual(lines.complaints(lines.as_in_ci(now, allowed, here), allowed), [])
        self.assertEqual(lines.complaints(lines.as_in_ci(now, allowed, in_ci), allowed), ["all targets: 1,010 lines, 110 before"])

    def test_the_file_has_a_target_a_line(self):
        baselines = {"gcc-12": {"b": [1, 2], "a": [3, 4]}}
        text = lines.text_of(baselines)
        self.assertEqual(json.loads(text), baselines)
        self.assertIn('  "a": [3, 4],\n  "b": [1, 2]\n', text)

    def test_what_reads_less_or_is_new_and_small_passes(self):
        self.assertEqual(lines.complaints({"a": [2, 150], "new": [1, 50]}, {"a": [2, 200]}), [])


if __name__ == "__main__":
    unittest.main()
