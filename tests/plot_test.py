"""`yard plot` with what only all points tell: smoothing, other axes, following, and a file for a page."""

import json
import os
import pathlib
import re
from xml.etree import ElementTree

from bazel.python import xml_runner
from tests import yard_case

# The golden values of runtime/smoother_test.cc.
VALUES = (1, 0.5, 2, -1, 0.25)
SMOOTHED = (1, 0.722222, 1.245902, 0.485095, 0.415159)
REPORTS = """
import sys
sys.path.insert(0, %r)
import yard
with yard.Reporter() as reporter:
    for step, loss in enumerate(%r):
        reporter.report(loss=loss, samples=step * 100, step=step)
""" % (os.path.abspath("sdk/python"), VALUES)
# Reports once for each line that the test writes.
WAITS = """
import sys
sys.path.insert(0, %r)
import yard
with yard.Reporter() as reporter, open("go") as lines:
    for step, _ in enumerate(lines):
        reporter.report(loss=step / 8, step=step)
""" % os.path.abspath("sdk/python")


class PlotTest(yard_case.YardCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._services("run", "--name", "first", "--", "/usr/bin/python3", "-c", REPORTS)

    def columns(self, *words):
        plotted = json.loads(self.yard("plot", "first", "-m", "loss", "--json", *words)[0])
        return plotted, plotted["columns"]

    def test_curves_are_smoothed_as_on_the_page(self):
        plotted, columns = self.columns("--smooth", "0.8")
        self.assertEqual((plotted["smooth"], plotted["x"], plotted["points"]), (0.8, "step", 5))
        for column, value in zip(columns, SMOOTHED, strict=True):
            self.assertAlmostEqual(column["last"], value, 6)
        for wrong in ("1", "-0.1", "nan"):
            self.finish(self.start_yard("plot", "first", "--smooth", wrong), 2)

    def test_the_axis_is_what_was_asked_for(self):
        _, columns = self.columns("--x", "samples")
        self.assertEqual([column["first_x"] for column in columns], [0, 100, 200, 300, 400])
        _, columns = self.columns("--x", "relative")
        self.assertEqual(columns[0]["first_x"], 0)
        self.assertEqual(sorted(column["first_x"] for column in columns), [column["first_x"] for column in columns])
        self.assertIn("loss over relative", self.yard("plot", "first", "--x", "relative")[0])
        self.assertRegex(self.yard("plot", "first", "--x", "time")[0], r"\d\d:\d\d:\d\d")
        _, why = self.finish(self.start_yard("plot", "first", "-m", "loss", "--x", "nothing"), 3)
        self.assertIn("nothing", why)

    def test_a_file_has_the_charts_of_all_runs(self):
        self.yard("run", "--name", "second", "--", "/usr/bin/python3", "-c", REPORTS)
        _, said = self.yard("plot", "first", "second", "-m", "loss", "-m", "samples", "--svg", "charts.svg", "--log")
        self.assertIn("charts.svg", said)
        tree = ElementTree.parse(os.path.join(self.directory, "charts.svg"))
        texts = [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual(len([text for text in texts if text and text.startswith("second")]), 2)
        self.assertLessEqual({"loss", "samples", "step"}, set(texts))
        self.assertEqual(len(list(tree.iter("{http://www.w3.org/2000/svg}path"))), 4)

    def test_it_follows_until_the_trial_has_ended(self):
        os.mkfifo(os.path.join(self.directory, "go"))
        self.yard("run", "--detach", "--name", "grows", "--", "/usr/bin/python3", "-c", WAITS)
        with open(os.path.join(self.directory, "go"), "w") as lines:
            for _ in range(2):
                print(file=lines, flush=True)
            self.await_true(lambda: json.loads(self.yard("show", "grows", "--json")[0])["reports"] == 2, "no reports")
            plot = self.start_yard("plot", "grows", "-m", "loss", "-f", "--timeout", "60")
            first = self.read_until(plot, r"grows +2 points")
            print(file=lines, flush=True)
            self.read_until(plot, r"grows +3 points")
        out, _ = self.finish(plot)
        self.assertTrue(first)
        _, why = self.finish(self.start_yard("plot", "grows", "-f", "--json"), 2)
        self.assertIn("yard watch --json", why)

    def read_until(self, process, pattern):
        seen = []
        while not seen or not re.search(pattern, seen[-1]):
            seen.append(process.stdout.readline())
            if not seen[-1]:
                self.fail("it ended: " + "".join(seen))
        return seen


if __name__ == "__main__":
    xml_runner.main()
