"""A program says what it was configured with, and labels its run, over kills of the trainer."""

import json
import pathlib

from bazel.python import xml_runner
from tests import yard_case

SDK = str(pathlib.Path("sdk/python").absolute())
TRAIN = """
import argparse, os, sys, yard

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--net", default="small")
arguments = parser.parse_args()
with yard.Reporter() as reporter:
    reporter.config_update(vars(arguments), device={"name": "cpu", "count": 2})
    reporter.set(labels=["base"], note="by the program", name="A net of %s size" % arguments.net)
    reporter.report(loss=arguments.lr)
"""
# Each line says what it is, and waits for the test before the next one.
COUNT = """
import sys, yard

with yard.Reporter() as reporter:
    for count in range(1, 21):
        reporter.config_update({"count": count, "at%d" % count: True})
        print(count, flush=True)
    print(sorted(reporter.config) == sorted(["count"] + ["at%d" % n for n in range(1, 21)]), flush=True)
"""


class ProgramConfigurationTest(yard_case.YardCase):
    variables = {"PYTHONPATH": SDK, "PYTHONDONTWRITEBYTECODE": "1"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, text in {"train.py": TRAIN, "count.py": COUNT}.items():
            pathlib.Path(cls.directory, name).write_text(text)

    def lines(self, *words):
        return [json.loads(line) for line in self.yard(*words, "--json")[0].splitlines()]

    def params_of(self, name):
        return json.loads(pathlib.Path(self.directory, "runs", name, "params.json").read_text())

    def test_it_is_where_a_configuration_is(self):
        self.yard("run", "--name", "one", "--config", '{"lr": 7, "seed": 3}', "--", "python3", "train.py", "--lr", "0.25")
        self.yard("run", "--name", "two", "--", "python3", "train.py", "--net", "large")
        config = {"lr": 0.25, "seed": 3, "net": "small", "device": {"name": "cpu", "count": 2}}
        self.assertEqual(self.params_of("one"), config)
        shown = self.lines("show", "one")[0]
        self.assertEqual(shown["config"], config)
        self.assertEqual((shown["labels"], shown["note"], shown["display_name"]),
                         (["base"], "by the program", "A net of small size"))
        found = lambda query: sorted(run["run"] for run in self.lines("runs", query))
        self.await_true(lambda: found("config.lr=0.25") == ["one"], lambda: found("config.lr=0.25"))
        self.await_true(lambda: found("config.net=large & label:base") == ["two"], lambda: found("config.net=large"))
        self.assertEqual(found("config.device/count=2 & config.lr<1"), ["one", "two"])
        rows = {row["name"]: row["values"] for row in self.lines("compare", "one", "two")}
        self.assertEqual(rows["config.net"], {"one": "small", "two": "large"})
        self.assertEqual(rows["config.lr"], {"one": 0.25, "two": 0.1})
        parameters = json.loads(self.yard("call", "datamanager", "HParams", '{"selection": {"runs": ["one"]}}')[0])
        self.assertIn("device/count", json.dumps(parameters))

    def test_each_change_counts_once_over_kills_of_the_trainer(self):
        run = self.start_yard("run", "--name", "counts", "--", "python3", "count.py")
        for count in range(1, 21):
            self.assertEqual(run.stdout.readline(), "%d\n" % count)
            if count % 4 == 0:
                self.kill_service("trainer")
            # An answered change is in the file.
            self.assertEqual(self.params_of("counts")["at%d" % count], True)
        self.assertEqual(run.stdout.readline(), "True\n")
        self.finish(run)
        expected = {"count": 20, **{"at%d" % n: True for n in range(1, 21)}}
        self.assertEqual(self.params_of("counts"), expected)
        self.assertEqual(self.lines("show", "counts")[0]["config"], expected)


if __name__ == "__main__":
    xml_runner.main()
