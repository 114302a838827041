"""Sweeps keep their promises (docs/sweeps.md) at full size, which takes minutes."""

import contextlib
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import time

from bazel.python import xml_runner
from tests import yard_case

VALUES = """
name: %(name)s
method: %(method)s
metric: {name: loss, goal: minimize}
parallel: %(parallel)d
seed: 11
%(more)s
parameters: %(parameters)s
trial: {output: json%(trial)s}
"""


class AcceptanceCase(yard_case.YardCase):
    up_words = ("--slots", "16", "--resources", "lane=0,")

    def sweep(self, name, parameters, command, method="random", parallel=1, more="", trial=""):
        path = pathlib.Path(self.directory, name + ".yaml")
        path.write_text(VALUES % {"name": name, "method": method, "parallel": parallel, "more": more, "trial": trial,
                                  "parameters": json.dumps(parameters)}, encoding="utf-8")
        return self.start_yard("sweep", str(path), "--", *command)

    def rows(self, name):
        return list(csv.DictReader(io.StringIO(self.yard("export", name)[0])))

    def pid_of(self, service):
        process = self.start_yard("call", service, "Stats")
        out, _ = process.communicate(timeout=yard_case.LONG)
        return json.loads(out)["pid"] if process.returncode == 0 else 0

    def kill(self, service):
        pid = self.pid_of(service)
        if pid:
            os.kill(pid, signal.SIGKILL)

    def shown(self, name):
        process = self.start_yard("show", name, "--json")
        out, _ = process.communicate(timeout=yard_case.LONG)
        return json.loads(out) if process.returncode == 0 else {}


class GridTest(AcceptanceCase):

    def test_a_grid_of_13020_is_tried_whole_and_once_over_kills(self):
        values = {"a": {"values": list(range(14))}, "b": {"values": list(range(30))}, "c": {"values": list(range(31))}}
        sweep = self.sweep("grid", values, ("sh", "-c", "echo '{\"loss\": {a}.{b}}'"), method="grid", parallel=16)
        began = time.monotonic()
        kills = 0
        while sweep.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                sweep.communicate(timeout=2)
                break
            self.assertLess(time.monotonic() - began, 3000, self.shown("grid").get("trials"))
            kills += 1
            self.kill("trainer")
            if kills % 3 == 0:
                self.kill("launcher")
        self.finish(sweep)
        rows = self.rows("grid")
        self.assertEqual(len(rows), 14 * 30 * 31)
        self.assertEqual(len({(row["config/a"], row["config/b"], row["config/c"]) for row in rows}), 14 * 30 * 31)
        self.assertEqual({row["state"] for row in rows}, {"done"})
        self.assertGreater(kills, 5)


class SameTest(AcceptanceCase):
    SPACE = {"x": {"min": 0.0, "max": 1.0}, "y": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1.0},
             "z": {"values": ["a", "b"]}}
    COMMAND = ("sh", "-c", "echo '{\"loss\": {x}}'")

    def params(self, name, count):
        return [pathlib.Path(self.directory, "runs", "%s-%04d" % (name, number), "params.json").read_bytes()
                for number in range(count)]

    def test_in_fixed_order_suggestions_do_not_depend_on_slots_or_time(self):
        expected = None
        late = ("sh", "-c", "sleep 0.0$(($$ % 10)); echo '{\"loss\": {x}}'")
        for name, command, trial in (("free", self.COMMAND, ""), ("late", late, ""),
                                     ("alone", self.COMMAND, ", resources: {lane: 1}")):
            self.finish(self.sweep(name, self.SPACE, command, method="tpe", parallel=8,
                                   more="order: fixed\nrun_cap: 40", trial=trial))
            params = self.params(name, 40)
            expected = expected or params
            self.assertEqual(params, expected, name)

    def test_the_same_file_is_the_same_search_in_another_sweep(self):
        for method in ("random", "tpe", "gp"):
            for again in ("a", "b"):
                self.finish(self.sweep(method + again, self.SPACE, self.COMMAND, method=method, more="run_cap: 200"))
            self.assertEqual(self.params(method + "a", 200), self.params(method + "b", 200), method)


class EarlyTest(AcceptanceCase):

    def test_a_verdict_is_the_answer_to_the_report_that_reaches_the_level(self):
        program = pathlib.Path(self.directory, "train.py")
        program.write_text("import sys, yard\nreporter = yard.Reporter()\nfor step in range(1, 10):\n"
                           "    if not reporter.report(loss=float(sys.argv[1]), step=step): break\n", encoding="utf-8")
        self.environment["PYTHONPATH"] = os.path.abspath("sdk/python")
        path = pathlib.Path(self.directory, "early.yaml")
        path.write_text("name: early\nmethod: random\nmetric: {name: loss}\nparallel: 8\nrun_cap: 1300\n"
                        "early_terminate: {type: asha, min: 1, max: 9, eta: 3}\nparameters: {x: {min: 0.0, max: 1.0}}\n",
                        encoding="utf-8")
        self.finish(self.start_yard("sweep", str(path), "--", "python3", "train.py", "{x}"))
        stopped = [row for row in self.rows("early") if row["state"] == "stopped early"]
        self.assertGreaterEqual(len(stopped), 800)
        for row in stopped:
            lines = pathlib.Path(self.directory, "runs", row["name"], "result.json").read_text().splitlines()
            self.assertIn("stopped at %d:" % len(lines), row["reason"])


class DigitsTest(AcceptanceCase):

    def test_early_stopping_finds_as_good_a_network_with_less_than_half_of_the_epochs(self):
        example = os.path.abspath("examples/digits")
        self.environment["PYTHONPATH"] = os.path.abspath("sdk/python")
        for name in ("digits.py", "digits.csv", "sweep.yaml"):
            os.symlink(os.path.join(example, name), os.path.join(self.directory, name))
        self.finish(self.start_yard("sweep", "sweep.yaml", "--parallel", "2"))
        self.finish(self.start_yard("sweep", "sweep.yaml", "--parallel", "2", "--name", "whole", "--set",
                                    "early_terminate.type=none", "--set", "method=random"))
        early, whole = self.shown("digits"), self.shown("whole")
        self.assertGreaterEqual(early["best"]["value"], whole["best"]["value"] - 0.005)
        epochs = sum(float(row["resource"] or 0) for row in self.rows("digits"))
        self.assertLessEqual(epochs, 0.45 * 60 * 30)


if __name__ == "__main__":
    xml_runner.main()
